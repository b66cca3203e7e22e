"""The nodes of all ranks together: what meets, who sends to whom, and in which order it can be."""

from __future__ import annotations

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.chakra.groups import Groups
from perwiz.formats.chakra.nodes import File
from perwiz.formats.places import places
from perwiz.kernels import chakra
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.numbers import Numbers, running
from perwiz.trace.tables import NONE

_TYPES = "all_reduce reduce all_gather gather scatter broadcast all_to_all reduce_scatter reduce_scatter barrier"
_OP = np.array([*(operations.OP[f"dist_{name}"] for name in _TYPES.split()), 0])
"""Ops by kinds of collectives; others are nothing that perwiz knows."""
SEND, RECV = operations.OP["dist_send"], operations.OP["dist_recv"]
GATHER, SCATTER = operations.OP["dist_all_gather"], operations.OP["dist_reduce_scatter"]


class Job:
    """The nodes of all ranks, those of a rank one behind the other."""

    def __init__(self, path: str, ranks: list[File]) -> None:
        self.files = ranks
        self.groups = Groups(path, ranks)
        self.rows: np.recarray = np.concatenate([one.rows for one in ranks]).view(np.recarray)
        sizes = [len(one.rows) for one in ranks]
        first = np.cumsum([0, *sizes[:-1]])
        self.rank: I4 = np.repeat(np.array([one.rank for one in ranks], "i4"), sizes)
        self.group: I4 = np.concatenate(self.groups.of)
        self.needs: I8 = np.concatenate([one.op + begin for one, begin in zip(ranks, first, strict=True)])
        self.needed: I8 = np.concatenate([one.on + begin for one, begin in zip(ranks, first, strict=True)])
        kind = np.where(self.rows.cpu == 1, chakra.COMPUTES, self.rows.type)
        self.op: I4 = np.full(len(kind), NONE, "i4")
        """What a node is among ranks, -1 for computation."""
        self.op[kind == chakra.SENDS], self.op[kind == chakra.RECEIVES] = SEND, RECV
        meets = kind == chakra.MEETS
        told = self.rows.collective[meets]
        self.op[meets] = _OP[np.where((told >= 0) & (told < len(_OP) - 1), told, len(_OP) - 1)]
        self.meets: Mask = self.op >= 0
        self.meets &= operations.COLLECTIVE[self.op]
        self.number: I8 = np.full(len(kind), NONE, "i8")
        """Which collective of its group it is: by its tag, and how many have the same before it."""
        tags = self.rows.tag[self.meets]
        self.number[self.meets] = tags + 1 << 32 | running(Numbers().number(self.rank[self.meets], self.group[self.meets]), tags)
        self.peer = self._peers()
        self.messages = self._messages()
        """Sends and receives that are the ends of one message, nodes."""
        self.place: I8 = self._places(path)
        """An order in which nodes can be done."""

    def _peers(self) -> I4:
        """Return the partners of messages; where none is told and a group has two ranks, the other one."""
        out = np.full(len(self.op), NONE, "i4")
        for op, told in ((SEND, self.rows.target), (RECV, self.rows.source)):
            mine = self.op == op
            out[mine] = told[mine]
        open_ = ((self.op == SEND) | (self.op == RECV)) & (out < 0)
        for row in np.unique(self.group[open_]).tolist():
            ranks = self.groups.ranks(row)
            if len(ranks) == 2:
                mine = open_ & (self.group == row) & np.isin(self.rank, ranks)
                out[mine] = sum(ranks) - self.rank[mine]
        return out

    def _messages(self) -> tuple[I8, I8]:
        """Return the sends and receives that are one message: the k-th from a rank to another with a tag."""
        send, receive = (np.flatnonzero((self.op == op) & (self.peer >= 0)) for op in (SEND, RECV))
        pairs, tags = Numbers(), Numbers()
        keys = []
        for row, ends in ((send, (self.rank, self.peer)), (receive, (self.peer, self.rank))):
            pair = pairs.number(*(end[row].astype("i8") for end in ends)).astype("i8")
            channel = tags.number(pair, np.maximum(self.rows.tag[row], 0)).astype("i8")
            keys.append(channel << 32 | running(channel, 0 * channel))
        _, a, b = np.intersect1d(keys[0], keys[1], return_indices=True)
        return send[a], receive[b]

    def _places(self, path: str) -> I8:
        """Return the place of each node in an order in which those that it needs come before; those that meet have one place."""
        vertex = np.arange(len(self.op))
        key = np.stack([self.group[self.meets].astype("i8"), self.number[self.meets]])
        _, first, which = np.unique(key, axis=1, return_index=True, return_inverse=True)
        vertex[self.meets] = np.flatnonzero(self.meets)[first][which.ravel()]
        send, receive = self.messages
        op, on = (np.concatenate([vertex[a], vertex[b]]) for a, b in ((self.needs, receive), (self.needed, send)))
        place, left = places(len(vertex), op, on)
        if len(left):
            node = f"node {self.rows.id[left[0]]} of rank {self.rank[left[0]]}"
            raise TraceError(f"{path}: {node} is among or behind nodes that need each other in a circle, must have one that can begin")
        return place[vertex]
