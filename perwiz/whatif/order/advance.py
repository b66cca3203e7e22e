"""The fix of a wait, as far as order goes: the call that somebody waits for runs earlier on its own process."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property

import numpy as np

from perwiz.engines.sweep import sweep
from perwiz.errors import UsageError
from perwiz.graph.graph import GAP
from perwiz.graph.rechain import Cycle
from perwiz.kernels import sweep as kernel
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Ints
from perwiz.trace.tables import NONE
from perwiz.trace.trace import named_call
from perwiz.whatif import selectors
from perwiz.whatif.order.blocks import Block, Blocks, Torn
from perwiz.whatif.order.move import describe_cycle
from perwiz.whatif.order.ordering_rules import REASONS, Rules, find_rules
from perwiz.whatif.order.program import Program
from perwiz.whatif.order.reorder import Moved, Reordered, in_place, movers, recorded_rows, reorder, stays, unheld
from perwiz.whatif.waits import waiting

_PARTNERS = 16
"""Partners of one wait that are moved, one after the other."""
_POST = operations.OP["MPI_Win_post"]
_TRIES = 32
"""Places tried for one block."""
_Why = Callable[[], str]
"""Says why nothing moves; asked only where it is told, as it takes a search."""


def move_earlier(weighted: Weighted, call: int, region: str | None = None) -> tuple[Reordered, tuple[Moved, ...]] | None:
    """Return the graph in which what a recorded call waits for runs earlier, and the moves; None if nothing can move so that it helps.

    The block that moves is the partner's call and the computation before it, or with `region` the instance of that region it lies in. It
    moves ahead of earlier blocks of its process, single calls or whole regions of any name, an instance inside the region around it; no
    further than until `call` no longer waits for it, else as far as messages, requests and collectives allow. Then the next partner that
    `call` waits for, if any. A send that moves does not hold its process until the receiver is there, as MPI_Isend. MPI_Win_post needs
    nothing that its process computes: before anything else it moves ahead of the computation before it. Raises UsageError if there is no
    such region.
    """
    reordered = try_earlier(weighted, np.array([call]), region)
    moves = tuple(move for move in reordered.moves if move.end >= move.before)
    return (reordered, moves) if moves else None


def try_earlier(weighted: Weighted, calls: I8, region: str | None = None, text: str = "") -> Reordered:
    """Return what `move_earlier` does for each of some recorded calls, ascending, `text` as what was asked; of each that still waits the
    last block is one that stays, and why.

    Process by process: what the calls of one wait for moves in one order, of what is in each other's way one behind the other.
    """
    now = recorded_rows(weighted)
    before, stays = len(now.moves), list[Moved]()
    for some in np.split(calls, np.flatnonzero(np.diff(weighted.trace.calls.location[calls])) + 1):
        now, still = _earlier(now, some.tolist(), region)
        stays += still
    moves = tuple(dataclasses.replace(move, asked=text) for move in (*now.moves[before:], *stays))
    return dataclasses.replace(now, moves=now.moves[:before] + moves)


def _earlier(now: Reordered, calls: Sequence[int], region: str | None) -> tuple[Reordered, list[Moved]]:
    """Return the graph in which what calls of one process wait for has moved, and of each that still waits a block that stays.

    What does not help beside the moves of other calls is asked once more, alone.
    """
    state, left, stays, apart = _State(now), dict.fromkeys(calls, _PARTNERS), list[Moved](), list[int]()
    while waits := [wait for call in left if (wait := _Wait(state, call)).partner >= 0]:
        free = state.freed([wait.recorded for wait in waits])
        plans, why = _plans(free, [wait.recorded for wait in waits if left[wait.recorded]], region)
        why |= {wait.recorded: _own for wait in waits if not left[wait.recorded]}
        state, done, useless = _in_order(state, plans, why)
        stays += [wait.stays(why[wait.recorded]) for wait in waits if wait.recorded in why]
        apart += useless
        left = {call: rounds - (call in done) for call, rounds in left.items() if call not in why and call not in useless}
    now = state.weighted
    for call in apart:
        now, still = _earlier(now, [call], region)
        stays += still
    return now, stays


def _plans(state: _State, calls: Sequence[int], region: str | None) -> tuple[list[_Plan], dict[int, _Why]]:
    """Return what may move for calls without being in each other's way, and why nothing moves for others of them.

    Once most of what is found is in the way no more is looked for: it would be found anew behind these moves.
    """
    plans, why, crossing = list[_Plan](), dict[int, _Why](), 0
    for call in calls:
        wait = _Wait(state, call)
        plan = wait.plan(region)
        if plan is None:
            why[call] = wait.why
        elif any(plan.crosses(other) for other in plans):
            crossing += 1
            if crossing > len(plans):
                break
        else:
            plans.append(plan)
    return plans, why


def _in_order(state: _State, plans: Sequence[_Plan], why: dict[int, _Why]) -> tuple[_State, set[int], set[int]]:
    """Return the state behind those plans that go and help together, whose calls these are, and those whose plans help nothing beside
    others; `why` gets that of one that does not help by itself.
    """
    useless = set[int]()
    while plans:
        try:
            after = _State(_reordered(state.weighted, plans))
        except Cycle:
            if len(plans) == 1:
                why[plans[0].call] = lambda: "would deadlock"
            plans = plans[: len(plans) // 2]
            continue
        helping = [plan for plan in plans if _Wait(after, plan.call).length < plan.length]
        if len(helping) == len(plans):
            return after, {plan.call for plan in plans}, useless
        others = [plan for plan in plans if plan not in helping]
        if len(plans) > 1:
            useless |= {plan.call for plan in others}
        else:
            why[others[0].call] = others[0].why
        plans = helping
    return state, set(), useless


def _reordered(weighted: Reordered, plans: Sequence[_Plan]) -> Reordered:
    """Return the graph behind some plans that are not in each other's way. Raises Cycle if the order waits for itself.

    That is known only then where what was sent in place holds its sender: until whichever call comes there.
    """
    program = Program(unheld(weighted, np.array([partner for plan in plans for partner in plan.free], "i8")))
    order, length = np.arange(len(program.length)), program.length.copy()
    for plan in plans:
        some = slice(plan.begin, plan.end)
        order[some] = np.roll(order[some], plan.end - plan.middle)
        length[plan.middle : plan.middle + 2] += (-plan.stays, plan.stays)
    program.length = length
    return reorder(program, order, tuple(plan.move for plan in plans))


def _own() -> str:
    return "it is a call of the same process"


@dataclasses.dataclass(frozen=True)
class _Place:
    """Two blocks that may change places, and when the partner's call is then entered, ns."""

    ahead: Block
    behind: Block
    entered: int
    behind_it: int
    """The call behind the first region or call that would be passed."""


