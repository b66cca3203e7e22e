"""How a target of `perwiz domino` is reached, or how far the changes go, in words."""

from __future__ import annotations

from perwiz import words
from perwiz.report import blocks, spans
from perwiz.report.blocks import Facts
from perwiz.report.domino.change import INDENT, WHOLE, gained, only_if, shown, worth_of
from perwiz.report.domino.records import DominoDocument, Target

_MUCH = 0.05
"""Part of a run from which on it is told what the target asks of what comes behind MPI_Init."""


def target(domino: DominoDocument, target: Target) -> list[str]:
    """Return what reaches a target, or how far what can be done goes and what the rest would need, and the command that predicts it."""
    goal, changes = words.duration(target.makespan_ns), target.changes
    several = words.several(len(changes), "change")
    verdict = _verdict(domino, target)
    verdict += f"; no more than {several} searched for, as the trace is large: change these, and record again" if target.stopped else ""
    lines = words.facts([("target", f"{target.asked}, {goal}: {verdict}"), *_base(domino, target)])
    if target.span is None:
        return lines
    both = target.feasible_span is not None
    for label, span, count in (("can be done", target.feasible_span, target.feasible), ("at best", target.span, len(changes))):
        facts = spans.facts(span, _reaches(domino, count))
        lines += words.facts([(label if both and not row else "", told) for row, (_, told) in enumerate(facts)])
    done, rest = changes[: target.feasible], changes[target.feasible :]
    command = " ".join([words.shown(domino.predict, WHOLE), *(shown(change) for change in done or rest)])
    return [*lines, *_together(domino, target), command]


def _base(domino: DominoDocument, target: Target) -> Facts:
    """Return what the target is counted from, where shares are of less, and what it asks of that."""
    whole, after = domino.replayed_ns, domino.shares_of_ns
    if whole - after <= _MUCH * whole:
        return []
    left = target.makespan_ns - (whole - after)
    rest = blocks.whole_of(after, domino.part)
    asks = f"of {rest} it asks for {after / left:.2f}x" if left > 0 else f"it leaves nothing of {rest}"
    return [("", f"counted from the whole run, {words.duration(whole)} with MPI_Init; {asks}")]


def _reaches(domino: DominoDocument, changes: int) -> int:
    """Return the makespan with the first changes of the target, ns."""
    return domino.target.changes[changes - 1].makespan_ns if domino.target and changes else domino.replayed_ns


def _verdict(domino: DominoDocument, target: Target) -> str:
    """Return whether a target is reached, by what somebody can do or at best, and how far that goes."""
    changes, count = target.changes, len(target.changes)
    if not domino.answerable:
        return "cannot be answered: the waits were not recorded"
    if target.reached:
        reached = f"reached by {words.several(count, 'change')}, the fewest found: {gained(domino, _reaches(domino, count))}"
        return reached if changes else "the run is as fast already"
    if not changes:
        return "out of reach: nothing that was tried gains 0.1 %"
    can = f"what can be done reaches {_times(domino, target.feasible)}" if target.feasible else "nothing that can be done gains 0.1 %"
    needs = "the rest would need" if target.feasible else "it would need"
    if count == target.feasible:
        end = "nothing else that was tried gains 0.1 %" if target.ended else "each gains most behind those before it"
        return f"{'out of reach' if target.ended else 'not reached'}: {can}; {end}"
    bounds = words.several(count - target.feasible, "more change" if target.feasible else "change")
    best = f"{bounds} that nobody can make in full (at best)"
    if target.reached_at_best:
        can = can.replace("what can be done", "that")
        return f"not by what can be done: {can}; {needs} {best}: {gained(domino, _reaches(domino, count))}"
    end = "nothing else that was tried gains 0.1 %" if target.ended else "and more was not searched for"
    return f"out of reach: {can}; with {best} it is {gained(domino, _reaches(domino, count))}, and {end.removeprefix('and ')}"


def _times(domino: DominoDocument, changes: int) -> str:
    """Return how many times as fast the first changes of the target make the run, and what that gains."""
    makespan = _reaches(domino, changes)
    times = f"{domino.replayed_ns / makespan:.2f}x with" if makespan else "no time at all with"
    return f"{times} {words.several(changes, 'change')}: {gained(domino, makespan)}"


def _together(domino: DominoDocument, target: Target) -> list[str]:
    """Return the table of changes each behind those before it, what to do for each, and where what can be done ends."""
    rows, said = list[words.Line](), set[str]()
    for number, row in enumerate(target.changes, 1):
        together = words.percent(domino.replayed_ns - row.makespan_ns, domino.shares_of_ns)
        if 0 < target.feasible == number - 1:
            rows.append("what the rest would need, at best:")
        rows.append([str(number), *worth_of(domino, row), together, row.kind, shown(row)])
        told = [f"{row.what}{only_if(row)}{', at best' if row.bound else ''}", *([f"do: {row.remedy}"] if row.remedy not in said else [])]
        said.add(row.remedy)
        rows += [part for text in told for part in words.wrapped(f"{INDENT}{text}", len(INDENT) + 2)]
    return words.table(["", "gain", "", "makespan", "in all", "kind", "change"], rows, (0, 5, 6), spare=(3,))
