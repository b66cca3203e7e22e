"""What collectives cost on a machine: a routine among so many processes, from so many bytes on, as found in recorded instances.

In a model file each is a table [[collectives]], every key mandatory. What no table says costs the likely algorithm of `rounds.py`.
"""

from __future__ import annotations

import dataclasses
import itertools
import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from perwiz.errors import ModelError
from perwiz.trace import operations
from perwiz.trace.arrays import F8, I8, U1, U2

ALL, ROOT, OTHERS = range(3)
"""Rows of MEMBERS."""
MEMBERS = ("all", "root", "others")
"""Whose cost it is: where a root is known, it and the others each have their own."""
KEYS = ("routine", "processes", "members", "from_bytes", "first_ns", "ns_per_byte")
"""Keys of a table [[collectives]]."""
_LARGEST = 1e12
_WIDE = 40
"""Bits that hold any number of bytes."""


@dataclasses.dataclass(frozen=True)
class CollectiveCost:
    """From the last entry that a member needs to its exit: `first_ns` at `from_bytes`, and `ns_per_byte` for each byte beyond.

    It holds up to the `from_bytes` of the next row of that routine, those processes and members; below the first row it is `first_ns`.
    Bytes are those of `instances.Parts.size`. Raises ModelError.
    """

    routine: str
    processes: int
    members: str
    from_bytes: int
    first_ns: float
    ns_per_byte: float

    def __post_init__(self) -> None:
        if not isinstance(self.routine, str) or not operations.COLLECTIVE[operations.OP.get(self.routine, 0)]:
            raise ModelError(f"routine is {str(self.routine)[:40]!r}, must be a collective such as 'MPI_Allreduce'")
        if self.members not in MEMBERS:
            raise ModelError(f"members is {str(self.members)[:40]!r}, must be {' or '.join(map(repr, MEMBERS))}")
        for key, least in (("processes", 1), ("from_bytes", 0)):
            value = getattr(self, key)
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _LARGEST:
                raise ModelError(f"{key} is {str(value)[:40]!r}, must be a whole number from {least} to {_LARGEST:g}")
        for key in ("first_ns", "ns_per_byte"):
            value = getattr(self, key)
            if not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0 <= float(value) <= _LARGEST:
                raise ModelError(f"{key} is {str(value)[:40]!r}, must be a number from 0 to {_LARGEST:g}")
            object.__setattr__(self, key, float(value))

    @property
    def place(self) -> tuple[str, int, str, int]:
        """What no two costs of a model share: routine, processes, members, from_bytes."""
        return *self.kind, self.from_bytes

    @property
    def kind(self) -> tuple[str, int, str]:
        """Whose costs make one curve over sizes: routine, processes, members."""
        return self.routine, self.processes, self.members

    def __str__(self) -> str:
        whose = {"all": "", "root": ", its root", "others": ", all but its root"}[self.members]
        return f"{self.routine} of {self.processes} processes{whose}, from {self.from_bytes} bytes"


def checked(costs: Iterable[CollectiveCost]) -> tuple[CollectiveCost, ...]:
    """Return costs in the order of routine, processes, members and bytes. Raises ModelError if two are of the same place."""
    out = tuple(sorted(costs, key=lambda cost: cost.place))
    for one, other in itertools.pairwise(out):
        if one.place == other.place:
            raise ModelError(f"collectives has {one} twice, must have it once")
    return out


def parsed(tables: Any) -> tuple[CollectiveCost, ...]:
    """Return the costs that the tables [[collectives]] of a parsed model file say. Raises ModelError."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ModelError(f"collectives is {str(tables)[:40]!r}, must be tables [[collectives]]")
    costs = []
    for number, table in enumerate(tables, start=1):
        if sorted(table) != sorted(KEYS):
            raise ModelError(f"[[collectives]] {number} has {', '.join(sorted(table)) or 'nothing'}, must have {', '.join(KEYS)}")
        try:
            costs.append(CollectiveCost(**table))
        except ModelError as error:
            raise ModelError(f"[[collectives]] {number}: {error}") from None
    return checked(costs)


def written(costs: Sequence[CollectiveCost]) -> list[str]:
    """Return the lines of a model file that say these costs."""
    lines = []
    for cost in costs:
        lines += ["", "[[collectives]]", f'routine = "{cost.routine}"', f"processes = {cost.processes}", f'members = "{cost.members}"']
        lines += [f"from_bytes = {cost.from_bytes}", f"first_ns = {cost.first_ns!r}", f"ns_per_byte = {cost.ns_per_byte!r}"]
    return lines


def found(costs: Sequence[CollectiveCost], op: U2, processes: I8, members: U1, size: I8) -> F8:
    """Return the ns that costs say, per row of routine (row of OPS), processes, members (row of MEMBERS) and bytes; nan where none does."""
    out = np.full(len(op), np.nan)
    if not costs:
        return out
    kinds = [_kind(operations.OP[cost.routine], cost.processes, MEMBERS.index(cost.members)) for cost in costs]
    known, kind = np.unique(np.array(kinds, "i8"), return_inverse=True)
    from_bytes, first, slope = (np.array([getattr(cost, key) for cost in costs]) for key in ("from_bytes", "first_ns", "ns_per_byte"))
    order = np.lexsort((from_bytes, kind))
    key = (kind.astype("i8")[order] << _WIDE) + from_bytes[order]
    asked = _kind(np.asarray(op, "i8"), processes, np.asarray(members, "i8"))
    at = np.searchsorted(known, asked)
    rows = np.flatnonzero(known[np.minimum(at, len(known) - 1)] == asked)
    begin = np.searchsorted(key, at[rows] << _WIDE)
    row = order[np.maximum(begin, np.searchsorted(key, (at[rows] << _WIDE) + np.minimum(size[rows], int(_LARGEST)), "right") - 1)]
    out[rows] = first[row] + slope[row] * np.maximum(size[rows] - from_bytes[row], 0)
    return out


def _kind(op: Any, processes: Any, members: Any) -> Any:
    return (op << 50) + (processes << 2) + members
