"""Patterns of collectives: waits for the last or the first to come, and completion after the first has left (Scalasca 2.6).

A non-blocking collective waits where it completes, unless that call completes messages too. Collectives of one member are left out;
members that move no bytes do not wait. Scalasca takes the record at the end of a collective where here it is the return of the call, which
comes a little later, and leaves MPI_Alltoallv and MPI_Alltoallw out.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from perwiz.patterns.pattern import NOTHING, Instances, Pattern, View, instances
from perwiz.trace import operations
from perwiz.trace.arrays import Ints, Mask

_NEVER = np.iinfo("i8").min


def named(*names: str) -> Mask:
    """Return which ops are one of these routines or their non-blocking form, bool per op."""
    chosen = {operations.OP[f"MPI_{form}"] for name in names for form in (name, f"I{name.lower()}") if f"MPI_{form}" in operations.OP}
    return np.isin(np.arange(len(operations.OPS)), list(chosen))


BARRIER, FINALIZE = named("Barrier"), named("Finalize")
EXCHANGE = named("Allreduce", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw", "Reduce_scatter", "Reduce_scatter_block")
FROM_ROOT, TO_ROOT = operations.KIND == operations.ONE_TO_N, operations.KIND == operations.N_TO_ONE
PREFIX = operations.KIND == operations.PREFIX
START = named("Init", "Init_thread")


@dataclasses.dataclass(frozen=True, eq=False)
class Parts:
    """The members of some collectives, side by side; all columns but `first` per member, times int64 ns."""

    collective: Ints
    """Row of collectives."""
    row: Ints
    """Row of members."""
    call: Ints
    """Call in which the member waits."""
    entry: Ints
    """When it came: entry of the call that starts the operation."""
    begin: Ints
    """Entry of the call in which it waits."""
    end: Ints
    """Return of that call."""
    first: Ints
    """First member of each collective."""
    size: Ints
    """Members of each collective."""
    entered: Ints
    """Call that starts the operation."""
    counts: Mask
    """The call in which it waits is the operation itself, or waits for nothing but collectives."""

    def spread(self, value: Ints) -> Ints:
        """Return a value per collective as one per member."""
        return np.repeat(value, self.size)

    def latest(self, chosen: Mask) -> tuple[Ints, Ints]:
        """Return, per collective, when the last of the chosen members came and its position; (the least number, -1) if there is none."""
        entry = np.where(chosen, self.entry, _NEVER)
        last = np.maximum.reduceat(entry, self.first)
        at = np.where(chosen & (entry == self.spread(last)), np.arange(len(entry)), -1)
        return last, np.maximum.reduceat(at, self.first)

    def earliest_end(self, chosen: Mask) -> Ints:
        """Return, per collective, when the first of the chosen members left."""
        return np.asarray(np.minimum.reduceat(np.where(chosen, self.end, np.iinfo("i8").max), self.first))

    def wait(self, until: Ints, cause: Ints, chosen: Mask) -> Instances:
        """Return the waits of chosen members until some time (per member); `cause` is the position of the member waited for, per member."""
        lost = np.where(self.counts & chosen & (cause >= 0), np.minimum(until, self.end) - self.begin, 0)
        return instances(self.call, lost, self.call_of(cause), collective=self.collective)

    def completion(self, last: Ints, first_end: Ints, chosen: Mask) -> Instances:
        """Return the time chosen members stay after the first has left and the last has come."""
        lost = np.where(self.counts & chosen, self.end - np.maximum(np.maximum(first_end, np.minimum(last, self.end)), self.begin), 0)
        return instances(self.call, lost, collective=self.collective)

    def call_of(self, position: Ints) -> Ints:
        """Return the call with which a member came, given its position; -1 stays."""
        return np.where(position < 0, -1, self.entered[position]).astype("i4")


def parts(view: View, chosen: Mask) -> Parts:
    """Return the members of all collectives of some routines (bool per op) that have more than one member."""
    trace = view.trace
    wanted = chosen[trace.collectives.op] & (view.size > 1)
    row = np.flatnonzero(np.repeat(wanted, view.size))
    size = view.size[wanted]
    call, done = trace.members.call[row], view.done[row]
    first = np.concatenate(([0], np.cumsum(size)[:-1])).astype("i8") if len(size) else np.empty(0, "i8")
    columns = (trace.members.collective[row], row, done, view.enter[call], view.enter[done], view.leave[done])
    return Parts(*columns, first, size, call, (done == call) | view.waits_for_collective[done])


class _Collective(Pattern):
    """A pattern over the members of the collectives of some routines."""

    routines: ClassVar[Mask]

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return the instances, by member."""
        found = parts(view, self.routines)
        return self.found(view, found) if len(found.row) else NOTHING

    def found(self, view: View, members: Parts) -> Instances:
        """Return the instances among the members of these collectives."""
        raise NotImplementedError


class WaitForLast(_Collective):
    """Time in an operation until the last process comes."""

    def found(self, view: View, members: Parts) -> Instances:
        """Return one instance per member that waits."""
        last, at = members.latest(np.ones(len(members.row), bool))
        return members.wait(members.spread(last), members.spread(at), self.held(members, last))

    def held(self, members: Parts, last: Ints) -> Mask:
        """Return which members wait: all."""
        return np.ones(len(members.row), bool)


class BarrierWait(WaitForLast):
    """Time in a barrier until the last process comes."""

    name, title, of, routines = "mpi_barrier_wait", "Wait at Barrier", "mpi_sync_collective", BARRIER
    meaning = "waiting for the last to enter a barrier"


