"""The locations of an ALOG file: its pairs of process and task, in that order or one that the header tells, and what it says of each."""

from __future__ import annotations

import numpy as np

from perwiz.formats.alog.headers import KINDS, Headers
from perwiz.kernels import alog
from perwiz.trace.arrays import I8
from perwiz.trace.tables import NONE, PROCESS, THREAD, Locations, Offsets, Times


class RecordedLocations:
    """Where each location stands in the tables, and when the trace starts. `pairs` are (process, task) in order of first occurrence."""

    def __init__(self, pairs: I8, used: alog.Records, headers: Headers) -> None:
        self._headers, order = headers, np.lexsort((pairs[:, 1], pairs[:, 0]))
        order = order[np.argsort(_rows(pairs[order], headers))]
        self.row = np.argsort(order).astype("i4")
        """Row of locations per location in order of first occurrence."""
        self.process, self.thread = pairs[order, 0], pairs[order, 1]
        first, last = used.first[order], used.clock[order]
        self.start = int(first[first >= 0].min())
        """Time of the first record, in ns of the file."""
        silent = first < 0
        self.instants = Times(*(np.where(silent, 0, times - self.start) for times in (first, last)))
        self._where = {pair: k for k, pair in enumerate(zip(self.process.tolist(), self.thread.tolist(), strict=True))}

    def __len__(self) -> int:
        return len(self.process)

    def table(self) -> tuple[Locations, tuple[str, ...]]:
        """Return the locations, and the names of the nodes in order of their numbers."""
        metahost, node, cpu = np.zeros(len(self), "i4"), np.full(len(self), NONE, "i4"), np.full(len(self), NONE, "i4")
        kind, headers = np.full(len(self), THREAD, "u1"), self._headers
        order = np.lexsort((self.thread, self.process))
        kind[order[np.unique(self.process[order], return_index=True)[1]]] = PROCESS
        hosts: dict[int, str] = {}
        for process, thread, number, pairs in headers.placement:
            location = self._where.get((process, thread))
            if location is None:
                continue
            hosts.setdefault(number, pairs.get("host", str(number)))
            node[location], cpu[location], metahost[location] = number, _small(pairs.get("cpu"), NONE), _small(pairs.get("metahost"), 0)
            kind[location] = KINDS.index(pairs["kind"]) if pairs.get("kind") in KINDS else kind[location]
        hosts.pop(NONE, None)
        numbers = np.array(sorted(hosts), "i4")
        node = np.where(node >= 0, np.searchsorted(numbers, node), NONE).astype("i4")
        table = Locations(metahost, node, self.process.astype("i4"), self.thread.astype("i4"), cpu, kind)
        return table, tuple(hosts[number] for number in numbers.tolist())

    def offsets(self) -> Offsets:
        """Return the clock measurements of locations that occur."""
        told = self._headers.offsets
        rows = [(self._where[process, thread], *rest) for process, thread, *rest in told if (process, thread) in self._where]
        columns = list(zip(*rows, strict=True)) or [()] * 5
        return Offsets(*(np.array(values, dtype) for values, dtype in zip(columns, ("i4", "i8", "f8", "f8", "f8"), strict=True)))


def _rows(pairs: I8, headers: Headers) -> I8:
    """Return the row of each pair, given in order: that order, but for those whose row the header tells, if that leaves a row to each."""
    row = np.arange(len(pairs))
    where = {pair: k for k, pair in enumerate(map(tuple, pairs.tolist()))}
    for process, thread, _, said in headers.placement:
        if (process, thread) in where and "row" in said:
            row[where[process, thread]] = _small(said["row"], NONE)
    return row if np.array_equal(np.sort(row), np.arange(len(row))) else np.arange(len(row))


def _small(text: str | None, otherwise: int) -> int:
    """Return a number of at most nine digits, or `otherwise`."""
    return int(text) if text is not None and text.isdecimal() and text.isascii() and len(text) < 10 else otherwise
