"""Masters that keep a queue: tasks wait for processes, or processes for tasks, and whoever is heard brings more of them.

Such a master hears whoever comes first. When a task and a process that asked are there it answers, else it hears the next one. So what it
does is pieces, one per message that it hears and one per answer, and the rule puts them in order; a queue is recognised where the rule
puts them in the recorded one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from perwiz.graph.build import probes
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.tables import ANY, NONE
from perwiz.trace.trace import Trace
from perwiz.whatif.rematch.choices import Choices


class Queue(NamedTuple):
    """A master that keeps a queue, and what it does, piece by piece. Messages and calls are rows."""

    master: int
    workers: I8
    """Locations, ascending."""
    hears: I8
    """Messages that it hears, in its order: a process asks for a task, or brings tasks or what else it has."""
    asks: Mask
    """Which of these ask: the last ones before an answer to their sender."""
    makes: I8
    """Tasks that each brings."""
    answer: I8
    """Messages that bring tasks, in the order that the master sends them, and behind them the last answer of each worker."""
    to: I8
    """Per answer the message that asked, or NONE of a task given unasked."""
    call: I8
    """First call of each piece, in the recorded order."""
    hearing: Mask
    """Which of the pieces hear; the others answer."""
    last: I8
    """Last call of each piece."""
    start: int
    """Tasks that are there before anybody is heard."""

    def needs(self) -> tuple[I8, I8, I8]:
        """Return per answer how many have to have asked, how many tasks to be there, and how many messages to be heard, before it is given.

        The k-th task needs k + 1 tasks; the last answers are given when all is heard that was heard before them.
        """
        slot = np.cumsum(self.asks) - 1
        where = np.searchsorted(self.hears, self.to, sorter=(by := np.argsort(self.hears)))
        asked = np.where(self.to == NONE, 0, slot[by[np.minimum(where, len(by) - 1)]] + 1)
        count = len(self.answer) - len(self.workers)
        heard = np.cumsum(self.hearing)[~self.hearing]
        ends = np.arange(len(self.answer)) >= count
        return np.where(ends, 0, asked), np.where(ends, 0, np.arange(len(self.answer)) + 1), np.where(ends, heard, 0)

    @property
    def follows(self) -> bool:
        """Whether the rule puts its pieces in the recorded order."""
        asked, made, heard = self.needs()
        given: I8 = np.cumsum(~self.hearing) - ~self.hearing
        of = np.where(self.hearing, np.cumsum(self.hearing) - 1, len(self.hears))
        ready, there = (np.append(column, 0)[of] for column in (self.asks, self.makes))
        before = [np.cumsum(column) - column for column in (ready.astype("i8"), there, self.hearing.astype("i8"))]
        enough = (before[0] >= asked[given]) & (before[1] + self.start >= made[given]) & (before[2] >= heard[given])
        return bool((enough == ~self.hearing).all())


def queue_of(trace: Trace, anew: Mask, master: int, probe: I8) -> Queue | None:
    """Return the queue that a master keeps, or None if it keeps none, or no more than a process or a task at a time.

    `anew` are messages that may be taken for each other, bool per row, `probe` the call per message that probes for it, or NONE.
    """
    table, location = trace.messages, trace.calls.location
    sent, hears = np.flatnonzero(location[table.send] == master), np.flatnonzero(location[table.receive] == master)
    mine = np.append(sent, hears)
    told = hears[anew[hears]]
    workers, comms = np.unique(location[table.send[told]]).astype("i8"), np.unique(table.comm[told])
    answer = sent[np.isin(location[table.receive[sent]], workers) & np.isin(table.comm[sent], comms)]
    answer = answer[np.argsort(table.send[answer], kind="stable")]
    ended = np.unique(location[table.receive[answer[-len(workers) :]]])
    if master in workers or len(answer) <= len(workers) or len(ended) < len(workers):
        return None
    hears = hears[np.isin(location[table.send[hears]], workers) & np.isin(table.comm[hears], comms)]
    hears = hears[table.receive_done[hears] < table.send[answer[-1]]]
    hears = hears[np.argsort(table.receive[hears], kind="stable")]
    to = _asked(trace, hears, answer) if len(hears) else None
    pieces = None if to is None else _pieces(trace, hears, answer, mine, probe)
    if to is None or pieces is None or _at_once(hears, answer, to, pieces[1]):
        return None
    asks = np.isin(hears, to)
    queue = Queue(master, workers, hears, asks, np.zeros(len(hears), "i8"), answer, to, *pieces, start=0)
    return next((reading for reading in _readings(trace, queue) if reading.follows), None)


def _asked(trace: Trace, hears: I8, answer: I8) -> I8 | None:
    """Return the message behind each answer, the last one of its receiver before it, or NONE of the first perhaps; None if others lack it.

    A worker's messages with the master, in its order, are perhaps an answer, then messages, answer, messages, answer, ...
    """
    table, location = trace.messages, trace.calls.location
    worker = np.concatenate([location[table.send[hears]], location[table.receive[answer]]])
    row, message = np.concatenate([table.receive[hears], table.send[answer]]), np.concatenate([hears, answer])
    order = np.lexsort((row, worker))
    worker, message, heard = worker[order], message[order], order < len(hears)
    same = np.append(False, worker[1:] == worker[:-1])
    before = np.append(False, heard[:-1])
    last = np.append(~same[1:], True)
    if (~heard & same & ~before).any() or (heard & last).any():
        return None
    to = np.full(len(table), NONE)
    to[message[~heard]] = np.where(same, np.append(NONE, message[:-1]), NONE)[~heard]
    return to[answer]


def _pieces(trace: Trace, hears: I8, answer: I8, mine: I8, probe: I8) -> tuple[I8, Mask, I8] | None:
    """Return the first call of each piece, which of them hear, and the last call of each; None where a master does anything else.

    `mine` are all messages that the master sends or receives.
    """
    table = trace.messages
    begins = np.where(probe[hears] >= 0, probe[hears], table.receive[hears])
    call = np.concatenate([begins, table.send[answer]])
    order = np.argsort(call, kind="stable")
    call, hearing = call[order].astype("i8"), order < len(hears)
    end = int(max(table.receive[hears].max(), table.send[answer].max()))
    last = np.append(call[1:] - 1, end)
    received, sent = table.receive[hears], table.send[answer]
    own = np.isin(operations.KIND[trace.calls.op[received]], [operations.RECV]) & (received == table.receive_done[hears])
    own &= np.searchsorted(call, received, "right") == np.searchsorted(call, begins, "right")
    done = np.where(table.send_done[answer] == NONE, sent, table.send_done[answer])
    if not own.all() or (np.diff(call) <= 0).any() or (done != sent).any():
        return None
    others = np.setdiff1d(mine, np.append(hears, answer))
    ends = [column[others] for column in (table.send, table.send_done, table.receive, table.receive_done)]
    strange = np.concatenate([*ends, trace.members.call, trace.members.done, trace.links.cause, trace.links.effect])
    return None if ((strange >= call[0]) & (strange <= end)).any() else (call, hearing, last)


def _at_once(hears: I8, answer: I8, to: I8, hearing: Mask) -> bool:
    """Return whether every answer comes right behind the message that asked, which is a farm without a queue."""
    piece = np.flatnonzero(~hearing)
    before = np.where(piece > 0, np.append(hears, NONE)[np.cumsum(hearing)[piece] - 1], NONE)
    right_behind = np.append(False, hearing[:-1])[piece]
    return bool(((before == to) & right_behind | (to == NONE)).all()) and bool(np.isin(hears, to).all())


def _readings(trace: Trace, queue: Queue) -> Iterator[Queue]:
    """Yield what the queue may be: all tasks are there from the start, or what asks for none brings them, of one tag or of any."""
    table, count = trace.messages, len(queue.answer) - len(queue.workers)
    yield queue._replace(makes=np.zeros(len(queue.hears), "i8"), start=count)
    tag, others = table.tag[queue.hears], np.flatnonzero(~queue.asks)
    for brings in [others, *(others[tag[others] == one] for one in np.unique(tag[others]))]:
        start = int((~queue.hearing)[: np.flatnonzero(queue.hearing)[brings[:1]].sum()].sum())
        for weight in (table.bytes[queue.hears[brings]], np.ones(len(brings), "i8")):
            makes = np.zeros(len(queue.hears), "i8")
            makes[brings] = weight * (count - start) // max(int(weight.sum()), 1)
            if makes.sum() == count - start > 0:
                yield queue._replace(makes=makes, start=start)


def probe_of(trace: Trace) -> I8:
    """Return per message the blocking probe that finds it, row of calls, or NONE."""
    out = np.full(len(trace.messages), NONE)
    probe, message = probes(trace)
    out[message] = probe
    return out


def with_queues(choices: Choices, trace: Trace, queues: tuple[Queue, ...]) -> Choices:
    """Return choices in which masters that keep a queue hear whoever comes, whatever that is."""
    if not queues:
        return choices
    heard = np.concatenate([queue.hears for queue in queues])
    columns = {field.name: getattr(choices, field.name).copy() for field in dataclasses.fields(choices)}
    for name, value in (("wild", True), ("anew", True), ("source", ANY), ("tag", ANY)):
        columns[name][heard] = value
    columns["probe"] = columns["probe"].astype("i8")
    columns["probe"][heard] = probe_of(trace)[heard]
    return Choices(**columns)
