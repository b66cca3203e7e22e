"""The likely algorithm of a collective, and what it costs under the letters of a model if all enter together.

Which algorithm a library took is not recorded. Likely is MPICH's choice, unless the collective costs something else and just what that of
Open MPI would: both of `algorithms.decisions`. What it costs is the longest way through its shape (`algorithms.routines`), the same way
under all models. Processes are taken to lie on the nodes in the order of their ranks, as many on each; a root is the first.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from perwiz.errors import ModelError
from perwiz.kernels.names import ACROSS, METAHOST, NODE
from perwiz.loggps.algorithms import decisions
from perwiz.loggps.algorithms.edges import costs, length
from perwiz.loggps.algorithms.routines import ALGORITHMS, KIN
from perwiz.loggps.algorithms.shape import EXCHANGE, FARTHEST, MESSAGE, RECEIVE, Edges, Shape
from perwiz.loggps.keys import POSTED
from perwiz.loggps.model import Model, Sent
from perwiz.loggps.smpi.linear import trips
from perwiz.trace import operations
from perwiz.trace.arrays import F8, I8, U1, U2, Ints, Mask

_LONGEST = 2.0**53
_SAME, _NEAR = 0.05, 0.1
"""Parts by which a cost may miss what the likely algorithm and what another one takes."""
_LARGE = 1 << 20
"""Bytes of each process's part of which the parts of messages are found."""
_WHOLE = 1e-6
"""Of a byte: a number of bytes that is as near below a whole one is meant as that one."""
_INTO = 3
"""Edges into a vertex of a round, at most: what the process has to do, what it receives, who holds what it sends."""


class Collectives(NamedTuple):
    """Collectives alike, one kind per row."""

    op: U2
    """Row of OPS."""
    processes: I8
    size: I8
    """Bytes, as `instances.sizes` counts them."""
    nodes: I8
    """On how many nodes the processes are."""
    metahosts: I8

    def take(self, rows: Mask | I8) -> Collectives:
        """Return some of the rows."""
        return Collectives(self.op[rows], self.processes[rows], self.size[rows], self.nodes[rows], self.metahosts[rows])


_WAYS = [(routine, algorithm) for routine, known in ALGORITHMS.items() for algorithm in known]
"""Algorithms by number."""
_NUMBER = {way: number for number, way in enumerate(_WAYS)}


_OF_GROUPS = {"dist_broadcast": "bcast", "dist_reduce_scatter": "reduce_scatter"}
"""What process groups do as routines of MPI, where the name is not the same."""


def _routines() -> list[str]:
    """Return per op the routine, blocking or not, whose algorithms it has; empty for what makes communicators and such."""
    names = [*ALGORITHMS, *KIN]
    of = {f"MPI_{form}": name for name in names for form in (name.capitalize(), f"I{name}")}
    of |= {op: name for op in np.array(operations.OPS)[operations.DIST] if (name := _OF_GROUPS.get(op, op[5:].replace("_", ""))) in names}
    return [of.get(name, "") for name in operations.OPS]


_ROUTINE = _routines()
MOVES = np.array([routine != "" for routine in _ROUTINE])
"""Per op: a collective that synchronises or moves data alone. The others make communicators or windows, and end MPI: mostly other work."""


def numbered(routine: str, algorithm: str) -> int:
    """Return the number of an algorithm of a routine of ALGORITHMS."""
    return _NUMBER[routine, algorithm]


def words(number: int) -> str:
    """Return the name of an algorithm, as `choose` numbers them, such as recursive-doubling."""
    return _WAYS[number][1]


def way(number: int) -> tuple[str, str]:
    """Return the routine of ALGORITHMS and the algorithm that a number of `choose` stands for."""
    return _WAYS[number]


def usual(asked: Collectives, library: str = "MPICH") -> I8:
    """Return a library's choice per row, the number of an algorithm; what makes communicators and such agrees as a barrier does."""
    rows = zip(asked.op.tolist(), asked.processes.tolist(), asked.size.tolist(), strict=True)
    return np.array([_usual(library, _ROUTINE[op] or "barrier", max(processes, 2), size) for op, processes, size in rows], "i8")


@functools.lru_cache(maxsize=4096)
def _usual(library: str, routine: str, processes: int, size: int) -> int:
    return numbered(KIN.get(routine, routine), decisions.choice(library, routine, processes, size))


def choose(model: Model, asked: Collectives, fitted: F8) -> I8:
    """Return the likely algorithm per row, a number, given what the collectives were found to cost, ns, nan where that is not known.

    It is MPICH's choice, unless that misses the cost by more than 5 % and Open MPI's is within 10 %, and nearer.
    Less than MPICH's choice tells nothing where there is a root: it may be that nobody has waited for the whole tree.
    """
    out, other = usual(asked), usual(asked, "Open MPI")
    rows = np.flatnonzero((fitted > 0) & (out != other))
    if len(rows):
        several, fitted = asked.take(rows), fitted[rows]
        common = cost(model, several, out[rows])
        off = np.where(operations.ROOTED[several.op] & (fitted < common), 0, _off(common, fitted))
        nearer = _off(cost(model, several, other[rows]), fitted) < np.where(off <= _SAME, 0.0, np.minimum(off, _NEAR))
        out[rows[nearer]] = other[rows[nearer]]
    return out


