"""Edges that lead to no vertex are refused before a kernel writes where there is none."""

import re

import numpy as np
import pytest

from build import Builder
from perwiz.errors import GraphError
from perwiz.formats.places import places
from perwiz.graph.layout import Layout, sort_topologically


def sorted_with(*edge):
    """Return what becomes of one more edge in the graph of two processes with a call each: 0 origin, 1 .. 4 and 5 .. 8 the processes."""
    b = Builder(2)
    for process in range(2):
        b.call(process, "Comm_rank")
    source, target = np.array([(0, 1), (0, 5), edge], "i4").T.copy()
    return sort_topologically(Layout(b.trace()), source, target)


def test_an_edge_between_vertices():
    assert sorted_with(2, 7)[0].tolist() == [0, 1, 5, 2, 6, 3, 7, 4, 8]


@pytest.mark.parametrize(
    ("edge", "said"),
    [
        ((2, 9), "vertex 9, must be one of 9"),
        ((2, -1), "vertex -1, must be one of 9"),
        ((9, 2), "vertex 9, must be one of 9"),
        ((-2, 2), "vertex -2, must be one of 9"),
        ((2, 0), "leads into vertex 0, must be behind the origin"),
    ],
)
def test_an_edge_to_no_vertex(edge, said):
    with pytest.raises(GraphError, match=re.escape(f"edge 2 of 3: {said}")):
        sorted_with(*edge)


@pytest.mark.parametrize(("op", "on", "said"), [(3, 0, 3), (-1, 0, -1), (0, 3, 3), (0, -2, -2)])
def test_a_dependence_on_no_operation(op, on, said):
    with pytest.raises(GraphError, match=f"^dependence 1 of 2: operation {said}, must be one of 3$"):
        places(3, np.array([1, op], "i4"), np.array([0, on], "i4"))
