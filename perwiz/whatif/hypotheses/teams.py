"""Teams of threads: which computation each of their threads does, from barrier to barrier."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.errors import UsageError
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Ints, Mask
from perwiz.trace.tables import FORK, JOIN, NONE
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.devices import for_devices
from perwiz.whatif.hypotheses.parts import Parts
from perwiz.whatif.hypotheses.stretch import Segments

EVERY = "all"
"""Word for all teams, unless a region is called so."""
_IDLE, _FORK = operations.OP["omp_idle"], operations.OP["omp_fork"]
BARRIER = (operations.KIND == operations.N_TO_N) & ~operations.OF_PROCESSES
"""Per op: a barrier of a team."""


@dataclasses.dataclass(frozen=True, eq=False)
class Members:
    """The threads of the teams of a trace, team by team, by location: each is in its team from behind call `first` to the entry of `end`.

    Its master is in it from the fork to the join, another thread from the end of one wait for a team to the next.
    """

    team: I8
    """From 0, ascending."""
    location: I4
    first: I8
    """Row of calls; that of the master is the fork."""
    end: I8
    fork: I8
    """Per team: row of calls."""

    @property
    def size(self) -> I8:
        """Threads per team."""
        return np.bincount(self.team, minlength=len(self.fork))

    def behind(self, calls: int) -> I8:
        """Return, for each of so many calls, which of these has called `first` there or before, and `end` there not yet; -1 none.

        Of a thread that opens a team inside of one that of the inner one.
        """
        out = np.full(calls, NONE, "i8")
        order = np.lexsort((-self.end, self.first))
        count = self.end[order] - self.first[order]
        row = np.repeat(self.first[order], count) + np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        np.maximum.at(out, row, np.repeat(np.arange(len(order)), count))
        return np.append(order, NONE)[out]


def members(trace: Trace) -> Members:
    """Return the threads of all teams of which links tell fork and join.

    A team of the calls  0 omp_fork  1 omp_implicit_barrier  2 omp_join | 3 omp_idle  4 omp_implicit_barrier  5 omp_idle,  links 0 -> 3 and
    5 -> 2: its threads are in it from 0 to 2, and from 3 to 5.
    """
    calls, links = trace.calls, trace.links
    join = np.full(len(calls) + 1, NONE, "i8")
    ends = links.kind == JOIN
    join[links.cause[ends]] = links.effect[ends]
    row = np.flatnonzero((links.kind == FORK) & (calls.op[links.cause] == _FORK))
    fork, first = links.cause[row].astype("i8"), links.effect[row].astype("i8")
    idle = np.append(np.flatnonzero(calls.op == _IDLE), len(calls))
    end = idle[np.searchsorted(idle[:-1], first, "right")]
    ended = (join[end] > fork) & (np.append(calls.location, NONE)[end] == calls.location[first])
    fork, first, end = fork[ended], first[ended], end[ended]
    forks, team = np.unique(fork, return_inverse=True)
    last = np.zeros(len(forks), "i8")
    np.maximum.at(last, team, join[end])
    team, first = np.concatenate((np.arange(len(forks)), team)), np.concatenate((forks, first))
    end, location = np.concatenate((last, end)), calls.location[first]
    order = np.lexsort((location, team))
    return Members(team[order], location[order], first[order], end[order], forks)


def innermost(segments: Segments, of: Members) -> I8:
    """Return, per gap between two calls (see `Segments.gap`), the member of a team whose computation it is, -1 none: see `behind`."""
    call = np.flatnonzero((member := of.behind(len(segments.trace.calls))) != NONE)
    out = np.full(len(segments.edge), NONE, "i8")
    out[call + 1 + segments.trace.calls.location[call]] = member[call]
    return out


@dataclasses.dataclass(frozen=True, eq=False)
class Phases(Parts):
    """What teams compute up to each of their barriers: a part is a team up to its next barrier, a group one of its threads there."""

    member: I8
    """Per group: row of members."""


def phases(segments: Segments, text: str) -> Phases:
    """Return the computation of the teams that are opened in `REGION`, `REGION#3` or `REGION#3..7`, at any depth, or of all.

    Raises UsageError if there are none.
    """
    of = members(segments.trace)
    return phases_of(segments, of, chosen_teams(segments.trace, text, of), innermost(segments, of))


def phases_of(segments: Segments, of: Members, chosen: Mask, owner: I8) -> Phases:
    """Return the computation of the chosen teams, given what `innermost` returns; groups are sorted by part, then location.

    What is behind the last barrier, if there is one, is no work but the end of the team; nor is what is for a
    device, which stays as it is.
    """
    trace = segments.trace
    calls = np.flatnonzero(BARRIER[trace.calls.op])
    barrier = calls + trace.calls.location[calls]
    barrier = barrier[owner[barrier] != NONE]
    gaps = len(owner)
    passed = np.sort(owner[barrier] * gaps + barrier)
    barriers = np.bincount(owner[barrier], minlength=len(of.team))
    segment = np.flatnonzero(owner[segments.gap] != NONE)
    gap = segments.gap[segment]
    member = owner[gap]
    phase = np.searchsorted(passed, member * gaps + gap) - np.searchsorted(passed, member * gaps)
    kept = chosen[of.team[member]] & ((phase < barriers[member]) | (barriers[member] == 0)) & ~for_devices(segments)[segment]
    segment, member, phase = segment[kept], member[kept], phase[kept]
    most = int(phase.max(initial=0)) + 1
    part = np.unique(of.team[member] * most + phase, return_inverse=True)[1]
    groups, group = np.unique(part * len(of.team) + member, return_inverse=True)
    order = np.argsort(group, kind="stable")
    part, member = np.divmod(groups, max(len(of.team), 1))
    return Phases(segment[order], group[order], part, member)


def chosen_teams(trace: Trace, text: str, of: Members) -> Mask:
    """Return which teams `REGION`, `REGION#3`, `REGION#3..7` or `all` is about, bool per team: those opened in it, or that begin with it.

    Recorders enter the region of a parallel construct behind its fork. Raises UsageError if there is none.
    """
    if text == EVERY and text not in trace.names:
        chosen = np.ones(len(of.fork), bool)
    else:
        instances = selectors.steps(trace, text)[0]
        chosen = selectors.during(trace, instances)[of.fork] | np.isin(of.fork + 1, trace.regions.first_call[instances])
    if not chosen.any():
        raise UsageError(f"'{text}': no team of threads is opened there" if len(of.fork) else f"{trace.path} shows no team of threads")
    return chosen


def spread(total: I8, part: Ints, threads: int) -> I8:
    """Return the work of each recorded thread if each part were done by another number of threads, in blocks of the same order.

    Threads share what there is to do in equal blocks, one behind the other, as a static schedule deals out a loop: what lies in a block
    of the recorded threads is taken to be spread evenly over it. Where there are fewer threads, those too many have none; where there
    are more, a recorded one stands for the slowest of those that take its share.

        total   40 20 0    part   0 0 0    threads 2 -> blocks 40 + 10, 10 + 0      50 10 0
                                           threads 6 -> 20 20 10 10 0 0             20 10 0
    """
    out = np.zeros(len(total), "i8")
    size = np.bincount(part)
    first = np.cumsum(size) - size
    for recorded in np.unique(size[size > 0]).tolist():
        parts = np.flatnonzero(size == recorded)
        rows = first[parts][:, None] + np.arange(recorded)
        sums = np.concatenate((np.zeros((len(parts), 1), "i8"), np.cumsum(total[rows], axis=1)), axis=1)
        whole, rest = np.divmod(np.arange(threads + 1) * recorded, threads)
        inside = np.append(total[rows], np.zeros((len(parts), 1), "i8"), axis=1)[:, whole]
        block = np.diff(sums[:, whole] + inside * rest // threads, axis=1)
        if threads <= recorded:
            out[rows[:, :threads]] = block
        else:
            begins = -(-np.arange(recorded) * threads // recorded)
            out[rows] = np.maximum.reduceat(block, begins, axis=1)
    return out
