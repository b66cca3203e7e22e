"""Trace Event JSON: a small run by hand, laws on random runs, and names that no format likes."""

from __future__ import annotations

import dataclasses
import gzip
import json

import numpy as np
import pytest
from hypothesis import given

import build
import viewers
from build import table
from perwiz.errors import TraceError, UsageError
from perwiz.report.perfetto import write as perfetto
from perwiz.report.perfetto.write import View
from perwiz.report.picture import lanes
from perwiz.trace import operations, tables
from perwiz.trace.trace import Topology
from perwiz.whatif.predict import predict
from perwiz.whatif.waits import Waits


@pytest.fixture
def written(tmp_path):
    """Return written(trace, *views): what is in the file."""

    def write(trace, *views):
        perfetto.write(trace, views or [View("recorded", trace.timeline)], str(tmp_path / "out.json"))
        return (tmp_path / "out.json").read_text(encoding="ascii")

    return write


def late_sender():
    """Return a run in which rank 1 waits 9 ns for a message, and its waits.

    rank 0: solve [0, 30]: Send [10, 12.001]
    rank 1: Recv [1, 15]
    """
    b = build.Builder(2)
    with b.region(0, "solve", at=(0, 30_000)):
        b.send(0, 1, 700, tag=5, at=(10_000, 12_001))
    b.recv(1, 0, tag=5, at=(1_000, 15_000))
    b.end = {0: 30_000}
    return b.trace(), Waits(np.array([0, 9_000]), np.array([-1, 0], "i4"))


BY_HAND = """{"ph":"B","pid":1,"tid":2,"ts":0.000,"cat":"region","name":"solve","args":{"instance":1}},
{"ph":"B","pid":1,"tid":2,"ts":10.000,"cat":"mpi","name":"MPI_Send","args":{"call":"e0","partner":"rank 1","tag":5,"comm":"world","bytes_sent":700}},
{"ph":"s","pid":1,"tid":2,"ts":10.000,"cat":"message","name":"message","id":0,"args":{"bytes":700,"tag":5}},
{"ph":"E","pid":1,"tid":2,"ts":12.001},
{"ph":"E","pid":1,"tid":2,"ts":30.000},
{"ph":"B","pid":1,"tid":3,"ts":1.000,"cat":"mpi","name":"MPI_Recv","args":{"call":"e1","partner":"rank 0","tag":5,"comm":"world","bytes_received":700,"wait_ns":9000,"waits_for":"e0"}},
{"ph":"B","pid":1,"tid":3,"ts":1.000,"cat":"wait","name":"wait"},
{"ph":"E","pid":1,"tid":3,"ts":10.000},
{"ph":"B","pid":1,"tid":3,"ts":10.000,"cat":"receive","name":"receive"},
{"ph":"f","bp":"e","pid":1,"tid":3,"ts":15.000,"cat":"message","name":"message","id":0},
{"ph":"E","pid":1,"tid":3,"ts":15.000},
{"ph":"E","pid":1,"tid":3,"ts":15.000}
]}
"""  # noqa: E501  # lines of the format


def test_by_hand(written):
    """A wait is in its call, and the arrow ends in what the call does afterwards, which begins no earlier than the send."""
    trace, waits = late_sender()
    text = written(trace, View("recorded", trace.timeline, waits))
    assert text.partition('"sort_index":1}},\n{"ph":"B"')[2] == BY_HAND.removeprefix('{"ph":"B"')
    assert json.loads(text)["otherData"]["source"] == "built"


def test_two_runs(written):
    """Each has its group; calls keep their numbers, arrows have their own, sizes are those of the run."""
    trace, waits = late_sender()
    faster = dataclasses.replace(trace.timeline, calls=table(tables.Times, enter=[10_000, 1_000], leave=[12_001, 13_000]))
    text = written(trace, View("before", trace.timeline, waits), View("after", faster, bytes=np.array([900])))
    slices, arrows = viewers.trace_events(text)
    assert [(s.group, s.track, s.args["call"], s.leave) for s in slices if is_call(s)] == [
        ("before", "rank 0", "e0", 12_001),
        ("before", "rank 1", "e1", 15_000),
        ("after", "rank 0", "e0", 12_001),
        ("after", "rank 1", "e1", 13_000),
    ]
    assert [s.args["bytes_received"] for s in slices if "bytes_received" in s.args] == [700, 900]
    assert {row: (tail.group, head.group) for row, (_, tail, _, head, _) in arrows.items()} == {
        0: ("before", "before"),
        1: ("after", "after"),
    }


