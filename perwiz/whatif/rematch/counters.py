"""Self-scheduling: processes that take the next task from a counter in the memory of one of them, until none is left.

A task is what a process does from the return of a fetch until it is entered for the next one of the same counter. In a round the k-th fetch
brings task k, to whoever comes then; behind the tasks, one fetch of each process finds that there are no more.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.errors import UsageError
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.tables import NONE, Times
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors

_FETCHES = np.isin(operations.OPS, ["MPI_Fetch_and_op", "MPI_Get_accumulate"])
_READS, _WRITES, _LOCKS = (np.isin(operations.OPS, names) for names in (["MPI_Get"], ["MPI_Put", "MPI_Accumulate"], ["MPI_Win_lock"]))


@dataclasses.dataclass(frozen=True, eq=False)
class Counters:
    """Fetches from counters, round by round, in the order in which they were served."""

    fetch: I8
    """Call."""
    round: I8
    """Round of tasks that it belongs to, ascending from 0."""
    ends: Mask
    """It found that there are no more tasks: the last one of its process in the round."""
    next: I8
    """The fetch of the same process behind it in the round, row of calls, or NONE."""

    def of(self, which: Mask) -> Counters:
        """Return those of some rounds, all rows of each, the rounds numbered anew."""
        rounds = np.unique(self.round[which], return_inverse=True)[1].ravel()
        return Counters(self.fetch[which], rounds, self.ends[which], self.next[which])

    def turned(self, times: Times) -> I8:
        """Return the fetches that would be served before one that was served before them, at these times of calls; rows, sorted."""
        if not len(self.fetch):
            return self.fetch
        return np.sort(self.fetch[latest(times.enter[self.fetch], self.round) > times.enter[self.fetch]])

    def later(self, entered: I8) -> I8:
        """Return how long after these instants at which they are entered the fetches are served, if in their order; ns per row."""
        return latest(entered, self.round) - entered


def counters(trace: Trace) -> Counters:
    """Return the fetches by which tasks are handed out; those after which a process meets others before it is entered again end a round.

    Raises UsageError for a part of a run in which there may be any.
    """
    fetch = _fetches(trace)
    if trace.share.team and trace.share.any(len(fetch)):
        tasks = "counters hand out its tasks, and who gets which is found by one process alone"
        raise UsageError(f"{trace.path}: {tasks}; must be asked of one (without mpiexec), or kept (--keep-matches)")
    if not len(fetch):
        return Counters(fetch, fetch, fetch.astype(bool), fetch)
    calls, times = trace.calls, trace.timeline.calls
    key = np.unique(np.stack([column[fetch] for column in (calls.comm, calls.tag, calls.peer)]), axis=1, return_inverse=True)[1].ravel()
    met = np.append(0, np.cumsum(selectors.meeting(trace)))[fetch]
    order = np.lexsort((fetch, calls.location[fetch], key))
    key, met, of, location = key[order], met[order], fetch[order], calls.location[fetch[order]]
    same = np.append(False, (key[1:] == key[:-1]) & (location[1:] == location[:-1]))[: len(of)]
    goes_on = same & np.append(False, (met[1:] == met[:-1]) & (np.diff(order) == 1))[: len(of)]
    begun = np.cumsum(~goes_on)
    first = np.flatnonzero(~same)
    number = begun - np.repeat(begun[first], np.diff(np.append(first, len(of))))
    ends = np.append(~goes_on[1:], True)[: len(of)]
    behind = np.where(ends, NONE, np.append(of[1:], NONE)[: len(of)])
    group = np.unique(np.stack([key, number]), axis=1, return_inverse=True)[1].ravel()
    kept = _shared(times, of, group, ends)[group]
    served = np.flatnonzero(kept)[np.lexsort((of[kept], times.enter[of[kept]], ends[kept], group[kept]))]
    return Counters(of[served], np.unique(group[served], return_inverse=True)[1].ravel(), ends[served], behind[served])


def _fetches(trace: Trace) -> I8:
    """Return the calls that fetch and change a value, rows: such routines, and a read before a write of the same under a lock."""
    calls = trace.calls
    out = _FETCHES[calls.op]
    row = np.flatnonzero(_READS[calls.op])
    row = row[(row > 0) & (row + 1 < len(calls))]
    for step, which in ((-1, _LOCKS), (1, _WRITES)):
        alike = [column[row + step] == column[row] for column in (calls.location, calls.comm, calls.tag, calls.peer)]
        row = row[which[calls.op[row + step]] & np.logical_and.reduce(alike)]
    out[row] = True
    return np.flatnonzero(out & (calls.peer >= 0))


def _shared(times: Times, fetch: I8, group: I8, ends: Mask) -> Mask:
    """Return per round whether several processes share its tasks, and none found them gone before the last was fetched."""
    count = int(group.max(initial=-1)) + 1
    last, gone = np.full(count, -1), np.full(count, np.iinfo("i8").max)
    np.maximum.at(last, group[~ends], times.enter[fetch[~ends]])
    np.minimum.at(gone, group[ends], times.leave[fetch[ends]])
    return (np.bincount(group, ends, count) > 1) & (last >= 0) & (last <= gone)


def latest(entered: I8, group: I8) -> I8:
    """Return per row the latest of these times up to it, group by group; groups ascend."""
    span = int(entered.max(initial=0)) - int(entered.min(initial=0)) + 1
    low = int(entered.min(initial=0))
    return np.maximum.accumulate(entered - low + group * span) - group * span + low
