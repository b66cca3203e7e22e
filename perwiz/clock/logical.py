"""The controlled logical clock: no effect before its cause, local intervals kept as far as possible (Becker et al. 2009, sections 3, 4).

A cause is the entry of a sending call or of a collective, its effect the return of the call that completes the receive or the collective;
so it is with links: between the threads and streams of a process, which share a clock, and between processes on windows. What puts one of
them forward, puts others forward that wait for it.
Records of messages lie inside these calls and keep their distance from entry and return, so that a message between two records takes that
much longer from entry to return.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.clock import offsets
from perwiz.clock.clock_graph import ClockGraph, Rounds, bind, shortest, vertex_times
from perwiz.clock.condition import Violations, violations
from perwiz.clock.latency import Latencies, safe
from perwiz.clock.passes import GAMMAS, STRETCH, Amortized, chosen, decay, room_for_hull
from perwiz.clock.regions import moved_regions
from perwiz.clock.roles import with_world_barriers
from perwiz.graph.build import build
from perwiz.graph.graph import Graph
from perwiz.kernels import clock_backward, clock_logical
from perwiz.kernels.names import FREE
from perwiz.shown import Shown
from perwiz.trace.arrays import I8
from perwiz.trace.resources import give_back
from perwiz.trace.tables import Times
from perwiz.trace.trace import Timeline, Trace


@dataclasses.dataclass(frozen=True, eq=False)
class Correction(Shown):
    """A corrected timeline, and how it came about."""

    trace: Trace
    """With the barriers of all processes the clocks were held to."""
    graph: Graph
    before: Timeline
    timeline: Timeline
    latencies: Latencies
    """Least times from a cause to its effect."""
    gamma: float
    """Control variable: a clock that was put forward runs so much slower until it is back."""
    passes: int
    """Forward passes until the control variable was found."""
    by_message: int
    """Returns of receiving calls that had to be put forward: jumps of a clock."""
    by_collective: int
    """Returns of collectives, and of barriers of threads, that had to be put forward."""
    by_link: int
    """Returns that had to be put forward as what lets them was: another thread, stream, or process on a window."""
    slope: float
    """Steepest slope of the backward amortization."""
    left: Violations
    """What stays reversed: only where causes and effects form a cycle, see `graph.contradictions` and `perwiz.clock.cycles`."""

    @property
    def jumps(self) -> int:
        """How often clocks were put forward."""
        return self.by_message + self.by_collective + self.by_link


def correct(
    trace: Trace,
    timeline: Timeline | None = None,
    graph: Graph | None = None,
    mu: int | tuple[int, int, int] | Latencies | None = None,
    gamma: float | None = None,
) -> Correction:
    """Return the correction of a timeline (the trace's own, measured offsets applied) by the controlled logical clock.

    No event is moved backwards; a timeline without violations is returned as it is, so correcting twice changes nothing. `mu` is the
    least time from a cause to its effect, ns, one number or one each for pairs of one node, of one metahost, and across; by default the
    shortest one recorded, by pair class, at most 1 us. `gamma`, above 0, at most 1, is by default chosen in passes. Without a `graph` one
    is built that takes MPI_Init and MPI_Finalize as barriers of the world. Several processes that have the parts of a trace correct it
    together; the answer is the same. Raises UsageError for other gamma or mu.
    """
    if timeline is None:
        trace = offsets.apply(trace)
        timeline = trace.timeline
    if graph is None:
        trace = with_world_barriers(trace)
        graph = build(trace)
        give_back(graph.vertices)
    trace.share.at("correcting")
    clock_graph = bind(trace, timeline, graph)
    time = np.zeros((2, graph.vertices), "i8")
    vertex_times(trace, timeline, graph, time[0])
    latencies = safe(shortest(clock_graph, time[0])) if mu is None else Latencies.of(mu)
    amortized = _amortized(trace, timeline, clock_graph, latencies, GAMMAS if gamma is None else (gamma,), time)
    del clock_graph
    before = timeline
    if amortized.jumps:
        timeline = _timeline(trace, before, graph, time)
    trace.share.at("judging")
    left = violations(trace, timeline)
    return Correction(trace, graph, before, timeline, latencies, **dataclasses.asdict(amortized), left=left)


def _amortized(
    trace: Trace, timeline: Timeline, clock_graph: ClockGraph, latencies: Latencies, gammas: tuple[float, ...], time: I8
) -> Amortized:
    """Return what the passes come to; `time[1]` becomes the corrected times."""
    forward = _Forward(trace, timeline, clock_graph, latencies, time)
    gamma, passes = chosen(forward.once, gammas)
    jumps = forward.jumps()
    slope = 0.0
    if any(jumps):
        forward.limits()
        slope = _backward(trace, timeline, clock_graph.graph, time)
    return Amortized(gamma, passes, *jumps, slope=slope)


class _Forward:
    """Forward amortization: `time[0]` holds recorded times, `time[1]` becomes the corrected ones."""

    def __init__(self, trace: Trace, timeline: Timeline, clock_graph: ClockGraph, latencies: Latencies, time: I8) -> None:
        self.trace, self.timeline, self.clock_graph = trace, timeline, clock_graph
        self.latencies, self.time = latencies, time
        self.clocks = clock_graph.clocks()
        self.fresh = True
        """`time[0]` does hold recorded times."""

    def once(self, gamma: float) -> float:
        """Do a pass, every clock reset; return the largest part of its run by which a clock was put forward."""
        graph = self.clock_graph
        self.clocks = graph.clocks()
        if not self.fresh:
            vertex_times(self.trace, self.timeline, graph.graph, self.time[0])
        self.fresh = False
        self.time[0, 1 : graph.graph.rounds.own] = FREE
        rounds, costs = Rounds(graph, graph.summaries()), (decay(gamma), self.latencies.by_class())
        rounds.forward(rounds.through(clock_logical.forward, self.clocks, costs, *self.time), self.time[1])
        run = self.timeline.locations.leave - self.timeline.locations.enter
        most = (self.clocks.most / np.maximum(run, 1)).max(initial=0)
        return float(self.trace.share.reduced(np.array([most]), "max")[0])

    def jumps(self) -> tuple[int, int, int]:
        """Return how often clocks were put forward by messages, by collectives and by links."""
        clocks = self.clocks
        by = np.array([column.sum() for column in (clocks.by_message, clocks.by_collective, clocks.by_link)], "i8")
        message, collective, link = self.trace.share.reduced(by, "sum").tolist()
        return message, collective, link

    def limits(self) -> None:
        """Write to `time[0]` how late each sending call may be entered."""
        graph = self.clock_graph
        rounds = Rounds(graph, graph.summaries())
        rounds.back(rounds.through(clock_logical.limits, self.clocks, (self.latencies.by_class(),), *self.time), self.time[0])


def _backward(trace: Trace, timeline: Timeline, graph: Graph, time: I8) -> float:
    """Amortize jumps backward in `time[1]`; return the steepest slope."""
    own = trace.share.locations
    begun, first = timeline.locations.enter[own], trace.first_calls[own.start or 0 :]
    first = np.ascontiguousarray(first[: len(begun) + 1])
    limit, corrected = time
    hull = room_for_hull(first)
    slope = clock_backward.backward(first, begun, graph.entered, graph.returned, limit, corrected, hull, STRETCH)
    return float(trace.share.reduced(np.array([slope]), "max")[0])


def _timeline(trace: Trace, before: Timeline, graph: Graph, time: I8) -> Timeline:
    """Return the timeline that the vertex times `time[1]` make."""
    share = trace.share
    calls = Times(share.shown(time[1][graph.entered]), share.shown(time[1][graph.returned]))
    locations = Times(share.of_locations(time[1][graph.begun]), share.of_locations(time[1][graph.ended]))
    regions = moved_regions(trace, before, calls, locations)
    return Timeline(calls, regions, locations, before.origin.corrected("the controlled logical clock"))
