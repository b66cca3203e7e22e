"""Pictures of a width that is asked for: what is written stays inside, and readable."""

from __future__ import annotations

import argparse
import dataclasses
import pathlib

import numpy as np
import pytest

import perwiz
from build import Builder, hand_model
from perwiz.commands import options
from perwiz.loggps.fit.fit import fit
from perwiz.patterns.analysis.series import measured, series
from perwiz.patterns.analysis.worth import worth
from perwiz.patterns.search import search
from perwiz.report.balance import plot as balance_plot
from perwiz.report.calibrate import plot as calibrate_plot
from perwiz.report.compare import plot as compare_plot
from perwiz.report.correct import plot as correct_plot
from perwiz.report.critical import plot as critical_plot
from perwiz.report.curve import plot as curve_plot
from perwiz.report.domino import plot as domino_plot
from perwiz.report.patterns import plot as patterns_plot
from perwiz.report.picture import timeline
from perwiz.report.picture.figure import Line, sheet
from perwiz.report.series import plot as series_plot
from perwiz.report.series.document import Asked
from perwiz.report.series.document import document as series_document
from perwiz.whatif.compare.compare import compare
from perwiz.whatif.compare.reasons import reasons
from perwiz.whatif.limits.balance import balance
from perwiz.whatif.limits.critical import critical
from perwiz.whatif.limits.curve import curve
from perwiz.whatif.run import replayed
from perwiz.whatif.worth.domino import domino

TRACES = pathlib.Path(__file__).parents[3] / "traces"
READABLE = 6.5
"""Points of the smallest text."""


def test_line__is_wrapped():
    """A letter of 10 points is 5.5 wide, a bold one 6.5: of 72 points 13 fit, or 11."""
    assert Line("what messages take", 10).wrapped(1) == ["what messages", "take"]
    assert Line("what messages take", 10, weight="bold").wrapped(1) == ["what", "messages", "take"]
    assert Line("", 10).wrapped(1) == [""]


def test_sheet__holds_its_texts():
    """A title of two lines of 0.2 inches and margins of 0.12 above; a line below; 2 inches between them."""
    drawn = sheet(2.24, 2, [Line("word " * 6, 10)], [Line("note", 10)], left=0.12)
    assert drawn.figure.get_size_inches().tolist() == pytest.approx([2.24, 2 + 3 * 14.5 / 72 + 4 * 0.12])
    left, low, width, height = drawn.box(0.12, 0.5, 1, 1)
    assert (left * 2.24, width * 2.24) == pytest.approx((0.12, 1))
    assert low * drawn.figure.get_figheight() == pytest.approx(14.5 / 72 + 2 * 0.12 + 0.5)
    assert height * drawn.figure.get_figheight() == pytest.approx(1)


@pytest.mark.parametrize(("text", "inches"), [("3.5in", 3.5), ("12 in", 12), ("8.89cm", 3.5), ("88.9mm", 3.5)])
def test_size(text, inches):
    parser = argparse.ArgumentParser()
    options.plot(parser, "draw")
    assert parser.parse_args(["--size", text]).size == pytest.approx(inches)
    assert parser.parse_args([]).size is None


@pytest.mark.parametrize("text", ["3.5", "in", "2in", "41in", "-4in", "1e1in", "3.5inch", "9pt"])
def test_size__that_is_none(text, capsys):
    parser = argparse.ArgumentParser(prog="perwiz")
    options.plot(parser, "draw")
    with pytest.raises(SystemExit):
        parser.parse_args([f"--size={text}"])
    assert f"argument --size: '{text}', must be a width from 3in to 40in, such as 3.5in, 9cm or 90mm" in capsys.readouterr().err


def stages():
    """Return a run of two parallel steps of three processes."""
    b = Builder(3)
    for works in ((3000, 1000, 2000), (1000, 2000, 5000)):
        for rank, work in enumerate(works):
            with b.region(rank, "stage of the computation"):
                b.compute(rank, work)
                b.send(rank, (rank + 1) % 3)
                b.recv(rank, (rank - 1) % 3)
    trace = b.trace()
    return dataclasses.replace(trace, parallel=np.ones(len(trace.names), bool))


