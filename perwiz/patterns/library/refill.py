"""Pipeline refill of wavefront programs such as SWEEP3D (Wolf et al. 2006, section 5): a pattern of one's own, worked as an example.

    perwiz patterns sweep.otf2 --topology 8x4 --own refill.py --of refill

This file is none of the built-in patterns: `--own` reads it, as it reads a copy of it that you changed. What a pattern must have:

1. A class below `perwiz.patterns.pattern.Pattern` with `name` (unique), `title`, and `of`: the pattern or metric it is a special case of.
2. `instances(view, parent)`. `parent` has the instances of the pattern in `of`, one per row: which call waits, how long, for which
   message. Return some of them (`parent.where(mask)`), the same with other severities (`parent.severe(ns)`), or others altogether
   (`perwiz.patterns.pattern.instances`). A special case tests only what else must hold.
3. No loop over calls: `view.trace` has the run as numpy columns (perwiz/trace/tables.py), `view.enter` and `view.leave` the times.

A wavefront program sweeps data over a grid of processes, from one corner to the opposite one, then from another corner. In a step a process
receives from one neighbour per dimension and then sends; at the border it has fewer neighbours. Whenever the
corner changes the pipeline is empty and has to be filled again, and late senders in the first step of the new sweep are the price: up to
one per dimension. The first step of all is a fill, too. A process that receives nothing in a sweep does not see it: if the same corner
follows, to that process it is the same sweep.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from perwiz.patterns import topology
from perwiz.patterns.pattern import Instances, Pattern, View
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.numbers import running


def _received(view: View) -> tuple[I8, I8, I4]:
    """Return (row of messages, dimension, 1 or -1: whether it went up or down there) of messages between neighbours, as received."""
    table, grid = view.trace.messages, topology.main(view.trace)
    if grid is None:
        raise ValueError("the trace has no topology, must be given with --topology")
    order = np.lexsort((table.receive, table.receive_done))
    position = topology.coordinates(view.trace, grid)
    moved = position[view.location[table.receive[order]]] - position[view.location[table.send[order]]]
    near = np.flatnonzero(np.abs(moved).sum(axis=1) == 1)
    dimension = np.abs(moved[near]).argmax(axis=1)
    return order[near], dimension, moved[near, dimension]


def _steps(view: View, row: I8, dimension: I8) -> tuple[I8, I8]:
    """Return (step of each message received, numbered in the order of locations and time; a message of each step).

    A step receives all it needs, then it sends. Where nothing is sent in between, it receives once per dimension.

    Messages 7 8 9 4 in calls 0 1 2 4 of one location, in dimensions 0 1 0 0; call 3 sends -> step 0 0 1 2, messages 7 9 4.
    """
    call = view.trace.messages.receive_done[row]
    sends = np.zeros(len(view.enter) + 1, "i8")
    sends[view.trace.messages.send + 1] = 1
    location, sent = view.location[call], np.cumsum(sends)[call]
    new = np.ones(len(row), bool)
    new[1:] = (location[1:] != location[:-1]) | (sent[1:] != sent[:-1])
    stretch = np.cumsum(new) - 1
    again = running(stretch, dimension)
    _, first, step = np.unique(stretch * (again.max(initial=0) + 1) + again, return_index=True, return_inverse=True)
    return step, row[first]


def corners(view: View) -> tuple[I8, Mask]:
    """Return, per message, (corner its sweep comes from: the sum of 2 ** dimension over those in which it is the upper end; first step).

    The corner is -1 of messages between processes that are no neighbours. In a dimension in which a process receives nothing it is at the
    border where the sweep starts.
    """
    row, dimension, sign = _received(view)
    grid = topology.main(view.trace)
    assert grid is not None
    step, message = _steps(view, row, dimension)
    own = view.location[view.trace.messages.receive[message]]
    upper = topology.coordinates(view.trace, grid)[own] * 2 >= np.array(grid.sizes)
    upper[step, dimension] = sign < 0
    corner = upper @ (1 << np.arange(len(grid.sizes)))
    changed = np.ones(len(corner), bool)
    changed[1:] = (own[1:] != own[:-1]) | (corner[1:] != corner[:-1])
    of_message, first = np.full(len(view.trace.messages), -1), np.zeros(len(view.trace.messages), bool)
    of_message[row], first[row] = corner[step], changed[step]
    return of_message, first


class Refill(Pattern):
    """A late sender in the first step of a sweep from another corner."""

    name, title, of = "refill", "Pipeline Refill", "mpi_latesender"
    meaning = "late senders while the pipeline of a wavefront is filled again"

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return those of the late senders."""
        _, first = corners(view)
        return parent.where(first[parent.message])


class _From:
    """Refills from one corner; subclasses say from which, in the topology's first two dimensions."""

    corner: ClassVar[int]

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return those refills."""
        return parent.where(corners(view)[0][parent.message] & 3 == self.corner)


class FromLowLow(_From, Pattern):
    """A refill from the corner of the least coordinates."""

    name, title, of, corner = "refill_low_low", "From (0, 0)", "refill", 0


class FromHighLow(_From, Pattern):
    """A refill from the upper end of the first dimension."""

    name, title, of, corner = "refill_high_low", "From (max, 0)", "refill", 1


class FromLowHigh(_From, Pattern):
    """A refill from the upper end of the second dimension."""

    name, title, of, corner = "refill_low_high", "From (0, max)", "refill", 2


class FromHighHigh(_From, Pattern):
    """A refill from the corner of the greatest coordinates."""

    name, title, of, corner = "refill_high_high", "From (max, max)", "refill", 3
