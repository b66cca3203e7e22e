# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Lines of liballprof to columns: `MPI_Name:begin:argument:...:end`, times in us; of parts that belong together `,` between them."""

import cython
import numpy as np

TEXT, NUMBER, COUNT, SUM, TYPE, COMM, SKIPPED = range(7)
"""What an argument is: a number that may be an address, one that fits 31 bits, one from 0 on, a list of those of which the sum counts, a
datatype of which the bytes count, a communicator with the own rank and its size; nothing that is needed."""
INIT, FINALIZE, BOTH = range(3)
"""Which times a line has: that of the return, of the entry, or both."""
FUNCTION = np.dtype(
    [*((name, "i4") for name in ("name", "name_end", "first", "arguments", "op")), ("does", "u1"), ("times", "u1")], align=True
)
"""A function: where its name is in all names, where its arguments begin, how many they are, -1 any number that nobody needs."""
ARGUMENT = np.dtype([("kind", "i4"), ("column", "i4")], align=True)
"""An argument: what it is, and the column of its value: of a number that may be an address among those of 8 bytes, else of 4. Of a
communicator its handle is in the first of 8 bytes, its rank and size in `column` and the one behind that."""
READ = np.dtype([("lines", "i8"), ("bad", "i8"), ("backwards", "i8"), ("last", "i8"), ("finalized", "i8")], align=True)
"""One row: lines written, lines that cannot be read, times earlier than one before them, the latest time; whether MPI_Finalize is among
them."""

_TEXT = cython.declare(cython.int, TEXT)
_NUMBER = cython.declare(cython.int, NUMBER)
_SUM = cython.declare(cython.int, SUM)
_TYPE = cython.declare(cython.int, TYPE)
_COMM = cython.declare(cython.int, COMM)
_SKIPPED = cython.declare(cython.int, SKIPPED)
_INIT = cython.declare(cython.int, INIT)
_FINALIZE = cython.declare(cython.int, FINALIZE)
DIGITS = cython.declare(cython.int, 20)
LATEST = cython.declare(cython.longlong, 9 * 10**15)
MOST = cython.declare(cython.longlong, 2**31 - 1)
PREFIX = cython.declare(cython.int, 4)
MIX = cython.declare(cython.longlong, 0x01000193)
BITS = cython.declare(cython.longlong, 2**31 - 1)

I8 = cython.typedef(cython.longlong)
I4 = cython.typedef(cython.int)
U1 = cython.typedef(cython.uchar)
U2 = cython.typedef(cython.ushort)

Function = cython.struct(name=I4, name_end=I4, first=I4, arguments=I4, op=I4, does=U1, times=U1)
Argument = cython.struct(kind=I4, column=I4)
Read = cython.struct(lines=I8, bad=I8, backwards=I8, last=I8, finalized=I8)
Number = cython.struct(value=I8, end=I8)
"""A number and the place behind it, -1 for none."""


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def _number(text: cython.const[U1][::1], at: I8, end: I8) -> Number:
    """Return the whole number at a place, modulo 2^64; its end is that of its digits."""
    negative: cython.bint = at < end and text[at] == ord("-")
    first = at + negative
    value: cython.ulonglong = 0
    at = first
    while at < end and ord("0") <= text[at] <= ord("9") and at - first < DIGITS:
        value = value * 10 + (text[at] - ord("0")) if cython.compiled else (value * 10 + int(text[at]) - ord("0")) % 2**64
        at += 1
    if at == first:
        return Number(value=0, end=-1)
    found: I8 = cython.cast(I8, value) if cython.compiled else value - 2**64 * (value >= 2**63)
    return Number(value=-found if negative else found, end=at)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def _time(text: cython.const[U1][::1], at: I8, end: I8) -> I8:
    """Return the time of a field in ns, digits behind the third decimal left out; -1 for none."""
    whole = _number(text, at, end)
    if whole.end < 0 or whole.value < 0 or whole.value > LATEST or text[at] == ord("-"):
        return -1
    out = whole.value * 1000
    if whole.end == end:
        return out
    if text[whole.end] != ord("."):
        return -1
    at = whole.end + 1
    unit: I8 = 100
    while at < end and unit > 0:
        if not ord("0") <= text[at] <= ord("9"):
            return -1
        out += (text[at] - ord("0")) * unit if cython.compiled else (int(text[at]) - ord("0")) * unit
        unit //= 10
        at += 1
    return out


@cython.cfunc
@cython.exceptval(check=False)
@cython.nogil
def _argument(
    text: cython.const[U1][::1], at: I8, end: I8, argument: Argument, value: I4[:, ::1], wide: I8[:, ::1], row: I8
) -> cython.bint:
    """Write the value of an argument to its column; return whether it is one."""
    kind = argument.kind
    total: I8 = 0
    part: I4 = 0
    while True:
        comma = at
        while comma < end and text[comma] != ord(","):
            comma += 1
        if kind == _TYPE and part != 1:
            number = Number(value=0, end=comma)
        else:
            number = _number(text, at, comma)
        if number.end != comma:
            return False
        found = number.value
        if kind > _TEXT and not (kind == _COMM and part == 0) and (found > MOST or found < (-MOST if kind == _NUMBER else 0)):
            return False
        if kind == _COMM and part == 0:
            wide[0, row] = found
        elif kind == _COMM and part < 3:
            value[argument.column + part - 1, row] = cython.cast(I4, found)
        total += found
        part += 1
        if comma == end or (kind == _TYPE and part == 3):
            break
        at = comma + 1
    if kind == _COMM:
        return part == 3
    if kind == _TEXT:
        wide[argument.column, row] = total
        return part == 1
    if total > MOST:
        return False
    value[argument.column, row] = cython.cast(I4, total)
    return part == 1 or kind == _SUM or (kind == _TYPE and part == 3)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def _slot(text: cython.const[U1][::1], at: I8, end: I8, last: I8) -> I8:
    """Return where in a table of up to `last` a name is looked for."""
    mixed: I8 = 0
    while at < end:
        mixed = ((mixed ^ cython.cast(I8, text[at])) * MIX) & BITS
        at += 1
    return (mixed ^ (mixed >> 13)) & last


