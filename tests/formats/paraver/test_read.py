"""Reading Paraver: headers, many applications, files beside the records, refusals, and whatever else a file may hold."""

from __future__ import annotations

import gzip
import pathlib
import random
import re

import pytest

import build
import perwiz
from paraver_files import calls, header, reading, reasons
from perwiz.errors import PerwizError, TraceError
from perwiz.formats import files, foreign
from perwiz.formats.paraver.format import PARAVER
from perwiz.trace import tables
from perwiz.trace.unrecorded import unrecorded
from soundness import sound

CALL = "2:1:1:1:1:5:50000003:31\n2:1:1:1:1:7:50000003:0\n"


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


EXTRAE = """\
c:1:1:2:1:2
c:1:2:1:2
1:1:1:1:1:345060000:345061780:1
2:2:1:2:1:345050000:50000001:4
2:2:1:2:1:345055000:50000001:0
1:1:1:1:1:345061780:345071945:4
2:1:1:1:1:345061780:50000001:1
2:1:1:1:1:345071945:50000001:0
3:1:1:1:1:345061780:345071945:2:1:2:1:345055000:345205729:8:1
2:2:1:2:1:345187471:50000001:5:40000033:2
2:2:1:2:1:345205729:50000001:0
"""
"""Records as Extrae 5.1 makes them of a send that is received by MPI_Irecv and MPI_Wait."""


def test_extrae():
    """The receive is posted when MPI_Irecv ends, and completed when MPI_Wait ends."""
    trace = reading(EXTRAE, comms=2)
    assert calls(trace) == [
        (0, "MPI_Send", 345061780, 345071945),
        (1, "MPI_Irecv", 345050000, 345055000),
        (1, "MPI_Wait", 345187471, 345205729),
    ]
    messages = trace.messages
    assert [column.tolist() for column in (messages.send, messages.send_done, messages.receive, messages.receive_done)] == [
        [0],
        [0],
        [1],
        [2],
    ]
    assert (messages.bytes.tolist(), messages.tag.tolist()) == ([8], [1])
    assert (trace.requests.posted_by.tolist(), trace.requests.completed_by.tolist()) == ([1], [2])
    assert [trace.communicators.members(row).tolist() for row in range(2)] == [[0, 1], [1]]
    assert (trace.calls.peer.tolist(), trace.texts) == ([1, 0, -1], ("40000033",))
    assert (trace.counts.records, len(trace.defects)) == (9, 0)


def test_sends__completed_by_the_wait_that_is_left():
    """Nothing says which MPI_Waitall completes MPI_Isend: the next one does, and it is counted as inferred."""
    body = "2:1:1:1:1:5:50000001:3\n2:1:1:1:1:6:50000001:0\n2:1:1:1:1:7:50000001:6\n2:1:1:1:1:9:50000001:0\n"
    body += "2:1:1:2:1:5:50000001:2\n2:1:1:2:1:8:50000001:0\n3:1:1:1:1:5:6:1:1:2:1:5:8:4:3\n"
    trace = reading(body)
    assert (trace.messages.send_done.tolist(), trace.counts.inferred_completions) == ([1], 1)


def test_sendrecv__that_only_receives():
    """It sends to MPI_PROC_NULL, so nobody is its partner; a receive alone has who sent to it."""
    body = "2:1:1:1:1:5:50000001:41\n2:1:1:1:1:9:50000001:0\n2:1:1:1:1:15:50000001:2\n2:1:1:1:1:19:50000001:0\n"
    body += "2:1:1:2:1:5:50000001:1\n2:1:1:2:1:8:50000001:0\n2:1:1:2:1:15:50000001:1\n2:1:1:2:1:18:50000001:0\n"
    body += "3:1:1:2:1:5:6:1:1:1:1:5:9:4:3\n3:1:1:2:1:15:16:1:1:1:1:15:19:4:3\n"
    trace = reading(body)
    assert (trace.messages.receive.tolist(), trace.calls.peer.tolist(), trace.counts.to_nobody) == ([0, 1], [-1, 1, 0, 0], 0)


