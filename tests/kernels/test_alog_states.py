"""Events to calls, regions and messages: stacks of open states, against the naive twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_alog_read as naive
from perwiz.formats.alog import machine as alog_machine
from perwiz.kernels import alog, alog_states
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


def run(events, rollover=0, batch=None, room=None):
    """Return what the kernel makes of events, in the form of the twin; `room` for so many open states."""
    locations, open_calls = alog_machine.untouched(3), alog.empty(3, alog.CALL)
    counts = alog_machine.no_counts()
    stack = awkward(room or len(events), alog.ENTRY)
    states = matrix()
    calls, regions, messages, said = [], [], [], []
    batch = batch or max(len(events), 1)
    for begin in range(0, len(events), batch):
        lines = rows(events[begin : begin + batch])
        out = [awkward(len(lines), dtype) for dtype in (alog.CALL, alog.REGION, alog.MESSAGE)]
        alog_states.read(lines, states, alog_machine.ROUTINES, S, R, rollover, locations, open_calls, stack, counts, *out)
        said += [(s, o, n if o else None) for s, o, n in lines[["status", "owner", "owner_number"]].tolist()]
        take(counts, (calls, regions, messages), out)
    out = [awkward(len(events), dtype) for dtype in (alog.CALL, alog.REGION, alog.MESSAGE)]
    alog_states.close(locations, open_calls, stack, counts, out[0], out[1])
    take(counts, (calls, regions, messages), out)
    names = ["regions", "states", "internal_calls", "singles", "to_nobody", "internal_messages"]
    return said, calls, regions, messages, list(counts[names][0].tolist())


def matrix():
    """Return the definitions as the kernel takes them."""
    states = alog.empty(len(DEFINITIONS), alog.STATE)
    states.ends, states.end_state, states.op, states.name, states.begins = zip(*DEFINITIONS, strict=True)
    return states


def awkward(count, dtype):
    """Return rows full of numbers that mean nothing."""
    return np.full(count, np.array((77,) * len(dtype), dtype)).view(np.recarray)


def rows(events):
    lines = awkward(len(events), alog.LINE)
    for line, (location, state, kind, data, cycle, time, tag, size, internal) in zip(lines, events, strict=True):
        line.location, line.state, line.type, line.int_data, line.cycle, line.time = location, state, kind, data, cycle, time
        line.tag, line.bytes, line.status, line.owner = tag, size, alog.INTERNAL if internal else alog.EVENT, alog.NOBODY
    return lines


COLUMNS = (
    ["location", "leave", "enter", "op", "region", "peer", "tag", "sent", "received", "internal"],
    ["location", "leave", "end_call", "number", "name", "enter", "parent", "first_call"],
    ["type", "location", "call", "peer", "tag", "bytes", "time"],
)
"""The order of the columns in the twin."""


def take(counts, lists, out):
    counts.messages += counts.messages_out
    for kept, written, columns, name in zip(lists, out, COLUMNS, ("calls_out", "regions_out", "messages_out"), strict=True):
        kept += written[: counts[name][0]][columns].tolist()
        counts[name] = 0


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
    """Of a state that 1000 later ones outlive the end is not found; regions that nest are, however deep."""
    begins = [(0, slot, 5, 0, 0, t, 0, 0, False) for t, slot in enumerate([2, *[8] * 1000])]
    events = begins + [(0, slot, 5, 0, 0, 2000, 0, 0, False) for slot in (3, 9, 10, 3, 3, *[9, 10] * 999)]
    said, calls, regions, _, _ = run(events)
    assert [status for status, *_ in said[1001:1006]] == [alog.TOO_DEEP, alog.EVENT, alog.EVENT, alog.EVENT, alog.NOT_OPEN]
    assert {status for status, *_ in said[1006:]} == {alog.EVENT}
    assert (len(calls), len(regions)) == (1, 2000)
    assert (said, calls, regions) == twin(events)[:3]


@pytest.mark.slow
def test_states__mpi_too_deep():
    """The 1001st MPI state inside a call is not opened, its end not found."""
    events = [(0, slot, 5, 0, 0, t, 0, 0, False) for t, slot in enumerate([8, *[0] * 1002, *[1] * 1002, 9, 10])]
    said, calls, regions, _, count = run(events)
    assert [k for k, (status, *_) in enumerate(said) if status != alog.EVENT] == [1002, 2004]
    assert (len(calls), len(regions)) == (1, 2)
    assert (said, calls, regions, count) == tuple(twin(events)[k] for k in (0, 1, 2, 4))


@pytest.mark.parametrize("internal", [False, True])
def test_states__messages_of_a_collective_are_internal(internal):
    """One sent and one received inside a broadcast: no messages, but the call remembers both directions."""
    inside = [(0, -1, kind, peer, 0, t, 7, 8, internal) for t, (kind, peer) in enumerate([(-101, 1), (-102, 1), (-101, -1)])]
    events = [(0, 4, 5, 0, 0, 0, 0, 0, False), *inside, (0, 5, 5, 0, 0, 9, 0, 0, False)]
    said, calls, regions, messages, count = run(events)
    assert (said, calls, regions, messages, count) == twin(events)
    assert (calls, messages, count[4:]) == ([(0, 9, 0, B, -1, -1, -1, 0, 0, 3)], [], [1, 2])


def test_states__other_lines_are_passed_over():
    lines = rows([(0, 0, 5, 0, 0, 0, 0, 0, False)])
    lines.status = alog.HEADER
    locations, counts = alog_machine.untouched(1), alog_machine.no_counts()
    stack, *out = [awkward(1, dtype) for dtype in (alog.ENTRY, alog.CALL, alog.REGION, alog.MESSAGE)]
    alog_states.read(lines, matrix(), alog_machine.ROUTINES, S, R, 0, locations, awkward(1, alog.CALL), stack, counts, *out)
    assert locations == alog_machine.untouched(1)
    assert counts == alog_machine.no_counts()


@pytest.mark.parametrize(("slot", "kind", "column"), [(0, -101, 7), (2, -102, 8)])
def test_states__bytes_of_a_call_do_not_overflow(slot, kind, column):
    """A call whose messages say 2**50 bytes each stops adding at 2**60."""
    inside = [(0, -1, kind, 1, 0, t, 0, 2**50, False) for t in range(1, 1100)]
    events = [(0, slot, 5, 0, 0, 0, 0, 0, False), *inside, (0, slot + 1, 5, 0, 0, 2000, 0, 0, False)]
    _, calls, _, _, _ = run(events)
    assert calls[0][column] == 2**60


def test_states__room_for_those_open_at_once():
    """What has ended makes room: three entries serve a hundred states."""
    events = [(0, slot, 5, 0, 0, t, 0, 0, False) for t in range(0, 100, 4) for slot in (8, 0, 1, 9, 10)]
    assert run(events, room=3)[:3] == twin(events)[:3]
