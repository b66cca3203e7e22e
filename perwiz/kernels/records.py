"""The names of what records of files say, for their kernels and who calls these: flags of the recorder, kinds of OTF2 rows.

A kernel takes a name as a C constant by `NAME = cython.declare(cython.int, records.NAME)`. The dtypes of rows stand beside the structs of
their kernels, but here where several have the same.
"""

from typing import Any

import numpy as np

NOBODY, ANYBODY, MYSELF = -1, -2, -3
"""Partners in a record of `perwiz record`, as recorder.h has them: ranks in the communicator, or one of these."""
STRANGER = -4
"""A partner that its communicator does not have."""

SENDS, RECEIVES, POSTS, DONE, ANY_SOURCE, ANY_TAG, FAILED, CANCELLED, MANY = (1 << bit for bit in range(9))
"""Flags of a record of `perwiz record`, as recorder.h has them."""
MODE_SHIFT = 9
MODE = 3 << MODE_SHIFT
"""The flags that are a send mode: 0 standard, 1 ready, 2 buffered, 3 synchronous."""
EXCLUSIVE = 1 << 13
"""Of MPI_Win_lock: it shares the lock with nobody."""
ACTS = SENDS | RECEIVES | POSTS | DONE
"""The flags of a record that does something to a message or a request."""
RECORDED = (1 << 16) - 1
"""All flags that a record may have."""
UNSUCCESSFUL_TEST = 1 << 16
"""Of an action alone: the request it names was found not complete."""

ROOTED, COMPLETES, TESTS, TALKS = (1 << bit for bit in range(4))
"""What an operation of the recorder is beside its op: the peer is a root, it only completes, it tests one request, it talks to one."""
NO_CALL = -1
"""The op of what is no MPI call."""

ENTER, LEAVE, SEND, ISEND, ISEND_COMPLETE, IRECV_REQUEST, RECV, IRECV, REQUEST_TEST, REQUEST_CANCELLED = range(10)
COLLECTIVE_BEGIN, COLLECTIVE_END, NONBLOCKING_REQUEST, NONBLOCKING_COMPLETE, METRIC, PARAMETER_INT = range(10, 16)
PARAMETER_UNSIGNED, PARAMETER_STRING, COMM_CREATE, COMM_DESTROY, PROGRAM_BEGIN, PROGRAM_END, MEASUREMENT, BUFFER_FLUSH = range(16, 24)
ATTRIBUTE = 24
"""Kinds of rows of OTF2. What they keep in which column:

ENTER, LEAVE                         reference: region
SEND, ISEND, RECV, IRECV             reference: the other rank; communicator, tag, amount: bytes; request of ISEND and IRECV
other kinds with a request           request
COLLECTIVE_END, NONBLOCKING_COMPLETE reference: operation; communicator, tag: root, amount: bytes sent, received; request of the latter
METRIC                               reference: metric; communicator: index of the value in its record, tag: C type, amount: its 64 bits;
                                     who takes it fills in how many regions were entered before, as request
PARAMETER_*                          reference: parameter; amount: value or string
COMM_*                               communicator
PROGRAM_BEGIN, PROGRAM_END           reference: name or exit status
MEASUREMENT                          reference: mode
BUFFER_FLUSH                         reference: time of its end
ATTRIBUTE                            reference: attribute; amount: its 64 bits. Of the ENTER or LEAVE before; no record of its own
"""
ARGUMENTS = ("reference", "communicator", "tag", "amount", "request", "received")
"""The columns of a row of OTF2 that keep what a record says."""
RECORD: np.dtype[Any] = np.dtype(
    [
        *(("kind", "u2"), ("inside", "u2"), ("number", "i4"), ("time", "i8")),
        *((name, "i8") for name in ARGUMENTS),
        *(("calls", "i4"), ("region", "i4")),
    ],
    align=True,
)
"""A row of OTF2, `time` in ticks. Who takes the rows fills in the number of its request, or how many calls came before, whether one is
open, and the innermost region."""
(_, TAG_OFFSET), (_, AMOUNT_OFFSET) = (RECORD.fields[name] for name in ("tag", "amount"))
"""Where two columns begin in a row, bytes."""
OTHER_KIND = 32
"""From here on, OTHER_KIND + number among the others: the six columns from `reference` on are the first six arguments, 0 for arrays."""
RMA_PUT, RMA_GET, _, RMA_BLOCKING, RMA_NONBLOCKING = range(OTHER_KIND + 19, OTHER_KIND + 24)
THREAD_FORK, THREAD_JOIN, TEAM_BEGIN, TEAM_END, ACQUIRE_LOCK, RELEASE_LOCK, TASK_CREATE, TASK_SWITCH = range(58, 66)
TASK_COMPLETE, THREAD_CREATE, THREAD_BEGIN, THREAD_WAIT, THREAD_END = range(66, 71)
"""Others that make calls of threads and devices; who takes them fills in the row of that call as `region`, -1 for none."""
KINDS = 71
"""No kind that makes calls is so high."""

BARE, COLLECTIVE_RECORD = 1, 2
"""Bits of a call of OTF2: made from a record outside any MPI region; it has a collective record."""
SENT, RECEIVED, INCOMPLETE = range(3)
"""Kinds of messages of OTF2: a send, a receive, a request found not complete."""
A_CALL, INSIDE_A_CALL, OVER, INTERRUPTED = -1, -2, -3, -4
"""What an open region of OTF2 stands for, if not for the row of a user region: the open call, an MPI region inside it, a call that is over
before its region is, or a wait in which something else is done."""
WHOLE, NAMED, TAKES, GIVES_WAY, WAITS = range(5)
"""What a call of OTF2 does when something is entered or recorded in it: it goes on; it does, and has its region where others have a root;
it does, and records of threads in it are its own; it is over; it waits on when that has ended."""
FORKS, BEGINS = 1, 2
"""What a region says where no record does: a thread opens a team as long as it is in it; it is in a team as long."""
FROM_START = 4
"""Bit of a call of OTF2, beside BARE and COLLECTIVE_RECORD: it is the first thing on its location, and began when its process did."""
UNSAID = -(1 << 62)
"""The time at which a collective began of which nobody said so."""
DEEPEST = 1000
"""So many open regions are looked through for the one that ends."""
WAITS_FOR_ONE, WAITS_FOR_ALL = 1, 2
"""What a call does to requests whose completion was not recorded; 0 for others."""
