"""Hypotheses: each a pure function on the weighted graph, with a text form that parses back."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import ModelError, UsageError
from perwiz.graph.graph import GAP, LOCAL
from perwiz.kernels import weigh as kernel
from perwiz.loggps import model as models
from perwiz.loggps.model import Model
from perwiz.loggps.weigh import CUT, Weighted, reweigh
from perwiz.trace.arrays import Ints
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.stretch import Segments, levelled
from perwiz.whatif.order import advance, move
from perwiz.whatif.selectors import steps as steps

_SLOWEST, _LONGEST = 1e-30, 2.0**60


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """A question: `apply` returns the weighted graph under it; str() gives `word argument`, which `parse` reads."""

    word: ClassVar[str]
    stage: ClassVar[int]
    """Hypotheses of lower stage are applied first: network and messages, computation, single calls, then the order of calls."""
    example: ClassVar[str] = ""
    """An argument, for messages."""
    effects_may_precede_causes: ClassVar[bool] = False
    """Whether calls may return before their partners let them."""
    argument: str

    def __str__(self) -> str:
        return f"{self.word} {self.argument}"

    def apply(self, weighted: Weighted) -> Weighted:
        """Return a changed copy. Raises UsageError if the hypothesis does not fit the trace."""
        return self.change(dataclasses.replace(weighted, weight=weighted.weight.copy()))

    def change(self, weighted: Weighted) -> Weighted:
        """Return what `apply` returns; the weights of the one given may be overwritten."""
        raise NotImplementedError

    def protocol(self, trace: Trace, network: Model, size: Ints) -> tuple[Model, Ints]:
        """Return the network and the message sizes the hypothesis makes of these: they decide which messages are synchronous."""
        return network, size


def release(weighted: Weighted, calls: NDArray[np.bool_], spared: int) -> None:
    """Let no partner bind the return of these calls any more, in place; edges of kind `spared` stay."""
    graph = weighted.graph
    kernel.cut_incoming(graph.start, graph.kind, graph.returned[calls], spared, CUT, weighted.weight)


class ZeroWait(Hypothesis):
    """The selected calls do not wait: partners' times no longer bind them (PerWiz paper, 2.2). The partners stay where they are."""

    word, stage, effects_may_precede_causes = "zero-wait", 3, True

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph in which no partner binds the return of a selected call."""
        chosen = selectors.calls(weighted.trace, self.argument)
        release(weighted, chosen, GAP)
        return weighted


class ZeroTime(Hypothesis):
    """The selected calls take no time: they return when they are entered."""

    word, stage, effects_may_precede_causes = "zero-time", 3, True

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph in which selected calls return at once."""
        chosen = selectors.calls(weighted.trace, self.argument)
        release(weighted, chosen, LOCAL)
        weighted.weight[weighted.graph.start[weighted.graph.returned[chosen]]] = 0
        return weighted


class Scale(Hypothesis):
    """`REGION=0.5`: computation inside a region, calls made from it included, takes that part of its time. MPI calls keep theirs."""

    word, stage, example = "scale", 2, "NAME=0.5"

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph with the region's computation scaled, rounded per segment to ns."""
        name, factor = _number(self, self.argument)
        instances = selectors.instances(weighted.trace, name)
        segments = Segments(weighted)
        return segments.stretched(_times(self, segments.length, segments.owner(instances) >= 0, factor))


class Speed(Hypothesis):
    """`rank:3=2.0`: that process computes twice as fast. MPI calls keep their work."""

    word, stage, example = "speed", 2, "rank:3=2"

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph with the computation of a rank divided by the factor, rounded per segment to ns."""
        rank, factor = _number(self, self.argument)
        if factor == 0:
            raise UsageError(f"{self}: a speed of 0, must be above 0")
        segments = Segments(weighted)
        own = selectors.locations(weighted.trace, rank)[segments.location]
        return segments.stretched(_times(self, segments.length, own, 1 / max(factor, _SLOWEST)))


class BalanceTime(Hypothesis):
    """`REGION` or `REGION#k`: in every (or the k-th) parallel step each process that takes part computes the mean (PerWiz paper, 3.2)."""

    word, stage = "balance-time", 2

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph with the computation of the steps balanced; the sum of each step is conserved to the ns."""
        instances, step = steps(weighted.trace, self.argument)
        segments = Segments(weighted)
        owner = segments.owner(instances)
        at = np.flatnonzero(owner >= 0)
        length = segments.length.copy()
        length[at] = levelled(length[at], np.searchsorted(instances, owner[at]), step)
        return segments.stretched(length)