def test_applications():
    """Tasks are numbered through, times are in us, the world is that of all; communicators are those of their application."""
    body = "c:1:1:2:1:2\nc:2:1:1:1\n" + "".join(
        f"2:1:{place}:5:50000002:8:50100004:1\n2:1:{place}:7:50000002:0\n" for place in ("1:1:1", "1:2:1", "2:1:1")
    )
    trace = reading(body, "2(1:1,1:2),1:1(2:2)", applications=2, unit="", row="LEVEL NODE SIZE 2\none\ntwo\n")
    assert trace.locations.process.tolist() == [0, 1, 2]
    assert trace.locations.node.tolist() == [0, 1, 1]
    assert trace.nodes == ("one", "two")
    assert trace.timeline.calls.enter.tolist() == [5000] * 3
    assert trace.communicators.names == ("world", "communicator 1", "communicator 1")
    assert [trace.communicators.members(row).tolist() for row in range(3)] == [[0, 1, 2], [0, 1], [2]]
    assert (trace.calls.comm.tolist(), trace.members.collective.tolist()) == ([1, 1, 2], [0, 0, 1])
    assert trace.counts.silent_processes == 0


def test_collectives_without_a_communicator__are_of_all_if_all_make_the_same():
    """MPI_Cart_create by both is; MPI_Comm_dup by one is of nobody knows whom. MPI_Finalize is of all."""
    one, both = "2:1:1:1:1:{0}:50000003:{1}\n2:1:1:1:1:{0}:50000003:0\n", "2:1:1:{2}:1:{0}:50000003:{1}\n2:1:1:{2}:1:{0}:50000003:0\n"
    same = reading("".join(both.format(5, 43, task) for task in (1, 2)))
    assert (same.calls.comm.tolist(), same.counts.unmatched_collectives) == ([0, 0], 0)
    other = reading(one.format(5, 22) + "".join(both.format(9, 32, task) for task in (1, 2)))
    assert (other.calls.comm.tolist(), other.counts.unmatched_collectives) == ([-1, 0, 0], 1)


def test_values_that_the_configuration_names():
    """Its names count, whatever other versions of Extrae number them."""
    trace = reading(CALL, "1(1:1)", pcf="EVENT_TYPE\n9 50000003 MPI Other\nVALUES\n31 MPI_Comm_rank\n0 Outside MPI\n")
    assert calls(trace) == [(0, "MPI_Comm_rank", 5, 7)]


def test_switched_off():
    trace = reading(CALL + "2:1:1:1:1:8:40000012:0\n2:1:1:1:1:9:40000012:1\n", "1(1:1)")
    location, times = unrecorded(trace)
    assert (location.tolist(), times.enter.tolist(), times.leave.tolist()) == ([0], [8], [9])


def test_streams():
    """Threads whose names are those of streams are streams of devices, which idle."""
    trace = reading("1:2:1:1:2:0:9:0\n2:1:1:1:2:9:777:1\n" + CALL, "1(2:1)", row="LEVEL THREAD SIZE 2\nTHREAD 1.1.1\nCUDA-D1.S1-node\n")
    assert trace.locations.kind.tolist() == [tables.PROCESS, tables.STREAM]
    assert calls(trace)[1] == (1, "device_idle", 0, 9)


def test_defects__each_is_counted():
    """A communicator of a task that there is not, one that is not defined, a place that there is not, text; a message of nobody."""
    body = "c:1:1:2:1:3\n" + CALL + "2:1:1:9:1:5:1:1\nhello\n3:1:1:1:1:50:51:1:1:2:1:50:60:8:1\n"
    trace = reading(body + "2:1:1:1:1:8:50000002:8:50100004:7\n2:1:1:1:1:9:50000002:0\n")
    assert reasons(trace) == [
        (-1, "communicator that is not defined"),
        (2, "header record that cannot be used"),
        (5, "number out of range"),
        (6, "no record of numbers between colons"),
    ]
    assert (trace.counts.unmatched_sends, trace.counts.unmatched_receives, trace.counts.silent_processes) == (1, 1, 1)


