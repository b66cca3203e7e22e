"""Reading OTF2 archives: rows, definitions and clocks as they were written, whatever is missing, damaged or hostile."""

import ctypes
import itertools
import os
import pathlib
import random
import shutil
import subprocess
import sys

import _otf2
import numpy as np
import otf2
import pytest

import forked
import otf2_small as small
from perwiz.errors import USAGE, LibraryError, TraceError
from perwiz.formats.otf2 import definitions as defined
from perwiz.formats.otf2 import read as otf2_read
from perwiz.formats.otf2.format import OTF2
from perwiz.formats.otf2.library import archive as otf2_archive
from perwiz.formats.otf2.library import binding as otf2_library
from perwiz.formats.otf2.library import events as row
from perwiz.formats.otf2.library import process, worker
from perwiz.kernels import records

OTHER = {name: records.OTHER_KIND + row.OTHERS.index(name) for name in ("MpiProbe", "ThreadFork", "RmaCollectiveEnd", "IoSeek")}


def rows(recorded):
    return recorded.column("rows").reshape(-1, 8).tolist()


def read(path, consumer="Keep", progress=None):
    return otf2_read.record(str(path), progress, f"otf2_small:{consumer}")


@pytest.fixture(autouse=True)
def _started(monkeypatch):
    """Start workers as perwiz does."""
    monkeypatch.setattr(process, "subprocess", subprocess)


@pytest.fixture
def three(tmp_path):
    """Return the anchor file of an archive of three locations, the folder and the definitions beside it."""
    return pathlib.Path(small.archive(tmp_path / "t", {1: small.calls(10), 2: small.calls(20), 3: small.calls(30)}))


def refused(path, consumer="Keep"):
    """Return the message, the folder left out."""
    with pytest.raises(TraceError) as info:
        read(path, consumer)
    folder = pathlib.Path(path).parent
    return str(info.value).replace(f"{folder}/", "")


def children():
    """Return the processes that this one has started, with those that ended and were not waited for."""
    return {int(child) for task in pathlib.Path("/proc/self/task").iterdir() for child in (task / "children").read_text().split()}


@pytest.fixture
def no_children():
    """Return no_children(), whether a test has left none: others may have started what still runs, such as a browser."""
    before = children()
    return lambda: children() <= before


def test_rows__every_kind(tmp_path):
    path = small.archive(tmp_path / "t", {0: small.timed(small.EVERYTHING)})
    (found,) = read(path).locations
    big = -(1 << 63)
    assert (found.ref, found.records, found.error) == (0, len(small.EVERYTHING), None)
    assert [line[:1] + line[2:] for line in rows(found)] == [
        [records.PROGRAM_BEGIN, 5, 0, 0, 0, 0, 0],
        [records.ENTER, 0, 0, 0, 0, 0, 0],
        [records.SEND, 1, 0, 7, 10, 0, 0],
        [records.ISEND, 1, 0, -1, big, -1, 0],
        [records.ISEND_COMPLETE, 0, 0, 0, 0, -1, 0],
        [records.IRECV_REQUEST, 0, 0, 0, 0, 4, 0],
        [records.RECV, -1, -1, 0, 0, 0, 0],
        [records.IRECV, 1, 0, 2, 3, 4, 0],
        [records.REQUEST_TEST, 0, 0, 0, 0, 5, 0],
        [records.REQUEST_CANCELLED, 0, 0, 0, 0, 5, 0],
        [records.COLLECTIVE_BEGIN, 0, 0, 0, 0, 0, 0],
        [records.COLLECTIVE_END, 11, 0, -2, 8, 0, 16],
        [records.NONBLOCKING_REQUEST, 0, 0, 0, 0, 6, 0],
        [records.NONBLOCKING_COMPLETE, 0, 0, 0, 1, 6, 2],
        [records.METRIC, 0, 0, 4, -1, 0, 0],
        [records.METRIC, 0, 1, 8, -5, 0, 0],
        [records.PARAMETER_INT, 0, 0, 0, -3, 0, 0],
        [records.PARAMETER_UNSIGNED, 0, 0, 0, -2, 0, 0],
        [records.PARAMETER_STRING, 0, 0, 0, 11, 0, 0],
        [records.COMM_CREATE, 0, 0, 0, 0, 0, 0],
        [records.COMM_DESTROY, 0, 0, 0, 0, 0, 0],
        [OTHER["MpiProbe"], 1, 0, 9, 77, 0, 0],
        [records.RECV, 1, 0, 9, 100, 0, 0],
        [OTHER["MpiProbe"], 0, 0, 8, 78, 0, 0],
        [records.IRECV_REQUEST, 0, 0, 0, 0, 12, 0],
        [records.IRECV, 0, 0, 8, 200, 12, 0],
        [records.RECV, -1, -1, -1, 300, 0, 0],
        [OTHER["ThreadFork"], 3, 4, 0, 0, 0, 0],
        [OTHER["RmaCollectiveEnd"], 0, 1, 0, -1, 3, 4],
        [OTHER["IoSeek"], 0, -8, 2, 9, 0, 0],
        [records.MEASUREMENT, 2, 0, 0, 0, 0, 0],
        [records.BUFFER_FLUSH, 99, 0, 0, 0, 0, 0],
        [records.LEAVE, 0, 0, 0, 0, 0, 0],
        [records.PROGRAM_END, -1, 0, 0, 0, 0, 0],
    ]
    times = [100 + k for k, (name, *_) in enumerate(small.EVERYTHING) for _ in range(2 if name == "Metric" else 1)]
    assert [line[1] for line in rows(found)] == times


