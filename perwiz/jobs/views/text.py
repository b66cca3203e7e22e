"""Reports as text for a terminal or a mail, made from their documents; names escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perwiz import words
from perwiz.jobs.store.query import Reference
from perwiz.jobs.store.series import Others
from perwiz.jobs.views import table
from perwiz.jobs.views.records import (
    ClassSums,
    FaultsDocument,
    IngestDocument,
    Job,
    JobDocument,
    ListDocument,
    PeriodDocument,
    Report,
)
from perwiz.jobs.views.table import Row, Split
from perwiz.report.blocks import Facts

_PROGRAM = 30
_SWITCHES = 12
_HOUR = 3600
HIDDEN = "latency and transfer that the time has no room for: hidden behind computation, or estimated too high"
NOTATION = "703e+5 is 703 * 10^5; idle is time less latency and transfer, 0 where these are hidden; 1 MB is 2^20 bytes"


def text(document: Report) -> str:
    """Return the text of any report."""
    if isinstance(document, PeriodDocument):
        return "\n".join(period(document))
    if isinstance(document, JobDocument):
        return "\n".join(job(document))
    return "\n".join(listing(document) if isinstance(document, ListDocument) else faults(document))


def seconds(value: float) -> str:
    """Return a time in s, of less than 1 s in the unit that fits it, in hours from one hour on: 57.60 us, 93.2 s, 1847 s, 425288 h."""
    if 0 < value < 1:
        return words.duration(round(value * 1e9))
    return (
        f"{value:.{3 if value < 1000 else 4}g} s"
        if value < _HOUR
        else f"{value / _HOUR:.2f} h"
        if value < 100 * _HOUR
        else f"{value / _HOUR:.0f} h"
    )


def period(document: PeriodDocument) -> list[str]:
    """Return a period's report: title, answer, header lines, overview, classes, users, critical jobs, the table of 13 columns."""
    if not document.jobs:
        return [f"{_title(document)}: no jobs", *_unusable(document)]
    facts = [*_header(document), *_overview(document.split), ("benchmark", document.benchmark)]
    out = [_title(document), "", *words.facts([("answer", document.diagnosis.text), *_next(document)])]
    out += ["", *words.facts(facts), *_unusable(document)]
    for title, classes in document.classes().items():
        out += ["", *_classes(title, classes, document)]
    if document.report == "month":
        out += ["", *_users(document)]
    if document.critical:
        out += ["", "critical jobs, those with most time in MPI first", *_jobs(document.critical)]
    return [*out, "", *_table(document.table)]


def _next(document: PeriodDocument) -> Facts:
    """Return what to do about the most critical job."""
    if not document.critical:
        return []
    worst = document.critical[0]
    return [("next", f"of {worst.job}, which is {worst.diagnosis.kind}: {worst.diagnosis.step}")]


def _title(document: PeriodDocument) -> str:
    chosen = "".join(f", {name} {words.shown(str(value), 40)}" for name, value in document.choice.items())
    return f"{words.shown(document.database)}: jobs of {document.period.label}{chosen}"


def _unusable(document: PeriodDocument) -> list[str]:
    count = document.unusable
    return words.facts([("unusable", f"{words.several(count, 'record')} in all: perwiz jobs faults lists them")]) if count else []


def _header(document: PeriodDocument) -> Facts:
    """Return the header lines of Fig. 12."""
    cpu, mpi = document.cpu_s, document.mpi_s
    of_machine = (
        f", {words.percent(cpu, document.available_s)} of {seconds(document.available_s)} available" if document.available_s else ""
    )
    before = document.before
    facts = [
        ("jobs", f"{document.jobs}, from {document.first_init} to {document.last_finalize}"),
        (
            "processes",
            f"{document.processes}, a job {document.processes_per_job:.1f}, weighted by CPU time {document.processes_weighted:.1f}",
        ),
        ("CPU time", f"{seconds(cpu)}{of_machine}"),
        ("in MPI", f"{seconds(mpi)}, {words.percent(mpi, cpu)} of the CPU time"),
        ("overhead", f"{seconds(document.overhead_s)} of counting, {document.overhead_s / cpu if cpu else 0:.2e} of the CPU time"),
        ("used", f"{words.several(document.routines, 'MPI routine')}, by {words.several(document.user_count, 'user')}"),
    ]
    if before:
        told = f"{words.several(before.jobs, 'job')}, {seconds(before.cpu_s)}, {words.percent(before.mpi_s, before.cpu_s)} in MPI"
        facts.append(("before", told))
    switches = [f"{words.shown(switch.name, 40)} in {switch.jobs}" for switch in document.switches[:_SWITCHES]]
    switches += [f"and {len(document.switches) - _SWITCHES} more"] if len(document.switches) > _SWITCHES else []
    facts += [("switches", f"{', '.join(switches)} jobs")] if switches else []
    facts += [("PMPI", f"used in {words.several(document.pmpi_jobs, 'job')}")] if document.pmpi_jobs else []
    return facts


def _overview(split: Split) -> Facts:
    """Return where the time in MPI went, Fig. 5."""
    told = [f"{name} {seconds(value)} ({words.percent(value, split.all)})" for name, value in split.parts.items() if value]
    hidden = [("hidden", f"{seconds(split.hidden)} of {HIDDEN}")] if split.hidden else []
    return [("split of it", ", ".join(told)), *hidden] if told else []


