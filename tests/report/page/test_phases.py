"""The data of the panel of behaviour over time."""

from __future__ import annotations

import build
from build import Builder, hand_model
from perwiz.report.page.analyses import wait_states
from perwiz.report.page.panels import phases
from perwiz.whatif.run import replayed


def test_step():
    """Two ranks compute 1 ms in turn with a barrier of 10 us, twenty times; then one of them 2 ms. The last ends with its call."""
    b = Builder(2, latency=0, work=10_000)
    for k in range(40):
        b.compute(0, 1_000_000)
        b.compute(1, 2_000_000 if k >= 20 else 1_000_000)
        b.barrier()
    data = phases.document(wait_states(replayed(b.trace(), hand_model())))
    assert (data["by"], data["edges"], data["bounds"]) == ("iteration", list(range(1, 41)), [20])
    assert [line["name"] for line in data["lines"]] == ["load balance", "serialisation", "transfer", "parallel efficiency"]
    assert data["lines"][0]["values"] == [100.0] * 19 + [75.0] * 20
    assert [area["name"] for area in data["areas"]] == ["computation", "Wait at Barrier", "calls without waiting"]
    assert [area["values"][30] for area in data["areas"]] == [1_500_000, 500_000, 10_000]
    assert data["facts"][0][1].endswith("behaviour changes at iteration 20")


def test_no_processes():
    assert phases.document(wait_states(replayed(build.empty()))) == {"facts": [["phases", "none: there are no processes"]], "edges": []}
