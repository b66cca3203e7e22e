"""The text of `perwiz domino`, made from its JSON document: the answer, the lists, single calls, the domino path, and fixes in turn."""

from __future__ import annotations

from collections.abc import Sequence

from perwiz import words
from perwiz.report import blocks, misfit
from perwiz.report.blocks import Facts
from perwiz.report.domino.answer import answer
from perwiz.report.domino.change import WHOLE, gained, over_all, receives
from perwiz.report.domino.lists import lists
from perwiz.report.domino.records import Change, DominoDocument, NextFix
from perwiz.report.domino.sure import section
from perwiz.report.domino.target import target
from perwiz.trace import operations
from perwiz.whatif.worth.domino import COUNTED

_CALLS, _STEPS = 3, 5
"""Rows of single calls and of the domino path, unless more are asked for."""
_WHERE, _MUCH = 20, 0.05
"""Columns of a place; part of what shares are of: gaps that cost less are not told."""
_WORDS = {"zero-wait": ("waited", "waits"), "zero-time": ("took time", "takes"), "advance": ("waited", "waits")}
"""Per question: what a call would not do, what it does."""
_MOVES = [
    "what runs ahead of a receive (passes) is a fix only if it needs nothing that this brings.",
    "what would move: perwiz predict TRACE --advance eN",
]


def text(domino: DominoDocument, rows: int | None = None) -> str:
    """Return the document as text: the answer, how a target is reached, fixes in turn, the lists, single calls and the domino path.

    So many rows of each list there are; by default few, and single calls only where they are moved.
    """
    lines = [*blocks.title(domino.trace, "what to change first", domino.health), "", *words.facts(answer(domino))]
    if domino.target:
        lines += target(domino, domino.target)
    if domino.fixes:
        lines += ["one fix after the other, each the one that gains most by then", *_steps(domino, domino.fixes.by_gain)]
    if domino.ranked or domino.at_best:
        lines += lists(domino, rows)
    lines += section(domino)
    if domino.calls:
        lines += ["", *words.facts(_calls(domino))]
    if domino.changes and (rows or domino.question != "zero-wait"):
        lines += ["", *_changes(domino, rows or _CALLS)]
    if domino.path.steps:
        lines += ["", *_path(domino, rows or _STEPS)]
    if domino.fixes:
        lines += ["", "for contrast, each the call that waits longest by then", *_steps(domino, domino.fixes.by_wait)]
    return "\n".join([*lines, "", *misfit.closing(domino, short=rows is None)])


def _calls(domino: DominoDocument) -> Facts:
    """Return what single calls are worth, those aside that end MPI, which nobody can change, and all of them."""
    none, gain = _none(domino), domino.replayed_ns - domino.bound_ns
    waits = f"{words.duration(domino.waiting_ns)}{over_all(domino)}, in {domino.waiting_calls} of"
    facts = [("waiting", f"{waits} {words.several(domino.calls, 'call')}{blocks.as_recorded(domino.health)}")]
    facts += _bound(domino, none) if gain else []
    first = next((row for row in domino.changes if operations.OP.get(row.routine) not in operations.FINALIZES), None)
    if first:
        does = f"it {_WORDS[domino.question][1]} {words.duration(_removed(domino, first))}{_others(domino, first)}"
        facts.append(("best call", f"{first.change}: {gained(domino, first.makespan_ns)}; {does}"))
        facts += [("", f"only if it needs nothing of the {receives(first)} it then runs ahead of")] if first.receives_passed else []
    elif domino.changes:
        facts.append(("best call", "none but those that end MPI, which nobody can change: balance what is computed before them"))
    elif gain and domino.question == "advance":
        facts.append(("best call", "none: what the waits that are worth something wait for cannot run earlier, or that gains nothing"))
    elif gain:
        facts.append(("best call", "none: several paths through the run are equally long, and one call shortens only one of them"))
    elif domino.answerable:
        facts += [("best call", f"none: the run would take as long if {none}"), *pace(domino)]
    else:
        facts += [("best call", "cannot be answered: no wait was recorded"), *pace(domino)]
    return [*facts, *_longest(domino)]


def _none(domino: DominoDocument) -> str:
    """Return what would be so if all calls were changed."""
    return f"no call {_WORDS[domino.question][0]}{blocks.as_recorded(domino.health)}"


def _bound(domino: DominoDocument, none: str) -> Facts:
    """Return what is left if all calls are changed, and what sets the pace if that is little."""
    asked = "zero-time" if domino.question == "zero-time" else "zero-wait"
    answer = ("no time" if asked == "zero-time" else "no waits", f"{gained(domino, domino.bound_ns)}, if {none}: --{asked} all")
    return [answer, *pace(domino)]


def pace(domino: DominoDocument) -> Facts:
    """Return in words what sets the pace of the run without waits, or that the trace does not tell; nothing if waits do."""
    pace, bound = domino.pace, domino.bound_ns
    if not pace:
        return []
    who = f"rank {words.rank(pace.rank, pace.thread)}"
    if pace.gap and bound - pace.without_gaps_ns >= _MUCH * domino.shares_of_ns:
        held = f"the model keeps sends of {who} apart, {words.duration(pace.gap_ns)} in all ({pace.gap}); without that it would be"
        return [("", f"{held} {words.duration(pace.without_gaps_ns)}: is it the machine's? see perwiz calibrate, and --model")]
    if unrecorded := blocks.unrecorded_waits(domino.health):
        return unrecorded
    alone = f"{who} takes that long without waiting for anybody"
    if pace.computation_ns >= pace.total_ns - pace.computation_ns:
        return [("", f"{alone}: see perwiz critical and perwiz balance")]
    parts = {"at work in calls": pace.calls_ns, "before it began": pace.start_ns, "in gaps of the model between sends": pace.gap_ns}
    where = max(parts, key=parts.__getitem__)
    return [("", f"{alone}, {words.duration(parts[where])} of it {where}: see perwiz critical")]


