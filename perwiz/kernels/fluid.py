# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Messages as flows through links: when each is done if those that are overloaded are shared max-min fairly."""

import cython
import numpy as np

_ALMOST = cython.declare(cython.double, 1e-9)
"""Part of a number that rounding may have added to it."""
_NEVER = cython.declare(cython.double, 1e300)

Flow = cython.struct(left=cython.double, rate=cython.double, there=cython.int, waiting=cython.int)
FLOW = np.dtype([("left", "f8"), ("rate", "f8"), ("there", "i4"), ("waiting", "i4")], align=True)
"""Of a flow what has not passed yet, and its rate, per ns; in its first rows also which flows are there, and which wait for their rate."""
Load = cython.struct(demand=cython.double, spare=cython.double, unfixed=cython.double, flows=cython.int)
LOAD = np.dtype([("demand", "f8"), ("spare", "f8"), ("unfixed", "f8"), ("flows", "i4")], align=True)
"""Of a link what the flows on it would take, each alone; what it has left to share, and the parts of those without a rate; how many flows
are on it. Zero at first.
"""


def flow(
    start: cython.const[cython.longlong][::1],
    volume: cython.const[cython.double][::1],
    most: cython.double,
    route: cython.const[cython.int][::1],
    first: cython.const[cython.int][::1],
    link: cython.const[cython.int][::1],
    part: cython.const[cython.double][::1],
    capacity: cython.const[cython.double][::1],
    state: Flow[::1],
    load: Load[::1],
    done: cython.double[::1],
) -> None:
    """Write to `done` when each flow has passed its `volume`: it starts at `start`, ascending, and passes `most` per ns if it is alone.

    Flow f passes the links `link[first[route[f]] .. first[route[f] + 1] - 1]`, and takes `part` of its rate of each. `state` has a
    row per flow, `load` one per link.
    """
    flows: cython.Py_ssize_t = len(start)
    active: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t = 0
    now: cython.double = 0.0
    while i < flows or active > 0:
        then: cython.double = start[i] if i < flows else _NEVER
        for k in range(active):
            f = state[k].there
            then = min(then, now + state[f].left / state[f].rate)
        past: cython.double = max(then - now, 0.0)
        now = max(then, now)
        changed: cython.bint = False
        row: cython.Py_ssize_t = 0
        while row < active:
            f = state[row].there
            state[f].left -= state[f].rate * past
            if state[f].left > volume[f] * _ALMOST and state[f].left > state[f].rate * 1e-4:
                row += 1
                continue
            done[f] = now
            active -= 1
            state[row].there = state[active].there
            for e in range(first[route[f]], first[route[f] + 1]):
                changed = changed or load[link[e]].demand > capacity[link[e]] * (1 + _ALMOST)
                load[link[e]].flows -= 1
                load[link[e]].demand = load[link[e]].demand - part[e] * most if load[link[e]].flows > 0 else 0.0
        while i < flows and start[i] <= now:
            state[i].left = volume[i]
            state[i].rate = most
            state[active].there = i
            active += 1
            for e in range(first[route[i]], first[route[i] + 1]):
                load[link[e]].flows += 1
                load[link[e]].demand += part[e] * most
                changed = changed or load[link[e]].demand > capacity[link[e]] * (1 + _ALMOST)
            i += 1
        if changed:
            _share(most, route, first, link, part, capacity, state, load, active)


@cython.cfunc
def _share(
    most: cython.double,
    route: cython.const[cython.int][::1],
    first: cython.const[cython.int][::1],
    link: cython.const[cython.int][::1],
    part: cython.const[cython.double][::1],
    capacity: cython.const[cython.double][::1],
    state: Flow[::1],
    load: Load[::1],
    active: cython.Py_ssize_t,
) -> cython.void:
    """Write the rates of the flows that are there: the smallest as large as can be, then the next, within what overloaded links carry."""
    left: cython.Py_ssize_t = 0
    for k in range(active):
        f = state[k].there
        state[f].rate = most
        shares: cython.bint = False
        for e in range(first[route[f]], first[route[f] + 1]):
            if load[link[e]].demand > capacity[link[e]] * (1 + _ALMOST):
                if not shares:
                    state[left].waiting = f
                    left += 1
                    shares = True
                load[link[e]].spare = capacity[link[e]]
                load[link[e]].unfixed = 0.0
    for k in range(left):
        f = state[k].waiting
        for e in range(first[route[f]], first[route[f] + 1]):
            load[link[e]].unfixed += part[e]
    while left > 0:
        least: cython.double = _NEVER
        for k in range(left):
            f = state[k].waiting
            state[f].rate = most
            for e in range(first[route[f]], first[route[f] + 1]):
                if load[link[e]].demand > capacity[link[e]] * (1 + _ALMOST):
                    state[f].rate = min(state[f].rate, load[link[e]].spare / load[link[e]].unfixed)
            least = min(least, state[f].rate)
        kept: cython.Py_ssize_t = 0
        for k in range(left):
            f = state[k].waiting
            if state[f].rate > least * (1 + _ALMOST):
                state[kept].waiting = f
                kept += 1
                continue
            state[f].rate = least
            for e in range(first[route[f]], first[route[f] + 1]):
                if load[link[e]].demand > capacity[link[e]] * (1 + _ALMOST):
                    load[link[e]].spare = max(load[link[e]].spare - part[e] * least, 0.0)
                    load[link[e]].unfixed -= part[e]
        left = kept
