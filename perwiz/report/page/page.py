"""What `perwiz report` puts together: every analysis of one trace, and the panels of its page."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from perwiz import words
from perwiz.loggps.model import Model
from perwiz.report.blocks import Document
from perwiz.report.page import html
from perwiz.report.page.columns import size
from perwiz.report.page.html import Panel
from perwiz.report.page.panels import curve, efficiency, fixes, messages
from perwiz.report.page.panels import health as html_health
from perwiz.report.page.panels import states as html_states
from perwiz.report.page.panels import timeline as html_timeline
from perwiz.report.page.panels import waits as html_waits
from perwiz.report.page.panels.timeline import Moments, Overlays, Shown
from perwiz.trace.arrays import Ints
from perwiz.trace.trace import Trace
from perwiz.whatif.compare.compare import Comparison, compare
from perwiz.whatif.health import Health
from perwiz.whatif.hypotheses.base import ZeroWait
from perwiz.whatif.limits.critical import Critical, critical_of
from perwiz.whatif.predict import Prediction, predict
from perwiz.whatif.run import Asked, Run, listed, loaded, replayed
from perwiz.whatif.worth.domino import Domino, domino_of

Tell = Callable[[int, int], object]
"""Is told how many of how many steps are done."""


def _silent(done: int, of: int) -> None:
    """Tell nobody."""


@dataclasses.dataclass(frozen=True, eq=False)
class Report:
    """All that the page tells of a trace."""

    run: Run
    domino: Domino
    critical: Critical
    prediction: Prediction | None
    """Under the hypotheses asked for, or without any under that of the best single call; None if no call gains."""
    asked: bool
    """Whether there were hypotheses."""
    comparison: Comparison | None
    """With a measured run, if one was given."""
    command: str

    @property
    def incomplete(self) -> bool:
        """Whether a trace has holes."""
        return any(health.incomplete for health in self.healths)

    @property
    def healths(self) -> list[Health]:
        """The health of each trace."""
        return [self.run.health(), *([self.comparison.measured.health] if self.comparison else [])]


def gathered(
    trace: Trace,
    hypotheses: Asked = (),
    model: Model | str | None = None,
    clock: str = "clc",
    against: Trace | None = None,
    command: str = "",
    tell: Tell = _silent,
) -> Report:
    """Return every analysis of a trace that the page shows; arguments as in `perwiz.predict`, `against` a run to compare with.

    `tell` is told how many of how many steps are done.
    """
    asked, machine = listed(hypotheses), loaded(model, trace)
    tell(0, 4)
    run = replayed(trace, machine, clock)
    tell(1, 4)
    found = domino_of(run)
    question = asked or ([ZeroWait(f"e{found.paths.trigger}")] if found.path else [])
    tell(2, 4)
    prediction = predict(trace, question, machine, clock=clock) if question else None
    tell(3, 4)
    comparison = compare(trace, against, None, asked, machine, clock) if against else None
    return Report(run, found, critical_of(run), prediction, bool(asked), comparison, command)


def page(report: Report, tell: Tell = _silent) -> str:
    """Return the page of a report; `tell` is told how many of how many panels are done."""
    return html.page(f"perwiz: {words.shown(report.run.trace.path)}", head(report), panels(report, tell))


def panels(report: Report, tell: Tell = _silent) -> list[Panel]:
    """Return the panels of the page, the timeline first, which is no tab but always there; `tell` as in `page`."""
    states = html_states.found(report.run)
    made: list[tuple[str, str, Callable[[], Any]]] = [
        ("fixes", "Fixes", lambda: fixes.document(report)),
        ("states", "Wait states", lambda: html_states.document(states)),
        ("waits", "Waits", lambda: html_waits.document(report.run)),
        ("messages", "Messages", lambda: messages.document(report.run)),
        ("efficiency", "Efficiency", lambda: efficiency.document(states, report.critical)),
        ("curve", "Network", lambda: curve.document(report.run)),
        ("health", "Health", lambda: html_health.document(report)),
    ]
    tabs = []
    for number, (name, title, make) in enumerate(made):
        tell(number, len(made) + 1)
        tabs.append(Panel(name, title, make()))
    room = html_timeline.BUDGET - sum(size(tab.data) for tab in tabs)
    return [Panel("timeline", "Timeline", timeline(report, room)), *tabs]


def head(report: Report) -> Document:
    """Return the top of the page: the answer first."""
    trace, prediction = report.run.trace, report.prediction
    return {
        "trace": words.shown(trace.path, 300),
        "processes": len(np.unique(trace.locations.process)),
        "calls": len(trace.calls),
        "messages": len(trace.messages),
        "asked": [words.shown(str(one), 300) for one in prediction.hypotheses] if prediction else [],
        "best": not report.asked,
        "recorded": report.run.trace.timeline.makespan,
        "predicted": prediction.predicted.makespan if prediction else None,
        "range": list(prediction.range) if prediction and prediction.range else None,
        "waiting": int(report.run.waits.time.sum()),
        "replay_error": report.run.replay_error,
        "comparison": _comparison(report.comparison),
        "incomplete": report.incomplete,
        "holes": [f"{words.shown(name)}: {number}" for health in report.healths for name, number in health.holes.items()],
    }


def _comparison(found: Comparison | None) -> Document | None:
    if found is None:
        return None
    return {
        "whole": found.measured.timeline.makespan,
        "measured": found.measured.makespan,
        "error": found.error,
        "from": found.start,
        "trace": words.shown(found.measured.trace.path, 300),
    }


def timeline(report: Report, budget: int = html_timeline.BUDGET) -> Document:
    """Return the data of the timeline."""
    run, prediction, clocks = report.run, report.prediction, report.run.clocks
    moments = [Moments("corrected" if clocks.correction else _measured(run.trace), run.trace.timeline, run.waits)]
    if clocks.correction:
        moments.append(Moments("measured, clocks as recorded", clocks.correction.before))
    if prediction:
        made_by = prediction.predicted.made_by + ("" if report.asked else " (best single call)")
        moments.append(Moments(made_by, prediction.predicted, prediction.waits_after, _order(prediction)))
    runs, pairs = [Shown(run.trace, moments)], None
    if report.comparison:
        measured = report.comparison.measured.trace
        waits = replayed(measured, run.weighted.model, "none").waits
        runs.append(Shown(measured, [Moments(f"re-measured: {measured.path}", measured.timeline, waits)]))
        pairs = _pairs(report.comparison, prediction)
    last = sum(len(shown.moments) for shown in runs) - 1
    panes = (last - 1 if report.comparison and report.asked else 0), last or -1
    overlays = Overlays(report.domino.path, run.makespan - report.domino.value, _stretches(report.critical), pairs, panes)
    return html_timeline.document(runs, overlays, budget)


def _measured(trace: Trace) -> str:
    return "measured" if trace.timeline.made_by == "measured" else trace.timeline.made_by


def _order(prediction: Prediction) -> Ints | None:
    """Return the rows of calls by location and predicted time; None if that is their order."""
    return None if prediction.order is None else np.argsort(prediction.order.call)


def _pairs(found: Comparison, prediction: Prediction | None) -> tuple[Ints, Ints]:
    """Return the calls that both traces have, as rows of the recorded and the measured one."""
    first = found.alignment.first
    if prediction is not None and prediction.order is not None and found.hypotheses:
        first = np.argsort(prediction.order.call)[first]
    order = np.argsort(first, kind="stable")
    return first[order], found.alignment.second[order]


def _stretches(found: Critical) -> tuple[Ints, Ints, Ints]:
    """Return location, begin and length of the stretches of the critical path on one process, times since the first instant."""
    pieces: Sequence[Ints] = found.pieces.location, found.pieces.begin, found.pieces.length
    location, begin, length = pieces
    new = np.flatnonzero(np.diff(location, prepend=-1))
    start = int(found.run.trace.timeline.locations.enter.min(initial=0))
    total = np.add.reduceat(length, new) if len(new) else length
    return location[new].astype("i8"), begin[new] - start, total


def line(report: Report, path: str, length: int) -> str:
    """Return one line that says what was written, the answer first."""
    prediction, now = report.prediction, report.run.makespan
    asked = "; ".join(words.shown(str(one)) for one in prediction.hypotheses) if prediction else ""
    then = f", {words.duration(prediction.predicted.makespan)} under {asked}" if prediction else ", no single call gains"
    mark = " (INCOMPLETE trace)" if report.incomplete else ""
    return f"{words.shown(path)}: {words.duration(now)}{then}; {words.size(length)}{mark}"
