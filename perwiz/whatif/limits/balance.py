"""Which parallel step to balance: the predicted makespan if the computation or the messages of one step were balanced, for every step.

PerWiz, section 3.2: the step whose times differ most (largest sigma) need not be the one that pays most, so each is predicted.
A step is the k-th instance of a region on every process. Where no region is marked as parallel, the whole program is one, each stretch
between collectives of all processes, and the instances of the regions that differ most. The answers are those of the hypotheses
`balance-time REGION#k` and `balance-messages REGION#k`, but the graph is built and weighted once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from perwiz.engines.sweep import swept_makespan
from perwiz.errors import UsageError
from perwiz.shown import Shown
from perwiz.trace.arrays import F8, I4, I8, Mask
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import Hypothesis, apply, listed
from perwiz.whatif.hypotheses.computation import BalanceTime
from perwiz.whatif.hypotheses.devices import for_devices, mostly_for_devices
from perwiz.whatif.hypotheses.network import BalanceMessages
from perwiz.whatif.hypotheses.parts import STRETCHES, WHOLE, parts, synchronisations
from perwiz.whatif.hypotheses.stretch import Segments, level, segments_of
from perwiz.whatif.limits.message_sizes import Sizes
from perwiz.whatif.limits.uneven import uneven
from perwiz.whatif.run import Run, Start, graph_of, machine_of, replay_of, treated
from perwiz.whatif.sure.span import Span as Sure
from perwiz.whatif.sure.span import span_under
from perwiz.whatif.worth import local_changes
from perwiz.whatif.worth.local_changes import Changes, Report, ranges

MOST_OF_ALL = 0.95
"""Part of all computation from which on a step is the whole program."""
_REGIONS, _STEPS = 4, 1 << 14
"""Regions that are balanced where none is marked: those whose slowest processes compute longest beyond the mean; their steps, at most."""
_SEGMENTS = 1 << 20
"""Pieces of computation that are levelled at a time."""


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
    questions: tuple[Hypothesis, ...]
    """That: the hypotheses."""

    def spread(self, value: I8) -> Spread:
        """Return the spread over each step of `computation` or `sent`."""
        first = self.first[:-1]
        count = np.diff(self.first)
        mean = np.add.reduceat(value, first) / count
        off = (value - np.repeat(mean, count)) ** 2
        sigma = np.sqrt(np.add.reduceat(off, first) / count)
        return Spread(count, np.minimum.reduceat(value, first), mean, np.maximum.reduceat(value, first), sigma)


@dataclasses.dataclass(frozen=True, eq=False)
class Balance(Shown):
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
        """Return which steps, region after region, hold MOST_OF_ALL of all computation: the whole program; none if there is no other."""
        held = np.concatenate([np.add.reduceat(region.computation, region.first[:-1]) for region in self.regions])
        whole = (held > 0) & (held >= MOST_OF_ALL * self.computation)
        return np.asarray(whole & (not whole.all()))


def balance(trace: Trace, regions: Sequence[str] = (), model: Start = None, clock: str = "clc", report: Report | None = None) -> Balance:
    """Return what balancing each step of some regions would give; all times int64 ns. By default of what `chosen` returns.

    `report` is progress how many of all steps are done. Raises UsageError if there is no such region, ModelError, ClockError.
    """
    machine, clocks = machine_of(model, trace), treated(trace, clock)
    trace = clocks.trace
    words, names = chosen(trace, regions)
    sizes = [Sizes(trace, name) for name in names]
    asked = [question for size in sizes for question in size.questions()]
    graph = graph_of(trace, machine.model, asked)
    run = replay_of(clocks, graph, machine)
    asker, segments = _Asker(run), segments_of(run.weighted)
    if not regions:
        apart = for_devices(segments)
        sizes = [size for size in sizes if not mostly_for_devices(segments, apart, size.name)]
    steps: list[Sizes | Stretches] = [*(Stretches(segments, word) for word in words), *sizes]
    progress = _Progress(report, 2 * sum(step.count for step in steps))
    balanced = tuple(_region(asker, segments, step, progress) for step in steps)
    both = [question for region in balanced for question in region.questions]
    everything = asker.makespan(both) if len(balanced) > 1 else balanced[0].all_both
    return Balance(run, balanced, everything, int(segments.length.sum()))


def span(balance: Balance, asked: Sequence[Hypothesis] = ()) -> Sure:
    """Return between which makespans the true one lies under hypotheses; by default if all steps of all regions were balanced."""
    asked = asked or [question for region in balance.regions for question in region.questions]
    return span_under(_Asker(balance.run).run(asked), asked)


def chosen(trace: Trace, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words (WHOLE, STRETCHES) and the regions to balance: those named, or else all parallel regions, or if none is marked so
    the whole program, its stretches, and the regions that differ most, but for those of very many steps.

    Raises UsageError for an unknown name and a trace without processes.
    """
    if not len(trace.locations):
        raise UsageError(f"{trace.path}: no processes, so there is nothing to balance")
    names = [name for text in names for name in listed(text, (*trace.names, WHOLE, STRETCHES))]
    words = [name for name in names if name in (WHOLE, STRETCHES) and name not in trace.names]
    names = [name for name in names if name not in words]
    for name in names:
        selectors.region(trace, name)
    if words or names:
        return list(dict.fromkeys(words)), list(dict.fromkeys(names))
    marked = [name for name, parallel in zip(trace.names, trace.parallel.tolist(), strict=True) if parallel]
    if marked:
        return [], list(dict.fromkeys(marked))
    words = [WHOLE, *([STRETCHES] if len(np.unique(trace.locations.process)) > 1 and len(synchronisations(trace)) else [])]
    steps = np.zeros(len(trace.names), "i8")
    np.maximum.at(steps, trace.region_names, trace.regions.instance)
    few = [name for name in uneven(trace).regions(len(trace.names)) if steps[trace.names.index(name)] <= _STEPS]
    return [word for word in words if word not in trace.names], few[:_REGIONS]


