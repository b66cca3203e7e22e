"""Who pauses in which step, and what is left without: worked by hand, times in ns."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from build import Builder, hand_model
from perwiz.errors import UsageError
from perwiz.trace.parts.cut import Chosen, restricted
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.stretch import segments_of
from perwiz.whatif.limits.pauses import late, pauses
from perwiz.whatif.ranking.change import Asker, NoneThereError
from perwiz.whatif.ranking.computation import pauses_of_some
from perwiz.whatif.run import replayed

NOW_AND_THEN = [(10, 90, 10), (10, 10, 10), (90, 10, 10), (10, 10, 10), (25, 25, 25)]
"""What each of three ranks computes in five steps: 90 is a pause, and there are no others: all compute longer in the last step."""


def program(steps):
    """Return the run of ranks that each compute so long in a step, and meet."""
    b = Builder(len(steps[0]))
    b.work = 0
    for step in steps:
        for rank, ns in enumerate(step):
            b.enter(rank, "step")
            with b.region(rank, "solve"):
                b.compute(rank, ns)
            b.compute(rank, 5)
        b.barrier()
        for rank in range(len(step)):
            b.leave(rank, "step")
    return replayed(b.trace(), hand_model(L=0, o=0), "none")


def found(run, name):
    segments = segments_of(run.weighted)
    return pauses(segments, segments.length, name)


@pytest.mark.parametrize("name", ["iterations", "step"])
def test_by_hand(name):
    """15 each usually, 30 in the last step: 95 of rank 1 in the first step and of rank 0 in the third are 80 longer."""
    who = found(program(NOW_AND_THEN), name)
    assert (who.usual.tolist(), np.argwhere(who.paused).tolist()) == ([15, 15, 15], [[0, 1], [2, 0]])
    assert (who.longer.sum(), who.longer[0, 1], who.longer[2, 0]) == (160, 80, 80)


@pytest.mark.parametrize(
    ("question", "makespan"),
    [("iterations", 4 * 15 + 30), ("step", 90), ("iterations@rank:0", 170), ("step@rank:1", 170), ("solve", 90), ("step@rank:2", 250)],
)
def test_usual(question, makespan):
    """Recorded are 95 15 95 15 30, together 250."""
    run = program(NOW_AND_THEN)
    assert (run.makespan, Asker(run).makespan(parse(f"usual {question}"))) == (250, makespan)


def test_longest_pieces_are_cut():
    """Two pieces of 10 each are before the barrier of four steps, 10 and 70 in the third: that becomes 10 and 10, each up to its call."""
    b = Builder(2)
    b.work = 0
    for step in range(5):
        for rank in (0, 1):
            b.compute(rank, 10)
            b.call(rank, "Comm_rank")
            b.compute(rank, 70 if (step, rank) == (2, 0) else 10)
        b.barrier()
    run = replayed(b.trace(), hand_model(L=0, o=0), "none")
    changed = parse("usual iterations").apply(run.weighted)
    edges = segments_of(run.weighted).edge
    assert run.weighted.weight[edges].tolist() == [10, 10, 10, 10, 10, 70, *[10] * 4, 0, *[10] * 10, 0]
    assert changed.weight[edges].tolist() == [*[10] * 10, 0, *[10] * 10, 0]


def test_change():
    """The line of the list says who pauses, and how often; of ranks that never do, of one rank, and of too few steps there is none."""
    [change] = pauses_of_some(Asker(program(NOW_AND_THEN)))
    assert (change.question, change.what, change.makespan) == ("usual iterations", "no pauses of ranks 0, 1, now in 2 of 5 iterations", 90)
    assert pauses_of_some(Asker(program([(10, 10)] * 5))) == pauses_of_some(Asker(program([(10,)] * 4 + [(90,)]))) == []
    with pytest.raises(NoneThereError, match="no iterations, nothing"):
        pauses_of_some(Asker(program(NOW_AND_THEN[:1])))
    with pytest.raises(UsageError, match="4 steps of step, must be 5 or more to tell what is usual"):
        found(program(NOW_AND_THEN[:4]), "step")


def test_begins_late():
    """Rank 1 pauses behind its first step, so that it begins the second 60 later: asked about that and those behind it begins there late.

    Without it each takes 10 in seven iterations, and nobody is late.
    """
    b = Builder(2)
    b.work = 0
    for step in range(8):
        for rank in (0, 1):
            with b.region(rank, "item"):
                b.compute(rank, 10)
            if (step, rank) == (0, 1):
                b.compute(rank, 60)
        if step:
            b.barrier()
    run = replayed(restricted(b.trace(), Chosen(2, None)), hand_model(L=0, o=0), "none")
    assert (late(run.trace).tolist(), late(dataclasses.replace(run.trace, part="")).tolist()) == ([0, 60], [0, 0])
    assert (run.makespan, Asker(run).makespan(parse("usual iterations"))) == (130, 70)
