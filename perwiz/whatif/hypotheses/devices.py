"""What a process computes for its devices: nothing that its threads, or other processes, could share."""

from __future__ import annotations

import numpy as np

from perwiz.trace import operations
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.numbers import distinct_pairs
from perwiz.trace.resources import remembered
from perwiz.trace.tables import NONE, STREAM
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.stretch import Segments

_CALLS = np.array([name.startswith("device_") for name in operations.OPS])
_LITTLE = 0.1
_CONSTRUCTS = ("!$omp target", "!$omp offloading")
"""How Score-P names what OpenMP does for devices itself."""


@remembered(1)
def for_devices(segments: Segments) -> Mask:
    """Return which segments start the device of a process, or lie innermost in a construct of OpenMP that moves data or code there.

    None of a trace without calls of devices.

    The start is what lies before the first call of a device, in the regions around it that are entered once and left before the last call:

        main |-- init_cuda |== start ==| copy | copy |----|-- solve | launch |--|--|     not in main, which holds the last call, too
    """
    trace = segments.trace
    first, last = _first_and_last(trace)
    if (first == NONE).all():
        return np.zeros(len(segments.length), bool)
    regions, names = trace.regions, trace.region_names
    which = distinct_pairs(regions.location, names)[1]
    call, end = first[regions.location], last[regions.location]
    around = (call != NONE) & (regions.first_call <= call) & (call < regions.end_call) & (regions.end_call <= end)
    chosen = segments.within(np.flatnonzero(around & (np.bincount(which) == 1)[which]))
    starts = chosen & (segments.gap <= (first + np.arange(len(first)))[segments.location])
    named = np.array([name.startswith(_CONSTRUCTS) for name in trace.names], bool)
    if named.any():
        starts |= np.append(named[trace.paths.region], False)[segments.path]
    return np.asarray(starts & (trace.locations.kind != STREAM)[segments.location])


def mostly_for_devices(segments: Segments, chosen: Mask, region: str) -> bool:
    """Return whether more than a little (_LITTLE) of what is computed in a region, or a step of it, is for devices; `chosen` what is."""
    share = segments.trace.share
    if not share.any(chosen.any()):
        return False
    inside = segments.inside(np.sort(selectors.steps(segments.trace, region)[0]))[0]
    length = segments.length[inside]
    held, whole = (share.total(int(took.sum())) for took in (length[chosen[inside]], length))
    return held > _LITTLE * whole


def _first_and_last(trace: Trace) -> tuple[I8, I8]:
    """Return, per location, its first and last call of a device if its process has called none before, else -1."""
    hosts = trace.locations.kind != STREAM
    row = np.flatnonzero(_CALLS[trace.calls.op] & hosts[trace.calls.location])
    process = trace.locations.process[trace.calls.location[row]]
    order = np.lexsort((trace.timeline.calls.enter[row], process))
    calls = row[order][np.unique(process[order], return_index=True)[1]]
    first, last = (np.full(len(trace.locations), NONE, "i8") for _ in range(2))
    first[trace.calls.location[calls]] = calls
    last[trace.calls.location[row]] = row
    return first, last
