"""How sure a run is whose receives are matched anew: under other models and in drawn runs, matched anew each time."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.engines.rematch import Programs, rematch
from perwiz.engines.sweep import makespan, sweep
from perwiz.loggps.weigh import Weighted, measured
from perwiz.trace.arrays import F8, I8
from perwiz.whatif.hypotheses.base import Hypothesis, apply
from perwiz.whatif.rematch.programs import rewired
from perwiz.whatif.rematch.rematched import Handed, handed_out
from perwiz.whatif.run import Run
from perwiz.whatif.sure.answers import Answer, Answers
from perwiz.whatif.sure.noise import Noise, noise_of

FEWEST, VERTICES = 10, 20_000_000
"""Runs drawn at least, and vertices of all together: matching anew takes ten times as long as a sweep."""


@dataclasses.dataclass(frozen=True, eq=False)
class Again:
    """A question about a run, asked so that receives take what comes first."""

    handed: Handed
    hypotheses: Sequence[Hypothesis]

    def question(self, weighted: Weighted) -> Weighted:
        """Return the weighted graph under the hypotheses, matched anew; with the recorded choices where programs wait for each other."""
        changed = apply(weighted, self.hypotheses)
        recorded = sweep(weighted.graph, weighted.weight)
        before, waits = (self.handed.waiting(each, recorded, weighted.weight) for each in (weighted, changed))
        found = self.handed.opened(before, waits, recorded, self.hypotheses)
        matched = rematch(found.programs)
        return rewired(waits, found, matched) if len(matched.order) == changed.graph.vertices else changed

    def drawn(self, noise: Noise, base: Run) -> F8:
        """Return the makespans, ns, of runs drawn of it, the same runs as `noise` draws of any graph; fewer where the graph is large."""
        if noise.varies is None or not noise.draws:
            return np.zeros(0)
        recorded = dataclasses.replace(base.weighted, weight=measured(base.weighted).weight)
        time, both = base.time, (recorded, apply(recorded, self.hypotheses))
        recorded, changed = (self.handed.waiting(each, time, recorded.weight) for each in both)
        found = self.handed.opened(recorded, changed, time, self.hypotheses)
        count = min(noise.draws, max(VERTICES // changed.graph.vertices, FEWEST))
        there = self.handed.elsewhere(recorded, changed, self.hypotheses)[0]
        runs = zip(noise.weights(changed, count), noise.weights(dataclasses.replace(changed, weight=there), count), strict=True)
        return np.array([_makespan(changed, found.drawn(*weights), weights[0]) for weights in runs], "f8")


def answered_anew(base: Run, drawn: Answers, asked: Sequence[tuple[Sequence[Hypothesis], int]]) -> Answers:
    """Return the answers of a run to each of some hypotheses, given the makespan, ns, that it is known to have so: matched anew in all runs
    that are drawn, of the recorded one, too, and under other models. `drawn` are those of the run that keep who got which message.
    """
    handed, noise = handed_out(base.trace), noise_of(base, drawn.noise.draws)
    several = [(Again(handed, hypotheses), makespan) for hypotheses, makespan in asked]
    recorded = dataclasses.replace(drawn.recorded, drawn=Again(handed, ()).drawn(noise, base))
    of = [Answer(again.question, makespan, again.drawn(noise, base)) for again, makespan in several]
    return dataclasses.replace(drawn, recorded=recorded, of=tuple(of))


def _makespan(changed: Weighted, programs: Programs, weight: I8) -> int:
    """Return the makespan of programs, ns; that of the recorded choices where they wait for each other."""
    matched = rematch(programs)
    whole = len(matched.order) == changed.graph.vertices
    return makespan(changed.graph, matched.time if whole else sweep(changed.graph, weight))
