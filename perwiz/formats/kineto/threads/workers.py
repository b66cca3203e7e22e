"""Threads that the first thread of a rank gives work, and waits for: those of autograd, and those of Gloo, which talk to other ranks.

No event says who waits for whom. But the first thread makes no event while it waits: what it waits for ends between two of its events.
A thread may note its end late, when the first one goes on already: then what it did has ended where the pause before that ends.

    first thread   | aten::linear |               thread_wait              | Optimizer.step
    autograd             idle       | AddmmBackward0 | AccumulateGrad |        idle
"""

from __future__ import annotations

import numpy as np

from perwiz.formats.kineto import names
from perwiz.formats.kineto.book import Between, Book, idle
from perwiz.formats.kineto.comms import RECV, SEND, Ends
from perwiz.formats.kineto.events import ANNOTATION, DRIVER, OPERATOR, RUNTIME
from perwiz.formats.kineto.groups import Groups
from perwiz.formats.kineto.rank import Columns, Rank
from perwiz.formats.kineto.threads import gloo
from perwiz.kernels import launches
from perwiz.trace import operations, tables
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.numbers import distinct
from perwiz.trace.tables import NONE

_START, _WAIT, _IDLE = (operations.OP[f"thread_{name}"] for name in ("start", "wait", "idle"))
_AUTOGRAD = names.BACKWARD.encode()
_FAR = np.iinfo("i8").max
_LATE = 1_000_000
"""How much later than something is over its end may be noted, and the first thread may go on, ns."""


