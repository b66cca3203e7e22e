"""What had to come first between the threads of a process: from what OTF2 records of teams, locks and tasks to links and barriers.

What contradicts the clock of its process, a cause entered after its effect had returned, is not used.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

import numpy as np

from perwiz.formats.otf2.library.codes import PTHREAD
from perwiz.kernels import records
from perwiz.trace import operations, tables
from perwiz.trace.arrays import I4, I8, U1, U2, Ints
from perwiz.trace.numbers import Numbers, running, running_of
from perwiz.trace.tables import NONE, Links

_BARRIERS = (operations.OP["omp_barrier"], operations.OP["omp_implicit_barrier"])
_IDLES = [operations.OP[f"{kind}_idle"] for kind in ("omp", "pthread", "device", "thread")]
_IDLE, _FORK, _JOIN, _LOCK, _TASKWAIT = (operations.OP[f"omp_{name}"] for name in ("idle", "fork", "join", "lock", "taskwait"))
LOCKS = (records.ACQUIRE_LOCK, records.RELEASE_LOCK)
_SPARSE = 4
"""So many times as many numbers as there are rows need no other ones."""
_OF_PTHREADS = {_LOCK: operations.OP["pthread_mutex_lock"], operations.OP["omp_release"]: operations.OP["pthread_release"]}


@dataclasses.dataclass(frozen=True)
class Said:
    """The records of threads that make calls or belong to them, in program order of the locations."""

    kind: U1
    call: I4
    """Row of calls."""
    process: I4
    arguments: list[I8]
    """What the record says: team, creating thread and generation of tasks; model, lock and order of locks; team; thread and its number."""

    def name(self, op: U2) -> None:
        """Name calls that these records, of locks, made after the model of the lock; `op` is per call, and overwritten."""
        call = self.call[self.arguments[0] == PTHREAD]
        for of_openmp, of_pthreads in _OF_PTHREADS.items():
            op[call[op[call] == of_openmp]] = of_pthreads

    def number_locks(self, op: U2, tag: I4) -> None:
        """Say which lock the calls of locks are about, in order of first occurrence; `op` and `tag` are per call, `tag` is overwritten."""
        rows = (operations.TAKES_LOCK | operations.GIVES_LOCK)[op[self.call]]
        model, lock, *_ = self.arguments
        tag[self.call[rows]] = _numbered(self.process[rows], model[rows], lock[rows])


@dataclasses.dataclass(frozen=True)
class Tied:
    """What is tied, and how many waits of threads are not because records are missing or contradict each other."""

    links: list[Links]
    """In any order."""
    barrier: I8
    """Calls of barriers."""
    together: I8
    """Number of each, the same for those of one barrier of a team."""
    untied: int


class Threads:
    """Ties the calls of threads; each step uses what the ones before it found."""

    def __init__(self, location: I4, op: U2, began: I4, enter: I8, leave: I8, process: I4, said: Callable[..., Said]) -> None:
        """Columns of calls: `began` is the call that began the team of each, -1 for none; `process` is per location; said(kind, ...) are
        the records of some kinds."""
        self._location, self._op, self._began, self._enter, self._leave = location, op, began, enter, leave
        self._process, self._said = process, said
        self._links: list[Links] = []
        self._untied = 0

    def tied(self) -> Tied:
        """Return all links, and the barriers of teams."""
        self._teams()
        self._joins()
        self._locks()
        self._tasks()
        self._created()
        barrier, together = self._barriers()
        return Tied(self._links, barrier, together, self._untied)

    def _link(self, kind: int, cause: I8, effect: I8) -> None:
        """Tie calls, as far as times allow; those that have no cause (-1) stay untied."""
        good = (cause != NONE) & (self._enter[cause] <= self._leave[effect])
        self._untied += int((~good).sum())
        self._links.append(Links(np.full(int(good.sum()), kind, "u1"), cause[good].astype("i4"), effect[good].astype("i4")))

    def _rows(self, op: int) -> I8:
        return np.flatnonzero(self._op == op)

    def _teams(self) -> None:
        """Find the fork behind each beginning of another thread in a team: the last one of that team in its process before."""
        begins = self._said(records.TEAM_BEGIN)
        own = self._op[begins.call] == _FORK
        idle = self._rows(_IDLE)
        self._workers = idle[self._began[idle] == idle]
        self._team = team = np.full(len(self._op), NONE, "i4")
        """Number of the team that a call began, -1 for others and where no record names it."""
        team[begins.call] = Numbers().number(begins.process, *begins.arguments)
        forks = begins.call[own]
        fork = _latest(team[forks], self._enter[forks], forks, team[self._workers], self._leave[self._workers])
        unsaid = np.flatnonzero(team[self._workers] == NONE)
        fork[unsaid] = self._open_forks(self._workers[unsaid])
        fork[running(self._location[self._workers], fork) > 0] = NONE
        self._fork = fork
        """Per worker."""
        self._instance = np.full(len(self._op) + 1, NONE, "i4")
        """The fork of the team that a call began, -1 for others and, behind the last, for none."""
        forks = self._rows(_FORK)
        self._instance[forks], self._instance[self._workers] = forks, fork
        self._link(tables.FORK, fork, self._workers)

    def _open_forks(self, workers: I8) -> I8:
        """Return the fork of the only parallel region of the process in which a thread began, -1 if there are several.

        This is where no record names the team. The forks before, less the joins before: how many, and the sum of their rows.
        """
        joins = self._rows(_JOIN)
        joins = joins[self._began[joins] != NONE]
        forks = self._began[joins]
        of_forks, of_workers = (self._process[self._location[rows]] for rows in (forks, workers))
        count, total = np.zeros(len(workers), "i8"), np.zeros(len(workers), "i8")
        for sign, time in ((1, self._enter[forks]), (-1, self._leave[joins])):
            order, before = _before(of_forks, time, of_workers, self._leave[workers])
            head = np.searchsorted(of_forks[order], of_workers)
            sums = np.concatenate([[0], np.cumsum(forks[order])])
            count += sign * (before - head)
            total += sign * (sums[before] - sums[head])
        return np.where(count == 1, total, NONE)

    def _joins(self) -> None:
        """Tie the end of each thread in a team, its next idle call, to the join of the team's fork."""
        idle, joins = self._rows(_IDLE), self._rows(_JOIN)
        behind = np.append(idle[1:], NONE)[np.searchsorted(idle, self._workers)]
        behind[self._location[behind] != self._location[self._workers]] = NONE
        join = np.full(len(self._op) + 1, NONE, "i4")
        join[self._began[joins]] = joins
        join[NONE] = NONE
        join = join[self._fork]
        self._untied += int(((join == NONE) & (self._fork != NONE)).sum())
        self._link(tables.JOIN, behind[join != NONE], join[join != NONE])

    def _locks(self) -> None:
        """Tie the release of a lock to the acquisition that comes next in the order of the lock."""
        locks = self._said(*LOCKS)
        model, name, order = locks.arguments
        lock = _numbered(locks.process, model, name)
        acquired = locks.kind == records.ACQUIRE_LOCK
        turn = order - acquired
        first = np.full(int(lock.max(initial=NONE)) + 1, np.iinfo("i8").max)
        np.minimum.at(first, lock[acquired], turn[acquired])
        key = _numbered(lock, turn)
        later = acquired & (turn > first[lock])
        self._link(tables.LOCK, _found(key[~acquired], locks.call[~acquired], key[later]), locks.call[later])

    def _tasks(self) -> None:
        """Tie the creation of a task to the wait before it, and its end to the next wait for tasks of the thread that created it."""
        tasks = self._said(records.TASK_CREATE, records.TASK_SWITCH, records.TASK_COMPLETE)
        key = _numbered(tasks.process, *tasks.arguments)
        created, begun, ended = (tasks.kind == kind for kind in (records.TASK_CREATE, records.TASK_SWITCH, records.TASK_COMPLETE))
        self._link(tables.TASK, _found(key[created], tasks.call[created], key[begun]), tasks.call[begun])
        cause, create = tasks.call[ended], _found(key[created], tasks.call[created], key[ended])
        waits = np.append(self._rows(_TASKWAIT), NONE)
        wait = waits[np.searchsorted(waits[:-1], create)]
        good = (create != NONE) & (wait != NONE) & (wait != cause) & (self._location[wait] == self._location[create])
        good &= self._enter[cause] <= self._leave[wait]
        self._link(tables.TASKWAIT, cause[good], wait[good])

    def _created(self) -> None:
        """Tie threads that are created one by one to their beginning, and their end to who waits for it."""
        threads = self._said(records.THREAD_CREATE, records.THREAD_BEGIN, records.THREAD_WAIT, records.THREAD_END)
        key = _numbered(threads.process, *threads.arguments)
        for kind, causes, effects in (
            (tables.FORK, records.THREAD_CREATE, records.THREAD_BEGIN),
            (tables.JOIN, records.THREAD_END, records.THREAD_WAIT),
        ):
            cause, effect = threads.kind == causes, threads.kind == effects
            self._link(kind, _found(key[cause], threads.call[cause], key[effect]), threads.call[effect])

    def _barriers(self) -> tuple[I8, I8]:
        """Return the barriers of teams and a number of each: the first of all threads of a team are one, the second, ..."""
        call = np.flatnonzero(np.logical_or.reduce([self._op == op for op in _BARRIERS]))
        began = self._began[call]
        team, turn = self._instance[began], running_of(began, len(self._op))
        known = team != NONE
        order = np.lexsort((call[known], turn[known], team[known]))
        call, team, turn = (column[known][order] for column in (call, team, turn))
        first = np.flatnonzero(np.diff(team, prepend=NONE).astype(bool) | np.diff(turn, prepend=NONE).astype(bool))
        size = np.diff(np.append(first, len(call)))
        if not len(first):
            self._untied += len(began)
            return call, team
        good = np.maximum.reduceat(self._enter[call], first) <= np.minimum.reduceat(self._leave[call], first)
        good &= np.maximum.reduceat(self._op[call], first) == np.minimum.reduceat(self._op[call], first)
        good &= (size > 1) | (self._team[team[first]] != NONE)
        call, size = call[np.repeat(good, size)], size[good]
        self._untied += len(began) - len(call)
        return call, np.repeat(np.arange(len(size)), size)


