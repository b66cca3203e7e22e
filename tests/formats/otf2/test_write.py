"""OTF2 as it is written: what the Python package otf2 and otf2-print, which are not perwiz's, find in the archives."""

import collections
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import otf2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from otf2 import events as ev

import build
from build import Builder, equal, table
from perwiz.errors import TraceError, UsageError
from perwiz.formats import files
from perwiz.formats.otf2.format import OTF2
from perwiz.formats.otf2.writing import archive as low
from perwiz.formats.otf2.writing import rows as otf2_write_rows
from perwiz.trace import operations, tables
from perwiz.trace.origin import Origin
from perwiz.trace.trace import Topology
from perwiz.whatif.predict import predict

TRACES = pathlib.Path(__file__).parents[3] / "traces"
PRINT = shutil.which("otf2-print")
NONE = -1


@dataclasses.dataclass
class Found:
    """What an archive holds, read with the Python package: definitions, and the events of each location by its number."""

    definitions: object
    events: dict

    def of(self, kind, place=None):
        """Return the events of a kind, of one location or all."""
        return [
            event for number, found in sorted(self.events.items()) for event in found if isinstance(event, kind) and place in (None, number)
        ]

    def parameters(self, place=None):
        """Return (name, value) of the parameters in their order."""
        return [
            (event.parameter.name, event.value if not hasattr(event, "string") else event.string) for event in self.of(PARAMETERS, place)
        ]


PARAMETERS = (ev.ParameterInt, ev.ParameterUnsignedInt, ev.ParameterString)


def found(path):
    events = collections.defaultdict(list)
    with otf2.reader.open(str(path)) as archive:
        for location, event in archive.events:
            events[location._ref].append(event)
        assert archive.timer_resolution == 10**9
        return Found(archive.definitions, events)


@pytest.fixture
def written(tmp_path):
    """Return written(trace): its archive read by another."""

    def write(trace, timeline=None):
        OTF2.write(trace, timeline or trace.timeline, str(tmp_path / "t.otf2"))
        return found(tmp_path / "t.otf2")

    return write


# Laws.


def check(trace, archive):
    """Compare an archive with the tables: calls, regions and their times, sends, receives, collectives, requests."""
    times = trace.timeline
    for place in range(len(trace.locations)):
        stamps = [event.time for event in archive.events[place]]
        assert stamps == sorted(stamps)
        assert len(stamps) == next(one.number_of_events for one in archive.definitions.locations if one._ref == place)
        mine = trace.calls.location == place
        for kind, column in ((ev.Enter, "enter"), (ev.Leave, "leave")):
            of_mpi = [(e.time, e.region.name) for e in archive.of(kind, place) if e.region.paradigm == otf2.Paradigm.MPI]
            of_user = collections.Counter(
                (e.time, e.region.name) for e in archive.of(kind, place) if e.region.paradigm == otf2.Paradigm.USER
            )
            assert of_mpi == list(zip(getattr(times.calls, column)[mine].tolist(), routines(trace, mine), strict=True))
            here = trace.regions.location == place
            assert of_user == collections.Counter(zip(getattr(times.regions, column)[here].tolist(), names(trace, here), strict=True))
        assert instants(archive, place) == (times.locations.enter[place], times.locations.leave[place])
    check_messages(trace, archive)
    collective = operations.COLLECTIVE[trace.calls.op] & (trace.calls.comm >= 0)
    assert len(archive.of(ev.MpiCollectiveEnd)) == int((collective & ~operations.NONBLOCKING[trace.calls.op]).sum())
    assert len(archive.of(ev.MpiCollectiveBegin)) == len(archive.of(ev.MpiCollectiveEnd))


def routines(trace, rows):
    return [operations.OPS[op] for op in trace.calls.op[rows].tolist()]


def names(trace, rows):
    return [trace.names[name] for name in trace.paths.region[trace.regions.path[rows]].tolist()]


def ranks(comm):
    """Return the processes of a communicator in its order."""
    return [int(location.group.name.removeprefix("MPI Rank ")) for location in comm.group.members]


def instants(archive, place):
    return archive.events[place][0].time, archive.events[place][-1].time


def check_messages(trace, archive):
    """Every message has a record at both ends, with its process, tag, communicator and size; the other records have lost partners."""
    process = trace.locations.process[trace.calls.location]
    table_ = trace.messages
    for kinds, own, other in (((ev.MpiSend, ev.MpiIsend), "send", "receive"), ((ev.MpiRecv, ev.MpiIrecv), "receive_done", "send")):
        wanted = collections.Counter(
            zip(
                *(process[getattr(table_, name)].tolist() for name in (own, other)),
                *(getattr(table_, name).tolist() for name in ("tag", "comm", "bytes")),
                strict=True,
            )
        )
        had = collections.Counter()
        for place in range(len(trace.locations)):
            for event in archive.of(kinds, place):
                partner = ranks(event.communicator)[event.receiver if own == "send" else event.sender]
                had[int(trace.locations.process[place]), partner, event.msg_tag, event.communicator._ref, event.msg_length] += 1
        assert wanted <= had


@pytest.mark.parametrize("name", [name for name in build.CATALOGUE if name != "empty"])
def test_law__the_archive_says_what_the_tables_say(written, name):
    trace = build.CATALOGUE[name]()
    check(trace, written(trace))


