"""Where records of CLOG-2 begin, against the naive twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive
from perwiz.formats.clog.records import LENGTHS
from perwiz.kernels import clog


@given(st.lists(st.integers(-1, 13), max_size=12), st.integers(6, 40), st.integers(1, 5), st.integers(0, 7))
def test_records__twin(kinds, block, room, cut):
    words = []
    for kind in kinds:
        words += [0] * 5 + [kind] + [0] * (max(LENGTHS[kind] - 6, 0) if 0 <= kind < 12 else 0)
        if kind == 1:
            words += [0] * (-len(words) % block)
    words = np.array(words[: max(len(words) - cut, 0)], "i4")
    at = np.zeros(1, clog.WALK).view(np.recarray)
    buffer, found = np.empty(room, "i8"), []
    while not at.ended[0] and at.block[0] < len(words):
        clog.records(words, block, LENGTHS, buffer, at)
        found += buffer[: at.records[0]].tolist()
    assert (found, bool(at.ended[0]), int(at.wrong[0])) == naive.clog_records(words.tolist(), block, LENGTHS.tolist())


def test_records__blocks_that_are_full_have_no_end():
    """Two blocks of one record each, that fill them."""
    kind = 2
    block = int(LENGTHS[kind])
    words = np.array(([0] * 5 + [kind] + [0] * (block - 6)) * 2, "i4")
    at, begin = np.zeros(1, clog.WALK).view(np.recarray), np.empty(4, "i8")
    clog.records(words, block, LENGTHS, begin, at)
    assert (begin[: at.records[0]].tolist(), int(at.wrong[0])) == ([0, block], 0)
