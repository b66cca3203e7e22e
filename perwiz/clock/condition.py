"""The clock condition: no effect is recorded before its cause (Becker et al. 2009, section 2)."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.clock.roles import roles
from perwiz.trace import operations
from perwiz.trace.arrays import Ints
from perwiz.trace.trace import Timeline, Trace


@dataclasses.dataclass(frozen=True)
class Violations:
    """Messages received before they were sent, and calls that left a collective before the last it waits for had entered."""

    messages: int
    worst_message: int
    """Largest reversal, ns."""
    collective_calls: int
    worst_collective: int
    """Largest reversal, ns."""

    def __bool__(self) -> bool:
        return self.messages > 0 or self.collective_calls > 0


def violations(trace: Trace, timeline: Timeline) -> Violations:
    """Return how a timeline breaks the clock condition: calls compared by the sender's entry and the receiver's return."""
    times, table = timeline.calls, trace.messages
    early = times.enter[table.send] - times.leave[table.receive_done]
    left = _collective_reversals(trace, timeline)
    return Violations(
        *(int((early > 0).sum()), int(early.max(initial=0))),
        *(int((left > 0).sum()), int(left.max(initial=0))),
    )


def unsynchronised(trace: Trace) -> bool:
    """Return whether nobody measured how the clocks of the processes differ, though the format has a place for that."""
    return trace.format == "OTF2" and not len(trace.offsets) and len(trace.locations) > 1


def _collective_reversals(trace: Trace, timeline: Timeline) -> Ints:
    """Return, per member, how long before its last cause it left, ns; 0 or less if it did not, or waits for nobody."""
    members, table = trace.members, trace.collectives
    if not len(members):
        return np.zeros(0, "i8")
    sends, receives = roles(trace)
    enter = timeline.calls.enter[members.call]
    enter = np.where(sends, enter, enter.min())
    last = np.maximum.reduceat(enter, table.first_member)[members.collective]
    prefix = np.flatnonzero(operations.KIND[table.op][members.collective] == operations.PREFIX)
    last[prefix] = latest_so_far(enter, members.collective, prefix)
    out = np.zeros(len(members), "i8")
    out[receives] = last[receives] - timeline.calls.leave[members.done[receives]]
    return out


def latest_so_far(enter: Ints, collective: Ints, rows: Ints) -> Ints:
    """Return the latest entry among the ranks so far of each prefix instance, for its rows."""
    if not len(rows):
        return np.zeros(0, "i8")
    span = int(enter.max()) - int(enter.min()) + 1
    order = np.cumsum(np.concatenate(([0], np.diff(collective[rows]) != 0))) if len(rows) else rows
    if span * (int(order[-1]) + 1) < 1 << 62:
        shifted = enter[rows] - int(enter.min()) + order * span
        return np.maximum.accumulate(shifted) - order * span + int(enter.min())
    pieces = np.split(enter[rows], np.flatnonzero(np.diff(order)) + 1)
    return np.concatenate([np.maximum.accumulate(piece) for piece in pieces])
