# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Rows of integers to the lines of an ALOG file, and the order of nested region instances.

The columns are numbered in perwiz.formats.alog.writing.cells, which must agree with the numbers used here.
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
    """Write a time, at least 0, in us: whole, or with three decimals; the place after it."""
    rest: cython.longlong = ns % 1000
    at = _number(out, at, ns // 1000)
    if rest == 0:
        return at
    out[at], out[at + 1], out[at + 2], out[at + 3] = 46, 48 + rest // 100, 48 + rest // 10 % 10, 48 + rest % 10
    return at + 4


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _head(
    cell: cython.const[cython.longlong][::1], absent: cython.longlong, out: cython.uchar[::1], at: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Write the six numbers of a record and, if it has them, tag and size."""
    k: cython.int
    for k in range(4):
        at = _number(out, at, cell[k])
        out[at] = 32
        at += 1
    out[at], out[at + 1] = 48, 32
    at = _microseconds(out, at + 2, cell[4])
    if cell[5] != absent:
        out[at] = 32
        at = _number(out, at + 1, cell[5])
        out[at] = 32
        at = _number(out, at + 1, cell[6])
    return at


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _key(
    out: cython.uchar[::1],
    at: cython.Py_ssize_t,
    bare: cython.Py_ssize_t,
    keys: cython.const[cython.uchar][::1],
    column: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write ` key=` of a column, after ` @` if the line still ends at `bare`."""
    if at == bare:
        out[at], out[at + 1] = 32, 64
        at += 2
    out[at], out[at + 1] = 32, keys[2 * column]
    at += 2
    if keys[2 * column + 1] != 0:
        out[at] = keys[2 * column + 1]
        at += 1
    out[at] = 61
    return at + 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _numbers(
    cell: cython.const[cython.longlong][::1],
    keys: cython.const[cython.uchar][::1],
    absent: cython.longlong,
    out: cython.uchar[::1],
    at: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write the attributes that are one number, then the letter of the send mode."""
    k: cython.Py_ssize_t
    bare: cython.Py_ssize_t = at
    for k in range(11, len(cell)):
        if cell[k] != absent:
            at = _key(out, at, bare, keys, k)
            at = _number(out, at, cell[k])
    if cell[9] != 0:
        at = _key(out, at, bare, keys, 9)
        out[at] = cython.cast(cython.uchar, cell[9])
        at += 1
    return at


def lines(
    cells: cython.const[cython.longlong][:, ::1],
    pool: cython.const[cython.int][::1],
    texts: cython.const[cython.longlong][::1],
    text: cython.const[cython.uchar][::1],
    keys: cython.const[cython.uchar][::1],
    absent: cython.longlong,
    out: cython.uchar[::1],
) -> int:
    """Write one line per row of `cells` to `out`; return the number of bytes.

    `cells`: 0-4 type, process, task, data, ns; 5, 6 tag and size or `absent`; 7, 8 first and number of the entries of `pool` listed;
    9 a letter or 0; 10 a row of texts or -1; from 11 numbers or `absent`. Text i is `text[texts[i] : texts[i + 1]]`; the key of
    column j is `keys[2 * j]` and, if not 0, `keys[2 * j + 1]`. `out` must be long enough.
    """
    e: cython.Py_ssize_t
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t = 0
    bare: cython.Py_ssize_t
    for e in range(len(cells)):
        bare = _head(cells[e], absent, out, at)
        at = _numbers(cells[e], keys, absent, out, bare)
        for i in range(cells[e, 8]):
            if i == 0:
                at = _key(out, at, bare, keys, 7)
            else:
                out[at] = 44
                at += 1
            at = _number(out, at, pool[cells[e, 7] + i])
        if cells[e, 10] >= 0:
            at = _key(out, at, bare, keys, 10)
            for i in range(texts[cells[e, 10]], texts[cells[e, 10] + 1]):
                out[at] = text[i]
                at += 1
        out[at] = 10
        at += 1
    return at
