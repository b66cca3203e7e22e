"""Pipelines of a training job: ranks that hold the stages of a model one behind the other, and pass micro-batches forth and back.

In a step each stage computes m micro-batches forward and backward. Until the first has come to the last of p stages, and since the last has
left it, stages idle: the bubble, of equal stages (p - 1) / (m + p - 1) of the time, in all schedules that do not cut micro-batches or
stages: GPipe (Huang et al., NeurIPS 2019), 1F1B (PipeDream-Flush; Narayanan et al., ICML 2021). With v parts of the model on each rank,
interleaved, it is v times as small (Megatron-LM; Narayanan et al., SC 2021, 2.2).

    stage 0   F F F . . . B . B . B      F, B: a micro-batch forward and backward; the last stage does them in turn
    stage 2   . . F B F B F B . . .

What computes a micro-batch is what a message of these ranks is sent behind, or what goes on when it has come. Where that is not most of
what the stages compute, as of devices that run many kernels for each, all from one message to the next is a micro-batch.

    takes a message | kernel kernel kernel | sends one   takes another | kernel ...

In GPipe the last stage takes the last micro-batch, computes it, and another one backward before it sends anything: it turns. Of what it
computes there, each has the part that its like have that stand alone.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.trace import operations
from perwiz.trace.arrays import F8, I4, I8
from perwiz.trace.numbers import distinct_pairs
from perwiz.trace.parts.iterations import Iterations, find
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

_SEND, _RECV, _BOTH, _IDLE = (operations.OP[name] for name in ("dist_send", "dist_recv", "dist_send_recv", "device_idle"))
NO_PIPELINE = "no pipeline of stages that send and receive micro-batches, or not told what computes them"
_STEPS = ("ProfilerStep",)
"""What iterates in traces of the PyTorch profiler."""
_MOST = 0.8
"""Part of what the stages compute, between the first and the last micro-batch, that must belong to these."""


@dataclasses.dataclass(frozen=True, eq=False)
class Pipelines:
    """The pipelines of a job, and the messages between their stages; a computation is numbered as its call + location."""

    ranks: tuple[tuple[int, ...], ...]
    """Of each pipeline those of its stages, first stage first."""
    message: I8
    """Rows of messages."""
    sent: I8
    """Per message the computation that it is sent behind, the last one of its micro-batch."""
    taken: I8
    """That which goes on with it, the first one."""
    begun: I8
    """Per message the first computation of the micro-batch that it is sent behind."""
    ended: I8
    """The last one of that which goes on with it."""
    way: I4
    """Per message a number: the same for those from one stage to another."""

    def computations(self) -> I8:
        """Return all computations of micro-batches, ascending."""
        inside = np.zeros(int(max(self.sent.max(initial=0), self.ended.max(initial=0))) + 2, "i8")
        np.add.at(inside, np.concatenate((self.begun, self.taken)), 1)
        np.add.at(inside, np.concatenate((self.sent, self.ended)) + 1, -1)
        return np.flatnonzero(np.cumsum(inside) > 0)

    def lengths(self, length: I8) -> tuple[I8, I8]:
        """Return per message how long the micro-batches take that are sent and taken, given how long each computation takes."""
        until = np.append(0, np.cumsum(np.maximum(length, 0)))
        sent, taken = until[self.sent + 1] - until[self.begun], until[self.ended + 1] - until[self.taken]
        ahead, back = self._turns()
        first, then = self._usual(taken, ahead), self._usual(sent, back)
        told = (first > 0) & (then > 0)
        ahead, back, first, then = ahead[told], back[told], first[told], then[told]
        taken[ahead] = np.rint(taken[ahead] * first / (first + then)).astype("i8")
        sent[back] -= taken[ahead]
        return sent, taken

    def _turns(self) -> tuple[I8, I8]:
        """Return messages that are taken, and those that are sent next with what has been computed of another micro-batch, in rows."""
        order = np.lexsort((self.sent, self.way))
        number = np.empty(len(order), "i8")
        number[order] = np.arange(len(order)) - np.searchsorted(self.way[order], self.way[order])
        _, ahead, back = np.intersect1d(self.ended, self.sent, return_indices=True)
        other = (self.taken[ahead] == self.begun[back]) & (number[ahead] != number[back])
        return ahead[other], back[other]

    def _usual(self, took: I8, turning: I8) -> F8:
        """Return for some messages what those of their way take on average that are not among them; 0 if there are none."""
        alone = np.ones(len(took), bool)
        alone[turning] = False
        count, total = (np.bincount(self.way[alone], weights, self.way.max() + 1) for weights in (None, took[alone]))
        return (total / np.maximum(count, 1))[self.way[turning]]


@dataclasses.dataclass(frozen=True, eq=False)
class Bubbles:
    """What the stages of pipelines do from the first micro-batch of a step to the last, a row for each step of each pipeline."""

    stages: I8
    micro_batches: I8
    time: I8
    """ns."""
    most: I8
    """ns that the stage computes that computes longest."""
    mean: I8
    """ns that stages compute on average."""

    @property
    def bubble(self) -> float:
        """Part of the time in which even the stage that computes longest does not."""
        return 1 - float(self.most.sum() / self.time.sum())

    @property
    def uneven(self) -> float:
        """Part of the time that the others compute less."""
        return float((self.most - self.mean).sum() / self.time.sum())

    @property
    def ideal(self) -> float:
        """The bubble of equal stages as part of the time."""
        return float(np.average((self.stages - 1) / (self.micro_batches + self.stages - 1), weights=self.time))


def pipelines(trace: Trace) -> Pipelines | None:
    """Return the pipelines of a job; None if there are none, or its messages do not tell what computes a micro-batch."""
    table, calls = trace.messages, trace.calls
    rows = np.flatnonzero(np.isin(calls.op[table.send], (_SEND, _BOTH)) & np.isin(calls.op[table.receive], (_RECV, _BOTH)))
    process = trace.locations.process[calls.location]
    pairs = np.stack((process[table.send[rows]], process[table.receive[rows]])).astype("i8")
    found = [chain for chain in _chains(pairs) if chain]
    rows = rows[np.isin(pairs[0], [rank for chain in found for rank in chain])]
    if not len(rows):
        return None
    sent = _computed(trace, table.send[rows].astype("i8"), before=True)
    taken = _computed(trace, table.receive_done[rows].astype("i8"), before=False)
    told = (sent >= 0) & (taken >= 0)
    sent, taken = sent[told], taken[told]
    if not len(sent):
        return None
    rows = rows[told].astype("i8")
    way = distinct_pairs(calls.location[table.send[rows]], calls.location[table.receive_done[rows]])[1]
    single = Pipelines(tuple(found), rows, sent, taken, sent, taken, way)
    if _makes_most(trace, single):
        return single
    begun, ended = _joined(trace, single)
    joined = dataclasses.replace(single, begun=begun, ended=ended)
    return joined if _makes_most(trace, joined) else None


def _joined(trace: Trace, found: Pipelines) -> tuple[I8, I8]:
    """Return the first and last computations of micro-batches of many: they begin with a message or a step, or behind what a message is
    sent behind.

    computations 0 to 9, taken 2 6, sent 4 9     micro-batches 2 to 4, 6 to 9
    """
    location = _spans(trace, np.concatenate((found.sent, found.taken)))[2]
    edges = [found.taken, found.sent + 1]
    steps, enter, first = find(trace), trace.timeline.calls.enter, trace.first_calls
    count = len(steps) if steps.body == _STEPS else 0
    for one in np.unique(location).tolist():
        own = enter[first[one] : first[one + 1]]
        of_steps = [np.searchsorted(own, steps.begin[k][one]) for k in range(count)]
        edges.append(first[one] + one + np.array([0, *of_steps, len(own) + 1], "i8"))
    begins = np.unique(np.concatenate(edges)).astype("i8")
    return begins[np.searchsorted(begins, found.sent, "right") - 1], begins[np.searchsorted(begins, found.taken, "right")] - 1


def bubbles(trace: Trace, found: Pipelines, steps: Iterations) -> Bubbles:
    """Return what stages do in each step, given the iterations of the trace."""
    begin, end, location = _spans(trace, found.computations())
    process = trace.locations.process
    sender = process[trace.calls.location[trace.messages.send[found.message]]]
    at = trace.timeline.calls.enter[trace.messages.send[found.message]]
    rows = []
    for ranks in found.ranks:
        own = np.isin(process[location], ranks)
        for k in range(len(steps)):
            inside = own & (begin >= steps.begin[k][location]) & (begin < steps.stop[k][location])
            if not inside.any():
                continue
            busy = np.bincount(np.searchsorted(np.sort(ranks), process[location[inside]]), (end - begin)[inside], len(ranks))
            first = np.flatnonzero(process == ranks[0])[0]
            passed = (sender == ranks[0]) & (at >= steps.begin[k][first]) & (at < steps.stop[k][first])
            time = end[inside].max() - begin[inside].min()
            rows.append((len(ranks), int(passed.sum()), int(time), int(busy.max()), round(float(busy.mean()))))
    return Bubbles(*np.array(rows, "i8").reshape(-1, 5).T)


def _chains(pairs: I8) -> list[tuple[int, ...]]:
    """Return the ranks that pass messages to their neighbours alone, one behind the other from that which sends first; two or more.

    pairs 0 1 2 1 of first messages to 1 2 1 0 -> (0, 1, 2); where a rank has three others, or they form a ring, there is none.
    """
    near: dict[int, set[int]] = {}
    for one, other in np.unique(pairs, axis=1).T.tolist():
        near.setdefault(one, set()).add(other)
        near.setdefault(other, set()).add(one)
    out, seen = list[tuple[int, ...]](), set[int]()
    for rank in dict.fromkeys(pairs[0].tolist()):
        chain = [rank]
        while (ahead := near[chain[-1]] - set(chain)) and len(near[chain[-1]]) <= 2 and len(near[rank]) == 1:
            chain.append(ahead.pop())
        if not seen & set(chain) and len(chain) > 1 and len(near[chain[-1]]) == 1:
            out.append(tuple(chain))
            seen |= set(chain)
    return out


def _computed(trace: Trace, call: I8, before: bool) -> I8:
    """Return what computes ahead of each of some calls, or behind it, as call + location; -1 where that is not told.

    On a stream of its own a call stands between two others in which the stream idles: that in front waits for what computes on another
    stream of the process, and what computes there waits for that behind.
    """
    location, op, process = trace.calls.location, trace.calls.op, trace.locations.process
    beside = np.clip(call + (-1 if before else 1), 0, len(location) - 1)
    idle = (location[beside] == location[call]) & (op[beside] == _IDLE)
    near, far = (trace.links.effect, trace.links.cause) if before else (trace.links.cause, trace.links.effect)
    near, far = near.astype("i8"), far.astype("i8")
    own = (process[location[near]] == process[location[far]]) & (location[near] != location[far])
    own &= op[far] == _IDLE  # no thread that waits for its device
    near, far = near[own], far[own]
    order = np.lexsort((trace.timeline.calls.enter[far] * (-1 if before else 1), near))  # the latest that it waits for, the first behind
    near, far = near[order], far[order]
    place = np.minimum(np.searchsorted(near, beside), max(len(near) - 1, 0))
    tied = idle & (near[place] == beside if len(near) else False)
    at = np.where(tied, far[place] if len(far) else NONE, call)
    return np.where(idle & ~tied, NONE, at + location[at] + (0 if before else 1))


def _spans(trace: Trace, task: I8) -> tuple[I8, I8, I8]:
    """Return (when computations begin, when they end, ns, their locations)."""
    first = trace.first_calls + np.arange(len(trace.first_calls))
    location = np.searchsorted(first, task, "right") - 1
    call, times, ends = task - location, trace.timeline.calls, trace.timeline.locations
    last = call == trace.first_calls[location + 1]
    end = np.where(last, ends.leave[location], times.enter[np.where(last, 0, call)])
    start = call == trace.first_calls[location]
    begin = np.where(start, ends.enter[location], times.leave[np.where(start, 0, call - 1)])
    return begin, end, location


def _makes_most(trace: Trace, found: Pipelines) -> bool:
    """Return whether micro-batches are most of what their locations compute between the first and the last."""
    task = found.computations()
    begin, end, location = _spans(trace, task)
    of = np.unique(location)
    first, last = task[np.searchsorted(location, of)], task[np.searchsorted(location, of, "right") - 1]
    every = np.concatenate([np.arange(a, b + 1) for a, b in zip(first.tolist(), last.tolist(), strict=True)])
    all_begin, all_end, _ = _spans(trace, every)
    return bool((end - begin).sum() >= _MOST * (all_end - all_begin).sum() > 0)
