"""Efficiencies as TALP of BSC's library DLB states them (its model "hybrid v2"), and those of teams as JSC does: from the same times.

    TALP: each thread is useful, in MPI, in the runtime of devices, in a barrier of its team (or until that is joined), or without a team
        MPI        load balance x communication, of the time in MPI per thread, threads that idle meanwhile included
        OpenMP     load balance x scheduling x serialisation; what all threads of a team spend in barriers is scheduling, what one does
                   beyond that imbalance, what threads have no team serialisation
        devices    offload: the part of the host's time that is not in their runtime
                   load balance x communication x orchestration, of kernels, and of copies that no kernel hides
    JSC: per process, of its parallel regions: load balance x serialisation x management, and their means over the processes
        load balance   mean by most computation of a thread; serialisation: most computation by most time between beginning and ending in a
                       team; management: that by the time from fork to join

TALP does not see who waits for a lock, a critical section or its turn: here as there that is useful. The whole is no product of MPI and
OpenMP.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.formats.devices import COPIES
from perwiz.patterns.analysis.efficiency import inside, part, window_of
from perwiz.patterns.idle import OF_TEAMS, first_threads, idle, routines
from perwiz.patterns.pattern import View
from perwiz.trace import operations
from perwiz.trace.arrays import F8, I8
from perwiz.trace.tables import NONE, PROCESS, STREAM, Times
from perwiz.trace.trace import Trace
from perwiz.whatif.hypotheses.teams import Members, members
from perwiz.whatif.run import Run

_TOGETHER = routines("omp_barrier", "omp_implicit_barrier", "omp_taskwait", "omp_task", "omp_join")
_RUNTIME = routines("device_launch", "device_synchronize", "device_copy", "device_offload")


@dataclasses.dataclass(frozen=True, eq=False)
class Talp:
    """The times, ns, that TALP's efficiencies are made of; sums over all threads unless they are per process."""

    teams: int
    """Of threads, that are told."""
    elapsed: int
    """Of the process that lasts longest."""
    useful: int
    mpi: I8
    """Per process."""
    idle_in_mpi: I8
    """Per process: of threads without a team while the first one is in MPI."""
    threads: I8
    """Per process."""
    imbalance: int
    scheduling: int
    serialisation: int
    runtime: int
    kernels: I8
    """Per process with a device: some kernel runs."""
    copies: I8
    """Per process with a device: a copy is under way, and no kernel runs."""

    @property
    def parallel(self) -> float:
        """Useful time by that of all threads."""
        beside = self.imbalance + self.scheduling + self.serialisation + self.runtime
        return part(self.useful, self.useful + int(self.mpi.sum()) + beside)

    @property
    def _outside(self) -> F8:
        """Per process: the time of a thread, in the mean, outside of MPI, and not idle for it."""
        return self.elapsed - (self.mpi + self.idle_in_mpi) / self.threads

    @property
    def _mean_outside(self) -> float:
        return self.elapsed - float((self.mpi + self.idle_in_mpi).sum()) / int(self.threads.sum())

    @property
    def mpi_load_balance(self) -> float:
        """Time outside of MPI: the mean of all threads by that of the process with most of it."""
        return part(self._mean_outside, float(self._outside.max()))

    @property
    def mpi_communication(self) -> float:
        """Time outside of MPI of the process with most of it by the time."""
        return part(float(self._outside.max()), self.elapsed)

    @property
    def mpi_parallel(self) -> float:
        """Of both."""
        return part(self._mean_outside, self.elapsed)

    @property
    def _without_openmp(self) -> int:
        return self.useful + int(self.mpi.sum()) + self.runtime

    @property
    def omp_serialisation(self) -> float:
        """Loses what threads have no team."""
        return part(self._without_openmp, self._without_openmp + self.serialisation)

    @property
    def omp_load_balance(self) -> float:
        """Loses what a thread is in barriers longer than that of its team that is there shortest."""
        rest = self._without_openmp + self.serialisation
        return part(rest, rest + self.imbalance)

    @property
    def omp_scheduling(self) -> float:
        """Loses what all threads of a team are in barriers."""
        rest = self._without_openmp + self.serialisation + self.imbalance
        return part(rest, rest + self.scheduling)

    @property
    def omp_parallel(self) -> float:
        """Of all three."""
        return self.omp_load_balance * self.omp_scheduling * self.omp_serialisation

    @property
    def device_offload(self) -> float:
        """Loses what the host is in the runtime of devices."""
        rest = self.useful + self.imbalance + self.scheduling + self.serialisation
        return part(rest, rest + self.runtime)

    @property
    def device_load_balance(self) -> float:
        """Time of kernels: the mean of the devices by the most."""
        return part(float(self.kernels.mean()), int(self.kernels.max()))

    @property
    def device_communication(self) -> float:
        """Most time of kernels by most time of kernels and copies."""
        return part(int(self.kernels.max()), int((self.kernels + self.copies).max()))

    @property
    def device_orchestration(self) -> float:
        """Most time of kernels and copies by the time."""
        return part(int((self.kernels + self.copies).max()), self.elapsed)

    @property
    def device_parallel(self) -> float:
        """Of all three."""
        return self.device_load_balance * self.device_communication * self.device_orchestration


