"""Pages that need no network and no script: one job, a user's week, a machine's month, a list of jobs.

Made from the documents of reports, and for their plots from `series`.
"""

from __future__ import annotations

import dataclasses

from perwiz import words
from perwiz.jobs.store import overview, query, series
from perwiz.jobs.store.database import Database
from perwiz.jobs.store.query import Cell, Choice, Job
from perwiz.jobs.store.series import Others, Step
from perwiz.jobs.views import html_parts as parts
from perwiz.jobs.views import plot as jobs_plot
from perwiz.jobs.views import text
from perwiz.jobs.views.diagnosis import Diagnosis
from perwiz.jobs.views.plot import Bar
from perwiz.jobs.views.records import JobDocument, ListDocument, PeriodDocument
from perwiz.report.blocks import Facts

_TIMES = ("in MPI", "outside MPI")
_BOTH = (parts.INSIDE, parts.OUTSIDE)


@dataclasses.dataclass(frozen=True)
class More:
    """What the page of a period shows beside the document."""

    step: str
    """day or week."""
    steps: list[Step]
    cells: list[Cell]
    others: Others | None = None


def more(database: Database, choice: Choice) -> More:
    """Return what the page of a period needs; `choice` is that of the document, its period included."""
    name, steps = series.steps(database, choice)
    others = series.others(series.users(database, choice), choice.user) if choice.user is not None else None
    return More(name, steps, query.cells(database, choice), others)


def job(document: JobDocument, shares: list[int]) -> str:
    """Return the page of a job; `shares` are series.shares."""
    cpu = document.cpu_s
    head = parts.tiles(
        [
            (str(document.size), "processes"),
            (text.seconds(document.elapsed_s), "from MPI_Init to MPI_Finalize"),
            (text.seconds(cpu), "CPU time"),
            (words.percent(document.mpi_s, cpu), "of that in MPI"),
        ]
    )
    about = [
        ("program", document.program),
        ("machine", f"{document.machine}, process {document.pid} of {document.host}"),
        ("user", document.user),
        ("ran", f"{document.init} to {document.finalize}"),
        ("with", ", ".join(word for word in (document.library, document.language) if word)),
        ("threads", str(document.threads or "")),
        ("overhead", f"{text.seconds(document.overhead_s)} of counting, {words.percent(document.overhead_s, cpu)}"),
        *((f"{name} of a process", f"{a:.3e} outside MPI, {b:.3e} inside") for name, (a, b) in document.counters.items()),
        *((name, value) for name, value in document.environment.items()),
    ]
    title = f"Job {document.job}: {words.shown(document.program, 60)}"
    body = [
        *_top(title, document.diagnosis),
        head,
        parts.facts(about),
        '<div class="columns">',
        parts.split(document),
        _place(document, shares),
        "</div>",
    ]
    return parts.page(title, [*body, parts.routines(document), _sizes(document), parts.statistics(document)])


def _top(title: str, diagnosis: Diagnosis, whose: str = "") -> list[str]:
    """Return the title, the answer and what to do next, about which job."""
    about = f" of {parts.escaped(whose)}" if whose else ""
    step = f'<p class="next">Next{about}: <code>{parts.escaped(diagnosis.step, 300)}</code></p>' if diagnosis.step else ""
    return [f"<h1>{parts.escaped(title, 200)}</h1>", f'<p class="answer">{parts.escaped(diagnosis.text, 300)}</p>', step]


def whose(document: PeriodDocument) -> str:
    """Return which job of a period the next step is of, and what it suffers from; empty without critical jobs."""
    return "".join(f"{job.job}, which is {job.diagnosis.kind}" for job in document.critical[:1])


def _place(document: JobDocument, shares: list[int]) -> str:
    """Return where a job stands among the others of its program and number of processes."""
    reference = document.reference
    if reference is None:
        return parts.section("Among others", "<p>No other job of this program and number of processes yet.</p>")
    lower, shorter = (words.percent(jobs, reference.others) for jobs in (reference.lower_share, reference.shorter))
    own = series.bin_of(document.mpi_s / document.cpu_s if document.cpu_s else 0)
    bars = [Bar(f"{100 * k // series.BINS}%", [number], words.several(number, "job")) for k, number in enumerate(shares)]
    plot = jobs_plot.standing("jobs by part of their time in MPI", bars, ["other jobs"], [parts.INSIDE], mark=own)
    told = (
        f"Of {words.several(reference.others, 'other job')} of this program and number of processes {lower} have less of their time "
        f"in MPI, {shorter} took less CPU time. In MPI: {text.spread(reference)}; "
        f"this job {words.percent(document.mpi_s, document.cpu_s)} (arrow)."
    )
    return parts.section("Among others", f"<p>{parts.escaped(told, 500)}</p>", plot, note="Other jobs by the part of their time in MPI.")


