"""What the timeline shows: the recorded, the predicted and the re-measured run, and what is drawn over them."""

from __future__ import annotations

import numpy as np

from perwiz import words
from perwiz.report.compare.text import beginning
from perwiz.report.domino.first import first_bound, first_line
from perwiz.report.page.analyses import Other, Report
from perwiz.report.page.panels import timeline
from perwiz.report.page.panels.timeline import BUDGET, Moments, Overlays, Shown
from perwiz.report.page.tables import PanelData
from perwiz.trace.arrays import I8, Ints
from perwiz.whatif.compare.compare import Comparison
from perwiz.whatif.limits.critical import Critical
from perwiz.whatif.predict import Prediction
from perwiz.whatif.run import Run, replayed


def document(report: Report, budget: int = BUDGET) -> PanelData:
    """Return the data of the timeline panel."""
    return timeline.document(*shown(report), budget)


def shown(report: Report) -> tuple[list[Shown], Overlays]:
    """Return the runs with their timelines, and what is drawn over them."""
    run, prediction, clocks = report.run, report.prediction, report.run.clocks
    moments: list[Moments | Other] = [Moments(_recorded(run), run.trace.timeline, run.waits)]
    if clocks.correction:
        moments.append(Moments("recorded, its clocks as they were", clocks.correction.before))
    anew = prediction.written if prediction else None
    if prediction and anew is None:
        moments.append(Moments(_predicted(report, prediction), prediction.predicted, prediction.waits_after, _order(prediction)))
    last = len(moments) - 1
    moments += report.others
    runs = [Shown(run.trace, moments)]
    if prediction and anew:
        last = len(moments)
        of = Moments(_predicted(report, prediction), anew.trace.timeline, anew.waits(prediction.waits_after))
        runs.append(Shown(anew.trace, [of], (np.arange(len(anew.entry)), anew.entry)))
    measured = len(moments) + len(runs) - 1
    if report.comparison:
        again = report.comparison.second.trace
        waits = replayed(again, run.weighted.model, "none").waits
        named = f"re-measured: {again.path}{_later(report.comparison)}"
        runs.append(Shown(again, [Moments(named, again.timeline, waits)], _pairs(report.comparison, prediction)))
    panes = (last if report.comparison and report.asked else 0), measured if report.comparison else last or -1
    return runs, Overlays(report.domino.path, run.makespan - report.domino.value, _stretches(report.critical), panes)


def _later(comparison: Comparison) -> str:
    """Return from where on the runs are compared, and how much later that is in the second one: each is drawn from its first instant."""
    first, second = (side.start - int(side.timeline.locations.enter.min(initial=side.start)) for side in comparison.sides)
    if first == second:
        return ""
    later = f"{words.duration(abs(second - first))} {'later' if second > first else 'sooner'}"
    return f" (compared from {beginning(comparison.begin.word)}, here {later})"


def _recorded(run: Run) -> str:
    """Return what the recorded run is called: as in pictures, or what was done to times that were not measured."""
    origin = run.trace.timeline.origin
    if run.clocks.correction:
        return "recorded, its clocks corrected"
    return "recorded" if origin.measured else str(origin)


def _predicted(report: Report, prediction: Prediction) -> str:
    """Return what the predicted run is called."""
    made_by = str(prediction.predicted.origin) if report.asked else _first(report)
    anew = prediction.rematched
    unwritten = anew is not None and not anew.reason and anew.written is None
    return f"{made_by}, calls of tasks where they were recorded" if unwritten else made_by


def _first(report: Report) -> str:
    """Return what the run under the first change, or else under what there is to gain at best, is called."""
    line = first_line(report.ranked) if report.pays else first_bound(report.ranked)
    named = f"{'under the first change' if report.pays else 'at best'}: {line.head.change}" if line else "unchanged"
    return f"predicted {words.shown(named, 300)}"


def _order(prediction: Prediction) -> I8 | None:
    """Return the rows of calls by location and predicted time; None if that is their order."""
    return None if prediction.order is None else np.argsort(prediction.order.call)


def _pairs(comparison: Comparison, prediction: Prediction | None) -> tuple[Ints, Ints]:
    """Return the calls that both traces have, as rows of the recorded and the measured one."""
    first: Ints = comparison.alignment.first
    if prediction is not None and comparison.hypotheses:
        new = prediction.written.entry if prediction.written else prediction.order.call if prediction.order else None
        first = first if new is None else np.argsort(new)[first]
    order = np.argsort(first, kind="stable")
    return first[order], comparison.alignment.second[order]


def _stretches(critical: Critical) -> tuple[I8, I8, I8]:
    """Return location, begin and length of the stretches of the critical path on one process, times since the first instant."""
    location, begin, length = critical.pieces.location, critical.pieces.begin, critical.pieces.length
    new = np.flatnonzero(np.diff(location, prepend=-1))
    start = int(critical.run.trace.timeline.locations.enter.min(initial=0))
    total = np.add.reduceat(length, new) if len(new) else length
    return location[new].astype("i8"), begin[new] - start, total
