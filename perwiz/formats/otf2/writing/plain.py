"""What the plain OTF2 records of a trace say, and the extras for what they say wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from perwiz.formats.otf2 import extras as extra
from perwiz.formats.otf2.writing.partners import UNKNOWN, Partners, Side
from perwiz.kernels import records
from perwiz.trace import matching, matching_collectives, operations
from perwiz.trace.arrays import I4, I8, U1, Ints, Mask
from perwiz.trace.matching import Ends
from perwiz.trace.numbers import running
from perwiz.trace.tables import NONE, PROCESS, Messages
from perwiz.trace.trace import Timeline, Trace

_FINALIZE = operations.OP["MPI_Finalize"]


@dataclasses.dataclass
class Extras:
    """Extras of calls in the order they are written."""

    call: I4
    name: U1
    """Row of perwiz.formats.otf2.extras.EVENTS."""
    value: I8


def extras(partners: Partners, timeline: Timeline) -> Extras:
    """Return what must be said of the calls beside their records."""
    trace = partners.trace
    pieces = [
        *_columns(partners),
        *_requests(partners),
        *_sends(partners),
        *_receives(partners),
        *_pairs(partners, timeline),
        *_sequence(trace, timeline),
        (extra.LINK, trace.links.effect, _as_read(trace, trace.links.cause) * extra.LINK_KINDS + trace.links.kind),
    ]
    call = np.concatenate([np.asarray(calls, "i4") for _, calls, _ in pieces])
    name = np.repeat(np.array([name for name, _, _ in pieces], "u1"), [len(calls) for _, calls, _ in pieces])
    value = np.concatenate([np.asarray(values, "i8") for _, _, values in pieces])
    order = np.lexsort((name, call))
    return Extras(call[order], name[order], value[order])


_Piece = tuple[int, Ints, Ints]


def _columns(partners: Partners) -> list[_Piece]:
    """Return the columns of calls that the records say otherwise: each where it differs."""
    calls = partners.trace.calls
    names = (extra.PEER, extra.TAG, extra.COMM, extra.ROOT, extra.BYTES_SENT, extra.BYTES_RECEIVED)
    out: list[_Piece] = []
    for name, implied in zip(names, implied_columns(partners), strict=True):
        column = getattr(calls, extra.EVENTS[name].name)
        differing = np.flatnonzero(implied != column)
        out.append((name, differing, column[differing]))
    return out


def implied_columns(partners: Partners) -> Iterator[Ints]:
    """Yield peer, tag, comm, root, bytes sent and received of all calls as the records tell them.

    Partner, tag and communicator are those of the first send record of the call, else of the first receive it posted or, without a
    request, received; communicator and root of a collective those of its record. Bytes are counted where the record lies, but a
    non-blocking collective's where it starts.
    """
    calls, sends, receives = partners.trace.calls, partners.sends, partners.receives
    owners = (receives, np.where(receives.request >= 0, receives.call, receives.done)), (sends, sends.call)
    collective = np.concatenate([np.flatnonzero(partners.collective), started(partners)])

    def told(name: str) -> I4:
        column = np.full(len(calls), NONE, "i4")
        for side, owner in owners:
            column[owner[::-1]] = getattr(side, name)[::-1]
        return column

    def added(call: I4, size: I8) -> I8:
        column = np.zeros(len(calls), "i8")
        np.add.at(column, call, size)
        return column

    def of_collectives(column: Ints, values: Ints) -> Ints:
        column[collective] = values
        return column

    yield told("peer")
    yield told("tag")
    comm = of_collectives(told("comm"), calls.comm[collective])
    comm[(calls.op == _FINALIZE) & (comm == NONE)] = 0
    yield comm
    yield of_collectives(np.full(len(calls), NONE, "i4"), known_root(partners, collective))
    yield of_collectives(added(sends.call, sends.bytes), calls.bytes_sent[collective])
    yield of_collectives(added(receives.done, receives.bytes), calls.bytes_received[collective])


def started(partners: Partners) -> Ints:
    """Return the calls that start a collective whose completion has a record."""
    done = partners.dones.row[partners.dones.kind == records.NONBLOCKING_COMPLETE]
    return partners.trace.requests.posted_by[done]


def known_root(partners: Partners, call: Ints) -> Ints:
    """Return the roots of collective calls as far as their communicator knows them, else -1."""
    calls = partners.trace.calls
    return np.where(partners.ranks.of(calls.comm[call], calls.root[call]) >= 0, calls.root[call], NONE)


def _requests(partners: Partners) -> list[_Piece]:
    """Return completions that no record shows: for all requests of each call with one, as far as they are written."""
    requests, posted = partners.trace.requests, partners.kind != UNKNOWN
    rows = _whole(requests.posted_by, posted & (partners.completed != requests.completed_by), len(partners.trace.calls))
    rows = rows[posted[rows]]
    return [(extra.COMPLETED_BY, requests.posted_by[rows], requests.completed_by[rows])]


def _whole(call: Ints, differs: Mask, calls: int) -> Ints:
    """Return the rows of all calls for which one differs.

    call  4 4 6 6   differs  0 1 0 0   out  0 1
    """
    bad = np.zeros(calls, bool)
    bad[call[differs]] = True
    return np.flatnonzero(bad[call])


def _sends(partners: Partners) -> list[_Piece]:
    """Return the modes of sends, for all of each call where one is not that of its routine."""
    trace, side = partners.trace, partners.sends
    implied = operations.MODE[trace.calls.op[side.call]]
    mode, real = implied.copy(), np.flatnonzero(side.message >= 0)
    mode[real] = trace.messages.mode[side.message[real]]
    rows = _whole(side.call, mode != implied, len(trace.calls))
    return [(extra.MODE, side.call[rows], mode[rows])]


def _receives(partners: Partners) -> list[_Piece]:
    """Return who posted the receives of which the records do not tell it."""
    trace, side = partners.trace, partners.receives
    posted = side.done.copy()
    later = np.flatnonzero(side.request >= 0)
    posted[later] = trace.requests.posted_by[side.request[later]]
    rows = _whole(side.done, posted != side.call, len(trace.calls))
    return [(extra.RECEIVE, side.done[rows], side.call[rows])]


def _pairs(partners: Partners, timeline: Timeline) -> list[_Piece]:
    """Return numbers for the messages between processes where first in, first out would match others, and for lost ends there."""
    trace, sends, receives = partners.trace, partners.sends, partners.receives
    mode = np.zeros(len(sends.call), "u1")
    several = len(np.unique(trace.locations.process)) < len(trace.locations)
    enter = timeline.calls.enter if several else None
    implied, _ = matching.messages(_ends(partners, sends), _ends(partners, receives), mode, enter=enter)
    if all(np.array_equal(*columns) for columns in zip(_partners_of(trace.messages), _partners_of(implied), strict=True)):
        return []
    process = partners.process
    differ = _difference(*(np.stack(_partners_of(messages), 1).astype("i8") for messages in (trace.messages, implied)))
    width = int(process.max()) + 2
    channels = np.unique(process[differ[:, 0]] * width + process[differ[:, 2]])
    out = []
    for name, side, call, end in ((extra.MESSAGE, sends, sends.call, 0), (extra.RECEIVED, receives, receives.done, 1)):
        own = process[side.call]
        channel = own * width + side.peer if end == 0 else side.peer * width + own
        number = np.where(side.message >= 0, side.message, len(trace.messages) + 2 * np.arange(len(side.call)) + end)
        number[~np.isin(channel, channels)] = NONE
        rows = _whole(call, number >= 0, len(trace.calls))
        out.append((name, call[rows], number[rows]))
    return out


def _ends(partners: Partners, side: Side) -> Ends:
    return Ends(side.call, side.done, partners.process[side.call], side.peer, side.tag, side.comm, side.bytes)


def _partners_of(messages: Messages) -> tuple[I4, I4, I4]:
    """Return who is matched with whom: sending, completing and posting call of each message."""
    return messages.send, messages.receive_done, messages.receive


def _difference(left: I8, right: I8) -> I8:
    """Return the rows that stand in different places, or in one of them alone.

    left  [1] [2]   right  [1] [3] [4]   out  [2] [3] [4]
    """
    count = min(len(left), len(right))
    differs = (left[:count] != right[:count]).any(1)
    return np.concatenate([left[:count][differs], right[:count][differs], left[count:], right[count:]])


def _sequence(trace: Trace, timeline: Timeline) -> list[_Piece]:
    """Return the instance of every collective call, if counting them would give others."""
    calls, members = trace.calls, trace.members
    done = matching.completions(calls.op, trace.requests)
    counted, quiet = np.full(len(calls), NONE, "i8"), np.zeros(len(calls), "u1")
    process = trace.locations.process.astype("i8")
    implied = matching_collectives.collectives(calls, done, process, counted, quiet, trace.communicators, timeline.calls.enter)
    number = running(trace.collectives.comm, np.zeros(len(trace.collectives), "i1"))
    sequence = np.full(len(calls), NONE, "i8")
    sequence[members.call] = number[members.collective]
    told = (operations.COLLECTIVE & ~operations.OF_PROCESSES)[calls.op]
    of_teams = trace.collectives.comm == NONE
    whole = matching_collectives.with_teams(implied, calls.op, np.flatnonzero(told & (sequence >= 0)), sequence[told & (sequence >= 0)])
    if whole.collectives != trace.collectives or whole.members != members:
        told |= operations.COLLECTIVE[calls.op] & (calls.comm >= 0)
    elif not of_teams.any():
        return []
    collective = np.flatnonzero(told)
    return [(extra.SEQUENCE, collective, sequence[collective])]


def _as_read(trace: Trace, calls: Ints) -> I8:
    """Return the row of some calls in the trace that is read: by process, its first thread first, each location in its own order."""
    places = trace.locations
    order = np.lexsort((np.arange(len(places)), places.kind != PROCESS, places.process))
    count = np.diff(trace.first_calls)
    first = np.zeros(len(places), "i8")
    first[order] = np.cumsum(count[order]) - count[order]
    return calls + (first - trace.first_calls[:-1])[trace.calls.location[calls]]
