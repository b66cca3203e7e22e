"""Pages that need no network and no script: one job, a user's week, a machine's month.

Made from the documents of `report`, and for their plots from `series`.
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
from perwiz.jobs.views.document import Document
from perwiz.jobs.views.plot import Bar

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
    found = series.others(series.users(database, choice), choice.user) if choice.user is not None else None
    return More(name, steps, query.cells(database, choice), found)


def job(block: Document, shares: list[int]) -> str:
    """Return the page of a job; `shares` are series.shares."""
    cpu = block["cpu_s"]
    head = parts.tiles(
        [
            (str(block["size"]), "processes"),
            (text.seconds(block["elapsed_s"]), "from MPI_Init to MPI_Finalize"),
            (text.seconds(cpu), "CPU time"),
            (words.percent(block["mpi_s"], cpu), "of that in MPI"),
        ]
    )
    about = [
        ("program", block["program"]),
        ("machine", f"{block['machine']}, process {block['pid']} of {block['host']}"),
        ("user", block["user"]),
        ("ran", f"{block['init']} to {block['finalize']}"),
        ("with", ", ".join(word for word in (block["library"], block["language"]) if word)),
        ("threads", str(block["threads"] or "")),
        ("overhead", f"{text.seconds(block['overhead_s'])} of counting, {words.percent(block['overhead_s'], cpu)}"),
        *((f"{name} of a process", f"{a:.3e} outside MPI, {b:.3e} inside") for name, (a, b) in block["counters"].items()),
        *((name, value) for name, value in block["environment"].items()),
    ]
    title = f"Job {block['job']}: {words.shown(block['program'], 60)}"
    body = [*_top(title, block), head, parts.facts(about), '<div class="columns">', parts.split(block), _place(block, shares), "</div>"]
    return parts.page(title, [*body, parts.routines(block), _sizes(block), parts.statistics(block)])


def _top(title: str, block: Document) -> list[str]:
    """Return the title, the answer and what to do next."""
    found = block["diagnosis"]
    of = f" of {parts.escaped(whose(block))}" if whose(block) else ""
    step = f'<p class="next">Next{of}: <code>{parts.escaped(found["step"], 300)}</code></p>' if found["step"] else ""
    return [f"<h1>{parts.escaped(title, 200)}</h1>", f'<p class="answer">{parts.escaped(found["text"], 300)}</p>', step]


def whose(block: Document) -> str:
    """Return which job of a period the next step is of, and what it suffers from; empty for one job, or without critical jobs."""
    worst = next(iter(block.get("critical", ())), None)
    return f"{worst['job']}, which is {worst['diagnosis']['kind']}" if worst else ""


def _place(block: Document, shares: list[int]) -> str:
    """Return where a job stands among the others of its program and number of processes."""
    found = block["reference"]
    if found is None:
        return parts.section("Among others", "<p>No other job of this program and number of processes yet.</p>")
    count, own = found["others"], series.bin_of(block["mpi_s"] / block["cpu_s"] if block["cpu_s"] else 0)
    bars = [Bar(f"{100 * k // series.BINS}%", [number], words.several(number, "job")) for k, number in enumerate(shares)]
    plot = jobs_plot.standing("jobs by part of their time in MPI", bars, ["other jobs"], [parts.INSIDE], mark=own)
    told = (
        f"Of {words.several(count, 'other job')} of this program and number of processes {words.percent(found['lower_share'], count)} have "
        f"less of their time in MPI, {words.percent(found['shorter'], count)} took less CPU time. In MPI: "
        f"least {words.percent(found['least'], 1)}, mean {words.percent(found['mean'], 1)}, most {words.percent(found['most'], 1)}; "
        f"this job {words.percent(block['mpi_s'], block['cpu_s'])} (arrow)."
    )
    return parts.section("Among others", f"<p>{parts.escaped(told, 500)}</p>", plot, note="Other jobs by the part of their time in MPI.")


def _sizes(block: Document) -> str:
    rows = [(name, str(sizes)) for name, sizes in block["message_sizes"].items()]
    return parts.section("Calls by size", parts.facts(rows), note="Bytes and number of calls, as bytes:calls.") if rows else ""


def period(block: Document, more: More) -> str:
    """Return the page of a user's or a machine's period."""
    choice = block["choice"]
    who = {"user": f"user {choice.get('user', '')}", "month": choice.get("machine") or "all machines"}[block["report"]]
    title = f"MPI jobs of {words.shown(who, 60)}, {block['period']['label']}"
    if not block["jobs"]:
        return parts.page(title, [f"<h1>{parts.escaped(title, 200)}</h1>", "<p>No jobs.</p>"])
    body = [
        *_top(title, block),
        _numbers(block),
        parts.facts(_about(block, more)),
        '<div class="columns">',
        parts.split(block),
        _time(more),
        "</div>",
    ]
    body += [parts.routines(block), '<div class="columns">', *_classes(block, more), "</div>"]
    if block["report"] == "month":
        body.append(_users(block))
    if block["critical"]:
        body.append(
            parts.section("Critical jobs", parts.jobs(block["critical"]), note="15 % of their time in MPI or more; most time in MPI first.")
        )
    return parts.page(title, [*body, parts.statistics(block), _tables(block)])


def _numbers(block: Document) -> str:
    users = [(str(block["user_count"]), "users")] if block["report"] == "month" else []
    available = [(words.percent(block["cpu_s"], block["available_s"]), "of the machine")] if block["available_s"] else []
    mpi = (words.percent(block["mpi_s"], block["cpu_s"]), "of that in MPI")
    first = [(str(block["jobs"]), "jobs"), *users, (text.seconds(block["cpu_s"]), "CPU time"), *available, mpi]
    return parts.tiles([*first, (f"{block['processes_weighted']:.1f}", "processes, weighted by CPU time")])


def _about(block: Document, more: More) -> list[tuple[str, str]]:
    cpu, choice = block["cpu_s"], {name: value for name, value in block["choice"].items() if name not in ("since", "until")}
    return [
        ("jobs", f"from {block['first_init']} to {block['last_finalize']}"),
        ("only", ", ".join(f"{name} {value}" for name, value in choice.items())),
        ("before", before(block)),
        ("other users", compared(more.others) if more.others else ""),
        ("processes", f"{block['processes']}, a job {block['processes_per_job']:.1f}"),
        ("overhead", f"{text.seconds(block['overhead_s'])} of counting, {block['overhead_s'] / cpu if cpu else 0:.2e} of the CPU time"),
        ("routines", f"{block['routines']} used" + (f"; PMPI in {words.several(block['pmpi_jobs'], 'job')}" if block["pmpi_jobs"] else "")),
        ("switches", ", ".join(f"{one['name']} in {one['jobs']}" for one in block["switches"][:12])),
        ("unusable", f"{words.several(block['unusable'], 'record')} in all" if block["unusable"] else ""),
    ]


def before(block: Document) -> str:
    """Return what changed since the period before, empty if there were no jobs in that."""
    last = block["before"]
    if not last:
        return ""
    now, then = (one["mpi_s"] / one["cpu_s"] if one["cpu_s"] else 0.0 for one in (block, last))
    change = f"{'+' if now >= then else '-'}{100 * abs(now - then):.1f} points in MPI since then"
    return f"{words.several(last['jobs'], 'job')}, {text.seconds(last['cpu_s'])}, {words.percent(then, 1)} in MPI; {change}"


def compared(found: Others) -> str:
    """Return where a user stands among others."""
    shares = ", ".join(f"{name} {words.percent(getattr(found, name), 1)}" for name in ("least", "mean", "most"))
    return f"{found.lower} of {words.several(found.users, 'other user')} spent a smaller part in MPI; theirs: {shares}"


def _time(more: More) -> str:
    bars = [
        Bar(
            one.label,
            [one.mpi / 3600, max(0.0, one.cpu - one.mpi) / 3600],
            f"{words.several(one.jobs, 'job')}, {words.percent(one.mpi, one.cpu)} in MPI",
        )
        for one in more.steps
    ]
    plot = jobs_plot.standing(f"CPU time per {more.step}", bars, _TIMES, _BOTH)
    return parts.section(f"CPU time per {more.step}", plot, note=f"Hours of CPU time of the jobs that ended in each {more.step}, UTC.")


def _classes(block: Document, more: More) -> list[str]:
    cpu, count = block["cpu_s"], block["jobs"]
    sizes = [
        Bar(
            row["name"],
            [100 * v / cpu if cpu else 0 for v in (row["mpi_s"], max(0, row["cpu_s"] - row["mpi_s"]))],
            "",
            100 * row["jobs"] / count,
        )
        for row in block["sizes"]
    ]
    told = [f"{words.percent(row['cpu_s'], cpu)}, {words.percent(row['mpi_s'], row['cpu_s'])} in MPI" for row in block["languages"]]
    spoken = [
        Bar(row["name"], [row["mpi_s"], max(0, row["cpu_s"] - row["mpi_s"])], one)
        for row, one in zip(block["languages"], told, strict=True)
    ]
    out = [
        parts.section(
            "By number of processes",
            jobs_plot.standing("by number of processes", sizes, _TIMES, _BOTH, " %", "of the jobs"),
            note="Bars: percent of the CPU time; rings: percent of the jobs.",
        ),
        parts.section("By language", jobs_plot.lying("by language", spoken, _TIMES, _BOTH)),
    ]
    languages, found = series.classes(more.cells)
    for name, of, whole in (("cpu", "CPU time", cpu), ("jobs", "jobs", count)):
        bars = [Bar(label, _spoken(sums, languages, name, whole)) for label, sums in found]
        title = f"{of[0].upper()}{of[1:]} by CPU time of a job and language"
        out.append(parts.section(title, jobs_plot.standing(title, bars, languages, _hues(languages), " %"), note=f"Percent of the {of}."))
    return out


def _spoken(sums: dict[str, overview.Sums], languages: list[str], name: str, whole: float) -> list[float]:
    return [100 * getattr(sums[one], name) / whole if one in sums and whole else 0.0 for one in languages]


def _hues(languages: list[str]) -> list[int]:
    return [{"C": 1, "Fortran": 0}.get(one, 3) for one in languages]


def _users(block: Document) -> str:
    """Return who used most (Fig. 9)."""
    cpu = block["cpu_s"]
    bars = [
        Bar(
            words.shown(one["name"], 30),
            [one["mpi_s"], max(0, one["cpu_s"] - one["mpi_s"])],
            f"{words.percent(one['cpu_s'], cpu)}, {words.percent(one['mpi_s'], one['cpu_s'])} in MPI",
        )
        for one in block["users"]
    ]
    note = "; ".join(f"{100 * one['part']:.1f} % of the CPU time by the top {words.several(one['users'], 'user')}" for one in block["top"])
    more = block["user_count"] - len(bars)
    plot = jobs_plot.lying("top users by CPU time", bars, _TIMES, _BOTH)
    return parts.section("Top users", plot, note=f"{note}{f'; {more} more' if more else ''}.")


def _tables(block: Document) -> str:
    """Return the classes as tables."""
    out = []
    for title, key in (("language", "languages"), ("processes", "sizes"), ("CPU time", "cpu_times"), ("routines of group", "groups")):
        rows = [
            (
                *(row["name"], str(row["jobs"]), words.percent(row["jobs"], block["jobs"]), text.seconds(row["cpu_s"])),
                *(
                    words.percent(row["cpu_s"], block["cpu_s"]),
                    words.percent(row["mpi_s"], row["cpu_s"]),
                    f"{row['processes_per_job']:.1f}",
                ),
            )
            for row in block[key]
        ]
        out.append(
            parts.section(f"By {title}", parts.table((title, "jobs", "of jobs", "CPU time", "of CPU", "in MPI", "processes/job"), rows))
        )
    return f'<div class="columns">{"".join(out)}</div>'


def of_job(database: Database, job_: Job, block: Document) -> str:
    """Return the page of a job in the database."""
    return job(block, series.shares(database, job_))
