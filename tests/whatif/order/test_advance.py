"""What somebody waits for runs earlier: by hand, against trying every place, and its refusals. Times in ns; o + L = 12."""

from __future__ import annotations

import contextlib
import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
import perwiz
from build import Builder, hand_model
from perwiz.engines.sweep import makespan, sweep
from perwiz.errors import UsageError
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.order import advance
from perwiz.whatif.order.advance import move_earlier, try_earlier
from perwiz.whatif.order.reorder import reorder
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed
from perwiz.whatif.waits import waiting
from samples import TRACES

FIRST = "nothing is before it on its process"
ROUND = "e1 (rank 0) waits for e3 (rank 1) waits for e2 (rank 1) waits for e0 (rank 0) waits for e1 (rank 0)"
SHARED = "they may share what no trace shows: start or end of MPI, threads, devices, communicators, windows, files, buffers"


def found(trace, *texts, model=None):
    """Return the prediction."""
    return predict(trace, list(texts), model or hand_model(), clock="none")


def moves(prediction):
    """Return (first, last, before, last passed, why not further) of every block that moved."""
    return [(m.first, m.last, m.before, m.end, m.note) for m in prediction.order.moves]


def late_sender(computation=60):
    """Three blocks of 100, 50 and 30 ns on rank 0, the last sends to rank 1, which is there after `computation`.

    rank 0  ====== e0 === e1 == e2(send)     0 .. 100 .. 150 .. 180 .. 185
    rank 1  === e3(recv) ~~~~~~~ =========   0 .. 60 ....... 192 .. 392
    """
    b = Builder(2, latency=12, per_byte=0, work=0)
    for ns in (100, 50):
        b.compute(0, ns)
        b.call(0, "Comm_rank")
    b.compute(0, 30)
    b.send(0, 1, 8)
    b.compute(0, 5)
    b.compute(1, computation)
    b.recv(1, 0)
    b.compute(1, 200)
    return b.trace()


@pytest.mark.parametrize(
    ("computation", "move", "makespan"),
    [
        # Sent at 30, there at 42: rank 1 does not wait, 60 + 200. Behind e0 it would be sent at 130 and be there at 142.
        (60, (2, 2, 0, 1, ""), 260),
        # Behind e0 is soon enough for one that comes at 142, so e0 is not passed.
        (142, (2, 2, 1, 1, ""), 342),
        # One that comes at 141 asks for more.
        (141, (2, 2, 0, 1, ""), 341),
        # Even the first place is too late for one that comes at 10: it waits until 42.
        (10, (2, 2, 0, 1, ""), 242),
    ],
)
def test_as_far_as_the_wait_asks(computation, move, makespan):
    """A zeroed wait promises the same here, as rank 0 does not gain from the move: 60 + 200."""
    predicted = found(late_sender(computation), "advance e3")
    assert moves(predicted)[0] == move
    assert moves(predicted)[1:] == ([(2, 2, 2, 1, FIRST)] if computation == 10 else [])
    assert predicted.predicted.makespan == makespan
    assert predicted.predicted.locations.leave.tolist()[0] == 185


def test_the_moved_process_uses_its_own_idle_time():
    """What a zeroed wait does not promise: rank 0 idles from 20 to 50 for rank 2, and can compute the 30 ns of its send meanwhile.

    recorded  rank 0  == 20 e0(recv) ~~~ 50 === 80 e1(send) 80; rank 1 comes at 60, waits until 92, then 10, and answers at 102;
              rank 0 has the answer at 114 (e2).
    zero-wait rank 1 answers at 70, so rank 0 has it at 82: 82.
    advance   rank 0  == 20 === 50 e1(send) e0 50; the message is there at 62: rank 1 waits 2 ns, answers at 72, there at 84. With
              the 20 ns as part of e0 it is sent at 30 and there at 42: rank 1 answers at 70, rank 0 has it at 82, nobody waits for it.
    """
    b = Builder(3, latency=12, per_byte=0, work=0)
    b.compute(0, 20)
    b.recv(0, 2)
    b.compute(0, 30)
    b.send(0, 1, 8)
    b.recv(0, 1)
    b.compute(1, 60)
    b.recv(1, 0)
    b.compute(1, 10)
    b.send(1, 0, 8)
    b.compute(2, 38)
    b.send(2, 0, 8)
    trace = b.trace()
    assert trace.timeline.makespan == 114
    assert found(trace, "zero-wait e3").predicted.makespan == 82
    predicted = found(trace, "advance e3")
    assert moves(predicted) == [(1, 1, 0, 0, "")]
    assert predicted.predicted.calls.enter.tolist() == [50, 30, 50, 60, 70, 38]
    assert predicted.predicted.makespan == 82


