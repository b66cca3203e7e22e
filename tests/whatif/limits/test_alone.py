"""What one process computes alone behind a call site: by hand, times in ns."""

from __future__ import annotations

import contextlib

import pytest

from build import Builder, hand_model
from perwiz.errors import UsageError
from perwiz.report.domino.remedies import REMEDIES
from perwiz.whatif.hypotheses.stretch import segments_of
from perwiz.whatif.limits.alone import Alone, alone
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking import ranking
from perwiz.whatif.ranking.situations import situation
from perwiz.whatif.run import replayed

ASKED = "balance-time behind site:MPI_Gather"


def writes(others=4, marked=False, times=2):
    """Twice, or so often: three processes compute 1000 in `solve`, gather to rank 0, which writes for 900 while the others take so long; a
    barrier.
    """
    b = Builder(3, work=0)
    for _ in range(times):
        for rank in range(3):
            with b.region(rank, "solve"):
                b.compute(rank, 1000)
        b.everyone("Gather", root=0)
        for rank in range(3):
            with b.region(rank, "write") if marked else contextlib.nullcontext():
                b.compute(rank, others if rank else 900)
        b.barrier()
    return b.trace()


def run_of(trace):
    return replayed(trace, hand_model(), clock="none")


def test_behind_a_call():
    """Each of 900, 4 and 4 becomes 302 or 303: two times 598 or 597 less."""
    predicted = predict(writes(), [ASKED], hand_model(), clock="none")
    assert predicted.recorded.makespan == 3800
    assert predicted.predicted.makespan == 3800 - 2 * 597


def test_told():
    """1800 on rank 0, 8 on the others, mean 605.3."""
    assert alone(segments_of(run_of(writes()).weighted), 2) == [Alone("MPI_Gather", 0, pytest.approx(1800 - 1816 / 3))]


@pytest.mark.parametrize(("others", "count"), [(89, 1), (90, 0)])
def test_ten_times_the_others(others, count):
    assert len(alone(segments_of(run_of(writes(others)).weighted), 2)) == count


def test_a_region_tells_of_it():
    """So the region is named, not the call before it."""
    found = ranking.rank(run_of(writes(marked=True)), ["balance"])
    assert alone(segments_of(found.run.weighted), 2) == []
    assert found.lines[0].change.question == "balance-time write"


def test_listed():
    """It heads the list: all computation together, spread evenly, makes the processes meet no sooner."""
    found = ranking.rank(run_of(writes()), ["balance"])
    first = found.lines[0].change
    assert (first.by, first.question, first.what) == ("site", ASKED, "what rank 0 computes alone behind MPI_Gather, by all of them")
    assert REMEDIES[situation(found.run, first)].startswith("share what one process does alone")


def test_there_once():
    """As what is written at the end of a run: a longer one gains no more by it."""
    found = ranking.rank(run_of(writes(times=1)), ["balance"])
    first = next(line.change for line in found.lines if line.change.question == ASKED)
    assert situation(found.run, first) == "imbalance that is there once"


def test_refusal():
    with pytest.raises(UsageError) as refused:
        predict(writes(), ["balance-time behind op:MPI_Scan"], hand_model(), clock="none")
    assert str(refused.value) == "op:MPI_Scan: no such routine in the trace, it has MPI_Barrier, MPI_Gather"
