"""The table of 13 columns, and what it adds up to: Rabenseifner 2000, Fig. 4, 12 and 13.

Formulas are those of section VII, but column 12 is a quotient, as it is in the figures.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

from perwiz import words
from perwiz.jobs.benchmark import Benchmark
from perwiz.jobs.routines import GROUPS, SECTIONS, group
from perwiz.jobs.store.query import Used

_ORDER = {section: k for k, section in enumerate(dict.fromkeys(SECTIONS[name] for name in GROUPS))}


class Row(NamedTuple):
    """One routine. Column 1 is `name`; None is an empty cell."""

    section: str
    name: str
    jobs: int
    calls: float
    calls_per_process: float
    seconds: float
    us_per_call: float
    counted: float
    bytes: float
    bytes_per_call: float
    latency_us: float | None
    bandwidth_MB_per_s: float | None
    latency_s: float
    transfer_s: float | None
    idle_s: float | None
    rough: bool
    """Whether the estimate is a rough one, that counts apart."""


@dataclasses.dataclass(frozen=True)
class Split:
    """Where the time in MPI went, in s. The five add up to it."""

    other: float = 0
    """In routines without a benchmark: those that do not communicate."""
    latency: float = 0
    transfer: float = 0
    idle: float = 0
    """Waiting and synchronisation: what is left. Negative where transfers are hidden behind computation."""
    rough: float = 0

    @property
    def all(self) -> float:
        """Return the sum."""
        return self.other + self.latency + self.transfer + self.idle + self.rough


def rows(used: Sequence[Used], processes: float, benchmark: Benchmark) -> list[Row]:
    """Return a row per routine, by section, in each the routine with most time first; `processes` is the sum over all jobs."""
    found = [_row(one, processes, benchmark) for one in used]
    return sorted(found, key=lambda row: (_ORDER[row.section], -row.seconds, row.name))


def _row(one: Used, processes: float, benchmark: Benchmark) -> Row:
    calls, seconds, counted, amount, moved = one.counts
    late, transfer, idle = benchmark.split(one.name, calls, seconds, moved)
    per_call = (seconds / calls * 1e6, amount / calls) if calls else (0.0, 0.0)
    input_ = benchmark.latency.get(one.name), benchmark.bandwidth.get(one.name)
    head = (SECTIONS[group(one.name)], one.name, one.jobs, calls, calls / processes if processes else 0.0, seconds, per_call[0])
    return Row(*head, counted, amount, per_call[1], *input_, late, transfer, idle, one.name in benchmark.rough)


def split(table: Sequence[Row]) -> Split:
    """Return what the rows add up to."""
    parts = dict.fromkeys(("other", "latency", "transfer", "idle", "rough"), 0.0)
    for row in table:
        if row.rough:
            parts["rough"] += row.seconds
        elif row.idle_s is None:
            parts["other"] += row.seconds
        else:
            parts["latency"] += row.latency_s
            parts["transfer"] += row.transfer_s or 0
            parts["idle"] += row.idle_s
    return Split(**parts)


_HEAD = (
    "routine",
    "calls",
    "per PE",
    "time[s]",
    "[us]/call",
    "count",
    "bytes",
    "B/call",
    "lat[us]",
    "MB/s",
    "lat.[s]",
    "tran.[s]",
    "idle[s]",
)


def lines(table: Sequence[Row]) -> list[str]:
    """Return the table as text, a line between sections."""
    cells = [_cells(row) for row in table]
    text = words.table(_HEAD, cells)
    out, section = [text[0]], ""
    for row, line in zip(table, text[1:], strict=True):
        if row.section != section:
            out.append(f"- {row.section}")
            section = row.section
        out.append(line)
    return out


def _cells(row: Row) -> list[str]:
    whole_ = [whole(value) for value in (row.calls, row.calls_per_process)]
    counted = [whole(value) if value else "" for value in (row.counted, row.bytes, row.bytes_per_call)]
    given = [f"{value:.4g}" if value is not None else "" for value in (row.latency_us, row.bandwidth_MB_per_s)]
    parts = [real(value) if value is not None else "" for value in (row.latency_s, row.transfer_s, row.idle_s)]
    return [words.shown(row.name, 30), *whole_, real(row.seconds), whole(row.us_per_call), *counted, *given, *parts]


def whole(value: float) -> str:
    """Return a number without fraction: plain up to six digits, else as `real`."""
    return f"{value:.0f}" if abs(value) < 999_999.5 else real(value)


def real(value: float) -> str:
    """Return a number in the paper's notation of at most six characters: 703e+5 are 703 * 10**5; negative ones have two digits."""
    if not value:
        return "0"
    digits = 2 if value < 0 else 3
    mantissa, _, exponent = f"{abs(value):.{digits - 1}e}".partition("e")
    shift = int(exponent) - digits + 1
    sign, number = "-" if value < 0 else "", mantissa.replace(".", "")
    return f"{sign}{number}e{shift:+d}" if abs(shift) < 10 else f"{sign}{number}e{shift}"
