"""The tables of a trace. Ids are row numbers; -1 is none, -2 is any. Times are int64 nanoseconds since the start of the trace."""

from __future__ import annotations

import numpy as np

from perwiz.trace.arrays import F8, I4, I8, U1, U2
from perwiz.trace.table import Table, column

NONE, ANY = -1, -2
STANDARD, READY, BUFFERED, SYNCHRONOUS = range(4)
"""Send modes, as in `Messages.mode`."""
PROCESS, THREAD, STREAM = range(3)
"""Kinds of locations, as in `Locations.kind`."""
LINKS = (
    *("fork", "join", "launch", "done", "lock", "task", "taskwait", "event", "signal", "end"),
    *("post", "complete", "progress", "put"),
)
"""Kinds of links, as in `Links.kind`."""
FORK, JOIN, LAUNCH, DONE, LOCK, TASK, TASKWAIT, EVENT, SIGNAL, END = range(10)
POST, COMPLETE, PROGRESS, PUT = (LINKS.index(name) for name in ("post", "complete", "progress", "put"))
"""Team or thread begun; team or thread ended; work given to a device; work of a device done; lock handed over; task created; task
completed; a stream let go by another; a condition signalled; the process comes to its end, and with it what idles there.

Of windows: posted; accesses completed; the process that is accessed comes to a call in which MPI makes progress. Of OpenSHMEM: what was
put into the memory of a process came there."""
STARTS = (FORK, LAUNCH, TASK, END)
"""Kinds of links until which there is nothing to do: they begin what there would not be without them, or end it; the others end a wait."""


class Locations(Table):
    """A process, a thread or a device stream."""

    metahost: I4 = column("number of the metahost")
    node: I4 = column("row of Trace.nodes, or -1")
    process: I4 = column("rank in MPI_COMM_WORLD")
    thread: I4 = column("number of the thread in its process")
    cpu: I4 = column("number of the processor, or -1")
    kind: U1 = column("0: a process, its first thread; 1: another thread; 2: a stream of a device")

    def processes(self) -> tuple[I4, I8]:
        """Return the ranks of the processes, ascending, and per location the row of its process among these.

        Arrays by process have these rows, not ranks, of which a file may name any: ranks 3 and 7 of three locations, 3 7 3 -> rows 0 1 0.
        """
        return np.unique(self.process, return_inverse=True)


class Paths(Table):
    """A region path: a user region and the path it was entered from."""

    parent: I4 = column("row of this table, or -1 at the top; always a smaller number")
    region: I4 = column("row of Trace.names")


class Calls(Table):
    """One MPI call of one location, sorted by (location, program order)."""

    location: I4 = column("row of locations")
    op: U2 = column("routine, row of perwiz.trace.operations.OPS")
    path: I4 = column("region path it was called from, row of paths, or -1")
    peer: I4 = column("partner as a rank in MPI_COMM_WORLD: receiver of a send, source of a receive; -1 none, -2 any")
    tag: I4 = column("tag, or -1 none, -2 any; of one-sided calls the number of the window on its communicator, of locks theirs")
    comm: I4 = column("row of communicators, or -1")
    root: I4 = column("root of a collective as a rank in MPI_COMM_WORLD, or -1 none or unknown")
    bytes_sent: I8 = column("bytes this call sends", "byte")
    bytes_received: I8 = column("bytes this call receives", "byte")


class Requests(Table):
    """One request, sorted by the call that posts it."""

    posted_by: I4 = column("call that posts the operation")
    completed_by: I4 = column("call that completes it, or -1 unknown")
    cancelled: U1 = column("1: it was cancelled")


class Unfinished(Table):
    """A call that found a request not yet complete."""

    call: I4 = column("call that tests")
    request: I4 = column("row of requests")


class Regions(Table):
    """One instance of a user region, sorted by (location, entry). Its calls are the rows first_call .. end_call - 1."""

    location: I4 = column("row of locations")
    path: I4 = column("row of paths")
    parent: I4 = column("enclosing instance, row of this table, or -1")
    instance: I4 = column("number of this instance of the region on its location, from 1")
    first_call: I4 = column("first call entered after the region was entered")
    end_call: I4 = column("first call entered after the region was left")


