"""From the tables of a trace to the happened-before graph. No times are needed: the order is found, not read off a clock."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.errors import GraphError, TraceError
from perwiz.graph import spread
from perwiz.graph.border import Border
from perwiz.graph.graph import BORDER, COLLECTIVE, LINK, LOCAL, MESSAGE, ORDER, PROBE, RENDEZVOUS, START, TRANSFER, Graph
from perwiz.graph.layout import Edges, Layout, add_gaps, components, finish, sort_topologically
from perwiz.graph.window import WindowLayout
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, U1, Ints, Mask
from perwiz.trace.spread.share import Part
from perwiz.trace.tables import EVENT, NONE, STARTS
from perwiz.trace.trace import Trace
from perwiz.trace.windows.window import Window

_MOST = 2**31 - 2
_SUPPOSED = 255
"""Kind of the rendezvous edges that only a hypothesis asks for, until they are known to close no cycle."""
BLOCKING_PROBES = (operations.OP["MPI_Probe"], operations.OP["MPI_Mprobe"])


def build(
    trace: Trace,
    synchronous: Mask | None = None,
    gaps: bool = False,
    movers: I4 | None = None,
    supposed: tuple[I8, I8] | None = None,
    inner: tuple[I8, I8] | None = None,
    transfers: bool = False,
) -> Graph:
    """Return the graph of a trace.

    `synchronous` (bool per message) says which messages get a rendezvous edge from a call of the receiver to the return of the call that
    completes the send; `gaps` adds edges between the returns of consecutive sending calls of a location; `movers` (row of calls per
    message, -1 none) are the receivers' calls that let them move, if they are others than post the receives; `supposed` are messages
    that only a hypothesis lets wait for a call of their receiver, and those calls, rows, one message for several calls perhaps; `inner`
    are members of collectives that wait for another one, and the calls of those; with `transfers` a call that completes a transfer
    waits for it since its receive was posted.
    Edges that would close a cycle are left out and counted: first rendezvous edges on it of senders that the times show let go before,
    then supposed edges, then rendezvous edges, then all but the local ones. A receiver that a supposed edge from a later call than posts
    the receive would hold up is in an MPI call already, so there it begins where the receive is posted; one from an earlier call, of a
    message sent in place, holds nobody then. Raises GraphError beyond 2**31 vertices or edges.
    """
    layout, edges, table = _layout(trace), Edges(), trace.messages
    edges.add(np.zeros(len(layout.begun), "i4"), layout.begun, LOCAL, NONE)
    _add_messages(trace, layout, edges)
    if synchronous is not None:
        held = np.flatnonzero(synchronous)
        _add_rendezvous(trace, layout, edges, held, (table.receive if movers is None else movers)[held])
    if supposed is not None:
        _add_rendezvous(trace, layout, edges, *supposed, _SUPPOSED)
    if transfers:
        _add_transfers(trace, layout, edges, _any(trace, synchronous, supposed))
    _add_probes(trace, layout, edges)
    crossing = _add_collectives(trace, layout, edges)
    _add_links(trace, layout, edges)
    if inner is not None:
        _add_inner(trace, layout, edges, *inner)
    if gaps:
        add_gaps(trace, layout, edges)
    listed = edges.whole()
    if layout.size + len(listed[0]) > _MOST:
        raise GraphError(f"{trace.path}: a graph of {layout.size} vertices and {len(listed[0])} edges, must be below 2**31")
    if isinstance(layout, spread.PartLayout):
        return _spread(trace, layout, listed, crossing, movers, 0 if inner is None else len(inner[0]))
    if isinstance(layout, WindowLayout):
        listed = layout.kept(listed)
    vertex, keep = _ordered(trace, layout, listed, movers)
    while keep is not None and len(sooner := _too_late(trace, layout, listed, keep)):
        listed[0][sooner] = layout.entered[table.receive[listed[3][sooner]]]
        vertex, keep = _ordered(trace, layout, listed, movers)
    dropped, deadlocks, let_go = 0, 0, 0
    if keep is not None:
        supposed_too = np.flatnonzero(~keep & (listed[2] == _SUPPOSED))
        deadlocks = int((listed[0][supposed_too] == layout.entered[table.receive[listed[3][supposed_too]]]).sum())
        let_go = int(_let_go(trace, listed[2], listed[3], movers)[~keep].sum())
        dropped = len(keep) - int(keep.sum()) - len(supposed_too) - let_go
        listed = [column[keep] for column in listed]
    only_supposed = listed[2] == _SUPPOSED
    listed[2][only_supposed] = RENDEZVOUS
    graph = finish(layout, layout.placed(vertex) if isinstance(layout, WindowLayout) else vertex, listed, dropped, deadlocks)
    waits = 0 if inner is None else len(inner[0])
    graph = dataclasses.replace(graph, supposed=int(only_supposed.sum()), let_go=let_go, inner=waits)
    return layout.bordered(graph) if isinstance(layout, WindowLayout) else graph


def _layout(trace: Trace) -> Layout:
    if isinstance(trace.share, Window):
        return WindowLayout(trace, trace.share)
    return spread.PartLayout(trace, trace.share) if isinstance(trace.share, Part) else Layout(trace)


def _spread(trace: Trace, layout: spread.PartLayout, listed: list[Ints], crossing: spread.Crossing, movers: I4 | None, inner: int) -> Graph:
    """Return the graph of a part of a trace; `inner` waits in collectives were asked for here. Raises TraceError as `spread.ordered`.

    Of circles rendezvous edges alone are left out; where that is one that a hypothesis asks for, it raises TraceError, too.
    """
    listed = spread.kept(layout, listed)
    vertex, border, keep = _in_rounds(trace, layout, listed, crossing, movers)
    total, supposed = trace.share.total, listed[2] == _SUPPOSED
    if total(int((supposed & ~keep).sum())):
        circle = "calls would wait for each other in a circle, which is told apart by one process alone"
        raise TraceError(f"{trace.path}: {circle}; must be asked of one (without mpiexec)")
    dropped, gone = int((~keep).sum()), 0
    if dropped:
        gone = int((_let_go(trace, listed[2], listed[3], movers) & ~keep).sum())
        listed = [column[keep] for column in listed]
    listed[2][listed[2] == _SUPPOSED] = RENDEZVOUS
    dropped, gone = total(dropped), total(gone)
    graph = finish(layout, vertex, listed, dropped - gone, 0)
    return dataclasses.replace(graph, let_go=gone, inner=total(inner), supposed=total(int(supposed.sum())), border=border)


def _in_rounds(
    trace: Trace, layout: spread.PartLayout, listed: list[Ints], crossing: spread.Crossing, movers: I4 | None
) -> tuple[I4, Border, Mask]:
    """Return what `spread.ordered` does, and of all edges which to keep."""
    crossing = spread.of_calls(layout, listed[0]).also(crossing)
    inward = listed[2] != BORDER
    source, target, kind, cause = (column[inward] for column in listed)
    droppable = _let_go(trace, kind, cause, movers), kind == _SUPPOSED, kind == RENDEZVOUS
    vertex, border, keep = spread.ordered(trace.path, layout, (source, target), crossing, droppable)
    every = np.ones(len(inward), bool)
    every[inward] = keep
    return vertex, border, every


def _add_messages(trace: Trace, layout: Layout, edges: Edges) -> None:
    table = trace.messages
    edges.add(layout.entered[table.send], layout.entered[table.receive_done] + 1, MESSAGE, np.arange(len(table)))


def _add_rendezvous(trace: Trace, layout: Layout, edges: Edges, messages: I8, movers: Ints, kind: int = RENDEZVOUS) -> None:
    """Let the completions of some sends wait for calls of their receivers, a row for each of these messages, -1 none."""
    done = trace.messages.send_done[messages]
    bound = (done != NONE) & (movers != NONE)
    edges.add(layout.entered[movers[bound]], layout.entered[done[bound]] + 1, kind, messages[bound])


def _any(trace: Trace, synchronous: Mask | None, supposed: tuple[I8, I8] | None) -> Mask:
    """Return which messages hold their sender, or may, bool per message."""
    out = np.zeros(len(trace.messages), bool) if synchronous is None else synchronous.copy()
    if supposed is not None:
        out[supposed[0]] = True
    return out


def _add_transfers(trace: Trace, layout: Layout, edges: Edges, synchronous: Mask) -> None:
    """Let what completes a receive, or a synchronous send, wait for the transfer that its posting lets begin."""
    table = trace.messages
    m = np.flatnonzero(table.receive != table.receive_done)
    edges.add(layout.entered[table.receive[m]], layout.entered[table.receive_done[m]] + 1, TRANSFER, m)
    m = np.flatnonzero((table.send != table.send_done) & (table.send_done != NONE) & synchronous)
    edges.add(layout.entered[table.send[m]], layout.entered[table.send_done[m]] + 1, TRANSFER, m)


def probes(trace: Trace) -> tuple[I8, I8]:
    """Return (call, message) for each blocking probe that waits for a message: the one its location receives next.

    That is what a probe is for (MPI 3.1, 3.8); one that names another source waits for something else, one of MPI_PROC_NULL (no source,
    though its tag is known) for nothing. Probes 3 and 8 on a location
    whose calls 5 and 6 receive messages 1 and 0, of any source -> call 3, message 1: behind probe 8 nothing is received.
    """
    calls, table = trace.calls, trace.messages
    probe = np.flatnonzero(np.isin(calls.op, BLOCKING_PROBES) & ((calls.peer != NONE) | (calls.tag == NONE)))
    if not len(probe):
        return probe, probe
    received, message = np.unique(table.receive, return_index=True)
    following = np.searchsorted(received, probe)
    probe, following = probe[following < len(received)], following[following < len(received)]
    message = message[following]
    sender = trace.locations.process[calls.location[table.send[message]]]
    fits = (calls.location[received[following]] == calls.location[probe]) & ((calls.peer[probe] < 0) | (calls.peer[probe] == sender))
    return probe[fits], message[fits]


def _add_probes(trace: Trace, layout: Layout, edges: Edges) -> None:
    probe, message = probes(trace)
    edges.add(layout.entered[trace.messages.send[message]], layout.entered[probe] + 1, PROBE, message)


def _add_collectives(trace: Trace, layout: Layout, edges: Edges) -> spread.Crossing:
    """Add hubs and edges of collectives; return what crosses of those of a part.

    N to N: all into a hub, the hub into all. From or to a root: only what depends. Prefix: a chain of hubs along the ranks.

    The origin leads into every hub too, so that one nobody else enters has a time.
    """
    members, table = trace.members, trace.collectives
    kind = operations.KIND[table.op][members.collective]
    rank = trace.locations.process[trace.calls.location[members.call]]
    is_root = rank == table.root[members.collective]
    rooted = (table.root >= 0)[members.collective]
    everyone = kind == operations.N_TO_N
    prefix = kind == operations.PREFIX
    arrives = everyone | prefix | (rooted & np.where(kind == operations.ONE_TO_N, is_root, (kind == operations.N_TO_ONE) & ~is_root))
    leaves = everyone | (rooted & np.where(kind == operations.ONE_TO_N, ~is_root, (kind == operations.N_TO_ONE) & is_root))
    none = spread.Crossing([], [])
    if isinstance(layout, spread.PartLayout):
        return spread.add_collectives(trace, layout, edges, arrives, leaves & (members.done != NONE))
    if not len(members):
        return none
    head = np.zeros(len(members), bool)
    head[table.first_member] = True
    hub = np.cumsum(head | prefix) - 1
    layout.hubs = int(hub[-1]) + 1
    hub = (hub + layout.chain).astype("i4")
    hubs = np.flatnonzero(head | prefix)
    edges.add(np.zeros(len(hubs), "i4"), hub[hubs], COLLECTIVE, members.collective[hubs])
    entered, done = layout.entered[members.call], members.done
    edges.add(entered[arrives], hub[arrives], COLLECTIVE, members.collective[arrives])
    leaves &= done != NONE
    edges.add(hub[leaves], layout.entered[done[leaves]] + 1, COLLECTIVE, members.collective[leaves])
    later = np.flatnonzero(prefix & ~head)
    edges.add(hub[later - 1], hub[later], COLLECTIVE, members.collective[later])
    later = later[done[later] != NONE]
    edges.add(hub[later - 1], layout.entered[done[later]] + 1, COLLECTIVE, members.collective[later])
    return none


def _add_links(trace: Trace, layout: Layout, edges: Edges) -> None:
    starts, orders = np.isin(trace.links.kind, STARTS), trace.links.kind == EVENT
    for kind, chosen in ((LINK, ~(starts | orders)), (ORDER, orders), (START, starts)):
        row = np.flatnonzero(chosen)
        edges.add(layout.entered[trace.links.cause[row]], layout.entered[trace.links.effect[row]] + 1, kind, row)


def _add_inner(trace: Trace, layout: Layout, edges: Edges, waiting: I8, awaited: I8) -> None:
    members = trace.members
    source, target = layout.entered[awaited], layout.entered[members.done[waiting]] + 1
    edges.add(source, target, COLLECTIVE, members.collective[waiting])


def _ordered(trace: Trace, layout: Layout, listed: list[Ints], movers: I4 | None) -> tuple[I4, Mask | None]:
    """Return the vertices in topological order, and which edges to keep (None: all)."""
    source, target, kind, cause = listed
    vertex, placed = sort_topologically(layout, source, target)
    if placed == layout.size:
        return vertex, None
    keep = np.ones(len(source), bool)
    for droppable in (_let_go(trace, kind, cause, movers), kind == _SUPPOSED, kind == RENDEZVOUS, kind != LOCAL):
        part = components(layout, vertex[:placed], source, target, keep)
        keep &= ~(droppable & (part[source] >= 0) & (part[source] == part[target]))
        vertex, placed = sort_topologically(layout, source[keep], target[keep])
        if placed == layout.size:
            break
    return vertex, keep


def _too_late(trace: Trace, layout: Layout, listed: list[Ints], keep: Mask) -> I8:
    """Return which supposed edges are left out though they begin later than where the receive is posted."""
    source, _, kind, cause = listed
    edge = np.flatnonzero(~keep & (kind == _SUPPOSED))
    return edge[source[edge] > layout.entered[trace.messages.receive[cause[edge]]]]


def _let_go(trace: Trace, kind: U1, cause: I4, movers: I4 | None) -> Mask:
    """Return which edges are rendezvous edges of a sender that returned before its receiver let the message move: it did not wait."""
    table, times = trace.messages, trace.timeline.calls
    out = np.zeros(len(kind), bool)
    edge = np.flatnonzero(kind == RENDEZVOUS)
    message = cause[edge]
    mover = (table.receive if movers is None else movers)[message]
    out[edge] = times.leave[table.send_done[message]] < times.enter[mover]
    return out
