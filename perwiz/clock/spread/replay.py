"""The controlled logical clock by several processes: each replays its part round by round, forward and backward (Becker et al. 2009, 5).

A process goes through a round as soon as it has what crosses before it. What it needs was sent in earlier rounds, so nobody waits for ever.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from perwiz.clock.latency import FREE, Latencies
from perwiz.clock.passes import STRETCH, Amortized, chosen, rule
from perwiz.clock.spread.partition import TYPES, Part, cut, parts
from perwiz.clock.spread.team import Order, Team, swap
from perwiz.clock.wiring import Wiring, rows_of_places, rows_of_tops
from perwiz.kernels import clock_backward, clock_logical
from perwiz.trace.arrays import Ints
from perwiz.trace.trace import Timeline, Trace

_CELLS = 5
"""Numbers in the summary of a hub."""
_Bundles = dict[int, list[list[int]]]
"""By round: process, range of stamps, range of hubs."""


def lead(team: Team, trace: Trace, timeline: Timeline, wiring: Wiring, order: Order, time: NDArray[np.int64]) -> Amortized:
    """Return what all processes together come to, for rank 0, which deals out the parts; `time[1]` becomes the corrected times."""
    rule(Latencies(*order[0]), order[1][0])  # refuses a wrong one before anybody is told
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
        self.places = rows_of_places(part.nodes, part.metahosts)
        self.tops = self._tops()
        self.mu = Latencies(0, 0, 0)
        self.out, self.into = _by_round(part.bundles_out), _by_round(part.bundles_in)
        some = np.flatnonzero(np.diff(part.round))
        self.rounds = sorted({*some.tolist(), *self.out, *(number + 1 for number in self.into)})

    def run(self, order: Order) -> Amortized:
        """Return what all processes together come to."""
        self.mu = Latencies(*order[0])
        gamma, passes = chosen(self._once, order[1])
        message, collective = (int(self.team.agree(int(self.places[self.part.here, column].sum()), "sum")) for column in (7, 8))
        slope = self._amortize() if message + collective else 0.0
        return Amortized(gamma, passes, message, collective, self.team.agree(slope, "max"))

    def _tops(self) -> NDArray[np.int64]:
        return rows_of_tops(-int(self.part.owner.min()))

    def _once(self, gamma: float) -> float:
        """Do a pass forward, every clock reset; return the largest part of its run by which a clock was put forward, of all processes."""
        part = self.part
        self.places, self.tops = rows_of_places(part.nodes, part.metahosts), self._tops()
        self.time[0] = self.time[1] = part.recorded
        self.time[0, : part.round[0]] = FREE
        going = rule(self.mu, gamma)
        for number in self.rounds:
            for bundle in self.into.get(number - 1, ()):
                self._copy(bundle)
            self._through(number, clock_logical.forward, going)
            for bundle in self.out.get(number, ()):
                self._put(bundle, part.stamps_out, part.hubs_out, self.time[1])
        self.team.flush()
        return self.team.agree(float((self.places[part.here, 6] / np.maximum(part.run, 1)).max(initial=0)), "max")

    def _amortize(self) -> float:
        """Find how late sending calls may be entered, a pass against the order, and amortize backward; return the steepest slope."""
        part = self.part
        self.tops = self._tops()
        going = rule(self.mu, 1)
        for number in reversed(self.rounds):
            for bundle in self.out.get(number, ()):
                self._limit(bundle)
            self._through(number, clock_logical.limits, going)
            for bundle in self.into.get(number - 1, ()):
                self._put(bundle, part.stamps_in, part.hubs_in, self.time[0])
        self.team.flush()
        hull = np.empty((int(np.diff(part.first).max(initial=0)) + 2, 2), "i8")
        return clock_backward.backward(part.first, part.begun, part.entered, part.returned, self.time, hull, STRETCH)

    def _through(self, number: int, kernel: Callable[..., None], going: Ints) -> None:
        """Let a kernel pass through the vertices of one round."""
        part = self.part
        first, end = part.round[number], part.round[number + 1]
        kernel(part.start[first : end + 1], part.source, part.lane, part.owner[:end], self.places, going, self.tops, self.time)

    def _put(self, bundle: list[int], stamps: Ints, hubs: Ints, times: Ints) -> None:
        peer, first, end, hub, last = bundle
        self.team.put(peer, np.concatenate((times[stamps[first:end]], self.tops[hubs[hub:last]].ravel())))

    def _take(self, bundle: list[int], hubs: Ints) -> Ints:
        """Return the stamps of a bundle; the summaries of hubs are put in their places."""
        peer, first, end, hub, last = bundle
        data = np.empty(end - first + _CELLS * (last - hub), "i8")
        self.team.take(peer, data)
        if last > hub:
            self.tops[hubs[hub:last]] = data[end - first :].reshape(-1, _CELLS)
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
