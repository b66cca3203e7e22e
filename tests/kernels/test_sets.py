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
    uses, last = np.bincount(graph.source, minlength=graph.vertices), np.full(graph.vertices, -7, "i4")
    uses[ended] += 1
    sets.last_uses(graph.start, graph.source, last)
    return *build.slots(graph, 1, [graph.vertices], [[]], [[]], uses), last


@pytest.mark.slow
@given(build.graphs(), st.data())
def test_assign_slots__nobody_needs_what_is_overwritten(graph, data):
    ended = [v for v in range(graph.vertices) if data.draw(st.booleans())]
    slot, rows, last = slots(graph, ended)
    assert last.tolist() == naive_whatif.last_use(graph.start, graph.source, graph.vertices)
    last[[0, *ended]] = graph.vertices
    for v in range(graph.vertices):
        assert not any(slot[u] == slot[v] for u in range(v) if last[u] >= v)
    busy = [sum(u <= v <= last[u] for u in range(graph.vertices)) for v in range(graph.vertices)]
    assert rows == max(busy) == max(slot) + 1


@pytest.mark.slow
@settings(max_examples=300)
@given(build.graphs(), st.data())
def test_assign_slots__in_rounds(graph, data):
    """Copies are told before the first round that needs them, or never and nobody needs them; own vertices are given behind their round."""
    vertices, rounds = graph.vertices, data.draw(st.integers(1, 3))
    own, *ends = sorted([*data.draw(st.lists(st.integers(1, vertices), min_size=rounds, max_size=rounds)), vertices])
    round_of = np.searchsorted(ends, np.arange(vertices), "right")
    needs = {u: {v for v in range(own, vertices) if u in graph.source[graph.start[v] : graph.start[v + 1]]} for u in range(vertices)}
    first = {u: min((int(round_of[v]) for v in needs[u]), default=rounds) for u in range(own)}
    told = {u: data.draw(st.integers(0, min(first[u], rounds - 1) if needs[u] else rounds)) for u in range(1, own)}
    into = [[u for u in told if told[u] == number] for number in range(rounds)]
    given_to = {v: data.draw(st.integers(0, 2)) for v in range(own, vertices)}
    out = [[v for v in given_to for _ in range(given_to[v]) if round_of[v] == number] for number in range(rounds)]
    ended = [v for v in range(own, vertices) if data.draw(st.booleans())]
    uses = np.bincount(np.array(graph.source[graph.start[own] :]), minlength=vertices)
    for v in [*ended, *(v for each in out for v in each)]:
        uses[v] += 1
    slot, rows = build.slots(graph, own, ends, into, out, uses)
    born, gone, clock = {}, dict.fromkeys(range(vertices), 0), 0
    for number, begin in enumerate([own, *ends[:-1]]):
        for moment in [into[number], *([v] for v in range(begin, ends[number]))]:
            born |= dict.fromkeys(moment, clock := clock + 1)
        clock += 1
        gone |= dict.fromkeys(out[number], clock)
    gone |= dict.fromkeys(ended, clock + 1)
    lives = {u: (born[u], max(born[u], gone[u], *(born[v] for v in needs[u]))) for u in born}
    assert {u for u in range(vertices) if slot[u] == 0} == set(range(vertices)) - set(born)
    assert not any(slot[u] == slot[v] for v in born for u in born if u != v and lives[u][0] <= lives[v][0] <= lives[u][1])
    assert rows == 1 + max([sum(begin <= at <= end for begin, end in lives.values()) for at in range(clock + 1)])


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
