"""Which parallel step to balance: the predicted makespan if the computation or the messages of one step were balanced, for every step.

PerWiz, section 3.2: the step whose times differ most (largest sigma) need not be the one that pays most, so each is predicted.
A step is the k-th instance of a region on every process. The answers are those of the hypotheses `balance-time REGION#k` and
`balance-messages REGION#k`, but the graph is built and weighted once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.errors import UsageError
from perwiz.trace.arrays import F8, I4, I8, Mask
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import Hypothesis, apply, listed
from perwiz.whatif.hypotheses.computation import BalanceTime
from perwiz.whatif.hypotheses.network import BalanceMessages
from perwiz.whatif.hypotheses.stretch import Segments, level
from perwiz.whatif.limits.message_sizes import Sizes
from perwiz.whatif.run import Run, Start, graph_of, machine_of, replay_of, swept_makespan, treated
from perwiz.whatif.sure.span import Span as Sure
from perwiz.whatif.sure.span import span_under
from perwiz.whatif.worth import local_changes
from perwiz.whatif.worth.local_changes import Changes, Report, ranges

WHOLE = 0.95
"""Part of all computation from which on a step is the whole program."""


@dataclasses.dataclass(frozen=True, eq=False)
class Spread:
    """How much the processes that take part in each step differ, one row per step; of time in ns, of messages in bytes sent."""

    processes: I8
    least: I8
    mean: F8
    largest: I8
    sigma: F8
    """Standard deviation over the processes, sigma(t_k) of PerWiz, 3.2."""


@dataclasses.dataclass(frozen=True, eq=False)
class Balanced:
    """The steps of one region: how they are spread, and the predicted makespans, int64 ns, if they were balanced."""

    name: str
    number: I8
    """Number of each step, from 1."""
    location: I4
    """Location of each instance, sorted by step, then location."""
    first: I8
    """First instance of each step, and one more."""
    computation: I8
    """ns computed in each instance."""
    sent: I8
    """Bytes of the messages sent from each instance."""
    time: I8
    """Makespan per step if that one's computation were balanced."""
    messages: I8
    """Makespan per step if that one's messages were balanced; -1 where no message changes."""
    all_time: int
    """Makespan if the computation of each step were balanced, all steps at once."""
    all_messages: int
    """The same for messages; -1 where no message changes."""
    all_both: int
    """Computation and messages of all steps."""

    def spread(self, value: I8) -> Spread:
        """Return the spread over each step of `computation` or `sent`."""
        first = self.first[:-1]
        count = np.diff(self.first)
        mean = np.add.reduceat(value, first) / count
        off = (value - np.repeat(mean, count)) ** 2
        sigma = np.sqrt(np.add.reduceat(off, first) / count)
        return Spread(count, np.minimum.reduceat(value, first), mean, np.maximum.reduceat(value, first), sigma)


@dataclasses.dataclass(frozen=True, eq=False)
class Balance:
    """What balancing each step of some regions would give."""

    run: Run
    regions: tuple[Balanced, ...]
    everything: int
    """Predicted makespan, ns, if computation and messages of all steps of all regions were balanced."""
    computation: int
    """ns that all processes compute together, inside of these regions and outside."""

    def __repr__(self) -> str:
        names = ", ".join(region.name for region in self.regions)
        return f"<Balance of {names} in {self.run.trace.path}: {self.run.makespan} ns recorded, {self.everything} ns if all were balanced>"

    def whole(self) -> Mask:
        """Return which steps, region after region, are the whole program, holding WHOLE of all computation; none if there is no other."""
        held = np.concatenate([np.add.reduceat(region.computation, region.first[:-1]) for region in self.regions])
        whole = (held > 0) & (held >= WHOLE * self.computation)
        return np.asarray(whole & (not whole.all()))


def balance(trace: Trace, regions: Sequence[str] = (), model: Start = None, clock: str = "clc", report: Report | None = None) -> Balance:
    """Return what balancing each step of some regions (default: all parallel regions) would give; all times int64 ns.

    `report` is progress how many of all steps are done. Raises UsageError if there is no such region, ModelError, ClockError.
    """
    machine, clocks = machine_of(model, trace), treated(trace, clock)
    trace = clocks.trace
    names = chosen(trace, regions)
    sizes = [Sizes(trace, name) for name in names]
    asked = [question for size in sizes for question in size.questions()]
    graph = graph_of(trace, machine.model, asked)
    run = replay_of(clocks, graph, machine)
    asker = _Asker(run)
    segments, progress = Segments(run.weighted), _Progress(report, 2 * sum(size.count for size in sizes))
    balanced = tuple(_region(asker, segments, size, progress) for size in sizes)
    both = [question for size in sizes for question in size.whole()]
    everything = asker.makespan(both) if len(sizes) > 1 else balanced[0].all_both
    return Balance(run, balanced, everything, int(segments.length.sum()))


def span(balance: Balance, asked: Sequence[Hypothesis] = ()) -> Sure:
    """Return between which makespans the true one lies under hypotheses; by default if all steps of all regions were balanced."""
    asked = asked or [question for region in balance.regions for question in Sizes(balance.run.trace, region.name).whole()]
    return span_under(_Asker(balance.run).run(asked), asked)


