"""What the text files of a recorded run say: the marker, a line per definition, the places of calls. One record per kind.

A new kind of line is a subclass of Definition, known by its first field. Fields that a record does not list, and lines of no known kind,
are skipped: an older perwiz reads what a newer one recorded.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from perwiz.formats.typed import Mistyped, parsed, typed

MOST_PROCESSES = 1 << 22
"""Processes of a run: more is a damaged number."""
MOST_RANKS = 1 << 24
"""Members of all communicators of one process, together: likewise."""
MOST_PROCESSORS = 1 << 16
"""Processors of a node: likewise."""
Time = Annotated[int, Meta(ge=-(1 << 61), le=1 << 61)]
"""Nanoseconds; the difference of two fits 64 bits."""
Int = Annotated[int, Meta(ge=-(1 << 31), le=(1 << 31) - 1)]
Natural = Annotated[int, Meta(ge=0, le=(1 << 31) - 1)]
Positive = Annotated[int, Meta(ge=1, le=(1 << 31) - 1)]
Address = Annotated[int, Meta(ge=0)]


class Marker(msgspec.Struct):
    """run.json."""

    format: str
    version: int
    token: str = ""


class Definition(msgspec.Struct, frozen=True):
    """A line of the definitions of one process."""


class About(Definition, frozen=True):
    """The first line: what the process is."""

    process: Natural
    processes: Annotated[int, Meta(ge=1, le=MOST_PROCESSES)]
    begun: Time
    real: tuple[Time, Time]
    """One moment by the clock of the process and by that of the system."""
    clock: str
    """Processes of the same have one clock."""
    cpu: Int
    metahost: Int
    metahost_name: str
    host: str
    mpi: str
    program: list[str]
    operations: Annotated[list[str], Meta(max_length=1 << 16)]
    """What the records name by its number."""
    threads: bool = False
    """Whether its threads were recorded, too."""
    first: Natural = 0
    """The first process of its world: one that others spawned has a world of its own."""
    processors: list[Int] = []
    """Those of its node that it may run on, as runs: first, step, count, first, step, count ...; none if nobody told."""

    def __post_init__(self) -> None:
        if not self.first <= self.process < self.end <= MOST_PROCESSES:
            raise ValueError(f"process is {self.process}, must be one of the {self.processes} from {self.first} on")
        for name in ("flush", "begin", "end"):
            if name not in self.operations:
                raise ValueError(f"operations lacks {name!r}, must have it")
        if len(self.processors) % 3:
            raise ValueError(f"processors has {len(self.processors)} numbers, must have three per run: first, step and count")
        for first, step, count in _runs(self.processors):
            if min(first, step - 1, count - 1) < 0 or first + step * (count - 1) >= MOST_PROCESSORS:
                raise ValueError(f"processors has a run {first},{step},{count}, must be of numbers from 0 to {MOST_PROCESSORS - 1}")

    @property
    def end(self) -> int:
        """The end of the processes of its world."""
        return self.first + self.processes

    @property
    def allowed(self) -> int:
        """The processors as the bits of a number."""
        return sum(1 << number for first, step, count in _runs(self.processors) for number in range(first, first + step * count, step))


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Return the runs, each (first, step, count)."""
    return zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)


class Communicator(Definition, frozen=True):
    """A communicator, as this process numbers them. How it was made, from which parent, and the count say which it is of all members."""

    comm: Natural
    parent: Annotated[int, Meta(ge=-1, le=(1 << 31) - 1)]
    nth: Int
    how: str
    ranks: Annotated[tuple[Int, ...], Meta(min_length=3)]
    """Runs of ranks of the world: first, step, count, first, step, count ...; -1 is a process of another world."""
    remote: tuple[Int, ...] = ()
    """The other group of an intercommunicator."""
    sizes: tuple[Positive, ...] = ()
    periodic: tuple[int, ...] = ()
    place: tuple[Natural, ...] = ()
    """That of this process in a Cartesian arrangement."""

    def __post_init__(self) -> None:
        if self.parent >= self.comm:
            raise ValueError(f"parent is {self.parent}, must be below {self.comm}, the number of the communicator")
        if not (self.sizes or self.periodic or self.place):
            return
        if len(self.periodic) != len(self.sizes) or len(self.place) != len(self.sizes):
            raise ValueError(f"place is {list(self.place)}, must be in sizes, {list(self.sizes)}, and periodic as long")
        for place, size in zip(self.place, self.sizes, strict=True):
            if place >= size:
                raise ValueError(f"place is {list(self.place)}, must be in sizes, {list(self.sizes)}")

    def count(self, number: int, end: int, most: int = MOST_RANKS) -> int:
        """Return how many members there are. Raises Mistyped unless it has this number, and they are ranks before this end."""
        if self.comm != number:
            raise Mistyped(f"comm is {self.comm}, must be {number}: they are numbered from 0 on")
        members = _members("ranks", self.ranks, end) + _members("remote", self.remote, end)
        if members > most:
            raise Mistyped(f"ranks has more members, with those before, than {MOST_RANKS}, must have fewer")
        return members


@functools.lru_cache(16)
def _members(name: str, runs: tuple[int, ...], end: int) -> int:
    """Return how many ranks there are in runs, those of a field. Raises Mistyped unless they are before this end; many have the same."""
    if len(runs) % 3:
        raise Mistyped(f"{name} has {len(runs)} numbers, must have three per run: first, step and count")
    for first, step, count in _runs(runs):
        ends = first, first + step * (count - 1)
        if count < 1 or min(ends) < -1 or max(ends) >= end:
            raise Mistyped(f"{name} has a run {first},{step},{count}, must be of ranks below {end}")
    return sum(runs[2::3])


class Named(Definition, frozen=True):
    """The name a communicator was given."""

    named: Natural
    name: str


class Module(Definition, frozen=True):
    """Where the code of a file lies in memory."""

    module: str
    bias: Address
    build_id: str
    begin: Address
    end: Address


class Region(Definition, frozen=True):
    """A user region."""

    region: Natural
    parallel: bool
    name: str
    placed: bool = False
    """The name goes on with the place where it begins."""


class Comparison(Definition, frozen=True):
    """One comparison with the clock of another process."""

    offset: Time
    time: Time
    round_trip: Time
    master: Int


class Counted(Definition, frozen=True):
    """What is counted as calls and regions begin and end, in the order of the values."""

    counters: Annotated[list[str], Meta(min_length=1, max_length=64)]


KINDS: dict[str, type[Definition]] = {kind.__struct_fields__[0]: kind for kind in Definition.__subclasses__()}
_DECODERS = {key: msgspec.json.Decoder(kind) for key, kind in KINDS.items()}
_FIRST = re.compile(r'\{"(\w+)":')


class Places(msgspec.Struct):
    """An element of sites.json: the texts of the places in one module, by their offsets."""

    module: str
    build_id: str
    places: dict[Address, str]


def definition(line: str) -> Definition | None:
    """Return the definition of a line, None if it is of no known kind.

    Raises NoJson if it is no JSON, Mistyped if it breaks a rule of its kind.
    """
    decoder = _DECODERS.get(first_key(line))
    if decoder:
        with contextlib.suppress(msgspec.MsgspecError, UnicodeEncodeError, RecursionError):  # what is wrong is told below
            return decoder.decode(line)
    value = parsed(line)
    key = next((key for key in typed(value, dict[str, Any]) if key in KINDS), "")
    return typed(value, KINDS[key]) if key else None


def first_key(line: str) -> str:
    """Return the first field of a line as perwiz record writes them; empty for a line that begins in another way."""
    match = _FIRST.match(line)
    return match[1] if match else ""
