"""The topological order and the edges by their target, against their naive twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from perwiz.kernels import names, order


@st.composite
def listed_edges(draw):
    """Draw (edges, chained): vertices in program numbering, edges both ways so that there are cycles too."""
    size = draw(st.integers(1, 12))
    chained = [False, *draw(st.lists(st.booleans(), min_size=size - 1, max_size=size - 1))]
    chained[-1] = False
    heads = [v for v in range(1, size) if not chained[v - 1]]
    vertex = st.integers(0, size - 1)
    more = draw(st.lists(st.tuples(vertex, st.integers(1, size - 1)), max_size=12)) if size > 1 else []
    if draw(st.booleans()):
        more = [(min(pair), max(pair)) for pair in more if pair[0] != pair[1]]
    return [(0, v) for v in heads] + more, chained


def placed(edges, chained, degrees=1):
    """Return the vertices the kernel places, so many numbers of edges into one told apart."""
    source, target = (np.array([edge[side] for edge in edges], "i4") for side in (0, 1))
    size = len(chained)
    waiting, first = np.zeros(size, "i4"), np.zeros(size, "i4")
    order.count(target, waiting)
    waiting[1:] += np.array(chained[:-1], "i4")
    order.count(source, first)
    first = np.concatenate(([0], np.cumsum(first))).astype("i4")
    edge, spare, out = np.empty(len(edges), "i4"), np.empty(size, "i4"), np.full(size, -7, "i4")
    degree, places = np.minimum(waiting, degrees - 1).astype("u1"), np.full(degrees, 99, "i8")
    cursor = first[:-1].copy()
    order.group(source, cursor, edge)
    assert cursor.tolist() == first[1:].tolist(), "each cursor ends where the next group begins"
    count = order.order(first, edge, target, np.array(chained, "u1"), waiting, degree, places, spare, out)
    assert (out[count:] == -7).all(), "writes behind the vertices it places"
    return out[:count].tolist()


@pytest.mark.slow
@given(listed_edges(), st.integers(1, 4))
def test_order__twin(drawn, degrees):
    edges, chained = drawn
    found = placed(edges, chained, degrees)
    assert found == naive.order(edges, chained, degrees)
    chain = [(v, v + 1) for v, is_chained in enumerate(chained) if is_chained]
    position = {v: p for p, v in enumerate(found)}
    assert all(position[a] < position[b] for a, b in edges + chain if b in position)


def test_order__alike_stand_together():
    """0 -> 1 .. 4 -> 5 .. 8, and 6 and 8 also from 1: in the third step 5 and 7 come first, with one edge each, if that is told apart."""
    edges = [(0, v) for v in range(1, 5)] + [(v, v + 4) for v in range(1, 5)] + [(1, 6), (1, 8)]
    assert placed(edges, [False] * 9, 3) == [0, 1, 2, 3, 4, 5, 7, 6, 8]
    assert placed(edges, [False] * 9) == [0, 1, 2, 3, 4, 5, 6, 7, 8]


def test_order__cycle_and_what_follows_it_stay_out():
    """0 -> 1, 0 -> 2, 2 <-> 3 -> 4: only 0 and 1 can be placed."""
    assert placed([(0, 1), (0, 2), (2, 3), (3, 2), (3, 4)], [False] * 5) == [0, 1]


@given(st.lists(st.integers(-1, 7), max_size=20), st.integers(0, 7))
def test_count__twin(key, size):
    """Numbers without a cell, below the first and behind the last, are told, and nothing beside the cells is written."""
    cells = np.zeros(size + 2, "i4")
    bad = order.count(np.array(key, "i4"), cells[1:-1])
    assert (cells[1:-1].tolist(), bad) == naive.count(key, size)
    assert cells[[0, -1]].tolist() == [0, 0]


@given(st.lists(st.integers(0, 5), max_size=20))
def test_group__twin(key):
    cells, out = np.array(naive.count(key, 6)[0], "i4"), np.full(len(key), -1, "i4")
    order.group(np.array(key, "i4"), (np.cumsum(cells) - cells).astype("i4"), out)
    assert out.tolist() == naive.group(key)


@pytest.mark.slow
@given(listed_edges())
def test_lead_in__twin(drawn):
    edges, chained = drawn
    vertex = naive.order(edges, chained)
    if len(vertex) < len(chained):
        return
    expected = naive.lead_in(vertex, edges, chained)
    start = np.cumsum([0, *map(len, expected)]).astype("i4")
    position = np.argsort(vertex).astype("i4")
    source, edge = np.full((2, start[-1]), -9, "i4")
    sides = (np.array([edge[side] for edge in edges], "i4") for side in (0, 1))
    order.lead_in(np.array(vertex, "i4"), position, np.array(chained, "u1"), *sides, start[:-1].copy(), source, edge)
    assert list(zip(source.tolist(), edge.tolist(), strict=True)) == [pair for pairs in expected for pair in pairs]


def components(edges, chained, skipped=()):
    """Return the sets of vertices the kernel gives one number."""
    source, target = (np.array([edge[side] for edge in edges], "i4") for side in (0, 1))
    size = len(chained)
    first = np.zeros(size, "i4")
    order.count(source, first)
    first = np.concatenate(([0], np.cumsum(first))).astype("i4")
    edge, out = np.empty(len(edges), "i4"), np.full(size, names.UNNUMBERED, "i4")
    order.group(source, first[:-1].copy(), edge)
    out[list(skipped)] = names.SKIPPED
    order.components(first, edge, target, np.array(chained, "u1"), *np.zeros((5, size), "i4"), out)
    assert (out[list(skipped)] == names.SKIPPED).all()
    assert set(out.tolist()) - {names.SKIPPED} == set(range(out.max(initial=-1) + 1)), "numbers without holes"
    return {frozenset(np.flatnonzero(out == number).tolist()) for number in set(out.tolist()) - {names.SKIPPED}}


@pytest.mark.slow
@given(listed_edges(), st.data())
def test_components__twin(drawn, data):
    edges, chained = drawn
    skipped = data.draw(st.sets(st.integers(0, len(chained) - 1)))
    assert components(edges, chained, skipped) == naive.components(edges, chained, skipped)


def test_components__by_hand():
    """0 -> 1 <-> 2 -> 3 -> 4 -> 3 with 1 -> 2 chained; 5 alone. With 4 skipped, 3 is alone too."""
    edges, chained = [(0, 1), (2, 1), (2, 3), (3, 4), (4, 3)], [False, True, False, False, False, False]
    assert components(edges, chained) == {frozenset({0}), frozenset({1, 2}), frozenset({3, 4}), frozenset({5})}
    assert components(edges, chained, {4}) == {frozenset({0}), frozenset({1, 2}), frozenset({3}), frozenset({5})}


def proceed(edges, chained, apart):
    """Return the vertices in order: those that others place come in as soon as nothing else can be placed, the first first."""
    size = len(chained)
    source, target = (np.array([edge[side] for edge in edges], "i4").reshape(-1) for side in (0, 1))
    first, waiting = np.zeros(size, "i4"), np.zeros(size, "i4")
    order.count(source, first)
    order.count(target, waiting)
    waiting[1:] += np.array(chained, "i4")[:-1]
    waiting[list(apart)] = 1
    first = np.concatenate(([0], np.cumsum(first))).astype("i4")
    edge, out = np.empty(len(edges), "i4"), np.zeros(size, "i4")
    order.group(source, first[:-1].copy(), edge)
    head, tail, left = 0, 1, sorted(apart)
    while True:
        head = order.proceed(first, edge, target, np.array(chained, "u1"), waiting, head, tail, out)
        if not left:
            return out[:head].tolist()
        out[head] = left.pop(0)
        tail = head + 1


@pytest.mark.slow
@given(listed_edges(), st.data())
def test_proceed__twin(drawn, data):
    edges, chained = drawn
    apart = data.draw(st.sets(st.integers(1, len(chained) - 1))) if len(chained) > 1 else set()
    edges = [edge for edge in edges if edge[1] not in apart and edge[1] != 0]
    chained = [follows and v + 1 not in apart for v, follows in enumerate(chained)]
    assert proceed(edges, chained, apart) == naive.proceed(edges, chained, apart)


def test_proceed__waits_for_others():
    """0 -> 1, 1 and 3 -> 2, where 3 is placed by another process, and 2 followed by 4 -> 5."""
    edges, chained = [(0, 1), (1, 2), (3, 2), (2, 4)], [False, False, False, False, True, False]
    assert proceed(edges, chained, {3}) == [0, 1, 3, 2, 4, 5]


def test_tell__by_hand():
    """Vertex 1 has copies on peers 1 (number 7) and 0 (number 4), 2 none, 3 on peer 1 (number 5); peer 1 was told a number before."""
    first, peer, number = (np.array(column, "i4") for column in ([0, 0, 2, 2, 3], [1, 0, 1], [7, 4, 5]))
    cursor, out = np.array([0, 2], "i8"), np.full(4, -1, "i4")
    order.tell(np.array([3, 2, 1], "i4"), first, peer, number, cursor, out)
    assert (cursor.tolist(), out.tolist()) == ([1, 4], [4, -1, 5, 7])
