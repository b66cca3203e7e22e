"""`perwiz jobs`: the counter records of all jobs of a centre in a database, and what it says of jobs, users and the machine."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from perwiz.commands import files, jobs_mail, options

if TYPE_CHECKING:
    from perwiz.errors import TraceError
    from perwiz.jobs.benchmark import Benchmark
    from perwiz.jobs.period import Period
    from perwiz.jobs.record import Record
    from perwiz.jobs.store.database import Database
    from perwiz.jobs.store.query import Choice, Job
    from perwiz.jobs.store.stream import Fault
    from perwiz.jobs.views.records import JobDocument, ListDocument, PeriodDocument, Report

HELP = "keep the counter records of all jobs in a database, and report on jobs, users and the machine"
_ENDING = """
Records are what `perwiz record --profile` writes: to files, or line by line to syslog; the records of the T3E's library (Rabenseifner 2000,
Fig. 3); or JSON, one object a line (perwiz/jobs/jobs_record.schema.json). What stands between them is passed over. A job counts once, in
whatever form and however often it comes. A record that cannot be used is kept with its place and the reason: `perwiz jobs faults`.

--db is an SQLite file, or with `pip install 'perwiz[jobs]'` a PostgreSQL server: postgresql://user@host/name. Several may write at a time.
Days, weeks and months are in UTC; dates of syslog, which have neither zone nor year, are taken as UTC and as the last that are past.

Time in MPI is split into latency, transfer and waiting by what a call and a byte take at best: --benchmark names a file of that, or
cray-t3e; --model derives it from a LogGPS model (perwiz calibrate). Neither: from the model default, good for comparing only.
The answer: fine, if less than 15 % of the time is in MPI. Else of the time in MPI imbalance, if at least 50 % is waiting; set-up, if at
least 50 % is in routines that do not communicate; else latency-bound or transfer-bound, whichever is more.

examples:
  perwiz jobs ingest --db jobs.sqlite --machine hawk /var/log/perwiz/
  tail -F /var/log/syslog | perwiz jobs ingest --db jobs.sqlite -
  perwiz jobs month --db jobs.sqlite --month 2026-10 --machine hawk --processors 4096
  perwiz jobs user 1012 --db jobs.sqlite --week 2026-W43 --html user.html
  perwiz jobs top --db jobs.sqlite --from 2026-10-01 --program heat -n 20
  perwiz jobs job 1ab3a52ec35b --db jobs.sqlite
  perwiz jobs mail --db jobs.sqlite --week 2026-W43 --domain example.org

