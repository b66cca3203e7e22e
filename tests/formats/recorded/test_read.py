"""Recorded runs, written by hand as the recorder would: what a trace makes of them, and what cannot be read."""

import importlib.resources
import json
import pathlib
import tracemalloc

import numpy as np
import pytest

from perwiz.errors import TraceError
from perwiz.formats.recorded import read as recorded
from perwiz.formats.recorded.communicators import ranks_of
from perwiz.formats.recorded.files import stopped
from perwiz.formats.recorded.format import folders
from perwiz.kernels.recorded import CALL
from perwiz.trace import defects, operations, resources
from perwiz.whatif.run import machine_of
from recorded_runs import ANY_SOURCE, CANCELLED, DONE, MANY, POSTS, RECEIVES, SENDS, Run, call, part


@pytest.fixture(params=[resources.LEAST, 1], ids=["one thread", "several threads"])
def run(tmp_path, monkeypatch, request):
    monkeypatch.setattr(resources, "LEAST", request.param)
    return Run(tmp_path / "run", 2)


def read(run):
    return recorded.read(str(run.path))


def test_message__blocking(run):
    run.process(0, [call("MPI_Send", 1010, 1020, peer=1, tag=5, comm=0, sent=8, bits=SENDS)])
    run.process(1, [call("MPI_Recv", 1005, 1030, peer=0, tag=5, comm=0, received=8, bits=RECEIVES | ANY_SOURCE)])
    trace = read(run)
    assert [column.tolist() for column in (trace.messages.send, trace.messages.receive, trace.messages.bytes)] == [[0], [1], [8]]
    assert trace.calls.peer.tolist() == [1, -2]
    assert trace.calls.tag.tolist() == [5, 5]
    assert (trace.timeline.calls.enter.tolist(), trace.timeline.calls.leave.tolist()) == ([10, 5], [20, 30])
    assert trace.timeline.makespan == 30


def test_message__requests_of_one_waitall(run):
    run.process(0, [call("MPI_Send", 1010 + k, 1010 + k, peer=1, tag=k, comm=0, sent=4, bits=SENDS) for k in (1, 2)])
    posts = [call("MPI_Irecv", 1005 + k, 1005 + k, peer=-2, tag=-2, comm=0, request=k, bits=RECEIVES | POSTS | 48) for k in (0, 1)]
    parts = [part(2, k, peer=0, tag=2 - k, bytes=4, comm=0, bits=DONE | RECEIVES | 48) for k in (0, 1)]
    run.process(1, [*posts, call("MPI_Waitall", 1030, 1040, bits=MANY, received=8)], parts)
    trace = read(run)
    assert trace.messages.tag.tolist() == [1, 2]
    assert trace.messages.receive.tolist() == [3, 2]
    assert trace.messages.receive_done.tolist() == [4, 4]
    assert trace.requests.completed_by.tolist() == [4, 4]
    assert trace.calls.bytes_received.tolist() == [0, 0, 0, 0, 8]


def test_message__exchanged(run):
    for rank in (0, 1):
        word = (1 - rank) | 6 << 32
        run.process(rank, [call("MPI_Sendrecv", 1010, 1020, peer=1 - rank, tag=6, comm=0, sent=4, received=4, request=word, bits=3)])
    assert read(run).messages.receive.tolist() == [1, 0]


def test_requests__started_together_tested_and_cancelled(run):
    parts = [part(0, 0, peer=1, tag=1, bytes=4, comm=0, bits=SENDS | POSTS | 3 << 9)]
    calls = [call("MPI_Startall", 1001, 1002, bits=MANY, sent=4), call("MPI_Test", 1003, 1004, request=0)]
    calls.append(call("MPI_Wait", 1005, 1006, request=0, comm=0, bits=DONE | SENDS | CANCELLED))
    run.process(0, calls, parts).process(1, [])
    trace = read(run)
    assert (trace.requests.posted_by.tolist(), trace.requests.completed_by.tolist(), trace.requests.cancelled.tolist()) == ([0], [2], [1])
    assert (trace.unfinished.call.tolist(), trace.unfinished.request.tolist()) == ([1], [0])
    assert trace.counts.unmatched_sends == 0


