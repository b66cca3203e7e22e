"""Where processes are in a Cartesian topology: that of the trace, or one given as sizes such as 4x4."""

from __future__ import annotations

import dataclasses
import re

import numpy as np

from perwiz.errors import UsageError
from perwiz.trace.arrays import F8, I4, I8
from perwiz.trace.trace import Ranks, Topology, Trace


def given(trace: Trace, text: str) -> Topology:
    """Return the topology of all processes, of sizes such as 4x4 or 8x2x2, ranks in the order of MPI_Cart_create: the last varies fastest.

    Raises UsageError for other texts, and for sizes that do not make as many places as there are processes.
    """
    if not re.fullmatch(r"[1-9][0-9]{0,8}(x[1-9][0-9]{0,8})*", text, re.ASCII):
        raise UsageError(f"topology '{text}': must be sizes such as 16, 4x4 or 4x2x2")
    sizes = tuple(map(int, text.split("x")))
    places, processes = int(np.prod([float(size) for size in sizes])), len(np.unique(trace.locations.process))
    if places != processes:
        raise UsageError(f"topology '{text}': it has {places} places, must have as many as there are processes, {processes}")
    coordinates = np.stack(np.unravel_index(np.arange(places), sizes), axis=1).astype("i4")
    plain = tuple(f"dimension {k}" for k in range(len(sizes)))
    return Topology(text, 0, sizes, (False,) * len(sizes), plain, coordinates)


def arranged(trace: Trace, text: str | None) -> Trace:
    """Return the trace with the given topology before its own. Raises UsageError as `given` does."""
    return trace if text is None else dataclasses.replace(trace, topologies=(given(trace, text), *trace.topologies))


def main(trace: Trace) -> Topology | None:
    """Return the topology of the most processes, of several the first; None if the trace has none."""
    return max(trace.topologies, key=lambda topology: len(topology.coordinates), default=None)


def coordinates(trace: Trace, topology: Topology) -> I4:
    """Return the coordinates of each location, one row each and one column per dimension, int32; -1 where it has none."""
    process = trace.locations.process
    rank = Ranks(trace.communicators).of(np.full(len(process), topology.comm), process)
    placed = (rank >= 0) & (rank < len(topology.coordinates))
    out = np.full((len(process), len(topology.sizes)), -1, "i4")
    out[placed] = topology.coordinates[rank[placed]]
    return out


def field(trace: Trace, topology: Topology, value: I8) -> F8:
    """Return the sum of a value per location at each place, float64 of the shape of the topology; NaN where no process is."""
    position = coordinates(trace, topology)
    placed = (position >= 0).all(axis=1)
    out, count = np.zeros(topology.sizes), np.zeros(topology.sizes, "i8")
    place = tuple(position[placed].T)
    np.add.at(out, place, value[placed])
    np.add.at(count, place, 1)
    return np.where(count > 0, out, np.nan)
