"""The graph of a window of time: a part whose border lies in time. What comes before is known from the windows before."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.graph.border import Border, Bundle, Step
from perwiz.graph.graph import BORDER, Graph
from perwiz.graph.layout import Layout
from perwiz.trace.arrays import I4, I8, U1, Ints
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.trace.windows.window import Window


class WindowLayout(Layout):
    """The layout of a window: into what stands for calls of other windows leads nothing but the origin."""

    def __init__(self, trace: Trace, share: Window) -> None:
        super().__init__(trace)
        self._share = share

    def _ghosts(self) -> I8:
        entered = self.entered[self._share.ghosts].astype("i8")
        return np.concatenate([entered, entered + 1])

    def chained(self) -> U1:
        """Return which vertices are followed by the next one of their location, 1 or 0 per vertex."""
        chained = super().chained()
        chained[self._ghosts() - 1] = 0
        return chained

    def kept(self, listed: Sequence[Ints]) -> list[Ints]:
        """Return the edges (source, target, kind, cause) that lead into vertices of this window, and one into each of the others."""
        ghosts, there = self._ghosts(), np.ones(self.size, bool)
        there[ghosts] = False
        here = there[listed[1]]
        more = np.zeros(len(ghosts), "i4"), ghosts, np.full(len(ghosts), BORDER, "u1"), np.full(len(ghosts), NONE, "i4")
        return [np.concatenate([column[here], each]).astype(column.dtype) for column, each in zip(listed, more, strict=True)]

    def placed(self, vertex: I4) -> I4:
        """Return the vertices in an order in which those of other windows come first, behind the origin."""
        ghost = np.zeros(self.size, bool)
        ghost[self._ghosts()] = True
        return np.concatenate([vertex[:1], vertex[ghost[vertex]], vertex[1:][~ghost[vertex[1:]]]])

    def bordered(self, graph: Graph) -> Graph:
        """Return the graph with its border: one step, what comes before it, and what later windows need."""
        share, own = self._share, 1 + 2 * len(self._share.ghosts)
        before, behind = np.flatnonzero(share.before), share.behind
        into, out = (np.concatenate([graph.entered[calls], graph.returned[calls]]) for calls in (before, behind))
        none = np.zeros(0, "i4")
        step = Step([Bundle(0, into, none, into)], own, graph.vertices, [Bundle(0, out, none, out)])
        return dataclasses.replace(graph, border=Border(share.carried, slice(None), own, (step,)))
