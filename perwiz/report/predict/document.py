"""The report of `perwiz predict` as a JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec.structs import asdict

from perwiz.loggps import PROFILES
from perwiz.loggps import model as loggps
from perwiz.loggps.instances import likely
from perwiz.loggps.weigh import Passes
from perwiz.report import blocks, misfit, spans
from perwiz.report import machine as machines
from perwiz.report.domino.remedies import remedy
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
from perwiz.trace.tables import NONE
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.computation import BalanceTime
from perwiz.whatif.hypotheses.network import Network
from perwiz.whatif.hypotheses.parts import STRETCHES, WHOLE
from perwiz.whatif.hypotheses.threads import Threads
from perwiz.whatif.overload import OnLinks
from perwiz.whatif.predict import Prediction
from perwiz.whatif.rematch.rematched import handed_out
from perwiz.whatif.run import ENGINES
from perwiz.whatif.sure.logged import Pair, widened
from perwiz.whatif.sure.recordings import Recordings
from perwiz.whatif.timed import shared_links

if TYPE_CHECKING:
    from perwiz.whatif.semantics import Told

_LINKS = 4
"""Links that are told by name."""


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
    told_apart: bool
    """Whether the model has other costs, interfaces that they keep busy, or links for them than for messages within a node."""
    ranks_moved: Natural
    """Ranks that are on another node than in the recorded run."""


class Link(Record):
    """A link while more is asked of it than it carries, so that messages on it share it and are delayed."""

    name: str
    overloaded_ns: Natural
    messages: Natural
    """On it then."""


class Links(Record):
    """Links that are overloaded in the predicted run, and how the delays on them were found."""

    overloaded: Natural
    """How many are, at any time; 0 if no topology is said."""
    longest: list[Link]
    """Of them, for the longest time."""
    passes: Natural
    """How often the changed run was swept to make delays anew; 0: they are those of the recorded times."""
    moved_ns: Natural | None
    """By how much the last pass still moved the makespan; null: delays changed no more."""
    simulated: bool
    """Whether passes did not come closer, and delays are those of one run of calls and of messages that flow; `moved_ns` is then what the
    first pass behind that moved the makespan by."""
    nodes: Natural
    """On which there are ranks in the predicted run: between those of one no message passes a link. 0 if no topology is said."""
    left_alone: bool
    """Whether nothing is slowed down on links: other messages than the recorded ones are sent."""
    collectives: Natural
    """That are made by several nodes, of bytes enough to matter, and whose messages share no links or interfaces: they do not block, or it
    is not known who takes part. 0 if neither topology nor interfaces are said."""
    beyond: Natural
    """Those left out as the messages inside of all are too many."""
    shared: Natural
    """Whose messages share links, or interfaces if no topology is said."""
    guessed: list[str]
    """Routines of these of which nothing tells how they were made: by which messages is a guess."""


class Semantics(Record):
    """What another simulator says under the same letters of the model: it reads them in another way."""

    profile: Annotated[str, choice(*PROFILES)]
    configuration: str
    """What of a .cfg of Dimemas was asked for; empty: nothing."""
    recorded_ns: Natural
    predicted_ns: Natural
    stuck: Natural
    """Operations that it cannot do, of either run: others that they need are never done."""
    unended: Natural
    """Ranks whose end it does not see, of either run: llamp counts computations that nothing needs, and no other operation."""


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
    init_moves: bool
    """Whether the change moves the end of MPI_Init, too, by more than a hundredth of what follows: then shares are of the makespan."""
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
    masters: list[Natural]
    """Ranks that give tasks to whoever asks, where computation is balanced over them like over the others; else none."""
    remedy: str | None
    """What to write for the one change asked; null if it gains nothing, for several, and for what is no change of a program."""
    instead: Instead | None
    """Beside zero wait, which is what there is to gain at best; null unless that alone is asked, of calls that wait for a known one."""
    never_late_ns: Natural | None
    """With `--zero-time op:device_idle` beside, as late launches may hide what usual operations gain in a training job; null elsewhere."""
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
    links: Links
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
    moves = 100 * selectors.init_moves(trace, predicted) > shares_of
    shares_of = recorded.makespan if moves else shares_of
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
        init_moves=moves,
        predicted_span=spans.span(span),
        recordings=_recordings(several) if several else None,
        widened=Widened(wider.pairs, wider.inside, round(wider.part, 6)) if wider else None,
        semantics=_semantics(other) if other else None,
        replay_error_ns=prediction.replay_error,
        calls=len(trace.calls),
        calls_moved=int(moved.sum()),
        zeroed=Zeroed(calls=len(zeroed), waiting_calls=int((zeroed > 0).sum()), wait_ns=int(zeroed.sum())),
        masters=_masters(prediction),
        remedy=remedy(trace, prediction.situation) if prediction.situation and prediction.gain > 0 else None,
        instead=_instead(prediction),
        never_late_ns=prediction.launched,
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
        links=_links(prediction.links),
        links_shared=round(shared_links(trace, networks[-1] if networks else prediction.model, predicted.calls.enter), 6),
        collectives=likely(trace, prediction.model) if networks else [],
        deadlocks=prediction.deadlocks,
        misfit=misfit.misfit(prediction.misfit, prediction.held, prediction.doubts),
        health=blocks.health(prediction.health),
        processes=_processes(prediction),
        waits_before=blocks.compared(trace, before, after, waits),
        waits_after=blocks.compared(trace, after, before, waits),
    )


def _links(found: OnLinks) -> Links:
    longest = [Link(link.name, link.time, link.messages) for link in found.overloaded[:_LINKS]]
    told = found.passes or Passes(0, None)
    passes = told.passes, told.moved, told.simulated, found.nodes
    inside = found.collectives, found.beyond, found.shared, list(found.guessed)
    return Links(len(found.overloaded), longest, *passes, found.left_alone, *inside)


def _semantics(told: Told) -> Semantics:
    one, other = told.recorded, told.predicted
    stuck, unended = max(one.stuck, other.stuck), max(one.unended, other.unended)
    return Semantics(told.profile, told.configuration, one.makespan, other.makespan, stuck, unended)


def _masters(prediction: Prediction) -> list[int]:
    """Return who hands out tasks, if that is balanced with all other computation."""
    every = any(isinstance(one, BalanceTime) and one.argument in (WHOLE, STRETCHES) for one in prediction.hypotheses)
    trace = prediction.trace
    return [int(row) for row in trace.locations.process[handed_out(trace).masters]] if every else []


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
    waiting, predicted = (trace.summed(waits.time) for waits in (prediction.waits_before, prediction.waits_after))
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
