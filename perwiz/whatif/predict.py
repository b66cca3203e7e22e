"""From a trace and hypotheses to a prediction: build, weigh, replay unchanged, change, replay again."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Sequence

import numpy as np

from perwiz.clock.treatment import Treated, treat
from perwiz.engines.replay import replay
from perwiz.engines.sweep import sweep
from perwiz.errors import UsageError
from perwiz.graph.build import build
from perwiz.graph.graph import Graph, hubs
from perwiz.kernels import sweep as reading
from perwiz.loggps import model as models
from perwiz.loggps.model import Model
from perwiz.loggps.weigh import Misfit, Weighted, synchronous, timeline_of, weigh
from perwiz.trace.memory import give_back
from perwiz.trace.table import Ints, pieces
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif import selectors
from perwiz.whatif.health import Health, health
from perwiz.whatif.hypotheses import Hypothesis, Network, ZeroWait, parse, zeroes

_LONGEST_NAME = 400
ENGINES = {"sweep": sweep, "replay": replay}


@dataclasses.dataclass(frozen=True, eq=False)
class Waits:
    """How long each call waits for its partners in one run."""

    time: Ints
    """ns per call."""
    partner: Ints
    """Call that is waited for, -1 if none; in a collective the one that entered last."""


@dataclasses.dataclass(frozen=True, eq=False)
class Prediction:
    """A predicted run beside the recorded one."""

    trace: Trace
    model: Model
    hypotheses: tuple[Hypothesis, ...]
    engine: str
    recorded: Timeline
    predicted: Timeline
    replay_error: int
    """Largest distance, ns, of the replayed unchanged run from the recording, over all calls."""
    size: Ints
    """Bytes per message in the predicted run."""
    waits_before: Waits
    waits_after: Waits
    zeroed: Ints
    """Calls whose wait was zeroed."""
    misfit: Misfit
    health: Health
    deadlocks: int
    """Messages that would be synchronous under the hypotheses, and then make the program deadlock; their senders are not held here."""
    range: tuple[int, int] | None
    """Smallest and largest predicted makespan, ns, if all costs of the model were half or twice as large; None if a
    hypothesis changes the network."""

    def __repr__(self) -> str:
        asked = "; ".join(map(str, self.hypotheses)) or "no hypothesis"
        return f"<Prediction of {self.trace.path} under {asked}: {self.recorded.makespan} ns becomes {self.predicted.makespan} ns>"

    @property
    def gain(self) -> int:
        """Recorded minus predicted makespan, ns."""
        return self.recorded.makespan - self.predicted.makespan


def treated(trace: Trace, clock: str) -> Treated:
    """Return the trace with consistent clocks, as `perwiz.clock.treatment` does; a run predicted with waits zeroed keeps its times."""
    return treat(trace, clock, sound=zeroes(trace.timeline.made_by))


def weighted_graph(trace: Trace, model: Model, hypotheses: Sequence[Hypothesis] = ()) -> Weighted:
    """Return the graph of a trace weighted under a model, with the rendezvous edges that it or one of the hypotheses needs."""
    return weigh(trace, trace.timeline, _graph(trace, model, hypotheses), model)


def _graph(trace: Trace, model: Model, hypotheses: Sequence[Hypothesis]) -> Graph:
    waits = synchronous(trace.messages, model)
    supposed, gaps = np.zeros(len(waits), bool), model.gap != "none"
    network, size = model, trace.messages.bytes
    for hypothesis in _ordered(hypotheses):
        network, size = hypothesis.protocol(trace, network, size)
        supposed |= synchronous(trace.messages, network, size)
        gaps |= network.gap != "none"
    return build(trace, waits, gaps, model.progress, supposed & ~waits)


def predict(
    trace: Trace,
    hypotheses: Hypothesis | str | Sequence[Hypothesis | str] = (),
    model: Model | str | None = None,
    engine: str = "sweep",
    clock: str = "clc",
) -> Prediction:
    """Return the run that a trace would become under hypotheses, all times int64 ns.

    A hypothesis is a Hypothesis or its text; `model` is a Model, a shipped name or a file (default: "default"); `engine` is sweep or
    replay; `clock` says what to do about clocks that disagree: "clc" corrects them, "linear" interpolates measured offsets, "none" takes
    the times as they are. Hypotheses are applied network and messages first, then computation, then single calls; within each in the
    order given. Raises UsageError, ModelError, ClockError.
    """
    asked = _asked(hypotheses)
    if engine not in ENGINES:
        raise UsageError(f"engine '{engine}': must be one of {', '.join(ENGINES)}")
    if not isinstance(model, Model):
        model = models.load(model or "default")
    run = ENGINES[engine]
    clocks = treated(trace, clock)
    trace = clocks.trace
    graph = _graph(trace, model, asked)
    give_back()
    spread = _spread(trace, graph, asked, model)
    weighted = weigh(trace, trace.timeline, graph, model)
    misfit = weighted.misfit
    time = run(graph, weighted.weight)
    error = _distance(graph, time, trace.timeline)
    waits_before = waits_after = waiting(weighted, time)
    made_by = trace.timeline.made_by
    if asked:
        del time
        weighted = _changed(weighted, asked)
        time = run(graph, weighted.weight)
        waits_after = waiting(weighted, time)
        made_by = textwrap.shorten("predicted under " + "; ".join(map(str, asked)), _LONGEST_NAME, placeholder=" ...")
    size = weighted.size
    weighted = dataclasses.replace(weighted, weight=weighted.weight[:0].copy())  # the largest array of all has served
    predicted = timeline_of(weighted, time, made_by)
    del time, weighted
    return Prediction(
        *(trace, model, tuple(asked), engine, trace.timeline, predicted, error, size, waits_before, waits_after),
        zeroed=_zeroed(trace, asked),
        misfit=misfit,
        health=health(trace, graph.contradictions, clocks),
        deadlocks=graph.deadlocks,
        range=None if spread is None else (min(predicted.makespan, *spread), max(predicted.makespan, *spread)),
    )


def _asked(hypotheses: Hypothesis | str | Sequence[Hypothesis | str]) -> list[Hypothesis]:
    several = [hypotheses] if isinstance(hypotheses, Hypothesis | str) else hypotheses
    return [parse(hypothesis) if isinstance(hypothesis, str) else hypothesis for hypothesis in several]


def predicted_trace(prediction: Prediction) -> Trace:
    """Return the trace of the predicted run: its timeline, and the new sizes of messages and of the calls that move them."""
    trace, size = prediction.trace, prediction.size
    more = size - trace.messages.bytes
    sent, received = trace.calls.bytes_sent.copy(), trace.calls.bytes_received.copy()
    np.add.at(sent, trace.messages.send, more)
    np.add.at(received, trace.messages.receive_done, more)
    calls = dataclasses.replace(trace.calls, bytes_sent=sent, bytes_received=received)
    return dataclasses.replace(trace, calls=calls, messages=dataclasses.replace(trace.messages, bytes=size), timeline=prediction.predicted)


def _spread(trace: Trace, graph: Graph, hypotheses: Sequence[Hypothesis], model: Model) -> list[int] | None:
    """Return the predicted makespans, ns, under half and under twice the model's costs; None if a hypothesis changes the model."""
    if any(isinstance(hypothesis, Network) for hypothesis in hypotheses):
        return None
    if not hypotheses:
        return [trace.timeline.makespan] * 2
    return [_makespan(_changed(weigh(trace, trace.timeline, graph, _times(model, factor)), hypotheses)) for factor in (0.5, 2.0)]


