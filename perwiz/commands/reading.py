"""Reading a trace while a terminal shows how far that is."""

from __future__ import annotations

from perwiz.formats import files
from perwiz.progress import Progress
from perwiz.trace.memory import give_back
from perwiz.trace.trace import Trace


def read(path: str) -> Trace:
    """Return the trace in a file, as `perwiz.formats.files.read` does; on a terminal long reading shows its progress."""
    with Progress(f"reading {path}") as progress:
        trace = files.read(path, progress)
    give_back()
    return trace
