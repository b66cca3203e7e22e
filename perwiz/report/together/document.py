"""The report of `perwiz predict` by several processes: a JSON document, and the text made from it."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import asdict

from perwiz import words
from perwiz.report import blocks, misfit, spans
from perwiz.report import machine as machines
from perwiz.report.predict.document import Process, Zeroed
from perwiz.report.predict.text import process_lines, zeroed
from perwiz.report.records import (
    Health,
    Machine,
    Makespan,
    Misfit,
    Model,
    Natural,
    Positive,
    ReplayError,
    SharesOf,
    Span,
    TraceDocument,
)
from perwiz.whatif import selectors
from perwiz.whatif.of_parts import Prediction

_WINDOWS = "asked in windows, a run tells neither how sure this is nor what to do instead, and keeps who got which message"
_UNTOLD = "asked by several processes; what to do instead is told by one alone"


class TogetherDocument(TraceDocument, kw_only=True):
    """A prediction by several processes, each of its part of the run. Times are whole nanoseconds. What it has of that of one is equal."""

    command: Literal["predict"] = "predict"
    report: Literal["together"] = "together"
    team: Positive
    """Processes that made it."""
    hypotheses: list[str]
    """As on the command line, without the two dashes."""
    recorded_ns: Makespan
    predicted_ns: Natural
    gain_ns: int
    """Recorded minus predicted."""
    shares_of_ns: SharesOf
    init_moves: bool
    """Whether the change moves the end of MPI_Init, too, by more than a hundredth of what follows: then shares are of the makespan."""
    predicted_span: Span | None
    """Without hypotheses the recorded makespan; null of a run that is asked in windows."""
    replay_error_ns: ReplayError
    calls: Natural
    calls_moved: Natural
    """Calls entered or left at another time than recorded."""
    zeroed: Zeroed
    waiting_ns: Natural
    """Of all processes together, recorded."""
    waiting_predicted_ns: Natural
    model: Model
    machine: Machine
    misfit: Misfit
    """Of a run that is asked in windows its doubts are not looked for."""
    health: Health
    processes: list[Process]


def document(prediction: Prediction, team: int) -> TogetherDocument:
    """Return the prediction of so many processes."""
    trace, recorded, predicted = prediction.trace, prediction.recorded, prediction.predicted
    shares_of, span = blocks.shares_of(trace, recorded.makespan), prediction.span
    moves = span is not None and 100 * selectors.init_moves(trace, predicted) > shares_of
    return TogetherDocument(
        **blocks.head(trace),
        team=team,
        hypotheses=[str(hypothesis) for hypothesis in prediction.hypotheses],
        recorded_ns=recorded.makespan,
        predicted_ns=predicted.makespan,
        gain_ns=recorded.makespan - predicted.makespan,
        shares_of_ns=recorded.makespan if moves else shares_of,
        init_moves=moves,
        predicted_span=spans.span(span) if span else None,
        replay_error_ns=prediction.replay_error,
        calls=prediction.calls,
        calls_moved=prediction.moved,
        zeroed=Zeroed(calls=prediction.zeroed, waiting_calls=prediction.zeroed_waiting, wait_ns=prediction.zeroed_wait),
        waiting_ns=int(prediction.waiting.sum()),
        waiting_predicted_ns=int(prediction.waiting_predicted.sum()),
        model=blocks.model(prediction.machine.model),
        machine=machines.machine(prediction.machine),
        misfit=misfit.misfit(prediction.misfit, prediction.held, prediction.doubts),
        health=blocks.health(prediction.health),
        processes=_processes(prediction),
    )


def _processes(prediction: Prediction) -> list[Process]:
    """Return, per location, when it ends and how long it waits, recorded and predicted."""
    before, after = (timeline.locations.leave.tolist() for timeline in (prediction.recorded, prediction.predicted))
    waits = zip(before, after, prediction.waiting.tolist(), prediction.waiting_predicted.tolist(), strict=True)
    return [
        Process(
            **asdict(blocks.location(prediction.trace, row)),
            recorded_end_ns=end,
            predicted_end_ns=now,
            gain_ns=end - now,
            waiting_ns=waiting,
            waiting_predicted_ns=waiting_now,
        )
        for row, (end, now, waiting, waiting_now) in enumerate(waits)
    ]


def text(told: TogetherDocument) -> str:
    """Return the document as text for a terminal. The answer comes first."""
    subject = "; ".join(map(words.shown, told.hypotheses)) or "no hypothesis"
    change = blocks.gained(told.recorded_ns, told.predicted_ns, told.shares_of_ns)
    waits = f"{words.duration(told.waiting_ns)} recorded, {words.duration(told.waiting_predicted_ns)} predicted"
    span, asked = told.predicted_span, bool(told.hypotheses)
    if told.gain_ns > 0 and not spans.sure(span, told.recorded_ns, told.predicted_ns):
        change += ", not sure to gain"
    change += spans.beside(span, told.recorded_ns, told.predicted_ns) if span and asked else ""
    facts = [
        *blocks.recorded(told.recorded_ns, told.health),
        ("predicted", f"{words.duration(told.predicted_ns)}, {change}"),
        *blocks.share_facts(told.shares_of_ns, told.recorded_ns, told.part),
        *([("", "percentages are of the whole run, as the change moves the end of MPI_Init")] if told.init_moves else []),
        *([("", line) for line in spans.texts(span, told.predicted_ns)] if span and asked else []),
    ]
    facts = [
        *blocks.lacking(told.health),
        *misfit.beside(facts, told, told.shares_of_ns),
        ("", _WINDOWS if span is None else _UNTOLD),
        *blocks.left_out(told.health),
        ("waiting", f"{waits}{words.together([row.thread for row in told.processes])}"),
        *blocks.unrecorded_waits(told.health),
        *([("zeroed", zeroed(told.zeroed))] if told.zeroed.calls else []),
        ("moved", f"{told.calls_moved} of {words.several(told.calls, 'call')}"),
    ]
    model = [*machines.facts(told.machine, told.model, told.misfit.messages), *misfit.facts(told.misfit, told.model, told.replay_error_ns)]
    lines = [*blocks.title(told.trace, subject, told.health), "", *words.facts(facts), "", *process_lines(told.processes, True)]
    return "\n".join([*lines, "", *words.facts(model), "", *blocks.health_lines(told.health)])
