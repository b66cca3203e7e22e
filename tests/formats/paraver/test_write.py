"""Paraver traces: a small run by hand, laws on random runs, the reader of the tests on lines of Extrae, names, what is in the way."""

from __future__ import annotations

import collections
import dataclasses
import gzip
import os
import pathlib

import numpy as np
import pytest
from hypothesis import given

import build
import viewers
from build import table
from perwiz.errors import TraceError, UsageError
from perwiz.formats.paraver import codes
from perwiz.formats.paraver import write as paraver_write
from perwiz.formats.paraver.format import PARAVER
from perwiz.trace import operations, tables
from perwiz.trace.trace import Topology


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def written(trace, timeline=None):
    """Return the three files of a trace as text."""
    PARAVER.write(trace, timeline or trace.timeline, "out.prv")
    return there()


def there():
    """Return the three files that are there as text."""
    return [pathlib.Path(f"out.{suffix}").read_text(encoding="ascii") for suffix in ("prv", "pcf", "row")]


def run_by_hand():
    """Return a run with every kind of record.

    rank 0: from 2 on: solve [3, 30]: Isend [5, 6], Wait [9, 10]; Bcast [31, 35], until 40
    rank 1: Recv [0, 8], Bcast [8, 36]
    """
    b = build.Builder(2)
    with b.region(0, "solve", at=(3, 30)):
        request = b.isend(0, 1, 700, tag=5, at=(5, 6))
        b.wait(0, request, at=(9, 10))
    b.recv(1, 0, tag=5, at=(0, 8))
    b.bcast(0, bytes=64, at=[(31, 35), (8, 36)])
    b.begin, b.end = {0: 2}, {0: 40}
    return b.trace()


BY_HAND = """\
#Paraver (01/01/1970 at 00:00):40_ns:1(2):1:2(1:1,1:1),1
c:1:1:2:1:2
1:1:1:1:1:0:2:2
2:2:1:2:1:0:40000001:1
1:2:1:2:1:0:8:3
2:2:1:2:1:0:50000001:2
1:1:1:1:1:2:5:1
2:1:1:1:1:2:40000001:1
2:1:1:1:1:3:60000019:1
1:1:1:1:1:5:6:10
2:1:1:1:1:5:50000001:3
1:1:1:1:1:6:9:1
2:1:1:1:1:6:50000001:0
3:1:1:1:1:5:6:2:1:2:1:0:8:700:5
2:2:1:2:1:8:50000001:0
1:2:1:2:1:8:36:13
2:2:1:2:1:8:50000002:7:50100001:64:50100002:64:50100004:1
1:1:1:1:1:9:10:8
2:1:1:1:1:9:50000001:5
1:1:1:1:1:10:31:1
2:1:1:1:1:10:50000001:0
2:1:1:1:1:30:60000019:0
1:1:1:1:1:31:35:13
2:1:1:1:1:31:50000002:7:50100001:64:50100002:64:50100004:1:50100003:1
1:1:1:1:1:35:40:1
2:1:1:1:1:35:50000002:0
2:2:1:2:1:36:50000002:0
2:2:1:2:1:36:40000001:0
2:1:1:1:1:40:40000001:0
"""


def test_by_hand():
    """As Extrae writes: a send is gone when its call returns, a blocking receive is awaited from its begin on; root 1 on the root only."""
    prv, pcf, row = written(run_by_hand())
    assert prv == BY_HAND
    assert viewers.values(pcf) == {
        50000001: ("MPI Point-to-point", {3: "MPI_Isend", 2: "MPI_Recv", 5: "MPI_Wait", 0: "Outside MPI"}),
        50000002: ("MPI Collective Comm", {7: "MPI_Bcast", 0: "Outside MPI"}),
        50100001: ("Send Size in MPI Global OP", {}),
        50100002: ("Recv Size in MPI Global OP", {}),
        50100003: ("Root in MPI Global OP", {}),
        50100004: ("Communicator in MPI Global OP", {1: "world"}),
        60000019: ("User function", {0: "End", 1: "solve"}),
        40000001: ("Application", {0: "End", 1: "Begin"}),
    }
    assert "13    Group Communication\n" in pcf
    assert "13    {255,144,26}\n" in pcf
    assert viewers.names(row) == {"CPU": ["1.unknown", "2.unknown"], "NODE": ["unknown"], "THREAD": ["rank 0", "rank 1"]}


