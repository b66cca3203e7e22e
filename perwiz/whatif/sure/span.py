"""Between which makespans the true answer lies, as far as the trace tells, and why: what is unknown varied, and the noise of the run."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from perwiz.engines.sweep import makespan, sweep, swept_makespan
from perwiz.errors import UsageError
from perwiz.graph.graph import returning
from perwiz.graph.slots import slots
from perwiz.loggps.machine import Machine
from perwiz.loggps.model import Model
from perwiz.loggps.weigh import Weighted, forget_measured
from perwiz.trace.arrays import F8, I8
from perwiz.trace.parts.iterations import find
from perwiz.trace.resources import EDGES_OF_CALL, at_once, give_back, graphs_at_once, of_graphs, remembered, thread_count
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import Hypothesis, apply, change
from perwiz.whatif.run import Run
from perwiz.whatif.sure.alone import alone
from perwiz.whatif.sure.chance import Chance, chance, differs
from perwiz.whatif.sure.doubts import Doubts, doubts_of
from perwiz.whatif.sure.noise import DRAWS, FEWEST, Around, Noise, found_noise, noise_of
from perwiz.whatif.sure.parts import LEAST
from perwiz.whatif.sure.pieces import Varies
from perwiz.whatif.sure.swept import passed
from perwiz.whatif.sure.variations import HELD, LATE, Variation, awaited, held, single, spaced, varied, varied_anew, weighed

CLEAR = 0.05
"""Part of drawn runs that lies beyond each end of what nine of ten do."""
STUDENT = (
    *(2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753, 1.746),
    *(1.740, 1.734, 1.729, 1.725, 1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701, 1.699),
)
"""Student's quantile of 95 % for LEAST - 1 degrees of freedom to BLOCKS - 1."""
NINE_OF_TEN = 1.645
"""Standard deviations from the mean within which nine of ten of a normal distribution lie."""
EDGES_OF_ALL = 6_000_000_000
"""Edges that drawn runs of all questions pass together."""
_ROOM, _BYTES = 1 << 27, 24
"""Bytes that graphs take whose runs are drawn together, at most, and for each of their edges."""
Task = Callable[[], Any]
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


@dataclasses.dataclass(frozen=True)
class Span:
    """Between which makespans, ns, the true one of an answer lies as far as the trace tells."""

    least: int
    most: int
    around: Around
    """How far another run of the same lies from its makespan: what `least` and `most` lie further out."""
    varies: Varies | None
    """What varies most from run to run; None if nothing repeats, so that nothing tells, or no runs are drawn."""
    others: tuple[Possible, ...]
    """What else could come out, farthest from the answer first: the smallest and the largest, if they differ from it."""
    stops: tuple[str, ...]
    """Changes of the model under which the program could not run so."""
    gain: Gain | None = None
    """None if too little repeats."""
    costs: int = 0
    """By how much it may be off nine times of ten, as costs that were fitted are known no better, ns; not in `least` and `most`."""
    drawn: bool = True
    """Whether runs are drawn: else nobody looks for what varies."""
    alone: int | None = None
    """What it gains if each process has a processor of its own, ns, see `alone`; None if each had, or nothing is told of it."""

    @property
    def known(self) -> bool:
        """Whether the trace tells anything about how far the true one may lie from the answer."""
        return self.varies is not None or bool(self.others)

    def alike(self) -> Span:
        """Return the span as what repeats tells it, for several recordings that tell themselves what they differ by."""
        sooner, later = self.around.least - self.around.sooner, self.around.most - self.around.later
        around = Around(self.around.sooner, self.around.later)
        return dataclasses.replace(self, least=self.least + sooner, most=self.most - later, around=around)

    def without(self, rest: int) -> Span:
        """Return the span of a part of the run: the rest, ns, takes the same whatever the makespan is."""
        others = tuple(dataclasses.replace(other, makespan=other.makespan - rest) for other in self.others)
        return dataclasses.replace(self, least=max(self.least - rest, 0), most=self.most - rest, others=others)


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


