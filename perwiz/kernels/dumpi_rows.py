"""The names and rows of records of DUMPI, for their kernel and who calls it: forms of arguments, what functions do, slots, tables."""

from typing import Any

import numpy as np

BYTE, SHORT, INT, LONG, BYTES, SHORTS, INTS, SUMMED, TEXTS, LISTS_OF_TEXTS, LISTS, STATUSES = range(12)
"""Forms of arguments: numbers of 1, 2, 4 and 8 bytes; lists of those, `SUMMED` as INTS of which only the sum counts; lists of texts, of
lists of texts and of INTS; statuses, if the mask says so. A list begins with its length, 4 bytes."""
CALL, SEND, RECV, EXCHANGE, ISEND, IRECV, SEND_INIT, RECV_INIT, START, STARTALL, WAIT, TEST, ALL, ANY, SOME = range(15)
CANCEL, FREE, PROBE, ROOTED, ON_WINDOW, REGION_ENTER, REGION_LEAVE, UNKNOWN, SAYS_SIZE, SAYS_RANK, MEETS = range(15, 26)
"""What a function does: is called; a message; a request; a collective with a root; no call, but the boundary of a region of the
user; says the size of a communicator, or the own rank; all of the world meet in it."""
STAYS, BOTH, FROM_ROOT, TO_ROOT, GATHERS, GATHERS_V, SCATTERS, SCATTERS_V, TO_ALL, TO_ALL_V, ALL_TO_ALL, ALL_TO_ALL_V = range(12)
ALL_TO_ALL_W, REDUCES_PARTS, PUTS, GETS = range(12, 16)
"""How a call moves bytes, where it is not one message."""
SLOTS = (
    *("ignored", "count", "type", "peer", "tag", "comm", "root", "count2", "type2", "peer2", "tag2", "request", "flag", "index"),
    *("sum", "sum2", "rank", "window", "list", "listed", "indices", "indexed", "status", "statuses", "counts", "counted"),
    *("types", "typed", "counts2", "counted2", "types2", "typed2", "thread", "enter", "leave", "mask", "function", "timed"),
)
"""Where the values of one record are; those of a list are the byte it begins at and, one behind, its length."""
COUNT, TYPE, PEER, TAG, COMM, ROOT, COUNT2, TYPE2, PEER2, TAG2, REQUEST, FLAG, INDEX = range(1, 14)
SUM, SUM2, RANK, WINDOW, LIST, LISTED, INDICES, INDEXED, STATUS, STATUSED, COUNTS, COUNTED = range(14, 26)
TYPES, _, COUNTS2, COUNTED2, TYPES2, _, THREAD, ENTER, LEAVE, MASK, FUNCTION_OF, TIMED = range(26, 38)
SIZE_OF, COMM_OF, WINDOW_OF, NOTHING = range(4)
"""What a change gives a handle of: a datatype its bytes, a communicator or a window what it is; or it only wants to know its call."""
MADE, TOLD, FIRST_POST = range(3)
"""Rows of POST: the message of the call at hand, and what its status says of it; requests are behind those."""
NULL_REQUEST = 1
"""Requests up to this one are none."""

FUNCTION: np.dtype[Any] = np.dtype(
    [
        ("op", "i2"),
        *((name, "u1") for name in ("does", "mode", "moves", "steps", "defines")),
        *((name, "i4") for name in ("first_step", "fixed", "comm_at")),
    ],
    align=True,
)
"""What a function is: its op, what it does, send mode, how it moves bytes, its arguments, and whether it defines something. If all that
matters before `fill` is at fixed places: the bytes of all its arguments, and where the communicator is among them; -1 else, or none."""
ARGUMENT: np.dtype[Any] = np.dtype([("kind", "u1"), ("slot", "u1"), ("at_root", "u1")])
"""An argument in a record: its form, where its value goes, and whether only the root of the collective has it."""
COMMUNICATOR: np.dtype[Any] = np.dtype([(name, "i4") for name in ("row", "first", "ranks", "others", "rank")])
"""A communicator as a process knows it: its row in the trace, where the ranks that its peers mean begin, how many they are, how many its
collectives send to, and the own rank."""
CHANGE: np.dtype[Any] = np.dtype([("at", "i8"), ("value", "i8"), *((name, "i4") for name in ("what", "handle", "number", "call"))])
"""From behind the record at a byte on, a handle has another value, a window that number; the call that made the change is filled in."""
MEANING: np.dtype[Any] = np.dtype([("bytes", "i8"), *((name, "i4") for name in ("comm", "window_comm", "window", "unused"))])
"""What a handle stands for: bytes of the datatype, row of COMMUNICATOR, that of the window and its number; -1 none."""
HANDLE: np.dtype[Any] = np.dtype([(name, "i4") for name in ("first", "last", "made")])
"""The requests that a handle stands for, from the oldest open one on, and the persistent one: their numbers + 1, 0 none. An MPI may
give requests that are complete at once one handle together."""
POST: np.dtype[Any] = np.dtype([("bytes", "i8"), *((name, "i4") for name in ("following", "bits", "peer", "tag", "comm", "cancelled"))])
"""A request that was posted, or made to be started."""
ACTION: np.dtype[Any] = np.dtype(
    [("request", "i8"), ("bytes", "i8"), *((name, "i4") for name in ("call", "peer", "tag", "comm", "bits"))], align=True
)
"""What a call does to a request or a message, as in perwiz.kernels.recorded."""
THREADS: np.dtype[Any] = np.dtype([(name, "i8") for name in ("calls", "first", "last")])
"""A thread: how many calls it has, or its next; when the first of them was entered, and the last one returned, ns."""
WALK_FIELDS = (
    *("at", "second", "era", "records", "defined", "change", "actions", "posts"),
    *("untimed", "backwards", "strangers", "to_nobody", "not_posted", "counters", "regions", "unsized", "torn", "alone", "ranks", "own"),
)
WALK: np.dtype[Any] = np.dtype([(name, "i8") for name in WALK_FIELDS])
"""How far a process is read: the byte where the next record begins, the last second and what its 16 bits lack; how many there are of
records, definitions, changes, actions and requests, and of what could not be used; whether its records broke off, and how
many are on MPI_COMM_SELF; size of the world and rank in it, if somebody asked, -1 not."""
STATUS_BYTES = 14
"""Of a status: bytes, source, whether it is cancelled, error, tag."""
WORLD, SELF, FIRST_MADE = 2, 3, 4
"""Handles of communicators: those of MPI, and the first that a program made."""
