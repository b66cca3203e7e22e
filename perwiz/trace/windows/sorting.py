"""Rows of the tables of a trace by the windows that need them, in a file without a name until each window is asked for."""

from __future__ import annotations

import dataclasses
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.trace import operations
from perwiz.trace.arrays import I8, Ints, Mask
from perwiz.trace.table import Table, dtypes
from perwiz.trace.tables import NONE, Links, Messages, Regions, Requests
from perwiz.trace.windows.cuts import Cuts, instances
from perwiz.trace.windows.large import TIMES, Large

Rows = NDArray[Any]
"""Rows of a table as they stand in it, structured."""
MEMBER = np.dtype([("instance", "i8"), ("call", "i8"), ("done", "i8"), ("op", "u2"), ("comm", "i4"), ("root", "i4")])
"""A member with what the table of collectives says of its instance."""
_REGION = [("row", "i8"), ("window", "i8"), ("enter", "i8"), ("leave", "i8")]
"""What is known of a region instance beside its columns: its row, the window in which it is entered, its times."""
_ENDS = {
    "messages": ("send", "send_done", "receive", "receive_done"),
    "requests": ("posted_by", "completed_by"),
    "links": ("cause", "effect"),
}
"""Columns that are calls, by table; a row is needed in the windows of all of them."""
_KINDS: dict[str, type[Table]] = {"messages": Messages, "requests": Requests, "links": Links}


