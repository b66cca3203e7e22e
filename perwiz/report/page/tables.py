"""What the data of panels is made of: columns of numbers, and tables of texts and of cells with bars beside them.

A column is bytes of equal weight side by side, deflated, as base64; the browser inflates them.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from perwiz.trace.arrays import Ints

PanelData = dict[str, Any]
"""What a panel gives to the scripts of the page, or a part of it: texts, numbers, lists and columns by name."""
Cell = str | PanelData
_LEVEL = 6
MOST = 2**53
"""Numbers from here on are not exact in a browser."""


def table(
    head: Sequence[str], rows: Sequence[Sequence[Cell]], left: Sequence[int] = (0,), caption: str = "", go: Sequence[PanelData | None] = ()
) -> PanelData:
    """Return a table; columns in `left` are set flush left, a click on a row shows `go` of it: {call} or {from, to}."""
    return {"head": list(head), "rows": [list(row) for row in rows], "left": list(left), "caption": caption, "go": list(go)}


def bar(text: str, *parts: float, width: int = 60, colours: Sequence[str] = ()) -> PanelData:
    """Return a cell with a stack of bars before its text, each a part of `width` dots, from 0 to 1 together; colours by their names."""
    bars = [round(width * min(1.0, max(0.0, part)), 1) for part in parts]
    return {"text": text, "width": width, "bars": bars, "colours": [*colours] or ["mark"] * len(bars)}


def fewer(shown: int, all: int) -> str:
    """Return a caption that says how many rows of how many there are; nothing if there are all."""
    return f"{shown} of {all}" if shown < all else ""


def column(values: Ints, running: bool = False) -> dict[str, Any]:
    """Return integers, each below MOST, as a document; `running`: what is written is the difference from the one before.

    Negative numbers are folded between the others (0, -1, 1, -2 ...), so that small ones stay small.
    """
    numbers = np.asarray(values, "i8")
    if running:
        numbers = np.diff(numbers, prepend=0)
    signed = bool(len(numbers)) and int(numbers.min()) < 0
    if signed:
        numbers = (numbers << 1) ^ (numbers >> 63)
    planes = max(1, -(-int(numbers.max(initial=0)).bit_length() // 8))
    raw = np.ascontiguousarray(np.ascontiguousarray(numbers, "<i8").view("u1").reshape(-1, 8)[:, :planes].T)
    deflated = base64.b64encode(zlib.compress(raw.tobytes(), _LEVEL)).decode()
    return {"rows": len(numbers), "planes": planes, "signed": signed, "running": running, "deflated": deflated}


def size(value: Any) -> int:
    """Return the characters of all columns in a document."""
    if isinstance(value, dict):
        return len(value["deflated"]) if "deflated" in value else sum(map(size, value.values()))
    return sum(map(size, value)) if isinstance(value, (list, tuple)) else 0
