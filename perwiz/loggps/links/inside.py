"""Messages inside of collectives, as edges of a graph in which collectives are made in rounds."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from perwiz.clock.latency import distance
from perwiz.kernels.names import NODE
from perwiz.loggps.keys import POSTED
from perwiz.loggps.model import Model, Sent
from perwiz.trace.arrays import F8, I4, I8, Mask
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace


class Depending(NamedTuple):
    """Edges that weigh more by the delays of messages."""

    edge: I8
    message: I8


@dataclasses.dataclass(frozen=True, eq=False)
class Inside:
    """Messages inside of collectives, one per row; `edge` to `posts` are edges of a graph, -1 none."""

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
    sender: I4
    """Location."""
    receiver: I4
    bytes: I8
    factor: F8
    """What all its costs are multiplied by."""
    collective: I8
    """Row of collectives."""

    def __len__(self) -> int:
        return len(self.edge)

    def sent(self, trace: Trace) -> Sent:
        """Return the messages as their costs see them."""
        return Sent(self.bytes, pairs=np.maximum(distance(trace.locations, self.sender, self.receiver), NODE))

    def calls(self, trace: Trace) -> I8:
        """Return the call in which each is sent."""
        members, many = trace.members, len(trace.locations)
        key = members.collective.astype("i8") * many + trace.calls.location[members.call]
        row = np.argsort(key, kind="stable")
        return members.call[row[np.searchsorted(key[row], self.collective * many + self.sender)]].astype("i8")

    def depending(self, trace: Trace, model: Model, some: Mask) -> Depending:
        """Return the edges that some of the messages, bool each, delay.

        Who waits for one waits longer; so does who takes it late, if it only moves then, and who is held by it until it is there.
        """
        waits, posted = model.is_synchronous(self.sent(trace)), model.progress == POSTED
        late, held = some & (waits | posted), some & waits & posted
        sides = ((self.edge, some), (self.own, late), (self.held, held), (self.sends, held))
        rows = [np.flatnonzero(which & (edge != NONE)) for edge, which in sides]
        return Depending(np.concatenate([edge[of] for (edge, _), of in zip(sides, rows, strict=True)]), np.concatenate(rows))

    def at(self, number: I8) -> Inside:
        """Return them as edges of another graph: `number` of each edge there is."""
        numbers = np.append(number, NONE)
        return dataclasses.replace(self, **{name: numbers[getattr(self, name)] for name in ("edge", "own", "held", "sends", "posts")})


def joined(parts: list[Inside | None]) -> Inside:
    """Return the messages of several parts."""
    there = [part for part in parts if part is not None]
    columns = {field.name: [getattr(part, field.name) for part in there] for field in dataclasses.fields(Inside)}
    return Inside(**{name: np.concatenate(column) for name, column in columns.items()})
