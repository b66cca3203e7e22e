"""DUMPI: records, requests, communicators, datatypes and windows to tables, and what is missing."""

import numpy as np
import pytest

import dumpis
from dumpis import ANY, DOUBLE, INT, NULL, SELF, WORLD, in_turn, record, status
from perwiz.errors import TraceError
from perwiz.formats import files
from perwiz.formats.assembly import LEFT_OUT
from perwiz.formats.dumpi.columns import Work
from perwiz.formats.dumpi.files import process
from perwiz.trace import defects, operations
from perwiz.trace.tables import SYNCHRONOUS
from soundness import sound


def checked(path):
    """Return the trace in a file, which is sound."""
    trace = files.read(path)
    sound(trace)
    return trace


@pytest.fixture
def read(tmp_path):
    """Return what writes a trace of these records per process, reads and checks it."""

    def reads(*ranks, **how):
        return checked(dumpis.put(tmp_path, ranks, **how))

    return reads


def names(trace, rank=0):
    """Return the routines that a process calls."""
    return [operations.OPS[op].removeprefix("MPI_") for op in trace.calls.op[trace.calls.location == rank]]


def messages(trace):
    """Return the messages: send, its completion, receive, its completion, tag, bytes."""
    columns = ("send", "send_done", "receive", "receive_done", "tag", "bytes")
    return list(zip(*(getattr(trace.messages, name).tolist() for name in columns), strict=True))


def test_read__bytes(tmp_path):
    """A file byte by byte: MPI_Send of 3 ints to rank 1, tag 7, at 1000.000000005 s for 4 ns. The receive took 8 bytes less."""
    sent = "0000 48 0000 0000 00000005 0000 00000009 00000003 0009 00000001 00000007 0002"
    got = "0001 4a 0000 0000 00000006 0000 0000000f 00000003 0009 ffffffff ffffffff 0002 00000001 00000004 00000000 00 00 00000007"
    head = dumpis.MAGIC + bytes.fromhex("00000000 000003e8")
    for rank, text in enumerate((sent, got)):
        (tmp_path / f"d-{rank:04d}.bin").write_bytes(head + bytes.fromhex(text))
    trace = files.read(str(tmp_path))
    assert trace.format == "DUMPI"
    assert (trace.timeline.calls.enter.tolist(), trace.timeline.calls.leave.tolist()) == ([0, 1], [4, 10])
    assert (trace.calls.peer.tolist(), trace.calls.tag.tolist()) == ([1, -2], [7, -2])
    assert (trace.calls.bytes_sent.tolist(), trace.calls.bytes_received.tolist()) == ([12, 0], [0, 4])
    assert messages(trace) == [(0, 0, 1, 1, 7, 4)]
    assert trace.counts.size_differs == 1
    assert trace.properties["started"] == "1970-01-01T00:16:40+00:00"
    assert [fault.split(": ")[1] for fault in trace.faults] == ["no index at its end, which is cut off"] * 2


def test_read__requests(read):
    """Every way to complete: two requests of one handle (2), as an MPI hands them out that are complete at once, go first in, first out."""
    one = [status(1, 5, 8)]
    trace = read(
        in_turn(
            ("Issend", 2, INT, 1, 4, WORLD, 2),
            ("Isend", 1, INT, 1, 4, WORLD, 2),
            ("Waitany", 2, [2, 2], 1, one),
            ("Wait", 2, [status(77, 9, 9)]),
            ("Irecv", 9, INT, ANY, ANY, WORLD, 3),
            ("Test", 3, 0, []),
            ("Test", 3, 1, one),
            ("Irecv", 9, INT, 1, 6, WORLD, 4),
            ("Irecv", 9, INT, 1, 7, WORLD, 5),
            ("Waitsome", 2, [4, 5], 1, [1], [status(1, 7, 12)]),
            ("Testany", 2, [4, NULL], -1, 0, []),
            ("Testall", 2, [4, NULL], 0, []),
            ("Testall", 2, [4, NULL], 1, [status(1, 6, 4)] * 2),
            ("Wait", 9, []),
            ("Wait", 10**6, []),
        ),
        in_turn(
            ("Irecv", 2, INT, 0, 4, WORLD, 2),
            ("Irecv", 2, INT, 0, 4, WORLD, 3),
            ("Waitall", 2, [2, 3], [status(0, 4, 8), status(0, 4, 4)]),
            *(("Send", size, INT, 0, tag, WORLD) for size, tag in ((2, 5), (1, 6), (3, 7))),
        ),
    )
    assert messages(trace) == [
        (0, 2, 15, 17, 4, 8),
        (1, 3, 16, 17, 4, 4),
        (18, 18, 4, 6, 5, 8),
        (19, 19, 7, 12, 6, 4),
        (20, 20, 8, 9, 7, 12),
    ]
    assert trace.messages.mode.tolist() == [SYNCHRONOUS, 0, 0, 0, 0]
    assert (trace.unfinished.call.tolist(), trace.unfinished.request.tolist()) == ([5], [2])
    assert trace.defects.reason.tolist() == [defects.NOT_POSTED] * 2


