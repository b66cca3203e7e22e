# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Messages as flows through links: when each is done if those that are overloaded are shared max-min fairly.

The level of a link is the rate that flows have there which nothing else holds back: that at which it is full, given the levels of the
other links on their ways. A flow has the smallest of its levels, and no more than it has alone. What begins or ends moves the levels of
its links, each of these perhaps those of links that flows share with it, and so on until none moves, in any order (Charny, Clark and Jain,
Congestion control with explicit rate indication, 1995). Links and flows that a change does not reach are not touched.
"""

import cython
import numpy as np

_ALMOST = cython.declare(cython.double, 1e-9)
"""Part of a number that rounding may have added to it."""
_SOON = cython.declare(cython.double, 1e-4)
"""ns that are no time."""
_NEVER = cython.declare(cython.double, 1e300)
_NONE = cython.declare(cython.int, -1)
_OUT = cython.declare(cython.int, -2)
"""In place of what follows in a list: not in it."""

Flow = cython.struct(
    left=cython.double,
    rate=cython.double,
    since=cython.double,
    end=cython.double,
    volume=cython.double,
    flow=cython.int,
    links=cython.int,
    place=cython.int,
)
FLOW = np.dtype(
    [*((name, "f8") for name in ("left", "rate", "since", "end", "volume")), *((name, "i4") for name in ("flow", "links", "place"))],
    align=True,
)
"""A flow that is there, in a row that another one has when it is done: what was `left` at `since`, its rate, per ns, when it will have
passed with that, its volume, number and links; its place in the heap of those that are there, or the next free row.
"""
Stay = cython.struct(limit=cython.double, part=cython.double, row=cython.int, link=cython.int, behind=cython.int, before=cython.int)
STAY = np.dtype([("limit", "f8"), ("part", "f8"), *((name, "i4") for name in ("row", "link", "behind", "before"))], align=True)
"""A flow on a link: the rate that others allow it, the part of its rate that it takes of this one, its row, and the stays behind and before
it in the list of the link. Those of a row stand together, as many as the longest route has links.
"""
Load = cython.struct(
    demand=cython.double,
    asked=cython.double,
    capacity=cython.double,
    level=cython.double,
    flows=cython.int,
    stay=cython.int,
    moved=cython.int,
    waits=cython.int,
    next=cython.int,
)
LOAD = np.dtype(
    [
        *((name, "f8") for name in ("demand", "asked", "capacity", "level")),
        *((name, "i4") for name in ("flows", "stay", "moved", "waits", "next")),
    ],
    align=True,
)
"""A link: what the flows on it would take, each alone, and what they take at most as others hold them back; what it carries, and its level;
how many flows are on it, and the first stay; the next of the links whose level has moved; whether it waits for its level. Beside that the
links that wait, a heap: `next` of the first rows.
"""
Desk = cython.struct(
    most=cython.double, width=cython.int, there=cython.int, free=cython.int, used=cython.int, waiting=cython.int, moved=cython.int
)
DESK = np.dtype([("most", "f8"), *((name, "i4") for name in ("width", "there", "free", "used", "waiting", "moved"))], align=True)
"""One row: the rate of a flow alone, and the most links that one has; how many flows are there; the first row that is free again, and how
many were used; how many links wait for their level, and the first whose level has moved.
"""


def flow(
    start: cython.const[cython.longlong][::1],
    volume: cython.const[cython.double][::1],
    route: cython.const[cython.int][::1],
    first: cython.const[cython.int][::1],
    link: cython.const[cython.int][::1],
    part: cython.const[cython.double][::1],
    state: Flow[::1],
    stays: Stay[::1],
    heap: cython.int[::1],
    load: Load[::1],
    desk: Desk[::1],
    done: cython.double[::1],
) -> None:
    """Write to `done` when each flow has passed its `volume`: it starts at `start`, ascending, and passes `most` per ns if it is alone.

    Flow f passes the links `link[first[route[f]] .. first[route[f] + 1] - 1]`, and takes `part` of its rate of each. `state` and `heap`
    have a row per flow, `stays` a `width` for each, `load` one per link with its capacity, `desk` one with `most` and `width`; else 0.
    """
    for k in range(len(load)):
        load[k].level = _NEVER
        load[k].stay = _NONE
        load[k].moved = _OUT
    desk[0].free = desk[0].moved = _NONE
    flows: cython.Py_ssize_t = len(start)
    i: cython.Py_ssize_t = 0
    now: cython.double = 0.0
    while i < flows or desk[0].there > 0:
        then: cython.double = start[i] if i < flows else _NEVER
        if desk[0].there > 0:
            then = min(then, state[heap[0]].end)
        now = max(now, then)
        while desk[0].there > 0:
            f = state[heap[0]].flow
            if not _is_done(state, heap[0], now):
                break
            done[f] = now
            _leave(state, stays, heap, load, desk)
        while i < flows and start[i] <= now:
            row = _row(state, heap, desk)
            state[row].left = state[row].volume = volume[i]
            state[row].flow = i
            state[row].links = first[route[i] + 1] - first[route[i]]
            for k in range(state[row].links):
                stays[row * desk[0].width + k].link = link[first[route[i]] + k]
                stays[row * desk[0].width + k].part = part[first[route[i]] + k]
            _come(state, stays, heap, load, desk, row, now)
            i += 1
        _share(state, stays, load, desk)
        _go_on(state, stays, heap, load, desk, now)


@cython.cfunc
def _is_done(state: Flow[::1], row: cython.Py_ssize_t, now: cython.double) -> cython.bint:
    """Return whether a flow has passed, but for what rounding may have added."""
    more = state[row].end - now
    return more <= _SOON or more * state[row].rate <= state[row].volume * _ALMOST


@cython.cfunc
def _row(state: Flow[::1], heap: cython.int[::1], desk: Desk[::1]) -> cython.Py_ssize_t:
    """Return a free row, which is the last of the heap then."""
    row: cython.Py_ssize_t = desk[0].free
    if row == _NONE:
        row = desk[0].used
        desk[0].used += 1
    else:
        desk[0].free = state[row].place
    state[row].place = desk[0].there
    heap[desk[0].there] = row
    desk[0].there += 1
    return row


@cython.cfunc
def _come(
    state: Flow[::1],
    stays: Stay[::1],
    heap: cython.int[::1],
    load: Load[::1],
    desk: Desk[::1],
    row: cython.Py_ssize_t,
    now: cython.double,
) -> cython.void:
    """Let a flow begin, as fast as it is alone until its links have their levels."""
    state[row].since = now
    state[row].rate = desk[0].most
    state[row].end = now + state[row].left / desk[0].most
    _rise(state, heap, state[row].place)
    begin: cython.Py_ssize_t = row * desk[0].width
    for at in range(begin, begin + state[row].links):
        one: cython.Py_ssize_t = stays[at].link
        stays[at].row = row
        stays[at].before = _NONE
        stays[at].behind = load[one].stay
        if load[one].stay != _NONE:
            stays[load[one].stay].before = at
        load[one].stay = at
        load[one].flows += 1
        load[one].demand += stays[at].part * desk[0].most
        load[one].asked += stays[at].part * desk[0].most
        if load[one].asked > load[one].capacity * (1 + _ALMOST):
            _wait(load, desk, one)
            _move(load, desk, one)


@cython.cfunc
def _leave(state: Flow[::1], stays: Stay[::1], heap: cython.int[::1], load: Load[::1], desk: Desk[::1]) -> cython.void:
    """Take away the first flow of the heap."""
    row: cython.Py_ssize_t = heap[0]
    desk[0].there -= 1
    if desk[0].there > 0:
        _sink(state, heap, desk[0].there, 0, heap[desk[0].there])
    begin: cython.Py_ssize_t = row * desk[0].width
    for at in range(begin, begin + state[row].links):
        one: cython.Py_ssize_t = stays[at].link
        if stays[at].before == _NONE:
            load[one].stay = stays[at].behind
        else:
            stays[stays[at].before].behind = stays[at].behind
        if stays[at].behind != _NONE:
            stays[stays[at].behind].before = stays[at].before
        load[one].flows -= 1
        some: cython.bint = load[one].flows > 0
        load[one].demand = load[one].demand - stays[at].part * desk[0].most if some else 0.0
        load[one].asked = load[one].asked - stays[at].part * state[row].rate if some else 0.0
        if load[one].level < _NEVER:
            _wait(load, desk, one)
    state[row].place = desk[0].free
    desk[0].free = row


@cython.cfunc
def _wait(load: Load[::1], desk: Desk[::1], one: cython.Py_ssize_t) -> cython.void:
    """Let a link wait for its level, in a heap by the one that it has."""
    if load[one].waits:
        return
    load[one].waits = 1
    place: cython.Py_ssize_t = desk[0].waiting
    desk[0].waiting += 1
    while place > 0 and load[one].level < load[load[(place - 1) // 2].next].level:
        load[place].next = load[(place - 1) // 2].next
        place = (place - 1) // 2
    load[place].next = one


@cython.cfunc
def _next(load: Load[::1], desk: Desk[::1]) -> cython.Py_ssize_t:
    """Return the link of the lowest level that waits, which does not any more."""
    one: cython.Py_ssize_t = load[0].next
    load[one].waits = 0
    desk[0].waiting -= 1
    count: cython.Py_ssize_t = desk[0].waiting
    last: cython.Py_ssize_t = load[count].next
    place: cython.Py_ssize_t = 0
    below: cython.Py_ssize_t = 1
    while below < count:
        if below + 1 < count and load[load[below + 1].next].level < load[load[below].next].level:
            below += 1
        if load[last].level <= load[load[below].next].level:
            break
        load[place].next = load[below].next
        place = below
        below = 2 * place + 1
    load[place].next = last
    return one


@cython.cfunc
def _move(load: Load[::1], desk: Desk[::1], one: cython.Py_ssize_t) -> cython.void:
    """Note that the flows on a link have another rate, perhaps."""
    if load[one].moved == _OUT:
        load[one].moved = desk[0].moved
        desk[0].moved = one


@cython.cfunc
def _share(state: Flow[::1], stays: Stay[::1], load: Load[::1], desk: Desk[::1]) -> cython.void:
    """Give links their levels until none waits, the lowest first: one that moves matters to those above it."""
    while desk[0].waiting > 0:
        one: cython.Py_ssize_t = _next(load, desk)
        was: cython.double = load[one].level
        level: cython.double = _level(state, stays, load, desk, one)
        if abs(level - was) <= _ALMOST * level:
            continue
        load[one].level = level
        _move(load, desk, one)
        least: cython.double = min(level, was)
        more: cython.double = min(level, desk[0].most) - min(was, desk[0].most)
        at: cython.Py_ssize_t = load[one].stay
        while at != _NONE:
            begin: cython.Py_ssize_t = stays[at].row * desk[0].width
            for k in range(begin, begin + state[stays[at].row].links):
                other: cython.Py_ssize_t = stays[k].link
                if load[other].level < _NEVER:
                    if other != one and least < load[other].level:
                        _wait(load, desk, other)
                elif more > 0:
                    load[other].asked += more * stays[k].part
                    if other != one and load[other].asked > load[other].capacity * (1 + _ALMOST):
                        _wait(load, desk, other)
            at = stays[at].behind


@cython.cfunc
def _level(state: Flow[::1], stays: Stay[::1], load: Load[::1], desk: Desk[::1], one: cython.Py_ssize_t) -> cython.double:
    """Return the rate at which a link is full of flows that other links allow it, _NEVER if it is not full."""
    capacity = load[one].capacity
    load[one].asked = load[one].demand
    if load[one].demand <= capacity * (1 + _ALMOST):
        return _NEVER
    level: cython.double = load[one].level if load[one].level < _NEVER else 0.0
    load[one].asked = 0.0
    spare: cython.double = capacity
    shared: cython.double = 0.0
    at: cython.Py_ssize_t = load[one].stay
    while at != _NONE:
        limit: cython.double = desk[0].most
        begin: cython.Py_ssize_t = stays[at].row * desk[0].width
        for k in range(begin, begin + state[stays[at].row].links):
            if k != at:
                limit = min(limit, load[stays[k].link].level)
        stays[at].limit = limit
        load[one].asked += limit * stays[at].part
        if limit > level:
            shared += stays[at].part
        else:
            spare -= limit * stays[at].part
        at = stays[at].behind
    if load[one].asked <= capacity * (1 + _ALMOST):
        return _NEVER
    # what it would carry is a concave function of its level: from anywhere the next guess is below, and then they ascend
    while True:
        found: cython.double = spare / shared if shared > 0 else 0.0
        if abs(found - level) <= _ALMOST * level:
            return found
        level = found
        spare = capacity
        shared = 0.0
        at = load[one].stay
        while at != _NONE:
            if stays[at].limit > level:
                shared += stays[at].part
            else:
                spare -= stays[at].limit * stays[at].part
            at = stays[at].behind


@cython.cfunc
def _go_on(state: Flow[::1], stays: Stay[::1], heap: cython.int[::1], load: Load[::1], desk: Desk[::1], now: cython.double) -> cython.void:
    """Give the flows on links whose level has moved their rate."""
    while desk[0].moved != _NONE:
        one: cython.Py_ssize_t = desk[0].moved
        desk[0].moved = load[one].moved
        load[one].moved = _OUT
        at: cython.Py_ssize_t = load[one].stay
        while at != _NONE:
            row: cython.Py_ssize_t = stays[at].row
            rate: cython.double = desk[0].most
            for k in range(row * desk[0].width, row * desk[0].width + state[row].links):
                rate = min(rate, load[stays[k].link].level)
            if rate != state[row].rate:
                state[row].left = max(state[row].left - state[row].rate * (now - state[row].since), 0.0)
                state[row].since = now
                state[row].end = now + state[row].left / rate
                if rate > state[row].rate:
                    _rise(state, heap, state[row].place)
                else:
                    _sink(state, heap, desk[0].there, state[row].place, row)
                state[row].rate = rate
            at = stays[at].behind


@cython.cfunc
def _rise(state: Flow[::1], heap: cython.int[::1], place: cython.Py_ssize_t) -> cython.void:
    """Put the flow at a place of the heap where it belongs, there or above."""
    row: cython.Py_ssize_t = heap[place]
    while place > 0 and state[row].end < state[heap[(place - 1) // 2]].end:
        heap[place] = heap[(place - 1) // 2]
        state[heap[place]].place = place
        place = (place - 1) // 2
    heap[place] = row
    state[row].place = place


@cython.cfunc
def _sink(
    state: Flow[::1], heap: cython.int[::1], count: cython.Py_ssize_t, place: cython.Py_ssize_t, row: cython.Py_ssize_t
) -> cython.void:
    """Put a flow at a free place of the heap, or below."""
    below: cython.Py_ssize_t = 2 * place + 1
    while below < count:
        if below + 1 < count and state[heap[below + 1]].end < state[heap[below]].end:
            below += 1
        if state[row].end <= state[heap[below]].end:
            break
        heap[place] = heap[below]
        state[heap[place]].place = place
        place = below
        below = 2 * place + 1
    heap[place] = row
    state[row].place = place
