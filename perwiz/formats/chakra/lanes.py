"""Where nodes run, one behind the other: threads and streams as the nodes name them, else a processor and a device of each rank.

What names neither thread nor stream runs as in ASTRA-sim: on its processor, on its device, or beside that what it sends and does together
with others; receives keep nobody, and are one behind the other as they come from one rank.
"""

from __future__ import annotations

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.chakra.job import RECV, Job
from perwiz.trace import tables
from perwiz.trace.arrays import I4, I8, U1, Mask

_THREAD, _PROCESSOR, _DEVICE, _STREAM, _TALKS, _RECEIVES = range(6)
"""Kinds of lanes, in the order of locations: the first of a rank is its process."""
_LONGEST = 2.0**60
_US = 1000


class Lanes:
    """The nodes in order of (location, time)."""

    def __init__(self, path: str, job: Job) -> None:
        rows, of_host = job.rows, job.rows.cpu == 1
        number = np.where(rows.stream >= 0, rows.stream, rows.thread)
        talks = np.where(job.op == RECV, _RECEIVES, np.where(job.op >= 0, _TALKS, _DEVICE))
        kind = np.where(number >= 0, np.where(of_host, _THREAD, _STREAM), np.where(of_host, _PROCESSOR, talks))
        number = np.where(kind == _RECEIVES, job.peer, number)
        lanes, where = np.unique(np.stack([job.rank.astype("i8"), kind, number]), axis=1, return_inverse=True)
        where = where.ravel()
        self.timed = bool((rows.start > 0).any())
        """Whether the nodes tell when they begin."""
        self.node: I8 = np.lexsort((job.place, rows.start, where) if self.timed else (job.place, where))
        """Node per row."""
        self.location: I4 = where[self.node].astype("i4")
        self.process: I4 = lanes[0].astype("i4")
        """Rank per location."""
        first = np.searchsorted(lanes[0], lanes[0])
        self.thread: I4 = (np.arange(len(first)) - first).astype("i4")
        self.host: Mask = lanes[1] <= _PROCESSOR
        """Which locations are of the host."""
        self.kind: U1 = np.where(self.thread == 0, tables.PROCESS, np.where(self.host, tables.THREAD, tables.STREAM)).astype("u1")
        took = rows.duration[self.node]
        if float(took.sum(dtype="f8")) * _US >= _LONGEST:
            raise TraceError(f"{path}: nodes take {took.sum(dtype='f8') / 1e6:.3g} s together, must take less than 2^60 ns")
        self.begin, self.end = self._told(job, took) if self.timed else self._alone(job, took)

    def _told(self, job: Job, took: I8) -> tuple[I8, I8]:
        """Return when nodes begin and end, ns from the first that computes or talks."""
        start, works = job.rows.start, (job.rows.duration > 0) | (job.op >= 0)
        since = np.maximum(start - start[works].min(initial=int(start.max())), 0)[self.node]
        return since * _US, (since + took) * _US

    def _alone(self, job: Job, took: I8) -> tuple[I8, I8]:
        """Return when nodes begin and end if only computation takes time, and nothing waits for another location, ns."""
        took = np.where(job.op[self.node] >= 0, 0, took) * _US
        end = np.cumsum(took)
        first = np.searchsorted(self.location, np.arange(len(self.process)))
        end -= (end - took)[first][self.location]
        return end - took, end
