"""What somebody can do about a wait, beside what it is worth without it: by hand. Times in ns; messages take 12."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from build import Builder, hand_model
from perwiz.formats.files import read
from perwiz.trace.tables import NONE
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking.change import Asker
from perwiz.whatif.ranking.computation import as_the_mean
from perwiz.whatif.ranking.instead import balanced, instead
from perwiz.whatif.run import replayed

TRACES = pathlib.Path(__file__).parents[3] / "traces"


def asked(trace, text):
    """Return (location, how long it is waited for, question -> makespan) of zero-wait."""
    found = predict(trace, f"zero-wait {text}", hand_model(), clock="none").instead
    return found.location, found.waited, {change.question: change.makespan for change in found.changes}


def late(before=500):
    """Rank 0 computes `before` nobody waits for, 100 for its message, rank 1 computes 100 behind that.

    rank 0  ===== e0 == e1(send)        0 .. 500 .. 600
    rank 1  e2(recv) ~~~~~~~~ ==        0 ......... 612 .. 712
    """
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, before)
    b.call(0, "Comm_rank", work=0)
    b.compute(0, 100)
    b.send(0, 1)
    b.recv(1, 0)
    b.compute(1, 100)
    return b.trace()


def test_the_sender_comes_earlier():
    """Sent at 100, rank 1 ends at 212 and rank 0 at 600. Of 600 and 100 the mean is 350: rank 0 is 1.714 times as fast, 350 + 112."""
    for text in ("e2", "site:MPI_Recv", "rank:1"):
        at, waited, changes = asked(late(), text)
        assert (at, waited) == (0, 612)
        assert changes == {"speed rank:0=1.714": 462, f"advance {'e2' if text == 'rank:1' else text}": 600}


def test_a_wait_for_the_send_of_another_call():
    """Rank 0 posts a send of 200 bytes, waits for rank 1 until 1000, and computes 1000: held by nobody it would wait for nothing."""
    b = Builder(2, latency=12, per_byte=0, eager=100, work=0)
    b.compute(1, 1000)
    b.wait(0, b.isend(0, 1, 200))
    b.compute(0, 1000)
    b.recv(1, 0)
    for text in ("e1", "site:MPI_Wait"):
        at, _, changes = asked(b.trace(), text)
        assert (at, changes["eager site:MPI_Isend"]) == (1, 1012)
    at, _, changes = asked(b.trace(), "all")
    assert changes["eager site:MPI_Isend"] == 1012


def test_a_sender_that_is_late_for_others_too():
    """Ranks 1 and 2 wait for 600 alike: without one wait the other ends as late, and the run with it; faster, rank 0 is soon enough."""
    b = Builder(3, latency=12, per_byte=0, work=0)
    b.compute(0, 600)
    for rank in (1, 2):
        b.send(0, rank)
        b.recv(rank, 0)
        b.compute(rank, 150)
    trace = b.trace()
    predicted = predict(trace, "zero-wait e2", hand_model(), clock="none")
    assert (predicted.gain, predicted.recorded.makespan) == (0, 762)
    assert {change.question: change.makespan for change in predicted.instead.changes} == {"speed rank:0=2": 300 + 12 + 150}


def test_a_receiver_that_holds_its_sender():
    b = Builder(2, latency=12, per_byte=0, eager=100, work=0)
    b.compute(1, 1000)
    b.send(0, 1, 200)
    b.compute(0, 1000)
    b.recv(1, 0)
    at, waited, changes = asked(b.trace(), "e0")
    assert (at, waited, changes) == (1, 988, {"eager e0": 1012})


def test_nobody_waits():
    """And of two questions at once, or another, nothing is said."""
    run = replayed(late(), hand_model(), clock="none")
    nothing = instead(run, "e0", np.array([0]))
    assert (nothing.location, nothing.waited, nothing.changes) == (NONE, 0, ())
    for texts in ((), ("zero-time e2",), ("zero-wait e2", "zero-wait e1")):
        assert predict(late(), texts, hand_model(), clock="none").instead is None


@pytest.mark.parametrize("name", ["fpilog.log", "monte.log", "sync.log", "gmm.log"])
def test_the_best_of_all_that_balances(name):
    """What is not swept as it cannot gain most would not have."""
    run = replayed(read(str(TRACES / name)))
    asker = Asker(run)
    questions = [*(question for _, question, _ in as_the_mean(asker)), "balance-time all"]
    makespan = {question: asker.makespan(parse(question)) for question in questions}
    (found,) = balanced(run)
    assert len(questions) > 1
    assert makespan[found.question] == found.makespan == min(makespan.values()) < run.makespan
