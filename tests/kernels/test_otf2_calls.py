"""Records of a location to calls, regions, message records and requests: a stack of open regions, against the naive twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_otf2 as naive
from perwiz.formats.otf2.library.events import OTHERS
from perwiz.kernels import otf2_calls as kernel
from perwiz.kernels import otf2_rows
from perwiz.kernels import records as row

OP_OF = [11, 12, -1, -1, -1, 13, 0]
"""Regions 0, 1, 5 and 6 are MPI routines, the last one that nobody knows; 2 to 4 are the user's."""
SEND, WAIT, WORK, LOOP, STEP, BCAST, NEW = range(7)
BARE = [*range(100, 114), *range(200, 220)]
BARRIER, LAST = 0, 19
NUMBERS = 4
"""Requests are numbered below this."""
COUNTS = ["pairs", "internal", "backwards", "not_open", "not_posted", "never_ends"]
CALL = ["enter", "leave", "op", "region", "peer", "tag", "comm", "root", "sent", "received", "bits"]
REGION = ["enter", "leave", "name", "parent", "first_call", "end_call"]
MESSAGE = ["call", "kind", "peer", "tag", "comm", "bytes", "request", "time"]
REQUEST = ["posted", "done", "cancelled"]
"""The columns in the order of the twin."""


ON_A_THREAD = {
    row.THREAD_FORK: 120,
    row.THREAD_JOIN: 121,
    row.TEAM_BEGIN: 122,
    row.TEAM_END: 122,
    row.ACQUIRE_LOCK: 123,
    row.RELEASE_LOCK: 124,
    row.TASK_CREATE: 125,
    row.TASK_SWITCH: 126,
    row.TASK_COMPLETE: 124,
    row.THREAD_CREATE: 127,
    row.THREAD_BEGIN: 128,
    row.THREAD_WAIT: 129,
    row.THREAD_END: 128,
}
ON_A_STREAM = dict.fromkeys((row.RMA_PUT, row.RMA_GET, row.RMA_BLOCKING, row.RMA_NONBLOCKING), 140)
"""Ops of calls that records make, per kind."""
FORK, JOIN, IDLE, LOCK, RELEASE, TASK = 120, 121, 122, 123, 124, 126
BARRIER_OP, TASKWAIT_OP, CRITICAL_OP, MUTEX_OP = 130, 131, 132, 133
OP_OF_THREADS = [*OP_OF, BARRIER_OP, TASKWAIT_OP, CRITICAL_OP, RELEASE, MUTEX_OP, -1, -1, -1, -1, -1]
MEET, TASKWAIT, CRITICAL, UNSET, MUTEX, PARALLEL, IMPLICIT, NOWHERE, PUT, GET = range(7, 17)
"""Further regions of a program with threads; the last three are an undefined one and copies of devices."""
PARTS = [0] * 12 + [row.FORKS, row.BEGINS, 0, 0, 0]
MANNERS = dict.fromkeys((FORK, JOIN, IDLE, LOCK, RELEASE, 125, TASK, CRITICAL_OP), row.GIVES_WAY)
MANNERS |= dict.fromkeys((BARRIER_OP, TASKWAIT_OP), row.WAITS) | dict.fromkeys((127, 128, 129, MUTEX_OP), row.TAKES)


def room(dtype, rows):
    return np.full(rows, np.array(77, "i8").astype(dtype)).view(np.recarray)