def two_partners():
    """Rank 0 waits in e2 for e3 (sent at 100 behind a block of 70) and e5 (sent at 90 behind one of 80)."""
    b = Builder(3, latency=12, per_byte=0, work=0)
    requests = [b.irecv(0, 1), b.irecv(0, 2)]
    b.wait(0, *requests)
    for rank, ns in ((1, (70, 30)), (2, (80, 10))):
        b.compute(rank, ns[0])
        b.call(rank, "Comm_rank")
        b.compute(rank, ns[1])
        b.send(rank, 0, 8)
    return b.trace()


def test_one_partner_after_the_other():
    """First what is waited for last; then the next. Sent at 30 and 10, both at the start of their processes: e2 waits until 42."""
    predicted = found(two_partners(), "advance e2")
    assert moves(predicted) == [(4, 4, 3, 3, ""), (6, 6, 5, 5, ""), (4, 4, 4, 3, FIRST)]
    assert (predicted.waits_after.time[2], predicted.waits_after.partner[2]) == (42, 4)
    assert predicted.predicted.calls.enter.tolist()[3:] == [100, 30, 90, 10]


def test_two_partners_at_once():
    """Both are there at 112: that one of them comes earlier helps nobody."""
    b = Builder(3, latency=12, per_byte=0, work=0)
    b.wait(0, b.irecv(0, 1), b.irecv(0, 2))
    for rank in (1, 2):
        b.compute(rank, 70)
        b.call(rank, "Comm_rank")
        b.compute(rank, 30)
        b.send(rank, 0, 8)
    assert moves(found(b.trace(), "advance e2")) == [(4, 4, 4, 3, "that would not help")]


def test_a_receive_runs_earlier():
    """A synchronous sender waits from 0 for a receive at 150; the receive runs before the block of 100 ns and is there at 50."""
    b = Builder(2, latency=12, per_byte=0, eager=100, work=0)
    b.send(0, 1, 1000)
    b.compute(1, 100)
    b.call(1, "Comm_rank")
    b.compute(1, 50)
    b.recv(1, 0)
    predicted = found(b.trace(), "advance e0")
    assert moves(predicted) == [(2, 2, 1, 1, ""), (2, 2, 2, 1, FIRST)]
    assert predicted.predicted.calls.leave[0] == 50


def test_a_barrier_runs_earlier():
    """Rank 1 comes to the barrier at 130, rank 0 at 20; the barrier moves ahead of the block of 100."""
    b = Builder(2, work=0)
    b.compute(1, 100)
    b.call(1, "Comm_rank")
    b.compute(1, 30)
    b.compute(0, 20)
    b.barrier()
    predicted = found(b.trace(), "advance e0")
    assert moves(predicted) == [(2, 2, 1, 1, ""), (2, 2, 2, 1, FIRST)]
    assert predicted.predicted.calls.leave.tolist() == [30, 130, 30]


def answer(b):
    """A synchronous answer to e0 is received by e1, which is late."""
    b.send(0, 1, 8)
    b.compute(0, 50)
    b.recv(0, 1)
    b.recv(1, 0)
    return b.send(1, 0, 1000)


def behind_a_barrier(b):
    """A synchronous send behind a barrier is received by e1, which is late."""
    b.join(0, "Barrier")
    b.compute(0, 50)
    b.recv(0, 1)
    b.join(1, "Barrier")
    return b.send(1, 0, 1000)


def overtaking(b):
    b.send(0, 1, 8)
    b.compute(0, 50)
    b.send(0, 1, 8)
    b.recv(1, 0)
    return b.recv(1, 0)


def collective(b):
    for rank in (0, 1):
        b.join(rank, "Allreduce")
        b.compute(0, 25)
    b.join(0, "Barrier")
    return b.join(1, "Barrier")


