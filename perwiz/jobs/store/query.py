"""What the database answers: sums over the jobs that a choice names, and the jobs themselves. All times are seconds, summed over processes.

The sums are made by SQL, a row per routine or per class of jobs; nothing here reads a row per job unless jobs were asked for.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from perwiz.errors import DatabaseError
from perwiz.formats.typed import Mistyped, NoJson, parsed, typed
from perwiz.jobs.record import Amount, Counts, Details
from perwiz.jobs.store.database import SHIFT, Database, rows
from perwiz.report.records import Natural, Positive

_LAST = (1 << 63) - 1
_ESCAPE = str.maketrans({"!": "!!", "%": "!%", "_": "!_"})


@dataclasses.dataclass(frozen=True)
class Choice:
    """Which jobs; what is None or 0 does not restrict."""

    since: int | None = None
    """Seconds since 1970: jobs that ended then or later."""
    until: int | None = None
    """And before this."""
    machine: str | None = None
    user: str | None = None
    program: str | None = None
    """As in argv[0], or the last part of that."""
    language: str | None = None
    size: int | None = None
    cpu: float = 0
    """Least CPU time of a job."""
    critical: float = 0
    """Least share of MPI in a job's time."""
    least_size: int = 0
    """Least number of processes of a job."""

    def ids(self) -> dict[str, int]:
        """Return the first and the last number that a job in this interval can have."""
        first = (self.since or 0) << SHIFT
        return {"first": first, "last": _LAST if self.until is None else (self.until << SHIFT) - 1}

    def where(self) -> tuple[str, dict[str, Any]]:
        """Return a condition on the table jobs, named j, beside the interval; and its values."""
        equal = {"machine": self.machine, "login": self.user, "language": self.language, "size": self.size}
        terms = [f"j.{name} = :{name}" for name, value in equal.items() if value is not None]
        values: dict[str, Any] = {name: value for name, value in equal.items() if value is not None}
        if self.program is not None:
            terms.append("(j.program = :program OR j.program LIKE :path ESCAPE '!')")
            values |= {"program": self.program, "path": f"%/{self.program.translate(_ESCAPE)}"}
        if self.cpu:
            terms.append("j.cpu >= :cpu")
            values["cpu"] = self.cpu
        if self.critical:
            terms.append("j.mpi >= :critical * j.cpu AND j.cpu > 0")
            values["critical"] = self.critical
        if self.least_size:
            terms.append("j.size >= :least_size")
            values["least_size"] = self.least_size
        return "".join(f" AND {term}" for term in terms), values


class Cell(NamedTuple):
    """Sums over the jobs of one kind: all of them have the first five columns in common."""

    language: str
    size_class: Natural
    cpu_class: Natural
    used: Natural
    """Groups of routines, as bits of routines.GROUPS."""
    switches: Natural
    jobs: Positive
    processes: Positive
    cpu: Amount
    mpi: Amount
    overhead: Amount
    weighted: Amount
    """Sum of processes times CPU time."""
    began: Amount
    """Of the first job."""
    ended: Amount
    """Of the last job."""
    pmpi: Natural


class Used(NamedTuple):
    """Sums over the jobs that used one routine."""

    name: str
    jobs: int
    counts: Counts


class Share(NamedTuple):
    """What one user, program or machine has used."""

    name: str
    jobs: Positive
    processes: Positive
    cpu: Amount
    mpi: Amount


class Job(NamedTuple):
    """One job."""

    id: Natural
    machine: str
    host: str
    pid: int
    user: str
    program: str
    size: Positive
    language: str
    library: str
    """Name and version of the MPI."""
    began: Amount
    ended: Amount
    cpu: Amount
    mpi: Amount
    overhead: Amount

    @property
    def name(self) -> str:
        """Return the number by which reports name it."""
        return f"{self.id:016x}"


@dataclasses.dataclass(frozen=True)
class Reference:
    """Where a job stands among the others of its program and number of processes on its machine."""

    others: int
    lower_share: int
    """Of these, how many have a smaller share of MPI."""
    shorter: int
    """And how many took less CPU time."""
    least: float
    """Share of MPI of the others."""
    mean: float
    """Of these shares."""
    most: float


_COLUMNS = "id machine host pid login program size language library began ended cpu mpi overhead"
_COUNTS = "calls seconds counted bytes moved"
_JOB = ", ".join(f"j.{name}" for name in _COLUMNS.split())
_SUMS = ", ".join(f"SUM(c.{name})" for name in _COUNTS.split())
_IN = "j.id BETWEEN :first AND :last"


def cells(database: Database, choice: Choice) -> list[Cell]:
    """Return the jobs chosen as sums per kind of job, in no order; nothing if there is none."""
    where, values = choice.where()
    kinds = "j.language, j.size_class, j.cpu_class, j.used, j.switches"
    sums = "COUNT(*), SUM(j.size), SUM(j.cpu), SUM(j.mpi), SUM(j.overhead), SUM(j.size * j.cpu), MIN(j.began), MAX(j.ended), SUM(j.pmpi)"
    return rows(database, Cell, f"SELECT {kinds}, {sums} FROM jobs j WHERE {_IN}{where} GROUP BY {kinds}", choice.ids() | values)


def used(database: Database, choice: Choice) -> list[Used]:
    """Return the routines that the jobs chosen used, with sums, in no order."""
    where, values = choice.where()
    few = choice.user is not None or choice.program is not None
    # SQLite keeps the order of CROSS JOIN: by job where they are few, else by routine, which is how `counts` lies on the disk.
    if few:
        tables = "jobs j CROSS JOIN routines r CROSS JOIN counts c"
        match = f"{_IN}{where} AND c.routine = r.id AND c.job = j.id"
    else:
        tables = f"routines r CROSS JOIN counts c{' CROSS JOIN jobs j' if where else ''}"
        match = f"c.routine = r.id AND c.job BETWEEN :first AND :last{f' AND j.id = c.job{where}' if where else ''}"
    sql = f"SELECT r.name, COUNT(*), {_SUMS} FROM {tables} WHERE {match} GROUP BY r.id, r.name"
    return _used(database, sql, choice.ids() | values)


