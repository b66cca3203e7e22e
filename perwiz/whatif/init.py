"""MPI_Init: where a run of the program itself begins."""

from __future__ import annotations

import numpy as np

from perwiz.trace import operations
from perwiz.trace.arrays import Ints
from perwiz.trace.trace import Trace

_INITS = (operations.OP["MPI_Init"], operations.OP["MPI_Init_thread"])


def calls(trace: Trace) -> Ints:
    """Return the calls of MPI_Init, rows."""
    return np.flatnonzero(np.isin(trace.calls.op, _INITS))


def after(trace: Trace) -> int | None:
    """Return the ns from the instant the last process has left MPI_Init to the end of the run; None if the trace does not show it."""
    rows = calls(trace)
    if not len(rows):
        return None
    return int(trace.timeline.locations.leave.max() - trace.timeline.calls.leave[rows].max())