def run(events, batch=None, ops=None, on_stream=False):
    """Return what the kernel makes of events (kind, time, reference, communicator, tag, amount, received, number), as the twin does.

    `ops` are those of records of threads or devices, per kind, if the location has such.
    """
    size = len(events)
    state = np.zeros(1, otf2_rows.STATE).view(np.recarray)
    for name in ("open", "innermost", "forked", "ended", "idle"):
        state[name] = -1
    state["clock"], state["collective_time"], state["quiet"] = np.iinfo("i8").min, 0, row.UNSAID
    stack, teams, calls, regions = (
        room(otf2_rows.FRAME, size),
        room(otf2_rows.TEAM, size),
        room(otf2_rows.CALL, 3 * size + 1),
        room(otf2_rows.REGION, size),
    )
    messages, requests = room(otf2_rows.MESSAGE, size), room(otf2_rows.REQUEST, max(size, NUMBERS))
    open_requests = np.full(NUMBERS, -1, "i4")
    rows = cells(events)
    op_of, part_of, op_of_kind = tables(ops, on_stream)
    manner = np.array([MANNERS.get(op, row.WHOLE) for op in range(256)], "u1")
    for first in range(0, size, batch or max(size, 1)):
        kernel.calls(
            rows[first : first + (batch or size)],
            np.array(op_of, "i4"),
            np.array(part_of, "u1"),
            manner,
            op_of_kind,
            np.array(BARE[14:], "i4"),
            *(state, stack, teams, calls, regions, messages, requests, open_requests),
        )
    said = [
        said[: 3 + (kind == row.METRIC)] if kind >= row.METRIC else None
        for kind, *said in rows[["kind", "calls", "inside", "region", "request"]].tolist()
    ]
    kernel.close(state, stack, teams, calls, regions, np.array(op_of, "i4"), manner)
    out = [
        table[: state[count][0]][columns].tolist()
        for table, count, columns in (
            *((calls, "calls", CALL), (regions, "regions", REGION)),
            *((messages, "messages", MESSAGE), (requests, "requests", REQUEST)),
        )
    ]
    return [said and tuple(said) for said in said], *out, [*state[COUNTS][0].tolist()]


def tables(ops, on_stream):
    """Return op and part per region, and op per kind of record."""
    op_of, part_of = (OP_OF_THREADS, PARTS) if ops else (OP_OF, [0] * len(OP_OF))
    if on_stream:
        op_of, part_of = [-1] * len(op_of), [0] * len(op_of)
    op_of_kind = np.full(row.KINDS, -1, "i4")
    op_of_kind[:14] = BARE[:14]
    op_of_kind[list(ops or ())] = list((ops or {}).values())
    return op_of, part_of, op_of_kind


def cells(events):
    rows = room(row.RECORD, len(events))
    for number, name in enumerate(("kind", "time", "reference", "communicator", "tag", "amount", "received", "number")):
        rows[name] = [event[number] for event in events]
    return rows


def twin(events, ops=None, on_stream=False):
    op_of, part_of, _ = tables(ops, on_stream)
    location = naive.Location(op_of, (BARE, ops or {}), part_of, MANNERS)
    said = [location.record(*event) for event in events]
    ends = location.close()
    return said, *location.rows(), [*location.counts(), ends]


def at(time, kind, a=0, b=0, c=0, d=0, f=0, request=-1):
    return kind, time, a, b, c, d, f, request


def timed(*records):
    """Return records (kind, arguments by name) one tick apart."""
    return [at(time, kind, **fields) for time, (kind, fields) in enumerate(records)]


def enter(region):
    return row.ENTER, {"a": region}


def leave(region):
    return row.LEAVE, {"a": region}


def message(kind, size, request=-1, peer=9):
    return kind, {"a": peer, "b": 5, "c": 6, "d": size, "request": request}


def of_request(kind, request):
    return kind, {"request": request}


REQUESTING = (row.ISEND, row.ISEND_COMPLETE, row.IRECV_REQUEST, row.IRECV, row.REQUEST_TEST, row.REQUEST_CANCELLED)
REQUESTING += (row.NONBLOCKING_REQUEST, row.NONBLOCKING_COMPLETE)


@st.composite
def event(draw):
    """Draw a record that makes sense by itself, not always where it stands."""
    kind = draw(
        st.sampled_from(
            [
                *range(14),
                row.ENTER,
                row.LEAVE,
                row.ENTER,
                row.LEAVE,
                row.METRIC,
                row.BUFFER_FLUSH,
                row.OTHER_KIND,
            ]
        )
    )
    a = draw(st.integers(0, 6)) if kind <= row.LEAVE else draw(st.sampled_from([-1, 0, 3, 19]))
    if kind in (row.COLLECTIVE_END, row.NONBLOCKING_COMPLETE):
        a = draw(st.integers(0, LAST))
    request = draw(st.integers(0, NUMBERS - 1)) if kind in REQUESTING else -1
    b, c, d, f = draw(st.integers(-1, 2)), draw(st.integers(-3, 2)), draw(st.integers(0, 40)), draw(st.integers(0, 40))
    return kind, draw(st.integers(-20, 60)), a, b, c, d, f, request


