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
from perwiz.trace.arrays import I4, I8, Mask
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
    places: tuple[I4, I4]
    """Per location of each trace a number for both: equal process and thread are one place. Those of the first are its rows."""
    paths: tuple[I4, I4]
    """Per region path of each trace, and behind them for none, a number for both: equal names from the outside in are one path."""
    path_names: tuple[tuple[str, ...], ...]
    """Names from the outside in, per number of a path."""

    @property
    def locations(self) -> tuple[I4, I8]:
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
    place = [number[trace.calls.location] for number, trace in zip(places, (first, second), strict=True)]
    same_region = _pairs([inside for _, inside in keys], place, [np.arange(len(column)) for column in place], count)
    rest = [np.delete(np.arange(len(column)), rows) for column, rows in zip(place, same_region[:2], strict=True)]
    elsewhere = _pairs([anywhere for anywhere, _ in keys], place, rest, count)
    row, partner, moved = (np.concatenate(columns) for columns in zip(same_region, elsewhere, strict=True))
    by = np.argsort(row, kind="stable")
    changed_region = np.repeat([False, True], [len(same_region[0]), len(elsewhere[0])])
    return Alignment(row[by], partner[by], moved[by], changed_region[by], places, paths, names)


def _pairs(keys: Sequence[I4], places: Sequence[I4], rows: Sequence[I8], count: int) -> tuple[I4, I4, Mask]:
    """Return the pairs among these rows of calls of both traces, and whether each moved; `count` places there are.

    Keys 5 6 7 and 6 5 7 at one place, all rows: 0 1 2 of the first are 1 0 2 of the second; the first or the second moved.
    """
    calls = [row[_grouped(place[row], count)].astype("i4") for row, place in zip(rows, places, strict=True)]
    made = np.zeros((2, max(int(key.max(initial=0)) for key in keys) + 1), bool)
    for side, call, key in zip(made, calls, keys, strict=True):
        side[key[call]] = True
    both = made[0] & made[1]  # calls that only one run makes would cost edits
    calls = [call[both[key[call]]] for call, key in zip(calls, keys, strict=True)]
    bounds = [np.searchsorted(place[call], np.arange(count + 1)) for call, place in zip(calls, places, strict=True)]
    partner, in_order = _partners(keys[0][calls[0]], keys[1][calls[1]], _gaps([(bound[:-1], bound[1:]) for bound in bounds]))
    paired = np.flatnonzero(partner >= 0)
    return calls[0][paired], calls[1][partner[paired]], ~in_order[paired]


def _places(first: Trace, second: Trace) -> tuple[I4, I4]:
    keys = [list(zip(t.locations.process.tolist(), t.locations.thread.tolist(), strict=True)) for t in (first, second)]
    count = len(keys[0])
    row_of = {key: row for row, key in enumerate(keys[0])}
    return np.arange(count, dtype="i4"), np.array([row_of.get(key, count + row) for row, key in enumerate(keys[1])], "i4")


def _communicators(first: Communicators, second: Communicators) -> tuple[I4, I4]:
    """Return a number per communicator of each trace, -1 behind them for none: the first row stands for the world in both.

    Others are the same if they have the same members and the same name, or else the same members; of several such in order.
    """
    out = np.arange(len(first), len(first) + len(second) + 1, dtype="i4")
    out[-1] = -1
    out[: min(len(first), len(second), 1)] = 0
    _same(first, second, lambda comms, c: (comms.names[c], comms.members(c).tobytes()), out)
    _same(first, second, lambda comms, c: comms.members(c).tobytes(), out)
    return np.append(np.arange(len(first), dtype="i4"), np.int32(-1)), out


def _same(first: Communicators, second: Communicators, key: Callable[[Communicators, int], Hashable], out: I4) -> None:
    """Give communicators of the second trace the number of one of the first that has the same key and is not taken yet."""
    free: dict[Hashable, collections.deque[int]] = collections.defaultdict(collections.deque)
    taken = set(out.tolist())
    for c in range(1, len(first)):
        if c not in taken:
            free[key(first, c)].append(c)
    for c in range(1, len(second)):
        if out[c] >= len(first) and (rows := free.get(key(second, c))):
            out[c] = rows.popleft()


