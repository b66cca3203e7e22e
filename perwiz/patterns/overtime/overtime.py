"""Behaviour over time: efficiencies, waiting and worth of each iteration or window of a run, and its phases, between which they change.

Efficiencies are those of `perwiz.patterns.analysis.efficiency`, of a part or of several as one:

    load balance  mean(u) / max(u)       u is what each process computes there
    serialisation max(u) / ideal         ideal is the longest time of any process there, on an ideal network
    transfer      ideal / time           time is the longest time of any process there
    parallel      mean(u) / time         the product of the three

A window, and what several parts are as one, is replayed alone (`alone`): none of it takes longer than it did, so no factor is above 1.
Single iterations are what the replay of all of them as one has of each, for processes begin an iteration apart from each other, by what
the network takes, too. Where a wait moves from one into another there, that one counts as long as it was.

A phase is what lies between two changes (`changes`), of what each iteration takes, its factors, and who computes more than others.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from perwiz.errors import UsageError
from perwiz.patterns.analysis import counters
from perwiz.patterns.analysis.efficiency import Efficiency
from perwiz.patterns.metrics import Metric
from perwiz.patterns.overtime.alone import Alone
from perwiz.patterns.overtime.changes import LEAST, stretches
from perwiz.patterns.overtime.gains import Asked
from perwiz.patterns.overtime.split import Pieces, Split, computed, hosts, inside, pieces, split
from perwiz.patterns.search import Findings
from perwiz.trace.arrays import F8, I4, I8
from perwiz.trace.parts.course import SURE, TOLD, Trend, exceptions, trend
from perwiz.whatif.hypotheses.stretch import Segments, segments_of
from perwiz.whatif.run import Run

FACTORS = ("load_balance", "serialisation", "transfer")
"""The factors of parallel efficiency, by their names in Efficiency."""
_LEAST, _RATE, _WHO = 0.01, 0.1, 0.02
"""What of a factor and of a time, of the rate of calls, and of who computes, is no difference, each by its own size."""
_SHORT = 0.1
"""Part of all iterations, or windows, up to which what lies between two stretches that are alike is a disturbance."""
_LOW, _HIGH = 1e-3, 1e3
"""Between which factors are looked at: logarithms of others mean nothing."""
Kind = Literal["before", "warm-up", "phase", "after"]


@dataclasses.dataclass(frozen=True, eq=False)
class Drift:
    """What goes up or down inside of a phase."""

    of: str
    """time, or the name of a factor."""
    trend: Trend
    """Per iteration or window: ns, or parts of 1. A factor begins and ends as that of the first and of the last tenth as one is."""


@dataclasses.dataclass(frozen=True, eq=False)
class Phase:
    """Some parts, one behind the other."""

    kind: Kind
    first: int
    """Of its parts, from 0."""
    end: int
    efficiency: Efficiency
    """Of all its parts together."""
    drifts: tuple[Drift, ...]
    """What goes up or down, most first."""
    waits: dict[str, int]
    """ns per kind of wait, all processes together."""
    waiting: int
    balanced: int
    """Makespan, ns, if all processes computed the mean of what they compute in it."""
    unwaiting: int
    """Makespan, ns, if no call that begins in it waited."""
    exceptions: tuple[int, ...]
    """Parts that take far longer than the others."""
    region: str
    """Where most of its computation is; empty if no region tells."""


@dataclasses.dataclass(frozen=True, eq=False)
class Spent:
    """What parts take, a row per part."""

    hosts: I8
    """Locations that these are."""
    time: I8
    """ns by host."""
    ideal: F8
    """Of each part, the same on an ideal network."""
    alone: Alone
    """Of several as one."""
    useful: I8
    """ns of computation, by host."""
    instructions: F8 | None
    """Of all hosts; None where nobody counted."""
    cycles: F8 | None

    def together(self, name: str, first: int, end: int) -> Efficiency:
        """Return the efficiency of several parts as one."""
        instructions, cycles = (None if one is None else one[first:end].sum(keepdims=True) for one in (self.instructions, self.cycles))
        time, useful = (column[first:end].sum(axis=0) for column in (self.time, self.useful))
        ideal = self.ideal[first] if end == first + 1 else np.minimum(self.alone.span(first, end)[self.hosts], time)
        return Efficiency(name, False, useful, int(time.max()), round(float(ideal.max())), counters.Work(instructions, cycles, None))


@dataclasses.dataclass(frozen=True, eq=False)
class OverTime:
    """What a run does over time: columns have a row per part."""

    run: Run
    metrics: tuple[Metric, ...]
    """What was searched for, as `Severity` has it."""
    split: Split
    hosts: I8
    """Locations whose computation counts: those that are no streams of devices."""
    spent: Spent
    efficiency: tuple[Efficiency, ...]
    waits: dict[str, I8]
    """ns by name of a pattern, all hosts together: those that are no special case of another, of which there are some."""
    waiting: I8
    """ns that calls wait, all hosts together; of several waits of one call the longest."""
    calls: I8
    """ns in calls, all hosts together."""
    balanced: I8
    """Makespan, ns, if all processes computed the mean of what they compute in this part alone."""
    unwaiting: I8
    """Makespan, ns, if no call that begins in this part waited."""
    phases: tuple[Phase, ...]


def over_time(run: Run, findings: Findings, windows: int | None = None) -> OverTime:
    """Return what a run does in each of its iterations, or in so many windows. Raises UsageError if the trace has no processes."""
    trace = run.trace
    if not len(hosts(trace)):
        raise UsageError(f"{trace.path}: no processes, so nothing happens over time")
    parts, segments = split(trace, windows), segments_of(run.weighted)
    cut = pieces(segments, parts.cuts)
    spent = _spent(run, parts, segments, cut)
    efficiency = tuple(spent.together(_name(parts, k, k + 1), k, k + 1) for k in range(len(parts)))
    waits, waiting = _waits(run, findings, parts)
    times, asked, each = trace.timeline.calls, Asked(run, segments, cut, parts.cuts), np.arange(len(parts))
    out = OverTime(
        run=run,
        metrics=findings.severity.metrics,
        split=parts,
        hosts=hosts(trace),
        spent=spent,
        efficiency=efficiency,
        waits=waits,
        waiting=waiting,
        calls=inside(trace, parts.cuts, times.leave - times.enter)[:, hosts(trace)].sum(axis=1),
        balanced=asked.balanced(each, len(parts)),
        unwaiting=asked.unwaiting(each, len(parts)),
        phases=(),
    )
    return dataclasses.replace(out, phases=_phases(out, asked, segments, cut))


def _spent(run: Run, parts: Split, segments: Segments, cut: Pieces) -> Spent:
    """Return what each part takes."""
    trace, own, alone = run.trace, hosts(run.trace), Alone(run, parts.cuts)
    time = np.diff(parts.cuts, axis=0)[:, own]
    useful = computed(cut, len(parts), len(trace.locations))[:, own]
    if parts.by == "iterations":
        best = alone.each(0, len(parts))
    else:
        alone.spans((k, k + 1) for k in range(len(parts)))
        best = np.stack([alone.span(k, k + 1) for k in range(len(parts))])
    return Spent(own, time, np.minimum(best[:, own], time), alone, useful, *_counted(run, segments, cut, len(parts)))


def _counted(run: Run, segments: Segments, cut: Pieces, parts: int) -> list[F8 | None]:
    """Return the instructions and cycles of the computation in each part, of all hosts; of what is divided, evenly over its time."""
    trace = run.trace
    found = [counters.row_of(trace, names) for names in (counters.INSTRUCTIONS, counters.CYCLES)]
    host = np.isin(cut.location, hosts(trace)) & (cut.part >= 0)
    length = np.zeros(len(trace.calls) + len(trace.locations), "i8")
    np.add.at(length, segments.gap, segments.length)
    gap, part = segments.gap[cut.segment[host]], cut.part[host]
    share = cut.length[host] / np.maximum(length[gap], 1)
    return [None if row is None else _sums(part, counters.between_calls(trace, row)[gap] * share, parts) for row in found]


def _sums(part: I4, value: F8, parts: int) -> F8:
    return np.asarray(np.bincount(part, value, parts), float)


def _name(parts: Split, first: int, end: int) -> str:
    """Return what parts are called: `3`, `3..7`, `before`, `after`; numbers of iterations or windows."""
    kept = parts.counted
    if end <= kept.start:
        return "before"
    if first >= kept.stop:
        return "after"
    low, high = int(parts.number[first - kept.start]), int(parts.number[end - kept.start]) - 1
    return str(low) if low == high else f"{low}..{high}"


def _waits(run: Run, findings: Findings, parts: Split) -> tuple[dict[str, I8], I8]:
    """Return how long calls of hosts wait in each part, by kind and in all. A wait begins as its call does."""
    trace, out, own = run.trace, dict[str, I8](), hosts(run.trace)
    longest, times = np.zeros(len(trace.calls), "i8"), trace.timeline.calls
    above = {metric.name: metric.parent for metric in findings.severity.metrics}
    for name, instances in findings.instances.items():
        if name not in findings.waits or not len(instances):
            continue
        lost = np.zeros(len(trace.calls), "i8")
        np.maximum.at(lost, instances.call, instances.severity)
        lost = np.minimum(lost, times.leave - times.enter)
        np.maximum(longest, lost, out=longest)
        if above.get(name) not in findings.instances:
            out[name] = inside(trace, parts.cuts, lost)[:, own].sum(axis=1)
    return {name: ns for name, ns in out.items() if ns.any()}, inside(trace, parts.cuts, longest)[:, own].sum(axis=1)


def _figures(over: OverTime, asked: Asked) -> tuple[F8, F8]:
    """Return what changes of behaviour are looked for in: float64 (iterations or windows, figures), and the least differences of these.

    All but the last are logarithms: what an iteration takes and the three factors; of windows, instead of what they take, how many calls
    there are in a second. The last is who computes: how far each process is from the mean, along the direction in which that varies most
    (the first principal component). Figures of a window are those of it and both its neighbours: it may hold one step of the program and
    a half, the next two.
    """
    parts, some = over.split, _looked_at(over)
    time = np.array([max(1, one.time) for one in some], float)
    if parts.by == "iterations":
        first, least = time / np.diff(parts.number), _LEAST
    else:
        count = np.bincount(asked.part_of_call[asked.part_of_call >= 0], minlength=len(parts))
        three = np.convolve(count, np.ones(3))[1:-1]
        first, least = np.maximum(three, 1) / time * 1e9, _RATE
    columns = [np.log(first), *(np.log(np.clip([getattr(one, name) for one in some], _LOW, _HIGH)) for name in FACTORS)]
    useful = np.array([one.useful for one in some], float)
    mean = useful.mean(axis=1, keepdims=True)
    columns.append(_first_component(np.divide(useful - mean, mean, out=np.zeros_like(useful), where=mean > 0)))
    return np.stack(columns, axis=1), np.array([least, *[_LEAST] * len(FACTORS), _WHO])


def _looked_at(over: OverTime) -> list[Efficiency]:
    """Return the efficiency of each iteration; of each window as one with both its neighbours, for it may hold one step of the program and
    a half, the next two."""
    kept = over.split.counted
    if over.split.by == "iterations":
        return list(over.efficiency[kept])
    spans = [(max(k - 1, kept.start), min(k + 2, kept.stop)) for k in range(kept.start, kept.stop)]
    over.spent.alone.spans(spans)
    return [together(over, *span) for span in spans]


def _first_component(values: F8) -> F8:
    """Return the scores of rows on the first principal component, the largest entry of which is positive."""
    centred = values - np.median(values, axis=0)
    wide = centred.shape[1] > centred.shape[0]
    vector = np.linalg.eigh(centred @ centred.T if wide else centred.T @ centred)[1][:, -1]
    direction = centred.T @ vector if wide else vector
    size = float(np.linalg.norm(direction))
    sign = float(np.sign(direction[np.abs(direction).argmax()]))
    return np.asarray(centred @ direction * sign / size if size else np.zeros(len(values)))


def _phases(over: OverTime, asked: Asked, segments: Segments, cut: Pieces) -> tuple[Phase, ...]:
    """Return the phases of a run with what is before and behind them."""
    parts = over.split
    start, stop = parts.counted.start, parts.counted.stop - (parts.open and len(parts.number) > LEAST + 1)
    warm = start + _warm_up(parts)
    values, least = _figures(over, asked)
    found = stretches(values[warm - start : stop - start], least)
    bounds = [warm + stretch.first for stretch in found]
    spans: list[tuple[Kind, int, int]] = [("before", 0, 1)] * parts.before
    spans += [("warm-up", start, warm)] * (warm > start)
    spans += [("phase", low, high) for low, high in _told(over, bounds, [*bounds[1:], parts.counted.stop])]
    spans += [("after", len(parts) - 1, len(parts))] * parts.after
    of_part = np.repeat(np.arange(len(spans)), [high - low for _, low, high in spans])
    balanced, unwaiting = asked.balanced(of_part, len(spans)), asked.unwaiting(of_part, len(spans))
    regions = _regions(over, segments, cut, of_part, len(spans))
    return tuple(
        Phase(
            kind,
            low,
            high,
            together(over, low, high),
            _drifts(over, low, high) if kind == "phase" else (),
            {name: total for name, ns in over.waits.items() if (total := int(ns[low:high].sum()))},
            int(over.waiting[low:high].sum()),
            int(balanced[k]),
            int(unwaiting[k]),
            _exceptions(over, low, high) if kind == "phase" else (),
            regions[k],
        )
        for k, (kind, low, high) in enumerate(spans)
    )


def _warm_up(parts: Split) -> int:
    """Return how many of the first parts are a warm-up, as the times of iterations tell; of windows none."""
    return int(np.searchsorted(parts.number, parts.course.warm_up + 1, "right")) - 1 if parts.course else 0


def times_of(parts: Split) -> F8:
    """Return what an iteration of each part takes, ns, mean of the processes as `course` has it; nothing of windows."""
    if parts.course is None:
        return np.empty(0)
    first = parts.number[:-1] - 1
    return np.asarray(np.add.reduceat(parts.course.time, first) / np.diff(parts.number))


def _told(over: OverTime, bounds: list[int], ends: list[int]) -> list[tuple[int, int]]:
    """Return the parts (first, end) of stretches, given as such.

    Neighbours that no words tell apart are one; so are two like each other with a short one between, which disturbed them.
    """
    out = list[tuple[int, int]]()
    short = _SHORT * sum(high - low for low, high in zip(bounds, ends, strict=True))
    for low, high in zip(bounds, ends, strict=True):
        out.append((low, high))
        while len(out) > 1:
            like = [k for k in range(len(out) - 1) if out[-1][0] - out[k][1] <= short and not _apart(over, out[k], out[-1])]
            if not like:
                break
            out[like[-1] :] = [(out[like[-1]][0], out[-1][1])]
    return out


def _apart(over: OverTime, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether two stretches differ in what is told, by more than they vary, or one has a trend that the other has not."""
    before, after = compared(over, *one), compared(over, *other)
    told = {*differences(before[0], after[0], before[1], after[1])}
    if told and told & _beyond(over, one, other):
        return True
    ways = [{(drift.of, drift.trend.slope > 0) for drift in _drifts(over, *ends)} for ends in (one, other)]
    return ways[0] != ways[1]


