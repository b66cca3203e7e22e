"""Statistics of instances, and the matrix of metahosts, as documents and as text."""

import dataclasses

import msgspec
import numpy as np

from build import Builder
from perwiz.patterns.search import search
from perwiz.report.patterns import tables as patterns_parts
from perwiz.report.patterns.records import Metahosts, MetahostWaits


def four_waits(*numbers):
    """Four late senders of 1, 2, 3 and 6 us: ranks 0 to 3 wait for ranks 4 to 7; on these metahosts."""
    b = Builder(8)
    for rank, wait in enumerate((1000, 2000, 3000, 6000)):
        b.recv(rank, rank + 4, at=(0, 9000))
        b.send(rank + 4, rank, at=(wait, wait + 100))
    trace = b.trace()
    locations = dataclasses.replace(trace.locations, metahost=np.array(numbers or [0] * 8, "i4"))
    return search(dataclasses.replace(trace, locations=locations, metahosts=("here", "there")))


def test_statistics():
    """Mean 3, median 2.5, quartiles between the ranks as numpy and R (type 7) take them, variance (4 + 1 + 0 + 9) / 4."""
    found = four_waits()
    assert msgspec.to_builtins(patterns_parts.statistics(found, ["mpi_latesender", "mpi_latereceiver"])) == [
        {
            "pattern": "mpi_latesender",
            "title": "Late Sender",
            "count": 4,
            "sum_ns": 12_000,
            "mean_ns": 3000.0,
            "median_ns": 2500.0,
            "min_ns": 1000,
            "max_ns": 6000,
            "variance_ns2": 14e6 / 4,
            "q25_ns": 1750.0,
            "q75_ns": 3750.0,
        },
        {"pattern": "mpi_latereceiver", "title": "Late Receiver", "count": 0, "sum_ns": 0}
        | dict.fromkeys(("mean_ns", "median_ns", "min_ns", "max_ns", "variance_ns2", "q25_ns", "q75_ns")),
    ]
    lines = patterns_parts.statistics_lines(patterns_parts.statistics(found, list(found.instances)))
    assert lines == [
        "pattern      instances       sum      mean     least      25 %    median      75 %      most  deviation",
        "Late Sender          4  12.00 us  3.000 us  1.000 us  1.750 us  2.500 us  3.750 us  6.000 us   1.871 us",
    ]


def test_metahosts():
    """0 and 1 are here and wait for 4 and 5, here and there; 2 and 3, there, for 6 and 7, both here."""
    found = four_waits(0, 0, 1, 1, 0, 1, 0, 0)
    metahosts = patterns_parts.metahosts(found)
    assert msgspec.to_builtins(metahosts) == {
        "names": ["here", "there"],
        "patterns": [
            {"pattern": "mpi_latesender", "title": "Late Sender", "severity_ns": [[1000, 2000], [9000, 0]], "instances": [[1, 1], [2, 0]]}
        ],
    }
    assert patterns_parts.metahost_lines(metahosts) == [
        "pattern      who waits  for here  for there",
        "Late Sender  here       1.000 us   2.000 us",
        "Late Sender  there      9.000 us       0 ns",
    ]


def test_metahosts__one():
    assert patterns_parts.metahosts(four_waits()) is None


def test_metahosts__many():
    """The text shows eight; the document has all."""
    names = [str(number) for number in range(10)]
    matrix = np.ones((10, 10), int).tolist()
    metahosts = Metahosts(names=names, patterns=[MetahostWaits("mpi_latesender", "Late Sender", severity_ns=matrix, instances=matrix)])
    lines = patterns_parts.metahost_lines(metahosts)
    assert (len(lines), lines[-1]) == (1 + 8 + 1, "and 2 more metahosts (--json lists all)")
