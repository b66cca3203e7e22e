"""Which region of one run is which of another where names hold what shifts: lines of a source, numbers and addresses of outlined code."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Sequence

from perwiz.trace.trace import Trace

_SHIFTING = re.compile(
    r"(?P<file>[^\s@:]*\.\w{1,4}):(?P<line>\d+)"  # @halo.c:42
    r"|@0x(?P<address>[0-9a-fA-F]+)"
    r"|(?P<outlined>omp_outlined)(?:[._]|debug)*(?P<number>\d+)?"  # .omp_outlined..1 of LLVM
    r"|(?P<fn>_omp_fn)\.(?P<place>\d+)"  # main._omp_fn.0 of GCC
)


@dataclasses.dataclass(frozen=True)
class Renamed:
    """A region that two runs call otherwise."""

    first: str
    second: str


def renamed(first: Sequence[str], second: Sequence[str]) -> list[Renamed]:
    """Return which names of a second run stand for regions of the first that are called otherwise.

    What is left of names without what shifts must be equal, and their order, by file and then by line or number, says which is which:
    where as many are left in both runs all of them, else those whose names only one run has.

        first   parallel @a.c:10  for @a.c:12  parallel @a.c:30
        second  parallel @a.c:15  for @a.c:17  for @a.c:25  parallel @a.c:30    15 is 10, 17 is 12, 25 is new
    """
    sides = [sorted(filter(None, map(_shifting, dict.fromkeys(names)))) for names in (first, second)]
    forms = [[form for *_, form, _ in side] for side in sides]
    if forms[0] != forms[1]:
        both = {name for *_, name in sides[0]} & {name for *_, name in sides[1]}
        sides = [[row for row in side if row[-1] not in both] for side in sides]
        forms = [[form for *_, form, _ in side] for side in sides]
    out = []
    for block in difflib.SequenceMatcher(None, forms[0], forms[1], autojunk=False).get_matching_blocks():
        rows = zip(sides[0][block.a : block.a + block.size], sides[1][block.b : block.b + block.size], strict=True)
        out += [Renamed(one[-1], other[-1]) for one, other in rows if one[-1] != other[-1]]
    return out


def _shifting(name: str) -> tuple[str, int, str, str] | None:
    """Return (file, line or number, what is left of it, the name), by which names sort; None of a name in which nothing shifts."""
    found = _SHIFTING.search(name)
    if not found:
        return None
    number = int(found["address"], 16) if found["address"] else int(found["line"] or found["number"] or found["place"] or -1)
    left = found["file"] or found["outlined"] or found["fn"] or ""
    return found["file"] or "", number, name[: found.start()] + left + name[found.end() :], name


def under_names_of(first: Trace, second: Trace) -> tuple[Trace, list[Renamed]]:
    """Return the second trace with regions called as in the first, and which are called otherwise."""
    found = renamed(first.names, second.names)
    new = {row.second: row.first for row in found}
    return dataclasses.replace(second, names=tuple(new.get(name, name) for name in second.names)), found
