"""The rounds of each algorithm: exits of four processes worked by hand, who depends on whom, and what cannot be."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_collectives as naive
from perwiz.loggps.algorithms import decisions
from perwiz.loggps.algorithms.routines import ALGORITHMS, NotSuited, shape_of
from perwiz.loggps.algorithms.shape import EXCHANGE, HELD, LATE, MESSAGE, PASS, RECEIVE, SEND, TAKE, Shape

NEEDS_ALL, FROM_ROOT, TO_ROOT = (
    ("allreduce", "allgather", "alltoall", "barrier", "reduce_scatter"),
    ("bcast", "scatter"),
    ("reduce", "gather"),
)


def cost(kind, size):
    """o = 2 at both ends, L = 10, a byte takes 1; all messages are eager."""
    by_kind = {MESSAGE: 14 + size, SEND: 2 + size, RECEIVE: 2 + size, TAKE: 2 + size, EXCHANGE: 4 + size, PASS: 4 + size, LATE: 10}
    return None if kind == HELD else by_kind.get(kind, 0)


def ends(routine, algorithm, size, entry=(0, 0, 0, 0), segment=0):
    return naive.played(shape_of(routine, algorithm, len(entry), size, segment), entry, cost)


@pytest.mark.parametrize(
    ("routine", "algorithm", "size", "found"),
    [
        # the root sends at 0, 10 and 20, for 10 each; a message of 8 bytes is there after 22
        ("bcast", "linear", 8, [30, 22, 32, 42]),
        # 0 > 2 at 22; then 0 > 1, begun at 10, and 2 > 3, begun at 22, which 2 has sent at 32
        ("bcast", "binomial", 8, [20, 32, 32, 44]),
        # each hop 22, but for the last all send for 10 more
        ("bcast", "chain", 8, [10, 32, 54, 66]),
        # 3 > 2 and 1 > 0 at 22, the root takes 0's part and then that of 2, sent at 22
        ("reduce", "binomial", 8, [44, 10, 32, 10]),
        # two rounds of 22
        ("allreduce", "recursive-doubling", 8, [44] * 4),
        # 32 bytes, parts of 8: twice three rounds of 22
        ("allreduce", "ring", 32, [132] * 4),
        # halves of 16, quarters of 8, and back: 30 + 22 + 22 + 30
        ("allreduce", "rabenseifner", 32, [104] * 4),
        # fewer numbers than processes: recursive doubling
        ("allreduce", "ring", 8, [44] * 4),
        # one part of 8, then two: 22 + 30
        ("allgather", "bruck", 32, [52] * 4),
        ("allgather", "ring", 32, [66] * 4),
        # one message of 22, two more at 12 each
        ("alltoall", "linear", 32, [46] * 4),
        ("alltoall", "pairwise", 32, [66] * 4),
        # two rounds, each of the two parts whose distance has the bit
        ("alltoall", "bruck", 32, [60] * 4),
        # halves of 16, quarters of 8
        ("reduce_scatter", "recursive-halving", 32, [52] * 4),
        # each hop 22, but for the last all send for 10 more
        ("scan", "linear", 8, [10, 32, 54, 66]),
        ("scan", "recursive-doubling", 8, [44] * 4),
        ("barrier", "dissemination", 0, [28] * 4),
        # eight messages one behind the other, each but the last two of a round on: 14 a hop; process m has sent its second one
        ("barrier", "double-ring", 0, [112, 72, 86, 100]),
        # 3 sends 8 to 2, 2 sends 16 to 0 at 22, who has 8 of 1 by then
        ("gather", "binomial", 32, [52, 10, 40, 10]),
    ],
)
def test_four_processes_that_enter_together(routine, algorithm, size, found):
    assert ends(routine, algorithm, size) == found


def test_a_late_process_pays_no_latency():
    """Process 0 comes at 100: what it needs is there. Two rounds cost it 12 each, the others the message of 22 and 12 or 22 more.

    recursive doubling   0: 112 124      1, its first partner: 122 134     2, its second, waits for round 2: 134    3 for 1's: 144
    """
    assert ends("allreduce", "recursive-doubling", 8, (100, 0, 0, 0)) == [124, 134, 134, 144]


def test_segments_follow_one_another():
    """A chain of 4 for 24 bytes in segments of 8: the first as of 8 bytes, two more at 12 each, 10 each for who only sends."""
    first = ends("bcast", "chain", 8)
    assert ends("bcast", "chain", 24, segment=8) == [first[0] + 20, *(end + 24 for end in first[1:])]


@settings(max_examples=25)
@given(st.lists(st.integers(0, 200), min_size=2, max_size=9), st.integers(0, 50))
def test_a_ring_is_its_rounds(entry, size):
    shape = Shape(len(entry))
    shape.ring(size)
    assert naive.played(shape, entry, cost) == naive.ring(entry, size, cost)
    assert shape.vertices == 5 * len(entry)


def _suited(routine, algorithm, processes, size):
    try:
        return shape_of(routine, algorithm, processes, size)
    except NotSuited:
        return None


@pytest.mark.parametrize("processes", [2, 3, 5, 6, 8])
@pytest.mark.parametrize("routine", ALGORITHMS)
def test_who_needs_whom(routine, processes):
    """Who depends on a process that comes late is done after it, whatever the algorithm; who does not is done before."""
    shapes = [shape for algorithm in ALGORITHMS[routine] if (shape := _suited(routine, algorithm, processes, 800))]
    assert len(shapes) >= 2
    for shape in shapes:
        for late in range(processes):
            entry = [10**6 if rank == late else 0 for rank in range(processes)]
            done = [end >= 10**6 for end in naive.played(shape, entry, cost)]
            assert done[late]
            if routine in NEEDS_ALL or (routine in FROM_ROOT and late == 0):
                assert all(done)
            elif routine in TO_ROOT:
                assert done[0]
            elif routine == "scan":
                assert all(done[late:])


def test_small_however_many():
    """Vertices and edges grow with the messages of one process, n log n, never n * n: but a ring's, which are 5 n."""
    for routine, algorithms in ALGORITHMS.items():
        for algorithm in algorithms:
            shape = shape_of(routine, algorithm, 64, 6400)
            assert len(shape.edges().source) <= 64 * 6 * 4 * 2


