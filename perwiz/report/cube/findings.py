"""The findings of `perwiz patterns` as a cube: times in seconds, counts and bytes as they are, and what the waits are worth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from perwiz import __version__
from perwiz.formats.cube.cube import (
    DOUBLE,
    DTYPES,
    GAIN,
    INCOMPLETE,
    SECONDS,
    SIGNED,
    UNSIGNED,
    CallPath,
    Cart,
    Cells,
    Cube,
    Group,
    Location,
    Metric,
    Place,
    Region,
    compact,
)
from perwiz.patterns import metrics as searched
from perwiz.patterns.analysis.counters import counted
from perwiz.patterns.analysis.worth import Worth
from perwiz.patterns.callpaths import CallTree
from perwiz.patterns.search import Findings
from perwiz.patterns.severity import Severity
from perwiz.trace import operations
from perwiz.trace.arrays import I8
from perwiz.trace.tables import STREAM
from perwiz.trace.trace import Trace
from perwiz.whatif.run import Run

_GAIN = (
    "how much shorter the run would be, replayed, if no call waited at the call sites where the pattern occurs. Each call path has its own"
    " gain, on the location that waits most there; gains do not add up, so the root has what makes the total that of all call paths at"
    " once. Of the makespan, not of the time of all processes"
)
_COUNTED = "what the counter counted, in calls and outside of them"
_UNITS = {searched.NS: SECONDS, searched.BYTES: "bytes", searched.TIMES: "occ"}
_ROLES = {
    **dict.fromkeys((operations.SEND, operations.ISEND, operations.RECV, operations.IRECV, operations.SENDRECV), "point2point"),
    operations.N_TO_N: "all2all",
    operations.ONE_TO_N: "one2all",
    operations.N_TO_ONE: "all2one",
}

_PARADIGMS = {
    "omp": ("OpenMP", "openmp"),
    "pthread": ("POSIX threads", "pthread"),
    "device": ("devices", "unknown"),
    "shmem": ("SHMEM", "shmem"),
}
"""Module and paradigm by how the names of routines begin."""
_ROLES_OF_OTHERS = {
    **dict.fromkeys(("shmem_barrier_all", "shmem_barrier", "shmem_sync_all", "shmem_sync"), "barrier"),
    **dict.fromkeys(("shmem_collect", "shmem_fcollect", "shmem_alltoall", "shmem_reduce"), "all2all"),
    "shmem_broadcast": "one2all",
    **dict.fromkeys(("shmem_put", "shmem_put_nbi", "shmem_put_signal", "shmem_put_signal_nbi", "shmem_get", "shmem_get_nbi"), "rma"),
    **dict.fromkeys(("shmem_atomic", "shmem_atomic_fetch"), "atomic"),
    "shmem_malloc": "allocate",
    "shmem_free": "deallocate",
    "omp_barrier": "barrier",
    "omp_implicit_barrier": "implicit barrier",
    "omp_critical": "critical",
    "omp_ordered": "ordered",
    "omp_task_create": "task create",
    "omp_taskwait": "taskwait",
    "pthread_barrier_wait": "barrier",
    "pthread_create": "thread create",
    "pthread_join": "thread wait",
}


def cube(run: Run, findings: Findings, worth: Worth | None = None) -> Cube:
    """Return the cube of a run's findings, with what the waits are worth if that is known."""
    severity, trace = findings.severity, run.trace
    order, groups, places = _system(trace)
    regions, paths = _program(trace, severity.tree)
    metrics, cells = _severities(severity, order)
    if worth is not None:
        gains = _gains(run, findings, worth, order)
        metrics += [_gain(severity, name) for name in gains]
        cells |= {GAIN + name: part for name, part in gains.items()}
    counts = _counters(trace, severity.tree, order, {metric.name for metric in metrics})
    return Cube(
        metrics=(*metrics, *(metric for metric, _ in counts)),
        regions=tuple(regions),
        paths=tuple(paths),
        places=tuple(places),
        groups=tuple(groups),
        locations=tuple(_locations(trace, order, groups)),
        cells=compact(cells | {metric.name: part for metric, part in counts}),
        carts=tuple(_carts(trace, order)),
        attributes=_attributes(run),
    )


