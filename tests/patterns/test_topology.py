"""Places of processes in Cartesian topologies."""

import dataclasses

import numpy as np
import pytest

import build
from build import Builder
from perwiz.errors import UsageError
from perwiz.patterns import topology
from perwiz.trace.trace import Topology


def six():
    return Builder(6).trace()


def test_given__last_dimension_varies_fastest():
    """Ranks of 2 x 3 as MPI_Cart_create places them (MPI 3.1, 7.5.1: row-major)."""
    assert topology.given(six(), "2x3").coordinates.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert topology.given(six(), "6").sizes == (6,)


@pytest.mark.parametrize("text", ["", "2x", "0x6", "2*3", "x6", "2x3x", "-2x-3", "\u0662x3"])
def test_refused__no_sizes(text):
    with pytest.raises(UsageError) as refused:
        topology.given(six(), text)
    assert str(refused.value) == f"topology '{text}': must be sizes such as 16, 4x4 or 4x2x2"


@pytest.mark.parametrize(("text", "places"), [("2x2", "4"), ("4x2", "8"), ("999999999x999999999", "999999998000000000")])
def test_refused__places(text, places):
    with pytest.raises(UsageError) as refused:
        topology.given(six(), text)
    assert str(refused.value) == f"topology '{text}': it has {places} places, must have as many as there are processes, 6"


def test_main():
    """The one given comes first; else that of the most processes."""
    b = Builder(6)
    four = Topology("four", b.comm("four", [5, 4, 3, 2]), (4,), (True,), ("i",), np.array([[0], [1], [2], [3]], "i4"))
    trace = dataclasses.replace(b.trace(), topologies=(four,))
    assert topology.main(six()) is None
    assert topology.main(trace) is four
    assert topology.main(topology.arranged(trace, "2x3")).name == "2x3"
    assert topology.main(topology.arranged(topology.arranged(trace, "3x2"), "2x3")).name == "2x3"
    assert topology.arranged(trace, None) is trace


def test_field__of_a_communicator():
    """Ranks 5, 4, 3 and 2 of the world are at 0 to 3; nobody tells where the last of them is, and at 3 there is none then."""
    b = Builder(6)
    four = Topology("four", b.comm("four", [5, 4, 3, 2]), (4,), (True,), ("i",), np.array([[0], [1], [2], [-1]], "i4"))
    trace = dataclasses.replace(b.trace(), topologies=(four,))
    assert topology.coordinates(trace, four).tolist() == [[-1], [-1], [-1], [2], [1], [0]]
    assert topology.field(trace, four, np.arange(6) * 10).tolist()[:3] == [50, 40, 30]
    assert topology.coordinates(build.far(trace), four).tolist() == [[-1], [-1], [-1], [2], [1], [0]]
    assert np.isnan(topology.field(trace, four, np.arange(6))[3])


def test_field__threads_of_a_process_are_together():
    trace = Builder(4).trace()
    threads = dataclasses.replace(trace.locations, process=np.array([0, 0, 1, 1], "i4"), thread=np.array([0, 1, 0, 1], "i4"))
    trace = dataclasses.replace(trace, locations=threads)
    assert topology.field(trace, topology.given(trace, "2"), np.array([1, 2, 4, 8])).tolist() == [3, 12]
