"""ALOG as it is read: the real files, what the two viewers accept, every attribute of perwiz-ext 1, and cases worked by hand."""

import dataclasses
import gzip
import pathlib
import re
import zlib

import pytest
import zstandard

import perwiz
from build import equal
from perwiz.errors import TraceError
from perwiz.formats.alog import communicators as alog_communicators
from perwiz.formats.alog import read as alog_read
from perwiz.trace import defects, operations, tables
from perwiz.trace.tables import ANY, NONE

TRACES = pathlib.Path(__file__).parents[3] / "traces"
SRTEST = (TRACES / "srtest.alog").read_bytes()
ROUTINES = [
    *("Send", "Recv", "Isend", "Irecv", "Wait", "Waitall", "Barrier", "Bcast", "Reduce", "Iallreduce", "Sendrecv", "Ssend", "Bsend"),
    *("Rsend", "Comm_rank"),
]
STATES = {name: 2 * k + 1 for k, name in enumerate([*(f"MPI_{name}" for name in ROUTINES), "work", "loop"])}
DEFINITIONS = "".join(f"-13 0 {begin} {begin + 1} 0 0 red:gray {name}\n" for name, begin in STATES.items())
EXTENDED = "-30 0 0 1 0 0 perwiz-ext 1\n"


@pytest.fixture
def reading(tmp_path):
    """Return reading(data), the trace in a file with this content."""

    def read(data, name="a.alog"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode("latin-1"))
        return perwiz.read(str(path))

    return read


@pytest.fixture
def traced(reading):
    """Return traced(events, *headers), the trace of records in which `Send+` stands for the begin of MPI_Send and `Send-` for its end."""

    def read(events, *headers):
        text = re.sub(r"(?m)^ *(\w+)([+-]) ", lambda found: f"{number(found[1]) + (found[2] == '-')} ", events)
        return reading(
            DEFINITIONS + "".join(f"{header}\n" for header in headers) + "\n".join(line.strip() for line in text.splitlines()) + "\n"
        )

    return read


@pytest.fixture
def extended(traced):
    """Return traced with perwiz-ext 1."""
    return lambda events, *headers: traced(events, EXTENDED.rstrip(), *headers)


def number(word):
    return STATES.get(f"MPI_{word}") or STATES[word]


def names(trace):
    return [operations.OPS[op].removeprefix("MPI_") for op in trace.calls.op]


def times(table):
    return list(zip(table.enter.tolist(), table.leave.tolist(), strict=True))


def rows(table):
    """Return the rows of a table as tuples."""
    return list(zip(*(getattr(table, field.name).tolist() for field in dataclasses.fields(table)), strict=True))


def matched(trace):
    """Return the messages as tuples, but not how far inside their calls they were recorded."""
    return [row[:-2] for row in rows(trace.messages)]


def found(trace):
    """Return the defects as (line, reason)."""
    return [(line, defects.REASONS[reason]) for line, _, reason in rows(trace.defects)]


def requested(trace):
    """Return the requests as (posted by, completed by)."""
    return [row[:2] for row in rows(trace.requests)]


def same(one, other):
    """Whether two traces are equal but for their paths."""
    assert [
        field.name
        for field in dataclasses.fields(one)
        if field.name != "path" and not equal(getattr(one, field.name), getattr(other, field.name))
    ] == []


