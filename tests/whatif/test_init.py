"""Where a run of the program itself begins, worked by hand."""

from __future__ import annotations

import pytest

from build import Builder
from perwiz.whatif import selectors


def started(*inits, end=1000, op="Init"):
    """Return a run whose processes leave MPI_Init at these instants; the last to end does so at `end`."""
    b = Builder(len(inits))
    for rank, leave in enumerate(inits):
        b.call(rank, op, at=(0, leave))
    b.compute(0, end - inits[0])
    return b.trace()


@pytest.mark.parametrize("op", ["Init", "Init_thread"])
def test_after__the_last_to_leave(op):
    trace = started(600, 800, op=op)
    assert selectors.init_calls(trace).tolist() == [0, 1]
    assert selectors.after_init(trace) == 200


def test_after__not_shown():
    b = Builder(1)
    b.compute(0, 10)
    assert selectors.after_init(b.trace()) is None
