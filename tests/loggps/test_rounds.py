"""Likely algorithms: which one, in words, and what their rounds cost, worked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import hand_model
from perwiz.errors import ModelError
from perwiz.kernels.names import METAHOST, NODE
from perwiz.loggps import rounds
from perwiz.loggps.algorithms.edges import costs
from perwiz.loggps.algorithms.routines import ALGORITHMS, NotSuited, shape_of
from perwiz.loggps.algorithms.shape import FARTHEST, HELD
from perwiz.loggps.model import Sent
from perwiz.loggps.rounds import Collectives
from perwiz.trace.operations import COLLECTIVE, MPI, OP, OPS

MODEL = hand_model(G=1, S=10**9)
"""A message of k bytes takes 2 o + L + (k - 1) G = 13 + k ns, an empty one 14."""


def asked(routine, processes, size, nodes=1, metahosts=1):
    columns = ([value] for value in (processes, size, nodes, metahosts))
    return Collectives(np.array([OP[f"MPI_{routine}"]], "u2"), *(np.array(column, "i8") for column in columns))


def usual(routine, processes, size, library="MPICH", **places):
    """Return (name, cost) of a library's choice."""
    of = asked(routine, processes, size, **places)
    number = rounds.usual(of, library)
    return rounds.words(int(number[0])), int(rounds.cost(MODEL, of, number)[0])


@pytest.mark.parametrize(
    ("routine", "processes", "size", "words", "cost"),
    [
        ("Barrier", 8, 0, "dissemination", 3 * 14),
        ("Ibarrier", 9, 0, "dissemination", 4 * 14),
        ("Bcast", 2, 8, "binomial", 21),
        ("Bcast", 8, 8, "binomial", 3 * 21),
        # scatter of 8192, 4096 and 2048 bytes, and back
        ("Bcast", 8, 16384, "scatter-doubling", 6 * 13 + 2 * 14336),
        ("Bcast", 8, 1 << 20, "scatter-ring", 10 * 13 + 2 * 917504),
        # the root sends process 8 its part for 2 + 2047, then 4 parts; 8 rounds of one part
        ("Bcast", 9, 18432, "scatter-ring", 2 + 2047 + 11 * 13 + 15 * 2048),
        ("Reduce", 8, 2048, "binomial", 3 * 2061),
        ("Reduce", 8, 4096, "rabenseifner", 6 * 13 + 2 * 3584),
        ("Allreduce", 8, 8, "recursive-doubling", 3 * 21),
        # 0 hands 1 what it has; 1 and 3 are as late, the others not: 1 need not wait for 4; 0 gets the result
        ("Iallreduce", 6, 8, "recursive-doubling", 3 * 21 + 11),
        ("Allreduce", 8, 4096, "rabenseifner", 6 * 13 + 2 * 3584),
        # the root hands what it has to a neighbour, and gets the result back
        ("Reduce", 6, 4096, "rabenseifner", 6 * 13 + 2 * 3072 + 2 * 4096),
        ("Allgather", 8, 64, "recursive-doubling", 3 * 13 + 56),
        ("Allgatherv", 5, 100, "bruck", 3 * 13 + 80),
        ("Allgather", 5, 100000, "ring", 4 * 20013),
        ("Alltoall", 8, 64, "bruck", 3 * 45),
        ("Alltoall", 4, 64, "linear", 29 + 2 * (4 + 15)),
        ("Alltoall", 4, 400000, "pairwise", 3 * 100013),
        ("Alltoallv", 2, 64, "linear", 45),
        ("Gather", 8, 64, "binomial", 3 * 13 + 56),
        # two parts leave within 2 + 19, two more are there after 33, and one of them goes on
        ("Scatter", 6, 60, "binomial", 21 + 33 + 23),
        # the first takes 23, each other one the receiver 2 + 9 more
        ("Gatherv", 4, 40, "linear", 23 + 2 * (2 + 9)),
        ("Reduce_scatter", 8, 64, "recursive-halving", 3 * 13 + 56),
        ("Reduce_scatter_block", 4, 524288, "pairwise", 3 * 131085),
        ("Scan", 5, 8, "recursive-doubling", 3 * 21),
        ("Comm_dup", 8, 0, "dissemination", 3 * 14),
    ],
)
def test_by_hand(routine, processes, size, words, cost):
    """A tree has ceil(log2 processes) rounds, a ring processes - 1."""
    assert usual(routine, processes, size) == (words, cost)


