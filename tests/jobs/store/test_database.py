"""Jobs in the database: each once, whoever writes; the same from SQLite and PostgreSQL; what cannot be opened says so."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys

import pytest

from counters import NOON, NOW, OURS, T3E, job, tagged
from perwiz.errors import DatabaseError, UsageError
from perwiz.jobs.record import Counts
from perwiz.jobs.store import database, ingest, query, stream
from perwiz.jobs.store.query import Choice
from perwiz.jobs.store.stream import Fault


def put(jobs, *found, machine=""):
    done = ingest.ingest(jobs, found, machine)
    return done.added, done.known, done.faults


def records(text):
    return list(stream.Reader("log", NOW).read(text.splitlines(keepends=True)))


def test_twice_adds_nothing(jobs):
    found = [*records(OURS + T3E), job(1), job(2)]
    assert put(jobs, *found) == (4, 0, 0)
    before = query.used(jobs, Choice())
    assert put(jobs, *found, *found) == (0, 8, 0)
    assert query.used(jobs, Choice()) == before


def test_once_in_whatever_form(jobs):
    text = "".join(tagged(OURS, 4711))
    assert put(jobs, *records(OURS), *records(text), machine="hawk") == (1, 1, 0)
    assert query.shares(jobs, Choice(), "machine") == [("hawk", 1, 4, 40.0, 21.7)]


def test_two_jobs_with_one_number(jobs, monkeypatch):
    # Jobs that end in one second and have the same bits behind it: the second gets the next number.
    monkeypatch.setattr(type(job()), "identity", lambda self: b"same" + self.pid.to_bytes(12, "big"))
    assert put(jobs, job(1), job(2)) == (2, 0, 0)
    assert put(jobs, job(3), job(1)) == (1, 1, 0)
    found = query.jobs(jobs, Choice(), 9)
    assert [one.id - found[-1].id for one in found] == [2, 1, 0]
    assert sorted(one.pid for one in found) == [1, 2, 3]


def test_faults_are_kept_once(jobs):
    broken = Fault("log:7", "half a record", "send\0 1 calls")
    assert put(jobs, broken, job(), broken) == (1, 0, 2)
    assert put(jobs, broken) == (0, 0, 1)
    count, rows = query.faults(jobs, 9)
    assert (count, [row[1:] for row in rows]) == (1, [("log:7", "half a record", "send? 1 calls")])


def test_everything_comes_back(jobs):
    one = records(OURS)[0]
    put(jobs, one, machine="hawk")
    (found,) = query.jobs(jobs, Choice(), 2)
    assert found[1:] == ("hawk", "n017", 4711, "1012", "./heat", 4, "Fortran", "Open MPI v5.0.1", NOON - 9, NOON + 1, 40.0, 21.7, 0.64)
    assert {used.name: used.counts for used in query.of_job(jobs, found.id)} == one.routines
    assert query.details(jobs, found.id) == {"environment": one.environment, **one.more}
    assert query.named(jobs, found.name) == query.named(jobs, found.name[:9]) == [found]
    assert query.named(jobs, "xyz") == query.named(jobs, "") == query.named(jobs, "f") == []


def test_details__only_what_there_is(jobs):
    put(jobs, job(1, environment={}), job(2, environment={}, more={"threads": 3}))
    first, second = sorted(query.jobs(jobs, Choice(), 2), key=lambda one: one.pid)
    assert query.details(jobs, first.id) == {}
    assert query.details(jobs, second.id) == {"environment": {}, "threads": 3}


def test_damaged__names_that_are_no_text(tmp_path):
    """SQLite quotes them in its message, which Python cannot decode."""
    place = tmp_path / "jobs.sqlite"
    database.open_database(str(place), write=True).close()
    data = place.read_bytes()
    assert data.count(b"tablecountscounts") == 1
    place.write_bytes(data.replace(b"tablecountscounts", b"tablecount\xffcounts"))
    with pytest.raises(DatabaseError, match=r"^.*jobs\.sqlite: damaged, must be a database of jobs$"):
        database.open_database(str(place))


def test_hostile_texts(jobs):
    name = "\x1b]0;x\x07'; DROP TABLE jobs; --%_\ud800\0"
    one = job(program=stream.form.plain(name), user="\x1b[31m", environment={"A'": "'"})
    put(jobs, one)
    (found,) = query.jobs(jobs, Choice(program=one.program), 9)
    assert found.program == one.program == "\x1b]0;x\x07'; DROP TABLE jobs; --%_??"


WRITE = """
import sys

from counters import job
from perwiz.jobs.store import database, ingest

place, first = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
link = database.open_database(place, write=True)
for start in range(first, first + 60, 10):
    ingest.ingest(link, [job(pid) for pid in range(start, start + 10)])
