"""Clocks of devices: recorders set them by the host's, and miss by more than a launch takes. Blocking copies tell how far.

A copy from the device runs inside the routine that waits for it. Where the times of many contradict that, a straight line brings them
there: two clocks drift apart at a constant rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from perwiz.formats.devices import COPIES, COPY_OP, role
from perwiz.formats.otf2.definitions import Definitions
from perwiz.formats.otf2.read import Recorded
from perwiz.kernels import launches as kernel
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.streams import FROM_DEVICE

_SLACKS = (Fraction(1, 5_000), Fraction(1, 50_000))
"""Seconds that a copy may be outside its routine and is looked for: at first, and on the line that those found give."""
_FEWEST = 8
"""Copies that a line is drawn through, at least."""


class Line(NamedTuple):
    """What is added to the times of a device, ticks: `offset` at `start`, and `drift` a tick."""

    start: int
    offset: float
    drift: float

    def of(self, times: I8) -> I8:
        """Return the times on the clock of the host."""
        return times + np.rint(self.offset + self.drift * (times - self.start)).astype("i8")


def _devices(definitions: Definitions, recorded: Sequence[Recorded], streams: Mask) -> list[tuple[int, str]]:
    """Return per location what tells devices of a process apart: the accelerator, and the device in its name, `CUDA[0` of `CUDA[0:7]`."""
    location = {location.ref: location for location in definitions.locations}
    rows = [location[one.ref] for one in recorded]
    return [
        (row.group, definitions.string(row.name).partition(":")[0] if stream else "") for row, stream in zip(rows, streams, strict=True)
    ]


def lines(definitions: Definitions, recorded: Sequence[Recorded], process: I4, streams: Mask) -> dict[int, Line]:
    """Return what puts times of devices on the clocks of their hosts, per row of `recorded`, one of their streams, where these differ.

    `process` and `streams` (whether it is one) are per location of `recorded`.
    """
    names = [definitions.string(definitions.regions[ref].name) for ref in sorted(definitions.regions)]
    waits = [number for number, name in enumerate(names) if role(name) == (COPY_OP, FROM_DEVICE) and not name.startswith("cl")]
    copy = [len(names) + 1 + COPIES.index("copy from device")]
    found: dict[int, Line] = {}
    device = _devices(definitions, recorded, streams)
    of_device: dict[tuple[int, tuple[int, str]], list[int]] = {}
    for row in np.flatnonzero(streams).tolist() if waits else ():
        of_device.setdefault((int(process[row]), device[row]), []).append(row)
    for (one, _), rows in of_device.items():
        calls = _spans(recorded, np.flatnonzero((process == one) & ~streams).tolist(), "call", "root", waits)
        line = _line(calls, _spans(recorded, rows, "region", "name", copy), definitions.resolution)
        if line:
            found |= dict.fromkeys(rows, line)
    return found


def _spans(recorded: Sequence[Recorded], rows: Sequence[int], table: str, column: str, numbers: list[int]) -> I8:
    """Return when rows of a table with these numbers begin and end, ticks, in order: an array of two."""
    found = [np.empty((2, 0), "i8")]
    for row in rows:
        get = recorded[row].column
        chosen = np.isin(get(f"{table}.{column}"), numbers)
        found.append(np.stack([get(f"{table}.{end}")[chosen] for end in ("enter", "leave")]).astype("i8"))
    spans = np.concatenate(found, axis=1)
    return spans[:, np.argsort(spans[0], kind="stable")]


def _line(calls: I8, copies: I8, resolution: int) -> Line | None:
    """Return the line on which most copies are inside calls, None if they are so as they are, or too few are."""
    line = Line(0, 0.0, 0.0)
    low, high = _room(calls, copies, int(resolution * _SLACKS[0]))[1:]
    outside = _outside(low, high)
    for slack in _SLACKS:
        copy, low, high = _room(calls, line.of(copies), int(resolution * slack))
        if len(copy) < _FEWEST:
            return None
        begin = copies[0][copy]
        middle = line.of(begin) - begin + (low + high) / 2
        third = len(copy) // 3
        (first, last), (earlier, later) = ((np.median(side[:third]), np.median(side[-third:])) for side in (begin, middle))
        drift = float((later - earlier) / (last - first)) if last > first else 0.0
        line = Line(int(first), float(earlier), drift)
    _, low, high = _room(calls, line.of(copies), int(resolution * _SLACKS[0]))
    return line if _outside(low, high) < outside / 2 else None


def _room(calls: I8, copies: I8, slack: int) -> tuple[I8, I8, I8]:
    """Return the copies that may be in a call, and how far each may be moved at least and at most to be inside."""
    taken = np.empty(copies.shape[1], "i4")
    one, other = (np.zeros(side.shape[1], "i8") for side in (calls, copies))
    kernel.oldest(one, calls[0] - slack, np.maximum.accumulate(calls[1]) + slack, other, np.ascontiguousarray(copies[0]), taken)
    copy = np.flatnonzero(taken >= 0)
    return copy, calls[0][taken[copy]] - copies[0][copy], calls[1][taken[copy]] - copies[1][copy]


def _outside(low: I8, high: I8) -> int:
    return int(((low > 0) | (high < 0)).sum())
