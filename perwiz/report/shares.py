"""What shares are of: the time after MPI_Init, which the program has no hand in and which makes up most of a short run."""

from __future__ import annotations

from perwiz import words
from perwiz.report.blocks import Document, Facts
from perwiz.trace.trace import Trace
from perwiz.whatif import init


def of(trace: Trace, makespan: int, gain: int = 0) -> int:
    """Return the ns that shares are of: those after MPI_Init if the trace shows it, else or if `gain` is larger the makespan."""
    after = init.after(trace)
    return after if after is not None and max(gain, 0) < after < makespan else makespan


def facts(block: Document, makespan: int) -> Facts:
    """Return in words what shares are of, of a document with `shares_of_ns`; nothing if it is the makespan."""
    whole = block["shares_of_ns"]
    return [("", f"percentages are of the {words.duration(whole)} after MPI_Init")] if whole != makespan else []
