"""Time-independent traces: tables by hand, where the files and the platform are found, and every refusal with its full message."""

import gzip
import io
import os
import pathlib
import shutil
import subprocess
import tracemalloc

import numpy as np
import pytest

import mpis
import time_independent as small
from perwiz.errors import TraceError
from perwiz.formats import files
from perwiz.formats.timeindependent import actions
from perwiz.trace import operations
from perwiz.trace.origin import UNTIMED


def rows(table, *names):
    """Return columns as rows."""
    return list(zip(*(getattr(table, name).tolist() for name in names), strict=True))


def one(tmp_path, *lines, ranks=2):
    """Return the trace of lines, in one file, with its platform beside it."""
    text = "\n".join([*lines, *(f"{rank} init" for rank in range(ranks))])
    (tmp_path / "run.txt").write_text(text, encoding="utf-8")
    (tmp_path / "p.xml").write_text(small.CLUSTER, encoding="utf-8")
    return files.read(str(tmp_path / "run.txt"))


def said(tmp_path, *lines):
    """Return what lines are refused with, the folder left out."""
    with pytest.raises(TraceError) as refused:
        one(tmp_path, *lines)
    return str(refused.value).replace(f"{tmp_path}/", "")


@pytest.fixture
def trace(tmp_path):
    """Return the small trace."""
    return files.read(small.written(tmp_path))


def test_calls(trace):
    names = [operations.OPS[op][4:] for op in trace.calls.op.tolist()]
    assert names[:8] == ["Init", "Isend", "Irecv", "Waitall", "Send", "Reduce", "Barrier", "Finalize"]
    assert names[8:] == ["Init", "Irecv", "Isend", "Wait", "Wait", "Recv", "Reduce", "Barrier", "Finalize"]
    assert rows(trace.calls, "peer", "tag", "bytes_sent", "bytes_received")[1:6] == [
        (1, 7, 100, 0),
        (1, 8, 0, 100),
        (-1, -1, 0, 0),
        (1, 9, 70000, 0),
        (-1, -1, 0, 80),
    ]
    assert trace.calls.comm.tolist()[:8] == [-1, 0, 0, 0, 0, 0, 0, -1]
    assert trace.counts.lacking == {}
    assert [trace.sites[k] for k in trace.site.tolist() if k >= 0] == ["main.c:12"]
    assert trace.site.tolist().index(0) == 4


def test_requests__wait_and_wait_for_all(trace):
    assert rows(trace.requests, "posted_by", "completed_by") == [(1, 3), (2, 3), (9, 11), (10, 12)]


def test_messages__the_sender_tells_the_size(trace):
    assert rows(trace.messages, "send", "send_done", "receive", "receive_done", "tag", "bytes") == [
        (1, 3, 9, 11, 7, 100),
        (4, 4, 13, 13, 9, 70000),
        (10, 12, 2, 3, 8, 100),
    ]


def test_collectives(trace):
    assert [operations.OPS[op] for op in trace.collectives.op.tolist()] == ["MPI_Reduce", "MPI_Barrier"]
    assert trace.collectives.root.tolist() == [0, -1]
    assert trace.members.call.tolist() == [5, 14, 6, 15]


def test_timeline__computation_alone(trace):
    """A reduction's computation follows it."""
    enter = trace.timeline.calls.enter.tolist()
    assert enter[:8] == [0, 1000, 1000, 3000, 3000, 3000, 3500, 3500]
    assert enter[8:] == [0, 0, 4000, 4000, 4000, 4000, 4000, 5500, 5500]
    assert trace.timeline.calls.leave.tolist() == enter
    assert trace.timeline.locations.leave.tolist() == [3500, 5500]
    assert trace.timeline.origin == UNTIMED


def test_speed__of_each_host(tmp_path):
    found = files.read(small.written(tmp_path, platform=small.LINKS))
    assert found.timeline.calls.enter.tolist()[8:12] == [0, 0, 2000, 2000]
    assert found.nodes == ("a", "b")


