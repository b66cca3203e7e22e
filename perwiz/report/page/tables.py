"""Tables as panels of the page draw them: texts, and cells with bars beside them."""

from __future__ import annotations

from collections.abc import Sequence

from perwiz.report.blocks import Document

Cell = str | Document
KINDS = 7
"""Colours of the stacks of a bar."""


def table(
    head: Sequence[str], rows: Sequence[Sequence[Cell]], left: Sequence[int] = (0,), caption: str = "", go: Sequence[Document | None] = ()
) -> Document:
    """Return a table; columns in `left` are set flush left, a click on a row shows `go` of it: {call} or {from, to}."""
    return {"head": list(head), "rows": [list(row) for row in rows], "left": list(left), "caption": caption, "go": list(go)}


def bar(text: str, *parts: float, width: int = 60) -> Document:
    """Return a cell with a stack of bars before its text, each a part of `width` dots, from 0 to 1 together."""
    return {"text": text, "width": width, "bars": [round(width * min(1.0, max(0.0, part)), 1) for part in parts]}


def fewer(shown: int, all: int) -> str:
    """Return a caption that says how many rows of how many there are; nothing if there are all."""
    return f"{shown} of {all}" if shown < all else ""
