# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The `@ key=value` part of ALOG strings to rows (row of the line, key, value); a comma list gives one row a value."""

import cython


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _value(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    """Return the integer at [i, end), or for other text a 62-bit hash of it, negated and below -2**61."""
    value: cython.longlong = 0
    hashed: cython.longlong = 0
    sign: cython.longlong = 1
    k: cython.Py_ssize_t = i
    plain: cython.bint = end - i <= 18
    low: cython.longlong = 1125899906842623
    mask: cython.longlong = 2305843009213693951
    if k < end and text[k] == 45:
        sign = -1
        k += 1
    plain = plain and k < end
    while k < end:
        plain = plain and text[k] >= 48 and text[k] <= 57
        if plain:
            value = value * 10 + (text[k] - 48)
        hashed = ((hashed & low) * 1021 + text[k] + 1) & mask
        k += 1
    return sign * value if plain else -mask - 1 - hashed


def attributes(text: cython.const[cython.uchar][::1], rows: cython.longlong[:, ::1], out: cython.longlong[:, ::1]) -> int:
    """Fill `out` with (row, key, value, place) for the attributes of all `rows`; return their number. n=1 makes a row internal.

    A key is the number of its one or two letters, 256 * first + second.
    """
    r: cython.Py_ssize_t
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    key: cython.longlong
    for r in range(len(rows)):
        i = rows[r, 10]
        if i < 0 or rows[r, 11] != 0:
            continue
        while i < rows[r, 9]:
            while i < rows[r, 9] and text[i] == 32:
                i += 1
            key = 0
            while i < rows[r, 9] and text[i] != 61 and text[i] != 32:
                key = (key * 256 + text[i]) & 16777215
                i += 1
            while i < rows[r, 9] and text[i] != 32:
                i += 1
                k = i
                while k < rows[r, 9] and text[k] != 32 and text[k] != 44:
                    k += 1
                out[count, 0], out[count, 1], out[count, 2], out[count, 3] = r, key, _value(text, i, k), i
                if key == 110 and out[count, 2] == 1:
                    rows[r, 11] = 3
                count += 1
                i = k
    return count