def _beyond(over: OverTime, one: tuple[int, int], other: tuple[int, int]) -> set[str]:
    """Return in what two stretches differ by more than they vary: `time`, factors, `who`.

    Medians of their parts lie further apart than both interquartile ranges on average, of normal noise three quarters of the one beyond
    three quarters of the other. Another process computes longest, if that is out of balance by medians, too.
    """
    out, quarters, useful = set[str](), list[dict[str, F8]](), list[F8]()
    looked_at, start = _looked_at(over), over.split.counted.start
    for first, end in (one, other):
        some = looked_at[first - start : end - start]
        columns = {name: np.array([getattr(part, name) for part in some]) for name in FACTORS}
        if over.split.by == "iterations":
            columns["time"] = np.array([part.time for part in some]) / np.diff(over.split.number)[first - start : end - start]
        quarters.append({name: np.quantile(column, (0.25, 0.5, 0.75)) for name, column in columns.items()})
        useful.append(np.median([part.useful for part in some], axis=0))
    for name, (low, middle, high) in quarters[0].items():
        its_low, its_middle, its_high = quarters[1][name]
        if 2 * abs(its_middle - middle) > high - low + its_high - its_low:
            out.add(name)
    uneven = all(each.mean() < (1 - TOLD) * each.max() for each in useful)
    return out | {"who"} if uneven and useful[0].argmax() != useful[1].argmax() else out


