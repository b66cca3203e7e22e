"""Matching where each process has the records of its locations alone: sends go to who receives them, members to where an instance is told.

First in, first out on a channel (sender, receiver, tag, communicator) needs all sends of it in order and all receives, and so does what a
reader repairs on the way: the process that receives has both, once it has heard of the sends. Collective calls are counted where they are
made, and told apart by that number.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.trace import matching, operations
from perwiz.trace.arrays import I4, I8, U1, Ints, Mask, narrowed
from perwiz.trace.matching_collectives import rank_in
from perwiz.trace.numbers import distinct, running
from perwiz.trace.parts.rows import ENDS
from perwiz.trace.spread.part import Tied
from perwiz.trace.spread.team import Team, gathered
from perwiz.trace.tables import NONE, Calls, Collectives, Members
from perwiz.trace.trace import Communicators

_SEND = np.dtype(
    [
        *((name, "i8") for name in ("row", "send", "send_done", "enter", "bytes", "inside")),
        *((name, "i4") for name in ("rank", "peer", "tag", "comm")),
        ("mode", "u1"),
    ]
)
_MATCHED = np.dtype(
    [
        *((name, "i8") for name in ("row", "send", "send_done", "receive", "receive_done", "bytes", "sent_after", "received_before")),
        *((name, "i4") for name in ("tag", "comm")),
        ("mode", "u1"),
    ]
)
_MEMBER = np.dtype([("key", "i8"), ("place", "i8"), ("root", "i4"), ("op", "u2")])
_TOLD = np.dtype([("size", "i8"), ("order", "i8"), ("root", "i4"), ("wrong", "u1")])
_WHOLE = 1 << 62


@dataclasses.dataclass(frozen=True, eq=False)
class Places:
    """Who has which locations and calls."""

    team: Team
    process: I4
    """Rank of each location in MPI_COMM_WORLD."""
    bounds: I8
    """First location of each process of the team, and the end of the last."""
    first: I8
    """First call of each location, in the whole trace, and the end of the last."""

    @property
    def begin(self) -> int:
        """The number of its first call."""
        return int(self.first[self.bounds[self.team.rank]])

    @property
    def end(self) -> int:
        """The number behind its last call."""
        return int(self.first[self.bounds[self.team.rank + 1]])

    def has(self, number: Ints) -> Mask:
        """Return which of some calls it has itself."""
        return np.asarray((number >= self.begin) & (number < self.end))

    def of_rank(self, rank: Ints) -> I4:
        """Return which process of the team has a process of the program, -1 nobody."""
        nobody = int(self.process.max(initial=NONE)) + 1
        holder = np.full(nobody + 1, NONE, "i4")
        location = np.arange(len(self.process))[::-1]  # of several the first counts
        holder[self.process[location]] = np.searchsorted(self.bounds, location, "right") - 1
        return holder[np.where((rank < 0) | (rank > nobody), nobody, rank)]

    def of_call(self, number: I8) -> I8:
        """Return which process of the team has each of some calls."""
        return np.searchsorted(self.bounds, np.searchsorted(self.first, number, "right") - 1, "right") - 1


def matched_messages(
    places: Places,
    sends: matching.Ends,
    receives: matching.Ends,
    mode: U1,
    enter: I8,
    tell: Callable[[matching.Ends, matching.Ends], None],
    equal: bool,
    several: bool,
) -> tuple[Tied, int]:
    """Return the messages with an end here, and how many of those received here have ends of different size.

    As `perwiz.trace.matching.messages`, which see, ends being rows of calls of this process, entered at `enter`; with `several` threads of
    a process their times count. `tell` may write into the receives here what their records do not tell, given all sends to them.
    """
    begin = places.begin
    at = _Sends(places, sends, mode, enter)
    theirs: dict[str, Any] = {name: at.column(name) for name in ("rank", "peer", "tag", "comm", "bytes", "inside")}
    there = matching.Ends(call=at.calls(), done=np.arange(at.count, dtype="i4"), **theirs)
    tell(there, receives)
    posted, done = (receives.call + at.low).astype("i4"), np.arange(len(receives.call), dtype="i4")
    here = dataclasses.replace(receives, call=posted, done=done)
    table, differs = matching.messages(there, here, at.column("mode"), equal, at.entered(enter) if several else None)
    del there, here, theirs, posted, done
    sent, received = table.send_done, table.receive_done
    found = {name: at.column(name)[sent] for name in ("row", "send", "send_done")}
    found |= {"receive": receives.call[received] + np.int64(begin), "receive_done": receives.done[received] + np.int64(begin)}
    found |= {name: getattr(table, name) for name in _OTHERS}
    del at, table, sent, received
    every = _told_senders(places, found)
    return Tied({name: every[name] for name in ENDS}, {name: every[name] for name in _OTHERS}, every["row"]), differs


_NUMBERS = (*ENDS, "row")
"""Columns of messages that number calls and messages of the whole trace."""
_OTHERS = ("tag", "comm", "mode", "bytes", "sent_after", "received_before")


class _Sends:
    """The sends to ranks of this process, in the order of the whole trace: those of others tell theirs."""

    def __init__(self, places: Places, sends: matching.Ends, mode: U1, enter: I8) -> None:
        team = places.team
        self._before = sum(int(count[0]) for count in gathered(team, np.array([len(sends.call)]))[: team.rank])
        self._begin, self._sends, self._mode, self._enter = places.begin, sends, mode, enter
        to = places.of_rank(sends.peer)
        self._own = np.flatnonzero(to == team.rank)
        nobody = np.zeros(0, "i8")
        self._came = team.exchange([self._told(np.flatnonzero(to == peer) if peer != team.rank else nobody) for peer in range(team.size)])
        self._rank = team.rank
        self.count = len(self._own) + sum(map(len, self._came))
        self._others = distinct(np.concatenate([each["send"] for each in self._came]))
        self.low = int(np.searchsorted(self._others, self._begin))
        """How many calls of others that send hither come before its own calls."""

    def _told(self, rows: I8) -> NDArray[Any]:
        out = np.empty(len(rows), _SEND)
        for name in _SEND.names or ():
            out[name] = self._of(name, rows)
        return out

    def _of(self, name: str, rows: I8) -> NDArray[Any]:
        """Return a column of some sends of this process."""
        sends = self._sends
        if name == "row":
            return self._before + rows
        if name == "mode":
            return self._mode[rows]
        if name == "enter":
            return self._enter[sends.call[rows]]
        if name == "inside" and sends.inside is None:
            return np.zeros(len(rows), "i8")
        if name == "send":
            return sends.call[rows] + np.int64(self._begin)
        if name == "send_done":
            done = sends.done[rows]
            return np.where(done == NONE, NONE, done + np.int64(self._begin))
        values: NDArray[Any] = getattr(sends, name)[rows]
        return values

    def column(self, name: str) -> NDArray[Any]:
        """Return a column."""
        own = self._of(name, self._own).astype(_SEND[name], copy=False)
        return self._in_order([each[name] for each in self._came], own)

    def _in_order(self, came: list[NDArray[Any]], own: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([*came[: self._rank], own, *came[self._rank + 1 :]])

    def calls(self) -> I4:
        """Return the row of each call that sends among its own calls and those of others that send hither, in their order."""
        came = [np.searchsorted(self._others, each["send"]).astype("i4") for each in self._came]
        came[self._rank + 1 :] = [each + np.int32(len(self._enter)) for each in came[self._rank + 1 :]]
        return self._in_order(came, (self._sends.call[self._own] + self.low).astype("i4"))

    def entered(self, enter: I8) -> I8:
        """Return when each of these calls was entered, given when its own were."""
        times = np.empty(len(self._others), "i8")
        for each in self._came:
            times[np.searchsorted(self._others, each["send"])] = each["enter"]
        return np.concatenate([times[: self.low], enter, times[self.low :]])


def _told_senders(places: Places, found: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the messages received here, by column, and those sent from here that others have received, in the order of rows.

    Empties `found`, the messages received here.
    """
    team = places.team
    away = np.flatnonzero(~places.has(found["send"]))
    sender = places.of_call(found["send"][away])
    told = []
    for peer in range(team.size):
        rows = away[sender == peer]
        out = np.empty(len(rows), _MATCHED)
        for name in _MATCHED.names or ():
            out[name] = found[name][rows]
        told.append(out)
    came = np.concatenate(team.exchange(told))
    del told
    order = np.argsort(np.concatenate([found["row"], came["row"]]), kind="stable") if len(came) else slice(None)
    every = ((name, np.concatenate([found.pop(name), came[name]])[order]) for name in [*found])
    return {name: narrowed(column) if name in _NUMBERS else column for name, column in every}


