"""Waits inside rooted collectives: worked by hand, against the obvious twin, and what they do to predictions."""

import itertools

import numpy as np
import pytest
from hypothesis import given

import build
from build import Builder, hand_model
from perwiz.loggps import instances
from perwiz.loggps.inner import inner_waits
from perwiz.trace import operations
from perwiz.whatif.predict import predict

MODEL = hand_model()
"""One part of a reduction of 4 takes 2 (2 o + L) = 28 ns."""


def reduction(ends, routine="Reduce", root=0):
    """Ranks 0 to 3 come at 0, 100, 200 and 5000 and leave when `ends` says."""
    b = Builder(4)
    for rank, at in enumerate(zip((0, 100, 200, 5000), ends, strict=True)):
        b.join(rank, routine, root=root, at=at)
    return b.trace()


def waits(trace, model=MODEL):
    return [pair.tolist() for pair in inner_waits(trace, model)]


def test_reduction__the_inner_process_waits_for_the_last_before_it_left():
    """Rank 1 stays until rank 3 has come; rank 2 leaves at once, and rank 3 waits for nobody. The root waits for all anyway."""
    assert waits(reduction((5100, 5050, 210, 5020))) == [[1], [3]]


def test_reduction__the_last_before_it_left_need_not_be_the_last():
    """Rank 1 left at 300: of those that came after it only rank 2 was there."""
    assert waits(reduction((5100, 300, 210, 5020))) == [[1], [2]]


def test_reduction__no_longer_than_the_model_says():
    """Rank 1 comes at 100 and rank 2 at 120. Rank 1 stays 28 ns, what its part takes, or 29."""
    for end, found in ((128, [[], []]), (129, [[1], [2]])):
        b = Builder(4)
        for rank, at in enumerate(((0, 5000), (100, end), (120, 125), (4000, 4500))):
            b.join(rank, "Reduce", root=0, at=at)
        assert waits(b.trace()) == found


def test_broadcast__the_root_if_it_comes_last():
    """Rank 2 waits for rank 3, which passes on; where rank 3 is the root that is known already."""
    assert waits(reduction((20, 110, 5050, 5020), "Bcast")) == [[2], [3]]
    assert waits(reduction((5010, 5020, 5050, 5020), "Bcast", root=3)) == [[], []]


def test_two_processes_have_no_inner_one():
    b = Builder(2)
    b.join(0, "Reduce", root=1, at=(0, 9000))
    b.join(1, "Reduce", root=1, at=(5000, 9000))
    assert waits(b.trace()) == [[], []]


def test_prediction__what_came_before_a_reduction_pays():
    """Rank 3 computes 5000 ns. Twice as fast, all end 2500 ns earlier: rank 1 has waited for it inside the reduction."""
    trace = reduction((5100, 5050, 210, 5020))
    found = predict(trace, "speed rank:3=2", MODEL)
    assert found.gain == 2500
    assert (found.predicted.calls.leave - found.recorded.calls.leave).tolist() == [-2500, -2500, 0, -2500]
    assert (found.waits_before.time[1], found.waits_before.partner[1]) == (4900, 3)


def naive(trace, model):
    """Return the pairs of calls, member by member."""
    table, members, times = trace.collectives, trace.members, trace.timeline.calls
    bounds = [*table.first_member.tolist(), len(members)]
    pairs = []
    for which, (first, end) in enumerate(itertools.pairwise(bounds)):
        kind, root = operations.KIND[table.op[which]], int(table.root[which])
        if kind not in (operations.ONE_TO_N, operations.N_TO_ONE) or root < 0 or end - first < 3:
            continue
        ranks = {row: int(trace.locations.process[trace.calls.location[members.call[row]]]) for row in range(first, end)}
        came = {row: int(times.enter[members.call[row]]) for row in ranks}
        for row in ranks:
            if members.done[row] < 0:
                continue
            left = int(times.leave[members.done[row]])
            others = [other for other in ranks if came[other] <= left and members.done[other] >= 0]
            last = max(came[other] for other in others)
            long = left - int(times.enter[members.done[row]]) > int(instances.work(trace, np.array([row]), model)[0])
            reduces, is_root = kind == operations.N_TO_ONE, ranks[row] == root
            known = is_root if reduces else not is_root and any(ranks[r] == root and came[r] >= last for r in ranks)
            if last > came[row] and long and not known:
                pairs.append((row, last))
    return pairs


@pytest.mark.slow
@given(build.programs())
def test_twin__random(trace):
    check(trace)


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_twin__catalogue(name):
    check(build.CATALOGUE[name]())


def check(trace):
    waiting, awaited = inner_waits(trace, MODEL)
    assert list(zip(waiting.tolist(), trace.timeline.calls.enter[awaited].tolist(), strict=True)) == naive(trace, MODEL)
    member = {call: row for row, call in enumerate(trace.members.call.tolist())}
    assert np.array_equal(trace.members.collective[waiting], trace.members.collective[[member[call] for call in awaited.tolist()]])
