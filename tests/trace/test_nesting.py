"""Paths of regions within regions: what lies in what, by hand and against walks outwards, and how long they may be together."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
from perwiz.errors import TraceError
from perwiz.trace import nesting
from perwiz.trace.tables import Paths
from perwiz.whatif import selectors


@st.composite
def paths(draw):
    """Return paths of at most three regions, parents before what is in them."""
    rows = range(draw(st.integers(0, 12)))
    return Paths(np.array([draw(st.integers(-1, k - 1)) for k in rows], "i4"), np.array([draw(st.integers(0, 2)) for _ in rows], "i4"))


@given(paths())
def test_law__as_walks_outwards(of):
    walks = []
    for row in range(len(of)):
        walk = [row]
        while of.parent[walk[-1]] >= 0:
            walk.append(int(of.parent[walk[-1]]))
        walks.append(walk)
    assert nesting.along(of.parent) == sum(map(len, walks))
    pairs = [pair for level in nesting.around(of.parent) for pair in np.stack(level, axis=1).tolist()]
    assert sorted(pairs) == sorted([outer, inner] for inner, walk in enumerate(walks) for outer in walk)
    region, path = nesting.inside(of)
    within = sorted({(int(of.region[outer]), inner) for inner, walk in enumerate(walks) for outer in walk})
    assert list(zip(region.tolist(), path.tolist(), strict=True)) == within
    assert nesting.recursive(of).tolist() == [of.region[walk[0]] in of.region[walk[1:]] for walk in walks]


def chain(count):
    """Return the parents of so many regions, each in the one before."""
    return np.arange(-1, count - 1, dtype="i4")


def test_along__a_chain():
    """1 + 2 + ... + 8191 are 33 550 336 names; 2 ** 25 are 33 554 432, of which each row with none above it takes one."""
    assert nesting.along(chain(8191)) == 8191 * 8192 // 2 == 33550336
    assert nesting.along(chain(8192)) is None
    assert nesting.along(np.append(chain(8191), np.full(4096, -1, "i4"))) == nesting.MOST
    assert nesting.along(np.append(chain(8191), np.full(4097, -1, "i4"))) is None


def test_along__millions_are_refused_without_following_them():
    assert nesting.along(chain(3_000_000)) is None


def test_refused__deep_regions():
    trace = build.Builder(1).trace("deep.alog")
    with pytest.raises(TraceError) as caught:
        dataclasses.replace(trace, paths=Paths(chain(9000), np.zeros(9000, "i4")), names=("f",), parallel=np.zeros(1, bool))
    there = "deep.alog: 9000 paths of regions within regions, with more than 33554432 names along them"
    assert str(caught.value) == f"{there}, must have at most so many"


def test_refused__long_names(monkeypatch):
    """Texts f, f/f and f/f/f have 9 characters."""
    trace = build.Builder(1).trace("long.alog")
    trace = dataclasses.replace(trace, paths=Paths(chain(3), np.zeros(3, "i4")), names=("f",), parallel=np.zeros(1, bool))
    monkeypatch.setattr(selectors, "MOST_TEXT", 9)
    assert selectors.paths(trace) == ["f", "f/f", "f/f/f", ""]
    monkeypatch.setattr(selectors, "MOST_TEXT", 8)
    with pytest.raises(TraceError) as caught:
        selectors.paths(trace)
    there = "long.alog: 3 paths of regions within regions, whose names take more than 8 characters"
    assert str(caught.value) == f"{there}, must take at most so many"
