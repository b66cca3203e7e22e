"""What the pipelines of a training job lose: the same record and the same words in every report."""

from __future__ import annotations

from perwiz import words
from perwiz.report.blocks import Facts
from perwiz.report.records import Natural, Record
from perwiz.trace.parts.iterations import find
from perwiz.trace.parts.pipeline import bubbles, pipelines
from perwiz.trace.trace import Trace


class Pipeline(Record):
    """What stages of a training job do between the first micro-batch of a step and the last."""

    pipelines: Natural
    stages: Natural
    """Of the longest."""
    bubble: float
    """Part of the time in which even the stage that computes longest does not."""
    ideal: float
    """The bubble of equal stages with as many micro-batches, as part of the time."""
    uneven: float
    """Part of the time that the other stages compute less."""


def pipeline(trace: Trace) -> Pipeline | None:
    """Return what the pipelines of a training job lose as they fill and drain; None if there are none, or what repeats is no step: in a
    step the first stage passes a micro-batch on.
    """
    found, steps = pipelines(trace), find(trace)
    if found is None or not len(steps):
        return None
    told = bubbles(trace, found, steps)
    if not told.micro_batches.all():
        return None
    parts = {"bubble": told.bubble, "ideal": told.ideal, "uneven": told.uneven}
    return Pipeline(pipelines=len(found.ranks), stages=max(map(len, found.ranks)), **parts)


def facts(found: Pipeline | None) -> Facts:
    """Return in words what pipelines lose as they fill and drain, and as stages are uneven; nothing without any."""
    if found is None:
        return []
    whose = f"stages of {words.several(found.pipelines, 'pipeline')} of {found.stages}"
    idle = f"{words.percent(found.bubble, 1)} of each step as they fill and drain (of equal stages {words.percent(found.ideal, 1)})"
    uneven = f", {words.percent(found.uneven, 1)} as others compute longer" if found.uneven else ""
    return [("pipeline", f"{whose} idle {idle}{uneven}")]