@pytest.mark.parametrize(
    ("routine", "algorithm", "processes", "needs"),
    [("allgather", "recursive-doubling", 6, "a power of two"), ("allgather", "neighbour", 5, "an even number")],
)
def test_not_suited(routine, algorithm, processes, needs):
    with pytest.raises(NotSuited) as error:
        shape_of(routine, algorithm, processes, 600)
    assert str(error.value) == needs


@pytest.mark.parametrize(
    ("library", "routine", "processes", "size", "algorithm"),
    [
        ("MPICH", "allreduce", 16, 8, "recursive-doubling"),
        ("MPICH", "allreduce", 16, 128, "rabenseifner"),
        ("MPICH", "bcast", 7, 10**6, "binomial"),
        ("MPICH", "bcast", 8, 12289, "scatter-doubling"),
        ("MPICH", "bcast", 12, 12289, "scatter-ring"),
        ("MPICH", "alltoall", 8, 8 * 256, "bruck"),
        ("MPICH", "alltoall", 8, 8 * 32769, "pairwise"),
        ("Open MPI", "allreduce", 16, 63, "recursive-doubling"),
        ("Open MPI", "allreduce", 3, 4096, "ring"),
        ("Open MPI", "alltoallv", 3, 8, "pairwise"),
        ("MPICH", "alltoallv", 3, 8, "linear"),
        ("MPICH", "exscan", 3, 8, "recursive-doubling"),
        ("Open MPI", "allreduce", 16, 4095, "recursive-doubling"),
        ("Open MPI", "allreduce", 16, 4096, "rabenseifner"),
        ("Open MPI", "bcast", 5000, 262144, "scatter-ring"),
        ("Open MPI", "allgather", 12, 12 * 8, "bruck"),
        ("Open MPI", "alltoall", 16, 16 * 511, "bruck"),
        ("Open MPI", "barrier", 64, 0, "dissemination"),
    ],
)
def test_what_libraries_take(library, routine, processes, size, algorithm):
    assert decisions.choice(library, routine, processes, size) == algorithm


@settings(max_examples=20)
@given(
    st.sampled_from(decisions.LIBRARIES), st.sampled_from(list(ALGORITHMS)), st.integers(2, 90), st.integers(0, 24).map(lambda k: 1 << k)
)
def test_what_libraries_take_can_be(library, routine, processes, size):
    assert shape_of(routine, decisions.choice(library, routine, processes, size), processes, size).processes == processes
