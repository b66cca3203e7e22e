# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Rows of integers to text, each after the template of its kind."""

import cython

from perwiz.kernels import steps as codes

TEXT = cython.declare(cython.int, codes.TEXT)
NUMBER = cython.declare(cython.int, codes.NUMBER)
MICROSECONDS = cython.declare(cython.int, codes.MICROSECONDS)
SHORT_MICROSECONDS = cython.declare(cython.int, codes.SHORT_MICROSECONDS)
NAME = cython.declare(cython.int, codes.NAME)
LIST = cython.declare(cython.int, codes.LIST)
IF = cython.declare(cython.int, codes.IF)
OPEN = cython.declare(cython.int, codes.OPEN)
ABSENT = cython.declare(cython.longlong, codes.ABSENT)

Step = cython.struct(code=cython.int, argument=cython.int, extent=cython.int)


@cython.cfunc
def _number(out: cython.uchar[::1], end: cython.Py_ssize_t, value: cython.longlong) -> cython.Py_ssize_t:
    """Write an integer in decimal behind `end`; return the new end."""
    if value < 0:
        out[end] = ord("-")
        end += 1
        value = -value
    begin = end
    end += 1
    rest = value // 10
    while rest > 0:
        end += 1
        rest = rest // 10
    i = end
    while i > begin:
        i -= 1
        out[i] = ord("0") + value % 10
        value = value // 10
    return end


@cython.cfunc
def _microseconds(out: cython.uchar[::1], end: cython.Py_ssize_t, ns: cython.longlong, short: cython.bint) -> cython.Py_ssize_t:
    """Write a time, at least 0, in us with three decimals, or none if those of a short one are 0; return the new end."""
    rest = ns % 1000
    end = _number(out, end, ns // 1000)
    if short and rest == 0:
        return end
    out[end], out[end + 1] = ord("."), ord("0") + rest // 100
    out[end + 2], out[end + 3] = ord("0") + rest // 10 % 10, ord("0") + rest % 10
    return end + 4


@cython.cfunc
def _copy(
    out: cython.uchar[::1],
    end: cython.Py_ssize_t,
    text: cython.const[cython.uchar][::1],
    begin: cython.longlong,
    behind: cython.longlong,
) -> cython.Py_ssize_t:
    """Write `text[begin:behind]`; return the new end."""
    for i in range(begin, behind):
        out[end] = text[i]
        end += 1
    return end


@cython.cfunc
def _list(
    out: cython.uchar[::1],
    end: cython.Py_ssize_t,
    entries: cython.const[cython.int][::1],
    begin: cython.longlong,
    count: cython.longlong,
) -> cython.Py_ssize_t:
    """Write so many entries with commas between them; return the new end."""
    for i in range(count):
        if i > 0:
            out[end] = ord(",")
            end += 1
        end = _number(out, end, entries[begin + i])
    return end


def fill(
    kind: cython.const[cython.uchar][::1],
    cells: cython.const[cython.longlong][:, ::1],
    first: cython.const[cython.int][::1],
    steps: cython.const[Step][::1],
    texts: cython.const[cython.longlong][::1],
    text: cython.const[cython.uchar][::1],
    entries: cython.const[cython.int][::1],
    out: cython.uchar[::1],
) -> int:
    """Write every row of `cells` to `out` after the template of its kind; return the number of bytes.

    The template of kind k is the steps `first[k] .. first[k + 1] - 1`. Text i is `text[texts[i] : texts[i + 1]]`; `entries` are those
    of all lists. `out` must be long enough.
    """
    s: cython.Py_ssize_t
    opened: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t = 0
    value: cython.longlong
    for row in range(len(kind)):
        s = first[kind[row]]
        behind = first[kind[row] + 1]
        while s < behind:
            code = steps[s].code
            value = steps[s].argument
            if code == TEXT:
                end = _copy(out, end, text, texts[value], texts[value + 1])
            elif code == IF:
                if cells[row, value] == ABSENT:
                    s += steps[s].extent
            elif code == NUMBER:
                end = _number(out, end, cells[row, value])
            elif code in (MICROSECONDS, SHORT_MICROSECONDS):
                end = _microseconds(out, end, cells[row, value], code == SHORT_MICROSECONDS)
            elif code == NAME:
                value = cells[row, value]
                end = _copy(out, end, text, texts[value], texts[value + 1])
            elif code == LIST:
                end = _list(out, end, entries, cells[row, value], cells[row, steps[s].extent])
            elif code == OPEN:
                opened = end
            elif end - opened <= steps[s].extent:
                end = opened
            s += 1
    return end
