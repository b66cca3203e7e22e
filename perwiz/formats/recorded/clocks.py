"""How clocks were compared while a run was recorded. Nothing of it is applied to its times."""

from __future__ import annotations

import numpy as np

from perwiz.formats.recorded.files import Process
from perwiz.trace.arrays import I8
from perwiz.trace.tables import NONE, Readings


def readings(processes: list[Process], process: I8, start: int) -> Readings:
    """Return how the clock of every location was compared, as often as it was; nothing if all share one clock.

    `process` is the number of each location's process, `start` the time that is 0 in the trace, ns. A process that shares its clock with
    one that compared it has the readings of that. The clock of the lowest rank is that of all.
    """
    clocks = {known.rank: known.about["clock"] for known in processes}
    if len(set(clocks.values())) < 2:
        return Readings.empty()
    numbers, first_locations = np.unique(process, return_index=True)
    location = {processes[number].rank: int(first) for number, first in zip(numbers.tolist(), first_locations, strict=True)}
    rows = {clocks[processes[0].rank]: [(NONE, 0, 0, 0)]}
    for known in processes:
        lines = [line for line in known.of("offset") if line["master"] in location]
        compared = [(location[line["master"]], line["time"] - start, line["offset"], -(-line["round_trip"] // 2)) for line in lines]
        if compared:
            rows.setdefault(clocks[known.rank], compared)
    every = [(where, *row) for where, number in enumerate(process.tolist()) for row in rows.get(clocks[processes[number].rank], [])]
    columns = zip(*every, strict=True) if every else [()] * 5
    return Readings(*(np.array(values, kind) for values, kind in zip(columns, ("i4", "i4", "i8", "i8", "i8"), strict=True)))
