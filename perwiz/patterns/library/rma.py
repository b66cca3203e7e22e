"""Patterns of one-sided communication: waits at windows' making, freeing and fences (definitions of Scalasca 2.6).

Found is what calls tell: the communicator of each window, and the target of each access. Windows of one communicator are not told apart.
No trace has the groups of MPI_Win_post and MPI_Win_start, nor the kind of a lock, in its calls: late posts, early waits and contention
for locks are not searched for.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.patterns.library.collectives import CollectiveMembers, WaitForLast, named
from perwiz.patterns.pattern import NOTHING, Instances, Pattern, View
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.tables import NONE

FENCE, FREE = named("Win_fence"), named("Win_free")
MAKE = named("Win_create", "Win_allocate", "Win_allocate_shared", "Win_create_dynamic")
ACCESS = named("Put", "Get", "Accumulate", "Get_accumulate", "Rput", "Rget", "Raccumulate", "Fetch_and_op", "Compare_and_swap")


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
    order = np.argsort(members.call[fences], kind="stable")
    call, collective = members.call[fences][order], members.collective[fences][order]
    access = np.flatnonzero(ACCESS[view.op] & (calls.peer >= 0)).astype("i4")
    fence = np.full(len(access), NONE, "i4")
    for comm in np.unique(calls.comm[call]):
        fences = np.flatnonzero(calls.comm[call] == comm)
        rows = np.flatnonzero(calls.comm[access] == comm)
        following = np.searchsorted(call[fences], access[rows])
        rows, following = rows[following < len(fences)], fences[following[following < len(fences)]]
        same = view.location[access[rows]] == view.location[call[following]]
        fence[rows[same]] = collective[following[same]]
    return fence[fence >= 0], access[fence >= 0]
