"""What calibrating has found, in words, and as the model file it is kept in."""

from __future__ import annotations

import json

from perwiz import words
from perwiz.loggps.calibrate import Calibration, Line
from perwiz.loggps.model import CONVENTIONS, PARAMETERS
from perwiz.report import plain
from perwiz.report.blocks import Document

VERSION = 1
"""Version of the JSON document."""

_ROWS = (
    ("L", "ns", "latency: what a short message takes beyond both overheads"),
    ("o_s", "ns", "overhead of sending"),
    ("o_r", "ns", "overhead of receiving what has arrived"),
    ("O_s", "ns/B", "more for each byte"),
    ("O_r", "ns/B", "more for each byte"),
    ("g", "ns", "gap between messages in a row"),
    ("G", "ns/B", "more for each byte on its way"),
    ("o", "ns", "in the model, which has one for both ends"),
    ("O", "ns/B", "in the model, which has one for both ends"),
    ("S", "B", "larger messages wait for their receiver"),
)
_KEYS = {"L": "L_ns", "o": "o_ns", "g": "g_ns", "G": "G_ns_per_byte", "O": "O_ns_per_byte", "S": "S_bytes"}
_REMARKS = {
    "s_bytes": "packet size; 0: never split",
    "request_overheads": "o's to handle a request to send",
    "acknowledge_overheads": "o's for its acknowledgement, both ends together",
}


def document(found: dict[str, Calibration]) -> Document:
    """Return calibrations, by the model file each was written to, as the JSON document that calibrate.schema.json describes."""
    return {"version": VERSION, "command": "calibrate", "models": [_document(one, path) for path, one in found.items()]}


def _document(found: Calibration, path: str) -> Document:
    estimates = {letter: _estimate(found, letter, unit) for letter, unit, _ in _ROWS if letter in found.values}
    return {
        "file": path,
        **plain.model(found.model),
        "estimates": {letter: one for letter, one in estimates.items() if _KEYS.get(letter) not in found.model.assumed},
        "misfit": {"typical": found.typical, "worst": found.worst},
        "gaps": [{"from_bytes": int(one.low), "to_bytes": int(one.high), **_line(one.line)} for one in found.segments],
        "notes": list(found.notes),
    }


def _estimate(found: Calibration, letter: str, unit: str) -> Document:
    ends = [None if end is None else float(end) for end in (found.low.get(letter), found.high.get(letter))]
    return {"value": float(found.values[letter]), "unit": unit, "low": ends[0], "high": ends[1]}


def _line(line: Line) -> Document:
    return {"first_ns": float(line.first), "slope_ns_per_byte": float(line.slope)}


def text(found: Calibration, path: str) -> str:
    """Return the table of parameters, how well they fit, and what is only assumed."""
    model = found.model
    head = words.wrapped(f"{words.shown(path)}: {model.source}", 2)
    facts = [("misfit", f"{_percent(found.typical)} of a message's way for a typical size, {_percent(found.worst)} at most")]
    facts += [("gaps", line) for line in _segments(found)]
    facts += [("note", note) for note in found.notes]
    facts += [("assumed", ", ".join(model.assumed))] if model.assumed else []
    chosen = " ".join(f"{key}={model.parameters()[key]!r}" for key in CONVENTIONS)
    return "\n".join([*head, "", *_table(found), "", *words.facts([*facts, ("conventions", chosen)])])


def _table(found: Calibration) -> list[str]:
    rows = []
    for letter, unit, meaning in _ROWS:
        if letter in found.values and _KEYS.get(letter) not in found.model.assumed:
            rows.append([letter, *_figures(found, letter), unit, meaning])
    return words.table(["parameter", "value", "95 % from", "to", "unit", ""], rows, left=(0, 4, 5))


def _figures(found: Calibration, letter: str) -> list[str]:
    ends = [found.low.get(letter), found.high.get(letter)]
    return [_number(found.values[letter], letter), *("-" if end is None else _number(end, letter) for end in ends)]


def _number(value: float, letter: str) -> str:
    return f"{value:.4f}" if letter[0] in "GO" else f"{value:.0f}" if letter == "S" else f"{value:.1f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _segments(found: Calibration) -> list[str]:
    return [f"{one.low} to {one.high} B: {one.line.first:.0f} ns and {one.line.slope:.4f} ns/B" for one in found.segments]


def toml(found: Calibration) -> str:
    """Return the model file, intervals and misfit in its comments."""
    model, values = found.model, found.model.parameters()
    said = [f"Misfit {_percent(found.typical)} of a message's way for a typical size, {_percent(found.worst)} at most.", *found.notes]
    lines = [*(f"# {line}" for note in said for line in words.wrapped(note[:1].upper() + note[1:]))]
    lines += [f"# {letter} is {one}, 95 % from {low} to {high}" for letter, (one, low, high) in _told(found).items()]
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in (("name", model.name), ("source", model.source))]
    lines += [f"assumed = {json.dumps(list(model.assumed))}", "", "[parameters]"]
    lines += [_entry(key, values[key]) for key in PARAMETERS]
    return "\n".join([*lines, "", "[conventions]", *(_entry(key, values[key]) for key in CONVENTIONS), ""])


def _told(found: Calibration) -> dict[str, list[str]]:
    return {letter: _figures(found, letter) for letter, _, _ in _ROWS if letter in found.values and letter in found.low}


def _entry(key: str, value: float | int | str) -> str:
    line = f"{key} = {json.dumps(value)}"
    return f"{line:<28}# {_REMARKS[key]}" if key in _REMARKS else line
