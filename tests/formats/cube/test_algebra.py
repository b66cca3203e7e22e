"""The algebra of cubes (Song et al., ICPP 2004, section 3): cases worked by hand, and laws on random cubes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given

import cubes
from perwiz.errors import UsageError
from perwiz.formats.cube import write as cube_write
from perwiz.formats.cube.algebra import diff, differences, mean, merge, percent
from perwiz.formats.cube.cube import CallPath, Cells, Group, Location, Metric, Parameter, Place, Region
from perwiz.formats.cube.join import join
from perwiz.formats.cube.read import read

A = cubes.cube({"time": {0: [1.0, 2.0], 2: [4.0, 8.0]}, "visits": {1: [1, 1], 2: [7, 5]}})
B = cubes.cube({"time": {0: [0.5, 2.0], 3: [1.0, 1.0]}, "visits": {1: [2, 3]}})


def values(cube, name):
    """Return a metric as {call path: values}."""
    cells = cube.cells.get(name)
    rows = [] if cells is None else zip(cells.node.tolist(), cells.value.tolist(), strict=True)
    return {cube.full_name(node): row for node, row in rows}


def test_diff():
    """Cells one operand does not have are 0; call paths without a difference on any location are left out."""
    found = diff(A, B)
    assert values(found, "time") == {"main": [0.5, 0.0], "solve/MPI_Recv": [4.0, 8.0], "MPI_Barrier": [-1.0, -1.0]}


def test_diff__unsigned_become_signed():
    """CubeLib's cube_diff makes UINT64 INT64."""
    found = diff(A, B)
    assert values(found, "visits") == {"solve": [-1, -2], "solve/MPI_Recv": [7, 5]}
    assert (found.metric["visits"].type, found.cells["visits"].value.dtype) == ("INT64", np.int64)


def test_diff__too_large_for_signed():
    huge = cubes.cube({"visits": {0: [(1 << 64) - 1, 0]}})
    found = diff(cubes.cube({"visits": {}}), huge)
    assert values(found, "visits") == {"main": [-(2.0**64), 0.0]}
    assert found.metric["visits"].type == "DOUBLE"


def test_diff__whole_less_broken():
    found = diff(A, mean([A, B]))
    assert values(found, "visits") == {"solve": [-0.5, -1.0], "solve/MPI_Recv": [3.5, 2.5]}
    assert found.metric["visits"].type == "DOUBLE"


def test_mean__whole_numbers_are_not_cut_off():
    """The mean of 1 and 2 visits is 1.5; CubeLib 4.8 says 0."""
    found = mean([A, B])
    assert values(found, "visits") == {"solve": [1.5, 2.0], "solve/MPI_Recv": [3.5, 2.5]}
    assert values(found, "time") == {"main": [0.75, 2.0], "solve/MPI_Recv": [2.0, 4.0], "MPI_Barrier": [0.5, 0.5]}
    assert found.metric["visits"].type == "DOUBLE"


def test_mean__of_nothing():
    with pytest.raises(UsageError, match=r"^mean of no cube, must be of one or more$"):
        mean([])


def test_merge__the_first_wins():
    late = cubes.cube({"late": {2: [1.0, 0.0]}, "visits": {1: [2, 3]}})
    found = merge([A, late])
    assert [metric.name for metric in found.metrics] == ["time", "visits", "late"]
    assert values(found, "visits") == values(A, "visits")
    assert values(found, "late") == {"solve/MPI_Recv": [1.0, 0.0]}
    assert found.faults == ("in several operands, with other values, kept as in the first: visits",)
    assert found.metric["visits"].type == "UINT64"


def test_merge__a_metric_of_the_first_that_is_0_wins_too():
    found = merge([cubes.cube({"visits": {}}), A])
    assert values(found, "visits") == {}
    assert found.faults == ("in several operands, with other values, kept as in the first: visits",)


def test_join__metrics_stand_where_the_first_has_them():
    """Second: late is at the top and holds wrong order; first: late is below time."""
    first = dataclasses.replace(A, metrics=(Metric("time", "T"), Metric("late", "L", "time"), Metric("visits", "V", "", "occ")))
    second = dataclasses.replace(B, metrics=(Metric("late", "L"), Metric("order", "O", "late"), Metric("visits", "V", "", "occ")))
    found = join([first, second]).cube.metrics
    assert [(metric.name, metric.parent) for metric in found] == [("time", ""), ("late", "time"), ("order", "late"), ("visits", "")]


def test_join__metrics_keep_their_order():
    """Depth first; what only the second has stands behind what the first has."""
    first = dataclasses.replace(A, metrics=(Metric("c", "C"), Metric("b", "B", "c"), Metric("a", "A", "c"), Metric("z", "Z")), cells={})
    second = dataclasses.replace(A, metrics=(Metric("c", "C"), Metric("0", "0", "c"), Metric("1", "1")), cells={})
    assert [metric.name for metric in join([first, second]).cube.metrics] == ["c", "b", "a", "0", "z", "1"]


