"""Polling for what is matched anew: how often a process tests or probes in vain is open, as it does so until something has come.

So where a message came behind the first of the tests and probes in vain directly before the call that gets it, they take no time, nor does
what is between two and no longer, and that call waits. How long behind the message it came in the recorded run stays: the process was in
the middle of a test, or between two.

    message comes at 25    test 0 .. 10, 10 .. 20, 20 .. 30, and the last one 30 .. 40: it waits until 25, and returns 15 later
"""

from __future__ import annotations

import numpy as np

from perwiz.graph.graph import MESSAGE
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif.hypotheses.waits import in_vain
from perwiz.whatif.wildcards import found_by


def polled(trace: Trace, anew: Mask) -> tuple[I8, I8]:
    """Return (first call, last call) of the tests and probes in vain directly before each call that gets one of some messages, rows.

    `anew` are these, bool per message; without any, the first call is behind the last one.
    """
    done = trace.messages.receive_done[anew].astype("i8")
    found, message = found_by(trace)
    vain = in_vain(trace)
    vain[found] = False
    breaks = np.maximum.accumulate(np.where(vain, NONE, np.arange(len(vain))))
    before = np.full(len(trace.messages), NONE)
    before[message] = found
    last = np.where(before[anew] != NONE, before[anew], done) - 1
    first = np.maximum(breaks[np.maximum(last, 0)] + 1, trace.first_calls[trace.calls.location[done]])
    return np.where(last < 0, 0, first), last


def waiting(weighted: Weighted, recorded: I8, as_recorded: I8, anew: Mask) -> I8:
    """Return the weights with waits in place of tests and probes in vain for some messages, bool each, int64 ns per edge.

    `as_recorded` are the weights of the recorded run, and `recorded` its times, per vertex.
    """
    trace, graph = weighted.trace, weighted.graph
    first, last = polled(trace, anew)
    polls = np.flatnonzero(first <= last)
    if not len(polls):
        return weighted.weight
    out = weighted.weight.copy()
    first, last, m = first[polls], last[polls], np.flatnonzero(anew)[polls]
    edge = np.full(len(trace.messages), NONE)
    carries = np.flatnonzero(graph.kind == MESSAGE)
    edge[graph.cause[carries]] = carries
    edge = edge[m]
    returned = graph.returned[trace.messages.receive_done[m]]
    late = recorded[returned] - recorded[graph.source[edge]] - as_recorded[edge]
    came = recorded[returned] - late
    waited = (edge != NONE) & (out[edge] != CUT) & (came > recorded[graph.entered[first]])
    np.maximum.at(last_came := np.full(graph.vertices, CUT), returned[waited], came[waited])
    waited &= came == last_came[returned]
    count = (last - first + 1)[waited]
    own = graph.start[graph.returned[_rows(first[waited], count)]]
    gaps = graph.start[graph.entered[_rows(first[waited] + 1, count)]]
    out[own] = 0
    out[gaps[as_recorded[gaps] <= as_recorded[own]]] = 0
    out[edge[waited]] += late[waited]
    return out


def _rows(first: I8, count: I8) -> I8:
    """Return so many rows from each first one on."""
    return np.repeat(first - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
