# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Nodes of Chakra execution traces to messages of Protocol Buffers, each behind its length; see perwiz.kernels.chakra_nodes."""

import cython

from perwiz.kernels import chakra

CPU = cython.declare(cython.int, chakra.CPU)
COLLECTIVE = cython.declare(cython.int, chakra.COLLECTIVE)
SIZE = cython.declare(cython.int, chakra.SIZE)
SOURCE = cython.declare(cython.int, chakra.SOURCE)
TARGET = cython.declare(cython.int, chakra.TARGET)
TAG = cython.declare(cython.int, chakra.TAG)
THREAD = cython.declare(cython.int, chakra.THREAD)
GROUP = cython.declare(cython.int, chakra.GROUP)
COMPUTES = cython.declare(cython.int, chakra.COMPUTES)
TEXT = cython.declare(cython.int, 2)
"""How bytes behind their length are held; numbers are 0."""
SEVEN_BITS = cython.declare(cython.int, 127)
MORE = cython.declare(cython.int, 128)
"""The bit of a byte behind which a number goes on."""
ID = cython.declare(cython.int, 1)
NAME = cython.declare(cython.int, 2)
TYPE = cython.declare(cython.int, 3)
NEEDS = cython.declare(cython.int, 5)
DURATION = cython.declare(cython.int, 7)
ATTRIBUTE = cython.declare(cython.int, 10)
INT32 = cython.declare(cython.int, 7)
INT64 = cython.declare(cython.int, 9)
BOOL = cython.declare(cython.int, 27)
STRING = cython.declare(cython.int, 29)

I8 = cython.typedef(cython.longlong)
I4 = cython.typedef(cython.int)

Made = cython.struct(
    id=I8, duration=I8, name=I8, amount=I8, type=I4, cpu=I4, thread=I4, collective=I4, source=I4, target=I4, tag=I4, group=I4
)  # fmt: skip


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _width(number: I8) -> I8:
    """Return how many bytes a number takes."""
    width: I8 = 1
    while number > SEVEN_BITS:
        number >>= 7
        width += 1
    return width


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _put(out: cython.uchar[::1], at: I8, number: I8) -> I8:
    """Write a number; return the place behind it."""
    while number > SEVEN_BITS:
        out[at] = cython.cast(cython.uchar, number & SEVEN_BITS | MORE)
        number >>= 7
        at += 1
    out[at] = cython.cast(cython.uchar, number)
    return at + 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _number(out: cython.uchar[::1], at: I8, field: I8, number: I8) -> I8:
    """Write a field that is a number, unless it is 0; return the place behind it."""
    return at if number == 0 else _put(out, _put(out, at, field << 3), number)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _text(
    out: cython.uchar[::1],
    at: I8,
    field: I8,
    texts: cython.const[cython.uchar][::1],
    ends: cython.const[cython.longlong][::1],
    row: I8,
) -> I8:
    """Write a field that is one of some texts; return the place behind it."""
    begin: I8 = ends[row - 1] if row > 0 else 0
    at = _put(out, _put(out, at, field << 3 | TEXT), ends[row] - begin)
    for k in range(begin, ends[row]):
        out[at] = texts[k]
        at += 1
    return at


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _attribute(
    out: cython.uchar[::1],
    at: I8,
    keys: cython.const[cython.uchar][::1],
    key_ends: cython.const[cython.longlong][::1],
    key: I8,
    field: I8,
    number: I8,
) -> I8:
    """Write an attribute that is a number, unless that is -1; return the place behind it."""
    if number < 0:
        return at
    length: I8 = key_ends[key] - (key_ends[key - 1] if key > 0 else 0)
    at = _put(out, _put(out, at, ATTRIBUTE << 3 | TEXT), 2 + length + _width(field << 3) + _width(number))
    at = _text(out, at, 1, keys, key_ends, key)
    return _put(out, _put(out, at, field << 3), number)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _group(
    out: cython.uchar[::1],
    at: I8,
    keys: cython.const[cython.uchar][::1],
    key_ends: cython.const[cython.longlong][::1],
    texts: cython.const[cython.uchar][::1],
    ends: cython.const[cython.longlong][::1],
    row: I8,
) -> I8:
    """Write the attribute that the name of a group is; return the place behind it."""
    length: I8 = key_ends[GROUP] - key_ends[GROUP - 1]
    size: I8 = ends[row] - (ends[row - 1] if row > 0 else 0)
    at = _put(out, _put(out, at, ATTRIBUTE << 3 | TEXT), 2 + length + 2 + _width(size) + size)
    return _text(out, _text(out, at, 1, keys, key_ends, GROUP), STRING, texts, ends, row)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _body(
    row: Made,
    first: I8,
    last: I8,
    on: cython.const[cython.longlong][::1],
    texts: cython.const[cython.uchar][::1],
    ends: cython.const[cython.longlong][::1],
    keys: cython.const[cython.uchar][::1],
    key_ends: cython.const[cython.longlong][::1],
    out: cython.uchar[::1],
) -> I8:
    """Write a node without its length to the beginning of `out`; return how long it is."""
    at: I8 = _number(out, 0, ID, row.id)
    at = _text(out, at, NAME, texts, ends, row.name)
    at = _number(out, at, TYPE, row.type)
    if last > first:
        length: I8 = 0
        for k in range(first, last):
            length += _width(on[k])
        at = _put(out, _put(out, at, NEEDS << 3 | TEXT), length)
        for k in range(first, last):
            at = _put(out, at, on[k])
    at = _number(out, at, DURATION, row.duration)
    at = _attribute(out, at, keys, key_ends, CPU, BOOL, row.cpu)
    at = _attribute(out, at, keys, key_ends, THREAD, INT64, row.thread)
    if row.type != COMPUTES:
        at = _attribute(out, at, keys, key_ends, SIZE, INT64, row.amount)
    at = _attribute(out, at, keys, key_ends, COLLECTIVE, INT64, row.collective)
    at = _attribute(out, at, keys, key_ends, SOURCE, INT32, row.source)
    at = _attribute(out, at, keys, key_ends, TARGET, INT32, row.target)
    at = _attribute(out, at, keys, key_ends, TAG, INT32, row.tag)
    if row.group >= 0:
        at = _group(out, at, keys, key_ends, texts, ends, row.group)
    return at


def write(
    rows: Made[::1],
    first: cython.const[cython.longlong][::1],
    on: cython.const[cython.longlong][::1],
    texts: cython.const[cython.uchar][::1],
    ends: cython.const[cython.longlong][::1],
    keys: cython.const[cython.uchar][::1],
    key_ends: cython.const[cython.longlong][::1],
    body: cython.uchar[::1],
    out: cython.uchar[::1],
) -> int:
    """Write nodes to `out`, which has room for all, and return how many bytes they are.

    Node k needs those with the numbers on[first[k]:first[k + 1]]; text k ends at ends[k] of `texts`, and so do `keys`, chakra.KEYS. `body`
    is space for the longest node.
    """
    at: I8 = 0
    with cython.nogil:
        for k in range(len(rows)):
            size: I8 = _body(rows[k], first[k], first[k + 1], on, texts, ends, keys, key_ends, body)
            at = _put(out, at, size)
            for i in range(size):
                out[at + i] = body[i]
            at += size
    return at
