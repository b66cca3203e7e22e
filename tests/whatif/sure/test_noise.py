"""How much repeated computation varies: by hand, and against a naive twin."""

from __future__ import annotations

import collections
import math

import numpy as np
import pytest
from hypothesis import given

import build
from build import Builder, hand_model
from perwiz.trace.tables import NONE
from perwiz.whatif.hypotheses.computation import Speed
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed, under
from perwiz.whatif.sure.noise import LEAST, noise_of


def steps(*lengths, end=0):
    """Return a process that computes so long before each of its barriers of no time, and `end` behind the last."""
    b = Builder(1, work=0)
    for length in lengths:
        b.compute(0, length)
        b.call(0, "Wtime")
    b.compute(0, end)
    return b.trace()


def test_by_hand():
    """Behind the first call 10, 14 and 12: variance 4. What came before the first call, once, has 4 / 144 of its square."""
    noise = noise_of(steps(6, 10, 14, 12))
    assert noise.length.tolist() == [6, 10, 14, 12, 0]
    assert noise.variance.tolist() == pytest.approx([36 * 4 / 144, 4, 4, 4, 0])
    assert noise.relative == pytest.approx(2 / 12)


def test_longer_than_what_repeats():
    """1200 is as 100 times 12 that vary by 2 each: a variance of 100 * 4, not (200)**2."""
    noise = noise_of(steps(6, 10, 14, 12, end=1200))
    assert noise.variance[4] == pytest.approx(100 * 4)


def test_multiples_are_other_work():
    """Every fourth time there is ten times as much to do: that is no noise."""
    assert noise_of(steps(6, *[10, 10, 10, 100] * 5)).variance.tolist() == [0] * 22


def test_nothing_repeats():
    noise = noise_of(steps(6, 10, 14))
    assert (noise.relative, noise.variance.tolist()) == (None, [0, 0, 0, 0])


def test_along_path():
    """Variances add up: 1 + 4 + 4 + 4, twice the root. At half the speed each time is twice as long, and so is what it varies by."""
    run = replayed(steps(6, 10, 14, 12), hand_model())
    assert noise_of(run.trace).along_path(run.weighted, run.time) == round(2 * math.sqrt(13))
    slow = under(run, [Speed("rank:0=0.5")])
    assert noise_of(run.trace).along_path(slow.weighted, slow.time) == round(4 * math.sqrt(13))


def test_span__is_the_noise_where_nothing_is_unknown():
    found = predict(steps(60, 100, 140, 120), "speed rank:0=0.5", hand_model())
    wide = round(40 * math.sqrt(13))
    assert (found.span.least, found.predicted.makespan, found.span.most) == (840 - wide, 840, 840 + wide)
    assert (found.span.noise, found.span.relative, found.span.others) == (wide, pytest.approx(1 / 6), ())


def naive(trace):
    """Return the lengths and variances with dictionaries."""
    calls, times = trace.calls, trace.timeline
    where, length = [], []
    for location in range(len(trace.locations)):
        rows = range(trace.first_calls[location], trace.first_calls[location + 1])
        kinds = [(int(calls.op[k]), int(calls.path[k]), int(calls.peer[k])) for k in rows]
        enter = [*(int(times.calls.enter[k]) for k in rows), int(times.locations.leave[location])]
        leave = [int(times.locations.enter[location]), *(int(times.calls.leave[k]) for k in rows)]
        where += [(location, a, b) for a, b in zip([None, *kinds], [*kinds, None], strict=True)]
        length += [a - b for a, b in zip(enter, leave, strict=True)]
    logs = collections.defaultdict(list)
    for place, ns in zip(where, length, strict=True):
        logs[place].append(math.log2(max(ns, 1)))
    alike = collections.defaultdict(list)
    keys = [(place, round(math.log2(max(ns, 1)) - sum(logs[place]) / len(logs[place]))) for place, ns in zip(where, length, strict=True)]
    for key, ns in zip(keys, length, strict=True):
        alike[key].append(ns)
    told = [group for group in alike.values() if len(group) >= LEAST and sum(group)]
    squares = sum(sum((x - np.mean(group)) ** 2 for x in group) for group in told)
    weight = sum((len(group) - 1) * np.mean(group) ** 2 for group in told)
    if not told:
        return length, [0.0] * len(length)
    usual = sum(len(group) * np.mean(group) ** 2 for group in told) / sum(sum(group) for group in told)
    own = {key: np.var(group, ddof=1) for key, group in alike.items() if group in told}
    return length, [own.get(key, squares / weight * ns * min(ns, usual)) for key, ns in zip(keys, length, strict=True)]


@pytest.mark.slow
@given(build.traces())
def test_twin(trace):
    found, (length, variance) = noise_of(trace), naive(trace)
    assert found.length.tolist() == length
    assert found.variance.tolist() == pytest.approx(variance)


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_twin__catalogue(name):
    trace = build.CATALOGUE[name]()
    assert not len(trace.site) or (trace.site == NONE).all()
    assert noise_of(trace).variance.tolist() == pytest.approx(naive(trace)[1])
