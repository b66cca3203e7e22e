"""Fixtures for tests that need an MPI: skipped, with the reason, where there is none."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

import mpis


@pytest.fixture(params=mpis.installed() or [None], ids=lambda one: one.name if one else "none")
def mpi(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, built: pathlib.Path) -> Iterator[mpis.Mpi]:
    """Yield an MPI, one after the other; what is started meanwhile goes before other work."""
    if request.param is None:
        pytest.skip("no MPI here: neither PERWIZ_MPIS nor mpiexec with its mpicc on the path")
    monkeypatch.setenv("XDG_CACHE_HOME", str(built))
    mpis.made(request.param.mpicc, built)
    with mpis.before_others():
        yield request.param


@pytest.fixture
def record(tmp_path: pathlib.Path) -> Callable[..., tuple[int, str, str, str]]:
    """Return record(command, options...), which returns exit code, directory, what the program printed and what perwiz said."""

    def run(command: list[str], *options: str) -> tuple[int, str, str, str]:
        folder = tmp_path / "run"
        words = [sys.executable, "-m", "perwiz", "record", "-o", "run", *options, "--", *command]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120, check=False)
        said = "".join(f"{line}\n" for line in re.findall("perwiz: .*", done.stderr))
        return done.returncode, str(folder), done.stdout, said

    return run