@pytest.mark.parametrize("name", ["monte.log", "srtest.alog", "fpilog.log", pytest.param("p_m3.alog.gz", marks=pytest.mark.slow)])
def test_law__samples(written, name):
    trace = files.read(str(TRACES / name))
    check(trace, written(trace))


@pytest.mark.slow
@settings(max_examples=20)
@given(build.traces())
def test_law__random_traces(tmp_path_factory, trace):
    folder = tmp_path_factory.mktemp("random")
    OTF2.write(trace, trace.timeline, str(folder / "t.otf2"))
    check(trace, found(folder / "t.otf2"))


@pytest.mark.skipif(PRINT is None, reason="needs otf2-print")
@pytest.mark.parametrize("name", build.CATALOGUE)
def test_law__otf2_print_has_nothing_to_say(tmp_path, name):
    trace = build.CATALOGUE[name]()
    OTF2.write(trace, trace.timeline, str(tmp_path / "t.otf2"))
    for words in ([], ["-G"], ["-I"]):
        done = subprocess.run([PRINT, *words, str(tmp_path / "t.otf2")], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert "INVALID" not in done.stdout


def test_some_events_at_a_time(tmp_path, monkeypatch):
    """However many calls are taken at a time, the files of events are the same."""
    trace = build.CATALOGUE["halo"]()
    content = []
    for steps, events in ((1 << 14, 1 << 17), (3, 1 << 17), (1 << 14, 5), (1, 1)):
        monkeypatch.setattr(otf2_write_rows, "STEPS", steps)
        monkeypatch.setattr(otf2_write_rows, "EVENTS", events)
        OTF2.write(trace, trace.timeline, str(tmp_path / "t.otf2"))
        content.append([(tmp_path / "t" / f"{place}.evt").read_bytes() for place in range(4)])
    assert content[1:] == content[:1] * 3


# Read back.

UNREADABLE = {
    "empty": "nothing is recorded",
    "rootless_and_incomplete": "its instances mix routines, which no reader ties together",
    "threads": "its locations are read in another order",
    "device": "its locations are read in another order",
}


LOST = {"cpu", "instance"}
"""Columns that no archive has."""
OF_ROWS = ("names", "sources", "parallel", "paths", "texts", "nodes", "metahosts", "counter_names", "levels")
"""What rows of other tables number, each when it first occurs."""


def content(trace):
    """Return what an archive holds of a trace, by table: its columns, with names where the trace has row numbers."""

    def named(rows, names):
        return [names[row] if row >= 0 else None for row in rows.tolist()]

    def columns(table, **others):
        return {name: getattr(table, name).tolist() for name, *_ in table.schema() if name not in LOST} | others

    paths = []
    sources = trace.sources or ("",) * len(trace.names)
    of_name = list(zip(trace.names, sources, trace.parallel.tolist(), strict=True))
    for parent, region in zip(trace.paths.parent.tolist(), trace.paths.region.tolist(), strict=True):
        paths.append((*paths[parent], of_name[region]) if parent >= 0 else (of_name[region],))
    others = ("path", "format", "counts", "offsets", "labels", *OF_ROWS)
    out = {field.name: getattr(trace, field.name) for field in dataclasses.fields(trace) if field.name not in others}
    out |= {name: columns(getattr(trace, name), path=named(getattr(trace, name).path, paths)) for name in ("calls", "regions")}
    place = trace.locations
    out["locations"] = columns(place, node=named(place.node, trace.nodes), metahost=named(place.metahost, trace.metahosts or ("machine",)))
    texts, counters = trace.texts, [(name, row in trace.levels) for row, name in enumerate(trace.counter_names)]
    out["parameters"] = columns(trace.parameters, **{name: named(getattr(trace.parameters, name), texts) for name in ("name", "value")})
    out["records"] = columns(trace.records, kind=named(trace.records.kind, texts))
    for name in ("counters", "region_counters"):
        counted = columns(getattr(trace, name), counter=named(getattr(trace, name).counter, counters))
        out[name] = sorted(zip(*counted.values(), strict=True))
    return out


def back(trace, folder):
    """Return the names of the tables of which an archive that was written holds something else."""
    files.write(trace, str(folder / "back.otf2"))
    one, other = content(trace), content(files.read(str(folder / "back.otf2")))
    return [name for name in one if not equal(one[name], other[name])]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in build.CATALOGUE if name not in UNREADABLE])
def test_back__catalogue(tmp_path, name):
    assert back(build.CATALOGUE[name](), tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [path for path in sorted(TRACES.iterdir()) if ".alog" in path.name or ".log" in path.name], ids=lambda path: path.name
)
def test_back__samples(tmp_path, path):
    trace = files.read(str(path))
    assert back(trace, tmp_path) == (["defects"] if len(trace.defects) else [])


@pytest.mark.slow
def test_back__regions_named_like_routines(tmp_path):
    """Those of MPI and of offloading are calls, if they are not said to be regions."""
    b = build.Builder(1)
    for name in ("MPI_Send", "PMPI_Wait", "!$omp target @jacobi.c:224", "!$omp targetmap @jacobi.c:174", "Send", "cudaLaunchKernel"):
        with b.region(0, name):
            b.call(0, "Comm_rank")
    assert back(b.trace(), tmp_path) == []


