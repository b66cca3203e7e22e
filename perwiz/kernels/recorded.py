# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Rows of the recorder to columns, and the nesting of its regions."""

import cython


def split(
    rows: cython.const[cython.longlong][:, ::1],
    operations: cython.const[cython.int][::1],
    comms: cython.const[cython.int][:, ::1],
    ranks: cython.const[cython.int][::1],
    at: cython.Py_ssize_t,
    ints: cython.int[:, ::1],
    longs: cython.longlong[:, ::1],
    rest: cython.longlong[:, ::1],
) -> cython.Py_ssize_t:
    """Write the calls among the rows of one location to the columns, from `at` on, and return how many there are.

    `rows` are the eight words of each record: enter, leave, site, sent, received, request, peer | tag << 32, comm | op << 32 | flags << 48.
    `operations` is the op of each operation of the recorder, plus 256 if its peer is a root; -1 for what is no call. Those rows go to
    `rest`: their number, and how many calls came before. `comms` has the row, first member and size of each communicator of the process,
    `ranks` the members that its peers mean. `ints`: op, peer, tag, comm, root, flags. `longs`: enter, leave, sent, received, request.
    """
    i: cython.Py_ssize_t
    begin: cython.Py_ssize_t = at
    others: cython.Py_ssize_t = 0
    op: cython.int
    peer: cython.int
    comm: cython.int
    k: cython.int
    for i in range(rows.shape[0]):
        op = operations[(rows[i, 7] >> 32) & 65535]
        if op < 0:
            rest[others, 0] = i
            rest[others, 1] = at - begin
            others += 1
            continue
        for k in range(2):
            longs[k, at] = rows[i, k]
        for k in range(2, 5):
            longs[k, at] = rows[i, k + 1]
        peer = cython.cast(cython.int, (rows[i, 6] << 32) >> 32)
        comm = cython.cast(cython.int, (rows[i, 7] << 32) >> 32)
        if peer >= 0:
            if comm >= 0 and comm < comms.shape[0] and peer < comms[comm, 2]:
                peer = ranks[comms[comm, 1] + peer]
            else:
                peer = -4
        ints[0, at] = op & 255
        ints[1, at] = -1 if op & 256 else peer
        ints[2, at] = cython.cast(cython.int, rows[i, 6] >> 32)
        ints[3, at] = comms[comm, 0] if comm >= 0 and comm < comms.shape[0] else -1
        ints[4, at] = peer if op & 256 else -1
        ints[5, at] = cython.cast(cython.int, (rows[i, 7] >> 48) & 65535)
        at += 1
    return at - begin


def nest(begins: cython.const[cython.uchar][::1], stack: cython.int[::1], parent: cython.int[::1], end: cython.int[::1]) -> cython.int:
    """Write, per region begun in a sequence of boundaries, the one around it or -1, and the boundary that ends it or -1.

    `begins` is 1 where a region begins, 0 where the innermost one ends. Regions are numbered in the order in which they begin. Returns
    how many ends have no region to end.
    """
    i: cython.Py_ssize_t
    depth: cython.int = 0
    count: cython.int = 0
    lost: cython.int = 0
    for i in range(begins.shape[0]):
        if begins[i]:
            parent[count] = stack[depth - 1] if depth > 0 else -1
            end[count] = -1
            stack[depth] = count
            depth += 1
            count += 1
        elif depth > 0:
            depth -= 1
            end[stack[depth]] = cython.cast(cython.int, i)
        else:
            lost += 1
    return lost