def test_message__a_send_and_a_receive_with_one_request(run):
    for rank in (0, 1):
        post = call("MPI_Isendrecv_replace", 1010, 1011, peer=1 - rank, tag=6, comm=0, sent=4, bits=SENDS | RECEIVES | POSTS)
        done = call("MPI_Wait", 1020, 1030, peer=1 - rank, tag=6, comm=0, received=4, bits=SENDS | RECEIVES | DONE)
        run.process(rank, [post, done])
    trace = read(run)
    assert [operations.OPS[op] for op in trace.calls.op.tolist()] == ["MPI_Isendrecv", "MPI_Wait"] * 2
    columns = [trace.messages.send, trace.messages.send_done, trace.messages.receive, trace.messages.receive_done, trace.messages.bytes]
    assert [column.tolist() for column in columns] == [[0, 2], [1, 3], [2, 0], [3, 1], [4, 4]]


def test_message__in_partitions_is_sent_when_all_are_ready(run):
    """Of two partitions the second is made ready last; the receiver asks for one before it waits for all."""
    calls = [call("MPI_Start", 1001, 1002), call("MPI_Pready_range", 1003, 1004, peer=1, tag=7, comm=0)]
    calls.append(call("MPI_Pready_range", 1005, 1006, peer=1, tag=7, comm=0, sent=8, request=3, bits=SENDS | POSTS))
    run.process(0, [*calls, call("MPI_Wait", 1007, 1008, request=3, comm=0, bits=DONE | SENDS)])
    calls = [call("MPI_Start", 1001, 1002, peer=0, tag=7, comm=0, request=0, bits=RECEIVES | POSTS), call("MPI_Parrived", 1003, 1004)]
    run.process(1, [*calls, call("MPI_Wait", 1009, 1010, peer=0, tag=7, comm=0, request=0, received=8, bits=DONE | RECEIVES)])
    trace = read(run)
    columns = [trace.messages.send, trace.messages.send_done, trace.messages.receive, trace.messages.receive_done, trace.messages.bytes]
    assert [column.tolist() for column in columns] == [[2], [3], [4], [6], [8]]
    assert [operations.OPS[op] for op in trace.calls.op.tolist()][1:3] == ["MPI_Pready", "MPI_Pready"]
    assert operations.OPS[trace.calls.op[5]] == "MPI_other"


def test_world__of_processes_that_others_spawned(run):
    """A process spawns one; each has a barrier in its own world, and one over both."""
    run.size = 1
    over = {"comm": 1, "parent": 0, "nth": 0, "how": "Comm_spawn", "ranks": [0, 1, 1], "remote": [-1, 1, 1]}
    spawn = call("MPI_Comm_spawn_multiple", 1001, 1002, comm=0, peer=0)
    run.process(0, [spawn, call("MPI_Barrier", 1003, 1004, comm=0)], more=[over], first=0)
    run.process(1, [call("MPI_Barrier", 1003, 1004, comm=0)], first=1)
    path = run.path / "definitions-000001.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace('"ranks": [0, 1, 1]', '"ranks": [1, 1, 1]'), encoding="utf-8")
    trace = read(run)
    assert trace.locations.process.tolist() == [0, 1]
    assert trace.communicators.names == ("MPI_COMM_WORLD", "communicator 1", "MPI_COMM_WORLD")
    assert [trace.communicators.members(k).tolist() for k in range(3)] == [[0], [0], [1]]
    assert trace.collectives.comm.tolist() == [0, 2]
    assert (operations.OPS[trace.calls.op[0]], bool(operations.UNMODELLED[trace.calls.op[0]])) == ("MPI_Comm_spawn", True)
    assert (trace.counts.silent_processes, len(trace.defects)) == (0, 0)


def test_requests__a_damaged_number_takes_no_memory(run):
    """Numbers are given from 0 on: one far beyond the requests there are is that of no request."""
    post = {"peer": 1, "tag": 1, "comm": 0, "sent": 4, "bits": SENDS | POSTS}
    calls = [call("MPI_Isend", 1001, 1001, request=number, **post) for number in (1 << 62, 1 << 24)]
    calls += [call("MPI_Wait", 1003, 1004, request=1 << 24, comm=0, bits=DONE | SENDS)]
    run.process(0, calls).process(1, [])
    tracemalloc.start()
    try:
        trace = read(run)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    assert trace.requests.completed_by.tolist() == [-1, -1]
    assert trace.defects.reason.tolist() == [defects.NOT_POSTED]


