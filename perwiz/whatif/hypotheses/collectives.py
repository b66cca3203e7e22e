"""Collectives by another algorithm: rounds of messages in place of what was recorded; those of NCCL by its tuning table."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from perwiz import words
from perwiz.errors import UsageError
from perwiz.loggps import interfaces
from perwiz.loggps.algorithms import nccl
from perwiz.loggps.algorithms.play import Group, Instances, Way
from perwiz.loggps.algorithms.recorded import Fit, Recorded, fit, possible_ways, recorded_ways, suits, telling, ways_of
from perwiz.loggps.algorithms.routines import ALGORITHMS
from perwiz.loggps.model import Model
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.hypotheses.network import UNITS
from perwiz.whatif.order.reorder import Reordered
from perwiz.whatif.rounds import alone, put_in, shared, sharing

BEST, ALL = "best", "all"
_OF_NCCL = re.compile(r"(bandwidth|latency)=([0-9.]+(?:e[-+]?[0-9]+)?)|([a-z_]+)=(\w+)(?::(\w+))?(?:\s+was\s+(\w+)(?::(\w+))?)?")
_LIKE_NCCL = "must be like allreduce=tree, allreduce=ring:LL128, all=best, bandwidth=2 or latency=0.5"
GUESSED = "algorithm=guessed"
"""The collectives were made by another algorithm that comes about as near to their times, or the new one has other costs."""
_OTHERS = 3
"""Other ways in which they may have been made that are tried."""
_FEW = 4
"""Instances by which the best way is told where messages share links."""
_CLAUSE = re.compile(r"\s*([a-z_A-Z]+)(?:@(.+?))?=([a-z-]+)(?::(\w+))?(?:\s+was\s+([a-z-]+)(?::(\w+))?)?\s*")
_NEXT = re.compile(r",\s*(?=[a-z_A-Z]+(?:@[^=]*)?=)")
_LIKE = "must be like allreduce=ring, bcast@solve.c:112=chain:64KiB or allreduce=best"


@dataclasses.dataclass(frozen=True)
class Clause:
    """One routine, or its calls at a place, and how it is to be made."""

    text: str
    routine: str
    place: str
    """Empty: everywhere."""
    way: Way
    """Its algorithm may be BEST."""
    was: Way | None
    """How it was made, as whoever asks says."""


@dataclasses.dataclass(frozen=True)
class Changed:
    """Instances of a kind that are made another way."""

    group: Group
    was: Recorded


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """What becomes of the collectives of a trace."""

    instances: Instances
    """Where their ranks are now."""
    changed: tuple[Changed, ...]
    fit: Fit
    stays: tuple[Group, ...] = ()
    """Instances that do not change, but whose messages share links, as they were recorded."""

    @property
    def groups(self) -> list[Group]:
        """Return the instances that change, each with its new way."""
        return [one.group for one in self.changed]


class Collective(Hypothesis):
    """`allreduce=ring`, `bcast@solve.c:112=chain:64KiB`, `allreduce=best`; `... was linear` says how it was made, else the trace is asked.

    These collectives are made by another algorithm. The recorded one, played from the recorded entries, gives back the recorded exits.
    """

    word, stage, joined, in_rounds, varied = "collective", 2, True, True, GUESSED
    keeps_calls = True

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph with rounds in place of the hubs of these collectives. Raises UsageError for what no routine has."""
        return _made(weighted, self.plan(weighted.trace, weighted.model, weighted.network, placed=weighted.placed))

    def otherwise(self, weighted: Weighted) -> list[Hypothesis]:
        """Return what may have to be asked, least and most: as if the collectives had been made another way that comes about as near to
        their times, or the new one had other costs.
        """
        if isinstance(weighted, Reordered):
            return []
        trace, placed, model, network = weighted.trace, weighted.placed, weighted.model, weighted.network
        plan = self.plan(trace, model, network, placed=placed)
        if network.topology is not None or interfaces.shared(network):
            return [_Otherwise(self.argument, was) for was in _also(plan)]
        kinds = {one.group.kind: _ways(trace, model, network, plan, one) for one in plan.changed}
        if all(len(several) == 1 for several in kinds.values()):
            return []
        sides = [{kind: pick(several, key=lambda one: one.behind) for kind, several in kinds.items()} for pick in (min, max)]
        return [_Otherwise(self.argument, {kind: one.was for kind, one in side.items()}, side) for side in sides]

    def as_recorded(self) -> Collective:
        """Return the hypothesis that these collectives are made in rounds as they were: it gives back the recorded run."""
        return _AsRecorded(self.argument)

    def clauses(self) -> list[Clause]:
        """Return what is asked. Raises UsageError."""
        out = [_clause(self, part) for part in _NEXT.split(self.argument)]
        first: dict[tuple[str, str], Clause] = {}
        for clause in out:
            before = first.setdefault((clause.routine, clause.place), clause)
            if before is not clause:
                what = f"{clause.routine}@{clause.place}" if clause.place else clause.routine
                raise UsageError(f"{self}: {what} is to be {before.way} and {clause.way}, must be asked once")
        return out

    def plan(self, trace: Trace, model: Model, network: Model, made: Mapping[int, Way] | None = None, placed: Trace | None = None) -> Plan:
        """Return what becomes of the collectives of a trace recorded under a model, on another network or the same.

        `made` is how they are taken to have been made, per kind, where nobody says; `placed` is the trace with its locations elsewhere:
        where they were tells how collectives were made, where they are now what messages cost. Raises UsageError.
        """
        instances, clauses = Instances(trace), self.clauses()
        there = instances if placed is None or placed is trace else Instances(placed)
        asked = np.full(len(trace.collectives), -1, "i8")
        for number, clause in enumerate(clauses):
            asked[_chosen(instances, clause, str(self))] = number
        rows = np.flatnonzero(asked >= 0)
        given = {**(made or {}), **_given(instances, rows, asked, clauses, str(self))}
        alike = np.flatnonzero(instances.chosen & np.isin(instances.kind, instances.kind[rows]))
        others = shared(trace, model, there is not instances) if network.topology is not None or interfaces.shared(network) else None
        was = recorded_ways(instances, alone(trace, model, simulated=True), alike, given)
        model, network = alone(trace, model), alone(there.trace, network)
        fitted = fit(instances, model, alike, {kind: recorded.way for kind, recorded in was.items()})
        changed = []
        for number, clause in enumerate(clauses):
            own = np.flatnonzero(asked == number)
            for kind in np.unique(instances.kind[own]).tolist():
                several = own[instances.kind[own] == kind]
                if clause.way.algorithm == BEST:
                    way = _best(there, network, fitted, several, kind)
                elif suits(instances, kind, clause.way):
                    way = clause.way
                else:
                    processes = int(instances.kinds.processes[kind])
                    have = ", ".join(map(str, ways_of(instances, kind)))
                    raise UsageError(f"{self}: {clause.way.algorithm} of {processes} processes cannot be, must be one of {have}")
                changed.append(Changed(Group(several, kind, way), was[kind]))
        if others is None:
            return Plan(there, tuple(changed), fitted)
        stay = np.setdiff1d(others.rows, rows)
        fitted.factor[stay] = others.factor[stay]
        return Plan(there, tuple(changed), fitted, tuple(instances.groups(stay, {kind: one.way for kind, one in others.ways.items()})))


