"""The sweep and what is read off it, against their naive twins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
import naive
from perwiz.kernels import names, sweep

CUT = -(1 << 61)


@st.composite
def weighted_graphs(draw):
    graph = draw(build.graphs())
    return graph, draw(build.weights(graph, CUT))


@pytest.mark.slow
@given(weighted_graphs(), st.data())
def test_sweep__twin(drawn, data):
    graph, weight = drawn
    floor = data.draw(st.lists(st.integers(-500, 500), min_size=graph.vertices, max_size=graph.vertices))
    time = np.array(floor, "i8")
    sweep.sweep(graph.start, graph.source, weight, 0, graph.vertices, time)
    assert time.tolist() == naive.sweep(graph.start, graph.source, weight.tolist(), floor)


@given(weighted_graphs(), st.data())
def test_sweep__of_a_part_gives_the_whole_back(drawn, data):
    graph, weight = drawn
    first = data.draw(st.integers(0, graph.vertices))
    end = data.draw(st.integers(first, graph.vertices))
    time = np.zeros(graph.vertices, "i8")
    sweep.sweep(graph.start, graph.source, weight, 0, graph.vertices, time)
    again = time.copy()
    again[first:end] = 0
    sweep.sweep(graph.start, graph.source, weight, first, end, again)
    assert again.tolist() == time.tolist()


def test_sweep__no_vertices():
    none = np.empty(0, "i4")
    sweep.sweep(np.zeros(1, "i4"), none, np.empty(0, "i8"), 0, 0, np.empty(0, "i8"))


def test_sweep__worked_by_hand():
    """0 --5--> 1 --(-3)--> 2 and 0 --4--> 2, cut 0 ---> 3, whose floor is 9."""
    time = np.array([0, 0, 0, 9], "i8")
    sweep.sweep(np.array([0, 0, 1, 3, 4], "i4"), np.array([0, 1, 0, 0], "i4"), np.array([5, -3, 4, CUT]), 0, 4, time)
    assert time.tolist() == [0, 5, 4, 9]


@given(weighted_graphs(), st.data())
def test_sweep_ends__twin(drawn, data):
    """With room for no more times than are needed, which others take again: the first instants are not needed later."""
    graph, weight = drawn
    first, last = (sorted(data.draw(st.sets(st.integers(1, max(graph.vertices - 1, 1)))) if graph.vertices > 1 else ()) for _ in range(2))
    slot, rows = build.slots(graph, 1, [graph.vertices], [[]], [[]], np.bincount(graph.source, minlength=graph.vertices))
    begun, ended = np.array(first, "i4"), np.array(last, "i4")
    earliest, latest = np.full(len(first), -7), np.full(len(last), -7)
    sweep.sweep_ends(graph.start, graph.source, weight, slot, begun, ended, np.full(rows, 99), earliest, latest)
    time = naive.sweep(graph.start, graph.source, weight.tolist(), [0] * graph.vertices)
    assert [earliest.tolist(), latest.tolist()] == [[time[v] for v in vertices] for vertices in (first, last)]


def test_sweep_ends__worked_by_hand():
    """0 --5--> 1 --(-3)--> 2 and 0 --4--> 2 --1--> 3: 1 is at 5, 2 at 4, 3 at 5 in the room of 0."""
    first, last = np.zeros(2, "i8"), np.zeros(1, "i8")
    graph = np.array([0, 0, 1, 3, 4], "i4"), np.array([0, 1, 0, 2], "i4"), np.array([5, -3, 4, 1])
    sweep.sweep_ends(*graph, np.array([0, 1, 2, 0], "i4"), np.array([1, 2], "i4"), np.array([3], "i4"), np.zeros(3, "i8"), first, last)
    assert (first.tolist(), last.tolist()) == ([5, 4], [5])


@given(weighted_graphs(), st.data())
def test_sweep_parts__twin(drawn, data):
    graph, weight = drawn

    def each(low, high):
        return data.draw(st.lists(st.integers(low, high), min_size=graph.vertices, max_size=graph.vertices))

    floor, part, held = each(-500, 500), each(-1, 2), each(-500, 500)
    time = np.array(floor, "i8")
    sweep.sweep_parts(graph.start, graph.source, weight, np.array(part, "i8"), np.array(held, "i8"), 0, graph.vertices, time)
    assert time.tolist() == naive.sweep_parts(graph.start, graph.source, weight.tolist(), part, held, floor)


def test_sweep_parts__worked_by_hand():
    """0 --5--> 1 --(-3)--> 2 and 0 --4--> 2; vertex 2 is in another part, where 0 is held until 1 and 1 until 20."""
    time, held, part = np.zeros(3, "i8"), np.array([1, 20, 7]), np.array([0, 0, 1])
    sweep.sweep_parts(np.array([0, 0, 1, 3], "i4"), np.array([0, 1, 0], "i4"), np.array([5, -3, 4]), part, held, 0, 3, time)
    assert time.tolist() == [0, 5, 17]


@pytest.mark.slow
@given(weighted_graphs(), st.data())
def test_sweep_back__twin(drawn, data):
    graph, weight = drawn
    end = data.draw(st.lists(st.sampled_from([CUT, CUT, 0, 7]), min_size=graph.vertices, max_size=graph.vertices))
    left = np.array(end, "i8")
    sweep.sweep_back(graph.start, graph.source, weight, CUT, 0, graph.vertices, left)
    assert left.tolist() == naive.sweep_back(graph.start, graph.source, weight.tolist(), CUT, end)


@pytest.mark.slow
@given(weighted_graphs())
def test_find_critical_path__twin(drawn):
    graph, weight = drawn
    time = np.zeros(graph.vertices, "i8")
    sweep.sweep(graph.start, graph.source, weight, 0, graph.vertices, time)
    for last in range(graph.vertices):
        path = np.full(graph.vertices, -7, "i4")
        count = sweep.find_critical_path(graph.start, graph.source, weight, time, last, path)
        assert path[:count].tolist() == naive.find_critical_path(graph.start, graph.source, weight.tolist(), time.tolist(), last)
        assert (path[count:] == -7).all()


def test_sweep_back_and_find_critical_path__worked_by_hand():
    """0 --5--> 1 --2--> 2, 0 --9--> 2 and 2 --1--> 3, the end: the path is 0 2 3, and from 1 it is 3 to the end."""
    start, source, weight = np.array([0, 0, 1, 3, 4], "i4"), np.array([0, 1, 0, 2], "i4"), np.array([5, 2, 9, 1])
    left, path = np.array([CUT, CUT, CUT, 0]), np.zeros(4, "i4")
    sweep.sweep_back(start, source, weight, CUT, 3, 4, left)
    assert left.tolist() == [CUT, CUT, 1, 0]
    sweep.sweep_back(start, source, weight, CUT, 0, 3, left)
    assert left.tolist() == [10, 3, 1, 0]
    assert sweep.find_critical_path(start, source, weight, np.array([0, 5, 9, 10]), 3, path) == 2
    assert path[:2].tolist() == [3, 2]


@pytest.mark.slow
@given(weighted_graphs(), st.data())
def test_time_hubs__twin(drawn, data):
    graph, weight = drawn
    time = data.draw(st.lists(st.integers(-500, 500), min_size=graph.vertices, max_size=graph.vertices))
    hub = data.draw(st.lists(st.integers(1, graph.vertices - 1), unique=True).map(sorted)) if graph.vertices > 1 else []
    out = np.array(time, "i8")
    sweep.time_hubs(graph.start, graph.source, weight, np.array(hub, "i4"), out)
    assert out.tolist() == naive.time_hubs(graph.start, graph.source, weight.tolist(), hub, time)


@pytest.mark.slow
@given(weighted_graphs(), st.data())
def test_measure_waits__twin(drawn, data):
    graph, weight = drawn
    time = data.draw(st.lists(st.integers(-300, 300), min_size=graph.vertices, max_size=graph.vertices))
    returning = [-1, *data.draw(st.permutations([*range(graph.vertices - 2), -1]))] if graph.vertices > 1 else [-1]
    owner = data.draw(st.lists(st.integers(-1, 9), min_size=graph.vertices, max_size=graph.vertices))
    wait, partner = np.full(graph.vertices, 77, "i8"), np.full(graph.vertices, 77, "i4")
    columns = graph.start, graph.source, graph.kind, weight, np.array(time, "i8"), np.array(returning, "i4"), np.array(owner, "i4")
    middle = graph.vertices // 2
    for first, end in ((0, middle), (middle, graph.vertices)):
        sweep.measure_waits(*columns, first, end, wait, partner)
    expected = naive.measure_waits(graph.start, graph.source, graph.kind, weight.tolist(), time, returning, owner)
    assert list(zip(wait.tolist(), partner.tolist(), strict=True)) == [expected.get(call, (77, 77)) for call in range(graph.vertices)]


@given(st.lists(st.sampled_from(["enter", "leave", "none"]), max_size=12), st.data())
def test_spread_times__twin(what, data):
    """Vertices of calls in any order; what has none keeps what was there."""
    entering, returning = ([at if side == here else -1 for at, side in enumerate(what)] for here in ("enter", "leave"))
    time = data.draw(st.lists(st.integers(-9, 9), min_size=len(what), max_size=len(what)))
    enter, leave = np.full(len(what), 77, "i8"), np.full(len(what), 77, "i8")
    columns = np.array(time, "i8"), np.array(entering, "i4"), np.array(returning, "i4")
    for first, end in ((0, len(what) // 3), (len(what) // 3, len(what))):
        sweep.spread_times(*columns, first, end, enter, leave)
    assert enter.tolist() == [at if side == "enter" else 77 for at, side in zip(time, what, strict=True)]
    assert leave.tolist() == [at if side == "leave" else 77 for at, side in zip(time, what, strict=True)]


def test_put__worked_by_hand():
    """Vertices 2 and 0 have the times 7 and 9, and rows 0 and 1; the others keep what was there."""
    vertex, time, row = np.array([2, 0], "i4"), np.full(4, 5, "i8"), np.full(4, -1, "i4")
    sweep.put_times(vertex, np.array([7, 9], "i8"), time)
    sweep.put_rows(vertex, row)
    assert (time.tolist(), row.tolist()) == ([9, 5, 7, 5], [1, -1, 0, -1])


def waits(start, source, kind, weight, time):
    """Return how long the one call, which returns at the last vertex, waits, and for whom: vertex v has the owner 10 + v."""
    returning, owner = np.full(len(time), -1, "i4"), np.arange(10, 10 + len(time), dtype="i4")
    returning[-1] = 0
    wait, partner = np.empty(1, "i8"), np.empty(1, "i4")
    sweep.measure_waits(start, source, kind, np.array(weight, "i8"), time, returning, owner, 0, len(time), wait, partner)
    return wait[0], partner[0]


def test_measure_waits__first_of_equals_and_gaps_left_out():
    """A vertex at 10 by its local edge; partners at 30 (gap), 20, 20: it waits 10, for the first partner at 20."""
    start, source = np.array([0, 0, 0, 0, 0, 4], "i4"), np.array([0, 1, 2, 3], "i4")
    kind, time = np.array([names.LOCAL, names.GAP, names.MESSAGE, names.RENDEZVOUS], "u1"), np.array([0, 30, 20, 20, 0], "i8")
    assert waits(start, source, kind, [10, 0, 0, 0], time) == (10, 12)


@pytest.mark.parametrize("kind", [names.TRANSFER, names.START])
def test_measure_waits__its_own_transfer_and_start_are_no_wait(kind):
    """A vertex at 10 by its local edge, at 25 by the transfer it let begin, or by what begins it; a partner at 30: it waits 5."""
    start, source = np.array([0, 0, 0, 0, 3], "i4"), np.array([0, 1, 2], "i4")
    kind, time = np.array([names.LOCAL, kind, names.MESSAGE], "u1"), np.array([0, 25, 30, 0], "i8")
    assert waits(start, source, kind, [10, 0, 0], time) == (5, 12)


@settings(max_examples=20)
@given(weighted_graphs())
def test_sweep__less_weight_never_delays(drawn):
    graph, weight = drawn
    late, early = np.zeros(graph.vertices, "i8"), np.zeros(graph.vertices, "i8")
    sweep.sweep(graph.start, graph.source, weight, 0, graph.vertices, late)
    sweep.sweep(graph.start, graph.source, np.where(np.arange(len(weight)) % 2, weight, CUT), 0, graph.vertices, early)
    assert (early <= late).all()


@pytest.mark.slow
@given(weighted_graphs(), st.data())
def test_inherit_owner__twin(drawn, data):
    graph, _ = drawn
    count = graph.vertices
    time = data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    owner = data.draw(st.lists(st.integers(-1, 5), min_size=count, max_size=count))
    hub = [v for v in range(count) if graph.start[v] < graph.start[v + 1] and data.draw(st.booleans())]
    found = np.array(owner, "i4")
    sweep.inherit_owner(graph.start, graph.source, np.array(hub, "i4"), np.array(time, "i8"), found)
    assert found.tolist() == naive.inherit_owner(graph.start, graph.source, hub, time, owner)


def test_inherit_owner__by_hand():
    """Vertices 0 (nobody's), 1 of call 4 at 7, 2 of call 5 at 9; hub 3 after all of them, hub 4 after 0, 1 and hub 3."""
    start, source = np.array([0, 0, 0, 0, 3, 6], "i4"), np.array([0, 1, 2, 0, 1, 3], "i4")
    owner = np.array([-1, 4, 5, -1, -1], "i4")
    sweep.inherit_owner(start, source, np.array([3, 4], "i4"), np.array([0, 7, 9, 9, 9]), owner)
    assert owner.tolist() == [-1, 4, 5, 5, 5]