def test_read__persistent_cancelled_and_freed(read):
    """A persistent request starts as often as it is started; a cancelled one and a freed one complete nothing; nobody gets nothing."""
    trace = read(
        in_turn(
            ("Send_init", 1, DOUBLE, 1, 3, WORLD, 2),
            ("Recv_init", 1, DOUBLE, 1, 3, WORLD, 3),
            ("Startall", 3, [2, 3, 8]),
            ("Waitall", 2, [2, 3], [status(), status(1, 3, 8)]),
            ("Start", 2),
            ("Wait", 2, []),
            ("Wait", 2, []),
            ("Irecv", 1, INT, 1, 8, WORLD, 4),
            ("Cancel", 4),
            ("Wait", 4, [status(1, 8, 0, cancelled=1)]),
            ("Isend", 1, INT, 1, 9, WORLD, 4),
            ("Cancel", 4),
            ("Wait", 4, [status(1, 8, 0, cancelled=1)]),
            ("Isend", 1, INT, 1, 10, WORLD, 4),
            ("Request_free", 4),
            ("Request_free", 2),
            ("Start", 2),
            ("Isend", 1, INT, -2, 0, WORLD, 5),
            ("Irecv", 1, INT, -2, 0, WORLD, 6),
            ("Irecv", 1, INT, ANY, 0, WORLD, 7),
            ("Waitall", 3, [5, 6, 7], [status(-1, -1)] * 3),
            ("Isend", 1, INT, 1, 11, WORLD, 1),
            ("Startall", 1, [2]),
        ),
        in_turn(*(("Recv", 1, DOUBLE, 0, tag, WORLD, [status(0, tag, 8)]) for tag in (3, 3, 10, 11)), ("Send", 1, DOUBLE, 0, 3, WORLD)),
    )
    assert [(send, done, tag) for send, done, _, _, tag, _ in messages(trace)] == [
        (2, 3, 3),
        (4, 5, 3),
        (13, -1, 10),
        (21, -1, 11),
        (27, 27, 3),
    ]
    assert trace.calls.bytes_sent[[2, 4]].tolist() == [8, 8]
    assert trace.requests.cancelled.sum() == 2
    assert trace.counts.to_nobody == 2
    assert trace.counts.lacking == {}
    assert trace.defects.reason.tolist() == [defects.NOT_POSTED] * 3


