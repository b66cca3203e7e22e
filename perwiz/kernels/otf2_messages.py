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


@cython.cclass
class Messages:
    """The message records and requests of a location, and its calls, to which they say more."""

    def __init__(
        self, state: State[::1], calls: Call[::1], messages: Message[::1], requests: Request[::1], open_requests: cython.int[::1]
    ) -> None:
        self.state, self.calls, self.messages = state, calls, messages
        self.requests, self.open_requests = requests, open_requests

    @cython.cfunc
    @cython.final
    @cython.exceptval(check=False)
    def point_to_point(self, record: Record) -> cython.void:
        """A record of a message or request belongs to the open call."""
        kind = record.kind
        call = self.state[0].open
        if kind in (SEND, ISEND):
            self.meet(record, call)
            self.calls[call].sent += record.amount
            self.add(record, SENT, self.post(record.number) if kind == ISEND else -1)
        elif kind == RECV:
            self.meet(record, call)
            self.calls[call].received += record.amount
            self.add(record, RECEIVED, -1)
        elif kind in (IRECV_REQUEST, NONBLOCKING_REQUEST):
            self.post(record.number)
        elif kind == REQUEST_TEST:
            if self.open_requests[record.number] >= 0:
                self.add(record, INCOMPLETE, self.open_requests[record.number])
        else:
            request = self.complete(record.number)
            if kind == REQUEST_CANCELLED and request >= 0:
                self.requests[request].cancelled = 1
            elif kind == IRECV:
                self.calls[call].received += record.amount
                if request >= 0:
                    self.meet(record, self.requests[request].posted)
                self.add(record, RECEIVED, request)
            elif kind == NONBLOCKING_COMPLETE and request >= 0:
                self.collective(record, self.requests[request].posted)

    @cython.cfunc
    @cython.final
    @cython.exceptval(check=False)
    def collective(self, record: Record, call: cython.longlong) -> cython.void:
        """Give a call the communicator, root and sizes of its collective record, which keeps the root where messages have their tag."""
        self.calls[call].comm = cython.cast(cython.int, record.communicator)
        self.calls[call].root = cython.cast(cython.int, record.tag)
        self.calls[call].sent = record.amount
        self.calls[call].received = record.received
        self.calls[call].bits |= COLLECTIVE_RECORD

    @cython.cfunc
    @cython.final
    @cython.exceptval(check=False)
    def post(self, number: cython.int) -> cython.int:
        """Post a request at the open call; an earlier one of the same number that is still open stays without completion."""
        row = cython.cast(cython.int, self.state[0].requests)
        self.requests[row].posted = cython.cast(cython.int, self.state[0].open)
        self.requests[row].done = -1
        self.requests[row].cancelled = 0
        self.open_requests[number] = row
        self.state[0].requests += 1
        return row

    @cython.cfunc
    @cython.final
    @cython.exceptval(check=False)
    def complete(self, number: cython.int) -> cython.int:
        """Complete the open request of a number at the open call and return its row, -1 if none is open."""
        row = self.open_requests[number]
        if row >= 0:
            self.requests[row].done = cython.cast(cython.int, self.state[0].open)
            self.open_requests[number] = -1
        else:
            self.state[0].not_posted += 1
        return row

    @cython.cfunc
    @cython.final
    @cython.exceptval(check=False)
    def meet(self, record: Record, call: cython.longlong) -> cython.void:
        """Give a call the partner of its first message record."""
        if self.calls[call].peer == -1 and self.calls[call].comm == -1:
            self.calls[call].peer = cython.cast(cython.int, record.reference)
            self.calls[call].tag = cython.cast(cython.int, record.tag)
            self.calls[call].comm = cython.cast(cython.int, record.communicator)

    @cython.cfunc
    @cython.final
    @cython.exceptval(check=False)
    def add(self, record: Record, kind: cython.int, request: cython.int) -> cython.void:
        """Write a message record of the open call."""
        row = self.state[0].messages
        self.messages[row].bytes = record.amount
        self.messages[row].time = self.state[0].clock
        self.messages[row].call = cython.cast(cython.int, self.state[0].open)
        self.messages[row].peer = cython.cast(cython.int, record.reference)
        self.messages[row].tag = cython.cast(cython.int, record.tag)
        self.messages[row].comm = cython.cast(cython.int, record.communicator)
        self.messages[row].request = request
        self.messages[row].kind = cython.cast(cython.uchar, kind)
        self.state[0].messages += 1