def test_files__all_forms_are_one_trace(tmp_path, monkeypatch):
    """The index, its folder, the folder of the files, all in one file, and an index written elsewhere."""
    index = small.written(tmp_path)
    found = files.read(index)
    (tmp_path / "one.txt").write_text("".join(small.RANKS), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    shutil.copy(index, tmp_path / "other" / "trace")
    for path in (str(tmp_path / "ti"), str(tmp_path / "one.txt"), str(tmp_path / "other"), "trace", "trace:cluster.xml", "."):
        again = files.read(path)
        assert (again.calls, again.messages, again.requests) == (found.calls, found.messages, found.requests)
        assert again.timeline == found.timeline


def test_files__packed(tmp_path):
    """The index, a file that it names, and all in one file."""
    index = small.written(tmp_path)
    found = files.read(index)
    part = tmp_path / "ti" / "rank-1.txt"
    pathlib.Path(f"{part}.gz").write_bytes(gzip.compress(part.read_bytes()))
    names = pathlib.Path(index).read_text(encoding="utf-8").replace("rank-1.txt", "rank-1.txt.gz")
    (tmp_path / "packed.gz").write_bytes(gzip.compress(names.encode()))
    (tmp_path / "one.txt.gz").write_bytes(gzip.compress("".join(small.RANKS).encode()))
    for name in ("packed.gz", "one.txt.gz"):
        again = files.read(str(tmp_path / name))
        assert (again.calls, again.messages, again.timeline) == (found.calls, found.messages, found.timeline)


def test_files__packed_and_cut_off(tmp_path):
    """What was unpacked ends in the middle: that is no shorter run."""
    small.written(tmp_path)
    text = "".join(small.RANKS) + "".join(f"0 compute {k * k}\n" for k in range(200_000))
    packed = gzip.compress(text.encode())
    (tmp_path / "one.txt.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(TraceError) as refused:
        files.read(str(tmp_path / "one.txt.gz"))
    assert str(refused.value) == f"{tmp_path}/one.txt.gz: packed data is damaged or cut off, must be whole"


@pytest.mark.slow
def test_empty_lines_take_no_memory(tmp_path):
    """Two actions with eight million empty lines between them, 8 kB packed; what is wrong behind them has its line."""
    (tmp_path / "p.xml").write_text(small.CLUSTER, encoding="utf-8")
    bomb = tmp_path / "bomb.txt.gz"
    bomb.write_bytes(gzip.compress(b"0 init\n" + b"\n" * 8_000_000 + b"1 init\n"))
    tracemalloc.start()
    try:
        assert len(files.read(str(bomb)).calls) == 2
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
    bomb.write_bytes(gzip.compress(b"0 init\n" + b"\n" * 2_000_000 + b"1 nothing\n"))
    with pytest.raises(TraceError) as refused:
        files.read(str(bomb))
    assert str(refused.value).startswith(f"{bomb}:2000002: ")


@pytest.mark.parametrize("lines", [b"0 barrier\n" * 320_000, b"".join(b"0 compute %d\n" % k for k in range(100_000))])
def test_refused__more_actions_than_memory_holds(tmp_path, monkeypatch, lines):
    """Comments take none, however many differ; 64 MiB there always are."""
    (tmp_path / "p.xml").write_text(small.CLUSTER, encoding="utf-8")
    bomb = tmp_path / "bomb.txt.gz"
    bomb.write_bytes(gzip.compress(lines, 1))
    comments = b"".join(b"\n# %d" % k for k in range(150_000))
    (tmp_path / "small.txt.gz").write_bytes(gzip.compress(lines[: lines.index(b"\n")] + comments, 1))
    monkeypatch.setattr("perwiz.allowed.memory", lambda: 1 << 20)
    assert len(files.read(str(tmp_path / "small.txt.gz")).locations) == 1
    with pytest.raises(TraceError) as refused:
        files.read(str(bomb))
    assert str(refused.value) == f"{bomb}: actions that take more than 64 MiB, must fit into the memory that may be used"


def test_files__standard_input_is_refused(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("".join(small.RANKS).encode())))
    with pytest.raises(TraceError) as refused:
        files.read("-")
    must = "must be a file, with its platform beside it: from standard input only ALOG is read"
    assert str(refused.value) == f"-: a time-independent trace of SimGrid, {must}"


def test_files__interleaved_ranks_keep_their_order(tmp_path):
    found = one(tmp_path, "1 send 0 5 1", "0 compute 7", "0 recv 1 5 1", "1 barrier", "0 barrier")
    assert found.calls.location.tolist() == [0, 0, 0, 1, 1, 1]
    assert found.timeline.calls.enter.tolist()[0] == 7


def test_platform__the_name_goes_before_the_folder(tmp_path):
    index = small.written(tmp_path)
    (tmp_path / "fast.xml").write_text(small.CLUSTER.replace("1Gf", "2Gf"), encoding="utf-8")
    found = files.read(f"{index}:{tmp_path}/fast.xml")
    assert found.timeline.locations.leave.tolist() == [1750, 3250]
    assert found.model == f"{tmp_path}/fast.xml"


def test_platform__none(tmp_path):
    index = small.written(tmp_path / "deep", platform="") if (tmp_path / "deep").mkdir() is None else ""
    with pytest.raises(TraceError) as refused:
        files.read(index)
    must = f"flops, and no platform beside it that says how fast they are, must be given with one: {index}:platform.xml"
    assert str(refused.value) == f"{index}: {must}"


def test_platform__two(tmp_path):
    index = small.written(tmp_path)
    (tmp_path / "also.xml").write_text(small.LINKS, encoding="utf-8")
    with pytest.raises(TraceError) as refused:
        files.read(index)
    there = "2 platforms beside it, also.xml and cluster.xml among them"
    assert str(refused.value) == f"{index}: {there}, must be given with one: {index}:{tmp_path}/also.xml"


def test_index__a_file_that_is_missing(tmp_path):
    index = small.written(tmp_path)
    (tmp_path / "ti" / "rank-1.txt").unlink()
    with pytest.raises(TraceError) as refused:
        files.read(index)
    assert str(refused.value) == f"{index}:2: 'ti/rank-1.txt', must be the name of a file of actions"


def test_sources__are_not_overwritten(tmp_path):
    form = next(form for form in files.FORMATS if form.name == "time-independent trace")
    index = small.written(tmp_path)
    assert [os.path.basename(path) for path in form.sources(index)] == ["trace", "rank-0.txt", "rank-1.txt", "cluster.xml"]


@pytest.mark.parametrize(
    ("line", "sent", "received"),
    [
        ("0 bcast 3 1 4", 0, 24),
        ("1 bcast 3 1 4", 24, 0),
        ("0 bcast 3", 3, 0),
        ("0 reduce 3 0 1 0", 24, 0),
        ("0 allreduce 3 0 0", 24, 24),
        ("0 scan 3 0 1", 12, 12),
        ("0 alltoall 3 2 1 0", 24, 32),
        ("0 allgather 3 2 1 0", 12, 32),
        ("0 gather 3 2 0 1 0", 12, 32),
        ("1 gather 3 2 0 1 0", 12, 0),
        ("0 scatter 3 2 0 1 0", 24, 16),
        ("0 gatherv 3 2 5 0 1 0", 12, 56),
        ("0 allgatherv 3 2 5 1 0", 12, 56),
        ("0 scatterv 3 4 2 0 1 0", 28, 16),
        ("1 scatterv 3 4 2 0 1 0", 0, 16),
        ("0 alltoallv 9 3 4 9 2 1 1 0", 28, 24),
        ("1 reducescatter 3 4 100 0", 56, 32),
        ("0 sendRecv 3 1 2 1 1 0", 12, 16),
        ("0 Ssend 1 2 1e3 1", 4000, 0),
        ("0 isend 1 2 3", 3, 0),
    ],
)
def test_bytes(line, sent, received, tmp_path):
    """Elements of a datatype are counted as SimGrid's replay counts them (smpi_replay.cpp 3.32)."""
    found = one(tmp_path, line)
    call = int(np.flatnonzero(found.calls.op != operations.OP["MPI_Init"])[0])
    assert (found.calls.bytes_sent[call], found.calls.bytes_received[call]) == (sent, received)


def test_bytes__init_with_a_word_makes_doubles_the_default(tmp_path):
    assert one(tmp_path, "0 init x", "0 send 1 2 3").calls.bytes_sent.max() == 24


def test_nobody_and_anybody(tmp_path):
    """SMPI writes MPI_UNDEFINED for both: nobody is sent to, anybody received from."""
    found = one(tmp_path, "0 send -333 1 4 1", "0 recv -333 1 4 1", "1 send -666 1 4", "1 recv -555 -444 4")
    assert found.counts.to_nobody == 2
    assert found.calls.peer.tolist().count(-2) == 2
    assert found.counts.lacking == {"unmatched_receives": 2}


def test_requests__a_test_completes_what_nothing_else_does(tmp_path):
    found = one(
        tmp_path,
        *("0 isend 1 1 1", "0 test 0 1 1", "0 test 0 1 1", "0 isend 1 2 1", "0 test 0 1 2", "0 wait 0 1 2"),
        *("1 irecv 0 1 1", "1 irecv 0 2 1", "1 waitall", "1 wait 0 1 1"),
    )
    assert rows(found.requests, "posted_by", "completed_by") == [(0, 2), (3, 5), (7, 9), (8, 9)]
    took = (found.timeline.calls.leave - found.timeline.calls.enter).tolist()
    assert took[1:3] == [100_000, 100_000]


REFUSALS = [
    ("0 init\n0 fly", f"run.txt:2: 'fly', must be an action: {', '.join(actions._KINDS)}"),
    ("0 init\n0", f"run.txt:2: '', must be an action: {', '.join(actions._KINDS)}"),
    ("0 compute", "run.txt:1: compute with 0 arguments, must have at least 1"),
    ("0 compute -1", "run.txt:1: compute of '-1' flops, must be a number from 0 to 1e+30"),
    ("0 compute nan", "run.txt:1: compute of 'nan' flops, must be a number from 0 to 1e+30"),
    ("0 compute 1_000", "run.txt:1: compute of '1_000' flops, must be a number from 0 to 1e+30"),
    ("0 compute 1e29", "run.txt: computation of 1e+20 s in all, must be at most 1.15e+09 s"),
    ("0 sleep 1e10", "run.txt:1: sleep of '1e10' seconds, must be a number from 0 to 1e+09"),
    ("0 send 2 1 1", "run.txt:1: send with receiver '2', must be a whole number from 0 to 1"),
    ("0 send 1 x 1", "run.txt:1: send with tag 'x', must be a whole number from -2147483648 to 2147483647"),
    ("0 send 1 1 -1", "run.txt:1: send of '-1' elements, must be a number from 0 to 3.60288e+16"),
    ("0 send 1 1 1 60", "run.txt:1: send with datatype '60', must be a whole number from 0 to 59"),
    ("0 bcast 1 7", "run.txt:1: bcast with root '7', must be a whole number from 0 to 1"),
    ("0 alltoallv 1 1 1 1 1", "run.txt:1: alltoallv with 5 arguments, must have at least 6"),
    ("0 location main.c", "run.txt:1: location with 1 arguments, must have at least 2"),
    ("7 init", "run.txt: no action of rank 2 of 8, must have those of all ranks"),
]


@pytest.mark.parametrize(("line", "message"), REFUSALS)
def test_refusals(line, message, tmp_path):
    assert said(tmp_path, line) == message


def test_refusals__the_line_behind_others(tmp_path):
    assert said(tmp_path, "0 compute 1", "", "# none", "x compute 1") == "run.txt:4: rank 'x', must be a whole number from 0 to 1048575"


PROGRAM = """
#include <mpi.h>
int main(int count, char **words) {
    int rank, size;
    static char out[100000], in[100000];
    MPI_Request request[2];
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int k = 1; k < 100000; k *= 17) {
        MPI_Irecv(in, k, MPI_CHAR, before, k, MPI_COMM_WORLD, request);
        MPI_Isend(out, k, MPI_CHAR, next, k, MPI_COMM_WORLD, request + 1);
        if (k % 2) { MPI_Waitall(2, request, MPI_STATUSES_IGNORE); }
        else { MPI_Wait(request + 1, MPI_STATUS_IGNORE); MPI_Wait(request, MPI_STATUS_IGNORE); }
    }
    MPI_Irecv(in, 3, MPI_INT, before, 5, MPI_COMM_WORLD, request);
    MPI_Send(out, 3, MPI_INT, next, 5, MPI_COMM_WORLD);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    if (rank == 0) MPI_Ssend(out, 9, MPI_DOUBLE, 1, 6, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(in, 9, MPI_DOUBLE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(out, 4, MPI_INT, next, 0, in, 4, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(out, 5, MPI_INT, 2, MPI_COMM_WORLD);
    MPI_Allreduce(out, in, 6, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}
"""


@pytest.mark.slow
def test_law__recorded_and_traced_are_the_same_calls_and_messages(tmp_path, monkeypatch, built):
    """One program under SMPI, once with perwiz recording it, once with SimGrid's own tracing."""
    if not shutil.which("smpicc") or not shutil.which("smpirun"):
        pytest.skip("no SMPI: neither smpicc nor smpirun")
    from perwiz.record import build

    monkeypatch.setenv("XDG_CACHE_HOME", str(built))
    mpis.made("smpicc", built)
    monkeypatch.chdir(tmp_path)
    pathlib.Path("p.xml").write_text(small.CLUSTER, encoding="utf-8")
    pathlib.Path("hosts").write_text("n0.x\nn1.x\nn4.x\n", encoding="utf-8")
    pathlib.Path("a.c").write_text(PROGRAM, encoding="utf-8")
    run = ["smpirun", "-np", "3", "-platform", "p.xml", "-hostfile", "hosts", "--log=root.thres:critical", "--cfg=smpi/wtime:0"]
    recorder = [str(build.built("smpicc", build.OBJECT)), "-pthread"]
    for name, more, words in (("traced", [], ["-trace-ti"]), ("recorded", recorder, [])):
        subprocess.run(["smpicc", "-w", "a.c", *more, "-o", name], check=True, capture_output=True)
        settings = os.environ | {"PERWIZ_DIR": str(tmp_path / "run"), "PERWIZ_TOKEN": "t"}
        subprocess.run([*run, *words, f"./{name}"], env=settings, check=True, capture_output=True)
    ours, theirs = files.read("run"), files.read("smpi_simgrid.txt")
    columns = ("location", "op", "root", "bytes_sent")
    assert rows(theirs.calls, *columns) == rows(ours.calls, *columns)
    assert rows(theirs.requests, "posted_by", "completed_by") == rows(ours.requests, "posted_by", "completed_by")
    columns = ("send", "send_done", "receive", "receive_done", "tag", "bytes", "mode")
    assert rows(theirs.messages, *columns) == rows(ours.messages, *columns)
