"""What of recording works here: which MPIs there are, whether their recorder is built or can be, threads of OpenMP, counters."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
from collections.abc import Callable, Iterator

from perwiz.errors import UsageError
from perwiz.record import ahead, build, counters, openmp, programs
from perwiz.report.doctor.document import LIMITED, MISSING, WORKS, Finding
from perwiz.report.doctor.machine import can_be_written

_WRAPPERS = ("mpicc", "oshcc", "smpicc")
_LAUNCHERS = {"mpicc": ("mpiexec", "mpirun"), "oshcc": ("oshrun",), "smpicc": ("smpirun",)}
_LOAD = "load the module of your MPI, or name its compiler in PERWIZ_MPICC"


def compilers() -> list[str]:
    """Return the compiler wrappers of MPI and OpenSHMEM: that of PERWIZ_MPICC, those on the path, those of recorders built ahead.

    Debian has the wrappers of several MPIs side by side, with the name of the MPI behind a dot. Those that are one file count once.
    """
    given = os.environ.get("PERWIZ_MPICC")
    found = [shutil.which(given) or given] if given else []
    for folder in dict.fromkeys(os.get_exec_path()):
        for name in _WRAPPERS:
            with contextlib.suppress(OSError):
                there = (pathlib.Path(folder, name), *sorted(pathlib.Path(folder).glob(f"{name}.*")))
                found += [str(path) for path in there if path.is_file() and os.access(path, os.X_OK)]
    found += [recorder.mpicc for recorder in ahead.recorders() if recorder.mpicc]
    one: dict[tuple[str, bool], str] = {}
    for path in found:
        one.setdefault((os.path.realpath(path), programs.compiles_shmem(path)), path)
    return [*one.values()]


def _launcher(mpicc: str) -> str | None:
    """Return what starts programs of a compiler wrapper: the launcher beside it, with the same ending."""
    folder, name = os.path.split(mpicc)
    kind, dot, ending = name.partition(".")
    paths = (os.path.join(folder, f"{one}{dot}{ending}") for one in _LAUNCHERS.get(kind, ("mpiexec",)))
    return next((path for path in paths if os.access(path, os.X_OK)), None)


def mpi() -> Iterator[Finding]:
    """Yield each MPI that is found."""
    found = compilers()
    for mpicc in found:
        name = build.readiness(mpicc).mpi or "an MPI that its compiler does not name"
        launcher = _launcher(mpicc)
        if launcher:
            yield Finding("mpi", WORKS, f"{name}, {launcher}")
        else:
            alone = f"{name}, {mpicc} without a launcher beside it"
            yield Finding("mpi", LIMITED, alone, "start programs with the one of the batch system")
    launcher = shutil.which("mpiexec") or shutil.which("srun")
    if not found and launcher:
        yield Finding("mpi", LIMITED, f"{launcher} without its mpicc", "perwiz record --mpicc FILE, or PERWIZ_MPICC")
    elif not found:
        yield Finding("mpi", MISSING, "neither mpiexec nor mpicc on the path", _LOAD)


def recorder() -> Iterator[Finding]:
    """Yield how far programs of each MPI, and those without, can be recorded; and what was built ahead in vain."""
    found = compilers()
    for mpicc in (*found, None):
        ready = build.readiness(mpicc)
        shmem = "OpenSHMEM, " if mpicc and programs.compiles_shmem(mpicc) else ""
        of = f"programs of {shmem}{ready.mpi or mpicc}" if mpicc else "programs of threads without MPI"
        if ready.refused:
            yield Finding("recorder", MISSING, f"{of}: {ready.refused}", "where there is a compiler: perwiz record --build PREFIX")
        elif ready.ready:
            yield Finding("recorder", WORKS, f"{of}: built, {ready.ready}")
        else:
            yield Finding("recorder", WORKS, f"{of}: is compiled when first used, by {mpicc or 'the C compiler'}")
    for one in ahead.recorders():
        if why := ahead.unfit(one, build.sources()):
            yield Finding("recorder", LIMITED, f"{one.folder} {why}, and is not used", ahead.again(one))


def cache() -> Iterator[Finding]:
    """Yield whether the folder of the recorders can be written."""
    folder = str(build.cache())
    if can_be_written(folder):
        yield Finding("cache", WORKS, folder)
    else:
        helps = "name another folder in XDG_CACHE_HOME, or perwiz record --build PREFIX"
        yield Finding("cache", MISSING, f"{folder} cannot be written: no recorder can be compiled when it is first used", helps)


def openmp_runtime() -> Iterator[Finding]:
    """Yield whether there is a runtime of OpenMP that can take the place of GCC's."""
    if found := openmp.installed():
        yield Finding("openmp", WORKS, f"{found} takes the place of GCC's libgomp")
    else:
        says = "no runtime that tells of threads to take the place of GCC's libgomp; programs of LLVM and Intel bring theirs"
        yield Finding("openmp", MISSING, says, "Debian: libomp-dev, or --openmp-runtime FILE")


def counting() -> Iterator[Finding]:
    """Yield which counters can be counted."""
    refused: dict[str, str] = {}
    for name in counters.EVENTS:
        try:
            counters.check([name])
        except UsageError as error:
            refused[name] = str(error).partition("cannot be counted: ")[2]
    there = [name for name in counters.EVENTS if name not in refused]
    if not refused:
        yield Finding("counters", WORKS, ", ".join(there))
        return
    why = "; ".join(f"no {', '.join(name for name in refused if refused[name] == reason)}: {reason}" for reason in {*refused.values()})
    yield Finding("counters", LIMITED if there else MISSING, f"{', '.join(there) or 'none'}; {why}")


CHECKS: dict[str, Callable[[], Iterator[Finding]]] = {
    "cache": cache,
    "mpi": mpi,
    "recorder": recorder,
    "openmp": openmp_runtime,
    "counters": counting,
}
"""What finds out about each part."""
