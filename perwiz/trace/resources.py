"""The processors that this process may use, for several things at once, and the memory that it holds, for what is asked again.

Threads gain where numpy or a kernel lets other threads run meanwhile. Memory is worth giving back after a stage that frees much of it:
once a trace is read, or a graph is built.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import weakref
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

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


def remembered(most: int) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Return what makes a function remember its last answers, so many, each as long as its first argument, which never changes, is there.

    A question is asked again if the other arguments are equal, or the same table or array. Nobody may write to an answer.
    """

    def of(function: Callable[..., Result]) -> Callable[..., Result]:
        known: dict[tuple[int, Hashable], tuple[object, weakref.finalize[..., Any], Result]] = {}

        @functools.wraps(function)
        def found(first: Any, *asked: Any) -> Result:
            key = id(first), tuple(map(_key, asked))
            if key in known:
                known[key] = known.pop(key)
                return known[key][-1]
            answer = function(first, *asked)
            gone = weakref.finalize(first, known.pop, key, None)
            gone.atexit = False
            known[key] = asked, gone, answer  # what was asked stays: nothing else takes its place
            if len(known) > most:
                known.pop(next(iter(known)))[1].detach()
            return answer

        return found

    return of


def _key(asked: object) -> Hashable:
    """Return what is equal for questions that are the same."""
    try:
        hash(asked)
    except TypeError:
        return "the same", id(asked)
    return asked
