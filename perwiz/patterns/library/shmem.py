"""Patterns of OpenSHMEM: waits in barriers and collectives, for a put, and for a lock (KOJAK, Wolf et al. 2006; Mohr et al. 2005).

PEs wait for each other as processes of MPI do, so these are patterns of its collectives and of locks of threads, on other routines.
Memory is put by other PEs: a wait until it has changed ends by a put or an atomic operation, and is as long as that comes late.
"""

from __future__ import annotations

from perwiz.patterns.idle import routines
from perwiz.patterns.library import collectives
from perwiz.patterns.library.collectives import WaitForLast
from perwiz.patterns.library.threads import WaitForLink


class BarrierWait(WaitForLast):
    """Time in a barrier or sync until the last PE comes."""

    name, title, of = "shmem_barrier_wait", "Wait at Barrier", "shmem_barrier"
    routines = routines("shmem_barrier_all", "shmem_barrier", "shmem_sync_all", "shmem_sync")
    meaning = "waiting for the last PE to enter a barrier"


class MemoryWait(WaitForLast):
    """Time allocating or freeing memory of the symmetric heap until the last PE comes."""

    name, title, of = "shmem_memory_wait", "Wait at Symmetric Heap", "shmem_memory"
    routines = routines("shmem_malloc", "shmem_realloc", "shmem_free")
    meaning = "waiting for the last PE to allocate or free: both synchronise all"


class FinalizeWait(WaitForLast):
    """Time in shmem_finalize until the last PE comes."""

    name, title, of, routines = "shmem_finalize_wait", "Wait at Finalize", "shmem_init_exit", routines("shmem_finalize")
    meaning = "waiting for the last PE to enter shmem_finalize"


class ExchangeWait(collectives.ExchangeWait):
    """Time in an N x N operation until the last PE comes."""

    name, title, of = "shmem_wait_nxn", "Wait at N x N", "shmem_collective"
    routines = routines("shmem_collect", "shmem_fcollect", "shmem_alltoall", "shmem_reduce")
    meaning = "waiting for the last PE to enter an operation of all with all"


class LateBroadcast(collectives.LateBroadcast):
    """Time in a broadcast until the root comes."""

    name, title, of, routines = "shmem_latebroadcast", "Late Broadcast", "shmem_collective", routines("shmem_broadcast")
    meaning = "waiting for the root of a broadcast"


class WaitUntil(WaitForLink):
    """Time until another PE puts what a wait is for."""

    name, title, of, awaits = "shmem_wait_until_wait", "Wait Until", "shmem_point", routines("shmem_wait_until")
    meaning = "waiting for a put or an atomic operation of another PE"


class LockCompetition(WaitForLink):
    """Time until another PE has released a lock."""

    name, title, of, awaits = "shmem_lock_competition", "Lock Competition", "shmem_lock", routines("shmem_set_lock")
    meaning = "waiting for another PE to release a lock"
