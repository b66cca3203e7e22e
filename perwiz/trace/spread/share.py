"""Which rows of the tables of a trace are those of this process, and what it asks the others.

What a process alone has is a share, too: of all rows, and nobody else is asked. So whoever sums up rows does it once for both:

    reversed_ = trace.share.total(int((reversals > 0)[trace.share.messages].sum()))
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from perwiz.trace.arrays import F8, I4, I8, Ints, Mask
from perwiz.trace.numbers import Numbers, distinct, distinct_pairs, places
from perwiz.trace.spread.quantiles import weighted_quantiles
from perwiz.trace.spread.team import How, Team, gathered, texts

T = TypeVar("T")
Rows = slice | Mask
EVERY = slice(None)


class Share:
    """Which rows this process has: all of them, if it is alone."""

    calls: Any
    """The rows of calls of its locations, a slice, or of a window of time, a mask; the others are those of the partners of these."""
    locations: slice
    messages: Rows
    """The rows of messages that are received here."""
    links: Rows
    """The rows of links that end here."""
    regions: Rows
    """The rows of regions that are entered here."""
    returning: Rows
    """The rows of members, where instances are whole, that return here."""
    team: Team | None
    """None if there is nobody else."""

    def at(self, stage: str) -> None:
        """Say what comes next, for those who count what processes tell each other."""

    def total(self, value: int) -> int:
        """Return the sum of a whole number over all processes."""
        return value

    def most(self, value: int) -> int:
        """Return the largest of all processes."""
        return value

    def least(self, value: int) -> int:
        """Return the smallest of all processes."""
        return value

    def any(self, value: object) -> bool:
        """Return whether it is so on one of them."""
        return bool(value)

    def asked(self, value: object) -> bool:
        """Return whether it is so on one of them, of what a question names: whoever is told no refuses it."""
        return self.any(value)

    def reduced(self, values: NDArray[Any], how: How) -> NDArray[Any]:
        """Return sums or extremes over all processes, element by element."""
        return values

    def left_open(self, locations: Mask) -> Mask:
        """Return which locations posted a request that nothing completes, or that has no name, given those of which this is known here."""
        return locations

    def rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of all processes, one process behind the other."""
        return values

    def listed(self, rows: list[T]) -> list[T]:
        """Return what all processes list, one process behind the other: lists of few numbers and texts each."""
        return rows

    def of_earlier(self, counts: I8) -> I8:
        """Return the sums over the processes before this one, element by element."""
        return np.zeros_like(counts)

    def chosen(self, calls: Mask) -> I8:
        """Return the rows of those of some calls, bool per call, that it has itself."""
        own = np.zeros(len(calls), bool)
        own[self.calls] = calls[self.calls]
        return np.flatnonzero(own)

    def of_locations(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values per location, each as the process has it whose location it is."""
        return values

    def shown(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values per call, those of partners elsewhere as their processes have them."""
        return values

    def quantile(self, values: I8, part: float) -> float:
        """Return the value below which a part of those of all processes lies, as np.quantile does: there must be one."""
        return float(np.quantile(values, part))

    def ranked(self, values: I8, rank: int) -> int:
        """Return the value with so many before it among those of all processes in order: there must be one."""
        return int(np.partition(values, rank)[rank])

    def weighted(self, values: F8, weight: I8, wanted: I8) -> F8:
        """Return the least of some values of all processes up to which their weights add up to as much as each that is wanted.

        values 5 1 3   weights 2 4 1   wanted 1 4 5 7   out 1 1 3 5
        """
        return weighted_quantiles(values, weight, wanted)

    def shortest(self, times: F8) -> float:
        """Return the least of some times of all processes; infinite without any."""
        return float(self.reduced(np.array([times.min(initial=np.inf)]), "min")[0])

    def distinct(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values that there are on any process, in order."""
        return distinct(self.rows(distinct(values)))

    def placed(self, values: NDArray[Any]) -> tuple[NDArray[Any], I8]:
        """Return the integers that there are on any process, in order, and the place of each of these among them.

        values 5 9 5 3   out  3 5 9, 1 2 1 0
        """
        known = self.distinct(values)
        return known, places(known, values)

    def numbered(self, first: Ints, second: Ints) -> tuple[I4, int]:
        """Return a number per pair, the same for the same on all processes, and how many there are: 0, 1, 2 ... in order of the pairs.

        Of few different ones: each process tells all others its own.
        """
        numbers = Numbers()
        row = numbers.number(first, second)
        own = numbers.pairs
        told = np.concatenate([own, self.rows(own.ravel()).reshape(-1, 2)]) if self.team else own
        known, number = distinct_pairs(*told.T)
        return number[: len(own)][row], len(known)

    def by_key(self, key: Ints, rows: NDArray[Any]) -> NDArray[Any]:
        """Return rows, each on one process: those of one key, 0 or more, together, in no order that says anything."""
        return rows

    def has(self, locations: Ints) -> Mask:
        """Return which of some locations are those of this process."""
        return np.ones(len(locations), bool)

    def named(self, calls: Ints) -> Ints:
        """Return rows of calls as the numbers that they have in the whole trace."""
        return calls

    def here(self, number: I8) -> I8:
        """Return the rows of calls that it knows, given their numbers in the whole trace."""
        return number

    def own(self, number: int) -> list[int]:
        """Return the row of a call, given its number in the whole trace; none if another process has it."""
        return [number]

    def told_by_receivers(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values per message, each as the process has it that receives it."""
        return values

    def told_by_senders(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values per message, each as the process has it that sends it."""
        return values

    def over_instances(self, values: NDArray[Any], how: How) -> NDArray[Any]:
        """Return sums or extremes over whole instances of collectives, given those over the members here, per instance."""
        return values

    def in_all(self, table: str, rows: int) -> int:
        """Return how many rows all processes have together of a table of which this one has so many."""
        return rows

    def with_instance(self, places: I8, size: int) -> Share:
        """Return the share of a trace with one more instance of collectives, of so many members, those here at these places among them."""
        return self

    def of_instances(self, sizes: I8) -> I8:
        """Return how many members each instance has, given how many it has here."""
        return sizes

    def leading(self, members: Ints) -> Ints:
        """Return those members, each the first here of its instance, that are the first of all of it."""
        return members


class Whole(Share):
    """All rows: what a process alone has."""

    calls = locations = messages = links = regions = returning = EVERY
    team = None


ALONE = Whole()


class AtHome(Whole):
    """All rows of what is at home on a process, where others have more: these are asked, too."""

    def __init__(self, others: Share) -> None:
        self._others = others

    def total(self, value: int) -> int:
        """Return the sum of a whole number over all processes."""
        return self._others.total(value)

    def any(self, value: object) -> bool:
        """Return whether it is so on one of them."""
        return self._others.any(value)

    def reduced(self, values: NDArray[Any], how: How) -> NDArray[Any]:
        """Return sums or extremes over all processes, element by element."""
        return self._others.reduced(values, how)

    def rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of all processes, one process behind the other."""
        return self._others.rows(values)

    def by_key(self, key: Ints, rows: NDArray[Any]) -> NDArray[Any]:
        """Return rows, each on one process: those of one key, 0 or more, together, in no order that says anything."""
        return self._others.by_key(key, rows)


@dataclasses.dataclass(frozen=True, eq=False)
class Peers:
    """Rows of a table that this process and others have, which one tells the others about: per process those that go there, or come."""

    team: Team
    out: list[I8]
    into: list[I8]

    def told(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values with those rows that others tell about as they have them."""
        out = values.copy() if any(len(rows) for rows in self.into) else values
        self.tell(out)
        return out

    def tell(self, values: NDArray[Any]) -> None:
        """Write those rows that others tell about as they have them."""
        came = self.team.exchange([values[rows] for rows in self.out])
        for rows, each in zip(self.into, came, strict=True):
            values[rows] = each


_PIVOTS = 256
"""Values between which one of all processes is looked for at a time."""
_BEHIND = 1 << 62
"""Numbers of instances that no trace tells begin here."""
_OPERATIONS: dict[How, np.ufunc] = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def _neutral(how: How, count: int, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return values that change no sum or extreme of others."""
    if how == "sum" or kind == np.bool_:
        return np.zeros(count, kind)
    bounds = np.iinfo(kind)
    return np.full(count, bounds.min if how == "max" else bounds.max, kind)


def _in_order(numbers: F8 | I8) -> I8:
    """Return whole numbers in the order of floating ones, and these, as their bits, given those: 0 and -0 apart, none that is no number."""
    bits = numbers.view("i8")
    return np.bitwise_xor(bits, np.iinfo("i8").max, out=bits.copy(), where=bits < 0)


@dataclasses.dataclass(frozen=True, eq=False)
class Part(Share):
    """The rows of one of several processes, and those of the partners of its calls."""

    regions = returning = EVERY
    team: Team
    locations: slice
    bounds: I8
    """First location of each process, and the end of the last."""
    first: I8
    """First call of each location, in the whole trace, and the end of the last."""
    calls: slice
    elsewhere: I8
    """Numbers of the calls of others, in the order of rows."""
    messages: Mask
    message_rows: Ints
    """Rows of the messages in the whole trace."""
    instances: I8
    """Rows of its collectives in the whole trace, and"""
    sizes: I8
    """how many members they have there, and"""
    members: I8
    """here."""
    places: I8
    """The rank of each of its members among those of its instance."""
    home: I8
    """The process on which each instance is at home: that of its members or, if several have these, one after the other."""
    links: Mask
    count: dict[str, int]
    """How many rows there are in all, by table."""
    ends: tuple[Peers, Peers, Peers]
    """Calls, told about by those who have them; messages, told about by receivers, and by senders."""

    def total(self, value: int) -> int:
        """Return the sum of a whole number over all processes."""
        return int(self.team.reduce(np.array([value], "i8"), "sum")[0])

    def most(self, value: int) -> int:
        """Return the largest of all processes."""
        return int(self.team.reduce(np.array([value], "i8"), "max")[0])

    def least(self, value: int) -> int:
        """Return the smallest of all processes."""
        return int(self.team.reduce(np.array([value], "i8"), "min")[0])

    def any(self, value: object) -> bool:
        """Return whether it is so on one of them."""
        return self.most(int(bool(value))) > 0

    def reduced(self, values: NDArray[Any], how: How) -> NDArray[Any]:
        """Return sums or extremes over all processes, element by element."""
        return self.team.reduce(values, how)

    def rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of all processes, one process behind the other."""
        return np.concatenate(gathered(self.team, np.ascontiguousarray(values)))

    def listed(self, rows: list[T]) -> list[T]:
        """Return what all processes list, one process behind the other: lists of few numbers and texts each."""
        return [row for each in texts(self.team, json.dumps(rows)) for row in json.loads(each)]

    def of_earlier(self, counts: I8) -> I8:
        """Return the sums over the processes before this one, element by element."""
        return np.sum(gathered(self.team, counts)[: self.team.rank], axis=0, dtype="i8") + np.zeros_like(counts)

    def of_locations(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values per location, each as the process has it whose location it is."""
        return self.rows(values[self.locations])

    def shown(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values per call, those of partners elsewhere as their processes have them."""
        return self.ends[0].told(values)

    def told_by_receivers(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values per message, each as the process has it that receives it."""
        return self.ends[1].told(values)

    def told_by_senders(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values per message, each as the process has it that sends it."""
        return self.ends[2].told(values)

    def over_instances(self, values: NDArray[Any], how: How) -> NDArray[Any]:
        """Return sums or extremes over whole instances of collectives, given those over the members here, per instance."""
        away = [np.flatnonzero((self.home == peer) & self.spread) for peer in range(self.team.size)]
        keys = np.concatenate([self.instances[:0], *self.team.exchange([self.instances[rows] for rows in away])])
        told = self.team.exchange([values[rows] for rows in away])
        which, place = np.unique(keys, return_inverse=True)
        best = _neutral(how, len(which), values.dtype)
        _OPERATIONS[how].at(best, place, np.concatenate([values[:0], *told]))
        came = self.team.exchange(np.split(best[place], np.cumsum([len(each) for each in told])[:-1]))
        out = values.copy()
        for rows, each in zip(away, came, strict=True):
            out[rows] = each
        return out

    def quantile(self, values: I8, part: float) -> float:
        """Return the value below which a part of those of all processes lies: between two neighbours."""
        last, ordered = self.total(len(values)) - 1, np.sort(values)
        before = int(last * part)
        ends = [self.ranked(ordered, min(rank, last)) for rank in (before, before + 1)]
        return float(np.quantile(ends, last * part - before))

    def ranked(self, values: I8, rank: int) -> int:
        """Return the value with so many before it among those of all processes in order: there must be one."""
        ordered = np.sort(values)
        bounds = np.iinfo("i8")
        low, high = self.least(int(ordered.min(initial=bounds.max))), self.most(int(ordered.max(initial=bounds.min)))
        while low < high:
            pivots = [min(low + number * ((high - low) // (_PIVOTS - 1) + 1), high) for number in range(_PIVOTS)]
            before = self.reduced(np.searchsorted(ordered, np.array(pivots, "i8"), "right"), "sum")
            first = int(np.argmax(before > rank))
            low, high = pivots[first - 1] + 1 if first else low, pivots[first]
        return low

    def weighted(self, values: F8, weight: I8, wanted: I8) -> F8:
        """Return the least of some values of all processes up to which their weights add up to as much as each that is wanted."""
        order = np.argsort(values)
        ordered, below = _in_order(values[order]), np.append(0, weight[order].cumsum())
        low = np.full(len(wanted), self.least(int(ordered.min(initial=np.iinfo("i8").max))))
        high = np.full(len(wanted), self.most(int(ordered.max(initial=np.iinfo("i8").min))))
        while (low < high).any():
            middle = (low & high) + ((low ^ high) >> 1)
            enough = self.reduced(below[np.searchsorted(ordered, middle, "right")], "sum") >= wanted
            low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
        return _in_order(low).view("f8")

    def by_key(self, key: Ints, rows: NDArray[Any]) -> NDArray[Any]:
        """Return rows, each on one process: those of one key, 0 or more, together, in no order that says anything."""
        home = key % self.team.size
        return np.concatenate(self.team.exchange([rows[home == peer] for peer in range(self.team.size)]))

    def has(self, locations: Ints) -> Mask:
        """Return which of some locations are those of this process."""
        return np.asarray((locations >= self.locations.start) & (locations < self.locations.stop))

    def in_all(self, table: str, rows: int) -> int:
        """Return how many rows all processes have together of a table."""
        return self.count[table]

    def at(self, stage: str) -> None:
        """Say what comes next."""
        self.team.stage = stage

    @property
    def spread(self) -> Mask:
        """Which instances have members on several processes."""
        return self.members < self.sizes

    def with_instance(self, places: I8, size: int) -> Part:
        """Return the share of a trace with one more instance of collectives, of so many members, those here at these places among them."""
        number, some = _BEHIND + self.count["collectives"], bool(len(places))
        home = self.team.rank if len(places) == size else number % self.team.size

        def with_one(column: I8, value: int) -> I8:
            return np.append(column, np.full(int(some), value, "i8"))

        return dataclasses.replace(
            self,
            instances=with_one(self.instances, number),
            sizes=with_one(self.sizes, size),
            members=with_one(self.members, len(places)),
            home=with_one(self.home, home),
            places=np.append(self.places, places),
            count=self.count | {"collectives": self.count["collectives"] + 1, "members": self.count["members"] + size},
        )

    def of_instances(self, sizes: I8) -> I8:
        """Return how many members each instance has, given how many it has here."""
        return self.sizes

    def leading(self, members: Ints) -> Ints:
        """Return those members, each the first here of its instance, that are the first of all of it."""
        return members[self.places[members] == 0]

    def named(self, calls: Ints) -> I8:
        """Return rows of calls as the numbers that they have in the whole trace."""
        low, count, first = self.calls.start, self.calls.stop - self.calls.start, int(self.first[self.locations.start])
        out = calls + np.int64(first - low)
        away = np.flatnonzero((calls >= 0) & ((calls < low) | (calls >= low + count)))
        out[away] = self.elsewhere[np.where(calls[away] < low, calls[away], calls[away] - count)]
        out[calls < 0] = -1
        return out

    def own(self, number: int) -> list[int]:
        """Return the row of a call, given its number in the whole trace; none if another process has it."""
        row = number - int(self.first[self.locations.start])
        return [row + self.calls.start] if 0 <= row < self.calls.stop - self.calls.start else []

    def process_of(self, call: Ints) -> I8:
        """Return the process that has each of some calls, given their numbers."""
        out = np.full(len(call), self.team.rank)
        away = np.flatnonzero(self._elsewhere(call))
        out[away] = self.process_of_location(np.searchsorted(self.first, call[away], "right") - 1)
        return out

    def _elsewhere(self, number: Ints) -> Mask:
        """Return which of some calls are none of its own, given their numbers in the whole trace; -1 is none."""
        begin, count = int(self.first[self.locations.start]), self.calls.stop - self.calls.start
        return np.asarray((number < begin) | (number >= begin + count))

    def process_of_location(self, location: Ints) -> I8:
        """Return the process that has each of some locations."""
        return np.searchsorted(self.bounds, location, "right") - 1

    def lacks(self, number: I8) -> bool:
        """Return whether it has no row for some of these calls, given their numbers in the whole trace; -1 is none."""
        other = number[(number >= 0) & self._elsewhere(number)]
        known = np.append(self.elsewhere, -1)[np.searchsorted(self.elsewhere, other)]
        return bool((known != other).any())

    def here(self, number: Ints) -> Ints:
        """Return the rows of calls, given their numbers in the whole trace: of its own, or of partners; -1 stays."""
        low, away = self.calls.start, np.flatnonzero(self._elsewhere(number))
        out = number - (int(self.first[self.locations.start]) - low)
        other = np.searchsorted(self.elsewhere, number[away])
        out[away] = np.where(number[away] < 0, -1, np.where(other < low, other, other + self.calls.stop - low))
        return out
