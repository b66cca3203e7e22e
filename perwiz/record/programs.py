"""What the files of a command line are: launchers of which MPI, the mpicc beside them, static programs."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import struct
import subprocess

from perwiz.errors import UsageError

_LAUNCHERS = ("mpiexec", "mpirun", "orterun", "prterun", "oshrun", "shmemrun")
_STYLES = (("open mpi", "-x"), ("open-mpi", "-x"), ("openrte", "-x"), ("prrte", "-x"), ("hydra", "-genv"), ("intel", "-genv"))
_TWICE = {"mca", "gmca", "env", "genv"}
_VALUED = _TWICE | {"n", "np", "c", "N", "x", "host", "hosts", "H", "hostfile", "f", "machinefile", "wdir", "wd", "path", "configfile", "w"}
_VALUED |= {"map-by", "bind-to", "rank-by", "p", "A", "t", "J"}
"""Options of launchers that take a value, which may have the name of a program, without their dashes; the first some take two."""
_MPI = re.compile(r"lib(mpi|mpich|mpi_\w+|mpifort|pmpi)\.so")
_INTERPRETER = 3
"""Type of the program header that names the dynamic linker."""


def is_launcher(command: str) -> bool:
    """Return whether a command starts MPI programs."""
    return os.path.basename(command).startswith(_LAUNCHERS)


def compiles_shmem(compiler: str) -> bool:
    """Return whether a compiler wrapper is for programs of OpenSHMEM: oshcc or shmemcc."""
    return os.path.basename(compiler).startswith(("osh", "shmem"))


def simulates(command: str) -> bool:
    """Return whether a command runs all processes of a program in one, simulated (SMPI): the recorder must be linked into that."""
    return os.path.basename(command) == "smpirun"


def without_mpi(command: list[str]) -> bool:
    """Return whether a command starts one program and nothing that it starts uses MPI, as far as the files of the command tell.

    A script may start anything, so it is not one of these.
    """
    if any(is_launcher(word) or simulates(word) for word in command) or not _is_program(shutil.which(command[0]) or ""):
        return False
    return not any(_MPI.search(loaded(word)) or has_recorder(shutil.which(word) or "") for word in command)


def _is_program(path: str) -> bool:
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"
    return False


def loaded(word: str) -> str:
    """Return the names of the libraries a program loads when it starts, one a line; nothing for what is none."""
    path = shutil.which(word)
    if not path or is_launcher(word):
        return ""
    with contextlib.suppress(OSError):
        return subprocess.run(["ldd", path], capture_output=True, text=True, errors="replace", check=False).stdout
    return ""


def launcher_style(command: str) -> str | None:
    """Return the option by which a launcher hands an environment variable to the program, or None if it has none."""
    if not is_launcher(command):
        return None
    text = ""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run([command, "--version"], capture_output=True, text=True, errors="replace", timeout=20, check=False)
        text = (done.stdout + done.stderr).lower()
    return next((style for words, style in _STYLES if words in text), None)


def launcher(command: list[str]) -> list[str]:
    """Return a command line without the program and its arguments: up to the first word that can be run and is no option's value.

    Raises UsageError if the program cannot be found in it.
    """
    for k in range(1, len(command)):
        valued = command[k - 1].lstrip("-") in _VALUED or command[max(k - 2, 0)].lstrip("-") in _TWICE
        if not command[k].startswith("-") and not valued and shutil.which(command[k]):
            return command[:k]
    shown = shlex.join(command)
    raise UsageError(f"{shown}: what of it starts programs cannot be told; use perwiz calibrate, and put its model into the run")


def mpicc_for(command: list[str]) -> str:
    """Return the mpicc that belongs to the launcher of a command: PERWIZ_MPICC, or the one beside it, or the first on the path.

    Of programs with OpenSHMEM that is its oshcc.
    """
    if given := os.environ.get("PERWIZ_MPICC"):
        return given
    if command and simulates(command[0]):
        return "smpicc"
    name = "oshcc" if any(map(_has_shmem, command)) else "mpicc"
    for word in command[:1]:
        launcher = shutil.which(word) if is_launcher(word) else None
        for path in (launcher, _alternative(launcher)) if launcher else ():
            if path and (compiler := _file(os.path.dirname(path), name) if name == "oshcc" else _beside(path)):
                return compiler
    return name


def _has_shmem(word: str) -> bool:
    """Return whether a word of a command is a program that loads the library of OpenSHMEM."""
    path = shutil.which(word)
    with contextlib.suppress(OSError):
        if path and not is_launcher(word):
            with open(path, "rb") as file:
                return b"liboshmem.so" in file.read()
    return False


def _alternative(launcher: str) -> str | None:
    """Return the file a link stands for, one with the MPI's name in it first (Debian: mpiexec.openmpi)."""
    path = launcher
    for _ in range(10):
        if not os.path.islink(path):
            break
        path = os.path.join(os.path.dirname(path), os.readlink(path))
        if "." in os.path.basename(path):
            return path
    return path


def _beside(launcher: str) -> str | None:
    folder, name = os.path.split(launcher)
    suffix = name.partition(".")[2]
    if suffix == "hydra" or (not suffix and os.path.islink(launcher) and "/etc/alternatives/" in os.readlink(launcher)):
        return None if not suffix else _file(folder, "mpicc")
    return _file(folder, f"mpicc.{suffix}" if suffix else "mpicc")


def _file(folder: str, name: str) -> str | None:
    path = os.path.join(folder, name)
    return path if os.access(path, os.X_OK) and os.path.isfile(path) else None


def is_static(path: str) -> bool:
    """Return whether a file is a program that no dynamic linker loads."""
    with contextlib.suppress(OSError, struct.error), open(path, "rb") as file:
        head = file.read(64)
        if head[:5] != b"\x7fELF\x02" or struct.unpack_from("<H", head, 16)[0] not in (2, 3):
            return False
        offset, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
        file.seek(offset)
        table = file.read(size * count)
        return all(struct.unpack_from("<I", table, k * size)[0] != _INTERPRETER for k in range(count))
    return False


def has_recorder(path: str) -> bool:
    """Return whether the recorder is linked into a program."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return b"perwiz: out of memory while recording" in file.read()
    return False
