"""Where waiting comes from: delays (Boehme et al. 2010, 2016), short-term and long-term costs per call path and location.

A process q waits w for a process p. Since they were last together, p spent T_p[c] in call path c and q T_q[c], waits left out. The delay
of p in c is d[c] = max(0, T_p[c] - T_q[c]), D their sum, W what p itself waited meanwhile. In the short term c costs d[c] * s with
s = min(1, w / (D + W)); every wait of p takes over s of itself, and of what others made q wait for in turn its part of R / (D + W): that is
booked, in the long term, on what caused that wait. If D + W = 0 nothing is booked.

Two processes are together when one waits for the other in a message or in a collective from or to a root; in a barrier or an N x N
operation that nobody left before all had come, and in such an MPI_Init. They are compared from then on: from when the first of them
returned. If that lies within a wait of p, from when this wait began. So both are compared from one instant, D + W is at least w, and all
waiting is booked; only of waiting for a process that began late a part may stay, where no MPI_Init is recorded, and some where clocks
are wrong. Of several waits in one call the longest counts. Waits in one-sided operations have no costs: they are time in their calls.

Scalasca 2.6 differs in this, as far as it was looked into; costs per call path may differ for other reasons too:
- After a late receiver each process is compared from its own return, for the completion that Scalasca subtracts there is never above 0.
  So the two intervals begin at different times. That s is then cut off at 1, or a part booked on nobody, follows, but was not traced.
- Waits in MPI_Finalize and in prefix reductions have no costs there.

A wait for a message is indirect as far as the late process had to wait itself, s * W, else direct. It propagates as far as it makes others
wait for messages, the largest s of these times its length; else it is terminal.

Times are int64 ns. Costs are sums of float64, added in the order of the pass back, and rounded to ns once, per call path and location.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.kernels import delays as kernel
from perwiz.kernels import pieces as timeline
from perwiz.patterns.callpaths import CallTree
from perwiz.patterns.library.collectives import BARRIER, EXCHANGE, FINALIZE, START, parts
from perwiz.patterns.pattern import NOTHING, Instances, View
from perwiz.patterns.severity import Cells
from perwiz.trace.arrays import F8, I1, Ints, Mask

Pieces = tuple[Ints, Ints, Ints]
KINDS = {
    "mpi_latesender": "delay_latesender",
    "mpi_latereceiver": "delay_latereceiver",
    "mpi_barrier_wait": "delay_barrier",
    "mpi_finalize_wait": "delay_finalize",
    "mpi_earlyreduce": "delay_n21",
    "mpi_latebroadcast": "delay_12n",
    "mpi_wait_nxn": "delay_n2n",
    "mpi_earlyscan": "delay_scan",
}
"""Metric of the costs per pattern; names of Scalasca, but for `delay_finalize` and `delay_scan`, which it does not have."""
_MESSAGES = ("mpi_latesender", "mpi_latereceiver")
_BETWEEN_TWO = (*_MESSAGES, "mpi_earlyreduce", "mpi_latebroadcast")
_EARLIEST = np.iinfo("i8").min
_STRIDE = 64


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

    def of(self, *names: str) -> Mask:
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
    several = [NOTHING, *(instances[name] for name in kinds)]
    kind = np.repeat(np.arange(-1, len(kinds), dtype="i1"), [len(some) for some in several])
    found = Instances(*(np.concatenate([getattr(some, f.name) for some in several]) for f in dataclasses.fields(Instances)))
    order = np.lexsort((-found.severity, found.call))  # stable: of equals the first kind stays the first
    order = order[np.diff(found.call[order], prepend=-1) > 0]
    return Waits(found.where(order), kind[order], kinds)


def causes(view: View, tree: CallTree, waits: Waits, what: Pieces) -> Causes:
    """Return what every call path on every location costs others; `what` each location did as `pieces` tells."""
    place, start, node = what
    table = _table(view, waits, place)
    sums = _checks(place, start, node, len(tree) + 1)
    types = len(waits.kinds)
    flow, cost = np.zeros((len(waits), types + 3)), np.zeros((types, 2, len(place) - 1, len(tree)))
    kernel.delays(table, place, start, node, sums, flow, np.zeros(types + 1), cost)
    return Causes(waits, cost, flow[:, types + 1].copy(), flow[:, types + 2].copy())


def pieces(view: View, tree: CallTree, waits: Waits) -> Pieces:
    """Return (place, start, node): what each location did when, as `perwiz.kernels.pieces` wants it."""
    trace, times, call = view.trace, view.trace.timeline, waits.instances.call
    size = len(trace.locations)
    place = np.zeros((size + 1, 7), "i8")
    number = np.arange(size + 1)
    place[:, 0], place[:, 1] = trace.first_calls, np.searchsorted(trace.regions.location, number)
    place[:-1, 2], place[:-1, 3] = times.locations.enter, times.locations.leave
    place[:, 6] = np.searchsorted(view.location[call], number)
    waited = np.zeros(len(view.enter), "i8")
    waited[call] = waits.instances.severity
    leaf = tree.of_calls(trace, np.arange(len(view.enter))).astype("i4")
    own = trace.regions
    regions = (times.regions.enter, times.regions.leave, tree.of_path[own.path], own.parent, own.first_call, own.end_call)
    most = size + 2 * len(view.enter) + len(call) + 2 * len(own)
    start, node = np.empty(most, "i8"), np.empty(most, "i4")
    table = np.ascontiguousarray(np.stack(regions, axis=1), "i8")
    count = timeline.pieces(place, view.enter, view.leave, waited, leaf, table, start, node)
    return place, start[:count], node[:count]


def _checks(place: Ints, start: Ints, node: Ints, width: int) -> Ints:
    """Return sums over the pieces of every location, and the room the pass needs."""
    rows = np.diff(place[:, 4]) // max(width, _STRIDE) + 2
    place[:, 5] = np.append(0, np.cumsum(rows))
    sums = np.zeros((place[-1, 5] + 4, width), "i8")
    timeline.checks(place, start, node, sums)
    return sums


def _table(view: View, waits: Waits, place: Ints) -> Ints:
    """Return the wait states as the pass wants them."""
    some = waits.instances
    began = _began(view, place)
    table = np.zeros((len(waits), 10), "i8")
    table[:, 0], table[:, 1] = view.location[some.call], view.location[some.cause]
    table[:, 2], table[:, 3], table[:, 4] = view.enter[some.call], some.severity, view.enter[some.cause]
    table[:, 6], table[:, 7], table[:, 8] = waits.kind, some.call, view.enter[some.call] + some.severity
    table[:, 5] = np.maximum(_met(view, waits, table), np.maximum(began[table[:, 0]], began[table[:, 1]]))
    _kept(view, table)
    table[:, 9] = waits.of(*_MESSAGES)
    table[:, 8] = np.lexsort((view.leave[some.call], table[:, 8]))
    return table


def _began(view: View, place: Ints) -> Ints:
    """Return, per location, since when it is compared with others: the first return from MPI_Init if all had come, else its begin."""
    call = np.flatnonzero(START[view.op])
    if len(call) and view.leave[call].min() >= view.enter[call].max():
        return np.maximum(place[:-1, 2], view.leave[call].min())
    return place[:-1, 2]


def _met(view: View, waits: Waits, table: Ints) -> Ints:
    """Return, per wait state, when the two were last together because one waited for the other, the least number if never."""
    some = waits.instances
    pair = np.minimum(table[:, 0], table[:, 1]) * len(view.trace.locations) + np.maximum(table[:, 0], table[:, 1])
    order = np.lexsort((table[:, 8], pair))
    known = waits.of(*_BETWEEN_TWO)[order]
    at = np.arange(len(order), dtype="i4")
    last = np.concatenate((np.full(1, -1, "i4"), np.maximum.accumulate(np.where(known, at, -1))))
    call, cause, waiter, pair = some.call[order], some.cause[order], table[order, 0].astype("i4"), pair[order]
    left = np.minimum(view.leave[call], view.leave[cause])
    met = np.full(len(order), _EARLIEST)
    before = last[:-1]
    while len(at):
        same = (before >= 0) & (pair[at] == pair[before])
        at, before = at[same], before[same]
        own = np.where(waiter[before] == waiter[at], call[before], cause[before])
        earlier = own < call[at]
        met[order[at[earlier]]] = left[before[earlier]]
        at, before = at[~earlier], last[before[~earlier]]
    return met


def _kept(view: View, table: Ints) -> None:
    """Raise, in place, the times since when two are apart to those of the last collective that kept both until all had come."""
    members = parts(view, BARRIER | EXCHANGE | FINALIZE)
    if not len(members.row):
        return
    everyone = np.ones(len(members.row), bool)
    left = members.earliest_end(everyone)
    rows = np.flatnonzero(members.spread(left > members.latest(everyone)[0]))
    rows = rows[np.argsort(members.call[rows], kind="stable")]
    groups = view.trace.collectives.comm[members.collective[rows]] + 1
    width = int(groups.max(initial=0)) + 1
    slots, slot = np.unique(view.location[members.call[rows]] * np.int64(width) + groups, return_inverse=True)
    joins = np.ascontiguousarray(np.stack([members.call[rows], slot, members.spread(left)[rows]], axis=1), "i8")
    first = np.searchsorted(slots, np.arange(len(view.trace.locations) + 1) * width)
    timeline.together(table, joins, first, (slots % width).astype("i4"), np.full(len(slots), _EARLIEST))


def metrics(found: Causes) -> dict[str, Cells]:
    """Return the costs per metric, rounded to ns: the short term under the name of the kind, the long term with `_longterm` behind it."""
    out = {}
    for kind, name in enumerate(found.waits.kinds):
        for term, suffix in enumerate(("", "_longterm")):
            out[KINDS[name] + suffix] = dense(found.cost[kind, term].T)
    return out


def dense(value: F8) -> Cells:
    """Return values by (node, location) as cells, rounded; nodes without any left out."""
    whole = np.rint(value).astype("i8")
    rows = np.flatnonzero(whole.any(axis=1)).astype("i4")
    return Cells(rows, whole[rows])