def test_read__exchanges_and_probes(read):
    """MPI_Sendrecv is a send and a receive; one with nobody is half of that. A probe takes nothing; partners must be members."""
    zero = in_turn(
        ("Sendrecv", 1, INT, 1, 3, 5, DOUBLE, 1, 4, WORLD, [status(1, 4, 16)]),
        ("Sendrecv_replace", 1, INT, 1, 3, -2, 4, WORLD, [status(-2, -1)]),
        ("Probe", ANY, 5, WORLD, [status(1, 5, 8)]),
        ("Iprobe", 1, ANY, WORLD, 0, []),
        ("Recv", 2, INT, 1, 5, WORLD, []),
        ("Send", 1, INT, 7, 0, WORLD),
    )
    one = in_turn(
        ("Sendrecv_replace", 2, DOUBLE, 0, 4, 0, 3, WORLD, [status(0, 3, 4)]),
        ("Recv", 1, INT, 0, 3, WORLD, [status(0, 3, 4)]),
        ("Send", 1, INT, 0, 5, WORLD),
    )
    trace = read(zero, one)
    assert messages(trace) == [(0, 0, 6, 6, 3, 4), (1, 1, 7, 7, 3, 4), (6, 6, 0, 0, 4, 16), (8, 8, 4, 4, 5, 4)]
    assert (trace.calls.peer[:4].tolist(), trace.calls.tag[:4].tolist()) == ([1, 1, -2, 1], [3, 3, 5, -2])
    assert trace.defects.reason.tolist() == [defects.NOT_A_MEMBER]
    assert trace.counts.unmatched_sends == 1


def test_read__wildcards_without_statuses(read):
    """Where nobody tells whose message it was, receives of any take what others leave, as it was sent."""
    zero = in_turn(
        ("Irecv", 1, INT, ANY, 3, WORLD, 2),
        ("Recv", 9, INT, 2, 3, WORLD),
        ("Recv", 9, INT, 2, ANY, WORLD),
        ("Recv", 9, INT, ANY, ANY, WORLD),
        ("Wait", 2),
        ("Recv", 9, INT, ANY, ANY, WORLD),
        mask=0x4C,
        start=100,
    )
    one = in_turn(("Send", 1, INT, 0, 3, WORLD), ("Send", 2, INT, 0, 6, WORLD))
    two = in_turn(("Send", 3, INT, 0, 3, WORLD), ("Send", 4, INT, 0, 5, WORLD))
    trace = read(zero, one, two)
    assert messages(trace) == [(6, 6, 0, 4, 3, 4), (7, 7, 3, 3, 6, 8), (8, 8, 1, 1, 3, 12), (9, 9, 2, 2, 5, 16)]
    assert trace.properties[LEFT_OUT] == "who sent 3 messages: taken as sent"
    assert (trace.counts.unmatched_receives, trace.counts.size_differs) == (1, 0)


COLLECTIVES = [  # what each of two ranks says, and the bytes it sends and receives
    (("Barrier", WORLD), ("Barrier", WORLD), (0, 0), (0, 0)),
    (("Bcast", 3, INT, 1, WORLD), None, (0, 12), (12, 0)),
    (("Reduce", 3, INT, 1, 1, WORLD), None, (12, 0), (12, 12)),
    (("Gather", 0, 3, INT, 1, WORLD), ("Gather", 1, 3, INT, 1, WORLD, 3, INT), (12, 0), (12, 24)),
    (("Gatherv", 0, 2, 3, INT, 1, WORLD, INT), ("Gatherv", 1, 2, 4, INT, 1, WORLD, [3, 4], [0, 3], INT), (12, 0), (16, 28)),
    (("Scatter", 0, 3, INT, 1, WORLD), ("Scatter", 1, 3, INT, 1, WORLD, 3, INT), (0, 12), (24, 12)),
    (("Scatterv", 0, 2, INT, 3, INT, 1, WORLD), ("Scatterv", 1, 2, INT, 4, INT, 1, WORLD, [3, 4], [0, 3]), (0, 12), (28, 16)),
    (("Allgather", 3, INT, 3, INT, WORLD), None, (12, 24), (12, 24)),
    (("Allgatherv", 2, 3, INT, [3, 4], [0, 3], INT, WORLD), None, (12, 28), (12, 28)),
    (("Alltoall", 3, INT, 3, INT, WORLD), None, (24, 24), (24, 24)),
    (("Alltoallv", 2, [1, 2], [0, 1], INT, [1, 4], [0, 1], DOUBLE, WORLD), None, (12, 40), (12, 40)),
    (("Alltoallw", 2, [1, 2], [0, 1], [INT, DOUBLE], [1, 4], [0, 1], [INT, INT], WORLD), None, (20, 20), (20, 20)),
    (("Allreduce", 3, INT, 3, WORLD), None, (12, 12), (12, 12)),
    (("Reduce_scatter", 2, [1, 4], INT, 3, WORLD), None, (20, 4), (20, 16)),
    (("Exscan", 3, INT, 3, WORLD), None, (12, 12), (12, 12)),
    (("Finalize",), None, (0, 0), (0, 0)),
]