def test_rows__all_kinds_have_the_arguments_of_the_bindings():
    """The table of events against the prototypes of the Python bindings, which are an independent statement of them."""
    theirs = {name.rpartition("_")[2]: getattr(_module(), name)._argtypes_[5:] for name in vars(_module()) if "Callback_FP_" in name}
    mine = {name: [ctypes.sizeof(kind) for kind in kinds.values()] for name, kinds in row.EVENTS.items()}
    assert mine == {name: [ctypes.sizeof(kind) for kind in kinds] for name, kinds in theirs.items()}


def _module():
    return sys.modules["_otf2.EvtReaderCallbacks"]


def test_rows__stopping_for_want_of_room_loses_none(tmp_path):
    values = ([_otf2.Type(4)] * 200, [_otf2.MetricValue(unsigned_int=k) for k in range(200)])
    path = small.archive(tmp_path / "t", {0: small.timed([("Metric", 0, *values)] * 100)})
    archive = otf2_archive.Archive(path)
    archive.found(10**6, lambda: None)
    archive.select([0])
    assert archive.clock(0) == []
    pieces = [piece[["time", "communicator", "amount"]].tolist() for piece in archive.events(0)]
    assert list(itertools.chain(*pieces)) == [(100 + k, value, value) for k in range(100) for value in range(200)]
    assert len(pieces) > 1
    assert archive.records == 100


def test_definitions(tmp_path):
    path = small.archive(tmp_path / "t", {5: small.calls(1), 1 << 40: small.calls(1)}, groups=[(0, 4, [5, 1 << 40]), (0, 5, [1, 0])])
    found = read(path).definitions
    assert (found.creator, found.description, found.machine, found.properties) == ("tests", "", "", {"TESTS::SMALL": "yes"})
    assert (found.resolution, found.global_offset, found.trace_length, found.realtime) == (10**9, 100, 50, -1)
    assert (found.version[0], found.substrate) == (3, 1)
    assert [found.string(ref) for ref in range(-1, len(small.STRINGS) + 1)] == ["", *small.STRINGS, ""]
    assert found.nodes == {0: defined.Node(0, 1, 2, -1)}
    assert found.node_properties == [defined.NodeProperty(0, 11, 11, 12)]
    assert found.location_groups == {0: defined.LocationGroup(0, 3, 1, 0, -1)}
    assert found.locations == [defined.Location(5, 4, 1, 2, 0), defined.Location(1 << 40, 4, 1, 2, 0)]
    assert found.regions[2] == defined.Region(2, 9, 9, 0, 1, 4, 0, 8, 10, 20)
    assert [(group.ref, group.type, group.members) for group in found.groups] == [(0, 4, [5, 1 << 40]), (0, 5, [1, 0])]
    assert found.comms == {0: defined.Comm(0, 7, 0, -1, 0)}
    assert found.inter_comms == {1: defined.InterComm(1, 7, 0, 0, 0, 0)}
    assert found.parameters == {0: defined.Parameter(0, 11, 1)}
    assert found.metric_members == {0: defined.MetricMember(0, 9, 0, 1, 0, 4, 1, -3, 11)}
    assert found.metric_classes == {0: defined.MetricClass(0, [0, 0], 0, 2)}
    assert found.metric_instances == {1: defined.MetricInstance(1, 0, 5, 0, 5)}
    assert found.dimensions == {0: defined.Dimension(0, 11, 3, 1)}
    assert found.topologies == {0: defined.Topology(0, 7, 0, [0])}
    assert found.coordinates == [defined.Coordinates(0, 1, [2])]
    assert found.windows == {0: defined.Window(0, 11, 0, 0)}


