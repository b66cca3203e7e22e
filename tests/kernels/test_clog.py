"""Where records of CLOG-2 begin, against the naive twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive
from perwiz.formats.clog.records import LENGTHS
from perwiz.kernels import alog, clog


@given(st.lists(st.integers(-1, 13), max_size=12), st.integers(6, 40), st.integers(1, 5), st.integers(0, 7))
def test_records__twin(kinds, block, room, cut):
    words = []
    for kind in kinds:
        words += [0] * 5 + [kind] + [0] * (max(LENGTHS[kind] - 6, 0) if 0 <= kind < 12 else 0)
        if kind == 1:
            words += [0] * (-len(words) % block)
    words = np.array(words[: max(len(words) - cut, 0)], "i4")
    at = np.zeros(1, clog.WALK).view(np.recarray)
    buffer, types, found, told = np.empty(room, "i8"), np.empty(room, "i1"), [], []
    while not at.ended[0] and at.block[0] < len(words):
        clog.records(words, block, LENGTHS, buffer, types, at)
        found += buffer[: at.records[0]].tolist()
        told += types[: at.records[0]].tolist()
    assert told == [words[place + 5] if place >= 0 else -1 for place in found]
    assert (found, bool(at.ended[0]), int(at.wrong[0])) == naive.clog_records(words.tolist(), block, LENGTHS.tolist())


def test_records__blocks_that_are_full_have_no_end():
    """Two blocks of one record each, that fill them."""
    kind = 2
    block = int(LENGTHS[kind])
    words = np.array(([0] * 5 + [kind] + [0] * (block - 6)) * 2, "i4")
    at, begin = np.zeros(1, clog.WALK).view(np.recarray), np.empty(4, "i8")
    clog.records(words, block, LENGTHS, begin, np.empty(4, "i1"), at)
    assert (begin[: at.records[0]].tolist(), int(at.wrong[0])) == ([0, block], 0)


def test_events__twin():
    """Those that are bare, with cargo or of messages, as they stand there; the communicator of a partner, or else the own."""
    records = [(4, 2, 1, 5, 10), (4, 3, 0, 7, -101, 5, 1, 9, 800), (0, 0, 0, 2, 1), (4, 3, 0, 7, -102, -1, 2, 9, -8), (0, 1, 0, 6, 601)]
    begin = np.cumsum([0, *(len(record) + 2 for record in records)])[:-1]
    words = np.array([word for record in records for word in (0, 0, *record)], "i4")
    kinds = np.array([record[3] for record in records], "i1")
    begin, kinds = np.insert(begin, 2, ~9), np.insert(kinds, 2, -1)
    lines, found = (np.empty(6, dtype).view(np.recarray) for dtype in (alog.LINE, clog.FOUND))
    assert clog.events(words, begin, kinds, lines, found) == 4
    told, beside = naive.clog_events(words.tolist(), begin.tolist(), kinds.tolist())
    names = ("type", "process", "task", "int_data", "tag", "bytes", "cycle", "status", "owner")
    assert lines[:4][list(names)].tolist() == told
    assert found[:4].tolist() == beside
