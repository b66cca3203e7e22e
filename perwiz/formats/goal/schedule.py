"""A schedule: the operations of each rank, and which must come before which."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.places import places
from perwiz.kernels import goal_lines
from perwiz.trace.arrays import I4, I8, U1

SEND, RECV, CALC = goal_lines.SEND, goal_lines.RECV, goal_lines.CALC
MOST_RANKS, MOST_SIZE, MOST_TAG, MOST_UNIT = 1 << 20, 1 << 50, (1 << 31) - 1, 255
KINDS = {SEND: "send", RECV: "recv", CALC: "calc"}


@dataclasses.dataclass(frozen=True, eq=False)
class Schedule:
    """Operations by rank, those that others of the rank need before these; dependences by the operation that needs.

    Raises TraceError if an operation needs itself over others.
    """

    path: str
    ranks: int
    kind: U1
    """SEND, RECV or CALC."""
    rank: I4
    size: I8
    """Bytes; of a CALC ns."""
    peer: I4
    """Rank, -2 any, -1 of a CALC."""
    tag: I4
    """-2 any."""
    cpu: I4
    nic: I4
    op: I4
    """Per dependence the operation that needs"""
    on: I4
    """this one,"""
    starts: U1
    """1: its start alone, else its completion."""

    def __len__(self) -> int:
        return len(self.kind)


def in_order(schedule: Schedule) -> Schedule:
    """Return a schedule whose operations, in any order of those of a rank, and dependences are put in order. Raises TraceError."""
    if len(schedule) and (schedule.on >= schedule.op).any():
        schedule = _sorted(schedule, _places(schedule))
    elif _falls(schedule.rank):
        schedule = _sorted(schedule, np.arange(len(schedule), dtype="i8"))
    if _falls(schedule.op):
        rows = np.argsort(schedule.op, kind="stable")
        schedule = dataclasses.replace(schedule, op=schedule.op[rows], on=schedule.on[rows], starts=schedule.starts[rows])
    return schedule


def _falls(values: I4) -> bool:
    """Return whether a value is less than that before it."""
    return bool((values[1:] < values[:-1]).any())


def _sorted(schedule: Schedule, place: I8) -> Schedule:
    """Return the schedule with its operations by rank and place."""
    rows = np.lexsort((place, schedule.rank))
    new = np.empty(len(rows), "i4")
    new[rows] = np.arange(len(rows), dtype="i4")
    columns = {name: getattr(schedule, name)[rows] for name in ("kind", "rank", "size", "peer", "tag", "cpu", "nic")}
    return dataclasses.replace(schedule, **columns, op=new[schedule.op], on=new[schedule.on])


def _places(schedule: Schedule) -> I8:
    """Return the place of each operation in an order in which those that it needs come before."""
    place, left = places(len(schedule), schedule.op, schedule.on)
    if len(left):
        rank = int(schedule.rank[left[0]])
        raise TraceError(f"{schedule.path}: operations of rank {rank} need each other in a circle, must have one that can begin")
    return place
