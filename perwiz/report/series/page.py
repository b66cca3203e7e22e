"""The page of `perwiz series`: one file that loads and runs nothing, with the answer, the pictures and the tables."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from perwiz import words
from perwiz.patterns.analysis.series import HISTORY
from perwiz.report import palette
from perwiz.report.page.html import digest
from perwiz.report.picture import lanes
from perwiz.report.series import text
from perwiz.report.series.plot import places, shares
from perwiz.report.series.records import SeriesDocument

_WIDTH, _HEIGHT, _LEFT, _TOP, _FOOT = 560, 260, 52, 10, 34
_LETTER = 7
"""Dots of a character."""
_TICKS = 5
"""Marks of an axis at most, that at 0 not counted."""
_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --text: #16191d; --quiet: #5b6570; --line: #d7dce1; --warning: #fff1d6; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171b; --text: #e8eaed; --quiet: #9aa4af; --line: #343b43; --warning: #3d2f10; }
}
body { margin: 20px auto; padding: 0 16px; max-width: 1200px; background: var(--paper); color: var(--text);
  font: 14px/1.45 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 13px; font-weight: 600; color: var(--quiet); margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 16px; margin: 22px 0 6px; }
.answer { font-size: 20px; margin: 2px 0 8px; }
.missed { background: var(--warning); border-left: 4px solid var(--wait); padding: 6px 10px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 1px 14px; margin: 2px 0; }
dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }
.columns { display: flex; flex-wrap: wrap; gap: 0 40px; } .columns > * { flex: 0 1 560px; min-width: 0; } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 2px 12px 2px 0; text-align: right; white-space: pre; }
thead th { font-weight: 500; color: var(--quiet); font-size: 12px; border-bottom: 1px solid var(--line); }
th:first-child { text-align: left; font-weight: 400; }
svg { display: block; width: 560px; max-width: 100%; height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: var(--quiet); } svg .e { text-anchor: end; } svg .m { text-anchor: middle; }
svg .grid { stroke: var(--line); } svg polyline { fill: none; stroke-width: 1.8; } svg .first { stroke-width: 3.2; }
svg .ideal { stroke: var(--quiet); stroke-dasharray: 5 4; } i.ideal { height: 0; border-top: 2px dashed var(--quiet); }
ul { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 14px; margin: 4px 0; padding: 0; font-size: 12px; }
code { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; }
li i { display: inline-block; width: 14px; height: 3px; margin-right: 5px; vertical-align: middle; print-color-adjust: exact; }
"""
_COLOURS = "".join(
    f".s{k} {{ stroke: {colour}; }} circle.s{k}, i.s{k} {{ fill: {colour}; background: {colour}; }}\n"
    for k, colour in enumerate("var(--text)" if colour == "#000000" else colour for colour in palette.SERIES)
)
"""Black is white where the system asks for dark pages."""


class _Dot(NamedTuple):
    """A value that is marked."""

    line: int
    place: float
    value: float
    title: str