@pytest.mark.slow
def test_back__what_no_record_tells(tmp_path):
    """First and last instants, even if records of kinds that OTF2 lacks are there; messages to nobody, if only counted."""
    b = build.Builder(2)
    b.barrier(at=[(10, 20), (12, 20)])
    trace = b.trace()
    whole = dataclasses.replace(trace.timeline, locations=table(tables.Times, enter=[0, 10], leave=[50, 20]))
    beside = table(tables.Records, location=[0, 0], kind=[0, 0], call=[0, 1], time=[0, 50], first_value=[0, 0])
    counts = dataclasses.replace(trace.counts, to_nobody=7)
    trace = dataclasses.replace(trace, timeline=whole, records=beside, texts=("Application",), counts=counts)
    files.write(trace, str(tmp_path / "back.otf2"))
    other = files.read(str(tmp_path / "back.otf2"))
    assert equal(other.timeline.locations, whole.locations)
    assert (other.counts.to_nobody, len(other.records)) == (7, 0)


def threads_come_back(trace, folder):
    """Check a trace whose threads are read behind their process: all ties and the answer are there, and stay when written again."""
    files.write(trace, str(folder / "once.otf2"))
    once = files.read(str(folder / "once.otf2"))
    assert back(once, folder) == []
    assert sorted(once.links.kind) == sorted(trace.links.kind)
    told = [(t.timeline.calls.enter[t.links.cause], t.timeline.calls.leave[t.links.effect]) for t in (trace, once)]
    assert sorted(zip(*map(list, told[0]), strict=True)) == sorted(zip(*map(list, told[1]), strict=True))
    assert sorted(once.collectives.op) == sorted(trace.collectives.op)
    answers = [predict(t, "scale kernel=2", model="default", clock="none").predicted.makespan for t in (trace, once) if "kernel" in t.names]
    assert len({*answers}) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["threads", "device"])
def test_back__threads(tmp_path, name):
    threads_come_back(build.CATALOGUE[name](), tmp_path)


@pytest.mark.slow
@settings(max_examples=12)
@given(build.traces(threads=True))
def test_back__random_threads(tmp_path_factory, trace):
    threads_come_back(trace, tmp_path_factory.mktemp("random"))


@pytest.mark.slow
@settings(max_examples=20)
@given(st.one_of(build.traces(), build.holed()))
def test_back__random_traces(tmp_path_factory, trace):
    assert back(trace, tmp_path_factory.mktemp("random")) == []


def test_back__counters_without_values(tmp_path):
    """The first of three has none, and the last."""
    trace = dataclasses.replace(
        build.CATALOGUE["ring"](),
        counters=table(tables.Counters, call=[0], counter=[1], entered=[3], returned=[5]),
        counter_names=("cycles", "instructions", "faults"),
    )
    assert back(trace, tmp_path) == []


@pytest.mark.slow
@settings(max_examples=20)
@given(build.traces(), st.data())
def test_back__random_counters(tmp_path_factory, trace, data):
    assert back(build.counted(trace, data.draw), tmp_path_factory.mktemp("random")) == []


