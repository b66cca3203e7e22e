"""What an OTF2 archive tells of devices: the routines of the host that launch and wait, and what ran on the streams.

Score-P writes kernels as regions of a stream, copies as one-sided transfers on it; an activity is what lies between two `device_idle` calls
of a stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.devices import COPY_OP, HOST, OF_COPY, OFFLOAD_OP, role, stem
from perwiz.formats.otf2.other_records import OtherRecords
from perwiz.formats.otf2.regions import RegionInstances
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8
from perwiz.trace.streams import KERNEL, Activities, Routines
from perwiz.trace.tables import NONE

_IDLE = operations.OP["device_idle"]
STREAM_REFERENCES = ("CUDA_STREAM_REF", "OPENCL_QUEUE_REF", "OMP_TARGET_LOCATION_REF")
EVENT_REFERENCES = ("CUDA_EVENT_REF", "OPENCL_EVENT_REF")
"""Attributes that name the stream or the event of a routine."""
CALLSITE = "callsite id"
"""The parameter that a launch and its kernel share."""


class Said(NamedTuple):
    """What the archive says beside the calls, per call, -1 for nothing: stream (a location) and event that it names, place of a launch."""

    stream: I4
    event: I8
    key: I8


def said(other: OtherRecords, leave: I8, locations: Mapping[int, int]) -> Said:
    """Return what attributes and parameters say of calls that return at these times, ns; `locations` are rows by reference."""
    columns = np.full((3, len(leave)), NONE, "i8")
    streams, events = (other.attributes_of_calls(names, leave) for names in (STREAM_REFERENCES, EVENT_REFERENCES))
    for column, (call, value) in zip(columns, (streams, events, other.parameters_of_calls(CALLSITE, leave)), strict=True):
        column[call] = value
    refs, place = np.unique(columns[0], return_inverse=True)
    stream = np.array([locations.get(ref, NONE) for ref in refs.tolist()], "i4")[place]
    return Said(stream, columns[1], columns[2])


class Devices:
    """The activities and the routines of an archive; those first, whose kernels these launch."""

    def __init__(self, calls: Mapping[str, NDArray[Any]], process: I4, instances: RegionInstances, told: Said) -> None:
        """`calls` are columns of all calls by name, enter and leave among them; `process` is per location."""
        self._calls, self._process, self._told = calls, process, told
        self._paths, self._names = instances.paths, instances.known.names
        regions, paths = instances.table, instances.paths
        self._idle = np.flatnonzero(calls["op"] == _IDLE)
        self._ran = np.full(len(calls["op"]), NONE, "i4")
        """Region that begins in front of a call of a stream, or -1."""
        top = np.flatnonzero((regions.parent == NONE) & np.isin(regions.location, calls["location"][self._idle]))
        top = top[regions.first_call[top] < len(calls["op"])]
        self._ran[regions.first_call[top]] = paths.region[regions.path[top]]
        self._kernels: dict[str, int] = {}

    def activities(self) -> Activities:
        """Return what ran on the streams, in their order."""
        calls, told = self._calls, self._told
        follows = np.flatnonzero(calls["location"][self._idle[1:]] == calls["location"][self._idle[:-1]])
        before, behind = self._idle[follows], self._idle[follows + 1]
        region, place = np.unique(self._ran[behind], return_inverse=True)
        names = [self._names[one] if one != NONE else "" for one in region.tolist()]
        what = np.array([OF_COPY.get(name, KERNEL) for name in names], "u1")[place]
        name = np.array([self._kernels.setdefault(stem(name), len(self._kernels)) for name in names], "i4")[place]
        stream = calls["location"][before]
        return Activities(
            before.astype("i4"),
            behind.astype("i4"),
            self._process[stream],
            stream,
            calls["leave"][before],
            calls["enter"][behind],
            what,
            told.key[before],
            name,
        )

    def routines(self, region: I4, names: Sequence[str]) -> Routines:
        """Return the calls of the host that concern devices; `region` is the number of each in all regions that are defined, `names`."""
        calls, told = self._calls, self._told
        row = np.flatnonzero(np.isin(calls["op"], HOST))
        number, place = np.unique(region[row], return_inverse=True)
        what = np.array([role(names[one])[1] for one in number.tolist()], "u1")[place]
        opencl = np.array([names[one].startswith("cl") for one in number.tolist()], bool)[place]
        blocks = np.isin(calls["op"][row], (COPY_OP, OFFLOAD_OP))
        path, place = np.unique(np.where(what == KERNEL, calls["path"][row], NONE), return_inverse=True)
        kernel = np.array([self._launched(one) for one in path.tolist()], "i4")[place]
        location = calls["location"][row]
        return Routines(
            row.astype("i4"),
            self._process[location],
            location,
            calls["enter"][row],
            calls["leave"][row],
            what,
            blocks,
            ~blocks | opencl,
            told.stream[row],
            told.event[row],
            told.key[row],
            kernel,
        )

    def _launched(self, path: int) -> int:
        """Return the kernel that is launched on a path, the innermost function that is called as one; -1 for none."""
        while path != NONE:
            number = self._kernels.get(stem(self._names[self._paths.region[path]]), NONE)
            if number != NONE:
                return number
            path = int(self._paths.parent[path])
        return NONE