@st.composite
def lists_of_events(draw):
    """Draw records; before a collective record, as always, something says that it begins."""
    events = draw(st.lists(event(), max_size=25))
    return [at(-20, row.COLLECTIVE_BEGIN), *events] if any(kind == row.COLLECTIVE_END for kind, *_ in events) else events


EVENTS = lists_of_events()


@st.composite
def thread_event(draw):
    """Draw a record of a thread or a stream."""
    kinds = [row.ENTER, row.LEAVE] * 4 + [*ON_A_THREAD, *ON_A_STREAM, row.TASK_SWITCH, row.TASK_COMPLETE, row.SEND, row.METRIC]
    kind = draw(st.sampled_from([*kinds, row.OTHER_KIND + 1]))
    a = draw(st.sampled_from([SEND, WORK, LOOP, *range(MEET, PUT)])) if kind <= row.LEAVE else 0
    return kind, draw(st.integers(0, 60)), a, 0, draw(st.integers(0, 1)), 0, 0, -1


@pytest.mark.slow
@pytest.mark.parametrize(("ops", "on_stream"), [(ON_A_THREAD, False), (ON_A_STREAM, True)])
@pytest.mark.parametrize("ordered", [True, False])
@settings(max_examples=50)
@given(st.lists(thread_event(), max_size=25), st.integers(1, 30))
def test_calls__twin_of_threads(ops, on_stream, ordered, events, batch):
    if ordered:
        events = [(kind, 2 * time, *rest) for time, (kind, _, *rest) in enumerate(events)]
    assert run(events, batch, ops, on_stream) == twin(events, ops, on_stream)


@pytest.mark.slow
@given(EVENTS)
def test_calls__twin(events):
    assert run(events) == twin(events)


@pytest.mark.slow
@given(EVENTS)
def test_calls__twin_in_order_of_time(events):
    ordered = [(kind, time, *rest) for time, (kind, _, *rest) in enumerate(events)]
    assert run(ordered) == twin(ordered)


@pytest.mark.slow
@given(EVENTS, st.integers(1, 5))
def test_calls__in_several_pieces(events, batch):
    assert run(events, batch) == run(events)


def test_calls__requests():
    """Two posted, completed in the other order; times below.

    0 [1 Isend(7) ]2   3 [4 post(8) ]5   6 [7 Irecv(8) done, 8 Isend(7) done ]9
    """
    events = timed(
        *(enter(SEND), message(row.ISEND, 10, 1), leave(SEND)),
        *(enter(SEND), of_request(row.IRECV_REQUEST, 2), leave(SEND)),
        *(enter(WAIT), message(row.IRECV, 20, 2, peer=8), of_request(row.ISEND_COMPLETE, 1), leave(WAIT)),
    )
    found = run(events)
    assert found == twin(events)
    assert found[1:] == (
        [
            (0, 2, 11, -1, 9, 6, 5, -1, 10, 0, 0),
            (3, 5, 11, -1, 8, 6, 5, -1, 0, 0, 0),
            (6, 9, 12, -1, -1, -1, -1, -1, 0, 20, 0),
        ],
        [],
        [(0, row.SENT, 9, 6, 5, 10, 0, 1), (2, row.RECEIVED, 8, 6, 5, 20, 1, 7)],
        [(0, 2, 0), (1, 2, 0)],
        [3, 0, 0, 0, 0, 0],
    )


def test_calls__a_number_used_again():
    """A request posted under a number that is still open stays without completion; the next completion is the new one's."""
    events = timed(
        *(enter(SEND), message(row.ISEND, 1, 0), message(row.ISEND, 2, 0), leave(SEND)),
        *(enter(WAIT), of_request(row.ISEND_COMPLETE, 0), of_request(row.ISEND_COMPLETE, 0), leave(WAIT)),
        *(enter(SEND), message(row.ISEND, 3, 0), leave(SEND), enter(WAIT), of_request(row.REQUEST_CANCELLED, 0), leave(WAIT)),
    )
    found = run(events)
    assert found == twin(events)
    assert found[4] == [(0, -1, 0), (0, 1, 0), (2, 3, 1)]
    assert found[5] == [4, 0, 0, 0, 1, 0]


