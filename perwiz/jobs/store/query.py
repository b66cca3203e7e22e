"""What the database answers: sums over the jobs that a choice names, and the jobs themselves. All times are seconds, summed over processes.

The sums are made by SQL, a row per routine or per class of jobs; nothing here reads a row per job unless jobs were asked for.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any, NamedTuple

from perwiz.jobs.record import Counts
from perwiz.jobs.store.database import SHIFT, Database

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
    size_class: int
    cpu_class: int
    used: int
    """Groups of routines, as bits of routines.GROUPS."""
    switches: int
    jobs: int
    processes: int
    cpu: float
    mpi: float
    overhead: float
    weighted: float
    """Sum of processes times CPU time."""
    began: float
    """Of the first job."""
    ended: float
    """Of the last job."""
    pmpi: int


class Used(NamedTuple):
    """Sums over the jobs that used one routine."""

    name: str
    jobs: int
    counts: Counts


class Share(NamedTuple):
    """What one user, program or machine has used."""

    name: str
    jobs: int
    processes: int
    cpu: float
    mpi: float


class Job(NamedTuple):
    """One job."""

    id: int
    machine: str
    host: str
    pid: int
    user: str
    program: str
    size: int
    language: str
    library: str
    """Name and version of the MPI."""
    began: float
    ended: float
    cpu: float
    mpi: float
    overhead: float

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
    rows = database.ask(f"SELECT {kinds}, {sums} FROM jobs j WHERE {_IN}{where} GROUP BY {kinds}", choice.ids() | values)
    return [Cell._make((*row[:5], int(row[5]), int(row[6]), *map(float, row[7:13]), int(row[13]))) for row in rows]


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
    return [Used(row[0], int(row[1]), Counts(*map(float, row[2:]))) for row in database.ask(sql, choice.ids() | values)]


def shares(database: Database, choice: Choice, of: str) -> list[Share]:
    """Return what each has used; `of` is user, program or machine; most CPU time first."""
    column = {"user": "login", "program": "program", "machine": "machine"}[of]
    where, values = choice.where()
    sums = "COUNT(*), SUM(j.size), SUM(j.cpu), SUM(j.mpi)"
    sql = f"SELECT j.{column}, {sums} FROM jobs j WHERE {_IN}{where} GROUP BY j.{column} ORDER BY SUM(j.cpu) DESC, j.{column}"
    rows = database.ask(sql, choice.ids() | values)
    return [Share(row[0], int(row[1]), int(row[2]), float(row[3]), float(row[4])) for row in rows]


def jobs(database: Database, choice: Choice, most: int, by: str = "time") -> list[Job]:
    """Return at most so many jobs; `by` time: the last first; by mpi: those first that spent most time in MPI."""
    where, values = choice.where()
    order = {"time": "j.id DESC", "mpi": "j.mpi DESC, j.id DESC"}[by]
    sql = f"SELECT {_JOB} FROM jobs j WHERE {_IN}{where} ORDER BY {order} LIMIT :most"
    return [Job(*row) for row in database.ask(sql, {**choice.ids(), **values, "most": most})]


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
    return [Job(*row) for row in database.ask(sql, {"first": first, "last": last})]


def of_job(database: Database, job: int) -> list[Used]:
    """Return the routines of one job."""
    sql = """SELECT r.name, c.calls, c.seconds, c.counted, c.bytes, c.moved FROM routines r CROSS JOIN counts c
        WHERE c.routine = r.id AND c.job = :job"""
    return [Used(row[0], 1, Counts(*row[1:])) for row in database.ask(sql, {"job": job})]


def details(database: Database, job: int) -> dict[str, Any]:
    """Return what is known of a job and not summed up: environment, and if they were counted threads, counters, sizes."""
    rows = database.ask("SELECT text FROM details WHERE job = :job", {"job": job})
    return dict(json.loads(rows[0][0])) if rows else {}


def reference(database: Database, job: Job) -> Reference:
    """Return where a job stands among all others of its program, number of processes and machine."""
    share = "(CASE WHEN j.cpu > 0 THEN j.mpi / j.cpu ELSE 0 END)"
    sums = f"COUNT(*), SUM(CASE WHEN {share} < :share THEN 1 ELSE 0 END), SUM(CASE WHEN j.cpu < :cpu THEN 1 ELSE 0 END)"
    same = "j.program = :program AND j.size = :size AND j.machine = :machine AND j.id <> :id"
    values = {"program": job.program, "size": job.size, "machine": job.machine, "id": job.id, "cpu": job.cpu}
    row = database.ask(
        f"SELECT {sums}, MIN({share}), AVG({share}), MAX({share}) FROM jobs j WHERE {same}",
        values | {"share": job.mpi / job.cpu if job.cpu else 0.0},
    )[0]
    lower_share, shorter, least, mean, most = (value or 0 for value in row[1:])
    return Reference(
        others=int(row[0]), lower_share=int(lower_share), shorter=int(shorter), least=float(least), mean=float(mean), most=float(most)
    )


def switches(database: Database) -> dict[int, list[str]]:
    """Return the names of the switches in each set."""
    return {number: names.split("\n") for number, names in database.ask("SELECT id, names FROM switches")}


def faults(database: Database, most: int) -> tuple[int, list[tuple[float, str, str, str]]]:
    """Return how many records could not be used, and of the last at most so many: when seen, place, reason, text."""
    count = int(database.ask("SELECT COUNT(*) FROM faults")[0][0])
    rows = database.ask("SELECT seen, place, reason, text FROM faults ORDER BY seen DESC, place LIMIT :most", {"most": most})
    return count, [(float(seen), place, reason, text) for seen, place, reason, text in rows]


def interval(database: Database) -> tuple[int, int] | None:
    """Return the seconds in which the first and the last job ended, None if there is no job."""
    first, last = database.ask("SELECT (SELECT MIN(id) FROM jobs), (SELECT MAX(id) FROM jobs)")[0]
    return None if first is None else (first >> SHIFT, last >> SHIFT)
