"""What ranks of a training job, and their devices, wait for: sums of gradients that nobody uses, launches that take time or come late,
communication that no kernel hides, and stages of a pipeline before theirs.
"""

from __future__ import annotations

import numpy as np

from perwiz import words
from perwiz.trace import operations
from perwiz.trace.arrays import Mask
from perwiz.trace.parts.pipeline import pipelines
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.computation import Accumulate
from perwiz.whatif.hypotheses.waits import hidden
from perwiz.whatif.limits.accumulation import GRADIENTS, needless
from perwiz.whatif.ranking.change import Asker, Change, NoneThereError
from perwiz.whatif.ranking.situations import BARRIERS

_LAUNCH, _IDLE = operations.OP["device_launch"], operations.OP["device_idle"]
_TALKS = operations.DIST & operations.OF_PROCESSES
_TALKS[BARRIERS] = False
"""What brings something that is needed later: a barrier is left out, not hidden."""
_SCHEDULES = (
    ("micro-batches 2", "twice as many micro-batches, or two parts of the model on each rank", False),
    ("micro-batches many", "pipelines fill and drain in no time: a schedule without bubbles", True),
)


def accumulation(asker: Asker) -> list[Change]:
    """Return what gains if no gradients were summed over the ranks that are summed again before anybody uses them."""
    found = needless(asker.run.trace)
    if found is None:
        raise NoneThereError("no gradients are summed again before they are used")
    what = f"gradients summed over the ranks once in {words.several(found.passes, 'backward pass')}, not in each"
    return asker.gaining("accumulation", [("program", f"{Accumulate.word} {GRADIENTS}", what)])


def launches(asker: Asker) -> list[Change]:
    """Return what gains if launches took no time; in a trace without launches, if none came late."""
    op = asker.run.trace.calls.op
    launched = op == _LAUNCH
    if launched.any():
        return _gaining(asker, "launches", f"zero-time op:{operations.OPS[_LAUNCH]}", "launches take no time", launched)
    idle = op == _IDLE
    if not (idle.any() and operations.DIST[op].any()):
        raise NoneThereError("nothing is launched")
    return _gaining(asker, "launches", f"zero-time op:{operations.OPS[_IDLE]}", "launches are never late", idle)


def overlap(asker: Asker) -> list[Change]:
    """Return what gains if nothing of their process waited for what streams and threads of their own do among ranks."""
    trace = asker.run.trace
    out = []
    waited = hidden(trace, _TALKS[trace.calls.op])
    made = np.unique(trace.calls.op[trace.links.cause[waited].astype("i8") - 1]).tolist()
    if not made:
        raise NoneThereError("no communication runs beside computation")
    names = [f"op:{operations.OPS[op]}" for op in made]
    for asked in dict.fromkeys([",".join(names), *names]):
        question = f"hide {asked.replace(',op:', ',')}"
        out += _gaining(asker, "overlap", question, f"{asked.replace('op:', '')} hidden behind computation", np.isin(trace.calls.op, made))
    return out


def pipeline(asker: Asker) -> list[Change]:
    """Return what gains with other schedules of pipelines."""
    if pipelines(asker.run.trace) is None:
        raise NoneThereError("no pipeline of stages is told")
    found = [asker.change("pipeline", "program", question, what, at_most) for question, what, at_most in _SCHEDULES]
    return [change for change in found if change.makespan < asker.run.makespan]


def _gaining(asker: Asker, kind: str, question: str, what: str, calls: Mask) -> list[Change]:
    """Return a change with what it is worth, if it gains."""
    makespan = asker.makespan(parse(question))
    at_most, rows = kind == "overlap", np.flatnonzero(calls)
    return [Change(kind, "program", question, what, makespan, rows, at_most=at_most)] if makespan < asker.run.makespan else []
