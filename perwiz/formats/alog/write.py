"""Writes a trace, with any of its timelines, as an ALOG file that viewers show and that reads back as the same tables.

Two steps: all events into the order of the file, then, some thousand at a time, into numbers and from those into text.
"""

from __future__ import annotations

import contextlib
import gzip
import os
from collections.abc import Iterator
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import UsageError
from perwiz.formats.alog.writing import requests
from perwiz.formats.alog.writing.cells import ABSENT, COUNT, KEYS, TEXT, Cells
from perwiz.formats.alog.writing.headers import clean, headers
from perwiz.formats.alog.writing.order import order
from perwiz.formats.message_ends import check
from perwiz.kernels import alog_format
from perwiz.trace.trace import Timeline, Trace

EVENTS_AT_ONCE = 1 << 16
"""Bounds the memory: a line takes about 1 KB of it while it is made."""
_WIDEST = 448
"""Bytes of the longest line without its list and its text."""
_NUMBER = 11
"""Bytes of the longest entry of a list, with its comma."""
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
    cells, texts = Cells(trace, lists), _joined(trace.texts)
    with whole(path) as file:
        file.write("".join(f"{line}\n" for line in headers(trace, timeline, events)).encode("ascii"))
        for begin in range(0, len(events), EVENTS_AT_ONCE):
            at = events.order[begin : begin + EVENTS_AT_ONCE]
            file.write(_lines(cells.make(events.kind[at], events.row[at], events.time[at]), lists.pool, *texts))


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


def _joined(texts: tuple[str, ...]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return where each text begins, and one more, int64, and all texts as bytes without blanks."""
    words = [clean(text, "_", _LONGEST_TEXT).encode("ascii") for text in texts]
    return np.cumsum([0, *(len(word) for word in words)], dtype="i8"), np.frombuffer(b"".join(words), "u1")


def _lines(cells: NDArray[np.int64], pool: NDArray[np.int32], texts: NDArray[np.int64], text: NDArray[np.uint8]) -> memoryview:
    size = _WIDEST * len(cells) + _NUMBER * int(cells[:, COUNT].sum()) + _LONGEST_TEXT * np.count_nonzero(cells[:, TEXT] >= 0)
    out = np.empty(size, "u1")
    return out[: alog_format.lines(cells, pool, texts, text, KEYS, ABSENT, out)].data


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
