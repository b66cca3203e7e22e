"""The locations and communicators of a Paraver trace."""

from __future__ import annotations

import numpy as np

from perwiz.formats.paraver import codes
from perwiz.formats.paraver.header import Header
from perwiz.formats.paraver.labels import Labels
from perwiz.trace.arrays import I4, I8, Ints
from perwiz.trace.numbers import distinct_pairs
from perwiz.trace.tables import NONE, PROCESS, STREAM, THREAD, Locations
from perwiz.trace.trace import Communicators

_UNKNOWN = "unknown"
"""What a node is called of which nobody knows the name."""
_STREAMS = ("stream ", "CUDA-", "GPU-", "HIP-")
"""How names of streams of devices begin."""


class RecordedLocations:
    """The threads that have events, and the communicators with the world of all processes in row 0."""

    def __init__(self, header: Header, labels: Labels, used: I8) -> None:
        """`used` are the numbers of the locations among those that the header declares, in order."""
        self._header = header
        self.task: I4 = (np.searchsorted(header.threads, used, "right") - 1).astype("i4")
        self.application = np.searchsorted(header.tasks, self.task, "right").astype("i4")
        thread = (used - header.threads[self.task]).astype("i4")
        names = labels.rows.get("THREAD", [])
        stream = [k < len(names) and names[k].startswith(_STREAMS) for k in used.tolist()]
        kind = np.where(stream, STREAM, np.where(thread == 0, PROCESS, THREAD)).astype("u1")
        node, self.nodes = self._nodes(labels)
        self.table = Locations(np.zeros(len(used), "i4"), node, self.task, thread, np.full(len(used), NONE, "i4"), kind)
        self.silent = len(header.nodes) - len(np.unique(self.task))
        self.communicators = self._communicators(labels)

    def _nodes(self, labels: Labels) -> tuple[I4, tuple[str, ...]]:
        """Return the node of each location, -1 for one that is called unknown, and their names."""
        numbers, row = np.unique(self._header.nodes[self.task], return_inverse=True)
        names = labels.rows.get("NODE", [])
        called = [names[k - 1] if 0 < k <= len(names) else f"node {k}" for k in numbers.tolist()]
        known = np.array([name != _UNKNOWN for name in called], bool)
        place = np.where(known, np.cumsum(known) - 1, NONE).astype("i4")
        return place[row.ravel()], tuple(name for name in called if name != _UNKNOWN)

    def _communicators(self, labels: Labels) -> Communicators:
        header = self._header
        every = list(range(len(header.nodes)))
        before = [int(tasks) - 1 for tasks in header.tasks]
        listed = {(one.application, one.id): [before[one.application - 1] + task for task in one.tasks] for one in header.communicators}
        self._row = {key: row for row, key in enumerate(listed)}
        names = [labels.values.get(codes.COMMUNICATOR, {}).get(number) or f"communicator {number}" for _, number in listed]
        members = list(listed.values())
        world = next((row for row, ranks in enumerate(members) if ranks == every), None)
        if world is None:
            names.insert(0, "world")
            members.insert(0, every)
            self._row = {key: row + 1 for key, row in self._row.items()}
        elif world:
            order = [world, *(row for row in range(len(members)) if row != world)]
            names, members = [names[row] for row in order], [members[row] for row in order]
            self._row = {key: order.index(row) for key, row in self._row.items()}
        if names[0] == "communicator 1":
            names[0] = "world"
        first = np.cumsum([0, *map(len, members)])
        return Communicators(tuple(names), first, np.array([rank for ranks in members for rank in ranks], "i4"))

    def rows(self, application: Ints, number: I8) -> I4:
        """Return the row of the communicator with each number in an application, -1 for one that is not defined."""
        keys, which = distinct_pairs(application, number)
        rows = [self._row.get((one, id_), NONE) for one, id_ in keys.tolist()]
        return np.array(rows, "i4").reshape(-1)[which]