def test_calls__tests():
    """A test finds the open request not complete; one of a request that is not open says nothing."""
    events = timed(
        *(enter(SEND), of_request(row.IRECV_REQUEST, 3), leave(SEND)),
        *(enter(WAIT), of_request(row.REQUEST_TEST, 3), of_request(row.REQUEST_TEST, 1), leave(WAIT)),
    )
    found = run(events)
    assert found == twin(events)
    assert [(line[0], line[1], line[6]) for line in found[3]] == [(1, row.INCOMPLETE, 0)]
    assert found[5] == [2, 0, 0, 0, 0, 0]


def test_calls__a_receive_that_nobody_posted_is_still_a_message():
    events = timed(enter(WAIT), message(row.IRECV, 20, 2), leave(WAIT))
    found = run(events)
    assert found == twin(events)
    assert (found[1][0], found[3], found[5][4]) == ((0, 2, 12, -1, -1, -1, -1, -1, 0, 20, 0), [(0, row.RECEIVED, 9, 6, 5, 20, -1, 1)], 1)


def test_calls__of_several_partners_the_first_counts():
    events = timed(enter(SEND), message(row.SEND, 1, peer=3), message(row.RECV, 2, peer=4), message(row.SEND, 5, peer=6), leave(SEND))
    found = run(events)
    assert found == twin(events)
    assert (found[1], [line[2] for line in found[3]]) == ([(0, 4, 11, -1, 3, 6, 5, -1, 6, 2, 0)], [3, 4, 6])


def test_calls__collectives():
    """A blocking one keeps the call's record; that of a non-blocking one goes to the call which posted it."""
    events = timed(
        *(enter(BCAST), (row.COLLECTIVE_BEGIN, {}), (row.COLLECTIVE_END, {"a": 1, "b": 4, "c": 2, "d": 8, "f": 16}), leave(BCAST)),
        *(enter(BCAST), of_request(row.NONBLOCKING_REQUEST, 0), leave(BCAST), enter(WAIT)),
        *((row.NONBLOCKING_COMPLETE, {"a": 0, "b": 3, "c": -1, "d": 1, "f": 2, "request": 0}), leave(WAIT)),
    )
    found = run(events)
    assert found == twin(events)
    assert found[1] == [
        (0, 3, 13, -1, -1, -1, 4, 2, 8, 16, 2),
        (4, 6, 13, -1, -1, -1, 3, -1, 1, 2, 2),
        (7, 9, 12, -1, -1, -1, -1, -1, 0, 0, 0),
    ]
    assert (found[3], found[4]) == ([], [(1, 2, 0)])


def test_calls__completion_of_an_unknown_collective_goes_nowhere():
    events = timed(enter(WAIT), (row.NONBLOCKING_COMPLETE, {"a": 0, "b": 3, "c": 1, "d": 1, "f": 2, "request": 0}), leave(WAIT))
    found = run(events)
    assert found == twin(events)
    assert (found[1], found[5]) == ([(0, 2, 12, -1, -1, -1, -1, -1, 0, 0, 0)], [1, 0, 0, 0, 1, 0])


def test_calls__records_outside_any_call():
    """Each is a call of no length with the op of its record; a collective lasts from its begin record."""
    events = timed(
        *(enter(WORK), message(row.SEND, 10), of_request(row.IRECV_REQUEST, 0), message(row.IRECV, 20, 0)),
        *(
            (row.COLLECTIVE_BEGIN, {}),
            (row.METRIC, {}),
            (row.COLLECTIVE_END, {"a": LAST, "b": 4, "c": 2, "d": 8, "f": 16}),
            leave(WORK),
        ),
    )
    found = run(events)
    assert found == twin(events)
    assert found[1] == [
        (1, 1, 100 + row.SEND, 0, 9, 6, 5, -1, 10, 0, 1),
        (2, 2, 100 + row.IRECV_REQUEST, 0, 9, 6, 5, -1, 0, 0, 1),
        (3, 3, 100 + row.IRECV, 0, -1, -1, -1, -1, 0, 20, 1),
        (4, 6, 200 + LAST, 0, -1, -1, 4, 2, 8, 16, 3),
    ]
    assert (found[2], found[0][5]) == ([(0, 7, WORK, -1, 0, 4)], (3, 0, 0, 1))


