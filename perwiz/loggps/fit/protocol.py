"""How a machine passes messages on, as the senders and receivers of a trace show it: the eager limit, progress, the gap."""

from __future__ import annotations

import dataclasses

from perwiz.loggps.fit.eager import Sizes, limits, sizes_of, told, untold
from perwiz.loggps.fit.gap import gap
from perwiz.loggps.fit.progress import in_place, progress
from perwiz.loggps.keys import NO_LIMIT
from perwiz.loggps.machine import Estimate, Unknown
from perwiz.trace.trace import Trace


@dataclasses.dataclass(frozen=True, eq=False)
class Protocol:
    """What a trace tells of the protocol of its machine, what it does not, and what its senders show by size."""

    estimates: tuple[Estimate, ...]
    unknown: tuple[Unknown, ...]
    sizes: Sizes


def protocol(trace: Trace) -> Protocol:
    """Return the protocol that a trace tells: S_bytes (per class of pairs and kind of send if these differ), inline_bytes, progress, gap.

    And g_ns. Its clocks must be treated, and only its tied part be there. Time grows with messages and calls.
    """
    sizes = sizes_of(trace)
    found = limits(sizes)
    moves = progress(sizes, found)
    if isinstance(moves, Estimate) and moves.value == "in calls":
        sizes = sizes.moving_in_calls()
        found = limits(sizes)
    at_once = in_place(sizes)
    least = min((limit.low for limit in found if limit.low), default=NO_LIMIT)
    inline = next((int(each.value) for each in at_once if isinstance(each, Estimate)), least)
    others = [*at_once, moves, *gap(trace, inline)]
    estimates = [*told(found), *(each for each in others if isinstance(each, Estimate))]
    return Protocol(
        estimates=tuple(estimates),
        unknown=(*untold(found, moves, bool(at_once)), *(each for each in others if isinstance(each, Unknown))),
        sizes=sizes,
    )
