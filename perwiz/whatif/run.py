"""A run that questions start from, and what hypotheses make of it: consistent clocks, the weighted graph, and its sweep."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz import words
from perwiz.clock.treatment import Treated, treat
from perwiz.engines.replay import replay
from perwiz.engines.sweep import sweep
from perwiz.errors import TraceError, UsageError
from perwiz.graph.build import build
from perwiz.graph.graph import Graph
from perwiz.loggps import model_file
from perwiz.loggps.inner import inner_waits
from perwiz.loggps.model import POSTED, Model
from perwiz.loggps.progress import movers
from perwiz.loggps.weigh import Weighted, holding, timeline_of, weigh
from perwiz.trace.arrays import I8
from perwiz.trace.origin import Origin
from perwiz.trace.resources import give_back
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.health import Health, health
from perwiz.whatif.hypotheses.base import Asked, Hypothesis, change, in_order, parse_all
from perwiz.whatif.order.reorder import Reordered
from perwiz.whatif.waits import Waits, recorded_waits, waiting

ENGINES = {"sweep": sweep, "replay": replay}
COSTS = (0.5, 2.0)
"""Factors on the costs of a model between which the true ones are taken to lie."""
_MOST = 2**60
"""ns that all locations may take together, and bytes of all messages: sums of them are whole numbers of 64 bits."""


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """A run, weighted under a model and swept: the recorded one, or what hypotheses make of it; all times int64 ns."""

    clocks: Treated
    weighted: Weighted
    time: I8
    """Per vertex, by position."""
    waits: Waits
    """Of the recorded calls, in their order."""
    origin: Origin

    def __repr__(self) -> str:
        return f"<Run of {self.trace.path}: {self.makespan} ns under model {self.weighted.model.name}>"

    @property
    def trace(self) -> Trace:
        """The tied part of the trace, its clocks made consistent, its calls in the order of the run."""
        return self.weighted.trace

    @property
    def graph(self) -> Graph:
        """The happened-before graph."""
        return self.weighted.graph

    @property
    def makespan(self) -> int:
        """From the first instant of any process to the last of any, ns."""
        return makespan(self.graph, self.time)

    @property
    def replay_error(self) -> int:
        """Largest distance, ns, of the run from the timeline of its trace, over all calls."""
        graph, recorded = self.graph, self.trace.timeline.calls
        sides = ((graph.entered, recorded.enter), (graph.returned, recorded.leave))
        return max(int(np.abs(self.time[vertex] - times).max(initial=0)) for vertex, times in sides)

    @property
    def order(self) -> Reordered | None:
        """The program in the order of calls that this run has; None if it is the recorded one."""
        return self.weighted if isinstance(self.weighted, Reordered) else None

    def recorded_rows(self) -> Timeline:
        """Return when it happens, with the rows of the recorded trace."""
        timeline = timeline_of(self.weighted, self.time, self.origin)
        return timeline if self.order is None else self.order.as_recorded(timeline)

    def health(self) -> Health:
        """Return what is missing in the trace."""
        return health(self.trace, self.graph.contradictions, self.clocks)


def replayed(trace: Trace, model: Model | str | None = None, clock: str = "clc", hypotheses: Asked = (), engine: str = "sweep") -> Run:
    """Return the run of the tied part of a trace, replayed unchanged, with the rendezvous edges that one of the hypotheses would need.

    Raises UsageError for an unknown engine, hypothesis or clock, ModelError, ClockError.
    """
    asked, model, engine = parse_all(hypotheses), choose_model(model, trace), check_engine(engine)
    clocks = treated(trace, clock)
    return replay_of(clocks, graph_of(clocks.trace, model, asked), model, engine)


def treated(trace: Trace, clock: str = "clc") -> Treated:
    """Return the tied part of a trace with its clocks treated. Raises UsageError and ClockError as `treat`, TraceError as `summable`."""
    return summable(treat(trace, clock))


def summable(clocks: Treated) -> Treated:
    """Return a trace as it is. Raises TraceError if its times or its bytes are too many to be added up."""
    trace = clocks.trace
    span, sent = trace.timeline.makespan, float(trace.messages.bytes.sum(dtype="f8"))
    if span * len(trace.locations) > _MOST:
        many = f"{words.duration(span)} of {words.several(len(trace.locations), 'process')}"
        raise TraceError(f"{trace.path}: {many} add up to more than 2^60 ns, must be less")
    if sent > _MOST:
        raise TraceError(f"{trace.path}: its messages add up to {sent:.3g} bytes, must be at most 2^60")
    return clocks


def replay_of(clocks: Treated, graph: Graph, model: Model, engine: str = "sweep") -> Run:
    """Return the run of a trace of treated clocks over a graph that is there already."""
    trace = clocks.trace
    return run_of(clocks, weigh(trace, trace.timeline, graph, model), trace.timeline.origin, engine)


def under(run: Run, hypotheses: Sequence[Hypothesis], engine: str = "sweep") -> Run:
    """Return the run that a run becomes under hypotheses, which takes over its weights: what it says of times and waits stays true.

    An effect that may precede its cause before may do so then.
    """
    if not hypotheses:
        return run
    reversing = run.origin.effects_may_precede_causes or any(hypothesis.effects_may_precede_causes for hypothesis in hypotheses)
    origin = Origin("predicted", hypotheses=tuple(map(str, hypotheses)), effects_may_precede_causes=reversing)
    return run_of(run.clocks, change(run.weighted, hypotheses), origin, engine)


def run_of(clocks: Treated, weighted: Weighted, origin: Origin, engine: str = "sweep") -> Run:
    """Return the run that a weighted graph gives."""
    time = ENGINES[engine](weighted.graph, weighted.weight)
    waits = waiting(weighted, time)
    give_back()
    return Run(clocks, weighted, time, recorded_waits(waits, weighted.call) if isinstance(weighted, Reordered) else waits, origin)


def graph_of(trace: Trace, model: Model, hypotheses: Sequence[Hypothesis] = ()) -> Graph:
    """Return the graph of a trace under a model, with the rendezvous edges that it or one of the hypotheses needs."""
    waits = holding(trace, model)
    supposed, gaps = np.zeros(len(waits), bool), model.gap != "none"
    network, size = model, trace.messages.bytes
    for hypothesis in in_order(hypotheses):
        network, size = hypothesis.protocol(trace, network, size)
        supposed |= holding(trace, network, size)
        gaps |= network.gap != "none"
    moves, posted = movers(trace, trace.timeline, model), model.progress == POSTED
    graph = build(trace, waits, gaps, moves, supposed & ~waits, inner_waits(trace, model), posted)
    give_back()
    return graph


def with_costs(run: Run, factor: float) -> Weighted:
    """Return the graph of a run weighted anew, under its model with all costs times a factor; thresholds stay."""
    model = run.weighted.model
    costs = dataclasses.replace(model, costs=tuple(row.times(factor) for row in model.costs))
    return weigh(run.trace, run.weighted.timeline, run.graph, costs)


def choose_model(model: Model | str | None, trace: Trace) -> Model:
    """Return a model, given itself, its name or its file; None is that recorded with the trace, else "default". Raises ModelError."""
    if model is None and trace.model:
        own = model_file.load(trace.model)
        told = trace.timeline.origin if trace.timeline.origin.predicted else "recorded with the trace"
        return dataclasses.replace(own, source=f"{own.source}; {told}")
    return model if isinstance(model, Model) else model_file.load(model or "default")


def check_engine(engine: str) -> str:
    """Return the name of an engine. Raises UsageError for another name."""
    if engine not in ENGINES:
        raise UsageError(f"engine '{engine}': must be one of {', '.join(ENGINES)}")
    return engine


def makespan(graph: Graph, time: I8) -> int:
    """Return the time from the first instant of any location to the last of any, ns, when vertices have these times."""
    return int(time[graph.ended].max() - time[graph.begun].min()) if len(graph.ended) else 0


def swept_makespan(weighted: Weighted) -> int:
    """Return the makespan that a weighted graph gives, ns."""
    return makespan(weighted.graph, sweep(weighted.graph, weighted.weight))
