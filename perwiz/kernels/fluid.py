# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Messages as flows through links: when each is done if those that are overloaded are shared max-min fairly.

The level of a link is the rate that flows have there which nothing else holds back: that at which it is full, given the levels of the
other links on their ways. A flow has the smallest of its levels, and no more than it has alone. What begins or ends moves the levels of
its links, each of these perhaps those of links that flows share with it, and so on until none moves, in any order (Charny, Clark and Jain,
Congestion control with explicit rate indication, 1995). Links and flows that a change does not reach are not touched.
"""

import cython
import numpy as np

from perwiz.kernels import names

GAP = cython.declare(cython.int, names.GAP)

_ALMOST = cython.declare(cython.double, 1e-9)
"""Part of a number that rounding may have added to it."""
_REST = cython.declare(cython.double, 1e-4)
"""Part of a message that need not be waited for: of thousands that share links many are done at about the same time, and so at one."""
_SOON = cython.declare(cython.double, 1e-4)
"""ns that are no time."""
_NEVER = cython.declare(cython.double, 1e300)
_LONGEST = cython.declare(cython.double, 2.0**53)
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
Vertex = cython.struct(time=cython.longlong, open=cython.int, out=cython.int, flow=cython.int, behind=cython.int)
VERTEX = np.dtype([("time", "i8"), *((name, "i4") for name in ("open", "out", "flow", "behind"))], align=True)
"""A vertex of a graph in which messages flow: when it happens; how many edges and flows it waits for; where those that lead out of it end
in their list; the first of the causes of flows that it is, and its row of works, -1 none.
"""
Journey = cython.struct(
    start=cython.double,
    volume=cython.double,
    farther=cython.longlong,
    delay=cython.longlong,
    route=cython.int,
    open=cython.int,
    tie=cython.int,
    call=cython.int,
)
JOURNEY = np.dtype(
    [
        *((name, "f8") for name in ("start", "volume")),
        *((name, "i8") for name in ("farther", "delay")),
        *((name, "i4") for name in ("route", "open", "tie", "call")),
    ],
    align=True,
)
"""A message on its way: when it can flow, at first 0 or, if it waits for nothing, then; its volume; the latency of links that are more than
two, and the delay that comes out; its route; how many causes it waits for; its first tie, those of the next row are behind its last; the
row of works that has it, -1 none.
"""
Cause = cython.struct(after=cython.longlong, flow=cython.int, next=cython.int)
CAUSE = np.dtype([("after", "i8"), ("flow", "i4"), ("next", "i4")], align=True)
"""ns behind a vertex until a flow can begin, and the next one of the vertex, -1 none."""
Tie = cython.struct(weight=cython.longlong, edge=cython.int, vertex=cython.int)
TIE = np.dtype([("weight", "i8"), ("edge", "i4"), ("vertex", "i4")], align=True)
"""An edge that weighs more by the delay of a message, what it weighs without any, and the vertex that it leads into."""
Work = cython.struct(was=cython.longlong, now=cython.longlong, vertex=cython.int)
WORK = np.dtype([("was", "i8"), ("now", "i8"), ("vertex", "i4")], align=True)
"""The longest delay of the messages that a call's work has, as the weights have it and now, and the vertex where it returns."""


def run(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    kind: cython.const[cython.uchar][::1],
    weight: cython.const[cython.longlong][::1],
    cut: cython.longlong,
    changed: cython.longlong[::1],
    vertices: Vertex[::1],
    out: cython.int[::1],
    ready: cython.int[::1],
    causes: Cause[::1],
    journeys: Journey[::1],
    ties: Tie[::1],
    works: Work[::1],
    first: cython.const[cython.int][::1],
    link: cython.const[cython.int][::1],
    part: cython.const[cython.double][::1],
    state: Flow[::1],
    stays: Stay[::1],
    heap: cython.int[::1],
    load: Load[::1],
    desk: Desk[::1],
) -> cython.Py_ssize_t:
    """Let vertices happen and messages flow, one by the other, and return how many vertices happened: all, unless they wait in a cycle.

    Writes `time` of vertices, which is a floor before, and `delay` of journeys. `start`, `source`, `kind` and `weight` are those of a
    graph; `changed` begins as `weight`, below any weight on edges with ties; edges of weight `cut` bind nobody. `vertices` have the
    flows and ties that they wait for in `open`; `out` has a row per edge, `ready` one per vertex, `journeys` one more than there are.
    What a message has behind its cause in the past it has had alone: it is recorded sooner than its links allow.

    Journey f passes the links `link[first[route] .. first[route + 1] - 1]` of its route, and takes `part` of its rate of each; alone it
    passes `most` per ns. `state` and `heap` have a row per journey, `stays` a `width` for each, `load` one per link with its capacity,
    `desk` one with `most` and `width`; else 0. A graph of no vertices has journeys that begin when they say.
    """
    _begin(load, desk)
    for f in range(len(journeys) - 1):
        if journeys[f].open == 0:
            _enter(journeys, first, link, part, state, stays, heap, desk, f, 0.0)
    waiting: cython.Py_ssize_t = _lead_out(start, source, weight, cut, vertices, out, ready)
    happened: cython.Py_ssize_t = 0
    now: cython.double = 0.0
    while True:
        while waiting > 0:
            waiting -= 1
            v = ready[waiting]
            happened += 1
            vertices[v].time = _time(start, source, kind, weight, cut, changed, vertices, works, v)
            for k in range(vertices[v - 1].out if v > 0 else 0, vertices[v].out):
                waiting = _close(vertices, ready, waiting, out[k])
            _let_flow(vertices, causes, journeys, first, link, part, state, stays, heap, desk, v, now)
        if desk[0].there == 0:
            return happened
        now = max(now, state[heap[0]].end)
        while desk[0].there > 0 and _is_due(state, heap[0], now):
            f = state[heap[0]].flow
            if _passed(journeys, state, stays, heap, load, desk, now):
                waiting = _tell(journeys, ties, works, weight, changed, vertices, ready, waiting, f)
        _share(state, stays, load, desk)
        _go_on(state, stays, heap, load, desk, now)