link.close()
"""


@pytest.mark.slow
def test_several_write_at_a_time(place):
    # Four processes make the tables and write 60 jobs each; 50 of these are those of its neighbour, too.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    workers = [subprocess.Popen([sys.executable, "-c", WRITE, place, str(10 * k)], **pipes) for k in range(4)]
    assert [worker.stdout.readline() for worker in workers] == ["ready\n"] * 4
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        worker.communicate(timeout=60)
    assert [worker.returncode for worker in workers] == [0] * 4
    link = database.open_database(place)
    assert [(one.name, one.jobs, one.counts) for one in query.used(link, Choice()) if one.name == "init"] == [
        ("init", 90, Counts(360, 90, 0, 0, 0))
    ]
    assert len(query.jobs(link, Choice(), 9999)) == 90
    link.close()


def test_a_batch_is_written_whole_or_not_at_all(jobs, monkeypatch):
    put(jobs, job(1))
    monkeypatch.setattr(ingest, "_switches", lambda *_: {})
    with pytest.raises(KeyError):
        put(jobs, job(2), Fault("log:1", "x", "y"))
    monkeypatch.undo()
    assert (len(query.jobs(jobs, Choice(), 9)), query.faults(jobs, 9)[0]) == (1, 0)
    assert put(jobs, job(2)) == (1, 0, 0)


def test_batches(jobs, monkeypatch):
    monkeypatch.setattr(ingest, "BATCH", 3)
    monkeypatch.setattr(ingest, "_ASKED", 2)
    seen = []
    done = ingest.ingest(jobs, (job(k % 7) for k in range(11)), progress=seen.append)
    assert (done.added, done.known, seen) == (7, 4, [3, 6, 9, 11])


def test_a_pause_writes_what_is_there__so_does_a_failure(jobs):
    def stream_():
        yield job(1)
        yield None
        assert len(query.jobs(jobs, Choice(), 9)) == 1
        yield job(2)
        raise OSError("cable pulled")

    with pytest.raises(OSError, match="cable pulled"):
        ingest.ingest(jobs, stream_())
    assert len(query.jobs(jobs, Choice(), 9)) == 2


# ---- what cannot be opened


def test_none_yet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        database.open_database("my.db")
    assert str(caught.value) == "my.db: no database of jobs yet; perwiz jobs ingest --db my.db RECORDS makes one"
    assert os.listdir() == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("words", "words: file is not a database, must be a database of jobs"),
        ("other", "other: no jobs in it yet; perwiz jobs ingest --db other RECORDS puts them there"),
        ("newer", "newer: tables of version 9, must be 1"),
        (".", ".: a directory, must be the name of a file"),
        ("no/where", "no/where: no database of jobs yet; perwiz jobs ingest --db no/where RECORDS makes one"),
    ],
)
def test_not_ours(tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words").write_text("It was a dark and stormy night.\n" * 50, encoding="utf-8")
    sqlite3.connect("other").close()
    database.open_database("newer", write=True).close()
    with sqlite3.connect("newer") as link:
        link.execute("UPDATE perwiz_jobs SET version = 9")
    link.close()
    (tmp_path / "other").touch()
    with pytest.raises((UsageError, DatabaseError)) as caught:
        database.open_database(name)
    assert str(caught.value) == message


def test_locked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(database, "_PATIENCE", 0.01)
    jobs = database.open_database("my.db", write=True)
    put(jobs, job())
    other = sqlite3.connect("my.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DatabaseError) as caught:
        put(jobs, job(2))
    assert str(caught.value) == "my.db: locked by another process for 0.01 s, must be free to be written"
    reader = database.open_database("my.db")
    assert len(query.jobs(reader, Choice(), 9)) == 1
    other.execute("ROLLBACK")
    assert put(jobs, job(2)) == (1, 0, 0)
    for link in (other, jobs, reader):
        link.close()


def test_read_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jobs = database.open_database("my.db", write=True)
    put(jobs, job())
    jobs.close()
    reader = database.open_database("my.db")
    with pytest.raises(DatabaseError) as caught:
        put(reader, job(2))
    assert str(caught.value) == "my.db: read-only, must be one that can be written"
    reader.close()


@pytest.mark.slow
def test_read_only_directory(tmp_path):
    # Nothing can be written beside the file, as WAL wants: it is read all the same.
    if os.getuid():
        pytest.skip("not root: cannot mount")
    folder = tmp_path / "ro"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", str(folder)], capture_output=True, check=False).returncode:
        pytest.skip("cannot mount")
    try:
        jobs = database.open_database(str(tmp_path / "my.db"), write=True)
        put(jobs, job())
        jobs.close()
        shutil.copy(tmp_path / "my.db", folder / "my.db")
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        reader = database.open_database(str(folder / "my.db"))
        assert len(query.jobs(reader, Choice(), 9)) == 1
        reader.close()
        with pytest.raises(DatabaseError, match=r"my.db: cannot be opened, must be a file in a directory that can be written$"):
            database.open_database(str(folder / "my.db"), write=True)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_no_server():
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("psycopg")
    with pytest.raises(DatabaseError) as caught:
        database.open_database("postgresql://me:secret@/jobs?host=/nowhere")
    text = str(caught.value)
    assert text.startswith("postgresql://me:***@/jobs?host=%2Fnowhere: connection ")
    assert text.endswith(", must be a server that can be reached")
    assert "\n" not in text
