"""Who talked to whom: by hand after MPI 3.1 (3.5 order of messages, 5.12 order of collectives), and against obvious twins."""

import collections

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
from perwiz.trace import matching, matching_collectives, operations
from perwiz.trace.numbers import running, running_of
from perwiz.trace.tables import Calls


def ends(*rows):
    """Return one side of messages from (call, own rank, peer, tag, comm, bytes[, id]); each completes in its own call."""
    full = [(row[0], *row[:6], *(row[6:] or [-1])) for row in rows]
    return matching.Ends(*np.array(full, "i8").reshape(-1, 8).T.copy())


def matched(sends, receives):
    """Return ([(send, receive, bytes)], how many sizes differ)."""
    table, differ = matching.messages(sends, receives, np.zeros(len(sends.call), "u1"))
    return list(zip(table.send.tolist(), table.receive.tolist(), table.bytes.tolist(), strict=True)), differ


def test_teams__behind_the_collectives():
    """Barriers of three teams, one of which disagrees: number 3 calls two routines."""
    b = build.Builder(2)
    one = b.thread(0)
    for place in (0, 0, one, one):
        b.call(place, "omp_barrier")
    b.call(0, "omp_implicit_barrier")
    b.call(one, "omp_barrier")
    b.barrier()
    trace = b.trace()
    found = matching_collectives.CollectiveInstances(trace.collectives, trace.members, unmatched=1, incomplete=0, rootless=0)
    call = np.array([6, 0, 1, 5, 2, 7], "i4")
    joined = matching_collectives.with_teams(found, trace.calls.op, call, np.array([9, 9, 4, 4, 3, 3]))
    assert [operations.OPS[op] for op in joined.collectives.op] == ["MPI_Barrier", "omp_barrier", "omp_barrier"]
    assert (joined.collectives.comm.tolist(), joined.collectives.root.tolist()) == ([0, -1, -1], [-1, -1, -1])
    assert (joined.collectives.first_member.tolist(), joined.members.collective.tolist()) == ([0, 2, 4], [0, 0, 1, 1, 2, 2])
    assert (joined.members.call.tolist(), joined.members.done.tolist()) == ([3, 4, 1, 5, 0, 6], [3, 4, 1, 5, 0, 6])
    assert joined.unmatched == 3


def test_teams__none():
    trace = build.CATALOGUE["one_process"]()
    found = matching_collectives.CollectiveInstances(trace.collectives, trace.members, unmatched=1, incomplete=0, rootless=0)
    joined = matching_collectives.with_teams(found, trace.calls.op, np.empty(0, "i4"), np.empty(0, "i8"))
    assert (joined.collectives, joined.members, joined.unmatched) == (trace.collectives, trace.members, 1)


def test_messages__do_not_overtake():
    """Two of the same kind: first to first."""
    pairs = matched(ends((0, 0, 1, 7, 0, 10), (1, 0, 1, 7, 0, 20)), ends((5, 1, 0, 7, 0, 10), (6, 1, 0, 7, 0, 20)))
    assert pairs == ([(0, 5, 10), (1, 6, 20)], 0)


def test_messages__without_sends():
    """In order of time, too, as locations of a process have it."""
    none, posted = ends(), ends((1, 1, 0, 7, 0, 10), (0, 1, 0, 7, 0, 20))
    for sends, receives in ((none, posted), (posted, none)):
        table, _ = matching.messages(sends, receives, np.zeros(len(sends.call), "u1"), enter=np.array([5, 9]))
        assert len(table) == 0


def test_messages__in_the_order_receives_were_posted():
    """The record of the receive posted second (call 6) comes first, as it was completed first."""
    pairs = matched(ends((0, 0, 1, 7, 0, 10), (1, 0, 1, 7, 0, 20)), ends((6, 1, 0, 7, 0, 20), (5, 1, 0, 7, 0, 10)))
    assert pairs == ([(0, 5, 10), (1, 6, 20)], 0)


@pytest.mark.parametrize(("peer", "tag", "comm"), [(2, 7, 0), (0, 8, 0), (0, 7, 1)])
def test_messages__of_another_partner_tag_or_communicator_do_not_match(peer, tag, comm):
    assert matched(ends((0, 0, 1, 7, 0, 10)), ends((5, 1, peer, tag, comm, 10))) == ([], 0)


