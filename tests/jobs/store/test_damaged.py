"""A database whose values are of other types, as only a damaged file has them: one line that says which, whatever is asked."""

from __future__ import annotations

import sqlite3

import pytest

from counters import OURS
from perwiz.errors import DatabaseError
from perwiz.jobs.store import database, ingest, query, series, stream
from perwiz.jobs.store.query import Choice

NOW = 2e9


@pytest.fixture
def damaged(tmp_path):
    """Return damaged(sql, value): a database with one job, of which this statement has put the value somewhere."""
    place = str(tmp_path / "jobs.sqlite")
    made = database.open_database(place, write=True)
    ingest.ingest(made, stream.Reader("log", NOW).read(OURS.splitlines(keepends=True)))
    made.close()
    opened = []

    def put(sql, value):
        with sqlite3.connect(place) as link:
            link.execute(sql, (value,))
        link.close()
        opened.append(database.open_database(place))
        return opened[-1]

    yield put
    for one in opened:
        one.close()


def everything(found):
    """Ask whatever the reports ask."""
    choice = Choice()
    asked = [query.cells(found, choice), query.used(found, choice), query.shares(found, choice, "user"), series.steps(found, choice)]
    for job in query.jobs(found, choice, 9):
        asked += [query.of_job(found, job.id), query.details(found, job.id), query.reference(found, job), series.shares(found, job)]
    return [*asked, query.switches(found), query.faults(found, 9), query.interval(found)]


def test_whole(damaged):
    assert len(everything(damaged("UPDATE jobs SET machine = ?", "hawk"))) == 11


@pytest.mark.parametrize(
    ("sql", "value", "message"),
    [
        ("UPDATE jobs SET mpi = ?", b"\xff", """row[0][12] is "b'\\\\xff'", must be a number"""),
        ("UPDATE jobs SET mpi = ?", float("inf"), "row[0][8] is Infinity, must be a number <= 1e+300"),
        ("UPDATE jobs SET mpi = ?", -1.0, "row[0][8] is -1.0, must be a number >= 0.0"),
        ("UPDATE jobs SET size = ?", "x", "row[0][6] is 0.0, must be an integer >= 1"),
        ("UPDATE counts SET moved = ?", -5, "row[0][6] is -5.0, must be a number >= 0.0"),
        ("UPDATE jobs SET language = ?", b"C", """row[0][0] is "b'C'", must be a text"""),
        ("UPDATE switches SET names = ?", b"C", """row[0][1] is "b'C'", must be a text"""),
        ("UPDATE details SET text = ?", "[", "details of job JOB: Expecting value: line 1 column 2 (char 1)"),
        ("UPDATE details SET text = ?", '{"environment": 5}', "details of job JOB: environment is 5, must be an object"),
    ],
)
def test_values_of_other_types(damaged, sql, value, message):
    found = damaged(sql, value)
    job = found.ask("SELECT id FROM jobs")[0][0]
    with pytest.raises(DatabaseError) as error:
        everything(found)
    assert str(error.value) == f"{found.place}: damaged: {message.replace('JOB', f'{job:016x}')}, must be a database of jobs"
