"""The user functions of a Paraver trace, their paths and times, and the places that calls were made from."""

from __future__ import annotations

import re

import numpy as np

from perwiz.formats.devices import COPIES
from perwiz.formats.paraver import codes
from perwiz.formats.paraver.labels import Labels
from perwiz.kernels.alog import Records
from perwiz.trace.arrays import I4, I8
from perwiz.trace.numbers import distinct_pairs, paths, running
from perwiz.trace.tables import NONE, Paths, Regions, Times

_LINE = re.compile(r"(\d+) \(([^,)]+)")
_LINKED = re.compile(r"(\S+) \[(.+)\]")
_OF_LINES = 100
"""The lines of functions have types of events that are greater by this."""
_TYPES = tuple(codes.REGIONS)
COPY = len(_TYPES)
"""From here on the number of a type is COPY + a row of COPIES: a copy whose direction is known."""


class RegionInstances:
    """The table of regions with its times, the names that occur and where they are defined, and the path per row of what was recorded."""

    def __init__(self, made: Records, location: I4, labels: Labels, first: I8, returned: I8) -> None:
        """`location` is per instance that was made, `first` the first call of each location, `returned` when each call did."""
        order = np.argsort(location, kind="stable")
        new = np.empty(len(order) + 1, "i4")
        new[order] = np.arange(len(order), dtype="i4")
        new[-1] = NONE
        self.new = new[:-1]
        """Row per row of what was recorded."""
        made, location = made[order], location[order]
        parent = new[made.parent]
        kinds, name = distinct_pairs(made.number, made.name)
        told = [(_TYPES[kind], value) if kind < len(_TYPES) else (kind - len(_TYPES), value) for kind, value in kinds.tolist()]
        self.names = tuple(COPIES[kind] if kind < len(COPIES) else _function(labels.value(kind, value)) for kind, value in told)
        sources = tuple(_source(labels.values.get(kind + _OF_LINES, {}).get(value, "")) for kind, value in told)
        self.sources = sources if any(sources) else ()
        path, *above = paths(parent, name)
        self.paths = Paths(*above)
        self.path_of = np.append(path, np.int32(NONE))[new]
        """Path per row of what was recorded; the last, so also -1, is none."""
        begin, end = (made[key] + first[location] for key in ("first_call", "end_call"))
        enter, leave = (_outside(made[key].copy(), call, first[location], returned) for key, call in (("enter", begin), ("leave", end)))
        self.times = Times(enter, leave)
        instance = running(location, name) + np.int32(1)
        self.table = Regions(location, path, parent, instance, begin.astype("i4"), end.astype("i4"))


def _outside(times: I8, call: I8, first: I8, returned: I8) -> I8:
    """Return the times of region boundaries, each before `call`; one inside the call before that moves to its return."""
    has = call > first
    times[has] = np.maximum(times[has], returned[call[has] - 1])
    return times


def _source(text: str) -> str:
    """Return `file:line` of what Extrae writes as `line (file, library)`, empty for anything else and for line 0."""
    found = _LINE.match(text)
    return f"{found[2]}:{found[1]}" if found and int(found[1]) else ""


def sites(calls: Records, labels: Labels) -> tuple[I4, tuple[str, ...]]:
    """Return where each call was made, and the names of these places, both empty if nothing tells."""
    if not (calls.level.any() or calls.line_level.any()):
        return np.empty(0, "i4"), ()
    callers, caller = distinct_pairs(calls.caller, calls.level)
    lines, line = distinct_pairs(calls.line, calls.line_level)
    places, which = distinct_pairs(caller, line)
    names = [_site(labels, *callers[one].tolist(), *lines[other].tolist()) for one, other in places.tolist()]
    row = {name: k for k, name in enumerate(dict.fromkeys(filter(None, names)))}
    return np.array([row.get(name, NONE) for name in names], "i4")[which], tuple(row)


def _site(labels: Labels, caller: int, level: int, line: int, line_level: int) -> str:
    """Return `file:line function` as far as they are told."""
    source = _source(labels.values.get(codes.CALLER_LINE + line_level, {}).get(line, "")) if line_level else ""
    return f"{source} {_function(labels.value(codes.CALLER + level, caller)) if level else ''}".strip()


def _function(name: str) -> str:
    """Return the name of a function: Extrae writes `short.. [whole]` where it is long, and `name [as linked]`."""
    found = _LINKED.fullmatch(name)
    return name if not found else found[2] if ".." in found[1] else found[1]
