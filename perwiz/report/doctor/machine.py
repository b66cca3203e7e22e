"""What of perwiz works here without any MPI: itself, processors and memory, the terminal, and the packages it can use."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import pathlib
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial

from perwiz import __version__, allowed, kernels, words
from perwiz.errors import LibraryError, UsageError
from perwiz.report.doctor.document import LIMITED, MISSING, WORKS, Finding

_LITTLE = 1 << 30
"""Bytes of memory that are little: a trace of a million calls takes a quarter of that."""
_PER_CALL = 250
"""Bytes of memory that an answer takes for each call of a trace."""
_FRAMES = ("pandas", "polars", "pyarrow")
_OPTIONAL = {
    "parquet": (("pyarrow",), "parquet", "tables of the operations of training jobs cannot be read"),
    "mpi4py": (("mpi4py",), "mpi", "mpiexec perwiz info, correct, predict, domino and patterns cannot spread their work"),
    "jobs": (("sqlalchemy", "psycopg"), "jobs", "perwiz jobs keeps its records in files of SQLite, not on a PostgreSQL server"),
    "graph": (("networkx",), "graph", "a graph cannot be had as one of networkx"),
}


def version(package: str) -> str:
    """Return a package and its version as installed, such as `numpy 2.1.3`; the package alone if that is unknown."""
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return package


def system() -> str:
    """Return the system and the kind of processor: Linux 6.1.0 on x86_64."""
    return f"{platform.system()} {platform.release()} on {platform.machine()}"


def python() -> Iterator[Finding]:
    """Yield where perwiz lies and what it needs."""
    needed = ", ".join(map(version, ("numpy", "simpy", "msgspec")))
    yield Finding("python", WORKS, f"perwiz {__version__} in {pathlib.Path(kernels.__path__[0]).parent}, with {needed}")


def compiled() -> Iterator[Finding]:
    """Yield whether all kernels are compiled, and load."""
    names = [
        path.stem
        for path in sorted(pathlib.Path(kernels.__path__[0]).glob("*.py"))
        if path.read_text(encoding="utf-8").startswith("# cython: ")
    ]
    where = {name: importlib.util.find_spec(f"perwiz.kernels.{name}") for name in names}
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    slow = [name for name, spec in where.items() if spec is None or not str(spec.origin).endswith(suffixes)]
    if slow:
        which = "none" if len(slow) == len(names) else f"{', '.join(slow[:5])}{' and more' if len(slow) > 5 else ''} not"
        helps = "install perwiz (pip install perwiz), and do not start it in the folder of its sources"
        yield Finding("kernels", MISSING, f"{which} compiled of {len(names)}: answers take hundreds of times as long", helps)
        return
    try:
        for name in names:
            importlib.import_module(f"perwiz.kernels.{name}")
    except ImportError as error:
        yield Finding("kernels", MISSING, words.shown(f"cannot be loaded: {error}"), "install perwiz anew, for this Python and machine")
        return
    yield Finding("kernels", WORKS, f"all {len(names)} are compiled")


def processors() -> Iterator[Finding]:
    """Yield how many processors may be used, of how many."""
    there = os.cpu_count() or 1
    try:
        may = allowed.processors()
    except UsageError as error:
        yield Finding("processors", MISSING, str(error), f"unset {allowed.VARIABLE}")
        return
    if may < there:
        why = f"{allowed.VARIABLE} says so" if allowed.VARIABLE in os.environ else "affinity or a control group says so"
        yield Finding("processors", LIMITED, f"{may} of {there}: {why}")
    else:
        yield Finding("processors", WORKS, f"{may}")


def memory() -> Iterator[Finding]:
    """Yield how much memory is left."""
    left = allowed.memory()
    if left is None:
        yield Finding("memory", LIMITED, "the system does not tell how much is left")
        return
    says = f"{words.size(left)} left, for traces of {left // _PER_CALL // 1_000_000} million calls"
    helps = "end other programs or raise the limit of the control group; PERWIZ_THREADS=1 takes less"
    yield Finding("memory", WORKS, says) if left >= _LITTLE else Finding("memory", LIMITED, f"{words.size(left)} left", helps)


def otf2() -> Iterator[Finding]:
    """Yield which library of OTF2 there is."""
    from perwiz.formats.otf2.library import binding

    try:
        library = binding.load()
    except LibraryError as error:
        yield Finding("otf2", MISSING, str(error))
        return
    yield Finding("otf2", WORKS, library.where)


def pictures() -> Iterator[Finding]:
    """Yield whether pictures can be drawn, and the cache of fonts be kept."""
    folder = os.environ.get("MPLCONFIGDIR") or os.path.join(allowed.cache(), "matplotlib")
    if can_be_written(folder):
        yield Finding("pictures", WORKS, version("matplotlib"))
    else:
        says = f"{version('matplotlib')}, which looks for fonts each time: {folder} cannot be written"
        yield Finding("pictures", LIMITED, says, "name a folder in MPLCONFIGDIR")


def can_be_written(folder: str) -> bool:
    """Return whether files can be made in a folder, or the folder itself where it is not there yet."""
    while not os.path.exists(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    try:
        with tempfile.TemporaryDirectory(prefix=".perwiz-", dir=folder):
            return True
    except OSError:
        return False


def page() -> Iterator[Finding]:
    """Yield what a page needs."""
    yield Finding("page", WORKS, "needs no browser here; where a page is looked at, one of 2023 or later")


def tables() -> Iterator[Finding]:
    """Yield whether tables are Arrow data, and who can take them here."""
    takers = [version(name) for name in _FRAMES if importlib.util.find_spec(name)]
    if not importlib.util.find_spec("nanoarrow"):
        yield Finding("tables", MISSING, "no nanoarrow: tables are numpy columns only", "pip install 'perwiz[arrow]'")
    elif not takers:
        yield Finding("tables", LIMITED, f"{version('nanoarrow')}, and none of {', '.join(_FRAMES)} to take them", "pip install polars")
    else:
        yield Finding("tables", WORKS, f"{version('nanoarrow')}, for {', '.join(takers)}")


def _packages(part: str) -> Iterator[Finding]:
    """Yield whether the packages are there that a part needs."""
    packages, extra, lacking = _OPTIONAL[part]
    absent = [name for name in packages if not importlib.util.find_spec(name)]
    if absent:
        yield Finding(part, MISSING, f"no {' and no '.join(absent)}: {lacking}", f"pip install 'perwiz[{extra}]'")
    else:
        yield Finding(part, WORKS, ", ".join(map(version, packages)))


def terminal() -> Iterator[Finding]:
    """Yield what standard output is."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower()
    if sys.stdout is None or not sys.stdout.isatty():
        says = f"standard output is no terminal: lines of {words.WIDTH} columns, no colours"
    else:
        colours = "no colours" if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else "colours"
        says = f"{words.width(sys.stdout)} columns, {colours}"
    if encoding.replace("-", "") == "utf8":
        yield Finding("terminal", WORKS, says)
    else:
        yield Finding("terminal", LIMITED, f"{says}, {encoding}: names with other letters are escaped", "LANG=C.UTF-8 shows them")


CHECKS: dict[str, Callable[[], Iterator[Finding]]] = {
    "python": python,
    "kernels": compiled,
    "processors": processors,
    "memory": memory,
    "otf2": otf2,
    "pictures": pictures,
    "page": page,
    "tables": tables,
    **{part: partial(_packages, part) for part in _OPTIONAL},
    "terminal": terminal,
}
"""What finds out about each part."""
