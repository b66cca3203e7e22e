"""The columns of the matrices that the ALOG kernels share with the reader; the kernels use the numbers."""

TYPE, PROCESS, TASK, DATA, CYCLE, TIME, TAG, SIZE, TEXT, TEXT_END, EXTRA, STATUS, OWNER, OWNER_ROW, LOCATION, SLOT = range(16)
"""One row per line."""
ROW_COLUMNS = 16

EVENT, HEADER, BLANK, INTERNAL = range(4)
"""Values of STATUS; from DAMAGED on, DAMAGED + the reason."""
DAMAGED = 16

NOBODY, CALL_BEGIN, CALL_END, MESSAGE, REGION_BEGIN = range(5)
"""Values of OWNER: what the record became; OWNER_ROW is the call's number on its location, or the message's or region's number."""

CLOCK, WRAPS, FIRST, OPEN, TOP, CALLS, INNERMOST, DEPTH, ENTER, OP, REGION, PEER, CALL_TAG, SENT, RECEIVED, INTERNAL_TRAFFIC = range(16)
"""State of one location between rows; from ENTER on, of its open call."""

FREE, POOL_USED, REGIONS, STATES, CALLS_OUT, REGIONS_OUT, MESSAGES_OUT, INTERNAL_CALLS, SINGLES = range(9)
TO_NOBODY, MESSAGE_BASE, INTERNAL_MESSAGES, RECV_OP, ROLLOVER = 9, 10, 11, 14, 15
"""The last row of the places: counters of the whole file."""

CALL_COLUMNS = ("location", "leave", "enter", "op", "region", "peer", "tag", "sent", "received", "internal")
REGION_COLUMNS = ("location", "leave", "end_call", "number", "name", "enter", "parent", "first_call", "instance")
MESSAGE_COLUMNS = ("type", "location", "call", "peer", "tag", "size")
"""What the states kernel writes."""
POOL_COLUMNS = 8
