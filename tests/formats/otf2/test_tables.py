"""From OTF2 to the tables: small archives, written by the Python bindings of OTF2, each worked by hand."""

import dataclasses
import os
from fractions import Fraction

import _otf2 as c
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import perwiz
from build import equal
from otf2_archive import MPI, NOTHING, USER, Archive, recorded
from perwiz.cli import main
from perwiz.formats.completions import inferred
from perwiz.formats.otf2 import locations as otf2_places
from perwiz.formats.otf2 import tables as otf2_tables
from perwiz.formats.otf2.hybrid.routines import routine
from perwiz.formats.otf2.repair import communicators
from perwiz.trace import defects, operations, tables
from perwiz.trace.matching import Ends
from perwiz.trace.trace import Sampled

NONE = tables.NONE
UNKNOWN, COMPILER, OPENMP = 0, 2, 3
PARALLEL = 5
WORLD, PEERS = 0, 1
"""The first two groups: locations, and their numbers."""


@pytest.fixture
def archive(tmp_path):
    """Return archive(processes, ...), an archive to be written."""
    return lambda *arguments, **more: Archive(tmp_path / "t", *arguments, **more)


# Records of a call.


def send(to, size=8, tag=0, comm=0):
    return "MpiSend", to, comm, tag, size


def recv(source, size=8, tag=0, comm=0):
    return "MpiRecv", source, comm, tag, size


def isend(to, request, size=8, tag=0, comm=0):
    return "MpiIsend", to, comm, tag, size, request


def sent(request):
    return "MpiIsendComplete", request


def post(request):
    return "MpiIrecvRequest", request


def irecv(source, request, size=8, tag=0, comm=0):
    return "MpiIrecv", source, comm, tag, size, request


def together(number, comm=0, root=-1, out=0, into=0):
    return "MpiCollectiveEnd", c.CollectiveOp(number), comm, c.CollectiveRoot(root % (1 << 32)), out, into


def later(number, request, comm=0, root=-1, out=0, into=0):
    return "NonBlockingCollectiveComplete", c.CollectiveOp(number), comm, c.CollectiveRoot(root % (1 << 32)), out, into, request


BEGIN = ("MpiCollectiveBegin",)
BARRIER, BCAST, GATHER, ALLREDUCE, REDUCE, SCAN, CREATE, DESTROY = 0, 1, 2, 11, 12, 14, 17, 18


# What is in a trace.


def rows(table):
    """Return the rows of a table as tuples."""
    return list(zip(*(getattr(table, field.name).tolist() for field in dataclasses.fields(table)), strict=True))


def matched(trace):
    """Return the messages as tuples, but not how far inside their calls they were recorded."""
    return [row[:-2] for row in rows(trace.messages)]


def names(trace):
    return [operations.OPS[op].removeprefix("MPI_") for op in trace.calls.op]


def partners(trace):
    """Return (peer, tag, communicator, root) per call."""
    columns = (trace.calls.peer, trace.calls.tag, trace.calls.comm, trace.calls.root)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def sizes(trace):
    return list(zip(trace.calls.bytes_sent.tolist(), trace.calls.bytes_received.tolist(), strict=True))


def found(trace):
    """Return the defects as (location, reason)."""
    return [(location, defects.REASONS[reason]) for _, location, reason in rows(trace.defects)]


def comms(trace):
    return {name: trace.communicators.members(row).tolist() for row, name in enumerate(trace.communicators.names)}


def instances(trace):
    """Return (routine, communicator, root, calls) per collective."""
    out = []
    for row, (op, comm, root, _) in enumerate(rows(trace.collectives)):
        out.append(
            (operations.OPS[op][4:], trace.communicators.names[comm], root, trace.members.call[trace.members.collective == row].tolist())
        )
    return out


def kept(trace):
    """Return (location, kind, call, time, values) of the records of other models."""
    ends = [*trace.records.first_value.tolist(), len(trace.values)][1:]
    return [
        (location, trace.texts[kind], call, time, trace.values[first:end].tolist())
        for (location, kind, call, time, first), end in zip(rows(trace.records), ends, strict=True)
    ]


def counted(trace):
    """Return the counts that are not zero."""
    return {name: count for name, count in dataclasses.asdict(trace.counts).items() if count}


def same(one, other):
    """Whether two traces are equal."""
    assert [f.name for f in dataclasses.fields(one) if not equal(getattr(one, f.name), getattr(other, f.name))] == []


# Messages.


def test_messages__blocking(archive):
    """Process 0 sends from 110 to 120 what process 1 receives from 105 to 130; the first record of all is instant 0."""
    a = archive(start=100)
    a.call(0, "MPI_Send", 10, 20, send(1, 100, 7))
    a.call(1, "MPI_Recv", 5, 30, recv(0, 100, 7))
    trace = a.trace()
    assert rows(trace.calls) == [
        (0, operations.OP["MPI_Send"], -1, 1, 7, 0, -1, 100, 0),
        (1, operations.OP["MPI_Recv"], -1, 0, 7, 0, -1, 0, 100),
    ]
    assert matched(trace) == [(0, 0, 1, 1, 7, 0, tables.STANDARD, 100)]
    assert rows(trace.timeline.calls) == [(5, 15), (0, 25)]
    assert rows(trace.timeline.locations) == [(5, 15), (0, 25)]
    assert (trace.format, str(trace.timeline.origin), len(trace.defects), len(trace.requests)) == ("OTF2", "measured", 0, 0)
    assert counted(trace) == {"records": 6, "states": 2, "sends": 1, "receives": 1}


def test_messages__where_in_their_calls_they_are_recorded(archive):
    """Sent 2 behind the entry at 10; received 5 before the Waitall returns, not the Irecv, another 3 before. A tick is 10 ns."""
    a = archive(resolution=10**8)
    a.enter(0, 10, "MPI_Send")
    a.at(0, 12, *send(1, 8, 7))
    a.leave(0, 20, "MPI_Send")
    a.call(0, "MPI_Send", 21, 29, send(1, 8, 8))
    for k in (0, 1):
        a.call(1, "MPI_Irecv", 2 * k, 2 * k + 1, post(k))
    a.enter(1, 5, "MPI_Waitall")
    a.at(1, 35, *irecv(0, 0, 8, 7))
    a.at(1, 37, *irecv(0, 1, 8, 8))
    a.leave(1, 40, "MPI_Waitall")
    messages = a.trace().messages
    assert (messages.sent_after.tolist(), messages.received_before.tolist()) == ([20, 80], [50, 30])


def test_messages__completed_out_of_order(archive):
    """Posted are sends to 1 (call 0) and receives from 1 (1, 2); call 3 completes the second receive and the send, call 4 the first.

    Receives take messages in the order in which they were posted: the 20 bytes of call 6 go to call 1.
    """
    a = archive()
    a.call(0, "MPI_Isend", 0, 1, isend(1, 50, 10))
    a.call(0, "MPI_Irecv", 2, 3, post(51))
    a.call(0, "MPI_Irecv", 4, 5, post(52))
    a.call(0, "MPI_Waitall", 6, 20, irecv(1, 52, 30), sent(50))
    a.call(0, "MPI_Wait", 21, 30, irecv(1, 51, 20))
    a.call(1, "MPI_Recv", 0, 9, recv(0, 10))
    a.call(1, "MPI_Send", 10, 11, send(0, 20))
    a.call(1, "MPI_Ssend", 12, 19, send(0, 30))
    trace = a.trace()
    assert rows(trace.requests) == [(0, 3, 0), (1, 4, 0), (2, 3, 0)]
    assert matched(trace) == [
        (0, 3, 5, 5, 0, 0, tables.STANDARD, 10),
        (6, 6, 1, 4, 0, 0, tables.STANDARD, 20),
        (7, 7, 2, 3, 0, 0, tables.SYNCHRONOUS, 30),
    ]
    assert partners(trace)[:5] == [(1, 0, 0, -1), (1, 0, 0, -1), (1, 0, 0, -1), (-1, -1, -1, -1), (-1, -1, -1, -1)]
    assert sizes(trace)[:5] == [(10, 0), (0, 0), (0, 0), (0, 30), (0, 20)]
    assert counted(trace) == {"records": 25, "states": 8, "sends": 3, "receives": 3}


def test_messages__tested_and_cancelled(archive):
    """Call 1 finds request 0 not complete, call 2 completes it; request 1 is cancelled by call 4 and its message never matched."""
    a = archive()
    a.call(0, "MPI_Irecv", 0, 1, post(7))
    a.call(0, "MPI_Test", 2, 3, ("MpiRequestTest", 7))
    a.call(0, "MPI_Test", 4, 5, irecv(1, 7))
    a.call(0, "MPI_Irecv", 6, 7, post(7))
    a.call(0, "MPI_Wait", 8, 9, ("MpiRequestCancelled", 7))
    a.call(1, "MPI_Send", 0, 1, send(0))
    trace = a.trace()
    assert rows(trace.unfinished) == [(1, 0)]
    assert rows(trace.requests) == [(0, 2, 0), (3, 4, 1)]
    assert matched(trace) == [(5, 5, 0, 2, 0, 0, 0, 8)]
    assert (trace.calls.peer.tolist(), found(trace)) == ([1, -1, -1, -1, -1, 0], [])
    assert counted(trace) == {"records": 18, "states": 6, "sends": 1, "receives": 1}


def test_messages__of_several_locations_have_requests_of_their_own(archive):
    """Both processes use request 1: rows of requests and calls are counted over all."""
    a = archive()
    for process in (0, 1):
        a.call(process, "MPI_Isend", 0, 1, isend(1 - process, 1))
        a.call(process, "MPI_Irecv", 2, 3, post(2))
        a.call(process, "MPI_Test", 4, 5, ("MpiRequestTest", 2))
        a.call(process, "MPI_Waitall", 6, 9, irecv(1 - process, 2), sent(1))
    trace = a.trace()
    assert rows(trace.requests) == [(0, 3, 0), (1, 3, 0), (4, 7, 0), (5, 7, 0)]
    assert rows(trace.unfinished) == [(2, 1), (6, 3)]
    assert [row[:4] for row in matched(trace)] == [(0, 3, 5, 7), (4, 7, 1, 3)]


def test_messages__sendrecv(archive):
    """Each sends to the next of three and receives from the one before: its peer is the receiver."""
    a = archive(3)
    for p in range(3):
        a.call(p, "MPI_Sendrecv", p, 20, send((p + 1) % 3, 10 + p, p), recv((p - 1) % 3, 10 + (p - 1) % 3, (p - 1) % 3))
    trace = a.trace()
    assert partners(trace) == [(1, 0, 0, -1), (2, 1, 0, -1), (0, 2, 0, -1)]
    assert sizes(trace) == [(10, 12), (11, 10), (12, 11)]
    assert [row[:5] for row in matched(trace)] == [(0, 0, 1, 1, 0), (1, 1, 2, 2, 1), (2, 2, 0, 0, 2)]


