"""What each process does again and again: instances of regions, or sequences of calls, one after the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Literal

import numpy as np

from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Ints, Mask
from perwiz.trace.numbers import Numbers
from perwiz.trace.parts.fold import Repeats, fold
from perwiz.trace.tables import NONE, PROCESS, Times
from perwiz.trace.trace import Trace

LEAST = 3
"""Repetitions that make a loop."""
_FORK, _JOIN = operations.OP["omp_fork"], operations.OP["omp_join"]
_CLOSE = [_JOIN, operations.OP["omp_implicit_barrier"]]
"""What a team does last."""
_LEAST_STEPS = 5
"""Of steps: many a program comes to a barrier three times."""
Kind = Literal["regions", "calls", "routines", "steps"]
"""Of what processes do: regions; calls with partners and sizes; calls whatever these are; the collective calls of all processes."""


@dataclasses.dataclass(frozen=True, eq=False)
class Tokens:
    """What processes do, one after the other, in order of (location, time)."""

    kind: Kind
    letter: I4
    """The same for the same."""
    late: Mask
    """Completes something, or closes a team: no iteration begins with it if it can begin later."""
    location: I4
    row: I4
    """Of regions or calls."""
    first: I4
    """Its first call."""
    end: I4
    """Behind its last call."""
    times: Times


@dataclasses.dataclass(frozen=True, eq=False)
class Loop:
    """What one process repeats, in the order of time."""

    body: I8
    """Rows of regions or calls: what the first iteration consists of."""
    first: I8
    """Per iteration: its first call."""
    end: I8
    """Behind its last one."""
    begin: I8
    """When it begins, ns."""
    stop: I8
    """When the next one begins, ns; where none follows at once, when it ends."""
    lasts: int
    """All iterations together, ns."""
    cut: bool
    """The process comes to its end within one more, which is no row."""
    rows: I8
    """Of what repeats (`Repeats`), in order of time."""
    place: I8
    """Per iteration: its first token."""
    behind: I8
    """And behind its last one."""


def processes(trace: Trace) -> I8:
    """Return the location of each process that did anything: its first. Threads and streams follow it."""
    places, share = trace.locations, trace.share
    does = np.zeros(len(places), bool)
    does[trace.calls.location[share.calls]] = does[trace.regions.location] = True
    does = share.of_locations(does)
    order = np.lexsort((places.kind != PROCESS, places.process))
    first = order[np.diff(places.process[order], prepend=NONE - 1) != 0]
    return np.sort(first[does[first]])


def tokens(trace: Trace, locations: I8) -> Iterator[Tokens]:
    """Yield what the processes at some locations do, one after the other, of each kind.

    Regions are those that are entered often and in no other that is. Calls that only look whether something has come are none: they are
    made until it has. Steps end with the collective calls of all processes, in which these do not differ, whatever else each does.
    """
    here = np.zeros(len(trace.locations), bool)
    here[locations] = True
    regions, times = trace.regions, trace.timeline.regions
    instance = np.flatnonzero(here[regions.location] & _top(trace, here)[regions.path])
    never, first, end = np.zeros(len(instance), bool), regions.first_call[instance], regions.end_call[instance]
    yield _with_teams(trace, _tokens("regions", regions.path[instance], never, instance, regions.location, first, end, times))
    calls, times = trace.calls, trace.timeline.calls
    kind = operations.KIND[calls.op]
    row: I4 = np.flatnonzero(here[calls.location] & (kind != operations.TEST) & (kind != operations.PROBE)).astype("i4")
    routine = Numbers().number(calls.op[row], calls.path[row])
    letter = Numbers().number(routine, Numbers().number(calls.comm[row], calls.root[row]))
    partner = Numbers().number(calls.peer[row], calls.bytes_sent[row])
    posted = np.full(len(calls), NONE, "i4")
    posted[row] = Numbers().number(letter, partner)
    done = np.full(len(calls) + 1, NONE, "i4")
    done[trace.requests.completed_by[::-1]] = posted[trace.requests.posted_by[::-1]]
    told = Numbers().number(posted[row], done[row])
    late = (kind[row] == operations.COMPLETE) | np.isin(calls.op[row], _CLOSE)
    each: I4
    name: Kind
    for name, each in (("calls", told), ("routines", letter)):
        yield _tokens(name, each, late, row, calls.location, row, row + np.int32(1), times)
    size = _of_all(trace, here)[row]
    of_all = np.flatnonzero(size != NONE)
    row, letter = row[of_all], Numbers().number(letter[of_all], size[of_all])
    yield _tokens("steps", letter, np.zeros(len(row), bool), row, calls.location, row, row + np.int32(1), times)


def _with_teams(trace: Trace, given: Tokens) -> Tokens:
    """Return regions, those of a team from the call that opens it right before to that which closes it right behind."""
    op, where, times = trace.calls.op, np.append(trace.calls.location, NONE), trace.timeline.calls
    op = np.append(op, operations.OP["MPI_Init"])
    before, behind = given.first - 1, given.end
    opened = (op[before] == _FORK) & (where[before] == given.location)
    closed = opened & (op[behind] == _JOIN) & (where[behind] == given.location)
    enter, leave = given.times.enter.copy(), given.times.leave.copy()
    enter[opened], leave[closed] = times.enter[before[opened]], times.leave[behind[closed]]
    return dataclasses.replace(given, first=given.first - opened, end=given.end + closed, times=Times(enter, leave))


def _of_all(trace: Trace, here: Mask) -> I8:
    """Return, per call, the most bytes that any sends in its collective, if all processes take part; -1 else, and of one process alone.

    `here` are those of this process.
    """
    members = trace.members
    rows = np.flatnonzero(here[trace.calls.location[members.call]])
    number, call = members.collective[rows], members.call[rows]
    size = np.zeros(len(trace.collectives), "i8")
    np.maximum.at(size, number, trace.calls.bytes_sent[call])
    size, count = (trace.share.over_instances(*each) for each in ((size, "max"), (np.bincount(number, minlength=len(size)), "sum")))
    size[count != max(trace.share.total(int(here.sum())), 2)] = NONE
    out = np.full(len(trace.calls), NONE, "i8")
    out[call] = size[number]
    return out


def _tokens(kind: Kind, letter: I4, late: Mask, row: Ints, location: I4, first: I4, end: I4, times: Times) -> Tokens:
    return Tokens(kind, letter, late, location[row], row.astype("i4", copy=False), first, end, Times(times.enter[row], times.leave[row]))


def _top(trace: Trace, here: Mask) -> Mask:
    """Return which paths a process, of all, comes to LEAST times or more, and to none above so often, bool per path."""
    rows = np.flatnonzero(here[trace.regions.location])
    numbers = Numbers()
    count = np.bincount(numbers.number(trace.regions.location[rows], trace.regions.path[rows]), minlength=numbers.count)
    often = np.zeros(len(trace.paths), bool)
    often[numbers.pairs[count >= LEAST, 1]] = True
    often = trace.share.reduced(often.view("u1"), "max").view(bool)
    inside = np.zeros(len(often), bool)
    for path, parent in enumerate(trace.paths.parent.tolist()):
        inside[path] = parent >= 0 and bool(inside[parent] or often[parent])
    return np.asarray(often & ~inside)


@dataclasses.dataclass(frozen=True, eq=False)
class Folded:
    """What processes do, what of it repeats, and the loops that this makes."""

    given: Tokens
    found: Repeats
    loops: dict[int, list[Loop]]
    """Per location that has any: those that are in no other, the longest lasting first."""


def folded(given: Tokens) -> Folded:
    """Return what repeats in what processes do."""
    found = fold(given.letter, given.location, given.late)
    rows = np.flatnonzero(outermost(found.begin[found.first[:-1]], found.end, found.words))
    lane = given.location[found.begin[found.first[rows]]]
    group = Numbers().number(lane, found.word[rows])
    words = np.bincount(group, found.words[rows])
    order = np.lexsort((found.end[rows], group))
    order = order[words[group[order]] >= (_LEAST_STEPS if given.kind == "steps" else LEAST)] if len(order) else order
    out: dict[int, list[Loop]] = {}
    for where, loop in _loops(given, found, rows[order], group[order]):
        out.setdefault(where, []).append(loop)
    return Folded(given, found, {where: sorted(its, key=lambda loop: -loop.lasts) for where, its in sorted(out.items())})


def outermost(begin: I8, end: I8, words: I8) -> Mask:
    """Return which of what repeats from some places to others is in no other of LEAST words or more."""
    order = np.lexsort((-end, begin))
    reach = np.where(words[order] >= LEAST, end[order], 0)
    before = np.append(0, np.maximum.accumulate(reach)[:-1])[: len(order)]
    out = np.empty(len(order), bool)
    out[order] = end[order] > before
    return out


def _loops(given: Tokens, found: Repeats, rows: I8, group: I4) -> Iterator[tuple[int, Loop]]:
    """Yield (location, loop) for each group of rows of what repeats: those of one word and one location, in order of time."""
    if not len(rows):
        return
    words = found.words[rows]
    behind = words.cumsum()
    place = found.begin[np.repeat(found.first[rows] - behind + words, words) + np.arange(behind[-1])]
    follows = np.append(place[1:], 0)
    follows[behind - 1] = found.end[rows]
    first, end, begin, stop = (_steps if given.kind == "steps" else _spans)(given, place, follows, behind - 1)
    calls, ends = first.astype("i8"), end.astype("i8")
    last = np.flatnonzero(np.diff(group, append=NONE))
    bounds, at = np.append(0, last + 1), np.append(0, behind[last])
    opens, rest = place[at[:-1]], found.rest[rows[last]]
    where = given.location[opens]
    other = given.location[np.minimum(rest, len(given.location) - 1)] != where
    cut = (rest > follows[at[1:] - 1]) & ((rest == len(given.row)) | other)
    told = where, opens, follows[at[:-1]], np.add.reduceat(stop - begin, at[:-1]), cut
    parts = (map(slice, some[:-1], some[1:]) for some in (bounds.tolist(), at.tolist()))
    for own, its, location, begins, closes, lasts, ended in zip(*parts, *(column.tolist() for column in told), strict=True):
        loop = Loop(
            body=given.row[begins:closes].astype("i8"),
            first=calls[its],
            end=ends[its],
            begin=begin[its],
            stop=stop[its],
            lasts=lasts,
            cut=ended,
            rows=rows[own],
            place=place[its],
            behind=follows[its],
        )
        yield location, loop


def _spans(given: Tokens, place: I8, follows: I8, last: I8) -> tuple[I4, I4, I8, I8]:
    """Return (first call, behind the last, begin, end) of iterations of which some are the last in a row: from each to the next."""
    behind = np.minimum(follows, len(given.first) - 1)
    first, end, begin, stop = given.first[place], given.first[behind], given.times.enter[place], given.times.enter[behind]
    end[last], stop[last] = given.end[follows[last] - 1], given.times.leave[follows[last] - 1]
    return first, end, begin, stop


def _steps(given: Tokens, place: I8, follows: I8, last: I8) -> tuple[I4, I4, I8, I8]:
    """Return the same of steps: from behind the call that ends what is before to behind the last of its own."""
    before = np.maximum(place - 1, 0)
    alone = (place == 0) | (given.location[before] != given.location[place])
    first = np.where(alone, given.first[place], given.end[before])
    begin = np.where(alone, given.times.enter[place], given.times.leave[before])
    return first, given.end[follows - 1], begin, given.times.leave[follows - 1]
