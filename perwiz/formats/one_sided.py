"""What one-sided calls of MPI wait for: from windows, groups and locks, and the times, to links.

General active target: the n-th MPI_Win_post of a process whose group has another one goes with the n-th MPI_Win_start of that whose group
has the first (MPI 4.0, 12.5.2). An MPI may block in MPI_Win_start, in an access or in MPI_Win_complete until the window is posted: the call
that was open at that instant did. Passive target: who had a lock lets the next one have it that conflicts; who needs the target's own
help waits until that comes to a call in which MPI makes progress.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.trace import operations, tables
from perwiz.trace.arrays import I4, I8, Ints, Mask
from perwiz.trace.numbers import Numbers, running
from perwiz.trace.tables import NONE, Calls, Links, Times

_START, _COMPLETE, _POST, _WAIT, _TEST, _LOCK, _UNLOCK, _LOCK_ALL, _UNLOCK_ALL, _FLUSH, _FLUSH_ALL = (
    operations.OP[f"MPI_Win_{name}"]
    for name in ("start", "complete", "post", "wait", "test", "lock", "unlock", "lock_all", "unlock_all", "flush", "flush_all")
)
OPENS = (_START, _POST)
"""Routines that have a group."""
LOCK = _LOCK
MEETS = (operations.OP["MPI_Win_fence"], operations.OP["MPI_Win_free"])
"""Routines in which all processes of a window meet."""
EXCLUSIVE, SHARED = "exclusive", "shared"
"""Labels of calls that lock."""


@dataclasses.dataclass(frozen=True, eq=False)
class Places:
    """Where locations are, a number per location."""

    process: I4
    """Rank in MPI_COMM_WORLD."""
    node: I4
    clock: I4
    """Locations of the same have clocks that can be compared as they are."""


@dataclasses.dataclass(frozen=True, eq=False)
class Groups:
    """The groups of calls that open epochs, one row per process in one."""

    call: I4
    """MPI_Win_post or MPI_Win_start."""
    process: I4
    """Rank in MPI_COMM_WORLD."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Epochs:
    """Epochs of locks, a row per target."""

    begin: I8
    """Rows, as `end`."""
    end: I8
    target: I4
    exclusive: Mask


def links(calls: Calls, times: Times, places: Places, groups: Groups, exclusive: I4) -> Links:
    """Return the links of one-sided calls whose window is known: kinds POST, COMPLETE, LOCK and PROGRESS.

    `exclusive` are the calls of MPI_Win_lock that share the lock with nobody. Who had a lock before whom, and what a target did meanwhile,
    is told by times alone: where clocks cannot be compared it is left out, and a window is taken to be posted before MPI_Win_complete.
    """
    rows = np.flatnonzero(operations.ON_WINDOWS[calls.op] & (calls.comm >= 0) & (calls.tag >= 0))
    return _OneSided(calls, times, places, rows).links(groups, exclusive) if len(rows) else Links.empty()


