"""What a predicted run becomes if its receives take what comes first."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.engines import rematch as engines
from perwiz.loggps.weigh import Weighted, measured
from perwiz.trace.arrays import F8, I8, Mask
from perwiz.trace.resources import remembered
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import Hypothesis, apply
from perwiz.whatif.hypotheses.computation import Speed, number
from perwiz.whatif.rematch.choices import Choices, choices
from perwiz.whatif.rematch.farms import Tasks, tasks
from perwiz.whatif.rematch.polls import waiting
from perwiz.whatif.rematch.programs import Open, opened, rewired
from perwiz.whatif.rematch.queues import with_queues
from perwiz.whatif.rematch.turns import Turns, turns
from perwiz.whatif.rematch.written import Written, written
from perwiz.whatif.run import Run, run_of

ENGINES = {"sweep": engines.rematch, "replay": engines.simulate}
"""The engine for programs beside that for fixed orders."""


@dataclasses.dataclass(frozen=True, eq=False)
class Rematched:
    """How a predicted run whose receives are matched anew differs from the one that keeps who got which message."""

    kept: int
    """Makespan, ns, of the one that keeps it."""
    reason: str
    """Why choices are kept, in words; empty if they are not."""
    receives: I8
    """Calls that receive another message than in the recorded run, rows, ascending."""
    tasks: int
    """Tasks that go to whoever comes for the next one; 0 if there are none."""
    fetched: int
    """Those of them that are taken from a counter; masters hand out the others."""
    moved: int
    """Those of them that another process runs."""
    masters: I8
    """Locations that hand out tasks."""
    serving: I8
    """Locations, no masters, that do for each process what they did for it, in whatever order they hear from them."""
    written: Written | None = None
    """The run as a trace; None if choices are kept, or if calls or regions that tasks begin and end in do not fit each other."""


@dataclasses.dataclass(frozen=True, eq=False)
class Handed:
    """What of a trace is matched anew, the tasks in it that move, and what else goes with what is heard."""

    choices: Choices
    tasks: Tasks
    turns: Turns

    @property
    def masters(self) -> I8:
        """Locations that hand out tasks, or answer each process with its own next one; ascending."""
        return np.union1d([farm.master for farm in self.tasks.farms], self.turns.location).astype("i8")

    def waiting(self, weighted: Weighted, recorded: I8, as_recorded: I8) -> Weighted:
        """Return the graph in which processes wait for what is matched anew where they poll for it; arguments as of `polls.waiting`."""
        anew = self.choices.anew.copy()
        anew[self.tasks.answer] = anew[self.tasks.last] = True
        return dataclasses.replace(weighted, weight=waiting(weighted, recorded, as_recorded, anew))

    def opened(self, before: Weighted, changed: Weighted, recorded: I8, hypotheses: Sequence[Hypothesis]) -> Open:
        """Return the programs of what hypotheses make of a run, which has these `recorded` times per vertex."""
        return opened(changed, recorded, self.choices, self.tasks, self.turns, self.elsewhere(before, changed, hypotheses))

    def elsewhere(self, before: Weighted, changed: Weighted, hypotheses: Sequence[Hypothesis]) -> tuple[I8, F8]:
        """Return the weights without the speeds of processes, which are not their tasks', and how much slower each location is."""
        slowness = np.ones(len(before.trace.locations))
        speeds = [hypothesis for hypothesis in hypotheses if isinstance(hypothesis, Speed)]
        if not len(self.tasks.home) or not speeds:
            return changed.weight, slowness
        for speed in speeds:
            which, factor = number(speed, speed.argument)
            slowness[selectors.processors(before.trace, which)] /= factor
        return apply(before, [hypothesis for hypothesis in hypotheses if hypothesis not in speeds]).weight, slowness


@remembered(2)
def handed_out(trace: Trace) -> Handed:
    """Return what of a trace is matched anew."""
    found, handed = choices(trace), tasks(trace)
    moving = [location for farm in handed.farms for location in (farm.master, *farm.workers)]
    chosen = found.chosen.copy()
    chosen[np.append(handed.answer, handed.last)] = False  # who waits for a task chooses none
    found = with_queues(dataclasses.replace(found, chosen=chosen), trace, handed.queues)
    return Handed(found, handed, turns(trace, found, np.array(moving, "i8")).and_of(handed.queues))


def rematched(base: Run, changed: Run, hypotheses: Sequence[Hypothesis], engine: str = "sweep") -> tuple[Run, Rematched]:
    """Return the run that `changed`, which hypotheses make of `base`, becomes if receives take what comes first.

    Choices are kept, and the run is `changed`, where calls come in another order, where nothing can be matched anew, where who receives
    another message answers it though it hands out no tasks that are known, and where programs would wait for each other: what they do next
    depends on what they got.
    """
    none = np.zeros(0, "i8")
    if changed.order is not None:
        return changed, Rematched(changed.makespan, "calls come in another order", none, 0, 0, 0, none, none)
    of = handed_out(base.trace)
    handed, before = of.tasks, dataclasses.replace(base.weighted, weight=measured(base.weighted).weight)
    time = base.time
    before, waits = (of.waiting(weighted, time, before.weight) for weighted in (before, changed.weighted))
    found = of.opened(before, waits, time, hypotheses)
    masters = np.array([farm.master for farm in handed.farms], "i8")
    fetched = int((~handed.counters.ends).sum())
    serving = of.turns.serving
    kept = Rematched(changed.makespan, "nothing can be matched anew", none, len(handed.home), fetched, 0, masters, serving)
    if not len(found.programs.receives):
        return changed, kept
    matched = ENGINES[engine](found.programs)
    if len(matched.order) < changed.graph.vertices:
        return changed, dataclasses.replace(
            kept, reason="what processes do next depends on what they got, else they wait for each other for ever"
        )
    others = found.message[matched.taken] != found.received
    others &= ~np.append(found.carries, True)[found.received]
    if _answered(base, found, others, np.append(masters, serving)):
        return changed, dataclasses.replace(
            kept, reason="whom a process answers depends on what it got, and no tasks are known that it hands out"
        )
    run = run_of(changed.clocks, changed.machine, rewired(waits, found, matched), changed.origin, engine)
    receives = np.unique(base.trace.messages.receive[found.received[others]]).astype("i8")
    moved = int((matched.seat != found.programs.home).sum())
    posts, table, real = base.trace.messages.receive.astype("i8"), base.trace.messages, found.received != NONE
    real &= ~np.append(found.stays, False)[found.received]
    posts[found.message[matched.taken[real]]] = table.receive[found.received[real]]
    told = written(base.trace, run.graph, run.recorded_rows(), posts)
    return run, dataclasses.replace(kept, reason="", receives=receives, moved=moved, written=told)


def _answered(base: Run, found: Open, others: Mask, masters: I8) -> bool:
    """Return whether a location, none of some masters, that gets other messages sends any to their senders behind the first of them."""
    table, location = base.trace.messages, base.trace.calls.location
    got = found.received[others]
    first = np.full(len(base.trace.locations), len(location))
    np.minimum.at(first, location[table.receive[got]], table.receive[got])
    first[masters] = len(location)
    size = len(first)
    asked = np.unique(location[table.receive[got]].astype("i8") * size + location[table.send[got]])
    back = location[table.send].astype("i8") * size + location[table.receive]
    return bool((np.isin(back, asked) & (table.send > first[location[table.send]])).any())
