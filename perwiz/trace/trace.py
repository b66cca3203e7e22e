"""One recorded run: the tables of what happened, its timeline, and what its reader met."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np

from perwiz import words
from perwiz.errors import TraceError, UsageError
from perwiz.trace import nesting
from perwiz.trace.arrays import I4, I8, Ints, Mask
from perwiz.trace.origin import MEASURED, Origin
from perwiz.trace.spread.share import ALONE, Share
from perwiz.trace.tables import (
    NONE,
    Calls,
    Collectives,
    Counters,
    Defects,
    Labels,
    Links,
    Locations,
    Members,
    Messages,
    Offsets,
    Parameters,
    Paths,
    Readings,
    Records,
    RegionCounters,
    Regions,
    Requests,
    Times,
    Unfinished,
)

_SILENT, _SPARSE = 1 << 10, 64
"""So many ranks may be silent where every one is listed, and so many more for each that is not."""


@dataclasses.dataclass(frozen=True, eq=False)
class Communicators:
    """`ranks[first[c]:first[c + 1]]` are the MPI_COMM_WORLD ranks of communicator c in its own rank order. Row 0 is the world."""

    names: tuple[str, ...]
    first: I8
    ranks: I4

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Communicators):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.first, other.first) and np.array_equal(self.ranks, other.ranks)

    def members(self, comm: int) -> I4:
        """Return the world ranks of one communicator, in its rank order."""
        return self.ranks[self.first[comm] : self.first[comm + 1]]

    def sizes(self) -> I8:
        """Return the number of ranks of each communicator."""
        return np.diff(self.first)


class Ranks:
    """Says which rank a process has in a communicator."""

    def __init__(self, comms: Communicators) -> None:
        comm = np.repeat(np.arange(len(comms)), comms.sizes())
        keys = (comm << 32) + comms.ranks
        order = np.argsort(keys, kind="stable")
        self._keys, self._rank = keys[order], (np.arange(len(keys)) - comms.first[comm])[order]

    def of(self, comm: Ints, process: Ints) -> I8:
        """Return the ranks of processes in communicators, int64; -1 where there is none. Communicator -1 is the world."""
        if not len(self._keys):
            return np.full(len(process), NONE, "i8")
        wanted = (np.maximum(comm, 0).astype("i8") << 32) + process
        nearest = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.where(self._keys[nearest] == wanted, self._rank[nearest], NONE)


@dataclasses.dataclass(frozen=True)
class Sampled:
    """What a process read of a counter at any time, or for other locations: values that belong to no call and no region."""

    name: str
    """With its unit in brackets, where it has one."""
    process: int
    """Who read it."""
    values: int
    """How many."""
    least: float
    mean: float
    most: float
    change: float
    """The last one less the first, of each reader, added up: of energy, what was used."""


def of_readers(several: Iterable[Sampled]) -> tuple[Sampled, ...]:
    """Return what several readers read together: one for each counter and process, in the order of these."""
    out = dict[tuple[str, int], Sampled]()
    for one in several:
        key, other = (one.name, one.process), out.get((one.name, one.process))
        if other is None:
            out[key] = one
            continue
        values = one.values + other.values
        mean = (one.values * one.mean + other.values * other.mean) / values
        figures = min(one.least, other.least), mean, max(one.most, other.most), one.change + other.change
        out[key] = Sampled(*key, values, *figures)
    return tuple(out[key] for key in sorted(out))


@dataclasses.dataclass(frozen=True, eq=False)
class Topology:
    """A Cartesian arrangement of the ranks of a communicator."""

    name: str
    comm: int
    """Row of communicators."""
    sizes: tuple[int, ...]
    periodic: tuple[bool, ...]
    dimensions: tuple[str, ...]
    """Name per dimension."""
    coordinates: I4
    """One row per rank of the communicator, one column per dimension; -1 unknown."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Topology):
            return NotImplemented
        mine, its = ((t.name, t.comm, t.sizes, t.periodic, t.dimensions) for t in (self, other))
        return mine == its and np.array_equal(self.coordinates, other.coordinates)


@dataclasses.dataclass(frozen=True)
class Timeline:
    """When it happened: one time per row of calls, regions and locations (first and last instant)."""

    calls: Times
    regions: Times
    locations: Times
    origin: Origin = MEASURED

    @property
    def makespan(self) -> int:
        """Nanoseconds from the first to the last instant of any location."""
        if not len(self.locations):
            return 0
        return int(self.locations.leave.max() - self.locations.enter.min())


