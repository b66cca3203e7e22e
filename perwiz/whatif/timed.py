"""Times for a trace that has none: computation at the platform's speed, and the sweep under the model of its network for the rest."""

from __future__ import annotations

import dataclasses
import os

import numpy as np

from perwiz.clock import offsets
from perwiz.clock.regions import moved_regions
from perwiz.engines.sweep import sweep
from perwiz.errors import TraceError
from perwiz.formats.format import Progress
from perwiz.graph.build import build
from perwiz.graph.graph import Graph
from perwiz.loggps import interfaces, model_file
from perwiz.loggps.keys import POSTED, is_changes
from perwiz.loggps.model import Model
from perwiz.loggps.pairs import sent
from perwiz.loggps.weigh import CUT, lags, synchronous, vertex_times, work
from perwiz.trace.arrays import F8, I4, I8
from perwiz.trace.origin import UNTIMED, Origin
from perwiz.trace.parts.cut import before_records_end, end_early
from perwiz.trace.tables import Times
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif import stages
from perwiz.whatif.run import Start, machine_of

_LONGEST = 2.0**60
"""ns."""
TOLD = 0.01
"""Part of the messages' time on links that is worth telling."""


def read(path: str, progress: Progress | None = None, model: Start = None, whole: bool = False) -> Trace:
    """Return the trace in a file that questions are about, `up_to_records_end`; all of it if `whole`, to be corrected or written.

    It is read as `perwiz.formats.files.read` does, and one of no times has those of `timed`; raises what they do.
    """
    trace = timed(stages.read(path, progress), model)
    return trace if whole else up_to_records_end(trace)


def up_to_records_end(trace: Trace) -> Trace:
    """Return a trace with its clock offsets applied, `before_records_end`, if records of a process end early; any other as it is."""
    if not end_early(trace).any():
        return trace
    whole = offsets.apply(trace)
    part = before_records_end(whole)
    return trace if part is whole else part


def timed(trace: Trace, model: Start = None) -> Trace:
    """Return a trace with the times that its platform gives it, or else a model, by default the shipped one; any other as it is.

    Raises ModelError if the platform cannot be read, TraceError if all takes longer than can be added up.
    """
    if trace.timeline.origin != UNTIMED:
        return trace
    named = trace.model or "default"
    start = model_file.machine(named)
    if model is not None and not trace.model:
        start = start.with_changes(model) if isinstance(model, str) and is_changes(model) else machine_of(model, trace)
    model, trace = start.model, dataclasses.replace(trace, model=named)
    graph = build(trace, synchronous(trace, model), transfers=True)
    weight = _weights(trace, graph, lags(trace, graph, model), work(trace, model))
    whole = float(weight[weight != CUT].sum(dtype="f8"))
    if whole >= _LONGEST:
        told = f"{whole:.3g} ns of messages and computation on {os.path.basename(named)}"
        raise TraceError(f"{trace.path}: {told}, must be less than 2^60")
    time = sweep(graph, weight)
    calls = Times(time[graph.entered], time[graph.returned])
    locations = Times(time[graph.begun], time[graph.ended])
    shared = shared_links(trace, model, calls.enter)
    slowed = f" as if messages shared no link ({shared:.0%} of their time they do)" if shared >= TOLD else ""
    origin = Origin("predicted", f"computed on {os.path.basename(model.name if named == 'default' else named)}{slowed}")
    regions = moved_regions(trace, trace.timeline, calls, locations)
    return dataclasses.replace(trace, timeline=Timeline(calls, regions, locations, origin))


def shared_links(trace: Trace, model: Model, enter: I8) -> float:
    """Return the part of the time that messages between nodes pass links, in which others pass the same link of a node before them.

    `enter` is when calls are entered, ns. It is 0 under a model of no platform: what links there are it does not say.
    """
    if model.progress != POSTED or interfaces.shared(model) or model.topology is not None:
        return 0.0
    table, calls = trace.messages, trace.calls
    ends = [trace.locations.node[calls.location[call]] for call in (table.send, table.receive)]
    far = np.flatnonzero(ends[0] != ends[1])
    messages = sent(trace, model, far)
    start = np.maximum(enter[table.send[far]], enter[table.receive[far]]) + model.letters(messages).L
    lasts = table.bytes[far] * model.letters(messages).G
    return max((_overlap(node[far], start, start + lasts) for node in ends), default=0.0) / max(float(lasts.sum()), 1.0)


def _overlap(link: I4, start: F8, end: F8) -> float:
    """Return how long intervals overlap others of the same link that start before them."""
    order = np.lexsort((start, link))
    link, start, end = link[order], start[order], end[order]
    apart = link * (2 * end.max(initial=0.0) + 1)
    before = np.concatenate([[0.0], np.maximum.accumulate(end + apart)[:-1]]) - apart if len(link) else end
    return float(np.clip(np.minimum(before, end) - start, 0, None).sum())


def _weights(trace: Trace, graph: Graph, lag: I8, work: I8) -> I8:
    """Return the weight of every edge: from vertex to vertex of a location computation, from partners their lag and the work behind it."""
    known = vertex_times(trace.timeline, graph, lag)
    own = np.zeros(graph.edges, "i8")
    first = graph.start[np.concatenate([graph.entered, graph.returned, graph.ended])]
    own[first] = known[np.concatenate([graph.entered, graph.returned, graph.ended])] - known[graph.source[first]]
    behind = np.append(work, 0)[np.repeat(graph.returning, np.diff(graph.start))]
    return np.where(lag == CUT, CUT, lag + own + behind)
