"""The worked example of a pattern of one's own: pipeline refills of a wavefront (Wolf et al. 2006, section 5)."""

import dataclasses
import pathlib

import numpy as np
import pytest

from build import Builder
from perwiz.patterns import own, topology
from perwiz.patterns.library import BUILT_IN, refill
from perwiz.patterns.pattern import View
from perwiz.patterns.search import search

FILE = str(pathlib.Path(refill.__file__))
LOW_LOW, HIGH_LOW, LOW_HIGH, HIGH_HIGH = range(4)


def wave(rows, columns, *corners, steps=2, arranged=True, order=1):
    """A sweep from each corner in turn, `steps` steps each; rank `i * columns + j` is at (i, j). Dimensions are received in an order."""
    b = Builder(rows * columns)
    for corner in corners:
        down, right = (-1 if corner & 1 else 1), (-1 if corner & 2 else 1)
        for _ in range(steps):
            for i in range(rows)[::down]:
                for j in range(columns)[::right]:
                    rank = i * columns + j
                    inside = [(0 <= i + k * down < rows, 0 <= j + k * right < columns) for k in (-1, 1)]
                    for there, source in list(zip(inside[0], (rank - down * columns, rank - right), strict=True))[::order]:
                        if there:
                            b.recv(rank, source, tag=corner)
                    b.compute(rank, 20_000)
                    for there, to in zip(inside[1], (rank + down * columns, rank + right), strict=True):
                        if there:
                            b.send(rank, to, tag=corner)
    trace = b.trace()
    return topology.arranged(trace, f"{rows}x{columns}") if arranged else trace


def own_patterns():
    """The example, loaded as a file of the user's."""
    return own.collect([FILE], BUILT_IN)


def test_one_step():
    """2 x 2 from (0, 0), in units of 1000 ns: the corner at the origin waits for nobody, those beside it once, that reached last twice.

    0             send to 2 (2..3)  send to 1 (3..4)
    1  recv(1..5)                                    send to 3 (5..6)
    2  recv(1..4)                                                     send to 3 (9..10)
    3  recv(0..7)                                    recv(7..11)
    """
    b = Builder(4)
    for rank, to, at in ((0, 2, 2), (0, 1, 3)):
        b.send(rank, to, at=(at * 1000, at * 1000 + 1000))
    b.recv(1, 0, at=(1000, 5000))
    b.send(1, 3, at=(5000, 6000))
    b.recv(2, 0, at=(1000, 4000))
    b.send(2, 3, at=(9000, 10_000))
    b.recv(3, 1, at=(0, 7000))
    b.recv(3, 2, at=(7000, 11_000))
    found = search(topology.arranged(b.trace(), "2x2"), own_patterns())
    assert found.instances["refill_low_low"].severity.tolist() == [2000, 1000, 5000, 2000]
    assert found.severity.by_location("refill").tolist() == [0, 2000, 1000, 7000]


def test_two_sweeps__which_waits():
    """Rank r is at (r // 2, r % 2); each sweep has two steps. From (0, 0): 1, 2 and 3 wait; 3 only once, for 1: 2 has sent before 1 has.

    Then from (max, 0): 0 waits for 2, and 1 for 3, but 3 does not wait for 2, which began the sweep while 3 still worked on the last one.
    """
    found = search(wave(2, 2, LOW_LOW, HIGH_LOW), own_patterns())
    waits = found.instances["refill"]
    location = found.severity.trace.calls.location
    assert np.bincount(location[waits.call], minlength=4).tolist() == [1, 1 + 1, 1, 1]
    names = ("refill_low_low", "refill_high_low", "refill_low_high", "refill_high_high")
    assert [len(found.instances[name]) for name in names] == [3, 2, 0, 0]


