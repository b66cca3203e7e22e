"""How others read the letters of LogGPS: what each charges for a message, and when; see perwiz.kernels.semantics_*. k bytes:

perwiz       the sender works o + k O, the message is there L + (k - 1) G later, the receiver works o + k O behind it; the next send of a
             process not before g + (k - 1) G; above S a request and an acknowledgement travel first.
loggopsim    (spcl/LogGOPSim 76451de, LogGOPSim.cpp) the message is there o + L behind the start of its send, and keeps the receiver's
             processor, whether or not it waits, for o + max((k - 1) O, (k - 1) G); both interfaces are busy for g + (k - 1) G. Above S
             the sender goes on when the message is matched: nothing is sent before, and its acknowledgement takes no time.
atlahs       (spcl/atlahs 8837294, sim/LogGOPSim/LogGOPSim.cpp; without htsim) the message is there o + (k - 1) O + L + (k - 1) G behind
             the start of its send, and waits there until its receive is posted; then the receiver works g + o + (k - 1) O. The sender's
             interface is busy for g + (k - 1) G, the receiver's for g. Above S the sender goes on when the receiver is done. No bytes
             are one; receives of any source or tag never match.
llamp        (spcl/llamp 0bdce2e, mpi-dep-graph/lp_converter.py, options --solve -S -o -G alone) the longest path, nothing is shared: the
             message is there o + L + k G behind the start of its send, the receiver works o behind it and behind what it needs. Above S
             the sender goes on when the receiver is done. g and O are not read. What needs the start of an operation needs what that
             operation needs first, and 5 us more if it needs nothing else. The run ends with a computation that nothing needs.
dimemas      (bsc-performance-tools/dimemas 4ab5099, Simulator/model/communic.c) sending and receiving keep the processor for L each, at
             both ends, whatever the size. Then the message moves for k G on a link out of its sender's node and one into its receiver's,
             of which each node has as many as the model has interfaces, and then on a bus, if their number is given, first come, first
             served; within a node on none. From S on, not above it, it moves when both ends are ready, and then lets its sender go. o, O
             and g are not read. Collectives are its own, see _meet; calls take no other time. L and G are those within and between nodes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.goal.schedule import CALC, RECV, SEND, Schedule
from perwiz.kernels.names import METAHOST, NODE
from perwiz.kernels.semantics_atlahs import Atlahs
from perwiz.kernels.semantics_dimemas import Dimemas
from perwiz.kernels.semantics_events import COLLECTIVE, OPERATION, Events
from perwiz.kernels.semantics_llamp import longest
from perwiz.kernels.semantics_loggopsim import LogGOPSim
from perwiz.loggps import DIMEMAS
from perwiz.loggps.keys import NO_LIMIT
from perwiz.loggps.model import Model, Sent
from perwiz.loggps.schedules import Meetings
from perwiz.trace.arrays import F8, I4, I8
from perwiz.trace.numbers import Numbers
from perwiz.trace.tables import ANY, NONE

_APART = 5000
"""What LLAMP adds to a computation beside a message, ns."""
_MOST = 1 << 27
_LONGEST = 2.0**60
_Costs = Callable[[np.recarray, Schedule, Any], None]


@dataclasses.dataclass(frozen=True, eq=False)
class Simulated:
    """When the ranks of a schedule are done under a profile."""

    end: I8
    """Per rank, ns."""
    stuck: int
    """Operations that could not be done: they wait for others that are not."""
    unreceived: int
    """Messages that nobody receives."""
    unended: int = 0
    """Ranks whose end the profile does not see, so that they end at 0: of LLAMP those that no computation ends."""

    @property
    def makespan(self) -> int:
        """When the last rank is done, ns."""
        return int(self.end.max())


def simulate(
    schedule: Schedule, model: Model, profile: str, meetings: Meetings | None = None, node: I4 | None = None, buses: int = 0
) -> Simulated:
    """Return when the ranks of a schedule are done under a model as one of PROFILES reads it.

    `meetings` are the collectives that it has as such, `node` those of the ranks, from 0, and `buses` how many messages between nodes move
    at one time, 0 any number; all are read by Dimemas alone. Raises TraceError for too many processors, and for buses and collectives.
    """
    cpus, nics = int(schedule.cpu.max(initial=0)) + 1, int(schedule.nic.max(initial=0)) + 1
    if schedule.ranks * max(cpus, nics) > _MOST:
        raise TraceError(f"{schedule.path}: {schedule.ranks} ranks of {max(cpus, nics)} processors, must be at most {_MOST} in all")
    if profile == "atlahs":
        schedule = dataclasses.replace(schedule, size=np.where(schedule.kind == CALC, schedule.size, np.maximum(schedule.size, 1)))
    node = np.arange(schedule.ranks, dtype="i4") if node is None else node
    ops, listed = _operations(schedule, model, _COSTS[profile], node if profile in DIMEMAS else None)
    if buses and (schedule.kind == COLLECTIVE).any():
        raise TraceError(f"{schedule.path}: how collectives take the buses of Dimemas is not known, must be asked without buses")
    if profile in DIMEMAS:
        parts = _meet(ops, schedule, model, meetings or Meetings.none(), DIMEMAS[profile], node)
        by_calls = Dimemas(ops, listed, schedule.ranks, cpus, 1, 2)
        by_calls.prepare(0 if model.interfaces >= NO_LIMIT else model.interfaces, buses, node, parts)
        by_calls.run()
        return Simulated(np.asarray(by_calls.end), len(schedule) - by_calls.done, by_calls.unreceived)
    run = (Atlahs if profile == "atlahs" else LogGOPSim)(ops, listed, schedule.ranks, cpus, nics, 2)
    run.run()
    out = Simulated(np.asarray(run.free).reshape(-1, cpus).max(1), len(schedule) - run.done, run.unreceived)
    return _longest(schedule, model, out, np.asarray(run.following)) if profile == "llamp" else out


def _meet(ops: np.recarray, schedule: Schedule, model: Model, meetings: Meetings, kind: str, node: I4) -> I4:
    """Write what Dimemas charges for collectives; return how many operations each has.

    Behind the last member, the fan in of what is sent and the fan out of what is received, between their n nodes, if the run has several,
    and within the one with most of them, n, if it has one of several ranks: (L + bytes G) f each, where f is 1, n - 1 or log2 n, rounded
    up. Those that are nonblocking keep their processor for L before they wait, the larger one if they have both; so do members of
    MPI_Reduce, which send their bytes to the root, and are counted once more among the members of a node in the next collective of their
    communicator: Dimemas forgets them only at the end of that.
    """
    mine = np.flatnonzero(schedule.kind == COLLECTIVE)
    of, size, count = schedule.tag[mine], schedule.size[mine], len(meetings.processes)
    ops.queue[mine] = of
    place, members = np.unique(np.stack([of, node[schedule.rank[mine]]]), axis=1, return_counts=True)
    nodes, most = np.bincount(place[0], minlength=count), np.zeros(count, "i8")
    np.maximum.at(most, place[0], members)
    most *= 1 + meetings.behind
    nodes += meetings.processes - np.bincount(of, minlength=count)  # those whose calls are not there
    to_root, longest, takes = schedule.peer[mine] != NONE, np.zeros(len(mine)), np.zeros(len(mine))
    shared = len(np.unique(node)) < len(node)
    for pairs, ends, there, pays in (
        (METAHOST, nodes[of], node.max() > 0, nodes[of] > 1),
        (NODE, most[of], shared, nodes[of] < meetings.processes[of]),
    ):
        letters = model.letters(Sent(size, pairs=pairs))
        times = {"constant": 1.0, "linear": ends - 1.0, "logarithmic": np.ceil(np.log2(ends))}[kind]
        takes += np.where(there, (2 * letters.L + size * letters.G) * times, 0)
        longest = np.maximum(longest, np.where(pays, letters.L, 0))
    ops.busy[mine] = np.where(to_root | meetings.posts[of], _whole(longest), 0)
    ops.flight[mine] = np.where(to_root, _whole(size * model.letters(_sent(schedule, node)[mine]).G), _whole(takes))
    return np.bincount(of, minlength=count).astype("i4")


def _sent(schedule: Schedule, node: I4 | None) -> Sent:
    """Return the messages of operations, within or between the nodes of ranks, or of no class if these do not count."""
    if node is None:
        return Sent(schedule.size)
    return Sent(schedule.size, pairs=np.where((schedule.peer >= 0) & (node[schedule.rank] == node[schedule.peer]), NODE, METAHOST))


def _longest(schedule: Schedule, model: Model, matched: Simulated, following: np.ndarray) -> Simulated:
    """Return what LLAMP says of messages that are matched as LogGOPSim matches them: these and their receives name each other."""
    met = (following != NONE) & (schedule.kind[following] != schedule.kind)
    ops, listed = _operations(_behind_starts(schedule), model, _of_llamp)
    alone = (np.bincount(schedule.op, minlength=len(schedule)) == 1) & (schedule.kind == CALC)
    ops.busy[schedule.op[(schedule.starts == 1) & alone[schedule.op]]] += _APART
    ops.needs += schedule.kind == RECV
    run, end = Events(ops, listed, schedule.ranks, 1, 1, 0), np.zeros(schedule.ranks, "i8")
    longest(run, np.where(met, following, NONE).astype("i4"), end)
    last = (schedule.kind == CALC) & (ops.first_done == ops.end_done)
    unended = schedule.ranks - len(np.unique(schedule.rank[last]))
    return Simulated(end, len(schedule) - run.done, matched.unreceived, unended)


def _behind_starts(schedule: Schedule) -> Schedule:
    """Return a schedule in which what needs the start of an operation needs the first that the operation needs, if any."""
    needing, first = np.unique(schedule.op, return_index=True)
    instead = np.full(len(schedule), NONE, "i4")
    instead[needing] = schedule.on[first]
    on = np.where(schedule.starts == 1, instead[schedule.on], schedule.on)
    some = on != NONE
    return dataclasses.replace(schedule, op=schedule.op[some], on=on[some], starts=np.zeros(int(some.sum()), "u1"))


def _operations(schedule: Schedule, model: Model, costs: _Costs, node: I4 | None = None) -> tuple[np.recarray, np.ndarray]:
    """Return the operations as the kernel takes them, and the lists of those that need others; `node` is that of ranks, if it counts."""
    count = len(schedule)
    ops = np.zeros(count, OPERATION).view(np.recarray)
    for name in ("kind", "rank", "peer", "tag", "cpu", "nic"):
        ops[name] = getattr(schedule, name)
    ops.needs = np.bincount(schedule.op, minlength=count)
    order = np.lexsort((schedule.op, schedule.on, schedule.starts))
    listed, done = schedule.op[order].astype("i4"), int((schedule.starts == 0).sum())
    on, rows = schedule.on[order], np.arange(count)
    ops.first_done, ops.end_done = (np.searchsorted(on[:done], rows, side) for side in ("left", "right"))
    ops.first_started, ops.end_started = (done + np.searchsorted(on[done:], rows, side) for side in ("left", "right"))
    ops.queue = _queues(schedule, named=costs == _of_atlahs)
    sent = _sent(schedule, node)
    ops.waits = (schedule.kind != CALC) & (schedule.size + (costs == _of_dimemas) > model.limit(sent))
    costs(ops, schedule, model.letters(sent))
    ops.busy = np.where(schedule.kind == CALC, schedule.size, ops.busy)
    room = float((ops.busy + ops.gap + ops.flight + ops.takes + ops.taken_gap).sum(dtype="f8"))
    if room >= _LONGEST:
        raise TraceError(f"{schedule.path}: operations take {room:.3g} ns together, must take less than 2^60")
    return ops, listed


def _of_loggopsim(ops: np.recarray, schedule: Schedule, row: Any) -> None:
    after, sends = schedule.size - 1, schedule.kind == SEND
    ops.busy = _whole(row.o_s + after * row.O_s)
    ops.gap = ops.taken_gap = np.where(sends, _whole(row.g + after * row.G), 0)
    ops.flight = np.where(sends, _whole(row.o_s + row.L + 0 * after), 0)
    ops.takes = np.where(sends, _whole(row.o_r + _longer(after, after * row.O_r, after * row.G)), 0)


def _of_atlahs(ops: np.recarray, schedule: Schedule, row: Any) -> None:
    after, moves = schedule.size - 1, schedule.kind != CALC
    on_way = np.floor(after * row.G).astype("i8")
    ops.busy = _whole(row.o_s + after * row.O_s)
    ops.gap = np.where(moves, _whole(row.g + 0.0 * after) + on_way, 0)
    ops.taken_gap = np.where(moves, _whole(row.g + 0.0 * after), 0)
    ops.flight = np.where(moves, ops.busy + _whole(row.L + 0.0 * after) + on_way, 0)
    ops.takes = np.where(moves, _whole(row.o_r + after * row.O_r), 0)


def _of_llamp(ops: np.recarray, schedule: Schedule, row: Any) -> None:
    sends = schedule.kind == SEND
    ops.busy = _whole(np.where(sends, row.o_s, row.o_r))
    ops.flight = np.where(sends, _whole(row.o_s + row.L + schedule.size * row.G), 0)


def _of_dimemas(ops: np.recarray, schedule: Schedule, row: Any) -> None:
    ops.busy = _whole(row.L + 0.0 * schedule.size)
    ops.flight = np.where(schedule.kind == SEND, _whole(schedule.size * row.G), 0)


_COSTS = {"loggopsim": _of_loggopsim, "llamp": _of_loggopsim, "atlahs": _of_atlahs, **dict.fromkeys(DIMEMAS, _of_dimemas)}
"""LLAMP's messages are matched as LogGOPSim matches them."""


