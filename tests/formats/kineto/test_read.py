"""Traces of the PyTorch profiler: small ones whose tables are known."""

import gzip
import json
import re

import numpy as np
import pytest

import perwiz
from build import hand_model
from kinetos import Rank, hiding, put, two_ranks
from perwiz.cli import main
from perwiz.errors import DONE, INCOMPLETE, TraceError, UsageError
from perwiz.formats import files
from perwiz.formats.kineto import names
from perwiz.formats.kineto.rank import numbered
from perwiz.trace import operations, tables
from perwiz.trace.tied import processors
from perwiz.whatif.health import health
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking import computation, devices, instant
from perwiz.whatif.ranking.change import Asker, NoneThereError
from perwiz.whatif.ranking.plan import plan
from perwiz.whatif.ranking.ranking import rank as ranked
from perwiz.whatif.ranking.situations import situation
from perwiz.whatif.run import replayed
from soundness import sound


def read(folder, *ranks):
    trace = files.read(put(folder / "job", *ranks))
    sound(trace)
    return trace


def calls(trace, location):
    """Return (routine, enter, leave) of the calls of a location, us since the start."""
    rows = np.flatnonzero(trace.calls.location == location)
    times = trace.timeline.calls
    return [(operations.OPS[trace.calls.op[k]], times.enter[k] / 1000, times.leave[k] / 1000) for k in rows]


def links(trace):
    """Return links as (kind, cause, effect), calls as (routine, location, when it is entered, us)."""

    def named(call):
        return operations.OPS[trace.calls.op[call]], int(trace.calls.location[call]), trace.timeline.calls.enter[call] / 1000

    table = trace.links
    rows = zip(table.kind.tolist(), table.cause.tolist(), table.effect.tolist(), strict=True)
    return sorted((tables.LINKS[kind], named(cause), named(effect)) for kind, cause, effect in rows)


def regions(trace, location):
    rows = np.flatnonzero(trace.regions.location == location)
    times = trace.timeline.regions
    return [(trace.names[trace.region_names[k]], times.enter[k] / 1000, times.leave[k] / 1000, int(trace.regions.parent[k])) for k in rows]


def one_kernel():
    """Return a rank that launches a kernel at 10, which runs from 20 to 50, and waits for the device from 30 to 52."""
    rank = Rank(0, 1).note("ProfilerStep#3", 0, 100).op("aten::mm", 8, 6).launch("gemm(float*)", 10, 20, 30)
    return rank.call("cudaDeviceSynchronize", 30, 22)


def test_read__a_kernel(tmp_path):
    """A stream idles around what it runs; the launch begins that, and the wait ends with it."""
    trace = read(tmp_path, one_kernel())
    assert trace.locations.kind.tolist() == [tables.PROCESS, tables.STREAM]
    assert calls(trace, 0) == [("device_launch", 10, 12), ("device_synchronize", 30, 52)]
    assert calls(trace, 1) == [("device_idle", 0, 20), ("device_idle", 50, 50)]
    assert links(trace) == [
        ("done", ("device_idle", 1, 50), ("device_synchronize", 0, 30)),
        ("end", ("device_synchronize", 0, 30), ("device_idle", 1, 50)),
        ("launch", ("device_launch", 0, 10), ("device_idle", 1, 0)),
    ]
    assert regions(trace, 0) == [("ProfilerStep", 0, 100, -1), ("aten::mm", 8, 14, 0)]
    assert regions(trace, 1) == [("gemm", 20, 50, -1)]
    assert (trace.format, trace.counts.records, trace.counts.lacking) == ("PyTorch profiler", 5, {})


def test_predict__a_faster_kernel(tmp_path):
    """Worked by hand: the host waits until 52 for a kernel that ends at 50; of half the length it ends at 35, so the host goes on at 37."""
    path = put(tmp_path / "job", one_kernel())
    result = perwiz.predict(perwiz.read(path), ["scale gemm=0.5"])
    assert (result.recorded.makespan, result.gain) == (100_000, 15_000)


def test_read__a_collective(tmp_path):
    trace = read(tmp_path, *two_ranks())
    assert len(trace.collectives) == 1
    call = trace.members.call
    assert [operations.OPS[op] for op in trace.calls.op[call]] == ["dist_all_reduce"] * 2
    assert trace.calls.bytes_sent[call].tolist() == trace.calls.bytes_received[call].tolist() == [4000, 4000]
    assert trace.locations.process[trace.calls.location[call]].tolist() == [0, 1]
    assert (trace.communicators.names, trace.communicators.ranks.tolist()) == (("world",), [0, 1])
    assert (trace.counts.incomplete_collectives, trace.counts.unmatched_collectives, trace.properties) == (0, 0, {})


def test_predict__a_straggler(tmp_path):
    """Worked by hand: rank 1 launches at once, so that its part begins at 35 and waits for rank 0, which comes at 55, not for 95."""
    path = put(tmp_path / "job", *two_ranks())
    result = perwiz.predict(perwiz.read(path), ["speed rank:1=1000"])
    assert (result.recorded.makespan, result.gain) == (200_000, 40_000)


def test_read__numbers_tell_what_belongs_together(tmp_path):
    """Collectives with different numbers are two, of which each lacks a rank; those without numbers go by order, which is said."""
    assert read(tmp_path, *two_ranks(numbers=(5, 6))).counts.incomplete_collectives == 2
    trace = read(tmp_path, *two_ranks(numbers=(None, None)))
    assert trace.counts.incomplete_collectives == 0
    assert trace.properties == {"inferred": "which 2 parts of collectives belong together: by their order, as no numbers are recorded"}


def test_read__groups(tmp_path):
    """Groups by the list of their ranks, by what stands beside the events where the list is cut, by first rank and distance; else all."""
    config = [{"pg_name": "tp", "ranks": [0, 2]}]
    told = {"rank": 0, "world_size": 4, "pg_config": config}
    rank = Rank(0, 4, distributedInfo=told)
    rank.nccl("AllReduce", 10, 20, 5, 1, ranks="[0, 1]", group="dp").nccl("AllReduce", 30, 40, 5, 1, ranks="[0, ...]", group="tp")
    rank.nccl("AllReduce", 50, 60, 5, 1, ranks="", group="pp", **{"Global rank start": 0, "Global rank stride": 3, "Group size": 2})
    rank.nccl("AllReduce", 70, 80, 5, 1, ranks="[8]", group="?")
    rank.events[-3]["args"].pop("Group size")
    comms = read(tmp_path, rank).communicators
    found = {name: comms.members(k).tolist() for k, name in enumerate(comms.names)}
    assert found == {"world": [0, 1, 2, 3], "dp": [0, 1], "tp": [0, 2], "pp": [0, 3]}