def _makespan(weighted: Weighted) -> int:
    graph = weighted.graph
    time = sweep(graph, weighted.weight)
    return int(time[graph.ended].max() - time[graph.begun].min()) if len(graph.ended) else 0


def _times(model: Model, factor: float) -> Model:
    """Return the model with all costs times a factor; thresholds stay."""
    return dataclasses.replace(model, **{letter: getattr(model, letter) * factor for letter in "LogGO"})


def _changed(weighted: Weighted, hypotheses: Sequence[Hypothesis]) -> Weighted:
    """Return the graph under all hypotheses; the weights of the one given are overwritten."""
    for hypothesis in _ordered(hypotheses):
        weighted = hypothesis.change(weighted)
    return weighted


def _ordered(hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Return hypotheses in the order they are applied."""
    return sorted(hypotheses, key=lambda h: h.stage)


def _distance(graph: Graph, time: Ints, timeline: Timeline) -> int:
    """Return the largest distance, ns, of the calls' vertex times from a timeline."""
    sides = ((graph.entered, timeline.calls.enter), (graph.returned, timeline.calls.leave))
    return max(int(np.abs(time[vertex] - recorded).max(initial=0)) for vertex, recorded in sides)


def waiting(weighted: Weighted, time: Ints) -> Waits:
    """Return how long each call waits for its partners when vertices have these times, and for which call."""
    graph = weighted.graph
    wait = np.empty(len(graph.returned), "i8")
    edge = np.empty(len(graph.returned), "i4")
    reading.waits(graph.start, graph.source, graph.kind, weighted.weight, time, graph.returned, wait, edge)
    return Waits(wait, _behind(graph, time, edge))


def _behind(graph: Graph, time: Ints, edge: Ints) -> Ints:
    """Return `edge` with each edge replaced by the call behind it, in place; behind a hub, the one that entered last."""
    owner = np.full(graph.vertices, -1, "i4")
    owner[graph.entered] = np.arange(len(graph.entered), dtype="i4")
    reading.latest(graph.start, graph.source, hubs(graph), time, owner)
    for piece in pieces(len(edge)):
        waits = np.flatnonzero(edge[piece] >= 0) + piece.start
        edge[waits] = owner[graph.source[edge[waits]]]
    return edge


def _zeroed(trace: Trace, hypotheses: Sequence[Hypothesis]) -> Ints:
    mask = np.zeros(len(trace.calls), bool)
    for hypothesis in hypotheses:
        if isinstance(hypothesis, ZeroWait):
            mask |= selectors.calls(trace, hypothesis.argument)
    return np.flatnonzero(mask)
