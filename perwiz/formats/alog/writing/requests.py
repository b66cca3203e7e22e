"""Which requests a line of an ALOG file names: those a call posts and those it completes."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from perwiz.trace.arrays import I4
from perwiz.trace.trace import Trace

LISTED = 60
"""Most requests on one line; with more it could have 1000 characters."""


@dataclasses.dataclass(frozen=True)
class Lists:
    """Request rows per call: call e has `pool[first[e]:first[e + 1]]`, where first is one of the other two columns."""

    pool: I4
    posted: I4
    """First entry of those a call posts, and one more."""
    completed: I4
    """First entry of those a call completes, and one more."""

    def start(self, first: I4, call: I4) -> tuple[I4, I4]:
        """Return where in the pool the lists of these calls begin and how many entries go on the first line, int32 each."""
        return first[call], np.minimum(first[call + 1] - first[call], LISTED)

    def rest(self, first: I4) -> tuple[I4, I4, I4]:
        """Return the further lines of all lists longer than LISTED as (call, first in the pool, number of entries), int32 each."""
        count = np.diff(first)
        call = np.flatnonzero(count > LISTED)
        parts = (count[call] - 1) // LISTED
        part = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts) + 1
        call = np.repeat(call, parts)
        begin = first[call] + part * LISTED
        return _i4(call), _i4(begin), _i4(np.minimum(first[call + 1] - begin, LISTED))


def lists(trace: Trace) -> Lists:
    """Return the requests each call posts and completes, in the order of their rows."""
    requests, calls = trace.requests, np.arange(len(trace.calls) + 1)
    by_completion = np.argsort(requests.completed_by, kind="stable")
    return Lists(
        pool=_i4(np.concatenate([np.arange(len(requests)), by_completion])),
        posted=_i4(np.searchsorted(requests.posted_by, calls)),
        completed=_i4(len(requests) + np.searchsorted(requests.completed_by[by_completion], calls)),
    )


def _i4(values: NDArray[np.signedinteger]) -> I4:
    return values.astype("i4")