def _clause(hypothesis: Hypothesis, text: str) -> Clause:
    match = _CLAUSE.fullmatch(text)
    if not match:
        raise UsageError(f"{hypothesis}: {text.strip()!r} is no collective and its algorithm, {_LIKE}")
    routine = match[1].lower().removeprefix("mpi_")
    if routine not in ALGORITHMS:
        meant = words.meant(routine, list(ALGORITHMS))
        raise UsageError(f"{hypothesis}: no algorithms of '{match[1]}' are known, must be one of {', '.join(ALGORITHMS)}{meant}")
    was = _way(hypothesis, routine, match[5], match[6]) if match[5] else None
    return Clause(text, routine, match[2] or "", _way(hypothesis, routine, match[3], match[4], (BEST,)), was)


def _way(hypothesis: Hypothesis, routine: str, name: str, segment: str | None, more: Sequence[str] = ()) -> Way:
    known = ALGORITHMS[routine]
    if name not in known and name not in more:
        have = [*known, *more]
        raise UsageError(f"{hypothesis}: {routine} has no algorithm '{name}', must be one of {', '.join(have)}{words.meant(name, have)}")
    if segment is None:
        return Way(name)
    if name in more or not known[name].segments:
        having = ", ".join(each for each, algorithm in known.items() if algorithm.segments)
        raise UsageError(f"{hypothesis}: {name} of {routine} sends no segments, must be {having or 'without'}")
    number = re.fullmatch(r"([1-9][0-9]{0,11})([A-Za-z]*)", segment)
    if not number or number[2] not in UNITS:
        raise UsageError(f"{hypothesis}: segments of '{segment}', must be a size such as 65536, 64K or 64KiB (65536) or 64kB (64000)")
    return Way(name, int(number[1]) * UNITS[number[2]])


