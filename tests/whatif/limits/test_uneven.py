"""Which steps are uneven, by the recorded times alone. Times in ns."""

from __future__ import annotations

import build
from build import Builder
from perwiz.whatif.limits.uneven import uneven


def test_by_hand():
    """Step 1: 60 besides a call of 30, and 100: 20 above the mean. Step 2: 10 and 50: 20. Rank 1 alone is in the third; b is even."""
    b = Builder(2)
    for rank, computed in enumerate([(60, 10), (100, 50, 500)]):
        for step, ns in enumerate(computed):
            with b.region(rank, "step"):
                b.compute(rank, ns)
                if (rank, step) == (0, 0):
                    b.call(rank, "Comm_rank", work=30)
        with b.region(rank, "b"):
            b.compute(rank, 7)
    found = uneven(b.trace())
    assert (found.region.tolist(), found.number.tolist(), found.excess.tolist()) == ([0, 0], [1, 2], [20, 20])
    assert (found.regions(9), found.steps(9), found.steps(1)) == (["step"], ["step#1", "step#2"], ["step#1"])


def test_largest_first():
    """Of 10, 30 and 20 above the mean; a region of one step is no step to choose."""
    b = Builder(2)
    for name, *computed in (("a", 20, 60), ("c", 40)):
        for ns in computed:
            for rank in (0, 1):
                with b.region(rank, name):
                    b.compute(rank, ns * rank)
    found = uneven(b.trace())
    assert (found.regions(9), found.regions(1), found.steps(9)) == (["a", "c"], ["a"], ["a#2", "a#1"])


def test_none():
    for name in ("empty", "ring", "one_process"):
        found = uneven(build.CATALOGUE[name]())
        assert (found.regions(9), found.steps(9)) == ([], [])


def test_streams_of_devices_have_no_steps():
    b = Builder(1)
    for stream, ns in ((b.stream(0), 10), (b.stream(0), 90)):
        with b.region(stream, "kernel"):
            b.compute(stream, ns)
    assert uneven(b.trace()).regions(9) == []
