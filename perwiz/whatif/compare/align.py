"""Which call of one run is which call of another run of the same or of a changed program. Times play no part in it."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from perwiz.kernels import align as kernel
from perwiz.kernels import match as fifo
from perwiz.kernels import order as sorting
from perwiz.trace.arrays import I4, Ints, Mask
from perwiz.trace.numbers import Numbers
from perwiz.trace.trace import Communicators, Trace

Gaps = np.recarray[Any, Any]
MOST = 1000
"""Calls inserted and removed at one place up to which the shortest way to do that is found."""
_STEPS = 64
"""Steps per call that the search for that may take."""


@dataclasses.dataclass(frozen=True, eq=False)
class Alignment:
    """What is the same in two traces, and the pairs of calls, sorted by the row of the first."""

    first: I4
    """Calls of the first trace, int32."""
    second: I4
    """The same calls in the second trace, int32."""
    moved: Mask
    """Per pair: its place among the calls of its location is another one in the second trace."""
    elsewhere: Mask
    """Per pair: made from another user region in the second trace."""
    places: tuple[Ints, Ints]
    """Per location of each trace a number for both: equal process and thread are one place. Those of the first are its rows."""
    paths: tuple[Ints, Ints]
    """Per region path of each trace, and behind them for none, a number for both: equal names from the outside in are one path."""
    path_names: tuple[tuple[str, ...], ...]
    """Names from the outside in, per number of a path."""

    @property
    def locations(self) -> tuple[Ints, Ints]:
        """Rows of the locations that both traces have."""
        both = np.flatnonzero(self.places[1] < len(self.places[0]))
        both = both[np.argsort(self.places[1][both], kind="stable")]
        return self.places[1][both], both


def align(first: Trace, second: Trace) -> Alignment:
    """Return which calls are the same, location by location (equal process and thread).

    Calls can be the same if they have the same routine, partner, tag, communicator, root and region path (by names). A shortest
    edit script says which are (Myers, An O(ND) difference algorithm, Algorithmica 1, 1986), where at most MOST calls were inserted or
    removed behind what is equal at both ends. Where more were, calls made equally often in both runs are the same, k-th by k-th, as
    far as a longest chain of them keeps its order; between its links the edit script decides. What is left of equal calls is paired
    k-th by k-th and called moved. Then the same is done once more with all that has no partner, whatever its region: regions may
    have been renamed, or recorded in one run only. So each call has a partner if the other run has as many of its kind. O(n log n).
    """
    places, comms = _places(first, second), _communicators(first.communicators, second.communicators)
    paths, names = _paths(first, second)
    numbers = [Numbers() for _ in range(5)]
    keys = [_keys(*side, numbers) for side in zip((first, second), places, comms, paths, strict=True)]
    count = max([0, *(int(place.max(initial=-1)) + 1 for place in places)])
    place = [of[trace.calls.location] for of, trace in zip(places, (first, second), strict=True)]
    here = _pairs([inside for _, inside in keys], place, [np.arange(len(of)) for of in place], count)
    rest = [np.delete(np.arange(len(of)), rows) for of, rows in zip(place, here[:2], strict=True)]
    there = _pairs([anywhere for anywhere, _ in keys], place, rest, count)
    one, other, moved = (np.concatenate(both) for both in zip(here, there, strict=True))
    by = np.argsort(one, kind="stable")
    return Alignment(one[by], other[by], moved[by], np.repeat([False, True], [len(here[0]), len(there[0])])[by], places, paths, names)


def _pairs(keys: Sequence[Ints], places: Sequence[Ints], rows: Sequence[Ints], count: int) -> tuple[Ints, Ints, Mask]:
    """Return the pairs among some calls of both traces, and whether each moved; `count` places there are."""
    rows = [some[_grouped(place[some], count)].astype("i4") for some, place in zip(rows, places, strict=True)]
    seen = np.zeros((2, max(int(key.max(initial=0)) for key in keys) + 1), bool)
    for side, some, key in zip(seen, rows, keys, strict=True):
        side[key[some]] = True
    both = seen[0] & seen[1]  # calls that only one run makes would cost edits
    rows = [some[both[key[some]]] for some, key in zip(rows, keys, strict=True)]
    bounds = [np.searchsorted(place[some], np.arange(count + 1)) for some, place in zip(rows, places, strict=True)]
    gaps = _gaps(*(side for at in bounds for side in (at[:-1], at[1:])))
    partner, in_order = _partners(keys[0][rows[0]], keys[1][rows[1]], gaps)
    found = np.flatnonzero(partner >= 0)
    return rows[0][found], rows[1][partner[found]], ~in_order[found]


def _places(first: Trace, second: Trace) -> tuple[Ints, Ints]:
    own, other = (list(zip(t.locations.process.tolist(), t.locations.thread.tolist(), strict=True)) for t in (first, second))
    known = {key: row for row, key in enumerate(own)}
    return np.arange(len(own), dtype="i4"), np.array([known.get(key, len(own) + row) for row, key in enumerate(other)], "i4")


def _communicators(first: Communicators, second: Communicators) -> tuple[Ints, Ints]:
    """Return a number per communicator of each trace, -1 behind them for none: the first row stands for the world in both.

    Others are the same if they have the same members and the same name, or else the same members; of several such in order.
    """
    out = np.arange(len(first), len(first) + len(second) + 1, dtype="i4")
    out[-1] = -1
    out[: min(len(first), len(second), 1)] = 0
    _same(first, second, lambda comms, c: (comms.names[c], comms.members(c).tobytes()), out)
    _same(first, second, lambda comms, c: comms.members(c).tobytes(), out)
    return np.append(np.arange(len(first), dtype="i4"), np.int32(-1)), out


def _same(first: Communicators, second: Communicators, key: Callable[[Communicators, int], Hashable], out: Ints) -> None:
    """Give communicators of the second trace the number of one of the first that has the same key and is not taken yet."""
    free: dict[Hashable, collections.deque[int]] = collections.defaultdict(collections.deque)
    taken = set(out.tolist())
    for c in range(1, len(first)):
        if c not in taken:
            free[key(first, c)].append(c)
    for c in range(1, len(second)):
        if out[c] >= len(first) and (rows := free.get(key(second, c))):
            out[c] = rows.popleft()


def _paths(first: Trace, second: Trace) -> tuple[tuple[Ints, Ints], tuple[tuple[str, ...], ...]]:
    known: dict[tuple[str, ...], int] = {}
    columns = []
    for trace in (first, second):
        names: list[tuple[str, ...]] = []
        for parent, region in zip(trace.paths.parent.tolist(), trace.paths.region.tolist(), strict=True):
            names.append((*(names[parent] if parent >= 0 else ()), trace.names[region]))
        columns.append(np.array([*(known.setdefault(name, len(known)) for name in names), -1], "i4"))
    return (columns[0], columns[1]), tuple(known)


def _keys(trace: Trace, place: Ints, comm: Ints, path: Ints, numbers: list[Numbers]) -> tuple[Ints, Ints]:
    """Return two numbers per call, equal for calls that can be the same: whatever their region is, and in the same one."""
    calls = trace.calls
    key = place[calls.location].astype("i8") << 8 | calls.op
    *others, last = numbers
    for number, column in zip(others, (calls.peer, calls.tag, comm[calls.comm], calls.root), strict=True):
        key = number.number(key, column)
    return key, last.number(key, path[calls.path])


def _grouped(key: Ints, count: int) -> Ints:
    """Return the rows of numbers below `count`, sorted by them, equal ones in order, int32."""
    many, out = np.bincount(key, minlength=count), np.empty(len(key), "i4")
    sorting.group(key, (np.cumsum(many) - many).astype("i4"), out)
    return out


def _gaps(begin_a: Ints, end_a: Ints, begin_b: Ints, end_b: Ints) -> Gaps:
    gaps = np.empty(len(begin_a), kernel.GAP).view(np.recarray)
    gaps.begin_a, gaps.end_a, gaps.begin_b, gaps.end_b = begin_a, end_a, begin_b, end_b
    return gaps


def _partners(a: Ints, b: Ints, gaps: Gaps) -> tuple[Ints, Mask]:
    """Return, per key of `a`, the row of `b` it is paired with, -1 none, and whether that keeps the order.

    A gap is where keys may be paired: rows of a and rows of b.
    """
    partner = np.full(len(a), -1, "i4")
    gaps = _fill(a, b, gaps, True, partner)
    if len(gaps):
        _fill(a, b, _chain(a, b, gaps, partner), False, partner)
    in_order = partner >= 0
    left = np.ones(len(b), bool)
    left[partner[in_order]] = False
    rows, others = np.flatnonzero(~in_order), np.flatnonzero(left)
    taken, count = np.empty(len(rows), "i4"), int(max(a.max(initial=0), b.max(initial=0))) + 1
    fifo.match(b[others], a[rows], np.empty(count, "i4"), np.empty(len(others), "i4"), taken)
    partner[rows[taken >= 0]] = others[taken[taken >= 0]]
    return partner, in_order


def _fill(a: Ints, b: Ints, gaps: Gaps, whole: bool, partner: Ints) -> Gaps:
    """Pair in `partner` what a shortest edit script pairs in gaps, and return what is left of them; see the kernel."""
    steps = _STEPS * (len(a) + len(b)) + MOST * MOST
    kernel.script(a, b, gaps, MOST, whole, steps, np.empty((MOST + 1) * (MOST + 2) // 2, "i4"), partner)
    return gaps[(gaps.begin_a < gaps.end_a) & (gaps.begin_b < gaps.end_b)]


def _chain(a: Ints, b: Ints, gaps: Gaps, partner: Ints) -> Gaps:
    """Pair in `partner` a longest chain of keys that are equally often on both sides of a gap; return the gaps between."""
    numbers, sides = Numbers(), []
    for key, begin, end in ((a, gaps.begin_a, gaps.end_a), (b, gaps.begin_b, gaps.end_b)):
        at = np.repeat(begin - np.cumsum(end - begin) + (end - begin), end - begin) + np.arange((end - begin).sum())
        sides.append((at, numbers.number(np.repeat(np.arange(len(gaps)), end - begin), key[at])))
    often = np.equal(*(np.bincount(key, minlength=numbers.count) for _, key in sides))
    rows, position = (at[order[often[key[order]]]] for at, key, order in ((*side, _grouped(side[1], numbers.count)) for side in sides))
    by = np.argsort(rows)
    rows, position = rows[by], position[by].astype("i4")
    keep = np.zeros(len(rows), "u1")
    kernel.chain(position, np.empty(len(rows), "i4"), np.empty(len(rows), "i4"), keep)
    rows, position = rows[keep == 1], position[keep == 1]
    partner[rows] = position
    begins = [np.sort(np.append(begin, at + 1)) for begin, at in ((gaps.begin_a, rows), (gaps.begin_b, position))]
    ends = [np.sort(np.append(end, at)) for end, at in ((gaps.end_a, rows), (gaps.end_b, position))]
    return _gaps(begins[0], ends[0], begins[1], ends[1])