class _OneSided:
    """The calls on windows, a row each, by process, window and time."""

    def __init__(self, calls: Calls, times: Times, places: Places, call: I8) -> None:
        self._calls, self._times, self._places = calls, times, places
        window = Numbers().number(calls.comm[call], calls.tag[call])
        scope = Numbers().number(places.process[calls.location[call]], window)
        order = np.lexsort((call, times.enter[call], scope))
        self.call, self.scope, self.window = call[order], scope[order], window[order]
        self.op, self.peer, location = calls.op[self.call], calls.peer[self.call], calls.location[self.call]
        self.process, self.node, self.clock = places.process[location], places.node[location], places.clock[location]
        self.enter, self.leave = times.enter[self.call], times.leave[self.call]
        self._by_call = np.argsort(self.call)
        self._targets = Numbers()
        """Of (process and window, target)."""
        self._aimed = np.flatnonzero(self.peer >= 0)
        target = self._targets.number(self.scope[self._aimed], self.peer[self._aimed])
        order = np.argsort(target, kind="stable")
        self._aimed, self._target = self._aimed[order], target[order].astype("i8")
        self._found: list[tuple[int, I8, I8]] = []

    def links(self, groups: Groups, exclusive: I4) -> Links:
        """Return the links."""
        self._active(groups)
        epochs = self._epochs(exclusive)
        self._progress(*self._hand_over(epochs))
        kind = np.concatenate([np.full(len(cause), kind) for kind, cause, _ in self._found])
        cause, effect = (np.concatenate([one[k] for one in self._found]) for k in (1, 2))
        found = Links.in_order(kind.astype("u1"), cause.astype("i4"), effect.astype("i4"))
        new = np.ones(len(found), bool)
        new[1:] = np.logical_or.reduce([np.diff(column) != 0 for column in (found.kind, found.cause, found.effect)])
        return Links(found.kind[new], found.cause[new], found.effect[new])

    def _link(self, kind: int, cause: I8, effect: I8) -> None:
        self._found.append((kind, self.call[cause], self.call[effect]))

    def _following(self, chosen: Mask, row: I8) -> I8:
        """Return, per row, the next of the same process and window that is chosen, -1 none."""
        rows = np.flatnonzero(chosen)
        out = np.append(rows, NONE)[np.searchsorted(rows, row, "right")]
        return np.where((out != NONE) & (self.scope[out] == self.scope[row]), out, NONE)

    def _preceding(self, chosen: Mask, row: I8, scope: I8 | I4) -> I8:
        """Return, per row, the last before it that is chosen and of a process and window, -1 none."""
        rows = np.flatnonzero(chosen)
        out = np.append(rows, NONE)[np.searchsorted(rows, row, "left") - 1]
        return np.where((out != NONE) & (self.scope[out] == scope), out, NONE)

    # Between the calls on one target.

    def _aimed_at(self, row: I8, target: Ints) -> I8:
        return self._targets.number(self.scope[row], target).astype("i8")

    def _accessed(self, begin: I8, end: I8, target: I4) -> Mask:
        """Return whether there is a call on the target between two rows."""
        key, size = self._target * len(self.call) + self._aimed, np.int64(len(self.call))
        wanted = self._aimed_at(begin, target) * size
        return np.searchsorted(key, wanted + begin, "right") < np.searchsorted(key, wanted + end, "left")

    def _blocked(self, begin: I8, end: I8, target: I4, time: I8) -> I8:
        """Return the first row that returned at `time` or later: `begin`, else a call between on the target, else `end`, -1 none.

        begin  returned at 3   calls on the target   at 4 9   end  at 12   time  2 5 11 20   out  begin, second call, end, -1
        """
        wanted = self._aimed_at(begin, target)
        row = np.flatnonzero(np.isin(self._target, wanted))
        aimed, aim = self._aimed[row], self._target[row]
        ticks, tick = np.unique(np.concatenate([self.leave[aimed], time]), return_inverse=True)
        key = aim * len(ticks) + tick[: len(aimed)]
        order = np.argsort(key, kind="stable")
        place = np.searchsorted(key[order], wanted * len(ticks) + tick[len(aimed) :])
        between = np.append(aimed[order], NONE)[place]
        fits = (between > begin) & (between < end) & (np.append(aim[order], NONE)[place] == wanted)
        later = np.where(fits, between, np.where(self.leave[end] >= time, end, NONE))
        return np.where(self.leave[begin] >= time, begin, later)

    # General active target.

    def _active(self, groups: Groups) -> None:
        known = np.isin(groups.call, self.call)
        row = self._by_call[np.searchsorted(self.call, groups.call[known], sorter=self._by_call)]
        order = np.argsort(row, kind="stable")
        row, partner = row[order], groups.process[known][order]
        starts = self.op[row] == _START
        origin, target = np.where(starts, self.process[row], partner), np.where(starts, partner, self.process[row])
        pair = Numbers().number(Numbers().number(origin, target), self.window[row])
        nth = running(pair, starts)
        key = pair.astype("i8") * (len(row) + 1) + nth
        _, first, second = np.intersect1d(key[starts], key[~starts], assume_unique=True, return_indices=True)
        start, post, target = row[starts][first], row[~starts][second], target[starts][first]
        complete = self._following(self.op == _COMPLETE, start)
        self._late_posts(start, complete, post, target)
        wait = self._exposed_until(post)
        both = (complete != NONE) & (wait != NONE)
        self._link(tables.COMPLETE, complete[both], wait[both])

    def _late_posts(self, start: I8, complete: I8, post: I8, target: I4) -> None:
        whole = complete != NONE
        start, complete, post, target = start[whole], complete[whole], post[whole], target[whole]
        blocked = self._blocked(start, complete, target, self.enter[post])
        sure = self._accessed(start, complete, target)
        apart = self.clock[post] != self.clock[start]
        effect = np.where(sure & (apart | (blocked == NONE)), complete, np.where(apart, NONE, blocked))
        self._link(tables.POST, post[effect != NONE], effect[effect != NONE])

    def _exposed_until(self, post: I8) -> I8:
        """Return the call in which each exposure ends, -1 none: the last wait or test before the next post."""
        following = self._following(self.op == _POST, post)
        bound = np.where(following == NONE, np.searchsorted(self.scope, self.scope[post], "right"), following)
        end = self._preceding((self.op == _WAIT) | (self.op == _TEST), bound, self.scope[post])
        return np.where(end > post, end, NONE)

    # Passive target.

    def _epochs(self, exclusive: I4) -> _Epochs:
        aimed = self._aimed
        lock, unlock = np.flatnonzero(self.op[aimed] == _LOCK), np.flatnonzero(self.op[aimed] == _UNLOCK)
        end = np.append(unlock, NONE)[np.searchsorted(unlock, lock)]
        whole = (end != NONE) & (self._target[end] == self._target[lock])
        begin, end = aimed[lock[whole]], aimed[end[whole]]
        of_all, end_of_all, target = self._epochs_of_all()
        return _Epochs(
            np.append(begin, of_all),
            np.append(end, end_of_all),
            np.append(self.peer[begin], target),
            np.append(np.isin(self.call[begin], exclusive), np.zeros(len(of_all), bool)),
        )

    def _epochs_of_all(self) -> tuple[I8, I8, I4]:
        """Return begin, end and target of the locks of all targets: those that are accessed."""
        access = np.flatnonzero(operations.ACCESSES[self.op] & (self.peer >= 0))
        begin = self._preceding(self.op == _LOCK_ALL, access, self.scope[access])
        end = self._following(self.op == _UNLOCK_ALL, np.maximum(begin, 0))
        inside = (begin != NONE) & (end > access)
        begin, end, target = begin[inside], end[inside], self.peer[access[inside]]
        once = _once(begin, target)
        return begin[once], end[once], target[once]

    def _hand_over(self, epochs: _Epochs) -> tuple[I8, I8]:
        """Link the releases of locks to the calls that wait for them: shared after exclusive, exclusive after all since the last exclusive.

        Returns the rows of both.

        by their releases   X1 S2 S3 X4 X5   of one target, X exclusive: X1 to S2, X1 to S3, S2 to X4, S3 to X4, X4 to X5
        """
        begin, end, target = epochs.begin, epochs.end, epochs.target
        number = Numbers().number(self.window[begin], target)
        order = np.lexsort((self.leave[end], number))
        number, alone = number[order], epochs.exclusive[order]
        row = np.arange(len(order))
        before = np.append(NONE, np.maximum.accumulate(np.where(alone, row, NONE))[:-1])[: len(row)]
        behind = np.append(np.minimum.accumulate(np.where(alone, row, len(row))[::-1])[::-1][1:], len(row))[: len(row)]
        after_exclusive = np.flatnonzero((before != NONE) & (~alone | (before == row - 1)))
        before_exclusive = np.flatnonzero(~alone & (behind < len(row)))
        had = np.append(before[after_exclusive], before_exclusive)
        has = np.append(after_exclusive, behind[before_exclusive])
        had, has = had[number[had] == number[has]], has[number[had] == number[has]]
        had, has = order[had], order[has]
        cause = end[had]
        apart = (self.process[cause] != self.process[begin[has]]) & (self.clock[cause] == self.clock[begin[has]])
        cause, has = cause[apart], has[apart]
        effect = self._blocked(begin[has], end[has], target[has], self.enter[cause])
        cause, effect = cause[effect != NONE], effect[effect != NONE]
        self._link(tables.LOCK, cause, effect)
        return cause, effect

    def _helped(self) -> tuple[I8, I4]:
        """Return (row, target) of the calls of passive target that may need a target's help: on it, or on all that were accessed."""
        aimed, op = self._aimed, self.op[self._aimed]
        row = np.arange(len(aimed))
        locked, unlocked = (np.maximum.accumulate(np.where(op == which, row, NONE)) for which in (_LOCK, _UNLOCK))
        of_one = (locked != NONE) & (locked > unlocked) & (self._target[locked] == self._target)
        access = operations.ACCESSES[op]
        begin = self._preceding(self.op == _LOCK_ALL, aimed, self.scope[aimed])
        until = self._preceding(self.op == _UNLOCK_ALL, aimed, self.scope[aimed])
        of_all = access & (begin > until)
        direct = aimed[(access & (of_one | of_all)) | np.isin(op, (_LOCK, _UNLOCK, _FLUSH))]
        every = self._following((self.op == _FLUSH_ALL) | (self.op == _UNLOCK_ALL), aimed[of_all])
        every, target = every[every != NONE], self.peer[aimed[of_all]][every != NONE]
        once = _once(every, target)
        return np.append(direct, every[once]), np.append(self.peer[direct], target[once])

    def _progress(self, release: I8, locked: I8) -> None:
        """Link what lets MPI of a target make progress to calls that were open then, entered while the target was outside of MPI.

        Where a call with the same routine, on the same window and as near, returned while its target was outside, none needs it. A call
        that is `locked`, a row, until the `release` that comes later waits for that alone.
        """
        row, target = self._helped()
        other = target != self.process[row]
        row, target = row[other], target[other]
        helps, near, outside = self._first_help(row, target)
        ends = outside & (helps != NONE) & (self._times.enter[helps] <= self.leave[row])
        like = Numbers().number(self.window[row], self.op[row].astype("i8") * 2 + near)
        ends &= ~np.isin(like, like[outside & ~ends])
        released = np.full(len(self.call), np.iinfo("i8").min)
        np.maximum.at(released, locked, self.enter[release])
        ends &= released[row] < self._times.enter[helps]
        self._found.append((tables.PROGRESS, helps[ends], self.call[row[ends]]))

    def _first_help(self, row: I8, target: I4) -> tuple[I8, Mask, Mask]:
        """Return the target's next call with progress after each row was entered, -1 none; whether it is on the same node; was outside."""
        calls, times, places = self._calls, self._times, self._places
        progresses = np.flatnonzero(operations.PROGRESSES[calls.op] & np.isin(places.process, target)[calls.location])
        of_call = places.process[calls.location[progresses]]
        helps, near, outside = np.full(len(row), NONE, "i8"), np.zeros(len(row), bool), np.zeros(len(row), bool)
        for process in np.unique(target).tolist():
            mine, asked = progresses[of_call == process], np.flatnonzero(target == process)
            if not len(mine):
                continue
            mine, time = mine[np.argsort(times.enter[mine], kind="stable")], self.enter[row[asked]]
            until = np.append(np.iinfo("i8").min, np.maximum.accumulate(times.leave[mine]))
            place, location = np.searchsorted(times.enter[mine], time, "right"), calls.location[mine[0]]
            helps[asked] = np.append(mine, NONE)[place]
            near[asked] = places.node[location] == self.node[row[asked]]
            outside[asked] = (until[place] < time) & (places.clock[location] == self.clock[row[asked]])
        return helps, near, outside


def _once(row: I8, target: I4) -> I8:
    """Return where each pair stands first."""
    return np.unique((row << 32) + target, return_index=True)[1]
