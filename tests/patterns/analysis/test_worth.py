"""What waits are worth: the same question as that of `perwiz predict --zero-wait`, and the same number to the nanosecond."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shlex

import numpy as np
import pytest
from hypothesis import given

import build
from build import Builder, hand_model
from perwiz.formats.files import read
from perwiz.patterns.analysis.worth import worth
from perwiz.patterns.search import search
from perwiz.report.patterns import document as patterns
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed
from questions import Questions

ROOT = pathlib.Path(__file__).resolve().parents[3]
ARCHIVES = [ROOT / "traces" / name for name in ("npb-is.S-4", "npb-mg.S_timens-4")]
MORE = sorted(path.parent for path in pathlib.Path(os.environ.get("PERWIZ_SCALASCA", "/nowhere")).glob("*/traces.otf2"))
"""Archives from elsewhere, if there are any."""


def told(trace, model=None):
    """Return the document on a trace, and per gain that it tells (option of predict, ns)."""
    return told_of(replayed(trace, model))


def told_of(run):
    findings = search(run.trace)
    made = patterns.document(run, findings, worth(run, findings), None, 10**6)
    rows = [*made.call_paths, *made.metrics]
    return made, [(row.change, row.gain_ns) for row in rows if row.gain_ns is not None]


def check(trace, model=None, clock="clc"):
    """Assert that every gain is that of predict for the sites told, and return how many there are."""
    questions = Questions(trace, model, clock)
    run = questions.run(())
    made, gains = told_of(run)
    if len(trace.calls):
        assert questions.makespan("zero-wait all") == made.bound_ns
    for change in {change for change, _ in gains}:
        option, argument = shlex.split(change)
        gain = run.makespan - questions.makespan(f"{option.removeprefix('--')} {argument}")
        assert {ns for other, ns in gains if other == change} == {gain}, change
    return len(gains)


@pytest.mark.parametrize("name", build.one_of(3, 0))
def test_as_predict(name):
    """The gains of every pattern, of each of its call paths, and of all calls, whatever is done about clocks."""
    for clock in ("clc", "none"):
        check(build.CATALOGUE[name](), None, clock)


@pytest.mark.slow
@given(build.traces())
def test_as_predict__any_trace(trace):
    check(trace)
    check(trace, hand_model())


@pytest.mark.slow
@given(build.traces())
def test_as_predict__places_in_the_source(trace):
    """Where the trace tells them, a call path has several call sites; only those where the pattern occurs are asked about."""
    places = np.arange(len(trace.calls), dtype="i4") % 3 - 1
    check(dataclasses.replace(trace, site=places, sites=("a.c:1", "a, b.c:2")))


@pytest.mark.slow
@pytest.mark.parametrize("folder", [*ARCHIVES, *MORE], ids=lambda folder: folder.name)
def test_as_predict__archives(folder):
    assert check(read(str(folder / "traces.otf2"))) > 3


def behind():
    """Rank 1 receives twice in a loop: it waits for the first message, which rank 0 sends late, not for the second.

    A message takes o + L = 12 ns. Without the wait for the first it waits for the second, which rank 0 sends at 140.

    rank 0    100 send 100    140 send 140
    rank 1    0 recv 112    160 recv 160
    """
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 100)
    b.send(0, 1)
    b.compute(0, 40)
    b.send(0, 1)
    b.recv(1, 0)
    b.compute(1, 48)
    b.recv(1, 0)
    return b.trace("behind.alog")


def test_calls_that_did_not_wait():
    """They are of the same site, so they do not begin to wait: the run ends with rank 0, at 140. Without the first wait alone at 152."""
    made, gains = told(behind(), hand_model())
    assert made.makespan_ns == 160
    assert predict(behind(), "zero-wait e2", hand_model()).gain == 8
    assert gains == [("--zero-wait site:MPI_Recv", 20)] * 2


def test_places():
    """The two receives are on two lines: that of the second, which does not wait, is not asked about."""
    trace = dataclasses.replace(behind(), site=np.array([0, 0, 1, 2], "i4"), sites=("a.c:1", "b.c:2", "b.c:3"))
    assert told(trace, hand_model())[1] == [("--zero-wait site:MPI_Recv@b.c:2", 8)] * 2


def test_no_option():
    """A region whose name reads as another selector has no option, and a gain all the same."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 50)
    b.send(0, 1)
    with b.region(1, "a,rank:0"):
        b.recv(1, 0)
    assert told(b.trace(), hand_model())[1] == [(None, 12)] * 2
