"""Counters per call path and location, and the scaling of POP, by hand; their laws."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from build import Builder, hand_model, table
from perwiz.patterns.analysis import counters, efficiency
from perwiz.patterns.analysis.efficiency import BETWEEN, PROGRAM, efficiencies
from perwiz.patterns.callpaths import call_tree
from perwiz.patterns.search import search
from perwiz.trace import tables
from perwiz.whatif.run import replayed

ONE_COUNTER = ("instructions",)


def counting(trace, calls, regions=(), names=ONE_COUNTER, levels=()):
    """Return a trace with readings (row, counter, at its beginning, at its end) of calls and regions."""
    call, of_call, entered, returned = zip(*calls, strict=True) if calls else ((),) * 4
    region, of_region, begun, left = zip(*regions, strict=True) if regions else ((),) * 4
    return dataclasses.replace(
        trace,
        counters=table(tables.Counters, call=call, counter=of_call, entered=entered, returned=returned),
        region_counters=table(tables.RegionCounters, region=region, counter=of_region, entered=begun, left=left),
        counter_names=names,
        levels=levels,
    )


def program(scale=1):
    """Return rank 0: Init 0 .. 10, main 20 .. 100 with inner 30 .. 60 and in that a Barrier 40 .. 50, Finalize 110 .. 120; rank 1 alike.

    Times are `scale` times as much.
    """
    b = Builder(2)
    for rank in range(2):
        b.call(rank, "Init", at=(0, 10 * scale))
        b.enter(rank, "main", at=20 * scale)
        b.enter(rank, "inner", at=30 * scale)
        b.call(rank, "Comm_rank", at=(40 * scale, 50 * scale))
        b.leave(rank, "inner", at=60 * scale)
        b.leave(rank, "main", at=100 * scale)
        b.call(rank, "Finalize", at=(110 * scale, 120 * scale))
    return b.trace()


CALLS = [(0, 0, 0, 5), (1, 0, 30, 31), (2, 0, 60, 70)]
"""Of rank 0: 5 in Init, 1 in Comm_rank, 10 in Finalize."""
REGIONS = [(0, 0, 10, 50), (1, 0, 20, 40)]
"""main 10 .. 50, inner 20 .. 40."""
BY_PATH = {
    "program": 15,  # 5 to 10, 50 to 60
    "main": 20,  # 10 to 20, 40 to 50
    "main/inner": 19,
    "main/inner/MPI_Comm_rank": 1,
    "MPI_Init": 5,
    "MPI_Finalize": 10,
}


def by_path(found, value, location=0):
    """Return what is not 0 by full name."""
    return {found.tree.full_name(k): value[k, location] for k in range(len(found.tree)) if value[k].any()}


def test_exclusive_of_what_is_called_and_of_inner_regions():
    found = counters.counted(counting(program(), CALLS, REGIONS))
    assert by_path(found, found.values[0]) == BY_PATH
    assert found.values[0][:, 1].tolist() == [0] * len(found.tree)
    time = {"program": 20, "main": 50, "main/inner": 20, "main/inner/MPI_Comm_rank": 10, "MPI_Init": 10, "MPI_Finalize": 10}
    assert (by_path(found, found.time), found.time[:, 1].sum()) == (time, 0)


def test_what_was_not_read_lies_on_a_line():
    """Only Init and Finalize, 5 at 10 and 105 at 110: 1 per ns between them; behind the last reading nothing counts."""
    found = counters.counted(counting(program(), [(0, 0, 5, 5), (2, 0, 105, 105)]))
    assert by_path(found, found.values[0]) == {"program": 20, "main": 50, "main/inner": 20, "main/inner/MPI_Comm_rank": 10}
    along = counters.along(counting(program(), [(0, 0, 5, 5), (2, 0, 105, 105)]), 0)
    assert (along.regions.enter.tolist(), along.regions.leave.tolist()) == ([15, 25, 0, 0], [95, 55, 0, 0])


def test_a_span():
    """From 45, in Comm_rank, to 80: 30.5 to 45; 0.5 of the call, 9 of inner to 40, 5 of main, and of time 5, 10 and 20 ns."""
    span = table(tables.Times, enter=[45, 45], leave=[80, 80])
    found = counters.counted(counting(program(), CALLS, REGIONS), span)
    assert by_path(found, found.values[0]) == {"main": 5, "main/inner": 9, "main/inner/MPI_Comm_rank": 0.5}
    assert by_path(found, found.time) == {"main": 20, "main/inner": 10, "main/inner/MPI_Comm_rank": 5}


def test_nothing_counted():
    assert counters.counted(program()) is None
    assert counters.counted(counting(program(), CALLS, levels=(0,))) is None
    assert efficiency.work(program()) is counters.NOT_COUNTED


@pytest.mark.parametrize(
    ("name", "plain"),
    [("PAPI_TOT_INS", "papi_tot_ins"), ("perf::INSTRUCTIONS:u [#]", "instructions"), ("cycles", "cycles"), ("energy [J]", "energy")],
)
def test_names(name, plain):
    assert counters.plain(name) == plain


NAMES = ("PAPI_TOT_INS", "PAPI_TOT_CYC")


def rated(scale=1, instructions=1, cycles=1):
    """Both processes compute 30 (rank 0) and 10 (rank 1) instructions per 10 ns and 20 cycles."""
    readings, times = [], [(0, 10), (40, 50), (110, 120)]
    for rank, each in enumerate((3, 1)):
        for k, (begin, end) in enumerate(times):
            call, ends = 3 * rank + k, (begin, end)
            readings.append((call, 0, *(each * instructions * t for t in ends)))
            readings.append((call, 1, *(2 * cycles * t for t in ends)))
    return counting(program(scale), readings, (), NAMES)


def test_rates_of_efficiencies():
    """Computation is 90 ns of each in all, the same between MPI_Init and MPI_Finalize: 4 instructions per 2 processes and 4 cycles a ns."""
    run = replayed(rated(), hand_model())
    parts = {part.name: part.work for part in efficiencies(run, search(run.trace).severity)}
    for name in (PROGRAM, BETWEEN):
        assert (parts[name].instructions.tolist(), parts[name].cycles.tolist()) == ([270, 90], [180, 180])
        assert (parts[name].time.tolist(), parts[name].ipc, parts[name].frequency_ghz) == ([90, 90], 1, 2)
        assert parts[name].instruction_balance == 180 / 270


def test_rates_of_a_region():
    """main computes 70 of its 80 ns, from 20 to 40 and 50 to 100."""
    found = counters.counted(rated())
    main = found.work([found.tree.full_name(node) for node in range(len(found.tree))].index("main"))
    assert (main.instructions.tolist(), main.cycles.tolist(), main.time.tolist()) == ([210, 70], [140, 140], [70, 70])


def test_rates_of_regions_of_the_first_level():
    """f of rank 0 and g of rank 1 are read at their ends: 300 and 20 instructions, 100 and 40 cycles."""
    b = Builder(2)
    for rank, name, ns in ((0, "f", 100), (1, "g", 50)):
        b.call(rank, "Comm_rank", at=(0, 10))
        b.enter(rank, name, at=10)
        b.leave(rank, name, at=10 + ns)
        b.call(rank, "Comm_rank", at=(150, 160))
    regions = [(0, 0, 5, 305), (0, 1, 5, 105), (1, 0, 10, 30), (1, 1, 20, 60)]
    run = replayed(counting(b.trace(), [], regions, NAMES), hand_model())
    parts = {part.name: part.work for part in efficiencies(run, search(run.trace).severity)}
    assert [(parts[name].ipc, parts[name].frequency_ghz) for name in ("f", "g")] == [(3, 1), (0.5, 0.8)]


def test_scaling():
    """Twice the time, 1.5 as many instructions, 3 times the cycles: 1/2 = 2/3 * (1.5/3) * (3/2)."""
    found = counters.scaling(efficiency.work(rated(2, 1.5, 3)), efficiency.work(rated()))
    assert (found.computation, found.instructions, found.ipc, found.frequency) == (0.5, pytest.approx(2 / 3), 0.5, 1.5)
    assert math.isclose(found.computation, found.instructions * found.ipc * found.frequency)
    assert (found.reference_ipc, found.own_ipc, found.reference_ghz, found.own_ghz) == (1, 0.5, 2, 3)
    assert counters.scaling(efficiency.work(program()), efficiency.work(rated())) is None


@settings(max_examples=20)
@given(build.traces(), st.data())
def test_law__the_sum_is_the_last_value_less_the_first(trace, data):
    """Of values that grow with time; and time as a counter is the time of the metrics."""
    call = np.arange(len(trace.calls))
    times, last = trace.timeline.calls, data.draw(st.integers(1, 9))
    value = [(k, 0, last * int(times.enter[k]), last * int(times.leave[k])) for k in call.tolist()]
    trace = counting(trace, value)
    found = counters.counted(trace)
    if found is None:
        return
    spans = [
        times.leave[mine].max() - times.enter[mine].min() for mine in (trace.calls.location == k for k in np.unique(trace.calls.location))
    ]
    assert found.values[0].sum() == pytest.approx(last * sum(spans))
    assert np.allclose(found.values[0], last * found.time)


@settings(max_examples=15)
@given(build.traces())
def test_law__time_read_everywhere_is_the_metric_of_time(trace):
    """Read at calls and regions and at both ends of each location, by a span, it is computation and MPI as the metrics have them."""
    times = trace.timeline
    calls = [(k, 0, *ends) for k, ends in enumerate(zip(times.calls.enter.tolist(), times.calls.leave.tolist(), strict=True))]
    if not calls:
        return
    cube = search(trace).severity
    found = counters.counted(counting(trace, calls), tree=call_tree(trace))
    called = found.tree.op >= 0
    assert found.values[0][called].sum() == pytest.approx(cube.total("mpi"))
    assert found.values[0][~called].sum() <= cube.total("comp") + 0.5
