"""Small cases, each for what it is about: with the recorder they end as without, and the trace has what they do."""

import pathlib
import subprocess
from collections import Counter

import numpy as np
import pytest

import mpis
from perwiz import cli
from perwiz.errors import DONE, INCOMPLETE
from perwiz.formats.recorded import read as recorded
from perwiz.graph.build import build
from perwiz.trace import operations
from perwiz.whatif.health import health

pytestmark = pytest.mark.slow
SUITE = pathlib.Path(__file__).resolve().parent / "suite"


@pytest.fixture
def both(mpi, record, built):
    """Return both(program, words), which runs it without and with the recorder; the code, what it printed and the trace."""

    def run(source, *words):
        program = mpis.compiled(mpi.mpicc, str(SUITE / source), built)
        command = mpi.command(3, program, *words)
        plain = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        code, folder, printed, _ = record(command)
        assert (code, sorted(printed.split("\n"))) == (plain.returncode, sorted(plain.stdout.split("\n")))
        return code, printed, recorded.read(folder)

    return run


def inside(trace):
    """Return, per case, how often each routine was called in it, how many messages it sent, and its collectives."""
    case = np.array([*trace.paths.region, -1])[trace.calls.path]
    out = {}
    for number, name in enumerate(trace.names):
        mine = case == number
        routines = Counter(operations.OPS[op].removeprefix("MPI_") for op in trace.calls.op[mine].tolist())
        messages = int(mine[trace.messages.send].sum())
        collectives = int(mine[trace.members.call[trace.collectives.first_member]].sum())
        out[name] = routines, messages, collectives
    return out


