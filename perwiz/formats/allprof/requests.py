"""What the calls of a process do to messages and requests. Lines tell requests by where in memory they are, and no outcome of any call.

So a request is what was posted into a place last, and it is completed by the first wait for all that names the place; where there is
none, by the last call that names it before another one is posted there: a program tests no longer than it must.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from perwiz.formats.allprof import functions
from perwiz.formats.allprof.lines import Lines
from perwiz.formats.traffic import Rows
from perwiz.kernels import records
from perwiz.kernels.recorded import ACTION
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Mask, taken
from perwiz.trace.tables import ANY, NONE

_INIT, _START, _POST, _WAIT, _MAYBE = range(5)
_KINDS = {
    **dict.fromkeys((functions.ISEND, functions.IRECV, functions.COLLECTIVE), _POST),
    **dict.fromkeys((functions.INIT_SEND, functions.INIT_RECV), _INIT),
    **dict.fromkeys((functions.MAYBE, functions.TEST), _MAYBE),
    functions.START: _START,
    functions.WAIT: _WAIT,
}
_SPARSE, _LEAST = 64, 1 << 16
"""Places that calls name, so many per call and so many more; a file that names more is damaged."""
_NAMES = ("Startall", "Waitall", "Waitany", "Waitsome", "Testall", "Testany", "Testsome")
_LISTS = np.isin(np.arange(len(operations.OPS)), [operations.OP[f"MPI_{name}"] for name in _NAMES])
_MPICH_WORLD = 0x44000000
_POINTER = 1 << 16
"""A handle from here on is an address, and so are requests of that MPI; else they are numbers of 4 bytes."""


class World(NamedTuple):
    """The world as a process sees it."""

    handle: int | None
    """What it names the world by; None: it never does."""

    @property
    def mpich(self) -> bool:
        """Whether its MPI is MPICH or one made of it, whose MPI_PROC_NULL is what others take for MPI_ANY_SOURCE, and the other way."""
        return self.handle == _MPICH_WORLD

    @property
    def stride(self) -> int:
        """Bytes of a request."""
        return 8 if self.handle is not None and not self.mpich and not 0 <= self.handle < _POINTER else 4


@dataclasses.dataclass
class Uses:
    """Which call completes what is posted."""

    posting: I8
    """Calls that post, one row a request, ascending."""
    made: I8
    """The call that said what the request does: the same, or the one that made it persistent."""
    done: I8
    """Call that completes it, -1 none."""
    tests: I8
    """Calls that found a request not complete."""
    tested: I8
    """The row of that request."""
    inferred: int
    """Requests that no wait for all names."""


def uses(lines: Lines, stride: int) -> Uses:
    """Return what becomes of the requests of a process."""
    place, call, kind = _events(lines, stride)
    order = np.lexsort((call, place))
    place, call, kind = place[order], call[order], kind[order]
    row = np.arange(len(place))
    begin = np.maximum.accumulate(np.where(np.diff(place, prepend=place[:1] - 1) != 0, row, 0)) if len(row) else row
    init = _latest(kind == _INIT, begin)
    posts = (kind == _POST) | ((kind == _START) & (init >= 0))
    post = np.where(posts, -1, _latest(posts, begin))
    made = np.where(kind == _START, init, row)
    done = np.full(len(place), NONE, "i8")
    for what, rows in ((_WAIT, slice(None, None, -1)), (_MAYBE, slice(None))):
        names = np.flatnonzero((post >= 0) & (kind == what))[rows]
        names = names[done[post[names]] < 0]
        done[post[names]] = names
    number = np.flatnonzero(posts)
    number = number[np.argsort(call[number], kind="stable")]
    request = np.full(len(place), NONE, "i8")
    request[number] = np.arange(len(number))
    tests = np.flatnonzero((post >= 0) & (kind == _MAYBE) & (lines.does[call] == functions.TEST))
    tests = tests[(done[post[tests]] > tests)]
    completed = done[number]
    inferred = int((kind[completed[completed >= 0]] == _MAYBE).sum())
    last = np.where(completed >= 0, call[completed], NONE) if len(call) else completed
    return Uses(call[number], call[made[number]], last, call[tests], request[post[tests]], inferred)


def _latest(mask: Mask, begin: I8) -> I8:
    """Return the last row of `mask` up to each row, behind where its place begins; -1 none."""
    row = np.arange(len(mask))
    last = np.maximum.accumulate(np.where(mask, row, -1)) if len(mask) else row
    return np.where(last >= begin, last, -1)


def _events(lines: Lines, stride: int) -> tuple[I8, I8, I8]:
    """Return every use of a place for a request: the place, the call, and which."""
    kinds = np.array([_KINDS.get(what, NONE) for what in range(functions.FREES + 1)])
    call = np.flatnonzero(kinds[lines.does] >= 0)
    kind, place = kinds[lines.does[call]], lines.wide["request"][call]
    listed = _LISTS[lines.op[call]]
    many = np.flatnonzero(listed)
    known = np.unique(place[(kind == _POST) | (kind == _INIT)])
    first = np.searchsorted(known, place[many])
    count = np.searchsorted(known, place[many] + lines.value["listed"][call[many]].astype("i8") * stride) - first
    count[np.cumsum(np.maximum(count, 0)) > _SPARSE * len(lines) + _LEAST] = 0
    count = np.maximum(count, 0)
    of = np.repeat(np.arange(len(many)), count)
    inside = known[first[of] + np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)]
    fits = (inside - place[many][of]) % stride == 0
    of, inside = many[of[fits]], inside[fits]
    alone = ~listed
    return tuple(np.concatenate(pair) for pair in ((place[alone], inside), (call[alone], call[of]), (kind[alone], kind[of])))  # type: ignore[return-value]


def actions(lines: Lines, found: Uses, comm: I4, peer: I4, peer2: I4) -> Rows:
    """Return what the calls do, in their order, as rows of ACTION: `call` is the row of the line.

    `comm` is the communicator of each, -1 for one that is not known, `peer` and `peer2` its partners as ranks in the world.
    """
    value, rows = lines.value, []
    size = np.minimum(value["count"].astype("i8") * value["type"], 1 << 60)
    mode = operations.MODE[lines.op].astype("i4") << records.MODE_SHIFT

    def add(call: I8, bits: int, at: I8, partner: I4, tag: I4, amount: I8 | int, request: I8 | int) -> None:
        made = np.zeros(len(call), ACTION)
        speaks = (comm[at] >= 0) & (partner != NONE)
        sends = bits & records.SENDS
        made["bits"] = np.where(speaks, bits | (mode[at] if sends else 0), bits & ~(records.SENDS | records.RECEIVES))
        made["call"], made["peer"], made["comm"], made["bytes"], made["request"] = call, partner, comm[at], amount, request
        made["tag"] = tag if sends else np.where(tag < 0, ANY, tag)
        rows.append(made[made["bits"] & records.ACTS != 0])

    for does, bits in ((functions.SEND, records.SENDS), (functions.RECV, records.RECEIVES)):
        at = np.flatnonzero(lines.does == does)
        add(at, bits, at, peer[at], value["tag"][at], size[at] if does == functions.SEND else NONE, NONE)
    at = np.flatnonzero(lines.does == functions.EXCHANGE)
    add(at, records.SENDS, at, peer[at], value["tag"][at], size[at], NONE)
    add(at, records.RECEIVES, at, peer2[at], value["tag2"][at], NONE, NONE)
    request = np.arange(len(found.posting)) + 1
    posting = (
        ((functions.ISEND, functions.INIT_SEND), records.SENDS),
        ((functions.IRECV, functions.INIT_RECV), records.RECEIVES),
        ((functions.COLLECTIVE,), 0),
    )
    for kinds, bits in posting:
        mine = np.flatnonzero(np.isin(lines.does[found.made], kinds))
        at = found.made[mine]
        amount = size[at] if bits == records.SENDS else NONE
        add(found.posting[mine], bits | records.POSTS, at, peer[at], value["tag"][at], amount, request[mine])
        ended = mine[found.done[mine] >= 0]
        at = found.made[ended]
        amount = size[at] if bits == records.SENDS else NONE
        add(found.done[ended], bits | records.DONE, at, peer[at], value["tag"][at], amount, request[ended])
    tests = np.zeros(len(found.tests), ACTION)
    tests["call"], tests["request"], tests["bits"] = found.tests, request[found.tested], records.UNSUCCESSFUL_TEST
    rows.append(tests)
    out = np.concatenate(rows)
    return taken(out, np.argsort(out["call"], kind="stable"))
