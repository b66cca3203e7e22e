"""Where a predicted run would have matched other messages than the recorded one: said, never assumed away.

A prediction keeps the recorded matches. Another run need not, where the program leaves the choice to what comes first:

- A receive of any source or any tag takes the first of the messages that fit it and that no receive posted before it takes (MPI 3.1,
  3.5). Of messages that could fit, those come first whose sending call is entered first: the envelope takes the same time whatever
  the size. A blocking probe that asks for any source or tag chooses likewise for the receive behind it (MPI 3.1, 3.8.1).
- A call that completes one or some of several requests takes those that are complete first (MPI 3.1, 3.7.5): of receives those
  whose message has come, as the model says, and which are posted. This is asked neither of sends nor of how often a program tests in vain.
- A fetch from a counter that hands out tasks takes the next one: whoever is entered first (`rematch.counters`).
- Where the format does not tell which receives take any source, those that may have (`wildcards`) are asked, apart from the others.

What a call got was there when it returned, also where its wait was zeroed.

A choice changes where the predicted times would let another message come first that the recorded run takes later, and the recorded times
would not. Where the recorded times themselves already say so, the choice is counted apart.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property

import numpy as np

from perwiz.graph.build import probes
from perwiz.loggps.pairs import sent
from perwiz.loggps.weigh import Weighted
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Ints
from perwiz.trace.numbers import distinct
from perwiz.trace.resources import remembered
from perwiz.trace.tables import ANY, Times
from perwiz.trace.trace import Trace
from perwiz.whatif.rematch.counters import counters
from perwiz.whatif.run import Run
from perwiz.whatif.wildcards import CHOOSING, earliest_after, found_by, possible

_RECEIVES = np.isin(operations.KIND, (operations.RECV, operations.IRECV))


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
    possible: int
    """Receives that may have been wildcards, of a format that does not tell."""
    possible_receives: I8
    """Those of them that another message would have reached first, but not in the recorded run."""
    fetches: int
    """Calls that take the next task from a counter."""
    turned: I8
    """Those of them that would have come before one that came before them."""

    @property
    def changed(self) -> bool:
        """Whether a choice changes."""
        return any(len(calls) for calls in (self.receives, self.completions, self.possible_receives, self.turned))


def matching(base: Run, changed: Run) -> Matching:
    """Return the choices of a predicted run that differ from those of the recorded one that it is made of, at its recorded times.

    Of a part of a run those of its own calls. Raises UsageError as `counters`.
    """
    times, share = base.trace.timeline.calls, base.trace.share
    sides = changed.graph.entered, changed.graph.returned
    perhaps, messages, fetched, found = possible(base.trace), base.trace.messages, counters(base.trace), choosing(base.trace)
    some = len(found.wildcards) or len(found.completed) or len(perhaps.receive)
    told = Times(*(share.shown(changed.time[side]) for side in sides)) if share.team and share.any(some) else None
    old = _Choices(base.weighted, lambda: times)
    new = _Choices(changed.weighted, lambda: told or Times(*(changed.time[side] for side in sides)))
    reached, overtaken, order = old.reached(), old.overtaken(), changed.order
    turned = perhaps.reached(told or changed.recorded_rows().calls, messages) if len(perhaps.receive) else perhaps.receive

    def recorded(calls: Ints) -> Ints:
        return calls if order is None else np.argsort(order.call)[calls]

    return Matching(
        wildcards=len(old.wildcards),
        receives=_without(recorded(new.reached()), reached),
        waits=len(distinct(old.choosing)),
        completions=_without(recorded(new.overtaken()), overtaken),
        already=len(reached) + len(overtaken),
        possible=len(perhaps.receive),
        possible_receives=_without(turned, perhaps.reached(times, messages)),
        fetches=len(fetched.fetch),
        turned=fetched.turned(changed.recorded_rows().calls) if len(fetched.fetch) else fetched.fetch,
    )


def _without(calls: Ints, others: Ints) -> Ints:
    """Return the calls that are none of some others, ascending; both have each once."""
    return np.sort(np.setdiff1d(calls, others, assume_unique=True))


class _Choices:
    """The choices of one run, and who would be chosen by its times."""

    def __init__(self, weighted: Weighted, times: Callable[[], Times]) -> None:
        """`times` makes those of calls; it is not asked where nothing is chosen."""
        self._weighted, self._of_calls = weighted, times
        found = choosing(weighted.trace)
        self.wildcards, self._chosen, self._completed = found.wildcards, found.chosen, found.completed
        self.choosing = weighted.trace.messages.receive_done[self._completed]
        """Calls that complete one or some of several requests, once per message."""

    @cached_property
    def _times(self) -> Times:
        return self._of_calls()

    def reached(self) -> I8:
        """Return the wildcard receives and probes that another message, received later, would reach first; rows of calls, sorted."""
        if not len(self.wildcards):
            return self.wildcards
        trace, table = self._weighted.trace, self._weighted.trace.messages
        sent = self._times.enter[table.send]
        came = np.minimum(sent[self._chosen], self._times.leave[table.receive_done[self._chosen]])
        receiver = trace.calls.location[table.receive].astype("i8") * len(trace.communicators) + table.comm
        source = trace.locations.process[trace.calls.location[table.send]]
        peer, tag = trace.calls.peer[self.wildcards], trace.calls.tag[self.wildcards]
        reached = []
        for chooses, label in ((peer != ANY, source), (tag != ANY, table.tag), ((peer == ANY) & (tag == ANY), np.zeros_like(source))):
            which = np.flatnonzero(chooses)
            key = np.unique(np.stack([receiver, label], 1), axis=0, return_inverse=True)[1].ravel()
            earliest = earliest_after(key, table.receive, sent, (key[self._chosen[which]], self.wildcards[which]))
            reached.append(self.wildcards[which[earliest < came[which]]])
        return distinct(np.concatenate(reached))

    def overtaken(self) -> I4:
        """Return the calls that complete some of several requests before one that would be complete earlier; rows of calls, sorted."""
        if not len(self.choosing):
            return self.choosing
        table, enter = self._weighted.trace.messages, self._times.enter
        m, network, size = self._completed, self._weighted.network, self._weighted.size
        come = enter[table.send[m]] + network.ready(sent(self._weighted.trace, network, m, size))
        ready = np.maximum(come, enter[table.receive[m]])
        location = self._weighted.trace.calls.location[self.choosing].astype("i8")
        earliest = earliest_after(location, self.choosing, ready, (location, self.choosing))
        return distinct(self.choosing[earliest < np.minimum(ready, self._times.leave[self.choosing])])


@dataclasses.dataclass(frozen=True, eq=False)
class Choosing:
    """The choices among messages of a recorded run, rows."""

    wildcards: I8
    """Calls that choose among messages;"""
    chosen: I8
    """the message each got."""
    completed: I8
    """Messages completed by one of several requests."""


def chooses(trace: Trace) -> bool:
    """Return whether a trace has any choices among messages, which another run may make otherwise."""
    found = choosing(trace)
    return any(len(rows) for rows in (found.wildcards, found.completed, possible(trace).receive, counters(trace).fetch))


@remembered(2)
def choosing(trace: Trace) -> Choosing:
    """Return the choices among messages of a trace."""
    calls, table = trace.calls, trace.messages
    wild = (calls.peer == ANY) | (calls.tag == ANY)
    here = trace.share.has(calls.location[table.receive]) if len(table) else np.zeros(0, bool)
    taken = np.flatnonzero(here & wild[table.receive] & _RECEIVES[calls.op[table.receive]]) if wild.any() else np.zeros(0, "i8")
    probe, message = (np.concatenate(columns) for columns in zip(probes(trace), found_by(trace), strict=True))
    of = wild[probe] & trace.share.has(calls.location[probe])
    probe, message = probe[of], message[of]
    several = here[:0]
    if CHOOSING[calls.op].any():
        several = here & CHOOSING[calls.op[table.receive_done]] & (table.receive != table.receive_done)
    completed = np.flatnonzero(several)
    wildcards, chosen = (np.concatenate(rows).astype("i8") for rows in ((table.receive[taken], probe), (taken, message)))
    return Choosing(wildcards, chosen, completed)
