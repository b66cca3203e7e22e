"""The picture of a comparison: what it draws, as numbers, and the file."""

from __future__ import annotations

import numpy as np
import pytest

from build import Builder
from perwiz.report.compare import plot as compare_plot
from perwiz.report.picture import lanes
from perwiz.report.picture.timeline import Row, plot
from perwiz.whatif.compare.compare import compare
from perwiz.whatif.compare.reasons import reasons


def run(works, processes=2, path="run.alog"):
    """Return a run in which all leave MPI_Init at 1000 at the latest, and rank 1 computes `works` before each barrier."""
    b = Builder(processes)
    for rank in range(processes):
        b.call(rank, "Init", at=(0, 1000 - rank))
    now = 1000
    for work in works:
        b.barrier(at=[(now + work * (rank == 1), now + work + 10) for rank in range(processes)])
        now += work + 10
    return b.trace(path)


def test_since_start():
    """MPI_Init takes no time in the picture, and the run begins where it ends."""
    found = compare(run([100]), run([300]))
    timeline = compare_plot.since_start(found.second)
    assert timeline.calls.enter.tolist() == [0, 0, 0, 300]
    assert timeline.calls.leave.tolist() == [0, 310, 0, 310]
    assert (timeline.locations.enter.tolist(), timeline.makespan) == ([0, 0], 310)


def test_curves():
    """The second run takes 200 more in its first step, 100 less in its second: its barriers return 200 and 100 later."""
    found = compare(run([100, 300]), run([300, 200]))
    curves = compare_plot.Curves(found)
    assert curves.drawn.tolist() == [0, 1]
    size = lanes.Size(width=520.0, lane=48.0, columns=52)
    scene = lanes.scene(found.first.trace, [compare_plot.since_start(found.first)], np.zeros(0, "i8"), size)
    x, y = curves.curve(1, lanes.joined([scene, scene])[0])
    assert y.tolist() == [200, 100]
    assert (x * scene.span / 52).round(6).tolist() == [310, 520]
    assert curves.notes() == [
        "the picture begins: the end of the last MPI_Init",
        "differs most: rank 0, +200 ns at 310 ns of the lower run",
    ]


def test_curves__nothing_is_off():
    found = compare(run([100]), run([100]), "e1")
    assert compare_plot.Curves(found).notes() == ["the picture begins: the return of e1"]


@pytest.mark.slow
def test_plot__of_equal_runs(tmp_path):
    """Nothing differs: no empty panel is drawn for it; what is bounded says so."""
    path, found = tmp_path / "both.svg", compare(run([100]), run([100]), "MPI_Barrier", stop="MPI_Barrier")
    compare_plot.plot(found, reasons(found), str(path))
    text = path.read_text()
    assert "returns of calls" not in text
    assert "time since the first process enters MPI_Barrier [us]" in text


def test_curves__too_many():
    found = compare(run([100], 20), run([200], 20))
    curves = compare_plot.Curves(found)
    assert len(curves.drawn) == 12
    assert curves.notes()[-1] == "changes of 12 of 20 processes drawn, those that differ most"


def test_joined():
    """Both panels have the longer axis, and the end of the first to compare with."""
    size = lanes.Size(width=520.0, lane=48.0, columns=52)
    traces = [run([100]), run([5000])]
    scenes = lanes.joined([lanes.scene(trace, [trace.timeline], np.zeros(0, "i8"), size) for trace in traces])
    assert [scene.recorded for scene in scenes] == [1110, 1110]
    assert {(scene.origin, scene.span) for scene in scenes} == {(1000, 5010)}


@pytest.mark.slow
@pytest.mark.parametrize("processes", [2, 3])
def test_plot(tmp_path, processes):
    """Also of runs with different processes; SVG holds what is written as text of both runs."""
    path = tmp_path / "both.svg"
    found = compare(run([100, 300]), run([300, 200], processes, "after.alog"))
    compare_plot.plot(found, reasons(found), str(path))
    assert path.read_bytes().startswith(b"<?xml")
    assert [one.name for one in tmp_path.iterdir()] == ["both.svg"]
    text = path.read_text()
    for words in ("measured: run.alog", "measured: after.alog", "duration differs most", "lower minus upper run"):
        assert words in text
    assert text.count("<!-- rank 1 -->") == 2
    assert text.count("<!-- rank 2 -->") == processes - 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "since", "ends"), [("init", "the end of the last MPI_Init", 2), ("start", "the first instant of each run", 0)]
)
def test_plot__what_times_count_from(tmp_path, start, since, ends):
    """From the end of MPI_Init on 110 of 1110 are left, and 310 of 1310."""
    path = tmp_path / "both.svg"
    found = compare(run([100]), run([300]), start)
    compare_plot.plot(found, reasons(found), str(path))
    text = path.read_text()
    assert f"<!-- time since {since} [us] -->" in text
    said = ["110 ns of a makespan of 1.110 us", "310 ns of a makespan of 1.310 us"]
    assert sum(words in text for words in said) == ends


@pytest.mark.slow
def test_plot__notes_name_the_panel(tmp_path):
    path = tmp_path / "both.svg"
    one, other = run([100] * 900), run([90] * 900)
    plot(one, [Row("one", one.timeline), Row("other", other.timeline, trace=other)], str(path))
    assert "panel 1: 900 of 1802 calls are shorter than a dot" in path.read_text()
    assert "panel 2: " in path.read_text()
