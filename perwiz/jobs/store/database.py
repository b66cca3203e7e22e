"""The database of jobs: an SQLite file, or with SQLAlchemy a PostgreSQL server. The same tables and the same SQL for both.

`counts` is stored by routine and then by job, and a job's number begins with the second in which it ended. So the sums of a month are read
in one run per routine, without sorting and without looking at `jobs`; those of one job are one look-up per routine that is known.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Protocol, TypeVar

from perwiz.errors import DatabaseError, LibraryError, UsageError
from perwiz.formats.typed import Mistyped, typed

SCHEMA = 1
SHIFT = 30
"""A job's number is the second in which it ended, and so many bits that tell jobs of one second apart."""
_TABLES = """
CREATE TABLE IF NOT EXISTS perwiz_jobs (version INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS jobs (id BIGINT PRIMARY KEY, identity {bytes} NOT NULL UNIQUE, machine TEXT NOT NULL, host TEXT NOT NULL,
    pid BIGINT NOT NULL, login TEXT NOT NULL, program TEXT NOT NULL, size BIGINT NOT NULL, language TEXT NOT NULL, library TEXT NOT NULL,
    began {real} NOT NULL, ended {real} NOT NULL, cpu {real} NOT NULL, mpi {real} NOT NULL, overhead {real} NOT NULL,
    size_class INTEGER NOT NULL, cpu_class INTEGER NOT NULL, used BIGINT NOT NULL, switches BIGINT NOT NULL, pmpi INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS jobs_login ON jobs (login, id);
CREATE INDEX IF NOT EXISTS jobs_program ON jobs (program, size);
CREATE TABLE IF NOT EXISTS routines (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS counts (routine INTEGER NOT NULL, job BIGINT NOT NULL, calls {real} NOT NULL, seconds {real} NOT NULL,
    counted {real} NOT NULL, bytes {real} NOT NULL, moved {real} NOT NULL, PRIMARY KEY (routine, job)){clustered};
CREATE TABLE IF NOT EXISTS switches (id BIGINT PRIMARY KEY, names TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS mails (period TEXT NOT NULL, login TEXT NOT NULL, address TEXT NOT NULL, sent {real} NOT NULL,
    PRIMARY KEY (period, login));
CREATE TABLE IF NOT EXISTS details (job BIGINT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS faults (id {bytes} PRIMARY KEY, seen {real} NOT NULL, place TEXT NOT NULL, reason TEXT NOT NULL,
    text TEXT NOT NULL){clustered};
"""
_PATIENCE = 60.0
"""Seconds to wait for other writers."""
Row = tuple[Any, ...]
Values = Mapping[str, Any]
_T = TypeVar("_T")