def _paths(first: Trace, second: Trace) -> tuple[tuple[I4, I4], tuple[tuple[str, ...], ...]]:
    number: dict[tuple[str, ...], int] = {}
    columns = []
    for trace in (first, second):
        names: list[tuple[str, ...]] = []
        for parent, region in zip(trace.paths.parent.tolist(), trace.paths.region.tolist(), strict=True):
            names.append((*(names[parent] if parent >= 0 else ()), trace.names[region]))
        columns.append(np.array([*(number.setdefault(name, len(number)) for name in names), -1], "i4"))
    return (columns[0], columns[1]), tuple(number)


def _keys(trace: Trace, place: I4, comm: I4, path: I4, numbers: list[Numbers]) -> tuple[I4, I4]:
    """Return two numbers per call, equal for calls that can be the same: whatever their region is, and in the same one."""
    calls = trace.calls
    key = place[calls.location].astype("i8") << 8 | calls.op
    *others, last = numbers
    for number, column in zip(others, (calls.peer, calls.tag, comm[calls.comm], calls.root), strict=True):
        key = number.number(key, column)
    return key, last.number(key, path[calls.path])


def _grouped(key: I4, count: int) -> I4:
    """Return the rows of numbers below `count`, sorted by them, equal ones in order: 2 0 2 1 -> 1 3 0 2, int32."""
    many, out = np.bincount(key, minlength=count), np.empty(len(key), "i4")
    sorting.group(key, (np.cumsum(many) - many).astype("i4"), out)
    return out


def _gaps(sides: Sequence[tuple[I8, I8]]) -> Gaps:
    """Return gaps as a table, given the columns (begin, end) of rows of a and of rows of b."""
    gaps = np.empty(len(sides[0][0]), kernel.GAP).view(np.recarray)
    (gaps.begin_a, gaps.end_a), (gaps.begin_b, gaps.end_b) = sides
    return gaps


def _partners(a: I4, b: I4, gaps: Gaps) -> tuple[I4, Mask]:
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


def _fill(a: I4, b: I4, gaps: Gaps, whole: bool, partner: I4) -> Gaps:
    """Pair in `partner` what a shortest edit script pairs in gaps, and return what is left of them; see the kernel."""
    steps = _STEPS * (len(a) + len(b)) + MOST * MOST
    kernel.script(a, b, gaps, MOST, whole, steps, np.empty((MOST + 1) * (MOST + 2) // 2, "i4"), partner)
    return gaps[(gaps.begin_a < gaps.end_a) & (gaps.begin_b < gaps.end_b)]


def _chain(a: I4, b: I4, gaps: Gaps, partner: I4) -> Gaps:
    """Pair in `partner` a longest chain of keys that are equally often on both sides of a gap; return the gaps between.

    a 5 6 7 8, b 6 7 9 5, one gap: 5 6 7 are as often on both sides, 6 7 is the longest chain -> partner -1 0 1 -1; gaps before 6,
    between 6 and 7, behind 7: rows 0 to 1, 2 to 2, 3 to 4 of a (ends not included) with rows 0 to 0, 1 to 1, 2 to 4 of b.
    """
    numbers, sides = Numbers(), []
    for key, begin, end in ((a, gaps.begin_a, gaps.end_a), (b, gaps.begin_b, gaps.end_b)):
        row = np.repeat(begin - np.cumsum(end - begin) + (end - begin), end - begin) + np.arange((end - begin).sum())
        sides.append((row, numbers.number(np.repeat(np.arange(len(gaps)), end - begin), key[row])))
    often = np.equal(*(np.bincount(key, minlength=numbers.count) for _, key in sides))
    grouped = [(row, key, _grouped(key, numbers.count)) for row, key in sides]
    rows, position = (row[order[often[key[order]]]] for row, key, order in grouped)
    by = np.argsort(rows)
    rows, position = rows[by], position[by].astype("i4")
    keep = np.zeros(len(rows), "u1")
    kernel.chain(position, np.empty(len(rows), "i4"), np.empty(len(rows), "i4"), keep)
    rows, position = rows[keep == 1], position[keep == 1]
    partner[rows] = position
    columns = ((gaps.begin_a, gaps.end_a, rows), (gaps.begin_b, gaps.end_b, position))
    return _gaps([(np.sort(np.append(begin, links + 1)), np.sort(np.append(end, links))) for begin, end, links in columns])
