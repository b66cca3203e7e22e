"""The recorder, compiled with the user's own mpicc: ahead of time into a prefix, or when it is first needed into the user's cache."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

from perwiz import allowed
from perwiz.errors import UsageError
from perwiz.record import ahead, programs

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY, OBJECT, PTHREADS, MEASURING = "libperwiz.so", "perwiz.o", "libperwiz-pthreads.so", "calibrate"
_NAMES, _WRAPPERS, _ALONE = "names.c", "wrappers.c", "alone"
_FLAGS = ("-O2", "-g1", "-std=gnu11", "-fPIC", "-Wall", "-Wextra", "-Werror=implicit-function-declaration", "-pthread")
_PARTS = ("recorder.h", "perwiz.h", "recorder.c", "maps.c", "files.c", "core.c", "definitions.c", "comms.c", "calls.c")
_GENERATORS = ("wrap.py", "wrap_fortran.py", "routines.py", "shmem.py")
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
    return pathlib.Path(allowed.cache()) / "perwiz"


def built(mpicc: str | None, what: str = LIBRARY) -> pathlib.Path:
    """Return the compiled recorder for the MPI of `mpicc`: a library to preload, an object to link, or what goes in front of POSIX threads.

    None is for programs without MPI, which have no object; that of `oshcc` records OpenSHMEM, too. One that was built ahead of time is
    taken, else it is compiled. Raises UsageError when there is no such compiler, it cannot compile an MPI program, or the cache cannot be
    written.
    """
    if ready := ahead.found(mpicc, sources()):
        return ready / what
    with _with_way_out(mpicc):
        recipe = _recipe(mpicc)
        folder = cache() / recipe.name
        if not (folder / what).exists():
            _make(recipe, folder)
        return folder / what


def measuring(mpicc: str) -> pathlib.Path:
    """Return the program that measures round trips, compiled for the MPI of `mpicc`. Raises UsageError as `built` does."""
    if ready := ahead.found(mpicc, sources()):
        return ready / MEASURING
    with _with_way_out(mpicc):
        compiler = _compiler(mpicc)
        header = _run([compiler, "-E", "-dD", "-include", "mpi.h", "-x", "c", os.devnull], compiler, f"{MEASURING}.c")
        key = hashlib.sha256("\0".join([os.path.realpath(compiler), header]).encode() + (HERE / f"{MEASURING}.c").read_bytes())
        out = cache() / f"{MEASURING}-{key.hexdigest()[:16]}"
        if not out.exists():
            with _beside(out) as place:
                _compile_measuring(compiler, place / "program")
                (place / "program").replace(out)
        return out


class Readiness(NamedTuple):
    """How far programs of an MPI, or without any, can be recorded."""

    mpi: str
    """Name and version; empty without MPI, and where no compiler tells it."""
    ready: pathlib.Path | None
    """The folder of a recorder that is built."""
    refused: str
    """Why none can be built; empty if one can, or is there."""


def readiness(mpicc: str | None) -> Readiness:
    """Return how far programs of the MPI of `mpicc`, or without MPI, can be recorded. Nothing is built but a program that does nothing."""
    known = ahead.of(mpicc)
    if ready := ahead.found(mpicc, sources()):
        return Readiness(next(one.mpi for one in known if one.folder == ready), ready, "")
    mpi = ""
    try:
        recipe = _recipe(mpicc)
        mpi, folder = recipe.mpi, cache() / recipe.name
        if (folder / LIBRARY).exists():
            return Readiness(mpi, folder, "")
        with _beside(folder) as place:
            (place / "empty.c").touch()
            _run([recipe.compiler, "-shared", "-fPIC", "-o", str(place / LIBRARY), str(place / "empty.c")], recipe.compiler)
    except UsageError as error:
        return Readiness(mpi, None, str(error))
    return Readiness(mpi, None, "")


def into(prefix: str, mpicc: str) -> list[pathlib.Path]:
    """Return the folders of the recorders for the MPI of `mpicc` and for programs without MPI, built into a prefix for others to find.

    That for programs without MPI is left out where there is no plain C compiler. Raises UsageError as `built` does.
    """
    recipes = [_recipe(mpicc), *([_recipe(None)] if _plain() else [])]
    folders = [ahead.inside(prefix) / recipe.name for recipe in recipes]
    for recipe, folder in zip(recipes, folders, strict=True):
        if not (folder / ahead.INDEX).exists():
            _make(recipe, folder, for_others=True)
    return folders


def sources() -> str:
    """Return what tells recorders apart that different versions of perwiz make."""
    sum_ = hashlib.sha256("\0".join(_FLAGS).encode())
    for name in (*_SOURCES, *_GENERATORS, f"{MEASURING}.c"):
        sum_.update((HERE / name).read_bytes())
    return sum_.hexdigest()[:16]


@contextlib.contextmanager
def _with_way_out(mpicc: str | None) -> Iterator[None]:
    """Say where no recorder can be compiled how one is built elsewhere, and why one that was built was not taken."""
    try:
        yield
    except UsageError as error:
        here = f"perwiz record --build PREFIX on a login node makes the recorder ahead, then here {ahead.VARIABLE}=PREFIX"
        old = (f"{one.folder} {ahead.unfit(one, sources())}: {ahead.again(one)} on a login node makes it anew" for one in ahead.of(mpicc))
        raise UsageError(f"{error}; {next(old, here)}") from None


def _compiler(mpicc: str) -> str:
    """Return the path of a compiler wrapper. Raises UsageError where there is none of that name."""
    path = shutil.which(mpicc)
    if not path:
        raise UsageError(f"{mpicc}: not found, must be the compiler wrapper of the program's MPI (--mpicc)")
    return path


def _plain_compiler() -> str:
    """Return the path of a C compiler. Raises UsageError where there is none."""
    if found := _plain():
        return found
    raise UsageError("cc: not found, must be a C compiler: the recorder is compiled when it is first used")


def _plain() -> str | None:
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


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
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if re.search(r"\w", line)]
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


class _Recipe(NamedTuple):
    """What a recorder is made of."""

    compiler: str
    mpi: str
    """Name and version; empty without MPI."""
    text: dict[str, str]
    """Generated sources by their file."""
    name: str
    """Of its folder; another one for each compiler, header and source."""


def _recipe(mpicc: str | None) -> _Recipe:
    compiler = _compiler(mpicc) if mpicc else _plain_compiler()
    header = _header(compiler) if mpicc else ""
    text, mpi = _generated(header), mpi_of(header) if mpicc else ""
    sum_ = hashlib.sha256("\0".join([os.path.realpath(compiler), header, *text.values(), sources()]).encode())
    return _Recipe(compiler, mpi, text, f"{mpi.lower().replace(' ', '') or _ALONE}-{sum_.hexdigest()[:16]}")


@contextlib.contextmanager
def _beside(place: pathlib.Path) -> Iterator[pathlib.Path]:
    """Make a directory beside a place, for what then takes that place: two at once do no harm. Raises UsageError if it cannot be made."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".perwiz-", dir=place.parent) as name:
            yield pathlib.Path(name)
    except OSError as error:
        raise UsageError(f"{place}: cannot be written: {(error.strerror or str(error)).lower()}") from None