def with_counters(entered, returned, counter=(0, 0), levels=()):
    """Return the run by hand with counters around MPI_Isend, its row 0, and MPI_Bcast of rank 0, its row 2."""
    values = {"call": [0, 2], "counter": counter, "entered": entered, "returned": returned}
    return dataclasses.replace(
        run_by_hand(), counters=table(tables.Counters, **values), counter_names=("PAPI_TOT_CYC", "heap"), levels=levels
    )


def test_counters__by_hand():
    """What was counted since the last reading: 100 until MPI_Isend, 5 in it, 95 until MPI_Bcast, 7 in that; read back they are the same."""
    trace = with_counters([100, 200], [105, 207])
    prv, pcf, _ = written(trace)
    assert [line for line in prv.splitlines() if ":42001000:" in line] == [
        f"2:1:1:1:1:{time}:42001000:{value}" for time, value in ((5, 100), (6, 5), (31, 95), (35, 7))
    ]
    assert viewers.values(pcf)[42001000] == ("PAPI_TOT_CYC", {})
    back = PARAVER.read("out.prv", None)
    assert back.counter_names == ("PAPI_TOT_CYC",)
    assert [vars(each)["counters"].entered.tolist() for each in (trace, back)] == [[100, 200]] * 2
    assert (back.counters.returned.tolist(), back.counters.call.tolist()) == ([105, 207], [0, 2])
    assert dict(PARAVER.missing(trace)) == {"requests": 1}


@pytest.mark.parametrize(
    ("trace", "left"),
    [
        (with_counters([100.5, 200], [105, 207]), 2),
        (with_counters([100, 104], [105, 207]), 2),
        (with_counters([100, 200], [99, 207]), 2),
        (with_counters([100, 200], [105, 207], counter=(0, 1), levels=(1,)), 1),
        (with_counters([100, 2.0**53], [105, 2.0**53]), 2),
    ],
)
def test_counters__that_paraver_cannot_have(trace, left):
    """Fractions, what falls, levels, and more than is exact."""
    assert dict(PARAVER.missing(trace))["values of counters"] == left
    assert written(trace)[0].count(":42001") == 2 * (2 - left)


def test_message__has_gone_before_it_has_come():
    """A send that returns at 9 is received at 6: Extrae's way, gone at 9, would be a message that runs backwards."""
    b = build.Builder(2)
    b.send(0, 1, 700, tag=5, at=(2, 9))
    b.recv(1, 0, tag=5, at=(0, 6))
    prv, _, _ = written(b.trace())
    assert [line for line in prv.split("\n") if line.startswith("3:")] == ["3:1:1:1:1:2:6:2:1:2:1:0:6:700:5"]


EXTRAE = """\
#Paraver (21/11/2026 at 09:23):389137915_ns:1(4):1:4(1:1,1:1,1:1,1:1),1
c:1:1:4:1:2:3:4
1:2:1:2:1:345061780:345071945:4
2:2:1:2:1:345061780:50000001:1
1:2:1:2:1:345071945:345187471:1
2:2:1:2:1:345071945:50000001:0
3:2:1:2:1:345061780:345071945:1:1:1:1:345187471:345205729:8:1
1:1:1:1:1:345187471:345205729:8
2:1:1:1:1:345187471:50000001:5:40000033:2
1:1:1:1:1:345205729:345226539:1
2:1:1:1:1:345205729:50000001:0
"""
"""Lines of a trace of NPB CG that Extrae 5.1 made."""


