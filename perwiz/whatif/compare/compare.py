"""How far one run is from another run of the same or of a changed program: a prediction from the measurement, or before from after.

Where one of both is a prediction the other is the reference, and the difference is an error: predicted minus measured. Else the first is,
and the difference is a change: after minus before. Shares are of the reference.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Literal

import numpy as np

from perwiz.errors import TraceError, UsageError
from perwiz.loggps.machine import Machine
from perwiz.trace.arrays import I8
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif import selectors
from perwiz.whatif.compare.align import Alignment, align
from perwiz.whatif.health import Health, health
from perwiz.whatif.hypotheses.base import Asked, Hypothesis, parse_all
from perwiz.whatif.predict import predict, predicted_trace
from perwiz.whatif.run import Start, machine_of, treated


@dataclasses.dataclass(frozen=True, eq=False)
class Side:
    """One of the two runs."""

    trace: Trace
    """Its clocks made consistent."""
    health: Health
    start: int
    """The instant that is the start of both runs, ns; what lies before it is not compared."""

    def since(self, moments: I8) -> I8:
        """Return moments as ns since the start, none before it."""
        return np.asarray(np.maximum(moments - self.start, 0), np.int64)

    @property
    def timeline(self) -> Timeline:
        """The timeline of the trace."""
        return self.trace.timeline

    @property
    def makespan(self) -> int:
        """From the start to the last instant of any location, ns."""
        return int(self.since(self.timeline.locations.leave).max(initial=0))


@dataclasses.dataclass(frozen=True, eq=False)
class Spans:
    """Times of the same things in both runs, ns, one per row."""

    first: I8
    second: I8


@dataclasses.dataclass(frozen=True, eq=False)
class Comparison:
    """Two runs beside each other."""

    first: Side
    second: Side
    alignment: Alignment
    start: str
    """Where both runs start: start, init, or the call of the first run at whose return."""
    compared: I8
    """Rows of the alignment: the pairs of calls that are not over before the start."""
    hypotheses: tuple[Hypothesis, ...] = ()
    """Under which the first run was predicted here."""
    machine: Machine | None = None
    """By which it was; None without hypotheses."""

    def __repr__(self) -> str:
        first, second = (f"{side.trace.path} ({side.makespan} ns)" for side in self.sides)
        return f"<Comparison of {first} with {second}>"

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both runs."""
        return self.first, self.second

    @property
    def kind(self) -> Literal["error", "change"]:
        """What a difference is: an error of a prediction, or a change from one run to another of its kind."""
        first, second = (side.timeline.origin.predicted for side in self.sides)
        return "error" if self.hypotheses or first != second else "change"

    @property
    def reference(self) -> Side:
        """The run that differences are counted from: the measured one, of two of a kind the first."""
        return self.second if self.kind == "error" and self.first.timeline.origin.predicted else self.first

    @property
    def sign(self) -> int:
        """1 where a difference is second minus first, -1 where it is first minus second: the reference is subtracted."""
        return 1 if self.reference is self.first else -1

    @property
    def difference(self) -> int:
        """How far the makespan since the start is from that of the reference, ns."""
        return self.sign * (self.second.makespan - self.first.makespan)

    @property
    def share(self) -> float:
        """The difference as a part of the makespan of the reference; infinite if that is 0 and the other is not."""
        return share(self.difference, self.reference.makespan)

    def differences(self, spans: Spans) -> I8:
        """Return how far each time is from that of the reference, ns."""
        return np.asarray(self.sign * (spans.second - spans.first))

    def calls(self) -> tuple[Spans, Spans, Spans]:
        """Return enter, leave and duration of the compared calls."""
        rows = self.alignment.first[self.compared], self.alignment.second[self.compared]
        enter, leave = (
            Spans(*(side.since(getattr(side.timeline.calls, name)[row]) for side, row in zip(self.sides, rows, strict=True)))
            for name in ("enter", "leave")
        )
        return enter, leave, Spans(leave.first - enter.first, leave.second - enter.second)

    def ends(self) -> tuple[Spans, Spans]:
        """Return when the locations end that both runs have, and how long they last."""
        first, second = self.alignment.locations
        enter, leave = (
            [side.since(getattr(side.timeline.locations, name)[row]) for side, row in zip(self.sides, (first, second), strict=True)]
            for name in ("enter", "leave")
        )
        return Spans(leave[0], leave[1]), Spans(leave[0] - enter[0], leave[1] - enter[1])


