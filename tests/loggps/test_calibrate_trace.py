"""Parameters from the messages of a made-up trace: found again whatever the clocks are apart, and what it cannot tell said."""

import re

import numpy as np
import pytest

from build import Builder
from perwiz.errors import TraceError
from perwiz.loggps import calibrate, calibrate_trace
from perwiz.loggps.evidence import telling

SIZES = (1, 64, 512, 4096, 16384, 65536)
EAGER = 4096


def conversation(shift=0, sizes=SIZES, noise=True, both=True):
    """Return a trace of two processes in turns: L 1000, o_s 200, o_r 300, O 0.1 at both ends, G 0.5, a handshake of 4 us above 4096 bytes.

    The second clock is ahead by `shift`. Receivers are early, then late. Two sends follow each other at once, 450 ns apart.
    """
    random = np.random.default_rng(5)
    build, now = Builder(2), 10**8
    for turn in range(240):
        k, late = sizes[turn % len(sizes)], turn % 5 == 2
        a = (turn // len(sizes)) % 2 if both else 0
        disturbed = int(random.exponential(400)) * (random.random() < 0.7) * noise
        ahead = (0, shift)
        waits = k > EAGER
        send, receive, wire = round(200 + 0.1 * k), round(300 + 0.1 * k), round(1000 + 0.5 * (k - 1)) + disturbed
        posted = now + 10**6 if late else now - 5000
        arrived = (max(posted, now) + 4000 if waits else now) + send + wire
        left = max(arrived, posted) + receive
        returned = (max(posted, now) + 4000 if waits else now) + send
        build.send(a, 1 - a, bytes=k, tag=turn, at=(now + ahead[a], returned + ahead[a]))
        build.recv(1 - a, a, tag=turn, at=(posted + ahead[1 - a], left + ahead[1 - a]))
        if k == 1:
            at = returned + 250
            build.send(a, 1 - a, bytes=1, tag=turn, at=(at + ahead[a], at + 200 + ahead[a]))
            build.recv(1 - a, a, tag=turn, at=(left + 10**5 + ahead[1 - a], left + 10**5 + 300 + ahead[1 - a]))
        now = max(left, returned) + 2 * 10**6
    return build.trace()


def calibrated(trace):
    which = calibrate_trace.classes(trace)
    return calibrate_trace.calibrated(trace, next(iter(which.values())), "m", "s")


EXPECTED = {"L": 1000, "o_s": 200, "o_r": 300, "O_s": 0.1, "O_r": 0.1, "g": 450, "G": 0.5, "S": 4096}


@pytest.mark.slow
def test_calibrated__found_again():
    found = calibrated(conversation())
    assert {letter: found.values[letter] for letter in EXPECTED} == pytest.approx(EXPECTED, rel=0.03)
    assert (found.low["S"], found.high["S"]) == (4096, 16383)
    assert found.model.request_overheads == pytest.approx(5, abs=1)
    assert found.model.assumed == ("s_bytes", "acknowledge_overheads", "progress")


@pytest.mark.slow
@pytest.mark.parametrize("shift", [-(10**7), 777, 10**7])
def test_calibrated__clocks_apart_by_a_constant_change_nothing(shift):
    expected = calibrated(conversation())
    found = calibrated(conversation(shift))
    assert found.values == pytest.approx(expected.values, rel=1e-6)


@pytest.mark.slow
def test_calibrated__noise_only_makes_times_longer():
    quiet, loud = (calibrated(conversation(noise=noise)).values for noise in (False, True))
    assert quiet["L"] <= loud["L"] + 1
    assert quiet["o_s"] <= loud["o_s"]


@pytest.mark.slow
def test_calibrated__one_size_only():
    found = calibrated(conversation(sizes=(64,)))
    assert found.values["L"] == pytest.approx(1032, abs=2)
    assert set(found.model.assumed) >= {"G_ns_per_byte", "O_s_ns_per_byte", "O_r_ns_per_byte", "S_bytes", "request_overheads"}
    assert found.notes[:2] == (
        "no sender can be seen to wait for a late receiver, so S is not known; the largest that did not: 64 bytes",
        "messages of about one size only: what a byte costs is not known",
    )
    costs = found.model.costs[0]
    assert (costs.G, costs.O_s, costs.O_r, found.model.S) == (0, 0, 0, 65535)


@pytest.mark.slow
def test_calibrated__one_direction_only():
    found = calibrated(conversation(both=False))
    assert "messages tell of one direction only, so L is as wrong as the clocks are" in found.notes
    assert found.values["L"] == pytest.approx(1000, rel=0.03)


@pytest.mark.slow
def test_calibrated__requests():
    build = Builder(2, latency=1000, work=200)
    for turn in range(60):
        a = turn % 2
        receive = build.irecv(1 - a, a, tag=turn)
        send = build.isend(a, 1 - a, bytes=2 ** (turn % 10), tag=turn)
        build.waitall(1 - a, receive)
        build.wait(a, send)
    found = calibrated(build.trace())
    assert found.values["o_s"] == pytest.approx(200, abs=5)


def test_classes__too_few_messages():
    build = Builder(2)
    for _ in range(19):
        build.send(0, 1)
        build.recv(1, 0)
    with pytest.raises(TraceError, match=r"^built: 19 messages between processes, must be 20 or more to calibrate from$"):
        calibrate_trace.classes(build.trace())


def exchange(latency, turns, hold=12_000_000, begin=0, build=None):
    """Two processes exchange messages that move only when both are in MPI again: posted, `hold` ns of computing, a wait of 5000 + L."""
    build = build or Builder(2)
    for turn in range(turns):
        now = begin + turn * (hold + 10**6)
        for rank in (0, 1):
            receive = build.irecv(rank, 1 - rank, at=(now, now + 100))
            send = build.isend(rank, 1 - rank, bytes=100_000, at=(now + 150, now + 250))
            build.waitall(rank, receive, send, at=(now + hold, now + hold + 5000 + latency))
    return build


def test_calibrated__what_waited_for_progress_is_no_evidence():
    """All messages came when their receivers had computed for 12 ms: that is no latency."""
    expected = (
        "built: L cannot be told: all 80 messages waited for a process that computed, or for another request of the same call;"
        " must be 20 or more that did not"
    )
    with pytest.raises(TraceError, match=f"^{re.escape(expected)}$"):
        calibrated(exchange(1000, 40).trace())


def test_calibrated__a_sender_that_computes_holds_its_message():
    """The receiver waits in MPI, but the message comes only when the sender is back in it; nine of them did not wait."""
    build = Builder(2)
    for turn in range(40):
        now, hold = turn * 10**7, 6 * 10**6 if turn < 31 else 0
        send = build.isend(0, 1, bytes=100_000, at=(now, now + 100))
        build.wait(0, send, at=(now + 200 + hold, now + 6000 + hold))
        build.recv(1, 0, at=(now - 1000 if turn else 0, now + 6500 + hold))
    with pytest.raises(TraceError, match=r"^built: L cannot be told: 31 of 40 messages waited for a process that computed, "):
        calibrated(build.trace())


@pytest.mark.slow
def test_calibrated__a_sender_that_computes_while_its_message_comes():
    """The message is there long before the sender is back: it did not need it."""
    build = Builder(2)
    for turn in range(60):
        now, a = turn * 10**7, turn % 2
        send = build.isend(a, 1 - a, bytes=64, at=(now, now + 200))
        build.wait(a, send, at=(now + 10**6, now + 10**6 + 50))
        build.recv(1 - a, a, at=(now - 1000 if turn else 0, now + 1500))
    found = calibrated(build.trace())
    assert calibrate.way(found.model, np.array([64])) == pytest.approx([1500], abs=2)


@pytest.mark.slow
def test_calibrated__some_evidence_is_enough():
    """Thirty turns in which nobody computes tell the latency; the others do not change it, but are told of."""
    found = calibrated(exchange(1000, 40, begin=10**9, build=exchange(1000, 30, hold=300)).trace())
    alone = calibrated(exchange(1000, 30, hold=300).trace())
    assert found.values["L"] == alone.values["L"]
    held = "waited for a process that computed, or for another request of the same call"
    assert found.notes[0] == f"80 of 140 messages {held}, and tell nothing of L and G"
    assert alone.notes[0] == found.notes[1]


def test_telling__what_waits_for_another_request_tells_nothing():
    """Rank 1 waits in MPI for both: the message of rank 0 is sent at 0, that of rank 2 at 9000 and takes 1000; rank 3 receives at once."""
    build = Builder(4)
    for turn in range(2):
        at = turn * 10**5
        build.send(0, 1, bytes=64, tag=turn, at=(at, at + 100))
        build.send(2, 1, bytes=64, tag=turn, at=(at + 9000, at + 9100))
        requests = [build.irecv(1, source, tag=turn, at=(at + k, at + k + 1)) for k, source in enumerate((0, 2))]
        build.waitall(1, *requests, at=(at + 10, at + 10_000))
    assert telling(build.trace(), np.zeros(4)).tolist() == [False, False, True, True]


@pytest.mark.parametrize(("returns", "expected"), [(10_000, False), (8000, True)])
def test_telling__what_waits_for_its_own_send_tells_nothing(returns, expected):
    """Rank 1 waits to receive from 0, and for its send to 2, who computes until 9000: if it returns at 8000, it did not need rank 2."""
    build = Builder(3)
    build.send(0, 1, bytes=64, at=(0, 100))
    received = build.irecv(1, 0, at=(0, 1))
    sent = build.isend(1, 2, bytes=64, at=(1, 2))
    build.waitall(1, received, sent, at=(3, returns))
    build.call(2, "Comm_rank", at=(0, 1))
    build.recv(2, 1, at=(9000, 10_000))
    assert telling(build.trace(), np.zeros(2)).tolist() == [expected, False]


RECEIVED = [(20, 50), (1080, 1100), (2990, 3000), (3020, 3050), (4040, 4060), (5030, 5045), (6010, 6060)]
"""When rank 1 receives what rank 0 sends at 0, 1000, 2000 ...: after it was outside for 0 of 50, 80 of 100, 990 of 1000, 20 of 50, 40 of
60, 30 of 45 and 10 of 60 ns. The first has a size of its own, the last too. The one of 45 is faster than that of 50, which tells."""


@pytest.mark.parametrize("ahead", [0, -(10**9), 10**9])
def test_telling(ahead):
    build = Builder(2)
    for turn, (enter, leave) in enumerate(RECEIVED):
        build.send(0, 1, tag=turn, bytes=(8, 16, 16, 16, 16, 16, 32)[turn], at=(1000 * turn, 1000 * turn + 10))
        build.recv(1, 0, tag=turn, at=(10**9 + enter + ahead, 10**9 + leave + ahead))
    clocks = np.full(7, 10.0**9 + ahead)
    assert telling(build.trace(), clocks).tolist() == [True, False, False, True, False, True, True]


@pytest.mark.slow
def test_calibrated__a_direction_that_always_waited_is_no_clock():
    """What goes back waits for 10 ms of computing. Nothing comes before it is sent: the clocks are right, and one direction tells."""
    build = Builder(2)
    for turn in range(40):
        now = turn * 10**8
        build.send(0, 1, bytes=64, at=(now, now + 200))
        build.recv(1, 0, at=(max(now - 1000, 0), now + 1500))
        build.send(1, 0, bytes=64, at=(now + 2000, now + 2200))
        build.recv(0, 1, at=(now + 10**7, now + 10**7 + 300))
    assert calibrate.way(calibrated(build.trace()).model, np.array([64])) == pytest.approx([1500], rel=0.01)
