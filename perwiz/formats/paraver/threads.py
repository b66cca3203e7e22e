"""What threads of a Paraver trace did to each other: teams, their barriers and their locks, as far as their times tell.

A team lasts from a fork to the join that closes it. Its threads are those of the process that stop being idle in between. A team that
another thread than the first opens lies in one of that: while it is the only one, who begins is of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.trace import operations, tables
from perwiz.trace.arrays import I8, Ints, Mask
from perwiz.trace.matching import handed_over
from perwiz.trace.numbers import Numbers, running
from perwiz.trace.tables import NONE, Links, Locations

_FORK, _JOIN, _IDLE = (operations.OP[f"omp_{name}"] for name in ("fork", "join", "idle"))
_BARRIER, _IMPLICIT = operations.OP["omp_barrier"], operations.OP["omp_implicit_barrier"]


class Threads:
    """The links of threads, and the barriers of teams: calls, and a number that those of one barrier share."""

    def __init__(self, column: Mapping[str, NDArray[Any]], first: I8, locations: Locations, address: I8, teams: Mask) -> None:
        """`address` is that of the lock of each call, `teams` are the locations where Extrae told only which function a team runs.

        Times and tags in `column` are overwritten: the threads of those leave the barrier of a team when it is closed.
        """
        self.links, self.barriers, self.untied = Links.empty(), (np.empty(0, "i4"), np.empty(0, "i8")), 0
        """`untied`: waits of threads while several teams were open inside others, of which nothing tells whose they are, and at barriers
        that one leaves before another has come."""
        if operations.OF_PROCESSES[column["op"]].all():
            return
        self._column, self._first, self._links = column, first, list[tuple[int, Ints, Ints]]()
        self._process = locations.process[column["location"]]
        self._main = locations.thread[column["location"]] == 0
        self._several = np.zeros(len(column["op"]), bool)
        self._find_teams()
        self._end_teams(teams)
        self._tie_teams()
        self.untied = int(np.count_nonzero(self._several)) + self._contradicting
        self._tie_locks(address)
        kind = np.concatenate([np.full(len(cause), kind, "u1") for kind, cause, _ in self._links])
        cause, effect = (np.concatenate([link[k] for link in self._links]).astype("i4") for k in (1, 2))
        self.links = Links.in_order(kind, cause, effect)

    def _find_teams(self) -> None:
        """Find the forks and the join behind each: those of first threads, then those of others, which open teams inside teams."""
        op = self._column["op"]
        fork, join = (np.flatnonzero(op == one) for one in (_FORK, _JOIN))
        following = np.searchsorted(join, fork)
        closed = following < len(join)
        fork, join = fork[closed], join[following[closed]]
        location, next_fork = self._column["location"], np.append(fork[1:], len(op))
        good = (location[fork] == location[join]) & (join < next_fork)
        fork, join = fork[good], join[good]
        self._latest = int(self._column["leave"].max(initial=0)) + 1
        order = np.lexsort((self._column["enter"][fork], self._process[fork], ~self._main[fork]))
        self._fork, self._join = fork[order], join[order]
        self._outer = int(np.count_nonzero(self._main[fork]))
        self._opened, self._closed = self._key(self._fork, self._column["enter"]), self._key(self._join, self._column["leave"])

    def _key(self, call: I8, times: I8) -> I8:
        """Return numbers that are in the order of processes and times of calls."""
        return self._process[call].astype("i8") * self._latest + times[call]

    def _team(self, call: I8, time: I8) -> I8:
        """Return the team of its process in which each call is at a time, -1 none: the only one that is open inside another, if there is
        one; none if several are, which are counted.
        """
        team = np.searchsorted(self._opened[: self._outer], self._process[call].astype("i8") * self._latest + time, "right") - 1
        inside = team >= 0
        inside[inside] = self._process[call[inside]] == self._process[self._fork[team[inside]]]
        inside[inside] = time[inside] <= self._column["leave"][self._join[team[inside]]]
        inner, several = self._inner(self._process[call].astype("i8") * self._latest + time)
        self._several[call[several]] = True
        return np.where(several, NONE, np.where(inner >= 0, inner, np.where(inside, team, NONE)))

    def _inner(self, key: I8) -> tuple[I8, Mask]:
        """Return the only team inside another that is open at each time, or -1, and where several are.

        Of those opened and not yet closed the numbers add up to that of the only one.
        """
        opened, closed = self._opened[self._outer :], self._closed[self._outer :]
        ended = np.argsort(closed, kind="stable")
        begun, gone = np.searchsorted(opened, key, "right"), np.searchsorted(closed[ended], key, "left")
        sums = (np.concatenate([[0], np.cumsum(numbers)]) for numbers in (np.arange(len(opened)), ended))
        team = np.subtract(*(sum_[count] for sum_, count in zip(sums, (begun, gone), strict=True)))
        return np.where(begun - gone == 1, self._outer + team, NONE), begun - gone > 1

    def _end_teams(self, teams: Mask) -> None:
        """Let the threads of teams be idle from the join on: Extrae tells when they come to the barrier, not when they leave it."""
        get, op = self._column, self._column["op"]
        wait = np.flatnonzero((op[:-1] == _IMPLICIT) & (op[1:] == _IDLE) & (get["location"][1:] == get["location"][:-1]))
        wait = wait[teams[get["location"][wait]]]
        team = self._team(wait, get["enter"][wait])
        wait, team = wait[team >= 0], team[team >= 0]
        until = np.minimum(np.maximum(get["enter"][self._join[team]], get["enter"][wait]), get["leave"][wait + 1])
        get["leave"][wait] = get["enter"][wait + 1] = until

    def _tie_teams(self) -> None:
        get, op = self._column, self._column["op"]
        idle = np.flatnonzero(op == _IDLE)
        begun, ended = self._team(idle, get["leave"][idle]), self._team(idle, get["enter"][idle])
        begun[idle + 1 == self._first[get["location"][idle] + 1]] = NONE
        ended[idle == self._first[get["location"][idle]]] = NONE
        self._links.append((tables.FORK, self._fork[begun[begun >= 0]], idle[begun >= 0]))
        self._links.append((tables.JOIN, idle[ended >= 0], self._join[ended[ended >= 0]]))
        barrier = np.flatnonzero((op == _BARRIER) | (op == _IMPLICIT))
        team = self._team(barrier, get["enter"][barrier])
        barrier, team = barrier[team >= 0], team[team >= 0]
        number = Numbers().number(team, running(get["location"][barrier], team)).astype("i8")
        last, first = np.zeros(len(barrier), "i8"), np.full(len(barrier), self._latest)
        np.maximum.at(last, number, get["enter"][barrier])
        over = get["leave"][self._first[get["location"][barrier] + 1] - 1]  # what a thread does last lasts to its last event
        ended = get["leave"][barrier] < over
        np.minimum.at(first, number[ended], get["leave"][barrier[ended]])
        good = (last <= first)[number]
        self._contradicting = int(np.count_nonzero(~good))
        self.barriers = barrier[good].astype("i4"), number[good]

    def _tie_locks(self, address: I8) -> None:
        """Name locks by their addresses, and tie who gives one back to who has it next; a release is of the lock that was had last."""
        get, op = self._column, self._column["op"]
        asked, released = operations.TAKES_LOCK[op], operations.GIVES_LOCK[op]
        named = np.flatnonzero(asked & (address > 0))
        get["tag"][named] = Numbers().number(self._process[named], address[named])
        last = np.maximum.accumulate(np.where(asked, np.arange(len(op)), NONE))
        rows = np.flatnonzero(released & (last >= 0))
        rows = rows[get["location"][last[rows]] == get["location"][rows]]
        get["tag"][rows] = get["tag"][last[rows]]
        both = np.flatnonzero((asked | released) & (get["tag"] >= 0))
        lock = Numbers().number(self._process[both], get["tag"][both])
        cause, effect = handed_over(lock, get["location"][both], asked[both], released[both], get["enter"][both], get["leave"][both])
        cause, effect = both[cause], both[effect]
        good = (get["location"][cause] != get["location"][effect]) & (get["enter"][cause] <= get["leave"][effect])
        self._links.append((tables.LOCK, cause[good].astype("i4"), effect[good].astype("i4")))
