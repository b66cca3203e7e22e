"""What needs no search: time, visits, messages and bytes per call path and location."""

from __future__ import annotations

import numpy as np

from perwiz.patterns.callpaths import CallTree
from perwiz.patterns.library.collectives import BARRIER
from perwiz.patterns.metrics import COUNT_METRICS, TIME_METRICS
from perwiz.patterns.pattern import View
from perwiz.patterns.severity import Cells, added, cells, dense, summed
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8

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


def metric_of(op: int) -> str:
    """Return the metric that the time in a routine belongs to."""
    name = operations.OPS[op]
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
    leaves = [("comp", _outside(view, tree, calls))]
    leaves += [(name, Cells(calls.node[metric == name], calls.value[metric == name])) for name in np.unique(metric).tolist()]
    for name, call in _collective_waits(view):
        moved = cells(node[call], view.location[call], length[call], size)
        leaves += [(name, moved), ("mpi_point2point", Cells(moved.node, -moved.value))]
    return summed(leaves, TIME_METRICS, size[1])


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
    """Return the time outside of MPI: of regions that in their instances less that of what is called from them, the rest at the root."""
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
