"""What keeps sends apart that follow each other at once on a process: a gap beyond their own time, or nothing."""

from __future__ import annotations

import numpy as np

from perwiz.loggps.machine import Estimate, Unknown
from perwiz.loggps.progress import SHORT
from perwiz.trace import operations
from perwiz.trace.arrays import F8, I8, Mask
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
    times = trace.timeline.calls
    sizes, shortest, count = _shortest(size[row], since[row])
    enough = np.flatnonzero(count >= LEAST)
    if not len(enough):
        return (Unknown("gap", "", ("gap=none", "gap=sending call"), f"no process sends {LEAST} times one message right behind another"),)
    lasts = (times.leave[call] - times.enter[call]).astype("f8")
    first = sizes[enough[0]]
    kept = size == first
    _, alone, others = _shortest(size[kept & ~row], lasts[kept & ~row])
    _, behind, _ = _shortest(size[kept & row], lasts[kept & row])
    longer = len(alone) > 0 and behind[0] >= _LONGER * max(alone[0], 1)
    told = int(count[enough[0]]) + int(others.sum())
    return (
        Estimate("g_ns", "", float(shortest[enough[0]]), int(count[enough[0]]), 0),
        Estimate("gap", "", "sending call" if longer else "none", told, 0),
    )


def _sends(trace: Trace, most: int) -> tuple[I8, I8, Mask, F8]:
    """Return calls that send one message of at most `most` bytes, its size, which follow such a call at once, and the time since that.

    At once: no later than that call lasted.
    """
    table, times, location = trace.messages, trace.timeline.calls, trace.calls.location
    size = np.full(len(trace.calls), -1)
    usual = (table.mode == STANDARD) & (table.bytes <= most) & (operations.KIND[trace.calls.op[table.send]] != operations.SENDRECV)
    size[table.send[usual]] = table.bytes[usual]
    size[np.bincount(table.send, minlength=len(size)) != 1] = -1
    call = np.flatnonzero(size >= 0)
    before = np.maximum(call - 1, 0)
    idle = times.enter[call] - times.leave[before]
    row = (call > 0) & (size[before] == size[call]) & (location[before] == location[call])
    row &= idle <= times.leave[before] - times.enter[before]
    return call, size[call], row, (times.leave[call] - times.leave[before]).astype("f8")


def _shortest(size: I8, time: F8) -> tuple[I8, F8, I8]:
    """Return sizes, the shortest of their times but a few, and how many there are."""
    order = np.lexsort((time, size))
    sizes, start, count = np.unique(size[order], return_index=True, return_counts=True)
    return sizes, time[order][start + (SHORT * (count - 1)).astype("i8")] if len(start) else time[:0], count