def _others(domino: DominoDocument, first: Change) -> str:
    """Return what becomes of the waits of others with a change, if it is the trigger of the domino path."""
    step = next((row for row in domino.path.steps if row.single.call == first.call == domino.path.trigger), None)
    if not step or not step.fewer_calls:
        return ""
    return f", then {words.several(step.fewer_calls, 'other')} {words.duration(step.less_ns)} less"


def _removed(domino: DominoDocument, row: Change) -> int:
    """Return the ns that the question takes from a call: its time, or its wait."""
    return row.time_ns if domino.question == "zero-time" else row.wait_ns


def _longest(domino: DominoDocument) -> Facts:
    """Return what the longest wait is worth: seldom what its length promises."""
    row = domino.longest_wait
    if not row or domino.question != "zero-wait":
        return []
    worth = f"gives {words.duration(row.gain_ns)}" if row.gain_ns else "gives nothing"
    if domino.changes and row.call == domino.changes[0].call:
        return [("longest wait", f"the same call, {words.duration(row.wait_ns)}")]
    return [("longest wait", f"{row.call}, {words.duration(row.wait_ns)}: removing it alone {worth}")]


def _where(row: Change) -> str:
    return words.shown(row.site or row.region, _WHERE) or "-"


def _made(row: Change) -> tuple[str, str, str]:
    """Return the rank that makes a call, its routine, and what it waits for."""
    return words.rank(row.rank, row.thread), row.routine, blocks.partner(row.partner)


def _changes(domino: DominoDocument, most: int) -> list[str]:
    """Return the table of single calls, each with what to paste behind `perwiz predict TRACE`."""
    also = domino.question == "advance"
    extra = ["zero-wait", "passes"] if also else []
    head = ["change", "gain", "", "makespan", *extra, _WORDS[domino.question][1], "rank", "routine", "waits for", "where"]
    rows = [
        [
            *(row.change, words.duration(row.gain_ns), words.percent(row.gain_ns, domino.shares_of_ns)),
            *(words.duration(row.makespan_ns), *(_promise(row) if also else [])),
            *(words.duration(_removed(domino, row)), *_made(row), _where(row)),
        ]
        for row in domino.changes[:most]
    ]
    shown = f", the first {len(rows)}" if len(rows) < domino.gaining_calls else ""
    tried = "of those tried, whose waits are worth most" if also else f"of {domino.calls}"
    title = f"single calls that pay: {domino.gaining_calls} {tried}{shown}"
    return [title, *words.table(head, rows, (0, *range(len(head) - 3, len(head)))), *(_MOVES if also else [])]


def _promise(row: Change) -> list[str]:
    """Return what zero-wait gives, and what the change passes."""
    return [words.duration(row.zero_wait_ns), receives(row)]


def _path(domino: DominoDocument, most: int) -> list[str]:
    """Return the domino path as a table in the order of time."""
    path = domino.path
    head = ["", "call", "rank", "routine", "waits for", "waits", "waits then", "alone gains", "others wait less", "wait more", "where"]
    rows = [
        [
            *(f"{row.number}{' *' if row.single.call == path.trigger else ''}", row.single.call, *_made(row.single)),
            *(words.duration(row.single.wait_ns), words.duration(row.wait_then_ns), words.duration(row.single.gain_ns)),
            f"{words.duration(row.less_ns)} in {row.fewer_calls}",
            *(words.duration(row.more_ns), _where(row.single)),
        ]
        for row in path.steps[:most]
    ]
    shown = f", {len(rows)} of them here" if len(rows) < path.calls else ""
    changed = f"`waits then`: when {path.trigger} (*) is changed"
    title = f"domino path, {words.several(path.calls, 'call')} in the order of time{shown}; {changed}{_more(path.paths)}"
    return [*words.wrapped(title), *words.table(head, rows, (0, 1, 3, 4, 10), spare=(10, 9, 3, 6, 4, 8))]


def _more(paths: int) -> str:
    if paths < 2:
        return ""
    if paths == COUNTED:
        return f"; {COUNTED} or more paths give the same"
    return f"; {paths - 1} more {'gives' if paths == 2 else 'give'} the same (--json)"


def _steps(domino: DominoDocument, fixes: Sequence[NextFix]) -> list[str]:
    """Return the table of fixes one after the other."""
    head = ["", "waited", "makespan", "gain", "in all", "all wait then", "change"]
    rows = [
        [
            str(number),
            *map(words.duration, (fix.wait_ns, fix.makespan_ns, fix.gain_ns)),
            words.percent(domino.replayed_ns - fix.makespan_ns, domino.shares_of_ns),
            *(words.duration(fix.waiting_ns), words.shown(fix.change or fix.name, WHOLE)),
        ]
        for number, fix in enumerate(fixes, 1)
    ]
    return words.table(head, rows, (0, 6)) if rows else ["nothing gains"]
