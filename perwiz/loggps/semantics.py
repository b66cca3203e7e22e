"""How others read the letters of LogGPS: what each charges for a message, and when. One simulation for all, see perwiz.kernels.loggopsim.

perwiz       the sender works o + k O, the message is there L + (k - 1) G later, the receiver works o + k O behind it; the next send of a
             process not before g + (k - 1) G; above S a request and an acknowledgement travel first.
loggopsim    (spcl/LogGOPSim 76451de, LogGOPSim.cpp) the message is there o + L behind the start of its send, and keeps the receiver's
             processor, whether or not it waits, for o + max((k - 1) O, (k - 1) G); both interfaces are busy for g + (k - 1) G. Above S
             the sender goes on when the message is matched: nothing is sent before, and its acknowledgement takes no time.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.goal.schedule import CALC, RECV, SEND, Schedule
from perwiz.kernels import loggopsim as kernel
from perwiz.loggps.model import Model, Sent
from perwiz.trace.arrays import F8, I8
from perwiz.trace.numbers import Numbers
from perwiz.trace.tables import ANY

PROFILES = ("loggopsim",)
"""Of those beside perwiz itself."""
_MOST = 1 << 27
_LONGEST = 2.0**60


@dataclasses.dataclass(frozen=True, eq=False)
class Simulated:
    """When the ranks of a schedule are done under a profile."""

    end: I8
    """Per rank, ns."""
    stuck: int
    """Operations that could not be done: they wait for others that are not."""
    unreceived: int
    """Messages that nobody receives."""

    @property
    def makespan(self) -> int:
        """When the last rank is done, ns."""
        return int(self.end.max())


def simulate(schedule: Schedule, model: Model) -> Simulated:
    """Return when the ranks of a schedule are done under a model as LogGOPSim reads it. Raises TraceError for too many processors."""
    cpus, nics = int(schedule.cpu.max(initial=0)) + 1, int(schedule.nic.max(initial=0)) + 1
    if schedule.ranks * max(cpus, nics) > _MOST:
        raise TraceError(f"{schedule.path}: {schedule.ranks} ranks of {max(cpus, nics)} processors, must be at most {_MOST} in all")
    count, ranks = len(schedule), schedule.ranks
    ops, listed = _operations(schedule, model)
    room = float((ops.busy + ops.gap + ops.flight + ops.takes + ops.taken_gap).sum(dtype="f8"))
    if room >= _LONGEST:
        raise TraceError(f"{schedule.path}: operations take {room:.3g} ns together, must take less than 2^60")
    first = np.searchsorted(schedule.rank, np.arange(ranks + 1)).astype("i4")
    queues = np.full((2, int(ops.queue.max(initial=0)) + 1), -1, kernel.QUEUE).view(np.recarray)
    for queue in queues:
        queue.first = queue.last = -1
    free, sending, taking = np.zeros(ranks * cpus, "i8"), np.zeros(ranks * nics, "i8"), np.zeros(ranks * nics, "i8")
    following, ready = np.full(count, -1, "i4"), np.zeros(count, "i4")
    heap = np.zeros(2 * count + 1, kernel.EVENT).view(np.recarray)
    counts = np.zeros(1, kernel.COUNTS).view(np.recarray)
    kernel.simulate(ops, listed, first, cpus, nics, queues[0], queues[1], following, free, sending, taking, ready, heap, counts)
    return Simulated(free.reshape(ranks, cpus).max(1), count - int(counts[0].done), int(counts[0].unreceived))


def _operations(schedule: Schedule, model: Model) -> tuple[np.recarray, np.ndarray]:
    """Return the operations as the kernel takes them, and the lists of those that need others."""
    count = len(schedule)
    ops = np.zeros(count, kernel.OPERATION).view(np.recarray)
    for name in ("kind", "rank", "peer", "tag", "cpu", "nic"):
        ops[name] = getattr(schedule, name)
    ops.needs = np.bincount(schedule.op, minlength=count)
    order = np.lexsort((schedule.op, schedule.on, schedule.starts))
    listed, done = schedule.op[order].astype("i4"), int((schedule.starts == 0).sum())
    on, rows = schedule.on[order], np.arange(count)
    ops.first_done, ops.end_done = (np.searchsorted(on[:done], rows, side) for side in ("left", "right"))
    ops.first_started, ops.end_started = (done + np.searchsorted(on[done:], rows, side) for side in ("left", "right"))
    ops.queue = _queues(schedule)
    moves = schedule.kind != CALC
    sent = Sent(schedule.size)
    row = model.letters(sent)
    after, g, big_g, big_o = schedule.size - 1, row.g, row.G, row.O_s
    ops.waits = moves & (schedule.size > model.limit(sent))
    ops.busy = np.where(moves, _whole(row.o_s + after * big_o), schedule.size)
    ops.gap = ops.taken_gap = _whole(g + after * big_g)
    ops.flight = _whole(row.o_s + row.L + 0 * after)
    ops.takes = _whole(row.o_r + _longer(after, after * row.O_r, after * big_g))
    for name in ("gap", "taken_gap", "flight", "takes"):
        ops[name] = np.where(schedule.kind == SEND, ops[name], 0)
    return ops, listed


def _longer(after: I8, by_processor: F8, by_network: F8) -> F8:
    """Return the longer of two costs per byte; of no bytes LogGOPSim takes that of -1, as a number without sign: 0 is less than any."""
    least = np.where((by_processor == 0) | (by_network == 0), np.minimum(by_processor, by_network), np.maximum(by_processor, by_network))
    return np.where(after < 0, least, np.maximum(by_processor, by_network))


def _whole(cost: F8) -> I8:
    return np.rint(cost).astype("i8")


def _queues(schedule: Schedule) -> np.ndarray:
    """Return where each message and receive look for each other: one place per receiver, sender and tag, or receiver if it takes any."""
    receives = schedule.kind == RECV
    open_ = np.zeros(schedule.ranks, bool)
    open_[schedule.rank[receives & ((schedule.peer == ANY) | (schedule.tag == ANY))]] = True
    at = np.where(receives, schedule.rank, schedule.peer)
    of = np.where(receives, schedule.peer, schedule.rank)
    all_alike = open_[np.maximum(at, 0)]
    pair = Numbers().number(at.astype("i8"), np.where(all_alike, ANY, of).astype("i8"))
    return Numbers().number(pair.astype("i8"), np.where(all_alike, ANY, schedule.tag).astype("i8"))
