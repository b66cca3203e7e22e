"""From a trace and hypotheses to a prediction: build, weigh, replay unchanged, change, replay again."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from perwiz.clock.condition import Violations, violations
from perwiz.engines.replay import replay
from perwiz.engines.sweep import sweep
from perwiz.errors import ClockError, UsageError
from perwiz.graph.build import build
from perwiz.graph.graph import Graph
from perwiz.kernels import sweep as reading
from perwiz.loggps import model as models
from perwiz.loggps.model import Model
from perwiz.loggps.weigh import Misfit, Weighted, synchronous, timeline_of, weigh
from perwiz.trace import ops
from perwiz.trace.tables import Timeline, Trace
from perwiz.whatif.hypotheses import Hypothesis, Network, ZeroWait, selectors

Ints = NDArray[np.int64]
ENGINES = {"sweep": sweep, "replay": replay}


@dataclasses.dataclass(frozen=True, eq=False)
class Waits:
    """How long each call waits for its partners in one run."""

    time: Ints
    """ns per call."""
    partner: NDArray[np.int32]
    """Call that is waited for, -1 if none or in a collective before its last member is known."""


@dataclasses.dataclass(frozen=True, eq=False)
class Prediction:
    """A predicted run beside the recorded one."""

    trace: Trace
    model: Model
    hypotheses: tuple[Hypothesis, ...]
    engine: str
    recorded: Timeline
    predicted: Timeline
    replay_error: int
    """Largest distance, ns, of the replayed unchanged run from the recording, over all calls."""
    waits_before: Waits
    waits_after: Waits
    zeroed: Ints
    """Calls whose wait was zeroed."""
    misfit: Misfit
    violations: Violations
    contradictions: int
    """Edges left out because they would close a cycle."""
    not_modelled: float
    """Share of the processes' time spent in communication calls whose partners the trace does not tell."""

    @property
    def gain(self) -> int:
        """Recorded minus predicted makespan, ns."""
        return self.recorded.makespan - self.predicted.makespan


def weighted_graph(trace: Trace, model: Model, clock: str = "clc", networks: Sequence[Model] = ()) -> Weighted:
    """Return the graph of a trace weighted under a model, with the rendezvous edges that it or one of `networks` needs.

    Raises ClockError if the trace breaks the clock condition and `clock` is not "none".
    """
    found = violations(trace, trace.timeline)
    if found and clock != "none":
        raise ClockError(_violation_text(trace, found))
    waits = synchronous(trace.messages, model)
    gaps = model.gap != "none"
    for network in networks:
        waits = waits | synchronous(trace.messages, network)
        gaps |= network.gap != "none"
    graph = build(trace, waits, gaps, model.progress)
    return weigh(trace, trace.timeline, graph, model)


def _violation_text(trace: Trace, found: Violations) -> str:
    parts = []
    if found.messages:
        parts.append(f"{found.messages} of {len(trace.messages)} messages are received before they are sent (worst {found.worst_message / 1e6:.3f} ms)")
    if found.collective_calls:
        parts.append(f"{found.collective_calls} calls leave a collective before its last member enters (worst {found.worst_collective / 1e6:.3f} ms)")
    return f"{trace.path}: {' and '.join(parts)}; its clocks must agree, or --clock none must say to take them as they are"


