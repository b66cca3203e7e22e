"""Sends run ahead of a region that is computed before them and holds no call: what they send must be ready there, which no trace tells."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from perwiz.engines.sweep import sweep
from perwiz.loggps.weigh import Weighted
from perwiz.trace import operations
from perwiz.trace.arrays import I8
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.order.program import Program
from perwiz.whatif.order.reorder import Moved, Reordered, recorded_rows, reorder, unheld
from perwiz.whatif.waits import waiting

_ROUNDS = 16
"""Partners of one wait whose sends move, one after the other."""
SENDS = np.isin(operations.KIND, (operations.SEND, operations.ISEND))
PASSIVE = SENDS | (operations.KIND == operations.IRECV)
"""Per op: what brings its process no data."""


@dataclasses.dataclass(frozen=True)
class Place:
    """A place for a send: ahead of an instance of a region, row of regions; the calls up to `end` go with it."""

    instance: int
    end: int


class Places:
    """The places that sends of a trace may have ahead of regions."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        rows = np.arange(len(trace.calls))
        self._since = np.maximum.accumulate(np.where(PASSIVE[trace.calls.op], trace.first_calls[trace.calls.location], rows + 1))
        """Per call: the first one from which on, up to it, nothing brings data."""

    def of(self, send: int) -> list[Place]:
        """Return the places of a send, row of calls, nearest first.

        The instance holds no call, and lies in the same one as the send, or as the regions around that, which go with it. From it to the
        last call that goes with it nothing brings data, so all calls keep their order.
        """
        trace, table = self._trace, self._trace.regions
        low, high = np.searchsorted(table.first_call, [self._since[send], send + 1])
        rows = np.arange(low, high)
        rows = rows[table.location[rows] == trace.calls.location[send]]
        parent, end = table.parent[rows].tolist(), table.end_call[rows].tolist()
        out, around = list[Place](), dict[int, int]()
        for row, above, stop, first in reversed(list(zip(rows.tolist(), parent, end, table.first_call[rows].tolist(), strict=True))):
            if stop > send:
                around[above] = stop
            elif stop == first and (above < 0 or table.end_call[above] > send):
                last = around.get(above, send + 1)
                if PASSIVE[trace.calls.op[send:last]].all():
                    out.append(Place(row, last))
        return out


def sends_waited_for(weighted: Reordered, calls: I8) -> I8:
    """Return the sends, recorded rows, ascending, that some recorded calls (rows) wait for."""
    waits = waiting(weighted, sweep(weighted.graph, weighted.weight))
    rows = weighted.call[calls]
    partner = np.unique(waits.partner[rows[(waits.time[rows] > 0) & (waits.partner[rows] >= 0)]])
    return np.sort(np.argsort(weighted.call)[partner[SENDS[weighted.trace.calls.op[partner]]]])


def each_round(weighted: Weighted, calls: I8, text: str, move: Callable[[Reordered, I8], tuple[Reordered, dict[int, str]]]) -> Reordered:
    """Return the graph in which the sends that recorded calls (rows) wait for have moved, and the moves, `text` as what was asked: of one
    that must not a move that stays, and why.

    `move` moves sends, recorded rows, and says why others of them stay. Where a call then waits for another partner, that moves, too.
    """
    now, location = recorded_rows(weighted), weighted.trace.calls.location
    tried, stay = np.zeros(len(now.trace.calls), bool), list[Moved]()
    for _ in range(_ROUNDS):
        sends = sends_waited_for(now, calls)
        sends = sends[~tried[sends]]
        if not len(sends):
            break
        tried[sends] = True
        now, why = move(now, sends)
        stay += [Moved(send, send, send, send - 1, int(location[send]), note, text) for send, note in why.items()]
    return dataclasses.replace(now, moves=(*now.moves, *stay))


def move_ahead(weighted: Weighted, calls: I8, region: str, text: str) -> Reordered:
    """Return the graph in which the sends that recorded calls (rows) wait for run ahead of the region computed last before them, and the
    moves, `text` as what was asked: of a send that has no such place one that stays, and why.

    What is computed behind the region moves along. A send that moves does not hold its process until the receiver is there, as MPI_Isend.
    Raises UsageError if there is no such region.
    """
    name = selectors.region(weighted.trace, region)
    stays = f"between '{region}' and it is something that brings data, or '{region}' is not before it or holds calls"

    def move(now: Reordered, sends: I8) -> tuple[Reordered, dict[int, str]]:
        places, names = Places(now.trace), now.trace.region_names
        pairs = zip(sends.tolist(), now.call[sends].tolist(), strict=True)
        several = [(send, place) for send, row in pairs for place in reversed(places.of(row)) if names[place.instance] == name]
        found = dict(several)  # the nearest, which comes last
        return _ahead(now, found, region, text), {send: stays for send in sends.tolist() if send not in found}

    return each_round(weighted, calls, text, move)


def _ahead(now: Reordered, places: dict[int, Place], region: str, text: str) -> Reordered:
    """Return the graph in which sends, recorded rows, have run to their places."""
    if not places:
        return now
    now = unheld(now, now.call[list(places)])
    program = Program(now)
    order, moves = np.arange(len(program.length)), list[Moved]()
    last: dict[int, int] = {}
    for send, place in places.items():
        last[place.instance] = max(last.get(place.instance, 0), place.end)
        location = int(program.weighted.trace.calls.location[now.call[send]])
        moves.append(Moved(send, send, send, send, location, asked=text, region=region))
    for instance, end in last.items():
        begin, middle, stop = int(program.entered[instance]), int(program.left[instance]) + 1, _step_behind(program, instance, end)
        order[begin:stop] = np.concatenate([order[middle:stop], order[begin:middle]])
    return reorder(program, order, tuple(moves))


def _step_behind(program: Program, instance: int, end: int) -> int:
    """Return the step behind the calls up to `end`, and behind the regions around them that lie in the same one as an instance."""
    table = program.weighted.trace.regions
    stop = int(program.call[end - 1]) + 1
    around = np.flatnonzero((table.parent == table.parent[instance]) & (table.location == table.location[instance]))
    around = around[(table.first_call[around] < end) & (table.end_call[around] >= end) & (program.entered[around] > program.left[instance])]
    around = around[table.end_call[around] > table.first_call[around]]
    return max(stop, int(program.left[around].max(initial=0)) + 1)
