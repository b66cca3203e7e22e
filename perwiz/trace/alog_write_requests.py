"""Which requests a line of an ALOG file names: those a call posts, those it completes, and the one of a message."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from perwiz.trace import ops
from perwiz.trace.tables import NONE, Messages, Requests
from perwiz.trace.trace import Trace

LISTED = 60
"""Most requests on one line; with more it could have 1000 characters."""


@dataclasses.dataclass(frozen=True)
class Lists:
    """Request rows per call: call e has `pool[first[e]:first[e + 1]]`, where first is one of the other two columns."""

    pool: NDArray[np.int32]
    posted: NDArray[np.int32]
    """First entry of those a call posts, and one more."""
    completed: NDArray[np.int32]
    """First entry of those a call completes, and one more."""

    def start(self, first: NDArray[np.int32], call: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return where in the pool the lists of these calls begin and how many entries go on the first line, int32 each."""
        return first[call], np.minimum(first[call + 1] - first[call], LISTED)

    def rest(self, first: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
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


def of_sends(trace: Trace) -> NDArray[np.int32]:
    """Return the request of each message on the sending side, int32, -1 for those that need or have none."""
    messages, requests = trace.messages, trace.requests
    later = (messages.send_done != messages.send) & (messages.send_done >= 0)
    rows = np.flatnonzero(later | (ops.KIND[trace.calls.op[messages.send]] == ops.ISEND))
    found = _paired(messages.send[rows], messages.send_done[rows], requests)
    return _spread(np.where(found >= 0, found, _in_order(messages.send, requests)[rows]), rows, messages)


def of_receives(trace: Trace) -> NDArray[np.int32]:
    """Return the request of each message on the receiving side, int32, -1 for those that need or have none."""
    messages = trace.messages
    rows = np.flatnonzero(messages.receive != messages.receive_done)
    return _spread(_paired(messages.receive[rows], messages.receive_done[rows], trace.requests), rows, messages)


def _paired(post: NDArray[np.int32], done: NDArray[np.int32], requests: Requests) -> NDArray[np.int64]:
    """Return per (post, done) the next request posted by the one and completed by the other, or -1."""
    known, wanted = _key(requests.posted_by, requests.completed_by), _key(post, done)
    row, order = np.argsort(known, kind="stable"), np.argsort(wanted, kind="stable")
    known, wanted = known[row], wanted[order]
    at = np.searchsorted(known, wanted) + _nth(wanted)
    there = at < np.searchsorted(known, wanted, "right")
    out = np.full(len(post), NONE, "i8")
    out[order[there]] = row[at[there]]
    return out


def _in_order(post: NDArray[np.int32], requests: Requests) -> NDArray[np.int64]:
    """Return per message the k-th request of the call that posts it, if that posts as many as it has messages, or -1."""
    order = np.argsort(post, kind="stable")
    first, count = np.searchsorted(requests.posted_by, post[order]), _count(requests.posted_by, post[order])
    out = np.full(len(post), NONE, "i8")
    out[order] = np.where(count == _count(post[order], post[order]), first + _nth(post[order]), NONE)
    return out


def _nth(ordered: NDArray[np.int64] | NDArray[np.int32]) -> NDArray[np.int64]:
    """Return how many equal values stand before each value of an ordered array."""
    return np.arange(len(ordered)) - np.searchsorted(ordered, ordered)


def _count(ordered: NDArray[np.int32], values: NDArray[np.int32]) -> NDArray[np.int64]:
    return np.searchsorted(ordered, values, "right") - np.searchsorted(ordered, values)


def _key(post: NDArray[np.int32], done: NDArray[np.int32]) -> NDArray[np.int64]:
    return (post.astype("i8") << 32) + done


def _spread(values: NDArray[np.int64], rows: NDArray[np.int64], messages: Messages) -> NDArray[np.int32]:
    out = np.full(len(messages), NONE, "i4")
    out[rows] = values
    return out


def _i4(values: NDArray[np.signedinteger]) -> NDArray[np.int32]:
    return values.astype("i4")
