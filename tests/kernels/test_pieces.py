"""What locations did when, and how long until some piece: against the slow twin."""

import hypothesis
import numpy as np
import pytest

import build
import naive_delays as naive
from perwiz.kernels import pieces


def compare(trace):
    view, tree, waits, done, _ = naive.causes_of(trace)
    start, node = done.start, done.node
    rows = naive.doings(view, tree, waits)
    for x, expected in enumerate(rows):
        mine = slice(done.first[x], done.first[x + 1])
        ends = np.append(start[mine][1:], trace.timeline.locations.leave[x])
        found = [row for row in zip(start[mine].tolist(), ends.tolist(), node[mine].tolist(), strict=True) if row[1] > row[0]]
        assert merged(found) == merged(expected)


def merged(rows):
    """Return rows with neighbours of one node made one."""
    out = []
    for begin, end, node in rows:
        if out and out[-1][2] == node:
            out[-1] = (out[-1][0], end, node)
        else:
            out.append((begin, end, node))
    return out


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_list_intervals__catalogue(name):
    compare(build.CATALOGUE[name]())


@hypothesis.given(build.programs())
def test_list_intervals__random(trace):
    compare(trace)


def test_sum_intervals():
    """One location, 150 pieces of 10 ns by turns in nodes 0, 1 and waiting: checks before pieces 0, 64 and 128."""
    first, first_check = np.array([0, 150]), np.array([0, 4])
    sums = np.full((4, 3), 99, "i8")
    node = np.array([(0, 1, -1)[k % 3] for k in range(150)], "i4")
    pieces.sum_intervals(first, np.arange(150, dtype="i8") * 10, node, first_check, sums)
    assert sums[:3].tolist() == [[0, 0, 0], [220, 210, 210], [430, 430, 420]]
