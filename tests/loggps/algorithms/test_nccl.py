"""The tuning table of NCCL, by hand: latencies in us and GB/s as its source has them; and what-ifs of a trace by it."""

from __future__ import annotations

import numpy as np
import pytest

import perwiz
from kinetos import Rank, put, two_ranks
from perwiz.errors import UsageError
from perwiz.loggps.algorithms import nccl
from perwiz.loggps.algorithms.nccl import Collectives, Kind, Way

TREE, RING = range(2)
LL, LL128, SIMPLE = range(3)


@pytest.mark.parametrize(
    ("kind", "way", "bandwidth", "us"),
    [
        (Kind("allreduce", 4, 1, 65536), Way(RING, LL), 200, 6.6 + 6 * 0.6 + 65536 / (87_700 * 4 / 6)),
        (Kind("allreduce", 4, 1, 65536), Way(RING, LL), 20, 6.6 + 6 * 1.0 + 65536 / (10_000 * 4 / 6)),
        (Kind("allreduce", 16, 2, 1 << 20), Way(TREE, SIMPLE), 20, 8.4 + 2 * (7 * 4 + 14) + (1 << 20) / (20_000 * 0.92 * 0.5 * 0.5)),
        (Kind("allreduce", 16, 2, 1 << 20), Way(RING, SIMPLE), 20, (8.4 + 28 * 5.7 + 2 * 14) * 1.4 + (1 << 20) / (20_000 * 16 / 30)),
        (Kind("allgather", 2, 2, 10**6), Way(RING, LL128), 10, 14 + 8.5 + 10**6 / (9_200 * 2)),
        (Kind("broadcast", 8, 1, 10**6), Way(RING, SIMPLE), 100, 8.4 + 3.4 + 10**6 / 100_000),
    ],
)
def test_time__by_hand(kind, way, bandwidth, us):
    """One node of NVLink and of PCI; two nodes, whose long rings have a plateau; a rank per node; a broadcast along the ring."""
    assert nccl.time_ns(kind, way, bandwidth) == pytest.approx(1000 * us)


def test_soonest():
    """Few bytes by LL, many by the protocol Simple in a ring; of a gather there are rings alone."""
    assert nccl.soonest(Kind("allreduce", 8, 1, 64), 200) == (TREE, LL) or nccl.soonest(Kind("allreduce", 8, 1, 64), 200) == (RING, LL)
    assert nccl.soonest(Kind("allreduce", 8, 1, 1 << 30), 200) == (RING, SIMPLE)
    assert {way.algorithm for way in nccl.ways(Kind("allgather", 8, 1, 64))} == {RING}


@pytest.mark.parametrize("bandwidth", [5.0, 40.0, 150.0])
def test_links__gives_back_what_made_the_times(bandwidth):
    """Of collectives on one node and on two that took what the table says; the second kind crosses nodes."""
    kinds = [Kind("allreduce", 4, nodes, 1 << power) for nodes in (1, 2) for power in (20, 26)]
    took = [round(nccl.time_ns(kind, nccl.soonest(kind, bandwidth), bandwidth)) for kind in kinds]
    found = nccl.links(Collectives(np.arange(4), np.arange(4), kinds, np.array(took)), {})
    assert [found[crossing].bandwidth for crossing in (False, True)] == pytest.approx([bandwidth] * 2, rel=0.03)


@pytest.fixture
def job(tmp_path):
    """Return two ranks that sum 50 MB in 1 ms on one node: 50.8 GB/s by a ring of the protocol Simple, which begins in 15.2 us."""
    ranks = [Rank(rank).note("ProfilerStep#1", 0, 1100) for rank in (0, 1)]
    for one in ranks:
        one.nccl("AllReduce", 20, 55, 1000, 1, size=12_500_000)
        one.call("cudaStreamSynchronize", 60, 995)
    return perwiz.read(put(tmp_path / "job", *ranks))


@pytest.mark.parametrize(
    ("asked", "us"),
    [
        ("bandwidth=2", 984.8 / 2),
        ("latency=0.5", 15.2 / 2),
        ("allreduce=Simple", 0),
        ("all_reduce=LL", 1000 - (6.6 + 2 * 0.6 + 2 * 984.8)),
        ("all=tree", 1000 - (8.4 + 2 * 4.0 + 984.8 / (0.92 * 0.5 * 0.7))),
        ("allreduce=ring:Simple was ring:LL", 992.2 / 2 - 7.4),
    ],
)
def test_predict(job, asked, us):
    """Transfers take as much longer or shorter as the table says; a protocol with twice the bandwidth halves all but what begins it."""
    assert perwiz.predict(job, [f"nccl {asked}"], draws=0).gain == pytest.approx(1000 * us, abs=25_000)


def test_predict__short_ones_tell_no_bandwidth(tmp_path):
    """4000 bytes begin in 6.6 us, take two steps of 0.6, and 0.08 at half of 100 GB/s; then half of it, but LL has 87.7 GB/s at most.

    The last rank begins 40 us behind the first, and both end 70 us behind that: waiting stays.
    """
    trace = perwiz.read(put(tmp_path / "job", *two_ranks()))
    result = perwiz.predict(trace, ["nccl bandwidth=2,latency=0.5"], draws=0)
    assert result.gain == pytest.approx(1000 * (7.8 + 4 / 50) - 1000 * (7.8 / 2 + 4 / 87.7), abs=1)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("allreduce=star", "nccl allreduce=star: 'star', must be one of tree, ring, best, LL, LL128, Simple or both, such as ring:LL128"),
        ("alltoall=ring", "nccl alltoall=ring: 'alltoall', must be one of allreduce, allgather, reducescatter, broadcast, reduce or all"),
        ("latency=0", "nccl latency=0: latency of 0 times, must be from 0.001 to 1000"),
        ("allgather=ring", "nccl allgather=ring: no allgather on streams that is whole and whose bytes are known, must be one of a trace"),
        ("allreduce", "nccl allreduce: 'allreduce' is nothing of NCCL, must be like allreduce=tree, allreduce=ring:LL128, all=best,"),
        ("all=tree was ring", "nccl all=tree was ring: was 'ring', must be an algorithm and a protocol, such as ring:LL"),
    ],
)
def test_refused(job, asked, message):
    with pytest.raises(UsageError) as caught:
        perwiz.predict(job, [f"nccl {asked}"])
    assert str(caught.value).startswith(message)