def test_clocks_and_maps__as_the_python_bindings_apply_them(tmp_path):
    offsets = {2: [(100, -40, 0.5), (110, 20, 0.25), (150, 1000, 0.0)], 1: [(105, 7, 0.0)]}
    locations = {1: small.calls(20, 1000), 2: small.calls(20, 95), 3: small.calls(2)}
    path = small.archive(tmp_path / "t", locations, offsets=offsets, maps={2: [0, 2, 1]}, inter=False)
    found = read(path)
    assert found.offsets == [(1, 105, 7, 0.0), (2, 100, -40, 0.5), (2, 110, 20, 0.25), (2, 150, 1000, 0.0)]
    theirs = {1: [], 2: [], 3: []}
    with otf2.reader.open(path) as trace:
        for location, event in trace.events:
            theirs[location._ref].append([event.time, event.region._ref])
    assert {one.ref: [line[1:3] for line in rows(one)] for one in found.locations} == theirs
    assert theirs[2][0] == [95 - 70, 2]


@pytest.mark.parametrize("name", ["t/traces.otf2", "t/traces", "t", "t/"])
def test_paths(three, name):
    path = str(three.parent.parent / name)
    assert OTF2.looks_like(path)
    assert [one.records for one in read(path).locations] == [20, 40, 60]


def test_looks_like__no(three, tmp_path):
    shutil.copy(three, three.parent / "second.otf2")
    (tmp_path / "text.otf2").write_text("hello")
    paths = [three.parent, tmp_path / "text.otf2", tmp_path / "missing", three.parent / "traces.def", "a\0b", "", "/dev/null"]
    assert [path for path in map(str, paths) if OTF2.looks_like(path)] == []


@pytest.mark.slow
def test_shares__give_the_same(three, monkeypatch, no_children):
    alone = read(three)
    monkeypatch.setattr(otf2_read, "_WORTH", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    said = []
    shared = read(three, progress=lambda done, total: said.append((done, total)))
    assert shared.definitions == alone.definitions
    assert [rows(one) for one in shared.locations] == [rows(one) for one in alone.locations]
    total = sum(path.stat().st_size for path in (three.parent / "traces").glob("*.evt"))
    assert said[-1] == (total, total)
    assert no_children()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("traces.otf2", b"", "traces.otf2: an empty file, must be a file of an OTF2 archive"),
        ("traces.otf2", b"hello", "traces.otf2: 'hello', must be the anchor file of an OTF2 archive"),
        ("traces.otf2", b"\x03BOTF2", "traces.otf2: invalid or inconsistent record data (INVALID_DATA), must be of a sound OTF2 archive"),
        ("traces.otf2", None, "traces.otf2: no such file or directory"),
        ("traces.def", b"", "traces.def: an empty file, must be a file of an OTF2 archive"),
        ("traces.def", b"nonsense", "traces.def: invalid or inconsistent record data (INVALID_DATA), must be of a sound OTF2 archive"),
        ("traces.def", None, "traces.otf2: an anchor file without its definitions, must have traces.def beside it"),
    ],
)
def test_refused__archive(three, name, content, message, no_children):
    file = three.parent / name
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    assert refused(three) == message
    assert no_children()


def test_refused__place_of_a_file(three, tmp_path):
    (three.parent / "traces.def").unlink()
    (three.parent / "traces.def").mkdir()
    assert refused(three) == "traces.def: a directory, must be a file of an OTF2 archive"
    three.rename(three.parent / "traces.trace")
    message = "traces.trace: a name without .otf2, must have it for the other files of the archive to be found"
    assert refused(three.parent / "traces.trace") == message
    assert refused(three.parent / "none") == "none: no such file or directory"
    assert refused(three.parent) == "t: a directory, must be a file of an OTF2 archive"
    with pytest.raises(TraceError, match=r"^'a\\x00b': embedded null byte$"):
        read("a\0b")


def test_refused__large_anchor(three):
    with open(three, "r+b") as file:
        file.truncate((64 << 20) + 1)
    assert refused(three) == "traces.otf2: 67108865 bytes, must be the anchor file of an OTF2 archive"