def _chosen(instances: Instances, clause: Clause, text: str) -> Mask:
    """Return the instances that a clause is about, bool per row of collectives."""
    trace = instances.trace
    of = np.array([routine == clause.routine for routine in map(instances.routine, range(len(instances.kinds.op)))], bool)
    mine = of[instances.kind] if len(of) else np.zeros(0, bool)
    if not mine.any():
        playable = dict.fromkeys(filter(None, map(instances.routine, range(len(instances.kinds.op)))))
        have = f"must be one of {', '.join(playable)}" if playable else "nor any other routine that has algorithms"
        raise UsageError(f"{text}: the trace has no MPI_{clause.routine.capitalize()}, {have}")
    if clause.place:
        calls, there = _at(trace, clause, text), np.zeros(len(mine), bool)
        there[trace.members.collective[calls[trace.members.call]]] = True
        mine &= there
    if not (mine & instances.chosen).any():
        raise UsageError(
            f"{text}: no MPI_{clause.routine.capitalize()} there is blocking and whole, with its root known: must be to be played"
        )
    return np.asarray(mine & instances.chosen)


def _at(trace: Trace, clause: Clause, text: str) -> Mask:
    """Return which calls are made at the place of a clause: of the source, of regions, or what a selector selects."""
    which, sites = selectors.sites(trace)
    name = f"MPI_{clause.routine.capitalize()}"
    own = [(row, path, place) for row, (routine, path, place) in enumerate(sites) if routine == name]
    here = [row for row, path, place in own if clause.place in (path, place, place.partition(" ")[0], f"{path}@{place}")]
    if here:
        return np.isin(which, here)
    try:
        return selectors.calls(trace, clause.place)
    except UsageError:
        there = dict.fromkeys(part for _, path, place in own for part in (path, place) if part)
        have = words.there(clause.place, list(there)) if there else "no places of it"
        raise UsageError(f"{text}: no {name} at '{clause.place}', the trace has {have}") from None


def _given(instances: Instances, rows: I8, asked: I8, clauses: Sequence[Clause], text: str) -> dict[int, Way]:
    """Return per kind how it was made, where somebody says so."""
    out: dict[int, Way] = {}
    for row in rows.tolist():
        clause, kind = clauses[asked[row]], int(instances.kind[row])
        if clause.was is not None:
            if not suits(instances, kind, clause.was):
                processes = int(instances.kinds.processes[kind])
                raise UsageError(f"{text}: {clause.was.algorithm} of {processes} processes cannot have been, must be another one")
            out[kind] = clause.was
    return out


