"""Pieces that several reports share: waits, health, the model. Each is a piece of a JSON document, and lines of text made from it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz import words
from perwiz.loggps.model import CONVENTIONS, Model
from perwiz.trace import operations
from perwiz.trace.trace import Trace
from perwiz.whatif.health import Health
from perwiz.whatif.waits import Waits

Document = dict[str, Any]
Facts = list[tuple[str, str]]
"""Labels, and what is to be said under them."""
_FAULTS = 8
"""Lines on what could not be read."""
_REGION = 30
"""Columns of a region in a table of waits."""


def longest(trace: Trace, waits: Waits, most: int, other: Waits | None = None) -> list[Document]:
    """Return the longest waits of a run, longest first, ties by call; with the same calls' waits in another run, if given."""
    rows = []
    for e in _largest(waits.time, most).tolist():
        partner = int(waits.partner[e])
        row = call(trace, e) | {"partner": _partner(trace, partner) if partner >= 0 else None, "wait_ns": int(waits.time[e])}
        rows.append(row | ({"other_wait_ns": int(other.time[e])} if other else {}))
    return rows


def _largest(value: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return the rows of the largest values above 0, at most so many, largest first, ties by row."""
    rows = np.flatnonzero(value > 0)
    if 0 < most < len(rows):
        least = np.partition(value[rows], -most)[-most]
        rows = rows[value[rows] >= least]
    return np.asarray(rows[np.lexsort((rows, -value[rows]))][:most], np.int64)


def _partner(trace: Trace, call: int) -> Document:
    return {"call": f"e{call}", **location(trace, int(trace.calls.location[call]))}


def wait_lines(rows: list[Document], head: str, other: str = "") -> list[str]:
    """Return the table of some waits; `head` and `other` name its columns of times."""
    names = ["call", "rank", "routine", "waits for", "region", head, *([other] if other else [])]
    lines = []
    for row in rows:
        partner = row["partner"]
        lines.append(
            [
                *(row["call"], words.rank(row["rank"], row["thread"]), row["routine"]),
                f"{partner['call']} (rank {words.rank(partner['rank'], partner['thread'])})" if partner else "-",
                words.shown(row["region"], _REGION) or "-",
                *(words.duration(row[key]) for key in ("wait_ns", *(["other_wait_ns"] if other else []))),
            ]
        )
    return words.table(names, lines, left=(0, 2, 3, 4))


def health(value: Health) -> Document:
    """Return the health block."""
    return {
        "incomplete": value.incomplete,
        "counts": dataclasses.asdict(value.counts),
        "defects": value.defects,
        "holes": value.holes,
        "repairs": value.repairs,
        "predicted": value.predicted,
        "clock": dataclasses.asdict(value.violations),
        "recorded_clock": dataclasses.asdict(value.recorded),
        "correction": dataclasses.asdict(value.correction) if value.correction else None,
        "own_clocks": value.own_clocks,
        "faults": list(value.faults),
        "not_modelled": round(value.not_modelled, 6),
    }


def recorded(makespan: int, health: Document) -> str:
    """Return the makespan of the recorded run in words, and that its clocks were corrected if they were."""
    correction = health["correction"]
    before = ", its clocks corrected" if correction else ""
    if correction and correction["makespan"] != makespan:
        before += f"; {words.duration(correction['makespan'])} before that"
    return f"{words.duration(makespan)}{before}"


def health_lines(block: Document, clocks: bool = True) -> list[str]:
    """Return the health block in words, with or without what it says of reversed messages and their correction."""
    return words.facts(health_facts(block, clocks))


def health_facts(block: Document, clocks: bool = True) -> Facts:
    """Return the same as labels and what is to be said under them."""
    counts, waits = block["counts"], "what is left out or missing waits for nobody here and delays nobody"
    facts = [("health", f"INCOMPLETE: {waits}" if block["incomplete"] else "complete"), ("records", f"{counts['records']} read")]
    facts += [("left out", f"{reason}: {number}") for reason, number in block["defects"].items()]
    facts += [("", words.shown(fault)) for fault in block["faults"][:_FAULTS]]
    facts += [("", f"and {len(block['faults']) - _FAULTS} more")] if len(block["faults"]) > _FAULTS else []
    facts += [("missing", f"{name}: {number}") for name, number in block["holes"].items() if name != "records that cannot be used"]
    facts += [("inferred", f"{name}: {number}") for name, number in block["repairs"].items()]
    facts.append(("not modelled", f"{words.percent(block['not_modelled'], 1)} of the processes' time, in calls whose partners are unknown"))
    if counts["size_differs"]:
        facts.append(("sizes", f"messages whose ends name different ones: {counts['size_differs']}; the receiver's counts"))
    if block["own_clocks"]:
        facts.append(("clocks", "no clock offsets were recorded: each process has a clock of its own, times between processes mean little"))
    return [*facts, *(_clocks(block) if clocks else [])]


def _clocks(block: Document) -> Facts:
    correction = block["correction"]
    facts = _clock(block["recorded_clock"], block["predicted"])
    if correction:
        moved, jumps = words.duration(correction["largest"]), correction["jumps"]
        returns = f"{jumps} return{'s' * (jumps != 1)} put forward"
        facts.append(("corrected", f"by the controlled logical clock: {returns}, calls moved by at most {moved}"))
        facts += [("left", text) for _, text in _clock(block["clock"], block["predicted"])] if _reversed(block["clock"]) else []
    return facts


def _reversed(block: Document) -> bool:
    return bool(block["messages"] or block["collective_calls"])


def _clock(block: Document, predicted: bool) -> Facts:
    facts = []
    why = ", as waits were zeroed" if predicted else ""
    if block["messages"]:
        worst = words.duration(block["worst_message"])
        facts.append(("clocks", f"messages received before they were sent: {block['messages']}, worst {worst}{why}"))
    if block["collective_calls"]:
        worst = words.duration(block["worst_collective"])
        facts.append(
            ("clocks", f"calls that left a collective before its last member came: {block['collective_calls']}, worst {worst}{why}")
        )
    return facts or [("clocks", "consistent: nothing is received before it was sent")]


def model(value: Model) -> Document:
    """Return the model block."""
    return {"name": value.name, "source": value.source, "assumed": list(value.assumed), "parameters": value.parameters()}


def model_facts(block: Document, label: str = "model") -> Facts:
    """Return a model in words: name, parameters in the units of their keys, where they come from, what is only assumed."""
    parameters = block["parameters"]
    letters = " ".join(f"{key}={value:g}" for key, value in parameters.items() if key.endswith(("_ns", "_per_byte", "_bytes")))
    chosen = " ".join(f"{key}={value!r}" for key, value in parameters.items() if key in CONVENTIONS)
    facts = [(label, f"{words.shown(block['name'])}: {letters}"), ("", chosen), ("source", block["source"])]
    return [*facts, ("assumed", f"{', '.join(block['assumed'])} (not in the source)")] if block["assumed"] else facts


def region_path(trace: Trace, path: int) -> str:
    """Return the names of a region path from the outside in, joined by `/`; empty at the top."""
    names = []
    while path >= 0:
        names.append(trace.names[trace.paths.region[path]])
        path = int(trace.paths.parent[path])
    return "/".join(reversed(names))


def location(trace: Trace, row: int) -> dict[str, int]:
    """Return what a report says of a location: its rank and thread."""
    return {"rank": int(trace.locations.process[row]), "thread": int(trace.locations.thread[row])}


def call(trace: Trace, row: int) -> dict[str, object]:
    """Return what a report says of a call: id, rank and thread, routine, region."""
    calls = trace.calls
    return {
        "call": f"e{row}",
        **location(trace, int(calls.location[row])),
        "routine": operations.OPS[calls.op[row]],
        "region": region_path(trace, int(calls.path[row])),
    }
