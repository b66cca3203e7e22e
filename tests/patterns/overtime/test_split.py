"""A run in parts: pieces of computation, time in calls, and instants of another timeline, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import build
from build import Builder, hand_model
from perwiz.patterns.overtime import split as splits
from perwiz.patterns.overtime.split import computed, inside, moved, pieces, split
from perwiz.trace.tables import Times
from perwiz.whatif.hypotheses.stretch import Segments
from perwiz.whatif.run import replayed


def two():
    """Rank 0 computes 100, is in a call until 150, computes 50; rank 1 computes 40 in a region, 60 behind it, is in a call to 200.

    0 |---100---|==50==|-50-|
    1 |-40-|-60-|=====100===|
    """
    b = Builder(2)
    b.compute(0, 100)
    b.call(0, "Comm_rank", at=(100, 150))
    b.compute(0, 50)
    with b.region(1, "f", at=(0, 40)):
        b.compute(1, 40)
    b.call(1, "Comm_rank", at=(100, 200))
    b.end = {0: 200, 1: 200}
    return b.trace()


def cuts(*instants, locations=2):
    return np.repeat(np.array(instants)[:, None], locations, axis=1)


def test_pieces__by_hand():
    segments = Segments(replayed(two(), hand_model()).weighted)
    cut = pieces(segments, cuts(20, 60, 120, 180))
    assert list(zip(cut.location.tolist(), cut.part.tolist(), cut.length.tolist(), strict=True)) == [
        *((0, -1, 20), (0, 0, 40), (0, 1, 40), (0, 2, 30), (0, -1, 20)),
        *((1, -1, 20), (1, 0, 20), (1, 0, 20), (1, 1, 40)),
    ]
    assert computed(cut, 3, 2).tolist() == [[40, 40], [40, 40], [30, 0]]


def test_inside__by_hand():
    """A wait begins as its call does: 30 of rank 0's call from 100 on, 100 of rank 1's."""
    assert inside(two(), cuts(20, 110, 120, 180), np.array([30, 100])).tolist() == [[10, 10], [10, 10], [10, 60]]


def test_moved__by_hand():
    """In the other run calls take 0 and 20: 120 is in both calls, behind two fifths and a fifth; 160 is 10 behind rank 0's."""
    other = Times(np.array([100, 100]), np.array([100, 120]))
    at = moved(two(), cuts(60, 120, 160), other.enter, other.leave, np.array([0, 0]), np.array([150, 120]))
    assert at.tolist() == [[60, 60], [100, 104], [110, 112]]


@pytest.mark.parametrize("windows", [1, 3, 10])
@given(trace=build.traces())
def test_windows__hold_everything(windows, trace):
    """Computation and calls of windows add up to the time of each location between the ends, whatever crosses them."""
    run = replayed(trace, hand_model())
    parts, calls, ends = split(run.trace, windows), run.trace.timeline.calls, run.trace.timeline.locations
    found = computed(pieces(Segments(run.weighted), parts.cuts), len(parts), len(run.trace.locations))
    found = found + inside(run.trace, parts.cuts, calls.leave - calls.enter)
    there = np.maximum(np.minimum(ends.leave, parts.cuts[1:]) - np.maximum(ends.enter, parts.cuts[:-1]), 0)
    assert found.tolist() == there.tolist()


def program(counts, ends=True):
    """Three ranks compute so often in turn, all in a barrier behind each; with or without MPI_Init and MPI_Finalize."""
    b = Builder(3, latency=0)
    if ends:
        [b.call(rank, "Init") for rank in range(3)]
    for works in counts:
        for rank, work in enumerate(works):
            b.compute(rank, work)
        b.everyone("Allreduce", bytes=8)
    if ends:
        [b.call(rank, "Finalize") for rank in range(3)]
    return b.trace()


def test_split__iterations():
    parts = split(program([(100_000, 100_000, 100_000)] * 8))
    assert (parts.by, parts.names, parts.why, parts.before, parts.after) == ("iterations", ("MPI_Allreduce",), "", True, False)
    assert parts.number.tolist() == list(range(1, 10))
    assert len(parts) == 9


def test_split__many_iterations_go_together(monkeypatch):
    monkeypatch.setattr(splits, "MOST", 4)
    parts = split(program([(100_000, 100_000, 100_000)] * 10))
    assert parts.number.tolist() == [1, 4, 7, 10, 11]


def test_split__windows():
    """Nothing repeats; MPI_Init and MPI_Finalize are not there, and the run is as long as 10 windows of 20 ns."""
    parts = split(two(), 10)
    assert (parts.by, parts.why, parts.shown) == ("windows", "", False)
    assert parts.cuts[:, 0].tolist() == list(range(0, 201, 20))
    parts = split(two())
    assert (parts.why, len(parts)) == ("nothing that lasts repeats 3 times or more", 100)


def test_split__no_more_windows_than_ns():
    b = Builder(1)
    b.compute(0, 3)
    assert len(split(b.trace(), 10)) == 3