def is_call(part):
    return "call" in part.args


def call_of(part):
    """Return the call that a slice is, or lies in."""
    while not is_call(part):
        part = part.parent
    return int(part.args["call"][1:])


def held(trace, view, text):
    """Check a file of one run against the tables: every call, region and message once, at its place and time."""
    names, places = lanes.labels(trace.locations), lanes.lanes(trace.locations)
    tracks = [names[place] for place in places]
    slices, arrows = viewers.trace_events(text)
    calls, times = {call_of(s): s for s in slices if is_call(s)}, view.timeline.calls
    assert len([s for s in slices if is_call(s)]) == len(calls) == len(trace.calls)
    for row, found in calls.items():
        assert (found.enter, found.leave) == (times.enter[row], times.leave[row])
        assert (found.name, found.track) == (operations.OPS[trace.calls.op[row]], tracks[trace.calls.location[row]])
        assert found.category == found.name.split("_")[0].lower()
    regions = sorted((s.track.split(",")[0], s.name, s.enter, s.leave) for s in slices if s.category == "region")
    names = [trace.names[trace.paths.region[path]] for path in trace.regions.path]
    places = [tracks[row] for row in trace.regions.location]
    columns = places, names, view.timeline.regions.enter.tolist(), view.timeline.regions.leave.tolist()
    assert regions == sorted(zip(*columns, strict=True))
    waits = {call_of(s): s.leave - s.enter for s in slices if s.category == "wait"}
    if view.waits is not None:
        known = np.minimum(view.waits.time, times.leave - times.enter)
        assert waits == {row: known[row] for row in np.flatnonzero(known > 0).tolist()}
    causes, effects = (np.append(*ends).tolist() for ends in _ends(trace))
    assert len(arrows) == len(causes)
    for row, (name, tail, sent, head, received) in arrows.items():
        send, done = causes[row], effects[row]
        link = row >= len(trace.messages)
        forwards, backwards = "message", "received no later than sent"
        if link:
            forwards = tables.LINKS[trace.links.kind[row - len(trace.messages)]]
            backwards = f"{forwards}, no later than what it waits for"
        ends = [(call_of(tail), sent), (call_of(head), received)]
        assert sent <= received
        forth = [(send, times.enter[send]), (done, times.leave[done])]
        assert ends == (forth if ends[0][0] == send and name == forwards else forth[::-1])
        assert name == (forwards if times.enter[send] < times.leave[done] or name == forwards else backwards)
        assert name != forwards or times.enter[send] <= times.leave[done]
        assert head.enter >= tail.enter or times.leave[done] <= times.enter[send] + 1 or call_of(head) == send


def _ends(trace):
    """Return (messages, links) of all calls that send or cause, and of all that receive or go on."""
    return (trace.messages.send, trace.links.cause), (trace.messages.receive_done, trace.links.effect)


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_catalogue(written, name):
    trace = build.CATALOGUE[name]()
    view = View("recorded", trace.timeline)
    held(trace, view, written(trace, view))


@pytest.mark.slow
@given(trace=build.traces())
def test_law(tmp_path_factory, trace):
    """Recorded and predicted run, each with its waits."""
    path = tmp_path_factory.getbasetemp() / "law.json"
    found = predict(trace, ["zero-wait all"] if len(trace.calls) else [])
    views = View("recorded", found.recorded, found.waits_before), View("p", found.predicted, found.waits_after, found.size)
    for view in views:
        perfetto.write(found.trace, [view], str(path))
        held(found.trace, view, path.read_text())
    perfetto.write(found.trace, views, str(path))
    slices, arrows = viewers.trace_events(path.read_text())
    assert len([s for s in slices if is_call(s)]) == 2 * len(trace.calls)
    assert len(arrows) == 2 * len(trace.messages)


def test_what_overlaps_has_a_track_of_its_own(written):
    """Region b ends after a, in which it began: it is beside the calls, which stay where they are."""
    slices, _ = viewers.trace_events(written(build.CATALOGUE["improper_regions"]()))
    assert {(s.name, s.track) for s in slices} == {
        *((name, track) for name in ("a", "MPI_Sendrecv") for track in ("rank 0", "rank 1")),
        *(("b", f"rank {rank}, overlapping 1") for rank in (0, 1)),
    } | {("receive", track) for track in ("rank 0", "rank 1") if ("receive", track) in {(s.name, s.track) for s in slices}}


