"""A model from the messages of a recorded trace: the shortest times tell what the machine can do, for waiting only makes them longer.

The way of a message counts from the entry of its sending call to the return of the call that receives it. Clocks that are apart by a
constant make it longer one way and shorter the other, so the mean of both directions is taken; as clocks drift, of messages at about the
same time.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.clock.latency import distance
from perwiz.errors import TraceError
from perwiz.kernels.names import NODE, SAME
from perwiz.loggps import calibrate
from perwiz.loggps.calibrate import Calibration, Curves, Line, Values
from perwiz.loggps.evidence import telling
from perwiz.loggps.model import LETTERS, Model
from perwiz.trace import operations
from perwiz.trace.arrays import F8, I4, I8, Mask
from perwiz.trace.tables import NONE, STANDARD
from perwiz.trace.trace import Trace

LEAST = 20
"""Messages that are needed."""
UNKNOWN_S = 65535
"""S where a trace cannot tell it, as in the default model."""
_HELD = "waited for a process that computed, or for another request of the same call"
_PARTS, _PART = 16, 8
"""Parts of a run at most, and messages of one size from one process to another in each of them at least."""
_SIZES, _SPAN, _OUTLIERS, _LATE, _IDLE = 64, 4, 0.1, 4, 4
"""Sizes looked at, the most frequent ones; largest over smallest that a slope needs; share of places that may be too fast; how many times
a message's way its receiver must be late for S to show; how many times the shortest send may lie between two that count as in a row."""


@dataclasses.dataclass(frozen=True, eq=False)
class Shortest:
    """The shortest time per place (a pair of processes, or one) and size; infinite where there is none."""

    size: I8
    time: F8
    """A row per place, a column per size."""

    def points(self, places: I8 | None = None) -> tuple[I8, F8]:
        """Return sizes and times over all places, or those drawn; of many places, a tenth may be too fast."""
        rows = np.sort(self.time if places is None else self.time[places], axis=0)
        count = np.isfinite(rows).sum(axis=0)
        fastest = (_OUTLIERS * np.maximum(count - 1, 0)).astype("i8")
        time = rows[fastest, np.arange(len(self.size))]
        return self.size[count > 0], time[count > 0]


@dataclasses.dataclass(frozen=True, eq=False)
class Observed:
    """What a trace shows between processes of one distance."""

    ways: Shortest
    sends: Shortest
    receives: Shortest | None
    gaps: Shortest | None
    threshold: tuple[int, int, int] | None
    """S, and the smallest and largest value it can have."""
    at_least: int
    """The largest message whose sender did not wait."""
    both: bool
    """Whether there are messages in both directions."""
    messages: int
    telling: int
    """Messages that waited neither for a process that computed nor for another request."""


def classes(trace: Trace) -> dict[str, Mask]:
    """Return which messages go inside a node, and which across nodes; without those of which there are too few.

    Raises TraceError when there are too few of either.
    """
    table, location = trace.messages, trace.calls.location
    pair = distance(trace.locations, location[table.send], location[table.receive_done])
    usual = (table.mode == STANDARD) & (pair != SAME)
    out = {"node": usual & (pair == NODE), "across": usual & (pair != NODE)}
    enough = {name: which for name, which in out.items() if which.sum() >= LEAST}
    if not enough:
        raise TraceError(f"{trace.path}: {int(usual.sum())} messages between processes, must be {LEAST} or more to calibrate from")
    return enough


