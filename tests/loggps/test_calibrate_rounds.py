"""Parameters from round trips on a made-up machine: found again, within tolerance, under noise that only makes times longer."""

import numpy as np
import pytest

from perwiz.loggps import calibrate_rounds
from perwiz.loggps.calibrate_rounds import MESSAGES, Samples

SIZES = np.unique(np.round(np.sqrt(2) ** np.arange(41)).astype(int))


def machine(random=None, threshold=4096, rounds=12, overlap=1.0):
    """Return the samples of a machine: L 1000, o_s 200, o_r 300, O 0.1 at both ends, g 700, G 0.5, a handshake of 4 us above S."""
    k = SIZES.astype(float)
    send, receive = 200 + 0.1 * k, 300 + 0.1 * k
    way = 1000 + send + receive + 0.5 * (k - 1) + 4000 * (threshold < k)
    gap = 700 + 0.5 * (k - 1)

    def repeated(times):
        noise = random.exponential(0.01, (len(k), rounds)) + 3 * (random.random((len(k), rounds)) < 0.1) if random else 0.0
        return times[:, None] * (1 + noise) * np.ones(rounds)

    tried = np.array([1, 64, 4096, 4097, 5000, 8192])
    spaced = 2 * way + (MESSAGES - 1) * send
    samples = [repeated(times) for times in (2 * way, 2 * way + (MESSAGES - 1) * gap, spaced, receive)]
    return Samples(SIZES, *samples, tried, tried <= threshold, tried, tried <= min(threshold, 64), overlap * way[-1:] * np.ones(5))


EXPECTED = {"L": 1000, "o_s": 200, "o_r": 300, "O_s": 0.1, "O_r": 0.1, "g": 700, "G": 0.5, "S": 4096}


def test_calibrated__exact_without_noise():
    found = calibrate_rounds.calibrated(machine(), "m", "s")
    assert {letter: found.values[letter] for letter in EXPECTED} == pytest.approx(EXPECTED, rel=0.003)
    assert found.worst < 0.01
    assert [segment.high for segment in found.segments] == [1048576]
    assert found.low == pytest.approx(found.high)
    assert (found.model.request_overheads, found.model.progress) == (4, "in calls")
    assert found.model.assumed == ("s_bytes", "acknowledge_overheads")
    note = "above 64 bytes a blocking send waits, not for its receive, but until the receiver makes any MPI call"
    assert found.notes == (note,)


@pytest.mark.slow
def test_calibrated__within_five_percent_under_noise():
    found = calibrate_rounds.calibrated(machine(np.random.default_rng(7), rounds=30), "m", "s")
    # Overheads are differences of round trips, at long sizes small ones of long times.
    tolerance = {"O_s": 0.25, "o_s": 0.1}
    for letter, value in EXPECTED.items():
        assert found.values[letter] == pytest.approx(value, rel=tolerance.get(letter, 0.06)), letter
        assert found.low[letter] <= found.values[letter] <= found.high[letter], letter
    assert found.typical < 0.03


@pytest.mark.slow
def test_calibrated__the_same_every_time():
    one, other = (calibrate_rounds.calibrated(machine(np.random.default_rng(7)), "m", "s") for _ in range(2))
    assert (one.values, one.low, one.high, one.model) == (other.values, other.low, other.high, other.model)


def test_quartiles__noise_only_makes_times_longer():
    quiet, loud = (calibrate_rounds._quartiles(machine(random)) for random in (None, np.random.default_rng(3)))
    assert (quiet["way"] <= loud["way"]).all()
    assert (quiet["receive"] <= loud["receive"]).all()


def test_calibrated__no_protocol_change_found():
    samples = machine(threshold=1 << 20)
    found = calibrate_rounds.calibrated(samples, "m", "s")
    assert found.model.S == 8192
    tried = np.array([1, 1 << 20])
    samples = Samples(
        *(getattr(samples, name) for name in ("size", "one", "many", "spaced", "receive")),
        tried,
        tried > 0,
        tried,
        tried > 0,
        samples.overlap,
    )
    found = calibrate_rounds.calibrated(samples, "m", "s")
    assert found.model.S == 1 << 20
    assert {"S_bytes", "request_overheads", "progress"} < set(found.model.assumed)
    assert found.notes == ("S is at least 1048576 bytes, the largest size tried: no message waited for its receiver",)


def test_calibrated__messages_that_come_meanwhile():
    assert calibrate_rounds.calibrated(machine(overlap=0.01), "m", "s").model.progress == "always"


def test_parsed__lines_as_printed():
    text = """processes 2
    node one 1 900 950
    node many 1 1800 1900
    node spaced 1 1200 1300
    node receive 1 90 95
    node late 1 200000 50 60 70
    node late 2 200000 200100 50 200200
    node asleep 1 200000 200100 200100 50
    node overlap 1 7 8"""
    samples = calibrate_rounds.parsed(line.split() for line in text.splitlines())["node"]
    assert samples.size.tolist() == [1]
    assert samples.many.tolist() == [[1800, 1900]]
    assert samples.late_eager.tolist() == [True, False]
    assert samples.asleep_eager.tolist() == [False]
    assert samples.overlap.tolist() == [7, 8]
