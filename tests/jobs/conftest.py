"""Databases for the tests of jobs: an SQLite file, and a PostgreSQL server where there is one."""

from __future__ import annotations

import getpass
import glob
import os
import shutil
import subprocess
import tempfile

import pytest

from perwiz.jobs.store import database


@pytest.fixture(scope="session")
def server():
    """Return the URL of an own PostgreSQL server; skip where there is none, or no SQLAlchemy."""
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("psycopg")
    found = shutil.which("initdb") or max(glob.glob("/usr/lib/postgresql/*/bin/initdb"), default=None)
    if found is None:
        pytest.skip("no PostgreSQL")
    home = os.path.dirname(found)
    with tempfile.TemporaryDirectory(prefix="perwiz-pg-") as place:
        as_other = []
        if os.getuid() == 0:  # it refuses to run as root
            shutil.chown(place, "nobody")
            as_other = ["setpriv", "--reuid", "nobody", "--clear-groups", "--"]
        data = f"{place}/data"
        _run([*as_other, f"{home}/initdb", "-D", data, "-A", "trust", "-U", "perwiz", "--no-sync"])
        _run([*as_other, f"{home}/pg_ctl", "-w", "-D", data, "-o", f"-F -k {place} -h ''", "-l", f"{place}/log", "start"])
        try:
            yield f"postgresql://perwiz@/postgres?host={place}"
        finally:
            _run([*as_other, f"{home}/pg_ctl", "-D", data, "-m", "immediate", "stop"])


def _run(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd="/", timeout=60, stdin=subprocess.DEVNULL)
    if done.returncode:
        pytest.skip(f"PostgreSQL does not start for {getpass.getuser()}: {done.stderr.strip()}")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def place(request, tmp_path):
    """Return where an empty database can be."""
    if request.param == "sqlite":
        return str(tmp_path / "jobs.sqlite")
    url = request.getfixturevalue("server")
    import sqlalchemy

    engine = sqlalchemy.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as link:
        for table in ("perwiz_jobs", "jobs", "routines", "counts", "switches", "details", "faults", "mails"):
            link.execute(sqlalchemy.text(f"DROP TABLE IF EXISTS {table}"))
    engine.dispose()
    return url


@pytest.fixture
def jobs(place):
    """Return an empty database that can be written."""
    link = database.open_database(place, write=True)
    yield link
    link.close()