def _off(found: I8, fitted: F8) -> F8:
    """Return by which part costs miss another, symmetric: infinite where one is 0 or not known."""
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.maximum(found / fitted, fitted / found) - 1
    return np.where(np.isnan(off), np.inf, off)


def cost(model: Model, asked: Collectives, chosen: I8) -> I8:
    """Return the ns of collectives by these algorithms under the letters of a model, int64; 0 alone, and where it is none.

    Where messages move once posted, the algorithms are those of `smpi.linear`. Raises ModelError when that is beyond 2^53.
    """
    out = np.zeros(len(asked.op))
    costly = np.flatnonzero((asked.processes > 1) & operations.COLLECTIVE[asked.op])
    if len(costly):
        some = asked.take(costly)
        out[costly] = _linear(model, some) if model.progress == POSTED else _played(model, some, chosen[costly])
    return _rounded(out)


def at_most(model: Model, asked: Collectives) -> I8:
    """Return the ns of the longest that collectives are made of messages: each process sends all bytes to the next. As `cost`."""
    if model.progress == POSTED:
        return cost(model, asked, usual(asked))
    costly = (asked.processes > 1) & operations.COLLECTIVE[asked.op]
    kind = np.full(len(asked.op), MESSAGE)
    return _rounded(
        np.where(costly, (asked.processes - 1) * costs(model, kind, asked.size, _pairs(asked.nodes > 1, asked.metahosts > 1)), 0)
    )


def _rounded(ns: F8) -> I8:
    if (ns > _LONGEST).any():
        raise ModelError(f"a collective would cost {ns.max():.3g} ns, must be at most 2^53")
    return np.rint(ns).astype("i8")


def _linear(model: Model, asked: Collectives) -> F8:
    """Return the ns of collectives as SMPI makes them."""
    rounds, message, moved = trips(asked.op, asked.processes, asked.size)
    row = model.letters(Sent(message, pairs=_pairs(asked.nodes > 1, asked.metahosts > 1)))
    return np.asarray(rounds * (row.o_s + row.o_r + row.L) + moved * row.G)


def _pairs(between: Mask, across: Mask) -> U1:
    """Return the class of pairs per row."""
    return np.where(across, ACROSS, np.where(between, METAHOST, NODE)).astype("u1")


def _played(model: Model, asked: Collectives, chosen: I8) -> F8:
    """Return the ns of collectives of several processes by these algorithms: the sum along their longest ways."""
    ways = _ways(asked, chosen)
    of_edges = [np.broadcast_to(column[:, None], size.shape) for way, _, size in ways for column in (way.cost, way.pairs)]
    what, pairs = (np.concatenate([column.ravel() for column in of_edges[k::2]]) for k in (0, 1))
    size = np.concatenate([size.ravel() for _, _, size in ways])
    ns = costs(model, what, size, pairs)
    out, first = np.zeros(len(asked.op)), 0
    for way, of, sizes in ways:
        end = first + sizes.size
        out[of] = way.times @ ns[first:end].reshape(sizes.shape)
        first = end
    return out


def _ways(asked: Collectives, chosen: I8) -> list[tuple[_Way, I8, I8]]:
    """Return the longest ways of collectives of several processes: each with the rows of `asked` that take it, and bytes (edge, row)."""
    alike, kind = np.unique(np.stack((chosen, asked.processes, asked.nodes, asked.metahosts), 1), axis=0, return_inverse=True)
    rows = [np.flatnonzero(kind.ravel() == number) for number in range(len(alike))]
    ways = [_together(*_WAYS[number], *places) for number, *places in alike.tolist()]
    return [(way, of, np.floor(way.part[:, None] * asked.size[of] + _WHOLE).astype("i8")) for way, of in zip(ways, rows, strict=True)]


class Sums(NamedTuple):
    """What collectives cost by their algorithms, whatever the letters of the model: sums of edges, those of a row one after the other."""

    row: I8
    """Per edge."""
    times: I8
    what: I8
    """MESSAGE to FREE."""
    size: I8
    """Bytes."""
    pairs: U1


