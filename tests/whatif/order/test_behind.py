"""Sends ahead of the receive before them, or of what is computed before them: by hand. Times in ns; o + L = 12."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from build import Builder, hand_model
from perwiz.report.domino.remedies import REMEDIES
from perwiz.trace import operations
from perwiz.whatif.order.behind import receives_before
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking import ranking
from perwiz.whatif.ranking.order import changes
from perwiz.whatif.ranking.situations import situation
from perwiz.whatif.run import replayed

NEXT = "advance site:MPI_Recv before receive"
OF_REGION = "advance site:MPI_Recv@take before receive"


def chain(before=50, size=8, regions=False, also=None):
    """Four processes compute `before`; all but the first receive, and unpack for 20; all but the last send on; then all compute 10.

    rank 0  == 50 e0 send
    rank 1  == 50 recv ~ 62 unpack 82 e2 send
    rank 2  == 50 recv ~~~~~~~~~~~~~~ 94 unpack 114 send
    rank 3  == 50 recv ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ 126 unpack 146 == 156
    """
    b = Builder(4, latency=12, per_byte=0, work=0)
    for rank in range(4):
        b.compute(rank, before)
        if rank:
            _in(b, rank, "take" if regions else "", lambda rank=rank: (b.recv(rank, rank - 1), b.compute(rank, 5)))
            b.compute(rank, 15)
        if rank < 3:
            if also:
                also(b, rank)
            _in(b, rank, "give" if regions else "", lambda rank=rank: (b.compute(rank, 0), b.send(rank, rank + 1, size)))
        b.compute(rank, 10)
    return b.trace()


def _in(b, rank, name, act):
    if not name:
        return act()
    with b.region(rank, name):
        return act()


def found(trace, text, **model):
    return predict(trace, [text], hand_model(**model), clock="none")


@pytest.mark.parametrize("size", [8, 9000])
def test_all_send_first(size):
    """All are sent at 50, received at 62 and unpacked at 82; above the eager limit, too: they hold nobody."""
    predicted = found(chain(size=size), NEXT, S=5000)
    assert predicted.recorded.makespan == 156
    assert predicted.predicted.makespan == 92
    assert predicted.predicted.locations.leave.tolist() == [60, 92, 92, 92]
    assert predicted.predicted.calls.enter.tolist() == [50, 50, 50, 50, 50, 50]
    moves = [(m.first, m.last, m.before, m.end, m.note) for m in predicted.order.moves]
    why = "the last call before it that must have ended is no receive"
    assert moves == [(2, 2, 1, 1, ""), (4, 4, 3, 3, ""), (0, 0, 0, -1, why)]


def test_regions_stay_whole():
    """The region around the send goes ahead of that around the receive: `give` from 50 to 50, `take` from 50 to 67."""
    trace = chain(regions=True)
    predicted = found(trace, OF_REGION)
    assert predicted.predicted.makespan == 92
    regions = predicted.predicted.regions
    rows = np.flatnonzero(trace.regions.location == 1)
    assert [(trace.names[trace.region_names[row]], int(regions.enter[row]), int(regions.leave[row])) for row in rows] == [
        ("take", 50, 67),
        ("give", 50, 50),
    ]


def test_stays():
    """Rank 2 waits for the second send of rank 1 alone; that must not overtake the first, which stays behind the receive."""
    b = Builder(3, latency=12, per_byte=0, work=0)
    b.send(0, 1, 8)
    b.recv(1, 0)
    b.send(1, 2, 8)
    b.compute(1, 100)
    b.send(1, 2, 8)
    b.compute(2, 50)
    b.recv(2, 1)
    b.recv(2, 1)
    predicted = found(b.trace(), "advance e5 before receive")
    why = "not before e2 (rank 1): they send to the same process with the same tag, and messages must not overtake (MPI 3.1, 3.5)"
    assert [(m.first, m.end, m.note) for m in predicted.order.moves] == [(3, 2, why)]
    assert predicted.gain == 0


def test_receive_before_each():
    """Send e0, Recv e1, Isend e2, Wait e3 for that, Send e4, Barrier e5, Send e6: e1 for e2 and e4, none for the others."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.send(0, 1, 8)
    b.recv(1, 0)
    b.send(1, 0, 8)
    b.recv(0, 1)
    request = b.isend(0, 1, 8)
    b.wait(0, request)
    b.send(0, 1, 8)
    b.recv(1, 0)
    b.recv(1, 0)
    b.barrier()
    b.send(0, 1, 8)
    b.recv(1, 0)
    assert receives_before(b.trace(), np.array([0, 2, 4, 6])).tolist() == [-1, 1, 1, -1]


