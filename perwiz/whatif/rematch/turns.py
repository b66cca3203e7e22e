"""What a process does for whomever it hears: masters whose tasks are fixed, which answer each worker with that worker's own next one.

A turn is what such a process does from hearing somebody until it last meets the one it heard. Who is heard first is open, what is done for
whom is not: a turn goes with the message that is heard, and the workers do what they did.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.trace import operations
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.rematch.choices import Choices
from perwiz.whatif.rematch.queues import Queue

_STRANGER = -3
"""Whom a call meets that meets all members of a collective, or whatever a link leads to: nobody that can be heard."""


@dataclasses.dataclass(frozen=True, eq=False)
class Turns:
    """Turns of all processes that answer whom they hear, sorted by the call that hears."""

    request: I8
    """Message that is heard, row."""
    hears: I8
    """Call that takes it first: the receive, a probe before it, or the call that completes one of several requests."""
    last: I8
    """Last call of the turn."""
    location: I8
    """Who hears."""
    queued: Mask
    """What comes behind it is open: who hears keeps a queue."""

    @property
    def serving(self) -> I8:
        """Who keeps no queue, but does for each process what it did for it; ascending."""
        return np.unique(self.location[~self.queued])

    def and_of(self, queues: tuple[Queue, ...]) -> Turns:
        """Return the turns, and those of masters that keep queues: pieces of theirs that hear."""
        parts = [(self.request, self.hears, self.last, self.location, self.queued)]
        for queue in queues:
            own = (queue.hears, queue.call[queue.hearing], queue.last[queue.hearing])
            parts.append((*own, np.full(len(queue.hears), queue.master), np.ones(len(queue.hears), bool)))
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        order = np.argsort(columns[1], kind="stable")
        return Turns(*(column[order] for column in columns))


def turns(trace: Trace, choices: Choices, others: I8) -> Turns:
    """Return the turns of processes that answer whom they hear, each every time but perhaps the last; but for `others`, whose tasks move.

    hears 1      sends 1      hears 2    receives from 2 again    sends 2    sends 3
    turn of 1 ...... 1        turn of 2 ............................. 2      no turn
    """
    table, location = trace.messages, trace.calls.location
    request = np.flatnonzero(choices.wild | choices.chosen)
    if not len(request):
        return Turns(request, request, request, request, np.zeros(0, bool))
    hears = np.where(choices.probe >= 0, choices.probe, table.receive_done)[request]
    request, hears = (column[np.argsort(hears, kind="stable")] for column in (request, hears))
    heard = location[hears].astype("i8")
    clear = _clear(trace, choices, request) & (np.bincount(hears)[hears] == 1)
    kept = ~np.isin(heard, heard[~clear]) & ~np.isin(heard, others)
    last, answers = _last(trace, choices.wild, request[kept], hears[kept])
    request, hears, heard = request[kept], hears[kept], heard[kept]
    pair = heard * len(trace.locations) + location[table.send[request]]
    again = np.zeros(len(pair), bool)
    again[np.unique(pair[::-1], return_index=True)[1]] = True  # the last time, counted from behind
    answering = np.isin(heard, heard[answers]) & ~np.isin(heard, heard[~answers & ~again[::-1]])
    return Turns(request[answering], hears[answering], last[answering], heard[answering], np.zeros(int(answering.sum()), bool))


def _clear(trace: Trace, choices: Choices, request: I8) -> Mask:
    """Return which messages are heard by one call: not by one that completes what another posted for anybody."""
    table = trace.messages
    receives = operations.KIND[trace.calls.op[table.receive]] == operations.RECV
    alone = receives & (table.receive == table.receive_done)
    return ((choices.probe >= 0) | alone | choices.chosen)[request]


def _last(trace: Trace, wild: Mask, request: I8, hears: I8) -> tuple[I8, Mask]:
    """Return the last call of each turn, and whether it sends something to whom it heard. Who posts a receive for anybody meets nobody."""
    table, location = trace.messages, trace.calls.location
    sender, receiver = location[table.send].astype("i8"), location[table.receive].astype("i8")
    links, members, nobody = trace.links, trace.members, np.full(0, NONE)
    posts = np.where(wild & (table.receive != table.receive_done), NONE, table.receive)
    met = [(table.send, receiver), (table.send_done, receiver), (posts, sender), (table.receive_done, sender)]
    strange = [members.call, members.done, links.cause, links.effect, selectors.finalize_calls(trace)]
    call = np.concatenate([nobody, *(calls for calls, _ in met), *strange]).astype("i8")
    whom = np.concatenate([nobody, *(other for _, other in met), np.full(len(call) - len(met) * len(table), _STRANGER)])
    sends = np.arange(len(call)) < len(table)
    turn = np.searchsorted(hears, call, "right") - 1
    inside = (call >= 0) & (turn >= 0)
    inside[inside] = location[hears[turn[inside]]] == location[call[inside]]
    call, whom, sends, turn = call[inside], whom[inside], sends[inside], turn[inside]
    own = whom == sender[request[turn]]
    ends = np.full(len(hears), len(location))
    np.minimum.at(ends, turn[~own], call[~own])
    own &= call < ends[turn]
    last, answers = hears.copy(), np.zeros(len(hears), bool)
    np.maximum.at(last, turn[own], call[own])
    answers[turn[own & sends]] = True
    return last, answers