def calibrated(trace: Trace, which: Mask, name: str, source: str) -> Calibration:
    """Return the model that messages of a trace show, with intervals drawn from pairs of processes."""
    observed = _observe(trace, np.flatnonzero(which))
    seen, lacking = _curves(observed, None)
    values = calibrate.parameters(seen)
    low, high = calibrate.intervals(lambda random: calibrate.parameters(_curves(observed, random)[0]))
    if observed.threshold:
        low["S"], high["S"] = map(float, observed.threshold[1:])
    conventions: dict[str, str | int] = {}
    if (seen.size > seen.threshold).sum() < 2:
        conventions["request_overheads"] = 1
        lacking.append("request_overheads")
    for letter in {LETTERS.get(key, key[0]) for key in lacking} & {"S", "O_s", "O_r", "G", "g"}:
        low.pop(letter, None), high.pop(letter, None)
    model = calibrate.build_model(name, source, values, conventions, [*lacking, "s_bytes", "acknowledge_overheads", "progress"])
    notes = (*_notes(observed, values, lacking), _faster(trace, np.flatnonzero(which), model))
    return Calibration(model, values, low, high, (), *calibrate.misfit(model, seen), notes)


def _observe(trace: Trace, rows: I8) -> Observed:
    table, times, calls = trace.messages, trace.timeline.calls, trace.calls
    every = (times.leave[table.receive_done] - times.enter[table.send]).astype("f8")
    ahead = _clock_differences(calls.location[table.send], calls.location[table.receive_done], every)
    # Ways there and back may differ for other reasons than the clocks, which are right as far as nothing comes before it is sent.
    tells = telling(trace, ahead if (every <= 0).any() else np.zeros(len(ahead)))[rows]
    send, done, size = table.send[rows], table.receive_done[rows], table.bytes[rows]
    way, ahead = every[rows], ahead[rows]
    if tells.sum() < LEAST:
        raise TraceError(f"{trace.path}: L cannot be told: {_untelling(len(rows), int(tells.sum()))}")
    often = tells & np.isin(size, _frequent(size[tells]))
    a, b = calls.location[send[often]], calls.location[done[often]]
    ways, both = _ways(a, b, size[often], way[often], times.enter[send[often]])
    kind, took = operations.KIND[calls.op], (times.leave - times.enter).astype("f8")
    alone = np.bincount(table.send, minlength=len(calls))[send] == 1
    blocking = alone & (kind[send] == operations.SEND)
    used = blocking if blocking.any() else alone & (kind[send] == operations.ISEND)
    used = used if used.any() else np.ones(len(send), bool)
    sends = _shortest(calls.location[send][used], size[used], took[send][used])
    threshold, at_least = _threshold(trace, rows, ways, blocking, ahead)
    receives = _receives(trace, rows, took)
    return Observed(ways, sends, receives, _gaps(trace, used, send, size), threshold, at_least, both, len(rows), int(tells.sum()))


def _untelling(messages: int, telling: int) -> str:
    left = "all" if not telling else f"{messages - telling} of"
    return f"{left} {messages} messages {_HELD}; must be {LEAST} or more that did not"


def _frequent(size: I8) -> I8:
    """Return the sizes of enough messages, or all if none is."""
    sizes, count = np.unique(size, return_counts=True)
    return sizes[count >= LEAST] if (count >= LEAST).any() else sizes


