"""Masters that keep a queue, as the engine for programs has them: pieces of work, and where each ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from perwiz.engines.rematch import DESK, PIECE, STOP
from perwiz.graph.graph import Graph
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import I4, I8, Ints
from perwiz.trace.tables import NONE
from perwiz.whatif.rematch.queues import Queue


def rows_of(kind: np.dtype[Any], count: int) -> np.ndarray[Any, Any]:
    """Return rows of a kind, every whole number NONE, times 0."""
    out = np.zeros(count, kind)
    for name in kind.names or ():
        if kind[name] == np.int32:
            out[name] = NONE
    return out


def vertex_behind(graph: Graph, first: Ints, last: I8, location: Ints) -> I4:
    """Return the vertex behind the return of each of some calls of these locations: where the next one is entered, or the process ends."""
    return np.where(last + 1 < first[location + 1], np.append(graph.entered, NONE)[last + 1], graph.ended[location])


def desks_of(weighted: Weighted, queues: tuple[Queue, ...], slot: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], I8]:
    """Return the rows of PIECE and DESK of queues, and the slot per message in which who gets it asked, from `slot` on, or NONE."""
    trace, graph = weighted.trace, weighted.graph
    slots, desks = np.full(len(trace.messages), NONE), rows_of(DESK, len(queues))
    pieces = [rows_of(PIECE, 0)]
    begin = 0
    for queue, desk in zip(queues, desks, strict=True):
        rows = rows_of(PIECE, len(queue.call) + 1)
        rest = vertex_behind(graph, trace.first_calls, queue.last[-1:], np.array([queue.master]))
        rows["first"] = np.concatenate([graph.entered[queue.call[queue.hearing]], graph.entered[queue.call[~queue.hearing]], rest])
        answers = slice(len(queue.hears), len(queue.call))
        rows["ready"][answers], rows["made"][answers], rows["heard"][answers] = queue.needs()
        asked = rows["ready"][answers]
        slots[queue.answer[asked > 0]] = slot + asked[asked > 0] - 1
        desk["ask"], desk["asks"], desk["answer"], desk["rest"] = begin + np.array([0, answers.start, answers.start, answers.stop])
        desk["slot"], desk["ready"], desk["made"], desk["heard"] = slot, 0, queue.start, 0
        pieces.append(rows)
        begin, slot = begin + len(rows), slot + int(queue.asks.sum())
    whole = np.concatenate(pieces)
    whole["own"] = weighted.weight[graph.start[whole["first"]]]
    return whole, desks, slots


def stops_of(weighted: Weighted, queues: tuple[Queue, ...], m: I8) -> np.ndarray[Any, Any]:
    """Return the rows of STOP of queues; `m` is the row of messages per row of MESSAGE, or NONE."""
    trace, graph = weighted.trace, weighted.graph
    row = np.full(len(trace.messages), NONE)
    row[m[m >= 0]] = np.flatnonzero(m >= 0)
    stops = [rows_of(STOP, 0)]
    for number, queue in enumerate(queues):
        begin = queue.call[0] == trace.first_calls[queue.master]
        before = graph.begun[queue.master] if begin else graph.returned[queue.call[0] - 1]
        rows = rows_of(STOP, len(queue.call) + 1)
        rows["vertex"], rows["desk"] = np.append(before, graph.returned[queue.last]), number
        rows["makes"] = rows["asks"] = 0
        hears = 1 + np.flatnonzero(queue.hearing)
        rows["message"][hears], rows["makes"][hears], rows["asks"][hears] = row[queue.hears], queue.makes, queue.asks
        stops.append(rows)
    whole = np.concatenate(stops)
    return whole[np.argsort(whole["vertex"], kind="stable")]
