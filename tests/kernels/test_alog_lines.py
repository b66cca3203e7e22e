"""Lines of ALOG as numbers, against the naive twin and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_alog_read as naive
from perwiz.kernels import alog, alog_lines
from perwiz.trace import defects

WORDS = st.one_of(
    st.sampled_from(
        ["0", "1", "-1", "+5", "-101", "-102", "-100", "-13", "7.5", "7.", ".5", "0.0005", "0.9995", "1.00049", "@", "#", "", "x"]
    ),
    st.sampled_from(
        [str(2**31 - 1), str(2**31), str(-(2**31)), str(-(2**31) - 1), str(2**50), str(2**50 + 1), "9" * 18, "9" * 19, "0" * 20]
    ),
    st.sampled_from(["999999999999999", "1000000000000000", "1e6", "--1", "-", "1-2", "12abc", "@x", "c=0", "\xb7", "\x00", "\r"]),
)
BLANKS = st.sampled_from([" ", " ", " ", "  ", "\t", " \t", ""])


@st.composite
def line(draw):
    """Draw a line that is more often right than wrong."""
    words = ["-101" if draw(st.booleans()) else "5", "0", "0", "1", "0", "17", "99", "12", "@", "c=0"][: draw(st.integers(0, 10))]
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(words)))
        words[at : at + draw(st.integers(0, 1))] = [draw(WORDS)]
    return "".join(draw(BLANKS) + word if k else word for k, word in enumerate(words))


ENDS = st.sampled_from(["\n", "\r\n"])
TEXTS = st.builds(lambda lines, end, last: end.join(lines) + last, st.lists(line(), max_size=5), ENDS, st.sampled_from(["", "\n"]))


def parsed(text, room=None):
    """Return what the twin returns; the rows are filled `room` at a time."""
    out, start = [], 0
    while start < len(text):
        rows = awkward(room or text.count(b"\n") + 1)
        count, start = alog_lines.parse(text, start, rows)
        out += [shown(row) for row in rows[:count]]
    return out


def awkward(count):
    """Return rows full of numbers that mean nothing."""
    rows = alog.empty(count, alog.LINE)
    for name in rows.dtype.names:
        rows[name] = 77
    return rows


def shown(row):
    if row.status > alog.HEADER:
        return row.status, None, None, None, None
    numbers = row.tolist()[: 8 if row.type in (-101, -102) else 6]
    assert row.owner == alog.NOBODY
    return row.status, list(numbers), row.text, row.text_end, row.attributes


@pytest.mark.slow
@given(TEXTS)
def test_lines__twin(text):
    text = text.encode("latin-1")
    assert parsed(text) == naive.lines(text)


@given(st.binary(max_size=40))
def test_lines__twin_on_anything(data):
    assert parsed(data) == naive.lines(data)


@pytest.mark.slow
@given(TEXTS, st.integers(1, 3))
def test_lines__in_several_calls(text, room):
    text = text.encode("latin-1")
    assert parsed(text, room) == parsed(text)


@pytest.mark.parametrize(
    ("time", "ns"),
    [
        ("0", 0),
        ("5", 5000),
        ("5.", 5000),
        ("5.1", 5100),
        ("5.1234", 5123),
        ("5.1235", 5124),
        ("5.9995", 6000),
        ("0.0004999", 0),
        ("0.0005", 1),
    ],
)
def test_lines__time(time, ns):
    """Microseconds with any decimals, as whole nanoseconds."""
    assert parsed(f"1 0 0 0 0 {time}".encode())[0][1][5] == ns


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("", alog.BLANK),
        (" \t", alog.BLANK),
        ("  # 1 2 3 4 5 6", alog.BLANK),
        ("-1 0 0 0 0 0 Me", alog.HEADER),
        ("-100 -1 -1 -1 -1 -1", alog.HEADER),
        ("0 0 0 0 0 0", alog.EVENT),
        ("-101 0 0 1 0 5 7 8", alog.EVENT),
        ("-103 0 0 1 0 5", alog.EVENT),
        ("1 2 3 4 5", alog.NOT_INTEGERS),
        ("1 2 3 4 5 6x", alog.NOT_INTEGERS),
        ("1 0 0 0 0 1e6", alog.NOT_INTEGERS),
        ("1 0 0 0 0 999999999999999", alog.EVENT),
        ("1 0 0 0 0 1000000000000000", alog.OUT_OF_RANGE),
        ("1 -1 0 0 0 0", alog.OUT_OF_RANGE),
        ("1 0 -1 0 0 0", alog.OUT_OF_RANGE),
        ("1 0 0 0 -1 0", alog.OUT_OF_RANGE),
        ("1 0 0 0 0 -1", alog.OUT_OF_RANGE),
        ("2147483648 0 0 0 0 0", alog.OUT_OF_RANGE),
        ("-101 0 0 2147483648 0 0 1 1", alog.OUT_OF_RANGE),
        ("1 0 0 2147483648 0 0", alog.EVENT),
        ("-101 0 0 1 0 0 1 -1", alog.OUT_OF_RANGE),
        ("-101 0 0 1 0 0 1 1125899906842624", alog.EVENT),
        ("-101 0 0 1 0 0 1 1125899906842625", alog.OUT_OF_RANGE),
        ("-101 0 0 1 0 5", alog.NO_TAG_AND_BYTES),
        ("-102 0 0 1 0 5 7", alog.NO_TAG_AND_BYTES),
        ("-102 0 0 1 0 5 tag size", alog.NO_TAG_AND_BYTES),
    ],
)
def test_lines__status(line, status):
    assert [found[0] for found in parsed(line.encode() + b"\n")] == [status]


@given(st.lists(st.tuples(st.integers(-104, 6), st.integers(0, 6), st.integers(0, 1), st.sampled_from([0, 0, 1, 2, 17])), max_size=8))
def test_look_up__twin(cells):
    unknown = alog.UNKNOWN
    states, locations = {0: 3, 1: -1, 2: 0, 3: 1}, {0: 5, 1: unknown, 2: 0, 3: 1}
    rows = awkward(len(cells))
    for row, cell in zip(rows, cells, strict=True):
        row.type, row.process, row.task, row.status = cell
    left = alog_lines.look_up(rows, np.array(list(states.values()), "i4"), np.array(list(locations.values()), "i4"))
    expected = [
        (alog.NONE if kind < 0 else states.get(kind, unknown), locations.get(process, unknown) if task == 0 else unknown)
        if status == alog.EVENT
        else (77, 77)
        for kind, process, task, status in cells
    ]
    assert [tuple(pair) for pair in rows[["state", "location"]].tolist()] == expected
    assert left == sum(unknown in pair for pair in expected)


def test_reasons__as_the_trace_numbers_them():
    """The kernels know them as statuses."""
    found = (alog.NOT_INTEGERS, alog.OUT_OF_RANGE, alog.NO_TAG_AND_BYTES, alog.NOT_OPEN, alog.BACKWARDS, alog.TOO_DEEP)
    reasons = (
        *(defects.NOT_INTEGERS, defects.OUT_OF_RANGE, defects.NO_TAG_AND_SIZE),
        *(defects.NOT_OPEN, defects.BACKWARDS, defects.TOO_DEEP),
    )
    assert tuple(status - alog.DAMAGED for status in found) == reasons
