"""The report of `perwiz compare` as a JSON document."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from msgspec.structs import asdict

from perwiz.report import blocks
from perwiz.report.compare.records import (
    Calls,
    CompareDocument,
    FurthestCall,
    Locations,
    MaxError,
    Process,
    ProcessTime,
    Region,
    Routine,
    Run,
    Spread,
    Step,
)
from perwiz.trace import operations
from perwiz.whatif.compare import sums
from perwiz.whatif.compare.compare import Comparison, Side, Spans

_SUMMED = ("predicted_ns", "measured_ns", "error_ns", "predicted_instances", "measured_instances")


def document(comparison: Comparison, calls: int, most: float | None = None) -> CompareDocument:
    """Return the comparison with at most so many calls, those that differ most.

    `most` is the largest error of the makespan asked for, as a part of the measured one.
    """
    pairs, first, second = comparison.alignment, comparison.predicted.trace, comparison.measured.trace
    both, same = len(pairs.locations[0]), len(pairs.first)
    enter, leave, duration = map(_spread, comparison.calls())
    return CompareDocument(
        predicted=_run(comparison.predicted),
        measured=_run(comparison.measured),
        hypotheses=[str(hypothesis) for hypothesis in comparison.hypotheses],
        model=blocks.model(comparison.model) if comparison.model else None,
        start=comparison.start,
        error_ns=comparison.error,
        error=finite(comparison.share),
        max_error=None if most is None else MaxError(asked=most, missed=missed(comparison, most)),
        locations=Locations(both=both, only_predicted=len(first.locations) - both, only_measured=len(second.locations) - both),
        calls=Calls(
            same=same,
            moved=int(pairs.moved.sum()),
            elsewhere=int(pairs.elsewhere.sum()),
            only_predicted=len(first.calls) - same,
            only_measured=len(second.calls) - same,
            compared=len(comparison.compared),
            enter=enter,
            leave=leave,
            duration=duration,
        ),
        processes=_processes(comparison),
        regions=_regions(comparison),
        steps=_steps(comparison),
        routines=_routines(comparison),
        furthest=furthest(comparison, calls),
    )


def missed(comparison: Comparison, most: float) -> bool:
    """Return whether the makespan is further off than that part of the measured one."""
    return abs(comparison.share) > most


def finite(value: float) -> float | None:
    """Return a share with six decimals, None for an infinite one."""
    return round(value, 6) if math.isfinite(value) else None


def _run(side: Side) -> Run:
    trace = side.trace
    begin = int(trace.timeline.locations.enter.min(initial=side.start)) if len(trace.locations) else side.start
    return Run(
        **blocks.head(trace),
        makespan_ns=side.makespan,
        whole_ns=trace.timeline.makespan,
        start_ns=side.start - begin,
        processes=len(np.unique(trace.locations.process)),
        calls=len(trace.calls),
        health=blocks.health(side.health),
    )


def _spread(spans: Spans) -> Spread:
    """Return the middle, the 95th of a hundred and the largest of the absolute errors; those that occur, none between two."""
    off = np.sort(np.abs(spans.error))
    median, late, worst = (int(off[max(0, math.ceil(part * len(off)) - 1)]) if len(off) else 0 for part in (0.5, 0.95, 1.0))
    return Spread(median_ns=median, percentile_95_ns=late, worst_ns=worst)


def _times(spans: Spans, row: int, prefix: str = "") -> dict[str, Any]:
    times = {"predicted_ns": spans.predicted, "measured_ns": spans.measured, "error_ns": spans.error}
    return {f"{prefix}{name}": int(column[row]) for name, column in times.items()}


def _sums(total: sums.Sums, row: int) -> dict[str, Any]:
    instances = {"predicted_instances": int(total.count.predicted[row]), "measured_instances": int(total.count.measured[row])}
    return _times(total.time, row) | instances


def _processes(comparison: Comparison) -> list[Process]:
    end, span = comparison.ends()
    return [
        Process(**asdict(blocks.location(comparison.predicted.trace, row)), **_times(end, k, "end_"), **_times(span, k, "span_"))
        for k, row in enumerate(comparison.alignment.locations[0].tolist())
    ]


def _regions(comparison: Comparison) -> list[Region]:
    """Return, per region path, the time in it, all locations together and one by one."""
    total, many, names = sums.regions(comparison), sums.places(comparison), comparison.alignment.path_names
    first, second = comparison.predicted.trace, comparison.measured.trace
    places = {k: blocks.location(first, k) for k in range(len(first.locations))}
    for k, place in enumerate(comparison.alignment.places[1].tolist()):
        if place >= len(first.locations):
            places[place] = blocks.location(second, k)
    rows: dict[int, list[ProcessTime]] = {}
    for k, key in enumerate(total.key.tolist()):
        path, place = divmod(key, many)
        rows.setdefault(path, []).append(ProcessTime(**asdict(places[place]), **_sums(total, k)))
    return [
        Region(region="/".join(names[path]), **{name: sum(getattr(part, name) for part in parts) for name in _SUMMED}, processes=parts)
        for path, parts in rows.items()
    ]


def _steps(comparison: Comparison) -> list[Step]:
    names, total = sums.steps(comparison)
    steps = []
    for k, key in enumerate(total.key.tolist()):
        times = _times(total.time, k)
        lacking = [run for run in ("predicted", "measured") if not getattr(total.count, run)[k]]
        times |= {f"{name}_ns": None for name in (*lacking, *(["error"] if lacking else []))}
        steps.append(Step(region=names[key >> 32], step=key & 0xFFFFFFFF, **times))
    return steps


def _routines(comparison: Comparison) -> list[Routine]:
    total = sums.routines(comparison)
    calls = zip(total.count.predicted.tolist(), total.count.measured.tolist(), strict=True)
    return [
        Routine(routine=operations.OPS[op], predicted_calls=predicted, measured_calls=measured, **_times(total.time, k))
        for k, (op, (predicted, measured)) in enumerate(zip(total.key.tolist(), calls, strict=True))
    ]


def furthest(comparison: Comparison, most: int) -> list[FurthestCall]:
    """Return the calls whose durations differ most, largest difference first, ties by call; those that do not differ left out."""
    enter, leave, duration = comparison.calls()
    pairs, calls = comparison.alignment, []
    for k in blocks.largest(np.abs(duration.error), most).tolist():
        pair = int(comparison.compared[k])
        calls.append(
            FurthestCall(
                **asdict(blocks.call(comparison.predicted.trace, int(pairs.first[pair]))),
                measured_call=f"e{pairs.second[pair]}",
                moved=bool(pairs.moved[pair]),
                **_times(duration, k),
                **_times(enter, k, "enter_"),
                leave_error_ns=int(leave.error[k]),
            )
        )
    return calls
