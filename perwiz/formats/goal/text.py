"""GOAL text to a schedule: `num_ranks N`, a block `rank R { ... }` for each, a statement per line. Numbers are unsigned, times ns."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.format import Progress
from perwiz.formats.goal.schedule import CALC, MOST_RANKS, MOST_SIZE, MOST_TAG, MOST_UNIT, Schedule, in_order
from perwiz.formats.source import padded
from perwiz.kernels import goal_labels, goal_lines
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.resources import at_once, map_threads, thread_count
from perwiz.trace.tables import NONE
from perwiz.words import shown

_BATCH, _PAD = 1 << 15, b"\n\n\n"
_LINE = 24
"""Bytes of a line, about."""
_PIECE = 1 << 22
"""Bytes of a piece whose labels are looked up in a table that stays in the cache."""
_MOST = 1 << 34
WHAT = "a schedule in GOAL"
_MUST = {
    goal_lines.STATEMENT: "be num_ranks, rank, calc, send, recv, a label or }",
    goal_lines.NUMBER: "be a whole number of at most 18 digits",
    goal_lines.BYTE_MARK: "be the b of bytes",
    goal_lines.DIRECTION: "be to, of a recv from",
    goal_lines.PEER: "be a rank, of a recv also -1",
    goal_lines.OPTION: "be tag, cpu, nic or the end of the line",
    goal_lines.LABEL: "be a label",
    goal_lines.BRACE: "be {",
    goal_lines.BLOCK: "be in a block rank N { }",
    goal_lines.CLOSED: "be behind the } of the block before it",
    goal_lines.COMMENT: "end with */",
}
_HEAD = re.compile(rb"(?:\s|//.*\n|/\*(?s:.*?)\*/)*num_ranks\s+(\d{1,18})")
_COLUMNS = ("kind", "rank", "size", "peer", "tag", "cpu", "nic", "starts")
"""Of operations and of dependences, as they are."""


def is_text(head: bytes) -> bool:
    """Return whether a file that begins so is a schedule as text."""
    return bool(_HEAD.match(head))


class _Text:
    """The text of a schedule and its places."""

    def __init__(self, path: str) -> None:
        self.path, self.bytes = path, padded(path, _MOST, WHAT, _PAD)
        self.length = len(self.bytes) - len(_PAD)
        self.array = np.frombuffer(self.bytes, "u1")

    def refusal(self, place: int, what: str, must: str) -> TraceError:
        """Return the error of a place."""
        line = self.bytes[: min(place, self.length)].count(b"\n") + 1
        return TraceError(f"{self.path}:{line}: {what}, must {must}")

    def word(self, place: int) -> str:
        """Return what stands at a place, in quotes."""
        if place >= self.length:
            return "the end of the file"
        found = re.compile(rb"\w+|[^\s]|").match(self.bytes, place)
        word = found[0] if found else b""
        return f"'{shown(word.decode('latin-1'), 20)}'" if word else "the end of the line"

    def cuts(self, pieces: int) -> list[int]:
        """Return the line ends behind blocks where the text is cut into at most so many pieces alike, and its ends.

        If a comment or a block goes on behind a cut, reading the piece before it says so: the end of a block in a comment is none.
        """
        near = (self.bytes.find(b"}", piece * self.length // pieces) for piece in range(1, pieces))
        cuts = {self.bytes.find(b"\n", end) for end in near if end > 0}
        return sorted({0, self.length, *(cut for cut in cuts if 0 < cut < self.length)})


def read(path: str, progress: Progress | None = None) -> Schedule:
    """Return the schedule in a file of text, plain or packed. Raises TraceError naming the line, what is there and what must be."""
    pieces = _pieces(path, progress)  # the text is not needed any more
    first = np.cumsum([0, *(len(piece.columns["kind"]) for piece in pieces)], dtype="i4")

    def behind(name: str) -> I4:
        return np.concatenate([getattr(piece, name) + row for piece, row in zip(pieces, first, strict=False)])

    def joined(name: str) -> Any:
        return np.concatenate([piece.columns.pop(name) for piece in pieces])

    tasks = (*(partial(behind, name) for name in ("op", "on")), *(partial(joined, name) for name in _COLUMNS))
    op, on, *columns = at_once(tasks, int(first[-1]))
    return in_order(Schedule(path=path, ranks=pieces[0].ranks, op=op, on=on, **dict(zip(_COLUMNS, columns, strict=True))))


def _pieces(path: str, progress: Progress | None) -> list[_Piece]:
    """Return what the pieces of a file hold, which have a block of each rank together."""
    text, done, lock = _Text(path), [0], threading.Lock()

    def tell(more: int) -> None:
        with lock:
            done[0] += more
            if progress:
                progress(min(done[0], text.length), text.length)

    head, cuts = _HEAD.match(text.bytes), text.cuts(text.length // _PIECE)
    if head and len(cuts) > 2:
        ranks, several = int(head[1]), min(thread_count(text.length // _LINE), len(cuts) - 1)
        try:
            pieces = map_threads(lambda ends: _Piece(text, *ends, ranks if ends[0] else NONE, tell), pairwise(cuts), several)
            if all(piece.ranks == ranks for piece in pieces):
                _check_ranks(text, pieces)
                return pieces
        except TraceError:
            pass  # what is wrong first is told where the text is read as one
    pieces = [_Piece(text, 0, text.length, NONE, tell)]
    _check_ranks(text, pieces)
    return pieces


class _Piece:
    """Blocks of the text, and what opens them: operations, and dependences between them by row."""

    def __init__(self, text: _Text, begin: int, end: int, ranks: int, tell: Callable[[int], None]) -> None:
        """`ranks` is what num_ranks says before it, -1 nothing."""
        scan = np.array([(begin, end, NONE, 0, ranks)], goal_lines.SCAN).view(np.recarray)
        words = np.frombuffer(goal_lines.KEYWORDS, "u1")
        rows, parts = np.empty(_BATCH, goal_lines.ROW).view(np.recarray), list[_Part]()
        count, at = _BATCH, begin
        while count == _BATCH:
            count, before = goal_lines.parse(text.array, words, scan, rows), at
            at = int(scan[0].at)
            parts.append(_Part(text, rows[:count], int(scan[0].ranks)))
            if scan[0].wanted:
                raise text.refusal(at, text.word(at), _MUST[int(scan[0].wanted)])
            tell(at - before)
        if scan[0].rank >= 0:
            raise text.refusal(at, f"the block of rank {scan[0].rank} is open", "end with }")
        self.ranks = int(scan[0].ranks)
        self.opened = [opened for part in parts for opened in part.opened]
        self.columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS}
        label, *needs = (np.concatenate([getattr(part, name) for part in parts]) for name in ("label", "of", "op", "on"))
        self.op, self.on = _resolved(text, self.columns["rank"], label, *needs)


class _Part:
    """Some statements: operations and dependences, columns checked for their ranges."""

    def __init__(self, text: _Text, rows: Any, ranks: int) -> None:
        def refuse(bad: Mask, column: str, what: str, must: str) -> None:
            if bad.any():
                row = rows[int(np.argmax(bad))]
                raise text.refusal(int(row.place), f"{what} {row[column]}", f"be {must}")

        opens = rows.kind == goal_lines.RANK
        if len(rows) and ranks < 0:
            raise text.refusal(int(rows.place[0]), text.word(int(rows.place[0])), "be behind num_ranks")
        refuse(opens & (rows.amount >= ranks), "amount", "rank", f"less than num_ranks, {ranks}")
        ops = (rows.kind > 0) & (rows.kind <= CALC)
        refuse(ops & (rows.amount > MOST_SIZE), "amount", "size", f"at most {MOST_SIZE}")
        refuse(ops & (rows.peer >= ranks), "peer", "partner", f"less than num_ranks, {ranks}")
        refuse(ops & (rows.tag > MOST_TAG), "tag", "tag", f"at most {MOST_TAG}")
        refuse(ops & (rows.cpu > MOST_UNIT), "cpu", "cpu", f"at most {MOST_UNIT}")
        refuse(ops & (rows.nic > MOST_UNIT), "nic", "nic", f"at most {MOST_UNIT}")
        of = np.flatnonzero(ops)
        self.opened = [(int(row.amount), int(row.place)) for row in rows[opens]]
        self.rank, self.size, self.label = (rows[name][of] for name in ("rank", "amount", "label"))
        self.kind = rows.kind[of].astype("u1")
        self.peer, self.tag, self.cpu, self.nic = (rows[name][of].astype("i4") for name in ("peer", "tag", "cpu", "nic"))
        needs = np.flatnonzero(~ops & ~opens)
        self.of, self.op, self.on = (rows[name][needs] for name in ("rank", "label", "other"))
        self.starts = (rows.kind[needs] == goal_lines.IREQUIRES).astype("u1")


def _check_ranks(text: _Text, pieces: list[_Piece]) -> None:
    """Raise TraceError unless the pieces have one block of each rank."""
    ranks = pieces[0].ranks
    if not 1 <= ranks <= MOST_RANKS:
        raise text.refusal(0, f"num_ranks {ranks}" if ranks >= 0 else "no num_ranks", f"be a number from 1 to {MOST_RANKS}")
    seen: dict[int, int] = {}
    for rank, place in (opened for piece in pieces for opened in piece.opened):
        if rank in seen:
            raise text.refusal(place, f"a second block of rank {rank}", "be one block")
        seen[rank] = place
    if len(seen) < ranks:
        missing = next(rank for rank in range(ranks) if rank not in seen)
        raise TraceError(f"{text.path}: no block of rank {missing}, must have one of each of the {ranks}")


def _resolved(text: _Text, rank: I4, label: I8, of: I4, op: I8, on: I8) -> tuple[I4, I4]:
    """Return per dependence the row of the operation that needs, and of the one that is needed, given their labels' places."""
    slots = np.full(1 << (2 * len(label) + 1).bit_length(), -1, "i4")
    twice = goal_labels.number(text.array, label, rank, slots)
    if twice >= 0:
        raise text.refusal(int(label[twice]), f"label {text.word(int(label[twice]))} once more in rank {rank[twice]}", "be there once")
    out = []
    for words in (op, on):
        rows = np.empty(len(words), "i4")
        goal_labels.find(text.array, label, rank, slots, words, of, rows)
        if (rows < 0).any():
            k = int(np.argmax(rows < 0))
            raise text.refusal(int(words[k]), f"label {text.word(int(words[k]))}", f"be that of an operation of rank {of[k]}")
        out.append(rows)
    return out[0], out[1]
