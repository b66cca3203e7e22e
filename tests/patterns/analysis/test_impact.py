"""The critical path of the recorded run: oracle 9 of the definitions, its twin, and what imbalance on it costs."""

import numpy as np

from build import Builder
from naive_delays import chain
from perwiz.patterns.analysis.causes import explain
from perwiz.patterns.search import search


def by_name(cube, metric):
    """Return {(name of the call path, location): ns} of what is not 0."""
    cells = cube.cells[metric]
    places = zip(*np.nonzero(cells.value), strict=True)
    return {(cube.tree.name[cells.node[row]], int(x)): int(cells.value[row, x]) for row, x in places}


def test_oracle_9():
    """f on rank 0 for 6, g on rank 1 for 1; length 7. Ranks 1 and 2 both end at 7; the path ends on the first of them."""
    explained = explain(search(chain()))
    assert by_name(explained.findings.severity, "critical_path") == {("f", 0): 6000, ("g", 1): 1000}
    assert (explained.impact.length, explained.impact.changes) == (7000, 1)


def test_impact_of_oracle_9():
    """Busy: f 6, 2, 2; g 0, 1, 1. The path has 6 in f, the mean is 10/3; in g 1 and 2/3. Three processes for 7 are 21: 12 busy, none
    above the path, 9 lost: rank 0 falls 1 behind, only in g, which it never enters; ranks 1 and 2 fall 4 behind in f.
    """
    cube = explain(search(chain())).findings.severity
    assert by_name(cube, "critical_path_imbalance") == {("f", 0): 2667, ("g", 1): 333}
    assert by_name(cube, "critical_path_activities") == {
        ("f", 0): 6000,
        ("f", 1): 2000,
        ("f", 2): 2000,
        ("g", 1): 1000,
        ("g", 2): 1000,
    }
    assert by_name(cube, "critical_imbalance_impact") == {("f", 0): 8000, ("g", 1): 1000}
    assert by_name(cube, "inter_partition_imbalance") == {("g", 1): 1000}
    assert by_name(cube, "intra_partition_imbalance") == {("f", 0): 8000}
    assert (cube.total("non_critical_path_activities"), cube.total("performance_impact")) == (0, 21_000)


def test_path_ends_where_finalize_is_entered_last():
    """Rank 1 enters MPI_Finalize at 9 after rank 0 at 4; what both do in it is not on the path."""
    b = Builder(2)
    b.compute(0, 4000)
    b.compute(1, 9000)
    b.everyone("Finalize", at=[(4000, 12_000), (9000, 10_000)])
    explained = explain(search(b.trace()))
    assert by_name(explained.findings.severity, "critical_path") == {("program", 1): 9000}
