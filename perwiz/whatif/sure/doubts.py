"""Where a recording contradicts the model so much that the answer may be another one: time on the critical path that the model gets wrong.

A replay keeps what the model does not explain: a message that took ten times as long as the model says takes as long in every answer,
whoever waits for it, and a sender that was held though its message is eager goes on working. How much of the critical path, of the
recorded run and of the answer, is such time says how far the answer may be off.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.engines.sweep import critical_path, makespan
from perwiz.graph.graph import GAP, MESSAGE, RENDEZVOUS
from perwiz.loggps.costs import rest
from perwiz.loggps.fit.eager import CLEAR, Held, held_senders
from perwiz.loggps.weigh import CUT, Weighted, lags, synchronous, work
from perwiz.trace.arrays import I4, I8, chunks
from perwiz.trace.resources import remembered
from perwiz.trace.tables import NONE, SYNCHRONOUS
from perwiz.whatif.order.reorder import Reordered
from perwiz.whatif.run import Run

SHARE = 0.02
"""Part of the makespan from which on time that the model gets wrong may change the answer; `study.py --doubts` of the case studies measures
it: it tells answers that are more than 2 % off from others better than a smaller or a larger part.
"""


@dataclasses.dataclass(frozen=True)
class Doubt:
    """One way in which the recording contradicts the model, and how much it weighs."""

    what: str
    """fast: messages came sooner than the model says; slow: they took more than twice as long, and nothing recorded says why; held:
    senders of eager messages stood still until their receiver came; free: senders of synchronous ones did not."""
    messages: int
    """That say so."""
    of: int
    """That could."""
    time: int
    """Of the critical path, of the recorded run or of the answer where that is a larger part, ns: what the model gets wrong by that."""
    makespan: int
    """Of the run whose path that is, ns."""
    recorded: int
    """Of the recorded run, ns."""
    share: float
    """The time as a part of the makespan."""
    change: str
    """Of the model that takes it away, as `Model.with_changes` takes it; empty if there is none."""


@dataclasses.dataclass(frozen=True, eq=False)
class Doubts:
    """What the model of a recorded run gets wrong, ns per call, int64."""

    counts: dict[str, tuple[int, int]]
    """Per word of Doubt: messages that say so, of how many."""
    changes: dict[str, str]
    """Per word, if there is one: the change of the model that takes it away."""
    wrong: dict[str, I8]
    """Per word of `counts`; of `free` 1 for calls that complete a send which need not wait for its receiver."""
    time: dict[str, int]
    """Per word: on the critical path of the recorded run, ns."""
    makespan: int
    """Of the recorded run, ns."""
    held: Held | None
    """What says that S of the model is too large; None if nothing does."""

    @property
    def against(self) -> list[str]:
        """Changes of the model that more than a few messages ask for."""
        few = {what: messages <= CLEAR * of for what, (messages, of) in self.counts.items()}
        return [change for what, change in self.changes.items() if not few[what]]

    def told(self, answer: tuple[Weighted, I8] | None = None) -> tuple[Doubt, ...]:
        """Return what there is to say, what weighs most first; of an answer, a weighted graph and what `sweep` makes of it, too."""
        out, recorded = [], self.makespan
        for what, (messages, of) in self.counts.items():
            paths = [(self.time[what], recorded)]
            if answer:
                paths.append((_on_path(self.wrong[what], what, *answer), makespan(answer[0].graph, answer[1], answer[0].trace.share)))
            share, time, whole = max((time / whole if whole else 0.0, time, whole) for time, whole in paths)
            out.append(Doubt(what, messages, of, time, whole, recorded, round(share, 6), self.changes.get(what, "")))
        return tuple(sorted(out, key=lambda doubt: -doubt.share))


@remembered(1)
def doubts_of(run: Run) -> Doubts:
    """Return what the model of a recorded run, replayed unchanged, gets wrong; found once, before its weights are taken over."""
    weighted, table, share = run.weighted, run.trace.messages, run.trace.share
    waits, beside = synchronous(run.trace, weighted.model), _beside_the_model(weighted)
    of = share.total(beside.messages)
    counts = {"fast": (share.total(beside.sooner), of), "slow": (share.total(beside.late), of)}
    changes: dict[str, str] = {}
    same = weighted.timeline is run.trace.timeline
    held = held_senders(run.trace if same else dataclasses.replace(run.trace, timeline=weighted.timeline), weighted.model)
    wrong = {"fast": beside.fast, "slow": beside.slow}
    if held:
        wrong["held"] = stood = np.zeros(len(beside.more), "i8")
        send = table.send[(table.bytes >= held.bytes) & ~waits & (table.send == table.send_done)]
        stood[send] = np.maximum(beside.more[send], 0)
        counts["held"], changes["held"] = (held.messages, held.late), f"S_bytes={max(held.bytes - 1, 0)}"
    limited = waits & (table.mode != SYNCHRONOUS) & (table.send_done != NONE)
    cut = beside.cut[limited[beside.cut]]
    if share.any(len(cut)):
        most = share.most(int(table.bytes[cut].max(initial=0)))
        wrong["free"] = free = np.zeros(len(beside.more), "i8")
        free[table.send_done[limited & (table.bytes <= most)]] = 1
        counts["free"], changes["free"] = (share.total(len(cut)), share.total(int(limited[share.messages].sum()))), f"S_bytes={most}"
    seen = {what: count for what, count in counts.items() if count[0]}
    wrong = {what: wrong[what] for what in seen}
    time = run.time
    return Doubts(seen, changes, wrong, {what: _on_path(wrong[what], what, weighted, time) for what in seen}, run.makespan, held)


@dataclasses.dataclass(frozen=True, eq=False)
class _Beside:
    """What a recorded run has that its model does not say."""

    fast: I8
    """Per call: how much sooner a message let it go than the model says, ns;"""
    slow: I8
    """how much longer it worked behind a message than the model says, where that is more than all that the model says."""
    more: I8
    """Per call: by how much it worked longer than the model says, ns."""
    messages: int
    sooner: int
    """How many of them came sooner;"""
    late: int
    """were followed by so much work."""
    cut: I4
    """Messages whose senders were let go though the model holds them, one for each edge."""


def _beside_the_model(weighted: Weighted) -> _Beside:
    graph, weight = weighted.graph, weighted.weight
    explained, lag = work(weighted.trace, weighted.model), lags(weighted.trace, graph, weighted.model)
    left = rest(weighted, lag)
    fast, slow = np.zeros(len(left), "i8"), np.zeros(len(left), "i8")
    messages, sooner, late, cut = 0, 0, 0, [np.zeros(0, "i4")]
    for chunk in chunks(graph.edges):
        edge = (chunk.start + np.flatnonzero(graph.kind[chunk] == MESSAGE)).astype("i4")  # as what they are looked up in
        call = graph.returning[graph.targets(edge)]
        before = np.maximum(lag[edge] - (weight[edge] - left[call]), 0)
        np.maximum.at(fast, call, before)
        more = left[call] - explained[call]
        behind = more > lag[edge] + explained[call]
        slow[call[behind]] = more[behind]
        messages, sooner, late = messages + len(edge), sooner + int((before > 0).sum()), late + int(behind.sum())
        cut.append(graph.cause[chunk][(graph.kind[chunk] == RENDEZVOUS) & (weight[chunk] == CUT) & (lag[chunk] != CUT)])
    return _Beside(fast, slow, np.subtract(left, explained, out=left), messages, sooner, late, np.concatenate(cut))


def _on_path(wrong: I8, what: str, weighted: Weighted, time: I8) -> int:
    """Return how much of a critical path calls get wrong, ns."""
    graph, weight = weighted.graph, weighted.weight
    edge = critical_path(graph, weight, time)
    vertex = graph.targets(edge)
    call = graph.returning[vertex]
    edge, vertex, call = (column[(call != NONE) & (graph.kind[edge] != GAP)] for column in (edge, vertex, call))
    row = np.argsort(weighted.call)[call] if isinstance(weighted, Reordered) else call
    if what == "free":
        local = graph.start[vertex]
        waited = np.maximum(time[vertex] - time[graph.source[local]] - weight[local], 0)
        return weighted.trace.share.total(int(waited[(graph.kind[edge] == RENDEZVOUS) & (wrong[row] > 0)].sum()))
    told = (graph.kind[edge] == MESSAGE) | (what != "fast")
    return weighted.trace.share.total(int(np.minimum(wrong[row], np.maximum(weight[edge], 0))[told].sum()))
