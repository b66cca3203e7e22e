"""The tables of a trace. Ids are row numbers; -1 is none, -2 is any. Times are int64 nanoseconds since the start of the trace."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from perwiz.trace.table import Table, column

NONE, ANY = -1, -2
STANDARD, READY, BUFFERED, SYNCHRONOUS = range(4)
"""Send modes, as in `Messages.mode`."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Locations(Table):
    """A process or thread."""

    metahost: NDArray[np.int32] = column("i4", "number of the metahost")
    node: NDArray[np.int32] = column("i4", "row of Trace.nodes, or -1")
    process: NDArray[np.int32] = column("i4", "rank in MPI_COMM_WORLD")
    thread: NDArray[np.int32] = column("i4", "number of the thread in its process")
    cpu: NDArray[np.int32] = column("i4", "number of the processor, or -1")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Paths(Table):
    """A region path: a user region and the path it was entered from."""

    parent: NDArray[np.int32] = column("i4", "row of this table, or -1 at the top; always a smaller number")
    region: NDArray[np.int32] = column("i4", "row of Trace.names")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Calls(Table):
    """One MPI call of one location, sorted by (location, program order)."""

    location: NDArray[np.int32] = column("i4", "row of locations")
    op: NDArray[np.uint8] = column("u1", "routine, row of perwiz.trace.operations.OPS")
    path: NDArray[np.int32] = column("i4", "region path it was called from, row of paths, or -1")
    peer: NDArray[np.int32] = column("i4", "partner as a rank in MPI_COMM_WORLD: receiver of a send, source of a receive; -1 none, -2 any")
    tag: NDArray[np.int32] = column("i4", "tag, or -1 none, -2 any")
    comm: NDArray[np.int32] = column("i4", "row of communicators, or -1")
    root: NDArray[np.int32] = column("i4", "root of a collective as a rank in MPI_COMM_WORLD, or -1 none or unknown")
    bytes_sent: NDArray[np.int64] = column("i8", "bytes this call sends", "byte")
    bytes_received: NDArray[np.int64] = column("i8", "bytes this call receives", "byte")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Requests(Table):
    """One request, sorted by the call that posts it."""

    posted_by: NDArray[np.int32] = column("i4", "call that posts the operation")
    completed_by: NDArray[np.int32] = column("i4", "call that completes it, or -1 unknown")
    cancelled: NDArray[np.uint8] = column("u1", "1: it was cancelled")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Unfinished(Table):
    """A call that found a request not yet complete."""

    call: NDArray[np.int32] = column("i4", "call that tests")
    request: NDArray[np.int32] = column("i4", "row of requests")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Regions(Table):
    """One instance of a user region, sorted by (location, entry). Its calls are the rows first_call .. end_call - 1."""

    location: NDArray[np.int32] = column("i4", "row of locations")
    path: NDArray[np.int32] = column("i4", "row of paths")
    parent: NDArray[np.int32] = column("i4", "enclosing instance, row of this table, or -1")
    instance: NDArray[np.int32] = column("i4", "number of this instance of the region on its location, from 1")
    first_call: NDArray[np.int32] = column("i4", "first call entered after the region was entered")
    end_call: NDArray[np.int32] = column("i4", "first call entered after the region was left")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
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


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Collectives(Table):
    """One instance of a collective operation over a communicator."""

    op: NDArray[np.uint8] = column("u1", "routine, row of perwiz.trace.operations.OPS")
    comm: NDArray[np.int32] = column("i4", "row of communicators")
    root: NDArray[np.int32] = column("i4", "root as a rank in MPI_COMM_WORLD, or -1 none or unknown")
    first_member: NDArray[np.int32] = column("i4", "first row of its members; they end where the next instance begins")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Members(Table):
    """The part of one location in a collective instance, sorted by (collective, rank in the communicator)."""

    collective: NDArray[np.int32] = column("i4", "row of collectives")
    call: NDArray[np.int32] = column("i4", "call that starts the operation")
    done: NDArray[np.int32] = column("i4", "call that completes it, or -1 unknown")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Times(Table):
    """The times of one run, beside calls, regions or locations."""

    enter: NDArray[np.int64] = column("i8", "entered", "ns")
    leave: NDArray[np.int64] = column("i8", "left", "ns")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Labels(Table):
    """A text some calls carry: operation and datatype of a reduction."""

    call: NDArray[np.int32] = column("i4", "row of calls")
    text: NDArray[np.int32] = column("i4", "row of Trace.texts")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Offsets(Table):
    """A clock measurement; Trace.offsets_applied says whether the times are those after it."""

    location: NDArray[np.int32] = column("i4", "row of locations")
    time: NDArray[np.int64] = column("i8", "local time", "ns")
    offset: NDArray[np.float64] = column("f8", "offset to the master clock", "us")
    drift: NDArray[np.float64] = column("f8", "drift", "ppm")
    error: NDArray[np.float64] = column("f8", "standard error of the offset", "us")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Counters(Table):
    """The values of a counter around a call, sorted by (call, counter)."""

    call: NDArray[np.int32] = column("i4", "row of calls")
    counter: NDArray[np.int32] = column("i4", "row of Trace.counter_names")
    entered: NDArray[np.float64] = column("f8", "last value before the call was entered")
    returned: NDArray[np.float64] = column("f8", "last value before the call returned")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Parameters(Table):
    """A parameter the program passed to the recorder, in program order of its location."""

    location: NDArray[np.int32] = column("i4", "row of locations")
    region: NDArray[np.int32] = column("i4", "innermost open region instance, or -1")
    call: NDArray[np.int32] = column("i4", "first call entered after it")
    name: NDArray[np.int32] = column("i4", "row of Trace.texts")
    value: NDArray[np.int32] = column("i4", "row of Trace.texts; a number in decimal digits")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Records(Table):
    """A record that is neither call, message nor region (one-sided, threads, I/O), kept as recorded, in program order of its location."""

    location: NDArray[np.int32] = column("i4", "row of locations")
    kind: NDArray[np.int32] = column("i4", "row of Trace.texts")
    call: NDArray[np.int32] = column("i4", "first call entered after it")
    time: NDArray[np.int64] = column("i8", "recorded time", "ns")
    first_value: NDArray[np.int64] = column("i8", "first of its values in Trace.values; they end where those of the next begin")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Defects(Table):
    """A record that could not be used, or a place where records are missing."""

    line: NDArray[np.int64] = column("i8", "line of the file, from 1, or -1")
    location: NDArray[np.int32] = column("i4", "row of locations, or -1")
    reason: NDArray[np.uint8] = column("u1", "row of perwiz.trace.defects.REASONS")


TABLES: tuple[type[Table], ...] = (
    Locations,
    Paths,
    Calls,
    Requests,
    Unfinished,
    Regions,
    Messages,
    Collectives,
    Members,
    Times,
    Labels,
    Offsets,
    Counters,
    Parameters,
    Records,
    Defects,
)