def _best(instances: Instances, network: Model, fitted: Fit, rows: I8, kind: int) -> Way:
    """Return the way by which instances of a kind, entered as recorded, are done soonest, in sum of the last exits of some."""
    rows = telling(rows) if network.topology is None else telling(rows, _FEW)

    def ends(way: Way) -> int:
        end = instances.ends([Group(rows, kind, way)], network, fitted.factor) + fitted.rest
        return int(instances.behind_last(end)[rows].sum())

    return min(ways_of(instances, kind), key=ends)


def _also(plan: Plan) -> list[dict[int, Way]]:
    """Return how instances may have been made, too, per kind, where they come about as near: a few times."""
    also = {one.group.kind: one.was.also for one in plan.changed if one.was.also}
    most = min(_OTHERS, max(map(len, also.values()), default=0))
    return [{kind: ways[min(number, len(ways) - 1)] for kind, ways in also.items()} for number in range(most)]


class _Made(NamedTuple):
    """How instances of a kind may have been made."""

    was: Way
    factor: float
    """What the costs of the new way are multiplied by then,"""
    rest: float
    """and what the recorded one does not explain, in the new one."""
    behind: int
    """ns, of the new way from the last entry to the last exit, all that are asked together."""


def _ways(trace: Trace, model: Model, network: Model, plan: Plan, one: Changed) -> list[_Made]:
    """Return how instances of a kind may have been made that change.

    The costs of the new way are those of the model, or multiplied as those of the recorded one, and as far off as those leave its exits;
    what rounds do not explain stays, or grows and shrinks as they do.
    """
    (rows, kind, now), instances, out = one.group, Instances(trace), []
    rows = telling(rows)

    def lasts(end: I8) -> int:
        return int(instances.behind_last(end)[rows].sum())

    for possible in possible_ways(instances, model, rows, kind, one.was):
        if possible.way == now:
            out.append(_Made(now, possible.factor, 1.0, lasts(instances.leave)))
            continue
        before = max(lasts(instances.leave - possible.rest), 1)
        for factor in (possible.factor * (1 - possible.misfit), possible.factor * (1 + possible.misfit), 1.0):
            end = plan.instances.ends([Group(rows, kind, now)], network, np.full(len(instances.count), factor))
            for rest in (1.0, lasts(end) / before):
                behind = lasts(end + np.rint(possible.rest * rest).astype("i8"))
                out.append(_Made(possible.way, factor, rest, behind))
    return out


@dataclasses.dataclass(frozen=True)
class _Otherwise(Collective):
    """The same of collectives that were made otherwise than their times seem to tell."""

    joined = False
    was: Mapping[int, Way]
    """Per kind."""
    costs: Mapping[int, _Made] = dataclasses.field(default_factory=dict)
    """Per kind, of its new way; of others those that the recorded way has."""

    def plan(self, trace: Trace, model: Model, network: Model, made: Mapping[int, Way] | None = None, placed: Trace | None = None) -> Plan:
        """Return the plan as `Collective` does, for what was made so."""
        plan = super().plan(trace, model, network, self.was, placed)
        for one in plan.changed:
            if other := self.costs.get(one.group.kind):
                mine = np.isin(trace.members.collective, one.group.rows)
                plan.fit.rest[mine] = np.rint(plan.fit.rest[mine] * other.rest)
                plan.fit.factor[one.group.rows] = other.factor
        return plan


@dataclasses.dataclass(frozen=True)
class _AsRecorded(Collective):
    """The same collectives in the rounds that they were made by."""

    joined = False

    def plan(self, trace: Trace, model: Model, network: Model, made: Mapping[int, Way] | None = None, placed: Trace | None = None) -> Plan:
        """Return the plan as `Collective` does, with the recorded way in place of the new one."""
        plan = super().plan(trace, model, network, made, placed)
        was = (dataclasses.replace(one, group=one.group._replace(way=one.was.way)) for one in plan.changed)
        return dataclasses.replace(plan, changed=tuple(was))


