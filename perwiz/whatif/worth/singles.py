"""What each single call's wait, and each single call, is worth: all of them from one forward and one backward sweep.

    singles(run) -> Singles                   of a replayed run
    singles_of(weighted, time) -> Singles     of any weighted graph, under hypotheses too, and what `sweep` makes of it
    Singles.makespan, .zero_wait, .zero_time  ns; the last two int64 per call

PerWiz simulates once per call. But only what lies on a critical path can change the makespan; and if the edges into a vertex v of it are
removed, the longest path that remains steps over v with one edge (a, b): it is as long as the longest path to a, the edge, and the
longest path from b, which do without v. So each edge counts for the critical vertices between its ends.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.engines.sweep import critical_path, makespan, to_end
from perwiz.graph.border import Border
from perwiz.graph.graph import Graph
from perwiz.kernels import order as counting
from perwiz.kernels import singles as kernel
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace.arrays import I4, I8
from perwiz.trace.spread.share import Part
from perwiz.trace.spread.team import Team
from perwiz.whatif.run import Run, in_rounds


@dataclasses.dataclass(frozen=True, eq=False)
class Singles:
    """The makespan as it is and under each what-if about one call, ns."""

    makespan: int
    """Without any hypothesis."""
    zero_wait: I8
    """Per call, int64: if this one did not wait, as `zero-wait eN` has it."""
    zero_time: I8
    """Per call, int64: if this one took no time, as `zero-time eN` has it."""


def singles(run: Run) -> Singles:
    """Return the makespans of a run if one call did not wait or took no time, for every call, exactly."""
    asked = in_rounds(run)
    return singles_of(asked.weighted, asked.time)


def singles_of(weighted: Weighted, time: I8) -> Singles:
    """Return the makespans if one call did not wait or took no time, for every call, exactly; `time` is what `sweep` returns.

    No call may take less than no time: the weights of the edges from entered to returned are not negative, as `weigh` makes them.
    """
    graph, share = weighted.graph, weighted.trace.share
    now = makespan(graph, time, share)
    out = Singles(now, np.full(len(graph.returned), now, "i8"), np.full(len(graph.returned), now, "i8"))
    call = _critical_calls(graph, weighted.weight, time)
    if share.any(len(call)):
        begun = share.least(int(time[graph.begun[share.locations]].min(initial=np.iinfo("i8").max)))
        left, vertex = to_end(graph, weighted.weight), graph.returned[call]
        if isinstance(share, Part) and graph.border:
            best = _avoiding_together(weighted, share, graph.border, time, left, vertex)
        else:
            best = avoiding(graph, weighted.weight, time, left, vertex, vertex + 1)
        for passing, found in ((kernel.pass_at_once, out.zero_time), (kernel.pass_without_wait, out.zero_wait)):
            through = best.copy()
            passing(graph.start, graph.source, graph.kind, weighted.weight, time, left, vertex, through)
            found[call] = through - begun
    return out


def _critical_calls(graph: Graph, weight: I8, time: I8) -> I4:
    """Return the calls that return on one critical path, in its order."""
    call = graph.returning[graph.targets(critical_path(graph, weight, time))]
    return call[call >= 0]


def avoiding(graph: Graph, weight: I8, time: I8, left: I8, first: I4, end: I4) -> I8:
    """Return the latest end, int64 ns, of a path that avoids the vertices first .. end - 1, for each of some such windows; CUT: no path.

    `first` and `end`, int32, ascend; `left` is what `to_end` returns.
    """
    tree = np.full(2 * len(first), CUT, "i8")
    begun, closed = _passed(graph, first), _passed(graph, end)
    kernel.bridge_windows(graph.start, graph.source, weight, time, left, begun, closed, tree)
    del begun, closed
    kernel.push_down(tree)
    best = tree[len(first) :]
    kernel.miss_windows(time, left, np.sort(graph.ended), CUT, first, end, best)
    return best


def _avoiding_together(weighted: Weighted, share: Part, border: Border, time: I8, left: I8, vertex: I4) -> I8:
    """Return what `avoiding` returns of single vertices, of those of a path through all processes that this one has."""
    graph, own = weighted.graph, border.own
    place = _places(border, share.team, graph.vertices)
    windows = np.sort(share.rows(place[vertex]))
    tree = np.full(2 * len(windows), CUT, "i8")
    begun, closed = (np.searchsorted(windows, place, side).astype("i4") for side in ("right", "left"))
    start = np.maximum(graph.start, graph.start[own])  # nothing leads into vertices of others
    kernel.bridge_windows(start, graph.source, weighted.weight, time, left, begun, closed, tree)
    kernel.push_down(tree)
    best = tree[len(windows) :]
    first, end = (np.searchsorted(place[own:], windows, side).astype("i4") + np.int32(own) for side in ("left", "right"))
    kernel.miss_windows(time, left, np.sort(graph.ended[border.locations]), CUT, first, end, best)
    return share.reduced(best, "max")[np.searchsorted(windows, place[vertex])]


def _places(border: Border, team: Team, vertices: int) -> I8:
    """Return numbers of vertices, int64: of all processes in an order in which every edge leads onward. The origin is -1."""
    place = np.full(vertices, -1)
    for step in border.steps:
        place[step.first : step.end] = ((step.number * team.size + team.rank) << 32) + np.arange(step.first, step.end)
    border.forward(lambda first, end: None, place)
    return place


def _passed(graph: Graph, vertex: I4) -> I4:
    """Return, per vertex and one more, how many of these int32 are that vertex or one before it, int32."""
    out = np.zeros(graph.vertices + 1, "i4")
    counting.count(vertex, out)
    return np.cumsum(out, dtype="i4", out=out)
