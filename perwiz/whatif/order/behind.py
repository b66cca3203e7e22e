"""Sends run ahead of the receive before them, and of what is computed between: they must need neither, which no trace tells."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.loggps.weigh import Weighted
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.trace import Trace, named_call
from perwiz.whatif.order.ahead import PASSIVE, SENDS, sends_waited_for
from perwiz.whatif.order.ordering_rules import REASONS, Rules, find_rules
from perwiz.whatif.order.program import Program
from perwiz.whatif.order.reorder import Moved, Reordered, recorded_rows, reorder, unheld

_ROUNDS = 16
"""Partners of one wait whose sends move, one after the other."""


@dataclasses.dataclass(frozen=True)
class _Place:
    """Steps `begin` .. `end` of a program, a send or the region around it, and the one they run ahead of; the calls among them."""

    begin: int
    end: int
    before: int
    first: int
    last: int


def receives_before(trace: Trace, calls: I8) -> I8:
    """Return per call, row, the last call before it on its process that ends a receive; -1 where one comes after that, or first, that is
    neither a send nor ends one, such as a collective.

    Of Recv e0, Isend e1, Wait e2 for that, Send e3, Barrier e4, Send e5: e0 for e1 and e3, none for e5.
    """
    rows, receives = np.arange(len(trace.calls)), _receives(trace)
    passes = PASSIVE[trace.calls.op] | np.isin(operations.KIND[trace.calls.op], (operations.COMPLETE, operations.TEST))
    stops = np.where(receives | ~passes, rows, -1)
    last = np.concatenate(([-1], np.maximum.accumulate(stops)))[calls]
    own = (last >= trace.first_calls[trace.calls.location[calls]]) & np.append(receives, False)[last]
    return np.where(own, last, -1)


def move_behind(weighted: Weighted, calls: I8, text: str) -> Reordered:
    """Return the graph in which the sends that recorded calls (rows) wait for run ahead of the receive before them, and the moves, `text`
    as what was asked: of a send that must not one that stays, and why.

    What is computed before a send stays where it is; the largest region around it that does not hold the receive goes with it. A send that
    moves does not hold its process until the receiver is there, as MPI_Isend.
    """
    now = recorded_rows(weighted)
    tried, stay = np.zeros(len(now.trace.calls), bool), list[Moved]()
    for _ in range(_ROUNDS):
        sends = sends_waited_for(now, calls)
        sends = sends[~tried[sends]]
        if not len(sends):
            break
        tried[sends] = True
        places, why = _places(now, sends)
        location = weighted.trace.calls.location
        stay += [Moved(send, send, send, send - 1, int(location[send]), note, text) for send, note in why.items()]
        now = _behind(now, places, text)
    return dataclasses.replace(now, moves=(*now.moves, *stay))


def _receives(trace: Trace) -> Mask:
    """Return which calls end a receive, bool per call."""
    out = np.zeros(len(trace.calls), bool)
    done = trace.messages.receive_done
    out[done[done >= 0]] = True
    return out


def _places(now: Reordered, sends: I8) -> tuple[list[_Place], dict[int, str]]:
    """Return where sends, recorded rows, can go, each place once; and why others stay, by recorded row."""
    program, trace = Program(now), now.trace
    rows, old = now.call[sends], np.argsort(now.call)
    places, why, rules = dict[_Place, None](), dict[int, str](), dict[int, Rules]()
    gone: dict[int, int] = {}
    for send, row, receive in sorted(zip(sends.tolist(), rows.tolist(), receives_before(trace, rows).tolist(), strict=True)):
        if receive < 0:
            why[send] = "the last call before it that must have ended is no receive"
            continue
        place = _place(program, row, receive)
        location = int(trace.calls.location[row])
        if location not in rules:
            rules[location] = find_rules(trace, location)
        limit, kind = rules[location].before(place.first, place.last)
        if not PASSIVE[trace.calls.op[place.first : place.last + 1]].all():
            why[send] = "the region around it holds calls that bring data"
        elif limit >= receive and gone.get(limit) != receive:
            why[send] = f"not before {named_call(trace, int(old[limit]))}: {REASONS[kind]}"
        else:
            gone |= dict.fromkeys(range(place.first, place.last + 1), receive)
            places[place] = None
    return list(places), why


def _place(program: Program, send: int, receive: int) -> _Place:
    """Return the place of a send ahead of a receive, rows: regions around one of both alone stay whole."""
    table, step, before = program.weighted.trace.regions, int(program.call[send]), int(program.call[receive])
    own = slice(*np.searchsorted(table.location, program.location[step] + np.arange(2)))
    entered, left = program.entered[own], program.left[own]
    around = (entered > before) & (entered < step) & (left > step)
    begin, end = (int(entered[around].min()), int(left[around].max())) if around.any() else (step, step)
    ahead = (entered < before) & (left > before) & (left < begin)
    calls = np.searchsorted(program.call, [begin, end + 1])
    return _Place(begin, end, min(before, int(entered[ahead].min(initial=before))), int(calls[0]), int(calls[1]) - 1)


def _behind(now: Reordered, places: list[_Place], text: str) -> Reordered:
    """Return the graph in which sends, and the regions around them, have run to their places."""
    if not places:
        return now
    calls = np.concatenate([np.arange(place.first, place.last + 1) for place in places])
    now = unheld(now, calls[SENDS[now.trace.calls.op[calls]]])
    program, old = Program(now), np.argsort(now.call)
    ahead, moves = np.arange(len(program.length)), list[Moved]()
    program.length, moved = program.length.copy(), np.zeros(len(ahead), bool)
    for place in places:
        ahead[place.begin : place.end + 1], moved[place.begin : place.end + 1] = place.before, True
        first, last, before = (int(old[row]) for row in (place.first, place.last, np.searchsorted(program.call, place.before)))
        moves.append(Moved(first, last, before, first - 1, int(program.location[place.begin]), asked=text))
    order = np.lexsort((np.arange(len(ahead)), ~moved, ahead))
    for place in sorted(places, key=lambda place: place.begin):
        program.length[place.end + 1] += program.length[place.begin]
        program.length[place.begin], program.length[place.before] = program.length[place.before], 0
    return reorder(program, order, tuple(moves))
