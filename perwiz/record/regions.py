"""Regions of Python programs. Without the recorder they cost a function call and do nothing.

from perwiz.record.regions import parallel_region, region

with parallel_region("solve"), region("exchange"):
    comm.Sendrecv(...)
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterator
from typing import Any


@functools.cache
def _recorder() -> Any:
    """Return the recorder in this process, or None; looked for once."""
    symbols = ctypes.PyDLL(None)
    return symbols if hasattr(symbols, "perwiz_begin") else None


@contextlib.contextmanager
def region(name: str, parallel: bool = False) -> Iterator[None]:
    """Mark what is done inside as a region of that name."""
    recorder = _recorder()
    if recorder is None:
        yield
        return
    recorder.perwiz_begin(name.encode(), int(parallel))
    try:
        yield
    finally:
        recorder.perwiz_end()


def parallel_region(name: str) -> contextlib.AbstractContextManager[None]:
    """Mark what is done inside as a parallel region: work that all processes share."""
    return region(name, True)
