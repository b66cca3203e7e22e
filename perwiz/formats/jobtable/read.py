"""A table of operations as the tables of a trace."""

from __future__ import annotations

import numpy as np

from perwiz import words
from perwiz.formats.jobtable import columns
from perwiz.formats.jobtable.columns import Operations
from perwiz.formats.jobtable.groups import Groups
from perwiz.formats.jobtable.lanes import BARRIER, Lanes
from perwiz.formats.jobtable.order import Order
from perwiz.formats.kineto.book import Book, idle
from perwiz.trace import matching, matching_collectives, operations, tables
from perwiz.trace.arrays import I8
from perwiz.trace.numbers import paths, running
from perwiz.trace.tables import NONE, Calls, Labels, Links, Locations, Offsets, Paths, Regions, Times
from perwiz.trace.trace import Counts, Timeline, Trace
from perwiz.words import several

_IDLE = operations.OP["device_idle"]
_OPS = {
    BARRIER: "dist_barrier",
    columns.LAYERNORM: "dist_all_reduce",
    columns.EMBEDDING: "dist_all_reduce",
    columns.SEPARATE: "dist_all_reduce",
    columns.CLIP: "dist_all_reduce",
    columns.GATHER: "dist_all_gather",
    columns.SCATTER: "dist_reduce_scatter",
    **dict.fromkeys(columns.SENDS, "dist_send"),
    **dict.fromkeys(columns.RECEIVES, "dist_recv"),
}
"""What ranks do together."""
_OP = np.array([operations.OP[_OPS[kind]] if kind in _OPS else NONE for kind in range(BARRIER + 1)], "i4")
_STEP = "step"
_MUCH = 0.01
"""Part of the time of all ranks, or of a step."""
_SOON = 100_000
"""ns within which a transfer is begun."""
_INFERRED = "inferred"
"""Key of Trace.properties."""


def read(path: str) -> Trace:
    """Return the trace of the job whose operations stand in a file."""
    return _Builder(path, columns.read(path)).trace()


