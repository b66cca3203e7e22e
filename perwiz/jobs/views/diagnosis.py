"""One line about a job, or about many: what its time in MPI is, and what to do next; `perwiz jobs --help` tells the thresholds, too."""

from __future__ import annotations

import shlex
from typing import Annotated

from perwiz import words
from perwiz.jobs.views.table import Split
from perwiz.report.records import Record, choice

CRITICAL = 0.15
"""Less of its time in MPI is fine: the paper's limit for critical jobs."""
MOST = 0.5
"""From this part of the time in MPI on, waiting is called imbalance, and routines that do not communicate set-up."""


class Diagnosis(Record):
    """What a job suffers from."""

    kind: Annotated[str, choice("fine", "imbalance", "set-up", "latency-bound", "transfer-bound")]
    text: str
    step: str
    """The next command; empty: none is needed."""


def diagnose(cpu: float, mpi: float, split: Split, program: str = "", size: int = 0) -> Diagnosis:
    """Return the diagnosis of so many s in all and in MPI.

    Less than CRITICAL of the time in MPI: fine. Else imbalance, if MOST of that is waiting; set-up, if MOST is in routines that do not
    communicate; else latency-bound or transfer-bound, whichever is more.
    """
    share = mpi / cpu if cpu > 0 else 0.0
    if share < CRITICAL:
        return Diagnosis("fine", f"fine: {words.percent(share, 1)} of the time is in MPI", "")
    kind, part = _kind(split)
    head = f"{words.percent(share, 1)} of the time is in MPI"
    told = {
        "imbalance": "of that is waiting for other processes: the work is unevenly spread or comes late",
        "set-up": "of that is in routines that do not communicate, such as MPI_Init: the job is short, or makes many communicators",
        "latency-bound": "of that is latency: many small messages; send fewer and longer ones",
        "transfer-bound": "of that is transfer: send less, or behind computation",
    }[kind]
    return Diagnosis(kind, f"{kind}: {head}, {words.percent(part, split.all)} {told}", _step(kind, program, size) if program else "")


def _kind(split: Split) -> tuple[str, float]:
    for kind, part in (("imbalance", split.idle + split.rough), ("set-up", split.other)):
        if part >= MOST * split.all:
            return kind, part
    rest = {"latency-bound": split.latency, "transfer-bound": split.transfer}
    kind = max(rest, key=lambda name: rest[name])
    return kind, rest[kind]


_THEN = {
    "imbalance": "perwiz domino run",
    "set-up": "perwiz info run",
    "latency-bound": "perwiz curve run",
    "transfer-bound": "perwiz curve run --of G_ns_per_byte",
}


def _step(kind: str, program: str, size: int) -> str:
    return f"perwiz record -o run -- mpiexec -n {size} {words.shown(shlex.quote(program))}, then {_THEN[kind]}"
