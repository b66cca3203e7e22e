"""A trace of a real program by Extrae, against what the tools of the Barcelona Supercomputing Center print for it."""

from __future__ import annotations

import pathlib

import pytest

import perwiz
from perwiz.patterns.analysis.efficiency import PROGRAM, efficiencies
from perwiz.patterns.search import search
from perwiz.trace import operations
from perwiz.whatif.run import replayed

EPOCH = pathlib.Path(__file__).parent / "epoch" / "epoch_4proc.prv.gz"
FACTORS = {"load_balance": 98.687584, "serialisation": 99.203493, "transfer": 99.436599, "communication": 98.644580, "parallel": 97.349953}
"""Those of four processes, per cent: modelfactors.csv of pypop."""


@pytest.fixture(scope="module")
def trace():
    return perwiz.read(str(EPOCH))


def test_epoch__is_whole(trace):
    """Every message has its two calls, every collective its members; calls tell the line that they are in."""
    counts = trace.counts
    assert (len(trace.calls), len(trace.messages), len(trace.collectives), len(trace.defects)) == (7496, 2556, 461, 0)
    assert counts.lacking == {}
    assert (counts.incomplete_collectives, counts.rootless_collectives) == (0, 0)
    assert "partlist.F90:829 __partlist_MOD_partlist_sendrecv" in trace.sites
    bcast = operations.OP["MPI_Bcast"]
    assert (trace.collectives.root[trace.collectives.op == bcast] >= 0).all()


@pytest.mark.slow
def test_epoch__factors(trace):
    """Load balance, serialisation and transfer, each within 0.1 points of what basicanalysis makes of the same trace and of Dimemas."""
    run = replayed(trace)
    (whole,) = (part for part in efficiencies(run, search(run.trace).severity) if part.name == PROGRAM)
    assert {name: 100 * getattr(whole, name) for name in FACTORS} == pytest.approx(FACTORS, abs=0.1)
    assert whole.ideal / 1000 == pytest.approx(6051059.08, rel=1e-4)