def test_collectives__roots_and_those_unknown(run):
    bcast = call("MPI_Bcast", 1001, 1002, peer=1, comm=0)
    other = [call("MPI_Ineighbor_allgather", 1003, 1004, comm=0), call("MPI_Unknown", 1005, 1006)]
    run.process(0, [bcast, *other]).process(1, [bcast])
    trace = read(run)
    assert trace.collectives.root.tolist() == [1]
    assert trace.calls.peer.tolist() == [-1] * 4
    assert [operations.OPS[op] for op in trace.calls.op.tolist()][:3] == ["MPI_Bcast", "MPI_Neighbor_allgather", "MPI_other"]


def test_collectives__persistent_ones_start_in_any_order(run):
    """The recorder numbers them as they are made, in their tags; two rounds of the first, a barrier that is not persistent between."""
    first, second = (call("MPI_Ibarrier", 1001, 1001, comm=0, tag=k, request=k, bits=POSTS) for k in (0, 1))
    plain = call("MPI_Barrier", 1001, 1001, comm=0)
    run.process(0, [first, plain, second, first]).process(1, [second, first, plain, first])
    trace = read(run)
    assert sorted(trace.members.call.reshape(-1, 2).tolist()) == [[0, 5], [1, 6], [2, 4], [3, 7]]
    assert (trace.counts.unmatched_collectives, set(trace.calls.tag.tolist())) == (0, {-1})


def test_communicators__the_same_by_their_history(run):
    twin = {"comm": 1, "parent": 0, "nth": 0, "how": "Comm_dup", "ranks": [0, 1, 2]}
    inter = {"comm": 2, "parent": 1, "nth": 9, "how": "Intercomm_create", "ranks": [0, 1, 1], "remote": [1, 1, 1]}
    run.process(0, [call("MPI_Barrier", 1001, 1002, comm=1)], more=[twin, inter])
    run.process(1, [call("MPI_Barrier", 1001, 1002, comm=1)], more=[twin, inter | {"ranks": [1, 1, 1], "remote": [0, 1, 1]}])
    trace = read(run)
    assert len(trace.communicators) == 3
    assert trace.communicators.members(2).tolist() == [0, 1]
    assert trace.collectives.comm.tolist() == [1]


def test_ranks__as_runs():
    assert ranks_of((4, -2, 3, 7, 1, 1)).tolist() == [4, 2, 0, 7]
    assert ranks_of(()).tolist() == []


def test_regions__nested_and_unfinished(run):
    named = [{"region": 0, "parallel": True, "name": "step"}, {"region": 1, "parallel": False, "name": "inner"}]
    rows = [call("begin", 1001, 1001, peer=0), call("MPI_Barrier", 1002, 1003, comm=0), call("begin", 1004, 1004, peer=1)]
    rows += [call("MPI_Barrier", 1005, 1006, comm=0), call("end", 1007, 1007), call("end", 1008, 1008), call("end", 1009, 1009)]
    rows += [call("begin", 1010, 1010, peer=0)]
    run.process(0, rows, more=named).process(1, [])
    trace = read(run)
    assert trace.names == ("step", "inner")
    assert trace.parallel.tolist() == [True, False]
    assert trace.regions.parent.tolist() == [-1, 0, -1]
    assert trace.regions.instance.tolist() == [1, 1, 2]
    assert (trace.regions.first_call.tolist(), trace.regions.end_call.tolist()) == ([0, 1, 2], [2, 2, 2])
    assert (trace.timeline.regions.enter.tolist(), trace.timeline.regions.leave.tolist()) == ([1, 4, 10], [8, 7, 10])
    assert trace.calls.path.tolist() == [0, 1]
    assert sorted(trace.defects.reason.tolist()) == sorted([defects.NOT_OPEN, defects.NEVER_ENDS])


