"""Findings as a cube: values worked by hand at their call paths and locations, the system, and what waits are worth."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import build
from build import Builder
from perwiz.formats.cube.cube import Region
from perwiz.patterns.analysis.worth import worth
from perwiz.patterns.search import search
from perwiz.report.cube import findings as cube_findings
from perwiz.trace import tables
from perwiz.trace.trace import Topology
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed


def late():
    """Rank 1 waits 30 us for rank 0 in solve, and nobody waits for rank 1; then a barrier, for which rank 0 is late by 10 us.

    rank 0   solve { 40 Send 45 }             70 Barrier 75
    rank 1   solve { 10 Recv          55 } 60    Barrier 75
    """
    b = Builder(2)
    for rank in (0, 1):
        with b.region(rank, "solve"):
            (b.send(0, 1, 10, at=(40_000, 45_000)) if rank == 0 else b.recv(1, 0, at=(10_000, 55_000)))
    b.barrier(at=[(70_000, 75_000), (60_000, 75_000)])
    return b.trace()


def cube(trace, gains=True):
    """Return the cube of a trace."""
    run = replayed(trace)
    findings = search(run.trace)
    return cube_findings.cube(run, findings, worth(run, findings) if gains else None)


def values(made, name):
    cells = made.cells[name]
    return {made.full_name(node): row for node, row in zip(cells.node.tolist(), cells.value.tolist(), strict=True)}


def test_values():
    """Times in s, counts and bytes as they are; metrics contain those below them."""
    made = cube(late())
    assert values(made, "mpi_latesender") == {"solve/MPI_Recv": [0, 30e-6]}
    assert values(made, "mpi_barrier_wait") == {"MPI_Barrier": [0, 10e-6]}
    assert values(made, "mpi_point2point") == {"solve/MPI_Send": [5e-6, 0], "solve/MPI_Recv": [0, 45e-6]}
    assert values(made, "mpi_communication") == values(made, "mpi_point2point")
    assert values(made, "bytes_sent") == {"solve/MPI_Send": [10, 0]}
    assert values(made, "mpi_barrier_wait_count") == {"MPI_Barrier": [0, 1]}
    assert values(made, "mpi_cls_count") == values(made, "mpi_latesender_count") == {"solve/MPI_Recv": [0, 1]}
    assert made.cells["bytes_sent"].value.dtype == np.uint64
    assert made.total("time") == pytest.approx(150e-6)
    units = {metric.name: (metric.unit, metric.type, metric.parent) for metric in made.metrics}
    assert units["mpi_latesender"] == ("sec", "DOUBLE", "mpi_point2point")
    assert units["bytes_sent"] == ("bytes", "UINT64", "bytes_p2p")
    assert units["visits"] == ("occ", "UINT64", "")


def test_totals__of_every_metric():
    """Nothing is lost between the search and the cube."""
    run = replayed(build.CATALOGUE["all_collectives"]())
    findings = search(run.trace)
    made = cube_findings.cube(run, findings)
    for metric in findings.severity.metrics:
        total = findings.severity.total(metric.name) / (1e9 if metric.unit == "ns" else 1)
        assert made.total(metric.name) == pytest.approx(total, abs=1e-12)
    assert not [metric for metric in made.metrics if metric.name.startswith("gain")]


def test_gains():
    """Rank 1 waits 30 us for rank 0, which ends 10 us before it: that is the gain, booked where rank 1 waits."""
    b = Builder(2)
    b.send(0, 1, 10, at=(40_000, 45_000))
    b.recv(1, 0, at=(10_000, 55_000))
    trace = b.trace()
    made = cube(trace)
    assert predict(trace, "zero-wait e1").gain == 10_000
    assert values(made, "gain_mpi_latesender") == {"MPI_Recv": [0, 10e-6]}
    assert made.metric["gain_mpi_latesender"].title == "Gain without Late Sender"
    assert "do not add up" in made.metric["gain_mpi_latesender"].meaning


def test_gains__total_is_that_of_all_at_once():
    """Two such pairs in two regions: without one wait the run is no shorter, without both by 10 us, which the root has.

    rank 1 waits longer, 31 us.
    """
    b = Builder(4)
    for region, first, start in (("one", 0, 9_000), ("two", 2, 10_000)):
        with b.region(first, region):
            b.send(first, first + 1, 10, at=(40_000, 45_000))
        with b.region(first + 1, region):
            b.recv(first + 1, first, at=(start, 55_000))
    trace = b.trace()
    made = cube(trace)
    assert [predict(trace, asked).gain for asked in ("zero-wait e1", "zero-wait e3", "zero-wait e1,e3")] == [0, 0, 10_000]
    assert values(made, "gain_mpi_latesender") == {"program": [0, 10e-6, 0, 0]}


def test_program():
    """Files and lines where the trace has them; MPI routines are of MPI."""
    trace = late()
    made = cube(dataclasses.replace(trace, sources=tuple("/src/solver.c:12" for _ in trace.names)))
    solve = next(path for path in made.paths if made.regions[path.region].name == "solve")
    assert made.regions[solve.region] == Region("solve", "solve", "/src/solver.c", 12, -1, "user", "function")
    roles = {region.name: (region.module, region.paradigm, region.role) for region in made.regions}
    assert roles["MPI_Recv"] == ("MPI", "mpi", "point2point")
    assert roles["MPI_Barrier"] == ("MPI", "mpi", "barrier")
    assert roles["program"] == ("", "unknown", "artificial")
    plain = cube(dataclasses.replace(trace, sources=tuple("solver" for _ in trace.names)))
    assert {(region.module, region.begin) for region in plain.regions if region.name == "solve"} == {("solver", -1)}


def on(trace, metahost, node, nodes, **more):
    """Return a trace whose locations are elsewhere."""
    places = dataclasses.replace(trace.locations, metahost=np.array(metahost, "i4"), node=np.array(node, "i4"))
    return dataclasses.replace(trace, locations=places, nodes=nodes, **more)


def test_system__locations_in_the_order_of_the_tree():
    """Rank 0 is on the second node, rank 1 on the first: the columns change places."""
    made = cube(on(late(), [0, 0], [1, 0], ("n0", "n1"), metahosts=("juelich",)))
    assert [(place.name, place.kind, place.parent) for place in made.places] == [
        ("machine juelich", "machine", -1),
        ("node n0", "node", 0),
        ("node n1", "node", 0),
    ]
    assert [(group.name, group.rank, group.place) for group in made.groups] == [("MPI Rank 1", 1, 1), ("MPI Rank 0", 0, 2)]
    assert values(made, "mpi_latesender") == {"solve/MPI_Recv": [30e-6, 0]}


def test_system__metahosts():
    made = cube(on(late(), [1, 0], [0, -1], ("n0",), metahosts=("a",)))
    assert [(place.name, place.kind, place.parent) for place in made.places] == [
        ("metacomputer", "metacomputer", -1),
        ("machine a", "machine", 0),
        ("machine 1", "machine", 0),
        ("node n0", "node", 2),
    ]
    assert [(group.rank, group.place) for group in made.groups] == [(1, 1), (0, 3)]


def test_topologies():
    """A rank of unknown place is left out."""
    grid = Topology("grid", 0, (2, 1), (True, False), ("x", "y"), np.array([[1, 0], [-1, -1]], "i4"))
    made = cube(on(late(), [0, 0], [1, 0], ("n0", "n1"), topologies=(grid,)))
    assert [(cart.name, cart.dimensions, cart.coordinates) for cart in made.carts] == [
        ("grid", (("x", 2, True), ("y", 1, False)), ((1, (1, 0)),))
    ]


def test_attributes():
    made = cube(late())
    assert made.attributes["Creator"].startswith("perwiz ")
    assert made.attributes["perwiz::early reduce"] == "until the last sender came, as Scalasca 2.6"
    assert (made.attributes["perwiz::clock"], made.attributes["perwiz::incomplete"]) == ("not corrected", "false")
    assert cube(build.CATALOGUE["unmatched"]()).incomplete
    corrected = cube(build.CATALOGUE["clock_violation_message"]()).attributes["perwiz::clock"]
    assert corrected == "corrected by the controlled logical clock, returns put forward: 2"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in build.CATALOGUE if name != "empty"])
def test_catalogue(name, tmp_path):
    """Every awkward trace makes a cube that can be read again."""
    from perwiz.formats.cube import read as cube_read
    from perwiz.formats.cube import write as cube_write

    made = cube(build.CATALOGUE[name]())
    cube_write.write(made, str(tmp_path / "x.cubex"))
    assert cube_read.read(str(tmp_path / "x.cubex")) == made


def test_threads():
    """Idle threads stand at what their process does, on themselves; routines of threads are no MPI."""
    made = cube(build.CATALOGUE["threads"]())
    places = [(made.groups[location.group].rank, location.name, location.kind) for location in made.locations]
    assert places == [(0, "Master thread", "thread"), (0, "thread 1", "thread"), (1, "Master thread", "thread"), (1, "thread 1", "thread")]
    assert values(made, "omp_idle_threads") == {"program": [0, 500e-9, 0, 0], "MPI_Recv": [0, 0, 0, pytest.approx(13_608e-9)]}
    assert values(made, "omp_lock_contention_critical") == {"omp_critical": [0, 3100e-9, 0, 0]}
    regions = {region.name: (region.module, region.paradigm, region.role) for region in made.regions}
    assert regions["omp_implicit_barrier"] == ("OpenMP", "openmp", "implicit barrier")
    assert regions["omp_fork"] == ("OpenMP", "openmp", "function")
    assert regions["MPI_Recv"] == ("MPI", "mpi", "point2point")


def test_streams():
    """A stream is a location of its process; its kernels are computation."""
    made = cube(build.CATALOGUE["device"]())
    assert [(location.name, location.kind) for location in made.locations] == [
        ("Master thread", "thread"),
        ("stream 1", "gpu"),
        ("Master thread", "thread"),
    ]
    assert values(made, "device_comp") == {"kernel": [0, 6500e-9, 0]}
    regions = {region.name: (region.module, region.paradigm, region.role) for region in made.regions}
    assert regions["device_launch"] == ("devices", "unknown", "function")


def test_counters__are_metrics():
    """Of rank 1: 5 in solve before the receive, 4 in that, 2 behind it. A name that a metric has gets a mark."""
    trace = dataclasses.replace(
        late(),
        counters=build.table(tables.Counters, call=[2, 2], counter=[0, 1], entered=[15, 1], returned=[19, 1.5]),
        region_counters=build.table(tables.RegionCounters, region=[1, 1], counter=[0, 2], entered=[10, 1], left=[21, 4]),
        counter_names=("PAPI_TOT_INS", "energy [J]", "time"),
    )
    made = cube(trace, gains=False)
    assert [(metric.name, metric.title, metric.unit, metric.type, metric.parent) for metric in made.metrics[-3:]] == [
        ("PAPI_TOT_INS", "PAPI_TOT_INS", "#", "UINT64", ""),
        ("energy", "energy", "J", "DOUBLE", ""),
        ("counter time", "time", "#", "DOUBLE", ""),
    ]
    assert values(made, "PAPI_TOT_INS") == {"solve": [0, 7], "solve/MPI_Recv": [0, 4]}
    assert values(made, "energy") == {"solve/MPI_Recv": [0, 0.5]}
    assert made.total("counter time") == 3
    assert made.total("time") == pytest.approx(150e-6)