def _classes(title: str, rows: Sequence[ClassSums], document: PeriodDocument) -> list[str]:
    head = (title, "jobs", "of jobs", "CPU time", "of CPU", "in MPI", "PEs/job", "weighted")
    cells = [
        (
            row.name,
            str(row.jobs),
            words.percent(row.jobs, document.jobs),
            seconds(row.cpu_s),
            words.percent(row.cpu_s, document.cpu_s),
            words.percent(row.mpi_s, row.cpu_s),
            f"{row.processes_per_job:.1f}",
            f"{row.processes_weighted:.1f}",
        )
        for row in rows
    ]
    return words.table(head, cells)


def _users(document: PeriodDocument) -> list[str]:
    head = ("user", "jobs", "CPU time", "of CPU", "in MPI")
    rows = [
        (
            words.shown(user.name, 30),
            str(user.jobs),
            seconds(user.cpu_s),
            words.percent(user.cpu_s, document.cpu_s),
            words.percent(user.mpi_s, user.cpu_s),
        )
        for user in document.users
    ]
    out = words.table(head, rows)
    more = document.user_count - len(rows)
    out += [f"and {words.several(more, 'user')} more"] if more else []
    return out + [
        f"{100 * top.part:.1f} % of the CPU time was consumed by the top {words.several(top.users, 'user')}" for top in document.top
    ]


def _jobs(rows: Sequence[Job]) -> list[str]:
    head = ("job", "finalize", "user", "program", "PEs", "CPU time", "in MPI", "diagnosis")
    cells = [
        (
            row.job,
            row.finalize,
            words.shown(row.user, 16),
            words.shown(row.program, _PROGRAM),
            str(row.size),
            seconds(row.cpu_s),
            words.percent(row.mpi_s, row.cpu_s),
            row.diagnosis.kind,
        )
        for row in rows
    ]
    return words.table(head, cells, left=(0, 1, 2, 3, 7))


def _table(rows: Sequence[Row]) -> list[str]:
    return [*table.lines(rows), *words.wrapped(NOTATION)]


def job(document: JobDocument) -> list[str]:
    """Return the report of one job: its number, the answer, what ran, where the time in MPI went, its place among others, the table."""
    cpu = document.cpu_s
    answer = [("answer", document.diagnosis.text), *([("next", document.diagnosis.step)] if document.diagnosis.step else [])]
    facts = [
        ("program", words.shown(document.program)),
        ("processes", f"{document.size}" + (f", {document.threads} threads" if document.threads else "")),
        ("ran", f"{seconds(document.elapsed_s)}, until {document.finalize}, on {words.shown(document.machine, 40)}"),
        ("by", f"user {words.shown(document.user, 40)}, process {document.pid} of {words.shown(document.host, 40)}"),
        ("with", ", ".join(words.shown(word, 60) for word in (document.library, document.language) if word)),
        ("CPU time", f"{seconds(cpu)}; in MPI {seconds(document.mpi_s)}, {words.percent(document.mpi_s, cpu)}"),
        *_overview(document.split),
        ("overhead", f"{seconds(document.overhead_s)} of counting, {words.percent(document.overhead_s, cpu)}"),
        ("among others", _reference(document.reference)),
        *_counters(document),
        *_listed("switches", (f"{name}={value}" for name, value in document.environment.items())),
        *_listed("bytes:calls", (f"{name} {sizes}" for name, sizes in document.message_sizes.items())),
        ("benchmark", document.benchmark),
    ]
    return [f"job {document.job}", "", *words.facts(answer), "", *words.facts(facts), "", *_table(document.table)]


def _listed(label: str, texts: Iterable[str]) -> Facts:
    return [("" if k else label, words.shown(text, 100)) for k, text in enumerate(texts)]


def _reference(reference: Reference | None) -> str:
    if reference is None:
        return "no other job of this program and number of processes yet"
    lower, shorter = (words.percent(jobs, reference.others) for jobs in (reference.lower_share, reference.shorter))
    return (
        f"of {words.several(reference.others, 'other job')} of this program and number of processes {lower} have less of their time "
        f"in MPI, {shorter} are shorter; theirs in MPI: {spread(reference)}"
    )


def spread(shares: Reference | Others) -> str:
    """Return the least, mean and largest share of MPI of others in words."""
    least, mean, most = (words.percent(share, 1) for share in (shares.least, shares.mean, shares.most))
    return f"least {least}, mean {mean}, most {most}"


def _counters(document: JobDocument) -> Facts:
    return _listed("counters", (f"{name}: a process {a:.3e} outside MPI, {b:.3e} inside" for name, (a, b) in document.counters.items()))


def listing(document: ListDocument) -> list[str]:
    """Return the list of jobs."""
    return _jobs(document.jobs) if document.jobs else ["no jobs"]


def faults(document: FaultsDocument) -> list[str]:
    """Return what could not be used."""
    rows = [(row.seen, words.shown(row.place, 40), words.shown(row.reason, 90)) for row in document.faults]
    head = f"{words.several(document.count, 'record')} could not be used; --json shows what was in them"
    return [head, *words.table(("seen", "place", "reason"), rows, left=(0, 1, 2))] if rows else ["every record could be used"]


def ingested(document: IngestDocument) -> str:
    """Return what came of records."""
    out = [
        f"{words.shown(document.database)}: {words.several(document.added, 'job')} added, {document.known} known already, "
        f"{words.several(document.unusable, 'record')} unusable, from {words.several(document.files, 'file')}"
    ]
    if document.unknown_routines:
        out += words.facts(
            [("nobody knows", ", ".join(words.shown(name, 40) for name in document.unknown_routines) + ": kept, in the group other")]
        )
    return "\n".join(out)