def test_join__other_units():
    """A metric in two units is left out; those below it move up."""
    first = dataclasses.replace(A, metrics=(Metric("time", "T"), Metric("late", "L", "time"), Metric("order", "O", "late")))
    second = dataclasses.replace(B, metrics=(Metric("late", "L", unit="usec"),))
    found = join([first, second])
    assert [(metric.name, metric.parent) for metric in found.cube.metrics] == [("time", ""), ("order", "time")]
    assert found.warnings == ("metric 'late' left out: is in 'sec' and in 'usec'",)


def test_join__call_paths():
    """Lines of regions and the folder of a file do not count, nor does the root's name; line and parameters of a call do."""
    regions = (Region("prog"), Region("solve", module="/other/a.c", begin=77), Region("MPI_Recv", module="MPI"), Region("io"))
    step = (Parameter("numeric", "step", "1"),)
    paths = (CallPath(0), CallPath(1, 0), CallPath(3, 1), CallPath(2, 1), CallPath(2, 1, line=3), CallPath(1, 0, parameters=step))
    found = join([A, dataclasses.replace(B, regions=regions, paths=paths, cells={})])
    names = [found.cube.full_name(row) for row in range(len(found.cube.paths))]
    assert names == ["main", "solve", "solve/MPI_Recv", "solve/io", "solve/MPI_Recv", "MPI_Barrier", "solve"]
    assert [rows.tolist() for rows in found.paths] == [[0, 1, 2, 5], [0, 1, 3, 2, 4, 6]]
    assert found.cube.regions[1].begin == -1


def test_join__call_paths_of_one_name_are_added_up():
    twice = dataclasses.replace(A, paths=(CallPath(0), CallPath(1, 0), CallPath(1, 0), CallPath(3, 0)))
    assert values(mean([twice]), "visits") == {"solve": [8.0, 6.0]}


def ranks(*numbers, node="n"):
    """Return cube A on other ranks, in this order."""
    groups = tuple(Group(f"Rank {rank}", rank, 1) for rank in numbers)
    locations = tuple(Location("Master", 0, row) for row in range(len(numbers)))
    cells = {"time": Cells(np.array([0]), np.array([[float(rank + 1) for rank in numbers]]))}
    return dataclasses.replace(A, places=(Place("m", "machine"), Place(node, "node", 0)), groups=groups, locations=locations, cells=cells)


def test_join__processes_by_rank():
    """Whatever the order and the node: the system is the first that has all."""
    found = diff(ranks(0, 1, node="x"), ranks(1, 0, node="y"))
    assert (found.cells, found.places[1].name, found.faults) == ({}, "x", ())
    found = diff(ranks(0, node="x"), ranks(1, 0, node="y"))
    assert values(found, "time") == {"main": [-2.0, 0.0]}
    assert (found.places[1].name, found.carts) == ("y", A.carts)
    assert found.faults == ("operand 1 has 1 of 2 locations: it is 0 on the others",)


def test_join__no_operand_has_all_processes():
    found = diff(ranks(2, 0), ranks(1, 0))
    assert values(found, "time") == {"main": [0.0, -2.0, 3.0]}
    assert [group.rank for group in found.groups] == [0, 1, 2]
    assert [place.name for place in found.places] == ["virtual machine", "virtual node"]
    assert found.carts == ()
    assert found.faults[0] == "no operand has all processes: all are put into one virtual machine, without topologies"


def test_join__kinds_of_threads():
    """Older files say CPU thread."""
    old = dataclasses.replace(A, locations=tuple(dataclasses.replace(one, kind="CPU thread") for one in A.locations))
    assert not diff(A, old).cells


def test_attributes():
    """What all have in common stays; one incomplete operand makes the result incomplete."""
    first = dataclasses.replace(A, attributes={"a": "1", "b": "2", "Creator": "x"})
    second = dataclasses.replace(B, attributes={"a": "1", "b": "3", "perwiz::incomplete": "true"})
    found = diff(first, second)
    assert found.attributes.keys() == {"a", "Creator", "perwiz::incomplete"}
    assert found.attributes["Creator"].startswith("perwiz ")
    assert found.incomplete
    assert not diff(first, first).incomplete


def test_percent():
    """A has 15 s of time: 4 s are 26.7 %. Counts stay."""
    found = percent(A)
    assert found.cells["time"].value == pytest.approx(A.cells["time"].value * 100 / 15)
    assert found.total("time") == pytest.approx(100)
    assert found.cells["visits"] == A.cells["visits"]
    assert [metric.unit for metric in found.metrics] == ["%", "occ"]


