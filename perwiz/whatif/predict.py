"""From a trace and hypotheses to a prediction: build, weigh, replay unchanged, change, replay again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from perwiz.engines.sweep import sweep, swept_makespan
from perwiz.errors import UsageError
from perwiz.loggps.fit.eager import Held
from perwiz.loggps.machine import Machine
from perwiz.loggps.model import Model
from perwiz.loggps.weigh import Misfit, Weighted
from perwiz.shown import Shown
from perwiz.trace.arrays import I8
from perwiz.trace.parts.iterations import find
from perwiz.trace.resources import EDGES_OF_CALL, Later, at_once, give_back, graphs_at_once, of_graphs
from perwiz.trace.tables import NONE, Times
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif import selectors
from perwiz.whatif.health import Health
from perwiz.whatif.hypotheses.base import Asked, Hypothesis, apply, change, join, parse, parse_all
from perwiz.whatif.hypotheses.collectives import Collective
from perwiz.whatif.hypotheses.threads import Threads, taken_away
from perwiz.whatif.hypotheses.usual import Typical
from perwiz.whatif.hypotheses.waits import ZeroWait
from perwiz.whatif.matching import Matching, chooses, matching
from perwiz.whatif.order.reorder import Reordered
from perwiz.whatif.order.tables import scatter
from perwiz.whatif.overload import OnLinks, on_links
from perwiz.whatif.ranking.asked import change_of
from perwiz.whatif.ranking.computation import NEVER_LATE, launches_recorded, training_devices
from perwiz.whatif.ranking.instead import Instead, instead
from perwiz.whatif.ranking.situations import cured, freed, moved
from perwiz.whatif.ranking.situations import situation as situation_of
from perwiz.whatif.rematch.redrawn import answered_anew
from perwiz.whatif.rematch.rematched import Rematched, rematched
from perwiz.whatif.rematch.written import Written
from perwiz.whatif.run import Run, Start, become, check_engine, copied, known, recorded, starting
from perwiz.whatif.sharing import Sharing, sharing
from perwiz.whatif.sure.answers import Answer, Answers, Outcome, Possible, answered
from perwiz.whatif.sure.doubts import Doubt, Doubts, doubts_of
from perwiz.whatif.sure.noise import DRAWS, noise_ahead, noise_of
from perwiz.whatif.sure.span import Span, Task, draw_before, drawn_before, exactly, found_ahead, spans
from perwiz.whatif.sure.variations import weighed
from perwiz.whatif.waits import Waits, waiting

UNTOLD = "the predicted run cannot be written, as tasks that move begin in other calls or regions than they end in"
"""What `predicted_trace` says of a run whose receives are matched anew, if it cannot."""


@dataclasses.dataclass(frozen=True, eq=False)
class Prediction(Shown):
    """A predicted run beside the recorded one: `predicted` has its rows, also where the predicted run makes calls in another order."""

    trace: Trace
    """The recorded run, its clocks made consistent."""
    machine: Machine
    """Whose model split the recording."""
    hypotheses: tuple[Hypothesis, ...]
    engine: str
    recorded: Timeline
    predicted: Timeline
    replay_error: int
    """Largest distance, ns, of the replayed unchanged run from the recording, over all calls."""
    size: I8
    """Bytes per message in the predicted run."""
    waits_before: Waits
    """Of the recorded run; inside of collectives that hypotheses make in rounds, as the rounds of that run have them."""
    waits_after: Waits
    """Threads that hypotheses take away wait no longer; of those that they add there is no call that could."""
    zeroed: I8
    """Calls whose wait was zeroed."""
    misfit: Misfit
    doubts: tuple[Doubt, ...]
    """Where the recording contradicts the model, what weighs most in the recorded run or the answer first."""
    held: Held | None
    """What says that S of the model is too large; None if nothing does."""
    health: Health
    deadlocks: int
    """Messages that would be synchronous under the hypotheses, and then make the program deadlock; their senders are not held here."""
    span: Span
    """Between which makespans the true one lies, as far as the trace tells; without hypotheses the recorded one."""
    matching: Matching
    """Choices among messages that the recorded ones, kept under the hypotheses, contradict."""
    rematched: Rematched | None
    """What becomes of these choices, made anew, or why they are not; None if none changes, or they are to be kept."""
    order: Reordered | None
    """The program in the order of calls that the predicted run has; None if it is the recorded one."""
    sharing: Sharing
    """Messages between nodes, and how they share interfaces."""
    links: OnLinks
    """Links that are overloaded in the predicted run."""
    instead: Instead | None
    """What somebody can do about the waits that are taken away; None unless that alone is asked."""
    situation: str | None
    """That which the one change asked is for, of which remedies tell; None for several, and for what is no change of a program."""
    launched: int | None
    """Makespan, ns, with NEVER_LATE beside; None unless usual operations are asked for in a training job, and that is not."""

    def __repr__(self) -> str:
        asked = "; ".join(map(str, self.hypotheses)) or "no hypothesis"
        return f"<Prediction of {self.trace.path} under {asked}: {self.recorded.makespan} ns becomes {self.predicted.makespan} ns>"

    @property
    def model(self) -> Model:
        """The model of the machine."""
        return self.machine.model

    @property
    def written(self) -> Written | None:
        """The run whose receives are matched anew as a trace of its own order; None if none are, or it cannot be written."""
        return self.rematched.written if self.rematched else None

    @property
    def gain(self) -> int:
        """Recorded minus predicted makespan, ns."""
        return self.recorded.makespan - self.predicted.makespan


def predict(
    trace: Trace,
    hypotheses: Asked = (),
    model: Start = None,
    engine: str = "sweep",
    clock: str = "clc",
    draws: int = DRAWS,
    keep_matches: bool = False,
) -> Prediction:
    """Return the run that the tied part of a trace would become under hypotheses, all times int64 ns.

    A hypothesis is a Hypothesis or its text; `model` is a Machine, a Model, a shipped name, a file, or changes such as
    `S_bytes=4040` of what is fitted to the trace, which is the default; `engine` is sweep or replay; `clock` says what to do about
    clocks that disagree: "clc" corrects them, "linear" interpolates measured offsets, "none" takes the times as they are; so many
    `draws` of another run tell how much the answer varies. Hypotheses are applied network and messages first, then computation, then
    single calls, then the order of calls; within each in the order given. Where they change which message comes first, receives from
    anybody take that, and tasks go to whoever asks next, unless `keep_matches`.
    Raises UsageError, ModelError, ClockError.
    """
    asked = parse_all(hypotheses, trace)
    basis = starting(trace, model, clock, asked)
    asking, treated = asked and not known(trace), basis.clocks.trace
    first = (
        lambda: found_ahead(treated, basis.machine, asked) if asking else {},
        lambda: find(treated) if asking and draws else None,  # which remembers them
        lambda: recorded(basis, check_engine(engine)),
    )
    ahead, _, base = graphs_at_once(first, EDGES_OF_CALL * len(treated.calls))
    waits = asked[0] if len(asked) == 1 and isinstance(asked[0], ZeroWait) else None
    late = waits is not None and known(trace) is not None and _any_waits(base, asked)  # `instead` takes as long then
    ahead_of_sweep = draws if not late and _drawn_first(base, keep_matches) else None
    changing = Later(lambda: _changed(copied(base) if late else base, base, asked, engine, ahead_of_sweep))
    tasks = (  # before the weights are taken over
        lambda: noise_ahead(base, draws) if asked else None,
        lambda: doubts_of(base),
        lambda: instead(base, waits.argument, _zeroed(base.trace, asked)) if waits else None,
        *([changing] if late else ()),
        base.health,
        lambda: base.replay_error,
        lambda: _launched(base, asked),
        lambda: _situation(base, asked),
        lambda: _recorded_waits(base, asked),
    )
    _, doubts, beside, *_, launched, found, before = graphs_at_once(tasks, base.graph.edges)
    give_back(base.graph.edges)
    drawn = answered(base, (), draws) if asked else None  # in threads itself, and takes as much memory as all of these
    give_back(base.graph.edges)
    if not late:
        changing()
    changed, choices = changing.result
    found = _situated(found, beside, base.makespan, changed.makespan) if found and beside else found
    anew = rematched(base, changed, asked, engine) if choices.changed and not keep_matches else None
    others = ahead if base.machine is basis.machine else {}
    told = between(base, changed, asked, engine, doubts, drawn, choices, anew, beside, launched, found, others)
    return told if before is base.waits else dataclasses.replace(told, waits_before=before)


def _changed(run: Run, base: Run, asked: tuple[Hypothesis, ...], engine: str, draws: int | None) -> tuple[Run, Matching]:
    """Return what a run with the weights of the recorded one becomes under hypotheses, and the choices among messages that differ then;
    if told how many, runs of it are drawn before that.
    """
    if not asked:
        return run, matching(base, run)
    weighted = change(run.weighted, asked)
    if draws is not None:
        draw_before(base, weighted, draws)
    changed = become(run, weighted, asked, engine)
    return changed, matching(base, changed)


def _drawn_first(base: Run, keep_matches: bool) -> bool:
    """Return whether runs are drawn of a changed run before it is swept: of a large one, unless its receives may take other messages."""
    return not (of_graphs(base.graph.edges) or base.trace.share.team) and (keep_matches or not chooses(base.trace))


def between(
    base: Run,
    changed: Run,
    hypotheses: tuple[Hypothesis, ...],
    engine: str,
    doubts: Doubts,
    drawn: Answers | None,
    choices: Matching,
    anew: tuple[Run, Rematched] | None = None,
    beside: Instead | None = None,
    launched: int | None = None,
    situation: str | None = None,
    ahead: Mapping[str, Outcome] | None = None,
) -> Prediction:
    """Return the prediction that a recorded run and what hypotheses make of it are, with doubts of the former and how much it varies.

    With `anew` it is that of the run whose `choices` are made anew. What was found `ahead` is not asked again. It keeps what the runs say,
    not their weights and vertex times, which only further questions need.
    """
    made, trace = changed, base.trace
    if anew is not None and drawn is not None and not anew[1].reason:
        changed = anew[0]
    weighted, time, order = changed.weighted, changed.time, changed.order
    predicted = Later(lambda: forwards(changed.recorded_rows()))
    left = Later(lambda: _left(trace, changed.waits, hypotheses))
    doubted = Later(lambda: doubts.told((weighted, time)))
    shared = Later(lambda: sharing(base.weighted, weighted, time))
    links = Later(lambda: on_links(weighted, time, trace))
    meanwhile = (predicted, left, doubted, shared, links)
    if drawn is None or changed is made:
        span = span_between(base, changed, hypotheses, doubts, drawn, meanwhile, ahead)
    else:
        span = spans(base, answered_anew(base, drawn, [(hypotheses, changed.makespan)]), hypotheses, doubts, [*meanwhile])[0]
    return Prediction(
        trace=trace,
        machine=base.machine,
        hypotheses=hypotheses,
        engine=engine,
        recorded=trace.timeline,
        replay_error=base.replay_error,
        health=base.health(),
        matching=choices,
        rematched=anew[1] if anew else None,
        predicted=predicted.result,
        size=weighted.size if order is None else weighted.size[order.message],
        waits_before=base.waits,
        waits_after=left.result,
        zeroed=_zeroed(trace, hypotheses),
        misfit=base.weighted.misfit,
        doubts=doubted.result,
        held=doubts.held,
        deadlocks=base.graph.deadlocks,
        span=span,
        order=order,
        sharing=shared.result,
        links=links.result,
        instead=beside,
        launched=launched,
        situation=situation,
    )


def _situation(base: Run, asked: Sequence[Hypothesis]) -> str | None:
    """Return the situation that the one change asked is for; None if it is none, or there are several."""
    change = change_of(base, asked[0]) if len(asked) == 1 else None
    return situation_of(base, change) if change else None


def _situated(found: str, beside: Instead, now: int, then: int) -> str:
    """Return the situation of waits that are taken away, given what gains instead, and the makespan before and after, ns."""
    moving = any(change.kind == "protocol" for change in beside.changes)
    found = cured(found, beside.changes)
    return moved(found, now - then, freed(now, beside.changes)) if moving else found


def _recorded_waits(base: Run, asked: Sequence[Hypothesis]) -> Waits:
    """Return how long calls wait in the recorded run: inside of collectives that hypotheses put in rounds, for the messages of these."""
    rounds = [one.as_recorded() for one in join(asked) if isinstance(one, Collective)]
    if not rounds:
        return base.waits
    weighted = apply(base.weighted, rounds)
    return waiting(weighted, sweep(weighted.graph, weighted.weight))


def _launched(base: Run, asked: Sequence[Hypothesis]) -> int | None:
    """Return the makespan, ns, of a training job under hypotheses with NEVER_LATE beside; None unless usual operations are asked for, and
    no launches are recorded.
    """
    typical = any(isinstance(one, Typical) for one in asked) and NEVER_LATE not in map(str, asked)
    if not typical or launches_recorded(base.trace) or not training_devices(base.trace).any():
        return None
    return swept_makespan(apply(base.weighted, [*asked, parse(NEVER_LATE)]))


def forwards(timeline: Timeline) -> Timeline:
    """Return a timeline in which no region begins behind its end, as one around the receive of a task may that another process runs."""
    regions = timeline.regions
    return dataclasses.replace(timeline, regions=Times(np.minimum(regions.enter, regions.leave), regions.leave))


def _zeroed(trace: Trace, hypotheses: Sequence[Hypothesis]) -> I8:
    mask = np.zeros(len(trace.calls), bool)
    for hypothesis in hypotheses:
        if isinstance(hypothesis, ZeroWait):
            mask |= selectors.calls(trace, hypothesis.argument)
    return np.flatnonzero(mask)


def _any_waits(base: Run, hypotheses: Sequence[Hypothesis]) -> bool:
    """Return whether any call waits that is not to wait any more."""
    return bool((base.waits.time[_zeroed(base.trace, hypotheses)] > 0).any())


def _left(trace: Trace, waits: Waits, hypotheses: Sequence[Hypothesis]) -> Waits:
    """Return waits without those of threads that hypotheses take away."""
    gone = np.zeros(len(trace.calls), bool)
    for hypothesis in hypotheses:
        if isinstance(hypothesis, Threads):
            gone |= taken_away(trace, hypothesis)
    if not gone.any():
        return waits
    return Waits(np.where(gone, 0, waits.time), np.where(gone, NONE, waits.partner).astype(waits.partner.dtype))


def span_between(
    base: Run,
    changed: Run,
    hypotheses: Sequence[Hypothesis],
    doubts: Doubts,
    answers: Answers | None,
    meanwhile: Sequence[Task] = (),
    ahead: Mapping[str, Outcome] | None = None,
) -> Span:
    """Return the span of what hypotheses make of a recorded run, given doubts of that and how much it varies; None if nothing is asked.

    Other tasks are done meanwhile, of a large run behind, when what runs are drawn from is let go of. What was found `ahead` is not asked
    again.
    """
    if answers is None:
        at_once(meanwhile, base.graph.edges)
        return exactly(base.trace.timeline.makespan)
    others = possible(base, hypotheses, changed.weighted)
    drawn, tasks = drawn_before(changed.weighted), list[Task]()
    if drawn is None:
        (drawn,), tasks = noise_of(base, answers.noise.draws).drawing([changed.weighted])
    large = not of_graphs(base.graph.edges)
    tasks += () if large else meanwhile
    found = Answer(
        lambda weighted: change(weighted, hypotheses),
        changed.makespan,
        drawn,
        others,
        any(one.priced for one in hypotheses),
        answers.noise.ends(changed.weighted, changed.left),
        ahead or {},
    )
    (span,) = spans(base, dataclasses.replace(answers, of=(found,)), hypotheses, doubts, tasks)
    at_once(meanwhile if large else (), base.graph.edges)
    return span


def possible(base: Run, hypotheses: Sequence[Hypothesis], weighted: Weighted) -> tuple[Possible, ...]:
    """Return what else the makespan may be under hypotheses that made a graph of a recorded run, as far as the trace tells."""
    asked = join(hypotheses)
    out = [Possible((one.varied,), swept_makespan(other)) for one in asked for other in one.others(weighted)]
    for one in asked:
        for other in one.otherwise(weighted):
            instead = [other if each is one else each for each in asked]
            out.append(Possible((other.varied,), swept_makespan(change(weighed(base, base.machine.model), instead))))
    return tuple(out)


def predicted_trace(prediction: Prediction) -> Trace:
    """Return the trace of the predicted run: its order of calls, timeline and nodes, new sizes of messages and of calls that move them."""
    trace, size, predicted, order = prediction.trace, prediction.size, prediction.predicted, prediction.order
    if prediction.rematched and not prediction.rematched.reason:
        anew = prediction.written
        if anew is None:
            raise UsageError(UNTOLD)
        trace, size, predicted = anew.trace, scatter(size, anew.message), anew.trace.timeline
    elif order is not None:
        trace, size, predicted = order.trace, order.size, order.in_new_order(predicted)
    more = size - trace.messages.bytes
    sent, received = trace.calls.bytes_sent.copy(), trace.calls.bytes_received.copy()
    np.add.at(sent, trace.messages.send, more)
    np.add.at(received, trace.messages.receive_done, more)
    calls = dataclasses.replace(trace.calls, bytes_sent=sent, bytes_received=received)
    for hypothesis in prediction.hypotheses:
        trace = hypothesis.placed(trace)
    return dataclasses.replace(trace, calls=calls, messages=dataclasses.replace(trace.messages, bytes=size), timeline=predicted)
