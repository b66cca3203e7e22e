"""Plots as inline SVG, drawn without any library: finished numbers in, elements of a page out. STYLE colours them, light, dark and printed.

No text needs colours to be understood: every bar has its numbers beside it or as its title, every plot a legend in the order of the stack.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import NamedTuple

WIDTH = 560
_LABEL, _TEXT, _ROW = 176, 150, 20
_HEIGHT, _LEFT, _FOOT, _TOP = 190, 44, 30, 14
_LETTER, _NARROW = 7, 6.4
"""Dots of a wide character, and of an average one."""
COLOURS = 7
"""Series have the colours 0 to 6, of Okabe and Ito, which colour-blind readers can tell apart."""
_LIGHT = ("#c85000", "#0072b2", "#4aa3d8", "#8a8f98", "#b8579a", "#cfd4da", "#007f5f")
_DARK = ("#f08a4b", "#4fa3e0", "#9ad0f5", "#8a8f98", "#d890c0", "#4a515b", "#35b890")
STYLE = "\n".join(
    (
        "svg { display: block; width: 100%; max-width: 640px; height: auto; margin: 2px 0 4px; break-inside: avoid; }",
        "svg text { font: 12px system-ui, sans-serif; fill: var(--text); font-variant-numeric: tabular-nums; }",
        "svg text.e { text-anchor: end; } svg text.m { text-anchor: middle; } svg .q { fill: var(--quiet); }",
        "svg line { stroke: var(--line); } svg .mark { fill: none; stroke: var(--text); stroke-width: 1.5; }",
        "svg rect { stroke: var(--paper); stroke-width: 0.7; }",
        ":root { " + " ".join(f"--c{k}: {value};" for k, value in enumerate(_LIGHT)) + " }",
        "@media (prefers-color-scheme: dark) { :root { " + " ".join(f"--c{k}: {value};" for k, value in enumerate(_DARK)) + " } }",
        "@media print { :root { " + " ".join(f"--c{k}: {value};" for k, value in enumerate(_LIGHT)) + " } }",
        " ".join(f".c{k} {{ fill: var(--c{k}); background: var(--c{k}); }}" for k in range(COLOURS)),
        ".legend { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 14px; margin: 0 0 4px; padding: 0; font-size: 12px; }",
        ".legend i { display: inline-block; width: 10px; height: 10px; margin-right: 5px; print-color-adjust: exact; }",
        "svg * { print-color-adjust: exact; } .legend i.dot { border: 1.5px solid var(--text); border-radius: 50%; }",
    )
)


class Bar(NamedTuple):
    """One bar, lying or standing."""

    label: str
    values: Sequence[float]
    """One per series, none negative."""
    text: str = ""
    """What a lying bar has beside it, a standing one as its title."""
    dot: float | None = None
    """Where a standing bar has a ring."""


def legend(names: Sequence[str], colours: Sequence[int], dot: str = "") -> str:
    """Return the names of the series with their colours; `dot` is the name of the rings."""
    items = [f'<li><i class="c{k}"></i>{html.escape(name)}</li>' for name, k in zip(names, colours, strict=True)]
    return f'<ul class="legend">{"".join(items)}{f"""<li><i class="dot"></i>{html.escape(dot)}</li>""" if dot else ""}</ul>'


def lying(title: str, bars: Sequence[Bar], names: Sequence[str], colours: Sequence[int], whole: float = 0) -> str:
    """Return lying bars, one stack each, as long as the longest needs, or `whole` if that is more; and their legend."""
    used = [k for k in range(len(names)) if any(bar.values[k] > 0 for bar in bars)]
    names, colours = [names[k] for k in used], [colours[k] for k in used]
    bars = [bar._replace(values=[bar.values[k] for k in used]) for bar in bars]
    longest = max([whole, *(sum(bar.values) for bar in bars)])
    room = WIDTH - _LABEL - _TEXT
    out = []
    for k, bar in enumerate(bars):
        y = k * _ROW
        out.append(f'<text class="e" x="{_LABEL - 8}" y="{y + 14}">{_cut(bar.label, int(_LABEL / _NARROW))}</text>')
        out += _stack(
            bar, names, colours, lambda begin, end, y=y: _rect(_LABEL + room * begin, y + 3, room * (end - begin), _ROW - 6), longest
        )
        end = _LABEL + (room * sum(bar.values) / longest if longest else 0)
        out.append(f'<text class="q" x="{end + 6:.1f}" y="{y + 14}">{html.escape(bar.text)}</text>')
    return legend(names, colours) + _svg(title, len(bars) * _ROW + 2, out)


def standing(
    title: str, bars: Sequence[Bar], names: Sequence[str], colours: Sequence[int], unit: str = "", dot: str = "", mark: int = -1
) -> str:
    """Return standing bars over a scale in `unit`, rings called `dot`, and an arrow over the bar `mark`; and their legend."""
    whole = all(isinstance(value, int) for bar in bars for value in bar.values)
    top, step = _scale(max([0.0, *(sum(bar.values) for bar in bars), *(bar.dot or 0 for bar in bars)]), 1.0 if whole else 0.0)
    height, width = _HEIGHT - _FOOT - _TOP, (WIDTH - _LEFT - _LETTER) / max(1, len(bars))
    out = []
    for k in range(round(top / step) + 1):
        y = _TOP + height - height * k * step / top
        out.append(f'<line x1="{_LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(
            f'<text class="e q" x="{_LEFT - 6}" y="{y + 4:.1f}">{_short(k * step)}{unit if k * step > top - step / 2 else ""}</text>'
        )
    every = max(1, math.ceil(max((len(bar.label) for bar in bars), default=1) * _LETTER / width + 0.2))
    for k, bar in enumerate(bars):
        x, gap = _LEFT + k * width, min(6.0, width * 0.12)
        draw = lambda begin, end, x=x, gap=gap: _rect(x + gap, _TOP + height * (1 - end), width - 2 * gap, height * (end - begin))  # noqa: E731
        out += _stack(bar, names, colours, draw, top)
        if bar.dot is not None:
            out.append(f'<circle class="mark" cx="{x + width / 2:.1f}" cy="{_TOP + height * (1 - bar.dot / top):.1f}" r="3.5"/>')
        if k == mark:
            y = _TOP + height * (1 - sum(bar.values) / top) - 3
            out.append(f'<path class="mark" d="M{x + width / 2:.1f} {y:.1f}l-5 -8h10z"/>')
        if k % every == 0 and x + width / 2 + len(bar.label) * _NARROW / 2 <= WIDTH + 2:
            out.append(f'<text class="m q" x="{x + width / 2:.1f}" y="{_HEIGHT - 12}">{html.escape(bar.label)}</text>')
    return legend(names, colours, dot) + _svg(title, _HEIGHT, out)


def _stack(bar, names, colours, draw, whole) -> list[str]:  # type: ignore[no-untyped-def]
    """Return the parts of one bar; draw(begin, end) gives the rectangle of a part of the whole."""
    out, done = [], 0.0
    for name, colour, value in zip(names, colours, bar.values, strict=True):
        if value > 0 and whole:
            title = f"{bar.label}: {name} {value:.3g}" + (f" ({bar.text})" if bar.text else "")
            out.append(f'<rect class="c{colour}" {draw(done / whole, (done + value) / whole)}><title>{html.escape(title)}</title></rect>')
            done += value
    return out


def _rect(x: float, y: float, width: float, height: float) -> str:
    return f'x="{x:.1f}" y="{y:.1f}" width="{width:.2f}" height="{height:.2f}"'


def _short(value: float) -> str:
    for power, unit in ((9, "G"), (6, "M"), (3, "k")):
        if value >= 10.0**power:
            return f"{value / 10.0**power:g}{unit}"
    if 0 < value < 0.001:  # 0.0002 is wider than the margin
        digits, _, tens = f"{value:.2e}".partition("e")
        return f"{float(digits):g}e{int(tens)}"
    return f"{value:g}"


def _cut(text: str, most: int) -> str:
    return html.escape(text if len(text) <= most else f"{text[: most - 1]}…")


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    head = f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{html.escape(title)}">'
    return f"{head}{''.join(parts)}</svg>"


def _scale(most: float, least: float = 0.0) -> tuple[float, float]:
    """Return the top of a scale and the step of its lines: 1, 2 or 5 times a power of ten, at most six of them, `least` or more."""
    if not most > 0:
        return 1.0, 1.0
    power = 10.0 ** math.floor(math.log10(most / 3))
    step = max(least, next((power * k for k in (1, 2, 5, 10) if most / (power * k) <= 5), power * 10))
    return math.ceil(most / step - 1e-9) * step, step
