"""Between which makespans the true answer lies, as far as the trace tells, and why: what is unknown varied, and the noise of the run."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from perwiz.engines.sweep import swept_makespan
from perwiz.errors import UsageError
from perwiz.graph.graph import returning
from perwiz.graph.slots import slots
from perwiz.loggps.machine import Machine
from perwiz.loggps.model import Model
from perwiz.loggps.weigh import Weighted, forget_measured
from perwiz.trace.arrays import F8
from perwiz.trace.parts.iterations import find
from perwiz.trace.resources import EDGES_OF_CALL, at_once, give_back, graphs_at_once, of_graphs, remembered, thread_count
from perwiz.trace.trace import Trace
from perwiz.whatif.hypotheses.base import Hypothesis, apply, change
from perwiz.whatif.run import Run
from perwiz.whatif.sure.alone import alone
from perwiz.whatif.sure.answers import Answer, Answers, Gain, Outcome, Possible, Question, answered, drawn_as_recorded, paired
from perwiz.whatif.sure.chance import Chance, chance, differs
from perwiz.whatif.sure.doubts import Doubts, doubts_of
from perwiz.whatif.sure.noise import DRAWS, Around, Noise, found_noise, noise_of
from perwiz.whatif.sure.pieces import Varies
from perwiz.whatif.sure.variations import HELD, LATE, Variation, awaited, held, single, spaced, varied, varied_anew, weighed

NINE_OF_TEN = 1.645
"""Standard deviations from the mean within which nine of ten of a normal distribution lie."""
Task = Callable[[], Any]


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


def exactly(makespan: int) -> Span:
    """Return the span of what is recorded."""
    return Span(makespan, makespan, Around(0, 0), None, (), ())


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
    outcomes = graphs_at_once(tasks, edges, in_order=trace.share.team is not None)
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


@remembered(1)
def drawn_before(weighted: Weighted) -> F8 | None:
    """Return the makespans, ns, of runs drawn of a weighted graph, if they were drawn before: none, unless `draw_before` did."""
    return None


def draw_before(run: Run, weighted: Weighted, draws: int) -> None:
    """Draw runs of what hypotheses made of a large run before that is swept, and let go of what they are drawn from: both take memory."""
    drawn_before.tell(noise_of(run, draws).drawn(weighted), weighted)
    let_go(run)
    give_back(run.graph.edges)


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
    outcomes = graphs_at_once(tasks, edges, in_order=True) if apart else at_once([*tasks, *beside], rows)
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
