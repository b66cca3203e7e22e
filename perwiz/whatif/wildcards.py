"""Receives that may have been wildcards, of a format that does not tell: those whose sources no order in the program explains.

A wildcard takes what comes first. So a call site took any source perhaps if its messages come from several, hardly one was received though
another that a later receive of it took had been sent before, and the order of the sources does not repeat itself. Of blocking receives an
order that does will do, too, if it never contradicts what comes first: the master of a farm of equal tasks hears its workers in turn.
Non-blocking ones are posted in some order before anything comes, as in an exchange with neighbours.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.trace import operations
from perwiz.trace.arrays import I8, Ints, Mask
from perwiz.trace.numbers import Numbers, distinct
from perwiz.trace.resources import remembered
from perwiz.trace.tables import Messages, Times
from perwiz.trace.trace import Trace

CHOOSING = np.isin(operations.OPS, [f"MPI_{way}{which}" for way in ("Wait", "Test") for which in ("any", "some")])
"""Per op: completes one or some of several requests."""
_LEAST = 5
"""Receives after one from another source that a call site must have to tell anything."""
_NOISE = 0.05
"""Part of them that may contradict what comes first: an entered send is not always a sent one."""
_REPEATS = 0.9
"""Part of the receives whose source follows from the two before, above which their order is one of the program."""


_POLLS = np.isin(operations.OPS, ["MPI_Iprobe", "MPI_Improbe"])


def found_by(trace: Trace) -> tuple[I8, I8]:
    """Return (call, message) for each probe that does not wait and finds a message: the call behind it receives that."""
    calls, table = trace.calls, trace.messages
    polls = _POLLS[calls.op]
    message = np.flatnonzero(table.receive > 0) if polls.any() else np.zeros(0, "i8")
    probe = table.receive[message].astype("i8") - 1
    finds = polls[probe] & (calls.location[probe] == calls.location[probe + 1])
    return probe[finds], message[finds]


@dataclasses.dataclass(frozen=True, eq=False)
class Possible:
    """Messages that receives which may have been wildcards got."""

    message: I8
    """Row of messages."""
    receive: I8
    """Call that received it."""
    place: I8
    """Those of one place could have been taken for each other: numbers from 0 on, each of some."""

    def reached(self, times: Times, messages: Messages) -> I8:
        """Return the calls that another message, received later, would reach first at these times of calls; rows, sorted."""
        sent = times.enter[messages.send[self.message]]
        came = np.minimum(sent, times.leave[messages.receive_done[self.message]])
        earliest = earliest_after(self.place, self.receive, sent, (self.place, self.receive))
        return distinct(self.receive[earliest < came])


@remembered(2)
def possible(trace: Trace) -> Possible:
    """Return the messages of receives that may have been wildcards, of one of several posted receives too; none if the trace tells both."""
    if trace.wildcards_told:
        return Possible(*np.empty((3, 0), "i8"))
    sites, waits = _of_sites(trace), _of_waits(trace)
    place = np.concatenate([sites.place, waits.place + int(sites.place.max(initial=-1)) + 1])
    number = np.unique(place, return_inverse=True)[1].astype("i8")
    return Possible(np.concatenate([sites.message, waits.message]), np.concatenate([sites.receive, waits.receive]), number)


def _of_sites(trace: Trace) -> Possible:
    """Return the messages of call sites, routine, region path, communicator and tag, that may take any source."""
    table, calls = trace.messages, trace.calls
    kind = operations.KIND[calls.op[table.receive]]
    rows = np.flatnonzero(((kind == operations.RECV) | (kind == operations.IRECV)) & trace.share.has(calls.location[table.receive]))
    call = table.receive[rows]
    site, count = trace.share.numbered(calls.op[call], calls.path[call])
    for column in (table.comm, table.tag):
        site, count = trace.share.numbered(site, column[rows])
    place = _numbered(site, calls.location[call])
    source = trace.locations.process[calls.location[table.send[rows]]]
    order = np.lexsort((call, place))
    order = order[np.isin(place[order], place[order][_switches(place[order], source[order])])]
    rows, site, place, source = rows[order], site[order], place[order], source[order]
    out = Possible(rows, table.receive[rows].astype("i8"), place)
    seen = [
        np.bincount(site[which], minlength=count)
        for which in (
            slice(None),
            np.isin(out.receive, out.reached(trace.timeline.calls, table)),
            _switches(place, source),
            _repeats(place, source),
            kind[rows] == operations.IRECV,
        )
    ]
    often, against, switches, repeats, posted = trace.share.reduced(np.stack(seen), "sum")
    in_turn = (posted == 0) & (against == 0)
    taking_any = (switches >= _LEAST) & np.where(repeats > _REPEATS * often, in_turn, against <= _NOISE * switches)
    kept = taking_any[site]
    return Possible(rows[kept], out.receive[kept], place[kept])


def _of_waits(trace: Trace) -> Possible:
    """Return the messages that a call for one or some of several requests completed, where the trace does not tell which were posted.

    So many are posted as there are calls that post a receive. From where all posted ones were completed on, others could be:

        calls                      Irecv Irecv Waitany Waitany Irecv Wait Irecv Irecv Waitany Waitany
        posted before                              2       2          3                  5       5
        completed before                           0       1          2                  3       4
        place                                      0       0         (1)                 2       2
    """
    table, calls = trace.messages, trace.calls
    kind = operations.KIND[calls.op]
    completes = np.isin(kind[table.receive], (operations.COMPLETE, operations.TEST))
    rows = np.flatnonzero(completes & trace.share.has(calls.location[table.receive]))
    rows = rows[np.argsort(table.receive[rows], kind="stable")]
    call = table.receive[rows].astype("i8")
    location, first = calls.location[call], trace.first_calls
    posts = np.append(0, np.cumsum(kind == operations.IRECV))
    posted = posts[call] - posts[first[location]]
    completed = np.arange(len(call)) - np.searchsorted(location, location)
    place = np.cumsum(np.append(True, (posted[:-1] <= completed[1:]) | (completed[1:] == 0))[: len(call)])
    kept = np.flatnonzero(CHOOSING[calls.op[call]])
    kept = kept[np.bincount(place[kept])[place[kept]] > 1]
    return Possible(rows[kept], call[kept], place[kept])


def _switches(place: I8, source: Ints) -> I8:
    """Return the rows with another source than the row before, of the same place."""
    return np.flatnonzero((place[1:] == place[:-1]) & (source[1:] != source[:-1])) + 1


def _numbered(*columns: Ints) -> I8:
    """Return small numbers for the rows of some columns, equal ones for equal rows."""
    out = columns[0]
    for column in columns[1:]:
        out = Numbers().number(out, column)
    return out.astype("i8")


def _repeats(place: I8, source: Ints) -> Mask:
    """Return which rows have the source that most often follows the two before them, place by place; the first two of a place have.

    source   1 2 3 1 2 3 1 3      behind 3 1 comes 2 as often as 3, which counts as the one
    repeats  1 1 1 1 1 1 1 0
    """
    inside = np.append([False, False], place[2:] == place[:-2])[: len(place)]
    rows = np.flatnonzero(inside)
    before = _numbered(place[rows], source[rows - 2], source[rows - 1])
    follows = _numbered(before, source[rows])
    count, behind = np.bincount(follows), np.empty(int(follows.max(initial=-1)) + 1, "i8")
    behind[follows] = before
    best = np.empty(len(count), "i8")
    rising = np.argsort(count, kind="stable")
    best[behind[rising]] = rising  # of those behind the same two, the last one stays
    out = np.ones(len(place), bool)
    out[rows] = best[before] == follows
    return out


def earliest_after(key: I8, row: Ints, time: I8, asked: tuple[Ints, Ints]) -> I8:
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
