"""The columns of the matrices that the ALOG kernels share with the reader; the kernels use the numbers."""

TYPE, PROCESS, TASK, DATA, CYCLE, TIME, TAG, SIZE, TEXT, TEXT_END, EXTRA, STATUS, OWNER, OWNER_ROW, LOCATION, SLOT = range(16)
"""One row per line."""
ROW_COLUMNS = 16

EVENT, HEADER, BLANK, INTERNAL = range(4)
"""Values of STATUS; from DAMAGED on, DAMAGED + the reason."""
DAMAGED = 16

NOBODY, CALL_BEGIN, CALL_END, MESSAGE, REGION_BEGIN, SINGLE = range(6)
"""Values of OWNER: what the record became; OWNER_ROW is the call's number on its location, or the message's or region's number.

SINGLE is a stand-alone event inside a call, with that call's number.
"""

CLOCK, WRAPS, FIRST, OPEN, TOP, CALLS, INNERMOST, DEPTH, ENTER, OP, REGION, PEER, CALL_TAG, SENT, RECEIVED, INTERNAL_TRAFFIC = range(16)
"""State of one location between rows; from ENTER on, of its open call."""
SENT_INSIDE, RECEIVED_INSIDE, NULL_PARTNER, BARE = 1, 2, 4, 8
"""Bits of INTERNAL_TRAFFIC: messages inside a collective, one with MPI_PROC_NULL, a call made from a message record outside any state."""

FREE, POOL_USED, REGIONS, STATES, CALLS_OUT, REGIONS_OUT, MESSAGES_OUT, INTERNAL_CALLS, SINGLES = range(9)
TO_NOBODY, MESSAGE_BASE, INTERNAL_MESSAGES, RECV_OP, ROLLOVER = 9, 10, 11, 14, 15
"""The last row of the places: counters of the whole file."""

CALL_COLUMNS = {
    "location": "i4",
    "leave": "i8",
    "enter": "i8",
    "op": "u1",
    "region": "i4",
    "peer": "i4",
    "tag": "i4",
    "sent": "i8",
    "received": "i8",
    "internal": "u1",
}
REGION_COLUMNS = {
    "location": "i4",
    "leave": "i8",
    "end_call": "i4",
    "number": "i4",
    "name": "i4",
    "enter": "i8",
    "parent": "i4",
    "first_call": "i4",
}
MESSAGE_COLUMNS = {"type": "i1", "location": "i4", "call": "i4", "peer": "i4", "tag": "i4", "size": "i8"}
"""What the states kernel writes, and the dtypes kept of it."""
POOL_COLUMNS = 7
NOTE_ROW, NOTE_KEY, NOTE_VALUE, NOTE_TEXT, NOTE_END = range(5)
"""What the attributes kernel writes."""
