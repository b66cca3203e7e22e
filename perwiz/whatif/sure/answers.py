"""What was asked about a run and what came out, for runs that are drawn of it, too: how much a change gains in another run."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from perwiz.engines.sweep import makespan, sweep, swept_makespan
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import F8, I8
from perwiz.trace.resources import give_back, remembered
from perwiz.whatif import selectors
from perwiz.whatif.run import Run
from perwiz.whatif.sure.chance import Chance
from perwiz.whatif.sure.noise import DRAWS, FEWEST, Noise, noise_of
from perwiz.whatif.sure.parts import LEAST
from perwiz.whatif.sure.swept import passed

CLEAR = 0.05
"""Part of drawn runs that lies beyond each end of what nine of ten do."""
STUDENT = (
    *(2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753, 1.746),
    *(1.740, 1.734, 1.729, 1.725, 1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701, 1.699),
)
"""Student's quantile of 95 % for LEAST - 1 degrees of freedom to BLOCKS - 1."""
EDGES_OF_ALL = 6_000_000_000
"""Edges that drawn runs of all questions pass together."""
_ROOM, _BYTES = 1 << 27, 24
"""Bytes that graphs take whose runs are drawn together, at most, and for each of their edges."""
Question = Callable[[Weighted], Weighted]
"""Returns a weighted graph under hypotheses; the one given stays as it was."""


@dataclasses.dataclass(frozen=True)
class Possible:
    """Another answer that the trace does not rule out."""

    changes: tuple[str, ...]
    """Of the model, as `Model.with_changes` takes them; or variations.HELD, or what is `varied` of a hypothesis."""
    makespan: int
    """ns."""


Outcome = Possible | tuple[str, ...]
"""What an answer becomes under a variation; or the changes of the model under which the program stops."""


@dataclasses.dataclass(frozen=True)
class Gain:
    """How much less than the recorded run another takes, ns."""

    least: int
    most: int
    """What nine of ten further runs, each with and without the change, gain lies in between."""
    draws: int
    """How many were drawn."""
    mean: int
    """Of the drawn ones: who is balanced exactly waits for nobody who is late by chance, but does in some of these."""
    least_open: int
    most_open: int
    """As the machine may be, as far as the trace leaves it open."""
    deviation: int
    """Standard deviation of what runs gain: of the drawn ones, or as it varies from iteration to iteration if that is more."""
    chance: Chance | None = None
    """Why drawn runs gain another amount than the recorded one; None if they do not, see `chance.differs`."""


@dataclasses.dataclass(frozen=True, eq=False)
class Answer:
    """What was asked about a run and what came out."""

    question: Question
    makespan: int
    drawn: F8
    """Makespans, ns, of runs drawn of it."""
    others: tuple[Possible, ...] = ()
    """What else came out if what a hypothesis takes from the trace were otherwise."""
    priced: bool = True
    """Whether the question asks the model what something costs, see `Hypothesis.priced`."""
    ends: I8 = dataclasses.field(default_factory=lambda: np.zeros(0, "i8"))
    """When groups of iterations end in it, ns, and what is before them, see `Noise.ends`; none of an answer in which they are others."""
    ahead: Mapping[str, Outcome] = dataclasses.field(default_factory=dict)
    """What it becomes under changes of the model, as far as that was found before, see `found_ahead`."""


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """What was asked about a run, and the run itself as it was recorded."""

    noise: Noise
    """What is `told` of it."""
    recorded: Answer
    of: tuple[Answer, ...]
    part: int
    """ns after MPI_Init, if the trace shows it, else of the whole run: what is before does not vary."""

    @property
    def told(self) -> bool:
        """Whether enough repeats to tell how much gains vary, and runs were drawn."""
        return self.noise.varies is not None and self.noise.varies.enough and len(self.recorded.drawn) > 0

    def gains(self, answer: Answer) -> F8:
        """Return how much an answer gains in drawn runs, ns.

        Where what repeats differs for a reason, drawn runs are no longer like the recorded one. If they last longer, by more than half the
        width of their interval, so much longer are their gains; and the gains are around another than that of the answer: they are moved to
        it, but for half the width of theirs.
        """
        gains, now = paired(self.recorded.drawn, answer.drawn), self.recorded.makespan - answer.makespan
        longer = self.recorded.drawn.mean() - self.recorded.makespan
        if longer > _half(self.recorded.drawn):
            gains = gains * (self.part / (self.part + longer))
        off, wide = gains.mean() - now, _half(gains)
        return gains - off + min(max(off, -wide), wide)

    def deviation(self, answer: Answer) -> float:
        """Return the standard deviation of what a run gains, ns: of drawn ones, or as iterations tell it, if that is more.

        Drawn runs take over how what is alike in an iteration differs in it. What a change gains in each iteration has all of that, if it
        acts in most: 40 60 50 of three gain 150 together, with a deviation of 10 times the root of three.
        """
        drawn, ends = float(self.gains(answer).std(ddof=1)), self.recorded.ends
        if len(ends) <= LEAST or len(answer.ends) != len(ends):
            return drawn
        gains = np.diff(ends) - np.diff(answer.ends)
        acts = np.sign(gains) == np.sign(gains.sum())
        return max(drawn, float(gains.std(ddof=1)) * len(gains) ** 0.5) if 2 * np.count_nonzero(acts & (gains != 0)) > len(gains) else drawn

    def gain(self, answer: Answer, times: Sequence[int], ends: tuple[int, int]) -> Gain | None:
        """Return how much an answer gains in other runs, and if it takes other times; None if fewer than FEW repetitions tell.

        The gain of a further run lies within t * s * sqrt(2) of that of the recorded one, both being draws of the same with the deviation
        s, and t the quantile of Student's distribution (Hahn and Meeker, Statistical Intervals, 1991); so it does of that of drawn ones on
        average. A recording that takes longer or less as a whole gains as much more or less. Not more or less than another run would that
        lies between the `ends` of its span, ns; and where no drawn run loses, or none gains, no other does.
        """
        if not self.told or self.noise.varies is None:
            return None
        gains, recorded, deviation = self.gains(answer), self.recorded.makespan, self.deviation(answer)
        now, mean = recorded - answer.makespan, float(gains.mean())
        least = max(recorded - ends[1], 0 if min(now, gains.min()) >= 0 else -math.inf)
        most = min(recorded - ends[0], 0 if max(now, gains.max()) <= 0 else math.inf)
        wide = math.hypot(STUDENT[self.noise.varies.stretches - LEAST] * deviation * 2**0.5, self.noise.differ * now)
        drawn = np.clip([min(now, mean) - wide, max(now, mean) + wide, mean], least, most)
        low, high, middle = np.rint(drawn).astype("i8").tolist()
        return Gain(
            min(low, now), max(high, now), len(answer.drawn), middle, recorded - max(times), recorded - min(times), round(deviation)
        )


