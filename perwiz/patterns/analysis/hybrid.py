"""Efficiencies of programs with threads, by MPI and by threads: POP's factors multiplied (BSC) and added (NAG).

    multiplied   the whole, of all threads = MPI x threads
                 MPI: each process is its first thread, all of whose time outside of MPI calls is useful
                 threads: the quotient of the two, which may be above 1
    added        1 less an efficiency is the sum of what those below it lose; parallel is the same number

The ideal time of the whole is that of a replay in which no call takes time, of MPI that of one in which MPI calls alone take none.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.engines.sweep import makespan, sweep
from perwiz.loggps.weigh import timeline_of
from perwiz.patterns.analysis.efficiency import ANY, PROGRAM, Efficiency, between, ideal, inside, part, window_of
from perwiz.patterns.idle import Windows, first_threads, parallel_regions
from perwiz.patterns.pattern import View
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.origin import Origin
from perwiz.trace.tables import PROCESS, Times
from perwiz.trace.tied import processors
from perwiz.whatif.run import Run


@dataclasses.dataclass(frozen=True, eq=False)
class Added:
    """Efficiencies whose losses add up: 1 less an efficiency is the sum of the losses below it (NAG's form of POP)."""

    balance: float
    """Loses what the longest process is outside of MPI above the mean, by the time."""
    serialisation: float
    transfer: float
    serial: float
    """Loses what threads are idle while the first one of their process computes alone, by the time (Amdahl)."""
    regions: float
    """Loses what threads do not compute in parallel regions, by the time."""

    @property
    def communication(self) -> float:
        """Of serialisation and transfer."""
        return self.serialisation + self.transfer - 1

    @property
    def processes(self) -> float:
        """Of balance and communication."""
        return self.balance + self.communication - 1

    @property
    def threads(self) -> float:
        """Of serial parts and parallel regions."""
        return self.serial + self.regions - 1

    @property
    def parallel(self) -> float:
        """Of processes and threads: mean of the computation of all threads by the time."""
        return self.processes + self.threads - 1


@dataclasses.dataclass(frozen=True, eq=False)
class Hybrid:
    """The efficiencies of a program with threads: of all threads, and of its processes as MPI sees them."""

    whole: Efficiency
    """Of all threads."""
    mpi: Efficiency
    """Of the first threads: all that is outside of MPI calls is useful, and on an ideal network these alone take no time."""
    threads: I8
    """Threads per process."""
    serial: I8
    """ns per process that its first thread computes outside of parallel regions."""
    regions: I8
    """ns per process that its first thread is in parallel regions, outside of MPI calls."""

    def of_threads(self, factor: str) -> float:
        """Return a factor of the threads, such as `load_balance`: that of the whole by that of MPI."""
        return part(getattr(self.whole, factor), getattr(self.mpi, factor))

    @property
    def added(self) -> Added | None:
        """The additive form; None if threads compute more than fits into the parallel regions: others are not told."""
        share, time, outside = self.threads / self.threads.sum(), max(self.whole.time, 1), self.serial + self.regions
        in_regions = (self.whole.useful.sum() - self.serial.sum()) / self.threads.sum()
        if not self.regions.any() or in_regions > (share * self.regions).sum():
            return None
        return Added(
            balance=1 - float(outside.max() - (share * outside).sum()) / time,
            serialisation=1 - float(self.mpi.ideal - outside.max()) / time,
            transfer=self.mpi.ideal / time,
            serial=1 - float((self.serial * (self.threads - 1)).sum() / self.threads.sum()) / time,
            regions=1 - float((share * self.regions).sum() - in_regions) / time,
        )


def hybrid(run: Run) -> Hybrid | None:
    """Return the efficiencies of the same part by processes and threads; None if no process has several threads that compute."""
    trace = run.trace
    first = np.flatnonzero(trace.locations.kind == PROCESS)
    hosts = processors(trace) | (trace.locations.kind == PROCESS)
    if not len(first) or hosts.sum() == len(first):
        return None
    both, only_mpi = _ideal(run, ANY), _ideal(run, operations.OF_PROCESSES)
    window = window_of(trace) or trace.timeline.locations
    outside = (window.leave - window.enter - inside(run, window, operations.OF_PROCESSES))[first]
    parallel = [_parallel(run, window, location) for location in first.tolist()]
    return Hybrid(
        whole=dataclasses.replace(both, useful=both.useful[hosts]),
        mpi=Efficiency(both.name, False, outside, both.time, only_mpi.ideal),
        threads=np.bincount(first_threads(trace)[hosts] + 1, minlength=len(hosts) + 1)[first + 1],
        serial=both.useful[first] - np.array([useful for useful, _ in parallel]),
        regions=np.array([outside for _, outside in parallel]),
    )


def _parallel(run: Run, window: Times, location: int) -> tuple[int, int]:
    """Return how long, ns, a first thread computes in parallel regions, and how long it is there outside of MPI calls."""
    view, ends = View(run.trace), (window.enter[location], window.leave[location])
    found = parallel_regions(view, location)
    regions = Windows(*(np.clip(edge, *ends) for edge in (found.begin, found.end)))
    calls = slice(*run.trace.first_calls[location : location + 2])
    length = regions.before(view.leave[calls]) - regions.before(view.enter[calls])
    whole = int((regions.end - regions.begin).sum())
    return whole - int(length.sum()), whole - int(length[operations.OF_PROCESSES[view.op[calls]]].sum())


def _ideal(run: Run, routines: Mask) -> Efficiency:
    """Return the efficiency of the whole, all locations; in its ideal run some routines take no time."""
    time = sweep(run.graph, ideal(run, routines))
    best = timeline_of(run.weighted, time, Origin("predicted", hypotheses=("an ideal network",)))
    spans = run.trace.timeline.locations
    program = Efficiency(PROGRAM, False, spans.leave - spans.enter - inside(run, spans, ANY), run.makespan, makespan(run.graph, time))
    return next(iter(between(run, best.calls)), program)
