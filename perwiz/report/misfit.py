"""How far the replay of the unchanged run is off, and how the recording contradicts the model: the same words in every report."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol

from perwiz import words
from perwiz.loggps import weigh
from perwiz.loggps.fit.eager import Held
from perwiz.loggps.weigh import Weighted
from perwiz.report import blocks, records
from perwiz.report import machine as machines
from perwiz.report.blocks import Facts
from perwiz.report.records import Health, Misfit
from perwiz.trace.arrays import I8
from perwiz.whatif.run import Run
from perwiz.whatif.sure.doubts import SHARE, Doubt, Doubts, doubts_of

SURE = "how sure"
"""The section that holds the reasons for a doubt."""
_TOLD = 1000
"""Columns of what a run tells of itself."""


class Modelled(Protocol):
    """A document whose times come from a model."""

    model: records.Model
    machine: records.Machine
    misfit: Misfit
    replay_error_ns: int
    health: Health


def modelled(run: Run, doubts: Doubts | None = None, answer: tuple[Weighted, I8] | None = None) -> dict[str, Any]:
    """Return what a document tells of a run and its model, the fields of Modelled; `doubts` are those of the run, if they are known.

    Doubts are told of an `answer` (a weighted graph and what `sweep` makes of it), too, if there is one.
    """
    return {
        "model": blocks.model(run.weighted.model),
        "machine": machines.machine(run.machine),
        "misfit": of_run(run, doubts, answer),
        "replay_error_ns": run.replay_error,
        "health": blocks.health(run.health()),
    }


def of_run(run: Run, doubts: Doubts | None = None, answer: tuple[Weighted, I8] | None = None) -> Misfit:
    """Return the misfit of a run; arguments as of `modelled`."""
    known = doubts or doubts_of(run)
    return misfit(run.weighted.misfit, known.held, known.told(answer))


def misfit(lowered: weigh.Misfit, held: Held | None, doubts: tuple[Doubt, ...]) -> Misfit:
    """Return how often the recorded times contradict the model."""
    return Misfit(**dataclasses.asdict(lowered), held=held, doubts=list(doubts))


def beside(told: Facts, document: Modelled, whole: int, more: Sequence[str] = ()) -> Facts:
    """Return the facts of an answer with its doubts in short beside it: behind them, or before them if most messages, or most of the
    critical path, contradict the model; ahead of all that the run should be recorded again, if its processes shared processors.

    `whole` is what shares are of, ns; `more` is what else puts the answer in doubt.
    """
    doubt = _heaviest(document.misfit, whole)
    said, again = doubtful(document, whole, more), record_again(document.health)
    return [*again, *said, *told] if doubt and _contradicted(doubt, whole) else [*again, *told, *said]


def record_again(health: Health, before: str = "change anything") -> Facts:
    """Return that a run whose processes shared processors should be recorded again `before` you do something; nothing if none did."""
    if not health.shared:
        return []
    told = f"waits and computation include waiting for a processor; record with a core for each before you {before}"
    return [("record again", f"{words.shown(health.shared, _TOLD)}: {told}")]


def doubtful(document: Modelled, whole: int, more: Sequence[str] = ()) -> Facts:
    """Return in short what puts an answer in doubt, and where the reasons stand; nothing if nothing does, or only that messages took long
    among processes that shared processors. Arguments as of `beside`.
    """
    doubt, told = _heaviest(document.misfit, whole), list[str]()
    if doubt is not None and not (doubt.what == "slow" and document.health.shared):
        path = words.percent(doubt.time, _whole(doubt, whole))
        told.append(f"{_DOUBTS[doubt.what].format(f'{doubt.messages} of {doubt.of}')} ({path} of {_which(doubt)})")
    told += more
    return [("doubtful", f"{'; '.join(told)}: see {SURE}")] if told else []


def sure(document: Modelled, whole: int, told: Facts | None = None) -> list[str]:
    """Return the section on how sure an answer is, an empty line before it: what is `told`, and the doubts; nothing without both."""
    facts = [*(told or []), *_reasons(document, whole)]
    return ["", SURE, *words.facts(facts)] if facts else []


def doubts(document: Modelled, whole: int) -> Facts:
    """Return that the run should be recorded again, and the doubts with the reasons for them. Arguments as of `beside`."""
    return [*record_again(document.health), *_reasons(document, whole)]


def _reasons(document: Modelled, whole: int) -> Facts:
    """Return the contradiction that weighs most."""
    return first(document.misfit, document.machine, whole, bool(document.health.shared))


def first(misfit: Misfit, machine: records.Machine, whole: int, shared: bool) -> Facts:
    """Return the contradiction that weighs most, if it is more than SHARE of the whole, ns, and what to do about it.

    If processes `shared` processors that may be why messages took long.
    """
    doubt = _heaviest(misfit, whole)
    if doubt is None:
        return []
    why = _DOUBTS[doubt.what].format(f"{doubt.messages} of {doubt.of}")
    if doubt.what == "slow":
        why += f", and {'processes shared processors' if shared else 'nothing recorded says why'}"
    contradicted = _contradicted(doubt, whole)
    most = f"most {contradicted} the model, so take the answer with care: " if contradicted else ""
    share = words.percent(doubt.time, _whole(doubt, whole))
    path = f"{words.duration(doubt.time)} of {_which(doubt)} ({share})"
    return [("doubtful", f"{most}{path}: {why}; {_remedy(doubt, machine, shared)}")]


def _heaviest(misfit: Misfit, whole: int) -> Doubt | None:
    """Return the contradiction that weighs most; None if none weighs enough."""
    doubt = max(misfit.doubts, key=lambda doubt: doubt.share, default=None)
    return doubt if doubt and part(doubt, whole) > SHARE else None


def part(doubt: Doubt, whole: int) -> float:
    """Return which part of the critical path the model gets wrong, `whole` that what shares are of, ns."""
    return doubt.time / _whole(doubt, whole)


def _mostly(doubt: Doubt) -> bool:
    """Return whether most messages contradict the model, not only of the few that could in this way."""
    return doubt.what in ("fast", "slow") and 2 * doubt.messages > doubt.of


def _whole(doubt: Doubt, whole: int) -> int:
    """Return what its share is of, ns, given that of the recorded run: of the run that it is on, that without MPI_Init, too, if so.

    Where a change makes MPI_Init shorter, what is left of that may be less than the time: then it is the whole run.
    """
    left = whole + doubt.makespan - doubt.recorded
    return max(left if left >= doubt.time else doubt.makespan, 1)


def _which(doubt: Doubt) -> str:
    """Return of which run a share is: that of the answer, or the recorded one, where nothing is asked."""
    return "the recorded run" if doubt.makespan == doubt.recorded else "the predicted run"


def _contradicted(doubt: Doubt, whole: int) -> str:
    """Return what of most of the run contradicts the model: messages, or the critical path."""
    if _mostly(doubt):
        return "messages contradict"
    return "of the critical path contradicts" if 2 * doubt.time > _whole(doubt, whole) else ""


_DOUBTS = {
    "fast": "{} messages came sooner than the model says",
    "slow": "{} messages took more than twice as long as the model says",
    "held": "{} senders of messages that are eager by the model stood still until their receiver came",
    "free": "{} messages that are synchronous by the model did not hold their sender",
}
"""What a doubt says, of how many messages."""


def _remedy(doubt: Doubt, machine: records.Machine, shared: bool) -> str:
    if machine.given:
        return "without --model it is fitted to this run"
    if doubt.what == "slow":
        keeps = "predictions keep that as recorded"
        return keeps if shared else f"{keeps}; if processes shared cores, record with one each"
    return f"see --model {doubt.change}" if doubt.change else "measure with perwiz calibrate"


def closing(document: Modelled, more: Facts | None = None, short: bool = False) -> list[str]:
    """Return the end of a report in words: the model, if not in `short` what the trace tells of it, replay and misfit, `more`, and the
    health of the trace.
    """
    told = machines.facts(document.machine, document.model, document.misfit.messages)
    model = (told[:1] if short else told) + facts(document.misfit, document.model, document.replay_error_ns)
    return [*words.facts(model + (more or [])), "", *blocks.health_lines(document.health, shared=False)]


def facts(misfit: Misfit, model: records.Model, replay_error: int, engine: str = "") -> Facts:
    """Return in words how far recording and model contradict each other."""
    gap = model.parameters.gap != "none"
    replayed = f"is at most {words.duration(replay_error)} off the recorded one" if replay_error else "is exactly the recorded one"
    lines = []
    if misfit.messages:
        slow = next((f"; more than twice as slow: {doubt.messages}" for doubt in misfit.doubts if doubt.what == "slow"), "")
        lines.append(f"messages that came faster than the model says: {misfit.messages_lowered} of {misfit.messages}{slow}")
    if misfit.requests_lowered:
        lines.append(f"synchronous sends shorter than their own request: {misfit.requests_lowered} of {misfit.requests}")
    if misfit.gaps_lowered:
        sooner = f"sends that followed the one before sooner than the model says: {misfit.gaps_lowered} of {misfit.gaps}"
        lines.append(f"{sooner}{'' if gap else '; so its gap is not applied'}")
    if misfit.eager_after_all:
        lines.append(f"messages that hold their sender by the model, and did not: {misfit.eager_after_all}")
    if misfit.violations:
        lines.append(f"effects recorded before their cause, which stay as far before it: {misfit.violations}")
    if misfit.inner:
        lines.append(f"waits inside rooted collectives, taken to be for the last that came before they ended: {misfit.inner}")
    if misfit.held:
        lines.append(_held(misfit.held))
    ran = f"the unchanged run {replayed}{f' (engine {engine})' if engine not in ('', 'sweep') else ''}"
    return [("replay", ran), *(("" if k else "misfit", text) for k, text in enumerate(lines))]


def _held(sends: Held) -> str:
    late = f"{sends.messages} of {sends.late} sends of {sends.bytes} bytes and more, whose receiver came late,"
    return f"{late} were held until it came: S_bytes is too large for this machine; see perwiz calibrate --from TRACE"