def test_read__collectives(read):
    trace = read(in_turn(*(row[0] for row in COLLECTIVES)), in_turn(*(row[1] or row[0] for row in COLLECTIVES)))
    moved = np.stack([trace.calls.bytes_sent, trace.calls.bytes_received], 1).reshape(2, -1, 2).tolist()
    for number, (call, _, *bytes_of) in enumerate(COLLECTIVES):
        assert [tuple(moved[rank][number]) for rank in (0, 1)] == bytes_of, call
    assert len(trace.collectives) == len(COLLECTIVES)
    assert trace.collectives.root.tolist() == [-1] + [1] * 6 + [-1] * 9


def test_read__communicators(read):
    """Handles differ from rank to rank and are used again: what they are, the history tells, of groups, grids and both sides, too."""

    def calls(rank):
        odd, evens = rank % 2, [0, 2]
        grouped = ("Comm_create", WORLD, 12, NULL if odd else 9)
        return in_turn(
            ("Comm_split", WORLD, odd, -rank, 4 + odd),
            ("Comm_dup", 4 + odd, 7),
            ("Comm_group", WORLD, 10),
            ("Group_incl", 10, 2, [3, 1], 11),
            ("Group_difference", 10, 11, 12),
            ("Group_intersection", 10, 11, 13),
            ("Group_union", 12, 13, 14),
            ("Group_excl", 14, 1, [0], 15),
            ("Group_range_excl", 14, 1, [[0, 2, 2]], 16),
            ("Group_range_incl", 14, 1, [[3, 0, -1]], 17),
            grouped,
            ("Comm_create", WORLD, 15, NULL if rank == 0 else 20),
            ("Comm_create", WORLD, 16, 21 if rank in (2, 3) else NULL),
            ("Comm_create", WORLD, 17, 22),
            ("Cart_create", WORLD, 2, [2, 2], [0, 1], 0, 4 + odd),
            ("Cart_sub", 2, 4 + odd, [0, 1], 8),
            ("Graph_create", 2, WORLD, 2, [1, 2], [1, 0], 0, 23 if rank < 2 else NULL),
            ("Comm_split", WORLD, odd, 0, 24),
            ("Intercomm_create", 24, 0, WORLD, 1 - odd, 99, 25),
            ("Comm_remote_group", 25, 18),
            ("Intercomm_merge", 25, odd, 26),
            ("Comm_dup", 25, 27),
            ("Comm_dup", 4 + odd, 28),
            ("Barrier", 7),
            ("Allreduce", 1, INT, 3, 26),
            ("Send", 1, INT, 0, 1, 25) if odd and rank == 1 else ("Recv", 1, INT, 0, 1, 25, [status(0, 1, 4)]) if rank == 0 else ("Wtime",),
            ("Bcast", 1, INT, 0, 8),
            ("Barrier", 99),
            ("Comm_connect", b"port", 0, 0, WORLD, 30),
            ("Barrier", SELF),
            *([] if odd else [("Barrier", 9), ("Comm_split", 9, len(evens), 0, 29)]),
        )

    trace = read(*(calls(rank) for rank in range(4)))
    groups = [tuple(trace.communicators.members(row).tolist()) for row in range(len(trace.communicators))]
    assert sorted(groups[5:]) == sorted(
        [(2, 0), (3, 1), (2, 0), (3, 1), (0, 2), (2, 1, 3), (2, 3), (3, 1, 2, 0), (0, 1, 2, 3), (0, 1), (2, 3), (0, 1), (0, 2), (1, 3)]
        + [(0, 2, 1, 3)] * 3
        + [(0, 1, 2, 3), (0, 2)]
    )
    assert groups[:5] == [(0, 1, 2, 3), (0,), (1,), (2,), (3,)]
    assert [topology.sizes for topology in trace.topologies] == [(2, 2), (2,), (2,), (2, 2)]
    assert trace.topologies[0].coordinates.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    roots = trace.collectives.root[trace.collectives.op == operations.OP["MPI_Bcast"]]
    assert roots.tolist() == [0, 2]
    [(send, _, receive, *_)] = messages(trace)
    assert (trace.processes_of_calls[[send, receive]].tolist(), trace.calls.peer[[send, receive]].tolist()) == ([1, 0], [0, 1])
    assert trace.defects.reason.tolist() == [defects.UNDEFINED_COMMUNICATOR] * 4


