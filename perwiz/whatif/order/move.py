"""Blocks of calls that somebody moves: parsed, checked against what ties them, and the deadlock named that they would cause."""

from __future__ import annotations

import re

import numpy as np

from perwiz.errors import UsageError
from perwiz.graph.rechain import Cycle
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import I4, I8, Ints
from perwiz.trace.trace import Trace, named_call
from perwiz.whatif.order import ordering_rules
from perwiz.whatif.order.blocks import Block, Blocks, Torn
from perwiz.whatif.order.program import Program
from perwiz.whatif.order.reorder import Moved, Reordered, recorded_rows, reorder

_CLAUSE = re.compile(r"\s*e([0-9]{1,18})(?:\.\.e([0-9]{1,18}))?\s+before\s+e([0-9]{1,18})\s*")
_SHOWN = 8
"""Calls of a cycle that are named."""
_ALSO = {
    ordering_rules.SEND: "; move the receives as well",
    ordering_rules.RECEIVE: "; move the sends as well",
    ordering_rules.COLLECTIVE: "; move those of the other processes as well",
}
"""What would make an order possible."""


def clauses(text: str, argument: str) -> list[tuple[int, int, int]]:
    """Return (first call, last call, call before which they shall run) per clause of `e40..e44 before e30, e7 before e5`."""
    matches = [_CLAUSE.fullmatch(part) for part in argument.split(",")]
    if not all(matches):
        raise UsageError(f"{text}: must be like e40..e44 before e30, or several such joined by commas")
    return [(int(m[1]), int(m[2] or m[1]), int(m[3])) for m in matches if m]


def apply_moves(weighted: Weighted, text: str, argument: str) -> Reordered:
    """Return the graph in which all the blocks of calls that `argument` lists run before the calls it names, all changed together.

    `text` is what errors call it. Raises UsageError for calls that are none, and if the order cannot be: a deadlock, overtaking
    messages, a request completed before it is posted, a region torn apart, or if the trace tells which calls need which.
    """
    program = Program(recorded_rows(weighted))
    trace = program.weighted.trace
    ordering_rules.check_movable(trace, text)
    order, moves, touched = np.arange(len(program.length)), [], set()
    for first, last, before in clauses(text, argument):
        location = _location(trace, text, (first, last, before))
        blocks = Blocks(program, location, order)
        ahead, behind = _pair(trace, blocks, text, (first, last, before))
        if ahead is not None and behind is not None:
            order = blocks.swapped(ahead, behind)
            first, last, before, end = map(blocks.call, (behind.first, behind.last, ahead.first, ahead.last))
            moves.append(Moved(first, last, before, end, location, asked=text))
        touched.add(location)
    place = np.argsort(order)
    new = np.argsort(np.argsort(place[program.call], kind="stable"))
    check(trace, text, new, sorted(touched))
    try:
        return reorder(program, order, tuple(moves))
    except Cycle as cycle:
        raise UsageError(f"{text}: would deadlock: {describe_cycle(trace, cycle, np.argsort(new), moves[0].first)}") from None


def _location(trace: Trace, text: str, calls: tuple[int, int, int]) -> int:
    first, last, before = calls
    most = len(trace.calls) - 1
    bad = [call for call in calls if call > most]
    if bad:
        raise UsageError(f"{text}: there is no e{bad[0]}, the trace has {f'calls e0 to e{most}' if most >= 0 else 'no MPI calls'}")
    if first > last or first <= before <= last:
        what = f"e{last} comes before e{first}" if first > last else f"e{before} is one of the calls to move"
        raise UsageError(f"{text}: {what}, must be like e40..e44 before e30")
    location = trace.calls.location[list(calls)]
    if len(set(location.tolist())) > 1:
        stray = last if location[1] != location[0] else before
        raise UsageError(f"{text}: {named_call(trace, first)} and {named_call(trace, stray)} are calls of two processes, must be of one")
    return int(location[0])


def _pair(trace: Trace, blocks: Blocks, text: str, calls: tuple[int, int, int]) -> tuple[Block | None, Block | None]:
    """Return the two blocks that change places; none if the calls stand there already."""
    first, last, before = (blocks.row(call) for call in calls)
    if last - first != calls[1] - calls[0]:
        raise UsageError(f"{text}: e{calls[0]}..e{calls[1]} are not one behind the other any more, must be moved before they are parted")
    if before == last + 1:
        return None, None
    ahead, behind = ((before, first - 1), (first, last)) if before < first else ((first, last), (last + 1, before - 1))
    try:
        pair = blocks.block(*ahead, past=behind[0]), blocks.block(*behind, past=ahead[0])
        for block, wanted in zip(pair, (ahead, behind), strict=True):
            if (block.first, block.last) != wanted:
                raise Torn(blocks.holding(block, wanted))
        blocks.swapped(*pair)
    except Torn as torn:
        raise UsageError(f"{text}: {_torn(trace, torn.region)}") from None
    return pair


