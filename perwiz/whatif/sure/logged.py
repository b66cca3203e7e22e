"""A log of predictions and what was measured then, and how far it says that ranges must reach.

A range holds what was measured, misses it by so much, or has so much to spare; of the pairs seen so far, and one more that is drawn like
them, nine of ten miss by no more than the 9 (n + 1) / 10-th of n: so far a range is to be wider (conformal prediction: Vovk, Gammerman and
Shafer, Algorithmic Learning in a Random World, 2005; of ranges: Romano, Patterson and Candes, NeurIPS 2019).
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Sequence

from perwiz.errors import UsageError
from perwiz.formats.typed import Mistyped, NoJson, parsed, typed
from perwiz.whatif.sure.span import Span

LEAST = 20
"""Pairs from which on a log is heard."""
HELD = 0.9
"""Part of measured runs that a range is to hold."""
_LARGEST = 1 << 24
"""Bytes of the longest log that is read: some 50 000 pairs."""


@dataclasses.dataclass(frozen=True)
class Pair:
    """A prediction and what was measured, both of the time from the last return of MPI_Init to the last entry of MPI_Finalize, ns."""

    trace: str
    measured_trace: str
    hypotheses: tuple[str, ...]
    predicted_ns: int
    measured_ns: int
    least_ns: int
    most_ns: int

    def __post_init__(self) -> None:
        """Raise ValueError if a range does not hold its own prediction."""
        if not 0 <= self.least_ns <= self.predicted_ns <= self.most_ns or self.predicted_ns == 0 or self.measured_ns < 0:
            raise ValueError("times must be 0 <= least_ns <= predicted_ns <= most_ns, predicted_ns and measured_ns no less than 1 and 0")

    @property
    def missed(self) -> float:
        """How far the measured time lies outside of the range, or inside (negative), as a part of the predicted one."""
        return max(self.least_ns - self.measured_ns, self.measured_ns - self.most_ns) / self.predicted_ns


@dataclasses.dataclass(frozen=True)
class Widened:
    """By how much a log makes a range wider."""

    pairs: int
    inside: int
    """Of them, measured inside of what was predicted."""
    part: float
    """Of the predicted time after MPI_Init, on both sides; 0 if the log has too few pairs, or asks for no more."""


def append(path: str, pair: Pair) -> None:
    """Write a pair behind those of a log, which is made if there is none. Raises UsageError."""
    try:
        if os.path.exists(path):
            pairs(path)
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(dataclasses.asdict(pair)) + "\n")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from None


def pairs(path: str) -> list[Pair]:
    """Return the pairs of a log, a JSON object a line. Raises UsageError."""
    try:
        if os.path.getsize(path) > _LARGEST:
            raise UsageError(f"{path}: has {os.path.getsize(path)} bytes, must be a log of at most {_LARGEST}")
        with open(path, "rb") as file:
            lines = file.read(_LARGEST).splitlines()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    return [_pair(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _pair(path: str, number: int, line: bytes) -> Pair:
    try:
        return typed(parsed(line.decode(errors="replace")), Pair)
    except NoJson:
        raise UsageError(f"{path}: line {number}: no JSON, must be as perwiz compare --log writes it") from None
    except Mistyped as error:
        raise UsageError(f"{path}: line {number}: {error}") from None


def widened(span: Span, known: Sequence[Pair], after: int) -> tuple[Span, Widened]:
    """Return a span as wide as a log asks for, given the predicted time after MPI_Init, ns, and by how much that is.

    Of twenty pairs the 19th counts: it is wider by what the second worst missed.
    """
    missed = sorted(pair.missed for pair in known)
    place = math.ceil(HELD * (len(missed) + 1)) - 1
    part = max(missed[place], 0.0) if len(missed) >= LEAST else 0.0
    more = round(part * after)
    found = Widened(len(missed), sum(miss <= 0 for miss in missed), part)
    return dataclasses.replace(span, least=max(span.least - more, 0), most=span.most + more), found