@pytest.mark.slow
def test_refused__definitions(tmp_path):
    path = small.archive(tmp_path / "a", {})
    assert refused(path) == "traces.otf2: no location is defined, must have at least one"
    path = small.archive(tmp_path / "b", {0: small.calls(1)}, resolution=0)
    assert refused(path) == "traces.otf2: no clock resolution is defined, must have ticks per second"


def test_refused__members_without_end(three, monkeypatch):
    monkeypatch.setattr(otf2_archive, "DEFINITIONS", {"MetricClass": otf2_archive.DEFINITIONS["MetricClass"]})
    archive = otf2_archive.Archive(str(three))
    with pytest.raises(otf2_library.Failure, match=r"^MetricClass 0 of 2 members \(INVALID_RECORD\)$"):
        archive.found(1, lambda: None)


@pytest.mark.slow
def test_refused__no_events(tmp_path, three):
    path = small.archive(tmp_path / "a", {0: [], 1: []})
    assert refused(path) == "traces.otf2: no event record, must have at least one"
    shutil.rmtree(three.parent / "traces")
    what = "its definitions: file or directory does not exist (ENOENT); no file 1.evt (ENOENT)"
    assert refused(three) == f"traces.otf2: no event record can be read ({what}), must have at least one"


@pytest.mark.parametrize(
    ("file", "size", "records", "error"),
    [
        ("2.evt", None, 0, "no file 2.evt (ENOENT)"),
        ("2.evt", 0, 0, "invalid or inconsistent record data (INVALID_DATA)"),
        ("2.evt", 150, 11, "invalid or inconsistent record data (INVALID_DATA)"),
        ("2.def", None, 40, "its definitions: file or directory does not exist (ENOENT)"),
        ("2.def", 0, 40, "its definitions: invalid or inconsistent record data (INVALID_DATA)"),
    ],
)
def test_damaged_location__keeps_what_can_be_read(three, file, size, records, error):
    path = three.parent / "traces" / file
    if size is None:
        path.unlink()
    else:
        os.truncate(path, size)
    found = read(three).locations
    assert [(one.records, one.error) for one in found] == [(20, None), (records, error), (60, None)]
    assert [line[1] for line in rows(found[1])] == list(range(100, 100 + records))


def test_fewer_records_than_defined(tmp_path):
    path = small.archive(tmp_path / "t", {0: small.calls(2), 1: small.calls(2), 2: []}, events={0: 5, 1: 1, 2: 3})
    shutil.copy(tmp_path / "t" / "traces" / "0.evt", tmp_path / "t" / "traces" / "2.evt")
    assert [(one.records, one.error) for one in read(path).locations] == [(4, "4 of 5 records"), (4, None), (4, None)]


@pytest.mark.parametrize(
    ("consumer", "error"),
    [
        ("CrashAtTwo", "the OTF2 library crashed (SIGSEGV)"),
        ("LeaveAtTwo", "the OTF2 library ended its process with status 3"),
        ("Greedy", "its events need too much memory"),
    ],
)
@pytest.mark.slow
def test_lost_worker__loses_one_location(three, consumer, error, no_children):
    found = read(three, consumer).locations
    assert [one.error for one in found] == [None, error, None]
    assert [len(rows(one)) for one in found] == [20, 0, 60]
    assert no_children()


@pytest.mark.slow
def test_hanging_worker__loses_one_location(three, monkeypatch, no_children):
    monkeypatch.setattr(otf2_read, "_PATIENCE", 2.0)
    assert [one.error for one in read(three, "HangAtTwo").locations] == [None, "the OTF2 library hangs", None]
    assert no_children()


@pytest.mark.slow
def test_lost_worker__all_of_them(three, monkeypatch):
    what = "no event record can be read (the OTF2 library crashed (SIGABRT)), must have at least one"
    assert refused(three, "CrashAlways") == f"traces.otf2: {what}"
    monkeypatch.setattr(otf2_read, "_LOSSES", 1)
    assert refused(three, "CrashAlways") == f"traces.otf2: {what}"


def test_lost_worker__on_the_definitions(three, no_children):
    with pytest.raises(TraceError) as info:
        otf2_read.record(str(three), None, "otf2_small:CRASH_ON_SIGHT")
    assert str(info.value) == f"{three}: the OTF2 library crashed (SIGBUS) on its definitions, must be a sound OTF2 archive"
    assert no_children()


def test_bug__is_shown_whole(three, no_children):
    with pytest.raises(RuntimeError, match=r"(?s)^Traceback .*ZeroDivisionError\n$"):
        read(three, "Wrong")
    assert no_children()


