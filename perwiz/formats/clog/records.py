"""The records of a CLOG-2 file, in pieces: its preamble, the blocks behind it, and in these where records begin and what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import TraceError
from perwiz.formats.source import Source
from perwiz.kernels import clog
from perwiz.kernels.alog import Records
from perwiz.trace.arrays import F8, I4, I8
from perwiz.words import shown

MAGIC = b"CLOG-02."
PREAMBLE = 1024
STATE, EVENT, BARE, CARGO, MESSAGE, COMMUNICATOR = 2, 3, 5, 6, 7, 9
"""Types of records."""
BODY = 6
"""The word of a record at which its own part begins."""
LENGTHS = np.array([6, 6, 34, 32, 16, 8, 16, 12, 10, 18, 18, 8], "i4")
"""Words per type of record, header included."""
_PIECE = 1 << 20
"""Bytes of blocks read at a time, if a block is not longer."""
_SMALLEST, _LARGEST = 256, 1 << 30
AT_ONCE = 1 << 14
"""Most records looked at at a time."""


class Piece:
    """Some records: `begin` is the word at which each begins, `kinds` the type of each, -1 for one that cannot be read, `number` which
    record of the file the first is, counted from 1.
    """

    def __init__(self, words: I4, doubles: NDArray[Any], begin: I8, kinds: NDArray[np.int8], number: int) -> None:
        self._words, self._doubles = words, doubles
        self.begin, self.kinds, self.number = begin, kinds, number

    def word(self, rows: I8, offset: int) -> I8:
        """Return a word of some records, int64."""
        return self._words[self.begin[rows] + offset].astype("i8")

    def events(self, lines: Records, found: Records) -> int:
        """Write the events among the records to rows of alog.LINE and clog.FOUND, but for their times, and return how many."""
        return clog.events(self._words, self.begin, self.kinds, lines, found)

    def time(self, rows: I8) -> F8:
        """Return the times of some records, s."""
        return self._doubles[self.begin[rows] >> 1]

    def text(self, row: int, offset: int, size: int) -> str:
        """Return a text of one record, `size` words of it, cut at its first NUL."""
        begin = int(self.begin[row]) + offset
        data = self._words[begin : begin + size].astype(self._doubles.dtype.str[0] + "i4").tobytes()
        return data.split(b"\0", 1)[0].decode("latin-1")


class Log:
    """A CLOG-2 file: what its preamble says, and its records as often as they are asked for.

    Raises TraceError for a file that cannot be read, one whose preamble does not tell its blocks, and another version's.
    """

    def __init__(self, source: Source) -> None:
        self.path, self._source = source.path, source
        head = source.head()[:PREAMBLE]
        texts = [text.decode("latin-1") for text in head.split(b"\0")]
        if not re.fullmatch(r"CLOG-02\.4\d", texts[0]):
            raise TraceError(f"{self.path}: version '{shown(texts[0], 20)}', must be CLOG-02.40 to CLOG-02.49")
        told = {key.rstrip("="): value.strip() for key, value in zip(texts[1::2], texts[2::2], strict=False)}
        self._order = ">" if told.get("is_big_endian") == "TRUE" else "<"
        self.block = self._number(told, "block_size", _SMALLEST, _LARGEST)
        self.processes = self._number(told, "max_comm_world_size", 1, 1 << 24)
        self.complete = False
        """Whether the last walk over the records came to the one that ends the log."""

    def _number(self, told: dict[str, str], key: str, least: int, most: int) -> int:
        text = told.get(key, "")
        value = int(text) if re.fullmatch(r"\d{1,10}", text) else -1
        if not least <= value <= most or (key == "block_size" and value % 8):
            of_eight = ", a multiple of 8" if key == "block_size" else ""
            raise TraceError(f"{self.path}: {key} '{shown(text, 20)}' in the preamble, must be {least} to {most}{of_eight}")
        return value

    def pieces(self) -> Iterator[Piece]:
        """Yield the records, at most AT_ONCE at a time; they are overwritten by the next ones."""
        self.complete, number = False, 1
        at: Any = np.zeros(1, clog.WALK).view(np.recarray)
        buffer, kinds = np.empty(AT_ONCE, "i8"), np.empty(AT_ONCE, "i1")
        for data in self._blocks():
            words = np.frombuffer(data, f"{self._order}i4").astype("i4", copy=False)
            doubles = np.frombuffer(data, f"{self._order}f8")
            at.block = at.next = 0
            while not at.ended[0] and at.block[0] < len(words):
                clog.records(words, self.block // 4, LENGTHS, buffer, kinds, at)
                count = int(at.records[0])
                if count:
                    yield Piece(words, doubles, buffer[:count], kinds[:count], number)
                number += count
            if at.ended[0]:
                self.complete = True
                break

    def _blocks(self) -> Iterator[memoryview]:
        """Yield what is behind the preamble, whole blocks at a time; the last may be cut off, behind whole words of eight bytes."""
        length = max(_PIECE // self.block, 1) * self.block
        parts: list[bytes] = []
        size = -PREAMBLE
        for piece in self._source.pieces():
            parts.append(piece)
            size += len(piece)
            if size < length:
                continue
            data = _last(parts, size)
            cut = size - size % length
            yield from (memoryview(data)[begin : begin + length] for begin in range(0, cut, length))
            parts, size = [data[cut:]], size - cut
        if size >= 8:
            yield memoryview(_last(parts, size))[: size & ~7]


def _last(parts: list[bytes], size: int) -> bytes:
    """Return so many bytes, the last of all parts."""
    data = b"".join(parts)
    return data if len(data) == size else data[-size:]
