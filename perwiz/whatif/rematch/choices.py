"""Which messages are matched anew: those of locations that receive from anybody, and of calls that complete some of several requests."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.graph.build import probes
from perwiz.trace import operations
from perwiz.trace.arrays import Ints, Mask, shortest_signed
from perwiz.trace.tables import ANY, NONE
from perwiz.trace.trace import Trace
from perwiz.whatif.wildcards import CHOOSING, found_by, possible

_RECEIVES = np.isin(operations.KIND, (operations.RECV, operations.IRECV))


@dataclasses.dataclass(frozen=True, eq=False)
class Choices:
    """Per message of a trace: whether and how it is matched anew, numbers in the narrowest integers."""

    wild: Mask
    """A receive, or the probe before it, takes it that would take one of another source or tag, too."""
    anew: Mask
    """It is matched anew: received where wild ones are, on the same communicator."""
    chosen: Mask
    """A call completes its receive that completes one or some of several requests; or a wait, and all that any source may send is waited
    for in the order in which it is posted: then the first that can be completed is."""
    source: Ints
    """Location that its receive asks for, or ANY."""
    tag: Ints
    """Tag that its receive asks for, or ANY."""
    probe: Ints
    """Blocking probe that finds it, row of calls, or NONE."""


def choices(trace: Trace) -> Choices:
    """Return how messages are matched anew. Where the trace does not tell which receives are wildcards, those that may have been are."""
    calls, table = trace.calls, trace.messages
    peer, tag = (np.where(_RECEIVES[calls.op], column, NONE)[table.receive] for column in (calls.peer, calls.tag))
    found = np.full(len(table), NONE, "i4")
    probe, message = probes(trace)
    asks = (calls.peer[probe] == ANY) | (calls.tag[probe] == ANY)
    probe, message = probe[asks], message[asks]
    found[message] = probe
    peer[message], tag[message] = calls.peer[probe], calls.tag[probe]
    probe, message = found_by(trace)
    asks = (calls.peer[probe] == ANY) | (calls.tag[probe] == ANY)
    peer[message[asks]], tag[message[asks]] = calls.peer[probe[asks]], calls.tag[probe[asks]]
    if not trace.wildcards_told:
        peer[possible(trace).message] = ANY
    alone = _alone(trace)
    wild = ((peer == ANY) | (tag == ANY)) & alone
    chosen = CHOOSING[calls.op[table.receive_done]] & (table.receive != table.receive_done) & alone
    chosen |= _awaited(trace, wild, chosen)
    where = calls.location[table.receive].astype("i8") * (len(trace.communicators) + 1) + table.comm
    anew = np.isin(where, where[wild]) & alone
    return Choices(
        wild=wild,
        anew=anew | chosen,
        chosen=chosen,
        source=shortest_signed(np.where(peer == ANY, np.int32(ANY), calls.location[table.send])),
        tag=shortest_signed(np.where(tag == ANY, np.int32(ANY), table.tag)),
        probe=shortest_signed(found),
    )


def _awaited(trace: Trace, wild: Mask, chosen: Mask) -> Mask:
    """Return which messages a wait completes whose location posts receives for anybody, and waits for each in the order of these.

    receives of any source, posted at   1 4 7    completed by   3 6 9   each is waited for
                                        1 2 7                   4 3 9   none: the second was waited for first
    """
    table, calls = trace.messages, trace.calls
    location = calls.location[table.receive]
    m = np.flatnonzero(wild & (table.receive != table.receive_done) & ~np.isin(location, location[chosen]))
    m = m[np.argsort(table.receive[m], kind="stable")]
    against = (np.diff(table.receive_done[m]) <= 0) & (np.diff(location[m]) == 0)
    out = np.zeros(len(table), bool)
    out[m[~np.isin(location[m], location[m[1:][against]])]] = True
    return out


def _alone(trace: Trace) -> Mask:
    """Return which messages are received by the only location of its process that receives any."""
    location = trace.calls.location[trace.messages.receive]
    receiving = np.unique(location)
    ranks, process = trace.locations.processes()
    several = np.bincount(process[receiving], minlength=len(ranks)) > 1
    return ~several[process[location]]
