"""Hardware counters per call path and location, and what POP makes of them.

A counter is another clock: it has a value as each call and region begins and ends, and between two of these counts for what the location is
in. Where one was not read, its value lies on the line between the readings before and behind. Rates are of computation, MPI left out.

    computation scaling = instruction scaling x IPC scaling x frequency scaling

is the time of the reference's computation by that of this run, of all processes; so are the instructions; IPC and frequency are this run's
by the reference's. The product holds as all four are taken from the same computation: that between the first and the last reading.
"""

from __future__ import annotations

import dataclasses
import re

import numpy as np

from perwiz.patterns.callpaths import CallTree, call_tree
from perwiz.trace.arrays import F8, I4, I8, Ints
from perwiz.trace.tables import STREAM, Times
from perwiz.trace.trace import Trace

INSTRUCTIONS = frozenset({"instructions", "papi_tot_ins"})
CYCLES = frozenset({"cycles", "cpu-cycles", "papi_tot_cyc"})
"""Names, in lower case, that instructions and cycles have with perf and with PAPI."""


@dataclasses.dataclass(frozen=True, eq=False)
class Ends:
    """Values of a counter as rows begin and end, float64."""

    enter: F8
    leave: F8

    @property
    def counted(self) -> F8:
        """What was counted in each row."""
        return self.leave - self.enter


@dataclasses.dataclass(frozen=True, eq=False)
class Along:
    """Values of a counter beside calls, regions and locations, as a timeline has times."""

    calls: Ends
    regions: Ends
    locations: Ends


@dataclasses.dataclass(frozen=True, eq=False)
class Counted:
    """What the counters of a run counted, per call path and location: exclusive along the call tree."""

    tree: CallTree
    names: tuple[str, ...]
    values: tuple[F8, ...]
    """Per name: by node of the tree and location."""
    time: F8
    """ns between the first and the last reading of each location, by node and location."""

    def find(self, names: frozenset[str]) -> F8 | None:
        """Return the values of the first counter that has one of some names, None if there is none; see `plain`."""
        return next((value for name, value in zip(self.names, self.values, strict=True) if plain(name) in names), None)

    def work(self, node: int = 0) -> Work:
        """Return what the computation of a call path and those below it took, of every location."""
        below = np.zeros(len(self.tree), bool)
        below[node : self.tree.end[node]] = self.tree.op[node : self.tree.end[node]] < 0
        found = (self.find(INSTRUCTIONS), self.find(CYCLES), self.time)
        return Work(*(None if value is None else value[below].sum(axis=0) for value in found))


@dataclasses.dataclass(frozen=True, eq=False)
class Work:
    """Instructions, cycles and time of computation per location; None where nobody counted."""

    instructions: F8 | None
    cycles: F8 | None
    time: F8 | None
    """ns."""

    def of(self, rows: I4 | I8) -> Work:
        """Return that of some locations."""
        return Work(*(None if value is None else value[rows] for value in (self.instructions, self.cycles, self.time)))

    @property
    def ipc(self) -> float | None:
        """Instructions per cycle of all locations."""
        return _ratio(self.instructions, self.cycles)

    @property
    def frequency_ghz(self) -> float | None:
        """Cycles per ns of computation: GHz. Above or below that of the processor where computation does not run all the time."""
        return _ratio(self.cycles, self.time)

    @property
    def instruction_balance(self) -> float | None:
        """Mean of the instructions by the most of any location."""
        most = None if self.instructions is None else self.instructions.max(initial=0)
        return None if not most or self.instructions is None else float(self.instructions.mean() / most)


NOT_COUNTED = Work(None, None, None)


@dataclasses.dataclass(frozen=True)
class Scaling:
    """How the computation of a run scales from a reference: `computation` is the product of instructions, ipc and frequency."""

    computation: float
    """Time of the reference's computation / of the run's, all processes together."""
    instructions: float
    """Instructions of the reference / of the run."""
    ipc: float
    """Instructions per cycle of the run / of the reference."""
    frequency: float
    """Cycles per ns of the run / of the reference."""
    reference_ipc: float
    own_ipc: float
    reference_ghz: float
    own_ghz: float


