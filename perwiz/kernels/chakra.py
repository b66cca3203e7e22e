"""The rows and codes that the kernels of Chakra execution traces share with their callers; a test compares the structs with the dtypes."""

import numpy as np

NODE = np.dtype(
    [
        *((name, "i8") for name in ("id", "start", "duration", "name", "name_length", "told", "told_length", "group", "group_length")),
        *((name, "i8") for name in ("amount", "source", "target", "tag", "thread", "stream")),
        *((name, "i4") for name in ("type", "collective", "cpu", "narrow")),
    ],
    align=True,
)
"""A node: its number; when it begins and how long it takes, us, 0 unknown; where its name, the values of its inputs and the name of its
process group stand, and how long they are; bytes, ranks at both ends and tag of communication; its thread and its stream, -1 unknown; its
type; kind of collective, -1 unknown; whether it is of the host, -1 unknown; whether its group is narrowed by dimensions of a network."""
NEED = np.dtype([("row", "i8"), ("id", "i8")], align=True)
"""A node, a row, and the number of one that comes before it."""
STATE = np.dtype([*((name, "i8") for name in ("at", "nodes", "needs", "bad")), ("cut", "i4"), ("wrong", "i4")], align=True)
"""One row: bytes that are read, nodes and needs there are, messages that cannot be used; whether the last message lacks bytes; whether what
is read just now makes no sense."""
KEYS = (
    *(b"is_cpu_op", b"comm_type", b"comm_size", b"comm_src", b"comm_dst", b"comm_tag"),
    *(b"tid", b"stream", b"pg_name", b"involved_dim"),
)
"""The attributes that are understood; a key is its place here."""
CPU, COLLECTIVE, SIZE, SOURCE, TARGET, TAG, THREAD, STREAM, GROUP, DIMENSIONS = range(len(KEYS))
INVALID, METADATA, LOAD, STORE, COMPUTES, SENDS, RECEIVES, MEETS = range(8)
"""Types of nodes."""

MADE = np.dtype(
    [
        *((name, "i8") for name in ("id", "duration", "name", "amount")),
        *((name, "i4") for name in ("type", "cpu", "thread", "collective", "source", "target", "tag", "group")),
    ],
    align=True,
)
"""A node to be written: its number, us, row of texts that its name is, bytes; type, whether it is of the host; and, not written where it is
-1: its thread, kind of collective, ranks at both ends, tag, row of texts that the name of its group is."""
