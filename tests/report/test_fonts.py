"""Pictures for papers: a PDF has its fonts in it, as TrueType."""

from __future__ import annotations

import pathlib

import pytest

import build
from perwiz.report.balance import plot as balance_plot
from perwiz.report.picture import timeline
from perwiz.whatif.limits.balance import balance

pytestmark = pytest.mark.slow


def embedded(path):
    """Return whether the fonts of a PDF are TrueType, and are there."""
    text = pathlib.Path(path).read_bytes()
    return b"/FontFile2" in text and b"/Subtype /Type3" not in text


def test_timeline(tmp_path):
    trace = build.CATALOGUE["halo"]()
    timeline.plot(trace, [timeline.Row("recorded", trace.timeline)], str(tmp_path / "a.pdf"))
    assert embedded(tmp_path / "a.pdf")


def test_balance(tmp_path):
    balance_plot.plot(balance(build.CATALOGUE["nested_regions"](), ["main"]), str(tmp_path / "a.pdf"))
    assert embedded(tmp_path / "a.pdf")
