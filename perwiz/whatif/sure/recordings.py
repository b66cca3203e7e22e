"""The same question about several recordings of one program: what it gains in each, and how much of that lies between recordings."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.errors import UsageError
from perwiz.trace.trace import Trace
from perwiz.whatif.predict import Prediction, predict
from perwiz.whatif.run import Start

LEAST = 3
"""Recordings that it takes to say what lies between them."""


@dataclasses.dataclass(frozen=True)
class Recordings:
    """What hypotheses gain in recordings of one program."""

    gains: tuple[int, ...]
    """ns; that of the prediction first."""
    between: float | None
    """Part of their variance that runs drawn of one recording do not show; None of fewer than LEAST, or if nothing tells."""


def recordings(prediction: Prediction, others: Sequence[Trace], model: Start = None, clock: str = "clc") -> Recordings:
    """Return what the hypotheses of a prediction gain in other recordings of the same program, too.

    Gains of 90 100 110, a variance of 100, where drawn runs have one of 36: 64 % lies between recordings.
    Raises UsageError if a hypothesis does not fit one of them, and what `predict` raises.
    """
    gains = [prediction.gain]
    for trace in others:
        try:
            gains.append(predict(trace, prediction.hypotheses, model, prediction.engine, clock, draws=0).gain)
        except UsageError as error:
            raise UsageError(f"{trace.path}: {error}") from None
    told, variance = prediction.span.gain, float(np.var(gains, ddof=1)) if len(gains) > 1 else 0.0
    if len(gains) < LEAST or told is None or not variance:
        return Recordings(tuple(gains), None)
    return Recordings(tuple(gains), max(1 - told.deviation**2 / variance, 0.0))
