"""Rows of integers to text after templates: by hand and against the naive twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_viewers
from perwiz.kernels import templates

ABSENT = -(1 << 62)
TEXTS = [b"", b"a", b'\xc3\xa9\n"', b"long " * 9]


def fill(kind, cells, steps_of, texts=TEXTS):
    """Return what the kernel writes."""
    first = np.cumsum([0, *map(len, steps_of)], dtype="i4")
    steps = np.array([step for steps in steps_of for step in steps], "i4").reshape(-1, 3)
    starts, pool = np.cumsum([0, *map(len, texts)], dtype="i8"), np.frombuffer(b"".join(texts), "u1")
    out = np.empty(100_000, "u1")
    table = np.array(cells, "i8").reshape(len(kind), len(cells[0]) if cells else 1)
    return bytes(out[: templates.fill(np.array(kind, "u1"), table, first, steps, starts, pool, ABSENT, out)])


def test_fill__by_hand():
    """Two kinds: `a` and a time; a number and, if there is one, a text."""
    steps = [[(0, 1, 0), (2, 0, 0)], [(1, 0, 0), (4, 1, 1), (3, 1, 0)]]
    assert fill([0, 1, 1], [[1_002_003, 0], [-70, 3], [0, ABSENT]], steps) == b"a1002.003-70" + b"long " * 9 + b"0"


@pytest.mark.parametrize("number", [0, 9, 10, -1, -10, 10**18, -(10**18), 2**62 - 1])
def test_fill__numbers(number):
    assert fill([0], [[number]], [[(1, 0, 0)]]) == str(number).encode()


STEP = st.one_of(
    st.tuples(st.just(0), st.integers(0, 3), st.just(0)),
    st.tuples(st.just(1), st.just(0), st.just(0)),
    st.tuples(st.just(2), st.just(1), st.just(0)),
    st.tuples(st.just(3), st.just(2), st.just(0)),
)


@pytest.mark.slow
@given(st.data())
def test_fill__twin(data):
    kinds = []
    for _ in range(data.draw(st.integers(1, 3))):
        optional = [(4, 3, data.draw(st.integers(0, 2)))] if data.draw(st.booleans()) else []
        kinds.append([*data.draw(st.lists(STEP, max_size=2)), *optional, *data.draw(st.lists(STEP, min_size=2, max_size=4))])
    kind = data.draw(st.lists(st.integers(0, len(kinds) - 1), max_size=6))
    time, number = st.integers(0, 10**15), st.integers(-(10**15), 10**15)
    row = st.tuples(number, time, st.integers(0, 3), st.sampled_from([0, ABSENT]))
    cells = [data.draw(row) for _ in kind]
    assert fill(kind, cells, kinds) == naive_viewers.fill(kind, cells, kinds, TEXTS, ABSENT)
