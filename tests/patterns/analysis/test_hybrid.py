"""Efficiencies of programs with threads: closed forms of programs whose factors are known, and both forms by hand."""

import numpy as np
import pytest

import build
from build import Builder, hand_model, of_processes, of_team
from perwiz.patterns.analysis.efficiency import BETWEEN, efficiencies
from perwiz.patterns.analysis.hybrid import hybrid
from perwiz.patterns.search import search
from perwiz.whatif.run import replayed

FACTORS = ("load_balance", "serialisation", "transfer")


def factors(trace):
    """Return the factors of processes and of threads, and those of both."""
    run = replayed(trace, hand_model())
    some = hybrid(run)
    return [
        [round(value, 9) for value in values]
        for values in zip(*((getattr(some.mpi, name), some.of_threads(name), getattr(some.whole, name)) for name in FACTORS), strict=True)
    ]


@pytest.mark.parametrize("threads", [2, 4])
def test_closed_forms__threads(threads):
    """Balance, imbalance, ordered: balance n / (2 n - 1) where thread i works 1 + 2 i, serialisation 1 / n where they take turns."""
    whole = [1, 1, 1]
    assert factors(of_team([10_000] * threads)) == [whole] * 3
    uneven = round(threads / (2 * threads - 1), 9)
    assert factors(of_team([1000 * (1 + 2 * i) for i in range(threads)])) == [whole, [uneven, 1, 1], [uneven, 1, 1]]
    assert factors(of_team([2000] * threads, ordered=True)) == [whole, [1, 1 / threads, 1], [1, 1 / threads, 1]]


@pytest.mark.parametrize(("works", "balance"), [((15, 21), 36 / 42), ((15, 5, 7, 9), 9 / 15)])
def test_closed_forms__tasks(works, balance):
    """Tasks of 1 to 8 in a taskgroup: the balance of what each thread executes."""
    assert factors(of_team([1000 * work for work in works]))[1] == [round(balance, 9), 1, 1]


def test_closed_forms__hybrid():
    """Processes of which one works half as long, threads of which one works a third: 3/4 of MPI, 2/3 of the threads, both multiplied."""
    mpi, threads, both = factors(of_processes((3000, 1000), (6000, 2000)))
    assert (mpi, threads, both) == ([0.75, 1, 1], [round(2 / 3, 9), 1, 1], [0.5, 1, 1])


def test_closed_forms__hybrid_serialised():
    """Both work 1000 with both threads, meet, and then 1000 each with the first, one after the other: 3000 of which MPI sees 2000.

    The threads: 2000 and 1000 of useful time in each process; the longest 2000 of 3000.
    """
    mpi, threads, both = factors(of_processes((1000, 1000), (1000, 1000), waits=1000))
    assert mpi == [1, round(2 / 3, 9), 1]
    assert both == [0.75, round(2 / 3, 9), 1]
    assert threads == [0.75, 1, 1]


def test_closed_forms__hybrid_transfer():
    """A barrier of 1000 behind 4000 of work is transfer of MPI, 4000 / 5000, and of both."""
    mpi, threads, both = factors(of_processes((4000, 2000), (4000, 2000), transfer=1000))
    assert (mpi, threads, both) == ([1, 1, 0.8], [0.75, 1, 1], [0.75, 1, 0.8])


def test_added():
    """Process 0 is 1000 in f alone, 3000 and 1000 in a team; process 1 6000 and 2000 in its team; R = 6000. NAG's sums.

    First threads are outside of MPI for 4000 and 6000: balance 1 - (6000 - 5000) / 6000. Idle: 1000 * 1 of 4 threads, 250 in the mean.
    In regions: 4500 in the mean, of which (4000 + 8000) / 4 = 3000 are computed.
    """
    b = Builder(2, work=0, latency=0)
    for process, serial, works in ((0, 1000, (3000, 1000)), (1, 0, (6000, 2000))):
        worker = b.thread(process)
        b.compute(process, serial)
        b.link("fork", b.call(process, "omp_fork"), b.call(worker, "omp_idle"))
        b.compute(process, works[0])
        b.compute(worker, works[1])
        b.team("omp_implicit_barrier", (process, worker))
        join = b.call(process, "omp_join")
        b.link("join", b.call(worker, "omp_idle"), join)
    b.barrier()
    run = replayed(b.trace(), hand_model())
    whole = hybrid(run)
    some = whole.added
    assert run.makespan == 6000
    assert (whole.threads.tolist(), whole.serial.tolist(), whole.regions.tolist()) == ([2, 2], [1000, 0], [3000, 6000])
    assert [round(6000 * (1 - value)) for value in (some.balance, some.serialisation, some.transfer)] == [1000, 0, 0]
    assert [round(6000 * (1 - value)) for value in (some.serial, some.regions)] == [250, 1500]
    assert np.isclose(some.parallel, whole.whole.parallel)
    assert np.isclose(some.parallel, (1000 + 4000 + 8000) / 4 / 6000)