def sums(asked: Collectives, chosen: I8) -> Sums:
    """Return what `cost` adds up, where messages do not move once posted."""
    costly = np.flatnonzero((asked.processes > 1) & operations.COLLECTIVE[asked.op])
    ways = _ways(asked.take(costly), chosen[costly]) if len(costly) else []
    row = np.concatenate([np.tile(costly[of], len(way.part)) for way, of, _ in ways] or [costly])
    order = np.argsort(row, kind="stable")

    def column(number: int) -> I8:
        none = np.empty(0, "i8")
        return np.concatenate([none, *(np.repeat(way[number], len(of)) for way, of, _ in ways)])[order].astype("i8")

    size = np.concatenate([np.empty(0, "i8"), *(sizes.ravel() for _, _, sizes in ways)])[order]
    what, times, pairs = (column(_Way._fields.index(name)) for name in ("cost", "times", "pairs"))
    return Sums(row[order], times, what, size, pairs.astype("u1"))


class _Way(NamedTuple):
    """The longest way through an algorithm whose processes all enter together: edges that cost the same are one row."""

    cost: I8
    """As of a shape, and so are the others."""
    times: I8
    part: F8
    """Bytes, as a part of all."""
    pairs: U1


class _Merged(Shape):
    """A shape whose processes enter together: those to which the same happens are one vertex. Of a ring the last exit alone is right."""

    def __init__(self, processes: int, nodes: int, metahosts: int) -> None:
        super().__init__(processes)
        self.now = np.zeros(processes, "i8")
        self.vertices = 1
        self._places = nodes, metahosts

    def pairs(self, edges: Edges) -> U1:
        """Return the class of pairs per edge; processes lie on nodes in their order."""
        far = edges.sender == FARTHEST
        between, across = (
            np.where(far, count > 1, edges.sender * count // self.processes != edges.receiver * count // self.processes)
            for count in self._places
        )
        return _pairs(between, across)

    def send(self, sender: Ints | list[int], receiver: Ints | list[int], size: Ints | int, take: int = RECEIVE) -> None:
        """Add a round."""
        if len(sender) == 1:
            return super().send(sender, receiver, size, take)
        of = self.processes
        alone = Shape(of)
        alone.send(sender, receiver, size, take)
        edges = alone.edges()
        into = edges.target - of
        rows = np.full((alone.vertices - of, _INTO, 5), -1, "i8")
        rank = np.arange(len(into)) - np.searchsorted(into, np.arange(len(rows)))[into]
        columns = self.now[edges.source], edges.cost, edges.times, edges.bytes, self.pairs(edges)
        rows[into, rank] = np.stack(columns, 1)
        _, first, same = np.unique(rows.reshape(len(rows), -1), axis=0, return_index=True, return_inverse=True)
        made = self._made(len(first))[same.ravel()]
        kept = np.isin(into, first)
        self._add(columns[0][kept], made[into[kept]], *(column[kept] for column in edges[2:]))
        takes = alone.now >= of
        self.now[takes] = made[alone.now[takes] - of]
        return None

    def ring(self, size: int) -> None:
        """Add rounds around a ring."""
        self.all_wait([(MESSAGE, self.processes - 1, size)], size, 0)

    def all_wait(self, rounds: list[tuple[int, int, int]], size: int, own: int, cost: int = EXCHANGE) -> None:
        """Add rounds after which all have waited for all."""
        entry = np.unique(self.now)
        alone = Shape(len(entry))
        alone.all_wait(rounds, size, own, cost)
        place = np.concatenate([entry, self._made(alone.vertices - len(entry))])
        edges = alone.edges()
        self._add(place[edges.source], place[edges.target], *edges[2:])
        self.now = place[alone.now[np.searchsorted(entry, self.now)]]


@functools.lru_cache(maxsize=1024)
def _together(routine: str, algorithm: str, processes: int, nodes: int, metahosts: int) -> _Way:
    """Return the longest way, the last exit at its end, by the measure of `edges.length`."""
    shape, size = _Merged(processes, nodes, metahosts), processes * _LARGE
    ALGORITHMS[routine][algorithm].play(shape, size, 0)
    edges = shape.edges()
    pairs = shape.pairs(edges)
    columns = np.stack((edges.cost, edges.bytes, pairs, edges.times), 1)
    ns = (length(edges.cost, edges.bytes / size, pairs) * edges.times).tolist()
    until, back = [0.0] + [-np.inf] * (shape.vertices - 1), [-1] * shape.vertices
    for edge, (source, target) in enumerate(zip(edges.source.tolist(), edges.target.tolist(), strict=True)):
        if until[source] + ns[edge] > until[target]:
            until[target], back[target] = until[source] + ns[edge], edge
    way, vertex = [], int(np.argmax(until))
    while vertex:
        way.append(back[vertex])
        vertex = int(edges.source[back[vertex]])
    alike, row = np.unique(columns[way][:, :3], axis=0, return_inverse=True)
    times = np.bincount(row.ravel(), columns[way][:, 3], len(alike)).astype("i8")
    return _Way(alike[:, 0], times, alike[:, 1] / size, alike[:, 2].astype("u1"))
