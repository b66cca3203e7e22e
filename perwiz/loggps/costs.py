"""How fast the weights of a run grow with one parameter of its model: `weigh.reweigh` before anything is rounded.

Every cost of the model is a sum of parameters, each times a whole number: how often it is paid. So a weight is a line in each parameter.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from perwiz.graph.graph import GAP
from perwiz.loggps.weigh import CUT, Weighted, lags, synchronous, work
from perwiz.trace.arrays import F8, I8
from perwiz.trace.tables import NONE


def rest(weighted: Weighted, lag: I8) -> I8:
    """Return the work of every call behind its waits, int64 ns, in an unchanged run; `lag` is what `weigh.lags` gives."""
    local = weighted.graph.start[weighted.graph.returned]
    times = weighted.timeline.calls
    return weighted.weight[local] - np.minimum(lag[local], times.leave - times.enter)


def slopes(weighted: Weighted, letter: str) -> F8:
    """Return the ns by which each weight of an unchanged run grows per unit of a parameter (L, o, g, G or O), float64 per edge.

    What the model explains of a lag or of work grows in proportion to the model's cost, as in `weigh.reweigh`; where that is 0, by
    the whole of it. Edges that bind nobody do not grow. Thresholds stay, so no message changes its protocol.
    """
    trace, graph, model = weighted.trace, weighted.graph, weighted.model
    single: dict[str, Any] = {**dict.fromkeys("LogGO", 0.0), letter: 1.0}
    unit = dataclasses.replace(model, **single)
    waits, size = synchronous(trace.messages, model), trace.messages.bytes
    lag, count = lags(trace, graph, model), lags(trace, graph, unit)
    left, explained = rest(weighted, lag), work(trace, model, size, waits)
    growth = _share(np.minimum(left, explained), explained) * work(trace, unit, size, waits)
    owner = np.repeat(graph.returning, np.diff(graph.start))
    edge = np.flatnonzero((owner != NONE) & (weighted.weight != CUT))
    returning, gap = owner[edge], graph.kind[edge] == GAP
    measured_lag = weighted.weight[edge] - np.where(gap, 0, left[returning])
    out = np.zeros(graph.edges)
    out[edge] = _share(np.maximum(measured_lag, 0), lag[edge]) * count[edge] + np.where(gap, 0, growth[returning])
    return out


def _share(part: I8, whole: I8) -> F8:
    """Return part of whole, 1 where the whole is 0."""
    return np.asarray(np.where(whole > 0, part / np.maximum(whole, 1), 1.0))
