"""Traces of any size for benchmarks: what `scripts/generate` writes, and `ring`, which the benchmarks also use as it is.

Ranks compute for random, seeded times and go on when their partners let them: clocks are true, and the same arguments give the same trace.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Callable

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import synthetic
from synthetic import Ints, Step, everywhere, trace_of

from perwiz.errors import PerwizError
from perwiz.formats.files import write
from perwiz.trace.trace import Trace

_POST, _LATENCY, _RETURN = 300, 4_000, 1_000
"""Duration of a call that waits for nobody; time from entering a send to its arrival; from then to the return; ns."""


def ring(ranks: int, calls: int, size: int = 100_000, seed: int = 1, split: bool = False) -> Trace:
    """Return a trace in which each rank, step by step, sends `size` bytes to the right and receives from the left; `calls` calls in all.

    A step is one MPI_Sendrecv, or an MPI_Send and an MPI_Recv if `split`.
    """
    step = _ring(ranks, size, split)
    return trace_of(step, *_ring_times(step, max(calls // ranks // len(step.names), 1), seed))


def _ring(ranks: int, size: int = 100_000, split: bool = False) -> Step:
    names = ("MPI_Send", "MPI_Recv") if split else ("MPI_Sendrecv",)
    rank = np.arange(ranks)
    right, left = (rank + 1) % ranks, (rank - 1) % ranks
    peer = np.stack([right, left] if split else [right], 1)
    return Step(names, peer, everywhere(ranks, len(names)), ((0, len(names) - 1),), size)


def _ring_times(step: Step, steps: int, seed: int = 1) -> tuple[Ints, Ints]:
    """Return when calls are entered and left if each rank waits for its left neighbour."""
    computation = _computation(step, steps, seed)
    enter, leave = _room(step, steps)
    now = np.zeros(len(step.width), "i8")
    for k in range(steps):
        enter[k] = (now + computation[k])[:, None] + 2 * _POST * np.arange(len(step.names))
        leave[k] = enter[k] + _POST
        now = leave[k, :, -1] = np.maximum(enter[k, :, -1], np.roll(enter[k, :, 0], 1) + _LATENCY) + _RETURN
    return enter, leave


def _halo(ranks: int) -> Step:
    """Return the exchange with four neighbours on a torus: all receives and sends posted, then one MPI_Waitall."""
    west, east, north, south = _neighbours(ranks)
    peer = np.stack([west, east, north, south] * 2 + [np.full(ranks, -1)], 1)
    names = *("MPI_Irecv",) * 4, *("MPI_Isend",) * 4, "MPI_Waitall"
    return Step(names, peer, everywhere(ranks, 9), ((4, 1), (5, 0), (6, 3), (7, 2)), 100_000)


def _halo_times(step: Step, steps: int, seed: int = 1) -> tuple[Ints, Ints]:
    """Return when calls are entered and left if each rank waits for its four neighbours."""
    computation = _computation(step, steps, seed)
    enter, leave = _room(step, steps)
    now = np.zeros(len(step.width), "i8")
    for k in range(steps):
        enter[k] = (now + computation[k])[:, None] + 2 * _POST * np.arange(len(step.names))
        leave[k] = enter[k] + _POST
        arrived = enter[k, :, 7][step.peer[:, :4]].max(1) + _LATENCY
        now = leave[k, :, -1] = np.maximum(enter[k, :, -1], arrived) + _RETURN
    return enter, leave


def _wavefront(ranks: int) -> Step:
    """Return the step of a pipelined sweep over a grid: receive from west and north, then send to east and south."""
    west, east, north, south = _neighbours(ranks)
    rows, columns = _grid(ranks)
    row, column = np.divmod(np.arange(ranks), columns)
    absent = np.stack([column == 0, row == 0, column == columns - 1, row == rows - 1], 1)
    peer = np.stack([west, north, east, south], 1)
    return Step(("MPI_Recv", "MPI_Recv", "MPI_Send", "MPI_Send"), peer, absent, ((2, 0), (3, 1)), 8_192)


def _wavefront_times(step: Step, steps: int, seed: int = 1) -> tuple[Ints, Ints]:
    """Return when calls are entered and left; at a time, each diagonal of the grid is one step behind the one before it."""
    computation = _computation(step, steps, seed)
    enter, leave = _room(step, steps)
    rows, columns = _grid(len(step.width))
    diagonal = np.add(*np.divmod(np.arange(len(step.width)), columns))
    now = np.zeros(len(step.width), "i8")
    for tick in range(steps + rows + columns - 2):
        rank = np.flatnonzero((diagonal <= tick) & (tick - diagonal < steps))
        k = tick - diagonal[rank]
        at = now[rank] + computation[k, rank]
        for call in range(4):
            enter[k, rank, call] = at
            back = at + _POST
            if call < 2:
                back = np.maximum(at, enter[k, step.peer[rank, call], call + 2] + _LATENCY) + _RETURN
            leave[k, rank, call] = back = np.where(step.absent[rank, call], at, back)
            at = back + _POST
        now[rank] = at
    return enter, leave


def _collectives(ranks: int) -> Step:
    """Return a step of one MPI_Bcast, MPI_Allreduce and MPI_Barrier each."""
    names = ("MPI_Bcast", "MPI_Allreduce", "MPI_Barrier")
    return Step(names, np.full((ranks, 3), -1), everywhere(ranks, 3), size=1_024)


def _collectives_times(step: Step, steps: int, seed: int = 1) -> tuple[Ints, Ints]:
    """Return when calls are entered and left if all wait for the root, then twice for the last."""
    computation = _computation(step, 3 * steps, seed)
    enter, leave = _room(step, steps)
    now = np.zeros(len(step.width), "i8")
    for k in range(3 * steps):
        at = now + computation[k]
        last = at[0] if k % 3 == 0 else at.max()
        now = np.maximum(at, last + _LATENCY) + _RETURN
        enter[k // 3, :, k % 3], leave[k // 3, :, k % 3] = at, now
    return enter, leave


def _grid(ranks: int) -> tuple[int, int]:
    """Return rows and columns of the grid nearest to a square that so many ranks fill."""
    rows = max(rows for rows in range(1, int(ranks**0.5) + 1) if ranks % rows == 0)
    return rows, ranks // rows


def _neighbours(ranks: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the ranks in the west, east, north and south of each on a torus."""
    rows, columns = _grid(ranks)
    row, column = np.divmod(np.arange(ranks), columns)
    west, east = row * columns + (column - 1) % columns, row * columns + (column + 1) % columns
    return west, east, (row - 1) % rows * columns + column, (row + 1) % rows * columns + column


