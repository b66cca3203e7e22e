"""What reports say of hardware counters: rates, what POP makes of them, and what was counted per call path and location."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from msgspec.structs import asdict

from perwiz import words
from perwiz.patterns.analysis.counters import Counted, Scaling, Work, counted
from perwiz.report import blocks
from perwiz.report.blocks import Facts
from perwiz.report.records import Cost, Location, Record
from perwiz.trace.arrays import F8
from perwiz.trace.tables import STREAM
from perwiz.trace.trace import Trace

_PATHS = 20
"""Rows of the table of call paths."""
_PROCESSES = 16
_PATH = 50
"""Columns of a call path in a table."""
_TITLES = (("ipc", "IPC"), ("frequency_ghz", "GHz"), ("instruction_balance", "instruction balance"))
"""Names and titles of what instructions and cycles tell of computation."""


class CountedAt(Location):
    """What was counted on a process, thread or stream."""

    total: float
    per_second: float | None
    """Null where no time was."""


class CountedIn(Record):
    """What a counter counted in a call path, those below it left out."""

    call_path: str
    mpi: bool
    """It is a call, not computation."""
    time_ns: Cost
    """Between the first reading and the last, all locations together."""
    total: float
    per_second: float | None
    """Null where no time was."""
    locations: list[CountedAt]
    """Those with any."""


class Counter(Record):
    """A hardware counter."""

    name: str
    """With its unit in brackets, if it has one."""
    total: float
    """Of all call paths and locations."""
    useful: float
    """Of computation: outside of calls."""
    call_paths: list[CountedIn]
    """In the order of the call tree, those with none left out."""


class Computed(Location):
    """What computation took on a process or thread."""

    time_ns: Cost
    """Between the first reading and the last."""
    useful: dict[str, float]
    """Per counter."""
    ipc: Cost | None
    frequency_ghz: Cost | None


class Counters(Record):
    """What the counters of a run counted."""

    counters: list[Counter]
    processes: list[Computed]
    """And threads."""
    ipc: Cost | None
    """Instructions per cycle of computation; null where these were not counted."""
    frequency_ghz: Cost | None
    """Cycles per ns of computation."""
    instruction_balance: Cost | None
    """Mean of the instructions of a process in computation / the most of any."""
    levels: list[str]
    """Those that do not count, such as memory in use: not added up."""
    left_out: int
    """Values of other locations, or read where nothing begins or ends."""


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
    """Return what the counters of a run counted; None if it has none that count."""
    found = counted(trace)
    if found is None:
        return None
    hosts = np.flatnonzero(trace.locations.kind != STREAM)
    work = found.work()
    whole = work.of(hosts)
    return Counters(
        counters=[_counter(trace, found, row) for row in range(len(found.names))],
        processes=[_computed(trace, found, work, row) for row in hosts.tolist()],
        ipc=whole.ipc,
        frequency_ghz=whole.frequency_ghz,
        instruction_balance=whole.instruction_balance,
        levels=[trace.counter_names[row] for row in trace.levels],
        left_out=trace.counts.loose_counters,
    )


def _counter(trace: Trace, found: Counted, row: int) -> Counter:
    value, tree = found.values[row], found.tree
    return Counter(
        name=found.names[row],
        total=float(value.sum()),
        useful=float(value[tree.op < 0].sum()),
        call_paths=[_in_path(trace, found, value, node) for node in np.flatnonzero(value.any(axis=1)).tolist()],
    )


def _in_path(trace: Trace, found: Counted, value: F8, node: int) -> CountedIn:
    time = found.time[node]
    there = [
        CountedAt(
            **asdict(blocks.location(trace, row)),
            total=float(value[node, row]),
            per_second=_per_second(value[node, row], time[row]),
        )
        for row in np.flatnonzero(value[node]).tolist()
    ]
    total, whole = float(value[node].sum()), float(time.sum())
    name, called = found.tree.full_name(node), bool(found.tree.op[node] >= 0)
    return CountedIn(call_path=name, mpi=called, time_ns=whole, total=total, per_second=_per_second(total, whole), locations=there)


def _per_second(value: float, ns: float) -> float | None:
    return float(value) * 1e9 / float(ns) if ns > 0 else None


def _computed(trace: Trace, found: Counted, work: Work, row: int) -> Computed:
    one = work.of(np.array([row]))
    return Computed(
        **asdict(blocks.location(trace, row)),
        time_ns=0.0 if one.time is None else float(one.time[0]),
        useful={name: float(value[found.tree.op < 0, row].sum()) for name, value in zip(found.names, found.values, strict=True)},
        ipc=one.ipc,
        frequency_ghz=one.frequency_ghz,
    )


def lines(found: Counters | None) -> list[str]:
    """Return the tables of counters: by call path, those with most of the first counter first, and computation by process."""
    if found is None:
        return ["no counters"]
    names = [words.shown(counter.name, 24) for counter in found.counters]
    out = ["counters by call path, those below left out", *_path_lines(found, names)]
    out += ["", "computation by process", *_process_lines(found, names)]
    facts = _facts(found)
    return [*out, "", *words.facts(facts)] if facts else out


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
        facts.append(("left out", f"{words.several(found.left_out, 'value')} of other locations, or read at any time"))
    return facts


def _path_lines(found: Counters, names: list[str]) -> list[str]:
    paths: dict[str, dict[int, CountedIn]] = {}
    for row, counter in enumerate(found.counters):
        for part in counter.call_paths:
            paths.setdefault(part.call_path, {})[row] = part
    order = sorted(paths, key=lambda path: [-paths[path][row].total if row in paths[path] else 0.0 for row in range(len(names))])
    cells = []
    for path in order[:_PATHS]:
        parts = paths[path]
        any_part = next(iter(parts.values()))
        each = [(_amount(parts[row].total), _amount(parts[row].per_second)) if row in parts else ("-", "-") for row in range(len(names))]
        cells.append([words.shown(path, _PATH), words.duration(round(any_part.time_ns)), *(cell for pair in each for cell in pair)])
    head = ["call path", "time", *(cell for name in names for cell in (name, "per s"))]
    return [*words.table(head, cells, spare=(len(head) - 1,)), *blocks.more(order, len(cells), " call paths")]


def _process_lines(found: Counters, names: list[str]) -> list[str]:
    rated = [title for key, title in _TITLES[:2] if getattr(found, key) is not None]
    cells = [
        [
            words.rank(row.rank, row.thread),
            words.duration(round(row.time_ns)),
            *(_amount(value) for value in row.useful.values()),
            *(_number(getattr(row, key)) for key, _ in _TITLES[:2] if getattr(found, key) is not None),
        ]
        for row in found.processes[:_PROCESSES]
    ]
    return [*words.table(["rank", "time", *names, *rated], cells), *blocks.more(found.processes, len(cells))]


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
    return ["", title, *words.table(["scaling", *names, "of it"], rows)]
