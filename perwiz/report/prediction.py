"""The report of `perwiz predict`: a JSON document, and the text made from it."""

from __future__ import annotations

import dataclasses

from perwiz.report import parts, words
from perwiz.report.parts import Document
from perwiz.whatif.predict import Prediction

VERSION = 1
_PROCESSES = 16


def document(prediction: Prediction, waits: int) -> Document:
    """Return the prediction as a JSON document with at most `waits` waits before and after; all times in ns."""
    trace, recorded, predicted = prediction.trace, prediction.recorded, prediction.predicted
    return {
        "version": VERSION,
        "command": "predict",
        "trace": trace.path,
        "format": trace.format,
        "hypotheses": [str(h) for h in prediction.hypotheses],
        "engine": prediction.engine,
        "recorded_ns": recorded.makespan,
        "predicted_ns": predicted.makespan,
        "gain_ns": prediction.gain,
        "predicted_range_ns": list(prediction.range) if prediction.range else None,
        "replay_error_ns": prediction.replay_error,
        "model": parts.model(prediction.model),
        "zeroed": {"calls": len(prediction.zeroed), "wait_ns": int(prediction.waits_before.time[prediction.zeroed].sum())},
        "misfit": dataclasses.asdict(prediction.misfit),
        "health": parts.health(prediction.health),
        "processes": _processes(prediction),
        "waiting_ns": int(prediction.waits_before.time.sum()),
        "waiting_predicted_ns": int(prediction.waits_after.time.sum()),
        "waits_before": parts.longest(trace, prediction.waits_before, waits, prediction.waits_after),
        "waits_after": parts.longest(trace, prediction.waits_after, waits, prediction.waits_before),
    }


def _processes(prediction: Prediction) -> list[Document]:
    trace = prediction.trace
    before, after = prediction.recorded.locations.leave, prediction.predicted.locations.leave
    return [
        {
            "rank": words.rank(trace, k),
            "recorded_end_ns": int(before[k]),
            "predicted_end_ns": int(after[k]),
            "gain_ns": int(before[k] - after[k]),
        }
        for k in range(len(trace.locations))
    ]


def text(block: Document) -> str:
    """Return the document as text for a terminal."""
    lines = [*_answer(block), "", *parts.model_lines(block["model"]), *_error(block), "", "health", *parts.health_lines(block["health"])]
    lines += ["", *_process_lines(block)]
    if block["waits_before"]:
        lines += ["", "longest waits in the recorded run", *parts.wait_lines(block["waits_before"], "recorded", "predicted")]
    if block["hypotheses"] and block["waits_after"]:
        lines += ["", "longest waits in the predicted run", *parts.wait_lines(block["waits_after"], "predicted", "recorded")]
    return "\n".join(lines)


def _answer(block: Document) -> list[str]:
    recorded, gain = block["recorded_ns"], block["gain_ns"]
    word = "gain" if gain >= 0 else "loss"
    under = "; ".join(block["hypotheses"]) or "no hypothesis"
    mark = "  (INCOMPLETE trace)" if block["health"]["incomplete"] else ""
    waits = f"{words.duration(block['waiting_ns'])} recorded, {words.duration(block['waiting_predicted_ns'])} predicted"
    lines = [
        f"{block['trace']}: {under}{mark}",
        "",
        f"recorded   {words.duration(recorded)}",
        f"predicted  {words.duration(block['predicted_ns'])}   {word} {words.duration(abs(gain))} ({words.percent(abs(gain), recorded)})",
        f"waiting    {waits}, all processes together",
    ]
    zeroed = block["zeroed"]
    if zeroed["calls"]:
        what = f"waited {words.duration(zeroed['wait_ns'])}" if zeroed["wait_ns"] else "did not wait: zeroing that changes nothing"
        lines.append(f"zeroed     {words.several(zeroed['calls'], 'call')} that {what}")
    return lines


def _error(block: Document) -> list[str]:
    misfit = block["misfit"]
    lines = [f"error      the replayed unchanged run is {words.duration(block['replay_error_ns'])} off the recorded one"]
    if block["hypotheses"]:
        spread = " to ".join(map(words.duration, block["predicted_range_ns"] or [])) or "not estimated when the model itself is changed"
        lines.append(f"           predicted if the model's costs were half or twice as large: {spread}")
    if misfit["messages"]:
        lowered = f"{misfit['messages_lowered']} of {words.several(misfit['messages'], 'message')}"
        lines.append(f"misfit     {lowered} came faster than the model says")
    if misfit["eager_after_all"]:
        lines.append(f"           {words.several(misfit['eager_after_all'], 'send')} above S returned before the receiver was there")
    return lines


def _process_lines(block: Document) -> list[str]:
    rows = block["processes"]
    shown = rows if len(rows) <= _PROCESSES else sorted(rows, key=lambda row: -abs(row["gain_ns"]))[:_PROCESSES]
    cells = [
        [row["rank"], words.duration(row["recorded_end_ns"]), words.duration(row["predicted_end_ns"]), words.duration(row["gain_ns"])]
        for row in shown
    ]
    more = [f"  ... and {len(rows) - len(shown)} that gain less"] if len(shown) < len(rows) else []
    return [*words.table(["rank", "recorded end", "predicted end", "gain"], cells, indent=""), *more]
