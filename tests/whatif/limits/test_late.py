"""What who is late does while others wait for it: by hand."""

from __future__ import annotations

import numpy as np
import pytest

from build import Builder, hand_model
from perwiz.whatif.hypotheses.stretch import segments_of
from perwiz.whatif.limits.late import Late, late
from perwiz.whatif.run import replayed


def told(b):
    """Return what is told of all calls."""
    run = replayed(b.trace(), hand_model(), clock="none")
    return late(run, segments_of(run.weighted), np.arange(len(run.trace.calls)))


def late_sender(*, computes=1000, calls=0, ranks=2):
    """Rank 1 waits for rank 0, which computes so long in solve and is in a call so long before it sends.

    rank 0  ==solve== calls send        rank 1  recv ~~~~~~~~~~~~~~~~~~
    """
    b = Builder(ranks)
    with b.region(0, "solve", at=(0, computes)):
        pass
    if calls:
        b.call(0, "Comm_dup", at=(computes, computes + calls))
    now = computes + calls
    b.send(0, 1, at=(now, now + 10))
    b.recv(1, 0, at=(0, now + 32))
    return b


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ({"computes": 1000}, Late(True, "solve", 0, 1.0, False)),
        ({"computes": 100, "calls": 900}, Late(False, "MPI_Comm_dup", 0, 1.0, False)),
    ],
)
def test_late__by_hand(times, expected):
    assert told(late_sender(**times)) == expected


def test_late__the_first_of_a_chain():
    """Rank 2 waits for rank 1, which waits for rank 0: both for what rank 0 computes in solve."""
    b = late_sender(ranks=3)
    b.send(1, 2, at=(1032, 1042))
    b.recv(2, 1, at=(0, 1064))
    found = told(b)
    assert (found.computes, found.where, found.process, found.chained) == (True, "solve", 0, True)


def test_late__of_nothing():
    """Nobody waits for rank 0, which has sent long before."""
    b = Builder(2)
    b.send(0, 1, at=(0, 10))
    b.recv(1, 0, at=(500, 510))
    assert told(b) is None
