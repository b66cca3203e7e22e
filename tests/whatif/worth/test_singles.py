"""All single what-ifs: a case by hand, and each against the hypothesis applied and swept."""

import dataclasses
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
import naive_whatif
from build import hand_model
from perwiz.engines.sweep import makespan, sweep
from perwiz.formats.files import read
from perwiz.graph.graph import GAP, LOCAL, START
from perwiz.loggps.weigh import CUT
from perwiz.trace.spread.share import ALONE
from perwiz.whatif.hypotheses.base import apply
from perwiz.whatif.hypotheses.waits import ZeroTime, ZeroWait
from perwiz.whatif.run import replayed
from perwiz.whatif.worth.singles import singles, singles_of
from samples import SAMPLES, name_of


def applied(weighted, hypothesis):
    """Return the makespan under a hypothesis, the slow way."""
    graph = hypothesis.apply(weighted)
    return makespan(graph.graph, sweep(graph.graph, graph.weight))


def check(found, weighted, rows):
    for e in rows:
        assert found.zero_wait[e] == applied(weighted, ZeroWait(f"e{e}"))
        assert found.zero_time[e] == applied(weighted, ZeroTime(f"e{e}"))


def check_trace(trace, model, clock="none"):
    run = replayed(trace, model, clock, ["network S_bytes=8"] if model != build.ODD else [])
    found = singles(run)
    assert found.makespan == run.makespan == trace.timeline.makespan
    check(found, run.weighted, range(len(trace.calls)))


def test_singles__late_sender_by_hand():
    """A send entered at 100 keeps the receive of rank 1, entered at 20, until 112; it ends at 117, after work of 5.

         0 |---------- compute ----------100 Send 101
         1 |--compute-- 20 Recv ................ 117 --- compute --- 217

    Without its wait e1 returns at 20 + 5, and rank 1 ends at 125; without any time at 20 and 120. Rank 0 ends at 101. That e0 takes no
    time changes nothing for rank 1, for the message leaves when e0 is entered. (Definition: PerWiz paper, 2.2.)
    """
    b = build.Builder(2, work=1)
    b.compute(0, 100)
    b.send(0, 1, 8)
    b.recv(1, 0, at=(20, 117))
    b.compute(1, 100)
    run = replayed(b.trace(), hand_model(), "none")
    found = singles(run)
    assert (found.makespan, found.zero_wait.tolist(), found.zero_time.tolist()) == (217, [217, 125], [217, 120])


@st.composite
def graphs(draw):
    """Draw a weighted graph: calls return where some first edges are local, locations end anywhere else."""
    graph = draw(build.graphs())
    local = [v for v in range(1, graph.vertices) if graph.kind[graph.start[v]] == LOCAL]
    returned = draw(st.permutations([v for v in local if draw(st.booleans())]))
    others = [v for v in range(graph.vertices) if v not in returned]
    ended = draw(st.lists(st.sampled_from(others), min_size=1, unique=True))
    entered = graph.source[graph.start[np.array(returned, "i4")]]
    weight = draw(build.weights(graph, CUT, draw(st.sampled_from([-1000, 0]))))
    own = graph.start[np.array(returned, "i4")]
    weight[own] = np.abs(weight[own]) % 1000
    columns = {"entered": entered, "returned": returned, "begun": [0], "ended": ended}
    return dataclasses.replace(graph, **{name: np.array(column, "i4") for name, column in columns.items()}), weight


@dataclasses.dataclass
class Weights:
    """A weighted graph of which nobody else has a part."""

    graph: object
    weight: np.ndarray
    trace: object = dataclasses.field(default_factory=lambda: types.SimpleNamespace(share=ALONE))


@pytest.mark.slow
@settings(max_examples=60)
@given(graphs())
def test_singles__random_graphs(drawn):
    graph, weight = drawn
    found = singles_of(Weights(graph, weight), sweep(graph, weight))
    for e, v in enumerate(graph.returned):
        assert found.zero_wait[e] == naive_whatif.end(graph, weight.tolist(), ([v], GAP), graph.ended)
        assert found.zero_time[e] == naive_whatif.end(graph, weight.tolist(), ([v], START), graph.ended)


@pytest.mark.slow
@pytest.mark.parametrize("name", build.CATALOGUE)
def test_singles__catalogue(name):
    for model in ("default", "perwiz-cluster", build.ODD):
        check_trace(build.CATALOGUE[name](), model)


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs(), st.sampled_from(["default", build.ODD]))
def test_singles__random_traces(trace, model):
    check_trace(trace, model)


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs())
def test_singles__under_hypotheses(trace):
    """What each call is worth once others do not wait and the network is another."""
    run = replayed(trace, build.ODD, "none", ["network S_bytes=8"])
    hypotheses = [ZeroWait(",".join(f"e{e}" for e in range(0, len(trace.calls), 3)))] if len(trace.calls) else []
    weighted = apply(run.weighted, hypotheses)
    check(singles_of(weighted, sweep(weighted.graph, weighted.weight)), weighted, range(len(trace.calls)))


@pytest.mark.slow
@pytest.mark.parametrize("path", SAMPLES, ids=name_of)
def test_singles__samples(path):
    """All calls that change something, and some of those that do not."""
    for model in ("default", build.ODD):
        run = replayed(read(str(path)), model)
        found = singles(run)
        changing = np.flatnonzero((found.zero_wait < found.makespan) | (found.zero_time < found.makespan))
        some = np.arange(0, len(run.trace.calls), len(run.trace.calls) // 50 + 1)
        check(found, run.weighted, np.unique(np.concatenate([changing[:: len(changing) // 100 + 1], some])))
