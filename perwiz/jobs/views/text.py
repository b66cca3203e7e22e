"""Reports as text for a terminal or a mail, made from the documents of `report`; at most 140 columns, names escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from perwiz import words
from perwiz.jobs.store.ingest import Ingested
from perwiz.jobs.views import table
from perwiz.jobs.views.document import Document
from perwiz.jobs.views.table import Row

_PROGRAM = 30
_SWITCHES = 12
_HOUR = 3600
NOTATION = "703e+5 is 703 * 10^5; idle is time less latency and transfer, negative where transfers are hidden; 1 MB is 2^20 bytes"


def lines(block: Document) -> list[str]:
    """Return the text of any document of `report`."""
    makers: dict[str, Callable[[Document], list[str]]] = {"job": job, "top": listing, "faults": faults, "month": period, "user": period}
    return makers[block["report"]](block)


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


def period(block: Document) -> list[str]:
    """Return a period's report: the answer, the header lines, overview, classes, users, critical jobs, the table of 13 columns."""
    if not block["jobs"]:
        return [f"{_title(block)}: no jobs", *_unusable(block)]
    facts = [
        ("answer", block["diagnosis"]["text"]),
        *_next(block),
        *_header(block),
        *_overview(block),
        ("benchmark", block["benchmark"]),
    ]
    out = [_title(block), *words.facts(facts), *_unusable(block)]
    for title, key in (("language", "languages"), ("processes", "sizes"), ("CPU time", "cpu_times"), ("routines of group", "groups")):
        out += ["", *_classes(title, block[key], block)]
    if block["report"] == "month":
        out += ["", *_users(block)]
    if block["critical"]:
        out += ["", "critical jobs, those with most time in MPI first", *_jobs(block["critical"])]
    return [*out, "", *_table(block)]


def _next(block: Document) -> list[tuple[str, str]]:
    """Return what to do about the most critical job."""
    if not block["critical"]:
        return []
    worst = block["critical"][0]
    return [("next", f"of {worst['job']}, which is {worst['diagnosis']['kind']}: {worst['diagnosis']['step']}")]


def _title(block: Document) -> str:
    chosen = "".join(f", {name} {words.shown(str(value), 40)}" for name, value in block["choice"].items())
    return f"{words.shown(block['database'])}: jobs of {block['period']['label']}{chosen}"


def _unusable(block: Document) -> list[str]:
    count = block["unusable"]
    return words.facts([("unusable", f"{words.several(count, 'record')} in all: perwiz jobs faults lists them")]) if count else []


def _header(block: Document) -> list[tuple[str, str]]:
    """Return the header lines of Fig. 12."""
    cpu, mpi = block["cpu_s"], block["mpi_s"]
    of_machine = (
        f", {words.percent(cpu, block['available_s'])} of {seconds(block['available_s'])} available" if block["available_s"] else ""
    )
    before = block["before"]
    facts = [
        ("jobs", f"{block['jobs']}, from {block['first_init']} to {block['last_finalize']}"),
        (
            "processes",
            f"{block['processes']}, a job {block['processes_per_job']:.1f}, weighted by CPU time {block['processes_weighted']:.1f}",
        ),
        ("CPU time", f"{seconds(cpu)}{of_machine}"),
        ("in MPI", f"{seconds(mpi)}, {words.percent(mpi, cpu)} of the CPU time"),
        ("overhead", f"{seconds(block['overhead_s'])} of counting, {block['overhead_s'] / cpu if cpu else 0:.2e} of the CPU time"),
        ("used", f"{words.several(block['routines'], 'MPI routine')}, by {words.several(block['user_count'], 'user')}"),
    ]
    if before:
        told = (
            f"{words.several(before['jobs'], 'job')}, {seconds(before['cpu_s'])}, {words.percent(before['mpi_s'], before['cpu_s'])} in MPI"
        )
        facts.append(("before", told))
    switches = [f"{words.shown(one['name'], 40)} in {one['jobs']}" for one in block["switches"][:_SWITCHES]]
    switches += [f"and {len(block['switches']) - _SWITCHES} more"] if len(block["switches"]) > _SWITCHES else []
    facts += [("switches", f"{', '.join(switches)} jobs")] if switches else []
    return [*facts, *([("PMPI", f"used in {words.several(block['pmpi_jobs'], 'job')}")] if block["pmpi_jobs"] else [])]


def _overview(block: Document) -> list[tuple[str, str]]:
    """Return where the time in MPI went, Fig. 5."""
    split, mpi = block["split"], sum(block["split"].values())
    names = {
        "idle_s": "waiting",
        "transfer_s": "transfer",
        "latency_s": "latency",
        "other_s": "not communication",
        "rough_s": "only estimated",
    }
    told = [f"{name} {seconds(split[key]) if split[key] >= 0 else f'-{seconds(-split[key])}'}" for key, name in names.items() if split[key]]
    shares = [_part(split[key], mpi) for key in names if split[key]]
    return [("split of it", ", ".join(f"{one} ({share})" for one, share in zip(told, shares, strict=True)))] if told else []


def _part(value: float, whole: float) -> str:
    return words.percent(value, whole) if value >= 0 else f"-{words.percent(-value, whole)}"


def _classes(title: str, rows: list[Document], block: Document) -> list[str]:
    head = (title, "jobs", "of jobs", "CPU time", "of CPU", "in MPI", "PEs/job", "weighted")
    cells = [
        (
            *(row["name"], str(row["jobs"]), words.percent(row["jobs"], block["jobs"])),
            *(seconds(row["cpu_s"]), words.percent(row["cpu_s"], block["cpu_s"]), words.percent(row["mpi_s"], row["cpu_s"])),
            *(f"{row['processes_per_job']:.1f}", f"{row['processes_weighted']:.1f}"),
        )
        for row in rows
    ]
    return words.table(head, cells)