@pytest.fixture(scope="module")
def plots():
    """Return plot(path, width=inches) of each command, over a real trace."""
    trace, is_ = perwiz.read(str(TRACES / "srtest.alog")), perwiz.read(str(TRACES / "npb-is.S-4"))
    run = replayed(is_, hand_model())
    found, monte = search(run.trace), perwiz.read(str(TRACES / "monte.log"))
    answer, compared = perwiz.predict(is_, "zero-wait all", hand_model()), compare(trace, trace, None, "zero-wait e25")
    correction, still = perwiz.correct(monte), (np.zeros(len(monte.calls), "i8"),) * 2
    rows = [timeline.Row("recorded", answer.recorded), timeline.Row(str(answer.predicted.origin), answer.predicted)]
    sizes = [measured(replayed(perwiz.read(str(TRACES / "scaling" / f"{size}.alog.gz")))) for size in (1, 4)]
    return {
        "predict": lambda path, width: timeline.plot(answer.trace, rows, path, width=width),
        "compare": lambda path, width: compare_plot.plot(compared, reasons(compared), path, width=width),
        "correct": lambda path, width: correct_plot.plot(monte, correction.before, correction.timeline, still, path, width),
        "critical": lambda path, width: critical_plot.plot(critical(trace, hand_model()), path, width),
        "domino": lambda path, width: domino_plot.plot(domino(trace, hand_model()), path, width),
        "curve": lambda path, width: curve_plot.plot(curve(is_, "L", model=hand_model()), path, width),
        "calibrate": lambda path, width: calibrate_plot.plot(fit(is_), path, width),
        "patterns": lambda path, width: patterns_plot.plot(run, found, worth(run, found), None, path, width),
        "balance": lambda path, width: balance_plot.plot(balance(stages(), [], hand_model()), path, width),
        "series": lambda path, width: series_plot.plot(series_document(series(sizes, ["", ""]), 8, Asked()), path, width),
        "balance, many steps": lambda path, width: balance_plot.plot(balance(is_, [], hand_model()), path, width),
    }


def every_tick(figure, inside):
    """Return the labels of ticks that are drawn, or of those that are not, for they lie beyond the end of their axis."""
    out = []
    for axes in figure.axes:
        for axis, (least, most) in ((axes.xaxis, sorted(axes.get_xlim())), (axes.yaxis, sorted(axes.get_ylim()))):
            for tick in axis.get_major_ticks():
                for label in (tick.label1, tick.label2):
                    drawn = label.get_visible() and label.get_text() and least <= tick.get_loc() <= most
                    out += [label] if bool(drawn) == inside else []
    return out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "width"),
    [
        *((name, 3.5) for name in ("predict", "compare", "correct", "critical", "domino", "curve", "calibrate", "patterns", "series")),
        *((name, 3.5) for name in ("balance", "balance, many steps")),
        *((name, 12.0) for name in ("predict", "curve", "patterns", "balance")),
    ],
)
def test_law__texts_are_inside_and_readable(plots, monkeypatch, tmp_path, name, width):
    figures = []
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda figure, *_, **__: figures.append(figure) or figure.canvas.draw())
    plots[name](str(tmp_path / "picture.png"), width)
    (figure,) = figures
    assert figure.get_figwidth() == width
    legends = [*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))]
    texts = [*figure.texts, *(text for legend in legends for text in legend.get_texts())]
    texts += [text for axes in figure.axes for text in (*axes.texts, axes.xaxis.label, axes.yaxis.label, *axes.get_yticklabels())]
    for text in texts:
        extent = text.get_window_extent()
        if text.get_text() and extent.y0 < figure.bbox.y1:
            assert text.get_fontsize() >= READABLE, text
            assert extent.x0 >= -2, text
            assert extent.x1 <= figure.bbox.x1 + 2, text
    apart = [text for text in texts if text.get_text() and text not in every_tick(figure, inside=False)]
    apart += [text for text in every_tick(figure, inside=True) if text not in apart]
    boxes = [(text, text.get_window_extent()) for text in apart]
    for k, (text, box) in enumerate(boxes):
        assert [other for other, its in boxes[:k] if box.overlaps(its) and box.padded(-2).overlaps(its.padded(-2))] == [], text
