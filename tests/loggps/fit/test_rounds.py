"""Parameters from round trips on a made-up machine: found again, within tolerance, under noise that only makes times longer."""

import numpy as np
import pytest

from perwiz.loggps.fit import rounds as trips
from perwiz.loggps.fit.rounds import MESSAGES, Samples
from perwiz.loggps.keys import LETTERS

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


EXPECTED = {"L": 1000, "o_s": 200, "o_r": 300, "O_s": 0.1, "O_r": 0.1, "g": 700, "G": 0.5}
KEYS = {letter: key for key, letter in LETTERS.items()}


def measured(samples, pairs="within-node"):
    return trips.measured({pairs: samples}, "m", "s")


def letters(fit, pairs=""):
    row = fit.machine.model.rows_of(pairs)[0]
    return {letter: getattr(row, letter) for letter in EXPECTED}


def test_measured__exact_without_noise():
    found = measured(machine())
    model = found.machine.model
    assert letters(found) == pytest.approx(EXPECTED, rel=0.003)
    assert len(model.costs) == 1
    assert found.low == pytest.approx(found.high, rel=0.5)
    # 4 us of handshake: REQ and ACK travel for 2 us, the ACK takes o_s + o_r and the REQ is sent with o_s, which leaves 1300 ns of o_r.
    assert (model.S, model.request_overheads, model.progress, model.inline_bytes) == (4096, 4, "in calls", 64)
    assert model.assumed == ("s_bytes", "acknowledge_overheads")
    assert (found.low["S_bytes"], found.high["S_bytes"]) == (4096, 4096)
    assert found.notes == ("above 64 bytes a blocking send waits, not for its receive, but until the receiver makes any MPI call",)
    assert [(each.bytes, each.free) for each in found.senders] == [(1, 1), (64, 1), (4096, 1), (4097, 0), (5000, 0), (8192, 0)]


@pytest.mark.slow
def test_measured__within_a_tenth_under_noise():
    found = measured(machine(np.random.default_rng(7), rounds=30))
    # Overheads are differences of round trips, at long sizes small ones of long times.
    tolerance = {"O_s": 0.25, "O_r": 0.25}
    for letter, value in letters(found).items():
        assert value == pytest.approx(EXPECTED[letter], rel=tolerance.get(letter, 0.1)), letter
        assert found.low[KEYS[letter]] <= value <= found.high[KEYS[letter]], letter


@pytest.mark.slow
def test_measured__the_same_every_time():
    one, other = (measured(machine(np.random.default_rng(7))) for _ in range(2))
    assert (one.machine, one.low, one.high) == (other.machine, other.low, other.high)


def test_measured__two_classes_of_pairs():
    """Between nodes the handshake begins at 65 bytes; all pairs are taken to be as those."""
    found = trips.measured({"within-node": machine(), "between-nodes": machine(threshold=64)}, "m", "s")
    model = found.machine.model
    assert [(row.pairs, row.from_bytes) for row in model.costs] == [("", 0), ("within-node", 0), ("between-nodes", 0)]
    assert [(limit.pairs, limit.S) for limit in model.limits] == [("", 64), ("within-node", 4096), ("between-nodes", 64)]
    assert letters(found, "within-node") == pytest.approx(EXPECTED, rel=0.003)
    assert {each.pairs for each in found.machine.estimates} == {"within-node", "between-nodes"}


def test_quartiles__noise_only_makes_times_longer():
    quiet, loud = (trips._quartiles(machine(random)) for random in (None, np.random.default_rng(3)))
    assert (quiet["way"] <= loud["way"]).all()
    assert (quiet["receive"] <= loud["receive"]).all()


def test_measured__no_protocol_change_found():
    samples = machine(threshold=1 << 20)
    found = measured(samples)
    assert found.machine.model.S == 8192
    tried = np.array([1, 1 << 20])
    samples = Samples(
        *(getattr(samples, name) for name in ("size", "one", "many", "spaced", "receive")),
        tried,
        tried > 0,
        tried,
        tried > 0,
        samples.overlap,
    )
    found = measured(samples)
    assert found.machine.model.S == 1 << 20
    assert {"S_bytes", "request_overheads", "progress"} < set(found.machine.model.assumed)
    assert found.notes == ("S is at least 1048576 bytes, the largest size tried: no message waited for its receiver",)


def test_measured__messages_that_come_meanwhile():
    assert measured(machine(overlap=0.01)).machine.model.progress == "always"


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
    samples = trips.parsed(line.split() for line in text.splitlines())["within-node"]
    assert samples.size.tolist() == [1]
    assert samples.many.tolist() == [[1800, 1900]]
    assert samples.late_eager.tolist() == [True, False]
    assert samples.asleep_eager.tolist() == [False]
    assert samples.overlap.tolist() == [7, 8]
