"""Costs of collectives fitted to recorded ones: by hand, and as laws of random traces."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given

import build
from build import Builder, hand_model
from perwiz.loggps import instances
from perwiz.loggps.fit.collectives import fitted_collectives
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed


def repeated(routine, shapes, ranks=4, **more):
    """Return a trace of one collective after the other: per instance, its bytes and (enter, leave) per rank from 1000 times its number."""
    b = Builder(ranks)
    for number, (size, at) in enumerate(shapes):
        b.everyone(routine, bytes=size, at=[(1000 * number + enter, 1000 * number + leave) for enter, leave in at], **more)
    return b.trace()


def costs(trace):
    return [(str(cost), cost.first_ns, cost.ns_per_byte) for cost in fitted_collectives(trace).costs]


def counts(trace):
    return [(estimate.telling, estimate.against) for estimate in fitted_collectives(trace).estimates]


def test_barrier__from_the_last_entry():
    """The last comes at 100; they leave 30, 40, 50 and 60 later: the middle one of four, the lower."""
    trace = repeated("Barrier", [(0, [(0, 130), (10, 140), (100, 150), (20, 160)])])
    assert costs(trace) == [("MPI_Barrier of 4 processes, from 0 bytes", 40, 0)]
    assert counts(trace) == [(1, 0)]


def test_instances__at_the_lower_quartile():
    """Five take 50, 40, 90, 30 and 20: the second shortest."""
    trace = repeated("Allreduce", [(8, [(0, work)] * 4) for work in (50, 40, 90, 30, 20)])
    assert costs(trace) == [("MPI_Allreduce of 4 processes, from 8 bytes", 30, 0)]
    assert counts(trace) == [(5, 0)]


def test_sizes__lines():
    """1 ns a byte from 8 to 512, and 0.1927 a byte up to 2048: two lines that meet. Beyond it stays."""
    trace = repeated("Allreduce", [(size, [(0, work)] * 4) for size, work in ((8, 100), (64, 156), (512, 604), (2048, 900))])
    assert costs(trace) == [
        ("MPI_Allreduce of 4 processes, from 8 bytes", 100, 1),
        ("MPI_Allreduce of 4 processes, from 512 bytes", 604, 0.1927),
        ("MPI_Allreduce of 4 processes, from 2048 bytes", 900, 0),
    ]
    assert counts(trace) == [(2, 0), (1, 0), (1, 0)]


def test_sizes__one_that_costs_less():
    """No line falls: up to the next size it stays."""
    trace = repeated("Allreduce", [(size, [(0, work)] * 4) for size, work in ((8, 100), (64, 50))])
    assert costs(trace) == [("MPI_Allreduce of 4 processes, from 8 bytes", 100, 0), ("MPI_Allreduce of 4 processes, from 64 bytes", 50, 0)]


def test_clocks_against():
    """Rank 0 left before the last came: the instance tells nothing."""
    trace = repeated("Barrier", [(0, [(0, 50), (100, 130), (0, 130), (0, 130)]), (0, [(0, 70)] * 4)])
    assert costs(trace) == [("MPI_Barrier of 4 processes, from 0 bytes", 70, 0)]
    assert counts(trace) == [(1, 1)]


def test_broadcast__root_and_others():
    """The root comes last and leaves at once; the others leave 20, 40 and 40 later. Where rank 1 came after it that does not tell."""
    shapes = [(8, [(100, 105), (0, 120), (0, 140), (0, 140)]), (8, [(100, 105), (300, 301), (0, 130), (0, 150)])]
    trace = repeated("Bcast", shapes * 2, root=0)
    assert costs(trace) == [
        ("MPI_Bcast of 4 processes, all but its root, from 8 bytes", 40, 0),
        ("MPI_Bcast of 4 processes, its root, from 8 bytes", 5, 0),
    ]
    few = fitted_collectives(repeated("Bcast", shapes, root=0))
    assert [cost.members for cost in few.costs] == ["root"]
    why = "in fewer than 4 instances alike did a member wait for the last it needs"
    assert [unknown.why for unknown in few.unknown] == [f"what MPI_Bcast of 4 processes costs away from its root: {why}"]


def test_broadcast__depth():
    """Four times alike: of places seen so often the farthest is the cost."""
    trace = repeated("Bcast", [(8, [(100, 105), (0, 120), (0, 130), (0, 150)])] * 4, root=0)
    assert costs(trace)[0] == ("MPI_Bcast of 4 processes, all but its root, from 8 bytes", 50, 0)


def test_reduction__the_root_that_came_last_tells_nothing():
    """All was there when it came; the others left 6 after their entry."""
    trace = repeated("Reduce", [(8, [(100, 110), (0, 6), (20, 26), (40, 46)])] * 4, root=0)
    assert costs(trace) == [("MPI_Reduce of 4 processes, all but its root, from 8 bytes", 6, 0)]
    told = fitted_collectives(trace).unknown
    assert [unknown.why for unknown in told] == [
        "what MPI_Reduce of 4 processes costs at its root: in none of its instances did a member wait for the last it needs"
    ]


def test_scan__from_the_ranks_below():
    """Ranks 0 and 1 are there at 10, rank 2 comes at 200, rank 3 at 50: they take 5, 10, 15 and 25."""
    trace = repeated("Scan", [(8, [(0, 5), (10, 20), (200, 215), (50, 225)])] * 4)
    assert costs(trace) == [("MPI_Scan of 4 processes, from 8 bytes", 25, 0)]


def test_nonblocking__only_who_waits_tells():
    """Rank 0 waits from 50 for rank 1, that comes at 100; rank 1 waits from 300, when all is done."""
    b = Builder(2)
    requests = [b.join(rank, "Iallreduce", bytes=8, at=(at, at + 1)) for rank, at in enumerate((0, 100))]
    b.wait(0, requests[0], at=(50, 140))
    b.wait(1, requests[1], at=(300, 305))
    assert costs(b.trace()) == [("MPI_Iallreduce of 2 processes, from 8 bytes", 40, 0)]


def test_left_out():
    """Of one process, with members missing, of unknown root, what makes communicators: nothing is fitted; and of no collectives nothing."""
    b = Builder(2)
    b.everyone("Barrier", comm=b.comm("alone", [0]))
    b.everyone("Bcast", comm=b.comm("all", [0, 1]))
    b.everyone("Comm_dup")
    b.everyone("Barrier", missing=[1])
    assert fitted_collectives(b.trace()) == ((), (), ())
    assert fitted_collectives(Builder(2).trace()) == ((), (), ())


@pytest.mark.parametrize(("found", "there"), [(35, 60), (42, 72), (70, 100)])
def test_network__the_fitted_cost_changes_by_its_rounds(found, there):
    """Allreduce of 4: 2 rounds of 14 become 2 of 24 with L = 20, and what was fitted as much longer; of the slowest 30 more stay.

    But no algorithm needs more than 3 messages of 14 in a row: of 70 only 42 change so.
    """
    trace = repeated("Allreduce", [(8, [(0, took)] * 4) for took in (found, found, found, found + 30)])
    model = hand_model(collectives=fitted_collectives(trace).costs)
    changed = predict(trace, "network L_ns=20", model)
    assert (changed.predicted.calls.leave - changed.predicted.calls.enter).tolist() == [there, there, there, there + 30] * 4


def test_network__the_root_by_the_rounds_of_all():
    """Broadcast of 4, 2 rounds of 14 to 24: the root's 7 become 12, the others' 28 become 48."""
    trace = repeated("Bcast", [(8, [(0, 7), (0, 28), (0, 28), (0, 28)])] * 4, root=0)
    found = predict(trace, "network L_ns=20", hand_model(collectives=fitted_collectives(trace).costs))
    assert (found.predicted.calls.leave - found.predicted.calls.enter)[::4].tolist() == [12, 48, 48, 48]


def test_letters_of_nothing():
    """Where the rounds cost nothing, what they cost elsewhere is added."""
    trace = repeated("Allreduce", [(8, [(0, 70)] * 4)])
    model = hand_model(L=0, o=0, collectives=fitted_collectives(trace).costs)
    found = predict(trace, "network L_ns=20", model)
    assert set((found.predicted.calls.leave - found.predicted.calls.enter).tolist()) == {70 + 2 * 20}


def test_nodes():
    """Of 3 rounds of 8 processes on 4 nodes 2 go between nodes; of communicators on one node none."""
    b = Builder(8)
    b.everyone("Barrier")
    b.everyone("Barrier", comm=b.comm("near", [0, 1]))
    trace = b.trace()
    places = dataclasses.replace(trace.locations, node=np.array([0, 0, 1, 1, 2, 2, 3, 3], "i4"))
    trace = dataclasses.replace(trace, locations=places)
    assert [column.tolist() for column in instances.spread(trace)] == [[4, 1], [1, 1]]


def test_words():
    b = Builder(8)
    for size in (0, 8, 64, 1 << 20):
        b.everyone("Allreduce", bytes=size)
    b.barrier()
    b.everyone("Comm_dup")
    assert instances.likely(b.trace(), hand_model()) == [
        "MPI_Barrier of 8 processes: dissemination",
        "MPI_Allreduce of 0 to 8 bytes of 8 processes: recursive-doubling",
        "MPI_Allreduce of 64 to 1048576 bytes of 8 processes: rabenseifner",
    ]


def check(trace):
    """Without hypothesis the recorded run comes back; less latency never delays."""
    model = hand_model(L=100, collectives=fitted_collectives(trace).costs)
    run = replayed(trace, model, hypotheses=["network L_ns=10"])
    assert run.replay_error == 0
    now, faster = run.weighted, parse("network L_ns=10").apply(run.weighted)
    assert (faster.weight <= now.weight).all()
    same = parse("network L_ns=100").apply(run.weighted)
    assert np.array_equal(same.weight, now.weight)


@pytest.mark.slow
@given(build.programs())
def test_laws__random(trace):
    check(trace)


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_laws__catalogue(name):
    check(build.CATALOGUE[name]())
