"""What an OTF2 archive records beside calls, messages and regions: counters, parameters, topologies, records of other models."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.formats.otf2 import extras as extra
from perwiz.formats.otf2.columns import Columns
from perwiz.formats.otf2.communicators import Comms
from perwiz.formats.otf2.definitions import Definitions, MetricMember, Texts
from perwiz.formats.otf2.hybrid.threads import Said
from perwiz.formats.otf2.library import codes
from perwiz.formats.otf2.library import events as row
from perwiz.formats.otf2.library.codes import DOUBLE, UINT64
from perwiz.formats.otf2.location import ARGUMENTS_OF
from perwiz.formats.otf2.locations import RecordedLocations, ranks
from perwiz.formats.otf2.read import Recorded
from perwiz.kernels import records
from perwiz.kernels.records import ARGUMENTS
from perwiz.trace.arrays import F8, I4, I8, Mask
from perwiz.trace.tables import NONE, Counters, Parameters, Records, RegionCounters, Regions
from perwiz.trace.trace import Sampled, Topology, of_readers

_KEPT = {kind: name for name, kind in row.COMPILED.items() if kind in (records.MEASUREMENT, records.BUFFER_FLUSH)}
_KEPT |= {records.OTHER_KIND + number: name for number, name in enumerate(row.OTHERS)}


@dataclasses.dataclass(frozen=True)
class Counted:
    """What counters said."""

    calls: Counters
    regions: RegionCounters
    names: tuple[str, ...]
    levels: tuple[int, ...]
    """Rows of the names of those that do not count."""
    sampled: tuple[Sampled, ...]
    """Of other locations, or read at any time."""
    loose: int
    """Values left out: of no metric that is defined, or read where nothing begins or ends."""


class OtherRecords:
    """The records behind those of MPI and regions, of all locations: a column each, in program order of the locations."""

    def __init__(self, columns: Columns, locations: RecordedLocations, definitions: Definitions) -> None:
        """Takes its columns from those of all locations."""
        self._locations, self._definitions, self.texts = locations, definitions, Texts(())
        self._extras: list[I8] = []
        self.written = definitions.creator.startswith(extra.CREATOR)
        self._first, self._regions = columns.starts("call"), columns.starts("region")
        self.location = columns.locations("other")
        self._kind = columns.take("other.kind")
        self._first_value, self._values = columns.ragged("other", ARGUMENTS, ARGUMENTS_OF[self._kind])
        self._owner = columns.take("other.region")
        """The innermost open region instance for kinds below OTHER_KIND, for those above the call that the record makes or belongs to,
        both counted from 0 on each location, or -1."""
        self.time = columns.times("other.time")
        """When, ns."""
        self.call = columns.shifted("other.calls", self._first)
        """First call entered after the record."""
        self.inside = columns.take("other.inside").view(bool)
        """Whether a call is open: the one before."""

    def _argument(self, name: str, rows: I8) -> I8:
        """Return one of ARGUMENTS of records whose kind has it."""
        return self._values[self._first_value[rows] + ARGUMENTS.index(name)]

    def within_calls(self, kinds: tuple[int, ...]) -> tuple[I4, I8, list[I8]]:
        """Return the calls that records of some kinds stand in, their kinds, and four values of each: those it lacks are anything."""
        rows = np.flatnonzero(np.isin(self._kind, kinds) & self.inside)
        values, first = np.append(self._values, np.zeros(4, "i8")), self._first_value[rows]
        return self.call[rows] - np.int32(1), self._kind[rows], [values[first + k] for k in range(4)]

    def counters(self, regions: Regions) -> Counted:
        """Return the values of counters around calls and regions; values with no record at both ends are left out."""
        rows = np.flatnonzero(self._kind == records.METRIC)
        names, levels = dict[str, int](), set[int]()
        counter, value = np.full(len(rows), NONE, "i8"), _values(self._argument("tag", rows), self._argument("amount", rows))
        metric, index = self._argument("reference", rows), self._argument("communicator", rows)
        loose = np.zeros(len(rows), bool)
        for ref, member_number in sorted({*zip(metric.tolist(), index.tolist(), strict=True)}):
            member, same = self._member(ref, member_number), np.flatnonzero((metric == ref) & (index == member_number))
            if member is None:
                continue
            loose[same] = self._of_others(ref, self.location[rows[same]])
            number = counter[same] = names.setdefault(self._counter_name(member), len(names))
            value[same] *= _unit(member)
            kind, timing = member.mode & 15, member.mode >> 4
            if kind == codes.RELATIVE:
                value[same] = _accumulated(value[same], self.location[rows[same]], timing == codes.NEXT)
            elif kind == codes.ABSOLUTE:
                levels.add(number)
        kept, free = np.flatnonzero((counter >= 0) & ~loose), np.flatnonzero((counter >= 0) & loose)
        reader, named = self.location[rows[free]], (*names,)
        of_others = [
            (named[number], int(self._locations.process[row]), value[free[(counter[free] == number) & (reader == row)]])
            for number, row in sorted({*zip(counter[free].tolist(), reader.tolist(), strict=True)})
        ]
        at_others, undefined = self._at_others()
        sampled, bad = _sampled([*of_others, *at_others])
        unknown = len(rows) - len(kept) - len(free) + undefined + bad
        rows, counter, value = rows[kept], counter[kept], value[kept]
        of_call, of_region, row = self._boundaries(rows, regions)
        untied = unknown + int((~of_call & ~of_region).sum())
        call = Counters(*_around(row, counter, value, len(names), (of_call & ~self.inside[rows], of_call & self.inside[rows])))
        turn, region = np.divmod(row, max(len(regions), 1))
        ends = of_region & (turn == 0), of_region & (turn == 1)
        inside = RegionCounters(*_around(region, counter, value, len(names), ends))
        return Counted(call, inside, named, tuple(sorted(levels)), sampled, untied)

    def _at_others(self) -> tuple[list[tuple[str, int, F8]], int]:
        """Return names, processes and values of what is read at locations of metrics alone, and how many are of none that is defined."""
        definitions, out, undefined = self._definitions, list[tuple[str, int, F8]](), 0
        group, rank = {location.ref: location.group for location in definitions.locations}, ranks(definitions)
        for recorded in self._locations.other:
            rows = np.flatnonzero(recorded.column("other.kind") == records.METRIC)
            metric, index, kind, bits = (_column(recorded, name, rows) for name in ("reference", "communicator", "tag", "amount"))
            for ref, number in sorted({*zip(metric.tolist(), index.tolist(), strict=True)}):
                member, same = self._member(ref, number), (metric == ref) & (index == number)
                if member is None:
                    undefined += int(same.sum())
                else:
                    values = _values(kind[same], bits[same]) * _unit(member)
                    out.append((self._counter_name(member), rank.get(group[recorded.ref], NONE), values))
        return out, undefined

    def _boundaries(self, rows: I8, regions: Regions) -> tuple[Mask, Mask, I8]:
        """Return which records stand before the entry or return of a call, which before a boundary of a region, and the row of that.

        Of a region that is left the row is higher by the number of regions. A region comes next if it is in the one that is open.
        """
        call, inside, location, count = self.call[rows], self.inside[rows], self.location[rows], len(regions)
        around = np.where(self._owner[rows] >= 0, self._regions[location] + self._owner[rows], NONE)
        following = self._regions[location] + self._argument("request", rows)
        known = ~inside & (following < self._regions[location + 1])
        some = np.where(known, following, 0)
        entered = known & (regions.first_call[some] == call) & (regions.parent[some] == around) if count else known
        open_ = np.maximum(around, 0)
        left = ~inside & ~entered & (around >= 0) & (regions.end_call[open_] == call) if count else entered
        of_call = inside | ~(entered | left) & (call < self._first[location + 1])
        return of_call, entered | left, np.where(entered, following, np.where(left, open_ + count, call - inside))

    def _of_others(self, ref: int, location: I4) -> Mask:
        """Return which records of a metric tell of other locations than the one that recorded them, or came at any time."""
        instance = self._definitions.metric_instances.get(ref)
        metric_class = self._definitions.metric_classes.get(instance.metric_class if instance else ref)
        if metric_class is not None and metric_class.occurrence == codes.ASYNCHRONOUS:
            return np.ones(len(location), bool)
        if instance is None or instance.scope_type != codes.SCOPE_LOCATION:
            return np.zeros(len(location), bool)
        refs = np.array([recorded.ref for recorded in self._locations.recorded])
        return np.asarray(refs[location] != instance.scope)

    def _member(self, ref: int, number: int) -> MetricMember | None:
        definitions = self._definitions
        instance = definitions.metric_instances.get(ref)
        metric_class = definitions.metric_classes.get(instance.metric_class if instance else ref)
        return definitions.metric_members.get(metric_class.members[number]) if metric_class and number < len(metric_class.members) else None

    def _counter_name(self, member: MetricMember) -> str:
        name, unit = self._definitions.string(member.name), self._definitions.string(member.unit)
        return f"{name} [{unit}]" if unit and unit != "#" else name

    def _parameters(self) -> I8:
        return np.flatnonzero((self._kind >= records.PARAMETER_INT) & (self._kind <= records.PARAMETER_STRING))

    def parameters(self) -> Parameters:
        """Return the parameters that are not perwiz's own."""
        rows = self._parameters()
        name_of = {ref: self._program(self.parameter(ref)) for ref in np.unique(self._argument("reference", rows)).tolist()}
        names = [name_of[ref] for ref in self._argument("reference", rows).tolist()]
        rows = rows[np.array([name is not None for name in names], bool)]
        name = np.array([self.texts.of(name) for name in names if name is not None], "i4")
        kinds, values = self._kind[rows].tolist(), self._argument("amount", rows).tolist()
        value = np.array([self.texts.of(self._value(*pair)) for pair in zip(kinds, values, strict=True)], "i4")
        return Parameters(self.location[rows], self._region(rows), self.call[rows], name, value)

    def _region(self, rows: I8) -> I4:
        """Return the innermost open region of records below OTHER_KIND, row of all instances or -1."""
        innermost = self._owner[rows]
        return np.where(innermost >= 0, self._regions[self.location[rows]] + innermost, NONE).astype("i4")

    def _program(self, name: str) -> str | None:
        """Return the name the program gave to a parameter, None for one of perwiz's own."""
        if not self.written or not name.startswith(extra.PREFIX):
            return name
        rest = name.removeprefix(extra.PREFIX)
        return rest if rest.startswith(extra.PREFIX) else None

    def extras(self, name: str) -> tuple[I8, I8]:
        """Return the calls with parameter records of a name, and their values."""
        rows = self._parameters()
        refs = [ref for ref in np.unique(self._argument("reference", rows)).tolist() if self.parameter(ref) == name]
        rows = rows[np.isin(self._argument("reference", rows), refs)]
        self._extras.append(rows)
        rows = rows[self.inside[rows]]
        return self.call[rows].astype("i8") - 1, self._argument("amount", rows)

    def parameters_of_calls(self, name: str, leave: I8) -> tuple[I8, I8]:
        """Return the calls up to whose ends parameters of a name were recorded, and their values; `leave` is when calls return, ns."""
        rows = self._parameters()
        refs = [ref for ref in np.unique(self._argument("reference", rows)).tolist() if self.parameter(ref) == name]
        return self._in_calls(rows[np.isin(self._argument("reference", rows), refs)], leave)

    def attributes_of_calls(self, names: tuple[str, ...], leave: I8) -> tuple[I8, I8]:
        """Return the calls up to whose ends attributes of these names were recorded, and their values."""
        definitions = self._definitions
        refs = [ref for ref, attribute in definitions.attributes.items() if definitions.string(attribute.name) in names]
        rows = np.flatnonzero(self._kind == records.ATTRIBUTE)
        return self._in_calls(rows[np.isin(self._argument("reference", rows), refs)], leave)

    def _in_calls(self, rows: I8, leave: I8) -> tuple[I8, I8]:
        """Return the calls in which some records lie, their ends included, and the values of these."""
        call = self.call[rows].astype("i8") - 1
        good = call >= self._first[self.location[rows]]
        good[good] = self.time[rows[good]] <= leave[call[good]]
        return call[good], self._argument("amount", rows[good])

    def parameter(self, ref: int) -> str:
        """Return the name of a parameter."""
        definition = self._definitions.parameters.get(ref)
        return self._definitions.string(definition.name) if definition else f"parameter {ref}"

    def _value(self, kind: int, value: int) -> str:
        if kind == records.PARAMETER_STRING:
            return self._definitions.string(int(value))
        return str(int(value) % (1 << 64) if kind == records.PARAMETER_UNSIGNED else int(value))

    def singles(self, kept: int) -> int:
        """Return how many records are neither counters nor perwiz's own, of which `kept` are parameters or other records."""
        extras = sum(len(rows) for rows in self._extras)
        return int((~np.isin(self._kind, (records.METRIC, records.ATTRIBUTE))).sum()) - extras - kept

    def of_threads(self, *kinds: int) -> Said:
        """Return the records of some kinds of threads that make calls or belong to them."""
        kind, own = self._kind, self._owner
        rows = np.flatnonzero(np.logical_or.reduce([kind == one for one in kinds]) & (own != NONE))
        location = self.location[rows]
        call = self._first.astype("i4")[location] + own[rows]
        first = self._first_value[rows]
        arguments = [self._values[first + place] for place in range(ARGUMENTS_OF[list(kinds)].min())]
        return Said(kind[rows], call, self._locations.process[location], arguments)

    def records(self) -> tuple[Records, I8]:
        """Return the records of other models, and their values one after the other."""
        counts = np.bincount(self._kind)
        kept, number = np.isin(np.arange(len(counts)), list(_KEPT)), np.zeros(len(counts), "i4")
        for one in np.flatnonzero(kept & (counts > 0)).tolist():
            number[one] = self.texts.of(_KEPT[one])
        rows: slice | I8 = slice(None)
        kind, first, values = self._kind, self._first_value, self._values
        if counts[~kept].any():
            rows = np.flatnonzero(kept[kind])
            values = values[np.repeat(kept[kind], ARGUMENTS_OF[kind])]
            kind = kind[rows]
            first = np.cumsum(ARGUMENTS_OF[kind], dtype="i8") - ARGUMENTS_OF[kind]
        flushes = first[kind == records.BUFFER_FLUSH]
        values[flushes] = self._locations.nanoseconds(values[flushes])
        return Records(self.location[rows], number[kind], self.call[rows], self.time[rows], first), values


