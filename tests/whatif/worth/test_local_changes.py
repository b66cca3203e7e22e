"""Changes of weights, each by itself: as if each were made and the whole graph swept again."""

import dataclasses

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from build import Builder, hand_model
from perwiz.engines.sweep import makespan, sweep
from perwiz.loggps.weigh import CUT
from perwiz.whatif.run import replayed
from perwiz.whatif.worth import local_changes
from perwiz.whatif.worth.local_changes import Changes, makespans


def again(graph, weight, changes, count):
    """Return the makespan under each change, by sweeping all again."""
    out = []
    for k in range(count):
        mine, new = changes.which == k, weight.copy()
        new[changes.edge[mine]] = changes.weight[mine]
        out.append(makespan(graph, sweep(graph, new)))
    return out


@st.composite
def drawn(draw):
    """Draw a graph with first and last instants, weights, and changes of them that leave the first instants where they are."""
    graph = draw(build.graphs())
    last = draw(st.lists(st.integers(0, graph.vertices - 1), min_size=1, max_size=3, unique=True))
    graph = dataclasses.replace(graph, begun=np.zeros(1, "i4"), ended=np.array(last, "i4"))
    weight, count = draw(build.weights(graph, CUT)), draw(st.integers(0, 4))
    which = [draw(st.lists(st.integers(0, graph.edges - 1), unique=True, max_size=4)) if graph.edges else [] for _ in range(count)]
    rows = [(k, e, draw(st.sampled_from([CUT, -2000, 0, 5, 1000, 70_000]))) for k in range(count) for e in which[k]]
    return graph, weight, Changes(*(np.array([row[c] for row in rows], "i8") for c in range(3))), count


@settings(max_examples=60)
@given(drawn(), st.sampled_from([3, 1 << 22]))
def test_as_if_each_were_made(case, most):
    """However few edges over a position are held at a time."""
    graph, weight, changes, count = case
    before, usual = weight.copy(), local_changes._MOST
    local_changes._MOST = most
    try:
        found = makespans(graph, weight, changes, count)
    finally:
        local_changes._MOST = usual
    assert found.tolist() == again(graph, weight, changes, count)
    assert (weight == before).all()


def test_by_hand__and_told():
    """Rank 0 computes 100, rank 1 80: with 130 on rank 1 it is 130; with 10 on rank 0 rank 1 ends last, at 80."""
    b = Builder(2)
    b.compute(0, 100)
    b.compute(1, 80)
    weighted, said = replayed(b.trace(), hand_model(), "none").weighted, []
    ends = weighted.graph.start[weighted.graph.ended]
    changes = Changes(np.array([2, 0], "i8"), np.array([ends[0], ends[1]], "i8"), np.array([10, 130], "i8"))
    found = makespans(weighted.graph, weighted.weight, changes, 3, lambda done, total: said.append((done, total)))
    assert found.tolist() == [130, 100, 80]
    assert said == [(0, 2)]