def test_calls__nested():
    """MPI inside MPI is no call; what it records belongs to the outer one, also when the inner one ends later."""
    events = timed(
        *(enter(BCAST), enter(SEND), message(row.SEND, 10), leave(SEND), leave(BCAST)),
        *(enter(SEND), enter(WAIT), leave(SEND), message(row.SEND, 30), leave(WAIT)),
    )
    found = run(events)
    assert found == twin(events)
    assert [line[:3] for line in found[1]] == [(0, 4, 13), (5, 7, 11), (8, 8, 100 + row.SEND)]
    assert [line[0] for line in found[3]] == [0, 2]
    assert found[5] == [4, 2, 0, 0, 0, 0]


def test_calls__routine_that_nobody_knows():
    """It is a call like others, or inside one."""
    events = timed(enter(NEW), enter(NEW), leave(NEW), leave(NEW), enter(WORK), leave(WORK))
    found = run(events)
    assert found == twin(events)
    assert ([line[:3] for line in found[1]], len(found[2]), found[5][:2]) == ([(0, 3, 0)], 1, [3, 1])


def test_calls__regions():
    """Recursion, a region inside a call, and an improper nesting that leaves the inner one open.

    work loop loop' [call step] loop'-end work-end loop-end
    """
    events = timed(
        *(enter(WORK), enter(LOOP), enter(LOOP), enter(SEND), enter(STEP), leave(STEP), leave(SEND)),
        *(leave(LOOP), leave(WORK), enter(SEND), leave(SEND), leave(LOOP)),
    )
    found = run(events)
    assert found == twin(events)
    assert found[2] == [(0, 8, WORK, -1, 0, 1), (1, 11, LOOP, 0, 0, 2), (2, 7, LOOP, 1, 0, 1), (4, 5, STEP, 2, 1, 1)]
    assert [line[3] for line in found[1]] == [2, 1]


def test_calls__region_that_ends_inside_a_call():
    """It ends there, but the call goes on and is one of its calls."""
    events = timed(enter(WORK), enter(SEND), leave(WORK), (row.METRIC, {}), message(row.SEND, 1), leave(SEND))
    found = run(events)
    assert found == twin(events)
    assert (found[2], found[1][0][:4], found[0][3]) == ([(0, 2, WORK, -1, 0, 1)], (1, 5, 11, 0), (1, 1, -1, 1))


def test_calls__other_records():
    """How many calls were entered, whether one is open, and for kinds below OTHER_KIND the innermost region."""
    events = timed(
        *(
            (row.METRIC, {"f": 5}),
            enter(WORK),
            (row.METRIC, {}),
            enter(SEND),
            (row.BUFFER_FLUSH, {}),
            (row.OTHER_KIND, {"f": 5}),
        ),
        *(leave(SEND), (row.PARAMETER_INT, {}), leave(WORK), (row.PROGRAM_END, {})),
    )
    found = run(events)
    assert found == twin(events)
    assert found[0] == [(0, 0, -1, 0), None, (0, 0, 0, 1), None, (1, 1, 0), (1, 1, -1), None, (1, 0, 0), None, (1, 0, -1)]


def test_calls__time_never_goes_back():
    events = [
        at(10, row.ENTER, SEND),
        at(5, row.LEAVE, SEND),
        at(7, row.ENTER, WORK),
        at(12, row.LEAVE, WORK),
        at(12, row.ENTER, SEND),
    ]
    found = run(events)
    assert found == twin(events)
    assert ([line[:2] for line in found[1]], found[2][0][:2], found[5]) == ([(10, 10), (12, 12)], (10, 12), [2, 0, 2, 0, 0, 1])


def test_calls__ends_of_what_is_not_open():
    events = timed(leave(WORK), enter(WORK), leave(SEND), leave(WORK), leave(WORK))
    found = run(events)
    assert found == twin(events)
    assert found[5] == [1, 0, 0, 3, 0, 0]


