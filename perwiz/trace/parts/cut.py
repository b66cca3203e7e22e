"""The trace of a part of a run: of some iterations, or up to where the records of all processes go."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz import words
from perwiz.errors import UsageError
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.parts.course import Course, course, exceptions, stands_out
from perwiz.trace.parts.iterations import PROFILED, Iterations, find
from perwiz.trace.parts.rows import ENDS, Kept, part, whole, whole_collectives
from perwiz.trace.spread.part import fewer
from perwiz.trace.spread.share import Part
from perwiz.trace.tables import ANY, NONE, Calls, Times
from perwiz.trace.trace import ENDS_EARLY, LEFT_OUT, Timeline, Trace
from perwiz.trace.windows.large import Large

_TIMED = ("offsets", "readings", "records")
"""Tables with a column of times."""
_ENOUGH, _FEWEST = 8, 4
"""Steps that say enough without those that were disturbed, and how many must be left of a job that has fewer than enough in any case: of 62
recordings of twelve steps the last stood out in 24, one of the others 19 times of 682.
"""
_TENTH = 0.1
"""How far above the others the last step alone is where it is disturbed, as a part of them: so was that of 41 of these, and 30 of the
others.
"""
_IDLE = tuple(operations.OP[name] for name in ("thread_idle", "device_idle"))
_RANKS = 4
"""How many ranks are named."""


@dataclasses.dataclass(frozen=True)
class Chosen:
    """Iterations asked for, from 1; None is the last. From 0 on it is the whole run, with what is not in its iterations: ALL."""

    first: int
    last: int | None

    def __bool__(self) -> bool:
        """Return whether it is a part of the run."""
        return self.first > 0

    def __str__(self) -> str:
        if not self:
            return "all"
        return str(self.first) if self.first == self.last else f"{self.first}..{'' if self.last is None else self.last}"


ALL = Chosen(0, None)
"""What asks about all, where some of it would be chosen, or left out, unasked."""


def restricted(trace: Trace, chosen: Chosen) -> Trace:
    """Return the trace of some of its iterations. Raises UsageError if it does not have them."""
    found = find(trace)
    asked = f"--iterations {chosen}: {trace.path} has "
    if not len(found):
        raise UsageError(f"{asked}no iterations: {found.why}")
    last = len(found) if chosen.last is None else chosen.last
    if not chosen.first <= last <= len(found):
        raise UsageError(f"{asked}{len(found)}, must be within 1..{len(found)}")
    part = f"iterations {chosen.first}..{last}"
    return dataclasses.replace(cut(trace, found, chosen.first - 1, last), path=f"{trace.path} {part}", part=part)


def undisturbed(trace: Trace) -> int | None:
    """Return how many steps a training job has before the last ones, if these take far longer than all others: ranks that are done stop
    their profilers while others are in them. None where any other step stands out, nothing does, or too few are left: seven of eight, of
    which no gain is told any more, or three.
    """
    its = _course(trace) if steps(trace) else None
    if its is None:
        return None
    end = last = len(its.time)
    far, late = {*its.exceptions}, {its.usual.start + k for k in exceptions(its.time[its.usual], _TENTH)}
    if last - 1 in late and last - 2 not in late:
        far.add(last - 1)
    while end - 1 in far:
        end -= 1
    enough = _ENOUGH if last >= _ENOUGH else _FEWEST
    return end if end < last and len(far) == last - end and end - its.usual.start >= enough else None


def steps(trace: Trace) -> int:
    """Return how many steps that the profiler of PyTorch names all ranks of a training job have; 0 of any other run."""
    found = find(trace) if PROFILED in trace.names else None
    return len(found) if found is not None and found.body == (PROFILED,) else 0


def _course(trace: Trace) -> Course:
    """Return how the steps go on, of all ranks also where each process has its part."""
    found, share = find(trace), trace.share
    if not isinstance(share, Part):
        return course(found)
    return course(dataclasses.replace(found, begin=share.reduced(found.begin, "max"), stop=share.reduced(found.stop, "max")))


def without_last(trace: Trace, end: int) -> Trace:
    """Return the trace of the first so many steps of a training job, which says what those behind them took, and why it lacks them."""
    part = restricted(trace, Chosen(1, end))
    return dataclasses.replace(part, properties={**part.properties, **left_out(trace, end)})


def left_out(trace: Trace, end: int) -> dict[str, str]:
    """Return the property that says what the steps of a training job behind the first so many took, and why a part lacks them."""
    its = _course(trace)
    lasts = {k + 1: round(its.time[k]) for k in range(end, len(its.time))}
    why = "profilers stop there" if undisturbed(trace) else "as in the other run"
    return {LEFT_OUT: f"{stands_out(lasts, round(its.median))}: {why}; --iterations all asks of all"}


def cut(trace: Trace, iterations: Iterations, first: int, end: int) -> Trace:
    """Return the trace of the iterations `first` to `end` - 1, from 0, as a run of its own: its rows and times count from its start.

    Each process begins with the first and ends with the last of them. Threads and streams do so at the same times, and their calls that
    last longer are cut there, as are regions; but one in which they are idle, for work that comes later, is cut where it begins. Messages,
    collectives and links stay if what they come about with and what they let return are inside: a thread that is idle at the begin is still
    released by its team. A call that loses one takes as long as recorded, as if it had no partner. `counts` says how many are lost.

        calls     a a b b b a b b b a     iterations a b b b, the second:
        messages    >-> >--->-> >->       one is inside, one begins before it
    """
    span = _Span(Times(iterations.begin[first], iterations.stop[end - 1]), iterations.first[first], iterations.end[end - 1])
    return _from_its_start(_within(trace, _before_idleness(trace, span)))


def _before_idleness(trace: Trace, span: _Span) -> _Span:
    """Return a part of a run in which threads and streams end when they are idle up to its end: it would count as work of the last ones."""
    times, stop, does = trace.timeline.calls, span.window.leave.copy(), np.flatnonzero(span.end > span.first)
    last = span.end[does] - 1
    idle = np.isin(trace.calls.op[last], _IDLE) & (times.leave[last] > stop[does])
    stop[does[idle]] = np.maximum(times.enter[last], span.window.enter[does])[idle]
    return dataclasses.replace(span, window=Times(span.window.enter, stop))


def before_records_end(trace: Trace) -> Trace:
    """Return the trace up to the first instant at which the records of a process end though it has not called MPI_Finalize.

    Such a run was killed, or its files were cut. Behind that instant nobody knows who would have waited for whom: what others recorded
    there would count as work that nothing holds up, and who has the longest records would be the slowest. Calls that last longer are cut
    there. The trace as it is if there is no such process, or nothing behind. Its times are to be those of one clock.

        rank 0  Init a b a b|                  ends here, and so does the run
        rank 1  Init a b a b|a b a b Finalize
    """
    location, ends, early = trace.calls.location, trace.timeline.locations, end_early(trace)
    last, stop = int(ends.leave.max(initial=0)), _stop(ends, early)
    if stop == last:
        return trace
    ranks = np.unique(trace.locations.process[early & (ends.leave == stop)]).tolist()
    begin, everywhere = np.minimum(ends.enter, stop), np.full(len(ends), stop)
    stays = np.bincount(location, trace.timeline.calls.enter < stop, len(ends)).astype("i8")
    first = trace.first_calls[:-1]  # of a part of a run: of those it knows
    properties = {**trace.properties, ENDS_EARLY: _ends_early(ranks, stop, last)}
    return dataclasses.replace(_within(trace, _Span(Times(begin, everywhere), first, first + stays)), properties=properties)


def end_early(trace: Trace) -> Mask:
    """Return of which processes the records end before MPI_Finalize, though they have MPI_Init; bool per location."""
    called = _called(len(trace.locations), [(trace.calls.location, trace.calls.op)])
    begun, ended = trace.share.reduced(called.view("u1"), "max").view(bool)
    return np.asarray(begun & ~ended)


def ends_early(large: Large) -> bool:
    """Return whether `before_records_end` would cut a trace whose columns are read piece by piece."""
    begun, ended = _called(len(large.trace.locations), ((*columns,) for _, columns in large.pieces("calls", "location", "op")))
    ends = large.trace.timeline.locations
    return _stop(ends, begun & ~ended) < int(ends.leave.max(initial=0))


def _called(locations: int, calls: Iterable[tuple[NDArray[Any], ...]]) -> Mask:
    """Return which locations called MPI_Init, and which MPI_Finalize, given the location and the operation of calls, piece by piece."""
    out = np.zeros((2, locations), bool)
    for location, op in calls:
        for called, ops in zip(out, (operations.INITS, operations.FINALIZES), strict=True):
            called[location[np.isin(op, ops)]] = True
    return out


def _stop(ends: Times, early: Mask) -> int:
    """Return the first instant at which one of the locations ends whose records end early, ns; the last of all if there is none."""
    return int(ends.leave[early].min(initial=int(ends.leave.max(initial=0))))


def _ends_early(ranks: list[int], stop: int, last: int) -> str:
    """Return in words where the run is cut, as the records of these ranks end there, ns, and others only later."""
    more = f" and {len(ranks) - _RANKS} more" if len(ranks) > _RANKS else ""
    who = f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks[:_RANKS]))}{more}"
    return (
        f"records of {who} end at {words.duration(stop)} without MPI_Finalize: nothing behind that counts,"
        f" though others have records up to {words.duration(last)}"
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Span:
    """A part of a run, per location."""

    window: Times
    """When it begins and ends, ns;"""
    first: I8
    """its first call;"""
    end: I8
    """behind its last."""


def _within(trace: Trace, span: _Span) -> Trace:
    """Return the trace of a part of a run, as `cut` says, with the times as they are."""
    times, window = trace.timeline, span.window
    begin, stop = window.enter, window.leave
    start = np.clip(times.locations.enter, begin, stop)
    ends = Times(start, np.clip(times.locations.leave, start, stop))
    calls, entered, returned = _calls(trace, span.first, span.end, ends)
    done = trace.requests.completed_by
    requests = calls[trace.requests.posted_by] & (calls[done] | (done == NONE))
    records, parameters = trace.records, trace.parameters
    kept = Kept(
        locations=np.ones(len(trace.locations), bool),
        calls=calls,
        entered=entered,
        returned=returned,
        requests=requests,
        regions=_inside(trace.regions.location, times.regions.enter, times.regions.leave, window),
        parameters=np.append(calls, False)[parameters.call],
        records=_inside(records.location, records.time, records.time, window),
    )
    messages, links, share = whole(trace.messages, entered, returned), whole(trace.links, entered, returned), trace.share
    crossing = _crossing(calls, [getattr(trace.messages, name) for name in ENDS]) & ~messages
    released = _crossing(calls, [trace.links.cause, trace.links.effect]) & ~links
    counts = dataclasses.replace(
        trace.counts,
        cut_messages=share.total(int(crossing[share.messages].sum())),
        cut_collectives=_cut_collectives(trace, calls, returned),
        cut_links=share.total(int(released[share.links].sum())),
    )
    without = dataclasses.replace(trace, calls=_alone(trace, ~messages, calls, requests), counts=counts)
    out = part(without, kept)
    own = out.timeline
    inside = Timeline(_clipped(own.calls, out.calls.location, ends), _clipped(own.regions, out.regions.location, ends), ends, own.origin)
    out = dataclasses.replace(out, timeline=inside)
    if not isinstance(share, Part):
        return out
    return fewer(trace, out, calls, messages, links, whole_collectives(trace, returned))


def _from_its_start(trace: Trace) -> Trace:
    """Return a trace with times since its first instant."""
    times = trace.timeline
    start = int(times.locations.enter.min())
    calls, regions, locations = (Times(each.enter - start, each.leave - start) for each in (times.calls, times.regions, times.locations))
    return dataclasses.replace(
        trace,
        timeline=Timeline(calls, regions, locations, times.origin),
        **{name: dataclasses.replace(getattr(trace, name), time=getattr(trace, name).time - start) for name in _TIMED},
    )


def _calls(trace: Trace, first: I8, end: I8, ends: Times) -> tuple[Mask, Mask, Mask]:
    """Return which calls are inside at least in part, which of them are entered inside, and which return there; bool per call."""
    times, location = trace.timeline.calls, trace.calls.location
    inside = np.zeros(len(location), bool)
    for at, (low, high, begin) in enumerate(zip(first.tolist(), end.tolist(), ends.enter.tolist(), strict=True)):
        lasts = low > 0 and location[low - 1] == at and times.leave[low - 1] > begin
        inside[low - lasts : high] = True
    return inside, inside & (times.enter >= ends.enter[location]), inside & (times.leave <= ends.leave[location])


def _inside(location: I4, enter: I8, leave: I8, ends: Times) -> Mask:
    """Return which intervals share time with those of their location, or are instants in them."""
    low, high = ends.enter[location], ends.leave[location]
    return np.asarray((enter < high) & ((leave > low) | ((enter == leave) & (enter == low))))


def _clipped(times: Times, location: I4, ends: Times) -> Times:
    low, high = ends.enter[location], ends.leave[location]
    return Times(np.clip(times.enter, low, high), np.clip(times.leave, low, high))


def _crossing(inside: Mask, ends: list[I4]) -> Mask:
    """Return which rows of what has these ends have one of them inside."""
    out = np.zeros(len(ends[0]), bool)
    for call in ends:
        out |= inside[call] & (call != NONE)
    return out


def _cut_collectives(trace: Trace, inside: Mask, returned: Mask) -> int:
    members, share, lost = trace.members, trace.share, ~whole_collectives(trace, returned)
    some = np.zeros(len(lost), "u1")
    some[members.collective[inside[members.call]]] = 1
    lost &= share.over_instances(some, "max") > 0
    return share.total(len(share.leading(trace.collectives.first_member[lost])))


def _alone(trace: Trace, lost: Mask, inside: Mask, requests: Mask) -> Calls:
    """Return the calls as they are when some messages and requests are gone: of no partner, as if it was MPI_PROC_NULL; of no request."""
    calls, messages = trace.calls, trace.messages
    peer, tag, comm = calls.peer.copy(), calls.tag.copy(), calls.comm.copy()
    for call in (messages.send[lost], messages.receive[lost]):
        peer[call] = NONE
        tag[call] = np.where(tag[call] == NONE, ANY, tag[call])
        comm[call] = np.where(comm[call] == NONE, messages.comm[lost], comm[call])
    comm[trace.requests.posted_by[inside[trace.requests.posted_by] & ~requests]] = NONE
    return dataclasses.replace(calls, peer=peer, tag=tag, comm=comm)