def first_call(b):
    b.call(0, "Init")
    b.compute(0, 50)
    b.send(0, 1, 8)
    return b.recv(1, 0)


def new_communicator(b):
    """A send on a communicator that the call before it may have made."""
    own = b.comm("own", [0, 1])
    b.call(0, "Comm_create_group")
    b.compute(0, 50)
    b.send(0, 1, 8, comm=own)
    return b.recv(1, 0, comm=own)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (answer, f"not before e0: would deadlock: {ROUND}"),
        (behind_a_barrier, f"not before e0: would deadlock: {ROUND}"),
        (overtaking, "not before e0: they send to the same process with the same tag, and messages must not overtake (MPI 3.1, 3.5)"),
        (collective, "not before e0: collectives of one communicator keep their order on all processes (MPI 3.1, 5.1)"),
        (
            first_call,
            f"not before e0: {SHARED}",
        ),
        (
            new_communicator,
            f"not before e0: {SHARED}",
        ),
    ],
)
def test_what_cannot_move_stays(make, why):
    """Rank 1 waits for the second call of rank 0, which must stay behind the first: nothing changes, and the reason is given."""
    b = Builder(2, latency=12, per_byte=0, eager=100, work=0)
    b.compute(0, 50)
    waits = make(b)
    trace = b.trace()
    predicted = found(trace, f"advance e{waits.row}")
    assert moves(predicted) == [(1, 1, 1, 0, why)]
    assert predicted.predicted.calls == trace.timeline.calls
    assert predicted.gain == 0


def steps():
    """Two steps on rank 0, each 100 ns, a call, 20 ns, a send, 7 ns; 3 ns between. Rank 1 wants the second message first.

    rank 0  step[ 100 e0 20 e1 7 ] 3 step[ 100 e2 20 e3 7 ] 3      0 .. 100 .. 120 .. 127 .. 130 .. 230 .. 250 .. 257 .. 260
    rank 1  10 e4(recv of e3) ~~~~ e5(recv of e1)                  10 .. 262, then 150 ns
    """
    b = Builder(2, latency=12, per_byte=0, work=0)
    for turn in range(2):
        with b.region(0, "step"):
            b.compute(0, 100)
            b.call(0, "Comm_rank")
            b.compute(0, 20)
            b.send(0, 1, 8, tag=turn)
            b.compute(0, 7)
        b.compute(0, 3)
    b.compute(1, 10)
    b.recv(1, 0, tag=1)
    b.recv(1, 0, tag=0)
    b.compute(1, 150)
    return b.trace()


def test_by_region():
    """The second step moves whole, with the 3 ns before it, and the 7 behind its send: 3 + 100, 20 -> sent at 123, received at 135."""
    predicted = found(steps(), "advance e4 by step")
    assert moves(predicted) == [(2, 3, 0, 1, ""), (3, 3, 3, 2, FIRST)]
    assert predicted.predicted.calls.enter.tolist() == [230, 250, 103, 123, 10, 135]
    assert predicted.predicted.regions.enter.tolist() == [130, 3]
    assert predicted.order.trace.regions.instance.tolist() == [1, 2]
    assert predicted.predicted.regions.leave.tolist() == [257, 130]
    assert predicted.predicted.locations.leave.tolist() == [260, 412]


def test_by_region__past_what_is_no_such_region():
    """The second step answers the first, so it cannot run before that; it can before work, which is between them.

    rank 0  step[ 100 e0 ] work[ 500 e1 ] step[ e2(recv) 30 e3 ] 5    0 .. 100 .. 600 .. 630 .. 635
    rank 1  e4(recv of e0) e5(sends to e2) e6(recv of e3) ~~~~~~      .. 112 .. 642, then 200 ns

    Behind e0, e2 goes on at 124, e3 is sent at 154 and received at 166; e1 comes at 654.
    """
    b = Builder(2, latency=12, per_byte=0, work=0)
    with b.region(0, "step"):
        b.compute(0, 100)
        b.send(0, 1, 8)
    with b.region(0, "work"):
        b.compute(0, 500)
        b.call(0, "Comm_rank")
    with b.region(0, "step"):
        b.recv(0, 1)
        b.compute(0, 30)
        b.send(0, 1, 8, tag=1)
    b.compute(0, 5)
    b.recv(1, 0)
    b.send(1, 0, 8)
    b.recv(1, 0, tag=1)
    b.compute(1, 200)
    predicted = found(b.trace(), "advance e6 by step")
    cycle = "e2 (rank 0) waits for e5 (rank 1) waits for e4 (rank 1) waits for e0 (rank 0) waits for e2 (rank 0)"
    assert moves(predicted) == [(2, 3, 1, 1, ""), (3, 3, 3, 2, f"not before e0: would deadlock: {cycle}")]
    assert predicted.predicted.calls.enter.tolist() == [100, 654, 100, 154, 0, 112, 112]
    assert predicted.predicted.locations.leave.tolist() == [659, 366]


