"""The rows that kernels make of those of OTF2, and where a location stands between two; a test compares the structs with the dtypes."""

import numpy as np

CALL = np.dtype(
    [
        *((name, "i8") for name in ("enter", "leave", "sent", "received")),
        *((name, "i4") for name in ("region", "peer", "tag", "comm", "root")),
        ("op", "u2"),
        ("bits", "u1"),
    ],
    align=True,
)
"""A call: `region` is the innermost one around it, `bits` are BARE, COLLECTIVE_RECORD and FROM_START. Of a call of threads, `comm` is the
call that began the team it belongs to, fork or idle (that of such an idle call itself), or -1."""
REGION = np.dtype(
    [("enter", "i8"), ("leave", "i8"), *((name, "i4") for name in ("name", "parent", "first_call", "end_call"))],
    align=True,
)
"""An instance of a user region: its number among the defined ones, the instance around it, calls in it."""
MESSAGE = np.dtype(
    [("bytes", "i8"), ("time", "i8"), *((name, "i4") for name in ("call", "peer", "tag", "comm", "request")), ("kind", "u1")], align=True
)
"""A record of a message: SENT, RECEIVED, or of a request found INCOMPLETE; `request` is a row or -1."""
REQUEST = np.dtype([("posted", "i4"), ("done", "i4"), ("cancelled", "u1")], align=True)
"""A request: the calls that post and complete it, the latter -1 if none does."""
FRAME = np.dtype([("name", "i4"), ("stands_for", "i4")], align=True)
"""An open region: its number among the defined ones; A_CALL, INSIDE_A_CALL, OVER, INTERRUPTED or the row of a user region."""
TEAM = np.dtype([("call", "i4"), ("own", "u1")], align=True)
"""A team that the thread is in: the call that began it, fork or idle, and whether the thread itself opened it."""
_COUNTS = ("pairs", "internal", "backwards", "not_open", "not_posted", "undefined", "never_ends")
_RECORDS = ("records", "sends", "receives", "polls", "others")
_NEXT = ("calls", "open", "depth", "messages", "regions", "innermost", "requests", "clock", "collective_time", "first")
_THREAD = ("quiet", "teams", "forked", "ended", "idle")
STATE = np.dtype([(name, "i8") for name in (*_NEXT, *_THREAD, *_COUNTS, *_RECORDS)], align=True)
"""Of a location between pieces: the next rows, the open call and the innermost open region or -1, how many regions are open, the last time,
when the next collective began, the time of the first record; when it last entered or left something, or UNSAID; in how many teams it is,
the fork whose team it did not begin yet, that whose team it ended last, the op of its idle calls, each -1 for none; then counts."""
