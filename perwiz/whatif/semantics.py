"""What others would say: a prediction's runs as schedules, simulated as they read the letters of the model."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.clock.treatment import Treated
from perwiz.errors import UsageError
from perwiz.formats.goal.format import GOAL
from perwiz.formats.goal.format import schedule as read
from perwiz.formats.goal.schedule import Schedule
from perwiz.loggps import DIMEMAS
from perwiz.loggps.configuration import Configuration, configuration
from perwiz.loggps.schedules import Meetings, Scheduled, schedule
from perwiz.loggps.semantics import Simulated, simulate
from perwiz.trace.trace import Trace
from perwiz.whatif.hypotheses.base import in_order
from perwiz.whatif.predict import Prediction, predict, predicted_trace
from perwiz.whatif.run import graph_of, replay_of


@dataclasses.dataclass(frozen=True, eq=False)
class Told:
    """What a profile says of the recorded and of the predicted run."""

    profile: str
    configuration: str
    """What of a .cfg of Dimemas was asked for; empty: nothing."""
    recorded: Simulated
    predicted: Simulated


def told(prediction: Prediction, profile: str, said: str = "") -> Told:
    """Return what a profile of perwiz.loggps.PROFILES says under the prediction's model, Dimemas with what is `said` of its .cfg.

    A file that is a schedule is simulated as it is, where nothing but the network changes; else the runs are those of
    perwiz.loggps.schedules. Another network is read as the profile reads it: the run that other hypotheses make is simulated on it.
    Raises TraceError and UsageError for a run that is no schedule.
    """
    if said and profile not in DIMEMAS:
        raise UsageError(f"--dimemas: --semantics is {profile}, must be one of {', '.join(DIMEMAS)}")
    asked = configuration(said) if said else Configuration()
    trace, model, kept = prediction.trace, prediction.model, asked if profile in DIMEMAS else None
    network, others = model, []
    for hypothesis in in_order(prediction.hypotheses):
        changed, _ = hypothesis.protocol(trace, network, trace.messages.bytes)
        if changed is network:
            others.append(hypothesis)
        network = changed
    before = _schedule(prediction, trace, kept) if trace.format != GOAL.name or others else _alone(read(trace.path))
    after = before
    if others:
        alone = prediction if network is model else predict(trace, others, prediction.machine, prediction.engine, draws=0)
        after = _schedule(alone, predicted_trace(alone), kept)
    recorded = simulate(before.schedule, model, profile, before.meetings, before.node, asked.buses)
    if not prediction.hypotheses:
        return Told(profile, said, recorded, recorded)
    return Told(profile, said, recorded, simulate(after.schedule, network, profile, after.meetings, after.node, asked.buses))


def _alone(schedule: Schedule) -> Scheduled:
    """Return a schedule as it is: its ranks are each a node."""
    return Scheduled(schedule, [], Meetings.none(), np.arange(schedule.ranks, dtype="i4"))


def _schedule(prediction: Prediction, trace: Trace, kept: Configuration | None) -> Scheduled:
    """Return the schedule of a run under the prediction's model."""
    clocks = Treated(trace, prediction.health.violations, None)
    return schedule(replay_of(clocks, graph_of(trace, prediction.model), prediction.machine).weighted, kept)
