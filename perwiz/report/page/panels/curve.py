"""The panel of network curves: the makespan over latency, bytes and overhead, and how much of each the run tolerates."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz import words
from perwiz.report import blocks
from perwiz.report.curve import document as report
from perwiz.report.curve.document import Segment
from perwiz.report.page.tables import PanelData, table
from perwiz.whatif.limits.curve import Curve, curve_of
from perwiz.whatif.run import Run

PARAMETERS = ("L", "G", "o")
POINTS = 400
"""Corners of the longest curve drawn."""
_BREAKS = 12
_SWEEPS = 24
"""Sweeps for each curve of a long run: what the corners left out would add is told."""


def document(run: Run) -> PanelData:
    """Return one curve for each parameter of the network."""
    whole = blocks.shares_of(run.trace, run.makespan)
    notes = ["dots: another path becomes critical", *(text for _, text in blocks.share_facts(whole, run.makespan, run.trace.part))]
    own = dataclasses.replace(run, weighted=dataclasses.replace(run.weighted))  # with it goes what curves are drawn from
    curves = [_curve(curve_of(own, letter, fewest=_SWEEPS)) for letter in PARAMETERS]
    return {"curves": curves, "recorded": run.makespan, "whole": whole, "note": "; ".join(notes)}


def _curve(curve: Curve) -> PanelData:
    """Return the corners of a curve, the values of the parameter that are marked, and what is said of it."""
    parameter = curve.of
    rows = np.unique(np.linspace(0, len(curve.x) - 1, POINTS).round().astype("i8"))
    marks = [(tolerance.slower, tolerance.at) for tolerance in report.tolerances(curve)]
    return {
        "name": report.named(parameter),
        "recorded": curve.recorded,
        "ns": parameter.endswith("_ns"),
        "x": curve.x[rows].tolist(),
        "y": curve.value[rows].tolist(),
        "marks": [[value, f"+{100 * slower:g} %"] for slower, value in marks if value is not None and value <= curve.x[-1]],
        "said": _said(curve, marks[0][1]),
        "tables": [
            table(["slower", "at"], [[f"+{100 * slower:g} %", _at(parameter, value)] for slower, value in marks], caption="tolerance"),
            _segments(curve, report.segments(curve)),
        ],
    }


def _at(parameter: str, value: float | None) -> str:
    return "never" if value is None else report.amount(parameter, value)


def _said(curve: Curve, first: float | None) -> str:
    grows = "however much it grows, the run is not 1 % slower"
    if first is not None:
        grows = f"it may grow to {report.amount(curve.of, first)} before the run is 1 % slower"
    slope = f"{report.counted(curve.of, curve.recorded_slope)} {report.heading(curve.of)}"
    kept = f" Here {report.KEPT}." if curve.turned() else ""
    return f"{report.named(curve.of)} is {report.amount(curve.of, curve.recorded)}; {grows}. Just above, the run grows by {slope}.{kept}"


def _segments(curve: Curve, segments: list[Segment]) -> PanelData:
    parameter = curve.of
    rows = [
        [report.amount(parameter, segment.begin), words.duration(round(segment.makespan_ns)), report.counted(parameter, segment.slope)]
        for segment in segments[:_BREAKS]
    ]
    count = words.several(len(curve.slope), "segment") + (f", the first {_BREAKS}" if len(curve.slope) > _BREAKS else "")
    gap = f"; the curve is at most {words.duration(max(1, round(curve.gap)))} above them" if curve.gap else ""
    return table(["from", "makespan", report.heading(parameter)], rows, caption=count + gap)
