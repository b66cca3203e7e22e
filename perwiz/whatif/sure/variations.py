"""What the trace cannot tell of the machine, varied: the graph of the recorded run, weighted anew under the ends of what is possible."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from perwiz.graph.graph import Graph
from perwiz.loggps.fit import launches
from perwiz.loggps.inner import with_awaited
from perwiz.loggps.machine import Machine
from perwiz.loggps.model import Model
from perwiz.loggps.weigh import Weighted, keep_as_measured, weigh
from perwiz.trace.resources import remembered
from perwiz.trace.trace import Trace
from perwiz.whatif import rounds
from perwiz.whatif.health import missing
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.hypotheses.waits import ZeroTransfer
from perwiz.whatif.order.reorder import in_place
from perwiz.whatif.run import Protocol, Run, graph_of, protocol, settled, with_moved

HELD, GAPS, LATE, AWAITED = "order=held", "gap=other", "missing=late", "missing=awaited"
"""In another order of calls, what was sent in place holds its sender until the same call of its receiver as recorded; what a stream leaves
between kernels that are queued is not what is taken; ranks whose traces are missing come to collectives as late as recorded; or what these
take as recorded is waiting for them, and a change ends it.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class Variation:
    """The recorded run as another machine would explain it that the trace does not rule out."""

    changes: tuple[str, ...]
    """Of the model, one per unknown, as `Model.with_changes` takes them; or HELD, or GAPS."""
    weighted: Weighted
    """Its weights are those of the measured run: questions have copies."""
    unpriced: bool = False
    """Whether these weights are by no model, so that the run has the same."""

    def alike(self, run: Run) -> bool:
        """Return whether all weights are those of the run, in all of its parts: only what asks the model once more is another there."""
        own, other = run.weighted, self.weighted
        same = self.unpriced or (other.graph is own.graph and not rounds.share(own) and np.array_equal(other.weight, own.weight))
        return not run.trace.share.any(not same)


Unknown = tuple[str, str]
"""Class and key of what is unknown, and a change of the model that makes it otherwise."""


def single(machine: Machine, more: Iterable[str] = ()) -> list[Unknown]:
    """Return the ends of everything unknown, and `more` changes of the model."""
    ends = [(f"{unknown.pairs}:{unknown.key}", end) for unknown in machine.unknown for end in unknown.ends]
    return [*ends, *((change.partition("=")[0], change) for change in more)]


def weighed(run: Run, model: Model) -> Weighted:
    """Return the recorded run under another model that asks for the same edges."""
    return weigh(run.trace, run.trace.timeline, run.graph, model)


def unpriced(run: Run) -> bool:
    """Return whether no weight of a run is by a model: it has no messages, nor any inside of collectives."""
    return not (run.trace.share.most(len(run.trace.messages)) or run.weighted.rounds or rounds.share(run.weighted))


def held(run: Run) -> Variation | None:
    """Return the other way in which what was sent in place may go on if the order of calls changes; None if nothing was."""
    kept = known(run, (HELD,))
    if kept:
        return kept()
    if run.trace.share.team or not len(in_place(run.weighted)[0]):  # of a part of a run no other order is asked about
        return None
    return Variation((HELD,), dataclasses.replace(weighed(run, run.machine.model), held=True))


def spaced(run: Run, longest: bool) -> Variation | None:
    """Return the run in which streams leave no gap between kernels, or the longest that they may; None where the recording tells gaps.

    As recorded it takes the same: only a host that is faster lets kernels be queued.
    """
    if not launches.guesses(run.trace, run.graph):
        return None
    weighted = weighed(run, run.machine.model)
    launches.rebind(run.trace, run.trace.timeline, weighted.graph, weighted.weight, longest)
    return Variation((GAPS,), weighted)


def awaited(run: Run) -> Variation | None:
    """Return the run in which collectives with ranks whose traces are missing take no time: all of it was waiting for them; None where no
    rank is missing.
    """
    rows = missing(run.trace)[1]
    if not len(rows):
        return None
    calls = np.zeros(len(run.trace.calls), bool)
    calls[rows] = True
    return Variation((AWAITED,), ZeroTransfer.of(weighed(run, run.machine.model), calls))


