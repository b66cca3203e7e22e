"""Collectives played edge by edge and round by round, the slow and obvious way."""

import numpy as np

from perwiz.loggps.algorithms.shape import EXCHANGE, MESSAGE, Shape


def played(shape: Shape, entry, cost):
    """Return when each process is done; `cost(kind, bytes)` is that of one edge, None if there is none."""
    edges, time = shape.edges(), [*map(int, entry), *[-(10**15)] * (shape.vertices - shape.processes)]
    for source, target, kind, times, size in zip(edges.source, edges.target, edges.cost, edges.times, edges.bytes, strict=True):
        ns = cost(int(kind), int(size))
        if ns is not None:
            time[target] = max(time[target], time[source] + int(times) * ns)
    return [time[vertex] for vertex in shape.now]


def ring(entry, size, cost):
    """Return when each process is done of a ring that is played round by round: each waits for the one before it."""
    now = np.array(entry)
    for _ in range(len(entry) - 1):
        now = np.maximum(now + cost(EXCHANGE, size), np.roll(now, 1) + cost(MESSAGE, size))
    return now.tolist()
