"""The iterations of a program: what all processes do again and again, one iteration of each beside the same of the others.

Steps of training are they, where all processes name as many. Else looked for are, in this order: instances of the regions at the top of
the call path that repeat; sequences of calls that repeat with their partners and sizes; sequences of calls whatever these are. The first
counts that lasts nearly as long as the one that lasts longest; in it, the loop inside that is nearly all of it, and only interrupted. If
none is one of all processes, there are the collective calls of these.
Each process has its own sequence. That iterations of two belong together shows in messages and collectives: both ends of nearly all are
in the same iteration, or in neighbours.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from perwiz import words
from perwiz.trace import operations
from perwiz.trace.arrays import I8
from perwiz.trace.parts.interrupted import finer, interruptions
from perwiz.trace.parts.loops import LEAST, Folded, Kind, Loop, folded, processes, tokens
from perwiz.trace.resources import remembered
from perwiz.trace.spread.share import Share
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

_NEARLY = 0.8
"""Part of the longest-lasting that is as good; of the messages and collectives that must be in one iteration or neighbours."""
_MATTERS = 0.05
"""Part of the time between MPI_Init and MPI_Finalize that a loop must last."""
PROFILED = "ProfilerStep"
"""The region that the profiler of PyTorch makes of each step."""
_STEPS = ("step", PROFILED)
"""Regions that are steps of training."""
_EDGES = [operations.OP[name] for name in ("MPI_Init", "MPI_Init_thread", "MPI_Finalize")]


@dataclasses.dataclass(frozen=True)
class Other:
    """A loop of the first process that is not taken."""

    body: tuple[str, ...]
    iterations: int
    lasts: int
    """ns."""


@dataclasses.dataclass(frozen=True, eq=False)
class Iterations:
    """The iterations that all processes have: arrays of two dimensions, a row an iteration, a column a location.

    Of a part of a trace the columns are those of its own locations, and the process that has the first location tells what it does by name.
    """

    kind: Literal["regions", "calls", "steps"] | None
    """What repeats: regions, calls, or collective calls of all processes, with which each ends; None if there are no iterations."""
    body: tuple[str, ...]
    """Names of the regions or routines of one iteration of the first process, in order, one that follows itself once."""
    first: I8
    """First call."""
    end: I8
    """Behind the last call."""
    begin: I8
    """When it begins, ns."""
    stop: I8
    """When it ends, ns."""
    processes: I8
    """The location of each process that iterates."""
    counts: I8
    """How often each of these does, the same or not."""
    incomplete: int
    """How many of them come to their end within one more."""
    others: tuple[Other, ...]
    """Loops of the first process that are not taken, the longest first: those that last a twentieth as long or more."""
    why: str = ""
    """Why there are none."""
    interrupted: int = 0
    """Iterations of the first process with something in them that the others do not have."""
    between: tuple[str, ...] = ()
    """Names of what that is."""

    def __len__(self) -> int:
        return len(self.first)

    @property
    def told(self) -> int:
        """How many last as long as is known: of calls all but the last, for what comes behind its last call may be its own or not."""
        return len(self) - (self.kind == "calls")


@remembered(1)
def find(trace: Trace) -> Iterations:
    """Return the iterations of a trace; none, and why, if it has none."""
    where, share = processes(trace), trace.share
    mine = where[share.has(where)]
    if (told := _named(trace, where, mine)) is not None:
        return told
    ends = trace.timeline.locations
    run = int((ends.leave - ends.enter)[where].sum())
    found = []
    for given in tokens(trace, mine):
        whole = folded(given)
        chosen = _chosen(whole.loops, mine, share)
        found.append((share.total(sum(loop.lasts for loop in chosen.values())), whole, chosen))
        if given.kind != "steps" and comes_first([lasts for lasts, *_ in found], run):
            result = _finest(trace, whole, where, chosen)
            if isinstance(result, Iterations):
                return result
    most = max(lasts for lasts, *_ in found)
    if most <= _MATTERS * computed(trace, where):
        return _none(trace, f"nothing that lasts repeats {LEAST} times or more")
    *others, steps = found
    best = max(lasts for lasts, *_ in others)
    whys = []
    for lasts, whole, chosen in [*sorted(others, key=lambda one: one[0] < _NEARLY * best), *[steps] * (steps[0] >= _NEARLY * most)]:
        result = _finest(trace, whole, where, chosen) if lasts else "nothing repeats"
        if isinstance(result, Iterations):
            return result
        whys.append(result)
    return _none(trace, whys[0])


def _named(trace: Trace, where: I8, mine: I8) -> Iterations | None:
    """Return the steps of a training job, if all processes name as many; of one alone, whose layers would be told as iterations, none."""
    share = trace.share
    if not share.any(PROFILED in trace.names or operations.DIST[trace.calls.op[share.calls]].any()):
        return None
    named = np.isin(trace.region_names, [row for row, name in enumerate(trace.names) if name in _STEPS])
    rows = [np.flatnonzero(named & (trace.regions.location == at)) for at in mine.tolist()]
    counts = share.rows(np.array([len(one) for one in rows], "i8"))
    count = int(counts[0]) if len(counts) else 0
    if not count or (counts != count).any():
        return None
    if count == 1:
        return _none(trace, "one step is recorded, several would tell how much they vary")
    row = np.stack(rows, axis=1) if rows else np.zeros((count, 0), "i8")
    times, shape = trace.timeline.regions, (count, len(trace.locations))
    first, end, begin, stop = (np.zeros(shape, "i8") for _ in range(4))
    first[:, mine], end[:, mine] = trace.regions.first_call[row], trace.regions.end_call[row]
    begin[:, mine], stop[:, mine] = times.enter[row], times.leave[row]
    names = tuple(trace.names[name] for name in trace.region_names[row[:1, :1].ravel()].tolist())
    steps = Iterations("regions", names, first, end, begin, stop, where, counts, 0, ())
    _follow(trace, steps)
    return steps


def comes_first(lasts: list[int], run: int) -> bool:
    """Return whether the last of some kinds counts before all others, whatever kinds behind it last, none longer than the run, ns.

    Those before it are too short to count, or were looked at: they come before it however long the others are.
    """
    return lasts[-1] >= _NEARLY * run > 0 and not any(_NEARLY * lasts[-1] <= other < _NEARLY * run for other in lasts[:-1])


def _finest(trace: Trace, whole: Folded, where: I8, chosen: dict[int, Loop]) -> Iterations | str:
    """Return the iterations that a loop of each process makes, or one that is nearly all of it; or why it makes none."""
    kind, at, share = whole.given.kind, int(where[0]), trace.share
    result = _together(trace, kind, where, chosen)
    now, its, taken = whole, chosen, chosen.get(at)
    while kind != "routines" and share.total(len(its)) == len(where) and (inner := finer(now, its, share)):
        now, its = inner.folded, inner.chosen
        better = _together(trace, kind, where, its)
        if isinstance(better, Iterations):
            interrupted, between = 0, tuple[str, ...]()
            if at in its:
                taken = its[at]
                more, rows = interruptions(whole.given, now.given, taken, at)
                interrupted, between = int(more.sum()), tuple(dict.fromkeys(_names(trace, kind, rows)))
            result = dataclasses.replace(better, interrupted=share.total(interrupted), between=between)
    if isinstance(result, str) or taken is None:
        return result
    return dataclasses.replace(result, others=_others(trace, kind, whole.loops[at], taken))


def computed(trace: Trace, where: I8) -> int:
    """Return how long processes are not in MPI_Init and MPI_Finalize, all together, ns."""
    times, ends, own = trace.timeline.calls, trace.timeline.locations, trace.share.calls
    edge = np.isin(trace.calls.op[own], _EDGES) & np.isin(trace.calls.location[own], where)
    inside = int((times.leave[own] - times.enter[own])[edge].sum())
    return int((ends.leave - ends.enter)[where].sum()) - trace.share.total(inside)


def _none(trace: Trace, why: str) -> Iterations:
    empty, nobody = np.empty((0, len(trace.locations)), "i8"), np.empty(0, "i8")
    return Iterations(None, (), empty, empty, empty, empty, nobody, nobody, 0, (), why)


def _chosen(its: dict[int, list[Loop]], mine: I8, share: Share) -> dict[int, Loop]:
    """Return the loop of each process: of the first that has any the longest, of the others that which is made most of that time."""
    first = next((its[at][0] for at in mine.tolist() if at in its), None)
    told = share.rows(np.array([] if first is None else [first.begin[0], first.stop[-1]], "i8"))
    if not len(told):
        return {}
    begin, end = told[:2].tolist()

    def shared(loop: Loop) -> int:
        return min(loop.lasts, int(min(end, loop.stop[-1]) - max(begin, loop.begin[0])))

    return {at: max(its[at], key=shared) for at in mine.tolist() if at in its}


def _together(trace: Trace, kind: Kind, where: I8, chosen: dict[int, Loop]) -> Iterations | str:
    """Return the iterations that all processes have, or why these are none."""
    share, mine = trace.share, where[trace.share.has(where)]
    lacking = len(where) - share.total(len(chosen))
    if lacking:
        return f"{words.several(lacking, 'process')} of {len(where)} repeat nothing"
    own = [chosen[at] for at in mine.tolist()]
    shorter = [kind == "regions" and _shorter(trace, at, loop) for at, loop in zip(mine.tolist(), own, strict=True)]
    counts = share.rows(np.array([len(loop.first) - less for loop, less in zip(own, shorter, strict=True)], "i8"))
    shift = share.rows(_shifts(own, counts, share))
    low = int(shift.max(initial=0))
    number = int((counts + shift).min()) - low
    often = f"from {counts.min()} to {counts.max()} times"
    if number < max(LEAST, counts.max() / 2):
        return f"processes repeat what they do unequally often, {often}"
    shape = number, len(trace.locations)
    first, end, begin, stop = (np.zeros(shape, "i8") for _ in range(4))
    for at, loop, behind in zip(mine.tolist(), own, shift[share.has(where)].tolist(), strict=True):
        rows = slice(low - behind, low - behind + number)
        first[:, at], end[:, at], begin[:, at], stop[:, at] = loop.first[rows], loop.end[rows], loop.begin[rows], loop.stop[rows]
    incomplete = share.total(sum(loop.cut or less for loop, less in zip(own, shorter, strict=True)))
    names = _names(trace, kind, chosen[int(where[0])].body) if where[0] in mine else ()
    told = "calls" if kind == "routines" else kind
    out = Iterations(told, names, first, end, begin, stop, where, counts, incomplete, others=())
    _follow(trace, out)
    if (joined := _shared(trace, out)) < _NEARLY:
        unequal = f", {often}" if counts.min() < counts.max() else ""
        return f"processes repeat what they do, but not together{unequal}: {1 - joined:.0%} of messages and collectives join different ones"
    return out


def _shorter(trace: Trace, location: int, loop: Loop) -> bool:
    """Return whether the last iteration ends with the process, with fewer calls than any other: it was cut there."""
    calls = loop.end - loop.first
    ends = loop.stop[-1] >= trace.timeline.locations.leave[location]
    return bool(ends and len(calls) > LEAST and calls[-1] < calls[:-1].min())


def _shifts(own: list[Loop], counts: I8, share: Share) -> I8:
    """Return by how many iterations each process here begins behind the first of all, given how often all iterate.

    None if all iterate equally often, else as times tell.
    """
    out = np.zeros(len(own), "i8")
    if counts.min() < counts.max():
        lengths = share.rows(np.array([len(loop.begin) for loop in own[:1]], "i8"))
        first = share.rows(own[0].begin if own else out)[: lengths[0]]
        for k, loop in enumerate(own):
            middle = (loop.begin + loop.stop) // 2
            out[k] = round(float(np.median(np.searchsorted(first, middle, "right") - 1 - np.arange(len(middle)))))
    return out


def _follow(trace: Trace, its: Iterations) -> None:
    """Let threads and streams iterate when their process does, and processes that do nothing when others do."""
    enter, bounds, process, share = trace.timeline.calls.enter, trace.first_calls, trace.locations.process, trace.share
    of = dict(zip(process[its.processes].tolist(), its.processes.tolist(), strict=True))
    mine, every = its.processes[share.has(its.processes)], np.arange(len(process))
    ends = np.iinfo("i8")
    silent = (
        share.reduced(its.begin[:, mine].min(axis=1, initial=ends.max), "min"),
        share.reduced(its.stop[:, mine].max(axis=1, initial=ends.min), "max"),
    )
    for at in np.setdiff1d(every[share.has(every)], its.processes).tolist():
        owner = of.get(int(process[at]))
        begin, stop = silent if owner is None else (its.begin[:, owner], its.stop[:, owner])
        low, high = bounds[at], bounds[at + 1]
        its.begin[:, at], its.stop[:, at] = begin, stop
        its.first[:, at], its.end[:, at] = (low + np.searchsorted(enter[low:high], side) for side in (begin, stop))


def iteration_of(iterations: Iterations, trace: Trace) -> I8:
    """Return the iteration of each call, int64 per row of calls, -1 outside of all; of a part of a trace of its own."""
    out, first_calls = np.full(len(trace.calls), NONE, "i8"), trace.first_calls
    for at in range(*trace.share.locations.indices(iterations.first.shape[1])):
        first, end = iterations.first[:, at], iterations.end[:, at]
        rows = np.arange(*first_calls[at : at + 2])
        place = np.searchsorted(first, rows, "right") - 1
        inside = (place >= 0) & (rows < end[place])
        out[rows[inside]] = place[inside]
    return out


def _shared(trace: Trace, iterations: Iterations) -> float:
    """Return which part of the messages and members of collectives in iterations join the same one, or neighbours."""
    number, members, messages, share = iteration_of(iterations, trace), trace.members, trace.messages, trace.share
    leading = share.leading(trace.collectives.first_member)
    first = np.full(len(trace.collectives), NONE, "i8")
    first[members.collective[leading]] = number[members.call[leading]]
    sent = share.told_by_senders(number[messages.send])[share.messages]
    one = np.concatenate([sent, share.over_instances(first, "max")[members.collective]])
    other = np.concatenate([number[messages.receive_done[share.messages]], number[members.call]])
    inside = (one >= 0) & (other >= 0)
    near, all_ = share.total(int((np.abs(one - other)[inside] <= 1).sum())), share.total(int(inside.sum()))
    return near / all_ if all_ else 1.0


def _names(trace: Trace, kind: Kind, rows: I8) -> tuple[str, ...]:
    """Return what rows of regions or calls are called, in order, one that follows itself once."""
    if kind == "regions":
        names = [trace.names[name] for name in trace.region_names[rows].tolist()]
    else:
        names = [operations.OPS[op] for op in trace.calls.op[rows].tolist()]
    return tuple(name for name, before in zip(names, [None, *names], strict=False) if name != before)


def _others(trace: Trace, kind: Kind, its: list[Loop], taken: Loop) -> tuple[Other, ...]:
    """Return the loops that last long enough to be named, and not while the iterations that are taken do."""
    begin, stop = taken.begin[0], taken.stop[-1]
    beside = its if taken in its else [loop for loop in its if loop.stop[-1] <= begin or loop.begin[0] >= stop]
    least = _MATTERS * taken.lasts
    return tuple(
        Other(_names(trace, kind, loop.body), len(loop.first), loop.lasts) for loop in beside if loop is not taken and loop.lasts >= least
    )
