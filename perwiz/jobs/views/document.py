"""Reports as documents: one job, a period of a user or machine, a list of jobs, what is unusable. Text and pages are made from these."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

from msgspec.structs import replace

from perwiz.jobs.benchmark import Benchmark
from perwiz.jobs.period import Period
from perwiz.jobs.record import date
from perwiz.jobs.store import overview, query
from perwiz.jobs.store.database import Database
from perwiz.jobs.store.ingest import Ingested
from perwiz.jobs.store.overview import Sums
from perwiz.jobs.store.query import Choice
from perwiz.jobs.views import diagnosis, table
from perwiz.jobs.views.records import (
    ClassSums,
    Fault,
    FaultsDocument,
    IngestDocument,
    Interval,
    Job,
    JobDocument,
    JobSums,
    ListDocument,
    PeriodDocument,
    Switch,
    TopUsers,
    User,
)

_USERS, _CRITICAL = 20, 10


def period(
    database: Database,
    report: Literal["month", "user"],
    span: Period | None,
    choice: Choice,
    benchmark: Benchmark,
    processors: int = 0,
    most: int = _CRITICAL,
) -> PeriodDocument:
    """Return the report of a period, None: of all time; `choice` is what it is restricted to beside the period.

    `processors` of the machine tell how much time was available, 0: unknown. At most `most` critical jobs are listed.
    """
    chosen = within(choice, span)
    cells, used = query.cells(database, chosen), query.used(database, chosen)
    sums = overview.total(cells)
    rows = table.rows(used, sums.processes, benchmark)
    parts = table.split(rows)
    users = query.shares(database, chosen, "user")
    worst = critical(database, chosen, benchmark, max(1, most))
    began, ended = min((cell.began for cell in cells), default=None), max((cell.ended for cell in cells), default=None)
    interval = span.seconds if span and span.since > 0 else (ended - began if began is not None and ended is not None else 0)
    return PeriodDocument(
        report=report,
        database=database.place,
        period=Interval(span.label, date(span.since), date(span.until)) if span else Interval("all", None, None),
        first_init=None if began is None else date(began),
        last_finalize=None if ended is None else date(ended),
        choice={name: value for name, value in vars(choice).items() if value not in (None, 0)},
        benchmark=benchmark.label,
        **_sums(sums),
        overhead_s=sums.overhead,
        available_s=processors * interval or None,
        routines=len(rows),
        pmpi_jobs=sum(cell.pmpi for cell in cells),
        split=parts,
        diagnosis=replace(diagnosis.diagnose(sums.cpu, sums.mpi, parts), step=worst[0].diagnosis.step if worst else ""),
        before=_before(database, span, choice),
        languages=_classes(overview.by_language(cells)),
        sizes=_classes(overview.by_size(cells)),
        cpu_times=_classes(overview.by_cpu(cells)),
        groups=_classes(overview.by_group(cells)),
        switches=[Switch(name, jobs) for name, jobs in overview.by_switch(cells, query.switches(database)).items()],
        user_count=len(users),
        users=[User(user.name, user.jobs, user.processes, user.cpu, user.mpi) for user in users[:_USERS]],
        top=[TopUsers(part, count) for part, count in overview.top(users)],
        critical=worst[:most],
        unusable=query.faults(database, 0)[0],
        table=rows,
    )


def within(choice: Choice, span: Period | None, share: float = 0) -> Choice:
    """Return a choice restricted to a period, None: of all time; and to jobs with at least such a share of MPI."""
    chosen = dataclasses.replace(choice, critical=share or choice.critical)
    return dataclasses.replace(chosen, since=span.since, until=span.until) if span else chosen


def _sums(sums: Sums) -> dict[str, Any]:
    """Return the fields of JobSums."""
    return {
        "jobs": sums.jobs,
        "processes": sums.processes,
        "processes_per_job": sums.average,
        "processes_weighted": sums.weighted_average,
        "cpu_s": sums.cpu,
        "mpi_s": sums.mpi,
    }


def _classes(sums: dict[str, Sums]) -> list[ClassSums]:
    return [ClassSums(name=name, **_sums(of_class)) for name, of_class in sums.items()]


def _before(database: Database, span: Period | None, choice: Choice) -> JobSums | None:
    """Return the sums of the period before, None if there were no jobs."""
    if span is None or not span.since:
        return None
    sums = overview.total(query.cells(database, within(choice, span.before())))
    return JobSums(**_sums(sums)) if sums.jobs else None


def critical(database: Database, choice: Choice, benchmark: Benchmark, most: int) -> list[Job]:
    """Return the critical jobs that spent most time in MPI, most first, each with its diagnosis."""
    wanted = within(choice, None, choice.critical or diagnosis.CRITICAL)
    return [_listed(database, job, benchmark) for job in query.jobs(database, wanted, most, by="mpi")]


def _listed(database: Database, job: query.Job, benchmark: Benchmark) -> Job:
    """Return what a list says of a job."""
    parts = table.split(table.rows(query.of_job(database, job.id), job.size, benchmark))
    return Job(**_job(job), diagnosis=diagnosis.diagnose(job.cpu, job.mpi, parts, job.program, job.size))


def _job(job: query.Job) -> dict[str, Any]:
    """Return the fields that the documents of one job and of many have in common."""
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


def job(database: Database, job: query.Job, benchmark: Benchmark) -> JobDocument:
    """Return the report of one job."""
    rows = table.rows(query.of_job(database, job.id), job.size, benchmark)
    parts = table.split(rows)
    reference = query.reference(database, job)
    kept = query.details(database, job.id)
    return JobDocument(
        database=database.place,
        benchmark=benchmark.label,
        **_job(job),
        split=parts,
        diagnosis=diagnosis.diagnose(job.cpu, job.mpi, parts, job.program, job.size),
        reference=reference if reference.others else None,
        environment=kept.get("environment", {}),
        threads=kept.get("threads"),
        counters=kept.get("counters", {}),
        message_sizes=kept.get("sizes", {}),
        table=rows,
    )


def listing(database: Database, jobs: Sequence[query.Job], benchmark: Benchmark) -> ListDocument:
    """Return a list of jobs."""
    return ListDocument(database=database.place, benchmark=benchmark.label, jobs=[_listed(database, job, benchmark) for job in jobs])


def faults(database: Database, most: int) -> FaultsDocument:
    """Return what could not be used, at most so many."""
    count, rows = query.faults(database, most)
    listed = [Fault(date(seen), place, reason, text) for seen, place, reason, text in rows]
    return FaultsDocument(database=database.place, count=count, faults=listed)


def ingest(database: Database, done: Ingested, files: int) -> IngestDocument:
    """Return what came of the records in so many files."""
    return IngestDocument(
        database=database.place,
        added=done.added,
        known=done.known,
        unusable=done.faults,
        files=files,
        unknown_routines=sorted(done.unknown),
    )
