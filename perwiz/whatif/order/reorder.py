"""The weighted graph of the same program with its calls, region boundaries and computation in another order on some locations."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.graph.anew import numbers
from perwiz.graph.graph import EJECTION, GAP, INJECTION, MESSAGE, PROBE, QUEUE, RENDEZVOUS, TRANSFER, Graph
from perwiz.graph.rechain import REMADE, Cycle, rechain
from perwiz.loggps.weigh import CUT, Gaps, Weighted
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.links import in_other_rows
from perwiz.whatif.order.program import Program
from perwiz.whatif.order.tables import move_rows, scatter, sort_rows, trace_in_order
from perwiz.whatif.sharing import requeued, whole


@dataclasses.dataclass(frozen=True)
class Moved:
    """A block that runs earlier: the calls `first` .. `last` of a location, before call `before`; recorded rows."""

    first: int
    last: int
    before: int
    end: int
    """Last of the calls that it passes; smaller than `before` if the block stays where it is."""
    location: int
    note: str = ""
    """Why a block stays where it is, though somebody waits for it."""
    asked: str = ""
    """The hypothesis."""
    region: str = ""
    """The region ahead of which a send runs that passes no call."""

    def receives(self, trace: Trace) -> int:
        """Return how many of the calls that it passes receive a message in the recorded trace."""
        return receives(trace, [self])


def receives(trace: Trace, moves: Sequence[Moved]) -> int:
    """Return how many of the calls that some of several pass receive a message in the recorded trace."""
    done = trace.messages.receive_done
    passed = np.zeros(len(done), bool)
    for move in moves:
        passed |= (done >= move.before) & (done <= move.end)
    return len(np.unique(done[passed]))


@dataclasses.dataclass(frozen=True, eq=False)
class Reordered(Weighted):
    """A weighted graph whose trace has another order of calls than the recorded one."""

    call: I8
    """Row of each recorded call."""
    region: I8
    """Row of each recorded region instance."""
    message: I8
    """Row of each recorded message."""
    moves: tuple[Moved, ...]

    def as_recorded(self, timeline: Timeline) -> Timeline:
        """Return a timeline of this order with the rows of the recorded calls and regions."""
        calls, regions = move_rows(timeline.calls, np.argsort(self.call)), move_rows(timeline.regions, np.argsort(self.region))
        return dataclasses.replace(timeline, calls=calls, regions=regions)

    def in_new_order(self, timeline: Timeline) -> Timeline:
        """Return a timeline of recorded rows with the rows of this order."""
        return dataclasses.replace(timeline, calls=move_rows(timeline.calls, self.call), regions=move_rows(timeline.regions, self.region))


def recorded_rows(weighted: Weighted) -> Reordered:
    """Return the graph as one that may be reordered, with the rows of the recorded calls in it."""
    if isinstance(weighted, Reordered):
        return weighted
    trace = weighted.trace
    call, region, message = (np.arange(len(rows)) for rows in (trace.calls, trace.regions, trace.messages))
    return Reordered(**vars(whole(weighted)), call=call, region=region, message=message, moves=())


def reorder(program: Program, order: I8, moves: tuple[Moved, ...] = ()) -> Reordered:
    """Return the weighted graph with the steps of a program in another order: `order` holds the old number of each new step.

    Every call keeps its weights, and takes along the computation before it and what its partners' edges weigh. Gaps between sends that
    were no neighbours are the network's. Region instances are numbered anew. Each step stays on its location; regions must still nest.
    Raises perwiz.graph.rechain.Cycle if the new order waits for itself.
    """
    old = recorded_rows(program.weighted)
    place = scatter(np.arange(len(order)), order)
    call, region = (sort_rows(place[steps]) for steps in (program.call, program.entered))
    message = sort_rows(call[old.trace.messages.send])
    changed = np.zeros(len(old.trace.locations), bool)
    changed[program.location[np.flatnonzero((order != np.arange(len(order))) | (program.length != program.recorded))]] = True
    trace = trace_in_order(program, place, (call, region, message), changed)
    graph, edge = rechain(trace, old.graph, call, stays(old) & ~_stale(old, changed), _begins(old, call))
    graph.cause[:] = _causes(graph, message)
    size = scatter(old.size, message)
    inside, delayed = in_other_rows(old, message)
    result = dataclasses.replace(
        old,
        trace=trace,
        timeline=trace.timeline,
        graph=graph,
        weight=_weights(program, order, (trace, graph, edge), call, size),
        size=size,
        call=call[old.call],
        region=region[old.region],
        message=message[old.message],
        moves=old.moves + moves,
        inside=inside,
        delayed=delayed,
        rounds=None if old.rounds is None else old.rounds.at(numbers(edge, old.graph.edges)),
    )
    enter, leave = _distances(program, order, place, region, changed)
    return requeued(dataclasses.replace(result, region_enter=enter, region_leave=leave))


def in_order_of(weighted: Weighted, found: Reordered, recorded: Weighted) -> Reordered | None:
    """Return the recorded program under other weights in the order that was found under those it was recorded with, where sends that moved
    hold nobody either; None where that order waits for itself, or is more than an order: it moved what is computed before a call alone.
    """
    program, new = Program(recorded_rows(weighted)), Program(found)
    order = np.empty(len(program.length), "i8")
    order[new.call[found.call]] = program.call
    order[new.entered[found.region]], order[new.left[found.region]] = program.entered, program.left
    order[new.ended] = program.ended
    if (new.length != Program(recorded).length[order]).any():
        return None
    try:
        result = reorder(program, order, found.moves)
    except Cycle:
        return None
    moved = np.array([move.last for move in found.moves if move.end >= move.before], "i8")
    return unheld(result, result.call[moved])


def unheld(weighted: Reordered, sends: I8) -> Reordered:
    """Return the graph in which sends, rows of its calls, do not hold their process until the receiver is there, as MPI_Isend."""
    graph, messages = weighted.graph, weighted.trace.messages
    own = np.isin(messages.send, sends) & (messages.send == messages.send_done)
    edge = np.flatnonzero((graph.kind == RENDEZVOUS) & (weighted.weight != CUT))
    edge = edge[own[graph.cause[edge]]]
    if not len(edge):
        return weighted
    weight = weighted.weight.copy()
    weight[edge] = CUT
    return dataclasses.replace(weighted, weight=weight)


def stays(weighted: Weighted) -> Mask:
    """Return which edges an order keeps: rendezvous edges that bind nobody, and queues of interfaces, would only forbid orders."""
    return ~((weighted.graph.kind == RENDEZVOUS) & (weighted.weight == CUT)) & (weighted.graph.kind != QUEUE)


def _movers(old: Weighted) -> tuple[I8, I8]:
    """Return the rendezvous edges that begin in another call than that which posts the receive, and the rows of these calls."""
    row = np.full(old.graph.vertices, NONE)
    row[old.graph.entered] = np.arange(len(old.graph.entered))
    edge = np.flatnonzero(old.graph.kind == RENDEZVOUS)
    mover = row[old.graph.source[edge]]
    others = mover != old.trace.messages.receive[old.graph.cause[edge]]
    return edge[others], mover[others]


def _begins(old: Weighted, call: I8) -> I8:
    """Return per edge the call, new row, that lets a message move in the new order, -1 where that is the call that did so before.

    Any call does it, so it is the one that comes in its place; but none before the receive is posted.
    """
    edge, mover = _movers(old)
    out = np.full(old.graph.edges, NONE)
    receive = old.trace.messages.receive[old.graph.cause[edge]]
    out[edge] = np.where(receive < mover, np.maximum(mover, call[receive]), mover)
    return out


def _stale(old: Weighted, changed: Mask) -> Mask:
    """Return which edges let go what was sent in place before its receive was posted, the order of sender or receiver being changed.

    Which call comes first behind the message then no recording tells, so it is taken to hold nobody, unless `held`; bool per edge.
    """
    edge, mover = in_place(old)
    table, location = old.trace.messages, old.trace.calls.location
    message = old.graph.cause[edge]
    moved = changed[location[table.send[message]]] | changed[location[mover]]
    out = np.zeros(old.graph.edges, bool)
    out[edge] = moved & (not old.held)
    return out


def movers(weighted: Weighted) -> tuple[I8, I4]:
    """Return the rendezvous edges that begin in another call than that which posts the receive, and the rows of those that post it."""
    edge, _ = _movers(weighted)
    return edge, weighted.trace.messages.receive[weighted.graph.cause[edge]]


def in_place(weighted: Weighted) -> tuple[I8, I8]:
    """Return the edges that let go what was sent in place before its receive was posted, and the rows of the calls that do so."""
    edge, mover = _movers(weighted)
    early = mover < weighted.trace.messages.receive[weighted.graph.cause[edge]]
    return edge[early], mover[early]


def _causes(new: Graph, message: I8) -> I4:
    """Return the cause of every edge of the new graph: messages by their new row; those inside of collectives are behind all of them."""
    by_message = np.isin(new.kind, (MESSAGE, RENDEZVOUS, PROBE, INJECTION, EJECTION, QUEUE, TRANSFER))
    out = new.cause.copy()
    by_message &= new.cause < len(message)
    out[by_message] = message[new.cause[by_message]]
    return out


def _weights(program: Program, order: I8, new: tuple[Trace, Graph, I8], call: I8, size: I8) -> I8:
    weighted, (trace, graph, edge) = program.weighted, new
    old = weighted.graph
    out = np.append(weighted.weight, [0, 0])[edge]  # -1 and -2 find a 0
    out[graph.start[graph.returned[call]]] = weighted.weight[old.start[old.returned]]
    fresh = np.flatnonzero(program.is_vertex[order])
    first = np.concatenate(([0], fresh[:-1] + 1))
    whole = np.add.reduceat(program.length[order], first) if len(order) else order
    location = program.location[fresh]
    calls = program.is_call[order[fresh]]
    out[graph.start[graph.entered]] = whole[calls]
    ended = np.flatnonzero(~calls)
    out[graph.start[graph.ended[location[ended]]]] = whole[ended]
    return _with_gaps(weighted, (trace, graph, edge), call, size, out)


def _with_gaps(weighted: Weighted, new: tuple[Trace, Graph, I8], call: I8, size: I8, out: I8) -> I8:
    """Fill in the weights of gaps: as they were between sends that stay neighbours, else the network's."""
    trace, graph, edge = new
    made = np.flatnonzero(edge == REMADE)
    if not len(made):
        return out
    old = weighted.graph
    out[made] = Gaps(dataclasses.replace(trace, locations=weighted.places), weighted.network, size).after(graph.cause[made])
    was = np.flatnonzero(old.kind == GAP)
    owner = np.full(old.vertices, -1, "i8")
    owner[old.returned] = call
    target = owner[old.targets(was)]
    pair = call[old.cause[was]] * len(call) + target
    made_pair = graph.cause[made].astype("i8") * len(call) + graph.returning[graph.targets(made)]
    sorted_ = np.argsort(pair)
    row = sorted_[np.minimum(np.searchsorted(pair[sorted_], made_pair), len(pair) - 1)]
    same = pair[row] == made_pair
    out[made[same]] = weighted.weight[was[row[same]]]
    return out


def _distances(program: Program, order: I8, place: I8, region: I8, changed: Mask) -> tuple[I8, I8]:
    """Return the ns from the vertex before each region boundary to it, in the new order, at the regions' new rows."""
    weighted = program.weighted
    total = np.cumsum(program.length[order])
    base = np.maximum.accumulate(np.where(program.is_vertex[order], total, 0))
    base = np.concatenate(([0], base[:-1]))
    out = []
    for steps, old in ((program.entered, weighted.region_enter), (program.left, weighted.region_leave)):
        new = (total - base)[place[steps]]
        moved = changed[weighted.trace.regions.location] & (old >= 0)
        out.append(scatter(np.where(moved, new, old), region))
    return out[0], out[1]
