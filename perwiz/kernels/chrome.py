"""The rows and codes that the kernel of Trace Event JSON shares with its callers; a test compares the structs with the dtypes."""

import numpy as np

EVENT = np.dtype(
    [
        *((name, "i8") for name in ("time", "duration", "correlation", "bytes")),
        *((name, "i4") for name in ("category", "name", "process", "thread", "detail")),
    ],
    align=True,
)
"""A complete event: when it begins and how long it lasts, ns; what host and device share, bytes, -1 unknown; numbers of the texts of its
category, name, process and thread; row of details or -1."""
DETAIL = np.dtype(
    [
        *((name, "i8") for name in ("sent", "received", "sequence", "record")),
        *((name, "i4") for name in ("collective", "group", "ranks", "element", "shapes", "source", "target", "first", "stride", "members")),
        *((name, "i4") for name in ("awaited", "inputs")),
    ],
    align=True,
)
"""What some events also tell, -1 what they do not: elements sent and received, sequence number; correlation of the record of the event that
is waited for; numbers of the texts of collective, process group, its ranks, element type and shapes; ranks of both ends in the group;
first rank, distance and number of the ranks; the stream that is waited for; number of the text of what an operator was given."""
KEYS = (
    *("ph", "cat", "name", "pid", "tid", "ts", "dur", "args"),
    *("correlation", "bytes", "Collective name", "Process Group Name", "Process Group Ranks", "In msg nelems", "Out msg nelems", "dtype"),
    *("Seq", "Src Rank", "Dst Rank", "Global rank start", "Global rank stride", "Group size", "Input Dims", "Input type"),
    *("Concrete Inputs", "wait_on_stream", "wait_on_cuda_event_record_corr_id", "user_annotation", "c10d::send", "c10d::recv_"),
)
"""The keys that are understood; the category whose events tell shapes, and the operators that tell their inputs (every other has some, too,
which are left out). Texts begin with these, so that the number of a key is its place here."""
PH, CAT, NAME, PID, TID, TS, DUR, ARGS, CORRELATION, BYTES, COLLECTIVE, GROUP, RANKS = range(13)
SENT, RECEIVED, DTYPE, SEQUENCE, SOURCE, TARGET, FIRST, STRIDE, SIZE, SHAPES, TYPES = range(13, 24)
INPUTS, AWAITED, RECORD, SHAPED, SENDS, RECEIVES = range(24, 30)

TEXT = np.dtype([("mixed", "i8"), ("begin", "i8"), ("length", "i8")], align=True)
"""A text that has a number: where its bytes stand."""
STATE = np.dtype(
    [*((name, "i8") for name in ("at", "events", "details", "texts", "used", "records", "bad")), ("status", "i4")],
    align=True,
)
"""One row: bytes that are read, rows of events, details and texts, bytes of texts; objects in all, those that cannot be used; status."""
MORE, DONE, ROOM, BROKEN = range(4)
"""Values of `status`: the text goes on; the list has ended; there is no room for another event; what stands there is no object."""
LONGEST_TEXT = 1 << 14
"""Bytes of a text that are kept, at most; what is longer has no number."""
NO_NUMBER = -(2**62)
"""What stands for a number that is none, or too large."""
