"""The groups and tracks in which runs over the same locations are shown, and their numbers, which no two share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perwiz.report.picture import lanes
from perwiz.trace.arrays import I8, Ints
from perwiz.trace.tables import PROCESS
from perwiz.trace.trace import Trace


class Tracks:
    """A group per run or, if locations share nodes of which there are several, one per run and node; in it a track per location.

    Where processes have threads or streams, a group per run and process.
    """

    def __init__(self, trace: Trace, runs: int) -> None:
        places = trace.locations
        keys, group = np.unique(np.stack([places.metahost, places.node], 1), axis=0, return_inverse=True)
        named = [_node(trace, metahost, node, len(np.unique(keys[:, 0])) > 1) for metahost, node in keys.tolist()]
        self._names = lanes.labels(places)
        self._order = np.argsort(lanes.lanes(places))
        self._places, self._runs = len(places), runs
        self._groups, self._group = named, group.reshape(-1)
        if (places.kind != PROCESS).any():
            self._by_process(trace, named if len(keys) > 1 else None)
        elif len(keys) <= 1 or len(keys) == len(places):
            self._groups, self._group = [""], np.zeros(len(places), np.int64)
            if len(keys) > 1:
                self._names = [
                    f"{label}, {named[group.reshape(-1)[row]]}" for label, row in zip(self._names, self._order.tolist(), strict=True)
                ]

    def _by_process(self, trace: Trace, nodes: list[str] | None) -> None:
        places = trace.locations
        ranks, first, group = np.unique(places.process, return_index=True, return_inverse=True)
        node = self._group[first].tolist()
        self._groups = [f"process {rank}" + (f", {nodes[k]}" if nodes else "") for rank, k in zip(ranks.tolist(), node, strict=True)]
        self._group = group.reshape(-1)

    def pid(self, run: int, location: Ints) -> I8:
        """Return the numbers of the groups of some locations in a run, int64, from 1."""
        return 1 + run * len(self._groups) + self._group[location]

    def tid(self, run: int, location: Ints, track: I8) -> I8:
        """Return the numbers of tracks, int64, above those of all groups; those of a location count from 0, further ones hold overlaps."""
        number: I8 = 1 + self._runs * len(self._groups) + (track * self._runs + run) * self._places + location.astype(np.int64)
        return number

    def groups(self, run: int) -> Iterator[tuple[int, str]]:
        """Yield number and name, empty if it needs none, of each group of a run."""
        yield from ((1 + run * len(self._groups) + place, name) for place, name in enumerate(self._groups))

    def names(self, run: int, track: int = 0) -> Iterator[tuple[int, int, str]]:
        """Yield group, number and name of the first or another track of each location in a run, in the order of ranks and threads."""
        more = f", overlapping {track}" if track else ""
        tids = self.tid(run, self._order, np.full(len(self._order), track)).tolist()
        for pid, tid, name in zip(self.pid(run, self._order).tolist(), tids, self._names, strict=True):
            yield pid, tid, f"{name}{more}"


def _node(trace: Trace, metahost: int, node: int, metahosts: bool) -> str:
    """Return the name of a node, that of its metahost in front if there are several."""
    name = trace.nodes[node] if node >= 0 else "node unknown"
    if not metahosts:
        return name
    return f"{trace.metahosts[metahost] if metahost < len(trace.metahosts) else f'metahost {metahost}'}, {name}"
