"""The stages from a trace to its recorded run, kept in a store for the next question.

What is kept was made with some treatment of the clocks and from some model, by some version of perwiz. A question that asks for the same
takes it; any other takes what it can, and does the rest anew.
"""

from __future__ import annotations

import dataclasses
import functools
from functools import partial

import numpy as np

from perwiz.errors import PerwizError, TraceError, UsageError
from perwiz.formats import files
from perwiz.formats.format import Progress
from perwiz.formats.store.bounds import check_bounds, check_timeline, check_within
from perwiz.formats.store.store import Store, store_of
from perwiz.formats.store.store import write as write_store
from perwiz.graph.check import check_graph
from perwiz.graph.graph import Graph, entering, hubs, returning
from perwiz.graph.slots import Slots, slots
from perwiz.loggps.keys import is_changes
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import F8, I4, Ints
from perwiz.trace.resources import at_once
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif.health import Health, health
from perwiz.whatif.matching import Choosing, choosing
from perwiz.whatif.ranking.change import Change
from perwiz.whatif.ranking.instead import BALANCE, SLOWEST, balanced
from perwiz.whatif.run import Known, Run, Start, copied, known, replay_error, replayed, summable
from perwiz.whatif.sure import variations
from perwiz.whatif.sure.answers import drawn_as_recorded, draws_of
from perwiz.whatif.sure.doubts import Doubts, doubts_of
from perwiz.whatif.sure.noise import DRAWS, Noise, found_noise, noise_of
from perwiz.whatif.sure.parts import BLOCKS, LEAST
from perwiz.whatif.sure.pieces import ANY
from perwiz.whatif.sure.variations import Variation, varied
from perwiz.whatif.wildcards import Possible, possible

NAME = "stages"
_MOST = 1 << 62
"""Most of a weight, of a time and of a floating number that stands for one."""


@dataclasses.dataclass(frozen=True, eq=False)
class Varied:
    """The run under one end of what is unknown of its machine."""

    end: str
    variation: Variation | None
    """None if nothing changes by that."""
    slots: Slots | None
    """Where the times of its vertices stand in sweeps."""


@dataclasses.dataclass(frozen=True, eq=False)
class Stages:
    """What was made of the trace of a store."""

    clock: str
    """How the clocks were treated."""
    model: str | None
    """The changes of the fitted model, if any."""
    run: Run
    doubts: Doubts
    noise: Noise
    drawn: F8
    """Makespans of runs drawn of the recorded one, ns."""
    health: Health
    balanced: tuple[Change, ...]
    """What makes processes come to any wait at the same time."""
    possible: Possible
    """Messages of receives that may have been wildcards."""
    choosing: Choosing
    replay_error: int
    """ns."""
    entering: I4
    """Call that is entered at each vertex of the graph, -1 none;"""
    returning: I4
    """that returns there."""
    hubs: I4
    """Vertices of no location."""
    slots: Slots
    """Where the times of vertices stand in sweeps that keep few of them."""
    varied: tuple[Varied, ...]


def keep(trace: Trace, path: str, clock: str = "clc", model: Start = None) -> Run:
    """Return the recorded run of a trace, after writing the trace to the new directory `path` with what can be kept of it for questions.

    Raises UsageError for a model that is not the fitted one or changes of it, and as `replayed`.
    """
    if not (model is None or (isinstance(model, str) and is_changes(model))):
        raise UsageError(f"--model {model}: is not kept in a store, must be given with each question")
    run = replayed(trace, model, clock)
    ends = [end for unknown in run.machine.unknown for end in unknown.ends]

    def noisy() -> tuple[Noise, F8]:
        noise = noise_of(run, draws_of(run))
        return noise, drawn_as_recorded(run.weighted, noise)

    def others() -> tuple[Varied, ...]:
        return (*(_kept(run, end, varied(run, (end,))) for end in ends), _kept(run, variations.HELD, variations.held(run)))

    doubts, (noise, drawn), more, gains = at_once((lambda: doubts_of(run), noisy, others, lambda: balanced(run)), run.graph.edges)
    told = (
        possible(run.trace),
        choosing(run.trace),
        run.replay_error,
        entering(run.graph),
        returning(run.graph),
        hubs(run.graph),
        slots(run.graph),
    )
    write_store(trace, path, {NAME: Stages(clock, model, run, doubts, noise, drawn, run.health(), gains, *told, more)})
    return run


def _kept(run: Run, end: str, variation: Variation | None) -> Varied:
    """Return what is kept of one end: weights that are those of the run once."""
    if variation is None:
        return Varied(end, None, None)
    if variation.alike(run):
        variation = dataclasses.replace(variation, weighted=dataclasses.replace(variation.weighted, weight=run.weighted.weight))
    return Varied(end, variation, slots(variation.weighted.graph))


