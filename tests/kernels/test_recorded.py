"""Rows of the recorder to columns, requests and ends of messages, against the naive twins."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import naive_recorded as naive
from perwiz.formats.recorded.files import CALL, PART
from perwiz.formats.recorded.sites import roomy
from perwiz.kernels import recorded as kernel

OPERATIONS = [-1, -1, 7, naive.ROOTED + 20, 0, naive.TALKS + 3, naive.COMPLETES + naive.TESTS + 9]
COMMS = [(0, [0, 1, 2, 3]), (3, [9, 5])]
RANK, START = 2, 100
BIG, SMALL = st.integers(-(2**62), 2**62), st.integers(-(2**31), 2**31 - 1)
PEER, COMM = st.integers(-4, 5), st.integers(-1, 3)
FLAGS = st.one_of(st.sampled_from([0, 1, 2, 3, 5, 6, 9, 10, 64, 138, 256]), st.integers(0, 2**16 - 1))
ADDRESS = st.sampled_from([0, 1, 65, 2**40 + 7])
"""1 and 65 meet in the hash table."""
RECORDS = st.tuples(BIG, BIG, ADDRESS, BIG, BIG, BIG, PEER, SMALL, COMM, st.integers(0, 6).map(lambda op: max(op, 1)), FLAGS)
PARTS = st.tuples(st.integers(0, 5), BIG, BIG, PEER, SMALL, COMM, st.one_of(FLAGS, SMALL))


def process():
    """Return what the kernel must know of the process."""
    table = np.full(1 << 16, -1, "i4")
    table[: len(OPERATIONS)] = OPERATIONS
    head = len(table) + 2 + 3 * len(COMMS)
    rows = [(row, head + sum(len(one) for _, one in COMMS[:k]), len(members)) for k, (row, members) in enumerate(COMMS)]
    members = [rank for _, one in COMMS for rank in one]
    return np.concatenate([table, np.array([len(COMMS), RANK, *sum(rows, ()), *members], "i4")])


@given(st.lists(RECORDS, max_size=8), st.lists(PARTS, max_size=6), st.integers(0, 8))
@example(
    [(0, 0, site, 1, 2, 3, 1, 5, 1, 2, 0) for site in (1, 65, 1)], [(0, 1, 2, 3, 4, 1, 8), (1, 9, 9, 9, 9, 0, 0), (2, 0, 0, -1, 0, 0, 5)], 1
)
@example([(0, 0, site, 1, 2, 3, 1, 5, 1, 6, 0) for site in (1, 0, 65)], [], 1)
def test_split(records, parts, cut):
    """The records come in two pieces; addresses are numbered -2, -3 ... in order of first occurrence."""
    parts = sorted(parts, key=lambda part: part[0])
    rows = np.array(records, CALL).view("i8").reshape(-1, 8)
    words = np.array(parts, PART).view("i8").reshape(-1, 5)
    op, ints, longs = np.zeros(len(rows), "u1"), np.zeros((5, len(rows)), "i4"), np.zeros((4, len(rows)), "i8")
    state, entries = np.zeros(16 + 2 * 64, "i8"), np.zeros((2 * len(rows) + len(parts), 7), "i8")
    state[7] = START
    for piece, at in ((rows[:cut], 0), (rows[cut:], min(cut, len(rows)))):
        state[5] = at
        kernel.split(piece, words, process(), op, ints, longs, entries, state)
    calls, expected, strangers, nobody = naive.split(records, parts, OPERATIONS, COMMS, RANK, START)
    addresses = list(dict.fromkeys(call[5] for call in calls if call[5]))
    wanted = [(*call[:5], -2 - addresses.index(call[5]) if call[5] else -1, *call[6:]) for call in calls]
    found = np.concatenate([op[None].astype("i8"), ints.astype("i8"), longs])[:, : state[0]].T.tolist()
    assert [tuple(call) for call in found] == wanted
    assert [tuple(entry) for entry in entries[: state[1]].tolist()] == expected
    assert (state[2], state[3], state[4]) == (len(addresses), strangers, nobody)


@given(st.lists(RECORDS, max_size=8), st.lists(PARTS, max_size=6), st.integers(0, 8))
@example([(0, 0, site, 1, 2, 2**28, 1, 5, 1, 2, 5) for site in (1, 65, 1)], [(0, 3, 2, 3, 4, 1, 5), (1, 9, 9, 9, 9, 0, 65536)], 1)
@example([(0, 0, site, 1, 2, 3, 1, 5, 1, 6, 0) for site in (1, 0, 65)], [], 1)
def test_survey(records, parts, cut):
    """The records come in two pieces, and again where the table of addresses, for two at first, was too small."""
    parts = sorted(parts, key=lambda part: part[0])
    rows, words = np.array(records, CALL).view("i8").reshape(-1, 8), np.array(parts, PART).view("i8").reshape(-1, 5)
    state = np.zeros(16 + 2 * 2, "i8")
    for end in (cut, len(rows)):
        while state[0] < min(end, len(rows)):
            done = kernel.survey(rows[state[0] : end], words, process(), state)
            state[0] += done
            state = state if state[0] >= min(end, len(rows)) else roomy(state)
    addresses, counts = naive.survey(*naive.split(records, parts, OPERATIONS, COMMS, RANK, START)[:2])
    assert state[3:9].tolist() == counts
    found = dict(zip((-1 - state[17::2]).tolist(), state[16::2].tolist(), strict=True))
    assert [found[k + 1] for k in range(state[2])] == addresses


LINKED = st.sampled_from([0, 1, 2, 3, 5, 6, 1 | 4 | 512, 8, 9, 10, 12, 14, 138, 1 << 16])
REQUEST = st.sampled_from([0, 0, 0, 1, 1, 3, -1, 4])
ENTRIES = st.lists(st.tuples(st.integers(0, 9), REQUEST, BIG, st.sampled_from([-4, -1, 3]), SMALL, COMM, LINKED), max_size=20)


@given(ENTRIES)
@example([(0, 1, 0, -2, 5, 0, 6), (1, 0, 8, 3, 5, 0, 5), (2, 1, 0, 3, 5, 0, 138), (3, 0, 0, 0, 0, 0, 9), (4, 0, 9, 3, 5, 0, 10)])
@example([(0, 1, 0, -2, 5, 0, 6), (1, 1, 0, 3, 5, 0, 1 << 16), (2, 1, 4, 3, 5, 0, 10)])
def test_tie(drawn):
    entries, count = np.array(drawn, "i8").reshape(-1, 7), len(drawn)
    slots, ends, sizes = np.full((4, 2), -1, "i4"), np.zeros((11, count), "i4"), np.zeros((2, count), "i8")
    requests, state = np.zeros((5, count), "i4"), np.zeros(5, "i8")
    left = kernel.tie(entries, slots, ends, sizes, requests, state)
    sends, receives, posted, tests, kept, strangers = naive.tie(drawn)
    assert [tuple(row) for row in entries[:left].tolist()] == kept
    assert state.tolist() == [len(sends), len(receives), len(posted), len(tests), strangers]
    assert [(*end, size) for *end, size in zip(*ends[:6].tolist(), sizes[0].tolist(), strict=True)][: len(sends)] == sends
    found = [list(row) for row in zip(*ends[6:].tolist(), sizes[1].tolist(), strict=True)][: len(receives)]
    assert [row[: 2 if row[1] < 0 else 6] for row in found] == [row[: 2 if row[1] < 0 else 6] for row in receives]
    assert requests[:3, : len(posted)].T.tolist() == posted
    assert [tuple(row) for row in requests[3:, : len(tests)].T.tolist()] == tests


@given(st.lists(st.booleans(), max_size=20))
def test_nest(begins):
    count = sum(begins)
    parent, end = np.zeros(count, "i4"), np.zeros(count, "i4")
    lost = kernel.nest(np.array(begins, "u1"), np.zeros(count + 1, "i4"), parent, end)
    assert (parent.tolist(), end.tolist(), lost) == naive.nest(begins)
