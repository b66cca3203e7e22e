"""Calls that do not wait, or take no time at all."""

from __future__ import annotations

from perwiz.graph.graph import GAP, KINDS
from perwiz.kernels import weigh as kernel
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace.arrays import Mask
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
    """The selected calls take no time: they return when they are entered."""

    word, stage, effects_may_precede_causes = "zero-time", 3, True

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph in which selected calls return at once."""
        return self.of(weighted, selectors.calls(weighted.trace, self.argument))

    @staticmethod
    def of(weighted: Weighted, calls: Mask) -> Weighted:
        """Return the graph in which these calls return at once; overwrites its weights."""
        release(weighted, calls, len(KINDS))
        weighted.weight[weighted.graph.start[weighted.graph.returned[calls]]] = 0
        return weighted