@pytest.mark.parametrize(
    "corners",
    [
        (LOW_LOW,),
        (LOW_LOW, HIGH_LOW, LOW_HIGH, HIGH_HIGH),
        (LOW_LOW, HIGH_HIGH),
        (HIGH_LOW, LOW_HIGH),
        (LOW_HIGH, HIGH_HIGH, HIGH_LOW, LOW_LOW),
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_first_step_of_each_sweep(corners, order):
    """On 3 x 3 processes a step has 12 messages: those of the first step of each sweep, no others, whichever way the corner changes."""
    steps, trace = 3, wave(3, 3, *corners, steps=3, order=order)
    corner, first = refill.corners(View(trace))
    table, location = trace.messages, trace.calls.location
    assert len(corner) == 12 * steps * len(corners)
    assert (corner == table.tag).all()
    seen: dict[tuple[int, ...], int] = {}
    for row in np.argsort(table.receive, kind="stable").tolist():
        pair = int(location[table.send[row]]), int(location[table.receive[row]])
        number, seen[pair] = seen.get(pair, 0), seen.get(pair, 0) + 1
        assert first[row] == (number % steps == 0), (row, pair, number)


def test_same_corner_again_is_no_refill():
    """Two sweeps from one corner are one, twice as long."""
    assert refill.corners(View(wave(3, 3, LOW_LOW, LOW_LOW)))[1].sum() == 12


def test_what_one_process_cannot_see():
    """From (0, 0), back from (max, max), and again: the last process receives nothing in between, so that to it the corner is the same."""
    assert refill.corners(View(wave(3, 3, LOW_LOW, HIGH_HIGH, LOW_LOW)))[1].sum() == 12 + 12 + (12 - 2)


def test_not_neighbours():
    """A message that goes two places, or diagonally, has no direction."""
    b = Builder(9)
    b.send(0, 2)
    b.recv(2, 0)
    b.send(0, 4)
    b.recv(4, 0)
    corner, first = refill.corners(View(topology.arranged(b.trace(), "3x3")))
    assert (corner.tolist(), first.any()) == ([-1, -1], False)


def test_three_dimensions():
    """2 x 2 x 2: from the corner (0, 0, max) the last process waits once in each dimension."""
    b = Builder(8)
    for rank in (1, 0, 3, 2, 5, 4, 7, 6):
        at = [rank >> 2, rank >> 1 & 1, 1 - (rank & 1)]
        for k, bit in enumerate((4, 2, 1)):
            if at[k]:
                b.recv(rank, rank ^ bit)
        b.compute(rank, 20_000)
        for k, bit in enumerate((4, 2, 1)):
            if not at[k]:
                b.send(rank, rank ^ bit)
    corner, first = refill.corners(View(topology.arranged(b.trace(), "2x2x2")))
    assert (set(corner.tolist()), first.sum()) == ({4}, 12)


def test_no_topology():
    """It is left out with its special cases, and says once why; everything else is found."""
    found = search(wave(2, 2, LOW_LOW, arranged=False), own_patterns())
    assert not any(name.startswith("refill") for name in found.instances)
    assert not any(metric.name.startswith("refill") for metric in found.severity.metrics)
    assert len(found.instances["mpi_latesender"]) > 0
    assert found.failures[0].endswith("pattern refill: ValueError: the trace has no topology, must be given with --topology")
    assert len(found.failures) == 1


def test_in_the_tree():
    cube = search(wave(3, 3, LOW_LOW, HIGH_HIGH), own_patterns()).severity
    names = ("refill_low_low", "refill_high_low", "refill_low_high", "refill_high_high")
    assert 0 < cube.total("refill") == sum(cube.total(name) for name in names) <= cube.total("mpi_latesender")
    assert {metric.parent for metric in cube.metrics if metric.name in names} == {"refill"}


def test_topology_of_the_trace_itself():
    """The same, given by the trace rather than by the user."""
    trace = wave(2, 2, LOW_LOW)
    named = dataclasses.replace(trace.topologies[0], name="grid", dimensions=("i", "j"))
    assert refill.corners(View(dataclasses.replace(trace, topologies=(named,))))[1].sum() == 4
