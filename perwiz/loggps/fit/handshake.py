"""What a rendezvous costs beyond the message: how much longer messages just above the eager limit take than those just below."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.loggps.fit.eager import Limit
from perwiz.loggps.fit.senders import Senders
from perwiz.trace.arrays import I8

_LEAST = 5
"""Messages of each size that are needed."""
_NEAR = 2.0
"""The larger over the smaller of the two sizes, at most."""
_SHORT = 0.1
"""Part of the times of one size below that which is taken for the shortest."""


@dataclasses.dataclass(frozen=True)
class Jump:
    """How many ns longer the smallest messages that hold their sender take than the largest that do not, and how many messages tell."""

    ns: float
    telling: int


def jump(seen: Senders, limits: Sequence[Limit]) -> Jump | None:
    """Return the jump at the eager limit, of messages for which their receiver waited; None where none is seen."""
    out = []
    for limit in limits:
        rows = np.flatnonzero(limit.includes(seen.pairs, seen.sends) & seen.awaited)
        if limit.low and limit.high is not None:
            below, above = seen.bytes[rows] <= limit.low, seen.bytes[rows] > limit.high
            out.append(_between(seen.bytes[rows[below]], seen.way[rows[below]], seen.bytes[rows[above]], seen.way[rows[above]]))
    found = [each for each in out if each and each.ns > 0]
    return max(found, key=lambda each: each.telling) if found else None


def _between(small: I8, soon: I8, large: I8, later: I8) -> Jump | None:
    sizes = (_frequent(small)[-1:], _frequent(large)[:1])
    if not len(sizes[0]) or not len(sizes[1]) or sizes[1][0] > _NEAR * max(int(sizes[0][0]), 1):
        return None
    times = soon[small == sizes[0][0]], later[large == sizes[1][0]]
    return Jump(float(np.quantile(times[1], _SHORT) - np.quantile(times[0], _SHORT)), len(times[0]) + len(times[1]))


def _frequent(size: I8) -> I8:
    sizes, count = np.unique(size, return_counts=True)
    return sizes[count >= _LEAST]


def request_overheads(jump: Jump, L: float, o: float, acknowledge_overheads: int) -> int:
    """Return how many o handling a REQ takes if a rendezvous takes so much longer: (jump - 2 L) / o less the ACK's and the REQ's own o."""
    return max(0, round((jump.ns - 2 * L) / o) - 1 - acknowledge_overheads) if o > 0 else 0