class Messages(Table):
    """One matched message."""

    send: I4 = column("call that sends or posts the send")
    send_done: I4 = column("call that completes the send, or -1 unknown")
    receive: I4 = column("call that receives or posts the receive")
    receive_done: I4 = column("call that completes the receive")
    tag: I4 = column("tag")
    comm: I4 = column("row of communicators")
    mode: U1 = column("send mode: 0 standard, 1 ready, 2 buffered, 3 synchronous")
    bytes: I8 = column("size", "byte")
    sent_after: I8 = column("from the entry of `send` to the record that says it begins to be sent; 0 where none does", "ns")
    received_before: I8 = column("from the record that says it is received to the return of `receive_done`; 0 where none does", "ns")


class Collectives(Table):
    """One instance of a collective operation over a communicator or, behind those, of a barrier of the threads of a process."""

    op: U2 = column("routine, row of perwiz.trace.operations.OPS")
    comm: I4 = column("row of communicators, or -1: the team of its members")
    root: I4 = column("root as a rank in MPI_COMM_WORLD, or -1 none or unknown")
    first_member: I4 = column("first row of its members; they end where the next instance begins")


class Members(Table):
    """The part of one location in a collective instance, sorted by (collective, rank in the communicator or location)."""

    collective: I4 = column("row of collectives")
    call: I4 = column("call that starts the operation")
    done: I4 = column("call that completes it, or -1 unknown")


class Links(Table):
    """Anything but a message or a collective that had to come first, sorted by (effect, cause, kind)."""

    kind: U1 = column("row of LINKS")
    cause: I4 = column("call at whose entry it comes about")
    effect: I4 = column("call that does not return before")

    @classmethod
    def in_order(cls, kind: U1, cause: I4, effect: I4) -> Links:
        """Return the table of links given in any order."""
        order = np.lexsort((kind, cause, effect))
        return cls(kind[order], cause[order], effect[order])

    @classmethod
    def joined(cls, *parts: Links) -> Links:
        """Return links in one table."""
        return cls.in_order(*(np.concatenate([getattr(part, name) for part in parts]) for name, *_ in cls.schema()))


class Times(Table):
    """The times of one run, beside calls, regions or locations."""

    enter: I8 = column("entered", "ns")
    leave: I8 = column("left", "ns")


class Labels(Table):
    """A text some calls carry: operation and datatype of a reduction, or whether a lock is exclusive or shared."""

    call: I4 = column("row of calls")
    text: I4 = column("row of Trace.texts")


class Offsets(Table):
    """A clock measurement; Trace.offsets_applied says whether the times are those after it."""

    location: I4 = column("row of locations")
    time: I8 = column("local time", "ns")
    offset: F8 = column("offset to the master clock", "us")
    drift: F8 = column("drift", "ppm")
    error: F8 = column("standard error of the offset", "us")


class Readings(Table):
    """A comparison of two clocks, those of a location in order of time; offsets to one clock are made of them."""

    location: I4 = column("row of locations")
    master: I4 = column("row of locations with whose clock its own was compared; -1: its own is that of all")
    time: I8 = column("local time", "ns")
    offset: I8 = column("to be added to it for the master's time", "ns")
    error: I8 = column("at most wrong by", "ns")


class Counters(Table):
    """The values of a counter around a call, sorted by (call, counter)."""

    call: I4 = column("row of calls")
    counter: I4 = column("row of Trace.counter_names")
    entered: F8 = column("last value before the call was entered")
    returned: F8 = column("last value before the call returned")


class RegionCounters(Table):
    """The values of a counter around an instance of a user region, sorted by (region, counter)."""

    region: I4 = column("row of regions")
    counter: I4 = column("row of Trace.counter_names")
    entered: F8 = column("last value before the region was entered")
    left: F8 = column("last value before the region was left")


class Parameters(Table):
    """A parameter the program passed to the recorder, in program order of its location."""

    location: I4 = column("row of locations")
    region: I4 = column("innermost open region instance, or -1")
    call: I4 = column("first call entered after it")
    name: I4 = column("row of Trace.texts")
    value: I4 = column("row of Trace.texts; a number in decimal digits")


class Records(Table):
    """A record that is neither call, message nor region (one-sided, threads, I/O), kept as recorded, in program order of its location."""

    location: I4 = column("row of locations")
    kind: I4 = column("row of Trace.texts")
    call: I4 = column("first call entered after it")
    time: I8 = column("recorded time", "ns")
    first_value: I8 = column("first of its values in Trace.values; they end where those of the next begin")


class Defects(Table):
    """A record that could not be used, or a place where records are missing."""

    line: I8 = column("line of the file, from 1, or -1")
    location: I4 = column("row of locations, or -1")
    reason: U1 = column("row of perwiz.trace.defects.REASONS")


TABLES = tuple(Table.__subclasses__())
"""All tables, in the order of this file."""
