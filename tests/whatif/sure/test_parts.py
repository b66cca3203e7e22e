"""Parts of a run that are drawn: its whole iterations, by hand; and how many in a row, as autocorrelation asks for."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from build import Builder
from perwiz.trace.parts.iterations import find
from perwiz.whatif.sure import parts
from perwiz.whatif.sure.parts import BLOCKS, block_length, parts_of


def loop(*lengths, before=1, after=1):
    """Two processes that compute up to each of their barriers, between other calls."""
    b = Builder(2, work=0)
    for process in range(2):
        for _ in range(before):
            b.call(process, "Comm_rank")
    for length in lengths:
        for process in range(2):
            b.compute(process, length)
            b.call(process, "Wtime")
        b.barrier()
    for process in range(2):
        for _ in range(after):
            b.call(process, "Comm_size")
    return b.trace()


def of(trace, pools=4, longer=None):
    rows = np.concatenate([np.repeat([0, 1], np.diff(trace.first_calls) + 1), trace.calls.location])
    return parts_of(trace, rows, np.zeros(len(rows)) if longer is None else longer, pools, find(trace))


def test_iterations():
    """Nine iterations of two calls: computation, also the last of each process, is where the call behind it is; calls outside are near."""
    found = of(loop(*[1000] * 9))
    assert (found.number, found.block, found.iterations) == (9, 1, 9)
    one = [0, *np.repeat(range(9), 2).tolist(), 8]
    assert found.of.tolist() == [*one, 8, *one, 8, *one, *one]
    within = [False, *[True] * 18, False]
    assert found.inside.tolist() == [*within, False, *within, False, *within, *within]


def test_fewer_than_eight():
    """Seven iterations are too few: the run is cut into thirty parts, as without iterations."""
    for trace, iterations in ((loop(*[1000] * 7), 7), (loop(1000), 0)):
        found = of(trace)
        assert (found.number, found.block, found.iterations, found.inside.any()) == (BLOCKS, 1, iterations, False)


def test_given():
    """Iterations of another loop, or none, that a caller has found."""
    trace = loop(*[1000] * 9)
    none = dataclasses.replace(find(trace), first=np.empty((0, 2), "i8"))
    rows = np.zeros(len(trace.calls) * 2 + 2)
    assert parts_of(trace, rows.astype("i8"), rows, 4, none).iterations == 0


def test_many_pools(monkeypatch):
    """Ninety iterations of two pools in a table of 90: two are a part."""
    monkeypatch.setattr(parts, "CELLS", 90)
    found = of(loop(*[1000] * 90), pools=2)
    assert (found.number, found.iterations, np.bincount(found.of[found.inside]).tolist()) == (45, 90, [16] * 45)


def series(phi, many=400, columns=1, seed=3):
    noise = np.random.default_rng(seed).standard_normal((many, columns))
    for k in range(1, many):
        noise[k] += phi * noise[k - 1]
    return noise.T


def test_block_length__of_chance_and_of_drift():
    """The optimum for a first-order autoregression of 400 values is (6 phi^2 / (1 - phi^2)^2 * 400)^(1/3): 0, 16.5 and 37.8."""
    found = [np.mean([block_length(series(phi, seed=seed)) for seed in range(20)]) for phi in (0, 0.7, 0.9)]
    assert found[0] < 3
    assert found[1:] == [pytest.approx(16.5, rel=0.35), pytest.approx(37.8, rel=0.35)]


def test_block_length__of_processes_that_take_turns():
    """What one has more the other has less: their sum never varies, but each of them drifts."""
    drift = series(0.9)
    assert block_length(np.vstack([drift, -drift])) == block_length(drift) > 10


def test_block_length__bounds():
    """At least five blocks; what never varies has none."""
    assert block_length(np.arange(20.0)[None]) == 4
    assert block_length(np.arange(60.0)[None]) == 12
    assert block_length(np.ones((1, 20))) == 1
