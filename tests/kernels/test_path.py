"""The critical path over wait states: against its slow twin."""

import collections

import hypothesis
import numpy as np
import pytest

import build
import naive_delays as naive
from naive_delays import causes_of
from perwiz.patterns.analysis import impact


def compare(trace):
    view, tree, waits, what, _ = causes_of(trace)
    found = impact.find_impact(view, len(tree), waits, what)
    if not len(trace.locations):
        return
    expected = naive.path(view, tree, waits, *impact.end_of(view))
    assert {(int(x), int(node)): int(found.path[node, x]) for node, x in zip(*np.nonzero(found.path), strict=True)} == dict(expected)
    busy = collections.Counter()
    for x, rows in enumerate(naive.doings(view, tree, waits)):
        for begin, end, node in rows:
            busy[x, node] += (end - begin) * (node >= 0)
    assert {(int(x), int(node)): int(found.busy[node, x]) for node, x in zip(*np.nonzero(found.busy), strict=True)} == dict(+busy)
    cost, apart = found.cost()
    assert (apart <= cost + 1e-6).all()


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_twin__catalogue(name):
    compare(build.CATALOGUE[name]())


@hypothesis.given(build.traces())
def test_twin__random(trace):
    compare(trace)
