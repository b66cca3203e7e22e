"""Processes that have a trace together, as threads of this one, without MPI."""

from __future__ import annotations

import collections
import dataclasses
import queue
import threading

import numpy as np

from perwiz.engines.team import Counted
from perwiz.trace.resources import as_process
from perwiz.trace.spread.cut import cut
from perwiz.trace.tables import Times
from perwiz.trace.trace import Timeline

OFF = (60_000, 0, 90_000, 5_000)
DRIFT = (50, 0, 900, 3)
PATIENCE = 20
"""Seconds without a message after which a thread gives up: the others are stuck."""


class Thread(Counted):
    """One of the processes."""

    def __init__(self, rank, size, ways, meeting, values):
        super().__init__()
        self.rank, self.size = rank, size
        self._ways, self._meeting, self._values = ways, meeting, values

    def _all(self, value):
        """Return what everybody says."""
        self._values[self.rank] = value
        self._meeting.wait(PATIENCE)
        out = list(self._values)
        self._meeting.wait(PATIENCE)
        return out

    def exchange(self, data):
        assert len(data) == self.size
        self.count(self.size - 1, sum(each.nbytes for each in data), 1)
        return [each[self.rank] for each in self._all([np.array(each) for each in data])]

    def reduce(self, values, how):
        self.count(1, values.nbytes, 1)
        return {"max": np.max, "min": np.min, "sum": np.sum}[how](self._all(values), axis=0).astype(values.dtype)

    def send(self, to, data):
        self.count(1, data.nbytes, 0)
        self._ways[self.rank, to].put(np.array(data))

    def receive(self, source, data):
        came = self._ways[source, self.rank].get(timeout=PATIENCE)
        assert (came.shape, came.dtype) == (data.shape, data.dtype)
        data[:] = came

    def wait_for_sends(self):
        pass


def together(size, work):
    """Return what `work(team)` returns on each of so many threads; every message must have been taken. The first error is raised."""
    ways, meeting, values = collections.defaultdict(queue.Queue), threading.Barrier(size), [None] * size
    for giver in range(size):
        for taker in range(size):
            ways[giver, taker] = queue.Queue()
    out, errors = [None] * size, [None] * size

    def run(rank):
        as_process()
        try:
            out[rank] = work(Thread(rank, size, ways, meeting, values))
        except BaseException as error:
            errors[rank] = error
            meeting.abort()

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    real = [error for error in errors if error is not None and not isinstance(error, threading.BrokenBarrierError)]
    for error in real or [error for error in errors if error is not None]:
        raise error
    assert all(way.empty() for way in ways.values())
    return out


def parts(size, trace, work):
    """Return what `work(part)` returns for the part of a trace that each of so many threads has."""
    return together(size, lambda team: work(cut(trace, team)))


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


def differing(part, cut):
    """Return in what two parts differ."""
    fields = [field.name for field in dataclasses.fields(part) if field.name not in ("share", "timeline")]
    pairs = [(name, getattr(part, name), getattr(cut, name)) for name in fields]
    pairs += [(name, getattr(part.timeline, name), getattr(cut.timeline, name)) for name in ("calls", "regions", "locations", "origin")]
    names = ("first", "sizes", "members", "places", "messages", "links", "count")
    pairs += [(name, getattr(part.share, name), getattr(cut.share, name)) for name in names]
    return [name for name, one, other in pairs if not (np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other)]
