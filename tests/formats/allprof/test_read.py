"""liballprof: small traces whose tables are known."""

import pytest

from perwiz.errors import TraceError
from perwiz.formats import files
from perwiz.trace import defects, operations
from soundness import sound

HEAD = "# htor's PMPI Tracer 1.0 Output File\n# time: now\n# hostname: {host}.(none)\n# clockdiff: 0.000000 s (relative to rank 0)\n\n"
ANY, NONE = -2, -1


def put(folder, *processes, world=94000000, size=None):
    """Write the lines of each process, times 10 us apart, and return the file of the first."""
    for rank, lines in enumerate(processes):
        w = f"{world},{rank},{size or len(processes)}"
        text = [HEAD.format(host=f"n{rank}"), "MPI_Init:-:1:2:1000000\n"]
        for k, line in enumerate([f"Comm_rank:{w}:99", *(line.replace(":W", f":{w}") for line in lines)]):
            name, _, arguments = line.partition(":")
            text.append(f"MPI_{name}:{1000010 + 10 * k}{':' * bool(arguments)}{arguments}:{1000015 + 10 * k}\n")
        text.append(f"# Finalize clockdiff: 0.0\nMPI_Finalize:{1000010 + 10 * k + 10}:-\n")
        (folder / f"pmpi-trace-rank-{rank}.txt").write_text("".join(text))
    return str(folder / "pmpi-trace-rank-0.txt")


def read(*args, **more):
    trace = files.read(put(*args, **more))
    sound(trace)
    return trace


def messages(trace):
    """Return rows of (send, send_done, receive, receive_done, tag, bytes), calls as their number in their process from Init on."""
    first = [0, *(trace.calls.location.tolist().count(k) for k in range(len(trace.locations)))]
    begin = [sum(first[: k + 1]) for k in range(len(first))]

    def number(call):
        return call - begin[int(trace.calls.location[call])] if call >= 0 else call

    table = trace.messages
    columns = [table.send, table.send_done, table.receive, table.receive_done]
    rows = [tuple(number(int(column[k])) for column in columns) for k in range(len(table))]
    return [(*row, int(table.tag[k]), int(table.bytes[k])) for k, row in enumerate(rows)]


def names(trace, rank):
    return [operations.OPS[op][4:] for op, place in zip(trace.calls.op, trace.calls.location, strict=True) if place == rank]


def test_read__blocking(tmp_path):
    """Messages have the size that was sent; times are in us, and of Init and Finalize one alone is known."""
    trace = read(tmp_path, ["Send:50:3:11,8,8:1:7:W", "Get_size"], ["Recv:50:9:11,8,8:0:7:W:60"])
    assert messages(trace) == [(2, 2, 2, 2, 7, 24)]
    assert trace.timeline.calls.enter.tolist() == [0, 10000, 20000, 30000, 40000, 0, 10000, 20000, 30000]
    assert trace.timeline.calls.leave.tolist() == [0, 15000, 25000, 35000, 40000, 0, 15000, 25000, 30000]
    assert names(trace, 0) == ["Init", "Comm_rank", "Send", "other", "Finalize"]
    assert trace.nodes == ("n0", "n1")
    assert trace.calls.bytes_sent.tolist() == [0, 0, 24, 0, 0, 0, 0, 0, 0]
    assert not trace.faults
    assert trace.counts.silent_processes == 0


def test_read__requests(tmp_path):
    """A request is what was posted last into its place: lists are places one behind the other, tests find it later or not."""
    sends = ["Isend:0:1:2,4,4:1:1:W:800", "Isend:0:2:2,4,4:1:2:W:808", "Waitall:2:800:0", "Isend:0:3:2,4,4:1:3:W:800", "Wait:800:0"]
    receives = ["Irecv:0:9:2,4,4:0:3:W:16", "Irecv:0:9:2,4,4:-1:1:W:8", "Irecv:0:9:2,4,4:0:-1:W:24"]
    trace = read(tmp_path, sends, [*receives, "Test:8:0:0", "Test:8:0:0", "Waitall:2:16:0", "Wait:16:0"])
    assert messages(trace) == [(2, 4, 3, 6, 1, 4), (3, 4, 4, 7, 2, 8), (5, 6, 2, 7, 3, 12)]
    assert trace.unfinished.call.tolist() == [8 + 5]
    assert trace.calls.peer[[8 + 3, 8 + 4]].tolist() == [ANY, 0]
    assert trace.properties["not kept"] == (
        "which call completed 1 request: taken as the last that names it; who sent 2 messages: taken as sent"
    )


