"""The slow, obvious twins of the kernel window: one vertex after the other."""

from __future__ import annotations

from naive import into


def sweep(start, source, weight, first, end, time):
    """Return the times, those of the vertices first .. end - 1 made anew."""
    time = list(time)
    for v in range(first, end):
        time[v] = max([0, *(time[source[k]] + weight[k] for k in into(start, v))])
    return time


def latest(source, left, time):
    """Return the largest time of a source plus what is left behind it, at least 0."""
    return max([0, *(time[u] + rest for u, rest in zip(source, left, strict=True))])
