"""A run that questions start from, and what hypotheses make of it: consistent clocks, the weighted graph, and its sweep."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from perwiz import words
from perwiz.clock import offsets
from perwiz.clock.treatment import Treated, treat
from perwiz.engines.replay import replay
from perwiz.engines.sweep import makespan, sweep
from perwiz.errors import NotInWindowsError, TraceError, UsageError
from perwiz.graph.build import BLOCKING_PROBES, build
from perwiz.graph.graph import RENDEZVOUS, Graph, calls_at, hubs
from perwiz.loggps import interfaces, model_file
from perwiz.loggps.inner import inner_waits, with_awaited
from perwiz.loggps.keys import POSTED, changed_pairs, is_changes
from perwiz.loggps.machine import Machine
from perwiz.loggps.model import Model
from perwiz.loggps.pairs import check_classes
from perwiz.loggps.progress import movers, moving
from perwiz.loggps.weigh import Weighted, holding, location_times, timeline_of, weigh
from perwiz.trace.arrays import I4, I8, Ints, Mask, chunks
from perwiz.trace.numbers import distinct
from perwiz.trace.origin import Origin
from perwiz.trace.parts.iterations import find
from perwiz.trace.resources import EDGES_OF_CALL, give_back, graphs_at_once, remembered
from perwiz.trace.spread.part import with_calls
from perwiz.trace.spread.share import Part, Share
from perwiz.trace.tables import NONE
from perwiz.trace.tied import tied_part
from perwiz.trace.trace import Timeline, Trace
from perwiz.trace.windows.window import Window
from perwiz.whatif import rounds
from perwiz.whatif.health import Health, health
from perwiz.whatif.hypotheses.base import Asked, Hypothesis, change, in_order, parse_all
from perwiz.whatif.hypotheses.placement import where_recorded
from perwiz.whatif.order.reorder import Reordered
from perwiz.whatif.waits import Waits, recorded_waits, waiting

ENGINES = {"sweep": sweep, "replay": replay}
Start = Machine | Model | str | None
"""What a question starts from: a machine, a model, its name or file, changes of the fit such as `S_bytes=4040`, or None, the fit alone."""
GAPS = 0.1
"""Part of the gaps of a model that a recording may contradict."""
_CALL = 2**32 - 1
"""What of a message and a call, as one number, is the call."""
_MOST = 2**60
"""ns that all locations may take together, and bytes of all messages: sums of them are whole numbers of 64 bits."""


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """A run, weighted under a model and swept: the recorded one, or what hypotheses make of it; all times int64 ns."""

    clocks: Treated
    machine: Machine
    """What the question started from: its model split the recording."""
    weighted: Weighted
    swept: I8
    """When vertices are, by position: all, or if it is `as_recorded` hubs alone."""
    waits: Waits
    """Of the recorded calls, in their order."""
    origin: Origin
    as_recorded: bool
    """Whether calls and locations have the times of the trace."""

    def __repr__(self) -> str:
        return f"<Run of {self.trace.path}: {self.makespan} ns under model {self.weighted.model.name}>"

    @property
    def trace(self) -> Trace:
        """The tied part of the trace, its clocks made consistent, its calls in the order of the run."""
        return self.weighted.trace

    @property
    def graph(self) -> Graph:
        """The happened-before graph."""
        return self.weighted.graph

    @property
    def time(self) -> I8:
        """When each vertex is, by position: made anew each time of what is as recorded."""
        if not self.as_recorded:
            return self.swept
        out = location_times(self.trace.timeline, self.graph)
        out[hubs(self.graph)] = self.swept
        return out

    def left(self, calls: I8) -> I8:
        """Return when some calls are left, ns, given their rows in the order of the run."""
        return self.trace.timeline.calls.leave[calls] if self.as_recorded else self.swept[self.graph.returned[calls]]

    @property
    def makespan(self) -> int:
        """From the first instant of any process to the last of any, ns."""
        return self.trace.timeline.makespan if self.as_recorded else makespan(self.graph, self.swept, self.trace.share)

    @property
    def replay_error(self) -> int:
        """Largest distance, ns, of the run from the timeline of its trace, over all calls."""
        return replay_error(self)

    @property
    def order(self) -> Reordered | None:
        """The program in the order of calls that this run has; None if it is the recorded one."""
        return self.weighted if isinstance(self.weighted, Reordered) else None

    def recorded_rows(self) -> Timeline:
        """Return when it happens, with the rows of the recorded trace."""
        timeline = timeline_of(self.weighted, self.time, self.origin)
        return timeline if self.order is None else self.order.as_recorded(timeline)

    def health(self) -> Health:
        """Return what is missing in the trace."""
        return health(self.trace, self.graph.contradictions, self.clocks)


@remembered(2)
def replay_error(run: Run) -> int:
    """Return the largest distance, ns, of a run from the timeline of its trace, over all calls."""
    if run.as_recorded:
        return 0
    graph, recorded, own = run.graph, run.trace.timeline.calls, run.trace.share.calls
    sides = ((graph.entered, recorded.enter), (graph.returned, recorded.leave))
    return run.trace.share.most(max(int(np.abs(run.time[vertex[own]] - times[own]).max(initial=0)) for vertex, times in sides))


@remembered(2)
def in_rounds(run: Run) -> Run:
    """Return the run of which questions on its network are asked: with rounds in place of hubs of collectives whose messages share links or
    interfaces, and with the waits of these; the same where none do. Found once, and nobody may take over its weights.
    """
    weighted = rounds.in_rounds(run.weighted)
    return run if weighted is run.weighted else run_of(run.clocks, run.machine, weighted, run.origin)


@dataclasses.dataclass(frozen=True, eq=False)
class Known:
    """What is known of a trace since an earlier question, and for which one."""

    clock: str
    model: Start
    """What the machine was fitted with: None, or changes."""
    recorded: Callable[[], Run]
    """Returns the recorded run, the same each time: nobody may take over its weights."""
    run: Callable[[], Run]
    """Returns it with weights of its own."""


@remembered(4)
def known(trace: Trace) -> Known | None:
    """Return what is known of a trace: nothing, unless somebody tells it (`perwiz.whatif.stages`)."""
    return None


def replayed(
    trace: Trace,
    model: Start = None,
    clock: str = "clc",
    hypotheses: Asked = (),
    engine: str = "sweep",
    also: Callable[[Trace, Machine], I8] | None = None,
) -> Run:
    """Return the run of the tied part of a trace, replayed unchanged, with the rendezvous edges that one of the hypotheses would need.

    `also` is as in `starting`. Raises UsageError for an unknown engine, and as that.
    """
    return recorded(starting(trace, model, clock, hypotheses, also), check_engine(engine))


def iterating(trace: Trace, model: Start = None, clock: str = "clc", also: Callable[[Trace, Machine], I8] | None = None) -> Run:
    """Return what `replayed` does, of a run whose iterations will be asked for: they are remembered, and found before it is held if it is
    large, as that takes as much memory.
    """
    basis = starting(trace, model, clock, also=also)
    treated, again = basis.clocks.trace, known(trace) is not None
    tasks = lambda: None if again else find(treated), lambda: recorded(basis)
    return graphs_at_once(tasks, EDGES_OF_CALL * len(treated.calls))[1]


@dataclasses.dataclass(frozen=True, eq=False)
class Basis:
    """What a recorded run is made of, as questions need it."""

    recording: Trace
    """As it was read."""
    clock: str
    """How its clocks are treated."""
    clocks: Treated
    machine: Machine
    hypotheses: tuple[Hypothesis, ...]


def starting(
    trace: Trace, model: Start = None, clock: str = "clc", hypotheses: Asked = (), also: Callable[[Trace, Machine], I8] | None = None
) -> Basis:
    """Return what the run is made of that hypotheses are asked about: the tied part of a trace with its clocks treated, and a machine.

    `also` tells, of a part of a run whose clocks are treated, and a machine, which calls of other processes are to be known in it, by
    their numbers.
    Raises UsageError for an unknown hypothesis or clock, ModelError, ClockError.
    """
    asked, machine = parse_all(hypotheses, trace), machine_of(model, trace)
    for hypothesis in asked:
        machine = hypothesis.starting(machine)
    machine = where_recorded(machine, trace)
    clocks = treated(trace, clock)
    if also is not None and isinstance(clocks.trace.share, Part):
        clocks = dataclasses.replace(clocks, trace=with_calls(clocks.trace, also(clocks.trace, machine)))
    return Basis(trace, clock, _with_awaited(clocks, machine, asked), machine, asked)


def recorded(basis: Basis, engine: str = "sweep") -> Run:
    """Return the run of a basis, replayed unchanged: that which is known since an earlier question, if it is the same."""
    before, machine, clocks = known(basis.recording), basis.machine, basis.clocks
    same = before and before.clock == basis.clock and engine == "sweep" and before.recorded().machine == machine
    if before and same and fits(before.recorded(), basis.hypotheses):
        return before.run()
    return replay_of(clocks, graph_of(clocks.trace, machine.model, basis.hypotheses), machine, engine)


def _with_awaited(clocks: Treated, machine: Machine, hypotheses: Sequence[Hypothesis]) -> Treated:
    """Return what each process has with all calls of others that the graph has an edge from. Raises UsageError for what is asked of one."""
    trace = clocks.trace
    if not isinstance(trace.share, Part | Window):
        return clocks
    for model, _ in _networks(trace, machine.model, hypotheses):
        _check_together(trace, model)
    if isinstance(trace.share, Window):
        _check_probes(trace)
        return clocks
    return dataclasses.replace(clocks, trace=with_moved(with_awaited(trace, machine.model), machine.model, hypotheses))


def _check_together(trace: Trace, model: Model) -> None:
    """Raise UsageError for a model under which a part of a run, or a window of it, is not asked about."""
    asked = {f"progress={model.progress}": model.progress == POSTED, "interfaces": interfaces.shared(model), "topology": model.topology}
    alone, error = "by several processes together, must be by one (without mpiexec)", UsageError
    if isinstance(trace.share, Window):
        asked |= {"progress=in calls": model.progress == "in calls"}
        alone, error = "in windows of a run, must be where all of it can be held", NotInWindowsError
    what = next((what for what, given in asked.items() if given), None)
    if what:
        raise error(f"model {model.name}: {what} is not asked about {alone}")


def _networks(trace: Trace, model: Model, hypotheses: Sequence[Hypothesis]) -> list[tuple[Model, I8]]:
    """Return the network of a model and what hypotheses make of it one after the other, with the sizes of messages."""
    out = [(model, trace.messages.bytes)]
    for hypothesis in in_order(hypotheses):
        network, size = hypothesis.protocol(trace, *out[-1])
        if network is not out[-1][0] or size is not out[-1][1]:
            out.append((network, size))
    return out


def with_moved(trace: Trace, model: Model, hypotheses: Sequence[Hypothesis]) -> Trace:
    """Return a trace that has a row for each call that lets messages move under a model, and on what hypotheses make of its network, one
    after the other and each alone.
    """
    alone = [network for one in hypotheses for network in _networks(trace, model, [one])[1:]]
    (_, own), *others = [*_networks(trace, model, hypotheses), *alone]
    asked = [moving(trace, network, model, None if size is own else size) for network, size in others]
    return with_calls(trace, np.concatenate([moving(trace, model), *asked]))


def _check_probes(trace: Trace) -> None:
    """Raise UsageError if a window has a call that waits for a message which another one receives."""
    if np.isin(trace.calls.op, BLOCKING_PROBES).any():
        held = "must be where all of it can be held"
        raise NotInWindowsError(f"{trace.path}: its blocking probes are not asked about in windows of a run, {held}")


def settled(trace: Trace, model: Model, hypotheses: Sequence[Hypothesis]) -> bool:
    """Return whether no hypothesis could ask for other edges of the graph than the model does."""
    size = trace.messages.bytes
    asked = ((one.protocol(trace, model, size), one.placed(trace)) for one in hypotheses)
    return all(network is model and other is size and placed is trace for (network, other), placed in asked)


def fits(run: Run, hypotheses: Sequence[Hypothesis]) -> bool:
    """Return whether the graph of a run has all edges that hypotheses need."""
    trace, model, graph = run.trace, run.weighted.model, run.graph
    if settled(trace, model, hypotheses):
        return True
    if graph.supposed or graph.deadlocks:
        return False
    needs = protocol(trace, model, hypotheses)
    return not trace.share.any(len(needs.supposed[0])) and needs.gaps <= (model.gap != "none")


def treated(trace: Trace, clock: str = "clc") -> Treated:
    """Return the tied part of a trace with its clocks treated. Raises UsageError and ClockError as `treat`, TraceError as `summable`."""
    before = known(trace)
    return before.recorded().clocks if before and before.clock == clock else summable(treat(trace, clock))


def summable(clocks: Treated) -> Treated:
    """Return a trace as it is. Raises TraceError if its times or its bytes are too many to be added up."""
    trace = clocks.trace
    span, share = trace.timeline.makespan, trace.share
    sent = float(share.reduced(np.array([trace.messages.bytes[share.messages].sum(dtype="f8")]), "sum")[0])
    if span * len(trace.locations) > _MOST:
        many = f"{words.duration(span)} of {words.several(len(trace.locations), 'process')}"
        raise TraceError(f"{trace.path}: {many} add up to more than 2^60 ns, must be less")
    if sent > _MOST:
        raise TraceError(f"{trace.path}: its messages add up to {sent:.3g} bytes, must be at most 2^60")
    return clocks


def replay_of(clocks: Treated, graph: Graph, machine: Machine, engine: str = "sweep") -> Run:
    """Return the run of a trace of treated clocks over a graph that is there already.

    Where a tenth or more of the sends follow the one before sooner than the model lets them, the gap between sends is not applied: no
    answer is to wait for what the run did not wait for.
    """
    trace = clocks.trace
    trace.share.at("replaying")
    weighted = weigh(trace, trace.timeline, graph, machine.model)
    seen = weighted.misfit
    if not isinstance(trace.share, Window) and seen.gaps_lowered and seen.gaps_lowered >= GAPS * seen.gaps:
        machine = machine.with_changes("gap=none")
        weighted = dataclasses.replace(weigh(trace, trace.timeline, graph, machine.model), misfit=seen)
    return run_of(clocks, machine, weighted, trace.timeline.origin, engine)


def under(run: Run, hypotheses: Sequence[Hypothesis], engine: str = "sweep") -> Run:
    """Return the run that a run becomes under hypotheses, which takes over its weights: what it says of times and waits stays true.

    An effect that may precede its cause before may do so then.
    """
    return become(run, change(run.weighted, hypotheses), hypotheses, engine) if hypotheses else run


def become(run: Run, weighted: Weighted, hypotheses: Sequence[Hypothesis], engine: str = "sweep") -> Run:
    """Return the run that a run becomes under hypotheses, given the weighted graph that they made of its own."""
    reversing = run.origin.effects_may_precede_causes or any(hypothesis.effects_may_precede_causes for hypothesis in hypotheses)
    origin = Origin("predicted", hypotheses=tuple(map(str, hypotheses)), effects_may_precede_causes=reversing)
    return run_of(run.clocks, run.machine, weighted, origin, engine)


def changed(run: Run, hypotheses: Sequence[Hypothesis]) -> Run:
    """Return what a run becomes under hypotheses, receives keeping the messages they took. Raises UsageError if one does not fit."""
    return under(based(run, hypotheses), hypotheses)


def copied(run: Run) -> Run:
    """Return a run with weights of its own."""
    return dataclasses.replace(run, weighted=dataclasses.replace(run.weighted, weight=run.weighted.weight.copy()))


def based(run: Run, hypotheses: Sequence[Hypothesis]) -> Run:
    """Return a run with weights of its own, and all edges that hypotheses need."""
    trace, machine = run.trace, run.machine
    if fits(run, hypotheses):
        return copied(run)
    return replay_of(run.clocks, graph_of(trace, machine.model, hypotheses), machine)


def run_of(clocks: Treated, machine: Machine, weighted: Weighted, origin: Origin, engine: str = "sweep") -> Run:
    """Return the run that a weighted graph gives."""
    time = ENGINES[engine](weighted.graph, weighted.weight)
    waits = waiting(weighted, time)
    give_back(len(time))
    if isinstance(weighted, Reordered):
        return Run(clocks, machine, weighted, time, recorded_waits(waits, weighted.call), origin, False)
    same = _as_recorded(weighted, time, origin)
    return Run(clocks, machine, weighted, time[hubs(weighted.graph)] if same else time, waits, origin, same)


def _as_recorded(weighted: Weighted, time: I8, origin: Origin) -> bool:
    """Return whether a run is the recorded one, no window of it, and calls and locations of all processes have the times of the trace."""
    graph, timeline, share = weighted.graph, weighted.trace.timeline, weighted.trace.share
    if isinstance(share, Window) or origin is not timeline.origin:
        return False
    sides = (
        (graph.entered[share.calls], timeline.calls.enter[share.calls]),
        (graph.returned[share.calls], timeline.calls.leave[share.calls]),
        (graph.begun[share.locations], timeline.locations.enter[share.locations]),
        (graph.ended[share.locations], timeline.locations.leave[share.locations]),
    )
    same = all(np.array_equal(time[vertex[some]], values[some]) for vertex, values in sides for some in chunks(len(vertex)))
    return not share.any(not same)


def graph_of(trace: Trace, model: Model, hypotheses: Sequence[Hypothesis] = ()) -> Graph:
    """Return the graph of a trace under a model, with the rendezvous edges that it or one of the hypotheses needs."""
    asked = protocol(trace, model, hypotheses)
    graph = build(
        trace, asked.waits, asked.gaps, asked.mover, asked.supposed, inner_waits(trace, model), transfers=model.progress == POSTED
    )
    if interfaces.shared(model):
        graph = interfaces.attached(trace, graph, model, interfaces.of_calls(graph, trace.timeline.calls))[0]
    give_back(graph.vertices)
    return graph


@dataclasses.dataclass(frozen=True, eq=False)
class Protocol:
    """What a model, and hypotheses on it, ask of the graph of a trace; `waits` and `mover` per message."""

    waits: Mask
    """Holds its sender under the model."""
    mover: I4
    """The receiver's call that lets it move if it holds its sender, or -1."""
    supposed: tuple[I8, I8]
    """Messages that only under a hypothesis hold their sender until a call of the receiver, and those calls, rows."""
    gaps: bool
    """Whether sends are kept apart."""

    def pairs(self, share: Share) -> I8:
        """Return the messages that hold their sender, and until which call of the whole run, each as one number, ascending."""
        waits = np.flatnonzero(self.waits)
        held, supposed = ((rows, share.named(calls)) for rows, calls in ((waits, self.mover[waits]), self.supposed))
        return distinct(np.concatenate([_paired(*held), _paired(*supposed)]))


