# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Rows to the functions of the OTF2 library that write event records, and the places of records between region boundaries.

Kinds and columns are those of perwiz.formats.otf2.library.events. Compiled, functions are addresses; interpreted, ctypes functions.
"""

from __future__ import annotations

import cython
from cython import cast, size_t

from perwiz.kernels import records

if cython.compiled:
    from cython.cimports.perwiz.kernels.records import Record

ENTER = cython.declare(cython.int, records.ENTER)
LEAVE = cython.declare(cython.int, records.LEAVE)
SEND = cython.declare(cython.int, records.SEND)
ISEND = cython.declare(cython.int, records.ISEND)
RECV = cython.declare(cython.int, records.RECV)
IRECV = cython.declare(cython.int, records.IRECV)
COLLECTIVE_BEGIN = cython.declare(cython.int, records.COLLECTIVE_BEGIN)
COLLECTIVE_END = cython.declare(cython.int, records.COLLECTIVE_END)
NONBLOCKING_COMPLETE = cython.declare(cython.int, records.NONBLOCKING_COMPLETE)
METRIC = cython.declare(cython.int, records.METRIC)
PARAMETER_INT = cython.declare(cython.int, records.PARAMETER_INT)
PARAMETER_UNSIGNED = cython.declare(cython.int, records.PARAMETER_UNSIGNED)
PARAMETER_STRING = cython.declare(cython.int, records.PARAMETER_STRING)
COMM_CREATE = cython.declare(cython.int, records.COMM_CREATE)
COMM_DESTROY = cython.declare(cython.int, records.COMM_DESTROY)
PROGRAM_BEGIN = cython.declare(cython.int, records.PROGRAM_BEGIN)
PROGRAM_END = cython.declare(cython.int, records.PROGRAM_END)
MEASUREMENT = cython.declare(cython.int, records.MEASUREMENT)
BUFFER_FLUSH = cython.declare(cython.int, records.BUFFER_FLUSH)
ROW = cython.declare(cython.size_t, records.RECORD.itemsize)
TAG = cython.declare(cython.size_t, records.TAG_OFFSET)
AMOUNT = cython.declare(cython.size_t, records.AMOUNT_OFFSET)
"""Bytes of a row, and where two of its columns begin."""

U8 = cython.typedef(cython.uchar)
U32 = cython.typedef(cython.uint)
U64 = cython.typedef(cython.ulonglong)
I64 = cython.typedef(cython.longlong)
COMPILED = cython.compiled
"""Whether functions are addresses."""


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _reference(function: size_t, writer: size_t, time: U64, number: U32) -> cython.int:
    return cast("int (*)(size_t, size_t, unsigned long long, unsigned int) noexcept nogil", function)(writer, 0, time, number)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _number(function: size_t, writer: size_t, time: U64, number: U64) -> cython.int:
    return cast("int (*)(size_t, size_t, unsigned long long, unsigned long long) noexcept nogil", function)(writer, 0, time, number)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _nothing(function: size_t, writer: size_t, time: U64) -> cython.int:
    return cast("int (*)(size_t, size_t, unsigned long long) noexcept nogil", function)(writer, 0, time)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _small(function: size_t, writer: size_t, time: U64, number: U8) -> cython.int:
    return cast("int (*)(size_t, size_t, unsigned long long, unsigned char) noexcept nogil", function)(writer, 0, time, number)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _message(function: size_t, writer: size_t, time: U64, row: Record) -> cython.int:
    """Write a send or receive; with its request if it is not blocking."""
    if row.kind in (ISEND, IRECV):
        return cast(
            "int (*)(size_t, size_t, unsigned long long, unsigned int, unsigned int, unsigned int, unsigned long long,"
            " unsigned long long) noexcept nogil",
            function,
        )(
            writer,
            0,
            time,
            cast(U32, row.reference),
            cast(U32, row.communicator),
            cast(U32, row.tag),
            cast(U64, row.amount),
            cast(U64, row.request),
        )
    return cast(
        "int (*)(size_t, size_t, unsigned long long, unsigned int, unsigned int, unsigned int, unsigned long long) noexcept nogil", function
    )(writer, 0, time, cast(U32, row.reference), cast(U32, row.communicator), cast(U32, row.tag), cast(U64, row.amount))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _collective(function: size_t, writer: size_t, time: U64, row: Record) -> cython.int:
    """Write the end of a collective; with its request if it is not blocking."""
    if row.kind == NONBLOCKING_COMPLETE:
        return cast(
            "int (*)(size_t, size_t, unsigned long long, unsigned char, unsigned int, unsigned int, unsigned long long,"
            " unsigned long long, unsigned long long) noexcept nogil",
            function,
        )(
            writer,
            0,
            time,
            cast(U8, row.reference),
            cast(U32, row.communicator),
            cast(U32, row.tag),
            cast(U64, row.amount),
            cast(U64, row.received),
            cast(U64, row.request),
        )
    return cast(
        "int (*)(size_t, size_t, unsigned long long, unsigned char, unsigned int, unsigned int, unsigned long long,"
        " unsigned long long) noexcept nogil",
        function,
    )(
        writer,
        0,
        time,
        cast(U8, row.reference),
        cast(U32, row.communicator),
        cast(U32, row.tag),
        cast(U64, row.amount),
        cast(U64, row.received),
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _parameter(function: size_t, writer: size_t, time: U64, row: Record) -> cython.int:
    """Write a parameter: a string or a number."""
    if row.kind == PARAMETER_STRING:
        return cast("int (*)(size_t, size_t, unsigned long long, unsigned int, unsigned int) noexcept nogil", function)(
            writer, 0, time, cast(U32, row.reference), cast(U32, row.amount)
        )
    return cast("int (*)(size_t, size_t, unsigned long long, unsigned int, unsigned long long) noexcept nogil", function)(
        writer, 0, time, cast(U32, row.reference), cast(U64, row.amount)
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _program_begin(function: size_t, writer: size_t, time: U64, name: U32) -> cython.int:
    """Write a program's begin, without arguments."""
    return cast("int (*)(size_t, size_t, unsigned long long, unsigned int, unsigned int, size_t) noexcept nogil", function)(
        writer, 0, time, name, 0, 0
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _metric(function: size_t, writer: size_t, time: U64, metric: U32, address: size_t) -> cython.int:
    """Write a metric of one value, whose type and bits lie in the row at an address."""
    return cast("int (*)(size_t, size_t, unsigned long long, unsigned int, unsigned char, size_t, size_t) noexcept nogil", function)(
        writer, 0, time, metric, 1, address + TAG, address + AMOUNT
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _event(function: size_t, writer: size_t, row: Record, address: size_t) -> cython.int:
    """Write one row, which lies at an address; 0, or the error code of the library."""
    kind = row.kind
    time: U64 = cast(U64, row.time)
    if kind in (ENTER, LEAVE):
        return _reference(function, writer, time, cast(U32, row.reference))
    elif kind in (SEND, ISEND, RECV, IRECV):
        return _message(function, writer, time, row)
    elif kind == COLLECTIVE_BEGIN:
        return _nothing(function, writer, time)
    elif kind in (COLLECTIVE_END, NONBLOCKING_COMPLETE):
        return _collective(function, writer, time, row)
    elif kind == METRIC:
        return _metric(function, writer, time, cast(U32, row.reference), address)
    elif kind in (PARAMETER_INT, PARAMETER_UNSIGNED, PARAMETER_STRING):
        return _parameter(function, writer, time, row)
    elif kind in (COMM_CREATE, COMM_DESTROY):
        return _reference(function, writer, time, cast(U32, row.communicator))
    elif kind == PROGRAM_BEGIN:
        return _program_begin(function, writer, time, cast(U32, row.reference))
    elif kind in (PROGRAM_END, BUFFER_FLUSH):
        return _number(function, writer, time, cast(U64, row.reference))
    elif kind == MEASUREMENT:
        return _small(function, writer, time, cast(U8, row.reference))
    return _number(function, writer, time, cast(U64, row.request))


def events(
    functions: cython.const[cython.ulonglong][::1],
    writer: size_t,
    rows: cython.const[Record][::1],
    begin: cython.Py_ssize_t,
    address: size_t,
    refusal: cython.int[::1],
) -> int:
    """Write the rows from `begin` on; return the first that is not written: of a kind without function, or refused by the library.

    `functions` gives the function per kind; `refusal[0]` gets the error code of the library; `address` is that of the rows in memory.
    """
    for k in range(begin, len(rows)):
        if rows[k].kind >= len(functions):
            return k
        refusal[0] = _event(functions[rows[k].kind], writer, rows[k], address + ROW * cast(size_t, k))
        if refusal[0] != 0:
            return k
    return len(rows)


def innermost(
    region: cython.const[cython.int][::1],
    leaves: cython.const[cython.uchar][::1],
    parent: cython.const[cython.int][::1],
    left: cython.uchar[::1],
    out: cython.int[::1],
) -> None:
    """Write to `out` the innermost open region after each boundary, -1 for none. `left`, per region, begins as 0 and ends as 1."""
    inner: cython.int = -1
    for boundary in range(len(region)):
        if leaves[boundary] == 0:
            inner = region[boundary]
        else:
            left[region[boundary]] = 1
            while inner >= 0 and left[inner] != 0:
                inner = parent[inner]
        out[boundary] = inner


def place(
    gap: cython.const[cython.longlong][::1],
    inner: cython.const[cython.int][::1],
    wanted: cython.const[cython.longlong][::1],
    region: cython.const[cython.int][::1],
    out: cython.longlong[::1],
) -> None:
    """Write to `out` the boundary that each item lies behind, -1 for none: the first of its gap inside `region`, in order of the items.

    `gap` and `wanted` are the numbers of the gaps between calls, both in order.
    """
    boundary: cython.Py_ssize_t = -1
    for item in range(len(out)):
        while boundary + 1 < len(gap) and gap[boundary + 1] < wanted[item]:
            boundary += 1
        ahead = boundary
        inside: cython.int = inner[ahead] if ahead >= 0 else -1
        while inside != region[item] and ahead + 1 < len(gap) and gap[ahead + 1] == wanted[item]:
            ahead += 1
            inside = inner[ahead]
        if inside == region[item]:
            boundary = ahead
        out[item] = boundary
