"""One job's record: what was counted from MPI_Init to MPI_Finalize, as sums over its processes; and its JSON form.

The JSON form is one object a line, `jobs_record.schema.json`. Times are seconds, dates are seconds since 1970 (in JSON: ISO 8601).
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, TypedDict

import msgspec

from perwiz.errors import PerwizError
from perwiz.formats.typed import Mistyped, NoJson, parsed, typed
from perwiz.jobs.routines import BUFFERS, SENDS
from perwiz.report import records
from perwiz.report.records import Natural, Positive

VERSION = 1
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}\Z")
_FUTURE = 86_400
"""A clock may be ahead by so many seconds: a day covers every mistaken time zone."""
_LARGEST = 1e18
_MOST_TEXT = 4096
_ROUNDED, _SECOND = 1.02, 2.0
"""Of two times with three digits each one may be larger by so much; and of two dates in whole seconds, so many seconds apart."""


class RecordError(PerwizError):
    """A record breaks a rule; the message says what is there and what must be, the place is known to who reads it."""


Amount = Annotated[float, msgspec.Meta(ge=0, le=1e300)]
"""A sum over processes or jobs."""


class Counts(NamedTuple):
    """What a job's processes did in one routine."""

    calls: Amount
    time: Amount
    """Seconds."""
    counted: Amount
    """Sum of COUNT arguments."""
    bytes: Amount
    """Column 7 of the paper's table, as counted."""
    moved: Amount
    """Bytes that a transfer time is to be reckoned from: messages instead of buffers, all partners instead of one."""


class More(TypedDict, total=False):
    """What is kept and not summed up over jobs."""

    threads: Natural
    counters: dict[str, tuple[Amount, Amount]]
    sizes: dict[str, str]


class Details(More, total=False):
    """And beside it the switches of the MPI that were set."""

    environment: dict[str, str]


class Record(NamedTuple):
    """One job. Times and counts are sums over its processes."""

    machine: str
    host: str
    pid: int
    user: str
    program: str
    size: int
    language: str
    """C or Fortran; empty: not said."""
    mpi: str
    """Name and version of the MPI."""
    began: float
    """Seconds since 1970."""
    ended: float
    all: float
    """Time from MPI_Init to MPI_Finalize, times processes."""
    inside: float
    """Time in MPI."""
    overhead: float
    routines: dict[str, Counts]
    environment: dict[str, str]
    """Switches of the MPI that were set."""
    more: More
    pmpi: bool = False
    dated: bool = True
    """Whether the record says its year."""

    def identity(self) -> bytes:
        """Return 16 bytes that are the same for the same job in whatever form it comes.

        The machine and the host do not count: syslog may know the host by another name, or not at all.
        """
        when = (self.began, self.ended) if self.dated else (_yearless(self.ended),)
        head = (self.pid, self.user, self.program, self.size, *when, self.all, self.inside)
        text = "\0".join(map(str, (*head, *(f"{name} {counts[0]!r} {counts[1]!r}" for name, counts in self.routines.items()))))
        return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).digest()


_Routine = Annotated[str, msgspec.Meta(pattern="^[a-z][a-z0-9_]{0,62}$")]
_Amount = Annotated[float, msgspec.Meta(ge=0)]
_MEANING = "Calls, seconds, sum of COUNT, bytes, bytes moved."
_Counts = Annotated[tuple[_Amount, _Amount, _Amount, _Amount, _Amount], msgspec.Meta(description=_MEANING)]


class Line(records.Record, kw_only=True):
    """One object a line. All figures are sums over the processes."""

    perwiz_record: Literal[1] = 1
    machine: str | msgspec.UnsetType = msgspec.UNSET
    host: str
    pid: int
    user: str
    program: str
    size: Positive
    language: str
    """C, Fortran, or empty: not known."""
    mpi: str
    """Name and version of the MPI."""
    began: str
    """MPI_Init, ISO 8601; without a zone UTC."""
    ended: str
    """MPI_Finalize."""
    all_s: _Amount
    """From MPI_Init to MPI_Finalize, times processes."""
    mpi_s: _Amount
    overhead_s: _Amount | msgspec.UnsetType = msgspec.UNSET
    pmpi: bool | msgspec.UnsetType = msgspec.UNSET
    routines: Mapping[_Routine, _Counts] | msgspec.UnsetType = msgspec.UNSET
    environment: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    threads: Natural | msgspec.UnsetType = msgspec.UNSET
    counters: dict[str, tuple[float, float]] | msgspec.UnsetType = msgspec.UNSET
    sizes: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


def _yearless(time: float) -> str:
    return datetime.datetime.fromtimestamp(time, datetime.UTC).strftime("%m-%d %H:%M:%S")


