"""Numbers as words, names as a terminal may show them, rows as aligned text, in lines that fit where they are shown.

That is WIDTH columns, for files and pipes, unless `fitted` says otherwise. A word is never broken, a number never shortened, and what is
to be copied stays on one line, however long.
"""

from __future__ import annotations

import contextlib
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import TextIO

WIDTH = 120
"""Columns of the longest line off a terminal."""
_columns: ContextVar[int] = ContextVar("columns", default=WIDTH)
_NARROWEST = 40
"""Columns of the narrowest terminal that lines are fitted to."""
_PART = 3
"""Letters of a part of a name that may be meant by it, at least."""
_KEPT = re.compile(r"--[a-z][a-z-]* (?:'[^']*'|[^\s(-]\S*)|\d (?:%|[num]?s|[kMGT]?B)(?!\w)|`[^`]{,40}`")
"""What is not to be torn apart: an option and what it is given, a number and its unit, a quotation."""
_COPIED = re.compile(r"\s*(?:--|perwiz )")
"""What a line begins with that is to be copied."""
_EXAMPLE = re.compile(r"(\s*\S.*\S)(\s{2,})(\S.*)")
"""A line of an example: what to type, and what it does."""
_HANGING = 26
"""Columns of what stands before a text that goes on below itself; below something longer it begins a line."""
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
    plain = _plain(text)
    if len(plain) <= most:
        return plain
    tail = (most - 3) // 2
    return f"{plain[: most - 3 - tail]}...{plain[len(plain) - tail :]}"


