"""The algorithms of each routine, as the libraries have them: what is sent in which round.

Sources: Thakur, Rabenseifner, Gropp, Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1), 2005 (binomial,
recursive doubling, Rabenseifner, Bruck, ring, scatter and allgather); Pjesivac-Grbovic et al., Performance analysis of MPI collective
operations, Cluster Computing 10, 2007 (linear, chain, binary, split binary, segments, in Open MPI). Processes are counted from the root.
What a reduction computes costs nothing here: it is the same work in all.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np

from perwiz.loggps.algorithms.shape import EXCHANGE, MESSAGE, PASS, SEND, TAKE, EachMessage, Shape
from perwiz.trace.arrays import I8

NUMBER = 8
"""Bytes that a number is taken to have."""
RADIX = 4
"""Of a k-nomial tree, as Open MPI has it."""


class NotSuited(Exception):
    """Says what processes an algorithm needs."""


@dataclasses.dataclass(frozen=True)
class Algorithm:
    """One algorithm of a routine: `play` adds its rounds to a shape, for so many bytes and segments of at most so many, 0 for one."""

    play: Callable[[Shape, int, int], None]
    segments: bool = False
    """Whether it may cut what it sends into segments that follow one another down a tree."""


def known(routine: str, smpi: bool = True) -> dict[str, Algorithm]:
    """Return the algorithms of a routine of ALGORITHMS, with those of SMPI alone or without."""
    return {**ALGORITHMS[routine], **(OF_SMPI.get(routine, {}) if smpi else {})}


@functools.lru_cache(maxsize=256)
def shape_of(routine: str, algorithm: str, processes: int, size: int, segment: int = 0) -> Shape:
    """Return the shape of a routine of ALGORITHMS by an algorithm; `size` as `instances.sizes` counts bytes. Raises NotSuited."""
    shape = Shape(processes)
    known(routine)[algorithm].play(shape, size, segment)
    return shape


@functools.lru_cache(maxsize=64)
def each_message(routine: str, algorithm: str, processes: int, size: int, segment: int = 0) -> EachMessage:
    """Return the same shape with each message in it; of segments the first of each, as others follow it as on a link of their own."""
    shape = EachMessage(processes)
    known(routine)[algorithm].play(shape, size, segment)
    return shape


# Trees: rounds of (senders, receivers, processes below each receiver and it), from the root down.

_Round = tuple[I8, I8, I8]


def _binomial(processes: int, radix: int = 2) -> Iterator[_Round]:
    """Yield the rounds of a binomial tree, the farthest first: of 6 processes 0>4, 0>2 4>6(none), 0>1 2>3 4>5."""
    step = 1
    while step < processes:
        step *= radix
    while step > 1:
        step //= radix
        parents = np.arange(0, processes, step * radix, dtype="i8")
        for child in range(1, radix):
            to = parents + child * step
            there = to < processes
            yield parents[there], to[there], np.minimum(step, processes - to[there])


def _binary(processes: int) -> Iterator[_Round]:
    """Yield the rounds of a binary tree: process r sends to 2r + 1, then to 2r + 2."""
    first, count = 0, 1
    while 2 * first + 1 < processes:
        parents = np.arange(first, first + count, dtype="i8")
        for child in (1, 2):
            to = 2 * parents + child
            there = to < processes
            yield parents[there], to[there], np.ones(int(there.sum()), "i8")
        first, count = 2 * first + 1, 2 * count


def _chain(processes: int) -> Iterator[_Round]:
    for k in range(1, processes):
        yield np.array([k - 1]), np.array([k]), np.array([processes - k])


def _star(processes: int) -> Iterator[_Round]:
    for k in range(1, processes):
        yield np.array([0]), np.array([k]), np.array([1])


_Tree = Callable[[int], Iterator[_Round]]


def _down(shape: Shape, tree: _Tree, size: int, part: int = 0) -> None:
    """Send down a tree `size` bytes in each message, or `part` for each process from the receiver on."""
    for parents, children, below in tree(shape.processes):
        if len(parents):
            shape.send(parents, children, below * part if part else size)


def _up(shape: Shape, tree: _Tree, size: int, part: int = 0) -> None:
    for parents, children, below in reversed(list(tree(shape.processes))):
        if len(parents):
            shape.send(children, parents, below * part if part else size)


def _tree(tree: _Tree, fan: int = 0, up: bool = False) -> Algorithm:
    """Return the algorithm along a tree; with segments if each process has at most `fan` below it, not 0."""

    def play(shape: Shape, size: int, segment: int) -> None:
        one = min(segment or size, size)
        several = -(-size // one) if one else 1
        (_up if up else _down)(shape, tree, one)
        if several > 1:
            _follow(shape, several - 1, one, fan, up)

    return Algorithm(play, segments=fan > 0)


def _follow(shape: Shape, several: int, size: int, fan: int, up: bool) -> None:
    """Let more segments follow the first: each takes as long as the process that has most to do with it."""
    below = np.arange(1, shape.processes, dtype="i8")
    shape.works(below, EXCHANGE, several, size)
    shape.works(np.array([0]), EXCHANGE if up else SEND, several * (1 if up else fan), size)
    if fan > 1:
        shape.works(below if not up else np.arange(shape.processes, dtype="i8"), SEND, several * (fan - 1), size)


# Exchanges


def _even(processes: int) -> int:
    """Return the largest power of two that is not more."""
    return 1 << (processes.bit_length() - 1)


def _folded(shape: Shape, size: int) -> I8:
    """Let the processes beyond a power of two hand what they have to a neighbour; return the others."""
    more = shape.processes - _even(shape.processes)
    if more:
        shape.send(np.arange(0, 2 * more, 2), np.arange(1, 2 * more, 2), size)
    return np.concatenate([np.arange(1, 2 * more, 2), np.arange(2 * more, shape.processes)]).astype("i8")


def _unfolded(shape: Shape, size: int) -> None:
    more = shape.processes - _even(shape.processes)
    if more:
        shape.send(np.arange(1, 2 * more, 2), np.arange(0, 2 * more, 2), size)


def _swap(shape: Shape, of: I8, apart: int, size: int) -> None:
    """Let some processes exchange `size` bytes in pairs that are so many places apart."""
    place = np.arange(len(of))
    shape.send(of, of[place ^ apart], size)


def _powers(count: int) -> list[int]:
    return [1 << j for j in range(max(count - 1, 0).bit_length())]


def _halving(shape: Shape, of: I8, size: int) -> None:
    for j, apart in enumerate(_powers(len(of)), 1):
        _swap(shape, of, apart, size >> j)


def _doubling(shape: Shape, of: I8, size: int) -> None:
    for j, apart in reversed(list(enumerate(_powers(len(of)), 1))):
        _swap(shape, of, apart, size >> j)


def _allreduce_doubling(shape: Shape, size: int, _: int) -> None:
    of = _folded(shape, size)
    for apart in _powers(len(of)):
        _swap(shape, of, apart, size)
    _unfolded(shape, size)


def _rabenseifner(shape: Shape, size: int, _: int) -> None:
    of = _folded(shape, size)
    _halving(shape, of, size)
    _doubling(shape, of, size)
    _unfolded(shape, size)


def _reduce_rabenseifner(shape: Shape, size: int, _: int) -> None:
    """Reduce-scatter, then gather along a binomial tree."""
    of = _folded(shape, size)
    _halving(shape, of, size)
    for j, apart in reversed(list(enumerate(_powers(len(of)), 1))):
        shape.send(of[apart : 2 * apart], of[:apart], size >> j)
    if shape.processes > len(of):
        shape.send([1], [0], size)


def _scatter_then(ring: bool) -> Algorithm:
    def play(shape: Shape, size: int, _: int) -> None:
        part = -(-size // shape.processes)
        _down(shape, _binomial, 0, part)
        if ring:
            shape.ring(part)
        else:
            _spread(shape, part)

    return Algorithm(play)


def _reduce_scatter_halving(shape: Shape, size: int, _: int) -> None:
    of = _folded(shape, size)
    _halving(shape, of, size)
    _unfolded(shape, size // shape.processes)


def _scan_doubling(shape: Shape, size: int, _: int) -> None:
    """Each exchanges what it has with a process 2^j places away, who has one."""
    place = np.arange(shape.processes, dtype="i8")
    for apart in _powers(shape.processes):
        there = place[place ^ apart < shape.processes]
        shape.send(there, there ^ apart, size)


def _spread(shape: Shape, part: int) -> None:
    """Let each get the parts of all by recursive doubling."""
    if shape.processes != _even(shape.processes):
        raise NotSuited("a power of two")
    of = np.arange(shape.processes, dtype="i8")
    for apart in _powers(shape.processes):
        _swap(shape, of, apart, part * apart)


def _shifts(shape: Shape, sizes: list[int]) -> None:
    """Let each send to the one 2^j places before it in round j."""
    place = np.arange(shape.processes, dtype="i8")
    for j, size in enumerate(sizes):
        shape.send(place, (place - (1 << j)) % shape.processes, size)


def _bruck(shape: Shape, size: int, _: int) -> None:
    p, part = shape.processes, size // shape.processes
    _shifts(shape, [min(step, p - step) * part for step in _powers(p)])


def _alltoall_bruck(shape: Shape, size: int, _: int) -> None:
    """In round j go the parts for those whose distance has bit j."""
    p, place = shape.processes, np.arange(shape.processes)
    _shifts(shape, [int((place & step > 0).sum()) * (size // p) for step in _powers(p)])


def _dissemination(shape: Shape, _size: int, _: int) -> None:
    _shifts(shape, [0 for _ in _powers(shape.processes)])


def _double_ring(shape: Shape, _size: int, _: int) -> None:
    """A token goes around twice, and stops where it came from."""
    p = shape.processes
    for k in range(2 * p):
        shape.send([k % p], [(k + 1) % p], 0)


def _ring(shape: Shape, size: int, _: int) -> None:
    shape.ring(size // shape.processes)


def _allreduce_ring(shape: Shape, size: int, _: int) -> None:
    """Of fewer numbers than processes libraries make recursive doubling instead."""
    if size < NUMBER * shape.processes:
        return _allreduce_doubling(shape, size, 0)
    part = -(-size // shape.processes)
    shape.ring(part)
    shape.ring(part)
    return None


def _neighbours(shape: Shape, size: int, _: int) -> None:
    """Exchanges with the two neighbours in turn, the first of one part, the others of two."""
    p, part = shape.processes, size // shape.processes
    if p % 2:
        raise NotSuited("an even number")
    shape.all_wait([(MESSAGE, 1, part), (MESSAGE, p // 2 - 1, 2 * part)], 2 * part, p // 2)


def _pairwise(shape: Shape, size: int, _: int) -> None:
    p, part = shape.processes, size // shape.processes
    shape.all_wait([(MESSAGE, p - 1, part)], part, p - 1)


def _at_once(shape: Shape, size: int, _: int) -> None:
    p, part = shape.processes, size // shape.processes
    shape.all_wait([(MESSAGE, 1, part), (PASS, p - 2, part)], part, p - 1, PASS)


def _gathered_and_sent(shape: Shape, size: int, _: int) -> None:
    """All to one, one to all."""
    _up(shape, _star, 0, size // shape.processes)
    _from_root(shape, size)


def _reduced_and_sent(tree: _Tree) -> Algorithm:
    def play(shape: Shape, size: int, _: int) -> None:
        _up(shape, tree, size)
        if tree is _star:
            _from_root(shape, size)
        else:
            _down(shape, tree, size)

    return Algorithm(play)


def _barrier_linear(shape: Shape, _size: int, _: int) -> None:
    """One process waits for all, who need not come in turn, and lets all go."""
    for k in range(1, shape.processes):
        shape.send([k], [0], 0, TAKE)
    _down(shape, _star, 0)


def _split_binary(shape: Shape, size: int, segment: int) -> None:
    """Each half of the bytes goes down one half of a binary tree; then the processes of the two exchange halves."""
    half, p = -(-size // 2), shape.processes
    one = min(segment or half, half)
    several = -(-half // one) if one else 1
    _down(shape, _binary, one)
    if several > 1:
        _follow(shape, several - 1, one, 2, up=False)
    left = np.array([k for k in range(1, p) if _side(k) == 1], "i8")
    right = np.array([k for k in range(1, p) if _side(k) == 2], "i8")
    pairs = min(len(left), len(right))
    if pairs:
        one_way, other = np.concatenate([left[:pairs], right[:pairs]]), np.concatenate([right[:pairs], left[:pairs]])
        shape.send(one_way, other, half)
    for k in np.concatenate([left[pairs:], right[pairs:]]).tolist():
        shape.send([0], [k], half)


def _side(process: int) -> int:
    """Return the child of the root that a process of a binary tree is below: 1 or 2."""
    while process > 2:
        process = (process - 1) // 2
    return process


def _to_root(shape: Shape, size: int) -> None:
    """Let all send to one at once, which has posted all receives."""
    others = np.arange(1, shape.processes, dtype="i8")
    shape.at_once(others, np.zeros_like(others), size)


def _from_root(shape: Shape, size: int) -> None:
    """Let one post messages to all others at once."""
    others = np.arange(1, shape.processes, dtype="i8")
    shape.at_once(np.zeros_like(others), others, size)


def _sent_at_once(shape: Shape, size: int, _: int) -> None:
    _from_root(shape, size)


def _reduced_at_once(shape: Shape, size: int, _: int) -> None:
    _to_root(shape, size)


def _gathered_at_once(shape: Shape, size: int, _: int) -> None:
    _to_root(shape, size // shape.processes)


def _allreduced_at_once(shape: Shape, size: int, _: int) -> None:
    """All to one at once, then along a binomial tree."""
    _to_root(shape, size)
    _down(shape, _binomial, size)


def _in_parts(tree: _Tree, up: bool) -> Algorithm:
    def play(shape: Shape, size: int, _: int) -> None:
        (_up if up else _down)(shape, tree, 0, size // shape.processes)

    return Algorithm(play)


def _quartal(processes: int) -> Iterator[_Round]:
    return _binomial(processes, RADIX)


ALGORITHMS: dict[str, dict[str, Algorithm]] = {
    "allreduce": {
        "linear": _reduced_and_sent(_star),
        "reduce-bcast": _reduced_and_sent(_binomial),
        "recursive-doubling": Algorithm(_allreduce_doubling),
        "ring": Algorithm(_allreduce_ring),
        "rabenseifner": Algorithm(_rabenseifner),
    },
    "bcast": {
        "linear": Algorithm(_sent_at_once),
        "chain": _tree(_chain, 1),
        "binary": _tree(_binary, 2),
        "split-binary": Algorithm(_split_binary, segments=True),
        "binomial": _tree(_binomial),
        "knomial": _tree(_quartal),
        "scatter-doubling": _scatter_then(ring=False),
        "scatter-ring": _scatter_then(ring=True),
    },
    "reduce": {
        "linear": _tree(_star, up=True),
        "chain": _tree(_chain, 1, up=True),
        "binary": _tree(_binary, 2, up=True),
        "binomial": _tree(_binomial, up=True),
        "rabenseifner": Algorithm(_reduce_rabenseifner),
    },
    "allgather": {
        "linear": Algorithm(_gathered_and_sent),
        "bruck": Algorithm(_bruck),
        "recursive-doubling": Algorithm(lambda shape, size, _: _spread(shape, size // shape.processes)),
        "ring": Algorithm(_ring),
        "neighbour": Algorithm(_neighbours),
    },
    "alltoall": {
        "linear": Algorithm(_at_once),
        "pairwise": Algorithm(_pairwise),
        "bruck": Algorithm(_alltoall_bruck),
    },
    "barrier": {
        "linear": Algorithm(_barrier_linear),
        "tree": _reduced_and_sent(_binomial),
        "double-ring": Algorithm(_double_ring),
        "recursive-doubling": Algorithm(_allreduce_doubling),
        "dissemination": Algorithm(_dissemination),
    },
    "reduce_scatter": {
        "recursive-halving": Algorithm(_reduce_scatter_halving),
        "ring": Algorithm(_ring),
        "pairwise": Algorithm(_pairwise),
    },
    "scan": {"linear": _tree(_chain), "recursive-doubling": Algorithm(_scan_doubling)},
    "gather": {"linear": _in_parts(_star, up=True), "binomial": _in_parts(_binomial, up=True)},
    "scatter": {"linear": _in_parts(_star, up=False), "binomial": _in_parts(_binomial, up=False)},
}
"""Per routine, without MPI_ and in small letters, the algorithms by name."""
OF_SMPI: dict[str, dict[str, Algorithm]] = {
    "allreduce": {"at-once": Algorithm(_allreduced_at_once)},
    "reduce": {"at-once": Algorithm(_reduced_at_once)},
    "allgather": {"at-once": Algorithm(_at_once)},
    "gather": {"at-once": Algorithm(_gathered_at_once)},
}
"""Those that SimGrid's MPI alone has, and takes by default."""
KIN = {
    "allgatherv": "allgather",
    "alltoallv": "alltoall",
    "alltoallw": "alltoall",
    "gatherv": "gather",
    "scatterv": "scatter",
    "reduce_scatter_block": "reduce_scatter",
    "exscan": "scan",
}
"""Routines that are made by the algorithms of another one."""
