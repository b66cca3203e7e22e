"""How far one run is from another run of the same or of a changed program: a prediction from the measurement, or before from after.

Where one of both is a prediction the other is the reference, and the difference is an error: predicted minus measured. Else the first is,
and the difference is a change: after minus before. Shares are of the reference.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from perwiz.errors import TraceError
from perwiz.loggps.machine import Machine
from perwiz.shown import Shown
from perwiz.trace.arrays import I8
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.compare.align import Alignment, align
from perwiz.whatif.compare.renamed import Renamed, under_names_of
from perwiz.whatif.compare.span import Bound, bounds, predicted_part
from perwiz.whatif.health import Health, health
from perwiz.whatif.hypotheses.base import Asked, Hypothesis, parse_all
from perwiz.whatif.predict import predict, predicted_trace
from perwiz.whatif.run import Start, treated
from perwiz.whatif.sure.span import Span


@dataclasses.dataclass(frozen=True, eq=False)
class Side:
    """One of the two runs."""

    trace: Trace
    """Its clocks made consistent."""
    health: Health
    start: int
    """The instant from which it is compared, ns."""
    stop: int
    """The instant to which it is compared, ns."""

    def since(self, moments: I8) -> I8:
        """Return moments as ns since the start, none before it and none after the stop."""
        return np.asarray(np.clip(moments, self.start, self.stop) - self.start, np.int64)

    @property
    def timeline(self) -> Timeline:
        """The timeline of the trace."""
        return self.trace.timeline

    @property
    def makespan(self) -> int:
        """From the start to the stop, ns; that is the end of the run unless another one is asked for."""
        return self.stop - self.start


@dataclasses.dataclass(frozen=True, eq=False)
class Spans:
    """Times of the same things in both runs, ns, one per row."""

    first: I8
    second: I8


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Whether the other run takes as long as predicted, of what both show of the run without the start of its processes and its end."""

    predicted: int
    """ns."""
    measured: int
    """ns."""
    span: Span
    """Between which times, ns, it was to lie."""

    @property
    def outside(self) -> int:
        """How far it lies behind the latest, ns, or before the earliest (negative); 0 inside."""
        return self.measured - min(max(self.measured, self.span.least), self.span.most)


@dataclasses.dataclass(frozen=True, eq=False)
class Comparison(Shown):
    """Two runs beside each other."""

    first: Side
    second: Side
    alignment: Alignment
    begin: Bound
    """From where on both runs are compared."""
    end: Bound
    """Up to where."""
    compared: I8
    """Rows of the alignment: the pairs of calls under way between the two in either run."""
    hypotheses: tuple[Hypothesis, ...] = ()
    """Under which the first run was predicted here."""
    machine: Machine | None = None
    """By which it was; None without hypotheses."""
    renamed: tuple[Renamed, ...] = ()
    """Regions of the second run that are called otherwise in the first; its trace here has the names of that."""
    verdict: Verdict | None = None
    """None without hypotheses, where less of the runs is compared, and where the first does not tell how far another run may lie."""

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
        """How far the makespan is from that of the reference, ns."""
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
    stop: str | None = None,
) -> Comparison:
    """Return two runs beside each other; under hypotheses the first is predicted before, as `perwiz.predict` does.

    `start` says from which instant both are compared: "start", the first of any process; "begun", when the last has begun; "init", when
    the last has left MPI_Init; "e12", when that call of the first trace returns, and the same call of the second; "common", when the
    first call that both have is entered; the name of a user region or of a routine, when the first process enters it, with "#3" its third
    instance on each process. `stop` says to which: "end", a call or "common", when it or the last returns, or a region or routine, when
    the last process leaves it. Default: see `perwiz.whatif.compare.span.bounds`; no prediction is about how long processes take to start.
    Calls are paired by `perwiz.whatif.compare.align`; regions whose names hold lines or numbers that shifted are taken to be the same.
    Raises UsageError for an instant that one run does not have, ClockError, ModelError, and TraceError if no call is the same.
    """
    asked = parse_all(hypotheses, first)
    prediction = predict(first, asked, model, clock=clock) if asked else None
    machine = prediction.machine if prediction else None
    second, called = under_names_of(first, second)
    both = (predicted_trace(prediction), prediction.health) if prediction else _treated(first, clock), _treated(second, clock)
    (one, _), (other, _) = both
    pairs = align(one, other)
    if not len(pairs.first) and (len(one.calls) or len(other.calls)):
        counts = f"{len(one.calls)} and {len(other.calls)}"
        raise TraceError(f"{first.path}, {second.path}: none of {counts} calls is the same, must be runs of one program")
    begin, end = bounds(one, other, pairs, start, stop)
    sides = (Side(*both[0], begin.times[0], end.times[0]), Side(*both[1], begin.times[1], end.times[1]))
    verdict = _verdict(prediction.span, sides, begin, end) if prediction and prediction.span.known else None
    return Comparison(*sides, pairs, begin, end, _within(sides, pairs, begin, end), asked, machine, tuple(called), verdict)


def _verdict(span: Span, sides: tuple[Side, Side], begin: Bound, end: Bound) -> Verdict | None:
    """Return whether the second run takes as long as the first was predicted to, given the span of the makespan of that."""
    parts = predicted_part(sides[0].trace, sides[1].trace, begin, end)
    if parts is None:
        return None
    predicted, measured = (stop - start for start, stop in parts)
    return Verdict(predicted, measured, span.without(sides[0].timeline.makespan - predicted))


def _treated(trace: Trace, clock: str) -> tuple[Trace, Health]:
    clocks = treated(trace, clock)
    dropped = clocks.correction.graph.contradictions if clocks.correction else 0
    return clocks.trace, health(clocks.trace, dropped, clocks)


def _within(sides: tuple[Side, Side], pairs: Alignment, begin: Bound, end: Bound) -> I8:
    """Return the pairs of which a call is under way at some time that is compared: not over before, not entered only after it."""
    if (begin.word, end.word) == ("start", "end"):
        return np.arange(len(pairs.first))
    seen = np.zeros(len(pairs.first), bool)
    for side, rows in zip(sides, (pairs.first, pairs.second), strict=True):
        calls = side.timeline.calls
        seen |= (calls.leave[rows] > side.start) & (calls.enter[rows] < side.stop)
    return np.flatnonzero(seen)