def test_what_overlaps__in_two_runs(written):
    """No two tracks have one number; names of further tracks say of which run they are."""
    trace = build.CATALOGUE["improper_regions"]()
    slices, _ = viewers.trace_events(written(trace, View("a", trace.timeline), View("b", trace.timeline)))
    tracks = {(s.group, s.track) for s in slices if s.name == "b"}
    assert tracks == {(group, f"rank {rank}, overlapping 1") for group in "ab" for rank in (0, 1)}


def test_what_overlaps__a_region_that_ends_inside_a_call(written):
    """The call stays, the region steps aside.

    rank 0: a [0, 5], Barrier [3, 8]
    """
    b = build.Builder(1)
    b.enter(0, "a", at=0)
    b.everyone("Barrier", at=[(3, 8)])
    b.leave(0, "a", at=5)
    b.end = {0: 8}
    slices, _ = viewers.trace_events(written(b.trace()))
    assert [(s.name, s.track, s.enter, s.leave) for s in slices] == [
        ("MPI_Barrier", "rank 0", 3, 8),
        ("a", "rank 0, overlapping 1", 0, 5),
    ]


def test_reversed_messages(written):
    """A message received before it was sent has an arrow from there to its send, named so."""
    trace = build.CATALOGUE["clock_violation_message"]()
    _, arrows = viewers.trace_events(written(trace))
    early = trace.timeline.calls.leave[trace.messages.receive_done] < trace.timeline.calls.enter[trace.messages.send]
    assert early.any()
    names = [arrows[row][0] for row in range(len(trace.messages))]
    assert names == ["received no later than sent" if one else "message" for one in early]


NAMES = ['"quoted\\"', "two\nlines\tand\0", "half \udcff a character", "Größe 名前 🎉", "</script>", "%(pid)d %] {}", "x" * 100_000, ""]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:20])
def test_hostile_names(written, name):
    trace = dataclasses.replace(build.CATALOGUE["no_messages"](), names=(name,), path=name)
    text = written(trace, View(name, trace.timeline))
    slices, _ = viewers.trace_events(text)
    (region,) = {s.name for s in slices if s.category == "region"}
    (group,) = {s.group for s in slices}
    assert len(region) <= 300
    assert region == group
    assert region == name or name not in ('"quoted\\"', "Größe 名前 🎉", "</script>", "%(pid)d %] {}", "")
    assert max(map(len, text.splitlines())) < 1500


def test_threads_and_streams_are_of_their_process(written):
    """A group per process; arrows lead from launches to what they begin, and from there to the call that waits for its end."""
    trace = build.CATALOGUE["device"]()
    slices, arrows = viewers.trace_events(written(trace))
    assert {(s.group, s.track) for s in slices} == {
        *(("recorded, process 0", track) for track in ("rank 0", "stream 0.1")),
        ("recorded, process 1", "rank 1"),
    }
    assert {row: (name, tail.name, sent, head.name, received) for row, (name, tail, sent, head, received) in arrows.items() if row} == {
        1: ("done", "device_idle", 6600, "released", 6700),
        2: ("launch", "device_launch", 0, "device_idle", 50),
        3: ("launch", "device_launch", 400, "device_idle", 4100),
    }
    places = dataclasses.replace(trace.locations, node=np.array([1, 0, 1], "i4"))
    shared = dataclasses.replace(trace, nodes=("a", "b"), locations=places)
    slices, _ = viewers.trace_events(written(shared))
    assert {s.group for s in slices} == {"recorded, process 0, b", "recorded, process 1, a"}


def test_nodes_are_groups(written):
    """Two nodes, three processes, a thread: a group per node; one process a node: one group, and names say where."""
    trace = build.CATALOGUE["no_messages"]()
    places = dataclasses.replace(trace.locations, node=np.array([1, 0, 1], "i4"), thread=np.array([0, 0, 1], "i4"))
    shared = dataclasses.replace(trace, nodes=("a", "b"), locations=places)
    slices, _ = viewers.trace_events(written(shared))
    assert {(s.group, s.track) for s in slices} == {("recorded, b", "rank 0"), ("recorded, a", "rank 1"), ("recorded, b", "rank 2.1")}
    places = dataclasses.replace(trace.locations, node=np.array([1, 0, -1], "i4"), metahost=np.array([0, 1, 1], "i4"))
    alone = dataclasses.replace(trace, nodes=("a", "b"), locations=places, metahosts=("here",))
    slices, _ = viewers.trace_events(written(alone))
    assert {(s.group, s.track) for s in slices} == {
        ("recorded", "rank 0, here, b"),
        ("recorded", "rank 1, metahost 1, a"),
        ("recorded", "rank 2, metahost 1, node unknown"),
    }


