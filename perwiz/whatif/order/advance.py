"""The fix of a wait, as far as order goes: the call that somebody waits for runs earlier on its own process."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from perwiz.engines.sweep import sweep
from perwiz.errors import UsageError
from perwiz.graph.graph import GAP
from perwiz.graph.rechain import Cycle
from perwiz.kernels import sweep as kernel
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Ints
from perwiz.trace.tables import NONE
from perwiz.trace.trace import named_call
from perwiz.whatif import selectors
from perwiz.whatif.order.blocks import Block, Blocks, Torn
from perwiz.whatif.order.move import describe_cycle
from perwiz.whatif.order.ordering_rules import REASONS, find_rules
from perwiz.whatif.order.program import Program
from perwiz.whatif.order.reorder import Moved, Reordered, in_place, movers, recorded_rows, reorder, stays, unheld
from perwiz.whatif.waits import waiting

_PARTNERS = 16
"""Partners of one wait that are moved, one after the other."""
_POST = operations.OP["MPI_Win_post"]
_TRIES = 32
"""Places tried for one block."""


def move_earlier(weighted: Weighted, call: int, region: str | None = None) -> tuple[Reordered, tuple[Moved, ...]] | None:
    """Return the graph in which what a recorded call waits for runs earlier, and the moves; None if nothing can move so that it helps.

    The block that moves is the partner's call and the computation before it, or with `region` the instance of that region it lies in. It
    moves ahead of earlier blocks of its process, single calls or whole regions of any name, an instance inside the region around it; no
    further than until `call` no longer waits for it, else as far as messages, requests and collectives allow. Then the next partner that
    `call` waits for, if any. A send that moves does not hold its process until the receiver is there, as MPI_Isend. MPI_Win_post needs
    nothing that its process computes: before anything else it moves ahead of the computation before it. Raises UsageError if there is no
    such region.
    """
    reordered = try_earlier(weighted, call, region)
    moves = tuple(move for move in reordered.moves if move.end >= move.before)
    return (reordered, moves) if moves else None


def try_earlier(weighted: Weighted, call: int, region: str | None = None, text: str = "") -> Reordered:
    """Return what `move_earlier` does, `text` as what was asked; while the call still waits, the last block is one that stays, and why."""
    now = recorded_rows(weighted)
    before = len(now.moves)
    wait = _Wait(now, call)
    for _ in range(_PARTNERS):
        fixed = wait.fixed(region)
        if fixed is None:
            break
        wait = fixed
    now = wait.weighted
    moves = tuple(dataclasses.replace(move, asked=text) for move in now.moves[before:] + wait.stays())
    return dataclasses.replace(now, moves=now.moves[:before] + moves)


@dataclasses.dataclass(frozen=True)
class _Place:
    """Two blocks that may change places, and when the partner's call is then entered, ns."""

    ahead: Block
    behind: Block
    entered: int
    behind_it: int
    """The call behind the first region or call that would be passed."""


