"""Waits inside rooted collectives. Whom a process waits for in them is not recorded, and not only roots wait.

Libraries add up and pass on along trees: a process in the middle of a reduction stays until those below it have come, one at the end of
a broadcast until those above it have. Which tree it was no trace tells. But one that stays in the call longer than the model says its
part takes, while another comes, has waited for it: for the last that came before it left.
"""

from __future__ import annotations

import numpy as np

from perwiz.loggps import instances
from perwiz.loggps.model import Model
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace


def inner_waits(trace: Trace, model: Model) -> tuple[I8, I8]:
    """Return (members that wait, member each waits for), rows of members, of collectives to or from a known root, in the order of rows.

    Left out are roots of reductions, which wait for all, those that wait longer for the root of a broadcast, and those that stay no
    longer than the model says.
    """
    row = _rooted(trace)
    if not len(row):
        return row, row
    members, times = trace.members, trace.timeline.calls
    entry, end = times.enter[members.call[row]], times.leave[members.done[row]]
    last = last_before(members.collective[row], entry, end)
    stays = end - times.enter[members.done[row]] > instances.work(trace, row, model)
    waits = (entry[last] > entry) & stays & ~_waits_for_root(trace, row, entry, last)
    return row[waits], row[last[waits]]


def _rooted(trace: Trace) -> I8:
    """Return the members of collectives of more than two members to or from a known root whose end is known."""
    table, members = trace.collectives, trace.members
    size = np.diff(np.append(table.first_member, len(members)))
    kind = operations.KIND[table.op]
    wanted = ((kind == operations.ONE_TO_N) | (kind == operations.N_TO_ONE)) & (table.root >= 0) & (size > 2)
    return np.flatnonzero(np.repeat(wanted, size) & (members.done != NONE))


def last_before(collective: I4, entry: I8, end: I8) -> I8:
    """Return, per member, the position of the last that came before it left: itself, if nobody came after it.

    collective   0   0   0   1
    entry        0  10  40   5
    end         30  50  60   9
    last         1   2   2   3     the first left at 30, when the second had come, at 10
    """
    count = len(entry)
    order = np.lexsort((np.repeat((0, 1), count), np.concatenate((entry, end)), np.tile(collective, 2)))
    latest = np.maximum.accumulate(np.where(order < count, np.arange(2 * count), 0))
    out = np.empty(2 * count, "i8")
    out[order] = order[latest]
    return out[count:]


def _waits_for_root(trace: Trace, row: I8, entry: I8, last: I8) -> Mask:
    """Return which members wait as long for one that the trace names: the root of a reduction for all, in a broadcast the others for it."""
    table, collective = trace.collectives, trace.members.collective[row]
    is_root = trace.locations.process[trace.calls.location[trace.members.call[row]]] == table.root[collective]
    reduces = operations.KIND[table.op[collective]] == operations.N_TO_ONE
    root_entry = np.full(len(table), np.iinfo("i8").min)
    root_entry[collective[is_root]] = entry[is_root]
    return np.where(reduces, is_root, ~is_root & (root_entry[collective] >= entry[last]))
