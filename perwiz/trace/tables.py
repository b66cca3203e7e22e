"""The tables of a trace. Ids are row numbers; -1 is none, -2 is any. Times are int64 nanoseconds since the start of the trace."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import TraceError
from perwiz.trace.table import Table, column

NONE, ANY = -1, -2
STANDARD, READY, BUFFERED, SYNCHRONOUS = range(4)
"""Send modes, as in `Messages.mode`."""


@dataclasses.dataclass(frozen=True, eq=False)
class Locations(Table):
    """A process or thread."""

    metahost: NDArray[np.int32] = column("i4", "number of the metahost")
    node: NDArray[np.int32] = column("i4", "row of Trace.nodes, or -1")
    process: NDArray[np.int32] = column("i4", "rank in MPI_COMM_WORLD")
    thread: NDArray[np.int32] = column("i4", "number of the thread in its process")
    cpu: NDArray[np.int32] = column("i4", "number of the processor, or -1")


@dataclasses.dataclass(frozen=True, eq=False)
class Paths(Table):
    """A region path: a user region and the path it was entered from."""

    parent: NDArray[np.int32] = column("i4", "row of this table, or -1 at the top; always a smaller number")
    region: NDArray[np.int32] = column("i4", "row of Trace.names")


@dataclasses.dataclass(frozen=True, eq=False)
class Calls(Table):
    """One MPI call of one location, sorted by (location, program order)."""

    location: NDArray[np.int32] = column("i4", "row of locations")
    op: NDArray[np.uint8] = column("u1", "routine, row of perwiz.trace.ops.OPS")
    path: NDArray[np.int32] = column("i4", "region path it was called from, row of paths, or -1")
    peer: NDArray[np.int32] = column("i4", "partner as a rank in MPI_COMM_WORLD: receiver of a send, source of a receive; -1 none, -2 any")
    tag: NDArray[np.int32] = column("i4", "tag, or -1 none, -2 any")
    comm: NDArray[np.int32] = column("i4", "row of communicators, or -1")
    root: NDArray[np.int32] = column("i4", "root of a collective as a rank in MPI_COMM_WORLD, or -1 none or unknown")
    bytes_sent: NDArray[np.int64] = column("i8", "bytes this call sends", "byte")
    bytes_received: NDArray[np.int64] = column("i8", "bytes this call receives", "byte")


@dataclasses.dataclass(frozen=True, eq=False)
class Requests(Table):
    """One request, sorted by the call that posts it."""

    posted_by: NDArray[np.int32] = column("i4", "call that posts the operation")
    completed_by: NDArray[np.int32] = column("i4", "call that completes it, or -1 unknown")


@dataclasses.dataclass(frozen=True, eq=False)
class Regions(Table):
    """One instance of a user region, sorted by (location, entry). Its calls are the rows first_call .. end_call - 1."""

    location: NDArray[np.int32] = column("i4", "row of locations")
    path: NDArray[np.int32] = column("i4", "row of paths")
    parent: NDArray[np.int32] = column("i4", "enclosing instance, row of this table, or -1")
    instance: NDArray[np.int32] = column("i4", "number of this instance of the region on its location, from 1")
    first_call: NDArray[np.int32] = column("i4", "first call entered after the region was entered")
    end_call: NDArray[np.int32] = column("i4", "first call entered after the region was left")


@dataclasses.dataclass(frozen=True, eq=False)
class Messages(Table):
    """One matched message."""

    send: NDArray[np.int32] = column("i4", "call that sends or posts the send")
    send_done: NDArray[np.int32] = column("i4", "call that completes the send, or -1 unknown")
    receive: NDArray[np.int32] = column("i4", "call that receives or posts the receive")
    receive_done: NDArray[np.int32] = column("i4", "call that completes the receive")
    tag: NDArray[np.int32] = column("i4", "tag")
    comm: NDArray[np.int32] = column("i4", "row of communicators")
    mode: NDArray[np.uint8] = column("u1", "send mode: 0 standard, 1 ready, 2 buffered, 3 synchronous")
    bytes: NDArray[np.int64] = column("i8", "size", "byte")


@dataclasses.dataclass(frozen=True, eq=False)
class Collectives(Table):
    """One instance of a collective operation over a communicator."""

    op: NDArray[np.uint8] = column("u1", "routine, row of perwiz.trace.ops.OPS")
    comm: NDArray[np.int32] = column("i4", "row of communicators")
    root: NDArray[np.int32] = column("i4", "root as a rank in MPI_COMM_WORLD, or -1 none or unknown")
    first_member: NDArray[np.int32] = column("i4", "first row of its members; they end where the next instance begins")


@dataclasses.dataclass(frozen=True, eq=False)
class Members(Table):
    """The part of one location in a collective instance, sorted by (collective, rank in the communicator)."""

    collective: NDArray[np.int32] = column("i4", "row of collectives")
    call: NDArray[np.int32] = column("i4", "call that starts the operation")
    done: NDArray[np.int32] = column("i4", "call that completes it, or -1 unknown")


@dataclasses.dataclass(frozen=True, eq=False)
class Times(Table):
    """The times of one run, beside calls, regions or locations."""

    enter: NDArray[np.int64] = column("i8", "entered", "ns")
    leave: NDArray[np.int64] = column("i8", "left", "ns")


@dataclasses.dataclass(frozen=True, eq=False)
class Labels(Table):
    """A text some calls carry: operation and datatype of a reduction."""

    call: NDArray[np.int32] = column("i4", "row of calls")
    text: NDArray[np.int32] = column("i4", "row of Trace.texts")


@dataclasses.dataclass(frozen=True, eq=False)
class Offsets(Table):
    """A clock measurement that the writer of the trace has applied."""

    location: NDArray[np.int32] = column("i4", "row of locations")
    time: NDArray[np.int64] = column("i8", "local time", "ns")
    offset: NDArray[np.float64] = column("f8", "offset to the master clock", "us")
    drift: NDArray[np.float64] = column("f8", "drift", "ppm")
    error: NDArray[np.float64] = column("f8", "standard error of the offset", "us")


@dataclasses.dataclass(frozen=True, eq=False)
class Defects(Table):
    """A record that could not be used."""

    line: NDArray[np.int64] = column("i8", "line of the file, from 1, or -1")
    reason: NDArray[np.uint8] = column("u1", "row of perwiz.trace.defects.REASONS")


TABLES: tuple[type[Table], ...] = (
    Locations,
    Paths,
    Calls,
    Requests,
    Regions,
    Messages,
    Collectives,
    Members,
    Times,
    Labels,
    Offsets,
    Defects,
)


@dataclasses.dataclass(frozen=True)
class Communicators:
    """`ranks[first[c]:first[c + 1]]` are the MPI_COMM_WORLD ranks of communicator c in its own rank order. Row 0 is the world."""

    names: tuple[str, ...]
    first: NDArray[np.int64]
    ranks: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.names)

    def members(self, comm: int) -> NDArray[np.int32]:
        """Return the world ranks of one communicator, in its rank order."""
        return self.ranks[self.first[comm] : self.first[comm + 1]]

    def sizes(self) -> NDArray[np.int64]:
        """Return the number of ranks of each communicator."""
        return np.diff(self.first)


@dataclasses.dataclass(frozen=True)
class Timeline:
    """When it happened: one time per row of calls, regions and locations (first and last instant); `made_by` is measured, predicted ..."""

    calls: Times
    regions: Times
    locations: Times
    made_by: str = "measured"

    @property
    def makespan(self) -> int:
        """Nanoseconds from the first to the last instant of any location."""
        if not len(self.locations):
            return 0
        return int(self.locations.leave.max() - self.locations.enter.min())


@dataclasses.dataclass(frozen=True)
class Counts:
    """What the reader met, kept or not."""

    records: int = 0
    """Event records read (headers left out)."""
    states: int = 0
    """Begin and end pairs, nested ones included."""
    single_events: int = 0
    """Stand-alone events: counted, not kept."""
    sends: int = 0
    receives: int = 0
    """Message records, whether matched or not; those inside a collective are not counted here."""
    internal_messages: int = 0
    """Message records logged inside a collective call."""
    internal_calls: int = 0
    """MPI states inside another MPI state."""
    to_nobody: int = 0
    """Calls whose only partner is MPI_PROC_NULL."""
    bare: int = 0
    """Calls made from a message record outside any MPI state: how long they took was not recorded."""
    unmatched_sends: int = 0
    unmatched_receives: int = 0
    size_differs: int = 0
    """Matched messages whose two ends name different sizes."""
    incomplete_collectives: int = 0
    """Instances with fewer members than their communicator has ranks."""
    unmatched_collectives: int = 0
    """Collective calls that could not be put into an instance."""
    rootless_collectives: int = 0
    """Rooted instances whose root the trace does not tell: their members stay untied."""
    silent_processes: int = 0
    """Processes the header declares but that logged nothing."""


@dataclasses.dataclass(frozen=True)
class Trace:
    """One recorded run: what happened, and the measured timeline beside it."""

    path: str
    format: str
    locations: Locations
    communicators: Communicators
    names: tuple[str, ...]
    parallel: NDArray[np.bool_]
    """Per row of names: marked as a parallel region."""
    paths: Paths
    calls: Calls
    requests: Requests
    regions: Regions
    messages: Messages
    collectives: Collectives
    members: Members
    timeline: Timeline
    labels: Labels
    texts: tuple[str, ...]
    nodes: tuple[str, ...]
    offsets: Offsets
    defects: Defects
    counts: Counts
    properties: Mapping[str, str]

    def __post_init__(self) -> None:
        check(self)

    @property
    def first_calls(self) -> NDArray[np.int64]:
        """Return, per location and one more, the first of its calls."""
        return np.searchsorted(self.calls.location, np.arange(len(self.locations) + 1))


def check(trace: Trace) -> None:
    """Raise TraceError naming the first call whose times contradict program order."""
    times, location = trace.timeline.calls, trace.calls.location
    if len(times) != len(trace.calls) or len(trace.timeline.regions) != len(trace.regions):
        raise TraceError(f"{trace.path}: a timeline of other length than its tables")
    bad = np.flatnonzero(times.leave < times.enter)
    if len(bad):
        e = int(bad[0])
        raise TraceError(
            f"{trace.path}: e{e} (rank {location[e]}) returns at {times.leave[e]} ns, before it was entered at {times.enter[e]} ns"
        )
    same = location[1:] == location[:-1]
    bad = np.flatnonzero(same & (times.enter[1:] < times.leave[:-1])) + 1
    if len(bad):
        e = int(bad[0])
        before = f"before e{e - 1} returned at {times.leave[e - 1]} ns"
        raise TraceError(f"{trace.path}: e{e} (rank {location[e]}) is entered at {times.enter[e]} ns, {before}")