@cython.cfunc
@cython.exceptval(check=False)
@cython.nogil
def _function(
    text: cython.const[U1][::1],
    at: I8,
    end: I8,
    names: cython.const[U1][::1],
    functions: cython.const[Function][::1],
    table: cython.const[I4][::1],
) -> I4:
    """Return the row of the function of a name, 0 for one that is not known."""
    slot = _slot(text, at, end, len(table) - 1)
    while table[slot] > 0:
        begin: I8 = functions[table[slot]].name
        k: I8 = 0
        while k < end - at and begin + k < functions[table[slot]].name_end and names[begin + k] == text[at + k]:
            k += 1
        if k == end - at and begin + k == functions[table[slot]].name_end:
            return table[slot]
        slot = (slot + 1) & (len(table) - 1)
    return 0


def look_up(names: cython.const[U1][::1], functions: cython.const[Function][::1], table: I4[::1]) -> None:
    """Write to `table`, of zeros and a power of two, the rows of functions from 1 on where `read` looks for their names."""
    for row in range(1, len(functions)):
        slot = _slot(names, functions[row].name, functions[row].name_end, len(table) - 1)
        while table[slot] > 0:
            slot = (slot + 1) & (len(table) - 1)
        table[slot] = cython.cast(I4, row)


@cython.cfunc
@cython.exceptval(check=False)
@cython.nogil
def _line(
    text: cython.const[U1][::1],
    begin: I8,
    end: I8,
    function: Function,
    arguments: cython.const[Argument][::1],
    value: I4[:, ::1],
    wide: I8[:, ::1],
    enter: I8[::1],
    leave: I8[::1],
    row: I8,
) -> cython.bint:
    """Write the times and arguments of a line, from its first colon on, to a row; return whether it has them all."""
    last = end - 1
    while text[last] != ord(":"):
        last -= 1
    if last == begin:
        return False
    entered: I8 = -1
    at = begin + 1
    field: I4 = 0
    while True:
        stop = at
        while stop < last and text[stop] != ord(":"):
            stop += 1
        if field == 0:
            entered = _time(text, at, stop)
        elif function.arguments >= 0:
            if field > function.arguments:
                return False
            argument = arguments[function.first + field - 1]
            if argument.kind != _SKIPPED and not _argument(text, at, stop, argument, value, wide, row):
                return False
        field += 1
        if stop == last:
            break
        at = stop + 1
    left = _time(text, last + 1, end)
    if function.times == _INIT:
        entered = left
    elif function.times == _FINALIZE:
        left = entered
    enter[row], leave[row] = entered, left
    return entered >= 0 and left >= 0 and (function.arguments < 0 or field == function.arguments + 1)


def read(
    text: cython.const[U1][::1],
    names: cython.const[U1][::1],
    functions: cython.const[Function][::1],
    arguments: cython.const[Argument][::1],
    table: cython.const[I4][::1],
    op: U2[::1],
    does: U1[::1],
    enter: I8[::1],
    leave: I8[::1],
    value: I4[:, ::1],
    wide: I8[:, ::1],
    plain: cython.const[I4][::1],
    out: Read[::1],
) -> None:
    """Write the lines that can be read to rows, which there are for all; `value` has a row per column of 4 bytes, `plain` what it has for
    none, `wide` a row per column of 8 bytes, with 0 for none.

    Times do not run backwards: one that does is that before it. Row 0 of `functions` is that of names not known, which begin `MPI_`.
    """
    with cython.nogil:
        i: I8 = 0
        row: I8 = 0
        while i < len(text):
            end = i
            colon: I8 = -1
            while end < len(text) and text[end] != ord("\n"):
                if colon < 0 and text[end] == ord(":"):
                    colon = end
                end += 1
            if end > i and text[i] != ord("#"):
                good: cython.bint = colon >= i + PREFIX and text[i] == ord("M") and text[i + 1] == ord("P")
                good = good and text[i + 2] == ord("I") and text[i + 3] == ord("_")
                if good:
                    for column in range(value.shape[0]):
                        value[column, row] = plain[column]
                    for column in range(wide.shape[0]):
                        wide[column, row] = 0
                    which = _function(text, i, colon, names, functions, table)
                    good = _line(text, colon, end, functions[which], arguments, value, wide, enter, leave, row)
                if good:
                    op[row], does[row] = cython.cast(U2, functions[which].op), functions[which].does
                    out[0].backwards += (enter[row] < out[0].last) + (leave[row] < max(enter[row], out[0].last))
                    enter[row] = max(enter[row], out[0].last)
                    out[0].last = leave[row] = max(leave[row], enter[row])
                    out[0].finalized |= functions[which].times == _FINALIZE
                    row += 1
                else:
                    out[0].bad += 1
            i = end + 1
        out[0].lines = row
