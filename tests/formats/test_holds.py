"""What the table in docs/formats.md says of each format, column by column, against real traces and small ones of it."""

from __future__ import annotations

import dataclasses
import json
import pathlib

import numpy as np
import pytest

import build
import chakras
import clogs
import dumpis
import goals
import kinetos
import paraver_files
import time_independent
from perwiz.errors import LibraryError
from perwiz.formats import files
from perwiz.formats.format import INFERRED, NO, Holds
from perwiz.trace import operations, tables
from recorded_runs import ANY_SOURCE, DONE, POSTS, RECEIVES, SENDS, Run, call, part

TRACES = pathlib.Path(__file__).parents[2] / "traces"
EPOCH = pathlib.Path(__file__).parent / "paraver" / "epoch" / "epoch_4proc.prv.gz"
OF_THREADS = tables.FORK, tables.JOIN, tables.LOCK, tables.TASK, tables.TASKWAIT, tables.SIGNAL
OF_DEVICES = tables.LAUNCH, tables.DONE
OF_WINDOWS = tables.POST, tables.COMPLETE, tables.PROGRESS, tables.PUT


def shows(trace):
    """Return the columns of the table that a trace shows something of, and how."""
    calls, kinds, counts = trace.calls, trace.links.kind, trace.counts
    collective = operations.COLLECTIVE[calls.op] & operations.OF_PROCESSES[calls.op]
    rooted = trace.collectives.root >= 0
    guessed = counts.inferred_roots + counts.adopted_roots + counts.assumed_roots
    return {
        "times": len(calls) > 0,
        "requests": len(trace.requests) > 0,
        "wildcards": trace.wildcards_told and bool((calls.peer == tables.ANY).any()),
        "communicators": bool((calls.comm > 0).any()),
        "roots": int(rooted.sum()) > guessed,
        "sizes": bool((calls.bytes_sent[collective] + calls.bytes_received[collective]).any()),
        "threads": bool(np.isin(kinds, OF_THREADS).any()) or bool((trace.collectives.comm < 0).any()),
        "devices": bool(np.isin(kinds, OF_DEVICES).any()),
        "one_sided": bool(np.isin(kinds, OF_WINDOWS).any()),
        "regions": len(trace.regions) > 0,
        "sites": len(trace.sites) > 0,
        "counters": len(trace.counters) + len(trace.region_counters) > 0,
    }


def written(folder, suffix, *names):
    """Return runs of the catalogue, written and read back."""
    out = []
    for name in names:
        path = str(folder / f"{name}{suffix}")
        files.write(build.CATALOGUE[name](), path)
        out.append(files.read(path))
    return out


def alog(folder):
    return [files.read(str(TRACES / name)) for name in ("cpilog.alog", "srtest.alog", "sync.log", "grid.log.gz", "early_send.log.gz")]


def clog(folder):
    encoder = clogs.Encoder()
    (folder / "a.clog2").write_bytes(encoder.file(encoder.exchange(), 1024))
    return [files.read(str(folder / "a.clog2"))]


def dumpi(folder):
    world, any_, number = dumpis.WORLD, dumpis.ANY, dumpis.INT
    ends = [("Win_create", 80, 8, 0, world, 4), ("Comm_group", world, 9), ("Win_post", 9, 0, 4), ("Win_wait", 4)]
    starts = [ends[0], ends[1], ("Win_start", 9, 0, 4), ("Win_complete", 4)]
    both = [("Comm_split", world, 0, 0, 4), ("Bcast", 3, number, 1, 4)]
    first = [*both, ("Isend", 1, number, 1, 7, world, 3), ("Wait", 3, [dumpis.status(1, 7, 4)]), *starts]
    second = [*both, ("Recv", 1, number, any_, 7, world, [dumpis.status(0, 7, 4)]), *ends]
    return [files.read(dumpis.put(folder, [dumpis.in_turn(*first), dumpis.in_turn(*second)]))]


