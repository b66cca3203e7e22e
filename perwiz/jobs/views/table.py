"""The table of 13 columns, and what it adds up to: Rabenseifner 2000, Fig. 4, 12 and 13.

Formulas are those of section VII, but column 12 is a quotient, as it is in the figures, and column 13 is never negative: where latency and
transfer are estimated at more than the time, nothing is waited for, and what is too much is told apart as hidden.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from perwiz import words
from perwiz.jobs.benchmark import Benchmark
from perwiz.jobs.routines import GROUPS, SECTIONS, group
from perwiz.jobs.store.query import Used
from perwiz.report.records import Natural, Record

_ORDER = {section: k for k, section in enumerate(dict.fromkeys(SECTIONS[name] for name in GROUPS))}


Seconds = Annotated[float, Meta(ge=0)]
_Count = Annotated[float, Meta(ge=0)]
PARTS = ("waiting", "transfer", "latency", "not communication", "only estimated")
"""Words for the parts of the time in MPI, in the order of Split.parts."""


class Row(Record, kw_only=True):
    """A routine of the table of 13 columns, the first of which is `name`; null is an empty cell."""

    section: str
    name: str
    jobs: Natural
    calls: _Count
    calls_per_process: _Count
    seconds: Seconds
    us_per_call: _Count
    counted: _Count
    """Sum of the COUNT arguments."""
    bytes: _Count
    bytes_per_call: _Count
    latency_us: _Count | None
    bandwidth_MB_per_s: _Count | None
    """MB of 2^20 bytes."""
    latency_s: Seconds
    transfer_s: Seconds | None
    idle_s: Seconds | None
    hidden_s: Seconds
    """What latency and transfer are estimated at beyond the time: hidden behind computation, or the estimate is too high."""
    rough: bool
    """Whether the estimate is a rough one, that counts apart."""


class Split(Record, rename=lambda name: f"{name}_s"):
    """Where the time in MPI went, in s; adds up to that of the table."""

    other: float = 0.0
    """In routines without a benchmark: those that do not communicate."""
    latency: float = 0.0
    transfer: float = 0.0
    idle: float = 0.0
    """Waiting and synchronisation: what is left."""
    rough: float = 0.0
    hidden: float = 0.0
    """What latency and transfer are estimated at beyond the time of their routines; in none of the others."""

    def plus(self, other: Split) -> Split:
        """Return the sums of each part."""
        return Split(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))

    @property
    def all(self) -> float:
        """Return the sum."""
        return self.other + self.latency + self.transfer + self.idle + self.rough

    @property
    def parts(self) -> dict[str, float]:
        """Return the parts under their words."""
        return dict(zip(PARTS, (self.idle, self.transfer, self.latency, self.other, self.rough), strict=True))


def rows(used: Sequence[Used], processes: float, benchmark: Benchmark) -> list[Row]:
    """Return a row per routine, by section, in each the routine with most time first; `processes` is the sum over all jobs."""
    rows = (_row(routine, processes, benchmark) for routine in used)
    return sorted(rows, key=lambda row: (_ORDER[row.section], -row.seconds, row.name))


def _row(routine: Used, processes: float, benchmark: Benchmark) -> Row:
    name, counts = routine.name, routine.counts
    late, transfer, idle = benchmark.split(name, counts.calls, counts.time, counts.moved)
    return Row(
        section=SECTIONS[group(name)],
        name=name,
        jobs=routine.jobs,
        calls=counts.calls,
        calls_per_process=counts.calls / processes if processes else 0.0,
        seconds=counts.time,
        us_per_call=counts.time / counts.calls * 1e6 if counts.calls else 0.0,
        counted=counts.counted,
        bytes=counts.bytes,
        bytes_per_call=counts.bytes / counts.calls if counts.calls else 0.0,
        latency_us=benchmark.latency.get(name),
        bandwidth_MB_per_s=benchmark.bandwidth.get(name),
        latency_s=late,
        transfer_s=transfer,
        idle_s=None if idle is None else max(0.0, idle),
        hidden_s=max(0.0, -(idle or 0.0)),
        rough=name in benchmark.rough,
    )


def split(table: Sequence[Row]) -> Split:
    """Return what the rows add up to."""
    return functools.reduce(Split.plus, map(parts, table), Split())


def parts(row: Row) -> Split:
    """Return where the time of a routine went; latency and transfer shrunk to the time where they are estimated at more."""
    if row.rough:
        return Split(rough=row.seconds)
    if row.idle_s is None:
        return Split(other=row.seconds)
    late, transfer = row.latency_s, row.transfer_s or 0.0
    shrunk = row.seconds / (late + transfer) if row.hidden_s else 1.0
    return Split(latency=late * shrunk, transfer=transfer * shrunk, idle=row.idle_s, hidden=row.hidden_s)


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


_SPARE = tuple(_HEAD.index(name) for name in ("lat[us]", "MB/s", "count", "B/call"))
"""Columns that a narrow terminal can do without: they are of the benchmark, or told by others."""


def lines(table: Sequence[Row]) -> list[str]:
    """Return the table as text, a line between sections."""
    out: list[words.Line] = []
    for section, rows in itertools.groupby(table, lambda row: row.section):
        out += [f"- {section}", *map(_cells, rows)]
    return words.table(_HEAD, out, spare=_SPARE)


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