@dataclasses.dataclass(frozen=True)
class _Plan:
    """Steps `middle` .. `end` - 1 that run before steps `begin` .. `middle` - 1, for a recorded call."""

    call: int
    begin: int
    middle: int
    end: int
    move: Moved
    length: int
    """How long the call waits without, ns."""
    why: _Why
    """Says why it helps nothing, if so."""
    free: tuple[int, ...]
    """The sends that must hold nobody, rows of the graph."""
    stays: int = 0
    """Computation before the first step that does not move, ns."""

    def crosses(self, other: _Plan) -> bool:
        """Return whether it touches a step that another touches."""
        return self.begin < other.end + bool(other.stays) and other.begin < self.end + bool(self.stays)


class _State:
    """A run in one order, and what is asked of it for several calls."""

    def __init__(self, weighted: Reordered, free: Mapping[int, tuple[int, ...]] | None = None) -> None:
        self.weighted = weighted
        self.free = free or {}
        """By call, recorded row: the sends that hold nobody for its sake, rows of the graph."""
        self.time = sweep(weighted.graph, weighted.weight)
        self.waits = waiting(weighted, self.time)
        self._blocks, self._rules = dict[int, Blocks](), dict[int, Rules]()

    @cached_property
    def recorded(self) -> I8:
        """The recorded row of each call."""
        return np.argsort(self.weighted.call)

    @cached_property
    def program(self) -> Program:
        """Its steps."""
        return Program(self.weighted)

    @cached_property
    def leads(self) -> tuple[I4, I8]:
        """What leads to what whatever the order: the source of each edge, and 0, or CUT of one that does not."""
        graph, (edge, receive) = self.weighted.graph, movers(self.weighted)
        source = graph.source.copy()
        source[edge] = graph.entered[receive]
        weight = np.where(stays(self.weighted) & (graph.kind != GAP), 0, CUT)
        weight[in_place(self.weighted)[0]] = CUT
        return source, weight

    def blocks(self, location: int) -> Blocks:
        """Return the blocks of a location."""
        if location not in self._blocks:
            self._blocks[location] = Blocks(self.program, location, np.arange(len(self.program.length)))
        return self._blocks[location]

    def rules(self, location: int) -> Rules:
        """Return what ties the calls of a location."""
        if location not in self._rules:
            self._rules[location] = find_rules(self.weighted.trace, location)
        return self._rules[location]

    def freed(self, calls: Collection[int]) -> _State:
        """Return the same where no send that recorded calls wait for holds its process."""
        waits = [wait for call in calls if (wait := _Wait(self, call)).elsewhere]
        weighted = unheld(self.weighted, np.array([wait.partner for wait in waits], "i8"))
        if weighted is self.weighted:
            return self
        free = {wait.recorded: (*self.free.get(wait.recorded, ()), wait.partner) for wait in waits}
        return _State(weighted, {**self.free, **free}).freed(calls)


