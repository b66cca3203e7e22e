# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Where the records of CLOG-2 begin: blocks of one length, each with records of lengths that their types tell."""

import cython
import numpy as np

WALK = np.dtype([(name, "i8") for name in ("block", "next", "records", "wrong", "ended")], align=True)
"""Where a walk stands: the word at which the block begins, that of the next record, how many records it wrote, how many of them do not
fit their block or are of no known type, and whether the record that ends the log was seen. Words have four bytes."""

HEADER = cython.declare(cython.int, 6)
TYPE = cython.declare(cython.int, 5)
END_LOG = cython.declare(cython.int, 0)
END_BLOCK = cython.declare(cython.int, 1)

Walk = cython.struct(block=cython.longlong, next=cython.longlong, records=cython.longlong, wrong=cython.longlong, ended=cython.longlong)


def records(
    words: cython.const[cython.int][::1],
    block: cython.longlong,
    lengths: cython.const[cython.int][::1],
    begin: cython.longlong[::1],
    at: Walk[::1],
) -> None:
    """Write to `begin` where records begin, until it is full or the words or the log end.

    Blocks have `block` words, records of each type `lengths` with their header. A record that is of none of these types, or longer than
    what is left of its block, is written as ~begin, and the rest of its block is passed over: nothing tells where the next one begins.
    """
    count: cython.longlong = 0
    total: cython.longlong = len(words)
    most: cython.longlong = len(begin)
    types: cython.longlong = len(lengths)
    while count < most and at[0].ended == 0 and at[0].block < total:
        end: cython.longlong = min(at[0].block + block, total)
        here: cython.longlong = at[0].next
        if here == end:
            at[0].block = at[0].next = end
            continue
        kind: cython.longlong = words[here + TYPE] if here + HEADER <= end else -1
        if kind == END_BLOCK:
            at[0].block = at[0].next = end
        elif kind == END_LOG:
            at[0].ended = 1
        elif kind < END_LOG or kind >= types or here + lengths[kind] > end:
            begin[count] = -here - 1
            count += 1
            at[0].wrong += 1
            at[0].block = at[0].next = end
        else:
            begin[count] = here
            count += 1
            at[0].next = here + lengths[kind]
    at[0].records = count
