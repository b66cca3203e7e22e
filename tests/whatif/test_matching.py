"""Which choices among messages a predicted run would make otherwise: by hand, against looking at every pair, and on random traces."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from build import ANY, Builder, hand_model
from perwiz.trace import operations
from perwiz.whatif.matching import matching
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed


def choices(trace, *texts):
    """Return the matching of a prediction."""
    return predict(trace, list(texts), hand_model(), clock="none").matching


def posted(trace, row, **columns):
    """Return the trace with some columns of one call changed."""
    calls = trace.calls
    changed = {name: getattr(calls, name).copy() for name in columns}
    for name, value in columns.items():
        changed[name][row] = value
    return dataclasses.replace(trace, calls=dataclasses.replace(calls, **changed))


def two_senders(first=2, tags=(0, 0), **settings):
    """Rank 1 sends at 9000, rank 2 at 4500; rank 0 receives first from `first`: e0, then e1 from the other."""
    b = Builder(3, **settings)
    for rank in (1, 2):
        b.compute(rank, 9000 // rank)
        b.send(rank, 0, 50, tag=tags[rank - 1])
    for rank in (first, 3 - first):
        b.recv(0, rank, tag=tags[rank - 1], wildcard=True)
    return b.trace()


@pytest.mark.parametrize(
    ("speed", "receives"),
    [
        ("speed rank:1=1.5", []),  # 6000, still behind 4500
        ("speed rank:1=2", []),  # both at 4500: a tie is no reversal
        ("speed rank:1=2.01", [0]),  # 4478 comes first, and e0 would get it; e1 takes what is left
        ("speed rank:2=0.4", [0]),  # the other one comes at 11250
    ],
)
def test_any_source(speed, receives):
    found = choices(two_senders(), speed)
    assert (found.wildcards, found.receives.tolist(), found.already) == (2, receives, 0)
    assert (found.waits, len(found.completions)) == (0, 0)
    assert found.changed == bool(receives)


def test_without_hypothesis_nothing_changes():
    found = choices(two_senders())
    assert (found.wildcards, found.changed, found.already) == (2, False, 0)


@pytest.mark.parametrize(
    ("peer", "tag", "receives"),
    [
        (ANY, 5, []),  # asks for tag 5, the other message has 6
        (2, ANY, []),  # asks for rank 2
        (ANY, ANY, [0]),
        (2, 5, []),  # asks for all by name
    ],
)
def test_what_fits(peer, tag, receives):
    """e0 got tag 5 from rank 2; the message of rank 1 with tag 6, which now comes first, must fit what e0 asked for."""
    trace = posted(two_senders(tags=(6, 5)), 0, peer=peer, tag=tag)
    assert choices(trace, "speed rank:1=3").receives.tolist() == receives


def test_same_tag_of_any_source():
    trace = posted(two_senders(tags=(5, 5)), 0, peer=ANY, tag=5)
    assert choices(trace, "speed rank:1=3").receives.tolist() == [0]


def test_other_communicator_does_not_fit():
    b = Builder(3)
    other = b.comm("other", [0, 1, 2])
    for rank in (1, 2):
        b.compute(rank, 9000 // rank)
        b.send(rank, 0, 50, comm=other if rank == 1 else 0)
    b.recv(0, 2, wildcard=True)
    b.recv(0, 1, comm=other, wildcard=True)
    assert not choices(b.trace(), "speed rank:1=3").changed


def test_who_receives_by_name_first_keeps_its_message():
    """e0 asks for rank 1, e1 for anybody: the message of rank 1 is gone, whenever it comes."""
    b = Builder(3)
    for rank in (1, 2):
        b.compute(rank, 9000 // rank)
        b.send(rank, 0, 50)
    b.recv(0, 1)
    b.recv(0, 2, wildcard=True)
    assert not choices(b.trace(), "speed rank:1=3").changed


def test_probe():
    """A probe for anybody, then a receive by name of what it found: the probe would find another message, so the program take it."""
    b = Builder(3)
    for rank in (1, 2):
        b.compute(rank, 9000 // rank)
        b.send(rank, 0, 50)
    b.call(0, "Probe", peer=ANY, tag=ANY, comm=0)
    b.recv(0, 2)
    b.recv(0, 1)
    found = choices(b.trace(), "speed rank:1=3")
    assert (found.wildcards, found.receives.tolist()) == (1, [0])


def test_recorded_times_that_say_so_already():
    """Rank 1 sent first, yet e0 got the message of rank 2: that the prediction says the same is no news."""
    trace = two_senders(first=1)
    found = choices(trace, "speed rank:1=1.1")
    assert (found.receives.tolist(), found.already) == ([], 1)


def waiting(routine, **settings):
    """Rank 0 posts two receives and completes e2 (from rank 2, ready at 4500 + 62), then e3 (rank 1, 9000 + 62), any of several."""
    b = Builder(3, **settings)
    requests = [b.irecv(0, rank) for rank in (1, 2)]
    for rank in (1, 2):
        b.compute(rank, 9000 // rank)
        b.send(rank, 0, 50)
    for request in requests[::-1]:
        b.wait(0, request)
    trace = b.trace()
    return posted(posted(trace, 2, op=operations.OP[routine]), 3, op=operations.OP[routine])


@pytest.mark.parametrize("routine", ["MPI_Waitany", "MPI_Waitsome", "MPI_Testany", "MPI_Testsome"])
def test_any_of_several_requests(routine):
    found = choices(waiting(routine), "speed rank:1=3")
    assert (found.wildcards, found.waits, found.completions.tolist()) == (0, 2, [2])
    assert found.changed
    assert not choices(waiting(routine), "speed rank:1=1.5").changed


def test_all_requests_leave_no_choice():
    found = choices(waiting("MPI_Wait"), "speed rank:1=3")
    assert (found.waits, found.changed) == (0, False)


def test_a_zeroed_wait_got_what_it_waited_for():
    """Nobody waits: e0, or e2, has its message before that of rank 1 comes, though that is sent first."""
    at_once = two_senders(latency=0, work=100)
    assert choices(at_once, "speed rank:1=2.01").receives.tolist() == [0]
    assert not choices(at_once, "speed rank:1=2.01", "zero-wait e0").changed
    at_once = waiting("MPI_Waitany", latency=0, work=100)
    assert choices(at_once, "speed rank:1=2.01").completions.tolist() == [2]
    assert not choices(at_once, "speed rank:1=2.01", "zero-wait e2").changed


def test_a_request_posted_later_is_no_choice():
    """The message of rank 1 is there first, but its receive is posted behind e1, the wait for the other."""
    b = Builder(3)
    for rank in (1, 2):
        b.compute(rank, 9000 // rank)
        b.send(rank, 0, 50)
    b.wait(0, b.irecv(0, 2))
    b.wait(0, b.irecv(0, 1))
    trace = b.trace()
    trace = posted(posted(trace, 1, op=operations.OP["MPI_Waitany"]), 3, op=operations.OP["MPI_Waitany"])
    found = choices(trace, "speed rank:1=3")
    assert (found.waits, found.changed) == (2, False)


def test_in_another_order_of_calls():
    """e1 and e2, which take any message, run before e0: what they would have got otherwise is named by their recorded rows."""
    b = Builder(3)
    for rank in (1, 2):
        b.compute(rank, 9000 // rank)
        b.send(rank, 0, 50)
    b.call(0, "Comm_rank")
    for rank in (2, 1):
        b.recv(0, rank, wildcard=True)
    trace = b.trace()
    assert choices(trace, "move e1..e2 before e0", "speed rank:1=3").receives.tolist() == [1]
    assert not choices(trace, "move e1..e2 before e0").changed


def naive(side):
    """Return the calls whose choice the times contradict, by looking at all pairs."""
    trace, enter, table = side.trace, side.time[side.graph.entered], side.trace.messages
    calls, found = trace.calls, set()
    for m in range(len(table)):
        e = table.receive[m]
        if operations.KIND[calls.op[e]] not in (operations.RECV, operations.IRECV) or ANY not in (calls.peer[e], calls.tag[e]):
            continue
        for n in range(len(table)):
            later = table.receive[n] > e and calls.location[table.receive[n]] == calls.location[e] and table.comm[n] == table.comm[m]
            source = calls.location[table.send[n]] == calls.location[table.send[m]] or calls.peer[e] == ANY
            tag = table.tag[n] == table.tag[m] or calls.tag[e] == ANY
            came = min(enter[table.send[m]], side.time[side.graph.returned][table.receive_done[m]])
            if later and source and tag and enter[table.send[n]] < came:
                found.add(int(e))
    return found


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs(regions=False), st.data())
def test_against_all_pairs(trace, data):
    """Times drawn at random, for wildcards of every kind."""
    receives = np.flatnonzero(np.isin(operations.KIND[trace.calls.op], (operations.RECV, operations.IRECV)))
    for row in receives.tolist():
        wild = data.draw(st.sampled_from([{}, {"peer": ANY}, {"tag": ANY}, {"peer": ANY, "tag": ANY}]))
        trace = posted(trace, row, **wild)
    rows = len(trace.calls)
    enter = np.array(data.draw(st.lists(st.integers(0, 6), min_size=rows, max_size=rows)), "i8")
    was = replayed(trace, hand_model(), "none")
    time = was.time.copy()
    time[was.graph.entered] = enter
    now = dataclasses.replace(was, swept=time, as_recorded=False)
    found = matching(was, now)
    assert set(found.receives.tolist()) == naive(now) - naive(was)
    assert found.already == len(naive(was))
