"""Ten small programs with one thing wrong each, and the remedy: what docs/remedies shows, measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from runs import Lab, Row, Runs, calls_of, row

from perwiz.trace import operations
from perwiz.trace.trace import Trace


@dataclasses.dataclass(frozen=True)
class Remedy:
    """A program of the folder remedies, and what is asked of the run before."""

    program: str
    ranks: int
    kind: str
    """made: the hypothesis is the change that is made; promise: it is the most that the change may gain."""
    question: Callable[[Trace], str]
    told: str
    """The question in words, where it lists calls."""


def _plain(text: str) -> Callable[[Trace], str]:
    return lambda trace: text


def _late_first(trace: Trace) -> str:
    """Return the question: rank 0 takes the results of the highest rank first."""
    own = [call for call in calls_of(trace, 0) if trace.calls.op[call] == operations.OP["MPI_Recv"]]
    steps = zip(own[::3], own[1::3], own[2::3], strict=True)
    return "move " + ", ".join(f"e{last} before e{first}, e{second} before e{first}" for first, second, last in steps)


def _three_of_four(trace: Trace) -> str:
    """Return the question: three of four reductions are left out."""
    left_out = []
    for rank in range(len(trace.locations)):
        own = [call for call in calls_of(trace, rank) if trace.calls.op[call] == operations.OP["MPI_Allreduce"]]
        left_out += [f"e{call}" for number, call in enumerate(own) if number % 4 != 3]
    return "zero-time " + ",".join(left_out)


REMEDIES = (
    Remedy("late_sender", 2, "promise", _plain("zero-wait op:MPI_Recv"), ""),
    Remedy("wrong_order", 4, "made", _late_first, "move the receive of the last rank first"),
    Remedy("late_receiver", 2, "promise", _plain("zero-wait op:MPI_Send"), ""),
    Remedy("wait_at_nxn", 4, "made", _three_of_four, "zero-time of three MPI_Allreduce in four"),
    Remedy("early_reduce", 4, "promise", _plain("zero-wait op:MPI_Reduce"), ""),
    Remedy("imbalance", 4, "made", _plain("balance-time all"), ""),
    Remedy("serialisation", 4, "promise", _plain("zero-wait op:MPI_Recv"), ""),
    Remedy("transfer", 2, "promise", _plain("zero-time op:MPI_Send,op:MPI_Recv"), ""),
    Remedy("eager_limit", 2, "made", _plain("eager 256KiB"), ""),
    Remedy("progress", 2, "promise", _plain("zero-wait op:MPI_Send"), ""),
)


def measured(lab: Lab, remedy: Remedy) -> tuple[Runs, Row]:
    """Return the runs of a program as it is, and the question about it beside what the remedy brought."""
    before, after = lab.runs(f"remedies/{remedy.program}", remedy.ranks, [], ["after"])
    return before, row(remedy.kind, before, after, [remedy.question(before.middle)], remedy.told)