def _numbered(*columns: Ints) -> I4:
    """Return a number per row, the same for rows that agree in all columns; numbers are not far above that of rows."""
    key, size = np.zeros(len(columns[0]), "i8"), 1
    for column in columns:
        low, high = int(column.min(initial=0)), int(column.max(initial=0))
        size *= high - low + 1
        if size >= 1 << 62:
            numbers = Numbers()
            key, size = numbers.number(key, column).astype("i8"), numbers.count
        else:
            key *= high - low + 1
            key += column
            key -= low
    return key.astype("i4") if size <= _SPARSE * len(key) else Numbers().number(np.broadcast_to(np.int64(0), len(key)), key)


def _found(key: I4, row: I8, asked: I4) -> I8:
    """Return the row with each key that is asked for, -1 where there is none, or more than one.

    key   3 1 2 2   row  10 11 12 13   asked  1 2 5 3
    out                                      11 -1 -1 10
    """
    out = np.full(int(max(key.max(initial=NONE), asked.max(initial=NONE))) + 1, NONE, "i8")
    out[key] = row
    out[np.bincount(key, minlength=len(out)) > 1] = NONE
    return out[asked]


def _before(key: Ints, time: I8, asked: Ints, until: I8) -> tuple[I8, I8]:
    """Return rows in order of (key, time), and how many of them come up to each (key, time) that is asked for.

    key  1 0 1   time  5 7 9   asked  1 1   until  4 5
    out  1 0 2                        1 2
    """
    order = np.lexsort((np.repeat([0, 1], (len(key), len(asked))), np.concatenate([time, until]), np.concatenate([key, asked])))
    rows = order < len(key)
    count = np.empty(len(order), "i8")
    count[order] = np.cumsum(rows)
    return order[rows], count[len(key) :]