def _made(weighted: Weighted, plan: Plan) -> Weighted:
    """Return the graph with rounds in place of hubs; where messages share links or interfaces, with those of all collectives that do."""
    if weighted.network.topology is None and not interfaces.shared(weighted.network):
        return put_in(weighted, plan.instances.play(plan.groups, weighted.network), plan.fit)[0]
    was = [Group(one.group.rows, one.group.kind, one.was.way) for one in plan.changed]
    return sharing(weighted, plan.instances, [*was, *plan.stays], [*plan.groups, *plan.stays], plan.fit.factor)


class Made(NamedTuple):
    """How the collectives of NCCL of a routine, or of all, are to be made, or were."""

    routine: str
    algorithm: str
    """Empty: any; or BEST."""
    protocol: str
    """Empty: any."""

    def of(self, kind: nccl.Kind) -> list[nccl.Way]:
        """Return the ways that this is of a kind."""
        names = [(way, nccl.ALGORITHMS[way.algorithm], nccl.PROTOCOLS[way.protocol]) for way in nccl.ways(kind)]
        return [way for way, *name in names if self.algorithm in ("", BEST, name[0]) and self.protocol in ("", name[1])]


@dataclasses.dataclass(frozen=True)
class Table:
    """What is asked of the collectives of NCCL: links so many times as fast, latencies so many times as long, ways."""

    bandwidth: float
    latency: float
    made: dict[str, Made]
    """By routine."""
    was: dict[str, Made]


