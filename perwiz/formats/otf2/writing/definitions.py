"""The global definitions of an OTF2 archive that is written, laid out as Score-P does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from perwiz.formats.otf2 import extras as extra
from perwiz.formats.otf2.definitions import Texts
from perwiz.formats.otf2.hybrid.routines import routine
from perwiz.formats.otf2.library import codes
from perwiz.formats.otf2.library.events import EVENTS
from perwiz.formats.otf2.writing.archive import UNDEFINED, encoded, numbers
from perwiz.formats.otf2.writing.locations import WrittenLocations
from perwiz.kernels.records import NO_CALL
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.origin import to_json
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Timeline, Topology, Trace

_ROLES = {
    operations.N_TO_N: codes.ALL_TO_ALL,
    operations.ONE_TO_N: codes.ONE_TO_ALL,
    operations.N_TO_ONE: codes.ALL_TO_ONE,
    operations.PREFIX: codes.OTHER_COLLECTIVE,
}
_ROLES |= dict.fromkeys(
    (
        operations.SEND,
        operations.ISEND,
        operations.RECV,
        operations.IRECV,
        operations.SENDRECV,
        operations.COMPLETE,
        operations.TEST,
        operations.PROBE,
    ),
    codes.POINT_TO_POINT,
)
_PARADIGM_OF_PROCESSES = 0
_UNTIMED = (1 << 64) - 1
_AT_A_POINT = 16
"""The timing of values that are those of one instant."""


def operation(op: int) -> int:
    """Return the OTF2 collective operation of a routine."""
    name = operations.OPS[op].removeprefix("MPI_")
    blocking = name[1:].capitalize() if name[:1] == "I" and name[1:].capitalize() in codes.OPERATIONS else name
    if blocking in codes.OPERATIONS:
        return codes.OPERATIONS.index(blocking)
    others = {"Finalize": codes.DESTROY_HANDLE, "Win_free": codes.DEALLOCATE, "Win_fence": 0}
    return others.get(name, codes.ALLOCATE if name.startswith("Win_") else codes.CREATE_HANDLE)


OPERATION = np.array([operation(op) for op in range(len(operations.OPS))])
"""OTF2 operation per op."""


def role(op: int) -> int:
    """Return the OTF2 role of a routine."""
    name = operations.OPS[op].removeprefix("MPI_")
    if name.endswith("barrier") or name == "Barrier":
        return codes.BARRIER
    if name.startswith("File_"):
        return codes.FILE
    if name in ("Put", "Get", "Accumulate", "Get_accumulate", "Rput", "Rget", "Raccumulate", "Fetch_and_op", "Compare_and_swap"):
        return codes.ONE_SIDED
    if name.startswith(("Comm_", "Cart_", "Graph_", "Dist_", "Intercomm_", "Win_", "Finalize")):
        return codes.FUNCTION
    return _ROLES.get(int(operations.KIND[op]), codes.FUNCTION)


class Definitions:
    """Numbers what the events refer to, and defines it at the end."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.strings = Texts(("",))
        self.locations = WrittenLocations(trace)
        self.ops = np.unique(trace.calls.op)
        self.routine = np.zeros(len(operations.OPS), "i8")
        """Region per op."""
        self.routine[self.ops] = np.arange(len(self.ops))
        self.first_name = len(self.ops)
        """Region of the first of the names."""
        self._parameters: dict[tuple[str, int], int] = {}
        self.counter_types = self._counter_types()
        """Type of the values per counter: INT64 if all are whole."""

    def parameter(self, name: str, kind: int) -> int:
        """Return the number of a parameter of a type."""
        return self._parameters.setdefault((name, kind), len(self._parameters))

    def _counter_types(self) -> I8:
        trace, out = self._trace, np.full(len(self._trace.counter_names), codes.INT64)
        of_calls, of_regions = trace.counters, trace.region_counters
        for counter, values in (
            *((of_calls.counter, of_calls.entered), (of_calls.counter, of_calls.returned)),
            *((of_regions.counter, of_regions.entered), (of_regions.counter, of_regions.left)),
        ):
            whole = (np.abs(values) < 1 << 62) & (np.floor(values) == values)
            out[counter[~whole]] = codes.DOUBLE
        return out

    def all(self, end: int, events: list[int]) -> Iterator[tuple[Any, ...]]:
        """Yield kind and arguments of all; `end` is the last instant, `events` the number of events per location."""
        strings = self.strings
        definitions = [
            ("Paradigm", codes.MPI, strings.of("MPI"), _PARADIGM_OF_PROCESSES),
            *self.locations.tree(strings),
            *self.locations.locations(strings, events),
            *self._regions(),
            *self.locations.comms(strings),
            *self._topologies(),
            *self._counters(),
            *(("Parameter", ref, strings.of(name), kind) for (name, kind), ref in self._parameters.items()),
            *(("RmaWin", ref, strings.of(f"Win {ref}"), 0, 0) for ref in self._windows()),
        ]
        yield "ClockProperties", 10**9, 0, end, _UNTIMED
        for ref, text in enumerate(strings.all()):
            yield "String", ref, encoded(text)
        yield from definitions

    def _regions(self) -> Iterator[tuple[Any, ...]]:
        strings, trace = self.strings, self._trace
        for ref, op in enumerate(self.ops.tolist()):
            name = strings.of(operations.OPS[op])
            yield "Region", ref, name, name, 0, role(op), codes.MPI, 0, UNDEFINED, 0, 0
        for ref, text in enumerate(trace.names):
            name = strings.of(text)
            file, _, line = (trace.sources[ref] if trace.sources else "").rpartition(":")
            which = codes.PARALLEL if trace.parallel[ref] else codes.FUNCTION
            mark = extra.MARK if routine(text, codes.USER, which) != NO_CALL else ""
            source = strings.of(file) if file else UNDEFINED
            begin = int(line) if file and line.isdecimal() else 0
            yield "Region", self.first_name + ref, name, name, strings.of(mark), which, codes.USER, 0, source, begin, begin

    def _topologies(self) -> Iterator[tuple[Any, ...]]:
        dimension = 0
        for ref, topology in enumerate(self._trace.topologies):
            for name, size, periodic in zip(topology.dimensions, topology.sizes, topology.periodic, strict=True):
                yield "CartDimension", dimension, self.strings.of(name), size, int(periodic)
                dimension += 1
            axes = range(dimension - len(topology.sizes), dimension)
            yield "CartTopology", ref, self.strings.of(topology.name), topology.comm, *numbers([*axes])
            for rank in np.flatnonzero(known(topology)).tolist():
                yield "CartCoordinate", ref, rank, *numbers(topology.coordinates[rank].tolist())

    def _counters(self) -> Iterator[tuple[Any, ...]]:
        """Yield one class of one member per counter: a value that is read at one instant."""
        for ref, text in enumerate(self._trace.counter_names):
            parts = re.fullmatch(r"(.*) \[(.*)\]", text, re.DOTALL)
            name, unit = parts.groups() if parts else (text, "#")
            kind = int(self.counter_types[ref])
            other_type, decimal, unknown = 0, 1, 0
            mode = _AT_A_POINT | codes.ABSOLUTE if ref in self._trace.levels else codes.ACCUMULATED
            strings = self.strings.of(name), self.strings.of("")
            yield "MetricMember", ref, *strings, other_type, mode, kind, decimal, 0, self.strings.of(unit)
            yield "MetricClass", ref, *numbers([ref]), codes.SYNCHRONOUS, unknown

    def _windows(self) -> list[int]:
        """Return the windows that records name; what they are the trace does not know."""
        trace, windows = self._trace, set[int]()
        for number_, text in enumerate(trace.texts):
            if "win" in EVENTS.get(text, {}):
                rows = np.flatnonzero(trace.records.kind == number_)
                windows |= {*trace.values[trace.records.first_value[rows] + list(EVENTS[text]).index("win")].tolist()}
        return sorted(ref for ref in windows if 0 <= ref < UNDEFINED)

    def properties(self, timeline: Timeline, start: int) -> dict[str, str]:
        """Return the extras of the whole trace; `start` is the time of the first event."""
        trace = self._trace
        out: dict[str, str] = {}
        if not timeline.origin.measured:
            out["MADE_BY"], out["ORIGIN"] = str(timeline.origin), to_json(timeline.origin)
        if start:
            out["START"] = str(start)
        for name, told in (("CLOCKS", trace.clocks_compared), ("WILDCARDS", trace.wildcards_told)):
            if not told:
                out[name] = json.dumps(False)
        if trace.properties:
            out["PROPERTIES"] = json.dumps(dict(trace.properties))
        if lacking := trace.counts.lacking | self._to_nobody():
            out["COUNTS"] = json.dumps(lacking)
        return out

    def _to_nobody(self) -> dict[str, int]:
        """Return how many calls have MPI_PROC_NULL for a partner, by their name in Counts, if the calls do not tell themselves."""
        calls, count = self._trace.calls, self._trace.counts.to_nobody
        talked = np.zeros(len(calls), bool)
        for call in (self._trace.requests.posted_by, self._trace.messages.send, self._trace.messages.receive_done):
            talked[call] = True
        alone = operations.POINT_TO_POINT[calls.op] & (calls.peer == NONE) & ((calls.tag != NONE) | ((calls.comm == NONE) & ~talked))
        return {"to_nobody": count} if count > np.count_nonzero(alone) else {}


def known(topology: Topology) -> Mask:
    """Return the ranks whose coordinates are all known."""
    return np.asarray((topology.coordinates >= 0).all(1))
