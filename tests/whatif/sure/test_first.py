"""Which change stands first: worked by hand."""

import pytest

from perwiz.whatif.sure.first import Worth, order

A, B, C = Worth(24, 0, 53), Worth(22, 11, 25), Worth(13, 12, 14)
"""Largest gain, but none of it sure; nearly the same, 11 of it sure; less, for 24 lies outside of 12 to 14."""


@pytest.mark.parametrize(
    ("worths", "rows"),
    [
        ([], []),
        ([A], [0]),
        ([A, B, C], [1, 2, 0]),
        ([C, B, A], [1, 0, 2]),
        # 13 are a tenth of 24 and sure, 2 are not, and 3 are as good as a tenth; so is nothing that is not sure
        ([A, C], [1, 0]),
        ([A, Worth(2, 2, 2)], [0, 1]),
        ([A, Worth(3, 3, 3)], [1, 0]),
        ([A, Worth(13, 12, 14, supposes=True)], [0, 1]),
        # 22 does not lie within 23 to 25: not nearly the same, though 24 lies within 11 to 25
        ([Worth(24, 23, 25), B], [0, 1]),
        # of two that may gain nothing that which gains more, whatever they lose at worst; so of two that are sure of the same
        ([Worth(24, -9, 53), Worth(22, -1, 25)], [0, 1]),
        ([Worth(22, 11, 25), Worth(24, 11, 53)], [1, 0]),
        ([B, B], [0, 1]),
        # B before A, which may gain nothing, so C, too; D is near C alone, and sure
        ([A, B, C, Worth(12, 12, 13)], [1, 2, 3, 0]),
        # nothing is sure of what a program may not allow, whatever it gains if it does
        ([Worth(24, 20, 53, supposes=True), B], [1, 0]),
        # of three that are near the largest the surest, then again among those that are left
        ([Worth(24, 0, 53), Worth(22, 11, 25), Worth(21, 12, 24)], [2, 1, 0]),
    ],
)
def test_order__by_hand(worths, rows):
    assert order(worths) == rows


def test_order__of_gains_that_are_known_exactly():
    assert order([Worth(gain, gain, gain) for gain in (3, 9, 5, 9)]) == [1, 3, 2, 0]


def test_order__what_is_not_worth_its_work_stands_behind():
    assert (order([A, C], 13), order([A, C], 14)) == ([1, 0], [0, 1])
