"""Reports as JSON documents (`jobs.schema.json`): one job, a period of a user or of a machine, a list of jobs. Text is made from these."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from perwiz.jobs.benchmark import Benchmark
from perwiz.jobs.period import Period
from perwiz.jobs.record import date
from perwiz.jobs.store import overview, query
from perwiz.jobs.store.database import Database
from perwiz.jobs.store.overview import Sums
from perwiz.jobs.store.query import Choice, Job
from perwiz.jobs.views import diagnosis, table
from perwiz.jobs.views.table import Row, Split

Document = dict[str, Any]
VERSION = 1
_USERS, _CRITICAL = 20, 10


def header(report: str, database: Database) -> Document:
    """Return what every document begins with."""
    return {"version": VERSION, "command": "jobs", "report": report, "database": database.place}


def period(
    database: Database, report: str, span: Period | None, choice: Choice, benchmark: Benchmark, processors: int = 0, most: int = _CRITICAL
) -> Document:
    """Return the report of a period, None: of all time; `report` is month or user, `choice` what it is restricted to beside the period.

    `processors` of the machine tell how much time was available, 0: unknown. At most `most` critical jobs are listed.
    """
    chosen = within(choice, span)
    cells, used = query.cells(database, chosen), query.used(database, chosen)
    sums = overview.total(cells)
    rows = table.rows(used, sums.processes, benchmark)
    parts = table.split(rows)
    users = query.shares(database, chosen, "user")
    worst = critical(database, chosen, benchmark, max(1, most))
    found = diagnosis.diagnose(sums.cpu, sums.mpi, parts)
    began, ended = min((cell.began for cell in cells), default=None), max((cell.ended for cell in cells), default=None)
    interval = span.seconds if span and span.since > 0 else (ended - began if began is not None and ended is not None else 0)
    return {
        **header(report, database),
        "period": {
            "label": span.label if span else "all",
            "from": date(span.since) if span else None,
            "to": date(span.until) if span else None,
        },
        "first_init": None if began is None else date(began),
        "last_finalize": None if ended is None else date(ended),
        "choice": {name: value for name, value in vars(choice).items() if value not in (None, 0)},
        "benchmark": benchmark.label,
        **_sums(sums),
        "overhead_s": sums.overhead,
        "available_s": processors * interval or None,
        "routines": len(rows),
        "pmpi_jobs": sum(cell.pmpi for cell in cells),
        "split": _split(parts),
        "diagnosis": _diagnosed(found) | {"step": worst[0]["diagnosis"]["step"] if worst else ""},
        "before": _before(database, span, choice),
        "languages": _named(overview.by_language(cells)),
        "sizes": _named(overview.by_size(cells)),
        "cpu_times": _named(overview.by_cpu(cells)),
        "groups": _named(overview.by_group(cells)),
        "switches": [{"name": name, "jobs": count} for name, count in overview.by_switch(cells, query.switches(database)).items()],
        "user_count": len(users),
        "users": [{"name": u.name, "jobs": u.jobs, "processes": u.processes, "cpu_s": u.cpu, "mpi_s": u.mpi} for u in users[:_USERS]],
        "top": [{"part": part, "users": count} for part, count in overview.top(users)],
        "critical": worst[:most],
        "unusable": query.faults(database, 0)[0],
        "table": [row_document(row) for row in rows],
    }


def within(choice: Choice, span: Period | None, share: float = 0) -> Choice:
    """Return a choice restricted to a period, None: of all time; and to jobs with at least such a share of MPI."""
    chosen = dataclasses.replace(choice, critical=share or choice.critical)
    return dataclasses.replace(chosen, since=span.since, until=span.until) if span else chosen


def _sums(sums: Sums) -> Document:
    return {
        "jobs": sums.jobs,
        "processes": sums.processes,
        "processes_per_job": sums.average,
        "processes_weighted": sums.weighted_average,
        "cpu_s": sums.cpu,
        "mpi_s": sums.mpi,
    }


def _named(found: dict[str, Sums]) -> list[Document]:
    return [{"name": name, **_sums(sums)} for name, sums in found.items()]


def _split(parts: Split) -> Document:
    return {f"{name}_s": value for name, value in vars(parts).items()}


def _diagnosed(found: diagnosis.Diagnosis) -> Document:
    return found._asdict()


def _before(database: Database, span: Period | None, choice: Choice) -> Document | None:
    """Return the sums of the period before, None if there were no jobs."""
    if span is None or not span.since:
        return None
    sums = overview.total(query.cells(database, within(choice, span.before())))
    return _sums(sums) if sums.jobs else None


def critical(database: Database, choice: Choice, benchmark: Benchmark, most: int) -> list[Document]:
    """Return the critical jobs that spent most time in MPI, most first, each with its diagnosis."""
    wanted = within(choice, None, choice.critical or diagnosis.CRITICAL)
    return [job_line(database, job, benchmark) for job in query.jobs(database, wanted, most, by="mpi")]


def job_line(database: Database, job: Job, benchmark: Benchmark) -> Document:
    """Return what a list says of a job."""
    parts = table.split(table.rows(query.of_job(database, job.id), job.size, benchmark))
    found = diagnosis.diagnose(job.cpu, job.mpi, parts, job.program, job.size)
    return _job(job) | {"diagnosis": _diagnosed(found)}


def _job(job: Job) -> Document:
    return {
        "job": job.name,
        **{name: getattr(job, name) for name in ("machine", "host", "pid", "user", "program", "size", "language", "library")},
        "init": date(job.began),
        "finalize": date(job.ended),
        "elapsed_s": job.cpu / job.size,
        "cpu_s": job.cpu,
        "mpi_s": job.mpi,
        "overhead_s": job.overhead,
    }


def job(database: Database, job: Job, benchmark: Benchmark) -> Document:
    """Return the report of one job."""
    rows = table.rows(query.of_job(database, job.id), job.size, benchmark)
    parts = table.split(rows)
    where = query.reference(database, job)
    kept = query.details(database, job.id)
    return {
        **header("job", database),
        "benchmark": benchmark.label,
        **_job(job),
        "split": _split(parts),
        "diagnosis": _diagnosed(diagnosis.diagnose(job.cpu, job.mpi, parts, job.program, job.size)),
        "reference": where._asdict() if where.others else None,
        "environment": kept.get("environment", {}),
        "threads": kept.get("threads"),
        "counters": kept.get("counters", {}),
        "message_sizes": kept.get("sizes", {}),
        "table": [row_document(row) for row in rows],
    }


def listing(database: Database, jobs: Sequence[Job], benchmark: Benchmark) -> Document:
    """Return a list of jobs."""
    return {**header("top", database), "benchmark": benchmark.label, "jobs": [job_line(database, one, benchmark) for one in jobs]}


def faults(database: Database, most: int) -> Document:
    """Return what could not be used, at most so many."""
    count, rows = query.faults(database, most)
    found = [{"seen": date(seen), "place": place, "reason": reason, "text": text} for seen, place, reason, text in rows]
    return {**header("faults", database), "count": count, "faults": found}


def row_document(row: Row) -> Document:
    """Return a row of the table of 13 columns."""
    return row._asdict()