def test_read__persistent(tmp_path):
    """A request that is made once is posted by every start; requests of MPICH have 4 bytes, and its -1 is nobody, -2 anybody."""
    made = ["Send_init:0:2:2,4,4:1:5:W:100", "Send_init:0:2:2,4,4:-1:5:W:104"]
    sends = [*made, "Startall:2:100", "Waitall:2:100:0", "Start:100", "Wait:100:0"]
    trace = read(tmp_path, sends, ["Recv:0:2:2,4,4:-2:5:W:0", "Recv:0:2:2,4,4:0:5:W:0"], world=0x44000000)
    assert messages(trace) == [(4, 5, 2, 2, 5, 8), (6, 7, 3, 3, 5, 8)]
    assert trace.requests.posted_by.tolist() == [4, 4, 6]
    assert trace.requests.completed_by.tolist() == [5, 5, 7]


def test_read__collectives(tmp_path):
    """Sizes are those of counts and datatypes, arrays of counts are summed; roots are told."""
    both = ["Barrier:W", "Bcast:0:5:2,4,4:1:W", "Allreduce:0:0:2:11,8,8:3:W", "Alltoall:0:1:2,4,4:0:1:2,4,4:W"]
    both += ["Gatherv:0:{0}:2,4,4:0:9:1,2:9:0,1:2,4,4:0:W", "Alltoallv:0:9:1,{0}:9:0,1:2,4,4:0:9:1,{0}:9:0,1:2,4,4:W"]
    trace = read(tmp_path, *([line.format(rank + 1) for line in both] for rank in range(2)))
    assert [operations.OPS[op][4:] for op in trace.collectives.op] == [*(line.split(":")[0] for line in both), "Finalize"]
    assert trace.collectives.root.tolist() == [-1, 1, -1, -1, 0, -1, -1]
    assert trace.calls.bytes_sent[trace.calls.location == 0].tolist() == [0, 0, 0, 0, 16, 8, 4, 8, 0]
    assert trace.calls.bytes_received[trace.calls.location == 0].tolist() == [0, 0, 0, 20, 16, 8, 12, 8, 0]
    assert trace.calls.bytes_sent[trace.calls.location == 1].tolist() == [0, 0, 0, 20, 16, 8, 8, 12, 0]
    assert trace.calls.bytes_received[trace.calls.location == 1].tolist() == [0, 0, 0, 0, 16, 8, 0, 12, 0]


def ranks(trace):
    """Return the members of each communicator."""
    return [trace.communicators.members(row).tolist() for row in range(len(trace.communicators))]


def test_read__split(tmp_path):
    """Two by two, the second two in the order of their keys: who sends to rank 1 of these sends to rank 2 of the world."""
    lines = ["Comm_split:W:{color}:{key}:5", "Allreduce:0:0:2:11,8,8:3:{comm}", "Bcast:0:1:2,4,4:1:{comm}"]
    comms = [(0, 0, "7,0,2"), (0, 1, "7,1,2"), (1, 5, "8,1,2"), (1, 4, "8,0,2")]
    every = [[line.format(color=color, key=key, comm=comm) for line in lines] for color, key, comm in comms]
    every[3].append("Send:0:1:2,4,4:1:9:8,0,2")
    every[2].append("Recv:0:1:2,4,4:0:9:8,1,2:0")
    trace = read(tmp_path, *every)
    assert ranks(trace) == [[0, 1, 2, 3], [0, 1], [3, 2]]
    names = [operations.OPS[op][4:] for op in trace.collectives.op]
    assert [(name, comm) for name, comm in zip(names, trace.collectives.comm.tolist(), strict=True) if comm] == [
        *(("Allreduce", 1), ("Bcast", 1), ("Allreduce", 2), ("Bcast", 2)),
    ]
    assert trace.collectives.root[trace.collectives.comm > 0].tolist() == [-1, 1, -1, 2]
    assert [trace.processes_of_calls[column].tolist() for column in (trace.messages.send, trace.messages.receive)] == [[3], [2]]
    assert len(trace.defects) == 0


def test_read__duplicates(tmp_path):
    """Handles are taken in the order in which they were made; one that was freed may come again, and is another communicator then."""
    lines = [
        "Comm_dup:W:50",
        "Comm_dup:W:60",
        "Barrier:7,{0},2",
        "Barrier:8,{0},2",
        "Comm_free:50",
        "Comm_dup:8,{0},2:50",
        "Barrier:7,{0},2",
    ]
    trace = read(tmp_path, *([line.format(rank) for line in lines] for rank in range(2)))
    assert ranks(trace) == [[0, 1]] * 4
    assert trace.collectives.comm.tolist() == [0, 0, 0, 1, 2, 2, 3]