def goal(folder):
    lines = ["a: send 8b to 1 tag 3 cpu 0", "b: calc 50 cpu 1", "c: calc 5 cpu 0", "c requires b", "d: send 8b to 1 cpu 0", "d irequires a"]
    (folder / "a.goal").write_text(goals.text_of([lines, ["a: recv 8b from -1 tag 3", "b: calc 9", "c: recv 8b from 0", "c irequires a"]]))
    return [files.read(str(folder / "a.goal"))]


def otf2(folder):
    real = [files.read(str(TRACES / name)) for name in ("npb-is.S-4", "npb-mg.S_timens-4", "ping-pong-otf2-papi")]
    made = written(folder, ".otf2", "threads", "device", "subcommunicators", "windows")
    return [*real, *(dataclasses.replace(trace, wildcards_told=False) for trace in made)]


def paraver(folder):
    counted = "2:1:1:1:1:5:50000001:1:42000050:7\n2:1:1:1:1:9:50000001:0:42000050:8\n"
    (folder / "a.prv").write_text(paraver_files.header("1(1:1)") + counted)
    names = "threads", "device", "nested_regions", "waitall_of_three", "subcommunicators"
    return [files.read(str(EPOCH)), files.read(str(folder / "a.prv")), *written(folder, ".prv", *names)]


def kineto(folder):
    ranks = [kinetos.Rank(rank, 3).note("ProfilerStep#1", 0, 200).launch("gemm(int)", 10, 20, 30) for rank in range(3)]
    for rank in ranks[:2]:
        rank.nccl("AllReduce", 20, 55, 70, 5, group="tp").call("cudaStreamSynchronize", 60, 70)
    return [files.read(str(TRACES / "training-slow")), files.read(kinetos.put(folder / "k", *ranks))]


def allprof(folder):
    lines = ["Init:-:1:2:10", "Comm_split:11:{w}:0:0:5:12", "Bcast:13:0:5:2,4,4:1:7,{0},2:14"]
    ends = ["Isend:15:0:1:2,4,4:1:7:{w}:8:16", "Recv:15:0:1:2,4,4:-1:7:{w}:9:17"]
    for rank in range(2):
        text = [*lines, ends[rank], *["Wait:17:8:0:18"][rank:], "Finalize:20:-"]
        body = "".join(f"MPI_{line}\n" for line in text).format(rank, w=f"94000000,{rank},2")
        (folder / f"pmpi-{rank}.txt").write_text(f"# htor's PMPI Tracer 1.0\n{body}")
    return [files.read(str(folder / "pmpi-0.txt"))]


def store(folder):
    names = "all_collectives", "waitall_of_three", "threads", "device", "windows", "nested_regions", "subcommunicators", "wildcard"
    return [*written(folder, ".perwiz", *names), *stored(folder)]


def stored(folder):
    """Return a store of a trace with places and counters."""
    counted, placed = files.read(str(TRACES / "ping-pong-otf2-papi")), files.read(str(EPOCH))
    files.write(counted, str(folder / "counted.perwiz"))
    files.write(placed, str(folder / "placed.perwiz"))
    return [files.read(str(folder / f"{name}.perwiz")) for name in ("counted", "placed")]


