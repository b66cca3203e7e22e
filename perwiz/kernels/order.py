# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""A topological order of the happened-before graph, and its edges listed by the vertex they lead into.

Vertices come in program numbering: a chained vertex v is followed by v + 1 on its location; all other edges are listed.
"""

import cython


def count(key: cython.const[cython.int][::1], out: cython.int[::1]) -> None:
    """Add to `out[k]` how often k occurs in `key`."""
    i: cython.Py_ssize_t
    for i in range(len(key)):
        out[key[i]] += 1


def group(key: cython.const[cython.int][::1], cursor: cython.int[::1], out: cython.int[::1]) -> None:
    """Write to `out` the rows of `key` grouped by key, in order; `cursor[k]`, where the group of key k begins, moves to its end."""
    i: cython.Py_ssize_t
    for i in range(len(key)):
        out[cursor[key[i]]] = cython.cast(cython.int, i)
        cursor[key[i]] += 1


def order(
    first: cython.const[cython.int][::1],
    edge: cython.const[cython.int][::1],
    target: cython.const[cython.int][::1],
    chained: cython.const[cython.uchar][::1],
    waiting: cython.int[::1],
    out: cython.int[::1],
) -> int:
    """Write the vertices to `out` so that every edge leads to a later one; return how many could be placed (all, unless there is a cycle).

    First in, first out from vertex 0 (Kahn), so neighbours in time stay neighbours in memory. `waiting` holds the edges into each
    vertex and is used up; the edges out of v are the rows edge[first[v]:first[v + 1]] of `target`.
    """
    head: cython.Py_ssize_t = 0
    tail: cython.Py_ssize_t = 1
    k: cython.Py_ssize_t
    v: cython.int
    t: cython.int
    out[0] = 0
    while head < tail:
        v = out[head]
        head += 1
        if chained[v]:
            waiting[v + 1] -= 1
            if waiting[v + 1] == 0:
                out[tail] = v + 1
                tail += 1
        for k in range(first[v], first[v + 1]):
            t = target[edge[k]]
            waiting[t] -= 1
            if waiting[t] == 0:
                out[tail] = t
                tail += 1
    return tail


def components(
    first: cython.const[cython.int][::1],
    edge: cython.const[cython.int][::1],
    target: cython.const[cython.int][::1],
    chained: cython.const[cython.uchar][::1],
    work: cython.int[:, ::1],
    out: cython.int[::1],
) -> None:
    """Number the strongly connected components (Tarjan) of the vertices for which `out` holds -1; where it holds -2 nothing is followed.

    `work` has five cells per vertex: index (0: not seen), lowest index reached, next edge, and the two stacks.
    """
    s: cython.Py_ssize_t
    v: cython.int
    w: cython.int
    depth: cython.Py_ssize_t = 0
    open_: cython.Py_ssize_t = 0
    seen: cython.int = 0
    count: cython.int = 0
    for s in range(len(out)):
        if out[s] != -1 or work[0, s] != 0:
            continue
        w = cython.cast(cython.int, s)
        while True:
            if w >= 0:
                seen += 1
                work[0, w] = work[1, w] = seen
                work[2, w] = first[w] - 1
                work[3, depth] = work[4, open_] = w
                depth += 1
                open_ += 1
            v = work[3, depth - 1]
            w = -1
            if work[2, v] < first[v + 1]:
                if work[2, v] >= first[v]:
                    w = target[edge[work[2, v]]]
                elif chained[v]:
                    w = v + 1
                work[2, v] += 1
                if w >= 0 and (out[w] != -1 or work[0, w] != 0):
                    if out[w] == -1 and work[0, w] < work[1, v]:
                        work[1, v] = work[0, w]
                    w = -1
                continue
            depth -= 1
            if depth > 0 and work[1, v] < work[1, work[3, depth - 1]]:
                work[1, work[3, depth - 1]] = work[1, v]
            if work[1, v] == work[0, v]:
                w = -1
                while w != v:
                    open_ -= 1
                    w = work[4, open_]
                    out[w] = count
                count += 1
                w = -1
            if depth == 0:
                break


def lead_in(
    vertex: cython.const[cython.int][::1],
    position: cython.const[cython.int][::1],
    chained: cython.const[cython.uchar][::1],
    origin: cython.const[cython.int][::1],
    target: cython.const[cython.int][::1],
    start: cython.const[cython.int][::1],
    source: cython.int[::1],
    edge: cython.int[::1],
) -> None:
    """Fill `source` and `edge` (row of the listed edges, -1 for a chain edge) by the position they lead into, the chain edge first.

    `start` is where the edges into each position begin; `edge` must come filled with -2, marking places still free.
    """
    p: cython.Py_ssize_t
    k: cython.Py_ssize_t
    v: cython.int
    for p in range(len(vertex)):
        v = vertex[p]
        if v > 0 and chained[v - 1]:
            source[start[p]] = position[v - 1]
            edge[start[p]] = -1
    for k in range(len(target)):
        p = start[position[target[k]]]
        while edge[p] != -2:
            p += 1
        source[p] = position[origin[k]]
        edge[p] = cython.cast(cython.int, k)
