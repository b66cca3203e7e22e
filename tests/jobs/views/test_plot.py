"""Plots as SVG: lengths worked by hand, and nothing but text in them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from perwiz.jobs.views import plot as jobs_plot
from perwiz.jobs.views.plot import Bar


def svg(markup):
    """Return the picture as XML."""
    return ET.fromstring(markup[markup.index("<svg") :])


def rects(markup):
    return [{name: float(value) if name != "class" else value for name, value in one.attrib.items()} for one in svg(markup).iter("rect")]


def test_lying__lengths():
    """560 - 176 - 150 = 234 dots are the longest bar, 3 + 1 = 4; unused series have no place in the legend."""
    plot = jobs_plot.lying("plot", [Bar("a", [3, 0, 1], "4 s"), Bar("b", [1, 0, 0], "1 s")], ["x", "y", "z"], [0, 1, 2])
    assert [(one["class"], one["x"], one["width"]) for one in rects(plot)] == [("c0", 176, 175.5), ("c2", 351.5, 58.5), ("c0", 176, 58.5)]
    assert re.findall(r"<li>.*?</i>(.*?)</li>", plot) == ["x", "z"]
    assert svg(plot).attrib["viewBox"] == "0 0 560 42"


def test_lying__of_a_whole():
    plot = jobs_plot.lying("plot", [Bar("a", [1])], ["x"], [0], whole=2)
    assert [one["width"] for one in rects(plot)] == [117]


def test_lying__nothing():
    assert rects(jobs_plot.lying("plot", [], [], [])) == []
    assert rects(jobs_plot.lying("plot", [Bar("a", [0])], ["x"], [0])) == []


def test_standing__heights():
    """190 - 30 - 14 = 146 dots are 10, the scale of at most 8: the lines are 2 apart."""
    plot = jobs_plot.standing("plot", [Bar("a", [5, 3]), Bar("b", [0, 1], dot=5.0)], ["x", "y"], [0, 1], " %", "rings", mark=0)
    assert [(one["y"], one["height"]) for one in rects(plot)] == [(68.8, 91.25), (14.0, 54.75), (141.8, 18.25)]
    assert [one.text for one in svg(plot).iter("text")][:5] == ["0", "2", "4", "6", "8 %"]
    assert [float(one.attrib["cy"]) for one in svg(plot).iter("circle")] == [68.8]
    assert plot.count("<path") == 1


@pytest.mark.parametrize(
    ("most", "found"),
    [(0, (1, 1)), (1, (1, 0.2)), (8, (8, 2)), (10, (10, 2)), (11, (15, 5)), (99, (100, 20)), (0.03, (0.03, 0.01)), (float("nan"), (1, 1))],
)
def test_scale(most, found):
    assert jobs_plot._scale(most) == pytest.approx(found)


def test_scale__of_counts_has_whole_steps():
    assert jobs_plot._scale(1, 1) == (1, 1)
    assert jobs_plot._scale(3, 1) == (3, 1)
    plot = jobs_plot.standing("plot", [Bar("a", [1])], ["x"], [0])
    assert [one.text for one in svg(plot).iter("text")][:2] == ["0", "1"]


def test_scale__has_few_lines_and_room():
    for k in range(1, 3000):
        top, step = jobs_plot._scale(k * 1.7)
        assert top >= k * 1.7 * (1 - 1e-9)
        assert 1 < round(top / step) <= 6


def test_names__are_escaped():
    hostile = "<script>\"'&"
    for plot in (
        jobs_plot.lying(hostile, [Bar(hostile, [1], hostile)], [hostile], [0]),
        jobs_plot.standing(hostile, [Bar(hostile, [1], hostile)], [hostile], [0], dot=hostile),
    ):
        assert "<script" not in plot
        assert svg(plot).attrib["aria-label"] == hostile
        assert {one.text for one in svg(plot).iter("text")} & {hostile, f"{hostile[:25]}"}


def test_colours__every_series_differs():
    for colours in (jobs_plot._LIGHT, jobs_plot._DARK):
        assert len(set(colours)) == jobs_plot.COLOURS


def test_standing__small_numbers_of_a_scale_fit_its_margin():
    plot = jobs_plot.standing("plot", [Bar("a", [0.0009])], ["x"], [0], " h")
    assert [text for text in ("2e-4<", "8e-4<", ">0.001 h<") if text not in plot] == []
    assert "0.0002<" not in plot
