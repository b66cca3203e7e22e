"""How long a run takes under hypotheses under which calls that take what comes first take something else, as `predict` answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from perwiz.trace.trace import Trace
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.matching import choosing, matching
from perwiz.whatif.rematch.counters import counters
from perwiz.whatif.rematch.rematched import rematched
from perwiz.whatif.run import Run, based, under
from perwiz.whatif.wildcards import possible

_LEAST, _VERTICES = 2, 4_000_000
"""Answers that are matched anew at least, and vertices that all may pass otherwise: each takes ten times as long as a sweep."""


@dataclasses.dataclass(frozen=True)
class Turned:
    """Makespans, ns, of a run in which such calls would take something else."""

    kept: int
    """If they keep what they took."""
    anew: int | None
    """If they take what comes first; None if they cannot (`rematched`), or that is not asked."""


def chooses(trace: Trace) -> bool:
    """Return whether calls of a run take what comes first, and it is there as a whole."""
    if trace.share.team is not None:
        return False
    found = choosing(trace)
    return any(map(len, (found.wildcards, found.completed, possible(trace).receive, counters(trace).fetch)))


def most(run: Run) -> int:
    """Return how many answers about a run are matched anew at most."""
    return max(_VERTICES // max(run.graph.vertices, 1), _LEAST)


def turned(run: Run, hypotheses: Sequence[Hypothesis], anew: bool = True) -> Turned | None:
    """Return how long a run takes under hypotheses, matched `anew` and not; None if all calls take what they took."""
    base = based(run, hypotheses)
    changed = under(base, hypotheses)
    if not matching(base, changed).changed:
        return None
    again, found = rematched(base, changed, hypotheses) if anew else (changed, None)
    return Turned(changed.makespan, again.makespan if found and not found.reason else None)
