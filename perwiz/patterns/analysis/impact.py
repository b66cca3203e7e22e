"""The critical path of the recorded run over call paths and locations, and what imbalance on it costs (Boehme et al. 2012).

The path starts where MPI_Finalize is entered last (without one, at the end of the location that ends last) and goes back in time; at the
end of a wait it changes to the location that was waited for, until MPI_Init is entered (without one, until the location begins). So no
wait lies on it, and it is as long as the run between. These are Scalasca's definitions. `perwiz critical` has another path, the longest of
the replayed graph: there a message has a lag of its own, which here belongs to the call that receives it, waits that the model does not
explain are work, and MPI_Init and MPI_Finalize count. Use this one to compare with Scalasca, that one to ask what a change would bring.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.kernels import path as kernel
from perwiz.kernels import pieces
from perwiz.patterns.analysis.delays import Waits
from perwiz.patterns.intervals import Intervals
from perwiz.patterns.library.collectives import FINALIZE, START
from perwiz.patterns.pattern import View
from perwiz.patterns.severity import Cells, dense
from perwiz.trace.arrays import F8, I8, Mask


@dataclasses.dataclass(frozen=True, eq=False)
class Impact:
    """The critical path, and what the program's parts do to the time of all processes; ns, by (node of the call tree, location)."""

    path: I8
    """Time on the critical path."""
    changes: int
    """How often it changes location."""
    busy: I8
    """Time of each location, waits left out."""

    @property
    def length(self) -> int:
        """Length of the path, ns."""
        return int(self.path.sum())

    @property
    def imbalance(self) -> F8:
        """Per node, how much longer it is on the path than it is for a location on average; 0 if it is shorter."""
        mean = self.busy.sum(axis=1) / max(1, self.busy.shape[1])
        return np.maximum(self.path.sum(axis=1) - mean, 0)

    def activities(self) -> tuple[I8, I8]:
        """Return (time that the path accounts for, time above it), by (node, location)."""
        on_path = self.path.sum(axis=1)[:, None]
        return np.minimum(on_path, self.busy), np.maximum(self.busy - on_path, 0)

    def cost(self) -> tuple[F8, F8]:
        """Return (what all locations lose because the path does more in a node than they, the part of those never busy in it).

        Of what a location does less than the whole path, each node has the share that it has of all it falls behind in; one that does
        more takes from what others lose there. It is booked on the locations that are on the path there. For the part a location falls
        behind only in the nodes it is never busy in; in those it is, it counts as doing at least what the path does.
        """
        on_path = self.path.sum(axis=1, keepdims=True)
        never = self.busy == 0
        whole = _lost(np.maximum(on_path - self.busy, 0), on_path.sum() - self.busy.sum(axis=0))
        part = _lost(np.where(never, on_path, 0), on_path.sum() - np.where(never, 0, np.maximum(self.busy, on_path)).sum(axis=0))
        share = self.path / np.maximum(on_path, 1)
        return share * whole, share * np.minimum(part, whole)


def _lost(behind: I8, short: I8) -> F8:
    """Return, per node (a column), what all locations lose there: what each is short of, as it falls behind by (node, location)."""
    lost = behind * (short / np.maximum(behind.sum(axis=0), 1))
    return np.maximum(lost.sum(axis=1, keepdims=True), 0)


def find_impact(view: View, nodes: int, waits: Waits, done: Intervals) -> Impact:
    """Return the critical path of a run and how busy its locations were, from what they did when."""
    first, start, node = done.first, done.start, done.node
    instances, last = waits.instances, view.trace.timeline.locations.leave
    size = len(last)
    spent, busy = np.zeros((size, nodes), "i8"), np.zeros((size, nodes), "i8")
    ends = np.ascontiguousarray(view.enter[instances.call] + instances.severity, "i8")
    cause = np.ascontiguousarray(view.location[instances.cause], "i4")
    changes = kernel.walk_path(ends, cause, done.first_wait, begins_of(view), first, start, node, spent, *end_of(view)) if size else 0
    pieces.sum_nodes(first, start, node, last, busy)
    return Impact(spent.T, changes, busy.T)


def begins_of(view: View) -> I8:
    """Return when a path may begin, ns per location: where it enters MPI_Init, without one at its first instant."""
    begin = view.trace.timeline.locations.enter.copy()
    call = np.flatnonzero(START[view.op])
    begin[view.location[call[::-1]]] = view.enter[call[::-1]]
    return begin


def end_of(view: View) -> tuple[int, int]:
    """Return (location, time) of the end of the path."""
    call = np.flatnonzero(FINALIZE[view.op])
    if len(call):
        last = int(call[view.enter[call].argmax()])
        return int(view.location[last]), int(view.enter[last])
    leave = view.trace.timeline.locations.leave
    return int(leave.argmax()), int(leave.max())


def metrics(impact: Impact) -> dict[str, Cells]:
    """Return the metrics of the path and its impact, rounded to ns."""
    on_path, off_path = impact.activities()
    cost, never_in_it = impact.cost()
    share = impact.path / np.maximum(impact.path.sum(axis=1), 1)[:, None]
    return {
        "critical_path": dense(impact.path),
        "critical_path_imbalance": dense(share * impact.imbalance[:, None]),
        "critical_path_activities": dense(on_path),
        "critical_imbalance_impact": dense(cost),
        "inter_partition_imbalance": dense(never_in_it),
        "non_critical_path_activities": dense(off_path),
    }


def imbalance_metrics(computation: I8, visited: Mask) -> dict[str, Cells]:
    """Return the metrics of computational imbalance, ns, each containing those below it, from computation and visits by (node, location).

    They do not look at who waits for whom: how far is each process from the mean, per call path (Scalasca).
    Above the mean: overload, of a single participant if nobody else visits the call path. Below: underload; of those who never visit it
    non-participation, and singularity if only one process does.
    """
    away = computation - computation.mean(axis=1, keepdims=True) if computation.size else computation.astype("f8")
    above, below = np.maximum(away, 0), np.maximum(-away, 0)
    alone = visited.sum(axis=1, keepdims=True) == 1
    bypassed = np.where(visited, 0, below)
    return {
        "imbalance": dense(above + below),
        "imbalance_above": dense(above),
        "imbalance_above_single": dense(np.where(alone & visited, above, 0)),
        "imbalance_below": dense(below),
        "imbalance_below_bypass": dense(bypassed),
        "imbalance_below_singularity": dense(np.where(alone, bypassed, 0)),
    }
