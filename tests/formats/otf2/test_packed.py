"""Columns as a worker hands them over: narrow in the file, as they were when they are taken, and gone from the file then."""

import io
import mmap
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perwiz.formats.otf2.library.packed import Arrays, in_memory, packed, written

LOW = st.sampled_from([-(2**63), -(2**31), -1, 0, 1, 2**31, 2**62])
SPAN = st.sampled_from([0, 1, 255, 256, 65535, 65536, 2**32 - 1, 2**32])


@pytest.mark.parametrize(
    ("values", "dtype", "stored", "low"),
    [
        ([], "i8", (0, "<i8"), 0),
        ([7, 7, 7], "i8", (0, "|u1"), 7),
        ([-1, 254], "i8", (2, "|u1"), -1),
        ([-1, 255], "i8", (2, "<u2"), -1),
        ([-(2**31), 2**31 - 1], "i4", (2, "<i4"), 0),
        ([-(2**31), 2**31 - 1], "i8", (2, "<u4"), -(2**31)),
        ([-(2**63), 2**63 - 1], "i8", (2, "<i8"), 0),
        ([3, 5], "u1", (2, "|u1"), 0),
        ([0.5, 0.5], "f8", (2, "<f8"), 0),
    ],
)
def test_packed__as_narrow_as_the_range_allows(values, dtype, stored, low):
    found, least = packed(np.array(values, dtype))
    assert ((len(found), found.dtype.str), least) == (stored, low)


@given(LOW, SPAN, st.lists(st.integers(0, 2**64), min_size=1, max_size=8))
def test_arrays__as_they_were(low, span, more):
    span = min(span, 2**63 - 1 - low)
    column = np.array([low + step % (span + 1) for step in more], "i8")
    arrays = in_memory({"a": column})
    assert arrays.of("a", 0, 1).dtype == "i8"
    assert arrays.of("a", 0, 1).tolist() == arrays.take("a", 0, 1).tolist() == column.tolist()


def test_arrays__of_several_locations():
    """Tables a and b of three locations; the second has no rows of a, the third no column a.y: it is 0 there."""
    tables = [
        {"a.x": np.array([1, 2]), "a.y": np.array([7, 8], "u1"), "b": np.array([300])},
        {"a.x": np.array([], "i8"), "b": np.array([-1])},
        {"a.x": np.array([5])},
    ]
    content = io.BytesIO(b"before")
    lines, ends = written(tables, content, content.seek(64))
    arrays = Arrays(content.getvalue(), lines, ends)
    assert ends == {"a": [2, 2, 3], "b": [1, 2, 2]}
    whole = {name: arrays.of(name, 0, 3) for name in ("a.x", "a.y", "b")}
    assert {name: (column.dtype.str, column.tolist()) for name, column in whole.items()} == {
        "a.x": ("<i8", [1, 2, 5]),
        "a.y": ("|u1", [7, 8, 0]),
        "b": ("<i8", [300, -1]),
    }
    assert [arrays.of("a.x", k, k + 1).tolist() for k in range(3)] == [[1, 2], [], [5]]
    assert [arrays.told(k) for k in range(3)] == [True, True, True]
    assert "a.z" not in arrays


def test_arrays__of_which_nothing_is_told():
    lines, ends = written([{"a": np.array([1])}, {}], io.BytesIO(), 0)
    assert [Arrays(b"", lines, ends).told(k) for k in range(2)] == [True, False]


def test_arrays__taken_columns_leave_the_file(tmp_path):
    """What is whole pages of it; those around stay as they are."""
    size = 8 * mmap.PAGESIZE
    columns = {name: np.random.default_rng(1).integers(0, 1 << 62, size) for name in "abc"}
    path = tmp_path / "columns"
    with open(path, "w+b") as file:
        lines, ends = written([columns], file, 0)
        file.flush()
        arrays = Arrays(mmap.mmap(file.fileno(), 0), lines, ends)
    before = os.stat(path).st_blocks
    assert arrays.take("b", 0, 1).tolist() == columns["b"].tolist()
    assert os.stat(path).st_blocks < before or not hasattr(mmap, "MADV_REMOVE")
    assert [arrays.of(name, 0, 1).tolist() == columns[name].tolist() for name in "ac"] == [True, True]
