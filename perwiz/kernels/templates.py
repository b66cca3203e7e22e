# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Rows of integers to text, each after the template of its kind.

The steps of a template are numbered in perwiz.formats.templates, which must agree with the numbers used here.
"""

import cython


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _number(out: cython.uchar[::1], at: cython.Py_ssize_t, value: cython.longlong) -> cython.Py_ssize_t:
    """Write an integer in decimal at `at`; the place after it."""
    rest: cython.longlong
    end: cython.Py_ssize_t
    i: cython.Py_ssize_t
    if value < 0:
        out[at] = 45
        at += 1
        value = -value
    end = at + 1
    rest = value // 10
    while rest > 0:
        end += 1
        rest = rest // 10
    i = end
    while i > at:
        i -= 1
        out[i] = 48 + value % 10
        value = value // 10
    return end


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _microseconds(out: cython.uchar[::1], at: cython.Py_ssize_t, ns: cython.longlong) -> cython.Py_ssize_t:
    """Write a time, at least 0, in us with three decimals; the place after it."""
    rest: cython.longlong = ns % 1000
    at = _number(out, at, ns // 1000)
    out[at], out[at + 1], out[at + 2], out[at + 3] = 46, 48 + rest // 100, 48 + rest // 10 % 10, 48 + rest % 10
    return at + 4


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _copy(
    out: cython.uchar[::1],
    at: cython.Py_ssize_t,
    text: cython.const[cython.uchar][::1],
    begin: cython.longlong,
    end: cython.longlong,
) -> cython.Py_ssize_t:
    """Write `text[begin:end]` at `at`; the place after it."""
    i: cython.Py_ssize_t
    for i in range(begin, end):
        out[at] = text[i]
        at += 1
    return at


def fill(
    kind: cython.const[cython.uchar][::1],
    cells: cython.const[cython.longlong][:, ::1],
    first: cython.const[cython.int][::1],
    steps: cython.const[cython.int][:, ::1],
    texts: cython.const[cython.longlong][::1],
    text: cython.const[cython.uchar][::1],
    absent: cython.longlong,
    out: cython.uchar[::1],
) -> int:
    """Write every row of `cells` to `out` after the template of its kind; return the number of bytes.

    The template of kind k is the steps `first[k] .. first[k + 1] - 1`, each (code, argument, length): 0 text `argument`; of the cell in
    column `argument` 1 the number, 2 the ns as us, 3 the text of that row; 4 leave out the next `length` steps if it is `absent`.
    Text i is `text[texts[i] : texts[i + 1]]`. `out` must be long enough.
    """
    e: cython.Py_ssize_t
    s: cython.Py_ssize_t
    row: cython.longlong
    code: cython.int
    at: cython.Py_ssize_t = 0
    for e in range(len(kind)):
        s = first[kind[e]]
        while s < first[kind[e] + 1]:
            code = steps[s, 0]
            row = steps[s, 1] if code == 0 else cells[e, steps[s, 1]]
            if code == 1:
                at = _number(out, at, row)
            elif code == 2:
                at = _microseconds(out, at, row)
            elif code != 4:
                at = _copy(out, at, text, texts[row], texts[row + 1])
            elif row == absent:
                s += steps[s, 2]
            s += 1
    return at
