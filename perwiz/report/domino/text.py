"""The text of `perwiz domino`, made from its JSON document. What to change first comes first."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from perwiz import words
from perwiz.report import plain
from perwiz.report.blocks import Document, Facts
from perwiz.whatif.worth.domino import COUNTED

_WHERE, _LITTLE, _WHOLE = 20, 0.05, 4000
_WORDS = {"zero-wait": ("wait", "waited", "waits"), "zero-time": ("time", "took time", "takes"), "advance": ("wait", "waited", "waits")}
"""Per question: the key of what is removed, how calls would be without, what a call does."""
_SETS = {
    "site": ("site", "call sites"),
    "routine": ("routine", "routines"),
    "region": ("region", "regions"),
    "step": ("step", "steps"),
    "rank": ("rank", "ranks"),
    "pair": ("pair", "pairs of ranks"),
    "partner-region": ("partner", "regions of the calls waited for"),
}
"""Per family: one of its sets, all of them."""


_MOVES = [
    "what runs ahead of a receive is a fix only if it needs nothing that this brings: those that pass receives come last.",
    "what would move: perwiz predict TRACE --advance eN",
]
_NO_OPTION = "(...): no option of perwiz predict names these calls; --json lists them"


def text(block: Document) -> str:
    """Return the document as text: the answer, the calls that pay, the domino path, and what else was asked."""
    lines = [*_title(block), "", *words.facts(_answer(block))]
    if block["changes"]:
        lines += ["", *_changes(block)]
    if block["path"]["steps"]:
        lines += ["", *_path(block)]
    if block["changes"] or block["sets"]:
        lines += ["", *_sets(block)] if block["question"] != "advance" else []
    if block["fixes"]:
        lines += ["", *_fixes(block)]
    if block["target"]:
        lines += ["", *_target(block)]
    facts = [*plain.model_facts(block["model"]), *plain.misfit_facts(block)]
    return "\n".join([*lines, "", *words.facts(facts), "", *plain.health_lines(block["health"])])


def _title(block: Document) -> list[str]:
    mark = "  (INCOMPLETE trace)" if block["health"]["incomplete"] else ""
    return words.wrapped(f"{words.shown(block['trace'])}: what to change first{mark}", 2)


def _answer(block: Document) -> Facts:
    recorded = plain.recorded(block["recorded_ns"], block["health"])
    if not block["calls"]:
        return [("recorded", f"{recorded}; there are no MPI calls to change")]
    waits = f"all processes together wait {words.duration(block['waiting_ns'])} in {block['waiting_calls']} of"
    facts = [("recorded", f"{recorded}; {waits} {words.several(block['calls'], 'call')}"), *plain.share_facts(block, block["replayed_ns"])]
    none, gain = f"no call {_WORDS[block['question']][1]}", block["replayed_ns"] - block["bound_ns"]
    facts += _bound(block, none) if gain else []
    if block["changes"]:
        first = block["changes"][0]
        facts.append(("best call", f"{first['change']}: {_gain(block, first['makespan_ns'])}; it {_removed(block, first)}{_others(block)}"))
        facts += [("", f"only if it needs nothing of the {_receives(first)} it then runs ahead of")] if first["receives_passed"] else []
    elif gain and block["question"] == "advance":
        facts.append(("best call", "none: what the waits that are worth something wait for cannot run earlier, or that gains nothing"))
    elif gain:
        facts.append(("best call", "none: several paths through the run are equally long, and one call shortens only one of them"))
    else:
        facts.append(("best call", f"none: the run would take as long if {none}"))
    return [*facts, *_best_set(block), *_longest(block)]


def _bound(block: Document, none: str) -> Facts:
    """Return what is left if all calls are changed, and what sets the pace if that is little."""
    waits = block["question"] != "zero-time"
    label, asked = "no waits" if block["question"] == "advance" else "at best", "zero-wait all" if waits else "zero-time all"
    facts = [(label, f"{_gain(block, block['bound_ns'])}, if {none}: --{asked}")]
    if waits and block["replayed_ns"] - block["bound_ns"] < _LITTLE * block["shares_of_ns"]:
        facts.append(("", "one process takes that long without waiting for anybody: see perwiz critical and perwiz balance"))
    return facts


def _best_set(block: Document) -> Facts:
    """Return the set that gains most, of those that do not hold every wait if there are such."""
    if not block["sets"]:
        return []
    best = next((row for row in block["sets"] if row["wait_ns"] < block["waiting_ns"]), block["sets"][0])
    calls = f"its {words.several(best['calls'], 'call')} wait {words.duration(best['wait_ns'])}"
    return [(f"best {_SETS[block['family']][0]}", f"{best['change'] or best['name']}: {_gain(block, best['makespan_ns'])}; {calls}")]


def _others(block: Document) -> str:
    """Return what becomes of the waits of others with the first change."""
    step = next((row for row in block["path"]["steps"] if row["call"] == block["path"]["trigger"]), None)
    if not step or not step["fewer_calls"]:
        return ""
    return f", then {words.several(step['fewer_calls'], 'other')} {words.duration(step['less_ns'])} less"


def _gain(block: Document, makespan: int) -> str:
    gain = block["replayed_ns"] - makespan
    return f"{words.duration(makespan)}, gain {words.duration(gain)} ({words.percent(gain, block['shares_of_ns'])})"


def _receives(row: Document) -> str:
    return words.several(row["receives_passed"], "receive")


def _removed(block: Document, row: Document) -> str:
    key, _, does = _WORDS[block["question"]]
    return f"{does} {words.duration(row[f'{key}_ns'])}"


def _longest(block: Document) -> Facts:
    """Return what the longest wait is worth: seldom what its length promises."""
    row = block["longest_wait"]
    if not row or block["question"] != "zero-wait":
        return []
    worth = f"gives {words.duration(row['gain_ns'])}" if row["gain_ns"] else "gives nothing"
    if block["changes"] and row["call"] == block["changes"][0]["call"]:
        return [("longest wait", f"the same call, {words.duration(row['wait_ns'])}")]
    return [("longest wait", f"{row['call']}, {words.duration(row['wait_ns'])}: removing it alone {worth}")]


def _where(row: Document) -> str:
    return words.shown(row["site"] or row["region"], _WHERE) or "-"


def _rank(row: Document) -> str:
    return words.rank(row["rank"], row["thread"])


def _partner(row: Document) -> str:
    partner = row["partner"]
    return f"{partner['call']} (rank {_rank(partner)})" if partner else "-"


def _range(row: Document) -> str:
    return " to ".join(map(words.duration, row["range_ns"]))


def _spread(row: Document) -> str:
    """Return the range, `same` if it cannot be told from the makespan."""
    return "same" if {*map(words.duration, row["range_ns"])} == {words.duration(row["makespan_ns"])} else _range(row)


def _changes(block: Document) -> list[str]:
    """Return the table of single calls, each with what to paste behind `perwiz predict TRACE`."""
    key, _, does = _WORDS[block["question"]]
    also = block["question"] == "advance"
    extra = ["zero-wait", "passes"] if also else ["costs /2 to *2"]
    head = ["change", "gain", "", "makespan", *extra, does, "rank", "routine", "waits for", "where"]
    rows = [
        [
            *(row["change"], words.duration(row["gain_ns"]), words.percent(row["gain_ns"], block["shares_of_ns"])),
            *(words.duration(row["makespan_ns"]), *(_promise(row) if also else [_spread(row)])),
            *(words.duration(row[f"{key}_ns"]), _rank(row), row["routine"], _partner(row), _where(row)),
        ]
        for row in block["changes"]
    ]
    shown = f", the first {len(rows)}" if len(rows) < block["gaining_calls"] else ""
    tried = "of those tried, whose waits are worth most" if also else f"of {block['calls']}"
    title = f"single calls that pay: {block['gaining_calls']} {tried}{shown}"
    return [title, *words.table(head, rows, (0, *range(len(head) - 3, len(head)))), *(_MOVES if also else [])]


def _promise(row: Document) -> list[str]:
    """Return what zero-wait gives, and what the change passes."""
    return [words.duration(row["zero_wait_ns"]), _receives(row)]


def _path(block: Document) -> list[str]:
    """Return the domino path as a table in the order of time."""
    path = block["path"]
    head = ["", "call", "rank", "routine", "waits for", "waits", "then", "alone gains", "others wait less", "and more", "where"]
    rows = [
        [
            *(f"{row['number']}{' *' if row['call'] == path['trigger'] else ''}", row["call"], _rank(row), row["routine"], _partner(row)),
            *(words.duration(row["wait_ns"]), words.duration(row["wait_then_ns"]), words.duration(row["gain_ns"])),
            f"{words.duration(row['less_ns'])} in {row['fewer_calls']}",
            *(words.duration(row["more_ns"]), _where(row)),
        ]
        for row in path["steps"]
    ]
    shown = f", {len(rows)} of them here" if len(rows) < path["calls"] else ""
    changed = f"`then`: when {path['trigger']} (*) is changed"
    title = f"domino path, {words.several(path['calls'], 'call')} in the order of time{shown}; {changed}{_more(path['paths'])}"
    return [*words.wrapped(title), *words.table(head, rows, (0, 1, 3, 4, 10))]


def _more(paths: int) -> str:
    if paths < 2:
        return ""
    if paths == COUNTED:
        return f"; {COUNTED} or more paths give the same"
    return f"; {paths - 1} more {'gives' if paths == 2 else 'give'} the same (--json)"


def _sets(block: Document) -> list[str]:
    """Return the table of sets of calls, each with what to paste behind `perwiz predict TRACE`, uncut."""
    head = ["gain", "", "makespan", "costs /2 to *2", "waits", "of all", "calls", "change"]
    rows = [
        [
            *(words.duration(row["gain_ns"]), words.percent(row["gain_ns"], block["shares_of_ns"]), words.duration(row["makespan_ns"])),
            *(_spread(row), words.duration(row["wait_ns"]), words.percent(row["wait_ns"], block["waiting_ns"]), str(row["calls"])),
            words.shown(row["change"] or f"({row['name']})", _WHOLE),
        ]
        for row in block["sets"]
    ]
    title = f"{_SETS[block['family']][1]} that pay, all calls of one at once"
    long = [_NO_OPTION] if any(not row["change"] for row in block["sets"]) else []
    return [title, *words.table(head, rows, (7,)), *long] if rows else [f"{title}: none"]


def _fixes(block: Document) -> list[str]:
    """Return both orders of fixes: those that gain most, and for contrast those of the longest waits."""
    gain, wait = block["fixes"]["by_gain"], block["fixes"]["by_wait"]
    lines = ["one fix after the other, each the one that gains most by then", *_steps(block, gain)]
    return [*lines, "", "for contrast, each the call that waits longest by then", *_steps(block, wait)]


def _steps(block: Document, fixes: Sequence[Document]) -> list[str]:
    head = ["", "waited", "makespan", "gain", "in all", "all wait then", "change"]
    rows = [
        [
            *(str(number), words.duration(fix["wait_ns"]), words.duration(fix["makespan_ns"]), words.duration(fix["gain_ns"])),
            words.percent(block["replayed_ns"] - fix["makespan_ns"], block["shares_of_ns"]),
            *(words.duration(fix["waiting_ns"]), words.shown(fix["change"] or fix["name"], _WHOLE)),
        ]
        for number, fix in enumerate(fixes, 1)
    ]
    return words.table(head, rows, (0, 6)) if rows else ["nothing gains"]


def _further(block: Document) -> str:
    """Return what else could reach a target."""
    return "see zero-wait" if block["question"] == "advance" else "more calls at once may: --by site, --by routine"


def _target(block: Document) -> list[str]:
    """Return what reaches the target, or how far the fixes go."""
    asked = block["target"]
    goal, fixes = words.duration(asked["makespan_ns"]), asked["fixes"]
    makespan = fixes[-1]["makespan_ns"] if fixes else block["replayed_ns"]
    changes = words.several(len(fixes), "change")
    if asked["reached"] and not fixes:
        said = "the run is as fast already"
    elif asked["reached"]:
        said = f"reached by {changes}, the fewest found (each gains most behind the ones before it; spare ones left out)"
    elif block["bound_ns"] > asked["makespan_ns"] and block["question"] != "advance":
        least = f"{words.duration(block['bound_ns'])} even if no call {_WORDS[block['question']][1]}"
        said = f"out of reach: {least}; {changes} give {words.duration(makespan)}"
    else:
        said = f"not reached by {changes}, at {words.duration(makespan)}; {_further(block)}"
    command = " ".join([words.shown(shlex.quote(block["trace"]), _WHOLE), *(fix["change"] or f"({fix['name']})" for fix in fixes)])
    lines = words.facts([("target", f"{asked['asked']}, {goal}: {said}")])
    if not fixes:
        return lines
    spread = words.facts([("", f"{_range(asked)} if the model's costs were half or twice as large")])
    return [*lines, *spread, *_steps(block, fixes), f"perwiz predict {command}"]