@dataclasses.dataclass(frozen=True)
class Counts:
    """What the reader met, kept or not."""

    records: int = 0
    """Event records read (headers left out)."""
    states: int = 0
    """Begin and end pairs, nested ones included."""
    single_events: int = 0
    """Stand-alone events: counted, not kept."""
    sends: int = 0
    receives: int = 0
    """Message records, whether matched or not; those inside a collective are not counted here."""
    internal_messages: int = 0
    """Message records logged inside a collective call."""
    internal_calls: int = 0
    """MPI states inside another MPI state."""
    to_nobody: int = 0
    """Calls whose only partner is MPI_PROC_NULL."""
    bare: int = 0
    """Calls made from a message record outside any MPI state: how long they took was not recorded."""
    unmatched_sends: int = 0
    unmatched_receives: int = 0
    contradicting: int = 0
    """Pairs of a send and a receive with different sizes that are no messages therefore: records between them are missing."""
    size_differs: int = 0
    """Matched messages whose two ends name different sizes."""
    incomplete_collectives: int = 0
    """Instances with fewer members than their communicator has ranks."""
    unmatched_collectives: int = 0
    """Collective calls that could not be put into an instance."""
    rootless_collectives: int = 0
    """Rooted instances whose root the trace does not tell: their members stay untied."""
    inferred_roots: int = 0
    """Rooted instances whose root the trace does not tell, but times do."""
    adopted_roots: int = 0
    """Those whose times do not tell it either, but times of others called from the same place do."""
    assumed_roots: int = 0
    """Those whose times allow several roots, the first rank of the communicator among them, which is taken."""
    silent_processes: int = 0
    """Processes the header declares but that logged nothing."""
    inferred_completions: int = 0
    """Requests whose completion was not recorded: put into the wait that must have completed them."""
    repaired_communicators: int = 0
    """Receive records with a wrong communicator: the matching send tells the right one."""
    repaired_sizes: int = 0
    """Receive records with a wrong size, where some are impossible: the matching send tells the right one."""
    untied_waits: int = 0
    """Waits of threads for which no record, or one that contradicts the clock, tells what ended them."""
    untied_launches: int = 0
    """Kernels and copies of devices for which no record tells what launched them: they begin when the one before has ended."""
    loose_counters: int = 0
    """Values of counters that were not read where something begins or ends, or are those of other locations: left out."""
    untied_threads: int = 0
    """Threads that nothing ties to the processes: left out."""
    untied_streams: int = 0
    """Streams of devices that nothing ties to the processes: left out."""
    loose_threads: int = 0
    """Threads that take part, though nothing ties their start and end to their process."""
    placed_streams: int = 0
    """Streams of devices whose times contradicted those of their process: put on its clock by a straight line."""
    placed_ns: int = 0
    """By how much at most their ends were moved for that."""
    cut_messages: int = 0
    """Messages with one end outside of the iterations that the trace is restricted to: the waits at the other count as work."""
    cut_collectives: int = 0
    """Collective instances of which some members are outside of them."""
    cut_links: int = 0
    """Links from or to calls outside of them."""

    @property
    def lacking(self) -> dict[str, int]:
        """What the trace lacks and no other record of it tells, by name, zeros left out."""
        return {name: getattr(self, name) for name in _LACKING if getattr(self, name)}

    def with_lacking(self, stored: Mapping[str, object]) -> Counts:
        """Return the counts with those that `lacking` of another gave, and `to_nobody`, as a file kept them; others are passed over."""
        good = {
            key: value
            for key, value in stored.items()
            if key in (*_LACKING, "to_nobody") and isinstance(value, int) and 0 <= value < 1 << 62
        }
        return dataclasses.replace(self, **good)


_LACKING = (
    "bare",
    "unmatched_sends",
    "unmatched_receives",
    "contradicting",
    "unmatched_collectives",
    "inferred_roots",
    "adopted_roots",
    "assumed_roots",
    "inferred_completions",
    "repaired_communicators",
    "repaired_sizes",
    "untied_waits",
    "untied_launches",
    "silent_processes",
    "untied_threads",
    "untied_streams",
)


