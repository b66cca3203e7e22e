# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""A topological order of the happened-before graph, its edges listed by the vertex they lead into, and of a part of it.

Vertices come in program numbering: a chained vertex v is followed by v + 1 on its location; all other edges are listed.
"""

import cython

from perwiz.kernels import names

CHAINED = cython.declare(cython.int, names.CHAINED)
UNNUMBERED = cython.declare(cython.int, names.UNNUMBERED)
NONE = cython.declare(cython.int, names.NONE)


def count(key: cython.const[cython.int][::1], out: cython.int[::1]) -> cython.Py_ssize_t:
    """Add to `out[k]` how often k occurs in `key`; return -1, or the first row whose k has no cell: it and what follows is not counted."""
    bad: cython.Py_ssize_t = -1
    cells: cython.Py_ssize_t = len(out)
    with cython.nogil:
        for i in range(len(key)):
            if key[i] < 0 or key[i] >= cells:
                bad = i
                break
            out[key[i]] += 1
    return bad


def group(key: cython.const[cython.int][::1], cursor: cython.int[::1], out: cython.int[::1]) -> None:
    """Write to `out` the rows of `key` grouped by key, in order; `cursor[k]`, where the group of key k begins, moves to its end."""
    with cython.nogil:
        for i in range(len(key)):
            out[cursor[key[i]]] = i
            cursor[key[i]] += 1


def order(
    first: cython.const[cython.int][::1],
    edge: cython.const[cython.int][::1],
    target: cython.const[cython.int][::1],
    chained: cython.const[cython.uchar][::1],
    waiting: cython.int[::1],
    degree: cython.const[cython.uchar][::1],
    cursor: cython.longlong[::1],
    spare: cython.int[::1],
    out: cython.int[::1],
) -> int:
    """Write the vertices to `out` so that every edge leads to a later one; return how many could be placed (all, unless there is a cycle).

    First in, first out from vertex 0 (Kahn), so neighbours in time stay neighbours in memory; of those that as many steps lead to, those of
    one `degree` stand together: a sweep that finds as many edges again and again is twice as fast. `waiting` holds the edges into each
    vertex and is used up; the edges out of v are the rows edge[first[v]:first[v + 1]] of `target`. `cursor` has a cell for each degree,
    `spare` one per vertex. Ends of edges must be vertices, and none may lead into vertex 0: who has `count` count them knows.
    """
    with cython.nogil:
        head: cython.Py_ssize_t = 0
        tail: cython.Py_ssize_t = 1
        step: cython.Py_ssize_t = 1
        out[0] = 0
        while head < tail:
            if head == step:
                _bring_together(out, step, tail, degree, cursor, spare)
                step = tail
            tail = _place_behind(out[head], first, edge, target, chained, waiting, tail, out)
            head += 1
    return tail


def proceed(
    first: cython.const[cython.int][::1],
    edge: cython.const[cython.int][::1],
    target: cython.const[cython.int][::1],
    chained: cython.const[cython.uchar][::1],
    waiting: cython.int[::1],
    head: cython.Py_ssize_t,
    tail: cython.Py_ssize_t,
    out: cython.int[::1],
) -> int:
    """Write to `out` behind out[head:tail], vertices that can be placed, all that can be placed behind these; return where they end.

    As `order`, which see, but of a graph of which others place some vertices: whoever hears of one puts it behind those there.
    """
    with cython.nogil:
        while head < tail:
            tail = _place_behind(out[head], first, edge, target, chained, waiting, tail, out)
            head += 1
    return tail


def tell(
    placed: cython.const[cython.int][::1],
    first: cython.const[cython.int][::1],
    peer: cython.const[cython.int][::1],
    number: cython.const[cython.int][::1],
    cursor: cython.longlong[::1],
    out: cython.int[::1],
) -> None:
    """Write to `out`, for each peer from cursor[peer] on, the numbers that vertices `placed` have there; cursors move on.

    Those of vertex v are the rows first[v]:first[v + 1] of `peer` and `number`.
    """
    with cython.nogil:
        for i in range(len(placed)):
            for k in range(first[placed[i]], first[placed[i] + 1]):
                out[cursor[peer[k]]] = number[k]
                cursor[peer[k]] += 1


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _place_behind(
    v: cython.int,
    first: cython.const[cython.int][::1],
    edge: cython.const[cython.int][::1],
    target: cython.const[cython.int][::1],
    chained: cython.const[cython.uchar][::1],
    waiting: cython.int[::1],
    tail: cython.Py_ssize_t,
    out: cython.int[::1],
) -> cython.Py_ssize_t:
    """Write to `out` from `tail` on what waited for vertex v alone; return where that ends."""
    k: cython.int
    t: cython.int
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _bring_together(
    vertex: cython.int[::1],
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    degree: cython.const[cython.uchar][::1],
    cursor: cython.longlong[::1],
    spare: cython.int[::1],
) -> cython.void:
    """Sort vertex[first:end] by degree, those of one degree in order."""
    i: cython.Py_ssize_t
    d: cython.Py_ssize_t
    for d in range(len(cursor)):
        cursor[d] = 0
    for i in range(first, end):
        cursor[degree[vertex[i]]] += 1
    place: cython.longlong = first
    for d in range(len(cursor)):
        place += cursor[d]
        cursor[d] = place - cursor[d]
    for i in range(first, end):
        d = degree[vertex[i]]
        spare[cursor[d]] = vertex[i]
        cursor[d] += 1
    vertex[first:end] = spare[first:end]


def components(
    first: cython.const[cython.int][::1],
    edge: cython.const[cython.int][::1],
    target: cython.const[cython.int][::1],
    chained: cython.const[cython.uchar][::1],
    index: cython.int[::1],
    lowest: cython.int[::1],
    following: cython.int[::1],
    path: cython.int[::1],
    unfinished: cython.int[::1],
    out: cython.int[::1],
) -> None:
    """Number the strongly connected components (Tarjan) of the vertices that `out` has as UNNUMBERED; SKIPPED ones are not gone through.

    `index` (when a vertex was seen, 0: not yet), `lowest` (the earliest one it reaches), `following` (its next edge) and the stacks `path`
    and `unfinished` have a cell per vertex; `index` comes with zeros.
    """
    with cython.nogil:
        depth: cython.Py_ssize_t = 0
        open_: cython.Py_ssize_t = 0
        seen: cython.int = 0
        number: cython.int = 0
        for root in range(len(out)):
            if out[root] != UNNUMBERED or index[root] != 0:
                continue
            w: cython.int = root
            while True:
                if w != NONE:
                    seen += 1
                    index[w] = lowest[w] = seen
                    following[w] = first[w] - 1
                    path[depth] = unfinished[open_] = w
                    depth += 1
                    open_ += 1
                v = path[depth - 1]
                w = NONE
                if following[v] < first[v + 1]:
                    if following[v] >= first[v]:
                        w = target[edge[following[v]]]
                    elif chained[v]:
                        w = v + 1
                    following[v] += 1
                    if w != NONE and (out[w] != UNNUMBERED or index[w] != 0):
                        if out[w] == UNNUMBERED and index[w] < lowest[v]:
                            lowest[v] = index[w]
                        w = NONE
                    continue
                depth -= 1
                if depth > 0 and lowest[v] < lowest[path[depth - 1]]:
                    lowest[path[depth - 1]] = lowest[v]
                if lowest[v] == index[v]:
                    while w != v:
                        open_ -= 1
                        w = unfinished[open_]
                        out[w] = number
                    number += 1
                    w = NONE
                if depth == 0:
                    break


def lead_in(
    vertex: cython.const[cython.int][::1],
    position: cython.const[cython.int][::1],
    chained: cython.const[cython.uchar][::1],
    origin: cython.const[cython.int][::1],
    target: cython.const[cython.int][::1],
    cursor: cython.int[::1],
    source: cython.int[::1],
    edge: cython.int[::1],
) -> None:
    """Fill `source` and `edge` (row of the listed edges, CHAINED for a chain edge) by the position they lead into, the chain edge first.

    `cursor`, where the edges into each position begin, moves to their end.
    """
    with cython.nogil:
        for p in range(len(vertex)):
            v = vertex[p]
            if v > 0 and chained[v - 1]:
                source[cursor[p]] = position[v - 1]
                edge[cursor[p]] = CHAINED
                cursor[p] += 1
        for k in range(len(target)):
            p = position[target[k]]
            source[cursor[p]] = position[origin[k]]
            edge[cursor[p]] = k
            cursor[p] += 1
