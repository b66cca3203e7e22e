"""First in, first out, and rounds of collectives, against the naive twins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive
from perwiz.kernels import match, names

CHANNELS = st.lists(st.integers(0, 3), max_size=15)


def matched(sent, received):
    """Return the send per receive."""
    out = np.full(len(received), 77, "i4")
    head, following = np.full(4, 77, "i4"), np.full(len(sent), 77, "i4")
    match.match(np.array(sent, "i4"), np.array(received, "i4"), head, following, out)
    return out.tolist()


@given(CHANNELS, CHANNELS)
def test_match__twin(sent, received):
    assert matched(sent, received) == naive.match(sent, received)


def test_match__by_hand():
    """Channel 1 sends rows 0 and 2, channel 3 row 1; three receives in 1 take 0, 2 and nothing, one in 0 nothing."""
    assert matched([1, 3, 1], [1, 0, 1, 3, 1]) == [0, -1, 2, 1, -1]


def test_match__nothing():
    assert matched([], []) == []


MEMBERS = [[0, 1, 2, 3], [3, 1], [2]]
CALLS = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 2)), max_size=20).map(lambda calls: sorted(calls, key=lambda call: call[0]))


@given(CALLS)
def test_number_rounds__twin(calls):
    """A call on a communicator that the rank is no member of has no place; how many came before it nobody asks."""
    ranks, comms = ([call[side] for call in calls] for side in (0, 1))
    rows = sorted((rank, comm, place) for comm, one in enumerate(MEMBERS) for place, rank in enumerate(one))
    first = np.searchsorted([row[0] for row in rows], np.arange(5)).astype("i4")
    seen = np.zeros(3, match.SEEN).view(np.recarray)
    seen.rank = names.NOBODY
    step, place = np.full(len(calls), 77, "i4"), np.full(len(calls), 77, "i4")
    members = np.array([row[1:] for row in rows], match.MEMBER).view(np.recarray)
    match.number_rounds(np.array(ranks, "i4"), np.array(comms, "i4"), first, members, seen, step, place)
    expected = naive.number_rounds(ranks, comms, MEMBERS)
    assert place.tolist() == expected[1]
    assert [s for s, p in zip(step.tolist(), expected[1], strict=True) if p >= 0] == [s for s, p in zip(*expected, strict=True) if p >= 0]
    most = [max([s + 1 for s, p, c in zip(*expected, comms, strict=True) if c == comm and p >= 0], default=0) for comm in range(3)]
    assert all(cell >= one for cell, one in zip(seen.most.tolist(), most, strict=True))