@dataclasses.dataclass(frozen=True, eq=False)
class Instances:
    """The collectives that calls of this process are members of; and what could not be matched, of all processes."""

    collectives: Collectives
    members: Members
    rows: I8
    """Numbers of the instances in the whole trace: only their order says anything."""
    sizes: I8
    places: I8
    """Of each member among those of its instance."""
    unmatched: int
    incomplete: int
    rootless: int


def matched_collectives(places: Places, calls: Calls, done: I4, comms: Communicators, enter: I8) -> Instances:
    """Return the collectives of calls of this process, as `perwiz.trace.matching_collectives.collectives` does if all are counted."""
    team, rank_of = places.team, places.process
    call = np.flatnonzero(operations.COLLECTIVE[calls.op] & (calls.comm >= 0)).astype("i4")
    if len(np.unique(rank_of)) < len(rank_of):
        call = call[np.lexsort((enter[call], rank_of[calls.location[call]]))]
    rank, comm = rank_of[calls.location[call]], calls.comm[call]
    place, step = rank_in(comms, comm, rank).astype("i8"), running(rank, comm).astype("i8")
    call, comm, place, step = (column[place >= 0] for column in (call, comm, place, step))
    most = np.zeros(len(comms), "i8")
    np.maximum.at(most, comm, step + 1)
    most = team.reduce(most, "max")
    key = (np.cumsum(most) - most)[comm] + step
    told = _told(team, key, place, calls.root[call], calls.op[call])
    spoiled = np.full(len(comms), _WHOLE)
    np.minimum.at(spoiled, comm[told["wrong"] > 0], step[told["wrong"] > 0])
    good = np.flatnonzero(step < team.reduce(spoiled, "min")[comm])
    good = good[np.lexsort((told["order"][good], key[good]))]
    call, comm, told = call[good], comm[good], told[good]
    rows, first, of = np.unique(key[good], return_index=True, return_inverse=True)
    op, size = calls.op[call[first]], told["size"][first]
    rooted = np.isin(operations.KIND[op], (operations.ONE_TO_N, operations.N_TO_ONE))
    root = np.where(rooted, told["root"][first], NONE).astype("i4")
    leads = told["order"][first] == 0
    lacks = [leads & (size != comms.sizes()[comm[first]]), leads & rooted & (root < 0)]
    all_ = np.count_nonzero((operations.COLLECTIVE & operations.OF_PROCESSES)[calls.op]) - len(call)
    unmatched, incomplete, rootless = team.reduce(np.array([all_, *(each.sum() for each in lacks)], "i8"), "sum").tolist()
    return Instances(
        Collectives(op, comm[first], root, first.astype("i4")),
        Members(of.ravel().astype("i4"), call, done[call]),
        rows,
        np.ascontiguousarray(size),
        np.ascontiguousarray(told["order"]),
        unmatched,
        incomplete,
        rootless,
    )