def _ways(a: I4, b: I4, size: I8, way: F8, time: I8) -> tuple[Shortest, bool]:
    """Return the ways per pair of processes and part of the run, means of both directions; if no pair has both, those of one."""
    low, high = np.minimum(a, b).astype("i8"), np.maximum(a, b)
    pair = low * (int(high.max()) + 1) + high
    parts = min(max(len(size) // (2 * _PART * len(np.unique(pair)) * len(np.unique(size))), 1), _PARTS)
    pair = pair * parts + (time - time.min()) * parts // (int(np.ptp(time)) + 1)
    up, down = (_shortest(pair, size, np.where(side, way, np.inf)) for side in (a < b, a > b))
    with np.errstate(invalid="ignore"):
        mean = (up.time + down.time) / 2
    mean[mean <= 0] = np.inf
    if np.isfinite(mean).any():
        return Shortest(up.size, mean), True
    return Shortest(up.size, np.maximum(np.minimum(up.time, down.time), 1.0)), False


def _shortest(place: I4 | I8, size: I8, time: F8) -> Shortest:
    sizes, count = np.unique(size, return_counts=True)
    sizes = np.sort(sizes[np.argsort(-count, kind="stable")[:_SIZES]])
    kept = np.isin(size, sizes)
    places = np.unique(place)
    out = np.full((len(places), len(sizes)), np.inf)
    np.minimum.at(out, (np.searchsorted(places, place[kept]), np.searchsorted(sizes, size[kept])), time[kept])
    return Shortest(sizes, out)


def _receives(trace: Trace, rows: I8, took: F8) -> Shortest | None:
    """Return the times of calls that complete one receive and nothing else, the blocking receives if there are any."""
    table, calls = trace.messages, trace.calls
    done = table.receive_done[rows]
    completed = np.bincount(table.receive_done, minlength=len(calls))
    finished = table.send_done[(table.send_done != NONE) & (table.send_done != table.send)]
    completed += np.bincount(finished, minlength=len(calls))
    alone = completed[done] == 1
    blocking = alone & (operations.KIND[calls.op[done]] == operations.RECV)
    used = blocking if blocking.any() else alone & (operations.KIND[calls.op[done]] != operations.SENDRECV)
    if not used.any():
        return None
    return _shortest(calls.location[done][used], table.bytes[rows][used], took[done][used])


def _gaps(trace: Trace, used: Mask, send: I4, size: I8) -> Shortest | None:
    """Return the times between the returns of sends that follow each other almost at once; the size is that of the first."""
    times, location = trace.timeline.calls, trace.calls.location
    is_send = np.zeros(len(trace.calls), bool)
    is_send[send[used]] = True
    bytes_ = np.zeros(len(trace.calls), "i8")
    bytes_[send] = size
    shortest = (times.leave - times.enter)[is_send].min(initial=1 << 40)
    soon = times.enter[1:] - times.leave[:-1] <= _IDLE * shortest
    first = np.flatnonzero(is_send[:-1] & is_send[1:] & (location[:-1] == location[1:]) & soon)
    if len(first) < LEAST:
        return None
    return _shortest(location[first], bytes_[first], (times.leave[first + 1] - times.leave[first]).astype("f8"))


def _clock_differences(a: I4, b: I4, way: F8) -> F8:
    """Return per message how far the receiver's clock is ahead of the sender's, by the shortest ways there and back; 0 if none is back.

    from        0   0   1   2
    to          1   1   0   0
    way        30  26   6   9
    ahead      10  10 -10   0
    """
    locations = int(max(a.max(), b.max())) + 1
    forth, back = a.astype("i8") * locations + b, b.astype("i8") * locations + a
    channels, channel = np.unique(forth, return_inverse=True)
    shortest = np.full(len(channels), np.inf)
    np.minimum.at(shortest, channel, way)
    opposite = np.minimum(np.searchsorted(channels, back), len(channels) - 1)
    return np.where(channels[opposite] == back, (shortest[channel] - shortest[opposite]) / 2, 0.0)


def _threshold(trace: Trace, rows: I8, ways: Shortest, blocking: Mask, ahead: F8) -> tuple[tuple[int, int, int] | None, int]:
    """Return S, None if no sender seems to wait, and the largest message whose sender did not wait for its late receiver.

    An eager send may be held up by something else, but one that waits for its receiver never returns before: a tenth that do is enough.
    """
    table, times = trace.messages, trace.timeline.calls
    send, size = table.send[rows], table.bytes[rows]
    late = times.enter[table.receive[rows]] - times.enter[send] - ahead
    k, way = ways.points()
    seen = late > _LATE * np.interp(size, k, np.maximum.accumulate(way))
    sizes, row = np.unique(size, return_inverse=True)
    soon = seen & (table.send_done[rows] != NONE) & (times.leave[table.send_done[rows]] - times.enter[send] < late / 2)
    waited = seen & blocking & (times.leave[send] - times.enter[send] >= 0.9 * late)
    early, held = (np.bincount(row, which, len(sizes)) for which in (soon, waited))
    eager = early >= np.maximum(1, (early + held) * 0.1)
    told = eager | (held >= 3)
    at_least = int(sizes[eager].max(initial=0))
    return (calibrate.find_threshold(sizes[told], eager[told]) if (told & ~eager).any() else None), at_least


def _curves(observed: Observed, random: np.random.Generator | None) -> tuple[Curves, list[str]]:
    """Return the curves of all places, or of places drawn by chance, and the keys they say nothing about."""
    k, way = _drawn(observed.ways, random)
    threshold = observed.threshold[0] if observed.threshold else max(UNKNOWN_S, observed.at_least)
    eager = k <= threshold if (k <= threshold).any() else k <= k[0]
    line = calibrate.fit_below(k[eager], way[eager])
    sends = _line(observed.sends, random, threshold)
    receives = _line(observed.receives, random, threshold) if observed.receives else sends
    gaps = Line(_line(observed.gaps, random, threshold).first, np.inf) if observed.gaps else None
    wide, lacking = k[-1] >= _SPAN * max(int(k[0]), 1), [] if observed.threshold else ["S_bytes"]
    if not wide:
        sends, receives = Line(sends.first, 0.0), Line(receives.first, 0.0)
        lacking += ["G_ns_per_byte", "O_s_ns_per_byte", "O_r_ns_per_byte"]
    corner = np.concatenate([np.flatnonzero(part)[calibrate.lower_hull(k[part], way[part])] for part in (eager, ~eager) if part.any()])
    seen = Curves(k[corner], way[corner] if wide else np.full(len(corner), line.first), line.first, sends, receives, gaps, threshold)
    return seen, lacking if gaps else [*lacking, "g_ns"]


def _drawn(shortest: Shortest, random: np.random.Generator | None) -> tuple[I8, F8]:
    """Return the shortest times of all places, or of places drawn by chance; a longer message is not faster."""
    count = len(shortest.time)
    k, time = shortest.points(random.integers(0, count, size=count) if random else None)
    if not len(k):
        k, time = shortest.points()
    return k, np.minimum.accumulate(time[::-1])[::-1]


def _line(shortest: Shortest, random: np.random.Generator | None, threshold: int) -> Line:
    k, time = _drawn(shortest, random)
    eager = k <= threshold if (k <= threshold).any() else k <= k[0]
    line = calibrate.fit_below(k[eager], time[eager])
    return line if k[eager][-1] >= _SPAN * max(int(k[0]), 1) else Line(line.first, 0.0)


def _notes(observed: Observed, values: Values, lacking: list[str]) -> tuple[str, ...]:
    out = []
    if observed.telling < observed.messages / 2:
        out.append(f"{observed.messages - observed.telling} of {observed.messages} messages {_HELD}, and tell nothing of L and G")
    if "S_bytes" in lacking:
        shown = f"; the largest that did not: {observed.at_least} bytes" if observed.at_least else ""
        out.append(f"no sender can be seen to wait for a late receiver, so S is not known{shown}")
    if "G_ns_per_byte" in lacking:
        out.append("messages of about one size only: what a byte costs is not known")
    if not observed.receives:
        out.append("no call completes one receive alone, so o_r is taken to be o_s")
    if not observed.both:
        out.append("messages tell of one direction only, so L is as wrong as the clocks are")
    if values["L"] == 0:
        out.append("overheads alone take longer than a short message's way: they are lowered to it, and L is 0")
    return tuple(out)


def _faster(trace: Trace, rows: I8, model: Model) -> str:
    table, times = trace.messages, trace.timeline.calls
    took = times.leave[table.receive_done[rows]] - times.enter[table.send[rows]]
    return f"{int((took < calibrate.way(model, table.bytes[rows])).sum())} of {len(rows)} messages came faster than this model says"