@pytest.mark.parametrize(("above", "found"), [(999, 1), (1000, 0)])
def test_calls__too_deep_to_be_looked_for(above, found):
    """An end is looked for among the upper thousand."""
    events = timed(enter(WORK), *[enter(LOOP)] * above, leave(WORK))
    out = run(events)
    assert out == twin(events)
    assert out[5] == [found, 0, 0, 1 - found, 0, above + 1 - found]


def test_close__at_the_last_instant():
    """Two regions, a call and an MPI region inside it are open; the last time was that of a metric."""
    events = timed(enter(WORK), enter(LOOP), enter(BCAST), enter(SEND), (row.METRIC, {}))
    found = run(events)
    assert found == twin(events)
    assert ([line[:2] for line in found[1]], [line[:2] for line in found[2]]) == ([(2, 4)], [(0, 4), (1, 4)])
    assert found[5] == [0, 1, 0, 0, 0, 4]


def test_nothing():
    assert run([]) == ([], [], [], [], [], [0, 0, 0, 0, 0, 0])


def of_threads(*records):
    """Return the calls (op, enter, leave, call that began the team), regions (name, enter, leave), and the calls of the records."""
    events = timed(*records)
    found = run(events, ops=ON_A_THREAD)
    assert found == twin(events, ON_A_THREAD)
    return [(line[2], *line[:2], line[6]) for line in found[1]], [(line[2], *line[:2]) for line in found[2]], found[0]


def test_threads__a_team_on_the_thread_that_opens_it():
    """0 fork  1 begin  2 [barrier ]3  4 [work ]5  6 end  7 join: the join lasts since the end."""
    calls, regions, said = of_threads(
        *((row.THREAD_FORK, {}), (row.TEAM_BEGIN, {}), enter(MEET), leave(MEET), enter(WORK), leave(WORK)),
        *((row.TEAM_END, {}), (row.THREAD_JOIN, {})),
    )
    assert calls == [(FORK, 0, 0, -1), (BARRIER_OP, 2, 3, 0), (JOIN, 6, 7, 0)]
    assert regions == [(WORK, 4, 5)]
    assert [line and line[2] for line in said] == [0, 0, None, None, None, None, -1, 2]


def test_threads__another_thread_of_a_team_is_idle_before_and_behind():
    """Before the first team since its process began, bit FROM_START; behind the last until its own last instant."""
    events = timed((row.TEAM_BEGIN, {}), (row.TEAM_END, {}), (row.TEAM_BEGIN, {}), (row.TEAM_END, {}), (row.METRIC, {}))
    found = run(events, ops=ON_A_THREAD)
    assert found == twin(events, ON_A_THREAD)
    assert [(line[2], *line[:2], line[6], line[-1]) for line in found[1]] == [
        (IDLE, 0, 0, 0, row.FROM_START),
        (IDLE, 1, 2, 1, 0),
        (IDLE, 3, 4, -1, 0),
    ]
    assert found[5] == [0, 0, 0, 0, 0, 0]


def test_threads__teams_in_one_another():
    """Barriers belong to the innermost; the outer fork is joined though the inner one was in between."""
    calls, _, _ = of_threads(
        *((row.THREAD_FORK, {}), (row.TEAM_BEGIN, {}), (row.THREAD_FORK, {}), (row.TEAM_BEGIN, {}), enter(MEET), leave(MEET)),
        *((row.TEAM_END, {}), (row.THREAD_JOIN, {}), enter(MEET), leave(MEET), (row.TEAM_END, {}), (row.THREAD_JOIN, {})),
    )
    assert calls == [
        *((FORK, 0, 0, -1), (FORK, 2, 2, -1), (BARRIER_OP, 4, 5, 1)),
        *((JOIN, 6, 7, 1), (BARRIER_OP, 8, 9, 0), (JOIN, 10, 11, 0)),
    ]


def test_threads__a_join_without_the_end_of_the_team():
    """It takes no time, for nobody said since when; the team is over. One without a fork is a call too."""
    calls, _, _ = of_threads((row.THREAD_FORK, {}), (row.TEAM_BEGIN, {}), (row.THREAD_JOIN, {}), (row.THREAD_JOIN, {}))
    assert calls == [(FORK, 0, 0, -1), (JOIN, 2, 2, 0), (JOIN, 3, 3, -1)]


