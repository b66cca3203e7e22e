"""Records into the database: each job once, what is broken beside them with its place and reason."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import time
from collections.abc import Callable, Iterable, Sequence

from perwiz.jobs.record import Record, plain
from perwiz.jobs.routines import OTHER, group, mask
from perwiz.jobs.store.database import SHIFT, Database, Row, rows
from perwiz.jobs.store.stream import Fault

_JSON = json.JSONEncoder(separators=(",", ":")).encode
BATCH = 5000
"""Records written at a time; others may write between two batches."""
_ASKED = 500
_JOBS = (
    "id, identity, machine, host, pid, login, program, size, language, library, began, ended, cpu, mpi, overhead,"
    " size_class, cpu_class, used, switches, pmpi"
)
_COUNTS = "routine, job, calls, seconds, counted, bytes, moved"


@dataclasses.dataclass
class Ingested:
    """What came of some records."""

    added: int = 0
    known: int = 0
    """Were in the database before."""
    faults: int = 0
    """Could not be used; kept in the table `faults`."""
    unknown: set[str] = dataclasses.field(default_factory=set)
    """Routines that nobody knows; they are kept and belong to the group `other`."""
    first_fault: Fault | None = None

    @property
    def seen(self) -> int:
        """Return how many records there were."""
        return self.added + self.known + self.faults


def ingest(
    database: Database, found: Iterable[Record | Fault | None], machine: str = "", progress: Callable[[int], None] = lambda seen: None
) -> Ingested:
    """Return what came of the records, which are in the database then. `machine` stands for the host's name where a record says none.

    They are written in batches; at a None, and if reading them fails or is interrupted, what is there so far.
    """
    done = Ingested()
    batch: list[Record | Fault] = []
    try:
        for one in found:
            if one is not None:
                batch.append(one)
            if len(batch) >= BATCH or (one is None and batch):
                full, batch = batch, []
                _write(database, full, machine, done)
                progress(done.seen)
    finally:
        if batch:
            _write(database, batch, machine, done)
            progress(done.seen)
    return done


def _write(database: Database, batch: Iterable[Record | Fault], machine: str, done: Ingested) -> None:
    """Write a batch, whole or not at all, and count it."""
    records = [one for one in batch if isinstance(one, Record)]
    faults = [one for one in batch if isinstance(one, Fault)]
    prepared = _prepared(records)
    with database.writing():
        _add_faults(database, faults)
        added, unknown = _add_jobs(database, prepared, machine)
    done.added += added
    done.known += len(records) - added
    done.faults += len(faults)
    done.unknown |= unknown
    done.first_fault = done.first_fault or (faults[0] if faults else None)


def _prepared(records: Iterable[Record]) -> dict[bytes, Record]:
    """Return the records by identity, the first of each."""
    out: dict[bytes, Record] = {}
    for record in records:
        out.setdefault(record.identity(), record)
    return out


def _add_faults(database: Database, faults: Sequence[Fault]) -> None:
    keyed = {hashlib.blake2b(f"{one.reason}\0{one.text}".encode(errors="replace"), digest_size=16).digest(): one for one in faults}
    known = _known(database, "faults", "id", list(keyed))
    now = time.time()
    new = [(key, now, plain(one.place), plain(one.reason), one.text.replace("\0", "?")) for key, one in keyed.items() if key not in known]
    database.add("faults", "id, seen, place, reason, text", new)


def _known(database: Database, table: str, column: str, keys: Sequence[bytes] | Sequence[int]) -> set[bytes | int]:
    """Return which of the keys are in a table."""
    out: set[bytes | int] = set()
    for start in range(0, len(keys), _ASKED):
        part = {f"k{k}": key for k, key in enumerate(keys[start : start + _ASKED])}
        names = ", ".join(f":{name}" for name in part)
        out |= {row[0] for row in database.ask(f"SELECT {column} FROM {table} WHERE {column} IN ({names})", part)}
    return out


def _add_jobs(database: Database, records: dict[bytes, Record], machine: str) -> tuple[int, set[str]]:
    """Return how many are new, and the routines that nobody knows."""
    old = _known(database, "jobs", "identity", list(records))
    new = {key: record for key, record in records.items() if key not in old}
    numbers = _numbers(database, new)
    routines, unknown = _routines(database, {name for record in new.values() for name in record.routines})
    switches = _switches(database, {tuple(sorted(record.environment)) for record in new.values()})
    jobs, counts, details = [], [], []
    for (key, record), job in zip(new.items(), numbers, strict=True):
        jobs.append(_job(job, key, record, machine or record.host, switches[tuple(sorted(record.environment))]))
        counts += [(routines[name], job, *row) for name, row in record.routines.items()]
        if record.environment or record.more:
            details.append((job, _JSON({"environment": record.environment, **record.more})))
    counts.sort()
    database.add("jobs", _JOBS, jobs)
    database.add("counts", _COUNTS, counts)
    database.add("details", "job, text", details)
    return len(new), unknown


def _numbers(database: Database, records: dict[bytes, Record]) -> list[int]:
    """Return a number for each job that no other has, in the order of their ends."""
    wanted = [(int(one.ended) << SHIFT) | (int.from_bytes(key[:4], "big") >> (32 - SHIFT)) for key, one in records.items()]
    taken = _known(database, "jobs", "id", wanted)
    out = []
    for number in wanted:
        while number in taken:
            number += 1
            taken |= _known(database, "jobs", "id", [number])
        taken.add(number)
        out.append(number)
    return out


def _routines(database: Database, names: set[str]) -> tuple[dict[str, int], set[str]]:
    """Return the number of each routine, new ones added, and those that nobody knows."""
    known = dict(rows(database, tuple[str, int], "SELECT name, id FROM routines"))
    new = {name: len(known) + k + 1 for k, name in enumerate(sorted(names - set(known)))}
    database.add("routines", "id, name", [(number, name) for name, number in new.items()])
    return known | new, {name for name in names if group(name) == OTHER}


def _switches(database: Database, sets: set[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    """Return the number of each set of switches, new ones added."""
    numbers = {names: _number("\n".join(names)) if names else 0 for names in sets}
    known = _known(database, "switches", "id", list(numbers.values()))
    new = [(number, "\n".join(names)) for names, number in numbers.items() if names and number not in known]
    database.add("switches", "id, names", new)
    return numbers


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(errors="replace"), digest_size=8).digest(), "big") >> 1


def _job(number: int, key: bytes, one: Record, machine: str, switches: int) -> Row:
    classes = (size_class(one.size), cpu_class(one.all))
    head = (number, key, one.machine or plain(machine), one.host, one.pid, one.user, one.program, one.size, one.language, one.mpi)
    return (*head, one.began, one.ended, one.all, one.inside, one.overhead, *classes, mask(one.routines), switches, int(one.pmpi))


def size_class(size: int) -> int:
    """Return the class of a number of processes: 2 k of 2**k processes, 2 k + 1 of more but less than 2**(k + 1)."""
    power = size.bit_length() - 1
    return 2 * power + (size != 1 << power)


def cpu_class(seconds: float) -> int:
    """Return the class of a job's CPU time: k of 10**k to less than 10**(k + 1) seconds, 0 of all below 10."""
    return max(0, math.floor(math.log10(seconds))) if seconds >= 1 else 0
