"""Numbers as words, rows as aligned text."""

from __future__ import annotations

from collections.abc import Sequence

from perwiz.trace import ops
from perwiz.trace.tables import Trace

_UNITS = ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns"))


def duration(ns: int) -> str:
    """Return a time in the unit that fits it, four digits or more: 412.6 ms, 12.03 s, 0 ns."""
    size, unit = next((pair for pair in _UNITS if abs(ns) >= pair[0]), _UNITS[-1])
    value = ns / size
    return f"{value:.0f} {unit}" if size == 1 else f"{value:.{max(0, 3 - len(str(int(abs(value)))) + 1)}f} {unit}"


def percent(part: float, whole: float) -> str:
    """Return part of whole in percent with one decimal; `-` of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def several(number: int, noun: str) -> str:
    """Return `1 message`, `15 messages`, `2 processes`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,), indent: str = "  ") -> list[str]:
    """Return aligned lines; columns listed in `left` are set flush left, the others right."""
    lines = [list(head), *map(list, rows)]
    width = [max(len(line[k]) for line in lines) for k in range(len(head))]

    def cell(k: int, text: str) -> str:
        return text.ljust(width[k]) if k in left else text.rjust(width[k])

    return [(indent + "  ".join(cell(k, text) for k, text in enumerate(line))).rstrip() for line in lines]


def region_path(trace: Trace, path: int) -> str:
    """Return the names of a region path from the outside in, joined by `/`; empty at the top."""
    names = []
    while path >= 0:
        names.append(trace.names[trace.paths.region[path]])
        path = int(trace.paths.parent[path])
    return "/".join(reversed(names))


def rank(trace: Trace, location: int) -> str:
    """Return `3`, or `3.1` for a thread that is not the first."""
    process, thread = trace.locations.process[location], trace.locations.thread[location]
    return f"{process}.{thread}" if thread else str(process)


def call(trace: Trace, row: int) -> dict[str, object]:
    """Return what a report says of a call: id, rank, routine, region."""
    calls = trace.calls
    return {
        "call": f"e{row}",
        "rank": int(trace.locations.process[calls.location[row]]),
        "routine": ops.OPS[calls.op[row]],
        "region": region_path(trace, int(calls.path[row])),
    }