def test_messages__to_nobody(archive):
    """MPI_PROC_NULL leaves no record; a Sendrecv with one true partner does."""
    a = archive()
    a.call(0, "MPI_Send", 0, 1)
    a.call(0, "MPI_Recv", 2, 3)
    a.call(0, "MPI_Sendrecv", 4, 5, send(1))
    a.call(1, "MPI_Sendrecv", 0, 5, recv(0))
    a.call(1, "MPI_Irecv", 6, 7, post(1))
    trace = a.trace()
    assert partners(trace) == [(-1, -1, -1, -1)] * 2 + [(1, 0, 0, -1), (0, 0, 0, -1), (-1, -1, -1, -1)]
    assert (counted(trace)["to_nobody"], len(trace.messages), found(trace)) == (2, 1, [])


@pytest.mark.parametrize(
    ("routine", "mode"), [("Send", 0), ("Rsend", 1), ("Bsend", 2), ("Ssend", 3), ("Isend", 0), ("Irsend", 1), ("Ibsend", 2), ("Issend", 3)]
)
def test_messages__modes(archive, routine, mode):
    a = archive()
    if routine[0] == "I":
        a.call(0, f"MPI_{routine}", 0, 1, isend(1, 1))
        a.call(0, "MPI_Wait", 2, 3, sent(1))
    else:
        a.call(0, f"MPI_{routine}", 0, 1, send(1))
    a.call(1, "MPI_Recv", 0, 5, recv(0))
    assert a.trace().messages.mode.tolist() == [mode]


def test_messages__left_over(archive):
    """A send too many, a receive of another tag; ends of different size contradict each other and are no message."""
    a = archive()
    a.call(0, "MPI_Send", 0, 1, send(1, 10))
    a.call(0, "MPI_Send", 2, 3, send(1, 20))
    a.call(1, "MPI_Recv", 0, 5, recv(0, 9))
    a.call(1, "MPI_Recv", 6, 7, recv(0, 20, tag=4))
    trace = a.trace()
    assert matched(trace) == []
    found = {"unmatched_sends": 2, "unmatched_receives": 2, "contradicting": 1}
    assert counted(trace) == {"records": 12, "states": 4, "sends": 2, "receives": 2, **found}


def test_messages__matched_receive(archive):
    """MPI_Mprobe says from whom MPI_Mrecv and MPI_Imrecv take."""
    a = archive()
    a.call(0, "MPI_Mprobe", 0, 1, ("MpiProbe", 1, 0, 9, 77))
    a.call(0, "MPI_Mrecv", 2, 3, ("MpiMrecv", 77, 100))
    a.call(0, "MPI_Mprobe", 4, 5, ("MpiProbe", 1, 0, 8, 78))
    a.call(0, "MPI_Imrecv", 6, 7, ("MpiImrecvRequest", 78, 12))
    a.call(0, "MPI_Wait", 8, 9, ("MpiImrecv", 12, 200))
    a.call(1, "MPI_Send", 0, 1, send(0, 100, 9))
    a.call(1, "MPI_Send", 2, 3, send(0, 200, 8))
    assert [row[:5] for row in rows(a.trace().messages)] == [(5, 5, 1, 1, 9), (6, 6, 3, 4, 8)]


# Communicators.


def test_comms__peers_are_ranks_in_them(archive):
    """In `odd` = (1, 3), rank 1 is process 3; in `turned` = (3, 0, 2), rank 0 is process 3 and rank 2 process 2."""
    a = archive(4)
    odd, turned = a.comm("odd", [1, 3]), a.comm("turned", [3, 0, 2])
    a.call(1, "MPI_Send", 0, 1, send(1, 10, comm=odd))
    a.call(3, "MPI_Recv", 0, 5, recv(0, 10, comm=odd))
    a.call(3, "MPI_Isend", 6, 7, isend(2, 1, 20, comm=turned))
    a.call(3, "MPI_Wait", 8, 9, sent(1))
    a.call(2, "MPI_Irecv", 0, 1, post(4))
    a.call(2, "MPI_Wait", 2, 9, irecv(0, 4, 20, comm=turned))
    trace = a.trace()
    assert comms(trace) == {"world": [0, 1, 2, 3], "odd": [1, 3], "turned": [3, 0, 2]}
    assert names(trace) == ["Send", "Irecv", "Wait", "Recv", "Isend", "Wait"]
    assert partners(trace)[:2] == [(3, 0, 1, -1), (3, 0, 2, -1)]
    assert partners(trace)[3:5] == [(1, 0, 1, -1), (2, 0, 2, -1)]
    assert matched(trace) == [(0, 0, 3, 3, 0, 1, 0, 10), (4, 5, 1, 2, 0, 2, 0, 20)]
    assert found(trace) == []


def test_comms__the_same_ranks_twice(archive):
    """A copy of the world is another communicator: nothing crosses from one to the other."""
    a = archive()
    copy = a.comm("copy", [0, 1])
    for comm in (0, copy):
        a.call(0, "MPI_Send", 10 * comm, 10 * comm + 1, send(1, 10 + comm, comm=comm))
    for comm in (copy, 0):
        a.call(1, "MPI_Recv", 10 - 10 * comm, 12 - 10 * comm, recv(0, 10 + comm, comm=comm))
    trace = a.trace()
    assert (comms(trace), matched(trace)) == (
        {"world": [0, 1], "copy": [0, 1]},
        [(0, 0, 3, 3, 0, 0, 0, 10), (1, 1, 2, 2, 0, 1, 0, 11)],
    )


def test_comms__self(archive):
    """Each process that uses MPI_COMM_SELF has a communicator of its own, in which it is rank 0."""
    a = archive(3)
    own = a.comm("self")
    for process in (0, 2):
        a.call(process, "MPI_Irecv", 0, 1, post(1))
        a.call(process, "MPI_Send", 2, 3, send(0, comm=own))
        a.call(process, "MPI_Wait", 4, 5, irecv(0, 1, comm=own))
        a.call(process, "MPI_Barrier", 6, 7, BEGIN, together(BARRIER, comm=own))
    trace = a.trace()
    assert [trace.communicators.members(row).tolist() for row in range(3)] == [[0, 1, 2], [0], [2]]
    assert trace.communicators.names == ("world", "self", "self")
    assert [row[:6] for row in matched(trace)] == [(1, 1, 0, 2, 0, 1), (5, 5, 4, 6, 0, 2)]
    assert [row[3] for row in instances(trace)] == [[3], [7]]
    assert (counted(trace)["silent_processes"], trace.counts.incomplete_collectives, found(trace)) == (1, 0, [])


def test_comms__inter(archive):
    """Between (0, 2) and (3, 1) a peer is a rank in the other group: for process 0 rank 1 is process 1, for 3 rank 0 is 0."""
    a = archive(4)
    between = a.inter("between", [0, 2], [3, 1])
    a.call(0, "MPI_Send", 0, 1, send(1, 10, comm=between))
    a.call(1, "MPI_Recv", 0, 5, recv(0, 10, comm=between))
    a.call(3, "MPI_Send", 0, 1, send(1, 20, comm=between))
    a.call(2, "MPI_Recv", 0, 5, recv(0, 20, comm=between))
    trace = a.trace()
    assert comms(trace)["between"] == [0, 2, 3, 1]
    assert (trace.calls.peer.tolist(), found(trace)) == ([1, 0, 3, 2], [])
    assert [row[:5] for row in matched(trace)] == [(0, 0, 1, 1, 0), (3, 3, 2, 2, 0)]


def test_comms__a_broadcast_between_two_groups(archive):
    """The root, process 2, says SELF, the others of its group THIS_GROUP, those of the other group its rank: 1."""
    a = archive(4)
    between = a.inter("between", [0, 2], [3, 1])
    a.everyone("MPI_Bcast", BEGIN, lambda p: together(BCAST, between, {0: -3, 2: -2}.get(p, 1), 40 * (p == 2), 20 * (p % 2)))
    trace = a.trace()
    assert trace.calls.root.tolist() == [-1, 2, 2, 2]
    assert instances(trace) == [("Bcast", "between", 2, [0, 2, 3, 1])]
    assert (counted(trace), sizes(trace)) == ({"records": 16, "states": 4}, [(0, 0), (0, 20), (40, 0), (0, 20)])


def test_comms__group_defined_twice(archive):
    """EZTrace defines a group again with more members: the last counts."""
    a = archive(3)
    pair = a.comm("pair", [2])
    again = a.definitions[-2]
    a.definitions.append(("Group", (*again[1][:5], [2, 0])))
    a.call(2, "MPI_Send", 0, 1, send(1, comm=pair))
    assert (lambda trace: (comms(trace)["pair"], trace.calls.peer.tolist()))(a.trace()) == ([2, 0], [0])


def test_comms__not_defined(archive):
    """A message in one is no message; a collective belongs to no instance."""
    a = archive()
    a.call(0, "MPI_Send", 0, 1, send(1, comm=5))
    a.everyone("MPI_Barrier", BEGIN, together(BARRIER, comm=6), start=10)
    trace = a.trace()
    assert partners(trace) == [(-1, 0, -1, -1), (-1, -1, -1, -1), (-1, -1, -1, -1)]
    assert (len(trace.messages), len(trace.collectives), len(trace.members)) == (0, 0, 0)
    assert trace.counts.unmatched_collectives == 2
    assert {reason for _, reason in found(trace)} >= {"communicator that is not defined"}


def test_comms__not_defined_is_one_defect(archive):
    a = archive()
    a.call(0, "MPI_Send", 0, 1, send(1, comm=5))
    trace = a.trace()
    assert (found(trace), trace.counts.to_nobody) == ([(-1, "communicator that is not defined")], 0)


def test_comms__of_a_group_that_is_not_defined(archive):
    a = archive()
    lost = a.comm("lost", group=77)
    a.call(0, "MPI_Send", 0, 1, send(0, comm=lost))
    trace = a.trace()
    assert (partners(trace), [members for name, members in comms(trace).items() if name == "lost"]) == ([(-1, 0, -1, -1)], [])


def test_comms__of_a_stranger_too(archive):
    """Rank 2 of (0, 99, 1) is process 1, rank 1 nobody."""
    a = archive()
    three = a.comm("three", [0, 99, 1])
    a.call(0, "MPI_Send", 0, 1, send(2, comm=three))
    a.call(0, "MPI_Send", 2, 3, send(1, comm=three))
    assert a.trace().calls.peer.tolist() == [1, -1]


def test_comms__of_another_paradigm(archive):
    """A team of OpenMP threads, whose numbers in the list of OpenMP's locations are 0 and 1, is no communicator."""
    a = archive(2, threads=2, world=False)
    threads, processes = a.group(4, [0, 100, 1, 101], OPENMP), a.group(4, [0, 1])
    a.comm("team", [0, 1], paradigm=OPENMP)
    world = a.comm("world", group=processes)
    assert (threads, processes) == (0, 1)
    a.everyone("MPI_Barrier", BEGIN, together(BARRIER, world))
    a.everyone("MPI_Finalize", start=50)
    trace = a.trace()
    assert comms(trace) == {"world": [0, 1]}
    assert [row[:2] for row in instances(trace)] == [("Barrier", "world"), ("Finalize", "world")]


