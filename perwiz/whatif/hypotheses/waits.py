"""Calls that do not wait, or take no time at all, or whose messages do not hold them."""

from __future__ import annotations

import numpy as np

from perwiz.errors import UsageError
from perwiz.graph.graph import GAP, RENDEZVOUS, START
from perwiz.kernels import weigh as kernel
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace.arrays import I8, Mask
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import Hypothesis


def release(weighted: Weighted, calls: Mask, spared: int) -> None:
    """Let no partner bind the return of these calls any more, in place; edges of kind `spared` and behind it stay."""
    graph = weighted.graph
    kernel.cut_incoming(graph.start, graph.kind, graph.returned[calls], spared, CUT, weighted.weight)


class ZeroWait(Hypothesis):
    """The selected calls do not wait: partners' times no longer bind them (PerWiz paper, 2.2). The partners stay where they are."""

    word, stage, effects_may_precede_causes = "zero-wait", 3, True

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph in which no partner binds the return of a selected call."""
        return self.of(weighted, selectors.calls(weighted.trace, self.argument))

    @staticmethod
    def of(weighted: Weighted, calls: Mask) -> Weighted:
        """Return the graph in which no partner binds the return of these calls; overwrites its weights."""
        release(weighted, calls, GAP)
        return weighted


class ZeroTime(Hypothesis):
    """The selected calls take no time: they return when they are entered, or when what they begin is begun elsewhere."""

    word, stage, effects_may_precede_causes = "zero-time", 3, True

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph in which selected calls return at once."""
        return self.of(weighted, selectors.calls(weighted.trace, self.argument))

    @staticmethod
    def of(weighted: Weighted, calls: Mask) -> Weighted:
        """Return the graph in which these calls return at once; overwrites its weights."""
        release(weighted, calls, START)
        weighted.weight[weighted.graph.start[weighted.graph.returned[calls]]] = 0
        return weighted


class Eager(Hypothesis):
    """Messages sent by the selected calls do not hold their sender until the receiver is there, as if they were below the eager limit.

    What they cost stays.
    """

    word, stage = "eager", 3

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph in which no receiver binds the sender of these messages. Raises UsageError if these calls send none."""
        sent = selectors.calls(weighted.trace, self.argument)[weighted.trace.messages.send]
        if not sent.any():
            raise UsageError(f"{self}: these calls send no message")
        weighted.weight[held(weighted, sent)] = CUT
        return weighted


def held(weighted: Weighted, messages: Mask) -> I8:
    """Return the edges by which some messages, bool per message, hold their senders, those left out that bind nobody."""
    edge = np.flatnonzero((weighted.graph.kind == RENDEZVOUS) & (weighted.weight != CUT))
    return edge[messages[weighted.graph.cause[edge]]]