def exactly(makespan: int) -> Span:
    """Return the span of what is recorded."""
    return Span(makespan, makespan, Around(0, 0), None, (), ())


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


def span_under(run: Run, hypotheses: Sequence[Hypothesis], draws: int = DRAWS) -> Span:
    """Return the span of the makespan of a run under hypotheses."""
    answers = answered(run, [lambda weighted: apply(weighted, hypotheses)], draws)
    priced = any(one.priced for one in hypotheses)
    answers = dataclasses.replace(answers, of=tuple(dataclasses.replace(one, priced=priced) for one in answers.of))
    return spans(run, answers, hypotheses)[0]


def spans(
    run: Run, answers: Answers, hypotheses: Sequence[Hypothesis] = (), doubts: Doubts | None = None, beside: list[Task] | None = None
) -> list[Span]:
    """Return the span of each answer, the unknowns of the machine varied one at a time and then all to where each answer is smallest and
    largest; the model is varied, too, where more than a few messages contradict it.

    `hypotheses` are those of the questions that change messages: they may need further edges. `doubts` are those of the run, whose
    weights are read without. `beside` are tasks that are done meanwhile, and taken out of the list, such as those that draw runs of the
    answers: of a large run before, and what they draw from is let go of, as what is otherwise takes memory.
    """
    found, doubts = [_Found(answer) for answer in answers.of], doubts or doubts_of(run)
    more = [*doubts.against, *_opened(run.machine, hypotheses)]
    _tell_of_each(run, found, more, hypotheses, [] if beside is None else beside)
    _tell_alone(run, found)
    _tell_missing(run, found)
    together = {changes for one in found for changes in one.together()}
    for changes in sorted(together):
        combined = varied(run, changes, hypotheses)
        for one in found:
            if combined is not None and changes in one.together():
                one.tell("", one.under(combined))
    noise = cache(partial(_noise, answers.noise.draws, run))
    return [one.span(answers, run, noise) for one in found]


def found_ahead(trace: Trace, machine: Machine, hypotheses: Sequence[Hypothesis], draws: int = 0) -> dict[str, Outcome]:
    """Return what the run of a trace of treated clocks becomes under hypotheses, per change of the model that nothing rules out and that
    gives it another graph: found while no run is held, as such a graph takes as much memory as the recorded one. So are its iterations, if
    there will be `draws`.
    """

    def outcome(end: str) -> Outcome | None:
        variation = varied_anew(trace, machine.model, (end,), hypotheses)
        return _outcome(lambda weighted: change(weighted, hypotheses), variation) if variation else None

    ends = [end for _, end in single(machine, _opened(machine, hypotheses))]
    iterations = [partial(find, trace)] if draws else []  # which remembers them
    tasks: list[Callable[[], Any]] = [*(partial(outcome, end) for end in ends), *iterations]
    edges = EDGES_OF_CALL * trace.share.total(len(trace.calls))
    in_one_order = trace.share.team is not None and of_graphs(edges) > 0  # as who asks others does
    outcomes = graphs_at_once(tasks, 0 if in_one_order else edges)
    return {end: outcome for end, outcome in zip(ends, outcomes, strict=False) if outcome is not None}


def _opened(machine: Machine, hypotheses: Sequence[Hypothesis]) -> list[str]:
    return [end for hypothesis in hypotheses for end in hypothesis.opens(machine)]


def _outcome(question: Question, variation: Variation) -> Outcome:
    """Return what a question comes to under a variation. Calls may have an order there that waits for itself: then the program stops."""
    try:
        return Possible(variation.changes, swept_makespan(question(variation.weighted)))
    except UsageError:
        return tuple(end for end in variation.changes if end != HELD)  # a process in a call holds nobody for good


