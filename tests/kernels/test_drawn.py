"""Runs drawn anew, against their naive twins."""

import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import build
import naive
from perwiz.graph.border import Border, Bundle, Step
from perwiz.graph.slots import slots
from perwiz.kernels import drawn

CUT = -(1 << 61)


@st.composite
def weighted_graphs(draw):
    graph = draw(build.graphs())
    return graph, draw(build.weights(graph, CUT))


@given(weighted_graphs(), st.data())
def test_sweep__twin(made, data):
    """Of some vertices the times are told; the others are swept in two pieces, in sixteen runs or thirty-two."""
    graph, weight = made
    many, runs = graph.vertices, data.draw(st.sampled_from([16, 32]))
    kept, until = sorted(data.draw(st.lists(st.integers(1, many), min_size=2, max_size=2)))
    row = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=many, max_size=many)), "i4")
    more, share = (np.array(data.draw(st.lists(st.integers(-50, 50), min_size=many, max_size=many)), "f4") for _ in range(2))
    deviation = np.array(data.draw(st.lists(st.lists(st.integers(-4, 4), min_size=runs, max_size=runs), min_size=3, max_size=3)), "f8")
    first, last = (np.array(sorted(data.draw(st.sets(st.integers(0, many - 1)))), "i4") for _ in range(2))
    twin = naive.sweep_drawn(graph.start, graph.source, weight.tolist(), row, more, share, (deviation / 4).tolist())
    copies = np.arange(1, kept, dtype="i4")
    steps = Step([Bundle(0, copies, copies[:0], copies)], kept, until, []), Step([], until, many, [])
    where = slots(dataclasses.replace(graph, border=Border(None, slice(None), kept, steps)))
    time = np.empty((where.rows, data.draw(st.sampled_from([runs, 32]))))
    time[where.row[:kept], :runs] = np.array(twin).T[:kept]
    earliest, latest = np.full(runs, np.inf), np.full(runs, -np.inf)
    for begin, end in ((kept, until), (until, many)):
        ends = [each[(each >= begin) & (each < end)] for each in (first, last)]
        columns = graph.start, graph.source, weight, row, more, share, deviation / 4
        drawn.sweep(*columns, where.row, begin, end, *ends, time, earliest, latest)
    assert earliest.tolist() == [min([run[v] for v in first if v >= kept], default=np.inf) for run in twin]
    assert latest.tolist() == [max([run[v] for v in last if v >= kept], default=-np.inf) for run in twin]


def test_sweep__worked_by_hand():
    """0 --5--> 1 --3--> 2 and 0 --4--> 2; 1 takes 2 and 10 times the deviation of the run longer, which is 0, 1/2, -1 and 1. From 0 on."""
    start, source, weight = np.array([0, 0, 1, 3], "i4"), np.array([0, 1, 0], "i4"), np.array([5, 3, 4])
    row, more, share, time = np.array([-1, 0, -1], "i4"), np.array([0, 2, 0], "f4"), np.array([0, 10, 0], "f4"), np.zeros((3, 16))
    ends, deviation = (np.array([1], "i4"), np.array([2], "i4")), np.array([[0, 0.5, -1, 1] * 4])
    earliest, latest = np.full(16, np.inf), np.full(16, -np.inf)
    slot = np.arange(3, dtype="i4")
    drawn.sweep(start, source, weight, row, more, share, deviation, slot, 1, 3, *ends, time, earliest, latest)
    assert (earliest.tolist(), latest.tolist()) == ([7, 12, 0, 17] * 4, [10, 15, 4, 20] * 4)


@given(st.lists(st.dictionaries(st.integers(0, 5), st.integers(-9, 9), min_size=1), min_size=1, max_size=4), st.data())
def test_turn__twin(pools, data):
    """Pools as their deviations by part of the run, of which there are six."""
    pools = [dict(sorted(pool.items())) for pool in pools]
    source = np.array(data.draw(st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=2), min_size=6, max_size=6)))
    there = np.array([[part in pool for part in range(6)] for pool in pools])
    first, behind = np.append(0, there.sum(axis=1).cumsum()), (there.cumsum().reshape(there.shape) - there).astype("i4")
    deviation = np.array([each for pool in pools for each in pool.values()], "f8")
    pool, part = (np.ascontiguousarray(column) for column in np.nonzero(there))
    out = np.empty((len(pool), 2))
    drawn.turn(pool, part, first, np.ascontiguousarray(behind.T), deviation, source, out)
    assert out.T.tolist() == [naive.turned(pools, of) for of in source.T.tolist()]


def test_turn__worked_by_hand():
    """A pool is in parts 0 and 2, another in all three. Parts 1 2 0 come for 0 1 2: the first has in 1 what it has in 2."""
    pool, part, first = np.array([0, 0, 1, 1, 1]), np.array([0, 2, 0, 1, 2]), np.array([0, 2, 5])
    behind, out = np.array([[0, 2], [1, 3], [1, 4]], "i4"), np.empty((5, 1))
    drawn.turn(pool, part, first, behind, np.array([1.0, 2, 3, 4, 5]), np.array([[1], [2], [0]]), out)
    assert out[:, 0].tolist() == [2, 1, 4, 5, 3]


