# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Numbers for keys, in order of first occurrence, through an open hash table of row numbers (-1 empty, size a power of two)."""

import cython


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _slot(a: cython.longlong, b: cython.longlong, mask: cython.longlong) -> cython.longlong:
    """Return where to start looking: the two keys mixed, in 31 bits so that interpreted runs agree."""
    h: cython.longlong = (a ^ (a >> 31) ^ (b << 7) ^ (b >> 24)) & 2147483647
    h = (h * 40503 + (h >> 15)) & 2147483647
    return (h ^ (h >> 13)) & mask


def number(
    key: cython.longlong[:, ::1], table: cython.int[::1], known: cython.longlong[:, ::1], count: cython.Py_ssize_t, out: cython.int[::1]
) -> int:
    """Write to `out` the number of each pair `key[i]`, adding new pairs to `known` (count so far given); return the new count."""
    i: cython.Py_ssize_t
    at: cython.longlong
    mask: cython.longlong = len(table) - 1
    for i in range(len(out)):
        at = _slot(key[i, 0], key[i, 1], mask)
        while table[at] >= 0 and (known[table[at], 0] != key[i, 0] or known[table[at], 1] != key[i, 1]):
            at = (at + 1) & mask
        if table[at] < 0:
            known[count, 0] = key[i, 0]
            known[count, 1] = key[i, 1]
            table[at] = cython.cast(cython.int, count)
            count += 1
        out[i] = table[at]
    return count


def running(number: cython.int[::1], seen: cython.int[::1]) -> None:
    """Replace each number by how often it occurred before; `seen` has a zero per number."""
    i: cython.Py_ssize_t
    k: cython.int
    for i in range(len(number)):
        k = number[i]
        number[i] = seen[k]
        seen[k] += 1


def paths(
    parent: cython.const[cython.int][::1],
    region: cython.const[cython.int][::1],
    begin: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    table: cython.int[::1],
    known: cython.longlong[:, ::1],
    out: cython.int[::1],
) -> int:
    """Write to `out` the path of each region instance from row `begin` on, its parent's path and its region; parents come first.

    `count` paths are known before; return how many are then.
    """
    i: cython.Py_ssize_t
    above: cython.longlong
    at: cython.longlong
    mask: cython.longlong = len(table) - 1
    for i in range(begin, len(parent)):
        above = out[parent[i]] if parent[i] >= 0 else -1
        at = _slot(above, region[i], mask)
        while table[at] >= 0 and (known[table[at], 0] != above or known[table[at], 1] != region[i]):
            at = (at + 1) & mask
        if table[at] < 0:
            known[count, 0] = above
            known[count, 1] = region[i]
            table[at] = cython.cast(cython.int, count)
            count += 1
        out[i] = table[at]
    return count
