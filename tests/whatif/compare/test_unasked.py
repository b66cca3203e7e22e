"""Whether a program changed otherwise than asked, by hand. Times in ns."""

from __future__ import annotations

import dataclasses

import pytest

from build import Builder, hand_model
from perwiz.report.compare import records
from perwiz.report.compare.document import document
from perwiz.report.compare.text import otherwise, text
from perwiz.trace.trace import SHARED
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


def served(own):
    """Return a run in which rank 0 prepares 100 for each of the others, in `prepare`, and sends it; or each its own."""
    b = Builder(3, work=0)
    for rank in (1, 2):
        with b.region(rank if own else 0, "prepare"):
            b.compute(rank if own else 0, 100)
        if not own:
            b.send(0, rank)
            b.recv(rank, 0)
    b.barrier()
    return b.trace()


def test_where__not_of_what_is_handed_to_others():
    """What each then prepares itself is in `prepare` of the measured run, and behind its receive in the predicted one."""
    before, after = served(False), served(True)
    for asked, other in (("distribute op:MPI_Send", None), ("network L_ns=0", Unasked("prepare", 0, 200, 200, 0))):
        comparison = compare(before, after, None, asked, hand_model(), "none")
        longer = dataclasses.replace(comparison, first=dataclasses.replace(comparison.first, stop=comparison.second.stop + 100))
        assert unasked(longer, before, after, hand_model(), "none") == other


@pytest.mark.parametrize("shared", [0, 1])
def test_where__processors_were_shared(shared):
    """In either run: then nobody knows whether the program changed."""
    runs = [BEFORE, run(600, 50)]
    runs[shared] = dataclasses.replace(runs[shared], properties={SHARED: "2 processes shared 1 processor of node a"})
    comparison = compare(*runs, None, "scale solve=0.5", hand_model(), "none")
    assert unasked(comparison, *runs, hand_model(), "none") == Unasked("write", 1, 400, 400, 50, chance=True)


def varying(*write, solve=1000):
    """Return a run in which rank 1 solves, and writes for so long before each of its barriers."""
    b = Builder(2, work=0)
    with b.region(1, "solve"):
        b.compute(1, solve)
    for length in write:
        with b.region(1, "write"):
            b.compute(1, length)
        b.barrier()
    return b.trace()


@pytest.mark.parametrize(("more", "chance"), [(1066, True), (1067, False)])
def test_where__within_what_it_varies(more, chance):
    """Between barriers it writes for 100, 200, 600: squares 40000 + 10000 + 90000 off the mean, so the sum has the variance 3 * 70000, and
    nine of ten differences lie within 1.645 sqrt(420000) = 1066.08. What it writes before the first barrier is another thing: 5000 once.
    """
    before, after = varying(5000, 100, 200, 600), varying(5000, 100, 200, 600 + more, solve=900)
    comparison = compare(before, after, None, "scale solve=0.9", hand_model(), "none")
    assert unasked(comparison, before, after, hand_model(), "none") == Unasked("write", 1, 5900, 5900, 5900 + more, chance=chance)


@pytest.mark.parametrize(
    ("chance", "changed", "said"),
    [
        (False, True, "the program changed elsewhere: {}leaves it at 9 ns"),
        (False, False, "the program did not change so: {}makes it 9 ns"),
        (True, True, "{}leaves it at 9 ns: the program changed there, or another program had the processor"),
        (True, False, "{}makes it 9 ns: the program did not change so, or another program had the processor"),
    ],
)
def test_otherwise(chance, changed, said):
    told = "computation in a on rank 1 takes 5 ns, recorded 8 ns, and the question "
    assert otherwise(records.Unasked(1, 0, "a", 8, 9, 5, changed, chance)) == said.format(told)


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
