"""Large traces for benchmarks: a ring in which every rank computes, then exchanges with its neighbours, step by step."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.trace import ops
from perwiz.trace.tables import (
    Calls,
    Collectives,
    Communicators,
    Counts,
    Defects,
    Labels,
    Locations,
    Members,
    Messages,
    Offsets,
    Paths,
    Regions,
    Requests,
    Timeline,
    Times,
    Trace,
)


def ring(ranks: int, calls: int, size: int = 100_000, seed: int = 1) -> Trace:
    """Return a trace of MPI_Sendrecv calls, `calls` in all: each sends `size` bytes to the right and receives from the left."""
    steps = calls // ranks
    enter, leave = _times(ranks, steps, np.random.default_rng(seed))
    rank = np.repeat(np.arange(ranks, dtype="i4"), steps)
    count = ranks * steps
    right = (rank + 1) % ranks
    send = np.arange(count, dtype="i4")
    receive = (send + steps) % count
    fill = {"path": -1, "tag": 7, "comm": 0, "root": -1}
    table = Calls(
        location=rank,
        op=np.full(count, ops.OP["MPI_Sendrecv"], "u1"),
        peer=right.astype("i4"),
        bytes_sent=np.full(count, size, "i8"),
        bytes_received=np.full(count, size, "i8"),
        **{name: np.full(count, value, "i4") for name, value in fill.items()},
    )
    messages = Messages(
        *(send, send, receive.astype("i4"), receive.astype("i4"), table.tag, table.comm),
        *(np.zeros(count, "u1"), np.full(count, size, "i8")),
    )
    ends = Times(np.zeros(ranks, "i8"), leave.reshape(ranks, steps)[:, -1].copy())
    timeline = Timeline(Times(enter, leave), Times.empty(), ends)
    return dataclasses.replace(_bare(ranks), calls=table, messages=messages, timeline=timeline, counts=Counts(records=4 * count))


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
