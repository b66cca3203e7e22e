"""What ranks do together: kernels of NCCL and RCCL on streams, and what the events around their launch tell of them."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.formats.kineto import names
from perwiz.formats.kineto.book import Book
from perwiz.formats.kineto.device import Device
from perwiz.formats.kineto.events import ANNOTATION, OPERATOR
from perwiz.formats.kineto.groups import Groups
from perwiz.formats.kineto.rank import Columns, Rank
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.tables import NONE

_RECORD = b"record_param_comms"
SEND, RECV, BOTH = (operations.OP[f"dist_{name}"] for name in ("send", "recv", "send_recv"))
_ALL_TO_ALL = operations.OP["dist_all_to_all"]


@dataclasses.dataclass
class Ends:
    """One side of the messages of a rank."""

    handle: I8
    peer: I4
    group: I4
    bytes: I8
    waits: Mask
    """Whether who sends goes on only when the message is taken, or the call that receives is in it until then."""

    @classmethod
    def none(cls) -> Ends:
        """Return no ends."""
        return cls(np.empty(0, "i8"), np.empty(0, "i4"), np.empty(0, "i4"), np.empty(0, "i8"), np.empty(0, bool))


def sizes(rank: Rank, row: I8) -> tuple[I8, I8]:
    """Return the bytes that events say are sent and received."""
    dtype, place = np.unique(rank.detail("element", row), return_inverse=True)
    size = np.array([names.size_of(rank.texts.text(int(one))) for one in dtype.tolist()], "i8")[place.ravel()]
    counts = (np.clip(rank.detail(name, row), 0, (1 << 55)) for name in ("sent", "received"))
    sent, received = (count * size for count in counts)
    return sent, received


class Kernels:
    """The kernels of a rank that communicate."""

    def __init__(self, rank: Rank, device: Device, book: Book, groups: Groups) -> None:
        self._rank, self._device = rank, device
        self.sends = self.receives = Ends.none()
        rows = np.flatnonzero(device.ran.op >= 0)
        if len(rows):
            self._add(rows, book, groups)

    def _add(self, rows: I8, book: Book, groups: Groups) -> None:
        """Add the calls that kernels are."""
        rank, device = self._rank, self._device
        launch = device.launched()[rows]
        self._records = _of_name(rank, OPERATOR, _RECORD)
        said = self._around(launch)
        own = device.ran.at.row[rows]
        told = np.where(rank.detail("collective", own) >= 0, own, said)
        known = told >= 0
        named = np.full(len(rows), NONE, "i4")
        named[known] = self._named(told[known])
        op = np.where(named > 0, named, self._annotated(launch, device.ran.op[rows])).astype("i4")
        group, sequence = np.zeros(len(rows), "i4"), np.full(len(rows), NONE, "i8")
        sent, received = np.zeros((2, len(rows)), "i8")
        group[known] = groups.of(rank, told[known])
        groups.unnamed += int((~known).sum())
        sent[known], received[known] = sizes(rank, told[known])
        where = np.where(rank.detail("sequence", own) >= 0, own, said)
        sequence[where >= 0] = rank.detail("sequence", where[where >= 0])
        collective = operations.COLLECTIVE[op]
        sequence[~collective] = NONE
        peer = self._peers(groups, op, group, np.where(known, told, 0), known)
        ran = device.ran
        handle = book.add(
            ran.at.location[rows],
            op,
            ran.begin[rows],
            ran.end[rows],
            turn=ran.turn[rows],
            group=group,
            peer=peer,
            sequence=sequence,
            sent=np.where(op == RECV, 0, sent),
            received=np.where(op == SEND, 0, received),
        )
        for side, which, size in (("sends", SEND, sent), ("receives", RECV, received)):
            mine = (op == which) & (peer >= 0)
            setattr(self, side, Ends(handle[mine], peer[mine], group[mine], size[mine], np.ones(int(mine.sum()), bool)))

    def _around(self, launch: I8) -> I8:
        """Return the record of communication in which each launch lies, a row of the events of the file, or -1."""
        at, host = self._records, self._device.host
        if not len(at.row) or not len(host.row):
            return np.full(len(launch), NONE, "i8")
        key = np.lexsort((at.enter, at.location))
        location, enter = host.location[launch], host.enter[launch]
        out = np.full(len(launch), NONE, "i8")
        for one in np.unique(at.location).tolist():
            mine = key[at.location[key] == one]
            asked = np.flatnonzero((location == one) & (launch >= 0))
            place = np.searchsorted(at.enter[mine], enter[asked], "right") - 1
            inside = (place >= 0) & (at.leave[mine[place]] >= enter[asked])
            out[asked[inside]] = at.row[mine[place[inside]]]
        return out

    def _named(self, row: I8) -> I4:
        """Return the ops that events name."""
        told, which = np.unique(self._rank.detail("collective", row), return_inverse=True)
        return np.array([names.collective(self._rank.texts.text(int(one))) for one in told.tolist()], "i4")[which.ravel()]

    def _annotated(self, launch: I8, op: I4) -> I4:
        """Return the ops of kernels that no record names: that of an annotation around the launch, else that of the kernel."""
        rank, host = self._rank, self._device.host
        at = rank.chosen(ANNOTATION)
        said = np.array([names.annotated(rank.texts.raw(k))[1] for k in range(len(rank.texts))] + [NONE], "i4")[at.name]
        at, said = at.take(said >= 0), said[said >= 0]
        out = np.where(op == BOTH, _ALL_TO_ALL, op).astype("i4")
        for one in np.unique(at.location).tolist():
            mine = np.flatnonzero(at.location == one)
            asked = np.flatnonzero((host.location[launch] == one) & (launch >= 0)) if len(host.row) else np.empty(0, "i8")
            place = np.searchsorted(at.enter[mine], host.enter[launch[asked]], "right") - 1
            inside = (place >= 0) & (at.leave[mine[place]] >= host.enter[launch[asked]])
            out[asked[inside]] = said[mine[place[inside]]]
        return out

    def _peers(self, groups: Groups, op: I4, group: I4, row: I8, known: Mask) -> I4:
        """Return the partners of messages, ranks, -1 for others and those that nobody tells."""
        place = np.where(op == SEND, self._rank.detail("target", row), self._rank.detail("source", row))
        out = np.full(len(op), NONE, "i4")
        mine = ((op == SEND) | (op == RECV)) & known
        out[mine] = groups.partner(group[mine], place[mine].astype("i4"), self._rank.rank)
        return out


def _of_name(rank: Rank, kind: int, name: bytes) -> Columns:
    """Return the events of a category with a name."""
    at = rank.chosen(kind)
    number = next((k for k in range(len(rank.texts)) if rank.texts.raw(k) == name), NONE)
    return at.take(at.name == number)