def predict(
    trace: Trace, hypotheses: Sequence[Hypothesis] = (), model: Model | str | None = None, engine: str = "sweep", clock: str = "clc"
) -> Prediction:
    """Return the run that a trace would become under hypotheses, all times int64 ns.

    `model` is a Model, a shipped name or a file (default: "default"); `engine` sweep or replay; `clock` "none" takes timestamps that
    break the clock condition as they are. Hypotheses are applied network and messages first, then computation, then single calls.
    Raises UsageError, ModelError, ClockError.
    """
    if engine not in ENGINES:
        raise UsageError(f"engine '{engine}': must be one of {', '.join(ENGINES)}")
    if not isinstance(model, Model):
        model = models.load(model or "default")
    run = ENGINES[engine]
    networks = [h.model(model) for h in hypotheses if isinstance(h, Network)]
    base = weighted_graph(trace, model, clock, networks)
    changed = base
    for hypothesis in sorted(hypotheses, key=lambda h: h.stage):
        changed = hypothesis.apply(changed)
    before = run(base.graph, base.weight)
    after = run(base.graph, changed.weight) if hypotheses else before
    made_by = "predicted under " + "; ".join(map(str, hypotheses)) if hypotheses else "replayed unchanged"
    waits = waiting(base, before)
    return Prediction(
        *(trace, model, tuple(hypotheses), engine, trace.timeline, timeline_of(changed, after, made_by)),
        replay_error=_distance(timeline_of(base, before, made_by), trace.timeline),
        waits_before=waits,
        waits_after=waiting(changed, after),
        zeroed=_zeroed(trace, hypotheses),
        misfit=base.misfit,
        violations=violations(trace, trace.timeline),
        contradictions=base.graph.contradictions,
        not_modelled=_not_modelled(trace, base.graph),
    )


def _distance(one: Timeline, other: Timeline) -> int:
    return max(int(np.abs(getattr(one.calls, side) - getattr(other.calls, side)).max(initial=0)) for side in ("enter", "leave"))


def waiting(weighted: Weighted, time: Ints) -> Waits:
    """Return how long each call waits for its partners when vertices have these times, and for which call."""
    graph = weighted.graph
    wait = np.empty(len(graph.returned), "i8")
    edge = np.empty(len(graph.returned), "i4")
    reading.waits(graph.start, graph.source, graph.kind, weighted.weight, time, graph.returned, wait, edge)
    return Waits(wait, _partner(graph, time, edge))


def _partner(graph: Graph, time: Ints, edge: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the call behind each edge; behind a hub, the one that entered last."""
    owner = np.full(graph.vertices, -1, "i4")
    owner[graph.entered] = np.arange(len(graph.entered))
    waits = np.flatnonzero(edge >= 0)
    source = graph.source[edge[waits]]
    for _ in range(64):
        hub = np.flatnonzero((owner[source] < 0) & (source > 0))
        if not len(hub):
            break
        source[hub] = _latest_source(graph, time, source[hub])
    out = np.full(len(edge), -1, "i4")
    out[waits] = owner[source]
    return out


def _latest_source(graph: Graph, time: Ints, vertex: NDArray[np.int32]) -> NDArray[np.int32]:
    unique, back = np.unique(vertex, return_inverse=True)
    first, count = graph.start[unique], graph.start[unique + 1] - graph.start[unique]
    edge = np.repeat(first - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
    group = np.repeat(np.arange(len(unique)), count)
    order = np.lexsort((time[graph.source[edge]], group))
    last = order[np.cumsum(count) - 1]
    return graph.source[edge[last]][back]


def _zeroed(trace: Trace, hypotheses: Sequence[Hypothesis]) -> Ints:
    mask = np.zeros(len(trace.calls), bool)
    for hypothesis in hypotheses:
        if isinstance(hypothesis, ZeroWait):
            mask |= selectors.calls(trace, hypothesis.argument)
    return np.flatnonzero(mask)


def _not_modelled(trace: Trace, graph: Graph) -> float:
    """Return the share of all locations' time in communication calls that no message and no tied collective explains."""
    kind = ops.KIND[trace.calls.op]
    lost = ((kind >= ops.SEND) & (kind <= ops.TEST)) | ops.COLLECTIVE[trace.calls.op]
    table, tied = trace.messages, _tied(trace)
    for call in (table.send, table.send_done[table.send_done >= 0], table.receive, table.receive_done, trace.members.call[tied]):
        lost[call] = False
    done = trace.members.done[tied]
    lost[done[done >= 0]] = False
    times = trace.timeline.calls
    total = int((trace.timeline.locations.leave - trace.timeline.locations.enter).sum())
    return int((times.leave - times.enter)[lost].sum()) / total if total else 0.0


def _tied(trace: Trace) -> NDArray[np.bool_]:
    kinds = ops.KIND[trace.collectives.op]
    rooted = (kinds == ops.ONE_TO_N) | (kinds == ops.N_TO_ONE)
    return np.asarray((~rooted | (trace.collectives.root >= 0))[trace.members.collective])
