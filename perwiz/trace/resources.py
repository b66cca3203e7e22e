"""Several things at once on the processors that this process may use, and the memory that it holds, for what is asked again.

Threads gain where numpy or a kernel lets other threads run meanwhile: kernels that take long do. Memory is worth giving back after a stage
that frees much of it: once a trace is read, or a graph is built.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import functools
import os
import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from perwiz import allowed

_inside = threading.local()
"""Of a thread of `map_threads` its `share` of the processors."""
_PARTS = 4
"""Parts for each thread: they take not all the same time."""
LEAST = 1 << 18
"""Rows for which a thread is worth starting."""
_LAUNCHED = (
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"),
    ("SLURM_STEP_NUM_TASKS", "PMIX_RANK"),
)
"""What launchers tell each process: how many there are, and which it is."""
_LARGE = 1 << 23
"""Edges of a graph from which on it takes more memory than an answer that is there sooner is worth."""
EDGES_OF_CALL = 3
"""Edges of a graph for each call of its run, about."""
Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(rows: int) -> int:
    """Return how many threads to use for so many rows: at most one per processor, and one for few rows."""
    return max(1, min(getattr(_inside, "share", allowed.processors()), rows // LEAST))


def launched() -> tuple[int, int]:
    """Return (processes, rank) as a launcher of MPI programs told this process; (1, 0) if none did."""
    for size, rank in _LAUNCHED:
        count, number = os.environ.get(size, ""), os.environ.get(rank, "")
        if count.isdecimal() and number.isdecimal():
            return int(count), int(number)
    return 1, 0


def map_threads(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> list[Result]:
    """Return what the function returns for every item, in their order. No call may write to what another one reads or writes.

    With one thread they are called in this one. Threads share the processors: for what one of them spreads once more `thread_count` gives
    no more than its share. Of several that raise, the error is that of the first item.
    """
    if threads == 1:
        return [function(item) for item in items]
    share = max(1, getattr(_inside, "share", allowed.processors()) // threads)
    with ThreadPoolExecutor(threads, initializer=_begin, initargs=(share, contextvars.copy_context())) as pool:
        return list(pool.map(function, items))


def _begin(share: int, context: contextvars.Context) -> None:
    """Begin a thread with a share of the processors, in the context of the one that starts it: numpy takes memory where it does there."""
    _inside.share = share
    for variable, value in context.items():
        variable.set(value)


def at_once(tasks: Sequence[Callable[[], Any]], rows: int) -> list[Any]:
    """Return what each of some tasks returns that only read what they share; in threads if it is about rows for several."""
    return map_threads(lambda task: task(), tasks, max(min(thread_count(rows), len(tasks)), 1))


def of_graphs(edges: int) -> int:
    """Return the rows for `at_once` of tasks that each weigh a graph of so many edges: none if it is large, for each takes about as much
    memory as the run; so they are done one after the other.
    """
    return edges if edges < _LARGE else 0


def graphs_at_once(tasks: Sequence[Callable[[], Any]], edges: int, in_order: bool = False) -> list[Any]:
    """Return what each of some tasks returns that each weigh a graph of so many edges, as `at_once` and `of_graphs` have it; of large ones
    what one has freed is given back before the next. `in_order` they are done one after the other in any case: processes that ask each
    other do the same in the same order.
    """
    large = not of_graphs(edges)
    if not large and not in_order:
        return at_once(tasks, edges)
    out = list[Any]()
    for task in tasks:
        give_back(edges if large else 0)
        out.append(task())
    return out


class Later(Generic[Result]):
    """A task whose result is there once it was done."""

    result: Result

    def __init__(self, task: Callable[[], Result]) -> None:
        self._task = task

    def __call__(self) -> None:
        """Do it."""
        self.result = self._task()


def in_parts(work: Callable[[slice], Any], count: int, rows: int) -> None:
    """Do some work on parts of so many items, in threads if it is about rows for several. No part may write to what another one reads."""
    threads = thread_count(rows)
    size = -(-count // (_PARTS * threads)) if threads > 1 else count
    map_threads(work, [slice(begin, min(begin + size, count)) for begin in range(0, count, max(size, 1))], threads)


_TRIM, _PAD, _MAPPED, _ARENAS = -1, -2, -4, -8
"""Options of mallopt(3): free bytes at the end of the heap from which on it shrinks, bytes that it grows by beyond what is asked for, how
many arrays may lie outside of it, and how many heaps there may be.
"""
_KEPT, _AHEAD = 1 << 28, 1 << 26
"""Bytes at the end of the heap that are kept, and fetched ahead."""


def one_heap() -> None:
    """Let all threads take memory from one heap: what one of several has freed is then there for the others, not kept for each."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_ARENAS, 1)


