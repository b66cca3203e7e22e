"""Tasks that are shared out fixed, distributed to whoever is free instead."""

from __future__ import annotations

import heapq
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build import Builder, hand_model
from farms import lengths
from perwiz.errors import UsageError
from perwiz.report import spans
from perwiz.report.records import Possible
from perwiz.whatif.hypotheses.stretch import LONGEST, latest
from perwiz.whatif.predict import predict


def loops(*of, late=(0, 0, 0), send=False):
    """Return three processes that do the tasks `of[loop][rank]`, ns, one by one, each in a region, and meet behind every loop."""
    b = Builder(3, latency=12, per_byte=0, work=0)
    for rank, ns in enumerate(late):
        b.compute(rank, ns)
    for loop in of:
        for rank, tasks in enumerate(loop):
            for ns in tasks:
                with b.region(rank, "task"):
                    b.compute(rank, ns)
                    if send and rank < 2:
                        (b.send if rank == 0 else b.recv)(rank, 1 - rank)
        b.barrier()
    return b.trace()


def makespan(trace, *texts):
    return predict(trace, list(texts), hand_model(), clock="none").predicted.makespan


def listed(loop, late):
    """Return when the last of three processes is done that take tasks in turns, as a list scheduler does it."""
    free = [(ns, rank) for rank, ns in enumerate(late)]
    turns = max(map(len, loop))
    for ns in (tasks[k] for k in range(turns) for tasks in loop if k < len(tasks)):
        begin, rank = heapq.heappop(free)
        heapq.heappush(free, (begin + ns, rank))
    return max(free)[0]


def test_by_hand():
    """Tasks 90 10 20 in turn, then 90 10 20: rank 0 takes 90; ranks 1 and 2 10, 20, then rank 1 90 at 10, rank 2 10 and 20 at 20 and 30.

    Fixed the loop takes 180, distributed 100. A second loop stays its own: 30, a task each.
    """
    rest = makespan(loops([[], [], []], [[], [], []]))
    trace = loops([[90, 90], [10, 10], [20, 20]], [[30], [10], [20]])
    assert makespan(trace) == 180 + 30 + rest
    assert makespan(trace, "dynamic task") == 100 + 30 + rest
    assert makespan(trace, "dynamic task", "scale task=0.5") == makespan(trace, "scale task=0.5", "dynamic task") == 50 + 15 + rest


def test_in_blocks():
    """Of tasks 90 90, 10 10 and 20 20: ranks 0 and 1 take a 90 each, rank 2 10, 10, 20 and 20: 90. Unsaid the span holds both.

    It ends where the second 90 may: not behind a third of the other 150, 140.
    """
    trace = loops([[90, 90], [10, 10], [20, 20]])
    rest = makespan(loops([[], [], []]))
    assert makespan(trace, "dynamic task=blocks") == 90 + rest
    assert makespan(trace, "dynamic task=turns") == makespan(trace, "dynamic task") == 100 + rest
    span = predict(trace, ["dynamic task"], hand_model(), clock="none").span
    assert (span.least, span.most) == (90 + rest, 140 + rest)
    assert spans.other(Possible(changes=[LONGEST], makespan_ns=140)) == "140 ns if a long piece of work is taken late"
    other = predict(trace, ["dynamic task", "scale task=0.5"], hand_model(), clock="none").span
    assert (other.least, other.most) == (pytest.approx(45 + rest, abs=1), 70 + rest)


def test_latest__not_before_any_order():
    """Pieces 2 4 and 2 2 of two, whatever comes first of what is next: the last ends at 6, and not behind 7."""
    piece, group, none = np.array([2, 4, 2, 2]), np.array([0, 0, 1, 1]), np.zeros(2, "i8")
    ends = set()
    for order in {tuple(order) for order in itertools.permutations(group.tolist())}:
        free, left = [0, 0], [[2, 4], [2, 2]]
        for of in order:
            free[free.index(min(free))] += left[of].pop(0)
        ends.add(max(free))
    assert ends == {6}
    assert latest(piece, group, none, none, np.array([4, 6])).tolist() == [4, 7]


@given(st.lists(st.lists(st.integers(1, 99), min_size=1, max_size=3), min_size=2, max_size=3), st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_latest__is_behind_every_list_schedule(work, random):
    group = [worker for worker, pieces in enumerate(work) for _ in pieces]
    order = random.sample(group, len(group))
    free, left = [0] * len(work), [list(pieces) for pieces in work]
    for of in order:
        free[free.index(min(free))] += left[of].pop(0)
    none = np.zeros(len(work), "i8")
    assert latest(np.concatenate(work), np.array(group), none, none, none).max() >= max(free) - 1  # as it is rounded


@pytest.mark.parametrize("late", [(0, 0, 0), (40_000, 0, 300_000)])
def test_as_a_list_scheduler(late):
    """Who comes late takes less."""
    of = np.array(lengths(21)).reshape(3, 7).tolist()
    rest = makespan(loops([[], [], []]))
    assert makespan(loops(of, late=late), "dynamic task") == listed(of, late) + rest


def test_what_cannot_be_asked():
    with pytest.raises(UsageError, match="a task of rank 0 exchanges messages with others, must compute alone to run anywhere"):
        makespan(loops([[9], [9], [9]], send=True), "dynamic task")
    with pytest.raises(UsageError, match="no loop of these tasks runs on several processes"):
        makespan(loops([[9, 9], [], []]), "dynamic task")
    with pytest.raises(UsageError, match="dynamic task=block: order 'block', must be blocks or turns"):
        makespan(loops([[9], [9], [9]]), "dynamic task=block")
    with pytest.raises(UsageError, match="the trace has no user regions, must be marked in the program: PRGN_BEGIN"):
        makespan(Builder(2).trace(), "dynamic task")
    with pytest.raises(UsageError, match="no such region"):
        makespan(loops([[9], [9], [9]]), "dynamic tusk")
