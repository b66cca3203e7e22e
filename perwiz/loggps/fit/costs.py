"""What messages cost by class of pairs and size: overheads from single calls, latency and a byte's cost from what these leave of the ways.

Waiting, and whatever disturbs a process, only makes times longer; so lines are laid below the shortest times. A byte's cost is told apart
as Hoefler et al. do in Netgauge (2007).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from perwiz import words
from perwiz.kernels.names import NODE
from perwiz.loggps.fit import shortest
from perwiz.loggps.fit.errors import errors
from perwiz.loggps.fit.lines import NEAR, fit_below, fit_line, fit_segments
from perwiz.loggps.fit.shortest import CallTimes, Points
from perwiz.loggps.fit.ways import Ways
from perwiz.loggps.keys import LETTERS, NO_LIMIT, PAIRS, of_class
from perwiz.loggps.machine import Estimate, Unknown
from perwiz.loggps.model import Costs, Model
from perwiz.trace import operations
from perwiz.trace.arrays import F8, I8, Mask
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

FEW = 20
"""Messages from which on they tell; what fewer tell may be far too much."""
_FITS = 0.1
"""Part of a message's way by which a line may miss it."""
_NEXT = 2
"""The smallest message that waits over the largest that does not, at most, for the difference to tell what the handshake takes."""
_APART = 0.1
"""Part of its way that a message of one class of pairs takes longer at least than one of another with costs of its own."""


_LATENCIES = 3
"""L in the way of a message that waits for its receiver: REQ, ACK and data."""


