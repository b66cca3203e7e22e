"""Which streams wait for which: events recorded in one and awaited in another.

Where the trace has events of synchronisation, they tell it (Kineto writes them on demand). Else the order of calls does, as PyTorch makes
them (ProcessGroupNCCL.cpp): before it launches a collective on a stream of its own it records an event in the current stream and lets that
one wait for it; `work.wait()` lets the current stream wait for the oldest collective that nothing has waited for. So it does of what is
received; what a kernel alone sends nothing needs.

    record wait launch(nccl)              the collective waits for what was launched last on the other stream
    record wait launch(gemm)              likewise, the other way round
    launch(nccl) record wait record       between both records: NCCL's own, no wait for what comes behind
    wait launch(gemm)                     no record since the last launch: waits for a collective
    wait record wait launch(nccl) launch(gemm)      likewise: what is launched on the other stream waits for an earlier collective

Threads that launch on the same stream take turns: autograd waits for the collectives of a backward pass, and who called it launches next.
"""

from __future__ import annotations

import numpy as np

from perwiz.formats.kineto.comms import SEND
from perwiz.formats.kineto.device import Device
from perwiz.kernels import launches
from perwiz.trace import streams
from perwiz.trace.arrays import I8, Ints, Mask
from perwiz.trace.tables import NONE

_FAR = np.iinfo("i8").max


def events(device: Device) -> tuple[I8, I8]:
    """Return pairs of activities: one, and what began on another stream after waiting for its end."""
    waits = np.flatnonzero(device.does == streams.STREAM_WAIT)
    ran, launch = device.ran, device.launched()
    known = np.flatnonzero(launch >= 0)
    if not len(waits) or not len(known):
        return np.empty(0, "i8"), np.empty(0, "i8")
    row, told = device.synchronised(waits)
    if told.any():
        earlier, later = _told(device, known, launch, waits[told], row[told])
    else:
        earlier, later = _inferred(device, known, launch, waits)
    good = (earlier >= 0) & (later >= 0)
    good &= (ran.end[earlier] <= ran.begin[later]) & (ran.at.location[earlier] != ran.at.location[later])
    return earlier[good], later[good]


def _told(device: Device, known: I8, launch: I8, waits: I8, row: I8) -> tuple[I8, I8]:
    """Return the pairs that events of synchronisation tell; `row` is that of each wait in the file."""
    records = np.flatnonzero(device.does == streams.RECORD)
    number = device.correlation[records]
    order = records[np.argsort(number, kind="stable")]
    awaited = device.rank.detail("record", row)
    found = np.minimum(np.searchsorted(device.correlation[order], awaited), max(len(order) - 1, 0))
    if not len(order):
        return np.full(len(waits), NONE), np.full(len(waits), NONE)
    same = device.correlation[order[found]] == awaited
    source = device.rank.stream_named(device.rank.detail("awaited", row))
    earlier = _on_stream(device, known, launch, source, device.host.enter[order[found]], False)
    later = _on_stream(device, known, launch, device.rank.stream_of(row), device.host.enter[waits], True)
    return np.where(same, earlier, NONE), later


def _on_stream(device: Device, known: I8, launch: I8, stream: Ints, time: I8, behind: bool) -> I8:
    """Return the last activity launched into each stream before a time, or the first `behind` it; -1 where there is none."""
    ran, out = device.ran, np.full(len(stream), NONE, "i8")
    for one in np.unique(stream[stream >= 0]).tolist():
        rows = known[ran.at.location[known] == one]
        rows = rows[np.argsort(device.host.enter[launch[rows]], kind="stable")]
        if not len(rows):
            continue
        asked = stream == one
        place = np.searchsorted(device.host.enter[launch[rows]], time[asked], "right") - (0 if behind else 1)
        out[asked] = np.where((place >= 0) & (place < len(rows)), rows[np.clip(place, 0, len(rows) - 1)], NONE)
    return out