def test_read__messages(tmp_path):
    """Stages of a pipeline: a send to the other rank, and what it receives."""
    sender = Rank(0).nccl("SendRecv", 10, 20, 40, 1, collective="send", **{"Dst Rank": 1})
    receiver = Rank(1).nccl("SendRecv", 30, 35, 25, 1, collective="recv", **{"Src Rank": 0})
    trace = read(tmp_path, sender, receiver)
    assert [operations.OPS[trace.calls.op[call]] for call in (trace.messages.send[0], trace.messages.receive[0])] == [
        "dist_send",
        "dist_recv",
    ]
    assert (len(trace.messages), trace.messages.bytes.tolist(), trace.messages.mode.tolist()) == (1, [4000], [tables.SYNCHRONOUS])


def test_read__grouped_messages(tmp_path):
    """`batch_isend_irecv`: one kernel, launched behind the records of what it sends and receives; each waits for all its partners.

    Rank 1 sends to both others and receives from rank 0 in one kernel, which ends when the last of them has come, rank 2 at 90.
    """
    ranks = [Rank(0, 3).batch(10, 20, 75, ("send", 1), ("recv", 1)), Rank(1, 3).batch(10, 30, 66, ("send", 0), ("recv", 0), ("send", 2))]
    ranks.append(Rank(2, 3).batch(10, 90, 8, ("recv", 1)))
    trace = read(tmp_path, *ranks)
    talks = np.flatnonzero(operations.TALKS[trace.calls.op])
    assert [operations.OPS[op] for op in trace.calls.op[talks]] == ["dist_send_recv", "dist_send_recv", "dist_recv"]
    assert trace.calls.peer[talks].tolist() == [1, -1, 1]
    assert (trace.calls.bytes_sent[talks].tolist(), trace.calls.bytes_received[talks].tolist()) == ([40, 80, 0], [40, 40, 40])
    table = trace.messages
    ends = zip(np.searchsorted(talks, table.send).tolist(), np.searchsorted(talks, table.receive_done).tolist(), strict=True)
    assert sorted(ends) == [(0, 1), (1, 0), (1, 2)]
    assert trace.properties == {}