@dataclasses.dataclass(frozen=True)
class FittedCosts:
    """Rows of the model, what tells them, and what nothing tells."""

    rows: tuple[Costs, ...]
    estimates: tuple[Estimate, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    request_overheads: int | None = None
    """None if no message tells it."""
    seen: tuple[Seen, ...] = ()
    """By class of pairs, what the rows were laid through."""
    off: Mapping[str, Mapping[str, float]] = dataclasses.field(default_factory=dict)
    """By class of pairs and letter: standard errors, ns or ns per byte."""


@dataclasses.dataclass(frozen=True)
class Handshake:
    """What a message that waits for its receiver costs beyond an eager one: overheads, and two L."""

    request: int
    """o_r's to handle a REQ."""
    acknowledge: int
    """Overheads of an ACK, both ends together."""

    def rest(self, row: Costs, points: Points) -> F8:
        """Return what overheads leave of ways: 3 L + (k - 1) G."""
        more = row.o_s + self.request * row.o_r + self.acknowledge * (row.o_s + row.o_r) / 2
        return np.maximum(points.time - _at_ends(row, points.size) - more, 0.0)


@dataclasses.dataclass(frozen=True, eq=False)
class Seen:
    """What was seen of messages between locations of one class of pairs, or of all: shortest times by size, ns."""

    pairs: str
    eager: Points
    """Ways of messages that do not wait for their receiver."""
    waiting: Points
    """Of those that do."""
    sending: Points
    """Of calls that send one message and do not wait; none if there is no such call."""
    receiving: Points
    """Of calls that receive one message that had come; none if there is no such call."""
    sends_most: float
    """The shortest of any calls that send one."""
    receives_most: float
    """The shortest of any calls that receive one."""
    shortest: float
    """The shortest way of all, whether it tells or not, or round of a collective, ns."""
    messages: int
    """All there are, whether they tell or not."""
    compared: bool = True
    """Whether enough of those that tell went between clocks that are one or were compared."""

    @property
    def told(self) -> int:
        """Messages that tell how long one takes."""
        return self.eager.told + self.waiting.told


def fitted_costs(trace: Trace, ways: Ways, waits: Mask, base: Model, measured: bool) -> FittedCosts:
    """Return what messages cost; `waits` tells which wait for their receiver. What nothing tells `base` does, which may be `measured`."""
    seen = by_class(trace, ways, waits)
    if not seen:
        return _without_messages(trace, base, measured)
    usual = max(seen, key=lambda one: one.messages)
    asked = requests(usual, _own(usual, base, measured), base.acknowledge_overheads) if usual.told >= FEW else None
    handshake = Handshake(base.request_overheads if asked is None else asked, base.acknowledge_overheads)
    found = [_fitted(one, base, handshake, measured) for one in seen]
    rows, estimates, unknown = (tuple(each for one in found for each in getattr(one, name)) for name in ("rows", "estimates", "unknown"))
    if asked is not None:
        estimates = (*estimates, Estimate("request_overheads", "", asked, usual.waiting.told, 0))
    off = {pairs: each for one in found for pairs, each in one.off.items()}
    off = {"": off[usual.pairs], **off} if usual.pairs in off else off
    return FittedCosts((*everywhere(rows, usual.pairs), *rows), estimates, unknown, asked, tuple(seen), off)


def everywhere(rows: Sequence[Costs], usual: str) -> tuple[Costs, ...]:
    """Return the rows of a class of pairs as those of all pairs, which a model must have; none if rows are of all pairs already."""
    return tuple(dataclasses.replace(row, pairs="") for row in rows if usual and row.pairs == usual)


def _own(seen: Seen, base: Model, measured: bool) -> Costs:
    """Return the row that has what nothing tells: without being measured, a byte's cost is none."""
    row = base.rows_of(seen.pairs)[0]
    return row if measured else dataclasses.replace(row, G=0.0)


def by_class(trace: Trace, ways: Ways, waits: Mask) -> list[Seen]:
    """Return what was seen by class of pairs if these take different times, else together; empty without messages."""
    share = ways.share
    if not share.any(len(ways.row)):
        return []
    calls, came = shortest.call_times(trace, ways), _came(trace, ways)
    numbers = share.distinct(ways.pairs).tolist()
    if len(numbers) > 1:
        classes = [_seen(trace, ways, waits, ways.pairs == number, PAIRS[number - NODE], calls, came) for number in numbers]
        if all(_apart(one, other) for one, other in itertools.pairwise(classes)):
            return classes
    every = _seen(trace, ways, waits, np.ones(len(ways.row), bool), "", calls, came)
    compared = not share.any(not ways.compared.all())
    return [dataclasses.replace(every, shortest=min(every.shortest, _shortest_round(trace) if compared else np.inf))]


def _shortest_round(trace: Trace) -> float:
    """Return what a round of the fastest collective took in which all wait for all, from the last entry on, ns; infinite if there is none.

    It has a message in it, of at least one byte.
    """
    members, times, table, share = trace.members, trace.timeline.calls, trace.collectives, trace.share
    if not share.any(len(table)):
        return np.inf
    size = share.of_instances(np.diff(np.append(table.first_member, len(members))))
    ends = times.enter[members.call], np.where(members.done != NONE, times.leave[members.done], 0)
    entered, left = (share.over_instances(np.maximum.reduceat(end, table.first_member), "max") for end in ends)
    all_wait = (
        ((operations.KIND == operations.N_TO_N) & operations.OF_PROCESSES)[table.op]
        & (size > 1)
        & (left > entered)
        & ~np.isin(table.op, operations.FINALIZES)
    )
    return share.shortest((left - entered)[all_wait] / np.frexp(size[all_wait] - 1.0)[1])


def _came(trace: Trace, ways: Ways) -> Mask:
    """Return which messages had come before they were received: as late as the shortest way of their size is long, or later."""
    home = ways.home
    every = shortest.points(ways.place[home], ways.bytes[home], np.maximum(ways.way[home], 1.0), ways.share)
    times, table = trace.timeline.calls, trace.messages
    late = times.enter[table.receive_done[ways.row]] - times.enter[table.send[ways.row]] - ways.ahead
    return np.asarray(late > np.interp(ways.bytes, every.size, every.time))


def _seen(trace: Trace, ways: Ways, waits: Mask, which: Mask, pairs: str, calls: CallTimes, came: Mask) -> Seen:
    posts, share = operations.KIND[trace.calls.op[trace.messages.send[ways.row]]] == operations.ISEND, ways.share
    sent, received, home = (which & here for here in (ways.sent, ways.received, ways.home))
    return Seen(
        pairs=pairs,
        eager=shortest.ways(ways, which & ~waits),
        waiting=shortest.ways(ways, which & waits),
        sending=calls.sends(ways, which & (~waits | posts)),
        receiving=calls.receives(ways, which & ~waits & came),
        sends_most=share.shortest(calls.send[sent]),
        receives_most=share.shortest(calls.receive[received]),
        shortest=share.shortest(np.maximum(ways.way[home], 0.0)),
        messages=share.total(int(home.sum())),
        compared=share.total(int((home & ways.tells & ways.compared).sum())) >= FEW,
    )


def _apart(one: Seen, other: Seen) -> bool:
    """Return whether messages of two classes take different times, by more than the pairs of each class differ."""
    for a, b in ((one.eager, other.eager), (one.waiting, other.waiting)):
        if min(a.told, b.told) >= FEW:
            low, high = max(a.size[0], b.size[0]), min(a.size[-1], b.size[-1])
            both = np.union1d(a.size, b.size)
            sizes = both[(both >= low) & (both <= high)] if low <= high else np.array([low, high])
            longer = float(np.median(np.log(np.interp(sizes, b.size, b.time) / np.interp(sizes, a.size, a.time))))
            if abs(longer) > max(np.log1p(_APART), a.spread + b.spread):
                return True
    return False


def _fitted(seen: Seen, base: Model, handshake: Handshake, measured: bool) -> FittedCosts:
    if measured and seen.told < FEW:
        return FittedCosts(tuple(dataclasses.replace(row, pairs=seen.pairs) for row in base.rows_of(seen.pairs)))
    own = _own(seen, base, measured)
    if not seen.told or (seen.told < FEW <= seen.messages):
        ends = _at_both_ends(seen, own, seen.shortest, None)
        row = _with(own, pairs=seen.pairs, **ends, L=min(own.L, max(seen.shortest - ends["o_s"] - ends["o_r"], 0.0)))
        return FittedCosts((row,), unknown=(_unknown(seen.pairs, {"L": (0.0, seen.shortest)}, _few(seen)),))
    rows = cost_rows(seen, own, handshake)
    ways, latencies = (seen.eager, 1) if seen.eager.told else (seen.waiting, _LATENCIES)
    off = errors(ways, latencies, seen.sending, seen.receiving, rows) if seen.told >= FEW else {}
    if measured:
        return FittedCosts((*rows, *_beyond(seen, base)), _estimates(seen, rows[0], off), off={seen.pairs: off})
    return FittedCosts(rows, _estimates(seen, rows[0], off), tuple(_doubts(seen, rows[0])), off={seen.pairs: off})


def _beyond(seen: Seen, base: Model) -> Iterator[Costs]:
    """Yield the rows of a measured model that messages larger than any seen meet."""
    first = max(int(points.size[-1]) for points in (seen.eager, seen.waiting) if points.told) + 1
    rows = base.rows_of(seen.pairs)
    yield dataclasses.replace([row for row in rows if row.from_bytes <= first][-1], pairs=seen.pairs, from_bytes=first)
    yield from (dataclasses.replace(row, pairs=seen.pairs) for row in rows if row.from_bytes > first)


def _with(row: Costs, **letters: Any) -> Costs:
    """Return a row with other letters, rounded to what can be told apart, none beyond what a model may have: wrong clocks say more."""
    digits = {letter: 4 if letter[0] in "GO" else 1 for letter in LETTERS.values()}
    return dataclasses.replace(
        row, **{letter: round(min(value, NO_LIMIT), digits[letter]) if letter in digits else value for letter, value in letters.items()}
    )


def _few(seen: Seen) -> str:
    """Return why too few messages tell: because there are few, or because most were disturbed."""
    if seen.messages < FEW:
        return f"no evidence: {words.several(seen.messages, 'message')}, must be {FEW} or more to tell"
    held = "waited for a process that computed, or for another request of the same call"
    return f"bad evidence: {seen.messages - seen.told} of {seen.messages} messages {held}"


def _estimates(seen: Seen, row: Costs, off: Mapping[str, float]) -> tuple[Estimate, ...]:
    """Return what messages tell of the first row of a class."""
    ways = seen.eager if seen.eager.told else seen.waiting
    by = {"L": ways, "o_s": seen.sending, "o_r": seen.receiving, "G": ways, "O_s": seen.sending, "O_r": seen.receiving}
    told = [(letter, points) for letter, points in by.items() if points.told and (letter[0] not in "GO" or points.wide)]
    key = {letter: key for key, letter in LETTERS.items()}
    return tuple(
        Estimate(key[letter], seen.pairs, getattr(row, letter), points.told, 0, round(off[letter], 4) if off else None)
        for letter, points in told
    )


def _doubts(seen: Seen, row: Costs) -> Iterator[Unknown]:
    """Yield what messages leave open of the costs of a class."""
    ways = seen.eager if seen.eager.told else seen.waiting
    k = max(int(ways.size[0]) - 1, 0)
    if seen.told < FEW:
        yield _unknown(seen.pairs, {"L": (0.0, row.L)}, _few(seen))
    elif not seen.compared:
        both = f"messages there and back tell no more than that it takes {words.duration(round(2 * row.L))} both ways together"
        yield _unknown(seen.pairs, {"L": (0.0, 2 * row.L)}, f"nobody compared the clocks, or they are wrong: {both}")
    if not ways.wide and k and row.L and not (seen.eager.told and seen.waiting.told):
        yield _unknown(seen.pairs, {"G": (0.0, row.L / k), "L": (row.L, 0.0)}, "no evidence: all messages that tell are of about one size")
    if (not seen.receiving.told or seen.told < FEW) and np.isfinite(seen.receives_most):
        most = row.o_r if seen.receiving.told else min(seen.receives_most, row.o_r + row.L)
        ends = {"o_r": (0.0, most), "L": (row.L + row.o_r, row.L + row.o_r - most)}
        none = "no evidence: no message had come before a call received it alone"
        yield _unknown(seen.pairs, ends, _few(seen) if seen.receiving.told else none)


def _unknown(pairs: str, letters: dict[str, tuple[float, float]], why: str) -> Unknown:
    """Return what is unknown of the first of some letters; the others change with it. No ends are the same."""
    keys = {letter: of_class(pairs, key) for key, letter in LETTERS.items()}
    digits = {letter: 4 if letter[0] in "GO" else 1 for letter in letters}
    ends = [",".join(f"{keys[letter]}={min(each[end], NO_LIMIT):.{digits[letter]}f}" for letter, each in letters.items()) for end in (1, 0)]
    return Unknown(keys[next(iter(letters))].rpartition(":")[2], pairs, tuple(ends) if ends[0] != ends[1] else (), why)


def _without_messages(trace: Trace, base: Model, measured: bool) -> FittedCosts:
    """Return the costs where no process sends to another: those of `base`; what collectives take is more than their rounds' latencies."""
    if measured:
        return FittedCosts(base.costs)
    most, why = float(trace.timeline.makespan), "no evidence: no process sends to another, nor do all wait for each other"
    if np.isfinite(shortest := _shortest_round(trace)):
        most, why = shortest, "no evidence: no process sends to another; a round of the fastest collective took no longer"
    row = dataclasses.replace(base.costs[0], L=min(base.costs[0].L, most), G=0.0)
    bounded = (_unknown("", {letter: (0.0, most)}, why) for letter in ("L", "o_s", "o_r"))
    return FittedCosts((row,), unknown=(*bounded, Unknown("G_ns_per_byte", "", (), "no evidence: no process sends to another")))


def requests(seen: Seen, own: Costs, acknowledge: int) -> int | None:
    """Return how many o_r handling a REQ takes, by how much longer messages that wait for their receiver take; None if none tells."""
    after = seen.waiting
    if not seen.eager.told or not after.told or after.size[0] <= seen.eager.size[-1]:
        return None
    row = _eager_rows(seen.eager, _first_row(seen, seen.eager, own), own.G)[-1]
    left = np.maximum(Handshake(0, acknowledge).rest(row, after) - _LATENCIES * row.L - row.G * (after.size - 1), 0.0)
    near = after.size[0] <= _NEXT * max(int(seen.eager.size[-1]), 1)
    if row.o_r <= 0 or not (after.wide or near):
        return None
    return round((fit_line(after.size, left, after.time).first if after.wide else float(left[0])) / row.o_r)


def cost_rows(seen: Seen, own: Costs, handshake: Handshake) -> tuple[Costs, ...]:
    """Return the rows of a class of pairs: one for all sizes, and more where one line does not fit; `own` has what is not seen."""
    if not seen.eager.told:
        row = _first_row(seen, seen.waiting, own)
        return tuple(_pieces(row, seen.waiting, handshake.rest(row, seen.waiting), _LATENCIES, own.G))
    row = _first_row(seen, seen.eager, own)
    rows = _eager_rows(seen.eager, row, own.G)
    after, high = seen.waiting, int(seen.eager.size[-1])
    if after.told and after.size[0] > high:
        rest = handshake.rest(row, after)
        off = np.abs(_LATENCIES * rows[-1].L + rows[-1].G * (after.size - 1) - rest)
        if (off > _FITS * after.time).any():
            known = max(float(rest[0]) - _LATENCIES * rows[-1].L, 0.0) / max(int(after.size[0]) - 1, 1)
            rows += [_with(each, from_bytes=max(each.from_bytes, high + 1)) for each in _pieces(row, after, rest, _LATENCIES, known)]
    return tuple(rows)


def _first_row(seen: Seen, points: Points, own: Costs) -> Costs:
    """Return the overheads of a class of pairs, as a row."""
    slope = fit_line(points.size, points.time).slope if points.wide else None
    first = float(points.time[0]) - (slope or 0.0) * max(int(points.size[0]) - 1, 0)
    return _with(own, **_at_both_ends(seen, own, first, slope), pairs=seen.pairs, from_bytes=0)


def _eager_rows(points: Points, row: Costs, known: float) -> list[Costs]:
    return _pieces(row, points, np.maximum(points.time - _at_ends(row, points.size), 0.0), 1, known)


def _pieces(row: Costs, points: Points, rest: F8, times: int, known: float) -> list[Costs]:
    """Return rows with the L and G of what overheads leave of ways, `times` L in all: one per piece of sizes.

    Of sizes too near each other G is `known`.
    """
    often = points.often if points[points.often].wide else np.ones(len(points.size), bool)
    if not points.wide:
        k, left = max(int(points.size[0]) - 1, 0), float(rest[0])
        slope = min(known, left / k) if k else 0.0
        return [_with(row, L=(left - slope * k) / times, G=slope)]
    pieces = fit_segments(points.size[often], rest[often], points.time[often], max(NEAR, points.error))
    rows = [_with(row, L=piece.line.first / times, G=piece.line.slope, from_bytes=piece.low) for piece in pieces]
    return [_with(rows[0], from_bytes=0), *rows[1:]]


def _at_both_ends(seen: Seen, own: Costs, first: float, slope: float | None) -> dict[str, float]:
    """Return o_s, o_r, O_s and O_r as calls tell them, as far as a way has room for them: `first` ns for a byte, and `slope` for each more.
    A line through ways that get much longer may begin below 0: then a byte takes none.

    What no call tells is that of `own`, but no longer than any call, and at the receiver no more than half of what the sender leaves.
    """
    first = max(first, 0.0)
    o_s, more_s = _of_calls(seen.sending, min(own.o_s, seen.sends_most))
    o_r, more_r = _of_calls(seen.receiving, min(own.o_r, seen.receives_most, max(first - o_s, 0.0) / 2))
    o_r = min(o_r, first)
    share = min(1.0, slope / (more_s + more_r)) if slope is not None and more_s + more_r > 0 else 1.0
    return {"o_s": min(o_s, first - o_r), "o_r": o_r, "O_s": more_s * share, "O_r": more_r * share}


def _of_calls(points: Points, own: float) -> tuple[float, float]:
    """Return what calls take, and what they take longer per byte; `own` where there are none."""
    if not points.told:
        return own, 0.0
    if not points.wide:
        return float(points.time[0]), 0.0
    line = fit_below(points.size, points.time)
    return max(line.first - line.slope, 0.0), line.slope


def _at_ends(row: Costs, k: I8) -> F8:
    return np.asarray(row.o_s + row.o_r + (row.O_s + row.O_r) * k, "f8")
