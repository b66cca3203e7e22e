"""Which runtime of OpenMP a program has, and whether that tells a tool of its threads."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
import subprocess

from perwiz.errors import UsageError
from perwiz.record import programs

_TELLING = re.compile(r"lib(omp|iomp5)\.so")
_SILENT = re.compile(r"libgomp\.so")


def runtime(command: list[str], given: str | None) -> tuple[str, str]:
    """Return the runtime to put in front of the program of a command, and a line that says why; nothing if its own will do.

    GCC's libgomp has no interface for tools. LLVM's libomp has its entry points, and so can take its place. Raises UsageError if the one
    that is `given` is not there, and for a program on libgomp where no libomp is found.
    """
    if given:
        if not os.path.isfile(given):
            raise UsageError(f"{given}: not found, must be LLVM's libomp.so or Intel's libiomp5.so (--openmp-runtime)")
        return os.path.abspath(given), ""
    for word in command:
        loaded = programs.loaded(word)
        if _SILENT.search(loaded) and not _TELLING.search(loaded):
            silent = f"{word}: its OpenMP is GCC's libgomp, which tells nobody of threads"
            if found := installed():
                return found, f"{silent}: {found} takes its place"
            raise UsageError(f"{silent}; must be run with LLVM's libomp (Debian: libomp-dev) or Intel's: --openmp-runtime FILE")
    return "", ""


def installed() -> str:
    """Return the file of an OpenMP runtime that tells tools of its threads, or nothing."""
    text = ""
    with contextlib.suppress(OSError):
        tool = shutil.which("ldconfig") or "/sbin/ldconfig"
        text = subprocess.run([tool, "-p"], capture_output=True, text=True, errors="replace", check=False).stdout
    listed = [path for path in re.findall(r"=> (\S+)", text) if _TELLING.search(os.path.basename(path))]
    folders = sorted(glob.glob("/usr/lib/llvm-*/lib/libomp.so*"), reverse=True)
    return next((path for path in [*listed, *folders] if os.path.isfile(path)), "")
