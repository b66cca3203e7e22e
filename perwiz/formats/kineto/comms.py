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
from perwiz.trace.arrays import I4, I8, Ints, Mask
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


@dataclasses.dataclass
class _Parts:
    """What kernels do, which are several things where sends and receives were grouped."""

    kernel: I8
    """Place among the kernels that communicate."""
    record: I8
    """Row of the file's event that tells what, of whom, with which number."""

    def take(self, rows: Mask) -> _Parts:
        """Return some of them."""
        return _Parts(self.kernel[rows], self.record[rows])


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
        rank, device, ran = self._rank, self._device, self._device.ran
        launch = device.launched()[rows]
        self._records = _of_name(rank, OPERATOR, _RECORD)
        part = self._parts(ran.at.row[rows], launch, ran.op[rows])
        part_op, part_group = self._named(part.record), groups.of(rank, part.record)
        part_peer = self._peers(groups, part_op, part_group, part.record)
        said, group, peer = (_of_kernels(part, told, len(rows)) for told in (part_op, part_group, part_peer))
        groups.unnamed += len(rows) - len(np.unique(part.kernel))
        op = np.where(said > 0, said, self._annotated(launch, ran.op[rows])).astype("i4")
        op[part.kernel[part_op != said[part.kernel]]] = BOTH
        peer[part.kernel[part_peer != peer[part.kernel]]] = NONE
        size = np.zeros((2, len(rows)), "i8")
        moved = np.stack(sizes(rank, part.record)) * (part_op != np.array([[RECV], [SEND]]))
        for total, one in zip(size, moved, strict=True):
            np.add.at(total, part.kernel, one)
        handle = book.add(
            ran.at.location[rows],
            op,
            ran.begin[rows],
            ran.end[rows],
            turn=ran.turn[rows],
            group=np.maximum(group, 0),
            peer=peer,
            sequence=np.where(operations.COLLECTIVE[op], self._sequence(part, ran.at.row[rows]), NONE),
            sent=size[0],
            received=size[1],
        )
        ran.op[rows] = op
        for side, which, moves in (("sends", SEND, moved[0]), ("receives", RECV, moved[1])):
            mine = (part_op == which) & (part_peer >= 0)
            ends = Ends(handle[part.kernel[mine]], part_peer[mine], part_group[mine], moves[mine], np.ones(int(mine.sum()), bool))
            setattr(self, side, ends)

    def _parts(self, own: I8, launch: I8, op: I4) -> _Parts:
        """Return what kernels do; `own` are their rows of the events of the file, `op` what they are named after."""
        around = self._around(launch)
        told = np.where(self._rank.detail("collective", own) >= 0, own, around)
        kernel = np.flatnonzero(told >= 0)
        of_group = self._of_groups(launch, around, op)
        of_group = of_group.take(told[of_group.kernel] < 0)
        return _Parts(np.concatenate([kernel, of_group.kernel]), np.concatenate([told[kernel], of_group.record]))

    def _of_groups(self, launch: I8, around: I8, op: I4) -> _Parts:
        """Return what kernels do that NCCL launches when a group ends (`batch_isend_irecv`): what was asked for since the kernel before.

        send record   recv record   launch(SendRecv)      both records are of that kernel, whose launch lies in none
        """
        at, host = self._records.take(~np.isin(self._records.row, around)), self._device.host
        kind = self._named(at.row)
        at, kind, known = at.take(kind > 0), kind[kind > 0], np.flatnonzero(launch >= 0)
        found = [np.empty((2, 0), "i8")]
        for one in np.unique(at.location).tolist():
            mine, theirs = np.flatnonzero(at.location == one), known[host.location[launch[known]] == one]
            theirs = theirs[np.argsort(host.enter[launch[theirs]], kind="stable")]
            place = np.searchsorted(host.enter[launch[theirs]], at.leave[mine])
            mine, kernel = mine[place < len(theirs)], theirs[place[place < len(theirs)]]
            message = (kind[mine] == SEND) | (kind[mine] == RECV)
            fits = (around[kernel] < 0) & np.where(message, op[kernel] == BOTH, op[kernel] == kind[mine])
            found.append(np.stack([kernel[fits], at.row[mine[fits]]]))
        return _Parts(*np.concatenate(found, axis=1))

    def _sequence(self, part: _Parts, own: I8) -> I8:
        """Return the number of each kernel in its group, -1 for none: its own, else that of the record around its launch."""
        told, own = _of_kernels(part, self._rank.detail("sequence", part.record), len(own)), self._rank.detail("sequence", own)
        return np.where(own >= 0, own, told)

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
        out = np.where(op == BOTH, _ALL_TO_ALL, op).astype("i4")  # what is no group of sends and receives
        for one in np.unique(at.location).tolist():
            mine = np.flatnonzero(at.location == one)
            asked = np.flatnonzero((host.location[launch] == one) & (launch >= 0)) if len(host.row) else np.empty(0, "i8")
            place = np.searchsorted(at.enter[mine], host.enter[launch[asked]], "right") - 1
            inside = (place >= 0) & (at.leave[mine[place]] >= host.enter[launch[asked]])
            told, asked = said[mine[place[inside]]], asked[inside]
            out[asked] = np.where(told == BOTH, op[asked], told)
        return out

    def _peers(self, groups: Groups, op: I4, group: I4, row: I8) -> I4:
        """Return the partners of messages, ranks, -1 for others and those that nobody tells."""
        place = np.where(op == SEND, self._rank.detail("target", row), self._rank.detail("source", row))
        out = np.full(len(op), NONE, "i4")
        mine = (op == SEND) | (op == RECV)
        out[mine] = groups.partner(group[mine], place[mine].astype("i4"), self._rank.rank)
        return out


def _of_kernels(part: _Parts, told: Ints, count: int) -> I8:
    """Return what the last part of each of some kernels is told, -1 for kernels without any."""
    out = np.full(count, NONE, "i8")
    out[part.kernel] = told
    return out


def _of_name(rank: Rank, kind: int, name: bytes) -> Columns:
    """Return the events of a category with a name."""
    at = rank.chosen(kind)
    number = next((k for k in range(len(rank.texts)) if rank.texts.raw(k) == name), NONE)
    return at.take(at.name == number)
