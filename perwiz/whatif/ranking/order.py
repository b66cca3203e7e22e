"""Another order of calls: what waits that are worth something wait for runs earlier on its own process."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz import words
from perwiz.errors import UsageError
from perwiz.loggps.weigh import Weighted
from perwiz.trace import operations
from perwiz.trace.trace import named_call
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.order.ordering_rules import why_fixed
from perwiz.whatif.order.reorder import Reordered, receives
from perwiz.whatif.ranking.change import Asker, Change, NotTriedError
from perwiz.whatif.run import Run, swept_makespan
from perwiz.whatif.worth import worth
from perwiz.whatif.worth.singles import singles

ROOM = 300_000
"""Vertices that the graphs of all orders tried may have together: each order is one of its own, and each call of a site asks for one."""
SITE = 100
"""Calls of a site that are moved together at most."""


def changes(asker: Asker) -> list[Change]:
    """Return what gains if what calls wait for runs earlier: a call, the instance of a region around it, or for all calls of a site.

    Raises NotTriedError if no graph fits into ROOM, and if nothing may be moved.
    """
    run, out = asker.run, []
    if why := why_fixed(run.trace):
        raise NotTriedError(why)
    promise = singles(run).zero_wait
    best = np.flatnonzero(promise < run.makespan)
    best = best[np.argsort(promise[best], kind="stable")]
    if len(best) and run.graph.vertices > ROOM:
        calls = words.several(len(run.trace.calls), "call")
        raise NotTriedError(f"{calls} are too many for it in this list; perwiz domino --question advance lists single calls (without -q)")
    tries = min(worth.TRIED, ROOM // max(run.graph.vertices, 1))
    for call in best[:tries].tolist():
        for region in (None, *_around(run, call)):
            if tries > 0:
                out += _tried(asker, call, region)
                tries -= 1
    return out + _of_sites(asker, best.tolist())


def _around(run: Run, call: int) -> list[str]:
    """Return the regions that the call lies in that a call waits for, the innermost first."""
    trace, partner, out = run.trace, int(run.waits.partner[call]), []
    path = int(trace.calls.path[partner]) if partner >= 0 else -1
    while path >= 0:
        out.append(trace.names[trace.paths.region[path]])
        path = int(trace.paths.parent[path])
    return out


def _tried(asker: Asker, call: int, region: str | None) -> list[Change]:
    """Return the change of what a call waits for, if it gains."""
    run, question = asker.run, worth.hypothesis(f"advance by {region}" if region else "advance", f"e{call}")
    try:
        weighted = asker.changed([parse(question)])
    except UsageError:
        return []
    name = f"{operations.OPS[run.trace.calls.op[call]]} {named_call(run.trace, call)}"
    what = f"what {name} waits for runs earlier{f', with the {region} around it' if region else ''}"
    return gaining(run, weighted, Change("order", "call", question, what, swept_makespan(weighted), np.array([call], "i8")))


def gaining(run: Run, weighted: Weighted, change: Change) -> list[Change]:
    """Return a change with how many receives it passes; nothing if it does not gain."""
    moves = [move for move in weighted.moves if move.end >= move.before] if isinstance(weighted, Reordered) else []
    passed = receives(run.trace, moves)
    safe = bool(moves) and all(move.before == move.first for move in moves)
    return [dataclasses.replace(change, receives_passed=passed, safe=safe)] if change.makespan < run.makespan else []


def _of_sites(asker: Asker, best: list[int]) -> list[Change]:
    """Return what gains if what all calls of a site wait for runs earlier, of the sites of the calls that are worth most."""
    run, out, room = asker.run, list[Change](), ROOM
    site_of, sites = selectors.sites(run.trace)
    for site in dict.fromkeys(site_of[best].tolist()):
        name, calls = selectors.site(*sites[site]), np.flatnonzero(site_of == site)
        asked = selectors.joined([f"site:{name}"])
        room -= len(calls) * run.graph.vertices
        if asked and 1 < len(calls) <= SITE and room > 0:
            weighted = asker.changed([parse(f"advance {asked}")])
            what = f"what the {len(calls)} calls of {name} wait for runs earlier"
            out += gaining(run, weighted, Change("order", "site", f"advance {asked}", what, swept_makespan(weighted), calls))
    return out