MESSAGES = {
    "ring": ("Sendrecv:3 Sendrecv_replace:3", 6, 0),
    "self": ("Isend:3 Recv:3 Wait:3", 3, 0),
    "modes": ("Barrier:3 Bsend:3 Ibsend:3 Irecv:21 Irsend:3 Isend:3 Issend:3 Rsend:3 Send:3 Waitall:6", 21, 1),
    "nobody": ("Imrecv:3 Iprobe:3 Irecv:3 Mprobe:6 Mrecv:3 Probe:3 Recv:3 Send:3 Sendrecv:3 Wait:6", 0, 0),
    "wild": ("Recv:2 Send:2", 2, 0),
    "probes": ("Iprobe:+ Isend:3 Probe:3 Recv:3 Wait:3", 3, 0),
    "matched": ("Improbe:+ Imrecv:3 Mprobe:3 Mrecv:3 Send:6 Wait:3", 6, 0),
    "cancelled": ("Cancel:3 Irecv:3 Wait:3", 0, 0),
    "freed": ("Barrier:3 Isend:3 Recv:3 Request_free:3", 3, 1),
    "flood": ("Irecv:600 Isend:600 Waitall:3", 600, 0),
    "some": ("Irecv:12 Send:12 Waitany:3 Waitsome:+", 12, 0),
    "tests": ("Irecv:39 Send:39 Test:+ Testall:+ Testany:+ Testsome:+", 39, 0),
    "persistent": ("Recv:3 Recv_init:3 Request_free:9 Send_init:3 Ssend_init:3 Start:3 Startall:9 Wait:3 Waitall:9", 12, 0),
    "types": ("Sendrecv:9", 9, 0),
    "null type": ("Sendrecv:3", 3, 0),
    "large": ("Allreduce:3 Irecv:3 Send:3 Wait:3", 3, 1),
    "errors": ("Bcast:3 Send:3", 0, 0),
    "generalised": ("Test:3 Wait:3", 0, 0),
    "asked": ("Irecv:3 Send:3 Wait:3", 3, 0),
    "both": ("Isendrecv:9 Wait:3 Waitall:3", 6, 0),
    "partitions": ("Pready:24 Request_free:6 Startall:6 Waitall:6 other:+", 6, 0),
    "chain": ("Sendrecv_replace:6", 5, 0),
    "buffered": ("Bsend:3 Bsend_init:3 Ibsend:3 Recv:12 Request_free:3 Start:6 Wait:9", 12, 0),
    "told ready": ("Irecv:6 Irsend:3 Request_free:3 Rsend_init:3 Sendrecv:3 Start:3 Waitall:6", 9, 0),
    "holes": ("Sendrecv:12", 12, 0),
    "packed": ("Isend:3 Recv:3 Wait:3", 3, 0),
    "nothing": ("Test:3 Testall:3 Testany:3 Testsome:3 Wait:3 Waitall:6 Waitany:3 Waitsome:3", 0, 0),
    "taken": ("Imrecv:6 Isend:6 Mprobe:6 Waitall:3", 6, 0),
    "gone": ("Comm_dup:6 Comm_free:6 Irecv:6 Isend:6 Waitall:3", 6, 2),
    "twins": ("Comm_dup:9 Comm_free:9 Isend:9 Recv:9 Waitall:3", 9, 3),
    "late cancel": ("Barrier:3 Cancel:6 Irecv:3 Recv_init:3 Request_free:3 Send:6 Start:6 Wait:9", 6, 1),
    "handlers": ("Comm_dup:3 Comm_free:3 Irecv:6 Isend:3 Reduce:3 Send:3 Wait:3", 3, 1),
    "large too": ("Isend:3 Recv_init:3 Request_free:3 Sendrecv:3 Sendrecv_replace:3 Start:3 Waitall:3", 9, 0),
    "mixed": ("Irecv:3 Isend:3 Waitall:3", 3, 0),
    "tools": ("Sendrecv:3", 3, 0),
}
"""Per case: how often its routines are called on three processes (+: until something has come), how many messages, how many collectives."""
COLLECTIVES = {
    "blocking": (
        "Allgather:3 Allgatherv:3 Allreduce:3 Alltoall:3 Alltoallv:3 Alltoallw:3 Barrier:3 Bcast:3 Exscan:3 Gather:3 Gatherv:3 Reduce:3"
        " Reduce_scatter:3 Reduce_scatter_block:3 Scan:3 Scatter:3 Scatterv:3",
        0,
        17,
    ),
    "at once": ("Iallreduce:3 Ialltoall:3 Ibarrier:3 Ibcast:3 Igather:3 Iscan:3 Wait:3 Waitall:3", 0, 6),
    "persistent": ("Iallreduce:6 Ibarrier:9 Ibcast:9 Request_free:9 Startall:6 Wait:6 Waitall:9 other:9", 0, 8),
    "in place": ("Allgather:3 Allreduce:3 Alltoall:3 Gather:3 Reduce:3 Scatter:3", 0, 6),
    "operation": ("Allreduce:3", 0, 1),
    "communicators": (
        "Barrier:16 Comm_create:3 Comm_create_group:2 Comm_dup:3 Comm_free:16 Comm_idup:3 Comm_set_name:3 Comm_split:3 Comm_split_type:3"
        " Wait:3",
        0,
        12,
    ),
    "reused": ("Allreduce:15 Comm_free:15 Comm_split:30", 0, 15),
    "between": ("Barrier:6 Bcast:3 Comm_free:9 Comm_split:3 Intercomm_create:3 Intercomm_merge:3 Sendrecv:2", 2, 5),
    "neighbours": ("Cart_create:3 Comm_free:6 Dist_graph_create:3 Neighbor_allgather:6 Neighbor_alltoall:6 Wait:3", 0, 2),
    "windows": (
        "Accumulate:3 Barrier:3 Compare_and_swap:3 Fetch_and_op:3 Get:3 Put:6 Rput:3 Wait:3 Win_allocate:3 Win_complete:3 Win_fence:9"
        " Win_flush:3 Win_flush_all:3 Win_free:3 Win_lock:3 Win_lock_all:3 Win_post:3 Win_start:3 Win_unlock:3 Win_unlock_all:3 Win_wait:3",
        0,
        6,
    ),
    "more windows": (
        "Comm_free:3 Comm_split_type:3 Win_allocate_shared:3 Win_create:3 Win_create_dynamic:3 Win_free:9 Win_lock_all:3 Win_sync:3"
        " Win_unlock_all:3",
        0,
        7,
    ),
    "attributes": ("Barrier:3 Comm_dup:6 Comm_free:6", 0, 3),
    "files": ("Barrier:3 Bcast:3 Wait:3", 0, 2),
    "more at once": (
        "Iallgather:3 Iallgatherv:3 Ialltoallv:3 Ialltoallw:3 Iexscan:3 Igatherv:3 Ireduce:3 Ireduce_scatter:3 Ireduce_scatter_block:3"
        " Iscatter:3 Iscatterv:3 Waitall:3",
        0,
        11,
    ),
    "overlapped": ("Barrier:3 Iallreduce:3 Ibarrier:3 Irecv:3 Isend:3 Wait:6 Waitall:3", 3, 3),
    "zeros": ("Allgatherv:3 Alltoallv:3 Bcast:3 Gatherv:3 Reduce_scatter:3 Scatterv:3", 0, 6),
    "more in place": (
        "Allgatherv:3 Alltoallv:3 Alltoallw:3 Exscan:3 Gatherv:3 Iallreduce:3 Reduce_scatter:3 Reduce_scatter_block:3 Scan:3 Scatterv:3"
        " Wait:3",
        0,
        10,
    ),
    "large": ("Allgather:3 Alltoall:3 Bcast:3 Reduce:3 Reduce_scatter_block:3 Scan:3", 0, 6),
    "alone": ("Allreduce:3 Barrier:3 Bcast:3 Comm_free:3 Comm_split:3 Gather:3", 0, 13),
    "rooted between": (
        "Allgather:3 Allreduce:3 Alltoall:3 Bcast:3 Comm_free:6 Comm_split:3 Gather:3 Intercomm_create:3 Reduce:3 Scatter:3",
        0,
        8,
    ),
    "connected": ("Barrier:6 Bcast:3 Comm_free:9 Comm_split:3 Intercomm_create:3 Intercomm_merge:3 Sendrecv:2", 2, 5),
    "star": (
        "Comm_free:3 Graph_create:3 Neighbor_allgather:3 Neighbor_allgatherv:3 Neighbor_alltoall:3 Neighbor_alltoallv:3"
        " Neighbor_alltoallw:6 Wait:6",
        0,
        1,
    ),
    "distributed": ("Comm_free:3 Dist_graph_create:3 Neighbor_allgatherv:3 Neighbor_alltoall:3 Neighbor_alltoallv:3 Wait:6", 0, 1),
    "lasting neighbours": (
        "Cart_create:3 Comm_free:3 Neighbor_allgather:9 Neighbor_alltoall:6 Request_free:6 Startall:6 Wait:3 Waitall:6 other:6",
        0,
        1,
    ),
    "grid": ("Allreduce:3 Cart_create:3 Cart_sub:3 Comm_free:6 Sendrecv:3", 2, 5),
    "later": ("Barrier:3 Comm_free:6 Comm_idup:6 Irecv:3 Isend:3 Wait:3 Waitall:3", 3, 3),
    "atomics": (
        "Barrier:6 Fetch_and_op:3 Get_accumulate:6 Put:3 Raccumulate:3 Rget:3 Wait:9 Win_allocate:3 Win_complete:3 Win_flush:3"
        " Win_flush_all:6 Win_free:3 Win_lock_all:3 Win_post:3 Win_start:3 Win_test:+ Win_unlock_all:3",
        0,
        4,
    ),
    "shared": ("Comm_free:3 Comm_split_type:3 Win_allocate_shared:3 Win_fence:9 Win_free:3", 0, 6),
    "callbacks": ("Barrier:3 Comm_dup:6 Comm_free:6", 0, 3),
}
IN_MPI_4 = {"both", "partitions", "persistent", "lasting neighbours"}


