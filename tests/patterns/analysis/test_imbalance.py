"""Computational imbalance by hand: distances from the mean, and who never takes part."""

import numpy as np

from perwiz.patterns.analysis import impact


def totals(computation, visited):
    found = impact.imbalance_metrics(np.array([computation], "i8"), np.array([visited], bool))
    return {
        name.removeprefix("imbalance_"): cells.value.tolist()[0] if len(cells.node) else [0] * len(visited) for name, cells in found.items()
    }


def test_all_take_part():
    """2, 4 and 9: the mean is 5; rank 2 is 4 above it, the others 3 and 1 below."""
    assert totals([2, 4, 9], [1, 1, 1]) == {
        "imbalance": [3, 1, 4],
        "above": [0, 0, 4],
        "above_single": [0, 0, 0],
        "below": [3, 1, 0],
        "below_bypass": [0, 0, 0],
        "below_singularity": [0, 0, 0],
    }


def test_one_stays_away():
    """3 and 3, rank 2 never there: the mean is 2."""
    found = totals([3, 3, 0], [1, 1, 0])
    assert (found["above"], found["below"], found["below_bypass"]) == ([1, 1, 0], [0, 0, 2], [0, 0, 2])
    assert found["above_single"] == found["below_singularity"] == [0, 0, 0]


def test_only_one_takes_part():
    """6 on rank 0 alone: 4 above the mean as a single participant; the others do not take part in what only one does."""
    found = totals([6, 0, 0], [1, 0, 0])
    assert (found["above_single"], found["below_singularity"]) == ([4, 0, 0], [0, 2, 2])


def test_nothing():
    assert not any(len(cells.node) for cells in impact.imbalance_metrics(np.zeros((2, 0), "i8"), np.zeros((2, 0), bool)).values())
