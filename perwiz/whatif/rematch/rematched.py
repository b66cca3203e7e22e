"""What a predicted run becomes if its receives take what comes first."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.engines import rematch as engines
from perwiz.loggps.weigh import measured
from perwiz.trace.arrays import F8, I8
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import Hypothesis, apply
from perwiz.whatif.hypotheses.computation import Speed, number
from perwiz.whatif.rematch.choices import choices
from perwiz.whatif.rematch.farms import Tasks, tasks
from perwiz.whatif.rematch.programs import Open, opened, rewired
from perwiz.whatif.run import Run, run_of

ENGINES = {"sweep": engines.rematch, "replay": engines.simulate}
"""The engine for programs beside that for fixed orders."""


@dataclasses.dataclass(frozen=True, eq=False)
class Rematched:
    """A predicted run whose receives are matched anew, beside the one that keeps who got which message."""

    run: Run
    kept: int
    """Makespan, ns, of the one that keeps it."""
    receives: I8
    """Calls that receive another message than in the recorded run, rows, ascending."""
    tasks: int
    """Tasks that a master hands out, of all farms; 0 if there is no farm."""
    moved: int
    """Those of them that another process runs."""
    masters: I8
    """Locations that hand out tasks."""


def rematched(base: Run, changed: Run, hypotheses: Sequence[Hypothesis], engine: str = "sweep") -> Rematched | None:
    """Return the run that `changed`, which hypotheses make of `base`, becomes if receives take what comes first.

    None where calls come in another order or nothing can be matched anew, and where programs would then wait for each other for ever: what
    they do next depends on what they received in a way that the trace does not tell.
    """
    if changed.order is not None:
        return None
    found, handed = _opened(base, changed, hypotheses)
    if not len(found.message):
        return None
    matched = ENGINES[engine](found.programs)
    if len(matched.order) < changed.graph.vertices:
        return None
    run = run_of(changed.clocks, changed.machine, rewired(changed.weighted, found, matched), changed.origin, engine)
    others = found.message[matched.taken] != found.received
    others &= ~found.carries[found.received]
    return Rematched(
        run=run,
        kept=changed.makespan,
        receives=np.unique(base.trace.messages.receive[found.received[others]]).astype("i8"),
        tasks=len(handed.answer),
        moved=int((matched.seat != found.programs.home).sum()),
        masters=np.array([farm.master for farm in handed.farms], "i8"),
    )


def _opened(base: Run, changed: Run, hypotheses: Sequence[Hypothesis]) -> tuple[Open, Tasks]:
    """Return what of a changed run is matched anew, and the tasks in it."""
    trace = base.trace
    anew = choices(trace)
    handed = tasks(trace, anew.wild)
    others = changed.weighted.weight, np.ones(len(trace.locations))
    speeds = [hypothesis for hypothesis in hypotheses if isinstance(hypothesis, Speed)]
    if len(handed.answer) and speeds:
        others = _without(base, hypotheses, speeds)
    return opened(changed.weighted, base.time, anew, handed, others), handed


def _without(base: Run, hypotheses: Sequence[Hypothesis], speeds: Sequence[Speed]) -> tuple[I8, F8]:
    """Return the weights without the speeds of processes, which are theirs and not their tasks', and by what each location is slower."""
    slowness = np.ones(len(base.trace.locations))
    for speed in speeds:
        which, factor = number(speed, speed.argument)
        slowness[selectors.processors(base.trace, which)] /= factor
    rest = [hypothesis for hypothesis in hypotheses if hypothesis not in speeds]
    return apply(dataclasses.replace(base.weighted, weight=measured(base.weighted)), rest).weight, slowness