def let_go(together=False):
    """A long message moves when rank 0 is in some call, here e1; only then rank 1 sends the word that e2 receives.

    rank 0  post[ e0(irecv) 0 .. 10 ] wait[ 1000 e1(wait) 1060 ] answer[ 1100 e2(recv) 1130, 2000 e3(send) 2005 ]
    rank 1  20 e4(send) ~~~~~~~~~~~~~~~~~~~~~~~~~~ 1030, 1040 e5(send) 1045
    rank 2  1100 e6(recv of e3) ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ 2012, then 500 ns

    `together`: e1 is in the region of e0.
    """
    b = Builder(3)
    with b.region(0, "post"):
        request = b.irecv(0, 1, tag=9, at=(0, 10))
        if together:
            b.wait(0, request, at=(1000, 1060))
    if not together:
        with b.region(0, "wait"):
            b.wait(0, request, at=(1000, 1060))
    with b.region(0, "answer"):
        b.recv(0, 1, at=(1100, 1130))
        b.send(0, 2, 8, at=(2000, 2005))
    b.send(1, 0, 200, tag=9, at=(20, 1030))
    b.send(1, 0, 8, at=(1040, 1045))
    b.recv(2, 0, at=(1100, 2012))
    b.compute(2, 500)
    return b.trace()


def test_by_region__past_a_call_that_lets_a_message_move():
    """e2 does that in place of e1, so it can run before: at 10 + 40 rank 1 is let go, as 30 later in e1, and sends 10 later at 90.

    There at 102, the receive works for 30; 870 later, at 1002, is the send, at 1014 there. e1 comes 990 behind 1007.
    """
    predicted = found(let_go(), "advance e6 by answer", model=hand_model(progress="in calls"))
    assert moves(predicted) == [(2, 3, 1, 1, "")]
    assert predicted.predicted.calls.enter.tolist() == [0, 1997, 50, 1002, 20, 90, 1100]
    assert predicted.predicted.calls.leave.tolist() == [10, 2057, 132, 1007, 80, 95, 1100]
    assert found(let_go(), "move e2..e3 before e1", model=hand_model(progress="in calls")).predicted.calls == predicted.predicted.calls


def test_by_region__not_past_the_call_that_posts_it():
    """e0 and e1 are in one region: only both can be passed, and before e0 nothing ever lets rank 1 go. The words are those of the move."""
    trace, model = let_go(together=True), hand_model(progress="in calls")
    cycle = "e2 (rank 0) waits for e5 (rank 1) waits for e4 (rank 1) waits for e0 (rank 0) waits for e2 (rank 0)"
    assert moves(found(trace, "advance e6 by answer", model=model)) == [(3, 3, 3, 2, f"not before e0: would deadlock: {cycle}")]
    with pytest.raises(UsageError, match=rf"^move e2\.\.e3 before e0: would deadlock: {re.escape(cycle)}$"):
        found(trace, "move e2..e3 before e0", model=model)


