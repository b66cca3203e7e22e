"""Several things at once, on all processors that this process may use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

LEAST = 1 << 18
"""Rows for which a thread is worth starting."""
Item = TypeVar("Item")
Result = TypeVar("Result")


def count(rows: int) -> int:
    """Return how many threads to use for so many rows: at most one per processor, and one for few rows."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(processors, rows // LEAST))


def each(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> list[Result]:
    """Return what the function returns for every item, in their order. No call may write to what another one reads or writes."""
    if threads == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))
