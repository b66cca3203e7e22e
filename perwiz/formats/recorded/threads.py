"""What threads of a recorded run did to each other: their barriers, and the links of teams, locks and tasks.

The recorder numbers teams and tasks of a process, and names locks by their addresses; who let whom go on follows from these numbers. All
threads of a process share its clock.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.formats.recorded.columns import BEGIN, TASK_END, Columns, operations
from perwiz.kernels import records
from perwiz.trace import matching_collectives, tables
from perwiz.trace import operations as ops
from perwiz.trace.arrays import I4, I8, U2, Ints, Mask
from perwiz.trace.matching import handed_over
from perwiz.trace.matching_collectives import CollectiveInstances
from perwiz.trace.numbers import Numbers, running
from perwiz.trace.table import dtypes
from perwiz.trace.tables import NONE, Links, Regions, Times

_FORK, _IDLE, _JOIN, _CREATE, _TASK, _TASKWAIT, _IMPLICIT = (
    ops.OP[f"omp_{name}"] for name in ("fork", "idle", "join", "task_create", "task", "taskwait", "implicit_barrier")
)
_BARRIERS = (ops.OP["omp_barrier"], _IMPLICIT)
_CREATE_THREAD, _THREAD, _JOIN_THREAD, _COND_WAIT, _COND_SIGNAL, _THREAD_BARRIER = (
    ops.OP[f"pthread_{name}"] for name in ("create", "idle", "join", "cond_wait", "cond_signal", "barrier_wait")
)
_MUTEXES = (*(ops.OP[f"omp_{name}"] for name in ("critical", "lock", "ordered")), ops.OP["pthread_mutex_lock"], _COND_WAIT)
_RELEASES = (ops.OP["omp_release"], ops.OP["pthread_release"])
_END_OF_PROCESS = ops.OP["process_end"]
_TASK_NEEDS = "task needs"
"""A record that is no call: a task may begin only when another one has ended."""


@dataclasses.dataclass
class _Rows:
    """The calls of threads, in the order of the trace, and what the recorder numbered."""

    call: I4
    op: U2
    location: I4
    process: I4
    id: I4
    """Team, task or lock: a number that no other process has."""
    other: I8
    """Of a task the one that created it; of the end of a task group when it began; of idle calls 1 if no team follows; of waits for a
    condition that; of a signal 1 if it is for all; of a barrier of POSIX threads 1 for one of its members; of a release 1 if it is the end
    of a task, or of a part of one; else 0."""

    def of(self, *op: int) -> Mask:
        """Return which are calls of some routines."""
        return np.logical_or.reduce([self.op == one for one in op])


class Threads:
    """The links and barriers of threads. Corrects what the recorder cannot know: see `_end_teams`, `_hand_over`."""

    def __init__(self, columns: Columns, begun: I8) -> None:
        """`begun`: per location the first instant of its process, in the time of the trace."""
        self._columns, self._numbers = columns, Numbers()
        self._enter, self._leave = columns["enter"], columns["leave"]
        self._incomplete = 0
        """Barriers that not all threads of their team came to."""
        self.workers: I4 = np.empty(0, "i4")
        """Locations that are idle outside of teams: they are there as long as their process."""
        self._links: list[tuple[int, I4, I4]] = []
        self._teams = np.empty(0, "i4"), np.empty(0, "i4")
        several = [place for place, k in enumerate(columns.process.tolist()) if columns.processes[k].about.threads]
        self._rows = self._numbered(several)
        self.never_end = self._never_end()
        """Locations that were still in a team, or had not ended, when the recording did."""
        if len(self._rows.call):
            self._instances()
            self._end_teams()
            self._be_idle(begun)
            self._fork_and_join()
            self._name_locks()
            self._hand_over()
            self._tasks()
            self._posix_threads(begun)
            self._signals()

    def _numbered(self, locations: list[int]) -> _Rows:
        columns, parts, makers = self._columns, [_Rows(*(np.empty(0, dtype) for dtype in dtypes(_Rows).values()))], [np.empty(0, "i8")]
        for place in locations:
            process = columns.processes[columns.process[place]]
            rows, first, end = process.calls[columns.thread[place]], int(columns.first[place]), int(columns.first[place + 1])
            op = columns["op"][first:end]
            mine = np.flatnonzero(~ops.OF_PROCESSES[op])
            named = operations(tuple(process.about.operations))["op"][rows["op"]] != records.NO_CALL
            raw, op = np.flatnonzero(named)[: end - first][mine], op[mine]
            rank, id_ = np.full(len(mine), process.rank, "i4"), rows["request"][raw]
            other = np.where(op == _IDLE, id_ == 0, rows["sent"][raw]).astype("i8")
            if TASK_END in process.about.operations:
                other[rows["op"][raw] == process.about.operations.index(TASK_END)] = 1
            call, location = (mine + first).astype("i4"), np.full(len(mine), place, "i4")
            parts.append(_Rows(call, op, location, rank, self._numbers.number(rank, id_), other))
            makers.append(rows["received"][raw[op == _CREATE]])
            columns["sent"][call] = columns["received"][call] = 0
        out = _Rows(*(np.concatenate([getattr(part, name) for part in parts]) for name in dtypes(_Rows)))
        created = out.of(_CREATE)
        out.other[created] = self._numbers.number(out.process[created], np.concatenate(makers))
        return out

    def _never_end(self) -> list[int]:
        """Return the locations that opened a team and never came to its end, or never ended themselves, in order.

        A thread that was created says that it ends by its second idle call; a process without MPI by its last call.
        """
        rows, columns = self._rows, self._columns
        fork, lives = rows.of(_FORK), rows.of(_THREAD)
        open_ = rows.location[fork & ~np.isin(rows.id, rows.id[rows.of(_JOIN)])]
        begun, count = np.unique(rows.location[lives], return_counts=True)
        processes = [columns.processes[k] for k in columns.process.tolist()]
        alone = [place for place, process in enumerate(processes) if columns.thread[place] == 0 and not process.about.mpi]
        unended = np.setdiff1d(alone, rows.location[rows.of(_END_OF_PROCESS)])
        return np.unique(np.concatenate([open_, begun[count == 1], unended])).tolist()

    def _link(self, kind: int, cause: I4, effect: I4) -> None:
        """Add links, but those that program order has anyway."""
        where = self._columns.location_of
        apart = where(cause) != where(effect)
        self._links.append((kind, cause[apart], effect[apart]))

    def _instances(self) -> None:
        """The n-th barriers of all members of a team belong together; a runtime says only to some where in the program they are."""
        rows = self._rows
        barrier = np.flatnonzero(rows.of(*_BARRIERS))
        nth = running(rows.location[barrier], rows.id[barrier]).astype("i8")
        more, rounds = self._rounds()
        barrier, nth = np.append(barrier, more), np.append(nth, rounds)
        order = np.lexsort((rows.location[barrier], nth, rows.id[barrier]))
        barrier, nth = barrier[order], nth[order]
        new = np.ones(len(barrier), bool)
        new[1:] = (rows.id[barrier[1:]] != rows.id[barrier[:-1]]) | (nth[1:] != nth[:-1])
        call, team = rows.call[barrier], (np.cumsum(new) - 1).astype("i4")
        in_team = rows.of(_FORK) | (rows.of(_IDLE) & (rows.other == 0))
        threads = np.bincount(rows.id[in_team], minlength=self._numbers.count)
        self._incomplete = int((np.bincount(team) < threads[rows.id[barrier[new]]]).sum())
        self._teams, site = (call, team), self._columns["site"]
        known = np.full(int(team.max(initial=-1)) + 1, NONE, "i4")
        np.maximum.at(known, team, site[call])
        site[call] = np.where(site[call] == NONE, known[team], site[call])

    def _rounds(self) -> tuple[I8, I8]:
        """Return the waits at barriers of POSIX threads, and the round of each: in the order of arrival, each has as many as it takes.

        It takes that many: all that waited there, over the rounds; in each, one is told that it was the one. Barriers of which some
        are missing are left out.
        """
        rows = self._rows
        barrier = np.flatnonzero(rows.of(_THREAD_BARRIER))
        barrier = barrier[np.lexsort((self._enter[rows.call[barrier]], rows.id[barrier]))]
        _, first, which, count = np.unique(rows.id[barrier], return_index=True, return_inverse=True, return_counts=True)
        ones = np.bincount(which, rows.other[barrier], len(count)).astype("i8")
        whole = (ones > 0) & (count % np.maximum(ones, 1) == 0)
        size = np.maximum(count // np.maximum(ones, 1), 1)
        return barrier[whole[which]], ((np.arange(len(barrier)) - first[which]) // size[which])[whole[which]]

    def _be_idle(self, begun: I8) -> None:
        """A worker is idle from the first instant of its process on, and until that comes to its last call: however early that may be."""
        idle, last = self._rows.of(_IDLE), self._columns.first
        call, location = self._rows.call[idle], self._rows.location[idle]
        self.workers = np.unique(location)
        at_first = (call == last[location]) & ~np.isin(location, [k for k in self.workers.tolist() if self._begins_in_region(k)])
        at_last = (call == last[location + 1] - 1) & (self._rows.other[idle] > 0)
        self._enter[call[at_first]] = begun[location[at_first]]
        master = np.flatnonzero(self._columns.thread == 0)
        of_process = last[master[np.searchsorted(master, location[at_last], "right") - 1] + 1] - 1
        idle_last = call[at_last]
        self._leave[idle_last] = np.maximum(self._enter[idle_last], self._enter[of_process])
        self._link(tables.END, of_process.astype("i4"), idle_last)

    def _begins_in_region(self, location: int) -> bool:
        """Return whether a region begins before the first call of a location, as none does unless records are missing."""
        rest, before = self._columns.rest[location]
        names = self._columns.processes[self._columns.process[location]].about.operations
        return bool((rest["op"][before == 0] == names.index(BEGIN)).any())

    def _end_teams(self) -> None:
        """Workers leave the barrier that ends a team when all have arrived: a runtime says so only when it has the next work for them."""
        call, team = self._teams
        arrived = np.full(int(team.max(initial=-1)) + 1, np.iinfo("i8").min)
        np.maximum.at(arrived, team, self._enter[call])
        following = np.minimum(call + 1, len(self._enter) - 1)
        where, op = self._columns.location_of, self._columns["op"]
        ends = (op[call] == _IMPLICIT) & (op[following] == _IDLE) & (where(call) == where(following)) & (following > call)
        last = np.minimum(arrived[team[ends]], self._leave[following[ends]])
        self._leave[call[ends]] = self._enter[following[ends]] = np.maximum(last, self._enter[call[ends]])

    def _fork_and_join(self) -> None:
        rows = self._rows
        fork, join, idle = (np.flatnonzero(rows.of(op)) for op in (_FORK, _JOIN, _IDLE))
        begun = self._of_id(fork, rows.id[idle])
        self._link(tables.FORK, rows.call[begun[begun >= 0]], rows.call[idle[begun >= 0]])
        behind = idle[1:][rows.location[idle[1:]] == rows.location[idle[:-1]]]
        team = rows.id[idle[:-1]][rows.location[idle[1:]] == rows.location[idle[:-1]]]
        ended = self._of_id(join, team)
        self._link(tables.JOIN, rows.call[behind[ended >= 0]], rows.call[ended[ended >= 0]])

    def _of_id(self, rows: I8, ids: Ints) -> I4:
        """Return which of some rows has each id, -1 none."""
        place = np.full(self._numbers.count, NONE, "i4")
        place[self._rows.id[rows]] = rows
        return place[ids]

    def _name_locks(self) -> None:
        """Say which lock it is, a number in order of first occurrence."""
        named = (ops.TAKES_LOCK | ops.GIVES_LOCK)[self._rows.op] & (self._rows.other == 0)
        self._columns["tag"][self._rows.call[named]] = Numbers().number(self._rows.process[named], self._rows.id[named])

    def _hand_over(self) -> None:
        """Who had a mutex lets the next one have it, or another thread that gives it back for him.

        It is told that it was released after that: the next may have it already.
        """
        rows = self._rows
        asked, released = rows.of(*_MUTEXES), rows.of(*_RELEASES) & (rows.other == 0)
        release, next_ = handed_over(rows.id, rows.location, asked, released, self._enter[rows.call], self._leave[rows.call])
        cause, effect = rows.call[release], rows.call[next_]
        self._earlier(cause.astype("i4"), effect)
        self._link(tables.LOCK, cause, effect)

    def _tasks(self) -> None:
        rows = self._rows
        created, begun = (np.flatnonzero(rows.of(op)) for op in (_CREATE, _TASK))
        maker = self._of_id(created, rows.id[begun])
        begun, maker = begun[maker >= 0], maker[maker >= 0]
        self._columns["site"][rows.call[begun]] = self._columns["site"][rows.call[maker]]
        self._link(tables.TASK, rows.call[maker], rows.call[begun])
        ended = np.flatnonzero(rows.of(*_RELEASES) & (rows.other > 0))
        self._go_on(begun, ended)
        self._dependences(begun, ended)
        maker = self._of_id(created, rows.id[ended])
        ended, maker = ended[maker >= 0], maker[maker >= 0]
        waits = np.flatnonzero(rows.of(_TASKWAIT))
        groups = rows.other[waits] > 0
        self._wait_for(waits[~groups], maker, ended)
        while len(maker) and groups.any():
            self._wait_for(waits[groups], maker, ended)
            above = self._of_id(created, rows.other[maker])
            ended, maker = ended[above >= 0], above[above >= 0]

    def _go_on(self, begun: I8, ended: I8) -> None:
        """Tie the end of a part of a task to the next part: an untied task may go on elsewhere."""
        rows = self._rows
        both = np.concatenate([ended, begun])
        both = both[np.lexsort((rows.of(_TASK)[both], self._leave[rows.call[both]], rows.id[both]))]
        left, taken = both[:-1], both[1:]
        parts = (rows.id[left] == rows.id[taken]) & ~rows.of(_TASK)[left] & rows.of(_TASK)[taken]
        self._link(tables.TASK, rows.call[left[parts]], rows.call[taken[parts]])

    def _dependences(self, begun: I8, ended: I8) -> None:
        """Tie ends of tasks to tasks that needed them; a runtime tells of an end when others have begun already, that it is not later."""
        sink, source = self._needs()
        end, beginning = (np.full(self._numbers.count, NONE, "i8") for _ in range(2))
        end[self._rows.id[ended]], beginning[self._rows.id[begun]] = self._rows.call[ended], self._rows.call[begun]
        cause, effect = end[source], beginning[sink]
        good = (cause >= 0) & (effect >= 0)
        cause, effect = cause[good].astype("i4"), effect[good].astype("i4")
        self._earlier(cause, effect)
        true = self._enter[cause] <= self._leave[effect]
        self._link(tables.TASKWAIT, cause[true], effect[true])

    def _earlier(self, cause: I4, effect: I4) -> None:
        """Let releases be not later than what they let go on, but behind the call before them on their thread."""
        until = self._enter.copy()
        np.minimum.at(until, cause, self._leave[effect])
        self._enter[cause] = self._leave[cause] = np.maximum(until[cause], np.minimum(self._leave[cause - 1], self._enter[cause]))

    def _needs(self) -> tuple[I4, I4]:
        """Return tasks, and a task that each needs."""
        columns, out = self._columns, [np.empty((2, 0), "i4")]
        for place in range(len(columns.rest)):
            process, (rest, _) = columns.processes[columns.process[place]], columns.rest[place]
            if process.about.threads and _TASK_NEEDS in process.about.operations:
                row = np.flatnonzero(rest["op"] == process.about.operations.index(_TASK_NEEDS))
                rank = np.full(len(row), process.rank)
                out.append(np.stack([self._numbers.number(rank, rest[name][row]) for name in ("request", "received")]))
        sink, source = np.concatenate(out, axis=1)
        return sink, source

    def _wait_for(self, waits: I8, created: I4 | I8, ended: I8) -> None:
        """Tie ends of tasks to the first of `waits` that returned behind them, if the task was created since its group began.

        Per end: the row that created the task, or its ancestor; the row of the end. Waits are those of the task that created it.
        """
        rows = self._rows
        of_task, time = rows.other[created], self._enter[rows.call[ended]]
        task, when = np.concatenate([rows.id[waits], of_task]), np.concatenate([self._leave[rows.call[waits]], time])
        is_end = np.arange(len(task)) >= len(waits)
        order = np.lexsort((~is_end, when, task))
        nearest = np.minimum.accumulate(np.where(is_end[order], len(order), np.arange(len(order)))[::-1])[::-1]
        found = np.full(len(task), NONE, "i8")
        good = nearest < len(order)
        found[order[good]] = order[nearest[good]]
        end = np.flatnonzero(found[len(waits) :] >= 0)
        wait = found[len(waits) :][end]
        end, wait = end[of_task[end] == rows.id[waits[wait]]], wait[of_task[end] == rows.id[waits[wait]]]
        since = np.maximum(rows.other[waits[wait]] - self._columns.start, 0)
        effect, cause = rows.call[waits[wait]], rows.call[ended[end]]
        true = self._enter[rows.call[created[end]]] >= since
        self._link(tables.TASKWAIT, cause[true], effect[true])

    def _posix_threads(self, begun: I8) -> None:
        """A thread is there, and idle, from the first instant of its process on, until it is created; its last call says that it ends."""
        rows = self._rows
        lives = np.flatnonzero(rows.of(_THREAD))
        begins = rows.call[lives] == self._columns.first[rows.location[lives]]
        first, last = lives[begins], lives[~begins]
        self._enter[rows.call[first]] = begun[rows.location[first]]
        self.workers = np.union1d(self.workers, rows.location[first]).astype("i4")
        created, joined = (np.flatnonzero(rows.of(op)) for op in (_CREATE_THREAD, _JOIN_THREAD))
        by, until = self._of_id(created, rows.id[first]), self._of_id(joined, rows.id[last])
        self._link(tables.FORK, rows.call[by[by >= 0]], rows.call[first[by >= 0]])
        self._link(tables.JOIN, rows.call[last[until >= 0]], rows.call[until[until >= 0]])

    def _signals(self) -> None:
        """A signal wakes the first of those that wait for its condition, a broadcast all: a wait ends by the first signal left for it.

        Of waits that begin at 1 2 8, signals at 3 5 9: each its own; were that at 3 for all, so it would be for the first two.
        """
        rows = self._rows
        wait, signal = np.flatnonzero(rows.of(_COND_WAIT) & (rows.other != 0)), np.flatnonzero(rows.of(_COND_SIGNAL))
        condition = self._numbers.number(rows.process[wait], rows.other[wait])
        key, time = np.concatenate([rows.id[signal], condition]), self._enter[rows.call[np.concatenate([signal, wait])]]
        order = np.lexsort((time, key))
        waiting, signals = order[order >= len(signal)] - len(signal), signal[order[order < len(signal)]]
        following = np.cumsum(order < len(signal))[order >= len(signal)]
        for_all = np.isin(condition[waiting], rows.id[signals[rows.other[signals] > 0]])
        apart = np.cumsum(np.diff(condition[waiting], prepend=-1) != 0) * np.int64(len(order) + 1)
        """More than any place, for each condition: what is left of one says nothing of the next."""
        nth = np.arange(len(waiting))
        alone = np.where(for_all, following, np.maximum.accumulate(following - nth + 2 * apart) + nth - 2 * apart)
        good = np.flatnonzero(alone < len(signals))
        by, waiting = signals[alone[good]], waiting[good]
        cause, effect = rows.call[by], rows.call[wait[waiting]]
        true = (rows.id[by] == condition[waiting]) & (self._enter[cause] <= self._leave[effect])
        self._link(tables.SIGNAL, cause[true], effect[true])

    def links(self) -> Links:
        """Return the links."""
        kind = [np.full(len(cause), kind, "u1") for kind, cause, _ in self._links]
        cause, effect = (np.concatenate([np.empty(0, "i4"), *(one[k] for one in self._links)]).astype("i4") for k in (1, 2))
        return Links.in_order(np.concatenate([np.empty(0, "u1"), *kind]), cause, effect)

    def with_teams(self, instances: CollectiveInstances) -> CollectiveInstances:
        """Return the instances of collectives with the barriers of teams behind them; those that nobody else came to are unmatched."""
        call, team = self._teams
        made = matching_collectives.with_teams(instances, self._columns["op"], call, team)
        alone = int(np.count_nonzero(ops.COLLECTIVE[self._rows.op])) - len(call)
        return dataclasses.replace(made, unmatched=made.unmatched + alone, incomplete=made.incomplete + self._incomplete)

    def around(self, regions: Regions, times: Times) -> Times:
        """Return the times of regions such that they lie around their calls, whose times may have been corrected."""
        worker = np.isin(regions.location, self.workers)
        if not worker.any():
            return times
        enter, leave, row = times.enter.copy(), times.leave.copy(), np.flatnonzero(worker)
        end, place = regions.end_call[row], regions.location[row]
        within, following = end > regions.first_call[row], end < self._columns.first[place + 1]
        latest, earliest = self._leave[np.maximum(end - 1, 0)], self._enter[np.minimum(end, len(self._enter) - 1)]
        leave[row] = np.where(within, np.maximum(leave[row], latest), leave[row])
        leave[row] = np.where(following, np.minimum(leave[row], earliest), leave[row])
        return Times(enter, leave)