class Nccl(Hypothesis):
    """`allreduce=tree:LL128`, `bandwidth=2`, `all=best`: collectives of NCCL take another way, or are on other links, by its tuning table.

    What each takes behind its last member becomes as much longer or shorter as the table says; waiting stays what it is.
    """

    word, stage, joined, varied, keeps_calls = "nccl", 3, True, "made=guessed", True

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph with other transfers. Raises UsageError for what NCCL does not have, and if there is nothing to change."""
        return self._made(weighted)

    def others(self, weighted: Weighted) -> list[Weighted]:
        """Return what else the graph may be: had collectives been made the way that comes next to their times, or over links half or
        twice as fast where nothing tells how fast they are.
        """
        found, asked = nccl.collectives(weighted.trace), self.asked()
        told = all(one.told for one in nccl.links(found, _were(found, asked)).values())
        guesses = [(1, 1.0)] * (not asked.was) + [(0, 0.5), (0, 2.0)] * (not told)
        return [self._made(weighted, *guess) for guess in guesses]

    def _made(self, weighted: Weighted, guess: int = 0, times: float = 1.0) -> Weighted:
        asked, found = self.asked(), nccl.collectives(weighted.trace)
        here = {kind.routine for kind in found.kinds}
        lacking = [routine for routine in asked.made if routine not in (ALL, *here)]
        if not here or lacking:
            what = lacking[0] if lacking else "collective"
            raise UsageError(f"{self}: no {what} on streams that is whole and whose bytes are known, must be one of a trace of NCCL")
        was, links = _were(found, asked), nccl.links(found, _were(found, asked))
        more = np.zeros(len(found.kinds))
        for k, kind in enumerate(found.kinds):
            bandwidth = links[kind.nodes > 1].bandwidth * (1.0 if links[kind.nodes > 1].told else times)
            near = sorted(nccl.ways(kind), key=partial(_takes, kind, bandwidth))
            before = was.get(k) or near[min(guess, len(near) - 1)]
            more[k] = self._time(kind, asked, before, bandwidth) - nccl.time_ns(kind, before, bandwidth)
        return _transferred(weighted, found, np.rint(more).astype("i8")[found.kind])

    def _time(self, kind: nccl.Kind, asked: Table, before: nccl.Way, bandwidth: float) -> float:
        """Return how long a kind takes as asked: the way it was made, unless another is asked for; ns."""
        made = _of_routine(kind, asked.made)
        ways = made.of(kind) if made else [before]
        if not ways:
            if made and made.routine != ALL:
                have = ", ".join(map(str, nccl.ways(kind)))
                raise UsageError(f"{self}: {kind.routine} of NCCL has no {made.algorithm}, must be one of {have}")
            ways = [before]
        return min(nccl.time_ns(kind, way, bandwidth * asked.bandwidth, asked.latency) for way in ways)

    def asked(self) -> Table:
        """Return what is asked. Raises UsageError."""
        numbers = {"bandwidth": 1.0, "latency": 1.0}
        made, was = dict[str, Made](), dict[str, Made]()
        for part in self.argument.split(","):
            match = _OF_NCCL.fullmatch(part.strip())
            if not match:
                raise UsageError(f"{self}: {part.strip()!r} is nothing of NCCL, {_LIKE_NCCL}")
            if match[1]:
                numbers[match[1]] = float(match[2])
                if not 1e-3 <= numbers[match[1]] <= 1e3:
                    raise UsageError(f"{self}: {match[1]} of {match[2]} times, must be from 0.001 to 1000")
                continue
            routine = match[3].lower().replace("_", "")
            if routine not in (ALL, *nccl.ROUTINES) or routine in made:
                have = f"{', '.join(nccl.ROUTINES)} or {ALL}"
                raise UsageError(f"{self}: '{match[3]}', must be one of {have}, and asked once")
            made[routine] = self._named(routine, match[4], match[5])
            if match[6]:
                was[routine] = self._named(routine, match[6], match[7])
                if not (was[routine].algorithm and was[routine].protocol):
                    raise UsageError(f"{self}: was '{match[6]}', must be an algorithm and a protocol, such as ring:LL")
        return Table(**numbers, made=made, was=was)

    def _named(self, routine: str, first: str, second: str | None) -> Made:
        """Return a way by the names of its algorithm, its protocol or both."""
        protocols = {name.lower(): name for name in nccl.PROTOCOLS}
        if second is None and first.lower() in protocols:
            return Made(routine, "", protocols[first.lower()])
        algorithm = first.lower()
        if algorithm in (*nccl.ALGORITHMS, BEST) and (second is None or (second.lower() in protocols and algorithm != BEST)):
            return Made(routine, algorithm, protocols[second.lower()] if second else "")
        have = f"{', '.join((*nccl.ALGORITHMS, BEST))}, {', '.join(nccl.PROTOCOLS)} or both, such as ring:LL128"
        raise UsageError(f"{self}: '{first}{f':{second}' if second else ''}', must be one of {have}")


def _takes(kind: nccl.Kind, bandwidth: float, way: nccl.Way) -> float:
    return nccl.time_ns(kind, way, bandwidth)


def _of_routine(kind: nccl.Kind, made: dict[str, Made]) -> Made | None:
    return made.get(kind.routine) or made.get(ALL)


def _were(found: nccl.Collectives, asked: Table) -> dict[int, nccl.Way]:
    """Return by which way kinds (rows) were made, as far as whoever asks says."""
    said = ((k, _of_routine(kind, asked.was)) for k, kind in enumerate(found.kinds))
    return {k: ways[0] for k, one in said if one and (ways := one.of(found.kinds[k]))}


def _transferred(weighted: Weighted, found: nccl.Collectives, more: I8) -> Weighted:
    """Return the graph in which collectives take so many ns longer behind their last member, or shorter; overwrites its weights.

    A member that begins 40 before the last and ends 60 behind it ends 30 behind it if they take 30 less; so does the last.
    """
    trace, graph, weight = weighted.trace, weighted.graph, weighted.weight
    of = np.zeros(len(trace.collectives), "i8")
    of[found.row] = more
    longer = of[trace.members.collective]
    rows = np.flatnonzero(longer)
    vertex = graph.returned[trace.members.call[rows]]
    first, count = graph.start[vertex].astype("i8"), np.diff(graph.start)[vertex].astype("i8")
    edge = np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())
    changed = np.maximum(weight[edge] + np.repeat(longer[rows], count), np.minimum(weight[edge], 0))
    weight[edge] = np.where(weight[edge] == CUT, CUT, changed)
    return weighted