def shares(database: Database, choice: Choice, of: str) -> list[Share]:
    """Return what each has used; `of` is user, program or machine; most CPU time first."""
    column = {"user": "login", "program": "program", "machine": "machine"}[of]
    where, values = choice.where()
    sums = "COUNT(*), SUM(j.size), SUM(j.cpu), SUM(j.mpi)"
    sql = f"SELECT j.{column}, {sums} FROM jobs j WHERE {_IN}{where} GROUP BY j.{column} ORDER BY SUM(j.cpu) DESC, j.{column}"
    return rows(database, Share, sql, choice.ids() | values)


def jobs(database: Database, choice: Choice, most: int, by: str = "time") -> list[Job]:
    """Return at most so many jobs; `by` time: the last first; by mpi: those first that spent most time in MPI."""
    where, values = choice.where()
    order = {"time": "j.id DESC", "mpi": "j.mpi DESC, j.id DESC"}[by]
    sql = f"SELECT {_JOB} FROM jobs j WHERE {_IN}{where} ORDER BY {order} LIMIT :most"
    return rows(database, Job, sql, {**choice.ids(), **values, "most": most})


def named(database: Database, name: str) -> list[Job]:
    """Return the jobs whose number begins like this, at most two."""
    if not name or len(name) > 16 or any(c not in "0123456789abcdef" for c in name):
        return []
    first, last = int(name.ljust(16, "0"), 16), int(name.ljust(16, "f"), 16)
    if first > _LAST:
        return []
    return jobs_between(database, first, min(last, _LAST))


def jobs_between(database: Database, first: int, last: int) -> list[Job]:
    """Return the jobs with these numbers, at most two."""
    sql = f"SELECT {_JOB} FROM jobs j WHERE {_IN} ORDER BY j.id LIMIT 2"
    return rows(database, Job, sql, {"first": first, "last": last})


def of_job(database: Database, job: int) -> list[Used]:
    """Return the routines of one job."""
    sql = """SELECT r.name, 1, c.calls, c.seconds, c.counted, c.bytes, c.moved FROM routines r CROSS JOIN counts c
        WHERE c.routine = r.id AND c.job = :job"""
    return _used(database, sql, {"job": job})


def _used(database: Database, sql: str, values: dict[str, Any]) -> list[Used]:
    """Return the answer to a query for a name, how many jobs, and counts."""
    found = rows(database, tuple[str, Positive, Amount, Amount, Amount, Amount, Amount], sql, values)
    return [Used(name, jobs, Counts(*counts)) for name, jobs, *counts in found]


def details(database: Database, job: int) -> Details:
    """Return what is known of a job and not summed up: environment, and if they were counted threads, counters, sizes."""
    for (text,) in rows(database, tuple[str], "SELECT text FROM details WHERE job = :job", {"job": job}):
        try:
            return typed(parsed(text), Details)
        except (NoJson, Mistyped) as error:
            raise DatabaseError(f"{database.place}: damaged: details of job {job:016x}: {error}, must be a database of jobs") from None
    return {}


def reference(database: Database, job: Job) -> Reference:
    """Return where a job stands among all others of its program, number of processes and machine."""
    share = "(CASE WHEN j.cpu > 0 THEN j.mpi / j.cpu ELSE 0 END)"
    columns = (
        f"SUM(CASE WHEN {share} < :share THEN 1 ELSE 0 END)",
        "SUM(CASE WHEN j.cpu < :cpu THEN 1 ELSE 0 END)",
        *(f"{name}({share})" for name in ("MIN", "AVG", "MAX")),
    )
    same = "j.program = :program AND j.size = :size AND j.machine = :machine AND j.id <> :id"
    values = {"program": job.program, "size": job.size, "machine": job.machine, "id": job.id, "cpu": job.cpu}
    sql = f"SELECT COUNT(*), {', '.join(f'COALESCE({column}, 0)' for column in columns)} FROM jobs j WHERE {same}"
    values["share"] = job.mpi / job.cpu if job.cpu else 0.0
    (found,) = rows(database, tuple[Natural, Natural, Natural, Amount, Amount, Amount], sql, values)
    return Reference(*found)


def switches(database: Database) -> dict[int, list[str]]:
    """Return the names of the switches in each set."""
    return {number: names.split("\n") for number, names in rows(database, tuple[Natural, str], "SELECT id, names FROM switches")}


def faults(database: Database, most: int) -> tuple[int, list[tuple[float, str, str, str]]]:
    """Return how many records could not be used, and of the last at most so many: when seen, place, reason, text."""
    count = int(database.ask("SELECT COUNT(*) FROM faults")[0][0])
    sql = "SELECT seen, place, reason, text FROM faults ORDER BY seen DESC, place LIMIT :most"
    return count, rows(database, tuple[Amount, str, str, str], sql, {"most": most})


def interval(database: Database) -> tuple[int, int] | None:
    """Return the seconds in which the first and the last job ended, None if there is no job."""
    sql = "SELECT (SELECT MIN(id) FROM jobs), (SELECT MAX(id) FROM jobs)"
    ((first, last),) = rows(database, tuple[Natural | None, Natural | None], sql)
    return None if first is None or last is None else (first >> SHIFT, last >> SHIFT)
