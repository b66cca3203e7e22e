"""The likely algorithm of a collective, and what its rounds cost under the letters of a model.

Which algorithm a library took is not recorded. Likely is MPICH's choice by routine, processes and bytes, with its thresholds (Thakur,
Rabenseifner, Gropp, Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1), 2005; MPICH 4, src/mpi/coll), unless
the collective costs something else and just what another algorithm of the routine would. A round is a message between two processes
that wait for each other. Rounds go from near to far: where processes are on several nodes the last ceil(log2 nodes) of a tree go
between nodes, and each step of a ring or of an exchange of all with all waits for its slowest, which does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from perwiz.errors import ModelError
from perwiz.kernels.names import ACROSS, METAHOST, NODE
from perwiz.loggps.keys import POSTED
from perwiz.loggps.model import Model, Sent
from perwiz.loggps.smpi.linear import trips
from perwiz.trace import operations
from perwiz.trace.arrays import F8, I8, U1, U2, Mask
from perwiz.trace.tables import BUFFERED

_LONGEST = 2.0**53
_SAME, _NEAR = 0.05, 0.1
"""Parts by which a cost may miss what the likely algorithm and what another one takes."""


@dataclasses.dataclass(frozen=True)
class Algorithm:
    """How often the processes send what. A tree has ceil(log2 processes) rounds, round j to a process 2^j away; n are all bytes."""

    words: str
    """Names the rounds: {tree} in a tree, {others} one for each other process."""
    empty: int = 0
    """Trees that send nothing but the fact."""
    whole: int = 0
    """Trees that send n in each round."""
    half: int = 0
    """Trees that send n / 2 in each round."""
    growing: int = 0
    """Trees that send 2^j parts of n / processes."""
    shrinking: int = 0
    """Trees that send n / 2^(j + 1)."""
    steps: int = 0
    """Rounds for each other process, of n / processes."""
    at_once: bool = False
    """A part of n / processes for each other process, all posted at once: each but the first costs its overheads and bytes alone."""
    chain: int = 0
    """Rounds for each other process, of n."""
    folded: int = 0
    """Rounds of n more where processes are no power of two; the tree is then of the next smaller one."""


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

    @property
    def part(self) -> I8:
        """Return the bytes of each process's part."""
        return self.size // np.maximum(self.processes, 1)

    @property
    def even(self) -> Mask:
        """Return where the processes are a power of two."""
        return self.processes & (self.processes - 1) == 0

    def take(self, rows: Mask | I8) -> Collectives:
        """Return some of the rows."""
        return Collectives(self.op[rows], self.processes[rows], self.size[rows], self.nodes[rows], self.metahosts[rows])


_DISSEMINATION = Algorithm("{tree} of dissemination", empty=1)
_TREE = Algorithm("{tree} along a binomial tree", whole=1)
_PARTS = Algorithm("{tree} along a binomial tree, each of twice the parts", growing=1)
_SCATTER_DOUBLING = Algorithm("{tree} of scatter, {tree} of recursive doubling", growing=2)
_SCATTER_RING = Algorithm("{tree} of scatter, {others} around a ring", growing=1, steps=1)
_SCATTER_BACK = Algorithm("{tree} of reduce-scatter, {tree} of gather", shrinking=2, folded=1)
_DOUBLING = Algorithm("{tree} of recursive doubling", whole=1, folded=2)
_SCAN = Algorithm("{tree} of recursive doubling", whole=1)
_REDUCE_SCATTER = Algorithm("{tree} of reduce-scatter, {tree} of allgather", shrinking=2, folded=2)
_DOUBLED_PARTS = Algorithm("{tree} of recursive doubling, each of twice the parts", growing=1)
_RING = Algorithm("{others} around a ring", steps=1)
_HALVING = Algorithm("{tree} of recursive halving", growing=1)
_BRUCK = Algorithm("{tree} of Bruck's exchange, each of half the bytes", half=1)
_AT_ONCE = Algorithm("messages with all others at once", at_once=True)
_PAIRS = Algorithm("{others} of exchanges in pairs", steps=1)
_ONE_BY_ONE = Algorithm("messages with all others one by one", steps=1)
_CHAIN = Algorithm("{others} along a chain", chain=1)


def _always(asked: Collectives) -> Mask:
    return np.ones(len(asked.op), bool)


