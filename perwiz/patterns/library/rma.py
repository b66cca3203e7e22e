"""Patterns of one-sided communication: waits at windows' making, freeing and fences, for posts, completions, locks and progress.

Definitions are those of Scalasca 2.6. Who waits for whom in general active and passive target is what the links of a trace tell: readers
make them of windows, groups and kinds of locks, where a trace has these. A call that waits for several waits for the last of them.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from perwiz.patterns.library.collectives import CollectiveMembers, WaitForLast, named
from perwiz.patterns.pattern import NOTHING, Instances, Pattern, View, instances
from perwiz.trace import operations, tables
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.numbers import Numbers
from perwiz.trace.tables import NONE

FENCE, FREE = named("Win_fence"), named("Win_free")
MAKE = named("Win_create", "Win_allocate", "Win_allocate_shared", "Win_create_dynamic")
_OF_WINDOWS = (tables.POST, tables.COMPLETE, tables.LOCK, tables.PROGRESS)


class _AtWindow(WaitForLast):
    """A wait for the last member, where nobody left before it came: whether a fence synchronises depends on assertions not recorded."""

    def waiting(self, members: CollectiveMembers, last: I8) -> Mask:
        """Return which members wait: those of operations in which all overlap."""
        return members.spread(members.earliest_end(members.everyone) > last)


class WaitAtCreate(_AtWindow):
    """Time making a window until the last process comes."""

    name, title, of, routines = "mpi_rma_wait_at_create", "Wait at Window Create", "mpi_mgmt_win", MAKE
    meaning = "waiting for the last to make a window"


class WaitAtFree(_AtWindow):
    """Time freeing a window until the last process comes."""

    name, title, of, routines = "mpi_rma_wait_at_free", "Wait at Window Free", "mpi_mgmt_win", FREE
    meaning = "waiting for the last to free a window"


class WaitAtFence(_AtWindow):
    """Time in a fence until the last process comes."""

    name, title, of, routines = "mpi_rma_wait_at_fence", "Wait at Fence", "mpi_rma_sync_active", FENCE
    meaning = "waiting for the last to enter a fence"


class EarlyFence(Pattern):
    """The part of a wait at a fence in which others still accessed the memory of the waiting process."""

    name, title, of = "mpi_rma_early_fence", "Early Fence", "mpi_rma_wait_at_fence"
    meaning = "waiting at a fence until the last access to one's memory has returned; the cause is that access"

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return one instance per process that entered before the last access on it returned.

        accesses   of the epoch that fence 7 ends: on rank 0 returning at 50 and 90, on rank 1 at 60
        waits      at fence 7: rank 0 since 70, rank 1 since 80
        instances  rank 0, 20 ns, for the access that returned at 90
        """
        fence, access = _accesses(view)
        if not len(parent) or not len(access):
            return NOTHING
        ranks = int(view.trace.locations.process.max()) + 1
        key = fence.astype("i8") * ranks + view.trace.calls.peer[access]
        order = np.lexsort((view.leave[access], key))
        key, access = key[order], access[order]
        wanted = parent.collective.astype("i8") * ranks + view.trace.locations.process[view.location[parent.call]]
        last = np.searchsorted(key, wanted, side="right") - 1
        accessed = (last >= 0) & (key[np.maximum(last, 0)] == wanted)
        cause = access[np.maximum(last, 0)]
        lost = np.where(accessed, view.leave[cause] - view.enter[parent.call], 0)
        return dataclasses.replace(parent, cause=cause.astype("i4")).severe(lost)


def _accesses(view: View) -> tuple[I4, I4]:
    """Return (the fence, a row of collectives, that ends its epoch; the call) of each access whose epoch a fence ends."""
    calls, members = view.trace.calls, view.trace.members
    fences = np.flatnonzero(FENCE[view.trace.collectives.op[members.collective]])
    call, access = members.call[fences], np.flatnonzero(operations.ACCESSES[view.op] & (calls.peer >= 0)).astype("i4")
    ended_by, of_access = _windows(view, (call, np.zeros(len(call), "i4")), (access, np.zeros(len(access), "i4")))
    order = np.lexsort((call, ended_by))
    size = np.int64(len(view.op))
    place = np.searchsorted((ended_by * size + call)[order], of_access * size + access)
    following = np.append(order, NONE)[place]
    ends = (following != NONE) & (np.append(ended_by, NONE)[following] == of_access)
    return members.collective[fences][following[ends]], access[ends]


def _windows(view: View, *sides: tuple[I4, I4]) -> list[I8]:
    """Return the number of location, window and target of some calls with the targets that they are asked for, per side."""
    calls, at, window, whole = view.trace.calls, Numbers(), Numbers(), Numbers()
    return [
        whole.number(at.number(view.location[call], target), window.number(calls.comm[call], calls.tag[call])).astype("i8")
        for call, target in sides
    ]


