"""How far costs that were fitted may be off, and the machine that each would make if it were off by that.

Costs are told by what was shortest: what is possible may be shorter still, not longer. A way is the sum of costs: what a call takes less,
the way has more for latency, so the other cost that shares what was measured takes it up. What a change of a cost by its standard error
changes of an answer adds up in squares.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from perwiz.loggps.fit.shortest import Points
from perwiz.loggps.model import Costs, Model

_SHARED = {"L": "", "G": "", "o_s": "L", "o_r": "L", "O_s": "G", "O_r": "G"}
"""Letters that are fitted, and which one is more by what each is less."""
_LEAST = {"L": 0.5, "o_s": 0.5, "o_r": 0.5}
"""ns that change nothing, for times are whole."""


def errors(ways: Points, latencies: int, sending: Points, receiving: Points, rows: Sequence[Costs]) -> dict[str, float]:
    """Return the standard errors of what messages of a class of pairs tell, by letter, ns or ns per byte.

    `ways` have so many latencies; where that is one, how far they lie from their lines counts, too: over the root of how many sizes
    these are.
    """
    out = {}
    for letters, points, fold in ((("L", "G"), ways, latencies), (("o_s", "O_s"), sending, 1), (("o_r", "O_r"), receiving, 1)):
        if points.told:
            missed = _missed(points, rows) if points is ways and latencies == 1 else 0.0
            off = np.hypot(points.off, missed * points.time)
            out[letters[0]] = float(off[0]) / fold
            if points.wide:
                out[letters[1]] = float(np.hypot(off[0], off[-1]) / (points.size[-1] - points.size[0]))
    return out


def _missed(points: Points, rows: Sequence[Costs]) -> float:
    """Return by what part eager ways miss their lines, on average, over the root of how many there are."""
    row = np.searchsorted([row.from_bytes for row in rows], points.size, "right") - 1
    column = {letter: np.array([getattr(each, letter) for each in rows])[row] for letter in _SHARED}
    at_ends = column["o_s"] + column["o_r"] + (column["O_s"] + column["O_r"]) * points.size
    line = at_ends + column["L"] + column["G"] * np.maximum(points.size - 1, 0)
    return float(np.sqrt(np.mean((points.time / np.maximum(line, 1.0) - 1) ** 2) / len(points.size)))


def others(model: Model, off: Mapping[str, Mapping[str, float]]) -> Iterator[Model]:
    """Yield, per letter, the model if it were smaller by its standard error, but not below nothing, given these by class of pairs."""
    for letter, shared in _SHARED.items():
        by = {pairs: each[letter] for pairs, each in off.items() if each.get(letter, 0.0) > _LEAST.get(letter, 0.0)}
        rows = tuple(_smaller(row, letter, shared, by.get(row.pairs, 0.0)) for row in model.costs)
        if rows != model.costs:
            yield dataclasses.replace(model, costs=rows)


def _smaller(row: Costs, letter: str, shared: str, by: float) -> Costs:
    by = min(by, getattr(row, letter))
    return dataclasses.replace(row, **{letter: getattr(row, letter) - by, **({shared: getattr(row, shared) + by} if shared else {})})