def test_messages__by_their_number():
    """Records that carry a number are matched by it, whatever else they say; it does not mix with those that carry none."""
    sends = ends((0, 0, 1, 7, 0, 10, 4), (1, 0, 1, 7, 0, 10, 3), (2, 0, 1, 7, 0, 10))
    receives = ends((5, 1, 0, 7, 0, 10, 3), (6, 1, 0, 9, 2, 10, 4), (7, 1, 0, 7, 0, 10))
    assert matched(sends, receives)[0] == [(0, 6, 10), (1, 5, 10), (2, 7, 10)]


def test_messages__the_receivers_size_counts():
    assert matched(ends((0, 0, 1, 7, 0, 100)), ends((5, 1, 0, 7, 0, 60))) == ([(0, 5, 60)], 1)


def test_messages__sorted_by_sending_call_and_complete():
    """A Sendrecv (call 3) sends after call 2 and receives; what is left over is left out."""
    sends = ends((2, 0, 1, 0, 0, 1), (3, 0, 1, 0, 0, 2), (9, 1, 0, 0, 0, 3), (9, 1, 0, 5, 0, 3))
    receives = ends((3, 0, 1, 0, 0, 3), (7, 1, 0, 0, 0, 1), (8, 1, 0, 0, 0, 2), (8, 1, 0, 0, 0, 2))
    sends.done[0], receives.done[1] = 4, 10
    table, _ = matching.messages(sends, receives, np.array([3, 0, 1, 2], "u1"))
    assert list(zip(table.send, table.send_done, table.receive, table.receive_done, table.mode, strict=True)) == [
        (2, 4, 7, 10, 3),
        (3, 3, 8, 8, 0),
        (9, 9, 3, 3, 1),
    ]


RECORD = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1), st.integers(0, 1))


@given(st.lists(RECORD, max_size=10), st.lists(RECORD, max_size=10))
def test_messages__twin(sent, received):
    queues = collections.defaultdict(collections.deque)
    for call, (rank, *key) in enumerate(sent):
        queues[rank, *key].append(call)
    expected = []
    for call, (rank, peer, *key) in enumerate(received, 100):
        queue = queues[peer, rank, *key]
        if queue:
            expected.append((queue.popleft(), call, 8))
    sides = ([(call, *row, 8) for call, row in enumerate(rows, first)] for rows, first in ((sent, 0), (received, 100)))
    assert matched(*(ends(*rows) for rows in sides)) == (sorted(expected), 0)


@pytest.mark.slow
@given(build.traces())
def test_messages__the_builder_agrees(trace):
    """The builder matches with dictionaries of its own: its records, matched here, make its table."""
    table, calls = trace.messages, trace.calls
    rank = trace.locations.process[calls.location]
    columns = np.array([table.tag, table.comm, table.bytes]).T.tolist()
    pairs = list(zip(table.send, table.receive, columns, strict=True))
    sends = ends(*((s, rank[s], rank[r], *more) for s, r, more in pairs))
    receives = ends(*((r, rank[r], rank[s], *more) for s, r, more in pairs))
    assert matched(sends, receives)[0] == list(zip(table.send.tolist(), table.receive.tolist(), table.bytes.tolist(), strict=True))


def test_requests():
    """An id is used again after its completion; id 5 of the other location is another one; 6 is never completed."""
    posted = [(4, 0, 5), (0, 0, 5), (1, 0, 6), (10, 1, 5)]
    completed = [(12, 1, 5), (7, 0, 5), (2, 0, 5), (8, 0, 9)]
    table = matching.requests(*np.array(posted, "i8").T.copy(), *np.array(completed, "i8").T.copy())
    assert list(zip(table.posted_by.tolist(), table.completed_by.tolist(), strict=True)) == [(0, 2), (1, -1), (4, 7), (10, 12)]


def test_requests__completed_before_they_are_posted():
    """Id 5 is completed at call 1, posted at 2 and 3, completed at 3 (what that call posts counts), 4 and 6, when none is left."""
    posted, completed = [(2, 0, 5), (3, 0, 5), (7, 0, 5)], [(1, 0, 5), (3, 0, 5), (4, 0, 5), (6, 0, 5), (9, 0, 5)]
    table = matching.requests(*np.array(posted, "i8").T.copy(), *np.array(completed, "i8").T.copy())
    assert list(zip(table.posted_by.tolist(), table.completed_by.tolist(), strict=True)) == [(2, 3), (3, 4), (7, 9)]


REQUEST = st.tuples(st.integers(0, 9), st.integers(0, 1), st.integers(0, 2))


