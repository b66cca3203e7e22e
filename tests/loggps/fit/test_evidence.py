"""Which messages tell how long one takes: by hand."""

import numpy as np
import pytest

from build import Builder
from perwiz.loggps.fit.evidence import telling


def test_telling__what_waits_for_another_request_tells_nothing():
    """Rank 1 waits in MPI for both: the message of rank 0 is sent at 0, that of rank 2 at 9000 and takes 1000; rank 3 receives at once."""
    build = Builder(4)
    for turn in range(2):
        at = turn * 10**5
        build.send(0, 1, bytes=64, tag=turn, at=(at, at + 100))
        build.send(2, 1, bytes=64, tag=turn, at=(at + 9000, at + 9100))
        requests = [build.irecv(1, source, tag=turn, at=(at + k, at + k + 1)) for k, source in enumerate((0, 2))]
        build.waitall(1, *requests, at=(at + 10, at + 10_000))
    assert telling(build.trace(), np.zeros(4)).tolist() == [False, False, True, True]


@pytest.mark.parametrize(("returns", "expected"), [(10_000, False), (8000, True)])
def test_telling__what_waits_for_its_own_send_tells_nothing(returns, expected):
    """Rank 1 waits to receive from 0, and for its send to 2, who computes until 9000: if it returns at 8000, it did not need rank 2."""
    build = Builder(3)
    build.send(0, 1, bytes=64, at=(0, 100))
    received = build.irecv(1, 0, at=(0, 1))
    sent = build.isend(1, 2, bytes=64, at=(1, 2))
    build.waitall(1, received, sent, at=(3, returns))
    build.call(2, "Comm_rank", at=(0, 1))
    build.recv(2, 1, at=(9000, 10_000))
    assert telling(build.trace(), np.zeros(2)).tolist() == [expected, False]


RECEIVED = [(20, 50), (1080, 1100), (2990, 3000), (3020, 3050), (4040, 4060), (5030, 5045), (6010, 6060)]
"""When rank 1 receives what rank 0 sends at 0, 1000, 2000 ...: after it was outside for 0 of 50, 80 of 100, 990 of 1000, 20 of 50, 40 of
60, 30 of 45 and 10 of 60 ns. The first has a size of its own, the last too. The one of 45 is faster than that of 50, which tells."""


@pytest.mark.parametrize("ahead", [0, -(10**9), 10**9])
def test_telling(ahead):
    build = Builder(2)
    for turn, (enter, leave) in enumerate(RECEIVED):
        build.send(0, 1, tag=turn, bytes=(8, 16, 16, 16, 16, 16, 32)[turn], at=(1000 * turn, 1000 * turn + 10))
        build.recv(1, 0, tag=turn, at=(10**9 + enter + ahead, 10**9 + leave + ahead))
    clocks = np.full(7, 10.0**9 + ahead)
    assert telling(build.trace(), clocks).tolist() == [True, False, False, True, False, True, True]
