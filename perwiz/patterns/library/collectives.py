"""Patterns of collectives: waits for the last or the first to come, and completion after the first has left (Scalasca 2.6).

A non-blocking collective waits where it completes, unless that call completes messages too. Collectives of one member are left out;
members that move no bytes do not wait. Scalasca takes the record at the end of a collective where here it is the return of the call, which
comes a little later, and leaves MPI_Alltoallv and MPI_Alltoallw out.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from perwiz.patterns.pattern import NOTHING, Instances, Pattern, View, instances
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Mask

_NEVER, _EVER = np.iinfo("i8").min, np.iinfo("i8").max
Number = TypeVar("Number", np.int64, np.bool_)


def named(*names: str) -> Mask:
    """Return which ops are one of these routines or their non-blocking form, bool per op."""
    chosen = {operations.OP[f"MPI_{form}"] for name in names for form in (name, f"I{name.lower()}") if f"MPI_{form}" in operations.OP}
    return np.isin(np.arange(len(operations.OPS)), list(chosen))


_DIST_BARRIER = np.isin(operations.OPS, "dist_barrier")
BARRIER = named("Barrier") | _DIST_BARRIER
EXCHANGE = named("Allreduce", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw", "Reduce_scatter", "Reduce_scatter_block")
EXCHANGE |= (operations.KIND == operations.N_TO_N) & operations.DIST & ~_DIST_BARRIER
FROM_ROOT = (operations.KIND == operations.ONE_TO_N) & (operations.MPI | operations.DIST)
TO_ROOT = operations.KIND == operations.N_TO_ONE
PREFIX = operations.KIND == operations.PREFIX
START, FINALIZE = (np.isin(np.arange(len(operations.OPS)), ops) for ops in (operations.INITS, operations.FINALIZES))
TEAMS = operations.COLLECTIVE & ~operations.OF_PROCESSES
"""Barriers of the threads of a process."""
OF_PES = (operations.KIND == operations.N_TO_N) & operations.SHMEM
"""Collectives of OpenSHMEM in which all wait for all."""


@dataclasses.dataclass(frozen=True, eq=False)
class CollectiveMembers:
    """The members of some collectives, side by side; all columns but `first` per member, times int64 ns."""

    collective: I4
    """Row of collectives."""
    row: I8
    """Row of members."""
    call: I4
    """Call in which the member waits."""
    entry: I8
    """When it came: entry of the call that starts the operation."""
    begin: I8
    """Entry of the call in which it waits."""
    end: I8
    """Return of that call."""
    first: I8
    """First member of each collective."""
    size: I8
    """Members of each collective."""
    entered: I4
    """Call that starts the operation."""
    counts: Mask
    """The call in which it waits is the operation itself, or waits for nothing but collectives."""

    @property
    def everyone(self) -> Mask:
        """All members."""
        return np.ones(len(self.row), bool)

    def spread(self, value: NDArray[Number]) -> NDArray[Number]:
        """Return a value per collective as one per member."""
        return np.repeat(value, self.size)

    def latest(self, chosen: Mask) -> tuple[I8, I8]:
        """Return, per collective, when the last of the chosen members came and its position; (the least number, -1) if there is none.

        collective   0  0  0  1  1
        entry       10 40 20  5  6
        chosen       1  0  1  0  1
        latest      20 at 2, 6 at 4
        """
        entry = np.where(chosen, self.entry, _NEVER)
        last = np.maximum.reduceat(entry, self.first)
        position = np.where(chosen & (entry == self.spread(last)), np.arange(len(entry)), -1)
        return last, np.maximum.reduceat(position, self.first)

    def earliest_end(self, chosen: Mask) -> I8:
        """Return, per collective, when the first of the chosen members left."""
        return np.asarray(np.minimum.reduceat(np.where(chosen, self.end, _EVER), self.first))

    def wait(self, until: I8, cause: I8, chosen: Mask) -> Instances:
        """Return the waits of chosen members until some time (per member); `cause` is the position of the member waited for, per member."""
        lost = np.where(self.counts & chosen & (cause >= 0), np.minimum(until, self.end) - self.begin, 0)
        return instances(self.call, lost, self.call_of(cause), collective=self.collective)

    def completion(self, last: I8, first_end: I8, chosen: Mask) -> Instances:
        """Return the time chosen members stay after the first has left and the last has come."""
        lost = np.where(self.counts & chosen, self.end - np.maximum(np.maximum(first_end, np.minimum(last, self.end)), self.begin), 0)
        return instances(self.call, lost, collective=self.collective)

    def call_of(self, position: I8) -> I4:
        """Return the call with which a member came, given its position; -1 stays."""
        return np.where(position < 0, -1, self.entered[position]).astype("i4")


def members_of(view: View, chosen: Mask) -> CollectiveMembers:
    """Return the members of all collectives of some routines (bool per op) that have more than one member."""
    trace = view.trace
    wanted = chosen[trace.collectives.op] & (view.size > 1)
    row = np.flatnonzero(np.repeat(wanted, view.size))
    size = view.size[wanted]
    call, done = trace.members.call[row], view.done[row]
    return CollectiveMembers(
        collective=trace.members.collective[row],
        row=row,
        call=done,
        entry=view.enter[call],
        begin=view.enter[done],
        end=view.leave[done],
        first=np.cumsum(size) - size,
        size=size,
        entered=call,
        counts=(done == call) | view.waits_for_collective[done],
    )


class OfCollectives(Pattern):
    """A pattern over the members of the collectives of some routines."""

    routines: ClassVar[Mask]

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return the instances, by member."""
        return view.homes.told(self.at_home(view))

    def at_home(self, view: View) -> Instances:
        """Return the instances among the collectives that are at home here."""
        members = members_of(view.homes.view, self.routines)
        return self.among(view.homes.view, members) if len(members.row) else NOTHING

    def among(self, view: View, members: CollectiveMembers) -> Instances:
        """Return the instances among the members of these collectives."""
        raise NotImplementedError


