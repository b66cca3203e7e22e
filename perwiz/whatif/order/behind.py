"""Sends run ahead of what is computed before them, or of the receive before that, too: they must need neither, which no trace tells."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.loggps.weigh import Weighted
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.trace import Trace, named_call
from perwiz.whatif.order.ahead import PASSIVE, SENDS, each_round
from perwiz.whatif.order.ordering_rules import REASONS, Rules, find_rules
from perwiz.whatif.order.program import Program
from perwiz.whatif.order.reorder import Moved, Reordered, reorder, unheld


@dataclasses.dataclass(frozen=True)
class _Place:
    """Steps `begin` .. `end` of a program, a send or the region around it, and the one they run ahead of; the calls among them."""

    begin: int
    end: int
    before: int
    first: int
    last: int
    behind: bool
    """Whether it is behind a call, so that what is computed directly before that step comes later, and does not stay ahead."""


def receives_before(trace: Trace, calls: I8) -> I8:
    """Return per call, row, the last call before it on its process that ends a receive; -1 where one comes after that, or first, that is
    neither a send nor ends one, such as a collective.

    Of Recv e0, Isend e1, Wait e2 for that, Send e3, Barrier e4, Send e5: e0 for e1 and e3, none for e5.
    """
    receives = np.zeros(len(trace.calls) + 1, bool)
    done = trace.messages.receive_done
    receives[done[done >= 0]] = True
    ends = np.isin(operations.KIND[trace.calls.op], (operations.COMPLETE, operations.TEST))
    last = _last_before(trace, calls, receives[:-1] | ~(PASSIVE[trace.calls.op] | ends))
    return np.where(receives[last], last, -1)


def others_before(trace: Trace, calls: I8) -> I8:
    """Return per call, row, the last call before it on its process that neither sends nor posts a receive; -1 where none does not."""
    return _last_before(trace, calls, ~PASSIVE[trace.calls.op])


def computed_before(program: Program, calls: I8) -> I8:
    """Return per call, row, the one behind which what is computed before it begins; -1 where no call is before that.

    Of what is computed since the last call that neither sends nor posts a receive it is the nearest piece that takes half as long as the
    longest so far, or more. Of Barrier e0, 6, Send e1, 1, Send e2, 5, Send e3: e0 for e1 and e2, e2 for e3.
    """
    trace, rows = program.weighted.trace, np.arange(len(program.call))
    length = np.diff(np.cumsum(program.length)[program.call], prepend=0)
    fresh = ~np.append(False, PASSIVE[trace.calls.op[:-1]])
    fresh[np.unique(trace.first_calls[:-1][trace.first_calls[:-1] < len(rows)])] = True
    order = np.argsort(length, kind="stable")
    longest = length[order[np.maximum.accumulate(np.cumsum(fresh) * len(rows) + np.argsort(order)) % len(rows)]]
    last = np.maximum.accumulate(np.where(2 * length >= longest, rows, 0))[calls] - 1
    return np.where(last >= trace.first_calls[trace.calls.location[calls]], last, -1)


def move_behind(weighted: Weighted, calls: I8, text: str, receive: bool) -> Reordered:
    """Return the graph in which the sends that recorded calls (rows) wait for run ahead of what is computed before them, or with `receive`
    of the receive before them; and the moves, `text` as what was asked: of a send that must not one that stays, and why.

    What is computed before a send stays where it is; a region around it goes with it: with `receive` the largest that does not hold that,
    else the largest that begins in the latter half of what is computed. A send that moves does not hold its process until the receiver is
    there, as MPI_Isend.
    """

    def move(now: Reordered, sends: I8) -> tuple[Reordered, dict[int, str]]:
        places, why = _places(now, sends, receive)
        return _behind(now, places, text), why

    return each_round(weighted, calls, text, move)


def _last_before(trace: Trace, calls: I8, stops: Mask) -> I8:
    """Return per call, row, the last of some calls (bool per call) before it on its process, -1 if none is."""
    last = np.concatenate(([-1], np.maximum.accumulate(np.where(stops, np.arange(len(stops)), -1))))[calls]
    return np.where(last >= trace.first_calls[trace.calls.location[calls]], last, -1)


def _places(now: Reordered, sends: I8, receive: bool) -> tuple[list[_Place], dict[int, str]]:
    """Return where sends, recorded rows, can go, each place once; and why others stay, by recorded row."""
    program, trace = Program(now), now.trace
    rows, old = now.call[sends], np.argsort(now.call)
    places, why, rules = dict[_Place, None](), dict[int, str](), dict[int, Rules]()
    gone: dict[int, int] = {}
    behind = receives_before(trace, rows) if receive else computed_before(program, rows)
    for send, row, last in sorted(zip(sends.tolist(), rows.tolist(), behind.tolist(), strict=True)):
        if last < 0:
            why[send] = "the last call before it that must have ended is no receive" if receive else "no call is before it"
            continue
        place = _before_receive(program, row, last) if receive else _before_computation(program, row, last)
        location = int(trace.calls.location[row])
        if location not in rules:
            rules[location] = find_rules(trace, location)
        limit, kind = rules[location].before(place.first, place.last)
        if not PASSIVE[trace.calls.op[place.first : place.last + 1]].all():
            why[send] = "the region around it holds calls that bring data"
        elif limit >= last + place.behind and gone.get(limit) != last:
            why[send] = f"not before {named_call(trace, int(old[limit]))}: {REASONS[kind]}"
        else:
            gone |= dict.fromkeys(range(place.first, place.last + 1), last)
            places[place] = None
    return list(places), why


def _before_receive(program: Program, send: int, receive: int) -> _Place:
    """Return the place of a send ahead of a receive, rows: regions around one of both alone stay whole."""
    entered, left = _regions(program, send)
    step, before = int(program.call[send]), int(program.call[receive])
    around = (entered > before) & (entered < step) & (left > step)
    begin, end = (int(entered[around].min()), int(left[around].max())) if around.any() else (step, step)
    ahead = (entered < before) & (left > before) & (left < begin)
    return _at(program, begin, end, min(before, int(entered[ahead].min(initial=before))), behind=False)


def _before_computation(program: Program, send: int, last: int) -> _Place:
    """Return the place of a send ahead of what is computed since a call, rows: behind the regions around that alone."""
    entered, left = _regions(program, send)
    step, since, length = int(program.call[send]), int(program.call[last]), np.concatenate(([0], np.cumsum(program.length)))
    around = (entered > since) & (entered < step) & (left > step)
    late = length[entered + 1] - length[since + 1] > length[step + 1] - length[entered + 1]
    goes = around & late
    begin, end = (int(entered[goes].min()), int(left[goes].max())) if goes.any() else (step, step)
    ahead = (entered < since) & (left > since) & (left < begin)
    before = max(since, int(left[ahead].max(initial=since)), int(entered[around & ~late].max(initial=since)))
    return _at(program, begin, end, before + 1, behind=True)


def _regions(program: Program, call: int) -> tuple[I8, I8]:
    """Return the steps at which the regions of the process of a call are entered and left."""
    table = program.weighted.trace.regions
    own = slice(*np.searchsorted(table.location, program.location[program.call[call]] + np.arange(2)))
    return program.entered[own], program.left[own]


def _at(program: Program, begin: int, end: int, before: int, behind: bool) -> _Place:
    first, stop = np.searchsorted(program.call, [begin, end + 1]).tolist()
    return _Place(begin, end, before, first, stop - 1, behind)


def _behind(now: Reordered, places: list[_Place], text: str) -> Reordered:
    """Return the graph in which sends, and the regions around them, have run to their places."""
    if not places:
        return now
    calls = np.concatenate([np.arange(place.first, place.last + 1) for place in places])
    now = unheld(now, calls[SENDS[now.trace.calls.op[calls]]])
    program, old = Program(now), np.argsort(now.call)
    ahead, moves = np.arange(len(program.length)), list[Moved]()
    moved = np.zeros(len(ahead), bool)
    for place in places:
        ahead[place.begin : place.end + 1], moved[place.begin : place.end + 1] = place.before, True
        passed = (place.first, place.last) if place.behind else (np.searchsorted(program.call, place.before), place.first - 1)
        first, last, before, until = (int(old[row]) for row in (place.first, place.last, *passed))
        moves.append(Moved(first, last, before, until, int(program.location[place.begin]), asked=text))
    order = np.lexsort((np.arange(len(ahead)), ~moved, ahead))
    begins, stays = (
        np.array([place.begin for place in places]),
        np.unique([place.before for place in places if not place.behind]).astype("i8"),
    )
    follows = order[np.searchsorted(ahead[order], begins, "right")]
    leads = order[np.searchsorted(ahead[order], stays)]
    computed, length = program.length, program.length.copy()
    for lose, gain in ((begins, follows), (stays, leads)):  # what is computed before those that move, and before what they run ahead of
        np.subtract.at(length, lose, computed[lose])
        np.add.at(length, gain, computed[lose])
    program.length = length
    return reorder(program, order, tuple(moves))