def _told(team: Team, key: I8, place: I8, root: I4, op: NDArray[np.uint16]) -> NDArray[Any]:
    """Return what the members of all processes tell of the instance of each of these, and the order of each in it."""
    member = np.empty(len(key), _MEMBER)
    member["key"], member["place"], member["root"], member["op"] = key, place, root, op
    sent = [np.flatnonzero(key % team.size == peer) for peer in range(team.size)]
    came = team.exchange([member[rows] for rows in sent])
    every = np.concatenate(came)
    order = np.lexsort((every["place"], every["key"]))
    every = every[order]
    answer = np.empty(len(every), _TOLD)
    if len(every):
        first = np.flatnonzero(np.diff(every["key"], prepend=every["key"][0] - 1))
        size = np.diff(np.append(first, len(every)))
        instance = np.repeat(np.arange(len(first)), size)
        told = np.empty(len(every), _TOLD)
        told["size"], told["order"] = size[instance], np.arange(len(every)) - first[instance]
        told["root"] = np.maximum.reduceat(every["root"], first)[instance]
        told["wrong"] = np.logical_or.reduceat(every["op"] != every["op"][first][instance], first)[instance]
        answer[order] = told
    back = team.exchange(np.split(answer, np.cumsum([len(each) for each in came])[:-1]))
    out = np.empty(len(key), _TOLD)
    for rows, each in zip(sent, back, strict=True):
        out[rows] = each
    return out


def paths_alike(team: Team, parent: I4, region: I4) -> tuple[I4, I4, I4]:
    """Return which number each path has among those of all processes, in the order of these, and parent and region of all paths.

    Of processes with paths 7, 7/8 and 8, 7: the first has 0 1, the second 2 0, and all are 7, 7/8, 8.
    """
    known: dict[tuple[int, int], int] = {}
    numbers: list[list[int]] = []
    for above, names in zip(gathered(team, parent), gathered(team, region), strict=True):
        number: list[int] = []
        for path, name in zip(above.tolist(), names.tolist(), strict=True):
            number.append(known.setdefault((number[path] if path >= 0 else NONE, name), len(known)))
        numbers.append(number)
    every = np.array(list(known), "i4").reshape(-1, 2)
    return np.array(numbers[team.rank], "i4"), np.ascontiguousarray(every[:, 0]), np.ascontiguousarray(every[:, 1])
