"""The critical path: by hand, and laws on the catalogue and on random traces."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from build import Builder, hand_model
from perwiz.engines.sweep import makespan, sweep
from perwiz.loggps.weigh import CUT
from perwiz.trace.tables import NONE
from perwiz.whatif.limits.critical import KINDS, critical, critical_of
from perwiz.whatif.run import replayed
from perwiz.whatif.worth import worth

FREE = hand_model(L=0, o=0)
"""Messages cost nothing."""


def example_8():
    """Delay, then a wait that it causes (reference: wait states, example 8), in thousands of ns.

    p  f====== send                     f 0 .. 6
    q  f== recv~~~~ g= send             f 0 .. 2, waits until 6, g 6 .. 7
    r  f== g= recv~~~~                  f 0 .. 2, g 2 .. 3, waits until 7
    """
    b = Builder(3)
    for rank, name, at in ((0, "f", (0, 6)), (1, "f", (0, 2)), (1, "g", (6, 7)), (2, "f", (0, 2)), (2, "g", (2, 3))):
        b.enter(rank, name, at=1000 * at[0])
        b.compute(rank, 1000 * (at[1] - at[0]))
        b.leave(rank, name, at=1000 * at[1])
        if (rank, name) == (0, "f"):
            b.send(0, 1, 1, at=(6000, 6000))
        if (rank, name) == (1, "f"):
            b.recv(1, 0, at=(2000, 6000))
    b.send(1, 2, 1, at=(7000, 7000))
    b.recv(2, 1, at=(3000, 7000))
    b.compute(2, 1)
    return b.trace()


def listed(found):
    """Return (kind, location, region, call, begin, length) per piece."""
    trace, p = found.run.trace, found.pieces
    names = [*(trace.names[k] for k in trace.paths.region), ""]
    columns = (p.kind.tolist(), p.location.tolist(), p.path.tolist(), p.call.tolist(), p.begin.tolist(), p.length.tolist())
    return [(KINDS[kind], at, names[path], call, begin, length) for kind, at, path, call, begin, length in zip(*columns, strict=True)]


def test_example_9__critical_path_of_example_8():
    """f on p for 6, g on q for 1: all of the 7, and r's last ns after them."""
    found = critical(example_8(), FREE, clock="none")
    assert listed(found) == [
        ("computation", 0, "f", NONE, 0, 6000),
        ("computation", 1, "g", NONE, 6000, 1000),
        ("computation", 2, "", NONE, 7000, 1),
    ]
    assert found.changes == 2
    assert found.slack.tolist() == [1001, 0, 1, 0]


def late_sender():
    """Rank 0 begins at 100 and sends at 1000; rank 1, there since 0, receives it: o + L = 12, then 30 of work.

    rank 0      ====== send =====     100 .. 1000 .. 1010 .. 1050
    rank 1  recv ~~~~~~~~~~  ==         0 .. 1042 .. 1100
    """
    b = Builder(2)
    b.begin[0] = 100
    with b.region(0, "make"):
        b.compute(0, 900)
        b.send(0, 1, 1, at=(1000, 1010))
    b.compute(0, 40)
    with b.region(1, "solve"):
        b.recv(1, 0, at=(0, 1042))
        b.compute(1, 50)
    b.compute(1, 8)
    return b.trace("late.alog")


def test_late_sender__by_hand():
    found = critical(late_sender(), hand_model(), clock="none")
    assert listed(found) == [
        ("start", 0, "", NONE, 0, 100),
        ("computation", 0, "make", NONE, 100, 900),
        ("transfer", 1, "solve", 1, 1000, 12),
        ("calls", 1, "solve", 1, 1012, 30),
        ("computation", 1, "solve", NONE, 1042, 50),
        ("computation", 1, "", NONE, 1092, 8),
    ]
    assert found.changes == 1
    assert found.slack.tolist() == [50, 0]
    assert repr(found) == "<Critical of late.alog: 1100 ns in 6 pieces, 1 changes of process>"


def test_barrier_and_send__by_hand():
    """A send of 500, which the network's gap may explain but need not; then a barrier, which works for 20 after the last has entered."""
    b = Builder(2)
    for at in ((10, 20), (20, 520)):
        b.send(0, 1, 1, at=at)
    b.recv(1, 0, at=(0, 32))
    b.recv(1, 0, at=(32, 40))
    b.everyone("Barrier", at=[(530, 550), (50, 550)])
    b.compute(1, 5)
    found = critical(b.trace(), hand_model(gap="sending call", g=500), clock="none")
    assert listed(found) == [
        ("computation", 0, "", NONE, 0, 10),
        ("calls", 0, "", 0, 10, 10),
        ("calls", 0, "", 1, 20, 500),
        ("computation", 0, "", NONE, 520, 10),
        ("calls", 1, "", 5, 530, 20),
        ("computation", 1, "", NONE, 550, 5),
    ]
    assert found.changes == 1


def test_gap__by_hand():
    """A wait of 948 lies between two sends of rank 0; without it the model's gap of 930 does, from return to return."""
    run = replayed(build.kept_apart(), hand_model(gap="sending call", g=900, G=10))
    assert run.makespan == 960
    found = critical_of(worth.after(run, "zero-wait", np.arange(len(run.trace.calls))))
    assert listed(found) == [("gap", 0, "", 2, 0, 930), ("computation", 0, "", NONE, 930, 10)]
    assert found.gaps() == {"g_ns": 900, "G_ns_per_byte": 30}
    assert critical_of(run).gaps() == {"g_ns": 0, "G_ns_per_byte": 0}, "no gap is on the recorded path"


