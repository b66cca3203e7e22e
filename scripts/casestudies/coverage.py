"""How often what was measured lies between the times that were told: of every recording before, beside every run after."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from perwiz.whatif.sure.logged import HELD, Pair, widened
from perwiz.whatif.sure.noise import Around
from perwiz.whatif.sure.recordings import LEAST as RECORDINGS
from perwiz.whatif.sure.span import Span
from perwiz.words import percent, table


def coverage(pairs: Mapping[str, Sequence[Pair]]) -> list[str]:
    """Return a table of programs: the part of their pairs measured inside of what one recording tells, what it and the next two tell, and
    what one tells made as wide as the pairs of the others ask for.
    """
    log = {name: [pair for other, theirs in pairs.items() if other != name for pair in theirs] for name in pairs}
    rows = [_row(name, own, sum(_inside(pair, log[name]) for pair in own), _together(own)) for name, own in pairs.items()]
    every = [pair for own in pairs.values() for pair in own]
    rows.append(_row("all", every, sum(_inside(pair, log[name]) for name, own in pairs.items() for pair in own), _together(every)))
    return table(
        ["program", "pairs", "inside as told", "by three recordings", f"with the log of the others, to hold {percent(HELD, 1)}"], rows
    )


def _row(name: str, pairs: Sequence[Pair], wider: int, together: float) -> list[str]:
    told = sum(pair.missed <= 0 for pair in pairs)
    return [name, str(len(pairs)), percent(told, len(pairs)), percent(together, 1), percent(wider, len(pairs))]


def _together(pairs: Sequence[Pair]) -> float:
    """Return the part of runs after that lie in the range of three recordings before together, any three of those asked the same."""
    alike: dict[tuple[object, ...], list[Pair]] = {}
    for pair in pairs:
        alike.setdefault((pair.trace, pair.measured_trace, pair.hypotheses, pair.measured_ns), []).append(pair)
    inside = 0.0
    for told in alike.values():
        held = [
            min(one.least_ns for one in three) <= told[0].measured_ns <= max(one.most_ns for one in three)
            for three in itertools.combinations(told, min(RECORDINGS, len(told)))
        ]
        inside += len(told) * sum(held) / len(held)
    return inside / len(pairs)


def _inside(pair: Pair, log: Sequence[Pair]) -> bool:
    span, _ = widened(Span(pair.least_ns, pair.most_ns, Around(0, 0), None, (), ()), log, pair.predicted_ns)
    return span.least <= pair.measured_ns <= span.most
