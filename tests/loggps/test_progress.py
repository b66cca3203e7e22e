"""Which call of its receiver lets a message move, worked by hand: a request takes 12 ns, a wait of 80 ns is seen."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from build import Builder, hand_model
from perwiz.loggps.progress import movers, progressing, visible_waits
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed

IN_CALLS = hand_model(progress="in calls")
IN_PLACE = hand_model(S=5000, progress="in calls", inline_bytes=100)


def moved(b, model=IN_CALLS):
    trace = b.trace()
    return movers(trace, trace.timeline, model).tolist()


def computing(let_go, size=200, posted=0):
    """Return e0, e1: Isend and Wait until `let_go`; e2 Irecv, e3 Iprobe at 5000, e4 Wait at 10000 that takes 40."""
    b = Builder(2)
    b.wait(0, b.isend(0, 1, size, at=(100, 110)), at=(120, let_go))
    got = b.irecv(1, 0, at=(posted, posted + 10))
    b.call(1, "Iprobe", at=(5000, 5010))
    b.wait(1, got, at=(10_000, 10_040))
    return b


@pytest.mark.parametrize(
    ("let_go", "model", "call"),
    [
        (150, IN_CALLS, 2),  # before the receiver came back: it moved by itself
        (5030, IN_CALLS, 3),
        (10_030, IN_CALLS, 4),  # the probe did not let it
        (10_030, hand_model(), 2),
        (150, IN_PLACE, -1),
        (5030, IN_PLACE, 3),
    ],
)
def test_the_call_with_which_the_receiver_comes_back(let_go, model, call):
    assert moved(computing(let_go), model) == [call]


def test_not_before_it_is_posted__but_in_place():
    """Sent at 100, the receiver comes back at 4000 and 5000, and posts at 6000; it is let go at 4020, at 7000."""
    for let_go, model, call in ((4020, IN_PLACE, 1), (7000, IN_CALLS, 3)):
        b = Builder(2)
        b.send(0, 1, 200, at=(100, let_go))
        b.call(1, "Iprobe", at=(4000, 4010))
        b.call(1, "Iprobe", at=(5000, 5010))
        b.recv(1, 0, at=(6000, 7040))
        assert moved(b, model) == [call]


def test_the_call_it_is_in():
    """Rank 1 waits for rank 2 when the message comes: that lets it move."""
    b = Builder(3)
    b.wait(0, b.isend(0, 1, 200, at=(1000, 1010)), at=(5000, 5010))
    got = b.irecv(1, 0, at=(0, 10))
    b.recv(1, 2, at=(500, 2000))
    b.wait(1, got, at=(9000, 9040))
    b.send(2, 1, at=(1900, 1910))
    assert moved(b)[0] == 3


def test_no_later_than_it_is_received():
    """Rank 0 waits for rank 2 as well, which comes late; rank 1 had the message at once, and comes back again before that."""
    b = Builder(3)
    sends = [b.isend(0, to, 200, at=(1000, 1000)) for to in (1, 2)]
    b.wait(0, *sends, at=(1000, 9000))
    b.recv(1, 0, at=(900, 1040))
    b.call(1, "Iprobe", at=(5000, 5010))
    b.recv(2, 0, at=(8900, 9040))
    assert moved(b) == [3, 5]


def test_no_message():
    assert moved(Builder(2)) == []


def test_calls_that_let_move():
    """Rank 0's Isend and rank 1's Irecv do not; rank 1 computes before each of its others, 0 a little."""
    trace = computing(150).trace()
    inside = progressing(trace, trace.timeline, 80)
    assert inside.calls.row.tolist() == [1, 3, 4]
    assert (inside.outside.tolist(), inside.back.tolist()) == ([10, 4990, 4990], [120, 5000, 10_000])
    assert visible_waits(trace, trace.timeline).waits.tolist() == [80]


def test_calls_that_let_move__the_last_time_outside():
    """Of 90 and 10 before Irecv and Wait the last that may be a wait, else the longest; who receives lets move, whatever it is called."""
    b = Builder(2)
    b.send(0, 1, at=(0, 10))
    b.call(1, "Iprobe", at=(0, 10))
    got = b.irecv(1, 0, at=(100, 110))
    b.wait(1, got, at=(120, 130))
    trace = b.trace()
    for least, outside, back in ((100, 90, 100), (20, 90, 100), (10, 10, 120)):
        inside = progressing(trace, trace.timeline, least)
        assert (inside.calls.row.tolist(), inside.outside.tolist()[2], inside.back.tolist()[2]) == ([0, 1, 3], outside, back)
    unknown = dataclasses.replace(trace.calls, op=np.zeros(4, "u2"))
    assert progressing(dataclasses.replace(trace, calls=unknown), trace.timeline, 1).calls.row.tolist() == [3]


def test_posting_lets_nothing_move():
    """Rank 1 comes back at 5000 to post a receive, computes again, and waits at 9000: that lets both messages of rank 0 move."""
    b = Builder(2)
    sends = [b.isend(0, 1, 200, tag, at=(100 + tag, 101 + tag)) for tag in (0, 1)]
    b.wait(0, *sends, at=(120, 9030))
    b.call(1, "Wtime", at=(0, 0))
    got = [b.irecv(1, 0, tag, at=(5000 + tag, 5001 + tag)) for tag in (0, 1)]
    b.wait(1, *got, at=(9000, 9040))
    for model in (IN_CALLS, IN_PLACE):
        assert moved(b, model) == [6, 6]


def both_send(back, received):
    """Rank 0 sends at 1000, and rank 1 computes until `back` before it sends; rank 1 receives at `received`, rank 0 behind its send."""
    b = Builder(2)
    b.call(1, "Wtime", at=(0, 0))
    b.send(0, 1, 200, at=(1000, back + 20))
    b.send(1, 0, 8, at=(back, back + 40))
    b.recv(1, 0, at=(received, received + 40))
    b.recv(0, 1, at=(back + 20, 9060))
    return b.trace()


def test_in_place__holds_the_sender_until_its_receiver_is_in_a_call():
    """It computes until 5000 before it sends and then receives; twice as fast it does so at 2500."""
    trace = both_send(5000, 9000)
    for model, leave in ((IN_PLACE, 2520), (hand_model(S=5000), 5020)):
        run = replayed(trace, model)
        assert run.replay_error == 0
        assert int(predict(trace, ["speed rank:1=2"], model).predicted.calls.leave[0]) == leave


def test_in_place__another_order_holds_nobody():
    """The send of rank 1, and what it computes before, comes behind its receive: nothing then holds rank 0."""
    trace = both_send(4000, 4040)
    predicted = predict(trace, ["move e4 before e3"], IN_PLACE).predicted
    assert predicted.calls.leave[0] == 1020


def test_movers__a_send_that_nobody_completes():
    """What is not known of one message says nothing of another: rank 1 never computes, so that it is its Irecv that lets its own move."""
    b = Builder(3)
    request = b.isend(2, 1, 100_000, at=(100, 101))
    b.call(1, "Iprobe", at=(0, 100))
    receive = b.irecv(1, 2, at=(100, 1_000))
    b.wait(1, receive, at=(1_000, 90_000))
    b.isend(2, 2, 1, tag=9, at=(110, 111))
    b.wait(2, b.irecv(2, 2, tag=9, at=(112, 113)), at=(114, 115))
    b.wait(2, request, at=(120, 9_000))
    trace = b.trace()
    row = int(np.flatnonzero(trace.messages.bytes == 100_000)[0])
    assert movers(trace, trace.timeline, IN_CALLS)[row] == trace.messages.receive[row]
