"""What says that S of a model is too large, worked by hand."""

from __future__ import annotations

import pytest

from build import Builder, hand_model
from perwiz.loggps.eager_limit import Held, held_senders


def sends(*several):
    """Return a run of messages of rank 0, each (bytes, ns the receiver is late, whether the sender is held until it comes), and rank 1.

    Every 10000 ns rank 0 sends one; held, it returns 20 ns behind the receiver's entry, else after 20 ns.
    """
    b = Builder(2)
    for k, (size, late, stood) in enumerate(several):
        begin = 10_000 * k
        b.send(0, 1, size, at=(begin, begin + (late if stood else 0) + 20))
        b.recv(1, 0, at=(begin + late, begin + late + 40))
    return b.trace()


def asked(*several, S=100):
    trace = sends(*several)
    return held_senders(trace, trace.timeline, hand_model(S=S))


def test_held__from_the_smallest_size_on():
    """Those of 64 bytes and more stood until the receiver came, those of 8 did not."""
    assert asked(*[(8, 5000, False)] * 9, *[(64, 5000, True)] * 4, *[(80, 5000, True)] * 2) == Held(64, 6, 6)


def test_held__one_of_ten_may_have_gone_on():
    assert asked(*[(64, 5000, True)] * 9, (64, 5000, False)) == Held(64, 9, 10)
    assert asked(*[(64, 5000, True)] * 8, (64, 5000, False)) is None


def test_held__five_must_say_so():
    assert asked(*[(64, 5000, True)] * 4) is None
    assert asked(*[(64, 5000, True)] * 5) == Held(64, 5, 5)


@pytest.mark.parametrize(
    "several",
    [
        [],
        [(8, 5000, False)] * 9,
        [(64, 10, True)] * 9,  # receivers that are not late: they come before the sender is done
        [(200, 5000, True)] * 9,  # above S the model says so itself
    ],
)
def test_held__nothing_says_so(several):
    assert asked(*several) is None
