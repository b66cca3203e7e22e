"""The calls and region boundaries of every location as steps that can change places."""

from __future__ import annotations

import numpy as np

from perwiz.loggps.weigh import Weighted
from perwiz.whatif.hypotheses.stretch import Segments


class Program(Segments):
    """The steps of every location in program order: a step is a region boundary, a call or the end, with the computation before it.

    A step's number is that of its segment; steps of a location follow one another. Two calls, e0 inside a region, of one location:

        program   enter region   call e0   leave region   call e1   end
        step      0              1         2              3         4
        call      e0: 1, e1: 3       first 0, ended 4
        vertices  1, 3 and 4; e0's step is the computation before it, from the region's entry on

    All columns are int64 rows of steps, the masks bool per step.
    """

    def __init__(self, weighted: Weighted) -> None:
        super().__init__(weighted)
        trace = weighted.trace
        last = self.bounds[1:].astype("i8") - 1
        self.weighted = weighted
        self.recorded = self.length
        """Computation before each step as it was; what reorders may give `length` another."""
        self.call = last[np.arange(len(trace.calls)) + trace.calls.location]
        """Step per call."""
        self.ended = last[trace.first_calls[1:] + np.arange(len(trace.locations))]
        """Step per location: its last instant."""
        self.first = np.concatenate(([0], self.ended[:-1] + 1))
        """First step per location."""
        self.is_call = np.zeros(len(self.length), bool)
        """Per step."""
        self.is_call[self.call] = True
        self.is_vertex = self.is_call.copy()
        """Per step: a call, or the end."""
        self.is_vertex[self.ended] = True
