"""Who talked to whom: sends to receives, posts to completions, releases of a lock to who has it then. Collective calls to instances:
matching_collectives.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from perwiz.kernels import match as kernel
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, U1, U2, Ints, Mask, chunks
from perwiz.trace.numbers import Numbers
from perwiz.trace.tables import NONE, Messages, Requests

_BY_ID = np.int64(-(1 << 62))


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
    inside: I8 | None = None
    """Nanoseconds that its record is inside its call: from the entry of the call that sends, to the return of the one that completes."""

    def take(self, rows: Mask) -> Ends:
        """Return some of them."""
        columns = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        taken: dict[str, Any] = {name: column[rows] for name, column in columns.items() if column is not None}
        return Ends(**taken)


def fifo(sent: Sequence[Ints], received: Sequence[Ints]) -> I4:
    """Return, per receive, the row of the send it takes, or -1: first in, first out among equal keys (four integer columns each)."""
    channels = Numbers()
    if all(column.dtype == np.int32 for column in (*sent, *received)):
        sends, receives = (_numbered_by(channels, side) for side in (sent, received))
    else:
        first, second = Numbers(), Numbers()
        sends, receives = (channels.number(first.number(*side[:2]), second.number(*side[2:])) for side in (sent, received))
    return _match(sends, receives, channels.count)


def _match(sends: I4, receives: I4, channels: int) -> I4:
    """Return, per receive, the row of the send it takes, or -1, given the channel of each."""
    out = np.empty(len(receives), "i4")
    kernel.match(sends, receives, np.empty(channels, "i4"), np.empty(len(sends), "i4"), out)
    return out


def _numbered_by(channels: Numbers, side: Sequence[I4]) -> I4:
    """Return the numbers of channels of four columns of int32: two fit into one word."""
    out = np.empty(len(side[0]), "i4")
    for chunk in chunks(len(out)):
        words = np.stack([column[chunk] for column in side], axis=1).view("i8")
        out[chunk] = channels.number(words[:, 0], words[:, 1])
    return out


def messages(sends: Ends, receives: Ends, mode: U1, equal: bool = False, enter: I8 | None = None) -> tuple[Messages, int]:
    """Return the matched messages, sorted by sending call, and how many pairs have ends of different size; no messages, if `equal`.

    Matching is first in, first out per (sender, receiver, tag, communicator) in the order receives were posted: the program order or, of
    several threads of a process, that in which the calls were entered, if `enter` says when every call was. Records that
    carry a message number are matched by sender, receiver and that. The receiver's size counts (MPI 3.1, 3.5; FORMATS of ALOG:
    actual bytes).
    """
    receive = receive_of_each(sends, receives, enter)
    matched: slice | I8 = slice(None)
    if not ((receive >= 0).all() and is_sorted(sends.call)):
        matched = np.flatnonzero(receive >= 0)
        matched = matched[np.argsort(sends.call[matched], kind="stable")]
    differs = sends.bytes[matched] != receives.bytes[receive[matched]]
    if equal and differs.any():
        matched = np.arange(len(receive))[matched][~differs]
    receive = receive[matched]
    table = Messages(
        send=_i4(sends.call[matched]),
        send_done=_i4(sends.done[matched]),
        receive=_i4(receives.call[receive]),
        receive_done=_i4(receives.done[receive]),
        tag=_i4(sends.tag[matched]),
        comm=np.maximum(_i4(sends.comm[matched]), np.int32(NONE)),
        mode=mode[matched],
        bytes=receives.bytes[receive].astype("i8", copy=False),
        sent_after=_inside(sends, matched),
        received_before=_inside(receives, receive),
    )
    return table, int(differs.sum())


def _inside(ends: Ends, rows: slice | I4 | I8) -> I8:
    """Return how far inside their calls the records of some ends are; zeros, whose memory nobody touches, where nobody said."""
    return np.zeros(len(ends.call[rows]), "i8") if ends.inside is None else ends.inside[rows]


def receive_of_each(sends: Ends, receives: Ends, enter: I8 | None = None) -> I4:
    """Return the receive that takes each send, or -1; `enter` as of `messages`."""
    by_id = any(ends.id is not None and bool((ends.id != NONE).any()) for ends in (sends, receives))
    sent, received = _key(sends, sends.rank, sends.peer, by_id), _key(receives, receives.peer, receives.rank, by_id)
    order = slice(None) if enter is None else _in_order(sends.call, enter)
    posted = _in_order(receives.call, enter)
    found = fifo([column[order] for column in sent], [column[posted] for column in received])
    taken = np.empty(len(receives.call), "i4")
    taken[posted] = found if isinstance(order, slice) else np.append(order, NONE)[found]
    out = np.full(len(sends.call), NONE, "i4")
    for chunk in chunks(len(taken)):
        rows = chunk.start + np.flatnonzero(taken[chunk] >= 0)
        out[taken[rows]] = rows
    return out


def _in_order(call: Ints, enter: I8 | None) -> slice | I8:
    """Return the order that sorts records by when their call was entered, if that is said, and by call; a slice if they are so."""
    if enter is not None:
        return np.lexsort((call, enter[call]))
    return slice(None) if is_sorted(call) else np.argsort(call, kind="stable")


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
    posts, completions = np.argsort(posted, kind="stable"), np.argsort(completed, kind="stable")
    numbers = Numbers()
    post_number = numbers.number(posted_location[posts], posted_id[posts])
    number = numbers.number(completed_location[completions], completed_id[completions])
    used = _finds_open(post_number, posted[posts], number, completed[completions])
    completions = completions[used]
    post = _match(post_number, number[used], numbers.count)
    completed_by = np.full(len(posts), NONE, "i4")
    completed_by[post[post >= 0]] = completed[completions[post >= 0]]
    return Requests(posted[posts].astype("i4"), completed_by, np.zeros(len(posts), "u1"))


def _finds_open(post_number: I4, post: I8, number: I4, completion: I8) -> Mask:
    """Return which completions find a request of their number that is posted and not yet completed.

    Postings add one to what is open, completions take one off. One that takes it below all before it, and below 0, finds nothing:

        call                 1 completes  2 posts  4 completes  6 completes
        open, if all count       -1          0         -1           -2
        lowest so far            -1         -1         -1           -2       so only the completion at 4 finds one
    """
    numbers = np.concatenate([post_number, number])
    change = np.repeat([1, -1], [len(post_number), len(number)])
    order = np.lexsort((-change, np.concatenate([post, completion]), numbers))
    total = np.cumsum(change[order])
    head = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    size = np.diff(np.append(head, len(order)))
    still_open = total - np.repeat(total[head] - change[order][head], size)
    # One running minimum for all numbers: each lies below everything of the number before.
    drop = np.repeat(np.arange(len(head)) * (2 * len(order) + 1), size)
    lowest = np.minimum(np.minimum.accumulate(still_open - drop) + drop, 0)
    lowest_before = np.concatenate([[0], lowest[:-1]])[: len(order)]
    lowest_before[head] = 0
    out = np.empty(len(order), bool)
    out[order] = lowest == lowest_before
    return out[len(post_number) :]


def completions(op: U2, requests: Requests) -> I4:
    """Return the call that completes what each call starts: itself, or the one that completes its request; -1 unknown."""
    out = np.arange(len(op), dtype="i4")
    out[operations.NONBLOCKING[op]] = NONE
    out[requests.posted_by] = requests.completed_by
    return out


def handed_over(lock: Ints, location: Ints, asked: Mask, released: Mask, entered: I8, left: I8) -> tuple[I8, I8]:
    """Return (rows that release, rows that have the lock then) of calls on locks in program order, `entered` and `left` in ns.

    Who had a lock lets the next one have it: by the times when they had it. It releases it with its next call on that lock; where it does
    not, the last release by another before the next one has it counts.

    lock      7 7 7 7
    location  0 0 1 1
    asked     1 0 1 0
    left      5 9 4 5      1 had it first: row 3, row 0
    """
    both = np.flatnonzero(asked | released)
    both = both[np.lexsort((both, location[both], lock[both]))]
    pair = asked[both[:-1]] & released[both[1:]] & (lock[both[:-1]] == lock[both[1:]]) & (location[both[:-1]] == location[both[1:]])
    release, before = (np.full(len(lock), NONE, "i8") for _ in range(2))
    release[both[:-1][pair]] = both[1:][pair]
    others = released.copy()
    others[both[1:][pair]] = False
    held, by_others = np.flatnonzero(asked), np.flatnonzero(others)
    order = np.concatenate([held, by_others])
    order = order[np.lexsort((np.append(left[held], entered[by_others]), lock[order]))]
    held = order[asked[order]]
    before[held[1:]] = np.where(lock[held[1:]] == lock[held[:-1]], release[held[:-1]], NONE)
    last, this = order[:-1], order[1:]
    given = others[last] & asked[this] & (lock[last] == lock[this]) & (before[this] == NONE)
    before[this[given]] = last[given]
    held = held[before[held] != NONE]
    return before[held], held
