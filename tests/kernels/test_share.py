"""Servers that share themselves equally, against the naive twin."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import naive
from perwiz.kernels import share as kernel


def shared(jobs):
    """Return when jobs (server, ready, work), in order, are done."""
    server, ready, work = np.array(jobs, "i8").reshape(-1, 3).T.copy()
    done = np.full(len(jobs), -7)
    kernel.share(server, ready, work, np.empty(len(jobs), "i8"), np.empty(len(jobs)), done)
    return done.tolist()


def test_share__worked_by_hand():
    """Server 0: 10 at 0, 4 at 4. Until 4 the first has 4, both have 4 more at 12, then the first takes its last 2. Server 1 is its own."""
    assert shared([(0, 0, 10), (0, 4, 4), (1, 0, 3), (1, 3, 3)]) == [14, 12, 3, 6]


def test_share__three_at_once_are_done_together():
    assert shared([(0, 5, 4), (0, 5, 4), (0, 5, 4)]) == [17, 17, 17]


def test_share__nobody():
    assert shared([]) == []


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(0, 25)), max_size=14))
@example([(0, 0, 3), (0, 0, 20), (0, 0, 9), (0, 0, 6), (0, 0, 25)])
def test_share__twin(jobs):
    jobs = sorted(jobs, key=lambda job: job[:2])
    expected = naive.share(jobs)
    assert all(abs(found - exact) <= 0.51 for found, exact in zip(shared(jobs), expected, strict=True))