def test_reader__takes_extrae():
    """What the tests demand of a file holds for one that is none of ours."""
    found = viewers.paraver(EXTRAE)
    assert found.tasks == [(1, 1)] * 4
    assert found.states[1, 1, 1] == [(345187471, 345205729, 8), (345205729, 345226539, 1)]
    assert found.events[1, 1] == [(345187471, 50000001, 5), (345187471, 40000033, 2), (345205729, 50000001, 0)]
    assert found.messages[0][4:6] == [345061780, 345071945]


def held(trace, timeline, text):
    """Check the records against the tables: every call, region and message once, at its place and time; a state at all times."""
    found = viewers.paraver(text)
    starts = [timeline.locations.enter, timeline.calls.enter, timeline.regions.enter]
    later = -min(0, *(int(times.min(initial=0)) for times in starts))
    enter, leave = timeline.calls.enter + later, timeline.calls.leave + later
    places = [(process + 1, thread + 1) for process, thread in zip(trace.locations.process, trace.locations.thread, strict=True)]
    for row in range(len(trace.locations)):
        mine = np.flatnonzero(trace.calls.location == row)
        place = places[row]
        events = found.events[place]
        calls = [event for event in events if event[1] in codes.LABELS]
        op = trace.calls.op[mine]
        wanted, numbers = [], (column[op] for column in (codes.TYPE, codes.VALUE, codes.ENDED))
        for begin, end, op_, kind, value, ended in zip(enter[mine], leave[mine], op, *numbers, strict=True):
            wanted += [(begin, kind, value), (end, kind, ended)] if kind else []
            wanted += [(end, codes.PARALLEL, 0)] if operations.OPS[op_] == "omp_join" else []
        assert calls == wanted
        regions = np.flatnonzero(trace.regions.location == row)
        names = trace.paths.region[trace.regions.path[regions]] + 1
        wanted = collections.Counter(zip(timeline.regions.enter[regions] + later, names, strict=True))
        wanted.update((time, 0) for time in timeline.regions.leave[regions] + later)
        assert collections.Counter((time, value) for time, kind, value in events if kind == codes.REGION) == wanted
        begun, ended = timeline.locations.enter[row] + later, timeline.locations.leave[row] + later
        states = found.states.get((sorted(places).index(place) + 1, *place), [])
        assert [(begin, end) for begin, end, _ in states] == [*zip(*bounds(begun, ended, enter[mine], leave[mine]), strict=True)]
        known = {(int(enter[e]), int(leave[e])): int(codes.STATE[trace.calls.op[e]]) for e in mine if leave[e] > enter[e]}
        assert {(begin, end): state for begin, end, state in states if state not in (1, 2)} == known
    messages, location = trace.messages, trace.processes_of_calls
    wanted = collections.Counter(
        (location[send] + 1, enter[send], location[done] + 1, leave[done], size, tag)
        for send, done, size, tag in zip(messages.send, messages.receive_done, messages.bytes, messages.tag, strict=True)
    )
    links = trace.links.cause, trace.links.effect, np.isin(trace.links.kind, (tables.LAUNCH, tables.DONE, tables.EVENT))
    wanted.update(
        (location[cause] + 1, enter[cause], location[effect] + 1, leave[effect], 0, 0)
        for cause, effect, told in zip(*links, strict=True)
        if told
    )
    assert collections.Counter((m[2], m[4], m[8], m[11], m[12], m[13]) for m in found.messages) == wanted


def bounds(begun, ended, enter, leave):
    """Return begins and ends of the states of a location: all times at which one begins or ends, one after the other."""
    times = sorted({0, int(begun), int(ended), *enter.tolist(), *leave.tolist()})
    return times[:-1], times[1:]


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_catalogue(name):
    trace = build.CATALOGUE[name]()
    text, pcf, row = written(trace)
    held(trace, trace.timeline, text)
    assert len(viewers.names(row)["THREAD"]) == len(trace.locations)
    known = viewers.values(pcf)
    for events in viewers.paraver(text).events.values():
        assert all(kind in known and (not known[kind][1] or value in known[kind][1]) for _, kind, value in events)