def test_sizes__below_zero(run):
    run.process(0, [call("MPI_Send", 1010, 1020, peer=1, tag=5, comm=0, sent=-8, bits=SENDS)])
    run.process(1, [call("MPI_Recv", 1005, 1030, peer=0, tag=5, comm=0, received=8, bits=RECEIVES)])
    refused(f"{run.path}: e0 (rank 0) sends -8 bytes, must be at least 0", run.path)
    run.process(0, [call("MPI_Barrier", 1010, 1020, comm=0, received=-1)])
    refused(f"{run.path}: e0 (rank 0) receives -1 bytes, must be at least 0", run.path)
    run.process(0, [call("MPI_Send", 1010, 1020, peer=1, tag=5, comm=0, sent=8, bits=SENDS)])
    post = call("MPI_Irecv", 1001, 1002, peer=0, tag=5, comm=0, bits=RECEIVES | POSTS)
    wait = call("MPI_Waitall", 1030, 1040, bits=MANY, received=8)
    run.process(1, [post, wait], [part(1, 0, peer=0, tag=5, bytes=-3, comm=0, bits=DONE | RECEIVES)])
    refused(f"{run.path}: e0 (rank 0) sends -3 bytes, must be at least 0", run.path)


def test_regions__that_end_before_they_begin(run):
    named = [{"region": 0, "parallel": True, "name": "step"}]
    run.process(0, [call("begin", 1009, 1009, peer=0), call("end", 1008, 1008)], more=named).process(1, [])
    refused(f"{run.path}: region step of rank 0 ends at 8 ns, before it begins at 9 ns", run.path)


def test_killed__the_open_call_and_the_empty_rows_are_left_out(run):
    rows = [call("flush", 1001, 1002), call("MPI_Barrier", 1003, 1004, comm=0), call("MPI_Recv", 1005, 0), np.zeros((), CALL)]
    run.process(0, rows).process(1, [call("MPI_Barrier", 1003, 1004, comm=0)])
    trace = read(run)
    assert len(trace.calls) == 2
    assert (trace.defects.location.tolist(), trace.defects.reason.tolist()) == ([0], [defects.NEVER_ENDS])
    assert (trace.records.time.tolist(), trace.values.tolist()) == ([1], [2])


def test_killed__a_definition_cut_off(run):
    run.process(0, []).process(1, [])
    name = run.path / "definitions-000001.jsonl"
    name.write_text(name.read_text(encoding="utf-8") + '{"comm":1,', encoding="utf-8")
    trace = read(run)
    assert trace.defects.reason.tolist() == [defects.BAD_HEADER]
    assert trace.faults == (f"{name}:3: no JSON: this and what follows in the file is left out",)


@pytest.mark.parametrize("rank", [0, 1])
def test_cut_off__of_a_process_nothing_is_known(run, rank):
    """What it recorded nobody can read; its file is named, whether or not another comes behind it."""
    run.process(0, []).process(1, [])
    name = run.path / f"definitions-00000{rank}.jsonl"
    name.write_text(name.read_text(encoding="utf-8")[:20], encoding="utf-8")
    trace = read(run)
    assert trace.counts.silent_processes == 1
    assert trace.faults == (f"{name}:1: no JSON: this and what follows in the file is left out",)


def test_partner__outside_its_communicator(run):
    run.process(0, [call("MPI_Send", 1010, 1020, peer=7, tag=5, comm=0, sent=8, bits=SENDS)]).process(1, [])
    trace = read(run)
    assert trace.defects.reason.tolist() == [defects.NOT_A_MEMBER] * 2
    assert trace.calls.peer.tolist() == [-2]


def test_clocks__who_compared_with_whom(run):
    compared = {"offset": 50, "time": 1500, "round_trip": 21, "master": 0, "when": "init"}
    run.process(0, [], more=[]).process(1, [call("MPI_Barrier", 1500, 1600, comm=0)], more=[compared], clock="b")
    readings = read(run).readings
    assert [getattr(readings, name).tolist() for name in ("location", "master", "time", "offset", "error")] == [
        *([0, 1], [-1, 0], [0, 500], [0, 50], [0, 11]),
    ]


