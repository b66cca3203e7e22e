"""The attributes behind `@` of ALOG records (perwiz-ext 1): each is checked, translated and kept by what it describes and its key."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.alog.communicators import Groups
from perwiz.formats.alog.headers import printable
from perwiz.kernels import alog, alog_lines
from perwiz.trace.arrays import I4, I8, Columns, Mask
from perwiz.trace.tables import ANY, BUFFERED, LINKS, NONE, READY, STANDARD, SYNCHRONOUS

_TEXT = -(1 << 61)
"""Values up to this one stand for text that is no integer."""
_UNDEFINED = NONE - 1
"""From here down, a communicator that is not defined; NONE is one that the file says is unknown."""
_LARGEST, _BYTES = (1 << 31) - 1, 1 << 50
_MODES = np.full(128, NONE, "i8")
_MODES[[ord(letter) for letter in "srby"]] = STANDARD, READY, BUFFERED, SYNCHRONOUS


class _Key(NamedTuple):
    dtype: str
    low: int
    high: int
    text: bool = False
    """Whether text will do, too."""

    def wrong(self, value: I8) -> Mask:
        """Return which values are none of these; a text may not be empty."""
        wrong: Mask = (value < self.low) | (value > self.high)
        return wrong & (value >= _TEXT) if self.text else wrong


_NUMBER, _SIZE, _NAME = _Key("i4", 0, _LARGEST), _Key("i8", 0, _BYTES), _Key("i8", 0, 1 << 60, text=True)
_KEYS = {
    "c": _Key("i4", NONE, _LARGEST),
    "r": _Key("i4", -1, _LARGEST),
    "p": _Key("i4", -2, _LARGEST),
    "t": _Key("i4", -2, _LARGEST),
    "i": _NUMBER,
    "s": _Key("i8", 0, 1 << 60),
    "sb": _SIZE,
    "rb": _SIZE,
    "b": _SIZE,
    "m": _NAME,
    "q": _NAME,
    "o": _Key("i4", 0, 1 << 60, text=True),
    "k": _Key("i4", 0, -1, text=True),
    "l": _NUMBER,
}
_OWNERS = {
    alog.CALL_BEGIN: ("c", "p", "t", "r", "s", "sb", "rb", "o", "k", "q", "l"),
    alog.CALL_END: ("q",),
    alog.MESSAGE_RECORD: ("c", "m", "b", "k", "q"),
    alog.REGION_BEGIN: ("i",),
    **{alog.LINK + kind: ("l",) for kind in range(len(LINKS))},
}


def _code(key: str) -> int:
    return int.from_bytes(key.encode("ascii"), "big")


class Notes:
    """The attributes of all records so far. Those on calls know location and call number there, the others their alog."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._columns = {
            (owner, key): Columns(np.dtype([*_columns(owner), ("value", _KEYS[key].dtype)]))
            for owner, keys in _OWNERS.items()
            for key in keys
        }
        self._texts: dict[str, int] = {}

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that values of `o` number."""
        return tuple(self._texts)

    def add(self, owner: int, key: str, location: I4 | None, number: NDArray[np.signedinteger], value: NDArray[np.signedinteger]) -> None:
        """Add attributes of calls (by their number on `location`), or else of messages or regions; all are used as they are."""
        columns = {"number": number, "value": value} | ({} if location is None else {"location": location})
        self._columns[owner, key].add(columns, len(number))

    def find(self, text: bytes, lines: alog.Records) -> alog.Records:
        """Return the attributes of these lines, and mark the internal ones among them."""
        first, last = (lines.text[0], lines.text_end[-1]) if len(lines) else (0, 0)
        notes = alog.empty(text.count(b"=", first, last) + text.count(b",", first, last), alog.NOTE)
        return notes[: alog_lines.parse_attributes(text, lines, notes)]

    def keep(self, text: bytes, lines: alog.Records, notes: alog.Records) -> I8:
        """Tie attributes to what their lines have become; return the rows of the lines whose attributes cannot be used."""
        owner = lines.owner[notes.line]
        comm = np.zeros(len(lines), "i8")
        bad = [np.empty(0, "i8")]
        for (kind, key), columns in self._columns.items():
            chosen = notes[(owner == kind) & (notes.key == _code(key))]
            if not len(chosen):
                continue
            value, wrong = self._translated(key, text, chosen, comm)
            bad.append(chosen.line[wrong])
            # Whoever names an unknown communicator does not mean the world.
            kept = ~wrong if key != "c" else np.ones(len(chosen), bool)
            line = chosen.line[kept]
            columns.add({"location": lines.location[line], "number": lines.owner_number[line], "value": value[kept]}, len(line))
        return np.unique(np.concatenate(bad))

    def _translated(self, key: str, text: bytes, notes: alog.Records, comm: I8) -> tuple[I8, Mask]:
        """Return the values as they go into tables, and which are wrong; `c` fills `comm`, the communicator of each line."""
        line, value = notes.line, notes.value
        wrong = _KEYS[key].wrong(value)
        value = np.where(wrong, NONE, value)
        if key == "c":
            comm[line] = value = np.where(wrong, _UNDEFINED, np.where(value == NONE, NONE, self._groups.rows(value)))
            wrong = value <= _UNDEFINED
        elif key in ("p", "r"):
            named = value >= 0
            value[named] = self._groups.processes(comm[line[named]], value[named])
            wrong |= named & (value < 0)
        elif key == "k":
            letter = np.clip(_TEXT - 1 - value, 0, 127)
            value = _MODES[letter]
            wrong = value < 0
        elif key == "t":
            value = np.where(value < 0, ANY + NONE - value, value)
        elif key == "o":
            value = self._numbered(text, notes)
        return value, wrong

    def _numbered(self, text: bytes, notes: alog.Records) -> I8:
        """Return the numbers of the texts; each different value is looked at once."""
        _, first, inverse = np.unique(notes.value, return_index=True, return_inverse=True)
        words = (printable(text[begin:end]) for begin, end in notes[first][["text", "word_end"]].tolist())
        numbers = [self._texts.setdefault(word, len(self._texts)) for word in words]
        return np.array(numbers, "i8")[inverse.reshape(-1)]

    def take(self, owner: int, key: str, first: I8, place: I8) -> tuple[I8, NDArray[np.signedinteger]]:
        """Return (row, value) of every attribute `key` of calls (begin, end or link), messages or regions, and forget them.

        `place` is the row of each location, `first` its first call.
        """
        columns = self._columns.pop((owner, key))
        row = columns.take("number").astype("i8")
        if _on_call(owner):
            row += first[place[columns.take("location")]]
        return row, columns.take("value")


def _on_call(owner: int) -> bool:
    return owner in (alog.CALL_BEGIN, alog.CALL_END) or owner >= alog.LINK


def _columns(owner: int) -> list[tuple[str, str]]:
    return [("location", "i4"), ("number", "i4")] if _on_call(owner) else [("number", "i4")]
