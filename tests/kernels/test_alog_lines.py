"""Lines of ALOG as numbers, against the naive twin and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_alog_read as naive
from perwiz.formats.alog import rows as row
from perwiz.kernels import alog_lines

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
        rows = np.full((room or text.count(b"\n") + 1, row.ROW_COLUMNS), 77, "i8")
        count, start = alog_lines.lines(text, start, rows)
        out += [shown(cell) for cell in rows[:count].tolist()]
    return out


def shown(cell):
    status = cell[row.STATUS]
    if status > row.HEADER:
        return status, None, None, None, None
    numbers = cell[: 8 if cell[row.TYPE] in (-101, -102) else 6]
    assert cell[row.OWNER] == row.NOBODY
    return status, numbers, cell[row.TEXT], cell[row.TEXT_END], cell[row.EXTRA]


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
    assert parsed(f"1 0 0 0 0 {time}".encode())[0][1][row.TIME] == ns


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("", row.BLANK),
        (" \t", row.BLANK),
        ("  # 1 2 3 4 5 6", row.BLANK),
        ("-1 0 0 0 0 0 Me", row.HEADER),
        ("-100 -1 -1 -1 -1 -1", row.HEADER),
        ("0 0 0 0 0 0", row.EVENT),
        ("-101 0 0 1 0 5 7 8", row.EVENT),
        ("-103 0 0 1 0 5", row.EVENT),
        ("1 2 3 4 5", row.DAMAGED),
        ("1 2 3 4 5 6x", row.DAMAGED),
        ("1 0 0 0 0 1e6", row.DAMAGED),
        ("1 0 0 0 0 999999999999999", row.EVENT),
        ("1 0 0 0 0 1000000000000000", row.DAMAGED + 1),
        ("1 -1 0 0 0 0", row.DAMAGED + 1),
        ("1 0 -1 0 0 0", row.DAMAGED + 1),
        ("1 0 0 0 -1 0", row.DAMAGED + 1),
        ("1 0 0 0 0 -1", row.DAMAGED + 1),
        ("2147483648 0 0 0 0 0", row.DAMAGED + 1),
        ("-101 0 0 2147483648 0 0 1 1", row.DAMAGED + 1),
        ("1 0 0 2147483648 0 0", row.EVENT),
        ("-101 0 0 1 0 0 1 -1", row.DAMAGED + 1),
        ("-101 0 0 1 0 0 1 1125899906842624", row.EVENT),
        ("-101 0 0 1 0 0 1 1125899906842625", row.DAMAGED + 1),
        ("-101 0 0 1 0 5", row.DAMAGED + 2),
        ("-102 0 0 1 0 5 7", row.DAMAGED + 2),
        ("-102 0 0 1 0 5 tag size", row.DAMAGED + 2),
    ],
)
def test_lines__status(line, status):
    assert [found[0] for found in parsed(line.encode() + b"\n")] == [status]


@given(st.lists(st.tuples(st.integers(-104, 6), st.integers(0, 6), st.integers(0, 1), st.sampled_from([0, 0, 1, 2, 17])), max_size=8))
def test_look_up__twin(cells):
    slots, places = {0: 3, 1: -1, 2: 0, 3: 1}, {0: 5, 1: -2, 2: 0, 3: 1}
    rows = np.full((len(cells), row.ROW_COLUMNS), 77, "i8")
    for cell, (kind, process, task, status) in zip(rows, cells, strict=True):
        cell[[row.TYPE, row.PROCESS, row.TASK, row.STATUS]] = kind, process, task, status
    left = alog_lines.look_up(rows, np.array(list(slots.values()), "i4"), np.array(list(places.values()), "i4"))
    expected = [
        (-1 if kind < 0 else slots.get(kind, -2), places.get(process, -2) if task == 0 else -2) if status == row.EVENT else (77, 77)
        for kind, process, task, status in cells
    ]
    assert [tuple(pair) for pair in rows[:, [row.SLOT, row.LOCATION]].tolist()] == expected
    assert left == sum(-2 in pair for pair in expected)
