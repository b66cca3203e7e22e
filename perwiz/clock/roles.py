"""Collectives as logical messages: whose entry must come before whose return (Becker et al. 2009, section 4)."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, U2, Mask
from perwiz.trace.table import Table
from perwiz.trace.tables import NONE, Collectives, Members
from perwiz.trace.trace import Trace

_MOVES_DATA = ["Allreduce", "Allgather", "Allgatherv", "Alltoall", "Reduce_scatter", "Reduce_scatter_block"]
_PAIRS_UNKNOWN = ["Alltoallv", "Alltoallw"]


def _ops(names: list[str]) -> Mask:
    """Return which ops these routines are, blocking or not."""
    out = np.zeros(len(operations.OPS), bool)
    out[[operations.OP[f"MPI_{name}"] for name in names] + [operations.OP[f"MPI_I{name.lower()}"] for name in names]] = True
    return out


BY_DATA = _ops(_MOVES_DATA) | np.isin(operations.KIND, (operations.ONE_TO_N, operations.N_TO_ONE, operations.PREFIX))
"""Per op: who sends nothing keeps nobody waiting, who receives nothing waits for nobody. Others of N to N synchronise by themselves."""
PAIRS_UNKNOWN = _ops(_PAIRS_UNKNOWN)
"""Per op: who exchanges data with whom is not recorded, so that nobody is known to wait for anybody."""
_WORLD = (("MPI_Init", "MPI_Init_thread"), ("MPI_Finalize",))


def roles(trace: Trace) -> tuple[Mask, Mask]:
    """Return per member of a collective (sends, receives): others wait for its entry, its return waits for others.

    The root sends to all and receives from all others in operations from and to a root; in a prefix operation each receives from the
    ranks before it. A contribution of zero bytes is none, unless no member of the instance has any, as where sizes are not recorded.
    """
    members, table = trace.members, trace.collectives
    op, root = table.op[members.collective], table.root[members.collective]
    kind = operations.KIND[op]
    at_root = trace.locations.process[trace.calls.location[members.call]] == root
    all_to_all = ((kind == operations.N_TO_N) & ~PAIRS_UNKNOWN[op]) | (kind == operations.PREFIX)
    down, up = (kind == operations.ONE_TO_N) & (root >= 0), (kind == operations.N_TO_ONE) & (root >= 0)
    sends = (all_to_all | (down & at_root) | (up & ~at_root)) & _contributes(trace, op, trace.calls.bytes_sent > 0)
    receives = (all_to_all | (down & ~at_root) | (up & at_root)) & _contributes(trace, op, trace.calls.bytes_received > 0)
    receives[trace.share.leading(table.first_member[operations.KIND[table.op] == operations.PREFIX])] = False
    return sends, receives & (members.done != NONE)


def _contributes(trace: Trace, op: U2, by_call: Mask) -> Mask:
    """Return per member whether its part of a collective counts: it moves data, or nobody's data is known, or there is none to move."""
    members = trace.members
    moves = by_call[members.call]
    moving = np.logical_or.reduceat(moves, trace.collectives.first_member) if len(members) else moves
    return moves | ~trace.share.over_instances(moving, "max")[members.collective] | ~BY_DATA[op]


def with_world_barriers(trace: Trace) -> Trace:
    """Return the trace with MPI_Init and MPI_Finalize as barriers of all processes, where each calls it once and the trace has none yet.

    Where processes were spawned, which have a world of their own, nothing is added.

    For clocks only: implementations synchronise there (as Scalasca supposes), the MPI standard does not promise it.
    """
    share = trace.share
    for routines in _WORLD:
        own = np.isin(trace.calls.op[share.calls], [operations.OP[routine] for routine in routines])
        calls = (np.flatnonzero(own) + (share.calls.start or 0)).astype("i4")
        here = trace.locations.process[trace.calls.location[calls]]
        ranks = share.rows(here)
        if (
            len(ranks) > 1
            and np.array_equal(np.sort(ranks), np.unique(trace.locations.process))
            and np.isin(ranks, trace.communicators.members(0)).all()
            and not share.any(np.isin(calls, trace.members.call).any())
        ):
            order = np.argsort(here)
            trace = _with_barrier(trace, calls[order], np.searchsorted(np.sort(ranks), here[order]), len(ranks))
    return trace


def _with_barrier(trace: Trace, calls: I4, places: I8, size: int) -> Trace:
    """Return the trace with one more barrier of all, of so many members, of which these calls are, at these places."""
    op = operations.OP["MPI_Barrier"]
    share = trace.share.with_instance(places, size)
    if not len(calls):
        return dataclasses.replace(trace, share=share)
    barrier = Collectives(np.array([op], "u2"), *(np.array([value], "i4") for value in (0, NONE, len(trace.members))))
    members = Members(np.full(len(calls), len(trace.collectives), "i4"), calls, calls)
    return dataclasses.replace(trace, share=share, collectives=_joined(trace.collectives, barrier), members=_joined(trace.members, members))


def _joined(first: Table, second: Table) -> Any:
    """Return the table of the rows of both."""
    return type(first)(*(np.concatenate((getattr(first, f.name), getattr(second, f.name))) for f in dataclasses.fields(first)))