def test_read__groups_of_collectives(tmp_path):
    """Gathers launched when a group ends are one kernel, with the bytes of all, in the group and with the number of their records."""
    rank = Rank(0, 4)
    for ts in (10, 12):
        told = {"Process Group Name": "dp", "Process Group Ranks": "[0, 2]", "dtype": "Float", "In msg nelems": 10, "Out msg nelems": 20}
        rank.op("record_param_comms", ts, 1, **{"Collective name": "_allgather_base", "Seq": 7, **told})
    rank.launch("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 20, 30, 5, 20)
    trace = read(tmp_path, rank)
    (call,) = np.flatnonzero(operations.COLLECTIVE[trace.calls.op])
    assert (operations.OPS[trace.calls.op[call]], trace.communicators.names[trace.calls.comm[call]]) == ("dist_all_gather", "dp")
    assert (trace.calls.bytes_sent[call], trace.calls.bytes_received[call], trace.properties) == (80, 160, {})


def test_read__a_group_that_nobody_tells(tmp_path):
    """Sends and receives in a group without records have partners that nobody tells; they are no exchange among all ranks."""
    trace = read(tmp_path, Rank(0).batch(10, 20, 40), Rank(1).batch(10, 20, 40))
    assert [operations.OPS[op] for op in trace.calls.op[operations.TALKS[trace.calls.op]]] == ["dist_send_recv"] * 2
    assert (len(trace.messages), len(trace.collectives)) == (0, 0)


def test_read__streams_wait(tmp_path):
    """By order: a collective waits for the stream of the launch before it; what is launched behind a lone wait waits for the collective."""
    rank = Rank(0, 1).launch("gemm", 10, 20, 30).call("cudaEventRecord", 13).call("cudaStreamWaitEvent", 16)
    rank.nccl("AllReduce", 20, 52, 28, 1, ranks="[0]").call("cudaEventRecord", 26)
    rank.call("cudaStreamWaitEvent", 30).launch("next", 34, 81, 9)
    events = [link for link in links(read(tmp_path, rank)) if link[0] == "event"]
    assert events == [
        ("event", ("device_idle", 1, 40), ("device_idle", 2, 0)),
        ("event", ("device_idle", 2, 70), ("device_idle", 1, 40)),
    ]


def test_read__streams_wait_for_another_thread(tmp_path):
    """Autograd, thread 2, sums gradients and waits; what the first thread launches next on the stream of both waits for the sum."""
    rank = Rank(0, 1).note("ProfilerStep#1", 0, 120).launch("gemm", 10, 20, 30, tid=2)
    rank.call("cudaEventRecord", 13, tid=2).call("cudaStreamWaitEvent", 16, tid=2)
    rank.nccl("AllReduce", 20, 52, 28, 1, ranks="[0]", tid=2).call("cudaEventRecord", 26, tid=2).call("cudaStreamWaitEvent", 30, tid=2)
    rank.launch("adam", 40, 81, 9).launch("copy", 42, 44, 3, 9, tid=3).launch("gemm", 95, 100, 5, tid=2)
    events = [link for link in links(read(tmp_path, rank)) if link[0] == "event"]
    assert events == [
        ("event", ("device_idle", 3, 50), ("device_idle", 5, 0)),
        ("event", ("device_idle", 5, 80), ("device_idle", 3, 50)),
    ]


def test_read__what_is_sent_holds_nobody(tmp_path):
    """Of a send and a receive launched before a lone wait, the receive is what is waited for: it ends at 91, 81 behind the first launch."""
    rank = Rank(0, 2).batch(10, 20, 60, ("send", 1)).batch(30, 81, 10, ("recv", 1))
    rank.call("cudaStreamWaitEvent", 45).launch("gemm", 50, 92, 5)
    events = [link for link in links(read(tmp_path, rank)) if link[0] == "event"]
    assert events == [("event", ("device_idle", 2, 81), ("device_idle", 1, 0))]


def test_read__streams_wait_as_told(tmp_path):
    """Events of synchronisation name the stream that waits, the one that is waited for, and the call that recorded the event."""
    rank = Rank(0, 1).launch("gemm", 10, 20, 30).call("cudaEventRecord", 13, correlation=90).launch("other", 16, 50, 5)
    rank.call("cudaStreamWaitEvent", 20, correlation=91).launch("next", 24, 60, 9, stream=9)
    told = {"correlation": 91, "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 90}
    rank.add("cuda_sync", "Stream Wait Event", 20, 1, 9, 0, **told)
    events = [link for link in links(read(tmp_path, rank)) if link[0] == "event"]
    assert events == [("event", ("device_idle", 1, 40), ("device_idle", 2, 0))]


def test_read__blocking_copy_and_event(tmp_path):
    """A copy whose routine returns behind its end holds the host; so does a wait for an event."""
    rank = Rank(0, 1).launch("Memcpy DtoH", 10, 20, 30, cat="gpu_memcpy", routine="cudaMemcpyAsync", last=45)
    rank.launch("gemm", 60, 65, 10).call("cudaEventSynchronize", 70, 8)
    trace = read(tmp_path, rank)
    assert [routine for routine, *_ in calls(trace, 0)] == ["device_copy", "device_launch", "device_synchronize"]
    done = [(cause[2], effect[0]) for kind, cause, effect in links(trace) if kind == "done"]
    assert done == [(40, "device_copy"), (65, "device_synchronize")]


def test_read__a_graph_launches_many(tmp_path):
    """A graph of kernels has one launch for all of them."""
    rank = Rank(0, 1).launch("one", 10, 20, 5, routine="cudaGraphLaunch").add("kernel", "two", 26, 5, 7, 0, correlation=1)
    trace = read(tmp_path, rank)
    assert sum(kind == "launch" for kind, *_ in links(trace)) == 2
    assert trace.counts.untied_launches == 0


def test_read__autograd(tmp_path):
    """The first thread starts what autograd does, and waits until it has done it."""
    name = "autograd::engine::evaluate_function: MmBackward0"
    rank = Rank(0, 1).note("ProfilerStep#0", 0, 100).op("aten::mm", 10, 10).op(name, 30, 10, 2).op(name, 45, 15, 2).op("aten::add", 70, 5)
    trace = read(tmp_path, rank)
    assert calls(trace, 0) == [("thread_start", 20, 20), ("thread_wait", 20, 70)]
    assert calls(trace, 1) == [("thread_idle", 0, 30), ("thread_idle", 60, 60)]
    assert links(trace)[1:] == [
        ("fork", ("thread_start", 0, 20), ("thread_idle", 1, 0)),
        ("join", ("thread_idle", 1, 60), ("thread_wait", 0, 20)),
    ]


def gloo(rank, late):
    """Return a rank that asks at 10 + late for a reduction, which is over at 80 on all."""
    one = Rank(rank).note("ProfilerStep#0", 0, 120).op("c10d::allreduce_", 10 + late, 5)
    shapes = {"Input Dims": [[25]], "Input type": ["float"]}
    return one.note("gloo:all_reduce", 18 + late, 62 - late, 2, **shapes).op("aten::add", 85, 5)


def test_read__gloo(tmp_path):
    """Gloo talks on a thread of its own: started by the operator that asks for it, and waited for between two operators."""
    trace = read(tmp_path, gloo(0, 0), gloo(1, 30))
    assert calls(trace, 0) == [("thread_start", 10, 10), ("thread_wait", 15, 85)]
    assert calls(trace, 1) == [("thread_idle", 0, 18), ("dist_all_reduce", 18, 80), ("thread_idle", 80, 80)]
    assert (len(trace.collectives), trace.calls.bytes_sent[trace.members.call].tolist()) == (1, [100, 100])
    assert trace.properties["inferred"].endswith("; the process group of 2 operations: taken to be all ranks")


@pytest.mark.parametrize(("work", "turns", "gain"), [(20, 1, 6), (2, 0, 2)])
def test_read__gloo_in_turn(tmp_path, work, turns, gain):
    """Of two sums of 20 us on two threads, the second asked for behind 20 us of work: without that it begins 6 us sooner, at 37, for two at
    once share the network: the first is done at 32, and 5 us are between. Behind 2 us of work they are at once as recorded, and stay so.
    """
    ranks = [Rank(0), Rank(1)]
    for one in ranks:
        one.note("ProfilerStep#0", 0, 120).op("c10d::allreduce_", 10, 5).note("gloo:all_reduce", 12, 20, 2).op("aten::mm", 16, work)
        one.op("c10d::allreduce_", 18 + work, 5).note("gloo:all_reduce", 23 + work, 20, 3).op("aten::add", 70, 5)
    trace = read(tmp_path, *ranks)
    assert (trace.links.kind == tables.EVENT).sum() == 2 * turns
    assert predict(trace, "scale aten::mm=0", hand_model(), clock="none").gain == gain * 1000


@pytest.mark.parametrize(
    ("end", "goes_on", "over", "waits_until"),
    [(3040, 3000, 3000, 3000), (3040, 3041, 3040, 3041), (100, 8000, 100, 100), (5000, 6800, 5000, 6800)],
)
def test_read__gloo_notes_its_end_late(tmp_path, end, goes_on, over, waits_until):
    """At 3000 the first thread goes on, so the work is over, whenever that is noted; for 7.9 ms behind 85 us it does something else.

    Behind 5 ms that it waited, 1.8 ms are how late it goes on.
    """
    ranks = [Rank(rank).note("ProfilerStep#0", 0, 9000).op("c10d::allreduce_", 10, 5) for rank in range(2)]
    trace = read(tmp_path, *(one.note("gloo:all_reduce", 18, end - 18, 2).op("aten::add", goes_on, 90) for one in ranks))
    assert calls(trace, 0) == [("thread_start", 10, 10), ("thread_wait", 15, waits_until)]
    assert calls(trace, 1)[1] == ("dist_all_reduce", 18, over)


def test_read__gloo_messages(tmp_path):
    """Messages keep the first thread, from the operator that asks until they are there; of two ranks the partner is the other one."""
    sender = Rank(0).op("c10d::send", 10, 20).note("gloo:send", 25, 30)
    receiver = Rank(1).op("c10d::recv_", 5, 48).note("gloo:recv", 50, 6)
    trace = read(tmp_path, sender, receiver)
    assert (calls(trace, 0), calls(trace, 1)) == ([("dist_send", 5, 50)], [("dist_recv", 0, 51)])
    assert len(trace.messages) == 1


def test_read__gloo_messages_name_their_partners(tmp_path):
    """Rank 0 sends to rank 2 and goes on: it is in the send for as long as that asks. Rank 2 asks early, computes, and waits from 40 on."""
    told = {"Concrete Inputs": ["", "", "2", "0"]}
    sender = Rank(0, 3).op("c10d::send", 10, 4, **told).note("gloo:send", 12, 60).op("aten::mm", 20, 30)
    other = Rank(1, 3).op("aten::mm", 10, 30)
    told["Concrete Inputs"] = ["", "", "0", "0"]
    receiver = Rank(2, 3).op("c10d::recv_", 8, 4, **told).note("gloo:recv", 10, 45).op("aten::mm", 20, 20)
    trace = read(tmp_path, sender, other, receiver)
    assert [calls(trace, k) for k in range(3)] == [[("dist_send", 2, 6)], [], [("dist_recv", 32, 47)]]
    assert trace.calls.peer.tolist() == [2, 0]
    assert (trace.messages.send.tolist(), trace.messages.send_done.tolist(), trace.messages.receive.tolist()) == ([0], [-1], [1])


@pytest.mark.parametrize("inputs", ["", '["", "", "2"]', '["", "", "-1", "0"]', '["", "", 2, "0"]', "[" * 9000, '{"": 2}'])
def test_partner__not_told(inputs):
    assert names.partner(inputs) == -1


def test_read__other_steps(tmp_path):
    """Of ranks that record different steps those that all have are read, cut out by their times."""
    first, second = Rank(0), Rank(1)
    for rank, steps in ((first, (1, 2)), (second, (2, 3))):
        for k in steps:
            rank.note(f"ProfilerStep#{k}", 100 * k, 90).op("aten::mm", 100 * k + 5, 20)
    path = put(tmp_path / "job", first, second)
    trace = files.read(path)
    assert [regions(trace, k)[0] for k in (0, 1)] == [("ProfilerStep", 0, 90, -1)] * 2
    assert trace.faults == ("step 2 alone is read, of 1 to 3: rank 0 has 1 to 2, rank 1 2 to 3",)
    assert len(trace.regions) == 4


def test_read__other_steps_with_a_gap(tmp_path):
    """What one rank lacks in the middle no other has either: of 1, 3 and 4, which both have, 3 and 4 follow one another."""
    first, second = Rank(0), Rank(1)
    for rank, steps in ((first, (1, 2, 3, 4)), (second, (1, 3, 4))):
        for k in steps:
            rank.note(f"ProfilerStep#{k}", 100 * k, 90).op("aten::mm", 100 * k + 5, 20)
    path = put(tmp_path / "job", first, second)
    trace = files.read(path)
    assert [len(regions(trace, k)) for k in (0, 1)] == [4, 4]
    assert trace.faults == ("steps 3 to 4 alone are read, of 1 to 4: rank 1 has 1, 3 to 4",)


def test_read__files_of_several_kinds(tmp_path):
    """Packed, a list alone, named one by one, and hosts by the names that the handler of TensorBoard gives."""
    ranks = two_ranks()
    first, second = tmp_path / "n1_77.1700000000.pt.trace.json.gz", tmp_path / "second.json"
    first.write_bytes(gzip.compress(ranks[0].text().encode()))
    second.write_text(ranks[1].text())
    trace = files.read(f"{first}:{second}")
    assert (trace.nodes, trace.locations.node.tolist()) == (("n1",), [0, 0, 0, -1, -1, -1])
    alone = tmp_path / "rank-3.json"
    alone.write_text(json.dumps(ranks[0].events))
    assert files.read(str(alone)).locations.process.tolist() == [3, 3, 3]


REFUSALS = [
    (
        [Rank(rank, 4, host_name="n").op("a", 1e6 * (rank > 1), 1) for rank in range(4)],
        "/rank2.json: 1.000 s from {folder}/rank0.json: must be of one run",
    ),
    ([Rank(0), Rank(1)], "no file can be read ({folder}/rank0.json: no event of an operator, a kernel or a launch, must have some)"),
    (
        [Rank(0).op("a", 1, 1), Rank(1, 4).op("a", 1, 1)],
        "/rank1.json: of a job of 4 ranks, {folder}/rank0.json of one of 2: must be of one job",
    ),
    ([Rank(0).op("a", 1, 1), Rank(1).op("a", 4e9, 1)], "/rank1.json: 4000 s from {folder}/rank0.json: must be of one run"),
    (
        [Rank(0, host_name="n").op("a", 1, 1), Rank(1, host_name="n").op("a", 5, 1)],
        "/rank1.json: 3.000 us from {folder}/rank0.json: must be of one run",
    ),
    (
        [Rank(0).note("ProfilerStep#1", 1, 1), Rank(1).note("ProfilerStep#2", 1, 1)],
        "/rank0.json: no step of the profiler's schedule that all ranks have, must be recorded together",
    ),
]


@pytest.mark.parametrize(("ranks", "message"), REFUSALS)
def test_read__refused(tmp_path, ranks, message):
    path = put(tmp_path / "job", *ranks)
    with pytest.raises(TraceError) as error:
        files.read(path)
    assert str(error.value).removeprefix(path).removeprefix(": ") == message.format(folder=path)


def test_read__windows_of_a_schedule_that_repeats(tmp_path):
    """The profiler writes a file per window and rank: those of one window are a job, and which those are is said."""
    for window, at in (("b", 100), ("a", 0)):
        for rank in range(2):
            (tmp_path / f"h_{rank}.{window}.pt.trace.json").write_text(Rank(rank).op("a", at, 50).text())
    told = r"h_0\.b\.pt\.trace\.json: another window of rank 0 than .*, must be the files of one, such as h_0\.a\.\S+ h_1\.a\.\S+$"
    with pytest.raises(TraceError, match=told):
        files.read(str(tmp_path))


def test_read__a_file_of_a_rank_that_is_empty(tmp_path):
    (tmp_path / "rank0.json.gz").write_bytes(b"")
    told = "a directory, whose rank0.json.gz is empty, must hold traces of the PyTorch profiler (rank*.json.gz)"
    with pytest.raises(TraceError, match=f"^{re.escape(f'{tmp_path}: {told}')}$"):
        files.read(str(tmp_path))


def test_read__a_rank_twice(tmp_path):
    put(tmp_path / "job", Rank(0).op("a", 1, 1))
    one, other = tmp_path / "job" / "rank0.json", tmp_path / "job" / "other.json"
    other.write_text(one.read_text())
    with pytest.raises(TraceError, match=r"other\.json: both are rank 0 with .*rank0\.json, must be of another rank"):
        files.read(f"{one}:{other}")


def test_read__a_file_beside_itself_packed(tmp_path):
    """It is read once; another recording of the rank is none of the same."""
    path = put(tmp_path / "job", *two_ranks())
    text = (tmp_path / "job" / "rank0.json").read_bytes()
    packed = tmp_path / "job" / "rank0.json.gz"
    packed.write_bytes(gzip.compress(text))
    assert files.read(path).counts.records == files.read(f"{path}/rank0.json:{path}/rank1.json").counts.records
    packed.write_bytes(gzip.compress(text + b" "))
    with pytest.raises(TraceError, match=r"rank0\.json\.gz: both are rank 0 with .*rank0\.json, must be of another rank"):
        files.read(path)


@pytest.mark.parametrize(
    ("name", "op"),
    [
        (b"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "dist_all_reduce"),
        (b"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", "dist_all_reduce"),
        (b"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "dist_send_recv"),
        (b"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", "dist_send_recv"),
        (b"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "dist_reduce_scatter"),
        (b"ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", "dist_broadcast"),
        (b"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "dist_all_gather"),
        (b"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "MPI_other"),
        (b"ampere_sgemm_128x64_nn", None),
    ],
)
def test_names__of_kernels(name, op):
    """Names of NCCL 2.10 to 2.27 and RCCL, as traces of HTA's and TraceLens' tests have them."""
    found = names.of_kernel(name)
    assert (operations.OPS[found] if found >= 0 else None) == op


def test_names__shortened():
    assert names.kernel("void at::native::f<float, 4>(int, g<h>)") == "at::native::f<float, 4>"
    assert names.kernel(f"void at::native::f<{'x' * 60}>(int)") == "at::native::f<...>"
    assert names.region("ProfilerStep#12") == "ProfilerStep"
    assert [names.size_of(one) for one in ("Float", "BFloat16", '["long int"]', "Byte", "?")] == [4, 2, 8, 1, 1]
    assert [names.elements(one) for one in ("[[3, 4], []]", "[[[2, 2], [3]]]", "", "{", "[[-1]]")] == [13, 7, 0, 0, 0]


def test_balance__threads_kept_for_one_purpose_have_no_share(tmp_path):
    """Worked by hand: ranks compute for 30 and 90, so 60 each if balanced: rank 1 asks at 85 * 60 / 90, not 85. Gloo computes nothing."""
    ranks = []
    for rank, late in ((0, 0), (1, 60)):
        one = Rank(rank).note("ProfilerStep#0", 0, 110).op("aten::mm", 0, 20 + late).op("c10d::allreduce_", 25 + late, 5)
        ranks.append(one.note("gloo:all_reduce", 30 + late, 80 - late, 2).op("aten::add", 110, 0))
    trace = read(tmp_path, *ranks)
    assert processors(trace).tolist() == [True, False, True, False]
    assert perwiz.predict(trace, ["balance-time all"]).gain == 28_333


def test_read__a_wait_in_front_of_the_next_collective(tmp_path):
    """What is computed behind two collectives waits for the first; that wait stands before the record of the second."""
    ranks = []
    for number in (0, 1):
        one = Rank(number)
        for k, at in enumerate((10, 40)):
            one.call("cudaEventRecord", at, 1).call("cudaStreamWaitEvent", at + 2, 1)
            one.nccl("AllReduce", at + 5, 100 + 50 * k, 50, k).launch("gemm(int)", at + 12, 100 + 50 * k, 30)
            one.call("cudaStreamWaitEvent", at + 20, 1)
        ranks.append(one)
    trace = read(tmp_path, *ranks)
    own = [pair for pair in links(trace) if pair[0] == "event" and pair[1][1] < 3]
    collective, gemm = (2, 1)
    assert [(cause[1:], effect[1:]) for _, cause, effect in own] == [((gemm, 120), (collective, 140)), ((collective, 140), (gemm, 120))]


def test_predict__devices_that_go_on_behind_the_first_thread(tmp_path):
    """The first thread ends with its last event, at 12: what streams do later is as long as the run."""
    trace = read(tmp_path, Rank(0, 1).launch("gemm(int)", 10, 20, 80))
    found = perwiz.predict(trace, "scale gemm=0.5", clock="none")
    assert (found.recorded.makespan, found.gain) == (90_000, 40_000)


def test_alone__nothing_beside_collectives(tmp_path):
    """The collective takes 40 from 30 on, beside two kernels from 20 to 50 and 50 to 60: behind the first one, and the second behind it."""
    ranks = []
    for number in (0, 1):
        one = Rank(number).launch("gemm(int)", 5, 20, 30).nccl("AllReduce", 10, 30, 40, 0).launch("gemm(int)", 18, 50, 10)
        ranks.append(one.call("cudaDeviceSynchronize", 25, 46))
    trace = read(tmp_path, *ranks)
    found = perwiz.predict(trace, "alone op:dist_all_reduce", clock="none")
    streams = {}
    times = found.predicted.calls
    for one in (1, 2):
        rows = np.flatnonzero(trace.calls.location == one)
        streams[one] = [(times.enter[k] / 1000, times.leave[k] / 1000) for k in rows]
    assert streams[2][1] == (45, 85)
    assert [leave for _, leave in streams[1]][:2] == [15, 85]
    with pytest.raises(
        perwiz.PerwizError, match=r"^alone op:device_launch: must be calls of a stream, such as collectives, with others of"
    ):
        perwiz.predict(trace, "alone op:device_launch", clock="none")


def test_alone__in_the_order_of_launches(tmp_path):
    """Worked by hand: rank 0 has three kernels of 10 and two sums of 5; the first sum waits for rank 1, 60 later, beside kernels.

    Alone: first, sum (ends at 85, as rank 1 comes at 80), second (95), sum (100), third (110). The second sum began behind it.
    """
    ranks = []
    for number, at in ((0, 0), (1, 60)):
        one = Rank(number).note("ProfilerStep#1", 0, 150).launch("first()", 5 + at, 10 + at, 10)
        one.nccl("AllReduce", 10 + at, 20 + at, 65 - at, 0)
        one.launch("second()", 18 + at, 20 + at, 10).nccl("AllReduce", 22 + at, 91 if at else 85, 5 if at else 11, 1)
        ranks.append(one.launch("third()", 30 + at, 30 + at + (1 if at else 0), 10))
    trace = read(tmp_path, *ranks)
    times = perwiz.predict(trace, "alone op:dist_all_reduce", clock="none", draws=0).predicted.calls
    sums = np.flatnonzero((trace.calls.op == operations.OP["dist_all_reduce"]) & (trace.calls.location == 2))
    idle = np.flatnonzero(trace.calls.location == 1)
    assert times.leave[sums].tolist() == [85_000, 100_000]
    assert [(times.leave[k] / 1000, times.enter[k + 1] / 1000) for k in idle[:3]] == [(10, 20), (85, 95), (100, 110)]


def test_zero_time__streams_wait_for_each_other_still(tmp_path):
    """Worked by hand: no launch is late, so `gemm` begins at 10, the sum behind it at 40 and `next` behind that at 68, 13 sooner."""
    trace = read(tmp_path, hiding())
    assert perwiz.predict(trace, "zero-time op:device_idle", draws=0).gain == 13_000


def test_read__threads_that_only_ask(tmp_path):
    """A thread of NCCL asks whether events are over: it is no thread of the job, which is complete without it."""
    trace = read(tmp_path, *(one.call("cudaEventQuery", 30, 1, 9) for one in two_ranks()))
    assert (len(trace.locations), health(trace).incomplete) == (6, False)
    (tmp_path / "alone").mkdir()
    assert len(read(tmp_path / "alone", Rank(0, 1).call("cudaEventQuery", 1, 1)).locations) == 1


@pytest.mark.parametrize(
    ("threads", "streams", "numbers"),
    [(2, [7, 20], [0, 1, 7, 20]), (2, [1, 7, 7], [0, 2, 1, 3, 4]), (1, [0, 7], [0, 1, 7]), (1, [1 << 31], [0, 1])],
)
def test_numbered(threads, streams, numbers):
    assert numbered(threads, streams).tolist() == numbers


def test_read__streams_have_their_numbers(tmp_path):
    assert read(tmp_path, *two_ranks()).locations.thread.tolist() == [0, 7, 20] * 2


def test_read__what_is_no_trace_is_named(tmp_path):
    path = put(tmp_path / "job", *two_ranks())
    for name, text in (("rank2.json", ""), ("rank3.json.gz", "x"), ("settings.json", "{}")):
        (tmp_path / "job" / name).write_text(text)
    why = "no trace of the PyTorch profiler, though named like that of a rank: left out"
    assert files.read(path).faults == tuple(f"{path}/{name}: {why}" for name in ("rank2.json", "rank3.json.gz"))


LEFT_OUT = [
    (
        [Rank(0, 3).op("a", 1, 1), *(Rank(k, 3, host_name="n").op("a", 1e6 * k, 1) for k in (1, 2))],
        2,
        "1.000 s from {rank1}: must be of one run",
    ),
    ([Rank(k, 3, host_name="n").op("a", 1e6 * (k > 0), 1) for k in range(3)], 0, "1.000 s from {rank1}: must be of one run"),
    ([Rank(k, 4 if k == 1 else 3).op("a", 1, 1) for k in range(3)], 1, "of a job of 4 ranks, {rank0} of one of 3: must be of one job"),
]


@pytest.mark.parametrize(("ranks", "left_out", "why"), LEFT_OUT)
def test_read__the_file_of_another_job_is_left_out(tmp_path, ranks, left_out, why):
    """Two of three files are of one job: one begins a second later than one of its host, or a second earlier, or is of another size."""
    path = put(tmp_path / "job", *ranks)
    trace = files.read(path)
    paths = {f"rank{k}": f"{path}/rank{k}.json" for k in range(3)}
    assert f"{path}/rank{left_out}.json: {why.format(**paths)}: left out" in trace.faults
    assert {*trace.locations.process.tolist()} == {0, 1, 2} - {left_out}


def test_read__a_rank_of_another_job(tmp_path):
    """Three ranks of one size: two sum in step 5, one in step 9."""
    path = put(tmp_path / "job", *two_ranks(), two_ranks(numbers=(5, 9))[1])
    third = json.loads((tmp_path / "job" / "rank1.json").read_text())
    put(tmp_path / "job", two_ranks()[1])
    third["distributedInfo"]["rank"] = 2
    (tmp_path / "job" / "rank2.json").write_text(json.dumps(third).replace("[0, 1]", "[0, 1, 2]"))
    for rank in (0, 1):
        file = tmp_path / "job" / f"rank{rank}.json"
        file.write_text(file.read_text().replace("[0, 1]", "[0, 1, 2]").replace('"world_size": 2', '"world_size": 3'))
    file = tmp_path / "job" / "rank2.json"
    file.write_text(file.read_text().replace('"world_size": 2', '"world_size": 3'))
    why = "nothing that it does with other ranks is done by them: must be of one job"
    assert files.read(path).faults == (f"{path}/rank2.json: {why}",)


def test_read__groups_that_contradict(tmp_path):
    """Group 1 is of ranks 0 and 1 in one file, and of 1 and 2 in the other; of 0 and of 1 alone they may be two of one name."""

    def job(name, *groups):
        told = [{"rank": k, "world_size": 3, "pg_config": [{"pg_name": "1", "ranks": groups[k]}]} for k in (0, 1)]
        ranks = [Rank(k, 3, distributedInfo=told[k]) for k in (0, 1)]
        return put(tmp_path / name, *(rank.op("aten::mm", 0, 9) for rank in ranks))

    assert len(files.read(job("good", [0], [1])).locations) == 2
    path = job("bad", [0, 1], [1, 2])
    named = f"{path}/rank1.json: process group 1 of ranks 1, 2, in {path}/rank0.json of ranks 0, 1: must be of one job"
    with pytest.raises(TraceError, match=f"^{re.escape(named)}$"):
        files.read(path)


def meeting(*begins, host=("n0",), numbered=True):
    """Return ranks that are in as many collectives, each 2000 us long, of all, given when each begins of each rank, ms."""
    ranks = []
    for k, begin in enumerate(begins):
        rank = Rank(k, len(begins), host_name=host[k % len(host)])
        for number, at in enumerate(begin):
            rank.nccl("AllReduce", 1000 * at - 10, 1000 * at, 2000, number if numbered else None, ranks=str(list(range(len(begins)))))
        ranks.append(rank.call("cudaDeviceSynchronize", 1000 * begin[-1] + 100, 3000))
    return ranks


def test_read__ranks_of_jobs_that_run_at_one_time(tmp_path):
    """Of three, on one host, the last leaves its four collectives 3, 3 and 2 ms before the others come, and once meets them.

    Of two the second is named: it comes 3 ms after the first has left, each time.
    """
    path = put(tmp_path / "three", *meeting((15, 25, 35, 44), (15, 25, 35, 44), (10, 20, 31, 44)))
    why = "of 4 collectives it leaves before others come, or comes when they have left, by up to 3.000 ms: must be of one job"
    assert files.read(path).faults == (f"{path}/rank2.json: in 3 {why}",)
    assert main(["domino", path, "-q"]) == INCOMPLETE
    path = put(tmp_path / "two", *meeting((10, 20, 30, 40), (15, 25, 35, 45)))
    assert files.read(path).faults == (f"{path}/rank1.json: in 4 {why}",)


def test_read__collectives_that_are_not_recorded(tmp_path):
    """Of six collectives, 10 ms apart, a rank lacks the first, another the last, and nothing numbers them: four end together."""
    path = put(tmp_path / "job", *meeting((10, 20, 30, 40, 50), (20, 30, 40, 50, 60), numbered=False))
    trace = files.read(path)
    told = "collectives are not the same in their order, some are not recorded: put together by when they end, 8 of 10 with others"
    assert trace.faults == (f"{path}: {told}",)
    assert np.bincount(trace.members.collective).tolist() == [1, 2, 2, 2, 2, 1]
    assert "by when they end, as no numbers" in trace.properties["inferred"]


def test_read__unnumbered_collectives_of_two_jobs(tmp_path):
    """Of five two end together, which may be chance: the second rank is of another job."""
    path = put(tmp_path / "job", *meeting((10, 20, 30, 40, 50), (20, 30, 45, 55, 65), numbered=False))
    why = "in 5 of 5 collectives it leaves before others come, or comes when they have left, by up to 13.00 ms: must be of one job"
    assert files.read(path).faults == (f"{path}/rank1.json: {why}",)


def test_read__hosts_whose_clocks_no_shift_makes_right(tmp_path):
    """One has steps of 14 ms, the other of 10: whatever its clock is moved by, they do not meet. Steps of one length are one job's."""
    path = put(tmp_path / "apart", *meeting((10, 24, 38, 52, 66), (10, 20, 30, 40, 50), host=("n0", "n1")))
    why = "in 4 of 5 collectives it leaves before others come, or comes when they have left, by up to 6.000 ms: must be of one job"
    moved = "clocks against n0: n1 8.000 ms behind; moved by the ends of 5 collectives"
    assert files.read(path).faults == (f"{path}/rank1.json: {why}", moved)
    path = put(tmp_path / "one", *meeting((10, 20, 30), (510, 520, 530), host=("n0", "n1")))
    assert files.read(path).faults == ("clocks against n0: n1 500.0 ms ahead; moved by the ends of 3 collectives",)


@pytest.mark.parametrize("ahead", [5_000, 3_000_000_000])
def test_read__clocks_of_hosts(tmp_path, ahead):
    """The second host's clock is ahead, by 5 ms or most of an hour: both ranks leave the collective at 125, so it is put back by that."""
    one, other = two_ranks()
    one.beside["host_name"], other.beside["host_name"] = "n0", "n1"
    for event in other.events:
        event["ts"] += ahead
    trace = files.read(put(tmp_path / "job", one, other))
    took = "5.000 ms" if ahead == 5_000 else "3000 s"
    assert trace.faults == (f"clocks against n0: n1 {took} ahead; moved by the ends of 1 collective",)
    assert trace.offsets.offset.tolist() == [0, 0, 0, -ahead, -ahead, -ahead]
    right = replayed(files.read(put(tmp_path / "right", *two_ranks())))
    assert replayed(trace).makespan == right.makespan
    assert replayed(trace, clock="none").makespan == right.makespan + 1000 * ahead


def test_read__clocks_of_hosts_that_may_be_right(tmp_path):
    """A host that leaves 3 later, and never before the other one has entered, keeps its clock."""
    one, other = two_ranks()
    one.beside["host_name"], other.beside["host_name"] = "n0", "n1"
    for event in other.events:
        event["ts"] += 3
    trace = files.read(put(tmp_path / "job", one, other))
    assert (trace.faults, len(trace.offsets)) == ((), 0)


def test_hide__full_overlap(tmp_path, capsys):
    """Worked by hand: the second kernel, of 9, begins 28 sooner, behind the first, and the sum ends at 80, not the kernel at 90.

    The host waits for the whole device, so it goes on 10 us earlier. Where nothing waits for a collective there is nothing to hide.
    """
    trace = perwiz.read(put(tmp_path / "job", hiding()))
    assert perwiz.predict(trace, ["hide op:dist_all_reduce"], draws=0).gain == 10_000
    assert main(["predict", str(tmp_path / "job"), "--hide", "op:dist_all_reduce", "--draws", "0", "-q"]) == DONE
    assert "\nat best       only as far as its data are there before all is computed\n" in capsys.readouterr().out
    asker = Asker(replayed(trace))
    (hidden,) = devices.overlap(asker)
    assert (hidden.question, hidden.makespan, hidden.bound) == ("hide op:dist_all_reduce", asker.run.makespan - 10_000, True)
    with pytest.raises(UsageError, match="no other stream or thread of their process waits for these calls"):
        perwiz.predict(perwiz.read(put(tmp_path / "two", *two_ranks())), ["hide op:dist_all_reduce"])


def test_barrier__is_left_out_not_hidden(tmp_path):
    """Each rank waits 65 and 35 for its thread, which meets the other's in a barrier until 80: nothing comes of it that could be hidden."""
    ranks = [Rank(k).note("ProfilerStep#0", 0, 120).op("c10d::barrier", at, 5) for k, at in enumerate((10, 40))]
    ranks = [one.note("gloo:barrier", at + 6, 74 - at, 2).op("aten::add", 85, 5) for one, at in zip(ranks, (10, 40), strict=True)]
    asker = Asker(replayed(perwiz.read(put(tmp_path / "job", *ranks))))
    with pytest.raises(NoneThereError, match=r"^no communication runs beside computation$"):
        devices.overlap(asker)
    found = {change.question: situation(asker.run, change) for change in instant.collectives(asker)}
    assert found == {"zero-time site:dist_barrier": "wait at barrier"}


def summing(rank, first, ends, sync="cudaStreamSynchronize", backward=()):
    """Return a rank whose kernel `next`, of 9, waits for a sum of another stream until `ends`, which begins 2 behind `gemm` of `first`."""
    one = Rank(rank, 2).note("ProfilerStep#1", 0, 200).launch("gemm", 10, 20, first).call("cudaEventRecord", 13)
    for at in backward:
        one.op("autograd::engine::evaluate_function: MmBackward0", at, 1)
    one.call("cudaStreamWaitEvent", 16).nccl("AllReduce", 20, 22 + first, ends - 22 - first, 1).call("cudaEventRecord", 26)
    return one.call("cudaStreamWaitEvent", 30).launch("next", 34, ends + 1, 9).call(sync, 60, ends - 48)


@pytest.mark.parametrize(
    ("first", "ends", "told", "gain"),
    [
        (30, 80, {}, 28),
        (6, 80, {}, 28),
        (6, 80, {"backward": (8, 12)}, 20),
        (6, 80, {"backward": (90,)}, 28),
        (6, 80, {"sync": "cudaDeviceSynchronize"}, 10),
    ],
)
def test_hide__as_far_as_there_is_time(tmp_path, first, ends, told, gain):
    """Worked by hand: all of a sum of 28 fits into the 52 before it, of 52 only 28, or what is behind the begin of the backward.

    Who waits for the device waits for the sum, too: it goes on 10 sooner, as the kernel behind the sum does not follow it.
    """
    trace = perwiz.read(put(tmp_path / "job", *(summing(rank, first, ends, **told) for rank in range(2))))
    prediction = perwiz.predict(trace, ["hide op:dist_all_reduce"], draws=0)
    assert prediction.gain == 1000 * gain
    assert [(one.changes, one.makespan) for one in prediction.span.others] == [(("beside=slowed",), trace.timeline.makespan)]


def test_hide__who_is_late_is_waited_for(tmp_path):
    """Rank 1 comes to the sum 40 later, at 92, and both move data for 28: their kernels follow at 93 instead of 121."""
    trace = perwiz.read(put(tmp_path / "job", summing(0, 30, 120), summing(1, 70, 120)))
    found = perwiz.predict(trace, ["hide op:dist_all_reduce"], draws=0).predicted.regions
    assert sorted(found.enter[trace.region_names == trace.names.index("next")].tolist()) == [93_000, 93_000]


def test_launches__take_no_time(tmp_path):
    """Worked by hand: kernels of 1 begin 3 behind their launches, one each 5; else 0.9 behind each other, as none was queued, so that the
    last begins 4 * 3.1 sooner.

    That is no bound, so a plan has it: a graph of kernels does it.
    """
    rank = Rank(0, 1).note("ProfilerStep#1", 0, 60)
    for k in range(4):
        rank.launch("little", 10 + 5 * k, 13 + 5 * k, 1, last=5)
    rank.launch("last", 30, 33, 10, last=5).call("cudaDeviceSynchronize", 36, 12)
    trace = perwiz.read(put(tmp_path / "job", rank))
    ranking = ranked(replayed(trace), ("launches",))
    (change,) = ranking.changes
    assert (change.question, change.bound) == ("zero-time op:device_launch", False)
    assert change.makespan == ranking.run.makespan - 12_400 == perwiz.predict(trace, [change.question], draws=0).predicted.makespan
    assert [one.question for one in plan(ranking, change.makespan).feasible] == [change.question]


def test_domino__a_straggling_device(tmp_path):
    """A kernel takes 30 on one rank and 90 on the other, as long as that: both come to the collective 60 earlier."""
    ranks = []
    for number, more in ((0, 0), (1, 60)):
        one = Rank(number).launch("gemm(int)", 2, 20, 30 + more).call("cudaEventRecord", 6, 1).call("cudaStreamWaitEvent", 8, 1)
        one.nccl("AllReduce", 12, 50 + more, 70 - more, 0)
        ranks.append(one.call("cudaDeviceSynchronize", 18, 102))
    found = computation.slowest(Asker(replayed(read(tmp_path, *ranks), clock="none")))
    asked = {change.question: change.makespan for change in found}
    assert asked["typical rank:1"] == min(asked.values())
    assert "typical rank:0" not in asked


@pytest.mark.parametrize(("slow", "question"), [((2, 3), "rank:2-3"), ((0, 3), "rank:0,rank:3")])
def test_domino__devices_that_are_slow_together(tmp_path, slow, question):
    """A kernel takes 90 on two of four ranks, 30 on the others: one alone gains nothing, both 60. So does their node."""
    ranks = []
    for number in range(4):
        more = 60 if number in slow else 0
        one = Rank(number, 4, host_name=f"n{int(number in slow)}").launch("gemm(int)", 2, 20, 30 + more)
        one.call("cudaEventRecord", 6, 1).call("cudaStreamWaitEvent", 8, 1)
        one.nccl("AllReduce", 12, 50 + more, 70 - more, 0, ranks="[0, 1, 2, 3]")
        ranks.append(one.call("cudaDeviceSynchronize", 18, 102))
    run = replayed(read(tmp_path, *ranks), clock="none")
    asked = {change.question: run.makespan - change.makespan for change in computation.slowest(Asker(run))}
    assert {asked[f"typical {question}"], asked["typical node:n1"]} == {60_000}
    assert not {"typical rank:0", "typical rank:3"} & set(asked)