# The real files, as in traces/README.md: processes with their threads, event records, states, messages, stand-alone events.
REAL = {
    "srtest.alog": (3, 102, 36, 15, 0),
    "cpilog.alog": (4, 160, 80, 0, 0),
    "monte.log": (3, 246, 82, 41, 0),
    "gmm.log": (3, 294, 147, 0, 0),
    "fpilog.log": (4, 64, 28, 0, 8),
    "sync.log": (8, 384, 192, 0, 0),
    "cpilog.log.gz": (4, 392, 196, 0, 0),
    "early_send.log.gz": (5, 656, 324, 0, 0),
    "late_send.log.gz": (5, 656, 324, 0, 0),
    "sam_hyp.log.gz": (16, 593, 296, 0, 1),
    "ch4upd.log.gz": (8, 3760, 1872, 0, 16),
    "grid.log.gz": (17, 8769, 3184, 0, 2401),
    "p_m3.alog.gz": (16, 48840, 15368, 9052, 0),
    "pmandel.alog.gz": (4, 10582, 3818, 1391, 0),
    "simple.alog.gz": (4, 160, 80, 0, 0),
    "nesttest.alog.gz": (1, 238, 119, 0, 0),
    "team-static.alog.gz": (4, 506, 212, 20, 42),
    "team-dynamic.alog.gz": (4, 506, 212, 20, 42),
    "farm.alog.gz": (4, 748, 272, 102, 0),
    "farm-blocks.alog.gz": (4, 280, 140, 0, 0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real(name):
    trace = perwiz.read(str(TRACES / name))
    counts = trace.counts
    assert (len(trace.locations), counts.records, counts.states, len(trace.messages), counts.single_events) == REAL[name]
    assert (counts.unmatched_sends, counts.unmatched_receives, counts.size_differs) == (0, 0, 0)
    assert len(trace.defects) == (8 if "_send" in name else 0)


def test_real__all_listed():
    files = {path.name for path in TRACES.iterdir() if path.is_file()} - {"README.md"}
    assert files == set(REAL)
    lines = [line.split("|")[1:7] for line in (TRACES / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    listed = {name.strip(" `"): tuple(map(int, counts)) for name, *counts in lines}
    assert {name: counts for name, counts in listed.items() if not name.endswith("/")} == REAL


def test_real__srtest():
    """Three processes hand a message around; process 1 receives before it sends."""
    trace = perwiz.read(str(TRACES / "srtest.alog"))
    first = trace.calls.location == 1
    assert [name for name, mine in zip(names(trace), first, strict=True) if mine][:3] == ["Barrier", "Recv", "Send"]
    assert matched(trace)[0] == (1, 1, 13, 13, 99, 0, 0, 12)
    assert [len(trace.members), trace.collectives.op.tolist()] == [6, [operations.OP["MPI_Barrier"]] * 2]
    assert (trace.timeline.makespan, times(trace.timeline.calls)[0]) == (412_568_000, (0, 326_394_000))
    assert trace.format == "ALOG"


@pytest.mark.slow
def test_real__messages_inside_collectives_are_not_counted_twice():
    """MPICH 1.2 makes its collectives of messages and logs them: they name roots but are no messages."""
    trace = perwiz.read(str(TRACES / "pmandel.alog.gz"))
    counts = trace.counts
    assert (counts.sends, counts.receives, counts.internal_messages, counts.internal_calls) == (1391, 1391, 164, 132)
    assert counts.rootless_collectives == 0
    assert set(operations.KIND[trace.calls.op[trace.messages.send]]) == {operations.SEND}
    assert not operations.COLLECTIVE[trace.calls.op[trace.messages.receive]].any()


@pytest.mark.slow
def test_real__a_message_logged_after_its_send_is_a_call_of_its_own():
    """p_m3 logs messages outside of any MPI state; its states are regions of the user."""
    trace = perwiz.read(str(TRACES / "p_m3.alog.gz"))
    assert set(names(trace)) == {"Send", "Recv"}
    assert len(trace.calls) == 2 * 9052
    assert (trace.timeline.calls.enter == trace.timeline.calls.leave).all()


def test_real__printf_formats_and_times_of_headers_are_no_events():
    trace = perwiz.read(str(TRACES / "sam_hyp.log.gz"))
    assert (len(trace.regions), trace.timeline.locations.enter.min()) == (296, 0)


# What the two viewers make of variants of srtest.alog is known; perwiz reads all of them.
def edited(line, with_, count=1):
    """Return srtest.alog with the first line that begins so replaced."""
    return re.sub(rb"(?m)^" + line + rb".*\n", lambda _: with_, SRTEST, count=count)


HEADS, EVENTS = (
    b"".join(line for line in SRTEST.splitlines(keepends=True) if (re.match(rb"-\d\d? ", line) is not None) == head)
    for head in (True, False)
)
FIRST = EVENTS[: EVENTS.index(b"\n") + 1]
SAME = {
    "comment": b"# hello\n" + SRTEST,
    "blank line": SRTEST.replace(b"\n11 ", b"\n\n \t\n11 ", 1),
    "CRLF": SRTEST.replace(b"\n", b"\r\n"),
    "tabs": re.sub(rb"(?m)^(\S+) (\S+) (\S+) (\S+) (\S+) ", rb"\1\t\2\t\3\t\4\t\5\t", SRTEST),
    "leading blanks": re.sub(rb"(?m)^", b"   ", SRTEST.removesuffix(b"\n")) + b"\n",
    "no final newline": SRTEST.removesuffix(b"\n"),
    "states defined late": HEADS.replace(b"-13 0 155", b"-12 0 155")
    + EVENTS.replace(FIRST, FIRST + b"-13 0 155 156 0 0 green:light_gray RECV\n", 1),
    "headers last": EVENTS + HEADS,
    "no -3": edited(rb"-3 ", b""),
    "no -6 and -7": edited(rb"-[67] ", b"", 2),
    "long first line": SRTEST.replace(b" Me\n", b" " + b"Me" * 2500 + b"\n"),
    "long line": edited(rb"161 ", re.search(rb"(?m)^161 .*", SRTEST)[0] + b"x" * 3000 + b"\n"),
    "state defined twice": SRTEST.replace(b"\n11 ", b"\n-13 0 11 12 0 0 red:gray OTHER\n11 ", 1),
    "colour without bitmap": SRTEST.replace(b"green:light_gray RECV", b"green RECV"),
    "lone name": SRTEST.replace(b"green:light_gray RECV", b"RECV"),
    "string on a state": edited(rb"161 ", re.search(rb"(?m)^161 .*", SRTEST)[0] + b"who knows @ what\n"),
    "words behind the size": re.sub(rb"(?m)^(-10[12] .*)", rb"\1 and more @ c=9", SRTEST),
    "garbage in strings": re.sub(rb"(?m)^(1[56]\d .*)", b"\\1\xff\x00\x07\x80", SRTEST),
}


@pytest.mark.parametrize("name", SAME)
def test_accepted__nothing_changes(reading, name):
    same(reading(SAME[name]), reading(SRTEST.replace(b"-3 0 0 3", b"-3 0 0 0") if name == "no -3" else SRTEST))


@pytest.mark.parametrize("name", ["srtest.alog", "monte.log", "fpilog.log", *SAME])
def test_accepted__a_few_lines_at_a_time(reading, monkeypatch, name):
    """What is open, counted and numbered carries over from batch to batch."""
    data = SAME.get(name) or (TRACES / name).read_bytes()
    whole = reading(data)
    monkeypatch.setattr(alog_read, "LINES", 3)
    same(reading(data), whole)


def test_accepted__decimals(reading):
    """All events an eighth of a microsecond later: no difference, as times count from the first."""
    same(reading(re.sub(rb"(?m)^((?!-\d\d? )\S+ \d \d \d+ \d \d+)", rb"\1.125", SRTEST)), reading(SRTEST))


def test_accepted__names_a_state_of_the_same_name(reading):
    """Two definitions named RECV: both count."""
    more = b"-13 0 700 701 0 0 green:gray RECV\n" + SRTEST + b"700 0 0 0 0 412569\n701 0 0 0 0 412570\n"
    assert reading(more).counts.states == 37


def test_accepted__constants(reading):
    """-201 records are stand-alone events."""
    trace = reading(SRTEST.replace(b"\n11 ", b"\n-201 0 0 -1 0 0 MPI_PROC_NULL\n-201 0 0 -2 0 0 MPI_ANY_SOURCE\n11 ", 1))
    assert (trace.counts.single_events, trace.counts.records, len(trace.calls)) == (2, 104, 36)


def test_accepted__message_without_string(reading):
    trace = reading(SRTEST + b"-101 0 0 1 0 412600\n")
    assert (found(trace), trace.counts.sends) == ([(115, "message without tag and size")], 15)


def test_accepted__clock_events_of_p4(reading):
    """In a file of p4, -101 to -104 without tag and size are clock events."""
    clock = b"-101 0 0 1 0 412600\n-102 1 0 1 0 412600  \n-103 0 0 1 0 412600\n-104 0 0 1 0 412600\n"
    trace = reading(SRTEST.replace(b"Me", b"P4 May- 9-90") + clock)
    assert (len(trace.defects), trace.counts.single_events, trace.counts.sends) == (0, 4, 15)


def test_accepted__large_sizes(reading):
    trace = reading(SRTEST + b"-101 0 0 1 0 412600 99 5000000000\n-102 1 0 0 0 412700 99 5000000000\n")
    assert (len(trace.messages), trace.messages.bytes.max()) == (16, 5_000_000_000)


def test_accepted__partner_nobody_has_seen(reading):
    trace = reading(SRTEST + b"-101 0 0 7 0 412600 99 4\n")
    assert (trace.counts.unmatched_sends, trace.calls.peer.max(), len(trace.locations)) == (1, 7, 3)


def test_accepted__cut_off_in_a_line(reading):
    assert found(reading(SRTEST + b"11 0 0 ")) == [(115, "cut off in the middle of a line")]


# perwiz-ext 1, records of the header.
PAIR = "Send+ 0 0 1 0 0\n-101 0 0 1 0 0 7 100\nSend- 0 0 2 0 4\nRecv+ 1 0 1 0 1\n-102 1 0 0 0 5 7 100\nRecv- 1 0 2 0 5"


def test_extension__signature(traced):
    assert traced(PAIR).format == "ALOG"
    assert traced(PAIR, EXTENDED.rstrip()).format == "ALOG, perwiz-ext 1"
    assert traced(PAIR, "-30 0 0 2 0 0 perwiz-ext 2").format == "ALOG"


def test_extension__communicators(extended):
    """Parts are put together in the order of their numbers; row 0 is the world."""
    trace = extended(PAIR, "-31 1 5 4 0 0 a row 10-11", "-31 0 5 4 0 0 a row 8,1-2", "-31 0 2 0 0 0 all 0-1", "-31 0 1 2 0 0 self 1")
    assert trace.communicators.names == ("all", "self", "a row")
    assert [trace.communicators.members(row).tolist() for row in range(3)] == [[0, 1], [1], [8, 1, 2, 10, 11]]
    assert not len(trace.defects)


@pytest.mark.parametrize("record", ["-31 -1 0 4 0 0 a 0", "-31 0 0 -4 0 0 a 0", "-31 0 0 4 0 0", "-31 0 0 4 0 0 0-1"])
def test_extension__communicators_without_number_or_name(extended, record):
    trace = extended(PAIR, record)
    assert (len(trace.communicators), len(trace.defects)) == (1, 1)


def test_extension__communicators_too_large_together(extended, monkeypatch):
    monkeypatch.setattr(alog_communicators, "MOST_RANKS", 5)
    trace = extended(PAIR, "-31 0 3 1 0 0 a 0-2", "-31 0 3 2 0 0 b 0-2", "-31 0 2 3 0 0 c 0-1")
    assert (trace.communicators.names, len(trace.defects)) == (("world", "a", "c"), 1)


@pytest.mark.parametrize("ranks", ["0-", "1-0", "0,,1", "0,0", "0-3,2", "x", "-1", "0-4294967295", "0-4194304", "0-1", "1e3", ""])
def test_extension__communicators_that_cannot_be_used(extended, ranks):
    """Two ranks are promised in the last but two."""
    trace = extended(PAIR, f"-31 0 {3 if ranks == '0-1' else 0} 4 0 0 bad {ranks}")
    assert trace.communicators.names == ("world",)
    assert found(trace) == [(DEFINITIONS.count("\n") + 2, "header record that cannot be used")]


def test_extension__world_without_record(extended):
    """The processes that occur."""
    trace = extended("Barrier+ 5 0 1 0 0\nBarrier- 5 0 1 0 1\nBarrier+ 2 0 1 0 0\nBarrier- 2 0 1 0 1")
    assert (trace.communicators.names, trace.communicators.ranks.tolist(), len(trace.members)) == (("world",), [2, 5], 2)


def test_extension__placement(extended):
    """Nodes are numbered as in the file; without a host their number is their name."""
    heads = ("-32 0 0 7 0 0 host=n7 cpu=3 metahost=1", "-32 1 0 2 0 0 cpu=12345678901 kind=strange", "-32 9 0 1 0 0 host=away")
    trace = extended(PAIR, *heads)
    assert (rows(trace.locations), trace.nodes) == ([(1, 1, 0, 0, 3, 0), (0, 0, 1, 0, -1, 0)], ("2", "n7"))


def test_extension__placement_without_node(extended):
    assert rows(extended(PAIR, "-32 0 0 -1 0 0 cpu=4").locations)[0] == (0, -1, 0, 0, 4, 0)


def test_extension__kinds(extended):
    """The first task of a process is the process, and others are threads, unless the file says so."""
    events = "\n".join(f"work+ {process} {task} 1 0 0\nwork- {process} {task} 2 0 4" for process, task in ((0, 0), (0, 1), (0, 2), (1, 3)))
    trace = extended(events, "-32 0 2 -1 0 0 metahost=0 kind=stream", "-32 1 3 -1 0 0 kind=thread")
    assert trace.locations.kind.tolist() == [tables.PROCESS, tables.THREAD, tables.STREAM, tables.THREAD]


def test_extension__routine(extended):
    """A routine overrides the name of the state, and stands in for a missing definition."""
    trace = extended(
        "work+ 0 0 1 0 0\nwork- 0 0 2 0 4\n901 0 0 1 0 5\n902 0 0 1 0 6",
        f"-33 0 {number('work')} {number('work') + 1} 0 0 MPI_Ssend",
        "-33 0 901 902 0 0 MPI_Barrier",
    )
    assert (names(trace), trace.names) == (["Ssend", "Barrier"], ())


def test_extension__parallel_region(extended):
    trace = extended(
        "loop+ 0 0 1 0 0\nloop- 0 0 2 0 4\n901 0 0 1 0 5\n902 0 0 1 0 6",
        f"-34 0 {number('loop')} {number('loop') + 1} 0 0 PRGN loop",
        "-34 0 901 902 0 0 PRGN other",
    )
    assert (trace.names, trace.parallel.tolist(), times(trace.timeline.regions)) == (
        ("loop", "other"),
        [True, True],
        [(0, 4000), (5000, 6000)],
    )


def test_extension__parallel_region_with_the_name_of_a_routine(extended):
    trace = extended("901 0 0 1 0 5\n902 0 0 1 0 6", "-34 0 901 902 0 0 PRGN Reduce")
    assert (trace.names, len(trace.calls)) == (("Reduce",), 0)


def test_extension__clock_offsets(extended):
    trace = extended(
        PAIR, "-35 1 0 0 0 326012.5 off=0.25 drift=-1.5 err=3", "-35 7 0 0 0 0 off=1 drift=1 err=1", "-35 0 0 0 0 0 off=nan drift=1 err=1"
    )
    assert rows(trace.offsets) == [(1, 326_012_500, 0.25, -1.5, 3.0)]
    assert [reason for _, reason in found(trace)] == ["header record that cannot be used"]


def test_extension__properties(extended):
    assert extended(PAIR, "-36 0 0 0 0 0 S=65536", "-36 0 0 0 0 0 program=a=b c").properties == {"S": "65536", "program": "a=b c"}


# perwiz-ext 1, attributes: the column that each ends up in.
WORLD = ("-31 0 4 0 0 0 world 0-3", "-31 0 2 5 0 0 half 3,1")
COLUMNS = [
    ("Send+ 0 0 1 0 0 @ c=5", "comm", 1),
    ("Send+ 0 0 1 0 0 @", "comm", 0),
    ("Comm_rank+ 0 0 1 0 0", "comm", NONE),
    ("Comm_rank+ 0 0 1 0 0 @ c=0", "comm", 0),
    ("Barrier+ 0 0 1 0 0 text @ zz=1 c=5 c", "comm", 1),
    ("Irecv+ 0 0 1 0 0 @ c=5 p=0 t=3", "peer", 3),
    ("Irecv+ 0 0 1 0 0 @ p=1 c=5 t=3", "peer", 1),
    ("Irecv+ 0 0 1 0 0 @ p=2 t=3", "peer", 2),
    ("Irecv+ 0 0 1 0 0 @ p=-2 t=3", "peer", ANY),
    ("Irecv+ 0 0 1 0 0 @ p=-1 t=3", "peer", NONE),
    ("Irecv+ 0 0 1 0 0 @ p=-2 t=-1", "tag", ANY),
    ("Irecv+ 0 0 1 0 0 @ p=-2 t=3", "tag", 3),
    ("Bcast+ 0 0 1 0 0 @ c=5 r=0", "root", 3),
    ("Bcast+ 0 0 1 0 0 @ r=2", "root", 2),
    ("Barrier+ 0 0 1 0 0 @ r=-1", "root", NONE),
    ("Bcast+ 0 0 1 0 0 @ sb=123456789012", "bytes_sent", 123_456_789_012),
    ("Bcast+ 0 0 1 0 0\t@\trb=7", "bytes_received", 7),
    ("Bcast+ 0 0 1 0 0 @ rb=7 rb=8", "bytes_received", 8),
]


@pytest.mark.parametrize(("line", "column", "value"), COLUMNS)
def test_attributes__of_calls(extended, line, column, value):
    trace = extended(f"{line}\nwork+ 0 0 1 0 9", *WORLD)
    assert getattr(trace.calls, column).tolist() == [value]
    assert [reason for _, reason in found(trace)] == ["state that never ends"] * 2


BAD = ["c=", "c=x", "c=-2", "c=6", "c=99999999999", "p=4", "p=-3", "p=9999999999", "t=-3", "t=2147483648", "r=4", "r=-2", "r=x"]
BAD += ["s=-1", "s=", "sb=-1", "sb=1125899906842625", "sb=9999999999999999999", "rb=1e3", "k=", "k=q", "k=sr", "q=-1", "q=", "o="]


@pytest.mark.parametrize("word", BAD)
def test_attributes__that_cannot_be_used(extended, word):
    """They count as defects of their line and change nothing; but an unknown communicator is not the world."""
    trace = extended(f"Bcast+ 0 0 1 0 0 @ {word}\nBcast- 0 0 1 0 1", *WORLD)
    assert found(trace) == [(DEFINITIONS.count("\n") + 4, "extension attribute that cannot be used")]
    bare = extended("Bcast+ 0 0 1 0 0\nBcast- 0 0 1 0 1", *WORLD)
    assert trace.calls.comm.tolist() == ([NONE] if word.startswith("c") else [0])
    assert (rows(trace.calls)[0][:5], rows(trace.calls)[0][6:]) == (rows(bare.calls)[0][:5], rows(bare.calls)[0][6:])
    assert trace.labels == bare.labels


def test_attributes__without_extension_say_nothing(traced):
    trace = traced("Bcast+ 0 0 1 0 0 @ c=77 r=1 sb=5\nBcast- 0 0 1 0 1")
    assert (trace.calls.bytes_sent.tolist(), len(trace.defects)) == ([0], 0)


def test_attributes__rank_in_an_unknown_communicator(extended):
    trace = extended("Irecv+ 0 0 1 0 0 @ c=9 p=0 q=1\nIrecv- 0 0 1 0 1", *WORLD)
    assert (trace.calls.peer.tolist(), trace.calls.comm.tolist()) == ([NONE], [NONE])


def test_attributes__messages_in_unknown_communicators_match_by_its_number(extended):
    line = PAIR.replace("7 100", "7 100 @ c={}").format
    assert [len(extended(line(*pair)).messages) for pair in ((8, 8), (8, 9), (0, 8), (0, 0))] == [1, 0, 0, 1]
    assert extended(line(8, 8)).messages.comm.tolist() == [NONE]


def test_attributes__root_that_never_occurs(extended):
    """The world is not listed: its ranks are the processes, and a root must be one that occurs."""
    trace = extended("Bcast+ 0 0 1 0 0 @ r=3\nBcast- 0 0 1 0 1")
    assert (trace.calls.root.tolist(), found(trace)) == ([NONE], [(-1, "extension attribute that cannot be used")])


def test_attributes__exact_bytes(extended):
    trace = extended(PAIR.replace("7 100", "7 2147483647 @ b=5000000000"))
    assert trace.messages.bytes.tolist() == [5_000_000_000]


@pytest.mark.parametrize(
    ("call", "message", "mode"), [("", "", 0), ("", "@ k=r", 1), ("@ k=b", "", 2), ("@ k=b", "@ k=y", 3), ("@ k=s", "", 0)]
)
def test_attributes__send_mode(extended, call, message, mode):
    """On the message, else on the call, else what the routine implies."""
    trace = extended(
        PAIR.replace("-101 0 0 1 0 0 7 100", f"-101 0 0 1 0 0 7 100 {message}").replace("Send+ 0 0 1 0 0", f"Send+ 0 0 1 0 0 {call}")
    )
    assert trace.messages.mode.tolist() == [mode]


@pytest.mark.parametrize(("routine", "mode"), [("Send", 0), ("Rsend", 1), ("Bsend", 2), ("Ssend", 3)])
def test_attributes__mode_the_routine_implies(traced, routine, mode):
    assert traced(PAIR.replace("Send", routine)).messages.mode.tolist() == [mode]


def test_attributes__message_numbers(extended):
    """Without m= the first send would go with the first receive."""
    sends = "".join(f"Send+ 0 0 1 0 {t}\n-101 0 0 1 0 {t} 7 {100 + t} @ m={m}\nSend- 0 0 1 0 {t}\n" for t, m in ((0, "one"), (1, 2)))
    receives = "".join(
        f"Recv+ 1 0 1 0 {t}\n-102 1 0 0 0 {t} 7 {s} @ m={m}\nRecv- 1 0 1 0 {t}\n" for t, m, s in ((5, 2, 101), (6, "one", 100))
    )
    trace = extended(sends + receives)
    assert [(m[0], m[2], m[7]) for m in matched(trace)] == [(0, 3, 100), (1, 2, 101)]


def test_attributes__a_few_lines_at_a_time(extended, monkeypatch):
    """Each finds its call, message and region in whatever batch it comes."""
    one = "loop+ {0} 0 9 0 0 @ i=7\nSend+ {0} 0 1 0 1 @ sb=5\n-101 {0} 0 {1} 0 1 7 100 @ m={0}\nSend- {0} 0 2 0 4\n".format
    two = "Recv+ {0} 0 1 0 5 @ o=x\n-102 {0} 0 {1} 0 5 7 100 @ m={1} b=5\nRecv- {0} 0 2 0 5\nloop- {0} 0 9 0 7\n".format
    events = one(0, 1) + one(1, 0) + two(0, 1) + two(1, 0)
    whole = extended(events)
    assert (len(whole.messages), whole.messages.bytes.tolist(), len(whole.labels)) == (2, [5, 5], 2)
    for batch in (1, 2, 5):
        monkeypatch.setattr(alog_read, "LINES", batch)
        same(extended(events), whole)


def test_attributes__message_number_of_other_partners(extended):
    """A number both sides carry does not tie what goes elsewhere."""
    assert (
        len(extended(PAIR.replace("-101 0 0 1 0 0 7 100", "-101 0 0 2 0 0 7 100 @ m=1").replace("5 7 100", "5 7 100 @ m=1")).messages) == 0
    )


def test_attributes__internal(extended):
    """n=1 marks traffic that is not the program's, inside a call or outside."""
    inside = PAIR.replace("7 100", "7 100 @ n=1")
    for events in (inside, "\n".join(line for line in inside.splitlines() if line.startswith("-10"))):
        trace = extended(events)
        assert (trace.counts.internal_messages, trace.counts.sends, len(trace.messages)) == (2, 0, 0)


def test_attributes__sequence(extended):
    """Rank 1 lost its first barrier: s= tells which instances its calls belong to."""
    one = "".join(f"Barrier+ 0 0 1 0 {t} @ c=0 s={t}\nBarrier- 0 0 1 0 {t}\n" for t in range(3))
    two = "".join(f"Barrier+ 1 0 1 0 {t} @ c=0 s={t}\nBarrier- 1 0 1 0 {t}\n" for t in (1, 2))
    trace = extended(one + two)
    assert [(m[0], m[1]) for m in rows(trace.members)] == [(0, 0), (1, 1), (1, 3), (2, 2), (2, 4)]
    assert trace.counts.incomplete_collectives == 1


def test_attributes__labels(extended):
    """Whatever stands behind o=, commas included; of two the last."""
    events = ["Reduce+ 1 0 1 0 0 @ r=0 o=MPI_SUM,MPI_INT", "Reduce- 1 0 1 0 1", "Reduce+ 0 0 1 0 0 @ o=1 o=MPI_MAX", "Reduce- 0 0 1 0 1"]
    trace = extended("\n".join([*events, "Reduce+ 0 0 1 0 2 @ o=MPI_SUM,MPI_INT"]))
    assert [(call, trace.texts[text]) for call, text in rows(trace.labels)] == [
        (0, "MPI_MAX"),
        (1, "MPI_SUM,MPI_INT"),
        (2, "MPI_SUM,MPI_INT"),
    ]


def test_attributes__instance(extended):
    events = "".join(f"loop+ 0 0 9 0 {t} @ {word}\nloop- 0 0 9 0 {t}\n" for t, word in enumerate(("", "i=7", "i=-1", "i=2147483648")))
    assert extended(events).regions.instance.tolist() == [1, 7, 3, 4]


# Names, packing and places.
@pytest.mark.parametrize("name", ["a.alog", "a.gz", "a.zst", "a.txt", "a b\nc"])
@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, lambda data: gzip.compress(data[:1000]) + gzip.compress(data[1000:])])
def test_packed__by_content(reading, pack, name):
    same(reading(pack(SRTEST), name), reading(SRTEST))


def test_packed__frames_of_zstd(reading):
    same(reading(zstandard.compress(SRTEST[:1000]) + zstandard.compress(SRTEST[1000:])), reading(SRTEST))


@pytest.mark.slow
def test_packed__cut_off(reading):
    """What came before is read, the line that is not whole left out."""
    lines = SRTEST + b"".join(b"11 0 0 1 0 %d\n12 0 0 1 0 %d\n" % (412_600 + t, 412_600 + t) for t in range(9_000))
    packed = gzip.compress(lines, 1)
    for half in (packed[: len(packed) // 2], packed[: len(packed) // 2 + 1]):
        whole = zlib.decompressobj(31).decompress(half).count(b"\n")
        trace = reading(half)
        assert (trace.counts.records, found(trace)[-1]) == (whole - 12, (whole + 1, "cut off in the middle of a line"))


def test_names__mojibake_and_control_characters(reading):
    """Bytes are latin-1; what a terminal would obey is replaced."""
    assert reading(b"-13 0 1 2 0 0 red: f\xfcr\x1b[31m\x85\n1 0 0 0 0 0\n2 0 0 0 0 1\n").names == ("für?[31m?",)


# Worked by hand.
def test_nested_states(traced):
    """A call inside a call is the library's own business.

    Bcast  [---------------]
    Send      [----]
    time   0  2    5       9
    """
    trace = traced("Bcast+ 0 0 1 0 0\nSend+ 0 0 1 0 2\nSend- 0 0 2 0 5\nBcast- 0 0 2 0 9")
    assert (names(trace), times(trace.timeline.calls)) == (["Bcast"], [(0, 9000)])
    assert (trace.counts.internal_calls, trace.counts.states) == (1, 2)


def test_nested_regions(traced):
    """loop in work, twice; a call knows the path it was made from.

    work   [-------------------------------]
    loop       [------]     [------]
    Send         []           []       []
    time   0   1 2 3  4     5 6 7  8   9 10  11
    """
    send = "Send+ 0 0 1 0 {}\nSend- 0 0 2 0 {}\n".format
    loops = f"loop+ 0 0 1 0 1\n{send(2, 3)}loop- 0 0 1 0 4\nloop+ 0 0 1 0 5\n{send(6, 7)}loop- 0 0 1 0 8\n"
    trace = traced(f"work+ 0 0 1 0 0\n{loops}{send(9, 10)}work- 0 0 1 0 11")
    assert (trace.names, rows(trace.paths)) == (("work", "loop"), [(-1, 0), (0, 1)])
    assert rows(trace.regions) == [(0, 0, -1, 1, 0, 3), (0, 1, 0, 1, 0, 1), (0, 1, 0, 2, 1, 2)]
    assert (trace.calls.path.tolist(), times(trace.timeline.regions)) == ([1, 1, 0], [(0, 11_000), (1000, 4000), (5000, 8000)])


def test_improper_overlap(traced):
    """work ends inside loop: loop keeps work as parent and outlives it.

    work   [---------]
    loop        [---------]
    time   0    2    4    7
    """
    trace = traced("work+ 0 0 1 0 0\nloop+ 0 0 1 0 2\nwork- 0 0 1 0 4\nloop- 0 0 1 0 7")
    assert (rows(trace.regions), times(trace.timeline.regions)) == ([(0, 0, -1, 1, 0, 0), (0, 1, 0, 1, 0, 0)], [(0, 4000), (2000, 7000)])


def test_calls_that_overlap(traced):
    """A Recv begun in a Send is its inner call, even if it ends later; then the next call is outermost again."""
    trace = traced("Send+ 0 0 1 0 0\nRecv+ 0 0 1 0 2\nSend- 0 0 1 0 4\nBarrier+ 0 0 1 0 5\nRecv- 0 0 1 0 6\nBarrier- 0 0 1 0 7")
    assert (names(trace), times(trace.timeline.calls)) == (["Send", "Barrier"], [(0, 4000), (5000, 7000)])


def test_state_that_never_ends(traced):
    """It ends with the last record of its process."""
    trace = traced("work+ 0 0 1 0 0\nSend+ 0 0 1 0 2\nBarrier+ 1 0 1 0 3\n99 0 0 0 0 6")
    assert (times(trace.timeline.calls), times(trace.timeline.regions)) == ([(2000, 6000), (3000, 3000)], [(0, 6000)])
    assert (found(trace), trace.counts.states) == ([(-1, "state that never ends")] * 3, 0)


def test_end_without_begin(traced):
    trace = traced("work- 0 0 1 0 0\nSend- 0 0 1 0 2\nSend+ 0 0 1 0 3\nSend- 0 0 1 0 4")
    first = DEFINITIONS.count("\n") + 1
    assert (found(trace), names(trace)) == (
        [(first, "end of a state that is not open"), (first + 1, "end of a state that is not open")],
        ["Send"],
    )


def test_same_state_twice(traced):
    """An end goes with the begin that came last."""
    trace = traced("work+ 0 0 1 0 0\nwork+ 0 0 1 0 2\nwork- 0 0 1 0 3\nwork- 0 0 1 0 9")
    assert times(trace.timeline.regions) == [(0, 9000), (2000, 3000)]


def test_state_of_one_event(reading):
    """Begin and end are the same event: each ends the one before."""
    assert times(reading("-13 0 5 5 0 0 red: step\n5 0 0 0 0 0\n5 0 0 0 0 2\n5 0 0 0 0 7\n").timeline.regions) == [
        (0, 2000),
        (2000, 7000),
        (7000, 7000),
    ]


def test_bare_messages(traced):
    """Messages outside of any call are calls of their own that take no time, also on a process that logs nothing else."""
    trace = traced("work+ 0 0 1 0 0\n-101 0 0 1 0 4 7 100\nwork- 0 0 1 0 6\n-102 1 0 0 0 5 7 100")
    assert (names(trace), times(trace.timeline.calls)) == (["Send", "Recv"], [(4000, 4000), (5000, 5000)])
    assert rows(trace.calls) == [(0, 1, 0, 1, 7, 0, -1, 100, 0), (1, operations.OP["MPI_Recv"], -1, 0, 7, 0, -1, 0, 100)]
    assert (matched(trace), times(trace.timeline.locations)) == ([(0, 0, 1, 1, 7, 0, 0, 100)], [(0, 6000), (5000, 5000)])


def test_region_boundary_inside_a_call(traced):
    """It moves to where the call returns: nobody computes inside.

    Send   [---------------]
    work        [-----------------]
    loop           [--]
    time   0    2  3  4    5      9
    """
    trace = traced("Send+ 0 0 1 0 0\nwork+ 0 0 1 0 2\nloop+ 0 0 1 0 3\nloop- 0 0 1 0 4\nSend- 0 0 1 0 5\nwork- 0 0 1 0 9")
    assert (times(trace.timeline.regions), rows(trace.regions)) == ([(5000, 9000), (5000, 5000)], [(0, 0, -1, 1, 1, 1), (0, 1, 0, 1, 1, 1)])


def test_proc_null(traced):
    """Messages to and from MPI_PROC_NULL are counted and nothing else."""
    trace = traced("Send+ 0 0 1 0 0\n-101 0 0 -1 0 0 7 100\nSend- 0 0 1 0 4\nRecv+ 0 0 1 0 5\n-102 0 0 -1 0 6 0 0\nRecv- 0 0 1 0 7")
    assert (trace.counts.to_nobody, trace.counts.sends, trace.calls.peer.tolist(), trace.calls.bytes_sent.tolist()) == (
        2,
        0,
        [-1, -1],
        [0, 0],
    )


def test_proc_null__beside_a_partner(traced):
    """A Sendrecv that sends to nobody and receives from somebody is no call to nobody; a message record outside any state is bare."""
    trace = traced(
        "Sendrecv+ 0 0 1 0 0\n-101 0 0 -1 0 0 7 100\n-102 0 0 1 0 6 7 8\nSendrecv- 0 0 1 0 7\n-101 1 0 0 0 2 7 8",
    )
    assert (trace.counts.to_nobody, trace.counts.bare, len(trace.messages)) == (0, 1, 1)


SENDS = (
    "Send+ 0 0 1 0 0\n-101 0 0 1 0 {0} 7 1\nSend- 0 0 1 0 9\nSend+ 0 0 1 0 10\n-101 0 0 1 0 {1} 7 1\nSend- 0 0 1 0 19\n"
    "Ssend+ 0 0 1 0 20\n-101 0 0 1 0 21 7 1\nSsend- 0 0 1 0 29\n"
    + "".join(f"Recv+ 1 0 1 0 {t}\n-102 1 0 0 0 {t + 8} 7 1\nRecv- 1 0 1 0 {t + 9}\n" for t in (0, 10, 20))
)
"""Sends of 9 us, recorded at these times, a synchronous one recorded 1 us behind its entry; receives recorded 1 us before they return."""


def test_messages__where_in_their_calls_they_are_recorded(traced, extended):
    """Records that stand behind what took most of the time of a routine, 7 of 9 and 4 of 9, do not begin the sends; perwiz's own do."""
    for read, at, expected in ((traced, (2, 14), [2, 4, 1]), (traced, (7, 14), [0, 0, 1]), (extended, (7, 14), [7, 4, 1])):
        messages = read(SENDS.format(*at)).messages
        assert messages.sent_after.tolist() == [1000 * after for after in expected]
        assert messages.received_before.tolist() == [1000] * 3


def test_unmatched(traced):
    """Two sends, one of them to a process that logs nothing; two receives of another tag."""
    trace = traced("-101 0 0 1 0 0 7 1\n-101 0 0 2 0 0 8 1\n-102 1 0 0 0 5 8 1\n-102 1 0 0 0 6 7 2\n-102 1 0 0 0 6 7 2", "-3 0 0 4 0 0")
    counts = trace.counts
    assert (counts.unmatched_sends, counts.unmatched_receives, counts.size_differs, counts.silent_processes) == (1, 2, 1, 2)
    assert matched(trace) == [(0, 0, 3, 3, 7, 0, 0, 2)]


def test_wildcards(extended):
    """A receive from anybody, posted before, takes what really came; the call keeps that it would have taken anything.

    0   Send------[]
    1 Irecv[] ........ Wait[---]
    """
    events = "Irecv+ 1 0 1 0 0 @ c=0 p=-2 t=-1 q=3\nIrecv- 1 0 1 0 1\nSend+ 0 0 1 0 2\n-101 0 0 1 0 2 7 100\nSend- 0 0 1 0 3"
    trace = extended(events + "\nWait+ 1 0 1 0 4\n-102 1 0 0 0 5 7 100 @ q=3\nWait- 1 0 1 0 5 @ q=3")
    assert [row[1:5] for row in rows(trace.calls)] == [
        (1, -1, 1, 7),
        (operations.OP["MPI_Irecv"], -1, ANY, ANY),
        (operations.OP["MPI_Wait"], -1, -1, -1),
    ]
    assert (matched(trace), requested(trace)) == ([(0, 0, 1, 2, 7, 0, 0, 100)], [(1, 2)])
    assert trace.calls.bytes_received.tolist() == [0, 0, 100]


def test_non_blocking_without_requests(traced):
    """Plain MPE: nobody knows when an Isend is complete, and a Wait receives by itself."""
    trace = traced(
        "Isend+ 0 0 1 0 0\n-101 0 0 1 0 0 7 9\nIsend- 0 0 1 0 1\nWait+ 0 0 1 0 2\nWait- 0 0 1 0 3\n"
        "Wait+ 1 0 1 0 2\n-102 1 0 0 0 3 7 9\nWait- 1 0 1 0 3"
    )
    assert (matched(trace), len(trace.requests)) == ([(0, -1, 2, 2, 7, 0, 0, 9)], 0)


def test_waitall(extended):
    """Two sends and a receive, completed by one Waitall in another order; one request is never completed.

    0  Isend(q=1) Isend(q=2) Irecv(q=3) Irecv(q=4)  Waitall(3,1,2)
    """
    posts = "".join(f"{name}+ 0 0 1 0 {t} @ q={t}\n{line}{name}- 0 0 1 0 {t}\n" for t, (name, line) in enumerate(WAITALL_POSTS, 1))
    partner = "Recv+ 1 0 1 0 1\n-102 1 0 0 0 2 1 9\nRecv- 1 0 1 0 2\nSend+ 1 0 1 0 3\n-101 1 0 0 0 3 3 8\nSend- 1 0 1 0 4\n"
    trace = extended(posts + partner + "Waitall+ 0 0 1 0 5\n-102 0 0 1 0 6 3 8 @ q=3\nWaitall- 0 0 1 0 6 @ q=3,1,2")
    assert requested(trace) == [(0, 4), (1, 4), (2, 4), (3, -1)]
    assert matched(trace) == [(0, 4, 5, 5, 1, 0, 0, 9), (6, 6, 2, 4, 3, 0, 0, 8)]
    assert trace.counts.unmatched_sends == 1


WAITALL_POSTS = [
    ("Isend", "-101 0 0 1 0 1 1 9 @ q=1\n"),
    ("Isend", "-101 0 0 2 0 2 2 9 @ q=2\n"),
    ("Irecv", ""),
    ("Irecv", ""),
]


def test_requests__reused_lost_and_too_early(extended):
    """Id 5: completed before it is posted (that one is older than the trace), posted and completed, posted again and lost."""
    wait, post = "Wait+ 0 0 1 0 {0}\nWait- 0 0 1 0 {0} @ q=5\n".format, "Irecv+ 0 0 1 0 {0} @ q=5\nIrecv- 0 0 1 0 {0}\n".format
    assert requested(extended(wait(0) + post(1) + wait(2) + wait(3) + post(4))) == [(1, 2), (4, -1)]


def test_requests__of_two_processes(extended):
    events = "".join(f"Irecv+ {p} 0 1 0 {p} @ q=5\nIrecv- {p} 0 1 0 {p}\nWait+ {p} 0 1 0 7\nWait- {p} 0 1 0 8 @ q=5\n" for p in (0, 1))
    assert requested(extended(events)) == [(0, 1), (2, 3)]


def test_requests__more_than_fit_on_a_line(extended):
    """Stand-alone events in the call go on with its lists; outside of a call they mean nothing."""
    post = "Irecv+ 0 0 1 0 0 @ q=1,2\n9996 0 0 1 0 0 @ q=3\nIrecv- 0 0 1 0 1\n9996 0 0 0 0 1 @ q=9\n"
    events = post + "Waitall+ 0 0 1 0 2\n9997 0 0 0 0 3 @ q=3\nWaitall- 0 0 1 0 4 @ q=1,2"
    trace = extended(events, "-9 0 0 9996 0 0 more requests posted", "-9 0 0 9997 0 0 more requests completed")
    assert (requested(trace), trace.counts.single_events) == ([(0, 1)] * 3, 3)
    assert requested(extended(events, "-9 0 0 9996 0 0 something else")) == [(0, 1)] * 2


def test_non_blocking_collective(extended):
    """Two processes start a reduction and complete it later; process 1 never does.

    0  Iallreduce[]      Wait[]
    1     Iallreduce[]
    """
    starts = "".join(f"Iallreduce+ {p} 0 1 0 {p} @ c=0 s=0 q=4\nIallreduce- {p} 0 1 0 {p}\n" for p in (0, 1))
    trace = extended(starts + "Wait+ 0 0 1 0 5\nWait- 0 0 1 0 6 @ q=4")
    assert (rows(trace.members), requested(trace)) == ([(0, 0, 1), (0, 2, -1)], [(0, 1), (2, -1)])


def test_roots(extended):
    """Recorded on one member, it holds for all."""
    events = "".join(f"Bcast+ {p} 0 1 0 {p}{' @ r=1' if p == 0 else ''}\nBcast- {p} 0 1 0 9\n" for p in (0, 1))
    trace = extended(events)
    assert (trace.calls.root.tolist(), rows(trace.collectives)) == ([1, 1], [(operations.OP["MPI_Bcast"], 0, 1, 0)])


@pytest.mark.parametrize("batch", [1, 100])
def test_threads(traced, monkeypatch, batch):
    """Process 0 logs under two tasks: two locations, whose collectives count together in order of time."""
    monkeypatch.setattr(alog_read, "LINES", batch)
    barrier = "Barrier+ {0} {1} 1 0 {2}\nBarrier- {0} {1} 1 0 {2}\n".format
    trace = traced(barrier(0, 1, 0) + barrier(0, 0, 5) + barrier(1, 0, 0) + barrier(1, 0, 5))
    kinds = (tables.PROCESS, tables.THREAD, tables.PROCESS)
    assert [row[2:4] + row[5:] for row in rows(trace.locations)] == [(0, 0, kinds[0]), (0, 1, kinds[1]), (1, 0, kinds[2])]
    assert [(m[0], m[1]) for m in rows(trace.members)] == [(0, 1), (0, 2), (1, 0), (1, 3)]


def test_far_processes_and_events(reading):
    """Numbers beyond the tables of the reader: 65536 events and processes."""
    big = 2_147_483_647
    near = reading(
        "-13 0 65535 65536 0 0 red: a\n-13 0 65537 70001 0 0 red: b\n65535 65535 0 0 0 0\n65536 65535 0 0 0 1\n65537 65536 0 0 0 0\n"
    )
    assert (near.locations.process.tolist(), near.names, len(near.defects)) == ([65535, 65536], ("a", "b"), 1)
    trace = reading(
        f"-13 0 {big - 1} {big} 0 0 red: far\n"
        + "".join(f"{big - 1} {p} 0 0 0 0\n{big} {p} 0 0 0 {t}\n70000 {p} 0 0 0 9\n" for p, t in ((big, 3), (1, 4)))
    )
    assert (trace.locations.process.tolist(), times(trace.timeline.regions), trace.counts.single_events) == (
        [1, big],
        [(0, 4000), (0, 3000)],
        2,
    )


@pytest.mark.parametrize("cycle", [True, False])
def test_rollover(reading, cycle):
    """The clock starts again after 1000 us; whether the file counts the cycles or not, time goes on.

    stamp  900 950 | 50 | 40 of the next
    time     0  50  150  1140
    """
    stamps = [(900, 0), (950, 0), (50, 1), (40, 2)]
    events = "".join(f"{1 + k % 2} 0 0 0 {wraps if cycle else 0} {stamp}\n" for k, (stamp, wraps) in enumerate(stamps))
    trace = reading(f"-11 0 0 0 0 1000\n-13 0 1 2 0 0 red: work\n{events.replace('50', '1250') if False else events}")
    expected = [(0, 50_000), (150_000, 1_140_000)] if cycle else [(0, 50_000), (150_000, 150_000)]
    assert times(trace.timeline.regions) == expected
    assert len(trace.defects) == (0 if cycle else 1)


def test_rollover__unmarked(reading):
    """Back by more than half the period is the next cycle; back by less is a defect."""
    trace = reading("-11 0 0 0 0 1000\n-13 0 1 2 0 0 red: work\n" + "1 0 0 0 0 900\n2 0 0 0 0 100\n1 0 0 0 0 900\n2 0 0 0 0 100\n")
    assert (times(trace.timeline.regions), len(trace.defects)) == ([(0, 200_000), (1_000_000, 1_200_000)], 0)


def test_rollover__beyond_all_time(reading):
    trace = reading("-11 0 0 0 0 4294967295\n-13 0 1 2 0 0 red: work\n1 0 0 0 0 0\n2 0 0 0 2147483647 5\n2 0 0 0 0 7\n")
    assert (found(trace), times(trace.timeline.regions)) == ([(4, "number out of range")], [(0, 7000)])


def test_rollover__a_process_without_a_possible_time(reading):
    """All its records are beyond; it stays, with no time of its own."""
    trace = reading("-11 0 0 0 0 4294967295\n-13 0 1 2 0 0 red: work\n1 0 0 0 0 3\n2 0 0 0 0 5\n1 1 0 0 2147483647 5\n")
    assert times(trace.timeline.locations) == [(0, 2000), (0, 0)]


def test_time_runs_backwards(traced):
    """The record counts, at the time of the one before; other processes are not concerned."""
    trace = traced("Send+ 0 0 1 0 5\nSend- 0 0 1 0 3\nSend+ 1 0 1 0 0\nSend- 1 0 1 0 1\nSend+ 0 0 1 0 4\nSend- 0 0 1 0 6")
    first = DEFINITIONS.count("\n") + 1
    assert times(trace.timeline.calls) == [(5000, 5000), (5000, 6000), (0, 1000)]
    assert found(trace) == [(first + 1, "time runs backwards on its process"), (first + 4, "time runs backwards on its process")]


def test_order_of_equal_times_is_the_order_of_the_file(traced):
    trace = traced("Send+ 0 0 1 0 5\nSend- 0 0 1 0 5\nRecv+ 0 0 1 0 5\nRecv- 0 0 1 0 5")
    assert names(trace) == ["Send", "Recv"]


def test_damaged_lines(reading):
    """Each is counted with its line and reason; the rest is read."""
    bad = [
        b"1 2 3",
        b"x",
        b"1 -1 0 0 0 0",
        b"-101 0 0 1 0 5 x",
        b"-13 0 1 2 0 0",
        b"-13 0 -101 2 0 0 red: x",
        b"1 0 0 0 0 99999999999999999999",
    ]
    trace = reading(HEADS + b"\n".join(bad) + b"\n" + EVENTS)
    first = HEADS.count(b"\n") + 1
    reasons = (
        ["not six integers"] * 2
        + ["number out of range", "message without tag and size"]
        + ["header record that cannot be used"] * 2
        + ["number out of range"]
    )
    assert found(trace) == [(first + k, reason) for k, reason in enumerate(reasons)]
    assert trace.calls == reading(SRTEST).calls


@pytest.mark.slow
def test_many_lines(reading):
    """More than one batch of rows and one piece of file: states, messages and line numbers carry over."""
    steps = 20_000
    lines = "".join(f"1 0 0 1 0 {t}\n-101 0 0 1 0 {t} 7 {t}\n2 0 0 1 0 {t}\n-102 1 0 0 0 {t} 7 {t} @ q=9\n" for t in range(steps))
    trace = reading(EXTENDED + "-13 0 1 2 0 0 red: MPI_Send\n5 1 0 0 0 0\n" + lines + "x\n" + " " * 900_000 + "\ny\n")
    assert trace.messages.bytes.tolist() == list(range(steps))
    assert trace.defects.line.tolist() == [4 * steps + 4, 4 * steps + 6]
    assert trace.messages.receive.tolist() == list(range(steps, 2 * steps))


def test_refused__regions_that_never_end(tmp_path):
    """They are counted where room for more is made: the first 16384 lines are a definition and events."""
    path = tmp_path / "deep.alog"
    path.write_text("-13 0 9 10 0 0 red:gray work\n" + "".join(f"9 0 0 0 0 {k}\n" for k in range(40000)))
    with pytest.raises(TraceError) as caught:
        perwiz.read(str(path))
    assert str(caught.value) == f"{path}: 16383 regions within each other that have not ended at one place, must be at most 8191"
