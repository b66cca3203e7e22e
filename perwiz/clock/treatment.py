"""What is done about a trace before anything is read off its times: what nothing ties is left out, and its clocks are treated."""

from __future__ import annotations

import dataclasses

from perwiz.clock import offsets
from perwiz.clock.condition import Violations, violations
from perwiz.clock.logical import Correction, correct
from perwiz.errors import NotInWindowsError, UsageError
from perwiz.trace.tied import tied_part
from perwiz.trace.trace import Trace
from perwiz.trace.windows.window import Window

CLOCKS = ("none", "linear", "clc")
"""Take the times as they are; interpolate measured offsets; that, and then the controlled logical clock where effects precede causes."""


@dataclasses.dataclass(frozen=True, eq=False)
class Treated:
    """A trace whose locations and timeline are those to work with."""

    trace: Trace
    recorded: Violations
    """How the recorded times break the clock condition, offsets applied."""
    correction: Correction | None
    """None where nothing had to be corrected, or should be."""


def treat(trace: Trace, clock: str = "clc") -> Treated:
    """Return the tied part of a trace with the clocks `clock` asks for.

    Effects that may precede their causes are no reason to correct them.
    Raises UsageError for another `clock`, ClockError for measured offsets that cannot be used.
    """
    if clock not in CLOCKS:
        raise UsageError(f"clock '{clock}': must be one of {', '.join(CLOCKS)}")
    if clock != "none":
        trace = offsets.apply(trace)
    trace = tied_part(trace)
    recorded = violations(trace, trace.timeline)
    if clock != "clc" or trace.timeline.origin.effects_may_precede_causes or not recorded:
        return Treated(trace, recorded, None)
    if isinstance(trace.share, Window):
        alone = "and are not corrected in windows of a run; must be where all of it can be held, or asked about with --clock linear"
        raise NotInWindowsError(f"{trace.path}: its clocks disagree, {alone}")
    correction = correct(trace)
    return Treated(dataclasses.replace(trace, timeline=correction.timeline), recorded, correction)
