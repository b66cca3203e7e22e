"""What a writer asks of a trace: requests and times of message ends, ends without one, boundaries of regions."""

from __future__ import annotations

import numpy as np

from perwiz.errors import TraceError
from perwiz.trace import nesting, operations
from perwiz.trace.arrays import I4, I8, chunks
from perwiz.trace.tables import NONE, Messages, Requests
from perwiz.trace.trace import Timeline, Trace


def requests_of_messages(trace: Trace) -> tuple[I4, I4]:
    """Return the request of each message on the sending and on the receiving side, int32, -1 for those that need or have none.

    Which of the requests that one call posts and another completes is whose, a trace does not tell: sends come first.
    """
    messages, requests = trace.messages, trace.requests
    if not len(requests):
        none = np.full(len(messages), NONE, "i4")
        return none, none.copy()
    later = (messages.send_done != messages.send) & (messages.send_done >= 0)
    sends = np.flatnonzero(later | (operations.KIND[trace.calls.op[messages.send]] == operations.ISEND))
    receives = np.flatnonzero(messages.receive != messages.receive_done)
    post = np.concatenate([messages.send[sends], messages.receive[receives]])
    done = np.concatenate([messages.send_done[sends], messages.receive_done[receives]])
    sent, received = np.split(_paired(post, done, requests), [len(sends)])
    in_order = _in_order(messages.send, requests)[sends]
    in_order[np.isin(in_order, received)] = NONE
    return _spread(np.where(sent >= 0, sent, in_order), sends, messages), _spread(received, receives, messages)


def _paired(post: I4, done: I4, requests: Requests) -> I8:
    """Return per (post, done) the next request posted by the one and completed by the other, or -1.

    posted_by     5 5 7        post  5 5 5 7
    completed_by  9 9 9        done  9 9 9 8
                               out   0 1 -1 -1
    """
    held, wanted = _key(requests.posted_by, requests.completed_by), _key(post, done)
    row, order = np.argsort(held, kind="stable"), np.argsort(wanted, kind="stable")
    held, wanted = held[row], wanted[order]
    candidate = np.searchsorted(held, wanted) + _nth(wanted)
    exists = candidate < np.searchsorted(held, wanted, "right")
    out = np.full(len(post), NONE, "i8")
    out[order[exists]] = row[candidate[exists]]
    return out


def _in_order(post: I4, requests: Requests) -> I8:
    """Return per message the k-th request of the call that posts it, if that posts as many as it has messages, or -1.

    posted_by  5 5 7        post  7 5 5 7
                            out  -1 0 1 -1
    """
    order = np.argsort(post, kind="stable")
    first, count = np.searchsorted(requests.posted_by, post[order]), _count(requests.posted_by, post[order])
    out = np.full(len(post), NONE, "i8")
    out[order] = np.where(count == _count(post[order], post[order]), first + _nth(post[order]), NONE)
    return out


def _nth(ordered: I8 | I4) -> I8:
    """Return how many equal values stand before each value of an ordered array."""
    return np.arange(len(ordered)) - np.searchsorted(ordered, ordered)


def _count(ordered: I4, values: I4) -> I8:
    return np.searchsorted(ordered, values, "right") - np.searchsorted(ordered, values)


def _key(post: I4, done: I4) -> I8:
    return (post.astype("i8") << 32) + done


def _spread(values: I8, rows: I8, messages: Messages) -> I4:
    out = np.full(len(messages), NONE, "i4")
    out[rows] = values
    return out


def record_times(trace: Trace, timeline: Timeline) -> tuple[I8, I8]:
    """Return when the send and the receipt of each message are recorded, int64 ns: as far inside their calls as measured, if these last."""
    messages, times = trace.messages, timeline.calls
    sent = np.minimum(times.enter[messages.send] + messages.sent_after, times.leave[messages.send])
    received = np.maximum(times.leave[messages.receive_done] - messages.received_before, times.enter[messages.receive_done])
    return sent, received


def lost_sends(trace: Trace) -> I8:
    """Return the calls that send to somebody and have no message. A started request that receives is none of them."""
    kind = operations.KIND[trace.calls.op]
    lost = np.isin(kind, (operations.SEND, operations.ISEND, operations.SENDRECV)) & (trace.calls.peer >= 0)
    lost[trace.messages.send] = False
    lost[trace.messages.receive[kind[trace.messages.receive] == operations.ISEND]] = False
    return np.flatnonzero(lost)


def lost_receives(trace: Trace) -> I8:
    """Return the blocking receives from somebody that have no message."""
    lost = (operations.KIND[trace.calls.op] == operations.RECV) & (trace.calls.peer >= 0)
    lost[trace.messages.receive] = False
    return np.flatnonzero(lost)


def boundaries(trace: Trace, timeline: Timeline) -> tuple[I4, I4, I4, I8]:
    """Return row (of regions left: + number of regions), location, gap and time of all boundaries of regions, such that they nest.

    The gap is the first call that is entered after it + location.
    """
    regions, times, first, count = trace.regions, timeline.regions, trace.first_calls, len(trace.regions)
    rows, location, gap = (np.empty(2 * count, "i4") for _ in range(3))
    time = np.empty(2 * count, "i8")
    entry, leaving = nesting.places(regions, times)
    sides = (entry, 0, regions.first_call, times.enter), (leaving, count, regions.end_call, times.leave)
    for place, base, call, own in sides:
        for some in chunks(count):
            at, there = place[some], regions.location[some]
            rows[at], location[at] = base + np.arange(some.start, some.start + len(at)), there
            gap[at] = np.clip(call[some], first[there], first[there + 1]) + there
            time[at] = own[some]
    return rows, location, gap, time


def check(trace: Trace, timeline: Timeline) -> None:
    """Raise TraceError if the timeline belongs to another trace."""
    for table, times in ((trace.calls, timeline.calls), (trace.regions, timeline.regions), (trace.locations, timeline.locations)):
        if len(table) != len(times):
            name = type(table).__name__.lower()
            raise TraceError(f"{trace.path}: a timeline of {len(times)} {name}, must be of the {len(table)} {name} of the trace")