@pytest.mark.parametrize(("ref", "peer", "expected"), [(1 << 31, 1, 1), (0, NOTHING - 1, -1)])
def test_comms__large_numbers(archive, ref, peer, expected):
    """A communicator may have any number; no rank is 2**32 - 2, which is not the process itself either."""
    a = archive()
    if ref:
        a.define("Comm", ref, a.text("large"), PEERS + 1, NOTHING, c.CommFlag(0))
        assert a.group(5, [0, 1]) == PEERS + 1
    a.call(0, "MPI_Send", 0, 1, send(peer, comm=ref))
    assert a.trace().calls.peer.tolist() == [expected]


def test_comms__partner_outside(archive):
    a = archive()
    a.call(0, "MPI_Send", 0, 1, send(2))
    a.call(1, "MPI_Recv", 0, 1, recv(7))
    trace = a.trace()
    assert (trace.calls.peer.tolist(), found(trace)) == ([-1, -1], [(-1, "partner outside its communicator")] * 2)
    assert (trace.counts.unmatched_sends, trace.counts.unmatched_receives, trace.counts.to_nobody) == (1, 1, 0)


def test_comms__world_without_definition(archive):
    """The first location of each process, in the order of their definition."""
    a = archive(2, threads=2, world=False)
    a.call(1, "MPI_Barrier", 0, 5)
    trace = a.trace()
    assert (comms(trace), trace.locations.process.tolist()) == ({"MPI_COMM_WORLD": [0, 1]}, [0, 0, 1, 1])


# Collectives.

KINDS = [
    *("Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall", "Alltoallv"),
    *("Alltoallw", "Allreduce", "Reduce", "Reduce_scatter", "Scan", "Exscan", "Reduce_scatter_block"),
]
ROOTED = ("Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Reduce")


@pytest.mark.parametrize("number", range(len(KINDS)), ids=KINDS)
@pytest.mark.parametrize("form", ["blocking", "posted", "bare"])
def test_collectives__kinds(archive, number, form):
    """Over (3, 1, 2); the root, where there is one, is rank 1 of these, process 1. A bare record tells the routine itself."""
    a = archive(4)
    three = a.comm("three", [3, 1, 2])
    root = 1 if KINDS[number] in ROOTED else -1
    for process in (1, 2, 3):
        if form == "blocking":
            a.call(process, f"MPI_{KINDS[number]}", 0, 5, BEGIN, together(number, three, root, 30, process))
        elif form == "posted":
            a.call(process, f"MPI_I{KINDS[number].lower()}", 0, 5, ("NonBlockingCollectiveRequest", 9))
            a.call(process, "MPI_Wait", 6, 9, later(number, 9, three, root, 30, process))
        else:
            a.at(process, 0, *BEGIN)
            a.at(process, 5, *together(number, three, root, 30, process))
    trace = a.trace()
    step = 2 if form == "posted" else 1
    name = f"I{KINDS[number].lower()}" if form == "posted" else KINDS[number]
    assert instances(trace) == [(name, "three", 1 if root == 1 else -1, [2 * step, 0, step])]
    assert sizes(trace)[::step] == [(30, 1), (30, 2), (30, 3)]
    assert trace.members.done.tolist() == [3 * step - 1, step - 1, 2 * step - 1]
    assert rows(trace.timeline.calls)[0] == (0, 5)
    assert (found(trace), trace.counts.bare, trace.counts.rootless_collectives) == ([], 3 if form == "bare" else 0, 0)


def test_collectives__in_the_order_of_each_communicator(archive):
    """Process 1 does its barrier of `three` between two of the world, the others before or behind both."""
    a = archive(4)
    three = a.comm("three", [3, 1, 2])
    for process, order in enumerate([(0, 0), (0, three, 0), (three, 0, 0), (0, 0, three)]):
        for step, comm in enumerate(order):
            a.call(process, "MPI_Barrier", 10 * step, 10 * step + 5, BEGIN, together(BARRIER, comm))
    trace = a.trace()
    assert instances(trace) == [
        ("Barrier", "world", -1, [0, 2, 6, 8]),
        ("Barrier", "world", -1, [1, 4, 7, 9]),
        ("Barrier", "three", -1, [10, 3, 5]),
    ]


def test_collectives__posted_ones_may_overlap(archive):
    """Two are posted before the first is completed; they are of different requests."""
    a = archive()
    for process in (0, 1):
        for request, name in ((1, "MPI_Iallreduce"), (2, "MPI_Ibarrier")):
            a.call(process, name, 10 * request, 10 * request + 1, ("NonBlockingCollectiveRequest", request))
        a.call(process, "MPI_Wait", 40, 50, later(BARRIER, 2))
        a.call(process, "MPI_Test", 51, 52, ("MpiRequestTest", 1))
        a.call(process, "MPI_Wait", 60, 70, later(ALLREDUCE, 1, out=8, into=8))
    trace = a.trace()
    assert instances(trace) == [("Iallreduce", "world", -1, [0, 5]), ("Ibarrier", "world", -1, [1, 6])]
    assert trace.members.done.tolist() == [4, 9, 2, 7]
    assert (rows(trace.requests)[:2], rows(trace.unfinished)) == ([(0, 4, 0), (1, 2, 0)], [(3, 0), (8, 2)])


def test_collectives__incomplete(archive):
    """Process 2 takes no part in the second barrier."""
    a = archive(3)
    a.everyone("MPI_Barrier", BEGIN, together(BARRIER))
    a.everyone("MPI_Barrier", BEGIN, together(BARRIER), start=20, members=[0, 1])
    trace = a.trace()
    assert (instances(trace)[1][3], trace.counts.incomplete_collectives) == ([1, 3], 1)


def test_collectives__that_make_communicators(archive):
    """The record of MPI_Comm_split names the communicator that is split; MPI_Comm_free is no collective to perwiz."""
    a = archive(4)
    low, high = a.comm("low", [0, 1]), a.comm("high", [3, 2])
    for process in range(4):
        mine = low if process < 2 else high
        a.call(process, "MPI_Comm_split", 0, 9, BEGIN, ("CommCreate", mine), together(CREATE))
        a.call(process, "MPI_Comm_dup", 10, 19, BEGIN, together(CREATE, mine))
        a.call(process, "MPI_Comm_free", 20, 29, BEGIN, together(DESTROY, mine), ("CommDestroy", mine))
    trace = a.trace()
    assert instances(trace) == [
        ("Comm_split", "world", -1, [0, 3, 6, 9]),
        ("Comm_dup", "low", -1, [1, 4]),
        ("Comm_dup", "high", -1, [10, 7]),
    ]
    assert partners(trace)[2] == (-1, -1, -1, -1)
    assert (counted(trace), found(trace)) == ({"records": 56, "states": 12, "single_events": 8}, [])


def test_collectives__init_and_finalize(archive):
    """Neither has to have a record; the end is one of the world, the begin is not."""
    a = archive(3)
    a.everyone("MPI_Init")
    a.everyone("MPI_Finalize", start=100)
    trace = a.trace()
    assert instances(trace) == [("Finalize", "world", -1, [1, 3, 5])]
    assert (partners(trace)[:2], trace.counts.unmatched_collectives) == ([(-1, -1, -1, -1), (-1, -1, 0, -1)], 0)


def test_collectives__init_with_a_record(archive):
    """Some writers give MPI_Init a record; that makes it no collective."""
    a = archive()
    a.everyone("MPI_Init", BEGIN, together(BARRIER))
    trace = a.trace()
    assert (len(trace.collectives), trace.calls.comm.tolist(), trace.counts.unmatched_collectives) == (0, [-1, -1], 0)


def test_collectives__without_record(archive):
    """A barrier whose record is missing cannot be put into an instance."""
    a = archive()
    a.everyone("MPI_Barrier")
    trace = a.trace()
    assert (len(trace.collectives), trace.counts.unmatched_collectives, trace.counts.to_nobody) == (0, 2, 0)


# User regions.


def test_regions__nesting_and_recursion(archive):
    """main { f { f { Barrier } } f { } } on process 0, f alone on process 1.

    Paths: main, main/f, main/f/f, f.
    """
    a = archive()
    for time, name, what in [(0, "main", a.enter), (1, "f", a.enter), (2, "f", a.enter), (5, "f", a.leave), (6, "f", a.leave)]:
        what(0, time, name)
        if time == 2:
            a.call(0, "MPI_Barrier", 3, 4)
    for time, name, what in [(7, "f", a.enter), (8, "f", a.leave), (9, "main", a.leave)]:
        what(0, time, name)
    a.enter(1, 0, "f")
    a.leave(1, 3, "f")
    trace = a.trace()
    assert (trace.names, rows(trace.paths)) == (("main", "f"), [(-1, 0), (0, 1), (1, 1), (-1, 1)])
    assert rows(trace.regions) == [
        (0, 0, -1, 1, 0, 1),
        (0, 1, 0, 1, 0, 1),
        (0, 2, 1, 2, 0, 1),
        (0, 1, 0, 3, 1, 1),
        (1, 3, -1, 1, 1, 1),
    ]
    assert rows(trace.timeline.regions) == [(0, 9), (1, 6), (2, 5), (7, 8), (0, 3)]
    assert (trace.calls.path.tolist(), trace.sources, trace.parallel.tolist()) == ([2], (), [False, False])
    assert counted(trace) == {"records": 12, "states": 6, "unmatched_collectives": 1}


def test_regions__of_the_second_process_count_on(archive):
    a = archive()
    for process in (0, 1):
        a.enter(process, 0, "main")
        a.enter(process, 1, "loop")
        a.call(process, "MPI_Barrier", 2, 3)
        a.leave(process, 4, "loop")
        a.leave(process, 5, "main")
    trace = a.trace()
    assert rows(trace.regions) == [(0, 0, -1, 1, 0, 1), (0, 1, 0, 1, 0, 1), (1, 0, -1, 1, 1, 2), (1, 1, 2, 1, 1, 2)]
    assert trace.calls.path.tolist() == [1, 1]


def test_regions__where_they_are_defined(archive):
    """Definitions of the same name and line are one region, of another line or file another one."""
    a = archive(1)
    refs = [
        a.region("f", file="/src/a.c", line=10),
        a.region("f", file="/src/a.c", line=20, again=True),
        a.region("f", file="/src/a.c", line=10, again=True),
        a.region("f", file="/lib/a.c", line=20, again=True),
        a.region("g"),
        a.region("loop", file="/src/a.c", line=30, role=PARALLEL),
    ]
    for step, ref in enumerate(refs):
        a.enter(0, 2 * step, ref)
        a.leave(0, 2 * step + 1, ref)
    trace = a.trace()
    assert trace.names == ("f", "f (a.c:20)", "f (a.c:20) #2", "g", "loop")
    assert trace.sources == ("/src/a.c:10", "/src/a.c:20", "/lib/a.c:20", "", "/src/a.c:30")
    assert trace.parallel.tolist() == [False, False, False, False, True]
    assert [(path, instance) for _, path, _, instance, *_ in rows(trace.regions)] == [(0, 1), (1, 1), (0, 2), (2, 1), (3, 1), (4, 1)]