def told(routines, like):
    """Return the routines as text; those that `like` has with a + have one."""
    any_number = {word.partition(":")[0] for word in like.split() if word.endswith("+")}
    return " ".join(f"{name}:{'+' if name in any_number else count}" for name, count in sorted(routines.items()))


@pytest.mark.parametrize(("program", "cases"), [("messages.c", MESSAGES), ("collectives.c", COLLECTIVES)])
def test_cases(mpi, both, tmp_path, capsys, program, cases):
    """The trace has them, and every question is answered of one whose calls both MPIs agree on: it is asked once."""
    code, printed, trace = both(program)
    assert (code, printed) == (0, "".join(f"{name} right\n" for name in cases))
    old = (
        "MPI_Psend_init"
        not in subprocess.run(
            [mpi.mpicc, "-E", "-include", "mpi.h", "-x", "c", "/dev/null"], capture_output=True, text=True, check=True
        ).stdout
    )
    found = inside(trace)
    for name, (routines, *numbers) in cases.items():
        if not (old and name in IN_MPI_4) and (mpi.is_open or name != "connected"):
            assert (name, told(found[name][0], routines), *found[name][1:]) == (name, routines, *numbers)
    assert trace.requests.cancelled.sum() == (6 if program == "messages.c" else 0)
    modes = np.bincount(trace.messages.mode, minlength=4).tolist()
    assert program != "messages.c" or modes == [len(trace.messages) - 12 - 18 - 6, 12, 18, 6]
    asked = [["info"], ["predict", "--zero-wait", "all"], ["domino"], ["patterns"]]
    for command in asked if mpi.is_open == (program == "messages.c") else []:
        assert cli.main([command[0], str(tmp_path / "run"), *command[1:]]) in {DONE, INCOMPLETE}
        capsys.readouterr()
    holes = set(health(trace, build(trace).contradictions).holes)
    assert holes == ({"waits for requests that the trace does not name"} if program == "messages.c" else set())