def go_on(trace: Trace, run: Run, clock: str) -> None:
    """Let the next questions on a trace with the machine of its recorded run begin with that, and what is told of it."""

    def again() -> Run:
        out, noise = copied(run), noise_of(run, draws_of(run))
        doubts_of.tell(doubts_of(run), out)
        found_noise.tell(found_noise(run, None), out, None)
        noise_of.tell(noise, out, noise.draws)
        drawn_as_recorded.tell(drawn_as_recorded(run.weighted, noise), out.weighted, noise)
        return out

    known.tell(Known(clock, run.machine, lambda: run, again), trace)


def read(path: str, progress: Progress | None = None) -> Trace:
    """Return the trace in a file, as `perwiz.formats.files.read` does; what a store keeps beside it is known from then on."""
    trace = files.read(path, progress)
    store = store_of(trace)
    if store is not None:
        _tell(store)
    return trace


def outdated(trace: Trace) -> bool:
    """Return whether a trace was read from a store whose stages another perwiz made: they are made anew with every question."""
    store = store_of(trace)
    return store is not None and store.outdated(NAME)


def _tell(store: Store) -> None:
    head = store.head(NAME, ("clock", "model"))
    if head is None:
        return
    clock, model = head

    @functools.cache
    def stages() -> Stages:
        found = store.beside(Stages, NAME)
        assert found is not None
        if store.checked.before:
            return found
        try:
            _check(store.trace, found)
        except PerwizError as error:
            raise TraceError(f"{store.path}: {str(error).removeprefix(f'{store.path}: ')}") from None
        store.checked.remember()
        return found

    def run() -> Run:
        """Return the recorded run, its weights mapped once more; what else is known of it is known of this one."""
        kept = stages()
        weighted = dataclasses.replace(kept.run.weighted, weight=store.again(kept.run.weighted.weight))
        out = dataclasses.replace(kept.run, weighted=weighted)
        doubts_of.tell(kept.doubts, out)
        found_noise.tell(dataclasses.replace(kept.noise, draws=DRAWS), out, None)
        noise_of.tell(kept.noise, out, kept.noise.draws)
        drawn_as_recorded.tell(kept.drawn, weighted, kept.noise)
        health.tell(kept.health, out.trace, out.graph.contradictions, out.clocks)
        balanced.tell(kept.balanced, out)
        possible.tell(kept.possible, out.trace)
        choosing.tell(kept.choosing, out.trace)
        replay_error.tell(kept.replay_error, out)
        for column, values in ((entering, kept.entering), (returning, kept.returning), (hubs, kept.hubs)):
            column.tell(values, out.graph)
        slots.tell(kept.slots, out.graph)
        for one in kept.varied:
            variations.known.tell(partial(_again, store, one.variation), out, (one.end,))
            if one.variation is not None and one.slots is not None:
                slots.tell(one.slots, one.variation.weighted.graph)
        return out

    known.tell(Known(clock, model, lambda: stages().run, run), store.trace)


def _again(store: Store, variation: Variation | None) -> Variation | None:
    """Return a variation with weights of its own."""
    if variation is None:
        return None
    weighted = dataclasses.replace(variation.weighted, weight=store.again(variation.weighted.weight))
    return dataclasses.replace(variation, weighted=weighted)


def _check(trace: Trace, stages: Stages) -> None:
    """Raise a PerwizError if stages are none of this trace, or a number in them is one that kernels cannot work with."""
    run, weighted, own = stages.run, stages.run.weighted, stages.run.trace
    if own is not trace:
        check_bounds(own)
    _require(run.clocks.trace is own and run.machine.model == weighted.model, "of several traces or machines")
    summable(run.clocks)
    others = [one.variation.weighted for one in stages.varied if one.variation is not None]
    parts = [partial(check_graph, own, run.graph), *(partial(_check_weighted, own, each, run.graph) for each in (weighted, *others))]
    parts.append(partial(_check_noise, run.graph, stages.noise, stages.drawn))
    at_once(parts, run.graph.edges)
    for name, column in (("entering", entering), ("returning", returning), ("hubs", hubs)):
        _require(np.array_equal(getattr(stages, name), column(run.graph)), f"{name} of another graph")
    _check_slots(run.graph, stages.slots)
    for one in stages.varied:
        if one.variation is not None and one.slots is not None:
            _check_slots(one.variation.weighted.graph, one.slots)
    if run.clocks.correction is not None:
        correction = run.clocks.correction
        check_bounds(correction.trace)
        check_graph(correction.trace, correction.graph)
        for timeline in (correction.before, correction.timeline):
            check_timeline(correction.trace, timeline)
    calls = len(own.calls)
    lengths: list[tuple[str, Ints, int]] = [
        ("swept", run.swept, len(stages.hubs) if run.as_recorded else run.graph.vertices),
        ("waits.time", run.waits.time, calls),
        ("waits.partner", run.waits.partner, calls),
        *((f"wrong.{word}", wrong, calls) for word, wrong in stages.doubts.wrong.items()),
    ]
    _check_columns(lengths)
    check_within(f"{NAME}.waits.partner", run.waits.partner, NONE, calls - 1)
    _require(stages.doubts.wrong.keys() >= stages.doubts.counts.keys() == stages.doubts.time.keys(), "doubts of several kinds")
    _check_possible(own, stages.possible)
    _check_choosing(own, stages.choosing)
    check_within(f"{NAME}.replay_error", np.array([stages.replay_error]), 0, _MOST)
    for change in stages.balanced:
        _require(
            change.kind in (BALANCE, SLOWEST) and change.calls is None, f"a change of kind '{change.kind[:20]}', must be of computation"
        )
        check_within(f"{NAME}.balanced.makespan", np.array([change.makespan]), 0, _MOST)


