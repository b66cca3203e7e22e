"""Why drawn runs gain another amount than the recorded one."""

import dataclasses

import pytest

from build import Builder, hand_model
from perwiz.report import spans
from perwiz.whatif.predict import predict
from perwiz.whatif.sure.chance import Chance, Piece, differs
from perwiz.whatif.sure.pieces import found_pieces


@pytest.mark.parametrize(
    ("now", "mean", "said"), [(551, 2850, True), (2850, 551, True), (551, 900, False), (5, 28, False), (-300, 400, True), (0, 0, False)]
)
def test_differs(now, mean, said):
    """Twice as much, either way, and a two hundredth of a run of 38600, 193."""
    assert differs(now, mean, 38600) == said


def steps(work=2900, before=0):
    """Thirty steps of two processes that then meet, 100 and 90 to 92 long. In one rank 1 computes 3000 and a call of rank 0, else 10, takes
    `work`, behind `before`.
    """
    b = Builder(2, work=1)
    for step in range(30):
        odd = step == 15
        b.compute(0, before if odd else 80)
        b.call(0, "File_read", work=work if odd else 10 + step % 3)
        b.compute(1, 3000 if odd else 100)
        b.everyone("Barrier")
    return b.trace()


def found(trace, asked):
    prediction = predict(trace, [asked], hand_model(), clock="none")
    return prediction, prediction.span.gain


def test_chance__what_hides_a_gain():
    """Twice as fast, rank 1 gains 100 of 3000 beside that call, and 1450 more in all runs in which no call takes as long there."""
    prediction, gain = found(steps(), "speed rank:1=2")
    call = 2 * 15
    assert dataclasses.replace(gain.chance.piece, longer=0) == Piece(0, 0, call, "MPI_File_read", False, 2900, 0)
    assert gain.chance.hides
    assert 2700 < gain.chance.piece.longer < 2890
    said = spans.texts(spans.span(prediction.span), prediction.predicted.makespan)[-1]
    assert said.startswith("what took long once hides much of it: MPI_File_read e30 (rank 0), 2.900 us here, 2.7")


def test_chance__what_makes_one():
    """Without that call the run gains what it takes beyond 3000, which few others have."""
    gain = found(steps(work=9000), "zero-time e30")[1]
    assert (gain.chance.hides, gain.chance.piece.call, gain.chance.piece.took) == (False, 30, 9000)


def test_chance__of_a_large_run(monkeypatch):
    """What runs are drawn from is let go of before the machine is varied, and found anew for what tells why gains differ."""
    expected, noises = found(steps(), "speed rank:1=2")[1], []

    def pieces(*asked):
        noises.append(asked)
        return found_pieces(*asked)

    monkeypatch.setattr("perwiz.whatif.sure.span.of_graphs", lambda edges: 0)
    monkeypatch.setattr("perwiz.whatif.sure.noise.found_pieces", pieces)
    assert found(steps(), "speed rank:1=2")[1] == expected
    assert len(noises) == 2


def test_chance__of_no_single_piece():
    assert Chance(hides=True).piece is None
    prediction, gain = found(steps(), "speed rank:1=2")
    several = dataclasses.replace(prediction.span, gain=dataclasses.replace(gain, chance=Chance(hides=True)))
    said = spans.texts(spans.span(several), prediction.predicted.makespan)[-1]
    assert said == "chance hides much of it: this run, as recorded, gains far less than that"
