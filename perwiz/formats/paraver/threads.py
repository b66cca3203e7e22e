"""What threads of a Paraver trace did to each other: teams, their barriers and their locks, as far as their times tell.

A team lasts from a fork of its process to the join that closes it. Its threads are those that stop being idle in between.
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
        self.links, self.barriers = Links.empty(), (np.empty(0, "i4"), np.empty(0, "i8"))
        if operations.OF_PROCESSES[column["op"]].all():
            return
        self._column, self._first, self._links = column, first, list[tuple[int, Ints, Ints]]()
        self._process = locations.process[column["location"]]
        self._main = locations.thread[column["location"]] == 0
        self._find_teams()
        self._end_teams(teams)
        self._tie_teams()
        self._tie_locks(address)
        kind = np.concatenate([np.full(len(cause), kind, "u1") for kind, cause, _ in self._links])
        cause, effect = (np.concatenate([link[k] for link in self._links]).astype("i4") for k in (1, 2))
        self.links = Links.in_order(kind, cause, effect)

    def _find_teams(self) -> None:
        """Find the forks of first threads, and the join behind each."""
        op = self._column["op"]
        fork, join = (np.flatnonzero((op == one) & self._main) for one in (_FORK, _JOIN))
        following = np.searchsorted(join, fork)
        closed = following < len(join)
        fork, join = fork[closed], join[following[closed]]
        location, next_fork = self._column["location"], np.append(fork[1:], len(op))
        good = (location[fork] == location[join]) & (join < next_fork)
        fork, join = fork[good], join[good]
        order = np.lexsort((self._column["enter"][fork], self._process[fork]))
        self._fork, self._join = fork[order], join[order]
        keys = self._process[self._fork].astype("i8"), self._column["enter"][self._fork]
        self._latest = int(self._column["leave"].max(initial=0)) + 1
        self._key = keys[0] * self._latest + keys[1]

    def _team(self, call: I8, time: I8) -> I8:
        """Return the team of its process in which each call is at a time, -1 none."""
        team = np.searchsorted(self._key, self._process[call].astype("i8") * self._latest + time, "right") - 1
        inside = team >= 0
        inside[inside] = self._process[call[inside]] == self._process[self._fork[team[inside]]]
        inside[inside] = time[inside] <= self._column["leave"][self._join[team[inside]]]
        return np.where(inside, team, NONE)

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
        nth = running(get["location"][barrier], team)
        self.barriers = barrier.astype("i4"), Numbers().number(team, nth).astype("i8")

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
