"""The instances of user regions in an ALOG file, their paths and times."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.alog.locations import RecordedLocations
from perwiz.formats.alog.machine import Recording
from perwiz.kernels import alog
from perwiz.trace.arrays import I8
from perwiz.trace.numbers import paths, running
from perwiz.trace.tables import NONE, Paths, Regions, Times


class RegionInstances:
    """The table of regions with its times, the names that occur, the paths, and the path per number."""

    def __init__(self, recording: Recording, locations: RecordedLocations, first: I8, returned: I8) -> None:
        column: dict[str, NDArray[Any]] = {name: recording.regions.take(name) for name in alog.REGION.names or ()}
        column["location"] = locations.row[column["location"]]
        order = np.lexsort((column["number"], column["location"]))
        new = np.empty(len(order) + 1, "i4")
        new[column["number"][order]] = np.arange(len(order))
        new[-1] = NONE
        column = {name: values[order] for name, values in column.items()}
        parent, location = new[column["parent"]], column["location"]
        used = np.unique(column["name"])
        name = np.searchsorted(used, column["name"]).astype("i4")
        self.names = tuple(recording.states.names[k] for k in used)
        self.parallel = np.array([recording.states.parallel[k] for k in used], bool)
        path, *above = paths(parent, name)
        self.paths = Paths(*above)
        self.path_of = np.append(path, np.int32(NONE))[new]
        """Path per number of an instance; the last, so also -1, is none."""
        instance = running(location, name).astype("i4") + np.int32(1)
        rows, values = recording.notes.take(alog.REGION_BEGIN, "i", first, locations.row)
        instance[new[rows]] = values
        begin, end = (column[key] + first[location] for key in ("first_call", "end_call"))
        self.times = Times(
            *(_outside(column[key] - locations.start, call, first[location], returned) for key, call in (("enter", begin), ("leave", end)))
        )
        self.table = Regions(location, path, parent, instance, begin.astype("i4"), end.astype("i4"))


def _outside(times: I8, call: I8, first: I8, returned: I8) -> I8:
    """Return the times of region boundaries, each before `call`; one inside the call before that moves to its return."""
    has = call > first
    times[has] = np.maximum(times[has], returned[call[has] - 1])
    return times