def _ratio(some: F8 | None, others: F8 | None) -> float | None:
    if some is None or others is None or not some.sum() or not others.sum():
        return None
    return float(some.sum() / others.sum())


def plain(name: str) -> str:
    """Return the name of a counter in lower case, without unit, source and mode: `perf::INSTRUCTIONS:u [#]` is instructions."""
    return re.sub(r"( \[.*\]$)|^perf::|:[a-z]+$", "", name.lower().partition(" [")[0])


def along(trace: Trace, counter: int, span: Times | None = None) -> Along:
    """Return the values of a counter, row of `Trace.counter_names`, beside calls, regions and locations.

    With a span per location no value is less than that at its beginning, none more than that at its end.
    """
    of_calls, of_regions, times = trace.counters, trace.region_counters, trace.timeline
    rows, others = np.flatnonzero(of_calls.counter == counter), np.flatnonzero(of_regions.counter == counter)
    ends, everywhere = times.locations if span is None else span, np.arange(len(trace.locations))
    none: tuple[I4, F8] = (np.empty(0, "i4"), np.empty(0))
    columns: tuple[tuple[I8, Ints, I4, F8], ...] = (
        (times.calls.enter, trace.calls.location, of_calls.call[rows], of_calls.entered[rows]),
        (times.calls.leave, trace.calls.location, of_calls.call[rows], of_calls.returned[rows]),
        (times.regions.enter, trace.regions.location, of_regions.region[others], of_regions.entered[others]),
        (times.regions.leave, trace.regions.location, of_regions.region[others], of_regions.left[others]),
        (ends.enter, everywhere, *none),
        (ends.leave, everywhere, *none),
    )
    sizes = [len(time) for time, *_ in columns]
    value = np.full(sum(sizes), np.nan)
    for first, (*_, row, read) in zip(np.cumsum([0, *sizes]).tolist(), columns, strict=False):
        value[first + row] = read
    location = np.concatenate([where for _, where, *_ in columns])
    _fill(np.concatenate([time for time, *_ in columns]), location, value)
    parts = np.split(value, np.cumsum(sizes)[:-1])
    if span is not None:
        low, high = parts[4], parts[5]
        parts = [np.clip(part, low[where], high[where]) for part, (_, where, *_) in zip(parts, columns, strict=True)]
    return Along(*(Ends(*parts[k : k + 2]) for k in (0, 2, 4)))


def row_of(trace: Trace, names: frozenset[str]) -> int | None:
    """Return the first counter, row of `Trace.counter_names`, that has one of some names and counted something; None if none did."""
    if not (len(trace.counters) or len(trace.region_counters)):
        return None
    return next((row for row, name in enumerate(trace.counter_names) if row not in trace.levels and plain(name) in names), None)


def between_calls(trace: Trace, counter: int) -> F8:
    """Return what a counter counted between calls, float64: before the first call of a location, between two, behind the last; location
    after location."""
    values, calls = along(trace, counter), np.arange(len(trace.calls)) + trace.calls.location
    out = np.empty(len(trace.calls) + len(trace.locations))
    ends = trace.first_calls[1:] + np.arange(len(trace.locations))
    out[calls], out[ends] = values.calls.enter, values.locations.leave
    out[calls + 1] -= values.calls.leave
    out[trace.first_calls[:-1] + np.arange(len(trace.locations))] -= values.locations.enter
    return out


