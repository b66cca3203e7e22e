"""What the trace cannot tell of the machine, varied: the graph of the recorded run, weighted anew under the ends of what is possible."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from perwiz.loggps.inner import with_awaited
from perwiz.loggps.model import Model
from perwiz.loggps.weigh import Weighted, keep_as_measured, weigh
from perwiz.trace.resources import remembered
from perwiz.whatif import rounds
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.order.reorder import in_place
from perwiz.whatif.run import Protocol, Run, graph_of, protocol, settled, with_moved

HELD = "order=held"
"""In another order of calls, what was sent in place holds its sender until the same call of its receiver as recorded."""


@dataclasses.dataclass(frozen=True, eq=False)
class Variation:
    """The recorded run as another machine would explain it that the trace does not rule out."""

    changes: tuple[str, ...]
    """Of the model, one per unknown, as `Model.with_changes` takes them; or HELD."""
    weighted: Weighted
    """Its weights are those of the measured run: questions have copies."""

    def alike(self, run: Run) -> bool:
        """Return whether all weights are those of the run, in all of its parts: only what asks the model once more is another there."""
        own, other = run.weighted, self.weighted
        same = other.graph is own.graph and not rounds.share(own) and np.array_equal(other.weight, own.weight)
        return not run.trace.share.any(not same)


Unknown = tuple[str, Callable[[], Variation | None]]
"""Class and key of what is unknown, and what makes the run as it is where that is otherwise."""


def single(run: Run, more: Iterable[str] = (), hypotheses: Sequence[Hypothesis] = ()) -> list[Unknown]:
    """Return the ends of everything unknown, and `more` changes of the model.

    `hypotheses` are those that will be asked of them.
    """
    ends = [(f"{unknown.pairs}:{unknown.key}", end) for unknown in run.machine.unknown for end in unknown.ends]
    asked = [*ends, *((change.partition("=")[0], change) for change in more)]
    return [(unknown, functools.partial(varied, run, (end,), hypotheses)) for unknown, end in asked]


def weighed(run: Run, model: Model) -> Weighted:
    """Return the recorded run under another model that asks for the same edges."""
    return weigh(run.trace, run.trace.timeline, run.graph, model)


def held(run: Run) -> Variation | None:
    """Return the other way in which what was sent in place may go on if the order of calls changes; None if nothing was."""
    kept = known(run, (HELD,))
    if kept:
        return kept()
    if run.trace.share.team or not len(in_place(run.weighted)[0]):  # of a part of a run no other order is asked about
        return None
    return Variation((HELD,), dataclasses.replace(weighed(run, run.machine.model), held=True))


@remembered(16)
def known(run: Run, changes: tuple[str, ...]) -> Callable[[], Variation | None] | None:
    """Return what gives `varied` of a run whose questions ask for no further edges: nothing, unless somebody tells (`stages`)."""
    return None


def varied(run: Run, changes: tuple[str, ...], hypotheses: Sequence[Hypothesis] = ()) -> Variation | None:
    """Return the recorded run under a changed model; None if nothing in it changes by that: it would say the same again.

    Where other messages are synchronous, or progress is another one and that matters, it has a graph of its own.
    """
    trace, old, share = run.trace, run.machine.model, run.trace.share
    kept = known(run, changes)
    if kept and settled(trace, old, hypotheses):
        return kept()
    model = functools.reduce(Model.with_changes, changes, old)
    known_there = with_moved(trace, model, hypotheses)
    before, now = _before(run, tuple(hypotheses)), protocol(known_there, model, hypotheses)
    pairs = now.pairs(known_there.share)
    more = share.any(np.setdiff1d(pairs, before.pairs(share), assume_unique=True).size)
    anew = more or now.gaps > before.gaps or model.interfaces != old.interfaces
    other = (now.waits != before.waits).any() or not np.array_equal(pairs, before.pairs(share))
    if not anew and not share.any(other) and _same_costs(old, model):
        return None
    graph = run.graph
    if anew:
        trace = with_awaited(known_there, model)
        graph = graph_of(trace, model, hypotheses)
    weighted = weigh(trace, trace.timeline, graph, model)
    keep_as_measured(weighted)
    return Variation(changes, weighted)


@remembered(1)
def _before(run: Run, hypotheses: tuple[Hypothesis, ...]) -> Protocol:
    """Return the protocol of a run, found once."""
    return protocol(run.trace, run.machine.model, hypotheses)


def _same_costs(old: Model, new: Model) -> bool:
    """Return whether two models differ in nothing that a message costs once it is known whether it holds its sender."""
    kept = ("name", "source", "assumed", "limits", "progress", "inline_bytes", "interfaces")
    return dataclasses.replace(new, **{field: getattr(old, field) for field in kept}) == old
