# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Messages as flows through links: when each is done if those that are overloaded are shared max-min fairly."""

import cython

_ALMOST = cython.declare(cython.double, 1e-9)
"""Part of a number that rounding may have added to it."""
_NEVER = cython.declare(cython.double, 1e300)


def flow(
    start: cython.const[cython.longlong][::1],
    volume: cython.const[cython.double][::1],
    most: cython.double,
    route: cython.const[cython.int][::1],
    first: cython.const[cython.int][::1],
    link: cython.const[cython.int][::1],
    part: cython.const[cython.double][::1],
    capacity: cython.const[cython.double][::1],
    scratch: tuple,
    done: cython.double[::1],
) -> None:
    """Write to `done` when each flow has passed its `volume`: it starts at `start`, ascending, and passes `most` per ns if it is alone.

    Flow f passes the links `link[first[route[f]] .. first[route[f] + 1] - 1]`, and takes `part` of its rate of each. `scratch` has three
    columns of flows (left, rate: double; there: int), four of links, zero (demand, spare: double; count: int; unfixed: double), and another
    of flows (int).
    """
    left: cython.double[::1] = scratch[0]
    rate: cython.double[::1] = scratch[1]
    there: cython.int[::1] = scratch[2]
    demand: cython.double[::1] = scratch[3]
    spare: cython.double[::1] = scratch[4]
    count: cython.int[::1] = scratch[5]
    flows: cython.Py_ssize_t = len(start)
    active: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t = 0
    now: cython.double = 0.0
    while i < flows or active > 0:
        then: cython.double = start[i] if i < flows else _NEVER
        for k in range(active):
            f = there[k]
            then = min(then, now + left[f] / rate[f])
        past: cython.double = max(then - now, 0.0)
        now = max(then, now)
        changed: cython.bint = False
        row: cython.Py_ssize_t = 0
        while row < active:
            f = there[row]
            left[f] -= rate[f] * past
            if left[f] > volume[f] * _ALMOST and left[f] > rate[f] * 1e-4:
                row += 1
                continue
            done[f] = now
            active -= 1
            there[row] = there[active]
            for e in range(first[route[f]], first[route[f] + 1]):
                changed = changed or demand[link[e]] > capacity[link[e]] * (1 + _ALMOST)
                count[link[e]] -= 1
                demand[link[e]] = demand[link[e]] - part[e] * most if count[link[e]] > 0 else 0.0
        while i < flows and start[i] <= now:
            left[i] = volume[i]
            rate[i] = most
            there[active] = i
            active += 1
            for e in range(first[route[i]], first[route[i] + 1]):
                count[link[e]] += 1
                demand[link[e]] += part[e] * most
                changed = changed or demand[link[e]] > capacity[link[e]] * (1 + _ALMOST)
            i += 1
        if changed:
            _share(most, route, first, link, part, capacity, demand, spare, scratch[6], scratch[7], there, active, rate)


@cython.cfunc
def _share(
    most: cython.double,
    route: cython.const[cython.int][::1],
    first: cython.const[cython.int][::1],
    link: cython.const[cython.int][::1],
    part: cython.const[cython.double][::1],
    capacity: cython.const[cython.double][::1],
    demand: cython.const[cython.double][::1],
    spare: cython.double[::1],
    unfixed: cython.double[::1],
    waiting: cython.int[::1],
    there: cython.const[cython.int][::1],
    active: cython.Py_ssize_t,
    rate: cython.double[::1],
) -> cython.void:
    """Write the rates of the flows that are there: the smallest as large as can be, then the next, within what overloaded links carry."""
    left: cython.Py_ssize_t = 0
    for k in range(active):
        f = there[k]
        rate[f] = most
        shares: cython.bint = False
        for e in range(first[route[f]], first[route[f] + 1]):
            if demand[link[e]] > capacity[link[e]] * (1 + _ALMOST):
                if not shares:
                    waiting[left] = f
                    left += 1
                    shares = True
                spare[link[e]] = capacity[link[e]]
                unfixed[link[e]] = 0.0
    for k in range(left):
        f = waiting[k]
        for e in range(first[route[f]], first[route[f] + 1]):
            unfixed[link[e]] += part[e]
    while left > 0:
        least: cython.double = _NEVER
        for k in range(left):
            f = waiting[k]
            rate[f] = most
            for e in range(first[route[f]], first[route[f] + 1]):
                if demand[link[e]] > capacity[link[e]] * (1 + _ALMOST):
                    rate[f] = min(rate[f], spare[link[e]] / unfixed[link[e]])
            least = min(least, rate[f])
        kept: cython.Py_ssize_t = 0
        for k in range(left):
            f = waiting[k]
            if rate[f] > least * (1 + _ALMOST):
                waiting[kept] = f
                kept += 1
                continue
            rate[f] = least
            for e in range(first[route[f]], first[route[f] + 1]):
                if demand[link[e]] > capacity[link[e]] * (1 + _ALMOST):
                    spare[link[e]] = max(spare[link[e]] - part[e] * least, 0.0)
                    unfixed[link[e]] -= part[e]
        left = kept