def page(document: SeriesDocument) -> str:
    """Return the page; names are escaped, and what is not printable in them does not reach a reader."""
    style = palette.style() + _STYLE + _COLOURS
    facts = text.answer(document)
    missed = text.too_much(document)
    name = " ".join(text.title(document))
    body = [
        f"<h1>{html.escape(name)}</h1>",
        f'<p class="answer">{html.escape(f"{facts[0][0]} {facts[0][1]}")}</p>',
        f'<p class="missed">{html.escape(missed)}</p>' if missed else "",
        _facts(facts[1:]),
        '<div class="columns">',
        _figure("Time" if document.kind == HISTORY else "Speed-up", *_speed(document)),
        _figure("Efficiencies", *_efficiencies(document)),
        "</div>",
        *(f"<h2>{html.escape(table.title)}</h2>{_table(table.head, table.rows)}" for table in text.tables(document)),
        "<h2>How it was measured</h2>",
        _facts(text.notes(document)),
    ]
    policy = f"default-src 'none'; style-src '{digest(style)}'; base-uri 'none'; form-action 'none'"
    head = [
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{html.escape(name)}</title>",
        f"<style>{style}</style>",
    ]
    return "\n".join(["<!DOCTYPE html>", '<html lang="en">', "<head>", *head, "</head>", "<body>", *body, "</body>", "</html>", ""])


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    """Return facts as a list; what is quoted as code."""
    rows = ((html.escape(label), re.sub("`([^`]*)`", r"<code>\1</code>", html.escape(fact))) for label, fact in facts)
    return f"<dl>{''.join(f'<dt>{label}</dt><dd>{fact}</dd>' for label, fact in rows)}</dl>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in head)
    lines = (
        f'<tr><th scope="row">{html.escape(first)}</th>{"".join(f"<td>{html.escape(cell)}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _figure(title: str, legend: str, picture: str) -> str:
    return f"<section><h2>{html.escape(title)}</h2>{picture}{legend}</section>"


def _speed(document: SeriesDocument) -> tuple[str, str]:
    """Return legend and picture of times, of a scaling series of speed-ups beside the ideal one, to the base 2."""
    points, along = document.points, places(document)
    if document.kind == HISTORY:
        scale, unit = lanes.unit(max(point.most_ns for point in points))
        times = {"time": [point.time_ns / scale for point in points]}
        rows = zip(along, points, strict=True)
        dots = [
            _Dot(0, place, each.time_ns / scale, f"{words.shown(each.trace)}: {words.duration(each.time_ns)}")
            for place, point in rows
            for each in point.recordings
        ]
        return "", _picture(document, times, _ticks(max(point.most_ns for point in points) / scale, f" {unit}"), dots)
    reached, ideal = ([math.log2(value) for value in row] for row in zip(*((p.speedup, p.ideal_speedup) for p in points), strict=True))
    low, high = math.floor(min(*reached, *ideal, 0)), math.ceil(max(*reached, *ideal, 1))
    ticks = [(float(power), f"{2.0**power:g}") for power in range(low, high + 1)]
    told = [f"{point.label}: {point.speedup:.4g} of {point.ideal_speedup:g}" for point in points]
    lines = {"reached": reached, "ideal": ideal}
    dots = [_Dot(0, *each) for each in zip(along, reached, told, strict=True)]
    return _legend(lines), _picture(document, lines, ticks, dots)


def _efficiencies(document: SeriesDocument) -> tuple[str, str]:
    rows = {name: [None if value is None else 100 * value for value in row] for name, row in shares(document).items()}
    most = max(value for row in rows.values() for value in row if value is not None)
    dots = [
        _Dot(line, place, value, f"{words.shown(point.label)}: {name} {value:.1f} %")
        for line, (name, row) in enumerate(rows.items())
        for place, value, point in zip(places(document), row, document.points, strict=True)
        if value is not None
    ]
    return _legend(rows), _picture(document, rows, _ticks(most, " %"), dots)


def _legend(rows: Iterable[str]) -> str:
    items = (f'<li><i class="{_class(k, name)}"></i>{html.escape(name)}</li>' for k, name in enumerate(rows))
    return f"<ul>{''.join(items)}</ul>"


def _class(number: int, name: str) -> str:
    return "ideal" if name == "ideal" else f"s{number}{'' if number else ' first'}"


def _ticks(most: float, unit: str) -> list[tuple[float, str]]:
    """Return the marks of an axis from 0 to `most` or a little more, and what they are called."""
    power = 10.0 ** math.floor(math.log10(most / _TICKS))
    step = next(power * times for times in (1, 2, 2.5, 5, 10) if power * times * _TICKS >= most)
    count = math.ceil(most / step)
    return [(step * k, f"{step * k:g}{unit if k == count else ''}") for k in range(count + 1)]


def _picture(
    document: SeriesDocument,
    rows: Mapping[str, Sequence[float | None]],
    ticks: Sequence[tuple[float, str]],
    dots: Sequence[_Dot],
) -> str:
    """Return lines over the points, on an axis with these marks, and dots."""
    labels, along = [words.shown(point.label, 24) for point in document.points], places(document)
    inset = max(12.0, max(map(len, labels)) * _LETTER / 2)
    wide, high = (_WIDTH - _LEFT - 2 * inset) / (along[-1] or 1), _HEIGHT - _TOP - _FOOT
    (bottom, _), (top, _) = ticks[0], ticks[-1]

    def at(place: float, value: float) -> tuple[str, str]:
        return f"{_LEFT + inset + wide * place:.1f}", f"{_TOP + high * (top - value) / (top - bottom):.1f}"

    out = []
    for tick, name in ticks:
        _, y = at(0, tick)
        out.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{y}" y2="{y}"/>')
        out.append(f'<text class="e" x="{_LEFT - 6}" y="{float(y) + 4:.1f}">{name}</text>')
    free = math.inf
    for place, label in reversed(list(zip(along, labels, strict=True))):
        middle, half = wide * place, (len(label) + 1) * _LETTER / 2
        if middle + half <= free:
            out.append(f'<text class="m" x="{at(place, bottom)[0]}" y="{_HEIGHT - 12}">{html.escape(label)}</text>')
            free = middle - half
    for number, (name, row) in enumerate(rows.items()):
        line = " ".join(",".join(at(place, value)) for place, value in zip(along, row, strict=True) if value is not None)
        out.append(f'<polyline class="{_class(number, name)}" points="{line}"/>')
    for dot in dots:
        x, y = at(dot.place, dot.value)
        out.append(f'<circle class="s{dot.line}" cx="{x}" cy="{y}" r="3.5"><title>{html.escape(dot.title)}</title></circle>')
    told = f"{', '.join(rows)} of {words.several(len(labels), 'run')}; the numbers are in the table below"
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{html.escape(told)}">{"".join(out)}</svg>'
