"""The report of a curve: one worked by hand, every awkward trace against the schema, and the picture."""

from __future__ import annotations

import pathlib
import re

import pytest

import perwiz
from build import CATALOGUE, Builder, hand_model, one_of
from documents import valid
from perwiz.errors import UsageError
from perwiz.report.curve import document as report
from perwiz.report.curve import plot as curve_plot
from perwiz.report.page.panels import curve as panel
from perwiz.whatif.limits.curve import curve
from perwiz.whatif.run import replayed

FARM = str(pathlib.Path(__file__).parents[3] / "traces" / "farm.alog.gz")


def late_sender():
    """Rank 1 waits for rank 0: 1100 = 1000 + o + L + 30 + 58, beside 1095 on rank 0. Equal at L = 5; o + L is 2 + 10."""
    b = Builder(2)
    b.compute(0, 1000)
    b.send(0, 1, 1, at=(1000, 1010))
    b.compute(0, 85)
    b.recv(1, 0, at=(0, 1042))
    b.compute(1, 58)
    return b.trace("late.alog")


def document(trace, *asked, points=0, **settings):
    block = report.document(curve(trace, *asked, model=settings.pop("model", hand_model()), clock="none", **settings), points)
    valid(block, "curve")
    return block


def known(makespan):
    """Return the span of what nothing in the trace leaves open."""
    return {
        "least_ns": makespan,
        "most_ns": makespan,
        "sooner_ns": 0,
        "later_ns": 0,
        "varies": None,
        "others": [],
        "stops": [],
        "gain": None,
        "costs_ns": 0,
        "drawn": True,
        "alone_ns": None,
        "runs_ns": 0,
    }


def test_document__by_hand():
    block = valid(document(late_sender(), points=3), "curve")
    for part in ("health", "model", "misfit"):
        block.pop(part)
    assert [row["slower"] for row in block.pop("tolerances")] == [0.01, 0.02, 0.05, 0.1]
    assert block.pop("sweeps") > 4
    assert block == {
        "version": 1,
        "command": "curve",
        "trace": "late.alog",
        "format": "built",
        "made_by": "measured",
        "machine": {"given": True, "estimates": [], "unknown": []},
        "of": "L_ns",
        "recorded": 10,
        "recorded_ns": 1100,
        "recorded_slope": 1,
        "interval": [0, 100],
        "ends": [{"at": at, "makespan_ns": makespan, "span": known(makespan)} for at, makespan in ((0, 1095), (100, 1190))],
        "gap_ns": 0,
        "multiples": [
            {"factor": factor, "at": 10 * factor, "makespan_ns": makespan}
            for factor, makespan in ((0, 1095), (1, 1100), (2, 1110), (10, 1190))
        ],
        "segments": [{"from": 0, "to": 5, "slope": 0, "makespan_ns": 1095}, {"from": 5, "to": 100, "slope": 1, "makespan_ns": 1095}],
        "points": [{"at": 0, "makespan_ns": 1095}, {"at": 50, "makespan_ns": 1140}, {"at": 100, "makespan_ns": 1190}],
        "turned": False,
        "shares_of_ns": 1100,
        "replay_error_ns": 0,
    }


def test_text__by_hand():
    lines = report.text(document(late_sender(), points=2)).splitlines()
    assert lines[:30] == [
        "late.alog: makespan as a function of L_ns",
        "",
        "doubtful      1 of 1 messages took more than twice as long as the model says (2.5 % of the recorded run): see how sure",
        "recorded      1.100 us; L_ns is 10 ns",
        "tolerance     L_ns may grow by 11 ns before the run is 1 % slower",
        "grows by      1 ns per ns of L, just above the recorded value",
        "found         2 segments from 0 ns to 100 ns, all there are",
        "at 0 ns       1.095 us",
        "at 100 ns     1.190 us",
        "",
        "slower by   change  L_ns at  times",
        "1 %         +11 ns    21 ns    2.1",
        "2 %         +22 ns    32 ns    3.2",
        "5 %         +55 ns    65 ns    6.5",
        "10 %       +110 ns   120 ns     12",
        "",
        "times    L_ns  makespan   change",
        "0        0 ns  1.095 us  -0.45 %",
        "1       10 ns  1.100 us  +0.00 %",
        "2       20 ns  1.110 us  +0.91 %",
        "10     100 ns  1.190 us  +8.18 %",
        "",
        "from      to  ns per ns of L  makespan   change",
        "0 ns    5 ns               0  1.095 us  -0.45 %",
        "5 ns  100 ns               1  1.095 us  -0.45 %",
        "",
        "  L_ns  makespan   change",
        "  0 ns  1.095 us  -0.45 %",
        "100 ns  1.190 us  +8.18 %",
        "",
    ]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("rank:0",), "tolerance     rank:0 may compute 1.011 times as long before the run is 1 % slower"),
        (("rank:0",), "on the path   1.000 us of its computation, just above the recorded value"),
        (("O", 0, 9), "recorded      1.100 us; O_ns_per_byte is 0 ns/B"),
        (("rank:0",), "recorded      1.100 us; the factor of rank:0 is 1"),
        (("O", 0, 9), "grows by      2 ns per ns/B of O, just above the recorded value"),
        (("g", 0, 9), "tolerance     g_ns may grow without end, the run is never 1 % slower"),
    ],
)
def test_text__other_parameters(asked, said):
    assert said in report.text(document(late_sender(), *asked)).splitlines()


