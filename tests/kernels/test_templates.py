"""Rows of integers to text after templates: by hand and against the naive twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_viewers
from perwiz.kernels import templates
from perwiz.kernels.steps import ABSENT, CLOSE, IF, LIST, MICROSECONDS, NAME, NUMBER, OPEN, SHORT_MICROSECONDS, STEP, TEXT

TEXTS = [b"", b"a", b'\xc3\xa9\n"', b"long " * 9]
ENTRIES = [0, 10, -1, 2**31 - 1, -(2**31) + 1, 7]


def fill(kind, cells, steps_of):
    """Return what the kernel writes."""
    first = np.cumsum([0, *map(len, steps_of)], dtype="i4")
    steps = np.array([step for steps in steps_of for step in steps], STEP).view(np.recarray)
    starts, pool = np.cumsum([0, *map(len, TEXTS)], dtype="i8"), np.frombuffer(b"".join(TEXTS), "u1")
    out = np.full(100_000, 33, "u1")
    table = np.array(cells, "i8").reshape(len(kind), len(cells[0]) if cells else 1)
    size = templates.fill(np.array(kind, "u1"), table, first, steps, starts, pool, np.array(ENTRIES, "i4"), out)
    taken_back = max((extent for steps in steps_of for code, _, extent in steps if code == CLOSE), default=0)
    assert (out[size + taken_back :] == 33).all(), "writes behind the end it returns"
    return bytes(out[:size])


def test_fill__by_hand():
    """Two kinds: `a` and a time; a number and, if there is one, a text."""
    steps = [[(TEXT, 1, 0), (MICROSECONDS, 0, 0)], [(NUMBER, 0, 0), (IF, 1, 1), (NAME, 1, 0)]]
    assert fill([0, 1, 1], [[1_002_003, 0], [-70, 3], [0, ABSENT]], steps) == b"a1002.003-70" + b"long " * 9 + b"0"


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0"),
        (1, "0.001"),
        (999, "0.999"),
        (1000, "1"),
        (12340, "12.340"),
        (10**15 + 50, "1000000000000.050"),
        (9 * 10**18, str(9 * 10**15)),
    ],
)
def test_fill__short_microseconds(ns, text):
    assert fill([0], [[ns]], [[(SHORT_MICROSECONDS, 0, 0)]]) == text.encode()


@pytest.mark.parametrize(("first", "count", "text"), [(0, 0, b""), (1, 1, b"10"), (1, 4, b"10,-1,2147483647,-2147483647"), (5, 1, b"7")])
def test_fill__lists(first, count, text):
    assert fill([0], [[first, count]], [[(LIST, 0, 1)]]) == text


@pytest.mark.parametrize(("cell", "text"), [(ABSENT, b""), (7, b"a7")])
def test_fill__nothing_but_the_literal(cell, text):
    assert fill([0], [[cell]], [[(OPEN, 0, 0), (TEXT, 1, 0), (IF, 0, 1), (NUMBER, 0, 0), (CLOSE, 0, 1)]]) == text


@pytest.mark.parametrize("number", [0, 9, 10, -1, -10, 10**18, -(10**18), 2**62 - 1])
def test_fill__numbers(number):
    assert fill([0], [[number]], [[(NUMBER, 0, 0)]]) == str(number).encode()


SOME_STEP = st.sampled_from(
    [
        *((TEXT, row, 0) for row in range(len(TEXTS))),
        *((NUMBER, 0, 0), (MICROSECONDS, 1, 0), (SHORT_MICROSECONDS, 1, 0), (NAME, 2, 0), (LIST, 4, 5)),
    ]
)


@pytest.mark.slow
@given(st.data())
def test_fill__twin(data):
    kinds = []
    for _ in range(data.draw(st.integers(1, 3))):
        optional = [(IF, 3, data.draw(st.integers(0, 2)))] if data.draw(st.booleans()) else []
        optional = [(OPEN, 0, 0), *optional] if data.draw(st.booleans()) else optional
        close = [(CLOSE, 0, data.draw(st.integers(0, 3)))] if (OPEN, 0, 0) in optional else []
        kinds.append(
            [*data.draw(st.lists(SOME_STEP, max_size=2)), *optional, *data.draw(st.lists(SOME_STEP, min_size=2, max_size=4)), *close]
        )
    kind = data.draw(st.lists(st.integers(0, len(kinds) - 1), max_size=6))
    time = st.one_of(st.integers(0, 10**15), st.integers(0, 10**12).map(lambda us: 1000 * us))
    number, entry = st.integers(-(10**15), 10**15), st.integers(0, 3)
    row = st.tuples(number, time, st.integers(0, 3), st.sampled_from([0, ABSENT]), entry, entry)
    cells = [data.draw(row) for _ in kind]
    assert fill(kind, cells, kinds) == naive_viewers.fill(kind, cells, kinds, TEXTS, ENTRIES, ABSENT)
