"""The recorder, compiled with the user's own mpicc when it is first needed, and kept in the user's cache."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from perwiz.errors import UsageError
from perwiz.record import programs

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY, OBJECT, PTHREADS = "libperwiz.so", "perwiz.o", "libperwiz-pthreads.so"
_NAMES, _WRAPPERS, _ALONE = "names.c", "wrappers.c", "alone"
_FLAGS = ("-O2", "-g1", "-std=gnu11", "-fPIC", "-Wall", "-Wextra", "-Werror=implicit-function-declaration", "-pthread")
_PARTS = ("recorder.h", "perwiz.h", "recorder.c", "maps.c", "files.c", "core.c", "definitions.c", "comms.c", "calls.c")
_SOURCES = (
    *_PARTS,
    "events.c",
    "count.c",
    "regions.c",
    "openmp.c",
    "pthreads.c",
    "pthreads_front.c",
    "process.c",
    "alone.c",
    "clocks.c",
    "profile.c",
    "start.c",
    "wrappers_special.c",
    "shmem.c",
)
_VERSIONS = (
    ("SMPI", r"#define SMPI_H\b()"),
    ("Open MPI", r"#define OMPI_MAJOR_VERSION (\d+)[\s\S]*?#define OMPI_MINOR_VERSION (\d+)[\s\S]*?#define OMPI_RELEASE_VERSION (\d+)"),
    ("MPICH", r'#define MPICH_VERSION "([\w.]+)"'),
)


def cache() -> pathlib.Path:
    """Return the directory that compiled recorders are kept in."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(root) / "perwiz"


def built(mpicc: str | None, what: str = LIBRARY) -> pathlib.Path:
    """Return the compiled recorder for the MPI of `mpicc`: a library to preload, an object to link, or what goes in front of POSIX threads.

    None is for programs without MPI, which have no object; that of `oshcc` records OpenSHMEM, too. Raises UsageError when there is no such
    compiler, it cannot compile an MPI program, or the cache cannot be written.
    """
    compiler = _compiler(mpicc) if mpicc else _plain_compiler()
    header = _header(compiler) if mpicc else ""
    text, name = _generated(header), mpi_of(header).lower().replace(" ", "") if mpicc else _ALONE
    folder = cache() / f"{name}-{_key(compiler, header, text)}"
    if not (folder / what).exists():
        _make(compiler, folder, text)
    return folder / what


def program(mpicc: str, source: str) -> pathlib.Path:
    """Return a program of its own, compiled from a source beside this file.

    Raises UsageError as `built` does.
    """
    compiler = _compiler(mpicc)
    header = _run([compiler, "-E", "-dD", "-include", "mpi.h", "-x", "c", os.devnull], compiler, source)
    key = hashlib.sha256("\0".join([os.path.realpath(compiler), header]).encode() + (HERE / source).read_bytes()).hexdigest()[:16]
    out = cache() / f"{pathlib.Path(source).stem}-{key}"
    if not out.exists():
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".perwiz-", dir=out.parent) as name:
                part = pathlib.Path(name) / "program"
                _run([compiler, "-O2", "-std=gnu11", "-Wall", "-Wextra", "-o", str(part), str(HERE / source)], compiler, source)
                part.replace(out)
        except OSError as error:
            raise UsageError(f"{out}: cannot be written: {(error.strerror or str(error)).lower()}") from None
    return out


def _compiler(mpicc: str) -> str:
    """Return the path of a compiler wrapper. Raises UsageError where there is none of that name."""
    path = shutil.which(mpicc)
    if not path:
        raise UsageError(f"{mpicc}: not found, must be the compiler wrapper of the program's MPI (--mpicc)")
    return path


def _plain_compiler() -> str:
    """Return the path of a C compiler. Raises UsageError where there is none."""
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if not found:
        raise UsageError("cc: not found, must be a C compiler: the recorder is compiled when it is first used")
    return found


def mpi_of(header: str) -> str:
    """Return the name and version of an MPI, from its header."""
    for name, pattern in _VERSIONS:
        if match := re.search(pattern, header):
            return f"{name} {'.'.join(match.groups())}".strip()
    return "MPI"


def _run(command: list[str], mpicc: str, what: str = "the recorder") -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise UsageError(f"{mpicc}: {(error.strerror or str(error)).lower()}") from None
    if done.returncode:
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        why = next((line for line in lines if "error" in line), lines[0] if lines else f"exit code {done.returncode}")
        raise UsageError(f"{mpicc}: cannot compile {what}: {why}")
    return done.stdout


def _header(compiler: str) -> str:
    """Return what the headers declare that a compiler of MPI programs finds, those of OpenSHMEM, too, if it compiles such programs."""
    with_shmem = ["-include", "shmem.h", "-include", "pshmem.h"] if programs.compiles_shmem(compiler) else []
    return _run([compiler, "-E", "-dD", "-include", "mpi.h", *with_shmem, "-x", "c", os.devnull], compiler)


def _generated(header: str) -> dict[str, str]:
    from perwiz.record import shmem, wrap

    declared, with_shmem = set(re.findall(r"\b(MPI_\w+)\s*\(", header)), "pshmem_init" in header
    names = {_NAMES: wrap.names(with_shmem)}
    return names | ({_WRAPPERS: wrap.source(declared) + (f"\n{shmem.source(header)}" if with_shmem else "")} if declared else {})


def _key(mpicc: str, header: str, text: dict[str, str]) -> str:
    sum_ = hashlib.sha256("\0".join([os.path.realpath(mpicc), header, *text.values(), *_FLAGS]).encode())
    for name in _SOURCES:
        sum_.update((HERE / name).read_bytes())
    return sum_.hexdigest()[:16]


def _make(mpicc: str, folder: pathlib.Path, text: dict[str, str]) -> None:
    """Compile in a directory beside, which then takes its place: two at once do no harm."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".perwiz-", dir=folder.parent) as name:
            place = pathlib.Path(name) / "recorder"
            place.mkdir()
            for file, lines in text.items():
                (place / file).write_text(lines, encoding="utf-8")
            _compile(mpicc, place, _WRAPPERS in text)
            with contextlib.suppress(OSError):  # somebody else was faster
                place.rename(folder)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {(error.strerror or str(error)).lower()}") from None


def _compile(mpicc: str, place: pathlib.Path, for_mpi: bool) -> None:
    include = [f"-I{place}", f"-I{HERE}"]
    object_, library = str(place / OBJECT), str(place / LIBRARY)
    if for_mpi:
        _run([mpicc, *_FLAGS, *include, "-c", "-o", object_, str(HERE / "recorder.c")], mpicc)
        _run([mpicc, "-shared", "-pthread", "-Wl,-z,lazy", "-o", library, object_], mpicc)
    else:
        _run([mpicc, *_FLAGS, "-Wno-unused-function", *include, "-shared", "-o", library, str(HERE / "alone.c")], mpicc)
    _run([mpicc, *_FLAGS, "-shared", "-o", str(place / PTHREADS), str(HERE / "pthreads_front.c"), "-ldl"], mpicc)
