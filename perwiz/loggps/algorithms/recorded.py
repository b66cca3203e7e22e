"""By which algorithm recorded collectives were made, as far as their times tell, and what is left that its rounds do not explain.

Each kind of instances (routine, communicator, bytes) is played from its recorded entries by every algorithm. Misfit is how far the exits
are off, as the root of the mean square over the members, as a part of the time behind the last entry, both of the middle instance. Of the
choices of MPICH and of Open MPI that come near the smallest misfit, at most twice it, the first is taken, else the algorithm of that
misfit. Then all its costs are multiplied by the factor that brings the exits nearest, one per kind; and what each exit is off by after that
is kept, whatever algorithm is played: so the recorded one gives back the recorded exits.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

import numpy as np

from perwiz.loggps.algorithms import decisions
from perwiz.loggps.algorithms.play import Group, Instances, Way
from perwiz.loggps.algorithms.routines import NotSuited, known, shape_of
from perwiz.loggps.keys import POSTED
from perwiz.loggps.model import Model
from perwiz.trace.arrays import F8, I8

NEAREST, GIVEN = "nearest", "given"
"""Who says how a kind was made: the times alone, or whoever asks."""
TOLD = 0.25
"""Misfit up to which the times tell how collectives were made: beyond it the algorithm is a guess."""
_NEAR = 0.1
"""Misfit by which a library's choice may be worse than the best."""
_TELLING = 64
"""Instances of a kind that tell its algorithm, spread over the run."""
_FLOWS = 5000
"""Messages that share links in those, about, if it is more than one."""
_WELL = 0.01
"""Misfit of a way whose costs are right as they are."""
_RIGHT = 0.05
"""Misfit up to which the costs of the model are right as they are: beyond it a way whose costs are multiplied may be the one, too."""
_FACTORS = sorted((2.0 ** (k / 8) for k in range(-32, 33)), key=lambda factor: abs(math.log(factor)))
"""What all costs may be multiplied by, nearest to 1 first: beyond a sixteenth and 16 something else takes the time."""


@dataclasses.dataclass(frozen=True)
class Recorded:
    """How the recorded instances of a kind were made."""

    way: Way
    misfit: float
    """How far the exits that it gives are off, as a part of the time behind the last entry."""
    says: str
    """Who says so: the libraries that take it, such as "MPICH and Open MPI"; NEAREST, or GIVEN."""
    also: tuple[Way, ...] = ()
    """Others that come about as near, nearest first."""

    @property
    def told(self) -> bool:
        """Whether the times, or whoever asks, tell the way; else it is a guess."""
        return self.says == GIVEN or self.misfit <= TOLD


@dataclasses.dataclass(frozen=True, eq=False)
class Fit:
    """What makes the recorded algorithms give back the recorded exits."""

    factor: F8
    """Per row of collectives, what all costs of its algorithms are multiplied by."""
    rest: I8
    """Per member of the instances that were fitted: its recorded exit minus the one played, ns."""


def recorded_ways(instances: Instances, model: Model, rows: I8, given: Mapping[int, Way]) -> dict[int, Recorded]:
    """Return per kind of instances (rows of collectives) how it was made; `given` is what somebody knows. Raises NotSuited."""
    out: dict[int, Recorded] = {}
    for kind, alike in _judged(instances, model, rows, given).items():
        several = _telling(instances, model, rows[instances.kind[rows] == kind])
        ways = [given[kind]] if kind in given else ways_of(instances, kind, model)
        misfits = {way: _misfit(instances, model, several, kind, way) for way in ways}
        if kind in given:
            found = Recorded(given[kind], misfits[given[kind]], GIVEN)
        else:
            found = _chosen(library_ways(instances, kind, model), misfits)
        for other in alike:
            if suits(instances, other, found.way):
                out[other] = found
            else:
                out[other] = dataclasses.replace(found, way=next(iter(ways_of(instances, other, model))), also=())
    return out


def _judged(instances: Instances, model: Model, rows: I8, given: Mapping[int, Way]) -> dict[int, list[int]]:
    """Return the kinds that are judged by their times, each with those that it stands for."""
    kinds, count = np.unique(instances.kind[rows], return_counts=True)
    if model.topology is None:
        return {kind: [kind] for kind in kinds.tolist()}
    first = dict(zip(instances.kind[rows[::-1]].tolist(), rows[::-1].tolist(), strict=True))
    comm, table = instances.trace.collectives.comm, instances.kinds
    out: dict[object, list[int]] = {}
    for kind in kinds[np.argsort(-count, kind="stable")].tolist():
        digits = int(table.size[kind]).bit_length()
        key = kind if kind in given else (int(table.op[kind]), int(comm[first[kind]]), digits)
        out.setdefault(key, []).append(kind)
    return {alike[0]: alike for alike in out.values()}


def ways_of(instances: Instances, kind: int, model: Model | None = None) -> list[Way]:
    """Return the ways in which instances of a kind can be made, without segments; under a model of SMPI those that it alone has, too."""
    names = known(instances.kin(kind), smpi=model is not None and model.progress == POSTED)
    return [way for way in map(Way, names) if suits(instances, kind, way)]


def suits(instances: Instances, kind: int, way: Way) -> bool:
    """Return whether as many processes as a kind has can go a way."""
    try:
        shape_of(instances.kin(kind), way.algorithm, int(instances.kinds.processes[kind]), int(instances.kinds.size[kind]), way.segment)
    except NotSuited:
        return False
    return True


def library_ways(instances: Instances, kind: int, model: Model | None = None) -> dict[str, Way]:
    """Return what each library takes for a kind: SMPI under its models, too."""
    asked = instances.named(kind), int(instances.kinds.processes[kind]), int(instances.kinds.size[kind])
    smpi = [decisions.SMPI] if model is not None and model.progress == POSTED else []
    return {library: Way(decisions.choice(library, *asked)) for library in (*smpi, *decisions.LIBRARIES)}


