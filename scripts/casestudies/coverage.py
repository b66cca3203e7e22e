"""How often what was measured lies between the times that were told: of every recording before, beside every run after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perwiz.whatif.sure.logged import HELD, Pair, widened
from perwiz.whatif.sure.noise import Around
from perwiz.whatif.sure.span import Span
from perwiz.words import percent, table


def coverage(pairs: Mapping[str, Sequence[Pair]]) -> list[str]:
    """Return a table of programs: the part of their pairs measured inside, as told and as wide as the pairs of the others ask for."""
    rows, total = [], [0, 0, 0]
    for name, own in pairs.items():
        log = [pair for other, theirs in pairs.items() if other != name for pair in theirs]
        inside = [len(own), sum(pair.missed <= 0 for pair in own), sum(_inside(pair, log) for pair in own)]
        total = [whole + part for whole, part in zip(total, inside, strict=True)]
        rows.append(_row(name, inside))
    head = ["program", "pairs", "inside as told", f"with the log of the others, to hold {percent(HELD, 1)}"]
    return table(head, [*rows, _row("all", total)])


def _row(name: str, counts: Sequence[int]) -> list[str]:
    pairs, told, wider = counts
    return [name, str(pairs), percent(told, pairs), percent(wider, pairs)]


def _inside(pair: Pair, log: Sequence[Pair]) -> bool:
    span, _ = widened(Span(pair.least_ns, pair.most_ns, Around(0, 0), None, (), ()), log, pair.predicted_ns)
    return span.least <= pair.measured_ns <= span.most
