"""Which links are overloaded, and for how long: where what is on its way would take more of them, alone, than they carry."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.loggps.links.flows import Flows, passed
from perwiz.loggps.links.topology import Topology
from perwiz.trace.arrays import F8, I8
from perwiz.trace.tables import NONE

_ALMOST = 1e-6
"""Part of the speed of a node that rounding may add to what is asked of a link."""


@dataclasses.dataclass(frozen=True)
class Overloaded:
    """A link while more is asked of it than it carries."""

    name: str
    time: int
    """ns, altogether."""
    messages: int
    """On it then."""


def overloaded(topology: Topology, found: Flows, time: I8) -> list[Overloaded]:
    """Return the links that are overloaded if vertices have these times, the longest first.

    A message is on its links until it has passed them, or has come: what was recorded may be faster than they are.
    """
    start = found.start(time)
    links = np.diff(found.first)[found.route]
    flow = np.repeat(np.arange(len(links)), links)
    at = np.arange(len(flow)) + np.repeat(found.first[found.route] - np.cumsum(links) + links, links)
    link, part = found.link[at], found.part[at]
    count = len(link)
    # what came sooner than its links allow was on them no longer than it was under way
    came = np.where(found.ends == NONE, np.inf, np.maximum(time[found.ends], start))
    left = start + found.volume / found.most + passed(found, start) - found.farther
    when = np.concatenate([start[flow].astype("f8"), np.minimum(left, came)[flow]])
    more = np.concatenate([part, -part])
    row = np.lexsort((more, when, np.tile(link, 2)))
    over = _over(found.capacity[np.tile(link, 2)[row]], when[row], more[row], found.most)
    upto = np.empty(2 * count)
    upto[row] = over
    there = upto[count:] > upto[:count]
    longest = np.zeros(len(found.capacity))
    np.add.at(longest, np.tile(link, 2)[row], np.diff(over, prepend=0.0))
    messages = np.bincount(link[there], minlength=len(longest))
    each = [Overloaded(topology.link(k), round(float(longest[k])), int(messages[k])) for k in np.flatnonzero(messages).tolist()]
    return sorted(each, key=lambda one: -one.time)


def _over(capacity: F8, time: F8, more: F8, most: float) -> F8:
    """Return for how long links have been overloaded when each begin or end of a flow comes, ns, summed over links; by link, then time."""
    load = np.cumsum(more)  # of each link it is nothing again at its end
    behind = (load * most > capacity + _ALMOST * most)[:-1]
    past = np.where(behind, np.diff(time), 0.0)
    return np.concatenate([np.zeros(min(1, len(time))), np.cumsum(past)])
