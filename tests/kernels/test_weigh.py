"""Splitting durations, against the naive twin and by its law: a sweep gives back the recorded times."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
import naive
from perwiz.kernels import weigh

CUT = -(1 << 61)


def split(graph, time, lag):
    """Return (weights, (edges, lowered, violations, returned before) by kind)."""
    weight, fits = np.array(lag, "i8"), np.zeros(len(build.g.KINDS), weigh.FIT).view(np.recarray)
    weigh.split(graph.start, graph.source, graph.kind, np.array(time, "i8"), CUT, weight, fits)
    return weight.tolist(), fits.tolist()


@st.composite
def recordings(draw):
    """Draw a graph, times that respect program order (hubs when the last source is there), and lags."""
    graph = draw(build.graphs())
    more = draw(st.lists(st.integers(0, 40), min_size=graph.vertices, max_size=graph.vertices))
    lag = draw(st.lists(st.one_of(st.integers(0, 60), st.just(CUT)), min_size=graph.edges, max_size=graph.edges))
    time = [0]
    for v in range(1, graph.vertices):
        first, end = graph.start[v], graph.start[v + 1]
        if graph.kind[first] == naive.LOCAL:
            lag[first] = draw(st.sampled_from([0, 0, 12]))
            time.append(time[graph.source[first]] + more[v])
        else:
            lag[first:end] = [0] * (end - first)
            time.append(max(time[graph.source[k]] for k in range(first, end)))
    return graph, time, lag


@pytest.mark.slow
@given(recordings())
def test_split__twin(drawn):
    graph, time, lag = drawn
    weight, fits = naive.split(graph.start.tolist(), graph.source.tolist(), graph.kind.tolist(), time, CUT, lag)
    assert split(graph, time, lag) == (weight, fits)


@pytest.mark.slow
@given(recordings())
def test_split__a_sweep_gives_back_the_times(drawn):
    graph, time, lag = drawn
    weight, _ = split(graph, time, lag)
    assert naive.sweep(graph.start, graph.source, weight, [0] * graph.vertices) == time


@given(st.data())
def test_rest__twin(data):
    """Of calls in another order than their vertices, which stand among others."""
    calls = data.draw(st.integers(0, 6))
    number = st.lists(st.integers(0, 50), min_size=calls + 3, max_size=calls + 3)
    weight, lag, lasts = (data.draw(number) for _ in range(3))
    returning = data.draw(st.permutations([*range(calls), -1, -1, -1]))
    columns = (np.array(column, "i8") for column in (weight, lag, [5] * calls, [5 + one for one in lasts[:calls]]))
    start, out = np.arange(calls + 4, dtype="i4"), np.full(calls, -7)
    weigh.rest(start, np.array(returning, "i4"), *columns, out)
    assert out.tolist() == naive.rest(start.tolist(), returning, weight, lag, lasts[:calls])


@given(build.graphs(), st.data())
def test_reweigh__twin(graph, data):
    """Of lags and weights a third of which is cut, small ones often halfway; messages of all edges are the same three."""
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 30)))
    local = [v for v in range(1, graph.vertices) if graph.kind[graph.start[v]] == naive.LOCAL and v % 3]
    returning, calls = np.full(graph.vertices, -1, "i4"), len(local)
    returning[local] = rng.permutation(calls)
    weight, before, lag = rng.choice([CUT, 0, 1, 3, 7, 250, 1 << 20], (3, graph.edges), p=[0.3, *[0.7 / 6] * 6])
    for column in (weight, before, lag):
        column[graph.kind == naive.GAP] %= 64
        column[graph.start[:-1][local]] %= 64
    worked, works, enter, lasts = rng.integers(0, 40, (4, calls))
    cause, let_go = rng.integers(0, 3, graph.edges, "i4"), rng.integers(0, 2, 3 * int(rng.integers(0, 2)), "u1")
    edge = np.flatnonzero(before).astype("i4")
    columns = graph.start, graph.kind, cause, returning, weight, edge, before[edge], worked, works, enter, enter + lasts, let_go
    out = lag.copy()
    weigh.reweigh(*columns, CUT, out)
    lists = [column.tolist() for column in (graph.start, graph.kind, cause, returning, weight, before)]
    work = list(zip(worked.tolist(), works.tolist(), strict=True))
    expected = naive.reweigh(*lists, work, lasts.tolist(), np.flatnonzero(let_go).tolist(), CUT, lag.tolist())
    assert out.tolist() == expected


def test_reweigh__by_hand():
    """A call from 0 to 100 with an own request of 10, of 30 behind its lags the model explains 20, and edges from partners.

    On the other network the request takes 15, and work 30: 10 + 20 + 10 become 15 + 30 + 10. A message of 50 with 30 behind it, whose lag
    of 100 becomes 150, takes 75 then; one that comes alive all of its 7; a cut one stays so; a gap of 5, 20 by the model, becomes 10 of 40;
    half of 1 and of 3 go to even numbers, 0 and 2. From an interface 3 ns more are 3 ns more.
    """
    start = np.array([0, 0, 1, 10], "i4")
    kind = np.array([0, 0, 1, 2, 2, naive.GAP, naive.GAP, naive.GAP, 2, naive.EJECTION], "u1")
    weight = np.array([10, 40, 80, CUT, CUT, 5, 1, 3, 40, 50])
    before, lag = np.array([[0, 10, 100, CUT, 0, 20, 2, 2, 0, 6], [0, 15, 150, 7, 0, 40, 1, 1, 0, 9]])
    cause = np.array([-1, -1, 0, 1, 2, -1, -1, -1, 3, 4], "i4")
    times = np.array([20]), np.array([30]), np.array([0]), np.array([100])
    sparse = np.flatnonzero(before).astype("i4"), before[before != 0]
    weigh.reweigh(start, kind, cause, np.array([-1, -1, 0], "i4"), weight, *sparse, *times, np.array([0, 0, 0, 1, 0], "u1"), CUT, lag)
    assert lag.tolist() == [10, 55, 40 + 75, 40 + 7, CUT, 10, 0, 2, CUT, 40 + 20 + 3]


def test_split__every_case_of_a_partner():
    """A call from 100 to 150 with an own request of 12 and six partners, at these times with these lags:

        message 110 + 16: holds, arrives 126      message 140 + 16: lowered to 10, arrives 150
        message 160 + 16: a violation, -10        rendezvous 160 + 0: cut, the sender was eager
        rendezvous 90, cut as it is eager         gap 145 + 20: lowered to 5, never gets the rest

    The rest is 150 - 150 = 0.
    """
    start = np.array([0, 0, 1, 2, 3, 4, 5, 6, 7, 14], "i4")
    source = np.array([0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7], "i4")
    kind = np.array([0] * 8 + [1, 1, 1, 2, 2, naive.GAP], "u1")
    graph = build.g.Graph(start, source, kind, source, *[source[:0]] * 4, contradictions=0)
    weight, fits = split(graph, [0, 100, 110, 140, 160, 160, 90, 145, 150], [0] * 7 + [12, 16, 16, 16, 0, CUT, 20])
    assert weight[7:] == [12, 16, 10, -10, CUT, CUT, 5]
    assert fits[naive.LOCAL] == (1, 0, 0, 0)
    assert fits[naive.MESSAGE] == (3, 2, 1, 0)
    assert fits[naive.RENDEZVOUS] == (0, 0, 0, 1)
    assert fits[naive.GAP] == (1, 1, 0, 0)


def test_split__own_request_longer_than_the_call():
    """A call of 5 ns cannot hold a request of 12: all of it is request, nothing is left to work."""
    start, source, kind = np.array([0, 0, 1, 2], "i4"), np.array([0, 1], "i4"), np.zeros(2, "u1")
    graph = build.g.Graph(start, source, kind, source, *[source[:0]] * 4, contradictions=0)
    weight, fits = split(graph, [0, 10, 15], [0, 12])
    assert (weight, fits[naive.LOCAL]) == ([10, 5], (1, 1, 0, 0))
    assert split(graph, [0, 10, 22], [0, 12])[1][naive.LOCAL] == (1, 0, 0, 0)


@pytest.mark.slow
@given(recordings(), st.sampled_from([naive.GAP, naive.TRANSFER + 1]), st.data())
def test_cut_incoming__twin(drawn, spared, data):
    graph, _, lag = drawn
    vertex = data.draw(st.lists(st.integers(0, graph.vertices - 1), unique=True))
    weight = np.array(lag, "i8")
    weigh.cut_incoming(graph.start, graph.kind, np.array(vertex, "i4"), spared, CUT, weight)
    assert weight.tolist() == naive.cut_incoming(graph.start.tolist(), graph.kind.tolist(), vertex, spared, CUT, lag)
