"""Where waiting comes from: delays (Boehme et al. 2010, 2016), short-term and long-term costs per call path and location.

A process q waits w for a process p. Since they were last together, p spent T_p[c] in call path c and q T_q[c], waits left out. The delay
of p in c is d[c] = max(0, T_p[c] - T_q[c]), D their sum, W what p itself waited meanwhile. In the short term c costs d[c] * s with
s = min(1, w / (D + W)); every wait of p takes over s of itself, and of what others made q wait for in turn its part of R / (D + W): that is
booked, in the long term, on what caused that wait. If D + W = 0 nothing is booked.

Two processes are together when one waits for the other in a message or in a collective from or to a root; in a barrier or an N x N
operation that both left after the last had come, and in an MPI_Init that all did. They are compared from then on: from when the first
returned. If that lies within a wait of p, from when this wait began. So both are compared from one instant, D + W is at least w, and all
waiting is booked; only of waiting for a process that began late a part may stay, where no MPI_Init is recorded, and some where clocks
are wrong. Of several waits in one call the longest counts. A window brings together those who make, free or fence it, as a barrier does.

Scalasca 2.6 differs in this, as far as it was looked into; costs per call path may differ for other reasons too:
- After a late receiver each process is compared from its own return, for the completion that Scalasca subtracts there is never above 0.
  So the two intervals begin at different times. That s is then cut off at 1, or a part booked on nobody, follows, but was not traced.
- Waits in MPI_Finalize, in prefix reductions and in one-sided operations have no costs there.
- An N x N operation brings together there whom it held up, also those who left before the last had come. A broadcast brings together its
  root and others than those who waited; whom was not traced.

A wait for a message is indirect as far as the late process had to wait itself, s * W, else direct. It propagates as far as it makes others
wait for messages, the largest s of these times its length; else it is terminal.

Times are int64 ns. Costs are sums of float64, added in the order of the pass back, and rounded to ns once, per call path and location.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from perwiz.kernels import delays as kernel
from perwiz.kernels import pieces as timeline
from perwiz.kernels.names import STRIDE
from perwiz.patterns.callpaths import CallTree
from perwiz.patterns.intervals import Intervals
from perwiz.patterns.library.collectives import (
    BARRIER,
    EXCHANGE,
    FINALIZE,
    OF_PES,
    START,
    TEAMS,
    CollectiveMembers,
    members_of,
    synchronising,
)
from perwiz.patterns.library.rma import FENCE, FREE, MAKE
from perwiz.patterns.pattern import NOTHING, Instances, View
from perwiz.patterns.severity import Cells, dense
from perwiz.trace.arrays import F8, I1, I8, Mask
from perwiz.trace.tables import NONE

Rows = np.recarray[Any, Any]
KINDS = {
    "mpi_latesender": "delay_latesender",
    "mpi_latereceiver": "delay_latereceiver",
    "mpi_barrier_wait": "delay_barrier",
    "mpi_finalize_wait": "delay_finalize",
    "mpi_earlyreduce": "delay_n21",
    "mpi_latebroadcast": "delay_12n",
    "mpi_wait_nxn": "delay_n2n",
    "mpi_earlyscan": "delay_scan",
    **dict.fromkeys(("mpi_rma_wait_at_create", "mpi_rma_wait_at_free", "mpi_rma_wait_at_fence"), "delay_window"),
    **dict.fromkeys(("mpi_rma_sync_late_post", "mpi_rma_comm_late_post", "mpi_rma_early_wait"), "delay_rma"),
    **dict.fromkeys(("mpi_rma_sync_lock_competition", "mpi_rma_comm_lock_competition"), "delay_rmalock"),
    **dict.fromkeys(("mpi_rma_sync_wait_for_progress", "mpi_rma_comm_wait_for_progress"), "delay_progress"),
    **dict.fromkeys(("shmem_barrier_wait", "shmem_memory_wait", "shmem_finalize_wait"), "delay_shmemcollective"),
    **dict.fromkeys(("shmem_wait_nxn", "shmem_latebroadcast"), "delay_shmemcollective"),
    "shmem_wait_until_wait": "delay_shmemput",
    "shmem_lock_competition": "delay_shmemlock",
    "omp_ebarrier_wait": "delay_ompbarrier",
    "omp_ibarrier_wait": "delay_ompbarrier",
    "omp_idle_threads": "delay_ompidle",
    "omp_lock_contention_critical": "delay_omplock",
    "omp_lock_contention_api": "delay_omplock",
    "omp_ordered_wait": "delay_omplock",
    "omp_taskwait_wait": "delay_omptask",
    "omp_task_wait": "delay_omptask",
    "omp_join_wait": "delay_omptask",
    "pthread_lock_contention_mutex_lock": "delay_pthread",
    "pthread_lock_contention_conditional": "delay_pthread",
    "pthread_barrier_wait": "delay_pthread",
    "pthread_join_wait": "delay_pthread",
    "thread_wait_for_work": "delay_pthread",
    "device_early_wait": "delay_device",
    "device_copy_wait": "delay_device",
    "device_stream_wait": "delay_device",
    "device_idle": "delay_deviceidle",
}
"""Metric of the costs per pattern; names of Scalasca where it has them."""
_MESSAGES = ("mpi_latesender", "mpi_latereceiver")
_IN_COLLECTIVES = (
    *("mpi_barrier_wait", "mpi_finalize_wait", "mpi_wait_nxn", "mpi_earlyscan"),
    *("shmem_barrier_wait", "shmem_memory_wait", "shmem_finalize_wait", "shmem_wait_nxn"),
    *("omp_ebarrier_wait", "omp_ibarrier_wait", "pthread_barrier_wait"),
    *("mpi_rma_wait_at_create", "mpi_rma_wait_at_free", "mpi_rma_wait_at_fence"),
)
BETWEEN_TWO = tuple(name for name in KINDS if name not in _IN_COLLECTIVES)
"""Patterns whose waits bring waiter and cause together, nobody else."""
_EARLIEST = np.iinfo("i8").min


@dataclasses.dataclass(frozen=True, eq=False)
class Waits:
    """The wait states of all kinds, sorted by call, at most one per call."""

    instances: Instances
    kind: I1
    """Row of `kinds`."""
    kinds: tuple[str, ...]
    """Patterns that have instances."""

    def __len__(self) -> int:
        return len(self.kind)

    def of_patterns(self, *names: str) -> Mask:
        """Return which wait states belong to some patterns."""
        return np.isin(self.kind, [kind for kind, name in enumerate(self.kinds) if name in names])


@dataclasses.dataclass(frozen=True, eq=False)
class Causes:
    """What the waiting comes from."""

    waits: Waits
    cost: F8
    """ns, by (kind, 0 short or 1 long term, location, node of the call tree)."""
    indirect: F8
    """ns per wait state: the part that the waiting of the late process explains."""
    propagating: F8
    """ns per wait state: the part that makes others wait."""


def wait_states(instances: dict[str, Instances]) -> Waits:
    """Return the wait states among the instances of patterns; of several in one call the longest, the first kind if equally long."""
    kinds = tuple(name for name in KINDS if len(instances.get(name, ())))
    by_kind = [NOTHING, *(instances[name] for name in kinds)]
    kind = np.repeat(np.arange(-1, len(kinds), dtype="i1"), [len(several) for several in by_kind])
    waits = Instances(*(np.concatenate([getattr(several, f.name) for several in by_kind]) for f in dataclasses.fields(Instances)))
    order = np.lexsort((-waits.severity, waits.call))  # stable: of equals the first kind stays the first
    order = order[waits.cause[order] != NONE]
    order = order[np.diff(waits.call[order], prepend=-1) > 0]
    return Waits(waits.where(order), kind[order], kinds)


def causes(view: View, tree: CallTree, waits: Waits, done: Intervals) -> Causes:
    """Return what every call path on every location costs others; `done` is what `intervals` tells."""
    table = _table(view, waits, done.begin)
    types, width = len(waits.kinds), len(tree) + 1
    first_check = np.append(0, np.cumsum(np.diff(done.first) // max(width, STRIDE) + 2))
    sums = np.zeros((first_check[-1], width), "i8")
    timeline.sum_intervals(done.first, done.start, done.node, first_check, sums)
    nodes, splits = (np.zeros(*rows).view(np.recarray) for rows in ((width, kernel.NODE), (len(waits), kernel.SPLIT)))
    flow, cost = np.zeros((len(waits), types)), np.zeros((types, 2, len(done.begin), len(tree)))
    intervals = done.first, done.start, done.node
    kernel.book_delays(table, done.first_wait, *intervals, first_check, sums, nodes, flow, splits, np.zeros(types), cost)
    return Causes(waits, cost, splits.indirect.copy(), splits.propagating.copy())


def _table(view: View, waits: Waits, begin: I8) -> Rows:
    """Return the wait states as the pass wants them, of locations that begin at `begin`."""
    call, cause = waits.instances.call, waits.instances.cause
    table = np.zeros(len(waits), kernel.WAIT).view(np.recarray)
    table.waiter, table.cause, table.call = view.location[call], view.location[cause], call
    table.entered, table.length, table.came = view.enter[call], waits.instances.severity, view.enter[cause]
    table.type, table.spreads = waits.kind, waits.of_patterns(*_MESSAGES)
    ends, began = table.entered + table.length, _began(view, begin)
    since, process = np.maximum(began[table.waiter], began[table.cause]), view.trace.locations.process
    of_one = process[table.waiter] == process[table.cause]
    since[of_one] = np.maximum(begin[table.waiter], begin[table.cause])[of_one]
    table.since = np.maximum(_last_together(view, waits, table, ends), since)
    _meet_in_collectives(view, table)
    table.by_end = np.lexsort((view.leave[call], ends))
    return table


def _began(view: View, begin: I8) -> I8:
    """Return, per location, since when it is compared with others: the first return from MPI_Init if all had come, else its begin."""
    call = np.flatnonzero(START[view.op])
    if len(call) and view.leave[call].min() >= view.enter[call].max():
        return np.maximum(begin, view.leave[call].min())
    return begin


def _last_together(view: View, waits: Waits, table: Rows, ends: I8) -> I8:
    """Return, per wait state, when the two were last together because one waited for the other, the least number if never.

    Of the wait states of the pair that ended before, the last counts in which the waiter was in an earlier call than in this one:

        waiter, its call     0 in 3    1 in 25    0 in 7     all between two, in the order of their ends
        for the call         21        7          26
        last together        never     at the first to leave of calls 3 and 21, both: in the second, 0 is still in call 7
    """
    pair = np.minimum(table.waiter, table.cause) * len(view.trace.locations) + np.maximum(table.waiter, table.cause)
    order = np.lexsort((ends, pair))
    row = np.arange(len(order), dtype="i4")
    between_two = np.where(waits.of_patterns(*BETWEEN_TWO)[order], row, -1)
    last = np.concatenate((np.full(1, -1, "i4"), np.maximum.accumulate(between_two)))
    call, cause = waits.instances.call[order], waits.instances.cause[order]
    waiter, pair = table.waiter[order].astype("i4"), pair[order]
    left = np.minimum(view.leave[call], view.leave[cause])
    out = np.full(len(order), _EARLIEST)
    before = last[:-1]
    while len(row):
        same = (before >= 0) & (pair[row] == pair[before])
        row, before = row[same], before[same]
        own_call = np.where(waiter[before] == waiter[row], call[before], cause[before])
        earlier = own_call < call[row]
        out[order[row[earlier]]] = left[before[earlier]]
        row, before = row[~earlier], last[before[~earlier]]
    return out


def _meet_in_collectives(view: View, table: Rows) -> None:
    """Raise, in place, the times since when two are apart to those of the last collective that kept both until all had come."""
    members = members_of(view, BARRIER | EXCHANGE | FINALIZE | OF_PES | TEAMS | MAKE | FREE | FENCE)
    if not len(members.row):
        return
    kept = _kept(view, members)
    left, groups = members.spread(members.earliest_end(kept)), _groups(view, members, kept)
    rows = np.flatnonzero(kept)
    rows = rows[np.argsort(members.call[rows], kind="stable")]
    width = int(groups.max()) + 1
    slots, slot = np.unique(view.location[members.call[rows]] * np.int64(width) + groups[rows], return_inverse=True)
    joins = np.empty(len(rows), kernel.JOIN).view(np.recarray)
    joins.call, joins.slot, joins.left = members.call[rows], slot, left[rows]
    first = np.searchsorted(slots, np.arange(len(view.trace.locations) + 1) * width)
    kernel.meet_in_collectives(table, joins, first, (slots % width).astype("i4"), np.full(len(slots), _EARLIEST))


def _kept(view: View, members: CollectiveMembers) -> Mask:
    """Return which members left after the last had come; of an N x N operation that others left before only those it held up."""
    sent, _, affected = synchronising(view, members)
    exchange = members.spread(EXCHANGE[view.trace.collectives.op[members.collective[members.first]]])
    last = np.where(exchange, members.spread(sent), members.spread(members.latest(members.everyone)[0]))
    return np.asarray((affected | ~exchange) & (members.end > last))


def _groups(view: View, members: CollectiveMembers, kept: Mask) -> I8:
    """Return the number of the group, per member, that its collective keeps: one per communicator, and one per set of a part or a team.

    kept       1 1 1   1 1 0   0 1 1   1 1 0      of communicator 0
    groups     1 1 1   3 3 3   2 2 2   3 3 3
    """
    comm = view.trace.collectives.comm[members.collective[members.first]] + np.int64(1)
    group, count = comm.copy(), np.add.reduceat(kept.astype("i8"), members.first)
    by_set = (count > 0) & ((count < members.size) | (comm == 0))
    location, highest = view.location[members.call], int(comm.max())
    for size in np.unique(count[by_set]).tolist():
        of_size = by_set & (count == size)
        sets = location[kept & members.spread(of_size)].reshape(-1, size)
        group[of_size] = np.unique(sets, axis=0, return_inverse=True)[1].reshape(-1) + highest + 1
        highest = int(group.max())
    return members.spread(group)


def metrics(causes: Causes) -> dict[str, Cells]:
    """Return the costs per metric, rounded to ns: the short term under the name of the kind, the long term with `_longterm` behind it."""
    out: dict[str, F8] = {}
    for kind, name in enumerate(causes.waits.kinds):
        for term, suffix in enumerate(("", "_longterm")):
            out[KINDS[name] + suffix] = out.get(KINDS[name] + suffix, 0) + causes.cost[kind, term].T
    return {name: dense(cost) for name, cost in out.items()}
