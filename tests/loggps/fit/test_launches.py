"""What streams take behind launches, and between kernels: in jobs whose time without launches is known."""

import numpy as np
import pytest

import build
from kinetos import Rank, put
from perwiz.engines.sweep import sweep
from perwiz.formats import files
from perwiz.loggps.fit.launches import begins
from perwiz.loggps.weigh import vertex_times
from perwiz.trace.tables import LAUNCH
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed
from perwiz.whatif.sure.variations import GAPS

BETWEEN, LAG, GAP = 1, 6, 2
"""us that the host computes ahead of each launch, from a launch to the begin of its kernel, and between kernels that are queued."""


def job(phases, takes, between=BETWEEN):
    """Return (launches, their begins and lengths), when the host waits for each phase of `(kernels, length)` from, and when it goes on, us;
    a launch `takes` so long, and the host computes so long `between` two.
    """
    now, end, kernels, waits = 0, -GAP, [], []
    for count, length in phases:
        for _ in range(count):
            launch = now + between
            begin = max(launch + LAG, end + GAP)
            kernels.append((launch, begin, length))
            now, end = launch + takes, begin + length
        waits.append((now + 1, end + 3))
        now = end + 3
    return kernels, waits


def recorded(folder, phases, takes=5, between=BETWEEN):
    kernels, waits = job(phases, takes, between)
    rank = Rank(0, 1).note("ProfilerStep#1", 0, waits[-1][1])
    for launch, begin, length in kernels:
        rank.launch("gemm", launch, begin, length, last=takes)
    for begin, end in waits:
        rank.call("cudaDeviceSynchronize", begin, end - begin)
    return files.read(put(folder, rank))


@pytest.mark.parametrize(
    "phases",
    [
        [(20, 12)],  # device bound: nothing but the first launch
        [(20, 12), (20, 1)],  # the second bound by launches, which come 6 us behind each other, no sooner than a kernel begins
        [(20, 12), (20, 3), (1, 4), (20, 2)],  # with a launch less a kernel takes 5 us then, a launch 1
    ],
)
def test_job_without_launches(tmp_path, phases):
    trace = recorded(tmp_path / "job", phases)
    found = predict(trace, "zero-time op:device_launch", "default")
    assert (found.recorded.makespan, found.predicted.makespan) == tuple(1000 * job(phases, takes)[1][-1][1] for takes in (5, 0))


def test_job_in_which_nothing_is_queued(tmp_path):
    """All are bound by launches: kernels of 1 us then follow each other by what a device takes at most, not by 6 us."""
    found = predict(recorded(tmp_path / "job", [(20, 1)]), "zero-time op:device_launch", "default")
    assert found.predicted.makespan == 1000 * (BETWEEN + LAG + 20 + 3) + 19 * 900


@pytest.mark.parametrize(("asked", "takes", "between"), [("zero-time op:device_launch", 5, 0), ("speed rank:0=1e9", 0, 5)])
def test_job_in_which_nothing_is_queued__range(tmp_path, asked, takes, between):
    """No kernel tells what a device leaves between two: nothing, or up to twice what is taken; of a job that queues some, that is told."""
    found = predict(recorded(tmp_path / "job", [(20, 1)], takes, between), asked, "default")
    others = [other.makespan - found.predicted.makespan for other in found.span.others if other.changes == (GAPS,)]
    assert others == [-19 * 900, 19 * 900]
    queued = predict(recorded(tmp_path / "queued", [(20, 12)], takes, between), asked, "default")
    assert not [other for other in queued.span.others if other.changes == (GAPS,)]


def test_kernels_half_as_long(tmp_path):
    """Where launches bind, kernels half as long gain the half of the last one."""
    found = predict(recorded(tmp_path / "job", [(20, 2)]), "scale gemm=0.5", "default")
    assert found.recorded.makespan - found.predicted.makespan == 1000


def test_begins():
    """Launched at 10 on an idle stream, at 30 behind a kernel that ends at 50, and at 40 behind what another stream does until 70."""
    trace = build.two_streams()
    found = begins(trace, trace.timeline, np.flatnonzero(trace.links.kind == LAUNCH))
    assert (found.lag.tolist(), found.idle.tolist(), found.late.tolist()) == ([5, 21, 33], [15, 1, 73], [True, False, False])
    assert (found.usual_lag.tolist(), found.usual_gap.tolist()) == ([5, 5, 5], [1, 1, 1])


@pytest.mark.parametrize("name", ["device", "two_streams"])
def test_bind__replayed(name):
    """A sweep gives back the recorded times."""
    weighted = replayed(build.CATALOGUE[name](), "default", "none").weighted
    time = vertex_times(weighted.timeline, weighted.graph, weighted.weight)
    assert np.array_equal(sweep(weighted.graph, weighted.weight), time)
