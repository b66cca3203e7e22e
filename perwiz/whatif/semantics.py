"""What others would say: a prediction's runs as schedules, simulated as they read the letters of the model."""

from __future__ import annotations

import dataclasses

from perwiz.clock.treatment import Treated
from perwiz.formats.goal.format import GOAL
from perwiz.formats.goal.format import schedule as read
from perwiz.formats.goal.schedule import Schedule
from perwiz.loggps.schedules import schedule
from perwiz.loggps.semantics import Simulated, simulate
from perwiz.trace.trace import Trace
from perwiz.whatif.predict import Prediction, predicted_trace
from perwiz.whatif.run import graph_of, replay_of


@dataclasses.dataclass(frozen=True, eq=False)
class Told:
    """What a profile says of the recorded and of the predicted run."""

    profile: str
    recorded: Simulated
    predicted: Simulated


def told(prediction: Prediction, profile: str) -> Told:
    """Return what a profile of perwiz.loggps.semantics.PROFILES says under the prediction's model.

    A file that is a schedule is simulated as it is, where nothing is asked; else the runs are those of perwiz.loggps.schedules. Raises
    TraceError and UsageError for a run that is no schedule.
    """
    if prediction.trace.format == GOAL.name and not prediction.hypotheses:
        only = simulate(read(prediction.trace.path), prediction.model, profile)
        return Told(profile, only, only)
    before = simulate(_schedule(prediction, prediction.trace), prediction.model, profile)
    after = simulate(_schedule(prediction, predicted_trace(prediction)), prediction.model, profile) if prediction.hypotheses else before
    return Told(profile, before, after)


def _schedule(prediction: Prediction, trace: Trace) -> Schedule:
    """Return the schedule of a run under the prediction's model."""
    clocks = Treated(trace, prediction.health.violations, None)
    return schedule(replay_of(clocks, graph_of(trace, prediction.model), prediction.machine).weighted).schedule
