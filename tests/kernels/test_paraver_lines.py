"""Lines of Paraver as numbers, against the naive twin and by hand."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import naive_paraver as naive
from perwiz.kernels import paraver, paraver_lines
from perwiz.trace import defects

THREADS = [[2, 1], [1, 0, 3]]
TASKS = np.array([0, 2, 5], "i4")
BEFORE = np.array([0, 2, 3, 4, 4, 7], "i4")
NUMBERS = st.sampled_from(
    [
        *("0", "1", "2", "3", "4", "-1", "50000001", "", "-", "x", "1e3", "07", "5 ", "9" * 18, "9" * 30, "-" + "9" * 19),
        *map(str, (2**31, 2**50 + 1, 2**60, 2**63 - 1, 2**63)),
    ]
)
LINES = st.sampled_from(
    [
        "1:1:1:1:1:0:5:0",
        "1:1:1:1:2:3:9:2",
        "2:1:2:3:3:7:50000001:3:42000050:99",
        "2:1:1:2:1:7:1:2",
        "3:1:1:1:1:5:6:2:1:2:1:0:8:700:5",
        "c:1:1:2:1:2",
        "# remark",
        "",
    ]
)


@st.composite
def line(draw):
    """Draw a line that is more often right than wrong."""
    words = draw(LINES).split(":")
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(words)))
        words[at : at + draw(st.integers(0, 1))] = [draw(NUMBERS)]
    return ":".join(words)


ENDS = st.sampled_from(["\n", "\r\n"])
TEXTS = st.builds(lambda lines, end, last: end.join(lines) + last, st.lists(line(), max_size=5), ENDS, st.sampled_from(["", "\n"]))


def parsed(text, scale=1, room=8):
    """Return pairs, messages and other lines, read with buffers of so many rows."""
    buffers = [np.recarray(room, dtype) for dtype in (paraver.PAIR, paraver.MESSAGE, paraver.OTHER)]
    counts, out, start = np.zeros(1, paraver.LINES).view(np.recarray), ([], [], []), 0
    while start < len(text):
        paraver_lines.parse(text, start, TASKS, BEFORE, scale, *buffers, counts)
        assert counts.following[0] > start
        start = int(counts.following[0])
        for rows, buffer, name in zip(out, buffers, ("pairs", "messages", "others"), strict=True):
            rows += buffer[: counts[name][0]].tolist()
            counts[name] = 0
    return out


@pytest.mark.slow
@given(TEXTS, st.sampled_from([1, 1000]))
@example("1:1:1:1:1:0:5:\n2:1:2:3:3:7:\n3:1:1:1:1:5:6:2:1:2:1:0:8:700:\n", 1)
@example("3:1:1:1:1:5:6:2:1:2:1:0:8:700:5:9\n3:1:1:1:1:5:6:2:1:2:1:0:8:700:5x\n", 1)
def test_lines__twin(text, scale):
    text = text.encode("latin-1")
    assert parsed(text, scale) == naive.lines(text, THREADS, scale)


@given(st.binary(max_size=40))
def test_lines__twin_on_anything(data):
    assert parsed(data) == naive.lines(data, THREADS, 1)


@pytest.mark.slow
@given(TEXTS, st.integers(3, 6))
def test_lines__in_several_calls(text, room):
    """A line has at most three events here."""
    text = text.encode("latin-1")
    assert parsed(text, room=room) == parsed(text, room=64)


def test_lines__room():
    """What has no room is left for the next call; the line of three events, for which there is never less, is read whole."""
    text = b"2:1:1:1:1:5:1:1:2:2\n2:1:1:1:1:6:1:1:2:2:3:3\n2:1:1:1:1:5:-1:1\n3:1:1:1:1:5:6:2:1:9:1:0:8:700:5\n"
    text += b"2:1:1:1:1:5:1:1:2\n2:1:1:1:1:5\n3:1:1:1:1:5:6:2:1:2:1:0:8:-1:5\n"
    pairs, messages, others = parsed(text, room=3)
    assert [pair[:4] for pair in pairs] == [(5, 1, 1, 1), (5, 2, 2, 1), (6, 1, 1, 2), (6, 2, 2, 2), (6, 3, 3, 2)]
    assert (messages, [(line, what) for line, *_, what in others]) == ([], [(3, 1), (4, 1), (5, 15), (6, 15), (7, 1)])


def test_lines__by_hand():
    """The first idles from 2 to 4 us; the last thread of the second application calls; the rest has something wrong."""
    text = b"""\
#Paraver
1:1:1:1:1:2:4:0
1:1:1:1:1:4:6:1
2:9:2:3:3:5:50000001:1:42000050:-7
c:1:1:1:1
2:9:2:2:1:5:50000001:1
2:9:1:1:1:5:50000001
1:1:1:1:1:4:3:0
3:1:1:1:1:1:2:1:1:2:1:3:4:10:-1
garbage
"""
    pairs, messages, others = parsed(text, 1000)
    assert pairs == [(2000, -1, 4000, 2, 0, 1), (5000, 50000001, 1, 4, 6, 0), (5000, 42000050, -7, 4, 6, 1)]
    assert messages == [(1000, 3000, 4000, 10, -1, 0, 2)]
    assert [(line, what) for line, _, _, what in others] == [
        (5, paraver.HEADER),
        (6, paraver.OUT_OF_RANGE),
        (7, paraver.NO_RECORD),
        (8, paraver.OUT_OF_RANGE),
        (10, paraver.NO_RECORD),
    ]
    _, begin, end, _ = others[-1]
    assert text[begin:end] == b"garbage"


def test_reasons__are_those_of_defects():
    names = ("OUT_OF_RANGE", "NO_RECORD", "NOT_OPEN", "NEVER_ENDS", "BACKWARDS")
    assert [getattr(paraver, name) for name in names] == [getattr(defects, name) for name in names]
