"""Columns of numbers in a page, read back as its script does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_html
from perwiz.report.page.tables import MOST, column, size


@given(st.lists(st.integers(-(2**40), 2**40), max_size=30), st.booleans())
def test_column__comes_back(numbers, running):
    assert naive_html.column(column(np.array(numbers, "i8"), running)) == numbers


@pytest.mark.parametrize(
    ("numbers", "planes", "signed"),
    [([], 1, False), ([0, 255], 1, False), ([256], 2, False), ([-1], 1, True), ([-129], 2, True), ([MOST - 1], 7, False)],
)
def test_column__as_many_bytes_as_its_largest_needs(numbers, planes, signed):
    found = column(np.array(numbers, "i8"))
    assert (found["rows"], found["planes"], found["signed"]) == (len(numbers), planes, signed)
    assert naive_html.column(found) == numbers


def test_column__running_differences():
    assert column(np.array([1000, 1001, 1003, 1003]), running=True)["planes"] == 2
    assert column(np.array([10**12, 10**12 + 1]), running=True) != column(np.array([10**12, 10**12 + 1]))


def test_size():
    one = column(np.arange(9))
    assert size({"a": one, "b": [one, {"c": one}, 3, "text"]}) == 3 * len(one["deflated"])