class _Wait:
    """One call's wait in one run, and the places the call it waits for could move to."""

    def __init__(self, weighted: Reordered, call: int) -> None:
        self.weighted, self.call = weighted, int(weighted.call[call])
        self.time = sweep(weighted.graph, weighted.weight)
        waits = waiting(weighted, self.time)
        self.length = int(waits.time[self.call])
        self.partner = int(waits.partner[self.call]) if self.length > 0 else NONE
        self.why: Callable[[], str] = lambda: "it is a call of the same process"
        """Says why the partner's call runs no earlier."""

    def recorded_partner(self) -> int:
        return int(np.flatnonzero(self.weighted.call == self.partner)[0]) if self.partner >= 0 else NONE

    def stays(self) -> tuple[Moved, ...]:
        """Return that the partner's call stays where it is, and why; nothing if the call does not wait."""
        partner = self.recorded_partner()
        if partner < 0:
            return ()
        location = int(self.weighted.trace.calls.location[self.partner])
        return (Moved(partner, partner, partner, partner - 1, location, self.why()),)

    def fixed(self, region: str | None) -> _Wait | None:
        """Return what is left of the wait with the partner's block moved, None if that helps nothing."""
        trace = self.weighted.trace
        location = trace.calls.location
        if self.partner < 0 or location[self.partner] == location[self.call]:
            return None
        free = unheld(self.weighted, np.array([self.partner]))
        if free is not self.weighted:
            wait = _Wait(free, int(np.flatnonzero(self.weighted.call == self.call)[0]))
            after, self.why = wait.fixed(region), wait.why
            return after
        first, last, around = self._block(region)
        program = Program(self.weighted)
        if region is None and trace.calls.op[self.partner] == _POST and (posted := self._posted(program)):
            return posted
        blocks = Blocks(program, int(location[self.partner]), np.arange(len(program.length)))
        begin = blocks.first if around < 0 else int(trace.regions.first_call[around])
        place, reason = self._place(blocks, (first, last), np.arange(begin, first))
        self.why = reason or (lambda: "that would not help")
        if around >= 0 and begin == first:
            self.why = lambda: f"nothing is before it in region '{trace.names[trace.region_names[around]]}' around it"
        if place is None or place.entered >= self.time[self.weighted.graph.entered[self.partner]]:
            return None
        return self._tried(program, blocks.swapped(place.ahead, place.behind), self._move(place))

    def _tried(self, program: Program, order: I8, move: Moved) -> _Wait | None:
        """Return the wait in another order of steps, None if the call waits there as long as here, or the order waits for itself.

        That is known only then where what was sent in place holds its sender: until whichever call comes there.
        """
        try:
            result = reorder(program, order, (move,))
        except Cycle:
            self.why = lambda: "would deadlock"
            return None
        after = _Wait(result, int(np.flatnonzero(self.weighted.call == self.call)[0]))
        return after if after.length < self.length else None

    def _posted(self, program: Program) -> _Wait | None:
        """Return the wait in the graph in which the partner posts ahead of the computation before it; None if that helps nothing.

        It goes back to the call before, past regions that hold nothing but computation, and neither out of a region nor into one.
        """
        place = int(program.call[self.partner])
        first, ends = int(program.first[program.location[place]]), np.stack((program.entered, program.left))
        begin = int(np.flatnonzero(program.is_vertex[first:place]).max(initial=-1)) + 1 + first
        inside = (ends >= begin) & (ends < place)
        while (torn := inside[0] != inside[1]).any():
            begin = int(ends[:, torn][inside[:, torn]].max()) + 1
            inside = (ends >= begin) & (ends < place)
        own = int(program.length[place])
        if begin == place and not own:
            return None
        order = np.arange(len(program.length))
        order[begin : place + 1] = np.roll(order[begin : place + 1], 1)
        program.length = program.length.copy()
        program.length[place : place + 2] += (-own, own)
        row = int(np.flatnonzero(self.weighted.call == self.partner)[0])
        return self._tried(program, order, Moved(row, row, row, row, int(program.location[place])))

    def _block(self, region: str | None) -> tuple[int, int, int]:
        """Return the first and last call of the block, and the instance of a region that it stays in, row of regions, -1 none."""
        trace, c = self.weighted.trace, self.partner
        if region is None:
            return c, c, NONE
        table = trace.regions
        named_so = trace.region_names == selectors.region(trace, region)
        around = np.flatnonzero(named_so & (table.first_call <= c) & (c < table.end_call))
        if not len(around):
            text = f"e{np.flatnonzero(self.weighted.call == self.call)[0]} by {region}"
            where = named_call(trace, self.recorded_partner())
            raise UsageError(f"advance {text}: it waits for {where}, which lies in no instance of region '{region}'")
        row = around[-1]
        return int(table.first_call[row]), int(table.end_call[row]) - 1, int(table.parent[row])

    def _place(self, blocks: Blocks, calls: tuple[int, int], targets: Ints) -> tuple[_Place | None, Callable[[], str] | None]:
        """Return the latest place early enough, or else the earliest one there is; and why not earlier, if it is not early enough."""
        needed = self._needed()
        while True:
            limit, reason = self._limit(calls)
            allowed = targets[(targets > limit) & (targets < calls[0])]
            place = self._latest(blocks, calls, allowed, needed)
            if place is None:
                return None, reason if limit >= 0 or not len(allowed) else lambda: "regions would be torn apart"
            if (place.behind.first, place.behind.last) == calls:
                return place, None if place.entered <= needed else reason
            calls = place.behind.first, place.behind.last

    def _latest(self, blocks: Blocks, calls: tuple[int, int], allowed: Ints, needed: int) -> _Place | None:
        """Return the latest of the allowed places where the partner's call is entered when needed, else the earliest."""
        graph, earliest = self.weighted.graph, None
        if not len(allowed):
            return None
        since = self.time[graph.entered[self.partner]] - self._before(blocks, blocks.block(*calls, past=int(allowed[-1])))
        ready = self.time[np.where(allowed > blocks.first, graph.returned[allowed - 1], graph.begun[blocks.location])] + since
        row, low = max(0, int(np.searchsorted(ready, needed, "right")) - 1), 0
        for _ in range(_TRIES):
            if not low <= row < len(allowed):
                break
            place = self._try(blocks, calls, int(allowed[row]))
            if place is None or place.ahead.first < allowed[0]:
                low = row = int(np.searchsorted(allowed, place.behind_it)) if place else row + 1
                continue
            earliest = place if earliest is None or place.entered < earliest.entered else earliest
            if place.entered <= needed:
                break
            row = int(np.searchsorted(allowed, place.ahead.first)) - 1
        return earliest

    def _try(self, blocks: Blocks, calls: tuple[int, int], before: int) -> _Place | None:
        """Return the place before a call, None where regions do not allow it."""
        try:
            behind = blocks.block(*calls, past=before)
            first = blocks.block(before, before, past=calls[0])
            ahead = blocks.block(first.first, behind.first - 1, past=calls[0])
            blocks.swapped(ahead, behind)
        except Torn:
            return None
        lead = self._before(blocks, behind)
        since = self.time[self.weighted.graph.entered[self.partner]] - lead
        return _Place(ahead, behind, int(self._before(blocks, ahead) + since), first.last + 1)

    def _before(self, blocks: Blocks, block: Block) -> int:
        """Return when a block begins, ns: the entry of its first call less the computation before that."""
        steps = slice(block.begin, blocks.step(block.first) + 1)
        return int(self.time[self.weighted.graph.entered[block.first]] - blocks.program.length[steps].sum())

    def _needed(self) -> int:
        """Return when the partner's call must be entered so that nobody but others is waited for, ns."""
        graph = self.weighted.graph
        weight = self.weighted.weight.copy()
        leaving = np.flatnonzero(graph.source == graph.entered[self.partner])
        own = graph.targets(leaving) == graph.returned[self.partner]
        weight[leaving[~own]] = CUT
        free = sweep(graph, weight)[graph.returned[self.call]]
        return int(self.time[graph.entered[self.partner]] - (self.time[graph.returned[self.call]] - free))

    def _limit(self, calls: tuple[int, int]) -> tuple[int, Callable[[], str]]:
        """Return the last call before a block that it must stay behind (-1: none), and what says why."""
        trace = self.weighted.trace
        location = int(trace.calls.location[calls[0]])
        tied, kind = find_rules(trace, location).before(*calls)
        reach = _Reach(self.weighted, calls)
        limit = max(tied, reach.limit)
        if limit < 0:
            return -1, lambda: "nothing is before it on its process"
        recorded = np.flatnonzero(self.weighted.call == limit)[0]
        said = reach.told if reach.limit > tied else lambda: REASONS[kind]
        return limit, lambda: f"not before e{recorded}: {said()}"

    def _move(self, place: _Place) -> Moved:
        old = np.argsort(self.weighted.call)
        behind, ahead = (old[block.first : block.last + 1] for block in (place.behind, place.ahead))
        first, last, before, end = map(int, (behind.min(), behind.max(), ahead.min(), ahead.max()))
        return Moved(first, last, before, end, int(self.weighted.trace.calls.location[place.ahead.first]))