def _paired(message: I8, mover: Ints) -> I8:
    return message.astype("i8") << 32 | (mover.astype("i8") + 1)


def protocol(trace: Trace, model: Model, hypotheses: Sequence[Hypothesis] = ()) -> Protocol:
    """Return what a model, and hypotheses on it, ask of the graph of a trace."""
    waits, mover = holding(trace, model), movers(trace, trace.timeline, model)
    pairs, sends = np.zeros(0, "i8"), trace.share.any(len(trace.messages))
    gaps = sends and model.gap != "none"
    now = model, trace.messages.bytes
    placed = trace
    for hypothesis in in_order(hypotheses):
        network, size = hypothesis.protocol(trace, *now)
        there = hypothesis.placed(placed)
        if network is now[0] and size is now[1] and there is placed:
            continue
        now, placed = (network, size), there
        other = movers(placed, trace.timeline, network, model, None if size is trace.messages.bytes else size)
        held = np.flatnonzero(holding(placed, network, size) & ~(waits & (other == mover)) & (other != NONE))
        pairs, gaps = distinct(np.concatenate([pairs, _paired(held, other[held])])), gaps or (sends and network.gap != "none")
    return Protocol(waits, mover, (pairs >> 32, (pairs & _CALL) - 1), gaps)


def lacks(trace: Trace, graph: Graph, needs: Protocol) -> bool:
    """Return whether the graph of a trace may lack rendezvous edges that are asked for: that of a part, and one that left out any."""
    if graph.border is not None or graph.deadlocks or graph.let_go or graph.contradictions:
        return True
    pairs = needs.pairs(trace.share)
    asks = (pairs & _CALL != 0) & (trace.messages.send_done[pairs >> 32] != NONE)
    return bool(np.setdiff1d(pairs[asks], _pairs_of(graph), assume_unique=True).size)


