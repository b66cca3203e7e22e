"""From a trace and hypotheses to a prediction: build, weigh, replay unchanged, change, replay again."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from perwiz.loggps.model import Model
from perwiz.loggps.weigh import Misfit
from perwiz.trace.arrays import I8
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif import selectors
from perwiz.whatif.health import Health
from perwiz.whatif.hypotheses.base import Asked, Hypothesis, apply, parse_all
from perwiz.whatif.hypotheses.network import Network
from perwiz.whatif.hypotheses.waits import ZeroWait
from perwiz.whatif.matching import Matching, matching
from perwiz.whatif.order.reorder import Reordered
from perwiz.whatif.run import COSTS, Run, replayed, swept_makespan, under, with_costs
from perwiz.whatif.waits import Waits


@dataclasses.dataclass(frozen=True, eq=False)
class Prediction:
    """A predicted run beside the recorded one: all has the rows of the recorded one, also where calls come in another order."""

    base: Run
    """The recorded run, replayed unchanged."""
    changed: Run
    """What the hypotheses make of it."""
    hypotheses: tuple[Hypothesis, ...]
    engine: str
    range: tuple[int, int] | None
    """Smallest and largest predicted makespan, ns, if all costs of the model were half or twice as large; None if a
    hypothesis changes the network."""
    matching: Matching
    """Choices among messages that the predicted run would make otherwise."""

    def __repr__(self) -> str:
        asked = "; ".join(map(str, self.hypotheses)) or "no hypothesis"
        return f"<Prediction of {self.trace.path} under {asked}: {self.recorded.makespan} ns becomes {self.predicted.makespan} ns>"

    @property
    def trace(self) -> Trace:
        """The recorded run, its clocks made consistent."""
        return self.base.trace

    @property
    def model(self) -> Model:
        """That of the network the run was recorded on."""
        return self.base.weighted.model

    @property
    def recorded(self) -> Timeline:
        """When it happened."""
        return self.trace.timeline

    @cached_property
    def predicted(self) -> Timeline:
        """When it would happen."""
        return self.changed.recorded_rows()

    @property
    def gain(self) -> int:
        """Recorded minus predicted makespan, ns."""
        return self.recorded.makespan - self.predicted.makespan

    @property
    def replay_error(self) -> int:
        """Largest distance, ns, of the replayed unchanged run from the recording, over all calls."""
        return self.base.replay_error

    @property
    def size(self) -> I8:
        """Bytes per message in the predicted run."""
        size = self.changed.weighted.size
        return size if self.order is None else size[self.order.message]

    @property
    def waits_before(self) -> Waits:
        """How long each call waited, and for which."""
        return self.base.waits

    @property
    def waits_after(self) -> Waits:
        """How long each call would wait, and for which."""
        return self.changed.waits

    @property
    def zeroed(self) -> I8:
        """Calls whose wait was zeroed."""
        mask = np.zeros(len(self.trace.calls), bool)
        for hypothesis in self.hypotheses:
            if isinstance(hypothesis, ZeroWait):
                mask |= selectors.calls(self.trace, hypothesis.argument)
        return np.flatnonzero(mask)

    @property
    def misfit(self) -> Misfit:
        """How the recording contradicts the model."""
        return self.base.weighted.misfit

    @cached_property
    def health(self) -> Health:
        """What is missing in the trace."""
        return self.base.health()

    @property
    def deadlocks(self) -> int:
        """Messages that would be synchronous under the hypotheses, and then deadlock the program; their senders are not held here."""
        return self.base.graph.deadlocks

    @property
    def order(self) -> Reordered | None:
        """The program in the order of calls that the predicted run has; None if it is the recorded one."""
        return self.changed.order


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
    asked = parse_all(hypotheses)
    base = replayed(trace, model, clock, asked, engine)
    changed = under(base, asked, engine)
    return Prediction(base, changed, asked, engine, range=spread(base, changed, asked), matching=matching(base, changed))


def spread(base: Run, changed: Run, hypotheses: Sequence[Hypothesis]) -> tuple[int, int] | None:
    """Return the smallest and largest makespan, ns, of a changed run under its model's COSTS; None if a hypothesis changes the model."""
    if any(isinstance(hypothesis, Network) for hypothesis in hypotheses):
        return None
    others = (
        [swept_makespan(apply(with_costs(base, factor), hypotheses)) for factor in COSTS] if hypotheses else [base.trace.timeline.makespan]
    )
    return min(changed.makespan, *others), max(changed.makespan, *others)


def predicted_trace(prediction: Prediction) -> Trace:
    """Return the trace of the predicted run: its order of calls and timeline, the new sizes of messages and of the calls that move them."""
    trace, size = prediction.changed.trace, prediction.changed.weighted.size
    more = size - trace.messages.bytes
    sent, received = trace.calls.bytes_sent.copy(), trace.calls.bytes_received.copy()
    np.add.at(sent, trace.messages.send, more)
    np.add.at(received, trace.messages.receive_done, more)
    calls, messages = (
        dataclasses.replace(trace.calls, bytes_sent=sent, bytes_received=received),
        dataclasses.replace(trace.messages, bytes=size),
    )
    return dataclasses.replace(trace, calls=calls, messages=messages, timeline=prediction.changed.timeline)
