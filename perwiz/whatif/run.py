"""The run that every question starts from: consistent clocks, the weighted graph, and its unchanged replay."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.clock.treatment import Treated, treat
from perwiz.engines.replay import replay
from perwiz.engines.sweep import sweep
from perwiz.errors import UsageError
from perwiz.graph.build import build
from perwiz.graph.graph import Graph
from perwiz.loggps import model as models
from perwiz.loggps.inner import inner_waits
from perwiz.loggps.model import Model
from perwiz.loggps.weigh import Weighted, synchronous, weigh
from perwiz.trace.arrays import Ints
from perwiz.trace.memory import give_back
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.health import Health, health
from perwiz.whatif.hypotheses.base import Hypothesis, parse, together
from perwiz.whatif.waits import Waits, waiting

ENGINES = {"sweep": sweep, "replay": replay}
Asked = Hypothesis | str | Sequence[Hypothesis | str]
"""Hypotheses, or their texts."""


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """A recorded run, weighted under a model and replayed unchanged; all times int64 ns."""

    clocks: Treated
    weighted: Weighted
    time: Ints
    """Per vertex, by position."""
    waits: Waits
    replay_error: int
    """Largest distance, ns, of the replayed run from the recording, over all calls."""

    def __repr__(self) -> str:
        return f"<Run of {self.trace.path}: {self.makespan} ns under model {self.weighted.model.name}>"

    @property
    def trace(self) -> Trace:
        """The trace, its clocks made consistent."""
        return self.weighted.trace

    @property
    def graph(self) -> Graph:
        """The happened-before graph."""
        return self.weighted.graph

    @property
    def makespan(self) -> int:
        """From the first instant of any process to the last of any, ns."""
        return makespan(self.graph, self.time)

    def health(self) -> Health:
        """Return what is missing in the trace."""
        return health(self.trace, self.graph.contradictions, self.clocks)


def replayed(trace: Trace, model: Model | str | None = None, clock: str = "clc", hypotheses: Asked = (), engine: str = "sweep") -> Run:
    """Return the run of a trace, replayed unchanged: its graph has the rendezvous edges that one of the hypotheses would need.

    Raises UsageError for an unknown engine, hypothesis or clock, ModelError, ClockError.
    """
    asked, model = listed(hypotheses), loaded(model, trace)
    clocks = treat(trace, clock)
    return replay_of(clocks, graph_of(clocks.trace, model, asked), model, engine)


def replay_of(clocks: Treated, graph: Graph, model: Model, engine: str = "sweep") -> Run:
    """Return the run of a trace of treated clocks over a graph that is there already."""
    weighted = weigh(clocks.trace, clocks.trace.timeline, graph, model)
    time = ENGINES[engine](graph, weighted.weight)
    error = _distance(graph, time, clocks.trace.timeline)
    return Run(clocks, weighted, time, waiting(weighted, time), error)


def weighted_graph(trace: Trace, model: Model, hypotheses: Sequence[Hypothesis] = ()) -> Weighted:
    """Return the graph of a trace weighted under a model, with the rendezvous edges that it or one of the hypotheses needs."""
    return weigh(trace, trace.timeline, graph_of(trace, model, hypotheses), model)


def graph_of(trace: Trace, model: Model, hypotheses: Sequence[Hypothesis] = ()) -> Graph:
    """Return the graph of a trace under a model, with the rendezvous edges that it or one of the hypotheses needs."""
    waits = synchronous(trace.messages, model)
    supposed, gaps = np.zeros(len(waits), bool), model.gap != "none"
    network, size = model, trace.messages.bytes
    for hypothesis in ordered(hypotheses):
        network, size = hypothesis.protocol(trace, network, size)
        supposed |= synchronous(trace.messages, network, size)
        gaps |= network.gap != "none"
    graph = build(trace, waits, gaps, model.progress, supposed & ~waits, inner_waits(trace, model))
    give_back()
    return graph


def listed(hypotheses: Asked) -> list[Hypothesis]:
    """Return hypotheses, texts parsed. Raises UsageError for a text that is none."""
    several = [hypotheses] if isinstance(hypotheses, Hypothesis | str) else hypotheses
    return [parse(hypothesis) if isinstance(hypothesis, str) else hypothesis for hypothesis in several]


def loaded(model: Model | str | None, trace: Trace) -> Model:
    """Return a model, given itself, its name or its file; None is that recorded with the trace, else "default". Raises ModelError."""
    if model is None and trace.model:
        own = models.load(trace.model)
        return dataclasses.replace(own, source=f"{own.source}; recorded with the trace")
    return model if isinstance(model, Model) else models.load(model or "default")


def checked(engine: str) -> str:
    """Return the name of an engine. Raises UsageError for another name."""
    if engine not in ENGINES:
        raise UsageError(f"engine '{engine}': must be one of {', '.join(ENGINES)}")
    return engine


def ordered(hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Return hypotheses in the order they are applied."""
    return sorted(hypotheses, key=lambda h: h.stage)


def changed(weighted: Weighted, hypotheses: Sequence[Hypothesis]) -> Weighted:
    """Return the graph under all hypotheses; the weights of the one given may be overwritten."""
    for hypothesis in together(hypotheses):
        weighted = hypothesis.change(weighted)
    return weighted


def makespan(graph: Graph, time: Ints) -> int:
    """Return the time from the first instant of any location to the last of any, ns, when vertices have these times."""
    return int(time[graph.ended].max() - time[graph.begun].min()) if len(graph.ended) else 0


def _distance(graph: Graph, time: Ints, timeline: Timeline) -> int:
    """Return the largest distance, ns, of the calls' vertex times from a timeline."""
    sides = ((graph.entered, timeline.calls.enter), (graph.returned, timeline.calls.leave))
    return max(int(np.abs(time[vertex] - recorded).max(initial=0)) for vertex, recorded in sides)
