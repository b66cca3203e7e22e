"""TALP's efficiencies and those of teams as JSC states them: closed forms of programs whose factors are known, and by hand."""

import numpy as np
import pytest

from build import CATALOGUE, Builder, hand_model, of_processes, of_team
from perwiz.patterns.analysis.talp import talp, teams
from perwiz.whatif.run import replayed


def of(trace):
    run = replayed(trace, hand_model())
    return talp(run), teams(run)


def factors(some):
    return [round(value, 9) for value in (some.omp_load_balance, some.omp_scheduling, some.omp_serialisation)]


def jsc(some):
    return [round(value, 9) for value in (some.load_balance, some.serialisation, some.management, some.parallel)]


@pytest.mark.parametrize("threads", [2, 4])
def test_closed_forms(threads):
    """Balance n / (2 n - 1) where thread i works 1 + 2 i; where threads take turns, TALP sees those that end first in the barrier.

    Of 4 turns of 2000 they are useful until 2000, 4000, 6000 and 8000. JSC: each computes 2000 of 2000 n.
    """
    some, of_teams = of(of_team([10_000] * threads))
    assert (factors(some), some.parallel, jsc(of_teams)) == ([1, 1, 1], 1, [1, 1, 1, 1])
    uneven = round(threads / (2 * threads - 1), 9)
    some, of_teams = of(of_team([1000 * (1 + 2 * i) for i in range(threads)]))
    assert (factors(some), round(some.parallel, 9), jsc(of_teams)) == ([uneven, 1, 1], uneven, [uneven, 1, 1, uneven])
    some, of_teams = of(of_team([2000] * threads, ordered=True))
    assert factors(some) == [round((threads + 1) / 2 / threads, 9), 1, 1]
    assert jsc(of_teams) == [1, 1 / threads, 1, 1 / threads]


@pytest.mark.parametrize(("works", "balance"), [((15, 21), 36 / 42), ((15, 5, 7, 9), 9 / 15)])
def test_closed_forms__tasks(works, balance):
    """Tasks of 1 to 8 in a taskgroup: the balance of what each thread executes."""
    some, of_teams = of(of_team([1000 * work for work in works]))
    assert (factors(some)[0], jsc(of_teams)[0]) == (round(balance, 9), round(balance, 9))


def test_hybrid():
    """4 threads for 6000. Process 0 is in MPI for 3000, its thread idle; threads end 2000 and 4000 before the others of their teams.

    Useful are 12000 of 24000. In MPI, with idle threads, 6000 / 4 = 1500 in the mean, none of process 1.
    """
    some, of_teams = of(of_processes((3000, 1000), (6000, 2000), idle=3000))
    assert (some.elapsed, some.useful, some.mpi.tolist(), some.idle_in_mpi.tolist()) == (6000, 12000, [3000, 0], [3000, 0])
    assert (some.imbalance, some.scheduling, some.serialisation, some.runtime) == (6000, 0, 3000, 0)
    assert (some.parallel, some.mpi_parallel, some.mpi_load_balance, some.mpi_communication) == (0.5, 0.75, 0.75, 1)
    assert factors(some) == [18 / 24, 1, round(15 / 18, 9)]
    assert np.isclose(some.omp_parallel, 15 / 24)
    assert some.device_offload == 1
    assert jsc(of_teams) == [round(2 / 3, 9), 1, 1, round(2 / 3, 9)]


def test_scheduling_and_management():
    """A fork of 100, a thread begins 300 behind it; 1000 and 600 of work, a barrier of 50 behind the last, a join of 40 behind that."""
    b = Builder(1, work=0)
    other = b.thread(0)
    b.link("fork", b.call(0, "omp_fork", work=100), b.call(other, "omp_idle", work=300))
    b.compute(0, 1000)
    b.compute(other, 600)
    for call in b.team("omp_implicit_barrier", (0, other)).values():
        call.work = 50
    join, ended = b.call(0, "omp_join", work=40), b.call(other, "omp_idle", work=40)
    b.link("join", ended, join)
    some, of_teams = of(b.trace())
    # From 1100 and 900 to 1190, when the team is joined: both 90, one 200 more. The thread begins at 300. The fork is useful to TALP.
    assert (some.scheduling, some.imbalance, some.serialisation, some.useful) == (180, 200, 300, 1100 + 600)
    assert factors(some) == [round(2000 / 2200, 9), round(2200 / 2380, 9), round(1700 / 2000, 9)]
    assert np.isclose(some.omp_parallel, some.parallel)
    # Both compute 800 in the mean; the first is in the team from 100 to 1150, of 1190.
    assert jsc(of_teams) == [0.8, round(1000 / 1050, 9), round(1050 / 1190, 9), round(800 / 1190, 9)]


def test_devices():
    """Kernels of 300 at 100 and, on another stream, of 200 at 300; a copy of 400 at 400: 400 of kernels, 300 of copies beside them."""
    b = Builder(2, work=0, latency=0)
    for process, second in ((0, 200), (1, 0)):
        one, two = b.stream(process), b.stream(process)
        launch = b.call(process, "device_launch", at=(0, 100))
        for stream, begins, work, name in ((one, 100, 300, "kernel"), (two, 300, second, "kernel")):
            b.link("launch", launch, b.call(stream, "device_idle", at=(0, begins)))
            with b.region(stream, name, at=(begins, begins + work)):
                b.compute(stream, work)
        b.call(one, "device_idle", at=(400, 400))
        with b.region(one, "copy to device", at=(400, 800 if second else 400)):
            b.compute(one, 400 if second else 0)
        b.call(process, "device_synchronize", at=(500, 900))
        b.compute(process, 100)
    some, of_teams = of(b.trace())
    assert of_teams is None
    assert (some.elapsed, some.runtime, some.useful) == (1000, 1000, 1000)
    assert (some.kernels.tolist(), some.copies.tolist()) == ([400, 300], [300, 0])
    assert (some.device_offload, some.device_load_balance, some.device_communication) == (0.5, 350 / 400, round(400 / 700, 20))
    assert (some.device_orchestration, np.isclose(some.device_parallel, 700 / 2000)) == (0.7, True)


@pytest.mark.parametrize("name", CATALOGUE)
def test_law__times_add_up(name):
    """All times together are those of all threads; the efficiencies of OpenMP lie from 0 to 1."""
    trace = CATALOGUE[name]()
    some, of_teams = of(trace)
    if some is None:
        return
    assert min(some.useful, some.imbalance, some.scheduling, some.serialisation, some.runtime) >= 0
    assert all(0 <= value <= 1 for value in (*factors(some), some.parallel, some.device_offload))
    if of_teams is not None:
        assert all(0 <= value <= 1 for value in jsc(of_teams))