def test_regions__parallel_ones_are_those_of_processes(archive):
    """Not what the threads of one process do in parallel."""
    a = archive(1)
    for name, paradigm in (("step", USER), ("!$omp parallel", OPENMP)):
        a.enter(0, 0, name, role=PARALLEL, paradigm=paradigm)
        a.leave(0, 0, name)
    trace = a.trace()
    assert (trace.names, trace.parallel.tolist()) == (("step", "!$omp parallel"), [True, False])


def test_regions__never_entered(archive):
    """They have no row."""
    a = archive(1)
    a.region("never", file="a.c", line=1)
    a.enter(0, 0, "once")
    a.leave(0, 1, "once")
    trace = a.trace()
    assert (trace.names, trace.sources) == (("once",), ())


@pytest.mark.parametrize("ref", [1, 2, 77, NOTHING])
def test_regions__not_defined(archive, ref):
    """It is entered and left all the same: one defect for each of the two records. Region 0 alone is defined."""
    a = archive(1)
    a.enter(0, 0, ref)
    a.call(0, "MPI_Barrier", 1, 2)
    a.leave(0, 3, ref)
    trace = a.trace()
    assert (trace.names, rows(trace.timeline.regions), trace.calls.path.tolist()) == (("undefined region",), [(0, 3)], [0])
    assert found(trace) == [(0, "region that is not defined")] * 2


def test_regions__inside_a_call(archive):
    """What begins or ends inside a call begins or ends where that returns: regions lie between calls."""
    a = archive(1)
    a.enter(0, 0, "work")
    a.enter(0, 10, "MPI_Allreduce")
    a.enter(0, 11, "operation")
    a.leave(0, 12, "operation")
    a.leave(0, 13, "work")
    a.enter(0, 14, "next")
    a.leave(0, 20, "MPI_Allreduce")
    a.call(0, "MPI_Barrier", 30, 40)
    a.leave(0, 50, "next")
    trace = a.trace()
    assert trace.names == ("work", "operation", "next")
    assert rows(trace.timeline.regions) == [(0, 20), (20, 20), (20, 50)]
    assert [row[4:] for row in rows(trace.regions)] == [(0, 1), (1, 1), (1, 2)]
    assert trace.calls.path.tolist() == [0, 2]


def test_regions__improper_nesting(archive):
    """An end finds its own begin, below what is still open."""
    a = archive(1)
    a.enter(0, 0, "a")
    a.enter(0, 1, "b")
    a.leave(0, 2, "a")
    a.call(0, "MPI_Barrier", 3, 4)
    a.leave(0, 5, "b")
    a.leave(0, 6, "b")
    trace = a.trace()
    assert (rows(trace.timeline.regions), trace.calls.path.tolist()) == ([(0, 2), (1, 5)], [1])
    assert found(trace) == [(0, "end of a state that is not open")]


def test_regions__that_never_end(archive):
    """They end with the last record of their location; so does the call."""
    a = archive()
    a.enter(0, 0, "main")
    a.enter(0, 5, "MPI_Recv")
    a.at(0, 7, "ProgramEnd", 0)
    a.call(1, "MPI_Barrier", 0, 100)
    trace = a.trace()
    assert (rows(trace.timeline.regions), rows(trace.timeline.calls)) == ([(0, 7)], [(5, 7), (0, 100)])
    assert rows(trace.timeline.locations) == [(0, 7), (0, 100)]
    assert found(trace) == [(0, "state that never ends")] * 2


# Names of routines.


@pytest.mark.parametrize(
    ("name", "paradigm", "expected"),
    [
        *((name, MPI, "MPI_Send") for name in ("MPI_Send", "MPI_Send()", "mpi_send_", "mpi_send__", "PMPI_Send", "pmpi_send_", "Send")),
        *(("MPI_SEND", MPI, "MPI_Send"), ("MPI_Send(const void *, int)", MPI, "MPI_Send"), ("MPI_Send ()", MPI, "MPI_Send")),
        *((name, USER, "MPI_Send") for name in ("MPI_Send", "PMPI_Send", "mpi_send_")),
        *(("MPI_Brand_new", MPI, "MPI_other"), ("brand_new", MPI, "MPI_other"), ("MPI_Brand_new", UNKNOWN, "MPI_other")),
        *((name, paradigm, None) for name in ("Send", "send_", "barrier", "MPIX", "main") for paradigm in (UNKNOWN, USER, COMPILER)),
        *(("", USER, None), ("", MPI, "MPI_other"), ("MPI_Reduce_scatter_block", MPI, "MPI_Reduce_scatter_block")),
    ],
)
def test_routine(name, paradigm, expected):
    op = routine(name, paradigm)
    assert (None if op < 0 else operations.OPS[op]) == expected


def test_routine__in_an_archive(archive):
    a = archive(1)
    for step, (name, paradigm) in enumerate([("mpi_barrier_", UNKNOWN), ("PMPI_Barrier", USER), ("barrier", USER), ("Barrier()", MPI)]):
        a.enter(0, 10 * step, name, paradigm=paradigm)
        a.leave(0, 10 * step + 5, name)
    trace = a.trace()
    assert (names(trace), trace.names) == (["Barrier"] * 3, ("barrier",))


# MPI in unusual places.


def test_nested(archive):
    """MPI_Send inside MPI_Bcast is no call of its own."""
    a = archive()
    a.enter(0, 0, "MPI_Bcast")
    a.call(0, "MPI_Barrier", 2, 4)
    a.leave(0, 10, "MPI_Bcast")
    trace = a.trace()
    assert (names(trace), rows(trace.timeline.calls)) == (["Bcast"], [(0, 10)])
    assert (trace.counts.internal_calls, trace.counts.states) == (1, 2)


def test_bare(archive):
    """Each record outside any MPI region is a call that took no time; so is the completion."""
    a = archive()
    a.enter(0, 0, "main")
    for time, record in [(5, isend(1, 1, 10)), (6, post(2)), (10, sent(1)), (12, irecv(1, 2, 20))]:
        a.at(0, time, *record)
    a.leave(0, 20, "main")
    a.at(1, 5, *recv(0, 10))
    a.at(1, 6, *send(0, 20))
    trace = a.trace()
    assert names(trace) == ["Isend", "Irecv", "Wait", "Wait", "Recv", "Send"]
    assert rows(trace.timeline.calls) == [(t, t) for t in (5, 6, 10, 12, 5, 6)]
    assert matched(trace) == [(0, 2, 4, 4, 0, 0, 0, 10), (5, 5, 1, 3, 0, 0, 0, 20)]
    assert (trace.counts.bare, trace.counts.states, trace.calls.path.tolist()) == (6, 1, [0] * 4 + [-1] * 2)


@pytest.mark.parametrize("number", [19, 22])
def test_bare__collective_of_another_kind(archive, number):
    """MPI_Win_allocate and such: a call of an unknown routine, which is no collective to perwiz."""
    a = archive(1)
    a.at(0, 0, *BEGIN)
    a.at(0, 5, *together(number))
    trace = a.trace()
    assert (names(trace), partners(trace), len(trace.collectives)) == (["other"], [(-1, -1, -1, -1)], 0)


@pytest.mark.parametrize("begins", [False, True])
def test_bare__collective_whose_begin_is_missing_or_long_ago(archive, begins):
    """It cannot begin before the call in front of it returned."""
    a = archive(1, start=1000)
    if begins:
        a.at(0, 0, *BEGIN)
    a.call(0, "MPI_Comm_rank", 0, 10)
    a.at(0, 20, *together(BARRIER))
    trace = a.trace()
    assert (names(trace), rows(trace.timeline.calls)[0]) == (["Comm_rank", "Barrier"], (0, 10))
    enter, leave = rows(trace.timeline.calls)[1]
    assert (10 <= enter <= 20, leave) == (True, 20)


def test_messages__inside_a_collective_are_internal(archive):
    """A barrier that is logged with the messages it is made of: they are counted, and are no messages."""
    a = archive(2)
    a.call(0, "MPI_Barrier", 0, 10, BEGIN, ("MpiSend", 1, 0, 7, 8), together(BARRIER))
    a.call(1, "MPI_Barrier", 0, 10, BEGIN, ("MpiRecv", 0, 0, 7, 8), together(BARRIER))
    trace = a.trace()
    assert (len(trace.messages), len(trace.collectives), trace.counts.internal_messages, trace.counts.sends) == (0, 1, 2, 0)


# Places and clocks.


def test_places__threads(archive):
    """Threads 1 and 2 of each process come behind it, in the order of their definition, whatever their numbers."""
    a = archive(2, threads=0)
    for ref, process in [(7, 1), (8, 0), (1, 1), (0, 0), (5, 1), (9, 0)]:
        a.location(ref, process)
    a.definitions = [definition for definition in a.definitions if definition[0] not in ("Group", "Comm")]
    a.refs = {}
    a.group(4, [0, 1])
    world = a.comm("world", [0, 1])
    a.call(9, "MPI_Send", 10, 20, send(1, comm=world))
    a.call(7, "MPI_Recv", 10, 20, recv(0, comm=world))
    a.call(0, "MPI_Barrier", 30, 40, BEGIN, together(BARRIER, world))
    a.call(5, "MPI_Barrier", 30, 50, BEGIN, together(BARRIER, world))
    a.enter(8, 0, "work")
    a.leave(8, 60, "work")
    trace = a.trace()
    places = trace.locations
    assert (places.process.tolist(), places.thread.tolist()) == ([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2])
    assert places.kind.tolist() == [tables.PROCESS, tables.THREAD, tables.THREAD] * 2
    assert [row[:2] for row in rows(trace.calls)] == [
        (0, operations.OP["MPI_Barrier"]),
        (2, 1),
        (4, operations.OP["MPI_Recv"]),
        (5, operations.OP["MPI_Barrier"]),
    ]
    assert matched(trace) == [(1, 1, 2, 2, 0, 0, 0, 8)]
    assert instances(trace) == [("Barrier", "world", -1, [0, 3])]
    assert trace.timeline.locations.leave.tolist() == [40, 60, 20, 0, 20, 50]
    assert trace.counts.silent_processes == 0


def test_places__collectives_of_two_threads_of_a_process(archive):
    """Thread 1 of process 0 does the second barrier before thread 0 does the third: they count in order of time."""
    a = archive(2, threads=2)
    for location, starts in [(0, (0, 40)), (100, (20,)), (1, (0, 20, 40))]:
        for start in starts:
            a.call(location, "MPI_Barrier", start, start + 5, BEGIN, together(BARRIER))
    assert [row[3] for row in instances(a.trace())] == [[0, 3], [2, 4], [1, 5]]