def chosen(trace: Trace, names: Sequence[str]) -> list[str]:
    """Return the regions of these names, by default all parallel ones. Raises UsageError for a name or trace without."""
    if not names:
        names = [name for name, marked in zip(trace.names, trace.parallel.tolist(), strict=True) if marked]
    names = [name for text in names for name in listed(text, trace.names)]
    for name in names:
        selectors.region(trace, name)
    if names:
        return list(dict.fromkeys(names))
    names_shown = ", ".join(trace.names[:8]) + (" ..." if len(trace.names) > 8 else "")
    if trace.names:
        raise UsageError(f"{trace.path}: no region is marked as parallel, must be chosen with --region; there are {names_shown}")
    how = "mark parallel regions with PRGN_BEGIN and PRGN_END (perwiz record --print-include)"
    raise UsageError(f"{trace.path}: no user regions, so there are no steps to balance; {how} and record again")


class _Progress:
    """Tells of the progress of several passes as one."""

    def __init__(self, report: Report | None, total: int) -> None:
        self._report, self._total, self._before = report, total, 0

    def __call__(self, done: int, _: int) -> None:
        if self._report:
            self._report(self._before + done, self._total)

    def passed(self, count: int) -> None:
        """Count what a pass has done."""
        self._before += count


class _Asker:
    """Answers hypotheses on one weighted graph; where that had to leave out rendezvous edges, on a graph of their own."""

    def __init__(self, run: Run) -> None:
        self._run, self.weighted = run, run.weighted
        self.exact = run.graph.deadlocks == 0

    def run(self, asked: Sequence[Hypothesis]) -> Run:
        """Return the recorded run, over a graph that has what hypotheses need."""
        if self.exact:
            return self._run
        clocks, machine = self._run.clocks, self._run.machine
        return replay_of(clocks, graph_of(clocks.trace, machine.model, asked), machine)

    def makespan(self, asked: Sequence[Hypothesis]) -> int:
        """Return the makespan, ns, that `perwiz.predict` gives."""
        return swept_makespan(apply(self.run(asked).weighted, asked))


def _region(asker: _Asker, segments: Segments, sizes: Sizes, progress: _Progress) -> Balanced:
    """Return the answers for one region."""
    trace, graph, weight = asker.weighted.trace, asker.weighted.graph, asker.weighted.weight
    computation, changes = _levelled_steps(segments, weight, sizes)
    time = local_changes.makespans(graph, weight, changes, sizes.count, progress)
    progress.passed(sizes.count)
    messages = np.full(sizes.count, -1, "i8")
    messages[sizes.resizing] = _messages(asker, sizes, progress)[sizes.resizing]
    progress.passed(sizes.count)
    whole = sizes.whole()
    return Balanced(
        name=sizes.name,
        number=sizes.number,
        location=trace.regions.location[sizes.instance],
        first=sizes.first,
        computation=computation,
        sent=sizes.sent,
        time=time,
        messages=messages,
        all_time=asker.makespan([BalanceTime(sizes.name)]),
        all_messages=asker.makespan([BalanceMessages(sizes.name)]) if len(whole) > 1 else -1,
        all_both=asker.makespan(whole),
    )


def _messages(asker: _Asker, sizes: Sizes, progress: _Progress) -> I8:
    """Return the makespan under balanced messages of each step, ns."""
    if asker.exact:
        weighted = asker.weighted
        return local_changes.makespans(weighted.graph, weighted.weight, sizes.changes(weighted), sizes.count, progress)
    out = np.zeros(sizes.count, "i8")
    for step in np.flatnonzero(sizes.resizing).tolist():
        out[step] = asker.makespan([BalanceMessages(f"{sizes.name}#{sizes.number[step]}")])
        progress(step, sizes.count)
    return out


def _levelled_steps(segments: Segments, weight: I8, sizes: Sizes) -> tuple[I8, Changes]:
    """Return the ns computed in each instance, and the changed weights of balanced computation, step by step."""
    computation, columns = np.empty(len(sizes.instance), "i8"), []
    entered, left = segments.entered[sizes.instance] + 1, segments.left[sizes.instance] + 1
    for step in range(sizes.count):
        rows = slice(sizes.first[step], sizes.first[step + 1])
        count = left[rows] - entered[rows]
        group, segment = ranges(np.arange(len(count)), entered[rows], left[rows])
        part = segments.length[segment]
        computation[rows] = np.add.reduceat(part, np.cumsum(count) - count)
        more = level(part, group, np.zeros(len(count), "i8")) - part
        gap = segments.gap[segment]
        fresh = np.flatnonzero(np.concatenate(([True], gap[1:] != gap[:-1])))
        edge, more = segments.edge[gap[fresh]], np.add.reduceat(more, fresh)
        differs = more != 0
        columns.append((np.full(int(differs.sum()), step), edge[differs], weight[edge[differs]] + more[differs]))
    which, edge, value = (np.concatenate(column) for column in zip(*columns, strict=True))
    return computation, Changes(which, edge, value)