def compared(over: OverTime, first: int, end: int) -> tuple[Efficiency, int]:
    """Return what is compared of a phase: its efficiency, and how many iterations or windows that is; without a last one that is cut."""
    end -= over.split.open and end == over.split.counted.stop and end - first > 1
    return together(over, first, end), each(over.split, first, end)


def _exceptions(over: OverTime, first: int, end: int) -> tuple[int, ...]:
    """Return the parts of a phase that take far longer than others, as `course` tells."""
    parts = over.split
    if parts.by == "windows":
        return ()
    last = end - (parts.open and end == parts.counted.stop and end - first > LEAST)
    start = parts.counted.start
    return tuple(first + k for k in exceptions(times_of(parts)[first - start : last - start]))


def each(parts: Split, first: int, end: int) -> int:
    """Return how many iterations or windows parts have; 1 of what is before or behind all."""
    kept = parts.counted
    return int(parts.number[end - kept.start] - parts.number[first - kept.start]) if kept.start <= first and end <= kept.stop else 1


def together(over: OverTime, first: int, end: int) -> Efficiency:
    """Return the efficiency of several parts as one."""
    return over.spent.together(_name(over.split, first, end), first, end)


def slowest(efficiency: Efficiency) -> int:
    """Return the place of the process, or thread, that computes longest, of several the first."""
    return int(efficiency.useful.argmax())