def test_places__world_in_another_order(archive):
    """Process 0 of MPI_COMM_WORLD is location 2. The members (0, 2) of a group are processes: locations 2 and 1."""
    a = archive(3, world=False)
    a.group(4, [2, 0, 1])
    world, ends = a.comm("world", group=0), a.comm("ends", [0, 2])
    for location, rank in [(0, 1), (1, 2), (2, 0)]:
        a.call(
            location,
            "MPI_Sendrecv",
            rank,
            10,
            send((rank + 1) % 3, comm=world, tag=rank),
            recv((rank - 1) % 3, comm=world, tag=(rank - 1) % 3),
        )
    a.call(2, "MPI_Send", 20, 30, send(1, comm=ends))
    a.call(1, "MPI_Recv", 22, 30, recv(0, comm=ends))
    trace = a.trace()
    assert comms(trace) == {"world": [0, 1, 2], "ends": [0, 2]}
    assert trace.timeline.calls.enter.tolist() == [0, 20, 1, 2, 22]
    assert trace.calls.peer.tolist() == [1, 2, 2, 0, 0]
    assert [row[:5] for row in matched(trace)] == [(0, 0, 2, 2, 0), (1, 1, 4, 4, 0), (2, 2, 3, 3, 1), (3, 3, 0, 0, 2)]


def test_places__streams_and_accelerators(archive):
    """A stream of process 1, one of an accelerator that process 0 started, one of an accelerator nobody names: no processes."""
    a = archive(2)
    a.location(50, 1, kind=2)
    for group, starter in ((7, 0), (8, NOTHING)):
        a.define("LocationGroup", group, a.text("context"), c.LocationGroupType(2), 1, starter)
        a.location(10 * group, group, kind=2)
    for ref in a.events:
        a.enter(ref, 0, "work")
        a.leave(ref, 5, "work")
    places = a.trace().locations
    assert (places.process.tolist(), places.thread.tolist()) == ([0, 0, 1, 1, 2], [0, 1, 0, 1, 0])
    assert places.kind.tolist() == [tables.PROCESS, tables.STREAM, tables.PROCESS, tables.STREAM, tables.STREAM]


def test_places__without_a_world_accelerators_are_no_processes(archive):
    """One process, two contexts of a device: the world is the process alone, and none is silent, though nobody calls MPI."""
    a = archive(1, world=False)
    for group in (1, 2):
        a.define("LocationGroup", group, a.text("context"), c.LocationGroupType(2), 1, 0)
        a.location(10 * group, group, kind=2)
    a.enter(0, 0, "work")
    a.leave(0, 5, "work")
    trace = a.trace()
    assert (trace.locations.process.tolist(), trace.communicators.ranks.tolist()) == ([0, 0, 0], [0])
    assert "silent_processes" not in counted(trace)


def test_places__accelerators_alone_are_processes(archive):
    """Nothing else is defined."""
    a = archive(0, world=False)
    a.define("LocationGroup", 0, a.text("context"), c.LocationGroupType(2), 1, NOTHING)
    a.location(3, 0, kind=2)
    a.enter(3, 0, "work")
    a.leave(3, 5, "work")
    assert a.trace().locations.kind.tolist() == [tables.PROCESS]


def test_places__metrics_alone_are_no_location(archive):
    """Records of a place for metrics are counted, and what their values are is kept, but it has no row. One is no number, one undefined."""
    a = archive(1)
    a.location(50, 0, kind=3)
    ref = a.metrics(a.metric("power", "W", exponent=1))
    for watts in (5, 7, 3):
        a.at(50, 0, "Metric", ref, [c.Type(4)], [c.MetricValue(unsigned_int=watts)])
    a.at(50, 0, "Metric", ref, *values(float("inf"), real=True))
    a.at(50, 0, "Metric", 77, *values(1))
    a.call(0, "MPI_Barrier", 10, 20)
    trace = a.trace()
    assert (len(trace.locations), trace.counts.records, rows(trace.timeline.locations)) == (1, 7, [(0, 10)])
    assert trace.sampled == (Sampled("power [W]", 0, 3, 30, 50, 70, -20),)
    assert trace.counts.loose_counters == 2


def test_places__that_recorded_nothing(archive):
    """They are there, without calls, from 0 to 0."""
    a = archive(3, start=500)
    a.call(1, "MPI_Barrier", 10, 30)
    trace = a.trace()
    assert rows(trace.timeline.locations) == [(0, 0), (0, 20), (0, 0)]
    assert (trace.calls.location.tolist(), trace.first_calls.tolist(), trace.counts.silent_processes) == ([1], [0, 0, 1, 1], 2)


def test_places__not_in_the_world(archive):
    """The world names a location that is not defined; who is not in it comes behind."""
    a = archive(2, world=False)
    a.group(4, [99, 1])
    for location in (0, 1):
        a.call(location, "MPI_Comm_rank", 0, 1)
    places = a.trace().locations
    assert (places.process.tolist(), places.kind.tolist()) == ([1, 2], [tables.PROCESS] * 2)


def test_places__system_tree(archive):
    """The metahost is the uppermost, the node the nearest one called so; without that, the nearest but the uppermost."""
    a = archive(5)
    a.define("SystemTreeNode", 10, a.text("other"), a.text("machine"), NOTHING)
    a.define("SystemTreeNode", 11, a.text("rack"), a.text("rack"), 10)
    a.define("SystemTreeNode", 12, a.text("blade7"), a.text("node"), 11)
    a.define("SystemTreeNode", 13, a.text("socket"), a.text("socket"), 12)
    groups = [k for k, (kind, _) in enumerate(a.definitions) if kind == "LocationGroup"]
    for at, place in zip(groups, [13, 11, 10, 2, 13], strict=True):
        kind, (ref, name, process, _, creator) = a.definitions[at]
        a.definitions[at] = (kind, (ref, name, process, place, creator))
    a.everyone("MPI_Comm_rank")
    trace = a.trace()
    assert (trace.metahosts, trace.nodes) == (("other", "cluster"), ("blade7", "rack", "node1"))
    assert [row[:2] for row in rows(trace.locations)] == [(0, 0), (0, 1), (0, -1), (1, 2), (0, 0)]
    assert trace.locations.cpu.tolist() == [-1] * 5


def test_places__system_tree_that_is_not_defined(archive):
    a = archive(2)
    a.definitions = [definition for definition in a.definitions if definition[0] != "SystemTreeNode"]
    a.everyone("MPI_Comm_rank")
    trace = a.trace()
    assert (trace.metahosts, trace.nodes, [row[:2] for row in rows(trace.locations)]) == ((), (), [(0, -1), (0, -1)])


