"""Patterns between metahosts and within one, and who waits for whom (Becker, Wolf et al. 2007; Scalasca 1.4).

A message is between metahosts if its ends are on different ones, and so is waiting for a post, a completion, a lock or progress. A
collective is if its communicator has processes of several: then all its waits are, whoever is late. Every other instance is within one, so
that the twins of a pattern add up to it. Who was late is told by `matrix`, which the paper names as missing.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from perwiz.patterns.library import OF_MPI
from perwiz.patterns.metrics import NS, Metric
from perwiz.patterns.pattern import Instances, Pattern, View
from perwiz.patterns.severity import Cells, added
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.trace import Trace

BETWEEN, WITHIN = "grid", "ngrid"
ROOTS = (
    Metric(BETWEEN, "Between metahosts", "", NS, "wait states of messages and communicators that span metahosts"),
    Metric(WITHIN, "Within metahosts", "", NS, "all other wait states"),
)


class Twin(Pattern):
    """The instances of a pattern that are between metahosts, or those that are not."""

    between: ClassVar[bool]

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return those of the parent's instances."""
        return parent.where(spans(view.trace, parent) == self.between)


def _twin(pattern: type[Pattern], side: str) -> type[Twin]:
    inner = pattern.of in {twinned.name for twinned in _TWINNED}
    body = {
        "name": f"{side}_{pattern.name}",
        "title": f"{'Grid' if side == BETWEEN else 'Non-grid'} {pattern.title}",
        "of": pattern.name,
        "under": f"{side}_{pattern.of}" if inner else side,
        "meaning": f"{pattern.title}, {'between' if side == BETWEEN else 'within'} metahosts",
        "waits": pattern.waits,
        "between": side == BETWEEN,
        "__doc__": f"{pattern.title}: its instances {'between' if side == BETWEEN else 'within'} metahosts.",
    }
    return type(f"{side.title()}{pattern.__name__}", (Twin,), body)


_TWINNED = tuple(pattern for pattern in OF_MPI if pattern.of != "mpi_init_exit")
TWINS: tuple[type[Twin], ...] = tuple(_twin(pattern, side) for side in (BETWEEN, WITHIN) for pattern in _TWINNED)
"""Two per pattern of messages, collectives, barriers and windows."""


def several(trace: Trace) -> bool:
    """Return whether the locations are on more than one metahost."""
    metahost = trace.locations.metahost
    return bool((metahost != metahost[:1]).any())


def spans(trace: Trace, instances: Instances) -> Mask:
    """Return which instances are between metahosts, by their message, else their collective, else their cause."""
    table, metahost = trace.messages, trace.locations.metahost
    out = np.zeros(len(instances), bool)
    rows = np.flatnonzero(instances.message >= 0)
    ends = (metahost[trace.calls.location[column[instances.message[rows]]]] for column in (table.send, table.receive_done))
    out[rows] = np.not_equal(*ends)
    location = trace.calls.location
    rows = np.flatnonzero((instances.message < 0) & (instances.cause >= 0))
    out[rows] = metahost[location[instances.call[rows]]] != metahost[location[instances.cause[rows]]]
    rows = np.flatnonzero((instances.message < 0) & (instances.collective >= 0))
    out[rows] = _comm_spans(trace)[trace.collectives.comm[instances.collective[rows]]]
    return out


def _comm_spans(trace: Trace) -> Mask:
    """Return, per communicator and one more for -1, whether its processes are on several metahosts."""
    ranks, location = np.unique(trace.locations.process, return_index=True)
    out = np.zeros(len(trace.communicators) + 1, bool)
    for comm in range(len(trace.communicators)):
        members = trace.communicators.members(comm)
        nearest = np.minimum(np.searchsorted(ranks, members), len(ranks) - 1)
        metahost = np.where(ranks[nearest] == members, trace.locations.metahost[location[nearest]], 0)
        out[comm] = (metahost != metahost[:1]).any()
    return out


def totals(twins: dict[str, Cells], locations: int) -> dict[str, Cells]:
    """Return the severity of the two roots: the sum of the twins right below each."""
    top = {side: [twins[twin.name] for twin in TWINS if twin.under == side] for side in (BETWEEN, WITHIN)}
    return {side: added(cells, locations) for side, cells in top.items()}


@dataclasses.dataclass(frozen=True, eq=False)
class Matrix:
    """Who waits for whom in a pattern: one row per metahost that waits, one column per metahost of the late process."""

    metahosts: I4
    """Numbers of the metahosts, ascending."""
    severity: I8
    """ns."""
    instances: I8


def matrix(trace: Trace, instances: Instances) -> Matrix:
    """Return the waits of a pattern by the metahosts of who waits and who is late; instances without a late process are left out.

    waits of metahosts 3 0 3, 5 7 9 ns, for processes of 0 0 0      metahosts 0 3, severity (7 0) (14 0), instances (1 0) (2 0)
    """
    caused = instances.where((instances.message >= 0) | (instances.cause >= 0))
    metahosts, of_location = np.unique(trace.locations.metahost, return_inverse=True)
    shape = len(metahosts), len(metahosts)
    pair = of_location[trace.calls.location[caused.call]], of_location[_late(trace, caused)]
    severity, count = np.zeros(shape, "i8"), np.zeros(shape, "i8")
    np.add.at(severity, pair, caused.severity)
    np.add.at(count, pair, 1)
    return Matrix(metahosts, *(trace.share.reduced(values, "sum") for values in (severity, count)))


def _late(trace: Trace, waits: Instances) -> I4:
    """Return the location that is waited for: the other end of the message, or that of the cause."""
    table, location = trace.messages, trace.calls.location
    out = location[waits.cause]
    rows = np.flatnonzero(waits.message >= 0)
    sender, receiver = (location[column[waits.message[rows]]] for column in (table.send, table.receive_done))
    out[rows] = np.where(location[waits.call[rows]] == sender, receiver, sender)
    return out


def name(trace: Trace, metahost: int) -> str:
    """Return the name of a metahost, its number if nobody names it."""
    named = 0 <= metahost < len(trace.metahosts) and trace.metahosts[metahost]
    return named or str(metahost)