def _sizes(document: JobDocument) -> str:
    rows = [(name, str(sizes)) for name, sizes in document.message_sizes.items()]
    return parts.section("Calls by size", parts.facts(rows), note="Bytes and number of calls, as bytes:calls.") if rows else ""


def period(document: PeriodDocument, more: More) -> str:
    """Return the page of a user's or a machine's period."""
    choice = document.choice
    who = {"user": f"user {choice.get('user', '')}", "month": choice.get("machine") or "all machines"}[document.report]
    title = f"MPI jobs of {words.shown(who, 60)}, {document.period.label}"
    if not document.jobs:
        return parts.page(title, [f"<h1>{parts.escaped(title, 200)}</h1>", "<p>No jobs.</p>"])
    body = [
        *_top(title, document.diagnosis, whose(document)),
        _numbers(document),
        parts.facts(_about(document, more)),
        '<div class="columns">',
        parts.split(document),
        _time(more),
        "</div>",
    ]
    body += [parts.routines(document), '<div class="columns">', *_classes(document, more), "</div>"]
    if document.report == "month":
        body.append(_users(document))
    if document.critical:
        body.append(
            parts.section("Critical jobs", parts.jobs(document.critical), note="15 % of their time in MPI or more; most time in MPI first.")
        )
    return parts.page(title, [*body, parts.statistics(document), _tables(document)])


def _numbers(document: PeriodDocument) -> str:
    users = [(str(document.user_count), "users")] if document.report == "month" else []
    available = [(words.percent(document.cpu_s, document.available_s), "of the machine")] if document.available_s else []
    mpi = (words.percent(document.mpi_s, document.cpu_s), "of that in MPI")
    first = [(str(document.jobs), "jobs"), *users, (text.seconds(document.cpu_s), "CPU time"), *available, mpi]
    return parts.tiles([*first, (f"{document.processes_weighted:.1f}", "processes, weighted by CPU time")])


def _about(document: PeriodDocument, more: More) -> Facts:
    cpu, choice = document.cpu_s, {name: value for name, value in document.choice.items() if name not in ("since", "until")}
    return [
        ("jobs", f"from {document.first_init} to {document.last_finalize}"),
        ("only", ", ".join(f"{name} {value}" for name, value in choice.items())),
        ("before", before(document)),
        ("other users", compared(more.others) if more.others else ""),
        ("processes", f"{document.processes}, a job {document.processes_per_job:.1f}"),
        ("overhead", f"{text.seconds(document.overhead_s)} of counting, {document.overhead_s / cpu if cpu else 0:.2e} of the CPU time"),
        ("routines", f"{document.routines} used" + (f"; PMPI in {words.several(document.pmpi_jobs, 'job')}" if document.pmpi_jobs else "")),
        ("switches", ", ".join(f"{switch.name} in {switch.jobs}" for switch in document.switches[:12])),
        ("unusable", f"{words.several(document.unusable, 'record')} in all" if document.unusable else ""),
    ]


def before(document: PeriodDocument) -> str:
    """Return what changed since the period before, empty if there were no jobs in that."""
    last = document.before
    if not last:
        return ""
    now, then = (sums.mpi_s / sums.cpu_s if sums.cpu_s else 0.0 for sums in (document, last))
    change = f"{'+' if now >= then else '-'}{100 * abs(now - then):.1f} points in MPI since then"
    return f"{words.several(last.jobs, 'job')}, {text.seconds(last.cpu_s)}, {words.percent(then, 1)} in MPI; {change}"


def compared(others: Others) -> str:
    """Return where a user stands among others."""
    return f"{others.lower} of {words.several(others.users, 'other user')} spent a smaller part in MPI; theirs: {text.spread(others)}"


