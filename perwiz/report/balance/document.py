"""The report of `perwiz balance`: a JSON document, and the text made from it. The answer comes first."""

from __future__ import annotations

import itertools
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from perwiz import words
from perwiz.report import blocks, misfit, spans
from perwiz.report.blocks import Facts
from perwiz.report.records import (
    Cost,
    Health,
    Machine,
    Makespan,
    Misfit,
    Model,
    Natural,
    Positive,
    Record,
    ReplayError,
    SharesOf,
    Span,
    TraceDocument,
)
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.tables import THREAD
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.hypotheses.computation import BalanceTime
from perwiz.whatif.hypotheses.network import BalanceMessages
from perwiz.whatif.hypotheses.parts import WHOLE
from perwiz.whatif.limits import balance as limits
from perwiz.whatif.limits.balance import Balance, Balanced

_NAME = 20
"""Columns of a region."""


class Predicted(Record):
    """A predicted makespan."""

    predicted_ns: Natural
    gain_ns: int
    """Recorded minus predicted makespan."""


class Region(Record):
    """What balancing all steps of a region gives."""

    region: str
    steps: Positive
    balance_time: Predicted
    balance_messages: Predicted | None
    """Null if no message would change."""
    both: Predicted


class Spread(Record):
    """How a sum differs between the processes that take part in a step."""

    least: Natural
    mean: Cost
    largest: Natural
    sigma: Cost
    """Standard deviation over the processes."""
    imbalance: float | None
    """Largest by mean; null if the mean is 0."""


class Step(Record):
    """What processes do in a step, and what balancing it gives."""

    region: str
    step: Positive
    processes: Positive
    """That take part."""
    computation_ns: Spread
    sent_bytes: Spread
    balance_time: Predicted
    balance_messages: Predicted | None
    """Null if no message would change."""
    sigma_rank: Positive
    """Place among these steps by the standard deviation of computation."""


class Losing(Record):
    """Steps in which evening out computation makes the run longer, by a thousandth or more, the one with the largest loss by name."""

    steps: Positive
    region: str
    step: Positive
    loss_ns: Positive


class BalanceDocument(TraceDocument, kw_only=True):
    """Which parallel step pays most if it were balanced. Times are whole nanoseconds."""

    command: Literal["balance"] = "balance"
    threads: bool
    """Whether processes have several threads: each counts as one that computes."""
    recorded_ns: Makespan
    shares_of_ns: SharesOf
    replay_error_ns: ReplayError
    predicted_ns: Natural
    """Makespan if computation and messages of all steps of all regions were balanced."""
    predicted_span: Span
    gain_ns: int
    """Recorded minus predicted makespan."""
    regions: Annotated[list[Region], Meta(min_length=1)]
    steps: list[Step]
    """Those that gain most first, without the whole program."""
    best_span: Span | None
    """Of what pays more in the first of them, computation or messages balanced; null if there is none."""
    losing: Losing | None
    """Null if no step is."""
    whole_program: list[Step]
    """Steps that hold 95 % of all computation, unless there is no other step: no answer to which step to balance."""
    deadlocks: Natural
    """Messages that balancing makes synchronous so that the program would deadlock; their senders are not held."""
    misfit: Misfit
    model: Model
    machine: Machine
    health: Health


def gains(balance: Balance, region: Balanced) -> I8:
    """Return what each step gains, ns, the better of computation and messages balanced."""
    best = np.where(region.messages >= 0, np.minimum(region.time, region.messages), region.time)
    return np.asarray(balance.run.makespan - best, np.int64)


def document(balance: Balance, steps: int) -> BalanceDocument:
    """Return what balancing gives with at most so many steps, those that gain most first."""
    run, whole = balance.run, balance.whole()
    paying = _steps(balance, ~whole, steps)
    best = _question(paying[0]) if paying else None
    return BalanceDocument(
        **blocks.head(run.trace),
        threads=bool((run.trace.locations.kind == THREAD).any()),
        recorded_ns=run.makespan,
        shares_of_ns=blocks.shares_of(run.trace, run.makespan),
        predicted_ns=balance.everything,
        predicted_span=spans.span(limits.span(balance)),
        gain_ns=run.makespan - balance.everything,
        regions=[_region(run.makespan, region) for region in balance.regions],
        steps=paying,
        best_span=spans.span(limits.span(balance, [best])) if best else None,
        losing=_losing(balance, ~whole),
        whole_program=_steps(balance, whole, len(whole)),
        deadlocks=run.graph.deadlocks,
        **misfit.modelled(run),
    )


