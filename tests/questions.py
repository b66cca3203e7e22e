"""Many questions of one trace, quickly: the steps of `predict` without what it says of its certainty and the trace.

What a law asks in hundreds is the predicted run. tests/whatif/test_laws.py holds that it is the one that `predict` returns.
"""

from __future__ import annotations

from perwiz.loggps.machine import Machine
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.hypotheses.base import Asked, parse_all
from perwiz.whatif.run import Run, graph_of, machine_of, replay_of, treated, under


class Questions:
    """A trace with its clocks treated and the machine found, both once."""

    def __init__(self, trace: Trace, model: Machine | str | None = None, clock: str = "clc") -> None:
        """Take what `predict` takes."""
        self._trace, self._machine, self._clocks = trace, machine_of(model, trace), treated(trace, clock)

    def run(self, asked: Asked, engine: str = "sweep") -> Run:
        """Return the run under hypotheses."""
        hypotheses = parse_all(asked, self._trace)
        graph = graph_of(self._clocks.trace, self._machine.model, hypotheses)
        return under(replay_of(self._clocks, graph, self._machine, engine), hypotheses, engine)

    def makespan(self, *asked: str) -> int:
        """Return the predicted makespan, ns."""
        return self.run(asked).recorded_rows().makespan

    def predicted(self, *asked: str) -> Timeline:
        """Return the predicted times."""
        return self.run(asked).recorded_rows()
