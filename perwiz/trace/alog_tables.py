"""From a recording of ALOG to the tables of a trace: rows in program order, attributes put in their columns, partners matched."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from perwiz.trace import alog_rows as row
from perwiz.trace import defects, match, ops
from perwiz.trace.alog_headers import ranks
from perwiz.trace.alog_read import NOTE_COLUMNS, Recording
from perwiz.trace.numbers import Numbers, paths
from perwiz.trace.tables import (
    ANY,
    BUFFERED,
    NONE,
    READY,
    STANDARD,
    SYNCHRONOUS,
    Calls,
    Communicators,
    Counts,
    Defects,
    Labels,
    Locations,
    Offsets,
    Paths,
    Regions,
    Requests,
    Timeline,
    Times,
    Trace,
)

Ints = NDArray[np.int64]
_MODES = {ord("s"): STANDARD, ord("r"): READY, ord("b"): BUFFERED, ord("y"): SYNCHRONOUS}
_IMPLIED = np.full(len(ops.OPS), STANDARD, "u1")
for _names, _mode in (("Bsend Ibsend", BUFFERED), ("Rsend Irsend", READY), ("Ssend Issend", SYNCHRONOUS)):
    for _name in _names.split():
        _IMPLIED[ops.OP["MPI_" + _name]] = _mode


class Notes:
    """The attributes of all records, by the thing they describe and their key."""

    def __init__(self, recording: Recording, call_row: dict[str, Ints]) -> None:
        columns = {name: np.asarray(recording.notes.take(name)) for name in NOTE_COLUMNS}
        self._owner, self._key, self.value = columns["owner"], columns["key"], columns["value"]
        self._row = columns["row"].astype("i8")
        on_call = (self._owner == row.CALL_BEGIN) | (self._owner == row.CALL_END)
        first, place = call_row["first"], call_row["place"]
        self._row[on_call] += first[place[columns["location"][on_call]]]

    def of(self, owner: int, key: str) -> tuple[Ints, Ints]:
        """Return (row, value) of every attribute `key` on calls (begin or end), messages or regions."""
        code = 0
        for letter in key:
            code = code * 256 + ord(letter)
        at = np.flatnonzero((self._owner == owner) & (self._key == code))
        return self._row[at], self.value[at]

    def put(self, owner: int, key: str, column: NDArray[np.generic]) -> None:
        """Write the values of `key` into a column."""
        rows, values = self.of(owner, key)
        column[rows] = values


class Builder:
    """Builds the trace step by step; each step uses what the ones before it made."""

    def __init__(self, recording: Recording, path: str) -> None:
        self.recording, self.path = recording, path
        self.bad: list[tuple[int, int]] = list(recording.defects)
        pairs = recording.locations
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        self.place = np.argsort(order)
        """Row of locations per location in order of first occurrence."""
        self.process, self.thread = pairs[order, 0], pairs[order, 1]
        used = recording.places[: len(pairs)][order]
        self.start = int(used[:, row.FIRST].min())
        self.instants = Times(used[:, row.FIRST] - self.start, used[:, row.CLOCK] - self.start)

    def trace(self) -> Trace:
        """Return the trace."""
        self._calls()
        self._regions()
        self._communicators()
        self._apply_notes()
        self._requests()
        self._messages()
        self._collectives()
        return self._assemble()

    def _calls(self) -> None:
        take = self.recording.calls.take
        location = self.place[take("location")]
        order = np.argsort(location.astype("u2") if len(self.process) < 1 << 16 else location, kind="stable")
        self.location = location[order].astype("i4")
        del location
        self.first = np.searchsorted(self.location, np.arange(len(self.process) + 1))
        self.column = {name: take(name)[order] for name in ("leave", "enter", "op", "region", "peer", "tag", "sent", "received", "internal")}
        for name in ("enter", "leave"):
            self.column[name] -= self.start
        self.notes = Notes(self.recording, {"first": self.first, "place": self.place})

    def _regions(self) -> None:
        column = {name: self.recording.regions.take(name) for name in row.REGION_COLUMNS}
        column["location"] = self.place[column["location"]].astype("i4")
        order = np.lexsort((column["number"], column["location"]))
        new = np.empty(len(order) + 1, "i4")
        new[column["number"][order]] = np.arange(len(order))
        new[-1] = NONE
        column = {name: values[order] for name, values in column.items()}
        parent = new[column["parent"]]
        self.names, name = self._used_names(column["name"])
        path, path_parent, path_name = paths(parent, name)
        self.paths = Paths(path_parent, path_name)
        self.column["path"] = np.append(path, np.int32(NONE))[new[self.column.pop("region")]]
        location = column["location"]
        first, end = (column[key] + self.first[location] for key in ("first_call", "end_call"))
        self.region_times = self._clip(column["enter"] - self.start, column["leave"] - self.start, first, end, location)
        self.region_row = new
        self.region = Regions(
            *(location, path, parent, self._instances(location, name), first.astype("i4"), np.minimum(end, len(self.location)).astype("i4"))
        )

    def _used_names(self, name: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        used = np.unique(name)
        return used, np.searchsorted(used, name).astype("i4")

    def _instances(self, location: NDArray[np.int32], name: NDArray[np.int32]) -> NDArray[np.int32]:
        number = match._count(location, name).astype("i4") + np.int32(1)
        return number

    def _clip(self, enter: Ints, leave: Ints, first: Ints, end: Ints, location: NDArray[np.int32]) -> Times:
        """A region boundary inside a call moves to the call's return."""
        returned = np.append(self.column["leave"], 0)
        for times, call in ((enter, first), (leave, end)):
            has = call > self.first[location]
            times[has] = np.maximum(times[has], returned[call[has] - 1])
        return Times(enter, leave)

    def _communicators(self) -> None:
        listed = {}
        for number, (name, parts) in sorted(self.recording.headers.communicators.items()):
            try:
                listed[number] = name, ranks(parts)
            except ValueError:
                self.bad.append((-1, defects.BAD_HEADER))
        listed.setdefault(0, ("world", np.unique(self.process).astype("i4")))
        self.comm_ids = np.array(sorted(listed, key=lambda number: (number != 0, number)), "i8")
        members = [listed[number][1] for number in self.comm_ids]
        names = tuple(listed[number][0] for number in self.comm_ids)
        self.comms = Communicators(names, np.cumsum([0, *map(len, members)]), np.concatenate(members))

    def _comm_rows(self, ids: Ints) -> Ints:
        order = np.argsort(self.comm_ids)
        at = np.minimum(np.searchsorted(self.comm_ids[order], ids), len(order) - 1)
        return np.where(self.comm_ids[order][at] == ids, order[at], NONE)

    def _world_rank(self, comm: Ints, rank: Ints) -> Ints:
        """Translate ranks in a communicator; negative or unknown ones stay what they are, or become -1."""
        inside = (rank >= 0) & (comm >= 0)
        inside[inside] = rank[inside] < self.comms.sizes()[comm[inside]]
        out = np.where(rank < 0, rank, NONE)
        out[inside] = self.comms.ranks[self.comms.first[comm[inside]] + rank[inside]]
        return out

    def _apply_notes(self) -> None:
        kind = ops.KIND[self.column["op"]]
        self.column["comm"] = np.where(((kind >= ops.SEND) & (kind <= ops.SENDRECV)) | (kind >= ops.N_TO_N), 0, NONE).astype("i4")
        rows, ids = self.notes.of(row.CALL_BEGIN, "c")
        self.column["comm"][rows] = self._comm_rows(ids)
        comm = self.column["comm"]
        self.column["root"] = np.full(len(kind), NONE, "i4")
        rows, rank = self.notes.of(row.CALL_BEGIN, "r")
        self.column["root"][rows] = self._world_rank(comm[rows], rank)
        rows, rank = self.notes.of(row.CALL_BEGIN, "p")
        self.column["peer"][rows] = self._world_rank(comm[rows], rank)
        rows, tag = self.notes.of(row.CALL_BEGIN, "t")
        self.column["tag"][rows] = np.where(tag == -1, ANY, tag)
        self.notes.put(row.CALL_BEGIN, "sb", self.column["sent"])
        self.notes.put(row.CALL_BEGIN, "rb", self.column["received"])
        rows, number = self.notes.of(row.REGION_BEGIN, "i")
        self.region_instance = self.region.instance.copy()
        self.region_instance[self.region_row[rows]] = number
        self.sequence = np.full(len(kind), NONE, "i8")
        self.notes.put(row.CALL_BEGIN, "s", self.sequence)

    def _requests(self) -> None:
        posted, posted_id = self.notes.of(row.CALL_BEGIN, "q")
        completed, completed_id = self.notes.of(row.CALL_END, "q")
        at = self.location
        self.requests = match.requests(
            *(posted, at[posted].astype("i8"), posted_id, completed, at[completed].astype("i8"), completed_id)
        )
        order = np.argsort(posted, kind="stable")
        self.request_id = posted_id[order]

    def _ends(self, kind: int, wanted: NDArray[np.bool_], column: dict[str, NDArray[np.generic]]) -> tuple[match.Ends, Ints]:
        """Return one side of the messages, and the rows of the message records it was made of."""
        at = np.flatnonzero(wanted)
        take = {name: values[at].astype("i8") for name, values in column.items()}
        ends = match.Ends(
            *(take["call"], take["call"].copy(), self.process[self.location[take["call"]]], take["peer"], take["tag"]),
            *(take["comm"], take["size"], take["id"]),
        )
        self._follow_requests(kind, ends, take["request"])
        return ends, at

    def _follow_requests(self, kind: int, ends: match.Ends, request: Ints) -> None:
        """A send with a request is completed elsewhere; so, seen from its completion, was a receive posted elsewhere."""
        table = self.requests
        sends = kind == -101
        known = Numbers()
        known.of((table.posted_by if sends else table.completed_by).astype("i8"), self.request_id)
        total = known.count
        unique = np.full(total + 1, NONE, "i8")
        if len(table):
            unique[known.of((table.posted_by if sends else table.completed_by).astype("i8"), self.request_id)] = np.arange(len(table))
        number = known.of(ends.call, request)
        found = (request != NONE) & (number < total)
        r = unique[number[found]]
        if sends:
            posts = ops.NONBLOCKING[self.column["op"][ends.call]]
            ends.done[posts] = NONE
            ends.done[found] = table.completed_by[r]
        else:
            ends.call[found] = table.posted_by[r]

    def _messages(self) -> None:
        column: dict[str, NDArray[np.generic]] = {name: self.recording.messages.take(name) for name in row.MESSAGE_COLUMNS}
        place = self.place[column.pop("location")]
        column["call"] = self.first[place] + column["call"]
        count = len(place)
        column["comm"], column["id"], column["request"] = np.zeros(count, "i8"), np.full(count, NONE, "i8"), np.full(count, NONE, "i8")
        rows, ids = self.notes.of(row.MESSAGE, "c")
        column["comm"][rows] = self._comm_rows(ids)
        self.notes.put(row.MESSAGE, "m", column["id"])
        self.notes.put(row.MESSAGE, "q", column["request"])
        self.notes.put(row.MESSAGE, "b", column["size"])
        mode = _IMPLIED[self.column["op"][column["call"]]].copy()
        rows, letter = self.notes.of(row.MESSAGE, "k")
        mode[rows] = [_MODES.get(int(k), STANDARD) for k in self._letters(letter)]
        kind = column.pop("type")
        sends, at = self._ends(-101, kind == -101, column)
        receives, _ = self._ends(-102, kind == -102, column)
        self.messages, self.size_differs = match.messages(sends, receives, mode[at])
        self.sides = len(sends.call), len(receives.call)

    def _letters(self, hashed: Ints) -> Ints:
        """Return the letter behind each hashed one-letter value."""
        return (-2305843009213693952 - hashed) - 1

    def _collectives(self) -> None:
        calls = self._call_table()
        done = np.arange(len(calls), dtype="i4")
        done[ops.NONBLOCKING[calls.op]] = NONE
        done[self.requests.posted_by] = self.requests.completed_by
        found = match.collectives(calls, done, self.process, self.sequence, self.column["internal"], self.comms)
        self.instances = found
        self.column["root"][found.members.call] = found.collectives.root[found.members.collective]
        self.calls = self._call_table()

    def _call_table(self) -> Calls:
        get = self.column
        return Calls(
            *(self.location, get["op"], get["path"], get["peer"], get["tag"], get["comm"], get["root"].copy(), get["sent"], get["received"])
        )

    def _locations(self) -> tuple[Locations, tuple[str, ...]]:
        count = len(self.process)
        table = {"metahost": np.zeros(count, "i4"), "node": np.full(count, NONE, "i4"), "cpu": np.full(count, NONE, "i4")}
        hosts: dict[int, str] = {}
        where = {(int(p), int(t)): k for k, (p, t) in enumerate(zip(self.process, self.thread, strict=True))}
        for process, thread, node, pairs in self.recording.headers.placement:
            at = where.get((process, thread))
            if at is None:
                continue
            hosts.setdefault(node, pairs.get("host", str(node)))
            table["node"][at] = sorted(hosts).index(node) if node >= 0 else NONE
            table["cpu"][at] = _small(pairs.get("cpu"), NONE)
            table["metahost"][at] = _small(pairs.get("metahost"), 0)
        process, thread = self.process.astype("i4"), self.thread.astype("i4")
        return Locations(table["metahost"], table["node"], process, thread, table["cpu"]), tuple(hosts[k] for k in sorted(hosts) if k >= 0)

    def _offsets(self) -> Offsets:
        where = {(int(p), int(t)): k for k, (p, t) in enumerate(zip(self.process, self.thread, strict=True))}
        rows = []
        for process, thread, time, pairs in self.recording.headers.offsets:
            if (process, thread) in where:
                try:
                    rows.append((where[process, thread], time, *(float(pairs.get(key, 0)) for key in ("off", "drift", "err"))))
                except ValueError:
                    self.bad.append((-1, defects.BAD_HEADER))
        columns = list(zip(*rows, strict=True)) or [()] * 5
        return Offsets(*(np.array(values, dtype) for values, dtype in zip(columns, ("i4", "i8", "f8", "f8", "f8"), strict=True)))

    def _counts(self) -> Counts:
        counts = self.recording.places[-1]
        declared = self.recording.headers.processes
        return Counts(
            records=self.recording.records,
            states=int(counts[row.STATES]) - sum(reason == defects.NEVER_ENDS for _, reason in self.bad),
            single_events=int(counts[row.SINGLES]),
            sends=self.sides[0],
            receives=self.sides[1],
            internal_messages=int(counts[row.INTERNAL_MESSAGES]),
            internal_calls=int(counts[row.INTERNAL_CALLS]),
            to_nobody=int(counts[row.TO_NOBODY]),
            unmatched_sends=self.sides[0] - len(self.messages),
            unmatched_receives=self.sides[1] - len(self.messages),
            size_differs=self.size_differs,
            incomplete_collectives=self.instances.incomplete,
            unmatched_collectives=self.instances.unmatched,
            rootless_collectives=self.instances.rootless,
            silent_processes=max(declared - len(np.unique(self.process)), 0),
        )

    def _assemble(self) -> Trace:
        rows, text = self.notes.of(row.CALL_BEGIN, "o")
        times = Times(self.column["enter"], self.column["leave"])
        states = self.recording.states
        locations, nodes = self._locations()
        offsets = self._offsets()
        self.bad.sort()
        bad = Defects(np.array([line for line, _ in self.bad], "i8"), np.array([reason for _, reason in self.bad], "u1"))
        return Trace(
            path=self.path,
            format="ALOG, perwiz-ext 1" if self.recording.headers.extended else "ALOG",
            locations=locations,
            communicators=self.comms,
            names=tuple(states.names[k] for k in self.names),
            parallel=np.array([states.parallel[k] for k in self.names], bool),
            paths=self.paths,
            calls=self.calls,
            requests=self.requests,
            regions=dataclasses.replace(self.region, instance=self.region_instance),
            messages=self.messages,
            collectives=self.instances.collectives,
            members=self.instances.members,
            timeline=Timeline(times, self.region_times, self.instants),
            labels=Labels(rows.astype("i4"), text.astype("i4")),
            texts=tuple(self.recording.texts),
            nodes=nodes,
            offsets=offsets,
            defects=bad,
            counts=self._counts(),
            properties=self.recording.headers.properties,
        )


def _small(text: str | None, otherwise: int) -> int:
    """Return a number of at most nine digits, or `otherwise`."""
    return int(text) if text is not None and text.isdigit() and len(text) < 10 else otherwise


__all__ = ["Builder", "Requests"]
