"""Parts of the report of `perwiz predict`: which algorithms take the place of which."""

from __future__ import annotations

from perwiz import words
from perwiz.loggps.algorithms.recorded import GIVEN, NEAREST
from perwiz.loggps.model import Model
from perwiz.report.blocks import Facts
from perwiz.report.records import Natural, Record
from perwiz.trace import operations
from perwiz.trace.trace import Trace
from perwiz.whatif.hypotheses.base import Hypothesis, join
from perwiz.whatif.hypotheses.collectives import Changed, Collective

_LINES = 8


class Algorithm(Record):
    """Collectives of one routine, communicator and size that are made another way."""

    routine: str
    processes: Natural
    bytes: Natural
    """Of the vector, or of all parts where each process has its own."""
    instances: Natural
    recorded: str
    """The algorithm that they are taken to have been made by."""
    says: str
    """Who says so: the libraries that take it by their own rules; nearest: its times alone; given: whoever asks."""
    misfit: float
    """How far the exits it gives are off, as a part of the time behind the last entry."""
    becomes: str
    told: bool
    """Whether its times, or whoever asks, tell the recorded algorithm; else it is a guess, and so is what another gains."""


def algorithms(trace: Trace, hypotheses: tuple[Hypothesis, ...], model: Model, network: Model) -> list[Algorithm]:
    """Return what becomes of the collectives that hypotheses are about."""
    asked = [hypothesis for hypothesis in join(hypotheses) if isinstance(hypothesis, Collective)]
    out, placed = [], trace
    for hypothesis in hypotheses:
        placed = hypothesis.placed(placed)
    for hypothesis in asked:
        plan = hypothesis.plan(trace, model, network, placed=placed)
        kinds = plan.instances.kinds
        out += [
            _algorithm(one, *(int(column[one.group.kind]) for column in (kinds.op, kinds.processes, kinds.size))) for one in plan.changed
        ]
    return out


def _algorithm(one: Changed, op: int, processes: int, size: int) -> Algorithm:
    return Algorithm(
        routine=operations.OPS[op],
        processes=processes,
        bytes=size,
        instances=len(one.group.rows),
        recorded=str(one.was.way),
        says=one.was.says,
        misfit=round(one.was.misfit, 6),
        becomes=str(one.group.way),
        told=one.was.told,
    )


def facts(algorithms: list[Algorithm]) -> Facts:
    """Return a line for each kind of collectives."""
    out = [("" if k else "algorithms", _line(one)) for k, one in enumerate(algorithms[:_LINES])]
    return out + ([("", f"and {len(algorithms) - _LINES} more (--json)")] if len(algorithms) > _LINES else [])


def doubtful(algorithms: list[Algorithm]) -> Facts:
    """Return what of the answer is a guess, as nothing tells how collectives were made; nothing if all is told."""
    guessed = [one for one in algorithms if not one.told]
    changing = [one for one in guessed if one.becomes != one.recorded]
    if not guessed:
        return []
    worst = max(changing or guessed, key=lambda one: one.misfit)
    names = " and ".join(dict.fromkeys(one.routine for one in guessed))
    ask = f"{worst.routine.removeprefix('MPI_').lower()}={worst.becomes} was NAME"
    why = f"nothing tells how {names} was made: the exits that {worst.recorded} gives are {_off(worst)}"
    so = "what another algorithm gains is a guess" if changing else "that it stays is a guess, and that nothing is gained"
    return [("doubtful", f"{why}, so {so}; say how: --collective '{ask}'")]


def _line(one: Algorithm) -> str:
    size = f" of {one.bytes} bytes" if one.bytes else ""
    by = {NEAREST: "nearest to its times", GIVEN: "as given"}.get(one.says, f"as {one.says} would")
    by = by if one.told else f"a guess, {by}"
    becomes = f"{one.recorded} becomes {one.becomes}" if one.becomes != one.recorded else f"{one.recorded} stays"
    return f"{one.routine}{size} of {one.processes} processes, {words.several(one.instances, 'time')}: {becomes} ({by}, {_off(one)})"


def _off(one: Algorithm) -> str:
    return f"{words.percent(one.misfit, 1)} off" if one.misfit < 1 else "more than 100 % off"