def ring():
    """Three ranks whose computation differs from step to step: a curve of many segments."""
    b = Builder(3)
    for step in range(40):
        for rank in range(3):
            b.compute(rank, 1000 + 7919 * (step + 1) * (3 * rank + step) % 9000)
            b.sendrecv(rank, (rank + 1) % 3, (rank - 1) % 3)
    return b.trace()


def test_text__many_segments(monkeypatch):
    whole = report.text(document(ring(), "rank:0"))
    assert re.search(r"^and [0-9]+ more, along which it grows less \(--json lists all\)$", whole, re.MULTILINE)
    monkeypatch.setattr("perwiz.whatif.limits.curve._SWEEPS", 3)
    monkeypatch.setattr("perwiz.whatif.limits.curve._EDGES", 1)
    short = report.text(document(ring(), "rank:0"))
    assert re.search(r"^found .*; the curve lies at most [0-9.]+ [num]?s above them \(--exact finds all\)$", short, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("name", one_of(3, 0))
def test_document__catalogue(name):
    trace = CATALOGUE[name]()
    for of in ("L", "o", *(f"region:{region}" for region in trace.names)):
        block = document(trace, of, points=2)
        text = report.text(block)
        assert max(map(len, text.splitlines())) <= 140
        assert ("INCOMPLETE" in text) == block.health.incomplete


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of", "axis"), [("L", "latency L [ns]"), ("rank:0", "rank:0 [times its computation]"), ("O", "overhead per byte O [ns/B]")]
)
def test_plot(of, axis, tmp_path):
    """The title says what of, the axis below in what, and the upper one where it begins."""
    found = curve(ring(), of, most=4, model=hand_model(), clock="none")
    curve_plot.plot(found, str(tmp_path / "curve.svg"))
    drawn = (tmp_path / "curve.svg").read_text(encoding="utf-8")
    assert "makespan [" in drawn
    texts = [*re.findall("<!-- (.*) -->", drawn)]
    assert curve_plot.heading(found.of) in drawn
    assert axis in texts
    assert f"makespan as a function of {axis.partition(' [')[0]}" in texts
    assert any(text.startswith("the axis begins at ") for text in texts)


def test_plot__another_suffix(tmp_path):
    with pytest.raises(UsageError, match=r"curve\.gif: a picture of type '\.gif', must be one of \.png \.svg \.pdf$"):
        curve_plot.plot(curve(late_sender(), model=hand_model()), str(tmp_path / "curve.gif"))


@pytest.mark.slow
def test_text__says_that_matches_are_kept(tmp_path):
    """Workers of a farm ask for tasks in another order if one computes twice as long; where nobody chooses nothing is said."""
    drawn = curve(perwiz.read(FARM), "rank:1", 0, 2)
    turned = report.document(drawn)
    assert valid(turned, "curve")["turned"]
    said = "matching      receives of any source and tasks keep what they took; perwiz predict lets them take what then comes first\n"
    assert said in report.text(turned)
    assert "matching" not in report.text(document(late_sender()))
    curve_plot.plot(drawn, str(tmp_path / "farm.svg"))
    assert report.KEPT in (tmp_path / "farm.svg").read_text(encoding="utf-8")
    curve_plot.plot(curve(late_sender(), model=hand_model()), str(tmp_path / "none.svg"))
    assert report.KEPT not in (tmp_path / "none.svg").read_text(encoding="utf-8")


@pytest.mark.slow
def test_panel__says_that_matches_are_kept():
    """With ten times the latency the master of pmandel hears others first."""
    run = replayed(perwiz.read(str(pathlib.Path(FARM).with_name("pmandel.alog.gz"))))
    kept = [[report.KEPT in one["said"] for one in panel.document(each)["curves"]] for each in (run, replayed(late_sender(), hand_model()))]
    assert kept[0][0]
    assert not any(kept[1])


def test_document__multiples_in_the_interval():
    """The recorded value, 10, is told wherever the interval lies."""
    factors = [[row.factor for row in document(late_sender(), "L", *ends).multiples] for ends in ((0, 20), (5, 100), (0, 9))]
    assert factors == [[0, 1, 2], [1, 2, 10], [0, 1]]
