"""The rows and codes that the kernels which read ALOG share with their callers; a test compares the structs of the kernels with the dtypes.

No field has the name of an attribute of arrays, so that `lines[k].time` reads a record array too.
"""

from typing import Any

import numpy as np

Records = Any
"""A record array (np.recarray) of one of the dtypes below. The stubs of numpy take its slices for plain arrays."""

LINE = np.dtype(
    [
        *((name, "i8") for name in ("type", "process", "task", "int_data", "cycle", "time", "tag", "bytes")),
        *((name, "i8") for name in ("text", "text_end", "attributes", "owner_number")),
        *(("location", "i4"), ("state", "i4"), ("status", "u1"), ("owner", "u1")),
    ],
    align=True,
)
"""One line of the file: its numbers, the time in ns; where its string begins and ends, and what is behind `@` or -1; what became of it."""
MESSAGE_SENT, MESSAGE_RECEIVED, CLOCK_EVENT, LAST_HEADER, STATE_EVENT = -101, -102, -103, -100, 0
"""Types of records: from LAST_HEADER on header records, from STATE_EVENT on events that states or nobody may have."""

EVENT, HEADER, BLANK, INTERNAL = range(4)
"""Values of `status`; INTERNAL: an event inside an MPI routine."""
DAMAGED = 16
"""From here on `status` is DAMAGED + the reason, as `perwiz.trace.defects` numbers them; the kernels find these."""
NOT_INTEGERS, OUT_OF_RANGE, NO_TAG_AND_BYTES, NOT_OPEN, BACKWARDS, TOO_DEEP = (DAMAGED + reason for reason in (0, 1, 2, 3, 5, 9))

NOBODY, CALL_BEGIN, CALL_END, MESSAGE_RECORD, REGION_BEGIN, SINGLE = range(6)
"""Values of `owner`: what the record became; `owner_number` is the call's number on its location, or the message's or region's number.

SINGLE is a stand-alone event inside a call, with that call's number.
"""
LINK = 16
"""From here on `owner` is LINK + the kind of a link that the call has, in place of SINGLE."""

UNKNOWN = -2
"""A `location` or `state` that is not looked up yet."""
NONE = -1
"""No location, state, op, region, message or entry."""

NOTE = np.dtype([(name, "i8") for name in ("line", "key", "value", "text", "word_end")], align=True)
"""An attribute of a line: its row, the letters of its key, its value, where that begins and where its word ends."""

STATE = np.dtype([("end_state", "i4"), ("op", "i4"), ("name", "i4"), ("ends", "u1"), ("begins", "u1")], align=True)
"""What an event type ends and begins: the state row of the end, an MPI routine or a row of names, whether it ends, and begins, a state."""
ROUTINE = np.dtype([(name, "u1") for name in ("collective", "says_receiver", "says_sender")], align=True)
"""What an op makes of message records inside: internal ones if it is collective; the first one sent, or received, says its partner."""

LOCATION = np.dtype(
    [(name, "i8") for name in ("clock", "wraps", "first", "calls", "call_entry", "top", "depth", "inner", "innermost")], align=True
)
"""A location between two records: its clock in ns, how often that wrapped, its first time or -1; how many calls returned; of the stack of
open states the entry of the open call, the top, the depth, how many are MPI states inside that call; the innermost region's number."""
DEEPEST = 1000
"""So many open states are looked through for the one that ends, and so many MPI states may be open inside a call: regions nest deeper."""
CALL = np.dtype(
    [
        *(("leave", "i8"), ("enter", "i8"), ("sent", "i8"), ("received", "i8")),
        *(("location", "i4"), ("region", "i4"), ("peer", "i4"), ("tag", "i4"), ("op", "u2"), ("internal", "u1")),
    ],
    align=True,
)
"""A call: ns, bytes, the number of the region around it."""
SENT_INSIDE, RECEIVED_INSIDE, NULL_PARTNER, BARE = 1, 2, 4, 8
"""Bits of `internal`: messages inside a collective, one with MPI_PROC_NULL, a call made from a message record outside any state."""
REGION = np.dtype(
    [
        *(("leave", "i8"), ("enter", "i8"), ("location", "i4"), ("number", "i4"), ("parent", "i4"), ("name", "i4")),
        *(("first_call", "i4"), ("end_call", "i4")),
    ],
    align=True,
)
"""A region instance: ns, its number and its parent's in order of begin, its row of names, the calls inside."""
MESSAGE = np.dtype(
    [("bytes", "i8"), ("time", "i8"), ("location", "i4"), ("call", "i4"), ("peer", "i4"), ("tag", "i4"), ("type", "i1")], align=True
)
"""A message record, ns, inside a call, whose number on its location is `call`."""
ENTRY = np.dtype(
    [
        *(("enter", "i8"), ("below", "i4"), ("end_state", "i4"), ("region", "i4"), ("name", "i4"), ("parent", "i4")),
        ("first_call", "i4"),
    ],
    align=True,
)
"""An open state: the entry below it on the stack of its location (or the next free one), the state that ends it; its region or -1."""
COUNTS = np.dtype(
    [
        *((name, "i8") for name in ("free_entry", "entries", "calls_out", "regions_out", "messages_out")),
        *((name, "i8") for name in ("regions", "messages", "states", "internal_calls", "singles", "to_nobody", "internal_messages")),
    ],
    align=True,
)
"""Counts of the whole file: the first free entry and how many were used; rows written to the outputs of one run of the kernel; regions
begun, messages of runs before, states ended, calls inside calls, stand-alone events, messages to MPI_PROC_NULL and inside collectives."""


def zeros(rows: int, dtype: np.dtype[Any]) -> Records:
    """Return so many rows, all 0."""
    return np.zeros(rows, dtype).view(np.recarray)


def empty(rows: int, dtype: np.dtype[Any]) -> Records:
    """Return so many rows, to be written before they are read."""
    return np.recarray(rows, dtype)
