"""The actions of a time-independent trace: one line each, `rank action arguments`, as SimGrid's replay takes them.

What its smpi_replay.cpp (3.32) registers is known here, and the other kinds of sends that its tracer writes. The same lines come again
and again, so each distinct one is parsed once.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

from perwiz.errors import TraceError
from perwiz.trace import operations
from perwiz.trace.tables import ANY, NONE
from perwiz.words import shown

MOST_RANKS = 1 << 20
_MOST_BYTES = 1 << 60
_MOST_TAG = (1 << 31) - 1
_LARGEST = 1e30
NO_CALL, OTHER, POSTS, WAITS, WAITS_ALL, TESTS = range(6)
"""What an action does: it is no call, one that has nothing to do with requests, posts one, completes one or all, looks for one."""
_UNDEFINED, _ANY_SOURCE, _ANY_TAG, _PROC_NULL = -333, -555, -444, -666
"""SMPI's MPI_UNDEFINED, MPI_ANY_SOURCE, MPI_ANY_TAG and MPI_PROC_NULL. Its tracer writes the first for both partners that are none."""

SIZES = (
    *(8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8),
    *(8, 16, 16, 8, 8, 8, 16, 16, 4, 4, 8, 16, 8, 16, 16, 4, 2, 4, 8, 16, 32, 1, 8, 16, 32, 0, 0, 1, 8, 8),
)
"""Bytes of the datatypes 0, 1, ... (smpi_datatype.cpp, x86-64)."""


@dataclasses.dataclass
class Action:
    """One distinct line."""

    rank: int
    op: int = NONE
    """Row of operations.OPS, -1: no call."""
    does: int = NO_CALL
    source: int = NONE
    """Sender of a message, as a rank; of a wait too."""
    target: int = NONE
    tag: int = NONE
    other_source: int = NONE
    """Whom an exchange receives from."""
    root: int = NONE
    sent: int = 0
    """Bytes."""
    received: int = 0
    collective: bool = False
    flops: float = 0.0
    """Computed: in the time of the action itself, or behind a reduction."""
    seconds: float = 0.0
    site: str = ""
    """Where the next call is made."""


