"""The happened-before graph: vertices in a topological order, edges listed by the vertex they lead into.

Each call has two vertices, entered and returned; each location a first and a last one; each collective a hub or a chain of them; each
message that passes shared interfaces of nodes one where it has that of its sender, and one where it has that of its receiver.
Position 0 is the origin of time. The first edge into a vertex of a location is the local one, from the vertex before it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from perwiz.errors import GraphError
from perwiz.graph.border import Border
from perwiz.kernels import sweep as kernel
from perwiz.kernels.names import BORDER as BORDER
from perwiz.kernels.names import COLLECTIVE as COLLECTIVE
from perwiz.kernels.names import EJECTION as EJECTION
from perwiz.kernels.names import GAP as GAP
from perwiz.kernels.names import INJECTION as INJECTION
from perwiz.kernels.names import LINK as LINK
from perwiz.kernels.names import LOCAL as LOCAL
from perwiz.kernels.names import MESSAGE as MESSAGE
from perwiz.kernels.names import ORDER as ORDER
from perwiz.kernels.names import PROBE as PROBE
from perwiz.kernels.names import QUEUE as QUEUE
from perwiz.kernels.names import RENDEZVOUS as RENDEZVOUS
from perwiz.kernels.names import START as START
from perwiz.kernels.names import TRANSFER as TRANSFER
from perwiz.trace.arrays import I4, I8, U1, Ints
from perwiz.trace.resources import remembered
from perwiz.trace.tables import NONE

KINDS = (
    "local",
    "message",
    "rendezvous",
    "collective",
    "probe",
    "link",
    "order",
    "injection",
    "ejection",
    "queue",
    "gap",
    "transfer",
    "start",
    "border",
)
"""Names of the kinds of edges, LOCAL to BORDER."""
MOST = 1_000_000
"""Edges beyond which a networkx graph would fill the memory."""


@dataclasses.dataclass(frozen=True, eq=False)
class Graph:
    """Edges `start[v] .. start[v + 1] - 1` lead into vertex v; their sources have smaller positions. No times, no weights."""

    start: I4
    """First edge into each vertex, and one more: n + 1 numbers."""
    source: I4
    """Vertex each edge comes from."""
    kind: U1
    """Kind of each edge, see KINDS."""
    cause: I4
    """Row of messages, collectives or links behind each edge; -1 for local edges; for gaps the earlier sending call, in queues the message
    ahead."""
    entered: I4
    """Vertex per call."""
    returned: I4
    """Vertex per call."""
    begun: I4
    """Vertex per location: its first instant."""
    ended: I4
    """Vertex per location: its last instant."""
    contradictions: int
    """Edges left out because they would close a cycle."""
    deadlocks: int = 0
    """Rendezvous edges left out that only a hypothesis asked for: so the program would deadlock."""
    supposed: int = 0
    """Rendezvous edges that only a hypothesis asked for."""
    let_go: int = 0
    """Rendezvous edges left out of a cycle whose sender returned before the receiver's call: by the times it did not wait for it."""
    queues_left_out: int = 0
    """Edges from messages at interfaces, to those behind and to calls, left out because they would close a cycle."""
    inner: int = 0
    """Waits inside rooted collectives that were asked for: for one other member."""
    border: Border | None = dataclasses.field(default=None, metadata={"kept": False})
    """Where the graph of a part of a trace ends; None of a whole one."""

    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return len(self.start) - 1

    @property
    def rounds(self) -> Border:
        """How to go through it: its border, or of a whole graph all at once."""
        return self.border or Border.of_none(self.vertices)

    @property
    def edges(self) -> int:
        """Number of edges."""
        return len(self.source)

    @property
    def target(self) -> I4:
        """Vertex each edge leads into."""
        return np.repeat(np.arange(self.vertices, dtype="i4"), np.diff(self.start))

    def targets(self, edges: Ints) -> I8:
        """Return the vertex that each of some edges leads into."""
        return np.searchsorted(self.start, edges, "right") - 1

    @property
    def returning(self) -> I4:
        """Call that returns at each vertex, -1 none; found once."""
        return returning(self)


@remembered(8)
def returning(graph: Graph) -> I4:
    """Return the call that returns at each vertex, -1 none."""
    return calls_at(graph, graph.returned)


@remembered(1)
def entering(graph: Graph) -> I4:
    """Return the call that is entered at each vertex, -1 none."""
    return calls_at(graph, graph.entered)


def calls_at(graph: Graph, vertex: I4) -> I4:
    """Return the call at each vertex, given the vertex of each call; -1 none."""
    call = np.full(graph.vertices, NONE, "i4")
    kernel.put_rows(vertex, call)
    return call


@remembered(2)
def hubs(graph: Graph) -> I4:
    """Return the vertices that belong to no location, by position: hubs of collectives, messages at interfaces."""
    of_location = np.zeros(graph.vertices, bool)
    of_location[0] = True
    for vertex in (graph.entered, graph.returned, graph.begun, graph.ended):
        of_location[vertex] = True
    return np.flatnonzero(~of_location).astype("i4")


def to_networkx(graph: Graph, weight: I8) -> Any:
    """Return a networkx MultiDiGraph of the vertices by position; edges carry weight (int, ns), kind (word) and cause (row).

    Raises GraphError beyond a million edges.
    """
    import networkx

    if graph.edges > MOST:
        raise GraphError(f"a graph of {graph.edges} edges, must be at most {MOST} for networkx")
    view = networkx.MultiDiGraph()
    view.add_nodes_from(range(graph.vertices))
    for vertex in range(graph.vertices):
        for edge in range(graph.start[vertex], graph.start[vertex + 1]):
            what = {"weight": int(weight[edge]), "kind": KINDS[graph.kind[edge]], "cause": int(graph.cause[edge])}
            view.add_edge(int(graph.source[edge]), vertex, **what)
    return view