def test_read__ranks_that_a_communicator_does_not_have(tmp_path):
    """The handle that says so is no other name of one that was made."""
    trace = read(tmp_path, ["Comm_dup:W:50", "Barrier:7,0,2"], ["Comm_dup:W:50", "Barrier:7,2,2"])
    assert ranks(trace) == [[0, 1], [0, 1]]
    assert trace.defects.reason.tolist() == [defects.UNDEFINED_COMMUNICATOR]
    trace = read(tmp_path, *(["Cart_sub:W:9:60", f"Barrier:8,{rank},2"] for rank in (0, 2)))
    assert ranks(trace) == [[0, 1]]


def test_read__communicators_whose_members_tell(tmp_path):
    """Of a group or a grid no argument tells who is in it; who uses it says its rank. Of one that has more than one group nobody does."""
    every = [["Comm_create:W:4:50", "Cart_create:W:1:8:8:1:70", f"Barrier:9,{(rank + 1) % 4},4"] for rank in range(4)]
    for rank, own in ((1, 1), (3, 0)):
        every[rank].insert(1, f"Barrier:7,{own},2")
    trace = read(tmp_path, *every)
    assert sorted(ranks(trace)) == [[0, 1, 2, 3], [3, 0, 1, 2], [3, 1]]
    assert (trace.counts.incomplete_collectives, len(trace.defects)) == (0, 0)
    trace = read(tmp_path, *(["Cart_sub:W:9:60", f"Barrier:8,{rank // 2},2"] for rank in range(4)))
    assert ranks(trace) == [[0, 1, 2, 3]]
    assert trace.defects.reason.tolist() == [defects.UNDEFINED_COMMUNICATOR] * 4


def test_read__other_communicators(tmp_path):
    """One that no call made stays untied, and the trace says so; one of a single process is that process."""
    lines = ["Allreduce:0:0:2:11,8,8:3:777,{0},2", "Isend:0:1:2,4,4:1:7:777,{0},2:8", "Wait:8:0", "Barrier:5,0,1", "Barrier:W"]
    trace = read(tmp_path, *([line.format(rank) for line in lines] for rank in range(2)))
    assert [(operations.OPS[op][4:], comm) for op, comm in zip(trace.collectives.op, trace.collectives.comm, strict=True)] == [
        *(("Barrier", 0), ("Finalize", 0), ("Barrier", 1), ("Barrier", 2)),
    ]
    assert trace.communicators.names == ("MPI_COMM_WORLD", "MPI_COMM_SELF", "MPI_COMM_SELF")
    assert len(trace.messages) == 0
    assert len(trace.requests) == 2
    assert trace.defects.reason.tolist() == [defects.UNDEFINED_COMMUNICATOR] * 2


def test_read__partners_that_there_are_not(tmp_path):
    """A rank beyond the communicator is nobody's: no partner of the call, and counted."""
    trace = read(tmp_path, ["Send:0:1:2,4,4:9:7:W"], ["Probe:9:7:W:0"])
    assert trace.calls.peer.tolist() == [NONE] * 8
    assert trace.defects.reason.tolist() == [defects.NOT_A_MEMBER]


def test_read__what_is_missing(tmp_path):
    """Files cut off are read as far as they go, processes without one are silent, lines that are none are left out."""
    path = put(tmp_path, ["Barrier:W"], ["Barrier:W", "Wtime"], size=3)
    second = tmp_path / "pmpi-trace-rank-1.txt"
    second.write_text(
        second.read_text().replace("MPI_Wtime", "MPI_Wait:x\nMPI_Wait:1000021:8:9:9:1000022\nMPI_Wtime").split("MPI_Finalize")[0]
        + "MPI_Fin"
    )
    trace = files.read(str(tmp_path))
    sound(trace)
    assert files.read(path).faults == trace.faults
    assert trace.faults == (
        f"{second}: 2 lines that cannot be read, left out",
        f"{second}: no MPI_Finalize at its end, which is cut off: read as far as it goes",
    )
    assert names(trace, 1) == ["Init", "Comm_rank", "Barrier", "Wtime"]
    assert trace.counts.silent_processes == 1
    assert trace.defects.reason.tolist() == [defects.UNREADABLE]


def test_read__no_call(tmp_path):
    (tmp_path / "pmpi-trace-rank-0.txt").write_text(HEAD)
    with pytest.raises(TraceError, match=r"pmpi-trace-rank-0.txt: no line of a call, must have some$"):
        files.read(str(tmp_path / "pmpi-trace-rank-0.txt"))
