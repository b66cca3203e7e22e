"""The messages of a region, step by step: their balanced sizes, and the weights that change with them.

What a size changes hangs on several calls (those that send, receive, complete, probe), so steps that share no call are weighed together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from perwiz.graph.build import probes
from perwiz.graph.graph import GAP
from perwiz.loggps.model import Model
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.hypotheses.computation import BalanceTime
from perwiz.whatif.hypotheses.network import BalanceMessages, Messages
from perwiz.whatif.hypotheses.stretch import Segments, level
from perwiz.whatif.worth.local_changes import Changes, ranges


@dataclasses.dataclass(frozen=True, eq=False)
class Resized(Messages):
    """Messages of other sizes, whatever asks for them."""

    word = "resized"
    size: I8

    def protocol(self, trace: Trace, network: Model, size: I8) -> tuple[Model, I8]:
        """Return the network, and these sizes."""
        return network, self.size


class Sizes:
    """The steps of a region, and the sizes of their messages if those of each step were balanced.

    `instance` holds rows of regions sorted by step, then location; those of step k are `first[k]` .. `first[k + 1] - 1`.
    """

    def __init__(self, trace: Trace, name: str) -> None:
        instances, step = selectors.steps(trace, name)
        order = np.argsort(step, kind="stable")
        self._trace, self.name, self.instance = trace, name, instances[order]
        self.count = int(step.max()) + 1
        self.first = np.searchsorted(step[order], np.arange(self.count + 1))
        self.number = trace.regions.instance[self.instance[self.first[:-1]]].astype("i8")
        self.location = trace.regions.location[self.instance]
        send = trace.messages.send
        begin = np.searchsorted(send, trace.regions.first_call[self.instance])
        end = np.maximum(begin, np.searchsorted(send, trace.regions.end_call[self.instance]))
        self._group, self._message = ranges(np.arange(len(self.instance)), begin, end)
        self.sent = np.zeros(len(self.instance), "i8")
        np.add.at(self.sent, self._group, trace.messages.bytes[self._message])

    def within(self, segments: Segments) -> tuple[I8, I8]:
        """Return the first segment of each instance, and the one behind its last."""
        return segments.entered[self.instance] + 1, segments.left[self.instance] + 1

    @cached_property
    def _resized(self) -> tuple[I8, I8, I8]:
        """Steps, messages and balanced sizes, of those messages that change."""
        old, step = self._trace.messages.bytes[self._message], np.repeat(np.arange(self.count), np.diff(self.first))
        new = level(old, self._group, step) if len(old) else old
        changed = np.flatnonzero(new != old)
        return step[self._group[changed]], self._message[changed], new[changed]

    @cached_property
    def resizing(self) -> Mask:
        """Whether balancing changes any message of each step."""
        return np.bincount(self._resized[0], minlength=self.count) > 0

    @cached_property
    def _touched(self) -> tuple[I8, I8]:
        """Steps, sorted, and the calls whose costs change in each."""
        step, message, _ = self._resized
        table, (call, probed) = self._trace.messages, probes(self._trace)
        order = np.argsort(probed, kind="stable")
        bounds = np.searchsorted(probed[order], np.stack((message, message + 1)))
        again, row = ranges(step, *bounds)
        columns = (table.send, table.send_done, table.receive, table.receive_done)
        calls = np.concatenate([*(column[message] for column in columns), call[order[row]]]).astype("i8")
        pairs = np.concatenate([np.tile(step, 4), again]) * len(self._trace.calls) + calls
        pairs = np.unique(pairs[calls != NONE])
        return np.divmod(pairs, max(1, len(self._trace.calls)))

    @cached_property
    def _groups(self) -> list[Mask]:
        """Sets of steps, bool per step, of which no two change the costs of one call."""
        step, call = self._touched
        bounds = np.searchsorted(step, np.arange(self.count + 1))
        rest, groups = [k for k in range(self.count) if bounds[k] < bounds[k + 1]], []
        while rest:
            taken, later, used = np.zeros(self.count, bool), [], np.zeros(len(self._trace.calls), bool)
            for k in rest:
                calls = call[bounds[k] : bounds[k + 1]]
                if used[calls].any():
                    later.append(k)
                else:
                    used[calls], taken[k] = True, True
            groups.append(taken)
            rest = later
        return groups

    def _sizes(self) -> Iterator[tuple[Mask, Resized]]:
        """Yield each group of steps with the sizes of all messages if those of these steps were balanced."""
        step, message, new = self._resized
        for group in self._groups:
            size, resized = self._trace.messages.bytes.copy(), group[step]
            size[message[resized]] = new[resized]
            yield group, Resized(self.name, size)

    def whole(self) -> list[Hypothesis]:
        """Return the questions after all steps at once: messages, if that changes any, and computation."""
        return [*([BalanceMessages(self.name)] if self.resizing.any() else []), BalanceTime(self.name)]

    def questions(self) -> Iterator[Hypothesis]:
        """Yield all that is going to be asked, for the rendezvous edges it may need."""
        yield from self.whole()
        for _, question in self._sizes():
            yield question

    def changes(self, weighted: Weighted) -> Changes:
        """Return the weights that change if the messages of a step were balanced, for every step."""
        graph, calls = weighted.graph, len(self._trace.calls)
        returning = graph.returning
        touching, touched = self._touched
        rows = [(np.zeros(0, "i8"),) * 3]
        for group, question in self._sizes():
            weight = question.apply(weighted).weight
            edge = np.flatnonzero(weight != weighted.weight)
            owner = np.full(calls, NONE, "i8")
            chosen = group[touching]
            owner[touched[chosen]] = touching[chosen]
            target = graph.targets(edge)
            call = np.where(graph.kind[edge] == GAP, graph.cause[edge], returning[target])
            rows.append((owner[call], edge, weight[edge]))
        return Changes(*(np.concatenate(column) for column in zip(*rows, strict=True)))
