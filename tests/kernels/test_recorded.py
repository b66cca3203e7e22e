"""Rows of the recorder to columns, requests and ends of messages, against the naive twins."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import naive_recorded as naive
from perwiz.formats.recorded.columns import COLUMNS
from perwiz.formats.recorded.sites import roomy
from perwiz.kernels import recorded as kernel
from perwiz.kernels import records

OPERATIONS = [
    *((records.NO_CALL, 0), (records.NO_CALL, 0), (7, 0), (20, records.ROOTED), (0, 0)),
    *((3, records.TALKS), (9, records.COMPLETES | records.TESTS)),
]
COMMS = [(0, [0, 1, 2, 3]), (3, [9, 5])]
RANK, START = 2, 100
BIG, SMALL = st.integers(-(2**62), 2**62), st.integers(-(2**31), 2**31 - 1)
PEER, COMM = st.integers(-4, 5), st.integers(-1, 3)
FLAGS = st.one_of(st.sampled_from([0, 1, 2, 3, 5, 6, 9, 10, 64, 138, 256]), st.integers(0, 2**16 - 1))
ADDRESS = st.sampled_from([0, 1, 65, 2**40 + 7])
"""1 and 65 meet in the hash table."""
RECORDS = st.tuples(BIG, BIG, ADDRESS, BIG, BIG, BIG, PEER, SMALL, COMM, st.integers(0, 6).map(lambda op: max(op, 1)), FLAGS)
PARTS = st.tuples(st.integers(0, 5), BIG, BIG, PEER, SMALL, COMM, st.one_of(FLAGS, SMALL))


def table(dtype, rows):
    """Return rows (tuples, or how many empty ones) as a kernel takes them."""
    return (np.zeros(rows, dtype) if isinstance(rows, int) else np.array(rows, dtype)).view(np.recarray)


def lines(rows):
    """Return rows of a table as tuples."""
    return [tuple(row) for row in rows.tolist()]


def communicators():
    """Return the communicators of the process, and their members."""
    sizes = [len(members) for _, members in COMMS]
    rows = [(row, sum(sizes[:number]), len(members)) for number, (row, members) in enumerate(COMMS)]
    return table(kernel.COMMUNICATOR, rows), np.array([rank for _, members in COMMS for rank in members], "i4")


@given(st.lists(RECORDS, max_size=8), st.lists(PARTS, max_size=6), st.integers(0, 8))
@example(
    [(0, 0, site, 1, 2, 3, 1, 5, 1, 2, 0) for site in (1, 65, 1)], [(0, 1, 2, 3, 4, 1, 8), (1, 9, 9, 9, 9, 0, 0), (2, 0, 0, -1, 0, 0, 5)], 1
)
@example([(0, 0, site, 1, 2, 3, 1, 5, 1, 6, 0) for site in (1, 0, 65)], [], 1)
@example([(0, 9, 1, 7, 8, 5 << 32 | 3, 1, 6, 0, 5, records.SENDS | records.RECEIVES)], [], 0)
def test_split(drawn, parts, cut):
    """The records come in two pieces; addresses are numbered -2, -3 ... in order of first occurrence."""
    parts = sorted(parts, key=lambda part: part[0])
    rows = table(kernel.CALL, drawn)
    columns = {name: np.zeros(len(rows), dtype) for name, dtype in COLUMNS.items()}
    actions, others = table(kernel.ACTION, 2 * len(rows) + len(parts)), table(kernel.OTHER, len(rows))
    progress, sites = table(kernel.PROGRESS, 1), table(kernel.SITE, 64)
    for piece, begin in ((rows[:cut], 0), (rows[cut:], min(cut, len(rows)))):
        progress["row"] = begin
        kernel.split(
            *(piece, table(kernel.PART, parts), table(kernel.OPERATION, OPERATIONS), *communicators(), RANK, START),
            **columns,
            actions=actions,
            others=others,
            sites=sites,
            progress=progress,
        )
    calls, expected, rest, strangers, nobody = naive.split(drawn, parts, OPERATIONS, COMMS, RANK, START)
    addresses = list(dict.fromkeys(call[5] for call in calls if call[5]))
    wanted = [(*call[:5], -2 - addresses.index(call[5]) if call[5] else -1, *call[6:]) for call in calls]
    done = progress[0]
    assert list(zip(*(column[: done.calls].tolist() for column in columns.values()), strict=True)) == wanted
    found = actions[: done.actions]
    assert lines(found[["call", "request", "bytes", "peer", "tag", "comm", "bits"]]) == expected
    assert lines(others[: done.others]) == rest
    assert (done.calls, done.sites, done.strangers, done.to_nobody) == (len(calls), len(addresses), strangers, nobody)


@given(st.lists(RECORDS, max_size=8), st.lists(PARTS, max_size=6), st.integers(0, 8))
@example([(0, 0, site, 1, 2, 2**62, 1, 5, 1, 2, 5) for site in (1, 65, 1)], [(0, 3, 2, 3, 4, 1, 5), (1, 9, 9, 9, 9, 0, 65536)], 1)
@example([(0, 0, site, 1, 2, 3, 1, 5, 1, 6, 0) for site in (1, 0, 65)], [], 1)
def test_survey(drawn, parts, cut):
    """The records come in two pieces, and again where the table of addresses, for two at first, was too small."""
    parts = sorted(parts, key=lambda part: part[0])
    rows, words = table(kernel.CALL, drawn), table(kernel.PART, parts)
    sites, progress, traffic = table(kernel.SITE, 2), table(kernel.PROGRESS, 1), table(kernel.TRAFFIC, 1)
    for end in (cut, len(rows)):
        while progress[0].row < min(end, len(rows)):
            operations = table(kernel.OPERATION, OPERATIONS)
            progress[0].row += kernel.survey(rows[progress[0].row : end], words, operations, sites, progress, traffic)
            sites = sites if progress[0].row >= min(end, len(rows)) else roomy(sites)
    addresses, counts = naive.survey(*naive.split(drawn, parts, OPERATIONS, COMMS, RANK, START)[:2])
    assert [progress[0].calls, *(traffic[0][name] for name in ("sends", "receives", "requests", "tests", "last_request"))] == counts
    found = dict(zip((-1 - sites["number"]).tolist(), sites["address"].tolist(), strict=True))
    assert [found[k + 1] for k in range(progress[0].sites)] == addresses


LINKED = st.sampled_from([0, 1, 2, 3, 5, 6, 1 | 4 | 512, 8, 9, 10, 12, 14, 138, 1 << 16])
REQUEST = st.sampled_from([0, 0, 0, 1, 1, 3, -1, 4])
ACTIONS = st.lists(st.tuples(st.integers(0, 9), REQUEST, BIG, st.sampled_from([-4, -1, 3]), SMALL, COMM, LINKED), max_size=20)
SENDS = {**dict.fromkeys(("send_call", "send_request", "send_peer", "send_tag", "send_comm"), "i4"), "send_mode": "u1", "send_bytes": "i8"}
RECEIVES = dict.fromkeys(("receive_call", "receive_done", "receive_peer", "receive_tag", "receive_comm"), "i4") | {"receive_bytes": "i8"}
REQUESTS = {"posted_by": "i4", "completed_by": "i4", "cancelled": "u1"}
TESTS = {"test_call": "i4", "test_request": "i4"}


@given(ACTIONS)
@example([(0, 1, 0, -2, 5, 0, 6), (1, 0, 8, 3, 5, 0, 5), (2, 1, 0, 3, 5, 0, 138), (3, 0, 0, 0, 0, 0, 9), (4, 0, 9, 3, 5, 0, 10)])
@example([(0, 1, 0, -2, 5, 0, 6), (1, 1, 0, 3, 5, 0, 1 << 16), (2, 1, 4, 3, 5, 0, 10)])
def test_tie(drawn):
    order = [*kernel.ACTION.names]
    names = ("call", "request", "bytes", "peer", "tag", "comm", "bits")
    actions = table(kernel.ACTION, [tuple(dict(zip(names, action, strict=True))[name] for name in order) for action in drawn])
    slots, traffic = table(kernel.SLOT, [(-1, -1)] * 4), table(kernel.TRAFFIC, 1)
    columns = {name: np.zeros(len(drawn), dtype) for name, dtype in {**SENDS, **RECEIVES, **REQUESTS, **TESTS}.items()}

    def found(dtypes, count):
        return list(zip(*(columns[name][:count].tolist() for name in dtypes), strict=True))

    left = kernel.tie(actions, slots, **columns, traffic=traffic)
    sends, receives, posted, tests, kept, strangers = naive.tie(drawn)
    assert lines(actions[:left][[*names]]) == kept
    assert lines(traffic) == [(len(sends), len(receives), len(posted), len(tests), 0, strangers)]
    assert found(SENDS, len(sends)) == sends
    assert [row[: 2 if row[1] < 0 else 6] for row in found(RECEIVES, len(receives))] == [
        tuple(row[: 2 if row[1] < 0 else 6]) for row in receives
    ]
    assert [list(row) for row in found(REQUESTS, len(posted))] == posted
    assert found(TESTS, len(tests)) == tests


@given(st.lists(st.booleans(), max_size=20))
def test_nest(begins):
    count = sum(begins)
    parent, end = np.zeros(count, "i4"), np.zeros(count, "i4")
    lost = kernel.nest(np.array(begins, "u1"), np.zeros(count + 1, "i4"), parent, end)
    assert (parent.tolist(), end.tolist(), lost) == naive.nest(begins)
