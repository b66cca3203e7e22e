"""Computational imbalance, without looking at who waits for whom: how far each process is from the mean, per call path (Scalasca)."""

from __future__ import annotations

import numpy as np

from perwiz.patterns.analysis.delays import dense
from perwiz.patterns.severity import Cells
from perwiz.trace.arrays import Ints, Mask


def metrics(computation: Ints, visited: Mask) -> dict[str, Cells]:
    """Return the metrics of imbalance, ns, each containing those below it, from computation and visits by (node, location).

    Above the mean: overload, of a single participant if nobody else visits the call path. Below: underload; of those who never visit it
    non-participation, and singularity if only one process does.
    """
    away = computation - computation.mean(axis=1, keepdims=True) if computation.size else computation.astype("f8")
    above, below = np.maximum(away, 0), np.maximum(-away, 0)
    alone = visited.sum(axis=1, keepdims=True) == 1
    bypassed = np.where(visited, 0, below)
    return {
        "imbalance": dense(above + below),
        "imbalance_above": dense(above),
        "imbalance_above_single": dense(np.where(alone & visited, above, 0)),
        "imbalance_below": dense(below),
        "imbalance_below_bypass": dense(bypassed),
        "imbalance_below_singularity": dense(np.where(alone, bypassed, 0)),
    }