class WaitForLast(OfCollectives):
    """Time in an operation until the last process comes."""

    def among(self, view: View, members: CollectiveMembers) -> Instances:
        """Return one instance per member that waits."""
        last, position = members.latest(members.everyone)
        return members.wait(members.spread(last), members.spread(position), self.waiting(members, last))

    def waiting(self, members: CollectiveMembers, last: I8) -> Mask:
        """Return which members wait: all."""
        return members.everyone


class BarrierWait(WaitForLast):
    """Time in a barrier until the last process comes."""

    name, title, of, routines = "mpi_barrier_wait", "Wait at Barrier", "mpi_sync_collective", BARRIER
    meaning = "waiting for the last to enter a barrier"


class FinalizeWait(WaitForLast):
    """Time in MPI_Finalize until the last process comes."""

    name, title, of, routines = "mpi_finalize_wait", "Wait at Finalize", "mpi_init_exit", FINALIZE & operations.MPI
    meaning = "waiting for the last to enter MPI_Finalize"


class BarrierCompletion(OfCollectives):
    """Time in a barrier after the first process has left it."""

    name, title, of, routines = "mpi_barrier_completion", "Barrier Completion", "mpi_sync_collective", BARRIER
    meaning, waits = "time in a barrier after the first has left", False

    def among(self, view: View, members: CollectiveMembers) -> Instances:
        """Return one instance per member that leaves later."""
        last, _ = members.latest(members.everyone)
        return members.completion(members.spread(last), members.spread(members.earliest_end(members.everyone)), members.everyone)


