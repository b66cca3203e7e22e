"""The paper's text form of a record (Fig. 3), as `perwiz record --profile` writes it and as the T3E wrote it.

Numbers of a routine are averages of the processes; the line `total` below it, which only perwiz writes, has exact sums.
"""

from __future__ import annotations

import calendar
import datetime
import re

from perwiz.jobs.record import Counts, More, Record, RecordError, moved, plain, sent, timestamp

_HEAD = re.compile(r"\s*size = n =\s+(-?\d+) uid=(\S+) +(.*?) / avg\. on each PE:\s*\nargv\[0\] = (.*)\n(?:language= (.*)\n)?")
_ROUTINE = re.compile(
    r"^(\w+) +(\S+) calls +(\S+) sec(?: +cnt= *(\S+))?(?: +lng= *(\S+))? *\n"
    r"(?:  total (\d+) calls(?: cnt= (\d+))?(?: sent= (\d+) received= (\d+) sizes=(.*))?\n)?",
    re.MULTILINE,
)
_SECONDS = re.compile(r"^time \* size +mpi= *(\S+) +/ all= *(\S+) *\n", re.MULTILINE)
_TIMES = re.compile(r"^time +\[sec\] +mpi= *(\S+) +/ all= *(\S+) += *\S+ *\n", re.MULTILINE)
_OVERHEAD = re.compile(r"^profiling overhead= *(\S+) sec = time_all\* *\S+.*\n", re.MULTILINE)
_DATES = re.compile(r"^time of day +init= (\S+) / finalize= (\S+)\n", re.MULTILINE)
_THREADS = re.compile(r"^threads= (\d+) on all PEs.*\n", re.MULTILINE)
_SWITCH = re.compile(r"^environment ([^=\n]*)=(.*)\n", re.MULTILINE)
_EVENT = re.compile(r"^(\S+) +outside mpi= *(\S+) / inside mpi= *(\S+) / all= .*\n", re.MULTILINE)
_NOTHING = re.compile(r"^counters: .*\n|^\s*\n", re.MULTILINE)
_FORMS = (_HEAD, _ROUTINE, _TIMES, _SECONDS, _OVERHEAD, _DATES, _THREADS, _SWITCH, _EVENT, _NOTHING)
_MONTHS = {name: k + 1 for k, name in enumerate(calendar.month_abbr[1:])}
Rows = dict[str, tuple[float, float, float, float]]


def parse(text: str, host: str, pid: int, written: str, now: float) -> Record:
    """Return the record in the lines between `B <pid>` and the end, subtotals left out.

    `written` is the date in front of it, which stands for MPI_Finalize where no other is there; without a year it is the last that is not
    of the future. Raises RecordError.
    """
    try:
        return _parsed(text, host, pid, written, now)
    except (ValueError, OverflowError) as error:
        raise RecordError(f"{error}, must be a number") from None


def _parsed(text: str, host: str, pid: int, written: str, now: float) -> Record:
    whole = text.partition("\nsubtotal ")[0].rstrip("\n") + "\n"
    cut = max(0, whole.rfind("\ntime ", 0, whole.find("\ntime *") + 1) + 1)
    tail = whole[cut:]
    head, times = _HEAD.match(whole), _SECONDS.search(tail)
    if not head or not times:
        raise RecordError(f"no line '{'time * size' if head else 'size = n = ... / avg. on each PE:'}', must be a whole record")
    size = int(head[1])
    rows, exact, sizes, lines = _rows(whole[head.end() : cut], size)
    inside, whole_time = float(times[1]), float(times[2])
    overhead = _OVERHEAD.search(tail)
    own = float(overhead[1]) * size if overhead else 0.0
    dates = _DATES.search(tail)
    ended = timestamp(dates[2]) if dates else written_at(written, now)
    began = timestamp(dates[1]) if dates else ended - (whole_time / size if size > 0 else 0)
    rest = whole.count("\n") - lines - head[0].count("\n") - (3 if overhead else 2) - (1 if dates else 0)
    switches, more = _extras(whole, tail, rest)
    more |= {"sizes": sizes} if sizes else {}
    most = sent(rows)
    # A named tuple made by position takes half the time of one made by name, and this is made for every routine of every job.
    counts = {name: Counts(*row, row[3] if name in exact else moved(name, row[3], size, most)) for name, row in rows.items()}
    names = (plain(host), pid, plain(head[2]), plain(head[4]))
    dated = bool(dates) or not written[:1].isalpha()
    return Record(
        "",
        *names,
        size,
        plain((head[5] or "").strip()),
        plain(head[3]),
        began,
        ended,
        whole_time,
        inside,
        own,
        counts,
        switches,
        more,
        False,
        dated,
    )


def _rows(text: str, size: int) -> tuple[Rows, set[str], dict[str, str], int]:
    """Return calls, time, count and bytes per routine, which are exact, the sizes of messages, and the lines read."""
    rows: Rows = {}
    exact, sizes, lines = set(), {}, 0
    for name, calls, time, count, long, total, counted, out, back, histogram in _ROUTINE.findall(text):
        if name in rows:
            raise RecordError(f"routine {name} twice, must be there once")
        amount = float(long) * size if long else 0.0
        lines += 1
        if total:
            lines += 1
            exact.add(name)
            if out:
                most = float(max(int(out), int(back)))
                amount = most if amount <= 1.01 * most else amount  # the sum of the larger of both is no less than either sum
            if histogram:
                sizes[name] = histogram.strip()
            rows[name] = (float(total), float(time) * size, float(counted or 0), amount)
        else:
            rows[name] = (float(calls) * size, float(time) * size, float(count or 0) * size, amount)
    return rows, exact, sizes, lines


def _extras(whole: str, text: str, lines: int) -> tuple[dict[str, str], More]:
    """Return the switches that were set, and threads and counters. Raises RecordError at a line that is none of these."""
    if lines <= 0:
        return {}, {}
    switches = {plain(name): plain(value) for name, value in _SWITCH.findall(text)}
    more: More = {}
    threads = _THREADS.search(text)
    if threads:
        more["threads"] = int(threads[1])
    events = {name: (float(outside), float(inside)) for name, outside, inside in _EVENT.findall(text)}
    if events:
        more["counters"] = events
    if lines > len(switches) + len(events) + bool(threads):
        _check_lines(whole)
    return switches, more


def _check_lines(text: str) -> None:
    """Raise RecordError at the first line that no form of a line is for."""
    rest = text
    for form in _FORMS:
        rest = form.sub("", rest)
    if rest.strip():
        raise RecordError(f"line {rest.strip().splitlines()[0][:60]!r}, must be one of a record")


def written_at(text: str, now: float) -> float:
    """Return the date in front of a line of syslog: RFC 3164, in UTC the last that is past; or ISO 8601. Raises RecordError."""
    if not text[:1].isalpha():
        return timestamp(text)
    year = datetime.datetime.fromtimestamp(now, datetime.UTC).year
    month, day, clock = text.split()
    for guess in range(year + 1, year - 8, -1):
        try:
            hour, minute, second = map(int, clock.split(":"))
            found = datetime.datetime(guess, _MONTHS[month], int(day), hour, minute, second, tzinfo=datetime.UTC)
        except (ValueError, KeyError):  # February 29
            continue
        if found.timestamp() <= now + 86_400:
            return found.timestamp()
    raise RecordError(f"date {text!r}, must be as Nov 28 22:09:57")