def _attributes(run: Run) -> dict[str, str]:
    health = run.health()
    jumps = health.correction.jumps if health.correction else 0
    clock = f"corrected by the controlled logical clock, returns put forward: {jumps}" if health.correction else "not corrected"
    return {
        "Creator": f"perwiz {__version__}",
        "CUBE_CT_AGGR": "SUM",
        "perwiz::trace": run.trace.path,
        "perwiz::times": str(run.trace.timeline.origin),
        "perwiz::clock": clock,
        "perwiz::early reduce": "until the last sender came, as Scalasca 2.6",
        INCOMPLETE: "true" if health.incomplete else "false",
    }


def _program(trace: Trace, tree: CallTree) -> tuple[list[Region], list[CallPath]]:
    """Return (regions, call paths): the root's region, then those of the trace, then the routines that were called."""
    used = np.unique(tree.op[tree.op >= 0]).tolist()
    regions = [Region(tree.name[0], tree.name[0], role="artificial")]
    regions += [_region(name, trace.sources[row] if trace.sources else "") for row, name in enumerate(trace.names)]
    row_of = {op: len(regions) + row for row, op in enumerate(used)}
    regions += [_routine(op) for op in used]
    of_node = np.zeros(len(tree), "i4")
    of_node[tree.of_path[:-1]] = trace.paths.region + 1
    for node in np.flatnonzero(tree.op >= 0).tolist():
        of_node[node] = row_of[int(tree.op[node])]
    return regions, [CallPath(region, parent) for region, parent in zip(of_node.tolist(), tree.parent.tolist(), strict=True)]


def _region(name: str, source: str) -> Region:
    file, _, line = source.rpartition(":")
    located = bool(file) and line.isascii() and line.isdigit()
    return Region(name, name, file if located else source, int(line) if located else -1, paradigm="user", role="function")


def _routine(op: int) -> Region:
    name = operations.OPS[op]
    if operations.MPI[op]:
        role = "barrier" if name in ("MPI_Barrier", "MPI_Ibarrier") else _ROLES.get(int(operations.KIND[op]), "function")
        return Region(name, name, "MPI", paradigm="mpi", role=role)
    module, paradigm = _PARADIGMS[name.split("_")[0]]
    return Region(name, name, module, paradigm=paradigm, role=_ROLES_OF_OTHERS.get(name, "function"))


def _system(trace: Trace) -> tuple[I8, list[Group], list[Place]]:
    """Return (rows of Trace.locations in the order of the tree, processes, machines and nodes)."""
    where, first = trace.locations, dict[int, int]()
    for row, process in enumerate(where.process.tolist()):
        first.setdefault(process, row)
    home = np.array([first[process] for process in where.process.tolist()], "i8")
    metahost, node = where.metahost[home], where.node[home]
    order = np.lexsort((where.thread, where.process, node, metahost))
    hosts = np.unique(metahost).tolist()
    places = [Place("metacomputer", "metacomputer")] if len(hosts) > 1 else []
    top, row_of, groups = len(places) - 1, dict[tuple[int, int], int](), list[Group]()
    for row in order.tolist():
        host, on, process = int(metahost[row]), int(node[row]), int(where.process[row])
        if (host, -1) not in row_of:
            row_of[host, -1] = len(places)
            places.append(Place(_machine(trace, host), "machine", top))
        if (host, on) not in row_of:
            row_of[host, on] = len(places)
            places.append(Place(f"node {trace.nodes[on]}", "node", row_of[host, -1]))
        if not groups or groups[-1].rank != process:
            groups.append(Group(f"MPI Rank {process}", process, row_of[host, on]))
    return order, groups, places


def _machine(trace: Trace, host: int) -> str:
    return f"machine {trace.metahosts[host] if host < len(trace.metahosts) else host}"


