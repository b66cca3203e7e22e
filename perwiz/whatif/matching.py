"""Where a predicted run would have matched other messages than the recorded one: said, never assumed away.

A prediction keeps the recorded matches. Another run need not, where the program leaves the choice to what comes first:

- A receive of any source or any tag takes the first of the messages that fit it and that no receive posted before it takes (MPI 3.1,
  3.5). Of messages that could fit, those come first whose sending call is entered first: the envelope takes the same time whatever
  the size. A blocking probe that asks for any source or tag chooses likewise for the receive behind it (MPI 3.1, 3.8.1).
- A call that completes one or some of several requests takes those that are complete first (MPI 3.1, 3.7.5): of receives those
  whose message has come, as the model says, and which are posted. This is asked neither of sends nor of how often a program tests in vain.

A choice changes where the predicted times would let another message come first that the recorded run takes later, and the recorded times
would not. Where the recorded times themselves already say so, the choice is counted apart.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.graph.build import probes
from perwiz.loggps.weigh import Weighted, synchronous
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Ints
from perwiz.trace.tables import ANY
from perwiz.whatif.run import Run

_RECEIVES = np.isin(operations.KIND, (operations.RECV, operations.IRECV))
_CHOOSING = np.isin(operations.OPS, [f"MPI_{way}{which}" for way in ("Wait", "Test") for which in ("any", "some")])


@dataclasses.dataclass(frozen=True, eq=False)
class Matching:
    """Choices that a predicted run would make otherwise; calls are rows of the recorded run, ascending."""

    wildcards: int
    """Receives and probes of any source or tag that got a message."""
    receives: I8
    """Those of them that another message would have reached first, but not in the recorded run."""
    waits: int
    """Calls that complete one or some of several requests, and completed a receive."""
    completions: Ints
    """Those of them that another receive would have completed before, but not in the recorded run."""
    already: int
    """Choices that the recorded times contradict themselves."""

    @property
    def changed(self) -> bool:
        """Whether a choice changes."""
        return bool(len(self.receives) or len(self.completions))


def matching(base: Run, changed: Run) -> Matching:
    """Return the choices of a predicted run that differ from those of the recorded one that it is made of, at its recorded times."""
    old = _Choices(base.weighted, base.trace.timeline.calls.enter)
    new = _Choices(changed.weighted, changed.time[changed.graph.entered])
    reached, overtaken, order = old.reached(), old.overtaken(), changed.order

    def recorded(calls: Ints) -> Ints:
        return calls if order is None else np.argsort(order.call)[calls]

    return Matching(
        wildcards=len(old.wildcards),
        receives=np.setdiff1d(recorded(new.reached()), reached),
        waits=len(np.unique(old.choosing)),
        completions=np.setdiff1d(recorded(new.overtaken()), overtaken),
        already=len(reached) + len(overtaken),
    )


class _Choices:
    """The choices of one run, and who would be chosen by its times."""

    def __init__(self, weighted: Weighted, enter: I8) -> None:
        self._weighted, self._enter, trace = weighted, enter, weighted.trace
        calls, table = trace.calls, trace.messages
        wild = (calls.peer == ANY) | (calls.tag == ANY)
        taken = np.flatnonzero((wild & _RECEIVES[calls.op])[table.receive])
        probe, message = probes(trace)
        probe, message = probe[wild[probe]], message[wild[probe]]
        self.wildcards = np.concatenate([table.receive[taken], probe])
        """Calls that choose, and"""
        self._chosen = np.concatenate([taken, message])
        """the message each got."""
        self._completed = np.flatnonzero(_CHOOSING[calls.op[table.receive_done]])
        self.choosing = table.receive_done[self._completed]
        """Calls that complete one or some of several requests, once per message."""

    def reached(self) -> I8:
        """Return the wildcard receives and probes that another message, received later, would reach first; rows of calls, sorted."""
        if not len(self.wildcards):
            return self.wildcards
        trace, table = self._weighted.trace, self._weighted.trace.messages
        sent = self._enter[table.send]
        receiver = trace.calls.location[table.receive].astype("i8") * len(trace.communicators) + table.comm
        source = trace.locations.process[trace.calls.location[table.send]]
        peer, tag = trace.calls.peer[self.wildcards], trace.calls.tag[self.wildcards]
        reached = []
        for chooses, label in ((peer != ANY, source), (tag != ANY, table.tag), ((peer == ANY) & (tag == ANY), np.zeros_like(source))):
            which = np.flatnonzero(chooses)
            key = np.unique(np.stack([receiver, label], 1), axis=0, return_inverse=True)[1].ravel()
            earliest = _earliest_after(key, table.receive, sent, (key[self._chosen[which]], self.wildcards[which]))
            reached.append(self.wildcards[which[earliest < sent[self._chosen[which]]]])
        return np.unique(np.concatenate(reached))

    def overtaken(self) -> I4:
        """Return the calls that complete some of several requests before one that would be complete earlier; rows of calls, sorted."""
        if not len(self.choosing):
            return self.choosing
        table, enter = self._weighted.trace.messages, self._enter
        m, network, size = self._completed, self._weighted.network, self._weighted.size
        waits = synchronous(table, network, size)[m]
        come = enter[table.send[m]] + network.ready(size[m], waits)
        ready = np.maximum(come, enter[table.receive[m]])
        location = self._weighted.trace.calls.location[self.choosing].astype("i8")
        earliest = _earliest_after(location, self.choosing, ready, (location, self.choosing))
        return np.unique(self.choosing[earliest < ready])


def _earliest_after(key: I8, row: I4, time: I8, asked: tuple[Ints, Ints]) -> I8:
    """Return, for pairs (key, row) asked for, the least time among the rows behind it with its key; 2**62 if there is none.

    key   0 0 1 0     row   1 3 4 6    time   50 20 10 30
    asked   (0, 1) (0, 3) (1, 4)   ->   20 30 none
    """
    order = np.lexsort((row, key))
    place = np.argsort(np.argsort(time, kind="stable"), kind="stable")
    size = len(key) + 1
    least = np.minimum.accumulate((key[order] * size + place[order])[::-1])[::-1] if len(key) else place
    most = int(max(row.max(initial=0), asked[1].max(initial=0))) + 2
    behind = np.searchsorted(key[order] * most + row[order], asked[0] * most + asked[1] + 1)
    inside = behind < len(order)
    inside[inside] = key[order][behind[inside]] == asked[0][inside]
    out = np.full(len(behind), 1 << 62)
    out[inside] = np.sort(time, kind="stable")[least[behind[inside]] % size]
    return out