def fit(instances: Instances, model: Model, rows: I8, ways: Mapping[int, Way]) -> Fit:
    """Return what makes these ways, one per kind, give back the recorded exits of instances (rows of collectives)."""
    factor = factors(instances, model, rows, ways)
    return Fit(factor, instances.leave - instances.ends(instances.groups(rows, ways), model, factor))


def factors(instances: Instances, model: Model, rows: I8, ways: Mapping[int, Way]) -> F8:
    """Return by what all costs of each way, one per kind, come nearest to the recorded exits; per row of collectives."""
    factor, kinds = np.ones(len(instances.count)), instances.kind[rows]
    for kind, alike in _judged(instances, model, rows, {}).items():
        group = Group(_telling(instances, model, rows[kinds == kind]), kind, ways[kind])
        own = [other for other in alike if ways[other] == ways[kind]]
        factor[rows[np.isin(kinds, own)]] = _factor(instances, model, group)
    return factor


@dataclasses.dataclass(frozen=True, eq=False)
class Possible:
    """A way in which the instances of a kind may have been made."""

    way: Way
    factor: float
    """What all its costs are multiplied by, so that it comes nearest."""
    rest: I8
    """Per member of some instances: its recorded exit minus the one played, ns."""
    misfit: float
    """How far the exits are off then, at most 1."""


def possible_ways(instances: Instances, model: Model, rows: I8, kind: int, was: Recorded) -> list[Possible]:
    """Return the ways in which instances of a kind (rows of collectives) may have been made, that which they are taken for first.

    Where its times fit the costs of the model those that come about as near; else, of all with their costs multiplied by what brings them
    nearest, those about as near as the nearest; and all where even that tells nothing.
    """
    first = _possible(instances, model, rows, kind, was.way)
    if was.says == GIVEN:
        return [first]
    if was.misfit <= _RIGHT:
        return [first, *(_possible(instances, model, rows, kind, way) for way in was.also)]
    every = [first, *(_possible(instances, model, rows, kind, way) for way in ways_of(instances, kind, model) if way != was.way)]
    nearest = min(one.misfit for one in every)
    return [one for one in every if one is first or nearest > TOLD or one.misfit <= nearest + _NEAR]


def _possible(instances: Instances, model: Model, rows: I8, kind: int, way: Way) -> Possible:
    group = Group(rows, kind, way)
    factor = _factor(instances, model, group)
    end = instances.ends([group], model, np.full(len(instances.count), factor))
    return Possible(way, factor, instances.leave - end, min(_off(instances, rows, end) / _lasts(instances, rows), 1.0))


def telling(rows: I8, most: int = _TELLING) -> I8:
    """Return some of the instances, spread over all."""
    return rows[np.linspace(0, len(rows) - 1, min(most, len(rows))).astype("i8")]


def _telling(instances: Instances, model: Model, rows: I8) -> I8:
    """Return the instances of a kind that tell how it was made."""
    if model.topology is None:
        return telling(rows)
    return telling(rows, min(_TELLING, max(1, _FLOWS // int(instances.processes[rows[0]]) ** 2)))


def _factor(instances: Instances, model: Model, group: Group) -> float:
    """Return by what factor all costs of a way come nearest to the recorded exits; of several the nearest to 1."""
    played, every = instances.play([group], model), np.ones(len(instances.count))
    seen: dict[float, float] = {}

    def off(factor: float) -> float:
        if factor not in seen:
            if model.topology is None:
                end = played.times(instances.entry, factor * every)
            else:
                end = played.flowing(instances.trace, model, factor * every).end
            seen[factor] = _off(instances, group.rows, end)
        return seen[factor]

    if model.topology is None:
        return min(_FACTORS, key=off)
    if off(1.0) <= _WELL * _lasts(instances, group.rows):
        return 1.0
    best, step = 0, 8
    while step:
        near = [best + k * step for k in (range(-4, 5) if step == 8 else (-1, 0, 1))]
        best = min(near, key=lambda k: (off(2.0 ** (k / 8)), abs(k)))
        step //= 2
    return 2.0 ** (best / 8)


def _lasts(instances: Instances, rows: I8) -> float:
    """Return how long instances take behind their last entries, ns, the middle one."""
    return max(float(np.median(instances.behind_last(instances.leave)[rows])), 1.0)


def _off(instances: Instances, rows: I8, end: I8) -> float:
    """Return how far exits are from the recorded ones, ns: the root of the mean square over the members, of the middle instance."""
    square = np.square((instances.leave - end).astype("f8"))
    return float(np.median(np.sqrt(np.add.reduceat(square, instances.first)[rows] / instances.count[rows])))


def _misfit(instances: Instances, model: Model, rows: I8, kind: int, way: Way) -> float:
    end = instances.ends([Group(rows, kind, way)], model, np.ones(len(instances.count)))
    return _off(instances, rows, end) / _lasts(instances, rows)


def _chosen(libraries: Mapping[str, Way], misfits: Mapping[Way, float]) -> Recorded:
    """Return the way that is likely, given that of each library and how far each is off."""
    nearest = min(misfits, key=lambda way: misfits[way])
    as_good = misfits[nearest] + min(_NEAR, max(misfits[nearest], _WELL))
    near = [way for way in libraries.values() if misfits[way] <= as_good]
    way = near[0] if near else nearest
    also = sorted((one for one in misfits if one != way and misfits[one] <= misfits[nearest] + _NEAR), key=lambda one: misfits[one])
    return Recorded(way, misfits[way], " and ".join(library for library, its in libraries.items() if its == way) or NEAREST, tuple(also))
