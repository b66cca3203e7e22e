"""One process that serves the others in turn: it prepares a piece for each and sends it, while those behind wait for theirs.

A round is what one process sends while it hears nobody: no receive, collective or link ends in between, and whom it served first does not
come again. A piece is a message of it with what the process computes between its call before and that send; ahead of the first one of a
round no more than the longest of the others, as what else is there may be its own.

A round serves in turn if it goes to at least three others, or to all others if these are two, and two thirds of them, but for the first,
wait for their piece already when the one before is sent:

    0  |==1==|send|==2==|send|==3==|send|
    1  recv ~~~~~~~|
    2  recv ~~~~~~~~~~~~~~~~~~~|           waits since before the first send
    3  recv ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~|
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.trace.arrays import I8, Mask
from perwiz.trace.numbers import distinct
from perwiz.trace.resources import remembered
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif.run import Run

_OTHERS = 3
"""Processes that a round goes to at least, if it does not go to all others."""
_WAIT = 2 / 3
"""Part of them, but for the first, that wait in turn."""


@dataclasses.dataclass(frozen=True, eq=False)
class Rounds:
    """The pieces of all rounds that go to several processes, in the order of their sends; one row each."""

    message: I8
    """Row of messages."""
    round: I8
    """Of each, from 0, ascending."""
    process: I8
    """Whom it goes to."""
    visit: I8
    """Of each, from 0, ascending: what goes to one process without a break is one."""

    def __len__(self) -> int:
        return len(self.message)

    @property
    def leads(self) -> Mask:
        """Whether it is the first of its round."""
        return np.diff(self.round, prepend=-1) > 0

    def prepared(self, took: I8) -> I8:
        """Return how much of what is computed directly ahead of each, ns, is for it: of the first no more than the longest of the others.

        Of rounds of 90, 20, 30 and 5, 0: 30, 20, 30 and 0, 0.
        """
        longest, leads = np.zeros(int(self.round.max(initial=-1)) + 1, "i8"), self.leads
        np.maximum.at(longest, self.round[~leads], took[~leads])
        return np.where(leads, np.minimum(took, longest[self.round]), took)

    def where(self, rounds: Mask) -> Rounds:
        """Return some of the rounds, a bool for each, numbered as before."""
        chosen = rounds[self.round]
        return Rounds(*(getattr(self, field.name)[chosen] for field in dataclasses.fields(self)))


def rounds(trace: Trace, sends: Mask) -> Rounds:
    """Return the rounds of messages that some calls send, bool per call; of a call that sends several the first one counts."""
    table, location = trace.messages, trace.calls.location
    message = np.flatnonzero(sends[table.send] & (table.receive_done != NONE))
    message = message[np.unique(table.send[message], return_index=True)[1]]
    send, process = table.send[message], trace.processes_of_calls[table.receive[message]].astype("i8")
    heard = np.zeros(len(trace.calls) + 1, bool)  # the last one stands for no call
    for column in (table.receive_done, trace.members.call, trace.members.done, trace.links.effect):
        heard[column] = True
    breaks = np.cumsum(heard[:-1])[send]
    start = _changes(location[send], breaks)
    visits = start | _changes(process)
    first = process[np.maximum.accumulate(np.where(start, np.arange(len(send)), 0))]
    number = np.cumsum(start | (visits & (process == first))) - 1
    several = np.zeros(int(number.max(initial=-1)) + 1, bool)
    several[number[1:][(np.diff(number) == 0) & (np.diff(process) != 0)]] = True
    return Rounds(message, number, process, np.cumsum(visits) - 1).where(several)


def mutual(trace: Trace, pieces: Rounds) -> bool:
    """Return whether most of those who get some of the pieces serve who serves them: what they exchange is more than pieces."""
    served = _pairs(trace, pieces)
    return 2 * len(served & {(receiver, sender) for sender, receiver in _all_pairs(trace)}) > len(served)


def works_first(trace: Trace, pieces: Rounds) -> bool:
    """Return whether most of what is computed directly ahead of some pieces is for none of them: what is sent may be made of that."""
    send, times = trace.messages.send[pieces.message], trace.timeline
    location = trace.calls.location[send]
    since = np.where(send > trace.first_calls[location], times.calls.leave[send - 1], times.locations.enter[location])
    took = times.calls.enter[send] - since
    prepared, whole = trace.share.reduced(np.array([pieces.prepared(took).sum(), took.sum()]), "sum").tolist()
    return 2 * prepared < whole


@remembered(1)
def _all_pairs(trace: Trace) -> set[tuple[int, int]]:
    """Return (who serves, whom) of the pieces of all rounds of a trace; found once."""
    sends = np.zeros(len(trace.calls), bool)
    sends[trace.share.calls] = True
    return _pairs(trace, rounds(trace, sends))


def _pairs(trace: Trace, pieces: Rounds) -> set[tuple[int, int]]:
    """Return (who serves, whom) of some pieces, of all parts of the trace."""
    width = int(trace.locations.process.max(initial=0)) + 1
    send = trace.messages.send[pieces.message]
    own = distinct(trace.processes_of_calls[send].astype("i8") * width + pieces.process)
    return {divmod(pair, width) for pair in trace.share.listed(own.tolist())}


def _changes(*columns: np.ndarray) -> Mask:
    """Return which rows differ from the one before, as the first does."""
    out = np.ones(len(columns[0]), bool)
    out[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return out


@dataclasses.dataclass(frozen=True, eq=False)
class Serving:
    """What one process does for the others in turn."""

    process: int
    others: int
    """Processes that it serves."""
    rounds: int
    sends: I8
    """The calls that send what it serves, rows, ascending."""
    waited: int
    """ns from one send to the next while the one served next waits for it, together."""


@remembered(1)
def serving(run: Run) -> list[Serving]:
    """Return the processes that serve others in turn, what is waited for longest first; of a part all of them, with its own sends."""
    trace, times, share = run.trace, run.trace.timeline.calls, run.trace.share
    own = np.zeros(len(trace.calls), bool)
    own[share.calls] = True
    table, found = trace.messages, rounds(trace, own)
    waited_for = (run.waits.partner[table.receive_done] == table.send) & (run.waits.time[table.receive_done] > 0)
    send, done = table.send[found.message], table.receive_done[found.message]
    before = np.append(NONE, send)[:-1]
    turn = _changes(found.visit) & ~found.leads
    turn &= share.told_by_receivers(waited_for)[found.message] & (times.enter[done] <= times.enter[before])
    count = int(found.round.max(initial=-1)) + 1
    ranks = int(found.process.max(initial=0)) + 1
    others = np.bincount(distinct(found.round * ranks + found.process) // ranks, minlength=count)
    enough = (others >= _OTHERS) | (others == len(np.unique(trace.locations.process)) - 1)
    enough &= np.bincount(found.round[turn], minlength=count) >= _WAIT * (others - 1)
    process = trace.processes_of_calls[send].astype("i8")
    rows = np.flatnonzero(enough[found.round])
    rows = rows[np.argsort(process[rows], kind="stable")]
    ranks_of, first = np.unique(process[rows], return_index=True)
    place = np.searchsorted(ranks_of, process[rows])
    served = np.bincount(distinct(place * ranks + found.process[rows]) // ranks)
    times_of = np.bincount(place[found.leads[rows]], minlength=len(ranks_of))
    waited = np.add.reduceat(np.where(turn, times.enter[send] - times.enter[before], 0)[rows], first)
    sends = dict(zip(ranks_of.tolist(), np.split(send[rows].astype("i8"), first[1:]), strict=False))
    told = share.listed(list(zip(ranks_of.tolist(), served.tolist(), times_of.tolist(), waited.tolist(), strict=True)))
    none = np.zeros(0, "i8")
    every = (Serving(rank, whom, several, sends.get(rank, none), wait) for rank, whom, several, wait in told)
    return sorted(every, key=lambda one: -one.waited)
