"""Calls that run earlier because somebody says so: times by hand, and every refusal with its full message. o + L = 12."""

from __future__ import annotations

import pytest

from build import Builder, hand_model
from perwiz.errors import UsageError
from perwiz.whatif.predict import predict, predicted_trace


def found(trace, *texts):
    """Return the prediction."""
    return predict(trace, list(texts), hand_model(), clock="none")


def enters(trace, *texts):
    """Return when every recorded call is entered."""
    return found(trace, *texts).predicted.calls.enter.tolist()


def refusal(trace, *texts):
    """Return what is said about an order that cannot be."""
    with pytest.raises(UsageError) as refused:
        found(trace, *texts)
    return str(refused.value)


def three_blocks():
    """Blocks of 100, 50, 30 ns on rank 0, and 5 behind; rank 1 has one call.

    rank 0  ====== e0 === e1 == e2 =     0 .. 100 .. 150 .. 180 .. 185
    """
    b = Builder(2, work=0)
    for ns in (100, 50, 30):
        b.compute(0, ns)
        b.call(0, "Comm_rank")
    b.compute(0, 5)
    b.call(1, "Comm_rank")
    return b.trace()


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["move e2 before e1"], [100, 180, 130, 0]),
        (["move e2 before e0"], [130, 180, 30, 0]),
        (["move e1..e2 before e0"], [180, 50, 80, 0]),
        (["move e0 before e2"], [150, 50, 180, 0]),  # later is what it passes, earlier
        (["move e0 before e1"], [100, 150, 180, 0]),  # there already
        (["move e2 before e0, e1 before e0"], [180, 80, 30, 0]),  # one after the other: e2 e1 e0
        (["move e2 before e0", "move e1 before e0"], [180, 80, 30, 0]),
        (["move e2 before e0", "move e0 before e1"], [130, 180, 30, 0]),
    ],
)
def test_by_hand(texts, expected):
    """A call takes the computation before it along; the 5 ns at the end stay there."""
    predicted = found(three_blocks(), *texts)
    assert predicted.predicted.calls.enter.tolist() == expected
    assert predicted.predicted.locations.leave.tolist() == [185, 0]


def test_what_a_move_says():
    """Which block runs ahead of which; a call that stands there already is none."""
    moves = found(three_blocks(), "move e2 before e0", "move e0 before e1").order.moves
    assert [(m.first, m.last, m.before, m.end, m.location, m.note) for m in moves] == [(2, 2, 0, 1, 0, "")]
    assert moves[0].asked == "move e2 before e0, e0 before e1"
    moves = found(three_blocks(), "move e0 before e2").order.moves
    assert [(m.first, m.last, m.before, m.end) for m in moves] == [(1, 1, 0, 0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("move e2 before e9", "move e2 before e9: there is no e9, the trace has calls e0 to e3"),
        ("move e2 before e3", "move e2 before e3: e2 (rank 0) and e3 (rank 1) are calls of two processes, must be of one"),
        ("move e2..e3 before e0", "move e2..e3 before e0: e2 (rank 0) and e3 (rank 1) are calls of two processes, must be of one"),
        ("move e0..e2 before e1", "move e0..e2 before e1: e1 is one of the calls to move, must be like e40..e44 before e30"),
        ("move e2..e1 before e0", "move e2..e1 before e0: e1 comes before e2, must be like e40..e44 before e30"),
        ("move e2", "move e2: must be like e40..e44 before e30, or several such joined by commas"),
        ("move e2 before e0,", "move e2 before e0,: must be like e40..e44 before e30, or several such joined by commas"),
    ],
)
def test_refusals(text, message):
    assert refusal(three_blocks(), text) == message


def test_parted_calls():
    text = "move e2 before e0, e1..e2 before e0"
    assert refusal(three_blocks(), text) == f"{text}: e1..e2 are not one behind the other any more, must be moved before they are parted"


