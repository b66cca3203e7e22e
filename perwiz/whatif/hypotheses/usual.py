"""Computation that takes as long as it usually does: of other steps, of other ranks, of all."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.graph.graph import GAP
from perwiz.loggps.weigh import CUT, Weighted, vertex_times
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Mask, chunks, medians
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import listed
from perwiz.whatif.hypotheses.computation import OfSegments
from perwiz.whatif.hypotheses.stretch import Segments, shares
from perwiz.whatif.limits.pauses import ITERATIONS, late, pauses, without

_BUT, _OF_ALL = "all but ", "=all"
_PLACES = ("rank:", "node:", "group:")
_MEETS = operations.TALKS & ~np.isin(np.arange(len(operations.OPS)), operations.FINALIZES)


class Usual(OfSegments):
    """In each step of a region, or iteration, in which a process pauses (`pauses`) it computes as long as it usually does: its own median.

    `iterations@rank:3`, `REGION@node:NAME`: only those processes, threads or streams.
    """

    word, of_calls, keeps_calls = "usual", True, True

    def changed(self, segments: Segments, length: I8) -> tuple[I8, I8]:
        """Return the segments of the steps in which their location pauses, the longest of what takes longer than usual there cut."""
        name, own = self._named(segments.trace)
        found = pauses(segments, length, name)
        return without(segments, length, dataclasses.replace(found, paused=found.paused & own))

    def in_calls(self, weighted: Weighted) -> None:
        """Let processes that paused before the iterations that are asked about begin as late as they usually begin one."""
        name, own = self._named(weighted.trace)
        if name == ITERATIONS and name not in weighted.trace.names:
            weighted.weight[weighted.graph.start[weighted.graph.begun[own]]] -= late(weighted.trace)[own]

    def _named(self, trace: Trace) -> tuple[str, Mask]:
        """Return the region, or iterations, and the locations that are meant."""
        name, place = selectors.placed(self.argument, trace.names)
        return name, selectors.locations(trace, place) if place else np.ones(len(trace.locations), bool)


class Typical(OfSegments):
    """Each instance of some regions takes the mean of its region path, and each message and collective call made in them, beside waiting,
    the median of its call site: all of them, those of some regions, ranks, nodes or groups, or `all but` these.

    Mean and median are of all steps; of ranks, nodes and groups that are named, of the others, and what none of these does stays. With
    `rank:0=all`, and if others than ranks are named, of all processes: so straggling operations are made equal by Lin et al. (OSDI 2025,
    3.2).
    """

    word, example, of_calls = "typical", "all", True

    def changed(self, segments: Segments, length: I8) -> tuple[I8, I8]:
        """Return the segments of each chosen instance, without those in it, with the mean."""
        trace, instance, names = segments.trace, segments.instance, self._named(segments.trace)
        usual = self._usual(trace, names)
        mean = _mean(segments, length, usual)
        inside = np.zeros(len(length), bool)
        for name in names.regions:
            inside[segments.inside(selectors.instances(trace, name))[0]] = True
        chosen = self._is_chosen(trace, names, inside, segments.location) & (instance >= 0)
        rows = np.flatnonzero(chosen)
        rows = rows[mean[segments.path[rows]] >= 0]
        rows = rows[np.argsort(instance[rows], kind="stable")]
        return rows, shares(length[rows], instance[rows].astype("i8"), mean[trace.regions.path])

    def in_calls(self, weighted: Weighted) -> None:
        """Let each chosen message and collective call take, beside waiting, the median of its call site."""
        trace = weighted.trace
        meets = np.flatnonzero(_MEETS[trace.calls.op])
        if not len(meets):
            return
        names, own = self._named(trace), _Meeting.of(weighted, meets)
        site, sites = selectors.sites(trace)
        usual = self._usual(trace, names)[trace.calls.location[meets]]
        typical = np.full(len(sites), CUT)
        typical[site[meets[usual]]] = np.rint(medians(site[meets[usual]], own.took[usual])[0])
        inside = np.zeros(len(trace.calls), bool)
        for name in names.regions:
            inside |= selectors.inside(trace, selectors.region(trace, name))
        chosen = self._is_chosen(trace, names, inside[meets], trace.calls.location[meets])
        median = np.where(chosen, typical[site[meets]], CUT)[own.call]
        changed = (median != CUT) & (weighted.weight[own.edge] != CUT)
        weighted.weight[own.edge[changed]] = median[changed]

    def _named(self, trace: Trace) -> _Named:
        """Return what the argument names."""
        text = self.argument
        if text in trace.names:
            return _Named([], [text], but=False, of_all=True)
        if text == "all":
            return _Named([], [], but=False, of_all=True)
        but, of_all = text.startswith(_BUT), text.endswith(_OF_ALL)
        names = listed(text.removeprefix(_BUT).removesuffix(_OF_ALL), trace.names)
        places = [name for name in names if name.startswith(_PLACES) and name not in trace.names]
        return _Named(places, [name for name in names if name not in places], but, of_all or but)

    def _usual(self, trace: Trace, names: _Named) -> Mask:
        """Return the locations that say what is usual: those not named, but of all if all are named or all are to say it."""
        if names.of_all:
            return np.full(len(trace.locations), True)
        others = np.full(len(trace.locations), True)
        for place in names.places:
            others &= ~selectors.locations(trace, place)
        return others if others.any() else ~others

    def _is_chosen(self, trace: Trace, names: _Named, inside: Mask, location: I4) -> Mask:
        """Return which of some rows are meant: those in the regions named, or on the locations named."""
        out = inside.copy()
        for place in names.places:
            out |= selectors.locations(trace, place)[location]
        return ~out if names.but or not (names.places or names.regions) else out


@dataclasses.dataclass(frozen=True)
class _Named:
    """What `typical` names: ranks, nodes and groups, and regions, none of both for all; all but them; whether all say what is usual."""

    places: list[str]
    regions: list[str]
    but: bool
    of_all: bool


@dataclasses.dataclass(frozen=True, eq=False)
class _Meeting:
    """Some calls of the recorded run: the edges into their returns, but gaps, which of the calls each is of, and what calls take."""

    edge: I8
    call: I8
    took: I8
    """Behind the last partner they wait for, ns, at least 0; no longer than the weights say, which may explain that otherwise, as waiting
    for ranks whose traces are missing.
    """

    @classmethod
    def of(cls, weighted: Weighted, calls: I8) -> _Meeting:
        """Return it, given rows of calls."""
        graph, times = weighted.graph, weighted.timeline.calls
        first, end = (graph.start[graph.returned[calls] + k].astype("i8") for k in range(2))
        call = np.repeat(np.arange(len(calls)), end - first)
        edge = np.arange(len(call)) + (end - np.cumsum(end - first))[call]
        kept = graph.kind[edge] != GAP
        edge, call = edge[kept], call[kept]
        last, explained = times.enter[calls], np.zeros(len(calls), "i8")
        np.maximum.at(last, call, vertex_times(weighted.timeline, graph, np.zeros(graph.edges, "i8"))[graph.source[edge]])
        np.maximum.at(explained, call, weighted.weight[edge])
        return cls(edge, call, np.minimum(np.maximum(times.leave[calls] - last, 0), explained))


def _mean(segments: Segments, length: I8, usual: Mask) -> I8:
    """Return how long the instances of each region path on some locations are on average, without those in them, ns; -1 if there are none.

    `length` is that of the segments.
    """
    trace = segments.trace
    took = np.zeros(len(trace.paths))
    for some in chunks(len(length)):
        path = segments.path[some]
        own = (path >= 0) & usual[segments.location[some]]
        took += np.bincount(path[own], length[some][own], len(took))
    count = np.bincount(trace.regions.path[usual[trace.regions.location]], minlength=len(trace.paths))
    return np.where(count, np.rint(took / np.maximum(count, 1)), -1).astype("i8")
