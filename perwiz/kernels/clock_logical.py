# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""The controlled logical clock: forward amortization and the limits of sends, each one pass over the happened-before graph.

`binding` says per edge how a cause binds: UNBOUND, as a message between two locations by their pair class, or as a HUB. `owner` is the
location of a vertex, or -1 - row of `summaries` for a hub; row 0 stays empty. A message takes at least the latency of its class and what
`inside` says under its row, `cause`: how long its records are inside its calls, behind the entry of one and before the return of the other.
So does a link, whose row of `inside` is 0.

A summary tells of a set of instants at different locations the latest one plus its latency for any other location. It keeps the latest
of all and, by the distance from where that was, the latest of the others, as far as they can matter; latencies must not fall with the
distance.

`forward` and `limits` go over the vertices that `start` is given for: all, or the last ones of `owner`.
"""

from __future__ import annotations

import cython
import numpy as np

from perwiz.kernels import names

SAME = cython.declare(cython.Py_ssize_t, names.SAME)
WITHIN = cython.declare(cython.Py_ssize_t, names.WITHIN)
NODE = cython.declare(cython.Py_ssize_t, names.NODE)
METAHOST = cython.declare(cython.Py_ssize_t, names.METAHOST)
ACROSS = cython.declare(cython.Py_ssize_t, names.ACROSS)
PAIR_CLASSES = cython.declare(cython.Py_ssize_t, names.PAIR_CLASSES)
UNBOUND = cython.declare(cython.int, names.UNBOUND)
HUB = cython.declare(cython.int, names.HUB)
FREE = cython.declare(cython.longlong, names.FREE)
NEVER = cython.declare(cython.longlong, -names.FREE)
BILLION = cython.declare(cython.longlong, 1_000_000_000)

Clock = cython.struct(
    process=cython.longlong,
    node=cython.longlong,
    metahost=cython.longlong,
    jumped=cython.longlong,
    lead_jumped=cython.longlong,
    last=cython.longlong,
    lead=cython.longlong,
    most=cython.longlong,
    by_message=cython.longlong,
    by_collective=cython.longlong,
    by_link=cython.longlong,
)
_PLACE = ("process", "node", "metahost")
_CLOCK = (*_PLACE, "jumped", "lead_jumped", "last", "lead", "most", "by_message", "by_collective", "by_link")
CLOCK = np.dtype([(field, "i8") for field in _CLOCK])
"""Per location where it is, and what the forward pass knows of its clock: recorded time and lead (corrected less recorded time) at the
last jump, last recorded time, lead now, largest lead, jumps by messages, by collectives, and by other locations of its process."""
Summary = cython.struct(latest=cython.longlong[5], location=cython.longlong)
SUMMARY = np.dtype([("latest", "i8", names.PAIR_CLASSES), ("location", "i8")])
"""The latest instant of all (SAME) and of those at a distance from it, and where it was; location -1: none at all."""


@cython.cfunc
def _distance(clocks: Clock[::1], a: cython.Py_ssize_t, b: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the pair class of two locations."""
    if a == b:
        return SAME
    if clocks[a].process == clocks[b].process:
        return WITHIN
    if clocks[a].metahost != clocks[b].metahost:
        return ACROSS
    return NODE if clocks[a].node == clocks[b].node else METAHOST


@cython.cfunc
@cython.exceptval(check=False)
def _insert(
    summaries: Summary[::1], row: cython.Py_ssize_t, clocks: Clock[::1], location: cython.Py_ssize_t, time: cython.longlong
) -> cython.void:
    """Add an instant to a summary: the later one stays the latest, the other becomes one at a distance from it."""
    if summaries[row].location < 0:
        summaries[row].latest[SAME] = time
        summaries[row].location = location
        return
    far = _distance(clocks, location, summaries[row].location)
    if time <= summaries[row].latest[SAME]:
        if far > SAME and time > summaries[row].latest[far]:
            summaries[row].latest[far] = time
        return
    for d in range(WITHIN, far):
        summaries[row].latest[d] = NEVER
    if far > SAME:
        summaries[row].latest[far] = summaries[row].latest[SAME]
    summaries[row].latest[SAME] = time
    summaries[row].location = location


