"""What locations did when, and how long until some piece: against the slow twin."""

import hypothesis
import numpy as np
import pytest

import build
import naive_delays as naive
from perwiz.kernels import pieces


def compare(trace):
    view, tree, waits, (place, start, node), _ = naive.causes_of(trace)
    rows = naive.doings(view, tree, waits)
    for x, expected in enumerate(rows):
        mine = slice(place[x, 4], place[x + 1, 4])
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
def test_pieces__catalogue(name):
    compare(build.CATALOGUE[name]())


@hypothesis.given(build.traces())
def test_pieces__random(trace):
    compare(trace)


def test_checks():
    """One location, 150 pieces of 10 ns by turns in nodes 0, 1 and waiting: checks before pieces 0, 64 and 128."""
    place = np.array([[0, 0, 0, 1500, 0, 0, 0], [0, 0, 0, 0, 150, 4, 0]], "i8")
    sums = np.full((4, 3), 99, "i8")
    node = np.array([(0, 1, -1)[k % 3] for k in range(150)], "i4")
    pieces.checks(place, np.arange(150, dtype="i8") * 10, node, sums)
    assert sums[:3].tolist() == [[0, 0, 0], [220, 210, 210], [430, 430, 420]]


def test_together():
    """Locations 0 and 1 share communicators 0 and 2, location 2 only 2; a wait sees the collectives before its call."""
    waits = np.zeros((3, 10), "i8")
    waits[:, 0], waits[:, 1], waits[:, 7], waits[:, 5] = [0, 0, 1], [1, 2, 2], [5, 7, 15], -1
    joins = np.array([[3, 0, 100], [6, 1, 200], [14, 4, 300]], "i8")
    first, group = np.array([0, 2, 5, 6], "i8"), np.array([0, 2, 0, 1, 2, 2], "i4")
    pieces.together(waits, joins, first, group, np.full(6, -1, "i8"))
    assert waits[:, 5].tolist() == [100, 200, 300]
