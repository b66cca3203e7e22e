"""One process that prepares a piece for each of the others and sends it in turn: each prepares its own."""

from __future__ import annotations

import numpy as np

from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.computation import Distribute, WithMessages
from perwiz.whatif.limits.serving import Serving
from perwiz.whatif.ranking.change import Asker, Change

HALF = 0.5
"""Part of what else gains from which on that a process serves in turn is the reason: it computes longest, and its sends hold others."""
_TRIED = 8
"""Processes that serve in turn and are tried, what is waited for longest first: in a halo exchange many of them do."""


def changes(asker: Asker) -> list[Change]:
    """Return what gains if those that are served in turn computed what is computed for them: with the messages that bring it, too, else
    these alone are what costs.
    """
    served = [(one, *_asked(asker.run.trace, one)) for one in asker.serving[:_TRIED]]
    with_messages = asker.makespans([WithMessages(_sends(question)) for _, _, question in served])
    gains = [row for row, makespan in zip(served, with_messages, strict=True) if makespan < asker.run.makespan]
    return asker.gaining("serving", [(by, question, _told(asker.run.trace, one, question)) for one, by, question in gains])


def _told(trace: Trace, one: Serving, question: str) -> str:
    """Return in words what a question changes."""
    stay = Distribute(_sends(question)).stays(trace)
    return f"each receiver prepares what rank {one.process} does for it; {'the sends stay' if stay else 'that needs no sends'}"


def explains(asker: Asker, rank: int, makespan: int) -> bool:
    """Return whether a rank serves in turn, and that others prepare their pieces gains at least half of what a makespan, ns, does, with the
    messages that bring them.
    """
    questions = [_asked(asker.run.trace, one)[1] for one in asker.serving if one.process == rank]
    enough = asker.run.makespan - HALF * (asker.run.makespan - makespan)
    return any(served <= enough for served in asker.makespans([WithMessages(_sends(question)) for question in questions]))


def sites_of(trace: Trace, one: Serving) -> list[str]:
    """Return the call sites that send what a process serves, most sends first; none if others send there, too."""
    sent, share = np.zeros(len(trace.calls), bool), trace.share
    sent[trace.messages.send] = True
    sends = share.chosen(sent)
    site_of, names = selectors.sites(trace)
    own = trace.processes_of_calls[sends] == one.process
    counts = (np.bincount(site_of[calls], minlength=len(names)) for calls in (sends[~own], one.sends))
    others, served = (share.reduced(count, "sum") for count in counts)
    found = np.flatnonzero(served)
    if others[found].any():
        return []
    return [selectors.site(*names[row]) for row in found[np.argsort(-served[found], kind="stable")].tolist()]


def _asked(trace: Trace, one: Serving) -> tuple[str, str]:
    """Return (what it is about, the question) of the change that lets those who are served by a process prepare their pieces."""
    sites = sites_of(trace, one)
    selector = selectors.joined([f"site:{site}" for site in sites]) if sites else None
    return ("site", f"distribute {selector}") if selector else ("rank", f"distribute rank:{one.process}")


def _sends(question: str) -> str:
    """Return which sends a question is about."""
    return question.partition(" ")[2]