@cython.cfunc
@cython.exceptval(check=False)
def _merge(summaries: Summary[::1], row: cython.Py_ssize_t, clocks: Clock[::1], added: cython.Py_ssize_t) -> cython.void:
    """Add to a summary all that another sums up."""
    if summaries[added].location < 0:
        return
    far = ACROSS
    if summaries[row].location >= 0:
        far = _distance(clocks, summaries[row].location, summaries[added].location)
    for d in range(far + 1, PAIR_CLASSES):
        if summaries[added].latest[d] > summaries[row].latest[d]:
            summaries[row].latest[d] = summaries[added].latest[d]
    if summaries[row].location >= 0 and summaries[added].latest[SAME] <= summaries[row].latest[SAME]:
        if far > SAME and summaries[added].latest[SAME] > summaries[row].latest[far]:
            summaries[row].latest[far] = summaries[added].latest[SAME]
        return
    for d in range(WITHIN, far + 1):
        summaries[row].latest[d] = summaries[added].latest[d]
    if far > SAME and summaries[row].location >= 0 and summaries[row].latest[SAME] > summaries[row].latest[far]:
        summaries[row].latest[far] = summaries[row].latest[SAME]
    summaries[row].latest[SAME] = summaries[added].latest[SAME]
    summaries[row].location = summaries[added].location


@cython.cfunc
def _latest(
    summaries: Summary[::1],
    row: cython.Py_ssize_t,
    clocks: Clock[::1],
    latency: cython.const[cython.longlong][::1],
    location: cython.Py_ssize_t,
) -> cython.longlong:
    """Return the latest instant of a summary plus its latency to a location, whose own instant is left out."""
    best = NEVER
    if summaries[row].location < 0:
        return best
    far = _distance(clocks, location, summaries[row].location)
    if far > SAME:
        best = summaries[row].latest[SAME] + latency[far]
    for d in range(far + 1, PAIR_CLASSES):
        if summaries[row].latest[d] + latency[d] > best:
            best = summaries[row].latest[d] + latency[d]
    return best


@cython.cfunc
@cython.exceptval(check=False)
def _jump(
    clocks: Clock[::1], location: cython.Py_ssize_t, by: cython.longlong, recorded: cython.longlong, binding: cython.int
) -> cython.void:
    """Note that the clock of a location is put forward at a recorded instant, by what binds it so."""
    clocks[location].lead += by
    clocks[location].lead_jumped = clocks[location].lead
    clocks[location].jumped = clocks[location].last = recorded
    if clocks[location].lead > clocks[location].most:
        clocks[location].most = clocks[location].lead
    if binding == HUB:
        clocks[location].by_collective += 1
    elif binding == WITHIN:
        clocks[location].by_link += 1
    else:
        clocks[location].by_message += 1


