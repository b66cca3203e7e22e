"""Results in a notebook: what `perwiz.shown.Shown` shows, the answer of the command of that name as text, and its picture."""

from __future__ import annotations

import html as markup
import shlex
from collections.abc import Callable
from typing import Any

from perwiz import words
from perwiz.clock.figures import figures
from perwiz.clock.logical import Correction
from perwiz.errors import UsageError
from perwiz.report.balance import document as balance_report
from perwiz.report.bound import document as bound_report
from perwiz.report.compare import document as compare_report
from perwiz.report.compare.text import text as compare_text
from perwiz.report.correct import document as correct_report
from perwiz.report.correct.text import text as correct_text
from perwiz.report.critical import document as critical_report
from perwiz.report.critical.text import text as critical_text
from perwiz.report.curve import document as curve_report
from perwiz.report.domino import document as domino_report
from perwiz.report.domino.first import pays
from perwiz.report.domino.records import DominoDocument
from perwiz.report.domino.text import text as domino_text
from perwiz.report.predict import document as predict_report
from perwiz.report.predict.text import text as predict_text
from perwiz.whatif.compare.compare import Comparison
from perwiz.whatif.compare.reasons import reasons
from perwiz.whatif.limits.balance import Balance
from perwiz.whatif.limits.bound import Bounds
from perwiz.whatif.limits.critical import Critical
from perwiz.whatif.limits.curve import Curve
from perwiz.whatif.predict import Prediction
from perwiz.whatif.ranking import WORDS
from perwiz.whatif.ranking.change import Change
from perwiz.whatif.ranking.ranking import rank
from perwiz.whatif.worth.domino import Domino

ROWS, LISTED = 5, 10
"""Waits, pieces, calls or steps listed, and changes of the ranked list, as by the commands where nothing is said."""


def _compared(comparison: Comparison) -> str:
    return compare_text(compare_report.document(comparison, reasons(comparison), ROWS))


def _ranked(domino: Domino) -> tuple[DominoDocument, Change | None]:
    """Return the report with the list over every kind of change, which is made now: seconds for a large trace; its first, if it pays."""
    predict, ranking = shlex.join(["perwiz", "predict", domino.run.trace.path]), rank(domino.run, WORDS, None)
    document = domino_report.document(domino, ranking, LISTED, predict=predict)
    return document, domino_report.ordered(ranking, document).lines[0].change if pays(document) else None


def _corrected(correction: Correction) -> str:
    trace = correction.trace
    return correct_text(
        correct_report.document(trace, correction, figures(correction), "clc", correct_report.examined(trace, correction)[1])
    )


_TOLD: dict[type, Callable[[Any], str]] = {
    Prediction: lambda one: predict_text(predict_report.document(one, ROWS)),
    Comparison: _compared,
    Domino: lambda one: domino_text(_ranked(one)[0]),
    Correction: _corrected,
    Critical: lambda one: critical_text(critical_report.document(one, ROWS)),
    Curve: lambda one: curve_report.text(curve_report.document(one)),
    Bounds: lambda one: bound_report.text(bound_report.document(one)),
    Balance: lambda one: balance_report.text(balance_report.document(one, ROWS)),
}


def html(result: Any) -> str:
    """Return the report of a result as HTML: text of a fixed width, names from files escaped."""
    with words.fitted(words.WIDTH):
        return f"<pre>{markup.escape(words.folded(_TOLD[type(result)](result)))}</pre>"


def plot(result: Any, path: str, width: float | None) -> None:
    """Write the picture of a result into a file (.png, .svg, .pdf), so many inches wide. Raises UsageError if none is drawn of its kind."""
    from perwiz.report.balance.plot import plot as balance
    from perwiz.report.compare.plot import plot as compare
    from perwiz.report.correct.plot import plot_corrected as correct
    from perwiz.report.critical.plot import plot as critical
    from perwiz.report.curve.plot import plot as curve
    from perwiz.report.domino.plot import plot as domino
    from perwiz.report.predict.plot import plot as predict

    match result:
        case Prediction():
            predict(result, path, width)
        case Comparison():
            compare(result, reasons(result), path, width=width)
        case Domino():
            domino(result, path, width, _ranked(result)[1])
        case Correction():
            correct(correct_report.examined(result.trace, result)[0], result, path, width)
        case Critical():
            critical(result, path, width)
        case Curve():
            curve(result, path, width)
        case Balance():
            balance(result, path, width)
        case _:
            kinds = "a prediction, a comparison, a domino path, a correction, a critical path, a curve or a balance"
            raise UsageError(f"{type(result).__name__}: no picture is drawn of it, must be {kinds}")
