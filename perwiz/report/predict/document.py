"""The report of `perwiz predict`: a JSON document, and the text made from it. The answer comes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from msgspec.structs import asdict

from perwiz import words
from perwiz.loggps import model as loggps
from perwiz.loggps.instances import likely
from perwiz.loggps.semantics import PROFILES
from perwiz.report import blocks, misfit, spans
from perwiz.report import machine as machines
from perwiz.report.blocks import Facts
from perwiz.report.domino.records import negligible
from perwiz.report.predict import algorithms, order, teams
from perwiz.report.predict.algorithms import Algorithm
from perwiz.report.predict.order import Matching, Moved
from perwiz.report.predict.teams import Team
from perwiz.report.records import (
    ComparedWait,
    Health,
    Location,
    Machine,
    Makespan,
    Misfit,
    Model,
    Natural,
    Option,
    Record,
    ReplayError,
    Share,
    SharesOf,
    Span,
    TraceDocument,
    choice,
)
from perwiz.trace.arrays import I8
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif.hypotheses.network import EagerLimit, Network
from perwiz.whatif.hypotheses.threads import Threads
from perwiz.whatif.predict import Prediction
from perwiz.whatif.run import ENGINES
from perwiz.whatif.semantics import Told
from perwiz.whatif.sure.logged import LEAST, Pair, widened
from perwiz.whatif.sure.recordings import LEAST as RECORDINGS
from perwiz.whatif.sure.recordings import Recordings
from perwiz.whatif.timed import TOLD, shared_links
from perwiz.whatif.waits import Waits

_PROCESSES = 16
"""Rows of the longest table of processes."""
_WHOLE = 4000
_ALGORITHMS = 8
"""Lines of likely algorithms."""


class Zeroed(Record):
    """Calls of zero-wait, those of them that waited, and how long together."""

    calls: Natural
    waiting_calls: Natural
    wait_ns: Natural


class Fix(Record):
    """What somebody can do about waits."""

    change: Option
    what: str
    makespan_ns: Natural
    gain_ns: int
    receives_passed: Natural
    """Receives ahead of which calls would run: whether they need what those bring the trace does not tell."""


class Instead(Location):
    """Whom the zeroed calls wait for longest, and what somebody can do that gains."""

    waited_ns: Natural
    """How long they wait for it."""
    changes: list[Fix]
    """Largest gain first; empty if nothing that was tried gains."""


class Process(Location):
    """When a process or thread ends and how long it waits, recorded and predicted."""

    recorded_end_ns: Natural
    predicted_end_ns: Natural
    gain_ns: int
    waiting_ns: Natural
    waiting_predicted_ns: Natural


class Widened(Record):
    """By how much a log of earlier predictions makes the range wider."""

    pairs: Natural
    inside: Natural
    """Of them, measured inside of what was predicted."""
    part: Share
    """Of the predicted time after MPI_Init, on both sides; 0 if there are fewer than 20 pairs, or they ask for no more."""


class Recorded(Record):
    """What the hypotheses gain in several recordings of the program."""

    gains_ns: list[int]
    """That of this one first."""
    between: Share | None
    """Part of their variance that lies between recordings; null if fewer than 3, or nothing else tells how much it varies."""


class Interfaces(Record):
    """Messages between nodes, and how they share the interfaces of these."""

    pairs: Natural
    """Neighbours in the queues of interfaces, predicted; 0 if the model does not say how many interfaces a node has."""
    swapped: Natural
    """Of them, those of which the one behind comes first: they would change places, and keep the order in which they are."""
    left_out: Natural
    """Places in queues that would close a cycle: there nobody waits for who is ahead."""
    between: Natural
    """Messages between nodes, recorded."""
    between_now: Natural
    """Predicted."""
    bytes: Natural
    """That they have."""
    bytes_now: Natural


class Semantics(Record):
    """What another simulator says under the same letters of the model: it reads them in another way."""

    profile: Annotated[str, choice(*PROFILES)]
    recorded_ns: Natural
    predicted_ns: Natural
    stuck: Natural
    """Operations that it cannot do, of either run: others that they need are never done."""


class PredictDocument(TraceDocument, kw_only=True):
    """A prediction. Times are whole nanoseconds."""

    command: Literal["predict"] = "predict"
    hypotheses: list[str]
    """As on the command line, without the two dashes."""
    engine: Annotated[str, choice(*ENGINES)]
    recorded_ns: Makespan
    predicted_ns: Natural
    gain_ns: int
    """Recorded minus predicted."""
    shares_of_ns: SharesOf
    predicted_span: Span
    """Without hypotheses the recorded makespan."""
    widened: Widened | None
    """Null without a log."""
    recordings: Recorded | None
    """Null if none were named."""
    semantics: Semantics | None
    """Null unless another semantics than that of perwiz is asked for."""
    replay_error_ns: ReplayError
    calls: Natural
    calls_moved: Natural
    """Calls entered or left at another time than recorded."""
    zeroed: Zeroed
    instead: Instead | None
    """Beside zero wait, which is what there is to gain at best; null unless that alone is asked, of calls that wait for a known one."""
    order: list[Moved]
    """In the order they are moved."""
    matching: Matching
    waiting_ns: Natural
    """Of all processes together, recorded."""
    waiting_predicted_ns: Natural
    model: Model
    machine: Machine
    networks: list[Model]
    """The other networks asked about, in the order they are applied."""
    teams: list[Team]
    """One per hypothesis on the number of threads."""
    algorithms: list[Algorithm]
    """One per kind of collectives that are made another way."""
    interfaces: Interfaces
    links_shared: Share
    """Part of the time that messages pass links in which others pass the same before them, predicted; they do not slow them down here."""
    collectives: list[str]
    """With another network: the likely algorithms, which tell how collectives change."""
    deadlocks: Natural
    """Messages that the hypotheses make synchronous so that the program would deadlock; their senders are not held."""
    misfit: Misfit
    health: Health
    processes: list[Process]
    waits_before: list[ComparedWait]
    """The longest of the recorded run."""
    waits_after: list[ComparedWait]
    """The longest of the predicted run."""


def document(
    prediction: Prediction, waits: int, log: Sequence[Pair] | None = None, several: Recordings | None = None, other: Told | None = None
) -> PredictDocument:
    """Return the prediction, with at most `waits` waits before and after, what it gains in several recordings, and what another semantics
    says; its range is as wide as these recordings and a log of others ask for.
    """
    trace, recorded, predicted = prediction.trace, prediction.recorded, prediction.predicted
    before, after = prediction.waits_before, prediction.waits_after
    shares_of, span, wider = blocks.shares_of(trace, recorded.makespan), several.span if several else prediction.span, None
    if log is not None:
        span, wider = widened(span, log, shares_of - prediction.gain)
    zeroed, networks = before.time[prediction.zeroed], _networks(prediction)
    moved = (recorded.calls.enter != predicted.calls.enter) | (recorded.calls.leave != predicted.calls.leave)
    return PredictDocument(
        **blocks.head(trace),
        hypotheses=[str(hypothesis) for hypothesis in prediction.hypotheses],
        engine=prediction.engine,
        recorded_ns=recorded.makespan,
        predicted_ns=predicted.makespan,
        gain_ns=prediction.gain,
        shares_of_ns=shares_of,
        predicted_span=spans.span(span),
        recordings=_recordings(several) if several else None,
        widened=Widened(wider.pairs, wider.inside, round(wider.part, 6)) if wider else None,
        semantics=_semantics(other) if other else None,
        replay_error_ns=prediction.replay_error,
        calls=len(trace.calls),
        calls_moved=int(moved.sum()),
        zeroed=Zeroed(calls=len(zeroed), waiting_calls=int((zeroed > 0).sum()), wait_ns=int(zeroed.sum())),
        instead=_instead(prediction),
        order=[order.moved(trace, move) for move in prediction.order.moves] if prediction.order else [],
        matching=order.choices(trace, prediction.matching, prediction.rematched),
        waiting_ns=int(before.time.sum()),
        waiting_predicted_ns=int(after.time.sum()),
        model=blocks.model(prediction.model),
        machine=machines.machine(prediction.machine),
        networks=[blocks.model(network) for network in networks],
        teams=[teams.team(trace, hypothesis) for hypothesis in prediction.hypotheses if isinstance(hypothesis, Threads)],
        algorithms=algorithms.algorithms(trace, prediction.hypotheses, prediction.model, networks[-1] if networks else prediction.model),
        interfaces=Interfaces(**vars(prediction.sharing)),
        links_shared=round(shared_links(trace, networks[-1] if networks else prediction.model, predicted.calls.enter), 6),
        collectives=likely(trace, prediction.model) if networks else [],
        deadlocks=prediction.deadlocks,
        misfit=misfit.misfit(prediction.misfit, prediction.held, prediction.doubts),
        health=blocks.health(prediction.health),
        processes=_processes(prediction),
        waits_before=blocks.compared(trace, before, after, waits),
        waits_after=blocks.compared(trace, after, before, waits),
    )


def _semantics(told: Told) -> Semantics:
    return Semantics(told.profile, told.recorded.makespan, told.predicted.makespan, max(told.recorded.stuck, told.predicted.stuck))


def _instead(prediction: Prediction) -> Instead | None:
    trace, found = prediction.trace, prediction.instead
    if found is None or found.location == NONE:
        return None
    now = trace.timeline.makespan
    changes = [
        Fix(blocks.option(change.question), change.what, change.makespan, now - change.makespan, change.receives_passed)
        for change in found.changes
    ]
    return Instead(**asdict(blocks.location(trace, found.location)), waited_ns=found.waited, changes=changes)


def _recordings(several: Recordings) -> Recorded:
    return Recorded(list(several.gains), None if several.between is None else round(several.between, 6))


def _networks(prediction: Prediction) -> list[loggps.Model]:
    """Return the models of the other networks asked about; changes start from the one before."""
    models = [prediction.model]
    for hypothesis in sorted(prediction.hypotheses, key=lambda h: h.stage):
        if isinstance(hypothesis, Network):
            models.append(hypothesis.model(models[-1]))
    return models[1:]


def _processes(prediction: Prediction) -> list[Process]:
    """Return, per location, when it ends and how long it waits, recorded and predicted."""
    trace = prediction.trace
    before, after = prediction.recorded.locations.leave, prediction.predicted.locations.leave
    waiting, predicted = (_by_location(trace, waits) for waits in (prediction.waits_before, prediction.waits_after))
    return [
        Process(
            **asdict(blocks.location(trace, k)),
            recorded_end_ns=int(before[k]),
            predicted_end_ns=int(after[k]),
            gain_ns=int(before[k] - after[k]),
            waiting_ns=int(waiting[k]),
            waiting_predicted_ns=int(predicted[k]),
        )
        for k in range(len(trace.locations))
    ]


def _by_location(trace: Trace, waits: Waits) -> I8:
    return np.diff(np.concatenate(([0], np.cumsum(waits.time)))[trace.first_calls])


def text(predict: PredictDocument) -> str:
    """Return the document as text for a terminal."""
    asked = bool(predict.hypotheses)
    subject = "; ".join(map(words.shown, predict.hypotheses)) or "no hypothesis"
    lines = [*blocks.title(predict.trace, subject, predict.health), "", *words.facts(_answer(predict)), "", *_process_lines(predict)]
    if predict.waits_before:
        head = ("recorded", "predicted") if asked else ("recorded",)
        lines += ["", "longest waits in the recorded run", *blocks.wait_lines(predict.waits_before, *head)]
    if asked and predict.waits_after:
        lines += ["", "longest waits in the predicted run", *blocks.wait_lines(predict.waits_after, "predicted", "recorded")]
    facts = machines.facts(predict.machine, predict.model)
    facts += [fact for network in predict.networks for fact in blocks.model_facts(network, "network")]
    facts += [("" if k else "likely", line) for k, line in enumerate(predict.collectives[:_ALGORITHMS])]
    if len(predict.collectives) > _ALGORITHMS:
        facts.append(("", f"and {len(predict.collectives) - _ALGORITHMS} more (--json)"))
    facts += misfit.facts(predict.misfit, predict.model, predict.replay_error_ns, predict.engine)
    return "\n".join([*lines, "", *words.facts(facts), "", *blocks.health_lines(predict.health)])


def _said(told: Semantics, asked: bool) -> Facts:
    """Return what another semantics says."""
    whole = words.duration(told.recorded_ns)
    text = f"{whole} becomes {words.duration(told.predicted_ns)}" if asked else whole
    stuck = f"; {words.several(told.stuck, 'operation')} of the schedule can never be done" if told.stuck else ""
    return [(told.profile, f"{text}, as it reads the same model{stuck}")]


def _answer(predict: PredictDocument) -> Facts:
    recorded = predict.recorded_ns
    change = blocks.gained(recorded, predict.predicted_ns, predict.shares_of_ns)
    if predict.gain_ns > 0 and not spans.sure(predict.predicted_span, recorded):
        change += ", not sure to gain"
    facts = [
        ("recorded", blocks.recorded(recorded, predict.health)),
        ("predicted", f"{words.duration(predict.predicted_ns)}, {change}"),
    ]
    waits = f"{words.duration(predict.waiting_ns)} recorded"
    if predict.hypotheses:
        facts += blocks.share_facts(predict.shares_of_ns, recorded, predict.part)
        facts += [("", line) for line in spans.texts(predict.predicted_span, predict.predicted_ns)]
        facts += algorithms.doubtful(predict.algorithms)
        facts += _several(predict.recordings) if predict.recordings else []
        facts += _widened(predict.widened) if predict.widened else []
        waits += f", {words.duration(predict.waiting_predicted_ns)} predicted"
    facts = misfit.beside(facts, predict, predict.shares_of_ns)
    if predict.hypotheses and predict.links_shared >= TOLD:
        alone = "and slow one another down; here each is as fast as alone, so it takes longer than predicted"
        facts.append(("links", f"messages share links for {words.percent(predict.links_shared, 1)} of their time {alone}"))
    facts += _interfaces(predict)
    facts += _said(predict.semantics, bool(predict.hypotheses)) if predict.semantics else []
    facts.append(("waiting", f"{waits}{words.together([row.thread for row in predict.processes])}"))
    return [*facts, *blocks.unrecorded_waits(predict.health), *_effect(predict)]


def _interfaces(predict: PredictDocument) -> Facts:
    """Return which messages are between nodes, if that changes, and how many would change places on their interfaces."""
    found, out = predict.interfaces, Facts()
    if (found.between, found.bytes) != (found.between_now, found.bytes_now):
        sizes = [words.size(each) for each in (found.bytes, found.bytes_now)]
        out.append(("placement", f"{found.between} messages of {sizes[0]} between nodes become {found.between_now} of {sizes[1]}"))
    if found.swapped or found.left_out:
        told = f"{found.swapped} of {words.several(found.pairs, 'pair')} of neighbours would change places and do not"
        more = f"; {words.several(found.left_out, 'wait')} there left out, as they contradict the times" if found.left_out else ""
        out.append(("interfaces", f"messages queue for them in a fixed order; {told}{more}"))
    return out


def _widened(log: Widened) -> Facts:
    """Return what a log of earlier predictions makes of the range."""
    inside = f"{log.inside} of {words.several(log.pairs, 'earlier prediction')} held what was measured"
    if log.pairs < LEAST:
        return [("log", f"{inside}; from {LEAST} on the range is as wide as they ask for")]
    wider = f"it is {words.percent(log.part, 1)} of the time after MPI_Init wider on both sides" if log.part else "it stays as it is"
    return [("log", f"{inside}: {wider}, to hold nine of ten")]


def _several(recorded: Recorded) -> Facts:
    """Return what the hypotheses gain in all recordings."""
    least, most = (words.duration(end(recorded.gains_ns)) for end in (min, max))
    gains = f"gain {least} to {most} in {words.several(len(recorded.gains_ns), 'recording')}"
    untold = (
        "nothing else tells how much it varies" if len(recorded.gains_ns) >= RECORDINGS else f"{RECORDINGS} tell what lies between them"
    )
    between = untold if recorded.between is None else f"{words.percent(recorded.between, 1)} of its variance lies between them"
    return [("recordings", f"{gains}; {between}; the range holds what each says")]


def _in_place(predict: PredictDocument) -> Facts:
    """Return which messages another eager limit leaves as they are."""
    asked = [text.partition(" ") for text in predict.hypotheses]
    above, limited = predict.model.parameters.inline_bytes, any(word == "eager" and EagerLimit.is_size(size) for word, _, size in asked)
    if not limited or above is None or predict.model.parameters.progress != "in calls":
        return []
    told = f"messages above {words.size(above)} are sent in place, and hold their sender until the receiver is in a call"
    return [("in place", f"{told}: a limit leaves that as it is; see --eager all and --progress always")]


def _effect(predict: PredictDocument) -> Facts:
    """Return what the hypotheses touch: the waits they zero, and how many calls move."""
    facts = [("zeroed", _zeroed(predict.zeroed))] if predict.zeroed.calls else []
    facts += _beside(predict, predict.instead) if predict.instead else []
    if predict.deadlocks:
        stopped = "messages would be synchronous and stop the program for good; their senders are not held here"
        facts.append(("deadlock", f"{predict.deadlocks} {stopped}"))
    if predict.hypotheses:
        still = not (predict.calls_moved or any(process.gain_ns for process in predict.processes))
        still = still and predict.waiting_predicted_ns == predict.waiting_ns
        moved = f"{predict.calls_moved} of {words.several(predict.calls, 'call')}" if predict.calls else "no call"
        facts.append(("moved", f"{moved}{', nothing changes' if still else ''}"))
        facts += _in_place(predict)
        facts += [fact for team in predict.teams for fact in teams.facts(team)]
        facts += algorithms.facts(predict.algorithms)
        facts += teams.pieces(predict.hypotheses) if predict.gain_ns <= 0 else []
        facts += [*order.move_facts(predict.order, predict.hypotheses), *order.choice_facts(predict.matching)]
    return facts


def _zeroed(zeroed: Zeroed) -> str:
    calls, waiting, time = zeroed.calls, zeroed.waiting_calls, words.duration(zeroed.wait_ns)
    if calls == 1:
        return f"1 call, which waited {time}" if waiting else "1 call, which did not wait in the recorded run"
    return f"{calls} calls, of which {waiting or 'none that is known'} waited in the recorded run{f', {time} together' if waiting else ''}"


def _beside(predict: PredictDocument, instead: Instead) -> Facts:
    """Return whom the calls wait for, and what somebody can do: a wait goes only as far as its partner comes earlier."""
    who = f"rank {words.rank(instead.rank, instead.thread)}"
    less = ""
    if instead.waited_ns < predict.zeroed.wait_ns:
        less = f", {words.duration(instead.waited_ns)} of it"
    late = "; it is late for others, too" if predict.gain_ns <= 0 else ""
    facts = [("waits for", f"{who}{less}{late}; a wait goes only as far as that comes earlier")]
    told = []
    for fix in instead.changes:
        if negligible(fix.gain_ns, predict.shares_of_ns):
            continue
        gain = blocks.gained(predict.recorded_ns, fix.makespan_ns, predict.shares_of_ns)
        passed = words.several(fix.receives_passed, "receive")
        only = f", only if it needs nothing of the {passed} it then runs ahead of" if fix.receives_passed else ""
        told.append(f"{words.shown(fix.change, _WHOLE)}: {words.duration(fix.makespan_ns)}, {gain}{only}")
    none = "nothing that was tried gains: another order, nobody held, computation balanced; see perwiz domino"
    return [*facts, *(("what to do" if not row else "", text) for row, text in enumerate(told or [none]))]


def _process_lines(predict: PredictDocument) -> list[str]:
    """Return the table of processes: all, or those whose ends move most, or else wait most."""
    rows, asked = predict.processes, bool(predict.hypotheses)
    head = ["end", "predicted", "gain", "waiting", "predicted"] if asked else ["end", "waiting"]
    cells = []
    for row in blocks.foremost(rows, _PROCESSES, lambda row: (-abs(row.gain_ns), -row.waiting_ns)):
        ends = (row.recorded_end_ns, row.predicted_end_ns, row.gain_ns) if asked else (row.recorded_end_ns,)
        waits = (row.waiting_ns, row.waiting_predicted_ns) if asked else (row.waiting_ns,)
        cells.append([words.rank(row.rank, row.thread), *map(words.duration, ends + waits)])
    less = f", which {'gain or wait' if asked else 'wait'} less"
    return [*words.table(["rank", *head], cells), *blocks.more(rows, len(cells), less)]