def test_empty_trace():
    found = critical(build.empty())
    assert (len(found.pieces), found.changes, found.slack.tolist(), found.run.makespan) == (0, 0, [], 0)


def innermost(trace, location, begin, end):
    """Return the innermost region path around a piece, by times."""
    times, rows = trace.timeline.regions, trace.regions
    around = np.flatnonzero((rows.location == location) & (times.enter <= begin) & (times.leave >= end))
    depth = {-1: 0}
    for row in range(len(trace.paths)):
        depth[row] = depth[int(trace.paths.parent[row])] + 1
    return max((int(rows.path[row]) for row in around), key=depth.get, default=-1)


def check(trace, model, regions=True):
    """All adds up to the makespan, each piece begins where the one before ends, and calls on the path have no slack."""
    found = critical(trace, model, clock="none")
    run, p = found.run, found.pieces
    assert int(p.length.sum()) == run.makespan == trace.timeline.makespan
    assert int(p.sums(p.location, len(trace.locations)).sum()) == run.makespan
    assert (p.length != 0).all()
    assert (p.begin[1:] == p.begin[:-1] + p.length[:-1]).all()
    if len(p):
        assert p.begin[0] == run.time[run.graph.begun].min()
    assert (found.slack >= 0).all()
    assert (found.slack[p.call[p.call >= 0]] == 0).all()
    if regions:
        for kind, at, path, begin, length in zip(p.kind, p.location, p.path, p.begin, p.length, strict=True):
            if KINDS[kind] == "computation":
                assert path == innermost(trace, at, begin, begin + length)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", build.CATALOGUE)
def test_laws__catalogue(name):
    for model in (build.ODD, FREE, hand_model()):
        check(build.CATALOGUE[name](), model, regions=name != "improper_regions")


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs())
def test_laws__random(trace):
    for model in (build.ODD, FREE):
        check(trace, model)


def later(found, call, more):
    """Return the makespan if a call works longer."""
    graph, weight = found.run.graph, found.run.weighted.weight.copy()
    vertex = graph.returned[call]
    into = slice(graph.start[vertex], graph.start[vertex + 1])
    weight[into] += np.where(weight[into] == CUT, 0, more)
    return makespan(graph, sweep(graph, weight))


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs(), st.data())
def test_law__slack_is_what_a_call_may_return_later(trace, data):
    found = critical(trace, build.ODD, clock="none")
    if not len(trace.calls):
        return
    call = data.draw(st.integers(0, len(trace.calls) - 1))
    slack, before = int(found.slack[call]), found.run.makespan
    for more in (0, slack // 2, slack):
        assert later(found, call, more) == before
    for more in (1, 777):
        assert later(found, call, slack + more) == before + more


def test_threads__by_hand():
    """Through the lock that is handed over to the other thread, the barrier of the team, the message, and a fork of the other process.

    Release entered at 8700: the other thread has the lock at 8800, releases at 9200 for 100 and comes to the barrier at 9300, which the
    first leaves at 9400; join, send at 9500. Received at 9512 + 4096 of work, the fork lets a thread begin that is in the barrier last.
    """
    found = critical(build.CATALOGUE["threads"](), hand_model(), clock="none")
    assert listed(found) == [
        ("computation", 0, "", NONE, 0, 500),
        ("calls", 0, "", 0, 500, 100),
        ("computation", 0, "", NONE, 600, 2000),
        ("calls", 0, "", 1, 2600, 100),
        ("computation", 0, "", NONE, 2700, 6000),
        ("calls", 2, "", 11, 8700, 100),
        ("computation", 2, "", NONE, 8800, 400),
        ("calls", 2, "", 12, 9200, 100),
        ("calls", 0, "", 3, 9300, 100),
        ("calls", 0, "", 4, 9400, 100),
        ("transfer", 1, "", 6, 9500, 12),
        ("calls", 1, "", 6, 9512, 4096),
        ("calls", 3, "", 15, 13608, 100),
        ("computation", 3, "", NONE, 13708, 900),
        ("calls", 1, "", 8, 14608, 100),
        ("calls", 1, "", 9, 14708, 100),
    ]
    assert found.changes == 5
    slack = dict(enumerate(found.slack.tolist()))
    assert {call: ns for call, ns in slack.items() if ns} == {2: 9300 - 8800, 5: 14808 - 9600, 7: 14608 - 14408, 10: 8700 - 5600, 14: 5308}


def test_device__by_hand():
    """From the first launch on the stream computes 4000 and 2500; the host waits for it until 6700 and sends."""
    found = critical(build.CATALOGUE["device"](), hand_model(), clock="none")
    assert listed(found) == [
        ("calls", 2, "", 5, 0, 50),
        ("computation", 2, "kernel", NONE, 50, 4000),
        ("calls", 2, "", 6, 4050, 50),
        ("computation", 2, "kernel", NONE, 4100, 2500),
        ("calls", 0, "", 2, 6600, 100),
        ("transfer", 1, "", 4, 6700, 12),
        ("calls", 1, "", 4, 6712, 4096),
    ]
    assert found.slack.tolist() == [4050 - 400, 6600 - 1500, 0, 10808 - 6800, 0, 0, 0, 10808 - 6700]
