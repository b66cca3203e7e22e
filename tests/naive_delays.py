"""The slow, obvious twins of the kernels pieces, delays and path: every interval is looked at anew, instant by instant."""

from __future__ import annotations

import collections
import itertools

import numpy as np

from build import Builder
from perwiz.patterns.analysis import delays as real
from perwiz.patterns.intervals import intervals
from perwiz.patterns.library.collectives import BARRIER, EXCHANGE, FINALIZE, OF_PES, START, TEAMS
from perwiz.patterns.library.rma import FENCE, FREE, MAKE
from perwiz.patterns.pattern import View
from perwiz.patterns.search import search

WAITING = -1
PAIRS = real.BETWEEN_TWO
MESSAGES = ("mpi_latesender", "mpi_latereceiver")
SYNCHRONISE = BARRIER | EXCHANGE | FINALIZE | OF_PES | TEAMS | MAKE | FREE | FENCE


def chain():
    """In units of 1000 ns: rank 0 computes 6 in f, rank 1 only 2, and waits 4 for its message; then 1 in g. Rank 2 did 2 in f, 1 in g,
    and waits 4 for rank 1.
    """
    b = Builder(3)
    for rank, length in enumerate((6000, 2000, 2000)):
        with b.region(rank, "f"):
            b.compute(rank, length)
    b.send(0, 1, at=(6000, 6000))
    b.recv(1, 0, at=(2000, 6000))
    for rank in (1, 2):
        with b.region(rank, "g"):
            b.compute(rank, 1000)
    b.send(1, 2, at=(7000, 7000))
    b.recv(2, 1, at=(3000, 7000))
    return b.trace()


def causes_of(trace):
    """Return (view, call tree, wait states, what locations did, causes) of a trace."""
    findings = search(trace)
    view, tree = View(trace), findings.severity.tree
    waits = real.wait_states(findings.instances)
    what = intervals(view, tree, waits.instances)
    return view, tree, waits, what, real.causes(view, tree, waits, what)


def doings(view, tree, waits):
    """Return, per location, (begin, end, node) of its time in order, nothing of length 0; the node of waiting is WAITING."""
    trace, regions = view.trace, view.trace.regions
    waited = dict(zip(waits.instances.call.tolist(), waits.instances.severity.tolist(), strict=True))
    leaf = tree.of_calls(trace, np.arange(len(view.enter)))
    out = []
    for x in range(len(trace.locations)):
        begin, end = trace.timeline.locations.enter[x], trace.timeline.locations.leave[x]
        calls, own = np.flatnonzero(view.location == x), np.flatnonzero(regions.location == x)
        spans = [(trace.timeline.regions.enter[r], trace.timeline.regions.leave[r], tree.of_path[regions.path[r]]) for r in own]
        spans += [(view.enter[e], view.leave[e], leaf[e]) for e in calls]
        spans += [(view.enter[e], view.enter[e] + waited[e], WAITING) for e in calls.tolist() if e in waited]
        edges = sorted({int(t) for span in spans for t in span[:2] if begin <= t <= end} | {int(begin), int(end)})
        rows = []
        for a, b in itertools.pairwise(edges):
            inside = [span[2] for span in spans if span[0] <= a and b <= span[1]]
            rows.append((a, b, int(inside[-1]) if inside else 0))
        out.append(rows)
    return out


def spent(rows, begin, end):
    """Return a Counter: how long a location was in each node from one time to another."""
    out = collections.Counter()
    for a, b, node in rows:
        if min(b, end) > max(a, begin):
            out[node] += min(b, end) - max(a, begin)
    return out


def began(view):
    """Return since when each location is compared with others."""
    begin = view.trace.timeline.locations.enter.tolist()
    starts = np.flatnonzero(START[view.op])
    if len(starts) and view.leave[starts].min() >= view.enter[starts].max():
        return [max(t, int(view.leave[starts].min())) for t in begin]
    return begin


def keeps(view, collective, rows):
    """Return the calls of a collective's members that left after the last had come; of an N x N operation that others left before only
    those that receive, and the last that sends.
    """
    members = [(view.trace.members.call[row], view.done[row], view.sends[row], view.receives[row]) for row in rows]
    last = max(view.enter[post] for post, *_ in members)
    if not EXCHANGE[view.trace.collectives.op[collective]] or all(view.leave[done] > last for _, done, *_ in members):
        return [done for _, done, *_ in members if view.leave[done] > last]
    senders = [view.enter[post] for post, _, sends, _ in members if sends]
    if not senders:
        return []
    last, out = max(senders), []
    latest = [row for row, (post, _, sends, _) in enumerate(members) if sends and view.enter[post] == last][-1]
    for row, (post, done, _, receives) in enumerate(members):
        if view.leave[done] > last and (row == latest or (receives and view.enter[post] < last)):
            out.append(done)
    return out


