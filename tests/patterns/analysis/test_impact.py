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


def ended_late(*finalize):
    """Rank 1 computes for 9 and the others less, until MPI_Finalize, where they wait for it and stay longer; the path is 9 long."""
    b = Builder(len(finalize))
    for rank, (enter, _) in enumerate(finalize):
        b.compute(rank, enter)
    b.everyone("Finalize", at=finalize)
    return explain(search(b.trace())).findings.severity


def test_rank_that_is_longer_busy_than_the_path():
    """Rank 0 is busy for 4 and for 7 in MPI_Finalize, 2 longer than the path: so much less is lost. Rank 2 is for 3 + 1, lost are 5.

    Then rank 0 is longer busy by 7, rank 2 loses 5: together they lose nothing.
    """
    cube = ended_late((4000, 16_000), (9000, 10_000), (3000, 10_000))
    assert by_name(cube, "critical_imbalance_impact") == {("program", 1): 3000}
    assert by_name(ended_late((4000, 21_000), (9000, 10_000), (3000, 10_000)), "critical_imbalance_impact") == {}


def test_partitions():
    """The path is in h for 1 and in f for 6 on rank 0, then in g for 3 on rank 1; 0 never enters g, 1 never f, 2 both.

    Rank 0 does all else that the path does and loses 3 to g. Rank 1 has 0.5 of h and 4 of g, so it is short of 5.5, by 0.5 in h and 6 in
    f; had it done 1 of h it would be short of 5, all of it in f. Rank 2 is short of 5.5: 0.5 in h, 4 in f, 1 in g.
    """
    b = Builder(3)
    steps = {0: [("h", 1000), ("f", 6000)], 1: [("h", 500), ("g", 1000)], 2: [("h", 500), ("f", 2000), ("g", 2000)]}
    for rank, times in steps.items():
        for name, time in times:
            with b.region(rank, name):
                b.compute(rank, time)
    b.send(0, 1, at=(7000, 7000))
    b.recv(1, 0, at=(1500, 7000))
    with b.region(1, "g"):
        b.compute(1, 3000)
    cube = explain(search(b.trace())).findings.severity
    assert by_name(cube, "critical_path") == {("h", 0): 1000, ("f", 0): 6000, ("g", 1): 3000}
    assert by_name(cube, "inter_partition_imbalance") == {("f", 0): 5000, ("g", 1): 3000}
    lost = {("h", 0): 500 + round(500 * 5500 / 6500), ("f", 0): 4000 + round(6000 * 5500 / 6500), ("g", 1): 1000 + 3000}
    assert by_name(cube, "critical_imbalance_impact") == lost
    assert by_name(cube, "intra_partition_imbalance") == {**lost, ("f", 0): lost["f", 0] - 5000, ("g", 1): 1000}


def test_path_begins_where_init_is_entered():
    """What comes before MPI_Init is time of the process, and not on the path."""
    b = Builder(1)
    b.compute(0, 2000)
    b.call(0, "Init", at=(2000, 5000))
    b.compute(0, 1000)
    cube = explain(search(b.trace())).findings.severity
    assert by_name(cube, "critical_path") == {("MPI_Init", 0): 3000, ("program", 0): 1000}
    assert by_name(cube, "critical_path_activities") == {("MPI_Init", 0): 3000, ("program", 0): 1000}
    assert by_name(cube, "non_critical_path_activities") == {("program", 0): 2000}
