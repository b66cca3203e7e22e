"""What somebody can do about waits: zero wait is what there is to gain at best, beside it stands what makes the partner come earlier."""

from __future__ import annotations

import contextlib
import dataclasses
import heapq
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile

import numpy as np

from perwiz.engines.sweep import swept_makespan
from perwiz.errors import UsageError
from perwiz.trace.arrays import I8
from perwiz.trace.numbers import distinct
from perwiz.trace.resources import give_back, remembered
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.parts import STRETCHES, WHOLE, synchronisations
from perwiz.whatif.order.ordering_rules import why_fixed
from perwiz.whatif.ranking import order
from perwiz.whatif.ranking.change import Asker, Change
from perwiz.whatif.ranking.computation import as_the_mean, serves
from perwiz.whatif.rematch.rematched import handed_out
from perwiz.whatif.run import Run

BALANCE, SLOWEST = "balance", "slowest"
"""Kinds of changes that `balanced` returns."""


@dataclasses.dataclass(frozen=True, eq=False)
class Instead:
    """Whom calls wait for, and what somebody can do that gains."""

    location: int
    """The process or thread that is waited for longest, a row of the locations; NONE if the trace does not tell."""
    waited: int
    """How long it is waited for, ns."""
    changes: tuple[Change, ...]
    """Another order of calls, messages that hold nobody, and computation balanced or a slow process as fast as the mean: of each that
    gains the best, largest gain first."""


def instead(run: Run, text: str, calls: I8) -> Instead:
    """Return what somebody can do about the waits of calls, rows, that a text selects."""
    trace, waits = run.trace, run.waits
    calls = calls[(waits.time[calls] > 0) & (waits.partner[calls] != NONE)]
    if not len(calls):
        return Instead(NONE, 0, ())
    waited = np.zeros(len(trace.locations), "i8")
    np.add.at(waited, trace.calls.location[waits.partner[calls]], waits.time[calls])
    asker = Asker(run, once=True)
    held = _asked(asker, "protocol", f"eager {_senders(trace, calls) or text}", "their messages hold nobody")
    found = [*_earlier(asker, text, calls), *held, *balanced(run)]
    best: dict[str, Change] = {}
    for change in sorted(found, key=lambda change: change.makespan):
        if change.makespan < run.makespan:
            best.setdefault(BALANCE if change.kind == SLOWEST else change.kind, change)
    return Instead(int(waited.argmax()), int(waited.max()), tuple(best.values()))


def _senders(trace: Trace, calls: I8) -> str | None:
    """Return what selects the call sites that post the sends that others of these calls complete; None if none do, or it has no text."""
    table = trace.messages
    posts = selectors.sites_of(trace, table.send[np.isin(table.send_done, calls) & (table.send_done != table.send)])
    return selectors.joined([f"site:{site}" for site in posts]) if posts else None


@remembered(1)
def balanced(run: Run) -> tuple[Change, ...]:
    """Return what gains most of what makes processes come to any wait of a run at the same time, none if nothing does: found once, before
    its weights are taken over. Those that serve the others in turn are left out.
    """
    trace = run.trace
    if len(distinct(trace.locations.process)) < 2:
        return ()
    asker = Asker(run, once=True)
    asked = [(SLOWEST, *one) for one in as_the_mean(asker)]
    if not len(handed_out(trace).masters):  # who hands out tasks has no work to be balanced with that of others
        asked.append((BALANCE, "program", f"balance-time {WHOLE}", "computation of the whole program"))
        if len(synchronisations(trace)):
            asked.append((BALANCE, "program", f"balance-time {STRETCHES}", "computation in each stretch between collectives of all"))
    give_back(run.graph.edges)
    gaining = takewhile(lambda change: change.makespan < run.makespan, _best_first(asker, asked))
    return tuple(islice((change for change in gaining if change.kind != SLOWEST or not serves(asker, change)), 1))


def _best_first(asker: Asker, asked: Sequence[tuple[str, str, str, str]]) -> Iterator[Change]:
    """Yield changes of computation, each (kind, what it is about, question, in words), what gains most first; those that do not fit the
    run are left out. None is swept that gains too little: one critical path of the run stays a path, and gets no shorter than that.
    """
    waiting = list[tuple[int, int, bool]]()
    for place, (*_, question, _) in enumerate(asked):
        with contextlib.suppress(UsageError):
            waiting.append((asker.at_least(parse(question)), place, False))
    heapq.heapify(waiting)
    while waiting:
        makespan, place, known = heapq.heappop(waiting)
        if known:
            yield Change(*asked[place], makespan)
        else:
            with contextlib.suppress(UsageError):
                heapq.heappush(waiting, (asker.makespan(parse(asked[place][2])), place, True))


def _earlier(asker: Asker, text: str, waiting: I8) -> list[Change]:
    """Return the change in which what calls wait for runs earlier; nothing if no text asks for it, its graphs are too large, or no
    call may be moved.
    """
    run, of_site = asker.run, text.startswith("site:")
    if why_fixed(run.trace):
        return []
    if len(waiting) > (order.SITE if of_site else order.NAMED) or len(waiting) * run.graph.vertices > order.ROOM:
        return []
    asked = text if of_site else ",".join(f"e{call}" for call in waiting.tolist())
    weighted = asker.changed([parse(f"advance {asked}")])
    what = "what they wait for runs earlier"
    return order.gaining(run, weighted, Change("order", "call", f"advance {asked}", what, swept_makespan(weighted), waiting))


def _asked(asker: Asker, kind: str, question: str, what: str) -> list[Change]:
    """Return a change; nothing if it does not fit the run."""
    try:
        return [asker.change(kind, "program", question, what)]
    except UsageError:
        return []
