"""The processors that this process may use, for several things at once, and the memory that it holds.

Threads gain where numpy or a kernel lets other threads run meanwhile. Memory is worth giving back after a stage that frees much of it:
once a trace is read, or a graph is built.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

LEAST = 1 << 18
"""Rows for which a thread is worth starting."""
Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(rows: int) -> int:
    """Return how many threads to use for so many rows: at most one per processor, and one for few rows."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(processors, rows // LEAST))


def map_threads(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> list[Result]:
    """Return what the function returns for every item, in their order. No call may write to what another one reads or writes.

    With one thread they are called in this one. Of several that raise, the error is that of the first item.
    """
    if threads == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))


def give_back() -> None:
    """Return what freed arrays took to the system: the GNU C library keeps them, after reading or building half of what is in use."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