def _question(step: Step) -> Hypothesis:
    """Return what pays more in a step, as a hypothesis."""
    _, balanced = _better(step)
    return (BalanceTime if balanced == "computation" else BalanceMessages)(f"{step.region}#{step.step}")


def _better(step: Step) -> tuple[Predicted, str]:
    """Return what pays more in a step, and its word: computation or messages."""
    if step.balance_messages and step.balance_messages.gain_ns > step.balance_time.gain_ns:
        return step.balance_messages, "messages"
    return step.balance_time, "computation"


def _predicted(before: int, makespan: int) -> Predicted:
    return Predicted(predicted_ns=makespan, gain_ns=before - makespan)


def _region(makespan: int, region: Balanced) -> Region:
    """Return what balancing all steps of a region gives."""
    return Region(
        region=region.name,
        steps=len(region.number),
        balance_time=_predicted(makespan, region.all_time),
        balance_messages=_predicted(makespan, region.all_messages) if region.all_messages >= 0 else None,
        both=_predicted(makespan, region.all_both),
    )


def _steps(balance: Balance, chosen: Mask, most: int) -> list[Step]:
    """Return those of the chosen steps, bool per step of all regions, that gain most, ties in order."""
    which = np.repeat(np.arange(len(balance.regions)), [len(region.number) for region in balance.regions])[chosen]
    row = np.concatenate([np.arange(len(region.number)) for region in balance.regions])[chosen]
    gain = np.concatenate([gains(balance, region) for region in balance.regions])[chosen]
    spreads = [(region.spread(region.computation), region.spread(region.sent)) for region in balance.regions]
    sigma = np.concatenate([computation.sigma for computation, _ in spreads])[chosen]
    place = np.empty(len(sigma), "i8")
    place[np.argsort(-sigma, kind="stable")] = np.arange(1, len(sigma) + 1)
    steps = []
    for k in np.argsort(-gain, kind="stable")[:most].tolist():
        region, (computation, sent), step = balance.regions[which[k]], spreads[which[k]], int(row[k])
        messages = int(region.messages[step])
        steps.append(
            Step(
                region=region.name,
                step=int(region.number[step]),
                processes=int(computation.processes[step]),
                computation_ns=_spread(computation, step),
                sent_bytes=_spread(sent, step),
                balance_time=_predicted(balance.run.makespan, int(region.time[step])),
                balance_messages=_predicted(balance.run.makespan, messages) if messages >= 0 else None,
                sigma_rank=int(place[k]),
            )
        )
    return steps


def _losing(balance: Balance, chosen: Mask) -> Losing | None:
    """Return in which of the chosen steps, bool per step of all regions, computation as the mean loses."""
    run, loss = balance.run, (np.concatenate([region.time for region in balance.regions]) - balance.run.makespan) * chosen
    losing = int((1000 * loss >= max(blocks.shares_of(run.trace, run.makespan), 1)).sum())
    if not losing:
        return None
    worst = int(loss.argmax())
    name, number = next(itertools.islice(((one.name, int(step)) for one in balance.regions for step in one.number), worst, None))
    return Losing(losing, name, number, int(loss[worst]))


def _spread(spread: limits.Spread, row: int) -> Spread:
    mean = float(spread.mean[row])
    return Spread(
        least=int(spread.least[row]),
        mean=round(mean, 3),
        largest=int(spread.largest[row]),
        sigma=round(float(spread.sigma[row]), 3),
        imbalance=round(int(spread.largest[row]) / mean, 6) if mean else None,
    )


def text(balance: BalanceDocument) -> str:
    """Return the document as text for a terminal."""
    names = ", ".join(words.shown(region.region, _NAME) for region in balance.regions)
    lines = [*blocks.title(balance.trace, f"balance {names}", balance.health), "", *words.facts(_answer(balance)), ""]
    lines += ["all steps of a region at once", *_region_lines(balance)]
    if balance.steps:
        lines += ["", "steps by predicted gain (sigma: by how much computation differs, # its place by that)", *_step_lines(balance)]
        who = "thread" if balance.threads else "process"
        lines += ["", f"what a {who} computes and sends in these steps", *_spread_lines(balance)]
    return "\n".join([*lines, *misfit.sure(balance, balance.shares_of_ns), "", *misfit.closing(balance, _deadlock(balance.deadlocks))])


