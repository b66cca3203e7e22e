"""Stretches between collectives: which are there once, and what is said of them and of those that repeat, by hand."""

from __future__ import annotations

import pytest

from build import Builder, hand_model
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.stretch import segments_of
from perwiz.whatif.limits.between import asked_between, between
from perwiz.whatif.ranking.change import Asker
from perwiz.whatif.ranking.computation import balance
from perwiz.whatif.run import machine_of, replayed


def run(stretches, split=0):
    """Two ranks compute so long, ns, each in a region, up to a barrier; rank 0 in `split` pieces with a call behind each, if asked."""
    b, now = Builder(2), 0
    for name, times in stretches:
        ends = [now + time for time in times]
        for rank, (time, end) in enumerate(zip(times, ends, strict=True)):
            with b.region(rank, name, at=(now, end)):
                for piece in range(split * (rank == 0)):
                    at = now + time * (piece + 1) // split
                    b.call(rank, "Wtime", at=(at, at))
        now = max(ends) + 10
        b.barrier(at=[(end, now) for end in ends])
    return replayed(b.trace(), machine_of(hand_model(), b.trace()), "none")


STEPS = [("step", (100, 120))] * 4


def test_between__by_hand():
    """Excess over the mean: 400 of 800 and 0, then 10 of 120 and 100 four times; nothing behind the last barrier."""
    found = between(segments_of(run([("read", (800, 0)), *STEPS]).weighted))
    assert found.excess.tolist() == [400.0, *[10.0] * 4, 0.0]
    assert found.mean.tolist() == [400.0, *[110.0] * 4, 0.0]
    assert (found.once(), found.rest()) == ([0], (1, 4))


def test_between__few_do_not_tell_what_repeats():
    assert between(segments_of(run([("read", (800, 0)), ("step", (100, 120))]).weighted)).once() == []


@pytest.mark.parametrize(
    ("stretches", "asked"),
    [
        (STEPS, [("between-collectives", "most of it up to MPI_Barrier, 4 times, most in step")]),
        (
            [("read", (800, 0)), *STEPS],
            [
                ("between-collectives#1", "computation once, at the start, most in read"),
                ("between-collectives#2..5", "most of it up to MPI_Barrier, 4 times, most in step"),
            ],
        ),
        (
            [*STEPS, ("write", (300, 0))],
            [
                ("between-collectives#5", "computation once, at the end, most in write"),
                ("between-collectives#1..4", "most of it up to MPI_Barrier, 4 times, most in step"),
            ],
        ),
        (
            [*STEPS, ("check", (300, 0)), *STEPS[:2]],
            [
                ("between-collectives#5", "computation once, most in check"),
                ("between-collectives#1..4", "most of it up to MPI_Barrier, 4 times, most in step"),
            ],
        ),
    ],
)
def test_asked__once_or_again_and_again(stretches, asked):
    """The start and the end are told where little is computed before them, or behind."""
    what = "computation in each stretch between collectives of all processes: "
    found = asked_between(segments_of(run(stretches).weighted))
    assert [(text, told.removeprefix(what)) for text, told in found] == asked


def test_asked__what_is_in_pieces_is_not_once():
    """A stretch in which calls are made again and again may hold a loop: it is not told apart."""
    stretches = [("solve", (800, 0)), *STEPS]
    assert [text for text, _ in asked_between(segments_of(run(stretches, split=3).weighted))] == ["between-collectives"]


def test_asked__even_ones():
    assert asked_between(segments_of(run([("step", (100, 100))] * 3).weighted)) == [
        ("between-collectives", "computation in each stretch between collectives of all processes")
    ]


def test_balance__of_each_by_itself():
    """Read evened out saves 400 of 800; the steps 10 each."""
    asker = Asker(run([("read", (800, 0)), *STEPS]))
    found = {change.question: asker.run.makespan - change.makespan for change in balance(asker) if change.by == "stretch"}
    assert found == {"balance-time between-collectives#1": 400, "balance-time between-collectives#2..5": 40}
    assert sum(found.values()) == asker.run.makespan - asker.makespan(parse("balance-time between-collectives"))
