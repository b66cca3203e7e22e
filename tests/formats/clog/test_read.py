"""Reading CLOG-2: small files of its own encoder, each record by hand, and what is damaged."""

import contextlib
import gzip
import random
import tracemalloc

import numpy as np
import pytest
import zstandard

import perwiz
from clogs import Encoder
from perwiz.errors import PerwizError, TraceError
from perwiz.trace import defects, operations
from soundness import sound

BIG = Encoder()


@pytest.fixture
def read(tmp_path):
    def run(data, name="a.clog2"):
        (tmp_path / name).write_bytes(data)
        trace = perwiz.read(str(tmp_path / name))
        sound(trace)
        return trace

    return run


def names(trace):
    return [operations.OPS[op] for op in trace.calls.op]


def reasons(trace):
    return [(int(line), defects.REASONS[reason]) for line, reason in zip(trace.defects.line, trace.defects.reason, strict=True)]


@pytest.mark.parametrize(("order", "block"), [(">", 256), (">", 1 << 16), ("<", 1024)])
def test_everything(order, block, read):
    encoder = Encoder(order)
    trace = read(encoder.file(encoder.exchange(), block))
    assert (trace.format, names(trace), trace.names) == ("CLOG-2", ["MPI_Send", "MPI_Allreduce", "MPI_Recv", "MPI_Allreduce"], ("compute",))
    assert trace.timeline.calls.enter.tolist() == [0, 600_000_000, 0, 600_000_000]
    assert trace.timeline.calls.leave.tolist() == [200_000_000, 800_000_000, 300_000_000, 700_000_000]
    messages = trace.messages
    assert [column.tolist() for column in (messages.send, messages.receive, messages.tag, messages.bytes)] == [[0], [2], [7], [100]]
    assert (trace.communicators.names, trace.communicators.members(1).tolist()) == (("world", "communicator 3"), [1, 0])
    assert trace.calls.comm.tolist() == [0, 1, 0, 1]
    assert (trace.members.call.tolist(), len(trace.collectives)) == ([3, 1], 1)
    assert (trace.counts.single_events, trace.counts.internal_messages, reasons(trace)) == (1, 1, [])


def test_ranks__of_a_communicator(read):
    """A message on a communicator names ranks in it; one on an intercommunicator a rank of the other side, and no communicator."""
    entered = [BIG.enters(0, 0, rank, rank) for rank in range(2)] + [BIG.enters(100, 3, 1 - rank, rank) for rank in range(2)]
    entered += [BIG.enters(1000, 5 + rank, 0, rank) for rank in range(2)] + [BIG.enters(101, 7 + rank, 0, rank) for rank in range(2)]
    on_comm = [BIG.moved(0.1, 1, True, 0, comm=3), BIG.moved(0.2, 0, False, 1, comm=3)]
    between = [BIG.moved(0.3, 0, True, 0, comm=5, other=8), BIG.moved(0.4, 0, False, 0, comm=6, other=7)]
    trace = read(BIG.file(entered + on_comm + between))
    assert trace.locations.process[trace.calls.location[trace.messages.send]].tolist() == [0, 0]
    assert trace.locations.process[trace.calls.location[trace.messages.receive]].tolist() == [1, 1]
    assert (sorted(trace.messages.comm.tolist()), reasons(trace)) == ([-1, 1], [])


def test_communicators__that_name_a_process_twice(read):
    """Are none: calls on them are on no known one, and the next one keeps its own row."""
    entered = [BIG.enters(0, 0, rank, rank) for rank in range(2)] + [BIG.enters(100, 3, rank, 0) for rank in range(2)]
    entered += [BIG.enters(100, 4, 1 - rank, rank) for rank in range(2)]
    turns = [(comm, rank, event) for comm in (3, 4) for rank in range(2) for event in (14, 15)]
    called = [BIG.bare(0.1 * time, rank, event, comm=comm) for time, (comm, rank, event) in enumerate(turns)]
    trace = read(BIG.file([*entered, *called, BIG.state(14, 15, "MPI_Allreduce")]))
    assert trace.communicators.names == ("world", "communicator 4")
    assert sorted({*trace.calls.comm.tolist()}) == [-1, 1]


