"""Dynamic work distribution: a master that answers requests with tasks, and workers that ask for the next one.

A task is what a worker does from the return of the call in which it gets it, a receive or the wait for one posted since the last one, until
that is entered for the next one: what it computes before it waits cannot need what it waits for. The k-th answer carries task k, to whoever
asks for it; after the last ones, one per worker, each worker goes on with what it did behind its own last one. A master may keep tasks and
workers waiting (`queues`).
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from perwiz.trace import operations
from perwiz.trace.arrays import I8, Ints, Mask
from perwiz.trace.resources import remembered
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif.rematch.choices import choices
from perwiz.whatif.rematch.counters import Counters, counters
from perwiz.whatif.rematch.queues import Queue, probe_of, queue_of

_TAKES = np.isin(operations.KIND, (operations.RECV, operations.SENDRECV))
_POSTS = operations.KIND == operations.IRECV
_WAITS = np.isin(operations.OPS, ["MPI_Wait", "MPI_Waitall", "MPI_Test", "MPI_Testall"])


class Farm(NamedTuple):
    """A master and its workers. Messages are rows, calls are rows."""

    master: int
    workers: I8
    """Locations, ascending."""
    request: I8
    """Messages in which workers ask, or bring results, in the order that the master gets them."""
    answer: I8
    """Messages that bring tasks, in the order that the master sends them, and behind them the last answer of each worker."""
    to: I8
    """Per answer the request that it answers, or NONE of a task given unasked."""
    queue: Queue | None = None
    """The queue that the master keeps, if it lets tasks or workers wait."""


@dataclasses.dataclass(frozen=True, eq=False)
class Tasks:
    """The tasks of all farms of a trace, in the order of their answers, and behind them those taken from counters, as they were fetched."""

    farms: tuple[Farm, ...]
    counters: Counters
    answer: I8
    """Message per task of the farms that brings it."""
    home: I8
    """Location per task that ran it."""
    last: I8
    """Messages that bring no task: the last answer of each worker."""
    begins: I8
    """Per call, the task that its return belongs to, or NONE."""
    goes_on: I8
    """Per call, the task that its entry, and the computation before it, belong to, or NONE."""

    @property
    def queues(self) -> tuple[Queue, ...]:
        """The queues that masters keep."""
        return tuple(farm.queue for farm in self.farms if farm.queue)


def farm_of(trace: Trace, instances: I8) -> I8:
    """Return the farm, or round of tasks from a counter, in whose tasks each of some region instances ends, from 0, or NONE."""
    found = tasks(trace)
    of = [np.full(len(farm.answer) - len(farm.workers), number) for number, farm in enumerate(found.farms)]
    of.append(len(found.farms) + found.counters.round[~found.counters.ends])
    end = trace.regions.end_call[instances]
    inside = end < trace.first_calls[trace.regions.location[instances] + 1]
    task = np.where(inside, np.append(found.goes_on, NONE)[np.where(inside, end, NONE)], NONE)
    return np.append(_joined(of), NONE)[task]


TOLD_BY_ONE = "which processes hand out tasks is told by one process alone"


def handed_out_by_one(trace: Trace) -> bool:
    """Return whether processes may hand out tasks in a trace that several have, as one alone tells: where receives take what comes first,
    or processes fetch from windows.
    """
    found, fetches = choices(trace), operations.ON_WINDOWS[trace.calls.op]
    return trace.share.any(found.wild.any() or found.chosen.any() or fetches.any())


@remembered(2)
def tasks(trace: Trace) -> Tasks:
    """Return the tasks that move."""
    anyhow, table, location = choices(trace), trace.messages, trace.calls.location
    anew = anyhow.wild | anyhow.chosen
    farms, probe = list[Farm](), probe_of(trace)
    for master in np.unique(location[table.receive[anew]]).tolist():
        found = _queued(trace, anew, master, probe) or _farm(trace, anew, master)
        if found is not None and not any(np.isin(found.workers, [other.master, *other.workers]).any() for other in farms):
            farms.append(found)
    fetched = counters(trace)
    if not farms and not len(fetched.fetch):
        nobody, none = np.broadcast_to(np.int64(NONE), len(trace.calls)), np.zeros(0, "i8")
        return Tasks((), fetched, none, none, none, nobody, nobody)
    begins, goes_on = np.full((2, len(trace.calls)), NONE)
    answers, homes, lasts = [], [], []
    count = 0
    for farm in farms:
        given, last = farm.answer[: -len(farm.workers)], farm.answer[-len(farm.workers) :]
        number = np.full(len(table), NONE)
        number[given] = count + np.arange(len(given))
        of_workers = np.flatnonzero(np.isin(location, farm.workers))
        received = np.sort(table.receive_done[farm.answer])
        task = number[farm.answer[np.argsort(table.receive_done[farm.answer])]]
        behind = np.searchsorted(received, of_workers, "right")
        for row, out in ((behind - 1, begins), (np.searchsorted(received, of_workers) - 1, goes_on)):
            own = (row >= 0) & (location[received[np.maximum(row, 0)]] == location[of_workers])
            out[of_workers] = np.where(own, task[np.maximum(row, 0)], NONE)
        answers.append(given)
        homes.append(location[table.receive[given]].astype("i8"))
        lasts.append(last)
        count += len(given)
    if farms:
        own = np.isin(location[fetched.fetch], np.concatenate([farm.workers for farm in farms]))
        fetched = fetched.of(~np.isin(fetched.round, fetched.round[own]))
    homes.append(_of_counters(trace, fetched, count, begins, goes_on))
    return Tasks(tuple(farms), fetched, _joined(answers), _joined(homes), _joined(lasts), begins, goes_on)


def _of_counters(trace: Trace, fetched: Counters, count: int, begins: I8, goes_on: I8) -> I8:
    """Return the location per task that is taken from a counter, after numbering them from `count` on in what calls belong to."""
    first, behind = fetched.fetch[~fetched.ends], fetched.next[~fetched.ends]
    size = behind - first
    call = np.arange(int(size.sum())) + np.repeat(first - np.cumsum(size) + size, size)
    begins[call] = goes_on[call + 1] = np.repeat(count + np.arange(len(first)), size)
    return trace.calls.location[first].astype("i8")


def _joined(parts: list[I8]) -> I8:
    return np.concatenate([np.zeros(0, "i8"), *parts])


def _queued(trace: Trace, anew: Mask, master: int, probe: I8) -> Farm | None:
    """Return the farm of a master that keeps a queue, or None if it keeps none; arguments as of `queue_of`."""
    queue = queue_of(trace, anew, master, probe)
    if queue is None or not _moves(trace, queue.workers, queue.hears, queue.answer, once=False):
        return None
    tasks_only = np.arange(len(queue.answer)) < len(queue.answer) - len(queue.workers)
    return Farm(master, queue.workers, queue.hears[queue.asks], queue.answer, np.where(tasks_only, queue.to, NONE), queue)


def _farm(trace: Trace, anew: Mask, master: int) -> Farm | None:
    """Return the farm of a master, or None if it is none, given which messages may be taken for each other, bool per row."""
    table, location = trace.messages, trace.calls.location
    receiver, sender = location[table.receive], location[table.send]
    request = np.flatnonzero(anew & (receiver == master))
    workers = np.unique(sender[request]).astype("i8")
    answer = np.flatnonzero((sender == master) & np.isin(receiver, workers) & np.isin(table.comm, table.comm[request]))
    if master in workers or not len(answer) or not np.isin(workers, receiver[answer]).all():
        return None
    request = request[np.argsort(table.receive_done[request], kind="stable")]
    answer = answer[np.argsort(table.send[answer], kind="stable")]
    to = _answered(trace, request, answer)
    last = np.zeros(len(answer), bool)
    last[-len(workers) :] = True
    if to is None or len(np.unique(receiver[answer[last]])) < len(workers) or not _moves(trace, workers, request, answer):
        return None
    return Farm(master, workers, request, answer, to)


def _answered(trace: Trace, request: I8, answer: I8) -> I8 | None:
    """Return the request behind each answer, NONE of the first one perhaps; None unless they take turns with every worker.

    A worker's messages with the master, in its order, are perhaps an answer, then request, answer, request, answer, ...
    """
    table, location = trace.messages, trace.calls.location
    worker = np.concatenate([location[table.send[request]], location[table.receive[answer]]])
    row = np.concatenate([table.receive_done[request], table.send[answer]])
    message, asks = np.concatenate([request, answer]), np.arange(len(row)) < len(request)
    order = np.lexsort((row, worker))
    worker, message, asks = worker[order], message[order], asks[order]
    same = worker[1:] == worker[:-1]
    if (asks[1:] == asks[:-1])[same].any() or asks[np.append(~same, True)].any():
        return None
    before = np.where(np.append(False, same), np.append(NONE, message[:-1]), NONE)
    to = np.full(len(table), NONE)
    to[message[~asks]] = before[~asks]
    return to[answer]


def _moves(trace: Trace, workers: I8, request: I8, answer: I8, once: bool = True) -> bool:
    """Return whether anybody could run the tasks: they need nothing but their answer, and give nothing but requests, one each if `once`."""
    table, location = trace.messages, trace.calls.location
    posted, op = table.receive[answer], trace.calls.op
    received, order = np.unique(table.receive_done[answer], return_index=True)
    if len(received) < len(answer):
        return False
    posted = posted[order]
    alone = (received == posted) & _TAKES[op[received]] | _POSTS[op[posted]] & _WAITS[op[received]]
    behind_last = posted[1:] > np.where(location[received[1:]] == location[received[:-1]], received[:-1], NONE)
    if not alone.all() or not behind_last.all():
        return False
    inside = np.zeros(len(location), bool)  # entered in a task
    task = np.full(len(location), NONE)  # the answer before its entry
    rows = np.flatnonzero(np.isin(location, workers))
    before = np.searchsorted(received, rows) - 1
    own = (before >= 0) & (location[received[np.maximum(before, 0)]] == location[rows])
    behind = before + 1
    more = (behind < len(received)) & (location[received[np.minimum(behind, len(received) - 1)]] == location[rows])
    inside[rows] = own & more
    task[rows] = np.where(own, before, NONE)
    between = np.ones(len(table), bool)
    between[request] = between[answer] = False
    ends = (table.send, table.receive, table.receive_done, np.where(table.send_done == NONE, table.send, table.send_done))
    others = [column[between] for column in ends] + [trace.members.call, trace.members.done[trace.members.done != NONE]]
    others += [trace.links.cause, trace.links.effect]
    if any(inside[column].any() for column in others):
        return False
    sent, done = table.send[request], table.send_done[request]
    crosses = (done != NONE) & (task[sent] != task[np.maximum(done, 0)])
    return not crosses.any() and (not once or _once(task[sent][inside[sent]], int(inside[received].sum())))


def _once(task: Ints, count: int) -> bool:
    """Return whether each of so many tasks occurs once."""
    return len(task) == count == len(np.unique(task))