def _latest(key: I8, time: I8, row: I8, asked: I8, until: I8) -> I8:
    """Return the last row of a key up to a time, -1 where there is none."""
    order, count = _before(key, time, asked, until)
    last = order[count - 1] if len(order) else count - 1
    good = (count > 0) & (asked != NONE)
    good[good] = key[last[good]] == asked[good]
    out = np.full(len(asked), NONE, "i8")
    out[good] = row[last[good]]
    return out


def endings(location: I4, op: U2, enter: I8, leave: I8, process: I4, links: Links) -> Links:
    """Return links to the calls in which threads and streams that others tie idle until their process ends, as nothing else begins.

    Each is from the last call of the first thread of its process entered before that. Columns of calls; `process` is per location, its
    first thread before its other locations.
    """
    first = np.searchsorted(location, np.arange(len(process) + 1))
    last = first[1:][np.diff(first) > 0] - 1
    last = last[np.isin(op[last], _IDLES)]
    tied, begun = np.zeros(len(process), bool), np.isin(links.kind, tables.STARTS)
    for side in (links.cause, links.effect):
        tied[location[side]] = True
    last = last[tied[location[last]] & ~np.isin(last, links.effect[begun])]
    master = np.searchsorted(process, process[location[last]])
    cause = _first_behind(enter, first[master], first[master + 1], leave[last]) - 1
    good = (cause >= first[master]) & (cause != last)
    cause, effect = cause[good].astype("i4"), last[good].astype("i4")
    return Links(np.full(len(cause), tables.END, "u1"), cause, effect)


def _first_behind(times: I8, begin: I8, end: I8, until: I8) -> I8:
    """Return the first row of each slice whose time is behind one, the end of the slice if there is none; times rise in each slice.

    times  1 3 5 2 4   begin  0 3 3   end  3 5 5   until  3 9 0
    out                                                   2 5 3
    """
    begin, end = begin.copy(), end.copy()
    while len(open_ := np.flatnonzero(begin < end)):
        middle = (begin[open_] + end[open_]) // 2
        behind = times[middle] > until[open_]
        end[open_[behind]] = middle[behind]
        begin[open_[~behind]] = middle[~behind] + 1
    return begin


def columns(parts: Iterable[Links]) -> tuple[U1, I4, I4]:
    """Return kind, cause and effect of the links of several tables."""
    empty = Links.empty()
    kind, cause, effect = (np.concatenate([getattr(part, name) for part in (empty, *parts)]) for name, *_ in Links.schema())
    return kind, cause, effect