def test_percent__gains():
    """A gain is a part of the makespan, not of all time: it stays in seconds."""
    one = cubes.cube({"time": {0: [1.0, 3.0]}, "visits": {0: [1, 1]}})
    gain = Metric("gain_mpi_latesender", "Gain without Late Sender")
    one = dataclasses.replace(one, metrics=(*one.metrics, gain), cells={**one.cells, gain.name: one.cells["time"]})
    found = percent(one)
    assert (found.metric[gain.name].unit, values(found, gain.name)) == ("sec", values(one, "time"))
    assert (found.metric["time"].unit, found.total("time")) == ("%", 100)


def test_percent__no_time():
    with pytest.raises(UsageError, match=r"^a cube without any 'time', must have it to be put in percent$"):
        percent(cubes.cube({"visits": {0: [1, 1]}}))


def test_differences():
    other = dataclasses.replace(ranks(0), metrics=(A.metrics[0], Metric("late", "L")), paths=A.paths[:3])
    assert differences(A, other) == [
        "metrics only in the first: visits",
        "metrics only in the second: late",
        "call paths: 4 and 3 of 4",
        "locations: 2 and 1 of 2",
        "metric 'time': 3 cells differ, by at most 8 sec",
    ]
    assert differences(A, dataclasses.replace(A, metrics=(dataclasses.replace(A.metrics[0], unit="h"), A.metrics[1]))) == [
        "metric 'time' left out: is in 'sec' and in 'h'"
    ]
    assert differences(A, A) == []


@pytest.mark.slow
@given(a=cubes.cubes())
def test_law__nothing_is_left_of_a_less_a(a):
    assert diff(a, a).cells == {}
    assert differences(a, a) == []


@pytest.mark.slow
@given(a=cubes.cubes())
def test_law__the_mean_of_a_and_a_is_a(a):
    one, two = mean([a]), mean([a, a])
    assert one.cells == two.cells
    for metric in a.metrics:
        assert one.total(metric.name) == pytest.approx(a.total(metric.name), abs=1e-6)


@pytest.mark.slow
@given(a=cubes.cubes())
def test_law__merging_a_with_itself_changes_nothing(a):
    found = merge([a, a])
    assert (found.cells, found.faults) == (merge([a]).cells, ())


@pytest.mark.slow
@given(a=cubes.cubes(), b=cubes.cubes())
def test_law__swapping_operands_negates_the_difference(a, b):
    for name, cells in diff(a, b).cells.items():
        assert diff(b, a).total(name) == pytest.approx(-diff(a, b).total(name), abs=1e-6)
        assert cells.value.any(axis=1).all()


@pytest.mark.slow
@given(a=cubes.cubes(), b=cubes.cubes())
def test_law__totals(a, b):
    """The total of a difference is the difference of totals, of a mean the mean, of a merge that of the first that has the metric."""
    less, middle, merged = diff(a, b), mean([a, b]), merge([a, b])
    for metric in less.metrics:
        first, second = a.total(metric.name), b.total(metric.name)
        assert less.total(metric.name) == pytest.approx(first - second, abs=1e-5)
        assert middle.total(metric.name) == pytest.approx((first + second) / 2, abs=1e-5)
        assert merged.total(metric.name) == pytest.approx(first if metric.name in a.metric else second, abs=1e-5)


@pytest.mark.slow
@given(a=cubes.cubes(), b=cubes.cubes(), c=cubes.cubes())
def test_law__closure(tmp_path_factory, a, b, c):
    """Results are operands again, and files: a - mean(b, c), written and read, is half of a - b and a - c."""
    path = str(tmp_path_factory.getbasetemp() / "closure.cubex")
    nested = diff(a, mean([b, c]))
    cube_write.write(nested, path)
    assert read(path) == nested
    half = mean([diff(a, b), diff(a, c)])
    for metric in half.metrics:
        assert half.total(metric.name) == pytest.approx(nested.total(metric.name), abs=1e-5)


@pytest.mark.slow
@given(a=cubes.cubes(), b=cubes.cubes())
def test_law__trees_stay_in_order(a, b):
    """Parents before children, depth first; every call path of an operand is there under its name."""
    joined = join([a, b])
    for parents in ([path.parent for path in joined.cube.paths], [place.parent for place in joined.cube.places]):
        assert all(parent < row for row, parent in enumerate(parents))
    end = joined.cube.end.tolist()
    for row, path in enumerate(joined.cube.paths[1:], start=1):
        assert row < end[row] <= end[path.parent]
    for operand, rows in zip((a, b), joined.paths, strict=True):
        for row, at in enumerate(rows.tolist()[1:], start=1):
            assert joined.cube.full_name(at) == operand.full_name(row)
    known = set()
    for metric in joined.cube.metrics:
        assert metric.parent in {"", *known}
        known.add(metric.name)