def recorded(folder):
    """Return runs with a request and a wildcard, a broadcast on a part of the world, places; with windows; with a team of threads."""
    run, made = Run(folder / "a", 3), {"comm": 1, "parent": 0, "nth": 0, "how": "Comm_split", "ranks": [0, 1, 2]}
    first = [call("MPI_Isend", 1010, 1020, comm=0, site=2010), call("MPI_Wait", 1030, 1040)]
    sends = [part(0, 1, peer=1, tag=3, bytes=8, bits=SENDS | POSTS), part(1, 1, bits=SENDS | DONE)]
    module = {"module": "/app", "build_id": "b", "begin": 2000, "end": 2100, "bias": 2000}
    run.process(0, [*first, call("MPI_Bcast", 1050, 1060, comm=1, peer=0, sent=8)], sends, [made, module])
    receive = call("MPI_Recv", 1010, 1030, peer=0, tag=3, comm=0, received=8, bits=RECEIVES | ANY_SOURCE)
    second = [receive, call("MPI_Bcast", 1050, 1070, comm=1, peer=0, received=8)]
    run.process(1, second, (), [made]).process(2, [])
    (run.path / "sites.json").write_text(json.dumps([{"module": "/app", "build_id": "b", "places": {"10": "app.c:7 solve"}}]))
    on_window = {"comm": 0, "tag": 0}
    opens = [call(f"MPI_Win_{name}", 1100 + 10 * k, 1105 + 10 * k, **on_window) for k, name in enumerate(("create", "start", "complete"))]
    posts = [call(f"MPI_Win_{name}", 1100 + 10 * k, 1105 + 10 * k, **on_window) for k, name in enumerate(("create", "post", "wait"))]
    windows = Run(folder / "b", 2).process(0, opens, [part(1, -1, peer=1)]).process(1, posts, [part(1, -1, peer=0)])
    team = [call(f"omp_{name}", 1100 + 100 * k, 1110 + 100 * k, request=1) for k, name in enumerate(("fork", "implicit_barrier", "join"))]
    worker = [call("omp_idle", 1050, 1120, request=1), call("omp_implicit_barrier", 1150, 1260, request=1), call("omp_idle", 1260, 1270)]
    threads = Run(folder / "c", 1).process(0, team, (), (), [worker], threads=True)
    return [files.read(str(each.path)) for each in (run, windows, threads)]


def chakra(folder):
    ranks = chakras.two_ranks()
    for k, one in enumerate(ranks):
        one.compute(5, "after", 1, [4], cpu=True).compute(6, "other", 1, [5], cpu=True, tid=3).meet(7, chakras.ALL_REDUCE, pg_name=b"1")
        one.rank = k
    return [files.read(chakras.put(folder / "c", *ranks))]


def jobtable(folder):
    return [files.read(str(TRACES / "training-job" / "steps.parquet"))]


def independent(folder):
    (folder / "n").mkdir()
    ranks = [text.replace("1 recv 0 9 -1 2", "1 recv -555 9 -1 2") for text in time_independent.RANKS]
    return [files.read(str(TRACES / "ring-ti" / "trace")), files.read(time_independent.written(folder / "n", ranks))]


SAMPLES = {
    "ALOG": alog,
    "CLOG-2": clog,
    "Chakra": chakra,
    "DUMPI": dumpi,
    "GOAL": goal,
    "OTF2": otf2,
    "Paraver": paraver,
    "PyTorch profiler": kineto,
    "liballprof": allprof,
    "perwiz store": store,
    "recorded run": recorded,
    "table of operations": jobtable,
    "time-independent trace": independent,
}
ELSEWHERE = {"recorded run": {"regions", "counters"}}
"""Columns that no sample here shows; tests of the recorder do, with real programs."""


def test_every_format():
    assert {form.name for form in files.FORMATS if form.is_read} == {*SAMPLES}


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_columns(name, tmp_path):
    """What is said to be told is shown by a sample, and what nobody can tell by none; what is inferred may be either."""
    (form,) = (form for form in files.FORMATS if form.name == name)
    try:
        found = [shows(trace) for trace in SAMPLES[name](tmp_path)]
    except LibraryError as error:
        pytest.skip(str(error))
    shown = {column for each in found for column, so in each.items() if so}
    said = {column: getattr(form.holds, column) for column in Holds._fields}
    told = {column for column, word in said.items() if word not in (NO, INFERRED)} - ELSEWHERE.get(name, set())
    assert shown & {column for column, word in said.items() if word == NO} == set()
    assert told - shown == set()
