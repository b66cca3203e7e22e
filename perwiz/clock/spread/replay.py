"""The controlled logical clock by several processes: each replays its part round by round, forward and backward (Becker et al. 2009, 5).

A process goes through a round as soon as it has what crosses before it. What it needs was sent in earlier rounds, so nobody waits for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from perwiz.clock.clock_graph import ClockGraph, Rows, clocks_at_rest, empty_summaries
from perwiz.clock.latency import Latencies
from perwiz.clock.passes import STRETCH, Amortized, chosen, decay, room_for_hull
from perwiz.clock.spread.partition import TYPES, Part, cut, parts
from perwiz.clock.spread.processes import Order, Processes, receive_columns, send_columns
from perwiz.kernels import clock_backward, clock_logical
from perwiz.kernels.names import FREE
from perwiz.trace.arrays import I4, I8
from perwiz.trace.trace import Timeline, Trace

_NUMBERS = clock_logical.SUMMARY.itemsize // 8
"""Numbers in the summary of a hub."""


class _Bundle(NamedTuple):
    """What crosses between two processes after a round: to or from whom, rows of the time stamps, rows of the hubs."""

    peer: int
    stamps: slice
    hubs: slice


def correct_as_root(processes: Processes, trace: Trace, timeline: Timeline, clock_graph: ClockGraph, order: Order, time: I8) -> Amortized:
    """Return what all processes together come to, for rank 0, which deals out the parts; `time[1]` becomes the corrected times."""
    decay(order.gammas[0])  # refuses a wrong one before anybody is told
    processes.broadcast(order)
    try:
        whole = cut(trace, clock_graph, processes.size)
        dealt = parts(whole, trace, timeline, clock_graph, time[0])
        replayer = Replayer(processes, next(dealt))
        for rank, part in enumerate(dealt, 1):
            send_columns(processes, [getattr(part, name) for name in TYPES], rank)
        out = replayer.run(order)
        sorted_times = np.empty(len(whole.owner), "i8")
        for rank in range(processes.size):
            first, end = whole.span(rank)
            if rank:
                processes.receive(rank, sorted_times[first:end])
            else:
                sorted_times[first:end] = replayer.time[1][1:]
        time[1] = sorted_times[whole.place]
        return out
    except BaseException:
        processes.abort()
        raise


def serve(processes: Processes) -> None:
    """Replay the parts that rank 0 deals to this process, until it says that there are no more."""
    try:
        while (order := processes.broadcast(None)) is not None:
            replayer = Replayer(processes, Part(*receive_columns(processes, list(TYPES.values()), 0)))
            replayer.run(order)
            processes.send(0, replayer.time[1][1:])
            processes.wait_for_sends()
    except BaseException:
        processes.abort()
        raise


class Replayer:
    """One process at work on its part: `time[0]` holds recorded times, `time[1]` becomes the corrected ones."""

    def __init__(self, processes: Processes, part: Part) -> None:
        self.processes, self.part = processes, part
        self.time = np.empty((2, len(part.owner)), "i8")
        self.clocks = clocks_at_rest(part.processes, part.nodes, part.metahosts)
        self.summaries = self._summaries()
        self.latencies = Latencies(0, 0, 0)
        self.out, self.into = _by_round(part.bundles_out), _by_round(part.bundles_in)
        with_vertices = np.flatnonzero(np.diff(part.round))
        self.rounds = sorted({*with_vertices.tolist(), *self.out, *(number + 1 for number in self.into)})

    def run(self, order: Order) -> Amortized:
        """Return what all processes together come to."""
        self.latencies = order.latencies
        gamma, passes = chosen(self._once, order.gammas)
        locations = self.part.locations
        counts = (self.clocks.by_message, self.clocks.by_collective, self.clocks.by_link)
        message, collective, link = (int(self.processes.reduce(int(count[locations].sum()), "sum")) for count in counts)
        slope = self._amortize() if message + collective + link else 0.0
        return Amortized(gamma, passes, message, collective, link, self.processes.reduce(slope, "max"))

    def _summaries(self) -> Rows:
        return empty_summaries(-int(self.part.owner.min()))

    def _once(self, gamma: float) -> float:
        """Do a pass forward, every clock reset; return the largest part of its run by which a clock was put forward, of all processes."""
        part = self.part
        self.clocks, self.summaries = clocks_at_rest(part.processes, part.nodes, part.metahosts), self._summaries()
        self.time[0] = self.time[1] = part.recorded
        self.time[0, : part.round[0]] = FREE
        for number in self.rounds:
            for bundle in self.into.get(number - 1, ()):
                self._copy(bundle)
            self._through(number, clock_logical.forward, decay(gamma), self.latencies.by_class())
            for bundle in self.out.get(number, ()):
                self._send(bundle, part.stamps_out, part.hubs_out, self.time[1])
        self.processes.wait_for_sends()
        return self.processes.reduce(float((self.clocks.most[part.locations] / np.maximum(part.run, 1)).max(initial=0)), "max")

    def _amortize(self) -> float:
        """Find how late sending calls may be entered, a pass against the order, and amortize backward; return the steepest slope."""
        part = self.part
        self.summaries = self._summaries()
        for number in reversed(self.rounds):
            for bundle in self.out.get(number, ()):
                self._limit(bundle)
            self._through(number, clock_logical.limits, self.latencies.by_class())
            for bundle in self.into.get(number - 1, ()):
                self._send(bundle, part.stamps_in, part.hubs_in, self.time[0])
        self.processes.wait_for_sends()
        limit, corrected = self.time
        hull = room_for_hull(part.first)
        return clock_backward.backward(part.first, part.begun, part.entered, part.returned, limit, corrected, hull, STRETCH)

    def _through(self, number: int, kernel: Callable[..., None], *costs: int | I8) -> None:
        """Let a kernel pass through the vertices of one round."""
        part = self.part
        first, end = part.round[number], part.round[number + 1]
        start, owner = part.start[first : end + 1], part.owner[:end]
        kernel(start, part.source, part.binding, part.cause, part.inside, owner, self.clocks, *costs, self.summaries, *self.time)

    def _send(self, bundle: _Bundle, stamps: I4, hubs: I4, times: I8) -> None:
        hub_numbers = np.asarray(self.summaries[hubs[bundle.hubs]]).view("i8")
        self.processes.send(bundle.peer, np.concatenate((times[stamps[bundle.stamps]], hub_numbers)))

    def _receive(self, bundle: _Bundle, hubs: I4) -> I8:
        """Return the stamps of a bundle; the summaries of hubs are put in their places."""
        rows = hubs[bundle.hubs]
        count = bundle.stamps.stop - bundle.stamps.start
        data = np.empty(count + _NUMBERS * len(rows), "i8")
        self.processes.receive(bundle.peer, data)
        self.summaries[rows] = data[count:].view(clock_logical.SUMMARY)
        return data[:count]

    def _copy(self, bundle: _Bundle) -> None:
        """Let copies have the times of their originals."""
        self.time[1, self.part.stamps_in[bundle.stamps]] = self._receive(bundle, self.part.hubs_in)

    def _limit(self, bundle: _Bundle) -> None:
        """Lower the limits of originals to those of their copies."""
        stamps = self._receive(bundle, self.part.hubs_out)
        vertices = self.part.stamps_out[bundle.stamps]
        self.time[0, vertices] = np.minimum(self.time[0, vertices], stamps)


def _by_round(bundles: I8) -> dict[int, list[_Bundle]]:
    """Return the bundles of each round."""
    out: dict[int, list[_Bundle]] = {}
    for number, peer, *rows in bundles.reshape(-1, 6).tolist():
        out.setdefault(number, []).append(_Bundle(peer, slice(*rows[:2]), slice(*rows[2:])))
    return out