def _answer(balance: BalanceDocument) -> Facts:
    """Return what balancing all gives, and which single step gives most."""
    recorded, whole = balance.recorded_ns, balance.shares_of_ns
    many = words.several(sum(region.steps for region in balance.regions), "step")
    facts = [*blocks.recorded(recorded, balance.health), *blocks.share_facts(whole, recorded, balance.part)]
    facts += blocks.left_out(balance.health)
    facts.append(("balanced", f"{_gained(balance, whole)} if computation and messages of all {many} were balanced"))
    facts += spans.facts(balance.predicted_span, balance.predicted_ns)
    facts += blocks.unrecorded_waits(balance.health)
    if balance.steps:
        best, answer = _best(balance.steps[0], whole)
        facts.append(("best step", answer if best.gain_ns > 0 else "none: balancing any single step gains nothing"))
        facts += spans.facts(balance.best_span, best.predicted_ns) if best.gain_ns > 0 else []
        if best.predicted_ns == balance.predicted_ns and balance.best_span != balance.predicted_span:
            facts.append(("", "its messages are as recorded; balanced ones have other sizes, and what these cost is less known"))
    facts += _loses(balance)
    if balance.whole_program:
        facts.append(("whole program", f"{_best(balance.whole_program[0], whole)[1]} if balanced: all at once, no step to work at"))
    return misfit.beside(facts, balance, whole)


def _loses(balance: BalanceDocument) -> Facts:
    """Return which steps not to even out."""
    found = balance.losing
    if found is None:
        return []
    worst, share = _label(found), words.percent(found.loss_ns, balance.shares_of_ns)
    others = f", the most of {found.steps} that lose" if found.steps > 1 else ""
    why = "a process that is late already would get more to do there"
    return [("not to do", f"computation of {worst}: loss {words.duration(found.loss_ns)} ({share}){others}: {why}")]


def _best(step: Step, whole: int) -> tuple[Predicted, str]:
    """Return what pays more in a step, computation or messages balanced, and that in words."""
    best, balanced = _better(step)
    return best, f"{balanced} of {_label(step)}: {_gained(best, whole)}"


def _gained(answer: Predicted | BalanceDocument, whole: int) -> str:
    gain = answer.gain_ns
    share = f" ({words.percent(abs(gain), whole)})" if whole else ""
    return f"{words.duration(answer.predicted_ns)}, {'gain' if gain >= 0 else 'loss'} {words.duration(abs(gain))}{share}"


def _cells(answer: Predicted | None, whole: int) -> tuple[str, str, str]:
    """Return predicted makespan, gain and its share, `-` if there is nothing to balance."""
    if not answer:
        return "-", "-", "-"
    share = words.percent(abs(answer.gain_ns), whole)
    loss = "-" if answer.gain_ns < 0 and share[0] != "<" else ""
    return words.duration(answer.predicted_ns), words.duration(answer.gain_ns), f"{loss}{share}"


def _region_lines(balance: BalanceDocument) -> list[str]:
    rows = []
    for region in balance.regions:
        answers = (_cells(answer, balance.shares_of_ns) for answer in (region.balance_time, region.balance_messages, region.both))
        rows.append([words.shown(region.region, _NAME), str(region.steps), *(cell for cells in answers for cell in cells)])
    return words.table(["region", "steps", "computation", "gain", "", "messages", "gain", "", "both", "gain", ""], rows)


def _step_lines(balance: BalanceDocument) -> list[str]:
    """Return the table of steps: how much computation differs between processes, and what balancing the step gives."""
    rows = []
    for step in balance.steps:
        time = step.computation_ns
        answers = (_cells(answer, balance.shares_of_ns) for answer in (step.balance_time, step.balance_messages))
        differs = (words.duration(round(time.sigma)), str(step.sigma_rank), _ratio(time.imbalance))
        rows.append([_label(step), *differs, *(cell for cells in answers for cell in cells)])
    head = ["step", "sigma", "#", "max/mean", "computation", "gain", "", "messages", "gain", ""]
    return words.table(head, rows, spare=(9, 8, 7, 3, 2))


def _spread_lines(balance: BalanceDocument) -> list[str]:
    """Return the table of what the processes or threads compute and send in these steps."""
    rows = []
    for step in balance.steps:
        time, sent = step.computation_ns, step.sent_bytes
        computed = (words.duration(round(ns)) for ns in (time.least, time.mean, time.largest))
        sends = (words.size(round(size)) for size in (sent.least, sent.mean, sent.largest, sent.sigma))
        rows.append([_label(step), str(step.processes), *computed, *sends, _ratio(sent.imbalance)])
    who = "threads" if balance.threads else "ranks"
    return words.table(["step", who, "least", "mean", "largest", "sent: least", "mean", "largest", "sigma", "max/mean"], rows)


def _label(step: Step | Losing) -> str:
    return step.region if step.region == WHOLE else f"{words.shown(step.region, _NAME)}#{step.step}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _deadlock(messages: int) -> Facts:
    return [("deadlock", f"messages that balancing makes synchronous so that the program would stop: {messages}")] if messages else []
