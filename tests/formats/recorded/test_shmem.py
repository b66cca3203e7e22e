"""PEs of recorded runs, written by hand as the recorder would: puts that waits were for, and locks handed over."""

import pytest

from perwiz.formats.recorded import read as recorded
from perwiz.trace import operations
from perwiz.trace.tables import LINKS, NONE
from perwiz.trace.trace import check
from perwiz.whatif.predict import predict
from recorded_runs import FOUND, Run, call

HEAP = 1 << 48


def put(name, enter, pe, memory, span=8, **more):
    return call(name, enter, enter + 5, peer=pe, comm=0, request=memory, tag=span, **more)


def wait(enter, leave, memory, span=8, name="shmem_wait_until", **more):
    return call(name, enter, leave, request=memory, tag=span, **more)


def links(trace):
    found = zip(*(getattr(trace.links, name).tolist() for name in ("kind", "cause", "effect")), strict=True)
    return [(LINKS[kind], cause, effect) for kind, cause, effect in found]


@pytest.fixture
def read(tmp_path):
    """Return read(records of each PE): the trace of a run that begins at 1000, which both engines replay to the nanosecond."""

    def made(*pes, **about):
        run = Run(tmp_path / "run", len(pes))
        for rank, rows in enumerate(pes):
            run.process(rank, rows, **{key: values[rank] for key, values in about.items()})
        trace = recorded.read(str(run.path))
        check(trace)
        for engine in ("sweep", "replay"):
            prediction = predict(trace, [], engine=engine, clock="none")
            assert prediction.predicted.calls == prediction.recorded.calls
        return trace

    return made


def test_put__the_last_before_the_wait_returns(read):
    """That at 1300 is entered behind its return, that of PE 2 at 1250 is to another PE, and that at 1240 to other memory."""
    first = [put("shmem_put", 1100, 1, 64, sent=8), put("shmem_atomic", 1200, 1, 64), put("shmem_put", 1300, 1, 64)]
    second = [wait(1050, 1290, 64)]
    third = [put("shmem_put", 1240, 1, 72), put("shmem_put", 1250, 0, 64)]
    trace = read(first, second, third)
    assert links(trace) == [("put", 1, 3)]
    assert [operations.OPS[op] for op in trace.calls.op.tolist()][:4] == ["shmem_put", "shmem_atomic", "shmem_put", "shmem_wait_until"]
    assert (trace.calls.peer.tolist(), set(trace.calls.tag.tolist())) == ([1, 1, 1, -1, 1, 0], {NONE})
    assert trace.calls.bytes_sent.tolist() == [8, 0, 0, 0, 0, 0]


def test_put__memory_that_overlaps(read):
    """A wait on 4 bytes ends by a put of the 100 around them; a wait on several words by the last put to any of them."""
    first = [put("shmem_put", 1100, 1, HEAP, 100), put("shmem_put", 1200, 1, HEAP + 8), put("shmem_put", 1300, 1, 8)]
    trace = read(first, [wait(1050, 1150, HEAP + 40, 4), wait(1160, 1350, HEAP, 24)])
    assert links(trace) == [("put", 0, 3), ("put", 1, 4)]


def test_put__of_the_pe_itself(read):
    """Its own put ends a wait, too, and ties nothing: program order does."""
    trace = read([put("shmem_put", 1100, 1, 64)], [put("shmem_put", 1150, 1, 64), wait(1200, 1210, 64)])
    assert links(trace) == []


def test_test__waits_only_if_successful(read):
    """In vain at 1300; with something there at 1410."""
    tests = [wait(1300, 1310, 64, name="shmem_test"), wait(1400, 1410, 64, name="shmem_test", bits=FOUND)]
    assert links(read([put("shmem_put", 1200, 1, 64)], tests)) == [("put", 0, 2)]


def test_lock__handed_over_in_the_order_of_times(read):
    """PE 1 has it first, then PE 0, then PE 1, which tries once in vain. Another lock is no matter."""
    first = [wait(1100, 1500, 64, name="shmem_set_lock"), wait(1600, 1605, 64, name="shmem_clear_lock")]
    second = [
        wait(1050, 1060, 64, name="shmem_set_lock"),
        wait(1070, 1080, 8, name="shmem_set_lock"),
        wait(1400, 1410, 64, name="shmem_clear_lock"),
        wait(1580, 1590, 64, name="shmem_test_lock"),
        wait(1620, 1630, 64, name="shmem_test_lock", bits=FOUND),
    ]
    assert links(read(first, second)) == [("lock", 4, 0), ("lock", 1, 6)]


def test_clocks__that_differ(read, tmp_path):
    """The clock of PE 1 is 1000 behind: by that of PE 0 it waits from 1050 to 1290, which the put at 1200 ends, not that at 1350."""
    run = Run(tmp_path / "other", 2)
    run.process(0, [put("shmem_put", 1200, 1, 64), put("shmem_put", 1350, 1, 64)])
    ends = [{"offset": 1000, "time": time, "round_trip": 20, "master": 0} for time in (0, 400)]
    run.process(1, [wait(50, 290, 64)], more=ends, clock="b", begun=0)
    assert links(recorded.read(str(run.path))) == [("put", 0, 2)]


def test_collectives__of_pes(read):
    """Of all PEs as of MPI_COMM_WORLD; of an active set as of a communicator that its members share, the root counted in it."""
    three = {"comm": 1, "parent": -1, "nth": 0, "how": "PEs", "ranks": [0, 2, 2]}
    named = {"named": 1, "name": "PEs 0 to 2 by 2"}
    alone = [call("shmem_barrier_all", 1100, 1200, comm=0)]
    both = [*alone, call("shmem_broadcast", 1300, 1400, comm=1, peer=1, sent=8)]
    trace = read(both, alone, both, more=[[three, named], [], [three, named]])
    table = trace.collectives
    assert [operations.OPS[op] for op in table.op.tolist()] == ["shmem_barrier_all", "shmem_broadcast"]
    assert (table.comm.tolist(), table.root.tolist(), table.first_member.tolist()) == ([0, 1], [NONE, 2], [0, 3])
    assert trace.communicators.names == ("MPI_COMM_WORLD", "PEs 0 to 2 by 2")
    assert trace.counts.lacking == {}
