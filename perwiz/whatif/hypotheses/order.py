"""Another order of calls."""

from __future__ import annotations

import contextlib
import re

import numpy as np

from perwiz.errors import UsageError
from perwiz.loggps.weigh import Weighted
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.order import advance, move, ordering_rules


class Move(Hypothesis):
    """`e40..e44 before e30`: these calls of a process, each with the computation before it, run before that call and its computation.

    Several joined by commas change together, so that both sides of a message or all processes of a collective can.
    """

    word, stage, joined = "move", 4, True

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph of the program in that order. Raises UsageError for an order that cannot be."""
        return move.apply_moves(weighted, str(self), self.argument)


class Advance(Hypothesis):
    """`e123`, `e123,e130` or `site:MPI_Recv@NAME`, each also with `by REGION`: what these calls wait for runs earlier on its own process,
    as far as the wait asks.

    What moves is one call and the computation before it, or the instance of the region that it lies in, ahead of whatever is before that in
    the region around it. See `advance.move_earlier`.
    """

    word, stage = "advance", 5

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph in which partners of the calls run earlier, one call after the other; those that do not wait change nothing.

        Raises UsageError for calls that are none, and if the trace tells which calls need which.
        """
        ordering_rules.check_movable(weighted.trace, str(self))
        calls, region = self.asked(weighted.trace)
        for call in calls:
            weighted = advance.try_earlier(weighted, call, region, str(self))
        return weighted

    def asked(self, trace: Trace) -> tuple[list[int], str | None]:
        """Return the calls, and the region that bounds their partners' blocks, None: single calls."""
        if self.argument.startswith("site:"):
            with contextlib.suppress(UsageError):  # what looks like a region behind it may be part of the name of the site
                return np.flatnonzero(selectors.calls(trace, self.argument)).tolist(), None
        match = re.fullmatch(r"\s*(site:.+?|e[0-9]+(?:\s*,\s*e[0-9]+)*)(?:\s+by\s+(.*\S))?\s*", self.argument)
        if not match:
            raise UsageError(f"{self}: must be like advance e123, or advance e123 by REGION")
        if match[2] is not None:
            selectors.region(trace, match[2])
        return np.flatnonzero(selectors.calls(trace, match[1])).tolist(), match[2]