UNRETURNED = "unreturned"
"""Property: who was still in which calls when the run ended."""
ENDS_EARLY = "ends early"
"""Property: where a run is cut, as the records of some processes end there, in words."""
LEFT_OUT = "left out"
"""Property: which last steps of a training job are left out, and why, in words."""
STANDS_FOR = "stands for"
"""Property: all iterations, which those of this part stand for, unasked, and how far they are alike, in words."""
SHARED = "shared processors"
"""Property: how many processes shared how many processors."""
NEEDS = "dependences"
"""Property: who tells which calls need which, in words; none is moved ahead of another then."""


@dataclasses.dataclass(frozen=True)
class Trace:
    """One recorded run: what happened, and the measured timeline beside it."""

    path: str
    format: str
    locations: Locations
    communicators: Communicators
    names: tuple[str, ...]
    parallel: Mask
    """Per row of names: marked as a parallel region."""
    paths: Paths
    calls: Calls
    requests: Requests
    regions: Regions
    messages: Messages
    collectives: Collectives
    members: Members
    timeline: Timeline
    labels: Labels
    texts: tuple[str, ...]
    nodes: tuple[str, ...]
    offsets: Offsets
    defects: Defects
    counts: Counts
    properties: Mapping[str, str]
    """What the writer says of the run, in words; UNRETURNED, ENDS_EARLY, LEFT_OUT, STANDS_FOR and SHARED bear on every answer, NEEDS on
    what may be asked."""
    faults: tuple[str, ...] = ()
    """What could not be read, and where, in words."""
    offsets_applied: bool = True
    """Whether the times are those after `offsets`, as all readers but that of recorded runs deliver them."""
    wildcards_told: bool = True
    """Whether the calls tell which receives take any source or any tag."""
    clocks_compared: bool = True
    """Whether somebody compared the clocks of the processes, or the format has no place to say so."""
    readings: Readings = dataclasses.field(default_factory=Readings.empty)
    """How clocks were compared, from which the offsets are still to be found."""
    sources: tuple[str, ...] = ()
    """Per row of names `file:line` where the region is defined, or empty; none at all if no region has one."""
    part: str = ""
    """Of a part of a run which: `iterations 10..90`. Its processes begin where they are, at different times, and nobody waits for that."""
    metahosts: tuple[str, ...] = ()
    """Names of the metahosts; none if nobody names them."""
    topologies: tuple[Topology, ...] = ()
    links: Links = dataclasses.field(default_factory=Links.empty)
    unfinished: Unfinished = dataclasses.field(default_factory=Unfinished.empty)
    counters: Counters = dataclasses.field(default_factory=Counters.empty)
    region_counters: RegionCounters = dataclasses.field(default_factory=RegionCounters.empty)
    counter_names: tuple[str, ...] = ()
    """Name of each counter, its unit behind it in brackets where there is one. Values count from some instant of each location on."""
    levels: tuple[int, ...] = ()
    """The rows of counter_names that do not count: their values are what something is at an instant, such as memory in use."""
    sampled: tuple[Sampled, ...] = ()
    """In the whole recording, also of a part of it, by name and process."""
    parameters: Parameters = dataclasses.field(default_factory=Parameters.empty)
    records: Records = dataclasses.field(default_factory=Records.empty)
    values: I8 = dataclasses.field(default_factory=lambda: np.empty(0, "i8"))
    """Arguments of the records, one after the other."""
    site: I4 = dataclasses.field(default_factory=lambda: np.empty(0, "i4"))
    """Per row of calls: where in the program it was made, row of sites, or -1 unknown; empty if the format does not tell."""
    sites: tuple[str, ...] = ()
    """Call sites: `solver.c:112 exchange` with debug information, `app+0x1234 exchange` or `app+0x1234` without."""
    model: str = ""
    """File of the LogGPS model that was measured when the run was recorded; empty if none was."""
    share: Share = dataclasses.field(default=ALONE, metadata={"kept": False})
    """Which rows are those of this process, if several have the trace together. All have the locations, paths, names and texts whole."""

    def __post_init__(self) -> None:
        check(self)

    def __repr__(self) -> str:
        return f"<Trace {self.path}: {len(self.locations)} locations, {len(self.calls)} calls, {len(self.messages)} messages>"

    @property
    def region_names(self) -> I4:
        """Row of names of each region instance."""
        return self.paths.region[self.regions.path]

    @property
    def processes_of_calls(self) -> I4:
        """Process of each call: its rank in MPI_COMM_WORLD."""
        return self.locations.process[self.calls.location]

    @cached_property
    def first_calls(self) -> I8:
        """Return, per location and one more, the first of its calls; found once."""
        return np.searchsorted(self.calls.location, np.arange(len(self.locations) + 1))

    def summed(self, values: I8) -> I8:
        """Return the sums, per location, of a value for each of its calls."""
        out, first = np.zeros(len(self.locations), "i8"), self.first_calls
        some = np.flatnonzero(np.diff(first))
        if len(some):
            out[some] = np.add.reduceat(values, first[some])
        return out