class _Builder:
    """Builds the tables step by step; each step uses what the ones before it made."""

    def __init__(self, path: str, table: Operations) -> None:
        self._path, self._table = path, table
        self._kinds = np.unique(table.type)
        self._order = Order(table)
        self._lanes = lanes = Lanes(table)
        self._groups = Groups(table)
        book = Book()
        self._did = idle(book, _IDLE, lanes.location, lanes.begin, lanes.end, 0, 0)
        self._meet(book)
        self._calls, self._row = book.closed()
        self._guessed = self._late()

    def _meet(self, book: Book) -> None:
        """Add the calls that ranks make together."""
        lanes, did = self._lanes, self._did
        rows = np.flatnonzero(_OP[lanes.type] >= 0)
        kind = lanes.type[rows]
        op = _OP[kind]
        send, receive = (lanes.row_of[side] for side in self._order.messages)
        peer = np.full(len(lanes.type), NONE, "i8")
        peer[send], peer[receive] = lanes.rank[receive], lanes.rank[send]
        group = self._groups.of(kind, lanes.rank[rows])
        turn = running(lanes.location[rows] * np.int64(BARRIER + 1) + kind, lanes.step[rows])
        number = ((lanes.step[rows] * (BARRIER + 1) + kind) << 32) + turn
        number[~operations.COLLECTIVE[op]] = NONE
        where = {"turn": did.turn[rows], "peer": peer[rows], "group": group, "sequence": number}
        self._call_of = np.full(len(lanes.type), NONE, "i8")
        self._call_of[rows] = book.add(lanes.location[rows], op, did.begin[rows], did.end[rows], **where)

    def trace(self) -> Trace:
        """Return the trace."""
        column, comms = self._calls, self._groups.communicators()
        locations = self._locations()
        regions, times_of_regions, above = self._regions()
        calls = self._calls_of(regions)
        times = Times(column["enter"], column["leave"])
        messages, unmatched = self._messages(), self._order.unmatched
        done = matching.completions(calls.op, tables.Requests.empty())
        quiet = np.zeros(len(calls), "u1")
        process = locations.process.astype("i8")
        found = matching_collectives.collectives(calls, done, process, column["sequence"], quiet, comms, times.enter)
        last = np.flatnonzero(np.diff(column["location"], append=-1))
        instants = Times(np.zeros(len(last), "i8"), column["leave"][last])
        return Trace(
            path=self._path,
            format="table of operations",
            locations=locations,
            communicators=comms,
            names=(_STEP, *(columns.TYPES[kind] for kind in self._kinds.tolist())),
            parallel=np.zeros(len(self._kinds) + 1, bool),
            paths=above,
            calls=calls,
            requests=tables.Requests.empty(),
            regions=regions,
            messages=messages,
            collectives=found.collectives,
            members=found.members,
            links=self._links(),
            timeline=Timeline(times, times_of_regions, instants),
            labels=Labels.empty(),
            texts=(),
            nodes=(),
            offsets=Offsets.empty(),
            defects=tables.Defects.empty(),
            counts=Counts(
                records=len(self._table),
                states=len(self._table),
                sends=len(messages) + unmatched[0],
                receives=len(messages) + unmatched[1],
                unmatched_sends=unmatched[0],
                unmatched_receives=unmatched[1],
                incomplete_collectives=found.incomplete,
                unmatched_collectives=found.unmatched,
                untied_waits=self._order.untied,
            ),
            properties=self._properties(),
            faults=tuple(f"{self._path}: {one}: not known, left out" for one in self._table.left_out),
        )

    def _locations(self) -> Locations:
        lanes = self._lanes
        none = np.full(len(lanes.process), NONE, "i4")
        kind = np.where(lanes.thread == 0, tables.PROCESS, tables.STREAM).astype("u1")
        return Locations(np.zeros(len(none), "i4"), none, lanes.process, lanes.thread, none, kind)

    def _regions(self) -> tuple[Regions, Times, Paths]:
        """Return a region for each operation, in one for each step."""
        lanes, did, row = self._lanes, self._did, self._row
        inner = np.flatnonzero(lanes.type != BARRIER)
        new = np.ones(len(inner), bool)
        new[1:] = (np.diff(lanes.location[inner]) != 0) | (np.diff(lanes.step[inner]) != 0)
        first, last = inner[new], inner[np.append(new[1:], True)]
        computes = lanes.thread[lanes.location[first]] == 0
        enter = np.where(computes, self._table.starts[lanes.step[first]], did.begin[first])
        called = np.where(self._call_of >= 0, self._call_of, did.behind)
        location = np.concatenate([lanes.location[first], lanes.location[inner]])
        name = np.concatenate([np.zeros(len(first), "i4"), np.searchsorted(self._kinds, lanes.type[inner]).astype("i4") + 1])
        times = [np.concatenate([enter, did.begin[inner]]), np.concatenate([did.end[last], did.end[inner]])]
        begins = row[np.concatenate([np.where(computes, did.before[first], called[first]), called[inner]])]
        ends = row[np.concatenate([did.behind[last], did.behind[inner]])]
        order = np.lexsort((np.arange(len(name)) >= len(first), begins, location))
        place = np.empty(len(order), "i4")
        place[order] = np.arange(len(order))
        parent = np.concatenate([np.full(len(first), NONE), place[np.cumsum(new) - 1]])[order].astype("i4")
        location, name = location[order].astype("i4"), name[order].astype("i4")
        path, *above = paths(parent, name)
        instance = running(location, name) + np.int32(1)
        table = Regions(location, path, parent, instance, begins[order].astype("i4"), ends[order].astype("i4"))
        return table, Times(times[0][order], times[1][order]), Paths(*above)

    def _calls_of(self, regions: Regions) -> Calls:
        column = self._calls
        path = np.full(len(column["op"]), NONE, "i4")
        inside = np.flatnonzero(regions.end_call > regions.first_call)
        steps = inside[regions.parent[inside] < 0]
        count = (regions.end_call - regions.first_call)[steps]
        start = np.cumsum(count) - count
        within = np.arange(count.sum()) - np.repeat(start, count) + np.repeat(regions.first_call[steps], count)
        path[within] = np.repeat(regions.path[steps], count)
        own = inside[regions.parent[inside] >= 0]
        path[regions.first_call[own]] = regions.path[own]
        none, zero = np.full(len(path), NONE, "i4"), np.zeros(len(path), "i8")
        return Calls(
            location=column["location"].astype("i4"),
            op=column["op"].astype("u2"),
            path=path,
            peer=column["peer"].astype("i4"),
            tag=np.where(column["peer"] >= 0, 0, NONE).astype("i4"),
            comm=column["group"].astype("i4"),
            root=none,
            bytes_sent=zero,
            bytes_received=zero,
        )

    def _messages(self) -> tables.Messages:
        sends, receives = (self._ends(side) for side in self._order.messages)
        return matching.messages(sends, receives, np.full(len(sends.call), 3, "u1"))[0]

    def _ends(self, side: I8) -> matching.Ends:
        """Return one end of all messages, in order of calls; those of one message have the same number."""
        call = self._row[self._call_of[self._lanes.row_of[side]]].astype("i4")
        number = np.argsort(call, kind="stable")
        call, column = call[number], self._calls
        rank = self._lanes.process[column["location"][call]]
        zero = np.zeros(len(call), "i4")
        return matching.Ends(call, call, rank, column["peer"][call].astype("i4"), zero, column["group"][call].astype("i4"), zero, number)

    def _links(self) -> Links:
        """Return the links that rules tell, and those of what begins late, which count as waits."""
        lanes, did, row = self._lanes, self._did, self._row
        cause, effect = (lanes.row_of[side] for side in self._order.pairs())
        apart = lanes.location[cause] != lanes.location[effect]
        cause, effect = (np.concatenate(pair) for pair in zip((cause[apart], effect[apart]), lanes.begins(), strict=True))
        parts = [(tables.LAUNCH, cause, effect), (tables.DONE, *self._guessed)]
        columns = np.concatenate(
            [np.stack([np.full(len(a), kind), row[did.behind[a]], row[did.before[b]]]) for kind, a, b in parts], axis=1
        )
        kind, ends, begins = np.unique(columns, axis=1)
        return Links.in_order(kind.astype("u1"), ends.astype("i4"), begins.astype("i4"))

    def _late(self) -> tuple[I8, I8]:
        """Return pairs that no rule tells: what begins late, and what it is taken to have waited for.

        A transfer is begun by its rank when that has ended what it computed last. What is computed much later than it could be waits for
        what ended last in its stage or replica.
        """
        lanes, did, table = self._lanes, self._did, self._table
        self._needed = self._calls["enter"][self._row[did.before]]
        cause, effect = (lanes.row_of[side] for side in self._order.pairs())
        np.maximum.at(self._needed, effect, did.end[cause])
        first = lanes.thread[lanes.location] == 0
        computes = np.flatnonzero(first & (lanes.type != BARRIER))
        delay = did.begin - self._needed
        much = np.flatnonzero(first & (lanes.type != BARRIER) & (delay > _MUCH * np.diff(table.starts)[lanes.step]))
        moved = np.flatnonzero(np.isin(lanes.type, (*columns.SENDS, *columns.RECEIVES)) & (delay > _SOON))
        stage, replica, step = np.zeros(len(first), "i8"), np.zeros(len(first), "i8"), lanes.step.astype("i8")
        stage[lanes.row_of], replica[lanes.row_of] = table.stage, table.replica
        pairs = [self._ended_before(computes, moved, lanes.rank.astype("i8"), step, _SOON)]
        pairs += [self._ended_before(computes, much, part, step, 0) for part in (stage, replica)]
        found, late = (np.concatenate([pair[k] for pair in pairs]) for k in range(2))
        np.maximum.at(self._needed, late, np.minimum(did.end[found], did.begin[late]))
        return found, late

    def _ended_before(self, computes: I8, late: I8, part: I8, step: I8, close: int) -> tuple[I8, I8]:
        """Return (which operation of the same part and step ended last, what begins late), where it ended behind what is known."""
        did = self._did
        key = step * (int(part.max()) + 1) + part
        order = computes[np.lexsort((did.end[computes], key[computes]))]
        place = last_before(key[order], did.end[order], key[late], did.begin[late] + close)
        found = np.append(order, NONE)[place]
        good = (found >= 0) & (did.end[found] > self._needed[late])
        return found[good], late[good]

    def _properties(self) -> dict[str, str]:
        steps, said = self._table.steps, []
        if len(steps) > 1:
            numbers = f"{several(len(steps), 'step')} ({steps[0]} to {steps[-1]})"
            said.append(f"the times between {numbers}: each begins on all ranks when the one before has ended")
        if len(self._guessed[0]):
            which = several(len(np.unique(self._guessed[1])), "operation")
            said.append(f"what {which} that begin late wait for, as no rule tells: what their rank, stage or replica computed last")
        if late := self._unexplained():
            said.append(f"what {late} waits for, as no rule tells: delays of launches, without which it is --zero-time op:device_idle")
        return {_INFERRED: "; ".join(said)} if said else {}

    def _unexplained(self) -> str:
        """Return in words which operations on the streams that compute begin much later than those that they wait for end."""
        lanes, did = self._lanes, self._did
        computes = (lanes.thread[lanes.location] == 0) & (lanes.type != BARRIER)
        late = np.bincount(lanes.type[computes], np.maximum(did.begin - self._needed, 0)[computes], len(columns.TYPES))
        much = np.flatnonzero(late > _MUCH * self._table.starts[-1] * len(np.unique(lanes.rank)))
        return ", ".join(f"{columns.TYPES[kind]} ({words.duration(int(late[kind]))})" for kind in much)


def last_before(key: I8, end: I8, wanted: I8, begin: I8) -> I8:
    """Return per wanted key the last row of that key that ends by an instant, -1 for none; rows are in order of (key, end).

    key 1 1 2, end 5 9 4, wanted 1 2 1, begin 8 3 9: 0 -1 1.
    """
    order = np.lexsort((np.repeat((0, 1), (len(key), len(wanted))), np.append(end, begin), np.append(key, wanted)))
    of_rows = order < len(key)
    last = np.maximum.accumulate(np.where(of_rows, order, NONE))
    out = np.empty(len(order), "i8")
    out[order] = last
    found = out[len(key) :]
    return np.where((found >= 0) & (np.append(key, NONE)[found] == wanted), found, NONE)