@given(st.lists(REQUEST, max_size=10, unique=True), st.lists(REQUEST, max_size=10, unique=True))
def test_requests__twin(posted, completed):
    """One call after the other, what it posts before what it completes."""
    waiting, expected = collections.defaultdict(collections.deque), {}
    for call, completes, location, number in sorted(
        [(call, 0, *rest) for call, *rest in posted] + [(call, 1, *rest) for call, *rest in completed]
    ):
        queue = waiting[location, number]
        if not completes:
            queue.append((call, location, number))
            expected[call, location, number] = -1
        elif queue:
            expected[queue.popleft()] = call
    sides = (np.array(rows, "i8").reshape(-1, 3).T.copy() for rows in (posted, completed))
    table = matching.requests(*[column for side in sides for column in side])
    by_call = sorted(posted, key=lambda row: row[0])
    assert table.posted_by.tolist() == [row[0] for row in by_call]
    assert table.completed_by.tolist() == [expected[row] for row in by_call]


def instances(*rows, processes=3, comms=(), sequence=None, traffic=None, process=None, enter=None):
    """Return (the members of each instance, its root, (unmatched, incomplete, rootless)) of calls (location, routine, comm, root).

    `process` is the rank of each location, if it is not the same.
    """
    rows = sorted(rows, key=lambda row: row[0])
    full = [(rank, operations.OP[f"MPI_{routine}"], *more, *(0, -1)[len(more) :]) for rank, routine, *more in rows]
    none, zero = [-1] * len(rows), [0] * len(rows)
    columns = {name: [row[place] for row in full] for place, name in enumerate(("location", "op", "comm", "root"))}
    calls = build.table(Calls, **columns, path=none, peer=none, tag=none, bytes_sent=zero, bytes_received=zero)
    found = matching_collectives.collectives(
        calls,
        np.arange(len(rows), dtype="i4"),
        np.arange(processes) if process is None else np.array(process),
        np.array(none if sequence is None else sequence, "i8"),
        np.array(zero if traffic is None else traffic, "u1"),
        build.communicators([("world", range(processes)), *comms]),
        np.arange(len(rows)) if enter is None else np.array(enter, "i8"),
    )
    members = [[] for _ in found.collectives.op]
    for number, call in zip(found.members.collective, found.members.call, strict=True):
        members[number].append(int(call))
    first = np.cumsum([0, *map(len, members)])[:-1]
    assert found.collectives.first_member.tolist() == first.tolist()[: len(members)]
    return members, found.collectives.root.tolist(), (found.unmatched, found.incomplete, found.rootless)


def everyone(*calls, processes=3):
    return [(rank, *call) for call in calls for rank in range(processes)]


def test_collectives__kth_with_kth():
    assert instances(*everyone(("Barrier",), ("Scan",))) == ([[0, 2, 4], [1, 3, 5]], [-1, -1], (0, 0, 0))


def test_collectives__other_calls_do_not_count():
    assert instances((0, "Send"), (0, "Barrier"), (1, "Barrier"), (2, "Wait"), (2, "Barrier"))[0] == [[1, 2, 4]]


def test_collectives__each_communicator_counts_for_itself_in_its_own_rank_order():
    rows = [(0, "Barrier", 1), (0, "Scan", 0), (1, "Scan", 0), (2, "Scan", 0), (2, "Barrier", 1)]
    assert instances(*rows, comms=[("pair", [2, 0])])[0] == [[1, 2, 3], [4, 0]]


LARGEST = 2**31 - 1


def test_collectives__a_rank_of_no_communicator_takes_no_memory():
    """A file may name any rank: the largest one is a stranger, and no table has a place for each rank up to it."""
    rows = [(0, "Barrier"), (1, "Barrier"), (2, "Barrier"), (3, "Barrier")]
    assert instances(*rows, process=[0, 1, 2, LARGEST]) == ([[0, 1, 2]], [-1], (1, 0, 0))


@pytest.mark.parametrize("far", [1000, LARGEST - 1])
def test_collectives__ranks_far_apart_match_as_near_ones_do(far):
    rows = [(0, "Barrier", 1), (0, "Scan", 0), (1, "Scan", 0), (2, "Scan", 0), (2, "Barrier", 1), (3, "Barrier", 1)]
    found = instances(*rows, comms=[("pair", [far, 0])], process=[0, 1, far, LARGEST])
    assert found == instances(*rows, comms=[("pair", [7, 0])], process=[0, 1, 7, 8])
    assert found[0][-1] == [4, 0]


