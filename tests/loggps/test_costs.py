"""How weights grow with a parameter: by hand, and against `reweigh`, which rounds."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from build import Builder, hand_model, placed
from perwiz.graph.graph import COLLECTIVE, GAP, LOCAL, MESSAGE
from perwiz.loggps.collectives import CollectiveCost
from perwiz.loggps.costs import recorded, rest, slopes
from perwiz.loggps.keys import PAIRS
from perwiz.loggps.weigh import CUT, lags, measured, reweigh
from perwiz.whatif.limits.curve import parameter
from perwiz.whatif.run import replayed

WHOLE = hand_model(G=3, g=500, O=1, S=5000, s=100, L=800, o=90, gap="sending call", progress="in calls")
"""All costs are whole ns."""
COSTS = ("L", "o_s", "o_r", "g", "G", "O_s", "O_r")
LETTERS = ("L", "o", "o_s", "o_r", "g", "G", "O", "O_s", "O_r")


def grows(trace, letter, model=None):
    """Return slope and kind of the edges into returns that grow, the calls', by call."""
    weighted = replayed(trace, model or hand_model(), "none").weighted
    graph, slope = weighted.graph, slopes(weighted, parameter(letter))
    into = {}
    for call, vertex in enumerate(graph.returned):
        edges = range(graph.start[vertex], graph.start[vertex + 1])
        into[call] = [(int(graph.kind[k]), float(slope[k])) for k in edges]
    return into


def late_receive(recv):
    """Rank 0 sends 10 bytes from 1000 to 1010; rank 1 receives at the times given."""
    b = Builder(2)
    b.compute(0, 1000)
    b.send(0, 1, 10, at=(1000, 1010))
    b.recv(1, 0, at=recv)
    return b.trace()


def test_eager_message__by_hand():
    """The lag o + L = 12 is fully there, and of the 30 ns of work behind it o = 2 are known to the model."""
    trace = late_receive((0, 1042))
    assert grows(trace, "L") == {0: [(LOCAL, 0)], 1: [(LOCAL, 0), (MESSAGE, 1)]}
    assert grows(trace, "o") == {0: [(LOCAL, 1)], 1: [(LOCAL, 1), (MESSAGE, 2)]}
    assert grows(trace, "G") == {0: [(LOCAL, 0)], 1: [(LOCAL, 0), (MESSAGE, 9)]}
    assert grows(trace, "O") == {0: [(LOCAL, 10)], 1: [(LOCAL, 10), (MESSAGE, 20)]}
    assert grows(trace, "g") == {0: [(LOCAL, 0)], 1: [(LOCAL, 0), (MESSAGE, 0)]}


def test_message_faster_than_the_model__by_hand():
    """Received 3 after the send was entered: a quarter of o + L = 12. So a quarter of an L, of an o, and no work."""
    trace = late_receive((0, 1003))
    assert grows(trace, "L")[1] == [(LOCAL, 0), (MESSAGE, 0.25)]
    assert grows(trace, "o")[1] == [(LOCAL, 0), (MESSAGE, 0.25)]


def test_synchronous_message_gap_and_barrier__by_hand():
    """Synchronous: the sender's request o + L, then ACK (2 o + L) and o; the receiver o + L, then REQ, ACK and message, 2 L in all."""
    b = Builder(2, eager=100)
    b.send(0, 1, 1000, work=5000)
    b.send(0, 1, 1000, work=5000)
    b.recv(1, 0, work=5000)
    b.recv(1, 0, work=5000)
    b.barrier()
    trace, model = b.trace(), hand_model(gap="sending call", g=4)
    latencies, overheads, gaps = (grows(trace, letter, model) for letter in "Log")
    assert latencies[0][0] == (LOCAL, 2)
    assert latencies[3] == [(LOCAL, 2), (MESSAGE, 3)]
    assert overheads[0][0] == (LOCAL, 1 + 3)
    assert overheads[3] == [(LOCAL, 1 + 2 + 1 + 1), (MESSAGE, 1 + 1 + 2 + 1 + 1)]
    assert (GAP, 1) in gaps[1]
    assert {slope for kind, slope in latencies[2] if kind == COLLECTIVE} == {1}


def test_overheads_apart__by_hand():
    """Eager: o_s to send and on the way, o_r to receive. Synchronous: the REQ is o_s, taken in o_r; the ACK and the message one each."""
    trace = late_receive((0, 1042))
    assert grows(trace, "o_s") == {0: [(LOCAL, 1)], 1: [(LOCAL, 0), (MESSAGE, 1)]}
    assert grows(trace, "o_r") == {0: [(LOCAL, 0)], 1: [(LOCAL, 1), (MESSAGE, 1)]}
    assert grows(trace, "O_s") == {0: [(LOCAL, 10)], 1: [(LOCAL, 0), (MESSAGE, 10)]}
    assert grows(trace, "O_r") == {0: [(LOCAL, 0)], 1: [(LOCAL, 10), (MESSAGE, 10)]}
    b = Builder(2, eager=100)
    b.send(0, 1, 1000, work=5000)
    b.recv(1, 0, work=5000)
    trace = b.trace()
    assert grows(trace, "o_s")[0][0] == (LOCAL, 1 + 1 + 1)
    assert grows(trace, "o_r")[0][0] == (LOCAL, 1)
    assert grows(trace, "o_s")[1] == [(LOCAL, 2), (MESSAGE, 1 + 2)]
    assert grows(trace, "o_r")[1] == [(LOCAL, 1 + 1 + 1), (MESSAGE, 3)]


