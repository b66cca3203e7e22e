"""Large traces for benchmarks: a ring in which every rank computes, then exchanges with its neighbours, step by step."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.trace import ops
from perwiz.trace.tables import Calls, Collectives, Defects, Labels, Locations, Members, Messages, Offsets, Paths, Regions, Requests, Times
from perwiz.trace.trace import Communicators, Counts, Timeline, Trace


def ring(ranks: int, calls: int, size: int = 100_000, seed: int = 1, split: bool = False) -> Trace:
    """Return a trace in which each rank, step by step, sends `size` bytes to the right and receives from the left; `calls` calls in all.

    A step is one MPI_Sendrecv, or an MPI_Send and an MPI_Recv if `split`.
    """
    names = ("MPI_Send", "MPI_Recv") if split else ("MPI_Sendrecv",)
    steps = calls // ranks // len(names)
    rank = np.repeat(np.arange(ranks, dtype="i4"), steps * len(names))
    step = np.arange(ranks * steps, dtype="i4") * len(names)
    send, receive = step, (np.roll(step.reshape(ranks, steps), -1, axis=0).ravel() + len(names) - 1).astype("i4")
    enter, leave = _times(ranks, steps, np.random.default_rng(seed))
    if split:
        enter, leave = np.stack([enter, enter + 2_000], 1).ravel(), np.stack([enter + 1_000, leave], 1).ravel()
    count = len(rank)
    table = {name: np.full(count, value, "i4") for name, value in {"path": -1, "tag": 7, "comm": 0, "root": -1, "peer": -1}.items()}
    table["peer"][send] = (rank[send] + 1) % ranks
    if split:
        table["peer"][receive] = rank[send]
    moved = {name: np.zeros(count, "i8") for name in ("bytes_sent", "bytes_received")}
    moved["bytes_sent"][send] = moved["bytes_received"][receive] = size
    op = np.tile(np.array([ops.OP[name] for name in names], "u1"), count // len(names))
    whole = np.full(len(send), 7, "i4"), np.zeros(len(send), "i4"), np.zeros(len(send), "u1"), np.full(len(send), size, "i8")
    ends = Times(np.zeros(ranks, "i8"), leave.reshape(ranks, -1)[:, -1].copy())
    return dataclasses.replace(
        _bare(ranks),
        calls=Calls(location=rank, op=op, **table, **moved),
        messages=Messages(send, send, receive, receive, *whole),
        timeline=Timeline(Times(enter, leave), Times.empty(), ends),
        counts=Counts(records=4 * count),
    )


def _times(ranks: int, steps: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return enter and leave, int64 ns in (rank, step) order, of a run in which each waits for its left neighbour."""
    enter, leave = np.empty((steps, ranks), "i8"), np.empty((steps, ranks), "i8")
    now = np.zeros(ranks, "i8")
    for step in range(steps):
        enter[step] = now + rng.integers(1_000, 100_000, ranks)
        now = leave[step] = np.maximum(enter[step], np.roll(enter[step], 1) + 4_000) + 5_000
    return enter.T.ravel(), leave.T.ravel()


def _bare(ranks: int) -> Trace:
    """Return a trace of so many processes in which nothing happens."""
    zero, none = np.zeros(ranks, "i4"), np.full(ranks, -1, "i4")
    number = np.arange(ranks, dtype="i4")
    still = Times(np.zeros(ranks, "i8"), np.zeros(ranks, "i8"))
    return Trace(
        path=f"ring-{ranks}",
        format="synthetic",
        locations=Locations(zero, none, number, zero, none),
        communicators=Communicators(("world",), np.array([0, ranks]), number),
        names=(),
        parallel=np.zeros(0, bool),
        paths=Paths.empty(),
        calls=Calls.empty(),
        requests=Requests.empty(),
        regions=Regions.empty(),
        messages=Messages.empty(),
        collectives=Collectives.empty(),
        members=Members.empty(),
        timeline=Timeline(Times.empty(), Times.empty(), still),
        labels=Labels.empty(),
        texts=(),
        nodes=(),
        offsets=Offsets.empty(),
        defects=Defects.empty(),
        counts=Counts(),
        properties={},
    )