def exchange():
    """Rank 0 sends, then receives the answer; rank 1 receives and answers."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 100)
    b.send(0, 1, 8)
    b.recv(0, 1)
    b.recv(1, 0)
    b.compute(1, 10)
    b.send(1, 0, 8)
    return b.trace()


def test_deadlock():
    """If rank 0 received before it sends, e1 would wait for e3, behind e2, which waits for e0, behind e1."""
    text = "move e1 before e0"
    cycle = "e1 (rank 0) waits for e3 (rank 1) waits for e2 (rank 1) waits for e0 (rank 0) waits for e1 (rank 0)"
    assert refusal(exchange(), text) == f"{text}: would deadlock: {cycle}"


def test_deadlock__answer_first():
    """Rank 1 may well answer before it receives, as far as the trace tells: what the answer needs is not recorded."""
    assert enters(exchange(), "move e3 before e2") == [100, 100, 10, 10]


def test_deadlock__long_cycles_are_cut_short():
    """A ring of ten: with the receive first, everybody waits for everybody."""
    b = Builder(10, latency=12, per_byte=0, work=0)
    for rank in range(10):
        b.send(rank, (rank + 1) % 10, 8)
        b.recv(rank, (rank - 1) % 10)
    text = ", ".join(f"e{2 * rank + 1} before e{2 * rank}" for rank in range(10))
    message = refusal(b.trace(), f"move {text}")
    assert message.startswith(f"move {text}: would deadlock: e")
    assert message.count(" waits for ") == 9
    assert " waits for ... waits for " in message


def test_no_deadlock_where_the_sender_did_not_wait():
    """e0 is above S, but returned before its receive e2 came: that it would wait for e2 forbids nothing."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.send(0, 1, 1000, tag=1, at=(0, 5))
    b.send(0, 1, 8, tag=2, at=(10, 15))
    b.recv(1, 0, tag=1, at=(100, 120))
    b.recv(1, 0, tag=2, at=(130, 140))
    assert found(b.trace(), "move e3 before e2").deadlocks == 0


def test_sizes_of_messages_go_along():
    """Sends of 10 and 30 bytes in two steps; balanced in the first alone they stay; e1 runs first, and the sizes are its own."""
    b = Builder(3, work=0)
    for rank in (0, 1):
        for turn in (1, 2):
            with b.region(rank, f"step{turn}"):
                b.compute(rank, 10)
                b.send(rank, 2, 10 * turn + 20 * rank, tag=turn)
    for rank in (0, 1):
        for turn in (1, 2):
            b.recv(2, rank, tag=turn)
    predicted = found(b.trace(), "balance-messages step1", "move e1 before e0")
    assert predicted.size.tolist() == [20, 20, 20, 40]
    written = predicted_trace(predicted)
    assert written.messages.bytes.tolist() == [20, 20, 20, 40]
    assert written.messages.tag.tolist() == [2, 1, 1, 2]
    predicted = found(b.trace(), "balance-messages step2", "move e1 before e0")
    assert predicted.size.tolist() == [10, 30, 30, 30]
    assert predicted_trace(predicted).messages.bytes.tolist() == [30, 10, 30, 30]
    assert predicted_trace(predicted).calls.bytes_sent.tolist()[:2] == [30, 10]


def twice():
    """Two messages of one tag from rank 0 to rank 1, e0 and e1 to e4 and e5, then two collectives, e2 e3 and e6 e7."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    for _ in range(2):
        b.compute(0, 100)
        b.send(0, 1, 8)
        b.compute(1, 10)
        b.recv(1, 0)
    b.barrier()
    b.bcast(0)
    return b.trace()


SEND = "they send to the same process with the same tag, and messages must not overtake (MPI 3.1, 3.5); move the receives as well"
RECEIVE = "a message could match both receives, and the one posted first takes it (MPI 3.1, 3.5); move the sends as well"
SHARED = "they may share what no trace shows: start or end of MPI, threads, devices, communicators, windows, files, buffers"
JOIN = "collectives of one communicator keep their order on all processes (MPI 3.1, 5.1); move those of the other processes as well"


@pytest.mark.parametrize(
    ("text", "rank", "why"),
    [
        ("move e1 before e0", 0, SEND),
        ("move e5 before e4", 1, RECEIVE),
        ("move e3 before e2", 0, JOIN),
    ],
)
def test_overtaking(text, rank, why):
    one, other = text.split()[1], text.split()[3]
    assert refusal(twice(), text) == f"{text}: {one} must not run before {other} (rank {rank}): {why}"


def test_overtaking__both_sides():
    """The second message first on both sides: sent at 100, received at 112; the other at 200, at 212. Likewise the collectives."""
    assert enters(twice(), "move e1 before e0", "move e5 before e4")[:2] == [200, 100]
    both = found(twice(), "move e1 before e0", "move e5 before e4").predicted.calls
    assert both.leave.tolist()[4:6] == [212, 112]
    turned = found(twice(), "move e3 before e2, e7 before e6").predicted.calls
    assert turned.enter.tolist()[2:4] == [200, 200]
    assert turned.leave.tolist()[6:] == [212, 212]


def test_overtaking__both_sides_but_not_alike():
    """Messages 1 2 3 are sent as 2 3 1, but received as 3 2 1."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    for _ in range(3):
        b.send(0, 1, 8)
        b.recv(1, 0)
    text = "move e1..e2 before e0, e5 before e3, e4 before e3"
    assert refusal(b.trace(), text) == f"{text}: e1 must not run before e0 (rank 0): {SEND}"


