"""The slow, obvious twins of the kernels of the controlled logical clock: sets, fractions and the formulas as they are printed."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

from hypothesis import reject
from hypothesis import strategies as st

import build

FREE = 1 << 62
BILLION = 1_000_000_000


@st.composite
def traces(draw, regions=True):
    """Draw a random trace that ends; in some of `build.programs` a synchronous send waits for a receive posted too late."""
    try:
        return draw(build.programs(regions))
    except AssertionError:
        reject()


def distance(place, a, b):
    """Return the pair class of two locations, each (process, node, metahost)."""
    if a == b:
        return 0
    if place[a][0] == place[b][0]:
        return 1
    if place[a][2] != place[b][2]:
        return 4
    return 2 if place[a][1] == place[b][1] else 3


def _sets(start, source, binding, owner, instant):
    """Return per hub the set of (location, instant) its collective waits for so far."""
    found = {}
    for v, here in enumerate(owner):
        if here < 0:
            found[v] = set()
            for k in range(start[v], start[v + 1]):
                u = source[k]
                if binding[k]:
                    found[v] |= found[u] if owner[u] < 0 else {(owner[u], instant(u))}
    return found


def forward(start, source, binding, cause, inside, owner, place, rate, mu, recorded):
    """Return (corrected time per vertex, {vertex: time before its jump}, [(by messages, by collectives, by links)] per location).

    Becker et al. 2009, equation (4'): with an anchor for the stretch in which a clock runs at gamma, so that only sums are rounded.
    """
    gamma = Fraction(BILLION - rate, BILLION)
    out, before, last, anchor = list(recorded), {}, {}, {}
    counts = [[0, 0, 0] for _ in place]
    sets = {0: set()}
    for v in range(1, len(owner)):
        here = owner[v]
        edges = [k for k in range(start[v], start[v + 1]) if binding[k]]
        if here < 0:
            sets[v] = set()
            for k in edges:
                u = source[k]
                sets[v] |= sets[u] if owner[u] < 0 else {(owner[u], out[u])}
            continue
        own = [recorded[v]]
        if here in anchor:
            u, a = last[here], anchor[here]
            own.append(out[u] + min(1, recorded[v] - recorded[u]))
            own.append(out[a] + math.ceil(gamma * (recorded[v] - recorded[a])))
        arrivals = [(max(own), -1)]
        for k in edges:
            u = source[k]
            if binding[k] == 5:
                arrivals += [(t + mu[distance(place, here, where)], k) for where, t in sets[u] if where != here]
            else:
                arrivals.append((out[u] + mu[binding[k]] + inside[cause[k]], k))
        out[v] = max(t for t, _ in arrivals)
        by = next(k for t, k in arrivals if t == out[v])
        if by >= 0:
            before[v] = max(own)
            counts[here][{5: 1, 1: 2}.get(binding[by], 0)] += 1
            anchor[here] = v
        elif out[v] == recorded[v]:
            anchor.pop(here, None)
        last[here] = v
    return out, before, counts


def delays(start, source, binding, cause, inside, owner, place, time):
    """Return, by pair class, the shortest time from a cause to its effect; the latest causes of a collective only (see the kernel)."""
    shortest = [FREE] * 5
    sets = _sets(start, source, binding, owner, lambda u: time[u])
    for v, here in enumerate(owner):
        for k in range(start[v], start[v + 1]):
            if here < 0 or not binding[k]:
                continue
            pairs = (
                [(binding[k], time[source[k]] + inside[cause[k]])]
                if binding[k] < 5
                else [(distance(place, here, w), t) for w, t in sets[source[k]] if w != here]
            )
            for far, t in pairs:
                hidden = binding[k] == 5 and any((t2 > t and far2 == far) or (t2 >= t and far2 > far) for far2, t2 in pairs)
                if not hidden and time[v] >= t:
                    shortest[far] = min(shortest[far], time[v] - t)
    return shortest


def limits(start, source, binding, cause, inside, owner, place, mu, time):
    """Return per vertex the earliest time of what it causes less the latency, FREE if it causes nothing."""
    effects = {v: set() for v, here in enumerate(owner) if here < 0}
    out = [FREE] * len(owner)
    for v in range(len(owner) - 1, 0, -1):
        here = owner[v]
        for k in range(start[v], start[v + 1]):
            u = source[k]
            if not binding[k]:
                continue
            if owner[u] < 0:
                effects[u] |= effects[v] if here < 0 else {(here, time[v])}
            elif here < 0:
                out[u] = min([out[u], *(t - mu[distance(place, owner[u], w)] for w, t in effects[v] if w != owner[u])])
            else:
                out[u] = min(out[u], time[v] - mu[binding[k]] - inside[cause[k]])
    return out


def backward(begun, calls, stretch):
    """Return (calls, steepest slope) of one location, its calls given as [enter, leave, limit, time before the jump or FREE].

    What comes before a jump is moved by the largest convex function that is nowhere above a limit, 0 where the amortization begins and
    the jump where it happens: the least of all straight lines between two of these points.
    """
    calls = [list(call) for call in calls]
    steepest = 0.0
    for e, (_, leave, _, corner) in enumerate(calls):
        if corner == FREE:
            continue
        jump = leave - corner
        left = max(begun, corner - jump * stretch)
        points = [(left, 0), (corner, jump)]
        points += [(enter, limit - enter) for enter, _, limit, _ in calls[: e + 1] if enter > left and limit - enter < jump]
        pairs = [pair for pair in itertools.product(points, repeat=2) if pair[0][0] <= pair[1][0]]

        def height(t, pairs=pairs):
            return min(
                min(y1, y2) if x1 == x2 else y1 + Fraction((y2 - y1) * (t - x1), x2 - x1) for (x1, y1), (x2, y2) in pairs if x1 <= t <= x2
            )

        hull = sorted({(x, height(x)) for x, _ in points})
        steepest = max([steepest, *(float((y2 - y1) / (x2 - x1)) for (x1, y1), (x2, y2) in itertools.pairwise(hull))])
        for i in range(e + 1):
            for side in (0, 1):
                if left < calls[i][side] <= corner and (i, side) != (e, 1):
                    calls[i][side] += math.floor(height(calls[i][side]))
    return calls, steepest
