"""The MPIs of this machine, programs compiled for them, and runs recorded with them.

PERWIZ_MPIS names folders with mpiexec and mpicc, joined by colons (`.ci/run` makes two); beside them those of Debian are found.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import functools
import os
import pathlib
import shutil
import subprocess
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from perwiz.allowed import processors
from perwiz.formats.recorded.columns import ALIKE
from perwiz.trace import operations
from perwiz.trace.trace import Trace

PROGRAMS = pathlib.Path(__file__).resolve().parents[1] / "scripts" / "programs"
AHEAD = "perwiz record --build PREFIX on a login node makes the recorder ahead, then here PERWIZ_RECORDERS=PREFIX"
"""What ends the refusal of a machine that cannot compile a recorder."""
_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@dataclasses.dataclass(frozen=True)
class Mpi:
    """One MPI: its launcher and its compiler."""

    name: str
    mpiexec: str
    mpicc: str

    @functools.cached_property
    def python(self) -> str:
        """A Python with mpi4py for it, or nothing."""
        found = os.path.join(os.path.dirname(self.mpiexec), "python3")
        good = os.path.exists(found) and subprocess.run([found, "-c", "import mpi4py"], capture_output=True, check=False).returncode == 0
        return found if good else ""

    def command(self, ranks: int, *program: str, others: int = 0) -> list[str]:
        """Return the command line that runs a program, or begins it: so many processes of others follow.

        More processes than there are processors make room for each other.
        """
        crowded = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"] if ranks + others > processors() else ["--bind-to", "none"]
        return [self.mpiexec, *(crowded if self.is_open else []), "-n", str(ranks), *program]

    @functools.cached_property
    def is_open(self) -> bool:
        """Whether it is Open MPI."""
        return "open" in subprocess.run([self.mpiexec, "--version"], capture_output=True, text=True, check=False).stdout.lower()


@contextlib.contextmanager
def before_others() -> Iterator[None]:
    """Start within this what goes before other work of the machine, where that is allowed: processes that poll, and that are timed."""
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, usual - 15)
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, usual)


@functools.cache
def installed() -> tuple[Mpi, ...]:
    """Return the MPIs that can be used here, two at most."""
    os.environ.update(_ROOT)
    folders = [folder for folder in os.environ.get("PERWIZ_MPIS", "").split(":") if folder]
    found = [Mpi(pathlib.Path(folder).parent.name, f"{folder}/mpiexec", f"{folder}/mpicc") for folder in folders]
    for name in ("openmpi", "mpich") if not found else ():
        paths = shutil.which(f"mpiexec.{name}"), shutil.which(f"mpicc.{name}")
        if paths[0] and paths[1]:
            found.append(Mpi(name, paths[0], paths[1]))
    if not found and (paths := (shutil.which("mpiexec"), shutil.which("mpicc"))) and all(paths):
        found.append(Mpi("mpi", str(paths[0]), str(paths[1])))
    return tuple(found)


def in_turn(names: str | tuple[str, ...] = (), rows: Iterable[object] = ((),), first: int = 0) -> pytest.MarkDecorator:
    """Return the mark of a test that does not depend on the MPI: as parametrize, but each row under one MPI, `first` and on in turn."""
    found = installed() or (None,)
    under = [(found[(first + k) % len(found)], row if isinstance(row, tuple) else (row,)) for k, row in enumerate(rows)]
    ids = ["-".join([mpi.name if mpi else "none", *map(str, (word for word in row if isinstance(word, str | int)))]) for mpi, row in under]
    keys = ("mpi", *((names,) if isinstance(names, str) else names))
    return pytest.mark.parametrize(keys, [(mpi, *row) for mpi, row in under], ids=ids, indirect=["mpi"])


def compiled(compiler: str, source: str, folder: pathlib.Path) -> str:
    """Return the program made from a source of scripts/programs; several may make it at a time."""
    from perwiz.record import build

    out = folder / f"{pathlib.Path(source).stem}-{pathlib.Path(compiler).name}-{zlib.crc32(compiler.encode())}"
    if not out.exists():
        part = out.with_name(f"{out.name}-{os.getpid()}")
        command = [compiler, "-O1", "-g", "-w", f"-I{build.HERE}", str(PROGRAMS / source), "-o", str(part), "-pthread"]
        subprocess.run(command, check=True, capture_output=True)
        part.replace(out)
    return str(out)


@functools.cache
def made(compiler: str, folder: pathlib.Path) -> None:
    """Make the recorder for an MPI in the cache of a folder, which takes seconds: others that want it wait for the first.

    Only that of the first MPI and of OpenSHMEM are optimised, as those of users are; the others take a fifth of the time.
    """
    from perwiz.record import build

    with open(folder / f"{zlib.crc32(compiler.encode())}.lock", "w", encoding="ascii") as lock, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if compiler in {"smpicc", *(mpi.mpicc for mpi in installed()[1:])}:
            run = build._run
            patch.setattr(build, "_run", lambda command, *of: run([word.replace("-O2", "-O0") for word in command], *of))
        build.built(compiler)


def tallies(text: str) -> dict[tuple[int, str], tuple[int, int, int]]:
    """Return (calls, bytes sent, bytes received) per (rank, routine) as the program itself has counted them."""
    out: dict[tuple[int, str], np.ndarray] = defaultdict(lambda: np.zeros(3, int))
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["tally"]:
            name = ALIKE.get(words[2], words[2])
            out[int(words[1]), name if name in operations.OP else "MPI_other"] += np.array([int(word) for word in words[3:]])
    return {key: tuple(row.tolist()) for key, row in out.items()}


def counted(trace: Trace) -> dict[tuple[int, str], tuple[int, int, int]]:
    """Return the same as the trace has it."""
    calls = trace.calls
    rank = trace.locations.process[calls.location].astype("i8")
    key, back = np.unique(rank * 256 + calls.op, return_inverse=True)
    columns = [np.bincount(back, values, len(key)) for values in (np.ones(len(back)), calls.bytes_sent, calls.bytes_received)]
    rows = np.array(columns, "i8").T.tolist()
    return {(int(k) // 256, operations.OPS[int(k) % 256]): tuple(row) for k, row in zip(key, rows, strict=True)}
