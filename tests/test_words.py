"""Numbers as words, names as a terminal may show them, aligned rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perwiz import words


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        *((0, "0 ns"), (1, "1 ns"), (999, "999 ns"), (1000, "1.000 us"), (12_346, "12.35 us"), (123_449, "123.4 us")),
        *((999_949, "999.9 us"), (999_950, "1.000 ms"), (9_437_000, "9.437 ms"), (412_568_000, "412.6 ms"), (999_999_999, "1.000 s")),
        *((12_030_000_000, "12.03 s"), (9_999_600_000, "10.00 s"), (1234_600_000_000, "1235 s"), (86_400 * 10**9, "86400 s")),
        *((-1, "-1 ns"), (-9_437_000, "-9.437 ms"), (-999_999, "-1.000 ms")),
    ],
)
def test_duration(ns, text):
    assert words.duration(ns) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (180, "180 B"), (133_816, "133.8 kB"), (999_999, "1.000 MB"), (5 * 10**9, "5.000 GB"), (123_456 * 10**12, "123456 TB")],
)
def test_size(size, text):
    assert words.size(size) == text


@given(st.integers(-(10**16), 10**16))
def test_duration__is_right_to_four_digits(ns):
    value, unit = words.duration(ns).split()
    scale = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}[unit]
    assert abs(float(value) * scale - ns) <= max(abs(ns) / 1990, scale / 1999 if scale > 1 else 0)
    assert 0 <= abs(float(value)) < 1000 or unit == "s"


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(1, 3, "33.3 %"), (0, 3, "0.0 %"), (1, 10_000, "<0.1 %"), (1, 2000, "0.1 %"), (3, 3, "100.0 %"), (0, 0, "-"), (5, 0, "-")],
)
def test_percent(part, whole, text):
    assert words.percent(part, whole) == text


def test_several():
    assert [words.several(n, "message") for n in (0, 1, 2)] == ["0 messages", "1 message", "2 messages"]
    assert words.several(2, "process") == "2 processes"


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        *(("solve", "solve"), ("", ""), ("é 漢", "é 漢"), ("a\nb\tc\r", "a\\nb\\tc\\r"), ("\x1b[31mred\x07", "\\x1b[31mred\\x07")),
        *(("\x9b2J", "\\x9b2J"), ("\u202etxt", "\\u202etxt"), ("\udcff", "\\udcff"), ("\u2028", "\\u2028")),
    ],
)
def test_shown__nothing_a_terminal_would_obey(text, safe):
    assert words.shown(text) == safe


def test_shown__leaves_out_the_middle():
    assert words.shown("abcdefghij", 10) == "abcdefghij"
    assert words.shown("abcdefghijk", 10) == "abcd...ijk"


@given(st.text(), st.integers(5, 60))
def test_shown__is_printable_and_short(text, most):
    assert words.shown(text, most).isprintable()
    assert len(words.shown(text, most)) <= most


def test_facts__aligned_and_wrapped():
    lines = words.facts([("source", "word " * 40), ("", "more")])
    assert [line[:14] for line in lines] == ["source        ", " " * 14, " " * 14]
    assert lines[-1] == f"{'':14}more"
    assert max(map(len, lines)) <= 120


def test_table__flush_left_and_right():
    assert words.table(["a", "number"], [["long", "1"], ["b", "22"]]) == ["a     number", "long       1", "b         22"]


def test_table__nothing_behind_the_last_word():
    assert words.table(["a", "b"], [["x", "y"], ["x", ""]], left=(0, 1)) == ["a  b", "x  y", "x"]


def test_rank__of_a_thread():
    assert (words.rank(3, 0), words.rank(3, 2)) == ("3", "3.2")