def _noise(draws: int, run: Run) -> Noise:
    """Return the noise of a recorded run, whose weights are read without: found anew if it was let go of."""
    known = noise_of.told(run, draws)
    return known or noise_of(dataclasses.replace(run, weighted=weighed(run, run.machine.model)), draws)


def let_go(run: Run) -> None:
    """Let go of what runs are drawn from, and of what is known of its graph for questions."""
    drawn_as_recorded.forget(run.weighted)
    noise_of.forget(run)
    found_noise.forget(run)
    slots.forget(run.graph)
    returning.forget(run.graph)
    forget_measured(run.graph)


def _tell_of_each(run: Run, found: Sequence[_Found], more: Sequence[str], hypotheses: Sequence[Hypothesis], beside: list[Task]) -> None:
    """Tell answers what they become where one thing is otherwise that is unknown, held or fitted, in order.

    What is otherwise takes memory: of several answers, which then are found at once, one thing after the other, and so is what a large run
    has of it. What is to be done beside is done meanwhile.
    """

    rows = 0 if run.trace.share.team else run.graph.edges  # who asks others does so in one order
    few, edges = of_graphs(rows), run.trace.share.total(run.graph.edges)
    large = not of_graphs(edges)

    def otherwise(change: str) -> list[Outcome]:
        if all(change in one.ahead for one in found):
            return [one.ahead[change] for one in found]
        return in_all(partial(varied, run, (change,), hypotheses))

    def in_all(made: Callable[[], Variation | None]) -> list[Outcome]:
        variation = made()
        if variation is None:
            return []
        alike = variation.alike(run)
        if len(found) > 1:
            slots(variation.weighted.graph)  # several sweeps at once keep few times each
        give_back(run.graph.edges)
        return at_once([partial(one.under, variation, alike) for one in found], few)

    def cheaper(model: Model) -> list[int | None]:
        weighted = weighed(run, model)
        return at_once([partial(one.cost, weighted) for one in found], few)

    unknown = single(run.machine, more)
    keys = [*(key for key, _ in unknown), "", "", ""]
    tasks: list[Callable[[], Any]] = [
        *(partial(otherwise, change) for _, change in unknown),
        partial(in_all, partial(held, run)),
        *(partial(in_all, partial(spaced, run, longest)) for longest in (False, True)),
        *(partial(cheaper, model) for model in run.machine.off),
    ]
    apart = len(found) >= thread_count(few)
    if apart:
        at_once(beside, rows)
        beside.clear()
    if large:
        let_go(run)
        give_back(run.graph.edges)
    outcomes = graphs_at_once(tasks, edges if large else 0) if apart else at_once([*tasks, *beside], rows)
    for key, several in zip(keys, outcomes, strict=False):
        for one, outcome in zip(found, several, strict=False):
            one.tell(key, outcome)
    for one, costs in zip(found, zip(*outcomes[len(keys) : len(tasks)], strict=True), strict=False):
        one.costs = [cost for cost in costs if cost is not None]


def _tell_alone(run: Run, found: Sequence[_Found]) -> None:
    """Tell answers what they gain if processes that shared processors have one each."""
    weighted = alone(run)
    if weighted is None:
        return
    before, variation = swept_makespan(weighted), Variation((), weighted)
    outcomes = at_once([partial(one.under, variation) for one in found], 0 if run.trace.share.team else run.graph.edges)
    for one, outcome in zip(found, outcomes, strict=True):
        one.alone = before - outcome.makespan if isinstance(outcome, Possible) else None


def _tell_missing(run: Run, found: Sequence[_Found]) -> None:
    """Tell answers between what they lie where collectives have ranks whose traces are missing: these may come as late as recorded, so that
    nothing gains, or all that the collectives take may be waiting for them, and end with the change.
    """
    variation = None if run.trace.share.team else awaited(run)
    if variation is None:
        return
    late, tasks = Possible((LATE,), run.makespan), [partial(one.under, variation) for one in found]
    for one, outcome in zip(found, at_once(tasks, run.graph.edges), strict=True):
        one.tell("", late)
        one.tell("", outcome)


