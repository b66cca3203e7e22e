"""The patterns built in, a file per family: whoever adds one writes its class there and names it here, behind what it is a special case of.

From the classes come the tree of metrics, the twins of grids, and what `perwiz patterns --of` takes.
"""

from __future__ import annotations

from perwiz.patterns.library import collectives, devices, point_to_point, rma, shmem, threads
from perwiz.patterns.pattern import Pattern

OF_MPI: tuple[type[Pattern], ...] = (
    point_to_point.LateSender,
    point_to_point.WrongOrder,
    point_to_point.FromDifferent,
    point_to_point.FromSame,
    point_to_point.LateReceiver,
    collectives.InitCompletion,
    collectives.FinalizeWait,
    collectives.BarrierWait,
    collectives.BarrierCompletion,
    collectives.EarlyReduce,
    collectives.EarlyScan,
    collectives.LateBroadcast,
    collectives.ExchangeWait,
    collectives.ExchangeCompletion,
    rma.WaitAtCreate,
    rma.WaitAtFree,
    rma.WaitAtFence,
    rma.EarlyFence,
    rma.LatePost,
    rma.EarlyWait,
    rma.LateComplete,
    rma.LockContention,
    rma.WaitForProgress,
    rma.EarlyTransfer,
    rma.AccessContention,
    rma.AccessForProgress,
)
OF_SHMEM: tuple[type[Pattern], ...] = (
    shmem.FinalizeWait,
    shmem.MemoryWait,
    shmem.BarrierWait,
    shmem.WaitUntil,
    shmem.LockCompetition,
    shmem.LateBroadcast,
    shmem.ExchangeWait,
)
"""Those of OpenSHMEM: searched where a trace has calls of it."""
OF_THREADS: tuple[type[Pattern], ...] = (
    threads.Fork,
    threads.JoinWait,
    threads.ExplicitBarrierWait,
    threads.ImplicitBarrierWait,
    threads.CriticalContention,
    threads.LockContention,
    threads.OrderedWait,
    threads.TaskWait,
    threads.TaskStart,
    threads.PosixJoinWait,
    threads.WorkerWait,
    threads.MutexContention,
    threads.ConditionWait,
    threads.PosixBarrierWait,
    threads.IdleThreads,
    threads.LimitedParallelism,
    devices.WaitForDevice,
    devices.WaitForCopy,
    devices.WaitForStream,
    devices.LaunchLatency,
    devices.IdleDevices,
)
"""Those of threads and devices: searched where a trace has calls of these."""
BUILT_IN = OF_MPI + OF_SHMEM + OF_THREADS
"""All patterns, in the order of the reports."""