def test_read__communicators_of_missing_ranks(read):
    """Those that are there make theirs alone, also where one never comes; an intercommunicator without its other side is unknown."""
    zero = in_turn(("Comm_split", WORLD, 0, 0, 4), ("Barrier", 4), ("Intercomm_create", 4, 0, WORLD, 1, 9, 5), ("Barrier", 5))
    two = in_turn(("Comm_split", WORLD, 0, 0, 4), ("Barrier", 4))
    trace = read(zero, None, two)
    assert [trace.communicators.members(row).tolist() for row in range(2)] == [[0, 1, 2], [0, 2]]
    assert trace.counts.silent_processes == 1
    assert trace.locations.process.tolist() == [0, 2]
    assert trace.defects.reason.tolist() == [defects.UNDEFINED_COMMUNICATOR]


def test_read__datatypes(read):
    """Sizes are those of the file, else of its making; a handle that is used again has its new one. Nobody knows 60."""
    made = {
        40: ("Type_contiguous", 3, INT, 40),
        41: ("Type_vector", 2, 3, 9, DOUBLE, 41),
        42: ("Type_create_indexed_block", 2, 2, [0, 9], INT, 42),
        43: ("Type_indexed", 2, [1, 4], [0, 9], INT, 43),
        44: ("Type_create_struct", 2, [1, 2], [0, 8], [INT, DOUBLE], 44),
        45: ("Type_dup", 41, 45),
        46: ("Type_create_resized", 40, 0, 99, 46),
        47: ("Type_create_subarray", 2, [9, 9], [2, 5], [0, 0], 1, INT, 47),
        48: ("Type_size", 48, 123),
    }
    calls = [*made.values(), *(("Send", 1, kind, 1, 0, WORLD) for kind in (*made, 50, 60))]
    calls += [("Type_contiguous", 5, INT, 40), ("Send", 1, 40, 1, 0, WORLD)]
    trace = read(in_turn(*calls), sizes=[0] * 50 + [77])
    sent = trace.calls.bytes_sent[operations.KIND[trace.calls.op] == operations.SEND]
    assert sent.tolist() == [12, 48, 16, 20, 20, 48, 12, 40, 123, 77, 0, 20]
    assert trace.properties[LEFT_OUT] == "sizes of datatypes 1 times: taken as 0"


def test_read__windows(read):
    """Calls on windows name them, by number on their communicator; epochs and exclusive locks make links."""
    one = (("Win_create", 80, 8, 0, WORLD, 4), ("Win_create", 80, 8, 0, WORLD, 5))
    group = (("Comm_group", WORLD, 9), ("Group_incl", 9, 1, [1], 10), ("Group_incl", 9, 1, [0], 11), ("Win_get_group", 5, 12))
    zero = in_turn(
        *(*one, *group, ("Win_fence", 0, 5), ("Put", 4, DOUBLE, 1, 0, 4, DOUBLE, 5), ("Get", 2, INT, 1, 0, 2, INT, 5)),
        *(("Accumulate", 2, INT, 1, 0, 2, INT, 3, 5), ("Win_fence", 0, 5), ("Win_start", 10, 0, 4), ("Win_complete", 4)),
        *(("Win_lock", 2, 1, 0, 4), ("Win_unlock", 1, 4), ("Win_free", 5)),
    )
    other = in_turn(
        *(*one, *group, ("Win_fence", 0, 5), ("Win_fence", 0, 5), ("Win_post", 11, 0, 4), ("Win_wait", 4), ("Win_lock", 1, 1, 0, 4)),
        *(("Win_unlock", 1, 4), ("Win_free", 5)),
    )
    trace = read(zero, other)
    puts = np.flatnonzero(operations.ACCESSES[trace.calls.op])
    assert [getattr(trace.calls, name)[puts].tolist() for name in ("peer", "tag", "comm")] == [[1] * 3, [1] * 3, [0] * 3]
    assert (trace.calls.bytes_sent[puts].tolist(), trace.calls.bytes_received[puts].tolist()) == ([32, 0, 8], [0, 8, 0])
    assert (trace.collectives.op == operations.OP["MPI_Win_fence"]).sum() == 2
    assert len(trace.links)
    assert [trace.texts[text] for text in trace.labels.text.tolist()] == ["exclusive", "shared"]
    strange = read(in_turn(*one, ("Win_lock", 2, 9, 0, 4), ("Put", 4, DOUBLE, 9, 0, 4, DOUBLE, 4)))
    assert (strange.calls.peer.tolist(), strange.defects.reason.tolist()) == ([-1, -1, -2, -2], [defects.NOT_A_MEMBER] * 2)


