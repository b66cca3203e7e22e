"""Twins of the kernels of schedules: text by regular expressions, streams checked by what they promise, and a simulation with a heap."""

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
