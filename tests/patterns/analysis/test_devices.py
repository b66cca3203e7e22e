"""What devices do, by hand."""

import numpy as np
import pytest

from kinetos import put, two_ranks
from perwiz.formats import files
from perwiz.patterns.analysis import devices
from perwiz.report.info.devices import devices_of, lines
from samples import TRACES


def spans(*pairs):
    return tuple(np.array(side, "i8") for side in zip(*pairs, strict=True))


def test_union_and_until():
    joined = devices.union(spans((0, 10), (30, 31), (5, 20), (40, 40)))
    assert [side.tolist() for side in joined] == [[0, 30], [20, 31]]
    assert devices.length(joined) == 21
    assert devices.until(joined, np.array([-5, 5, 25, 40])).tolist() == [0, 5, 20, 21]


def test_devices__two_ranks(tmp_path):
    """Each has a kernel of 30 in a step of 200; the first is in a collective from 55 to 165, the second from 95, which it launches late.

    Idle, the first waits for the launch of its kernel and its collective until 20, the second until 60.
    """
    trace = files.read(put(tmp_path / "job", *two_ranks()))
    found = devices.devices(trace)
    assert (found.rank.tolist(), found.time.tolist(), found.told) == ([0, 1], [200_000] * 2, True)
    assert found.kernels.tolist() == found.steps[0].tolist() == [30_000] * 2
    assert (found.exposed.tolist(), found.idle.tolist()) == ([110_000, 70_000], [60_000, 100_000])
    assert found.unlaunched.tolist() == [20_000, 60_000]
    factors = found.load_balance, found.communication, found.supply, found.efficiency
    assert factors == pytest.approx((1, 30 / 140, 140 / 200, 30 / 200))
    told = lines(devices_of(trace, found))
    assert told[0] == "devices       efficiency 0.150, the product of load balance 1.000, communication 0.214, supply 0.700"
    assert told[2].split() == ["rank", "kernels", "of", "mean", "slowest", "in", "not", "hidden", "idle", "not", "launched"]
    assert told[3].split() == ["0", "30.00", "us", "1.00", "1", "of", "1", "110.0", "us", "60.00", "us", "20.00", "us"]


def test_devices__of_a_table_and_of_threads():
    """A job whose rank 0 was made slow, and one without devices, whose threads count."""
    job = files.read(str(TRACES / "training-job" / "steps.parquet"))
    told = devices_of(job, devices.devices(job))
    assert (told.steps, told.devices, told.ranks[0].slowest) == (2, True, 2)
    assert {group.name for group in told.groups} >= {"stage-0", "replica-3"}
    threads = devices.devices(files.read(str(TRACES / "training-slow")))
    assert (threads.told, threads.steps.shape, int(threads.kernels.argmax())) == (False, (8, 2), 1)
