"""Flows through links, against the naive twin."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
import naive
from perwiz.engines.flowing import delayed
from perwiz.engines.fluid import simulate
from perwiz.engines.sweep import sweep
from perwiz.kernels.fluid import Fluid
from perwiz.loggps.keys import POSTED
from perwiz.loggps.links import flows
from perwiz.loggps.links.shapes import Torus, fat_tree
from perwiz.loggps.links.topology import Topology
from perwiz.loggps.weigh import CUT
from perwiz.whatif.run import replayed

SCALE = 1e6
"""Delays are whole ns."""


def flowed(flowing, capacity, most, patience=1.0):
    """Return when flows (start, volume, {link: part}), in order, are done; those of one way have one route."""
    count, none = len(flowing), np.zeros(len(flowing), "i8")
    ways = [*dict.fromkeys(tuple(flow[2].items()) for flow in flowing)]
    first = np.cumsum([0, *map(len, ways)]).astype("i4")
    link = np.array([each for way in ways for each, _ in way], "i4")
    part = np.array([float(each) for way in ways for _, each in way])
    start, volume = (np.array([flow[k] for flow in flowing], "f8") for k in (0, 1))
    route, posted = np.array([ways.index(tuple(flow[2].items())) for flow in flowing], "i4"), np.zeros(count, bool)
    links = route, first, link, part, np.array(capacity, "f8"), float(most), none
    found = flows.Flows(np.arange(count), none, none, none, none, posted, none, SCALE * volume, *links)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows.Flows, "fluid", lambda self: Fluid(*links[1:-1], patience))
        return ((SCALE * start + SCALE * volume / most + flows.passed(found, SCALE * start)) / SCALE).tolist()


def test_flow__worked_by_hand():
    """Link 0 carries 3, link 1 carries 1, each flow 2 alone. A and B share link 1 with half each, C has the 2 that it can of link 0."""
    assert flowed([(0, 2, {0: 1, 1: 1}), (0, 1, {1: 1}), (0, 8, {0: 1})], [3, 1], 2) == pytest.approx([3, 2, 4])


def test_flow__of_one_route():
    """Link 0 carries 2: A has it alone until B comes, halves until C comes, thirds until B is done, halves until C is, then A the rest."""
    assert flowed([(0, 8, {0: 1}), (1, 2, {0: 1}), (2, 2, {0: 1})], [2], 2) == pytest.approx([6, 3.5, 4.5])


def test_flow__of_no_link_that_is_overloaded():
    assert flowed([(5, 4, {0: 1}), (5, 4, {0: 1}), (99, 2, {})], [4], 2) == [7, 7, 100]


def test_flow__nobody():
    assert flowed([], [1], 1) == []


PARTS = st.dictionaries(st.integers(0, 3), st.sampled_from([1, 1, 0.5]), min_size=1, max_size=3)
FLOWS = st.lists(PARTS, min_size=1, max_size=5).flatmap(
    lambda ways: st.lists(st.tuples(st.integers(0, 20), st.integers(1, 25), st.sampled_from(ways)), max_size=8)
)


@given(FLOWS, st.lists(st.integers(1, 6), min_size=4, max_size=4))
def test_flow__twin(several, capacity):
    """As links that wait are settled, and as all are from none, where that does not end soon."""
    several = sorted(several, key=lambda flow: flow[0])
    expected = [float(each) for each in naive.flow(several, capacity, 3)]
    assert flowed(several, capacity, 3) == pytest.approx(expected, abs=1e-5)
    assert flowed(several, capacity, 3, patience=0) == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1), st.integers(0, 60))
def test_flow__twin_of_many(seed, last):
    """Levels of ten links, each of which moves others, also far from what has changed."""
    rng = np.random.default_rng(seed)
    ways = [{int(k): float(rng.choice([1, 1, 0.25])) for k in rng.choice(10, rng.integers(1, 5), replace=False)} for _ in range(14)]
    ways += ways[:4]
    start = np.sort(rng.integers(0, last + 1, len(ways))).tolist()
    several = list(zip(start, rng.integers(1, 40, len(ways)).tolist(), ways, strict=True))
    capacity = rng.integers(1, 9, 10).tolist()
    expected = [float(each) for each in naive.flow(several, capacity, 3)]
    for patience in (0, 0.05, 1):
        assert flowed(several, capacity, 3, patience) == pytest.approx(expected, abs=1e-5)


def test_flow__along_a_chain():
    """A and B share link 0, B and C link 1, C and D link 2, each of 2: all have 1.

    A ends at 2, but B shares link 1; D at 5, but C does so, too. When C ends at 7, B has the last 4 with 2.
    """
    ways = [{0: 1}, {0: 1, 1: 1}, {1: 1, 2: 1}, {2: 1}]
    several = [(0, volume, way) for volume, way in zip((2, 11, 7, 5), ways, strict=True)]
    assert flowed(several, [2, 2, 2], 2) == pytest.approx([2, 9, 7, 5])


@pytest.mark.slow
@settings(max_examples=12)
@given(build.traces(), st.sampled_from([fat_tree([2, 2], 1.0, [4.0]), Torus((2, 2), 0.5)]), st.sampled_from(["always", POSTED]))
def test_run__twin(trace, shape, progress):
    """Calls and flows in one loop of events, against a process of simpy for each; both round each delay."""
    node = np.arange(int(trace.locations.process.max(initial=0)) + 1)
    model = build.hand_model(o=0, G=1, S=1000, progress=progress).on(Topology("t", shape, 1.0, 0.0, 0.25, ()))
    weighted = replayed(build.placed(trace, node), model, clock="none").weighted
    was = flows.recorded_delays(weighted.trace, weighted.graph, model)
    weight = flows.shifted(trace, weighted.graph, model, weighted.size, weighted.weight, flows.Delays(was, 0 * was), CUT)
    weight = np.where(weight == CUT, CUT, np.maximum(weight, 0))
    edge, of = flows.carriers(weighted.trace, weighted.graph, model, weighted.size)
    np.maximum.at(weight, edge, np.where(weight[edge] == CUT, CUT, weighted.size[of] + 10))
    delay = delayed(dataclasses.replace(weighted, weight=weight), 0 * was)
    found = flows.shifted(trace, weighted.graph, model, weighted.size, weight, flows.Delays(0 * was, delay), CUT)
    assert np.abs(sweep(weighted.graph, found) - simulate(weighted, weight)).max(initial=0) <= 50


@pytest.mark.parametrize(("sooner", "later"), [(250, 0), (150, 50), (0, 100)])
def test_run__of_a_message_that_was_there_before_it_could(sooner, later):
    """Two messages of 100 ns share a trunk, and pass at 200; so do the answers, from when the receives came back `sooner` than 300.

    From 50 on, they have passed before 200; from 150 on, half has, and the other half is shared.
    """
    b = build.Builder(4)
    for sender in (0, 1):
        b.send(sender, sender + 2, 101, at=(0, 5))
        b.recv(sender + 2, sender, at=(0, 300 - sooner))
        b.send(sender + 2, sender, 101, at=(300 - sooner, 305 - sooner))
        b.recv(sender, sender + 2, at=(10, 600 - sooner))
    trace = build.placed(b.trace("answers"), [0, 1, 2, 3])
    model = build.hand_model(o=0, G=1, S=10**9).on(Topology("t", fat_tree([2, 2], 1.0, [2.0]), 1.0, 0.0, 0.0, ()))
    weighted = replayed(trace, model, clock="none").weighted
    assert delayed(weighted, flows.recorded_delays(trace, weighted.graph, model)).tolist() == [100, 100, later, later]
