"""Columns as a worker hands them over: narrow in the file, as they were when they are taken, and gone from the file then."""

import mmap
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perwiz.formats.otf2.library.packed import Arrays, packed

LOW = st.sampled_from([-(2**63), -(2**31), -1, 0, 1, 2**31, 2**62])
SPAN = st.sampled_from([0, 1, 255, 256, 65535, 65536, 2**32 - 1, 2**32])


@pytest.fixture
def filed(tmp_path):
    """Return arrays(columns): what the parent has of columns by name, and the file they lie in."""

    def arrays(columns):
        lines, content = [], b""
        for name, column in columns.items():
            stored, low = packed(column)
            lines.append((name, column.dtype.str, len(column), len(content), stored.dtype.str if len(stored) else "", low))
            content += stored.tobytes()
        path = tmp_path / "columns"
        path.write_bytes(content)
        with open(path, "r+b") as file:
            return Arrays(mmap.mmap(file.fileno(), 0) if content else None, lines), path

    return arrays


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
    stored, least = packed(column)
    content = mmap.mmap(-1, max(stored.nbytes, 1))
    content.write(stored.tobytes())
    arrays = Arrays(content, [("a", "<i8", len(column), 0, stored.dtype.str if len(stored) else "", least)])
    assert arrays["a"].dtype == "i8"
    assert arrays["a"].tolist() == arrays.pop("a").tolist() == column.tolist()
    assert "a" not in arrays


def test_arrays__popped_columns_leave_the_file(filed):
    """What is whole pages of it; those around stay as they are."""
    size = 8 * mmap.PAGESIZE
    columns = {name: np.random.default_rng(1).integers(0, 1 << 62, size) for name in "abc"}
    arrays, path = filed(columns)
    before = os.stat(path).st_blocks
    assert arrays.pop("b").tolist() == columns["b"].tolist()
    assert os.stat(path).st_blocks < before or not hasattr(mmap, "MADV_REMOVE")
    assert [arrays[name].tolist() == columns[name].tolist() for name in "ac"] == [True, True]


def test_arrays__cannot_be_changed(filed):
    arrays, _ = filed({"a": np.array([1, 2])})
    arrays["a"][0] = 7
    assert arrays["a"].tolist() == [1, 2]
    with pytest.raises(TypeError, match=r"^the columns of a location cannot be changed$"):
        arrays["a"] = np.array([3])
    assert ([*arrays], len(arrays)) == (["a"], 1)