def test_read__threads_and_clocks(read):
    """Threads are locations; 16 bits of seconds begin anew; times that run backwards are moved; what is not kept is counted."""
    late = 65535 * 10**9
    trace = read(
        [
            record("Isend", 1, INT, 1, 0, WORLD, 2, at=(late, late + 5)),
            record("Wait", 2, [], at=(late + 9, late + 2 * 10**9), counters=(1, 2), thread=3),
            record("Function_enter", 7, at=(0, 0)),
            record("Wtime", at=(late + 7, late + 8), thread=3),
            record("Wtime", at=(late + 3 * 10**9, late + 2 * 10**9)),
            record("Wtime", mask=0x40),
            record("Comm_spawn", 0, 0, WORLD, 9, b"a.out", [b"x", b"y"], 2, 0, [0, 0], at=(late + 4 * 10**9,) * 2),
            record("Comm_spawn_multiple", 1, 0, 0, SELF, 9, 1, [b"a"], [[b"x"], []], [1], [0], [0], at=(late + 4 * 10**9,) * 2),
            record("Init", [b"a.out"], at=(late + 5 * 10**9,) * 2),
        ],
        [record("Recv", 1, INT, 0, 0, WORLD, [], at=(late, late + 1)), record("Type_struct", 1, [2], [0], [INT], 40, at=(late + 2,) * 2)],
    )
    assert trace.locations.thread.tolist() == [0, 1, 0]
    assert names(trace, 1) == ["Wait", "Wtime"]
    assert trace.timeline.calls.enter.tolist() == [0, 3 * 10**9, 4 * 10**9, 4 * 10**9, 5 * 10**9, 9, 2 * 10**9, 0, 2]
    assert trace.timeline.calls.leave.tolist()[5:7] == [2 * 10**9, 2 * 10**9]
    assert messages(trace) == [(0, 5, 7, 7, 0, 4)]
    assert [reason for reason in trace.defects.reason.tolist() if reason == defects.BACKWARDS] == [defects.BACKWARDS] * 2
    assert trace.properties[LEFT_OUT] == "2 x value of counters; 1 x begin or end of functions"
    assert [fault.partition(": ")[2] for fault in trace.faults] == ["1 call without times of the clock, left out"]


def test_read__old_versions(tmp_path):
    """Before 0.6.3 statuses had no tags, before 0.6.9 structs one displacement, before 0.6.6 files no sizes, and fewer places."""
    how = {"version": (0, 6, 2)}
    zero = in_turn(("Type_struct", 2, [1, 2], 0, [INT, DOUBLE], 40), ("Send", 1, 40, 1, 6, WORLD), **how)
    one = in_turn(("Recv", 9, INT, ANY, 6, WORLD, [status(0, 0, 20)]), ("Wtime",), **how)
    for places in (4, 5, 6):
        path = dumpis.put(tmp_path, [zero, one], places=places, **how)
        trace = files.read(path)
        assert (messages(trace), trace.faults) == ([(1, 1, 2, 2, 6, 20)], ())
    assert trace.nodes == ("n1",)
    assert trace.properties["recorder"] == "DUMPI 0.6.2"


