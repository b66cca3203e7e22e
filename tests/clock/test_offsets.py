"""Offsets: interpolation by hand, what cannot be told refused (PATTERNS 2.1; Becker et al. 2007, section 3)."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
from build import Builder
from perwiz.clock.offsets import apply
from perwiz.clock.schemes import to_global
from perwiz.errors import ClockError
from perwiz.trace import tables

YEAR = 31 * 10**15
"""Nanoseconds."""


def with_offsets(trace, rows):
    """Return the trace with measurements (location, local time in ns, offset in us) that are not applied."""
    location, time, offset = zip(*rows, strict=True) if rows else ((), (), ())
    none = [0] * len(rows)
    table = build.table(tables.Offsets, location=location, time=time, offset=offset, drift=none, error=none)
    return dataclasses.replace(trace, offsets=table, offsets_applied=False)


def line(*points):
    return tuple(np.array(values, "i8") for values in zip(*points, strict=True))


@pytest.mark.parametrize(
    ("points", "local", "expected"),
    [
        # One measurement: constant.
        ([(500, -30)], [0, 500, 10**15], [-30, 470, 10**15 - 30]),
        # Two: from +10 at 1000 to +30 at 2000, that is 2 in 100, also before and behind.
        ([(1000, 10), (2000, 30)], [1000, 1500, 2000, 0, 3000], [1010, 1520, 2030, -10, 3050]),
        # Three: the line of the enclosing pair, of the nearest pair outside.
        ([(0, 0), (1000, 100), (2000, 0)], [-100, 500, 1000, 1500, 3000], [-110, 550, 1100, 1550, 2900]),
        # Rounded to nearest: 0.4 and 0.6.
        ([(0, 0), (10, 2)], [2, 3], [2, 4]),
        # A year of nanoseconds and an offset of a year: no product of times.
        ([(0, YEAR), (YEAR, YEAR + 31_000)], [YEAR, YEAR // 2], [2 * YEAR + 31_000, YEAR // 2 + YEAR + 15_500]),
    ],
)
def test_to_global(points, local, expected):
    assert to_global(line(*points), np.array(local, "i8")).tolist() == expected


@given(
    st.lists(st.tuples(st.integers(1, 10**9), st.floats(-0.9, 3)), min_size=1, max_size=4),
    st.lists(st.integers(-(10**12), 10**12), min_size=2, max_size=20),
)
def test_to_global__keeps_order(steps, local):
    time, offset, points = 0, 0, []
    for step, slope in steps:
        points.append((time, offset))
        time, offset = time + step, offset + int(step * slope)
    found = to_global(line(*points), np.array(sorted(local), "i8"))
    assert (np.diff(found) >= 0).all()


def two():
    """Return a trace of two ranks whose second clock is 5 us fast at 0 and 3 us fast at 1 ms."""
    b = Builder(2)
    b.begin, b.end = {0: 100, 1: 5_100}, {0: 900_000, 1: 905_000}
    with b.region(0, "a", at=(100, 300_000)):
        b.send(0, 1, at=(1_000, 2_000))
    with b.region(1, "a", at=(5_000, 500_000)):
        b.recv(1, 0, at=(8_000, 9_000))
    return with_offsets(b.trace(), [(0, 0, 0.0), (1, 5_000, -5.0), (1, 1_005_000, -3.0)])


def test_apply():
    trace = two()
    timeline = apply(trace).timeline
    assert timeline.calls.enter.tolist() == [1_000, 3_006]
    assert timeline.calls.leave.tolist() == [2_000, 4_008]
    assert timeline.regions.enter.tolist() == [100, 0]
    assert timeline.regions.leave.tolist() == [300_000, 495_990]
    assert timeline.locations.enter.tolist() == [100, 100]
    assert timeline.locations.leave.tolist() == [900_000, 901_800]
    assert str(timeline.origin) == "measured, clock offsets applied"


def test_apply__already():
    trace = dataclasses.replace(with_offsets(two(), [(0, 0, 5.0), (1, 0, 7.0)]), offsets_applied=True)
    assert apply(trace) is trace


def test_apply__earliest_instant_stays():
    """A master's clock 100 us behind moves everything alike: the trace begins where it began."""
    trace = with_offsets(two(), [(0, 0, -100.0), (1, 0, -105.0)])
    timeline = apply(trace).timeline
    assert timeline.locations.enter.tolist() == [100, 100]
    assert timeline.calls.enter.tolist() == [1_000, 3_000]


def test_apply__threads_share_the_clock_of_their_process():
    trace = two()
    locations = dataclasses.replace(trace.locations, process=np.array([0, 0], "i4"), thread=np.array([0, 1], "i4"))
    trace = with_offsets(dataclasses.replace(trace, locations=locations), [(0, 0, 1.0)])
    assert apply(trace).timeline.calls == trace.timeline.calls


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_apply__no_offset_changes_nothing(name):
    trace = build.CATALOGUE[name]()
    trace = with_offsets(trace, [(row, 0, 0.0) for row in range(len(trace.locations))])
    found = apply(trace).timeline
    assert (found.calls, found.regions, found.locations) == (trace.timeline.calls, trace.timeline.regions, trace.timeline.locations)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(0, 0, 0.0)], "built: rank 1 (location 1) has no clock offset; each location must have one"),
        (
            [(0, 0, 0.0), (1, 500, 0.0), (1, 500, 1.0)],
            "built: rank 1 (location 1) has a clock offset measured at 500 ns behind one at 500 ns; local times must rise",
        ),
        (
            [(0, 0, 0.0), (0, 2_000, -2.0), (1, 0, 0.0)],
            "built: rank 0 (location 0) has clock offsets by which global time does not rise from 0 to 2000 ns local time; it must",
        ),
    ],
)
def test_apply__refused(rows, message):
    with pytest.raises(ClockError) as error:
        apply(with_offsets(two(), rows))
    assert str(error.value) == message
