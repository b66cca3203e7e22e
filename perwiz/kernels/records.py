"""The names of what records of files say, for their kernels and who calls these: flags of the recorder, kinds of OTF2 rows.

A kernel takes a name as a C constant by `NAME = cython.declare(cython.int, records.NAME)`.
"""

NOBODY, ANYBODY, MYSELF = -1, -2, -3
"""Partners in a record of `perwiz record`, as recorder.h has them: ranks in the communicator, or one of these."""
STRANGER = -4
"""A partner that its communicator does not have."""

SENDS, RECEIVES, POSTS, DONE, ANY_SOURCE, ANY_TAG, FAILED, CANCELLED, MANY = (1 << bit for bit in range(9))
"""Flags of a record of `perwiz record`, as recorder.h has them."""
MODE_SHIFT = 9
MODE = 3 << MODE_SHIFT
"""The flags that are a send mode: 0 standard, 1 ready, 2 buffered, 3 synchronous."""
ACTS = SENDS | RECEIVES | POSTS | DONE
"""The flags of a record that does something to a message or a request."""
RECORDED = (1 << 16) - 1
"""All flags that a record may have."""
UNSUCCESSFUL_TEST = 1 << 16
"""Of an action alone: the request it names was found not complete."""

ROOTED, COMPLETES, TESTS, TALKS = (1 << bit for bit in range(4))
"""What an operation of the recorder is beside its op: the peer is a root, it only completes, it tests one request, it talks to one."""
NO_CALL = -1
"""The op of an operation that is no MPI call."""
