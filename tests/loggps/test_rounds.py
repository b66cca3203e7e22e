"""Likely algorithms: which one, in words, and what their rounds cost, worked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import hand_model
from perwiz.errors import ModelError
from perwiz.loggps import rounds
from perwiz.loggps.rounds import Collectives
from perwiz.trace.operations import COLLECTIVE, MPI, OP, OPS

MODEL = hand_model(G=1, S=10**9)
"""A message of k bytes takes 2 o + L + (k - 1) G = 13 + k ns, an empty one 14."""


def asked(routine, processes, size, nodes=1, metahosts=1):
    columns = ([value] for value in (processes, size, nodes, metahosts))
    return Collectives(np.array([OP[f"MPI_{routine}"]], "u2"), *(np.array(column, "i8") for column in columns))


def usual(routine, processes, size):
    """Return (words, cost) of MPICH's choice."""
    of = asked(routine, processes, size)
    number = rounds.usual(of)
    return rounds.words(int(number[0]), processes), int(rounds.cost(MODEL, of, number)[0])


@pytest.mark.parametrize(
    ("routine", "processes", "size", "words", "cost"),
    [
        ("Barrier", 8, 0, "3 rounds of dissemination", 3 * 14),
        ("Ibarrier", 9, 0, "4 rounds of dissemination", 4 * 14),
        ("Bcast", 2, 8, "1 round along a binomial tree", 21),
        ("Bcast", 8, 8, "3 rounds along a binomial tree", 3 * 21),
        ("Bcast", 8, 16384, "3 rounds of scatter, 3 rounds of recursive doubling", 6 * 13 + 2 * 14336),
        ("Bcast", 8, 524288, "3 rounds of scatter, 7 rounds around a ring", 10 * 13 + 2 * 458752),
        ("Bcast", 9, 18432, "4 rounds of scatter, 8 rounds around a ring", 12 * 13 + 2 * 16384),
        ("Reduce", 8, 2048, "3 rounds along a binomial tree", 3 * 2061),
        ("Reduce", 8, 4096, "3 rounds of reduce-scatter, 3 rounds of gather", 6 * 13 + 2 * 3584),
        ("Allreduce", 8, 8, "3 rounds of recursive doubling", 3 * 21),
        ("Iallreduce", 6, 8, "2 rounds of recursive doubling, 2 more as 6 is no power of 2", 4 * 21),
        ("Allreduce", 8, 4096, "3 rounds of reduce-scatter, 3 rounds of allgather", 6 * 13 + 2 * 3584),
        ("Reduce", 6, 4096, "2 rounds of reduce-scatter, 2 rounds of gather, 1 more as 6 is no power of 2", 5 * 13 + 2 * 3072 + 4096),
        ("Allgather", 8, 64, "3 rounds of recursive doubling, each of twice the parts", 3 * 13 + 56),
        ("Allgatherv", 5, 100, "3 rounds of recursive doubling, each of twice the parts", 3 * 13 + 80),
        ("Allgather", 5, 100000, "4 rounds around a ring", 4 * 20013),
        ("Alltoall", 8, 64, "3 rounds of Bruck's exchange, each of half the bytes", 3 * 45),
        ("Alltoall", 4, 64, "messages with all others at once", 29 + 2 * (4 + 15)),
        ("Alltoall", 4, 400000, "3 rounds of exchanges in pairs", 3 * 100013),
        ("Alltoallv", 2, 64, "messages with all others at once", 45),
        ("Gather", 8, 64, "3 rounds along a binomial tree, each of twice the parts", 3 * 13 + 56),
        ("Scatter", 6, 60, "3 rounds along a binomial tree, each of twice the parts", 3 * 13 + 50),
        ("Gatherv", 4, 40, "messages with all others at once", 23 + 2 * (4 + 9)),
        ("Reduce_scatter", 8, 64, "3 rounds of recursive halving", 3 * 13 + 56),
        ("Reduce_scatter_block", 4, 524288, "3 rounds of exchanges in pairs", 3 * 131085),
        ("Scan", 5, 8, "3 rounds of recursive doubling", 3 * 21),
        ("Comm_dup", 8, 0, "3 rounds of dissemination", 3 * 14),
    ],
)
def test_by_hand(routine, processes, size, words, cost):
    """A tree has ceil(log2 processes) rounds, a ring processes - 1."""
    assert usual(routine, processes, size) == (words, cost)


