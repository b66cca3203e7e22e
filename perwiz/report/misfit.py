"""How far the replay of the unchanged run is off, and how the recording contradicts the model: the same words in every report."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

from perwiz import words
from perwiz.loggps import weigh
from perwiz.loggps.fit.eager import Held, held_senders
from perwiz.loggps.model import Model
from perwiz.report import blocks, records
from perwiz.report.blocks import Facts
from perwiz.report.records import Health, Misfit
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.run import Run

_MANY = 0.1
"""Part of the messages from which on they say so."""


class Modelled(Protocol):
    """A document whose times come from a model."""

    model: records.Model
    misfit: Misfit
    replay_error_ns: int
    health: Health


def modelled(run: Run) -> dict[str, Any]:
    """Return what a document tells of a run and its model, the fields of Modelled."""
    return {
        "model": blocks.model(run.weighted.model),
        "misfit": of_run(run),
        "replay_error_ns": run.replay_error,
        "health": blocks.health(run.health()),
    }


def of_run(run: Run) -> Misfit:
    """Return the misfit of a run."""
    return misfit(run.trace, run.trace.timeline, run.weighted.model, run.weighted.misfit)


def misfit(trace: Trace, timeline: Timeline, model: Model, lowered: weigh.Misfit) -> Misfit:
    """Return how often the recorded times contradict the model."""
    return Misfit(**dataclasses.asdict(lowered), held=held_senders(dataclasses.replace(trace, timeline=timeline), model))


def closing(document: Modelled, more: Facts | None = None) -> list[str]:
    """Return the end of a report in words: the model, replay and misfit, `more`, and the health of the trace."""
    model = blocks.model_facts(document.model) + facts(document.misfit, document.replay_error_ns)
    return [*words.facts(model + (more or [])), "", *blocks.health_lines(document.health)]


def facts(misfit: Misfit, replay_error: int, engine: str = "") -> Facts:
    """Return in words how far recording and model contradict each other."""
    replayed = f"is at most {words.duration(replay_error)} off the recorded one" if replay_error else "is exactly the recorded one"
    lines = []
    if misfit.messages:
        lines.append(f"messages that came faster than the model says: {misfit.messages_lowered} of {misfit.messages}")
    if misfit.messages_lowered > _MANY * misfit.messages:
        lines.append("so many say that the model is of another machine: see perwiz calibrate")
    if misfit.requests_lowered:
        lines.append(f"synchronous sends shorter than their own request: {misfit.requests_lowered} of {misfit.requests}")
    if misfit.gaps_lowered:
        lines.append(f"sends that followed the one before sooner than the model says: {misfit.gaps_lowered} of {misfit.gaps}")
    if misfit.eager_after_all:
        lines.append(f"messages above S_bytes that did not hold their sender: {misfit.eager_after_all}")
    if misfit.violations:
        lines.append(f"effects recorded before their cause, which stay as far before it: {misfit.violations}")
    if misfit.inner:
        lines.append(f"waits inside rooted collectives, taken to be for the last that came before they ended: {misfit.inner}")
    if misfit.held:
        lines.append(_held(misfit.held))
    ran = f"the unchanged run {replayed}{f' (engine {engine})' if engine else ''}"
    return [("replay", ran), *(("" if k else "misfit", text) for k, text in enumerate(lines))]


def _held(sends: Held) -> str:
    late = f"{sends.messages} of {sends.late} sends of {sends.bytes} bytes and more, whose receiver came late,"
    return f"{late} were held until it came: S_bytes is too large for this machine; see perwiz calibrate --from TRACE"