def _users(block: Document) -> list[str]:
    head = ("user", "jobs", "CPU time", "of CPU", "in MPI")
    rows = [
        (
            *(words.shown(one["name"], 30), str(one["jobs"]), seconds(one["cpu_s"])),
            *(words.percent(one["cpu_s"], block["cpu_s"]), words.percent(one["mpi_s"], one["cpu_s"])),
        )
        for one in block["users"]
    ]
    out = words.table(head, rows)
    more = block["user_count"] - len(rows)
    out += [f"and {words.several(more, 'user')} more"] if more else []
    return out + [
        f"{100 * one['part']:.1f} % of the CPU time was consumed by the top {words.several(one['users'], 'user')}" for one in block["top"]
    ]


def _jobs(rows: list[Document]) -> list[str]:
    head = ("job", "finalize", "user", "program", "PEs", "CPU time", "in MPI", "diagnosis")
    cells = [
        (
            *(row["job"], row["finalize"], words.shown(row["user"], 16), words.shown(row["program"], _PROGRAM), str(row["size"])),
            *(seconds(row["cpu_s"]), words.percent(row["mpi_s"], row["cpu_s"]), row["diagnosis"]["kind"]),
        )
        for row in rows
    ]
    return words.table(head, cells, left=(0, 1, 2, 3, 7))


def _table(block: Document) -> list[str]:
    return [*table.lines([Row(**row) for row in block["table"]]), *words.wrapped(NOTATION)]


def job(block: Document) -> list[str]:
    """Return the report of one job: the answer, what ran, where the time in MPI went, its place among others, the table."""
    cpu = block["cpu_s"]
    facts = [
        ("answer", block["diagnosis"]["text"]),
        *([("next", block["diagnosis"]["step"])] if block["diagnosis"]["step"] else []),
        ("program", words.shown(block["program"])),
        ("processes", f"{block['size']}" + (f", {block['threads']} threads" if block["threads"] else "")),
        ("ran", f"{seconds(block['elapsed_s'])}, until {block['finalize']}, on {words.shown(block['machine'], 40)}"),
        ("by", f"user {words.shown(block['user'], 40)}, process {block['pid']} of {words.shown(block['host'], 40)}"),
        ("with", ", ".join(words.shown(block[key], 60) for key in ("library", "language") if block[key])),
        ("CPU time", f"{seconds(cpu)}; in MPI {seconds(block['mpi_s'])}, {words.percent(block['mpi_s'], cpu)}"),
        *_overview(block),
        ("overhead", f"{seconds(block['overhead_s'])} of counting, {words.percent(block['overhead_s'], cpu)}"),
        ("among others", _reference(block["reference"])),
        *_counters(block),
        *_listed("switches", (f"{name}={value}" for name, value in block["environment"].items())),
        *_listed("bytes:calls", (f"{name} {sizes}" for name, sizes in block["message_sizes"].items())),
        ("benchmark", block["benchmark"]),
    ]
    return [f"job {block['job']}", *words.facts(facts), "", *_table(block)]


def _listed(label: str, found: Iterable[str]) -> list[tuple[str, str]]:
    return [("" if k else label, words.shown(one, 100)) for k, one in enumerate(found)]


def _reference(found: Document | None) -> str:
    if found is None:
        return "no other job of this program and number of processes yet"
    count, share = found["others"], ", ".join(f"{name} {words.percent(found[name], 1)}" for name in ("least", "mean", "most"))
    place = (
        f"{words.percent(found['lower_share'], count)} have less of their time in MPI, {words.percent(found['shorter'], count)} are shorter"
    )
    return f"of {words.several(count, 'other job')} of this program and number of processes {place}; theirs in MPI: {share}"


def _counters(block: Document) -> list[tuple[str, str]]:
    return _listed("counters", (f"{name}: a process {a:.3e} outside MPI, {b:.3e} inside" for name, (a, b) in block["counters"].items()))


def listing(block: Document) -> list[str]:
    """Return the list of jobs."""
    return _jobs(block["jobs"]) if block["jobs"] else ["no jobs"]


def faults(block: Document) -> list[str]:
    """Return what could not be used."""
    rows = [(row["seen"], words.shown(row["place"], 40), words.shown(row["reason"], 90)) for row in block["faults"]]
    head = f"{words.several(block['count'], 'record')} could not be used; --json shows what was in them"
    return [head, *words.table(("seen", "place", "reason"), rows, left=(0, 1, 2))] if rows else ["every record could be used"]


def ingested(block: dict[str, Any]) -> list[str]:
    """Return what came of records."""
    out = [
        f"{words.shown(block['database'])}: {words.several(block['added'], 'job')} added, {block['known']} known already, "
        f"{words.several(block['unusable'], 'record')} unusable, from {words.several(block['files'], 'file')}"
    ]
    if block["unknown_routines"]:
        out += words.facts(
            [("nobody knows", ", ".join(words.shown(name, 40) for name in block["unknown_routines"]) + ": kept, in the group other")]
        )
    return out


def ingest_document(header: Document, done: Ingested, files: int) -> Document:
    """Return the document of an ingest."""
    return {
        **header,
        "added": done.added,
        "known": done.known,
        "unusable": done.faults,
        "files": files,
        "unknown_routines": sorted(done.unknown),
    }
