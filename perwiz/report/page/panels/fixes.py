"""The panel of fixes: the ranked list of what to change, made from the document of `perwiz domino`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import numpy as np

from perwiz import words
from perwiz.report.blocks import Document
from perwiz.report.domino import document as domino
from perwiz.whatif import selectors

if TYPE_CHECKING:
    from perwiz.report.page.page import Report

_ROWS = 20
_NAME = 80


def document(report: Report) -> Document:
    """Return the calls and call sites that pay, and the domino path; times in ns, `id` the number of a call to show."""
    block = domino.document(report.domino, _ROWS)
    path = block["path"]
    return {
        "replayed": block["replayed_ns"],
        "answer": _answer(block),
        "changes": [_place(row) | _worth(row) | {"wait": row["wait_ns"]} for row in block["changes"]],
        "sets": [_set(report, row) for row in block["sets"]],
        "steps": [_step(row, path["trigger"]) for row in path["steps"]],
        "path_note": f"Calls in the order of time, each waiting for one before it; `then`: when {path['trigger']} (*) is changed.",
    }


def _answer(block: Document) -> list[list[str]]:
    """Return labels and facts: what gains most, how far all of it goes, and how good the model is."""
    now, facts = block["replayed_ns"], []
    for label, rows in (("best single call", block["changes"]), ("best call site", block["sets"])):
        best = f"{words.shown(rows[0]['change'] or rows[0]['name'], _NAME)} gains {_gain(rows[0], now)}" if rows else "none gains anything"
        facts.append([label, best])
    waiting = f"{block['waiting_calls']} of {words.several(block['calls'], 'call')} wait, {words.duration(block['waiting_ns'])} in all"
    less = words.percent(now - block["bound_ns"], now)
    bound = f"{words.duration(block['bound_ns'])}, {less} less, if no call waited"
    facts.append(["at best", f"{bound}; {waiting}, {block['gaining_calls']} of them would gain alone"])
    return [*facts, ["error", _error(block)]]


def _gain(row: Document, now: int) -> str:
    return f"{words.duration(row['gain_ns'])} ({words.percent(row['gain_ns'], now)})"


def _error(block: Document) -> str:
    off = block["replay_error_ns"]
    said = f"at most {words.duration(off)} off the recorded one" if off else "exactly the recorded one"
    return f"the unchanged run, replayed, is {said}; a range tells the makespan if the model's costs were half or twice as large"


def _worth(row: Document) -> Document:
    return {"gain": row["gain_ns"], "makespan": row["makespan_ns"], "range": row["range_ns"]}


def _place(row: Document) -> Document:
    partner = row["partner"]
    return {
        "id": int(row["call"][1:]),
        "call": row["call"],
        "rank": words.rank(row["rank"], row["thread"]),
        "routine": row["routine"],
        "partner": f"{partner['call']}, rank {words.rank(partner['rank'], partner['thread'])}" if partner else "-",
        "where": words.shown(row["site"] or row["region"], _NAME) or "-",
    }


def _set(report: Report, row: Document) -> Document:
    change = words.shown(row["change"] or row["name"], 300)
    return _worth(row) | {"id": _longest(report, row["change"]), "wait": row["wait_ns"], "calls": row["calls"], "change": change}


def _longest(report: Report, change: str | None) -> int | None:
    """Return the call of a set that waits longest; None if no short text says which calls it has."""
    if change is None:
        return None
    chosen = selectors.calls(report.run.trace, shlex.split(change)[1])
    return int(np.where(chosen, report.run.waits.time, -1).argmax())


def _step(row: Document, trigger: str) -> Document:
    mark = " *" if row["call"] == trigger else ""
    return _place(row) | {
        "number": f"{row['number']}{mark}",
        "wait": row["wait_ns"],
        "wait_then": row["wait_then_ns"],
        "gain": row["gain_ns"],
        "less": row["less_ns"],
        "fewer": row["fewer_calls"],
    }
