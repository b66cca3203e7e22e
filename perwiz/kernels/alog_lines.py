# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""ALOG text to a matrix of integers, one row a line: `type process task data cycle time`, then tag, size and places in the text.

The columns are numbered in perwiz.formats.alog.rows, which must agree with the numbers used here.
"""

import cython


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _past_blanks(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    while i < end and (text[i] == 32 or text[i] == 9):
        i += 1
    return i


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _past_digits(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    while i < end and text[i] >= 48 and text[i] <= 57:
        i += 1
    return i


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _thousandths(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    """Return the decimals in [i, end), in thousandths, rounded at the fourth."""
    k: cython.int
    value: cython.longlong = 0
    for k in range(3):
        value *= 10
        if i + k < end:
            value += text[i + k] - 48
    return value + 1 if i + 3 < end and text[i + 3] >= 53 else value


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _numbers(
    text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t, rows: cython.longlong[:, ::1], r: cython.Py_ssize_t
) -> cython.longlong:
    """Read the first six cells, of a message two more, the time from us to ns, and find the string; return 0 or a reason + 16."""
    first: cython.Py_ssize_t
    value: cython.longlong
    negative: cython.bint
    column: cython.int = 0
    last: cython.int = 5
    while column <= last:
        i = _past_blanks(text, i, end)
        if column == 6:
            rows[r, 8] = i
        negative = i < end and text[i] == 45
        if i < end and (text[i] == 45 or text[i] == 43):
            i += 1
        first, value = i, 0
        while i < end and text[i] >= 48 and text[i] <= 57:
            if i - first >= 18:
                return 17
            value = value * 10 + (text[i] - 48)
            i += 1
        if i == first:
            return 16 if column < 6 else 18
        if column == 5:
            if value >= 1000000000000000:
                return 17
            value *= 1000
            if i < end and text[i] == 46:
                first = i + 1
                i = _past_digits(text, first, end)
                value += _thousandths(text, first, i)
        if column < 6 and i < end and text[i] != 32 and text[i] != 9:
            return 16
        rows[r, column] = -value if negative else value
        if column == 0 and negative and (value == 101 or value == 102):
            last = 7
        column += 1
    if last == 5:
        rows[r, 8] = _past_blanks(text, i, end)
    return 0


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _small(value: cython.longlong) -> cython.bint:
    return value <= 2147483647 and value >= -2147483648


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _status(rows: cython.longlong[:, ::1], r: cython.Py_ssize_t) -> cython.longlong:
    """Return what the numbers of a row make: 0 an event, 1 a header, 17 a number out of range."""
    kind: cython.longlong = rows[r, 0]
    if not (_small(kind) and _small(rows[r, 1]) and _small(rows[r, 2]) and _small(rows[r, 4])):
        return 17
    if kind < 0 and not _small(rows[r, 3]):
        return 17
    if kind < 0 and kind >= -100:
        return 1
    if rows[r, 1] < 0 or rows[r, 2] < 0 or rows[r, 4] < 0 or rows[r, 5] < 0:
        return 17
    if kind == -101 or kind == -102:
        if not _small(rows[r, 6]) or rows[r, 7] < 0 or rows[r, 7] > 1125899906842624:
            return 17
    return 0


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _extra(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the place behind the word `@` in [i, end), or -1."""
    k: cython.Py_ssize_t
    for k in range(i, end):
        if text[k] == 64 and (k == i or text[k - 1] == 32 or text[k - 1] == 9):
            if k + 1 == end or text[k + 1] == 32 or text[k + 1] == 9:
                return k + 1
    return -1


def lines(text: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, rows: cython.longlong[:, ::1]) -> tuple:
    """Fill one row of `rows` per line of `text` from `start` on; return how many were filled and where the next line starts."""
    i: cython.Py_ssize_t = start
    end: cython.Py_ssize_t
    following: cython.Py_ssize_t
    r: cython.Py_ssize_t = 0
    while i < len(text) and r < len(rows):
        end = i
        while end < len(text) and text[end] != 10:
            end += 1
        following = end + 1
        if end > i and text[end - 1] == 13:
            end -= 1
        rows[r, 8], rows[r, 9], rows[r, 10], rows[r, 12] = i, end, -1, 0
        i = _past_blanks(text, i, end)
        if i == end or text[i] == 35:
            rows[r, 11] = 2
        else:
            rows[r, 11] = _numbers(text, i, end, rows, r)
            if rows[r, 11] == 0:
                rows[r, 11] = _status(rows, r)
            if rows[r, 11] == 0 and rows[r, 8] < end:
                rows[r, 10] = _extra(text, rows[r, 8], end)
        r += 1
        i = following
    return r, i


def look_up(rows: cython.longlong[:, ::1], slots: cython.const[cython.int][::1], places: cython.const[cython.int][::1]) -> int:
    """Write slot and location of events with a type, and task 0 of a process, that the tables know; return how many have -2 in one."""
    r: cython.Py_ssize_t
    left: cython.Py_ssize_t = 0
    for r in range(len(rows)):
        if rows[r, 11] != 0:
            continue
        rows[r, 14] = rows[r, 15] = -2
        if rows[r, 0] < 0:
            rows[r, 15] = -1
        elif rows[r, 0] < len(slots):
            rows[r, 15] = slots[rows[r, 0]]
        if rows[r, 2] == 0 and rows[r, 1] < len(places):
            rows[r, 14] = places[rows[r, 1]]
        if rows[r, 14] == -2 or rows[r, 15] == -2:
            left += 1
    return left