def test_threads__ends_of_teams_and_teams_that_never_end():
    for records, not_open, never in (((row.TEAM_END,), 1, 0), ((row.TEAM_BEGIN,), 0, 1)):
        found = run(timed(*((kind, {}) for kind in records)), ops=ON_A_THREAD)
        assert (found[5][3], found[5][5]) == (not_open, never)


def test_threads__a_lock_is_had_when_it_is_acquired():
    """1 [critical  2 acquired]  3 [send in it ]4  5 released; the region critical goes on until 6."""
    calls, _, said = of_threads(
        *(enter(WORK), enter(CRITICAL), (row.ACQUIRE_LOCK, {}), enter(SEND), leave(SEND), (row.RELEASE_LOCK, {}), leave(CRITICAL)),
    )
    assert calls == [(CRITICAL_OP, 1, 2, -1), (11, 3, 4, -1), (RELEASE, 5, 5, -1)]
    assert (said[2], said[5]) == ((1, 0, 0), (3, 0, 2))


def test_threads__a_lock_of_which_no_record_says_that_it_is_acquired():
    """It is had when something is done under it. Calls of the same routine in one another are one."""
    calls, regions, _ = of_threads(enter(CRITICAL), enter(CRITICAL), leave(CRITICAL), enter(WORK), leave(WORK), leave(CRITICAL))
    assert (calls, regions) == ([(CRITICAL_OP, 0, 3, -1)], [(WORK, 3, 4)])


def test_threads__locks_by_routines():
    """A routine that gives a lock away has its record; of pthreads, one that gets it goes on to its end. Outside any, records are calls."""
    calls, _, said = of_threads(
        *(enter(UNSET), (row.RELEASE_LOCK, {}), leave(UNSET), enter(MUTEX), (row.ACQUIRE_LOCK, {}), leave(MUTEX)),
        *((row.ACQUIRE_LOCK, {}), enter(SEND), (row.RELEASE_LOCK, {}), leave(SEND)),
    )
    assert calls == [(RELEASE, 0, 2, -1), (MUTEX_OP, 3, 5, -1), (LOCK, 6, 6, -1), (11, 7, 9, -1)]
    assert [said[k][2] for k in (1, 4, 6, 8)] == [0, 1, 2, -1]


def test_threads__tasks_in_a_barrier():
    """Each is waited for since the barrier began, or the task before ended; the barrier itself begins behind the last.

    0 [barrier  2 task: work ]4  6 task: work ]8  9 back ]10
    """
    calls, regions, said = of_threads(
        *(enter(MEET), (row.METRIC, {}), (row.TASK_SWITCH, {"c": 1}), enter(WORK), leave(WORK), (row.TASK_COMPLETE, {"c": 1})),
        *((row.TASK_SWITCH, {"c": 2}), enter(WORK), leave(WORK), (row.TASK_SWITCH, {"c": 0}), leave(MEET)),
    )
    assert calls == [(TASK, 0, 2, -1), (TASK, 4, 6, -1), (BARRIER_OP, 8, 10, -1)]
    assert regions == [(WORK, 3, 4), (WORK, 7, 8)]
    assert [said[k][2] for k in (2, 5, 6, 9)] == [0, 1, 1, -1]


def test_threads__tasks_without_regions_and_outside_waits():
    """Where no wait is open, nobody said since when a task was waited for; its end is a call of its own."""
    calls, _, said = of_threads(
        *((row.TASK_SWITCH, {"c": 1}), (row.TASK_COMPLETE, {"c": 1}), enter(TASKWAIT), (row.TASK_SWITCH, {"c": 2})),
        *((row.TASK_SWITCH, {"c": 3}), (row.TASK_COMPLETE, {"c": 3}), leave(TASKWAIT), (row.TASK_CREATE, {})),
    )
    assert calls == [(TASK, 0, 0, -1), (RELEASE, 1, 1, -1), (TASK, 2, 3, -1), (TASK, 4, 4, -1), (TASKWAIT_OP, 5, 6, -1), (125, 7, 7, -1)]
    assert [said[k][2] for k in (0, 1, 3, 4, 5, 7)] == [0, 1, 2, 3, 4, 5]


