"""The part of a trace that lies in one window of time: its calls, and those of earlier and later windows that these are tied to."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.trace.arrays import I4, I8, Ints, Mask
from perwiz.trace.spread.share import EVERY, Rows, Share
from perwiz.trace.spread.team import How
from perwiz.trace.table import dtypes
from perwiz.trace.tables import NONE, Calls, Collectives, Links, Members, Messages, Records, Regions, Requests, Times
from perwiz.trace.trace import Timeline, Trace
from perwiz.trace.windows.large import TIMES, taken
from perwiz.trace.windows.sorting import Sorted


class Carried:
    """What goes on from window to window: when calls that later ones need are entered and left, of each sweep through the graph.

    As a team it is who sends what comes before a window, and takes what goes out behind it.
    """

    rank, size, stage = 0, 1, ""

    def __init__(self, needed: I8) -> None:
        self.needed = needed
        """Rows of calls, ascending."""
        self._times: list[I8] = []
        self._sweep = -1
        self._rows: I8 = needed[:0]
        self._own: I8 = needed[:0]

    def enter(self, before: I8, own: I8) -> None:
        """Go on to a window with these calls from before it, and these of its own, which are needed behind it."""
        self._sweep, self._rows, self._own = -1, *(np.searchsorted(self.needed, rows) for rows in (before, own))

    def receive(self, source: int, data: NDArray[Any]) -> None:
        """Fill in when calls from before the window are entered, and then when they are left: a sweep begins."""
        self._sweep += 1
        if self._sweep == len(self._times):
            self._times.append(np.zeros((2, len(self.needed)), "i8"))
        data[:] = self._times[self._sweep][:, self._rows].reshape(-1)

    def send(self, to: int, data: NDArray[Any]) -> None:
        """Keep when calls of the window are entered, and then when they are left."""
        self._times[self._sweep][:, self._own] = data.reshape(2, -1)

    def wait_for_sends(self) -> None:
        """Return at once: all is kept."""

    def exchange(self, data: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Return what this one has."""
        return list(data)

    def reduce(self, values: NDArray[Any], how: How) -> NDArray[Any]:
        """Return the values."""
        return values


@dataclasses.dataclass(frozen=True, eq=False)
class Window(Share):
    """The rows of one window. Nobody is asked: what windows come to is added up behind the last."""

    calls: Mask
    numbers: I8
    """Row in the whole trace of each call, ascending."""
    before: Mask
    """Which calls are of earlier windows."""
    behind: I8
    """Calls of this one that later windows need, rows."""
    carried: Carried
    messages: Rows
    links: Rows
    regions: Rows
    returning: Rows
    open: Mask
    count: dict[str, int]
    """How many rows there are in all, by table."""
    said: list[bool]
    """What `asked` was asked in this window, in order."""
    truth: list[bool] | None = None
    """What it is to answer, once all windows were asked."""
    locations = EVERY
    team = None

    def asked(self, value: object) -> bool:
        """Return True until all windows were asked: another one may say so. What was asked is noted."""
        self.said.append(bool(value))
        return self.truth is None or self.truth[len(self.said) - 1]

    def named(self, calls: Ints) -> I8:
        """Return rows of calls as the numbers that they have in the whole trace."""
        return np.where(calls < 0, NONE, self.numbers[calls])

    def own(self, number: int) -> list[int]:
        """Return the row of a call, given its number in the whole trace; none if it is not of this window."""
        row = int(np.searchsorted(self.numbers, number))
        return [row] if row < len(self.numbers) and self.numbers[row] == number and self.calls[row] else []

    def left_open(self, locations: Mask) -> Mask:
        """Return which locations posted a request that nothing completes, or that has no name."""
        return self.open

    def in_all(self, table: str, rows: int) -> int:
        """Return how many rows the whole trace has of a table."""
        return self.count[table]

    @property
    def ghosts(self) -> I8:
        """Calls of other windows, rows."""
        return np.flatnonzero(~self.calls)


def windows(found: Sorted) -> Iterator[Trace]:
    """Yield the trace of each window, in the order of time."""
    carried = Carried(found.needed)
    count = {name: found.large.rows(name) for name in ("calls", "messages", "collectives", "members", "regions", "links")}
    for k in range(found.cuts.count):
        yield _Part(found, k).trace(carried, count)


