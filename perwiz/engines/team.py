"""The processes that mpiexec or srun started, each with a part of a trace; the one home of mpi4py.

All of them run the same command, each on its part. What they tell each other is counted by stage.
"""

from __future__ import annotations

import collections
import contextlib
import io
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perwiz.errors import BUG, DONE, LibraryError, PerwizError, UsageError
from perwiz.formats.store.store import made_by
from perwiz.trace.resources import launched
from perwiz.trace.spread.team import How, Team, agreed, texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MANY = 64
"""Messages under way that are looked through at a time."""
_BLOCK = 512
"""Bytes that every process sends to every other in an exchange; more follows if there is more."""
_HEAD = 8
"""Of them, how many bytes there are."""
_ROOM = _BLOCK - _HEAD
_MOST = 1 << 30
"""Bytes of a message."""
_ONWARD, _MORE = 1, 2
"""Tags: of what goes on from round to round, and of what follows in an exchange."""
_PATIENCE = 10.0
"""Seconds in which all processes must come to an end that one comes to with an error, or it ends them."""
_LOOK = 0.01
"""Seconds between two looks at that."""
_HEARD = 0.3
"""Seconds in which the launcher passes on what a process says: when one is ended it may forget what it has not."""


class Asked(NamedTuple):
    """What one process was asked."""

    what: str
    """The same text wherever the same is asked."""
    words: str
    """As it was typed, for who reads it."""


def together(work: Callable[[Team], int], asked: Callable[[int], Asked]) -> int:
    """Return the exit code of work that all processes do together. It is that of rank 0, which alone answers.

    The others end with 0: a launcher ends all when one ends with another code, whatever the first still has to say. `asked` tells what this
    process was asked, given how many there are.

    Raises LibraryError on rank 0, and ends the others, where MPI cannot be used though mpiexec started several processes, and what `asked`
    raises. An error that all come to is said by rank 0; one that others do not come to ends all of them.
    """
    size, rank = launched()
    try:
        team = Mpi(size)
    except LibraryError:
        if rank:
            raise SystemExit(DONE) from None
        asked(size)
        raise
    code, known = DONE, None
    try:
        try:
            _check_alike(team, asked)
            with contextlib.redirect_stdout(io.StringIO() if rank else sys.stdout):
                code = work(team)
        except PerwizError as error:
            code, known = error.exit_code, error
        except SystemExit:  # help was asked for, and printed
            pass
        team.end(str(known or ""), code)
    except BaseException as error:
        raise SystemExit(team.stop(error)) from None
    if known is not None and not rank:
        raise known
    return DONE if rank else code


def _check_alike(team: Team, asked: Callable[[int], Asked]) -> None:
    """Raise LibraryError if processes run other versions of perwiz, UsageError if they are asked other things; what `asked` raises."""
    versions = texts(team, made_by())
    if other := _other(versions):
        differ = f"process 0 runs perwiz {versions[0]}, process {other} runs {versions[other]}"
        raise LibraryError(f"{differ}; all must run the same")
    own = agreed(team, lambda: asked(team.size))
    whats, words = texts(team, own.what), texts(team, own.words)
    if other := _other(whats):
        if words[0] == words[other]:
            raise UsageError(f"{words[0]}: process {other} sees other files of it than process 0; all must see the same")
        differ = f"process 0 was given {words[0]}, process {other} {words[other]}"
        raise UsageError(f"{differ}; all must be given the same, but for the trace")


def _other(told: Sequence[str]) -> int:
    """Return the first process that tells something else than process 0; 0 if none does."""
    return next((rank for rank, each in enumerate(told) if each != told[0]), 0)


class Counted:
    """Counts what a process sends, by stage: messages, bytes, and how often all wait for each other."""

    def __init__(self) -> None:
        self.stage = "begin"
        self.counts: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0, 0])

    def count(self, messages: int, size: int, waits: int) -> None:
        """Count messages of so many bytes together, and times when all wait for all."""
        row = self.counts[self.stage]
        row[0] += messages
        row[1] += size
        row[2] += waits


