"""The change that a question asks for, as the list of changes has it: what is said of one there is said of it here."""

from __future__ import annotations

import numpy as np

from perwiz.errors import UsageError
from perwiz.formats.devices import COPIES
from perwiz.formats.kineto.names import GRADIENT_READY, LOADING, UNUSED
from perwiz.trace import operations
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.hypotheses.network import EagerLimit, MessageProgress
from perwiz.whatif.hypotheses.order import Advance
from perwiz.whatif.hypotheses.parts import BEHIND, STAGES, STRETCHES
from perwiz.whatif.hypotheses.waits import ZeroTime, ZeroTransfer
from perwiz.whatif.ranking.change import Asker, Change
from perwiz.whatif.ranking.computation import computing
from perwiz.whatif.run import Run

_KIND = {
    "zero-wait": "wait",
    "zero-poll": "wait",
    "eager": "protocol",
    "progress": "protocol",
    "usual": "pauses",
    "accumulate": "accumulation",
    "balance-time": "balance",
    "balance-threads": "threads",
    "parallel": "threads",
    "overlap": "threads",
    "speed": "slowest",
    "typical": "slowest",
    "distribute": "serving",
    "advance": "order",
    "move": "order",
    "collective": "algorithm",
    "placement": "placement",
    "hide": "overlap",
    "network": "network",
}
"""What is asked -> kind of change, where that alone tells."""
_BY = {STRETCHES: "stretch", STAGES: "program"}
"""What is balanced -> what that is about, of other words than regions."""
_OF_CALLS = ("zero-wait", "zero-poll", "hide")
_OF_DEVICES = tuple(operations.OP[name] for name in ("device_launch", "device_idle"))


def change_of(run: Run, hypothesis: Hypothesis) -> Change | None:
    """Return the change of a run that a hypothesis, which fits it, asks for; what it is worth and its words are left out.

    None if the list has none like it: costs that are scaled, processes that compute no longer than others made faster.
    """
    word, argument, trace = hypothesis.word, hypothesis.argument, run.trace
    kind, by, calls = _KIND.get(word), "call", None
    if word in _OF_CALLS:
        calls = np.flatnonzero(selectors.calls(trace, argument))
    elif isinstance(hypothesis, Advance):
        calls = hypothesis.asked(trace).calls
    elif isinstance(hypothesis, ZeroTime | ZeroTransfer):
        calls = np.flatnonzero(selectors.calls(trace, argument))
        kind = _of_time(trace.calls.op[calls])
    elif word == "scale":
        kind, by = _scaled(trace, argument)
    elif kind == "slowest":
        by = _slow(run, hypothesis)
        kind = kind if by else None
    elif kind == "balance":
        region = selectors.numbered(argument, trace.names)[0]
        step = "step" if region != argument and region in trace.names else "region"
        by = _BY.get(region) or ("site" if region.startswith(BEHIND) and region not in trace.names else step)
    elif isinstance(hypothesis, EagerLimit | MessageProgress):
        by = "setting"
    return Change(kind, by, str(hypothesis), "", 0, calls) if kind else None


def _of_time(op: np.ndarray) -> str | None:
    """Return the kind of change in which calls of these routines take no time; None if they are of several, or of none."""
    if not len(op):
        return None
    if np.isin(op, _OF_DEVICES).all():
        return "launches"
    if (operations.COLLECTIVE & operations.OF_PROCESSES)[op].all():
        return "collective"
    return "messages" if operations.POINT_TO_POINT[op].all() else None


def _scaled(trace: Trace, argument: str) -> tuple[str | None, str]:
    """Return the kind of change in which computation in a region is scaled, None if it is none of the list, and what it is about."""
    which, _, factor = argument.rpartition("=")
    place = selectors.placed(which, trace.names)[1]
    if place and float(factor) < 1 and len(_processes(trace, place)) == 1:
        return "slowest", "rank"
    return "threads" if which in (*COPIES, GRADIENT_READY, UNUSED) or which.startswith(LOADING) else None, "call"


def _slow(run: Run, hypothesis: Hypothesis) -> str:
    """Return what is made faster, a rank or a class of them; empty for all, and for those that compute no longer than the mean."""
    chosen = _processes(run.trace, hypothesis.argument.rpartition("=")[0] if hypothesis.word == "speed" else hypothesis.argument)
    ranks, computed = computing(Asker(run))
    own = np.isin(ranks, chosen)
    if not own.any() or own.all() or (hypothesis.word == "speed" and computed[own].mean() <= computed.mean()):
        return ""
    return "rank" if own.sum() == 1 else "class"


def _processes(trace: Trace, text: str) -> np.ndarray:
    """Return the processes that a selector names; none if it names something else."""
    try:
        return np.unique(trace.locations.process[selectors.processors(trace, text)])
    except UsageError:
        return np.zeros(0, "i4")