class _Reach:
    """Which earlier calls of a process lead, through others, into a block of its calls, so that the block cannot run before them."""

    def __init__(self, weighted: Reordered, calls: tuple[int, int]) -> None:
        graph = weighted.graph
        self._weighted, self._calls, self._source = weighted, calls, graph.source.copy()
        self._begin = int(weighted.trace.first_calls[weighted.trace.calls.location[calls[0]]])
        edge, receive = movers(weighted)
        self._source[edge] = graph.entered[receive]
        self._weight = np.where(stays(weighted) & (graph.kind != GAP), 0, CUT)
        self._weight[in_place(weighted)[0]] = CUT
        self._weight[graph.start[graph.entered[calls[0]]]] = CUT
        self._reach = np.zeros(graph.vertices, "i8")
        rows = np.arange(self._begin, calls[0])
        self._reach[graph.entered[rows]] = rows - self._begin + 1
        kernel.sweep(graph.start, self._source, self._weight, 0, graph.vertices, self._reach)
        self._most = int(self._reach[graph.returned[calls[1]]])
        self.limit = self._most - 1 + self._begin if self._most > 0 else NONE
        """The last such call, -1: none."""

    def told(self) -> str:
        """Return who would wait for whom, in recorded rows, if the block ran before that call."""
        weighted, graph = self._weighted, self._weighted.graph
        trace, vertex = weighted.trace, int(graph.returned[self._calls[1]])
        call_of = np.full(graph.vertices, NONE)
        call_of[graph.entered] = call_of[graph.returned] = np.arange(len(graph.entered))
        path: list[tuple[int, bool]] = []
        while call_of[vertex] != self.limit:
            last = int(call_of[vertex])
            if last >= 0:
                vertex = self._came_in(last)
                path += [(row, True) for row in ((last, int(call_of[vertex])) if path else (int(call_of[vertex]),))]
            edges = np.arange(graph.start[vertex], graph.start[vertex + 1])
            edges = edges[(self._weight[edges] != CUT) & (self._reach[self._source[edges]] == self._most)]
            vertex = int(self._source[edges[-1]])
        cycle = Cycle([*path, (self.limit, False)])
        old = np.argsort(weighted.call)
        return f"would deadlock: {describe_cycle(trace, cycle, old, int(old[path[0][0]]))}"

    def _came_in(self, call: int) -> int:
        """Return the vertex by which others led into the calls of a location, up to this one; of the block's, into the block."""
        graph, trace = self._weighted.graph, self._weighted.trace
        location = int(trace.calls.location[call])
        first = self._calls[0] if location == trace.calls.location[self._calls[0]] else int(trace.first_calls[location])
        chain = np.stack([graph.entered[first : call + 1], graph.returned[first : call + 1]], 1).ravel()
        return int(chain[np.searchsorted(self._reach[chain], self._most)])
