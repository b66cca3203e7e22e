"""Records of a location to calls, regions, message records and requests: a stack of open regions, against the naive twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_otf2 as naive
from perwiz.kernels import otf2_calls as kernel
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


def room(dtype, rows):
    return np.full(rows, np.array(77, "i8").astype(dtype)).view(np.recarray)


def run(events, batch=None):
    """Return what the kernel makes of events (kind, time, reference, communicator, tag, amount, received, number), as the twin does."""
    size = len(events)
    state = np.zeros(1, kernel.STATE).view(np.recarray)
    state["open"] = state["innermost"] = -1
    state["clock"], state["collective_time"] = np.iinfo("i8").min, 0
    stack, calls, regions = room(kernel.FRAME, size), room(kernel.CALL, size), room(kernel.REGION, size)
    messages, requests = room(kernel.MESSAGE, size), room(kernel.REQUEST, max(size, NUMBERS))
    open_requests = np.full(NUMBERS, -1, "i4")
    rows = cells(events)
    for first in range(0, size, batch or max(size, 1)):
        kernel.calls(
            rows[first : first + (batch or size)],
            np.array(OP_OF, "i4"),
            np.array(BARE[: row.METRIC], "i4"),
            np.array(BARE[row.METRIC :], "i4"),
            *(state, stack, calls, regions, messages, requests, open_requests),
        )
    said = [
        (calls_before, inside, region if kind < row.OTHER_KIND else received) if kind >= row.METRIC else None
        for kind, calls_before, inside, region, received in rows[["kind", "calls", "inside", "region", "received"]].tolist()
    ]
    kernel.close(state, stack, calls, regions)
    out = [
        table[: state[count][0]][columns].tolist()
        for table, count, columns in (
            *((calls, "calls", CALL), (regions, "regions", REGION)),
            *((messages, "messages", MESSAGE), (requests, "requests", REQUEST)),
        )
    ]
    return said, *out, [*state[COUNTS][0].tolist()]


def cells(events):
    rows = room(row.RECORD, len(events))
    for number, name in enumerate(("kind", "time", "reference", "communicator", "tag", "amount", "received", "number")):
        rows[name] = [event[number] for event in events]
    return rows


def twin(events):
    location = naive.Location(OP_OF, BARE)
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
    assert (found[2], found[0][5]) == ([(0, 7, WORK, -1, 0, 4)], (3, 0, 0))


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
    assert (found[2], found[1][0][:4], found[0][3]) == ([(0, 2, WORK, -1, 0, 1)], (1, 5, 11, 0), (1, 1, -1))


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
    assert found[0] == [(0, 0, -1), None, (0, 0, 0), None, (1, 1, 0), (1, 1, 5), None, (1, 0, 0), None, (1, 0, -1)]


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
