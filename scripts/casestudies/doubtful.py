"""How far answers are off, by how much of the critical path the model gets wrong: from which part on is an answer doubtful?"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from runs import Row, asked, expected

from perwiz.report import blocks, misfit
from perwiz.words import percent, table

OFF = 0.02
"""Part of what was measured by which an answer is off that should have been doubtful."""
LIMITS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1)

Answer = tuple[float, float]
"""Part of the path that the model gets wrong; part of what was measured by which the answer is off."""


def answers(rows: Sequence[Row]) -> Iterator[Answer]:
    """Yield what every recording before answers, beside the median after."""
    for row in rows:
        for recording in row.both[0].recordings if row.both else ():
            prediction = asked(recording.trace, row.hypotheses)
            whole = blocks.shares_of(prediction.trace, prediction.recorded.makespan)
            part = max((misfit.part(doubt, whole) for doubt in prediction.doubts), default=0.0)
            yield part, abs(expected(prediction).time / row.measured - 1)


def doubtful(found: Sequence[Answer]) -> list[str]:
    """Return a table: per limit from which on answers are doubtful, how far both kinds are off, and how well it tells them apart.

    *Found* is the part of the answers that are off by more than OFF which are doubtful, *in vain* the part of the others.
    """
    off, near = ([part for part, error in found if (error > OFF) is far] for far in (True, False))
    rows = []
    for limit in LIMITS:
        sides = [[error for part, error in found if (part > limit) is above] for above in (True, False)]
        medians = [percent(statistics.median(side), 1) if side else "-" for side in sides]
        parts = [percent(sum(part > limit for part in side), len(side)) if side else "-" for side in (off, near)]
        rows.append([percent(limit, 1), str(len(sides[0])), *medians, *parts])
    return table(["doubtful from", "answers", "median error", "of the others", f"found, off by {percent(OFF, 1)}", "in vain"], rows)