class Database(Protocol):
    """An open database of jobs."""

    place: str
    """As the user named it, without a password."""

    def ask(self, sql: str, values: Values | None = None) -> list[Row]:
        """Return the rows of a query; `:name` in it stands for values["name"]."""

    def add(self, table: str, columns: str, rows: Sequence[Row]) -> None:
        """Append rows; `columns` are names with commas."""

    def writing(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which no other process writes, and after which all is written or, if it raises, nothing."""

    def close(self) -> None:
        """Close it."""


def rows(database: Database, kind: type[_T], sql: str, values: Values | None = None) -> list[_T]:
    """Return the rows of a query, each as this kind of tuple. Raises DatabaseError for other values: a damaged file has any."""
    try:
        return typed(database.ask(sql, values), list[kind], strict=False)  # type: ignore[valid-type]
    except Mistyped as error:
        raise DatabaseError(f"{database.place}: damaged: row{error}, must be a database of jobs") from None


def open_database(place: str, write: bool = False) -> Database:
    """Return the database in a file or behind a URL postgresql://..., made if it is to be written and not there yet.

    Raises UsageError if there is none, DatabaseError if it is none or cannot be opened, LibraryError without SQLAlchemy.
    """
    database: Database = _Postgres(place) if place.startswith("postgresql") and "://" in place else _Sqlite(place, write)
    try:
        _prepare(database, write)
    except BaseException:
        database.close()
        raise
    return database


def _prepare(database: Database, write: bool) -> None:
    """Make the tables if it is to be written; raise DatabaseError if they are of another version."""
    own = isinstance(database, _Sqlite)
    kinds = {"bytes": "BLOB", "real": "REAL"} if own else {"bytes": "BYTEA", "real": "DOUBLE PRECISION"}
    if write and not database.tables():  # type: ignore[attr-defined]
        with database.writing():
            for statement in _TABLES.format(**kinds, clustered=" WITHOUT ROWID" if own else "").split(";")[:-1]:
                database.ask(statement)
            if not database.ask("SELECT version FROM perwiz_jobs"):
                database.add("perwiz_jobs", "version", [(SCHEMA,)])
    if not database.tables():  # type: ignore[attr-defined]
        raise UsageError(f"{database.place}: no jobs in it yet; perwiz jobs ingest --db {database.place} RECORDS puts them there")
    version = database.ask("SELECT MAX(version) FROM perwiz_jobs")[0][0]
    if version != SCHEMA:
        raise DatabaseError(f"{database.place}: tables of version {version}, must be {SCHEMA}")


class _Sqlite:
    """An SQLite file."""

    def __init__(self, place: str, write: bool) -> None:
        self.place = place
        there = os.path.exists(place)
        if not there and not write:
            raise UsageError(f"{place}: no database of jobs yet; perwiz jobs ingest --db {place} RECORDS makes one")
        if os.path.isdir(place) or not os.path.isdir(os.path.dirname(os.path.abspath(place))):
            raise UsageError(f"{place}: {'a directory' if os.path.isdir(place) else 'no such directory'}, must be the name of a file")
        try:
            with self._errors():
                self._open(write)
        except DatabaseError:
            self.close()
            raise

    def _open(self, write: bool) -> None:
        closed = not os.access(os.path.dirname(os.path.abspath(self.place)), os.W_OK)
        # WAL needs files beside the database; where they cannot be made and are not there, nobody writes to it either.
        still = closed and not os.path.exists(f"{self.place}-wal")
        mode = "rwc" if write else "ro&immutable=1" if still else "ro" if closed else "rw"
        name = urllib.parse.quote(os.path.abspath(self.place))
        self._link = sqlite3.connect(f"file:{name}?mode={mode}", uri=True, timeout=_PATIENCE, isolation_level=None)
        for pragma in ("cache_size=-131072", "mmap_size=4294967296", "temp_store=MEMORY", "synchronous=NORMAL"):
            self._link.execute(f"PRAGMA {pragma}")
        if not write:
            self._link.execute("PRAGMA query_only=ON")
        else:
            self._log_ahead()

    def _log_ahead(self) -> None:
        """Let readers read while one writes. SQLite does not wait for others that do the same just now, so this does."""
        last = time.monotonic() + _PATIENCE
        while True:
            try:
                if self._link.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                    self._link.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > last:
                    raise
            time.sleep(0.01)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Let errors name the database."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise DatabaseError(f"{self.place}: {_said(error)}") from None
        except UnicodeDecodeError:  # of a message that quotes a damaged name
            raise DatabaseError(f"{self.place}: damaged, must be a database of jobs") from None

    def tables(self) -> bool:
        """Return whether the tables are there."""
        return bool(self.ask("SELECT 1 FROM sqlite_master WHERE name = 'perwiz_jobs'"))

    def ask(self, sql: str, values: Values | None = None) -> list[Row]:
        """See Database."""
        with self._errors():
            return self._link.execute(sql, values or {}).fetchall()

    def add(self, table: str, columns: str, rows: Sequence[Row]) -> None:
        """See Database."""
        marks = ", ".join("?" * len(columns.split(",")))
        with self._errors():
            self._link.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """See Database."""
        with self._errors():
            self._link.execute("BEGIN IMMEDIATE")
        try:
            yield
            with self._errors():
                self._link.execute("COMMIT")
        except BaseException:
            if self._link.in_transaction:
                self._link.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """See Database."""
        if hasattr(self, "_link"):
            self._link.close()


def _said(error: Exception) -> str:
    text = str(error)
    if "locked" in text:
        return f"locked by another process for {_PATIENCE:g} s, must be free to be written"
    if "readonly" in text:
        return "read-only, must be one that can be written"
    if "unable to open" in text:
        return "cannot be opened, must be a file in a directory that can be written"
    return f"{text}, must be a database of jobs"


class _Postgres:
    """A PostgreSQL server, through SQLAlchemy."""

    def __init__(self, place: str) -> None:
        try:
            import sqlalchemy
        except ImportError:
            raise LibraryError(f"{place.partition('@')[2] or place}: SQLAlchemy is missing; pip install 'perwiz[jobs]' brings it") from None
        self._text, self._error = sqlalchemy.text, sqlalchemy.exc.SQLAlchemyError
        try:
            url = sqlalchemy.make_url(place)
            self.place = url.render_as_string(hide_password=True)
            engine = sqlalchemy.create_engine(url.set(drivername="postgresql+psycopg"))
            self._link = engine.connect()
        except ImportError as error:
            raise LibraryError(f"{self.place}: {error}; pip install 'perwiz[jobs]' brings it") from None
        except (self._error, ValueError) as error:
            raise DatabaseError(
                f"{getattr(self, 'place', 'postgresql')}: {_first_line(error)}, must be a server that can be reached"
            ) from None

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._error as error:
            raise DatabaseError(f"{self.place}: {_first_line(error)}") from None

    def tables(self) -> bool:
        """Return whether the tables are there."""
        found = bool(self.ask("SELECT to_regclass('perwiz_jobs') IS NOT NULL")[0][0])
        self._link.rollback()
        return found

    def ask(self, sql: str, values: Values | None = None) -> list[Row]:
        """See Database."""
        with self._errors():
            done = self._link.execute(self._text(sql), dict(values or {}))
            found: Iterable[Row] = done if done.returns_rows else []
            return [tuple(float(value) if isinstance(value, Decimal) else value for value in row) for row in found]

    def add(self, table: str, columns: str, rows: Sequence[Row]) -> None:
        """See Database."""
        cursor: Any = self._link.connection.cursor()  # of psycopg, which SQLAlchemy knows as any DBAPI's
        with self._errors(), cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """See Database."""
        with self._errors():
            self._link.rollback()  # ends the transaction that the last query began
            self._link.execute(self._text("SELECT pg_advisory_xact_lock(20001109)"))
        try:
            yield
            with self._errors():
                self._link.commit()
        except BaseException:
            self._link.rollback()
            raise

    def close(self) -> None:
        """See Database."""
        if hasattr(self, "_link"):
            self._link.close()
            self._link.engine.dispose()


def _first_line(error: Exception) -> str:
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]
