"""The default engine: the earliest time of every vertex in one compiled pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perwiz.graph.graph import Graph
from perwiz.kernels import sweep as kernel


def sweep(graph: Graph, weight: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the earliest time of every vertex, int64 ns by position, from int64 ns weights per edge. The origin is at 0.

    Edges of weight CUT bind nobody. Nothing happens before the origin.
    """
    time = np.zeros(graph.vertices, "i8")
    kernel.sweep(graph.start, graph.source, weight, time)
    return time
