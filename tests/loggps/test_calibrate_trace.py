"""Parameters from the messages of a made-up trace: found again whatever the clocks are apart, and what it cannot tell said."""

import numpy as np
import pytest

from build import Builder
from perwiz.errors import TraceError
from perwiz.loggps import calibrate_trace

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


EXPECTED = {"L": 1000, "o_s": 200, "o_r": 300, "O_s": 0.1, "O_r": 0.1, "o": 250, "O": 0.1, "g": 450, "G": 0.5, "S": 4096}


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
    assert set(found.model.assumed) >= {"G_ns_per_byte", "O_ns_per_byte", "S_bytes", "request_overheads"}
    assert found.notes[:2] == (
        "no sender can be seen to wait for a late receiver, so S is not known; the largest that did not: 64 bytes",
        "messages of about one size only: what a byte costs is not known",
    )
    assert (found.model.G, found.model.O, found.model.S) == (0, 0, 65535)


@pytest.mark.slow
def test_calibrated__one_direction_only():
    found = calibrated(conversation(both=False))
    assert "no two processes send to each other, so L is as wrong as the clocks are" in found.notes
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
