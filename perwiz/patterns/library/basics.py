"""What needs no search: time, visits, messages and bytes per call path and location."""

from __future__ import annotations

import numpy as np

from perwiz.patterns.callpaths import CallTree
from perwiz.patterns.idle import OF_DEVICES, OF_TEAMS, OF_THREADS, idle, spread
from perwiz.patterns.library.collectives import BARRIER
from perwiz.patterns.metrics import COUNT_METRICS, time_metrics
from perwiz.patterns.pattern import View
from perwiz.patterns.severity import Cells, added, cells, dense, summed
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8
from perwiz.trace.tables import NONE, STREAM

_BY_PREFIX = (
    ("MPI_Init", "mpi_init_exit"),
    ("MPI_Finalize", "mpi_init_exit"),
    ("MPI_Comm_ MPI_Cart_ MPI_Graph_ MPI_Dist_graph_ MPI_Intercomm_ MPI_Group_", "mpi_mgmt_comm"),
    ("MPI_Win_fence MPI_Win_start MPI_Win_complete MPI_Win_post MPI_Win_wait MPI_Win_test", "mpi_rma_sync_active"),
    ("MPI_Win_lock MPI_Win_unlock MPI_Win_flush MPI_Win_sync", "mpi_rma_sync_passive"),
    ("MPI_Win_", "mpi_mgmt_win"),
    ("MPI_Put MPI_Get MPI_Accumulate MPI_Rput MPI_Rget MPI_Raccumulate MPI_Fetch_and_op MPI_Compare_and_swap", "mpi_rma_communication"),
    ("MPI_File_read MPI_File_write MPI_File_iread MPI_File_iwrite", "mpi_io_individual"),
    ("MPI_File_", "mpi_mgmt_file"),
    ("MPI_Send_init MPI_Bsend_init MPI_Ssend_init MPI_Rsend_init MPI_Recv_init MPI_Cancel MPI_Request_free", "mpi_point2point"),
    ("MPI_Neighbor_", "mpi_collective"),
)
_NO_DATA = ("MPI_Get_count", "MPI_Get_elements", "MPI_Get_processor_name", "MPI_Initialized", "MPI_Finalized")


_OF_THREADS = {
    "omp_management": "omp_fork omp_join omp_task_create",
    "omp_synchronization": "omp_release",
    "omp_ebarrier": "omp_barrier",
    "omp_ibarrier": "omp_implicit_barrier",
    **{name: name for name in ("omp_critical", "omp_ordered", "omp_taskwait", "omp_task")},
    "omp_lock_api": "omp_lock",
    "pthread_management": "pthread_create pthread_join thread_start thread_wait",
    "pthread_lock_api": "pthread_mutex_lock pthread_release",
    "pthread_conditional": "pthread_cond_wait pthread_cond_signal",
    "pthread_barrier": "pthread_barrier_wait",
    "device_launches": "device_launch",
    "device_comm": "device_copy",
    "device_sync": "device_synchronize device_offload",
}
_OF_SHMEM = {
    "shmem_management": "shmem_team_split",
    "shmem_init_exit": "shmem_init shmem_finalize shmem_global_exit",
    "shmem_memory": "shmem_malloc shmem_realloc shmem_free",
    "shmem_barrier": "shmem_barrier_all shmem_barrier shmem_sync_all shmem_sync",
    "shmem_point": "shmem_wait_until shmem_test",
    "shmem_lock": "shmem_set_lock shmem_test_lock shmem_clear_lock",
    "shmem_order": "shmem_fence shmem_quiet",
    "shmem_rma": "shmem_put shmem_put_nbi shmem_put_signal shmem_put_signal_nbi shmem_get shmem_get_nbi",
    "shmem_atomic": "shmem_atomic shmem_atomic_fetch",
    "shmem_collective": "shmem_broadcast shmem_collect shmem_fcollect shmem_alltoall shmem_reduce",
}
_METRIC = {routine: metric for metric, routines in (_OF_SHMEM | _OF_THREADS).items() for routine in routines.split()}


def metric_of(op: int) -> str:
    """Return the metric that the time in a routine belongs to, that in idle ones none."""
    name = operations.OPS[op]
    if not (operations.MPI | operations.DIST)[op]:
        return _METRIC.get(name, "")
    if operations.POINT_TO_POINT[op]:
        return "mpi_point2point"
    if BARRIER[op]:
        return "mpi_sync_collective"
    if name.startswith("MPI_File_") and ("_all" in name or "_ordered" in name) and ("read" in name or "write" in name):
        return "mpi_io_collective"
    for names, metric in _BY_PREFIX:
        if name.startswith(tuple(names.split())) and name not in _NO_DATA:
            return metric
    return "mpi_collective" if operations.COLLECTIVE[op] else "mpi"


_COLLECTIVE = np.array([metric_of(op) in ("mpi_collective", "mpi_sync_collective") for op in range(len(operations.OPS))])
"""Per routine: it is a barrier or a collective that may move data."""


