"""What keeps sends apart that follow each other at once on a process: a gap beyond their own time, or nothing."""

from __future__ import annotations

import numpy as np

from perwiz.loggps.machine import Estimate, Unknown
from perwiz.loggps.progress import SHORT
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.spread.share import Share
from perwiz.trace.tables import STANDARD
from perwiz.trace.trace import Trace

LEAST = 20
"""Sends in a row of one size that are needed."""
_LONGER = 1.5
"""A gap holds if sends in a row last so many times what others of their size do."""


def gap(trace: Trace, most: int) -> tuple[Estimate | Unknown, ...]:
    """Return `gap` and g_ns as sends of at most `most` bytes, which wait for no receiver, tell.

    g is the time from one return to the next of the shortest messages, of which a process sends enough in a row. The gap is "sending call"
    if a send then lasts longer than one behind which none came at once, else "none".
    """
    call, size, row, since = _sends(trace, most)
    times, share = trace.timeline.calls, trace.share
    first = _first_often(share, size[row])
    if first is None:
        return (Unknown("gap", "", ("gap=none", "gap=sending call"), f"no process sends {LEAST} times one message right behind another"),)
    lasts, kept = times.leave[call] - times.enter[call], size == first
    g, count = _shortest(share, since[kept & row])
    alone, others = _shortest(share, lasts[kept & ~row])
    behind, _ = _shortest(share, lasts[kept & row])
    longer = others > 0 and behind >= _LONGER * max(alone, 1)
    return (
        Estimate("g_ns", "", float(g), count, 0),
        Estimate("gap", "", "sending call" if longer else "none", count + others, 0),
    )


def _first_often(share: Share, size: I8) -> int | None:
    """Return the smallest size of which there are enough sends, None without any."""
    sizes = share.distinct(size)
    count = share.reduced(np.bincount(np.searchsorted(sizes, size), minlength=len(sizes)), "sum")
    often = sizes[count >= LEAST]
    return int(often[0]) if len(often) else None


def _sends(trace: Trace, most: int) -> tuple[I8, I8, Mask, I8]:
    """Return calls that send one message of at most `most` bytes, its size, which follow such a call at once, and the time since that.

    At once: no later than that call lasted.
    """
    table, times, location = trace.messages, trace.timeline.calls, trace.calls.location
    size = np.full(len(trace.calls), -1)
    usual = (table.mode == STANDARD) & (table.bytes <= most) & (operations.KIND[trace.calls.op[table.send]] != operations.SENDRECV)
    size[table.send[usual]] = table.bytes[usual]
    size[np.bincount(table.send, minlength=len(size)) != 1] = -1
    call = np.flatnonzero((size >= 0) & trace.share.has(location))
    before = np.maximum(call - 1, 0)
    idle = times.enter[call] - times.leave[before]
    row = (call > 0) & (size[before] == size[call]) & (location[before] == location[call])
    row &= idle <= times.leave[before] - times.enter[before]
    return call, size[call], row, times.leave[call] - times.leave[before]


def _shortest(share: Share, time: I8) -> tuple[int, int]:
    """Return the shortest of some times of all processes but a few, 0 without any, and how many there are."""
    count = share.total(len(time))
    return share.ranked(time, int(SHORT * (count - 1))) if count else 0, count
