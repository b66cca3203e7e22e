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
from perwiz.loggps.fit.protocol import protocol
from perwiz.loggps.fit.ways import Ways, ways, with_right_clocks
from perwiz.loggps.machine import Estimate, Machine, Unknown
from perwiz.loggps.model import ALL_PAIRS, CHOICES, LETTERS, LIMITS, OF_ALL, PAIRS, SENDS, Model, Sent
from perwiz.loggps.model_file import load
from perwiz.loggps.pairs import sent
from perwiz.trace.trace import Trace

NAME = "fitted"


@dataclasses.dataclass(frozen=True, eq=False)
class Fit:
    """A machine, and what was seen of it."""

    machine: Machine
    seen: tuple[Seen, ...]
    """Of messages, by class of pairs."""
    senders: tuple[Senders, ...]
    """Whose receiver came late, by class of pairs, kind of send and size."""
    low: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Begins of 95 % intervals, by key, with its class of pairs; of what was measured again and again."""
    high: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Their ends."""
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Senders:
    """How many senders of messages of one size were let go before their receiver came, and how many were held."""

    pairs: str
    sends: str
    bytes: int
    free: int
    held: int


def fitted(trace: Trace, recorded: Model | None = None) -> Machine:
    """Return the machine of a trace; `recorded` is what was measured when it was recorded, which tells what the trace does not.

    Never refuses: a key that neither tells has the value of the default model, or the nearest one that the trace allows, and is listed as
    unknown with the ends between which it lies. Clocks are to be as `treat(trace, "linear")` leaves them. Takes time in proportion to
    messages and calls.
    """
    return fit(trace, recorded).machine


def fit(trace: Trace, recorded: Model | None = None) -> Fit:
    """Return the machine of a trace as `fitted` does, and what was seen of it."""
    trace = with_right_clocks(trace)
    seen, shown = ways(trace), protocol(trace)
    base = recorded or load("default").with_changes("gap=none,g_ns=0")
    known = tuple(each for each in shown.unknown if recorded and _tells(recorded, each))
    left = tuple(each for each in shown.unknown if each not in known)
    told = tuple(each for each in shown.estimates if _place(each) not in map(_place, known))
    model = _changed(base, [f"{_place(each)}={each.value}" for each in told])
    model = _changed(model, [change for each in known for change in _besides(base, each)])
    model = _changed(model, [change for each in left for change in _nearest(model, each)])
    waits = model.is_synchronous(sent(trace, model, seen.row))
    costs = fitted_costs(trace, seen, waits, model, recorded is not None)
    whole = fitted_collectives(trace)
    unknown = (*left, *costs.unknown, *whole.unknown)
    estimates = (*told, *costs.estimates, *whole.estimates)
    source = f"fitted to {int(seen.tells.sum())} of {words.several(len(seen.row), 'message')}"
    source += f"; what these do not tell is of: {recorded.source}" if recorded else ""
    assumed = (
        *(base.assumed if recorded else ("s_bytes", "request_overheads", "acknowledge_overheads")),
        *map(_place, (*left, *costs.unknown)),
    )
    sure = {_place(each) for each in estimates} - {_place(each) for each in unknown}
    request = model.request_overheads if costs.request_overheads is None else costs.request_overheads
    model = dataclasses.replace(
        model,
        name=NAME,
        source=source,
        assumed=tuple(key for key in dict.fromkeys(assumed) if key not in sure),
        costs=costs.rows,
        request_overheads=request,
        collectives=whole.costs,
    )
    machine = Machine(model, tuple(_against(trace, seen, model, each) for each in estimates), unknown)
    return Fit(machine, costs.seen, tuple(_senders(shown.sizes)))


def _senders(sizes: Sizes) -> Iterator[Senders]:
    for row in np.flatnonzero(sizes.gone + sizes.kept).tolist():
        pairs, sends = PAIRS[int(sizes.pairs[row]) - NODE], SENDS[int(sizes.sends[row])]
        yield Senders(pairs, sends, int(sizes.bytes[row]), int(sizes.gone[row]), int(sizes.kept[row]))


def _place(of: Estimate | Unknown) -> str:
    return f"{of.pairs}:{of.key}" if of.pairs else of.key


def _changed(model: Model, changes: Iterable[str]) -> Model:
    return model.with_changes(",".join(changes)) if changes else model


def _tells(recorded: Model, unknown: Unknown) -> bool:
    """Return whether a measured model tells what a trace does not, and the trace does not contradict it."""
    return _place(unknown) not in recorded.assumed and not _nearest(recorded, unknown)


def _besides(recorded: Model, unknown: Unknown) -> list[str]:
    """Return what else changes where a measured model tells a limit that the trace does not: above inline_bytes messages are in place."""
    changes = dict(change.split("=") for change in unknown.ends[-1].split(","))
    above = "inline_bytes" in changes and _value(recorded, unknown) > float(changes["inline_bytes"])
    return [f"{key}={value}" for key, value in changes.items() if key != _place(unknown)] if above else []


def _nearest(model: Model, unknown: Unknown) -> list[str]:
    """Return the end of what is unknown that is nearest to a model's value, as a change of it; nothing if that is possible itself."""
    place = _place(unknown)
    if unknown.key in CHOICES:
        return []
    ends = [float(change.partition("=")[2]) for end in unknown.ends for change in end.split(",") if change.startswith(f"{place}=")]
    if len(ends) < 2:
        return []
    value = _value(model, unknown)
    return [] if min(ends) <= value <= max(ends) else [f"{place}={min(max(value, min(ends)), max(ends)):.0f}"]


def _value(model: Model, unknown: Unknown) -> float:
    """Return the value of a key that is a number, for messages of one byte of its class of pairs."""
    pairs = PAIRS.index(unknown.pairs) + NODE if unknown.pairs else ALL_PAIRS
    if unknown.key in OF_ALL:
        return float(getattr(model, unknown.key))
    message = Sent(1, sends=max(SENDS.index(LIMITS[unknown.key]), 0) if LIMITS.get(unknown.key) else 0, pairs=pairs)
    return float(model.limit(message) if unknown.key in LIMITS else getattr(model.letters(message), LETTERS[unknown.key]))


def _against(trace: Trace, seen: Ways, model: Model, estimate: Estimate) -> Estimate:
    """Return an estimate of L with the messages that came faster than the model says, as predictions count them."""
    if estimate.key != "L_ns":
        return estimate
    which = seen.pairs == PAIRS.index(estimate.pairs) + NODE if estimate.pairs else np.ones(len(seen.row), bool)
    faster = seen.way < model.ready(sent(trace, model, seen.row))
    return dataclasses.replace(estimate, against=int((faster & which).sum()))