class InitCompletion(Pattern):
    """Time in MPI_Init after the first process has left it; that processes start at different times is no wait of theirs."""

    name, title, of = "mpi_init_completion", "Initialization Completion", "mpi_init_exit"
    meaning, waits = "time in MPI_Init after the first has left", False

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return one instance per process that leaves later."""
        share, init = view.trace.share, np.zeros(len(view.op), bool)
        init[share.calls] = (START & operations.MPI)[view.op[share.calls]]
        call = np.flatnonzero(init)
        if share.total(len(call)) < 2:
            return NOTHING
        begin, end = view.enter[call], view.leave[call]
        first, last = share.least(int(end.min(initial=_EVER))), share.most(int(begin.max(initial=_NEVER)))
        return instances(call, end - np.maximum(first, np.minimum(last, end)))


class ExchangeWait(OfCollectives):
    """Time in an N x N operation until the last process that sends comes."""

    name, title, of, routines = "mpi_wait_nxn", "Wait at N x N", "mpi_collective", EXCHANGE
    meaning = "waiting for the last to enter an all-to-all operation"

    def among(self, view: View, members: CollectiveMembers) -> Instances:
        """Return one instance per member that waits."""
        last, position, affected = synchronising(view, members)
        return members.wait(members.spread(last), members.spread(position), affected)


class ExchangeCompletion(OfCollectives):
    """Time in an N x N operation after the first process has left it."""

    name, title, of, routines = "mpi_nxn_completion", "N x N Completion", "mpi_collective", EXCHANGE
    meaning, waits = "time in an all-to-all operation after the first has left", False

    def among(self, view: View, members: CollectiveMembers) -> Instances:
        """Return one instance per member that leaves later."""
        last, _, affected = synchronising(view, members)
        return members.completion(members.spread(last), members.spread(members.earliest_end(affected)), affected)


def synchronising(view: View, members: CollectiveMembers) -> tuple[I8, I8, Mask]:
    """Return (when the last came, its position) per collective, and which members it holds up, of N x N operations.

    If no member left before the last came, all synchronise. Else only those that receive wait, for the last that sends.
    """
    last, position = members.latest(members.everyone)
    last_sent, sender = members.latest(view.sends[members.row])
    overlap = members.earliest_end(members.everyone) > last
    last, position = np.where(overlap, last, last_sent), np.where(overlap, position, sender)
    receives_before = view.receives[members.row] & (members.entry < members.spread(last))
    is_last = np.arange(len(members.row)) == members.spread(position)
    return last, position, members.spread(overlap) | receives_before | is_last


class LateBroadcast(OfCollectives):
    """Time in an operation from a root until the root comes."""

    name, title, of, routines = "mpi_latebroadcast", "Late Broadcast", "mpi_collective", FROM_ROOT
    meaning = "waiting for the root of a broadcast or scatter"

    def among(self, view: View, members: CollectiveMembers) -> Instances:
        """Return one instance per member that waits for its root, if bytes move."""
        root = _is_root(view, members)
        root_came, position = members.latest(root & view.sends[members.row])
        until = members.spread(root_came)
        return members.wait(until, members.spread(position), ~root & view.receives[members.row] & (members.entry < until))


class EarlyReduce(OfCollectives):
    """Time of the root of a reduction until the last process that sends comes (until 2.5 Scalasca took the first)."""

    name, title, of, routines = "mpi_earlyreduce", "Early Reduce", "mpi_collective", TO_ROOT
    meaning = "roots of reductions or gathers waiting for the last to send"

    def among(self, view: View, members: CollectiveMembers) -> Instances:
        """Return one instance per root that waits."""
        root = _is_root(view, members)
        last, position = members.latest(view.sends[members.row] & ~root)
        return members.wait(members.spread(last), members.spread(position), root)


class EarlyScan(OfCollectives):
    """Time in a prefix operation until the last of the lower ranks comes."""

    name, title, of, routines = "mpi_earlyscan", "Early Scan", "mpi_collective", PREFIX
    meaning = "waiting for lower ranks in prefix reductions"

    def among(self, view: View, members: CollectiveMembers) -> Instances:
        """Return one instance per member that waits for a rank below it.

        entry of ranks 0 1 2 3, all send   10 40 20 50
        until                               . 10 40 40
        for the member at                  -1  0  1  1
        """
        sends = view.sends[members.row]
        until, lower = np.full(len(members.row), _NEVER), np.full(len(members.row), -1)
        for size in np.unique(members.size):
            rows = (members.first[members.size == size][:, None] + np.arange(size)).astype("i8")
            before = np.where(sends[rows], members.entry[rows], _NEVER)
            until[rows[:, 1:]] = np.maximum.accumulate(before, axis=1)[:, :-1]
            latest = np.where(before[:, :-1] == until[rows[:, 1:]], rows[:, :-1], -1)
            lower[rows[:, 1:]] = np.maximum.accumulate(latest, axis=1)
        return members.wait(until, np.where(until == _NEVER, -1, lower), members.everyone)


def _is_root(view: View, members: CollectiveMembers) -> Mask:
    rank = view.trace.locations.process[view.location[members.call]]
    return np.asarray(rank == view.trace.collectives.root[members.collective])