@cython.cfunc
def _lead(time: cython.longlong, clocks: Clock[::1], location: cython.Py_ssize_t, decay: cython.longlong) -> cython.longlong:
    """Return how far a clock is ahead at an instant: its lead falls by `decay` ns per second, but no two instants become one."""
    passed = time - clocks[location].last
    since = time - clocks[location].jumped
    if passed <= 0:
        return clocks[location].lead
    lead = clocks[location].lead_jumped - (since // BILLION * decay + since % BILLION * decay // BILLION)
    if lead < clocks[location].lead - passed + 1:
        lead = clocks[location].lead - passed + 1
    return max(lead, 0)


def forward(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    binding: cython.const[cython.uchar][::1],
    cause: cython.const[cython.int][::1],
    inside: cython.const[cython.longlong][::1],
    owner: cython.const[cython.int][::1],
    clocks: Clock[::1],
    decay: cython.longlong,
    latency: cython.const[cython.longlong][::1],
    summaries: Summary[::1],
    before: cython.longlong[::1],
    corrected: cython.longlong[::1],
) -> None:
    """Write the corrected time of every vertex; `before`, the recorded one, becomes the time just before a jump, or FREE.

    `decay` is what a second takes off the lead of a clock, ns; `latency` goes by pair class.
    """
    first: cython.Py_ssize_t = len(owner) + 1 - len(start)
    for v in range(first if first > 0 else 1, len(owner)):
        holder: cython.Py_ssize_t = owner[v]
        if holder < 0:
            for k in range(start[v - first], start[v - first + 1]):
                u = source[k]
                if binding[k] != UNBOUND and owner[u] < 0:
                    _merge(summaries, -1 - holder, clocks, -1 - owner[u])
                elif binding[k] != UNBOUND:
                    _insert(summaries, -1 - holder, clocks, owner[u], corrected[u])
            continue
        ready: cython.longlong = before[v]
        before[v] = FREE
        if clocks[holder].lead > 0:
            lead = _lead(ready, clocks, holder, decay)
            clocks[holder].last = ready
            clocks[holder].lead = lead
            ready += lead
        after: cython.longlong = ready
        by: cython.int = UNBOUND
        for k in range(start[v - first] + 1, start[v - first + 1]):
            if binding[k] == UNBOUND:
                continue
            u = source[k]
            if binding[k] == HUB:
                arrival = _latest(summaries, -1 - owner[u], clocks, latency, holder)
            else:
                arrival = corrected[u] + latency[binding[k]] + inside[cause[k]]
            if arrival > after:
                after = arrival
                by = binding[k]
        corrected[v] = after
        if by != UNBOUND:
            _jump(clocks, holder, after - ready, ready - clocks[holder].lead, by)
            before[v] = ready


def delays(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    binding: cython.const[cython.uchar][::1],
    cause: cython.const[cython.int][::1],
    inside: cython.const[cython.longlong][::1],
    owner: cython.const[cython.int][::1],
    clocks: Clock[::1],
    summaries: Summary[::1],
    time: cython.const[cython.longlong][::1],
    shortest: cython.longlong[::1],
) -> None:
    """Lower `shortest[d]` to the shortest time from a cause to its effect over pairs of class d. Reversed ones do not count.

    Nor does a cause that another, as late or later, hides from further away: latencies do not fall with the distance.
    """
    first: cython.Py_ssize_t = len(owner) + 1 - len(start)
    for v in range(first if first > 0 else 1, len(owner)):
        holder: cython.Py_ssize_t = owner[v]
        partners: cython.Py_ssize_t = start[v - first] if holder < 0 else start[v - first] + 1
        for k in range(partners, start[v - first + 1]):
            u = source[k]
            if binding[k] == UNBOUND:
                continue
            if holder < 0:
                if owner[u] < 0:
                    _merge(summaries, -1 - holder, clocks, -1 - owner[u])
                else:
                    _insert(summaries, -1 - holder, clocks, owner[u], time[u])
                continue
            if binding[k] != HUB:
                lag = time[v] - time[u] - inside[cause[k]]
                if 0 <= lag < shortest[binding[k]]:
                    shortest[binding[k]] = lag
                continue
            row: cython.Py_ssize_t = -1 - owner[u]
            if summaries[row].location >= 0:
                far = _distance(clocks, holder, summaries[row].location)
                later = NEVER
                for d in range(PAIR_CLASSES - 1, max(far, WITHIN) - 1, -1):
                    instant = summaries[row].latest[SAME if d == far else d]
                    if instant <= later:
                        continue
                    later = instant
                    lag = time[v] - instant
                    if 0 <= lag < shortest[d]:
                        shortest[d] = lag


def limits(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    binding: cython.const[cython.uchar][::1],
    cause: cython.const[cython.int][::1],
    inside: cython.const[cython.longlong][::1],
    owner: cython.const[cython.int][::1],
    clocks: Clock[::1],
    latency: cython.const[cython.longlong][::1],
    summaries: Summary[::1],
    limit: cython.longlong[::1],
    corrected: cython.const[cython.longlong][::1],
) -> None:
    """Lower `limit` of each vertex that sends to the earliest of the receivers' corrected times less the latency: it may not be later.

    One pass against the order; `summaries` sum up receivers, their times negated. Vertices that send are FREE before.
    """
    first: cython.Py_ssize_t = len(owner) + 1 - len(start)
    for v in range(len(owner) - 1, first - 1 if first > 0 else 0, -1):
        holder: cython.Py_ssize_t = owner[v]
        partners: cython.Py_ssize_t = start[v - first] if holder < 0 else start[v - first] + 1
        for k in range(partners, start[v - first + 1]):
            u = source[k]
            if binding[k] == UNBOUND:
                continue
            if binding[k] == HUB and owner[u] < 0:
                if holder < 0:
                    _merge(summaries, -1 - owner[u], clocks, -1 - holder)
                else:
                    _insert(summaries, -1 - owner[u], clocks, holder, -corrected[v])
                continue
            if holder < 0:
                latest = -_latest(summaries, -1 - holder, clocks, latency, owner[u])
            else:
                latest = corrected[v] - latency[binding[k]] - inside[cause[k]]
            if latest < limit[u]:
                limit[u] = latest