class Stretches:
    """The whole program, or its stretches, as the steps of a region are seen; their messages stay.

    Groups, a process in a stretch, are sorted by stretch, then location; those of step k are `first[k]` .. `first[k + 1] - 1`.
    """

    def __init__(self, segments: Segments, word: str) -> None:
        chosen, self.name = parts(segments, word), word
        begin = np.flatnonzero(np.concatenate(([True], chosen.group[1:] != chosen.group[:-1])))
        end = np.append(begin[1:], len(chosen.group)) - 1
        part = chosen.part[chosen.group[begin]]
        order = np.argsort(part, kind="stable")
        self._begin, self._end = chosen.segment[begin[order]], chosen.segment[end[order]] + 1
        self._chosen = np.zeros(len(segments.length), bool)
        self._chosen[chosen.segment] = True
        self.count = int(part.max(initial=-1)) + 1
        self.first = np.searchsorted(part[order], np.arange(self.count + 1))
        self.number = np.arange(1, self.count + 1)
        self.location = segments.location[self._begin]
        self.sent, self.resizing = np.zeros(len(order), "i8"), np.zeros(self.count, bool)

    def within(self, segments: Segments) -> tuple[I8, I8]:
        """Return the first segment of each group, and the one behind its last."""
        return self._begin, self._end

    def chosen(self, segment: I8) -> Mask:
        """Return which of some segments between these are of the group."""
        return self._chosen[segment]

    def whole(self) -> list[Hypothesis]:
        """Return the question after all steps at once."""
        return [BalanceTime(self.name)]


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


def _region(asker: _Asker, segments: Segments, sizes: Sizes | Stretches, progress: _Progress) -> Balanced:
    """Return the answers for one region."""
    graph, weight = asker.weighted.graph, asker.weighted.weight
    computation, changes = _levelled_steps(segments, weight, sizes)
    time = local_changes.makespans(graph, weight, changes, sizes.count, progress)
    progress.passed(sizes.count)
    messages = np.full(sizes.count, -1, "i8")
    if isinstance(sizes, Sizes):
        messages[sizes.resizing] = _messages(asker, sizes, progress)[sizes.resizing]
    progress.passed(sizes.count)
    whole = sizes.whole()
    return Balanced(
        name=sizes.name,
        number=sizes.number,
        location=sizes.location,
        first=sizes.first,
        computation=computation,
        sent=sizes.sent,
        time=time,
        messages=messages,
        all_time=asker.makespan([BalanceTime(sizes.name)]),
        all_messages=asker.makespan([BalanceMessages(sizes.name)]) if len(whole) > 1 else -1,
        all_both=asker.makespan(whole),
        questions=tuple(whole),
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


def _levelled_steps(segments: Segments, weight: I8, sizes: Sizes | Stretches) -> tuple[I8, Changes]:
    """Return the ns computed in each instance, and the changed weights of balanced computation, step by step; of some steps at a time."""
    computation, columns = np.zeros(len(sizes.location), "i8"), []
    entered, left = sizes.within(segments)
    step = np.repeat(np.arange(sizes.count), np.diff(sizes.first))
    behind = np.cumsum(left - entered)[sizes.first[1:] - 1]
    cuts = [0, *(np.flatnonzero(np.diff(behind // _SEGMENTS)) + 1).tolist(), sizes.count]
    for begin, end in pairwise(cuts):
        rows = slice(sizes.first[begin], sizes.first[end])
        group, segment = ranges(np.arange(rows.start, rows.stop), entered[rows], left[rows])
        if isinstance(sizes, Stretches):
            kept = sizes.chosen(segment)
            group, segment = group[kept], segment[kept]
        part, gap, which = segments.length[segment], segments.gap[segment], step[group]
        np.add.at(computation, group, part)
        more = level(part, group - rows.start, step[rows] - begin) - part
        fresh = np.flatnonzero(np.concatenate(([True], (gap[1:] != gap[:-1]) | (which[1:] != which[:-1]))))
        edge, more = segments.edge[gap[fresh]].astype("i8"), np.add.reduceat(more, fresh)
        differs = more != 0
        columns.append((which[fresh][differs], edge[differs], weight[edge[differs]] + more[differs]))
    which, edge, value = (np.concatenate(column) for column in zip(*columns, strict=True))
    return computation, Changes(which, edge, value)
