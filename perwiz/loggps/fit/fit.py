"""The machine that a trace was recorded on: its model, what tells it, and between which ends lies what nothing tells."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from perwiz import words
from perwiz.kernels.names import NODE
from perwiz.loggps.fit.collectives import fitted_collectives
from perwiz.loggps.fit.costs import Seen, fitted_costs
from perwiz.loggps.fit.eager import Sizes
from perwiz.loggps.fit.errors import others
from perwiz.loggps.fit.protocol import protocol
from perwiz.loggps.fit.ways import Ways, ways, with_right_clocks
from perwiz.loggps.keys import ALL_PAIRS, CHOICES, CONVENTIONS, LETTERS, LIMITS, OF_ALL, PAIRS, PARAMETERS, SENDS, of_class
from perwiz.loggps.machine import Estimate, Machine, Unknown
from perwiz.loggps.model import Model, Sent
from perwiz.loggps.model_file import load
from perwiz.loggps.pairs import sent
from perwiz.trace.resources import EDGES_OF_CALL, graphs_at_once
from perwiz.trace.trace import Trace

NAME = "fitted"
_SIZES = (*LIMITS, "inline_bytes")
"""Keys of the protocol that lie between sizes of messages: what was measured may be anywhere there."""


@dataclasses.dataclass(frozen=True, eq=False)
class Fit:
    """A machine, and what was seen of it."""

    machine: Machine
    seen: tuple[Seen, ...]
    """Of messages, by class of pairs."""
    senders: tuple[SendersOfSize, ...]
    """Whose receiver came late, by class of pairs, kind of send and size."""
    low: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Begins of 95 % intervals, by key, with its class of pairs; of what was measured again and again."""
    high: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Their ends."""
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class SendersOfSize:
    """How many senders of messages of one size were let go before their receiver came, and how many were held."""

    pairs: str
    sends: str
    bytes: int
    free: int
    held: int


def fitted(trace: Trace, recorded: Model | None = None, part: bool = False) -> Machine:
    """Return the machine of a trace; `recorded` is what was measured when it was recorded, which tells what the trace does not.

    With `part` it says that it is that of a whole run, of which a part is asked about.

    Never refuses: a key that neither tells has the value of the default model, or the nearest one that the trace allows, and is listed as
    unknown with the ends between which it lies. Clocks are to be as `treat(trace, "linear")` leaves them. Takes time in proportion to
    messages and calls.
    """
    return fit(trace, recorded, part).machine


def fit(trace: Trace, recorded: Model | None = None, part: bool = False) -> Fit:
    """Return the machine of a trace as `fitted` does, and what was seen of it."""
    trace.share.at("fitting")
    trace = with_right_clocks(trace)
    tasks = (lambda: protocol(trace), lambda: ways(trace), lambda: fitted_collectives(trace))
    shown, seen, whole = graphs_at_once(tasks, EDGES_OF_CALL * len(trace.calls), in_order=trace.share.team is not None)
    base = recorded or load("default").with_changes("gap=none,g_ns=0")
    left = tuple(each for each in shown.unknown if not (recorded and _tells(recorded, each)))
    settled = {each.place for each in shown.unknown} - {each.place for each in left}
    model = _changed(base, [f"{each.place}={each.value}" for each in shown.estimates if each.place not in settled])
    model = _changed(model, [change for each in shown.unknown if each.place in settled for change in _besides(base, each)])
    model = _changed(model, [change for each in left for change in _nearest(model, each)])
    if recorded and not _differ(shown.sizes, recorded, model):
        model = dataclasses.replace(model, limits=recorded.limits)
    waits = model.is_synchronous(sent(trace, model, seen.row))
    costs = fitted_costs(trace, seen, waits, model, recorded is not None)
    unknown = (*left, *costs.unknown, *whole.unknown)
    known = (dataclasses.replace(each, value=int(_value(model, each))) if each.key in _SIZES else each for each in shown.estimates)
    estimates = (*known, *costs.estimates, *whole.estimates)
    told = {each.place for each in estimates} - {each.place for each in unknown}
    assumed = (*(base.assumed if recorded else _untold(seen, told)), *(each.place for each in (*left, *costs.unknown)))
    model = dataclasses.replace(
        model,
        name=NAME,
        source=_source(trace, seen, recorded, part),
        assumed=tuple(key for key in dict.fromkeys(assumed) if key not in told),
        costs=costs.rows,
        request_overheads=model.request_overheads if costs.request_overheads is None else costs.request_overheads,
        collectives=(*whole.costs, *(cost for cost in base.collectives if cost.kind not in {own.kind for own in whole.costs})),
    )
    against = tuple(_against(trace, seen, model, each) for each in estimates)
    machine = Machine(model, against, unknown, off=tuple(others(model, costs.off)))
    return Fit(machine, costs.seen, tuple(_senders(shown.sizes)))


def _source(trace: Trace, seen: Ways, recorded: Model | None, part: bool) -> str:
    """Return in words how many messages tell anything, and what the rest is."""
    count, whole = trace.share.in_all("messages", len(trace.messages)), " of the whole run" if part else ""
    tells = seen.share.total(int((seen.tells & seen.home).sum()))
    told = f"{tells} of {words.several(count, 'message')}{whole}" if count else "a run without messages"
    left = "the rest is" if count or recorded else "where a change makes some, their costs are"
    rest = f"of: {recorded.source}" if recorded else f"assumed, {'costs ' if count else ''}at most those of: {load('default').source}"
    return f"fitted to {told}; {left} {rest}"


def _untold(seen: Ways, told: set[str]) -> Iterator[str]:
    """Yield the keys that no message tells of any class of pairs that the run has, and those that none tells of one of them."""
    classes = [PAIRS[pair - NODE] for pair in seen.share.distinct(seen.pairs).tolist()]
    for key in (*PARAMETERS, *CONVENTIONS):
        lacking = [pairs for pairs in classes or [""] if not {key, of_class(pairs, key)} & told]
        yield from (of_class(pairs, key) for pairs in lacking) if len(lacking) < len(classes) else [key] * bool(lacking)


def _senders(sizes: Sizes) -> Iterator[SendersOfSize]:
    for row in np.flatnonzero(sizes.gone + sizes.kept).tolist():
        pairs, sends = PAIRS[int(sizes.pairs[row]) - NODE], SENDS[int(sizes.sends[row])]
        yield SendersOfSize(pairs, sends, int(sizes.bytes[row]), int(sizes.gone[row]), int(sizes.kept[row]))


def _changed(model: Model, changes: Iterable[str]) -> Model:
    return model.with_changes(",".join(changes)) if changes else model


def _tells(recorded: Model, unknown: Unknown) -> bool:
    """Return whether a measured model tells what a trace does not, and the trace does not contradict it."""
    return unknown.place not in recorded.assumed and not _nearest(recorded, unknown)


def _differ(sizes: Sizes, recorded: Model, model: Model) -> bool:
    """Return whether by one model messages hold their sender that by another do not, of those whose senders show it."""
    sizes = sizes[sizes.eager | sizes.held]
    sent = Sent(sizes.bytes, sends=sizes.sends, pairs=sizes.pairs)
    return bool((recorded.is_synchronous(sent) != model.is_synchronous(sent)).any())


def _besides(recorded: Model, unknown: Unknown) -> list[str]:
    """Return what else changes where a measured model tells a limit that the trace does not: above inline_bytes messages are in place."""
    changes = dict(change.split("=") for change in unknown.ends[-1].split(","))
    above = "inline_bytes" in changes and _value(recorded, unknown) > float(changes["inline_bytes"])
    return [f"{key}={value}" for key, value in changes.items() if key != unknown.place] if above else []


def _nearest(model: Model, unknown: Unknown) -> list[str]:
    """Return the end of what is unknown that is nearest to a model's value, as a change of it; nothing if that is possible itself."""
    ends = [] if unknown.key in CHOICES else [*map(float, unknown.values)]
    if len(ends) < 2:
        return []
    value = _value(model, unknown)
    return [] if min(ends) <= value <= max(ends) else [f"{unknown.place}={min(max(value, min(ends)), max(ends)):.0f}"]


def _value(model: Model, of: Unknown | Estimate) -> float:
    """Return the value of a key that is a number, for messages of one byte of its class of pairs."""
    pairs = PAIRS.index(of.pairs) + NODE if of.pairs else ALL_PAIRS
    if of.key in OF_ALL:
        return float(getattr(model, of.key))
    message = Sent(1, sends=max(SENDS.index(LIMITS[of.key]), 0) if LIMITS.get(of.key) else 0, pairs=pairs)
    return float(model.limit(message) if of.key in LIMITS else getattr(model.letters(message), LETTERS[of.key]))


def _against(trace: Trace, seen: Ways, model: Model, estimate: Estimate) -> Estimate:
    """Return an estimate of L with the messages that came faster than the model says, as predictions count them."""
    if estimate.key != "L_ns":
        return estimate
    which = seen.pairs == PAIRS.index(estimate.pairs) + NODE if estimate.pairs else np.ones(len(seen.row), bool)
    faster = seen.way < model.ready(sent(trace, model, seen.row))
    return dataclasses.replace(estimate, against=seen.share.total(int((faster & which & seen.home).sum())))
