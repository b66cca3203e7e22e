# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""All single what-ifs at once: how long the longest path is that avoids the edges into a vertex, for each vertex of a critical path.

A window is a run of vertices: one, or those that a set of changes lies between. Every path visits it, or steps over it with one edge, or
ends before it, or begins behind it. `time` is the longest path to a vertex, `left` the longest from it to an end (`cut`: none).
"""

import cython

from perwiz.kernels import names

GAP = cython.declare(cython.int, names.GAP)
ORDER = cython.declare(cython.int, names.ORDER)
START = cython.declare(cython.int, names.START)


def bridge_windows(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    weight: cython.const[cython.longlong][::1],
    time: cython.const[cython.longlong][::1],
    left: cython.const[cython.longlong][::1],
    begun: cython.const[cython.int][::1],
    closed: cython.const[cython.int][::1],
    tree: cython.longlong[::1],
) -> None:
    """Raise the nodes of a tree of maxima over m windows to the longest path along each edge that steps over some of them.

    Windows begin and end in ascending order; `begun` and `closed` say for each vertex how many begin at it or before, and end at it or
    before. `tree` has 2 m numbers: node i stands for what 2 i and 2 i + 1 stand for, node m + j for window j; a run of windows is some
    nodes of it, at most two a level. What is cut makes paths shorter than all others.
    """
    k: cython.Py_ssize_t
    m: cython.Py_ssize_t = len(tree) // 2
    for b in range(len(left)):
        for k in range(start[b], start[b + 1]):
            low = begun[source[k]] + m
            high = closed[b] + m
            t = time[source[k]] + weight[k] + left[b]
            while low < high:
                if low % 2 != 0:
                    tree[low] = max(tree[low], t)
                    low += 1
                if high % 2 != 0:
                    high -= 1
                    tree[high] = max(tree[high], t)
                low >>= 1
                high >>= 1


def push_down(tree: cython.longlong[::1]) -> None:
    """Raise every node of a tree of maxima to those above it: then node m + j has the maximum for j."""
    for i in range(2, len(tree)):
        tree[i] = max(tree[i], tree[i // 2])


def miss_windows(
    time: cython.const[cython.longlong][::1],
    left: cython.const[cython.longlong][::1],
    ended: cython.const[cython.int][::1],
    cut: cython.longlong,
    first: cython.const[cython.int][::1],
    end: cython.const[cython.int][::1],
    best: cython.longlong[::1],
) -> None:
    """Raise `best` of each window to the longest path that ends before it at one of `ended`, or begins behind it at time 0.

    A window is the vertices first .. end - 1; `first`, `end` and `ended` ascend.
    """
    e: cython.Py_ssize_t = 0
    longest: cython.longlong = cut
    for i in range(len(first)):
        while e < len(ended) and ended[e] < first[i]:
            longest = max(longest, time[ended[e]])
            e += 1
        best[i] = max(best[i], longest)
    longest = cut
    v: cython.Py_ssize_t = len(left) - 1
    for i in range(len(end) - 1, -1, -1):
        while v >= end[i]:
            longest = max(longest, left[v])
            v -= 1
        best[i] = max(best[i], longest)


def pass_without_wait(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    kind: cython.const[cython.uchar][::1],
    weight: cython.const[cython.longlong][::1],
    time: cython.const[cython.longlong][::1],
    left: cython.const[cython.longlong][::1],
    vertex: cython.const[cython.int][::1],
    best: cython.longlong[::1],
) -> None:
    """Raise `best` of each listed vertex to the longest path through it along what a call without a wait keeps.

    That is the first edge, and those of no partner; nothing happens before time 0.
    """
    for i in range(len(vertex)):
        t = 0
        for k in range(start[vertex[i]], start[vertex[i] + 1]):
            if k == start[vertex[i]] or kind[k] >= GAP:
                t = max(t, time[source[k]] + weight[k])
        best[i] = max(best[i], t + left[vertex[i]])


def pass_at_once(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    kind: cython.const[cython.uchar][::1],
    weight: cython.const[cython.longlong][::1],
    time: cython.const[cython.longlong][::1],
    left: cython.const[cython.longlong][::1],
    vertex: cython.const[cython.int][::1],
    best: cython.longlong[::1],
) -> None:
    """Raise `best` of each listed vertex to the longest path through it along what a call that takes no time keeps.

    That is the first edge, what begins it, and what its stream is ordered behind, without a weight; nothing happens before time 0.
    """
    for i in range(len(vertex)):
        t = time[source[start[vertex[i]]]]
        for k in range(start[vertex[i]] + 1, start[vertex[i] + 1]):
            if kind[k] == START or kind[k] == ORDER:
                t = max(t, time[source[k]] + min(weight[k], 0))
        best[i] = max(best[i], t + left[vertex[i]])