exit codes: 0 done, 2 usage, or there is no such database or job, 3 records or database cannot be read, 4 done but some records are unusable
"""
_ACTIONS = {
    "ingest": "put records into the database",
    "job": "one job: what it did in MPI, and where it stands among others of its program and size",
    "user": "a user's week, or other period",
    "month": "all jobs of a month, or other period: overview, classes, users, critical jobs, the table of 13 columns",
    "top": "the critical jobs that spent most time in MPI; with --all any jobs, the last first",
    "faults": "the records that could not be used",
    "mail": "mail to users about their jobs of a week or month",
}
_VARIABLE = "PERWIZ_JOBS"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz jobs`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for action, meaning in _ACTIONS.items():
        sub = actions.add_parser(action, help=meaning, description=meaning)
        default = os.environ.get(_VARIABLE) or "perwiz-jobs.sqlite"
        where = f"SQLite file or postgresql:// URL (default: {_VARIABLE} in the environment, else perwiz-jobs.sqlite)"
        sub.add_argument("--db", default=default, metavar="FILE|URL", help=where)
        if action == "ingest":
            sub.add_argument(
                "records", nargs="+", metavar="PATH", help="files or directories of records, also packed by gzip; - is standard input"
            )
            sub.add_argument("--machine", metavar="NAME", help="the machine the jobs ran on (default: the host's name)")
        if action == "job":
            sub.add_argument("job", metavar="JOB", help="number of a job, as lists name it, or its beginning")
        if action == "user":
            sub.add_argument("user", metavar="USER", help="number or name")
        if action in ("user", "month", "top"):
            _choice(sub, action)
        if action in ("top", "faults", "month", "user"):
            options.rows(sub, 20 if action in ("top", "faults") else 10, "of them")
        if action in ("job", "user", "month", "top"):
            what = "a page" if action == "top" else "a page with plots"
            sub.add_argument("--html", metavar="FILE", help=f"write {what}, too; it needs no network and no script")
        if action in ("job", "user", "month", "top", "mail"):
            sub.add_argument("--benchmark", metavar="NAME|FILE", help="latency and bandwidth of each routine: cray-t3e or a TOML file")
            sub.add_argument("--model", metavar="NAME|FILE", help="or the LogGPS model to derive them from (default: default)")
        options.answer(sub)
        if action == "mail":
            jobs_mail.arguments(sub)
    options.ending(parser, _ENDING)


def _choice(parser: argparse.ArgumentParser, action: str) -> None:
    default = {"user": " (default: the week of the last job)", "month": " (default: the month of the last job)"}.get(action, "")
    parser.add_argument("--week", metavar="WEEK", help=f"jobs that ended in this week, as 2026-W43{default}")
    parser.add_argument("--month", metavar="MONTH", help="or in this month, as 2026-10")
    parser.add_argument("--from", dest="since", metavar="DAY", help="or from this day on, as 2026-10-01")
    parser.add_argument("--to", dest="until", metavar="DAY", help="and until that day is over")
    parser.add_argument("--machine", metavar="NAME", help="jobs of this machine")
    parser.add_argument("--program", metavar="NAME", help="jobs of this program, with its path or without")
    if action != "user":
        parser.add_argument("--user", metavar="USER", help="jobs of this user, number or name")
    parser.add_argument("--language", choices=("C", "Fortran"), help="jobs of this language")
    parser.add_argument("--size", type=options.count, metavar="N", help="jobs of this number of processes")
    parser.add_argument("--least", type=options.count, default=0, metavar="S", help="jobs with this CPU time at least, in s (default 0)")
    if action == "top":
        parser.add_argument("--all", action="store_true", help="not only critical jobs; the last first")
    else:
        parser.add_argument("--processors", type=options.count, default=0, metavar="N", help="of the machine, to tell its use")


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after doing it and printing the report."""
    from perwiz.jobs.store.database import open_database
    from perwiz.jobs.views import text
    from perwiz.jobs.views.records import FaultsDocument

    if args.action == "ingest":
        return _ingest(args)
    benchmark = _benchmark(args)
    if args.action == "mail" and benchmark is not None:
        return jobs_mail.run(args, benchmark)
    if getattr(args, "html", None):
        files.check([args.html], [args.db])
    database = open_database(args.db)
    try:
        report = _report(args, database, benchmark)
        if getattr(args, "html", None) and not isinstance(report, FaultsDocument):
            _write_page(args, database, report)
    finally:
        database.close()
    return files.finish(args, report, text.text, isinstance(report, FaultsDocument) and report.count > 0)


def _ingest(args: argparse.Namespace) -> int:
    from perwiz import words
    from perwiz.errors import UNREADABLE
    from perwiz.jobs.store import ingest, stream
    from perwiz.jobs.store.database import open_database
    from perwiz.jobs.views import document as report
    from perwiz.jobs.views import text
    from perwiz.progress import Progress

    sources = stream.files(args.records)
    unread: list[TraceError] = []
    database = open_database(args.db, write=True)
    try:
        with Progress(args.db, noun="record") as progress:
            done = ingest.ingest(database, _all(sources, unread), args.machine or "", progress)
        document = report.ingest(database, done, len(sources))
    finally:
        database.close()
    complaints = [*map(str, unread), *([f"{done.first_fault.place}: {done.first_fault.reason}"] if done.first_fault else [])]
    if complaints:
        more = f"; {words.several(len(complaints) - 1, 'complaint')} more" if len(complaints) > 1 else ""
        print(f"perwiz: {words.shown(complaints[0], 1000)}{more}", file=sys.stderr)
    code = files.finish(args, document, text.ingested, done.faults > 0)
    return UNREADABLE if unread else code