def test_cut_off():
    """Packed data that breaks off is read as far as it goes."""
    data = gzip.compress((header("1(1:1)") + CALL * 9000).encode("ascii"), 0)
    pathlib.Path("a.prv.gz").write_bytes(data[: len(data) // 2])
    assert reasons(files.read("a.prv.gz"))[-1][1] == "cut off in the middle of a line"


MUST = "must be '#Paraver (day at hour):end:nodes(processors):applications:tasks(threads:node,...),communicators'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#Paraver (now)\n", f"a.prv:1: '#Paraver (now)', {MUST}"),
        ("#Paraver (now):5_ns:1(1):1:2(1:1),1\n", "a.prv:1: 2 tasks with threads of 1, must be as many"),
        ("#Paraver (now):5_ns:1(1):1:2(1:1,x),1\n", f"a.prv:1: 0 applications before '2(1:1,x),1', must be 1: {MUST}"),
        ("#Paraver (now):5_ns:1(1):2:1(1:1),1\n", f"a.prv:1: 1 applications before '', must be 2: {MUST}"),
        ("#Paraver (now):5_ns:1(1):1:1(1:1),1:more\n", f"a.prv:1: 1 applications before 'more', must be 1: {MUST}"),
        ("#Paraver (now):5_ns:1(1):1:1(999999999:1),1\n" + CALL, "a.prv:1: 999999999 threads, must be at most 262144"),
        ("#Paraver (now):5_ns:1(1):1:1(1:1),1\n", "a.prv: no event record, must have at least one"),
        ("#Paraver (now):5_ns:1(1):1:1(1:1),1\n1:1:1:1:1:0:5:1\n", "a.prv: no event record, must have at least one"),
    ],
)
def test_refusals(text, message):
    pathlib.Path("a.prv").write_text(text, encoding="ascii")
    with pytest.raises(TraceError) as error:
        files.read("a.prv")
    assert str(error.value) == message


def test_refusals__of_files_beside():
    pathlib.Path("a.prv").write_text(header("1(1:1)") + CALL, encoding="ascii")
    pathlib.Path("a.pcf").mkdir()
    with pytest.raises(TraceError, match=r"^a\.pcf: is a directory, must be text$"):
        files.read("a.prv")


def test_refusals__of_standard_input():
    refused = "a Paraver trace, must be named as a file: from standard input only ALOG is read"
    assert foreign.refusal(b"#Paraver (now)", "-") == refused


def test_looks_like__by_content():
    pathlib.Path("any").write_text(header("1(1:1)") + CALL, encoding="ascii")
    assert calls(files.read("any")) == [(0, "MPI_Init", 5, 7)]
    assert [PARAVER.looks_like(path) for path in ("any", "nothing", ".", "-")] == [True, False, False, False]
    pathlib.Path("packed").write_bytes(b"\x1f\x8bnothing")
    assert not PARAVER.looks_like("packed")


NUMBERS = [b"-1", b"0", b"1", b"3", b"99", b"2147483648", b"9" * 18, b"9" * 19, b"-" + b"9" * 17, b"1e9", b"", b":", b"60000018"]


def mutated(data, draw):
    """Return bytes with a number replaced, a byte changed, the end cut off, a piece taken out, or a line moved."""
    for _ in range(draw.randint(1, 5)):
        at = draw.randrange(len(data) + 1)
        kind = draw.randrange(5)
        if kind == 0 and (found := re.compile(rb"\d+").search(data, at)):
            data = data[: found.start()] + draw.choice(NUMBERS) + data[found.end() :]
        elif kind == 1:
            data = data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]
        elif kind == 2 and at > 200:
            data = data[:at]
        elif kind == 3:
            data = data[:at] + data[at + draw.randint(1, 50) :]
        elif kind == 4:
            lines = data.split(b"\n")
            lines.insert(draw.randrange(len(lines)), lines.pop(draw.randrange(len(lines))))
            data = b"\n".join(lines)
    return b"#Paraver (" + data[10:]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["all_collectives", "waitall_of_three", "threads", "nested_regions", "device", "subcommunicators"])
def test_mutated(name):
    """Each gives a sound trace or one line."""
    trace, draw, read = build.CATALOGUE[name](), random.Random(name), 0
    PARAVER.write(trace, trace.timeline, "good.prv")
    whole = pathlib.Path("good.prv").read_bytes()
    for _ in range(30):
        pathlib.Path("a.prv").write_bytes(mutated(whole, draw))
        message = ""
        try:
            sound(perwiz.read("a.prv"))
        except PerwizError as error:
            message = str(error)
        read += not message
        assert "\n" not in message
    assert read > 20
