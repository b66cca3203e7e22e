"""How fast the weights of a run grow with one parameter of its model: `weigh.reweigh` before anything is rounded.

Every cost of the model is a sum of parameters, each times a whole number: how often it is paid. So a weight is a line in each parameter.
Where classes of pairs, sizes or ends differ in a parameter, its value is the largest of theirs, and the others grow in proportion.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from perwiz.graph.graph import EJECTION, GAP, INJECTION, QUEUE
from perwiz.kernels import weigh as kernel
from perwiz.loggps.keys import BOTH_ENDS, LETTERS
from perwiz.loggps.model import Costs, Model
from perwiz.loggps.pairs import classes
from perwiz.loggps.weigh import CUT, Weighted, lags, work
from perwiz.trace.arrays import F8, I8, chunks
from perwiz.trace.tables import NONE

_WHOLE = 2.0**16
"""What a parameter is set to for its counts: an acknowledgement may take half an overhead, a collective any part of its rounds."""


def rest(weighted: Weighted, lag: I8) -> I8:
    """Return the work of every call behind its waits, int64 ns, in an unchanged run; `lag` is what `weigh.lags` gives."""
    graph, times = weighted.graph, weighted.timeline.calls
    out = np.empty(len(times), "i8")
    kernel.rest(graph.start, graph.returning, weighted.weight, lag, times.enter, times.leave, out)
    return out


def recorded(weighted: Weighted, key: str) -> float:
    """Return the value of a parameter, a key of costs or of both ends, or `CLASS:KEY`: the largest that any pair of the trace has."""
    pairs, letters = _meant(key)
    model = weighted.model
    asked = [pairs] if pairs or len(model.costs) == 1 else classes(weighted.trace) or [""]
    return max(getattr(row, letter) for name in asked for row in model.rows_of(name) for letter in letters)


def slopes(weighted: Weighted, key: str) -> F8:
    """Return the ns by which each weight of an unchanged run grows per unit of a parameter, named as in `recorded`, float64 per edge.

    What the model explains of a lag or of work grows in proportion to the model's cost, as in `weigh.reweigh`; where that is 0, by
    the whole of it. Edges that bind nobody do not grow. Thresholds stay, so no message changes its protocol.
    """
    trace, graph, model = weighted.trace, weighted.graph, weighted.model
    units = list(_units(weighted, key))

    def counted(cost: Callable[[Model], I8], size: int) -> F8:
        out = np.zeros(size)
        for share, unit in units:
            paid = cost(unit)
            for some in chunks(size):
                out[some] += share * paid[some]
        return out

    out, growth = counted(lambda unit: lags(trace, graph, unit), graph.edges), _growth(weighted, counted)
    lag = lags(trace, graph, model)
    left, explained = rest(weighted, lag), work(trace, model)
    growth *= _share(np.minimum(left, explained), explained)
    del explained
    for some in chunks(graph.vertices):
        first = graph.start[some.start : some.stop + 1]
        edges = slice(int(first[0]), int(first[-1]))
        owner, weight, kind = np.repeat(graph.returning[some], np.diff(first)), weighted.weight[edges], graph.kind[edges]
        grows, count = np.zeros(len(weight)), out[edges]
        edge = np.flatnonzero((owner != NONE) & (weight != CUT))
        returning, gap = owner[edge], kind[edge] == GAP
        measured_lag = weight[edge] - np.where(gap, 0, left[returning])
        share = np.where(np.isin(kind[edge], (INJECTION, EJECTION)), 1, _share(np.maximum(measured_lag, 0), lag[edges][edge]))
        grows[edge] = share * count[edge] + np.where(gap, 0, growth[returning])
        edge = np.flatnonzero((owner == NONE) & np.isin(kind, (INJECTION, EJECTION, QUEUE)) & (weight != CUT))
        grows[edge] = count[edge]
        out[edges] = grows
    return out


def _growth(weighted: Weighted, counted: Callable[[Callable[[Model], I8], int], F8]) -> F8:
    """Return the ns by which the work of each call that the model explains grows per unit, given what counts that in a cost."""
    trace, model = weighted.trace, weighted.model
    stays = work(trace, model, network=dataclasses.replace(model, costs=tuple(row.times(0.0) for row in model.costs)))
    return counted(lambda unit: work(trace, model, network=unit) - stays, len(trace.calls))


def _meant(key: str) -> tuple[str, list[str]]:
    """Return the class of pairs and the letters that a key stands for."""
    pairs, _, own = key.rpartition(":")
    return pairs, [LETTERS[end] for end in BOTH_ENDS.get(own, (own,))]


def _units(weighted: Weighted, key: str) -> Iterator[tuple[float, Model]]:
    """Yield models in which only a parameter costs anything, one per value that it has, and what each adds per unit."""
    pairs, letters = _meant(key)
    model, largest = weighted.model, recorded(weighted, key)
    rows = [row for row in model.costs if row.pairs != pairs] + [dataclasses.replace(row, pairs=pairs) for row in model.rows_of(pairs)]

    def only(row: Costs, value: float) -> Costs:
        paid: dict[str, Any] = {letter: _WHOLE for letter in letters if pairs in ("", row.pairs) and getattr(row, letter) == value}
        return dataclasses.replace(row.times(0.0), **paid)

    for value in sorted({getattr(row, letter) for row in rows for letter in letters if pairs in ("", row.pairs)}):
        if share := value / largest if largest else 1.0:
            yield share / _WHOLE, dataclasses.replace(model, costs=tuple(only(row, value) for row in rows))


def _share(part: I8, whole: I8) -> F8:
    """Return part of whole, 1 where the whole is 0."""
    return np.asarray(np.where(whole > 0, part / np.maximum(whole, 1), 1.0))