def keep_freed() -> None:
    """Let freed arrays stay for those that come next: where many questions take large ones, fetching each from the system anew, page by
    page, takes a fifth of the processor time.
    """
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        for option, value in ((_MAPPED, 0), (_TRIM, _KEPT), (_PAD, _AHEAD)):
            library.mallopt(option, value)


def give_back(rows: int) -> None:
    """Return what freed arrays of so many rows took to the system, if there are rows for a thread: the GNU C library keeps them, after
    reading or building half of what is in use.
    """
    if rows < LEAST:
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


class _Own(threading.local):
    memory: dict[Any, Any] | None = None
    """What this thread remembers apart from the others; None: what all do."""


_OWN = _Own()


def as_process() -> None:
    """Let this thread remember answers apart from the others, as a process does."""
    _OWN.memory = {}


class Remembered(Generic[Result]):
    """A function that remembers its last answers; see `remembered`."""

    def __init__(self, function: Callable[..., Result], most: int) -> None:
        functools.update_wrapper(self, function)
        self._function, self._most, self._lock = function, most, threading.RLock()
        self._shared: dict[tuple[int, Hashable], tuple[object, weakref.finalize[..., Any], Result]] = {}
        self._locks = dict[tuple[int, tuple[int, Hashable]], Any]()

    @property
    def _known(self) -> dict[tuple[int, Hashable], tuple[object, weakref.finalize[..., Any], Result]]:
        memory = _OWN.memory
        return self._shared if memory is None else memory.setdefault(self, {})

    def __call__(self, first: Any, *asked: Any) -> Result:
        """Return the answer, found if it is not known, what it takes the place of forgotten before."""
        key = id(first), tuple(map(_key, asked))
        known = self._recalled(key)
        if known is not None:
            return known[-1]
        with self._finding(key):
            known = self._recalled(key)
            if known is not None:
                return known[-1]
            self._forget(self._most - 1)
            answer = self._function(first, *asked)
            self.tell(answer, first, *asked)
            return answer

    def _recalled(self, key: tuple[int, Hashable]) -> tuple[object, weakref.finalize[..., Any], Result] | None:
        """Return what is known of a question, which then is the one that was asked last."""
        with self._lock:
            known = self._known.pop(key, None)
            if known is not None:
                self._known[key] = known
            return known

    @contextlib.contextmanager
    def _finding(self, key: tuple[int, Hashable]) -> Iterator[None]:
        """Let one thread find the answer to a question, while others that ask it wait."""
        place = id(self._known), key
        with self._lock:
            found = self._locks.setdefault(place, threading.RLock())
        with found:
            try:
                yield
            finally:
                self._locks.pop(place, None)

    def told(self, first: Any, *asked: Any) -> Result | None:
        """Return the answer if it is known; None if not."""
        known = self._known.get((id(first), tuple(map(_key, asked))))
        return None if known is None else known[-1]

    def tell(self, answer: Result, first: Any, *asked: Any) -> None:
        """Remember an answer that is known from elsewhere."""
        key = id(first), tuple(map(_key, asked))
        gone = weakref.finalize(first, self._known.pop, key, None)
        gone.atexit = False
        with self._lock:
            self._known[key] = asked, gone, answer  # what was asked stays: nothing else takes its place
        self._forget(self._most)

    def forget(self, first: object) -> None:
        """Forget all answers about something."""
        with self._lock:
            for key in [key for key in self._known if key[0] == id(first)]:
                self._known.pop(key)[1].detach()

    def _forget(self, most: int) -> None:
        """Forget what was not asked for longest, but for so many answers."""
        with self._lock:
            known = self._known
            while len(known) > most:
                known.pop(next(iter(known)))[1].detach()


def remembered(most: int) -> Callable[[Callable[..., Result]], Remembered[Result]]:
    """Return what makes a function remember its last answers, so many, each as long as its first argument, which never changes, is there.

    A question is asked again if the other arguments are equal, or the same table or array. Nobody may write to an answer.
    """
    return lambda function: Remembered(function, most)


def _key(asked: object) -> Hashable:
    """Return what is equal for questions that are the same."""
    try:
        hash(asked)
    except TypeError:
        return "the same", id(asked)
    return asked