def _check_slots(graph: Graph, kept: Slots) -> None:
    own = slots(graph)
    same = np.array_equal(kept.row, own.row) and kept.rows == own.rows
    _require(same, "slots of another graph")


def _check_choosing(trace: Trace, kept: Choosing) -> None:
    own = choosing(trace)
    same = (np.array_equal(getattr(kept, name), getattr(own, name)) for name in ("wildcards", "chosen", "completed"))
    _require(all(same), "choices of another trace")


def _check_possible(trace: Trace, kept: Possible) -> None:
    rows = len(kept.message)
    columns = (("message", kept.message, len(trace.messages)), ("receive", kept.receive, len(trace.calls)), ("place", kept.place, rows))
    for name, column, most in columns:
        _require(column.shape == (rows,), f"possible.{name} of {column.shape}, must be of {rows} rows")
        check_within(f"{NAME}.possible.{name}", column, 0, most - 1)


def _check_weighted(trace: Trace, weighted: Weighted, known: Graph) -> None:
    """Check weights of a trace, and their graph unless it is one that is checked."""
    same = (trace, weighted.trace), (trace.timeline, weighted.timeline), (trace.messages.bytes, weighted.size)
    own = all(one is other for one, other in (*same, (trace.locations, weighted.places)))
    _require(own and weighted.model == weighted.network, "weights of another trace")
    if weighted.graph is not known:
        check_graph(trace, weighted.graph)
    regions = (("region_enter", weighted.region_enter, len(trace.regions)), ("region_leave", weighted.region_leave, len(trace.regions)))
    _check_columns([("weight", weighted.weight, weighted.graph.edges), *regions])


def _check_columns(columns: list[tuple[str, Ints, int]]) -> None:
    for name, column, rows in columns:
        _require(column.shape == (rows,), f"{name} of {column.shape}, must be of {rows} rows")
        check_within(f"{NAME}.{name}", column, -_MOST, _MOST)


def _check_noise(graph: Graph, noise: Noise, drawn: F8) -> None:
    _require(noise.graph is graph, "noise of another graph")
    rows, kept = graph.vertices, noise.stretches
    stretches, pools = len(kept.times), len(kept.first) - 1
    for name, column, size in (
        *((name, getattr(noise, name), rows) for name in ("whole", "stretch", "more", "share")),
        *((name, getattr(kept, name), stretches) for name in ("times", "pool", "part")),
    ):
        _require(column.shape == (size,), f"{name} of {column.shape}, must be of {size} rows")
    check_within(f"{NAME}.noise.stretch", noise.stretch, NONE, stretches + len(noise.seldom) - 1)
    _require(
        noise.seldom.ndim == noise.any.ndim == drawn.ndim == kept.first.ndim == 1 and kept.behind.ndim == 2, "noise of other dimensions"
    )
    _require(len(noise.any) == ANY or not len(noise.seldom), f"{len(noise.any)} deviations that stand for all, must be {ANY}")
    _require(kept.behind.shape[1] == pools and 1 <= kept.block <= 1 << 20 and 1 <= noise.draws <= DRAWS, "noise that is none")
    check_within(f"{NAME}.noise.stretches.pool", kept.pool, 0, pools - 1)
    check_within(f"{NAME}.noise.stretches.part", kept.part, 0, len(kept.behind) - 1)
    check_within(f"{NAME}.noise.stretches.first", kept.first[:-1], 0, stretches - 1)
    check_within(f"{NAME}.noise.stretches.behind", kept.behind.reshape(-1), 0, stretches)
    for name, values in (
        ("drawn", drawn),
        ("any", noise.any),
        ("times", kept.times),
        *((name, getattr(noise, name)) for name in ("whole", "more", "share")),
    ):
        check_within(f"{NAME}.{name}", values, -_MOST, _MOST)
        _require(not np.isnan(values.sum()), f"{name} with a value that is no number")
    locations, calls = len(graph.ended), len(graph.returned)
    _require(noise.last.ndim == 2 and noise.last.shape[1] == locations and len(noise.last) <= BLOCKS + 1, "groups of no iterations")
    check_within(f"{NAME}.noise.last", noise.last.reshape(-1), NONE, calls - 1)
    if noise.varies is not None:
        check_within(f"{NAME}.varies.stretches", np.array([noise.varies.stretches]), LEAST, BLOCKS)


def _require(good: object, what: str) -> None:
    if not good:
        raise TraceError(f"{NAME}: {what}")
