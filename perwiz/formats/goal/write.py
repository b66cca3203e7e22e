"""A schedule as GOAL text: per rank the operations in order, behind each what it requires."""

from __future__ import annotations

import numpy as np

from perwiz.formats.goal.schedule import CALC, Schedule
from perwiz.formats.templates import ABSENT, ROWS_AT_ONCE, Templates
from perwiz.trace.tables import ANY

_COLUMNS = ("label", "size", "peer", "tag", "cpu", "nic", "on")
_UNITS = "%(cpu)[ cpu %(cpu)d%]%(nic)[ nic %(nic)d%]\n"
_TEMPLATES = (
    "rank %(label)d {\n",
    "l%(label)d: send %(size)db to %(peer)d tag %(tag)d" + _UNITS,
    "l%(label)d: recv %(size)db from %(peer)d tag %(tag)d" + _UNITS,
    "l%(label)d: calc %(size)d%(cpu)[ cpu %(cpu)d%]\n",
    "l%(label)d requires l%(on)d\n",
    "l%(label)d irequires l%(on)d\n",
    "}\n",
)
"""By number: the beginning of a rank, SEND, RECV, CALC, requires, irequires, its end."""
_BEGINS, _REQUIRES, _ENDS = 0, CALC + 1, CALC + 3


def write(schedule: Schedule, path: str) -> None:
    """Write a schedule to a file; what is on processor and network interface 0 does not say so."""
    count, needs, ranks = len(schedule), len(schedule.op), schedule.ranks
    first = np.searchsorted(schedule.rank, np.arange(ranks))
    row = np.arange(count)
    label = row - first[schedule.rank] + 1
    kind = np.concatenate([np.zeros(ranks), schedule.kind, _REQUIRES + schedule.starts, np.full(ranks, _ENDS)]).astype("u1")
    of_rank = np.arange(ranks)
    rank = np.concatenate([of_rank, schedule.rank, schedule.rank[schedule.op], of_rank])
    place = np.concatenate([np.full(ranks, -1), row, schedule.op, np.full(ranks, count)])
    order = np.lexsort((kind > CALC, place, rank))
    cells = np.full((len(kind), len(_COLUMNS)), ABSENT, "i8")
    cells[:ranks, 0] = of_rank
    ops, deps = slice(ranks, ranks + count), slice(ranks + count, ranks + count + needs)
    cells[ops, 0], cells[ops, 1] = label, schedule.size
    cells[ops, 2], cells[ops, 3] = (np.where(column == ANY, -1, column) for column in (schedule.peer, schedule.tag))
    cells[ops, 4], cells[ops, 5] = (np.where(column > 0, column.astype("i8"), ABSENT) for column in (schedule.cpu, schedule.nic))
    cells[deps, 0], cells[deps, 6] = label[schedule.op], label[schedule.on]
    kind, cells = kind[order], cells[order]
    templates = Templates(_COLUMNS, _TEMPLATES, [])
    with open(path, "wb") as file:
        file.write(f"num_ranks {ranks}\n\n".encode())
        for begin in range(0, len(kind), ROWS_AT_ONCE):
            end = begin + ROWS_AT_ONCE
            file.write(templates.fill(np.ascontiguousarray(kind[begin:end]), np.ascontiguousarray(cells[begin:end])))