def differences(before: Efficiency, after: Efficiency, first: int, second: int) -> list[str]:
    """Return what differs between phases of so many iterations or windows so that it is told: names of factors, `time`, `who`.

    Factors by two points, the most first; the time of one iteration by two percent; who, if both are out of balance and another process
    computes longest.
    """
    change = {name: abs(getattr(after, name) - getattr(before, name)) for name in FACTORS}
    out = sorted((name for name in FACTORS if change[name] >= TOLD), key=lambda name: -change[name])
    was, now = before.time / max(1, first), after.time / max(1, second)
    out += ["time"] * (abs(now - was) >= TOLD * max(was, 1))
    uneven = max(before.load_balance, after.load_balance) < 1 - TOLD
    return [*out, *["who"] * (uneven and slowest(before) != slowest(after))]


def _drifts(over: OverTime, first: int, end: int) -> tuple[Drift, ...]:
    """Return what goes up or down inside of a phase: chance would show it once in a hundred, and it comes to what is told."""
    parts, start = over.split, over.split.counted.start
    end -= parts.open and end == parts.counted.stop and end - first > LEAST
    some, each = over.efficiency[first:end], np.diff(parts.number)[first - start : end - start]
    columns = {name: np.array([getattr(one, name) for one in some]) for name in FACTORS}
    if parts.by == "iterations":
        columns["time"] = times_of(parts)[first - start : end - start]
    out = list[tuple[float, Drift]]()
    for name, values in columns.items():
        found = trend(values)
        if found is None or found.p * (1 if name == "time" else len(FACTORS)) >= SURE:
            continue
        if name != "time":
            few = max(LEAST, len(values) // 10)
            begins, ends = (getattr(together(over, *tenth), name) for tenth in ((first, first + few), (end - few, end)))
            found = dataclasses.replace(found, begins=begins, ends=ends)
        size = found.comes_to(len(values)) / (max(float(np.median(values)), 1) if name == "time" else 1)
        if size >= TOLD:
            out.append((size, Drift(name, dataclasses.replace(found, slope=found.slope / float(np.median(each))))))
    return tuple(drift for _, drift in sorted(out, key=lambda one: -one[0]))


def _regions(over: OverTime, segments: Segments, cut: Pieces, of_part: I8, count: int) -> list[str]:
    """Return the innermost region in which most is computed in each phase; empty where that is outside of any."""
    trace = over.run.trace
    if not len(trace.regions):
        return [""] * count
    chosen = (cut.part >= 0) & np.isin(cut.location, over.hosts)
    path, names = segments.path[cut.segment[chosen]], len(trace.names)
    name = np.where(path >= 0, np.append(trace.paths.region, -1)[path], names)
    total = np.bincount(of_part[cut.part[chosen]] * (names + 1) + name, cut.length[chosen], count * (names + 1)).reshape(count, names + 1)
    return [(*trace.names, "")[int(row.argmax())] if row.any() else "" for row in total]
