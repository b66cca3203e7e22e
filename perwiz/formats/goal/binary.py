"""Binary GOAL, what txt2bin makes of text for LogGOPSim, to a schedule.

u64 4223, u32 ranks, u8 largest cpu, u8 largest nic, per rank u64 begin and end, from behind the first 8 bytes
per rank u32 operations, u32 free ones and their numbers, the operations as _OPERATION, u32 numbers of those that need each
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.goal.schedule import CALC, KINDS, MOST_RANKS, MOST_SIZE, MOST_TAG, Schedule, in_order
from perwiz.formats.source import content
from perwiz.trace.arrays import I8
from perwiz.trace.tables import ANY, NONE

MAGIC, SPENT = (4223).to_bytes(8, "little"), (2342).to_bytes(8, "little")
"""How a file begins, and one that a simulation with little memory has used up."""
_MOST, _WHAT, _ANY = 1 << 36, "a binary schedule in GOAL", (1 << 32) - 1
_HEAD = 14
_OPERATION = np.dtype(
    [
        *(("needs", "<u4"), ("kind", "u1"), ("peer", "<u4"), ("size", "<u8"), ("tag", "<u4"), ("cpu", "u1"), ("nic", "u1")),
        *(("done", "<u4"), ("first_done", "<u4"), ("started", "<u4"), ("first_started", "<u4")),
    ]
)
"""`done` operations of the list behind the last operation, from `first_done` on, need its completion; `started` ones its start."""


def read(path: str) -> Schedule:
    """Return the schedule in a binary file. Raises TraceError naming what does not fit."""
    data = content(path, _MOST, _WHAT)
    if data[:8] == SPENT:
        raise TraceError(f"{path}: a binary schedule that a simulation with --save-mem has used up, must be made again by txt2bin")
    if len(data) < 8 + 6:
        raise TraceError(f"{path}: {len(data)} bytes, must have a header of {_HEAD}")
    ranks = int.from_bytes(data[8:12], "little")
    if not 1 <= ranks <= MOST_RANKS or _HEAD + 16 * ranks > len(data):
        raise TraceError(f"{path}: {ranks} ranks in {len(data)} bytes, must be from 1 to {MOST_RANKS} and have a place each")
    places = np.frombuffer(data, "<u8", 2 * ranks, _HEAD).reshape(-1, 2)
    parts, base, before = [], 0, _HEAD - 8 + 16 * ranks
    for rank, (begin, end) in enumerate(places.tolist()):
        if not before <= begin <= end <= len(data) - 8:
            raise TraceError(f"{path}: rank {rank} is from byte {begin} to {end}, must lie behind the ranks before it, and in the file")
        parts.append(_Rank(path, rank, ranks, data[8 + begin : 8 + end], base))
        base += len(parts[-1].ops)
        before = end
    ops = np.concatenate([part.ops for part in parts])
    any_peer, sends_nothing = ops["peer"] == _ANY, ops["kind"] == CALC
    return in_order(
        Schedule(
            path=path,
            ranks=ranks,
            kind=ops["kind"].copy(),
            rank=np.repeat(np.arange(ranks, dtype="i4"), [len(part.ops) for part in parts]),
            size=ops["size"].astype("i8"),
            peer=np.where(sends_nothing, NONE, np.where(any_peer, ANY, ops["peer"].astype("i8"))).astype("i4"),
            tag=np.where(ops["tag"] == _ANY, ANY, ops["tag"].astype("i8")).astype("i4"),
            cpu=ops["cpu"].astype("i4"),
            nic=ops["nic"].astype("i4"),
            op=np.concatenate([part.op for part in parts]),
            on=np.concatenate([part.on for part in parts]),
            starts=np.concatenate([part.starts for part in parts]),
        )
    )


class _Rank:
    """The operations of one rank, and their dependences by row of all operations."""

    def __init__(self, path: str, rank: int, ranks: int, data: bytes, base: int) -> None:
        def refuse(what: str, must: str) -> TraceError:
            return TraceError(f"{path}: {what} of rank {rank}, must {must}")

        count, free = np.frombuffer(data, "<u4", 2).tolist() if len(data) >= 8 else (0, 1)
        first = 8 + 4 * free
        behind = first + _OPERATION.itemsize * count
        if behind > len(data) or (len(data) - behind) % 4:
            raise refuse(f"{len(data)} bytes for {count} operations, {free} free", "have room for them")
        self.ops = np.frombuffer(data, _OPERATION, count, first)
        listed = np.frombuffer(data, "<u4", offset=behind)
        checks = (
            (~np.isin(self.ops["kind"], [*KINDS]), "kind", "be 1, 2 or 3"),
            ((self.ops["kind"] != CALC) & (self.ops["peer"] >= ranks) & ~self._any(self.ops), "peer", f"be less than {ranks}"),
            (self.ops["size"] > MOST_SIZE, "size", f"be at most {MOST_SIZE}"),
            ((self.ops["tag"] > MOST_TAG) & (self.ops["tag"] != _ANY), "tag", f"be at most {MOST_TAG}"),
        )
        for bad, name, must in checks:
            if bad.any():
                raise refuse(f"{name} {self.ops[name][int(np.argmax(bad))]} of an operation", must)
        ends = [self._needed(self.ops[name], self.ops[f"first_{name}"], len(listed), refuse) for name in ("done", "started")]
        self.op = np.concatenate([listed[at] for _, at in ends]).astype("i8")
        if len(self.op) and int(self.op.max()) >= count:
            raise refuse(f"operation {self.op.max()} of {count}", "be one of them")
        self.op = (self.op + base).astype("i4")
        self.on = (np.concatenate([on for on, _ in ends]) + base).astype("i4")
        self.starts = np.repeat(np.array([0, 1], "u1"), [len(on) for on, _ in ends])

    @staticmethod
    def _any(ops: np.ndarray) -> np.ndarray:
        return (ops["kind"] == 2) & (ops["peer"] == _ANY)

    @staticmethod
    def _needed(number: np.ndarray, first: np.ndarray, most: int, refuse: Callable[[str, str], TraceError]) -> tuple[I8, I8]:
        """Return the operations that are needed, one per dependence, and where the list names those that need them."""
        number, first = number.astype("i8"), np.where(number > 0, first, 0).astype("i8")
        if number.sum() > most or (first + number > most).any():
            raise refuse(f"{number.sum()} dependences in a list of {most}", "be in it")
        on = np.repeat(np.arange(len(number)), number)
        begin = np.repeat(np.cumsum(number) - number, number)
        return on, first[on] + np.arange(len(on)) - begin
