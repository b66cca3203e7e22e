"""A prediction drawn: the recorded run and the predicted one, as a picture and for Perfetto."""

from __future__ import annotations

from perwiz.report.perfetto.write import View, write
from perwiz.report.picture import timeline
from perwiz.report.picture.timeline import Row
from perwiz.whatif.predict import Prediction, predicted_trace


def _recorded(prediction: Prediction) -> str:
    """Return what the recorded run is called."""
    return "recorded, its clocks corrected" if prediction.health.correction else "recorded"


def plot(prediction: Prediction, path: str, width: float | None = None) -> None:
    """Write the recorded run above the predicted one, so many inches wide, into a file (.png, .svg, .pdf).

    Calls whose wait is zeroed are marked. Raises UsageError as `timeline.plot` does.
    """
    title, wait = str(prediction.predicted.origin), prediction.waits_after
    after = Row(title, prediction.predicted, wait=wait.time)
    anew = prediction.written
    if anew:
        after = Row(title, anew.trace.timeline, trace=anew.trace, wait=anew.waits(wait).time)
    rows = [Row(_recorded(prediction), prediction.recorded, wait=prediction.waits_before.time), after]
    waited = prediction.zeroed[prediction.waits_before.time[prediction.zeroed] > 0]
    timeline.plot(prediction.trace, rows, path, waited, width=width)


def view(prediction: Prediction, path: str) -> None:
    """Write the recorded run and the predicted one beside it as Trace Event JSON. Raises UsageError if that cannot be written."""
    before = View(_recorded(prediction), prediction.recorded, prediction.waits_before)
    title = str(prediction.predicted.origin) if prediction.hypotheses else "replayed unchanged"
    if anew := prediction.written:
        trace = predicted_trace(prediction)
        after = View(title, trace.timeline, anew.waits(prediction.waits_after), trace=trace)
    else:
        after = View(title, prediction.predicted, prediction.waits_after, prediction.size)
    write(prediction.trace, [before, after], path)
