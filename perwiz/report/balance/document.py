"""The report of `perwiz balance`: a JSON document, and the text made from it. The answer comes first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz import words
from perwiz.report import blocks, plain
from perwiz.report.blocks import Document, Facts
from perwiz.whatif.limits.balance import Balance, Balanced, Spread

VERSION = 1
"""Version of the document; balance.schema.json describes it."""
_NAME = 20
"""Columns of a region."""


def gains(balance: Balance, region: Balanced) -> NDArray[np.int64]:
    """Return what each step gains, ns, the better of computation and messages balanced."""
    best = np.where(region.messages >= 0, np.minimum(region.time, region.messages), region.time)
    return np.asarray(balance.run.makespan - best, np.int64)


def document(balance: Balance, steps: int) -> Document:
    """Return what balancing gives as a JSON document with at most so many steps, those that gain most first; all times in ns."""
    run = balance.run
    return {
        "version": VERSION,
        "command": "balance",
        "trace": run.trace.path,
        "format": run.trace.format,
        "made_by": run.trace.timeline.made_by,
        "recorded_ns": run.makespan,
        "shares_of_ns": blocks.shares_of(run.trace, run.makespan, run.makespan - balance.everything),
        "replay_error_ns": run.replay_error,
        "predicted_ns": balance.everything,
        "gain_ns": run.makespan - balance.everything,
        "regions": [_region(run.makespan, region) for region in balance.regions],
        "steps": _steps(balance, steps),
        "deadlocks": run.graph.deadlocks,
        "misfit": plain.misfit(run),
        "model": plain.model(run.weighted.model),
        "health": plain.health(run.health()),
    }


def _answer_of(makespan: int, predicted: int) -> Document | None:
    return {"predicted_ns": predicted, "gain_ns": makespan - predicted} if predicted >= 0 else None


def _region(makespan: int, region: Balanced) -> Document:
    """Return what balancing all steps of a region gives."""
    return {
        "region": region.name,
        "steps": len(region.number),
        "balance_time": _answer_of(makespan, region.all_time),
        "balance_messages": _answer_of(makespan, region.all_messages),
        "both": _answer_of(makespan, region.all_both),
    }


def _steps(balance: Balance, most: int) -> list[Document]:
    """Return the steps of all regions that gain most, ties in order."""
    which = np.repeat(np.arange(len(balance.regions)), [len(region.number) for region in balance.regions])
    row = np.concatenate([np.arange(len(region.number)) for region in balance.regions])
    gain = np.concatenate([gains(balance, region) for region in balance.regions])
    spreads = [(region.spread(region.computation), region.spread(region.sent)) for region in balance.regions]
    sigma = np.concatenate([computation.sigma for computation, _ in spreads])
    place = np.empty(len(sigma), "i8")
    place[np.argsort(-sigma, kind="stable")] = np.arange(1, len(sigma) + 1)
    return [
        _step(balance, balance.regions[which[k]], int(row[k]), spreads[which[k]]) | {"sigma_rank": int(place[k])}
        for k in np.argsort(-gain, kind="stable")[:most].tolist()
    ]


def _step(balance: Balance, region: Balanced, row: int, spreads: tuple[Spread, Spread]) -> Document:
    computation, sent = spreads
    makespan = balance.run.makespan
    return {
        "region": region.name,
        "step": int(region.number[row]),
        "processes": int(computation.processes[row]),
        "computation_ns": _spread(computation, row),
        "sent_bytes": _spread(sent, row),
        "balance_time": _answer_of(makespan, int(region.time[row])),
        "balance_messages": _answer_of(makespan, int(region.messages[row])),
    }


def _spread(spread: Spread, row: int) -> dict[str, Any]:
    mean = float(spread.mean[row])
    return {
        "least": int(spread.least[row]),
        "mean": round(mean, 3),
        "largest": int(spread.largest[row]),
        "sigma": round(float(spread.sigma[row]), 3),
        "imbalance": round(int(spread.largest[row]) / mean, 6) if mean else None,
    }


def text(block: Document) -> str:
    """Return the document as text for a terminal."""
    names = ", ".join(words.shown(region["region"], _NAME) for region in block["regions"])
    mark = "  (INCOMPLETE trace)" if block["health"]["incomplete"] else ""
    lines = [*words.wrapped(f"{words.shown(block['trace'])}: balance {names}{mark}", 2), "", *words.facts(_answer(block)), ""]
    lines += ["all steps of a region at once", *_region_lines(block)]
    if block["steps"]:
        lines += ["", "steps by predicted gain (sigma: by how much computation differs, # its place by that)", *_step_lines(block)]
        lines += ["", "what a process computes and sends in these steps", *_spread_lines(block)]
    lines += [
        "",
        *words.facts([*plain.model_facts(block["model"]), *plain.misfit_facts(block), *_deadlock(block)]),
        "",
        *plain.health_lines(block["health"]),
    ]
    return "\n".join(lines)


def _answer(block: Document) -> Facts:
    """Return what balancing all gives, and which single step gives most."""
    recorded = block["recorded_ns"]
    many = words.several(sum(region["steps"] for region in block["regions"]), "step")
    facts = [("recorded", plain.recorded(recorded, block["health"])), *plain.share_facts(block, recorded)]
    whole = block["shares_of_ns"]
    facts.append(("balanced", f"{_predicted(block, whole)} if computation and messages of all {many} were balanced"))
    if block["steps"]:
        step = block["steps"][0]
        time, messages = step["balance_time"], step["balance_messages"]
        best, what = (messages, "messages") if messages and messages["gain_ns"] > time["gain_ns"] else (time, "computation")
        name = _label(step)
        told = f"{what} of {name}: {_predicted(best, whole)}" if best["gain_ns"] > 0 else "none: balancing any single step gains nothing"
        facts.append(("best step", told))
    return facts


def _predicted(answer: Document, whole: int) -> str:
    gain = answer["gain_ns"]
    share = f" ({words.percent(abs(gain), whole)})" if whole else ""
    return f"{words.duration(answer['predicted_ns'])}, {'gain' if gain >= 0 else 'loss'} {words.duration(abs(gain))}{share}"


def _cells(answer: Document | None, whole: int) -> tuple[str, str, str]:
    """Return predicted makespan, gain and its share, `-` if there is nothing to balance."""
    if not answer:
        return "-", "-", "-"
    gain = answer["gain_ns"]
    share = words.percent(abs(gain), whole)
    return words.duration(answer["predicted_ns"]), words.duration(gain), f"-{share}" if gain < 0 and share[0] != "<" else share


def _region_lines(block: Document) -> list[str]:
    whole = block["shares_of_ns"]
    rows = []
    for region in block["regions"]:
        answers = (_cells(region[key], whole) for key in ("balance_time", "balance_messages", "both"))
        rows.append([words.shown(region["region"], _NAME), str(region["steps"]), *(cell for cells in answers for cell in cells)])
    return words.table(["region", "steps", "computation", "gain", "", "messages", "gain", "", "both", "gain", ""], rows)


def _step_lines(block: Document) -> list[str]:
    """Return the table of steps: how much computation differs between processes, and what balancing the step gives."""
    rows = []
    for step in block["steps"]:
        time = step["computation_ns"]
        answers = (_cells(step[key], block["shares_of_ns"]) for key in ("balance_time", "balance_messages"))
        differs = (words.duration(round(time["sigma"])), str(step["sigma_rank"]), _ratio(time["imbalance"]))
        rows.append([_label(step), *differs, *(cell for cells in answers for cell in cells)])
    return words.table(["step", "sigma", "#", "max/mean", "computation", "gain", "", "messages", "gain", ""], rows)


def _spread_lines(block: Document) -> list[str]:
    """Return the table of what the processes compute and send in these steps."""
    rows = []
    for step in block["steps"]:
        time, sent = step["computation_ns"], step["sent_bytes"]
        computed = (words.duration(round(time[key])) for key in ("least", "mean", "largest"))
        sends = (words.size(round(sent[key])) for key in ("least", "mean", "largest", "sigma"))
        rows.append([_label(step), str(step["processes"]), *computed, *sends, _ratio(sent["imbalance"])])
    return words.table(["step", "ranks", "least", "mean", "largest", "sent: least", "mean", "largest", "sigma", "max/mean"], rows)


def _label(step: Document) -> str:
    return f"{words.shown(step['region'], _NAME)}#{step['step']}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _deadlock(block: Document) -> Facts:
    if not block["deadlocks"]:
        return []
    return [("deadlock", f"messages that balancing makes synchronous so that the program would stop: {block['deadlocks']}")]