def _fill(time: I8, location: I8, value: F8) -> None:
    """Put in the values that are NaN: on the line between the readings around them, at the ends the nearest; 0 of locations with none.

    time 0 1 2 3 4, location 0 0 0 0 0, value nan 4 nan 8 nan      4 4 6 8 8
    """
    order = np.lexsort((value, time, location))
    first = np.searchsorted(location[order], np.arange(int(location.max(initial=-1)) + 2))
    for begin, end in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
        rows = order[begin:end]
        lacking = np.isnan(value[rows])
        read, missing = rows[~lacking], rows[lacking]
        value[missing] = np.interp(time[missing], time[read], value[read]) if len(read) else 0


def counted(trace: Trace, span: Times | None = None, tree: CallTree | None = None) -> Counted | None:
    """Return what the counters of a run counted, in a span per location if there is one; None if none counted anything.

    Counters that are levels count nothing.
    """
    rows = [row for row in range(len(trace.counter_names)) if row not in trace.levels]
    if not rows or not (len(trace.counters) or len(trace.region_counters)):
        return None
    tree = call_tree(trace) if tree is None else tree
    values = tuple(exclusive(trace, tree, along(trace, row, span)) for row in rows)
    return Counted(tree, tuple(trace.counter_names[row] for row in rows), values, exclusive(trace, tree, _covered(trace, span)))


def _covered(trace: Trace, span: Times | None) -> Along:
    """Return the times themselves, none before the first reading of its location or behind the last, nor outside of the span."""
    times, regions = trace.timeline, trace.region_counters
    low, high = np.full(len(trace.locations), np.inf), np.full(len(trace.locations), -np.inf)
    for where, ends, row in (
        (trace.calls.location, times.calls, trace.counters.call),
        (trace.regions.location, times.regions, regions.region),
    ):
        np.minimum.at(low, where[row], ends.enter[row])
        np.maximum.at(high, where[row], ends.leave[row])
    if span is not None:
        low, high = np.maximum(low, span.enter), np.minimum(high, span.leave)
    low, high = np.where(low > high, 0, low), np.where(low > high, 0, high)
    tables = ((trace.calls.location, times.calls), (trace.regions.location, times.regions), (np.arange(len(low)), times.locations))
    clipped = ([np.clip(end.astype("f8"), low[where], high[where]) for end in (ends.enter, ends.leave)] for where, ends in tables)
    return Along(*(Ends(*ends) for ends in clipped))


def exclusive(trace: Trace, tree: CallTree, values: Along) -> F8:
    """Return what was counted by node and location, float64: in calls, in regions less what is in them, and the rest at the root."""
    calls, regions = trace.calls, trace.regions
    out = np.zeros((len(tree), len(trace.locations)))
    in_calls, in_regions = values.calls.counted, values.regions.counted
    node, of_region = tree.of_calls(trace, np.arange(len(calls))), tree.of_path[regions.path]
    np.add.at(out, (node, calls.location), in_calls)
    np.subtract.at(out, (tree.parent[node], calls.location), in_calls)
    np.add.at(out, (of_region, regions.location), in_regions)
    around = np.where(regions.parent >= 0, np.append(of_region, 0)[regions.parent], 0)
    np.subtract.at(out, (around, regions.location), in_regions)
    out[0] += values.locations.counted
    return out


def work(trace: Trace, span: Times | None = None) -> Work:
    """Return what the computation of a run took, of every location but streams, in a span per location if there is one."""
    found = counted(trace, span)
    return NOT_COUNTED if found is None else found.work().of(np.flatnonzero(trace.locations.kind != STREAM))


def scaling(work: Work, reference: Work) -> Scaling | None:
    """Return how computation scales from a reference run; None if one of them lacks instructions or cycles."""
    rates = work.ipc, work.frequency_ghz, reference.ipc, reference.frequency_ghz
    computed, executed = _ratio(reference.time, work.time), _ratio(reference.instructions, work.instructions)
    if computed is None or executed is None or None in rates:
        return None
    ipc, frequency, its_ipc, its_frequency = (float(rate or 0) for rate in rates)
    return Scaling(computed, executed, ipc / its_ipc, frequency / its_frequency, its_ipc, ipc, its_frequency, frequency)
