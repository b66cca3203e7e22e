"""Operations on streams: what is promised of them, under random schedules, and by hand."""

import numpy as np
from hypothesis import given

import goals
from perwiz.formats.goal.schedule import CALC
from perwiz.kernels import goal_streams as kernel


def placed(schedule):
    """Return (stream, index in it) per operation, and (stream, index, operation, its start alone, who opens it) per wait."""
    count = len(schedule)
    units, home = np.unique(schedule.rank.astype("i8") * 256 + schedule.cpu, return_inverse=True)
    first = np.searchsorted(schedule.op, np.arange(count + 1)).astype("i4")
    segment, done = np.full((2, count), -1, "i4")
    following, need, opener, stream, index, owner = np.full((6, len(units) + count + len(schedule.op)), -1, "i4")
    mark = np.full(2 * count, -1, "i4")
    ends = mark, segment, done, following, need, opener, stream, index, owner
    made = kernel.place(len(units), schedule.kind, home.astype("i4"), first, schedule.on, schedule.starts, *ends)
    assert (owner[stream[segment]] == home).all()
    waits = [(int(stream[s]), int(index[s]), int(need[s]) >> 1, int(need[s]) & 1, int(opener[s])) for s in range(made) if need[s] >= 0]
    return [(int(stream[s]), int(index[s])) for s in segment], waits


def ancestors(schedule):
    """Return per operation those that it needs, over others too."""
    out = [set() for _ in range(len(schedule))]
    for op, on in zip(schedule.op.tolist(), schedule.on.tolist(), strict=True):
        out[op] |= {on} | out[on]
    return out


@given(goals.texts(units=2))
def test_place__waits_for_what_is_needed(content):
    """Every dependence is kept, and no operation stands behind a wait for one that it does not need."""
    schedule = goals.read(content)
    places, waits = placed(schedule)
    above = ancestors(schedule)
    awaited = {(stream, index): need for stream, index, need, _, _ in waits}
    for op, (stream, index) in enumerate(places):
        before = [awaited[stream, k] for k in range(1, index + 1)]
        assert set(before) <= above[op]
    for op, on, starts in zip(schedule.op.tolist(), schedule.on.tolist(), schedule.starts.tolist(), strict=True):
        (stream, index), (other, at) = places[op], places[on]
        waited = [(need, way) for of, k, need, way, _ in waits if of == stream and k <= index]
        direct = stream == other and at <= index and (schedule.kind[on] == CALC or starts)
        assert direct or (on, starts) in waited


def test_place__by_hand():
    """Two receives with a computation each: the second does not stand behind the first; who needs both awaits the other stream.

    l1 recv a      stream 0: l1 l2 | l1 done | l3 | ...       stream 1: | l2 done | l4
    l2 recv b
    l3 calc, requires l1
    l4 calc, requires l2
    l5 calc, requires l3 l4
    l6 calc, needs nothing: into the first segment
    """
    lines = ["l1: recv 1b from 1 tag 1", "l2: recv 1b from 1 tag 2", "l3: calc 5", "l3 requires l1", "l4: calc 5", "l4 requires l2"]
    lines += ["l5: calc 5", "l5 requires l3", "l5 requires l4", "l6: calc 9"]
    schedule = goals.read(goals.text_of([lines, ["l1: send 1b to 0 tag 1", "l2: send 1b to 0 tag 2"]]))
    places, waits = placed(schedule)
    assert places == [(0, 0), (0, 0), (0, 1), (2, 1), (0, 2), (0, 0), (1, 0), (1, 0)]
    assert waits == [(0, 1, 0, 0, 2), (2, 1, 1, 0, 3), (0, 2, 3, 0, 4)]


def test_place__many_streams():
    """Of the streams of what is needed the first eight are looked at: behind them stands a new one."""
    lines = [f"r{k}: recv 1b from 0 tag {k}" for k in range(12)]
    lines += [line for k in range(12) for line in (f"c{k}: calc 1", f"c{k} requires r{k}")]
    lines += ["z: calc 1", *(f"z requires c{k}" for k in range(12))]
    schedule = goals.read(goals.text_of([lines]))
    places, waits = placed(schedule)
    assert places[-1] == (0, 12)
    assert len(waits) == 12 + 11
