"""Lines of ALOG, worked by hand and against the naive twin."""

import numpy as np
import pytest

import naive_alog
from perwiz.kernels import alog_format

ABSENT = -(1 << 62)
KEYS = ["", "", "", "", "", "", "", "q", "", "k", "o", "c", "sb"]
KEY_BYTES = np.frombuffer("".join(key.ljust(2, "\0") for key in KEYS).encode(), "u1")
PLAIN = [*[ABSENT] * 2, 0, 0, 0, -1, ABSENT, ABSENT]


def form(rows, pool=(), texts=()):
    """Return what the kernel writes for rows of 13 numbers."""
    starts = np.cumsum([0, *(len(text) for text in texts)], dtype="i8")
    out = np.full(1000 * len(rows) + 1, 33, "u1")
    size = alog_format.lines(
        np.array(rows, "i8").reshape(-1, len(KEYS)),
        np.array(pool, "i4"),
        starts,
        np.frombuffer("".join(texts).encode(), "u1"),
        KEY_BYTES,
        ABSENT,
        out,
    )
    assert (out[size:] == 33).all(), "writes behind the end it returns"
    return out[:size].tobytes().decode()


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
def test_lines__time_in_microseconds(ns, text):
    assert form([[3, 0, 0, 1, ns, *PLAIN]]) == f"3 0 0 1 0 {text}\n"


@pytest.mark.parametrize("number", [0, 9, 10, 99, 100, 2**31 - 1, 10**18, 2**61, -1, -10, -(2**31)])
def test_lines__any_number(number):
    assert (
        form([[number, 0, 0, number, 0, number, 7, 0, 0, 0, -1, number, ABSENT]]) == f"{number} 0 0 {number} 0 0 {number} 7 @ c={number}\n"
    )


def test_lines__all_attributes():
    row = [-101, 2, 1, 3, 1500, 99, 12, 1, 3, ord("y"), 1, 0, 5]
    assert form([row], [8, 4, 5, 6], ["SUM", "MAX_int"]) == "-101 2 1 3 0 1.500 99 12 @ c=0 sb=5 k=y q=4,5,6 o=MAX_int\n"


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({}, ""),
        ({12: 4}, " @ sb=4"),
        ({9: ord("s")}, " @ k=s"),
        ({7: 1, 8: 1}, " @ q=22"),
        ({10: 0}, " @ o=SUM"),
        ({5: -1, 6: 0}, " -1 0"),
        ({5: -1, 6: 0, 10: 0}, " -1 0 @ o=SUM"),
    ],
)
def test_lines__each_attribute_alone(columns, text):
    row = [3, 0, 0, 1, 0, *PLAIN]
    for column, value in columns.items():
        row[column] = value
    assert form([row], [11, 22], ["SUM"]) == f"3 0 0 1 0 0{text}\n"


def test_lines__none():
    assert form([]) == ""


def test_lines__as_naive():
    random = np.random.default_rng(5)
    pool, texts = random.integers(0, 2**31, 50), ["", "SUM", "a_longer_text"]
    rows = [some_row(random, len(texts)) for _ in range(300)]
    assert form(rows, pool, texts) == naive_alog.lines(rows, pool.tolist(), texts, KEYS, ABSENT)


def some_row(random, texts):
    head = [int(random.integers(-(2**31), 2**31)) for _ in range(4)]
    tag, size = random.choice([[ABSENT, ABSENT], [5, 10**12], [-(2**31), 0]]).tolist()
    numbers = [int(random.choice([ABSENT, -2, 0, 10 ** int(random.integers(18))])) for _ in range(2)]
    count = int(random.integers(0, 5))
    return [
        *(*head, int(random.integers(0, 10 ** int(random.integers(1, 18)))), tag, size),
        *(int(random.integers(0, 45)), count, int(random.choice([0, ord("b")])), int(random.integers(-1, texts)), *numbers),
    ]