def test_threads__what_is_left_open_in_a_wait():
    """A wait that ends while something in it goes on takes no time then; the message record in it is a call of its own."""
    calls, _, _ = of_threads(enter(MEET), enter(WORK), leave(MEET), leave(WORK), enter(MEET), message(row.SEND, 1), leave(MEET))
    assert calls == [(TASK, 0, 1, -1), (BARRIER_OP, 2, 2, -1), (TASK, 4, 5, -1), (100 + row.SEND, 5, 5, 5), (BARRIER_OP, 5, 6, -1)]


def test_threads__waits_in_one_another_are_one():
    calls, _, _ = of_threads(enter(MEET), enter(TASKWAIT), leave(TASKWAIT), leave(MEET))
    assert calls == [(BARRIER_OP, 0, 3, -1)]


def test_threads__created_one_by_one():
    calls, _, said = of_threads(
        *((row.THREAD_BEGIN, {}), (row.THREAD_CREATE, {}), (row.THREAD_WAIT, {}), enter(SEND), (row.THREAD_FORK, {}), leave(SEND)),
        (row.THREAD_END, {}),
    )
    assert calls == [(128, 0, 0, -1), (127, 1, 1, -1), (129, 2, 2, -1), (11, 3, 5, -1), (128, 6, 6, -1)]
    assert [said[k][2] for k in (0, 1, 2, 4, 6)] == [0, 1, 2, -1, 4]


def test_threads__teams_by_regions_alone():
    """A parallel region forks and joins, an implicit task is in the team: on the same thread, and on another one."""
    calls, regions, _ = of_threads(
        *(enter(PARALLEL), enter(IMPLICIT), enter(MEET), leave(MEET), leave(IMPLICIT), leave(PARALLEL), enter(IMPLICIT), leave(IMPLICIT))
    )
    assert calls == [(FORK, 0, 0, -1), (BARRIER_OP, 2, 3, 0), (JOIN, 4, 5, 0), (IDLE, 5, 6, 3), (IDLE, 7, 7, -1)]
    assert regions == [(PARALLEL, 0, 5), (IMPLICIT, 1, 4), (IMPLICIT, 6, 7)]


def test_devices__a_call_keeps_its_region(monkeypatch):
    """Also with another one inside, which is none."""
    monkeypatch.setitem(MANNERS, OP_OF[WAIT], row.NAMED)
    events = timed(enter(SEND), leave(SEND), enter(WAIT), enter(SEND), leave(SEND), leave(WAIT))
    found = run(events)
    assert found == twin(events)
    assert [line[CALL.index("root")] for line in found[1]] == [-1, WAIT]


def test_streams():
    """Idle before each kernel and copy that is not in another, and at the end. Routines of threads are none there.

    0 metric  1 [get ]2  3 [kernel  4 [put ]5 ]6  7 metric
    """
    events = timed(
        *((row.METRIC, {}), (row.RMA_GET, {}), (row.RMA_BLOCKING, {}), enter(MEET), (row.RMA_PUT, {}), (row.RMA_NONBLOCKING, {})),
        *(leave(MEET), (row.RMA_BLOCKING, {}), (row.METRIC, {})),
    )
    found = run(events, ops=ON_A_STREAM, on_stream=True)
    assert found == twin(events, ON_A_STREAM, True)
    assert [(line[2], *line[:2], line[-1]) for line in found[1]] == [(140, 1, 1, row.FROM_START), (140, 2, 3, 0), (140, 6, 8, 0)]
    assert [(line[2], *line[:2], line[3]) for line in found[2]] == [(GET, 1, 2, -1), (MEET, 3, 6, -1), (PUT, 4, 5, 1)]
    assert [line[2] for line in found[0] if line] == [-1, 0, -1, -1, -1, -1, -1]


def test_kinds__are_those_of_the_table_of_events():
    names = "RmaPut RmaGet RmaOpCompleteBlocking RmaOpCompleteNonBlocking ThreadFork ThreadJoin ThreadTeamBegin ThreadTeamEnd"
    names += " ThreadAcquireLock ThreadReleaseLock ThreadTaskCreate ThreadTaskSwitch ThreadTaskComplete"
    names += " ThreadCreate ThreadBegin ThreadWait ThreadEnd"
    assert [row.OTHER_KIND + OTHERS.index(name) for name in names.split()] == [*ON_A_STREAM, *ON_A_THREAD]
