"""The attributes behind `@`, against the naive twin and by hand."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import naive_alog_read as naive
from perwiz.kernels import alog, alog_lines

KEYS = st.sampled_from(["c", "n", "q", "sb", "o", "abc", "abcd", "", "="])
VALUES = st.sampled_from(
    ["0", "1", "-1", "7,8", "SUM,INT", "", ",", "x", "-x", "-", "9" * 18, "9" * 19, "-" + "9" * 17, "\xb7", "1=2", "1 "]
)
STRINGS = st.lists(st.one_of(st.builds("{}={}".format, KEYS, VALUES), st.sampled_from(["c", "=", "@", "\t", ""])), max_size=4).map(" ".join)


def found(strings, status=alog.EVENT):
    """Return (attributes, internal rows) of strings that stand one behind the other, places counted from the start of each."""
    text = b"".join(strings)
    rows = alog.zeros(len(strings), alog.LINE)
    rows.text_end = np.cumsum([len(string) for string in strings], dtype="i8")
    rows.attributes, rows.status = rows.text_end - [len(string) for string in strings], status
    notes = alog.empty(text.count(b"=") + text.count(b","), alog.NOTE)
    notes = notes[: alog_lines.parse_attributes(text, rows, notes)]
    for name in ("text", "word_end"):
        notes[name] -= rows.attributes[notes.line]
    return [tuple(note) for note in notes.tolist()], set(np.flatnonzero(rows.status == alog.INTERNAL).tolist())


@given(st.lists(STRINGS.map(lambda text: text.encode("latin-1")), max_size=4))
@example([b"c=1", b"k=2 n=1", b"n=0"])
def test_attributes__twin(strings):
    assert found(strings) == naive.attributes(strings)


@given(st.lists(st.binary(max_size=12), max_size=3))
def test_attributes__twin_on_anything(strings):
    assert found(strings) == naive.attributes(strings)


@pytest.mark.parametrize(
    ("word", "values"),
    [
        ("c=3", [("c", 3)]),
        ("q=7,8,-9", [("q", 7), ("q", 8), ("q", -9)]),
        ("sb=1024", [("sb", 1024)]),
        ("c", []),
        ("", []),
    ],
)
def test_attributes__by_hand(word, values):
    notes, _ = found([word.encode()])
    assert [(note[1], note[2]) for note in notes] == [(int.from_bytes(key.encode(), "big"), value) for key, value in values]


def test_attributes__texts_differ_and_are_no_numbers():
    notes, _ = found([b"k=s k=r k= o=SUM,INT o=SUM,DOUBLE m=99999999999999999999 k=-s"])
    values = [note[2] for note in notes]
    assert len(set(values)) == 7
    assert max(values) <= -(2**61)


@pytest.mark.parametrize("status", [alog.HEADER, alog.BLANK, alog.DAMAGED])
def test_attributes__of_events_only(status):
    assert found([b"c=1 n=1"], status) == ([], set())


def test_attributes__lines_without():
    rows = alog.zeros(1, alog.LINE)
    rows.attributes = alog.NONE
    assert alog_lines.parse_attributes(b"c=1", rows, alog.empty(1, alog.NOTE)) == 0
