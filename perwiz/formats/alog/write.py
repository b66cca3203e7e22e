"""Writes a trace, with any of its timelines, as an ALOG file that viewers show and that reads back as the same tables.

Two steps: all events into the order of the file, then, some thousand at a time, into numbers and from those into text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import UsageError
from perwiz.formats.alog.headers import MOST_RECORDS
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
    """Write the trace with the times of `timeline` to a new file, packed if its name ends in .gz or .zst.

    Raises UsageError for more definitions than are read.
    """
    lists = requests.lists(trace)
    events = order(trace, timeline, lists)
    events.time -= events.time.min(initial=0)
    cells, made = Cells(trace, lists), templates(trace.texts, lists.pool)
    heads = [*headers(trace, timeline, events)]
    if len(heads) > MOST_RECORDS:
        raise UsageError(f"{path}: {len(heads)} definitions, ALOG must have at most {MOST_RECORDS}")
    with packed(path) as file:
        file.write("".join(f"{line}\n" for line in heads).encode("ascii"))
        for begin in range(0, len(events), ROWS_AT_ONCE):
            chunk = events.order[begin : begin + ROWS_AT_ONCE]
            file.write(made.fill(events.kind[chunk], cells.make(events.kind[chunk], events.row[chunk], events.time[chunk])))


def cut_labels(trace: Trace) -> int:
    """Return how many calls have a label that is not written as it is."""
    return int(np.array([_label(text) != text for text in trace.texts], bool)[trace.labels.text].sum())


def _label(text: str) -> str:
    return ascii_text(text, "_", _LONGEST_TEXT)


def templates(texts: Sequence[str], pool: NDArray[np.int32]) -> Templates:
    """Return the templates of the lines, a kind of event each, with the labels of calls and the requests that lists name."""
    labels = [_label(text).encode("ascii") for text in texts]
    return Templates(COLUMNS, [f"{TEMPLATES[kind]}\n" for kind in KINDS], [*MODES, *labels], pool)
