"""The columns of a table of operations, read from Parquet and checked."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import ReaderError, TraceError
from perwiz.trace.arrays import I4, I8, U1, Mask
from perwiz.words import several

_WHOLE = ("dp_rank", "stage", "rank", "step", "seq_id", "mc", "gmc")
_SECONDS = ("start_ts", "duration")
_MOST_ROWS = 1 << 28
_MOST_RANK = 1 << 24
_LONGEST = 1e8
"""Seconds that no time of a step exceeds."""

FORWARD, BACKWARD, COLLECT, LAYERNORM, EMBEDDING, SEPARATE, CLIP, OPTIMIZER = range(8)
GATHER, SCATTER = 8, 9
SENDS, RECEIVES = (10, 12), (11, 13)
"""Of activations and of gradients."""
TYPES = (
    *("forward-compute", "backward-compute", "gc", "layernorm-grads-all-reduce", "embedding-grads-all-reduce"),
    *("separate-grads-all-reduce", "optimizer-clip-main-grad", "optimizer", "params-all-gather", "grads-reduce-scatter"),
    *("forward-send", "forward-recv", "backward-send", "backward-recv"),
)
"""Types of operations; a type is a row of this."""


@dataclasses.dataclass
class Operations:
    """Operations in order of (step, rank, time): of each rank of a step, which is a cell, those of all types together."""

    step: I8
    stage: I8
    replica: I8
    """Rank among those that hold the same part of the model, `dp_rank`."""
    rank: I4
    type: U1
    begin: I8
    """ns from the beginning of the first step; steps are put one behind the other."""
    end: I8
    chunk: I4
    """Which of the parts of the model that the rank holds, `mc`."""
    place: I4
    """Which of all parts of the model, `gmc`."""
    cell: I8
    """Number of (step, rank)."""
    starts: I8
    """When each step begins, ns, and when the last one ends."""
    steps: I8
    """The number that each step has in the job."""
    left_out: tuple[str, ...]
    """Types that are not known, how often each."""

    def __len__(self) -> int:
        return len(self.step)


def read(path: str) -> Operations:
    """Return the operations of a table. Raises ReaderError without pyarrow, TraceError for what is no such table."""
    table = _table(path)
    column: dict[str, NDArray[Any]] = {}
    for name in _WHOLE:
        column[name] = _numbers(path, table, name, "i8", (1 << 62) if name == "step" else _MOST_RANK)
    for name in _SECONDS:
        column[name] = _numbers(path, table, name, "f8", _LONGEST)
    kind, known, left_out = _types(path, table)
    column = {name: values[known] for name, values in column.items()}
    if not len(kind):
        raise TraceError(f"{path}: no operation of a known type, must have some of {', '.join(TYPES[:2])}, ...")
    _check(path, column)
    return _ordered(column, kind, left_out)


def _table(path: str) -> Any:
    """Return the table of a file, as pyarrow has it."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise ReaderError(f"{path}: a table of operations is read with pyarrow, which is missing: pip install pyarrow") from None
    wanted = [*_WHOLE, *_SECONDS, "optype"]
    try:
        with parquet.ParquetFile(path) as file:
            rows = file.metadata.num_rows
            missing = [name for name in wanted if name not in file.schema_arrow.names]
            if missing:
                raise TraceError(f"{path}: a table without {', '.join(missing)}, must be one of operations with {', '.join(wanted)}")
            if not 0 < rows <= _MOST_ROWS:
                raise TraceError(f"{path}: a table of {rows} rows, must be 1 to {_MOST_ROWS}")
            return file.read(columns=wanted)
    except (ArrowException, OSError, ValueError) as error:
        raise TraceError(f"{path}: no Parquet that can be read ({str(error).splitlines()[0]})") from None


