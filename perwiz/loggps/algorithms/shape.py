"""The shape of one collective: the messages of an algorithm as a small graph, without times and without costs.

Vertex k < processes is the entry of the k-th process counted from the root (or from rank 0), each other one a process behind one of its
rounds. What each edge costs is one word below, so many times, for so many bytes. Rounds in which all do the same, a ring or exchanges in
pairs, take no vertex each: what they come to is known. Where messages share links it is not, and each is there (`EachMessage`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perwiz.trace.arrays import I8, Ints

MESSAGE, HELD, SEND, RECEIVE, TAKE, EXCHANGE, PASS, LATE, FREE, POST = range(10)
"""What an edge costs. MESSAGE: from when its sender can send until its receiver goes on. HELD: from when its receiver is there until the
sender of a synchronous message goes on; other messages have no such edge. SEND, RECEIVE, EXCHANGE: what a process that waits for nobody
has to do to send, to receive, and for both at once; TAKE and PASS: the same of RECEIVE and EXCHANGE where the receive was posted long
before. LATE: what a MESSAGE takes more than an EXCHANGE. FREE: nothing. POST: overheads of a send and a receive, no byte on the way."""
FARTHEST = -1
"""In place of a process: the pair is of the widest class that the processes have."""


class Edges(NamedTuple):
    """Edges of a shape; int64 columns."""

    source: I8
    target: I8
    """Larger than the source."""
    cost: I8
    """MESSAGE to FREE."""
    times: I8
    bytes: I8
    sender: I8
    """Process of the pair, or FARTHEST."""
    receiver: I8
    own: I8
    """The process that itself has this to do, -1 of edges between processes."""


class Messages(NamedTuple):
    """The messages of a shape, and which edges depend on them; int64 columns, numbers of edges."""

    edge: I8
    """By which it lets its receiver go on."""
    own: I8
    """What its receiver has to do meanwhile, from when it takes it."""
    held: I8
    """By which it lets its sender go on, if it is synchronous."""
    sends: I8
    """What its sender has to do meanwhile."""
    posts: I8
    """One that begins where its receive is posted."""
    sender: I8
    receiver: I8
    bytes: I8


class Shape:
    """A shape that grows round by round.

    s = Shape(3)                     0     1     2       entries
    s.send([0], [2], 8)              3           4       0 -> 3 SEND, 2 -> 4 RECEIVE, 0 -> 4 MESSAGE, 2 -> 3 HELD
    s.now                            3     1     4
    """

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self.now = np.arange(processes, dtype="i8")
        """The last vertex of each process."""
        self.vertices = processes
        self._parts: list[Edges] = []
        self._count = 0
        self._posted = np.full(processes, -1, "i8")
        """Per process the first of its edges since it takes what it posted receives for at once, -1: it does not."""

    def edges(self) -> Edges:
        """Return all edges, by target."""
        whole = [np.concatenate(column) for column in zip(*self._parts, strict=True)]
        order = np.argsort(whole[1], kind="stable")
        return Edges(*(column[order] for column in whole))

    def send(self, sender: Ints | list[int], receiver: Ints | list[int], size: Ints | int, take: int = RECEIVE) -> None:
        """Add a round: each of some processes sends `size` bytes to one, each at most one message; a process may send and receive.

        `take` is what receiving costs, TAKE where all receives are posted at once.
        """
        sender, receiver = np.asarray(sender, "i8"), np.asarray(receiver, "i8")
        size = np.broadcast_to(np.asarray(size, "i8"), sender.shape)
        taking = np.union1d(sender, receiver)
        sending, receiving = np.searchsorted(taking, sender), np.searchsorted(taking, receiver)
        sends, receives = np.full((2, len(taking)), -1, "i8")
        sends[sending], receives[receiving] = size, size
        both = (sends >= 0) & (receives >= 0)
        cost = np.where(both, EXCHANGE, np.where(sends >= 0, SEND, take))
        to, of = np.full((2, len(taking)), FARTHEST, "i8")
        to[sending], of[receiving] = receiver, sender
        partner = np.where(receives >= 0, of, to)
        before, now = self.now[taking], self._made(len(taking))
        own = self._add(before, now, cost, 1, np.maximum(sends, receives), partner, taking, taking)
        edge = self._add(before[sending], now[receiving], MESSAGE, 1, size, sender, receiver, -1)
        held = self._add(before[receiving], now[sending], HELD, 1, size, sender, receiver, -1)
        self.now[taking] = now
        begun = self._posted[taking] if take == TAKE else np.full(len(taking), -1)
        posts = self._posted[taking] = np.where(begun < 0, own, begun)
        if take != TAKE:
            self._posted[taking] = -1
        self._note(Messages(edge, own[receiving], held, own[sending], posts[receiving], sender, receiver, size))

    def at_once(self, sender: I8, receiver: I8, size: int) -> None:
        """Let one process send to or receive from others, all messages at once: in turn."""
        take = TAKE if len(np.unique(receiver)) < len(receiver) else RECEIVE
        for one, other in zip(sender.tolist(), receiver.tolist(), strict=True):
            self.send([one], [other], size, take)

    def works(self, process: Ints, cost: int, times: Ints | int, size: int) -> None:
        """Let some processes do so much more alone, as if it were with the farthest."""
        process = np.asarray(process, "i8")
        before = self.now[process]
        self.now = self.now.copy()
        self.now[process] = self._made(len(process))
        self._add(before, self.now[process], cost, times, size, FARTHEST, FARTHEST, process)

    def ring(self, size: int) -> None:
        """Add processes - 1 rounds in which each sends `size` bytes to the next, the last to the first.

        Who is late holds the process d places behind by d times LATE. So process m is done, with p processes, EXCHANGE p - 1 times behind
        the largest of entry j + d LATE, d = m - j from 0 to p - 1 around the ring: behind a chain of those from the first to m, and one
        of those behind m, from the last backwards.
        """
        p, entry = self.processes, self.now
        place = np.arange(p, dtype="i8")
        forward = self._made(p)
        self._add(entry, forward, FREE, 0, 0, FARTHEST, FARTHEST, place)
        self._add(forward[:-1], forward[1:], LATE, 1, size, FARTHEST, FARTHEST, -1)
        backward = self._made(p)[::-1]
        self._add(entry, backward, FREE, 0, 0, FARTHEST, FARTHEST, -1)
        self._add(backward[1:], backward[:-1], LATE, -1, size, FARTHEST, FARTHEST, -1)
        latest = self._made(p)
        self._add(forward, latest, FREE, 0, 0, FARTHEST, FARTHEST, place)
        self._add(backward[1:], latest[:-1], LATE, p - 1, size, FARTHEST, FARTHEST, -1)
        self.now = self._made(p)
        self._add(latest, self.now, EXCHANGE, p - 1, size, FARTHEST, FARTHEST, place)

    def all_wait(self, rounds: list[tuple[int, int, int]], size: int, own: int, cost: int = EXCHANGE) -> None:
        """Add rounds after which all have waited for all: from the last that came on they cost (cost, times, bytes) each.

        A process for which all others are ready has to do `cost` for `size` bytes `own` times.
        """
        place, entry = np.arange(self.processes, dtype="i8"), self.now
        hub = self._made(1)
        self._add(entry, np.repeat(hub, self.processes), FREE, 0, 0, FARTHEST, FARTHEST, -1)
        for what, times, bytes_ in rounds:
            before, hub = hub, self._made(1)
            self._add(before, hub, what, times, bytes_, FARTHEST, FARTHEST, -1)
        self.now = self._made(self.processes)
        self._add(entry, self.now, cost, own, size, FARTHEST, FARTHEST, place)
        self._add(np.repeat(hub, self.processes), self.now, FREE, 0, 0, FARTHEST, FARTHEST, -1)

    def _made(self, count: int) -> I8:
        first = self.vertices
        self.vertices += count
        return np.arange(first, self.vertices, dtype="i8")

    def _add(self, source: I8, target: I8, *columns: Ints | int) -> I8:
        """Add edges and return their numbers."""
        self._parts.append(Edges(source, target, *(np.broadcast_to(np.asarray(column, "i8"), source.shape) for column in columns)))
        self._count += len(source)
        return np.arange(self._count - len(source), self._count)

    def _note(self, messages: Messages) -> None:
        """Note messages that were added: nobody asks for them."""


class EachMessage(Shape):
    """A shape in which each message is there, none for several rounds."""

    def __init__(self, processes: int) -> None:
        super().__init__(processes)
        self._messages: list[Messages] = []

    @property
    def count(self) -> int:
        """Number of messages."""
        return sum(len(part.edge) for part in self._messages)

    def messages(self) -> Messages:
        """Return the messages, with the numbers that edges have in `edges`."""
        whole = Messages(*(np.concatenate(column) for column in zip(*self._messages, strict=True)))
        number = np.empty(self._count, "i8")
        number[np.argsort(np.concatenate([part.target for part in self._parts]), kind="stable")] = np.arange(self._count)
        edge, own, held, sends, posts = (number[column] for column in whole[:5])
        return whole._replace(edge=edge, own=own, held=held, sends=sends, posts=posts)

    def ring(self, size: int) -> None:
        """Add rounds around a ring."""
        self._apart(range(1, 2), self.processes - 1, size)

    def all_wait(self, rounds: list[tuple[int, int, int]], size: int, own: int, cost: int = EXCHANGE) -> None:
        """Add rounds in which each sends to the one as many places behind it as there were rounds; all at once if they pass one another."""
        p, place = self.processes, np.arange(self.processes, dtype="i8")
        if cost == PASS:
            sender = np.repeat(place, p - 1)
            return self.at_once(sender, (sender + np.tile(np.arange(1, p), p)) % p, size)
        apart = 0
        for _, times, bytes_ in rounds:
            self._apart(range(apart + 1, apart + times + 1), 1, bytes_)
            apart += times
        return None

    def at_once(self, sender: I8, receiver: I8, size: int) -> None:
        """Add messages that are all posted at once, several of a process."""
        before, taking = self.now, np.union1d(sender, receiver)
        now = self.now.copy()
        now[taking] = self._made(len(taking))
        self.now = now
        posts = np.bincount(np.concatenate([sender, receiver]), minlength=self.processes)[taking]
        self._add(before[taking], now[taking], POST, -(-posts // 2), size, FARTHEST, FARTHEST, taking)
        sends, receives = np.isin(taking, sender), np.isin(taking, receiver)
        cost = np.where(sends & receives, EXCHANGE, np.where(sends, SEND, RECEIVE))
        own = np.full(self.processes, -1)
        own[taking] = self._add(before[taking], now[taking], cost, 1, size, FARTHEST, FARTHEST, -1)
        edge = self._add(before[sender], now[receiver], MESSAGE, 1, size, sender, receiver, -1)
        held = self._add(before[receiver], now[sender], HELD, 1, size, sender, receiver, -1)
        self._note(Messages(edge, own[receiver], held, own[sender], own[receiver], sender, receiver, np.full(len(edge), size)))

    def _apart(self, apart: range, times: int, size: int) -> None:
        """Let each send to the one so many places behind it, one round after the other, all `times`."""
        place = np.arange(self.processes, dtype="i8")
        for step in [*apart] * times:
            self.send(place, (place + step) % self.processes, size)

    def _note(self, messages: Messages) -> None:
        self._messages.append(messages)
