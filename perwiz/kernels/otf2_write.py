# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Rows of integers to the functions of the OTF2 library that write event records, and the places of records between region boundaries.

Kinds and columns are those of perwiz.formats.otf2.library.events. Compiled, functions are addresses; interpreted, ctypes functions.
"""

import cython
from cython import cast, size_t

U8 = cython.typedef(cython.uchar)
U32 = cython.typedef(cython.uint)
U64 = cython.typedef(cython.ulonglong)
I64 = cython.typedef(cython.longlong)
COMPILED = cython.compiled
"""Whether functions are addresses."""


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _reference(function: size_t, writer: size_t, time: U64, one: U32) -> cython.int:
    return cast("int (*)(size_t, size_t, unsigned long long, unsigned int) noexcept nogil", function)(writer, 0, time, one)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _number(function: size_t, writer: size_t, time: U64, one: U64) -> cython.int:
    return cast("int (*)(size_t, size_t, unsigned long long, unsigned long long) noexcept nogil", function)(writer, 0, time, one)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _nothing(function: size_t, writer: size_t, time: U64) -> cython.int:
    return cast("int (*)(size_t, size_t, unsigned long long) noexcept nogil", function)(writer, 0, time)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _small(function: size_t, writer: size_t, time: U64, one: U8) -> cython.int:
    return cast("int (*)(size_t, size_t, unsigned long long, unsigned char) noexcept nogil", function)(writer, 0, time, one)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _message(function: size_t, writer: size_t, time: U64, rows: cython.const[cython.longlong][:, ::1], e: cython.Py_ssize_t) -> cython.int:
    """Write a blocking send or receive; with a request if its kind (3, 7) has one."""
    if rows[e, 0] == 3 or rows[e, 0] == 7:
        return cast(
            "int (*)(size_t, size_t, unsigned long long, unsigned int, unsigned int, unsigned int, unsigned long long, unsigned long long)"
            " noexcept nogil",
            function,
        )(
            writer,
            0,
            time,
            cast(U32, rows[e, 2]),
            cast(U32, rows[e, 3]),
            cast(U32, rows[e, 4]),
            cast(U64, rows[e, 5]),
            cast(U64, rows[e, 6]),
        )
    return cast(
        "int (*)(size_t, size_t, unsigned long long, unsigned int, unsigned int, unsigned int, unsigned long long) noexcept nogil",
        function,
    )(writer, 0, time, cast(U32, rows[e, 2]), cast(U32, rows[e, 3]), cast(U32, rows[e, 4]), cast(U64, rows[e, 5]))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _collective(
    function: size_t, writer: size_t, time: U64, rows: cython.const[cython.longlong][:, ::1], e: cython.Py_ssize_t
) -> cython.int:
    """Write the end of a collective; with a request if it is non-blocking (13)."""
    if rows[e, 0] == 13:
        return cast(
            "int (*)(size_t, size_t, unsigned long long, unsigned char, unsigned int, unsigned int, unsigned long long,"
            " unsigned long long, unsigned long long) noexcept nogil",
            function,
        )(
            writer,
            0,
            time,
            cast(U8, rows[e, 2]),
            cast(U32, rows[e, 3]),
            cast(U32, rows[e, 4]),
            cast(U64, rows[e, 5]),
            cast(U64, rows[e, 7]),
            cast(U64, rows[e, 6]),
        )
    return cast(
        "int (*)(size_t, size_t, unsigned long long, unsigned char, unsigned int, unsigned int, unsigned long long, unsigned long long)"
        " noexcept nogil",
        function,
    )(writer, 0, time, cast(U8, rows[e, 2]), cast(U32, rows[e, 3]), cast(U32, rows[e, 4]), cast(U64, rows[e, 5]), cast(U64, rows[e, 7]))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _parameter(
    function: size_t, writer: size_t, time: U64, rows: cython.const[cython.longlong][:, ::1], e: cython.Py_ssize_t
) -> cython.int:
    """Write a parameter: a string (17) or a number."""
    if rows[e, 0] == 17:
        return cast("int (*)(size_t, size_t, unsigned long long, unsigned int, unsigned int) noexcept nogil", function)(
            writer, 0, time, cast(U32, rows[e, 2]), cast(U32, rows[e, 5])
        )
    return cast("int (*)(size_t, size_t, unsigned long long, unsigned int, unsigned long long) noexcept nogil", function)(
        writer, 0, time, cast(U32, rows[e, 2]), cast(U64, rows[e, 5])
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _array(
    function: size_t, writer: size_t, time: U64, rows: cython.const[cython.longlong][:, ::1], e: cython.Py_ssize_t, place: size_t
) -> cython.int:
    """Write a metric of one value, whose type and bits are cells of the row at the address `place`; or a program's begin (20)."""
    if rows[e, 0] == 20:
        return cast("int (*)(size_t, size_t, unsigned long long, unsigned int, unsigned int, size_t) noexcept nogil", function)(
            writer, 0, time, cast(U32, rows[e, 2]), 0, 0
        )
    return cast("int (*)(size_t, size_t, unsigned long long, unsigned int, unsigned char, size_t, size_t) noexcept nogil", function)(
        writer, 0, time, cast(U32, rows[e, 2]), 1, place + 32, place + 40
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _event(
    function: size_t, writer: size_t, rows: cython.const[cython.longlong][:, ::1], e: cython.Py_ssize_t, place: size_t
) -> cython.int:
    """Write one row; 0, or the error code of the library."""
    kind: I64 = rows[e, 0]
    time: U64 = cast(U64, rows[e, 1])
    if kind < 2:
        return _reference(function, writer, time, cast(U32, rows[e, 2]))
    elif kind == 2 or kind == 3 or kind == 6 or kind == 7:
        return _message(function, writer, time, rows, e)
    elif kind == 10:
        return _nothing(function, writer, time)
    elif kind == 11 or kind == 13:
        return _collective(function, writer, time, rows, e)
    elif kind < 14:
        return _number(function, writer, time, cast(U64, rows[e, 6]))
    elif kind == 14 or kind == 20:
        return _array(function, writer, time, rows, e, place)
    elif kind < 18:
        return _parameter(function, writer, time, rows, e)
    elif kind < 20:
        return _reference(function, writer, time, cast(U32, rows[e, 3]))
    elif kind == 22:
        return _small(function, writer, time, cast(U8, rows[e, 2]))
    return _number(function, writer, time, cast(U64, rows[e, 2] if kind == 21 else rows[e, 5]))


def events(
    functions: cython.const[cython.ulonglong][::1],
    writer: size_t,
    rows: cython.const[cython.longlong][:, ::1],
    begin: cython.Py_ssize_t,
    place: size_t,
    code: cython.int[::1],
) -> int:
    """Write the rows from `begin` on; return the first that is not written: of a kind without function, or refused with `code[0]`.

    `functions` gives the function per kind; `place` is the address of the rows in memory.
    """
    e: cython.Py_ssize_t
    kind: I64
    for e in range(begin, len(rows)):
        kind = rows[e, 0]
        if kind >= len(functions):
            return e
        code[0] = _event(functions[kind], writer, rows, e, place + 64 * cast(size_t, e))
        if code[0] != 0:
            return e
    return len(rows)


def innermost(
    region: cython.const[cython.int][::1],
    leaves: cython.const[cython.uchar][::1],
    parent: cython.const[cython.int][::1],
    left: cython.uchar[::1],
    out: cython.int[::1],
) -> None:
    """Write to `out` the innermost open region after each boundary, -1 for none. `left`, per region, begins as 0 and ends as 1."""
    i: cython.Py_ssize_t
    inner: cython.int = -1
    for i in range(len(region)):
        if leaves[i] == 0:
            inner = region[i]
        else:
            left[region[i]] = 1
            while inner >= 0 and left[inner] != 0:
                inner = parent[inner]
        out[i] = inner


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
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t = -1
    ahead: cython.Py_ssize_t
    inside: cython.int
    for i in range(len(out)):
        while at + 1 < len(gap) and gap[at + 1] < wanted[i]:
            at += 1
        ahead = at
        inside = inner[ahead] if ahead >= 0 else -1
        while inside != region[i] and ahead + 1 < len(gap) and gap[ahead + 1] == wanted[i]:
            ahead += 1
            inside = inner[ahead]
        if inside == region[i]:
            at = ahead
        out[i] = at