@cython.cfunc
def _let_flow(
    vertices: Vertex[::1],
    causes: Cause[::1],
    journeys: Journey[::1],
    first: cython.const[cython.int][::1],
    link: cython.const[cython.int][::1],
    part: cython.const[cython.double][::1],
    state: Flow[::1],
    stays: Stay[::1],
    heap: cython.int[::1],
    desk: Desk[::1],
    v: cython.Py_ssize_t,
    now: cython.double,
) -> cython.void:
    """Let the messages wait for their start that a vertex was the last cause of."""
    cause: cython.Py_ssize_t = vertices[v].flow
    while cause != _NONE:
        f: cython.Py_ssize_t = causes[cause].flow
        journeys[f].start = max(journeys[f].start, vertices[v].time + causes[cause].after)
        journeys[f].open -= 1
        if journeys[f].open == 0:
            _enter(journeys, first, link, part, state, stays, heap, desk, f, now)
        cause = causes[cause].next


@cython.cfunc
def _enter(
    journeys: Journey[::1],
    first: cython.const[cython.int][::1],
    link: cython.const[cython.int][::1],
    part: cython.const[cython.double][::1],
    state: Flow[::1],
    stays: Stay[::1],
    heap: cython.int[::1],
    desk: Desk[::1],
    f: cython.Py_ssize_t,
    now: cython.double,
) -> cython.void:
    """Let a message wait for its start, in the heap."""
    row: cython.Py_ssize_t = _row(state, heap, desk, f, journeys[f].volume)
    begin: cython.Py_ssize_t = first[journeys[f].route]
    state[row].links = first[journeys[f].route + 1] - begin
    for k in range(state[row].links):
        stays[row * desk[0].width + k].link = link[begin + k]
        stays[row * desk[0].width + k].part = part[begin + k]
    state[row].end = max(journeys[f].start, now)
    _rise(state, heap, state[row].place)


@cython.cfunc
def _passed(
    journeys: Journey[::1], state: Flow[::1], stays: Stay[::1], heap: cython.int[::1], load: Load[::1], desk: Desk[::1], now: cython.double
) -> cython.bint:
    """Let the first message of the heap begin, or be there, and return which: whether it has passed its links."""
    row: cython.Py_ssize_t = heap[0]
    f: cython.Py_ssize_t = state[row].flow
    if state[row].rate > 0:
        longer: cython.double = min(now - journeys[f].start - journeys[f].volume / desk[0].most, _LONGEST)
        journeys[f].delay = cython.cast(cython.longlong, max(longer, 0.0) + 0.5) + journeys[f].farther
        _leave(state, stays, heap, load, desk)
        return True
    state[row].left = journeys[f].volume - (now - journeys[f].start) * desk[0].most
    if state[row].left > 0:
        _come(state, stays, heap, load, desk, row, now)
        return False
    journeys[f].delay = journeys[f].farther
    _take(state, heap, desk)
    return True