class _Spilled:
    """Rows of tables by window, in a file."""

    def __init__(self, folder: str | None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 closed with what it is of
        self._at: dict[tuple[str, int], list[tuple[int, int]]] = {}

    def put(self, table: str, window: Ints, rows: Rows) -> None:
        """Add rows of a table, each to a window; those of one window stay in order."""
        if not len(rows):
            return
        order = np.argsort(window, kind="stable")
        windows, first = np.unique(window[order], return_index=True)
        place, size = self._file.seek(0, 2), rows.dtype.itemsize
        self._file.write(rows[order].tobytes())
        for k, begin, end in zip(windows.tolist(), first.tolist(), [*first[1:].tolist(), len(order)], strict=True):
            self._at.setdefault((table, k), []).append((place + begin * size, end - begin))

    def close(self) -> None:
        """Forget all."""
        self._file.close()

    def rows(self, table: str, window: int, dtype: np.dtype[Any]) -> Rows:
        """Return the rows of a table that a window has."""
        pieces = [np.zeros(0, dtype)]
        for place, count in self._at.get((table, window), ()):
            self._file.seek(place)
            pieces.append(np.frombuffer(self._file.read(count * dtype.itemsize), dtype))
        return np.concatenate(pieces)


@dataclasses.dataclass(frozen=True, eq=False)
class Sorted:
    """The rows of a trace by window."""

    large: Large
    cuts: Cuts
    needed: I8
    """Rows of the calls that a later window than their own needs, ascending."""
    landmarks: I8
    """Rows of the calls that begin and end MPI, ascending: all windows have them."""
    open: Mask
    """Which locations posted a request that nothing completes, or that has no name."""
    spilled: _Spilled

    def __enter__(self) -> Sorted:
        return self

    def __exit__(self, *_: object) -> None:
        self.spilled.close()

    def rows(self, table: str, window: int) -> Rows:
        """Return the rows of messages, requests, links, members or regions that a window needs."""
        dtype = {"members": MEMBER, "regions": _region_dtype()}.get(table)
        return self.spilled.rows(table, window, dtype if dtype is not None else _dtype(_KINDS[table]))


def _dtype(kind: type[Table]) -> np.dtype[Any]:
    return np.dtype([*dtypes(kind).items()])


def _region_dtype() -> np.dtype[Any]:
    return np.dtype([*dtypes(Regions).items(), *_REGION])


def sort(large: Large, cuts: Cuts, folder: str | None = None) -> Sorted:
    """Return the rows of a trace by window; what is put aside for that goes to a file of a folder, by default that of the system."""
    spilled, needed = _Spilled(folder), [cuts.bounds[:, :-1].reshape(-1) - 1]
    try:
        for table in _ENDS:
            needed += _sort_pairs(large, cuts, table, spilled)
        needed += _sort_members(large, cuts, spilled)
        _sort_regions(large, cuts, spilled)
        landmarks, open_ = _of_calls(large, cuts)
    except BaseException:
        spilled.close()
        raise
    every = np.unique(np.concatenate([*needed, landmarks]))
    return Sorted(large, cuts, every[every >= 0], landmarks, open_, spilled)


def _sort_pairs(large: Large, cuts: Cuts, table: str, spilled: _Spilled) -> list[I8]:
    """Sort rows that tie calls; return the calls that later windows need for them."""
    kind, needed = _KINDS[table], []
    following = _Following(large, cuts) if table == "messages" else None
    for _, columns in large.pieces(table, *dtypes(kind)):
        rows = np.empty(len(columns[0]), _dtype(kind))
        for name, column in zip(dtypes(kind), columns, strict=True):
            rows[name] = column
        ends = np.stack([rows[name].astype("i8") for name in _ENDS[table]])
        known = ends != NONE
        windows = np.where(known, cuts.window(np.maximum(ends, 0)), NONE)
        if following is not None:
            windows = np.concatenate([windows, following.of(rows["send"], windows[0])[None]])
        new = windows != NONE
        for k in range(1, len(windows)):
            new[k] &= (windows[:k] != windows[k]).all(0)
        row, end = np.nonzero(new.T)
        window = windows[end, row]
        spilled.put(table, window, rows[row])
        several = np.flatnonzero(new.sum(0) > 1)
        latest = windows[:, several].max(0)
        needed += [np.unique(each[several][at[several] < latest]) for each, at in zip(ends, windows, strict=False)]
    return needed


class _Following:
    """Says of the last send of a location in a window in which later window the next one is, which is kept apart from it."""

    def __init__(self, large: Large, cuts: Cuts) -> None:
        self._cuts = cuts
        shape = cuts.bounds.shape[0], cuts.count
        self._last = np.full(shape, NONE, "i8")
        for _, (send,) in large.pieces("messages", "send"):
            np.maximum.at(self._last, (cuts.location(send), cuts.window(send)), send)
        there = np.where(self._last != NONE, np.arange(cuts.count), cuts.count)
        later = np.minimum.accumulate(there[:, ::-1], axis=1)[:, ::-1]
        self._next = np.concatenate([later[:, 1:], np.full((shape[0], 1), cuts.count)], axis=1)
        self._next[self._next == cuts.count] = NONE

    def of(self, send: Ints, window: I8) -> I8:
        """Return that window per send, -1 of those that are not the last, or the last of all."""
        location = self._cuts.location(send)
        return np.where(self._last[location, window] == send, self._next[location, window], NONE)


def _sort_members(large: Large, cuts: Cuts, spilled: _Spilled) -> list[I8]:
    """Sort whole instances of collectives; return the calls that later windows need for them."""
    needed, before = [], 0
    comm, root = large.columns["collectives"]["comm"], large.columns["collectives"]["root"]
    for op, first, call, done in instances(large):
        size = np.diff(np.append(first, len(call)))
        rows, of = np.empty(len(call), MEMBER), np.repeat(np.arange(len(op)), size)
        rows["instance"], rows["call"], rows["done"], rows["op"] = before + of, call, done, op[of]
        for name, column in (("comm", comm), ("root", root)):
            rows[name] = column[before : before + len(op)][of]
        entered = cuts.window(call)
        left = np.where(done == NONE, entered, cuts.window(np.maximum(done, 0)))
        low = np.minimum.reduceat(np.minimum(entered, left), first)
        high = np.maximum.reduceat(np.maximum(entered, left), first)
        one = (low == high)[of]
        spilled.put("members", low[of[one]], rows[one])
        for k in np.flatnonzero(low != high).tolist():
            here = slice(int(first[k]), int(first[k] + size[k]))
            windows = np.unique(np.concatenate([entered[here], left[here]]))
            spilled.put("members", np.repeat(windows, size[k]), np.tile(rows[here], len(windows)))
            needed += [call[here][entered[here] < windows[-1]].astype("i8"), done[here][left[here] < windows[-1]].astype("i8")]
        before += len(op)
    return needed


def _sort_regions(large: Large, cuts: Cuts, spilled: _Spilled) -> None:
    """Sort region instances: each is in all windows from that of its entry to that in which it is left."""
    end_of = cuts.bounds[:, -1]
    names = [*dtypes(Regions)]
    pieces = zip(large.pieces("regions", *names), large.pieces(TIMES[1], "enter", "leave"), strict=True)
    for (begin, columns), (_, times) in pieces:
        rows = np.empty(len(columns[0]), _region_dtype())
        for name, column in zip([*names, "enter", "leave"], [*columns, *times], strict=True):
            rows[name] = column
        rows["row"] = begin + np.arange(len(rows))
        end = end_of[rows["location"]]
        low, high = (
            np.where(rows[name] >= end, cuts.count - 1, cuts.window(np.clip(rows[name], 0, np.maximum(end - 1, 0))))
            for name in ("first_call", "end_call")
        )
        rows["window"], count = low, high - low + 1
        which = np.repeat(np.arange(len(rows)), count)
        window = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count) + low[which]
        spilled.put("regions", window, rows[which])


def _of_calls(large: Large, cuts: Cuts) -> tuple[I8, Mask]:
    """Return the calls that begin and end MPI, and which locations posted a request that nothing completes, or that has no name."""
    landmarks, open_ = [np.zeros(0, "i8")], np.zeros(len(cuts.bounds), bool)
    posted, requests, place = large.columns["requests"]["posted_by"], large.rows("requests"), 0
    for begin, (op, comm) in large.pieces("calls", "op", "comm"):
        landmarks.append(begin + np.flatnonzero(np.isin(op, [*operations.INITS, *operations.FINALIZES])))
        nameless = operations.NONBLOCKING[op] & (comm != NONE)
        stop = _place(posted, begin + len(op), place, requests)
        nameless[posted[place:stop] - begin] = False
        open_[cuts.location(begin + np.flatnonzero(nameless))] = True
        place = stop
    for _, (by, done) in large.pieces("requests", "posted_by", "completed_by"):
        open_[cuts.location(by[done == NONE])] = True
    return np.concatenate(landmarks), open_


def _place(column: Any, value: int, low: int, high: int) -> int:
    """Return the first row, from `low` to before `high`, of a rising column with at least a value; `high` if there is none."""
    while low < high:
        middle = (low + high) // 2
        if int(column[middle : middle + 1][0]) < value:
            low = middle + 1
        else:
            high = middle
    return low
