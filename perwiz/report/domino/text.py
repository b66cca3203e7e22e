"""The text of `perwiz domino`, made from its JSON document. What to change first comes first."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from perwiz import words
from perwiz.report import blocks, misfit, spans
from perwiz.report.blocks import Facts
from perwiz.report.domino.records import (
    Change,
    DominoDocument,
    Fixes,
    Limits,
    Line,
    NextFix,
    Placed,
    Ranked,
    Spending,
    Target,
    first_bound,
    first_line,
    negligible,
    pays,
)
from perwiz.report.records import Span
from perwiz.whatif.worth.domino import COUNTED

_WHERE, _PATH, _WHOLE = 20, 60, 4000
_MUCH = 0.05
"""Part of what shares are of: gaps that cost less are not told."""
_WORDS = {"zero-wait": ("waited", "waits"), "zero-time": ("took time", "takes"), "advance": ("waited", "waits")}
"""Per question: what a call would not do, what it does."""
_INDENT = "     "
_OTHERS, _CURE = 2, 0.1
"""Others that say the same that are named; part of a gain from which on a larger eager limit is named first, and of a bound a change."""
_BOUND = {
    "zero-wait": "a wait goes only as far as what it waits for comes earlier",
    "zero-time": "no call takes no time",
    "network": "no network is for free",
    "scale": "only as far as kernels are there to hide it",
}
"""Why nobody can keep what is promised at best, by what is asked."""

_MOVES = [
    "what runs ahead of a receive (passes) is a fix only if it needs nothing that this brings.",
    "what would move: perwiz predict TRACE --advance eN",
]


def text(domino: DominoDocument) -> str:
    """Return the document as text: the answer, how a target is reached, what could be changed, single calls, the domino path, and fixes."""
    lines = [*blocks.title(domino.trace, "what to change first", domino.health), "", *words.facts(_answer(domino))]
    if domino.target:
        lines += _target(domino, domino.target)
    if len(domino.best) > 1:
        lines += ["", "the best change of each kind", *_kinds(domino)]
    if domino.ranked or domino.at_best:
        lines += _lists(domino)
    if domino.calls:
        lines += ["", *words.facts(_calls(domino))]
    if domino.changes:
        lines += ["", *_changes(domino)]
    if domino.path.steps:
        lines += ["", *_path(domino)]
    if domino.fixes:
        lines += ["", *_fixes(domino, domino.fixes)]
    return "\n".join([*lines, "", *misfit.closing(domino)])


def _answer(domino: DominoDocument) -> Facts:
    """Return the first screen: what was recorded, what limits it, and the first change."""
    recorded = blocks.recorded(domino.recorded_ns, domino.health)
    if not domino.calls:
        facts = [("recorded", f"{recorded}; there are no MPI calls to change")]
    else:
        waits = f"{_everybody(domino.limits)} {words.duration(domino.waiting_ns)} in {domino.waiting_calls} of"
        facts = [("recorded", f"{recorded}; {waits} {words.several(domino.calls, 'call')}{blocks.as_recorded(domino.health)}")]
    facts += blocks.share_facts(domino.shares_of_ns, domino.replayed_ns, domino.part)
    facts += limits(domino.limits, domino.part) if domino.limits else []
    facts += for_devices(domino)
    return misfit.beside([*facts, *best(domino)], domino, domino.shares_of_ns)


def _everybody(limits: Limits | None) -> str:
    """Return who waits."""
    if limits is None or limits.lanes == limits.processes > 1:
        return "all processes together wait"
    threads = "threads" if limits.processes == 1 else "processes and threads"
    return f"all {threads} together wait" if limits.lanes > 1 else "it waits"


def limits(limits: Limits, part: blocks.Part) -> Facts:
    """Return in words what the time is made of, what matters most first; `part` is that of the run that is asked about, if not all is."""
    parts = {}
    if limits.lanes > 1:
        who = f"{'thread' if limits.thread else 'rank'} {words.rank(limits.rank, limits.thread)}"
        parts[f"imbalance ({who} computes most)"] = limits.imbalance_ns
    if limits.lanes > 1 or limits.serialisation_ns:
        turns = "waiting in turn, also in teams of threads" if limits.lanes > limits.processes else "waiting in turn"
        parts[f"serialisation ({turns})"] = limits.serialisation_ns
    if "devices" in limits.transfer_of:
        parts["devices (waiting for kernels and copies)"] = limits.devices_ns
    if limits.transfer_of:
        parts[_overhead(limits.transfer_of)] = limits.transfer_ns
    if limits.start_ns:
        parts["late start (others began before)"] = limits.start_ns
    if limits.end_ns:
        parts["MPI_Finalize and what follows"] = limits.end_ns
    told = [f"{name} {_share(spent, limits.time_ns)}" for name, spent in sorted(parts.items(), key=lambda row: -row[1])]
    of = f"of {blocks.whole_of(limits.time_ns, part) if limits.after_init or part else f'the {words.duration(limits.time_ns)} recorded'}"
    computation = f"computation {_share(limits.computation_ns, limits.time_ns)}, {of}"
    facts = [("limited by", "; ".join(filter(None, (", ".join(told), computation))))]
    if limits.polling_ns >= _MUCH * limits.time_ns:
        polling = f"{_share(limits.polling_ns, limits.time_ns)} is polling (tests and probes in vain)"
        facts.append(("", f"{polling}: --zero-poll all says what is left if the processes waited instead"))
    return facts


def for_devices(domino: DominoDocument) -> Facts:
    """Return in words what is computed for devices, if that is much: it is in no change of what threads or processes compute."""
    found = domino.for_devices
    if not found or found.time_ns < _MUCH * domino.shares_of_ns:
        return []
    spent = f"rank {found.rank} computes {words.duration(found.time_ns)} to start its device and give it data"
    where = f", most of it in {words.shown(found.region, _PATH)}" if found.region else ""
    return [("for devices", f"{spent}{where}: no work for other threads or processes, no change below counts it")]


def _overhead(callers: Sequence[str]) -> str:
    """Return what calls themselves cost, by whose they are."""
    talking = [caller for caller in callers if caller in ("MPI", "OpenSHMEM")]
    network = ["network"] if talking else []
    *others, last = [*talking, *network, *callers[len(talking) :]]
    of = f"{', '.join(others)} and {last}" if others else last
    return f"transfer ({of})" if network else f"overhead (in calls of {of})"


def _share(part: int, whole: int) -> str:
    return f"-{words.percent(-part, whole)}" if part < 0 else words.percent(part, whole)


def best(domino: DominoDocument) -> Facts:
    """Return the first change, what to do for it, and how sure that is, or why there is none; then what there is to gain at best."""
    if not domino.answerable:
        return [("first change", "cannot be answered: the waits were not recorded, they count as computation")]
    kinds_of: dict[str, list[str]] = {}
    for row in domino.not_tried:
        kinds_of.setdefault(row.why, []).append(row.kind)
    not_tried = [("not tried", f"{', '.join(kinds)}: {why}") for why, kinds in kinds_of.items()]
    line, bound = first_line(domino), first_bound(domino)
    if line and bound and not pays(domino):
        return [*_none_pays(domino, line, bound), *not_tried]
    if line is None:
        told = [("first change", _no_change(domino, "that was tried" if not_tried else "of these kinds"))]
    else:
        told = [*_promised(domino, "first change", line, domino.ranked_span), ("what to do", line.head.remedy)]
    if bound is not None:
        told += [*_promised(domino, "at best", bound, domino.at_best_span), ("", _kept(domino, bound))]
        told += [("what to do", bound.head.remedy)] if line is None or bound.head.remedy != line.head.remedy else []
    return [*told, *not_tried]


def _none_pays(domino: DominoDocument, line: Line, bound: Line) -> Facts:
    """Return that no change that was tried pays, where the time goes, and what kind of change may gain a part of what there is at best."""
    head = line.head
    gain = f"{words.duration(head.gain_ns)} ({words.percent(head.gain_ns, domino.shares_of_ns)})"
    facts = [("first change", f"none that pays: of what was tried and can be done {_shown(head)} gains most, {gain}")]
    sites = [f"{words.shown(row.site, 60)} {_spent(domino, row)}" for row in domino.spending if not _few(domino, row.time_ns)]
    facts += [("time goes to", f"{'; '.join(sites)}; on average of all processes")] if sites else []
    facts += [*_promised(domino, "at best", bound, domino.at_best_span), ("", _kept(domino, bound))]
    return [*facts, ("what to do", f"what may gain a part of that, by how much no trace tells: {bound.head.remedy}")]


def _few(domino: DominoDocument, time: int) -> bool:
    return time < _MUCH * domino.shares_of_ns


def _spent(domino: DominoDocument, row: Spending) -> str:
    """Return how much time is spent at a call site, and how much of that waiting."""
    waiting = f", {words.duration(row.waiting_ns)} of it waiting" if row.waiting_ns else ""
    return f"{words.duration(row.time_ns)} ({words.percent(row.time_ns, domino.shares_of_ns)}){waiting}"


def _no_change(domino: DominoDocument, which: str) -> str:
    """Return why there is no first change."""
    if not domino.ranked and not domino.at_best:
        return f"none: no change {which} gains anything"
    little = "0.1 %" if domino.ranked else "anything"
    return f"none: nothing {which} that somebody can do as it stands gains {little}"


def _promised(domino: DominoDocument, label: str, line: Line, span: Span | None) -> Facts:
    """Return what a line promises, between what that lies, and what it means."""
    head = line.head
    return [(label, f"{_shown(head)}: {_gain(domino, head.makespan_ns)}"), *spans.facts(span, head.makespan_ns), ("", meaning(line))]


def _kept(domino: DominoDocument, line: Line) -> str:
    """Return why nobody can keep a bound, and what of it can be had."""
    why = _BOUND[line.head.change.removeprefix("--").partition(" ")[0]]
    if part := _parts(line):
        return f"{why}; a part of it: {_named(domino, part)}"
    return f"{why}; nothing that was tried makes a tenth of it true"


def _parts(line: Line) -> list[Ranked]:
    """Return what somebody can do and what gains a good part of a bound."""
    return [row for row in line.part if row.gain_ns >= _CURE * line.head.gain_ns]


def meaning(line: Line) -> str:
    """Return in words what a change does, where calls then wait less, and what it takes for granted."""
    return f"{line.head.what}{_falls(line)}{_posted(line.head)}{_if(line.head)}"


def _shown(row: Ranked) -> str:
    return words.shown(row.change, _WHOLE)


def _falls(line: Line) -> str:
    if line.waits_less is None:
        return ""
    before, then = words.duration(line.waiting_ns), words.duration(line.waiting_then_ns)
    return f"; waiting in {words.shown(line.waits_less, 60)} falls from {before} to {then}" if before != then else ""


def _kinds(domino: DominoDocument) -> list[str]:
    """Return the table of the best changes, each with between which makespans it lies."""
    head = ["kind", "gain", "", "", "makespan", "between", "", "change"]
    rows = []
    for row, span in zip(domino.best, domino.best_spans, strict=True):
        gain, share, makespan = _worth(domino, row)
        between = words.duration(span.least_ns), words.duration(span.most_ns)
        rows.append([row.kind, gain, share, "at best" if row.bound else "", makespan, *between, _shown(row)])
    return words.table(head, rows, (0, 3, 7), spare=(6, 5, 4))


def _worth(domino: DominoDocument, row: Ranked) -> tuple[str, str, str]:
    return words.duration(row.gain_ns), words.percent(row.gain_ns, domino.shares_of_ns), words.duration(row.makespan_ns)


def _lists(domino: DominoDocument) -> list[str]:
    """Return what somebody can do, and what there is to gain at best, each with what to paste behind `perwiz predict TRACE`, what says
    the same, and once what to do.
    """
    said, out = set[str](), list[str]()
    lists = (
        ("what could be changed", domino.ranked, domino.lines, domino.small_lines, first_line(domino) if pays(domino) else None),
        ("what there is to gain at best", domino.at_best, domino.at_best_lines, domino.small_at_best, first_bound(domino)),
    )
    for title, lines, total, small, above in lists:
        if total:
            out += ["", *_list(domino, title, lines, total - small, small, above, said)]
    told = [line for line in (*domino.ranked, *domino.at_best) if not negligible(line.head.gain_ns, domino.shares_of_ns)]
    return [*out, *(_places(domino, told) if told else [])]


def _list(
    domino: DominoDocument, title: str, lines: Sequence[Line], worth: int, small: int, above: Line | None, said: set[str]
) -> list[str]:
    """Return a list: of `worth` lines those there are, but for `small` further ones; `above` and the remedies `said` are told already."""
    lines = [line for line in lines if not negligible(line.head.gain_ns, domino.shares_of_ns)]
    shown = f", the first {len(lines)} of {worth}" if len(lines) < worth else ""
    rows = list[words.Line]()
    for number, line in enumerate(lines, 1):
        told = [] if line is above else [meaning(line)]
        told += _same(domino, line)
        told += [f"do: {line.head.remedy}"] if line is not above and line.head.remedy not in said else []
        said.add(line.head.remedy)
        place = _place(line.place) if line.place else ""
        tie = "=" if line.place and line.place.tied else ""
        rows.append([f"{tie}{number}", *_worth(domino, line.head), place, line.head.kind, _shown(line.head)])
        rows += [part for text in told for part in words.wrapped(f"{_INDENT}{text}", len(_INDENT) + 2)]
    head = ["", "gain", "", "makespan", "in drawn runs", "kind", "change"]
    if not domino.draws:
        head, rows = _without(head, 4), [row if isinstance(row, str) else _without(row, 4) for row in rows]
    table = words.table(head, rows, (0, len(head) - 2, len(head) - 1), spare=(3,)) if rows else []
    gain = "gains less than 0.1 %" if small == 1 else "gain less than 0.1 % each"
    further = f"{words.several(small, 'further line' if rows else 'line')} {gain}"
    return [f"{title}{shown}", *table, *([further] if small else [])]


def _without(row: Sequence[str], column: int) -> list[str]:
    return [cell for k, cell in enumerate(row) if k != column]


def _place(place: Placed) -> str:
    """Return how often a line is first, or if it never is among the first three."""
    if place.first:
        return f"first {words.percent(place.first, 1)}"
    return f"top 3 {words.percent(place.first_three, 1)}" if place.first_three else "-"


def _places(domino: DominoDocument, lines: Sequence[Line]) -> list[str]:
    """Return what the column of places says."""
    if not domino.draws:
        return []
    tied = any(line.place and line.place.tied for line in lines)
    ties = "; = whether it gains less than the line before it is open" if tied else ""
    return words.wrapped(f"in how many of {domino.draws} runs drawn anew it gains most, or is among the first three{ties}", 2)


def _posted(row: Ranked) -> str:
    return f"; the receives are posted in {words.shown(row.posted, 60)}" if row.posted else ""


def _if(row: Ranked) -> str:
    return f"; only if it needs nothing of the {_receives(row)} it then runs ahead of" if row.receives_passed else ""


def _same(domino: DominoDocument, line: Line) -> list[str]:
    """Return what says the same, first a larger eager limit that gains a good part: of a held sender it is a cure of its own."""
    much = _CURE * line.head.gain_ns
    includes = sorted(line.includes, key=lambda row: row.kind != "protocol" or row.gain_ns < much)
    told = (("a little more", line.more), ("includes", includes), ("a part of it", _parts(line)))
    return [f"{label}: {_named(domino, rows)}" for label, rows in told if rows]


def _named(domino: DominoDocument, rows: Sequence[Ranked]) -> str:
    """Return the first of several changes by name, each with its gain."""
    named = ", ".join(f"{row.kind} {_shown(row)} ({words.percent(row.gain_ns, domino.shares_of_ns)})" for row in rows[:_OTHERS])
    return f"{named} and {len(rows) - _OTHERS} more" if len(rows) > _OTHERS else named


def _calls(domino: DominoDocument) -> Facts:
    """Return what single calls are worth, and all of them."""
    none, gain = _none(domino), domino.replayed_ns - domino.bound_ns
    facts = _bound(domino, none) if gain else []
    if domino.changes:
        first = domino.changes[0]
        does = f"it {_WORDS[domino.question][1]} {words.duration(_removed(domino, first))}{_others(domino)}"
        facts.append(("best call", f"{first.change}: {_gain(domino, first.makespan_ns)}; {does}"))
        facts += [("", f"only if it needs nothing of the {_receives(first)} it then runs ahead of")] if first.receives_passed else []
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
    answer = ("no time" if asked == "zero-time" else "no waits", f"{_gain(domino, domino.bound_ns)}, if {none}: --{asked} all")
    return [answer, *spans.facts(domino.bound_span, domino.bound_ns), *pace(domino)]


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
    parts = {"at work in MPI calls": pace.calls_ns, "before it began": pace.start_ns, "in gaps of the model between sends": pace.gap_ns}
    where = max(parts, key=parts.__getitem__)
    return [("", f"{alone}, {words.duration(parts[where])} of it {where}: see perwiz critical")]


def _others(domino: DominoDocument) -> str:
    """Return what becomes of the waits of others with the first change."""
    step = next((row for row in domino.path.steps if row.single.call == domino.path.trigger), None)
    if not step or not step.fewer_calls:
        return ""
    return f", then {words.several(step.fewer_calls, 'other')} {words.duration(step.less_ns)} less"


def _gain(domino: DominoDocument, makespan: int) -> str:
    gain = domino.replayed_ns - makespan
    return f"{words.duration(makespan)}, gain {words.duration(gain)} ({words.percent(gain, domino.shares_of_ns)})"


def _receives(row: Change | Ranked) -> str:
    return words.several(row.receives_passed, "receive")


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


def _changes(domino: DominoDocument) -> list[str]:
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
        for row in domino.changes
    ]
    shown = f", the first {len(rows)}" if len(rows) < domino.gaining_calls else ""
    tried = "of those tried, whose waits are worth most" if also else f"of {domino.calls}"
    title = f"single calls that pay: {domino.gaining_calls} {tried}{shown}"
    return [title, *words.table(head, rows, (0, *range(len(head) - 3, len(head)))), *(_MOVES if also else [])]


def _promise(row: Change) -> list[str]:
    """Return what zero-wait gives, and what the change passes."""
    return [words.duration(row.zero_wait_ns), _receives(row)]


def _path(domino: DominoDocument) -> list[str]:
    """Return the domino path as a table in the order of time."""
    path = domino.path
    head = ["", "call", "rank", "routine", "waits for", "waits", "then", "alone gains", "others wait less", "and more", "where"]
    rows = [
        [
            *(f"{row.number}{' *' if row.single.call == path.trigger else ''}", row.single.call, *_made(row.single)),
            *(words.duration(row.single.wait_ns), words.duration(row.wait_then_ns), words.duration(row.single.gain_ns)),
            f"{words.duration(row.less_ns)} in {row.fewer_calls}",
            *(words.duration(row.more_ns), _where(row.single)),
        ]
        for row in path.steps
    ]
    shown = f", {len(rows)} of them here" if len(rows) < path.calls else ""
    changed = f"`then`: when {path.trigger} (*) is changed"
    title = f"domino path, {words.several(path.calls, 'call')} in the order of time{shown}; {changed}{_more(path.paths)}"
    return [*words.wrapped(title), *words.table(head, rows, (0, 1, 3, 4, 10), spare=(10, 9, 3, 6, 4, 8))]


def _more(paths: int) -> str:
    if paths < 2:
        return ""
    if paths == COUNTED:
        return f"; {COUNTED} or more paths give the same"
    return f"; {paths - 1} more {'gives' if paths == 2 else 'give'} the same (--json)"


def _fixes(domino: DominoDocument, fixes: Fixes) -> list[str]:
    """Return both orders of fixes: those that gain most, and for contrast those of the longest waits."""
    lines = ["one fix after the other, each the one that gains most by then", *_steps(domino, fixes.by_gain)]
    return [*lines, "", "for contrast, each the call that waits longest by then", *_steps(domino, fixes.by_wait)]


def _steps(domino: DominoDocument, fixes: Sequence[NextFix]) -> list[str]:
    head = ["", "waited", "makespan", "gain", "in all", "all wait then", "change"]
    rows = [
        [
            str(number),
            *map(words.duration, (fix.wait_ns, fix.makespan_ns, fix.gain_ns)),
            words.percent(domino.replayed_ns - fix.makespan_ns, domino.shares_of_ns),
            *(words.duration(fix.waiting_ns), words.shown(fix.change or fix.name, _WHOLE)),
        ]
        for number, fix in enumerate(fixes, 1)
    ]
    return words.table(head, rows, (0, 6)) if rows else ["nothing gains"]


def _target(domino: DominoDocument, target: Target) -> list[str]:
    """Return what reaches a target, or how far what can be done goes and what the rest would need, and the command that predicts it."""
    goal, changes = words.duration(target.makespan_ns), target.changes
    several = words.several(len(changes), "change")
    verdict = _verdict(domino, target)
    verdict += f"; no more than {several} searched for, as the trace is large: change these, and record again" if target.stopped else ""
    lines = words.facts([("target", f"{target.asked}, {goal}: {verdict}")])
    if target.span is None:
        return lines
    both = target.feasible_span is not None
    for label, span, count in (("can be done", target.feasible_span, target.feasible), ("at best", target.span, len(changes))):
        facts = spans.facts(span, _reaches(domino, count))
        lines += words.facts([(label if both and not row else "", told) for row, (_, told) in enumerate(facts)])
    done, rest = changes[: target.feasible], changes[target.feasible :]
    command = " ".join([words.shown(shlex.quote(domino.trace), _WHOLE), *(_shown(change) for change in done or rest)])
    return [*lines, *_together(domino, target), f"perwiz predict {command}"]


def _reaches(domino: DominoDocument, changes: int) -> int:
    """Return the makespan with the first changes of the target, ns."""
    return domino.target.changes[changes - 1].makespan_ns if domino.target and changes else domino.replayed_ns


def _verdict(domino: DominoDocument, target: Target) -> str:
    """Return whether a target is reached, by what somebody can do or at best, and how far that goes."""
    changes, count = target.changes, len(target.changes)
    if not domino.answerable:
        return "cannot be answered: the waits were not recorded"
    if target.reached:
        reached = f"reached by {words.several(count, 'change')}, the fewest found: {_gain(domino, _reaches(domino, count))}"
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
        return f"not by what can be done: {can}; {needs} {best}: {_gain(domino, _reaches(domino, count))}"
    end = "nothing else that was tried gains 0.1 %" if target.ended else "and more was not searched for"
    return f"out of reach: {can}; with {best} it is {_gain(domino, _reaches(domino, count))}, and {end.removeprefix('and ')}"


def _times(domino: DominoDocument, changes: int) -> str:
    """Return how many times as fast the first changes of the target make the run, and what that gains."""
    makespan = _reaches(domino, changes)
    times = f"{domino.replayed_ns / makespan:.2f}x with" if makespan else "no time at all with"
    return f"{times} {words.several(changes, 'change')}: {_gain(domino, makespan)}"


def _together(domino: DominoDocument, target: Target) -> list[str]:
    """Return the table of changes each behind those before it, what to do for each, and where what can be done ends."""
    rows, said = list[words.Line](), set[str]()
    for number, row in enumerate(target.changes, 1):
        together = words.percent(domino.replayed_ns - row.makespan_ns, domino.shares_of_ns)
        if 0 < target.feasible == number - 1:
            rows.append("what the rest would need, at best:")
        rows.append([str(number), *_worth(domino, row), together, row.kind, _shown(row)])
        told = [f"{row.what}{_if(row)}{', at best' if row.bound else ''}", *([f"do: {row.remedy}"] if row.remedy not in said else [])]
        said.add(row.remedy)
        rows += [part for text in told for part in words.wrapped(f"{_INDENT}{text}", len(_INDENT) + 2)]
    return words.table(["", "gain", "", "makespan", "in all", "kind", "change"], rows, (0, 5, 6), spare=(3,))
