"""The slow, obvious twins of the kernels sweep, order, weigh, match and number: lists, dicts and loops."""

from __future__ import annotations

import collections
import itertools
from fractions import Fraction

LOCAL, MESSAGE, RENDEZVOUS, COLLECTIVE, PROBE, LINK, ORDER, INJECTION, EJECTION, QUEUE, GAP, TRANSFER, START, BORDER = range(14)


def into(graph_start, v):
    """Return the edges that lead into v."""
    return range(graph_start[v], graph_start[v + 1])


def sweep(start, source, weight, floor):
    """Return the earliest time of each vertex, no earlier than its floor."""
    time = []
    for v, least in enumerate(floor):
        time.append(max([least, *(time[source[k]] + weight[k] for k in into(start, v))]))
    return time


def sweep_parts(start, source, weight, part, held, floor):
    """Return the same where a source of another part has its time of `held`."""
    time = []
    for v, least in enumerate(floor):
        sources = ((source[k], weight[k]) for k in into(start, v))
        time.append(max([least, *((time[s] if part[s] == part[v] else held[s]) + w for s, w in sources)]))
    return time


def sweep_drawn(start, source, weight, row, more, share, deviation):
    """Return the earliest time of each vertex, one list per run: later by `more` and `share` times the run's deviation of its row."""
    runs = []
    for column in zip(*deviation, strict=True):
        time = []
        for v, of in enumerate(row):
            longer = more[v] + share[v] * column[of] if of >= 0 else 0
            time.append(max([0, *(time[source[k]] + weight[k] + longer for k in into(start, v))]))
        runs.append(time)
    return runs


def chance(number):
    """Return a number from 0 to 1 that looks like chance, by splitmix64."""
    number = number * 0x9E3779B97F4A7C15 % 2**64
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        number = (number ^ number >> shift) * factor % 2**64
    return ((number ^ number >> 31) >> 11) / 2**53


def turned(pools, source):
    """Return the deviations of pools, dictionaries by part of the run, if each part is another one, or the next one that a pool has."""
    out = []
    for pool in pools:
        out += [pool[min([of for of in pool if of >= source[part]], default=min(pool))] for part in pool]
    return out


def shared(stretch, told, length, group, takes, usual, times, place, common):
    """Return (whose deviation, how much longer anyway, share of the deviation) of a piece of a run."""
    share, more = length, 0
    if stretch >= len(times):
        share = (length * min(length, common)) ** 0.5
    if told:
        share = length / times[stretch] if times[stretch] else usual[group]
        more = share - length
    return (place[stretch] if stretch >= 0 else -1), *((more, share) if takes else (0, 0))


def added_up(group, here, length, groups):
    """Return (how many rows of each group are here, how long they are together)."""
    rows = [[k for k in range(len(group)) if here[k] and group[k] == one] for one in range(groups)]
    return [len(of) for of in rows], [sum(length[k] for k in of) for of in rows]


def stretches(pieces, usual):
    """Return, of pieces as (group, pool, part, told, _, length), (pool and part of each stretch, that of each piece, how long those took,
    how long is usual).
    """
    known = sorted({(pool, part) for _, pool, part, told, *_ in pieces if told})
    stretch, took, needs = [], [0] * len(known), [0] * len(known)
    for group, pool, part, told, _, length in pieces:
        own = [k for k, (of, _) in enumerate(known) if of == pool]
        behind = [k for k in own if known[k][1] >= part]
        stretch.append(behind[0] if behind else own[-1] if own else -1)
        if told:
            took[stretch[-1]] += length
            needs[stretch[-1]] += usual[group]
    return known, stretch, took, needs


def varied(pieces, usual, count):
    """Return the sums of squares of how much longer than usual pieces that are told took, and of how long is usual."""
    told = [(length, usual[group], count[group]) for group, _, _, told, _, length in pieces if told]
    return sum((length - one) ** 2 * n / max(n - 1, 1) for length, one, n in told), sum(one**2 for _, one, _ in told)


