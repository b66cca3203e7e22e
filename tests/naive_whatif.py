"""The slow, obvious twins of the kernels singles and sets: cut, sweep again."""

from __future__ import annotations

from naive import GAP, ORDER, START, TRANSFER, into, sweep


def bridge_windows(start, source, weight, time, left, windows):
    """Return, per window (first, end), the longest path along an edge from before it to behind it, None if no edge does so."""
    edges = [(source[k], weight[k], b) for b in range(len(left)) for k in into(start, b)]
    return [max((time[a] + w + left[b] for a, w, b in edges if a < first and b >= end), default=None) for first, end in windows]


def miss_windows(time, left, ended, cut, windows):
    """Return, per window, the longest path that ends before it or begins behind it; cut if none."""
    return [max([cut, *(time[e] for e in ended if e < first), *left[end:]]) for first, end in windows]


def pass_without_wait(start, source, kind, weight, time, left, vertex):
    """Return, per listed vertex, the longest path through it along its first edge and those of no partner."""
    kept = {v: [k for k in into(start, v) if k == start[v] or kind[k] in (GAP, TRANSFER, START)] for v in vertex}
    return [max([0, *(time[source[k]] + weight[k] for k in kept[v])]) + left[v] for v in vertex]


def pass_at_once(start, source, kind, weight, time, left, vertex):
    """Return, per listed vertex, the longest path through it along its first edge and what begins it, none of which has a weight."""
    kept = {
        v: [(k, 0 if k == start[v] else min(weight[k], 0)) for k in into(start, v) if k == start[v] or kind[k] in (START, ORDER)]
        for v in vertex
    }
    return [max(time[source[k]] + w for k, w in kept[v]) + left[v] for v in vertex]


def last_use(start, source, count):
    """Return, per vertex, the last vertex that needs its time, itself if none."""
    return [max([v, *(u for u in range(count) if v in [source[k] for k in into(start, u)])]) for v in range(count)]


def end(graph, weight, change, ended):
    """Return the latest end if some calls do not wait, or take no time; change is (vertices where they return, first kind spared)."""
    vertices, spared = change
    weight = list(weight)
    for v in vertices:
        first, *others = into(graph.start, v)
        for k in others:
            weight[k] = weight[k] if graph.kind[k] >= spared or (spared != GAP and graph.kind[k] == ORDER) else None
            if spared != GAP and weight[k] is not None:
                weight[k] = min(weight[k], 0)
        if spared != GAP:
            weight[first] = 0
    kept = [k for k, w in enumerate(weight) if w is not None]
    start = [sum(k < first for k in kept) for first in graph.start.tolist()]
    time = sweep(start, [graph.source[k] for k in kept], [weight[k] for k in kept], [0] * graph.vertices)
    return max(time[v] for v in ended)


def leave_window(start, source, weight, time, left, window):
    """Return the longest path along an edge from the window (first, end) to behind it, None if there is none."""
    first, end = window
    leaving = [(source[k], weight[k], b) for b in range(end, len(left)) for k in into(start, b) if first <= source[k] < end]
    return max((time[a] + w + left[b] for a, w, b in leaving), default=None)
