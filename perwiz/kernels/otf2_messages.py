# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""What records of messages, requests and collectives say of the open call of an OTF2 location."""

from __future__ import annotations

import cython

from perwiz.kernels import records

if cython.compiled:
    from cython.cimports.perwiz.kernels.otf2_rows import Call, Message, Request, State
    from cython.cimports.perwiz.kernels.records import Record

SEND = cython.declare(cython.int, records.SEND)
ISEND = cython.declare(cython.int, records.ISEND)
RECV = cython.declare(cython.int, records.RECV)
IRECV = cython.declare(cython.int, records.IRECV)
IRECV_REQUEST = cython.declare(cython.int, records.IRECV_REQUEST)
NONBLOCKING_REQUEST = cython.declare(cython.int, records.NONBLOCKING_REQUEST)
REQUEST_TEST = cython.declare(cython.int, records.REQUEST_TEST)
REQUEST_CANCELLED = cython.declare(cython.int, records.REQUEST_CANCELLED)
NONBLOCKING_COMPLETE = cython.declare(cython.int, records.NONBLOCKING_COMPLETE)
SENT = cython.declare(cython.int, records.SENT)
RECEIVED = cython.declare(cython.int, records.RECEIVED)
INCOMPLETE = cython.declare(cython.int, records.INCOMPLETE)
COLLECTIVE_RECORD = cython.declare(cython.int, records.COLLECTIVE_RECORD)


@cython.cfunc
@cython.exceptval(check=False)
def _post(state: State[::1], requests: Request[::1], open_requests: cython.int[::1], number: cython.int) -> cython.int:
    """Post a request at the open call; an earlier one of the same number that is still open stays without completion."""
    row = cython.cast(cython.int, state[0].requests)
    requests[row].posted = cython.cast(cython.int, state[0].open)
    requests[row].done = -1
    requests[row].cancelled = 0
    open_requests[number] = row
    state[0].requests += 1
    return row


@cython.cfunc
@cython.exceptval(check=False)
def _complete(state: State[::1], requests: Request[::1], open_requests: cython.int[::1], number: cython.int) -> cython.int:
    """Complete the open request of a number at the open call and return its row, -1 if none is open."""
    row = open_requests[number]
    if row >= 0:
        requests[row].done = cython.cast(cython.int, state[0].open)
        open_requests[number] = -1
    else:
        state[0].not_posted += 1
    return row


@cython.cfunc
@cython.exceptval(check=False)
def _partner(record: Record, calls: Call[::1], call: cython.longlong) -> cython.void:
    """Give a call the partner of its first message record."""
    if calls[call].peer == -1 and calls[call].comm == -1:
        calls[call].peer = cython.cast(cython.int, record.reference)
        calls[call].tag = cython.cast(cython.int, record.tag)
        calls[call].comm = cython.cast(cython.int, record.communicator)


@cython.cfunc
@cython.exceptval(check=False)
def _message(state: State[::1], record: Record, messages: Message[::1], kind: cython.int, request: cython.int) -> cython.void:
    """Write a message record of the open call."""
    row = state[0].messages
    messages[row].bytes = record.amount
    messages[row].time = state[0].clock
    messages[row].call = cython.cast(cython.int, state[0].open)
    messages[row].peer = cython.cast(cython.int, record.reference)
    messages[row].tag = cython.cast(cython.int, record.tag)
    messages[row].comm = cython.cast(cython.int, record.communicator)
    messages[row].request = request
    messages[row].kind = cython.cast(cython.uchar, kind)
    state[0].messages += 1


@cython.cfunc
@cython.exceptval(check=False)
def point_to_point(
    state: State[::1],
    record: Record,
    calls: Call[::1],
    messages: Message[::1],
    requests: Request[::1],
    open_requests: cython.int[::1],
) -> cython.void:
    """A record of a message or request belongs to the open call."""
    kind = record.kind
    call = state[0].open
    if kind in (SEND, ISEND):
        _partner(record, calls, call)
        calls[call].sent += record.amount
        _message(state, record, messages, SENT, _post(state, requests, open_requests, record.number) if kind == ISEND else -1)
    elif kind == RECV:
        _partner(record, calls, call)
        calls[call].received += record.amount
        _message(state, record, messages, RECEIVED, -1)
    elif kind in (IRECV_REQUEST, NONBLOCKING_REQUEST):
        _post(state, requests, open_requests, record.number)
    elif kind == REQUEST_TEST:
        if open_requests[record.number] >= 0:
            _message(state, record, messages, INCOMPLETE, open_requests[record.number])
    else:
        request = _complete(state, requests, open_requests, record.number)
        if kind == REQUEST_CANCELLED and request >= 0:
            requests[request].cancelled = 1
        elif kind == IRECV:
            calls[call].received += record.amount
            if request >= 0:
                _partner(record, calls, requests[request].posted)
            _message(state, record, messages, RECEIVED, request)
        elif kind == NONBLOCKING_COMPLETE and request >= 0:
            collective(record, calls, requests[request].posted)


@cython.cfunc
@cython.exceptval(check=False)
def collective(record: Record, calls: Call[::1], call: cython.longlong) -> cython.void:
    """Give a call the communicator, root and sizes of its collective record, which keeps the root where messages have their tag."""
    calls[call].comm = cython.cast(cython.int, record.communicator)
    calls[call].root = cython.cast(cython.int, record.tag)
    calls[call].sent = record.amount
    calls[call].received = record.received
    calls[call].bits |= COLLECTIVE_RECORD