class _ForLink(Pattern):
    """Time in a call on a window until what it waits for has come about: the last of several."""

    kind: ClassVar[int]
    routines: ClassVar[Mask]
    """Which routines wait so, bool per op."""

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return one instance per call that waits for this last."""
        links = view.trace.links
        row = np.flatnonzero(np.isin(links.kind, _OF_WINDOWS))
        row = row[np.lexsort((view.enter[links.cause[row]], links.effect[row]))]
        row = row[np.diff(links.effect[row], append=NONE) != 0]
        row = row[(links.kind[row] == self.kind) & self.routines[view.op[links.effect[row]]]]
        cause, call = links.cause[row], links.effect[row]
        return instances(call, np.minimum(view.enter[cause], view.leave[call]) - view.enter[call], cause)


_SYNCHRONISES = operations.ON_WINDOWS & ~operations.ACCESSES


class LatePost(_ForLink):
    """Time opening or closing an epoch until the last target posts its window."""

    name, title, of, kind = "mpi_rma_sync_late_post", "Late Post", "mpi_rma_sync_active", tables.POST
    routines, meaning = _SYNCHRONISES, "waiting for the last target to post its window"


class EarlyTransfer(_ForLink):
    """Time accessing a window that its target has not posted yet: Early Transfer in KOJAK."""

    name, title, of, kind = "mpi_rma_comm_late_post", "Late Post", "mpi_rma_communication", tables.POST
    routines, meaning = operations.ACCESSES, "accessing a window that its target posts later (Early Transfer)"


class EarlyWait(_ForLink):
    """Time of a target until the last origin completes its accesses."""

    name, title, of, kind = "mpi_rma_early_wait", "Early Wait", "mpi_rma_sync_active", tables.COMPLETE
    routines, meaning = _SYNCHRONISES, "waiting for the last origin to complete its accesses"


class LateComplete(Pattern):
    """The part of an early wait that was not needed: behind the last access."""

    name, title, of = "mpi_rma_late_complete", "Late Complete", "mpi_rma_early_wait"
    meaning = "waiting for the last origin to complete, though all accesses are done"

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return one instance per wait that lasts longer than the last access of the origins it waits for.

        waits       since 10, for origins that complete at 30 and 40
        accesses    of these returning at 12 and 25
        instances   15 ns
        """
        links, size = view.trace.links, np.int64(len(view.op))
        row = np.flatnonzero((links.kind == tables.COMPLETE) & np.isin(links.effect, parent.call))
        complete, wait = links.cause[row], links.effect[row]
        access = np.flatnonzero(operations.ACCESSES[view.op]).astype("i4")
        target = view.trace.locations.process[view.location[wait]]
        made, ended = _windows(view, (access, view.trace.calls.peer[access]), (complete, target))
        order = np.argsort(made * size + access)
        last = np.append(order, NONE)[np.searchsorted((made * size + access)[order], ended * size + complete) - 1]
        mine = (last != NONE) & (np.append(made, NONE)[last] == ended)
        done = view.enter.copy()
        np.maximum.at(done, wait[mine], view.leave[access[last[mine]]])
        return parent.severe(np.minimum(parent.severity, view.enter[parent.call] + parent.severity - done[parent.call]))


class LockContention(_ForLink):
    """Time in a call that synchronises a window until another process releases the lock."""

    name, title, of, kind = "mpi_rma_sync_lock_competition", "Lock Contention", "mpi_rma_sync_passive", tables.LOCK
    routines, meaning = _SYNCHRONISES, "waiting for another process to release the lock of a window"


class AccessContention(_ForLink):
    """Time in an access until another process releases the lock."""

    name, title, of, kind = "mpi_rma_comm_lock_competition", "Lock Contention", "mpi_rma_communication", tables.LOCK
    routines, meaning = operations.ACCESSES, "accessing a window until another process releases its lock"


class WaitForProgress(_ForLink):
    """Time in a call that synchronises a window until its target calls MPI."""

    name, title, of, kind = "mpi_rma_sync_wait_for_progress", "Wait for Progress", "mpi_rma_sync_passive", tables.PROGRESS
    routines, meaning = _SYNCHRONISES, "waiting for the target to call MPI, which makes no progress meanwhile"


class AccessForProgress(_ForLink):
    """Time in an access until its target calls MPI."""

    name, title, of, kind = "mpi_rma_comm_wait_for_progress", "Wait for Progress", "mpi_rma_communication", tables.PROGRESS
    routines, meaning = operations.ACCESSES, "accessing memory of a process that does not call MPI meanwhile"
