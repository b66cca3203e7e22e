"""Times for a trace that has none: computation at the platform's speed, and the sweep under the model of its network for the rest."""

from __future__ import annotations

import dataclasses
import os

import numpy as np

from perwiz.engines.sweep import sweep
from perwiz.formats import files
from perwiz.formats.format import Progress
from perwiz.graph.build import build
from perwiz.graph.graph import GAP, Graph
from perwiz.loggps import model_file
from perwiz.loggps.weigh import CUT, lags, synchronous, vertex_times, work
from perwiz.trace.arrays import I8
from perwiz.trace.origin import UNTIMED, Origin
from perwiz.trace.tables import Times
from perwiz.trace.trace import Timeline, Trace


def read(path: str, progress: Progress | None = None) -> Trace:
    """Return the trace in a file, as `perwiz.formats.files.read` does; one of no times has those of `timed`."""
    return timed(files.read(path, progress))


def timed(trace: Trace) -> Trace:
    """Return a trace with the times that its platform gives it; any other as it is.

    Raises ModelError if the platform cannot be read, or a message takes longer than can be added up.
    """
    if trace.timeline.origin != UNTIMED:
        return trace
    model = model_file.load(trace.model)
    graph = build(trace, synchronous(trace, model), model.gap != "none", model.progress)
    time = sweep(graph, _weights(trace, graph, lags(trace, graph, model), work(trace, model)))
    calls = Times(time[graph.entered], time[graph.returned])
    locations = Times(time[graph.begun], time[graph.ended])
    origin = Origin("predicted", f"computed on {os.path.basename(trace.model)}")
    return dataclasses.replace(trace, timeline=Timeline(calls, trace.timeline.regions, locations, origin))


def _weights(trace: Trace, graph: Graph, lag: I8, work: I8) -> I8:
    """Return the weight of every edge: from vertex to vertex of a location computation, from partners their lag and the work behind it."""
    known = vertex_times(trace, trace.timeline, graph)
    own = np.zeros(graph.edges, "i8")
    first = graph.start[np.concatenate([graph.entered, graph.returned, graph.ended])]
    own[first] = known[np.concatenate([graph.entered, graph.returned, graph.ended])] - known[graph.source[first]]
    behind = np.append(work, 0)[np.repeat(graph.returning, np.diff(graph.start))]
    behind[graph.kind == GAP] = 0
    return np.where(lag == CUT, CUT, lag + own + behind)