def checked(record: Record, now: float) -> Record:
    """Return the record. Raises RecordError if it has no processes, a negative time, is of the future, cannot be, or contradicts itself."""
    if not 1 <= record.size <= 10**9:
        raise RecordError(f"{record.size} processes, must be at least 1")
    for name, value in (("all", record.all), ("mpi", record.inside), ("overhead", record.overhead)):
        _check_number(f"time of {name}", value, "s")
    if not record.began <= record.ended:
        raise RecordError(f"finalize at {date(record.ended)}, before init at {date(record.began)}")
    if not 0 <= record.ended <= now + _FUTURE:
        raise RecordError(f"ended at {date(record.ended)}, must be before now, {date(now)}")
    if not -(2**62) < record.pid < 2**62:
        raise RecordError("a process number of more than 62 bits")
    for name, values in record.more.get("counters", {}).items():
        for value in values:
            _check_number(f"counter {name}", value)
    for name, counts in record.routines.items():
        if not _NAME.match(name):
            raise RecordError(f"routine {name[:40]!r}, must be a name in lower case")
        calls, seconds, counted, amount, partners = counts
        if not (
            0 <= calls < _LARGEST
            and 0 <= seconds < _LARGEST
            and 0 <= counted < _LARGEST
            and 0 <= amount < _LARGEST
            and 0 <= partners < _LARGEST
        ):
            for what, value in zip(Counts._fields, counts, strict=True):
                _check_number(f"{what} of {name}", value)
    _check_times(record)
    return record


def _check_times(record: Record) -> None:
    """Raise RecordError where a part takes longer than the whole. Threads of a process may be in MPI at a time."""
    wall = (record.ended - record.began + _SECOND) * record.size
    if record.all > wall * _ROUNDED:
        span = f"{record.size} processes from {date(record.began)} to {date(record.ended)}"
        raise RecordError(f"time of all is {record.all:g} s, must be at most {wall:g} s, that of {span}")
    most = record.all * max(1.0, record.more.get("threads", 0) / record.size)
    if record.inside > most * _ROUNDED:
        raise RecordError(f"time of mpi is {record.inside:g} s, must be at most that of all, {most:g} s")
    spent = sum(counts[1] for counts in record.routines.values())
    if spent > record.inside * _ROUNDED:
        raise RecordError(f"time of all routines is {spent:g} s, must be at most that of mpi, {record.inside:g} s")


def _check_number(what: str, value: float, unit: str = "") -> None:
    if not 0 <= value < _LARGEST:
        raise RecordError(f"{what} is {value:g}{f' {unit}' if unit else ''}, must be a number from 0 to {_LARGEST:g}")


def date(time: float) -> str:
    """Return a time as ISO 8601 in UTC; of one that no calendar has, its number."""
    try:
        return datetime.datetime.fromtimestamp(time, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return f"{time:g}"


def timestamp(text: str) -> float:
    """Return ISO 8601 as seconds since 1970; without a zone it is UTC. Raises RecordError."""
    try:
        moment = datetime.datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()
    except (ValueError, OverflowError):
        raise RecordError(f"date {text[:40]!r}, must be as 2026-01-31T12:00:00Z") from None


def moved(name: str, bytes: float, size: int, sent: float) -> float:
    """Return the bytes that move of those counted in one of the paper's records, where a job has sent so many in all.

    Receives count their buffers: at most what was sent. Alltoall counts one partner: times the size of the job. (Section VII.)
    """
    if name in BUFFERS:
        return min(bytes, sent)
    return bytes * size if name == "alltoall" else bytes


def sent(routines: dict[str, tuple[float, float, float, float]]) -> float:
    """Return the bytes of all messages a job has sent; the values are calls, time, count, bytes."""
    return sum(row[3] for name, row in routines.items() if name in SENDS)


def from_json(text: str) -> Record:
    """Return the record of a line of JSON. Raises RecordError."""
    try:
        value = parsed(text)
        if not isinstance(value, dict) or value.get("perwiz_record") != VERSION:
            raise RecordError(f'no "perwiz_record": {VERSION}, must be a record of this version')
        if unknown := [key for key in value if key not in Line.__struct_fields__]:
            raise RecordError(f"has {unknown[0][:40]!r}, must be one of {', '.join(Line.__struct_fields__)}")
        return _from_line(typed(value, Line), typed(value, More))
    except NoJson as error:
        raise RecordError(f"{error}, must be JSON") from None
    except Mistyped as error:
        raise RecordError(str(error)) from None


def _from_line(line: Line, more: More) -> Record:
    return Record(
        machine=plain(line.machine or ""),
        host=plain(line.host),
        pid=line.pid,
        user=plain(line.user),
        program=plain(line.program),
        size=line.size,
        language=plain(line.language),
        mpi=plain(line.mpi),
        began=timestamp(line.began),
        ended=timestamp(line.ended),
        all=line.all_s,
        inside=line.mpi_s,
        overhead=line.overhead_s or 0.0,
        routines={name: Counts(*counts) for name, counts in (line.routines or {}).items()},
        environment={plain(name): plain(text) for name, text in (line.environment or {}).items()},
        more=more,
        pmpi=line.pmpi or False,
    )


def plain(text: str) -> str:
    """Return a text that every database takes: no NUL, no half characters, not endless."""
    return text[:_MOST_TEXT].replace("\0", "?").encode("utf-8", "replace").decode("utf-8")


def to_json(record: Record) -> str:
    """Return the line of JSON of a record."""
    line = Line(
        machine=record.machine,
        host=record.host,
        pid=record.pid,
        user=record.user,
        program=record.program,
        size=record.size,
        language=record.language,
        mpi=record.mpi,
        began=date(record.began),
        ended=date(record.ended),
        all_s=record.all,
        mpi_s=record.inside,
        overhead_s=record.overhead,
        pmpi=record.pmpi,
        routines=record.routines,
        environment=record.environment,
        **record.more,
    )
    return json.dumps(msgspec.to_builtins(line))