@remembered(16)
def known(run: Run, changes: tuple[str, ...]) -> Callable[[], Variation | None] | None:
    """Return what gives `varied` of a run whose questions ask for no further edges: nothing, unless somebody tells (`stages`)."""
    return None


def varied(run: Run, changes: tuple[str, ...], hypotheses: Sequence[Hypothesis] = ()) -> Variation | None:
    """Return the recorded run under a changed model; None if nothing in it changes by that: it would say the same again.

    Where other messages are synchronous, or progress is another one and that matters, it has a graph of its own.
    """
    trace, old = run.trace, run.machine.model
    kept = known(run, changes)
    if kept and settled(trace, old, hypotheses):
        return kept()
    explained = _explained(trace, old, changes, hypotheses)
    if explained.anew:
        return _anew(explained, changes, hypotheses)
    if not explained.otherwise:
        return None
    if unpriced(run):
        recorded = _as_recorded(run.graph, explained.trace, old)
        weighted = dataclasses.replace(recorded, model=explained.model, network=explained.model)
        keep_as_measured(weighted)
        return Variation(changes, weighted, unpriced=True)
    return _as_measured(trace, run.graph, explained.model, changes)


def varied_anew(trace: Trace, old: Model, changes: tuple[str, ...], hypotheses: Sequence[Hypothesis]) -> Variation | None:
    """Return what `varied` does of the run of a trace under a model, where that has a graph of its own; None where it has not: no run has
    to be held for it.
    """
    explained = _explained(trace, old, changes, hypotheses)
    return _anew(explained, changes, hypotheses) if explained.anew else None


@dataclasses.dataclass(frozen=True, eq=False)
class _Explained:
    """A trace as a changed model explains it."""

    trace: Trace
    """With a row for each call that lets messages move."""
    model: Model
    anew: bool
    """Whether it has a graph of its own."""
    otherwise: bool
    """Whether anything in it changes."""


def _explained(trace: Trace, old: Model, changes: tuple[str, ...], hypotheses: Sequence[Hypothesis]) -> _Explained:
    model, share = functools.reduce(Model.with_changes, changes, old), trace.share
    before = _protocol(trace, old, tuple(hypotheses))  # first: what is wrong with a hypothesis is told of the model as it is
    known_there = with_moved(trace, model, hypotheses)
    now = protocol(known_there, model, hypotheses)
    pairs, pairs_before = now.pairs(known_there.share), before.pairs(share)
    more = share.any(np.setdiff1d(pairs, pairs_before, assume_unique=True).size)
    anew = more or now.gaps > before.gaps or model.interfaces != old.interfaces
    other = (now.waits != before.waits).any() or not np.array_equal(pairs, pairs_before)
    return _Explained(known_there, model, anew, anew or share.any(other) or not _same_costs(old, model))


def _anew(explained: _Explained, changes: tuple[str, ...], hypotheses: Sequence[Hypothesis]) -> Variation:
    trace = with_awaited(explained.trace, explained.model)
    return _as_measured(trace, graph_of(trace, explained.model, hypotheses), explained.model, changes)


def _as_measured(trace: Trace, graph: Graph, model: Model, changes: tuple[str, ...]) -> Variation:
    weighted = weigh(trace, trace.timeline, graph, model)
    keep_as_measured(weighted)
    return Variation(changes, weighted)


@remembered(1)
def _as_recorded(graph: Graph, trace: Trace, model: Model) -> Weighted:
    """Return the weights of a run that are by no model, which many variations share."""
    return weigh(trace, trace.timeline, graph, model)


@remembered(1)
def _protocol(trace: Trace, model: Model, hypotheses: tuple[Hypothesis, ...]) -> Protocol:
    """Return the protocol of a run, found once."""
    return protocol(trace, model, hypotheses)


def _same_costs(old: Model, new: Model) -> bool:
    """Return whether two models differ in nothing that a message costs once it is known whether it holds its sender."""
    kept = ("name", "source", "assumed", "limits", "progress", "inline_bytes", "interfaces")
    return dataclasses.replace(new, **{field: getattr(old, field) for field in kept}) == old
