"""Pieces of the pages: the frame, facts, tables, and the plots that all pages share. Everything that comes from outside is escaped here."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from perwiz import words
from perwiz.jobs.routines import GROUPS, group
from perwiz.jobs.views import plot as jobs_plot
from perwiz.jobs.views import text
from perwiz.jobs.views.plot import Bar
from perwiz.jobs.views.records import Job, JobDocument, PeriodDocument
from perwiz.jobs.views.table import PARTS, Row
from perwiz.jobs.views.table import split as split_of
from perwiz.report.page.html import digest

COLOURS = range(len(PARTS))
"""Of the parts of the time in MPI, in the order of the stacks."""
OUTSIDE, INSIDE = 5, 1
"""Colours of time outside and inside MPI."""
BOLD = 0.1
"""From this part of the time in MPI on, a routine is marked."""
SMALL = 0.003
"""Routines with less of the time in MPI are drawn as one (Fig. 10)."""
STYLE = """
:root { color-scheme: light dark; --paper: #fff; --text: #1b1f24; --quiet: #59626d; --line: #d5dae0; --raised: #f4f6f8; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171b; --text: #e6e9ed; --quiet: #a3adb8; --line: #363d45; --raised: #1d2126; } }
@media print { :root { --paper: #fff; --text: #000; --quiet: #444; --line: #bbb; --raised: #fff; } body { margin: 0; font-size: 11px; } }
body { margin: 24px auto; padding: 0 20px; max-width: 1180px; background: var(--paper); color: var(--text);
    font: 14px/1.45 system-ui, sans-serif; }
h1 { font-size: 22px; margin: 0 0 4px; overflow-wrap: anywhere; } h2 { font-size: 16px; margin: 26px 0 6px; break-after: avoid; }
.answer { font-size: 16px; margin: 6px 0 4px; } .next code, code { overflow-wrap: anywhere; font-size: 13px; } p { margin: 4px 0; }
.note, figcaption { color: var(--quiet); font-size: 12px; max-width: 90ch; }
.tiles { display: flex; flex-wrap: wrap; gap: 8px 34px; margin: 14px 0; } .tiles div { min-width: 90px; }
.tiles b { display: block; font-size: 22px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tiles span { color: var(--quiet); font-size: 12px; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(500px, 100%), 1fr)); gap: 0 40px; }
.columns > section { min-width: 0; }
figure { margin: 0; } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; } caption { text-align: left; }
th, td { padding: 2px 10px 2px 0; text-align: right; white-space: nowrap; vertical-align: top; } tr { break-inside: avoid; }
thead th { font-weight: 500; color: var(--quiet); font-size: 12px; border-bottom: 1px solid var(--line); }
tbody th { font-weight: 400; } tr.bold td, tr.bold th { font-weight: 700; }
tr.part th { color: var(--quiet); font-size: 12px; padding-top: 8px; }
.left { text-align: left; } table.facts th { color: var(--quiet); font-weight: 400; text-align: left; }
table.facts td { text-align: left; white-space: normal; overflow-wrap: anywhere; }
"""


def page(title: str, body: Iterable[str]) -> str:
    """Return a page that loads nothing and runs nothing; its policy forbids both. `title` is escaped here, the body is markup."""
    style = STYLE + jobs_plot.STYLE
    policy = f"default-src 'none'; style-src '{digest(style)}'; base-uri 'none'; form-action 'none'"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escaped(title, 200)}</title>
<style>{style}</style>
</head>
<body>
{chr(10).join(body)}
</body>
</html>
"""


def escaped(value: str, most: int = 100) -> str:
    """Return a text as markup that shows it: what is not printable escaped as on a terminal, the middle of a long one left out."""
    return html.escape(words.shown(value, most))


def section(title: str, *body: str, note: str = "") -> str:
    """Return a part of the page under its title."""
    told = f'<p class="note">{html.escape(note)}</p>' if note else ""
    return f"<section><h2>{html.escape(title)}</h2>{''.join(body)}{told}</section>"


def tiles(pairs: Iterable[tuple[str, str]]) -> str:
    """Return (number, what it is) in large letters."""
    return '<div class="tiles">' + "".join(f"<div><b>{escaped(a)}</b><span>{escaped(b)}</span></div>" for a, b in pairs) + "</div>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return (label, fact) as a table; facts that are empty are left out."""
    rows = "".join(f'<tr><th scope="row">{escaped(a)}</th><td>{escaped(b, 400)}</td></tr>' for a, b in pairs if b)
    return f'<table class="facts"><tbody>{rows}</tbody></table>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = (0,), bold: Sequence[bool] = ()) -> str:
    """Return a table; a row of one cell is a heading of its own; rows in `bold` have also an asterisk, for those who do not see it."""
    marks = iter(bold)
    out = []
    for row in rows:
        if len(row) == 1:
            out.append(f'<tr class="part"><th scope="rowgroup" class="left" colspan="{len(head)}">{escaped(row[0])}</th></tr>')
            continue
        strong = next(marks, False)
        first = f'<th scope="row"{_side(0, left)}>{escaped(row[0], 60)}{" *" if strong else ""}</th>'
        rest = "".join(f"<td{_side(k, left)}>{escaped(cell, 60)}</td>" for k, cell in enumerate(row) if k)
        out.append(f"<tr{' class=bold' if strong else ''}>{first}{rest}</tr>")
    top = "".join(f'<th scope="col"{_side(k, left)}>{escaped(name)}</th>' for k, name in enumerate(head))
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{"".join(out)}</tbody></table></div>'


def _side(column: int, left: Sequence[int]) -> str:
    return ' class="left"' if column in left else ""


def number(value: float) -> str:
    """Return a count with four digits at most: 9999, 70.3 M, 243 G."""
    for power, unit in ((12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if value >= 10**power * (1 if power > 3 else 10):
            return f"{value / 10**power:.{3 if value < 10 ** (power + 1) else 4}g} {unit}" if value < 1e15 else f"{value:.3g}"
    return f"{value:.4g}"


def _added(rows: Iterable[Row]) -> list[float]:
    return [*split_of([*rows]).parts.values()]


def split(document: JobDocument | PeriodDocument) -> str:
    """Return where the time went: outside MPI, and the parts inside, as one bar each and as numbers."""
    cpu = document.cpu_s
    outside = max(0.0, cpu - document.mpi_s)  # below 0 where threads of a process are in MPI at a time
    bars = [Bar("outside MPI", [outside, *[0] * len(PARTS)], _share(outside, cpu))]
    for k, (name, value) in enumerate(document.split.parts.items()):
        if value:
            bars.append(Bar(name, [0, *(value if k == m else 0 for m in range(len(PARTS)))], _share(value, cpu)))
    plot = jobs_plot.lying("where the CPU time went", bars, ["outside MPI", *PARTS], [OUTSIDE, *COLOURS], cpu)
    hidden = f"Beside that {text.seconds(document.split.hidden)} of {text.HIDDEN}." if document.split.hidden else ""
    return section("Where the CPU time went", plot, note=hidden)


def _share(value: float, whole: float) -> str:
    return f"{text.seconds(value)}, {words.percent(value, whole)}"


def routines(document: JobDocument | PeriodDocument) -> str:
    """Return the time of routines (Fig. 10) and of groups of routines, split."""
    rows, names = document.table, PARTS
    mpi = sum(row.seconds for row in rows)
    if not mpi:
        return ""
    large = sorted((row for row in rows if row.seconds >= SMALL * mpi), key=lambda row: -row.seconds)
    small = [row for row in rows if row.seconds < SMALL * mpi]
    bars = [_bar(words.shown(row.name, 40), [row], mpi) for row in large]
    bars += [_bar(f"{words.several(len(small), 'other')}", small, mpi)] if small else []
    groups = {name: [row for row in rows if group(row.name) == name] for name in GROUPS}
    used = sorted((name for name, members in groups.items() if members), key=lambda name: -sum(row.seconds for row in groups[name]))
    kinds = [_bar(name, groups[name], mpi) for name in used]
    note = (
        "Latency and transfer are estimated from calls, bytes and what they take at best. Where they are hidden behind computation, "
        "they are drawn as long as the time measured."
    )
    return (
        '<div class="columns">'
        + section("Time in MPI by routine", jobs_plot.lying("time in MPI by routine", bars, names, list(COLOURS)), note=note)
        + section("Time in MPI by group of routines", jobs_plot.lying("time in MPI by group", kinds, names, list(COLOURS)))
        + "</div>"
    )


def _bar(name: str, rows: Sequence[Row], mpi: float) -> Bar:
    value = sum(row.seconds for row in rows)
    return Bar(name, _added(rows), f"{text.seconds(value)}, {words.percent(value, mpi)}")


_HEAD = (
    "routine",
    "calls",
    "calls/process",
    "time",
    "of MPI",
    "us/call",
    "count",
    "bytes",
    "bytes/call",
    "us",
    "MB/s",
    "latency",
    "transfer",
    "waiting",
)


def statistics(document: JobDocument | PeriodDocument) -> str:
    """Return the table of 13 columns, and the part of the time in MPI; routines with most of that are marked."""
    rows: list[Sequence[str]] = []
    bold, part = [], ""
    mpi = sum(row.seconds for row in document.table)
    for row in document.table:
        if row.section != part:
            part = row.section
            rows.append((part,))
        rows.append(_cells(row, mpi))
        bold.append(row.seconds >= BOLD * mpi > 0)
    note = (
        f"* at least {BOLD:.0%} of the time in MPI. Columns us and MB/s (of 2^20 bytes): what a call and a byte take at best, "
        f"{words.shown(document.benchmark, 300)}. Waiting is time less latency and transfer, 0 where these are hidden; "
        "empty: no estimate."
    )
    return section("Routines", table(_HEAD, rows, bold=bold), note=note)


def _cells(row: Row, mpi: float) -> list[str]:
    return [
        row.name,
        number(row.calls),
        number(row.calls_per_process),
        text.seconds(row.seconds),
        words.percent(row.seconds, mpi),
        number(row.us_per_call),
        number(row.counted) if row.counted else "",
        words.size(round(row.bytes)) if row.bytes else "",
        words.size(round(row.bytes_per_call)) if row.bytes else "",
        _given(row.latency_us),
        _given(row.bandwidth_MB_per_s),
        _estimated(row.latency_s),
        _estimated(row.transfer_s),
        _estimated(row.idle_s),
    ]


def _given(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _estimated(value: float | None) -> str:
    return "" if value is None else text.seconds(value)


def jobs(rows: Sequence[Job]) -> str:
    """Return a list of jobs."""
    head = ("job", "finalize", "user", "program", "processes", "CPU time", "in MPI", "diagnosis")
    cells = [
        (
            row.job,
            row.finalize,
            row.user,
            words.shown(row.program, 40),
            str(row.size),
            text.seconds(row.cpu_s),
            words.percent(row.mpi_s, row.cpu_s),
            row.diagnosis.kind,
        )
        for row in rows
    ]
    return table(head, cells, left=(0, 1, 2, 3, 7))