def test_clocks__a_master_that_recorded_nothing(run):
    """It is left out; then nobody can tell what the clock of rank 1 was."""
    compared = {"offset": 50, "time": 1500, "round_trip": 21, "master": 7, "when": "init"}
    run.process(0, []).process(1, [call("MPI_Barrier", 1500, 1600, comm=0)], more=[compared], clock="b")
    assert read(run).readings.location.tolist() == [0]


def module(name, begin, build_id="b", bias=0):
    return {"module": name, "build_id": build_id, "begin": begin, "end": begin + 100, "bias": bias}


def test_sites__by_what_is_known_of_them(run):
    """Two processes have the program at 1000 and 2000. Its places 10 and 20 are one line; 30 nobody knows, nor what lies in no module."""
    told = [{"module": "/bin/app", "build_id": "b", "places": {"10": "app.c:7 solve", "20": "app.c:7 solve"}}]
    (run.path / "sites.json").write_text(json.dumps(told), encoding="utf-8")
    for rank, begin in ((0, 1000), (1, 2000)):
        sites = [begin + 30, begin + 10, 0, begin + 20, 5] if rank else [begin + 20, begin + 30]
        rows = [call("MPI_Barrier", 1010 + k, 1010 + k, comm=0, site=site) for k, site in enumerate(sites)]
        run.process(rank, rows, more=[module("/bin/app", begin, bias=begin)])
    trace = read(run)
    assert trace.sites == ("app.c:7 solve", "app+0x1e")
    assert trace.site.tolist() == [0, 1, 1, 0, -1, 0, -1]


def test_sites__many(run):
    """More addresses than the table has room for at first, in more than one piece."""
    rows = [call("MPI_Barrier", 1001 + k, 1001 + k, comm=0, site=50_000 + 3 * k % 26_000) for k in range(9000)]
    run.process(0, rows, more=[module("/bin/app", 50_000) | {"end": 80_000}]).process(1, [])
    trace = read(run)
    assert [trace.sites[k] for k in trace.site.tolist()] == [f"app+{50_000 + 3 * k % 26_000:#x}" for k in range(9000)]
    assert trace.site.tolist()[:8000] == list(range(8000))


@pytest.mark.parametrize(
    ("text", "words"), [("[{}]", "[0] lacks 'module', must have it"), ("[", "no JSON, must be what perwiz record wrote")]
)
def test_sites__file_damaged(run, text, words):
    """It is left out: the run can be read without."""
    (run.path / "sites.json").write_text(text, encoding="utf-8")
    run.process(0, [call("MPI_Barrier", 1010, 1010, comm=0, site=1010)], more=[module("/bin/app", 1000)]).process(1, [])
    trace = read(run)
    assert trace.sites == ("app+0x3f2",)
    assert trace.faults == (f"{run.path}/sites.json: {words}",)
    assert trace.defects.reason.tolist() == [defects.BAD_HEADER]


def test_model__that_lies_in_the_run(run, tmp_path):
    run.process(0, [call("MPI_Barrier", 1010, 1010, comm=0)]).process(1, [])
    assert read(run).model == ""
    assert machine_of(None, read(run)).model.name == "fitted"
    text = importlib.resources.files("perwiz").joinpath("models", "default.toml")
    source = text if text.is_file() else pathlib.Path(__file__).resolve().parents[3] / "models" / "default.toml"
    (run.path / "model.toml").write_text(source.read_text(encoding="utf-8").replace('name = "default"', 'name = "own"'), encoding="utf-8")
    trace = read(run)
    assert trace.model == str(run.path / "model.toml")
    own = machine_of(None, trace)
    assert not own.given
    assert (own.model.costs[0].L, own.model.S) == (2500, 65535)  # nothing in the trace tells otherwise
    assert machine_of("default", trace).model.name == "default"
    assert machine_of(own, trace) is own


