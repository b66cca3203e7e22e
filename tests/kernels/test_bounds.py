"""What is no graph is told, against the naive twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive
from perwiz.kernels import bounds


def bad_edge(start, source, kind, cause, causes):
    columns = np.array(start, "i4"), np.array(source, "i4"), np.array(kind, "u1"), np.array(cause, "i4"), np.array(causes, "i8")
    return bounds.bad_edge(*columns)


def test_bad_edge():
    """Edge 0 > 1 of kind 0, no cause; edge 1 > 2 of kind 1, whose causes are 0 to 4."""
    good = {"start": [0, 0, 1, 2], "source": [0, 1], "kind": [0, 1], "cause": [-1, 4], "causes": [0, 5]}
    assert bad_edge(**good) == -1
    for wrong in ({"source": [0, 2]}, {"source": [0, -1]}, {"kind": [0, 2]}, {"cause": [-1, 5]}, {"cause": [-1, -2]}):
        assert bad_edge(**good | wrong) == 1
    assert bad_edge(**good | {"cause": [0, 4]}) == 0


@given(st.lists(st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 3), st.integers(-2, 3)), max_size=3), max_size=5))
def test_bad_edge__twin(into):
    start = np.cumsum([0, 0, *map(len, into)]).tolist()
    edges = [edge for each in into for edge in each]
    source, kind, cause = ([edge[k] for edge in edges] for k in range(3))
    causes = [0, 2, 3]
    assert bad_edge(start, source, kind, cause, causes) == naive.bad_edge(start, source, kind, cause, causes)


@given(st.lists(st.integers(0, 5), max_size=6), st.sets(st.integers(0, 5)))
def test_taken_twice__twin(vertex, before):
    taken = np.array([v in before for v in range(6)], "u1")
    known = [k for k, v in enumerate(vertex) if v in before or v in vertex[:k]]
    assert bounds.taken_twice(np.array(vertex, "i4"), taken) == (known[0] if known else -1)
    assert {*np.flatnonzero(taken).tolist()} == {*before, *vertex[: known[0] if known else None]}
