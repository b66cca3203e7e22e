"""Which calls of a location keep their order, apart from what the graph says: requests, messages and collectives that must not overtake.

- Calls that post, test or complete the same request keep their order.
- Sends of a location to one receiver with one tag and communicator keep their order, and so do the receives of such messages, as posted
  (MPI 3.1, 3.5: messages do not overtake); of receives that take any source or tag, those that some message would fit both.
- Collectives of one communicator keep their order (MPI 3.1, 5.1).
- MPI_Init and MPI_Finalize keep theirs with all calls. So do among each other the calls of windows, those of files, persistent
  requests made, started and freed, buffers attached and used; and the calls that make or free communicators, with each other and with all
  calls on a communicator other than the world.

Whether a call needs data that another one received is not recorded: nothing else ties them here. Where a trace does tell which calls need
which, none is moved: what it tells has gone into the order of its calls.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.errors import UsageError
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Ints, Mask
from perwiz.trace.tables import ANY, NONE
from perwiz.trace.trace import NEEDS, Trace

REQUEST, SEND, RECEIVE, COLLECTIVE, SYSTEM = range(5)
REASONS = (
    "they belong to the same request",
    "they send to the same process with the same tag, and messages must not overtake (MPI 3.1, 3.5)",
    "a message could match both receives, and the one posted first takes it (MPI 3.1, 3.5)",
    "collectives of one communicator keep their order on all processes (MPI 3.1, 5.1)",
    "they may share what no trace shows: start or end of MPI, threads, devices, communicators, windows, files, buffers",
)
"""Why two calls keep their order, per kind of rule."""


def _listed(*starts: str) -> Mask:
    return np.array([name[4:].startswith(starts) for name in operations.OPS])


_ENDS = (_listed("Init", "Finalize", "Abort") & ~_listed("Initialized", "Finalized")) | ~operations.MPI
_MAKES = _listed(
    "Comm_dup",
    "Comm_create",
    "Comm_split",
    "Comm_idup",
    "Comm_free",
    "Cart_create",
    "Cart_sub",
    "Graph_create",
    "Dist_graph_create",
    "Intercomm_create",
    "Intercomm_merge",
)
_GROUPS = (
    _listed("Win_", "Put", "Get", "Accumulate", "Rput", "Rget", "Raccumulate", "Fetch_and_op", "Compare_and_swap")
    & ~_listed("Get_processor_name", "Get_count", "Get_elements"),
    _listed("File_"),
    _listed("Send_init", "Bsend_init", "Ssend_init", "Rsend_init", "Recv_init", "Start", "Request_free"),
    _listed("Buffer_", "Bsend", "Ibsend"),
)
"""Calls that share a state the trace does not show."""
_RECEIVES = np.isin(operations.KIND, (operations.RECV, operations.IRECV))


def check_movable(trace: Trace, text: str) -> None:
    """Raise UsageError, which begins with `text`, if the calls of a trace keep their order because it tells which need which."""
    if why := why_fixed(trace):
        raise UsageError(f"{text}: {why}")


def why_fixed(trace: Trace) -> str:
    """Return in words why no call of a trace may be moved; empty if some may."""
    told = trace.properties.get(NEEDS)
    return f"{told}: no call is moved ahead of another" if told else ""


@dataclasses.dataclass(frozen=True, eq=False)
class Rules:
    """Entries that say: of calls with the same key, each keeps behind the one before; for some calls of one location."""

    call: I8
    """Row of calls, ascending within a key."""
    key: I8
    """Number of the key, ascending."""
    kind: I8
    """Why, row of REASONS."""

    def before(self, first: int, last: int) -> tuple[int, int]:
        """Return (call, kind of rule): the last call before `first` that the calls first .. last must stay behind; -1 if none."""
        inside = (self.call >= first) & (self.call <= last)
        previous = np.flatnonzero(inside[1:] & ~inside[:-1] & (self.key[1:] == self.key[:-1]) & (self.call[:-1] < first))
        if not len(previous):
            return NONE, NONE
        last_row = previous[self.call[previous].argmax()]
        return int(self.call[last_row]), int(self.kind[last_row])

    def broken(self, new: I8) -> tuple[int, int, int] | None:
        """Return (earlier call, later call, kind) of one rule that the order `new`, a row per call, breaks; None if it breaks none."""
        broken = np.flatnonzero((self.key[1:] == self.key[:-1]) & (new[self.call[1:]] < new[self.call[:-1]]))
        return (int(self.call[broken[0]]), int(self.call[broken[0] + 1]), int(self.kind[broken[0]])) if len(broken) else None


class _Entries:
    """Collects rules: calls with a key of several numbers each."""

    def __init__(self) -> None:
        self._parts: list[tuple[Ints, list[Ints], int]] = []

    def add(self, kind: int, call: Ints, *key: Ints | int) -> None:
        self._parts.append((call, [np.broadcast_to(np.asarray(part, "i8"), (len(call),)) for part in key], kind))

    def whole(self) -> Rules:
        width = 1 + max(len(key) for _, key, _ in self._parts)
        calls = [call for call, _, _ in self._parts]
        columns = [np.concatenate(calls)]
        for k in range(width):
            parts = [key[k] if k < len(key) else np.zeros(len(call), "i8") for call, key, _ in self._parts]
            columns.append(np.concatenate(parts))
        kind = np.repeat([kind for _, _, kind in self._parts], [len(call) for call in calls])
        part = np.repeat(np.arange(len(self._parts)), [len(call) for call in calls])
        order = np.lexsort([columns[0], *columns[1:], part])
        sorted_ = [column[order] for column in (part, *columns[1:])]
        fresh = np.zeros(len(order), bool)
        for column in sorted_:
            fresh[1:] |= column[1:] != column[:-1]
        return Rules(columns[0][order].astype("i8"), np.cumsum(fresh), kind[order])


def find_rules(trace: Trace, location: int, both: bool = False) -> Rules:
    """Return what ties the calls of a location; `both`: only what holds even if the partners change their order as well."""
    lo, hi = trace.first_calls[location : location + 2]
    out, calls, messages, members = _Entries(), trace.calls, trace.messages, trace.members
    _add_requests(trace, out, lo, hi)
    _add_system(trace, out, lo, hi)
    _add_wildcards(trace, out, lo, hi)
    if not both:
        sent = np.flatnonzero((messages.send >= lo) & (messages.send < hi))
        receiver = calls.location[messages.receive[sent]]
        out.add(SEND, messages.send[sent], receiver, messages.tag[sent], messages.comm[sent])
        received = np.flatnonzero((messages.receive >= lo) & (messages.receive < hi))
        sender = calls.location[messages.send[received]]
        out.add(RECEIVE, messages.receive[received], sender, messages.tag[received], messages.comm[received])
        joined = np.flatnonzero((members.call >= lo) & (members.call < hi))
        out.add(COLLECTIVE, members.call[joined], trace.collectives.comm[members.collective[joined]])
    return out.whole()


def _add_requests(trace: Trace, out: _Entries, lo: int, hi: int) -> None:
    requests, unfinished = trace.requests, trace.unfinished
    row = np.flatnonzero((requests.posted_by >= lo) & (requests.posted_by < hi))
    done = row[requests.completed_by[row] != NONE]
    tested = np.flatnonzero((unfinished.call >= lo) & (unfinished.call < hi))
    call = np.concatenate([requests.posted_by[row], requests.completed_by[done], unfinished.call[tested]])
    out.add(REQUEST, call, np.concatenate([row, done, unfinished.request[tested]]))


def _add_system(trace: Trace, out: _Entries, lo: int, hi: int) -> None:
    op, comm = trace.calls.op[lo:hi], trace.calls.comm[lo:hi]
    for number, group in enumerate(_GROUPS):
        out.add(SYSTEM, lo + np.flatnonzero(group[op]), number)
    _add_borders(out, lo, _ENDS[op], np.ones(hi - lo, bool), len(_GROUPS))
    _add_borders(out, lo, _MAKES[op], comm > 0, len(_GROUPS) + hi - lo + 1)


def _add_borders(out: _Entries, lo: int, border: Mask, bound: Mask, number: int) -> None:
    """Tie the calls on each side of a border to the border, but not to each other: a key per pair of neighbouring borders."""
    borders = np.flatnonzero(border)
    if not len(borders):
        return
    out.add(SYSTEM, lo + borders, number)
    between = np.flatnonzero(bound & ~border)
    for step, calls, neighbours in _neighbours(borders, between):
        pair = number + 1 + 2 * np.arange(len(calls)) + step
        out.add(SYSTEM, np.concatenate([lo + calls, lo + neighbours]), np.concatenate([pair, pair]), step)


def _neighbours(fixed: I8, others: I8) -> list[tuple[int, I8, I8]]:
    """Return (0, those with one of the fixed before them, the last such), (1, those with one behind them, the first such); all ascend.

    2 5 fixed, others 1 3 4 7 -> (0, 3 4 7, 2 2 5) and (1, 1 3 4, 2 5 5).
    """
    side = np.searchsorted(fixed, others)
    return [(step, others[has], fixed[side[has] - 1 + step]) for step, has in ((0, side > 0), (1, side < len(fixed)))]


def _add_wildcards(trace: Trace, out: _Entries, lo: int, hi: int) -> None:
    """Tie receives of any source or tag to all receives that some message would fit as well, by patterns: few in any program."""
    calls = trace.calls
    rows = lo + np.flatnonzero(_RECEIVES[calls.op[lo:hi]])
    peer, tag, comm = calls.peer[rows], calls.tag[rows], calls.comm[rows]
    wild = (peer == ANY) | (tag == ANY)
    patterns = np.unique(np.stack([peer[wild], tag[wild], comm[wild]], 1), axis=0)
    for number, (source, which, group) in enumerate(patterns.tolist()):
        fits = (peer == source) | (peer == ANY) | (source == ANY)
        fits &= (tag == which) | (tag == ANY) | (which == ANY)
        posted = (peer == source) & (tag == which) & (comm == group)
        out.add(RECEIVE, rows[posted], number, 0)
        for step, receives, neighbours in _neighbours(rows[posted], rows[fits & (comm == group) & ~posted]):
            pair = 1 + np.arange(len(receives))
            out.add(RECEIVE, np.concatenate([receives, neighbours]), number, np.concatenate([pair, pair]) * 2 + step)
