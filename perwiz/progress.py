"""How far a long step is, as one line on a terminal that is overwritten and in the end erased. Off a terminal: nothing."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

from perwiz import words

_FIRST, _NEXT = 1.0, 0.2
"""Seconds before the line appears, and between two of its states."""


class Progress:
    """A callback for `done` of `total` bytes, or of what `noun` names, 0 if unknown, as a context manager.

    What takes less than a second shows nothing.
    """

    def __init__(self, label: str, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic, noun: str = "") -> None:
        self._label, self._clock = words.shown(label), clock
        self._amount = (lambda number: words.several(number, noun)) if noun else words.size
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream is not None and self._stream.isatty()
        self._due = clock() + _FIRST
        self._drawn = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            self._put("")

    def __call__(self, done: int, total: int = 0) -> None:
        """Show the state, if it is time to."""
        now = self._clock()
        if self._terminal and now >= self._due:
            self._due = now + _NEXT
            part = f"{100 * min(done, total) // total} % of {self._amount(total)}" if total else self._amount(done)
            self._put(f"{part}: {self._label}")

    def _put(self, line: str) -> None:
        line = line[: max(1, shutil.get_terminal_size().columns - 1)]
        self._stream.write(f"\r{line.ljust(self._drawn)}" + ("" if line else "\r"))
        self._stream.flush()
        self._drawn = len(line)