@dataclasses.dataclass(frozen=True, eq=False)
class Teams:
    """What the threads of each process do in its parallel regions, ns, per process that has some."""

    computed: F8
    """Mean of its threads."""
    most_computed: I8
    longest: I8
    """The most that a thread is in teams, from beginning to ending there."""
    regions: I8
    """From fork to join."""

    @property
    def load_balance(self) -> float:
        """Mean by most computation, in the mean of the processes."""
        return _mean(self.computed, self.most_computed)

    @property
    def serialisation(self) -> float:
        """Most computation by the most time in teams, in the mean of the processes."""
        return _mean(self.most_computed, self.longest)

    @property
    def management(self) -> float:
        """Most time in teams by that from fork to join, in the mean of the processes."""
        return _mean(self.longest, self.regions)

    @property
    def parallel(self) -> float:
        """Mean computation by the time from fork to join, in the mean of the processes."""
        return _mean(self.computed, self.regions)


def _mean(some: F8 | I8, whole: I8) -> float:
    return float(np.mean([part(*both) for both in zip(some.tolist(), whole.tolist(), strict=True)]))


def talp(run: Run) -> Talp | None:
    """Return the times of the same part as `hybrid`; None if the trace has no processes' first threads."""
    trace = run.trace
    first = np.flatnonzero(trace.locations.kind == PROCESS)
    if not len(first) or (first_threads(trace) == NONE).any():
        return None
    window = window_of(trace) or trace.timeline.locations
    hosts = trace.locations.kind != STREAM
    of = members(trace)
    behind = of.behind(len(trace.calls))
    shared = _together(trace, window, of, behind)
    mpi, runtime, out = (
        times[hosts] for times in (inside(run, window, operations.MPI), inside(run, window, _RUNTIME), _without(run, window))
    )
    process = np.searchsorted(first, first_threads(trace)[hosts])
    threads = np.bincount(process)
    alone = np.flatnonzero(operations.MPI[trace.calls.op] & (behind == NONE) & (trace.locations.kind[trace.calls.location] == PROCESS))
    serial = np.bincount(trace.calls.location[alone], _length(trace, window, alone), len(trace.locations))[first]
    least = np.full(len(of.fork), np.iinfo("i8").max)
    np.minimum.at(least, of.team, shared)
    scheduling = int((least * of.size)[of.size > 0].sum())
    every = int((window.leave - window.enter)[hosts].sum())
    kernels, copies = _of_devices(trace, window)
    spent = int(mpi.sum()) + int(runtime.sum()) + int(out.sum()) + int(shared.sum())
    return Talp(
        teams=len(of.fork),
        elapsed=int((window.leave - window.enter)[first].max()),
        useful=every - spent,
        mpi=np.bincount(process, mpi).astype("i8"),
        idle_in_mpi=(serial * (threads - 1)).astype("i8"),
        threads=threads,
        imbalance=int(shared.sum()) - scheduling,
        scheduling=scheduling,
        serialisation=int(out.sum()),
        runtime=int(runtime.sum()),
        kernels=kernels,
        copies=copies,
    )


def _length(trace: Trace, window: Times, call: I8) -> I8:
    """Return how long some calls are in the windows of their locations, ns."""
    times, location = trace.timeline.calls, trace.calls.location[call]
    begin, end = window.enter[location], window.leave[location]
    return np.clip(times.leave[call], begin, end) - np.clip(times.enter[call], begin, end)