def _make(recipe: _Recipe, folder: pathlib.Path, for_others: bool = False) -> None:
    """Compile a recorder; `for_others` with the program that measures, and what says what it is for: then one of the cache will do."""
    with _beside(folder) as beside:
        place, kept = beside / "recorder", cache() / recipe.name
        if for_others and (kept / LIBRARY).exists():
            shutil.copytree(kept, place)
        else:
            place.mkdir()
            for file, lines in recipe.text.items():
                (place / file).write_text(lines, encoding="utf-8")
            _compile(recipe.compiler, place, bool(recipe.mpi))
        if for_others:
            if recipe.mpi:
                _compile_measuring(recipe.compiler, place / MEASURING)
            loads = _run(["ldd", str(place / LIBRARY)], recipe.compiler)
            ahead.write(place, recipe.mpi, recipe.compiler if recipe.mpi else "", loads, sources())
        with contextlib.suppress(OSError):  # somebody else was faster
            place.rename(folder)


def _compile_measuring(mpicc: str, out: pathlib.Path) -> None:
    source = HERE / f"{MEASURING}.c"
    _run([mpicc, "-O2", "-std=gnu11", "-Wall", "-Wextra", "-o", str(out), str(source)], mpicc, source.name)


def _compile(mpicc: str, place: pathlib.Path, for_mpi: bool) -> None:
    include = [f"-I{place}", f"-I{HERE}"]
    object_, library = str(place / OBJECT), str(place / LIBRARY)
    if for_mpi:
        _run([mpicc, *_FLAGS, *include, "-c", "-o", object_, str(HERE / "recorder.c")], mpicc)
        _run([mpicc, "-shared", "-pthread", "-Wl,-z,lazy", "-o", library, object_], mpicc)
    else:
        _run([mpicc, *_FLAGS, "-Wno-unused-function", *include, "-shared", "-o", library, str(HERE / "alone.c")], mpicc)
    _run([mpicc, *_FLAGS, "-shared", "-o", str(place / PTHREADS), str(HERE / "pthreads_front.c"), "-ldl"], mpicc)