def share(difference: int, whole: int) -> float:
    """Return a difference as a part of the whole; of nothing it is 0 or infinite."""
    return difference / whole if whole else (float("inf") if difference > 0 else 0.0)


def compare(
    first: Trace,
    second: Trace,
    start: str | None = None,
    hypotheses: Asked = (),
    model: Start = None,
    clock: str = "clc",
) -> Comparison:
    """Return two runs beside each other; under hypotheses the first is predicted before, as `perwiz.predict` does.

    `start` says which instant is the start of both: "start", the first of any process; "init", when the last process has left
    MPI_Init; "e12", when that call of the first trace returns, and the same call of the second. Default: "init" if both runs show
    it, as no prediction is about how long processes take to start; else "start". Calls are paired by `perwiz.whatif.compare.align`.
    Raises UsageError for a start that one run does not have, ClockError, ModelError, and TraceError if no call is the same.
    """
    asked = parse_all(hypotheses, first)
    machine = machine_of(model, first) if asked else None
    both = _first(first, asked, machine, clock), _treated(second, clock)
    (one, _), (other, _) = both
    pairs = align(one, other)
    if not len(pairs.first) and (len(one.calls) or len(other.calls)):
        counts = f"{len(one.calls)} and {len(other.calls)}"
        raise TraceError(f"{first.path}, {second.path}: none of {counts} calls is the same, must be runs of one program")
    word, instants = _start(one, other, pairs, start)
    sides = [Side(trace, state, instant) for (trace, state), instant in zip(both, instants, strict=True)]
    return Comparison(sides[0], sides[1], pairs, word, _after(sides, pairs, word), asked, machine)


def _first(trace: Trace, hypotheses: Sequence[Hypothesis], machine: Machine | None, clock: str) -> tuple[Trace, Health]:
    if not hypotheses:
        return _treated(trace, clock)
    prediction = predict(trace, hypotheses, machine, clock=clock)
    return predicted_trace(prediction), prediction.health


def _treated(trace: Trace, clock: str) -> tuple[Trace, Health]:
    clocks = treated(trace, clock)
    dropped = clocks.correction.graph.contradictions if clocks.correction else 0
    return clocks.trace, health(clocks.trace, dropped, clocks)


def _start(first: Trace, second: Trace, pairs: Alignment, word: str | None) -> tuple[str, tuple[int, int]]:
    inits = [selectors.init_calls(trace) for trace in (first, second)]
    if word is None:
        word = "init" if all(map(len, inits)) else "start"
    if word == "start":
        return word, (_begin(first), _begin(second))
    if word == "init":
        for trace, rows in zip((first, second), inits, strict=True):
            if not len(rows):
                raise UsageError(f"--from init: {trace.path} shows no MPI_Init, must be start or a call")
        return word, (int(first.timeline.calls.leave[inits[0]].max()), int(second.timeline.calls.leave[inits[1]].max()))
    return word, _at_call(first, second, pairs, word)


def _begin(trace: Trace) -> int:
    return int(trace.timeline.locations.enter.min()) if len(trace.locations) else 0


def _at_call(first: Trace, second: Trace, pairs: Alignment, word: str) -> tuple[int, int]:
    if not re.fullmatch("e(0|[1-9][0-9]{0,17})", word):
        raise UsageError(f"--from {word}: must be start, init or a call such as e12")
    row = int(word[1:])
    if row >= len(first.calls):
        raise UsageError(f"--from {word}: no such call, {first.path} has calls e0 to e{len(first.calls) - 1}")
    pair = int(np.searchsorted(pairs.first, row))
    if pair == len(pairs.first) or pairs.first[pair] != row:
        raise UsageError(f"--from {word}: {second.path} does not have this call, must be one of both runs")
    return int(first.timeline.calls.leave[row]), int(second.timeline.calls.leave[pairs.second[pair]])


def _after(sides: list[Side], pairs: Alignment, word: str) -> I8:
    """Return the pairs that are not over before the start in both runs."""
    if word == "start":
        return np.arange(len(pairs.first))
    late = [side.timeline.calls.leave[rows] > side.start for side, rows in zip(sides, (pairs.first, pairs.second), strict=True)]
    return np.flatnonzero(late[0] | late[1])
