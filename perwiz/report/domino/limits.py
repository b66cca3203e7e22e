"""What the time of a run is made of, and where it goes: the parts of `limited by`, call sites, devices, and work that is handed out."""

from __future__ import annotations

import dataclasses

import numpy as np
from msgspec.structs import asdict

from perwiz.patterns.analysis import efficiency
from perwiz.report import blocks
from perwiz.report.domino.records import EVEN, ForDevices, HandedOut, Hidden, Limits, Serving, Spending, StandsOut, Uneven
from perwiz.report.domino.remedies import remedy
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Mask, chunks
from perwiz.trace.parts.course import course
from perwiz.trace.parts.iterations import find
from perwiz.trace.resources import remembered
from perwiz.trace.tables import NONE, STREAM, THREAD
from perwiz.trace.tied import processors
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.health import missing
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.parts import STRETCHES, WHOLE, parts, synchronisations
from perwiz.whatif.hypotheses.stretch import Segments
from perwiz.whatif.hypotheses.waits import in_vain
from perwiz.whatif.limits.critical import KINDS, Critical
from perwiz.whatif.ranking.change import Asker, Change
from perwiz.whatif.ranking.computation import computing
from perwiz.whatif.ranking.ranking import Ranking
from perwiz.whatif.ranking.serving import sites_of
from perwiz.whatif.ranking.situations import SERVING
from perwiz.whatif.rematch.rematched import handed_out
from perwiz.whatif.run import Run

_OF_PROCESSES = ("balance-time", "speed", "typical")
"""What is asked that evens out what processes compute."""
_ALIKE = 4
"""Iterations that are alike from which on they can be asked about alone: fewer than eight tell no gain, but none of them is disturbed."""
_SITES, _MUCH = 3, 0.05
"""Call sites of which is told how much time is spent there; part of what shares are of from which on imbalance is much."""


def limits(critical: Critical, shares_of: int) -> Limits:
    """Return what the time is made of."""
    run, path = critical.run, critical.pieces
    whole = efficiency.whole(run)
    mean, most = round(float(whole.useful.mean())), int(whole.useful.max())
    times, polls = run.trace.timeline.calls, in_vain(run.trace)
    started = whole.name == efficiency.AFTER
    late = 0 if started or run.trace.part else int(path.length[path.kind == KINDS.index("start")].sum())
    start = min(late, max(whole.ideal - most, 0))
    entered = _entered_late(run, whole)
    hosts, processes = processors(run.trace), len(np.unique(run.trace.locations.process))
    of_devices = run.trace.locations.kind == STREAM
    on_devices = int(path.length[(path.kind == KINDS.index("computation")) & of_devices[path.location]].sum())
    devices = min(on_devices, max(whole.ideal - most - start, 0))
    transfer = whole.time - whole.ideal
    network = whole.time - efficiency.shortest(run, efficiency.no_network(run))
    network = max(min(network, transfer), min(transfer, 0))
    return Limits(
        after_init=started,
        time_ns=shares_of,
        end_ns=shares_of - whole.time,
        exit_ns=min(selectors.after_finalize(run.trace), max(shares_of - whole.time, 0)),
        computation_ns=mean,
        imbalance_ns=most - mean - entered,
        start_ns=start + entered,
        devices_ns=devices,
        waiting_in_turn_ns=whole.ideal - most - start - devices,
        calls_and_network_ns=transfer,
        network_ns=network,
        per_byte_ns=_per_byte(run, whole, network),
        calls_of=_callers(run.trace),
        missing_ranks=missing(run.trace)[0].tolist(),
        polling_ns=int((times.leave - times.enter)[polls].sum()) // len(run.trace.locations),
        processes=processes,
        lanes=int(hosts.sum()) + processes - len(np.unique(run.trace.locations.process[hosts])),
        **asdict(blocks.location(run.trace, int(np.flatnonzero(hosts)[whole.useful.argmax()]))),
    )


def _per_byte(run: Run, whole: efficiency.Efficiency, network: int) -> int | None:
    """Return what of the network is paid per byte, ns; None where the trace does not tell what a byte takes."""
    if any(key.endswith("G_ns_per_byte") for key in run.weighted.model.assumed):
        return None
    return min(max(whole.time - efficiency.shortest(run, efficiency.no_bytes(run)), 0), max(network, 0))


def _entered_late(run: Run, whole: efficiency.Efficiency) -> int:
    """Return how much less, ns, the process that computes most behind MPI_Init has computed before that, on its own, than all have on
    average: it left MPI_Init later, and has no more work. At most by what it computes more behind it.
    """
    if whole.name != efficiency.AFTER:
        return 0
    trace, rows = run.trace, selectors.init_calls(run.trace)
    ranks, process = trace.locations.processes()
    left = np.full(len(ranks), whole.since)
    left[process[trace.calls.location[rows]]] = trace.timeline.calls.leave[rows]
    own = left[process]
    before = efficiency.computed(trace, own, np.maximum(whole.since, own))[processors(trace)]
    most = int(whole.useful.argmax())
    return int(np.clip(round(before.mean()) - before[most], 0, whole.useful[most] - round(float(whole.useful.mean()))))