def _numbers(path: str, table: Any, name: str, dtype: str, most: float) -> NDArray[Any]:
    """Return a column. Raises TraceError where it is none of numbers, or has others than from -1 to the most."""
    values = table[name].to_numpy()
    if values.dtype.kind not in "iuf":
        raise TraceError(f"{path}: column {name} has {table[name].type}, must be numbers")
    bad = np.flatnonzero(~((values >= -1) & (values <= most)))
    if len(bad):
        raise TraceError(f"{path}: row {bad[0]} has {name} {values[bad[0]]}, must be a number from -1 to {most:.0f}")
    return np.asarray(values.astype(dtype))


def _types(path: str, table: Any) -> tuple[U1, Mask, tuple[str, ...]]:
    """Return the types of the rows whose type is known, which these are, and in words what the others are."""
    try:
        encoded = table["optype"].dictionary_encode().unify_dictionaries().combine_chunks()
        encoded = encoded.chunk(0) if hasattr(encoded, "chunks") else encoded
        names, which = encoded.dictionary.to_pylist(), encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    except (TypeError, ValueError, AttributeError, NotImplementedError):
        names = [0]
    if not all(isinstance(name, str) for name in names):
        raise TraceError(f"{path}: column optype has {table['optype'].type}, must be texts") from None
    row = np.array([*(TYPES.index(name) if name in TYPES else -1 for name in names), -1], "i4")[which]
    known = row >= 0
    count = np.bincount(which[~known] + 1, minlength=len(names) + 1)
    other = zip(["none", *map(str, names)], count.tolist(), strict=True)
    left_out = tuple(f"{several(number, 'operation')} of type {name}" for name, number in other if number)
    return row[known].astype("u1"), known, left_out


def _check(path: str, column: dict[str, NDArray[Any]]) -> None:
    """Raise TraceError for operations that take less than no time, and ranks with several places."""
    for name in ("duration", "rank", "stage", "dp_rank"):
        bad = np.flatnonzero(column[name] < 0)
        if len(bad):
            raise TraceError(f"{path}: an operation with {name} {column[name][bad[0]]}, must be at least 0")
    ranks, first, which = np.unique(column["rank"], return_index=True, return_inverse=True)
    for name in ("stage", "dp_rank"):
        bad = np.flatnonzero(column[name] != column[name][first[which]])
        if len(bad):
            both = f"{column[name][first[which[bad[0]]]]} and {column[name][bad[0]]}"
            raise TraceError(f"{path}: rank {column['rank'][bad[0]]} has {name} {both}, must have one")
    place = np.stack([column[name][first] for name in ("stage", "dp_rank")])
    pairs, count = np.unique(place, axis=1, return_counts=True)
    if len(pairs.T) < len(ranks):
        stage, replica = pairs.T[np.argmax(count)]
        raise TraceError(f"{path}: {count.max()} ranks have stage {stage} and dp_rank {replica}, must be one")


def _ordered(column: dict[str, NDArray[Any]], kind: U1, left_out: tuple[str, ...]) -> Operations:
    """Return the operations in order, their times in one line of steps."""
    steps, step = np.unique(column["step"], return_inverse=True)
    begin = np.rint(column["start_ts"] * 1e9).astype("i8")
    end = np.rint((column["start_ts"] + column["duration"]) * 1e9).astype("i8")
    first, last = np.full(len(steps), np.iinfo("i8").max), np.full(len(steps), np.iinfo("i8").min)
    np.minimum.at(first, step, begin)
    np.maximum.at(last, step, end)
    starts = np.concatenate(([0], np.cumsum(last - first)))
    shift = (starts[:-1] - first)[step]
    order = np.lexsort((kind, column["seq_id"], begin, column["rank"], step))
    rank = column["rank"][order].astype("i4")
    step = step[order]
    new = np.ones(len(order), bool)
    new[1:] = (step[1:] != step[:-1]) | (rank[1:] != rank[:-1])
    return Operations(
        step=step,
        stage=column["stage"][order],
        replica=column["dp_rank"][order],
        rank=rank,
        type=kind[order],
        begin=(begin + shift)[order],
        end=(end + shift)[order],
        chunk=column["mc"][order].astype("i4"),
        place=column["gmc"][order].astype("i4"),
        cell=np.cumsum(new) - 1,
        starts=starts,
        steps=steps,
        left_out=left_out,
    )