def together(view, waits, i):
    """Return since when waiter and cause of a wait state are apart."""
    some, trace = waits.instances, view.trace
    q, p = view.location[some.call[i]], view.location[some.cause[i]]
    process, begins = trace.locations.process, trace.timeline.locations.enter.tolist()
    times = [max((begins if process[q] == process[p] else began(view))[x] for x in (q, p))]
    ends = view.enter[some.call] + some.severity
    for j in range(len(waits)):
        mine = {view.location[some.call[j]]: some.call[j], view.location[some.cause[j]]: some.cause[j]}
        if set(mine) == {q, p} and waits.kinds[waits.kind[j]] in PAIRS and ends[j] <= ends[i] and mine[q] < some.call[i]:
            times.append(min(view.leave[some.call[j]], view.leave[some.cause[j]]))
    for k, op in enumerate(trace.collectives.op):
        rows = np.flatnonzero(trace.members.collective == k)
        posts, done = trace.members.call[rows], view.done[rows]
        where = dict(zip(view.location[posts].tolist(), done.tolist(), strict=True))
        kept = keeps(view, k, rows) if SYNCHRONISE[op] and len(rows) > 1 else []
        if q in where and p in where and where[q] in kept and where[p] in kept and where[q] < some.call[i]:
            times.append(min(view.leave[call] for call in kept))
    return int(max(times))


def delays(view, tree, waits):
    """Return (cost[kind][term] as Counter of (location, node), indirect, propagating, per wait whether all of it was booked)."""
    some, rows = waits.instances, doings(view, tree, waits)
    ends = view.enter[some.call] + some.severity
    order = sorted(range(len(waits)), key=lambda i: (ends[i], view.leave[some.call[i]]))
    cost = [[collections.Counter(), collections.Counter()] for _ in waits.kinds]
    took = [collections.Counter() for _ in order]
    indirect, propagating, whole, done = [0.0] * len(order), [0.0] * len(order), [True] * len(order), set()
    for i in reversed(order):
        done.add(i)
        q, p, w = view.location[some.call[i]], view.location[some.cause[i]], int(some.severity[i])
        since, came = together(view, waits, i), int(view.enter[some.cause[i]])
        theirs = [j for j in range(len(waits)) if view.location[some.call[j]] == p]
        straddling = [int(view.enter[some.call[j]]) for j in theirs if view.enter[some.call[j]] < since < ends[j]]
        since = min([since, *straddling])
        late, own = spent(rows[p], since, came), spent(rows[q], since, int(view.enter[some.call[i]]))
        excess = {node: time - own[node] for node, time in late.items() if node != WAITING and time > own[node]}
        total = sum(excess.values()) + late[WAITING]
        whole[i] = 0 < w <= total
        if not total:
            continue
        share, kind = min(1.0, w / total), waits.kind[i]
        for node, time in excess.items():
            cost[kind][0][p, node] += share * time
            for other, amount in took[i].items():
                cost[other][1][p, node] += time * amount / total
        indirect[i] = share * late[WAITING]
        for j in theirs:
            whole[i] &= not (since <= view.enter[some.call[j]] < came and j in done)
            if since <= view.enter[some.call[j]] and j not in done:
                took[j][kind] += some.severity[j] * share
                for other, amount in took[i].items():
                    took[j][other] += some.severity[j] * amount / total
                if waits.kinds[kind] in MESSAGES:
                    propagating[j] = max(propagating[j], share * some.severity[j])
    return cost, indirect, propagating, whole


def path(view, tree, waits, location, time):
    """Return a Counter of (location, node): what led to a location's being where it is at a time."""
    some, rows, out = waits.instances, doings(view, tree, waits), collections.Counter()
    ends = view.enter[some.call] + some.severity
    begins = view.trace.timeline.locations.enter.tolist()
    for call in range(len(view.enter)):
        if START[view.op[call]]:
            begins[view.location[call]] = int(view.enter[call])
    for change in range(len(waits) + 1):
        before = [i for i in range(len(waits)) if view.location[some.call[i]] == location and ends[i] <= time and change < len(waits)]
        begin = int(ends[before[-1]]) if before else begins[location]
        for node, length in spent(rows[location], begin, time).items():
            if node != WAITING:
                out[int(location), node] += length
        if not before:
            break
        location, time = view.location[some.cause[before[-1]]], begin
    return out
