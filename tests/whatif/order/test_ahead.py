"""Sends ahead of a region computed before them: by hand. Times in ns; o + L = 12."""

from __future__ import annotations

import pytest

from build import Builder, hand_model
from perwiz.errors import UsageError
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking import ranking
from perwiz.whatif.ranking.order import changes
from perwiz.whatif.run import replayed


def found(trace, *texts, model=None):
    """Return the prediction."""
    return predict(trace, list(texts), model or hand_model(), clock="none")


def moves(prediction):
    """Return (first, last, before, last passed) of every block that moved or stays, and why."""
    return [(m.first, m.last, m.before, m.end, m.note) for m in prediction.order.moves]


def region(b, rank, name, ns):
    with b.region(rank, name):
        b.compute(rank, ns)


def could_send_first(size=8, halo=False, prepare=10, hears=None):
    """Rank 0 sends what it has after 10 ns only when it has worked 60 more; e0 is the send, with 5 ns before it, e1 the receive.

    rank 0  prepare 10 | work 70 == 75 e0(send)
    rank 1  == 20 e1(recv) ~~~~~~~~~~~~~~~~~~~ 87 ========== 187
    """
    b = Builder(2, latency=12, per_byte=0, work=0)
    if hears:
        hears(b)
    region(b, 0, "prepare", prepare)
    region(b, 0, "work", 60)
    if halo:
        with b.region(0, "halo"):
            b.compute(0, 5)
            b.send(0, 1, size)
    else:
        b.compute(0, 5)
        b.send(0, 1, size)
    b.compute(1, 20)
    b.recv(1, 0)
    b.compute(1, 100)
    return b.trace()


@pytest.mark.parametrize("halo", [False, True])
def test_ahead_of_a_region(halo):
    """Sent at 15, there at 27: 127. The 5 ns behind the region go with the send, and so does the region around both."""
    predicted = found(could_send_first(halo=halo), "advance e1 before work")
    assert predicted.recorded.makespan == 187
    assert predicted.predicted.makespan == 127
    assert predicted.predicted.calls.enter.tolist() == [15, 20]
    assert predicted.predicted.locations.leave.tolist() == [75, 127]
    assert moves(predicted) == [(0, 0, 0, 0, "")]
    regions = predicted.predicted.regions
    assert list(zip(regions.enter.tolist(), regions.leave.tolist(), strict=True)) == [(0, 10), (15, 75), *([(10, 15)] if halo else [])]


def test_ahead_of_all():
    """The work goes with it ahead of what is prepared: sent at 65, there at 77."""
    assert found(could_send_first(), "advance e1 before prepare").predicted.makespan == 177


def test_holds_nobody():
    """Above the eager limit: sent at 15 as MPI_Isend it does not hold rank 0 until the receive is posted at 20."""
    predicted = found(could_send_first(9000), "advance e1 before work", model=hand_model(S=5000))
    assert predicted.predicted.locations.leave.tolist()[0] == 75


def two_receivers():
    """Two sends behind one region; then as much again."""
    b = Builder(3, latency=12, per_byte=0, work=0)
    for _ in range(2):
        region(b, 0, "prepare", 10)
        region(b, 0, "work", 60)
        for rank in (1, 2):
            b.send(0, rank, 8)
            b.recv(rank, 0)
            b.compute(rank, 100)
    return b.trace()


def test_several_sends():
    """All are sent at 10, and 70 later: e4 .. e7 are the receives, of 22 and, behind the 100 computed, 122."""
    predicted = found(two_receivers(), "advance e4,e5,e6,e7 before work")
    assert predicted.predicted.calls.enter.tolist()[:4] == [10, 10, 80, 80]
    assert predicted.predicted.makespan == 222
    assert [move[0] for move in moves(predicted)] == [0, 1, 2, 3]


def test_stays():
    """Ahead of a region that holds a call, and past a receive, no send runs: what it sends may come of that."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    with b.region(0, "asks"):
        b.call(0, "Comm_rank")
    region(b, 0, "work", 60)
    b.recv(0, 1)
    b.send(0, 1, 8)
    b.send(1, 0, 8)
    b.recv(1, 0)
    trace = b.trace()
    for name in ("asks", "work"):
        why = f"between '{name}' and it is something that brings data, or '{name}' is not before it or holds calls"
        predicted = found(trace, f"advance e4 before {name}")
        assert moves(predicted) == [(2, 2, 2, 1, why)]
        assert predicted.gain == 0


def test_refusal():
    with pytest.raises(UsageError) as refused:
        found(could_send_first(), "advance e1 before wrk")
    assert str(refused.value) == "region 'wrk': no such region, the trace has work ...; did you mean work?"


def listed(trace):
    """Return what the list offers of sends ahead of regions: question, words and makespan."""
    run = replayed(trace, hand_model(), "none")
    return [(c.question, c.what, c.makespan) for c in changes(ranking.Asker(run)) if " before " in c.question]


def answer(b):
    b.send(1, 0, 8)
    b.recv(0, 1)


@pytest.mark.parametrize(("hears", "prepare", "times"), [(answer, 10, [" (1 of 2 times)"]), (answer, 0, []), (None, 0, [""])])
def test_listed(hears, prepare, times):
    """Something must make what is sent: the preparation, or what was there before; of a message that comes first only the work may."""
    offered = listed(could_send_first(hears=hears, prepare=prepare))
    told = [f"MPI_Send before work{part}, if its data is ready by then" for part in times]
    assert [row[:2] for row in offered] == [("advance site:MPI_Recv before work", words) for words in told]
