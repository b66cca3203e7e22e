"""Clock offsets measured while a run was recorded. They are not applied to its times."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.recorded.files import Process
from perwiz.trace.tables import Offsets

_Reading = tuple[int, float, float]
"""Local time, offset to the clock of rank 0, error; ns."""


def offsets(processes: list[Process], process: NDArray[np.int64], start: int) -> Offsets:
    """Return the offset of every location to rank 0, as often as it was measured; none if all share one clock.

    `process` is the number of each location's process. A process that shares its clock with one that measured has its offsets.
    """
    clock = {one.rank: one.about["clock"] for one in processes}
    if len(set(clock.values())) < 2:
        return Offsets.empty()
    own = {one.rank: [line for line in one.definitions if "offset" in line] for one in processes}
    known = {clock[processes[0].rank]: [(start, 0.0, 0.0)]}
    for one in sorted(processes, key=lambda one: _depth(own, one.rank)):
        if own[one.rank]:
            known.setdefault(one.about["clock"], _chained(own[one.rank], known, clock))
    rows = [(where, *reading) for where, k in enumerate(process.tolist()) for reading in known.get(processes[k].about["clock"], [])]
    column = list(zip(*rows, strict=True)) if rows else [()] * 4
    time = np.array(column[1], "i8") - start
    offset, error = (np.array(values, "f8") / 1e3 for values in column[2:])
    return Offsets(np.array(column[0], "i4"), time, offset, np.zeros(len(rows)), error)


def _depth(own: dict[int, list[dict[str, Any]]], rank: int) -> int:
    """Return how many measurements lie between a rank and rank 0; masters have lower ranks or none."""
    depth = 0
    while own.get(rank) and depth < len(own):
        rank = own[rank][0]["master"]
        depth += 1
    return depth


def _chained(lines: list[dict[str, Any]], known: dict[str, list[_Reading]], clock: dict[int, str]) -> list[_Reading]:
    """Return measurements against a master as such against rank 0: the master's own offset is added, interpolated."""
    out = []
    for line in lines:
        master = known.get(clock.get(line["master"], ""))
        if master:
            at = line["time"] + line["offset"]
            times, more, errors = (np.array(values) for values in zip(*master, strict=True))
            error = line["round_trip"] / 2 + float(np.interp(at, times, errors))
            out.append((line["time"], line["offset"] + float(np.interp(at, times, more)), error))
    return out