def hidden(ranking: Ranking, found: Limits) -> Hidden | None:
    """Return what balancing would gain if calls and messages took no time, where it does not gain half of the imbalance as it is, nor does
    a slow process that is as the others; None where one does, or there is little imbalance.
    """
    now, trace = ranking.run.makespan, ranking.run.trace
    words = (WHOLE, STRETCHES) if len(synchronisations(trace)) else (WHOLE,)
    asked = [f"balance-time {name}" for name in words if name not in trace.names]
    gain, imbalance = max((now - change.makespan for change in ranking.changes if change.kind in EVEN), default=0), found.imbalance_ns
    if imbalance < _MUCH * found.time_ns or 2 * gain >= imbalance or found.lanes > found.processes or not ranking.answerable:
        return None
    gain = max([gain, *(now - ranking.asker.makespan(parse(question)) for question in asked)])
    if 2 * gain >= imbalance:
        return None
    run = ranking.asker.run
    free = dataclasses.replace(run.weighted, weight=efficiency.ideal(run))
    asker, shortest = Asker(run, free), efficiency.shortest(run, free.weight)
    left = {question: efficiency.shortest(run, asker.changed([parse(question)]).weight) for question in asked}
    best = min(left, key=left.__getitem__, default="")
    if not best:
        return None
    return Hidden(change=blocks.option(best), gain_ns=gain, free_ns=max(shortest - left[best], 0))


def stands_out(trace: Trace) -> StandsOut | None:
    """Return which iterations take far longer than the others."""
    found = find(trace)
    if trace.part or not len(found):
        return None
    its = course(found)
    if not its.exceptions:
        return None
    alike = its.alike
    return StandsOut(
        numbers=[k + 1 for k in its.exceptions],
        times_ns=[round(its.time[k]) for k in its.exceptions],
        median_ns=round(its.median),
        excess_ns=round(its.excess),
        alike=f"{alike.start + 1}..{alike.stop}" if alike.stop - alike.start >= _ALIKE else None,
    )


def waiting_of(run: Run) -> list[str]:
    """Return whose waits are added up: of one process those of its threads; of streams of devices if they wait for anything."""
    kind, process = run.trace.locations.kind, run.trace.locations.process
    streams = bool((kind[run.trace.calls.location[run.waits.time > 0]] == STREAM).any())
    several = len(process) > 0 and np.ptp(process) > 0
    threads = bool((kind == THREAD).any()) or (streams and not several)
    return [name for name, there in {"processes": several, "threads": threads, "streams": streams}.items() if there]


def spending(run: Run) -> list[Spending]:
    """Return the call sites in which processes and threads that compute spend most time from when the last has left MPI_Init."""
    trace, times = run.trace, run.trace.timeline.calls
    lasts = times.leave - times.enter - selectors.before_inits_left(trace)
    own = processors(trace)
    chosen = ~np.isin(trace.calls.op, (*operations.INITS, *operations.FINALIZES)) & own[trace.calls.location]
    which, sites = selectors.sites(trace)
    spent = np.bincount(which[chosen], lasts[chosen], len(sites)) / max(own.sum(), 1)
    waiting = np.bincount(which[chosen], np.minimum(run.waits.time, lasts)[chosen], len(sites)) / max(own.sum(), 1)
    longest = [site for site in np.argsort(-spent, kind="stable")[:_SITES].tolist() if spent[site]]
    return [Spending(selectors.site(*sites[site]), round(spent[site]), round(waiting[site])) for site in longest]


def uneven(asker: Asker, change: Change) -> Uneven | None:
    """Return where the process that a change makes as fast as others, else the one that computes most, computes longest beyond the mean."""
    trace = asker.run.trace
    if change.kind not in EVEN or change.by not in ("program", "stretch", "rank") or change.word not in _OF_PROCESSES:
        return None
    of_stretches = change.by == "stretch"
    computed = _computed_between(asker, change.question.partition(" ")[2]) if of_stretches else _computed(asker, change.word == "typical")
    ranks, row_of = trace.locations.processes()
    if change.by == "rank":
        asked = change.question.partition(" ")[2]
        chosen = selectors.processors(trace, asked.rpartition("=")[0] if change.word == "speed" else asked)
        row = int(row_of[chosen].min())
    else:
        row = int(computed.sum(axis=1).argmax())
    of_all = change.by != "rank" or change.word == "typical"
    others = computed if of_all else computed[np.searchsorted(ranks, computing(asker)[0])]
    excess = computed[row] - others.mean(axis=0)
    region = int(excess[:-1].argmax()) if len(trace.names) else NONE
    if region == NONE or excess[region] < excess.sum() / 2:
        region = NONE
    more = excess.sum() if region == NONE else excess[region]
    if more <= 0:
        return None
    where, only = (None, False) if region == NONE else (trace.names[region], not np.delete(_entered(trace, region), row).any())
    return Uneven(rank=int(ranks[row]), region=where, excess_ns=round(float(more)), only=only)


