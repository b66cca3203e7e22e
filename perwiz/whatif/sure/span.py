"""Between which makespans the true answer lies, as far as the trace tells, and why: what is unknown varied, and the noise of the run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from perwiz.errors import UsageError
from perwiz.loggps.weigh import Weighted
from perwiz.whatif.hypotheses.base import Hypothesis, apply
from perwiz.whatif.run import Run, swept_makespan
from perwiz.whatif.sure.doubts import Doubts, doubts_of
from perwiz.whatif.sure.noise import Around, Noise, Varies, noise_of
from perwiz.whatif.sure.variations import HELD, Variation, held, single, varied

Question = Callable[[Weighted], Weighted]
"""Returns a weighted graph under hypotheses; the one given stays as it was."""


@dataclasses.dataclass(frozen=True)
class Possible:
    """Another answer that the trace does not rule out."""

    changes: tuple[str, ...]
    """Of the model, as `Model.with_changes` takes them; or variations.HELD."""
    makespan: int
    """ns."""


@dataclasses.dataclass(frozen=True)
class Span:
    """Between which makespans, ns, the true one of an answer lies as far as the trace tells."""

    least: int
    most: int
    around: Around
    """How far another run of the same lies from its makespan: what `least` and `most` lie further out."""
    varies: Varies | None
    """What varies most from run to run; None if nothing repeats, so that nothing tells."""
    others: tuple[Possible, ...]
    """What else could come out, farthest from the answer first: the smallest and the largest, if they differ from it."""
    stops: tuple[str, ...]
    """Changes of the model under which the program could not run so."""

    @property
    def known(self) -> bool:
        """Whether the trace tells anything about how far the true one may lie from the answer."""
        return self.varies is not None or bool(self.others)

    def without(self, rest: int) -> Span:
        """Return the span of a part of the run: the rest, ns, takes the same whatever the makespan is."""
        others = tuple(dataclasses.replace(other, makespan=other.makespan - rest) for other in self.others)
        return dataclasses.replace(self, least=max(self.least - rest, 0), most=self.most - rest, others=others)


@dataclasses.dataclass(frozen=True, eq=False)
class Answer:
    """What was asked about a run and what came out."""

    question: Question
    makespan: int
    around: Around
    varies: Varies | None


def exactly(makespan: int) -> Span:
    """Return the span of what is recorded."""
    return Span(makespan, makespan, Around(0, 0), None, (), ())


def answer(noise: Noise, question: Question, weighted: Weighted) -> Answer:
    """Return an answer, given the weighted graph under the question."""
    now = swept_makespan(weighted)
    return Answer(question, now, noise.around(weighted, now), noise.varies)


def answered(run: Run, questions: Sequence[Question]) -> list[Answer]:
    """Return the answers of a run."""
    noise = noise_of(run)
    return [answer(noise, question, question(run.weighted)) for question in questions]


def span_under(run: Run, hypotheses: Sequence[Hypothesis]) -> Span:
    """Return the span of the makespan of a run under hypotheses."""
    answers = answered(run, [lambda weighted: apply(weighted, hypotheses)])
    return spans(run, answers, hypotheses)[0]


def spans(run: Run, answers: Sequence[Answer], hypotheses: Sequence[Hypothesis] = (), doubts: Doubts | None = None) -> list[Span]:
    """Return the span of each answer, the unknowns of the machine varied one at a time and then all to where each answer is smallest and
    largest; the model is varied, too, where more than a few messages contradict it.

    `hypotheses` are those of the questions that change messages: they may need further edges. `doubts` are those of the run, whose
    weights are read without.
    """
    found = [_Found(answer) for answer in answers]
    for unknown, variation in single(run, (doubts or doubts_of(run)).against, hypotheses):
        for one in found:
            one.tell(unknown, variation)
    other = held(run)
    for one in found:
        if other is not None:
            one.tell("", other)
    together = {changes for one in found for changes in one.together()}
    for changes in sorted(together):
        combined = varied(run, changes, hypotheses)
        for one in found:
            if combined is not None and changes in one.together():
                one.tell("", combined)
    return [one.span() for one in found]


class _Found:
    """What an answer becomes under variations."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._least: dict[str, Possible] = {}
        self._most: dict[str, Possible] = {}
        self._stops: list[str] = []

    def tell(self, unknown: str, variation: Variation) -> None:
        """Ask again under a variation of an unknown. Calls may have an order there that waits for itself: then the program stops."""
        try:
            now = swept_makespan(self._answer.question(variation.weighted))
        except UsageError:
            self._stops.extend(change for change in variation.changes if change != HELD)  # a process in a call holds nobody for good
            return
        this = Possible(variation.changes, now)
        for side, sign in ((self._least, 1), (self._most, -1)):
            best = side.get(unknown)
            if sign * now < sign * (best.makespan if best else self._answer.makespan):
                side[unknown] = this

    def together(self) -> list[tuple[str, ...]]:
        """Return, for both sides, the changes of several unknowns that each alone lead there."""
        sides = ([possible.changes[0] for unknown, possible in sorted(side.items()) if unknown] for side in (self._least, self._most))
        return [tuple(changes) for changes in sides if len(changes) > 1]

    def span(self) -> Span:
        """Return the smallest and the largest makespan."""
        now, around = self._answer.makespan, self._answer.around
        ends = [min(self._least.values(), key=_makespan, default=None), max(self._most.values(), key=_makespan, default=None)]
        others = sorted((end for end in ends if end), key=lambda end: -abs(end.makespan - now))
        times = [now, *map(_makespan, others)]
        least, most = max(min(times) - around.sooner, 0), max(times) + around.later
        return Span(least, most, around, self._answer.varies, tuple(others), tuple(self._stops))


def _makespan(possible: Possible) -> int:
    return possible.makespan
