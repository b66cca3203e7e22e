"""Events to calls, regions and messages: stacks of open states, against the naive twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_alog_read as naive
from perwiz.formats.alog import rows as row
from perwiz.kernels import alog_states
from perwiz.trace import operations

S, R, W, B, SR, RB = (operations.OP[f"MPI_{name}"] for name in ("Send", "Recv", "Waitall", "Bcast", "Sendrecv", "Irecv"))
DEFINITIONS = [
    *((0, 1, S, -1, 1), (1, -1, 0, 0, 0)),
    *((0, 3, R, -1, 1), (1, -1, 0, 0, 0)),
    *((0, 5, B, -1, 1), (1, -1, 0, 0, 0)),
    *((0, 7, SR, -1, 1), (1, -1, 0, 0, 0)),
    *((0, 9, -1, 0, 1), (1, 10, -1, 1, 1), (1, -1, 0, 0, 0)),
    *((1, 11, -1, 2, 1), (0, 1, W, -1, 1)),
]
"""Slot pairs of four routines; regions 8-9 and 9-10, one after the other; 11 ends itself; 12 is ended like 0."""


def run(events, rollover=0, batch=None, pool=None):
    """Return what the kernel makes of events, in the form of the twin."""
    places = np.full((4, 16), -1, "i8")
    places[:, [row.CLOCK, row.WRAPS, row.CALLS, row.DEPTH]] = 0
    count = places[-1]
    count[:] = 0
    count[[row.FREE, row.RECV_OP, row.ROLLOVER]] = -1, R, rollover
    pool = np.full((pool or len(events), row.POOL_COLUMNS), 77, "i8")
    matrix = np.array(DEFINITIONS, "i8")
    calls, regions, messages, said = [], [], [], []
    batch = batch or max(len(events), 1)
    for at in range(0, len(events), batch):
        rows = cells(events[at : at + batch])
        out = [np.full((len(rows), len(names)), 77, "i8") for names in (row.CALL_COLUMNS, row.REGION_COLUMNS, row.MESSAGE_COLUMNS)]
        alog_states.states(rows, matrix, operations.KIND, places, pool, *out)
        said += [(s, o, n if o else None) for s, o, n in rows[:, [row.STATUS, row.OWNER, row.OWNER_ROW]].tolist()]
        take(count, (calls, regions, messages), out)
    out = [np.empty((len(events), len(names)), "i8") for names in (row.CALL_COLUMNS, row.REGION_COLUMNS, row.MESSAGE_COLUMNS)]
    alog_states.close(places, pool, out[0], out[1])
    take(count, (calls, regions, messages), out)
    at = (row.REGIONS, row.STATES, row.INTERNAL_CALLS, row.SINGLES, row.TO_NOBODY, row.INTERNAL_MESSAGES)
    return said, calls, regions, messages, count[list(at)].tolist()


def cells(events):
    rows = np.full((len(events), row.ROW_COLUMNS), 77, "i8")
    for cell, (location, slot, kind, data, cycle, time, tag, size, internal) in zip(rows, events, strict=True):
        names = (row.LOCATION, row.SLOT, row.TYPE, row.DATA, row.CYCLE, row.TIME, row.TAG, row.SIZE, row.STATUS, row.OWNER)
        cell[list(names)] = location, slot, kind, data, cycle, time, tag, size, row.INTERNAL if internal else row.EVENT, row.NOBODY
    return rows


def take(count, lists, out):
    for kept, values, at in zip(lists, out, (row.CALLS_OUT, row.REGIONS_OUT, row.MESSAGES_OUT), strict=True):
        kept += [tuple(line) for line in values[: count[at]].tolist()]
    count[row.MESSAGE_BASE] += count[row.MESSAGES_OUT]
    count[[row.CALLS_OUT, row.REGIONS_OUT, row.MESSAGES_OUT]] = 0


def twin(events, rollover=0):
    states = naive.States(DEFINITIONS, operations.KIND.tolist(), R, rollover)
    said = [states.event(*event) for event in events]
    states.close()
    return said, states.calls, states.regions, states.messages, list(states.count.values())


@st.composite
def event(draw):
    """Draw (location, slot, type, data, cycle, time, tag, size, internal)."""
    slot = draw(st.integers(-3, len(DEFINITIONS) - 1))
    kind = {-3: -101, -2: -102, -1: 77}.get(slot, 5)
    cycle, size = draw(st.sampled_from([0, 0, 0, 1, 2**31 - 1])), draw(st.sampled_from([0, 10, 2**50]))
    where, data, time = draw(st.integers(0, 2)), draw(st.integers(-2, 2)), draw(st.integers(0, 60))
    return where, max(slot, -1), kind, data, cycle, time, draw(st.integers(0, 3)), size, draw(st.integers(0, 5)) == 0


EVENTS = st.lists(event(), max_size=25)


@pytest.mark.slow
@given(EVENTS, st.sampled_from([0, 1, 20, 40, 10**10]))
def test_states__twin(events, rollover):
    assert run(events, rollover) == twin(events, rollover)


@pytest.mark.slow
@given(EVENTS)
def test_states__twin_in_order_of_time(events):
    ordered = [(*event[:4], 0, time, *event[6:]) for time, event in enumerate(events)]
    assert run(ordered) == twin(ordered)


@pytest.mark.slow
@given(EVENTS, st.integers(1, 5))
def test_states__in_several_calls(events, batch):
    assert run(events, 40, batch) == run(events, 40)


@pytest.mark.slow
def test_states__too_deep():
    """The 1001st open state of a location is not opened, its end not found; what is below still ends."""
    events = [(0, 8, 5, 0, 0, t, 0, 0, False) for t in range(1002)] + [(0, 9, 5, 0, 0, 2000, 0, 0, False)]
    said, _, regions, _, _ = run(events)
    assert [status for status, *_ in said[999:]] == [row.EVENT, row.DAMAGED + 9, row.DAMAGED + 9, row.EVENT]
    assert len(regions) == 1001
    assert (said, regions) == (twin(events)[0], twin(events)[2])


@pytest.mark.parametrize("internal", [False, True])
def test_states__messages_of_a_collective_are_internal(internal):
    """One sent and one received inside a broadcast: no messages, but the call remembers both directions."""
    inside = [(0, -1, kind, peer, 0, t, 7, 8, internal) for t, (kind, peer) in enumerate([(-101, 1), (-102, 1), (-101, -1)])]
    events = [(0, 4, 5, 0, 0, 0, 0, 0, False), *inside, (0, 5, 5, 0, 0, 9, 0, 0, False)]
    said, calls, regions, messages, count = run(events)
    assert (said, calls, regions, messages, count) == twin(events)
    assert (calls, messages, count[4:]) == ([(0, 9, 0, B, -1, -1, -1, 0, 0, 3)], [], [1, 2])


def test_states__other_rows_are_passed_over():
    rows = cells([(0, 0, 5, 0, 0, 0, 0, 0, False)])
    rows[0, row.STATUS] = row.HEADER
    places = np.zeros((2, 16), "i8")
    out = [np.empty((1, len(names)), "i8") for names in (row.CALL_COLUMNS, row.REGION_COLUMNS, row.MESSAGE_COLUMNS)]
    alog_states.states(rows, np.array(DEFINITIONS, "i8"), operations.KIND, places, np.empty((1, row.POOL_COLUMNS), "i8"), *out)
    assert not places.any()


@pytest.mark.parametrize(("slot", "kind", "column"), [(0, -101, 7), (2, -102, 8)])
def test_states__bytes_of_a_call_do_not_overflow(slot, kind, column):
    """A call whose messages say 2**50 bytes each stops adding at 2**60."""
    inside = [(0, -1, kind, 1, 0, t, 0, 2**50, False) for t in range(1, 1100)]
    events = [(0, slot, 5, 0, 0, 0, 0, 0, False), *inside, (0, slot + 1, 5, 0, 0, 2000, 0, 0, False)]
    _, calls, _, _, _ = run(events)
    assert calls[0][column] == 2**60


def test_states__room_for_those_open_at_once():
    """What has ended makes room: three entries of the pool serve a hundred states."""
    events = [(0, slot, 5, 0, 0, t, 0, 0, False) for t in range(0, 100, 4) for slot in (8, 0, 1, 9, 10)]
    assert run(events, pool=3)[:3] == twin(events)[:3]