class BalanceMessages(Hypothesis):
    """`REGION` or `REGION#k`: in every (or the k-th) parallel step all processes that send pass the mean amount of bytes."""

    word, stage = "balance-messages", 1

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph with the message sizes of the steps balanced; lags and work change as the model says; bytes are conserved."""
        return changed_model(weighted, *self.protocol(weighted.trace, weighted.network, weighted.size))

    def protocol(self, trace: Trace, network: Model, size: Ints) -> tuple[Model, Ints]:
        """Return the network, and the balanced sizes."""
        instances, step = steps(trace, self.argument)
        owner = call_owner(trace, instances)[trace.messages.send]
        at = np.flatnonzero(owner >= 0)
        if not len(at):
            raise UsageError(f"{self}: no message is sent in that region")
        at = at[np.argsort(owner[at], kind="stable")]
        size = size.copy()
        size[at] = levelled(size[at], np.searchsorted(instances, owner[at]), step)
        return network, size


class Network(Hypothesis):
    """A shipped model's name, a model file, or changes such as `L_ns=1000,G_ns_per_byte=0.1`: the same program on another network."""

    word, stage = "network", 1

    def model(self, recorded: Model) -> Model:
        """Return the model of the other network, given the one the run was recorded under. Raises ModelError."""
        model = recorded.with_changes(self.argument) if "=" in self.argument else models.load(self.argument)
        if model.progress != recorded.progress:
            raise ModelError(f"{self}: progress is '{model.progress}', must be that of --model, '{recorded.progress}'")
        return model

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph with lags and work changed from one model to the other."""
        return changed_model(weighted, *self.protocol(weighted.trace, weighted.network, weighted.size))

    def protocol(self, trace: Trace, network: Model, size: Ints) -> tuple[Model, Ints]:
        """Return the other network, and the sizes as they are."""
        return self.model(network), size


class Move(Hypothesis):
    """`e40..e44 before e30`: these calls of a process, each with the computation before it, run before that call and its computation.

    Several joined by commas change together, so that both sides of a message or all processes of a collective can.
    """

    word, stage = "move", 4

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph of the program in that order. Raises UsageError for an order that cannot be."""
        return move.moved(weighted, str(self), self.argument)


class Advance(Hypothesis):
    """`e123`, `e123,e130` or `e123 by REGION`: what these calls wait for runs earlier on its own process, as far as the wait asks.

    What moves is one call and the computation before it, or the instance of the region that it lies in. See `advance.advanced`.
    """

    word, stage = "advance", 5

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph in which partners of the calls run earlier, one call after the other; those that do not wait change nothing."""
        calls, region = self.asked(weighted.trace)
        for call in calls:
            weighted = advance.tried(weighted, call, region, str(self))
        return weighted

    def asked(self, trace: Trace) -> tuple[list[int], str | None]:
        """Return the calls, and the region that bounds their partners' blocks, None: single calls."""
        match = re.fullmatch(r"\s*(e[0-9]+(?:\s*,\s*e[0-9]+)*)(?:\s+by\s+(.*\S))?\s*", self.argument)
        if not match:
            raise UsageError(f"{self}: must be like advance e123, or advance e123 by REGION")
        if match[2] is not None:
            selectors.region(trace, match[2])
        return np.flatnonzero(selectors.calls(trace, match[1])).tolist(), match[2]


def together(hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Return hypotheses in the order they are applied, all moves as one: only together they need to make an order that can be."""
    moves = [h for h in hypotheses if isinstance(h, Move)]
    others = [h for h in hypotheses if not isinstance(h, Move)]
    return sorted([*others, *([Move(", ".join(h.argument for h in moves))] if moves else [])], key=lambda h: h.stage)


def changed_model(weighted: Weighted, network: Model, size: Ints) -> Weighted:
    """Return the graph whose weights stand for another network and other message sizes; what other hypotheses changed stays changed."""
    now = reweigh(weighted, weighted.network, weighted.size)
    then = reweigh(weighted, network, size)
    weight = np.where(now == CUT, then, weighted.weight + then - now)
    weight[(then == CUT) | ((weighted.weight == CUT) & (now != CUT))] = CUT
    return dataclasses.replace(weighted, weight=weight, network=network, size=size)


def call_owner(trace: Trace, instances: Ints) -> Ints:
    """Return, per call, which of these region instances (rows, sorted) it lies in, -1 none; of nested ones the outermost."""
    first, end = trace.regions.first_call[instances], trace.regions.end_call[instances]
    before = np.concatenate(([0], np.maximum.accumulate(end)[:-1]))
    outer = (first >= before) & (end > first)
    mark = np.zeros(len(trace.calls) + 1, "i8")
    np.add.at(mark, first[outer], instances[outer] + 1)
    np.add.at(mark, end[outer], -(instances[outer] + 1))
    return np.asarray(np.cumsum(mark)[:-1] - 1)


def _number(hypothesis: Hypothesis, text: str) -> tuple[str, float]:
    name, mark, value = text.rpartition("=")
    factor = float(value) if re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?", value) else math.nan
    if not mark or not 0 <= factor <= 1e9:
        raise UsageError(f"{hypothesis}: must be like {hypothesis.word} {hypothesis.example} with a number from 0 to 1e9")
    return name, factor


def _times(hypothesis: Hypothesis, length: Ints, where: NDArray[np.bool_], factor: float) -> Ints:
    """Return lengths with some of them times a factor, rounded to ns. Raises UsageError if they add up to more than 2**60 ns."""
    out = np.where(where, np.rint(length * factor), length)
    if out.sum() > _LONGEST:
        raise UsageError(f"{hypothesis}: computation of {out.sum() / 1e9:.3g} s in all, must be below {_LONGEST / 1e9:.3g} s")
    return out.astype("i8")


HYPOTHESES: dict[str, type[Hypothesis]] = {
    kind.word: kind for kind in (ZeroWait, ZeroTime, BalanceTime, BalanceMessages, Scale, Speed, Network, Move, Advance)
}
"""Every kind of hypothesis by its word."""


def parse(text: str) -> Hypothesis:
    """Return the hypothesis that `word argument` stands for: parse(str(h)) == h. Raises UsageError for an unknown word."""
    word, _, argument = text.partition(" ")
    if word in HYPOTHESES and not argument:
        raise UsageError(f"{word}: must say what it is about, see perwiz predict --help")
    if word not in HYPOTHESES:
        raise UsageError(f"'{text}' is no hypothesis, must be one of {', '.join(HYPOTHESES)} and what it is about")
    return HYPOTHESES[word](argument)