class Spoiler:
    """Changes a trace into one that plain OTF2 records do not say: each method changes one thing, drawn by `random`."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        names = [name for name in build.CATALOGUE if name not in UNREADABLE]
        self.trace = build.CATALOGUE[names[self.random.integers(len(names))]]()
        for name in self.random.choice([name for name in dir(self) if name.startswith("spoil_")], size=3):
            getattr(self, name)()

    def put(self, which, column, low, high):
        """Put a value into one row of a column."""
        values = getattr(getattr(self.trace, which), column).copy()
        if len(values):
            values[self.random.integers(len(values))] = self.random.integers(low, max(high, low + 1))
            self.trace = replaced(self.trace, **{which: {column: values}})

    def spoil_peer(self):
        self.put("calls", "peer", -2, int(self.trace.locations.process.max()) + 1)

    def spoil_tag(self):
        self.put("calls", "tag", -2, 5)

    def spoil_bytes(self):
        self.put("calls", self.random.choice(["bytes_sent", "bytes_received"]), 0, 1000)

    def spoil_mode(self):
        self.put("messages", "mode", 0, 4)

    def spoil_pairs(self):
        order = self.random.permutation(len(self.trace.messages))
        self.trace = replaced(
            self.trace, messages={name: getattr(self.trace.messages, name)[order] for name in ("receive", "receive_done")}
        )

    def spoil_post(self):
        if len(self.trace.messages):
            done = self.trace.messages.receive_done[self.random.integers(len(self.trace.messages))]
            here = np.flatnonzero(self.trace.calls.location == self.trace.calls.location[done])
            posts = np.where(self.trace.messages.receive_done == done, self.random.choice(here), self.trace.messages.receive)
            self.trace = replaced(self.trace, messages={"receive": posts.astype("i4")})

    def spoil_messages(self):
        kept = self.random.random(len(self.trace.messages)) < 0.8
        names = [field.name for field in dataclasses.fields(tables.Messages)]
        self.trace = replaced(self.trace, messages={name: getattr(self.trace.messages, name)[kept] for name in names})

    def spoil_completed(self):
        self.put("requests", "completed_by", -1, len(self.trace.calls))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_back__what_plain_records_do_not_say(tmp_path, seed):
    assert back(Spoiler(seed).trace, tmp_path) == []


@pytest.mark.slow
def test_back__everything(tmp_path):
    """But for the record of unknown kind, the node of a thread, which is that of its process, and what kind the first of a rank is."""
    trace = everything()
    assert back(trace, tmp_path) == ["locations", "records"]
    known = tables.Records(*(getattr(trace.records, name)[:2] for name, *_ in tables.Records.schema()))
    places = dataclasses.replace(trace.locations, node=np.array([0, 0, 1], "i4"), kind=np.array([0, 2, 0], "u1"))
    assert back(dataclasses.replace(trace, records=known, locations=places), tmp_path) == []


# By hand.


def test_records__in_their_calls(written):
    b = Builder(2)
    b.send(0, 1, 100, tag=3, at=(10, 20))
    request = b.irecv(1, 0, tag=3, at=(5, 6))
    b.wait(1, request, at=(15, 30))
    archive = written(b.trace())
    line = [(type(event).__name__, event.time) for event in archive.events[1]]
    assert line == [
        *(("ProgramBegin", 0), ("Enter", 5), ("MpiIrecvRequest", 5), ("Leave", 6), ("Enter", 15), ("MpiIrecv", 30), ("Leave", 30)),
    ]
    (send,), (receive,) = archive.of(ev.MpiSend), archive.of(ev.MpiIrecv)
    assert (send.receiver, send.msg_tag, send.msg_length, send.time) == (1, 3, 100, 10)
    assert (receive.sender, receive.msg_tag, receive.msg_length, receive.request_id) == (0, 3, 100, 1)
    assert archive.parameters() == []


def test_ranks__are_those_in_the_communicator(written):
    archive = written(build.CATALOGUE["subcommunicators"]())
    (send,) = archive.of(ev.MpiSend)
    assert (send.communicator.name, send.receiver, ranks(send.communicator)) == ("odd", 1, [3, 1])
    (root,) = {event.root for event in archive.of(ev.MpiCollectiveEnd) if event.collective_op == otf2.CollectiveOp.BCAST}
    assert root == 1
    assert [comm.name for comm in archive.definitions.comms] == ["world", "odd", "back"]


def test_collectives__operation_sizes_and_no_root(written):
    archive = written(build.CATALOGUE["all_collectives"]())
    first = archive.of(ev.MpiCollectiveEnd, 0)
    names = [otf2.CollectiveOp.BARRIER, otf2.CollectiveOp.ALLREDUCE, otf2.CollectiveOp.BCAST]
    assert [event.collective_op for event in first][:3] == names
    assert [(event.size_sent, event.size_received) for event in first][:3] == [(0, 0), (100, 100), (200, 200)]
    assert [event.root for event in first][:3] == [0xFFFFFFFF, 0xFFFFFFFF, 2]


def test_extras__of_partners_that_records_do_not_tell(written):
    """A wildcard, a receive nobody serves, sends to nobody: behind the Enter of the call."""
    archive = written(build.CATALOGUE["wildcard"]())
    assert archive.parameters() == [("perwiz:peer", -2), ("perwiz:tag", -2)] * 2
    assert [type(event).__name__ for event in archive.events[0][1:5]] == ["ParameterInt", "ParameterInt", "MpiRecv", "Leave"]
    assert written(build.CATALOGUE["unmatched"]()).parameters() == [("perwiz:peer", 0), ("perwiz:tag", 3), ("perwiz:comm", 0)]
    archive = written(build.CATALOGUE["to_nobody"]())
    assert archive.parameters() == [("perwiz:tag", 0), ("perwiz:comm", 0)] * 2 + [("perwiz:peer", -1)]


def replaced(trace, **columns):
    """Return the trace with some columns of tables, as table=dict(column=values)."""
    return dataclasses.replace(trace, **{name: dataclasses.replace(getattr(trace, name), **values) for name, values in columns.items()})


def two_messages():
    b = Builder(2)
    for size in (10, 20):
        b.send(0, 1, size)
    for _ in range(2):
        b.recv(1, 0)
    return b.trace()


def test_extras__messages_that_overtake(written):
    """The second receive takes the first send: both ends carry a number."""
    trace = two_messages()
    crossed = replaced(
        trace,
        messages={"receive": np.array([3, 2], "i4"), "receive_done": np.array([3, 2], "i4")},
        calls={"bytes_received": np.array([0, 0, 20, 10])},
    )
    archive = written(crossed)
    assert archive.parameters(0) == [("perwiz:message", 0), ("perwiz:message", 1)]
    assert archive.parameters(1) == [("perwiz:received", 1), ("perwiz:received", 0)]


def test_extras__send_modes(written):
    trace = replaced(two_messages(), messages={"mode": np.array([3, 0], "u1")})
    assert written(trace).parameters(0) == [("perwiz:mode", 3)]


def test_extras__bytes(written):
    trace = replaced(two_messages(), calls={"bytes_sent": np.array([10, 21, 0, 0]), "bytes_received": np.array([0, 0, 10, 19])})
    assert written(trace).parameters() == [("perwiz:bytes_sent", 21), ("perwiz:bytes_received", 19)]


def test_extras__instances_that_counting_would_not_give(written):
    """Members whose ranks do not come in turn: all collective calls say their instance."""
    b = Builder(2)
    for _ in range(2):
        b.barrier()
    trace = b.trace()
    first, second = trace.members.call.reshape(2, 2).tolist()
    crossed = np.array([first[0], second[1], second[0], first[1]], "i4")
    archive = written(replaced(trace, members={"call": crossed, "done": crossed}))
    assert archive.parameters(0) == [("perwiz:sequence", 0), ("perwiz:sequence", 1)]
    assert archive.parameters(1) == [("perwiz:sequence", 1), ("perwiz:sequence", 0)]


def test_lost__labels_and_region_numbers(written):
    b = Builder(1)
    with b.region(0, "loop"):
        b.barrier()
    trace = replaced(b.trace(), regions={"instance": np.array([7], "i4")})
    trace = dataclasses.replace(trace, texts=("MPI_SUM",), labels=table(tables.Labels, call=[0], text=[0]))
    archive = written(trace)
    assert archive.parameters() == []
    assert OTF2.missing(trace) == [
        ("operations and datatypes of reductions, kinds of locks", 1),
        ("numbers of region instances that counting does not give", 1),
    ]


def one_request(cancelled, done):
    """Return a trace with a receive posted by call 0, completed by call `done` without message."""
    b = Builder(1)
    b.call(0, "Irecv", peer=-1)
    b.call(0, "Test")
    b.call(0, "Wait")
    requests = table(tables.Requests, posted_by=[0], completed_by=[done], cancelled=[cancelled])
    return dataclasses.replace(b.trace(), requests=requests, unfinished=table(tables.Unfinished, call=[1], request=[0]))


def test_requests__cancelled_tested_forgotten(written):
    archive = written(one_request(1, 2))
    assert [type(event).__name__ for event in archive.events[0]] == [
        *("Enter", "MpiIrecvRequest", "Leave", "Enter", "MpiRequestTest", "Leave", "Enter", "MpiRequestCancelled", "Leave"),
    ]
    assert archive.parameters() == []
    assert written(one_request(1, -1)).parameters() == []
    assert OTF2.missing(one_request(1, -1)) == [("cancelled requests", 1)]
    assert written(one_request(0, 2)).parameters() == [("perwiz:completed_by", 2)]
    assert written(one_request(0, -1)).parameters() == []


def test_requests__of_unknown_kind(written):
    """What MPI_Comm_rank posts is neither sent nor received."""
    trace = replaced(
        one_request(0, 2), calls={"op": np.array([operations.OP[f"MPI_{name}"] for name in ("Comm_rank", "Test", "Wait")], "u2")}
    )
    assert [type(event).__name__ for event in written(trace).events[0]] == ["Enter", "Leave"] * 3
    assert OTF2.missing(trace) == [("requests that no record posts", 1), ("tests of unfinished requests", 1)]


def test_requests__startall(written):
    """Sends and receives of one call have requests of their own."""
    b = Builder(2)
    for rank in (0, 1):
        call = b.call(rank, "Startall", peer=1 - rank, tag=0, comm=0)
        b._request(call, b._send(call, 1 - rank, 8, 0, 0, "", None))
        b._request(call, b._receive(call, 1 - rank, 0, 0, None))
    for rank in (0, 1):
        b.waitall(rank, *[request for request in b.requests if request.posted.rank == rank])
    archive = written(b.trace())
    kinds = ["Enter", "MpiIsend", "MpiIrecvRequest", "Leave", "Enter", "MpiIsendComplete", "MpiIrecv", "Leave"]
    assert [type(event).__name__ for event in archive.events[0]] == kinds
    assert archive.parameters() == []


def everything():
    """Return a trace with threads, places, counters, parameters, records and topologies."""
    b = Builder(4)
    for rank in (0, 1, 3):
        b.enter(rank, "main", at=0)
        b.call(rank, "Comm_rank", at=(10, 20))
        b.enter(rank, "MPI_mine", at=25)
        b.leave(rank, "MPI_mine", at=30)
        b.leave(rank, "main", at=40)
    trace = b.trace()
    columns = {"metahost": [0, 0, 1], "node": [0, -1, 1], "process": [0, 0, 3], "thread": [0, 1, 0], "cpu": [-1, 4, -1], "kind": [0, 2, 1]}
    places = table(tables.Locations, **columns)
    one = np.array([0, 1, 2], "i4")
    row = {0: 0, 1: 1, 3: 2}

    def moved(rows):
        return dataclasses.replace(rows, location=np.array([row[place] for place in rows.location.tolist()], "i4"))

    times = dataclasses.replace(
        trace.timeline, locations=table(tables.Times, enter=[0, 0, 0], leave=[40, 40, 40]), origin=Origin(by="a guess")
    )
    texts = ("iteration", "7", "-3", "18446744073709551615", "007", "perwiz:own", "RmaPut", "MeasurementOnOff", "nonsense")
    region = {name: k for k, name in enumerate(["main", "mine"])}
    return dataclasses.replace(
        trace,
        locations=places,
        calls=moved(trace.calls),
        regions=moved(trace.regions),
        timeline=times,
        parallel=np.array([False, True]),
        sources=("main.c:12", ""),
        nodes=("n0", "n1"),
        metahosts=("here", "there"),
        offsets=table(tables.Offsets, location=[0], time=[5], offset=[0.5], drift=[0.0], error=[0.25]),
        properties={"recorder": "somebody"},
        topologies=(Topology("grid", 0, (2, 2), (True, False), ("x", "y"), np.array([[0, 0], [0, 1], [-1, -1], [1, 1]], "i4")),),
        counters=table(tables.Counters, call=[0, 0, 1], counter=[0, 1, 0], entered=[1, 0.5, 3], returned=[2, 2.5, 4]),
        region_counters=table(tables.RegionCounters, region=[0, 1], counter=[0, 2], entered=[0, 7], left=[5, 9]),
        counter_names=("cycles", "energy [J]", "memory"),
        levels=(2,),
        texts=texts,
        parameters=table(
            tables.Parameters,
            location=[0, 0, 0, 1, 2],
            region=[0, region["mine"], 0, -1, -1],
            call=[0, 1, 1, 1, 3],
            name=[0, 0, 0, 0, 5],
            value=[1, 2, 3, 4, 1],
        ),
        records=tables.Records(*(np.array(v, "i4") for v in ([0, 0, 1], [6, 7, 8], [1, 1, 1])), np.array([15, 35, 5]), np.array([0, 4, 5])),
        values=np.array([2, 1, 800, 9, 1]),
        requests=table(tables.Requests, posted_by=one[:0], completed_by=one[:0], cancelled=one[:0]),
    )


def test_everything__definitions(written):
    d = written(everything()).definitions
    assert [(one.name, one.group.name, one.type) for one in d.locations] == [
        ("Master thread", "MPI Rank 0", otf2.LocationType.CPU_THREAD),
        ("Stream 1", "MPI Rank 0", otf2.LocationType.GPU),
        ("Master thread", "MPI Rank 3", otf2.LocationType.CPU_THREAD),
        ("Master thread", "MPI Rank 1", otf2.LocationType.UNKNOWN),
        ("Master thread", "MPI Rank 2", otf2.LocationType.UNKNOWN),
    ]
    assert [(one.name, one.class_name, one.parent and one.parent.name) for one in d.system_tree_nodes] == [
        *(("here", "machine", None), ("there", "machine", None), ("n0", "node", "here"), ("n1", "node", "there")),
    ]
    regions = [(one.name, one.paradigm, one.region_role, one.description) for one in d.regions]
    assert regions == [
        ("MPI_Comm_rank", otf2.Paradigm.MPI, otf2.RegionRole.FUNCTION, ""),
        ("main", otf2.Paradigm.USER, otf2.RegionRole.FUNCTION, ""),
        ("MPI_mine", otf2.Paradigm.USER, otf2.RegionRole.PARALLEL, "perwiz:region"),
    ]
    assert [(one.source_file, one.begin_line_number) for one in d.regions][1:] == [("main.c", 12), (None, 0)]
    (grid,) = d.cart_topologies
    assert (grid.name, [(one.name, one.size) for one in grid.dimensions]) == ("grid", [("x", 2), ("y", 2)])
    assert [(one.name, one.unit) for one in d.metric_members] == [("cycles", "#"), ("energy", "J"), ("memory", "#")]


def test_everything__events(written):
    archive = written(everything())
    assert archive.parameters(0) == [("iteration", 7), ("iteration", -3), ("iteration", 2**64 - 1)]
    assert archive.parameters(1) == [("iteration", "007")]
    assert archive.parameters(2) == [("perwiz:perwiz:own", 7)]
    line = [(type(event).__name__, event.time) for event in archive.events[0]]
    assert line == [
        *(("Metric", 0), ("Enter", 0), ("ParameterInt", 0), ("Metric", 10), ("Metric", 10), ("Enter", 10), ("RmaPut", 15)),
        *(("Metric", 20), ("Metric", 20), ("Leave", 20), ("Metric", 25), ("Enter", 25), ("ParameterInt", 25)),
        *(("Metric", 30), ("Leave", 30)),
        *(("ParameterUnsignedInt", 30), ("MeasurementOnOff", 35), ("Metric", 40), ("Leave", 40)),
    ]
    (put,) = archive.of(ev.RmaPut)
    assert (put.remote, put.bytes, put.matching_id) == (1, 800, 9)
    assert [event.values for event in archive.of(ev.Metric, 0)] == [[0], [1], [0.5], [2], [2.5], [7], [9], [5]]


def test_everything__properties(tmp_path):
    trace = everything()
    OTF2.write(trace, trace.timeline, str(tmp_path / "t.otf2"))
    text = (tmp_path / "t.otf2").read_bytes()
    for name, value in {
        "MADE_BY": "a guess",
        "PROPERTIES": json.dumps({"recorder": "somebody"}),
    }.items():
        assert b"PERWIZ::" + name.encode() in text
        assert value.encode() in text
    assert OTF2.missing(trace) == [
        ("measurements of clock offsets", 1),
        ("processors that locations are on", 1),
        ("numbers and kinds of threads that their order does not give", 1),
        ("records of unknown kind", 1),
    ]


def test_ordinary_trace__has_no_extras(tmp_path, written):
    trace = dataclasses.replace(build.CATALOGUE["halo"](), nodes=("n",))
    trace = replaced(trace, locations={"node": np.zeros(4, "i4")})
    assert written(trace).parameters() == []
    assert b"PERWIZ" not in (tmp_path / "t.otf2").read_bytes()


def test_sites__are_lost_and_said_to_be():
    trace = build.CATALOGUE["ring"]()
    trace = dataclasses.replace(trace, site=np.zeros(len(trace.calls), "i4"), sites=("ring.c:3 main",))
    assert OTF2.missing(trace) == [("places that calls were made from", len(trace.calls))]


def test_start__later_than_0_and_earlier(tmp_path, written):
    b = Builder(1)
    b.barrier(at=[(5, 6)])
    trace = b.trace()
    late = dataclasses.replace(trace.timeline, locations=table(tables.Times, enter=[5], leave=[6]))
    written(trace, late)
    assert b"PERWIZ::START" in (tmp_path / "t.otf2").read_bytes()
    early = dataclasses.replace(trace.timeline, locations=table(tables.Times, enter=[-100], leave=[6]))
    assert [event.time for event in written(trace, early).events[0]] == [0, 105, 105, 106, 106]


def test_timeline__boundaries_that_would_run_backwards(tmp_path):
    """A region left behind the next call ends where that begins, and is counted; calls keep their times."""
    b = Builder(1)
    with b.region(0, "a", at=(0, 10)):
        b.call(0, "Comm_rank", at=(2, 4))
    b.call(0, "Comm_rank", at=(20, 30))
    trace = b.trace()
    late = dataclasses.replace(trace.timeline, regions=table(tables.Times, enter=[3], leave=[25]))
    assert OTF2.write(trace, late, str(tmp_path / "t.otf2")) == 2
    assert [event.time for event in found(tmp_path / "t.otf2").events[0]] == [0, 2, 2, 4, 20, 20, 30]
    assert OTF2.write(trace, trace.timeline, str(tmp_path / "t.otf2")) == 0


def test_timeline__a_child_entered_before_its_parent(tmp_path):
    """Which is in which stays; the times do not run backwards."""
    b = Builder(1)
    with b.region(0, "a", at=(0, 10)), b.region(0, "b", at=(5, 8)):
        pass
    trace = b.trace()
    odd = dataclasses.replace(trace.timeline, regions=table(tables.Times, enter=[6, 5], leave=[10, 8]))
    assert OTF2.write(trace, odd, str(tmp_path / "t.otf2")) == 1
    line = [(event.region.name, event.time) for event in found(tmp_path / "t.otf2").of((ev.Enter, ev.Leave))]
    assert line == [("a", 6), ("b", 6), ("b", 8), ("a", 10)]


def test_times__of_messages(tmp_path):
    """A send recorded 30 behind its entry and a receive 30 before its return; in calls of 20 at their other ends."""
    b = Builder(2, record=30)
    b.send(0, 1, at=(100, 200))
    b.recv(1, 0, at=(0, 150))
    trace = b.trace()
    assert stamps(tmp_path / "long", trace, trace.timeline) == [130, 120]
    short = dataclasses.replace(trace.timeline, calls=table(tables.Times, enter=[100, 130], leave=[120, 150]))
    assert stamps(tmp_path / "short", trace, short) == [120, 130]


def test_times__of_messages_that_cross_in_a_call(tmp_path):
    """Sent 8 behind its entry, received 8 before its return, which is only 10 behind: what comes later in the call is as late."""
    b = Builder(2, record=8)
    b.sendrecv(0, 1, 1, at=(0, 10))
    b.sendrecv(1, 0, 0, at=(0, 20))
    trace = b.trace()
    assert stamps(tmp_path, trace, trace.timeline, moved=1) == [8, 8, 8, 12]


def stamps(folder, trace, timeline, moved=0):
    """Return the times of the records of sends and receives, location by location, after writing them."""
    folder.mkdir(exist_ok=True)
    assert OTF2.write(trace, timeline, str(folder / "t.otf2")) == moved
    return [event.time for event in found(folder / "t.otf2").of((ev.MpiSend, ev.MpiRecv))]


def test_times__of_waitall(tmp_path):
    """Receives completed in another order than posted: their records keep their order, that of a completed send comes behind them."""
    b = Builder(2)
    first, second = b.irecv(1, 0, tag=1, at=(0, 1)), b.irecv(1, 0, tag=2, at=(2, 3))
    b.waitall(1, first, b.isend(1, 0, at=(4, 5)), second, at=(10, 100))
    b.send(0, 1, tag=1, at=(0, 10))
    b.send(0, 1, tag=2, at=(10, 20))
    b.recv(0, 1, at=(20, 30))
    trace = b.trace()
    before = np.where(trace.messages.tag == 1, 20, 40) * (trace.messages.receive_done == trace.messages.receive_done.max())
    trace = dataclasses.replace(trace, messages=dataclasses.replace(trace.messages, received_before=before))
    OTF2.write(trace, trace.timeline, str(tmp_path / "t.otf2"))
    events = [(type(event).__name__, event.time) for event in found(tmp_path / "t.otf2").of((ev.MpiIrecv, ev.MpiIsendComplete), 1)]
    assert events == [("MpiIrecv", 60), ("MpiIrecv", 80), ("MpiIsendComplete", 100)]
    assert files.read(str(tmp_path / "t.otf2")).messages == trace.messages


def test_improper_regions__are_written_as_they_are(written):
    archive = written(build.CATALOGUE["improper_regions"]())
    line = [f"{'+' if isinstance(event, ev.Enter) else '-'}{event.region.name}" for event in archive.of((ev.Enter, ev.Leave), 0)]
    assert line == ["+a", "+b", "+MPI_Sendrecv", "-MPI_Sendrecv", "-a", "-b"]


# Whole, or not at all.


def names_in(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


HALO = ["t", "t.def", "t.otf2", *(f"t/{place}.{kind}" for place in range(4) for kind in ("def", "evt"))]


def test_atomic__replaces_the_archive_before(tmp_path):
    for name in ("nested_regions", "halo"):
        trace = build.CATALOGUE[name]()
        OTF2.write(trace, trace.timeline, str(tmp_path / "t.otf2"))
    assert names_in(tmp_path) == sorted(HALO)
    assert len(found(tmp_path / "t.otf2").definitions.locations) == 4


def test_atomic__leaves_the_archive_before_as_it_was(tmp_path, monkeypatch):
    trace = build.CATALOGUE["halo"]()
    OTF2.write(trace, trace.timeline, str(tmp_path / "t.otf2"))
    before = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    rename, moved = os.rename, []

    def failing(source, target):
        moved.append(target)
        if len(moved) == 5:
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(UsageError, match=r"t\.otf2: cannot be written: no space left on device$"):
        OTF2.write(trace, trace.timeline, str(tmp_path / "t.otf2"))
    assert len(moved) > 5
    assert {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert names_in(tmp_path) == sorted(HALO)


def test_atomic__leaves_nothing_behind(tmp_path, monkeypatch):
    def failing(*_):
        raise RuntimeError("disk on fire")

    monkeypatch.setattr(low.Archive, "_rows", failing)
    trace = build.CATALOGUE["halo"]()
    with pytest.raises(RuntimeError, match=r"^disk on fire$"):
        OTF2.write(trace, trace.timeline, str(tmp_path / "t.otf2"))
    assert list(tmp_path.iterdir()) == []


def refused(path):
    trace = build.CATALOGUE["halo"]()
    with pytest.raises(UsageError) as caught:
        OTF2.write(trace, trace.timeline, str(path))
    return str(caught.value)


def test_refuses__what_is_in_the_way(tmp_path):
    (tmp_path / "t").mkdir()
    assert refused(tmp_path / "t.otf2") == f"{tmp_path}/t: no part of the archive {tmp_path}/t.otf2, must not be there"
    (tmp_path / "u.def").write_text("mine")
    assert refused(tmp_path / "u.otf2") == f"{tmp_path}/u.def: no part of the archive {tmp_path}/u.otf2, must not be there"
    (tmp_path / "v.otf2").write_text("mine")
    assert refused(tmp_path / "v.otf2") == f"{tmp_path}/v.otf2: no OTF2 archive, must be one to be replaced"
    assert names_in(tmp_path) == ["t", "u.def", "v.otf2"]


def test_refuses__a_folder_with_other_files(tmp_path):
    trace = build.CATALOGUE["halo"]()
    OTF2.write(trace, trace.timeline, str(tmp_path / "t.otf2"))
    (tmp_path / "t" / "notes.txt").write_text("mine")
    assert refused(tmp_path / "t.otf2") == f"{tmp_path}/t: no part of the archive {tmp_path}/t.otf2, must not be there"


def test_refuses__names_and_folders(tmp_path):
    assert refused(tmp_path / ".otf2") == f"{tmp_path}/.otf2: no name of an archive, must be one that ends in .otf2"
    assert refused(tmp_path / "no" / "t.otf2") == f"{tmp_path}/no/t.otf2: cannot be written: no such file or directory"


def test_refuses__ranks_far_beyond_the_processes(tmp_path):
    """An archive lists every rank, each with two files: so many as 64 for each process there is, and 1024 more, are written."""
    said = "built: rank 2147483647 though 4 processes recorded, must be below 1280 in OTF2, which lists every rank"
    with pytest.raises(UsageError, match=f"^{said}$"):
        files.write(build.far(build.CATALOGUE["halo"]()), str(tmp_path / "t.otf2"))
    assert list(tmp_path.iterdir()) == []
    files.write(build.far(build.CATALOGUE["ring"](), 40), str(tmp_path / "t.otf2"))
    assert set(files.read(str(tmp_path / "t.otf2")).locations.process.tolist()) == {0, 1, 2, 40}


def test_refuses__the_timeline_of_another_trace(tmp_path):
    trace, other = build.CATALOGUE["halo"](), build.CATALOGUE["ring"]()
    with pytest.raises(TraceError, match=r"^built: a timeline of 12 calls, must be of the 32 calls of the trace$"):
        OTF2.write(trace, other.timeline, str(tmp_path / "t.otf2"))
    assert list(tmp_path.iterdir()) == []


def test_back__what_the_source_lacked(tmp_path):
    """A trace that lost messages says so after the journey too."""
    trace = build.CATALOGUE["ring"]()
    lost = dataclasses.replace(trace.counts, unmatched_sends=5, contradicting=3, inferred_completions=2)
    path = str(tmp_path / "lost.otf2")
    files.write(dataclasses.replace(trace, counts=lost), path)
    counts = files.read(path).counts
    assert (counts.unmatched_sends, counts.contradicting, counts.inferred_completions) == (5, 3, 2)


def test_times__of_receives_matched_out_of_order(tmp_path):
    """The first send goes with the receive posted last, whose record comes first: what says so stands in the order of the records."""
    b = Builder(2)
    requests = [b.irecv(1, 0, at=(0, 1)), b.irecv(1, 0, at=(2, 3))]
    b.waitall(1, *requests, at=(10, 100))
    b.send(0, 1, 8, at=(0, 10))
    b.send(0, 1, 8, at=(10, 20))
    trace = b.trace()
    swapped = dataclasses.replace(trace.messages, receive=trace.messages.receive[::-1], received_before=np.array([40, 20]))
    trace = dataclasses.replace(trace, messages=swapped)
    OTF2.write(trace, trace.timeline, str(tmp_path / "t.otf2"))
    assert [event.time for event in found(tmp_path / "t.otf2").of(ev.MpiIrecv)] == [60, 80]
    assert files.read(str(tmp_path / "t.otf2")).messages == trace.messages
