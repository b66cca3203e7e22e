"""What the regions of an OTF2 archive stand for: routines of MPI, of threads and of devices; and what its records make without a region."""

from __future__ import annotations

import functools
from typing import ClassVar

import numpy as np

from perwiz.formats import devices
from perwiz.formats.otf2.definitions import Definitions, Region
from perwiz.formats.otf2.extras import CREATOR, MARK
from perwiz.formats.otf2.library import codes
from perwiz.kernels import records
from perwiz.kernels.records import NO_CALL
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8

OP_OF_OPERATION = np.array([*(operations.OP[f"MPI_{name}"] for name in (*codes.OPERATIONS, "Comm_create", "Comm_free")), 0], "i4")
"""What a collective record outside any call stands for, by its operation; the last for all others."""
_BARE = {records.SEND: "Send", records.ISEND: "Isend", records.RECV: "Recv", records.IRECV_REQUEST: "Irecv", records.REQUEST_TEST: "Test"}
_OF_RECORDS = {
    records.THREAD_FORK: "omp_fork",
    records.THREAD_JOIN: "omp_join",
    records.TEAM_BEGIN: "omp_idle",
    records.TEAM_END: "omp_idle",
    records.ACQUIRE_LOCK: "omp_lock",
    records.RELEASE_LOCK: "omp_release",
    records.TASK_CREATE: "omp_task_create",
    records.TASK_SWITCH: "omp_task",
    records.TASK_COMPLETE: "omp_release",
    records.THREAD_CREATE: "pthread_create",
    records.THREAD_BEGIN: "pthread_idle",
    records.THREAD_WAIT: "pthread_join",
    records.THREAD_END: "pthread_idle",
}
_ON_STREAMS = (records.RMA_PUT, records.RMA_GET, records.RMA_BLOCKING, records.RMA_NONBLOCKING)
_OF_ROLE = {
    codes.BARRIER: "omp_barrier",
    codes.IMPLICIT_BARRIER: "omp_implicit_barrier",
    codes.CRITICAL: "omp_critical",
    codes.ORDERED: "omp_ordered",
    codes.TASK_CREATE: "omp_task_create",
    codes.TASK_WAIT: "omp_taskwait",
}
_OF_NAME = {
    "wait_barrier": "omp_barrier",
    "wait_lock": "omp_lock",
    "wait_nest_lock": "omp_lock",
    "wait_critical": "omp_critical",
    "wait_ordered": "omp_ordered",
    "wait_taskwait": "omp_taskwait",
    "wait_taskgroup": "omp_taskwait",
    "taskgroup": None,
    "omp_set_lock": "omp_lock",
    "omp_set_nest_lock": "omp_lock",
    "omp_unset_lock": "omp_release",
    "omp_unset_nest_lock": "omp_release",
}
"""Roles do not tell these apart: that of a task group is that of the wait at its end."""
_PTHREAD = {
    "pthread_create": "pthread_create",
    "pthread_join": "pthread_join",
    "pthread_mutex_lock": "pthread_mutex_lock",
    "pthread_mutex_unlock": "pthread_release",
    "pthread_cond_wait": "pthread_cond_wait",
    "pthread_cond_timedwait": "pthread_cond_wait",
}
_DENSE = 1 << 20
"""References of regions below this are looked up in a table."""
_WAITS = operations.COLLECTIVE | (np.array(operations.OPS) == "omp_taskwait")
_OF_OPENMP, _OF_PTHREADS = (np.char.startswith(operations.OPS, model) for model in ("omp_", "pthread_"))
_OF_DEVICES = np.isin(np.arange(len(operations.OPS)), devices.HOST)
MANNER = np.select(
    [_OF_OPENMP & _WAITS, _OF_OPENMP, _OF_PTHREADS, _OF_DEVICES],
    [records.WAITS, records.GIVES_WAY, records.TAKES, records.NAMED],
    records.WHOLE,
).astype("u1")
"""What each op does when something comes into a call of it, see the kernel's records."""
_PRAGMA = "!$omp "
_OPENS, _TAKES_PART = f"{_PRAGMA}parallel@", f"{_PRAGMA}implicit_task"
"""Regions of a recorder that writes no records of teams."""


@functools.cache
def op_of_kind(written: bool, stream: bool, first: bool) -> I4:
    """Return the op per kind of record outside a call; an archive of perwiz has its calls as regions."""
    out = np.full(records.KINDS, NO_CALL, "i4")
    out[: records.METRIC] = [operations.OP[f"MPI_{_BARE.get(kind, 'Wait')}"] for kind in range(records.METRIC)]
    if not written and stream:
        out[list(_ON_STREAMS)] = operations.OP["device_idle"]
    elif not written:
        out[list(_OF_RECORDS)] = [operations.OP[name] for name in _OF_RECORDS.values()]
        out[[records.THREAD_BEGIN, records.THREAD_END]] = NO_CALL if first else operations.OP["pthread_idle"]
    return out


