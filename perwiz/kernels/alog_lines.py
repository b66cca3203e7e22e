# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""ALOG text to a matrix of integers, one row a line: `type process task data cycle time`, then tag, size and places in the text.

The columns are numbered in perwiz.trace.alog_rows, which must agree with the numbers used here.
"""

import cython


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _skip_blanks(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    while i < end and (text[i] == 32 or text[i] == 9):
        i += 1
    return i


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _digits(
    text: cython.const[cython.uchar][::1],
    i: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    cell: cython.longlong[::1],
    column: cython.int,
) -> cython.Py_ssize_t:
    """Read an optional sign and digits into one cell; the place after them, -1 if there are none, -2 if there are too many."""
    first: cython.Py_ssize_t
    value: cython.longlong = 0
    negative: cython.bint = False
    i = _skip_blanks(text, i, end)
    if i < end and (text[i] == 45 or text[i] == 43):
        negative = text[i] == 45
        i += 1
    first = i
    while i < end and text[i] >= 48 and text[i] <= 57:
        if i - first >= 18:
            return -2
        value = value * 10 + (text[i] - 48)
        i += 1
    if i == first:
        return -1
    cell[column] = -value if negative else value
    return i


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _nanoseconds(
    text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t, cell: cython.longlong[::1]
) -> cython.Py_ssize_t:
    """Read microseconds with decimals into the time cell as ns, rounded at the fourth decimal; -1 or -2 as in _digits."""
    unit: cython.longlong = 100
    most: cython.longlong = 1000000000000000
    i = _digits(text, i, end, cell, 5)
    if i < 0:
        return i
    if cell[5] >= most or cell[5] <= -most:
        return -2
    cell[5] *= 1000
    if i < end and text[i] == 46:
        i += 1
        while i < end and text[i] >= 48 and text[i] <= 57:
            if unit > 0:
                cell[5] += unit * (text[i] - 48)
            elif unit == 0 and text[i] >= 53:
                cell[5] += 1
            unit = unit // 10 if unit > 0 else -1
            i += 1
    return i


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _head(
    text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t, cell: cython.longlong[::1]
) -> cython.Py_ssize_t:
    """Read the six numbers every record starts with; the place of its string, or -1, -2."""
    k: cython.int
    for k in range(6):
        i = _digits(text, i, end, cell, k) if k < 5 else _nanoseconds(text, i, end, cell)
        if i < 0:
            return i
        if i < end and text[i] != 32 and text[i] != 9:
            return -1
    return _skip_blanks(text, i, end)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _in_range(cell: cython.longlong[::1]) -> cython.bint:
    """Whether type, process, task and cycle fit the format, and the time of an event is not negative."""
    k: cython.int
    most: cython.longlong = 2147483647
    for k in range(5):
        if (cell[k] > most or cell[k] < -most - 1) and (k != 3 or cell[0] < 0):
            return False
    if cell[0] < 0 and cell[0] >= -100:
        return True
    return cell[1] >= 0 and cell[2] >= 0 and cell[4] >= 0 and cell[4] < 1000000 and cell[5] >= 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _tag_and_size(
    text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t, cell: cython.longlong[::1]
) -> cython.longlong:
    """Read the string of a message; the status of the row: 0, or 16 + the reason."""
    most: cython.longlong = 2147483647
    i = _digits(text, i, end, cell, 6)
    if i >= 0:
        i = _digits(text, i, end, cell, 7)
    if i == -1:
        return 18
    if i == -2 or cell[6] > most or cell[6] < -most - 1 or cell[7] < 0:
        return 17
    return 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _record(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t, cell: cython.longlong[::1]) -> cython.void:
    """Fill the row of one line: its numbers, the place of its string and its status."""
    k: cython.Py_ssize_t
    if end > i and text[end - 1] == 13:
        end -= 1
    cell[8], cell[9], cell[10] = i, end, -1
    k = _skip_blanks(text, i, end)
    if k == end or text[k] == 35:
        cell[11] = 2
        return
    k = _head(text, k, end, cell)
    if k < 0:
        cell[11] = 16 if k == -1 else 17
        return
    cell[8] = k
    cell[11] = 0 if _in_range(cell) else 17
    if cell[11] == 0 and cell[0] < 0 and cell[0] >= -100:
        cell[11] = 1
    elif cell[11] == 0 and (cell[0] == -101 or cell[0] == -102):
        cell[11] = _tag_and_size(text, k, end, cell)
    while k < end:
        if text[k] == 64 and (k == cell[8] or text[k - 1] == 32) and (k + 1 == end or text[k + 1] == 32):
            cell[10] = k + 1
            return
        k += 1


def lines(text: cython.const[cython.uchar][::1], rows: cython.longlong[:, ::1]) -> int:
    """Fill one row of `rows` per line of `text`; return their number."""
    i: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t
    r: cython.Py_ssize_t = 0
    while i < len(text):
        end = i
        while end < len(text) and text[end] != 10:
            end += 1
        _record(text, i, end, rows[r])
        r += 1
        i = end + 1
    return r
