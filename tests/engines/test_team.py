"""Runs that several processes have together, here threads: every answer is that of one alone."""

import dataclasses
import itertools
import pathlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
import naive_clock
import threaded
from build import Builder
from perwiz.clock.condition import violations
from perwiz.clock.figures import figures
from perwiz.clock.logical import correct
from perwiz.clock.treatment import Treated
from perwiz.errors import TraceError, UsageError
from perwiz.formats import files
from perwiz.graph.build import build as build_graph
from perwiz.report.correct import document as report
from perwiz.report.records import to_json
from perwiz.trace.spread.cut import bounds_of
from perwiz.trace.tied import tied_part
from perwiz.whatif.health import health

TRACES = pathlib.Path(__file__).parents[2] / "traces"
CIRCLE = "calls wait for each other in a circle, which is told apart by one process alone; must be asked of one \\(without mpiexec\\)"


def corrected(trace, options):
    """Return what `perwiz correct` says as JSON, and when its own calls and regions are."""
    found = correct(trace, **options)
    fixed = dataclasses.replace(trace, offsets=found.trace.offsets, timeline=found.timeline, offsets_applied=True)
    state = health(fixed, found.graph.contradictions, Treated(fixed, violations(trace, found.before), found if found.jumps else None))
    line, calls = found.timeline, found.trace.share.calls
    times = line.calls.enter[calls], line.calls.leave[calls], line.regions.enter, line.regions.leave
    return to_json(report.document(trace, found, figures(found), "clc", state)), times


def check_correct(trace, size, **options):
    """Correct a trace alone and by so many threads: nothing may differ."""
    trace = tied_part(trace)
    said, times = corrected(trace, options)
    found = threaded.parts(size, trace, lambda part: corrected(part, options))
    assert {each for each, _ in found} == {said}
    for alone, *together in zip(times, *(own for _, own in found), strict=True):
        assert np.array_equal(np.concatenate(together), alone)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("name", sorted(set(build.CATALOGUE) - {"cycle_of_messages"}))
def test_correct__catalogue(name, size):
    for changed, options in threaded.variants(build.CATALOGUE[name]()):
        check_correct(changed, size, **options)


@pytest.mark.slow
@settings(max_examples=40)
@given(naive_clock.traces(), st.integers(2, 5), st.data())
def test_correct__random(trace, size, data):
    count = len(trace.locations)
    numbers = {"off": 80_000, "drift": 100_000, "node": 1, "metahost": 1}
    drawn = {name: data.draw(st.lists(st.integers(0, most), min_size=count, max_size=count)) for name, most in numbers.items()}
    trace = threaded.placed(threaded.shifted(trace, drawn["off"], drawn["drift"]), drawn["node"], drawn["metahost"])
    options = {"mu": data.draw(st.sampled_from([None, 0, (5, 100, 3000)])), "gamma": data.draw(st.sampled_from([None, 1, 0.5]))}
    check_correct(trace, size, **options)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 4])
def test_correct__real(size):
    """Of 16 processes: 1780 of 9052 messages are received before they were sent, and gamma is found in several passes."""
    check_correct(files.read(str(TRACES / "p_m3.alog.gz")), size)


def busy():
    """Six ranks, an allreduce, a broadcast, a reduction, a scan, and a ring of messages behind each."""
    b = Builder(6)
    for number, routine in enumerate(["Allreduce", "Bcast", "Reduce", "Scan"]):
        for rank in range(6):
            b.compute(rank, 700 * ((rank + number) % 3))
        b.everyone(routine, root=3 if routine in ("Bcast", "Reduce") else None, bytes=100)
        for rank in range(6):
            b.sendrecv(rank, (rank + 1) % 6, (rank - 1) % 6)
    return b.trace()


def crossing(trace, size):
    """Return (calls, hubs) whose times cross when so many processes go through a graph once."""
    borders = threaded.parts(size, trace, lambda part: build_graph(part).border)
    bundles = [bundle for border in borders for step in border.steps for bundle in step.out]
    return sum(len(bundle.calls) for bundle in bundles), sum(len(bundle.hubs) for bundle in bundles)


def test_what_crosses():
    """Of the ring one message per process and turn. Of collectives: there and back; down; up home, down to the root; along the ranks.

    The k-th instance is at home on process k modulo their number: the broadcast on that of its root, the reduction not.
    """
    assert crossing(busy(), 1) == (0, 0)
    assert crossing(busy(), 2) == (4 * 2, 2 + 1 + (1 + 1) + 1)
    assert crossing(busy(), 3) == (4 * 3, 4 + 2 + (2 + 1) + 2)


def test_bounds__neighbours_together_and_even():
    b = Builder(5)
    for rank, calls in enumerate([1, 1, 1, 30, 30]):
        for _ in range(calls):
            b.call(rank, "Wtime")
    places, weight = b.trace().locations, np.array([4, 4, 4, 62, 62])
    assert bounds_of(places, weight, 2).tolist() == [0, 4, 5]
    many = bounds_of(places, weight, 9)
    assert (len(many), many[0], many[-1], (np.diff(many) >= 0).all()) == (10, 0, 5, True)


def test_bounds__threads_stay_with_their_process():
    trace = build.CATALOGUE["threads"]()
    bounds = bounds_of(trace.locations, np.ones(len(trace.locations)), 2).tolist()
    own = [set(trace.locations.process[low:high].tolist()) for low, high in itertools.pairwise(bounds)]
    assert not own[0] & own[1]


def test_correct__more_processes_than_locations():
    check_correct(threaded.shifted(busy()), 9)


def test_correct__one_call_sends_to_several():
    """MPI_Startall: the earliest of the limits of what it sends holds."""
    for first, second in ((150, 130), (130, 150)):
        b = Builder(4)
        call = b.send(0, 1, at=(100, 110))
        b._send(call, 2, 8, 0, 0, "", call)
        b.recv(0, 3, at=(900, 1000))
        b.send(3, 0, at=(2000, 2010))
        b.recv(1, 0, at=(0, first))
        b.recv(2, 0, at=(0, second))
        check_correct(b.trace(), 4, mu=1)


def test_refused__circle():
    with pytest.raises(TraceError, match=f"^built: {CIRCLE}$"):
        threaded.parts(2, build.CATALOGUE["cycle_of_messages"](), correct)


def test_refused__by_all():
    with pytest.raises(UsageError, match="gamma"):
        threaded.parts(3, busy(), lambda part: correct(part, gamma=2))
    with pytest.raises(UsageError, match="minimum latencies"):
        threaded.parts(3, busy(), lambda part: correct(part, mu=(3, 2, 1)))
