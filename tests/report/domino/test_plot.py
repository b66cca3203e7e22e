"""The picture of a domino path: what is framed, numbered and tied."""

from __future__ import annotations

import numpy as np
import pytest

from build import CATALOGUE, Builder, hand_model
from falling import falling
from perwiz.report.domino import plot as domino_plot
from perwiz.report.picture import timeline
from perwiz.whatif.ranking.change import Change
from perwiz.whatif.worth import worth
from perwiz.whatif.worth.domino import domino


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Return drawn(found): the figure that is written."""
    figures = []
    monkeypatch.setattr(timeline, "save", lambda draw, _: figures.append(draw()))

    def run(found, first=None):
        domino_plot.plot(found, str(tmp_path / "domino.png"), first=first)
        return figures.pop()

    return run


def texts(figure):
    return [text.get_text() for text in figure.texts]


def numbers(axes):
    return [text.get_text() for text in axes.texts if text.get_text().isdigit()]


def arrows(axes):
    return [
        (tuple(round(float(v), 9) for v in text.xyann), tuple(round(float(v), 9) for v in text.xy))
        for text in axes.texts
        if hasattr(text, "arrow_patch") and text.arrow_patch
    ]


@pytest.mark.slow
def test_by_hand(drawn):
    """e2 waits for e0, entered at 100, until 112; e5 for e3 (412) until 424. No waits: e2 returns at 50, e3 is at 350, e5 at 200.

    The run under the first change stands between: without the wait of e2 alone e3 is at 350, so e5 returns at 362.
    """
    figure = drawn(domino(falling(), hand_model()), Change("wait", "call", "zero-wait e2", "", 0))
    recorded, between, predicted = figure.axes[:3]
    assert between.texts[0].get_text() == "predicted under the first change: --zero-wait e2"
    assert arrows(between) == [((0.1, 0.0), (0.05, 1.0)), ((0.35, 1.0), (0.362, 2.0))]
    assert [numbers(axes) for axes in (recorded, predicted)] == [["1", "2"], ["1", "2"]]
    assert arrows(recorded) == [((0.1, 0.0), (0.112, 1.0)), ((0.412, 1.0), (0.424, 2.0))]
    assert arrows(predicted) == [((0.1, 0.0), (0.05, 1.0)), ((0.35, 1.0), (0.2, 2.0))]
    titles = [axes.texts[0].get_text() for axes in (recorded, predicted)]
    assert titles == ["recorded", "predicted under zero-wait of the 2 calls of the domino path"]
    assert "domino path: calls numbered in the order of time, arrows from the call that each waits for" in texts(figure)
    assert "domino path" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_advance__the_run_in_its_new_order(drawn):
    """The arrows still lead from partner to call, at the times that they have in the new order."""
    found = domino(CATALOGUE["master_worker"](), question="advance")
    figure = drawn(found)
    then = worth.after(found.run, "advance", found.path)
    order = then.weighted
    at = [order.call[found.run.waits.partner[call]] for call in found.path]
    tails = [(then.time[order.graph.entered[row]] / 1000, float(order.trace.calls.location[row])) for row in at]
    assert len(figure.axes) == 2
    assert [tail for tail, _ in arrows(figure.axes[1])] == [pytest.approx(tail) for tail in tails]


@pytest.mark.parametrize("name", ["empty", "one_process", "no_messages"])
def test_no_path__only_the_recorded_run(drawn, name):
    figure = drawn(domino(CATALOGUE[name]()))
    assert len(figure.axes) == 1
    assert not [text for text in texts(figure) if "domino" in text]


def exchanges(turns):
    """Return a run in which two ranks send to each other in turn, and each wait is on the one domino path."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    for turn in range(turns):
        sender = turn % 2
        b.compute(sender, 100)
        b.send(sender, 1 - sender)
        b.recv(1 - sender, sender)
    return b.trace()


@pytest.mark.slow
def test_long_path__numbers_do_not_cover_each_other(drawn):
    found = domino(exchanges(150), hand_model())
    assert len(found.path) > domino_plot.MOST
    figure = drawn(found)
    assert len(arrows(figure.axes[0])) == domino_plot.MOST
    assert f"; the first {domino_plot.MOST} of {len(found.path)} steps drawn" in " ".join(texts(figure))
    x, lane = (
        np.array(values)
        for values in zip(*(text.get_position() for text in figure.axes[0].texts if text.get_text().isdigit()), strict=True)
    )
    assert 0 < len(x) < domino_plot.MOST
    for row in set(lane.tolist()):
        assert np.diff(np.sort(x[lane == row])).min() > 0.01 * np.ptp(figure.axes[0].get_xlim())
