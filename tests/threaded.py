"""Processes that correct clocks together, as threads of this one, without MPI. And what they are given to correct.

As a program under mpiexec it corrects the catalogue with those of MPI, and prints what differs from one process alone.
"""

from __future__ import annotations

import collections
import dataclasses
import queue
import threading

import numpy as np

import build
from perwiz.clock.figures import figures
from perwiz.clock.logical import correct
from perwiz.clock.spread import mpi as distributed
from perwiz.clock.spread.replay import serve
from perwiz.trace.tables import Times
from perwiz.trace.trace import Timeline

OFF = (60_000, 0, 90_000, 5_000)
DRIFT = (50, 0, 900, 3)
PATIENCE = 20
"""Seconds without a message after which a thread gives up: the others are stuck."""


class Thread:
    """One of the processes."""

    def __init__(self, rank, size, ways, meeting, values):
        self.rank, self.size = rank, size
        self._ways, self._meeting, self._values = ways, meeting, values

    def _all(self, value):
        """Return what everybody says."""
        self._values[self.rank] = value
        self._meeting.wait(PATIENCE)
        out = list(self._values)
        self._meeting.wait(PATIENCE)
        return out

    def broadcast(self, order):
        return self._all(order)[0]

    def send(self, to, data):
        self._ways[self.rank, to].put(np.array(data))

    def receive(self, source, data):
        came = self._ways[source, self.rank].get(timeout=PATIENCE)
        assert (came.shape, came.dtype) == (data.shape, data.dtype)
        data[:] = came

    def wait_for_sends(self):
        pass

    def reduce(self, value, how):
        return {"max": max, "sum": sum}[how](self._all(value))

    def abort(self):
        self._meeting.abort()


def together(size, work):
    """Return what `work(processes)` returns on rank 0 of so many threads; every message must have been taken."""
    ways, meeting, values = collections.defaultdict(queue.Queue), threading.Barrier(size), [None] * size
    for giver in range(size):
        for taker in range(size):
            ways[giver, taker] = queue.Queue()
    processes = [Thread(rank, size, ways, meeting, values) for rank in range(size)]
    others = [threading.Thread(target=serve, args=(one,), daemon=True) for one in processes[1:]]
    for other in others:
        other.start()
    try:
        out = work(processes[0])
    finally:
        processes[0].broadcast(None)
        for other in others:
            other.join(PATIENCE)
    assert all(way.empty() for way in ways.values())
    return out


def shifted(trace, off=OFF, drift=DRIFT):
    """Return the trace as clocks show it that are off by `off` ns and fast by `drift` parts per million, location by location."""
    count = len(trace.locations)
    off, drift = np.resize(np.array(off, "i8"), count), np.resize(np.array(drift, "i8"), count)

    def moved(times, location):
        return Times(*(t + off[location] + t * drift[location] // 1_000_000 for t in (times.enter, times.leave)))

    line = trace.timeline
    parts = moved(line.calls, trace.calls.location), moved(line.regions, trace.regions.location), moved(line.locations, np.arange(count))
    return dataclasses.replace(trace, timeline=Timeline(*parts))


def placed(trace, node, metahost):
    """Return the trace with its locations on these nodes and metahosts, over and over."""
    count = len(trace.locations)
    at = {"node": np.resize(np.array(node, "i4"), count), "metahost": np.resize(np.array(metahost, "i4"), count)}
    return dataclasses.replace(trace, locations=dataclasses.replace(trace.locations, **at))


def variants(trace):
    """Return (trace, options) as it is, by clocks that are off, and by others, on nodes of metahosts with latencies of their own."""
    other = placed(shifted(trace, OFF[::-1]), [0, 1, 0, 2], [0, 0, 1, 1])
    return [(trace, {}), (shifted(trace), {}), (other, {"mu": (10, 700, 9000), "gamma": 0.9})]


def differences(one, other):
    """Return in which columns and figures two corrections differ."""
    parts = [part for part in ("calls", "regions", "locations") if getattr(one.timeline, part) != getattr(other.timeline, part)]
    names = ("latencies", "gamma", "passes", "by_message", "by_collective", "slope", "left")
    parts += [name for name in names if getattr(one, name) != getattr(other, name)]
    parts += ["made by"] if one.timeline.origin != other.timeline.origin else []
    return parts + (["figures"] if figures(one) != figures(other) else [])


def _catalogue(processes):
    """Print the number of traces corrected together, and what differs."""
    wrong, count = [], 0
    for name, made in sorted(build.CATALOGUE.items()):
        for trace, options in variants(made()):
            found = differences(correct(trace, **options), correct(trace, **options, processes=processes))
            count += 1
            wrong += [(name, found)] if found else []
    print(processes.size, "processes,", count, "traces, different:", wrong)
    return 0


if __name__ == "__main__":
    raise SystemExit(distributed.together(_catalogue))
