"""Waits inside rooted collectives. Whom a process waits for in them is not recorded, and not only roots wait.

Libraries add up and pass on along trees: a process in the middle of a reduction stays until those below it have come, one at the end of
a broadcast until those above it have. Which tree it was no trace tells. But one that stays in the call longer than the model says the
operation takes, while another comes, has waited for it: for the last that came before it left.
"""

from __future__ import annotations

import numpy as np

from perwiz.loggps.model import Model
from perwiz.trace import operations
from perwiz.trace.arrays import Ints
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace


def inner_waits(trace: Trace, model: Model) -> tuple[Ints, Ints]:
    """Return (members that wait, member each waits for), rows of members, of collectives to or from a known root, in the order of rows.

    Left out are roots of reductions, which wait for all, those that wait longer for the root of a broadcast, and those that stay no
    longer than the model says.
    """
    row = _rooted(trace)
    if not len(row):
        return row, row
    members, times = trace.members, trace.timeline.calls
    entry, end = times.enter[members.call[row]], times.leave[members.done[row]]
    last = _last_before(members.collective[row], entry, end)
    waits = (entry[last] > entry) & (end - times.enter[members.done[row]] > _modelled(trace, model, row)) & ~_tied(trace, row, entry, last)
    return row[waits], row[last[waits]]


def _rooted(trace: Trace) -> Ints:
    """Return the members of collectives of more than two members to or from a known root whose end is known."""
    table, members = trace.collectives, trace.members
    size = np.diff(np.append(table.first_member, len(members)))
    kind = operations.KIND[table.op]
    wanted = ((kind == operations.ONE_TO_N) | (kind == operations.N_TO_ONE)) & (table.root >= 0) & (size > 2)
    return np.flatnonzero(np.repeat(wanted, size) & (members.done != NONE))


def _last_before(collective: Ints, entry: Ints, end: Ints) -> Ints:
    """Return, per member, the position of the last that came before it left: itself, if nobody came after it."""
    count = len(entry)
    order = np.lexsort((np.repeat((0, 1), count), np.concatenate((entry, end)), np.tile(collective, 2)))
    came = np.where(order < count, np.arange(2 * count), 0)
    last = order[np.maximum.accumulate(came)]
    out = np.empty(2 * count, "i8")
    out[order] = last
    return out[count:]


def _modelled(trace: Trace, model: Model, row: Ints) -> Ints:
    """Return how long the model says each member's part takes, ns."""
    call, which = trace.members.call[row], trace.members.collective[row]
    ranks = trace.communicators.sizes()[trace.collectives.comm[which]]
    most = np.maximum(trace.calls.bytes_sent[call], trace.calls.bytes_received[call])
    return model.collective_work(trace.collectives.op[which], ranks, most)


def _tied(trace: Trace, row: Ints, entry: Ints, last: Ints) -> Ints:
    """Return which members wait as long for a member that is known: the root of a reduction for all, the others of a broadcast for it."""
    table, which = trace.collectives, trace.members.collective[row]
    is_root = trace.locations.process[trace.calls.location[trace.members.call[row]]] == table.root[which]
    reduces = operations.KIND[table.op[which]] == operations.N_TO_ONE
    came = np.full(len(table), np.iinfo("i8").min)
    came[which[is_root]] = entry[is_root]
    return np.where(reduces, is_root, ~is_root & (came[which] >= entry[last]))