class Workers:
    """The other threads of a rank."""

    def __init__(self, rank: Rank, book: Book, groups: Groups) -> None:
        self._rank, self._book, self._groups = rank, book, groups
        self.links: list[tuple[int, I8, I8]] = []
        """Kind, handles of causes, handles of effects."""
        self.sends = self.receives = Ends.none()
        self.untied = 0
        at = rank.chosen(OPERATOR, ANNOTATION, RUNTIME, DRIVER)
        first = at.take(at.location == 0)
        self._bounds: I8 = distinct(np.concatenate([[rank.start()], first.enter, first.leave, [rank.end()]]))
        """When an event of the first thread begins or ends."""
        calls = first.take((first.kind == RUNTIME) | (first.kind == DRIVER))
        self._calls = calls.enter, np.maximum.accumulate(calls.leave) if len(calls.row) else calls.leave
        operators = first.take(first.kind == OPERATOR)
        self._operators = operators.enter, np.maximum.accumulate(operators.leave) if len(operators.row) else operators.leave
        self.hidden: I8 = np.empty(0, "i8")
        """Rows of the file's events that are calls, not regions."""
        self._autograd(at)
        self._gloo()

    def _link(self, kind: int, cause: I8, effect: I8) -> None:
        self.links.append((kind, cause, effect))

    def _free(self, time: I8, spans: tuple[I8, I8]) -> Mask:
        """Return at which times the first thread is in none of the spans, whose ends rise; their ends count as outside."""
        enter, leave = spans
        if not len(enter):
            return np.ones(len(time), bool)
        place = np.searchsorted(enter, time, "left") - 1
        return (place < 0) | (leave[place] <= time)

    def _interval(self, time: I8) -> tuple[I8, I8]:
        """Return the bounds around each time, the second one at it or behind."""
        place = np.clip(np.searchsorted(self._bounds, time, "left"), 1, len(self._bounds) - 1)
        return self._bounds[place - 1], self._bounds[place]

    def _autograd(self, at: Columns) -> None:
        """Tie the threads of autograd: the first thread starts each burst of theirs and waits for its end."""
        rank = self._rank
        works = np.array([rank.texts.raw(k).startswith(_AUTOGRAD) for k in range(len(rank.texts))] + [False], bool)[at.name]
        for one in np.unique(at.location[works & (at.location > 0)]).tolist():
            mine = at.take((at.location == one) & (at.kind != ANNOTATION))
            latest = np.maximum.accumulate(mine.leave)
            top = np.append(True, mine.enter[1:] >= latest[:-1])
            since = self._interval(mine.enter)[0]
            new = top & np.append(True, since[1:] != since[:-1])
            first = np.flatnonzero(new)
            begin, end = mine.enter[first], np.append(latest[first[1:] - 1], latest[-1])
            did = idle(self._book, _IDLE, np.full(len(first), one, "i4"), begin, end, rank.start(), rank.end())
            start, stop = self._interval(begin)
            waits = (stop >= end) & self._free(stop, self._calls) & self._free(start + 1, self._calls) & (start < begin)
            made = self._book.add(0, _START, start[waits], start[waits], turn=-1)
            self._link(tables.FORK, made, did.before[waits])
            waited = self._book.add(0, _WAIT, start[waits], stop[waits])
            self._link(tables.JOIN, did.behind[waits], waited)
            self.untied += int((~waits).sum())

    def _gloo(self) -> None:
        """Add what Gloo does as calls, on its own threads or on the first."""
        rank = self._rank
        at, op = gloo.works(rank)
        filled = rank.filled
        if not len(op) + len(filled):
            return
        self.hidden = at.row
        posted, kind = gloo.posts(rank)
        self._groups.unnamed += len(op) + len(filled)
        here = at.location == 0
        self._own(at.take(here), op[here], posted, kind)
        at, op = at.take(~here), op[~here]
        sent, received = gloo.moved(rank, at.row, op)
        moved = {"sent": np.append(sent, filled.sent), "received": np.append(received, filled.received)}
        self._others(at.extended(filled.at), np.append(op, filled.op), posted, kind, **moved)

    def _own(self, at: Columns, op: I4, posted: Columns, kind: I4) -> None:
        """Add calls that the first thread is in until they are done: from the operator that asks for them on.

        Where it goes on in between, it is in the operator alone that sends, and in a receive from what it did last before that was done.
        """
        if not len(op):
            return
        ask = _oldest(kind, posted.enter, op, at.enter)
        begun, asked = np.append(posted.enter, 0)[ask], np.append(posted.leave, 0)[ask]
        inside = (ask >= 0) & (asked >= at.enter)
        since = self._interval(at.leave)[0]
        later = inside & (since > np.maximum(asked, at.enter)) & ((op == SEND) | (op == RECV))
        enter = np.where(later & (op == RECV), since, np.where(inside, begun, at.enter))
        leave = np.where(later & (op == SEND), asked, at.leave)
        order = np.argsort(enter, kind="stable")
        self.hidden = np.concatenate([self.hidden, posted.row[ask[inside]]])
        order = order[np.append(True, enter[order][1:] >= np.maximum.accumulate(leave[order])[:-1])]
        at, op, enter, leave, ask, later = at.take(order), op[order], enter[order], leave[order], ask[order], later[order]
        peer = self._partners(op, np.where(inside[order], np.append(posted.row, NONE)[ask], NONE))
        columns = dict(zip(("sent", "received"), gloo.moved(self._rank, at.row, op), strict=True))
        handle = self._book.add(0, op, enter, leave, group=0, peer=peer, **columns)
        for side, which, size in (("sends", SEND, "sent"), ("receives", RECV, "received")):
            mine = (op == which) & (peer >= 0)
            waits = ~later[mine] | (which == RECV)
            setattr(self, side, Ends(handle[mine], peer[mine], np.zeros(int(mine.sum()), "i4"), columns[size][mine], waits))

    def _partners(self, op: I4, asked: I8) -> I4:
        """Return the partners of messages, -1 of other calls, given the rows of the operators that ask for them: they name them."""
        told, which = np.unique(self._rank.detail("inputs", asked), return_inverse=True)
        place = np.array([names.partner(self._rank.texts.text(int(one))) for one in told.tolist()], "i4")[which.ravel()]
        place = np.where(asked >= 0, place, NONE)
        out, message = np.full(len(op), NONE, "i4"), (op == SEND) | (op == RECV)
        out[message] = self._groups.partner(np.zeros(int(message.sum()), "i4"), place[message].astype("i4"), self._rank.rank)
        return out

    def _others(self, at: Columns, op: I4, posted: Columns, kind: I4, **columns: I8) -> None:
        """Add what threads of Gloo do, started where the first thread asked for it, and the waits of that for its end."""
        if not len(op):
            return
        rank = self._rank
        did = idle(self._book, _IDLE, at.location, at.enter, self._over(at.enter, at.leave), rank.start(), rank.end())
        self._book.add(at.location, op, did.begin, did.end, turn=did.turn, group=0, **columns)
        order = np.argsort(did.begin, kind="stable")
        ask = np.full(len(op), NONE, "i8")
        ask[order] = _oldest(kind, posted.enter, op[order], did.begin[order])
        start = np.where(ask >= 0, np.append(posted.enter, 0)[ask], self._interval(did.begin)[0])
        good = (start <= did.begin) & self._free(start, self._calls)
        made = self._book.add(0, _START, start[good], start[good], turn=-1)
        self._link(tables.FORK, made, did.before[good])
        self.untied += int((~good).sum())
        self._in_turn(did, at.location, order[operations.KIND[op[order]] == operations.N_TO_N])
        self._waits(did.end, did.behind)

    def _in_turn(self, did: Between, location: I4, order: I8) -> None:
        """Tie collectives, given in the order in which they begin, that do not begin before another thread has done the one before.

        Of two at once each would take longer, for they share the network, and the processors that copy and add: together they take as
        long as one behind the other.
        """
        earlier, later = order[:-1], order[1:]
        apart = (location[earlier] != location[later]) & (did.end[earlier] <= did.begin[later])
        self._link(tables.EVENT, did.behind[earlier[apart]], did.before[later[apart]])

    def _pauses(self, since: I8) -> Mask:
        """Return behind which bounds the first thread is in no operator and no call."""
        return self._free(since + 1, self._operators) & self._free(since + 1, self._calls)

    def _over(self, begin: I8, end: I8) -> I8:
        """Return when works are over: where the pause of the first thread ended just before, if their end was noted late.

        The pause is longer than that may be, and ends while the work is said to go on.
        """
        since, until = self._bounds[:-1], self._bounds[1:]
        until = until[self._pauses(since) & (until - since > _LATE)]
        last = np.append(self._bounds[0], until)[np.searchsorted(until, end, "right")]
        return np.where((last > begin) & (end - last <= _LATE), last, end)

    def _waits(self, end: I8, behind: I8) -> None:
        """Add the waits of the first thread: where something ends between two of its events. It waits there for all that has ended.

        Where it makes no event for long behind that, and for longer than it waited, it does something else.
        """
        since, until = self._interval(end)
        pauses = self._pauses(since) & (since < end)
        if not pauses.any():
            return
        enter, place = np.unique(since[pauses], return_index=True)
        latest = np.zeros(len(enter), "i8")
        np.maximum.at(latest, np.searchsorted(enter, since[pauses]), end[pauses])
        leave = until[pauses][place]
        leave = np.where(leave - latest > np.maximum(_LATE, latest - enter), latest, leave)
        waits = self._book.add(0, _WAIT, enter, leave)
        which = np.searchsorted(leave, end)
        tied = which < len(waits)
        self._link(tables.JOIN, behind[tied], waits[which[tied]])


def _oldest(kind: I4, entered: I8, asked: I4, begun: I8) -> I8:
    """Return per work, in order of time, the oldest post of its kind that nothing before has, -1 for none."""
    posts, works = np.argsort(kind, kind="stable"), np.argsort(asked, kind="stable")
    taken = np.empty(len(works), "i4")
    launches.oldest(kind[posts].astype("i8"), entered[posts], np.full(len(posts), _FAR), asked[works].astype("i8"), begun[works], taken)
    out = np.full(len(works), NONE, "i8")
    out[works] = np.where(taken >= 0, np.append(posts, NONE)[taken], NONE)
    return out
