"""What a training job sums over ranks though nobody uses it: of several backward passes before a step of the optimizer all but the last.

Gradients of micro-batches add up on each rank, and their sum over the ranks is needed once, when the optimizer takes a step:

    forward backward        forward backward        optimizer
              b1 b2 b3                b1 b2 b3                  the first sums of buckets b1 to b3 are needless: no_sync()

To which pass a sum belongs the last forward tells that has begun on its process when it is asked for. The last sums are those that stay, so
others are needless if they are as many of as many bytes among the same ranks, one after the other. Where the optimizer takes a step, or
sets gradients to none, in between they are not.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from perwiz.formats.kineto.names import ASKS, BACKWARD, BUCKETS, FORWARD, OPTIMIZER_STEP, ZERO_GRAD
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Ints, Mask
from perwiz.trace.nesting import around
from perwiz.trace.numbers import Numbers
from perwiz.trace.resources import remembered
from perwiz.trace.tables import FORK, LAUNCH, NONE
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors

GRADIENTS = "gradients"
"""Word for what is added up on each rank."""
_SUMS = np.isin(operations.OPS, ("dist_all_reduce", "dist_reduce_scatter"))
_LAUNCH = operations.OP["device_launch"]


@dataclasses.dataclass(frozen=True, eq=False)
class Needless:
    """What sums gradients that are summed again before anybody uses them."""

    calls: Mask
    """The collectives, and what launches them and copies of what they sum, bool per call."""
    instances: I8
    """Instances of regions that copy gradients into what is summed and back, or that ask for sums, rows, ascending."""
    launched: I8
    """Calls that idle until a stream begins what is launched in these, rows."""
    passes: int
    """Backward passes before a step of the optimizer, at most."""


class _Instants(NamedTuple):
    """When something happens, and on which process."""

    process: Ints
    time: I8
    """ns."""

    def since(self, events: _Instants) -> I8:
        """Return how many of some events, by process and then by time, are not behind each of these."""
        both = [np.concatenate(pair) for pair in zip(events, self, strict=True)]
        first, count = np.arange(len(both[0])) < len(events.time), len(events.time)
        order = np.lexsort((~first, both[1], both[0]))
        out = np.empty(len(order), "i8")
        out[order] = np.cumsum(first[order])
        return out[count:]


@remembered(1)
def needless(trace: Trace) -> Needless | None:
    """Return what sums gradients needlessly; None if nothing does."""
    forward, backward, step, zero = (paths_into(trace, *names) for names in (FORWARD, (BACKWARD,), (OPTIMIZER_STEP,), (ZERO_GRAD,)))
    if not (forward.any() and backward.any() and step.any()):
        return None
    row, inside = np.flatnonzero(_SUMS[trace.calls.op]), paths_through(trace, backward)
    asks = _asking(trace, row)
    own = inside[trace.calls.path[asks]]
    row, asks = row[own], asks[own]
    forwards = _begins(trace, _instances(trace, forward & ~inside))
    sums = _sums(trace, row, _Instants(_process(trace, trace.calls.location[row]), trace.timeline.calls.enter[asks]), forwards, step, zero)
    if not sums.needless.any():
        return None
    instances = _instances(trace, paths_into(trace, *BUCKETS) | (paths_into(trace, ASKS) & inside))
    at = _begins(trace, instances)
    instances = instances[sums.in_needless(at, at.since(forwards))]
    within = selectors.owners(trace, instances) >= 0
    calls = within & (trace.calls.op == _LAUNCH)
    calls[sums.row[sums.needless]] = True
    begun = trace.links.effect[(trace.links.kind == LAUNCH) & within[trace.links.cause]]
    return Needless(calls, instances, np.unique(begun).astype("i8"), sums.passes)


@dataclasses.dataclass(frozen=True, eq=False)
class _Sums:
    """Collectives that sum gradients before a step of the optimizer, in order of process, step and time."""

    row: I8
    process: Ints
    number: I8
    """Of the backward pass: on one process each has another."""
    needless: Mask
    passes: int

    def in_needless(self, at: _Instants, number: I8) -> Mask:
        """Return which instants, given the number of the pass that each lies in, lie in one whose sums are all needless."""
        most = int(max(self.number.max(initial=0), number.max(initial=0))) + 1
        key = self.process * most + self.number
        needed = np.unique(key[~self.needless])
        return np.isin(at.process * most + number, np.setdiff1d(key[self.needless], needed))


def _sums(trace: Trace, row: I8, asked: _Instants, forwards: _Instants, step: Mask, zero: Mask) -> _Sums:
    """Return some collectives, given when they are asked for, those alone behind which the optimizer takes a step.

    A pass is needless if the last one before that step sums as many bytes among the same ranks, one after the other.
    """
    uses = _instances(trace, step | zero)
    ends = _begins(trace, uses)
    turn = np.lexsort((ends.time, ends.process))
    next_ = asked.since(ends)
    steps, of = np.append(step[trace.regions.path[uses[turn]]], False), np.append(ends.process[turn], NONE)
    number = asked.since(forwards)
    kept = np.flatnonzero(steps[next_] & (of[next_] == asked.process))
    kept = kept[np.lexsort((asked.time[kept], number[kept], next_[kept], asked.process[kept]))]
    row, process, number, unit = row[kept], asked.process[kept].astype("i8"), number[kept], next_[kept]
    calls = trace.calls
    kind = Numbers().number(Numbers().number(calls.op[row], calls.comm[row]), calls.bytes_sent[row])
    again, passes = _repeated(unit, number, kind)
    members = trace.members
    every = np.zeros(len(calls), bool)
    every[row[again]] = True
    needed = np.zeros(len(trace.collectives), bool)
    needed[members.collective[~every[members.call]]] = True
    every[members.call[needed[members.collective]]] = False
    return _Sums(row, process, number, every[row], passes)


def _repeated(unit: I8, number: I8, kind: Ints) -> tuple[Mask, int]:
    """Return (which rows lie in a pass whose kinds the last of its unit repeats one by one, of how many passes a unit is at most).

    Rows are sorted by unit and pass.

        unit     4 4 4 4 4 4 5 5        number   0 0 1 1 2 2 3 3        kind   7 8 7 9 7 8 7 8
        ->       + + - - - - - -        3
    """
    fresh = np.append(True, (np.diff(unit) != 0) | (np.diff(number) != 0))[: len(unit)]
    begins = np.flatnonzero(fresh)
    group, count = np.cumsum(fresh) - 1, np.diff(np.append(begins, len(unit)))
    of = unit[begins]
    last = np.searchsorted(of, of, "right") - 1
    place = np.arange(len(unit)) - begins[group]
    twin = np.minimum(begins[last[group]] + place, len(unit) - 1)
    other = np.bincount(group, kind != kind[twin], len(begins)) > 0
    again = (last > np.arange(len(begins))) & (count == count[last]) & ~other
    return again[group], int(np.bincount(np.unique(of, return_inverse=True)[1]).max(initial=0))


def _asking(trace: Trace, row: I8) -> I8:
    """Return the call that asks for each of some calls of streams and threads, rows, ascending; itself where none is told.

    It begins what the location idles until: the call right before.
    """
    links, out = trace.links, row.copy()
    idle = np.zeros(len(trace.calls), bool)
    idle[row[row > trace.first_calls[trace.calls.location[row]]] - 1] = True
    some = np.flatnonzero(idle[links.effect] & ((links.kind == LAUNCH) | (links.kind == FORK)))
    out[np.searchsorted(row, links.effect[some] + 1)] = links.cause[some]
    return out


def paths_into(trace: Trace, *prefixes: str) -> Mask:
    """Return which region paths lead into a region whose name begins so, bool per path, and behind them that none does not."""
    named = np.array([name.startswith(prefixes) for name in trace.names], bool)
    return np.append(named[trace.paths.region], False) if len(named) else np.zeros(len(trace.paths) + 1, bool)


def paths_through(trace: Trace, chosen: Mask) -> Mask:
    """Return which region paths lead through chosen ones, at any depth, bool like these."""
    out = chosen.copy()
    for outer, inner in around(trace.paths.parent):
        out[inner[chosen[outer]]] = True
    return out


def _instances(trace: Trace, chosen: Mask) -> I8:
    """Return the region instances of chosen paths, rows."""
    return np.flatnonzero(chosen[trace.regions.path])


def _begins(trace: Trace, instances: I8) -> _Instants:
    """Return when region instances begin."""
    return _Instants(_process(trace, trace.regions.location[instances]), trace.timeline.regions.enter[instances])


def _process(trace: Trace, location: Ints) -> Ints:
    return trace.locations.process[location]
