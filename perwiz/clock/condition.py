"""The clock condition: no effect is recorded before its cause (Becker et al. 2009, section 2)."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.clock.roles import roles
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8
from perwiz.trace.spread.instances import whole_instances
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
    records: int
    """Messages whose record of the receive lies before that of the send, those that calls show among them."""
    worst_record: int
    """Largest reversal, ns."""
    links: int = 0
    """Calls that returned before another thread, stream or process let them."""
    worst_link: int = 0
    """Largest reversal, ns."""

    def __bool__(self) -> bool:
        return self.records > 0 or self.collective_calls > 0 or self.links > 0

    def __add__(self, other: Violations) -> Violations:
        """Return those of rows of both."""
        pairs = ((field.name, getattr(self, field.name), getattr(other, field.name)) for field in dataclasses.fields(self))
        return Violations(**{name: max(one, two) if name.startswith("worst") else one + two for name, one, two in pairs})


def violations(trace: Trace, timeline: Timeline) -> Violations:
    """Return how a timeline breaks the clock condition, by the sender's entry and the receiver's return, and by records between these."""
    times, table, share = timeline.calls, trace.messages, trace.share
    message_reversals = (times.enter[table.send] - times.leave[table.receive_done])[share.messages]
    link_reversals = (times.enter[trace.links.cause] - times.leave[trace.links.effect])[share.links]
    whole = whole_instances(trace, timeline)
    all_ = (
        message_reversals,
        _collective_reversals(whole.trace, whole.timeline)[whole.trace.share.returning],
        message_reversals + inside(trace, timeline)[share.messages],
        link_reversals,
    )
    number = share.reduced(np.array([(reversals > 0).sum() for reversals in all_], "i8"), "sum").tolist()
    worst = share.reduced(np.array([reversals.max(initial=0) for reversals in all_], "i8"), "max").tolist()
    return Violations(*(count for pair in zip(number, worst, strict=True) for count in pair))


def inside(trace: Trace, timeline: Timeline) -> I8:
    """Return, per message, the time inside its calls that is not between its records: before the sender's, behind the receiver's; int64 ns.

    Zeros for a prediction, which places calls alone, and for a message of a location to itself, whose order no clock decides.
    """
    table, location = trace.messages, trace.calls.location
    if timeline.origin.predicted:
        return np.zeros(len(table), "i8")
    return np.where(location[table.send] == location[table.receive_done], 0, table.sent_after + table.received_before)


def unsynchronised(trace: Trace) -> bool:
    """Return whether there are clocks that nobody compared."""
    return not trace.clocks_compared and len(np.unique(trace.locations.process)) > 1


def _collective_reversals(trace: Trace, timeline: Timeline) -> I8:
    """Return, per member, how long before its last cause it left, ns; 0 or less if it did not, or waits for nobody.

    Worked example, a barrier of three and a reduction to the second of two, who does not send:
        collective  0 0 0 1 1    enter  10 70 30 95 80    leave  60 90 75 99 85
        last cause  70 70 70 95 95    reversal  10 -20 -5 0 10
    """
    members, table = trace.members, trace.collectives
    if not len(members):
        return np.zeros(0, "i8")
    sends, receives = roles(trace)
    enter = timeline.calls.enter[members.call]
    enter = np.where(sends, enter, enter.min())
    last_cause = np.maximum.reduceat(enter, table.first_member)[members.collective]
    prefix = np.flatnonzero(operations.KIND[table.op][members.collective] == operations.PREFIX)
    last_cause[prefix] = latest_so_far(enter, members.collective, prefix)
    out = np.zeros(len(members), "i8")
    out[receives] = last_cause[receives] - timeline.calls.leave[members.done[receives]]
    return out


def latest_so_far(enter: I8, collective: I4, rows: I8) -> I8:
    """Return the latest entry among the ranks so far of each prefix instance, for its rows.

    Worked example, two instances of two and three ranks:
        collective  4 4 7 7 7    enter  30 20 5 9 8
        latest      30 30 5 9 9
    """
    if not len(rows):
        return np.zeros(0, "i8")
    span = int(enter.max()) - int(enter.min()) + 1
    instance = np.cumsum(np.concatenate(([0], np.diff(collective[rows]) != 0)))
    if span * (int(instance[-1]) + 1) < 1 << 62:  # one scan over all, those of each instance above those of the one before
        shifted = enter[rows] - int(enter.min()) + instance * span
        return np.maximum.accumulate(shifted) - instance * span + int(enter.min())
    instances = np.split(enter[rows], np.flatnonzero(np.diff(instance)) + 1)
    return np.concatenate([np.maximum.accumulate(entries) for entries in instances])
