"""Which calls a question is about: `e12`, `region:NAME`, `step:NAME#3`, `step:NAME#3..7`, `site:MPI_Recv@NAME`, `rank:3`, `rank:0-7`,
`rank:0.1` (thread or stream 1 of rank 0), `node:NAME`, `group:NAME` (ranks of a communicator), `pair:0>1`, `tag:3`, `lock:0`,
`op:MPI_Recv`, `all`, or several joined by commas.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from perwiz import words
from perwiz.errors import TraceError, UsageError
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Ints, Mask
from perwiz.trace.numbers import Numbers
from perwiz.trace.resources import remembered
from perwiz.trace.tables import NONE, PROCESS, STREAM, Times
from perwiz.trace.trace import Timeline, Trace

_KINDS = ("region", "step", "site", "rank", "node", "group", "pair", "tag", "lock", "op")
_SPLIT = re.compile(rf"\s*,\s*(?=e[0-9]+(?:\s*,|$)|(?:{'|'.join(_KINDS)}):|all(?:\s*,|$))")

MOST_TEXT = 1 << 30
"""Characters of the texts of all region paths, together."""


def calls(trace: Trace, text: str) -> Mask:
    """Return which calls `text` selects, bool per call. Raises UsageError if a part names nothing or the whole selects no call."""
    mask, own = np.zeros(len(trace.calls), bool), trace.share.calls
    for part in _SPLIT.split(text.strip()):
        mask |= _by_somebody(trace, part)
    if not trace.share.asked(mask[own].any()):
        raise UsageError(f"'{text}' selects no call")
    return mask


def _by_somebody(trace: Trace, part: str) -> Mask:
    """Return which calls one selector selects. Raises UsageError if it names nothing, of parts of a trace if it does so in all."""
    mask, nothing = np.zeros(len(trace.calls), bool), None
    try:
        mask = _selected(trace, part)
    except UsageError as error:
        nothing = error
    if not trace.share.asked(nothing is None) and nothing is not None:
        raise nothing
    return mask


def joined(parts: Sequence[str]) -> str | None:
    """Return selectors joined by commas, None if that would be read as others."""
    text = ",".join(parts)
    return text if _SPLIT.split(text.strip()) == list(parts) else None


def locations(trace: Trace, text: str) -> Mask:
    """Return which locations `rank:R`, `rank:R-S`, `node:NAME` or `group:NAME` selects, bool per location, or `rank:R.T`: thread or
    stream T of rank R.

    Raises UsageError for other texts, several of them, and unknown ranks, threads, nodes or groups.
    """
    if text.startswith("node:"):
        return _node(trace, text.removeprefix("node:"))
    if text.startswith("group:"):
        return _group(trace, text.removeprefix("group:"))
    if match := re.fullmatch(r"rank:([0-9]{1,9})\.([0-9]{1,9})", text):
        return _thread(trace, text, int(match[1]), int(match[2]))
    match = re.fullmatch(r"rank:([0-9]{1,9})(?:-([0-9]{1,9}))?", text)
    if not match and re.fullmatch("(rank:)?[0-9]+( *, *(rank:)?[0-9]+)+", text):
        raise UsageError(f"'{text}': several ranks, must be one like rank:3")
    if not match:
        kind, _, rest = text.partition(":")
        guess = words.meant(text, (f"rank:{rest}", f"node:{rest}", f"group:{rest}")) if kind not in _KINDS else ""
        raise UsageError(f"'{text}' is no rank, must be like rank:3, rank:0-7, node:NAME or group:NAME{guess}")
    mask = (trace.locations.process >= int(match[1])) & (trace.locations.process <= int(match[2] or match[1]))
    if not mask.any():
        ranks = trace.locations.process
        have = f"ranks {ranks.min()} to {ranks.max()}" if len(ranks) else "no processes"
        raise UsageError(f"{text}: no such rank, the trace has {have}")
    return mask


def processors(trace: Trace, text: str) -> Mask:
    """Return which locations `locations` selects, those of a whole process without its streams: a device is no processor of it."""
    mask = locations(trace, text)
    return mask & (trace.locations.kind != STREAM) if mask.sum() > 1 else mask


def _thread(trace: Trace, text: str, rank: int, thread: int) -> Mask:
    """Return which location is this thread or stream of a rank, bool per location."""
    own = trace.locations.process == rank
    mask = np.asarray(own & (trace.locations.thread == thread))
    if not mask.any():
        have = ", ".join(f"rank:{rank}.{other}" for other in np.unique(trace.locations.thread[own]))
        raise UsageError(f"{text}: no such thread or stream, the trace has {have or f'no rank {rank}'}")
    return mask


def region(trace: Trace, name: str) -> int:
    """Return the row of names of a user region. Raises UsageError naming the closest ones, or if it is a list of them."""
    if name in trace.names:
        return trace.names.index(name)
    listed = [part.strip().partition("#")[0] for part in name.split(",")]
    if len(listed) > 1 and all(part in trace.names for part in listed):
        raise UsageError(f"region '{name}': {len(listed)} regions, must be one")
    if not trace.names:
        marked = "PRGN_BEGIN (perwiz record --print-include), or functions that other tools record"
        raise UsageError(f"region '{name}': the trace has no user regions, must be marked in the program: {marked}")
    raise UsageError(f"region '{name}': no such region, the trace has {words.there(name, trace.names)}")


def instances(trace: Trace, name: str) -> I8:
    """Return the instances of a user region, rows of regions. Raises UsageError for another name."""
    return _instances(trace, region(trace, name))


@remembered(16)
def _instances(trace: Trace, row: int) -> I8:
    return np.flatnonzero((trace.paths.region == row)[trace.regions.path])


def steps(trace: Trace, text: str) -> tuple[I8, I8]:
    """Return (region instances, their step from 0) of `REGION`, `REGION#k` or `REGION#k..m`.

    A step is the k-th instance on every process.
    """
    name, number = numbered(text, trace.names)
    rows = instances(trace, name)
    step = trace.regions.instance[rows].astype("i8")
    if name != text:
        first, last = bounds(number)
        chosen = (step >= first) & (step <= last)
        if not trace.share.asked(chosen.any()):
            least, most = trace.share.least(int(step.min(initial=len(trace.regions)))), trace.share.most(int(step.max(initial=0)))
            raise UsageError(f"'{text}': no such step, region '{name}' has steps {least} to {most}")
        rows, step = rows[chosen], step[chosen]
    return rows, trace.share.placed(step)[1]


def all_steps(trace: Trace, instances: I8) -> tuple[I8, I8, I8]:
    """Return (row of names per step, its number; which of them each of these region instances is), steps by region and number.

    Of region 1 the instances 1 2 on one process and 1 on another -> regions 1 1, numbers 1 2; which 0 1 0.
    """
    most = trace.share.most(int(trace.regions.instance.max(initial=0))) + 1
    asked: I8 = trace.region_names[instances].astype("i8")
    asked = asked * most + trace.regions.instance[instances]
    key, which = trace.share.placed(asked)
    return key // most, key % most, which


def numbered(text: str, names: Sequence[str]) -> tuple[str, str]:
    """Return the name in `NAME#3` or `NAME#3..7` and what follows it; the whole text if that is one of the names, or has no such mark."""
    name, mark, number = text.rpartition("#") if text not in names else (text, "", "")
    return (name, number) if mark else (text, "")


def placed(text: str, names: Sequence[str]) -> tuple[str, str]:
    """Return the region and the place, as `locations` takes it, of `REGION@rank:3`; no place (empty) if the text is one of the names."""
    match = None if text in names else re.fullmatch("(.*?)@((?:rank|node|group):.*)", text, re.DOTALL)
    return (match[1], match[2]) if match else (text, "")


def bounds(number: str) -> tuple[int, int]:
    """Return the first and the last of the steps `3` or `3..7`; the last is below the first if the text is neither."""
    match = re.fullmatch(r"([0-9]{1,9})(?:\.\.([0-9]{1,9}))?", number)
    return (int(match[1]), int(match[2] or match[1])) if match else (1, 0)


def outermost(first: Ints, end: Ints, instances: I8, count: int) -> I8:
    """Return, for 0 .. count - 1, which of these region instances it lies in, -1 none: that k holds first[k] .. end[k] - 1.

    Instances nest and are sorted by where they begin; of nested ones the outermost counts.

        first, end   1 5, 2 4, 7 8      instances   3, 4, 6
        outermost    - 3 3 3 3 - - 6    (of count 8)
    """
    mark, outer = np.zeros(count + 1, "i8"), outer_of(first, end)
    np.add.at(mark, first[outer], instances[outer] + 1)
    np.add.at(mark, end[outer], -(instances[outer] + 1))
    return np.asarray(np.cumsum(mark)[:-1] - 1)


def outer_of(first: Ints, end: Ints) -> Mask:
    """Return which of some ranges, sorted by where they begin, hold something and lie in no other."""
    return np.asarray((first >= np.concatenate(([0], np.maximum.accumulate(end)[:-1]))) & (end > first))


def owners(trace: Trace, instances: I8) -> I8:
    """Return, per call, which of these region instances (rows, sorted) it lies in, -1 none; of nested ones the outermost."""
    return outermost(trace.regions.first_call[instances], trace.regions.end_call[instances], instances, len(trace.calls))


def meeting(trace: Trace) -> Mask:
    """Return which calls depend on what other locations do, or others on them, bool per call: what messages, collectives and links tie."""
    table, members, links = trace.messages, trace.members, trace.links
    out = np.zeros(len(trace.calls) + 1, bool)  # the last one stands for no call
    for column in (table.send, table.send_done, table.receive, table.receive_done, members.call, members.done, links.cause, links.effect):
        out[column] = True
    return out[:-1]


def paths(trace: Trace) -> list[str]:
    """Return each region path as text, and that of none (empty) behind them: names from the outside in, joined by `/`.

    Raises TraceError if these take more than MOST_TEXT characters.
    """
    out: list[str] = []
    left = MOST_TEXT
    for parent, name in zip(trace.paths.parent.tolist(), trace.paths.region.tolist(), strict=True):
        out.append(f"{out[parent]}/{trace.names[name]}" if parent >= 0 else trace.names[name])
        left -= len(out[-1])
        if left < 0:
            there = f"{len(trace.paths)} paths of regions within regions"
            raise TraceError(f"{trace.path}: {there}, whose names take more than {MOST_TEXT} characters, must take at most so many")
    return [*out, ""]


@remembered(2)
def sites(trace: Trace) -> tuple[I4, list[tuple[str, str, str]]]:
    """Return (call site per call int32, its routine, region path and place in the source); what is not known is empty.

    In the order of the text that a site is called by, see `site`; what has the same text is one site. Of a part of a run they are those of
    all of it.
    """
    which, labels = _labelled(trace, slice(None))
    every = trace.share.listed(labels)
    named = {name: (routine, place, source) for name, routine, place, source in sorted((site(*parts), *parts) for parts in every)}
    number = {text: row for row, text in enumerate(named)}
    return np.array([number[site(*parts)] for parts in labels], "i4")[which], list(named.values())


def sites_of(trace: Trace, calls: Ints) -> list[str]:
    """Return what the call sites of some calls, rows, are called, in order: no others are looked at."""
    return sorted({site(*parts) for parts in _labelled(trace, calls)[1]})


def _labelled(trace: Trace, some: Ints | slice) -> tuple[I4, list[tuple[str, str, str]]]:
    """Return a number for each of some calls, and the routine, region path and place in the source of each number."""
    numbers, kinds, op = Numbers(), len(operations.OPS), trace.calls.op[some]
    which = numbers.number(trace.calls.path[some], trace.site[some].astype("i8") * kinds + op if len(trace.site) else op)
    path, places = paths(trace), (*(trace.sites if len(trace.site) else ("",)), "")
    return which, [(operations.OPS[k % kinds], path[p], places[k // kinds]) for p, k in numbers.pairs.tolist()]


def site(routine: str, path: str, place: str) -> str:
    """Return how a call site is called: `MPI_Recv@main/solve@solve.c:12 exchange`, without what is empty."""
    return "@".join(part for part in (routine, path, place) if part)


def inside(trace: Trace, name: int) -> Mask:
    """Return which calls were made inside a region, at any depth, bool per call."""
    return np.asarray(paths_inside(trace, name)[trace.calls.path])


def paths_inside(trace: Trace, name: int) -> Mask:
    """Return which region paths lead into a region, at any depth, bool per path, and behind them that what is outside of any does not."""
    within = np.zeros(len(trace.paths) + 1, bool)
    for path in range(len(trace.paths)):
        within[path] = trace.paths.region[path] == name or within[trace.paths.parent[path]]
    return within


def lies_in(trace: Trace, inner: int, outer: int) -> bool:
    """Return whether a region, a row of names, is entered nowhere but inside another one, at any depth."""
    left, parent, name = np.flatnonzero(trace.paths.region == inner), trace.paths.parent, trace.paths.region
    while len(left):
        left = np.unique(parent[left])
        if left[0] == NONE:
            return False
        left = left[name[left] != outer]
    return True


def _selected(trace: Trace, part: str) -> Mask:
    """Return which calls one selector selects; a list of names behind one word selects those of all. Raises UsageError."""
    try:
        return _part(trace, part)
    except UsageError:
        kind, _, rest = part.partition(":")
        first, *others = (f"{kind}:{name.strip()}" for name in rest.split(","))
        if not others or not _is_part(trace, first):
            raise
    return np.any([_part(trace, one) for one in (first, *others)], axis=0)


def _is_part(trace: Trace, part: str) -> bool:
    try:
        _part(trace, part)
    except UsageError:
        return False
    return True


def _part(trace: Trace, part: str) -> Mask:
    kind, _, rest = part.partition(":")
    if part == "all":
        return np.ones(len(trace.calls), bool)
    if re.fullmatch(r"e[0-9]+", part):
        return _one(trace, part)
    if kind == "region" and rest:
        return inside(trace, region(trace, rest))
    if kind == "step" and rest:
        return during(trace, steps(trace, rest)[0])
    if kind == "site" and rest:
        return _at(trace, rest)
    if kind in ("rank", "node", "group") and rest:
        return np.asarray(locations(trace, part)[trace.calls.location], bool)
    if kind == "tag" and rest:
        return _tagged(trace, part)
    if kind == "lock" and rest:
        return _of_lock(trace, part)
    if kind == "pair" and rest:
        return _between(trace, part)
    if kind == "op" and rest:
        return np.asarray(trace.calls.op == _op(trace, rest))
    known = [f"{kind}:{rest}" for kind in _KINDS] if rest else ["all", *(f"op:{operations.OPS[k]}" for k in np.unique(trace.calls.op))]
    raise UsageError(
        f"'{part}' selects nothing, must be like e12, region:NAME, step:NAME#3, site:MPI_Recv@NAME, rank:3, rank:0-7, node:NAME,"
        f" group:NAME, pair:0>1, tag:3, lock:0, op:MPI_Recv or all{words.meant(part, known)}"
    )


def during(trace: Trace, rows: I8) -> Mask:
    """Return which calls were made during these region instances, bool per call."""
    depth = np.zeros(len(trace.calls) + 1, "i4")
    np.add.at(depth, trace.regions.first_call[rows], 1)
    np.add.at(depth, trace.regions.end_call[rows], -1)
    return np.asarray(np.cumsum(depth)[:-1] > 0)


def _at(trace: Trace, text: str) -> Mask:
    """Return which calls were made at a call site, bool per call."""
    which, all_sites = sites(trace)
    names = [site(*parts) for parts in all_sites]
    if text not in names:
        raise UsageError(f"site:{text}: no such call site, the trace has {words.there(text, names)}")
    return np.asarray(which == names.index(text))


def _node(trace: Trace, name: str) -> Mask:
    """Return which locations are on a node, bool per location. Raises UsageError naming the closest ones."""
    mask = np.isin(trace.locations.node, [row for row, node in enumerate(trace.nodes) if node == name])
    if not mask.any():
        have = f"has {words.there(name, trace.nodes)}" if trace.nodes else "tells of no nodes"
        raise UsageError(f"node:{name}: no such node, the trace {have}")
    return mask


def _group(trace: Trace, name: str) -> Mask:
    """Return which locations are of ranks in a communicator, or process group, of this name, bool per location."""
    comms = trace.communicators
    rows = [row for row, known in enumerate(comms.names) if known == name]
    if not rows:
        raise UsageError(f"group:{name}: no such group of ranks, the trace has {words.there(name, comms.names)}")
    return np.isin(trace.locations.process, np.concatenate([comms.members(row) for row in rows]))


def _moving(trace: Trace, chosen: Mask) -> Mask:
    """Return which calls send or receive some of the messages, or complete that, bool per call."""
    table, mask = trace.messages, np.zeros(len(trace.calls), bool)
    for calls in (table.send, table.send_done, table.receive, table.receive_done):
        mask[calls[chosen & (calls != NONE)]] = True
    return mask


def _tagged(trace: Trace, part: str) -> Mask:
    """Return which calls move messages of a tag, or name it, bool per call. Numbers of windows and locks are no tags."""
    number = part.removeprefix("tag:")
    tag = int(number) if re.fullmatch("[0-9]{1,10}", number) else NONE
    named = (trace.calls.tag == tag) & ~operations.ON_WINDOWS[trace.calls.op] & (locks(trace) == NONE)
    mask = _moving(trace, trace.messages.tag == tag) | named if tag != NONE else np.zeros(len(trace.calls), bool)
    if not mask.any():
        used = np.unique(trace.messages.tag)
        have = f"the trace has tags {', '.join(map(str, used[:12]))}{' ...' if len(used) > 12 else ''}" if len(used) else "there are none"
        raise UsageError(f"{part}: no message has that tag, {have}")
    return mask


def locks(trace: Trace) -> I4:
    """Return the number of the lock that each call takes or gives back, int32, -1 for others."""
    return np.where((operations.TAKES_LOCK | operations.GIVES_LOCK)[trace.calls.op], trace.calls.tag, NONE)


def _of_lock(trace: Trace, part: str) -> Mask:
    """Return which calls take or give back a lock, bool per call."""
    number, lock = part.removeprefix("lock:"), locks(trace)
    mask = lock == int(number) if re.fullmatch("[0-9]{1,9}", number) else np.zeros(len(lock), bool)
    if not mask.any():
        last = int(lock.max(initial=NONE))
        have = f"the trace has {'lock 0 alone' if last == 0 else f'locks 0 to {last}'}" if last >= 0 else "the trace names no locks"
        raise UsageError(f"{part}: no such lock, {have}")
    return mask


def _between(trace: Trace, part: str) -> Mask:
    """Return which calls move messages from one rank to another, bool per call."""
    match = re.fullmatch("pair:([0-9]{1,9})>([0-9]{1,9})", part)
    if not match:
        raise UsageError(f"'{part}' is no pair of ranks, must be like pair:0>1, from the sender to the receiver")
    sender, receiver = (trace.processes_of_calls[calls] for calls in (trace.messages.send, trace.messages.receive_done))
    mask = _moving(trace, (sender == int(match[1])) & (receiver == int(match[2])))
    if not mask.any():
        raise UsageError(f"{part}: no message goes from rank {match[1]} to rank {match[2]}")
    return mask


def _one(trace: Trace, part: str) -> Mask:
    number, count = int(part[1:20]), trace.share.in_all("calls", len(trace.calls))
    if number >= count:
        have = f"the trace has calls e0 to e{count - 1}" if count else "the trace has no MPI calls"
        raise UsageError(f"{part}: no such call, {have}")
    mask = np.zeros(len(trace.calls), bool)
    mask[trace.share.own(number)] = True
    return mask


def _op(trace: Trace, name: str) -> int:
    op = operations.OP.get(name, operations.find(name.rstrip("_")) if name[:4].upper() == "MPI_" else None) or NONE
    if op == NONE or not (trace.calls.op == op).any():
        used = [operations.OPS[k] for k in np.unique(trace.calls.op)]
        have = ", ".join(used[:12]) or "no MPI calls"
        raise UsageError(f"op:{name}: no such routine in the trace, it has {have}{words.meant(name, used)}")
    return op


def longest(spans: Times) -> int:
    """Return the longest of some spans, ns; 0 of none."""
    return int((spans.leave - spans.enter).max(initial=0))


def init_calls(trace: Trace) -> I8:
    """Return the calls of MPI_Init, rows."""
    return np.flatnonzero(np.isin(trace.calls.op, operations.INITS))


def init_moves(trace: Trace, predicted: Timeline) -> int:
    """Return by how many ns the last process leaves MPI_Init at another time in a predicted run; 0 if the trace does not show it."""
    calls = init_calls(trace)
    if trace.part or not trace.share.any(len(calls)):
        return 0
    least = int(np.iinfo("i8").min)
    before, now = (trace.share.most(int(line.calls.leave[calls].max(initial=least))) for line in (trace.timeline, predicted))
    return abs(now - before)


def last_calls(trace: Trace, calls: I8) -> I8:
    """Return the last of some calls (rows, ascending) on each location, -1 where there is none."""
    out = np.full(len(trace.locations), NONE, "i8")
    out[trace.calls.location[calls]] = calls
    return out


def finalize_calls(trace: Trace) -> I8:
    """Return the calls of MPI_Finalize, rows."""
    return np.flatnonzero(np.isin(trace.calls.op, operations.FINALIZES))


def after_init(trace: Trace) -> int | None:
    """Return the ns from the instant the last process has left MPI_Init to the end of the run; None if the trace does not show it.

    Of a part of a run it is what the process takes that takes longest: that some begin it later than others is no wait of theirs.
    """
    if trace.part:
        return longest(trace.timeline.locations)
    begin = inits_left(trace)
    return None if begin is None else int(trace.timeline.locations.leave.max()) - begin


def inits_left(trace: Trace) -> int | None:
    """Return the instant, ns, at which the last process has left MPI_Init; None if the trace does not show it, or is a part of a run."""
    left = trace.timeline.calls.leave[init_calls(trace)]
    if trace.part or not trace.share.any(len(left)):
        return None
    return trace.share.most(int(left.max(initial=np.iinfo("i8").min)))


def after_finalize(trace: Trace) -> int:
    """Return how long the run goes on, ns, when the last process has left MPI_Finalize; 0 if none enters it."""
    left, end = trace.timeline.calls.leave[finalize_calls(trace)], int(trace.timeline.locations.leave.max(initial=0))
    return max(end - trace.share.most(int(left.max(initial=0))), 0) if trace.share.any(len(left)) else 0


def before_inits_left(trace: Trace) -> I8:
    """Return how long each call lasts before the last process has left MPI_Init, ns; 0 where the trace does not show it."""
    times, begin = trace.timeline.calls, inits_left(trace)
    return np.zeros(len(times), "i8") if begin is None else np.maximum(np.minimum(times.leave, begin) - times.enter, 0)


def since_inits(trace: Trace) -> tuple[int, int]:
    """Return what shares of all processes' time are of, ns, and how much of that is behind the last instant of each process.

    Of each process it is what is behind the instant at which the last has left MPI_Init, to the end of the run; of each thread what it has
    behind it. Where the trace does not show it, all that each has.
    """
    ends, begin = trace.timeline.locations, inits_left(trace)
    if begin is None:
        return int((ends.leave - ends.enter)[trace.locations.kind != STREAM].sum()), 0
    lasts = np.maximum(ends.leave - np.maximum(ends.enter, begin), 0)
    process = trace.locations.kind == PROCESS
    beyond = int(process.sum()) * (int(ends.leave.max()) - begin) - int(lasts[process].sum())
    return int(lasts[trace.locations.kind != STREAM].sum()) + beyond, beyond
