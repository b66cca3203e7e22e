"""Actions to tables. Times are those of computation alone, at the speed of the platform: every call returns when it is entered."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from perwiz import allowed
from perwiz.errors import TraceError
from perwiz.formats.format import Progress
from perwiz.formats.source import Source
from perwiz.formats.timeindependent import files
from perwiz.formats.timeindependent.actions import MOST_RANKS, NO_CALL, POSTS, TESTS, WAITS, WAITS_ALL, Action, Line, action
from perwiz.formats.timeindependent.platform import Platform
from perwiz.trace import matching, matching_collectives, operations
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.numbers import Numbers
from perwiz.trace.origin import UNTIMED
from perwiz.trace.tables import NONE, Calls, Defects, Labels, Locations, Offsets, Paths, Regions, Requests, Times
from perwiz.trace.trace import Communicators, Counts, Timeline, Trace
from perwiz.words import shown

_LONGEST = 2.0**60
"""ns."""
_TEST_NS = 100_000
"""What SMPI lets a test take at least (smpi/test)."""
_LINE, _DISTINCT, _SMALL = 220, 500, 1 << 26
"""Bytes of memory that a line takes until there are tables, that a distinct one takes beside what it says, and that there always are."""
_COLUMNS = {
    **dict.fromkeys(("rank", "op", "does", "source", "target", "tag", "other_source", "root"), "i4"),
    **dict.fromkeys(("sent", "received"), "i8"),
    **dict.fromkeys(("flops", "seconds"), "f8"),
    "collective": "?",
}
"""Of an Action, as arrays."""


class _Lines(NamedTuple):
    """All lines of a trace that say something, in order: those of a rank are in its program order."""

    distinct: list[bytes]
    place: list[str]
    """Where each of the distinct ones was met first: `file:line`."""
    number: I4
    """Per line its row of distinct."""


def read(entry: str, platform: Platform, progress: Progress | None = None) -> Trace:
    """Return the trace that an entry of `files` stands for on a platform. Raises TraceError."""
    lines = _lines(entry, progress)
    actions = _parsed(entry, lines)
    return _Builder(entry, platform, lines, actions).trace()


def _lines(entry: str, progress: Progress | None) -> _Lines:
    """Return the lines of a trace. Raises TraceError where there are more than memory holds: a packed byte may be a hundred lines."""
    free, taken = allowed.memory(), 0
    room = None if free is None else max(free, _SMALL)
    numbers: dict[bytes, int] = {}
    places: list[str] = []
    found: list[I4] = [np.empty(0, "i4")]
    before = 0
    for path in files.parts(entry):
        done = 0
        for text in _texts(path):
            rows = text.split(b"\n")
            here = dict.fromkeys(rows, NONE)
            for row in filter(_says, here):
                if row not in numbers:
                    numbers[row] = len(numbers)
                    places.append(path)
                    taken += _DISTINCT + len(row)
                here[row] = numbers[row]
            number = np.fromiter(map(here.__getitem__, rows), "i4", len(rows))
            found.append(number[number != NONE])
            taken += _LINE * len(found[-1])
            if room is not None and taken > room:
                raise TraceError(f"{path}: actions that take more than {room >> 20} MiB, must fit into the memory that may be used")
            done += len(text)
            if progress:
                progress(before + done, 0)
        before += done
    return _Lines([*numbers], places, np.concatenate(found))


def _texts(path: str) -> Iterator[bytes]:
    """Yield a file of actions in pieces of whole lines. Raises TraceError if it cannot be read, or its packing is damaged."""
    with Source(path) as source:
        yield from source.chunks()
        if source.cut_off:
            raise TraceError(f"{path}: packed data is damaged or cut off, must be whole")


def _says(line: bytes) -> bool:
    """Return whether a line is neither empty nor a comment."""
    return line.strip()[:1] not in (b"", b"#")


def _parsed(entry: str, lines: _Lines) -> list[Action]:
    """Return the action of each distinct line."""
    said = lines.distinct
    if not said:
        raise TraceError(f"{entry}: no action, must have some")
    ranks = [_rank(lines, row, text) for row, text in enumerate(said)]
    count = max(ranks) + 1
    heads = [text.split()[1:3] for text in said]
    default = 8 if any(head and head[0] == b"init" and len(head) > 1 for head in heads) else 1
    out = list[Action]()
    for row, (text, rank) in enumerate(zip(said, ranks, strict=True)):
        try:
            out.append(action(Line("", text, count, default), rank))
        except TraceError as error:
            raise TraceError(f"{_place(lines, row)}{error}") from None
    return out


def _rank(lines: _Lines, row: int, text: bytes) -> int:
    word = text.split(None, 1)[0]
    if not word.isdigit() or len(word) > 9 or int(word) >= MOST_RANKS:
        word_shown = shown(word.decode("latin-1"), 20)
        raise TraceError(f"{_place(lines, row)}: rank '{word_shown}', must be a whole number from 0 to {MOST_RANKS - 1}")
    return int(word)


def _place(lines: _Lines, row: int) -> str:
    """Return `file:line` of the first occurrence of a distinct line."""
    path, text, before = lines.place[row], lines.distinct[row], 0
    for piece in _texts(path):
        rows = piece.split(b"\n")
        if text in rows:
            return f"{path}:{before + rows.index(text) + 1}"
        before += len(rows) - 1
    raise TraceError(f"{path}: became another file while it was read")


class _Builder:
    """Builds the tables step by step; each step uses what the ones before it made."""

    def __init__(self, entry: str, platform: Platform, lines: _Lines, actions: list[Action]) -> None:
        self.entry, self.platform = entry, platform
        table = {name: np.array([getattr(act, name) for act in actions], dtype) for name, dtype in _COLUMNS.items()}
        number = lines.number
        number = number[np.argsort(table["rank"][number], kind="stable")]
        self.all: dict[str, NDArray[Any]] = {name: column[number] for name, column in table.items()}
        self.ranks = int(self.all["rank"].max()) + 1
        missing = np.flatnonzero(np.bincount(self.all["rank"], minlength=self.ranks) == 0)
        if len(missing):
            raise TraceError(f"{entry}: no action of rank {missing[0]} of {self.ranks}, must have those of all ranks")
        self.host = platform.host_of_each(self.ranks)
        self.is_call = self.all["does"] != NO_CALL
        self.site, self.sites = _sites([act.site for act in actions], number, self.is_call)
        self.call: dict[str, NDArray[Any]] = {name: column[self.is_call] for name, column in self.all.items()}

    def trace(self) -> Trace:
        """Return the trace."""
        calls = self._calls()
        requests, done = self._requests(calls)
        sends, arrivals = self._ends(calls, done)
        messages, _ = matching.messages(sends, arrivals, operations.MODE[calls.op[sends.call]])
        messages = dataclasses.replace(messages, bytes=calls.bytes_sent[messages.send])
        timeline = self._timeline()
        process = np.arange(self.ranks, dtype="i8")
        world = Communicators(("MPI_COMM_WORLD",), np.array([0, self.ranks], "i8"), process.astype("i4"))
        quiet, counted = np.zeros(len(calls), "u1"), np.full(len(calls), NONE, "i8")
        instances = matching_collectives.collectives(calls, done, process, counted, quiet, world, timeline.calls.enter)
        alone = int((operations.COLLECTIVE[calls.op] & (calls.comm == NONE)).sum())
        counts = Counts(
            records=len(self.is_call),
            states=len(calls),
            sends=len(sends.call),
            receives=len(arrivals.call),
            to_nobody=int(((operations.KIND[calls.op] == operations.SEND) & (calls.peer == NONE)).sum()),
            unmatched_sends=len(sends.call) - len(messages),
            unmatched_receives=len(arrivals.call) - len(messages),
            incomplete_collectives=instances.incomplete,
            unmatched_collectives=instances.unmatched - alone,
        )
        nodes = list(dict.fromkeys(self.host))
        return Trace(
            path=self.entry,
            format="time-independent trace",
            locations=self._locations(nodes),
            communicators=world,
            names=(),
            parallel=np.zeros(0, bool),
            paths=Paths.empty(),
            calls=calls,
            requests=requests,
            regions=Regions.empty(),
            messages=messages,
            collectives=instances.collectives,
            members=instances.members,
            timeline=timeline,
            labels=Labels.empty(),
            texts=(),
            nodes=tuple(self.platform.hosts[host] for host in nodes),
            offsets=Offsets.empty(),
            defects=Defects.empty(),
            counts=counts,
            properties={"platform": self.platform.path},
            site=self.site,
            sites=self.sites,
            model=self.platform.path,
        )

    def _locations(self, nodes: list[int]) -> Locations:
        zero, rank = np.zeros(self.ranks, "i4"), np.arange(self.ranks, dtype="i4")
        row = {host: k for k, host in enumerate(nodes)}
        node = np.array([row[host] for host in self.host], "i4")
        return Locations(zero, node, rank, zero, np.full(self.ranks, NONE, "i4"), np.zeros(self.ranks, "u1"))

    def _calls(self) -> Calls:
        call, kind = self.call, operations.KIND[self.call["op"]]
        receives = (kind == operations.RECV) | (kind == operations.IRECV)
        own = call["source"] == call["rank"]
        talks = call["collective"] | operations.POINT_TO_POINT[call["op"]]
        return Calls(
            location=call["rank"],
            op=call["op"].astype("u2"),
            path=np.full(len(kind), NONE, "i4"),
            peer=np.where(receives | ~own, call["source"], call["target"]).astype("i4"),
            tag=call["tag"],
            comm=np.where(talks, 0, NONE).astype("i4"),
            root=call["root"],
            bytes_sent=call["sent"],
            bytes_received=call["received"],
        )

    def _requests(self, calls: Calls) -> tuple[Requests, I4]:
        """Return the requests, and per call that posts one the call that completes it (-1 none), per other call itself.

        A wait and a test name sender, receiver and tag: they are for the oldest such request, as SimGrid's replay has it. A test is for
        one that nothing else completes: when it was made, the message may have been there or not. One that waits for all leaves none.
        """
        call = self.call
        does, rank = call["does"], call["rank"]
        ends, number = Numbers(), Numbers()
        key = number.number(ends.number(call["source"], call["target"]), call["tag"]).astype("i8")
        alls = np.flatnonzero(does == WAITS_ALL)
        epoch = np.searchsorted(alls, np.arange(len(does)))
        epochs = Numbers()
        key = epochs.number(key, epoch).astype("i8")
        posted, waits, tests = (np.flatnonzero(does == what) for what in (POSTS, WAITS, TESTS))
        table = matching.requests(posted, rank[posted], key[posted], waits, rank[waits], key[waits])
        completed = table.completed_by.copy()
        completed[completed == NONE] = _by_all(table.posted_by[completed == NONE], alls, rank)
        left = np.flatnonzero(completed == NONE)
        post = table.posted_by[left].astype("i8")
        last = _last(tests, rank, key)
        looked = matching.requests(post, rank[post], key[post], last, rank[last], key[last])
        completed[left] = looked.completed_by
        done = np.arange(len(does), dtype="i4")
        done[table.posted_by] = completed
        return Requests(table.posted_by, completed, table.cancelled), done

    def _ends(self, calls: Calls, done: I4) -> tuple[matching.Ends, matching.Ends]:
        """Return the sends, and the receives that somebody completes, in program order; those to and from nobody are none."""
        call, kind = self.call, operations.KIND[calls.op]
        exchange = kind == operations.SENDRECV
        sends = np.flatnonzero(((kind == operations.SEND) | (kind == operations.ISEND) | exchange) & (call["target"] != NONE))
        source = np.where(exchange, call["other_source"], call["source"])
        takes = (kind == operations.RECV) | (kind == operations.IRECV) | exchange
        receives = np.flatnonzero(takes & (source != NONE) & (done != NONE))
        return (
            _end(sends, done, call["rank"], call["target"], call["tag"], calls.bytes_sent),
            _end(receives, done, call["rank"], source, call["tag"], calls.bytes_received),
        )

    def _timeline(self) -> Timeline:
        """Return the times of calls that wait for nobody: a running sum of computation, each instant rounded once."""
        speed = np.array(self.platform.speeds)[np.array(self.host)][self.all["rank"]]
        took = (self.all["flops"] / speed + self.all["seconds"]) * 1e9
        took[self.all["does"] == TESTS] = _TEST_NS
        after = np.cumsum(took)
        before = np.concatenate([[0.0], after[:-1]])
        first = np.searchsorted(self.all["rank"], np.arange(self.ranks))
        last = np.append(first[1:], len(took)) - 1
        if not after[-1] <= _LONGEST:
            raise TraceError(f"{self.entry}: computation of {after[-1] / 1e9:.3g} s in all, must be at most {_LONGEST / 1e9:.3g} s")
        start = before[first][self.all["rank"]]
        enter = np.rint(before - start).astype("i8")[self.is_call]
        leave = np.rint(after - start).astype("i8")[self.is_call]
        leave = np.where(self.call["does"] == TESTS, leave, enter)
        return Timeline(
            Times(enter, leave),
            Times.empty(),
            Times(np.zeros(self.ranks, "i8"), np.rint(after[last] - before[first]).astype("i8")),
            UNTIMED,
        )


def _by_all(post: I4, alls: I8, rank: I4) -> I4:
    """Return per posting the first call behind it on its rank that completes all, -1 none."""
    following = np.searchsorted(alls, post)
    found = np.append(alls, 0)[following]
    good = (following < len(alls)) & (rank[found] == rank[post]) if len(rank) else np.zeros(0, bool)
    return np.where(good, found, NONE).astype("i4")


def _last(tests: I8, rank: I4, key: I8) -> I8:
    """Return the last test of each key on each rank, in the order of calls."""
    numbers = Numbers()
    number = numbers.number(rank[tests], key[tests])
    last = np.full(numbers.count, NONE, "i8")
    np.maximum.at(last, number, tests)
    last.sort()
    return last


def _end(call: I8, done: I4, rank: I4, peer: I4, tag: I4, size: I8) -> matching.Ends:
    return matching.Ends(
        call=call.astype("i4"),
        done=done[call],
        rank=rank[call],
        peer=peer[call],
        tag=tag[call],
        comm=np.zeros(len(call), "i4"),
        bytes=size[call],
    )


def _sites(texts: list[str], number: I4, is_call: Mask) -> tuple[I4, tuple[str, ...]]:
    """Return where each call is made, and the names of these places: what the action right before it says."""
    names = [text for text in dict.fromkeys(texts) if text]
    if not names:
        return np.empty(0, "i4"), ()
    row = {name: k for k, name in enumerate(names)}
    said = np.array([row.get(text, NONE) for text in texts], "i4")[number]
    place = np.maximum.accumulate(np.where((said >= 0) | is_call, np.arange(len(said)), -1))
    before = np.concatenate([[-1], place[:-1]])
    return np.where(before >= 0, said[before], NONE).astype("i4")[is_call], tuple(names)
