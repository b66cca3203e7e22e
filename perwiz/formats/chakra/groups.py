"""Process groups: which ranks are in them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.chakra import files
from perwiz.formats.chakra.nodes import File
from perwiz.formats.source import content
from perwiz.formats.typed import Mistyped, NoJson, parsed, typed
from perwiz.kernels import chakra
from perwiz.trace.arrays import I4
from perwiz.trace.trace import Communicators

_ALL = ("", "0")
"""Names of the group of all ranks."""
_MOST_RANK = (1 << 20) - 1
_LARGEST = 1 << 28


class Groups:
    """All groups that some rank names. Row 0 is the whole job."""

    def __init__(self, path: str, ranks: list[File]) -> None:
        self._row: dict[str, int] = dict.fromkeys(_ALL, 0)
        self.of: list[I4] = []
        """Per rank the group of each of its nodes."""
        naming: dict[int, set[int]] = {}
        for one in ranks:
            names, which = one.texts(one.rows.group, one.rows.group_length)
            row = np.array([self._row.setdefault(name, max(self._row.values()) + 1) for name in names], "i4")[which]
            row[one.rows.narrow == 1] = 0
            self.of.append(row)
            for k in np.unique(row[one.rows.type >= chakra.SENDS]).tolist():
                naming.setdefault(k, set()).add(one.rank)
        told = _told(path, ranks)
        members = {row: told.get(name, ()) for name, row in self._row.items() if row}
        self.inferred = sum(not naming.get(row, set()) <= set(listed) for row, listed in members.items())
        """Groups of those ranks that name them, as nobody tells."""
        self._members: dict[int, Sequence[int]] = {}
        for number, listed in members.items():
            self._members[number] = listed if naming.get(number, set()) <= set(listed) else sorted(naming[number])
        self.world = max([one.rank for one in ranks] + [rank for listed in self._members.values() for rank in listed]) + 1
        self._members[0] = range(self.world)

    def ranks(self, row: int) -> Sequence[int]:
        """Return the ranks of a group."""
        return self._members[row]

    def communicators(self) -> Communicators:
        """Return the groups as the communicators of a trace."""
        names = {row: name or "world" for name, row in reversed(self._row.items())}
        listed = [np.array(sorted(self._members[row]), "i4") for row in range(len(names))]
        sizes = np.cumsum([0, *map(len, listed)])
        return Communicators(tuple(names[row] for row in range(len(names))), sizes.astype("i8"), np.concatenate(listed))


def _told(path: str, ranks: list[File]) -> dict[str, tuple[int, ...]]:
    """Return the ranks of groups that nodes about the job tell, or a file beside those of a directory."""
    out: dict[str, tuple[int, ...]] = {}
    for one in ranks:
        rows = one.rows[(one.rows.type == chakra.METADATA) & (one.rows.told_length > 0)]
        for text in one.texts(rows.told, rows.told_length)[0]:
            out |= _of_node(text)
    beside = os.path.join(path, files.GROUPS)
    if not os.path.isfile(beside):
        return out
    try:
        listed = typed(parsed(content(beside, _LARGEST, "process groups").decode("utf-8", "replace")), dict[str, list[int]])
    except (NoJson, Mistyped) as error:
        raise TraceError(f"{beside}: {error}, must be the ranks of each process group by its name") from None
    for name, members in listed.items():
        if not _is_group(members):
            raise TraceError(f"{beside}: group {name}: must be different ranks from 0 to {_MOST_RANK}")
        out[name] = tuple(members)
    return out


def _of_node(text: str) -> dict[str, tuple[int, ...]]:
    """Return the groups that the inputs of a node tell, `['[{"pg_name": "1", "ranks": [0, 2]}]']`; those of others tell none."""
    try:
        listed = json.loads(text[2:-2])
        return {str(one["pg_name"]): tuple(one["ranks"]) for one in listed if one["ranks"] and _is_group(one["ranks"])}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


def _is_group(ranks: Sequence[object]) -> bool:
    return len(set(map(str, ranks))) == len(ranks) and all(type(one) is int and 0 <= one <= _MOST_RANK for one in ranks)