def _locations(trace: Trace, order: I8, groups: list[Group]) -> list[Location]:
    row_of = {group.rank: row for row, group in enumerate(groups)}
    where = (column[order].tolist() for column in (trace.locations.process, trace.locations.thread, trace.locations.kind))
    return [
        Location(_named(thread, kind), thread, row_of[process], "gpu" if kind == STREAM else "thread")
        for process, thread, kind in zip(*where, strict=True)
    ]


def _named(thread: int, kind: int) -> str:
    return f"stream {thread}" if kind == STREAM else f"thread {thread}" if thread else "Master thread"


def _carts(trace: Trace, order: I8) -> list[Cart]:
    out = []
    processes = trace.locations.process[order].tolist()
    for topology in trace.topologies:
        pairs = zip(trace.communicators.members(topology.comm).tolist(), topology.coordinates.tolist(), strict=False)
        coordinates = {rank: tuple(place) for rank, place in pairs if min(place, default=-1) >= 0}
        places = tuple((row, coordinates[process]) for row, process in enumerate(processes) if process in coordinates)
        out.append(Cart(topology.name, tuple(zip(topology.dimensions, topology.sizes, topology.periodic, strict=True)), places))
    return out


def _severities(severity: Severity, order: I8) -> tuple[list[Metric], dict[str, Cells]]:
    metrics, cells, names = list[Metric](), dict[str, Cells](), {metric.name for metric in severity.metrics}
    for metric in severity.metrics:
        timed = metric.unit == searched.NS
        part = severity.cells.get(metric.name)
        least = 0 if part is None else part.value.min(initial=0)
        kind = DOUBLE if timed else SIGNED if least < 0 else UNSIGNED
        parent = metric.parent if metric.parent in names else ""
        metrics.append(Metric(metric.name, metric.title, parent, _UNITS.get(metric.unit, metric.unit), kind, metric.meaning))
        if part is not None:
            value = part.value[:, order]
            cells[metric.name] = Cells(part.node, value / 1e9 if timed else value.astype("i8" if kind == SIGNED else "u8"))
    return metrics, cells


def _counters(trace: Trace, tree: CallTree, order: I8, taken: set[str]) -> list[tuple[Metric, Cells]]:
    """Return each counter as a metric of its own, with what it counted: whole numbers where all are. Names that are taken get a mark."""
    found, out = counted(trace, tree=tree), list[tuple[Metric, Cells]]()
    for name, value in zip(found.names, found.values, strict=True) if found else ():
        rows = np.flatnonzero(value.any(axis=1)).astype("i4")
        least, whole = value.min(initial=0), bool((value == np.rint(value)).all())
        kind = DOUBLE if not whole else SIGNED if least < 0 else UNSIGNED
        title, _, unit = name.removesuffix("]").partition(" [")
        metric = Metric(f"counter {title}" if title in taken else title, title, unit=unit or "#", type=kind, meaning=_COUNTED)
        taken.add(metric.name)
        out.append((metric, Cells(rows, value[rows][:, order].astype(DTYPES[kind]))))
    return out


def _gain(severity: Severity, name: str) -> Metric:
    title = next(metric.title for metric in severity.metrics if metric.name == name)
    return Metric(GAIN + name, f"Gain without {title}", meaning=_GAIN)


def _gains(run: Run, findings: Findings, worth: Worth, order: I8) -> Mapping[str, Cells]:
    """Return, per pattern, gains in s: of each call path on the location that waits most there, and at the root what is left."""
    out = {}
    for name, whole in worth.whole.items():
        cells = findings.severity.cells[name]
        gain = {node: run.makespan - sites.makespan for (pattern, node), sites in worth.by_node.items() if pattern == name}
        rest = run.makespan - whole.makespan - sum(gain.values())
        node = np.array(sorted({0, *gain}), "i4")
        value = np.zeros((len(node), len(order)))
        for path, ns in gain.items():
            waited = cells.value[np.searchsorted(cells.node, path)][order]
            value[np.searchsorted(node, path), waited.argmax()] = ns / 1e9
        value[0, cells.value.sum(axis=0)[order].argmax()] += rest / 1e9
        out[name] = Cells(node, value)
    return out
