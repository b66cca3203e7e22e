"""The messages of a trace as a model sees them: by class of pair and kind of send."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from perwiz.clock.latency import distance
from perwiz.errors import UsageError
from perwiz.kernels.names import ACROSS, METAHOST, NODE
from perwiz.loggps.keys import ALL_PAIRS, PAIRS
from perwiz.loggps.model import Model, Sent
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, U1, Mask, chunks
from perwiz.trace.numbers import places
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

SENDS_OF = (operations.KIND == operations.ISEND) + 2 * (operations.KIND == operations.SENDRECV).astype("u1")
"""Row of perwiz.loggps.keys.SENDS per op."""


def sent(trace: Trace, model: Model, rows: slice | Mask | I4 | I8, size: I8 | None = None) -> Sent:
    """Return messages of a trace, of their recorded or another `size`, with what a model tells them apart by."""
    table, calls = trace.messages, trace.calls
    send = table.send[rows]
    return Sent(
        bytes=(table.bytes if size is None else size)[rows],
        mode=table.mode[rows],
        sends=SENDS_OF[calls.op[send]] if len(model.limits) > 1 else 0,
        pairs=distance(trace.locations, calls.location[send], calls.location[table.receive_done[rows]]) if _classed(model) else ALL_PAIRS,
    )


def _classed(model: Model) -> bool:
    """Return whether a model tells classes of pairs apart."""
    return any(row.pairs for row in model.costs) or any(limit.pairs for limit in model.limits)


def _widest(trace: Trace) -> U1:
    """Return the widest pair class among the members of each communicator.

    ranks                          0     1      2         3      |  0     1
    on nodes                       a     a      b         b      |  a     a
    class of pair with the first  SAME  NODE  METAHOST  METAHOST | SAME  NODE     so METAHOST and NODE
    """
    communicators, locations = trace.communicators, trace.locations
    process, location = np.unique(locations.process, return_index=True)
    there = np.isin(communicators.ranks, process)
    place = np.zeros(len(there), "i8")
    place[there] = location[places(process, communicators.ranks[there])]
    size = communicators.sizes()
    out, filled = np.full(len(communicators), NODE, "u1"), size > 0
    first = np.repeat(place[communicators.first[:-1][filled]], size[filled])
    far = distance(locations, first, place)
    np.maximum.at(out, np.repeat(np.arange(len(size)), size), far)
    return out


def classes(trace: Trace) -> list[str]:
    """Return the classes of pairs that messages and collectives of a trace have, near to far; all processes of a team ask."""
    table, location = trace.messages, trace.calls.location
    seen = np.zeros(ALL_PAIRS, bool)
    for chunk in chunks(len(table)):
        seen[np.maximum(distance(trace.locations, location[table.send[chunk]], location[table.receive_done[chunk]]), NODE)] = True
    used = np.unique(trace.collectives.comm[trace.collectives.comm != NONE])
    seen[_widest(trace)[used[trace.communicators.sizes()[used] > 1]]] = True
    there = trace.share.reduced(seen.astype("i8"), "max")
    return [PAIRS[code - NODE] for code in (NODE, METAHOST, ACROSS) if there[code]]


def check_classes(trace: Trace, asked: Iterable[str], what: str) -> None:
    """Check that a trace has classes of pairs that something is about. Raises UsageError naming those that it has."""
    asked = list(asked)
    have = classes(trace) if asked else []
    for pairs in asked:
        if pairs not in have:
            told = f"all are {' or '.join(have)}" if have else "it has none"
            raise UsageError(f"{what}: no message or collective of {trace.path} is {pairs}, {told}")
