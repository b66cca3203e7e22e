"""The picture of `perwiz patterns`: what it shows is looked at by people; here it is that it is drawn, bounded, and the same every time."""

import dataclasses
import pathlib

import numpy as np
import pytest

from build import Builder, hand_model
from perwiz.patterns import topology
from perwiz.patterns.analysis.worth import worth
from perwiz.patterns.search import search
from perwiz.report.patterns import plot as patterns_plot
from perwiz.trace.trace import Topology
from perwiz.whatif.run import replayed


def barrier(ranks, sizes=None):
    """Rank r comes r us after rank 0 to a barrier that all leave together."""
    b = Builder(ranks)
    b.barrier(at=[(rank * 1000, ranks * 1000) for rank in range(ranks)])
    return topology.arranged(b.trace(), sizes)


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


def found_in(trace):
    run = replayed(trace, hand_model(), "none")
    findings = search(run.trace)
    return run, findings, worth(run, findings)


def two_waits():
    """Rank 2 waits 5000 for a message and is done; rank 0 waits 1000 at a barrier and then has 500 to do.

    rank 0  compute ==== send, barrier ~~~ ==    5000, until 6010, 6510
    rank 1  compute ============== barrier       6000, until 6010
    rank 2  recv ~~~~~~~                         until 5012
    """
    b = Builder(3)
    b.send(0, 2, 1, at=(5000, 5000))
    b.recv(2, 0, at=(0, 5012))
    b.everyone("Barrier", comm=b.comm("pair", [0, 1]), at=[(5000, 6010), (6000, 6010)])
    b.compute(0, 500)
    return b.trace()


@pytest.mark.slow
def test_worth_most(tmp_path):
    """Not what waits longest is drawn: without the wait at the barrier rank 1 ends the run, 500 earlier."""
    run, found, gains = found_in(two_waits())
    assert [found.severity.total(name) for name in ("mpi_latesender", "mpi_barrier_wait")] == [5000, 1000]
    path = str(tmp_path / "worth.svg")
    patterns_plot.plot(run, found, gains, None, path)
    said = pathlib.Path(path).read_text()
    assert "Wait at Barrier (mpi_barrier_wait): 1.000 us in all" in said
    assert "worth most of all patterns: gain 500 ns (7.7 %) if no call of its sites waited" in said
    patterns_plot.plot(run, found, gains, "mpi_latesender", path, 3.5)
    said = pathlib.Path(path).read_text()
    assert "worth most" not in said
    assert "gain 0 ns (0.0 %)" in said


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [None, "8", "2x2x2", "1x2x2x2"])
def test_drawn(tmp_path, sizes):
    """What nobody waits for, too."""
    found = found_in(barrier(8, sizes))
    for name in ("mpi_barrier_wait", "mpi_latesender"):
        patterns_plot.plot(*found, name, str(tmp_path / f"{name}.svg"))


@pytest.mark.slow
def test_drawn__the_same_every_time(tmp_path):
    found, paths = found_in(barrier(8, "4x2")), [tmp_path / "one.svg", tmp_path / "two.svg"]
    for path in paths:
        patterns_plot.plot(*found, "mpi_barrier_wait", str(path))
    assert paths[0].read_bytes() == paths[1].read_bytes()


def texts(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts] + [text.get_text() for text in figure.texts]


@pytest.mark.slow
def test_numbers_and_notes():
    """Few cells carry their number, in the unit of the scale; one place has no process."""
    found = search(barrier(4, "2x2"))
    said = texts(patterns_plot._draw(found, "mpi_barrier_wait", "gain", 10.0))
    assert said[:4] == ["3", "2", "1", "0"]
    assert said[-1] == "topology 2x2: 2 x 2; a cell is a process"
    assert said[4] == "Wait at Barrier (mpi_barrier_wait): 6.000 us in all"
    trace = found.severity.trace
    gap = Topology("gap", 0, (3, 2), (False, False), ("i", "j"), np.array([[0, 0], [0, 1], [2, 0], [-1, -1]], "i4"))
    cube = dataclasses.replace(found.severity, trace=dataclasses.replace(trace, topologies=(gap,)))
    said = texts(patterns_plot._draw(dataclasses.replace(found, severity=cube), "mpi_barrier_wait", "gain", 10.0))
    assert said[:3] == ["3", "2", "1"]
    assert said[-1].endswith("; a cell is a process; white: none is there")


@pytest.mark.slow
def test_bounded():
    """Of many planes some are drawn; of many places along a side, means."""
    figure = patterns_plot._draw(search(barrier(20, "20x1x1")), "mpi_barrier_wait", "gain", 10.0)
    assert len(figure.axes) == patterns_plot.MOST_SLICES + 1
    assert texts(figure)[-1].endswith("; planes left out: 4")
    figure = patterns_plot._draw(search(barrier(600, "600")), "mpi_barrier_wait", "gain", 10.0)
    assert figure.axes[0].images[0].get_array().shape == (1, 300)
    assert "a cell is the mean of several processes" in texts(figure)[-1]
