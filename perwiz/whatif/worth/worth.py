"""What a fix is worth: the makespan if one call, or some calls at once, were changed as a question says."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from functools import partial

import numpy as np

from perwiz.engines.sweep import swept_makespan
from perwiz.errors import UsageError
from perwiz.graph.graph import START
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import I8, Ints
from perwiz.trace.origin import Origin
from perwiz.trace.resources import give_back
from perwiz.whatif import rounds, selectors
from perwiz.whatif.hypotheses.waits import ZeroTime, ZeroWait, release
from perwiz.whatif.links import settled
from perwiz.whatif.order.advance import move_earlier
from perwiz.whatif.order.ordering_rules import check_movable
from perwiz.whatif.order.reorder import Reordered, receives
from perwiz.whatif.run import Run, in_rounds, run_of
from perwiz.whatif.sure import span as sure
from perwiz.whatif.sure.answers import answered
from perwiz.whatif.sure.doubts import doubts_of
from perwiz.whatif.sure.span import Span
from perwiz.whatif.worth.singles import singles

Tell = Callable[[int, int], object]
QUESTIONS = {kind.word: kind for kind in (ZeroWait, ZeroTime)}
"""What can be asked about calls, single ones and sets: the hypotheses by their words."""
ALL = (*QUESTIONS, "advance")
"""What can be asked about single calls; `advance by REGION` moves whole instances of a region."""
TRIED = 32
"""Calls for which `advance` is tried: those whose waits are worth most."""


def check_question(question: str, words: Collection[str] = QUESTIONS) -> str:
    """Return a question. Raises UsageError for a word that is none."""
    word, region = parts(question)
    if word not in words or (region and word != "advance"):
        raise UsageError(f"question '{question}': must be one of {', '.join(words)}")
    return question


def parts(question: str) -> tuple[str, str | None]:
    """Return the word of a question and the region that moves, None if it names none."""
    word, _, region = question.partition(" by ")
    return word, region or None


def hypothesis(question: str, what: str) -> str:
    """Return the question about these calls as `predict` takes it: `zero-wait e12`, `advance e12 by point`."""
    word, region = parts(question)
    return f"{word} {what}" + (f" by {region}" if region else "")


def values(run: Run, question: str, tell: Tell | None = None) -> tuple[I8, I8]:
    """Return, per recorded call, the makespan, int64 ns, if it alone were changed, and how many receives that makes other calls pass.

    For `advance` only the calls whose waits are worth most are tried, as many as TRIED; the others have the makespan of the run.
    What passes a receive may need what that receives: such a change is no fix before somebody has looked at the source. The other
    questions move nothing. `tell` is told how many calls of how many are tried. Raises UsageError for an unknown region, and where
    nothing may be moved.
    """
    run = in_rounds(run)
    if parts(question)[0] == "advance":
        check_movable(run.trace, question)
    region = parts(question)[1]
    if region:
        selectors.region(run.trace, region)
    single = singles(run)
    nobody = np.broadcast_to(np.int64(0), len(single.zero_time))
    if question == "zero-time":
        return single.zero_time, nobody
    promise = _recorded(run.weighted, single.zero_wait)
    if question == "zero-wait":
        return promise, nobody
    best = np.flatnonzero(promise < run.makespan)
    best = best[np.argsort(promise[best], kind="stable")][:TRIED]
    out, passed = np.full(len(promise), run.makespan, "i8"), np.zeros(len(promise), "i8")
    for number, call in enumerate(best.tolist(), 1):
        weighted = settled(_advanced(run.weighted, call, region))
        out[call] = swept_makespan(weighted)
        passed[call] = _passed(weighted, run)
        if tell is not None:
            tell(number, len(best))
    return out, passed


def _passed(weighted: Weighted, run: Run) -> int:
    """Return how many receives are passed by what moves in a graph and did not in that of the run."""
    before = len(run.weighted.moves) if isinstance(run.weighted, Reordered) else 0
    moves = weighted.moves[before:] if isinstance(weighted, Reordered) else ()
    return receives(run.trace, moves)


def _recorded(weighted: Weighted, value: I8) -> I8:
    """Return a value per recorded call, given one per call in the order of a graph."""
    return value[weighted.call] if isinstance(weighted, Reordered) else value


def change(weighted: Weighted, question: str, calls: Ints | Sequence[int]) -> Weighted:
    """Return a graph in which these recorded calls (rows) are changed, the one given as it was; `advance` takes them one by one.

    Collectives whose messages share links or interfaces are in rounds there.
    """
    weighted = rounds.in_rounds(weighted)
    if question not in QUESTIONS:
        for call in np.asarray(calls, "i8").tolist():
            weighted = _advanced(weighted, call, parts(question)[1])
        return settled(weighted)
    chosen = np.zeros(len(weighted.trace.calls), bool)
    chosen[_of_graph(weighted, calls)] = True
    return settled(QUESTIONS[question].of(dataclasses.replace(weighted, weight=weighted.weight.copy()), chosen))


def _of_graph(weighted: Weighted, calls: Ints | Sequence[int]) -> Ints:
    """Return the calls of a graph that are these recorded ones."""
    rows = calls if isinstance(calls, np.ndarray) else np.asarray(calls, "i8")
    return weighted.call[rows] if isinstance(weighted, Reordered) else rows


def _advanced(weighted: Weighted, call: int, region: str | None) -> Weighted:
    """Return the graph in which what a call waits for runs earlier; the same graph if it cannot, as outside the region that moves."""
    try:
        moved = move_earlier(weighted, call, region)
    except UsageError:
        return weighted
    return moved[0] if moved else weighted


def after(run: Run, question: str, calls: I8 | Sequence[int], name: str = "") -> Run:
    """Return the run in which these recorded calls (rows) are changed, called by the question and what `name` says of them."""
    origin = Origin("predicted", hypotheses=(f"{question} {name}".strip(),), effects_may_precede_causes=question in QUESTIONS)
    return run_of(run.clocks, run.machine, change(in_rounds(run).weighted, question, calls), origin)


def makespan_after(run: Run, question: str, calls: I8 | Sequence[int]) -> int:
    """Return the makespan, ns, of the run in which these calls (rows) are changed."""
    return swept_makespan(change(in_rounds(run).weighted, question, calls))


def bound(run: Run, question: str) -> int:
    """Return the makespan, ns, if all calls were changed: no choice of calls gives less. Of `advance` that of zero-wait."""
    return makespan_after(run, "zero-time" if question == "zero-time" else "zero-wait", np.arange(len(run.trace.calls)))


def without_gaps(run: Run) -> int:
    """Return the makespan, ns, if no call waited and no send kept the model's distance from the one before."""
    every = np.ones(len(run.trace.calls), bool)
    weighted = change(in_rounds(run).weighted, "zero-wait", np.flatnonzero(every))
    release(weighted, every, START)
    return swept_makespan(weighted)


def spans(run: Run, question: str, several: Sequence[Ints]) -> list[Span]:
    """Return, per set of calls (rows, or bool per call), between which makespans the true one lies if these are changed, as far as the
    trace tells.
    """
    give_back(run.graph.edges)
    doubts = doubts_of(run)  # before what runs are drawn from is held
    return sure.spans(run, answered(run, [partial(change, question=question, calls=calls) for calls in several]), doubts=doubts)
