"""Pieces that several reports share: waits, health, the model. Each is a piece of a JSON document, and lines of text made from it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from perwiz.loggps.model import Model
from perwiz.report import words
from perwiz.trace.tables import Trace
from perwiz.whatif.health import Health
from perwiz.whatif.predict import Waits

Document = dict[str, Any]


def longest(trace: Trace, waits: Waits, most: int, other: Waits | None = None) -> list[Document]:
    """Return the longest waits of a run, longest first, ties by call; with the same calls' waits in another run, if given."""
    order = np.lexsort((np.arange(len(waits.time)), -waits.time))[:most]
    rows = []
    for e in order[waits.time[order] > 0].tolist():
        partner = int(waits.partner[e])
        row = words.call(trace, e) | {
            "partner": f"e{partner}" if partner >= 0 else None,
            "partner_rank": int(trace.locations.process[trace.calls.location[partner]]) if partner >= 0 else None,
            "wait_ns": int(waits.time[e]),
        }
        rows.append(row | ({"other_wait_ns": int(other.time[e])} if other else {}))
    return rows


def wait_lines(rows: list[Document], head: str, other: str = "") -> list[str]:
    """Return the table of some waits."""
    names = ["call", "rank", "routine", "waits for", "region", head, *([other] if other else [])]
    lines = []
    for row in rows:
        partner = f"{row['partner']} (rank {row['partner_rank']})" if row["partner"] else "-"
        cells = [row["call"], str(row["rank"]), row["routine"], partner, row["region"] or "-", words.duration(row["wait_ns"])]
        lines.append(cells + ([words.duration(row["other_wait_ns"])] if other else []))
    return words.table(names, lines, left=(0, 2, 3, 4))


def health(value: Health) -> Document:
    """Return the health block."""
    return {
        "incomplete": value.incomplete,
        "counts": dataclasses.asdict(value.counts),
        "defects": value.defects,
        "holes": value.holes,
        "clock": dataclasses.asdict(value.violations),
        "instantaneous": value.instantaneous,
        "not_modelled": round(value.not_modelled, 6),
    }


def health_lines(block: Document) -> list[str]:
    """Return the health block in words."""
    counts, clock = block["counts"], block["clock"]
    lines = [f"  {words.several(counts['records'], 'record')} read; {100 * block['not_modelled']:.1f} % of the time is not modelled"]
    if clock["messages"]:
        worst = words.duration(clock["worst_message"])
        lines.append(f"  clocks: {words.several(clock['messages'], 'message')} received before they were sent, worst {worst}")
    if clock["collective_calls"]:
        worst = words.duration(clock["worst_collective"])
        lines.append(
            f"  clocks: {words.several(clock['collective_calls'], 'call')} left a collective before its last member came, worst {worst}"
        )
    if not clock["messages"] and not clock["collective_calls"]:
        lines.append("  clocks: consistent")
    if block["instantaneous"]:
        lines.append(f"  no duration: {block['instantaneous']} sends and receives (message records outside MPI states); how long they waited was not recorded")
    lines += [f"  missing: {number} {name}" for name, number in block["holes"].items() if name != "records that cannot be used"]
    lines += [f"  left out: {words.several(number, 'record')}: {reason}" for reason, number in block["defects"].items()]
    if block["incomplete"]:
        lines.append("  INCOMPLETE: what is missing waits for nobody and delays nobody here")
    return lines


def model(value: Model) -> Document:
    """Return the model block."""
    return {"name": value.name, "source": value.source, "assumed": list(value.assumed), "parameters": value.parameters()}


def model_lines(block: Document) -> list[str]:
    """Return the model in words."""
    parameters = block["parameters"]
    shown = " ".join(
        f"{key}={parameters[key]:g}" for key in parameters if isinstance(parameters[key], (int, float)) and "overheads" not in key
    )
    return [f"model      {block['name']}: {shown}", f"           {block['source']}"]
