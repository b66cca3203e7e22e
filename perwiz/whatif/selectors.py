"""Which calls a question is about: `e12`, `region:NAME`, `rank:3`, `op:MPI_Recv`, `all`, or several joined by commas."""

from __future__ import annotations

import difflib
import re

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import UsageError
from perwiz.trace import ops
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

_SPLIT = re.compile(r"\s*,\s*(?=e[0-9]+(?:\s*,|$)|region:|rank:|op:|all(?:\s*,|$))")


def calls(trace: Trace, text: str) -> NDArray[np.bool_]:
    """Return which calls `text` selects, bool per call. Raises UsageError if a part names nothing or the whole selects no call."""
    mask = np.zeros(len(trace.calls), bool)
    for part in _SPLIT.split(text.strip()):
        mask |= _part(trace, part)
    if not mask.any():
        raise UsageError(f"'{text}' selects no call")
    return mask


def locations(trace: Trace, text: str) -> NDArray[np.bool_]:
    """Return which locations `rank:R` selects, bool per location. Raises UsageError for other texts and unknown ranks."""
    match = re.fullmatch(r"rank:([0-9]{1,9})", text)
    if not match:
        raise UsageError(f"'{text}' is no rank, must be like rank:3")
    mask = trace.locations.process == int(match[1])
    if not mask.any():
        known = trace.locations.process
        have = f"ranks {known.min()} to {known.max()}" if len(known) else "no processes"
        raise UsageError(f"{text}: no such rank, the trace has {have}")
    return mask


def region(trace: Trace, name: str) -> int:
    """Return the row of names of a user region. Raises UsageError naming the closest ones."""
    if name in trace.names:
        return trace.names.index(name)
    if not trace.names:
        raise UsageError(f"region '{name}': the trace has no user regions")
    close = difflib.get_close_matches(name, trace.names, 3, 0.4) or trace.names[:5]
    raise UsageError(f"region '{name}': no such region, the trace has {', '.join(close)}{' ...' if len(close) < len(trace.names) else ''}")


def inside(trace: Trace, name: int) -> NDArray[np.bool_]:
    """Return which calls were made inside a region, at any depth, bool per call."""
    within = np.zeros(len(trace.paths) + 1, bool)
    for path in range(len(trace.paths)):
        within[path] = trace.paths.region[path] == name or within[trace.paths.parent[path]]
    return np.asarray(within[trace.calls.path])


def _part(trace: Trace, part: str) -> NDArray[np.bool_]:
    kind, _, rest = part.partition(":")
    if part == "all":
        return np.ones(len(trace.calls), bool)
    if re.fullmatch(r"e[0-9]+", part):
        return _one(trace, part)
    if kind == "region" and rest:
        return inside(trace, region(trace, rest))
    if kind == "rank" and rest:
        return np.asarray(locations(trace, part)[trace.calls.location], bool)
    if kind == "op" and rest:
        return np.asarray(trace.calls.op == _op(trace, rest))
    raise UsageError(f"'{part}' selects nothing, must be like e12, region:NAME, rank:3, op:MPI_Recv or all")


def _one(trace: Trace, part: str) -> NDArray[np.bool_]:
    mask = np.zeros(len(trace.calls), bool)
    row = int(part[1:20])
    if row >= len(mask):
        have = f"the trace has calls e0 to e{len(mask) - 1}" if len(mask) else "the trace has no MPI calls"
        raise UsageError(f"{part}: no such call, {have}")
    mask[row] = True
    return mask


def _op(trace: Trace, name: str) -> int:
    op = ops.OP.get(name, ops.find(name.rstrip("_")) if name[:4].upper() == "MPI_" else None) or NONE
    if op == NONE or not (trace.calls.op == op).any():
        used = [ops.OPS[k] for k in np.unique(trace.calls.op)]
        raise UsageError(f"op:{name}: no such routine in the trace, it has {', '.join(used[:12]) or 'no MPI calls'}")
    return op
