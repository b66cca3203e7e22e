"""The controlled logical clock's passes over the graph, against their naive twins on random programs with wrong clocks."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
import naive_clock
from perwiz.clock.clock_graph import bind, vertex_times
from perwiz.graph.build import build as build_graph
from perwiz.kernels import clock_logical as kernel

FREE = naive_clock.FREE
MUS = [(0, 0, 0), (1000, 1000, 1000), (300, 2500, 70_000), (0, 0, 5000)]


@st.composite
def programs(draw):
    """Draw a trace whose locations lie on nodes of metahosts, its graph, records inside calls, and vertex times by clocks off by 50 us."""
    trace = draw(st.one_of(naive_clock.traces(regions=False), prefixes()))
    count = len(trace.locations)
    drawn = [draw(st.lists(st.integers(0, 1), min_size=count, max_size=count)) for _ in range(2)]
    node, metahost = (np.array(of_process, "i4")[trace.locations.process] for of_process in drawn)
    locations = dataclasses.replace(trace.locations, node=node, metahost=metahost)
    _, clock_graph, time = bound(dataclasses.replace(trace, locations=locations))
    inside = draw(st.lists(st.sampled_from([0, 30, 2500]), min_size=len(trace.messages), max_size=len(trace.messages)))
    clock_graph = dataclasses.replace(clock_graph, inside=np.array([*inside, 0], "i8"))
    off = draw(st.lists(st.integers(0, 50_000), min_size=count, max_size=count))
    time[clock_graph.owner >= 0] += np.array(off, "i8")[clock_graph.owner[clock_graph.owner >= 0]] if count else 0
    return clock_graph, time


@st.composite
def prefixes(draw):
    """Draw a program of scans over many ranks, some of which send or receive nothing."""
    ranks = draw(st.integers(2, 7))
    b = build.Builder(ranks, work=0)
    for _ in range(draw(st.integers(1, 3))):
        for rank in range(ranks):
            b.compute(rank, draw(st.sampled_from([0, 10, 900, 5000])))
        routine = draw(st.sampled_from(["Scan", "Exscan", "Allreduce", "Ireduce_scatter"]))
        for rank in range(ranks):
            b.join(rank, routine, bytes=draw(st.sampled_from([0, 8])))
    return b.trace()


def bound(trace):
    """Return the graph of a trace, that graph as the passes take it, and the recorded time of each vertex, ns."""
    graph = build_graph(trace)
    time = np.zeros(graph.vertices, "i8")
    vertex_times(trace, trace.timeline, graph, time)
    return graph, bind(trace, trace.timeline, graph), time


def barrier(times, node, metahost):
    """Return the same of a barrier: when each process enters and leaves, on which node of which metahost."""
    b = build.Builder(len(times))
    for rank, at in enumerate(times):
        b.join(rank, "Barrier", at=at)
    trace = b.trace()
    at = {"node": np.array(node, "i4"), "metahost": np.array(metahost, "i4")}
    return bound(dataclasses.replace(trace, locations=dataclasses.replace(trace.locations, **at)))


def delays(times, node, metahost):
    """Return the shortest time from a cause to its effect in a barrier, ns per pair class."""
    _, clock_graph, time = barrier(times, node, metahost)
    out = np.full(5, FREE, "i8")
    kernel.delays(*arrays(clock_graph), clock_graph.clocks(), clock_graph.summaries(), time, out)
    return out.tolist()


def lists(clock_graph):
    place = zip(*(column.tolist() for column in (clock_graph.processes, clock_graph.nodes, clock_graph.metahosts)), strict=True)
    return [column.tolist() for column in arrays(clock_graph)], list(place)


def arrays(clock_graph):
    return *clock_graph.edges, clock_graph.owner


@pytest.mark.slow
@settings(max_examples=100)
@given(programs(), st.sampled_from(MUS), st.sampled_from([0, 10_000, 100_000_000, 900_000_000]))
def test_forward__twin(drawn, mu, rate):
    clock_graph, recorded = drawn
    graph, place = lists(clock_graph)
    time, clocks = np.stack((recorded, recorded)), clock_graph.clocks()
    kernel.forward(*arrays(clock_graph), clocks, rate, np.array([0, 0, *mu]), clock_graph.summaries(), *time)
    out, before, counts = naive_clock.forward(*graph, place, rate, [0, 0, *mu], recorded.tolist())
    real = clock_graph.owner >= 0
    assert time[1][real].tolist() == np.array(out)[real].tolist()
    expected = [before.get(v, FREE) for v in range(len(out))]
    assert time[0][real].tolist() == np.array(expected)[real].tolist()
    assert np.stack((clocks.by_message, clocks.by_collective, clocks.by_link), 1).tolist() == counts
    lead = [max([0, *(out[v] - recorded[v] for v in np.flatnonzero(clock_graph.owner == row))]) for row in range(len(place))]
    assert clocks.most.tolist() == lead


@pytest.mark.slow
@settings(max_examples=100)
@given(programs(), st.sampled_from(MUS))
def test_limits__twin(drawn, mu):
    clock_graph, recorded = drawn
    graph, place = lists(clock_graph)
    time = np.stack((np.full_like(recorded, FREE), recorded))
    kernel.limits(*arrays(clock_graph), clock_graph.clocks(), np.array([0, 0, *mu]), clock_graph.summaries(), *time)
    expected = np.array(naive_clock.limits(*graph, place, [0, 0, *mu], recorded.tolist()))
    real = clock_graph.owner >= 0
    far = FREE - 1_000_000
    assert np.minimum(time[0], far)[real].tolist() == np.minimum(expected, far)[real].tolist()


@pytest.mark.slow
@settings(max_examples=100)
@given(programs())
def test_delays__twin(drawn):
    """Compared as they are used: no class above a wider one. (Of equally late causes of a collective one stands for all.)"""
    clock_graph, recorded = drawn
    graph, place = lists(clock_graph)
    out = np.full(5, FREE, "i8")
    kernel.delays(*arrays(clock_graph), clock_graph.clocks(), clock_graph.summaries(), recorded, out)
    expected = naive_clock.delays(*graph, place, recorded.tolist())
    assert np.minimum.accumulate(out[:0:-1]).tolist() == np.minimum.accumulate(expected[:0:-1]).tolist()


def test_forward__collective_over_three_pair_classes():
    """A barrier of four at 100, 90, 95, 97; latencies 1 in a node, 10 in a metahost, 30 across. Everybody leaves at 98, recorded.

    rank 0 node 0 metahost 0: 95 + 1 (rank 2), 90 + 10, 97 + 30  -> 127
    rank 1 node 1 metahost 0: 100 + 10, 95 + 10, 97 + 30         -> 127
    rank 2 node 0 metahost 0: 100 + 1, 90 + 10, 97 + 30          -> 127
    rank 3 node 0 metahost 1: 100 + 30                           -> 130
    """
    graph, clock_graph, recorded = barrier([(98, 98), (90, 98), (95, 98), (97, 98)], [0, 1, 0, 0], [0, 0, 0, 1])
    time = np.stack((recorded, recorded))
    kernel.forward(*arrays(clock_graph), clock_graph.clocks(), 0, np.array([0, 0, 1, 10, 30]), clock_graph.summaries(), *time)
    assert time[1][graph.returned].tolist() == [127, 127, 127, 128]
    assert time[0][graph.returned].tolist() == [98] * 4


def test_delays__what_a_later_cause_hides():
    """A barrier of O 900 and S 100 on two nodes of metahost 1, T 950 and i 50 on one node of metahost 0.

    i leaves at 500, before T and O entered: neither counts, nor does S, which O hides; it is no pair of one metahost either. The others
    leave at 2000: T 1100 after O across, which hides i in its node; O and S 1050 after T.
    """
    times = [(900, 2000), (100, 2000), (950, 2000), (50, 500)]
    assert delays(times, [0, 1, 0, 0], [1, 1, 0, 0]) == [FREE, FREE, FREE, FREE, 1050]


def test_delays__a_reversed_cause_hides_too():
    """Of a barrier, 0 leaves at 5 on a node with 1, which entered at 20; 2 on another node entered at 3, and 3 far away at 10.

    1 and 3 are reversed for 0. That 2 entered 2 before 0 left tells no latency: 3, later and further away, hides it. 1 leaves at 30, 20
    after 3; 2 and 3 leave before 1 enters.
    """
    times = [(0, 5), (20, 30), (3, 3), (10, 10)]
    assert delays(times, [0, 0, 1, 0], [0, 0, 0, 1]) == [FREE, FREE, FREE, FREE, 20]


def test_limits__of_several_receivers():
    """One call starts two sends (MPI_Startall), received at 500 and 300: it may be entered at 299 at the latest, whichever comes last."""
    for first, second in ((500, 300), (300, 500)):
        b = build.Builder(3)
        call = b.send(0, 1, at=(100, 110))
        b._send(call, 2, 8, 0, 0, "", call)
        b.recv(1, 0, at=(0, first))
        b.recv(2, 0, at=(0, second))
        graph, clock_graph, recorded = bound(b.trace())
        time = np.stack((np.full_like(recorded, FREE), recorded))
        kernel.limits(*arrays(clock_graph), clock_graph.clocks(), np.array([0, 0, 1, 1, 1]), clock_graph.summaries(), *time)
        assert time[0][graph.entered[0]] == 299


def test_forward__decay_is_not_lost_in_short_intervals():
    """Put forward by 1000, with 1 % off: intervals of 10 ns each give 0.1 ns back, 10 000 of them all of it. (Rounding each gives none.)"""
    b = build.Builder(2)
    b.send(0, 1, at=(1000, 1000))
    b.recv(1, 0, at=(0, 0))
    for step in range(1, 10_011):
        b.call(1, "Wtime", at=(10 * step, 10 * step))
    graph, clock_graph, recorded = bound(b.trace())
    time = np.stack((recorded, recorded))
    kernel.forward(*arrays(clock_graph), clock_graph.clocks(), 10_000_000, np.zeros(5, "i8"), clock_graph.summaries(), *time)
    lead = (time[1] - recorded)[graph.entered[1:]].tolist()
    assert lead[0] == 0
    assert [lead[1], lead[10], lead[11], lead[5000], lead[9990], lead[9991], lead[10_000]] == [1000, 999, 999, 500, 1, 1, 0]


def test_forward__instants_stay_apart():
    """With gamma near 0 the lead of 1000 would be gone at once; but 1 ns at least stays between what was apart, and ties stay ties."""
    b = build.Builder(2)
    b.send(0, 1, at=(1000, 1000))
    b.recv(1, 0, at=(0, 0))
    b.call(1, "Wtime", at=(400, 400))
    b.call(1, "Wtime", at=(401, 999))
    b.call(1, "Wtime", at=(2000, 2000))
    graph, clock_graph, recorded = bound(b.trace())
    time = np.stack((recorded, recorded))
    kernel.forward(*arrays(clock_graph), clock_graph.clocks(), 999_999_999, np.zeros(5, "i8"), clock_graph.summaries(), *time)
    assert time[1][graph.entered[1:]].tolist() == [0, 1001, 1002, 2000]
    assert time[1][graph.returned[1:]].tolist() == [1000, 1001, 1003, 2000]