@pytest.mark.slow
@given(trace=build.traces())
def test_law(trace):
    held(trace, trace.timeline, written(trace)[0])


def test_codes():
    """Of Extrae: types, values and states of the calls in its traces; own values for routines it has none for."""
    wanted = {
        "Irecv": (50000001, 4, 11),
        "Isend": (50000001, 3, 10),
        "Send": (50000001, 1, 4),
        "Wait": (50000001, 5, 8),
        "Waitall": (50000001, 6, 8),
        "Bcast": (50000002, 7, 13),
        "Barrier": (50000002, 8, 13),
        "Allreduce": (50000002, 10, 13),
        "Init": (50000003, 31, 15),
        "Comm_rank": (50000003, 19, 15),
        "File_write": (50000005, 145, 12),
        "Put": (50000004, 65, 25),
    }
    found = {name: tuple(int(column[operations.OP[f"MPI_{name}"]]) for column in (codes.TYPE, codes.VALUE, codes.STATE)) for name in wanted}
    assert found == wanted
    assert len(set(zip(codes.TYPE.tolist(), codes.VALUE.tolist(), strict=True))) == len(operations.OPS)
    assert (codes.VALUE[operations.OP["MPI_Init_thread"]], codes.TYPE[operations.OP["MPI_File_sync"]]) == (
        1000 + operations.OP["MPI_Init_thread"],
        50000005,
    )
    assert set(codes.STATE.tolist()) <= codes.STATES.keys()
    assert {int(kind) for kind in codes.TYPE if kind} == codes.LABELS.keys()


THREADS = """\
1:2:1:1:2:0:600:0
1:1:1:1:1:500:600:7
2:1:1:1:1:500:60000001:3
2:1:1:1:1:600:60000001:3
1:2:1:1:2:600:5600:1
1:1:1:1:1:2600:2700:5
2:1:1:1:1:2600:60000007:3
2:1:1:1:1:2700:60000007:6
2:1:1:1:1:8700:60000007:5
2:1:1:1:1:8800:60000007:0
1:1:1:1:1:8800:9400:5
2:1:1:1:1:8800:60000005:%(implicit)d
2:1:1:1:1:9400:60000005:0
2:1:1:1:1:9400:60000016:1
1:2:1:1:2:9400:9500:0
2:1:1:1:1:9500:60000016:0:60000001:0
"""


@pytest.mark.parametrize(
    ("started", "date"),
    [
        ("2026-10-24T23:30:59.5+00:00", "24/10/2026 at 23:30"),
        ("2026-10-24T23:30:59-02:00", "25/10/2026 at 01:30"),
        ("2026-10-24T23:30", "24/10/2026 at 23:30"),
        ("0001-01-01T00:00+02:00", "01/01/1970 at 00:00"),
        ("yesterday", "01/01/1970 at 00:00"),
    ],
)
def test_header__tells_when_the_run_began(started, date):
    trace = dataclasses.replace(run_by_hand(), properties={"started": started})
    assert written(trace)[0].startswith(f"#Paraver ({date}):40_ns:")