def _never(asked: Collectives) -> Mask:
    return np.zeros(len(asked.op), bool)


_Choices = tuple[tuple[Algorithm, Callable[[Collectives], Mask]], ...]
_OF: dict[str, _Choices] = {
    "Barrier": ((_DISSEMINATION, _always),),
    "Bcast": (
        (_TREE, lambda asked: (asked.size < 12288) | (asked.processes < 8)),
        (_SCATTER_DOUBLING, lambda asked: (asked.size < 524288) & asked.even),
        (_SCATTER_RING, _always),
    ),
    "Reduce": ((_TREE, lambda asked: asked.size <= 2048), (_SCATTER_BACK, _always)),
    "Allreduce": ((_DOUBLING, lambda asked: asked.size <= 2048), (_REDUCE_SCATTER, _always)),
    "Allgather Allgatherv": (
        (_DOUBLED_PARTS, lambda asked: (asked.size < 81920) | ((asked.size < 524288) & asked.even)),
        (_RING, _always),
    ),
    "Alltoall": (
        (_BRUCK, lambda asked: (asked.part <= 256) & (asked.processes >= 8)),
        (_AT_ONCE, lambda asked: asked.part <= 32768),
        (_PAIRS, _always),
    ),
    "Alltoallv Alltoallw Gatherv Scatterv": ((_AT_ONCE, _always), (_ONE_BY_ONE, _never)),
    "Gather Scatter": ((_PARTS, _always),),
    "Reduce_scatter Reduce_scatter_block": ((_HALVING, lambda asked: asked.size < 524288), (_PAIRS, _always)),
    "Scan Exscan": ((_SCAN, _always), (_CHAIN, _never)),
}
"""Per routine, non-blocking ones likewise, the algorithms and when MPICH takes them: the first that holds."""


def _rows(names: str) -> list[int]:
    """Return the ops of routines and of their non-blocking kin."""
    return [operations.OP[f"MPI_{kin}"] for name in names.split() for kin in (name, f"I{name.lower()}")]


_CHOICES: tuple[tuple[list[int], _Choices], ...] = tuple((_rows(names), choices) for names, choices in _OF.items())
MOVES = np.isin(np.arange(len(operations.OPS)), [op for ops, _ in _CHOICES for op in ops])
"""Per op: a collective that synchronises or moves data alone. The others make communicators or windows, and end MPI: mostly other work."""


_ROOTED = (operations.KIND == operations.ONE_TO_N) | (operations.KIND == operations.N_TO_ONE)
_ALGORITHMS = [algorithm for _, choices in _CHOICES for algorithm, _ in choices]


def words(number: int, processes: int) -> str:
    """Return an algorithm (as `choose` numbers them) in words, such as "3 rounds of recursive doubling"."""
    algorithm, one = _ALGORITHMS[number], np.ones(1, "i8")
    asked = Collectives(np.zeros(1, "u1"), processes * one, 0 * one, one, one)
    text = algorithm.words.format(tree=_several(int(_levels(algorithm, asked)[0])), others=_several(processes - 1))
    return text if asked.even[0] or not algorithm.folded else f"{text}, {algorithm.folded} more as {processes} is no power of 2"


def _several(rounds: int) -> str:
    return f"{rounds} round{'s' * (rounds != 1)}"


def usual(asked: Collectives) -> I8:
    """Return MPICH's choice per row, the number of an algorithm; what makes communicators and such agrees as a barrier does."""
    out, number = np.zeros(len(asked.op), "i8"), 0
    for ops, choices in _CHOICES:
        left = np.isin(asked.op, ops)
        for _, holds in choices:
            out[left & holds(asked)] = number
            left &= ~holds(asked)
            number += 1
    return out


