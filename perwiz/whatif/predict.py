"""From a trace and hypotheses to a prediction: build, weigh, replay unchanged, change, replay again."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.clock.treatment import treat
from perwiz.engines.sweep import sweep
from perwiz.graph.graph import Graph
from perwiz.loggps.model import Model
from perwiz.loggps.weigh import Misfit, timeline_of, weigh
from perwiz.trace.arrays import Ints
from perwiz.trace.origin import Origin
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif import selectors
from perwiz.whatif.health import Health, health
from perwiz.whatif.hypotheses.base import Hypothesis, Network, ZeroWait
from perwiz.whatif.matching import Matching, Side, matching
from perwiz.whatif.order.reorder import Reordered, recorded_rows
from perwiz.whatif.order.tables import placed
from perwiz.whatif.run import ENGINES, Asked, changed, checked, graph_of, listed, loaded, makespan, replay_of
from perwiz.whatif.waits import Waits, in_order, waiting


@dataclasses.dataclass(frozen=True, eq=False)
class Prediction:
    """A predicted run beside the recorded one: `predicted` has its rows, also where the predicted run makes calls in another order."""

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
    matching: Matching
    """Choices among messages that the predicted run would make otherwise."""
    order: Reordered | None
    """The program in the order of calls that the predicted run has, without weights; None if it is the recorded one."""

    def __repr__(self) -> str:
        asked = "; ".join(map(str, self.hypotheses)) or "no hypothesis"
        return f"<Prediction of {self.trace.path} under {asked}: {self.recorded.makespan} ns becomes {self.predicted.makespan} ns>"

    @property
    def gain(self) -> int:
        """Recorded minus predicted makespan, ns."""
        return self.recorded.makespan - self.predicted.makespan


def predict(
    trace: Trace,
    hypotheses: Asked = (),
    model: Model | str | None = None,
    engine: str = "sweep",
    clock: str = "clc",
) -> Prediction:
    """Return the run that a trace would become under hypotheses, all times int64 ns.

    A hypothesis is a Hypothesis or its text; `model` is a Model, a shipped name or a file (default: that recorded
    with the trace, else "default"); `engine` is sweep or
    replay; `clock` says what to do about clocks that disagree: "clc" corrects them, "linear" interpolates measured offsets, "none" takes
    the times as they are. Hypotheses are applied network and messages first, then computation, then single calls, then the order of calls;
    within each in the order given. Raises UsageError, ModelError, ClockError.
    """
    asked, model, engine = listed(hypotheses), loaded(model, trace), checked(engine)
    clocks = treat(trace, clock)
    trace = clocks.trace
    graph = graph_of(trace, model, asked)
    spread = _spread(trace, graph, asked, model)
    run = replay_of(clocks, graph, model, engine)
    weighted, time, waits_before, error = run.weighted, run.time, run.waits, run.replay_error
    del run
    misfit, waits_after, origin, order = weighted.misfit, waits_before, trace.timeline.origin, None
    if asked:
        del time
        weighted = changed(weighted, asked)
        time = ENGINES[engine](weighted.graph, weighted.weight)
        waits_after = waiting(weighted, time)
        origin = _origin(origin, asked)
    size, network = weighted.size, weighted.network
    weighted = dataclasses.replace(weighted, weight=weighted.weight[:0].copy())  # the largest array of all has served
    predicted = timeline_of(weighted, time, origin)
    was = Side(trace, trace.timeline, model, trace.messages.bytes)
    choices = matching(was, Side(weighted.trace, predicted, network, size), recorded_rows(weighted).call)
    if isinstance(weighted, Reordered):
        order, size = weighted, size[weighted.message]
        predicted, waits_after = weighted.as_recorded(predicted), in_order(waits_after, weighted.call)
    del time, weighted
    return Prediction(
        *(trace, model, tuple(asked), engine, trace.timeline, predicted, error, size, waits_before, waits_after),
        zeroed=_zeroed(trace, asked),
        misfit=misfit,
        health=health(trace, graph.contradictions, clocks),
        deadlocks=graph.deadlocks,
        matching=choices,
        order=order,
        range=None if spread is None else (min(predicted.makespan, *spread), max(predicted.makespan, *spread)),
    )


def predicted_trace(prediction: Prediction) -> Trace:
    """Return the trace of the predicted run: its order of calls and timeline, the new sizes of messages and of the calls that move them."""
    trace, size, predicted = prediction.trace, prediction.size, prediction.predicted
    if prediction.order is not None:
        order = prediction.order
        trace, size, predicted = order.trace, placed(size, order.message), order.in_new_order(predicted)
    more = size - trace.messages.bytes
    sent, received = trace.calls.bytes_sent.copy(), trace.calls.bytes_received.copy()
    np.add.at(sent, trace.messages.send, more)
    np.add.at(received, trace.messages.receive_done, more)
    calls = dataclasses.replace(trace.calls, bytes_sent=sent, bytes_received=received)
    return dataclasses.replace(trace, calls=calls, messages=dataclasses.replace(trace.messages, bytes=size), timeline=predicted)


def _spread(trace: Trace, graph: Graph, hypotheses: Sequence[Hypothesis], model: Model) -> list[int] | None:
    """Return the predicted makespans, ns, under half and under twice the model's costs; None if a hypothesis changes the model."""
    if any(isinstance(hypothesis, Network) for hypothesis in hypotheses):
        return None
    if not hypotheses:
        return [trace.timeline.makespan] * 2
    both = (changed(weigh(trace, trace.timeline, graph, costing(model, factor)), hypotheses) for factor in (0.5, 2.0))
    return [makespan(weighted.graph, sweep(weighted.graph, weighted.weight)) for weighted in both]


def _origin(before: Origin, hypotheses: Sequence[Hypothesis]) -> Origin:
    """Return where the predicted timeline comes from; an effect that precedes its cause does so in a prediction on it too."""
    reversing = before.effects_may_precede_causes or any(hypothesis.effects_may_precede_causes for hypothesis in hypotheses)
    return Origin("predicted", hypotheses=tuple(map(str, hypotheses)), effects_may_precede_causes=reversing)


def costing(model: Model, factor: float) -> Model:
    """Return the model with all costs times a factor; thresholds stay."""
    return dataclasses.replace(model, **{letter: getattr(model, letter) * factor for letter in "LogGO"})


def _zeroed(trace: Trace, hypotheses: Sequence[Hypothesis]) -> Ints:
    mask = np.zeros(len(trace.calls), bool)
    for hypothesis in hypotheses:
        if isinstance(hypothesis, ZeroWait):
            mask |= selectors.calls(trace, hypothesis.argument)
    return np.flatnonzero(mask)
