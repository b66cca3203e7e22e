"""How often each of several changes gains most: in runs drawn anew, each run with every change in turn."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.whatif.sure.answers import CLEAR, Answer, Answers

_THREE = 3


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a change stands among others, in the order they are listed, as parts of the drawn runs."""

    first: float
    """Gains no less than any other."""
    three: float
    """At most two gain more."""
    tied: bool
    """In more than one of twenty runs it gains more than the one listed before it."""


def places(answers: Answers, changes: Sequence[Answer]) -> list[Place]:
    """Return the place of each change; empty if too little repeats to tell, see `Answers.told`.

    Of four runs in which a change gains 9 9 9 9 and another 8 8 8 10, the former is first in 3 of 4, the latter in 1: a tie.
    """
    if not answers.told or not changes:
        return []
    gains = [answers.gains(change) for change in changes]
    runs = min(map(len, gains))
    table = np.stack([gain[:runs] for gain in gains])
    more = (table[None, :, :] > table[:, None, :]).sum(axis=1)
    before = np.concatenate([table[:1], table[:-1]])
    tied = (table > before).mean(axis=1) > CLEAR
    return [Place(float((row == 0).mean()), float((row < _THREE).mean()), bool(tie)) for row, tie in zip(more, tied, strict=True)]
