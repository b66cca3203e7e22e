"""Collectives of SMPI, worked by hand from its algorithms.

Of 16 ranks SimGrid 3.32 replays each of them in 5 % more or less, but for broadcasts of some 1000 bytes, whose root shares its link.
"""

import pytest

from perwiz.loggps.smpi.linear import trips
from perwiz.trace.operations import OP


@pytest.mark.parametrize(
    ("name", "ranks", "k", "rounds", "message", "moved"),
    [
        ("Barrier", 16, 0, 2, 0, 0),
        ("Bcast", 16, 100, 4, 100, 400),
        ("Bcast", 5, 100, 3, 100, 300),
        ("Reduce", 16, 100, 1, 100, 1500),
        ("Iallreduce", 16, 100, 5, 100, 1900),
        ("Scan", 4, 100, 1, 100, 300),
        ("Reduce_scatter", 4, 100, 2, 100, 400),
        ("Alltoall", 16, 160, 4, 80, 320),
        ("Alltoall", 16, 16_000, 1, 1000, 15_000),
        ("Alltoall", 8, 160, 1, 20, 140),
        ("Allgather", 4, 400, 1, 100, 300),
        ("Gatherv", 4, 400, 1, 100, 300),
    ],
)
def test_trips(name, ranks, k, rounds, message, moved):
    found = trips(OP[f"MPI_{name}"], ranks, k)
    assert (float(found.rounds), float(found.message), float(found.moved)) == (rounds, message, moved)