def _time(more: More) -> str:
    bars = [
        Bar(
            step.label,
            [step.mpi / 3600, max(0.0, step.cpu - step.mpi) / 3600],
            f"{words.several(step.jobs, 'job')}, {words.percent(step.mpi, step.cpu)} in MPI",
        )
        for step in more.steps
    ]
    plot = jobs_plot.standing(f"CPU time per {more.step}", bars, _TIMES, _BOTH)
    return parts.section(f"CPU time per {more.step}", plot, note=f"Hours of CPU time of the jobs that ended in each {more.step}, UTC.")


def _classes(document: PeriodDocument, more: More) -> list[str]:
    cpu, count = document.cpu_s, document.jobs
    sizes = [
        Bar(
            row.name,
            [100 * v / cpu if cpu else 0 for v in (row.mpi_s, max(0, row.cpu_s - row.mpi_s))],
            "",
            100 * row.jobs / count,
        )
        for row in document.sizes
    ]
    spoken = [
        Bar(
            row.name,
            [row.mpi_s, max(0, row.cpu_s - row.mpi_s)],
            f"{words.percent(row.cpu_s, cpu)}, {words.percent(row.mpi_s, row.cpu_s)} in MPI",
        )
        for row in document.languages
    ]
    out = [
        parts.section(
            "By number of processes",
            jobs_plot.standing("by number of processes", sizes, _TIMES, _BOTH, " %", "of the jobs"),
            note="Bars: percent of the CPU time; rings: percent of the jobs.",
        ),
        parts.section("By language", jobs_plot.lying("by language", spoken, _TIMES, _BOTH)),
    ]
    languages, classes = series.classes(more.cells)
    for name, shown, whole in (("cpu", "CPU time", cpu), ("jobs", "jobs", count)):
        bars = [Bar(label, _spoken(sums, languages, name, whole)) for label, sums in classes]
        title = f"{shown[0].upper()}{shown[1:]} by CPU time of a job and language"
        out.append(
            parts.section(title, jobs_plot.standing(title, bars, languages, _hues(languages), " %"), note=f"Percent of the {shown}.")
        )
    return out


def _spoken(sums: dict[str, overview.Sums], languages: list[str], name: str, whole: float) -> list[float]:
    return [100 * getattr(sums[language], name) / whole if language in sums and whole else 0.0 for language in languages]


def _hues(languages: list[str]) -> list[int]:
    return [{"C": 1, "Fortran": 0}.get(language, 3) for language in languages]


def _users(document: PeriodDocument) -> str:
    """Return who used most (Fig. 9)."""
    cpu = document.cpu_s
    bars = [
        Bar(
            words.shown(user.name, 30),
            [user.mpi_s, max(0, user.cpu_s - user.mpi_s)],
            f"{words.percent(user.cpu_s, cpu)}, {words.percent(user.mpi_s, user.cpu_s)} in MPI",
        )
        for user in document.users
    ]
    note = "; ".join(f"{100 * top.part:.1f} % of the CPU time by the top {words.several(top.users, 'user')}" for top in document.top)
    more = document.user_count - len(bars)
    plot = jobs_plot.lying("top users by CPU time", bars, _TIMES, _BOTH)
    return parts.section("Top users", plot, note=f"{note}{f'; {more} more' if more else ''}.")


def _tables(document: PeriodDocument) -> str:
    """Return the classes as tables."""
    out = []
    for title, classes in document.classes().items():
        rows = [
            (
                row.name,
                str(row.jobs),
                words.percent(row.jobs, document.jobs),
                text.seconds(row.cpu_s),
                words.percent(row.cpu_s, document.cpu_s),
                words.percent(row.mpi_s, row.cpu_s),
                f"{row.processes_per_job:.1f}",
            )
            for row in classes
        ]
        out.append(
            parts.section(f"By {title}", parts.table((title, "jobs", "of jobs", "CPU time", "of CPU", "in MPI", "processes/job"), rows))
        )
    return f'<div class="columns">{"".join(out)}</div>'


def listing(document: ListDocument, title: str) -> str:
    """Return the page of a list of jobs."""
    note = f"Diagnoses by what calls take at best, {words.shown(document.benchmark, 300)}."
    body = parts.section("Jobs", parts.jobs(document.jobs), note=note) if document.jobs else "<p>No jobs.</p>"
    return parts.page(title, [f"<h1>{parts.escaped(title, 200)}</h1>", body])


def of_job(database: Database, job_: Job, document: JobDocument) -> str:
    """Return the page of a job in the database."""
    return job(document, series.shares(database, job_))
