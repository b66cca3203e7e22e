"""What a change gains if processes that shared processors have one each, by hand."""

from __future__ import annotations

import pytest

from build import Builder, hand_model, held_by_chance, shared
from perwiz.report import spans
from perwiz.whatif.predict import predict


def late():
    """Ten times rank 0 computes 1000 and sends, rank 1 computes 600 and receives, each time back 406 after the 14 that a message takes."""
    b, back = Builder(2), 0
    for step in range(10):
        sent = 1010 * step + 1000
        b.compute(0, 1000)
        b.send(0, 1, 50, at=(sent, sent + 10))
        b.compute(1, 600)
        b.recv(1, 0, at=(back + 600, sent + 420))
        back = sent + 420
    return b.trace()


def steps(*lengths):
    b = Builder(1)
    for length in lengths:
        with b.region(0, "step"):
            b.compute(0, length)
            b.barrier()
    return b.trace()


def test_a_receiver_that_comes_back_late():
    """Twice as fast rank 0 is waited for no longer: rank 1 takes 10 * (600 + 408) of 10510. Alone 10 * 602 of 10032: 478 earlier,
    as its sends take 2 of 10, too.
    """
    assert predict(late(), ["speed rank:0=2"], hand_model(), clock="none").span.alone is None
    found = predict(shared(late()), ["speed rank:0=2"], hand_model(), clock="none")
    assert (found.recorded.makespan, found.gain, found.span.alone) == (10_510, 430, 4012)
    told = spans.span(found.span)
    assert spans.worth(told, found.recorded.makespan, found.predicted.makespan).most == 4012
    assert "gain 4.012 us if each process had a processor of its own, as far as what repeats tells" in spans.texts(told, 10_080)


@pytest.mark.parametrize(("longest", "gain"), [(100, 600), (1000, 1050)])
def test_a_step_that_takes_long(longest, gain):
    """Half of 11 * 100 and the longest; alone that takes 100 like the others."""
    found = predict(shared(steps(*[100] * 7, longest, *[100] * 4)), ["scale step=0.5"], hand_model())
    assert (found.gain, found.span.alone) == (gain, 600)


@pytest.mark.parametrize(
    ("lengths", "gain"),
    [
        (6 * [300, 100, 100], 1500),
        (5 * [300, 100, 100] + [300, 100, 1100], 1500),
        # between barriers fewer than five of each: as most
        (5 * [300, 100, 100], 850),
        # in no order: as most
        ([100, 100, 300, 100, 300, 100, 100, 100, 300, 300, 100, 100, 300, 100, 100, 100, 100, 300], 900),
    ],
)
def test_what_takes_longer_each_third_time(lengths, gain):
    """Of 300, 100 and 100 in turn half of all, six times 500; but for 1000 where the last takes longer by chance."""
    found = predict(shared(steps(*lengths)), ["scale step=0.5"], hand_model(), clock="none")
    assert found.span.alone == gain


def test_seldom():
    """Four are too few to tell what is usual."""
    found = predict(shared(steps(100, 1000, 100, 100)), ["scale step=0.5"], hand_model())
    assert found.gain == found.span.alone == 650


def test_a_receiver_that_is_back_late_from_a_collective():
    """Eager sends gain what nine are held, 500, but for the 12 that a message takes; nothing alone, as the receive is posted before."""
    found = predict(shared(held_by_chance()), ["eager all"], hand_model(), clock="none")
    assert (found.recorded.makespan, found.gain, found.span.alone) == (17_000, 9 * (500 - 12), 0)
    assert not spans.sure(spans.span(found.span), found.recorded.makespan, found.predicted.makespan)