def listed(trace):
    """Return what the list offers: question, words, makespan and receives passed."""
    run = replayed(trace, hand_model(), "none")
    offered = [change for change in changes(ranking.Asker(run)) if change.question.endswith("before receive")]
    assert all(REMEDIES[situation(run, change)].startswith("send first") for change in offered)
    return [(c.question, c.what, c.makespan, c.receives_passed) for c in offered]


def test_listed():
    """What is computed before the receive, 50 and at least the 20 behind it, may make what is sent; where it is 19 it is a sweep."""
    assert listed(chain()) == [(NEXT, "MPI_Send ahead of the receive before each", 92, 2)]
    assert listed(chain(before=20)) == [(NEXT, "MPI_Send ahead of the receive before each", 62, 2)]
    assert listed(chain(before=19)) == []


def late(halo=False, step=False):
    """Both meet in a barrier; rank 0 computes 40 in `work` and 20 outside, and sends twice; rank 1 computes 100 behind what it receives.

    rank 0  e0 | work 40 | 20 == 60 e1 send e2 send
    rank 1  e3 | recv ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ 72 ===== 172
    """
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.barrier()
    with b.region(0, "step") if step else contextlib.nullcontext():
        with b.region(0, "work"):
            b.compute(0, 40)
        b.compute(0, 20)
        _in(b, 0, "halo" if halo else "", lambda: (b.compute(0, 5 * halo), b.send(0, 1), b.send(0, 1, tag=1)))
    b.recv(1, 0)
    b.recv(1, 0, tag=1)
    b.compute(1, 100)
    return b.trace()


COMPUTED = "advance site:MPI_Recv before computation"


@pytest.mark.parametrize(("halo", "step"), [(False, False), (False, True), (True, False), (True, True)])
def test_before_what_is_computed(halo, step):
    """Sent at once, there at 12: 112; what is computed in a region around the sends, 5, goes with them, and they stay in one around all."""
    trace = late(halo, step)
    predicted, packed = found(trace, COMPUTED), 5 * halo
    assert predicted.recorded.makespan == 172 + packed
    assert predicted.predicted.makespan == 112 + packed
    assert predicted.predicted.calls.enter.tolist()[:3] == [0, packed, packed]
    assert predicted.predicted.locations.leave.tolist()[0] == 60 + packed
    assert all((m.first, m.before, m.end) == (m.first, m.first, m.last) for m in predicted.order.moves)
    regions = {trace.names[trace.region_names[row]]: row for row in range(len(trace.regions))}
    spans = {
        name: (int(predicted.predicted.regions.enter[row]), int(predicted.predicted.regions.leave[row])) for name, row in regions.items()
    }
    whole = {"work": (packed, 40 + packed), "step": (0, 60 + packed), "halo": (0, packed)}
    assert spans == {name: whole[name] for name in regions}


@pytest.mark.parametrize("barriers", [True, False])
def test_before_the_computation_of_the_same_iteration(barriers):
    """Of Init, 60, two sends, 60, two sends each pair goes ahead of its own 60: rank 1 has the last ones at 73, and not at once."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    for rank in (0, 1):
        b.call(rank, "Init", work=0)
    for step in range(2):
        if barriers and step:
            b.barrier()
        b.compute(0, 60)
        for tag in (0, 1):
            b.compute(0, tag)
            b.send(0, 1, tag=tag)
        for tag in (0, 1):
            b.recv(1, 0, tag=tag)
        b.compute(1, 30)
    trace = b.trace()
    predicted = found(trace, COMPUTED)
    assert predicted.recorded.makespan == (103 + 61 if barriers else 122) + 12 + 30
    sends = np.flatnonzero(trace.calls.op == operations.OP["MPI_Send"])
    assert predicted.predicted.calls.enter[sends].tolist() == [0, 0, 61, 61]
    assert predicted.predicted.makespan == 122
    assert predicted.predicted.locations.leave.tolist() == [122, 73 + 30]


def test_at_best():
    """It is what there is to gain at best; not behind a receive, which may bring what it is made of."""
    offered = [change for change in changes(ranking.Asker(replayed(late(), hand_model(), "none"))) if change.question == COMPUTED]
    assert [(c.what, c.makespan, c.bound) for c in offered] == [
        ("MPI_Send before what is computed directly before, if its data is ready by then", 112, True)
    ]
    b = Builder(2, latency=12, per_byte=0, work=0)
    for rank in (0, 1, 0, 1):
        b.compute(rank, 50)
        b.send(rank, 1 - rank)
        b.recv(1 - rank, rank)
    assert not [change for change in changes(ranking.Asker(replayed(b.trace(), hand_model(), "none"))) if change.question == COMPUTED]
