"""What one process computes and hardly any other does, outside of regions that say so: told by the call site that it is behind."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from perwiz.trace.arrays import F8, I8, Mask, chunks
from perwiz.trace.numbers import numbered
from perwiz.trace.spread.share import Share
from perwiz.trace.tables import NONE
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.devices import for_devices
from perwiz.whatif.hypotheses.parts import between_init_and_finalize
from perwiz.whatif.hypotheses.stretch import Segments

_TIMES, _LEAST = 10, 100
"""Times what the others compute on average from which on one does it alone; part of all that processes compute below which it is
little, its inverse.
"""


@dataclasses.dataclass(frozen=True)
class Alone:
    """What a process computes alone."""

    site: str
    """The call site behind which it is, as of `selectors.site`."""
    rank: int
    time: float
    """ns beyond the mean of all processes that call there."""


def alone(segments: Segments, most: int) -> list[Alone]:
    """Return what single processes compute alone behind call sites of several, at most so much, longest first.

    That is from a call to the next one of its process. What lies in a region in which one process computes alone is left out, as that tells
    of it; so is what is before MPI_Init, behind MPI_Finalize or for devices. Of ranks that compute 90, 4 and 2 ns behind their calls: the
    first, 58 beyond the mean.
    """
    trace, share = segments.trace, segments.trace.share
    site_of, sites = selectors.sites(trace)
    bounded, devices, outside = between_init_and_finalize(segments), for_devices(segments), len(trace.names)
    region_of = np.append(trace.paths.region, outside).astype("i8")

    def behind_calls(some: slice) -> tuple[I8, I8, I8, I8]:
        """Return of some segments those behind a call: the process, region and site of each, and how long it is."""
        location = segments.location[some]
        call = segments.gap[some] - location - 1
        own = share.has(location) & (call >= trace.first_calls[location]) & bounded[some] & ~devices[some]
        process = trace.locations.process[location[own]].astype("i8")
        return process, region_of[segments.path[some][own]], site_of[call[own]].astype("i8"), segments.length[some][own]

    every = list(chunks(len(segments.length)))
    regions = _Sums(share, ((process, region, took) for process, region, _, took in map(behind_calls, every)), outside + 1)
    named = regions.alone()
    named[outside] = False
    pieces = ((process, site, np.where(named[region], 0, took)) for process, region, site, took in map(behind_calls, every))
    found = _Sums(share, pieces, len(sites))
    beyond = np.where(found.alone(), found.longest - found.whole / np.maximum(found.count, 1), 0)
    rank = found.process()
    large = np.flatnonzero(_LEAST * beyond > found.whole.sum())
    rows = large[np.argsort(-beyond[large], kind="stable")][:most]
    return [Alone(selectors.site(*sites[row]), int(rank[row]), float(beyond[row])) for row in rows.tolist()]


class _Sums:
    """What each process computes per key, told piece by piece as (process, key, ns), and of each key, over all processes: the longest, the
    sum, and how many there are, float64.
    """

    def __init__(self, share: Share, pieces: Iterable[tuple[I8, I8, I8]], keys: int) -> None:
        cells: list[I8] = [np.empty(0, "i8")]
        sums: list[Any] = [np.empty(0)]
        for process, key, length in pieces:
            cell, which = numbered(process * keys + key)
            cells.append(cell)
            sums.append(np.bincount(which, length, len(cell)))
        pairs, which = numbered(np.concatenate(cells))
        self._share, self._key, self._process = share, pairs % keys, pairs // keys
        self._took = np.bincount(which, np.concatenate(sums), len(pairs))
        longest = np.zeros(keys)
        np.maximum.at(longest, self._key, self._took)
        self.longest: F8 = share.reduced(longest, "max")
        self.whole: F8 = share.reduced(np.bincount(self._key, self._took, keys), "sum")
        self.count: F8 = share.reduced(np.bincount(self._key, minlength=keys).astype("f8"), "sum")

    def alone(self) -> Mask:
        """Return per key whether one of several processes computes far longer than the others on average."""
        others = (self.whole - self.longest) / np.maximum(self.count - 1, 1)
        return (self.count > 1) & (self.longest > _TIMES * others)

    def process(self) -> I8:
        """Return per key the process that computes longest."""
        out, its = np.full(len(self.longest), NONE, "i8"), self._took == self.longest[self._key]
        np.maximum.at(out, self._key[its], self._process[its])
        return self._share.reduced(out, "max")
