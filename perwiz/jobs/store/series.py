"""What the plots of a page show beside its document: sums per day or week, by language and class, jobs of the same program, other users."""

from __future__ import annotations

import datetime
from typing import NamedTuple

from perwiz.jobs.record import Amount
from perwiz.jobs.store import overview, query
from perwiz.jobs.store.database import SHIFT, Database, rows
from perwiz.jobs.store.query import Cell, Choice, Job, Share
from perwiz.report.records import Natural, Positive

_DAY = 86_400
_DAYS = 62
"""More days than these are shown as weeks."""
_STEPS = 400
"""And more weeks than fit in this, not at all."""
_MONDAY = 3 * _DAY
"""1970 began on a Thursday."""
BINS = 20


class Step(NamedTuple):
    """Sums over the jobs that ended on one day or in one week; times in s."""

    label: str
    jobs: int
    cpu: float
    mpi: float


def steps(database: Database, choice: Choice) -> tuple[str, list[Step]]:
    """Return `day` or `week`, and a step for each from the first with a job to the last, also without jobs."""
    where, values = choice.where()
    ids = choice.ids()
    sql = f"SELECT MIN(j.id), MAX(j.id) FROM jobs j WHERE j.id BETWEEN :first AND :last{where}"
    ((first, last),) = rows(database, tuple[Natural | None, Natural | None], sql, ids | values)
    if first is None or last is None:
        return "day", []
    name, length, offset = ("day", _DAY, 0) if (last - first >> SHIFT) < _DAYS * _DAY else ("week", 7 * _DAY, _MONDAY)
    number = f"(j.id / {1 << SHIFT} + {offset}) / {length}"
    sql = f"SELECT {number}, COUNT(*), SUM(j.cpu), SUM(j.mpi) FROM jobs j WHERE j.id BETWEEN :first AND :last{where} GROUP BY 1 ORDER BY 1"
    found = {k: sums for k, *sums in rows(database, tuple[Natural, Positive, Amount, Amount], sql, ids | values)}
    shown = range(max(min(found), max(found) - _STEPS + 1), max(found) + 1)
    return name, [Step(_date(k * length - offset), *found.get(k, (0, 0.0, 0.0))) for k in shown]


def _date(time: int) -> str:
    return (datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=time)).strftime("%m-%d")


def classes(cells: list[Cell]) -> tuple[list[str], list[tuple[str, dict[str, overview.Sums]]]]:
    """Return the languages, most CPU time first, and per class of CPU time of a job its name and the sums of each language (Fig. 7)."""
    languages = list(overview.by_language(cells))
    known = sorted({cell.cpu_class for cell in cells})
    wanted = range(known[0], known[-1] + 1) if known else []
    return languages, [(overview.cpu_name(k), overview.by_language([cell for cell in cells if cell.cpu_class == k])) for k in wanted]


def shares(database: Database, job: Job) -> list[int]:
    """Return how many other jobs of the program, size and machine of a job have up to 5 %, 10 % ... 100 % of their time in MPI."""
    share = "CASE WHEN j.cpu > 0 THEN j.mpi / j.cpu ELSE 0 END"
    names = [f"COALESCE(SUM(CASE WHEN {share} >= {_low(k)} AND {share} < {_low(k + 1)} THEN 1 ELSE 0 END), 0)" for k in range(BINS)]
    same = "j.program = :program AND j.size = :size AND j.machine = :machine AND j.id <> :id"
    values = {"program": job.program, "size": job.size, "machine": job.machine, "id": job.id}
    (found,) = rows(database, tuple[Natural, ...], f"SELECT {', '.join(names)} FROM jobs j WHERE {same}", values)
    return list(found)


def _low(k: int) -> str:
    """Return where a bin begins, as SQL; the last one has no end."""
    return "1e300" if k == BINS else "-1" if not k else f"{k / BINS!r}"


def bin_of(share: float) -> int:
    """Return the number of the bin of a share."""
    return max(0, min(BINS - 1, int(share * BINS + 1e-12)))


class Others(NamedTuple):
    """Where a user stands among the other users of a period."""

    users: int
    lower: int
    """Of these, how many have a smaller part of their time in MPI."""
    least: float
    mean: float
    most: float
    """Part of the time in MPI of the other users; the mean is over all their time."""


def others(users: list[Share], name: str) -> Others | None:
    """Return where a user stands among all users of a period, None if there are no others, or the user is none of them."""
    parts = {one.name: one.mpi / one.cpu for one in users if one.cpu > 0}
    own = parts.pop(name, None)
    if own is None or not parts:
        return None
    rest = [one for one in users if one.name in parts]
    mean = sum(one.mpi for one in rest) / sum(one.cpu for one in rest)
    return Others(len(parts), sum(part < own for part in parts.values()), min(parts.values()), mean, max(parts.values()))


def users(database: Database, choice: Choice) -> list[Share]:
    """Return what each user has used in the period and on the machine of a choice, most CPU time first."""
    return query.shares(database, Choice(since=choice.since, until=choice.until, machine=choice.machine), "user")
