"""How far the replay of the unchanged run is off, and how the recording contradicts the model: the same words in every report."""

from __future__ import annotations

import dataclasses

from perwiz import words
from perwiz.loggps.eager_limit import held
from perwiz.loggps.model import Model
from perwiz.loggps.weigh import Misfit
from perwiz.report.blocks import Document, Facts
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.run import Run

_MANY = 0.1
"""Part of the messages from which on they say so."""


def of_run(run: Run) -> Document:
    """Return the misfit block of a run."""
    return document(run.trace, run.trace.timeline, run.weighted.model, run.weighted.misfit)


def document(trace: Trace, timeline: Timeline, model: Model, misfit: Misfit) -> Document:
    """Return the misfit block: how often the recorded times contradict the model."""
    found = held(trace, timeline, model)
    return dataclasses.asdict(misfit) | {"held": dataclasses.asdict(found) if found else None}


def facts(block: Document) -> Facts:
    """Return in words how far recording and model contradict each other, of the document of a report."""
    misfit, off = block["misfit"], block["replay_error_ns"]
    engine = f" (engine {block['engine']})" if "engine" in block else ""
    replayed = f"is at most {words.duration(off)} off the recorded one" if off else "is exactly the recorded one"
    said = []
    if misfit["messages"]:
        said.append(f"messages that came faster than the model says: {misfit['messages_lowered']} of {misfit['messages']}")
    if misfit["messages_lowered"] > _MANY * misfit["messages"]:
        said.append("so many say that the model is of another machine: see perwiz calibrate")
    if misfit["requests_lowered"]:
        said.append(f"synchronous sends shorter than their own request: {misfit['requests_lowered']} of {misfit['requests']}")
    if misfit["gaps_lowered"]:
        said.append(f"sends that followed the one before sooner than the model says: {misfit['gaps_lowered']} of {misfit['gaps']}")
    if misfit["eager_after_all"]:
        said.append(f"messages above S_bytes that did not hold their sender: {misfit['eager_after_all']}")
    if misfit["violations"]:
        said.append(f"effects recorded before their cause, which stay as far before it: {misfit['violations']}")
    if misfit["inner"]:
        said.append(f"waits inside rooted collectives, taken to be for the last that came before they ended: {misfit['inner']}")
    if misfit["held"]:
        said.append(_held(misfit["held"]))
    return [("replay", f"the unchanged run {replayed}{engine}"), *(("" if k else "misfit", text) for k, text in enumerate(said))]


def _held(found: Document) -> str:
    sends = f"{found['messages']} of {found['late']} blocking sends of {found['bytes']} bytes and more, whose receiver came late,"
    return f"{sends} were held until it came: S_bytes is too large for this machine; see perwiz calibrate --from TRACE"
