"""Regions of Python programs: `with parallel_region("name"):`. Without the recorder they cost a function call and do nothing."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

_MISSING: Any = object()
_library: Any = _MISSING


def _recorder() -> Any:
    """Return the recorder in this process, or None."""
    global _library  # noqa: PLW0603 looked for once
    if _library is _MISSING:
        found = ctypes.PyDLL(None)
        _library = found if hasattr(found, "perwiz_begin") else None
    return _library


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