def test_read__alone_or_cut(tmp_path):
    """A file alone is a process of as many as it says; a file that breaks off is read up to there, and the trace is incomplete."""
    calls = in_turn(("Comm_rank", WORLD, 2), ("Comm_size", WORLD, 5), ("Barrier", WORLD), ("Send", 1, INT, 4, 0, WORLD))
    path = tmp_path / "alone.bin"
    path.write_bytes(dumpis.file(calls))
    trace = checked(str(path))
    assert (trace.locations.process.tolist(), len(trace.communicators.members(0)), trace.counts.silent_processes) == ([2], 5, 4)
    path = dumpis.put(tmp_path, [dumpis.file(calls)[: -300 + 200], dumpis.file(calls, places=0)[:-4]])
    trace = checked(path)
    assert len(trace.calls) == 7
    where = f"byte {16 + sum(map(len, calls[:3]))} of {16 + sum(map(len, calls)) - 4}"
    assert trace.faults[-1] == f"{tmp_path}/run-0001.bin: {where} begins no record, read as far as there"
    assert defects.UNREADABLE in trace.defects.reason.tolist()


def test_read__names(tmp_path):
    """A trace is named by its list, its directory, or any of its files, packed or not."""
    calls = in_turn(("Barrier", WORLD))
    path = dumpis.put(tmp_path, [calls, calls])
    for name in (path, str(tmp_path), str(tmp_path / "run-0001.bin")):
        assert len(files.read(name).calls) == 2
    (tmp_path / "run.meta").unlink()
    assert len(files.read(str(tmp_path)).calls) == 2
    dumpis.put(tmp_path, [calls], name="other")
    (tmp_path / "other.meta").unlink()
    with pytest.raises(TraceError, match=r"2 DUMPI traces, .* must be given as one: its .meta file"):
        files.read(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("numprocs=x\nfileprefix=run\n", "numprocs 'x', must be from 1 to 1048576"),
        ("numprocs=2\nfileprefix=gone\n", "no file gone-0000.bin ... beside it, must have those of its 2 processes"),
        ("numprocs=1\nfileprefix=bad\n", "bad-0000.bin: 9 bytes, must be records of DUMPI behind their magic number"),
        (
            "numprocs=1\nfileprefix=torn\n",
            "no record of a call with times of the clock, byte 16 of .*torn-0000.bin begins none, must have some",
        ),
        ("numprocs=1\nfileprefix=none\n", "no record of a call with times of the clock, must have some"),
    ],
)
def test_read__refused(tmp_path, text, says):
    (tmp_path / "bad-0000.bin").write_bytes(dumpis.MAGIC + b"\0")
    (tmp_path / "torn-0000.bin").write_bytes(dumpis.file([b"\1\xff\xff"]))
    (tmp_path / "none-0000.bin").write_bytes(dumpis.file([]))
    path = tmp_path / "t.meta"
    path.write_text(text)
    with pytest.raises(TraceError, match=says):
        files.read(str(path))


def test_survey__cut_anywhere(tmp_path):
    """Records are read as far as they are whole, wherever they break off; lists may be longer than there was room for."""
    calls = [
        record("Comm_spawn_multiple", 1, 0, 0, SELF, 9, 1, [b"a"], [[b"x"], []], [1], [0], [0]),
        record("Group_range_incl", 9, 2, [[0, 1, 1], [2, 3, 1]], 10),
        record("Waitall", 1, [2], [status()], counters=(1, 2)),
        record("Startall", 3, [NULL] * 3),
    ]
    whole, ends = dumpis.file(calls, places=0), np.cumsum([16, *map(len, calls)])
    for cut in range(16, len(whole)):
        path = tmp_path / "x.bin"
        path.write_bytes(whole[:cut])
        work = Work(process(str(path), 0))
        work.survey()
        assert work.behind == ends[ends <= cut].max()
    many = files.read(dumpis.put(tmp_path, [in_turn(("Startall", 4000, [NULL] * 4000), ("Wtime",))]))
    assert len(many.calls) == 2
