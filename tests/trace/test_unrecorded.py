"""When the measurement was switched off."""

import dataclasses

import numpy as np
import pytest

from build import Builder, table
from perwiz.trace import tables
from perwiz.trace.unrecorded import unrecorded

ON, OFF = 1, 2


def switched(*records, ends=((0, 90), (5, 60))):
    """Return a trace of some processes, from and to these instants, with records (location, time, mode)."""
    b = Builder(len(ends))
    for rank, (begin, end) in enumerate(ends):
        b.begin[rank], b.end[rank] = begin, end
    location, time, mode = zip(*records, strict=True) if records else ((), (), ())
    count = len(records)
    return dataclasses.replace(
        b.trace(),
        texts=("RmaPut", "MeasurementOnOff"),
        records=table(
            tables.Records,
            location=[0, *location],
            kind=[0] + [1] * count,
            call=[0] * (1 + count),
            time=[0, *time],
            first_value=range(count + 1),
        ),
        values=np.array([OFF, *mode], "i8"),
    )


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([], []),
        ([(0, 10, OFF), (0, 20, OFF), (0, 30, ON), (1, 15, ON), (1, 40, OFF)], [(0, 10, 30), (1, 5, 15), (1, 40, 90)]),
        ([(0, 10, OFF), (0, 20, ON), (0, 30, OFF), (0, 50, ON), (1, 50, ON)], [(0, 10, 20), (0, 30, 50), (1, 5, 50)]),
        ([(0, 0, ON), (0, 7, OFF), (0, 7, ON), (0, 9, ON)], []),
        ([(0, 90, OFF), (1, 60, OFF)], [(0, 90, 90), (1, 60, 90)]),
    ],
    ids=["never", "worked by hand", "several", "no time", "at the end"],
)
def test_unrecorded(records, expected):
    location, times = unrecorded(switched(*records))
    assert [*zip(location.tolist(), times.enter.tolist(), times.leave.tolist(), strict=True)] == expected


def test_unrecorded__nobody_switches():
    location, times = unrecorded(Builder(2).trace())
    assert (len(location), len(times)) == (0, 0)
