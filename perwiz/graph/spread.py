"""The graph of a part of a trace: what its vertices need of other processes, and in which round each can be reached."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from perwiz.errors import TraceError
from perwiz.graph.border import Border, Bundle, Step
from perwiz.graph.circles import circles, identities
from perwiz.graph.graph import BORDER, COLLECTIVE
from perwiz.graph.layout import Edges, Layout, counts, starts
from perwiz.kernels import order as kernel
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, U1, Ints, Mask
from perwiz.trace.numbers import distinct
from perwiz.trace.resources import give_back, remembered
from perwiz.trace.spread.share import Part
from perwiz.trace.spread.team import Team
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

_NONE = np.zeros(0, "i8")
_STATE = 2
"""Numbers that processes tell each other behind each round, beside what has been placed: how many vertices are left, how many it placed."""


class PartLayout(Layout):
    """The layout of a part: what stands for the locations and calls of others is followed by nothing."""

    def __init__(self, trace: Trace, share: Part) -> None:
        super().__init__(trace)
        self.share = share
        here = share.locations
        self.own = slice(int(self.begun[here.start]), int(self.ended[here.stop - 1]) + 1) if here.stop > here.start else slice(1, 1)
        """Vertices of its own locations."""
        self.copies = 0
        """How many of the hubs, the last of them, are copies of those of others."""

    def chained(self) -> U1:
        """Return which vertices are followed by the next one of their location, 1 or 0 per vertex."""
        chained = super().chained()
        chained[: self.own.start] = chained[self.own.stop :] = 0
        return chained

    @property
    def owned(self) -> tuple[slice, slice]:
        """The vertices that are its own: those of its locations, then hubs."""
        return self.own, slice(self.chain, self.size - self.copies)

    def of_owned(self, values: I4) -> I4:
        """Return those values, a row per vertex, that are of its own vertices."""
        return np.concatenate([values[rows] for rows in self.owned])

    def has(self, vertices: Ints) -> Mask:
        """Return which of some vertices are its own."""
        calls = (vertices >= self.own.start) & (vertices < self.own.stop)
        return np.asarray(calls | ((vertices >= self.chain) & (vertices < self.size - self.copies)))

    def foreign(self) -> I4:
        """Return the vertices that are none of its own, the origin left out."""
        ends = (1, self.own.start), (self.own.stop, self.chain), (self.size - self.copies, self.size)
        return np.concatenate([np.arange(*each, dtype="i4") for each in ends])


@dataclasses.dataclass(frozen=True, eq=False)
class Crossing:
    """Vertices that cross, per process: originals that it has copies of, copies of those that it has; both in the same order there."""

    out: list[I8]
    into: list[I8]

    def also(self, other: Crossing) -> Crossing:
        """Return these and others."""
        joined = [[np.concatenate(pair) for pair in zip(*sides, strict=True)] for sides in ((self.out, other.out), (self.into, other.into))]
        return Crossing(*joined)


def add_collectives(trace: Trace, layout: PartLayout, edges: Edges, arrives: Mask, leaves: Mask) -> Crossing:
    """Add hubs and edges of the collectives of a part; return what of it crosses. `arrives` and `leaves` are per member.

    The hub of one whose members several processes have is at its home; the entries elsewhere are summed up there first.
    """
    members = trace.members
    prefix = (operations.KIND[trace.collectives.op] == operations.PREFIX)[members.collective]
    hubs = _Hubs(trace, layout, arrives & ~prefix, leaves & ~prefix)
    chain = _Chains(trace, layout, np.flatnonzero(prefix), hubs.count)
    layout.hubs = hubs.count + chain.count
    base = layout.chain + layout.hubs
    layout.copies = hubs.copies + chain.copies
    layout.hubs += layout.copies
    hubs.add(edges, base)
    chain.add(edges, base + hubs.copies)
    return hubs.crossing(base).also(chain.crossing(base + hubs.copies))


class _Hubs:
    """The hubs of a part, those of prefix operations left out."""

    def __init__(self, trace: Trace, layout: PartLayout, arrives: Mask, leaves: Mask) -> None:
        self._layout, self._trace, self._arrives, self._leaves = layout, trace, arrives, leaves
        share, of, count = layout.share, trace.members.collective, len(trace.collectives)
        self.team = share.team
        prefix = operations.KIND[trace.collectives.op] == operations.PREFIX
        enters, returns = (np.bincount(of[which], minlength=count) > 0 for which in (arrives, leaves))
        home = (share.home == share.team.rank) & ~prefix
        away = ~home & ~prefix
        everyone = range(share.team.size)
        self._to_home = [np.flatnonzero(away & enters & (share.home == peer)) for peer in everyone]
        self._from_home = [np.flatnonzero(away & returns & (share.home == peer)) for peer in everyone]
        heard = [self.team.exchange([share.instances[rows] for rows in side]) for side in (self._to_home, self._from_home)]
        self._entered, self._asked = heard
        own = np.flatnonzero(home)
        every = np.unique(np.concatenate([share.instances[own], *self._entered, *self._asked]))
        self._rows = np.flatnonzero(home | (away & enters))
        hub = np.full(count, NONE, "i8")
        hub[self._rows] = np.arange(len(self._rows))
        extra = np.setdiff1d(every, share.instances[own], assume_unique=True)
        self._extra = len(extra)
        self._hub = hub
        self._ids = np.concatenate([share.instances[own], extra])
        self._at = np.concatenate([hub[own], len(self._rows) + np.arange(len(extra))])
        order = np.argsort(self._ids, kind="stable")
        self._ids, self._at = self._ids[order], self._at[order]
        self._hubs = len(self._rows) + len(extra)
        self.count = self._hubs + sum(map(len, self._asked))
        self.copies = sum(map(len, self._entered)) + sum(map(len, self._from_home))

    def _place(self, ids: I8) -> I8:
        """Return which of its hubs instances have that are at home here."""
        return self._layout.chain + self._at[np.searchsorted(self._ids, ids)]

    def _relays(self) -> list[I8]:
        """Return, per process, what passes on the hubs that are at home here: against the order copies are summed up there."""
        first = self._layout.chain + self._hubs
        return np.split(np.arange(first, first + self.count - self._hubs), np.cumsum([len(each) for each in self._asked])[:-1])

    def _copies(self, base: int) -> tuple[list[I8], list[I8]]:
        """Return, per process, copies of the sums of its entries, and of the hubs at home there."""
        sizes = [*map(len, self._entered), *map(len, self._from_home)]
        copies = np.split(np.arange(base, base + sum(sizes)), np.cumsum(sizes)[:-1])
        return copies[: self.team.size], copies[self.team.size :]

    def add(self, edges: Edges, base: int) -> None:
        """Add the edges; copies have numbers from `base` on."""
        layout, members = self._layout, self._trace.members
        of, entered = members.collective, layout.entered[members.call]
        sums, hubs = self._copies(base)
        out = np.where(self._hub >= 0, self._hub + layout.chain, NONE)
        causes = np.concatenate([self._rows, np.full(self._extra, NONE, "i8")])
        edges.add(np.zeros(self._hubs, "i4"), layout.chain + np.arange(self._hubs), COLLECTIVE, causes)
        rows = np.flatnonzero(self._arrives)
        for peer, (ids, copies) in enumerate(zip(self._entered, sums, strict=True)):
            if peer == self.team.rank:  # in the order of locations: of equally late ones the first is on the critical path
                edges.add(entered[rows], out[of[rows]], COLLECTIVE, of[rows])
            edges.add(copies, self._place(ids), COLLECTIVE, NONE)
        for ids, relays in zip(self._asked, self._relays(), strict=True):
            edges.add(self._place(ids), relays, COLLECTIVE, NONE)
        for rows, copies in zip(self._from_home, hubs, strict=True):
            out[rows] = copies
        rows = np.flatnonzero(self._leaves)
        edges.add(out[of[rows]], layout.entered[members.done[rows]] + 1, COLLECTIVE, of[rows])

    def crossing(self, base: int) -> Crossing:
        """Return what crosses: sums of entries to homes, hubs from there."""
        sums, hubs = self._copies(base)
        out = [
            np.concatenate([self._layout.chain + self._hub[to_home], relays])
            for to_home, relays in zip(self._to_home, self._relays(), strict=True)
        ]
        return Crossing(out, [np.concatenate(pair) for pair in zip(sums, hubs, strict=True)])


class _Chains:
    """The hubs of prefix operations of a part: one per member, each behind that of the rank before."""

    def __init__(self, trace: Trace, layout: PartLayout, rows: I8, before: int) -> None:
        """`before` hubs come before these."""
        self._layout, self._trace, self._rows = layout, trace, rows
        share, of = layout.share, trace.members.collective[rows]
        self.team, self.count = share.team, len(rows)
        self._first = layout.chain + before
        self._place = share.places[rows]
        self._ids = share.instances[of]
        here = np.zeros(len(rows), bool)
        here[1:] = (of[1:] == of[:-1]) & (self._place[1:] == self._place[:-1] + 1)
        self._here, later = here, self._place > 0
        self._away = np.flatnonzero(later & ~here)
        process = self._process_before()
        self._wanted = [self._away[process == peer] for peer in range(self.team.size)]
        asked = self.team.exchange([self._keys(self._ids[k], self._place[k] - 1) for k in self._wanted])
        keys = self._keys(self._ids, self._place)
        order = np.argsort(keys, kind="stable")
        self._asked = [order[np.searchsorted(keys[order], each)] for each in asked]
        self.copies = len(self._away)

    def _keys(self, ids: I8, places: I8) -> I8:
        """Return a number per instance and place in it."""
        return ids * (int(self._layout.share.count["members"]) + 1) + places

    def _process_before(self) -> I8:
        """Return the process of the member before each of those that have it elsewhere: homes know."""
        team = self.team
        home = self._ids % team.size
        sent = [np.flatnonzero(home == peer) for peer in range(team.size)]
        heard = team.exchange([self._keys(self._ids[k], self._place[k]) for k in sent])
        keys = np.concatenate([_NONE, *heard])
        process = np.repeat(np.arange(team.size), [len(each) for each in heard])
        order = np.argsort(keys, kind="stable")
        before = np.full(len(keys), NONE, "i8")
        before[order[1:]] = process[order[:-1]]
        answers = team.exchange(np.split(before, np.cumsum([len(each) for each in heard])[:-1]))
        out = np.full(len(self._rows), NONE, "i8")
        for rows, answer in zip(sent, answers, strict=True):
            out[rows] = answer
        return out[self._away]

    def add(self, edges: Edges, base: int) -> None:
        """Add the edges; copies have numbers from `base` on."""
        layout, members, rows = self._layout, self._trace.members, self._rows
        hub, of, done = self._first + np.arange(len(rows)), members.collective[rows], members.done[rows]
        edges.add(np.zeros(len(rows), "i4"), hub, COLLECTIVE, of)
        edges.add(layout.entered[members.call[rows]], hub, COLLECTIVE, of)
        before = np.append(NONE, hub[:-1])[: len(hub)]
        for wanted, copies in zip(self._wanted, self._copies(base), strict=True):
            before[wanted] = copies
        later = np.flatnonzero(self._place > 0)
        edges.add(before[later], hub[later], COLLECTIVE, of[later])
        later = later[done[later] != NONE]
        edges.add(before[later], layout.entered[done[later]] + 1, COLLECTIVE, of[later])

    def _copies(self, base: int) -> list[I8]:
        sizes = [len(each) for each in self._wanted]
        return np.split(np.arange(base, base + sum(sizes)), np.cumsum(sizes)[:-1])

    def crossing(self, base: int) -> Crossing:
        """Return what crosses."""
        return Crossing([self._first + each for each in self._asked], self._copies(base))


def of_calls(layout: PartLayout, source: Ints) -> Crossing:
    """Return which entries of calls cross, given the vertices that edges into vertices of this process come from."""
    share = layout.share
    wanted = distinct(source[(source > 0) & (source < layout.chain) & ((source < layout.own.start) | (source >= layout.own.stop))])
    rows = np.concatenate([np.arange(share.calls.start), np.arange(share.calls.stop, len(layout.entered))])
    number = share.elsewhere[np.searchsorted(layout.entered[rows], wanted)]
    process = share.process_of(number)
    everyone = range(share.team.size)
    asked = share.team.exchange([number[process == peer] for peer in everyone])
    return Crossing([layout.entered[share.here(each)].astype("i8") for each in asked], [wanted[process == peer] for peer in everyone])


def kept(layout: PartLayout, listed: Sequence[Ints]) -> list[Ints]:
    """Return the edges (source, target, kind, cause) that lead into vertices of this process, and one into each of the others."""
    target = listed[1]
    here = ((target >= layout.own.start) & (target < layout.own.stop)) | (target >= layout.chain)
    foreign = layout.foreign()
    more = np.zeros(len(foreign), "i4"), foreign, np.full(len(foreign), BORDER, "u1"), np.full(len(foreign), NONE, "i4")
    return [np.concatenate([column[here], each]).astype(column.dtype) for column, each in zip(listed, more, strict=True)]


def ordered(path: str, layout: PartLayout, ends: tuple[I4, I4], crossing: Crossing, droppable: Sequence[Mask]) -> tuple[I4, Border, Mask]:
    """Return the vertices, those of others first, then its own by round, the border of the graph, and which edges to keep.

    Edges (source, target) that causes and effects go round in a circle along are left out: of those `droppable` first, then next, as many
    as it takes. Raises TraceError where that is not enough, and where there is too much behind circles.
    """
    team = layout.share.team
    team.stage = "building"
    keep, (source, target) = np.ones(len(ends[0]), bool), ends
    if found := _as_before(layout, source, target, crossing):
        return *found, keep
    order = _order(path, layout, ends, crossing, droppable, keep)
    last_order.tell(order, team)
    give_back(layout.size)
    return *order.bordered(layout, crossing, order.of_vertices(layout, crossing)), keep


def _order(path: str, layout: PartLayout, ends: tuple[I4, I4], crossing: Crossing, droppable: Sequence[Mask], keep: Mask) -> Order:
    """Return the order of what is left, after taking from `keep` what is left out; see `ordered`."""
    team, (source, target) = layout.share.team, ends
    rounds = _Rounds(layout, source, target, crossing)
    number = None
    for each in droppable:
        if rounds.all_placed():
            break
        number = identities(team, layout.size, crossing.out, crossing.into) if number is None else number
        circle = circles(path, team, number, *rounds.open())
        keep &= ~(each & (circle[source] >= 0) & (circle[source] == circle[target]))
        rounds = _Rounds(layout, source[keep], target[keep], crossing)
    if not rounds.all_placed():
        circle_of = "calls wait for each other in a circle of messages or collectives, which is told apart by one process alone"
        raise TraceError(f"{path}: {circle_of}; must be asked of one (without mpiexec)")
    vertex, tails = rounds.placed()
    del rounds
    place, own = np.empty(layout.size, "i4"), np.cumsum(layout.has(vertex), dtype="i4")
    place[vertex] = own - 1
    return Order(layout.of_owned(place), own[tails - 1].astype("i8"))


@dataclasses.dataclass(frozen=True, eq=False)
class Order:
    """Where each vertex of a part stands among its own, a row for each of `PartLayout.owned`, those of a round together."""

    place: I4
    ends: I8
    """How many of its own vertices stand in each round, of all processes, and those before."""

    def of_vertices(self, layout: PartLayout, crossing: Crossing) -> I4:
        """Return the round of each vertex, of a copy that of its original, 0 of what nothing leads to."""
        out, in_order = np.zeros(layout.size, "i4"), np.repeat(np.arange(len(self.ends), dtype="i4"), np.diff(self.ends, prepend=0))
        for rows, place in self.parts(layout):
            out[rows] = in_order[place]
        for copies, came in zip(crossing.into, layout.share.team.exchange([out[each] for each in crossing.out]), strict=True):
            out[copies] = came
        return out

    def parts(self, layout: PartLayout) -> Iterator[tuple[slice, I4]]:
        """Yield its own vertices, some in a row, and where these stand."""
        chain, hubs = layout.owned
        yield chain, self.place[: chain.stop - chain.start]
        yield hubs, self.place[chain.stop - chain.start :]

    def bordered(self, layout: PartLayout, crossing: Crossing, of_vertex: I4) -> tuple[I4, Border]:
        """Return the vertices of a graph in this order, those of others first, and its border, given the round of each vertex."""
        foreign = layout.foreign()
        rounds, own, vertex, position = len(self.ends), 1 + len(foreign), np.zeros(layout.size, "i4"), np.empty(layout.size, "i4")
        vertex[1:own] = foreign
        for rows, place in self.parts(layout):
            vertex[own:][place] = np.arange(rows.start, rows.stop, dtype="i4")
        position[vertex] = np.arange(layout.size, dtype="i4")
        out, into = (_bundles(side, of_vertex, position, layout.chain, rounds - 1) for side in (crossing.out, crossing.into))
        ends = [own, *(own + self.ends).tolist()]
        steps = [Step(into.get(step - 1, []), ends[step], ends[step + 1], out.get(step, []), step) for step in range(rounds)]
        steps = [step for step in steps if step.into or step.out or step.end > step.first]
        return vertex, Border(layout.share.team, layout.share.locations, own, tuple(steps))


def _bundles(crossing: Sequence[Ints], round_: I4, position: I4, chain: int, last: int) -> Mapping[int, list[Bundle]]:
    """Return what crosses behind each round before the last, behind which nobody waits: edges from there were left out.

    `crossing` are vertices per process, in one order here and there; hubs begin at `chain`.
    """
    out = collections.defaultdict(list)
    for peer, vertices in enumerate(crossing):
        every = vertices[np.argsort(round_[vertices], kind="stable")]
        rounds, hub, crossed = round_[every], every >= chain, position[every]
        begins = np.flatnonzero(np.diff(rounds, prepend=NONE))
        ends, hubs = np.append(begins[1:], len(every))[: len(begins)], np.append(0, np.cumsum(hub))
        counts = hubs[ends] - hubs[begins]
        for step, begin, end, count in zip(*(column.tolist() for column in (rounds[begins], begins, ends, counts)), strict=True):
            if step < last:
                some, which = crossed[begin:end], hub[begin:end]
                calls, others = (some[~which], some[which]) if count else (some, some[:0])
                out[step].append(Bundle(peer, calls, others, np.concatenate([calls, others]) if count else some))
    return out


@remembered(1)
def last_order(team: Team) -> Order | None:
    """Return the order that was found last of a part that processes have; None at first."""
    return None


def _as_before(layout: PartLayout, source: I4, target: I4, crossing: Crossing) -> tuple[I4, Border] | None:
    """Return what `Order.bordered` does of the order found last if it is one of these edges, too, on all processes; None if not.

    Another model mostly lets other calls wait for each other, and few of them so that others would come first.
    """
    team, before = layout.share.team, last_order(layout.share.team)
    same = before is not None and len(before.place) == sum(rows.stop - rows.start for rows in layout.owned)
    if not team.reduce(np.array([same], "i8"), "min")[0] or before is None:
        return None
    round_ = before.of_vertices(layout, crossing)
    place = (before.ends - 1).astype("i4")[round_]  # what is told of a copy is there behind its round
    for rows, places in before.parts(layout):
        place[rows] = places
    place[0] = NONE
    chained = layout.chained()[:-1].astype(bool)
    good = bool((place[source] < place[target]).all() and (place[:-1][chained] < place[1:][chained]).all())
    del place
    return before.bordered(layout, crossing, round_) if team.reduce(np.array([good], "i8"), "min")[0] else None


class _Rounds:
    """Vertices put in order, all processes at the same time; what one has placed others hear of behind each round."""

    def __init__(self, layout: PartLayout, source: Ints, target: Ints, crossing: Crossing) -> None:
        self._layout, self._crossing = layout, crossing
        self._source, self._target = np.ascontiguousarray(source, "i4"), np.ascontiguousarray(target, "i4")
        self.team: Team = layout.share.team
        self._chained = layout.chained()
        self._waiting = counts(self._target, layout.size)
        self._waiting[1:] += self._chained[:-1]
        self._waiting[layout.foreign()] = 1  # placed when their process says so
        self._first = starts(counts(self._source, layout.size))
        self._edge = np.empty(len(source), "i4")
        kernel.group(self._source, self._first[:-1].copy(), self._edge)
        self._vertex = np.zeros(layout.size, "i4")
        sizes = [len(each) for each in crossing.out]
        vertices = np.concatenate([_NONE, *crossing.out]).astype("i4")
        self._begins = starts(counts(vertices, layout.size))
        order = np.argsort(vertices, kind="stable")
        self._peer = np.repeat(np.arange(self.team.size, dtype="i4"), sizes)[order]
        self._number = np.concatenate([_NONE, *map(np.arange, sizes)]).astype("i4")[order]
        self._told = np.empty(len(vertices) + _STATE * len(sizes), "i4")
        """What each process was told has been placed, one behind the other: numbers of what it has copies of. Before what is told next is
        room for the state, where lies what was told last.
        """
        self._cursor = _STATE + starts(np.array(sizes, "i4") + _STATE)[:-1].astype("i8")
        self._head, self._tails = 0, [0]
        """Where what others told of last begins in `_vertex`; behind each round, where its vertices end there, and what others told of."""
        self._left = layout.own.stop - layout.own.start + layout.size - layout.chain - layout.copies
        self.stuck, self._left_anywhere = False, True

    def all_placed(self) -> bool:
        """Go through all rounds that are left; return whether all vertices are placed."""
        while not self.stuck and self._left_anywhere:
            self._go_on()
        return not self.stuck

    def _go_on(self) -> None:
        """Place all that can be placed in a round, and exchange what others have copies of."""
        head, before = self._head, max(self._tails[-1], 1)
        end = kernel.proceed(self._first, self._edge, self._target, self._chained, self._waiting, head, before, self._vertex)
        begins, told = self._cursor.tolist(), self._told
        kernel.tell(self._vertex[before:end], self._begins, self._peer, self._number, self._cursor, told)
        self._left -= end - before
        for begin in begins:
            told[begin - _STATE], told[begin - _STATE + 1] = self._left, end - before
        came = self.team.exchange([told[begin - _STATE : stop] for begin, stop in zip(begins, self._cursor.tolist(), strict=True)])
        self._head = tail = end
        left = placed = 0
        for copies, each in zip(self._crossing.into, came, strict=True):
            left, placed = left + int(each[0]), placed + int(each[1])
            if len(each) > _STATE:
                self._vertex[tail : tail + len(each) - _STATE] = copies[each[_STATE:]]
                tail += len(each) - _STATE
        self._tails.append(tail)
        self._left_anywhere, self.stuck = left > 0, left > 0 and placed == 0

    def open(self) -> tuple[I8, I8]:
        """Return sources and targets of the edges between vertices that could not be placed, those of their chain among them."""
        left = np.ones(len(self._waiting), bool)
        left[self._vertex[: self._tails[-1]]] = False
        chain = np.flatnonzero(self._chained[:-1].astype(bool) & left[:-1] & left[1:])
        rows = np.flatnonzero(left[self._source] & left[self._target])
        return np.concatenate([self._source[rows], chain]), np.concatenate([self._target[rows], chain + 1])

    def placed(self) -> tuple[I4, I8]:
        """Return all vertices in the order in which they were placed, and where each round ends there."""
        return self._vertex[: self._tails[-1]], np.array(self._tails[1:])