def _column(recorded: Recorded, name: str, rows: I8) -> I8:
    """Return some rows of a column of what a location recorded beside calls: one that is not there is 0 throughout."""
    name = f"other.{name}"
    return recorded.column(name)[rows].astype("i8") if name in recorded.arrays else np.zeros(len(rows), "i8")


def _unit(member: MetricMember) -> float:
    """Return what a value of a metric is multiplied by."""
    return float((2, 10)[member.base == 1]) ** member.exponent


def _sampled(readings: list[tuple[str, int, F8]]) -> tuple[tuple[Sampled, ...], int]:
    """Return what was read of each counter by each process, and how many values are no numbers, given names, processes and values, one
    after the other in time, of readers.
    """
    out, bad = list[Sampled](), 0
    for name, process, values in readings:
        good = values[np.isfinite(values)]
        bad += len(values) - len(good)
        if len(good):
            figures = good.min(), good.mean(), good.max(), good[-1] - good[0]
            out.append(Sampled(name, process, len(good), *map(float, figures)))
    return of_readers(out), bad


def _values(kind: I8, bits: I8) -> F8:
    """Return the values of 64 raw bits each, by type."""
    value = bits.astype("f8")
    unsigned = kind == UINT64
    value[unsigned] = bits[unsigned].view("u8").astype("f8")
    real = kind == DOUBLE
    value[real] = bits[real].view("f8")
    return value


