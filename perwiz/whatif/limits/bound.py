"""Lower bounds from sums: how long a region takes at least if nobody waited, or if computation or messages were balanced.

PerWiz, section 4, function F3: "since different algorithms produce different DAGs, it predicts a lower bound by simply summing up the
breakdown of execution time". So there is no order of calls and no step here: per process the breakdown of the whole region is summed, and
the bound is the largest sum. Zero waiting leaves waiting out; balanced computation, or messages, gives every process the mean of all
that take part. Without zero waiting the recorded waits stay, so that a bound may lie above the recorded time (the paper's Table 1:
34.9 of 30.6 ms). Computation is all that is no communication (section 2.2), so calls without partner are balanced with it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.shown import Shown
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Ints, Mask
from perwiz.trace.tables import NONE, STARTS
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import listed
from perwiz.whatif.hypotheses.stretch import Segments, segments_of
from perwiz.whatif.run import Run, Start, replayed

PARTS = ("computation", "other", "sending", "receiving", "collective", "waiting")
"""What a process does: rows of a breakdown. Other is calls without known partner."""
QUESTIONS = ("zero-wait", "balance-time", "balance-messages")
"""Q1, Q2 and Q3 of the paper."""
COMBINATIONS = ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))
"""Questions asked together, in the order of the paper's Table 1."""
_BALANCED = {1: slice(0, 2), 2: slice(2, 5)}
"""Per question the parts that it balances."""
_IDLE = np.array([name.endswith("_idle") and not of_mpi for name, of_mpi in zip(operations.OPS, operations.MPI, strict=True)])
"""Per op: a thread or stream has nothing to do."""


@dataclasses.dataclass(frozen=True, eq=False)
class Bound:
    """The breakdown of one region, or of the whole program, and what it says."""

    name: str
    """Of the region; empty for the whole program."""
    parallel: bool
    steps: int
    """Largest number of instances on a process; 1 for the whole program."""
    location: Ints
    """Locations that take part."""
    parts: I8
    """ns, one row per PARTS, one column per location that takes part."""

    def time(self, questions: Sequence[int] = ()) -> int:
        """Return the largest sum over the processes, ns, under some of the QUESTIONS; means are rounded down, so that it stays a bound."""
        rest = np.ones(len(PARTS), bool)
        rest[5] = 0 not in questions
        balanced = 0
        for question in sorted({1, 2} & set(questions)):
            rest[_BALANCED[question]] = False
            balanced += int(self.parts[_BALANCED[question]].sum()) // max(1, len(self.location))
        return balanced + int(self.parts[rest].sum(axis=0).max(initial=0))


@dataclasses.dataclass(frozen=True, eq=False)
class Bounds(Shown):
    """Lower bounds of the whole program, and of regions of it."""

    run: Run
    regions: tuple[Bound, ...]
    """The whole program first."""

    def __repr__(self) -> str:
        whole = self.regions[0]
        return f"<Bounds of {self.run.trace.path}: {whole.time()} ns recorded, at least {whole.time((0, 1, 2))} ns if all were balanced>"


def bound(trace: Trace, regions: Sequence[str] = (), model: Start = None, clock: str = "clc") -> Bounds:
    """Return lower bounds, int64 ns, of the whole program and some regions: by default all parallel ones, or else those at the top.

    Raises UsageError for an unknown region, ModelError, ClockError.
    """
    return bound_of(replayed(trace, model, clock), regions)


def bound_of(run: Run, regions: Sequence[str] = ()) -> Bounds:
    """Return the same of a run that has been replayed. Raises UsageError for an unknown region."""
    names, segments, work = chosen(run.trace, regions), segments_of(run.weighted), _work(run)
    whole = _bound(run, segments, work, None)
    return Bounds(run, (whole, *(_bound(run, segments, work, name) for name in names)))


def chosen(trace: Trace, names: Sequence[str]) -> list[str]:
    """Return the regions of these names; by default the parallel ones, or else those at the top. Raises UsageError for an unknown name."""
    names = [name for text in names for name in listed(text, trace.names)]
    for name in names:
        selectors.region(trace, name)
    if not names:
        marked = np.flatnonzero(trace.parallel)
        top = np.unique(trace.paths.region[trace.paths.parent < 0])
        names = [trace.names[row] for row in (marked if len(marked) else top).tolist()]
    return list(dict.fromkeys(names))


