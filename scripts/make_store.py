"""Makes a store of a run of any size without holding it: `python scripts/make_store.py run.perwiz 1e8 64`, calls and ranks.

Ranks on a ring exchange halos; behind every eighth step comes an allreduce.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.store import MARKER
from perwiz.formats.store.columns import Sum
from perwiz.formats.store.records import Packer
from perwiz.formats.store.store import head
from perwiz.trace.operations import OP
from perwiz.trace.table import dtypes
from perwiz.trace.tables import Defects, Labels, Locations, Offsets, Paths, Times
from perwiz.trace.trace import Communicators, Counts, Timeline, Trace
from perwiz.trace.windows.large import LONG

STEPS = 8
"""Steps between two allreduces."""
STEP = ("MPI_Irecv", "MPI_Irecv", "MPI_Isend", "MPI_Isend", "MPI_Waitall")
WIDTH = STEPS * len(STEP) + 1
"""Calls of a rank in a block: its steps, and the allreduce."""
BYTES = 8192
_BLOCKS = 2048
"""Blocks made at a time."""
Ints = NDArray[np.int64]


class Columns:
    """The columns of the long tables, each a file of known length that is written piece by piece."""

    def __init__(self, folder: Path, rows: dict[str, int]) -> None:
        self._files: dict[str, tuple[int, int, np.dtype[Any], int]] = {}
        kinds = {f"trace.{name}": kind for name, kind in LONG.items()} | {"trace.timeline.calls": Times}
        for table, kind in kinds.items():
            for name, dtype in dtypes(kind).items():
                self._open(folder, f"{table}.{name}", dtype, rows[table.rpartition(".")[2] if table != "trace.timeline.calls" else "calls"])

    def _open(self, folder: Path, name: str, dtype: np.dtype[Any], rows: int) -> None:
        if not rows:
            return
        with open(folder / f"{name}.npy", "xb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": dtype.str, "fortran_order": False, "shape": (rows,)})
            begin = file.tell()
            file.truncate(begin + rows * dtype.itemsize)
        self._files[name] = os.open(folder / f"{name}.npy", os.O_RDWR), begin, dtype, rows

    def put(self, table: str, first: int, **columns: Any) -> None:
        """Write rows of a table from one row on; a number stands for a column of it."""
        rows = max(np.size(values) for values in columns.values())
        for name, values in columns.items():
            file, begin, dtype, _ = self._files[f"trace.{table}.{name}"]
            os.pwrite(file, np.broadcast_to(np.asarray(values).reshape(-1), rows).astype(dtype).tobytes(), begin + first * dtype.itemsize)

    def sums(self) -> dict[str, int]:
        """Return the sum of each column by its file, read once more."""
        out = {}
        for name, (file, begin, dtype, rows) in self._files.items():
            total = Sum()
            for piece in range(0, rows * dtype.itemsize, 1 << 22):
                total.add(np.frombuffer(os.pread(file, min(1 << 22, rows * dtype.itemsize - piece), begin + piece), "u1"))
            out[f"{name}.npy"] = total.value
        return out

    def named(self, packed: Any, place: str) -> None:
        """Put the names of the files of columns into what stands for a trace in JSON."""
        for name, value in packed.items():
            if isinstance(value, dict) and "fields" in value:
                self.named(value["fields"], f"{place}.{name}")
            elif f"{place}.{name}" in self._files:
                packed[name] = f"{place}.{name}.npy"


def run(blocks: int, ranks: int, seed: int) -> tuple[Ints, Ints, Ints]:
    """Return when calls of blocks are entered and left, ns from the begin of each block, (rank, block, call), and how long blocks last."""
    random = np.random.default_rng(seed)
    enter, leave = np.empty((2, ranks, blocks, WIDTH), "i8")
    now = np.zeros((ranks, blocks), "i8")
    for step in range(STEPS):
        now = now + random.integers(20_000, 60_000, now.shape)
        at = slice(step * len(STEP), (step + 1) * len(STEP))
        enter[:, :, at] = now[:, :, None] + 500 * np.arange(len(STEP))
        leave[:, :, at] = enter[:, :, at] + 400
        sent = enter[:, :, at.start + 2 : at.start + 4].max(2)
        came = np.maximum(np.roll(sent, 1, 0), np.roll(sent, -1, 0)) + 5000
        now = leave[:, :, at.stop - 1] = np.maximum(leave[:, :, at.stop - 1], came) + 3000
    enter[:, :, -1] = now + 300
    leave[:, :, -1] = enter[:, :, -1].max(0) + 9000
    return enter, leave, leave[0, :, -1]


def skeleton(path: str, ranks: int, last: int) -> Trace:
    """Return the trace without its long tables, its last instant that."""
    numbers, none = np.arange(ranks, dtype="i4"), np.full(ranks, -1, "i4")
    places = Locations(np.zeros(ranks, "i4"), numbers // 16, numbers, np.zeros(ranks, "i4"), none, np.zeros(ranks, "u1"))
    times = Times(np.zeros(ranks, "i8"), np.full(ranks, last, "i8"))
    return Trace(
        path=path,
        format="made",
        locations=places,
        communicators=Communicators(("world",), np.array([0, ranks], "i8"), numbers),
        names=(),
        parallel=np.zeros(0, bool),
        paths=Paths.empty(),
        **{name: kind.empty() for name, kind in LONG.items()},
        timeline=Timeline(Times.empty(), Times.empty(), times),
        labels=Labels.empty(),
        texts=(),
        nodes=tuple(f"n{node}" for node in range(ranks // 16 + 1)),
        offsets=Offsets.empty(),
        defects=Defects.empty(),
        counts=Counts(),
        properties={},
    )


def make(path: str, calls: int, ranks: int) -> None:
    """Make a store of about so many calls."""
    blocks = max(1, (calls // ranks - 2) // WIDTH)
    width, folder = 2 + blocks * WIDTH, Path(path)
    folder.mkdir()
    messages = blocks * STEPS * 2
    rows = {"calls": width, "requests": 2 * messages, "messages": messages, "members": blocks}
    columns = Columns(folder, {name: ranks * rows.get(name, 0) for name in LONG} | {"collectives": blocks})
    base = 1_000_000
    for begin in range(0, blocks, _BLOCKS):
        count = min(_BLOCKS, blocks - begin)
        enter, leave, lasts = run(count, ranks, begin)
        starts = base + np.cumsum(lasts) - lasts
        for rank in range(ranks):
            first = rank * width + 1 + begin * WIDTH
            columns.put("timeline.calls", first, enter=enter[rank] + starts[:, None], leave=leave[rank] + starts[:, None])
            _block(columns, rank, ranks, width, begin, count)
        columns.put("collectives", begin, op=OP["MPI_Allreduce"], comm=0, root=-1, first_member=ranks * (begin + np.arange(count)))
        joins = (begin + np.arange(count))[:, None] * WIDTH + WIDTH + width * np.arange(ranks)
        columns.put("members", begin * ranks, collective=np.repeat(begin + np.arange(count), ranks), call=joins, done=joins)
        base = int(starts[-1] + lasts[-1])
    for rank in range(ranks):
        for row, op, enter_at, leave_at in ((0, "MPI_Init", 0, 1_000_000), (width - 1, "MPI_Finalize", base + 1000, base + 5000)):
            columns.put("calls", rank * width + row, **_NOTHING, location=rank, op=OP[op])
            columns.put("timeline.calls", rank * width + row, enter=enter_at, leave=leave_at)
    packer = Packer(path)
    packed = packer.packed(skeleton(path, ranks, base + 5000), "trace")
    columns.named(packed["fields"], "trace")
    told = {**head(), "trace": packed, "sums": packer.sums | columns.sums()}
    (folder / MARKER).write_text(json.dumps(told) + "\n")


_NOTHING = dict.fromkeys(("path", "peer", "tag", "comm", "root"), -1) | {"bytes_sent": 0, "bytes_received": 0}


def _block(columns: Columns, rank: int, ranks: int, width: int, begin: int, count: int) -> None:
    """Write calls, requests and messages sent of a rank in some blocks."""
    first, left, right = rank * width + 1 + begin * WIDTH, (rank - 1) % ranks, (rank + 1) % ranks
    op = np.array([OP[name] for name in [*STEP * STEPS, "MPI_Allreduce"]])
    talks = np.tile([1, 1, 1, 1, 0], STEPS).astype(bool)
    peer = np.full(WIDTH, -1)
    peer[:-1] = np.tile([left, right, left, right, -1], STEPS)
    sends, receives = (np.append(np.tile(which, STEPS), 0) for which in ([0, 0, 1, 1, 0], [1, 1, 0, 0, 0]))
    tag, comm = np.where(peer >= 0, 0, -1), np.where(peer >= 0, 0, -1)
    comm[-1] = 0
    sent, received = BYTES * sends, BYTES * receives
    sent[-1] = received[-1] = 8
    each = {"op": op, "peer": peer, "tag": tag, "comm": comm, "bytes_sent": sent, "bytes_received": received}
    columns.put("calls", first, **_NOTHING | {name: np.tile(values, count) for name, values in each.items()} | {"location": rank})
    block = (np.arange(count) * WIDTH)[:, None] + first
    posts = np.flatnonzero(talks)
    waits = posts - posts % len(STEP) + len(STEP) - 1
    columns.put(
        "requests", (rank * 4 * STEPS * _all(width)) + begin * 4 * STEPS, posted_by=block + posts, completed_by=block + waits, cancelled=0
    )
    out = posts[sends[posts] > 0]
    to = np.tile([left, right], STEPS)
    there = (np.arange(count) * WIDTH)[:, None] + begin * WIDTH + 1 + to * width
    arrives = out - out % len(STEP) + np.tile([1, 0], STEPS)
    row = rank * 2 * STEPS * _all(width) + begin * 2 * STEPS
    done = out - out % len(STEP) + len(STEP) - 1
    columns.put(
        "messages",
        row,
        send=block + out,
        send_done=block + done,
        receive=there + arrives,
        receive_done=there + done,
        tag=0,
        comm=0,
        mode=0,
        bytes=BYTES,
        sent_after=0,
        received_before=0,
    )


def _all(width: int) -> int:
    """Return how many blocks a rank has with so many calls."""
    return (width - 2) // WIDTH


if __name__ == "__main__":
    make(sys.argv[1], int(float(sys.argv[2])), int(sys.argv[3]) if len(sys.argv) > 3 else 64)