def test_overtaking__any_source_even_on_both_sides():
    """A receive of any source stays behind one that its message fits too, whatever the senders do."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    for tag in (1, 2):
        b.send(0, 1, 8, tag=tag)
        b.recv(1, 0, tag=tag, wildcard=tag == 1)
    text = "move e3 before e2, e1 before e0"
    why = "a message could match both receives, and the one posted first takes it (MPI 3.1, 3.5)"
    assert refusal(b.trace(), text) == f"{text}: e3 must not run before e2 (rank 1): {why}"


def test_request():
    """A wait stays behind the call that posts; the posts may change places, as they ask for different tags."""
    b = Builder(2, work=0)
    requests = [b.irecv(0, 1, tag=tag) for tag in (1, 2)]
    b.wait(0, *requests)
    for tag in (1, 2):
        b.send(1, 0, 8, tag=tag)
    text = "move e2 before e1"
    assert refusal(b.trace(), text) == f"{text}: e2 must not run before e1 (rank 0): they belong to the same request"
    found(b.trace(), "move e1 before e0")


@pytest.mark.parametrize(
    ("one", "other", "tied"),
    [
        ("Init", "Comm_rank", True),
        ("Comm_rank", "Finalize", True),
        ("Win_lock", "Put", True),
        ("Win_lock", "File_read", False),
        ("File_open", "File_write", True),
        ("Send_init", "Start", True),
        ("Buffer_attach", "Bsend", True),
        ("Comm_free", "Comm_create_group", True),
        ("Comm_free", "Comm_rank", False),
        ("Initialized", "Comm_rank", False),
        ("Get_count", "Win_unlock", False),
    ],
)
def test_state_that_no_trace_shows(one, other, tied):
    b = Builder(1, work=0)
    b.call(0, one)
    b.call(0, other)
    text = "move e1 before e0"
    if tied:
        assert refusal(b.trace(), text) == f"{text}: e1 must not run before e0 (rank 0): {SHARED}"
    else:
        found(b.trace(), text)


def test_a_call_on_a_communicator_stays_where_communicators_are_made():
    b = Builder(1, work=0)
    own = b.comm("own", [0])
    b.call(0, "Comm_create_group", comm=0)
    b.call(0, "Comm_rank", comm=own)
    b.call(0, "Comm_rank", comm=0)
    b.call(0, "Comm_free", comm=own)
    for text in ("move e1 before e0", "move e3 before e1"):
        assert SHARED in refusal(b.trace(), text)
    found(b.trace(), "move e2 before e0")


def nested():
    """Rank 0: main{ a{ 10 e0 1 e1 2 } 4 b{ 20 e2 3 } 5 e3 6 }."""
    b = Builder(1, work=0)
    with b.region(0, "main"):
        with b.region(0, "a"):
            b.compute(0, 10)
            b.call(0, "Comm_rank")
            b.compute(0, 1)
            b.call(0, "Comm_rank")
            b.compute(0, 2)
        b.compute(0, 4)
        with b.region(0, "b"):
            b.compute(0, 20)
            b.call(0, "Comm_rank")
            b.compute(0, 3)
        b.compute(0, 5)
        b.call(0, "Comm_rank")
        b.compute(0, 6)
    return b.trace()


@pytest.mark.parametrize(
    ("text", "enter", "regions"),
    [
        # In `a`: the 1 ns goes with e1, the 10 stay with e0.
        ("move e1 before e0", [11, 1, 37, 45], [(0, 51), (0, 13), (17, 40)]),
        # Past `a`: b and the 4 ns before it, 4 .. 27, then a.
        ("move e2 before e0", [37, 38, 24, 45], [(0, 51), (27, 40), (4, 27)]),
        # Past both, with its 5 ns.
        ("move e3 before e0", [15, 16, 42, 5], [(0, 51), (5, 18), (22, 45)]),
        # Between them.
        ("move e3 before e2", [10, 11, 42, 18], [(0, 51), (0, 13), (22, 45)]),
        ("move e0..e1 before e3", [37, 38, 24, 45], [(0, 51), (27, 40), (4, 27)]),
    ],
)
def test_regions_stay_whole(text, enter, regions):
    times = found(nested(), text).predicted
    assert times.calls.enter.tolist() == enter
    assert list(zip(times.regions.enter.tolist(), times.regions.leave.tolist(), strict=True)) == regions


@pytest.mark.parametrize(
    ("text", "region"),
    [("move e2 before e1", "'a' of e0..e1"), ("move e3 before e1", "'a' of e0..e1"), ("move e1..e2 before e0", "'a' of e0..e1")],
)
def test_torn_regions(text, region):
    message = f"{text}: would tear apart region {region}, must move all its calls or stay inside, as regions stay whole"
    assert refusal(nested(), text) == message


def test_no_calls_at_all():
    assert refusal(Builder(1).trace(), "move e1 before e0") == "move e1 before e0: there is no e1, the trace has no MPI calls"