def listed_ranks(trace: Trace, where: str, largest: int = NONE) -> int:
    """Return how many ranks there are `where` every one is listed, in words: one more than the largest, or than one named elsewhere.

    Raises UsageError for a rank that is large for the number of processes: a damaged trace may name any.
    """
    process = trace.locations.process
    count, recorded = max(int(process.max(initial=NONE)), largest) + 1, len(np.unique(process))
    most = _SILENT + _SPARSE * recorded
    if count > most:
        known = words.several(recorded, "process")
        raise UsageError(f"{trace.path}: rank {count - 1} though {known} recorded, must be below {most} in {where}, which lists every rank")
    return count


def named_call(trace: Trace, call: int) -> str:
    """Return a call as errors name it: `e12 (rank 3)`, `e12 (rank 3.1)` of a thread; `e12` of a location that there is not."""
    location, number = trace.calls.location[call], int(trace.share.named(np.array([call]))[0])
    if not 0 <= location < len(trace.locations):
        return f"e{number}"
    return f"e{number} (rank {words.rank(trace.locations.process[location], trace.locations.thread[location])})"


def _named_region(trace: Trace, row: int) -> str:
    """Return an instance of a region as errors name it; by its row if numbers of it lead out of their tables."""
    location, path = trace.regions.location[row], trace.regions.path[row]
    region = trace.paths.region[path] if 0 <= path < len(trace.paths) else NONE
    if not (0 <= region < len(trace.names) and 0 <= location < len(trace.locations)):
        return f"instance {row} of a region"
    return f"region {trace.names[region]} of rank {trace.locations.process[location]}"


def check(trace: Trace) -> None:
    """Raise TraceError for region paths longer than `nesting.along` adds up, and naming the first call or region whose times contradict
    program order, or that moves less than no bytes.
    """
    if nesting.along(trace.paths.parent) is None:
        there = f"{len(trace.paths)} paths of regions within regions"
        raise TraceError(f"{trace.path}: {there}, with more than {nesting.MOST} names along them, must have at most so many")
    times, location = trace.timeline.calls, trace.calls.location
    if len(times) != len(trace.calls) or len(trace.timeline.regions) != len(trace.regions):
        raise TraceError(f"{trace.path}: a timeline of other length than its tables")
    if len(trace.site) not in (0, len(trace.calls)):
        raise TraceError(f"{trace.path}: call sites of {len(trace.site)} calls, must be of all {len(trace.calls)} or none")
    bad = np.flatnonzero(times.leave < times.enter)
    if len(bad):
        e = int(bad[0])
        raise TraceError(
            f"{trace.path}: {named_call(trace, e)} returns at {times.leave[e]} ns, before it was entered at {times.enter[e]} ns"
        )
    regions = trace.timeline.regions
    bad = np.flatnonzero(regions.leave < regions.enter)
    if len(bad):
        k = int(bad[0])
        raise TraceError(
            f"{trace.path}: {_named_region(trace, k)} ends at {regions.leave[k]} ns, before it begins at {regions.enter[k]} ns"
        )
    same = location[1:] == location[:-1]
    bad = np.flatnonzero(same & (times.enter[1:] < times.leave[:-1])) + 1
    if len(bad):
        e = int(bad[0])
        before = f"before e{e - 1} returned at {times.leave[e - 1]} ns"
        raise TraceError(f"{trace.path}: {named_call(trace, e)} is entered at {times.enter[e]} ns, {before}")
    each = range(len(times))
    for what, calls, sizes in (
        ("sends", trace.messages.send, trace.messages.bytes),
        ("sends", each, trace.calls.bytes_sent),
        ("receives", each, trace.calls.bytes_received),
    ):
        bad = np.flatnonzero(sizes < 0)
        if len(bad):
            e = int(calls[bad[0]])
            raise TraceError(f"{trace.path}: {named_call(trace, e)} {what} {sizes[bad[0]]} bytes, must be at least 0")
