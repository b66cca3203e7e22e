"""The trace of a part of a run: of some iterations, or up to where the records of all processes go."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz import words
from perwiz.errors import UsageError
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.parts.iterations import Iterations, find
from perwiz.trace.parts.rows import ENDS, Kept, part, whole, whole_collectives
from perwiz.trace.tables import ANY, NONE, Calls, Times
from perwiz.trace.trace import ENDS_EARLY, Timeline, Trace

_TIMED = ("offsets", "readings", "records")
"""Tables with a column of times."""
_RANKS = 4
"""How many ranks are named."""


@dataclasses.dataclass(frozen=True)
class Chosen:
    """Iterations asked for, from 1; None is the last."""

    first: int
    last: int | None

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}..{'' if self.last is None else self.last}"


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


def cut(trace: Trace, iterations: Iterations, first: int, end: int) -> Trace:
    """Return the trace of the iterations `first` to `end` - 1, from 0, as a run of its own: its rows and times count from its start.

    Each process begins with the first and ends with the last of them. Threads and streams do so at the same times, and their calls that
    last longer are cut there, as are regions. Messages, collectives and links stay if what they come about with and what they let return
    are inside: a thread that is idle at the begin is still released by its team. A call that loses one takes as long as recorded, as if it
    had no partner. `counts` says how many are lost.

        calls     a a b b b a b b b a     iterations a b b b, the second:
        messages    >-> >--->-> >->       one is inside, one begins before it
    """
    span = _Span(Times(iterations.begin[first], iterations.stop[end - 1]), iterations.first[first], iterations.end[end - 1])
    return _from_its_start(_within(trace, span))


def before_records_end(trace: Trace) -> Trace:
    """Return the trace up to the first instant at which the records of a process end though it has not called MPI_Finalize.

    Such a run was killed, or its files were cut. Behind that instant nobody knows who would have waited for whom: what others recorded
    there would count as work that nothing holds up, and who has the longest records would be the slowest. Calls that last longer are cut
    there. The trace as it is if there is no such process, or nothing behind. Its times are to be those of one clock.

        rank 0  Init a b a b|                  ends here, and so does the run
        rank 1  Init a b a b|a b a b Finalize
    """
    location, ends, early = trace.calls.location, trace.timeline.locations, end_early(trace)
    last = int(ends.leave.max(initial=0))
    stop = int(ends.leave[early].min(initial=last))
    if stop == last:
        return trace
    ranks = np.unique(trace.locations.process[early & (ends.leave == stop)]).tolist()
    begin, everywhere = np.minimum(ends.enter, stop), np.full(len(ends), stop)
    stays = np.bincount(location, trace.timeline.calls.enter < stop, len(ends)).astype("i8")
    first = trace.first_calls[:-1]
    properties = {**trace.properties, ENDS_EARLY: _ends_early(ranks, stop, last)}
    return dataclasses.replace(_within(trace, _Span(Times(begin, everywhere), first, first + stays)), properties=properties)


def end_early(trace: Trace) -> Mask:
    """Return of which processes the records end before MPI_Finalize, though they have MPI_Init; bool per location."""
    out = np.zeros(len(trace.locations), bool)
    out[trace.calls.location[np.isin(trace.calls.op, operations.INITS)]] = True
    out[trace.calls.location[np.isin(trace.calls.op, operations.FINALIZES)]] = False
    return out


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
    lost = ~whole(trace.messages, entered, returned)
    counts = dataclasses.replace(
        trace.counts,
        cut_messages=_crossing(calls, [getattr(trace.messages, name)[lost] for name in ENDS]),
        cut_collectives=_cut_collectives(trace, calls, returned),
        cut_links=_crossing(calls, [side[~whole(trace.links, entered, returned)] for side in (trace.links.cause, trace.links.effect)]),
    )
    clipped = Timeline(
        _clipped(times.calls, trace.calls.location, ends), _clipped(times.regions, trace.regions.location, ends), ends, times.origin
    )
    without = dataclasses.replace(trace, calls=_alone(trace, lost, calls, requests), timeline=clipped, counts=counts)
    return part(without, kept)


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
    row = np.arange(len(location))
    inside = (row >= first[location]) & (row < end[location])
    before = np.flatnonzero((row + 1 == first[location]) & (times.leave > ends.enter[location]))
    inside[before] = True
    return inside, inside & (times.enter >= ends.enter[location]), inside & (times.leave <= ends.leave[location])


def _inside(location: I4, enter: I8, leave: I8, ends: Times) -> Mask:
    """Return which intervals share time with those of their location, or are instants in them."""
    low, high = ends.enter[location], ends.leave[location]
    return np.asarray((enter < high) & ((leave > low) | ((enter == leave) & (enter == low))))


def _clipped(times: Times, location: I4, ends: Times) -> Times:
    low, high = ends.enter[location], ends.leave[location]
    return Times(np.clip(times.enter, low, high), np.clip(times.leave, low, high))


def _crossing(inside: Mask, ends: list[I4]) -> int:
    """Return how many of what has these ends has one of them inside."""
    any_ = np.zeros(len(ends[0]), bool)
    for call in ends:
        any_ |= inside[call] & (call != NONE)
    return int(any_.sum())


def _cut_collectives(trace: Trace, inside: Mask, returned: Mask) -> int:
    members = trace.members
    lost = ~whole_collectives(trace, returned)[members.collective]
    return len(np.unique(members.collective[lost & inside[members.call]]))


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
