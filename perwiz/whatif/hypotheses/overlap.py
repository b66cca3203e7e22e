"""What the first thread of a process does alone for MPI, beside the computation of its team."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.errors import UsageError
from perwiz.graph.graph import START
from perwiz.loggps.weigh import Weighted
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Ints, Mask
from perwiz.trace.numbers import running
from perwiz.trace.tables import FORK, NONE, PROCESS
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.hypotheses.stretch import Segments, segments_of, shares
from perwiz.whatif.hypotheses.teams import Members, Phases, innermost, members, phases_of

_JOIN = operations.OP["omp_join"]
_ROUTINES = operations.MPI.copy()
"""Of MPI, but those that start it."""
_ROUTINES[[operations.OP["MPI_Init"], operations.OP["MPI_Init_thread"]]] = False


@dataclasses.dataclass(frozen=True, eq=False)
class Beside:
    """The teams that begin with calls of their first thread instead of behind them, and with which: rows, one per team."""

    team: I8
    begin: I8
    """The first of the calls that would run beside the team."""


class Overlap(Hypothesis):
    """These MPI calls, which the first thread of a process makes outside of its teams, run beside the team that it opens next.

    The other threads of the team begin when the first of these calls since the team before is entered: the links of the fork lead from
    that entry. The first thread makes the calls, does all else up to the fork, and then joins its team. Up to its next barrier the others
    take over, evenly, so much of the work of the first one that it ends with the last of them, if it comes as late as in the recording. How
    uneven the work of the others is stays: that is another question.
    """

    word, stage, effects_may_precede_causes = "overlap", 3, True

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph in which the teams begin with the calls, and share their work. Raises UsageError if no team follows."""
        trace, segments = weighted.trace, segments_of(weighted)
        of = members(trace)
        owner = innermost(segments, of)
        call, team = _followed(trace, of, owner, self._calls(trace, of, owner))
        if not len(call):
            raise UsageError(f"{self}: no team of threads is opened behind these calls, before the process ends or joins another")
        teams, first = np.unique(team, return_index=True)
        found = Beside(teams, call[first])
        chosen = np.zeros(len(of.fork), bool)
        chosen[found.team] = True
        work = phases_of(segments, of, chosen, owner)
        length = segments.length.copy()
        length[work.segment] = shares(length[work.segment], work.group, _shared_out(trace, of, work, found, length))
        changed = segments.stretched(weighted, length)
        return dataclasses.replace(changed, graph=dataclasses.replace(changed.graph, source=_begun(changed, of, found)))

    def _calls(self, trace: Trace, of: Members, owner: I8) -> Mask:
        """Return which calls are meant, bool per call. Raises UsageError if none could run beside a team."""
        asked = selectors.calls(trace, self.argument) & _ROUTINES[trace.calls.op]
        if not asked.any():
            raise UsageError(f"{self}: must be MPI calls behind MPI_Init, these are none")
        if not len(of.fork):
            raise UsageError(f"{trace.path} shows no team of threads")
        asked &= outside(trace, owner)
        if not asked.any():
            raise UsageError(f"{self}: must be calls that the first thread of a process makes outside of its teams, these are made inside")
        return asked


def before_teams(segments: Segments) -> Mask:
    """Return which MPI calls first threads make outside of teams with another of their teams to come, bool per call."""
    trace, of = segments.trace, members(segments.trace)
    owner = innermost(segments, of)
    out = np.zeros(len(trace.calls), bool)
    out[_followed(trace, of, owner, outside(trace, owner) & _ROUTINES[trace.calls.op])[0]] = True
    return out


def outside(trace: Trace, owner: I8) -> Mask:
    """Return which calls first threads make outside of teams, bool per call, given what `innermost` returns."""
    row = np.arange(len(trace.calls))
    first = trace.locations.kind[trace.calls.location] == PROCESS
    return np.asarray(first & (owner[row + trace.calls.location] == NONE))


def _followed(trace: Trace, of: Members, owner: I8, calls: Mask) -> tuple[I8, I8]:
    """Return which of some calls that first threads make outside of teams have another team to come, rows, and which team that is.

    It is the next team of the thread, if no other ends before.

        0 Sendrecv  1 Bcast  2 fork  3 join  4 Sendrecv  5 fork  6 join  7 Sendrecv   calls 0 1 4 7 -> calls 0 1 4, teams 0 0 1
    """
    alone = np.flatnonzero(outside(trace, owner)[of.fork])
    fork, call = of.fork[alone], np.flatnonzero(calls)
    joins = np.flatnonzero(trace.calls.op == _JOIN)
    following = np.searchsorted(fork, call)
    call, following = call[following < len(fork)], following[following < len(fork)]
    fits = trace.calls.location[fork[following]] == trace.calls.location[call]
    fits &= np.searchsorted(joins, call) == np.searchsorted(joins, fork[following])
    return call[fits], alone[following[fits]]


def _begun(weighted: Weighted, of: Members, found: Beside) -> Ints:
    """Return the vertex each edge comes from, those of the forks of some teams from the entry of the call with which they begin."""
    graph, links = weighted.graph, weighted.trace.links
    edge = np.flatnonzero(graph.kind == START)
    edge = edge[links.kind[graph.cause[edge]] == FORK]
    begin = np.full(len(weighted.trace.calls), NONE, "i8")
    begin[of.fork[found.team]] = found.begin
    call = begin[links.cause[graph.cause[edge]]]
    source = graph.source.copy()
    source[edge[call != NONE]] = graph.entered[call[call != NONE]]
    return source


def _shared_out(trace: Trace, of: Members, work: Phases, found: Beside, length: I8) -> I8:
    """Return the ns of each group if the others of a team take over what its first thread, which comes late, has too much.

    It is about what teams compute up to their first barrier.
    """
    total = np.zeros(len(work.part), "i8")
    np.add.at(total, work.group, length[work.segment])
    enter, team = trace.timeline.calls.enter, of.team[work.member]
    first_part = np.full(len(of.fork), len(work.part), "i8")
    np.minimum.at(first_part, team, work.part)
    lateness = np.zeros(len(of.fork), "i8")
    lateness[found.team] = enter[of.fork[found.team]] - enter[found.begin]
    chosen = work.part == first_part[team]
    first = (of.first[work.member] == of.fork[team])[chosen]
    part = np.unique(work.part[chosen], return_inverse=True)[1]
    out = total.copy()
    out[chosen] = together(total[chosen], np.where(first, lateness[team[chosen]], 0), first, part)
    return out


def together(total: I8, late: I8, first: Mask, part: I8) -> I8:
    """Return the work of each thread of a part if the first one comes `late`, and the others take over what it has too much, evenly.

    It ends with the last of the others then, or has nothing to do; a part has one first thread.

        total   60 60 90 90 10 90    late   20 0 300 0 50 0    first   1 0 1 0 1 0    part   0 0 1 1 2 2
        ->      50 70  0 180 10 90
    """
    count = np.bincount(part)
    latest, beyond = np.zeros((2, len(count)), "i8")
    np.maximum.at(latest, part[~first], total[~first])
    beyond[part[first]] = (total + late)[first] - latest[part[first]]
    given = beyond * (count - 1) // count
    given[part[first]] = np.clip(given[part[first]], 0, total[first] * (count > 1)[part[first]])
    out, others = total.copy(), np.maximum(count - 1, 1)[part]
    turn = running(np.where(first, 0, 1), part)
    out[first] -= given[part[first]]
    out[~first] += (given[part] // others + (turn < given[part] % others))[~first]
    return out
