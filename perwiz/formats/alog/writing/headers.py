"""The header of a written ALOG file: what both viewers need, then the records of the perwiz-ext 1 convention."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from perwiz.formats.alog.communicators import NOBODY
from perwiz.formats.alog.headers import (
    CLOCKS_UNCOMPARED,
    COUNTS,
    KINDS,
    LINK,
    ORIGIN,
    WILDCARDS_UNTOLD,
)
from perwiz.formats.alog.writing import cells
from perwiz.formats.alog.writing import order as events
from perwiz.formats.losses import LONGEST_TEXT, ascii_text
from perwiz.trace import operations
from perwiz.trace.arrays import I4
from perwiz.trace.origin import to_json
from perwiz.trace.tables import LINKS, PROCESS, THREAD
from perwiz.trace.trace import Timeline, Trace

_COLOUR = {
    operations.OTHER: "gray:gray",
    operations.SEND: "blue:gray3",
    operations.ISEND: "SteelBlue:gray3",
    operations.RECV: "green:light_gray",
    operations.IRECV: "SpringGreen:light_gray",
    operations.SENDRECV: "seagreen:gray",
    operations.COMPLETE: "red:vlines3",
    operations.TEST: "coral:vlines3",
    operations.PROBE: "gold:gray",
    operations.N_TO_N: "yellow:dimple3",
    operations.ONE_TO_N: "cyan:boxes",
    operations.N_TO_ONE: "magenta:2x2",
    operations.PREFIX: "purple:vlines3",
    operations.LETS: "orange:gray",
    operations.AWAITS: "brown:vlines3",
}
_REGION, _PARALLEL = "white:gray", "wheat:gray"
_SINGLE = (
    (cells.POSTED, events.POSTED, "more requests posted"),
    (cells.COMPLETED, events.COMPLETED, "more requests completed"),
    (cells.BORN, events.BORN, "process begins"),
    (cells.DIED, events.DIED, "process ends"),
)


def microseconds(ns: int) -> str:
    """Return a time in us: whole, or with three decimals."""
    if ns < 0:
        return f"-{microseconds(-ns)}"
    return f"{ns // 1000}.{ns % 1000:03d}" if ns % 1000 else f"{ns // 1000}"


def headers(trace: Trace, timeline: Timeline, written: events.Events) -> Iterator[str]:
    """Yield the lines before the first event, without their newlines."""
    names = _names(trace)
    used = [int(op) for op in np.unique(trace.calls.op)]
    yield from _counts(trace, written, 2 * (len(used) + len(names)))
    for op in used:
        yield f"-13 0 {2 * op + 1} {2 * op + 2} 0 0 {_COLOUR[int(operations.KIND[op])]} {operations.OPS[op]}"
    for row, name in names.items():
        yield f"-13 0 {_pair(row)} 0 0 {_PARALLEL if trace.parallel[row] else _REGION} {name}"
    yield "-30 0 0 1 0 0 perwiz-ext 1"
    yield from _communicators(trace)
    yield from _placement(trace)
    yield from (f"-33 0 {2 * op + 1} {2 * op + 2} 0 0 {operations.OPS[op]}" for op in used)
    yield from (f"-34 0 {_pair(row)} 0 0 PRGN {name}" for row, name in names.items() if trace.parallel[row])
    yield from _offsets(trace)
    for key, value in {**trace.properties, "made_by": str(timeline.origin)}.items():
        if _fits(key, value):
            yield f"-36 0 0 0 0 0 {ascii_text(f'{key}={value}')}"
    for key, told in ((CLOCKS_UNCOMPARED, trace.clocks_compared), (WILDCARDS_UNTOLD, trace.wildcards_told)):
        if not told:
            yield f"-36 0 0 0 0 0 {key}=1"
    if not timeline.origin.measured:
        yield from _parts(ORIGIN, to_json(timeline.origin))
    if trace.counts.lacking:
        yield from _parts(COUNTS, json.dumps(trace.counts.lacking, separators=(",", ":")))


def _parts(key: str, text: str) -> Iterator[str]:
    """Yield the records of a property, as many as its text takes, which has no blanks."""
    width = LONGEST_TEXT - len(key) - 1
    for part, begin in enumerate(range(0, len(text), width)):
        yield f"-36 {part} 0 0 0 0 {key}={text[begin : begin + width]}"


def lost(trace: Trace) -> list[tuple[str, int]]:
    """Return what these records do not hold as it is: how many names and properties."""
    used = set(trace.locations.node.tolist())
    names = [name != trace.names[row] for row, name in _names(trace).items()]
    names += [_listed(name) != name for name in trace.communicators.names if name]
    names += [row not in used or _host(name) != name for row, name in enumerate(trace.nodes)]
    properties = sum(not _fits(key, value) for key, value in trace.properties.items())
    return [("names that are shortened or written otherwise", sum(names)), ("properties that no line holds", properties)]


def _counts(trace: Trace, written: events.Events, states: int) -> Iterator[str]:
    """Yield the records -1 to -11 and the names of stand-alone events."""
    present = np.bincount(written.kind, minlength=len(events.KINDS)) > 0
    single = [(cells.LINK + kind, f"{LINK} {LINKS[kind]}") for kind in np.unique(trace.links.kind).tolist()]
    single += [(kind, text) for kind, event, text in _SINGLE if present[event]]
    messages = sum(present[[events.SEND, events.RECEIVE]] | present[[events.LOST_SEND, events.LOST_RECEIVE]])
    end = int(written.time.max(initial=0))
    columns = trace.locations.process, trace.locations.thread
    processes, threads = (min(int(column.max(initial=-1)) + 1, cells.LARGEST) for column in columns)
    yield "-1 0 0 0 0 0 perwiz"
    for kind, count in ((-2, len(written)), (-3, processes), (-4, threads), (-5, states + len(single) + messages)):
        yield f"{kind} 0 0 {count} 0 0"
    yield "-6 0 0 0 0 0"
    yield f"-7 0 0 0 0 {microseconds(max(end, 1000))}"
    yield "-8 0 0 1 0 0"
    yield "-11 0 0 0 0 0"
    for kind, text in single:
        yield f"-9 0 0 {kind} 0 0 {text}"


def _names(trace: Trace) -> dict[int, str]:
    """Return the state names of the rows of names that occur: no two the same, none that stands for an MPI routine."""
    out: dict[int, str] = {}
    taken: set[str] = set()
    for row in np.unique(trace.region_names).tolist():
        name = ascii_text(trace.names[row], most=LONGEST_TEXT - 20) or "unnamed"
        if operations.find(name) is not None and not trace.parallel[row]:
            name = f"user_{name}"
        while name in taken:
            name = f"{name}_{row}"
        taken.add(name)
        out[row] = name
    return out


def _begin(row: int) -> int:
    """Return the event that begins the state of a row of names."""
    return cells.USER + 2 * row


def _pair(row: int) -> str:
    return f"{_begin(row)} {_begin(row) + 1}"


def _listed(name: str) -> str:
    """Return the name of a communicator in its list of ranks."""
    return ascii_text(name, most=LONGEST_TEXT // 2) or "unnamed"


def _fits(key: str, value: str) -> bool:
    """Return whether one record holds a property as it is, or what made the timeline, which another record tells in full."""
    return key == "made_by" or ("=" not in key and ascii_text(f"{key}={value}") == f"{key}={value}")


def _host(name: str) -> str:
    return ascii_text(name, "_", LONGEST_TEXT // 2)


def _communicators(trace: Trace) -> Iterator[str]:
    for row, name in enumerate(trace.communicators.names):
        ranks = trace.communicators.members(row)
        text = _listed(name)
        for part, piece in enumerate(_pieces(ranges(ranks) or [NOBODY], LONGEST_TEXT - len(text))):
            yield f"-31 {part} {len(ranks)} {row} 0 0 {text} {piece}"


def ranges(ranks: I4) -> list[str]:
    """Return the runs of an int32 array of ranks, in its order, each as `first-last` or one rank."""
    if not len(ranks):
        return []
    cut = np.flatnonzero(np.diff(ranks) != 1) + 1
    first, last = ranks[np.r_[0, cut]].tolist(), ranks[np.r_[cut, len(ranks)] - 1].tolist()
    return [f"{a}-{b}" if b > a else f"{a}" for a, b in zip(first, last, strict=True)]


def _pieces(words: list[str], most: int) -> Iterator[str]:
    """Yield the words joined by commas, each piece at most so long."""
    piece: list[str] = []
    size = 0
    for word in words:
        if size + len(word) + 1 > most:
            yield ",".join(piece)
            piece, size = [], 0
        piece.append(word)
        size += len(word) + 1
    if piece:
        yield ",".join(piece)


def _placement(trace: Trace) -> Iterator[str]:
    """Yield a record per location that says more than its process and thread."""
    places = trace.locations
    implied, sorted_row = np.full(len(places), THREAD), np.empty(len(places), "i8")
    order = np.lexsort((places.thread, places.process))
    sorted_row[order] = np.arange(len(order))
    implied[order[np.unique(places.process[order], return_index=True)[1]]] = PROCESS
    told, moved = places.kind != implied, sorted_row != np.arange(len(places))
    for row in np.flatnonzero((places.node >= 0) | (places.cpu >= 0) | (places.metahost != 0) | told | moved):
        node, cpu = places.node[row], places.cpu[row]
        words = [
            *([f"host={_host(trace.nodes[node])}"] if node >= 0 else []),
            *([f"cpu={cpu}"] if cpu >= 0 else []),
            f"metahost={places.metahost[row]}",
            *([f"kind={KINDS[places.kind[row]]}"] if told[row] else []),
            *([f"row={row}"] if moved[row] else []),
        ]
        yield f"-32 {places.process[row]} {places.thread[row]} {node} 0 0 {' '.join(words)}"


def _offsets(trace: Trace) -> Iterator[str]:
    table = trace.offsets
    for row in range(len(table)):
        place, time = table.location[row], microseconds(int(table.time[row]))
        values = (f"{key}={float(column[row])!r}" for key, column in (("off", table.offset), ("drift", table.drift), ("err", table.error)))
        yield f"-35 {trace.locations.process[place]} {trace.locations.thread[place]} 0 0 {time} {' '.join(values)}"
