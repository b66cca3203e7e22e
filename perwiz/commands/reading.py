"""Reading a trace while a terminal shows how far that is."""

from __future__ import annotations

import contextlib
import ctypes

from perwiz.report.progress import Progress
from perwiz.trace import files
from perwiz.trace.trace import Trace


def read(path: str) -> Trace:
    """Return the trace in a file, as `perwiz.trace.files.read` does; on a terminal long reading shows its progress."""
    with Progress(f"reading {path}") as progress:
        trace = files.read(path, progress)
    _give_back()
    return trace


def _give_back() -> None:
    """Return what reading needed to the system: the GNU C library keeps freed arrays, half as much again as the trace takes."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
