"""Computation spread evenly: over the whole program, each stretch between collectives of all, each region, and single steps."""

from __future__ import annotations

from perwiz.whatif.hypotheses.parts import STRETCHES, WHOLE, synchronisations
from perwiz.whatif.limits.uneven import uneven
from perwiz.whatif.ranking.change import Asker, Change

_REGIONS, _STEPS = 12, 24
"""Regions and single steps that are tried: those whose slowest processes compute longest beyond the mean."""


def changes(asker: Asker) -> list[Change]:
    """Return what gains if the processes computed the mean of their times."""
    trace, asked = asker.run.trace, list[tuple[str, str, str]]()
    if WHOLE not in trace.names and len(trace.locations) > 1:
        asked.append(("program", WHOLE, "computation of the whole program"))
    if STRETCHES not in trace.names and len(synchronisations(trace)):
        asked.append(("stretch", STRETCHES, "computation in each stretch between collectives of all processes"))
    steps = uneven(trace)
    asked += [("region", name, f"computation in each {name}") for name in steps.regions(_REGIONS)]
    asked += [("step", step, f"computation of step {step}") for step in steps.steps(_STEPS)]
    out = [asker.change("balance", by, f"balance-time {text}", what) for by, text, what in asked]
    return [change for change in out if change.makespan < asker.run.makespan]