def test_clocks__offsets_are_applied(archive):
    """The clock of process 1 is 1000 ticks ahead at its 1000 and 1020 at its 3000: 1010 at 2000. A tick is half a nanosecond.

    Process 0 sends at 990, process 1 receives from 1990 - 1010 to 2000 - 1010: at 980 to 990.
    Read as they are, the times would say that it waits for 505 ns.
    """
    a = archive(2, resolution=2 * 10**9)
    a.offsets[0] = [(0, 0, 0.0), (3000, 0, 0.0)]
    a.offsets[1] = [(1000, -1000, 4.0), (3000, -1020, 2.0)]
    a.call(0, "MPI_Send", 980, 990, send(1))
    a.call(1, "MPI_Recv", 2000, 2020, recv(0))
    trace = a.trace()
    assert rows(trace.timeline.calls) == [(0, 5), (5, 15)]
    assert trace.offsets.location.tolist() == [0, 0, 1, 1]
    assert trace.offsets.time.tolist() == [(t - 980) // 2 for t in (0, 3000, 1000, 3000)]
    assert trace.offsets.offset.tolist() == [0, 0, pytest.approx(-0.5), pytest.approx(-0.51)]
    assert trace.offsets.error.tolist() == [0, 0, pytest.approx(0.002), pytest.approx(0.001)]
    assert trace.offsets.drift.tolist() == [0] * 4


def test_clocks__offsets_that_turn_time_back(archive):
    """Between 1000 and 1010 the offset falls by 20: what is recorded at 1005 happened at 995. It is put at the time before it."""
    a = archive(1, start=1000)
    a.offsets[0] = [(1000, 0, 0.0), (1010, -20, 0.0), (2000, 0, 0.0)]
    a.call(0, "MPI_Comm_rank", 0, 5)
    a.call(0, "MPI_Comm_size", 1000, 1010)
    trace = a.trace()
    assert (rows(trace.timeline.calls), found(trace)) == ([(0, 0), (1000, 1010)], [(0, "time runs backwards on its process")])


RESOLUTIONS = st.one_of(st.integers(1, 4 * 10**9), st.sampled_from([10**9, 10**6, 1, 3, 2**31 - 1, 2_399_999_987, 10**12]))


@pytest.mark.slow
@given(RESOLUTIONS, st.lists(st.integers(-(1 << 22), 1 << 22), max_size=10), st.integers(0, 1 << 40))
def test_clocks__nearest_nanosecond(resolution, seconds, more):
    """Against fractions, over weeks; halves are rounded up."""
    ticks = [second * resolution + more % resolution for second in seconds]
    found = otf2_places.nanoseconds(np.array(ticks, "i8"), Fraction(10**9, resolution))
    assert found.tolist() == [(Fraction(t * 10**9, resolution) + Fraction(1, 2)).__floor__() for t in ticks]


@pytest.mark.parametrize(
    "resolution",
    [
        *(2_399_999_987, 3_000_000_001, 4_611_686_017),
        pytest.param(5_000_000_001),
        pytest.param(9_000_000_001),
    ],
)
def test_clocks__nearly_half(resolution):
    """The ticks whose nanoseconds are closest to a half: t * 10**9 = resolution // 2 + k (mod resolution)."""
    inverse = pow(10**9, -1, resolution)
    ticks = [(resolution // 2 + k) * inverse % resolution for k in range(-20, 20)]
    found = otf2_places.nanoseconds(np.array(ticks, "i8"), Fraction(10**9, resolution))
    assert found.tolist() == [(2 * t * 10**9 + resolution) // (2 * resolution) for t in ticks]


@pytest.mark.parametrize("resolution", [10**10 + 1, (1 << 62) + 1])
def test_clocks__faster_than_any(resolution):
    """Beyond what can be exact, within a nanosecond."""
    ticks = np.array([0, 1, resolution // 3, resolution, resolution + resolution // 7], "i8")
    found = otf2_places.nanoseconds(ticks, Fraction(10**9, resolution))
    assert np.abs(found - [t * 10**9 // resolution for t in ticks.tolist()]).max() <= 1


@pytest.mark.parametrize(
    ("resolution", "nanoseconds"), [(10**9, 7), (10**6, 7000), (3, 2333333333), (3 * 10**9, 2), (2 * 10**9, 4), (14 * 10**8, 5)]
)
def test_clocks__resolution(archive, resolution, nanoseconds):
    """Seven ticks, however long after the clock's zero."""
    a = archive(1, resolution=resolution, start=10**9)
    a.call(0, "MPI_Comm_rank", 0, 7)
    assert rows(a.trace().timeline.calls) == [(0, nanoseconds)]


# Counters, parameters, records of other models, topologies.


def counters(trace):
    """Return values before and behind by (call, name)."""
    return {(call, trace.counter_names[counter]): (before, behind) for call, counter, before, behind in rows(trace.counters)}


def values(*numbers, real=False):
    """Return types and values of a Metric record."""
    if real:
        return [c.Type(10)] * len(numbers), [c.MetricValue(floating_point=number) for number in numbers]
    return [c.Type(8 if number < 0 else 4) for number in numbers], [
        c.MetricValue(signed_int=number) if number < 0 else c.MetricValue(unsigned_int=number) for number in numbers
    ]


def test_counters__around_calls(archive):
    """Values come before a record of entering or leaving, at the same time. The last before each end counts.

    Process 0: 5 | [Barrier 9] 12 20 | [Send 30 31] and process 1: 100 | [Barrier 200].
    """
    a = archive()
    ref = a.metrics(a.metric("cycles", "#"))
    for location, steps in [
        (0, [(0, 5), (1, "MPI_Barrier"), (2, 9), (3, "MPI_Barrier"), (4, 12), (5, 20), (6, "MPI_Send"), (7, 30), (8, 31), (9, "MPI_Send")]),
        (1, [(0, 100), (1, "MPI_Barrier"), (2, 200), (3, "MPI_Barrier"), (4, 300)]),
    ]:
        opened = set()
        for time, what in steps:
            if isinstance(what, int):
                a.at(location, time, "Metric", ref, *values(what))
            else:
                (a.leave if what in opened else a.enter)(location, time, what)
                opened.add(what)
    trace = a.trace()
    assert counters(trace) == {(0, "cycles"): (5, 9), (1, "cycles"): (20, 31), (2, "cycles"): (100, 200)}


def region_counters(trace):
    """Return values before and behind by (instance of a region, name)."""
    return {(region, trace.counter_names[counter]): (before, behind) for region, counter, before, behind in rows(trace.region_counters)}


def test_counters__around_regions(archive):
    """A value belongs to what begins or ends next: a region in the one that is open, the end of that, or a call; also at one time.

    0 main 1 [Barrier 2 ] 3 inner 4 (inner) 5 next 6 [Send 7 ] 8 (next) 9 (main)
    """
    a = archive(1)
    ref = a.metrics(a.metric("cycles", "#"))
    opened = []
    steps = ["main", "MPI_Barrier", "MPI_Barrier", "inner", "inner", "next", "MPI_Send", "MPI_Send", "next", "main"]
    for value, name in enumerate(steps):
        time = min(value, 5)  # from `next` on all at one time
        a.at(0, time, "Metric", ref, *values(value))
        (a.leave if name in opened else a.enter)(0, time, name)
        opened.append(name)
    trace = a.trace()
    assert counters(trace) == {(0, "cycles"): (1, 2), (1, "cycles"): (6, 7)}
    assert region_counters(trace) == {(0, "cycles"): (0, 9), (1, "cycles"): (3, 4), (2, "cycles"): (5, 8)}
    assert (trace.levels, trace.counts.loose_counters) == ((), 0)


def test_counters__around_regions_of_several_processes(archive):
    """Both: main [Test] work; each region has its own process's values."""
    a = archive()
    ref = a.metrics(a.metric("cycles", "#"))
    for process in range(2):
        for step, (name, enters) in enumerate([("main", 1), ("MPI_Test", 1), ("MPI_Test", 0), ("work", 1), ("work", 0), ("main", 0)]):
            a.at(process, step, "Metric", ref, *values(100 * process + step))
            (a.enter if enters else a.leave)(process, step, name)
    trace = a.trace()
    assert counters(trace) == {(0, "cycles"): (1, 2), (1, "cycles"): (101, 102)}
    assert region_counters(trace) == {(k, "cycles"): both for k, both in enumerate([(0, 5), (3, 4), (100, 105), (103, 104)])}


@pytest.mark.parametrize(
    ("mode", "work", "test"),
    [
        (0, (5, 4), (7, 6)),  # accumulated since the start
        (34, (5, 18), (12, 18)),  # relative, since the last
        (18, (5, 18), (12, 18)),  # relative, at the point
        (50, (0, 18), (5, 12)),  # relative, until the next: the last one counts no more
        (17, (5, 4), (7, 6)),  # absolute
    ],
)
def test_counters__modes(archive, mode, work, test):
    """Values 5 work 7 [Test 6 ] 4 (work): differences are added up, absolute ones are no counts."""
    a = archive(1)
    ref = a.metrics(a.metric("cycles", "#", mode=mode))
    for time, (value, name, enters) in enumerate([(5, "work", 1), (7, "MPI_Test", 1), (6, "MPI_Test", 0), (4, "work", 0)]):
        a.at(0, time, "Metric", ref, *values(value))
        (a.enter if enters else a.leave)(0, time, name)
    trace = a.trace()
    if mode in (34, 18):
        work = 5, 22
    assert (region_counters(trace), counters(trace)) == ({(0, "cycles"): work}, {(0, "cycles"): test})
    assert trace.levels == ((0,) if mode == 17 else ())


def test_counters__of_others(archive):
    """At any time; by another location; behind the last end of all: this one is left out."""
    a = archive(2)
    kept, free = a.metrics(a.metric("kept")), a.metrics(a.metric("free"), occurrence=2)
    other = a.metrics(a.metric("other"))
    a.define("MetricInstance", 40, other, 0, c.MetricScope(0), 1)
    for time, step in ((0, a.enter), (10, a.leave)):
        a.at(0, time, "Metric", kept, *values(time))
        step(0, time, "MPI_Barrier")
    a.at(0, 11, "Metric", kept, *values(11))
    a.at(0, 12, "Metric", free, *values(1))
    a.at(0, 12, "Metric", 40, *values(1))
    trace = a.trace()
    assert counters(trace) == {(0, "kept"): (0, 10)}
    assert trace.sampled == (Sampled("free", 0, 1, 1, 1, 1, 0), Sampled("other", 0, 1, 1, 1, 1, 0))
    assert trace.counts.loose_counters == 1


def test_counters__need_both_ends(archive):
    """One call has a value before it, one inside, one both but of different counters."""
    a = archive(1)
    one, other = a.metrics(a.metric("one")), a.metrics(a.metric("other"))
    for step, (before, inside) in enumerate([(one, None), (None, one), (one, other), (other, other)]):
        for time, ref in ((0, before), (2, inside)):
            if time == 2:
                a.enter(0, 10 * step + 1, "MPI_Test")
            if ref is not None:
                a.at(0, 10 * step + time, "Metric", ref, *values(step))
        a.leave(0, 10 * step + 3, "MPI_Test")
    assert counters(a.trace()) == {(3, "other"): (3, 3)}


def test_counters__kinds(archive):
    """Signed, unsigned, real; in units of a thousandth, of 1024 bytes, of 10 W; several in one record, and by way of an instance."""
    a = archive(1)
    members = [a.metric("energy", "J", exponent=-3), a.metric("memory", "B", exponent=10, base=0), a.metric("balance", "#", kind=8)]
    ref, real = a.metrics(*members), a.metrics(a.metric("power", "W", kind=10, exponent=1))
    a.define("MetricInstance", 40, real, 0, c.MetricScope(0), 0)
    for time, step in ((0, a.enter), (10, a.leave)):
        a.at(0, time, "Metric", ref, *values(2500 + time, 3, -5 - time))
        a.at(0, time, "Metric", 40, *values(0.25 * time, real=True))
        step(0, time, "MPI_Barrier")
    trace = a.trace()
    assert counters(trace) == {
        (0, "energy [J]"): (2.5, pytest.approx(2.51)),
        (0, "memory [B]"): (3072, 3072),
        (0, "balance"): (-5, -15),
        (0, "power [W]"): (0, 25),
    }
    assert trace.counters.counter.tolist() == [0, 1, 2, 3]
    assert trace.counts.records == 6


def test_counters__largest(archive):
    a = archive(1)
    ref = a.metrics(a.metric("large"))
    for time, step in ((0, a.enter), (10, a.leave)):
        a.at(0, time, "Metric", ref, *values((1 << 64) - 1))
        step(0, time, "MPI_Barrier")
    assert counters(a.trace()) == {(0, "large"): (2.0**64, 2.0**64)}


def test_counters__not_defined(archive):
    """Neither the class nor the member behind the last of a class."""
    a = archive(1)
    ref = a.metrics(a.metric("one"))
    for time, step in ((0, a.enter), (10, a.leave)):
        a.at(0, time, "Metric", 77, *values(1))
        a.at(0, time, "Metric", ref, *values(1, 2))
        step(0, time, "MPI_Barrier")
    trace = a.trace()
    assert counters(trace) == {(0, "one"): (1, 1)}
    assert trace.counts.loose_counters == 4


def test_counters__are_no_single_events(archive):
    """Two records of three values each are kept."""
    a = archive(1)
    ref = a.metrics(a.metric("one"), a.metric("two"), a.metric("three"))
    for time, step in ((0, a.enter), (10, a.leave)):
        a.at(0, time, "Metric", ref, *values(1, 2, 3))
        step(0, time, "MPI_Comm_rank")
    assert counted(a.trace()) == {"records": 4, "states": 1}


def test_parameters(archive):
    """Values as texts, with the region they were given in and the call that follows."""
    a = archive()
    number, size, word = a.parameter("number", 1), a.parameter("size", 2), a.parameter("word", 0)
    text = a.text("hello")
    a.at(0, 0, "ParameterInt", number, -3)
    a.enter(0, 1, "main")
    a.at(0, 2, "ParameterUnsignedInt", size, (1 << 64) - 2)
    a.call(0, "MPI_Barrier", 3, 4, ("ParameterString", word, text))
    a.leave(0, 5, "main")
    a.enter(1, 0, "main")
    a.enter(1, 1, "inner")
    a.at(1, 1, "ParameterInt", number, 1 << 62)
    a.leave(1, 2, "inner")
    a.at(1, 2, "ParameterInt", 77, 0)
    a.leave(1, 3, "main")
    trace = a.trace()
    assert [(*row[:3], trace.texts[row[3]], trace.texts[row[4]]) for row in rows(trace.parameters)] == [
        (0, -1, 0, "number", "-3"),
        (0, 0, 0, "size", str((1 << 64) - 2)),
        (0, 0, 1, "word", "hello"),
        (1, 2, 1, "number", str(1 << 62)),
        (1, 1, 1, "parameter 77", "0"),
    ]
    assert counted(trace)["records"] == 13
    assert "single_events" not in counted(trace)


def test_records__of_other_models(archive):
    """Threads, one-sided, I/O, switching off: kind, call that follows, time and up to six arguments. A fork is a call, so is a join."""
    a = archive(2, start=50)
    a.at(0, 0, "ThreadFork", c.Paradigm(OPENMP), 4)
    a.call(0, "MPI_Barrier", 1, 2, ("RmaPut", 3, 1, 4096, 77))
    a.at(0, 3, "IoSeek", 5, -8, c.IoSeekOption(2), 9)
    a.at(0, 4, "ThreadJoin", c.Paradigm(OPENMP))
    a.at(0, 5, "MeasurementOnOff", c.MeasurementMode(2))
    a.at(1, 0, "BufferFlush", 50 + 7)
    a.at(1, 8, "RmaWinCreate", NOTHING)
    a.at(1, 9, "RmaCollectiveEnd", c.CollectiveOp(0), c.RmaSyncLevel(1), 2, NOTHING, 3, 4)
    a.at(1, 10, "OmpFork", 8)
    trace = a.trace()
    assert kept(trace) == [
        (0, "ThreadFork", 1, 0, [OPENMP, 4]),
        (0, "RmaPut", 2, 2, [3, 1, 4096, 77]),
        (0, "IoSeek", 2, 3, [5, -8, 2, 9]),
        (0, "ThreadJoin", 3, 4, [OPENMP]),
        (0, "MeasurementOnOff", 3, 5, [2]),
        (1, "BufferFlush", 3, 0, [7]),
        (1, "RmaWinCreate", 3, 8, [-1]),
        (1, "RmaCollectiveEnd", 3, 9, [0, 1, 2, -1, 3, 4]),
        (1, "OmpFork", 3, 10, [8]),
    ]
    assert "single_events" not in counted(trace)


def test_records__that_are_counted_only(archive):
    a = archive(1)
    a.at(0, 0, "ProgramBegin", a.text("a.out"), [])
    a.at(0, 1, "CommCreate", 0)
    a.at(0, 2, "CommDestroy", 0)
    a.at(0, 3, "ProgramEnd", 0)
    trace = a.trace()
    assert (counted(trace), kept(trace)) == ({"records": 4, "single_events": 4}, [])


@pytest.mark.slow
def test_records__of_every_class_are_told(archive, capsys):
    """A file is read, memory allocated, power read at any time, a stream tied to nothing copies: `perwiz info` has a line of each."""
    a = archive(1)
    a.location(60, 0, kind=2)
    a.location(70, 0, kind=3)
    memory, power = a.metrics(a.metric("memory", "B", mode=17)), a.metrics(a.metric("power", "W"), occurrence=2)
    for time, step in ((0, a.enter), (10, a.leave)):
        a.at(0, time, "Metric", memory, *values(4096 + time))
        a.at(70, time, "Metric", power, *values(200))
        step(0, time, "MPI_Barrier")
    a.at(0, 11, "IoCreateHandle", 0, c.IoAccessMode(0), c.IoCreationFlag(0), c.IoStatusFlag(0))
    a.at(0, 12, "IoOperationBegin", 0, c.IoOperationMode(0), c.IoOperationFlag(0), 512, 1)
    a.at(0, 13, "IoOperationComplete", 0, 512, 1)
    a.at(0, 14, "ThreadCreate", 7, 1)
    a.at(60, 15, "RmaPut", 0, 0, 4096, 77)
    a.at(0, 16, "ProgramEnd", 0)
    assert main(["info", "--counters", a.write()]) == 4
    told = capsys.readouterr().out
    assert "(INCOMPLETE trace, its 1 device stream left out)" in " ".join(told.split())
    for line in (
        "other records 4 kept: ThreadCreate 1, IoCreateHandle 1, IoOperationBegin 1, IoOperationComplete 1",
        "counters      2 values read at any time; --counters lists them",
        "left out      1 stand-alone record",
        "power [W]       2    200   200   200       0",
        "levels        memory [B]: no counts, not added up",
    ):
        assert f"\n{line}\n" in told


def test_topologies(archive):
    """Six ranks in 2 x 3, but of the last nobody says where it is; one of a part of the processes; others that cannot be used."""
    a = archive(6)
    part = a.comm("part", [5, 3])
    a.topology(0, [2, 3], [(rank, [rank // 3, rank % 3]) for rank in range(5)])
    a.topology(part, [2], [(0, [1]), (1, [0]), (2, [9])], periodic=False)
    a.topology(99, [2])
    a.topology(0, [6], [(0, [1, 2])])
    a.define("CartTopology", 50, a.text("no such dimension"), 0, [77])
    a.everyone("MPI_Comm_rank")
    first, second, third = a.trace().topologies
    assert (first.name, first.comm, first.sizes, first.periodic, first.dimensions) == ("grid", 0, (2, 3), (True, False), ("d0", "d1"))
    assert first.coordinates.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [-1, -1]]
    assert (second.comm, second.sizes, second.periodic, second.coordinates.tolist()) == (1, (2,), (False,), [[1], [0]])
    assert third.coordinates.tolist() == [[-1]] * 6


def test_topologies__of_a_single_process(archive):
    """MPI_COMM_SELF, or another of one process, has a topology but no message: it must have a row all the same."""
    a = archive(1)
    a.topology(a.comm("self"), [1], [(0, [0])])
    a.call(0, "MPI_Comm_rank", 0, 1)
    trace = a.trace()
    (topology,) = trace.topologies
    assert (trace.communicators.members(topology.comm).tolist(), topology.coordinates.tolist()) == ([0], [[0]])


# Archives with gaps.


def test_defects__of_each_location(archive):
    """Nobody opened what location 0 leaves, nobody posted what location 1 completes; of location 2 a part was lost."""
    a = archive(3)
    a.region("main")
    a.leave(0, 5, "main")
    a.call(1, "MPI_Wait", 0, 1, sent(3), ("MpiRequestTest", 4))
    a.call(1, "MPI_Wait", 2, 3, later(BARRIER, 9))
    a.call(2, "MPI_Send", 0, 1, send(0))
    path = a.write()
    recording = recorded(path)
    recording.locations[2] = dataclasses.replace(recording.locations[2], error="cut off")
    trace = otf2_tables.Builder(recording, path).trace()
    assert found(trace) == [
        (0, "end of a state that is not open"),
        *[(1, "completion of a request that was not posted")] * 2,
        (2, "process or thread whose records cannot all be read"),
    ]
    assert len(trace.requests) == 0


def halo(a, complete):
    """Two processes swap 100 bytes with MPI_Isend, MPI_Irecv and a Waitall, then 50 with a Wait; completions only if told so."""
    for p in (0, 1):
        done = [sent(1), irecv(1 - p, 2, 100)] if complete else []
        a.call(p, "MPI_Isend", 0, 1, isend(1 - p, 1, 100))
        a.call(p, "MPI_Irecv", 2, 3, post(2))
        a.call(p, "MPI_Waitall", 4, 20, *done)
        a.call(p, "MPI_Isend", 21, 22, isend(1 - p, 3, 50, tag=1))
        a.call(p, "MPI_Recv", 23, 29, recv(1 - p, 50, tag=1))
        a.call(p, "MPI_Wait", 33, 34, *([sent(3)] if complete else []))
    return a.trace()


def test_repair__completions(tmp_path):
    """Without completion records the Waitall and the Wait must have completed what was posted before them."""
    trace, whole = (halo(Archive(tmp_path / str(complete), 2), complete) for complete in (False, True))
    assert rows(trace.requests) == rows(whole.requests) == [(0, 2, 0), (1, 2, 0), (3, 5, 0), (6, 8, 0), (7, 8, 0), (9, 11, 0)]
    assert (trace.counts.inferred_completions, whole.counts.inferred_completions) == (6, 0)
    assert matched(trace) == [(3, 5, 10, 10, 1, 0, 0, 50), (9, 11, 4, 4, 1, 0, 0, 50)]
    assert [row[:4] for row in rows(whole.messages)] == [(0, 2, 7, 8), (3, 5, 10, 10), (6, 8, 1, 2), (9, 11, 4, 4)]


def test_repair__not_of_a_sound_archive(archive):
    """A request that was given away is never completed; every other completion is recorded."""
    a = archive(1)
    a.call(0, "MPI_Isend", 0, 1, isend(0, 1))
    a.call(0, "MPI_Request_free", 2, 3)
    a.call(0, "MPI_Irecv", 4, 5, post(2))
    a.call(0, "MPI_Waitall", 6, 7, irecv(0, 2))
    trace = a.trace()
    assert (rows(trace.requests), trace.counts.inferred_completions) == ([(0, -1, 0), (2, 3, 0)], 0)


@pytest.mark.parametrize(
    ("tag", "size", "source", "repaired"),
    [(5, 100, 0, 1), (6, 100, 0, 0), (5, 101, 0, 0), (5, 100, 2, 0)],
    ids=["all agree", "tag", "size", "sender"],
)
def test_repair__communicators(archive, tag, size, source, repaired):
    """Sent in `copy`, received in the world, as EZTrace has it: put right only where sender, receiver, tag and size agree."""
    a = archive(3)
    copy = a.comm("copy", [0, 1, 2])
    a.call(0, "MPI_Send", 0, 1, send(1, 100, 5, copy))
    a.call(1, "MPI_Recv", 0, 5, recv(source, size, tag))
    trace = a.trace()
    assert (trace.counts.repaired_communicators, len(trace.messages)) == (repaired, repaired)
    assert [row[5] for row in matched(trace)] == [1] * repaired


def test_repair__communicators_of_what_matches_stay(archive):
    """Two are sent, one in the world and one in `copy`, both are received in the world: the first is right as it is."""
    a = archive()
    copy = a.comm("copy", [0, 1])
    a.call(0, "MPI_Send", 0, 1, send(1, 100, comm=copy))
    a.call(0, "MPI_Send", 2, 3, send(1, 100))
    a.call(1, "MPI_Recv", 0, 5, recv(0, 100))
    a.call(1, "MPI_Recv", 6, 7, recv(0, 100))
    trace = a.trace()
    assert [(row[0], row[2], row[5]) for row in matched(trace)] == [(0, 3, 1), (1, 2, 0)]
    assert trace.counts.repaired_communicators == 1


def test_repair__sizes(archive):
    """Process 1 names nonsense for what it receives: no size of its is believed. Process 2 names another one that can be, as ever.

    What process 1 receives of nobody has 0 bytes for nonsense.
    """
    a = archive(3)
    for tag, (to, size) in enumerate([(1, 8), (1, 100), (1, 9), (2, 50), (1, 7)]):
        a.call(0, "MPI_Send", 10 * tag, 10 * tag + 1, send(to, size, tag))
    for tag, size in ((0, 421 << 40), (1, (1 << 64) - 5), (2, 3), (4, 7), (8, 1 << 41), (9, 6)):
        a.call(1, "MPI_Recv", 10 * tag, 10 * tag + 5, recv(0, size, tag))
    a.call(2, "MPI_Recv", 30, 35, recv(0, 49, 3))
    trace = a.trace()
    assert [(row[4], row[7]) for row in rows(trace.messages)] == [(0, 8), (1, 100), (2, 9), (4, 7)]
    assert trace.calls.bytes_received[5:].tolist() == [8, 100, 9, 7, 0, 6, 49]
    assert {name: counted(trace)[name] for name in ("repaired_sizes", "contradicting", "unmatched_receives")} == {
        "repaired_sizes": 3,
        "contradicting": 1,
        "unmatched_receives": 3,
    }


@pytest.mark.slow
def test_repair__sizes_stay_repaired_in_other_formats(archive, tmp_path):
    a = archive(2)
    a.call(0, "MPI_Send", 0, 1, send(1, 100))
    a.call(1, "MPI_Recv", 0, 5, recv(0, 421 << 40))
    trace = a.trace()
    for name in ("copy.log", "copy.otf2"):
        perwiz.write(trace, str(tmp_path / name))
        copy = perwiz.read(str(tmp_path / name))
        assert (rows(copy.messages), copy.calls.bytes_received.tolist()) == (rows(trace.messages), [0, 100])
    assert copy.counts.repaired_sizes == 1


def test_repair__sizes_of_posted_receives(archive):
    """Posted as 1, 2, completed as 2, 1: the first posted takes the first sent, whatever sizes they name."""
    a = archive(2)
    a.call(0, "MPI_Send", 0, 1, send(1, 100))
    a.call(0, "MPI_Send", 2, 3, send(1, 200))
    a.call(1, "MPI_Irecv", 0, 1, post(1))
    a.call(1, "MPI_Irecv", 2, 3, post(2))
    a.call(1, "MPI_Wait", 4, 5, irecv(0, 2, 1 << 50))
    a.call(1, "MPI_Wait", 6, 7, irecv(0, 1, 1 << 51))
    trace = a.trace()
    assert [(row[2], row[3], row[7]) for row in rows(trace.messages)] == [(2, 5, 100), (3, 4, 200)]
    assert trace.calls.bytes_received[2:].tolist() == [0, 0, 200, 100]


def test_repair__sizes_that_nobody_knows(archive):
    """The sender names nonsense as well: still no message."""
    a = archive(2)
    a.call(0, "MPI_Send", 0, 1, send(1, 1 << 42))
    a.call(1, "MPI_Recv", 0, 5, recv(0, 1 << 41))
    trace = a.trace()
    assert (len(trace.messages), counted(trace)["contradicting"], "repaired_sizes" in counted(trace)) == (0, 1, False)


def ends(records):
    """Return one side of messages of (rank, peer, tag, communicator, bytes)."""
    rank, peer, tag, comm, size = np.array(records, "i8").reshape(-1, 5).T.copy()
    call = np.arange(len(rank))
    return Ends(call, call, rank, peer, tag, comm, size)


SIDE = st.lists(st.tuples(st.integers(0, 1), st.integers(-1, 1), st.integers(0, 1), st.integers(-1, 1), st.integers(1, 2)), max_size=8)


@pytest.mark.slow
@given(SIDE, SIDE)
def test_repair__communicators_law(sent, received):
    """Each repair makes one more message, between records that agree in the rest; a second look finds nothing more to repair."""
    sends, receives = ends(sent), ends(received)
    before = pairs(sends, receives)
    count = communicators(sends, receives)
    after = pairs(sends, receives)
    assert len(after) == len(before) + count
    assert {receive: send for send, receive in before}.items() <= {receive: send for send, receive in after}.items() or count
    assert communicators(sends, receives) == 0
    changed = [k for k, (record, comm) in enumerate(zip(received, receives.comm.tolist(), strict=True)) if record[3] != comm]
    assert len(changed) == count
    assert {receive for _, receive in before}.isdisjoint(changed)
    free = [(r, p, t, receives.comm[k], size) for k, (p, r, t, _, size) in enumerate(received) if k in changed]
    assert all(record in sent for record in free)


def pairs(sends, receives):
    """Return (send, receive) of all messages, first in, first out, with lists."""
    waiting = list(enumerate(zip(*(column.tolist() for column in (sends.rank, sends.peer, sends.tag, sends.comm)), strict=True)))
    out = []
    for receive, key in enumerate(
        zip(*(column.tolist() for column in (receives.peer, receives.rank, receives.tag, receives.comm)), strict=True)
    ):
        send = next((number for number, other in waiting if other == key), None)
        if send is not None:
            waiting = [one for one in waiting if one[0] != send]
            out.append((send, receive))
    return out


WAIT, WAITALL, ISEND, IRECV = (operations.OP[f"MPI_{name}"] for name in ("Wait", "Waitall", "Isend", "Irecv"))


@pytest.mark.parametrize(
    ("done", "expected"),
    [
        ([4, 4, 5], [4, 4, 5]),
        ([-1, -1, -1], [3, 4, 5]),
        ([4, -1, 5], [4, 3, 5]),
        ([3, -1, -1], [3, 4, 5]),
        ([3, 5, -1], [3, 5, 4]),
        ([5, -1, 3], [5, 4, 3]),
    ],
)
def test_repair__completions_beside_recorded_ones(done, expected):
    """Three sends, then Wait (3), Waitall (4), Wait (5). A Wait that completes something recorded completes nothing else."""
    op = np.array([ISEND, ISEND, ISEND, WAIT, WAITALL, WAIT], "u2")
    requests = tables.Requests(*(np.array(values, "i4") for values in ([0, 1, 2], done)), np.zeros(3, "u1"))
    repaired, count = inferred(op, np.zeros(6, "i4"), requests, np.ones(3, bool))
    assert (repaired.completed_by.tolist(), count) == (expected, done.count(-1))
    assert (repaired is requests) == (-1 not in done)


# All together.


def everything(archive):
    """Return an archive with some of everything, read and written to."""
    a = archive(3, threads=2, resolution=3 * 10**9, start=10**12)
    own, pair, between = a.comm("self"), a.comm("pair", [2, 0]), a.inter("between", [0], [1, 2])
    ref, number = a.metrics(a.metric("cycles"), a.metric("energy", "J", exponent=-3)), a.parameter("number", 1)
    a.topology(0, [3], [(p, [p]) for p in range(3)])
    a.offsets = {1: [(10**12, -50, 1.0), (10**12 + 10**6, -70, 2.0)]}
    for p in range(3):
        a.at(p, 0, "ProgramBegin", a.text("a.out"), [])
        a.enter(p, 1, "main", file="main.c", line=3)
        for step in range(100, 4000, 100):
            a.enter(p, step, "step")
            a.at(p, step + 1, "ParameterInt", number, step)
            a.call(p, "MPI_Isend", step + 2, step + 3, isend((p + 1) % 3, step, step, tag=p))
            a.call(p, "MPI_Irecv", step + 4, step + 5, post(step + 1))
            a.call(p, "MPI_Test", step + 6, step + 7, ("MpiRequestTest", step + 1))
            a.at(p, step + 8, "Metric", ref, *values(step, 2 * step))
            a.enter(p, step + 8, "MPI_Waitall")
            a.at(p, step + 20, "Metric", ref, *values(step + 5, 2 * step + 5))
            a.at(p, step + 20, *irecv((p - 1) % 3, step + 1, step, tag=(p - 1) % 3))
            a.at(p, step + 20, *sent(step))
            a.leave(p, step + 20, "MPI_Waitall")
            a.call(p, "MPI_Allreduce", step + 30, step + 40, BEGIN, together(ALLREDUCE, 0, -1, 8, 8))
            a.leave(p, step + 41, "step")
        a.call(p, "MPI_Barrier", 4100, 4110, BEGIN, together(BARRIER, own))
        a.call(p, "MPI_Bcast", 4120, 4130, BEGIN, together(BCAST, between, -2 if p == 0 else 0, 4, 4))
        if p != 1:
            a.call(p, "MPI_Reduce", 4140, 4150, BEGIN, together(REDUCE, pair, 1, 4, 4))
        a.at(100 + p, 4200, "ThreadTeamBegin", 0)
        a.leave(p, 4300, "main")
    a.anchor = {"Creator": "a test", "MachineName": "paper"}
    a.realtime = 1_700_000_000_123_456_789
    return a.write()


@pytest.mark.slow
def test_everything__through_processes(archive):
    """What perwiz.read makes of an archive is what these tests look at."""
    path = everything(archive)
    trace = perwiz.read(path)
    same(trace, otf2_tables.Builder(recorded(path), path).trace())
    assert (len(trace.messages), len(trace.collectives)) == (117, 44)
    assert found(trace) == [(thread, "state that never ends") for thread in (1, 3, 5)], "teams without end"
    assert (len(trace.counters), len(trace.parameters), len(trace.regions)) == (234, 117, 120)
    assert trace.counts.unmatched_receives == trace.counts.incomplete_collectives == 0


@pytest.mark.slow
@pytest.mark.parametrize("piece", [1, 7, 500])
def test_everything__piece_by_piece(archive, piece):
    """What is open, counted and numbered carries over from one to the next."""
    path = everything(archive)
    same(otf2_tables.Builder(recorded(path, piece), path).trace(), otf2_tables.Builder(recorded(path), path).trace())


def test_everything__properties(archive):
    path = everything(archive)
    trace = otf2_tables.Builder(recorded(path), path).trace()
    assert dict(trace.properties) == {"recorder": "a test", "machine": "paper", "started": "2023-11-14T22:13:20.123457+00:00"}


@pytest.mark.parametrize("refs", [[3, 1 << 31], [NOTHING - 1], [1 << 20, 0], [(1 << 20) - 1, 2]])
def test_regions__numbers_of_any_size(archive, refs):
    """In a table below 2**20, else looked for; the one between is not defined."""
    a = archive(1)
    for step, ref in enumerate(refs):
        a.refs["Region"] = ref - 1
        a.region(f"r{step}", again=True)
        a.enter(0, 10 * step, ref)
        a.leave(0, 10 * step + 1, ref)
    a.enter(0, 90, 5)
    a.leave(0, 99, 5)
    trace = a.trace()
    assert [trace.names[trace.paths.region[row[1]]] for row in rows(trace.regions)] == [
        *(f"r{k}" for k in range(len(refs))),
        "undefined region",
    ]


def test_regions__none_is_defined(archive):
    a = archive(1)
    a.enter(0, 0, 0)
    a.leave(0, 9, 0)
    assert (lambda trace: (trace.names, len(trace.defects)))(a.trace()) == (("undefined region",), 2)


@pytest.mark.slow
@pytest.mark.parametrize(("time", "error"), [((1 << 63) + 5, 0.0), (200, float("nan"))])
def test_faults__clock_offsets_that_cannot_be(archive, time, error):
    """The other one of the location is kept."""
    a = archive(2)
    a.everyone("MPI_Barrier", BEGIN, together(BARRIER))
    a.offsets = {0: [(0, 0, 0.0)], 1: [(0, 4, 1.0), (time, 4, error)]}
    trace = perwiz.read(a.write())
    assert trace.faults == (f"location 1 (rank 1): its definitions: clock offset at tick {time}, must be below 2**63",)
    assert (trace.offsets.location.tolist(), found(trace)) == ([0, 1], [(1, defects.REASONS[defects.UNREADABLE])])


def test_faults__say_what_and_where(archive):
    """A file of events that ends too early, one that is missing: the report names location and rank."""
    a = archive(2)
    a.call(0, "MPI_Barrier", 0, 10, BEGIN, together(BARRIER))
    a.call(1, "MPI_Barrier", 0, 10, BEGIN, together(BARRIER))
    path = a.write()
    os.remove(f"{path.removesuffix('.otf2')}/1.evt")
    trace = perwiz.read(path)
    assert trace.faults == ("location 1 (rank 1): no file 1.evt (ENOENT)",)
    assert trace.counts.silent_processes == 1
