"""From which instant to which two runs are compared: what `--from` and `--to` name, and when that is in each run."""

from __future__ import annotations

import dataclasses
import re

import numpy as np

from perwiz import words
from perwiz.errors import UsageError
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Ints
from perwiz.trace.tables import Times
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.compare.align import Alignment

_CALL = re.compile("e(0|[1-9][0-9]{0,17})")
_KEYWORDS = {"--from": "start, begun, init", "--to": "end"}


@dataclasses.dataclass(frozen=True)
class Bound:
    """One end of what is compared, in each run."""

    word: str
    """`start`, `begun`, `init`, `end`, `common`, a call of the first run, or a region or routine of both."""
    times: tuple[int, int]
    """ns."""
    locations: tuple[int, int]
    """The location that makes it so: row of the locations of each run, -1 without any."""


def bounds(first: Trace, second: Trace, pairs: Alignment, start: str | None, stop: str | None) -> tuple[Bound, Bound]:
    """Return where the comparison of two runs begins and ends in each.

    By default it begins when the last process has left MPI_Init and ends with the run. Where only one of both shows MPI_Init, or
    MPI_Finalize, it begins or ends with the calls that both have: formats differ in what they record. Parts of two runs are compared from
    when their last process has begun. Raises UsageError, also where only one of both goes on behind MPI_Init.
    """
    both, asked = (first, second), start is not None or stop is not None
    if start is None and first.part and second.part:
        start = "begun"
    elif start is None:
        start = _default([len(selectors.init_calls(trace)) > 0 for trace in both], "init", "start", pairs)
    if stop is None:
        stop = _default([len(selectors.finalize_calls(trace)) > 0 for trace in both], "end", "end", pairs)
    short = [trace for trace in both if not asked and start == "init" and _ends_in_init(trace)]
    if len(short) == 1:
        raise UsageError(f"{short[0].path}: no call behind MPI_Init, must have some to be compared (did its run hang?)")
    begin, end = _bound("--from", both, pairs, start), _bound("--to", both, pairs, stop)
    for trace, early, late in zip(both, begin.times, end.times, strict=True):
        if late < early or (late == early and stop != "end"):
            raise UsageError(f"--from {start} --to {stop}: nothing lies between them in {trace.path}, must be in the order of time")
    return begin, end


def _ends_in_init(trace: Trace) -> bool:
    """Return whether no call was entered once the last process had left MPI_Init."""
    calls = trace.timeline.calls
    return not (calls.enter >= calls.leave[selectors.init_calls(trace)].max()).any()


def predicted_part(first: Trace, second: Trace, begin: Bound, end: Bound) -> list[tuple[int, int]] | None:
    """Return from when to when, ns, each run shows what the span of a prediction is about; None if less of the runs is compared.

    That is the run without what happens once: neither the start of its processes, up to the last return of MPI_Init, nor its end, from
    the last entry of MPI_Finalize on. What only one run shows of these is left to the bounds.
    """
    if begin.word not in ("start", "begun", "init", "common") or end.word not in ("end", "common"):
        return None
    out = []
    inits, ends = ([rows(trace) for trace in (first, second)] for rows in (selectors.init_calls, selectors.finalize_calls))
    for k, trace in enumerate((first, second)):
        start, stop, calls = begin.times[k], end.times[k], trace.timeline.calls
        if all(map(len, inits)):
            start = int(calls.leave[inits[k]].max())
        if all(map(len, ends)) and end.word == "end":
            stop = int(calls.enter[ends[k]].max())
        out.append((start, stop))
    return out if all(start <= stop for start, stop in out) else None


def _default(shown: list[bool], by_both: str, by_none: str, pairs: Alignment) -> str:
    if shown[0] != shown[1] and len(pairs.first):
        return "common"
    return by_both if all(shown) else by_none


def _bound(option: str, both: tuple[Trace, Trace], pairs: Alignment, word: str) -> Bound:
    """Return the instant that a word names: of several the first for --from, the last for --to."""
    rows = _calls(option, both, pairs, word)
    ends = []
    for side, trace in enumerate(both):
        time, location = _moments(option, trace, word, None if rows is None else rows[side])
        latest = option == "--to" or word in ("init", "begun")
        k = int(time.argmax() if latest else time.argmin()) if len(time) else -1
        ends.append((int(time[k]), int(location[k])) if len(time) else (0, -1))
    (one, here), (other, there) = ends
    return Bound(word, (one, other), (here, there))


def _calls(option: str, both: tuple[Trace, Trace], pairs: Alignment, word: str) -> tuple[Ints, Ints] | None:
    """Return the calls of each run that a word names, those that both have or one of them; None if it names something else."""
    if word == "common":
        return pairs.first, pairs.second
    if not _CALL.fullmatch(word):
        return None
    first, second = both
    row = int(word[1:])
    if row >= len(first.calls):
        raise UsageError(f"{option} {word}: no such call, {first.path} has calls e0 to e{len(first.calls) - 1}")
    pair = np.flatnonzero(pairs.first == row)
    if not len(pair):
        raise UsageError(f"{option} {word}: {second.path} does not have this call, must be one of both runs")
    return pairs.first[pair], pairs.second[pair]


def _moments(option: str, trace: Trace, word: str, calls: Ints | None) -> tuple[I8, Ints]:
    """Return instants, ns, and their locations: of `calls`, or of what else a word names; entries for --from, returns for --to."""
    times, enter = trace.timeline, option == "--from"
    if calls is not None or word == "init":
        rows = selectors.init_calls(trace) if calls is None else calls
        if not len(rows):
            raise UsageError(f"{option} init: {trace.path} shows no MPI_Init, must be start, a call, a region or a routine")
        return _side(times.calls, enter and word == "common")[rows], trace.calls.location[rows]
    if word in ("start", "begun", "end") and word in _KEYWORDS[option]:
        return _side(times.locations, enter), np.arange(len(trace.locations))
    regions, rows = _named(option, trace, word)
    table, its = (trace.regions, times.regions) if regions else (trace.calls, times.calls)
    return _side(its, enter)[rows], table.location[rows]


def _side(times: Times, enter: bool) -> I8:
    return times.enter if enter else times.leave


def _named(option: str, trace: Trace, word: str) -> tuple[bool, I8]:
    """Return the instances of a user region, or the calls of a routine: whether regions, and rows. `#k` are the k-th on each process."""
    name, mark, number = word.rpartition("#") if "#" in word and word not in trace.names else (word, "", "")
    is_region, op = name in trace.names, operations.find(name)
    if is_region:
        rows = selectors.instances(trace, name)
        count = trace.regions.instance[rows]
    else:
        rows = np.flatnonzero(trace.calls.op == (-1 if op is None else op))
        place = trace.calls.location[rows]
        count = np.arange(len(rows)) - np.searchsorted(place, place) + 1
    chosen = rows if not mark else rows[count == (int(number) if re.fullmatch("[0-9]{1,9}", number) else -1)]
    if not len(chosen):
        known = [*trace.names, *(operations.OPS[k] for k in np.unique(trace.calls.op))]
        if len(rows):
            raise UsageError(f"{option} {word}: {trace.path} has {name}#1 to {name}#{count.max()}, must be one of them")
        hint = words.meant(name, known)
        raise UsageError(f"{option} {word}: not in {trace.path}, must be {_KEYWORDS[option]}, a call, a region or a routine of both{hint}")
    return is_region, chosen
