"""The same question about several recordings of one program: what it gains in each, and how much of that lies between recordings."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz import words
from perwiz.errors import UsageError
from perwiz.trace import operations
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.predict import Prediction, predict
from perwiz.whatif.run import Start
from perwiz.whatif.sure.noise import DRAWS
from perwiz.whatif.sure.span import Span

LEAST = 3
"""Recordings that it takes to say what lies between them."""
_OTHER = 0.01
"""Part of the calls, or of the instances of regions, from which on a program is another one that has these and the other has none."""
_NAMED = 3
"""Routines or regions named."""


@dataclasses.dataclass(frozen=True)
class Recordings:
    """What hypotheses gain in recordings of one program."""

    gains: tuple[int, ...]
    """ns; that of the prediction first."""
    between: float | None
    """Part of their variance that runs drawn of one recording do not show; None of fewer than LEAST, or if nothing tells."""
    span: Span
    """Of the prediction, so wide that it holds what each recording says of the time after MPI_Init."""


def recordings(prediction: Prediction, others: Sequence[Trace], model: Start = None, clock: str = "clc", draws: int = DRAWS) -> Recordings:
    """Return what the hypotheses of a prediction gain in other recordings of the same program, too, and what all of them span.

    Gains of 90 100 110, a variance of 100, where drawn runs have one of 36: 64 % lies between recordings. Spans of 1.0 to 1.2 s and of 0.9
    to 1.1 s are 0.9 to 1.2 s together: of runs made afterwards, it holds nine of ten with three recordings.
    Raises UsageError if one is of another program, or a hypothesis does not fit one of them, and what `predict` raises.
    """
    for trace in others:
        check_same_program(prediction.trace, trace)
    gains, asked, start = [prediction.gain], [(prediction.span, 0)], _before(prediction)
    for trace in others:
        try:
            other = predict(trace, prediction.hypotheses, model, prediction.engine, clock, draws)
        except UsageError as error:
            raise UsageError(f"{trace.path}: {error}") from None
        gains.append(other.gain)
        asked.append((other.span, start - _before(other)))
    span = _together(asked)
    told, variance = prediction.span.gain, float(np.var(gains, ddof=1)) if len(gains) > 1 else 0.0
    if len(gains) < LEAST or told is None or not variance:
        return Recordings(tuple(gains), None, span)
    return Recordings(tuple(gains), max(1 - told.deviation**2 / variance, 0.0), span)


def _together(asked: Sequence[tuple[Span, int]]) -> Span:
    """Return the first of spans, so wide that it holds all of them, each so many ns later; LEAST or more tell what recordings differ by."""
    told = [(span.alike() if len(asked) >= LEAST else span, later) for span, later in asked]
    least, most = min(span.least + later for span, later in told), max(span.most + later for span, later in told)
    return dataclasses.replace(told[0][0], least=max(least, 0), most=most)


def _before(prediction: Prediction) -> int:
    """Return ns until all have left MPI_Init, as recorded; 0 if the trace does not show it."""
    after = selectors.after_init(prediction.trace)
    return prediction.recorded.makespan - after if after else 0


def check_same_program(one: Trace, other: Trace) -> None:
    """Raise UsageError if two recordings cannot be of one program: they have other numbers of processes, or other routines or regions.

    What one of them calls seldom the other need not.
    """
    told = f"{other.path}: {{}}, must be of the same program as {one.path}"
    here, there = (len(np.unique(trace.locations.process)) for trace in (one, other))
    if here != there:
        raise UsageError(told.format(f"has {words.several(there, 'process')}, not {here}"))
    for done, used in (("calls", _routines), ("has region", _regions)):
        counts, others = used(one), used(other)
        for mine, theirs, text in ((others, counts, f"{done} {{}}, which the other does not"), (counts, others, "lacks {}")):
            if lacking := [name for name, count in mine.items() if name not in theirs and count >= _OTHER * sum(mine.values())]:
                raise UsageError(told.format(text.format(_listed(lacking))))


def _listed(names: list[str]) -> str:
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return ", ".join([*map(words.shown, names[:_NAMED]), *more])


def _routines(trace: Trace) -> dict[str, int]:
    """Return how often each routine is called."""
    many = np.bincount(trace.calls.op, minlength=len(operations.OPS))
    return {operations.OPS[op]: int(many[op]) for op in np.flatnonzero(many).tolist()}


def _regions(trace: Trace) -> dict[str, int]:
    """Return how many instances each region has."""
    many = np.bincount(trace.region_names, minlength=len(trace.names))
    return {trace.names[name]: int(many[name]) for name in np.flatnonzero(many).tolist()}