def _half(drawn: F8) -> float:
    """Return half the width of the interval of what was drawn."""
    least, most = clear_ends(drawn)
    return (most - least) / 2


def clear_ends(drawn: F8) -> tuple[float, float]:
    """Return between what all but CLEAR at each end of what was drawn lies: as np.quantile, which first imports masked arrays."""
    ordered = np.sort(drawn).tolist()
    last = len(ordered) - 1
    first = int(CLEAR * last)
    part, behind = CLEAR * last - first, min(first + 1, last)
    low, high = ordered[first], ordered[last - first]
    return low + (ordered[behind] - low) * part, high - (high - ordered[last - behind]) * part


def paired(before: F8, after: F8) -> F8:
    """Return how much less than another each of the drawn runs takes, ns; of graphs of other sizes fewer may be drawn."""
    both = min(len(before), len(after))
    return before[:both] - after[:both]


def answered(run: Run, questions: Sequence[Question], draws: int = DRAWS) -> Answers:
    """Return the answers of a run, with so many runs drawn of each: fewer, but FEWEST, where all pass more than EDGES_OF_ALL edges."""
    noise = noise_of(run, draws_of(run, len(questions), draws))
    recorded = Answer(_unchanged, run.makespan, drawn_as_recorded(run.weighted, noise), ends=noise.ends(run.weighted, run.left))
    found = list[Answer]()
    together = max(_ROOM // (_BYTES * max(run.trace.share.most(run.graph.edges), 1)), 1)
    for begin in range(0, len(questions), together):
        give_back(run.graph.edges)
        found += _answers(noise, run.weighted, questions[begin : begin + together])
    after = selectors.after_init(run.trace)
    part = after if after is not None and 0 < after < recorded.makespan else recorded.makespan
    return Answers(noise.told, recorded, tuple(found), part)


def _answers(noise: Noise, recorded: Weighted, questions: Sequence[Question]) -> list[Answer]:
    """Return the answers to questions about a recorded run whose graphs are there at once, which then are let go of."""
    weighted = [question(recorded) for question in questions]
    return [_answer(noise, *one) for one in zip(questions, weighted, noise.drawn_of(weighted), strict=True)]


def _answer(noise: Noise, question: Question, weighted: Weighted, drawn: F8) -> Answer:
    """Return the answer to a question that made a graph, of which runs are drawn."""
    if not len(noise.last):
        return Answer(question, swept_makespan(weighted), drawn)
    graph, time = weighted.graph, sweep(weighted.graph, weighted.weight)
    ends = noise.ends(weighted, lambda calls: time[graph.returned[calls]])
    return Answer(question, makespan(graph, time, weighted.trace.share), drawn, ends=ends)


def draws_of(run: Run, questions: int = 0, draws: int = DRAWS) -> int:
    """Return how many runs are drawn for the answers to so many questions."""
    return min(draws, max(EDGES_OF_ALL // (passed(run.graph, run.trace.share) * (questions + 1)), FEWEST))


@remembered(1)
def drawn_as_recorded(weighted: Weighted, noise: Noise) -> F8:
    """Return the makespans, ns, of runs drawn of the recorded one, given its weighted graph: found once."""
    return noise.drawn(weighted)


def _unchanged(weighted: Weighted) -> Weighted:
    return weighted
