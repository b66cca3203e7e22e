"""The clock condition by hand (Becker et al. 2009, section 2), and against an obvious twin on random times."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from build import Builder
from perwiz.clock.condition import Violations, unsynchronised, violations
from perwiz.trace import operations, tables
from perwiz.trace.origin import Origin


def found(trace):
    """Return (messages, worst, collective calls, worst), and check that records say the same, as none is inside its call."""
    out = dataclasses.astuple(violations(trace, trace.timeline))
    assert out[4:] == (*out[:2], 0, 0)
    return out[:4]


def message(sender, receiver, record=0):
    b = Builder(2, record=record)
    b.send(0, 1, at=sender)
    b.recv(1, 0, at=receiver)
    return b.trace()


@pytest.mark.parametrize(
    ("sender", "receiver", "expected"),
    [
        ((50, 53), (20, 40), (1, 10, 0, 0)),
        ((40, 53), (20, 40), (0, 0, 0, 0)),
        ((41, 53), (20, 40), (1, 1, 0, 0)),
        # Received while it is being sent: possible, the first byte may be read before the last is sent.
        ((10, 90), (20, 40), (0, 0, 0, 0)),
    ],
)
def test_message(sender, receiver, expected):
    assert found(message(sender, receiver)) == expected


@pytest.mark.parametrize(
    ("sender", "receiver", "expected"),
    [
        # Recorded 3 behind the entry and 3 before the return: sent at 53, received at 37.
        ((50, 53), (20, 40), (1, 10, 0, 0, 1, 16)),
        ((38, 53), (20, 40), (0, 0, 0, 0, 1, 4)),
        ((35, 53), (20, 40), (0, 0, 0, 0, 1, 1)),
        ((34, 53), (20, 40), (0, 0, 0, 0, 0, 0)),
        # Calls that are shorter: sent at 41, received at 39.
        ((40, 41), (39, 40), (0, 0, 0, 0, 1, 2)),
    ],
)
def test_message__by_records(sender, receiver, expected):
    trace = message(sender, receiver, record=3)
    assert dataclasses.astuple(violations(trace, trace.timeline)) == (*expected, 0, 0)


def test_message__by_records__of_a_prediction():
    """It places calls alone."""
    trace = message((38, 53), (20, 40), record=3)
    predicted = dataclasses.replace(trace.timeline, origin=Origin("predicted"))
    assert not violations(trace, predicted)


def test_message__by_records__to_itself():
    """No clock decides how a location orders its own records, which lie in one call here."""
    b = Builder(1, record=8)
    b.sendrecv(0, 0, 0, at=(0, 10))
    assert not violations(b.trace(), b.trace().timeline)


def test_links():
    """A thread that begins at 40 in a team that is opened at 50; one clock for both is no clock that nobody compared."""
    b = Builder(1)
    other = b.thread(0)
    b.link("fork", b.call(0, "omp_fork", at=(50, 51)), b.call(other, "omp_idle", at=(0, 40)))
    trace = b.trace()
    assert violations(trace, trace.timeline) == Violations(0, 0, 0, 0, 0, 0, links=1, worst_link=10)
    assert violations(trace, trace.timeline)
    assert not unsynchronised(dataclasses.replace(trace, clocks_compared=False))


def test_message__completed_elsewhere():
    """What counts is the Wait, not the Irecv, which returns before the send as it may."""
    b = Builder(2)
    b.send(0, 1, at=(100, 110))
    b.wait(1, b.irecv(1, 0, at=(0, 1)), at=(2, 120))
    assert found(b.trace()) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("routine", "root", "at", "expected"),
    [
        # Last in at 40: who leaves at 30 is 10 early, who leaves at 39 is 1 early.
        ("Barrier", None, [(10, 30), (40, 50), (20, 55)], (1, 10)),
        ("Barrier", None, [(10, 30), (40, 50), (20, 39)], (2, 10)),
        ("Allreduce", None, [(10, 40), (40, 50), (20, 40)], (0, 0)),
        # From the root at 40: nobody else leaves before; the root need not wait for anybody.
        ("Bcast", 1, [(10, 30), (40, 40), (60, 60)], (1, 10)),
        ("Bcast", 1, [(10, 45), (20, 21), (60, 60)], (0, 0)),
        # To the root: it leaves after all have entered; the others need not wait.
        ("Reduce", 0, [(10, 50), (40, 41), (60, 60)], (1, 10)),
        ("Reduce", 0, [(10, 60), (40, 41), (60, 60)], (0, 0)),
        # Each after the ranks below it: rank 1 after 50, rank 2 after 50 too.
        ("Scan", None, [(50, 60), (10, 45), (30, 49)], (2, 5)),
        ("Exscan", None, [(50, 60), (10, 50), (30, 50)], (0, 0)),
        ("Scan", None, [(10, 11), (20, 21), (90, 91)], (0, 0)),
        # Nobody knows whom to wait for.
        ("Bcast", None, [(10, 30), (40, 50), (60, 61)], (0, 0)),
        ("Reduce", None, [(10, 30), (40, 50), (60, 61)], (0, 0)),
    ],
)
def test_collective(routine, root, at, expected):
    b = Builder(3)
    b.everyone(routine, root=root, at=at)
    assert found(b.trace())[2:] == expected


def test_collective__of_times_that_cannot_be_shifted():
    """Two scans of times so large that instances cannot be told apart by adding to them: 2^61 ns are 73 years."""
    far = 1 << 61
    b = Builder(3)
    b.scan(at=[(50, 60), (10, 45), (30, far)])
    b.scan(at=[(70, 80), (100, 110), (far, far)])
    assert found(b.trace()) == (0, 0, 1, 5)


def test_collective__prefixes_do_not_mix():
    """A late scan of two ranks, listed before an early one of two others, does not make that late."""
    b = Builder(4)
    b.everyone("Scan", comm=b.comm("late", [0, 1]), at=[(900, 990), (800, 900)])
    b.everyone("Scan", comm=b.comm("early", [2, 3]), at={2: (10, 11), 3: (5, 8)})
    assert found(b.trace()) == (0, 0, 1, 2)


def test_collective__nobody_knows_when_it_left():
    b = Builder(2)
    b.join(0, "Ibarrier", at=(10, 11))
    request = b.join(1, "Ibarrier", at=(90, 91))
    b.wait(1, request, at=(92, 93))
    assert found(b.trace()) == (0, 0, 0, 0)


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_catalogue(name):
    trace = build.CATALOGUE[name]()
    assert bool(violations(trace, trace.timeline)) == (name in build.VIOLATING)


def test_truth():
    assert not Violations(0, 0, 0, 0, 0, 0)
    assert Violations(0, 0, 0, 0, 1, 5)
    assert Violations(0, 0, 1, 5, 0, 0)


def twin(trace):
    """Return (messages, worst, collective calls, worst, messages by records, worst, links, worst), looked up one by one."""
    enter, leave, location = trace.timeline.calls.enter.tolist(), trace.timeline.calls.leave.tolist(), trace.calls.location
    ends = list(zip(trace.messages.send, trace.messages.receive_done, strict=True))
    early = [enter[send] - leave[done] for send, done in ends if enter[send] > leave[done]]
    records = zip(ends, trace.messages.sent_after, trace.messages.received_before, strict=True)
    stamps = [(enter[send] + after, leave[done] - before) for (send, done), after, before in records if location[send] != location[done]]
    back = [int(sent - received) for sent, received in stamps if sent > received]
    left = []
    for number in range(len(trace.collectives)):
        kind, root = operations.KIND[trace.collectives.op[number]], trace.collectives.root[number]
        rows = np.flatnonzero(trace.members.collective == number)
        ranks = trace.locations.process[trace.calls.location[trace.members.call[rows]]]
        at = [enter[call] for call in trace.members.call[rows]]
        for place, row in enumerate(rows):
            causes = {
                operations.N_TO_N: at,
                operations.ONE_TO_N: [t for t, rank in zip(at, ranks, strict=True) if rank == root != ranks[place]],
                operations.N_TO_ONE: at if ranks[place] == root else [],
                operations.PREFIX: at[: place + 1],
            }[int(kind)]
            done = trace.members.done[row]
            if done >= 0 and causes and max(causes) > leave[done]:
                left.append(max(causes) - leave[done])
    ends = zip(trace.links.cause, trace.links.effect, strict=True)
    let = [enter[cause] - leave[effect] for cause, effect in ends if enter[cause] > leave[effect]]
    return tuple(value for times in (early, left, back, let) for value in (len(times), max(times, default=0)))


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs(regions=False), st.data())
def test_violations__twin(trace, data):
    """Each location has its own clock, off by up to 50 us."""
    count = len(trace.locations)
    off = np.array(data.draw(st.lists(st.integers(0, 50_000), min_size=count, max_size=count)))[trace.calls.location]
    times = tables.Times(trace.timeline.calls.enter + off, trace.timeline.calls.leave + off)
    moved = dataclasses.replace(trace.timeline, calls=times)
    assert dataclasses.astuple(violations(trace, moved)) == twin(dataclasses.replace(trace, timeline=moved))
