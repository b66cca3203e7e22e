"""The call tree of a run: region paths, and under each the MPI routines called from it."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

ROOT = "program"
"""Name of the node above all others: what is outside of every region."""


@dataclasses.dataclass(frozen=True, eq=False)
class CallTree:
    """Nodes in depth-first order, the root first: a node's descendants are the rows `node + 1 .. end[node] - 1`."""

    name: tuple[str, ...]
    parent: I4
    """Row of this table, -1 for the root."""
    end: I4
    """Row behind the last descendant."""
    op: I4
    """Routine of a node that stands for MPI calls, -1 for regions."""
    of_path: I4
    """Node per row of Trace.paths, and behind them the root: path -1 finds it."""
    leaf: I4
    """Node per (path + 1, op), -1 where no call was made; flat."""

    def __len__(self) -> int:
        return len(self.name)

    def of_calls(self, trace: Trace, calls: I4 | I8) -> I4:
        """Return the node of some calls, int32."""
        return self.leaf[(trace.calls.path[calls] + 1).astype("i8") * len(operations.OPS) + trace.calls.op[calls]]

    def full_name(self, node: int) -> str:
        """Return the names from below the root down to a node, joined by slashes; of the root its own."""
        names = []
        while node > 0:
            names.append(self.name[node])
            node = int(self.parent[node])
        return "/".join(reversed(names)) or self.name[0]

    def inclusive(self, value: I8) -> I8:
        """Return values per node (rows; any further axes) with those of all descendants added."""
        total = np.concatenate((np.zeros((1, *value.shape[1:]), value.dtype), np.cumsum(value, axis=0)))
        return np.asarray(total[self.end] - total[:-1])


def call_tree(trace: Trace) -> CallTree:
    """Return the call tree of a trace: children in the order of paths, MPI routines behind them in the order of `operations.OPS`.

    Of a part of a run it is that of all of it.
    """
    width = len(operations.OPS)
    used = np.zeros((len(trace.paths) + 1) * width, "u1")
    used[(trace.calls.path + 1).astype("i8") * width + trace.calls.op] = 1
    routines = np.flatnonzero(trace.share.reduced(used, "max"))
    children: list[list[tuple[int, int]]] = [[] for _ in range(len(trace.paths) + 1)]
    for path in range(len(trace.paths)):
        children[trace.paths.parent[path] + 1].append((path, NONE))
    for key in routines.tolist():
        children[key // width].append((key // width - 1, key % width))
    order, parent, end = _walk(children)
    of_path = np.zeros(len(trace.paths) + 1, "i4")
    leaf = np.full(len(used), NONE, "i4")
    names = [ROOT]
    for node, (path, op) in enumerate(order[1:], start=1):
        names.append(operations.OPS[op] if op != NONE else trace.names[trace.paths.region[path]])
        if op == NONE:
            of_path[path] = node
        else:
            leaf[(path + 1) * width + op] = node
    return CallTree(tuple(names), parent, end, np.array([op for _, op in order], "i4"), of_path, leaf)


def _walk(children: list[list[tuple[int, int]]]) -> tuple[list[tuple[int, int]], I4, I4]:
    """Return (nodes in depth-first order, their parents, the row behind the last descendant of each).

    Nodes are (path, op), those of regions without op; `children` has those of the root first, then those of each path.

        children  [(0, -1), (-1, 5)], [(0, 3)]       path 0 with routine 3 in it, routine 5 outside
        order     (-1, -1) (0, -1) (0, 3) (-1, 5)
        parent    -1 0 1 0, end 4 3 3 4
    """
    order, parent, end = [(NONE, NONE)], [NONE], [0]
    stack = [(0, iter(children[0]))]
    while stack:
        node, rest = stack[-1]
        child = next(rest, None)
        if child is None:
            end[node] = len(order)
            stack.pop()
            continue
        order.append(child)
        parent.append(node)
        end.append(0)
        below = children[child[0] + 1] if child[1] == NONE else []
        stack.append((len(order) - 1, iter(below)))
    return order, np.array(parent, "i4"), np.array(end, "i4")