def drawn_parts(draw, parts, block):
    """Return the part that comes for each of so many in a draw: blocks of parts in a row, each from anywhere on."""
    return [(int(chance((part // block << 32) + draw) * parts) + part % block) % parts for part in range(parts)]


def sweep_back(start, source, weight, cut, end):
    """Return the longest path from each vertex to an end: `end` has its length so far, cut for none."""
    left = list(end)
    for v in reversed(range(len(left))):
        for u in range(v + 1, len(left)):
            for k in into(start, u):
                if source[k] == v and weight[k] != cut and left[u] != cut:
                    left[v] = max(left[v], left[u] + weight[k])
    return left


def find_critical_path(start, source, weight, time, last):
    """Return the edges of a longest path into a vertex, backwards."""
    tight = [k for k in into(start, last) if time[source[k]] + weight[k] == time[last]]
    return [tight[0], *find_critical_path(start, source, weight, time, source[tight[0]])] if tight else []


def time_hubs(start, source, weight, hub, time):
    """Return the times, those of the hubs replaced by the latest of their sources plus weight."""
    time = list(time)
    for v in hub:
        time[v] = max(time[source[k]] + weight[k] for k in into(start, v))
    return time


def measure_waits(start, source, kind, weight, time, returning, owner):
    """Return (wait, partner) by call: how much later than the local edge the first of the latest partners lets it go, and its owner."""
    out = {}
    for v in (v for v, call in enumerate(returning) if call >= 0):
        arrival = {k: time[source[k]] + weight[k] for k in into(start, v)}
        local = max(t for k, t in arrival.items() if k == start[v] or kind[k] in (TRANSFER, START))
        del arrival[start[v]]
        late = {k: t - local for k, t in arrival.items() if kind[k] not in (GAP, TRANSFER, START) and t > local}
        edge = max(late, key=lambda k: (late[k], -k), default=-1)
        out[returning[v]] = (late.get(edge, 0), owner[source[edge]] if late else -1)
    return out


def count(key, size):
    """Return (how often each number below size occurs before the first that is not, the row of that, -1 none)."""
    bad = next((row for row, number in enumerate(key) if not 0 <= number < size), -1)
    known = list(key)[: bad if bad >= 0 else None]
    return [known.count(number) for number in range(size)], bad


def group(key):
    """Return the rows of key grouped by key, in order."""
    return sorted(range(len(key)), key=lambda row: key[row])


def order(edges, chained, degrees=1):
    """Return the vertices in the order in which they become free, first in first out from 0: none twice, those on cycles never.

    Of those that as many steps lead to, those that fewer edges lead into come first; `degrees` numbers of edges are told apart.
    """
    following = collections.defaultdict(list)
    for v, is_chained in enumerate(chained):
        following[v] += [v + 1] if is_chained else []
    for source, target in edges:
        following[source].append(target)
    waiting = collections.Counter(target for targets in following.values() for target in targets)
    into = {v: min(many, degrees - 1) for v, many in waiting.items()}
    step, out = [0], []
    while step:
        out += step
        free = []
        for v in step:
            for target in following[v]:
                waiting[target] -= 1
                if not waiting[target]:
                    free.append(target)
        step = sorted(free, key=into.get)
    return out


def lead_in(vertex, edges, chained):
    """Return per position [(position it comes from, row of edges or -1)], the chain edge first."""
    position = {v: p for p, v in enumerate(vertex)}
    return [
        ([(position[v - 1], -1)] if v > 0 and chained[v - 1] else [])
        + [(position[source], row) for row, (source, target) in enumerate(edges) if target == v]
        for v in vertex
    ]


def split(start, source, kind, time, cut, lag):
    """Return (weights under which a sweep gives back `time`, edges, lowered, violations and returned before by kind): see the kernel."""
    weight = list(lag)
    edges, lowered, violations, returned_before = (collections.Counter() for _ in range(4))
    for v in range(1, len(time)):
        local, *partners = into(start, v)
        if kind[local] != LOCAL:
            continue
        slack = {k: time[v] - time[source[k]] for k in into(start, v)}
        weight[local] = min(lag[local], slack[local])
        edges[LOCAL] += lag[local] > 0
        lowered[LOCAL] += lag[local] > 0 and lag[local] > slack[local]
        for k in partners:
            if kind[k] in (RENDEZVOUS, PROBE) and slack[k] < 0 and lag[k] != cut:
                weight[k] = cut
                returned_before[kind[k]] += 1
            if weight[k] != cut:
                weight[k] = min(lag[k], slack[k])
                edges[kind[k]] += 1
                lowered[kind[k]] += lag[k] > slack[k]
                violations[kind[k]] += slack[k] < 0 and lag[k] > slack[k]
        binding = [k for k in into(start, v) if weight[k] != cut and kind[k] != GAP]
        rest = time[v] - max(time[source[k]] + weight[k] for k in binding) if partners else slack[local] - weight[local]
        for k in binding:
            weight[k] += rest
    return weight, [(edges[k], lowered[k], violations[k], returned_before[k]) for k in range(BORDER + 1)]


def rest(start, returning, weight, lag, lasts):
    """Return the work of each call behind its waits."""
    local = {call: start[v] for v, call in enumerate(returning) if call >= 0}
    return [weight[local[call]] - min(lag[local[call]], lasts[call]) for call in range(len(lasts))]


def reweigh(start, kind, cause, returning, weight, before, work, lasts, let_go, cut, lag):
    """Return the weights that lags of another model become: see the kernel; `work` and `lasts` per call, of both models and ns."""

    def scaled(value, old, new):
        return round(value * (new / old)) if old > 0 else value + new

    out = list(lag)
    for v, call in enumerate(returning):
        for k in into(start, v):
            if kind[k] == GAP:
                out[k] = scaled(weight[k], before[k], lag[k])
            elif call < 0 and kind[k] not in (INJECTION, EJECTION, QUEUE):
                out[k] = weight[k]
        if call < 0:
            continue
        local = start[v]
        own = min(before[local], lasts[call])
        rest = weight[local] - own
        explained = min(rest, work[call][0])
        now = rest + scaled(explained, *work[call]) - explained
        out[local] = scaled(own, before[local], lag[local]) + now
        for k in into(start, v)[1:]:
            was = weight[k] - rest
            if kind[k] == GAP:
                continue
            if lag[k] == cut or weight[k] == cut != before[k] or (kind[k] == RENDEZVOUS and cause[k] in let_go):
                out[k] = cut
            elif before[k] == cut:
                out[k] = now + lag[k]
            elif kind[k] in (INJECTION, EJECTION):
                out[k] = now + was + lag[k] - before[k]
            else:
                out[k] = now + scaled(max(was, 0), before[k], lag[k]) + min(was, 0)
    return out


def levelled(gaps, spans, wanted):
    """Return (what groups of spans, each (first segment, behind the last, group), add up to, what gaps take if that is what is wanted)."""
    gap_of = [gap for gap, parts in enumerate(gaps) for _ in parts]
    length = [part for parts in gaps for part in parts]
    part, group, gap = [], [], []
    for first, end, of in spans:
        for its in sorted(set(gap_of[first:end])):
            part.append(sum(length[k] for k in range(first, end) if gap_of[k] == its))
            group.append(of)
            gap.append(its)
    out = [sum(parts) for parts in gaps]
    for its, now, before in zip(gap, shares(part, group, wanted), part, strict=True):
        out[its] += now - before
    return [sum(one for one, of in zip(part, group, strict=True) if of == k) for k in range(len(wanted))], out


def shares(part, group, total):
    """Return parts rescaled so that those of each group add up to its total, rounded half to even on the running sum."""
    out = []
    for one, rows in itertools.groupby(range(len(part)), key=group.__getitem__):
        rows = list(rows)
        sums = list(itertools.accumulate(part[row] for row in rows))
        now = [round(value * (float(total[one]) / float(sums[-1]))) if value != sums[-1] else total[one] for value in sums]
        out += [after - before for before, after in zip([0, *now], now, strict=False)]
    return out


def cut_incoming(start, kind, vertex, spared, cut, weight):
    """Return the weights, cut on all but the first edge into the listed vertices, edges of kind `spared` and behind it left out."""
    freed = {k for v in vertex for k in into(start, v) if k > start[v] and kind[k] < spared}
    return [cut if k in freed else value for k, value in enumerate(weight)]


def match(sent, received):
    """Return, per receive, the first send left in its channel, or -1."""
    queues = collections.defaultdict(collections.deque)
    for row, channel in enumerate(sent):
        queues[channel].append(row)
    return [queues[channel].popleft() if queues[channel] else -1 for channel in received]


def number_rounds(ranks, comms, members):
    """Return (how many before on the communicator by the same rank, rank in it or -1) per collective call; members per communicator."""
    seen, step, place = collections.Counter(), [], []
    for rank, comm in zip(ranks, comms, strict=True):
        step.append(seen[rank, comm])
        seen[rank, comm] += 1
        place.append(members[comm].index(rank) if rank in members[comm] else -1)
    return step, place


def number(pairs, known=()):
    """Return (number per pair, all pairs known) in order of first occurrence."""
    numbers = {tuple(pair): row for row, pair in enumerate(known)}
    return [numbers.setdefault(tuple(pair), len(numbers)) for pair in pairs], list(numbers)


def running(numbers):
    """Return how often each number occurs before its place."""
    return [numbers[:place].count(number) for place, number in enumerate(numbers)]


def paths(parent, region):
    """Return (path per region instance, (parent path, region) per path)."""
    numbers, out = {}, []
    for above, name in zip(parent, region, strict=True):
        out.append(numbers.setdefault((out[above] if above >= 0 else -1, name), len(numbers)))
    return out, list(numbers)


def last_inside(parent, outlives):
    """Return per row the last row that has it among its parents, or itself; the way up ends above a parent that outlives its own."""

    def inside(row, outer, start=True):
        if row < 0 or row == outer:
            return row == outer
        return (start or not outlives[row]) and inside(parent[row], outer, False)

    return [max(row for row in range(len(parent)) if inside(row, outer)) for outer in range(len(parent))]


def place_boundaries(last):
    """Return the places of entries and of leavings: behind each entry the leavings of those whose last one it is, larger rows first."""
    rows = range(len(last))
    order = [end for row in rows for end in ((row, "entry"), *((one, "leaving") for one in reversed(rows) if last[one] == row))]
    return tuple([order.index((row, end)) for row in rows] for end in ("entry", "leaving"))


def inherit_owner(start, source, hub, time, owner):
    """Return the owners when each listed vertex takes that of its latest source with one; of equally late ones the first."""
    owner = list(owner)
    for v in hub:
        owned = [source[k] for k in into(start, v) if owner[source[k]] >= 0]
        owner[v] = owner[max(owned, key=lambda u: time[u])] if owned else -1
    return owner


def components(edges, chained, skipped):
    """Return the sets of vertices that reach each other, those skipped left out."""
    size = len(chained)
    all_edges = [*edges, *((v, v + 1) for v in range(size) if chained[v])]
    reach = {v: {v} for v in range(size) if v not in skipped}
    for _ in range(size):
        for a, b in all_edges:
            if a in reach and b in reach:
                for found in reach.values():
                    if a in found:
                        found.add(b)
    return {frozenset(w for w in reach if w in reach[v] and v in reach[w]) for v in reach}


def dynamic(first_piece, first_thread, piece, total):
    """Return what each thread has when, part by part, the one with least so far, of several the first, takes the next piece."""
    out = list(total)
    for part in range(len(first_piece) - 1):
        for k in range(first_piece[part], first_piece[part + 1]):
            free = min(range(first_thread[part], first_thread[part + 1]), key=lambda thread: (out[thread], thread))
            out[free] += piece[k]
    return out


def ragged(rows, sizes):
    """Return the values of all rows, of each as many as its size."""
    return [value for row, size in zip(rows, sizes, strict=True) for value in row[:size]]


def before(lanes, instants, at):
    """Return, row by row, how many values of its lane are before each instant, and at it too if `at` says so."""
    return [[sum(value < instant or (at and value == instant) for value in lanes[x]) for x, instant in enumerate(row)] for row in instants]


def join(stretches):
    """Return stretches (lane, begin, end) in order, those of a lane that touch or overlap joined."""
    out = []
    for lane, begin, end in sorted(stretches):
        if out and out[-1][0] == lane and begin <= out[-1][2]:
            begin, end = out[-1][1], max(end, out.pop()[2])
        out.append((lane, begin, end))
    return out


def share(jobs):
    """Return when jobs (server, ready, work) are done, as fractions, where all that are at a server have equal parts of it."""
    done = [None] * len(jobs)
    for server in {job[0] for job in jobs}:
        left = {k: Fraction(job[2]) for k, job in enumerate(jobs) if job[0] == server}
        now = Fraction(0)
        while left:
            there = [k for k in left if jobs[k][1] <= now]
            coming = [Fraction(jobs[k][1]) for k in left if jobs[k][1] > now]
            if not there:
                now = min(coming)
                continue
            step = min([min(left[k] for k in there) * len(there), *(instant - now for instant in coming)])
            for k in there:
                left[k] -= step / len(there)
                if not left[k]:
                    done[k] = now + step
            now += step
            left = {k: rest for k, rest in left.items() if done[k] is None}
    return done


def flow(flows, capacity, most):
    """Return when flows (start, volume, {link: part}) are done, where all grow alike until a link is full (progressive filling)."""
    left, done, now = {k: Fraction(flow[1]) for k, flow in enumerate(flows)}, [None] * len(flows), Fraction(0)
    while left:
        there = [k for k in left if flows[k][0] <= now]
        coming = [Fraction(flows[k][0]) for k in left if flows[k][0] > now]
        if not there:
            now = min(coming)
            continue
        rate, spare, growing = dict.fromkeys(there, Fraction(0)), [Fraction(c) for c in capacity], set(there)
        while growing:
            wanted = [sum(Fraction(flows[k][2].get(link, 0)) for k in growing) for link in range(len(capacity))]
            more = min([most - rate[k] for k in growing] + [spare[link] / want for link, want in enumerate(wanted) if want])
            spare = [rest - more * want for rest, want in zip(spare, wanted, strict=True)]
            rate |= {k: rate[k] + more for k in growing}
            full = {link for link, want in enumerate(wanted) if want and not spare[link]}
            growing = {k for k in growing if rate[k] < most and not full & set(flows[k][2])}
        step = min([left[k] / rate[k] for k in there] + [instant - now for instant in coming])
        now += step
        left |= {k: left[k] - rate[k] * step for k in there}
        for k in there:
            done[k] = now if not left[k] else None
        left = {k: rest for k, rest in left.items() if rest}
    return done


def bad_edge(start, source, kind, cause, causes):
    """Return the first edge that is none, -1 if all are."""
    for v in range(len(start) - 1):
        for k in into(start, v):
            if source[k] not in range(v) or kind[k] not in range(len(causes)) or cause[k] not in range(-1, causes[kind[k]]):
                return k
    return -1


def first_after(lanes, asked):
    """Return, per lane and time asked for, the row of its first value that is later, that behind its last if none is."""
    before = [sum(map(len, lanes[:lane])) for lane in range(len(lanes))]
    return [before[lane] + sum(value <= time for value in lanes[lane]) for lane, time in asked]


def came_back(calls, least):
    """Return, per call that lets messages move, the last one since the one before that was outside for so long, else the longest.

    Of its location alone: a call is (location, lets, outside).
    """
    out, since = [], []
    for row, (location, lets, outside) in enumerate(calls):
        if row and location != calls[row - 1][0]:
            since = []
        since.append((outside >= least, row if outside >= least else outside, -row))
        if lets:
            out.append(-max(since)[-1])
            since = []
    return out


def following(number, lane):
    """Return how far behind each row the next one of its lane with its number is, 0 if none is or the number is below 0."""
    same = [[j - i for j in range(i + 1, len(number)) if (number[j], lane[j]) == (number[i], lane[i])] for i in range(len(number))]
    return [min(each, default=0) if number[i] >= 0 else 0 for i, each in enumerate(same)]


def clog_events(words, begin, kinds):
    """Return the lines of events among records of CLOG-2, and what stands beside them: row, communicator, that of the partner, moves."""
    lines, found = [], []
    for row, (i, kind) in enumerate(zip(begin, kinds, strict=True)):
        if kind in (5, 6, 7):
            comm, rank, thread, _, etype, other, partner, tag, size = [*words[i + 2 : i + 11], 0, 0, 0, 0, 0][:9]
            moved = (partner, tag, size) if kind == 7 else (0, 0, 0)
            lines.append((etype, rank, thread, *moved, 0, 0, 0))
            found.append((row, comm, other if kind == 7 and other >= 0 else comm, int(kind == 7)))
    return lines, found


def clog_records(words, block, lengths):
    """Return where the records of CLOG-2 begin (~begin: unusable), whether the log ends, and how many are unusable."""
    out = []
    for first in range(0, len(words), block):
        here, end = first, min(first + block, len(words))
        while here < end:
            kind = words[here + 5] if here + 6 <= end else -1
            if kind == 0:
                return out, True, sum(place < 0 for place in out)
            if kind == 1:
                break
            fits = 0 <= kind < len(lengths) and here + lengths[kind] <= end
            out.append(here if fits else ~here)
            if not fits:
                break
            here += lengths[kind]
    return out, False, sum(place < 0 for place in out)


def proceed(edges, chained, apart):
    """Return vertices in order, first in, first out from 0; one of `apart` comes in, the least first, when nothing else can be placed."""
    after = {v: [target for source, target in edges if source == v] for v in range(len(chained))}
    after |= {v: [v + 1, *after[v]] for v in range(len(chained)) if chained[v]}
    waiting = {v: sum(targets.count(v) for targets in after.values()) for v in range(len(chained))}
    out, apart, head = [0], sorted(apart), 0
    while True:
        while head < len(out):
            for target in after[out[head]]:
                waiting[target] -= 1
                out += [target] if waiting[target] == 0 else []
            head += 1
        if not apart:
            return out
        out.append(apart.pop(0))