def _plain(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def apart(texts: Sequence[str], most: int) -> list[str]:
    """Return names as `shown` does; different ones that would read the same keep what is where they begin to differ.

    main/step/halo/exchange and main/step/atoms/exchange in 16: main/s...xchange twice -> mai...halo...nge, mai...atom...nge
    """
    plain = list(dict.fromkeys(map(_plain, texts)))
    out = {text: shown(text, most) for text in plain}
    same = _alike(plain, out)
    while same:
        group = same.pop()
        first, last = min(group), max(group)  # what these two share all do
        begin = next((k for k, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
        out |= {text: _around(text, begin, most) for text in group}
        same += [few for few in _alike(group, out) if len(few) < len(group)]
    return [out[_plain(text)] for text in texts]


def _alike(texts: Sequence[str], short: Mapping[str, str]) -> list[list[str]]:
    """Return the groups of several texts that are shortened to the same."""
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(short[text], []).append(text)
    return [group for group in groups.values() if len(group) > 1]


def _around(text: str, begin: int, most: int) -> str:
    """Return a text of at most `most` characters with what is from `begin` on; the middle left out before and behind that."""
    ends = (most - 6) // 3
    behind = max(begin + most - 6 - 2 * ends, len(text) - ends)
    return (
        f"{text[:ends]}...{text[begin : begin + most - 6 - 2 * ends]}{'...' if begin + most - 6 - 2 * ends < behind else ''}{text[behind:]}"
    )


def meant(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean predict?` of a word that is not known, nothing if none of the known ones is like it."""
    from difflib import get_close_matches

    plain = {name.lower().strip("-"): name for name in known}
    close = get_close_matches(word.lower().strip("-"), plain, 1)
    return f"; did you mean {plain[close[0]]}?" if close else ""


def there(word: str, known: Sequence[str]) -> str:
    """Return what there is instead of a name that is not: those that hold it, else those like it, else the first, and which is meant.

    `main, main,exchange ...; did you mean main?` of mian; nothing if nothing is known.
    """
    from difflib import get_close_matches

    inside = [name for name in known if len(word) >= _PART and word.lower() in name.lower()]
    listed = inside[:3] or get_close_matches(word, known, 3, 0.4) or known[:5]
    guess = meant(word, known) or (f"; did you mean {inside[0]}?" if len(inside) == 1 else "")
    return f"{', '.join(listed)}{' ...' if len(listed) < len(known) else ''}{guess}"


def columns() -> int:
    """Return the columns that lines are fitted to."""
    return _columns.get()


@contextlib.contextmanager
def fitted(columns: int) -> Iterator[None]:
    """Fit what is made meanwhile to so many columns."""
    before = _columns.set(columns)
    try:
        yield
    finally:
        _columns.reset(before)


def width(stream: TextIO | None) -> int:
    """Return the columns of the terminal that a stream is shown on; WIDTH if it is shown on none."""
    if stream is None or not stream.isatty():
        return WIDTH
    from shutil import get_terminal_size

    return max(_NARROWEST, get_terminal_size((WIDTH, 0)).columns)


def wrapped(text: str, indent: int = 0) -> list[str]:
    """Return a long line as lines that fit, broken at blanks, those behind the first indented.

    Options keep their arguments and numbers their units.
    """
    whole = _KEPT.sub(lambda kept: kept[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(whole, columns(), subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def folded(text: str) -> str:
    """Return a report whose lines fit: sentences that do not are wrapped; what is to be copied stays as it is."""
    out = []
    for line in text.split("\n"):
        keep = len(line) <= columns() or _COPIED.match(line)
        out += [line] if keep else wrapped(line, len(line) - len(line.lstrip()))
    return "\n".join(out)


def paragraphs(text: str) -> list[str]:
    """Return the lines of a text that fit: sentences wrapped anew, lines that begin with blanks as they are if they fit.

    Of one that does not, what stands behind the last two blanks or more goes on below itself.
    """
    out: list[str] = []
    sentences: list[str] = []
    for line in [*text.strip("\n").split("\n"), ""]:
        if line[:1].strip():
            sentences.append(line)
            continue
        out += wrapped(" ".join(sentences)) if sentences else []
        sentences = []
        out += _example(line)
    return out[:-1]


def _example(line: str) -> list[str]:
    parts = _EXAMPLE.fullmatch(line)
    if len(line) <= columns() or not parts:
        return [line]
    left, meaning = parts[1], parts[3]
    behind = parts.start(3)
    if behind <= _HANGING:
        return wrapped(line, behind)
    return [left, *wrapped(f"{'':6}{meaning}", 6)]


def facts(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line, or more if it is long, per (label, fact); the facts begin in one column. An empty label continues the one before."""
    return [line for label, fact in pairs for line in wrapped(f"{label:{LABEL - 1}} {fact}", LABEL)]


_NAME, _SHORT = 24, 16
"""Columns that a name in a table keeps while there are other ways to gain room, and when there are none."""
_WHOLE = 10**9
"""More than any name has."""
_FIXED = re.compile(r"--|perwiz |\(--|e[0-9]+\b|[-+<>]?[0-9]|MPI_\w+$")
"""What a cell is or begins with that is no name to shorten: an option, a call, a number, a routine."""
Line = Sequence[str] | str
"""Cells, or a line that stands between rows as it is."""


def table(head: Sequence[str], rows: Sequence[Line], left: Sequence[int] = (0,), spare: Sequence[int] = ()) -> list[str]:
    """Return aligned lines that fit; columns listed in `left` are set flush left, the others right.

    Where room is short, long names are shortened in the middle; options and sentences in the last column go below their row; then
    names are shortened further and columns left out, `spare` ones first, then from the right, which a line below says.
    """
    parts = [[row[k] for row in (head, *rows) if not isinstance(row, str)] for k in range(len(head))]
    last = len(head) - 1
    long = 0 < last in left and any(map(_is_long, parts[last][1:]))
    every, above = list(range(len(head))), list(range(last if long else len(head)))

    def room(kept: Sequence[int], name: int) -> int:
        return columns() + 2 - sum(2 + _needed(parts[k], name if k in left else _WHOLE) for k in kept)

    ways = ((every, _NAME), (above, _NAME), (above, _SHORT))
    kept, name = next((way for way in ways if room(*way) >= 0), ways[-1])
    for k in (*spare, *above[:0:-1]):
        kept = kept if room(kept, name) >= 0 else [column for column in kept if column != k]
    width, free = dict[int, int](), max(0, room(kept, name))
    for k in kept:
        least = _needed(parts[k], name if k in left else _WHOLE)
        width[k] = min(_needed(parts[k], _WHOLE), least + free)
        free -= width[k] - least
    out: list[str] = []
    names = {k: iter(apart(parts[k], width[k])) for k in kept}
    for row in (head, *rows):
        if isinstance(row, str):
            out.append(row)
            continue
        cells = ((next(names[k]), width[k], k in left) for k in kept)
        out.append("  ".join(text.ljust(wide) if flush else text.rjust(wide) for text, wide, flush in cells).rstrip())
        if long and last not in kept and row is not head and row[last]:
            out += [f"  {row[last]}"] if _COPIED.match(row[last]) else wrapped(f"  {row[last]}", 2)
    lost = [head[k] for k in above if k not in kept and head[k]]
    return [*out, *(wrapped(f"too wide to show: {', '.join(lost)}", 2) if lost else [])]


def _is_long(cell: str) -> bool:
    """Return whether a cell is an option or a sentence."""
    return bool(_COPIED.match(cell)) or cell.count(" ") > 2


def _needed(cells: Sequence[str], name: int) -> int:
    """Return the columns that a column needs, its head first, if names longer than so many are shortened."""
    head, *others = cells
    return max(len(head), *(len(cell) if _FIXED.match(cell) or _is_long(cell) else min(len(cell), name) for cell in others), 0)


def lanes(processes: int, threads: int, streams: int) -> str:
    """Return `2 processes`, or `2 processes, 8 threads, 2 device streams`: first threads count as threads where there are others."""
    more = [several(threads, "thread")] if threads > processes else []
    return ", ".join([several(processes, "process"), *more, *([several(streams, "device stream")] if streams else [])])


def location(threads: Iterable[int]) -> str:
    """Return what one of some locations is called, given the numbers of their threads: a process if each is the first of its own."""
    return "process or thread" if any(threads) else "process"


def together(threads: Sequence[int]) -> str:
    """Return what a sum over some locations ends with, given the numbers of their threads: nothing if there is but one."""
    if len(threads) < 2:
        return ""
    return f", over all {len(threads)} {'processes and threads' if any(threads) else 'processes'}"


def rank(rank: int, thread: int) -> str:
    """Return `3`, or `3.1` for a thread that is not the first."""
    return f"{rank}.{thread}" if thread else str(rank)