def _bound(run: Run, segments: Segments, work: I8, name: str | None) -> Bound:
    """Return the breakdown of a region, or of the whole program."""
    trace, count = run.trace, len(run.trace.locations)
    inside: tuple[Mask | slice, ...] = (slice(None), slice(None))
    location, number, parallel = np.arange(count), 1, False
    if name is not None:
        region = selectors.region(trace, name)
        rows = np.flatnonzero(trace.region_names == region)
        inside = segments.within(rows), selectors.owners(trace, rows) >= 0
        location, times = np.unique(trace.regions.location[rows], return_counts=True)
        number, parallel = int(times.max(initial=0)), bool(trace.parallel[region])
    parts = np.zeros((len(PARTS), count), "i8")
    np.add.at(parts[0], segments.location[inside[0]], segments.length[inside[0]])
    caller = trace.calls.location[inside[1]]
    for row in range(1, len(PARTS)):
        np.add.at(parts[row], caller, work[row - 1][inside[1]])
    return Bound(name or "", parallel, number, location, parts[:, location])


def _work(run: Run) -> I8:
    """Return, one row per PARTS but the first, the ns of each call; what is no waiting, and no idleness, is work.

    Each operation that a call completes (message sent, message received, collective) has the same share of its work; of a call that
    completes none, its routine says what it does.
    """
    calls = run.trace.timeline.calls
    waiting = np.maximum(run.waits.time, _idle(run.trace))
    total = calls.leave - calls.enter - waiting
    count = _completed(run.trace)
    number = np.maximum(count.sum(axis=0), 1)
    out = np.empty((len(PARTS) - 1, len(total)), "i8")
    before, running = 0, np.zeros(len(total), "i8")
    for row in range(3):
        running += count[row]
        share = total // number * running + total % number * running // number
        out[1 + row] = share - before
        before = share
    out[0], out[4] = np.where(running > 0, 0, total), waiting
    return out


def _idle(trace: Trace) -> I8:
    """Return, per call, how long a thread or a stream of a device has nothing to do in it, ns: until it is given work, else all of it.

    While its process is in MPI_Init nothing could be given to it: that is no idleness.
    """
    calls, links = trace.timeline.calls, trace.links
    starts = np.isin(links.kind, STARTS)
    until = np.where(_IDLE[trace.calls.op], calls.leave, calls.enter)
    effect = links.effect[starts]
    until[effect] = np.clip(calls.enter[links.cause[starts]], calls.enter[effect], calls.leave[effect])
    inits, (ranks, row) = selectors.init_calls(trace), trace.locations.processes()
    process, begun, ended = row[trace.calls.location], np.zeros(len(ranks), "i8"), np.zeros(len(ranks), "i8")
    begun[process[inits]], ended[process[inits]] = calls.enter[inits], calls.leave[inits]
    within = np.minimum(until, ended[process]) - np.maximum(calls.enter, begun[process])
    return np.asarray(until - calls.enter - np.maximum(within, 0))


def _completed(trace: Trace) -> I8:
    """Return how many messages each call sends to the end and receives, and how many collectives of processes; shape (3, calls)."""
    of_mpi = operations.OF_PROCESSES[trace.collectives.op][trace.members.collective]
    done = (trace.messages.send_done, trace.messages.receive_done, trace.members.done[of_mpi])
    count = np.stack([np.bincount(calls[calls != NONE], minlength=len(trace.calls)) for calls in done])
    kind = operations.KIND[trace.calls.op]
    by_name = (
        (operations.SEND, operations.ISEND, operations.SENDRECV),
        (operations.RECV, operations.IRECV, operations.SENDRECV, operations.PROBE),
    )
    means = [np.isin(kind, kinds) for kinds in by_name] + [(operations.COLLECTIVE & operations.OF_PROCESSES)[trace.calls.op]]
    return np.asarray(np.where(count.any(axis=0), count, np.stack(means)), np.int64)
