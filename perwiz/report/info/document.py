"""The report of `perwiz info`: a JSON document, and the text made from it."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from perwiz import words
from perwiz.loggps.machine import Machine
from perwiz.patterns.analysis.devices import Devices
from perwiz.report import blocks, counts
from perwiz.report.blocks import Facts
from perwiz.report.counts import Counters
from perwiz.report.info import devices as of_devices
from perwiz.report.info import iterations
from perwiz.report.info.devices import DevicesOf
from perwiz.report.info.iterations import IterationsOf
from perwiz.report.records import Health, Makespan, Natural, Positive, Record, TraceDocument, Wait
from perwiz.trace import nesting, operations
from perwiz.trace.arrays import I8, U2
from perwiz.trace.parts.iterations import Iterations
from perwiz.trace.spread.tally import Tally
from perwiz.trace.tables import STREAM
from perwiz.trace.trace import Trace
from perwiz.whatif import health, selectors
from perwiz.whatif.waits import Waits

_NAME = 40
"""Columns of the name of a region."""
_SAID = 1000
"""Columns of what was inferred."""
_KINDS, _KIND = 4, 30
"""Kinds of other records that are named, and columns of their names."""
_MUCH = 1000
"""A thousandth of the run is told apart."""
_INITS = tuple(operations.OPS[op] for op in operations.INITS)


class Communicator(Record):
    """A communicator and its size."""

    name: str
    ranks: Natural


class Messages(Record):
    """The messages whose two ends are known."""

    matched: Natural
    bytes: Natural


class Routine(Record):
    """All calls of a routine."""

    routine: str
    calls: Positive
    time_ns: Natural
    init_ns: Natural
    """Of it, before the last process has left MPI_Init: also what threads and streams are idle meanwhile."""
    streams_ns: Natural
    """Of it, on streams of devices."""
    waiting_ns: Natural
    bytes_sent: Natural


class Region(Record):
    """The instances of a user region by name; of those inside others of the same name the outermost counts."""

    region: str
    parallel: bool
    instances: Natural
    steps: Natural
    """Largest number of an instance on one process."""
    time_ns: Natural
    """Inclusive."""
    mean_ns: Natural
    """Of a process."""
    largest_ns: Natural
    """Of a process."""


class InfoDocument(TraceDocument, kw_only=True):
    """What a trace is. Times are whole nanoseconds."""

    command: Literal["info"] = "info"
    properties: dict[str, str]
    """What the writer of the trace says of it."""
    makespan_ns: Makespan
    processes_ns: Natural
    """From the first to the last instant of each process and thread, all together."""
    init_ns: Natural
    """Of them in calls before the last process has left MPI_Init, all together."""
    after_init_ns: Natural
    """What percentages are of: of each process from the instant on at which the last has left MPI_Init, to the end of the run, of each
    thread what it has behind that; processes_ns if the trace does not show MPI_Init."""
    shares_of_ns: Makespan
    """From that instant to the end of the run; the makespan if the trace does not show it."""
    exit_ns: Natural
    """Of it, behind the instant at which the last process has left MPI_Finalize."""
    processes: Natural
    locations: Natural
    """Processes, threads and streams of devices: what has calls of its own."""
    streams: Natural
    """Those of devices among them."""
    communicators: list[Communicator]
    calls: Natural
    time_ns: Natural
    """In calls, all processes and threads together."""
    waiting_ns: Natural
    """Part of it waited for partners."""
    waiting_after_init_ns: Natural
    """Of that, from the instant on at which the last process has left MPI_Init."""
    streams_ns: Natural
    """From the first to the last instant of each stream, all together."""
    idle_ns: Natural
    """Of it without a kernel or copy, which is no wait of a process."""
    model: str
    """That tells waiting from work."""
    unknown: list[str]
    """Keys of it that nothing tells, such as between-nodes:S_bytes: with others another part may be waiting."""
    messages: Messages
    collectives: Natural
    other_records: dict[str, Natural]
    """Records beside calls, messages, regions and counters that are kept, by kind: of threads, one-sided communication, files, ..."""
    single_events: Natural
    """Records that stand alone and tell nothing of these, left out."""
    values_left_out: Natural
    """Values of counters that are not defined, or read where nothing begins or ends."""
    values_read: Natural
    """Values of counters that were read at any time, or for other locations: `counters` has what they are."""
    health: Health
    routines: list[Routine]
    """Those with most time first."""
    regions: list[Region]
    """Those with most time first."""
    waits: list[Wait]
    """The longest."""
    iterations: IterationsOf | msgspec.UnsetType = msgspec.UNSET
    """Only if asked for."""
    devices: DevicesOf | msgspec.UnsetType = msgspec.UNSET
    """Likewise."""
    counters: Counters | None
    """Null if there are none, or nobody asked for them."""


def document(
    trace: Trace,
    state: health.Health,
    waits: Waits,
    most: int,
    machine: Machine,
    found: Iterations | None = None,
    counters: bool = False,
    used: Devices | None = None,
    told: Tally | None = None,
) -> InfoDocument:
    """Return what a trace is, with at most `most` waits, told from work under the model of a machine.

    With its iterations and what its devices do, if given, and its counters on request. If it is `told` what all rows come to, the tables
    of calls, messages, collectives and regions are not looked at.
    """
    told = (tally(trace, waits) if told is None else told).of_all(trace.share)
    ends, stream = trace.timeline.locations, trace.locations.kind == STREAM
    spans, sizes = ends.leave - ends.enter, trace.communicators.sizes().tolist()
    return InfoDocument(
        **blocks.head(trace),
        properties=dict(trace.properties),
        makespan_ns=trace.timeline.makespan,
        processes_ns=int(spans[~stream].sum()),
        init_ns=told["init"],
        after_init_ns=selectors.since_inits(trace)[0],
        shares_of_ns=blocks.shares_of(trace, trace.timeline.makespan),
        exit_ns=selectors.after_finalize(trace),
        processes=len(np.unique(trace.locations.process)),
        locations=len(trace.locations),
        streams=int((trace.locations.kind == STREAM).sum()),
        communicators=[Communicator(name=name, ranks=size) for name, size in zip(trace.communicators.names, sizes, strict=True)],
        calls=told["calls"],
        time_ns=told["time"],
        waiting_ns=told["waiting"],
        waiting_after_init_ns=told["waiting_after"],
        streams_ns=int(spans[stream].sum()),
        idle_ns=told["idle"],
        model=machine.model.name,
        unknown=[unknown.place for unknown in machine.unknown if unknown.key != "collectives"],
        messages=Messages(matched=told["messages"], bytes=told["bytes"]),
        collectives=trace.share.in_all("collectives", len(trace.collectives)),
        other_records=_other_records(trace),
        single_events=trace.counts.single_events,
        values_left_out=trace.counts.loose_counters,
        values_read=sum(each.values for each in trace.sampled),
        health=blocks.health(state),
        routines=_routines(told.sums["routines"]),
        regions=_regions(trace, told),
        waits=blocks.longest(trace, waits, most),
        iterations=msgspec.UNSET if found is None else iterations.iterations_of(trace, found),
        devices=msgspec.UNSET if used is None else of_devices.devices_of(trace, used),
        counters=counts.document(trace) if counters else None,
    )


def tally(trace: Trace, waits: Waits) -> Tally:
    """Return what the rows of this process, or of a window of time, come to of what `document` tells."""
    times, own, before = trace.timeline.calls, trace.share.calls, selectors.before_inits_left(trace)[trace.share.calls]
    lasts, waiting, received = (times.leave - times.enter)[own], waits.time[own], trace.messages.bytes[trace.share.messages]
    routine, of_process = trace.calls.op[own], trace.locations.kind[trace.calls.location[own]] != STREAM
    on_stream = np.where(of_process, 0, lasts)
    values = (np.ones(len(lasts), "i8"), lasts, before, on_stream, waiting, trace.calls.bytes_sent[own])
    sums = {
        "init": before[of_process].sum(),
        "calls": len(lasts),
        "time": lasts[of_process].sum(),
        "waiting": waiting[of_process].sum(),
        "waiting_after": np.minimum(waiting, lasts - before)[of_process].sum(),
        "idle": on_stream[routine == operations.OP["device_idle"]].sum(),
        "messages": len(received),
        "bytes": received.sum(),
        "routines": np.stack([_sums(routine, value) for value in values]),
    }
    return Tally.of(sums).with_(_of_regions(trace))


def _other_records(trace: Trace) -> dict[str, int]:
    """Return how many records of each kind are kept, most first."""
    kinds = np.bincount(trace.records.kind, minlength=len(trace.texts))
    of_all = Tally.of({"kinds": kinds}).of_all(trace.share).sums["kinds"].tolist()
    return {trace.texts[kind]: of_all[kind] for kind in sorted(range(len(of_all)), key=lambda kind: -of_all[kind]) if of_all[kind]}


def _routines(sums: I8) -> list[Routine]:
    """Return the routines, those with most time first."""
    calls, time, init, streams, waiting, sent = sums
    return [
        Routine(operations.OPS[k], int(calls[k]), int(time[k]), int(init[k]), int(streams[k]), int(waiting[k]), int(sent[k]))
        for k in sorted(np.flatnonzero(calls).tolist(), key=lambda k: (-_told(operations.OPS[k], int(time[k]), int(init[k])), k))
    ]


def _told(routine: str, time: int, init: int) -> int:
    """Return the time of a routine that percentages are about, ns: of MPI_Init all of it."""
    return time if routine in _INITS else time - init


def _of_regions(trace: Trace) -> Tally:
    """Return by name of a region the time of its instances per location, their number, and the largest number of one on a location."""
    own, names = trace.share.regions, trace.region_names[trace.share.regions]
    lasts = trace.timeline.regions.leave - trace.timeline.regions.enter
    times = np.where(nesting.recursive(trace.paths)[trace.regions.path], 0, lasts)[own]
    spent, steps = np.zeros((len(trace.names), len(trace.locations)), "i8"), np.zeros(len(trace.names), "i8")
    np.add.at(spent, (names, trace.regions.location[own]), times)
    np.maximum.at(steps, names, trace.regions.instance[own])
    return Tally.of({"spent": spent, "instances": np.bincount(names, minlength=len(trace.names))}, {"steps": steps})


def _regions(trace: Trace, told: Tally) -> list[Region]:
    """Return the user regions by name, those with most time first."""
    spent, instances, steps = told.sums["spent"], told.sums["instances"], told.most["steps"]
    return [
        Region(
            region=trace.names[k],
            parallel=bool(trace.parallel[k]),
            instances=int(instances[k]),
            steps=int(steps[k]),
            time_ns=int(spent[k].sum()),
            mean_ns=int(spent[k].sum()) // max(1, len(trace.locations)),
            largest_ns=int(spent[k].max(initial=0)),
        )
        for k in sorted(range(len(trace.names)), key=lambda k: (-int(spent[k].sum()), k))
    ]


def _sums(routine: U2, values: I8) -> I8:
    """Return the sum of the values of calls per routine."""
    sums = np.zeros(len(operations.OPS), "i8")
    np.add.at(sums, routine, values)
    return sums


def text(info: InfoDocument, regions: bool, waits: bool, counters: bool = False) -> str:
    """Return the document as text for a terminal, with the tables of regions, of waits and of counters if asked for."""
    made_by = "" if info.made_by == "measured" else f", {words.shown(info.made_by)}"
    lines = [f"{words.shown(info.trace)}: {info.format}{made_by}{blocks.mark(info.health)}", "", *words.facts(_facts(info, regions))]
    lines += ["", *blocks.health_lines(info.health)]
    if info.iterations:
        lines += ["", *(iterations.lines(info.iterations) or ["no iterations"])]
    if info.devices:
        lines += ["", *of_devices.lines(info.devices)]
    if info.routines:
        lines += ["", *_routine_lines(info)]
    if regions:
        lines += ["", *_region_lines(info.regions)]
    if waits:
        lines += ["", *(["longest waits", *blocks.wait_lines(info.waits, "wait")] if info.waits else ["no call waits"])]
    if counters:
        lines += ["", *counts.lines(info.counters)]
    return "\n".join(lines)


def _facts(info: InfoDocument, regions: bool) -> Facts:
    off, whole = info.health.off_ns, info.after_init_ns
    processes, *others = words.lanes(info.processes, info.locations - info.streams, info.streams).split(", ")
    maker, communicators = info.properties.get("made_by", "measured"), len(info.communicators)
    return [
        *blocks.lacking(info.health),
        *([("made by", words.shown(maker))] if maker != "measured" else []),
        ("makespan", _makespan(info)),
        *blocks.left_out(info.health),
        *([("switched off", f"{words.duration(off)}, {words.percent(off, whole)} {_of(info)}")] if off else []),
        ("processes", ", ".join([processes.split()[0], *others])),
        *_traffic(info),
        ("regions", _region_fact(info.regions, regions)),
        *([("communicators", str(communicators))] if communicators > 1 else []),
        *_beside(info),
        *(iterations.facts(info.iterations, info.makespan_ns) if info.iterations else []),
        *([("inferred", words.shown(inferred, _SAID))] if (inferred := info.properties.get("inferred")) else []),
    ]


def _traffic(info: InfoDocument) -> Facts:
    """Return what is said of calls, messages and collectives."""
    if not info.calls:
        return [("calls", "none of MPI, so nothing waits; only regions can be asked about")]
    inside = info.time_ns - info.init_ns
    share, waiting = (words.percent(part, info.after_init_ns) for part in (inside, info.waiting_after_init_ns))
    idle = f"idle {words.duration(info.idle_ns)} ({words.percent(info.idle_ns, info.streams_ns)} of theirs)"
    on_streams = sum(row.waiting_ns for row in info.routines) - info.waiting_ns
    beside = f" of the processes, {words.duration(on_streams)} of the streams," if info.streams and on_streams > 0 else ""
    threads = info.locations - info.streams > info.processes
    over = "" if beside else " over all processes and threads" if threads else " over all processes" if info.processes > 1 else ""
    beside = blocks.as_recorded(info.health) + beside
    of_library = (operations.MPI | operations.SHMEM)[[operations.OP[row.routine] for row in info.routines]].any()
    messages, unknown = info.messages, f"; not told: {', '.join(info.unknown)}" if info.unknown and of_library else ""
    size = words.size(messages.bytes) if messages.bytes else "their sizes 0 or not told"
    return [
        ("calls", f"{info.calls}, {words.duration(inside)} in them ({share} {_of(info)})"),
        (
            "waiting",
            f"{words.duration(info.waiting_ns)}{over} ({waiting}){beside} under model {words.shown(info.model)}{unknown}",
        ),
        *([("streams", idle)] if info.streams else []),
        ("messages", f"{messages.matched}, {size}" if messages.matched else "none"),
        ("collectives", _collectives(info)),
    ]


def _collectives(info: InfoDocument) -> str:
    ops = np.array([operations.OP[row.routine] for row in info.routines])
    of_processes = operations.OF_PROCESSES[ops[operations.COLLECTIVE[ops]]]
    if not info.collectives or of_processes.all():
        return str(info.collectives or "none")
    return f"{info.collectives}, barriers of teams of threads{' among them' if of_processes.any() else ''}"


def _beside(info: InfoDocument) -> Facts:
    """Return what is said of records that are no calls, messages, regions or counters, and of those left out."""
    kinds = [f"{words.shown(kind, _KIND)} {number}" for kind, number in info.other_records.items()]
    more = f" and {words.several(len(kinds) - _KINDS, 'kind')} more" if len(kinds) > _KINDS else ""
    left_out = [(info.single_events, "stand-alone record"), (info.values_left_out, "value")]
    parts = [words.several(number, noun) for number, noun in left_out if number]
    loose = " of counters not known, or read where nothing begins or ends" if info.values_left_out else ""
    read = f"{words.several(info.values_read, 'value')} read at any time; --counters lists them"
    return [
        *([("counters", read)] if info.values_read else []),
        *([("other records", f"{sum(info.other_records.values())} kept: {', '.join(kinds[:_KINDS])}{more}")] if kinds else []),
        *([("left out", " and ".join(parts) + loose)] if parts else []),
    ]


def _makespan(info: InfoDocument) -> str:
    """Return how long the run takes, and how much of it is before and behind what the program does with MPI."""
    before = info.makespan_ns - info.shares_of_ns
    apart = [f"{words.duration(before)} until the last process has left MPI_Init"] if before else []
    apart += [f"{words.duration(info.exit_ns)} after MPI_Finalize"] if info.exit_ns * _MUCH > info.makespan_ns else []
    return f"{words.duration(info.makespan_ns)}{', ' * bool(apart)}{' and '.join(apart)}"


def _of(info: InfoDocument) -> str:
    return f"of the processes' time{' after MPI_Init' if info.shares_of_ns != info.makespan_ns else ''}"


def _region_fact(regions: list[Region], listed: bool) -> str:
    if not regions:
        return "none"
    instances = words.several(sum(region.instances for region in regions), "instance")
    return f"{len(regions)}, {instances}{'' if listed else '; --regions lists them'}"


def _routine_lines(info: InfoDocument) -> list[str]:
    cells = [
        [
            row.routine,
            str(row.calls),
            words.duration(told := _told(row.routine, row.time_ns, row.init_ns)),
            "-"
            if row.routine in _INITS or row.streams_ns == row.time_ns > 0
            else words.percent(max(told - row.streams_ns, 0), info.after_init_ns),
            words.duration(row.waiting_ns),
            words.size(row.bytes_sent),
        ]
        for row in info.routines
    ]
    of = "of processes" if info.streams else "of all"
    return words.table(["routine", "calls", "time", of, "waiting", "sent"], cells)


def _region_lines(regions: list[Region]) -> list[str]:
    """Return the table of regions; mean and largest are times of one process."""
    if not regions:
        return ["no user regions"]
    cells = [
        [
            words.shown(row.region, _NAME),
            "yes" if row.parallel else "-",
            str(row.instances),
            str(row.steps),
            *map(words.duration, (row.time_ns, row.mean_ns, row.largest_ns)),
            f"{row.largest_ns / row.mean_ns:.2f}" if row.mean_ns else "-",
        ]
        for row in regions
    ]
    head = ["region", "parallel", "instances", "steps", "time", "mean of a process", "largest", "largest/mean"]
    return words.table(head, cells, left=(0, 1))
