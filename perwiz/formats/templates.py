"""Text after templates: a template per kind of row, with columns of numbers filled in some thousand rows at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from perwiz.kernels import steps
from perwiz.kernels import templates as kernel

ABSENT = steps.ABSENT
"""Stands in a cell that has no value; of columns that are optional in a template only."""
ROWS_AT_ONCE = 1 << 16
"""Bounds the memory: a row takes some hundred bytes while it is made."""
_FIELD = re.compile(r"%\((\w+)(?:,(\w+))?\)([duvsl\[])|%([]{}])")
_CODES = {
    "d": steps.NUMBER,
    "u": steps.MICROSECONDS,
    "v": steps.SHORT_MICROSECONDS,
    "s": steps.NAME,
    "l": steps.LIST,
    "[": steps.IF,
}
_WIDEST, _ENTRY = 24, 12
"""Bytes of the longest number, or time; of the longest entry of a list, with its comma."""
_NO_ENTRIES = np.empty(0, "i4")
_Step = tuple[int, int, int]


class Templates:
    """Templates over some columns, and the texts and the entries of lists that cells may name.

    In a template `%(c)d` is the number in column c, `%(c)u` its ns as us, `%(c)v` without decimals if those are 0, `%(c)s` the text of
    that row, `%(c,n)l` the entries from that one on, as many as column n says; what stands between `%(c)[` and `%]` is left out where
    column c is ABSENT, and between `%{` and `%}` where all but the literal it begins with is left out.
    """

    def __init__(
        self, columns: Sequence[str], templates: Sequence[str], texts: Sequence[bytes], entries: NDArray[np.int32] = _NO_ENTRIES
    ) -> None:
        self._column = {name: place for place, name in enumerate(columns)}
        self._pool, self._entries = list(texts), entries
        self._longest = max(map(len, texts), default=0)
        made = [self._steps(template) for template in templates]
        self._first = np.cumsum([0, *map(len, made)], dtype="i4")
        self._all = np.array([step for steps_of in made for step in steps_of], steps.STEP).view(np.recarray)
        self._texts = np.cumsum([0, *map(len, self._pool)], dtype="i8")
        self._bytes = np.frombuffer(b"".join(self._pool), "u1")
        self._width = np.array([sum(self._widest(step) for step in steps_of) for steps_of in made], "i8")
        self._counts = sorted({step[2] for steps_of in made for step in steps_of if step[0] == steps.LIST})

    def _steps(self, template: str) -> list[_Step]:
        """Return the steps of a template as the kernel takes them."""
        out: list[_Step] = []
        end, condition, opened = 0, 0, 0
        for field in [*_FIELD.finditer(template), None]:
            literal = template[end : field.start() if field else len(template)]
            if literal:
                out.append((steps.TEXT, len(self._pool), 0))
                self._pool.append(literal.encode("ascii"))
            if field is None:
                break
            end = field.end()
            if field[1]:
                condition = len(out) if field[3] == "[" else condition
                out.append((_CODES[field[3]], self._column[field[1]], self._column[field[2]] if field[2] else 0))
            elif field[4] == "]":
                out[condition] = (*out[condition][:2], len(out) - condition - 1)
            elif field[4] == "{":
                opened = len(out)
                out.append((steps.OPEN, 0, 0))
            else:
                out.append((steps.CLOSE, 0, self._widest(out[opened + 1])))
        return out

    def _widest(self, step: _Step) -> int:
        """Return how many bytes a step writes at most; a list none."""
        code, argument, _ = step
        return len(self._pool[argument]) if code == steps.TEXT else self._longest if code == steps.NAME else _WIDEST

    def fill(self, kind: NDArray[np.uint8], cells: NDArray[np.int64]) -> memoryview:
        """Return the text of some rows; `kind`: which template each takes, `cells`: a column per name, int64."""
        entries = sum(int(np.maximum(cells[:, column], 0).sum()) for column in self._counts)
        out = np.empty(int(self._width[kind].sum()) + _ENTRY * entries, "u1")
        return out[: kernel.fill(kind, cells, self._first, self._all, self._texts, self._bytes, self._entries, out)].data
