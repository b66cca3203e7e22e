"""Waits inside rooted collectives. Whom a process waits for in them is not recorded, and not only roots wait.

Libraries add up and pass on along trees: a process in the middle of a reduction stays until those below it have come, one at the end of
a broadcast until those above it have. Which tree it was no trace tells. But one that stays in the call longer than the model says its
part takes, while another comes, has waited for it: for the last that came before it left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.loggps import instances
from perwiz.loggps.model import Model
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.numbers import distinct_pairs
from perwiz.trace.spread.instances import whole_instances
from perwiz.trace.spread.part import with_calls
from perwiz.trace.spread.share import Part
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace


def inner_waits(trace: Trace, model: Model) -> tuple[I8, I8]:
    """Return (rows of members that wait, row of the call that each waits for), of collectives to or from a known root, in this order.

    Of a part that must be known there: see `with_awaited`.

    Left out are roots of reductions, which wait for all, those that wait longer for the root of a broadcast, and those that stay no
    longer than the model says.
    """
    if isinstance(trace.share, Part):
        found = _found_at_home(trace, trace.share, model)
        return found["member"], trace.share.here(found["awaited"])
    waiting, awaited = _waits(trace, model)
    here = np.zeros(len(trace.members), bool)
    here[trace.share.returning] = True
    return waiting[here[waiting]], trace.members.call[awaited[here[waiting]]].astype("i8")


def with_awaited(trace: Trace, model: Model) -> Trace:
    """Return a trace that has a row for each call that `inner_waits` names."""
    if not isinstance(trace.share, Part):
        return trace
    return with_calls(trace, np.ascontiguousarray(_found_at_home(trace, trace.share, model)["awaited"]))


_FOUND = np.dtype([("member", "i8"), ("awaited", "i8")])
_TOLD = np.dtype([("instance", "i8"), ("place", "i8"), ("awaited", "i8")])


def _found_at_home(trace: Trace, share: Part, model: Model) -> NDArray[Any]:
    """Return the members here that wait, rows, and for which calls, numbers of the whole trace: found where instances are at home."""
    kind = operations.KIND[trace.collectives.op]
    if not share.any(((kind == operations.ONE_TO_N) | (kind == operations.N_TO_ONE)).any()):
        return np.zeros(0, _FOUND)
    whole = whole_instances(trace, trace.timeline)
    waiting, awaited = _waits(whole.trace, model)
    members, instance = whole.trace.members, whole.trace.members.collective[waiting]
    told = np.empty(len(waiting), _TOLD)
    told["instance"], told["place"] = whole.rows[instance], waiting - whole.trace.collectives.first_member[instance]
    told["awaited"] = whole.calls[members.call[awaited]]
    process = share.process_of(whole.calls[members.done[waiting]])
    came = np.concatenate(share.team.exchange([told[process == peer] for peer in range(share.team.size)]))
    key = share.instances[trace.members.collective], share.places
    number = distinct_pairs(np.concatenate([key[0], came["instance"]]), np.concatenate([key[1], came["place"]]))[1]
    count = len(trace.members)
    row = np.empty(count, "i8")
    row[number[:count]] = np.arange(count)
    out = np.empty(len(came), _FOUND)
    out["member"], out["awaited"] = row[number[count:]], came["awaited"]
    return out[np.argsort(out["member"], kind="stable")]


def _waits(trace: Trace, model: Model) -> tuple[I8, I8]:
    """Return (members that wait, member each waits for), rows of members of a trace that has whole instances."""
    row = _rooted(trace)
    if not trace.share.any(len(row)):
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