def written(definitions: Definitions) -> bool:
    """Return whether an archive is one of perwiz."""
    return definitions.creator.startswith(CREATOR)


def routine(name: str, paradigm: int, role: int = 0) -> int:
    """Return the op a region stands for, NO_CALL for a user region. Some writers leave the paradigm out, or add `()` or `_` to the name."""
    plain = name.partition("(")[0].strip().rstrip("_")
    if plain[:5].upper() == "PMPI_":
        plain = plain[1:]
    mpi = plain[:4].upper() == "MPI_"
    if paradigm == codes.MPI and plain in operations.OP:
        return operations.OP[plain]
    if paradigm == codes.MPI or mpi:
        return operations.find(plain if mpi else f"MPI_{plain}") or 0
    if paradigm in (codes.CUDA, codes.OPENCL, codes.HIP) or plain.startswith(devices.OFFLOADED):
        return devices.routine(plain)
    op = None
    if paradigm == codes.OPENMP:
        stem = plain.removeprefix(_PRAGMA).partition(" @")[0]
        op = _OF_NAME[stem] if stem in _OF_NAME else _OF_ROLE.get(role)
    elif paradigm == codes.PTHREAD:
        op = _PTHREAD.get(plain)
    return NO_CALL if op is None else operations.OP[op]


class Regions:
    """The defined regions by number; behind them an undefined one and those that stand for copies of devices. Also what locations are."""

    _last: ClassVar[tuple[Definitions, Regions] | None] = None

    @classmethod
    def known(cls, definitions: Definitions) -> Regions:
        """Return those of some definitions; all locations of an archive have the same."""
        if cls._last is None or cls._last[0] is not definitions:
            cls._last = definitions, cls(definitions)
        return cls._last[1]

    def __init__(self, definitions: Definitions) -> None:
        refs = np.array(sorted(definitions.regions), "i8")
        regions = [definitions.regions[ref] for ref in refs.tolist()]
        beyond = [0] * (1 + len(devices.COPIES))
        self.op = np.array([*(_op(definitions, region) for region in regions), *(NO_CALL for _ in beyond)], "i4")
        """Op per number, NO_CALL for user regions."""
        self.part = np.array([*(_part(definitions, region) for region in regions), *beyond], "u1")
        """Per number: FORKS, BEGINS or 0."""
        self.most = 1 + bool((MANNER[self.op[self.op >= 0]] >= records.GIVES_WAY).any())
        """So many calls a row may make, of a location that is no stream."""
        self._refs = refs
        self._dense = np.full(int(refs[-1]) + 2 if len(refs) and refs[-1] < _DENSE else 0, len(refs), "i8")
        if len(self._dense):
            self._dense[refs] = np.arange(len(refs))
        self.streams = {location.ref for location in definitions.locations if location.type == codes.ACCELERATOR_STREAM}
        """Locations that are streams of devices."""
        first: dict[int, int] = {}
        self.first = {location.ref for location in definitions.locations if first.setdefault(location.group, location.ref) == location.ref}
        """Locations that are the first of their process, which nobody else has started."""

    def of(self, refs: I8) -> tuple[I8, int]:
        """Return the number of each reference, and how many of them are not defined."""
        if len(self._dense):
            numbers = self._dense[np.where((refs >= 0) & (refs < len(self._dense)), refs, len(self._dense) - 1)]
        elif len(self._refs):
            nearest = np.minimum(np.searchsorted(self._refs, refs), len(self._refs) - 1)
            numbers = np.where(self._refs[nearest] == refs, nearest, len(self._refs))
        else:
            numbers = np.zeros(len(refs), "i8")
        return numbers, int((numbers == len(self._refs)).sum())


def _op(definitions: Definitions, region: Region) -> int:
    if definitions.string(region.description) == MARK:
        return NO_CALL
    return routine(definitions.string(region.name), region.paradigm, region.role)


def _part(definitions: Definitions, region: Region) -> int:
    if region.paradigm != codes.OPENMP or written(definitions) or not _teamless(definitions):
        return 0
    name = definitions.string(region.name)
    return records.FORKS if name.startswith(_OPENS) else records.BEGINS if name == _TAKES_PART else 0


def _teamless(definitions: Definitions) -> bool:
    """Return whether parallel regions are there under the names of a recorder that writes no records of teams."""
    return any(
        region.paradigm == codes.OPENMP and region.role == 0 and definitions.string(region.name).startswith(_OPENS)
        for region in definitions.regions.values()
    )
