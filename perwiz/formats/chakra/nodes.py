"""The nodes of all ranks as columns."""

from __future__ import annotations

import dataclasses
import os
from functools import partial
from typing import Any

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.chakra import files
from perwiz.formats.source import content
from perwiz.kernels import chakra, chakra_nodes
from perwiz.trace.arrays import I4, I8
from perwiz.trace.resources import at_once
from perwiz.words import several

_LARGEST, _WHAT = 1 << 34, "a Chakra execution trace"
_NODE = 40
"""Bytes of a node, about: so many make a thread worth it."""
_MOST = {"start": 1 << 52, "duration": 1 << 40, "amount": 1 << 50, "source": 1 << 24, "target": 1 << 24, "tag": (1 << 30) - 1}
"""us, bytes and ranks, at most."""
_NAMES = {"start": "start_time_micros", "duration": "duration_micros", "amount": "comm_size"}
_NAMES |= {"source": "comm_src", "target": "comm_dst", "tag": "comm_tag"}
_KEYS = b"".join(chakra.KEYS)
_ENDS: I8 = np.cumsum([len(key) for key in chakra.KEYS])


@dataclasses.dataclass
class File:
    """The nodes of a rank, in the order of their numbers."""

    rank: int
    path: str
    bytes: bytes
    rows: np.recarray
    """Of chakra.NODE."""
    op: I8
    """Per dependence the node that needs, a row,"""
    on: I8
    """and the one that it needs."""
    absent: int
    """Dependences on nodes that the file does not have."""
    bad: int
    """Nodes that cannot be read."""
    cut: bool
    """Whether it ends in the middle."""

    def texts(self, begin: I8, length: I8) -> tuple[list[str], I4]:
        """Return the different texts at some places, and which of them each is."""
        number: dict[bytes, int] = {}
        spans = zip(begin.tolist(), length.tolist(), strict=True)
        which = np.fromiter((number.setdefault(self.bytes[at : at + size], len(number)) for at, size in spans), "i4", len(begin))
        return [text.decode("utf-8", "replace") for text in number], which


def read(path: str) -> list[File]:
    """Return the nodes of all ranks that a name stands for. Raises TraceError."""
    named = files.ranks(path)
    sizes = sum(os.path.getsize(file) for _, file in named if os.path.isfile(file))
    found = at_once([partial(_file, rank, file) for rank, file in named], sizes // _NODE)
    if not sum(len(one.rows) for one in found):
        raise TraceError(f"{named[0][1] if len(named) == 1 else path}: no node, must have some")
    return found


def _parsed(text: bytes, nodes: int, needs: int) -> tuple[Any, Any, Any]:
    """Return the state behind a file, its first nodes, one row more, and its first dependences."""
    state = np.zeros(1, chakra.STATE).view(np.recarray)
    rows, before = np.zeros(nodes + 1, chakra.NODE).view(np.recarray), np.zeros(needs, chakra.NEED).view(np.recarray)
    chakra_nodes.parse(text, _KEYS, _ENDS, state, rows, before)
    return state[0], rows, before


def _file(rank: int, path: str) -> File:
    text = content(path, _LARGEST, _WHAT)
    state, _, _ = _parsed(text, 0, 0)
    state, rows, before = _parsed(text, int(state.nodes), int(state.needs))
    rows = rows[:-1]
    for name, most in _MOST.items():
        wrong = np.flatnonzero(rows[name] > most)
        if len(wrong):
            k = wrong[0]
            raise TraceError(f"{path}: node {rows.id[k]} has {_NAMES[name]} {rows[name][k]}, must be at most {most}")
    order = np.argsort(rows.id, kind="stable")
    rows, row = rows[order], np.empty(len(order), "i8")
    row[order] = np.arange(len(order))
    ids = rows.id
    twice = np.flatnonzero(ids[1:] == ids[:-1])
    if len(twice):
        raise TraceError(f"{path}: node {ids[twice[0]]} is there twice, must be once")
    place = np.searchsorted(ids, before.id)
    known = (place < len(ids)) & (np.append(ids, 0)[place] == before.id)
    op, on = row[before.row[known]], place[known].astype("i8")
    return File(rank, path, text, rows, op, on, int((~known).sum()), int(state.bad), bool(state.cut))


def faults(found: list[File]) -> list[str]:
    """Return in words what is wrong with files."""
    out = []
    for one in found:
        if one.cut:
            out.append(f"{one.path}: ends in the middle: read as far as it goes")
        if one.bad:
            out.append(f"{one.path}: {several(one.bad, 'node')} that cannot be read: left out")
    return out
