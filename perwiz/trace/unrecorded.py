"""When nothing was recorded, as a program or its user had switched the measurement off."""

from __future__ import annotations

import numpy as np

from perwiz.trace.arrays import I4
from perwiz.trace.tables import Times
from perwiz.trace.trace import Trace

ON_OFF = "MeasurementOnOff"
"""Kind of the records that say so, as OTF2 names them."""
_ON = 1


def unrecorded(trace: Trace) -> tuple[I4, Times]:
    """Return the location of each interval in which nothing was recorded, int32, and when it begins and ends, ns, in that order.

    A location that begins by switching on was off before. One that stays off is so until the last instant of all, even if that is its own.

    Worked example, locations 0 from 0 on and 1 from 5 on, the last instant is 90:
        location  0   0   0   1   1        out  0   1   1
        time      10  20  30  15  40            10  5   40
        switches  off off on  on  off           30  15  90
    """
    table, ends = trace.records, trace.timeline.locations
    rows = np.flatnonzero(table.kind == trace.texts.index(ON_OFF)) if ON_OFF in trace.texts else np.empty(0, "i8")
    location, time, on = table.location[rows], table.time[rows], trace.values[table.first_value[rows]] == _ON
    first = np.diff(location, prepend=-1) != 0
    last = np.diff(location, append=-1) != 0
    before = np.where(first, ~on, np.roll(on, 1))
    off, back = ~on & before, on & ~before
    ahead, for_good = location[first & on], location[last & ~on]
    begin = np.concatenate([ends.enter[ahead], time[off]])
    end = np.concatenate([time[back], np.full(len(for_good), ends.leave.max(initial=0))])
    begins, stops = np.concatenate([ahead, location[off]]), np.concatenate([location[back], for_good])
    order, other = np.lexsort((begin, begins)), np.lexsort((end, stops))
    begins, begin, end = begins[order], begin[order], end[other]
    some = end > begin
    some[np.searchsorted(begins, for_good, "right") - 1] = True
    return begins[some].astype("i4"), Times(begin[some], end[some])