def _torn(trace: Trace, region: int) -> str:
    first, end = int(trace.regions.first_call[region]), int(trace.regions.end_call[region])
    name = trace.names[trace.paths.region[trace.regions.path[region]]]
    return f"would tear apart region '{name}' of e{first}..e{end - 1}, must move all its calls or stay inside, as regions stay whole"


def describe_cycle(trace: Trace, cycle: Cycle, old: I8, moved: int) -> str:
    """Return who waits for whom, from a moved call on, if it is among them: of neighbours on one process the first and the last.

    `old` is the old row of each new one.
    """
    rows = [int(old[row]) for row, _ in cycle.vertices]
    location = trace.calls.location[rows]
    edge = np.flatnonzero(location[1:] != location[:-1])
    start = int(edge[0]) + 1 if len(edge) else 0
    rows = rows[start:] + rows[:start]
    location = trace.calls.location[rows]
    kept = [r for k, r in enumerate(rows) if k in (0, len(rows) - 1) or location[k - 1] != location[k] or location[k + 1] != location[k]]
    kept = [r for k, r in enumerate(kept) if k == 0 or kept[k - 1] != r]
    start = kept.index(moved) if moved in kept else 0
    kept = kept[start:] + kept[:start]
    shown = [*kept[: _SHOWN - 1], *kept[-1:]] if len(kept) > _SHOWN else kept
    words = [named_call(trace, row) for row in shown]
    if len(kept) > _SHOWN:
        words.insert(_SHOWN - 1, "...")
    return " waits for ".join([*words, *([words[0]] if len(words) > 1 else [])])


def check(trace: Trace, text: str, new: I8, locations: list[int]) -> None:
    """Raise UsageError if a new order, a row per call, breaks what ties the calls of these locations, or ties two ends of messages."""
    for location in locations:
        broken = ordering_rules.find_rules(trace, location, both=True).broken(new)
        if broken:
            raise UsageError(_refusal(trace, text, *broken))
    for kind, earlier, later in (_overtaken(trace, new), _crossed(trace, new)):
        if kind >= 0:
            raise UsageError(_refusal(trace, text, earlier, later, kind) + _ALSO[kind])


def _refusal(trace: Trace, text: str, earlier: int, later: int, kind: int) -> str:
    return f"{text}: e{later} must not run before {named_call(trace, earlier)}: {ordering_rules.REASONS[kind]}"


def _overtaken(trace: Trace, new: I8) -> tuple[int, int, int]:
    """Return (kind of rule, earlier and later call) of two messages that would swap on one side only; kind -1: none."""
    table, location = trace.messages, trace.calls.location
    key = (table.comm, table.tag, location[table.receive], location[table.send])
    sent, received = _Turns(table.send, key, new), _Turns(table.receive, key, new)
    bad = np.flatnonzero(sent.shift != received.shift)
    if not len(bad):
        return -1, -1, -1
    if sent.shift[bad].any():
        return ordering_rules.SEND, *sent.pair(bad)
    return ordering_rules.RECEIVE, *received.pair(bad)


def _crossed(trace: Trace, new: I8) -> tuple[int, int, int]:
    """Return the same of two collectives of one communicator that would swap on some processes only."""
    members = trace.members
    key = (trace.collectives.comm[members.collective], trace.calls.location[members.call])
    turns = _Turns(members.call, key, new)
    least, most = np.full(len(trace.collectives), 1 << 40), np.full(len(trace.collectives), -(1 << 40))
    np.minimum.at(least, members.collective, turns.shift)
    np.maximum.at(most, members.collective, turns.shift)
    bad = np.flatnonzero((least != most)[members.collective])
    return (ordering_rules.COLLECTIVE, *turns.pair(bad)) if len(bad) else (-1, -1, -1)


class _Turns:
    """How many places each row of a table moves among those with the same key when its call gets a new row.

    call 0 1 2 3, key 7 7 8 7, new 2 1 0 3 -> shift 1 -1 0 0: of those with key 7 call 1 overtakes call 0, call 2 is alone.
    """

    def __init__(self, call: I4, key: tuple[Ints, ...], new: I8) -> None:
        self._call = call
        self._was, self._is = np.lexsort((call, *key)), np.lexsort((new[call], *key))
        self._old, self._new = np.argsort(self._was), np.argsort(self._is)
        self.shift = self._new - self._old

    def pair(self, rows: I8) -> tuple[int, int]:
        """Return the calls (overtaken, overtaking) of one of these rows that moves and the one whose place it takes."""
        row = rows[np.flatnonzero(self.shift[rows])[0]]
        if self.shift[row] < 0:
            return int(self._call[self._was[self._new[row]]]), int(self._call[row])
        return int(self._call[row]), int(self._call[self._is[self._old[row]]])
