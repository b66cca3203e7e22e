"""Writes a trace, with any of its timelines, as an ALOG file that viewers show and that reads back as the same tables.

Two steps: all events into the order of the file, then, some thousand at a time, into numbers and from those into text.
"""

from __future__ import annotations

import contextlib
import gzip
import os
from collections.abc import Iterator, Sequence
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import UsageError
from perwiz.formats.alog.writing import requests
from perwiz.formats.alog.writing.cells import COLUMNS, MODES, TEMPLATES, Cells
from perwiz.formats.alog.writing.headers import clean, headers
from perwiz.formats.alog.writing.order import KINDS, order
from perwiz.formats.message_ends import check
from perwiz.formats.templates import ROWS_AT_ONCE, Templates
from perwiz.trace.trace import Timeline, Trace

_LONGEST_TEXT = 100


def write(trace: Trace, timeline: Timeline, path: str) -> None:
    """Write the trace with the times of `timeline` to `path`, packed if that ends in .gz or .zst; whole, or not at all.

    A timeline with instants before 0 is written later by as much, so that the file begins at 0.
    Raises TraceError when the timeline belongs to another trace, UsageError when the file cannot be written.
    """
    check(trace, timeline)
    lists = requests.lists(trace)
    events = order(trace, timeline, lists)
    events.time -= events.time.min(initial=0)
    cells, made = Cells(trace, lists), templates(trace.texts, lists.pool)
    with whole(path) as file:
        file.write("".join(f"{line}\n" for line in headers(trace, timeline, events)).encode("ascii"))
        for begin in range(0, len(events), ROWS_AT_ONCE):
            some = events.order[begin : begin + ROWS_AT_ONCE]
            file.write(made.fill(events.kind[some], cells.make(events.kind[some], events.row[some], events.time[some])))


def templates(texts: Sequence[str], pool: NDArray[np.int32]) -> Templates:
    """Return the templates of the lines, a kind of event each, with the labels of calls and the requests that lists name."""
    labels = [clean(text, "_", _LONGEST_TEXT).encode("ascii") for text in texts]
    return Templates(COLUMNS, [f"{TEMPLATES[kind]}\n" for kind in KINDS], [*MODES, *labels], pool)


def missing(trace: Trace) -> list[tuple[str, int]]:
    """Return what ALOG does not hold of a trace, and how many of each."""
    names = *trace.names, *trace.communicators.names, *trace.nodes
    used = np.unique(trace.paths.region[trace.regions.path])
    found = [
        ("values of counters", len(trace.counters)),
        ("parameters", len(trace.parameters)),
        ("records of threads, windows, files ...", len(trace.records)),
        ("topologies", len(trace.topologies)),
        ("places where regions are defined", sum(bool(source) for source in trace.sources)),
        ("names of metahosts", len(trace.metahosts)),
        ("tests of unfinished requests", len(trace.unfinished)),
        ("cancelled requests", int(trace.requests.cancelled.sum())),
        ("names that are not in printable ASCII as they are", sum(clean(name) != name for name in names)),
        ("names of regions never entered", len(trace.names) - len(used)),
        ("defects", len(trace.defects)),
    ]
    return [(what, count) for what, count in found if count]


@contextlib.contextmanager
def whole(path: str) -> Iterator[IO[bytes]]:
    """Return a file to write that takes the name `path` at the end, and leaves nothing behind when something fails before.

    Raises UsageError when it cannot be written.
    """
    temporary = f"{path}.{os.getpid()}.part"
    try:
        with open(temporary, "xb") as file:
            try:
                with _packed(file, path) as packed:
                    yield packed
                file.flush()
                os.replace(temporary, path)
            except BaseException:
                os.unlink(temporary)
                raise
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from None


@contextlib.contextmanager
def _packed(file: IO[bytes], path: str) -> Iterator[IO[bytes]]:
    if path.endswith(".gz"):
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            yield cast("IO[bytes]", packed)
    elif path.endswith(".zst"):
        with _zstd(file) as packed:
            yield packed
    else:
        yield file


def _zstd(file: IO[bytes]) -> Any:
    import zstandard

    return zstandard.ZstdCompressor().stream_writer(file, closefd=False)
