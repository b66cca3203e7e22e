"""Collectives made by another algorithm: of each routine by what takes least for its processes and bytes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz import words
from perwiz.errors import GraphError, UsageError
from perwiz.loggps.algorithms.play import Instances
from perwiz.loggps.model import Model
from perwiz.trace.trace import Trace
from perwiz.whatif.hypotheses.collectives import BEST, Collective, Plan
from perwiz.whatif.ranking.change import Asker, Change, NotTriedError

ROOM = 1_000_000
"""Vertices of the largest graph that is tried: each routine asks for one of its own."""
_UNTOLD, _LEAST = 0.1, 0.001
"""Part of the time in a routine of which nothing may tell how its collectives were made; part of the makespan that is worth naming."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Planned(Collective):
    """The same with its plan made, for the model it was made for."""

    made: Plan
    model: Model

    def plan(self, trace: Trace, model: Model, network: Model, made: object = None, placed: Trace | None = None) -> Plan:
        """Return what becomes of the collectives."""
        fits = model is self.model and network is self.model and (placed or trace) is self.made.instances.trace
        return self.made if fits else Collective(self.argument).plan(trace, model, network, placed=placed)


def changes(asker: Asker) -> list[Change]:
    """Return what gains if the collectives of a routine are made another way.

    Raises NotTriedError if the graph is too large; and, with what gains of the others, for routines of which nothing tells how they were
    made: what another way would gain over a guess is one, too.
    """
    run, trace = asker.run, asker.run.trace
    instances = Instances(trace)
    kinds = np.unique(instances.kind[instances.chosen]).tolist()
    if kinds and run.graph.vertices > ROOM:
        calls = words.several(len(trace.calls), "call")
        raise NotTriedError(f"{calls} are too many for it in this list; perwiz predict --collective allreduce=best asks for one routine")
    out, guessed = list[Change](), list[str]()
    for routine in sorted({instances.routine(kind) for kind in kinds}):
        model = run.weighted.model
        plan = Collective(f"{routine}={BEST}").plan(trace, model, model)
        ways = {one.group.way for one in plan.changed}
        if all(one.group.way == one.was.way for one in plan.changed):
            continue
        took, untold = _times(plan)
        if untold > _UNTOLD * took:
            guessed += [routine] if untold >= _LEAST * run.makespan else []
            continue
        argument = f"{routine}={ways.pop() if len(ways) == 1 else BEST}"
        planned = _Planned(argument, plan, model)
        try:
            makespan = asker.makespan(planned)
        except (GraphError, UsageError):
            continue  # or behind changes that say already how it is made
        if run.makespan - makespan >= _LEAST * run.makespan:
            by = " and ".join(dict.fromkeys(str(one.group.way) for one in plan.changed))
            what = f"MPI_{routine.capitalize()} made by {by}"
            out.append(Change("algorithm", "routine", f"{Collective.word} {argument}", what, makespan, made=planned))
    if guessed:
        raise NotTriedError(_ask(guessed), out)
    return out


def _times(plan: Plan) -> tuple[int, int]:
    """Return how long collectives take behind their last entries, and those of them of which nothing tells how they were made, ns."""
    took = np.maximum(plan.instances.behind_last(plan.instances.leave), 0)
    time = [(int(took[one.group.rows].sum()), one.was.told) for one in plan.changed]
    return sum(ns for ns, _ in time), sum(ns for ns, told in time if not told)


def _ask(routines: Sequence[str]) -> str:
    """Return why routines were not tried, and how to ask."""
    names = " and ".join(f"MPI_{routine.capitalize()}" for routine in routines)
    ask = " or ".join(f"--{Collective.word} {routine}={BEST}" for routine in routines)
    was = f"'{routines[0]}={BEST} was NAME'"
    return f"the times of {names} fit no known algorithm, so what another gains is a guess: {ask}, or say how they were made, {was}"
