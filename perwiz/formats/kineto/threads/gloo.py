"""What Gloo does on threads of a rank, and the operators of the first thread that ask for it."""

from __future__ import annotations

import numpy as np

from perwiz.formats.kineto import names
from perwiz.formats.kineto.comms import RECV, SEND
from perwiz.formats.kineto.events import ANNOTATION, OPERATOR
from perwiz.formats.kineto.rank import Columns, Rank
from perwiz.trace.arrays import I4, I8
from perwiz.trace.tables import NONE

_POSTS = names.ASKS.encode()


def posts(rank: Rank) -> tuple[Columns, I4]:
    """Return the operators of the first thread that ask for something among ranks, and the op that each asks for."""
    at = rank.chosen(OPERATOR)
    asks = [rank.texts.raw(k) for k in range(len(rank.texts))]
    found = [names.collective(one[len(_POSTS) :].decode("latin-1")) if one.startswith(_POSTS) else NONE for one in asks]
    kind = np.array([*found, NONE], "i4")[at.name]
    rows = np.flatnonzero((kind >= 0) & (at.location == 0))
    return at.take(rows), kind[rows]


def works(rank: Rank) -> tuple[Columns, I4]:
    """Return what Gloo and its like did among ranks, and the op of each."""
    at = rank.chosen(ANNOTATION)
    said = [names.annotated(rank.texts.raw(k)) for k in range(len(rank.texts))] + [("", NONE)]
    op = np.array([op if library in ("gloo", "ucc", "mpi") else NONE for library, op in said], "i4")[at.name]
    return at.take(op >= 0), op[op >= 0]


def moved(rank: Rank, row: I8, op: I4) -> tuple[I8, I8]:
    """Return the bytes that works send and receive: by shapes, where they were recorded."""
    shape, which = np.unique(rank.detail("shapes", row), return_inverse=True)
    counts = np.array([names.elements(rank.texts.text(int(one))) for one in shape.tolist()], "i8")[which.ravel()]
    dtype, which = np.unique(rank.detail("element", row), return_inverse=True)
    size = np.array([names.size_of(rank.texts.text(int(one))) for one in dtype.tolist()], "i8")[which.ravel()]
    total = np.minimum(counts, 1 << 50) * size
    return np.where(op == RECV, 0, total), np.where(op == SEND, 0, total)
