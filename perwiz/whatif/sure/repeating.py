"""What repeats in a run: which computation, and which calls, are the same, and which are alike; in a part of it as in the whole."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.trace.arrays import F8, I4, I8, Mask, chunks
from perwiz.trace.numbers import Numbers, first_of
from perwiz.trace.parts.iterations import Iterations, find
from perwiz.trace.resources import EDGES_OF_CALL, graphs_at_once
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif.sure.parts import LEAST


@dataclasses.dataclass(frozen=True, eq=False)
class Same:
    """What is the same and what is alike, per piece of a run."""

    own: I4
    """The same: a group each."""
    routine: I4
    """Per call, if it is in a group that several processes may have: a number of it, the same everywhere; -1 elsewhere."""
    routines: int
    """How many of these numbers there may be."""
    like: I4
    """Alike: a number each; -1 of what another process has."""
    kinds: int
    """How many kinds are not alike, on all processes."""


def repeating(trace: Trace, computed: I8, here: Mask, iterations: Iterations | None) -> tuple[Iterations, Same]:
    """Return the iterations, looked for if not given, and what is the same and alike, given how long computation is, and what is here."""
    tasks = (
        lambda: find(trace) if iterations is None else iterations,
        lambda: _computation(trace, computed, here[: len(computed)]),
        lambda: _calls(trace, here[len(computed) :]),
    )
    found, (own, like, kinds), (own_calls, routine, like_calls, routines) = graphs_at_once(
        tasks, EDGES_OF_CALL * len(trace.calls), in_order=trace.share.team is not None
    )
    own_calls += own.max(initial=-1) + np.int32(1)
    like_calls += like.max(initial=-1) + np.int32(1)
    like_calls[~here[len(computed) :]] = NONE
    return found, Same(np.concatenate([own, own_calls]), routine, routines, np.concatenate([like, like_calls]), kinds + routines)


def _alike(group: I4, length: I8) -> I4:
    """Return groups split where one takes a multiple of the other: then it has more to do. Steps of a factor 2 around the geometric mean.

    lengths 10 14 12 of one group stay together, of 10 14 12 200 the last is on its own.
    """
    groups = int(group.max(initial=-1)) + 1
    count, total, numbers, out = np.zeros(groups, "i8"), np.zeros(groups), Numbers(), np.empty(len(group), "i4")
    for some in chunks(len(group)):
        np.add.at(count, group[some], 1)
        np.add.at(total, group[some], _log(length[some]))
    mean = total / np.maximum(count, 1)
    for some in chunks(len(group)):
        out[some] = numbers.number(group[some], np.rint(_log(length[some]) - mean[group[some]]).astype("i8"))
    return out


def _log(length: I8) -> F8:
    return np.log2(np.maximum(length, 1))


def lengths(trace: Trace) -> I8:
    """Return the time up to each call, and behind the last of each location, ns."""
    times, first, each = trace.timeline, trace.first_calls, np.arange(len(trace.locations))
    row = np.arange(len(trace.calls), dtype="i4") + trace.calls.location
    out = np.empty(len(trace.calls) + len(each), "i8")
    out[row], out[first[1:] + each] = times.calls.enter, times.locations.leave
    out[row + 1] -= times.calls.leave
    out[first[:-1] + each] -= times.locations.enter
    return out


def same_computation(trace: Trace) -> I4:
    """Return which computation is the same, a number each: on one location, between calls of one routine, place and partner."""
    return _on_location(trace, Numbers().number(_places(trace), trace.calls.peer))


def _on_location(trace: Trace, kind: I4) -> I4:
    location = np.repeat(np.arange(len(trace.locations), dtype="i4"), np.diff(trace.first_calls) + 1)
    return Numbers().number(location, Numbers().number(*_around(trace, kind)))


def _places(trace: Trace) -> I4:
    """Return a number per call that stands for its routine, region and call site."""
    site = trace.site if len(trace.site) else np.broadcast_to(np.int32(NONE), len(trace.calls))
    return trace.share.numbered(_routines(trace), site)[0]


def _computation(trace: Trace, length: I8, here: Mask) -> tuple[I4, I4, int]:
    """Return which computation is the same, and which is like it, a number each per computation, and how many kinds are not alike.

    The same: on one location, between calls of one routine, place and partner, and about as long. Alike: on any, with any partner.
    """
    place = _places(trace)
    own = _on_location(trace, Numbers().number(place, trace.calls.peer))
    like = np.full(len(own), NONE, "i4")
    since, until = _around(trace, place)
    like[here], kinds = trace.share.numbered(since[here], until[here])
    del place, since, until
    return _alike(own, length), like, kinds


def _around(trace: Trace, kind: I4) -> tuple[I4, I4]:
    """Return, per computation, the kinds of the calls before and behind it: from 1 on, 0 is none."""
    here = np.arange(len(kind), dtype="i4") + trace.calls.location
    until, since = np.zeros((2, len(kind) + len(trace.locations)), "i4")
    until[here] = since[here + 1] = kind + 1
    since[trace.first_calls[:-1] + np.arange(len(trace.locations))] = 0
    return since, until


def _calls(trace: Trace, here: Mask) -> tuple[I4, I4, I4, int]:
    """Return which calls do the same work, and which do work like it, a number each per call, and as `Same` has it of which routine.

    The same: of one routine and region on one location, or where that has too few of them on any; but the first there may also set up
    what the others use, and is on its own.
    """
    like, count = trace.share.numbered(_routines(trace), np.zeros(len(trace.calls), "u1"))
    own = Numbers().number(trace.calls.location, like)
    repeated = (np.bincount(own) - 1).astype("i4")[own]
    repeated[first_of(own)] = 0
    seldom = here & (repeated > 0) & (repeated < LEAST)
    alone = -1 - count - np.arange(len(like), dtype="i4")
    out = np.where(repeated >= LEAST, own, np.where(seldom, -1 - like, alone))
    return Numbers().number(out, np.broadcast_to(np.int8(0), out.shape)), np.where(seldom, like, np.int32(NONE)), like, count


def _routines(trace: Trace) -> I8:
    """Return a number per call that stands for its routine and region."""
    out = trace.calls.path.astype("i8")
    out += 1
    out <<= 16
    out += trace.calls.op
    return out
