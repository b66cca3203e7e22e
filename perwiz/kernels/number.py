# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Numbers for keys, in order of first occurrence, through an open hash table of row numbers (-1 empty, size a power of two)."""

import cython
import numpy as np

BITS = cython.declare(cython.longlong, 2**31 - 1)

PAIR = np.dtype([("first", "i8"), ("second", "i8")], align=True)
Pair = cython.struct(first=cython.longlong, second=cython.longlong)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def _start(first: cython.longlong, second: cython.longlong, last: cython.longlong) -> cython.longlong:
    """Return the slot to look at first, of those up to `last`: the pair mixed, in 31 bits so that interpreted runs agree."""
    mixed = (first ^ (first >> 31) ^ (second << 7) ^ (second >> 24)) & BITS
    mixed = (mixed * 40503 + (mixed >> 15)) & BITS
    return (mixed ^ (mixed >> 13)) & last


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def _slot(table: cython.int[::1], known: Pair[::1], first: cython.longlong, second: cython.longlong) -> cython.longlong:
    """Return the slot of a pair: that of its number, or the empty one where it belongs."""
    last = len(table) - 1
    slot = _start(first, second, last)
    while table[slot] >= 0 and (known[table[slot]].first != first or known[table[slot]].second != second):
        slot = (slot + 1) & last
    return slot


def number(key: cython.const[Pair][::1], table: cython.int[::1], known: Pair[::1], count: cython.Py_ssize_t, out: cython.int[::1]) -> int:
    """Write to `out` the number of each pair `key[i]`, adding new pairs to `known` (count so far given); return the new count."""
    with cython.nogil:
        for i in range(len(out)):
            slot = _slot(table, known, key[i].first, key[i].second)
            if table[slot] < 0:
                known[count].first, known[count].second = key[i].first, key[i].second
                table[slot] = cython.cast(cython.int, count)
                count += 1
            out[i] = table[slot]
    return count


def running(number: cython.int[::1], seen: cython.int[::1]) -> None:
    """Replace each number by how often it occurred before; `seen` has a zero per number."""
    with cython.nogil:
        for i in range(len(number)):
            k = number[i]
            number[i] = seen[k]
            seen[k] += 1


def following(
    number: cython.const[cython.int][::1],
    lane: cython.const[cython.int][::1],
    seen: cython.int[::1],
    out: cython.int[::1],
) -> None:
    """Write how far behind each row the next one of its lane with the same number is, 0 if none is or the number is below 0.

    Rows of a lane follow one another. `seen` has a cell per number, whatever it holds.
    """
    with cython.nogil:
        for k in range(len(seen)):
            seen[k] = -1
        for i in range(len(number) - 1, -1, -1):
            out[i] = 0
            k = number[i]
            if k >= 0:
                if seen[k] >= 0 and lane[seen[k]] == lane[i]:
                    out[i] = seen[k] - i
                seen[k] = i


def paths(
    parent: cython.const[cython.int][::1],
    region: cython.const[cython.int][::1],
    begin: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    table: cython.int[::1],
    known: Pair[::1],
    out: cython.int[::1],
) -> int:
    """Write to `out` the path of each region instance from row `begin` on, its parent's path and its region; parents come first.

    `count` paths are known before; return how many are then.
    """
    with cython.nogil:
        for i in range(begin, len(parent)):
            above: cython.longlong = -1
            if parent[i] >= 0:
                above = out[parent[i]]
            slot = _slot(table, known, above, region[i])
            if table[slot] < 0:
                known[count].first, known[count].second = above, region[i]
                table[slot] = cython.cast(cython.int, count)
                count += 1
            out[i] = table[slot]
    return count
