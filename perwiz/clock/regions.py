"""Region boundaries have no vertices: when the calls around them are moved, they keep their place between them."""

from __future__ import annotations

import numpy as np

from perwiz.trace.arrays import I4, I8
from perwiz.trace.tables import Times
from perwiz.trace.trace import Timeline, Trace


def moved_regions(trace: Trace, before: Timeline, calls: Times, locations: Times) -> Times:
    """Return the times of the regions when calls and locations move from where they were `before`; none is moved backwards.

    Between two instants of its location a boundary is interpolated; one recorded outside of them moves as the nearer one.
    """
    table = trace.regions
    return Times(
        _moved(trace, before, calls, locations, table.first_call, before.regions.enter),
        _moved(trace, before, calls, locations, table.end_call, before.regions.leave),
    )


def _moved(trace: Trace, before: Timeline, calls: Times, locations: Times, call: I4, time: I8) -> I8:
    """Return where boundaries before these calls (of their location, or the first behind it) come to lie, int64 ns.

    Worked example, a call that returned at 100 and the next, entered at 200, now return and are entered at 130 and 210:
        time   90  100  150  200  260
        moved 120  130  170  210  270
    """
    left, right = _around(trace, before.calls, before.locations, call)
    new_left, new_right = _around(trace, calls, locations, call)
    share = np.maximum(new_right - new_left, 0) / np.maximum(right - left, 1)
    inside = new_left + np.floor((time - left) * share).astype("i8")
    inside = np.maximum(np.minimum(inside, new_right), time)
    return np.where(time <= left, time + new_left - left, np.where(time >= right, time + new_right - right, inside))


def _around(trace: Trace, calls: Times, locations: Times, call: I4) -> tuple[I8, I8]:
    """Return the instants around boundaries: the return of the call before or the first instant, the entry of the call or the last."""
    location = trace.regions.location
    first = trace.first_calls
    left, right = locations.enter[location], locations.leave[location]
    after, ahead = np.flatnonzero(call > first[location]), np.flatnonzero(call < first[location + 1])
    left[after] = calls.leave[call[after] - 1]
    right[ahead] = calls.enter[call[ahead]]
    return left, right
