"""The figures of a correction: by hand, and counted one by one on random times (Becker et al. 2009, section 6, Tables 3 and 4)."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
import naive_clock
from build import Builder
from perwiz.clock.figures import Deviation, figures
from perwiz.clock.latency import Latencies
from perwiz.clock.logical import correct
from perwiz.clock.pairs import Pairs, links, logical, messages
from perwiz.clock.roles import roles
from perwiz.trace import operations
from perwiz.trace.tables import Times
from perwiz.trace.trace import Timeline


def test_worked_by_hand():
    """A message sent at 6000 that returned at 5000, another that took its time; locations run 10 000 and 20 000."""
    b = Builder(2)
    b.begin, b.end = {0: 0, 1: 0}, {0: 10_000, 1: 20_000}
    b.send(0, 1, at=(6_000, 7_000))
    b.send(0, 1, at=(8_000, 8_500))
    b.recv(1, 0, at=(4_900, 5_000))
    b.recv(1, 0, at=(8_000, 9_000))
    found = figures(correct(b.trace(), mu=0, gamma=1))
    # The entry before the jump of 1000 at 5000 moves by 1000 * 4900/5000 = 980, what comes behind it by 1000.
    assert found.messages_before == Pairs(2, 1, 1, 1000, 1000)
    assert found.messages_before.percent(found.messages_before.reversed) == 50
    assert found.messages_after == found.records_after == Pairs(2, 0, 0, 0, 0)
    assert found.records_before == found.messages_before
    assert found.collectives_before == found.collectives_after == Pairs(0, 0, 0, 0, 0)
    assert (found.corrected_by_message, found.corrected_by_collective) == (1, 0)
    assert (found.events, found.moved, found.largest_displacement) == (8, 4, 1000)
    assert found.average_displacement == pytest.approx((980 + 3 * 1000) / 4)
    # Intervals of rank 1: 4900 (+ 980), 100 (+ 20), 3000, 1000, 11 000; of rank 0 six thousand and so on, unchanged.
    assert found.distance == Deviation(
        average=1000 / 30_000,
        mean=pytest.approx(2 * 0.2 / 10),
        maximum=pytest.approx(0.2),
        intervals=(0.2, 0.2, 0.2, 0.2, 0.2, 0),
        time=(*[5000 / 30_000] * 5, 0),
    )
    assert found.position.maximum == pytest.approx(0.2)
    positions = 6000 + 7000 + 8000 + 8500 + 10_000, 4900 + 5000 + 8000 + 9000 + 20_000
    assert found.position.average == pytest.approx((980 + 4 * 1000) / sum(positions))
    assert found.slope == pytest.approx(0.2)


def test_records__worked_by_hand():
    """Of two messages one is reversed by its records alone, by 200, the other too early by the latency of 50; calls take 1900 and 240."""
    b = Builder(2, record=100)
    b.send(0, 1, at=(1000, 1500))
    b.send(0, 1, at=(2000, 2500))
    b.recv(1, 0, at=(500, 1000))
    b.recv(1, 0, at=(2100, 2240))
    found = figures(correct(b.trace(), mu=50, gamma=1))
    assert (found.messages_before, found.records_before) == (Pairs(2, 0, 1, 0, 0), Pairs(2, 1, 2, 200, 200))
    assert found.messages_after == found.records_after == Pairs(2, 0, 0, 0, 0)
    # The first receive returns 100 + 50 + 100 behind the entry of its send, the second moves with it, by 250, and is far enough then.
    assert found.largest_displacement == 250
    assert found.corrected_by_message == 1


def test_regions_are_events():
    b = Builder(1)
    with b.region(0, "a"):
        b.call(0, "Wtime")
    found = figures(correct(b.trace()))
    assert (found.events, found.moved, found.average_displacement, found.largest_displacement) == (4, 0, 0, 0)


def test_nothing():
    found = figures(correct(build.empty()))
    assert found.distance == found.position == Deviation(0, 0, 0, (0,) * 6, (0,) * 6)
    assert found.messages_before.average == 0


@pytest.mark.parametrize(
    ("routine", "root", "expected"),
    [
        # Entered at 100, 400, 250; left at 110, 410, 260; latency 161. Reversed: 1 -> 0 by 290, 2 -> 0 by 140, 1 -> 2 by 140.
        # Too short: 0 -> 2 and 2 -> 1 with 160. 0 -> 1 takes 310.
        ("Barrier", None, Pairs(6, 3, 5, 570, 290)),
        ("Bcast", 1, Pairs(2, 2, 2, 430, 290)),
        ("Bcast", 2, Pairs(2, 1, 2, 140, 140)),
        ("Reduce", 0, Pairs(2, 2, 2, 430, 290)),
        # Each after those before it: 0 -> 1, 0 -> 2, 1 -> 2.
        ("Scan", None, Pairs(3, 1, 2, 140, 140)),
        ("Alltoallv", None, Pairs(0, 0, 0, 0, 0)),
    ],
)
def test_logical_messages(routine, root, expected):
    b = Builder(3)
    b.everyone(routine, root=root, bytes=8, at=[(100, 110), (400, 410), (250, 260)])
    trace = b.trace()
    assert logical(trace, trace.timeline, Latencies(161, 161, 161)) == expected


def places(locations):
    return list(zip(*(column.tolist() for column in (locations.process, locations.node, locations.metahost)), strict=True))


def link_pairs(trace, timeline):
    """Yield (pair class, time from cause to effect) of every link between two locations."""
    for cause, effect in zip(trace.links.cause, trace.links.effect, strict=True):
        far = naive_clock.distance(places(trace.locations), trace.calls.location[cause], trace.calls.location[effect])
        if far:
            yield far, int(timeline.calls.leave[effect] - timeline.calls.enter[cause])


def logical_pairs(trace, timeline):
    """Yield (pair class, time from cause to effect) of every logical message."""
    sends, receives = roles(trace)
    members, locations = trace.members, trace.locations
    place = places(locations)
    for i in np.flatnonzero(receives):
        prefix = operations.KIND[trace.collectives.op[members.collective[i]]] == operations.PREFIX
        for k in np.flatnonzero(sends & (members.collective == members.collective[i])):
            if k < i or (k != i and not prefix):
                far = naive_clock.distance(place, trace.calls.location[members.call[k]], trace.calls.location[members.call[i]])
                yield far, int(timeline.calls.leave[members.done[i]] - timeline.calls.enter[members.call[k]])


def message_pairs(trace, timeline, records=False):
    """Yield (pair class, time from cause to effect) of every message between two locations, from record to record or by calls."""
    place = places(trace.locations)
    table = trace.messages
    for send, done, after, before in zip(table.send, table.receive_done, table.sent_after, table.received_before, strict=True):
        far = naive_clock.distance(place, trace.calls.location[send], trace.calls.location[done])
        if far:
            yield far, int(timeline.calls.leave[done] - timeline.calls.enter[send]) - records * int(after + before)


def counted(pairs, mu):
    pairs = list(pairs)
    back = [-lag for _, lag in pairs if lag < 0]
    return Pairs(len(pairs), len(back), sum(lag < mu[far] for far, lag in pairs), sum(back), max(back, default=0))


@pytest.mark.slow
@settings(max_examples=40)
@given(naive_clock.traces(regions=False), st.sampled_from([(0, 0, 0), (1000, 1000, 1000), (20, 3000, 3000), (20, 3000, 60_000)]), st.data())
def test_pairs__twin(trace, mu, data):
    count = len(trace.locations)
    drawn = [data.draw(st.lists(st.integers(0, 1), min_size=count, max_size=count)) for _ in range(2)]
    node, metahost = (np.array(of_process, "i4")[trace.locations.process] for of_process in drawn)
    locations = dataclasses.replace(trace.locations, node=node - 1, metahost=metahost)
    trace = dataclasses.replace(trace, locations=locations)
    off = np.array(data.draw(st.lists(st.integers(0, 50_000), min_size=count, max_size=count)), "i8")[trace.calls.location]
    calls = trace.timeline.calls
    timeline = Timeline(Times(calls.enter + off, calls.leave + off), trace.timeline.regions, trace.timeline.locations)
    latencies = Latencies(*mu)
    assert messages(trace, timeline, latencies) == tuple(counted(message_pairs(trace, timeline, by), (0, 0, *mu)) for by in (False, True))
    assert logical(trace, timeline, latencies) == counted(logical_pairs(trace, timeline), (0, 0, *mu))
    assert links(trace, timeline, latencies) == counted(link_pairs(trace, timeline), (0, 0, *mu))


def test_pairs__add():
    assert Pairs(1, 2, 3, 4, 5) + Pairs(10, 20, 30, 40, 2) == Pairs(11, 22, 33, 44, 5)
    assert Pairs(10, 2, 3, 5, 4).average == 2.5
