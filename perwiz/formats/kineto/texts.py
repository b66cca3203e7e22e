"""Texts that stand for themselves by number: names, categories, processes, lists of ranks. The kernel numbers them."""

from __future__ import annotations

import json
import secrets

import numpy as np

from perwiz.kernels import chrome, chrome_events
from perwiz.kernels.alog import Records, zeros
from perwiz.trace.arrays import I4

_SEED = secrets.randbits(39)
"""Spreads texts over the hash table, differently in every process, so that no file can make them meet in one place."""


class Texts:
    """The texts of a file. Those of chrome.KEYS come first."""

    def __init__(self) -> None:
        self.state = zeros(1, chrome.STATE)
        self._table: I4 = np.full(1 << 10, -1, "i4")
        self._known = zeros(len(self._table) // 2, chrome.TEXT)
        self._bytes = np.zeros(1 << 16, "u1")
        keys = [key.encode() for key in chrome.KEYS]
        ends = np.cumsum([len(key) for key in keys])
        chrome_events.number(b"".join(keys), ends, _SEED, self._table, self._known, self._bytes, self.state)

    def __len__(self) -> int:
        return int(self.state.texts[0])

    def parse(self, text: bytes, last: bool, events: Records, details: Records) -> int:
        """Have the kernel take events from a piece of a list; return its status."""
        chrome_events.parse(text, last, _SEED, self._table, self._known, self._bytes, events, details, self.state)
        return int(self.state.status[0])

    def make_room(self, size: int) -> None:
        """Make room for an event of so many bytes."""
        used = int(self.state.used[0])
        if used + size > len(self._bytes):
            longer = np.zeros(2 * (used + size), "u1")
            longer[:used] = self._bytes[:used]
            self._bytes = longer
        if 4 * len(self) > len(self._table):
            self._table = np.full(4 * len(self._table), -1, "i4")
            known = zeros(len(self._table) // 2, chrome.TEXT)
            known[: len(self)] = self._known[: len(self)]
            self._known = known
            chrome_events.spread(known[: len(self)], self._table)

    def raw(self, number: int) -> bytes:
        """Return the bytes of a text as they stand in the file, none for -1."""
        if number < 0:
            return b""
        row = self._known[number]
        return self._bytes[row.begin : row.begin + row.length].tobytes()

    def text(self, number: int) -> str:
        """Return a text."""
        raw = self.raw(number).decode("utf-8", "replace")
        if "\\" not in raw:
            return raw
        try:
            return str(json.loads(f'"{raw}"', strict=False))
        except ValueError:
            return raw
