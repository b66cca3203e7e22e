"""The lines of a process as columns."""

from __future__ import annotations

import functools

import numpy as np

from perwiz.formats.allprof import functions
from perwiz.kernels import allprof as kernel
from perwiz.kernels.alog import Records
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, U1

VALUES = ("count", "type", "peer", "tag", "rank", "of", "root", "count2", "type2", "peer2", "tag2", "listed")
"""Columns of arguments of 4 bytes. `type`: bytes of the datatype; `rank` and `of`: the own rank in the communicator and its size, -1 none.
Of a split `peer` is the color and `tag` the key; of several counts `count` is their sum."""
WIDE = ("comm", "request")
"""Columns of 8 bytes: the handle of the communicator, the place of requests; of what makes or frees a communicator `request` is where its
handle is put."""
_COLUMNS = {**{name: k for k, name in enumerate(VALUES)}, "request": WIDE.index("request"), "comm": VALUES.index("rank")}
_COLUMNS |= {"sum": VALUES.index("count"), "sum2": VALUES.index("count2")}
_UNTOLD = np.array([-1 if name in ("peer", "peer2", "tag", "root", "rank", "of") else 0 for name in VALUES], "i4")
_KINDS = {
    **dict.fromkeys(("count", "count2", "listed"), kernel.COUNT),
    **dict.fromkeys(("type", "type2"), kernel.TYPE),
    **dict.fromkeys(("sum", "sum2"), kernel.SUM),
    "request": kernel.TEXT,
    "comm": kernel.COMM,
    "-": kernel.SKIPPED,
}
_TIMES = {**dict.fromkeys(("MPI_Init", "MPI_Init_thread"), kernel.INIT), "MPI_Finalize": kernel.FINALIZE}


class Lines:
    """The calls of one process, in the order of their lines. Times do not run backwards."""

    def __init__(self, text: bytes) -> None:
        rows = text.count(b"\n") + 1
        self.cut = rows > 1 and not text.endswith(b"\n")
        if self.cut:
            text = text[: text.rfind(b"\n")]
        op, does = np.empty(rows, "u2"), np.empty(rows, "u1")
        enter, leave = np.empty(rows, "i8"), np.empty(rows, "i8")
        value, wide = np.empty((len(VALUES), rows), "i4"), np.empty((len(WIDE), rows), "i8")
        out: Records = np.zeros(1, kernel.READ).view(np.recarray)
        names, of_names, arguments, table = _tables()
        letters = np.frombuffer(text, "u1")
        kernel.read(letters, names, of_names, arguments, table, op, does, enter, leave, value, wide, _UNTOLD, out)
        count, self.bad, self.backwards = (int(out[name][0]) for name in ("lines", "bad", "backwards"))
        self.op, self.does, self.enter, self.leave = op[:count], does[:count], enter[:count], leave[:count]
        self.value: dict[str, I4] = {name: value[column, :count] for column, name in enumerate(VALUES)}
        self.wide: dict[str, I8] = {name: wide[column, :count] for column, name in enumerate(WIDE)}
        self.finalized = bool(out.finalized[0])

    def __len__(self) -> int:
        """Return how many calls there are."""
        return len(self.op)


@functools.lru_cache(1)
def _tables() -> tuple[U1, Records, Records, I4]:
    """Return all names, the functions, their arguments, and where these are looked up, as the kernel takes them."""
    rows, names = [(0, 0, 0, -1, 0, functions.CALL, kernel.BOTH)], b""
    arguments: list[tuple[int, int]] = []
    for name in dict.fromkeys((*functions.layouts(), *(name for name in operations.OPS if name.startswith("MPI_")))):
        layout = functions.layouts().get(name)
        begin, first = len(names), len(arguments)
        names += name.encode("ascii")
        arguments += [(_KINDS.get(slot, kernel.NUMBER), _COLUMNS.get(slot, 0)) for slot in layout or ()]
        does = functions.does().get(name, functions.CALL)
        fields = -1 if layout is None else len(layout)
        rows.append((begin, len(names), first, fields, operations.OP.get(name, 0), does, _TIMES.get(name, kernel.BOTH)))
    table = np.zeros(4 << len(rows).bit_length(), "i4")
    letters, of_names = np.frombuffer(names, "u1"), np.array(rows, kernel.FUNCTION).view(np.recarray)
    kernel.look_up(letters, of_names, table)
    return letters, of_names, np.array(arguments, kernel.ARGUMENT).view(np.recarray), table