class FinalizeWait(WaitForLast):
    """Time in MPI_Finalize until the last process comes."""

    name, title, of, routines = "mpi_finalize_wait", "Wait at Finalize", "mpi_init_exit", FINALIZE
    meaning = "waiting for the last to enter MPI_Finalize"


class BarrierCompletion(_Collective):
    """Time in a barrier after the first process has left it."""

    name, title, of, routines = "mpi_barrier_completion", "Barrier Completion", "mpi_sync_collective", BARRIER
    meaning, waits = "time in a barrier after the first has left", False

    def found(self, view: View, members: Parts) -> Instances:
        """Return one instance per member that leaves later."""
        everyone = np.ones(len(members.row), bool)
        last, _ = members.latest(everyone)
        return members.completion(members.spread(last), members.spread(members.earliest_end(everyone)), everyone)


class InitCompletion(Pattern):
    """Time in MPI_Init after the first process has left it; that processes start at different times is no wait of theirs."""

    name, title, of = "mpi_init_completion", "Initialization Completion", "mpi_init_exit"
    meaning, waits = "time in MPI_Init after the first has left", False

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return one instance per process that leaves later."""
        call = np.flatnonzero(START[view.op])
        if len(call) < 2:
            return NOTHING
        begin, end = view.enter[call], view.leave[call]
        return instances(call, end - np.maximum(end.min(), np.minimum(begin.max(), end)))


class ExchangeWait(_Collective):
    """Time in an N x N operation until the last process that sends comes."""

    name, title, of, routines = "mpi_wait_nxn", "Wait at N x N", "mpi_collective", EXCHANGE
    meaning = "waiting for the last to enter an all-to-all operation"

    def found(self, view: View, members: Parts) -> Instances:
        """Return one instance per member that waits."""
        last, at, affected = synchronising(view, members)
        return members.wait(members.spread(last), members.spread(at), affected)


class ExchangeCompletion(_Collective):
    """Time in an N x N operation after the first process has left it."""

    name, title, of, routines = "mpi_nxn_completion", "N x N Completion", "mpi_collective", EXCHANGE
    meaning, waits = "time in an all-to-all operation after the first has left", False

    def found(self, view: View, members: Parts) -> Instances:
        """Return one instance per member that leaves later."""
        last, _, affected = synchronising(view, members)
        return members.completion(members.spread(last), members.spread(members.earliest_end(affected)), affected)


def synchronising(view: View, members: Parts) -> tuple[Ints, Ints, Mask]:
    """Return (when the last came, its position) per collective, and which members it holds up, of N x N operations.

    If no member left before the last came, all synchronise. Else only those that receive wait, for the last that sends.
    """
    everyone = np.ones(len(members.row), bool)
    sends, receives = (paid[members.row] for paid in view.paid)
    last, at = members.latest(everyone)
    overlap = members.earliest_end(everyone) > last
    last_sender, at_sender = members.latest(sends)
    last, at = np.where(overlap, last, last_sender), np.where(overlap, at, at_sender)
    position = np.arange(len(members.row))
    held = (receives & (members.entry < members.spread(last))) | (position == members.spread(at))
    return last, at, np.asarray(members.spread(overlap) | held)


class LateBroadcast(_Collective):
    """Time in an operation from a root until the root comes."""

    name, title, of, routines = "mpi_latebroadcast", "Late Broadcast", "mpi_collective", FROM_ROOT
    meaning = "waiting for the root of a broadcast or scatter"

    def found(self, view: View, members: Parts) -> Instances:
        """Return one instance per member that waits for its root, if bytes move."""
        sends, receives = (paid[members.row] for paid in view.paid)
        root = _is_root(view, members)
        came, at = members.latest(root & sends)
        until = members.spread(came)
        return members.wait(until, members.spread(at), ~root & receives & (members.entry < until))


class EarlyReduce(_Collective):
    """Time of the root of a reduction until the last process that sends comes (until 2.5 Scalasca took the first)."""

    name, title, of, routines = "mpi_earlyreduce", "Early Reduce", "mpi_collective", TO_ROOT
    meaning = "roots of reductions or gathers waiting for the last to send"

    def found(self, view: View, members: Parts) -> Instances:
        """Return one instance per root that waits."""
        sends, root = view.paid[0][members.row], _is_root(view, members)
        came, at = members.latest(sends & ~root)
        return members.wait(members.spread(came), members.spread(at), root)


class EarlyScan(_Collective):
    """Time in a prefix operation until the last of the lower ranks comes."""

    name, title, of, routines = "mpi_earlyscan", "Early Scan", "mpi_collective", PREFIX
    meaning = "waiting for lower ranks in prefix reductions"

    def found(self, view: View, members: Parts) -> Instances:
        """Return one instance per member that waits for a rank below it."""
        sends = view.paid[0][members.row]
        until, at = np.full(len(members.row), _NEVER), np.full(len(members.row), -1)
        for size in np.unique(members.size):
            rows = (members.first[members.size == size][:, None] + np.arange(size)).astype("i8")
            before = np.where(sends[rows], members.entry[rows], _NEVER)
            until[rows[:, 1:]] = np.maximum.accumulate(before, axis=1)[:, :-1]
            latest = np.where(before[:, :-1] == until[rows[:, 1:]], rows[:, :-1], -1)
            at[rows[:, 1:]] = np.maximum.accumulate(latest, axis=1)
        return members.wait(until, np.where(until == _NEVER, -1, at), np.ones(len(until), bool))


def _is_root(view: View, members: Parts) -> Mask:
    rank = view.trace.locations.process[view.location[members.call]]
    return np.asarray(rank == view.trace.collectives.root[members.collective])