def _together(trace: Trace, window: Times, of: Members, behind: I8) -> I8:
    """Return how long each member of a team is in its barriers, and until it is joined, ns."""
    out = np.zeros(len(of.team), "i8")
    call = np.flatnonzero(_TOGETHER[trace.calls.op] & (behind != NONE))
    np.add.at(out, behind[call], _length(trace, window, call))
    first = np.isin(of.first, of.fork)
    out[first] += _length(trace, window, of.end[first])
    joined = trace.timeline.calls.leave[of.end[first]]
    begin, end = window.enter[of.location], window.leave[of.location]
    ended = np.clip(trace.timeline.calls.enter[of.end], begin, end)
    out[~first] += np.maximum(np.clip(joined[of.team], begin, end) - ended, 0)[~first]
    return out


def _without(run: Run, window: Times) -> I8:
    """Return how long each location is without a team, from the join of the last one to when it begins in the next, ns."""
    found = idle(View(run.trace), OF_TEAMS)
    location = run.trace.calls.location[found.call]
    begin, end = window.enter[location], window.leave[location]
    leave = run.trace.timeline.calls.leave[found.call]
    out = np.zeros(len(run.trace.locations), "i8")
    np.add.at(out, location, np.clip(leave, begin, end) - np.clip(found.joined, begin, end))
    return out


def _of_devices(trace: Trace, window: Times) -> tuple[I8, I8]:
    """Return (ns of kernels, ns of copies that no kernel hides) of each process that has streams which do something."""
    spans, regions = trace.timeline.regions, trace.regions
    outer = np.flatnonzero((trace.locations.kind[regions.location] == STREAM) & (regions.parent == NONE))
    copy = np.isin(trace.region_names[outer], [row for row, name in enumerate(trace.names) if name in COPIES])
    process = trace.locations.process[regions.location[outer]]
    location = regions.location[outer]
    begin, end = (np.clip(edge[outer], window.enter[location], window.leave[location]) for edge in (spans.enter, spans.leave))
    kernels, copies = [], []
    for each in np.unique(process).tolist():
        own = process == each
        busy, computing = (_union(begin[chosen], end[chosen]) for chosen in (own, own & ~copy))
        kernels.append(computing)
        copies.append(busy - computing)
    return np.array(kernels, "i8"), np.array(copies, "i8")


def _union(begin: I8, end: I8) -> int:
    """Return how long some of several stretches are under way, ns.

    0 to 10, 5 to 20 and 30 to 31: 21.
    """
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], np.maximum.accumulate(end[order])
    covered = np.concatenate(([np.iinfo("i8").min], end[:-1]))[: len(begin)]
    return int(np.maximum(end - np.maximum(begin, covered), 0).sum())


def teams(run: Run) -> Teams | None:
    """Return what threads do in parallel regions, teams within teams in that around them; None if no team is told."""
    trace = run.trace
    of = members(trace)
    if not len(of.fork):
        return None
    times, behind = trace.timeline.calls, of.behind(len(trace.calls))
    master = np.isin(of.first, of.fork)
    begun, ended = times.leave[of.first], times.enter[of.end]
    joined = times.leave[of.end[master]]
    busy = ended - begun
    computed = busy.copy()
    call = np.flatnonzero(behind != NONE)
    call = call[call != of.first[behind[call]]]
    np.subtract.at(computed, behind[call], (times.leave - times.enter)[call])
    outer = trace.locations.kind[trace.calls.location[of.fork]] == PROCESS
    place = trace.locations.processes()[1]
    rank = place[of.location]
    of_outer = outer[of.team]
    spent, worked = (_by_location(values[of_outer], of.location[of_outer], len(trace.locations)) for values in (busy, computed))
    process = np.unique(rank[of_outer])
    row = [np.flatnonzero((place == each) & (trace.locations.kind != STREAM)) for each in process.tolist()]
    whole = np.bincount(place[trace.calls.location[of.fork[outer]]], (joined - times.enter[of.fork])[outer])
    return Teams(
        computed=np.array([worked[own].mean() for own in row]),
        most_computed=np.array([worked[own].max() for own in row]),
        longest=np.array([spent[own].max() for own in row]),
        regions=whole[process].astype("i8"),
    )


def _by_location(values: I8, location: I8, count: int) -> I8:
    out = np.zeros(count, "i8")
    np.add.at(out, location, values)
    return out