def choose(model: Model, asked: Collectives, fitted: F8) -> I8:
    """Return the likely algorithm per row, a number, given what the collectives were found to cost, ns, nan where that is not known.

    It is MPICH's choice, unless that misses the cost by more than 5 % and another is within 10 %: then the nearest.
    Less than MPICH's choice tells nothing where there is a root: it may be that nobody has waited for the whole tree.
    """
    out, number = usual(asked), 0
    common = cost(model, asked, out)
    off = np.where(_ROOTED[asked.op] & (fitted < common), 0, _off(common, fitted))
    best = np.where(off <= _SAME, 0.0, np.minimum(off, _NEAR))
    for ops, choices in _CHOICES:
        of = np.flatnonzero(np.isin(asked.op, ops))
        for _ in choices:
            other = _off(cost(model, asked.take(of), np.full(len(of), number)), fitted[of])
            nearer = of[other < best[of]]
            best[nearer] = other[other < best[of]]
            out[nearer] = number
            number += 1
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
    costly = (asked.processes > 1) & operations.COLLECTIVE[asked.op]
    if model.progress == POSTED:
        out[costly] = _linear(model, asked.take(costly))
        chosen = chosen[:0]
    for number in np.unique(chosen).tolist():
        of = (chosen == number) & costly
        if of.any():
            out[of] = _cost(_ALGORITHMS[number], model, asked.take(of))
    if (out > _LONGEST).any():
        raise ModelError(f"a collective would cost {out.max():.3g} ns, must be at most 2^53")
    return np.rint(out).astype("i8")


def at_most(model: Model, asked: Collectives) -> I8:
    """Return the ns of the longest that collectives are made of messages: each process sends all bytes to the next. As `cost`."""
    return cost(model, asked, np.full(len(asked.op), _ALGORITHMS.index(_CHAIN)))


def _linear(model: Model, asked: Collectives) -> F8:
    """Return the ns of collectives as SMPI makes them."""
    rounds, message, moved = trips(asked.op, asked.processes, asked.size)
    costs = model.letters(Sent(message, pairs=_pairs(asked.nodes > 1, asked.metahosts > 1)))
    return np.asarray(rounds * (costs.o_s + costs.o_r + costs.L) + moved * costs.G)


def _levels(algorithm: Algorithm, asked: Collectives) -> I8:
    """Return the rounds of a tree."""
    up = _log2(asked.processes)
    return up - ~asked.even if algorithm.folded else up


def _log2(number: I8) -> I8:
    """Return the base 2 logarithm, rounded up."""
    return np.frexp(number - 1.0)[1].astype("i8") * (number > 1)


def _cost(algorithm: Algorithm, model: Model, asked: Collectives) -> F8:
    levels, size, part = _levels(algorithm, asked), asked.size, asked.part
    between, across = levels - _log2(asked.nodes), levels - _log2(asked.metahosts)
    farthest = _pairs(asked.nodes > 1, asked.metahosts > 1)
    out = np.zeros(len(size))
    for j in range(int(levels.max())):
        pairs = _pairs(j >= between, j >= across)
        grown = part * np.clip(asked.processes - (1 << j), 0, 1 << j)
        for trees, sent in (
            (algorithm.empty, 0 * size),
            (algorithm.whole, size),
            (algorithm.half, size // 2),
            (algorithm.growing, grown),
            (algorithm.shrinking, size >> (j + 1)),
        ):
            if trees:
                out += trees * np.where(j < levels, _message(model, sent, pairs), 0)
    if algorithm.steps:
        out += algorithm.steps * (asked.processes - 1) * _message(model, part, farthest)
    if algorithm.chain:
        out += algorithm.chain * (asked.processes - 1) * _message(model, size, farthest)
    if algorithm.at_once:
        out += _message(model, part, farthest) + (asked.processes - 2) * _following(model, part, farthest)
    if algorithm.folded:
        out += np.where(asked.even, 0, algorithm.folded * _message(model, size, _pairs(asked.nodes < 0, asked.nodes < 0)))
    return out


def _pairs(between: Mask, across: Mask) -> U1:
    """Return the class of pairs per row."""
    return np.where(across, ACROSS, np.where(between, METAHOST, NODE)).astype("u1")


def _message(model: Model, size: I8, pairs: U1) -> I8:
    """Return the ns of a message between two processes that wait for each other, until the receiver goes on."""
    sent = Sent(size, pairs=pairs)
    return model.ready(sent) + model.receive_work(sent)


def _following(model: Model, size: I8, pairs: U1) -> I8:
    """Return the ns that one more message takes in a row of such: its overheads and its bytes."""
    alone, empty = (Sent(k, BUFFERED, pairs=pairs) for k in (size, 0 * size))
    bytes_alone = model.ready(alone) + model.receive_work(alone) - model.ready(empty) - model.receive_work(empty)
    return bytes_alone + sum(model.post_work(empty))
