"""The panel of what is between processes: which sends to which, how much, and who waits for whom."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perwiz import words
from perwiz.report.page.tables import PanelData, bar, column
from perwiz.report.page.tables import table as htable
from perwiz.trace.arrays import I4, I8, U1
from perwiz.trace.trace import Trace
from perwiz.whatif.run import Run

SIDE = 256
"""Rows of the largest matrix."""
KINDS = (
    "messages",
    "bytes",
    "receivers wait for the sender",
    "senders wait for the receiver",
    "waits for who came last",
)
_WRITTEN: tuple[Callable[[int], str], ...] = (str, words.size, *[words.duration] * 3)
_NAME = 60
_PAIRS = 15


def document(run: Run, side: int = SIDE) -> PanelData:
    """Return the cells of the matrix that are not 0: a row is who sends or comes late, a column who receives or waits; times in ns."""
    trace = run.trace
    names, group, told = _groups(trace, side)
    where = group[trace.calls.location]
    table, late = trace.messages, _late(run)
    waits = np.flatnonzero(late)
    sent = where[table.send] * len(names) + where[table.receive_done]
    waited = where[run.waits.partner[waits]] * len(names) + where[waits]
    key, place = np.unique(np.concatenate([sent, waited]), return_inverse=True)
    cell, wait = place[: len(sent)], place[len(sent) :]
    values = [_sum(cell, 1, len(key)), _sum(cell, table.bytes, len(key))]
    values += [_sum(wait, np.where(late[waits] == kind, run.waits.time[waits], 0), len(key)) for kind in (1, 2, 3)]
    call = _worst(cell, table.receive_done, np.zeros(len(cell), "i8"), wait, waits, run.waits.time[waits], len(key))
    kinds = [k for k, value in enumerate(values) if value.any()]
    return {
        "names": names,
        "told": told,
        "sends": len(table) > 0,
        "key": column(key, running=True),
        "values": [column(value) for value in values],
        "call": column(call),
        "kinds": [{"value": k, "title": KINDS[k], "table": _heaviest(names, key, values, call, k)} for k in kinds],
        "start": kinds.index(2) if 2 in kinds else 0,
    }


def _heaviest(names: list[str], key: I8, values: list[I8], call: I8, kind: int) -> PanelData:
    """Return the table of the pairs with the largest values of a kind, and what the colours of the matrix reach."""
    value, write, sends = values[kind], _WRITTEN[kind], bool(values[0].any())
    order = np.argsort(-value, kind="stable")[: min(_PAIRS, np.count_nonzero(value))]
    most, whole = int(value.max()), int(value.sum())
    rows = [
        [
            *(names[key[k] // len(names)], names[key[k] % len(names)], bar(write(int(value[k])), int(value[k]) / most)),
            words.percent(int(value[k]), whole),
            *((str(values[0][k]), words.size(int(values[1][k]))) if sends else ()),
        ]
        for k in order.tolist()
    ]
    ends, counted = (("from", "to"), ("messages", "bytes")) if sends else (("comes late", "waits"), ())
    head, go = [*ends, KINDS[kind], "", *counted], [{"call": int(call[k])} for k in order.tolist()]
    caption = f"the heaviest pairs, in all {write(whole)}; colours: square root, darkest (on black: brightest) is {write(most)}"
    return htable(head, rows, (0, 1), caption, go)


def _groups(trace: Trace, side: int) -> tuple[list[str], I8, str]:
    """Return the names of the rows of the matrix, the row of each location, and in words what a row is."""
    places = trace.locations
    order = np.lexsort((places.thread, places.process))
    group = np.empty(len(order), "i8")
    rank = [words.rank(int(places.process[k]), int(places.thread[k])) for k in order.tolist()]
    if len(order) <= side:
        group[order] = np.arange(len(order))
        return rank, group, ""
    used, node = np.unique(places.node, return_inverse=True)
    if 1 < len(used) <= side and used[0] >= 0:
        return [words.shown(trace.nodes[k], _NAME) for k in used.tolist()], node, f"{len(order)} processes, put together by node; "
    block = -(-len(order) // side)
    group[order] = np.arange(len(order)) // block
    names = [f"{rank[k]} to {rank[min(k + block, len(order)) - 1]}" for k in range(0, len(order), block)]
    return names, group, f"{len(order)} processes, put together in blocks of {block}; "


def _late(run: Run) -> U1:
    """Return, per call, what it waits for: 1 a sender, 2 a receiver, 3 another member of a collective; 0 nothing."""
    table, waits = run.trace.messages, run.waits
    out = np.where((waits.time > 0) & (waits.partner >= 0), 3, 0).astype("u1")
    done = table.send_done
    completed = done >= 0
    for kind, call, partner in ((2, done[completed], table.receive[completed]), (1, table.receive_done, table.send)):
        rows = call[(waits.partner[call] == partner) & (waits.time[call] > 0)]
        out[rows] = kind
    return out


def _sum(cell: I8, value: I8 | int, cells: int) -> I8:
    out = np.zeros(cells, "i8")
    np.add.at(out, cell, value)
    return out


def _worst(cell: I8, call: I4, none: I8, wait: I8, waits: I8, time: I8, cells: int) -> I8:
    """Return, per cell, the call that waits longest, or one that receives."""
    place, calls, length = np.concatenate([cell, wait]), np.concatenate([call, waits]), np.concatenate([none, time])
    order = np.lexsort((-calls, length, place))
    out = np.zeros(cells, "i8")
    out[place[order]] = calls[order]
    return out
