"""The sweep of several sets at once, against cutting and sweeping one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
import naive
import naive_whatif
from perwiz.graph.graph import GAP, LOCAL, START
from perwiz.kernels import sets

CUT = -(1 << 61)


def slots(graph, ended):
    """Return the slots of a graph whose times at `ended` are read, how many there are, and the last use of each vertex."""
    uses = np.bincount(graph.source, minlength=graph.vertices).astype("i4")
    uses[ended] += 1
    slot, last = np.full((2, graph.vertices), -7, "i4")
    sets.last_uses(graph.start, graph.source, last)
    return slot, sets.assign_slots(graph.start, graph.source, uses, np.empty(graph.vertices, "i4"), slot), last


@pytest.mark.slow
@given(build.graphs(), st.data())
def test_assign_slots__nobody_needs_what_is_overwritten(graph, data):
    ended = [v for v in range(graph.vertices) if data.draw(st.booleans())]
    slot, rows, last = slots(graph, ended)
    assert last.tolist() == naive_whatif.last_use(graph.start, graph.source, graph.vertices)
    last[ended] = graph.vertices
    for v in range(graph.vertices):
        assert not any(slot[u] == slot[v] for u in range(v) if last[u] >= v)
    busy = [sum(u <= v <= last[u] for u in range(graph.vertices)) for v in range(graph.vertices)]
    assert rows == max(busy) == max(slot) + 1


@st.composite
def cases(draw):
    """Draw a weighted graph, the vertices where calls return, their groups, lanes per group, and where locations end."""
    graph = draw(build.graphs())
    returned = [v for v in range(1, graph.vertices) if graph.kind[graph.start[v]] == LOCAL and draw(st.booleans())]
    group = np.zeros(graph.vertices, "i4")
    group[returned] = [draw(st.integers(0, 3)) for _ in returned]
    lanes = [0, *(draw(st.integers(0, 7)) for _ in range(3))]
    ended = draw(st.lists(st.integers(0, graph.vertices - 1), min_size=1, unique=True))
    return graph, draw(build.weights(graph, CUT)), returned, group, np.array(lanes, "i4"), ended


@pytest.mark.slow
@settings(max_examples=100)
@given(cases())
def test_sweeps__twin(drawn):
    """Over the window from the first to the last change, and from there over all."""
    graph, weight, returned, group, lanes, ended = drawn
    slot, rows, _ = slots(graph, ended)
    known = np.array(naive.sweep(graph.start, graph.source, weight.tolist(), [0] * graph.vertices))
    first = min(returned, default=0)
    for run, spared in ((sets.sweep_zero_wait, GAP), (sets.sweep_zero_time, START)):
        time = np.full((rows, 3), 99, "i8")
        sets.load_times(graph.start, graph.source, slot, known, first, graph.vertices, time)
        run(graph.start, graph.source, graph.kind, weight, slot, first, lanes[group[first:]], time)
        late = [v for v in ended if v >= first]
        for j in range(3):
            chosen = [v for v in returned if lanes[group[v]] >> j & 1]
            found = max([*time[slot[late], j].tolist(), *(known[v] for v in ended if v < first)])
            assert found == naive_whatif.end(graph, weight.tolist(), (chosen, spared), ended)


@pytest.mark.slow
@given(cases(), st.data())
def test_leave_window__twin(drawn, data):
    graph, weight, *_, ended = drawn
    slot, rows, last = slots(graph, ended)
    first = data.draw(st.integers(0, graph.vertices - 1))
    end = data.draw(st.integers(first + 1, graph.vertices))
    known = np.array(naive.sweep(graph.start, graph.source, weight.tolist(), [0] * graph.vertices))
    left = np.array(data.draw(st.lists(st.integers(0, 900), min_size=graph.vertices, max_size=graph.vertices)), "i8")
    time, best = np.zeros((rows, 2), "i8"), np.full(2, 3 * CUT, "i8")
    sets.load_times(graph.start, graph.source, slot, known, first, end, time)
    sets.sweep_zero_wait(graph.start, graph.source, graph.kind, weight, slot, first, np.zeros(end - first, "i4"), time)
    sets.leave_window(graph.start, graph.source, weight, slot, left, first, end, last[first:end].max(), time, best)
    expected = naive_whatif.leave_window(graph.start, graph.source, weight.tolist(), known.tolist(), left.tolist(), (first, end))
    assert [None if value == 3 * CUT else value for value in best.tolist()] == [expected] * 2


def test_sweep_zero_wait__worked_by_hand():
    """0 --5--> 1, 0 --9--> 1 and 1 --2--> 2: lane 1 changes vertex 1, so that it is at 5 there and at 9 in the other lane."""
    start, source = np.array([0, 0, 2, 3], "i4"), np.array([0, 0, 1], "i4")
    kind, time = np.array([0, 1, 0], "u1"), np.full((3, 2), -1)
    given_ = start, source, kind, np.array([5, 9, 2]), np.arange(3, dtype="i4"), 0, np.array([0, 2, 0], "i4")
    sets.sweep_zero_wait(*given_, time)
    assert time.tolist() == [[0, 0], [9, 5], [11, 7]]
    sets.sweep_zero_time(*given_, time)
    assert time.tolist() == [[0, 0], [9, 0], [11, 2]]
