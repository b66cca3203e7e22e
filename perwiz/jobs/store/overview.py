"""Sums over jobs, folded from the kinds of jobs that the database knows: by language, size, CPU time, groups of routines, switches."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

from perwiz.jobs.routines import GROUPS
from perwiz.jobs.store.query import Cell, Share

TOP = (0.95, 0.99)
"""Parts of the CPU time of which the overview says how few users consumed them."""


@dataclasses.dataclass
class Sums:
    """Sums over some jobs; times in s, over all processes."""

    jobs: int = 0
    processes: int = 0
    cpu: float = 0
    mpi: float = 0
    overhead: float = 0
    weighted: float = 0
    """Sum of processes times CPU time."""

    def add(self, cell: Cell) -> None:
        """Add the jobs of a kind."""
        for name in ("jobs", "processes", "cpu", "mpi", "overhead", "weighted"):
            setattr(self, name, getattr(self, name) + getattr(cell, name))

    @property
    def share(self) -> float:
        """Return the part of the time that is in MPI."""
        return self.mpi / self.cpu if self.cpu else 0.0

    @property
    def average(self) -> float:
        """Return the processes of a job."""
        return self.processes / self.jobs if self.jobs else 0.0

    @property
    def weighted_average(self) -> float:
        """Return the processes of a job, weighted by its CPU time."""
        return self.weighted / self.cpu if self.cpu else 0.0


def total(cells: Iterable[Cell]) -> Sums:
    """Return the sums over all jobs."""
    out = Sums()
    for cell in cells:
        out.add(cell)
    return out


def _by(cells: Iterable[Cell], names: Callable[[Cell], Iterable[str]]) -> dict[str, Sums]:
    out: dict[str, Sums] = {}
    for cell in cells:
        for name in names(cell):
            out.setdefault(name, Sums()).add(cell)
    return out


def by_language(cells: Sequence[Cell]) -> dict[str, Sums]:
    """Return the sums by language, most CPU time first; `unknown` where the record does not say it."""
    found = _by(cells, lambda cell: (cell.language or "unknown",))
    return dict(sorted(found.items(), key=lambda item: (-item[1].cpu, item[0])))


def by_size(cells: Sequence[Cell]) -> dict[str, Sums]:
    """Return the sums by number of processes: 1, 2, 3, 4, 5-7, 8, 9-15 and so on."""
    return _by(sorted(cells, key=lambda cell: cell.size_class), lambda cell: (size_name(cell.size_class),))


def by_cpu(cells: Sequence[Cell]) -> dict[str, Sums]:
    """Return the sums by CPU time of a job, in powers of ten."""
    return _by(sorted(cells, key=lambda cell: cell.cpu_class), lambda cell: (cpu_name(cell.cpu_class),))


def by_group(cells: Sequence[Cell]) -> dict[str, Sums]:
    """Return the sums over the jobs that used a group of routines, by group in the order of GROUPS (Fig. 11)."""
    found = _by(cells, lambda cell: [name for k, name in enumerate(GROUPS) if cell.used >> k & 1])
    return {name: found[name] for name in GROUPS if name in found}


def by_switch(cells: Sequence[Cell], names: Mapping[int, Sequence[str]]) -> dict[str, int]:
    """Return the number of jobs in which each switch was set, most jobs first; `names` are those of each set."""
    found = _by(cells, lambda cell: names.get(cell.switches, ()))
    return {name: one.jobs for name, one in sorted(found.items(), key=lambda item: (-item[1].jobs, item[0]))}


def size_name(size_class: int) -> str:
    """Return the numbers of processes of a class, as ingest.size_class makes them."""
    power, between = divmod(size_class, 2)
    first, last = (1 << power) + between, (1 << power + between) - between
    return str(first) if last <= first else f"{first}-{last}"


def cpu_name(cpu_class: int) -> str:
    """Return the CPU times of a class."""
    return "< 10 s" if not cpu_class else f"10^{cpu_class} s"


def top(users: Sequence[Share]) -> list[tuple[float, int]]:
    """Return (part of the CPU time, number of users), of those that consumed most: the fewest that have 95 and 99 %."""
    whole, out, done = sum(one.cpu for one in users), [], 0.0
    wanted = list(TOP)
    for k, one in enumerate(users):
        done += one.cpu
        reached = [part for part in wanted if whole and done >= part * whole * (1 - 1e-12)]
        wanted = wanted[len(reached) :]
        out += [(done / whole, k + 1)] if reached else []
    return out
