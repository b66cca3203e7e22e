"""The rows and codes that the kernels which read Paraver share with their callers; a test compares the structs with the dtypes.

No field has the name of an attribute of arrays, so that `rows[k].time` reads a record array too.
"""

import numpy as np

PAIR = np.dtype([("time", "i8"), ("type", "i8"), ("value", "i8"), ("line", "i8"), ("location", "i4"), ("last", "u1")], align=True)
"""An event: type and value, ns; whether it is the last of its line. A state in which its thread idles has the type IDLES, and until when
as its value."""
IDLES = -1
MESSAGE = np.dtype(
    [(name, "i8") for name in ("posted", "awaited", "came", "bytes", "tag")] + [("sender", "i4"), ("receiver", "i4")], align=True
)
"""A message: when the send was called, the receive posted and completed, ns; locations."""
PLACED = np.dtype([("bytes", "i8"), *((name, "i4") for name in ("send", "receive", "done", "tag", "sender", "receiver"))], align=True)
"""A message with its calls, and the processes it is between."""
OTHER = np.dtype([("line", "i8"), ("begin", "i8"), ("end", "i8"), ("what", "i8")], align=True)
"""A line that is no record: its number, where its text begins and ends; HEADER or what is wrong with it."""
HEADER = -1
OUT_OF_RANGE, NO_RECORD = 1, 15
"""What is wrong, as `perwiz.trace.defects` numbers it."""
NOT_OPEN, NEVER_ENDS, BACKWARDS = 3, 4, 5
LINES = np.dtype([(name, "i8") for name in ("states", "events", "pairs", "messages", "others", "lines", "following")], align=True)
"""One row: lines of states and events; rows of events, messages and other lines, lines in all; where the next line begins."""

KIND = np.dtype([("type", "i8"), ("what", "i4"), ("number", "i4")], align=True)
"""What events of a type tell, and its number among the types that tell it."""
KEPT, CALL, PARALLEL, REGION, TEAM, TASK, COUNTER, SENT, RECEIVED, ROOT, COMM, STREAM, EVENT, CALLER, CALLER_LINE, LOCK = range(16)
"""Values of `what`: nothing that has a table; a call; a parallel region; a user function, the function of a team, of a task; a hardware
counter; of a collective the bytes, whether it is the root, and the communicator; of a routine of devices the stream and the event that it
names; who called, and from which line; the address of a lock."""
VALUES = 4096
"""Values of a type that may be routines are below."""
OF_DEVICES = 1
"""What stands in place of the routine of value 0, which ends one, of a type of routines of devices: a call keeps which value began it."""
FIRST_COUNTER, BEHIND_COUNTERS = 42000000, 43000000
"""Types of hardware counters, and the first behind them."""
COUNTERS = 62
"""Hardware counters, at most: a bit each in `told`."""

PLACE = np.dtype(
    [
        *((name, "i8") for name in ("clock", "first", "busy", "calls", "current", "latest", "inside", "told", "since", "read")),
        *(("kind", "i4"), ("ignored", "i4"), ("waits", "u1"), ("teams", "u1"), ("resumes", "u1"), ("begun", "u1")),
    ],
    align=True,
)
"""A location between two events, all 0 before the first: its clock; 1 + its first time; until when its calls last; how many began; 1 + the
row of the call that is open, of the latest call, of the innermost region; bits of the counters it told, those since the open call was
entered, those on the line at hand; 1 + the number of the type that opened the call, or TEAM_BEGINS or TEAM_ENDS, and 1 + that of a call
inside it that is not kept; whether the open call is the wait at the end of a team, whether it was in a team, whether it waits again when a
task ends; how many regions began on this line."""
TEAM_BEGINS, TEAM_ENDS = -1, -2
"""Values of `kind`: a fork, which lasts until the next event; the wait at the end of a team."""
MADE = np.dtype(
    [
        *((name, "i8") for name in ("enter", "leave", "sent", "received", "comm")),
        *((name, "i4") for name in ("location", "region", "caller", "line")),
        *(("op", "u2"), ("stream", "u2"), ("bits", "u1"), ("level", "u1"), ("line_level", "u1")),
    ],
    align=True,
)
"""A call: ns, bytes, number of the communicator or address of the lock; innermost region or -1; who called at the lowest level, and
from where, as values of their events; number of the stream, a thread from 1, or 0; from which levels of the stack, 0 none. Of a routine of
devices the bytes sent are the event it names, and the communicator is the value that began it."""
IS_ROOT, CLOSES = 1, 2
"""Bits: the root of a collective; a join that closes a parallel region."""
INSTANCE = np.dtype(
    [
        ("enter", "i8"),
        ("leave", "i8"),
        ("name", "i8"),
        ("counted", "i8"),
        *((name, "i4") for name in ("location", "parent", "number", "first_call", "end_call", "counters")),
    ],
    align=True,
)
"""A region instance: ns, the value of its event, the first of its rows of counters, row of the one around it or -1, number of its type,
calls inside, how many counters were read where it begins."""
KEEP = np.dtype([("time", "i8"), ("type", "i8"), ("value", "i8"), ("location", "i4"), ("call", "i4")], align=True)
"""An event that has no table."""
COUNTED = np.dtype([("entered", "f8"), ("returned", "f8"), ("call", "i4"), ("counter", "i4")], align=True)
"""A counter around a call, or a region by its row; of a region where it is not read as that is left, ~counter."""
COUNTED_REGIONS = 4
"""Regions that begin on one line and have the counters on it, at most: so that rows are no more than some times what the line has."""
DEFECT = np.dtype([("line", "i8"), ("location", "i4"), ("reason", "i4")], align=True)
ROWS = np.dtype([(name, "i8") for name in ("calls", "regions", "kept", "counted", "around", "defects", "inner", "unended")], align=True)
"""One row: how many rows there are in each output; calls inside calls; what never ended."""
SENDS, POSTS, RECEIVES, COMPLETES, SEVERAL = 1, 2, 4, 8, 16
"""Bits: what a call may be to messages: it sends or posts a send, posts a receive, receives, completes receives; for several of them."""
