"""Calls that take no time, or none but waiting: the collectives of a call site, or what a call site does for messages."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.trace import operations
from perwiz.trace.arrays import Mask
from perwiz.whatif.hypotheses.waits import ZeroTransfer
from perwiz.whatif.ranking.change import Asker, Change
from perwiz.whatif.ranking.situations import BARRIERS
from perwiz.whatif.worth import sets
from perwiz.whatif.worth.families import family

_TRIED = 16
"""Call sites that are tried: those that take longest."""
_COLLECTIVE = operations.COLLECTIVE & operations.OF_PROCESSES
_COLLECTIVE[operations.FINALIZES] = False
"""Nobody can leave that out."""
_MESSAGES = operations.POINT_TO_POINT & ~np.isin(operations.KIND, (operations.TEST, operations.PROBE))
"""What a program tests in vain is a wait that nobody knows the partner of: without that call it would wait elsewhere."""


def collectives(asker: Asker) -> list[Change]:
    """Return what gains if the collectives of a call site that a text names took no time but waiting for the last process; of barriers,
    which bring nothing, no time. No time as well where they are made in rounds whose messages share links: a round waits for another there.
    """
    found, rounds = _instant(asker, "collective", _COLLECTIVE[asker.run.trace.calls.op]), asker.run is not asker.recorded
    asked = [change if rounds or _of_barriers(asker, change) else _without_transfer(asker, change) for change in found]
    return [change for change in asked if change.makespan < asker.run.makespan]


def messages(asker: Asker) -> list[Change]:
    """Return what gains if the calls of a site that send, receive or complete messages took no time."""
    return _instant(asker, "messages", _MESSAGES[asker.run.trace.calls.op])


def _of_barriers(asker: Asker, change: Change) -> bool:
    trace = asker.run.trace
    return not trace.share.any(change.calls is not None and not np.isin(trace.calls.op[change.calls], BARRIERS).all())


def _without_transfer(asker: Asker, change: Change) -> Change:
    """Return the same calls with a question that lets them wait."""
    site = change.question.partition(" ")[2]
    what = change.what.replace("takes no time", "takes no time but waiting")
    asked = dataclasses.replace(change, question=f"{ZeroTransfer.word} {site}", what=what)
    return dataclasses.replace(asked, makespan=asker.makespan(asked.hypothesis))


def _instant(asker: Asker, kind: str, calls: Mask) -> list[Change]:
    run, share = asker.run, asker.run.trace.share
    sites = family(run, "site")
    chosen = dataclasses.replace(sites, class_of=np.where(calls, sites.class_of, -1).astype("i4"))
    count = share.reduced(chosen.sums(np.ones(len(calls), "i8")), "sum").tolist()
    times = run.trace.timeline.calls
    makespan = sets.makespans(run.weighted, run.time, chosen, "zero-time", most=_TRIED, weight=times.leave - times.enter)
    changes = [
        Change(
            kind,
            "site",
            f"zero-time {sites.selectors[site]}",
            f"{sites.names[site]} takes no time",
            int(makespan[site]),
            np.flatnonzero(chosen.class_of == site),
            total=count[site],
        )
        for site in np.flatnonzero(makespan < run.makespan).tolist()
        if sites.selectors[site]
    ]
    return asker.as_predicted(changes)