class _Found:
    """What an answer becomes under variations."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._least: dict[str, Possible] = {}
        self._most: dict[str, Possible] = {}
        self._stops: list[str] = []
        self.costs: list[int] = []
        """How much it changes where each cost that was fitted is smaller by its standard error, ns."""
        self.alone: int | None = None
        """What it gains if each process has a processor of its own, ns; None if nothing is told of that."""
        self.ahead = answer.ahead
        for possible in answer.others:
            self._keep("", possible)

    def under(self, variation: Variation, alike: bool = False) -> Outcome:
        """Ask again under a variation of an unknown, in which all weights may be `alike`."""
        if alike and not self._answer.priced:
            return Possible(variation.changes, self._answer.makespan)
        return _outcome(self._answer.question, variation)

    def tell(self, unknown: str, outcome: Outcome) -> None:
        """Take what becomes of it where an unknown is otherwise."""
        if isinstance(outcome, Possible):
            self._keep(unknown, outcome)
        else:
            self._stops.extend(outcome)

    def cost(self, weighted: Weighted) -> int | None:
        """Ask again where a cost is smaller by its standard error: of few costs, an answer changes in proportion to each.

        None of another order of calls that waits for itself there.
        """
        with contextlib.suppress(UsageError):
            return swept_makespan(self._answer.question(weighted)) - self._answer.makespan
        return None

    def _keep(self, unknown: str, this: Possible) -> None:
        for side, sign in ((self._least, 1), (self._most, -1)):
            best = side.get(unknown)
            if sign * this.makespan < sign * (best.makespan if best else self._answer.makespan):
                side[unknown] = this

    def together(self) -> list[tuple[str, ...]]:
        """Return, for both sides, the changes of several unknowns that each alone lead there."""
        sides = ([possible.changes[0] for unknown, possible in sorted(side.items()) if unknown] for side in (self._least, self._most))
        return [tuple(changes) for changes in sides if len(changes) > 1]

    def span(self, answers: Answers, run: Run, noise_again: Callable[[], Noise]) -> Span:
        """Return the smallest and the largest makespan, given the recorded run, whose weights are read without, and what its noise is."""
        now, noise = self._answer.makespan, answers.noise
        around = noise.around(self._answer.drawn, now, answers.recorded.makespan - answers.part)
        ends = [min(self._least.values(), key=_makespan, default=None), max(self._most.values(), key=_makespan, default=None)]
        others = sorted((end for end in ends if end), key=lambda end: -abs(end.makespan - now))
        times = [now, *map(_makespan, others)]
        least, most = max(min(times) - around.least, 0), max(times) + around.most
        gain, costs = answers.gain(self._answer, times, (least, most)), round(NINE_OF_TEN * math.hypot(*self.costs))
        gain = dataclasses.replace(gain, chance=self._chance(answers, run, noise_again, gain.mean)) if gain else None
        return Span(least, most, around, noise.varies, tuple(others), tuple(self._stops), gain, costs, noise.draws > 0, self.alone)

    def _chance(self, answers: Answers, run: Run, noise: Callable[[], Noise], mean: int) -> Chance | None:
        """Return why drawn runs gain another amount than the recorded one, if they do: one that is no single piece only where the mean that
        is told differs, too.
        """
        gained = answers.recorded.makespan - self._answer.makespan
        drawn = round(float(paired(answers.recorded.drawn, self._answer.drawn).mean()))
        if not differs(gained, drawn, answers.part):
            return None
        recorded, again = (weighed(run, run.machine.model) for _ in range(2))
        found = chance(noise(), recorded, self._answer.question(again), gained, drawn)
        return found if found.piece or differs(gained, mean, answers.part) else None


def _makespan(possible: Possible) -> int:
    return possible.makespan