@cython.cfunc
def _lead_out(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    weight: cython.const[cython.longlong][::1],
    cut: cython.longlong,
    vertices: Vertex[::1],
    out: cython.int[::1],
    ready: cython.int[::1],
) -> cython.Py_ssize_t:
    """Write where the edges that bind lead to, by source, count those into each vertex, and return how many vertices are ready."""
    count: cython.Py_ssize_t = len(vertices)
    for v in range(count):
        for k in range(start[v], start[v + 1]):
            if weight[k] != cut:
                vertices[v].open += 1
                if source[k] + 1 < count:
                    vertices[source[k] + 1].out += 1
    for v in range(1, count):
        vertices[v].out += vertices[v - 1].out
    # each count is where the edges of a vertex begin, and comes to be where they end
    waiting: cython.Py_ssize_t = 0
    for v in range(count):
        if vertices[v].open == 0:
            ready[waiting] = v
            waiting += 1
        for k in range(start[v], start[v + 1]):
            if weight[k] != cut:
                out[vertices[source[k]].out] = v
                vertices[source[k]].out += 1
    return waiting


@cython.cfunc
def _time(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    kind: cython.const[cython.uchar][::1],
    weight: cython.const[cython.longlong][::1],
    cut: cython.longlong,
    changed: cython.const[cython.longlong][::1],
    vertices: Vertex[::1],
    works: Work[::1],
    v: cython.Py_ssize_t,
) -> cython.longlong:
    """Return when a vertex happens of which nothing is open: not before the time that it has."""
    time: cython.longlong = vertices[v].time
    more: cython.longlong = 0
    if vertices[v].behind != _NONE:
        more = works[vertices[v].behind].now - works[vertices[v].behind].was
    for k in range(start[v], start[v + 1]):
        if weight[k] != cut:
            ns: cython.longlong = changed[k]
            if more != 0 and kind[k] != GAP:
                ns = max(ns + more, min(weight[k], 0))
            time = max(time, vertices[source[k]].time + ns)
    return time


@cython.cfunc
def _close(vertices: Vertex[::1], ready: cython.int[::1], waiting: cython.Py_ssize_t, v: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Note that a vertex waits for one thing less, and return how many are ready."""
    vertices[v].open -= 1
    if vertices[v].open > 0:
        return waiting
    ready[waiting] = v
    return waiting + 1


@cython.cfunc
def _tell(
    journeys: Journey[::1],
    ties: Tie[::1],
    works: Work[::1],
    weight: cython.const[cython.longlong][::1],
    changed: cython.longlong[::1],
    vertices: Vertex[::1],
    ready: cython.int[::1],
    waiting: cython.Py_ssize_t,
    f: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Change the edges that wait for a message by its delay, and return how many vertices are ready."""
    for k in range(journeys[f].tie, journeys[f + 1].tie):
        edge = ties[k].edge
        ns: cython.longlong = ties[k].weight + journeys[f].delay
        changed[edge] = max(changed[edge], ns, min(weight[edge], 0))
        waiting = _close(vertices, ready, waiting, ties[k].vertex)
    if journeys[f].call != _NONE:
        works[journeys[f].call].now = max(works[journeys[f].call].now, journeys[f].delay)
        waiting = _close(vertices, ready, waiting, works[journeys[f].call].vertex)
    return waiting


@cython.cfunc
def _begin(load: Load[::1], desk: Desk[::1]) -> cython.void:
    """Let links be empty."""
    for k in range(len(load)):
        load[k].level = _NEVER
        load[k].stay = _NONE
        load[k].moved = _OUT
    desk[0].free = desk[0].moved = _NONE


@cython.cfunc
def _is_due(state: Flow[::1], row: cython.Py_ssize_t, now: cython.double) -> cython.bint:
    """Return whether a flow has passed, but for a little, or is to begin."""
    more = state[row].end - now
    return more <= 0 or (state[row].rate > 0 and (more <= _SOON or more * state[row].rate <= state[row].volume * _REST))


@cython.cfunc
def _row(state: Flow[::1], heap: cython.int[::1], desk: Desk[::1], f: cython.Py_ssize_t, volume: cython.double) -> cython.Py_ssize_t:
    """Return a free row for a flow, which is the last of the heap then."""
    row: cython.Py_ssize_t = desk[0].free
    if row == _NONE:
        row = desk[0].used
        desk[0].used += 1
    else:
        desk[0].free = state[row].place
    state[row].place = desk[0].there
    state[row].flow = f
    state[row].left = state[row].volume = volume
    state[row].rate = 0.0
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
    _sink(state, heap, desk[0].there, state[row].place, row)
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
    row: cython.Py_ssize_t = _take(state, heap, desk)
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


@cython.cfunc
def _take(state: Flow[::1], heap: cython.int[::1], desk: Desk[::1]) -> cython.Py_ssize_t:
    """Take the first flow out of the heap and return its row, which is free then."""
    row: cython.Py_ssize_t = heap[0]
    desk[0].there -= 1
    if desk[0].there > 0:
        _sink(state, heap, desk[0].there, 0, heap[desk[0].there])
    state[row].place = desk[0].free
    desk[0].free = row
    return row


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