def _computation(step: Step, steps: int, seed: int) -> Ints:
    """Return how long each rank computes before each step, ns (step, rank)."""
    return np.random.default_rng(seed).integers(max(1_000, synthetic.ROOM), 100_000, (steps, len(step.width)))


def _room(step: Step, steps: int) -> tuple[Ints, Ints]:
    """Return room for times: when calls are entered, and left (step, rank, call of the step)."""
    shape = steps, len(step.width), len(step.names)
    return np.zeros(shape, "i8"), np.zeros(shape, "i8")


PATTERNS: dict[str, tuple[Callable[[int], Step], Callable[[Step, int], tuple[Ints, Ints]]]] = {
    "halo": (_halo, _halo_times),
    "ring": (_ring, _ring_times),
    "wavefront": (_wavefront, _wavefront_times),
    "collectives": (_collectives, _collectives_times),
}
"""Name -> what every rank does in a step, and the times of so many steps."""


def pattern(name: str, ranks: int, events: int, regions: bool = False) -> Trace:
    """Return a trace of so many event records, to the nearest step from below, but at least of one step."""
    make, times = PATTERNS[name]
    step = make(ranks)
    return trace_of(step, *times(step, max(events // step.records(regions), 1)), regions)


def main() -> None:
    """Write a trace."""
    parser = argparse.ArgumentParser(prog="scripts/generate", description="Write a large trace, as an OTF2 archive if named .otf2.")
    parser.add_argument("pattern", choices=PATTERNS)
    parser.add_argument("ranks", type=int)
    parser.add_argument("events", type=int, help="event records, about")
    parser.add_argument("path")
    parser.add_argument("--regions", action="store_true", help="put user regions around steps, computation and calls")
    asked = parser.parse_args()
    try:
        write(pattern(asked.pattern, asked.ranks, asked.events, asked.regions), asked.path)
    except PerwizError as error:
        sys.exit(f"scripts/generate: {error}")


if __name__ == "__main__":
    main()
