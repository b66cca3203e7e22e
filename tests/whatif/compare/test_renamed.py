"""Regions that two runs call otherwise, as lines of the source and numbers of outlined code shift."""

from __future__ import annotations

import pytest

from build import Builder
from perwiz.whatif.compare.compare import compare
from perwiz.whatif.compare.reasons import reasons
from perwiz.whatif.compare.renamed import renamed


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (["main", "parallel @a.c:10"], ["main", "parallel @a.c:10"], {}),
        (["parallel @a.c:10", "for @a.c:12"], ["for @a.c:17", "parallel @a.c:15"], {"@a.c:15": "@a.c:10", "@a.c:17": "@a.c:12"}),
        # As many: their order says which is which, though one name is in both.
        (["loop @a.c:10", "loop @a.c:20"], ["loop @a.c:20", "loop @a.c:30"], {"@a.c:20": "@a.c:10", "@a.c:30": "@a.c:20"}),
        # One more: what both have stays, and neighbours tell the others.
        (
            ["parallel @a.c:10", "for @a.c:12", "parallel @a.c:30"],
            ["parallel @a.c:15", "for @a.c:17", "for @a.c:25", "parallel @a.c:30"],
            {"@a.c:15": "@a.c:10", "@a.c:17": "@a.c:12"},
        ),
        (["loop @a.c:10"], ["loop @b.c:10"], {}),
        (["loop @a.c:10"], ["task @a.c:12"], {}),
        (["step2"], ["step3"], {}),
        (["omp for .omp_outlined..1"], ["omp for .omp_outlined."], {".omp_outlined.": ".omp_outlined..1"}),
        (["main._omp_fn.0", "main._omp_fn.1"], ["main._omp_fn.1", "main._omp_fn.2"], {"fn.1": "fn.0", "fn.2": "fn.1"}),
        (["parallel@0x4021", "parallel@0x4027"], ["parallel@0x5021", "parallel@0x5030"], {"0x5021": "0x4021", "0x5030": "0x4027"}),
    ],
)
def test_which_is_which(first, second, same):
    found = {row.second: row.first for row in renamed(first, second)}
    assert len(found) == len(same)
    assert all(any(name.endswith(new) and found[name].endswith(old) for name in found) for new, old in same.items())


def loops(ns, lines):
    """Two processes compute in a loop, and wait for each other."""
    b = Builder(2, work=0)
    for rank in range(2):
        for line, length in zip(lines, ns, strict=True):
            with b.region(rank, f"loop @a.c:{line}"):
                b.compute(rank, length)
    b.barrier()
    return b.trace()


def test_because_is_of_the_same_region():
    """The second loop takes 100 less; its line is another one in the second run."""
    found = compare(loops((300, 500), (10, 20)), loops((300, 400), (13, 23)), clock="none")
    assert [(row.second, row.first) for row in found.renamed] == [("loop @a.c:13", "loop @a.c:10"), ("loop @a.c:23", "loop @a.c:20")]
    told = {(row.what.region, row.first, row.second) for row in reasons(found).places}
    assert told == {("loop @a.c:20", 500, 400), ("loop @a.c:10", 300, 300)}
    assert found.alignment.path_names == (("loop @a.c:10",), ("loop @a.c:20",))
