"""Writes a trace, with any of its timelines, as an ALOG file that viewers show and that reads back as the same tables.

Two steps: all events into the order of the file, then, some thousand at a time, into numbers and from those into text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.alog.writing import requests
from perwiz.formats.alog.writing.cells import COLUMNS, MODES, TEMPLATES, Cells
from perwiz.formats.alog.writing.headers import headers
from perwiz.formats.alog.writing.order import KINDS, order
from perwiz.formats.losses import ascii_text
from perwiz.formats.templates import ROWS_AT_ONCE, Templates
from perwiz.formats.whole import packed
from perwiz.trace.trace import Timeline, Trace

_LONGEST_TEXT = 100


def write(trace: Trace, timeline: Timeline, path: str) -> None:
    """Write the trace with the times of `timeline` to a new file, packed if its name ends in .gz or .zst."""
    lists = requests.lists(trace)
    events = order(trace, timeline, lists)
    events.time -= events.time.min(initial=0)
    cells, made = Cells(trace, lists), templates(trace.texts, lists.pool)
    with packed(path) as file:
        file.write("".join(f"{line}\n" for line in headers(trace, timeline, events)).encode("ascii"))
        for begin in range(0, len(events), ROWS_AT_ONCE):
            chunk = events.order[begin : begin + ROWS_AT_ONCE]
            file.write(made.fill(events.kind[chunk], cells.make(events.kind[chunk], events.row[chunk], events.time[chunk])))


def templates(texts: Sequence[str], pool: NDArray[np.int32]) -> Templates:
    """Return the templates of the lines, a kind of event each, with the labels of calls and the requests that lists name."""
    labels = [ascii_text(text, "_", _LONGEST_TEXT).encode("ascii") for text in texts]
    return Templates(COLUMNS, [f"{TEMPLATES[kind]}\n" for kind in KINDS], [*MODES, *labels], pool)
