"""The numbers on the lines of an ALOG file, as a matrix with one row per event, and the templates of the lines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perwiz.formats import message_ends
from perwiz.formats.alog.writing import order as events
from perwiz.formats.alog.writing import requests
from perwiz.formats.templates import ABSENT
from perwiz.kernels import alog
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8
from perwiz.trace.numbers import running
from perwiz.trace.tables import ANY, NONE
from perwiz.trace.trace import Ranks, Trace

_FIELDS = ("type", "process", "task", "data", "time", "tag", "bytes", "mode", "first", "count", "label")
_ATTRIBUTES = ("c", "m", "p", "t", "s", "r", "sb", "rb", "b", "i")
COLUMNS = (*_FIELDS, *_ATTRIBUTES)
TYPE, PROCESS, TASK, DATA, TIME, TAG, SIZE, MODE, FIRST, COUNT, LABEL, C, M, P, T, S, R, SB, RB, B, INSTANCE = range(len(COLUMNS))
"""MODE and LABEL: texts; FIRST and COUNT: entries of a pool of requests; from C on, attributes."""
_HEAD = "%(type)d %(process)d %(task)d %(data)d 0 %(time)v"
_MESSAGE = f"{_HEAD} %(tag)d %(bytes)d"
_LIST = "q=%(first,count)l"


def _if(*keys: str) -> str:
    """Return the part of a template with the attributes of some keys, where there are any."""
    return "".join(f"%({key})[ {key}=%({key})d%]" for key in keys)


_CAUSE = "%(m)[ l=%(m)d%]"
_MODE = "%(mode)[ k=%(mode)s%]"
_MATCHED = f"{_MESSAGE} @{_if('c')} m=%(m)d{_if('b')}{_MODE}%(first)[ q=%(first)d%]"
TEMPLATES = {
    **dict.fromkeys((events.BORN, events.DIED, events.LEAVE), _HEAD),
    events.ENTER: f"{_HEAD}%(i)[ @ i=%(i)d%]",
    events.BEGIN: f"{_HEAD}%{{ @{_if('c', 'p', 't', 's', 'r', 'sb', 'rb')}{_MODE}{_CAUSE}%(first)[ {_LIST}%]%(label)[ o=%(label)s%]%}}",
    events.LINK: f"{_HEAD} @ l=%(m)d",
    events.END: f"{_HEAD}%(first)[ @ {_LIST}%]",
    **dict.fromkeys((events.POSTED, events.COMPLETED), f"{_HEAD} @ {_LIST}"),
    **dict.fromkeys((events.SEND, events.RECEIVE), _MATCHED),
    **dict.fromkeys((events.LOST_SEND, events.LOST_RECEIVE), f"{_MESSAGE} @{_if('c')} m=%(m)d{_if('b')}"),
}
"""The line of each kind of event."""
MODES = (b"s", b"r", b"b", b"y")
"""The first texts: letters of the send modes, in the order of `Messages.mode`."""
LARGEST = (1 << 31) - 1
"""Largest size a viewer reads."""
LINK, POSTED, COMPLETED, BORN, DIED, USER = 9980, 9996, 9997, 9998, 9999, 10000
"""Event types; from LINK on one a kind of link, from USER on two for each row of names. Those of op o are 2 * o + 1 and 2 * o + 2."""


class Cells:
    """Makes the cells of any events of one trace; what it takes from the tables is looked up once."""

    def __init__(self, trace: Trace, lists: requests.Lists) -> None:
        self.trace, self.lists = trace, lists
        self.posted_rest, self.completed_rest = lists.rest(lists.posted), lists.rest(lists.completed)
        self.first_calls = trace.first_calls
        self.send_request, self.receive_request = message_ends.requests_of_messages(trace)
        self.collective = _per_call(trace, trace.members.call, trace.members.collective)
        self.causes = np.zeros(len(trace.calls), bool)
        self.causes[trace.links.cause] = True
        self.label = _per_call(trace, trace.labels.call, trace.labels.text)
        self.instance = _instances(trace.collectives.comm)
        self.message_mode, self.call_mode = _modes(trace)
        self.shown_peer, self.shown_tag = _shown_partner(trace)
        self.says_sent, self.says_received = _says_bytes(trace)
        self.ranks = Ranks(trace.communicators)
        self.name = trace.region_names
        self.shown_instance = running(trace.regions.location, self.name) + np.int32(1)

    def make(self, kind: NDArray[np.uint8], row: I4, time: I8) -> I8:
        """Return the cells, int64 of shape (number of events, number of COLUMNS)."""
        cells = np.full((len(kind), len(COLUMNS)), ABSENT)
        cells[:, TIME] = time
        begins = self._born, self._enter, self._leave, self._died, self._begin, self._posted
        of_messages = self._send, self._lost_send, self._receive, self._lost_receive
        ends = self._completed, self._link, self._end
        for which, fill in zip(events.KINDS, (*begins, *of_messages, *ends), strict=True):
            rows = np.flatnonzero(kind == which)
            if len(rows):
                fill(cells, rows, row[rows])
        return cells

    def _place(self, cells: I8, rows: I8, kind: int | I8, location: I4, data: int | I8 | I4) -> None:
        cells[rows, TYPE], cells[rows, DATA] = kind, data
        cells[rows, PROCESS], cells[rows, TASK] = self.trace.locations.process[location], self.trace.locations.thread[location]

    def _born(self, cells: I8, rows: I8, location: I4) -> None:
        self._place(cells, rows, BORN, location, 0)

    def _died(self, cells: I8, rows: I8, location: I4) -> None:
        self._place(cells, rows, DIED, location, 0)

    def _enter(self, cells: I8, rows: I8, region: I4) -> None:
        self._boundary(cells, rows, region, 0)
        instance = self.trace.regions.instance[region]
        cells[rows, INSTANCE] = _where(instance, instance != self.shown_instance[region])

    def _leave(self, cells: I8, rows: I8, region: I4) -> None:
        self._boundary(cells, rows, region, 1)

    def _boundary(self, cells: I8, rows: I8, region: I4, ends: int) -> None:
        regions = self.trace.regions
        kind = USER + 2 * self.name[region].astype("i8") + ends
        self._place(cells, rows, kind, regions.location[region], regions.instance[region])

    def _link(self, cells: I8, rows: I8, link: I4) -> None:
        links, effect = self.trace.links, self.trace.links.effect[link]
        self._place(cells, rows, LINK + links.kind[link].astype("i8"), self.trace.calls.location[effect], 2 * self._number(effect))
        cells[rows, M] = links.cause[link]

    def _number(self, call: I4) -> I8:
        """Return the numbers of calls on their locations, from 1."""
        return call - self.first_calls[self.trace.calls.location[call]] + 1

    def _begin(self, cells: I8, rows: I8, call: I4) -> None:
        calls = self.trace.calls
        op, comm, peer, tag = calls.op[call], calls.comm[call], calls.peer[call], calls.tag[call]
        self._place(cells, rows, 2 * op.astype("i8") + 1, calls.location[call], 2 * self._number(call) - 1)
        cells[rows, C] = _where(comm, (comm >= 0) | operations.TALKS[op])
        cells[rows, P] = np.where(peer < 0, peer, self._rank(comm, peer))
        cells[rows, T] = np.where(tag < 0, ANY + NONE - tag, tag)
        cells[rows[peer == self.shown_peer[call]], P] = cells[rows[tag == self.shown_tag[call]], T] = ABSENT
        collective = self.collective[call]
        member = collective >= 0
        cells[rows[member], S] = self.instance[collective[member]]
        cells[rows, R] = self._rank(comm, calls.root[call])
        cells[rows, SB] = _where(calls.bytes_sent[call], self.says_sent[call])
        cells[rows, RB] = _where(calls.bytes_received[call], self.says_received[call])
        _put_not_negative(cells, rows, MODE, self.call_mode[call])
        _put_not_negative(cells, rows, LABEL, self.label[call], len(MODES))
        cells[rows, M] = _where(call, self.causes[call])
        self._list(cells, rows, *self.lists.start(self.lists.posted, call))

    def _end(self, cells: I8, rows: I8, call: I4) -> None:
        calls = self.trace.calls
        self._place(cells, rows, 2 * calls.op[call].astype("i8") + 2, calls.location[call], 2 * self._number(call))
        self._list(cells, rows, *self.lists.start(self.lists.completed, call))

    def _list(self, cells: I8, rows: I8, first: I4, count: I4) -> None:
        nonempty = np.flatnonzero(count)
        cells[rows[nonempty], FIRST], cells[rows[nonempty], COUNT] = first[nonempty], count[nonempty]

    def _posted(self, cells: I8, rows: I8, row: I4) -> None:
        call, first, count = (column[row] for column in self.posted_rest)
        self._place(cells, rows, POSTED, self.trace.calls.location[call], 2 * self._number(call) - 1)
        self._list(cells, rows, first, count)

    def _completed(self, cells: I8, rows: I8, row: I4) -> None:
        call, first, count = (column[row] for column in self.completed_rest)
        self._place(cells, rows, COMPLETED, self.trace.calls.location[call], 2 * self._number(call))
        self._list(cells, rows, first, count)

    def _message(self, cells: I8, rows: I8, tag: I4, size: I8, comm: I4, number: I4) -> None:
        """Fill in a message; `number` is one that no other has, so that what has no other end finds none."""
        cells[rows, TAG], cells[rows, SIZE], cells[rows, M] = tag, np.minimum(size, LARGEST), number
        cells[rows, B], cells[rows, C] = _where(size, size > LARGEST), comm

    def _matched(self, cells: I8, rows: I8, message: I4, request: I4) -> None:
        messages = self.trace.messages
        self._message(cells, rows, messages.tag[message], messages.bytes[message], messages.comm[message], message)
        _put_not_negative(cells, rows, FIRST, request)

    def _send(self, cells: I8, rows: I8, message: I4) -> None:
        messages, location = self.trace.messages, self.trace.calls.location
        sender, receiver = location[messages.send[message]], location[messages.receive[message]]
        self._place(cells, rows, alog.MESSAGE_SENT, sender, self.trace.locations.process[receiver])
        self._matched(cells, rows, message, self.send_request[message])
        _put_not_negative(cells, rows, MODE, self.message_mode[message])

    def _receive(self, cells: I8, rows: I8, message: I4) -> None:
        messages, location = self.trace.messages, self.trace.calls.location
        receiver, sender = location[messages.receive_done[message]], location[messages.send[message]]
        self._place(cells, rows, alog.MESSAGE_RECEIVED, receiver, self.trace.locations.process[sender])
        self._matched(cells, rows, message, self.receive_request[message])

    def _lost_send(self, cells: I8, rows: I8, call: I4) -> None:
        calls = self.trace.calls
        self._place(cells, rows, alog.MESSAGE_SENT, calls.location[call], calls.peer[call])
        self._message(cells, rows, calls.tag[call], calls.bytes_sent[call], calls.comm[call], len(self.trace.messages) + call)

    def _lost_receive(self, cells: I8, rows: I8, call: I4) -> None:
        calls = self.trace.calls
        self._place(cells, rows, alog.MESSAGE_RECEIVED, calls.location[call], calls.peer[call])
        self._message(cells, rows, calls.tag[call], calls.bytes_received[call], calls.comm[call], len(self.trace.messages) + call)

    def _rank(self, comm: I4, process: I4) -> I8:
        """Return processes as ranks in communicators (the world where that is unknown), ABSENT where there is none."""
        return _where_not_negative(self.ranks.of(comm, process))


def _where(values: NDArray[np.signedinteger], says: NDArray[np.bool_]) -> I8:
    return np.where(says, values.astype("i8"), ABSENT)


def _where_not_negative(values: NDArray[np.signedinteger]) -> I8:
    """Return the values, ABSENT for those below 0."""
    return _where(values, values >= 0)


def _put_not_negative(cells: I8, rows: I8, column: int, values: NDArray[np.signedinteger], more: int = 0) -> None:
    """Fill in the values that are not below 0, each by so much more; few are."""
    good = np.flatnonzero(values >= 0)
    cells[rows[good], column] = values[good] + more


def _shown_partner(trace: Trace) -> tuple[I4, I4]:
    """Return peer and tag per call as the first message record in it shows them to a reader, -1 where none does."""
    calls, messages = trace.calls, trace.messages
    process = trace.processes_of_calls
    peer, tag = np.full(len(calls), NONE, "i4"), np.full(len(calls), NONE, "i4")
    lost = np.concatenate([message_ends.lost_sends(trace), message_ends.lost_receives(trace)])
    peer[lost], tag[lost] = calls.peer[lost], calls.tag[lost]
    for shown, call, partner in (
        (operations.SHOWS_RECEIVER, messages.send, messages.receive),
        (operations.SHOWS_SENDER, messages.receive_done, messages.send),
    ):
        rows = np.flatnonzero(shown[calls.op[call]])[::-1]
        peer[call[rows]], tag[call[rows]] = process[partner[rows]], messages.tag[rows]
    return peer, tag


def _per_call(trace: Trace, call: I4, values: I4) -> I4:
    out = np.full(len(trace.calls), -1, "i4")
    out[call] = values
    return out


def _instances(comm: I4) -> I8:
    """Return the number of each collective in its communicator, from 0."""
    order = np.argsort(comm, kind="stable")
    out = np.empty(len(comm), "i8")
    out[order] = np.arange(len(comm)) - np.searchsorted(comm[order], comm[order])
    return out


def _modes(trace: Trace) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return the send mode per message and per call, -1 where it is the one the routine implies."""
    messages = trace.messages
    differs = messages.mode != operations.MODE[trace.calls.op[messages.send]]
    of_message = np.where(differs, messages.mode.astype("i1"), np.int8(-1))
    of_call = np.full(len(trace.calls), -1, "i1")
    of_call[messages.send[differs]] = of_message[differs]
    of_call[messages.send[~differs]] = -1
    return of_message, of_call


def _says_bytes(trace: Trace) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return per call whether the message lines written in it add up to other bytes than it sends, and than it receives."""
    messages, calls = trace.messages, trace.calls
    lost_sends, lost_receives = message_ends.lost_sends(trace), message_ends.lost_receives(trace)
    sent, received = np.zeros(len(calls), "i8"), np.zeros(len(calls), "i8")
    shown = np.minimum(messages.bytes, LARGEST)
    np.add.at(sent, messages.send, shown)
    np.add.at(received, messages.receive_done, shown)
    sent[lost_sends] += np.minimum(calls.bytes_sent[lost_sends], LARGEST)
    received[lost_receives] += np.minimum(calls.bytes_received[lost_receives], LARGEST)
    return sent != calls.bytes_sent, received != calls.bytes_received
