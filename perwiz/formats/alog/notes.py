"""The attributes behind `@` of ALOG records (perwiz-ext 1): each is checked, translated and kept by what it describes and its key."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.alog import rows as row
from perwiz.formats.alog.communicators import Groups
from perwiz.formats.alog.headers import printable
from perwiz.formats.columns import Columns
from perwiz.kernels import alog_attributes
from perwiz.trace.arrays import I8
from perwiz.trace.tables import ANY, BUFFERED, NONE, READY, STANDARD, SYNCHRONOUS

_TEXT = -(1 << 61)
"""Values up to this one stand for text that is no integer."""
_I4, _BYTES = (1 << 31) - 1, 1 << 50
_MODES = np.full(128, NONE, "i8")
_MODES[[ord(letter) for letter in "srby"]] = STANDARD, READY, BUFFERED, SYNCHRONOUS


class _Key(NamedTuple):
    dtype: str
    low: int
    high: int
    text: bool = False
    """Whether text will do, too."""

    def wrong(self, value: I8) -> NDArray[np.bool_]:
        """Return which values are none of these; a text may not be empty."""
        wrong: NDArray[np.bool_] = (value < self.low) | (value > self.high)
        return wrong & (value >= _TEXT) if self.text else wrong


_NUMBER, _SIZE, _NAME = _Key("i4", 0, _I4), _Key("i8", 0, _BYTES), _Key("i8", 0, 1 << 60, text=True)
_KEYS = {
    "c": _NUMBER,
    "r": _Key("i4", -1, _I4),
    "p": _Key("i4", -2, _I4),
    "t": _Key("i4", -1, _I4),
    "i": _NUMBER,
    "s": _Key("i8", 0, 1 << 60),
    "sb": _SIZE,
    "rb": _SIZE,
    "b": _SIZE,
    "m": _NAME,
    "q": _NAME,
    "o": _Key("i4", 0, 1 << 60, text=True),
    "k": _Key("i4", 0, -1, text=True),
}
_OWNERS = {
    row.CALL_BEGIN: ("c", "p", "t", "r", "s", "sb", "rb", "o", "k", "q"),
    row.CALL_END: ("q",),
    row.MESSAGE: ("c", "m", "b", "k", "q"),
    row.REGION_BEGIN: ("i",),
}


def _code(key: str) -> int:
    return int.from_bytes(key.encode("ascii"), "big")


class Notes:
    """The attributes of all records so far. Those on calls know location and call number there, the others their row."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._columns = {
            (owner, key): Columns({**({"location": "i4"} if _on_call(owner) else {}), "number": "i4", "value": _KEYS[key].dtype})
            for owner, keys in _OWNERS.items()
            for key in keys
        }
        self._texts: dict[str, int] = {}

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that values of `o` number."""
        return tuple(self._texts)

    def find(self, text: bytes, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the attributes of these rows, and mark the internal rows among them."""
        first, last = (rows[0, row.TEXT], rows[-1, row.TEXT_END]) if len(rows) else (0, 0)
        out = np.empty((text.count(b"=", first, last) + text.count(b",", first, last), 5), "i8")
        return out[: alog_attributes.attributes(text, rows, out)]

    def keep(self, text: bytes, rows: NDArray[np.int64], notes: NDArray[np.int64]) -> I8:
        """Tie attributes to what their rows have become; return the rows of those that cannot be used."""
        owner = rows[notes[:, row.NOTE_ROW], row.OWNER]
        comm = np.zeros(len(rows), "i8")
        bad = [np.empty(0, "i8")]
        for (kind, key), columns in self._columns.items():
            mine = notes[(owner == kind) & (notes[:, row.NOTE_KEY] == _code(key))]
            if not len(mine):
                continue
            value, wrong = self._translated(key, text, mine, comm)
            bad.append(mine[wrong, row.NOTE_ROW])
            # Whoever names an unknown communicator does not mean the world.
            kept = ~wrong if key != "c" else np.ones(len(mine), bool)
            at = mine[kept, row.NOTE_ROW]
            parts = [rows[at, row.LOCATION]] if _on_call(kind) else []
            columns.add(np.stack([*parts, rows[at, row.OWNER_ROW], value[kept]], axis=1))
        return np.unique(np.concatenate(bad))

    def _translated(self, key: str, text: bytes, notes: I8, comm: I8) -> tuple[I8, NDArray[np.bool_]]:
        """Return the values as they go into tables, and which are wrong; `c` fills `comm`, the communicator of each row."""
        at, value = notes[:, row.NOTE_ROW], notes[:, row.NOTE_VALUE]
        wrong = _KEYS[key].wrong(value)
        value = np.where(wrong, NONE, value)
        if key == "c":
            comm[at] = value = np.where(wrong, NONE, self._groups.rows(value))
            wrong = value < 0
        elif key in ("p", "r"):
            named = value >= 0
            value[named] = self._groups.processes(comm[at[named]], value[named])
            wrong |= named & (value < 0)
        elif key == "k":
            letter = np.clip(_TEXT - 1 - value, 0, 127)
            value = _MODES[letter]
            wrong = value < 0
        elif key == "t":
            value = np.where(value == NONE, ANY, value)
        elif key == "o":
            value = self._numbered(text, notes)
        return value, wrong

    def _numbered(self, text: bytes, notes: I8) -> I8:
        """Return the numbers of the texts; each different value is looked at once."""
        _, first, inverse = np.unique(notes[:, row.NOTE_VALUE], return_index=True, return_inverse=True)
        words = (printable(text[begin:end]) for begin, end in notes[first][:, [row.NOTE_TEXT, row.NOTE_END]].tolist())
        numbers = [self._texts.setdefault(word, len(self._texts)) for word in words]
        return np.array(numbers, "i8")[inverse.reshape(-1)]

    def take(self, owner: int, key: str, first: I8, place: I8) -> tuple[I8, NDArray[np.signedinteger]]:
        """Return (row, value) of every attribute `key` of calls (begin or end), messages or regions, and forget them.

        `place` is the row of each location, `first` its first call.
        """
        columns = self._columns.pop((owner, key))
        at = columns.take("number").astype("i8")
        if _on_call(owner):
            at += first[place[columns.take("location")]]
        return at, columns.take("value")


def _on_call(owner: int) -> bool:
    return owner in (row.CALL_BEGIN, row.CALL_END)
