"""The fluid engine: a discrete-event simulation (simpy) of calls and of messages that flow through links, one with the other.

It defines what `whatif.links.settled` comes to by passes of the sweep: no message is delayed by one that has not begun, and a call goes on
when the messages that it waits for have flowed.
"""

from __future__ import annotations

import collections
from collections.abc import Generator
from typing import Any

import numpy as np

from perwiz.graph.graph import Graph
from perwiz.loggps.links import flows
from perwiz.loggps.links.flows import Flows
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace.arrays import I8

_ALMOST = 1e-9
"""Part of a number that rounding may have added to it."""


def simulate(weighted: Weighted, weight: I8) -> I8:
    """Return the earliest time of every vertex, int64 ns by position, as messages flow through the links of the network now.

    `weight` has the weights of edges without any delays, which are not negative where they bind.
    """
    import simpy

    trace, graph, model, size = weighted.placed, weighted.graph, weighted.network, weighted.size
    found = flows.flows(trace, graph, model, size, weighted.rounds)
    carried: dict[int, list[int]] = collections.defaultdict(list)
    for edge, message in zip(*(column.tolist() for column in flows.carriers(trace, graph, model, size, weighted.rounds)), strict=True):
        carried[edge].append(message)
    env = simpy.Environment()
    reached = [env.event() for _ in range(graph.vertices)]
    flowed = {message: env.event() for message in found.message.tolist()}
    links = _Links(env, found, flowed)
    for row in range(len(found.message)):
        causes = [(reached[found.begins[row]], int(found.after[row]))]
        if found.posted[row]:
            causes.append((reached[found.posts[row]], int(found.after_post[row])))
        env.process(links.pass_through(row, causes))
    for vertex in range(graph.vertices):
        env.process(_happen(env, graph, weight, vertex, reached, carried, flowed))
    env.run()
    return np.array([event.value for event in reached], "i8")


def _happen(
    env: Any, graph: Graph, weight: I8, vertex: int, reached: list[Any], carried: dict[int, list[int]], flowed: dict[int, Any]
) -> Generator[Any, Any, None]:
    """Let a vertex happen when all that comes before it has, and the messages on its edges have flowed."""
    time = 0
    for edge in range(graph.start[vertex], graph.start[vertex + 1]):
        if weight[edge] == CUT:
            continue
        before = yield reached[graph.source[edge]]
        longest = 0
        for message in carried[edge]:
            if message in flowed:
                longest = max(longest, (yield flowed[message]))
        time = max(time, before + int(weight[edge]) + longest)
    yield env.timeout(max(0, time - env.now))
    reached[vertex].succeed(time)


class _Links:
    """What flows now, and how fast."""

    def __init__(self, env: Any, found: Flows, flowed: dict[int, Any]) -> None:
        self.env, self.found, self.flowed = env, found, flowed
        self.begun: dict[int, int] = {}
        self.left: dict[int, float] = {}
        self.rate: dict[int, float] = {}
        self.since, self.change = 0.0, 0

    def pass_through(self, row: int, causes: list[tuple[Any, int]]) -> Generator[Any, Any, None]:
        """Let a message flow from when its causes let it until all of it has."""
        start = 0
        for event, after in causes:
            start = max(start, (yield event) + after)
        yield self.env.timeout(max(0, start - self.env.now))
        self._flow_on()
        self.begun[row] = start
        self.left[row] = float(self.found.volume[row])
        self._share()

    def _flow_on(self) -> None:
        """Let what is there flow until now."""
        for row, rate in self.rate.items():
            self.left[row] -= rate * (self.env.now - self.since)
        self.since = self.env.now

    def _share(self) -> None:
        """Find the rates of all that is there, and wait for the first to be done."""
        self.rate = max_min(self.found, list(self.left))
        self.change += 1
        if self.left:
            first = min(max(left, 0.0) / self.rate[row] for row, left in self.left.items())
            self.env.process(self._wait(first, self.change))

    def _wait(self, time: float, change: int) -> Generator[Any, Any, None]:
        yield self.env.timeout(time)
        if change != self.change:
            return
        self._flow_on()
        found = self.found
        for row in [row for row, left in self.left.items() if left <= max(found.volume[row] * _ALMOST, self.rate[row] * 1e-4)]:
            del self.left[row]
            alone = found.volume[row] / found.most
            self.flowed[int(found.message[row])].succeed(round(self.env.now - self.begun[row] - alone) + int(found.farther[row]))
        self._share()


def max_min(found: Flows, rows: list[int]) -> dict[int, float]:
    """Return the rate of each of some flows: all grow alike until a link is full, those on it stop, and so on (progressive filling)."""
    spare = found.capacity.tolist()
    ways = {row: range(found.first[found.route[row]], found.first[found.route[row] + 1]) for row in rows}
    growing, rate = set(rows), dict.fromkeys(rows, 0.0)
    while growing:
        wanted: dict[int, float] = collections.defaultdict(float)
        for row in growing:
            for e in ways[row]:
                wanted[int(found.link[e])] += float(found.part[e])
        level = rate[next(iter(growing))]
        more = min([found.most - level, *(spare[link] / part for link, part in wanted.items())])
        for link, part in wanted.items():
            spare[link] -= more * part
        full = {link for link in wanted if spare[link] <= found.capacity[link] * _ALMOST}
        for row in growing:
            rate[row] = level + more
        alone = level + more >= found.most * (1 - _ALMOST)
        growing = set() if alone else {row for row in growing if not any(int(found.link[e]) in full for e in ways[row])}
    return rate