def test_place__worked_by_hand():
    """Vertices 1, 2 and 3 are 1, 0 and 2 of the recorded run, which took 10, 0 and 5 ns and take 30, 7 and 10: 3 and 2 times as long.

    If bounded 1.
    """
    start, weight, whole = np.array([0, 0, 1, 2, 3], "i4"), np.array([30, 7, 10]), np.array([0, 10, 5], "f4")
    vertex, piece, stretch = np.array([1, 2, 3], "i4"), np.array([1, 0, 2], "i4"), np.array([4, 5, 6], "i4")
    more, share = np.array([1, 2, 3], "f4"), np.array([5, 6, 7], "f4")
    for bounded, three, two in ((False, 3, 2), (True, 1, 1)):
        later, part = np.zeros(4, "f4"), np.zeros(4, "f4")
        drawn.place(start, weight, vertex, piece, bounded, whole, stretch, more, share, later, part)
        assert (later.tolist(), part.tolist()) == ([0, 2 * three, 0, 3 * two], [0, 6 * three, 0, 7 * two])


def test_shares__worked_by_hand():
    """Pieces of 10, 10, 9, 16, 7 and 5 ns are vertices 1 2 3 4 6 5: one of a stretch that took twice as long as usual, one of one that took
    no time, of which 4 are usual, two of what is seldom, 4 in common, one that is not drawn, and one that weighs nothing.

    The first three compute.
    """
    vertex, piece = np.array([1, 2, 3, 4, 6, 5], "i4"), np.array([0, 1, 2, 3, -1, 0], "i4")
    told, length = np.array([1, 1, 0, 0, 0, 1], "u1"), np.array([10, 10, 9, 16, 7, 5])
    group, usual = np.array([0, 1, 0, 0, 0, 0], "i4"), np.array([0.0, 4])
    start, weight = np.array([0, 0, 1, 2, 3, 4, 5, 6], "i4"), np.array([99, 99, 99, 16, 0, 7])
    times, place = np.array([2.0, 0]), np.array([1, 0, 2, 3])
    stretch, (whole, more, share) = np.full(7, -1, "i4"), np.zeros((3, 7), "f4")
    columns, known = (vertex, piece, told, length, group), (usual, start, weight, times, place, 4.0)
    for begin, end in ((0, 4), (4, 6)):
        drawn.shares(3 - begin, *(column[begin:end] for column in columns), *known, whole, stretch, more, share)
    assert whole.tolist() == [0, 10, 10, 9, 16, 0, 7]
    assert stretch.tolist() == [-1, 1, 0, 2, 3, 1, -1]
    assert (more.tolist(), share.tolist()) == ([0, -5, -6, 0, 0, 0, 0], [0, 5, 4, 6, 8, 0, 7])


@given(st.lists(st.tuples(st.integers(-1, 3), st.booleans(), st.integers(0, 30), st.integers(0, 1), st.booleans()), max_size=9), st.data())
def test_shares__twin(pieces, data):
    """Pieces as (stretch, told, length, group, takes time), two of four stretches seldom, in any order of vertices."""
    pieces = [(stretch, told and stretch in (0, 1), *rest) for stretch, told, *rest in pieces]
    vertex = np.array(data.draw(st.permutations(range(len(pieces)))), "i4")
    times, usual, place = data.draw(st.sampled_from([[0.0, 1.5], [2.0, 0.5]])), [3.0, 7.0], [2, 0, 1, 3]
    piece, told, length, group, takes = (
        np.array(column, kind)
        for column, kind in zip(list(zip(*pieces, strict=True)) or [[]] * 5, ("i4", "u1", "i8", "i4", "i8"), strict=True)
    )
    start, weight = np.arange(len(pieces) + 1, dtype="i4"), np.zeros(len(pieces), "i8")
    weight[vertex] = takes
    stretch, (whole, more, share) = np.zeros(len(pieces), "i4"), np.zeros((3, len(pieces)), "f4")
    columns = np.array(usual), start, weight, np.array(times), np.array(place)
    drawn.shares(0, vertex, piece, told, length, group, *columns, 6.0, whole, stretch, more, share)
    twin = [naive.shared(*each, usual, times, place, 6.0) for each in pieces]
    assert (whole[vertex].tolist(), stretch[vertex].tolist()) == (takes.tolist(), [each[0] for each in twin])
    assert more[vertex].tolist() == [np.float32(each[1]) for each in twin]
    assert share[vertex].tolist() == [np.float32(each[2]) for each in twin]


def test_unchanged__worked_by_hand():
    """Vertices 1 to 3 weighed 30, 7 and 10 by their first edges; 2 is not drawn."""
    start, stretch, whole = np.array([0, 0, 1, 3, 4], "i4"), np.array([-1, 0, -1, 2], "i4"), np.array([0, 30, 7, 10], "f4")
    for weight, same in (([30, 7, 9, 10], True), ([30, 8, 9, 10], True), ([30, 7, 9, 11], False), ([29, 7, 9, 10], False)):
        assert drawn.unchanged(start, np.array(weight), stretch, whole, 1, 4) is same
    assert drawn.unchanged(start, np.array([29, 7, 9, 10]), stretch, whole, 2, 4) is True


def test_place__not_drawn():
    later, vertex, piece = np.zeros(2, "f4"), np.ones(1, "i4"), np.zeros(1, "i4")
    one, none, start = np.ones(1, "f4"), np.full(1, -1, "i4"), np.array([0, 0, 1], "i4")
    drawn.place(start, np.array([9]), vertex, piece, False, np.ones(1, "f4"), none, one, one, later, later)
    assert later.tolist() == [0, 0]