def _longer(after: I8, by_processor: F8, by_network: F8) -> F8:
    """Return the longer of two costs per byte; of no bytes LogGOPSim takes that of -1, as a number without sign: 0 is less than any."""
    least = np.where((by_processor == 0) | (by_network == 0), np.minimum(by_processor, by_network), np.maximum(by_processor, by_network))
    return np.where(after < 0, least, np.maximum(by_processor, by_network))


def _whole(cost: F8) -> I8:
    return np.rint(cost).astype("i8")


def _queues(schedule: Schedule, named: bool) -> np.ndarray:
    """Return where each message and receive look for each other: one place per receiver, sender and tag, or receiver if it takes any.

    `named`: one that takes any looks where no message is.
    """
    receives = schedule.kind == RECV
    open_ = np.zeros(schedule.ranks, bool)
    if not named:
        open_[schedule.rank[receives & ((schedule.peer == ANY) | (schedule.tag == ANY))]] = True
    at = np.where(receives, schedule.rank, schedule.peer)
    of = np.where(receives, schedule.peer, schedule.rank)
    all_alike = open_[np.maximum(at, 0)]
    pair = Numbers().number(at.astype("i8"), np.where(all_alike, ANY, of).astype("i8"))
    return Numbers().number(pair.astype("i8"), np.where(all_alike, ANY, schedule.tag).astype("i8"))
