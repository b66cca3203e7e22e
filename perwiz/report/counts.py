"""What reports say of hardware counters: rates, what POP makes of them, and what was counted per call path and location."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from msgspec.structs import asdict

from perwiz import words
from perwiz.patterns.analysis.counters import CYCLES, INSTRUCTIONS, Counted, Scaling, counted, plain
from perwiz.report import blocks
from perwiz.report.blocks import Facts
from perwiz.report.records import Cost, Location, Natural, Record
from perwiz.trace.tables import STREAM
from perwiz.trace.trace import Trace

_ROWS = 20
"""Rows of a table."""
_READ = 50
"""Rows of the table of what was read at any time."""
_PATH = 50
"""Columns of a call path in a table."""
_TITLES = (("ipc", "IPC"), ("frequency_ghz", "GHz"), ("instruction_balance", "instruction balance"))
"""Names and titles of what instructions and cycles tell of computation."""


class CountedIn(Location):
    """What was counted on a location in a call path, those below it left out."""

    call_path: str
    mpi: bool
    """It is a call, not computation."""
    time_ns: Cost
    """Between the first reading and the last."""
    counts: dict[str, float]
    """By counter."""


class Read(Record):
    """What a process read of a counter at any time, or for other locations."""

    name: str
    process: int
    """-1 if none is known to."""
    values: Natural
    """How many."""
    least: float
    mean: float
    """Of the values, whenever they were read."""
    most: float
    change: float
    """The last one less the first, of each reader, added up: of energy, what was used."""


class Counters(Record):
    """What the counters of a run counted."""

    names: list[str]
    """With their units in brackets, where they have one."""
    counted: list[CountedIn]
    """In the order of the call tree; where nothing was counted there is no row."""
    ipc: Cost | None
    """Instructions per cycle of computation; null where these were not counted."""
    frequency_ghz: Cost | None
    """Cycles per ns of computation."""
    instruction_balance: Cost | None
    """Mean of the instructions of a process in computation / the most of any."""
    levels: list[str]
    """Those that do not count, such as memory in use: not added up."""
    read: list[Read]
    """What was read at any time, or for other locations, in the whole recording: power, load of devices, ..."""
    left_out: int
    """Values of no counter that is defined, or read where nothing begins or ends."""


class Rated(Protocol):
    """What has rates."""

    @property
    def ipc(self) -> float | None:
        """Instructions per cycle."""

    @property
    def frequency_ghz(self) -> float | None:
        """Cycles per ns."""

    @property
    def instruction_balance(self) -> float | None:
        """Mean by most."""


def heads(first: Rated) -> list[str]:
    """Return the heads of the columns of rates: of those that are known."""
    return [title for name, title in _TITLES if getattr(first, name) is not None]


def rates(row: Rated, first: Rated) -> list[str]:
    """Return the cells of a row of rates, in the columns that `first` has."""
    shown = {"ipc": _number, "frequency_ghz": _number, "instruction_balance": _percent}
    return [shown[name](getattr(row, name)) for name, _ in _TITLES if getattr(first, name) is not None]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def factors(scaling: Scaling) -> str:
    """Return the factors of the scaling of computation in words."""
    parts = (("instructions", scaling.instructions), ("IPC", scaling.ipc), ("frequency", scaling.frequency))
    return " x ".join(f"{name} {_percent(value)}" for name, value in parts)


def document(trace: Trace) -> Counters | None:
    """Return what the counters of a run counted; None if it has none."""
    found = counted(trace)
    levels, left_out = [trace.counter_names[row] for row in trace.levels], trace.counts.loose_counters
    read = [Read(**dataclasses.asdict(each)) for each in trace.sampled]
    if found is None:
        return Counters([], [], None, None, None, levels, read, left_out) if levels or left_out or read else None
    whole = found.work().of(np.flatnonzero(trace.locations.kind != STREAM))
    any_value = np.logical_or.reduce([value != 0 for value in found.values])
    return Counters(
        names=list(found.names),
        counted=[_counted(trace, found, node, place) for node, place in np.argwhere(any_value).tolist()],
        ipc=whole.ipc,
        frequency_ghz=whole.frequency_ghz,
        instruction_balance=whole.instruction_balance,
        levels=levels,
        read=read,
        left_out=left_out,
    )


def _counted(trace: Trace, found: Counted, node: int, place: int) -> CountedIn:
    return CountedIn(
        **asdict(blocks.location(trace, place)),
        call_path=found.tree.full_name(node),
        mpi=bool(found.tree.op[node] >= 0),
        time_ns=float(found.time[node, place]),
        counts={name: float(value[node, place]) for name, value in zip(found.names, found.values, strict=True)},
    )


def lines(found: Counters | None) -> list[str]:
    """Return the tables of counters: by call path, those with most of the first counter first, and computation by process."""
    if found is None:
        return ["no counters"]
    if not found.names:
        return ["no counters that count", *words.facts(_facts(found)), *_read(found.read)]
    computed = sorted((row for row in found.counted if not row.mpi), key=lambda row: (row.rank, row.thread))
    out = ["counters by call path, those below left out"]
    out += _lines(found, "call path", [(words.shown(row.call_path, _PATH), row) for row in found.counted], per_second=True)
    if computed:
        out += ["", "computation by process"]
        out += _lines(found, "rank", [(words.rank(row.rank, row.thread), row) for row in computed])
    facts = _facts(found)
    return [*out, *(["", *words.facts(facts)] if facts else []), *_read(found.read)]


def _read(read: list[Read]) -> list[str]:
    """Return what was read at any time as a table, those of a process together; nothing if nothing was."""
    if not read:
        return []
    rank = len({each.process for each in read}) > 1
    cells = [
        [
            *(words.shown(each.name, _PATH), *[str(each.process)] * rank, str(each.values)),
            *map(_amount, (each.least, each.mean, each.most, each.change)),
        ]
        for each in read[:_READ]
    ]
    lines = words.table(["counter", *["rank"] * rank, "values", "least", "mean", "most", "change"], cells)
    return ["", "read at any time, or for other locations", *lines, *blocks.more(read, len(cells))]


def _facts(found: Counters) -> Facts:
    """Return the rates of all computation, and what was not added up."""
    facts = []
    if found.ipc is not None:
        facts.append(("IPC", f"{_number(found.ipc)} instructions per cycle of computation"))
    if found.frequency_ghz is not None:
        facts.append(("GHz", f"{_number(found.frequency_ghz)} cycles per ns of computation"))
    if found.instruction_balance is not None:
        facts.append(("instructions", f"{_percent(found.instruction_balance)} balanced: mean of a process by the most of any"))
    if found.levels:
        facts.append(("levels", f"{', '.join(words.shown(name) for name in found.levels)}: no counts, not added up"))
    if found.left_out:
        facts.append(("left out", f"{words.several(found.left_out, 'value')} of no known counter, or read where nothing begins or ends"))
    return facts


def _lines(found: Counters, head: str, rows: list[tuple[str, CountedIn]], per_second: bool = False) -> list[str]:
    """Return a table of counts added up by the names given to the rows, those with most of the first counter first."""
    sums: dict[str, list[float]] = {}
    for name, row in rows:
        sums[name] = [
            float(a + b) for a, b in zip(sums.get(name, itertools.repeat(0.0)), (row.time_ns, *row.counts.values()), strict=False)
        ]
    order = sorted(sums, key=lambda name: [-value for value in sums[name][1:]]) if per_second else list(sums)
    cells, ratios = [], _ratios(found.names)
    for name in order[:_ROWS]:
        time, *values = sums[name]
        rates = [[_amount(value * 1e9 / time if time else None)] * per_second for value in values]
        counts = [cell for value, rate in zip(values, rates, strict=True) for cell in (_amount(value), *rate)]
        cells.append([name, words.duration(round(time)), *counts, *(_number(_part(sums[name], *pair)) for _, pair in ratios)])
    names = [cell for name in found.names for cell in (words.shown(name, 24), *["per s"] * per_second)]
    lines = words.table([head, "time", *names, *(title for title, _ in ratios)], cells, spare=(2 + len(names),))
    return [*lines, *blocks.more(order, len(cells))]


def _ratios(names: list[str]) -> list[tuple[str, tuple[int, int]]]:
    """Return the titles of the rates that counters tell, and which columns, time the first, they are the ratios of."""
    column = {"time": 0}
    for number, name in reversed(list(enumerate(names, start=1))):
        column |= {kind: number for kind, known in (("instructions", INSTRUCTIONS), ("cycles", CYCLES)) if plain(name) in known}
    told = (("IPC", ("instructions", "cycles")), ("GHz", ("cycles", "time")))
    return [(title, (column[some], column[others])) for title, (some, others) in told if some in column and others in column]


def _part(sums: list[float], some: int, others: int) -> float | None:
    return sums[some] / sums[others] if sums[others] else None


def _amount(value: float | None) -> str:
    """Return a count in words: four digits, as a power of ten above a million."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e6 else f"{value:.4g}"


def scaling_lines(scaling: Scaling | None, names: Sequence[str]) -> list[str]:
    """Return how computation scales from a first run to a second one, both named, as a table; nothing without counters."""
    if scaling is None:
        return []
    rows = [
        ["computation", "", "", _percent(scaling.computation)],
        ["  instructions", "", "", _percent(scaling.instructions)],
        ["  IPC", _number(scaling.reference_ipc), _number(scaling.own_ipc), _percent(scaling.ipc)],
        ["  frequency, GHz", _number(scaling.reference_ghz), _number(scaling.own_ghz), _percent(scaling.frequency)],
    ]
    title = f"how computation scales from the {names[0]} to the {names[1]} run: the product of the three below, above 100 % is faster"
    return ["", title, *words.table(["", *names, "scaling"], rows)]
