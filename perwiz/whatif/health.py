"""What is missing in a trace, and what that does to the answer."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.clock.condition import Violations, unsynchronised, violations
from perwiz.clock.treatment import Treated
from perwiz.graph.build import BLOCKING_PROBES, probes
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Ints, Mask, chunks
from perwiz.trace.defects import CUT_OFF, REASONS, UNREADABLE
from perwiz.trace.resources import remembered
from perwiz.trace.spread.tally import Tally
from perwiz.trace.tables import NONE
from perwiz.trace.trace import ENDS_EARLY, LEFT_OUT, SHARED, STANDS_FOR, UNRETURNED, Counts, Trace
from perwiz.trace.unrecorded import unrecorded

_STARTS = (operations.OP["MPI_Start"], operations.OP["MPI_Startall"])
"""May send or receive: that they have no message says nothing."""

_CUTS = {
    CUT_OFF: "files cut off in the middle of a line, what came behind is missing",
    UNREADABLE: "processes and threads whose records cannot all be read",
}
"""Reasons that tell more of an answer than that a record cannot be used."""
OF_RECORDS = (*_CUTS.values(), "records that cannot be used")
"""The names in `Health.holes` of what `Health.defects` has by reason."""


@dataclasses.dataclass(frozen=True)
class Correction:
    """What the controlled logical clock did to the recorded times."""

    jumps: int
    """Returns of calls that had to be put forward."""
    largest: int
    """Largest distance of a call from its recorded time, ns."""
    makespan: int
    """Before the correction, ns."""


@dataclasses.dataclass(frozen=True)
class Health:
    """The state of a trace as far as it bears on predictions."""

    counts: Counts
    defects: dict[str, int]
    """Records that could not be used, by reason."""
    violations: Violations
    """Of the times that were used."""
    recorded: Violations
    """Of the recorded times, before the clocks were corrected."""
    correction: Correction | None
    contradictions: int
    """Edges left out of the graph because they would close a cycle."""
    partnerless: int
    """Sends, receives and Sendrecvs without a message, those with MPI_PROC_NULL left out."""
    untied: int
    """Processes that no message and no collective ties to another, if there are others."""
    endless: int
    """Waits for requests that the trace does not name."""
    not_modelled: float
    """Share of the processes' time in communication calls whose partners the trace does not tell, and all of that of processes that logged
    nothing: no change alters them."""
    not_modelled_most: float = 0.0
    """The same of the process or thread of which it is largest, of those that logged anything."""
    calls_not_modelled: int = 0
    """How many calls these are."""
    faults: tuple[str, ...] = ()
    """What could not be read, and where, in words."""
    unknown_receives: int = 0
    """Posted receives without a message, and without a record of it that could be matched."""
    off: int = 0
    """Intervals of a process in which the measurement was switched off."""
    off_time: int = 0
    """Their length, of all processes together, ns."""
    own_clocks: int = 0
    """Processes whose clocks differ though nobody measured how."""
    missing_ranks: tuple[int, ...] = ()
    """Members of collectives of which the trace has nothing, ascending; several processes that have it together do not tell."""
    predicted: bool = False
    """The times are those of a prediction in which waits or calls were zeroed."""
    unreturned: str = ""
    """Who was still in which calls when the run ended, in words."""
    ends_early: str = ""
    """Where the run is cut, as the records of some processes end there, in words."""
    left_out: str = ""
    """Which last steps of a training job are left out, and why, in words."""
    stands_for: str = ""
    """All iterations, which those of the part stand for, unasked, and how far they are alike, in words."""
    shared: str = ""
    """How many processes shared how many processors, in words."""

    @property
    def holes(self) -> dict[str, int]:
        """What makes the trace incomplete, by name, zeros left out."""
        counts, told = self.counts, {name: self.defects.get(REASONS[reason], 0) for reason, name in _CUTS.items()}
        holes = told | {
            OF_RECORDS[-1]: sum(self.defects.values()) - sum(told.values()),
            "unmatched sends": counts.unmatched_sends,
            "unmatched receives": counts.unmatched_receives,
            "pairs of a send and a receive with different sizes, taken for no messages": counts.contradicting,
            "non-blocking receives whose message the trace does not tell": self.unknown_receives,
            "processes whose clocks nobody compared: waits between them are not to be trusted": self.own_clocks,
            "sends and receives without a message record": self.partnerless - counts.unmatched_sends - counts.unmatched_receives,
            "collective calls in no instance": counts.unmatched_collectives,
            "collectives with members missing": counts.incomplete_collectives,
            "collectives of unknown root (not tied)": counts.rootless_collectives,
            "sends and receives logged outside MPI states, their waits not recorded": counts.bare,
            "waits for requests that the trace does not name": self.endless,
            "processes that logged nothing": counts.silent_processes,
            "waits of threads that nothing ties to what ended them": counts.untied_waits,
            "kernels and copies of devices that nothing ties to what launched them": counts.untied_launches,
            "processes that nothing ties to another": self.untied,
            "threads that nothing ties to the processes, left out": counts.untied_threads,
            "threads whose start and end nothing ties to their process: gains may be understated": counts.loose_threads,
            "device streams that nothing ties to the processes, left out": counts.untied_streams,
            "intervals with measurement switched off: waits and computation across them are not to be trusted": self.off,
            "edges left out of the graph (cycles)": self.contradictions,
        }
        return {name: number for name, number in holes.items() if number > 0}

    @property
    def repairs(self) -> dict[str, int]:
        """What the trace lacks or has wrong and its other records tell, by name, zeros left out."""
        repairs = {
            "completions of requests, put into the wait that must have been theirs": self.counts.inferred_completions,
            "roots of collectives, inferred from times": self.counts.inferred_roots,
            "roots of collectives, taken from others called at the same place, whose times tell": self.counts.adopted_roots,
            "roots of collectives, assumed to be the first rank, as times allow": self.counts.assumed_roots,
            "communicators of receives, taken from the sends that fit": self.counts.repaired_communicators,
            "sizes of receives, taken from their sends: some are larger than any message": self.counts.repaired_sizes,
        }
        return {name: number for name, number in repairs.items() if number > 0}

    @property
    def incomplete(self) -> bool:
        """Whether an answer from this trace must be marked incomplete."""
        return bool(self.holes or self.repairs or self.faults or self.ends_early)


@remembered(2)
def missing(trace: Trace) -> tuple[I8, I8]:
    """Return (ranks of which the trace has nothing though collectives had them for members, the calls of these collectives), ascending."""
    communicators, comm_of = trace.communicators, trace.collectives.comm
    absent = ~np.isin(communicators.ranks, trace.locations.process)
    comm = np.repeat(np.arange(len(communicators)), communicators.sizes())
    touched = np.isin(comm_of, comm[absent])
    ranks = communicators.ranks[absent & np.isin(comm, comm_of)]
    return np.unique(ranks).astype("i8"), np.unique(trace.members.call[touched[trace.members.collective]]).astype("i8")


@remembered(2)
def health(trace: Trace, contradictions: int = 0, clocks: Treated | None = None) -> Health:
    """Return the health of a trace under its timeline; `clocks` tells how that came about from the recorded one."""
    remaining = clocks.recorded if clocks and clocks.correction is None else violations(trace, trace.timeline)
    told = tally(trace).of_all(trace.share)
    _, off = unrecorded(trace)
    switched = trace.share.total(len(off)), trace.share.total(int((off.leave - off.enter).sum()))
    found = state(trace, told, switched, clocks.recorded if clocks else remaining, remaining, contradictions, _correction(clocks))
    return dataclasses.replace(found, missing_ranks=tuple(missing(trace)[0].tolist()))


def tally(trace: Trace) -> Tally:
    """Return what the rows of this process, or of a window of time, come to of what `state` tells."""
    lost = _unexplained(trace)
    kind = operations.KIND[trace.calls.op]
    talks = (
        lost & np.isin(kind, (operations.SEND, operations.RECV, operations.SENDRECV, operations.ISEND)) & ~np.isin(trace.calls.op, _STARTS)
    )
    times, nobody = trace.timeline.calls, _to_nobody(trace)
    told = nobody & (talks | (kind == operations.IRECV))
    lost, talks = (_own(trace, which) for which in (lost & ~told, talks))
    sums = {
        "unknown": np.bincount(trace.calls.location[lost], (times.leave - times.enter)[lost], len(trace.locations)),
        "talks": talks.sum(),
        "to_nobody": (talks & nobody).sum(),
        "unknown_receives": _unknown_receives(trace),
        "endless": _endless(trace, np.flatnonzero(lost & (kind == operations.COMPLETE))),
        "lost": lost.sum(),
    }
    return Tally.of(sums, {"met": _met(trace)})


def state(
    trace: Trace,
    told: Tally,
    switched_off: tuple[int, int],
    recorded: Violations,
    remaining: Violations,
    contradictions: int = 0,
    correction: Correction | None = None,
) -> Health:
    """Return the health of a trace of which is told what all of its rows come to, how often and how long the measurement was switched
    off, and how recorded times and those used break the clock condition; of its tables only locations and defects are looked at.
    """
    lasts, unknown = trace.timeline.locations.leave - trace.timeline.locations.enter, told.sums["unknown"]
    silent = trace.counts.silent_processes * trace.timeline.makespan
    disagreed = bool(recorded) or trace.timeline.origin.kind == "corrected"
    reasons, numbers = np.unique(trace.defects.reason, return_counts=True)
    alone = int((told.most["met"] == 0).sum())
    return Health(
        counts=trace.counts,
        faults=trace.faults,
        off=switched_off[0],
        off_time=switched_off[1],
        unknown_receives=told["unknown_receives"],
        own_clocks=len(np.unique(trace.locations.process)) if disagreed and unsynchronised(trace) else 0,
        predicted=trace.timeline.origin.effects_may_precede_causes,
        unreturned=trace.properties.get(UNRETURNED, ""),
        ends_early=trace.properties.get(ENDS_EARLY, ""),
        left_out=trace.properties.get(LEFT_OUT, ""),
        stands_for=trace.properties.get(STANDS_FOR, ""),
        shared=trace.properties.get(SHARED, ""),
        defects={REASONS[reason]: int(number) for reason, number in zip(reasons, numbers, strict=True)},
        violations=remaining,
        recorded=recorded,
        correction=correction,
        contradictions=contradictions,
        untied=alone if len(told.most["met"]) > 1 else 0,
        endless=told["endless"],
        partnerless=max(told["talks"] - max(told["to_nobody"], trace.counts.to_nobody), 0),
        not_modelled=float((unknown.sum() + silent) / max(lasts.sum() + silent, 1)),
        not_modelled_most=float((unknown / np.maximum(lasts, 1)).max(initial=0)),
        calls_not_modelled=told["lost"],
    )


def _own(trace: Trace, which: Mask) -> Mask:
    """Return which calls, of this process alone."""
    out = np.zeros(len(which), bool)
    out[trace.share.calls] = which[trace.share.calls]
    return out


def _correction(clocks: Treated | None) -> Correction | None:
    if clocks is None or clocks.correction is None:
        return None
    correction = clocks.correction
    old, new = correction.before.calls, correction.timeline.calls
    largest = max(int((new.enter - old.enter).max(initial=0)), int((new.leave - old.leave).max(initial=0)))
    largest = correction.trace.share.most(largest)
    return Correction(correction.jumps, largest, correction.before.makespan)


def _endless(trace: Trace, waits: I8) -> int:
    """Return how many waits complete no request on locations with requests that nothing completes; others had nothing to wait for."""
    waits = waits[_open(trace)[trace.calls.location[waits]]]
    return len(_without(waits, trace.requests.completed_by, len(trace.calls)))


def _without(calls: Ints, others: I4, count: int) -> I8:
    """Return the calls that are not among others (-1 is nobody), sorted, each once; `count` calls there are."""
    left = np.zeros(count + 1, bool)
    left[calls] = True
    left[others] = False
    return np.flatnonzero(left[:count])


def _open(trace: Trace) -> Mask:
    """Return which locations posted a request that nothing completes, or that has no name."""
    calls, requests = trace.calls, trace.requests
    nameless = operations.NONBLOCKING[calls.op] & (calls.comm != NONE)
    nameless[requests.posted_by] = False
    out = np.zeros(len(trace.locations), bool)
    out[calls.location[nameless]] = True
    out[calls.location[requests.posted_by[requests.completed_by == NONE]]] = True
    return trace.share.left_open(out)


def _partial(trace: Trace) -> Mask:
    """Return which calls post more requests for messages than the trace has messages of, bool per call."""
    kind, count = operations.KIND[trace.calls.op], len(trace.calls)
    more = np.bincount(trace.requests.posted_by, minlength=count).astype("i4")
    for call in (trace.messages.send, trace.messages.receive):
        more -= np.bincount(call, minlength=count).astype("i4")
    return np.asarray((more > 0) & ~_to_nobody(trace) & ((kind == operations.ISEND) | (kind == operations.IRECV)))


def _to_nobody(trace: Trace) -> Mask:
    """Return which calls have MPI_PROC_NULL for a partner, bool per call: none, though their tag is known."""
    return np.asarray((trace.calls.peer == NONE) & (trace.calls.tag != NONE))


def _unknown_receives(trace: Trace) -> int:
    """Return how many MPI_Irecv posted a request, not cancelled, for which there is no message and no receive record."""
    kind = operations.KIND[trace.calls.op]
    posts = trace.requests.posted_by[trace.requests.cancelled == 0]
    lost = _without(posts[kind[posts] == operations.IRECV], trace.messages.receive, len(kind))
    own = _own(trace, np.ones(len(kind), bool))
    return int((own[lost] & (trace.calls.comm[lost] == NONE)).sum())


def _met(trace: Trace) -> Mask:
    """Return which processes take part in a message with another or in a tied collective of several, bool per process."""
    calls, table, members = trace.calls, trace.messages, trace.members
    ranks, process = trace.locations.processes()
    met = np.zeros(len(ranks), bool)
    for piece in chunks(len(table)):
        sender, receiver = (process[calls.location[call[piece]]] for call in (table.send, table.receive_done))
        met[sender[sender != receiver]] = met[receiver[sender != receiver]] = True
    size = np.diff(np.append(trace.collectives.first_member, len(members)))
    several = (trace.share.of_instances(size) > 1) & operations.OF_PROCESSES[trace.collectives.op]
    met[process[calls.location[members.call[np.repeat(several, size) & _known_members(trace)]]]] = True
    return met


def _known_members(trace: Trace) -> Mask:
    """Return which members belong to a collective whose dependences are known, bool per member."""
    kind = operations.KIND[trace.collectives.op]
    rooted = (kind == operations.ONE_TO_N) | (kind == operations.N_TO_ONE)
    return np.asarray((~rooted | (trace.collectives.root >= 0))[trace.members.collective])


def _unexplained(trace: Trace) -> Mask:
    """Return which communication calls have partners that the trace does not tell, bool per call.

    They take part in no message and no tied collective, or complete a request without a message.
    """
    kind = operations.KIND[trace.calls.op]
    lost = (
        ((kind >= operations.SEND) & (kind <= operations.COMPLETE))
        | operations.COLLECTIVE[trace.calls.op]
        | operations.UNMODELLED[trace.calls.op]
        | np.isin(trace.calls.op, BLOCKING_PROBES)
    )
    table = trace.messages
    known = _known_members(trace)
    for call in (
        probes(trace)[0],
        table.send,
        table.send_done,
        table.receive,
        table.receive_done,
        trace.members.call[known],
        trace.members.done[known],
    ):
        for piece in chunks(len(call)):
            lost[call[piece][call[piece] >= 0]] = False
    lost[operations.ON_WINDOWS[trace.calls.op] & ~operations.COLLECTIVE[trace.calls.op] & (trace.calls.tag >= 0)] = False
    lost[(kind == operations.COMPLETE) & ~_open(trace)[trace.calls.location]] = False
    done = trace.requests.completed_by[_partial(trace)[trace.requests.posted_by]]
    lost[done[done >= 0]] = True
    return np.asarray(lost)
