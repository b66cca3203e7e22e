"""The controlled logical clock by several processes: each replays its part round by round, forward and backward (Becker et al. 2009, 5).

A process goes through a round as soon as it has what crosses before it. What it needs was sent in earlier rounds, so nobody waits for ever.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from perwiz.clock.latency import Latencies
from perwiz.clock.passes import STRETCH, Amortized, by_class, chosen, decay, room_for_hull
from perwiz.clock.spread.partition import TYPES, Part, cut, parts
from perwiz.clock.spread.team import Order, Team, swap
from perwiz.clock.wiring import Rows, Wiring, clocks_at_rest, empty_summaries
from perwiz.kernels import clock_backward, clock_logical
from perwiz.kernels.names import FREE
from perwiz.trace.arrays import Ints
from perwiz.trace.trace import Timeline, Trace

_NUMBERS = clock_logical.SUMMARY.itemsize // 8
"""Numbers in the summary of a hub."""
_Bundles = dict[int, list[list[int]]]
"""By round: process, range of stamps, range of hubs."""


def lead(team: Team, trace: Trace, timeline: Timeline, wiring: Wiring, order: Order, time: NDArray[np.int64]) -> Amortized:
    """Return what all processes together come to, for rank 0, which deals out the parts; `time[1]` becomes the corrected times."""
    Latencies(*order[0]), decay(order[1][0])  # refuse wrong ones before anybody is told
    team.tell(order)
    try:
        return _lead(team, trace, timeline, wiring, order, time)
    except BaseException:
        team.abort()
        raise


def _lead(team: Team, trace: Trace, timeline: Timeline, wiring: Wiring, order: Order, time: NDArray[np.int64]) -> Amortized:
    found = cut(trace, wiring, team.size)
    dealt = parts(found, trace, timeline, wiring, time[0])
    own = next(dealt)
    for rank, part in enumerate(dealt, 1):
        swap(team, [getattr(part, name) for name in Part.__dataclass_fields__], TYPES, rank)
    player = _Player(team, own)
    out = player.run(order)
    sorted_times = np.empty(len(found.owner), "i8")
    for rank in range(team.size):
        first, end = found.span(rank)
        if rank:
            team.take(rank, sorted_times[first:end])
        else:
            sorted_times[first:end] = player.time[1][1:]
    time[1] = sorted_times[found.place]
    return out


def follow(team: Team) -> None:
    """Play the parts that rank 0 deals to this process, until it says that there are no more."""
    try:
        while (order := team.tell(None)) is not None:
            player = _Player(team, Part(*swap(team, None, TYPES, 0)))
            player.run(order)
            team.put(0, player.time[1][1:])
            team.flush()
    except BaseException:
        team.abort()
        raise


class _Player:
    """One process at work on its part: `time[0]` holds recorded times, `time[1]` becomes the corrected ones."""

    def __init__(self, team: Team, part: Part) -> None:
        self.team, self.part = team, part
        self.time = np.empty((2, len(part.owner)), "i8")
        self.clocks = clocks_at_rest(part.nodes, part.metahosts)
        self.summaries = self._summaries()
        self.mu = Latencies(0, 0, 0)
        self.out, self.into = _by_round(part.bundles_out), _by_round(part.bundles_in)
        some = np.flatnonzero(np.diff(part.round))
        self.rounds = sorted({*some.tolist(), *self.out, *(number + 1 for number in self.into)})

    def run(self, order: Order) -> Amortized:
        """Return what all processes together come to."""
        self.mu = Latencies(*order[0])
        gamma, passes = chosen(self._once, order[1])
        here, clocks = self.part.here, self.clocks
        message, collective = (int(self.team.agree(int(jumps[here].sum()), "sum")) for jumps in (clocks.by_message, clocks.by_collective))
        slope = self._amortize() if message + collective else 0.0
        return Amortized(gamma, passes, message, collective, self.team.agree(slope, "max"))

    def _summaries(self) -> Rows:
        return empty_summaries(-int(self.part.owner.min()))

    def _once(self, gamma: float) -> float:
        """Do a pass forward, every clock reset; return the largest part of its run by which a clock was put forward, of all processes."""
        part = self.part
        self.clocks, self.summaries = clocks_at_rest(part.nodes, part.metahosts), self._summaries()
        self.time[0] = self.time[1] = part.recorded
        self.time[0, : part.round[0]] = FREE
        for number in self.rounds:
            for bundle in self.into.get(number - 1, ()):
                self._copy(bundle)
            self._through(number, clock_logical.forward, decay(gamma), by_class(self.mu))
            for bundle in self.out.get(number, ()):
                self._put(bundle, part.stamps_out, part.hubs_out, self.time[1])
        self.team.flush()
        return self.team.agree(float((self.clocks.most[part.here] / np.maximum(part.run, 1)).max(initial=0)), "max")

    def _amortize(self) -> float:
        """Find how late sending calls may be entered, a pass against the order, and amortize backward; return the steepest slope."""
        part = self.part
        self.summaries = self._summaries()
        for number in reversed(self.rounds):
            for bundle in self.out.get(number, ()):
                self._limit(bundle)
            self._through(number, clock_logical.limits, by_class(self.mu))
            for bundle in self.into.get(number - 1, ()):
                self._put(bundle, part.stamps_in, part.hubs_in, self.time[0])
        self.team.flush()
        limit, corrected = self.time
        hull = room_for_hull(part.first)
        return clock_backward.backward(part.first, part.begun, part.entered, part.returned, limit, corrected, hull, STRETCH)

    def _through(self, number: int, kernel: Callable[..., None], *costs: int | Ints) -> None:
        """Let a kernel pass through the vertices of one round."""
        part = self.part
        first, end = part.round[number], part.round[number + 1]
        start, owner = part.start[first : end + 1], part.owner[:end]
        kernel(start, part.source, part.lane, owner, self.clocks, *costs, self.summaries, *self.time)

    def _put(self, bundle: list[int], stamps: Ints, hubs: Ints, times: Ints) -> None:
        peer, first, end, hub, last = bundle
        self.team.put(peer, np.concatenate((times[stamps[first:end]], np.asarray(self.summaries[hubs[hub:last]]).view("i8"))))

    def _take(self, bundle: list[int], hubs: Ints) -> Ints:
        """Return the stamps of a bundle; the summaries of hubs are put in their places."""
        peer, first, end, hub, last = bundle
        data = np.empty(end - first + _NUMBERS * (last - hub), "i8")
        self.team.take(peer, data)
        if last > hub:
            self.summaries[hubs[hub:last]] = data[end - first :].view(clock_logical.SUMMARY)
        return data[: end - first]

    def _copy(self, bundle: list[int]) -> None:
        """Let copies have the times of their originals."""
        stamps = self._take(bundle, self.part.hubs_in)
        self.time[1, self.part.stamps_in[bundle[1] : bundle[2]]] = stamps

    def _limit(self, bundle: list[int]) -> None:
        """Lower the limits of originals to those of their copies."""
        stamps = self._take(bundle, self.part.hubs_out)
        vertices = self.part.stamps_out[bundle[1] : bundle[2]]
        self.time[0, vertices] = np.minimum(self.time[0, vertices], stamps)


def _by_round(bundles: Ints) -> _Bundles:
    out: _Bundles = {}
    for number, *bundle in bundles.reshape(-1, 6).tolist():
        out.setdefault(number, []).append(bundle)
    return out
