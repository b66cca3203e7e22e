"""The fix of a wait, as far as order goes: the call that somebody waits for runs earlier on its own process."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.engines.sweep import sweep
from perwiz.errors import UsageError
from perwiz.graph.graph import GAP, RENDEZVOUS, Graph
from perwiz.kernels import sweep as kernel
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace.arrays import I8, Ints
from perwiz.trace.tables import NONE
from perwiz.trace.trace import named_call
from perwiz.whatif import selectors
from perwiz.whatif.order.blocks import Block, Blocks, Torn
from perwiz.whatif.order.ordering_rules import REASONS, find_rules
from perwiz.whatif.order.program import Program
from perwiz.whatif.order.reorder import Moved, Reordered, recorded_rows, reorder
from perwiz.whatif.waits import waiting

_PARTNERS = 16
"""Partners of one wait that are moved, one after the other."""
_TRIES = 32
"""Places tried for one block."""


def move_earlier(weighted: Weighted, call: int, region: str | None = None) -> tuple[Reordered, tuple[Moved, ...]] | None:
    """Return the graph in which what a recorded call waits for runs earlier, and the moves; None if nothing can move so that it helps.

    The block that moves is the partner's call and the computation before it, or with `region` the instance of that region it lies in. It
    moves ahead of earlier blocks of its process, single calls or whole regions of any name, an instance inside the region around it; no
    further than until `call` no longer waits for it, else as far as messages, requests and collectives allow. Then the next partner that
    `call` waits for, if any. Raises UsageError if there is no such region.
    """
    reordered = try_earlier(weighted, call, region)
    moves = tuple(move for move in reordered.moves if move.end >= move.before)
    return (reordered, moves) if moves else None


def try_earlier(weighted: Weighted, call: int, region: str | None = None, text: str = "") -> Reordered:
    """Return what `move_earlier` does, `text` as what was asked; while the call still waits, the last block is one that stays, and why."""
    now = recorded_rows(weighted)
    before = len(now.moves)
    for _ in range(_PARTNERS):
        wait = _Wait(now, call)
        fixed = wait.fixed(region)
        if fixed is None:
            break
        now = fixed
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
        self._why = "it is a call of the same process"

    def recorded_partner(self) -> int:
        return int(np.flatnonzero(self.weighted.call == self.partner)[0]) if self.partner >= 0 else NONE

    def stays(self) -> tuple[Moved, ...]:
        """Return that the partner's call stays where it is, and why; nothing if the call does not wait."""
        partner = self.recorded_partner()
        if partner < 0:
            return ()
        location = int(self.weighted.trace.calls.location[self.partner])
        return (Moved(partner, partner, partner, partner - 1, location, self._why),)

    def fixed(self, region: str | None) -> Reordered | None:
        """Return the graph with the partner's block moved, None if that helps nothing."""
        trace = self.weighted.trace
        location = trace.calls.location
        if self.partner < 0 or location[self.partner] == location[self.call]:
            return None
        first, last, around = self._block(region)
        program = Program(self.weighted)
        blocks = Blocks(program, int(location[self.partner]), np.arange(len(program.length)))
        begin = blocks.first if around < 0 else int(trace.regions.first_call[around])
        place, reason = self._place(blocks, (first, last), np.arange(begin, first))
        self._why = reason or "that would not help"
        if around >= 0 and begin == first:
            self._why = f"nothing is before it in region '{trace.names[trace.region_names[around]]}' around it"
        if place is None or place.entered >= self.time[self.weighted.graph.entered[self.partner]]:
            return None
        result = reorder(program, blocks.swapped(place.ahead, place.behind), (self._move(place),))
        after = _Wait(result, int(np.flatnonzero(self.weighted.call == self.call)[0]))
        return result if after.length < self.length else None

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

    def _place(self, blocks: Blocks, calls: tuple[int, int], targets: Ints) -> tuple[_Place | None, str]:
        """Return the latest place early enough, or else the earliest one there is; and why not earlier, if it is not early enough."""
        needed = self._needed()
        while True:
            limit, reason = self._limit(calls)
            allowed = targets[(targets > limit) & (targets < calls[0])]
            place = self._latest(blocks, calls, allowed, needed)
            if place is None:
                return None, reason if limit >= 0 or not len(allowed) else "regions would be torn apart"
            if (place.behind.first, place.behind.last) == calls:
                return place, "" if place.entered <= needed else reason
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

    def _limit(self, calls: tuple[int, int]) -> tuple[int, str]:
        """Return the last call before a block that it must stay behind (-1: none), and why."""
        trace = self.weighted.trace
        location = int(trace.calls.location[calls[0]])
        tied, kind = find_rules(trace, location).before(*calls)
        depends = self._reaches(calls, int(trace.first_calls[location]))
        limit = max(tied, depends)
        if limit < 0:
            return -1, "nothing is before it on its process"
        recorded = np.flatnonzero(self.weighted.call == limit)[0]
        return limit, f"not before e{recorded}: {'would deadlock' if depends > tied else REASONS[kind]}"

    def _reaches(self, calls: tuple[int, int], begin: int) -> int:
        """Return the last earlier call of the process from which others lead into a block, so that it cannot run before; -1: none."""
        graph = self.weighted.graph
        weight = np.zeros(graph.edges, "i8")
        weight[self._unbinding(graph)] = CUT
        weight[graph.start[graph.entered[calls[0]]]] = CUT
        reach = np.zeros(graph.vertices, "i8")
        rows = np.arange(begin, calls[0])
        reach[graph.entered[rows]] = rows - begin + 1
        kernel.sweep(graph.start, graph.source, weight, 0, graph.vertices, reach)
        return int(reach[graph.returned[calls[1]]]) - 1 + begin if reach[graph.returned[calls[1]]] > 0 else -1

    def _unbinding(self, graph: Graph) -> I8:
        """Return the edges that forbid no order: gaps, and rendezvous of eager messages."""
        dead = (graph.kind == RENDEZVOUS) & (self.weighted.weight == CUT)
        return np.flatnonzero(dead | (graph.kind == GAP))

    def _move(self, place: _Place) -> Moved:
        old = np.argsort(self.weighted.call)
        behind, ahead = (old[block.first : block.last + 1] for block in (place.behind, place.ahead))
        first, last, before, end = map(int, (behind.min(), behind.max(), ahead.min(), ahead.max()))
        return Moved(first, last, before, end, int(self.weighted.trace.calls.location[place.ahead.first]))
