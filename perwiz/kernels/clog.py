# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Where the records of CLOG-2 begin, in blocks of one length, each with records of lengths that their types tell; and their events."""

from __future__ import annotations

import cython
import numpy as np

from perwiz.kernels import alog

if cython.compiled:
    from cython.cimports.perwiz.kernels.alog import Line

WALK = np.dtype([(name, "i8") for name in ("block", "next", "records", "wrong", "ended")], align=True)
"""Where a walk stands: the word at which the block begins, that of the next record, how many records it wrote, how many of them do not
fit their block or are of no known type, and whether the record that ends the log was seen. Words have four bytes."""

HEADER = cython.declare(cython.int, 6)
COMM = cython.declare(cython.int, 2)
RANK = cython.declare(cython.int, 3)
THREAD = cython.declare(cython.int, 4)
TYPE = cython.declare(cython.int, 5)
END_LOG = cython.declare(cython.int, 0)
END_BLOCK = cython.declare(cython.int, 1)
BARE = cython.declare(cython.int, 5)
MESSAGE = cython.declare(cython.int, 7)
WRONG = cython.declare(cython.int, -1)
EVENT = cython.declare(cython.int, alog.EVENT)
NOBODY = cython.declare(cython.int, alog.NOBODY)

I8 = cython.typedef(cython.longlong)
FOUND = np.dtype([("row", "i8"), ("comm", "i8"), ("other", "i8"), ("moves", "u1")], align=True)
"""An event beside its line: which of the records it is, its communicator and that of its partner, whether it is the end of a message."""
Found = cython.struct(row=I8, comm=I8, other=I8, moves=cython.uchar)
Walk = cython.struct(block=cython.longlong, next=cython.longlong, records=cython.longlong, wrong=cython.longlong, ended=cython.longlong)


def records(
    words: cython.const[cython.int][::1],
    block: cython.longlong,
    lengths: cython.const[cython.int][::1],
    begin: cython.longlong[::1],
    kinds: cython.schar[::1],
    at: Walk[::1],
) -> None:
    """Write to `begin` where records begin, and to `kinds` their types, until these are full or the words or the log end.

    Blocks have `block` words, records of each type `lengths` with their header. A record that is of none of these types, or longer than
    what is left of its block, is written as ~begin, of type -1, and the rest of its block is passed over: nothing tells where the next one
    begins.
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
            begin[count], kinds[count] = -here - 1, WRONG
            count += 1
            at[0].wrong += 1
            at[0].block = at[0].next = end
        else:
            begin[count], kinds[count] = here, cython.cast(cython.schar, kind)
            count += 1
            at[0].next = here + lengths[kind]
    at[0].records = count


def events(
    words: cython.const[cython.int][::1],
    begin: cython.const[cython.longlong][::1],
    kinds: cython.const[cython.schar][::1],
    lines: Line[::1],
    found: Found[::1],
) -> int:
    """Write the events among some records, as they stand there, to `lines` and `found`, which have room for all; return how many.

    `process` of a line is a rank in the communicator of the event, `int_data` that of its partner in the other one; times are left out.
    """
    count: cython.longlong = 0
    for k in range(len(begin)):
        if not BARE <= kinds[k] <= MESSAGE:
            continue
        i = begin[k]
        lines[count].type, lines[count].process, lines[count].task = words[i + HEADER], words[i + RANK], words[i + THREAD]
        lines[count].status, lines[count].owner = EVENT, NOBODY
        lines[count].cycle = lines[count].int_data = lines[count].tag = lines[count].bytes = 0
        found[count].row, found[count].comm, found[count].other = k, words[i + COMM], words[i + COMM]
        found[count].moves = kinds[k] == MESSAGE
        if found[count].moves:
            if words[i + HEADER + 1] >= 0:
                found[count].other = words[i + HEADER + 1]
            lines[count].int_data, lines[count].tag, lines[count].bytes = (
                words[i + HEADER + 2],
                words[i + HEADER + 3],
                words[i + HEADER + 4],
            )
        count += 1
    return count
