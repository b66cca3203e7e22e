"""The registration study (PerWiz paper, 5.1, Table 2): one point is moved on one process, recorded again, and so on.

Which receive is to wait no longer is said in one of three ways, each time from the last recording: by the domino path of zero waits, by
the domino path of moves that can be made, or by the longest wait. `advance` says where the point that it waits for has to stand.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from runs import Expected, Lab, Row, Runs, asked, expected, region_of

from perwiz.trace import operations
from perwiz.trace.trace import Trace
from perwiz.whatif.waits import Waits
from perwiz.whatif.worth.domino import domino

RANKS = 16
WAYS = {"zero-wait": "domino path (zero-wait)", "advance": "domino path (advance)", "longest": "longest wait"}


@dataclasses.dataclass(frozen=True)
class Change:
    """A point that a process takes before another one."""

    receive: int
    """Call that shall not wait."""
    wait: int
    """ns it waits."""
    words: tuple[str, ...]
    """Arguments of the program."""
    promised: Expected
    """If the receive did not wait and all else stayed."""
    predicted: Expected
    """If the point is moved."""


@dataclasses.dataclass(frozen=True)
class Step:
    """One line of the table."""

    change: Change
    promise: Row
    made: Row
    waiting: int
    """ns all receives wait in the run measured after."""

    def document(self) -> dict[str, object]:
        """Return all figures."""
        change = {"receive": f"e{self.change.receive}", "wait_ns": self.change.wait, "arguments": self.change.words}
        return {**change, "promise": self.promise.document(), "made": self.made.document(), "waiting_ns": self.waiting}


def receives(trace: Trace, waits: Waits) -> list[int]:
    """Return the receives of points that wait, longest wait first."""
    inside = np.array([region_of(trace, call) == "point" for call in range(len(trace.calls))])
    rows = np.flatnonzero(inside & (trace.calls.op == operations.OP["MPI_Recv"]) & (waits.time > 0))
    return rows[np.argsort(-waits.time[rows], kind="stable")].tolist()


def change(trace: Trace, receive: int) -> Change | None:
    """Return what makes a receive wait no longer, or as little as it can be; None if no order does."""
    prediction = asked(trace, [f"advance e{receive} by point"])
    moves = [] if prediction.order is None else [move for move in prediction.order.moves if move.end >= move.before]
    if not moves:
        return None
    point = trace.calls.tag  # messages are tagged with the number of their point
    words = [f"{trace.locations.process[move.location]}:{point[move.first]}:{point[move.before]}" for move in moves]
    zeroed = asked(trace, [f"zero-wait e{receive}"])
    wait = int(prediction.waits_before.time[receive])
    return Change(receive, wait, tuple(words), expected(zeroed), expected(prediction))


def chosen(trace: Trace, way: str) -> Change | None:
    """Return the next change, as one of the WAYS has it."""
    answer = domino(trace)
    waiting = receives(trace, answer.run.waits)
    ranked = waiting if way == "longest" else [call for call in answer.ranked(len(trace.calls)).tolist() if call in waiting]
    found = (one for call in ranked if (one := change(trace, call)))
    return min(found, key=lambda one: (one.predicted.time, one.wait), default=None) if way == "advance" else next(found, None)


def steps(lab: Lab, way: str, most: int) -> tuple[Runs, list[Step]]:
    """Return the runs of the program as it is, and what became of it, one change after the other."""
    words: list[str] = []
    out: list[Step] = []
    first = before = lab.runs("registration", RANKS, words)[0]
    for _ in range(most):
        found = chosen(before.middle, way)
        if found is None:
            break
        words.extend(found.words)
        before = lab.runs("registration", RANKS, words)[0]
        promise = Row(f"zero-wait e{found.receive}", "promise", found.promised, before.time, before.noise)
        made = Row(f"advance e{found.receive} by point", "made", found.predicted, before.time, before.noise)
        out.append(Step(found, promise, made, waiting(before.middle)))
    return first, out


def waiting(trace: Trace) -> int:
    """Return how long all receives of points wait, ns."""
    waits = asked(trace, []).waits_before
    return int(waits.time[receives(trace, waits)].sum())