@pytest.mark.parametrize(
    ("routine", "processes", "size", "words"),
    [
        ("Allreduce", 16, 128, "recursive-doubling"),
        ("Allreduce", 16, 63, "recursive-doubling"),
        ("Ialltoallv", 3, 64, "pairwise"),
        ("Alltoallw", 3, 64, "linear"),
        ("Exscan", 8, 8, "linear"),
        ("Reduce_scatter", 8, 262144, "ring"),
    ],
)
def test_of_open_mpi(routine, processes, size, words):
    """A ring of fewer numbers than processes is none."""
    assert usual(routine, processes, size, "Open MPI")[0] == words


def test_nodes():
    """Eight on four nodes: of three rounds of doubling one stays on the nodes; a ring has a pair between nodes in each round."""
    model = hand_model(G=1, S=10**9).with_changes("between-nodes:L_ns=110")
    for routine, size, cost in (("Allreduce", 8, 21 + 2 * 121), ("Allgather", 8 << 20, 7 * (113 + (1 << 20)))):
        of = asked(routine, 8, size, nodes=4)
        assert rounds.cost(model, of, rounds.usual(of)).tolist() == [cost]


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
    chosen = np.array([rounds.numbered("allreduce", "recursive-doubling")])
    assert rounds.cost(hand_model(G=1, S=49), of, chosen).tolist() == [2 * (12 + 2 + 14 + 63)]


@pytest.mark.parametrize(
    ("routine", "size", "fitted", "expected"),
    [
        ("Scan", 8, np.nan, "recursive-doubling"),
        ("Scan", 8, 66, "recursive-doubling"),
        ("Scan", 8, 7 * 21, "linear"),
        ("Scan", 8, 100, "recursive-doubling"),
        ("Scan", 8, 1, "recursive-doubling"),
        ("Bcast", 16384, 49191, "binomial"),
        ("Bcast", 16384, 20000, "scatter-doubling"),
    ],
)
def test_choose(routine, size, fitted, expected):
    """MPICH's scan costs 63, Open MPI's 147, which is taken only if it alone is near; of a broadcast no cheaper one."""
    number = rounds.choose(MODEL, asked(routine, 8, size), np.array([fitted], float))
    assert rounds.words(int(number[0])) == expected


@given(
    st.sampled_from([(routine, name) for routine, known in ALGORITHMS.items() for name in known if name != "double-ring"]),
    st.integers(2, 21),
    st.integers(0, 4).map(lambda k: 10 ** (k + 1)),
    st.integers(1, 4),
    st.sampled_from((0, 10**9)),
)
def test_law__as_if_played(way, processes, part, nodes, threshold):
    """No more than the shape costs that has a vertex per process and round, and just that where letters are as long as the measure says."""
    routine, algorithm = way
    size = part * processes
    of = Collectives(*(np.array([value], "i8") for value in (OP[f"MPI_{routine.capitalize()}"], processes, size, nodes, 1)))
    try:
        shape = shape_of(routine, algorithm, processes, size)
    except NotSuited:
        return
    chosen = np.array([rounds.numbered(routine, algorithm)])
    model = hand_model(G=1, O=2, S=threshold).with_changes("between-nodes:L_ns=40,between-nodes:G_ns_per_byte=3")
    assert rounds.cost(model, of, chosen)[0] <= _played(shape, model, nodes)
    even = hand_model(L=1e6, o=1e6, G=1e6 / size, S=10**9).with_changes("between-nodes:L_ns=8e6")
    assert rounds.cost(even, of, chosen)[0] == pytest.approx(_played(shape, even, nodes), rel=0.01)


def _played(shape, model, nodes):
    """Return when the last of processes is done that all enter at 0, on nodes in their order."""
    edges, processes = shape.edges(), shape.processes
    far = np.where(edges.sender == FARTHEST, nodes > 1, edges.sender * nodes // processes != edges.receiver * nodes // processes)
    pairs = np.where(far, METAHOST, NODE).astype("u1")
    ns = edges.times * costs(model, edges.cost, edges.bytes, pairs)
    held = (edges.cost == HELD) & ~model.is_synchronous(Sent(edges.bytes, pairs=pairs))
    time = np.append(np.zeros(processes), np.full(shape.vertices - processes, -np.inf))
    for source, target, weight in zip(edges.source[~held], edges.target[~held], ns[~held], strict=True):
        time[target] = max(time[target], time[source] + weight)
    return round(time[shape.now].max())


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
