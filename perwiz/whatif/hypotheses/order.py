"""Another order of calls, and another schedule of the pipelines of a training job."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable

import numpy as np

from perwiz.errors import UsageError
from perwiz.graph.graph import MESSAGE
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import I8, Ints
from perwiz.trace.numbers import distinct
from perwiz.trace.parts.pipeline import NO_PIPELINE, Pipelines, pipelines
from perwiz.trace.tables import STREAM
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.hypotheses.stretch import Segments, edges
from perwiz.whatif.order import advance, ahead, behind, move, ordering_rules

RECEIVE, COMPUTATION = BEFORE = "receive", "computation"
"""Before this, where no region has the name: before the receive that comes before a send, or all that is computed before it."""


class Move(Hypothesis):
    """`e40..e44 before e30`: these calls of a process, each with the computation before it, run before that call and its computation.

    Several joined by commas change together, so that both sides of a message or all processes of a collective can.
    """

    word, stage, joined = "move", 4, True

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph of the program in that order. Raises UsageError for an order that cannot be."""
        return move.apply_moves(weighted, str(self), self.argument)


class Advance(Hypothesis):
    """`e123`, `e123,e130` or `site:MPI_Recv@NAME`, each also with `by REGION` or `before REGION`: what these calls wait for runs earlier on
    its own process.

    What moves is one call and the computation before it, or the instance of the region that it lies in, ahead of whatever is before that in
    the region around it, as far as the wait asks: see `advance.move_earlier`. Or the sends alone, ahead of the region computed before them:
    see `ahead.move_ahead`; with `before computation` ahead of all that is computed before them, with `before receive` ahead of the receive
    before that, too: see `behind.move_behind`.
    """

    word, stage = "advance", 5

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph in which partners of the calls run earlier; those that do not wait change nothing.

        Raises UsageError for calls that are none, and if the trace tells which calls need which.
        """
        ordering_rules.check_movable(weighted.trace, str(self))
        asked = self.asked(weighted.trace)
        if asked.before in BEFORE and asked.before not in weighted.trace.names:
            return behind.move_behind(weighted, asked.calls, str(self), receive=asked.before == RECEIVE)
        if asked.before is not None:
            return ahead.move_ahead(weighted, asked.calls, asked.before, str(self))
        return advance.try_earlier(weighted, asked.calls, asked.by, str(self))

    def asked(self, trace: Trace) -> Advanced:
        """Return what is asked for."""
        if self.argument.startswith("site:"):
            with contextlib.suppress(UsageError):  # what looks like a region behind it may be part of the name of the site
                return Advanced(np.flatnonzero(selectors.calls(trace, self.argument)))
        match = re.fullmatch(r"\s*(site:.+?|e[0-9]+(?:\s*,\s*e[0-9]+)*)(?:\s+(by|before)\s+(.*\S))?\s*", self.argument)
        if not match:
            raise UsageError(f"{self}: must be like advance e123, advance e123 by REGION, or advance e123 before REGION")
        if match[3] is not None and (match[2] == "by" or match[3] not in BEFORE):
            selectors.region(trace, match[3])
        calls = np.flatnonzero(selectors.calls(trace, match[1]))
        return Advanced(calls, **({} if match[2] is None else {match[2]: match[3]}))


@dataclasses.dataclass(frozen=True)
class Advanced:
    """What waits, calls in rows; the region whose instance moves, and the one, or a word of BEFORE, ahead of which sends move alone: None
    for single calls.
    """

    calls: I8
    by: str | None = None
    before: str | None = None


MANY = "many"
DISTURBED = "pieces=disturbed"
"""What holds up a micro-batch holds up each piece of it."""
IN_PROPORTION = "pieces=in proportion"
"""All that is computed of a micro-batch becomes shorter with it, what is short as well."""
SHORT = 0.1
"""Part of the longest that a micro-batch computes between two boundaries of regions, or calls, from which on that depends on its size."""


class MicroBatches(Hypothesis):
    """`2`: pipelines pass twice as many micro-batches, each half as long; `many`: so many that filling and draining take nothing.

    A stage begins when the one before has computed the first of the pieces that a micro-batch is cut into, and ends when it has computed
    what the last piece brings. So what it waits for comes earlier by all but one piece of the shorter of both computations: of stages of
    4 and 2 in two pieces, the second begins 1 before the first ends, and ends 1 behind it. Messages cost what they did; the calls of
    threads that pass them are made for each piece, and each takes what they do on average. So does what is short beside the rest of a
    micro-batch, see `short`: what makes an operator takes as long for small data. Of equal stages the bubble, (p - 1) /
    (m + p - 1) of the time, becomes (p - 1) / (k m + p - 1); with v parts of the model on each rank, interleaved, it is the same as with
    v times as many micro-batches (Narayanan et al., SC 2021, 2.2).
    """

    word, stage, example, effects_may_precede_causes, varied = "micro-batches", 3, "2", True, DISTURBED

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph in which messages between stages come earlier. Raises UsageError if there are no stages."""
        found, more = pipelines(weighted.trace), 0 if self.argument == MANY else self._times() - 1
        if found is None:
            raise UsageError(f"{self}: {NO_PIPELINE}")
        holds, kept = edges(weighted), 0.0 if self.argument == MANY else 1 / (more + 1)
        if more:
            weighted.weight[holds] += more * self._of_each(weighted, found)
        sooner = np.rint((1 - kept) * np.maximum(np.minimum(*found.lengths(weighted.weight[holds])), 0)).astype("i8")
        of_message = np.zeros(len(weighted.trace.messages), "i8")
        of_message[found.message] = sooner
        edge = np.flatnonzero(weighted.graph.kind == MESSAGE)
        weighted.weight[edge] -= of_message[weighted.graph.cause[edge]]
        return weighted

    def otherwise(self, weighted: Weighted) -> list[Hypothesis]:
        """Return the same with micro-batches that are held up as often as there are pieces, and with pieces that take their part alone."""
        return [] if self.argument in (MANY, "1") else [_Disturbed(self.argument), _InProportion(self.argument)]

    def _of_each(self, weighted: Weighted, found: Pipelines) -> I8:
        """Return per computation what each piece of it takes beside its part of that, ns: the mean work in the calls that pass it, and
        what is short.
        """
        return self._passing(weighted, found) + short(weighted, found)

    def _passing(self, weighted: Weighted, found: Pipelines) -> I8:
        """Return per computation the mean work in the calls that pass it, ns."""
        calls, table, graph = weighted.trace.calls.location, weighted.trace.messages, weighted.graph
        out, on_threads = np.zeros(len(calls) + len(weighted.trace.locations), "i8"), weighted.trace.locations.kind != STREAM
        for computation, column in ((found.sent, table.send), (found.taken, table.receive_done)):
            passing = column[found.message]
            work = np.where(on_threads[calls[passing]], np.maximum(weighted.weight[graph.start[graph.returned[passing]]], 0), 0)
            np.add.at(out, computation, _of_ways(found.way, work, np.mean))
        return out

    def _times(self) -> int:
        if not self.argument.isascii() or not self.argument.isdecimal() or not 1 <= int(self.argument[:10]) <= 1_000_000:
            raise UsageError(f"{self}: must be how many times as many there are, 1 to 1000000, or {MANY}")
        return int(self.argument)


