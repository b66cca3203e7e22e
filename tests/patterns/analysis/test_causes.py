"""All metrics of causes together: on every awkward trace, and the sums they must keep."""

import hypothesis
import numpy as np
import pytest

import build
from naive_delays import chain
from perwiz.patterns.analysis.causes import NAMES, explain
from perwiz.patterns.search import search

_PARTS = {
    "delay": ("delay_mpi", "delay_shmem", "delay_omp", "delay_pthread_aggregate", "delay_devices"),
    "delay_mpi": ("delay_p2p", "delay_collective", "delay_onesided"),
    "delay_shmem": ("delay_shmemcollective_aggregate", "delay_shmemput_aggregate", "delay_shmemlock_aggregate"),
    "waitstates_direct_vs_indirect": ("mpi_wait_direct", "mpi_wait_indirect"),
    "waitstates_propagating_vs_terminal": ("mpi_wait_propagating", "mpi_wait_terminal"),
    "performance_impact": ("performance_impact_criticalpath", "non_critical_path_activities"),
    "critical_imbalance_impact": ("intra_partition_imbalance", "inter_partition_imbalance"),
}
"""Metrics that are the sum of others."""


def laws(trace):
    """Metrics are the sums of their parts; both splits of waits for messages are these waits, on each process; nothing is negative."""
    cube = explain(search(trace)).findings.severity
    for name, parts in _PARTS.items():
        assert cube.by_node(name).tolist() == sum(cube.by_node(part) for part in parts).tolist()
    waiting = cube.by_location("mpi_latesender") + cube.by_location("mpi_latereceiver")
    for split in ("waitstates_direct_vs_indirect", "waitstates_propagating_vs_terminal"):
        assert cube.by_location(split).tolist() == waiting.tolist()
    assert all((cells.value >= 0).all() for name, cells in cube.cells.items() if name in NAMES)
    assert len({metric.name for metric in cube.metrics}) == len(cube.metrics)
    known = {"", *(metric.name for metric in cube.metrics)}
    assert all(metric.parent in known for metric in cube.metrics if metric.name in NAMES)


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_laws__catalogue(name):
    laws(build.CATALOGUE[name]())


@hypothesis.given(build.traces())
def test_laws__random(trace):
    laws(trace)


def test_steps_are_told():
    told = []
    explain(search(chain()), lambda done, of: told.append((done, of)))
    assert told == [(1, 3), (2, 3)]


def test_cells_are_exclusive():
    """Delay costs stand at f alone, not at the program around it."""
    cube = explain(search(chain())).findings.severity
    assert np.flatnonzero(cube.by_node("delay")).tolist() == [cube.tree.name.index("f")]
