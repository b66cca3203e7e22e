"""Whether a program changed otherwise than asked, by hand. Times in ns."""

from __future__ import annotations

import pytest

from build import Builder, hand_model
from perwiz.report.compare.document import document
from perwiz.report.compare.text import text
from perwiz.whatif.compare.compare import compare
from perwiz.whatif.compare.reasons import reasons
from perwiz.whatif.compare.unasked import Unasked, unasked


def run(solve, write, path="before.alog"):
    """Return a run in which rank 1 solves and writes, for so long, and rank 0 each for 100; then both meet."""
    b = Builder(2, work=0)
    for rank in (0, 1):
        for region, length in (("solve", solve), ("write", write)):
            with b.region(rank, region):
                b.compute(rank, length if rank else 100)
    b.barrier()
    return b.trace(path)


BEFORE = run(600, 400)


def found(asked, after):
    comparison = compare(BEFORE, after, None, asked, hand_model(), "none")
    return comparison, unasked(comparison, BEFORE, after, hand_model(), "none")


@pytest.mark.parametrize(
    ("asked", "after", "other"),
    [
        ("scale solve=0.5", run(300, 400), None),
        ("scale solve=0.5", run(320, 400), None),
        ("scale solve=0.5", run(600, 400), Unasked("solve", 1, 600, 300, 600)),
        ("scale solve=0.5", run(600, 50), Unasked("write", 1, 400, 400, 50)),
        ("scale solve=0.9", run(600, 100), Unasked("write", 1, 400, 400, 100)),
        ("scale solve=0.9", run(540, 800), Unasked("write", 1, 400, 400, 800)),
        ("scale solve=0.5", run(450, 400), None),
        ((), run(600, 100), None),
    ],
)
def test_where(asked, after, other):
    """Asked of solve: it became so, nearly so, or not at all, or write changed. Half of what was asked for is neither."""
    assert found(asked, after)[1] == other


@pytest.mark.parametrize(
    ("asked", "after", "said"),
    [
        (
            "scale solve=0.9",
            run(600, 100),
            "changed elsewhere: {write} takes 100 ns, recorded 400 ns, and the question leaves it at 400 ns",
        ),
        ("scale solve=0.5", run(600, 400), "did not change so: {solve} takes 600 ns, recorded 600 ns, and the question makes it 300 ns"),
    ],
)
def test_text__says_so_first(asked, after, said):
    comparison, other = found(asked, after)
    shown = text(document(comparison, reasons(comparison, hand_model()), 5, other=other))
    where = {region: f"computation in {region} on rank 1" for region in ("solve", "write")}
    assert " ".join(shown.partition("\n\n")[2].split()).startswith(f"not as asked the program {said.format(**where)} predicted ")
