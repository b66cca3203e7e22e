"""How sure what is ranked is: between which makespans each change may end, and how the lists stand by that."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial

import numpy as np

from perwiz.loggps.weigh import Weighted
from perwiz.report import blocks, spans
from perwiz.report.domino.first import PAYS
from perwiz.report.domino.records import Placed
from perwiz.report.records import Span
from perwiz.whatif.predict import possible
from perwiz.whatif.ranking.change import Change
from perwiz.whatif.ranking.ranking import Line as RankedLine
from perwiz.whatif.ranking.ranking import Ranking
from perwiz.whatif.rematch.redrawn import answered_anew
from perwiz.whatif.sure import span as sure
from perwiz.whatif.sure.answers import answered
from perwiz.whatif.sure.doubts import Doubts
from perwiz.whatif.sure.first import order
from perwiz.whatif.sure.places import places
from perwiz.whatif.worth import worth
from perwiz.whatif.worth.hotspots import HotSpot as FoundSpot

ORDERED = 10
"""Lines of what somebody can do that are put in order at least, however few are told."""


@dataclasses.dataclass(frozen=True, eq=False)
class Sureness:
    """How sure the answers are."""

    bound: Span
    """Between which makespans the true one lies if all calls are changed as the question asks."""
    spans: dict[Change | FoundSpot, Span]
    """The same of the best changes, of hot spots, of what somebody can do, and of the first bound."""
    lists: list[list[RankedLine]]
    """The lines as they stand, of what somebody can do as `order` has them."""
    places: dict[RankedLine, Placed]
    """Where they do in drawn runs; empty if too little repeats."""
    draws: int


def sureness(
    ranking: Ranking, question: str, best: Sequence[Change | FoundSpot], lists: Sequence[Sequence[RankedLine]], doubts: Doubts, draws: int
) -> Sureness:
    """Return how sure is what is told of the best changes, of hot spots, and of lists: what somebody can do, and bounds."""
    now, heads = ranking.run.makespan, [line.change for lines in lists for line in lines]
    asked = list[Change | FoundSpot](dict.fromkeys([*best, *heads]))
    told = list[Change | FoundSpot](dict.fromkeys([*best, *heads[: len(lists[0]) + 1]]))
    every = partial(_every, "zero-time" if question == "zero-time" else "zero-wait")
    ranking.asker.let_go()
    anew = [change for change in asked if isinstance(change, Change) and change.kept is not None]
    asked = [change for change in asked if change not in anew]
    hypotheses = [change.hypothesis for change in asked]
    others = {  # first: what runs are drawn from takes memory
        change: possible(ranking.asker.recorded, [hypothesis], ranking.asker.changed([hypothesis]))
        for change, hypothesis in zip(asked, hypotheses, strict=True)
        if hypothesis.varied
    }
    ranking.asker.let_go()
    found = answered(ranking.run, [every, *ranking.asker.questions(hypotheses)], draws)
    priced = [False, *(hypothesis.priced for hypothesis in hypotheses)]
    all_calls, *others_of = (dataclasses.replace(one, priced=asks) for one, asks in zip(found.of, priced, strict=True))
    answer = dict(zip(asked, others_of, strict=True))
    answer |= {change: dataclasses.replace(answer[change], others=several) for change, several in others.items()}
    ranking.asker.let_go()
    kept = [change for change in told if change not in anew]
    of = dataclasses.replace(found, of=(all_calls, *(answer[change] for change in kept)))
    bound, *several = map(spans.span, sure.spans(ranking.run, of, [change.hypothesis for change in kept], doubts))
    span = dict(zip(kept, several, strict=True))
    if anew:
        again = answered_anew(ranking.run, found, [((change.hypothesis,), change.makespan) for change in anew])
        found_anew = sure.spans(ranking.run, again, [change.hypothesis for change in anew], doubts)
        span |= zip(anew, map(spans.span, found_anew), strict=True)
        answer |= zip(anew, again.of, strict=True)
    rows, bounds = (list(lines) for lines in lists)
    gains = [spans.worth(span[line.change], now, line.change.makespan) for line in rows]
    supposing = [dataclasses.replace(gain, supposes=line.change.receives_passed > 0) for gain, line in zip(gains, rows, strict=True)]
    rows = [rows[row] for row in order(supposing, PAYS * blocks.shares_of(ranking.run.trace, now))]
    placed = dict[RankedLine, Placed]()
    for lines in (rows, bounds):
        places_of = places(found, [answer[line.change] for line in lines])
        placed |= dict(zip(lines, [Placed(round(row.first, 6), round(row.three, 6), row.tied) for row in places_of], strict=False))
    return Sureness(bound, span, [rows, bounds], placed, len(found.recorded.drawn))


def _every(question: str, weighted: Weighted) -> Weighted:
    """Return a graph in which all calls are changed."""
    return worth.change(weighted, question, np.arange(len(weighted.trace.calls)))
