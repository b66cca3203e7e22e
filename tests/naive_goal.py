"""Twins of the kernels of schedules: text by regular expressions, streams checked by what they promise, and simulations with a heap."""

import collections
import heapq
import re

from perwiz.kernels import goal_lines as g

_TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|-1(?!\d)|\d+|[A-Za-z]\w*|[ \t\r]+|.|\n", re.DOTALL)
_OPERATION = re.compile(r"(?:(\w+) : )?(send|recv|calc) (\d+)(?: b (to|from) (-1|\d+))?((?: (?:tag|cpu|nic) (?:-1|\d+))*)$", re.ASCII)
KINDS = {"send": g.SEND, "recv": g.RECV, "calc": g.CALC, "requires": g.REQUIRES, "irequires": g.IREQUIRES}


def statements(text):
    """Return (kind, rank, size, peer, tag, cpu, nic, label, other) of each statement of a right text, one a line."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    out, rank = [], -1
    for line in text.replace("{", "{\n").replace("}", "\n}\n").split("\n"):
        words = re.findall(r"[A-Za-z]\w*|-?\d+|[:{}]", re.sub(r"(\d)b", r"\1 b", line))
        if not words or words[0] == "num_ranks" or words == ["}"]:
            continue
        if words[0] == "rank":
            rank = int(words[1])
            out.append((g.RANK, rank, rank, -1, 0, 0, 0, None, None))
        elif words[1:2] and words[1] in ("requires", "irequires"):
            out.append((KINDS[words[1]], rank, 0, -1, 0, 0, 0, words[0], words[2]))
        else:
            label, kind, size, _, peer, more = _OPERATION.match(" ".join(words)).groups()
            of = dict(zip(*[iter(more.split())] * 2, strict=True))
            place = -1 if peer is None else -2 if peer == "-1" else int(peer)
            tag = -2 if of.get("tag") == "-1" else int(of.get("tag", 0))
            out.append((KINDS[kind], rank, int(size), place, tag, int(of.get("cpu", 0)), int(of.get("nic", 0)), label, None))
    return out


def simulate(schedule, cost):
    """Return (end of each rank, operations that are done) as LogGOPSim has it; `cost` has L, o, g, G, O and S."""
    count, turn = len(schedule), iter(range(10**9))
    needs, let = [0] * count, {0: collections.defaultdict(list), 1: collections.defaultdict(list)}
    for op, on, starts in zip(schedule.op.tolist(), schedule.on.tolist(), schedule.starts.tolist(), strict=True):
        needs[op] += 1
        let[starts][on].append(op)
    kind, rank, size, peer, tag, cpu, nic = (getattr(schedule, n).tolist() for n in ("kind", "rank", "size", "peer", "tag", "cpu", "nic"))
    free, sending, taking = (collections.Counter() for _ in range(3))
    heap, posted, unexpected, done = [], collections.defaultdict(list), collections.defaultdict(list), set()

    def begin(ready):
        for k in sorted(ready, key=lambda k: (rank[k], kind[k])):
            time = free[rank[k], cpu[k]]
            heapq.heappush(heap, (max(time, sending[rank[k], nic[k]]) if kind[k] == g.SEND else time, next(turn), k, False))

    def matching(k, queue, source):
        for other in queue:
            a, b = (source, peer[other]) if kind[k] == g.SEND else (peer[k], rank[other])
            if (a == b or -2 in (a, b)) and (tag[k] == tag[other] or -2 in (tag[k], tag[other])):
                queue.remove(other)
                return other
        return None

    def finish(k, which=(0,)):
        done.update([k] if 0 in which else [])
        for way in which:
            for other in let[way][k]:
                needs[other] -= 1
                if needs[other] == 0:
                    ready.append(other)

    def let_go(send, by, time):
        free[rank[send], cpu[by]] = max(free[rank[send], cpu[by]], time)
        sending[rank[send], nic[by]] = max(sending[rank[send], nic[by]], time)
        finish(send)

    for r in range(schedule.ranks):
        begin([k for k in range(count) if rank[k] == r and needs[k] == 0])
    while heap:
        time, at, k, is_message = heapq.heappop(heap)
        ready, more = [], size[k] - 1
        host = peer[k] if is_message else rank[k]
        p, q = (host, cpu[k]), (host, nic[k])
        busy = free[p] if kind[k] == g.CALC else max(free[p], (taking if is_message else sending)[q])
        if (kind[k] != g.RECV) and busy > time:
            heapq.heappush(heap, (busy, at, k, is_message))
        elif is_message:
            free[p] = time + cost["o"] + max(more * cost["O"], more * cost["G"])
            taking[q] = time + cost["g"] + more * cost["G"]
            found = matching(k, posted[host], rank[k])
            if found is None:
                unexpected[host].append(k)
            else:
                if size[k] > cost["S"]:
                    let_go(k, k, time)
                finish(found)
        elif kind[k] == g.CALC:
            free[p] = time + size[k]
            finish(k, (1, 0))
        elif kind[k] == g.SEND:
            finish(k, (1,))
            free[p], sending[q] = time + cost["o"] + more * cost["O"], time + cost["g"] + more * cost["G"]
            heapq.heappush(heap, (time + cost["o"] + cost["L"], next(turn), k, True))
            if size[k] <= cost["S"]:
                finish(k)
        else:
            finish(k, (1,))
            found = matching(k, unexpected[host], None)
            if found is None:
                posted[host].append(k)
            else:
                if size[k] > cost["S"]:
                    let_go(found, k, time)
                finish(k)
        begin(ready)
    return [max([free[r, c] for c in range(256)]) for r in range(schedule.ranks)], len(done)


class _Queue:
    """The order in which std::priority_queue of libstdc++ gives out what is of one time: pairs (time, what), the least time first."""

    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)
        self._up(len(self.items) - 1)

    def _up(self, hole):
        while hole and self.items[(hole - 1) // 2][0] > self.items[hole][0]:
            above = (hole - 1) // 2
            self.items[hole], self.items[above] = self.items[above], self.items[hole]
            hole = above

    def pop(self):
        items = self.items
        out, last = items[0], items.pop()
        if items:
            hole = 0
            while 2 * hole + 1 < len(items):
                child = min((k for k in (2 * hole + 2, 2 * hole + 1) if k < len(items)), key=lambda k: items[k][0])
                items[hole], hole = items[child], child
            items[hole] = last
            self._up(hole)
        return out


class _Needs:
    """Which operations need which, and since when all is done that one needs."""

    def __init__(self, schedule):
        self.left, self.since, self.done = [0] * len(schedule), [0] * len(schedule), 0
        self.let = {0: collections.defaultdict(list), 1: collections.defaultdict(list)}
        for op, on, starts in zip(schedule.op.tolist(), schedule.on.tolist(), schedule.starts.tolist(), strict=True):
            self.left[op] += 1
            self.let[starts][on].append(op)
        self.ready = [k for k in range(len(schedule)) if not self.left[k]]

    def start(self, k):
        self._take(self.let[1][k], lambda op: 0)

    def finish(self, k, time):
        self.done += 1
        for op in self.let[0][k]:
            self.since[op] = max(self.since[op], time)
        self._take(self.let[0][k], lambda op: self.since[op])

    def _take(self, of, since):
        for op in of:
            self.left[op] -= 1
            if not self.left[op]:
                self.since[op] = since(op)
                self.ready.append(op)


def _columns(schedule):
    return (getattr(schedule, n).tolist() for n in ("kind", "rank", "size", "peer", "tag", "cpu", "nic"))


def atlahs(schedule, c):
    """Return (end of each rank, operations that are done) as the LogGOPSim of ATLAHS has it; `c` has L, o, g, G, O and S."""
    kind, rank, size, peer, tag, cpu, nic = _columns(schedule)
    size = [each if kind[k] == g.CALC else max(each, 1) for k, each in enumerate(size)]
    needs, heap = _Needs(schedule), _Queue()
    free, sending, taking = (collections.Counter() for _ in range(3))
    posted, unexpected = collections.defaultdict(collections.deque), collections.defaultdict(collections.deque)
    for k in needs.ready:
        heap.push((0, k, False))
    needs.ready = []

    def follow(host):
        for k in [k for k in needs.ready if rank[k] == host]:
            at = {g.CALC: free[host, cpu[k]], g.SEND: sending[host, nic[k]], g.RECV: 0}[kind[k]]
            heap.push((max(needs.since[k], at), k, False))
        needs.ready = [k for k in needs.ready if rank[k] != host]

    def receive(by, host, time, unit):
        more = size[by] - 1
        taking[host, nic[by]] = time + c["g"]
        free[host, cpu[unit]] = time + c["g"] + c["o"] + more * c["O"]
        return free[host, cpu[unit]], taking[host, nic[by]]

    def let_go(send, by, at, interface):
        needs.finish(send, at)
        free[rank[send], cpu[by]] = max(free[rank[send], cpu[by]], at)
        sending[rank[send], nic[by]] = max(sending[rank[send], nic[by]], interface)

    while heap.items:
        time, k, is_message = heap.pop()
        host, more = peer[k] if is_message else rank[k], size[k] - 1
        hosts = [host]
        if is_message:
            waiting = posted[host, rank[k], tag[k]]
            if not waiting:
                unexpected[host, rank[k], tag[k]].append(k)
                continue
            found = waiting.popleft()
            at = max(free[host, cpu[found]], taking[host, nic[k]])
            if at > time:
                heap.push((at, k, True))
                waiting.append(found)
                continue
            at, interface = receive(k, host, time, found)
            if size[k] > c["S"]:
                let_go(k, k, at, interface)
                hosts = [host, rank[k]]
            needs.finish(found, at)
        elif kind[k] == g.RECV:
            needs.start(k)
            waiting = unexpected[host, peer[k], tag[k]]
            if not waiting:
                posted[host, peer[k], tag[k]].append(k)
            else:
                found = waiting.popleft()
                at, interface = receive(k, host, max(time, sending[host, nic[k]]), k)
                if size[k] > c["S"] and size[found] > c["S"]:
                    let_go(found, k, at, interface)
                    hosts = [rank[found], host]
                needs.finish(k, at)
        else:
            at = max(free[host, cpu[k]], sending[host, nic[k]] if kind[k] == g.SEND else 0)
            if at > time:
                heap.push((at, k, False))
                continue
            needs.start(k)
            free[host, cpu[k]] = time + (size[k] if kind[k] == g.CALC else c["o"] + more * c["O"])
            if kind[k] == g.SEND:
                way = int(more * c["G"])
                sending[host, nic[k]] = time + c["g"] + way
                heap.push((free[host, cpu[k]] + c["L"] + way, k, True))
            if kind[k] == g.CALC or size[k] <= c["S"]:
                needs.finish(k, free[host, cpu[k]])
        for each in hosts:
            follow(each)
    return [max([free[r, u] for u in range(256)]) for r in range(schedule.ranks)], needs.done


def llamp(schedule, c, partner):
    """Return the end of each rank as LLAMP has it, by passes until nothing changes; `partner` by message and receive."""
    kind, rank, size, *_ = _columns(schedule)
    on, first = collections.defaultdict(list), {}
    for op, other, starts in zip(schedule.op.tolist(), schedule.on.tolist(), schedule.starts.tolist(), strict=True):
        first.setdefault(op, other)
        on[op].append((other, starts))
    begin, end = [0] * len(kind), [0] * len(kind)
    needed = set()
    for _ in range(2 * len(kind) + 2):
        for k in range(len(kind)):
            before = [first.get(other) if starts else other for other, starts in on[k]]
            needed.update(before)
            apart = 5000 if kind[k] == g.CALC and [starts for _, starts in on[k]] == [1] else 0
            begin[k] = max([0, *(end[other] for other in before if other is not None)])
            if kind[k] == g.RECV:
                begin[k] = max(begin[k], begin[partner[k]] + c["o"] + c["L"] + size[partner[k]] * c["G"])
            end[k] = begin[k] + (size[k] + apart if kind[k] == g.CALC else c["o"])
            if kind[k] == g.SEND and min(size[k], size[partner[k]]) > c["S"]:
                end[k] = end[partner[k]]
    last = [[end[k] for k in range(len(kind)) if rank[k] == r and kind[k] == g.CALC and k not in needed] for r in range(schedule.ranks)]
    return [max([0, *each]) for each in last]


def dimemas(schedule, c, links, node, inner, buses=0):
    """Return (end of each rank, operations that are done) as Dimemas has it.

    `c` has L, G and S, `inner` L and G within a `node`, which each rank has; `links` in and out of a node, and
    `buses`, 0 any.
    """
    kind, rank, size, peer, tag, cpu, _ = _columns(schedule)
    needs, heap, turn = _Needs(schedule), [], iter(range(10**9))
    free, end, used = collections.Counter(), collections.Counter(), collections.Counter()
    posted, there, held, waiting = [], [], [], collections.defaultdict(list)

    def add(time, k, step):
        heapq.heappush(heap, (time, next(turn), k, step))

    def finish(k, time):
        end[rank[k]] = max(end[rank[k]], time)
        needs.finish(k, time)

    def cost(k):
        return inner if peer[k] >= 0 and node[rank[k]] == node[peer[k]] else c

    def ways(k):
        return [("out", node[rank[k]]), ("in", node[peer[k]]), "bus"] if cost(k) is c else []

    def matches(send, receive):
        place = rank[send] in (peer[receive], rank[send] if peer[receive] == -2 else -1) and peer[send] == rank[receive]
        return place and tag[receive] in (tag[send], -2)

    def move(k, time, places):
        while places:
            room = buses if places[0] == "bus" else links
            if room and used[places[0]] == room:
                waiting[places[0]].append((k, places))
                return
            used[places[0]] += 1
            places = places[1:]
        add(time + size[k] * cost(k)["G"], k, "there")

    def first(queue, fits):
        return next((each for each in queue if fits(each)), None)

    for k in needs.ready:
        add(0, k, "begin")
    needs.ready = []
    while heap:
        time, at, k, step = heapq.heappop(heap)
        if step == "begin":
            if free[rank[k], cpu[k]] > time:
                heapq.heappush(heap, (free[rank[k], cpu[k]], at, k, step))
                continue
            free[rank[k], cpu[k]] = time + (size[k] if kind[k] == g.CALC else cost(k)["L"])
            needs.start(k)
            add(free[rank[k], cpu[k]], k, "busy")
        elif step == "there":
            for way in ways(k):
                used[way] -= 1
                if waiting[way]:
                    move(waiting[way][0][0], time, waiting[way].pop(0)[1])
            found = first(posted, lambda each, k=k: matches(k, each))
            if found is None:
                there.append(k)
            else:
                posted.remove(found)
                finish(found, time)
        elif kind[k] == g.CALC:
            finish(k, time)
        elif kind[k] == g.SEND:
            if size[k] >= c["S"] and first(posted, lambda each, k=k: matches(k, each)) is None:
                held.append(k)
            else:
                finish(k, time)
                move(k, time, ways(k))
        else:
            found = first(there, lambda each, k=k: matches(each, k))
            if found is not None:
                there.remove(found)
                finish(k, time)
            else:
                posted.append(k)
                found = first(held, lambda each, k=k: matches(each, k))
                if found is not None:
                    held.remove(found)
                    finish(found, time)
                    move(found, time, ways(found))
        for each in needs.ready:
            add(max(time, needs.since[each]), each, "begin")
        needs.ready = []
    return [end[r] for r in range(schedule.ranks)], needs.done


def collectives(program, c, times, node, inner):
    """Return the end of each rank of (ns before it, what, members, bytes) in turn as Dimemas has it, with any number of links.

    `node` and `inner` as of `dimemas`; a node of one rank has no cost within.
    """
    now = [0] * len(node)
    several = len(set(node)) < len(node)
    reduces = collections.Counter()
    for before, what, members, size in program:
        on = collections.Counter(node[r] for r in members)
        comm = frozenset(members)
        busy = max(c["L"] * (len(on) > 1), inner["L"] * (len(on) < len(members)))
        at = [now[r] + before + (busy if what in ("reduce", "posted") else 0) for r in members]
        if what == "reduce":
            moves = [size * (inner if node[r] == node[members[0]] else c)["G"] for r in members]
            there = [time + takes for time, takes in zip(at[1:], moves[1:], strict=True)]
            ends = [max(at[0], *there), *there]
            reduces[comm] += 1
        else:
            parts = [(c, len(on), len(set(node)) > 1), (inner, max(on.values()) * (1 + reduces.pop(comm, 0)), several)]
            takes = sum((2 * cost["L"] + size * cost["G"]) * times(count) for cost, count, there in parts if there)
            ends = [max(at) + takes] * len(members)
        for r, end in zip(members, ends, strict=True):
            now[r] = end
    return now
