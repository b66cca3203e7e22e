"""The events of a file as columns, read piece by piece; and what stands beside them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import TraceError
from perwiz.formats.kineto.texts import Texts
from perwiz.formats.source import Source
from perwiz.kernels import chrome
from perwiz.kernels.alog import empty
from perwiz.trace.arrays import U1, Columns

_LONGEST = 64 << 20
"""Bytes of one event, or of one thing beside the list, at most."""
_SHORT = 1 << 12
"""Bytes that nearly all things beside the list have at most."""
_AT_ONCE = 1 << 16
_PIECE = 4 << 20
CATEGORIES = ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver", "kernel", "gpu_memcpy", "gpu_memset", "cuda_sync")
"""Categories of events that are kept."""
OPERATOR, ANNOTATION, RUNTIME, DRIVER, KERNEL, COPY, SET, SYNC = range(len(CATEGORIES))
_KIND = {name: kind for kind, name in enumerate(CATEGORIES)} | {"hip_runtime": RUNTIME, "hip_driver": DRIVER}
_NO_KIND = 255
_BEHIND = b"Record Window End"
"""The name of what stands behind all other events."""


@dataclasses.dataclass
class Recorded:
    """What a file holds."""

    path: str
    columns: dict[str, NDArray[Any]]
    """Of chrome.EVENT, and `kind`, a place in CATEGORIES."""
    details: dict[str, NDArray[Any]]
    """Of chrome.DETAIL."""
    texts: Texts
    beside: dict[str, Any]
    """What stands beside the list."""
    records: int
    bad: int
    left_out: int
    """Events of other categories."""
    fault: str
    """Why it was not read to its end, or nothing."""
    lacks: bool
    """Whether events may be missing: its list of them was not read to its end."""


def read(path: str, progress: Callable[[int, int], None] | None) -> Recorded:
    """Return what a file holds, read as far as it goes. Raises TraceError for one that has no list of events."""
    with Source(path, progress) as source:
        return _Reader(source).run()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._pieces = source.pieces()
        self._buffer = b""
        self._ended = False
        self.texts = Texts()
        self._events, self._details = empty(_AT_ONCE, chrome.EVENT), empty(_AT_ONCE, chrome.DETAIL)
        kept = np.dtype([*((name, chrome.EVENT[name]) for name in chrome.EVENT.names or ()), ("kind", "u1")])
        self._kept, self._told = Columns(kept), Columns(chrome.DETAIL)
        self._rows = self._told_rows = self._left_out = 0
        self._kind_of: U1 = np.zeros(0, "u1")
        self._fault = ""
        self._whole = False

    def run(self) -> Recorded:
        """Return what the file holds."""
        beside: dict[str, Any] = {}
        found = False
        for key in self._keys():
            if key == "traceEvents":
                self._list()
                found = True
            elif not self._fault:
                value = self._value()
                if value is not None:
                    beside[key] = value
            if self._fault:
                break
        if not found:
            raise TraceError(f"{self._source.path}: {self._fault or 'no traceEvents'}, must be a trace of the PyTorch profiler")
        state = self.texts.state[0]
        columns = {name: self._kept.take(name) for name in (*(chrome.EVENT.names or ()), "kind")}
        details = {name: self._told.take(name) for name in chrome.DETAIL.names or ()}
        fault = "cut off in the middle of its packing" if self._source.cut_off else self._fault
        lacks = not self._whole and not any(self.texts.raw(k) == _BEHIND for k in range(len(self.texts)))
        counts = int(state.records), int(state.bad), self._left_out
        return Recorded(self._source.path, columns, details, self.texts, beside, *counts, fault, lacks)

    def _more(self) -> bool:
        """Take another piece of the file; return whether there was one."""
        parts, size = [self._buffer], 0
        while size < _PIECE and not self._ended:
            piece = next(self._pieces, b"")
            self._ended = not piece
            parts.append(piece)
            size += len(piece)
        self._buffer = b"".join(parts)
        return size > 0

    def _next(self, skipped: bytes) -> bytes:
        """Return the next byte that is neither space nor to be skipped, without taking it; none at the end of the file."""
        while True:
            self._buffer = self._buffer.lstrip(b" \t\r\n" + skipped)
            if self._buffer or not self._more():
                return self._buffer[:1]

    def _keys(self) -> Iterator[str]:
        """Yield the keys of the outermost object, each to be followed by taking its value; or that of a list that stands alone."""
        if self._next(b"\xef\xbb\xbf") == b"[":
            yield "traceEvents"
            return
        self._buffer = self._buffer[1:]
        while (byte := self._next(b",")) == b'"':
            key = self._value()
            if not isinstance(key, str) or self._next(b"") != b":":
                break
            self._buffer = self._buffer[1:]
            self._next(b"")
            yield key
        if byte != b"}" and not self._fault:
            self._fault = "ends in the middle" if not byte else "no JSON behind its events"

    def _value(self) -> Any:
        """Take a value that stands beside the list and return it, None for one that is none."""
        decoder, size = json.JSONDecoder(strict=False), _SHORT
        while True:
            text, more = self._buffer[:size].decode("utf-8", "surrogateescape"), size < len(self._buffer)
            try:
                value, end = decoder.raw_decode(text)
            except (ValueError, RecursionError):
                if not more and (len(self._buffer) > _LONGEST or not self._more()):
                    self._fault = "ends in the middle"
                    return None
            else:
                if end < len(text) or not (more or self._more()):
                    self._buffer = self._buffer[len(text[:end].encode("utf-8", "surrogateescape")) :]
                    return value
            size *= 4

    def _list(self) -> None:
        """Take the list of events."""
        if self._next(b"") != b"[":
            self._fault = "no list of events"
            return
        self._buffer = self._buffer[1:]
        state = self.texts.state
        while True:
            state.at = 0
            status = self._events_of(self._buffer)
            self._buffer = self._buffer[int(state.at[0]) :]
            if status == chrome.DONE:
                self._whole = True
                return
            if status == chrome.BROKEN:
                self._fault = "something else than events in its list"
                return
            if len(self._buffer) > _LONGEST:
                self._fault = f"an event of more than {_LONGEST} bytes"
                return
            if not self._more():
                self._fault = "ends in the middle"
                return

    def _events_of(self, text: bytes) -> int:
        """Take the events of a piece; return the status of the kernel."""
        while True:
            status = self.texts.parse(text, self._ended, self._events, self._details)
            self._keep()
            if status != chrome.ROOM:
                return status
            self.texts.make_room(len(text))

    def _learn(self) -> None:
        """Find the kinds that new texts name."""
        names = [self.texts.raw(k).decode("latin-1") for k in range(len(self._kind_of), len(self.texts))]
        self._kind_of = np.append(self._kind_of, np.array([_KIND.get(name, _NO_KIND) for name in names], "u1"))

    def _keep(self) -> None:
        """Keep of the events at hand those of the categories that are needed."""
        state = self.texts.state
        self._learn()
        events, details = self._events[: state.events[0]], self._details[: state.details[0]]
        kind = np.append(self._kind_of, np.uint8(_NO_KIND))[events.category]
        rows = np.flatnonzero(kind != _NO_KIND)
        chosen = {name: events[name][rows] for name in chrome.EVENT.names or ()}
        told = chosen["detail"] >= 0
        detail = details[chosen["detail"][told]]
        chosen["detail"][told] = self._told_rows + np.arange(len(detail))
        self._kept.add({**chosen, "kind": kind[rows]}, len(rows))
        self._told.add({name: detail[name] for name in chrome.DETAIL.names or ()}, len(detail))
        self._rows += len(rows)
        self._told_rows += len(detail)
        self._left_out += len(events) - len(rows)
        state.events = state.details = 0
