"""A schedule as Chakra execution traces: a directory with a file per rank, and the ranks of process groups.

What needs only the start of an operation needs a node of no length in front of that.
"""

from __future__ import annotations

import dataclasses
import json
import os
from typing import NamedTuple

import numpy as np

from perwiz.errors import UsageError
from perwiz.formats.chakra import files
from perwiz.formats.goal.schedule import CALC, RECV, SEND, Schedule
from perwiz.formats.places import places
from perwiz.kernels import chakra, chakra_write
from perwiz.kernels.semantics_events import COLLECTIVE
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.numbers import running
from perwiz.trace.tables import NONE, STREAM
from perwiz.trace.trace import Trace

_HEAD = b"\x07\x0a\x050.0.4"
"""The message about a file: the version of the schema."""
_KINDS = {
    0: "dist_all_reduce MPI_Allreduce",
    2: "dist_all_gather MPI_Allgather MPI_Allgatherv",
    5: "dist_broadcast MPI_Bcast",
    6: "dist_all_to_all MPI_Alltoall MPI_Alltoallv",
    7: "dist_reduce_scatter MPI_Reduce_scatter MPI_Reduce_scatter_block",
}
"""Ops by kinds of collectives."""
_KIND = np.full(len(operations.OPS), NONE, "i4")
for _number, _names in _KINDS.items():
    _KIND[[operations.OP[_name] for _name in _names.split()]] = _number
_DEVICE = operations.OP["device_idle"]
_TYPES = {CALC: chakra.COMPUTES, SEND: chakra.SENDS, RECV: chakra.RECEIVES, COLLECTIVE: chakra.MEETS}
_TEXTS = {CALC: "compute", SEND: "send", RECV: "receive", COLLECTIVE: "collective"}
_FIXED = 240
"""Bytes of a node without its name and what it needs, at most; more than that of a number it needs: 10."""
_KEYS = np.frombuffer(b"".join(chakra.KEYS), "u1")
_ENDS: I8 = np.cumsum([len(key) for key in chakra.KEYS])