def test_added__unknown_regions():
    """A thread computes 1000 while no parallel region is told but one of 200: what is lost there, and alone, is not known."""
    b = Builder(1, work=0)
    worker = b.thread(0)
    b.link("fork", b.call(0, "omp_fork"), b.call(worker, "omp_idle"))
    b.compute(0, 200)
    b.call(0, "omp_join")
    b.compute(0, 800)
    b.compute(worker, 1000)
    some = hybrid(replayed(b.trace(), hand_model()))
    assert (some.added, some.of_threads("parallel")) == (None, 1)


def test_ideal_of_mpi_keeps_threads():
    """From the fork a thread takes 100 to begin, from the last at the barrier both 100 to go on: to MPI this is outside of its calls."""
    b = Builder(2, work=100, latency=0)
    worker = b.thread(0)
    b.compute(0, 500)
    b.link("fork", b.call(0, "omp_fork", work=0), b.call(worker, "omp_idle"))
    b.compute(worker, 1000)
    b.team("omp_implicit_barrier", (0, worker))
    b.link("join", b.call(worker, "omp_idle", work=0), b.call(0, "omp_join", work=0))
    b.barrier()
    some = hybrid(replayed(b.trace(), hand_model()))
    assert (some.mpi.useful.tolist(), some.mpi.ideal, some.mpi.serialisation) == ([1700, 0], 1700, 1)
    assert (some.whole.ideal, some.whole.time) == (1500, 1800)


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_laws__catalogue(name):
    """Nothing is outside of MPI for longer than the ideal run of MPI, which is no longer than the run; both forms end at one number."""
    some = hybrid(replayed(build.CATALOGUE[name](), hand_model()))
    if some is None:
        return
    assert some.mpi.useful.max() <= some.mpi.ideal <= some.mpi.time
    assert some.whole.ideal <= some.mpi.ideal
    assert np.isclose(some.mpi.parallel * some.of_threads("parallel"), some.whole.parallel)
    if some.added:
        assert np.isclose(some.added.parallel, some.whole.parallel)


def test_no_threads():
    """Without threads there is nothing to tell apart; a stream is none, and does not count with the processes."""
    assert hybrid(replayed(build.CATALOGUE["late_sender"](), hand_model())) is None
    trace = build.CATALOGUE["device"]()
    assert hybrid(replayed(trace, hand_model())) is None
    run = replayed(trace, hand_model())
    assert len(efficiencies(run, search(run.trace).severity)[0].useful) == 2


def test_between__threads():
    """Between MPI_Init, left at 50, and MPI_Finalize, entered at 200, a thread computes 60; that it is idle from before counts from 50."""
    b = Builder(1)
    worker = b.thread(0)
    b.call(0, "Init", at=(0, 50))
    fork, idle = b.call(0, "omp_fork", at=(100, 100)), b.call(worker, "omp_idle", at=(0, 100))
    b.link("fork", fork, idle)
    b.team("omp_implicit_barrier", (0, worker), at={0: (180, 180), worker: (160, 180)})
    join = b.call(0, "omp_join", at=(180, 180))
    b.link("join", b.call(worker, "omp_idle", at=(180, 250)), join)
    b.everyone("Finalize", at=[(200, 250)])
    run = replayed(b.trace(), hand_model(), "none")
    some = hybrid(run)
    assert (some.whole.name, some.whole.time, some.whole.useful.tolist()) == (BETWEEN, 150, [150, 60])
    assert (some.mpi.useful.tolist(), some.serial.tolist(), some.regions.tolist()) == ([150], [70], [80])
    assert np.isclose(some.added.parallel, some.whole.parallel)
    assert np.isclose(some.added.serial, 1 - 70 / 2 / 150)
