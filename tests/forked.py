"""Workers that read OTF2 archives, forked from the tests instead of started anew: a fresh interpreter with numpy takes longer than
reading any archive here. They do the same; how they are really started is tested in tests/formats/otf2/test_read.py.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import signal
import subprocess
import time
import types
from collections.abc import Sequence

import pytest

from perwiz.formats.otf2.library import process, worker


class Forked:
    """What is asked of a `subprocess.Popen` there."""

    def __init__(self, words: Sequence[str], pass_fds: tuple[int, int], **_: object) -> None:
        """Starts what the last of the words says, a call of main with these descriptors."""
        found = re.search(r"main\((\d+), (\d+)\)$", words[-1])
        assert found, words
        assert tuple(map(int, found.groups())) == pass_fds
        self._code: int | None = None
        self._pid = os.fork()
        if not self._pid:
            _work(*pass_fds)

    def kill(self) -> None:
        """Kill it."""
        if self.poll() is None:
            os.kill(self._pid, signal.SIGKILL)

    def poll(self) -> int | None:
        """Return the code with which it ended, if it has."""
        if self._code is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Return the code with which it ended, after that."""
        until = time.monotonic() + (timeout or 0)
        while timeout is not None and self.poll() is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired("a worker", timeout)
            time.sleep(0.01)
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return self._code


def _work(connection: int, data: int) -> None:
    """Be the worker, and end."""
    code = 1
    with contextlib.suppress(BaseException):
        gc.freeze()  # a collection would write to all pages of the tests, and so copy them
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        first, second = sorted((connection, data))
        for low, high in ((3, first), (first + 1, second), (second + 1, os.sysconf("SC_OPEN_MAX"))):
            os.closerange(low, high)
        worker.main(connection, data)
        code = 0
    os._exit(code)


def use(patch: pytest.MonkeyPatch) -> None:
    """Let the workers be forked."""
    here = types.SimpleNamespace(Popen=Forked, DEVNULL=subprocess.DEVNULL, TimeoutExpired=subprocess.TimeoutExpired)
    patch.setattr(process, "subprocess", here)
