"""Hot spots: the regions whose computation makes up most of the critical path, and what the run would gain if it took half of its time.

What a profile lists by time alone gains nothing where others are waited for (Curtsinger and Berger, Coz, SOSP 2015, 2: virtual speedup).
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.trace.arrays import I8
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.computation import Scale
from perwiz.whatif.hypotheses.devices import mostly_for_devices
from perwiz.whatif.limits.critical import KINDS, Pieces
from perwiz.whatif.ranking.change import CLOSE, Asker

_TRIED, _OWN = 12, 0.5
"""Regions that are tried: those with most of the path; part of the computation in a region from which on it is the region's own."""
_LEAST = 0.01
"""Part of the path that a region makes up at least."""


@dataclasses.dataclass(frozen=True, eq=False)
class HotSpot:
    """A region, and what its computation is worth."""

    region: str
    on_path: int
    """ns of its own computation on the critical path."""
    rank: int | None
    """The process whose computation matters; None if that of several does, or no other is in the region."""
    hypothesis: Scale
    """Computation in it, on that process or all, takes half of its time."""
    makespan: int
    """ns, under that."""


def hot_spots(asker: Asker, path: Pieces, most: int) -> list[HotSpot]:
    """Return at most so many hot spots, largest gain first; `path` is the critical path of the asker's run, or a part of it.

    A region counts if half of the computation in it, or more, is its own and not of regions inside of it: `dot`, but not `main` around it.
    What starts devices does not count. Of one process alone is told which holds most of what is on the path, if the others in the region
    add hardly anything (`CLOSE`).
    """
    trace, segments, now = asker.run.trace, asker.segments, asker.run.makespan
    name_of = _name_of(trace)
    computed = (path.kind == KINDS.index("computation")) & (path.path >= 0)
    on_path, own = np.zeros(len(trace.names), "i8"), np.zeros(len(trace.names) + 1, "i8")
    np.add.at(on_path, name_of[path.path[computed]], path.length[computed])
    np.add.at(own, name_of, segments.sums)
    tried = list[tuple[str, int]]()
    for row in np.argsort(-on_path, kind="stable")[:_TRIED].tolist():
        name = trace.names[row]
        if on_path[row] < _LEAST * path.length.sum() or mostly_for_devices(segments, asker.for_devices, name):
            continue
        if own[row] >= _OWN * segments.sums[selectors.paths_inside(trace, selectors.region(trace, name))].sum():
            tried.append((name, int(on_path[row])))
    halved = [Scale(f"{name}=0.5") for name, _ in tried]
    rows = zip(tried, halved, asker.makespans(halved), strict=True)
    spots = [HotSpot(*one, None, hypothesis, makespan) for one, hypothesis, makespan in rows if makespan < now]
    return [_alone(asker, path, spot) for spot in sorted(spots, key=lambda spot: spot.makespan)[:most]]


def _alone(asker: Asker, path: Pieces, spot: HotSpot) -> HotSpot:
    """Return a hot spot of the process alone that holds most of it on the path, if others are in the region, but add hardly anything."""
    trace = asker.run.trace
    (ranks, process), row = trace.locations.processes(), trace.names.index(spot.region)
    if len(np.unique(process[trace.regions.location[trace.region_names == row]])) < 2:
        return spot
    own = (path.kind == KINDS.index("computation")) & (path.path >= 0) & (_name_of(trace)[path.path] == row)
    rank = int(ranks[np.bincount(process[path.location[own]], path.length[own]).argmax()])
    hypothesis = Scale(f"{spot.region}@rank:{rank}=0.5")
    makespan, now = asker.makespan(hypothesis), asker.run.makespan
    enough = now - makespan >= CLOSE * (now - spot.makespan)
    return dataclasses.replace(spot, rank=rank, hypothesis=hypothesis, makespan=makespan) if enough else spot


def _name_of(trace: Trace) -> I8:
    """Return the first row of names with the name of the innermost region of each path, and behind these a row past the names."""
    first = {name: row for row, name in reversed([*enumerate(trace.names)])}
    row = np.array([first[name] for name in trace.names], "i8")
    return np.append(row[trace.paths.region], len(trace.names))
