"""Collectives that take no time: all of a call site."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.trace import operations
from perwiz.whatif.ranking.change import Asker, Change
from perwiz.whatif.worth import sets
from perwiz.whatif.worth.families import family

_TRIED = 16
"""Call sites that are tried: those that take longest."""


_LAST = operations.OP["MPI_Finalize"]
"""Nobody can leave it out."""


def changes(asker: Asker) -> list[Change]:
    """Return what gains if the collectives of a call site took no time."""
    run = asker.run
    sites = family(run, "site")
    collective = operations.COLLECTIVE[run.trace.calls.op] & (run.trace.calls.op != _LAST)
    chosen = dataclasses.replace(sites, class_of=np.where(collective, sites.class_of, -1).astype("i4"))
    times = run.trace.timeline.calls
    makespan = sets.makespans(run.weighted, run.time, chosen, "zero-time", most=_TRIED, weight=times.leave - times.enter)
    return [
        Change(
            "collective",
            "site",
            f"zero-time {sites.selectors[site]}" if sites.selectors[site] else None,
            f"{sites.names[site]} takes no time",
            int(makespan[site]),
            np.flatnonzero(chosen.class_of == site),
        )
        for site in np.flatnonzero(makespan < run.makespan).tolist()
    ]
