"""The data of a page's timeline, read back as its script does."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np
import pytest

import build
import naive_html
import perwiz
from farms import farm, lengths
from perwiz.report.page.analyses import gathered
from perwiz.report.page.panels import timeline as html_timeline
from perwiz.report.page.panels import timeline_runs
from perwiz.report.page.panels.timeline import Moments, Overlays, Shown, document
from perwiz.whatif.run import replayed

SRTEST = str(pathlib.Path(__file__).parents[3] / "traces" / "srtest.alog")


@pytest.fixture
def run():
    return replayed(perwiz.read(SRTEST), "default")


def times(timeline):
    """Return (enter, leave) per call in ns since the first instant."""
    begin = int(timeline.locations.enter.min())
    return dict(enumerate(zip((timeline.calls.enter - begin).tolist(), (timeline.calls.leave - begin).tolist(), strict=True)))


def regions(timeline):
    """Return (enter, leave) per instance of a region in ns since the first instant."""
    begin = int(timeline.locations.enter.min())
    return list(zip((timeline.regions.enter - begin).tolist(), (timeline.regions.leave - begin).tolist(), strict=True))


def test_times__to_the_nanosecond_where_they_fit(run):
    data = document([Shown(run.trace, [Moments("measured", run.trace.timeline, run.waits)])], Overlays())
    assert data["unit"] == 1
    assert naive_html.timelines(data) == [times(run.trace.timeline)]


@pytest.mark.parametrize("name", sorted(set(build.CATALOGUE) - {"empty"}))
def test_times__of_awkward_traces(name):
    trace = build.CATALOGUE[name]()
    data = document([Shown(trace, [Moments("measured", trace.timeline)])], Overlays())
    assert naive_html.timelines(data) == [times(trace.timeline)]
    assert naive_html.regions(data) == [regions(trace.timeline)]


def test_times__other_timelines_and_another_order():
    """The second timeline is written as its difference; that with another order of calls says which."""
    trace = perwiz.read(SRTEST)
    for asked, relative in (("zero-wait e25", True), ("advance e25", False)):
        report = gathered(trace, asked, model="default")
        data = timeline_runs.document(report)
        assert [one["relative"] for one in data["timelines"]] == [False, relative]
        moments = report.run.trace.timeline, report.prediction.predicted
        assert naive_html.timelines(data) == list(map(times, moments))
        assert naive_html.regions(data) == list(map(regions, moments))


def test_times__a_coarser_unit_if_they_do_not_fit(run):
    shown = [Shown(run.trace, [Moments("measured", run.trace.timeline)])]
    data = document(shown, Overlays(), budget=300)
    unit = data["unit"]
    assert unit > 1
    for call, both in naive_html.timelines(data)[0].items():
        assert np.abs(np.array(both) * unit - times(run.trace.timeline)[call]).max() <= unit / 2
    assert document(shown, Overlays(), budget=10**9)["unit"] == 1


def test_lanes__of_threads_and_streams():
    """Kernels come as bands, links by their calls; what has neither says nothing of them."""
    trace = build.CATALOGUE["device"]()
    (run,) = document([Shown(trace, [Moments("measured", trace.timeline)])], Overlays())["runs"]
    assert (run["kinds"], run["threads"], run["names"]) == ([0, 0, 2], [0, 0, 1], ["kernel"])
    assert [naive_html.column(run["bands"][name]) for name in ("location", "instance")] == [[2, 2], [1, 2]]
    assert run["links"]["kinds"] == ["launch", "done"]
    links = [naive_html.column(run["links"][name]) for name in ("kind", "cause", "effect")]
    assert list(zip(*links, strict=True)) == [(0, 0, 5), (0, 1, 6), (1, 7, 2)]
    trace = build.CATALOGUE["late_sender"]()
    (run,) = document([Shown(trace, [Moments("measured", trace.timeline)])], Overlays())["runs"]
    assert (run["kinds"], run["links"]) == (None, None)


def waiting(waits):
    return {row: (int(waits.partner[row]), int(waits.time[row])) for row in np.flatnonzero(waits.time).tolist()}


def test_waits(run):
    data = document([Shown(run.trace, [Moments("measured", run.trace.timeline, run.waits)])], Overlays())
    assert naive_html.waits(data) == [waiting(run.waits)]


@pytest.mark.parametrize("asked", ["zero-wait e25", "zero-wait rank:0", "advance e25"])
def test_waits__of_a_prediction_are_those_that_differ(asked):
    """e25 does not wait any more, and others wait less."""
    report = gathered(perwiz.read(SRTEST), asked, model="default")
    data = timeline_runs.document(report)
    assert naive_html.waits(data) == [waiting(report.run.waits), waiting(report.prediction.waits_after)]
    assert 25 not in naive_html.waits(data)[1] or asked == "zero-wait rank:0"


def test_messages(run):
    table = run.trace.messages
    data = document([Shown(run.trace, [Moments("measured", run.trace.timeline)])], Overlays())["runs"][0]["messages"]
    found = zip(*(naive_html.column(data[name]) for name in ("send", "receive", "bytes")), strict=True)
    assert sorted(found) == sorted(zip(table.send.tolist(), table.receive_done.tolist(), table.bytes.tolist(), strict=True))
    assert data["all"] == len(table)


def test_calls__the_longest_are_kept(run, monkeypatch):
    """Of 36 calls 10 are kept, those of the domino path among them; messages need both ends."""
    monkeypatch.setattr(html_timeline, "CALLS", 10)
    timeline = run.trace.timeline
    data = document([Shown(run.trace, [Moments("measured", timeline, run.waits)])], Overlays(path=(12, 25, 10)))
    table = data["runs"][0]
    kept = naive_html.column(table["id"])
    assert (len(kept), table["calls"]) == (10, 36)
    assert [kept[row] for row in data["path"]] == [12, 25, 10]
    length = timeline.calls.leave - timeline.calls.enter
    assert set(np.argsort(-length)[:7].tolist()) <= set(kept)
    assert naive_html.timelines(data)[0] == {row: times(timeline)[call] for row, call in enumerate(kept)}
    both = [
        call for call in zip(run.trace.messages.send.tolist(), run.trace.messages.receive_done.tolist(), strict=True) if {*call} <= {*kept}
    ]
    messages = table["messages"]
    assert messages["all"] == 15
    ends = zip(naive_html.column(messages["send"]), naive_html.column(messages["receive"]), strict=True)
    assert sorted((kept[send], kept[receive]) for send, receive in ends) == sorted(both)


def test_bands__the_longest_are_kept(monkeypatch):
    """Of the eight steps of four ranks two are kept; the last rank computes longest."""
    halo = build.CATALOGUE["halo"]()
    trace = dataclasses.replace(halo, parallel=halo.parallel | True)
    times = trace.timeline.regions
    length = times.leave - times.enter
    monkeypatch.setattr(html_timeline, "BANDS", 2)
    data = document([Shown(trace, [Moments("measured", trace.timeline)])], Overlays())
    bands, kept = data["runs"][0]["bands"], naive_html.regions(data)[0]
    assert (bands["all"], bands["path"]["rows"]) == (8, 2)
    assert sorted(leave - enter for enter, leave in kept) == np.sort(length)[-2:].tolist()


def test_overlays__worth_and_critical_path():
    """What e25 gains alone; the stretches of the critical path are as long as the run."""
    report = gathered(perwiz.read(SRTEST), model="default")
    data = timeline_runs.document(report)
    worth = dict(zip(*(naive_html.column(data["worth"][name]) for name in ("call", "gain")), strict=True))
    assert worth[25] == 9_437_066
    assert len(worth) == 16
    begin, length = (naive_html.column(data["critical"][name]) for name in ("begin", "length"))
    assert sum(length) == report.run.makespan
    assert begin == sorted(begin)
    assert data["panes"] == [0, 1]


def test_pairs__of_a_re_measured_run(tmp_path):
    """A run predicted, written and read again: every call has its twin."""
    trace = perwiz.read(SRTEST)
    path = str(tmp_path / "again.alog")
    perwiz.write(perwiz.predicted_trace(perwiz.predict(trace, "advance e25", "default")), path)
    report = gathered(trace, "advance e25", against=perwiz.read(path), model="default")
    data = timeline_runs.document(report)
    assert [one["run"] for one in data["timelines"]] == [0, 0, 1]
    assert data["panes"] == [1, 2]
    pairs = list(zip(*(naive_html.column(data["pairs"][1][name]) for name in ("first", "second")), strict=True))
    assert len(pairs) == 36
    _, predicted, measured = naive_html.timelines(data)
    assert [measured[other] for _, other in pairs] == [predicted[one] for one, _ in pairs]
    assert report.comparison.difference == 0


def test_a_run_matched_anew_has_its_own_order(tmp_path):
    """Its calls come one behind the other where they are made, also those of tasks that move; each has its twin in the recorded run."""
    trace = farm(lengths(20), regions=("task",))
    made = perwiz.predicted_trace(perwiz.predict(trace, "speed rank:1=0.25", build.hand_model(), clock="none"))
    path = str(tmp_path / "again.alog")
    perwiz.write(made, path)
    report = gathered(trace, "speed rank:1=0.25", against=perwiz.read(path), model=build.hand_model(), clock="none")
    data = timeline_runs.document(report)
    assert [one["run"] for one in data["timelines"]] == [0, 1, 2]
    assert data["panes"] == [1, 2]
    assert min(naive_html.column(data["timelines"][1]["gap"])) >= 0
    recorded, predicted, measured = naive_html.timelines(data)
    assert predicted == times(made.timeline) == measured
    assert data["runs"][1]["counts"] == np.bincount(made.calls.location).tolist() != data["runs"][0]["counts"]
    (_, *drawn), (nobody, *pairs) = naive_html.waits(data), data["pairs"]
    assert nobody is None
    assert drawn[0] == drawn[1]
    where = made.calls.location
    assert {(where[call] == 0, where[partner] == 0) for call, (partner, _) in drawn[0].items()} == {(True, False), (False, True)}
    both = [dict(zip(*(naive_html.column(one[name]) for name in ("first", "second")), strict=True)) for one in pairs]
    assert both[0] == both[1]
    assert sorted(both[0]) == sorted(both[0].values()) == list(range(len(recorded)))
    assert [made.calls.op[new] for old, new in both[0].items()] == [trace.calls.op[old] for old in both[0]]
