"""The report of `perwiz predict`: a JSON document, and the text made from it. The answer comes first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perwiz import words
from perwiz.loggps.model import Model
from perwiz.report import blocks, misfit, shares
from perwiz.report.blocks import Document, Facts
from perwiz.report.predict import order
from perwiz.trace.trace import Trace
from perwiz.whatif.hypotheses.base import Network
from perwiz.whatif.predict import Prediction
from perwiz.whatif.waits import Waits

VERSION = 1
"""Version of the document; predict.schema.json describes it."""
_PROCESSES = 16
"""Rows of the longest table of processes."""


def document(prediction: Prediction, waits: int) -> Document:
    """Return the prediction as a JSON document with at most `waits` waits before and after; all times in ns."""
    trace, recorded, predicted = prediction.trace, prediction.recorded, prediction.predicted
    before, after = prediction.waits_before, prediction.waits_after
    zeroed = before.time[prediction.zeroed]
    moved = (recorded.calls.enter != predicted.calls.enter) | (recorded.calls.leave != predicted.calls.leave)
    return {
        "version": VERSION,
        "command": "predict",
        "trace": trace.path,
        "format": trace.format,
        "made_by": trace.timeline.made_by,
        "hypotheses": [str(h) for h in prediction.hypotheses],
        "engine": prediction.engine,
        "recorded_ns": recorded.makespan,
        "predicted_ns": predicted.makespan,
        "gain_ns": prediction.gain,
        "shares_of_ns": shares.of(trace, recorded.makespan, abs(prediction.gain)),
        "predicted_range_ns": list(prediction.range) if prediction.range else None,
        "replay_error_ns": prediction.replay_error,
        "calls": len(trace.calls),
        "calls_moved": int(moved.sum()),
        "zeroed": {"calls": len(zeroed), "waiting_calls": int((zeroed > 0).sum()), "wait_ns": int(zeroed.sum())},
        "order": [order.moved(trace, move) for move in prediction.order.moves] if prediction.order else [],
        "matching": order.matching(prediction.matching),
        "waiting_ns": int(before.time.sum()),
        "waiting_predicted_ns": int(after.time.sum()),
        "model": blocks.model(prediction.model),
        "networks": [blocks.model(network) for network in _networks(prediction)],
        "deadlocks": prediction.deadlocks,
        "misfit": misfit.document(trace, recorded, prediction.model, prediction.misfit),
        "health": blocks.health(prediction.health),
        "processes": _processes(prediction),
        "waits_before": blocks.longest(trace, before, waits, after),
        "waits_after": blocks.longest(trace, after, waits, before),
    }


def _networks(prediction: Prediction) -> list[Model]:
    """Return the models of the other networks asked about; changes start from the one before."""
    found = [prediction.model]
    for hypothesis in sorted(prediction.hypotheses, key=lambda h: h.stage):
        if isinstance(hypothesis, Network):
            found.append(hypothesis.model(found[-1]))
    return found[1:]


def _processes(prediction: Prediction) -> list[Document]:
    """Return, per location, when it ends and how long it waits, recorded and predicted."""
    trace = prediction.trace
    before, after = prediction.recorded.locations.leave, prediction.predicted.locations.leave
    waiting = [_by_location(trace, waits) for waits in (prediction.waits_before, prediction.waits_after)]
    return [
        {
            **blocks.location(trace, k),
            "recorded_end_ns": int(before[k]),
            "predicted_end_ns": int(after[k]),
            "gain_ns": int(before[k] - after[k]),
            "waiting_ns": int(waiting[0][k]),
            "waiting_predicted_ns": int(waiting[1][k]),
        }
        for k in range(len(trace.locations))
    ]


def _by_location(trace: Trace, waits: Waits) -> NDArray[np.int64]:
    return np.diff(np.concatenate(([0], np.cumsum(waits.time)))[trace.first_calls])


def text(block: Document) -> str:
    """Return the document as text for a terminal."""
    lines = [*_title(block), "", *words.facts(_answer(block)), "", *_process_lines(block)]
    asked = bool(block["hypotheses"])
    if block["waits_before"]:
        head = ("recorded", "predicted") if asked else ("recorded",)
        lines += ["", "longest waits in the recorded run", *blocks.wait_lines(block["waits_before"], *head)]
    if asked and block["waits_after"]:
        lines += ["", "longest waits in the predicted run", *blocks.wait_lines(block["waits_after"], "predicted", "recorded")]
    models = [fact for network in block["networks"] for fact in blocks.model_facts(network, "network")]
    lines += [
        "",
        *words.facts(blocks.model_facts(block["model"]) + models + misfit.facts(block)),
        "",
        *blocks.health_lines(block["health"]),
    ]
    return "\n".join(lines)


def _title(block: Document) -> list[str]:
    asked = "; ".join(map(words.shown, block["hypotheses"])) or "no hypothesis"
    mark = "  (INCOMPLETE trace)" if block["health"]["incomplete"] else ""
    return words.wrapped(f"{words.shown(block['trace'])}: {asked}{mark}", 2)


def _answer(block: Document) -> Facts:
    recorded, gain = block["recorded_ns"], block["gain_ns"]
    share = f" ({words.percent(abs(gain), block['shares_of_ns'])})" if recorded else ""
    facts = [
        ("recorded", blocks.recorded(recorded, block["health"])),
        ("predicted", f"{words.duration(block['predicted_ns'])}, {'gain' if gain >= 0 else 'loss'} {words.duration(abs(gain))}{share}"),
    ]
    waits = f"{words.duration(block['waiting_ns'])} recorded"
    if block["hypotheses"]:
        facts += [*shares.facts(block, recorded), ("", _range(block))]
        waits += f", {words.duration(block['waiting_predicted_ns'])} predicted"
    facts.append(("waiting", f"{waits}, all processes together"))
    return [*facts, *_effect(block)]


def _range(block: Document) -> str:
    spread = block["predicted_range_ns"]
    if spread is None:
        return "no range: it would tell nothing where the model itself is changed"
    low, high = map(words.duration, spread)
    return f"{low} to {high} if the model's costs were half or twice as large"


def _effect(block: Document) -> Facts:
    """Return what the hypotheses touch: the waits they zero, and how many calls move."""
    zeroed, facts = block["zeroed"], []
    if zeroed["calls"]:
        facts.append(("zeroed", _zeroed(zeroed["calls"], zeroed["waiting_calls"], words.duration(zeroed["wait_ns"]))))
    if block["deadlocks"]:
        facts.append(
            (
                "deadlock",
                f"{block['deadlocks']} messages would be synchronous and stop the program for good; their senders are not held here",
            )
        )
    if block["hypotheses"]:
        still = not block["calls_moved"] and not any(row["gain_ns"] for row in block["processes"])
        moved = f"{block['calls_moved']} of {words.several(block['calls'], 'call')}" if block["calls"] else "no call"
        facts.append(("moved", f"{moved}{', nothing changes' if still else ''}"))
        facts += [*order.move_facts(block), *order.choice_facts(block)]
    return facts


def _zeroed(calls: int, waiting: int, time: str) -> str:
    if calls == 1:
        return f"1 call, which waited {time}" if waiting else "1 call, which did not wait in the recorded run"
    return f"{calls} calls, of which {waiting or 'none that is known'} waited in the recorded run{f', {time} together' if waiting else ''}"


def _process_lines(block: Document) -> list[str]:
    """Return the table of processes: all, or those whose ends move most, or else wait most."""
    rows, asked = block["processes"], bool(block["hypotheses"])
    order = sorted(range(len(rows)), key=lambda k: (-abs(rows[k]["gain_ns"]), -rows[k]["waiting_ns"], k))
    keys = ("recorded_end_ns", "predicted_end_ns", "gain_ns", "waiting_ns", "waiting_predicted_ns")
    head = ("end", "predicted", "gain", "waiting", "predicted")
    kept = range(5) if asked else (0, 3)
    cells = [
        [words.rank(rows[k]["rank"], rows[k]["thread"]), *(words.duration(rows[k][keys[c]]) for c in kept)]
        for k in sorted(order[:_PROCESSES])
    ]
    more = f"and {len(rows) - len(cells)} more, which {'gain or wait' if asked else 'wait'} less (--json lists all)"
    return [*words.table(["rank", *(head[c] for c in kept)], cells), *([more] if len(cells) < len(rows) else [])]
