"""Domino paths: the waits whose removal pays, followed back from process to process to the one that triggers the others.

The algorithm is that of the PerWiz paper, 3.1 and Fig. 3. On every process start behind its last call. Of the calls up to there take
one whose change alone gives the least makespan (T_pm). End if that is more than the last one gave, or if the call is on the path
already; else add it and the call it waits for (its partner), and go on with the calls up to the partner on the partner's process.
T is the least makespan at the end of a path; all paths that end with it are domino paths.

What the paper leaves open, and what is done here:
- Fig. 3 compares the call with the one the search starts from (line 18), the text with all on the path. They differ only for the
  last call of a process, which Fig. 3 would never choose. Here the text holds.
- A call on the path can only come up again as the partner just added: all others come later in the happened-before order.
- Of equal T_pm all are tried, as the text says of the authors' program; one of them may be the partner itself, where a path ends.
- Only calls that gain are chosen: where nothing does, all calls are equal and say nothing. So a process may have no path.
- Only a partner on another process leads on (line 21); in a collective it is the call that entered last.
Times are compared to the nanosecond. The search goes back in time; the paths here are in the order of time. Of the calls that give T
the one that waits least is called the trigger: it asks for the least, and the others fall with it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from perwiz.loggps.weigh import keep_as_measured
from perwiz.shown import Shown
from perwiz.trace.arrays import I8
from perwiz.trace.trace import Trace
from perwiz.whatif.run import Run, Start, in_rounds, iterating
from perwiz.whatif.worth import worth

LISTED = 100
"""Domino paths that are kept; more are counted."""
COUNTED = 1_000_000
"""Domino paths that are counted; there may be more."""


@dataclasses.dataclass(frozen=True)
class Paths:
    """The domino paths of a run. Each is rows of calls in the order of time."""

    trigger: int
    """Of the calls that give T alone the one that waits least, of equal ones the one that returns first; -1 if no call gains."""
    makespan: int
    """T: makespan, ns, if the trigger alone is changed; that of the run if no call gains."""
    count: int
    """How many there are; COUNTED: or more."""
    listed: tuple[tuple[int, ...], ...]
    """At most LISTED of them. The first is the longest one with the trigger on it."""


@dataclasses.dataclass(frozen=True)
class Step:
    """One call of a domino path: what it alone is worth, and what becomes of it when the trigger is changed."""

    number: int
    """Place on the path, from 1."""
    call: int
    partner: int
    """Call it waits for, -1 none."""
    wait: int
    """ns."""
    wait_then: int
    """ns it waits when the trigger is changed."""
    makespan: int
    """ns, if this call alone is changed."""
    fewer: int
    """Other calls that wait less if this call alone is changed."""
    less: int
    """ns they wait less, together."""
    more: int
    """ns by which other calls wait longer, together."""


@dataclasses.dataclass(frozen=True, eq=False)
class Domino(Shown):
    """What every single call is worth, and the domino paths."""

    run: Run
    question: str
    value: I8
    """Makespan per call, ns, if that call alone is changed."""
    passed: I8
    """Receives per call that what moves would pass; 0 where nothing moves."""
    promise: I8
    """Makespan per call, ns, if that call alone did not wait."""
    paths: Paths
    bound: int
    """Makespan, ns, if all calls are changed."""

    def __repr__(self) -> str:
        best = f"e{self.paths.trigger}" if self.path else "no call"
        return f"<Domino of {self.run.trace.path}: {self.question} {best}: {self.run.makespan} ns becomes {self.paths.makespan} ns>"

    @property
    def path(self) -> tuple[int, ...]:
        """The first domino path, rows of calls in the order of time; empty if no call gains."""
        return self.paths.listed[0] if self.paths.listed else ()

    def ranked(self, most: int) -> I8:
        """Return the calls that gain, at most so many, largest gain first; of equal ones that which waits least."""
        return ranked(self.run, self.value, most)

    def steps(self, most: int = LISTED) -> list[Step]:
        """Return steps of the first domino path, at most so many, that up to the trigger among them; each costs a sweep."""
        return _steps(self, most)


def domino(trace: Trace, model: Start = None, clock: str = "clc", question: str = "zero-wait", tell: worth.Tell | None = None) -> Domino:
    """Return what changing each single call is worth, and the domino paths; times int64 ns.

    `question` is zero-wait (the call does not wait), zero-time (it takes no time), advance (what it waits for runs earlier) or
    `advance by REGION` (the instance of the region that this lies in does); `model` and `clock` are those of `predict`; `tell` is
    told how many calls of how many are tried, where that takes long. Raises UsageError, ModelError, ClockError.
    """
    run = iterating(trace, model, clock)
    keep_as_measured(run.weighted)  # questions have copies of the weights
    return domino_of(run, question, tell)


def domino_of(run: Run, question: str = "zero-wait", tell: worth.Tell | None = None) -> Domino:
    """Return what changing each single call of a run is worth, and the domino paths. Raises UsageError for an unknown question."""
    value, passed = worth.values(run, worth.check_question(question, worth.ALL), tell)
    promise = value if question == "zero-wait" else worth.values(run, "zero-wait")[0]
    return Domino(run, question, value, passed, promise, paths(run, value), worth.bound(run, question))


def ranked(run: Run, value: I8, most: int) -> I8:
    """Return the calls whose `value` is below the makespan, at most so many, least first.

    Of equal ones the one that waits least comes first, as there is least to remove; then the one that returns first.
    """
    calls = np.flatnonzero(value < run.makespan)
    if 0 < most < len(calls):
        calls = calls[value[calls] <= np.partition(value[calls], most - 1)[most - 1]]
    return calls[np.lexsort((run.left(calls), run.waits.time[calls], value[calls]))][:most]


def paths(run: Run, value: I8, most: int = LISTED) -> Paths:
    """Return the domino paths of a run whose calls have these values (makespan if that call is changed, ns), listing at most `most`."""
    best = ranked(run, value, 1)
    if not len(best):
        return Paths(-1, run.makespan, 0, ())
    search = _Search(run, value, int(best[0]))
    first = search.first()
    others = (path for path in search.all() if path != first)
    listed = [first, *(path for path, _ in zip(others, range(most - 1), strict=False))]
    return Paths(int(best[0]), int(value[best[0]]), min(search.count, COUNTED), tuple(listed))


class _Search:
    """The search over all processes at once. A choice is a call the search may take: no earlier one of its process gives less.

    Choices are in the order of calls, so those of one process that give the same follow one another: they are a run of choices, and
    all that a partner leads to is a part of one run. Nothing is searched twice, so the number of paths costs nothing.
    """

    def __init__(self, run: Run, value: I8, trigger: int) -> None:
        location, first = run.trace.calls.location, run.trace.first_calls
        lowest = _lowest(value, first)
        self.call = np.flatnonzero((value < run.makespan) & (value == lowest))
        same = np.zeros(len(self.call), bool)
        same[1:] = (location[self.call[1:]] == location[self.call[:-1]]) & (np.diff(value[self.call]) == 0)
        self.head = np.maximum.accumulate(np.where(same, 0, np.arange(len(same))))
        """Per choice the first of its run."""
        partner = run.waits.partner[self.call].astype("i8")
        apart = (partner >= 0) & (location[partner] != location[self.call])
        on = apart & (lowest[partner] <= value[self.call])
        end = np.where(on, np.searchsorted(self.call, partner, "right"), 0)
        itself = on & (self.call[end - 1] == partner)
        self.low = np.where(on, self.head[end - 1], 0).tolist()
        self.high = (end - itself).tolist()
        """Per choice the choices it leads to, low to high - 1."""
        least = value[trigger]
        self.ends = ((~on | itself) & (value[self.call] == least)).tolist()
        """Per choice whether a domino path may end there."""
        last = np.searchsorted(self.call, first[1:]) - 1
        last = np.unique(last[(last >= 0) & (np.diff(first) > 0)])
        self.starts = [(int(self.head[k]), int(k) + 1) for k in last]
        self._weigh(np.argsort(run.graph.returned[self.call], kind="stable").tolist(), int(np.searchsorted(self.call, trigger)))

    def _weigh(self, order: list[int], trigger: int) -> None:
        """Find, per choice in the order of the graph, how many paths lead from it to an end, and how long they are.

        `tail` is the longest way on, `steps` the longest one with the trigger on it, 0 none; behind the trigger all calls give the
        same, so every way on is one to an end. `far` and `best` are, per choice, which of it and those before it in its run has the
        largest of these.
        """
        size, head = len(order), self.head.tolist()
        self.paths, self.summed, self.tail, self.steps = [0] * size, [0] * size, [0] * size, [0] * size
        self.far, self.best = list(range(size)), list(range(size))
        for k in order:
            low, high = self.low[k], self.high[k]
            tail, steps = (self.tail[self.far[high - 1]], self.steps[self.best[high - 1]]) if high > low else (0, 0)
            self.paths[k] = self.summed[k] = min(COUNTED, self.ends[k] + (self.summed[high - 1] if high > low else 0))
            self.tail[k] = tail + 1
            self.steps[k] = self.tail[k] if k == trigger else steps + 1 if steps else 0
            if head[k] < k:
                self.summed[k] += self.summed[k - 1]
                self.far[k] = max(self.far[k - 1], k, key=self.tail.__getitem__)
                self.best[k] = max(self.best[k - 1], k, key=self.steps.__getitem__)
        self.count = sum(self.summed[high - 1] for _, high in self.starts)

    def first(self) -> tuple[int, ...]:
        """Return the longest path with the trigger on it."""
        k = max((self.best[high - 1] for _, high in self.starts), key=self.steps.__getitem__)
        steps = [k]
        while self.high[k] > self.low[k]:
            ahead = self.best[self.high[k] - 1]
            k = ahead if self.steps[ahead] else self.far[self.high[k] - 1]
            steps.append(k)
        return self._calls(steps)

    def all(self) -> Iterator[tuple[int, ...]]:
        """Yield every path."""
        stack: list[tuple[tuple[int, ...], int, int]] = [((), low, high) for low, high in reversed(self.starts)]
        while stack:
            before, low, high = stack.pop()
            for k in range(high - 1, low - 1, -1):
                if self.paths[k]:
                    if k > low:
                        stack.append((before, low, k))
                    path = (*before, k)
                    stack.append((path, self.low[k], self.high[k]))
                    if self.ends[k]:
                        yield self._calls(path)
                    break

    def _calls(self, path: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.call[list(path)][::-1].tolist())


def _lowest(value: I8, first: I8) -> I8:
    """Return, per call, the least value of it and those before it on its location."""
    out = value.copy()
    for begin, end in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
        np.minimum.accumulate(out[begin:end], out=out[begin:end])
    return out


def _steps(domino: Domino, most: int) -> list[Step]:
    """Return the first steps of the first path, or if the trigger comes later the last ones up to it."""
    run, waits, path, steps = domino.run, in_rounds(domino.run).waits, domino.path, []
    begin = max(0, path.index(domino.paths.trigger) + 1 - most) if path else 0
    then = worth.after(run, domino.question, [domino.paths.trigger]).waits.time if path else waits.time
    for number, call in enumerate(path[begin : begin + most], begin + 1):
        now = worth.after(run, domino.question, [call]).waits.time
        change = now - waits.time
        change[call] = 0
        less = change < 0
        steps.append(
            Step(
                number=number,
                call=call,
                partner=int(run.waits.partner[call]),
                wait=int(waits.time[call]),
                wait_then=int(then[call]),
                makespan=int(domino.value[call]),
                fewer=int(less.sum()),
                less=-int(change[less].sum()),
                more=int(change[change > 0].sum()),
            )
        )
    return steps
