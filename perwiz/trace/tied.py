"""Which locations take part in the answer: those that something ties to others, and each process; and the trace of these alone. Which of
them compute what another one could as well.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.errors import TraceError
from perwiz.trace import operations
from perwiz.trace.arrays import Mask, chunks
from perwiz.trace.parts.rows import Kept, part
from perwiz.trace.spread.share import Part
from perwiz.trace.tables import NONE, PROCESS, STREAM, THREAD, Times
from perwiz.trace.trace import Timeline, Trace

_APART = "threads or streams that nothing ties to the processes, which one process alone leaves out; must be asked of one (without mpiexec)"


def tied(trace: Trace) -> Mask:
    """Return which locations take part in the answer, bool per location.

    Those with a call of a message, of a collective instance or of a link; and where no location of a process has one, that of the
    process itself.
    The times of other threads and of device streams hang on nothing that a trace tells: they would stay where they are, whatever is asked.
    """
    process, kind = trace.locations.process, trace.locations.kind
    if (kind == PROCESS).all() and len(np.unique(process)) == len(process):
        return np.ones(len(process), bool)
    out, messages, members, links = np.zeros(len(process), bool), trace.messages, trace.members, trace.links
    sides = (
        messages.send,
        messages.send_done,
        messages.receive,
        messages.receive_done,
        members.call,
        members.done,
        links.cause,
        links.effect,
    )
    for call in sides:
        for piece in chunks(len(call)):
            out[trace.calls.location[call[piece][call[piece] != NONE]]] = True
    out = trace.share.reduced(out.view("u1"), "max").view(bool)
    return np.asarray(out | ((kind == PROCESS) & ~np.isin(process, process[out])))


def _loose(trace: Trace, keep: Mask) -> int:
    """Return how many threads, of those that take part beside others of their process, are in no collective instance with one of these.

    Where no link tells when its process starts a thread and waits for its end, and no common barrier, a thread delays nothing there.
    """
    ranks, process = trace.locations.processes()
    here = np.zeros(len(process), bool)
    here[trace.share.locations] = True
    loose = here & keep & (trace.locations.kind == THREAD) & (np.bincount(process, keep) > 1)[process]
    for call in (trace.links.cause, trace.links.effect):
        loose[trace.calls.location[call]] = False
    location = trace.calls.location[trace.members.call]
    team = trace.members.collective.astype("i8") * len(ranks) + process[location]
    _, number, size = np.unique(team, return_inverse=True, return_counts=True)
    loose[location[size[number] > 1]] = False
    return trace.share.total(int(loose.sum()))


def tied_part(trace: Trace) -> Trace:
    """Return the trace of the locations that take part in the answer; `counts` says how many were left out, and how many threads are loose.

    The rows of its tables are numbered anew, in their order. A defect of a location that is left out is one of none. Paths and names of
    regions that only such locations have are left out too.
    """
    keep = tied(trace)
    if loose := _loose(trace, keep):
        trace = dataclasses.replace(trace, counts=dataclasses.replace(trace.counts, loose_threads=loose))
    if keep.all():
        return trace
    if isinstance(trace.share, Part):
        raise TraceError(f"{trace.path}: {_APART}")
    left_out = trace.locations.kind[~keep]
    streams = int((left_out == STREAM).sum())
    more = {"untied_threads": len(left_out) - streams, "untied_streams": streams}
    counts = dataclasses.replace(trace.counts, **{name: getattr(trace.counts, name) + number for name, number in more.items()})
    calls = keep[trace.calls.location]
    own = Kept(
        locations=keep,
        calls=calls,
        entered=calls,
        returned=calls,
        requests=calls[trace.requests.posted_by],
        regions=keep[trace.regions.location],
        parameters=keep[trace.parameters.location],
        records=keep[trace.records.location],
    )
    return dataclasses.replace(part(trace, own), counts=counts)


def widened(trace: Trace, timeline: Timeline) -> Timeline:
    """Return a timeline of the tied part of a trace as one of the whole: the locations that are left out keep the times of the trace."""
    keep = tied(trace)
    if keep.all():
        return timeline
    old = trace.timeline
    return Timeline(
        _with(old.calls, keep[trace.calls.location], timeline.calls),
        _with(old.regions, keep[trace.regions.location], timeline.regions),
        _with(old.locations, keep, timeline.locations),
        timeline.origin,
    )


def _with(times: Times, rows: Mask, others: Times) -> Times:
    """Return times with others in some of their rows."""
    enter, leave = times.enter.copy(), times.leave.copy()
    enter[rows], leave[rows] = others.enter, others.leave
    return Times(enter, leave)


def processors(trace: Trace) -> Mask:
    """Return which locations are no streams of devices, nor threads that a process keeps for one purpose, as PyTorch does for autograd.

    Of work that is shared evenly these have no share. Nor have processes that logged nothing, where others did: what they computed nobody
    knows. Bool per location; all processes of a team ask.
    """
    kept = np.zeros(len(trace.locations), bool)
    kept[trace.calls.location[trace.calls.op == operations.OP["thread_idle"]]] = True
    out = (trace.locations.kind != STREAM) & ~(trace.share.reduced(kept.view("u1"), "max").view(bool) & (trace.locations.kind == THREAD))
    ranks, process = trace.locations.processes()
    logged = np.zeros(len(ranks), bool)
    for table in (trace.calls, trace.regions):
        logged[process[table.location]] = True
    logged = trace.share.reduced(logged.view("u1"), "max").view(bool)
    return np.asarray(out & logged[process] if logged.any() else out)