def times(view: View, tree: CallTree) -> dict[str, Cells]:
    """Return the time metrics, int64 ns: each contains those below it."""
    size = len(tree), len(view.trace.locations)
    node, length = tree.of_calls(view.trace, np.arange(len(view.enter))), view.leave - view.enter
    calls = cells(node, view.location, length, size)
    metric = np.array([metric_of(int(op)) for op in tree.op[calls.node]])
    names = [name for name in np.unique(metric).tolist() if name]
    leaves = [("comp", _outside(view, tree, calls))]
    leaves += [(name, Cells(calls.node[metric == name], calls.value[metric == name])) for name in names]
    for name, call in _collective_waits(view):
        moved = cells(node[call], view.location[call], length[call], size)
        leaves += [(name, moved), ("mpi_point2point", Cells(moved.node, -moved.value))]
    if view.has_threads:
        leaves += _of_threads(view, tree, leaves[0][1])
    return summed(leaves, time_metrics(view.has_shmem, view.has_threads), size[1])


def _of_threads(view: View, tree: CallTree, computation: Cells) -> list[tuple[str, Cells]]:
    """Return the time of threads and streams that have nothing to do, or not yet, and of the computation that of streams."""
    size = len(tree), len(view.trace.locations)
    on_device = computation.value * (view.trace.locations.kind == STREAM)
    leaves = [("device_comp", Cells(computation.node, on_device)), ("comp", Cells(computation.node, -on_device))]
    for routines, start in ((OF_TEAMS, "omp_management"), (OF_THREADS & ~OF_TEAMS, "pthread_management"), (OF_DEVICES, "device_starts")):
        found = idle(view, routines)
        leaves.append(("time", spread(view, tree, found)))
        enter, leave = view.enter[found.call], view.leave[found.call]
        at = np.where(found.cause == NONE, found.call, found.cause)
        for begin, end, call in ((enter, found.joined, found.call), (found.begun, found.let, found.call), (found.let, leave, at)):
            leaves.append((start, cells(tree.of_calls(view.trace, call), view.location[found.call], end - begin, size)))
    return leaves


def _collective_waits(view: View) -> list[tuple[str, I8]]:
    """Return, per metric, the waits that complete collectives and nothing else: their time is that of the collectives."""
    call = np.flatnonzero(view.waits_for_collective)
    if not len(call):
        return []
    members = view.trace.members
    barrier = np.zeros(len(view.enter), bool)
    done = members.done >= 0
    barrier[members.done[done]] = BARRIER[view.trace.collectives.op[members.collective[done]]]
    return [("mpi_sync_collective", call[barrier[call]]), ("mpi_collective", call[~barrier[call]])]


def _outside(view: View, tree: CallTree, calls: Cells) -> Cells:
    """Return the time outside of calls: of regions that in their instances less that of what is called from them, the rest at the root."""
    trace, regions, times = view.trace, view.trace.regions, view.trace.timeline
    out = np.zeros((len(tree), len(trace.locations)), "i8")
    length = times.regions.leave - times.regions.enter
    node = tree.of_path[regions.path]
    np.add.at(out, (node, regions.location), length)
    nested = np.flatnonzero(regions.parent >= 0)
    np.subtract.at(out, (node[regions.parent[nested]], regions.location[nested]), length[nested])
    np.subtract.at(out, tree.parent[calls.node], calls.value)
    alone = regions.parent < 0
    out[0] += times.locations.leave - times.locations.enter
    np.subtract.at(out[0], regions.location[alone], length[alone])
    return dense(out)


def counts(view: View, tree: CallTree) -> dict[str, Cells]:
    """Return visits, messages, parts in collectives, and bytes, int64: each contains those below it.

    A message counts at the calls that post it and that complete its receive: as communication if it has bytes, else as synchronisation.
    """
    trace, size = view.trace, (len(tree), len(view.trace.locations))
    table = trace.messages

    def booked(call: I4 | I8, value: I8) -> Cells:
        return cells(tree.of_calls(trace, call), view.location[call], value, size)

    def counted(call: I4 | I8) -> Cells:
        return booked(call, np.ones(len(call), "i8"))

    call = np.arange(len(view.enter))
    regions = cells(tree.of_path[trace.regions.path], trace.regions.location, np.ones(len(trace.regions), "i8"), size)
    joins = trace.members.call[_COLLECTIVE[trace.calls.op[trace.members.call]]]
    sends, receives, full = trace.calls.bytes_sent[joins] > 0, trace.calls.bytes_received[joins] > 0, table.bytes > 0
    leaves = {
        "visits": added([counted(call), regions], size[1]),
        "syncs_send": counted(table.send[~full]),
        "syncs_recv": counted(table.receive_done[~full]),
        "syncs_coll": counted(joins[~sends & ~receives]),
        "comms_send": counted(table.send[full]),
        "comms_recv": counted(table.receive_done[full]),
        "comms_cxch": counted(joins[sends & receives]),
        "comms_csrc": counted(joins[sends & ~receives]),
        "comms_cdst": counted(joins[~sends & receives]),
        "bytes_sent": booked(table.send, table.bytes),
        "bytes_rcvd": booked(table.receive_done, table.bytes),
        "bytes_cout": booked(joins, trace.calls.bytes_sent[joins]),
        "bytes_cin": booked(joins, trace.calls.bytes_received[joins]),
    }
    return summed(leaves.items(), COUNT_METRICS, size[1])
