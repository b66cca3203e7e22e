"""Parallel efficiencies: oracle 13 of the definitions, the ideal replay by hand, and its laws."""

import hypothesis
import numpy as np
import pytest

import build
from build import Builder, hand_model
from perwiz.patterns.analysis import efficiency
from perwiz.patterns.analysis.efficiency import BETWEEN, PROGRAM, Efficiency, efficiencies
from perwiz.patterns.search import search
from perwiz.whatif.run import replayed


def found(trace, model=None):
    run = replayed(trace, model or hand_model())
    return {some.name: some for some in efficiencies(run, search(run.trace).severity)}


def test_oracle_13():
    """u = (6, 8, 10), R = 12.5, R ideal = 11."""
    some = Efficiency("", False, np.array([600, 800, 1000]), 1250, 1100)
    assert some.load_balance == some.communication == 0.8
    assert (round(some.serialisation, 3), some.transfer, some.parallel) == (0.909, 0.88, 0.64)


def test_nothing_computed():
    some = Efficiency("", False, np.array([0, 0]), 0, 0)
    assert (some.load_balance, some.serialisation, some.transfer, some.parallel) == (1, 1, 1, 1)


def pipeline():
    """Rank 0 computes 100 in f and sends in 20; rank 1 receives until 150, computes 50 in g, to 200."""
    b = Builder(2)
    with b.region(0, "f"):
        b.compute(0, 100)
    b.send(0, 1, at=(100, 120))
    b.recv(1, 0, at=(0, 150))
    with b.region(1, "g"):
        b.compute(1, 50)
    b.end = {0: 120, 1: 200}
    return b.trace()


def test_ideal_keeps_dependences():
    """Without transfer rank 1 still waits for 100 and then computes 50: 150. u = (100, 50): 0.75 * 100 / 150 * 150 / 200 = 75 / 200."""
    some = found(pipeline())[PROGRAM]
    assert (some.time, some.ideal, some.useful.tolist()) == (200, 150, [100, 50])
    assert (some.load_balance, some.transfer, some.parallel) == (0.75, 0.75, 0.375)


@pytest.mark.parametrize(("window", "ideal"), [(0, 150), (-1, 200)])
def test_ideal__of_windows(window, ideal):
    """Posted at 100, started at 150, then 50 computed: ideally 150. Where no window is told, nobody knows what the start waits for."""
    b = Builder(2)
    start = b.call(0, "Win_start", at=(0, 150), tag=window, comm=0)
    b.compute(0, 50)
    b.compute(1, 100)
    b.link("post", b.call(1, "Win_post", at=(100, 110), tag=window, comm=0), start)
    b.end = {0: 200, 1: 110}
    assert found(b.trace())[PROGRAM].ideal == ideal


def test_estimate():
    """What is left without a replay: rank 0 100; rank 1 waits 100 of the 150 in its call and computes 50: 150."""
    run = replayed(pipeline(), hand_model())
    assert efficiency.estimate(search(run.trace).severity) == 150


def test_regions_of_the_first_level():
    """The first level that divides has f and g; f takes 100 on rank 0, g 50 on rank 1."""
    some = found(pipeline())
    assert list(some) == [PROGRAM, "f", "g"]
    assert [(some[name].time, some[name].ideal, some[name].useful.tolist()) for name in "fg"] == [(100, 100, [100, 0]), (50, 50, [0, 50])]


def test_start_is_no_transfer():
    """MPI_Init takes 50 and stays; between it and MPI_Finalize, entered at 170 and 190, both compute 100, then rank 1 another 20."""
    b = Builder(2)
    for rank in (0, 1):
        b.call(rank, "Init", at=(0, 50))
    b.barrier(at=[(150, 170), (150, 170)])
    b.compute(1, 20)
    b.everyone("Finalize", at=[(170, 200), (190, 200)])
    some = found(b.trace())
    assert (some[BETWEEN].time, some[BETWEEN].useful.tolist(), some[BETWEEN].ideal) == (140, [100, 120], 120)
    assert (some[PROGRAM].time, some[PROGRAM].ideal) == (200, 170)


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_laws__catalogue(name):
    laws(build.CATALOGUE[name]())


@hypothesis.given(build.traces())
def test_laws__random(trace):
    laws(trace)


def laws(trace):
    """No process computes longer than the ideal run, which is no longer than the recorded one; the product is the parallel efficiency."""
    some = found(trace)
    if not len(trace.locations):
        return
    whole = some[PROGRAM]
    assert whole.useful.max() <= whole.ideal <= whole.time
    assert np.isclose(whole.load_balance * whole.serialisation * whole.transfer, whole.parallel) or not whole.useful.max()


def test_whole__threads():
    """On an ideal network: 500 + 2000 + 6000 until the lock is handed over, 400 in it, then 900 of process 1: 9800 of 14808."""
    some = efficiency.whole(replayed(build.CATALOGUE["threads"](), hand_model(), "none"))
    assert (some.useful.tolist(), some.ideal, some.time) == ([8500, 700, 5400, 900], 9800, 14_808)


def test_whole__device():
    """Two kernels, one behind the other, are all that takes time; the host computes 1300. What the stream does no processor computes."""
    some = efficiency.whole(replayed(build.CATALOGUE["device"](), hand_model(), "none"))
    assert (some.useful.tolist(), some.ideal, some.time) == ([1300, 0], 6500, 10_808)
