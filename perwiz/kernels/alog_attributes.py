# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The `@ key=value` part of ALOG strings to rows (row of the line, key, value, its places); a comma list gives one row a value."""

import cython


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _blank(letter: cython.uchar) -> cython.bint:
    return letter == 32 or letter == 9


@cython.cfunc
@cython.exceptval(check=False)
def _value(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    """Return the integer at [i, end), or for other text a 61-bit hash of it, negated and not above -2**61."""
    value: cython.longlong = 0
    hashed: cython.longlong = 0
    sign: cython.longlong = 1
    k: cython.Py_ssize_t = i
    plain: cython.bint = end - i <= 18
    low: cython.longlong = 1125899906842623
    mask: cython.longlong = 2305843009213693951
    if k < end and text[k] == 45:
        sign, hashed = -1, 46
        k += 1
    plain = plain and k < end
    while k < end:
        plain = plain and text[k] >= 48 and text[k] <= 57
        if plain:
            value = value * 10 + (text[k] - 48)
        hashed = ((hashed & low) * 1021 + text[k] + 1) & mask
        k += 1
    return sign * value if plain else -mask - 1 - hashed


@cython.cfunc
@cython.exceptval(check=False)
def _word(
    text: cython.const[cython.uchar][::1],
    i: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    out: cython.longlong[:, ::1],
    count: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write the values of one word [i, end) to `out` from row `count` on; return the new count. No `=`, no value; `o` has no list."""
    k: cython.Py_ssize_t
    first: cython.Py_ssize_t = i
    key: cython.longlong = 0
    while i < end and text[i] != 61:
        key = key * 256 + text[i] if i - first < 2 else 0
        i += 1
    while i < end:
        i += 1
        k = i
        while k < end and (text[k] != 44 or key == 111):
            k += 1
        out[count, 1], out[count, 2], out[count, 3], out[count, 4] = key, _value(text, i, k), i, end
        count += 1
        i = k
    return count


def attributes(text: cython.const[cython.uchar][::1], rows: cython.longlong[:, ::1], out: cython.longlong[:, ::1]) -> int:
    """Fill `out` with (row, key, value, place, end of the word) for the attributes of all events; return their number.

    A key is the number of its one or two letters, 256 * first + second; 0 for a longer one. n=1 makes a row internal.
    """
    r: cython.Py_ssize_t
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    old: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    for r in range(len(rows)):
        i = rows[r, 10]
        if i < 0 or rows[r, 11] != 0:
            continue
        while i < rows[r, 9]:
            k = i
            while k < rows[r, 9] and not _blank(text[k]):
                k += 1
            old = count
            count = _word(text, i, k, out, count)
            while old < count:
                out[old, 0] = r
                if out[old, 1] == 110 and out[old, 2] == 1:
                    rows[r, 11] = 3
                old += 1
            i = k + 1
    return count
