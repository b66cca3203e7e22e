"""Weeks, months and days, in UTC."""

from __future__ import annotations

import pytest

from counters import NOON
from perwiz.errors import UsageError
from perwiz.jobs import period
from perwiz.jobs.record import date


def days(found):
    return date(found.since)[:10], date(found.until)[:10]


def test_named():
    assert days(period.week("2026-W44")) == ("2026-10-26", "2026-11-02")
    assert days(period.week("2021-W01")) == ("2021-01-04", "2021-01-11")
    assert days(period.month("2024-02")) == ("2024-02-01", "2024-03-01")
    assert days(period.chosen(None, None, "2026-10-01", "2026-10-01")) == ("2026-10-01", "2026-10-02")
    assert days(period.chosen(None, None, None, "2026-10-01"))[1] == "2026-10-02"
    assert period.chosen(None, None, None, None) is None


def test_of_a_time_and_before():
    assert period.week_of(NOON) == period.week("2026-W44")
    assert period.month_of(NOON) == period.month("2026-10")
    assert period.month_of(NOON).before() == period.month("2026-09")
    assert days(period.week_of(NOON).before()) == ("2026-10-19", "2026-10-26")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("44", None, None, None), "--week 44: must be a week as 2026-W07"),
        (("2025-W53", None, None, None), "--week 2025-W53: must be a week as 2026-W07"),
        ((None, "2026-13", None, None), "--month 2026-13: must be a month as 2026-02"),
        ((None, None, "yesterday", None), "--from yesterday: must be a day as 2026-02-28"),
        ((None, None, None, "2026-02-30"), "--to 2026-02-30: must be a day as 2026-02-28"),
        ((None, None, "2026-02-03", "2026-02-01"), "--from 2026-02-03 --to 2026-02-01: must end after it begins"),
        (("2026-W01", "2026-01", None, None), "--week, --month and --from/--to: must be one of them"),
    ],
)
def test_refused(given, message):
    with pytest.raises(UsageError) as caught:
        period.chosen(*given)
    assert str(caught.value) == message
