"""Chakra execution traces as traces: what computes where, what needs what, who meets whom; worked by hand."""

import json

import numpy as np
import pytest

from chakras import ALL_GATHER, ALL_REDUCE, BROADCAST, METADATA, Rank, put, two_ranks
from naive_chakra import field, message
from perwiz.errors import TraceError
from perwiz.formats import files
from perwiz.patterns.analysis.efficiency import whole
from perwiz.trace import operations, tables
from perwiz.trace.origin import MEASURED, UNTIMED
from perwiz.trace.tied import processors
from perwiz.whatif.run import replayed
from perwiz.whatif.timed import timed
from soundness import sound

FREE = {"L_ns": 0, "o_s_ns": 0, "o_r_ns": 0, "g_ns": 0, "G_ns_per_byte": 0}
FREE_TEXT = ",".join(f"{name}={value}" for name, value in FREE.items())


def regions(trace):
    """Return (rank, thread, name, enter, leave), us, of all regions."""
    table, places, times = trace.regions, trace.locations, trace.timeline.regions
    where = [(int(places.process[k]), int(places.thread[k])) for k in table.location]
    names = [trace.names[trace.paths.region[path]] for path in table.path]
    pairs = zip(times.enter // 1000, times.leave // 1000, strict=True)
    return [(*at, name, *pair) for at, name, pair in zip(where, names, pairs, strict=True)]


def test_read__worked(tmp_path):
    """On a network that takes no time, the sum begins when the later rank has computed, 2 + 30 us; behind it both compute for 5 us.

    rank 0  processor  launch 0 2           rank 1  launch 0 2
            device            gemm 2 12             gemm 2 32
                              relu 32 37            relu 32 37
    """
    trace = files.read(put(tmp_path / "job", *two_ranks()))
    sound(trace)
    assert trace.timeline.origin == UNTIMED
    assert trace.names == ("launch", "gemm", "relu")
    assert trace.locations.kind.tolist() == [tables.PROCESS, tables.STREAM, tables.STREAM] * 2
    assert [operations.OPS[op] for op in trace.collectives.op] == ["dist_all_reduce"]
    kinds = [tables.LINKS[kind] for kind in trace.links.kind]
    assert kinds == ["launch", "event", "event"] * 2
    free = timed(trace, FREE_TEXT)
    both = [[(k, 0, "launch", 0, 2), (k, 1, "gemm", 2, end), (k, 1, "relu", 32, 37)] for k, end in ((0, 12), (1, 32))]
    assert regions(free) == [*both[0], *both[1]]
    assert free.timeline.makespan == 37_000


def test_read__first_threads_idle_and_still_share_work(tmp_path):
    """A first thread with nothing to do is one: of what the time is made of, each process computes for the 2 us of its launch."""
    trace = timed(files.read(put(tmp_path / "job", *two_ranks())), FREE_TEXT)
    assert trace.calls.op[trace.locations.kind[trace.calls.location] == tables.PROCESS].tolist() == [operations.OP["thread_idle"]] * 4
    assert processors(trace).tolist() == [True, False, False] * 2
    assert whole(replayed(trace, FREE_TEXT)).useful.tolist() == [2000, 2000]


def test_read__times_that_are_told(tmp_path):
    """Times since 1970, of which the first is 0; what is sent is there when it has been received."""
    ranks = [
        Rank(0).compute(1, "a", 10, start=10**15 + 5).meet(2, ALL_REDUCE, [1], 25, 10**15 + 15),
        Rank(1).compute(1, "a", 30, start=10**15).meet(2, ALL_REDUCE, [1], 8, 10**15 + 32),
    ]
    trace = files.read(put(tmp_path / "job", *ranks))
    sound(trace)
    assert trace.timeline.origin == MEASURED
    assert regions(trace) == [(0, 0, "a", 5, 15), (1, 0, "a", 0, 30)]
    sums = trace.members.call
    assert (trace.timeline.calls.enter[sums] // 1000).tolist() == [15, 32]
    assert (trace.timeline.calls.leave[sums] // 1000).tolist() == [40, 40]


def test_read__messages_by_tag(tmp_path):
    """Two tags cross: the later receive has the earlier message. Receives keep nobody: what is not needed waits for none."""
    ranks = [
        Rank(0).send(1, 1, tag=7).send(2, 1, [1], tag=8, size=200).compute(3, "x", 4),
        Rank(1).receive(1, 0, tag=8, size=200).receive(2, 0, tag=7).compute(3, "y", 6, [2]),
    ]
    trace = files.read(put(tmp_path / "job", *ranks))
    sound(trace)
    assert sorted(zip(trace.messages.tag.tolist(), trace.messages.bytes.tolist(), strict=True)) == [(7, 100), (8, 200)]
    assert set(trace.messages.mode) == {tables.BUFFERED}
    assert (trace.counts.unmatched_sends, trace.counts.unmatched_receives) == (0, 0)
    assert timed(trace, FREE_TEXT).timeline.makespan == 6_000


def test_read__lanes_that_are_told(tmp_path):
    """Streams and threads by their numbers, those of the host apart; a node of the host that stands for a collective computes."""
    one = Rank(0).compute(1, "op", 3, cpu=True, tid=7).add(2, "c10d::allreduce_", 7, [1], 2, is_cpu_op=True, tid=7)
    one.compute(3, "gemm", 4, [1], tid=7).meet(4, ALL_REDUCE, [2, 3], tid=20, stream=21).meet(5, ALL_REDUCE, [4], tid=20, stream=21)
    trace = files.read(put(tmp_path / "job", one))
    sound(trace)
    assert trace.locations.kind.tolist() == [tables.PROCESS, tables.STREAM, tables.STREAM]
    assert regions(trace) == [(0, 0, "op", 0, 3), (0, 0, "c10d::allreduce_", 3, 5), (0, 1, "gemm", 0, 4)]
    assert len(trace.collectives) == 2


GROUP = '[\'[{"pg_name": "1", "ranks": [0, 2]}]\']'


@pytest.mark.parametrize("told", ["node", "file", "nobody"])
def test_read__groups(tmp_path, told):
    """The ranks of a group are told by a node, by a file beside the others, or are those that name it."""
    ranks = [Rank(k).meet(1, ALL_GATHER, pg_name=b"1" if k != 1 else b"0", size=10) for k in range(3)]
    folder = tmp_path / "job"
    path = put(folder, *ranks)
    if told == "node":
        text = (folder / "job.0.et").read_bytes()
        node = field(1, 9) + field(2, b"process_group:init") + field(3, METADATA) + field(8, field(1, GROUP.encode()))
        (folder / "job.0.et").write_bytes(text + message(node))
    elif told == "file":
        (folder / "comm_groups.json").write_text('{"1": [0, 2]}')
    trace = files.read(path)
    sound(trace)
    assert trace.communicators.names == ("world", "1")
    assert trace.communicators.members(1).tolist() == [0, 2]
    assert trace.calls.bytes_received[trace.members.call].tolist() == [30, 20, 20]
    inferred = "; the ranks of 1 process group: those that name it" if told == "nobody" else ""
    needs = "Chakra execution traces tell which nodes need which"
    assert trace.properties == {"dependences": needs, "inferred": f"when nodes begin: no file tells{inferred}"}


def test_read__partner_that_nobody_tells(tmp_path):
    """In a group of two it is the other one."""
    ranks = [
        Rank(0).add(1, "ncclSend", 5, comm_size=8, pg_name=b"3").meet(2, ALL_REDUCE, pg_name=b"3"),
        Rank(1).add(1, "ncclRecv", 6, comm_size=8, pg_name=b"3").meet(2, ALL_REDUCE, pg_name=b"3"),
    ]
    trace = files.read(put(tmp_path / "job", *ranks))
    assert len(trace.messages) == 1
    assert trace.calls.peer[[trace.messages.send[0], trace.messages.receive[0]]].tolist() == [1, 0]


def test_read__collectives_by_tag(tmp_path):
    """Two of one group in another order on each rank, told apart by their tags."""
    ranks = [
        Rank(0).meet(1, ALL_REDUCE, comm_tag=4).meet(2, BROADCAST, comm_tag=5, stream=9),
        Rank(1).meet(1, BROADCAST, comm_tag=5).meet(2, ALL_REDUCE, comm_tag=4, stream=9),
    ]
    trace = files.read(put(tmp_path / "job", *ranks))
    assert sorted(operations.OPS[op] for op in trace.collectives.op) == ["dist_all_reduce", "dist_broadcast"]
    assert trace.counts.unmatched_collectives == trace.counts.incomplete_collectives == 0


def test_read__what_is_said(tmp_path):
    """A rank without a file, a dependence on a node that is not there, and dimensions of a network."""
    ranks = [Rank(0).compute(2, "a", 1, [77]).meet(3, ALL_REDUCE, [2], involved_dim=[True, False]), Rank(2).compute(1, "a", 1)]
    trace = files.read(put(tmp_path / "job", *ranks))
    assert trace.counts.silent_processes == 1
    assert trace.faults == (f"{tmp_path}/job: no file of rank 1 of 3 ranks: what others wait for there cannot be told",)
    assert trace.properties["inferred"] == (
        "when nodes begin: no file tells; the process group of 1 operation, told by dimensions of a network: taken to be all ranks; "
        "1 dependence on nodes that no file has: left out"
    )


def test_read__ranks_without_files(tmp_path):
    """Rank 12 alone, and no group: of the others the first eight are named."""
    trace = files.read(put(tmp_path / "job", Rank(12).compute(1, "a", 1)))
    said = "no file of ranks 0, 1, 2, 3, 4, 5, 6, 7, ... of 13 ranks: what others wait for there cannot be told"
    assert trace.faults == (f"{tmp_path}/job: {said}",)
    assert files.read(put(tmp_path / "whole", *two_ranks())).faults == ()


def test_read__joined_by_colons(tmp_path):
    put(tmp_path / "job", *two_ranks())
    trace = files.read(":".join(str(tmp_path / "job" / f"job.{k}.et") for k in (1, 0)))
    assert len(np.unique(trace.locations.process)) == 2


CIRCLE = "is among or behind nodes that need each other in a circle, must have one that can begin"


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([Rank(0).compute(1, "a", 1).compute(1, "b", 1)], "{0}: node 1 is there twice, must be once"),
        ([Rank(0).compute(1, "a", 1, [2]).compute(2, "b", 1, [1])], f"{{job}}: node 1 of rank 0 {CIRCLE}"),
        (
            [Rank(k).receive(1, 1 - k).send(2, 1 - k, [1]) for k in range(2)],
            f"{{job}}: node 1 of rank 0 {CIRCLE}",
        ),
        ([Rank(0).compute(1, "a", 1 << 41)], "{0}: node 1 has duration_micros 2199023255552, must be at most 1099511627776"),
        ([Rank(0).send(1, 1 << 25)], "{0}: node 1 has comm_dst 33554432, must be at most 16777216"),
        ([Rank(0)], "{0}: no node, must have some"),
    ],
)
def test_read__refused(tmp_path, ranks, expected):
    job = put(tmp_path / "job", *ranks)
    path = job if len(ranks) > 1 else f"{job}/job.0.et"
    with pytest.raises(TraceError) as error:
        files.read(path)
    assert str(error.value) == expected.format(f"{job}/job.0.et", job=path)


def test_read__names_that_do_not_fit(tmp_path):
    folder = tmp_path / "job"
    put(folder, *two_ranks())
    (folder / "other.1.et").write_bytes(two_ranks()[1].bytes())
    with pytest.raises(TraceError) as error:
        files.read(str(folder))
    assert str(error.value) == f"{folder}/other.1.et: of rank 1 as {folder}/job.1.et, must be of another rank or job"
    (folder / "other.1.et").rename(folder / "other.et")
    with pytest.raises(TraceError) as error:
        files.read(str(folder))
    assert str(error.value) == f"{folder}/other.et: no rank in its name, must be NAME.RANK.et"
    (folder / "other.et").rename(folder / "job.2000000.et")
    with pytest.raises(TraceError) as error:
        files.read(str(folder))
    assert str(error.value) == f"{folder}/job.2000000.et: of rank 2000000, must be at most 1048575"


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ("[", "Expecting value: line 1 column 2 (char 1), must be the ranks of each process group by its name"),
        ('{"1": 2}', "[...] is an integer, must be a list, must be the ranks of each process group by its name"),
        (json.dumps({"1": [0, 0]}), "group 1: must be different ranks from 0 to 1048575"),
    ],
)
def test_read__groups_refused(tmp_path, groups, expected):
    folder = tmp_path / "job"
    put(folder, *two_ranks())
    (folder / "comm_groups.json").write_text(groups)
    with pytest.raises(TraceError) as error:
        files.read(str(folder))
    assert str(error.value) == f"{folder}/comm_groups.json: {expected}"
