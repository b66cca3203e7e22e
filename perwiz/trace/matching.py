"""Who talked to whom: sends to receives, posts to completions. Collective calls to instances: match_collectives."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.kernels import match as kernel
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, U1, Ints, Mask, chunks
from perwiz.trace.numbers import Numbers
from perwiz.trace.tables import NONE, Messages, Requests

_BY_ID = -(1 << 62)


@dataclasses.dataclass
class Ends:
    """One side of all messages, in program order of each location: integer columns, one row a record."""

    call: Ints
    """Call that sends, or that posts the receive."""
    done: Ints
    """Call that completes it, or -1 unknown."""
    rank: Ints
    """Own rank in MPI_COMM_WORLD."""
    peer: Ints
    tag: Ints
    comm: Ints
    bytes: Ints
    id: Ints | None = None
    """Message number both sides carry, or -1; None if no message has one."""


def fifo(sent: Sequence[Ints], received: Sequence[Ints]) -> I4:
    """Return, per receive, the row of the send it takes, or -1: first in, first out among equal keys (four integer columns each)."""
    if all(column.dtype == np.int32 for column in (*sent, *received)):
        channels = Numbers()
        sends, receives = (_numbered_by(channels, side) for side in (sent, received))
    else:
        channels, first, second = Numbers(), Numbers(), Numbers()
        sends, receives = (channels.of(first.of(*side[:2]), second.of(*side[2:])) for side in (sent, received))
    out = np.empty(len(receives), "i4")
    kernel.match(sends, receives, np.empty(channels.count, "i4"), np.empty(len(sends), "i4"), out)
    return out


def _numbered_by(channels: Numbers, side: Sequence[Ints]) -> I4:
    """Return the numbers of channels of four columns of int32: two fit into one word."""
    out = np.empty(len(side[0]), "i4")
    for piece in chunks(len(out)):
        words = np.stack([column[piece] for column in side], axis=1).view("i8")
        out[piece] = channels.of(words[:, 0], words[:, 1])
    return out


def messages(sends: Ends, receives: Ends, mode: U1, equal: bool = False) -> tuple[Messages, int]:
    """Return the matched messages, sorted by sending call, and how many pairs have ends of different size; no messages, if `equal`.

    Matching is first in, first out per (sender, receiver, tag, communicator) in the order receives were posted; records that
    carry a message number are matched by sender, receiver and that. The receiver's size counts (MPI 3.1, 3.5; FORMATS of ALOG:
    actual bytes). The ends are used up.
    """
    by_id = any(ends.id is not None and bool((ends.id != NONE).any()) for ends in (sends, receives))
    by = _receive_of_each(sends, receives, by_id)
    s: slice | I8 = slice(None)
    if not ((by >= 0).all() and is_sorted(sends.call)):
        s = np.flatnonzero(by >= 0)
        s = s[np.argsort(sends.call[s], kind="stable")]
    if equal and (wrong := _contradicting(sends, receives, by, s)).any():
        s = (np.arange(len(by)) if isinstance(s, slice) else s)[~wrong]
    else:
        wrong = np.zeros(0, bool)
    r = by[s]
    del by
    table = Messages(
        *(_i4(sends.call[s]), _i4(sends.done[s]), _i4(receives.call[r]), _i4(receives.done[r])),
        *(_i4(sends.tag[s]), np.maximum(_i4(sends.comm[s]), np.int32(NONE)), mode[s], receives.bytes[r].astype("i8", copy=False)),
    )
    return table, int(wrong.sum()) if equal else int((sends.bytes[s] != table.bytes).sum())


def _contradicting(sends: Ends, receives: Ends, by: I4, s: slice | I8) -> Mask:
    """Return which of the sends `s` went to a receive of another size."""
    return np.asarray(sends.bytes[s] != receives.bytes[by[s]], bool)


def _receive_of_each(sends: Ends, receives: Ends, by_id: bool) -> I4:
    """Return the receive that takes each send, or -1. Who takes part, and what of receives says which, is forgotten."""
    sent, received = _key(sends, sends.rank, sends.peer, by_id), _key(receives, receives.peer, receives.rank, by_id)
    sends.rank = sends.peer = receives.rank = receives.peer = receives.tag = receives.comm = np.empty(0, "i4")
    if is_sorted(receives.call):
        taken = fifo(sent, received)
    else:
        order = np.argsort(receives.call, kind="stable")
        taken = np.empty(len(order), "i4")
        taken[order] = fifo(sent, [column[order] for column in received])
    by = np.full(len(sends.call), NONE, "i4")
    for piece in chunks(len(taken)):
        found = np.flatnonzero(taken[piece] >= 0)
        by[taken[piece][found]] = found + piece.start
    return by


def _i4(column: Ints) -> I4:
    return column.astype("i4", copy=False)


def is_sorted(column: Ints) -> bool:
    """Return whether no row is less than the one before it."""
    return bool((column[1:] >= column[:-1]).all())


def _key(ends: Ends, sender: Ints, receiver: Ints, by_id: bool) -> list[Ints]:
    if not by_id:
        return [sender, receiver, ends.tag, ends.comm]
    number = ends.id if ends.id is not None else np.full(len(sender), NONE)
    named = number != NONE
    return [sender, receiver, np.where(named, number, ends.tag), np.where(named, _BY_ID, ends.comm)]


def requests(posted: I8, posted_location: I8, posted_id: I8, completed: I8, completed_location: I8, completed_id: I8) -> Requests:
    """Return one row per posted request: the k-th posting of an id on a location goes with the k-th completion of it.

    Completions that come when nothing of that id is left to complete belong to no request.
    """
    at = np.argsort(posted, kind="stable")
    then = np.argsort(completed, kind="stable")
    number = Numbers()
    first, second = number.of(posted_location[at], posted_id[at]), number.of(completed_location[then], completed_id[then])
    then = then[_possible(first, posted[at], second, completed[then])]
    zeros = np.zeros(max(len(at), len(then)), "i1")
    taken = fifo(
        [posted_location[at], posted_id[at], zeros[: len(at)], zeros[: len(at)]],
        [completed_location[then], completed_id[then], zeros[: len(then)], zeros[: len(then)]],
    )
    by = np.full(len(at), NONE, "i4")
    found = taken >= 0
    by[taken[found]] = completed[then[found]]
    return Requests(posted[at].astype("i4"), by, np.zeros(len(by), "u1"))


def _possible(posted: I4, post: I8, completed: I4, completion: I8) -> Mask:
    """Return which completions find a request of their number that is posted and not yet completed."""
    number = np.concatenate([posted, completed])
    change = np.repeat([1, -1], [len(posted), len(completed)])
    order = np.lexsort((-change, np.concatenate([post, completion]), number))
    sum_so_far = np.cumsum(change[order])
    head = np.flatnonzero(np.diff(number[order], prepend=-1))
    size = np.diff(np.append(head, len(order)))
    left = sum_so_far - np.repeat(sum_so_far[head] - change[order][head], size)
    # One running minimum for all numbers: each lies below everything of the number before.
    drop = np.repeat(np.arange(len(head)) * (2 * len(order) + 1), size)
    lowest = np.minimum(np.minimum.accumulate(left - drop) + drop, 0)
    before = np.concatenate([[0], lowest[:-1]])[: len(order)]
    before[head] = 0
    out = np.empty(len(order), bool)
    out[order] = lowest == before
    return out[len(posted) :]


def completions(op: U1, requests: Requests) -> I4:
    """Return the call that completes what each call starts: itself, or the one that completes its request; -1 unknown."""
    out = np.arange(len(op), dtype="i4")
    out[operations.NONBLOCKING[op]] = NONE
    out[requests.posted_by] = requests.completed_by
    return out
