"""Interfaces of nodes that messages share: worked by hand, and laws."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
from build import Builder, hand_model, placed
from perwiz.engines.replay import replay
from perwiz.engines.sweep import sweep
from perwiz.graph.graph import QUEUE
from perwiz.loggps import interfaces
from perwiz.loggps.machine import Machine
from perwiz.loggps.weigh import measured
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.limits.critical import critical_of
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed, under

MODEL = hand_model(G=1, S=10**6)
"""o = 2, L = 10: 101 bytes are 112 ns on their way, and occupy an interface for 100."""
ONE = dataclasses.replace(MODEL, interfaces=1)


def two_senders(leave=(316, 316)):
    """Ranks 0 and 1 of node a send 101 bytes each at 100, to ranks 2 and 3 of node b.

    rank 0  === 100 e0(send) 102            rank 2  e2(recv) 0 ........ 316
    rank 1  === 100 e1(send) 102            rank 3  e3(recv) 0 ........ 316

    Alone a message is there at 100 + 2 + 10 + 100 = 212, and received at 214. Both share the interface of a: they are there at 312,
    received at 314; 2 ns of the 316 nothing explains.
    """
    b = Builder(4)
    b.send(0, 2, 101, at=(100, 102))
    b.send(1, 3, 101, at=(100, 102))
    b.recv(2, 0, at=(0, leave[0]))
    b.recv(3, 1, at=(0, leave[1]))
    return placed(b.trace(), [0, 0, 1, 1])


def run(trace, model=ONE):
    found = replayed(trace, model, clock="none")
    assert found.replay_error == 0
    return found


def makespan(trace, *texts, model=ONE):
    return under(run(trace, model), [parse(text) for text in texts]).makespan


def test_shared__as_recorded_and_faster():
    """Both wait for the interface. With no bytes on the wire it is 100 + 2 + 10, and the 4 ns of work: 116. Without interfaces the model
    explains 212 of it, and the other 104 ns are work that stays: 100 + 2 + 10 + 104 = 216."""
    assert makespan(two_senders()) == 316
    assert makespan(two_senders(), "network G_ns_per_byte=0") == 116
    assert makespan(two_senders(), "network G_ns_per_byte=0", model=MODEL) == 216


def test_shared__half_the_bytes_per_ns_is_half_the_time():
    """G = 0.5: both are there at 100 + 2 + 10 + 100 = 212, and done at 216."""
    assert makespan(two_senders(), "network G_ns_per_byte=0.5") == 216


def test_shared__a_short_one_is_done_first():
    """101 and 51 bytes at once: both have 50 ns of the interface when 100 have passed, then the long one takes its last 50 alone.

    So they are there at 102 + 10 + 150 and 102 + 10 + 100, and 4 ns of work behind that: 266 and 216. With half of that per byte:
    102 + 10 + 75 + 4 and 102 + 10 + 50 + 4.
    """
    b = Builder(4)
    b.send(0, 2, 101, at=(100, 102))
    b.send(1, 3, 51, at=(100, 102))
    b.recv(2, 0, at=(0, 266))
    b.recv(3, 1, at=(0, 216))
    base = run(placed(b.trace(), [0, 0, 1, 1]))
    assert under(base, [parse("network G_ns_per_byte=0.5")]).recorded_rows().calls.leave.tolist() == [102, 102, 191, 166]


def test_two_interfaces__share_nothing():
    """The receives take 104 ns longer than the model says: that stays. Both sides have an interface for each."""
    trace = two_senders()
    graph = run(trace, dataclasses.replace(MODEL, interfaces=2)).graph
    assert not (graph.kind == QUEUE).any()
    assert (run(trace).graph.kind == QUEUE).sum() == 2


def test_another_number_of_interfaces():
    """With two, or as many as messages, nothing is shared: 216 with the 4 ns of work. Recorded with two, to 215, one is shared: 315."""
    for several in ("network interfaces=2", "network interfaces=2,gap=none"):
        assert makespan(two_senders(), several) == 216
    assert makespan(two_senders(), "network interfaces=2", "network interfaces=1") == 316
    assert makespan(two_senders((215, 215)), "network interfaces=1", model=dataclasses.replace(MODEL, interfaces=2)) == 315
    assert makespan(two_senders((215, 215)), "network interfaces=1", "placement swap:1-2", model=MODEL) == 215


def test_another_number_of_interfaces__that_there_was():
    """Nothing tells how many there were: had there been one already, all stays as recorded, 215. Who gives a model says that no messages
    share any."""
    trace = two_senders((215, 215))
    told = predict(trace, "network interfaces=1", Machine(MODEL), clock="none", draws=0)
    assert (told.predicted.makespan, [other.makespan for other in told.span.others]) == (315, [215])
    assert not predict(trace, "network interfaces=1", MODEL, clock="none", draws=0).span.others
    assert not predict(trace, "network interfaces=2", Machine(ONE), clock="none", draws=0).span.others


def test_placement__apart():
    """Rank 1 changes places with rank 2: now 0 and 2 are on node a, 1 and 3 on b, and no message is between nodes.

    Within a node the model costs the same, but nothing is shared: 212, and 4 ns of work.
    """
    assert makespan(two_senders(), "placement swap:1-2") == 216


def test_placement__onto_one_interface():
    """Recorded 0 -> 2 and 1 -> 3 from two nodes to two: at 214 each. Both senders on one node, both receivers on the other: 314."""
    trace = placed(two_senders((214, 214)), [0, 1, 2, 3])
    assert makespan(trace) == 214
    assert makespan(trace, "placement block:2x2") == 314


def test_swapped():
    """If rank 0 computed 200 ns its message would come 100 ns behind the other, whose turn is behind it on both sides."""
    trace = two_senders()
    base = run(trace)
    assert interfaces.swapped(base.graph, base.weighted.weight, base.time) == (2, 0)
    late = under(base, [parse("speed rank:0=0.5")])
    assert interfaces.swapped(late.graph, late.weighted.weight, late.time) == (2, 2)
    assert late.makespan == 416  # 202 + 100 + 100 + 10, and 4 of work


@given(build.programs(), st.sampled_from([ONE, dataclasses.replace(build.ODD, interfaces=1), dataclasses.replace(build.ODD, interfaces=2)]))
@pytest.mark.slow
def test_no_hypothesis_gives_the_recording(trace, model):
    ranks = int(trace.locations.process.max(initial=-1)) + 1
    trace = placed(trace, [rank % 2 for rank in range(ranks)])
    found = replayed(trace, model, clock="none")
    assert found.replay_error == 0
    assert critical_of(found).pieces.length.sum() == found.makespan
    weighted = found.weighted
    assert measured(weighted).weight.tolist() == weighted.weight.tolist()
    assert replay(weighted.graph, weighted.weight).tolist() == sweep(weighted.graph, weighted.weight).tolist()