def test_times_before_0(written):
    """All runs are put forward by as much."""
    trace, _ = late_sender()
    early = dataclasses.replace(trace.timeline, calls=table(tables.Times, enter=[-500, 1_000], leave=[12_001, 13_000]))
    slices, _ = viewers.trace_events(written(trace, View("a", trace.timeline), View("b", early)))
    assert [s.enter for s in slices if s.name == "MPI_Send"] == [10_500, 0]


def test_packed(tmp_path):
    trace, _ = late_sender()
    perfetto.write(trace, [View("a", trace.timeline)], str(tmp_path / "a.json.gz"))
    perfetto.write(trace, [View("a", trace.timeline)], str(tmp_path / "a.json"))
    assert gzip.decompress((tmp_path / "a.json.gz").read_bytes()) == (tmp_path / "a.json").read_bytes()


def test_what_a_call_on_a_window_shows(written):
    """The number of a window is no tag."""
    b = build.Builder(2)
    b.call(0, "Put", peer=1, tag=2, comm=0, sent=8)
    slices, _ = viewers.trace_events(written(b.trace()))
    (args,) = [s.args for s in slices if is_call(s)]
    assert args == {"call": "e0", "partner": "rank 1", "window": 2, "comm": "world", "bytes_sent": 8}


def test_what_a_call_shows(written):
    """Site, root, collective and the true partner of a wildcard."""
    b = build.Builder(2)
    b.send(0, 1, 8, tag=3)
    b.recv(1, 0, tag=3, wildcard=True)
    b.bcast(1, bytes=64)
    trace = dataclasses.replace(b.trace(), site=np.array([0, -1, -1, -1], "i4"), sites=('a "b".c:7',))
    slices, _ = viewers.trace_events(written(trace))
    args = {s.args["call"]: s.args for s in slices if is_call(s)}
    assert args["e0"]["site"] == 'a "b".c:7'
    assert args["e2"]["partner"] == "rank 0"
    assert "tag" not in args["e2"]
    assert args["e3"] == {"call": "e3", "comm": "world", "root": "rank 1", "bytes_sent": 64, "bytes_received": 64, "collective": 0}


def test_many_calls(tmp_path, monkeypatch):
    """The file is the same when it is made in small pieces."""
    trace = build.CATALOGUE["halo"]()
    perfetto.write(trace, [View("a", trace.timeline)], str(tmp_path / "a.json"))
    monkeypatch.setattr("perwiz.report.perfetto.write.ROWS_AT_ONCE", 3)
    monkeypatch.setattr("perwiz.report.perfetto.events._SLICES_AT_ONCE", 1)
    perfetto.write(trace, [View("a", trace.timeline)], str(tmp_path / "b.json"))
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_missing():
    trace = build.CATALOGUE["waitall_of_three"]()
    assert perfetto.missing(trace) == [("requests", len(trace.requests)), ("lists of the ranks of communicators", 1)]
    grid = Topology("grid", 0, (3,), (False,), ("x",), np.array([[0], [1], [2]], "i4"))
    more = dataclasses.replace(trace, topologies=(grid,), nodes=("a\nb", "c"))
    assert perfetto.missing(more)[1:] == [
        ("topologies", 1),
        ("lists of the ranks of communicators", 1),
        ("names that are shortened or escaped", 1),
    ]


def test_refuses__no_run(tmp_path):
    trace, _ = late_sender()
    with pytest.raises(UsageError, match=r"^a\.json: no timeline to write, must be one or more$"):
        perfetto.write(trace, [], "a.json")
    with pytest.raises(UsageError, match=r"nowhere/a\.json: cannot be written: no such file or directory$"):
        perfetto.write(trace, [View("a", trace.timeline)], str(tmp_path / "nowhere" / "a.json"))


def test_refuses__another_timeline(tmp_path):
    trace, _ = late_sender()
    other = build.CATALOGUE["halo"]().timeline
    with pytest.raises(TraceError, match=r"^built: a timeline of \d+ calls, must be of the 2 calls of the trace$"):
        perfetto.write(trace, [View("a", other)], str(tmp_path / "a.json"))
    assert list(tmp_path.iterdir()) == []
