"""The report of `perwiz compare` as a JSON document."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from msgspec.structs import asdict

from perwiz.patterns.analysis import counters, efficiency
from perwiz.report import blocks, spans
from perwiz.report import machine as machines
from perwiz.report.compare import records
from perwiz.report.compare.records import (
    Calls,
    CompareDocument,
    FurthestCall,
    Locations,
    MaxError,
    Predicted,
    Process,
    ProcessTime,
    Region,
    Routine,
    Run,
    Spread,
    Step,
)
from perwiz.trace import operations
from perwiz.trace.arrays import I8
from perwiz.whatif.compare import sums
from perwiz.whatif.compare.apart import Apart, apart
from perwiz.whatif.compare.compare import Comparison, Side, Spans, Verdict
from perwiz.whatif.compare.other_calls import other_calls
from perwiz.whatif.compare.reasons import Reason, Reasons
from perwiz.whatif.compare.unasked import Unasked

_SUMMED = ("first_ns", "second_ns", "difference_ns", "first_instances", "second_instances")


def document(
    comparison: Comparison, found: Reasons, calls: int, most: float | None = None, other: Unasked | None = None
) -> CompareDocument:
    """Return the comparison, and why its makespans differ, with at most so many calls, those that differ most.

    `most` is the largest error of the makespan asked for, as a part of the measured one; of a change nobody asks for one. `other` is how
    the program changed otherwise than asked.
    """
    pairs, first, second = comparison.alignment, comparison.first.trace, comparison.second.trace
    both, same = len(pairs.locations[0]), len(pairs.first)
    enter, leave, duration = (_spread(comparison.differences(spans)) for spans in comparison.calls())
    return CompareDocument(
        first=_run(comparison.first),
        second=_run(comparison.second),
        difference_is=comparison.kind,
        reference="first" if comparison.reference is comparison.first else "second",
        hypotheses=[str(hypothesis) for hypothesis in comparison.hypotheses],
        model=blocks.model(comparison.machine.model) if comparison.machine else None,
        machine=machines.machine(comparison.machine) if comparison.machine else None,
        start=comparison.begin.word,
        stop=comparison.end.word,
        difference_ns=comparison.difference,
        shares_of_ns=comparison.reference.makespan,
        difference=finite(comparison.share),
        max_error=None if most is None else MaxError(asked=most, missed=missed(comparison, most)),
        predicted=_predicted(comparison.verdict) if comparison.verdict else None,
        apart=_apart(apart(comparison, found.runs)),
        unasked=unasked(comparison, other) if other else None,
        other_calls=of_calls(comparison),
        locations=Locations(both=both, only_first=len(first.locations) - both, only_second=len(second.locations) - both),
        calls=Calls(
            same=same,
            moved=int(pairs.moved.sum()),
            elsewhere=int(pairs.elsewhere.sum()),
            only_first=len(first.calls) - same,
            only_second=len(second.calls) - same,
            compared=len(comparison.compared),
            enter=enter,
            leave=leave,
            duration=duration,
        ),
        renamed=[records.RenamedRegion(row.first, row.second) for row in comparison.renamed],
        reasons=_reasons(comparison, found),
        processes=_processes(comparison),
        regions=_regions(comparison),
        steps=_steps(comparison),
        routines=_routines(comparison),
        furthest=furthest(comparison, calls),
        scaling=counters.scaling(*(efficiency.work(side.trace) for side in (comparison.second, comparison.first))),
    )


def _predicted(verdict: Verdict) -> Predicted:
    return Predicted(
        predicted_ns=verdict.predicted,
        measured_ns=verdict.measured,
        span=spans.span(verdict.span),
        outside_ns=verdict.outside,
    )


def _apart(found: Apart | None) -> records.Apart | None:
    return records.Apart(found.difference, found.most, found.differ, found.within) if found else None


def unasked(comparison: Comparison, other: Unasked) -> records.Unasked:
    """Return the record of how the program changed otherwise than asked."""
    return records.Unasked(
        **asdict(blocks.location(comparison.first.trace, other.location)),
        region=other.region,
        recorded_ns=other.recorded,
        predicted_ns=other.predicted,
        measured_ns=other.measured,
        changed=other.changed,
        chance=other.chance,
    )


def of_calls(comparison: Comparison) -> list[records.OtherCalls]:
    """Return the records of the routines that are called more or less often than was asked."""
    return [records.OtherCalls(one.routine, one.predicted, one.measured) for one in other_calls(comparison)]


def missed(comparison: Comparison, most: float) -> bool:
    """Return whether the makespan is further off than that part of the reference."""
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


def _spread(differences: I8) -> Spread:
    """Return the middle, the 95th of a hundred and the largest of the absolute differences; those that occur, none between two."""
    off = np.sort(np.abs(differences))
    median, late, worst = (int(off[max(0, math.ceil(part * len(off)) - 1)]) if len(off) else 0 for part in (0.5, 0.95, 1.0))
    return Spread(median_ns=median, percentile_95_ns=late, worst_ns=worst)


def _times(comparison: Comparison, spans: Spans, row: int, prefix: str = "") -> dict[str, Any]:
    first, second = int(spans.first[row]), int(spans.second[row])
    return {f"{prefix}first_ns": first, f"{prefix}second_ns": second, f"{prefix}difference_ns": comparison.sign * (second - first)}


def _reasons(comparison: Comparison, found: Reasons) -> records.Reasons:
    places = _places(comparison)
    by_place = [
        records.PlaceReason(
            kind=row.what.kind,
            routine=row.what.routine or None,
            region=row.what.region,
            source=row.what.source or None,
            **places[most.location],
            there_first_ns=most.first,
            there_second_ns=most.second,
            itself_ns=most.itself,
            **_parts(comparison, row),
        )
        for row, most in zip(found.places, found.mostly, strict=True)
    ]
    by_process = [records.ProcessReason(**places[row.what], **_parts(comparison, row)) for row in found.locations]
    by_step = [
        records.StepReason(region=row.what.region or None, step=row.what.step or None, **_parts(comparison, row)) for row in found.steps
    ]
    return records.Reasons(places=by_place, processes=by_process, steps=by_step)


def _parts(comparison: Comparison, row: Reason[Any]) -> dict[str, Any]:
    return {"first_ns": row.first, "second_ns": row.second, "difference_ns": comparison.sign * (row.second - row.first)}


def _places(comparison: Comparison) -> dict[int, dict[str, Any]]:
    """Return rank and thread by the number of a location for both runs; -1 is none."""
    out: dict[int, dict[str, Any]] = {-1: {"rank": None, "thread": None}}
    for side, numbers in zip(comparison.sides, comparison.alignment.places, strict=True):
        for row, number in enumerate(numbers.tolist()):
            out[number] = asdict(blocks.location(side.trace, row))
    return out


def _sums(comparison: Comparison, total: sums.Sums, row: int) -> dict[str, Any]:
    instances = {"first_instances": int(total.count.first[row]), "second_instances": int(total.count.second[row])}
    return _times(comparison, total.time, row) | instances


def _processes(comparison: Comparison) -> list[Process]:
    end, span = comparison.ends()
    return [
        Process(
            **asdict(blocks.location(comparison.first.trace, row)),
            **_times(comparison, end, k, "end_"),
            **_times(comparison, span, k, "span_"),
        )
        for k, row in enumerate(comparison.alignment.locations[0].tolist())
    ]


def _regions(comparison: Comparison) -> list[Region]:
    """Return, per region path, the time in it, all locations together and one by one."""
    total, many, names = sums.regions(comparison), sums.places(comparison), comparison.alignment.path_names
    places = _places(comparison)
    rows: dict[int, list[ProcessTime]] = {}
    for k, key in enumerate(total.key.tolist()):
        path, place = divmod(key, many)
        rows.setdefault(path, []).append(ProcessTime(**places[place], **_sums(comparison, total, k)))
    return [
        Region(region="/".join(names[path]), **{name: sum(getattr(part, name) for part in parts) for name in _SUMMED}, processes=parts)
        for path, parts in rows.items()
    ]


def _steps(comparison: Comparison) -> list[Step]:
    names, total = sums.steps(comparison)
    steps = []
    for k, key in enumerate(total.key.tolist()):
        times = _times(comparison, total.time, k)
        lacking = [run for run in ("first", "second") if not getattr(total.count, run)[k]]
        times |= {f"{name}_ns": None for name in (*lacking, *(["difference"] if lacking else []))}
        steps.append(Step(region=names[key >> 32], step=key & 0xFFFFFFFF, **times))
    return steps


def _routines(comparison: Comparison) -> list[Routine]:
    total = sums.routines(comparison)
    calls = zip(total.count.first.tolist(), total.count.second.tolist(), strict=True)
    return [
        Routine(routine=operations.OPS[op], first_calls=first, second_calls=second, **_times(comparison, total.time, k))
        for k, (op, (first, second)) in enumerate(zip(total.key.tolist(), calls, strict=True))
    ]


def furthest(comparison: Comparison, most: int) -> list[FurthestCall]:
    """Return the calls whose durations differ most, largest difference first, ties by call; those that do not differ left out."""
    enter, leave, duration = comparison.calls()
    pairs, later, calls = comparison.alignment, comparison.differences(leave), []
    for k in blocks.largest(np.abs(comparison.differences(duration)), most).tolist():
        pair = int(comparison.compared[k])
        calls.append(
            FurthestCall(
                **asdict(blocks.call(comparison.first.trace, int(pairs.first[pair]))),
                second_call=f"e{pairs.second[pair]}",
                moved=bool(pairs.moved[pair]),
                **_times(comparison, duration, k),
                **_times(comparison, enter, k, "enter_"),
                leave_difference_ns=int(later[k]),
            )
        )
    return calls