ENDINGS = {
    "session": ("Allreduce:3 Comm_create_group:3 Comm_free:3 Sendrecv:3 other:6", 3, 1, [3]),
    "sessions": ("Allreduce:9 Comm_create_group:9 Comm_free:9 Sendrecv:9 other:12", 9, 3, [3]),
    "world first": ("Allreduce:9 Comm_create_group:6 Comm_free:6 Finalize:3 Init:3 Sendrecv:6 other:6", 6, 4, [3]),
    "world last": ("Allreduce:9 Comm_create_group:6 Comm_free:6 Finalize:3 Init:3 Sendrecv:6 other:6", 6, 4, [3]),
    "threads": ("Finalize:3 Init_thread:3 Irecv:120 Send:120 Wait:120", 120, 1, [3]),
    "abort": ("Abort:1 Barrier:3 Init:3", 0, 1, [3]),
    "spawn": ("Barrier:10 Comm_free:10 Comm_spawn:3 Finalize:5 Init:5 Intercomm_merge:5 Sendrecv:2", 0, 8, [3, 2]),
}
"""Routines, messages, collectives, and how many processes each world has. Of two sessions there is one message and one sum a
communicator and process; spawned processes are not tied to the others: their two messages are missing."""


@mpis.in_turn("how", ENDINGS)
def test_beginnings_and_ends(mpi, both, how):
    if mpi.is_open and how == "spawn":
        pytest.skip("Open MPI 5.0 keeps the environment from spawned processes")
    code, _, trace = both("beginnings.c", how)
    routines, messages, collectives, worlds = ENDINGS[how]
    found = Counter(operations.OPS[op].removeprefix("MPI_") for op in trace.calls.op.tolist())
    assert (told(found, routines), len(trace.messages), len(trace.collectives)) == (routines, messages, collectives)
    names = trace.communicators.names
    sizes = [len(trace.communicators.members(k)) for k, name in enumerate(names) if name == "MPI_COMM_WORLD"]
    assert (code == 9, sizes) == (how == "abort", worlds)
    assert (trace.counts.unmatched_sends, trace.counts.silent_processes) == (2 if how == "spawn" else 0, 0)
