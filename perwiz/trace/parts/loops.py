"""What each process does again and again: instances of regions, or sequences of calls, one after the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Literal

import numpy as np

from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.numbers import Numbers
from perwiz.trace.parts.fold import Repeats, fold
from perwiz.trace.tables import NONE, PROCESS, Times
from perwiz.trace.trace import Trace

LEAST = 3
"""Repetitions that make a loop."""
Kind = Literal["regions", "calls"]


@dataclasses.dataclass(frozen=True, eq=False)
class Tokens:
    """What processes do, one after the other, in order of (location, time)."""

    kind: Kind
    letter: I4
    """The same for the same."""
    late: Mask
    """Completes something: no iteration begins with it if it can begin later."""
    location: I8
    row: I8
    """Of regions or calls."""
    first: I8
    """Its first call."""
    end: I8
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


def processes(trace: Trace) -> I8:
    """Return the location of each process that did anything: its first. Threads and streams follow it."""
    places = trace.locations
    order = np.lexsort((places.kind != PROCESS, places.process))
    first = order[np.diff(places.process[order], prepend=NONE - 1) != 0]
    return np.sort(first[np.isin(first, trace.calls.location) | np.isin(first, trace.regions.location)])


def tokens(trace: Trace, locations: I8) -> Iterator[Tokens]:
    """Yield what the processes at some locations do: entries of regions, calls with partners and sizes, calls whatever these are.

    Regions are those that are entered often and in no other that is. Calls that only look whether something has come are none: they are
    made until it has.
    """
    here = np.zeros(len(trace.locations), bool)
    here[locations] = True
    regions, times = trace.regions, trace.timeline.regions
    row = np.flatnonzero(here[regions.location] & _top(trace, here)[regions.path])
    letter = regions.path[row]
    yield _tokens("regions", letter, np.zeros(len(row), bool), row, regions.location, regions.first_call[row], regions.end_call[row], times)
    calls, times = trace.calls, trace.timeline.calls
    kind = operations.KIND[calls.op]
    row = np.flatnonzero(here[calls.location] & (kind != operations.TEST) & (kind != operations.PROBE))
    routine = Numbers().number(calls.op[row], calls.path[row])
    letter = Numbers().number(routine, Numbers().number(calls.comm[row], calls.root[row]))
    partner = Numbers().number(calls.peer[row], calls.bytes_sent[row])
    posted = np.full(len(calls), NONE, "i8")
    posted[row] = Numbers().number(letter, partner)
    done = np.full(len(calls) + 1, NONE, "i8")
    done[trace.requests.completed_by[::-1]] = posted[trace.requests.posted_by[::-1]]
    told = Numbers().number(posted[row], done[row])
    for each in (told, letter):
        yield _tokens("calls", each, kind[row] == operations.COMPLETE, row, calls.location, row, row + 1, times)


def _tokens(kind: Kind, letter: I4, late: Mask, row: I8, location: I4, first: I4 | I8, end: I4 | I8, times: Times) -> Tokens:
    when = Times(times.enter[row], times.leave[row])
    return Tokens(kind, letter, late, location[row].astype("i8"), row, first.astype("i8"), end.astype("i8"), when)


def _top(trace: Trace, here: Mask) -> Mask:
    """Return which paths a process comes to LEAST times or more, and to none above so often, bool per path."""
    rows = np.flatnonzero(here[trace.regions.location])
    numbers = Numbers()
    count = np.bincount(numbers.number(trace.regions.location[rows], trace.regions.path[rows]), minlength=numbers.count)
    often = np.zeros(len(trace.paths), bool)
    often[numbers.pairs[count >= LEAST, 1]] = True
    inside = np.zeros(len(often), bool)
    for path, parent in enumerate(trace.paths.parent.tolist()):
        inside[path] = parent >= 0 and bool(inside[parent] or often[parent])
    return np.asarray(often & ~inside)


def loops(given: Tokens) -> dict[int, list[Loop]]:
    """Return, per location that has any, its loops that are in no other, those that last longest first."""
    found = fold(given.letter, given.location, given.late)
    rows = np.flatnonzero(_outermost(found))
    lane = given.location[found.begin[found.first[rows]]]
    group = Numbers().number(lane, found.word[rows])
    words = np.bincount(group, found.words[rows])
    order = np.lexsort((found.end[rows], group))
    order = order[words[group[order]] >= LEAST] if len(order) else order
    out: dict[int, list[Loop]] = {}
    for its in np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(order) else ():
        out.setdefault(int(lane[its[0]]), []).append(_loop(given, found, rows[its]))
    return {where: sorted(its, key=lambda loop: -loop.lasts) for where, its in sorted(out.items())}


def _outermost(found: Repeats) -> Mask:
    """Return which rows are in no other of LEAST words or more."""
    begin = found.begin[found.first[:-1]]
    order = np.lexsort((-found.end, begin))
    reach = np.where(found.words[order] >= LEAST, found.end[order], 0)
    before = np.append(0, np.maximum.accumulate(reach)[:-1])[: len(order)]
    out = np.empty(len(order), bool)
    out[order] = found.end[order] > before
    return out


def _loop(given: Tokens, found: Repeats, rows: I8) -> Loop:
    """Return the loop that some rows of what repeats are, all of one word and one location, in order of time."""
    words = found.words[rows]
    behind = words.cumsum()
    place = found.begin[np.repeat(found.first[rows] - behind + words, words) + np.arange(behind[-1])]
    last = behind - 1
    follows = np.append(place[1:], 0)
    follows[last] = found.end[rows]
    first, end = given.first[place], given.first[np.minimum(follows, len(given.first) - 1)]
    begin, stop = given.times.enter[place], given.times.enter[np.minimum(follows, len(given.first) - 1)]
    end[last], stop[last] = given.end[found.end[rows] - 1], given.times.leave[found.end[rows] - 1]
    rest = int(found.rest[rows[-1]])
    lane = given.location[place[0]]
    return Loop(
        body=given.row[place[0] : follows[0]],
        first=first,
        end=end,
        begin=begin,
        stop=stop,
        lasts=int((stop - begin).sum()),
        cut=rest > follows[-1] and (rest == len(given.row) or given.location[rest] != lane),
    )
