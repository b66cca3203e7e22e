"""Computation spread evenly: over the whole program, each stretch between collectives of all, each region, and single steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.trace.arrays import F8, I8
from perwiz.whatif.hypotheses.parts import STRETCHES, WHOLE, synchronisations
from perwiz.whatif.hypotheses.stretch import Segments
from perwiz.whatif.ranking.change import Asker, Change

_REGIONS, _STEPS = 12, 24
"""Regions and single steps that are tried: those whose slowest processes compute longest beyond the mean."""


def changes(asker: Asker) -> list[Change]:
    """Return what gains if the processes computed the mean of their times."""
    segments, names = asker.segments, asker.run.trace.names
    out = []
    if WHOLE not in names and len(asker.run.trace.locations) > 1:
        out.append(asker.change("balance", "program", f"balance-time {WHOLE}", "computation of the whole program"))
    if STRETCHES not in names and len(synchronisations(asker.run.trace)):
        what = "computation in each stretch between collectives of all processes"
        out.append(asker.change("balance", "stretch", f"balance-time {STRETCHES}", what))
    excess = _excess(segments)
    regions = [names[region] for region in _regions(excess, names)]
    out += [asker.change("balance", "region", f"balance-time {name}", f"computation in each {name}") for name in regions]
    for region, number in _steps(excess):
        step = f"{names[region]}#{number}"
        if step not in names:
            out.append(asker.change("balance", "step", f"balance-time {step}", f"computation of step {step}"))
    return [change for change in out if change.makespan < asker.run.makespan]


@dataclasses.dataclass(frozen=True, eq=False)
class _Excess:
    """Parallel steps whose slowest process computes longer than the mean of those that take part."""

    region: I8
    """Row of names."""
    number: I8
    excess: F8
    """ns; where a region is in itself, what lies in both counts twice."""


def _excess(segments: Segments) -> _Excess:
    """Return the steps that several processes take part in, and not alike."""
    trace = segments.trace
    before = np.concatenate(([0], np.cumsum(segments.length)))
    computed = before[segments.left + 1] - before[segments.entered + 1]
    keys, step = np.unique(np.stack([trace.region_names, trace.regions.instance], 1), axis=0, return_inverse=True)
    step, most = step.reshape(-1), np.zeros(len(keys), "i8")
    np.maximum.at(most, step, computed)
    count = np.bincount(step, minlength=len(keys))
    excess = most - np.bincount(step, computed, minlength=len(keys)) / np.maximum(count, 1)
    kept = (count > 1) & (excess > 0)
    return _Excess(keys[kept, 0].astype("i8"), keys[kept, 1].astype("i8"), excess[kept])


def _regions(found: _Excess, names: Sequence[str]) -> list[int]:
    """Return the regions, rows of names, whose steps have the largest sums; of namesakes a question is about the first."""
    sums = np.bincount(found.region, found.excess, minlength=len(names))
    return [row for row in np.argsort(-sums, kind="stable").tolist() if sums[row] > 0 and names.index(names[row]) == row][:_REGIONS]


def _steps(found: _Excess) -> list[tuple[int, int]]:
    """Return (region, number) of the largest steps; none of a region that has one."""
    several = np.flatnonzero(np.bincount(found.region, minlength=1)[found.region] > 1)
    rows = several[np.argsort(-found.excess[several], kind="stable")][:_STEPS].tolist()
    return [(int(found.region[row]), int(found.number[row])) for row in rows]