def test_threads():
    """The threads of a task; idle is a state, without an event. A parallel region is open from its fork to its join, a lock held to its
    release; barriers of threads have no communicator."""
    prv, pcf, row = written(build.CATALOGUE["threads"]())
    assert prv.startswith("#Paraver (01/01/1970 at 00:00):14808_ns:1(4):1:2(2:1,2:1),1\n")
    lines = prv.splitlines()
    implicit = 1000 + operations.OP["omp_implicit_barrier"]
    wanted = (THREADS % {"implicit": implicit}).splitlines()
    places = [lines.index(line) for line in wanted]
    assert sorted(places) == places
    assert viewers.names(row)["THREAD"] == ["rank 0", "rank 0.1", "rank 1", "rank 1.1"]
    known = viewers.values(pcf)
    assert known[60000007] == ("OpenMP unnamed-Lock", {3: "omp_critical", 5: "omp_release", 6: "locked", 0: "End"})
    assert known[60000005] == ("OpenMP barrier", {implicit: "omp_implicit_barrier", 0: "End"})
    assert 50100004 not in known


def test_device():
    """A stream runs its kernels, or is idle; the host launches, then synchronises."""
    prv, pcf, row = written(build.CATALOGUE["device"]())
    assert [line for line in prv.splitlines() if line.startswith("1:2:")] == [
        *("1:2:1:1:2:0:50:0", "1:2:1:1:2:50:4050:1", "1:2:1:1:2:4050:4100:0", "1:2:1:1:2:4100:6600:1", "1:2:1:1:2:6600:6700:0"),
    ]
    assert [line for line in prv.splitlines() if ":63000001:" in line] == [
        *("2:1:1:1:1:0:63000001:1", "2:1:1:1:1:100:63000001:0", "2:1:1:1:1:400:63000001:1", "2:1:1:1:1:500:63000001:0"),
        *("2:1:1:1:1:1500:63000001:4", "2:1:1:1:1:6700:63000001:0"),
    ]
    assert viewers.values(pcf)[63000001][1] == {1: "device_launch", 4: "device_synchronize", 0: "End"}
    assert viewers.names(row)["THREAD"] == ["rank 0", "stream 0.1", "rank 1"]
    assert "17    Memory transfer\n" in pcf


def test_places():
    """Two nodes, two processes, one with a thread, in no order: tasks by rank, processors by node."""
    trace = build.CATALOGUE["no_messages"]()
    columns = {"process": [7, 3, 7], "thread": [1, 0, 0], "node": [0, 1, 0], "metahost": [0, 0, 0], "cpu": [-1] * 3, "kind": [1, 0, 0]}
    trace = dataclasses.replace(trace, locations=table(tables.Locations, **columns), nodes=("front end", "b"))
    prv, _, row = written(trace)
    found = viewers.paraver(prv)
    assert (found.cpus, found.tasks) == ([2, 1], [(1, 2), (2, 1)])
    assert found.states.keys() == {(3, 1, 1), (1, 2, 1)}
    assert found.events.keys() == {(1, 1), (2, 1), (2, 2)}
    assert found.comms == {1: []}
    assert viewers.names(row) == {
        "CPU": ["1.front_end", "2.front_end", "3.b"],
        "NODE": ["front_end", "b"],
        "THREAD": ["rank 3", "rank 7", "rank 7.1"],
    }


@pytest.mark.parametrize(
    "name", ["two\nlines\n0 End", "half \udcff", "Größe", "", "x" * 100_000, "EVENT_TYPE"], ids=lambda n: ascii(n)[:20]
)
def test_hostile_names(name):
    trace = dataclasses.replace(build.CATALOGUE["no_messages"](), names=(name,), nodes=(name,))
    _, pcf, _ = written(trace)
    label = viewers.values(pcf)[codes.REGION][1][1]
    assert label == {"two\nlines\n0 End": "two?lines?0 End", "half \udcff": "half ?", "Größe": "Gr??e", "": "unnamed"}.get(name, name[:900])


def test_times_before_0():
    trace = run_by_hand()
    early = dataclasses.replace(trace.timeline, locations=table(tables.Times, enter=[-10, 0], leave=[40, 36]))
    text = written(trace, early)[0]
    held(trace, early, text)
    assert viewers.paraver(text).end == 50