class Mpi(Counted):
    """The processes of MPI_COMM_WORLD."""

    def __init__(self, size: int) -> None:
        super().__init__()
        try:
            from mpi4py import MPI  # which waits until all processes have done so
        except (ImportError, RuntimeError) as error:
            first, _, more = str(error).partition("\n")  # then where it looked for the library
            cure = "find libmpi.so of mpiexec (its folder in LD_LIBRARY_PATH)" if more else "be installed (pip install mpi4py)"
            why = f"mpi4py cannot be used: {first}; must {cure}, or start one process"
            raise LibraryError(f"mpiexec started {size} processes, but {why}") from None
        self._mpi, self._world = MPI, MPI.COMM_WORLD
        self.rank, self.size = self._world.Get_rank(), self._world.Get_size()
        if self.size != size:
            sees = f"mpi4py sees {self.size}: it is of another MPI ({MPI.Get_library_version().split(',')[0].strip()})"
            raise LibraryError(f"mpiexec started {size} processes, but {sees}; both must be of the same")
        self._ending = self._world.Dup()
        self._under_way: list[Any] = []
        self._sent, self._came = np.zeros((2, self.size, _BLOCK), "u1")
        (self._sizes, self._head), (self._told_sizes, self._told) = (
            (blocks[:, :_HEAD].view("i8")[:, 0], blocks[:, _HEAD:]) for blocks in (self._sent, self._came)
        )
        self._operations = {"sum": MPI.SUM, "max": MPI.MAX, "min": MPI.MIN}

    def exchange(self, data: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Return what each process has for this one, given what this one has for each."""
        kind, head, told = data[0].dtype, self._head, self._told
        rows = [np.ascontiguousarray(each, kind).view("u1") for each in data]
        for to, row in enumerate(rows):
            self._sizes[to] = len(row)
            first = row[:_ROOM]
            head[to, : len(first)] = first
        self._world.Alltoall(self._sent, self._came)
        requests = [request for to, row in enumerate(rows) if len(row) > _ROOM for request in self._more(to, row)]
        out = []
        for source, size in enumerate(self._told_sizes.tolist()):
            came = np.empty(size, "u1")
            came[:_ROOM] = told[source, :size]
            for begin in range(_ROOM, size, _MOST):
                self._world.Recv(came[begin : begin + _MOST], source=source, tag=_MORE)
            out.append(came.view(kind))
        self._mpi.Request.Waitall(requests)
        self.count(self.size - 1, sum(map(len, rows)) - len(rows[self.rank]), 1)
        return out

    def _more(self, to: int, row: NDArray[np.uint8]) -> list[Any]:
        """Send what does not fit into the first block; return the requests."""
        return [self._world.Isend(row[begin : begin + _MOST], dest=to, tag=_MORE) for begin in range(_ROOM, len(row), _MOST)]

    def reduce(self, values: NDArray[Any], how: How) -> NDArray[Any]:
        """Return, on every process, the sums or extremes of the values of all, element by element."""
        out = np.empty_like(values)
        self._world.Allreduce(np.ascontiguousarray(values), out, op=self._operations[how])
        self.count(1, values.nbytes, 1)
        return out

    def send(self, to: int, data: NDArray[Any]) -> None:
        """Send an array without waiting; it must not change before `wait_for_sends`."""
        if len(self._under_way) >= _MANY and len(self._under_way) % _MANY == 0:
            self._under_way = [(request, data) for request, data in self._under_way if not request.Test()]
        self._under_way.append((self._world.Isend((data, self._mpi.BYTE), dest=to, tag=_ONWARD), data))
        self.count(1, data.nbytes, 0)

    def receive(self, source: int, data: NDArray[Any]) -> None:
        """Wait for an array of this length and type, and fill it."""
        self._world.Recv((data, self._mpi.BYTE), source=source, tag=_ONWARD)

    def wait_for_sends(self) -> None:
        """Wait until all that was sent is on its way."""
        self._mpi.Request.Waitall([request for request, _ in self._under_way])
        self._under_way.clear()

    def end(self, why: str, code: int) -> None:
        """Come to the end together; where the others do not come, say why, and end them."""
        sys.stdout.flush()
        request, until = self._ending.Ibarrier(), time.monotonic() + _PATIENCE
        while not request.Test():
            if why and time.monotonic() > until:
                print(f"perwiz: {why} (process {self.rank} of {self.size})", file=sys.stderr, flush=True)
                time.sleep(_HEARD)
                self._world.Abort(code)
            time.sleep(_LOOK)

    def stop(self, error: BaseException) -> int:
        """Return the exit code, after ending all processes at once and saying why: this one cannot go on, and others would wait for it."""
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        if isinstance(error, MemoryError):
            what = "out of memory"
        elif isinstance(error, self._mpi.Exception):  # another process is gone
            what = f"MPI: {error}"
        elif not isinstance(error, OSError):
            traceback.print_exc()
        print(f"perwiz: process {self.rank} of {self.size}: {what}", file=sys.stderr, flush=True)
        time.sleep(_HEARD)
        self._world.Abort(BUG)
        return BUG
