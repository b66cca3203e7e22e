"""Intervals of time as users name them: a week, a month, from one day to another. All in UTC."""

from __future__ import annotations

import datetime
import re
from typing import NamedTuple

from perwiz.errors import UsageError

_DAY = datetime.timedelta(days=1)


class Period(NamedTuple):
    """From `since` until before `until`, seconds since 1970."""

    since: int
    until: int
    label: str

    def before(self) -> Period:
        """Return the period before it: the last month before a month, else one of the same length."""
        if re.fullmatch(r"\d{4}-\d\d", self.label):
            return month_of(self.since - 1)
        return Period(max(0, 2 * self.since - self.until), self.since, "before")

    @property
    def seconds(self) -> int:
        """Return how long it is."""
        return self.until - self.since


def _seconds(day: datetime.date) -> int:
    return int(datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC).timestamp())


def week(text: str) -> Period:
    """Return the ISO week named 2026-W07. Raises UsageError."""
    found = re.fullmatch(r"(\d{4})-?[Ww](\d\d?)", text)
    try:
        monday = datetime.date.fromisocalendar(int(found[1]), int(found[2]), 1) if found else None
    except ValueError:
        monday = None
    if monday is None or monday.year < 1970:
        raise UsageError(f"--week {text}: must be a week as 2026-W07")
    return week_of(_seconds(monday))


def month(text: str) -> Period:
    """Return the month named 2026-02. Raises UsageError."""
    found = re.fullmatch(r"(\d{4})-(\d\d?)", text)
    if not found or not 1970 <= int(found[1]) < 2200 or not 1 <= int(found[2]) <= 12:
        raise UsageError(f"--month {text}: must be a month as 2026-02")
    return month_of(_seconds(datetime.date(int(found[1]), int(found[2]), 1)))


def week_of(time: int) -> Period:
    """Return the ISO week of a time."""
    day = datetime.datetime.fromtimestamp(time, datetime.UTC).date()
    monday = day - (day.isoweekday() - 1) * _DAY
    year, number, _ = day.isocalendar()
    return Period(_seconds(monday), _seconds(monday + 7 * _DAY), f"{year}-W{number:02}")


def month_of(time: int) -> Period:
    """Return the month of a time."""
    first = datetime.datetime.fromtimestamp(time, datetime.UTC).date().replace(day=1)
    return Period(_seconds(first), _seconds((first + 31 * _DAY).replace(day=1)), f"{first:%Y-%m}")


def day(text: str, name: str) -> int:
    """Return when a day begins, of `name` (--from or --to). Raises UsageError."""
    try:
        found = datetime.date.fromisoformat(text)
    except ValueError:
        found = datetime.date.min
    if not 1970 <= found.year < 2200:
        raise UsageError(f"{name} {text}: must be a day as 2026-02-28")
    return _seconds(found)


def chosen(week_: str | None, month_: str | None, since: str | None, until: str | None) -> Period | None:
    """Return the period of the options --week, --month, --from and --to (that day included), None if there is none. Raises UsageError."""
    if (week_ is not None) + (month_ is not None) + (since is not None or until is not None) > 1:
        raise UsageError("--week, --month and --from/--to: must be one of them")
    if week_ is not None:
        return week(week_)
    if month_ is not None:
        return month(month_)
    if since is None and until is None:
        return None
    begin = day(since, "--from") if since is not None else 0
    end = day(until, "--to") + 86_400 if until is not None else _seconds(datetime.date(2200, 1, 1))
    if begin >= end:
        raise UsageError(f"--from {since} --to {until}: must end after it begins")
    return Period(begin, end, f"{since or ''}..{until or ''}")
