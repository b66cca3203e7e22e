"""A worker process as its parent sees it: what it is at, what it says, what it leaves behind, and how it ends.

A subprocess that imports this package alone, not one of concurrent.futures: those import the program that started them a second time, which
a script without `if __name__ == "__main__"` does not survive, and a broken pool tells neither the task nor the signal that broke it.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Pipe
from typing import IO

from perwiz.formats.otf2.definitions import Definitions
from perwiz.formats.otf2.library.packed import Arrays, Asked, Read, Task, Told

_PROGRAM = "from perwiz.formats.otf2.library.worker import main; main({}, {})"
_QUIET = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Threads of a numerical library would cost a worker start-up time and address space, and are not used."""
_KEEPS = dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), str(32 << 20))
"""The GNU C library keeps what arrays of one location took for those of the next: getting it anew takes as long as reading."""
_LEISURE = 10.0
"""Seconds a worker that says no more may take to end."""


class Process:
    """A running worker; it reads the definitions first."""

    def __init__(self, asked: Asked) -> None:
        """Starts the process."""
        self.task: Task | None = None
        """The locations it is at; None while it reads the definitions, and while it waits."""
        self.waits = False
        """Whether it waits for a task."""
        self.heard = time.monotonic()
        self._read: list[tuple[Task, Read]] = []
        self.done = 0
        """Bytes of event files it has read."""
        self._done_before = 0
        self._data = _unnamed()
        self.connection, theirs = Pipe()
        self.connection.send(asked)
        with theirs:
            descriptors = theirs.fileno(), self._data.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM.format(*descriptors)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=descriptors,
                env={**os.environ, **_QUIET, **_KEEPS, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
            )

    def give(self, task: Task) -> None:
        """Let it read some locations."""
        self.task, self.waits, self.heard = task, False, time.monotonic()
        with contextlib.suppress(OSError):  # a process that has ended is heard of in time
            self.connection.send(task)

    def hear(self) -> Definitions | None:
        """Take its next message, and return the definitions if it is these. Raises EOFError or OSError if it has ended.

        Also raises the TraceError or LibraryError that it ended with, and RuntimeError for a bug.
        """
        message = self.connection.recv()
        self.heard = time.monotonic()
        if isinstance(message, Exception):
            raise message
        if isinstance(message, int):
            self.done = self._done_before + message
            return None
        if self.task and isinstance(message, Read):
            self._read.append((self.task, message))
            self.done = self._done_before = self._done_before + self.task.bytes
        self.task, self.waits = None, True
        return message if isinstance(message, Definitions) else None

    def end(self) -> None:
        """End it, whatever it does, and let go of all that was open for it."""
        self._process.kill()
        self._process.wait()
        self.connection.close()
        self._data.close()

    def fate(self) -> str:
        """Return how a worker ended that will say no more: `crashed (SIGSEGV)` and the like."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEISURE)
        code = self._process.poll()
        if code is None:
            return "hangs"
        if code >= 0:
            return f"ended its process with status {code}"
        try:
            return f"crashed ({signal.Signals(-code).name})"
        except ValueError:
            return f"crashed (signal {-code})"

    def found(self) -> list[tuple[int, Told, Arrays, int]]:
        """Return each location it has read: what became of it, the columns in the file it wrote, and its place among those of these."""
        size = os.fstat(self._data.fileno()).st_size
        content = mmap.mmap(self._data.fileno(), size, access=mmap.ACCESS_WRITE) if size else b""
        found = []
        for task, read in self._read:
            arrays = Arrays(content, read.columns, read.ends)
            found += [(task.locations[k].ref, told, arrays, k) for k, told in enumerate(read.told)]
        return found


def _unnamed() -> IO[bytes]:
    """Return a new file that only open descriptors know, in memory if the system can."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("perwiz"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)