def test_collectives__incomplete():
    """Rank 2 logged one barrier less: the last is incomplete."""
    rows = [(0, "Barrier"), (0, "Barrier"), (1, "Barrier"), (1, "Barrier"), (2, "Barrier")]
    assert instances(*rows) == ([[0, 2, 4], [1, 3]], [-1, -1], (0, 1, 0))


def test_collectives__disagreement_spoils_the_rest_of_its_communicator():
    """Ranks 0 and 1 call a Scan where rank 2 calls a Barrier; nobody can know which is which after that. The pair is not touched."""
    rows = [*everyone(("Barrier",)), (0, "Scan"), (1, "Scan"), (2, "Barrier"), *everyone(("Barrier",))]
    rows += [(0, "Barrier", 1), (2, "Barrier", 1)]
    assert instances(*rows, comms=[("pair", [0, 2])]) == ([[0, 4, 7], [3, 10]], [-1, -1], (6, 0, 0))


def test_collectives__disagreement_in_one_communicator_leaves_earlier_ones_alone():
    rows = [(0, "Scan"), (1, "Barrier"), (2, "Barrier"), (0, "Barrier", 1), (1, "Barrier", 1), (0, "Scan", 2), (2, "Barrier", 2)]
    assert instances(*rows, comms=[("a", [0, 1]), ("b", [0, 2])]) == ([[1, 4]], [-1], (5, 0, 0))


def test_collectives__with_sequence_numbers_only_the_wrong_instance_is_lost():
    rows = [*everyone(("Barrier",)), (0, "Scan"), (1, "Scan"), (2, "Barrier"), *everyone(("Barrier",))]
    assert instances(*rows, sequence=[0, 1, 2] * 3)[0] == [[0, 3, 6], [2, 5, 8]]


def test_collectives__repeated_sequence_numbers():
    """A number that comes again on a rank is the next round of it."""
    assert instances(*everyone(("Barrier",), ("Barrier",)), sequence=[4, 4] * 3)[0] == [[0, 2, 4], [1, 3, 5]]


def test_collectives__strangers_and_unknown_communicators_stay_out():
    rows = [(0, "Barrier", 1), (1, "Barrier", 1), (2, "Barrier", 1), (2, "Barrier", -1)]
    assert instances(*rows, comms=[("pair", [0, 2])]) == ([[0, 2]], [-1], (2, 0, 0))


@pytest.mark.parametrize(
    ("routine", "traffic", "root"),
    [
        ("Bcast", [2, 1, 2], 1),
        ("Bcast", [2, 1, 3], 1),
        ("Bcast", [2, 1, 1], -1),
        ("Bcast", [0, 0, 0], -1),
        ("Reduce", [1, 1, 2], 2),
        ("Reduce", [3, 1, 2], 2),
        ("Reduce", [2, 1, 2], -1),
        ("Allreduce", [2, 1, 2], -1),
        ("Scan", [1, 3, 2], -1),
    ],
)
def test_collectives__root_from_internal_traffic(routine, traffic, root):
    """The root of a Bcast is the one member that only sends (1), of a Reduce the one that only receives (2); 3 is both."""
    rootless = int(root < 0 and routine in ("Bcast", "Reduce"))
    assert instances(*everyone((routine,)), traffic=traffic) == ([[0, 1, 2]], [root], (0, 0, rootless))


def test_collectives__a_recorded_root_counts_more():
    assert instances((0, "Bcast", 0, -1), (1, "Bcast", 0, 2), (2, "Bcast", 0, -1), traffic=[1, 2, 2])[1] == [2]


def test_collectives__none():
    assert instances() == ([], [], (0, 0, 0))


def test_collectives__of_threads_count_in_order_of_time():
    """Rank 0 has two threads: the second calls first, so its call goes with the first of rank 1."""
    rows = [(0, "Barrier"), (1, "Barrier"), (2, "Barrier"), (2, "Barrier")]
    assert instances(*rows, processes=2, process=[0, 0, 1], enter=[70, 50, 10, 20])[0] == [[1, 2], [0, 3]]


def test_running_of():
    assert running_of(np.array([3, -1, 3, 0, -1, 3]), 4).tolist() == [0, 0, 1, 0, 1, 2]


def test_running():
    assert running(np.array([0, 0, 1, 0]), np.array([0, 1, 0, 0])).tolist() == [0, 0, 0, 1]