def test_packed():
    trace = run_by_hand()
    PARAVER.write(trace, trace.timeline, "out.prv.gz")
    assert sorted(os.listdir()) == ["out.pcf", "out.prv.gz", "out.row"]
    with gzip.open("out.prv.gz", "rt") as file:
        assert file.read() == BY_HAND
    PARAVER.write(trace, trace.timeline, "out.prv.gz")


def test_small_pieces(monkeypatch):
    trace = build.CATALOGUE["halo"]()
    first = written(trace)
    monkeypatch.setattr(paraver_write, "ROWS_AT_ONCE", 3)
    assert written(trace) == first


def test_missing():
    assert PARAVER.missing(run_by_hand()) == [("requests", 1)]
    grid = Topology("grid", 0, (3,), (False,), ("x",), np.array([[0], [1], [2]], "i4"))
    trace = dataclasses.replace(build.CATALOGUE["unmatched"](), topologies=(grid,), metahosts=("here", "there"), nodes=("Größe",))
    found = dict(PARAVER.missing(trace))
    assert found["topologies"] == found["names of metahosts"] - 1 == found["names that are not in printable ASCII as they are"] == 1
    assert found["partners, tags and sizes of calls without a message"] >= 1
    assert dict(PARAVER.missing(build.CATALOGUE["wildcard"]()))["wildcards of receives"] >= 1
    b = build.Builder(1)
    for name in ("device_offload", "dist_barrier", "omp_idle", "Comm_rank"):
        b.call(0, name)
    assert dict(PARAVER.missing(b.trace())) == {"calls that Paraver has no event for": 2}


def test_refuses__what_is_in_the_way():
    trace = run_by_hand()
    pathlib.Path("out.row").write_text("mine")
    with pytest.raises(UsageError, match=r"/out\.row: no part of the Paraver trace out\.prv, must not be there$"):
        written(trace)
    pathlib.Path("other.prv").write_text("mine")
    with pytest.raises(UsageError, match=r"^other\.prv: no Paraver trace, must be one to be replaced$"):
        PARAVER.write(trace, trace.timeline, "other.prv")
    with pytest.raises(UsageError, match=r"^\.prv: no name of a Paraver trace, must be one that ends in \.prv or \.prv\.gz$"):
        PARAVER.write(trace, trace.timeline, ".prv")
    with pytest.raises(UsageError, match=r"^nowhere/a\.prv: cannot be written: no such file or directory$"):
        PARAVER.write(trace, trace.timeline, "nowhere/a.prv")
    os.mkdir("folder.prv")
    with pytest.raises(UsageError, match=r"^folder\.prv: no Paraver trace, must be one to be replaced$"):
        PARAVER.write(trace, trace.timeline, "folder.prv")
    assert sorted(os.listdir()) == ["folder.prv", "other.prv", "out.row"]


def test_refuses__another_timeline():
    with pytest.raises(TraceError, match=r"^built: a timeline of \d+ calls, must be of the 5 calls of the trace$"):
        written(run_by_hand(), build.CATALOGUE["halo"]().timeline)
    assert os.listdir() == []


def test_a_full_disk__names_the_file_that_was_asked_for(monkeypatch):
    rename = os.rename

    def fail(source, target):
        if target.endswith(".row"):
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(UsageError, match=r"^out\.prv: cannot be written: no space left on device$"):
        written(run_by_hand())
    assert os.listdir() == []


def test_whole_or_not_at_all(monkeypatch):
    """When the last of the three cannot be moved, the trace that was there stays."""
    trace = run_by_hand()
    before = written(trace)
    rename = os.rename

    def fail(source, target):
        if target.endswith("out.prv") and ".perwiz-" in source and not source.endswith("0"):
            raise OSError(28, "No space left on device")
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", fail)
        with pytest.raises(UsageError, match=r"^out\.prv: cannot be written: no space left on device$"):
            written(build.CATALOGUE["halo"]())
    assert there() == before
    assert sorted(os.listdir()) == ["out.pcf", "out.prv", "out.row"]
