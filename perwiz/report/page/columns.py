"""Columns of numbers in a page: bytes of equal weight side by side, deflated, as base64; the browser inflates them."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from perwiz.trace.arrays import Ints

_LEVEL = 6
MOST = 2**53
"""Numbers from here on are not exact in a browser."""


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