def _entered(trace: Trace, region: int) -> Mask:
    """Return which processes enter a region."""
    ranks, row = trace.locations.processes()
    out = np.zeros(len(ranks), bool)
    out[row[trace.regions.location[trace.region_names == region]]] = True
    return out


@remembered(2)
def _computed(asker: Asker, devices: bool) -> I8:
    """Return how long each process computes in each region itself, ns, and in the last column outside of any: of a run whose shares are of
    the time after MPI_Init, between its own MPI_Init and MPI_Finalize; with what its devices compute, or without what it does for them.
    """
    trace, segments = asker.run.trace, asker.segments
    own = np.full(len(segments.location), True) if devices else ~asker.for_devices & (trace.locations.kind != STREAM)[segments.location]
    if blocks.shares_of(trace, asker.run.makespan) < asker.run.makespan:
        ending = np.flatnonzero(np.isin(trace.calls.op, operations.FINALIZES))
        own &= (segments.gap > _before(trace, selectors.init_calls(trace), NONE)[segments.location]) & (
            segments.gap <= _before(trace, ending, len(trace.calls) + len(trace.locations))[segments.location]
        )
    return _by_region(segments, np.flatnonzero(own))


@remembered(4)
def _computed_between(asker: Asker, stretches: str) -> I8:
    """Return the same of stretches between collectives, as a question names them."""
    return _by_region(asker.segments, parts(asker.segments, stretches).segment)


def _by_region(segments: Segments, rows: I8) -> I8:
    """Return the sums of some segments, ns, a row per process and a column per region, the last for those outside of any."""
    trace, outside = segments.trace, len(segments.trace.names)
    ranks, row = trace.locations.processes()
    out, region_of = np.zeros(len(ranks) * (outside + 1), "i8"), np.append(trace.paths.region, outside)
    for some in chunks(len(rows)):
        own = rows[some]
        cell = row[segments.location[own]] * (outside + 1) + region_of[segments.path[own]]
        np.add.at(out, cell, segments.length[own])
    return out.reshape(len(ranks), outside + 1)


def _before(trace: Trace, calls: I8, without: int) -> I8:
    """Return per location the computation before one of some calls, as segments number it; `without` where it has none."""
    out = np.full(len(trace.locations), without, "i8")
    location = trace.calls.location[calls]
    out[location] = calls + location
    return out


def for_devices(asker: Asker) -> ForDevices | None:
    """Return who computes longest for devices, and where most."""
    trace, segments, chosen = asker.run.trace, asker.segments, asker.for_devices
    if not segments.length[chosen].any():
        return None
    spent = np.zeros((len(trace.locations), len(trace.paths) + 1), "i8")
    np.add.at(spent, (segments.location[chosen], segments.path[chosen]), segments.length[chosen])
    row = int(spent.sum(axis=1).argmax())
    where = int(spent[row].argmax())
    region = blocks.region_path(trace, where if where < len(trace.paths) else NONE)
    return ForDevices(rank=int(trace.locations.process[row]), time_ns=int(spent[row].sum()), region=region)


def _callers(trace: Trace) -> list[str]:
    """Return what the calls of a trace are of."""
    made = np.flatnonzero(np.bincount(trace.calls.op, minlength=len(operations.OPS)))
    names = [operations.OPS[op] for op in made.tolist()]
    kinds = {
        "MPI": operations.MPI[made].any(),
        "OpenSHMEM": operations.SHMEM[made].any(),
        "devices": any(name.startswith("device_") for name in names),
    }
    kinds["threads"] = any(name.startswith(("omp_", "pthread_")) for name in names)
    return [kind for kind in ("MPI", "OpenSHMEM", "threads", "devices") if kinds[kind]]


def served(asker: Asker) -> Serving | None:
    """Return which process serves the others in turn and is waited for longest, None if none does."""
    first, trace = next(iter(asker.serving), None), asker.run.trace
    if first is None:
        return None
    sites, written = sites_of(trace, first), remedy(trace, SERVING)
    return Serving(rank=first.process, others=first.others, rounds=first.rounds, sites=sites, waited_ns=first.waited, remedy=written)


def tasks(trace: Trace) -> HandedOut | None:
    """Return what work processes get as they come for it, None if they get none so."""
    handed = handed_out(trace)
    tasks, process = handed.tasks, trace.locations.process
    if not len(tasks.home) and not len(handed.turns.serving):
        return None
    masters = np.array([farm.master for farm in tasks.farms], "i8")
    heard = trace.calls.location[trace.messages.send[handed.turns.request]]
    return HandedOut(
        masters=process[masters].tolist(),
        serving=process[handed.turns.serving].tolist(),
        workers=len(np.unique(process[np.concatenate([heard, *(farm.workers for farm in tasks.farms)])])),
        tasks=len(tasks.home),
        fetched=int((~tasks.counters.ends).sum()),
    )
