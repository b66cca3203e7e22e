"""Fewer edges and vertices for messages inside of collectives that share interfaces: what others tell already is left out.

Messages of an interface follow one another. So of several edges that begin at one place and stand in one queue, those say nothing that
come no later than the queue does behind the first; of several from one queue to one place those that let it go on no later than the last.
And few messages need vertices, those behind which somebody waits before the next ones come:

    come    a b       c          one vertex for a to e, where b is, and one for c and f:
    wait        d e       f      a comes there so much later as it takes to b, d and e go on so much later as it takes from b

    come    a   b   c   d        two for a to d, where b and d are: how long it takes from a to who waits for a alone a message says
    wait      a   b   c   d      itself, and who waits for c waits behind b

What hypotheses may change, messages between calls, stays as it is, and so do the neighbours behind.
"""

from __future__ import annotations

import numpy as np

from perwiz.graph.graph import QUEUE
from perwiz.graph.interfaces import SIDES, Queue, Ways, alike, joined
from perwiz.loggps.weigh import CUT
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.tables import NONE


def contracted(edges: Ways, weight: I8, vertices: int, queues: tuple[Queue, Queue], occupied: I8, own: int) -> tuple[Ways, I8]:
    """Return fewer edges, int64 ns each, by which vertices of a graph of so many are reached at the same times.

    Messages are `occupied` so long; those between calls are the first `own`.
    """
    parts, ns = [], []
    for number, (kind, queue) in enumerate(zip(SIDES, queues, strict=True)):
        line, first = _Line(queue, occupied), vertices + number * len(occupied)
        rows = np.flatnonzero((edges.kind == kind) & ((edges.cause < own) | (weight != CUT)))
        at = line.place[np.maximum(edges.source[rows], edges.target[rows]) - first]
        into = edges.target[rows] >= first
        stands = queue.order < own
        stands[1:] |= stands[:-1]
        stands[at[edges.cause[rows] < own]] = True
        stays = (edges.cause[rows] < own) | (into & stands[at])
        for side, end, sign in ((into, edges.source, 1), (~into, edges.target, -1)):
            some = np.flatnonzero(side & ~stays)
            stays[some] = line.tell(end[rows[some]], at[some], weight[rows[some]], sign)
        rows, at, into = rows[stays], at[stays], into[stays]
        free = ~stands
        stands[line.turns(at[into], at[~into])] = True
        stands[line.told(stands, free, at, into, edges.cause[rows])] = False
        before, _ = line.nearest(stands)
        there = line.there(stands, at, into)
        waited = there != NONE  # else nobody waits behind those that come
        rows, at, into, there = rows[waited], at[waited], into[waited], there[waited]
        vertex, kept = first + queue.order, edges.take(rows)
        behind = np.flatnonzero(stands & queue.follows)
        behind = behind[before[behind - 1] != NONE]
        ahead = before[behind - 1]
        source, target = np.where(into, kept.source, vertex[there]), np.where(into, vertex[there], kept.target)
        parts += [kept._replace(source=source, target=target), alike(vertex[ahead], vertex[behind], QUEUE, queue.order[behind - 1])]
        ns += [weight[rows] + np.abs(line.far[there] - line.far[at]), line.far[behind] - line.far[ahead]]
    return joined(parts), np.concatenate(ns)


class _Line:
    """Messages of one side one behind the other, those of an interface together."""

    def __init__(self, queue: Queue, occupied: I8) -> None:
        busy = occupied[queue.order]
        self.place = np.empty(len(occupied), "i8")
        """Per message, by number; the others are about places."""
        self.place[queue.order] = np.arange(len(queue.order))
        self.far = np.cumsum(busy) - busy
        """ns behind the first of all, if those of all interfaces were one queue."""
        self.interface = np.cumsum(~queue.follows)

    def tell(self, end: I8, at: I8, weight: I8, sign: int) -> Mask:
        """Return which edges others do not tell, those of an end into places if the sign is 1, and from them if it is -1."""
        place, value, interface = sign * at, weight - sign * self.far[at], self.interface[at]
        row = np.lexsort((-value, place, interface, end))
        new = np.ones(len(row), bool)
        new[1:] = (end[row[1:]] != end[row[:-1]]) | (interface[row[1:]] != interface[row[:-1]])
        best = value[row][np.maximum.accumulate(np.where(new, np.arange(len(row)), 0))]
        out = np.empty(len(row), bool)
        out[row] = new | (value[row] > best)
        return out

    def turns(self, comes: I8, waits: I8) -> I8:
        """Return the places where somebody comes behind which somebody waits before the next one comes."""
        come, wait = np.zeros((2, len(self.interface)), bool)
        come[comes], wait[waits] = True, True
        event = np.flatnonzero(come | wait)
        then, same = np.roll(event, -1), np.append(np.diff(self.interface[event]) == 0, False)
        return event[come[event] & (wait[event] | (same & ~come[then]))]

    def there(self, stands: Mask, at: I8, into: Mask) -> I8:
        """Return where edges into places and from them begin and end if only some places stand; -1 for what comes when nobody waits."""
        before, after = self.nearest(stands)
        return np.where(into, after[at], before[at])

    def told(self, stands: Mask, free: Mask, at: I8, into: Mask, message: I8) -> I8:
        """Return the free places that need not stand, every second of a row of them: a message comes there alone, and nobody but who waits
        for it waits there. It tells itself how long that takes, so it may come where the next one does, and who waits for it may wait where
        those do that are ahead.
        """
        there, own = self.there(stands, at, into), np.full((2, len(stands)), NONE)
        comes, waits = (np.bincount(there[side & (there != NONE)], minlength=len(stands)) for side in (into, ~into))
        here = np.flatnonzero(there == at)
        own[into[here].astype("i8"), at[here]] = message[here]
        place = np.flatnonzero(stands)
        alone = (free & (comes == 1) & (waits == 1) & (own[0] == own[1]) & (own[0] != NONE))[place]
        behind = np.append(False, alone[:-1] & (np.diff(self.interface[place]) == 0))
        row = np.arange(len(place))
        return place[alone & ((row - np.maximum.accumulate(np.where(alone & behind, 0, row))) % 2 == 0)]

    def nearest(self, stands: Mask) -> tuple[I8, I8]:
        """Return the nearest place of those that stand, up to each one and from it on; -1 where there is none on its interface."""
        out = []
        for order in (slice(None), slice(None, None, -1)):
            last = np.maximum.accumulate(np.where(stands[order], np.arange(len(stands)), NONE))
            place = np.arange(len(stands))[order][last]
            interface = self.interface[order]
            out.append(np.where((last != NONE) & (interface[last] == interface), place, NONE)[order])
        return out[0], out[1]
