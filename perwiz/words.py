"""Numbers as words, names as a terminal may show them, rows as aligned text. Lines fit 120 columns where names allow it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 120
"""Columns of the longest line."""
LABEL = 14
"""Columns of what stands before the facts of a report."""
_TIMES = ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns"))
_SIZES = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "B"))


def duration(ns: int) -> str:
    """Return a time in the unit that fits it, four digits or more: 412.6 ms, 12.03 s, 0 ns."""
    return _scaled(ns, _TIMES)


def size(bytes: int) -> str:
    """Return an amount of data in the decimal unit that fits it, four digits or more: 180 B, 133.8 kB."""
    return _scaled(bytes, _SIZES)


def _scaled(value: int, units: Sequence[tuple[int, str]]) -> str:
    digits = min(len(str(abs(value))) - 4, len(str(units[0][0])) - 1)
    value = round(value, -digits) if digits > 0 else value
    unit, name = next((pair for pair in units if abs(value) >= pair[0]), units[-1])
    whole = len(str(abs(value) // unit))
    return f"{value} {name}" if unit == 1 else f"{value / unit:.{max(0, 4 - whole)}f} {name}"


def percent(part: float, whole: float) -> str:
    """Return part of whole in percent with one decimal, `<0.1 %` of less; `-` of nothing."""
    if not whole:
        return "-"
    share = 100 * part / whole
    return "<0.1 %" if 0 < share < 0.05 else f"{share:.1f} %"


def several(number: int, noun: str) -> str:
    """Return `1 message`, `15 messages`, `2 processes`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


def shown(text: str, most: int = 100) -> str:
    """Return a name of at most `most` characters for a terminal: what is not printable is escaped, the middle of a long one left out."""
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    if len(plain) <= most:
        return plain
    tail = (most - 3) // 2
    return f"{plain[: most - 3 - tail]}...{plain[len(plain) - tail :]}"


def wrapped(text: str, indent: int = 0) -> list[str]:
    """Return a long line as lines of at most WIDTH columns, broken at blanks, those behind the first indented."""
    return textwrap.wrap(text, WIDTH, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def facts(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line, or more if it is long, per (label, fact); the facts begin in one column. An empty label continues the one before."""
    return [line for label, fact in pairs for line in wrapped(f"{label:{LABEL - 1}} {fact}", LABEL)]


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> list[str]:
    """Return aligned lines; columns listed in `left` are set flush left, the others right."""
    lines = [list(head), *map(list, rows)]
    width = [max(len(line[k]) for line in lines) for k in range(len(head))]

    def cell(k: int, text: str) -> str:
        return text.ljust(width[k]) if k in left else text.rjust(width[k])

    return ["  ".join(cell(k, text) for k, text in enumerate(line)).rstrip() for line in lines]


def rank(rank: int, thread: int) -> str:
    """Return `3`, or `3.1` for a thread that is not the first."""
    return f"{rank}.{thread}" if thread else str(rank)