class Line:
    """The tokens of one line, and what is wrong with them."""

    def __init__(self, place: str, text: bytes, ranks: int, default: int) -> None:
        """`place` is `file:line`, `ranks` how many processes there are, `default` the bytes of an element of no datatype."""
        self.place, self.ranks, self.default = place, ranks, default
        self.tokens = text.decode("ascii", "backslashreplace").split()

    def refusal(self, what: str, must: str) -> TraceError:
        """Return the error of this line."""
        return TraceError(f"{self.place}: {what}, must {must}")

    def number(self, k: int, what: str, most: float = _LARGEST) -> float:
        """Return the k-th token as a number from 0 on."""
        text = self.tokens[k]
        try:
            value = float(text) if text.isascii() and "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not 0 <= value <= most:
            raise self.refusal(f"{self.tokens[1]} of '{shown(text, 20)}' {what}", f"be a number from 0 to {most:g}")
        return value

    def whole(self, k: int, what: str, least: int, most: int) -> int:
        """Return the k-th token as a whole number."""
        text = self.tokens[k]
        digits = text.removeprefix("-")
        value = int(text) if digits.isascii() and digits.isdigit() and len(digits) < 20 else least - 1
        if not least <= value <= most:
            raise self.refusal(f"{self.tokens[1]} with {what} '{shown(text, 20)}'", f"be a whole number from {least} to {most}")
        return value

    def rank(self, k: int, what: str) -> int:
        """Return the k-th token as a rank."""
        return self.whole(k, what, 0, self.ranks - 1)

    def partner(self, k: int, what: str, nobody: int) -> int:
        """Return the k-th token as a rank; -1 for nobody, -2 for anybody. MPI_UNDEFINED may be both: `nobody` says which."""
        special = {str(_UNDEFINED): nobody, str(_ANY_SOURCE): ANY, str(_PROC_NULL): NONE}
        found = special.get(self.tokens[k])
        return self.rank(k, what) if found is None else found

    def tag(self, k: int) -> int:
        """Return the k-th token as a tag, -2 for any."""
        return ANY if self.tokens[k] == str(_ANY_TAG) else self.whole(k, "tag", -(1 << 31), _MOST_TAG)

    def element(self, k: int) -> int:
        """Return the bytes of the datatype that the k-th token is; those of the default where there is none."""
        if k >= len(self.tokens):
            return self.default
        return SIZES[self.whole(k, "datatype", 0, len(SIZES) - 1)]

    def bytes(self, k: int, element: int, what: str = "elements") -> int:
        """Return the k-th token, elements of a datatype, as bytes."""
        return int(self.number(k, what, _MOST_BYTES // 32)) * element

    def sum(self, first: int, count: int, element: int) -> int:
        """Return the bytes of as many counts."""
        total = sum(self.bytes(k, element) for k in range(first, first + count))
        if total > _MOST_BYTES:
            raise self.refusal(f"{self.tokens[1]} of {total} bytes", f"be at most {_MOST_BYTES}")
        return total


_Reader = Callable[[Line, Action], None]


def _nothing(line: Line, action: Action) -> None:
    """Take nothing from the arguments."""


def _compute(line: Line, action: Action) -> None:
    action.flops = line.number(2, "flops")


def _sleep(line: Line, action: Action) -> None:
    action.seconds = line.number(2, "seconds", 1e9)


def _location(line: Line, action: Action) -> None:
    action.site = f"{shown(line.tokens[2])}:{line.whole(3, 'line', 0, 1 << 31)}"


def _send(line: Line, action: Action) -> None:
    action.source, action.target = action.rank, line.partner(2, "receiver", NONE)
    action.tag, action.sent = line.tag(3), line.bytes(4, line.element(5))


def _receive(line: Line, action: Action) -> None:
    action.source, action.target = line.partner(2, "sender", ANY), action.rank
    action.tag = line.tag(3)
    unknown = line.tokens[4].startswith("-")
    action.received = 0 if unknown else line.bytes(4, line.element(5))


def _request(line: Line, action: Action) -> None:
    action.source, action.target = line.partner(2, "sender", ANY), line.partner(3, "receiver", NONE)
    action.tag = line.tag(4)


def _exchange(line: Line, action: Action) -> None:
    action.source, action.target, action.tag = action.rank, line.partner(3, "receiver", NONE), 0
    action.other_source = line.partner(5, "sender", ANY)
    action.sent, action.received = line.bytes(2, line.element(6)), line.bytes(4, line.element(7))


def _bcast(line: Line, action: Action) -> None:
    action.root = line.rank(3, "root") if len(line.tokens) > 3 else 0
    moved = line.bytes(2, line.element(4))
    action.sent, action.received = (moved, 0) if action.rank == action.root else (0, moved)


def _reduce(line: Line, action: Action) -> None:
    action.root = line.rank(4, "root") if len(line.tokens) > 4 else 0
    moved = line.bytes(2, line.element(5))
    action.sent, action.received = (0, moved) if action.rank == action.root else (moved, 0)
    action.flops = line.number(3, "flops")


def _allreduce(line: Line, action: Action) -> None:
    action.sent = action.received = line.bytes(2, line.element(4))
    action.flops = line.number(3, "flops")


def _alltoall(line: Line, action: Action) -> None:
    action.sent = line.bytes(2, line.element(4)) * line.ranks
    action.received = line.bytes(3, line.element(5)) * line.ranks


def _allgather(line: Line, action: Action) -> None:
    action.sent = line.bytes(2, line.element(4))
    action.received = line.bytes(3, line.element(5)) * line.ranks


def _gather(line: Line, action: Action) -> None:
    action.root = line.rank(4, "root") if len(line.tokens) > 4 else 0
    action.sent = line.bytes(2, line.element(5))
    action.received = line.bytes(3, line.element(6)) * line.ranks if action.rank == action.root else 0


def _scatter(line: Line, action: Action) -> None:
    action.root = line.rank(4, "root") if len(line.tokens) > 4 else 0
    action.sent = line.bytes(2, line.element(5)) * line.ranks if action.rank == action.root else 0
    action.received = line.bytes(3, line.element(6))


def _gatherv(line: Line, action: Action) -> None:
    behind = 3 + line.ranks
    action.root = line.rank(behind, "root") if len(line.tokens) > behind else 0
    action.sent = line.bytes(2, line.element(behind + 1))
    action.received = line.sum(3, line.ranks, line.element(behind + 2)) if action.rank == action.root else 0


def _scatterv(line: Line, action: Action) -> None:
    behind = 3 + line.ranks
    action.root = line.rank(behind, "root") if len(line.tokens) > behind else 0
    action.sent = line.sum(2, line.ranks, line.element(behind + 1)) if action.rank == action.root else 0
    action.received = line.bytes(2 + line.ranks, line.element(behind + 2))


def _allgatherv(line: Line, action: Action) -> None:
    behind = 3 + line.ranks
    action.sent, action.received = line.bytes(2, line.element(behind)), line.sum(3, line.ranks, line.element(behind + 1))


def _alltoallv(line: Line, action: Action) -> None:
    behind = 4 + 2 * line.ranks
    action.sent = line.sum(3, line.ranks, line.element(behind))
    action.received = line.sum(4 + line.ranks, line.ranks, line.element(behind + 1))


def _reducescatter(line: Line, action: Action) -> None:
    element = line.element(3 + line.ranks)
    action.sent, action.received = line.sum(2, line.ranks, element), line.bytes(2 + action.rank, element)
    action.flops = line.number(2 + line.ranks, "flops")


@dataclasses.dataclass(frozen=True)
class _Kind:
    """An action: the routine it is, the arguments it needs at least, and how they are read."""

    routine: str
    arguments: int
    read: _Reader
    does: int = OTHER
    per_rank: int = 0
    """Of the arguments needed, how many there are for every process."""


_KINDS = {
    "init": _Kind("MPI_Init", 0, _nothing),
    "finalize": _Kind("MPI_Finalize", 0, _nothing),
    "compute": _Kind("", 1, _compute, NO_CALL),
    "sleep": _Kind("", 1, _sleep, NO_CALL),
    "location": _Kind("", 2, _location, NO_CALL),
    "comm_size": _Kind("MPI_Comm_size", 0, _nothing),
    "comm_split": _Kind("MPI_Comm_split", 0, _nothing),
    "comm_dup": _Kind("MPI_Comm_dup", 0, _nothing),
    "send": _Kind("MPI_Send", 3, _send),
    "ssend": _Kind("MPI_Ssend", 3, _send),
    "bsend": _Kind("MPI_Bsend", 3, _send),
    "isend": _Kind("MPI_Isend", 3, _send, POSTS),
    "issend": _Kind("MPI_Issend", 3, _send, POSTS),
    "ibsend": _Kind("MPI_Ibsend", 3, _send, POSTS),
    "recv": _Kind("MPI_Recv", 3, _receive),
    "irecv": _Kind("MPI_Irecv", 3, _receive, POSTS),
    "wait": _Kind("MPI_Wait", 3, _request, WAITS),
    "test": _Kind("MPI_Test", 3, _request, TESTS),
    "waitall": _Kind("MPI_Waitall", 0, _nothing, WAITS_ALL),
    "sendrecv": _Kind("MPI_Sendrecv", 4, _exchange),
    "barrier": _Kind("MPI_Barrier", 0, _nothing),
    "bcast": _Kind("MPI_Bcast", 1, _bcast),
    "reduce": _Kind("MPI_Reduce", 2, _reduce),
    "allreduce": _Kind("MPI_Allreduce", 2, _allreduce),
    "alltoall": _Kind("MPI_Alltoall", 2, _alltoall),
    "alltoallv": _Kind("MPI_Alltoallv", 2, _alltoallv, per_rank=2),
    "allgather": _Kind("MPI_Allgather", 2, _allgather),
    "allgatherv": _Kind("MPI_Allgatherv", 1, _allgatherv, per_rank=1),
    "gather": _Kind("MPI_Gather", 2, _gather),
    "gatherv": _Kind("MPI_Gatherv", 1, _gatherv, per_rank=1),
    "scatter": _Kind("MPI_Scatter", 2, _scatter),
    "scatterv": _Kind("MPI_Scatterv", 1, _scatterv, per_rank=1),
    "reducescatter": _Kind("MPI_Reduce_scatter", 1, _reducescatter, per_rank=1),
    "scan": _Kind("MPI_Scan", 2, _allreduce),
    "exscan": _Kind("MPI_Exscan", 2, _allreduce),
}
_NOT_OF_ALL = {"MPI_Init", "MPI_Finalize", "MPI_Comm_size", "MPI_Comm_split", "MPI_Comm_dup"}
"""Routines without a communicator: SimGrid's replay lets them wait for nobody."""


def is_action(word: str) -> bool:
    """Return whether a word is the name of an action."""
    return word.lower() in _KINDS


def action(line: Line, rank: int) -> Action:
    """Return what a line says. Raises TraceError naming the place, what is there and what must be."""
    word = line.tokens[1] if len(line.tokens) > 1 else ""
    kind = _KINDS.get(word.lower())
    if kind is None:
        raise line.refusal(f"'{shown(word, 20)}'", f"be an action: {', '.join(_KINDS)}")
    needed = kind.arguments + kind.per_rank * line.ranks
    if len(line.tokens) - 2 < needed:
        raise line.refusal(f"{word} with {len(line.tokens) - 2} arguments", f"have at least {needed}")
    op = operations.OP[kind.routine] if kind.routine else NONE
    out = Action(rank, op, kind.does)
    out.collective = bool(kind.routine) and bool(operations.COLLECTIVE[op]) and kind.routine not in _NOT_OF_ALL
    kind.read(line, out)
    return out