def test_alone_and_no_collective():
    for routine, processes in (("Allreduce", 1), ("Alltoall", 0), ("Send", 8)):
        of = asked(routine, processes, 10)
        assert rounds.cost(MODEL, of, rounds.usual(of)).tolist() == [0]


def test_all_collectives_cost_something():
    ops = np.flatnonzero(MPI).astype("u2")
    one = np.ones(len(ops), "i8")
    of = Collectives(ops, 4 * one, 0 * one, one, one)
    np.testing.assert_array_equal(rounds.cost(MODEL, of, rounds.usual(of)) > 0, COLLECTIVE[ops])


def test_rendezvous():
    """Above S a round is a synchronous message: request o + L, handled o, acknowledgement 2 o + L, then 13 + k: 41 + k."""
    of = asked("Allreduce", 4, 50)
    assert rounds.cost(hand_model(G=1, S=49), of, rounds.usual(of)).tolist() == [2 * (12 + 2 + 14 + 63)]


@pytest.mark.parametrize(
    ("routine", "size", "fitted", "expected"),
    [
        ("Allreduce", 4096, np.nan, "3 rounds of reduce-scatter, 3 rounds of allgather"),
        ("Allreduce", 4096, 7600, "3 rounds of reduce-scatter, 3 rounds of allgather"),
        ("Allreduce", 4096, 12000, "3 rounds of recursive doubling"),
        ("Allreduce", 4096, 9000, "3 rounds of reduce-scatter, 3 rounds of allgather"),
        ("Allreduce", 4096, 1, "3 rounds of reduce-scatter, 3 rounds of allgather"),
        ("Scan", 8, 7 * 21, "7 rounds along a chain"),
        ("Bcast", 8192, 14500, "3 rounds along a binomial tree"),
        ("Bcast", 16384, 49191, "3 rounds along a binomial tree"),
        ("Bcast", 16384, 20000, "3 rounds of scatter, 3 rounds of recursive doubling"),
    ],
)
def test_choose(routine, size, fitted, expected):
    """MPICH's costs 7246, recursive doubling 12327: another is taken only if it alone is near; of a broadcast no cheaper one."""
    number = rounds.choose(MODEL, asked(routine, 8, size), np.array([fitted], float))
    assert rounds.words(int(number[0]), 8) == expected


def test_rows_are_costed_alone():
    """A cost depends on its own row only."""
    one, other = asked("Allreduce", 8, 8), asked("Alltoall", 32, 1 << 20, nodes=4)
    both = Collectives(*(np.concatenate(pair) for pair in zip(one, other, strict=True)))
    alone = [int(rounds.cost(MODEL, of, rounds.usual(of))[0]) for of in (one, other)]
    assert rounds.cost(MODEL, both, rounds.usual(both)).tolist() == alone


@given(
    st.sampled_from([op for op in range(len(OPS)) if COLLECTIVE[op] and MPI[op]]),
    st.integers(1, 70),
    st.integers(0, 1 << 22),
    st.sampled_from(("L", "G", "o", "O")),
)
def test_law__dearer_letters_cost_no_less(op, processes, size, letter):
    of = asked(OPS[op][4:], processes, size)
    chosen = rounds.usual(of)
    dearer = hand_model(**{"G": 1, "O": 1, letter: 20})
    assert rounds.cost(dearer, of, chosen) >= rounds.cost(hand_model(G=1, O=1), of, chosen)


def test_too_much():
    of = asked("Allgather", 1 << 20, 10**12)
    with pytest.raises(ModelError, match=r"^a collective would cost 2.05e\+18 ns, must be at most 2\^53$"):
        rounds.cost(hand_model(L=1e12, G=1e6, S=10**12), of, rounds.usual(of))
