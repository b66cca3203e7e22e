"""Every analysis of one trace that the page shows."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np

from perwiz import words
from perwiz.loggps.weigh import keep_as_measured
from perwiz.patterns.analysis.causes import explain
from perwiz.patterns.analysis.worth import Worth, worth
from perwiz.patterns.search import Findings, search
from perwiz.report import blocks
from perwiz.report.domino.document import document as domino_document
from perwiz.report.domino.document import ordered
from perwiz.report.domino.first import first_bound, pays
from perwiz.report.domino.records import DominoDocument
from perwiz.trace.arrays import I4, I8, Ints, narrowed
from perwiz.trace.tables import Times
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.compare.apart import Apart, apart
from perwiz.whatif.compare.compare import Comparison, compare
from perwiz.whatif.compare.unasked import Unasked, unasked
from perwiz.whatif.health import Health
from perwiz.whatif.hypotheses.base import Asked, Hypothesis, parse_all
from perwiz.whatif.limits.critical import Critical, critical_of
from perwiz.whatif.matching import matching
from perwiz.whatif.predict import Prediction, predict
from perwiz.whatif.ranking.change import Change
from perwiz.whatif.ranking.ranking import Line, rank
from perwiz.whatif.rematch.rematched import Rematched, rematched
from perwiz.whatif.run import Run, Start, based, changed, iterating, machine_of, replayed, under
from perwiz.whatif.stages import go_on
from perwiz.whatif.sure.span import let_go
from perwiz.whatif.waits import Waits
from perwiz.whatif.worth.domino import Domino, domino_of

ROWS = 20
"""Rows of a list."""
Tell = Callable[[int, int], object]
"""Is told how many of how many steps are done."""


def silent(done: int, steps: int) -> None:
    """Tell nobody."""


OTHERS, FEW, MANY = 4, 50_000, 200_000
"""Changes of the list that runs of the page are predicted under, for runs of up to FEW calls, and of more than MANY, of which the page does
not answer itself."""


def predicted(run: Run, asked: Sequence[Hypothesis]) -> tuple[Run, Rematched | None]:
    """Return what a run becomes under hypotheses as `perwiz predict` has it: where other messages come first, receives take these.

    And what that changes; None if nothing does. Raises UsageError if one does not fit.
    """
    base = based(run, asked)
    now = under(base, asked)
    return rematched(base, now, asked) if matching(base, now).changed else (now, None)


@dataclasses.dataclass(frozen=True, eq=False)
class WaitStates:
    """What the search for wait states found in a run."""

    run: Run
    findings: Findings
    """With the metrics of the causes."""
    worth: Worth


def wait_states(run: Run) -> WaitStates:
    """Return the wait states of a run, what they come from and what they are worth."""
    findings = search(run.trace)
    gains = worth(run, findings)
    return WaitStates(run, explain(findings).findings if len(run.trace.locations) else findings, gains)


@dataclasses.dataclass(frozen=True, eq=False)
class Other:
    """What becomes of a run under a change: what the page draws of it, and no more, for there are several."""

    change: Change
    makespan: int
    """ns."""
    order: I8 | None
    """Rows of calls by location and time; None: they are in this order."""
    recorded: Times
    """When its calls happened."""
    enter: Ints
    """By how much later than there they are entered now, ns, in as few bits as that takes."""
    leave: Ints
    """The same of when they are left."""
    beside: Timeline
    """When regions and locations happen; with the rows of the recorded trace."""
    waited: Ints
    """Per call, ns."""
    partner: I4

    @classmethod
    def of(cls, change: Change, run: Run) -> Other:
        """Return it of what a run becomes under a change."""
        timeline, recorded = run.recorded_rows(), run.clocks.trace.timeline.calls
        return cls(
            change=change,
            makespan=run.makespan,
            order=None if run.order is None else np.argsort(run.order.call),
            recorded=recorded,
            enter=narrowed(timeline.calls.enter - recorded.enter),
            leave=narrowed(timeline.calls.leave - recorded.leave),
            beside=dataclasses.replace(timeline, calls=Times.empty()),
            waited=narrowed(run.waits.time),
            partner=run.waits.partner,
        )

    @property
    def name(self) -> str:
        """What the run is called."""
        return f"predicted under {words.shown(blocks.option(self.change.question), 300)}"

    @property
    def timeline(self) -> Timeline:
        """When it happens, made anew each time; with the rows of the recorded trace."""
        calls = Times(self.recorded.enter + self.enter, self.recorded.leave + self.leave)
        return dataclasses.replace(self.beside, calls=calls)

    @property
    def waits(self) -> Waits:
        """How long calls wait, and for which; made anew each time."""
        return Waits(self.waited.astype("i8"), self.partner)


@dataclasses.dataclass(frozen=True, eq=False)
class Report:
    """All that the page tells of a trace."""

    run: Run
    domino: Domino
    critical: Critical
    ranked: DominoDocument
    """What `perwiz domino` says of every kind of change, at most ROWS rows a list."""
    lines: tuple[Line, ...]
    """What somebody can do, as the lines of that stand, and those that are not in it behind them."""
    bounds: tuple[Line, ...]
    """What else there is to gain at best."""
    prediction: Prediction | None
    """Under the hypotheses asked for, or without any under the first change of the list if it pays, else under what is at best; None if
    nothing gains."""
    asked: bool
    """Whether there were hypotheses."""
    comparison: Comparison | None
    """With a measured run, if one was given."""
    chance: Apart | None
    """How far both may lie apart by chance; None of a prediction, and where too little repeats to tell."""
    unasked: Unasked | None
    """How its program changed otherwise than asked; None if nothing says so."""
    command: str
    """That made the page."""
    ask: str
    """The command that asks further questions of the same run."""

    @property
    def pays(self) -> bool:
        """Whether the first change of the list does: else what there is to gain at best is shown."""
        return pays(self.ranked)

    @functools.cached_property
    def others(self) -> list[Other]:
        """What becomes of the run under changes of the list that it is not predicted under already, the largest gain first; without any
        hypotheses asked for.
        """
        shown, calls = int(self.pays), len(self.run.trace.calls)
        most = 0 if self.asked or FEW < calls <= MANY else OTHERS
        return [Other.of(line.change, changed(self.run, [line.change.hypothesis])) for line in self.lines[shown:most]]

    @functools.cached_property
    def states(self) -> WaitStates:
        """The wait states of the run."""
        return wait_states(self.run)

    @property
    def incomplete(self) -> bool:
        """Whether a trace has holes."""
        return any(health.incomplete for health in self.healths)

    @property
    def healths(self) -> list[Health]:
        """The health of each trace."""
        return [self.run.health(), *([self.comparison.second.health] if self.comparison else [])]


def gathered(
    trace: Trace,
    hypotheses: Asked = (),
    model: Start = None,
    clock: str = "clc",
    against: Trace | None = None,
    command: str = "",
    ask: str = "perwiz predict TRACE",
    tell: Tell = silent,
) -> Report:
    """Return every analysis of a trace that the page shows; arguments as in `perwiz.predict`, `against` a run to compare with.

    `tell` is told how many of how many steps are done.
    """
    asked, machine = parse_all(hypotheses, trace), machine_of(model, trace)
    tell(0, 5)
    run = iterating(trace, machine, clock)
    keep_as_measured(run.weighted)  # questions have copies of the weights
    tell(1, 5)
    domino = domino_of(run)
    tell(2, 5)
    ranked, lines, bounds = _ranked(domino)
    first = lines[:1] if pays(ranked) else bounds[:1] if first_bound(ranked) else ()
    question = asked or [line.change.question for line in first]
    tell(3, 5)
    go_on(trace, run, clock)
    prediction = predict(trace, question, machine, clock=clock) if question else None
    let_go(run)
    tell(4, 5)
    comparison = compare(trace, against, None, asked, machine, clock) if against else None
    sides = comparison.sides if comparison and not asked else ()
    repeated = [replayed(side.trace, machine_of(model, side.trace), "none") for side in sides]
    return Report(
        run=run,
        domino=domino,
        ranked=ranked,
        lines=lines,
        bounds=bounds,
        critical=critical_of(run),
        prediction=prediction,
        asked=bool(asked),
        comparison=comparison,
        chance=apart(comparison, repeated) if comparison and comparison.difference else None,
        unasked=unasked(comparison, trace, against, machine, clock) if comparison and against else None,
        command=command,
        ask=ask,
    )


def _ranked(domino: Domino) -> tuple[DominoDocument, tuple[Line, ...], tuple[Line, ...]]:
    """Return what there is to say of every kind of change in a run, and its lines; what answered that is not kept."""
    ranking = rank(domino.run)
    document = domino_document(domino, ranking, ROWS)
    return document, ordered(ranking, document).lines, ranking.bounds
