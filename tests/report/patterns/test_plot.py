"""The picture of `perwiz patterns`: what it shows is looked at by people; here it is that it is drawn, bounded, and the same every time."""

import dataclasses

import numpy as np
import pytest

from build import Builder
from perwiz.errors import UsageError
from perwiz.patterns import topology
from perwiz.patterns.search import search
from perwiz.report.patterns import plot as patterns_plot
from perwiz.trace.trace import Topology


def barrier(ranks, sizes=None):
    """Rank r comes r us after rank 0 to a barrier that all leave together."""
    b = Builder(ranks)
    b.barrier(at=[(rank * 1000, ranks * 1000) for rank in range(ranks)])
    return search(topology.arranged(b.trace(), sizes))


def test_slices():
    planes, names = patterns_plot.slices(np.arange(24.0).reshape(2, 3, 4))
    assert (planes.shape, names) == ((2, 3, 4), ["0", "1"])
    planes, names = patterns_plot.slices(np.arange(24.0).reshape(2, 3, 2, 2))
    assert (planes.shape, names) == ((6, 2, 2), ["0, 0", "0, 1", "0, 2", "1, 0", "1, 1", "1, 2"])
    assert patterns_plot.slices(np.arange(5.0))[0].shape == (1, 1, 5)


def test_coarser():
    """Five rows into three: pairs are merged, the last one stays alone; what nobody has does not count."""
    plane = np.array([[1.0, 3.0], [5.0, np.nan], [2.0, 2.0], [4.0, 4.0], [9.0, 11.0]])
    assert patterns_plot.coarser(plane, (3, 2)).tolist()[1:] == [[3, 3], [9, 11]]
    assert patterns_plot.coarser(plane, (3, 2)).tolist()[0] == [3, 3]
    assert patterns_plot.coarser(plane, (3, 1)).tolist() == [[3], [3], [10]]
    assert patterns_plot.coarser(plane, (5, 2)) is plane
    assert np.isnan(patterns_plot.coarser(np.full((2, 1), np.nan), (1, 1))).all()


def test_named():
    found = barrier(2)
    assert patterns_plot.named(found, None) == "mpi_barrier_wait"
    assert patterns_plot.named(found, "mpi_latesender") == "mpi_latesender"
    with pytest.raises(UsageError) as refused:
        patterns_plot.named(found, "grid_mpi_latesender")
    assert str(refused.value) == "pattern 'grid_mpi_latesender': not searched for in this trace, so there is no picture of it"


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [None, "8", "4x2", "2x2x2", "1x2x2x2"])
@pytest.mark.parametrize("kind", ["png", "svg"])
def test_drawn_and_the_same_every_time(tmp_path, sizes, kind):
    found = barrier(8, sizes)
    for name in ("one", "two"):
        patterns_plot.plot(found, "mpi_barrier_wait", str(tmp_path / f"{name}.{kind}"))
    assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"two.{kind}").read_bytes()
    patterns_plot.plot(found, "mpi_latesender", str(tmp_path / f"nothing.{kind}"))


def texts(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts] + [text.get_text() for text in figure.texts]


@pytest.mark.slow
def test_numbers_and_notes():
    """Few cells carry their number, in the unit of the scale; one place has no process."""
    found = barrier(4, "2x2")
    said = texts(patterns_plot._draw(found, "mpi_barrier_wait"))
    assert said[:4] == ["3", "2", "1", "0"]
    assert said[-1] == "topology 2x2: 2 x 2; a cell is a process"
    assert said[4] == "Wait at Barrier (mpi_barrier_wait): 6.000 us in all"
    trace = found.severity.trace
    gap = Topology("gap", 0, (3, 2), (False, False), ("i", "j"), np.array([[0, 0], [0, 1], [2, 0], [-1, -1]], "i4"))
    cube = dataclasses.replace(found.severity, trace=dataclasses.replace(trace, topologies=(gap,)))
    said = texts(patterns_plot._draw(dataclasses.replace(found, severity=cube), "mpi_barrier_wait"))
    assert said[:3] == ["3", "2", "1"]
    assert said[-1].endswith("; a cell is a process; white: none is there")


@pytest.mark.slow
def test_bounded():
    """Of many planes some are drawn; of many places along a side, means."""
    figure = patterns_plot._draw(barrier(20, "20x1x1"), "mpi_barrier_wait")
    assert len(figure.axes) == patterns_plot.MOST_SLICES + 1
    assert texts(figure)[-1].endswith("; planes left out: 4")
    figure = patterns_plot._draw(barrier(600, "600"), "mpi_barrier_wait")
    assert figure.axes[0].images[0].get_array().shape == (1, 300)
    assert "a cell is the mean of several processes" in texts(figure)[-1]