def test_defects(read):
    """What cannot be used is counted by its number in the file, from 1."""
    records = BIG.exchange()
    cut = read(BIG.file([*records, BIG.bare(1.0, 0, 10)], end=False))
    assert {reason for _, reason in reasons(cut)} == {"state that never ends", "cut off in the middle of a line"}
    unknown = read(BIG.file([records[0], records[1], BIG.record(5)[:20] + BIG.words(77)], 256) + BIG.file(records, 256)[1024:])
    assert reasons(unknown) == [(3, "record of no known type, or longer than its block")]
    assert len(unknown.calls) == 4
    damaged = [BIG.bare(float("nan"), 0, 10), BIG.bare(0.1, 9, 10), BIG.bare(0.1, 0, 10, thread=-1), BIG.moved(0.1, 0, True, 9)]
    damaged += [BIG.bare(0.1, 0, -101), BIG.moved(0.1, 0, True, 1, size=-5), BIG.moved(0.1, 0, True, -1), BIG.bare(0.0, 0, 10, comm=99)]
    found = reasons(read(BIG.file([*damaged, *records])))
    outside = "number out of range"
    member = "partner outside its communicator"
    assert found == [(1, outside), (2, member), (3, outside), (4, member), (5, outside), (6, outside), (8, member)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((b"02.44", b"02.10"), "version 'CLOG-02.10', must be CLOG-02.40 to CLOG-02.49"),
        ((b"\0001024\0", b"\0001028\0"), "block_size '1028' in the preamble, must be 256 to 1073741824, a multiple of 8"),
        ((b"max_comm_world_size=\0002", b"max_comm_world_size=\0x"), "max_comm_world_size 'x' in the preamble, must be 1 to 16777216"),
    ],
)
def test_preamble(change, message, read):
    with pytest.raises(TraceError, match=f"a.clog2: {message}$"):
        read(BIG.file(BIG.exchange()).replace(*change))


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_packed(pack, read):
    """As far as it goes."""
    whole = BIG.file(BIG.exchange() * 100, 256)
    assert len(read(pack(whole)).messages) == len(read(whole).messages) > 1
    if pack is zstandard.compress:  # whole pieces or nothing
        return
    cut = read(pack(whole[:3000])[:-4])
    assert len(cut.calls) > 0
    assert reasons(cut)[-1][1] == "cut off in the middle of a line"


def test_no_events(read):
    with pytest.raises(TraceError, match=r"a.clog2: no event record, must have at least one$"):
        read(BIG.file([BIG.state(1, 2, "x")]))


@pytest.mark.slow
def test_mutated(read):
    """Whatever is changed, a sound trace comes out, or a refusal."""
    rng, whole = random.Random(1), BIG.file(BIG.exchange(), 512)
    used = 0
    for _ in range(120):
        data = bytearray(whole[: rng.choice([len(whole), rng.randrange(len(whole))])])
        for _ in range(rng.choice([1, 2, 8])):
            begin = rng.randrange(len(data)) if rng.random() < 0.2 else 1024 + 4 * rng.randrange(max((len(data) - 1024) // 4, 1))
            data[begin : begin + 4] = rng.choice([rng.randbytes(4), b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\0\5", b"\0\0\0\0"])
        with contextlib.suppress(PerwizError):
            used += len(read(bytes(data)).calls) > 0
    assert used > 40


def test_memory__follows_the_file(read):
    """Numbers in the preamble take nothing by themselves."""
    data = BIG.file(BIG.exchange(), 1 << 29, processes=1 << 24)[:3000]
    tracemalloc.start()
    read(data)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 12 << 20  # rows for 16384 records at a time


def test_answers__are_those_of_alog(read, tmp_path):
    """Written as ALOG and read back, the same calls, messages and collectives."""
    trace = read(BIG.file(BIG.exchange()))
    perwiz.write(trace, str(tmp_path / "b.alog"))
    again = perwiz.read(str(tmp_path / "b.alog"))
    for table, other in ((trace.calls, again.calls), (trace.messages, again.messages), (trace.members, again.members)):
        for name in table.__dataclass_fields__:
            np.testing.assert_array_equal(getattr(table, name), getattr(other, name))
