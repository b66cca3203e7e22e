"""The order of the events of an ALOG file: program order within a location, time between locations.

Every event has a step, its place in the program of its location: gaps between calls have even steps, calls odd ones.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.alog.writing.requests import Lists
from perwiz.formats.message_ends import boundaries, lost_receives, lost_sends, record_times
from perwiz.trace.arrays import I4, I8, U1
from perwiz.trace.trace import Timeline, Trace

KINDS = (BORN, ENTER, LEAVE, DIED, BEGIN, POSTED, SEND, LOST_SEND, RECEIVE, LOST_RECEIVE, COMPLETED, LINK, END) = range(13)
"""What an event is: of a location (BORN, DIED), a region (ENTER, LEAVE), a message (SEND, RECEIVE), a further line of a
list of requests (POSTED, COMPLETED), a link (LINK) or a call. Within a step the events stand in this order."""
_RANK = np.array([0, 1, 1, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8])


@dataclasses.dataclass
class Events:
    """Kind, row of its table (i4) and time (i8, ns) per event, in no order; `order` holds their numbers in the order of the file."""

    kind: U1
    row: I4
    time: I8
    order: I8

    def __len__(self) -> int:
        return len(self.kind)


def order(trace: Trace, timeline: Timeline, lists: Lists) -> Events:
    """Return all events of a timeline. Rows of POSTED and COMPLETED are those of `lists.rest`."""
    pieces = [
        *_of_locations(trace, timeline),
        *_of_regions(trace, timeline),
        *_of_calls(trace, timeline, lists),
        *_of_messages(trace, timeline),
        *_of_links(trace, timeline),
    ]
    size = sum(len(row) for _, row, _, _ in pieces)
    events = Events(np.empty(size, "u1"), np.empty(size, "i4"), np.empty(size, "i8"), np.empty(0, "i8"))
    place, begin = np.empty(size, "i8"), 0
    for kind, row, time, step in pieces:
        rows = slice(begin, begin + len(row))
        events.kind[rows], events.row[rows], events.time[rows] = kind, row, time
        place[rows] = len(KINDS) * step + _RANK[kind]
        begin += len(row)
    del pieces
    events.order = np.lexsort((place, events.time))
    return events


_Piece = tuple[int | NDArray[np.signedinteger], NDArray[np.signedinteger], I8, I8]


def _of_locations(trace: Trace, timeline: Timeline) -> list[_Piece]:
    """Return the first and last instants that no other event shows."""
    count, times = len(trace.locations), timeline.locations
    first, last = np.full(count, np.iinfo("i8").max), np.full(count, -1)
    for table, interval in ((trace.calls, timeline.calls), (trace.regions, timeline.regions)):
        np.minimum.at(first, table.location, interval.enter)
        np.maximum.at(last, table.location, interval.leave)
    born, died = np.flatnonzero(times.enter < first), np.flatnonzero(times.leave > last)
    gap = trace.first_calls
    return [(BORN, born, times.enter[born], 2 * (gap[born] + born)), (DIED, died, times.leave[died], 2 * (gap[died + 1] + died))]


def _of_regions(trace: Trace, timeline: Timeline) -> list[_Piece]:
    rows, _, gap, time = boundaries(trace, timeline)
    leaves, row = np.divmod(rows, max(len(trace.regions), 1))
    # One piece for both, as their order among themselves counts: LEAVE is ENTER and one more.
    return [(ENTER + leaves.astype("u1"), row.astype("i4"), time, 2 * gap.astype("i8"))]


def _of_calls(trace: Trace, timeline: Timeline, lists: Lists) -> list[_Piece]:
    calls, times = np.arange(len(trace.calls), dtype="i4"), timeline.calls
    pieces: list[_Piece] = [(BEGIN, calls, times.enter, _step(trace, calls)), (END, calls, times.leave, _step(trace, calls))]
    for kind, lost, time in ((LOST_SEND, lost_sends(trace), times.enter), (LOST_RECEIVE, lost_receives(trace), times.leave)):
        pieces.append((kind, lost, time[lost], _step(trace, lost)))
    for kind, first, time in ((POSTED, lists.posted, times.enter), (COMPLETED, lists.completed, times.leave)):
        call = lists.rest(first)[0]
        pieces.append((kind, np.arange(len(call)), time[call], _step(trace, call)))
    return pieces


def _of_messages(trace: Trace, timeline: Timeline) -> list[_Piece]:
    messages, rows = trace.messages, np.arange(len(trace.messages), dtype="i4")
    sent, received = record_times(trace, timeline)
    return [
        (SEND, rows, sent, _step(trace, messages.send)),
        (RECEIVE, rows, received, _step(trace, messages.receive_done)),
    ]


def _of_links(trace: Trace, timeline: Timeline) -> list[_Piece]:
    effect = trace.links.effect
    return [(LINK, np.arange(len(effect), dtype="i4"), timeline.calls.leave[effect], _step(trace, effect))]


def _step(trace: Trace, call: NDArray[np.signedinteger]) -> I8:
    step: I8 = 2 * (call.astype("i8") + trace.calls.location[call]) + 1
    return step
