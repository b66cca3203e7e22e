"""Another order of calls: what waits that are worth something wait for runs earlier on its own process."""

from __future__ import annotations

import numpy as np

from perwiz.errors import UsageError
from perwiz.trace import operations
from perwiz.trace.trace import named_call
from perwiz.whatif import selectors
from perwiz.whatif.order.reorder import Reordered
from perwiz.whatif.ranking.change import Asker, Change
from perwiz.whatif.run import Run, swept_makespan
from perwiz.whatif.worth import worth
from perwiz.whatif.worth.singles import singles

_ROOM = 300_000
"""Vertices that all orders tried may have together, in thousands of calls moved; each is a graph of its own."""
_SITE = 100
"""Calls of a site that are moved together at most."""


def changes(asker: Asker) -> list[Change]:
    """Return what gains if what calls wait for runs earlier: a call, the instance of a region around it, or for all calls of a site."""
    run, out = asker.run, []
    promise = singles(run).zero_wait
    best = np.flatnonzero(promise < run.makespan)
    best = best[np.argsort(promise[best], kind="stable")]
    tries = min(worth.TRIED, _ROOM // max(run.graph.vertices, 1))
    for call in best[:tries].tolist():
        for region in (None, *_around(run, call)):
            if tries > 0:
                out += _tried(run, [call], region, "call", f"what {_named(run, call)} waits for runs earlier")
                tries -= 1
    return out + _of_sites(run, best.tolist())


def _named(run: Run, call: int) -> str:
    return f"{operations.OPS[run.trace.calls.op[call]]} {named_call(run.trace, call)}"


def _around(run: Run, call: int) -> list[str]:
    """Return the regions that the call lies in that a call waits for, the innermost first."""
    trace, partner, out = run.trace, int(run.waits.partner[call]), []
    path = int(trace.calls.path[partner]) if partner >= 0 else -1
    while path >= 0:
        out.append(trace.names[trace.paths.region[path]])
        path = int(trace.paths.parent[path])
    return out


def _tried(run: Run, calls: list[int], region: str | None, by: str, what: str) -> list[Change]:
    """Return the change, if it gains."""
    argument = ",".join(f"e{call}" for call in calls)
    question = worth.hypothesis(f"advance by {region}" if region else "advance", argument)
    try:
        weighted = worth.change(run.weighted, f"advance by {region}" if region else "advance", calls)
    except UsageError:
        return []
    makespan = swept_makespan(weighted)
    if makespan >= run.makespan:
        return []
    passed = sum(move.receives(run.trace) for move in weighted.moves) if isinstance(weighted, Reordered) else 0
    what += f", with the {region} around it" if region else ""
    return [Change("order", by, question, what, makespan, np.array(calls, "i8"), passed)]


def _of_sites(run: Run, best: list[int]) -> list[Change]:
    """Return what gains if what all waiting calls of a site wait for runs earlier, of the sites of the calls that are worth most."""
    if not best:
        return []
    site_of, sites = selectors.sites(run.trace)
    out, room = [], _ROOM
    for site in dict.fromkeys(site_of[best].tolist()):
        calls = np.flatnonzero((site_of == site) & (run.waits.time > 0))
        room -= len(calls) * run.graph.vertices
        if 1 < len(calls) <= _SITE and room > 0:
            what = f"what all {len(calls)} calls of {selectors.site(*sites[site])} wait for runs earlier"
            out += _tried(run, calls.tolist(), None, "site", what)
    return out