def _accumulated(value: F8, location: I4, following: bool) -> F8:
    """Return differences added up per location: to the one before, or to the one behind.

    value 3 4 5 6, location 0 0 0 1    to the one before 3 7 12 6    behind 0 3 7 0
    """
    total = np.cumsum(value) - (value if following else 0)
    first = np.flatnonzero(np.diff(location, prepend=-1))
    start = total[first] - (0 if following else value[first])
    return np.asarray(total - np.repeat(start, np.diff(np.append(first, len(value)))))


def _around(row: I8, counter: I8, value: F8, counters: int, ends: tuple[Mask, Mask]) -> tuple[I4, I4, F8, F8]:
    """Return row, counter and values at both ends of what has both; the last value before each end counts."""
    key = row.astype("i8") * max(counters, 1) + counter
    (before, entered), (behind, returned) = (_last(key, value, end) for end in ends)
    both, first, second = np.intersect1d(before, behind, return_indices=True)
    row, counter = np.divmod(both, max(counters, 1))
    return row.astype("i4"), counter.astype("i4"), entered[first], returned[second]


def _last(key: I8, value: F8, chosen: Mask) -> tuple[I8, F8]:
    """Return the keys that occur, sorted, and the last value of each.

    key  3 1 3 2   value  .1 .2 .3 .4   chosen  1 1 1 0
    out  1 3              .2 .3
    """
    key, value = key[chosen][::-1], value[chosen][::-1]
    keys, first = np.unique(key, return_index=True)
    return keys, value[first]


def topologies(definitions: Definitions, comms: Comms) -> tuple[Topology, ...]:
    """Return the Cartesian topologies of communicators that are defined."""
    out = []
    for topology in definitions.topologies.values():
        comm = int(comms.rows(np.array([topology.comm]).astype("i4"), np.array([0]))[0])
        table = comms.table()
        dimensions = [definitions.dimensions[ref] for ref in topology.dimensions if ref in definitions.dimensions]
        if comm < 0 or len(dimensions) != len(topology.dimensions):
            continue
        coordinates = np.full((len(table.members(comm)), len(dimensions)), NONE, "i4")
        for entry in definitions.coordinates:
            if entry.topology == topology.ref and entry.rank < len(coordinates) and len(entry.values) == len(dimensions):
                coordinates[entry.rank] = entry.values
        out.append(
            Topology(
                name=definitions.string(topology.name),
                comm=comm,
                sizes=tuple(dimension.size for dimension in dimensions),
                periodic=tuple(dimension.periodic > 0 for dimension in dimensions),
                dimensions=tuple(definitions.string(dimension.name) for dimension in dimensions),
                coordinates=coordinates,
            )
        )
    return tuple(out)