class _Part:
    """What a window has, with rows of calls as they are in it."""

    def __init__(self, found: Sorted, window: int) -> None:
        self._found, self._large, self._window = found, found.large, window
        bounds = found.cuts.bounds
        self._low, self._high = bounds[:, window], bounds[:, window + 1]
        names = ("messages", "requests", "links", "members", "regions")
        self._messages, self._requests, self._links, self._members, self._regions = (found.rows(name, window) for name in names)
        sides = [
            *(self._messages[name] for name in ("send", "send_done", "receive", "receive_done")),
            *(self._requests[name] for name in ("posted_by", "completed_by")),
            *(self._links[name] for name in ("cause", "effect")),
            *(self._members[name] for name in ("call", "done")),
        ]
        size = self._high - self._low
        own = np.repeat(self._low - np.cumsum(size) + size, size) + np.arange(size.sum())
        ahead = (self._low - 1)[self._low > bounds[:, 0]]
        away = np.concatenate([ahead, found.landmarks, *(self._elsewhere(side) for side in sides)])
        self._numbers = np.unique(np.concatenate([own, away]))
        self._location = found.cuts.location(self._numbers)
        self._own = (self._numbers >= self._low[self._location]) & (self._numbers < self._high[self._location])
        self._before = self._numbers < self._low[self._location]

    def _elsewhere(self, calls: Ints) -> I8:
        """Return those calls that are of other windows, each once."""
        rows = calls[calls != NONE].astype("i8")
        location = self._found.cuts.location(rows)
        return np.unique(rows[(rows < self._low[location]) | (rows >= self._high[location])])

    def _here(self, calls: Ints) -> I4:
        """Return rows of calls in the window, given those in the whole trace; -1 stays."""
        return np.where(calls == NONE, NONE, np.searchsorted(self._numbers, calls)).astype("i4")

    def trace(self, carried: Carried, count: dict[str, int]) -> Trace:
        """Return the trace."""
        columns = {name: taken(column, self._numbers) for name, column in self._large.columns["calls"].items()}
        site = columns.pop("site", self._large.trace.site)
        own, times = self._own, self._large.columns[TIMES[0]]
        messages, links = self._tied(Messages, self._messages), self._tied(Links, self._links)
        collectives, members = self._instances()
        regions, region_times, entered = self._region_table()
        behind = np.flatnonzero(own & np.isin(self._numbers, carried.needed, assume_unique=True))
        carried.enter(self._numbers[self._before], self._numbers[behind])
        share = Window(
            calls=own,
            numbers=self._numbers,
            before=self._before,
            behind=behind,
            carried=carried,
            messages=own[messages.receive_done],
            links=own[links.effect],
            regions=entered,
            returning=own[members.done] & (members.done != NONE),
            open=self._found.open,
            count=count,
            said=[],
        )
        whole = self._large.trace.timeline
        return dataclasses.replace(
            self._large.trace,
            calls=Calls(**columns),
            site=site,
            requests=self._tied(Requests, self._requests),
            messages=messages,
            links=links,
            collectives=collectives,
            members=members,
            regions=regions,
            records=Records.empty(),
            values=self._large.trace.values[:0],
            timeline=Timeline(
                Times(*(taken(times[side], self._numbers) for side in ("enter", "leave"))), region_times, whole.locations, whole.origin
            ),
            share=share,
        )

    def _tied(self, kind: type[Any], rows: NDArray[Any]) -> Any:
        """Return the table of rows that tie calls."""
        ends = {"send", "send_done", "receive", "receive_done", "posted_by", "completed_by", "cause", "effect"}
        return kind(**{name: self._here(rows[name]) if name in ends else rows[name] for name in dtypes(kind)})

    def _instances(self) -> tuple[Collectives, Members]:
        rows = self._members
        order = np.argsort(rows["instance"], kind="stable")
        rows = rows[order]
        head = np.flatnonzero(np.diff(rows["instance"], prepend=-1))
        of = np.repeat(np.arange(len(head), dtype="i4"), np.diff(np.append(head, len(rows))))
        told = {name: rows[name][head] for name in ("op", "comm", "root")}
        table = Collectives(**told, first_member=head.astype("i4"))
        return table, Members(of, self._here(rows["call"]), self._here(rows["done"]))

    def _region_table(self) -> tuple[Regions, Times, Mask]:
        """Return the instances of regions, their times, and which are entered in the window."""
        rows = self._regions
        rows = rows[np.argsort(rows["row"], kind="stable")]
        first, end = (np.searchsorted(self._numbers, rows[name]).astype("i4") for name in ("first_call", "end_call"))
        parent = np.searchsorted(rows["row"], rows["parent"])
        parent[rows["row"][np.minimum(parent, len(rows) - 1)] != rows["parent"]] = NONE
        told = {name: rows[name].copy() for name in ("location", "path", "instance")}
        table = Regions(**told, parent=parent.astype("i4"), first_call=first, end_call=end)
        return table, Times(rows["enter"].copy(), rows["leave"].copy()), rows["window"] == self._window