def test_rows_that_differ_grow_in_proportion__by_hand():
    """L is 10 in the node and 40 between nodes, o_s 2 and o_r 8: the larger is the value, and the smaller grows by a quarter of it."""
    b = Builder(3)
    b.compute(0, 100)
    for other in (1, 2):
        b.send(0, other, 10, at=(98 + 2 * other, 100 + 2 * other))
        b.recv(other, 0, at=(0, 200))
    trace = placed(b.trace(), [0, 0, 1])
    model = hand_model().with_changes("between-nodes:L_ns=40,o_r_ns=8")
    weighted = replayed(trace, model, "none").weighted
    edge = np.flatnonzero(weighted.graph.kind == MESSAGE)

    def found(key):
        return recorded(weighted, key), slopes(weighted, key)[edge].tolist()

    assert found("L_ns") == (40, [0.25, 1])
    assert found("within-node:L_ns") == (10, [1, 0])
    assert found("between-nodes:L_ns") == (40, [0, 1])
    assert found("o_ns") == (8, [1.25, 1.25])
    assert found("within-node:o_r_ns") == (8, [1, 0])


def test_rest_is_what_is_left_behind_waits():
    weighted = replayed(late_receive((0, 1042)), hand_model(), "none").weighted
    assert rest(weighted, lags(weighted.trace, weighted.graph, weighted.model)).tolist() == [10, 30]


def check(trace, model, letter, *values):
    """Check that reweigh rounds twice what the slopes say: own lag or partner's, and work."""
    weighted = replayed(trace, model, "none").weighted
    key = parameter(letter)
    slope, before = slopes(weighted, key), measured(weighted)
    for value in values:
        found = weighted.weight + slope * (value - recorded(weighted, key))
        other = weighted.model.with_changes(f"{key}={value}")
        expected = reweigh(weighted, before, other, trace.messages.bytes)
        alive = expected != CUT
        assert (np.abs(found - expected)[alive] <= 1).all()
        assert ((weighted.weight == CUT) == ~alive).all()


@pytest.mark.parametrize("found", [700.0, 30_000.0])
@pytest.mark.parametrize("letter", LETTERS)
def test_found_costs_of_collectives_grow_as_their_rounds(letter, found):
    """A barrier was found to take 700, where the letters say other rounds: on another network it takes in proportion to those.

    Of 30 000, more than four messages one after the other take, the rest stays.
    """
    b = Builder(4, latency=4000)
    for at, routine, size in ((0, "Barrier", 0), (50_000, "Allreduce", 3000)):
        b.everyone(routine, bytes=size, at=[(at + 5000 * rank, at + 40_000) for rank in range(4)])
    costs = tuple(CollectiveCost(routine, 4, "all", 0, found, 0.25) for routine in ("MPI_Barrier", "MPI_Allreduce"))
    model = dataclasses.replace(WHOLE, collectives=costs)
    check(b.trace(), model, letter, 0, 3000)


@pytest.mark.slow
@pytest.mark.parametrize(("turn", "name"), [*enumerate(build.CATALOGUE)])
def test_law__reweigh_rounds_it__catalogue(turn, name):
    """Each letter is that of some traces under each model."""
    trace = build.CATALOGUE[name]()
    for row, model in enumerate((WHOLE, hand_model(), hand_model(gap="sending call"))):
        for letter in (LETTERS[(turn + 3 * row) % len(LETTERS)], LETTERS[(turn + 3 * row + 1) % len(LETTERS)]):
            check(trace, model, letter, 0, 7, 4000)


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs(), st.sampled_from(LETTERS), st.integers(0, 3000))
def test_law__reweigh_rounds_it__random(trace, letter, value):
    check(trace, WHOLE, letter, value)


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs(), build.models(whole=True), st.sampled_from(LETTERS), st.sampled_from(["", *PAIRS]))
def test_law__reweigh_rounds_it__classes(trace, model, letter, pairs):
    """Where rows differ, twice the value is twice that of every row, of the class or of all."""
    trace = placed(trace, [0, 0, 1, 2][: len(trace.locations)], [0, 0, 0, 1][: len(trace.locations)])
    model = dataclasses.replace(model, acknowledge_overheads=2)
    weighted = replayed(trace, model, "none").weighted
    model = weighted.model  # without a gap that the trace disproves
    key = parameter(f"{pairs}:{letter}" if pairs else letter)
    ends = [end for end in COSTS if end == letter or (letter in "oO" and end.startswith(f"{letter}_"))]
    own = [dataclasses.replace(row, pairs=pairs) for row in model.rows_of(pairs)] if pairs else list(model.costs)
    twice = [dataclasses.replace(row, **{end: 2 * getattr(row, end) for end in ends}) for row in own]
    kept = [row for row in model.costs if pairs and row.pairs != pairs]
    other = dataclasses.replace(model, costs=(*kept, *twice))
    expected = reweigh(weighted, measured(weighted), other, trace.messages.bytes)
    found = weighted.weight + slopes(weighted, key) * recorded(weighted, key)
    assert (np.abs(found - expected)[expected != CUT] <= 1).all()
