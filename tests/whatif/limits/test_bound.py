"""Lower bounds from sums of the breakdown (PerWiz, sections 4 and 5.2, Table 1). Times in ns; o + L = 12."""

import numpy as np
import pytest
from hypothesis import given, settings

import build
from build import Builder, hand_model
from perwiz.errors import UsageError
from perwiz.whatif.limits.bound import COMBINATIONS, PARTS, bound
from questions import Questions


def late_sender():
    """Rank 1 waits 92 for rank 0: it is there at 20, the message at 112.

    rank 0  =====100===== send(10) ==40==            150
    rank 1  ==20== recv(92 + 8) ==10==               130
    """
    b = Builder(2)
    b.compute(0, 100)
    b.send(0, 1, 1, at=(100, 110))
    b.compute(0, 40)
    b.compute(1, 20)
    with b.region(1, "reader"):
        b.recv(1, 0, at=(20, 120))
    b.compute(1, 10)
    return b.trace()


def times(bound):
    """Return the bounds in the order of the paper's table."""
    return [bound.time(asked) for asked in COMBINATIONS]


def test_by_hand():
    """Sums 140 + 10 and 30 + 8 + 92. The means are 85 of computation and 9 of messages; Q2 alone lies above, as in the paper's Table 1."""
    whole, reader = bound(late_sender(), model=hand_model(), clock="none").regions
    assert dict(zip(PARTS, whole.parts.tolist(), strict=True)) == {
        "computation": [140, 30],
        "other": [0, 0],
        "sending": [10, 0],
        "receiving": [0, 8],
        "collective": [0, 0],
        "waiting": [0, 92],
    }
    #     none, Q1,  Q2,           Q3,      Q1+Q2,   Q1+Q3,   Q2+Q3,       all
    assert times(whole) == [150, 150, 85 + 8 + 92, 9 + 140, 85 + 10, 9 + 140, 85 + 9 + 92, 85 + 9]
    assert (reader.name, reader.parallel, reader.steps, reader.location.tolist()) == ("reader", False, 1, [1])
    assert times(reader) == [100, 8, 100, 100, 8, 8, 100, 8]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda b: b.sendrecv(0, 1, 1, 1, work=9), {"sending": 4, "receiving": 5}),
        (lambda b: b.wait(0, b.irecv(0, 1), work=9), {"receiving": 10}),
        (lambda b: b.waitall(0, b.irecv(0, 1, work=1), b.isend(0, 1), b.isend(0, 1), work=10), {"sending": 6 + 2, "receiving": 4 + 1}),
        (lambda b: b.call(0, "Comm_rank", work=9), {"other": 9}),
        (lambda b: b.call(0, "Wait", work=9), {"other": 9}),
        (lambda b: b.call(0, "Iprobe", work=9), {"receiving": 9}),
        (lambda b: b.send(0, None, work=9), {"sending": 9}),
        (lambda b: b.barrier(), {"collective": 1}),
        (lambda b: b.wait(0, b.everyone("Ibarrier")[0], work=9), {"collective": 10}),
    ],
)
def test_work__by_what_a_call_completes(make, expected):
    """Each operation completed has the same share; of none, the routine says. All is sent early enough that nobody waits."""
    b = Builder(2, latency=0, per_byte=0, work=1)
    for _ in range(2):
        b.send(1, 0, 1, tag=0)
    make(b)
    for _ in range(3):
        b.recv(1, 0)
    whole = bound(b.trace(), model=hand_model(L=0, o=0), clock="none").regions[0]
    found = {part: int(row[0]) for part, row in zip(PARTS, whole.parts, strict=True) if row[0]}
    waits = found.pop("waiting", 0)
    assert (found, waits <= 2) == (expected, True)


@pytest.mark.slow
@settings(max_examples=40)
@given(build.programs())
def test_laws(trace):
    """Zero waiting never adds; all three together are the least; the parts are the whole; Q1 bounds what `zero-wait all` predicts."""
    for model in (hand_model(G=1), hand_model(S=0, G=0.5, gap="sending call", g=30), None):
        found = bound(trace, model=model)
        for one in found.regions:
            assert (one.parts >= 0).all()
            for asked in COMBINATIONS:
                assert one.time((0, 1, 2)) <= one.time(asked)
                assert one.time({0, *asked}) <= one.time(asked)
        whole, places = found.regions[0], found.run.trace.timeline.locations
        assert (whole.parts.sum(axis=0) == places.leave - places.enter).all()
        if len(trace.calls):
            assert whole.time((0,)) <= Questions(trace, model).makespan("zero-wait all")


@pytest.mark.parametrize("name", sorted(build.CATALOGUE))
def test_laws__catalogue(name):
    trace = build.CATALOGUE[name]()
    found = bound(trace, model=hand_model())
    whole, places = found.regions[0], found.run.trace.timeline.locations
    assert (whole.parts.sum(axis=0) == places.leave - places.enter).all()
    assert all((one.parts >= 0).all() for one in found.regions)
    assert repr(found).startswith(f"<Bounds of {trace.path}: ")
    if len(trace.calls) and name not in build.VIOLATING:
        assert whole.time((0,)) <= Questions(trace, hand_model()).makespan("zero-wait all")


def test_idle_threads_wait():
    """A thread without work waits for its process: of 13 708 before its team begins 13 608, and all of the 100 behind its last team."""
    whole = bound(build.CATALOGUE["threads"](), model=hand_model(), clock="none").regions[0]
    assert whole.parts[:, 3].tolist() == [900, 100 + 100, 0, 0, 0, 13_608 + 100]
    assert whole.parts[:, 0].tolist() == [8500, 100 + 100 + 100 + 100 + 100, 100, 0, 0, 500]
    assert whole.time((0,)) == 9100


def test_idle_devices_wait():
    """A stream is given its first kernel at 0 and waits for no other; behind the last it has nothing to do for 100."""
    whole = bound(build.CATALOGUE["device"](), model=hand_model(), clock="none").regions[0]
    assert whole.parts[:, 2].tolist() == [6500, 50 + 50, 0, 0, 0, 100]


def test_regions__marked_ones_else_top_ones_or_those_asked():
    trace = build.CATALOGUE["nested_regions"]()
    assert [one.name for one in bound(trace).regions] == ["", "main"]
    assert [one.name for one in bound(trace, ["solve", "exchange", "solve"]).regions] == ["", "solve", "exchange"]
    object.__setattr__(trace, "parallel", np.array([False, True, False]))
    (_, solve) = bound(trace).regions
    assert (solve.name, solve.parallel, solve.steps) == ("solve", True, 6)


def test_regions__recursion_counts_once():
    """Computation of 1000, 2000, 3000 + 5 + 77 in solve and what is in it, of rank 0."""
    (_, solve) = bound(build.CATALOGUE["nested_regions"](), ["solve"]).regions
    assert solve.parts[0, 0] == 1000 + 2000 + 3000 + 3 * (5 + 77)


def test_regions__unknown():
    with pytest.raises(UsageError, match=r"^region 'solv': no such region, the trace has solve \.\.\.; did you mean solve\?$"):
        bound(build.CATALOGUE["nested_regions"](), ["solv"])
