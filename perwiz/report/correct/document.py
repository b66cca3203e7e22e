"""The report of `perwiz correct`: a JSON document, and the text made from it. The answer comes first."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from perwiz import words
from perwiz.clock import cycles
from perwiz.clock.figures import THRESHOLDS, Deviation, Figures
from perwiz.clock.logical import Correction
from perwiz.clock.pairs import Pairs
from perwiz.clock.schemes import scheme_of
from perwiz.report import plain
from perwiz.report.blocks import Document, Facts
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.health import Health

VERSION = 1
"""Version of the document; correct.schema.json describes it."""
_STEPS = 6
"""Steps of a cycle that are told in words."""
_PROCESSES = 4
"""Processes told by name, those moved furthest."""
_CLOCKS = {"clc": "controlled logical clock", "linear": "measured clock offsets"}
_SCHEMES = {
    "single": "flat at the start, constant",
    "flat": "flat at start and end, interpolated here",
    "hierarchical": "hierarchical at start and end, interpolated here",
    None: "interpolated here",
}
_WHAT = {"messages": "messages", "collectives": "logical messages of collectives"}


def document(trace: Trace, found: Correction, figures: Figures, clock: str, health: Health) -> Document:
    """Return a correction of the trace by `clock`, linear or clc, as a JSON document; all times in ns, all shares from 0 to 1."""
    steps = cycles.cycle(found.trace, found.graph) if clock == "clc" and found.left else []
    logical = {"gamma": found.gamma, "passes": found.passes} if clock == "clc" else {"gamma": None, "passes": 0}
    return {
        "version": VERSION,
        "command": "correct",
        "trace": trace.path,
        "format": trace.format,
        "made_by": str(found.before.origin),
        "corrected_by": str(found.timeline.origin),
        "clock": clock,
        "offsets": {
            "measured": len(trace.readings) or len(trace.offsets),
            "scheme": scheme_of(trace.readings) if len(trace.readings) else None,
            "in_the_recorded_times": trace.offsets_applied,
        },
        "recorded_ns": found.before.makespan,
        "corrected_ns": found.timeline.makespan,
        "minimum_latency_ns": dataclasses.asdict(found.latencies),
        **logical,
        "slope": figures.slope,
        "messages": {"recorded": _pairs(figures.messages_before), "corrected": _pairs(figures.messages_after)},
        "collectives": {"recorded": _pairs(figures.collectives_before), "corrected": _pairs(figures.collectives_after)},
        "corrected_explicitly": {"messages": figures.corrected_by_message, "collectives": figures.corrected_by_collective},
        "events": figures.events,
        "moved": figures.moved,
        "average_displacement_ns": figures.average_displacement,
        "largest_displacement_ns": figures.largest_displacement,
        "thresholds": list(THRESHOLDS),
        "event_position": _deviation(figures.position),
        "event_distance": _deviation(figures.distance),
        "left": dataclasses.asdict(found.left),
        "cycle": {"calls": [[f"e{cause}", f"e{effect}"] for cause, effect in steps], "words": _named(found, steps)} if steps else None,
        "processes": _processes(trace, found),
        "health": plain.health(health),
    }


def _pairs(value: Pairs) -> Document:
    return {
        "pairs": value.pairs,
        "reversed": value.reversed,
        "reversed_percent": value.percent(value.reversed),
        "violating": value.violating,
        "violating_percent": value.percent(value.violating),
        "average_ns": value.average,
        "worst_ns": value.worst,
    }


def _deviation(value: Deviation) -> Document:
    return {
        "average": value.average,
        "mean": value.mean,
        "maximum": value.maximum,
        "intervals_above": list(value.intervals),
        "time_above": list(value.time),
    }


def _named(found: Correction, steps: list[tuple[int, int]]) -> str:
    more = f", and so on, {len(steps)} steps in all" if len(steps) > _STEPS else ""
    return cycles.named(found.trace, steps[:_STEPS]) + more


def _processes(trace: Trace, found: Correction) -> list[Document]:
    """Return, per location, the largest distance of an event from where it was recorded, and that of its last instant."""
    furthest = shifts(trace, found.before, found.timeline)
    ends = found.timeline.locations.leave - found.before.locations.leave
    return [{**plain.location(trace, k), "largest_ns": int(furthest[k]), "end_ns": int(ends[k])} for k in range(len(trace.locations))]


def shifts(trace: Trace, before: Timeline, after: Timeline) -> NDArray[np.int64]:
    """Return, per location, the largest distance of an event from where it was before, int64 ns, in either direction."""
    out = np.zeros(len(trace.locations), "i8")
    every = np.arange(len(out))
    sides = ((trace.calls.location, "calls"), (trace.regions.location, "regions"), (every, "locations"))
    for location, kind in sides:
        old, new = getattr(before, kind), getattr(after, kind)
        for side in ("enter", "leave"):
            np.maximum.at(out, location, np.abs(getattr(new, side) - getattr(old, side)))
    return out


def text(block: Document) -> str:
    """Return the document as text for a terminal."""
    mark = "  (INCOMPLETE trace)" if block["health"]["incomplete"] else ""
    lines = [f"{words.shown(block['trace'])}: {_CLOCKS[block['clock']]}{mark}", "", *words.facts(_answer(block)), "", *_pair_lines(block)]
    if block["moved"]:
        lines += ["", *_deviation_lines(block)]
    return "\n".join([*lines, "", *words.facts(_means(block)), "", *plain.health_lines(block["health"], clocks=False)])


def _answer(block: Document) -> Facts:
    facts = [("recorded", _broken(block)), ("corrected", _left(block))]
    if block["cycle"]:
        facts.append(("cycle", f"no clock can help: {block['cycle']['words']}"))
    if block["moved"]:
        moved = f"{block['moved']} of {words.several(block['events'], 'event')} ({words.percent(block['moved'], block['events'])})"
        average, largest = (words.duration(round(block[f"{key}_displacement_ns"])) for key in ("average", "largest"))
        facts += [("moved", f"{moved}, by {average} on average, {largest} at most"), ("", _furthest(block))]
        facts.append(("makespan", f"{words.duration(block['recorded_ns'])} recorded, {words.duration(block['corrected_ns'])} corrected"))
    return facts


def _left(block: Document) -> str:
    """Return what is still reversed."""
    left, still = block["left"], []
    if left["messages"]:
        still.append(f"{words.several(left['messages'], 'message')}, by {words.duration(left['worst_message'])} at most")
    if left["collective_calls"]:
        calls = words.several(left["collective_calls"], "call")
        still.append(f"{calls} that left a collective too early, by {words.duration(left['worst_collective'])} at most")
    if still:
        return f"still received before they were sent: {'; '.join(still)}"
    return "every effect comes after its cause" if block["moved"] else "nothing to correct"


def _broken(block: Document) -> str:
    """Return what is reversed in the recorded run."""
    found = []
    for key, what in _WHAT.items():
        pairs = block[key]["recorded"]
        if pairs["reversed"]:
            share = words.percent(pairs["reversed"], pairs["pairs"])
            found.append(f"{pairs['reversed']} of {pairs['pairs']} {what} ({share}), by {words.duration(pairs['worst_ns'])} at most")
    return f"received before they were sent: {'; '.join(found)}" if found else "nothing is received before it was sent"


def _furthest(block: Document) -> str:
    """Return the processes moved furthest."""
    rows = sorted(
        (row for row in block["processes"] if row["largest_ns"]), key=lambda row: (-row["largest_ns"], row["rank"], row["thread"])
    )
    said = [f"rank {words.rank(row['rank'], row['thread'])} by {words.duration(row['largest_ns'])}" for row in rows[:_PROCESSES]]
    more = f" and {len(rows) - _PROCESSES} more by less" if len(rows) > _PROCESSES else ""
    still = len(block["processes"]) - len(rows)
    return f"{', '.join(said)}{more}{f'; {still} not at all' if still else ''}"


def _pair_lines(block: Document) -> list[str]:
    """Return the table of reversed and violating messages, before and after."""
    head = ["", "all", "reversed", "of all", "too early", "of all", "reversed by", "at most"]
    cells = []
    for key, what in _WHAT.items():
        for run in ("recorded", "corrected"):
            row = block[key][run]
            counts = [text for name in ("reversed", "violating") for text in (str(row[name]), words.percent(row[name], row["pairs"]))]
            times = [words.duration(round(row["average_ns"])), words.duration(row["worst_ns"])] if row["reversed"] else ["-", "-"]
            cells.append([f"{what}, {run}", str(row["pairs"]), *counts, *times])
    return words.table(head, [row for row in cells if row[1] != "0"] or cells[:2])


def _deviation_lines(block: Document) -> list[str]:
    """Return the tables of how far intervals of processes were changed."""
    above = [f">{100 * threshold:g} %" for threshold in block["thresholds"]]
    kinds = {"event_position": "event position", "event_distance": "event distance"}
    first = [[name, *(_share(block[key][value]) for value in ("average", "mean", "maximum"))] for key, name in kinds.items()]
    second = [
        [f"{name}, {unit}", *map(_share, block[key][f"{value}_above"])]
        for key, name in kinds.items()
        for value, unit in (("intervals", "share of intervals"), ("time", "share of time"))
    ]
    head = ["local intervals changed by", "in all", "on average", "at most"]
    return [*words.table(head, first), "", *words.table([head[0], *above], second)]


def _share(value: float) -> str:
    """Return a share in percent with two decimals, as small ones matter here."""
    if not value:
        return "0 %"
    return "<0.01 %" if value < 0.00005 else f"{100 * value:.2f} %"


def _means(block: Document) -> Facts:
    """Return by what means the times were corrected."""
    least, offsets = block["minimum_latency_ns"], block["offsets"]
    how = "in the recorded times already" if offsets["in_the_recorded_times"] else _SCHEMES[offsets["scheme"]]
    facts = [("offsets", f"{offsets['measured']} measured, {how}" if offsets["measured"] else "none measured")]
    taken = f"{least['node']} ns in a node, {least['metahost']} ns in a metahost, {least['across']} ns across"
    facts.append(("least time", f"{taken}; what takes less is too early"))
    explicit = block["corrected_explicitly"]
    if any(explicit.values()):
        returns = f"{words.several(explicit['messages'], 'return')} by messages, {explicit['collectives']} by collectives"
        facts.append(("put forward", f"{returns}; the others moved with them"))
        facts.append(("gamma", f"{block['gamma']:g}, found in {words.several(block['passes'], 'pass')}"))
        facts.append(("steepest", f"before a return was put forward, a clock runs fast by at most {_share(block['slope'])}"))
    return facts