@remembered(2)
def _pairs_of(graph: Graph) -> I8:
    """Return the messages that hold their sender, and until which call, each as one number, ascending, that a graph has edges for."""
    edge = np.flatnonzero(graph.kind == RENDEZVOUS)
    return distinct(_paired(graph.cause[edge].astype("i8"), calls_at(graph, graph.entered)[graph.source[edge]]))


def machine_of(model: Start, trace: Trace, part: bool = False, windows: bool = False) -> Machine:
    """Return the machine that questions on a trace start from.

    By default it is fitted to the trace, with the model that was measured when the trace was recorded as evidence; one whose
    times were computed under a model has that. Changes replace some keys of the fit, which are then known; a name, a file or a model
    replace all of it. With `part` it says that it is that of a whole run, to be asked about a part of it.
    Raises ModelError, and UsageError for changes of a class of pairs that the trace does not have.
    """
    if isinstance(model, Machine):
        return model
    if isinstance(model, Model):
        return Machine(model, given=True)
    if model is not None and not is_changes(model):
        return model_file.machine(model)
    if model is None and trace.model and trace.timeline.origin.predicted:
        own = model_file.load(trace.model)
        return Machine(dataclasses.replace(own, source=f"{own.source}; {trace.timeline.origin}"), given=True)
    before = known(trace)
    if before and before.model == model and not part:
        return before.recorded().machine
    if windows:
        raise NotInWindowsError(f"{trace.path}: the machine is not fitted in windows of a run, must be told (--model NAME or FILE)")
    if model is not None:
        check_classes(trace, changed_pairs(model), f"model {model}")
    from perwiz.loggps.fit.fit import fitted

    machine = fitted(tied_part(offsets.apply(trace)), model_file.load(trace.model) if trace.model else None, part)
    return machine if model is None else machine.with_changes(model)


def check_engine(engine: str) -> str:
    """Return the name of an engine. Raises UsageError for another name."""
    if engine not in ENGINES:
        raise UsageError(f"engine '{engine}': must be one of {', '.join(ENGINES)}")
    return engine