def _all(sources: list[str], unread: list[TraceError]) -> Iterator[Record | Fault | None]:
    """Yield what is in the files. One that cannot be read does not keep the others out; it is told at the end."""
    from perwiz.errors import TraceError
    from perwiz.jobs.store import stream

    for path in sources:
        try:
            yield from stream.read(path)
        except TraceError as error:
            unread.append(error)


def _benchmark(args: argparse.Namespace) -> Benchmark | None:
    """Return the benchmark asked for, None if the command needs none."""
    from perwiz.errors import UsageError
    from perwiz.jobs import benchmark

    if not hasattr(args, "benchmark"):
        return None
    if args.benchmark and args.model:
        raise UsageError("--benchmark and --model: must be one of them")
    return benchmark.read(args.benchmark) if args.benchmark else benchmark.derived(args.model or "default")


def _report(args: argparse.Namespace, database: Database, benchmark: Benchmark | None) -> Report:
    from perwiz.jobs.store import query
    from perwiz.jobs.views import document as report

    if args.action == "faults" or benchmark is None:
        return report.faults(database, args.rows)
    if args.action == "job":
        return report.job(database, _job(database, args.job), benchmark)
    choice, span = _chosen(args), _period(args, database)
    if args.action == "top":
        from perwiz.jobs.views.diagnosis import CRITICAL

        within = report.within(choice, span, 0 if args.all else CRITICAL)
        return report.listing(database, query.jobs(database, within, args.rows, "time" if args.all else "mpi"), benchmark)
    return report.period(database, args.action, span, choice, benchmark, args.processors, args.rows)


def _write_page(args: argparse.Namespace, database: Database, document: JobDocument | PeriodDocument | ListDocument) -> None:
    from perwiz.jobs.views import document as report
    from perwiz.jobs.views import html
    from perwiz.jobs.views.records import JobDocument, ListDocument

    if isinstance(document, JobDocument):
        page = html.of_job(database, _job(database, args.job), document)
    elif isinstance(document, ListDocument):
        page = html.listing(document, "Last jobs" if args.all else "Critical jobs")
    else:
        page = html.period(document, html.more(database, report.within(_chosen(args), _period(args, database))))
    files.write({args.html: lambda path: _write(path, page)})


def _write(path: str, page: str) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(page)


def _job(database: Database, name: str) -> Job:
    from perwiz.errors import UsageError
    from perwiz.jobs.store import query

    jobs = query.named(database, name.lower())
    if len(jobs) != 1:
        what = (
            f"{jobs[0].name} and {jobs[1].name} begin like that, must be one" if jobs else "no such job; perwiz jobs top --all lists some"
        )
        raise UsageError(f"{database.place}: job {name}: {what}")
    return jobs[0]


def _chosen(args: argparse.Namespace) -> Choice:
    from perwiz.jobs.store.query import Choice

    user = None if args.user is None else _user(args.user)
    return Choice(None, None, args.machine, user, args.program, args.language, args.size, args.least)


def _user(name: str) -> str:
    """Return the number of a user that this machine knows by name, which is what records have; else the name."""
    import pwd

    try:
        return str(pwd.getpwnam(name).pw_uid)
    except KeyError:
        return name


def _period(args: argparse.Namespace, database: Database) -> Period | None:
    from perwiz.jobs import period
    from perwiz.jobs.store import query

    span = period.chosen(args.week, args.month, args.since, args.until)
    last = query.interval(database)
    if span is not None or args.action == "top" or last is None:
        return span
    return period.week_of(last[1]) if args.action == "user" else period.month_of(last[1])
