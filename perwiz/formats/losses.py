"""What formats have no place for, and names in the ASCII that some are limited to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from perwiz.trace import operations
from perwiz.trace.numbers import running
from perwiz.trace.tables import ANY, NONE
from perwiz.trace.trace import Ranks, Trace

REQUESTS = "requests"
WILDCARDS = "wildcards of receives"
MODES = "send modes that the routine does not tell"
LABELS = "operations and datatypes of reductions, kinds of locks"
COUNTERS = "values of counters"
SAMPLED = "values of counters read at any time"
PARAMETERS = "parameters"
RECORDS = "records of threads, windows, files ..."
TOPOLOGIES = "topologies"
LINKS = "ties of threads, devices and windows"
SOURCES = "places where regions are defined"
SITES = "places that calls were made from"
METAHOSTS = "names of metahosts"
PROCESSORS = "processors that locations are on"
INSTANCES = "numbers of region instances that counting does not give"
BETWEEN_GROUPS = "communicators of messages between groups"
UNFINISHED = "tests of unfinished requests"
CANCELLED = "cancelled requests"
RECORD_TIMES = "times of message records inside calls"
OFFSETS = "measurements of clock offsets"
NO_ASCII = "names that are not in printable ASCII as they are"
NEVER_ENTERED = "names of regions never entered"
DEFECTS = "defects"

KEPT = "a store (NAME.perwiz) holds all"
"""What is said behind what a file does not hold."""


def _between_groups(trace: Trace) -> int:
    """Return how many messages are of a communicator that lists not both of their processes."""
    messages, process, ranks = trace.messages, trace.processes_of_calls, Ranks(trace.communicators)
    of_ends = (ranks.of(messages.comm, process[call]) for call in (messages.send, messages.receive))
    return int(np.count_nonzero((messages.comm >= 0) & (np.minimum(*of_ends) < 0)))


_COUNT: dict[str, Callable[[Trace], int | np.integer[Any]]] = {
    REQUESTS: lambda trace: len(trace.requests),
    WILDCARDS: lambda trace: np.count_nonzero((trace.calls.peer == ANY) | (trace.calls.tag == ANY)),
    MODES: lambda trace: np.count_nonzero(trace.messages.mode != operations.MODE[trace.calls.op[trace.messages.send]]),
    LABELS: lambda trace: len(trace.labels),
    COUNTERS: lambda trace: len(trace.counters) + len(trace.region_counters),
    SAMPLED: lambda trace: sum(each.values for each in trace.sampled),
    PARAMETERS: lambda trace: len(trace.parameters),
    RECORDS: lambda trace: len(trace.records),
    LINKS: lambda trace: len(trace.links) + np.count_nonzero(trace.collectives.comm == NONE),
    TOPOLOGIES: lambda trace: len(trace.topologies),
    SOURCES: lambda trace: sum(bool(source) for source in trace.sources),
    SITES: lambda trace: np.count_nonzero(trace.site >= 0),
    METAHOSTS: lambda trace: len(trace.metahosts) if len(trace.metahosts) > 1 else 0,
    PROCESSORS: lambda trace: np.count_nonzero(trace.locations.cpu >= 0),
    INSTANCES: lambda trace: np.count_nonzero(running(trace.regions.location, trace.region_names) + 1 != trace.regions.instance),
    BETWEEN_GROUPS: _between_groups,
    UNFINISHED: lambda trace: len(trace.unfinished),
    CANCELLED: lambda trace: np.count_nonzero(trace.requests.cancelled),
    RECORD_TIMES: lambda trace: np.count_nonzero(trace.messages.sent_after | trace.messages.received_before),
    OFFSETS: lambda trace: len(trace.offsets),
    NO_ASCII: lambda trace: sum(ascii_text(name) != name for name in names(trace)),
    NEVER_ENTERED: lambda trace: len(trace.names) - len(np.unique(trace.region_names)),
    DEFECTS: lambda trace: len(trace.defects),
}
SHOWN_BY_NO_VIEWER = (
    *(REQUESTS, WILDCARDS, MODES, LABELS, COUNTERS, SAMPLED, PARAMETERS, RECORDS, TOPOLOGIES, SOURCES, RECORD_TIMES, OFFSETS, DEFECTS),
)
"""What neither Paraver nor Perfetto shows."""
LONGEST_TEXT = 900
"""Most characters of a text in a file of lines; with what stands before it, an ALOG line stays below 1000."""


def counted(trace: Trace, kinds: Iterable[str], others: Iterable[tuple[str, int | np.integer[Any]]] = ()) -> list[tuple[str, int]]:
    """Return how many of each kind a trace has, then the others: those of which there are some."""
    return [(kind, int(count)) for kind, count in (*((kind, _COUNT[kind](trace)) for kind in kinds), *others) if count]


def names(trace: Trace) -> list[str]:
    """Return the names of regions, communicators and nodes."""
    return [*trace.names, *trace.communicators.names, *trace.nodes]


def ascii_text(text: str, blank: str = " ", most: int = LONGEST_TEXT) -> str:
    """Return the text in printable ASCII, `?` for anything else, blanks inside as `blank`, at most `most` characters."""
    return re.sub(r"[^ -~]", "?", text).strip().replace(" ", blank)[:most].rstrip()
