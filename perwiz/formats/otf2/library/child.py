"""A worker process as its parent sees it: what it says, what it leaves behind, and how it ends."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import IO, Any

from perwiz.formats.otf2.library.packed import Arrays

_BITE = 1 << 16
_QUIET = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Threads of a numerical library would cost a worker start-up time and address space, and are not used."""
_KEEPS = dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), str(32 << 20))
"""The GNU C library keeps what arrays of one location took for those of the next: getting it anew takes as long as reading."""
_LEISURE = 10.0
"""Seconds a worker that has said everything may take to end."""


class Child:
    """A running worker: its share, what was last heard of it, the location it is at, and the lines about locations it has read."""

    def __init__(self, asked: dict[str, Any]) -> None:
        """Starts the process; `asked` goes to the worker, which says what is in it."""
        self.asked = asked
        self.heard = time.monotonic()
        self.done, self.begun = 0, -1
        self.read: list[dict[str, Any]] = []
        self.ended = False
        """Whether it said that it has read all."""
        self.closed = False
        """Whether it will say no more."""
        self._rest = b""
        self._data = _unnamed()
        self.index, out = os.pipe()
        try:
            self._process = self._started(out)
        finally:
            os.close(out)

    def _started(self, index: int) -> subprocess.Popen[bytes]:
        request = {**self.asked, "index": index, "data": self._data.fileno()}
        with _unnamed() as stdin:
            stdin.write(json.dumps(request).encode())
            stdin.seek(0)
            return subprocess.Popen(
                [sys.executable, "-P", "-m", "perwiz.formats.otf2.library.worker"],
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(index, self._data.fileno()),
                env={**os.environ, **_QUIET, **_KEEPS, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
            )

    def hear(self) -> dict[str, Any]:
        """Return what it said that is not about a location or its progress, as one dictionary; waits if it says nothing."""
        said: dict[str, Any] = {}
        piece = os.read(self.index, _BITE)
        self.closed = not piece
        self.heard = time.monotonic()
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            said |= self._note(json.loads(line))
        return said

    def _note(self, line: dict[str, Any]) -> dict[str, Any]:
        self.done, self.begun = line.get("done", self.done), line.get("begin", self.begun)
        self.ended |= "end" in line
        if "location" in line:
            self.read.append(line)
        return line

    def kill(self) -> None:
        """End it, whatever it does, and wait for that."""
        self._process.kill()
        self._process.wait()

    def forget(self) -> None:
        """End it and let go of all that was open for it."""
        self.kill()
        os.close(self.index)
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

    def columns(self) -> dict[int, Arrays]:
        """Return the arrays of every location it has read, from the file it wrote, once it has ended."""
        size = os.fstat(self._data.fileno()).st_size
        content = mmap.mmap(self._data.fileno(), size, access=mmap.ACCESS_WRITE) if size else None
        return {line["location"]: Arrays(content, line["arrays"]) for line in self.read}


def _unnamed() -> IO[bytes]:
    """Return a new file that only open descriptors know, in memory if the system can."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("perwiz"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)
