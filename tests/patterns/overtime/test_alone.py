"""What parts take on an ideal network, each replayed alone: by hand, and against the sweep of the whole run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import build
from build import Builder, hand_model
from perwiz.engines.sweep import sweep
from perwiz.patterns.analysis.efficiency import ideal
from perwiz.patterns.overtime.alone import Alone
from perwiz.patterns.overtime.split import split
from perwiz.whatif.run import replayed


def waiting():
    """Rank 0 computes 40000, waits in an MPI_Allreduce until rank 1 has computed 100000, and computes 20000; rank 1 nothing behind it.

    0 |--40--|======60======|--20--|
    1 |---------100---------|======|       the call takes 1.5 us, of which 500 ns are the network's
    """
    b = Builder(2, latency=0)
    b.compute(0, 40_000)
    b.compute(1, 100_000)
    b.everyone("Allreduce", bytes=8)
    b.compute(0, 20_000)
    return b.trace()


def alone(trace, *cuts):
    run = replayed(trace, hand_model())
    return run, Alone(run, np.repeat(np.array(cuts)[:, None], len(trace.locations), axis=1))


def test_waiting__by_hand():
    """From 70000 on rank 1 has 30000 left, and rank 0 then 20000: the network's part of the call is gone. Before nobody waits in it."""
    trace = waiting()
    left = trace.timeline.calls.leave.max()
    _, found = alone(trace, 0, 70_000, left + 20_000)
    assert found.span(0, 1).tolist() == [40_000, 70_000]
    assert found.span(1, 2).tolist() == [50_000, 30_000]
    assert found.span(0, 2).tolist() == [120_000, 100_000]
    assert found.each(0, 2).tolist() == [[40_000, 70_000], [80_000, 30_000]]


def test_what_comes_from_another_part_comes_when_it_did():
    """Rank 0 sends at 10000, which comes late; rank 1 waits for it from 5000 on, and a part that begins behind the send has it at once."""
    b = Builder(2, latency=50_000)
    b.compute(0, 10_000)
    b.compute(1, 5_000)
    b.send(0, 1)
    b.recv(1, 0)
    b.compute(1, 7_000)
    b.compute(0, 60_000)
    trace = b.trace()
    end = int(trace.timeline.locations.leave.max())
    _, found = alone(trace, 0, 30_000, end)
    rest = 7_000
    assert found.span(1, 2)[1] == rest
    assert found.span(0, 1)[1] == 5_000


@pytest.mark.parametrize("parts", [1, 2, 7])
@given(trace=build.traces(threads=True))
def test_laws(parts, trace):
    """One part of all is the ideal run; several at once are as each by itself; none takes longer than it did."""
    run = replayed(trace, hand_model())
    cuts = split(run.trace, parts).cuts
    found, again = Alone(run, cuts), Alone(run, cuts)
    count, ends = len(cuts) - 1, run.trace.timeline.locations
    best = sweep(run.graph, ideal(run))
    everywhere = (ends.enter >= cuts[0]) & (ends.leave <= cuts[-1])
    assert found.span(0, count)[everywhere] == pytest.approx((best[run.graph.ended] - found.cuts[0])[everywhere], abs=1)
    spans = [(first, end) for first in range(count) for end in range(first + 1, count + 1)]
    found.spans(spans)
    took = np.diff(found.cuts, axis=0)
    for first, end in spans:
        one = found.span(first, end)
        assert one.tolist() == again.span(first, end).tolist()
        assert (one <= took[first:end].sum(axis=0) + 1).all()
        assert again.each(first, end).sum(axis=0) == pytest.approx(one, abs=1)