def test_by_region__stays_in_the_region_around_it():
    """main{ 40 e0 part{ 30 e1 } }, then main{ 50 e2 part{ 20 e3 } }: the second part passes e2, not the first main."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    for other, part in ((40, 30), (50, 20)):
        with b.region(0, "main"):
            b.compute(0, other)
            b.call(0, "Comm_rank")
            with b.region(0, "part"):
                b.compute(0, part)
                b.send(0, 1, 8, tag=part)
    b.recv(1, 0, tag=20)
    b.recv(1, 0, tag=30)
    predicted = found(b.trace(), "advance e4 by part")
    assert moves(predicted) == [(3, 3, 2, 2, ""), (3, 3, 3, 2, "nothing is before it in region 'main' around it")]
    assert predicted.predicted.calls.enter[:4].tolist() == [40, 70, 140, 90]


def test_regions_move_whole():
    """A single call may run earlier in its step; past the step the whole one goes, and then the call goes on inside it.

    With the 3 ns between the steps and its own 20 it is sent at 23, there at 35.
    """
    predicted = found(steps(), "advance e4")
    assert [move[:4] for move in moves(predicted)] == [(2, 3, 0, 1), (3, 3, 2, 2), (3, 3, 3, 2)]
    assert predicted.predicted.calls.enter.tolist() == [230, 250, 123, 23, 10, 35]
    assert predicted.predicted.calls.leave[4] == 35


@pytest.mark.parametrize("between", [False, True])
def test_not_past_a_region_that_holds_what_must_stay_ahead(between):
    """solve{ e0 10 e1 } 20 (e2 30) send: the last send must stay behind e0, so behind all of solve, though it could pass e1."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    with b.region(0, "solve"):
        b.send(0, 1, 8)
        b.compute(0, 10)
        b.call(0, "Comm_rank")
    if between:
        b.compute(0, 20)
        b.call(0, "Comm_rank")
    b.compute(0, 30)
    last = b.send(0, 1, 8)
    b.recv(1, 0)
    waits = b.recv(1, 0)
    trace = b.trace()
    predicted = found(trace, f"advance e{waits.row}")
    why = "not before e0: they send to the same process with the same tag, and messages must not overtake (MPI 3.1, 3.5)"
    stays = (last.row, last.row, last.row, last.row - 1, why)
    assert moves(predicted) == ([(3, 3, 2, 2, ""), stays] if between else [stays])