def write(schedule: Schedule, trace: Trace, path: str) -> list[tuple[str, int]]:
    """Return what is lost, after writing a schedule to the new directory `path`.

    `trace` tells of its collectives, whose rows are the tags of their operations. Raises UsageError if the directory cannot be written.
    """
    ranks = np.unique(trace.locations.process)
    nodes = _nodes(_counted(schedule, ranks), trace)
    texts = [*_TEXTS.values(), *(str(k) for k in range(len(trace.communicators)))]
    joined = np.frombuffer("".join(texts).encode(), "u1")
    ends = np.cumsum([len(text) for text in texts])
    name = os.path.basename(path).removesuffix(files.SUFFIX)
    begins = np.searchsorted(nodes.rank, np.arange(len(ranks) + 1))
    try:
        os.mkdir(path)
        for rank in range(len(ranks)):
            begin, end = int(begins[rank]), int(begins[rank + 1])
            needs = nodes.first[begin : end + 1]
            most = int(np.diff(needs).max(initial=0))
            body = np.empty(_FIXED + 10 * most, "u1")
            out = np.empty((_FIXED + 10) * (end - begin) + 10 * int(needs[-1] - needs[0]), "u1")
            made = np.ascontiguousarray(nodes.made[begin:end]).view(np.recarray)
            size = chakra_write.write(made, needs, nodes.on, joined, ends, _KEYS, _ENDS, body, out)
            with open(os.path.join(path, f"{name}.{rank}{files.SUFFIX}"), "wb") as file:
                file.write(_HEAD)
                file.write(out[:size].data)
        comms = trace.communicators
        groups = {str(k): np.searchsorted(ranks, comms.members(k)).tolist() for k in range(1, len(comms))}
        with open(os.path.join(path, files.GROUPS), "w", encoding="utf-8") as text:
            json.dump(groups, text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from None
    moved = int((ranks != np.arange(len(ranks))).sum())
    named = len(trace.communicators) - 1
    lost = (("numbers of ranks: they are counted from 0", moved), ("names of communicators: they are numbers", named))
    return [(what, number) for what, number in lost if number]


def _counted(schedule: Schedule, ranks: I4) -> Schedule:
    """Return a schedule with its ranks counted from 0."""
    rank, peer = (np.searchsorted(ranks, column).astype("i4") for column in (schedule.rank, schedule.peer))
    return dataclasses.replace(schedule, ranks=len(ranks), rank=rank, peer=peer)


class _Nodes(NamedTuple):
    """The nodes of a schedule, those of a rank one behind the other, numbered from 0 in each."""

    rank: I4
    made: np.recarray
    """Of chakra.MADE."""
    first: I8
    """Where what each needs begins, and where that of the last ends, in"""
    on: I8
    """the numbers of nodes that nodes need."""


def _nodes(schedule: Schedule, trace: Trace) -> _Nodes:
    """Return the nodes of a schedule."""
    count = len(schedule)
    waited = np.unique(schedule.on[schedule.starts == 1])
    node, front = np.arange(count), np.full(count, NONE, "i8")
    front[waited] = count + np.arange(len(waited))
    begins = np.where(front >= 0, front, node)
    needs = np.concatenate([begins[schedule.op], node[waited]])
    needed = np.concatenate([np.where(schedule.starts == 1, front[schedule.on], node[schedule.on]), front[waited]])
    rank = schedule.rank[np.concatenate([node, waited])].astype("i4")
    order = np.lexsort((places(len(rank), needs, needed)[0], rank))
    place = np.empty(len(order), "i8")
    place[order] = np.arange(len(order))
    node, front, needs, needed, rank = place[node], np.where(front >= 0, place[front], NONE), place[needs], place[needed], rank[order]
    by_node = np.lexsort((needed, needs))
    number = np.arange(len(order)) - np.searchsorted(rank, rank)
    made = np.zeros(len(order), chakra.MADE).view(np.recarray)
    made.id, made.type = number, chakra.COMPUTES
    for column in ("collective", "source", "target", "tag", "group"):
        made[column] = NONE
    unit = schedule.cpu.astype("i4")
    host = _of_host(trace, schedule)
    made.cpu[node], made.cpu[front[waited]] = host & (schedule.kind == CALC), host[waited]
    made.thread[node], made.thread[front[waited]] = np.where(front >= 0, NONE, unit), unit[waited]
    made.duration[node] = _whole(schedule)
    for k, (kind, kind_of_node) in enumerate(_TYPES.items()):
        of = np.flatnonzero(schedule.kind == kind)
        made["type"][node[of]], made["name"][node[of]] = kind_of_node, k
    _talk(made, node, schedule)
    _meet(made, node, schedule, trace)
    first = np.searchsorted(needs[by_node], np.arange(len(order) + 1))
    return _Nodes(rank, made, first.astype("i8"), number[needed[by_node]])


def _of_host(trace: Trace, schedule: Schedule) -> Mask:
    """Return whether each operation is of the host: none is where there are no devices, as ranks are then what computes.

    Where ranks have no host, as Chakra traces of MPI do not, their first location is a process that idles as a device.
    """
    table = trace.locations
    if not (table.kind == STREAM).any():
        return np.zeros(len(schedule), bool)
    host = table.kind != STREAM
    host[trace.calls.location[trace.calls.op == _DEVICE]] = False
    order = np.argsort(table.process, kind="stable")
    first = np.searchsorted(np.unique(table.process, return_inverse=True)[1].ravel()[order], schedule.rank)
    return host[order[np.minimum(first + schedule.cpu, len(order) - 1)]]


def _whole(schedule: Schedule) -> I8:
    """Return how long each operation computes, us: of each processor of a rank all together as long as they do."""
    order = np.lexsort((np.arange(len(schedule)), schedule.cpu, schedule.rank))
    took = np.where(schedule.kind == CALC, schedule.size, 0)[order]
    key = schedule.rank[order].astype("i8") * 256 + schedule.cpu[order]
    end = np.cumsum(took)
    end -= (end - took)[np.searchsorted(key, key)]
    out = np.empty(len(order), "i8")
    out[order] = (end + 500) // 1000 - (end - took + 500) // 1000
    return out


def _talk(made: np.recarray, node: I8, schedule: Schedule) -> None:
    """Write who sends what to whom."""
    for kind, own, other in ((SEND, "source", "target"), (RECV, "target", "source")):
        of = np.flatnonzero(schedule.kind == kind)
        made[own][node[of]], made[other][node[of]] = schedule.rank[of], schedule.peer[of]
        made.tag[node[of]], made.amount[node[of]] = schedule.tag[of], schedule.size[of]


def _meet(made: np.recarray, node: I8, schedule: Schedule, trace: Trace) -> None:
    """Write what ranks do together."""
    of = np.flatnonzero(schedule.kind == COLLECTIVE)
    row = schedule.tag[of].astype("i8")
    table, calls, members = trace.collectives, trace.calls, trace.members
    made.collective[node[of]] = _KIND[table.op[row]]
    comm = table.comm[row]
    made.tag[node[of]] = running(table.comm, table.comm)[row]
    made.group[node[of]] = np.where(comm > 0, len(_TEXTS) + comm, NONE)
    made.amount[node[of]] = _sizes(members.collective, calls.bytes_sent[members.call], calls.bytes_received[members.call], len(table))[row]


def _sizes(collective: I4, sent: I8, received: I8, count: int) -> I8:
    """Return the bytes that a member of each collective gives, the most of all; of those where none is told what one gets."""
    gives, gets = np.zeros((2, count), "i8")
    np.maximum.at(gives, collective, sent)
    np.maximum.at(gets, collective, received)
    return np.where(gives > 0, gives, gets)
