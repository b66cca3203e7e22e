"""Whether a measured program makes other calls than it was to, by hand."""

from __future__ import annotations

import pytest

from build import Builder, hand_model
from perwiz.report.compare.document import document
from perwiz.report.compare.text import called, text
from perwiz.whatif.compare.compare import compare
from perwiz.whatif.compare.other_calls import OtherCalls, other_calls
from perwiz.whatif.compare.reasons import reasons


def run(sends, meets=0, more=0, path="before.alog"):
    """Return a run in which rank 0 computes, sends so often, and both meet; `more` further processes do nothing else."""
    b = Builder(2 + more, work=0)
    b.compute(0, 100)
    for _ in range(sends):
        b.send(0, 1, 200)
        b.recv(1, 0)
    for _ in range(meets):
        b.barrier()
    return b.trace(path)


BEFORE = run(10, 10)


def compared(after, asked="eager all", before=BEFORE):
    return compare(before, after, None, asked, hand_model(), "none")


@pytest.mark.parametrize(
    ("asked", "after", "found"),
    [
        ("eager all", run(10, 10), []),
        ("network L_ns=0", run(9, 10), [OtherCalls("MPI_Recv", 10, 9), OtherCalls("MPI_Send", 10, 9)]),
        ("eager all", run(0, 10), [OtherCalls("MPI_Recv", 10, 0), OtherCalls("MPI_Send", 10, 0)]),
        ("eager all", run(0, 12), [OtherCalls("MPI_Recv", 10, 0), OtherCalls("MPI_Send", 10, 0), OtherCalls("MPI_Barrier", 20, 24)]),
        ("zero-time op:MPI_Send", run(0, 10), []),
        (("eager all", "balance-time all"), run(0, 10), []),
        ((), run(0, 10), []),
    ],
)
def test_which(asked, after, found):
    """Whatever takes calls away may be a cure of waits, and another decomposition sends otherwise; an eager limit changes no call."""
    assert sorted(other_calls(compared(after, asked)), key=lambda one: (-abs(one.measured - one.predicted), one.routine)) == found


@pytest.mark.parametrize(("meets", "other"), [(31, False), (32, True)])
def test_a_twentieth(meets, other):
    """Of 10 sends, 10 receives and 2 * 30 barriers 4 are."""
    assert bool(other_calls(compared(run(10, meets), before=run(10, 30)))) is other


def test_processes_that_one_run_has_alone_say_nothing():
    assert not other_calls(compared(run(10, 10, more=2)))


def test_text__says_so_first():
    comparison = compared(run(0, 10))
    shown = " ".join(text(document(comparison, reasons(comparison, hand_model()), 5)).partition("\n\n")[2].split())
    said = "MPI_Send 10 times, measured never, MPI_Recv 10 times, measured never"
    assert shown.startswith(f"not as asked the program was changed otherwise, as it makes other calls: {said} predicted ")


def test_called__the_first_few():
    found = [OtherCalls(f"MPI_{name}", 1, 2) for name in "ABCDE"]
    assert called(found)[0].endswith("MPI_C 1 time, measured 2 and 2 routines more")
    assert called([]) == []
