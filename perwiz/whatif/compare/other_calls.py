"""Whether a program that was to make the same calls makes others: it was changed otherwise than the prediction was asked.

Another network, other settings of the MPI library or faster computation leave what a program calls as it is. So if it sends, receives or
meets in collectives more or less often by a twentieth of all such calls, of the processes that both runs have, something else was changed.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.trace import operations
from perwiz.trace.arrays import I8, Ints
from perwiz.trace.trace import Trace
from perwiz.whatif.compare.compare import Comparison

_LEAST = 0.05
"""Part of the calls of the predicted run from which on they are others."""


@dataclasses.dataclass(frozen=True)
class OtherCalls:
    """How often a routine is called."""

    routine: str
    predicted: int
    measured: int


def other_calls(comparison: Comparison) -> list[OtherCalls]:
    """Return the routines that the measured program calls more or less often than it was to, the largest difference first; empty if its
    calls are those that were to be, or may be others under the hypotheses, or there are none.
    """
    if not comparison.hypotheses or not all(one.keeps_calls for one in comparison.hypotheses):
        return []
    here, there = comparison.alignment.locations
    predicted, measured = _calls(comparison.first.trace, here), _calls(comparison.second.trace, there)
    more = np.abs(measured - predicted)
    if more.sum() < _LEAST * predicted.sum() or not more.any():
        return []
    rows = [row for row in np.argsort(-more, kind="stable").tolist() if more[row]]
    return [OtherCalls(operations.OPS[row], int(predicted[row]), int(measured[row])) for row in rows]


def _calls(trace: Trace, locations: Ints) -> I8:
    """Return how often each routine that communicates is called on some locations."""
    here = np.zeros(len(trace.locations), bool)
    here[locations] = True
    op = trace.calls.op[here[trace.calls.location]]
    return np.where(operations.TALKS, np.bincount(op, minlength=len(operations.OPS)), 0)