def test_interrupt__leaves_no_process(three, no_children):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read(three, progress=stop)
    assert no_children()


def test_library__missing(monkeypatch, three):
    monkeypatch.setattr(otf2_library, "_candidates", lambda: iter(["/nowhere/libotf2.so"]))
    with pytest.raises(LibraryError) as info:
        otf2_library.load.__wrapped__()
    assert str(info.value) == "reading and writing OTF2 needs the OTF2 library: pip install otf2, or a system libotf2"
    assert info.value.exit_code == USAGE
    with pytest.raises(LibraryError, match=r"^reading and writing OTF2 needs the OTF2 library: "):
        read(three, "WithoutLibrary")


def test_library__too_old(monkeypatch):
    monkeypatch.setattr(otf2_library, "_candidates", lambda: iter([None]))
    with pytest.raises(LibraryError, match=r"an OTF2 library older than 3\.0, must be 3\.0 or later$"):
        otf2_library.load.__wrapped__()


def test_library__failures_have_names(capfd):
    library = otf2_library.load()
    with pytest.raises(otf2_library.Failure) as info:
        library.call("Reader_Open", b"/nowhere/traces.otf2")
    assert (info.value.name, info.value.code, str(info.value)) == ("ENOENT", 41, "file or directory does not exist (ENOENT)")
    with pytest.raises(otf2_library.Failure, match=r"\(INVALID_ARGUMENT\)$"):
        library.call("Reader_Close", None) or library.call("Reader_GetVersion", None, None, None, None)
    assert not library.has("Reader_Guess")
    with pytest.raises(AttributeError):
        _ = library._guess
    assert capfd.readouterr() == ("", "")


def test_endless__more_records_than_the_file_can_hold():
    """As of a damaged chunk, behind which the library reads on in what its memory held before."""

    class Endless:
        records = 0

        def events(self, ref):
            while True:
                self.records += 100_000
                yield ref

    location = defined.Location(7, 4, 1, 25, 0)
    with pytest.raises(worker._MoreThanDefinedError):
        next(worker._events(Endless(), location, 561))
    rows = worker._events(Endless(), location, 561, more=True)
    assert list(itertools.islice(rows, 5)) == [7] * 5
    with pytest.raises(otf2_library.Failure, match=r"^600000 records and more, must fit into 561 bytes \(INVALID_DATA\)$"):
        next(rows)


def test_endless__rows_are_taken_up_to_where_times_go_back():
    """Times 3 5 | 5 8 4 9: four rows are those of the file; the library goes on with what its memory held before."""
    pieces = (np.array([(time,) for time in times], [("time", "i8")]) for times in ((3, 5), (5, 8, 4, 9), (10,)))
    rows = worker._in_time(pieces)
    assert [next(rows)["time"].tolist() for _ in range(2)] == [[3, 5], [5, 8]]
    with pytest.raises(otf2_library.Failure, match=r"^its times go back behind these, as of a file that is cut off \(INVALID_DATA\)$"):
        next(rows)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_fuzz__a_recording_or_one_line(tmp_path, monkeypatch, seed, no_children):
    forked.use(monkeypatch)
    monkeypatch.setattr(otf2_read, "_PATIENCE", 2.0)
    path = small.archive(
        tmp_path / "t", {0: small.timed(small.EVERYTHING), 1: small.calls(9)}, groups=[(0, 4, [0, 1])], maps={1: [0, 2, 1]}
    )
    files = {file: file.read_bytes() for file in sorted((tmp_path / "t").rglob("*.*"))}
    luck = random.Random(seed)
    for _ in range(20):
        file = luck.choice(list(files))
        file.write_bytes(mutated(files[file], luck))
        assert "\n" not in outcome(path)
        file.write_bytes(files[file])
    assert no_children()


def outcome(path):
    """Return what is said about an archive: its refusal, or the errors of its locations."""
    try:
        return "".join(one.error or "" for one in read(path).locations)
    except TraceError as error:
        return str(error)


def mutated(data, luck):
    """Return the bytes with some changed, taken out or put in."""
    at = luck.randrange(len(data))
    end = at + luck.randrange(1, 20)
    return luck.choice(
        [
            data[:at],
            data[:at] + luck.randbytes(1) + data[at + 1 :],
            data[:at] + bytes([luck.choice([0, 1, 8, 127, 128, 255])]) + data[at + 1 :],
            data[:at] + data[end:],
            data[:at] + b"\xff" * (end - at) + data[end:],
            data[:at] + luck.randbytes(end - at) + data[at:],
        ]
    )
