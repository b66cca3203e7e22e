"""Another order of calls: what waits that are worth something wait for runs earlier on its own process."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz import words
from perwiz.engines.sweep import swept_makespan
from perwiz.errors import UsageError
from perwiz.loggps.weigh import Weighted
from perwiz.trace import operations
from perwiz.trace.arrays import I8
from perwiz.trace.trace import Trace, named_call
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.order import COMPUTATION, RECEIVE
from perwiz.whatif.order.ahead import Places, sends_waited_for
from perwiz.whatif.order.behind import others_before, receives_before
from perwiz.whatif.order.ordering_rules import why_fixed
from perwiz.whatif.order.reorder import Reordered, receives, recorded_rows
from perwiz.whatif.ranking.change import Asker, Change, NotTriedError
from perwiz.whatif.ranking.situations import in_chains
from perwiz.whatif.run import Run
from perwiz.whatif.worth import worth
from perwiz.whatif.worth.singles import singles

ROOM = 300_000
"""Vertices that the graphs of all orders tried may have together: each order is one of its own."""
OF_SITES = 4 * ROOM
"""The same of sites: a vertex for each call of them. What the calls of a process wait for moves in few orders."""
SITE, NAMED = 500, 8
"""Calls of a site that are moved together at most; calls that are named one by one."""
AHEAD = 2_000_000
"""Vertices that the graphs of all sends ahead of regions that are tried may have together."""
_PLACES, _SENDS, _WAITING = 4, 5_000, 0.05
"""Regions that are tried per site; sends of one that are looked at; part of all waiting from which on it is."""
_REMAINS = 0.05
"""Part of what is computed from a region to a send from which on what is computed before the region may make what is sent."""


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
        why = f"{calls} are too many for it in this list; perwiz domino --question advance lists single calls (without -q)"
        raise NotTriedError(why, _aheads(asker) + _behinds(asker) + _befores(asker))
    tries = min(worth.TRIED, ROOM // max(run.graph.vertices, 1))
    for call in best[:tries].tolist():
        for region in (None, *_around(run, call)):
            if tries > 0:
                out += _tried(asker, call, region)
                tries -= 1
    return out + _of_sites(asker, best.tolist()) + _aheads(asker) + _behinds(asker) + _befores(asker)


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
    """Return what gains if what all calls of a site wait for runs earlier, of the sites whose calls wait longest or are worth most."""
    run, out, room = asker.run, list[Change](), OF_SITES
    site_of, sites = selectors.sites(run.trace)
    for site in dict.fromkeys([*_longest(run), *site_of[best].tolist()]):
        name, calls = selectors.site(*sites[site]), np.flatnonzero(site_of == site)
        asked = selectors.joined([f"site:{name}"])
        room -= len(calls) * run.graph.vertices
        if asked and 1 < len(calls) <= SITE and room > 0:
            weighted = asker.changed([parse(f"advance {asked}")])
            what = f"what the {len(calls)} calls of {name} wait for runs earlier"
            out += gaining(run, weighted, Change("order", "site", f"advance {asked}", what, swept_makespan(weighted), calls))
    return out


def _longest(run: Run) -> list[int]:
    """Return the sites, rows, whose calls wait for a good part of all waiting, longest first."""
    site_of, sites = selectors.sites(run.trace)
    waited = np.bincount(site_of, run.waits.time, len(sites))
    return [site for site in np.argsort(-waited, kind="stable").tolist() if waited[site] > _WAITING * waited.sum()]


def _aheads(asker: Asker) -> list[Change]:
    """Return what gains if the sends that calls of a site wait for run ahead of a region: where something before that may make what they
    send, and processes do not wait in a chain, in which each makes it of what the one before has sent.
    """
    run, trace, out = asker.run, asker.run.trace, list[Change]()
    tries = AHEAD // max(run.graph.vertices, 1)
    if not len(trace.regions) or not tries:
        return out
    site_of, sites = selectors.sites(trace)
    for site in _longest(run):
        asked, calls = selectors.joined([f"site:{selectors.site(*sites[site])}"]), np.flatnonzero(site_of == site)
        sends = sends_waited_for(recorded_rows(run.weighted), calls)
        if not asked or not 0 < len(sends) <= _SENDS or in_chains(run, calls[run.waits.time[calls] > 0]):
            continue
        for region in _regions_before(trace, sends)[: min(_PLACES, tries)]:
            tries -= 1
            out += _before(asker, asked, calls, region)
    return out


def _behinds(asker: Asker) -> list[Change]:
    """Return what gains if the sends that calls of a site wait for run ahead of the receive before them: where processes wait in a chain,
    and compute at least as long before those receives as between them and the sends, so that this may be what makes what is sent.
    """
    run, out = asker.run, list[Change]()
    tries = AHEAD // max(run.graph.vertices, 1)
    site_of, sites = selectors.sites(run.trace)
    for site in _longest(run):
        asked, calls = selectors.joined([f"site:{selectors.site(*sites[site])}"]), np.flatnonzero(site_of == site)
        if not asked or not tries or not in_chains(run, calls[run.waits.time[calls] > 0]):
            continue
        sends = sends_waited_for(recorded_rows(run.weighted), calls)
        if not 0 < len(sends) <= _SENDS or not _ready(run.trace, sends):
            continue
        tries -= 1
        question = f"advance {asked} before {RECEIVE}"
        weighted = asker.changed([parse(question)])
        what = f"{_one_site(run.trace, sends)} ahead of the receive before each"
        out += gaining(run, weighted, Change("order", "site", question, what, swept_makespan(weighted), calls))
    return out


def _befores(asker: Asker) -> list[Change]:
    """Return what there is to gain at best if the sends that calls of a site wait for run ahead of what is computed before them: no trace
    tells how much of that makes what is sent. Not where processes wait in a chain, nor behind receives, which may bring what it is made of.
    """
    run, trace, out = asker.run, asker.run.trace, list[Change]()
    tries = AHEAD // max(run.graph.vertices, 1)
    site_of, sites = selectors.sites(trace)
    for site in _longest(run):
        asked, calls = selectors.joined([f"site:{selectors.site(*sites[site])}"]), np.flatnonzero(site_of == site)
        if not asked or not tries or in_chains(run, calls[run.waits.time[calls] > 0]):
            continue
        sends = sends_waited_for(recorded_rows(run.weighted), calls)
        before = others_before(trace, sends)
        if not 0 < len(sends) <= _SENDS or np.isin(before, trace.messages.receive_done).any():
            continue
        tries -= 1
        question = f"advance {asked} before {COMPUTATION}"
        makespan = swept_makespan(asker.changed([parse(question)]))
        what = f"{_one_site(trace, sends)} before what is computed directly before, if its data is ready by then"
        change = Change("order", "site", question, what, makespan, calls, at_most=True)
        out += [change] if makespan < run.makespan else []
    return out


def _ready(trace: Trace, sends: I8) -> bool:
    """Return whether processes compute at least as long directly before the receives before sends as between both, in sum.

    Compute 6, receive, compute 2, send: yes, what is sent may come of the 6; receive, compute 2, send, receive, compute 2, send: no.
    """
    receive = receives_before(trace, sends)
    sends, receive = sends[receive >= 0], receive[receive >= 0]
    enter, leave = trace.timeline.calls.enter, trace.timeline.calls.leave
    took = np.concatenate(([0], np.cumsum(leave - enter)))
    between = enter[sends] - leave[receive] - (took[sends] - took[receive + 1])
    location = trace.calls.location[receive]
    since = np.where(receive > trace.first_calls[location], leave[receive - 1], trace.timeline.locations.enter[location])
    return bool(len(sends)) and bool((enter[receive] - since).sum() >= between.sum())


def _one_site(trace: Trace, sends: I8) -> str:
    """Return the site of some sends, or how many they are where it is not one."""
    site_of, sites = selectors.sites(trace)
    names = {selectors.site(*sites[site]) for site in site_of[sends].tolist()}
    return names.pop() if len(names) == 1 else words.several(len(sends), "send")


def _regions_before(trace: Trace, sends: I8) -> list[str]:
    """Return the regions that sends may run ahead of, what is computed longest there first."""
    places, computed = Places(trace), dict[str, int]()
    for send in sends.tolist():
        for place in places.of(send):
            name = trace.names[trace.region_names[place.instance]]
            computed[name] = computed.get(name, 0) + _movable(trace, send, place.instance)
    return sorted((name for name, took in computed.items() if took > 0), key=lambda name: -computed[name])


def _movable(trace: Trace, send: int, instance: int) -> int:
    """Return how long an instance of a region ahead of a send takes, ns; negative where nothing before it may make what is sent: what is
    computed since the call before it, and collectives.
    """
    times, regions, location = trace.timeline.calls, trace.timeline.regions, int(trace.calls.location[send])
    before = int(trace.regions.first_call[instance]) - 1
    enter, took = int(regions.enter[instance]), int(regions.leave[instance] - regions.enter[instance])
    if before < trace.first_calls[location] or operations.COLLECTIVE[trace.calls.op[before]]:
        return took
    return took if enter - int(times.leave[before]) >= _REMAINS * (int(times.enter[send]) - enter) else -took


def _before(asker: Asker, asked: str, calls: I8, region: str) -> list[Change]:
    """Return the change of sends that run ahead of a region, if it gains."""
    run, trace, question = asker.run, asker.run.trace, f"advance {asked} before {region}"
    weighted = asker.changed([parse(question)])
    if not isinstance(weighted, Reordered) or (makespan := swept_makespan(weighted)) >= run.makespan:
        return []
    moved = np.array([move.first for move in weighted.moves if move.region], "i8")
    where = _one_site(trace, moved)
    part = "" if len(moved) == len(weighted.moves) else f" ({len(moved)} of {len(weighted.moves)} times)"
    return [Change("order", "site", question, f"{where} before {region}{part}, if its data is ready by then", makespan, calls)]