def test_threads__one_completes_what_a_later_one_has_posted(run):
    """Thread 0 of rank 1 tests and completes the request that thread 1 posts."""
    run.process(0, [call("MPI_Send", 1010, 1020, peer=1, tag=5, comm=0, sent=8, bits=SENDS)])
    test = call("MPI_Test", 1012, 1013, request=0)
    wait = call("MPI_Wait", 1015, 1025, peer=0, tag=5, comm=0, request=0, received=8, bits=RECEIVES | DONE)
    lost = call("MPI_Wait", 1026, 1027, peer=0, tag=5, comm=0, request=7, received=8, bits=RECEIVES | DONE)
    run.process(1, [test, wait, lost])
    post = call("MPI_Irecv", 1005, 1006, peer=0, tag=5, comm=0, request=0, bits=RECEIVES | POSTS)
    (run.path / "calls-000001.1.npy").write_bytes(b"\x93NUMPY\x01\x00" + b" " * 376 + np.array([post], CALL).tobytes())
    trace = read(run)
    assert (trace.messages.receive.tolist(), trace.messages.receive_done.tolist()) == ([4], [2])
    assert (trace.requests.posted_by.tolist(), trace.requests.completed_by.tolist()) == ([4], [2])
    assert (trace.unfinished.call.tolist(), trace.unfinished.request.tolist()) == ([1], [0])
    assert trace.defects.reason.tolist() == [defects.NOT_POSTED]


def test_stopped__some_threads_and_one_process_without_a_row(run):
    run.process(0, [call("flush", 1001, 1002, peer=28)]).process(1, [])
    assert stopped(str(run.path)) == {28: [0], 0: [1]}


def test_parts__in_two_directories(tmp_path):
    one, other = (Run(tmp_path / name, 2) for name in ("here", "there"))
    one.process(0, [call("MPI_Barrier", 1001, 1002, comm=0)], metahost_name="Essen")
    other.process(1, [call("MPI_Barrier", 1001, 1002, comm=0)], metahost=1, metahost_name="Bonn", host="far")
    trace = recorded.read(str(one.path), str(other.path))
    assert len(trace.collectives) == 1
    assert trace.metahosts == ("Essen", "Bonn")
    assert trace.nodes == ("node", "far")
    assert read(one).counts.silent_processes == 1
    assert folders(f"{one.path}:{other.path}") == [str(one.path), str(other.path)]
    assert folders(str(one.path)) == [str(one.path)]
    assert folders(str(tmp_path)) == []


def refused(match, *paths):
    with pytest.raises(TraceError) as error:
        recorded.read(*map(str, paths))
    assert str(error.value) == match


def test_refusals(tmp_path):
    refused(f"{tmp_path}: no recorded run: run.json: no such file or directory", tmp_path)
    run, other = Run(tmp_path / "run", 1), Run(tmp_path / "other", 1, "u")
    refused(f"{run.path}: a recorded run without processes: the program never came through MPI_Init", run.path)
    refused(f"{other.path}: another run than {run.path}, must be a part of the same", run.path, other.path)
    run.process(0, [])
    twin = Run(tmp_path / "twin", 1).process(0, [])
    refused(f"{run.path}: rank 0 is there twice", run.path, twin.path)
    name = run.path / "definitions-000000.jsonl"
    name.write_text('{"process":0,"processes":1,"begun":0}', encoding="utf-8")
    refused(f"{name}:1: lacks 'real', must have it", run.path)
    run.process(0, [], more=[{"comm": 2, "parent": 0, "nth": 0, "how": "Comm_dup", "ranks": [0, 1, 1]}])
    refused(f"{name}:3: comm is 2, must be 1: they are numbered from 0 on", run.path)
    name.write_text('{"named":0,"name":"x"}\n', encoding="utf-8")
    refused(f"{name}:1: no definition of process 0, must be", run.path)
    run.process(0, [], more=[{"region": 0, "parallel": False, "name": 5}])
    refused(f"{name}:3: name is 5, must be a text", run.path)
    run.marker(format="perwiz run", version=2)
    refused(f"{run.path}/run.json: version 2, this perwiz reads version 1", run.path)
    run.marker(format="other")
    refused(f"{run.path}/run.json: lacks 'version', must have it", run.path)
    run.marker(format="other", version=1)
    refused(f"{run.path}/run.json: not of perwiz record", run.path)
    (run.path / "run.json").write_text("x", encoding="utf-8")
    refused(f"{run.path}/run.json: no JSON, must be what perwiz record wrote", run.path)