class _Wait:
    """One recorded call's wait in one state, and the places the call it waits for could move to."""

    def __init__(self, state: _State, call: int) -> None:
        self.state, self.weighted, self.time = state, state.weighted, state.time
        self.recorded, self.call = call, int(state.weighted.call[call])
        self.length = int(state.waits.time[self.call])
        self.partner = int(state.waits.partner[self.call]) if self.length > 0 else NONE
        self.why: _Why = _own
        """Says why the partner's call runs no earlier."""

    @property
    def elsewhere(self) -> bool:
        """Whether it waits for a call of another process."""
        location = self.weighted.trace.calls.location
        return self.partner >= 0 and bool(location[self.partner] != location[self.call])

    def stays(self, why: _Why) -> Moved:
        """Return that the partner's call stays where it is, and why."""
        partner, location = int(self.state.recorded[self.partner]), int(self.weighted.trace.calls.location[self.partner])
        return Moved(partner, partner, partner, partner - 1, location, why())

    def plan(self, region: str | None) -> _Plan | None:
        """Return how the partner's block may move so that it comes earlier; None if it may not."""
        if not self.elsewhere:
            return None
        trace = self.weighted.trace
        first, last, around = self._block(region)
        if region is None and trace.calls.op[self.partner] == _POST and (posted := self._posted()):
            return posted
        blocks = self.state.blocks(int(trace.calls.location[self.partner]))
        begin = blocks.first if around < 0 else int(trace.regions.first_call[around])
        place, reason = self._place(blocks, (first, last), np.arange(begin, first))
        self.why = reason or (lambda: "that would not help")
        if around >= 0 and begin == first:
            self.why = lambda: f"nothing is before it in region '{trace.names[trace.region_names[around]]}' around it"
        if place is None or place.entered >= self.time[self.weighted.graph.entered[self.partner]]:
            return None
        return self._planned(place.ahead.begin, place.behind.begin, place.behind.end, self._move(place))

    def _planned(self, begin: int, middle: int, end: int, move: Moved, stays: int = 0) -> _Plan:
        free = self.state.free.get(self.recorded, ())
        return _Plan(self.recorded, begin, middle, end, move, self.length, self.why, free, stays)

    def _posted(self) -> _Plan | None:
        """Return that the partner posts ahead of the computation before it; None if that helps nothing.

        It goes back to the call before, past regions that hold nothing but computation, and neither out of a region nor into one.
        """
        program = self.state.program
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
        row = int(self.state.recorded[self.partner])
        move = Moved(row, row, row, row, int(program.location[place]))
        plan = self._planned(begin, place, place + 1, move, stays=own)
        return plan if _in_order(self.state, [plan], {})[1] else None

    def _block(self, region: str | None) -> tuple[int, int, int]:
        """Return the first and last call of the block, and the instance of a region that it stays in, row of regions, -1 none."""
        trace, c = self.weighted.trace, self.partner
        if region is None:
            return c, c, NONE
        table = trace.regions
        named_so = trace.region_names == selectors.region(trace, region)
        around = np.flatnonzero(named_so & (table.first_call <= c) & (c < table.end_call))
        if not len(around):
            text = f"e{self.recorded} by {region}"
            where = named_call(trace, int(self.state.recorded[self.partner]))
            raise UsageError(f"advance {text}: it waits for {where}, which lies in no instance of region '{region}'")
        row = around[-1]
        return int(table.first_call[row]), int(table.end_call[row]) - 1, int(table.parent[row])

    def _place(self, blocks: Blocks, calls: tuple[int, int], targets: Ints) -> tuple[_Place | None, _Why | None]:
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

    def _limit(self, calls: tuple[int, int]) -> tuple[int, _Why]:
        """Return the last call before a block that it must stay behind (-1: none), and what says why."""
        trace = self.weighted.trace
        location = int(trace.calls.location[calls[0]])
        tied, kind = self.state.rules(location).before(*calls)
        reach = _Reach(self.state, calls)
        limit = max(tied, reach.limit)
        if limit < 0:
            return -1, lambda: "nothing is before it on its process"
        recorded = self.state.recorded[limit]
        said = reach.told if reach.limit > tied else lambda: REASONS[kind]
        return limit, lambda: f"not before e{recorded}: {said()}"

    def _move(self, place: _Place) -> Moved:
        old = self.state.recorded
        behind, ahead = (old[block.first : block.last + 1] for block in (place.behind, place.ahead))
        first, last, before, end = map(int, (behind.min(), behind.max(), ahead.min(), ahead.max()))
        return Moved(first, last, before, end, int(self.weighted.trace.calls.location[place.ahead.first]))


class _Reach:
    """Which earlier calls of a process lead, through others, into a block of its calls, so that the block cannot run before them."""

    def __init__(self, state: _State, calls: tuple[int, int]) -> None:
        weighted, graph, (self._source, weight) = state.weighted, state.weighted.graph, state.leads
        self._weighted, self._calls, self._weight = weighted, calls, weight.copy()
        self._begin = int(weighted.trace.first_calls[weighted.trace.calls.location[calls[0]]])
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
