"""Text after templates: a template per kind of row, with columns of numbers filled in some thousand rows at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from perwiz.kernels import templates as kernel

ABSENT = -(1 << 62)
"""Stands in a cell that has no value; of columns that are optional in a template only."""
ROWS_AT_ONCE = 1 << 16
"""Bounds the memory: a row takes some hundred bytes while it is made."""
_TEXT, _NUMBER, _MICROSECONDS, _NAME, _IF = range(5)
_FIELD = re.compile(r"%\((\w+)\)([dus\[])|%\]")
_CODES = {"d": _NUMBER, "u": _MICROSECONDS, "s": _NAME, "[": _IF}
_WIDEST = 24
"""Bytes of the longest number, or time."""


class Templates:
    """Templates over some columns, and the texts that cells may name.

    In a template `%(c)d` is the number in column c, `%(c)u` its ns as us, `%(c)s` the text of that row, and what stands between `%(c)[`
    and `%]` is left out where column c is ABSENT.
    """

    def __init__(self, columns: Sequence[str], templates: Sequence[str], texts: Sequence[bytes]) -> None:
        self._column = {name: place for place, name in enumerate(columns)}
        self._pool = list(texts)
        found = [list(self._steps(template)) for template in templates]
        self._first = np.cumsum([0, *map(len, found)], dtype="i4")
        self._all = np.array([step for steps in found for step in steps], "i4").reshape(-1, 3)
        self._texts = np.cumsum([0, *map(len, self._pool)], dtype="i8")
        self._bytes = np.frombuffer(b"".join(self._pool), "u1")
        self._width = np.array([sum(self._widest(step) for step in steps) for steps in found], "i8")
        self._named = [np.array([[_NAME, place] in [step[:2] for step in steps] for steps in found]) for place in range(len(columns))]

    def _steps(self, template: str) -> Iterator[list[int]]:
        """Yield the steps of a template as the kernel takes them."""
        steps: list[list[int]] = []
        at, begun = 0, 0
        for field in [*_FIELD.finditer(template), None]:
            literal = template[at : field.start() if field else len(template)]
            if literal:
                steps.append([_TEXT, len(self._pool), 0])
                self._pool.append(literal.encode("ascii"))
            if field and field[1]:
                steps.append([_CODES[field[2]], self._column[field[1]], 0])
                begun = len(steps) if field[2] == "[" else begun
            elif field:
                steps[begun - 1][2] = len(steps) - begun
            at = field.end() if field else at
        yield from steps

    def _widest(self, step: list[int]) -> int:
        """Return how many bytes a step writes at most, names left out."""
        return len(self._pool[step[1]]) if step[0] == _TEXT else _WIDEST

    def fill(self, kind: NDArray[np.uint8], cells: NDArray[np.int64]) -> memoryview:
        """Return the text of some rows; `kind`: which template each takes, `cells`: a column per name, int64."""
        size = int(self._width[kind].sum())
        for place, named in enumerate(self._named):
            if named.any():
                row = cells[named[kind], place]
                row = row[row != ABSENT]
                size += int((self._texts[row + 1] - self._texts[row]).sum())
        out = np.empty(size, "u1")
        return out[: kernel.fill(kind, cells, self._first, self._all, self._texts, self._bytes, ABSENT, out)].data
