"""Where a trace is cut in time, so that what a window needs of other calls is in it or in one before it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from perwiz.errors import UsageError
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, U2, Ints, Mask
from perwiz.trace.tables import NONE
from perwiz.trace.windows.large import TIMES, Large, taken

_SAMPLE = 1 << 20
"""Calls at most whose times tell where to cut."""
_WIDER = 4
"""By how much a window may be larger than asked for, so that causes are in it."""


@dataclasses.dataclass(frozen=True, eq=False)
class Cuts:
    """The calls of each window: on location l those from `bounds[l, k]` to before `bounds[l, k + 1]`."""

    bounds: I8
    """Rows of calls, per location and window, and the end of the last."""

    @property
    def count(self) -> int:
        """Number of windows."""
        return self.bounds.shape[1] - 1

    def window(self, calls: Ints) -> I8:
        """Return the window of each of some calls."""
        return self._place(calls) % (self.count + 1)

    def location(self, calls: Ints) -> I8:
        """Return the location of each of some calls."""
        return self._place(calls) // (self.count + 1)

    def _place(self, calls: Ints) -> I8:
        return np.searchsorted(self.bounds.reshape(-1), calls, "right") - 1

    def with_(self, calls: Ints, window: Ints) -> Cuts:
        """Return cuts by which these calls are in these windows at the latest, and so what comes before them on their locations."""
        bounds = self.bounds.copy()
        np.maximum.at(bounds, (self.location(calls), np.asarray(window) + 1), np.asarray(calls) + 1)
        return Cuts(np.maximum.accumulate(bounds, axis=1))


def cuts_of(large: Large, most: int) -> Cuts:
    """Return cuts into windows of some `most` calls each: at instants, but a call is in an earlier window if something there needs it.

    Raises UsageError if so many calls need each other that a window would be much larger.
    """
    first = _first_calls(large)
    cuts = Cuts(_bounds(large, first, _instants(large, most)))
    while len((pulled := _pulled(large, cuts))[0]):
        cuts = cuts.with_(*pulled)
        largest = int(np.diff(cuts.bounds).sum(0).max())
        if cuts.count > 1 and largest > _WIDER * most + 2 * len(first):
            raise UsageError(f"{large.trace.path}: {largest} calls need each other at a time, must be at most {_WIDER * most} to be held")
    return cuts


def _first_calls(large: Large) -> I8:
    count = np.zeros(len(large.trace.locations), "i8")
    for _, (location,) in large.pieces("calls", "location"):
        count += np.bincount(location, minlength=len(count))
    return np.append(0, np.cumsum(count))


def _instants(large: Large, most: int) -> I8:
    """Return the instants to cut at, ns, between which about so many calls return."""
    calls = large.rows("calls")
    windows, step = -(-calls // most), -(-calls // _SAMPLE)
    if windows < 2:
        return np.zeros(0, "i8")
    sample = np.sort(np.concatenate([leave[-begin % step :: step] for begin, (leave,) in large.pieces(TIMES[0], "leave")]))
    return np.unique(sample[np.arange(1, windows) * len(sample) // windows])


def _bounds(large: Large, first: I8, instants: I8) -> I8:
    """Return the bounds of windows of the calls that return until each instant."""
    windows, locations = len(instants) + 1, len(first) - 1
    count = np.zeros(locations * windows, "i8")
    pieces = zip(large.pieces("calls", "location"), large.pieces(TIMES[0], "leave"), strict=True)
    for (_, (location,)), (_, (leave,)) in pieces:
        count += np.bincount(location.astype("i8") * windows + np.searchsorted(instants, leave), minlength=len(count))
    return np.concatenate([first[:-1, None], first[:-1, None] + np.cumsum(count.reshape(locations, windows), axis=1)], axis=1)


def _pulled(large: Large, cuts: Cuts) -> tuple[I8, I8]:
    """Return calls that must be in an earlier window than they are, and in which: that of what needs them."""
    if cuts.count < 2:
        return np.zeros(0, "i8"), np.zeros(0, "i8")
    found = [*_by_messages(large, cuts), *_by_links(large, cuts), *_by_collectives(large, cuts)]
    calls, windows = (np.concatenate([np.zeros(0, "i8"), *column]) for column in zip(*found, strict=True)) if found else ([], [])
    return np.asarray(calls, "i8"), np.asarray(windows, "i8")


def _by_messages(large: Large, cuts: Cuts) -> list[tuple[I8, I8]]:
    """Return the sends of messages that are received before, and the receives that were posted when a send had not ended."""
    out = []
    for _, (send, send_done, receive, receive_done) in large.pieces("messages", "send", "send_done", "receive", "receive_done"):
        needed, at = cuts.window(receive_done), cuts.window(send)
        late = np.flatnonzero(at > needed)
        out.append((send[late].astype("i8"), needed[late]))
        done = np.flatnonzero(send_done != NONE)
        needed, at = cuts.window(send_done[done]), cuts.window(receive[done])
        done, needed = done[at > needed], needed[at > needed]
        held = _times(large, "enter", receive[done]) <= _times(large, "leave", send_done[done])
        out.append((receive[done[held]].astype("i8"), needed[held]))
    return [pair for pair in out if len(pair[0])]


def _by_links(large: Large, cuts: Cuts) -> list[tuple[I8, I8]]:
    out = []
    for _, (cause, effect) in large.pieces("links", "cause", "effect"):
        needed = cuts.window(effect)
        late = np.flatnonzero(cuts.window(cause) > needed)
        out.append((cause[late].astype("i8"), needed[late]))
    return [pair for pair in out if len(pair[0])]


def _by_collectives(large: Large, cuts: Cuts) -> list[tuple[I8, I8]]:
    """Return calls that join a collective which others have left before that wait for them."""
    out, before = [], 0
    for op, first, call, done in instances(large):
        window, left = cuts.window(call), np.where(done == NONE, cuts.count, cuts.window(np.maximum(done, 0)))
        straddling = np.maximum.reduceat(window, first) > np.minimum.reduceat(left, first)
        ends = np.append(first[1:], len(call))
        for k in np.flatnonzero(straddling).tolist():
            rows, root = slice(int(first[k]), int(ends[k])), int(large.columns["collectives"]["root"][before + k : before + k + 1][0])
            process = large.trace.locations.process[cuts.location(call[rows])]
            needed = _needed(large, int(op[k]), process == root, call[rows], done[rows], left[rows])
            late = np.flatnonzero(window[rows] > needed)
            out.append((call[rows][late].astype("i8"), needed[late]))
        before += len(op)
    return [pair for pair in out if len(pair[0])]


def _needed(large: Large, op: int, is_root: Mask, call: I4, done: I4, left: I8) -> I8:
    """Return the window in which each member of a collective must have joined it at the latest, given those in which they leave.

    Where not all wait for all: for the root, the root for all, or for whoever was there before one left.
    """
    kind, never = operations.KIND[op], np.iinfo("i8").max
    if kind in (operations.N_TO_N, operations.PREFIX):
        return np.full(len(call), left.min())
    returns = np.flatnonzero(done != NONE)
    order = returns[np.argsort(_times(large, "leave", done[returns]), kind="stable")]
    leaves = _times(large, "leave", done[order])
    behind = np.append(np.minimum.accumulate(left[order][::-1])[::-1], never)
    out = behind[np.searchsorted(leaves, _times(large, "enter", call))]
    if is_root.any():
        waits, awaited = (is_root, ~is_root) if kind == operations.N_TO_ONE else (~is_root, is_root)
        out[awaited] = np.minimum(out[awaited], left[waits].min(initial=never))
    return out


def _times(large: Large, side: str, calls: Ints) -> I8:
    """Return when some calls are entered or left, ns."""
    rows, back = np.unique(calls, return_inverse=True)
    return taken(large.columns[TIMES[0]][side], rows)[back]


def instances(large: Large) -> Iterator[tuple[U2, I8, I4, I4]]:
    """Yield whole instances of collectives, many at a time: the op of each, its first member here, and of members call and completion."""
    table, members = large.columns["collectives"], large.columns["members"]
    total, count = large.rows("members"), large.rows("collectives")
    begin = 0
    while begin < count:
        first = table["first_member"][begin : begin + _INSTANCES].astype("i8")
        end = min(begin + len(first), count)
        stop = int(table["first_member"][end : end + 1][0]) if end < count else total
        if stop - first[0] > _MEMBERS and len(first) > 1:
            keep = max(1, int(np.searchsorted(first, first[0] + _MEMBERS, "right")) - 1)
            first, stop, end = first[:keep], int(first[keep]), begin + keep
        rows = slice(int(first[0]), stop)
        yield table["op"][begin:end], first - first[0], members["call"][rows], members["done"][rows]
        begin = end


_INSTANCES, _MEMBERS = 1 << 16, 1 << 17
"""Instances, and members of them, looked at at a time."""