class _Disturbed(MicroBatches):
    """The same; a piece is held up as long as micro-batches were on average: beside the shortest that its stage computed of them."""

    def otherwise(self, weighted: Weighted) -> list[Hypothesis]:
        """Return nothing else."""
        return []

    def _of_each(self, weighted: Weighted, found: Pipelines) -> I8:
        out, length = super()._of_each(weighted, found), np.concatenate(found.lengths(weighted.weight[edges(weighted)]))
        both = np.concatenate((found.sent, found.taken))
        computation, first = np.unique(both, return_index=True)
        out[computation] += _of_ways(np.concatenate((found.way, found.way + len(both)))[first], length[first], _beyond)
        return out


class _InProportion(MicroBatches):
    """The same; a piece takes its part of all that is computed of a micro-batch."""

    varied = IN_PROPORTION

    def otherwise(self, weighted: Weighted) -> list[Hypothesis]:
        """Return nothing else."""
        return []

    def _of_each(self, weighted: Weighted, found: Pipelines) -> I8:
        return self._passing(weighted, found)


def short(weighted: Weighted, found: Pipelines) -> I8:
    """Return per computation, ns, what of it is short: of what its micro-batch computes between boundaries of regions, and calls, all that
    takes less than SHORT of the longest.

    A micro-batch of two computations, 40 4 3 and 2 50 between boundaries -> 4 + 3 and 2
    """
    segments, computes = Segments(weighted), np.zeros(len(edges(weighted)), bool)
    computes[found.computations()] = True
    length = np.where(computes[segments.gap], segments.length, 0)
    begins = np.unique(np.concatenate((found.begun, found.taken)))
    batch = np.searchsorted(begins, segments.gap, "right") - 1
    longest = np.zeros(len(begins) + 1, "i8")
    np.maximum.at(longest, batch, length)
    return np.bincount(segments.gap, np.where(length < SHORT * longest[batch], length, 0), len(computes)).astype("i8")


def _beyond(took: I8) -> float:
    return float(took.mean() - took.min())


def _of_ways(way: Ints, took: I8, of: Callable[[I8], float]) -> I8:
    """Return for each row what a figure of all of its way is, rounded to ns."""
    out = np.zeros(len(way), "i8")
    for one in distinct(way):
        out[way == one] = round(of(took[way == one]))
    return out
