"""One change of a program and what it is worth, and how to ask for it: many are asked of one run, which is weighted once."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from perwiz.engines.sweep import critical_path, swept_makespan, swept_makespans
from perwiz.errors import UsageError
from perwiz.loggps.weigh import Weighted, forget_measured, keep_as_measured, weigh
from perwiz.trace.arrays import I8, Mask, chunks
from perwiz.trace.resources import give_back, map_threads, remembered, thread_count
from perwiz.trace.trace import Trace
from perwiz.whatif import rounds
from perwiz.whatif.hypotheses.base import Hypothesis, apply, change, join, parse
from perwiz.whatif.hypotheses.collectives import Collective
from perwiz.whatif.hypotheses.computation import Computation
from perwiz.whatif.hypotheses.devices import for_devices
from perwiz.whatif.hypotheses.network import Messages
from perwiz.whatif.hypotheses.order import Advance, Move
from perwiz.whatif.hypotheses.placement import Placement
from perwiz.whatif.hypotheses.stretch import Segments, edges, segments_of
from perwiz.whatif.hypotheses.waits import ZeroPoll, ZeroTime, ZeroTransfer, ZeroWait
from perwiz.whatif.limits.serving import Serving, serving
from perwiz.whatif.links import has_links, settled
from perwiz.whatif.order.reorder import Reordered, in_order_of
from perwiz.whatif.run import Run, graph_of, in_rounds, lacks, protocol


class NotTriedError(Exception):
    """Says why a kind of change, or a part of it, is not tried for a run; `found` is what gains of the rest."""

    def __init__(self, why: str, found: Sequence[Change] = ()) -> None:
        super().__init__(why)
        self.found = found


class NoneThereError(NotTriedError):
    """Says why a run has nothing that a kind of change could be about: that is worth a line only where the kind was asked for."""


@dataclasses.dataclass(frozen=True, eq=False)
class Change:
    """A change that gains."""

    kind: str
    """Row of perwiz.whatif.ranking.KINDS, its word."""
    by: str
    """What it is about: a word of families.FAMILIES, call, program, stretch, class, node, pairs."""
    question: str
    """As `predict` takes it."""
    what: str
    """In words."""
    makespan: int
    """ns, exactly what `predict` gives."""
    calls: I8 | None = None
    """The calls that are changed, rows, ascending, of a part its own; None if it is not about calls."""
    receives_passed: int = 0
    """Receives ahead of which calls would run: whether they need what those bring the trace does not tell."""
    safe: bool = False
    """Whether calls run ahead of nothing but computation that they do not need: the program stays right."""
    at_most: bool = False
    """Whether it is asked with costs that nothing has, such as a network without latency."""
    turned: bool = False
    """Whether calls that take what comes first take something else under it, as far as that was asked (`rematch.turned`)."""
    kept: int | None = None
    """Makespan, ns, if these keep what they took in the recorded run; None where `makespan` is that, too."""
    made: Hypothesis | None = None
    """What to ask for, where that was made already."""
    total: int | None = None
    """How many calls these are on all processes, where these have parts."""

    @property
    def count(self) -> int:
        """How many calls are changed."""
        own = 0 if self.calls is None else len(self.calls)
        return own if self.total is None else self.total

    @property
    def word(self) -> str:
        """What is asked, such as zero-wait."""
        return self.question.partition(" ")[0]

    @property
    def bound(self) -> bool:
        """Whether it is what there is to gain at best, and no change of a program: a wait goes only if what it waits for comes earlier,
        and calls always take some time, but those that a graph of kernels leaves out.
        """
        return self.at_most or (self.word in _BOUNDS and self.kind != "launches")

    @cached_property
    def hypothesis(self) -> Hypothesis:
        """What to ask for."""
        if self.made is not None:
            return self.made
        if self.calls is not None and self.word in _OF_CALLS:
            return _Rows(self.question, self.word, self.calls)
        return parse(self.question)


CLOSE = 0.9
"""Part of the largest gain from which on another that says the same is as good."""
_OF_CALLS = {kind.word: kind for kind in (ZeroWait, ZeroPoll, ZeroTime, ZeroTransfer)}
"""What is asked of calls, by its word."""
_LAST = 4
"""Questions whose computation is kept, at most: several are asked at once."""
_AGAIN = 1 << 26
"""Bytes of weights, at most, that are kept for what is asked again; those of one question are."""
_BOUNDS = (ZeroWait.word, ZeroTime.word, ZeroTransfer.word)
_OTHER_EDGES = (Move, Advance, Messages, Collective, Placement)
"""Hypotheses under which a graph has other edges."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Rows(Hypothesis):
    """Calls that do not wait, or take no time, or none but waiting, whatever names them."""

    word, stage, priced = "rows", 3, False
    of: str
    calls: I8
    effects_may_precede_causes: ClassVar[bool] = True

    def moved(self, trace: Trace, other: Trace) -> _Rows:
        """Return the same of another trace of a run, of which a process knows more calls of others: there rows are others."""
        return self if trace is other else dataclasses.replace(self, calls=other.share.here(trace.share.named(self.calls)))

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph with these calls changed."""
        chosen = np.zeros(len(weighted.trace.calls), bool)
        chosen[self.calls] = True
        return _OF_CALLS[self.of].of(weighted, chosen)


class Asker:
    """Answers what `predict` answers, of a run whose computation is cut into segments once.

    `weighted` is its graph under other weights, if the answers are to be of these; `asked` are the hypotheses that made the weights.
    Where messages inside of collectives share links or interfaces, the run has these in rounds, as `predict` does; but for questions that
    change the network, algorithms or places of ranks, which put them in themselves; so they are asked of the `whole` together with `asked`.
    `recorded` is the run as it was given.

    A message that waits for a call of its receiver which it did not wait for as recorded needs a graph with that edge: questions that
    change messages so are asked of a graph of their own. With `once` nobody asks the same changes of messages again: their weights are not
    kept. Nor are those of a large graph, where it takes less to have them made again.
    """

    def __init__(
        self,
        run: Run,
        weighted: Weighted | None = None,
        asked: Sequence[Hypothesis] = (),
        once: bool = False,
        again: _Again | None = None,
        whole: Asker | None = None,
    ) -> None:
        self.recorded, self.run, self._whole = run, in_rounds(run), whole
        self._hubs, self._asked, self._once = weighted or run.weighted, tuple(asked), once
        self.weighted = self.run.weighted if weighted is None else rounds.in_rounds(weighted)
        self._large = self.weighted.weight.nbytes > _AGAIN
        self._messages: dict[tuple[Hypothesis, ...], Weighted] = {}
        self._others: dict[tuple[Hypothesis, ...], Asker | None] = {}
        """What answers questions with these changes of messages; None, this one, where the graph has all that they need."""
        self._computation = dict[tuple[Hypothesis, ...], I8]()
        """The weights of the edges that hold computation under what was asked of it last."""
        self._again = again
        self._segments: Segments | None = None
        self._making = threading.Lock()
        """Held by the thread that makes the segments."""
        self._before: tuple[Sequence[Hypothesis], Weighted] = ((), self.weighted)
        """What an order was last asked on top of, and the graph under that."""
        self._ordered: tuple[Advance | None, Weighted] = (None, self.weighted)
        """The order that was last asked together with something, and the graph in it."""

    @property
    def segments(self) -> Segments:
        """The computation of the run."""
        with self._making:
            if self._segments is None:
                self._segments = segments_of(self.weighted)
            return self._segments

    @property
    def for_devices(self) -> Mask:
        """Which of them are for devices, bool per segment."""
        return for_devices(self.segments)

    @property
    def serving(self) -> list[Serving]:
        """The processes that serve others in turn, what is waited for longest first."""
        return serving(self.run)

    def changed(self, hypotheses: Sequence[Hypothesis]) -> Weighted:
        """Return the graph under hypotheses; it says nothing of region boundaries.

        Raises UsageError if one does not fit.
        """
        in_turn = join(hypotheses)
        anew = any(isinstance(hypothesis, Messages | Collective | Placement) for hypothesis in in_turn)
        if anew and self._whole is not None and self._hubs.rounds is not None:
            return self._whole.changed([*self._asked, *hypotheses])  # rounds are put in once
        messages = tuple(hypothesis for hypothesis in in_turn if isinstance(hypothesis, Messages))
        other = self._for(messages)
        if other is not self:
            weighted = other.changed(hypotheses)
            if self._large:
                forget_measured(weighted.graph)
            return weighted
        if any(isinstance(hypothesis, Move | Advance | Collective | Placement) for hypothesis in in_turn):
            return self._in_order(in_turn)
        if messages and has_links(self._hubs):
            return apply(self._hubs, in_turn)  # delays on links are those of the whole
        if messages and rounds.share(self._hubs):
            return change(self._under(messages), in_turn[len(messages) :])  # whose edges are others
        computation = [hypothesis for hypothesis in in_turn if isinstance(hypothesis, Computation)]
        now = self._computed(computation) if computation else self.weighted.weight[:0]
        if self._once and self._large:
            give_back(len(now))  # what computation needed meanwhile
        weighted = self._under(messages)
        for some in chunks(len(now)):
            edge, lasts = edges(self.weighted)[some], now[some]
            changed = slice(None) if messages else lasts != self.weighted.weight[edge]  # a copy has the rest
            weighted.weight[edge[changed]] = lasts[changed]
        for one in computation:
            one.in_calls(weighted)
        for hypothesis in in_turn:
            if not isinstance(hypothesis, Messages | Computation):
                weighted = hypothesis.change(weighted)
        return settled(weighted)

    def _computed(self, computation: Sequence[Computation]) -> I8:
        """Return the weights of the edges that hold computation."""
        wanted = tuple(computation)
        known = (self._again.known if self._again else self._computation).get(wanted)
        if known is None:
            length = self.segments.length
            for hypothesis in computation[:-1]:
                length = hypothesis.lengths(self.segments, length)
            known = computation[-1].gaps(self.segments, length)
            if self._again:
                self._again.known[wanted] = known
            elif not self._once:
                self._computation[wanted] = known
                for old in list(self._computation)[: -max(min(_LAST, _AGAIN // max(known.nbytes, 1)), 1)]:
                    self._computation.pop(old, None)
        return known

    def _in_order(self, in_turn: Sequence[Hypothesis]) -> Weighted:
        """Return the graph under hypotheses that change its edges; what an order is asked on top of is made once for several in a row."""
        anew = any(isinstance(hypothesis, Messages | Collective | Placement) for hypothesis in in_turn)
        begin, (*before, last) = self._hubs if anew else self.weighted, in_turn
        if not before or not isinstance(last, Advance) or has_links(begin):
            return apply(begin, in_turn)
        if self._before[0] != before:
            self._before = before, apply(begin, before)
        return apply(self._before[1], [last])

    def _for(self, messages: tuple[Hypothesis, ...]) -> Asker:
        """Return what answers questions that change messages: this, or the same of a graph with the edges that only they suppose."""
        if not messages:
            return self
        if messages not in self._others:
            weighted, asked, other = self.weighted, (*self._asked, *messages), None
            needs = protocol(weighted.trace, weighted.model, asked)
            supposed = weighted.trace.share.any(len(needs.supposed[0])) and lacks(weighted.trace, weighted.graph, needs)
            if needs.gaps > (weighted.model.gap != "none") or supposed:
                graph = graph_of(weighted.trace, weighted.model, asked)
                anew = dataclasses.replace(weigh(weighted.trace, weighted.timeline, graph, weighted.model), held=weighted.held)
                if not self._asked:
                    keep_as_measured(anew)  # whom it answers has a copy of the weights
                other = Asker(self.run, change(anew, self._asked) if self._asked else anew, self._asked, self._once)
                other._others[messages] = None
            if other is not None and self._large:
                return other
            self._others[messages] = other
        return self._others[messages] or self

    def _under(self, messages: tuple[Hypothesis, ...]) -> Weighted:
        """Return the graph on another network, weighted anew only when one change of it is asked for the first time."""
        if len(messages) > 1 or (messages and (self._once or self._large)):
            return apply(self._hubs, messages)
        if messages and messages not in self._messages:
            self._messages[messages] = apply(self._hubs, messages)
        weighted = self._messages[messages] if messages else self.weighted
        return dataclasses.replace(weighted, weight=weighted.weight.copy())

    def makespan(self, *hypotheses: Hypothesis) -> int:
        """Return the makespan under hypotheses, ns. Raises UsageError if one does not fit."""
        return swept_makespan(self.changed(hypotheses))

    def together(self, *several: Hypothesis) -> Weighted:
        """Return the graph under changes of which one may be an order of calls: the order that it finds alone, where it can be had.

        So what the others add costs one order each, and not the search for one. Raises UsageError if one does not fit, or they do not go
        together.
        """
        order = next((one for one in several if isinstance(one, Advance)), None)
        others = [one for one in several if one is not order]
        if order is None or self._large or has_links(self._hubs) or any(isinstance(one, _OTHER_EDGES) for one in others):
            return self.changed(several)
        if self._ordered[0] is not order:
            self._ordered = order, self.changed([order])
        found, under = self._ordered[1], self.changed(others)
        if not isinstance(found, Reordered) or under.trace is not self.weighted.trace:
            return self.changed(several)
        again = in_order_of(under, found, self.weighted)
        return self.changed(several) if again is None else again

    def makespans_together(self, several: Sequence[Sequence[Hypothesis]]) -> list[int | None]:
        """Return the makespan, ns, under each of several lots of changes, see `together`; None of those that do not go together."""

        def made(each: Sequence[Hypothesis]) -> Weighted | None:
            with contextlib.suppress(UsageError):
                return self.together(*each)
            return None

        return [*swept_makespans(self.run.trace.share, [partial(made, each) for each in several])]

    def let_go(self) -> None:
        """Let go of weights and graphs that are there for questions alone; what asks once more has them made again."""
        self._messages.clear()
        self._others.clear()
        self._computation.clear()
        self._before = (), self.weighted
        self._ordered = None, self.weighted

    def questions(self, several: Sequence[Hypothesis]) -> list[Callable[[Weighted], Weighted]]:
        """Return what makes the graph under each hypothesis of any weights of the run; what they share is made once for those last seen,
        and what computation becomes once for all weights in which it is the same.
        """
        count = sum(isinstance(hypothesis, Computation) for hypothesis in several)
        calls = self.run.trace.share.most(len(self.run.trace.calls))
        again = _Again(self.weighted) if 8 * calls * count <= _AGAIN else None

        def under(hypothesis: Hypothesis, weighted: Weighted) -> Weighted:
            hubs = self._hubs if weighted is self.weighted else weighted  # rounds that are there would be put in again
            if isinstance(hypothesis, _Rows):
                hypothesis = hypothesis.moved(self.run.trace, weighted.trace)
            return _asker(hubs, self.run, again).changed([hypothesis])

        return [partial(under, hypothesis) for hypothesis in several]

    def gaining(self, kind: str, asked: Sequence[tuple[str, str, str]]) -> list[Change]:
        """Return which changes of computation gain, each (what it is about, question, in words), and what each is worth; several at a time.

        Of none that leaves a critical path as long as it is the run is swept.
        """
        now = self.run.makespan

        def makespan(hypothesis: Hypothesis) -> int:
            return now if self.at_least(hypothesis) >= now else self.makespan(hypothesis)

        makespans = self._several(makespan, [parse(question) for _, question, _ in asked])
        return [Change(kind, *one, makespan) for one, makespan in zip(asked, makespans, strict=True) if makespan < now]

    def at_least(self, hypothesis: Hypothesis) -> int:
        """Return the makespan that a hypothesis of computation leaves at least, ns: one critical path of the run stays a path.

        0 where the path is not told by computation alone, or no process has all of it.
        """
        if self.run.trace.share.team or not isinstance(hypothesis, Computation) or hypothesis.of_calls:
            return 0
        edge = edges(self.weighted)[self._on_path]
        return self.run.makespan + int((self._computed([hypothesis])[self._on_path] - self.weighted.weight[edge]).sum())

    @cached_property
    def _on_path(self) -> I8:
        """The computation between calls that lies on one critical path of the run, rows of the edges that hold it."""
        on_path = np.zeros(self.run.graph.edges, bool)
        on_path[critical_path(self.run.graph, self.run.weighted.weight, self.run.time)] = True
        return np.flatnonzero(on_path[self.segments.edge])

    def makespans(self, several: Sequence[Hypothesis]) -> list[int]:
        """Return the makespan under each of several hypotheses of computation, ns, several at a time."""
        return self._several(self.makespan, several)

    def _several(self, makespan: Callable[[Hypothesis], int], several: Sequence[Hypothesis]) -> list[int]:
        if several:
            for_devices(self.segments)  # what they share is made once
        share = self.run.trace.share
        if share.team:
            found = swept_makespans(share, [partial(self.changed, [hypothesis]) for hypothesis in several])
            return [known for known in found if known is not None]
        return map_threads(makespan, several, min(thread_count(self.run.graph.edges), max(len(several), 1)))

    def as_predicted(self, changes: Sequence[Change]) -> list[Change]:
        """Return changes that sweeps of the run alone told, those that gain: on links messages then meet others, so there each is asked."""
        if not has_links(self.weighted):
            return list(changes)
        asked = [dataclasses.replace(change, makespan=self.makespan(change.hypothesis)) for change in changes]
        return [change for change in asked if change.makespan < self.run.makespan]

    def change(self, kind: str, by: str, question: str, what: str, at_most: bool = False) -> Change:
        """Return a change with what it is worth."""
        return Change(kind, by, question, what, self.makespan(parse(question)), at_most=at_most)


class _Again:
    """What computation becomes under questions that are asked again of other weights of a run."""

    def __init__(self, weighted: Weighted) -> None:
        self.whole, self._enter, self._leave = weighted.weight[edges(weighted)], weighted.region_enter, weighted.region_leave
        self.known: dict[tuple[Hypothesis, ...], I8] = {}
        """The weights of the edges that hold computation."""

    def holds(self, weighted: Weighted) -> bool:
        """Return whether computation is the same in other weights of the run, on all processes."""
        pairs = (weighted.weight[edges(weighted)], self.whole), (weighted.region_enter, self._enter), (weighted.region_leave, self._leave)
        return not weighted.trace.share.any(not all(one is own or np.array_equal(one, own) for one, own in pairs))


@remembered(1)
def _asker(weighted: Weighted, run: Run, again: _Again | None) -> Asker:
    """Return what answers questions about a weighted graph of a run as long as that is there, which it does not keep itself."""
    return Asker(run, dataclasses.replace(weighted), once=True, again=again if again and again.holds(weighted) else None)
