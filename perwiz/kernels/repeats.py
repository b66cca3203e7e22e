# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""What repeats in a run, in one pass over its pieces: how long those of a group are, and how much longer than usual stretches took.

Each piece has a group, in which `usual` is how long one is, ns, and a pool of pieces, which has a stretch in each part of the run where one
of it is told.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import sqrt
else:
    from math import sqrt


def add_up(
    group: cython.const[cython.int][::1],
    here: cython.const[cython.uchar][::1],
    length: cython.const[cython.longlong][::1],
    count: cython.longlong[::1],
    total: cython.longlong[::1],
) -> None:
    """Add to each group how many rows of it are here, and how long they are together. Rows below 0 are of none."""
    with cython.nogil:
        for p in range(len(group)):
            g = group[p]
            if g >= 0 and here[p]:
                count[g] += 1
                total[g] += length[p]


def pools(
    pool: cython.const[cython.int][::1],
    told: cython.const[cython.uchar][::1],
    inside: cython.const[cython.uchar][::1],
    count: cython.longlong[::1],
    within: cython.longlong[::1],
) -> None:
    """Count the pieces of each pool that are told, and those of them that are inside of iterations."""
    with cython.nogil:
        for p in range(len(pool)):
            if told[p]:
                count[pool[p]] += 1
                within[pool[p]] += inside[p]


def places(
    pool: cython.int[::1],
    place: cython.const[cython.int][::1],
    part: cython.const[cython.ushort][::1],
    told: cython.const[cython.uchar][::1],
    there: cython.uchar[:, ::1],
) -> None:
    """Let each piece have the `place` of its pool instead, -1 for none, and mark in which parts of the run a pool has any that is told."""
    with cython.nogil:
        for p in range(len(pool)):
            pool[p] = place[pool[p]]
            if told[p]:
                there[pool[p], part[p]] = 1


def stretches(
    pool: cython.const[cython.int][::1],
    part: cython.const[cython.ushort][::1],
    told: cython.const[cython.uchar][::1],
    length: cython.const[cython.longlong][::1],
    group: cython.const[cython.int][::1],
    usual: cython.const[cython.double][::1],
    behind: cython.const[cython.int][:, ::1],
    first: cython.const[cython.longlong][::1],
    stretch: cython.int[::1],
    took: cython.double[::1],
    needs: cython.double[::1],
) -> None:
    """Write in which stretch each piece is, -1 without a pool; add to that how long those took that are told, and what is usual.

    `behind` has per pool and part the first stretch of the pool not before it; the last of the pool if that is another's `first`.
    """
    with cython.nogil:
        for p in range(len(pool)):
            stretch[p] = -1
            if pool[p] < 0:
                continue
            s: cython.longlong = behind[pool[p], part[p]]
            last: cython.longlong = first[pool[p] + 1] - 1
            if s > last:
                s = last
            stretch[p] = s
            if told[p]:
                took[s] += length[p]
                needs[s] += usual[group[p]]


def varies(
    begin: cython.Py_ssize_t,
    first: cython.const[cython.longlong][::1],
    beyond: cython.Py_ssize_t,
    told: cython.const[cython.uchar][::1],
    length: cython.const[cython.longlong][::1],
    group: cython.const[cython.int][::1],
    usual: cython.const[cython.double][::1],
    count: cython.const[cython.longlong][::1],
    stretch: cython.const[cython.int][::1],
    often: cython.const[cython.longlong][::1],
    longer: cython.double[::1],
    lasted: cython.double[::1],
    several: cython.longlong[::1],
) -> None:
    """Add to each location the squares of how much longer than usual pieces of it took, and of how long is usual, ns, of those told.

    Of location x pieces are `begin + first[x]` to before `begin + first[x + 1]`, and `beyond` more for each location before and this one.
    What is usual is a mean of `count` pieces, so they deviate by the root of n / (n - 1) more. `several` counts them by how many stretches
    the pool of their stretch has: `often` says that.
    """
    with cython.nogil:
        for x in range(len(first) - 1):
            for p in range(begin + first[x] + beyond * x, begin + first[x + 1] + beyond * (x + 1)):
                if not told[p]:
                    continue
                u = usual[group[p]]
                n = count[group[p]]
                lasts: cython.double = length[p]
                all_: cython.double = n
                off = (lasts / u - 1) * sqrt(all_ / max(n - 1, 1)) * u
                longer[x] += off * off
                lasted[x] += u * u
                several[often[stretch[p]]] += 1
