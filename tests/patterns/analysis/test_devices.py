"""What devices do, by hand."""

import numpy as np
import pytest

from kinetos import Rank, put, two_ranks
from perwiz.formats import files
from perwiz.patterns.analysis import devices
from perwiz.report.info import stragglers
from perwiz.report.info.devices import devices_of, lines
from perwiz.report.info.heat import span
from perwiz.report.page.panels import stragglers as panel
from perwiz.trace.parts import iterations
from perwiz.trace.trace import Communicators
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking.change import Asker
from perwiz.whatif.ranking.computation import without_launches
from perwiz.whatif.run import replayed
from samples import TRACES


def test_union_and_until():
    """Of two lanes: 0 to 20 and 30 to 31 of the first, 7 to 9 of the second."""
    given = np.array([(1, 7, 9), (0, 0, 10), (0, 30, 31), (0, 5, 20), (0, 40, 40)]).T
    joined = devices.union(tuple(given))
    assert [side.tolist() for side in joined] == [[0, 0, 1], [0, 30, 7], [20, 31, 9]]
    instants = np.array([[-5, -5], [5, 8], [25, 9], [40, 40]])
    assert devices.until(joined, instants).tolist() == [[0, 0], [5, 1], [20, 2], [21, 2]]


def test_devices__two_ranks(tmp_path):
    """Each has a kernel of 30 in a step of 200; the first is in a collective from 55 to 165, the second from 95, which it launches late.

    Idle, the first waits for the launch of its kernel and its collective until 20, the second until 60.
    """
    trace = files.read(put(tmp_path / "job", *two_ranks()))
    found = devices.devices(trace)
    assert (found.steps.shape, devices_of(trace, found).stragglers) == ((0, 2), None)
    assert (found.rank.tolist(), found.time.tolist(), found.told) == ([0, 1], [200_000] * 2, True)
    assert found.kernels.tolist() == [30_000] * 2
    assert (found.exposed.tolist(), found.idle.tolist()) == ([110_000, 70_000], [60_000, 100_000])
    assert found.unlaunched.tolist() == [20_000, 60_000]
    factors = found.load_balance, found.communication, found.supply, found.efficiency
    assert factors == pytest.approx((1, 30 / 140, 140 / 200, 30 / 200))
    told = lines(devices_of(trace, found))
    assert told[0] == "devices       efficiency 0.150, the product of load balance 1.000, communication 0.214, supply 0.700"
    assert told[2].split() == ["rank", "kernels", "of", "mean", "slowest", "in", "not", "hidden", "idle", "not", "launched"]
    assert told[3].split() == ["0", "30.00", "us", "1.00", "-", "110.0", "us", "60.00", "us", "20.00", "us"]


def test_devices__a_host_that_is_ahead(tmp_path):
    """Steps of 50; the kernel that each launches at 10 takes 60, and begins behind the one before: each counts 60, the last up to 200."""
    rank = Rank(0, 1)
    for k in range(3):
        rank.note(f"ProfilerStep#{k}", 50 * k, 50).launch("gemm", 10 + 50 * k, 20 + 60 * k, 60)
    trace = files.read(put(tmp_path / "job", rank))
    assert devices.devices(trace, iterations.find(trace)).steps.tolist() == [[60_000]] * 3


def test_devices__of_a_table(golden):
    """A job whose rank 0 was made slow: it alone is, its stage and replica are not without it. Its two steps are its iterations."""
    job = files.read(str(TRACES / "training-job" / "steps.parquet"))
    its = iterations.find(job)
    told = devices_of(job, devices.devices(job, its))
    assert (len(its), its.body, told.steps, told.devices, told.ranks[0].slowest) == (2, ("step",), 2, True, 2)
    assert {group.name for group in told.groups} >= {"stage-0", "replica-3"}
    over = told.stragglers
    assert [(one.name, one.slowest, one.group) for one in over.slow] == [("rank 0", 2, "")]
    assert len(over.ranks) == 16
    golden("stragglers_of_a_table", "\n".join(stragglers.lines(over, told.steps, "kernels")) + "\n")


def test_devices__few_at_a_time(monkeypatch):
    """A lane at a time, in which others have no part, what they do is the same."""
    trace = files.read(str(TRACES / "training-job" / "steps.parquet"))
    its = iterations.find(trace)
    together = devices.devices(trace, its)
    monkeypatch.setattr(devices, "_CALLS", 1)
    monkeypatch.setattr(devices, "_TIMES", len(together.rank))
    for value, other in zip(vars(devices.devices(trace, its)).values(), vars(together).values(), strict=True):
        np.testing.assert_array_equal(value, other)


def test_devices__of_threads():
    """One without devices, whose threads count, by the steps of the profiler."""
    trace = files.read(str(TRACES / "training-slow"))
    found = devices.devices(trace, iterations.find(trace))
    assert (found.told, found.steps.shape, int(found.kernels.argmax())) == (False, (8, 2), 1)
    assert found.steps[:, 1].sum() <= found.kernels[1]
    run = replayed(trace)
    data = panel.document(run)
    assert (data["first"], data["last"], data["parts"][0]["names"]) == ([*range(1, 9)], [*range(1, 9)], ["rank 0", "rank 1"])
    assert data["facts"][0][1].startswith("rank 1: computation 1.47 times the mean, 1.44 to 1.49 in nine of ten draws of its steps")


def test_stragglers__of_a_stage():
    """Ranks 3 to 5 take twice what 0 to 2 take, rank 5 a tenth more: their stage is slow, and in it rank 5."""
    steps = np.tile([10, 10, 10, 20, 20, 22], (4, 1))
    groups = Communicators(("world", "front", "back"), np.array([0, 6, 9, 12]), np.array([*range(6), 0, 1, 2, 3, 4, 5], "i4"))
    over = stragglers.stragglers_of(np.arange(6, dtype="i4"), steps, groups)
    assert [(one.name, one.ranks, one.group) for one in over.slow] == [
        ("back", 3, ""),
        ("rank 5", 1, ""),
        ("rank 3", 1, "back"),
        ("rank 4", 1, "back"),
    ]
    assert [fact for _, fact in stragglers.facts(over, 4, "kernels")] == [
        "back: kernels 1.30 times the mean; the median of its 3 ranks",
        "rank 5: kernels 1.43 times the mean; longest in 4 of 4 steps",
    ]
    assert span(over) == pytest.approx(22 / (92 / 6) - 1, abs=1e-3)


def test_predict__launches_that_are_recorded_are_not_guessed(tmp_path):
    """Where launches are recorded, what waits for them is tied to them: nothing is said of launches that are never late."""
    trace = files.read(put(tmp_path / "job", *two_ranks()))
    assert predict(trace, ["typical all"], draws=0).launched is None
    assert without_launches(Asker(replayed(trace))) is None
