"""The one line: thresholds, and the next step."""

from __future__ import annotations

import pytest

from perwiz.jobs.views.diagnosis import diagnose
from perwiz.jobs.views.table import Split


@pytest.mark.parametrize(
    ("mpi", "split", "kind"),
    [
        (14.9, Split(idle=14.9), "fine"),
        (15, Split(idle=7.5, latency=7.5), "imbalance"),
        (15, Split(idle=7.4, latency=7.6), "latency-bound"),
        (50, Split(idle=24, latency=10, transfer=16), "transfer-bound"),
        (50, Split(other=25, latency=10, transfer=15), "set-up"),
        (50, Split(rough=30, latency=10, transfer=10), "imbalance"),
        (50, Split(latency=40, transfer=10, hidden=20), "latency-bound"),
        (0, Split(), "fine"),
    ],
)
def test_kinds(mpi, split, kind):
    assert diagnose(100, mpi, split).kind == kind


def test_no_time_at_all():
    assert diagnose(0, 0, Split()).kind == "fine"


def test_next_step__a_hostile_program_stays_one_word():
    found = diagnose(100, 60, Split(idle=60), "./a; rm -rf \x1b[2J~", 8)
    assert found.text.startswith("imbalance: 60.0 % of the time is in MPI, 100.0 % of that is waiting")
    assert found.step == "perwiz record -o run -- mpiexec -n 8 './a; rm -rf \\x1b[2J~', then perwiz domino run"
    assert diagnose(100, 10, Split(idle=10), "./a", 8).step == ""
