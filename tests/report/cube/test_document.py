"""How values are shown."""

from __future__ import annotations

import pytest

from perwiz.report.cube.document import amount


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.5, "sec", "1.500 s"),
        (-3e-9, "sec", "-3 ns"),
        (1e99, "sec", "1e+99 s"),
        (-0.001, "%", "0.00 %"),
        (12.345, "%", "12.35 %"),
        (2048, "bytes", "2.048 kB"),
        (1.5, "bytes", "1.5 bytes"),
        (7, "occ", "7"),
        (0.5, "occ", "0.5"),
        (3, "FLOPS\n", "3 FLOPS\\n"),
        (3, "", "3"),
    ],
)
def test_amount(value, unit, text):
    assert amount(value, unit) == text