def _inferred(device: Device, known: I8, launch: I8, waits: I8) -> tuple[I8, I8]:
    """Return the pairs that the order of calls tells, of threads that take turns together."""
    host, ran, parts = device.host, device.ran, [(np.empty(0, "i8"), np.empty(0, "i8"))]
    records = np.flatnonzero(device.does == streams.RECORD)
    order = np.lexsort((host.row, host.enter))
    turn = np.empty(len(order), "i8")
    turn[order] = np.arange(len(order))
    known = known[np.lexsort((ran.begin[known], turn[launch[known]]))]
    known = known[np.append(True, np.diff(launch[known]) != 0)]
    together = _together(host.location[launch[known]], ran.at.location[known], ran.op[known] < 0, device.rank.hosts)
    for one in np.unique(together[host.location[waits]]).tolist():
        mine = known[together[host.location[launch[known]]] == one]
        if len(mine):
            own = (np.sort(turn[rows[together[host.location[rows]] == one]]) for rows in (records, waits))
            parts.append(_of_threads(device, mine, turn[launch[mine]], *own))
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _together(thread: Ints, stream: Ints, computes: Mask, threads: int) -> I8:
    """Return a number per thread: the same for those that launch what computes on the same streams, as autograd does and who calls it.

    thread  0 1 2   stream  7 7 9    out  0 0 2
    """
    out = np.arange(threads)
    for one in np.unique(stream[computes]).tolist():
        numbers = np.unique(out[thread[computes & (stream == one)]])
        out[np.isin(out, numbers)] = numbers[0]
    return out


def _of_threads(device: Device, activity: I8, launch: I8, records: I8, waits: I8) -> tuple[I8, I8]:
    """Return the pairs of the waits of some threads; `launch`, `records` and `waits` are the turns of their calls, in order."""
    ran = device.ran
    collective = ran.op[activity] >= 0
    group, of_wait = np.searchsorted(launch, records), np.searchsorted(launch, waits)
    size = len(launch) + 1
    first, last = np.full(size, _FAR), np.full(size, NONE, "i8")
    np.minimum.at(first, group, records)
    np.maximum.at(last, group, records)
    fresh = first[of_wait] < waits
    behind_one = np.append(False, collective)[of_wait]
    own = behind_one & (last[of_wait] > waits)
    later = np.append(activity, NONE)[of_wait]
    paired = fresh & ~behind_one
    earlier = np.full(len(waits), NONE, "i8")
    stream = ran.at.location[activity]
    earlier[paired] = _before(activity, stream, of_wait[paired])
    lone = np.flatnonzero(~paired & ~own & (later >= 0))
    between = np.append(collective, False)[of_wait[lone]]
    later[lone[between]] = np.append(activity, NONE)[_next(~collective)[of_wait[lone[between]]]]
    lone = lone[~between | (first[of_wait[lone]] < _FAR)]
    needed = collective & (ran.op[activity] != SEND)
    earlier[lone] = _oldest(activity[needed], launch[needed], waits[lone])
    return earlier, later


def _next(chosen: Mask) -> I8:
    """Return per place, and for the end, the first chosen one from there on; the end where there is none.

    chosen 0 1 0 0   out 1 1 4 4 4
    """
    place = np.append(np.where(chosen, np.arange(len(chosen)), len(chosen)), len(chosen))
    return np.asarray(np.minimum.accumulate(place[::-1])[::-1])


def _before(activity: I8, stream: Ints, place: I8) -> I8:
    """Return the last activity launched before each place that is on another stream than the one there, -1 for none.

    stream  7 7 9 9 7   place 2 3 4   out  1 1 3 (rows)
    """
    changes = np.append(True, stream[1:] != stream[:-1])
    begin = np.maximum.accumulate(np.where(changes, np.arange(len(stream)), 0))
    inside = np.minimum(place, len(stream) - 1)
    row = begin[inside] - 1
    return np.where((place < len(stream)) & (row >= 0), activity[row], NONE)


def _oldest(collective: I8, launch: I8, waits: I8) -> I8:
    """Return per wait the oldest collective launched before it that no wait before had, -1 for none."""
    taken = np.empty(len(waits), "i4")
    zero = (np.zeros(len(rows), "i8") for rows in (launch, waits))
    launches.oldest(next(zero), launch.astype("i8"), np.full(len(launch), _FAR), next(zero), waits.astype("i8"), taken)
    return np.where(taken >= 0, np.append(collective, NONE)[taken], NONE)