def test_regions_that_overlap_stay_as_they_are():
    """a{ e0 b{ e1 }a 30 e2 }b, as old traces have it: whatever runs before e1 or e0 would tear a or b apart."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.enter(0, "a")
    b.call(0, "Comm_rank")
    b.enter(0, "b")
    b.compute(0, 50)
    b.call(0, "Comm_rank")
    b.leave(0, "a")
    b.compute(0, 30)
    b.send(0, 1, 8)
    b.leave(0, "b")
    b.recv(1, 0)
    assert moves(found(b.trace(), "advance e3")) == [(2, 2, 2, 1, "regions would be torn apart")]
    with pytest.raises(UsageError, match=r"^move e2 before e1: would tear apart region 'a' of e0\.\.e1, must move"):
        found(b.trace(), "move e2 before e1")


def test_first_inside_its_region_then_with_it():
    """5 e0 40 main{ 10 e1 30 e2 }: inside main e2 can be sent at 75 instead of 85; where it comes at 72, main must pass e0, too.

    Without e0 main begins at 40: e2 is sent at 70, then e1 at 80 and e0 at 85.
    """
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 5)
    b.call(0, "Comm_rank")
    b.compute(0, 40)
    with b.region(0, "main"):
        b.compute(0, 10)
        b.call(0, "Comm_rank")
        b.compute(0, 30)
        b.send(0, 1, 8)
    b.compute(1, 84)
    b.recv(1, 0)
    predicted = found(b.trace(), "advance e3")
    assert moves(predicted) == [(2, 2, 1, 1, ""), (1, 2, 0, 0, "")]
    assert predicted.predicted.calls.enter.tolist() == [85, 80, 70, 84]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("advance e4 by stp", "region 'stp': no such region, the trace has step; did you mean step?"),
        ("advance e9", "e9: no such call, the trace has calls e0 to e5"),
        ("advance step", "advance step: must be like advance e123, advance e123 by REGION, or advance e123 before REGION"),
        ("advance e4 by", "advance e4 by: must be like advance e123, advance e123 by REGION, or advance e123 before REGION"),
    ],
)
def test_refusals(text, message):
    with pytest.raises(UsageError) as refused:
        found(steps(), text)
    assert str(refused.value) == message


def test_partner_outside_the_region():
    b = Builder(2)
    b.compute(0, 1000)
    b.send(0, 1, 8)
    with b.region(1, "solve"):
        b.recv(1, 0)
    with pytest.raises(UsageError) as refused:
        found(b.trace(), "advance e1 by solve")
    assert str(refused.value) == "advance e1 by solve: it waits for e0 (rank 0), which lies in no instance of region 'solve'"


def test_applied_last():
    """Rank 0 twice as fast: blocks of 50, 25, 15; then the send is at 15, there at 27, and a receive at 60 is not kept."""
    predicted = found(late_sender(27), "advance e3", "speed rank:0=2")
    assert predicted.predicted.calls.enter.tolist() == [65, 90, 15, 27]
    assert predicted.waits_after.time.tolist() == [0, 0, 0, 0]


def test_several_calls():
    trace = two_partners()
    asked = parse("advance e0, e2").asked(trace)
    assert (asked.calls.tolist(), asked.by, asked.before) == ([0, 2], None, None)
    assert found(trace, "advance e0,e2").predicted.calls == found(trace, "advance e2").predicted.calls


def test_advanced():
    trace = late_sender()
    run = replayed(trace, hand_model(), "none")
    weighted, moved = move_earlier(run.weighted, 3)
    assert makespan(weighted.graph, sweep(weighted.graph, weighted.weight)) == 260
    assert [(move.first, move.before) for move in moved] == [(2, 0)]
    assert move_earlier(run.weighted, 0) is None


def every_place(trace, model, call):
    """Return [(place, wait of the call)] of each place its partner could move to alone, last place first; and the partner."""
    weighted = replayed(trace, model, "none").weighted
    waits = waiting(weighted, sweep(weighted.graph, weighted.weight))
    partner, places = int(waits.partner[call]), []
    first = int(trace.first_calls[trace.calls.location[partner]])
    for before in range(partner - 1, first - 1, -1):
        with contextlib.suppress(UsageError):
            moved = parse(f"move e{partner} before e{before}").apply(weighted)
            after = waiting(moved, sweep(moved.graph, moved.weight))
            row = moved.call[call]
            places.append((before, int(after.time[row]), int(after.partner[row]) == moved.call[partner]))
    return partner, places, int(waits.time[call])


def advances(trace, model, held):
    """Yield (weighted, first and last call of the block, what comes out) of what the first waits of a run ask for, by calls and by regions.

    `held` says of what was sent in place that it holds its sender as recorded, in any order.
    """
    run = replayed(trace, model, "none")
    weighted = dataclasses.replace(run.weighted, held=held)
    location, regions = trace.calls.location, trace.regions
    for call in np.flatnonzero(run.waits.time > 0)[:4].tolist():
        partner = int(run.waits.partner[call])
        if location[partner] == location[call]:
            continue
        around = (regions.location == location[partner]) & (regions.first_call <= partner) & (partner < regions.end_call)
        innermost = {trace.names[trace.region_names[row]]: row for row in np.flatnonzero(around).tolist()}
        yield weighted, (partner, partner), try_earlier(weighted, np.array([call]))
        for name, row in innermost.items():
            yield weighted, (int(regions.first_call[row]), int(regions.end_call[row]) - 1), try_earlier(weighted, np.array([call]), name)


def times(weighted):
    """Return when the recorded calls return."""
    return sweep(weighted.graph, weighted.weight)[weighted.graph.returned][weighted.call]


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs(), st.sampled_from(["always", "in calls"]), st.booleans())
def test_law__as_the_move_says(trace, progress, held):
    """What moves is a move that somebody could ask for, with the same times; what would deadlock does so if moved."""
    for weighted, (first, last), advanced in advances(trace, hand_model(S=1000, L=100, progress=progress, inline_bytes=10), held):
        moved = [move for move in advanced.moves if move.end >= move.before]
        if moved:
            asked = ", ".join(f"e{move.first}..e{move.last} before e{move.before}" for move in moved)
            assert (times(parse(f"move {asked}").apply(weighted)) == times(advanced)).all()
        for place in re.findall(r"not before (e\d+): would deadlock: e", "" if moved or not advanced.moves else advanced.moves[-1].note):
            with pytest.raises(UsageError, match=r"would deadlock: e|would tear apart"):
                parse(f"move e{first}..e{last} before {place}").apply(weighted)


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs(regions=False))
def test_no_place_is_better(trace):
    """Of all places that a move may go to: the nearest where the call waits no more for its partner, else the farthest if it helps."""
    model = hand_model(S=1000, L=100)
    run = replayed(trace, model, "none")
    for call in np.flatnonzero(run.waits.time > 0)[:4].tolist():
        partner, places, before = every_place(trace, model, call)
        if trace.calls.location[partner] == trace.calls.location[call]:
            continue
        enough = [place for place, wait, still in places if not (wait and still)]
        chosen = enough[0] if enough else places[-1][0] if places else None
        helps = chosen is not None and {place: wait for place, wait, _ in places}[chosen] < before
        result = move_earlier(run.weighted, call)
        assert (result is not None) == helps
        if helps:
            assert (result[1][0].first, result[1][0].before) == (partner, chosen)


def test_calls_of_a_process_move_together(monkeypatch):
    """Five rounds of 100, e0, 50, a send and an answer; rank 1 computes 74 before it receives, and 140 before it answers: one order.

    recorded  sent at 150, there at 162, answered at 302, rank 0 has that at 314; then rounds of 314, in which rank 1 waits 100: 1570.
    advance   sent at 50, there at 62, answered at 74 + 140, rank 0 has that at 226; sent at 276, there at 288 = 214 + 74: rounds of 214.
    """
    b = Builder(2, latency=12, per_byte=0, work=0)
    for _ in range(5):
        b.compute(0, 100)
        b.call(0, "Comm_rank")
        b.compute(0, 50)
        b.send(0, 1, 8)
        b.compute(1, 74)
        b.recv(1, 0)
        b.compute(1, 140)
        b.send(1, 0, 8)
        b.recv(0, 1)
    made, trace = list[int](), b.trace()
    asked = ",".join(f"e{call}" for call in range(15, 25, 2))
    monkeypatch.setattr(advance, "reorder", lambda program, order, moves: made.append(len(moves)) or reorder(program, order, moves))
    predicted = found(trace, f"advance {asked}")
    assert (trace.timeline.makespan, predicted.predicted.makespan, made) == (1570, 226 + 4 * 214, [5])


def test_a_call_waits_once_another_does_not():
    """Rank 1 waits for rank 0 until 112, and no more for rank 2, which sends at 90 behind 80 and e2; ahead of both it sends at 10."""
    b = Builder(3, latency=12, per_byte=0, work=0)
    for rank, ns in ((0, (70, 30)), (2, (80, 10))):
        b.compute(rank, ns[0])
        b.call(rank, "Comm_rank")
        b.compute(rank, ns[1])
        b.send(rank, 1, 8)
    b.recv(1, 0)
    b.recv(1, 2)
    predicted = found(b.trace(), "advance site:MPI_Recv")
    assert [(first, before) for first, _, before, *_ in moves(predicted)][:2] == [(1, 0), (5, 4)]
    assert predicted.predicted.calls.leave.tolist()[2:4] == [42, 42]


def test_all_calls_of_a_site():
    """Six tasks: asked of MPI_Recv, every receive is asked in turn."""
    trace = build.CATALOGUE["master_worker"]()
    rows = np.flatnonzero(selectors.calls(trace, "site:MPI_Recv")).tolist()
    asked = [predict(trace, f"advance {text}", "default").predicted for text in ("site:MPI_Recv", ",".join(f"e{row}" for row in rows))]
    assert asked[0].calls == asked[1].calls
    assert asked[0].makespan < trace.timeline.makespan


def late_post(region):
    """Rank 1 computes 900, in a region of its own or not, before it posts what rank 0 wants from 100 on; 300 of access, 100 behind it.

    rank 0  == e1(start) ~~~~~~~~ ===== e2(complete)           0 .. 100 ... 900 .. 1200
    rank 1  ================== e5(post) e6(wait) ~~~~~ ==      0 .......... 900 .. 1200 .. 1300
    """
    b = Builder(2, work=0)
    b.everyone("Win_create")
    b.compute(0, 100)
    start = b.call(0, "Win_start", tag=0, comm=0)
    with b.region(1, "main"):
        with b.region(1, "work") if region else contextlib.nullcontext():
            b.compute(1, 900)
        post = b.call(1, "Win_post", tag=0, comm=0)
        b.link("post", post, start)
        b.compute(0, 300)
        complete, wait = b.call(0, "Win_complete", tag=0, comm=0), b.call(1, "Win_wait", tag=0, comm=0)
        b.link("complete", complete, wait)
    b.compute(1, 100)
    return b.trace()


@pytest.mark.parametrize("region", [False, True])
def test_a_window_is_posted_ahead_of_the_computation_before_it(region):
    """Posted at 0, rank 0 completes at 400; rank 1 computes its 900 behind the post, and ends at 1000."""
    predicted = found(late_post(region), "advance e1")
    assert (predicted.recorded.makespan, predicted.predicted.makespan) == (1300, 1000)
    assert [move[:4] for move in moves(predicted)] == [(4, 4, 4, 4)]
    assert predicted.predicted.calls.enter[[1, 4, 5]].tolist() == [100, 0, 900]
    if region:
        work = predicted.trace.region_names == predicted.trace.names.index("work")
        assert (predicted.predicted.regions.enter[work].tolist(), predicted.predicted.regions.leave[work].tolist()) == ([0], [900])
    main = predicted.trace.region_names == predicted.trace.names.index("main")
    assert (predicted.predicted.regions.enter[main].tolist(), predicted.predicted.regions.leave[main].tolist()) == ([0], [900])


def test_a_window_is_not_posted_outside_of_its_region():
    """`main` begins behind 500 of the 900: posted at 500, rank 0 completes at 800, before rank 1 has computed its other 400."""
    b = Builder(2, work=0)
    b.everyone("Win_create")
    start = b.call(0, "Win_start", tag=0, comm=0)
    b.compute(1, 500)
    with b.region(1, "main"):
        b.compute(1, 400)
        post = b.call(1, "Win_post", tag=0, comm=0)
        b.link("post", post, start)
        b.compute(0, 300)
        complete, wait = b.call(0, "Win_complete", tag=0, comm=0), b.call(1, "Win_wait", tag=0, comm=0)
        b.link("complete", complete, wait)
    predicted = found(b.trace(), "advance e1")
    assert (predicted.recorded.makespan, predicted.predicted.makespan) == (1200, 900)
    assert predicted.predicted.calls.enter[4] == 500


@pytest.mark.parametrize("held", [False, True])
def test_what_was_sent_in_place_may_hold_its_sender(held):
    """e0 is held until rank 1 is in its third call. Ahead of all, e7 would be waited for by that call, and e7 waits for rank 0.

    rank 0  ==e0(send)~~~~~~~~~~~~~e1(recv)~~~~~~~~~~~~~~~=e2(recv)              1000 ..... 4020 .... 6052
    rank 1  ==========e3===e4====e5(send)====e6(isend)=e7(wait)=e8(recv)         3000 3500 4000 .. 6000 6010 6060
    """
    b = Builder(2)
    b.send(0, 1, 200, at=(1000, 4020))
    b.recv(0, 1, tag=2, at=(4020, 6052))
    b.recv(0, 1, tag=1, at=(6052, 6092))
    for enter in (3000, 3500):
        b.call(1, "Wtime", at=(enter, enter + 1))
    b.send(1, 0, 4, tag=1, at=(4000, 4010))
    with b.region(1, "reply"):
        b.wait(1, b.isend(1, 0, 9000, tag=2, at=(6000, 6010)), at=(6010, 6060))
    b.recv(1, 0, at=(6060, 6080))
    run = replayed(b.trace(), hand_model(S=5000, progress="in calls", inline_bytes=100), "none")
    weighted = dataclasses.replace(run.weighted, held=held)
    (move,) = try_earlier(weighted, np.array([1]), "reply").moves[:1]
    assert (move.first, move.before, move.note) == ((6, 6, "would deadlock") if held else (6, 3, ""))


@pytest.mark.slow
def test_site__by_region():
    """A site by region is its calls by region; in this program every receive lies in a point."""
    trace = perwiz.read(str(TRACES / "registration" / "before.alog.gz"))
    rows = ",".join(f"e{row}" for row in np.flatnonzero(selectors.calls(trace, "site:MPI_Recv@registration/point")))
    asked = [predict(trace, f"advance {text} by point", "default").predicted for text in ("site:MPI_Recv@registration/point", rows)]
    assert asked[0].calls == asked[1].calls
    with pytest.raises(UsageError, match="region 'pint': no such region, the trace has point"):
        predict(trace, "advance site:MPI_Recv@registration/point by pint", "default")
